// Lab 1: why the scores are divided by √d_k.
//
// Queries and keys whose numbers are independent, with mean 0 and variance 1,
// have a dot product of variance d_k: each of the d_k terms adds 1. For each
// d_k, two lines of CSV say how far scores spread and how sharp the softmax of
// KEYS of them is, without and with the division.
//
//     d_k,scaled,spread,entropy,largest,gradient,median
//
// spread: the standard deviation of a score; entropy: of the attention weights,
// in bits (at most log₂ KEYS = 5); largest: the largest weight; gradient: the
// root mean square of what softmax sends back to a score when a random gradient
// of variance 1 comes in. All are taken over ROWS queries. median: the same
// root mean square for the median query; half of them have less.

#include "lib/lab.h"
#include "lib/measure.h"

enum { KEYS = 32, ROWS = 400 };

double mean_square(const real *x, int n) {
    return (double)dot(x, x, n) / n;
}

void measure(int d_k, bool scaled, Arena *arena) {
    uint64_t state = random_key(1, FOR_PARAMETERS, (uint64_t)d_k);
    double spread = 0, bits = 0, largest = 0, gradient = 0, square[ROWS];
    Mat query = arena_mat(arena, 1, d_k), key = arena_mat(arena, KEYS, d_k);
    Mat weights = arena_mat(arena, 1, KEYS);
    Mat upstream = arena_mat(arena, 1, KEYS);
    for (int r = 0; r < ROWS; r++) {
        fill_normal(query, &state);
        fill_normal(key, &state);
        fill_normal(upstream, &state);
        small_matmul(weights, query, transposed(key)); // the scores
        for (int j = 0; scaled && j < KEYS; j++)
            weights.at[j] /= (real)sqrt(d_k);
        spread += mean_square(weights.at, KEYS) / ROWS;
        softmax_forward(weights, (Mask){0});
        bits += entropy(weights.at, weights.at, KEYS) / ROWS;
        largest += (double)max(weights.at, KEYS) / ROWS;
        softmax_backward(upstream, weights);
        square[r] = mean_square(upstream.at, KEYS);
        gradient += square[r] / ROWS;
    }
    qsort(square, ROWS, sizeof *square, compare_doubles);
    printf("%d,%s,%.4f,%.4f,%.4f,%.3e,%.3e\n", d_k, scaled ? "yes" : "no",
           sqrt(spread), bits, largest, sqrt(gradient), sqrt(square[ROWS / 2]));
    arena_release(arena, 0);
}

int main(void) {
    Arena arena = {0};
    printf("d_k,scaled,spread,entropy,largest,gradient,median\n");
    for (int d_k = 1; d_k <= 1024; d_k *= 2) {
        measure(d_k, false, &arena);
        measure(d_k, true, &arena);
    }
    arena_free(&arena);
}
