// Chapter 2: masks as data, softmax, scaled dot-product attention.

#include "../lib/test.h"
#include "../lib/fails.h"

enum { T = 4, S = 5, K = 3 }; // unequal, so that exchanged indices show

void test_softmax(void) {
    real x[3] = {0, (real)log(2), (real)log(5)};
    softmax_row(x, NULL, 3);
    CLAIM(fabs(x[0] - 0.125) < 1e-6 && fabs(x[1] - 0.25) < 1e-6
          && fabs(x[2] - 0.625) < 1e-6, "softmax(log 1, log 2, log 5) = 1/8, 2/8, 5/8");
    real large[2] = {10000, 9999}, small[2] = {-10000, -9999};
    softmax_row(large, NULL, 2);
    softmax_row(small, NULL, 2);
    CLAIM(fabs(large[0] - 0.731058578) < 1e-6 && large[0] == small[1],
          "scores of 10000 overflow nothing, and only differences count");

    real y[4] = {1, 50, 1, 2};
    unsigned char visible[4] = {1, 0, 1, 0}, none[4] = {0, 0, 0, 0};
    softmax_row(y, visible, 4);
    CLAIM(y[0] == (real)0.5 && y[1] == 0 && y[2] == (real)0.5 && y[3] == 0,
          "hidden keys get exactly 0, the visible ones share 1");
    real rows[4] = {1, 1, 1, 1};
    softmax_forward(mat(rows, 2, 2), (Mask){visible + 1, 1, 1});
    CLAIM(rows[0] == 0 && rows[1] == 1 && rows[2] == 1 && rows[3] == 0,
          "row i obeys row i of the first sentence's mask");
    softmax_row(y, none, 4);
    CLAIM(y[0] == 0 && y[1] == 0 && y[2] == 0 && y[3] == 0,
          "a row without a visible key becomes zeros, not NaN");

    for (int place = 0; place < 4; place++) {
        real broken[3] = {1, 2, 3};
        for (int j = 0; j < 3; j++)
            if (j == place || place == 3)
                broken[j] = (real)NAN;
        softmax_row(broken, NULL, 3);
        CLAIM(isnan((double)broken[0]) && isnan((double)broken[1])
              && isnan((double)broken[2]),
              place < 3 ? "a NaN at place %d makes its row NaN: it is not hidden"
                        : "a row of NaN stays NaN: it is not hidden", place);
    }
    real early[3] = {1, (real)NAN, 2};
    const unsigned char causal[3] = {1, 1, 0};
    softmax_row(early, causal, 3);
    CLAIM(isnan((double)early[0]), "nor is it if a hidden key comes after it");
}

typedef struct {
    Mat q, k, v, upstream;
    Mask mask;
    real scale;
    Dropout dropout;
} Case;

Head forward(const Case *c) {
    Head a = {.q = c->q, .k = c->k, .v = c->v, .scale = c->scale,
              .dropout = c->dropout};
    a.weights = arena_mat(&room, a.q.rows, a.k.rows);
    a.dropped = a.dropout.rate != 0 ? arena_mat(&room, a.q.rows, a.k.rows)
                                   : a.weights;
    a.out = arena_mat(&room, a.q.rows, a.v.cols);
    attention_forward(a, c->mask);
    return a;
}

loss_number loss(void *context) {
    Case *c = context;
    return project(forward(c).out, c->upstream);
}

Case new_case(Mask mask, double rate) {
    return (Case){random_mat(T, K), random_mat(S, K), random_mat(S, K),
                  random_mat(T, K), mask, (real)0.7, {(real)rate, 99}};
}

void check_gradient(Mask mask, double rate, const char *name) {
    Case c = new_case(mask, rate);
    Head d = {.q = filled_mat(T, K, PREFILL), .k = filled_mat(S, K, PREFILL),
              .v = filled_mat(S, K, PREFILL), .weights = arena_mat(&room, T, S),
              .out = c.upstream};
    attention_backward(d, forward(&c));
    CLAIM_GRADIENT(loss, &c, c.q, d.q, "%s: dq", name);
    CLAIM_GRADIENT(loss, &c, c.k, d.k, "%s: dk", name);
    CLAIM_GRADIENT(loss, &c, c.v, d.v, "%s: dv", name);
    double most = 0, apart = 0;
    for (int i = 0; i < T * K; i++)
        apart = fmax(apart, relative_error(slope(loss, &c, &c.q.at[i]),
                                           difference_slope(loss, &c,
                                                            &c.q.at[i])));
    CLAIM(apart < 1e-6, "%s: " SLOPE " and differences agree: %.1e", name, apart);
    for (int i = 0; i < T; i++)
        most = fmax(most, fabs(sum(row(d.weights, i), S)));
    CLAIM(most < 1e-12, "%s: the rows of dscores sum to 0", name);
}

