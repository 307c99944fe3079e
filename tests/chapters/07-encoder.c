// Chapter 7: the encoder.

#include "../lib/test.h"
#include "../lib/model.h"

typedef struct {
    Transformer *model;
    Mat x, upstream;
    double rate;
} Case;

Mat forward(Case *c, Pass *pass, EncoderSaved *s) {
    *pass = pass_dropping(&c->model->config, c->rate, 31, B);
    Mask mask = padding_mask(&room, source_ids, B, S);
    return encoder_forward(pass, s, &c->model->encoder, c->x, mask);
}

loss_number loss(void *context) {
    Case *c = context;
    Pass pass;
    EncoderSaved s;
    return project(forward(c, &pass, &s), c->upstream);
}

void check_gradient(int norm, double rate, const char *name) {
    Config config = small_config();
    config.norm = norm;
    Case c = {random_transformer(&config), random_mat(B * S, D),
              random_mat(B * S, D), rate};
    Transformer *g = transformer_zeros(&config);
    Pass pass;
    EncoderSaved s;
    forward(&c, &pass, &s);
    size_t used = room.used;
    random_mat(B * S, D);
    size_t one = room.used - used; // the bytes of one gradient
    Mat dx = encoder_backward(&pass, &s, &c.model->encoder, &g->encoder,
                              c.upstream);
    CLAIM(room.used == used + one + (size_t)(2 * config.layers + norm) * one,
          "%s encoder: of scratch memory only the gradients are kept", name);
    for (int i = 0; i < B * S * D; i++)
        dx.at[i] += (real)PREFILL;
    CLAIM_GRADIENT(loss, &c, c.x, dx, "%s encoder: gradient of the embeddings",
                   name);
    transformer_free(g);
    transformer_free(c.model);
}

// Article 5, exercise 3: blank one embedding, and every position changes.
void test_influence(void) {
    Config config = small_config();
    Case c = {.model = random_transformer(&config), .x = random_mat(B * S, D)};
    Pass pass;
    EncoderSaved s;
    Mat before = copied(forward(&c, &pass, &s));
    for (int j = 0; j < D; j++)
        *at(c.x, 1, j) = 0;
    Mat after = forward(&c, &pass, &s);
    bool all = true;
    for (int i = 0; i < S; i++)
        all = all && !same_bits(slice_rows(before, i, 1), slice_rows(after, i, 1));
    CLAIM(all, "blanking one embedding changes every position of its sentence");
    CLAIM(same_bits(slice_rows(before, S, S), slice_rows(after, S, S)),
          "and nothing in the other sentence");
    transformer_free(c.model);
}

// Without positions the encoder does not know order: permuting the input
// permutes the output.
void test_permutation(void) {
    Config config = small_config();
    config.positions = NO_POSITIONS;
    Transformer *t = random_transformer(&config);
    int ids[4] = {4, 5, 6, 7}, permuted[4] = {6, 4, 7, 5}, from[4] = {2, 0, 3, 1};
    Pass pass = {.arena = &room, .config = &config, .sentences = 1};
    Saved s;
    Mat straight = encode(&pass, &s, t, ids, 4, (Mask){0});
    Mat crossed = encode(&pass, &s, t, permuted, 4, (Mask){0});
    double most = 0;
    for (int i = 0; i < 4; i++)
        most = fmax(most, largest_error(slice_rows(crossed, i, 1),
                                        slice_rows(straight, from[i], 1)));
    CLAIM(most < 1e-10, "without positions a permuted input gives a permuted "
          "output: %.0e", most);
    config.positions = SINUSOIDAL;
    Transformer *with = random_transformer(&config);
    straight = encode(&pass, &s, with, ids, 4, (Mask){0});
    crossed = encode(&pass, &s, with, permuted, 4, (Mask){0});
    CLAIM(largest_error(slice_rows(crossed, 0, 1), slice_rows(straight, 2, 1))
          > 1e-3, "with positions it does not");
    transformer_free(t);
    transformer_free(with);
}

int main(void) {
    for (int norm = 0; norm < NORMS; norm++)
        check_gradient(norm, 0, norm ? "pre-norm" : "post-norm");
    check_gradient(POST_NORM, 0.3, "post-norm, dropout,");
    test_influence();
    test_permutation();
    arena_free(&room);
    return claims_end();
}
