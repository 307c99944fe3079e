// Lab 7, continued: a query that sees nothing.
//
// Attention with random q, k and v, ROWS of each. A causal mask is inverted, so
// that each query sees only what comes later, and the last one nothing. With
// the argument "weights", the attention weights:
//
//     way,query,key,weight
//
// way: how keys are hidden: "left out" of the softmax, as transformer.c does;
// by a score of -∞, "score -inf"; or by a score of -1e9, "score -1e9". "causal"
// is the right mask, to compare. query, key: from 0. weight: may be nan.
//
// With the argument "nan", its backward pass when no gradient arrives at the
// last query, as if the loss did not count it:
//
//     way,out,dq,dk,dv
//
// These are how many of the ROWS · K numbers of each are not numbers (NaN).

#include "lib/lab.h"

enum { ROWS = 5, K = 8 };

// Softmax as it is usually written, with no thought of empty rows.
void plain_softmax(Mat scores) {
    for (int i = 0; i < scores.rows; i++) {
        real *x = row(scores, i), most = max(x, scores.cols), total = 0;
        for (int j = 0; j < scores.cols; j++)
            total += x[j] = REAL(exp)(x[j] - most);
        for (int j = 0; j < scores.cols; j++)
            x[j] /= total;
    }
}

// The attention weights, the output, and the gradients of q, k and v.
typedef struct {
    Mat weights, out, dq, dk, dv;
} Result;

Head new_head(Arena *arena) {
    Mat weights = arena_zeros(arena, ROWS, ROWS);
    return (Head){
        .q = arena_zeros(arena, ROWS, K), .k = arena_zeros(arena, ROWS, K),
        .v = arena_zeros(arena, ROWS, K), .out = arena_zeros(arena, ROWS, K),
        .weights = weights, .dropped = weights,
        .scale = 1 / REAL(sqrt)((real)K)};
}

// If `hidden` is 0, hidden keys are left out; else it is their score.
Result attention(Arena *arena, Mask mask, real hidden) {
    uint64_t state = random_key(1, FOR_PARAMETERS, 0);
    Head a = new_head(arena), d = new_head(arena);
    fill_normal(a.q, &state);
    fill_normal(a.k, &state);
    fill_normal(a.v, &state);
    fill_normal(d.out, &state);
    fill(slice_rows(d.out, ROWS - 1, 1), 0);
    attention_forward(a, mask);
    if (hidden < 0) { // the same by hand
        small_matmul(a.weights, a.q, transposed(a.k));
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < ROWS; j++)
                row(a.weights, i)[j] = mask_row(mask, 0, i)[j]
                                     ? row(a.weights, i)[j] * a.scale : hidden;
        plain_softmax(a.weights);
        small_matmul(a.out, a.weights, a.v);
    }
    attention_backward(d, a);
    return (Result){a.weights, a.out, d.q, d.k, d.v};
}

int nans(Mat m) {
    int count = 0;
    for (int i = 0; i < m.rows * m.cols; i++)
        count += isnan(m.at[i]) != 0;
    return count;
}

// Each way in turn: its weights, or how many results are NaN.
void each_way(Arena *arena, bool weights) {
    const char *const way[] = {"causal", "left out", "score -inf",
                               "score -1e9"};
    const real hidden[] = {0, 0, -(real)INFINITY, -1e9f};
    puts(weights ? "way,query,key,weight" : "way,out,dq,dk,dv");
    for (int w = 0; w < 4; w++) {
        Mask mask = causal_mask(arena, ROWS);
        unsigned char round[ROWS * ROWS];
        for (int i = 0; i < ROWS * ROWS; i++)
            round[i] = !mask.visible[i];
        mask.visible = w == 0 ? mask.visible : round;
        Result r = attention(arena, mask, hidden[w]);
        for (int i = 0; weights && i < ROWS * ROWS; i++)
            printf("%s,%d,%d,%.6g\n", way[w], i / ROWS, i % ROWS,
                   (double)r.weights.at[i]);
        if (!weights)
            printf("%s,%d,%d,%d,%d\n", way[w], nans(r.out), nans(r.dq),
                   nans(r.dk), nans(r.dv));
    }
}

int main(int argc, char **argv) {
    Arena arena = {0};
    each_way(&arena, argc < 2 || !strcmp(argv[1], "weights"));
    arena_free(&arena);
}