// The backward passes that chapter 2 does by hand, and the blanks on its page:
// both examples with other numbers.
void test_by_hand(void) {
    real w[3] = {0.5, 0.25, 0.25}, dw[2][3] = {{2, 0, 4}, {2, 0, 8}};
    real dx[2][3] = {{0, -0.5, 0.5}, {-0.5, -0.75, 1.25}};
    const char *softmax[] = {"softmax by hand: dx = 0, -1/2, 1/2",
                             "blanks: softmax gives dx = -1/2, -3/4, 5/4"};
    real a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 0, 1, 2, 2};
    real dc[2][4] = {{1, 0, 0, 2}, {1, 0, 5, 2}};
    real da[2][6] = {{1, 0, 2, 0, 2, 4}, {1, 0, 2, 5, 2, 14}};
    real db[2][6] = {{1, 8, 2, 10, 3, 12}, {21, 8, 27, 10, 33, 12}};
    const char *product[] = {"a product by hand: da = dc bᵀ, db = aᵀ dc",
                             "blanks: a product gives da_12 = 14, db_20 = 33"};
    Mat da_found = arena_mat(&room, 2, 3), db_found = arena_mat(&room, 3, 2);
    for (int k = 0; k < 2; k++) {
        Mat d = mat(dw[k], 1, 3);
        softmax_backward(d, mat(w, 1, 3));
        CLAIM(largest_error(d, mat(dx[k], 1, 3)) < 1e-6, "%s", softmax[k]);
        small_matmul(da_found, mat(dc[k], 2, 2), transposed(mat(b, 3, 2)));
        small_matmul(db_found, transposed(mat(a, 2, 3)), mat(dc[k], 2, 2));
        CLAIM(largest_error(da_found, mat(da[k], 2, 3)) < 1e-6
              && largest_error(db_found, mat(db[k], 3, 2)) < 1e-6, "%s",
              product[k]);
    }
}

// Two queries, q₀ = k₀ and q₁ = 0, and three keys; the scale is log n.
typedef struct {
    int n;
    const char *about_weights, *about_out, *about_scores, *about_rest;
    real weights[3], out[2], dout; // of q₀; dout_01 is 0
    real dscores[3], dv[3];        // in units of the scale; column 0
} ByHand;

void check_attention(ByHand h) {
    const real unit = (real)log(h.n), third = (real)(1. / 3), *p = h.weights;
    real q[4] = {1, 0, 0, 0}, k[6] = {1, 0, 0, 1, 0, 0}, v[6] = {1, 2, 3, 4, 5, 9};
    real weights[6] = {p[0], p[1], p[2], third, third, third}, dout[4] = {h.dout};
    real dscores[6] = {h.dscores[0] * unit, h.dscores[1] * unit, h.dscores[2] * unit};
    real dq[4] = {dscores[0], dscores[1]}, dv[6] = {h.dv[0], 0, h.dv[1], 0, h.dv[2], 0};
    real dk[6] = {dscores[0], 0, dscores[1], 0, dscores[2], 0};
    Mat w = arena_mat(&room, 2, 3), out = arena_mat(&room, 2, 2);
    Head a = {.q = mat(q, 2, 2), .k = mat(k, 3, 2), .v = mat(v, 3, 2), .weights = w,
              .dropped = w, .out = out, .scale = unit};
    Head d = {.q = filled_mat(2, 2, 0), .k = filled_mat(3, 2, 0),
              .v = filled_mat(3, 2, 0), .weights = arena_mat(&room, 2, 3),
              .out = mat(dout, 2, 2)};
    attention_forward(a, (Mask){0});
    attention_backward(d, a);
    CLAIM(largest_error(w, mat(weights, 2, 3)) < 1e-6, "%s", h.about_weights);
    CLAIM(largest_error(slice_rows(out, 0, 1), mat(h.out, 1, 2)) < 1e-6, "%s",
          h.about_out);
    CLAIM(fabs(*at(out, 1, 0) - 3) < 1e-6 && fabs(*at(out, 1, 1) - 5) < 1e-6,
          "a query of zeros takes the mean of the values");
    CLAIM(largest_error(d.weights, mat(dscores, 2, 3)) < 1e-6, "%s", h.about_scores);
    CLAIM(largest_error(d.q, mat(dq, 2, 2)) < 1e-6
          && largest_error(d.k, mat(dk, 3, 2)) < 1e-6
          && largest_error(d.v, mat(dv, 3, 2)) < 1e-6, "%s", h.about_rest);
}

