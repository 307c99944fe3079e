// Chapter 4: embeddings and positional encoding.

#include "../lib/test.h"

enum { V = 7, P = 6, D = 70, B = 2, T = 4 }; // D: more than one thread takes
const int ids[B * T] = {3, 1, 3, 6, 0, 3, 2, 2};

typedef struct {
    Mat table, positions, upstream;
    double rate;
} Case;

Mat forward(const Case *c, EmbeddingSaved *s) {
    Config config = {.d_model = D};
    Pass pass = pass_dropping(&config, c->rate, 11, B);
    return embedding_forward(&pass, s, c->table, c->positions, ids, T);
}

loss_number loss(void *context) {
    Case *c = context;
    EmbeddingSaved s;
    return project(forward(c, &s), c->upstream);
}

void check_gradient(double rate, const char *name) {
    Case c = {random_mat(V, D), random_mat(P, D), random_mat(B * T, D), rate};
    EmbeddingSaved s;
    forward(&c, &s);
    Mat dtable = filled_mat(V, D, PREFILL), dpositions = filled_mat(P, D, PREFILL);
    embedding_backward(&s, dtable, dpositions, copied(c.upstream));
    CLAIM_GRADIENT(loss, &c, c.table, dtable, "%s: dtable", name);
    CLAIM_GRADIENT(loss, &c, c.positions, dpositions, "%s: dpositions", name);
    CLAIM(*at(dtable, 4, 0) == (real)PREFILL && *at(dpositions, 5, 0) == (real)PREFILL,
          "%s: a token or position that does not occur gets no gradient", name);
}

void test_forward(void) {
    Case c = {random_mat(V, D), random_mat(P, D), random_mat(B * T, D), 0};
    EmbeddingSaved s;
    Mat x = forward(&c, &s);
    double expected = sqrt(D) * *at(c.table, 6, 2) + *at(c.positions, 3, 2);
    CLAIM(fabs(*at(x, 3, 2) - expected) < 1e-6,
          "√D times the token's row plus the position's row");
    c.positions.at = NULL;
    x = forward(&c, &s);
    CLAIM(fabs(*at(x, 3, 2) - sqrt(D) * *at(c.table, 6, 2)) < 1e-6,
          "without positions the token's row alone");
    CLAIM(same_bits(slice_rows(x, 0, 1), slice_rows(x, 2, 1)),
          "and the same token is the same vector everywhere");
}

void test_dropout(void) {
    Case c = {random_mat(V, D), random_mat(P, D), random_mat(B * T, D), 0.5};
    EmbeddingSaved s;
    Mat x = forward(&c, &s), expected = arena_mat(&room, B * T, D);
    for (int i = 0; i < B * T; i++)
        for (int j = 0; j < D; j++)
            *at(expected, i, j) = (real)half_dropped(
                sqrt(D) * *at(c.table, ids[i], j) + *at(c.positions, i % T, j),
                first_key(11), i, j);
    CLAIM(largest_error(x, expected) < 1e-10,
          "dropout acts on the sum of embedding and position");
}

void test_sinusoids(void) {
    Mat table = arena_mat(&room, 200, 8);
    sinusoidal_positions(table);
    CLAIM(*at(table, 0, 0) == 0 && *at(table, 0, 1) == 1,
          "position 0 is sin 0, cos 0, …");
    CLAIM(fabs(*at(table, 3, 0) - sin(3)) < 1e-6
          && fabs(*at(table, 3, 3) - cos(3 / pow(10000, 2. / 8))) < 1e-6,
          "position 3 has sin 3 first and cos(3/10000^(2/D)) in column 3");
    double most = 0;
    for (int t = 0; t + 17 < 200; t++)
        most = fmax(most, fabs(dot(row(table, t), row(table, t + 17), 8)
                               - dot(row(table, 0), row(table, 17), 8)));
    CLAIM(most < 1e-4, "the product of two positions depends on their distance only");
    Mat odd = arena_mat(&room, 3, 5);
    sinusoidal_positions(odd);
    CLAIM(fabs(*at(odd, 2, 4) - sin(2 / pow(10000, 4. / 5))) < 1e-6,
          "an odd width ends with a sine");
}

// The blanks on the page of chapter 4.
void test_blanks(void) {
    Mat codes = arena_mat(&room, 6, 8);
    sinusoidal_positions(codes);
    CLAIM(fabs(*at(codes, 4, 0) + 0.757) < 0.0005,
          "blanks: with D = 8, sin 4 = -0.757 begins position 4");
    CLAIM(fabs(*at(codes, 5, 2) - 0.479) < 0.0005 && *at(codes, 0, 5) == 1,
          "blanks: column 2 of position 5 is 0.479, column 5 of position 0 is 1");
    int tokens[4] = {2, 1, 2, 3};
    const EmbeddingSaved s = {.ids = tokens, .length = 2};
    Mat dx = filled_mat(4, 4, 0);
    for (int i = 0; i < 4; i++)
        *at(dx, i, 0) = (real[]){1, 20, 300, 4000}[i];
    Mat dtable = filled_mat(4, 4, 0), dpositions = filled_mat(2, 4, 0);
    embedding_backward(&s, dtable, dpositions, dx);
    CLAIM(*at(dtable, 2, 0) == 602 && *at(dtable, 0, 0) == 0
          && *at(dpositions, 0, 0) == 301 && *at(dpositions, 1, 0) == 4020,
          "blanks: token 2 gets 602, token 0 nothing, the positions 301 and 4020");
}

int main(void) {
    test_forward();
    test_dropout();
    test_sinusoids();
    test_blanks();
    check_gradient(0, "embedding");
    check_gradient(0.3, "embedding with dropout");
    arena_free(&room);
    return claims_end();
}