void test_worked_example(void) {
    check_attention((ByHand){2, "scores log 2, 0, 0 give weights 1/2, 1/4, 1/4",
        "and out is that mixture of the values",
        "attention by hand: dscores = -6, 1, 5 times log 2",
        "attention by hand: dq, dk and dv",
        {0.5, 0.25, 0.25}, {2.5, 4.25}, 8, {-6, 1, 5}, {4, 2, 2}});
    check_attention((ByHand){3, "blanks: the scale log 3 gives weights 3/5, 1/5, 1/5",
        "blanks: and out = 11/5, 19/5", "blanks: dscores = -18, 4, 14 times log 3",
        "blanks: dq, dk and dv", {(real)0.6, (real)0.2, (real)0.2},
        {(real)2.2, (real)3.8}, 25, {-18, 4, 14}, {15, 5, 5}});
}

void test_weights(void) {
    unsigned char bits[T * S] = {1, 0, 1, 1, 0, 0, 0, 0, 0, 0,
                                 1, 1, 1, 1, 1, 0, 1, 0, 0, 0};
    Mask mask = {bits, 0, S};
    Case c = new_case(mask, 0);
    Head a = forward(&c);
    Mat weights = a.weights, out = a.out;
    bool sums = true, hidden = true;
    for (int i = 0; i < T; i++) {
        sums = sums && fabs(sum(row(weights, i), S) - (i == 1 ? 0 : 1)) < 1e-6;
        for (int j = 0; j < S; j++)
            hidden = hidden && (bits[i * S + j] || *at(weights, i, j) == 0);
    }
    CLAIM(sums, "rows of weights sum to 1, or to 0 if nothing is visible");
    CLAIM(hidden, "hidden keys have weight 0");
    CLAIM(sum(row(out, 1), K) == 0, "a query that sees nothing fetches zeros");
    Mat before = copied(out);
    *at(c.k, 1, 0) += 3; // hidden from queries 0 and 1
    *at(c.v, 1, 0) += 3;
    out = forward(&c).out;
    CLAIM(same_bits(slice_rows(out, 0, 2), slice_rows(before, 0, 2))
          && !same_bits(out, before), "what a hidden key holds makes no difference");
}

// out = dropout(weights) v, and dropout is nowhere else.
void test_dropout(void) {
    Case c = new_case((Mask){0}, 0.5), without = c;
    without.dropout.rate = 0;
    Mat weights = forward(&without).weights;
    Mat expected = filled_mat(T, K, 0);
    for (int i = 0; i < T; i++)
        for (int k = 0; k < K; k++)
            for (int j = 0; j < S; j++)
                *at(expected, i, k) += (real)(
                    half_dropped(*at(weights, i, j), c.dropout.key, i, j)
                    * *at(c.v, j, k));
    Head a = forward(&c);
    CLAIM(largest_error(a.out, expected) < 1e-10,
          "dropout acts on the attention weights, after the softmax");
    CLAIM(same_bits(a.weights, weights),
          "and the weights before it are saved as they were");
}

// A shape that breaks a function's contract is named, and ends the program.
void test_contract(void) {
    Case c = new_case((Mask){0}, 0);
    Head a = forward(&c);
    Head d = {.q = filled_mat(T, K, 0), .k = filled_mat(S - 1, K, 0),
              .v = filled_mat(S, K, 0), .weights = arena_mat(&room, T, S),
              .out = c.upstream};
    CLAIM_FAILS("a gradient with a row missing is refused before it is written",
                "attention_backward: d.k is (4,3), wanted (5,3)",
                (attention_backward(d, a), 0));
}

int main(void) {
    test_softmax();
    test_by_hand();
    test_worked_example();
    test_weights();
    test_dropout();
    test_contract();
    unsigned char bits[T * S] = {1, 1, 0, 1, 0, 0, 0, 0, 0, 0,
                                 1, 1, 1, 1, 1, 0, 1, 0, 0, 0};
    check_gradient((Mask){0}, 0, "everything visible");
    check_gradient((Mask){bits, 0, S}, 0, "masked, one row wholly");
    check_gradient((Mask){bits, 0, 0}, 0, "the same mask for every query");
    check_gradient((Mask){bits, 0, S}, 0.4, "masked, with dropout");
    arena_free(&room);
    return claims_end();
}
