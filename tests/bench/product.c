// How the matrix product became fast, step by step. Five versions of c += a b,
// from the definition to that of the interlude, each measured on square matrices
// of three sizes. Prints CSV:
//
//     step,size,threads,gflops
//
// cc -O3 -march=native -fopenmp tests/bench/product.c -o build/product -lm
//
// The best of several runs counts. Each version is first held against the
// second, which is fast enough to be computed once more.

#define TRANSFORMER_NO_MAIN
#include "../../transformer.c"

// 1. matmul_definition: three loops, as the formula is written; p runs innermost.

// 2. The same three loops with p in the middle: the innermost one now runs along
// a row of b and a row of c, whose numbers lie side by side.
void loop_order(Mat c, Mat a, Mat b) {
    for (int i = 0; i < c.rows; i++)
        for (int p = 0; p < a.cols; p++) {
            real x = *at(a, i, p), *to = row(c, i);
            const real *from = row(b, p);
            for (int j = 0; j < c.cols; j++)
                to[j] += x * from[j];
        }
}

// 3. A tile of c in registers; a and b are read where they lie.
ALWAYS_INLINE void tile_in_place(Mat c, Mat a, Mat b) {
    Vector left[TILE_ROWS], right[TILE_ROWS];
    UNROLL
    for (int i = 0; i < TILE_ROWS; i++)
        left[i] = right[i] = (Vector){0};
    for (int p = 0; p < a.cols; p++) {
        Vector b_left = *(const Vector *)row(b, p);
        Vector b_right = *(const Vector *)(row(b, p) + LANES);
        UNROLL
        for (int i = 0; i < TILE_ROWS; i++) {
            left[i] += *at(a, i, p) * b_left;
            right[i] += *at(a, i, p) * b_right;
        }
    }
    UNROLL
    for (int i = 0; i < TILE_ROWS; i++) {
        *(Vector *)row(c, i) += left[i];
        *(Vector *)(row(c, i) + LANES) += right[i];
    }
}

void register_tile(Mat c, Mat a, Mat b) {
    for (int j = 0; j < c.cols; j += TILE_COLS)
        for (int i = 0; i < c.rows; i += TILE_ROWS)
            tile_in_place(slice_cols(slice_rows(c, i, TILE_ROWS), j, TILE_COLS),
                          slice_rows(a, i, TILE_ROWS),
                          slice_cols(b, j, TILE_COLS));
}

// 4. The columns of b that belong to a column of tiles are packed side by side,
// in their whole depth.
void packing(Mat c, Mat a, Mat b) {
    real *packed = allocate((size_t)b.rows * TILE_COLS, sizeof(real));
    for (int j = 0; j < c.cols; j += TILE_COLS) {
        Mat to = slice_cols(c, j, TILE_COLS);
        pack_cols(TILE_COLS, packed, slice_cols(b, j, TILE_COLS));
        column_of_tiles(to, to, a, mat(packed, a.cols, TILE_COLS));
    }
    free(packed);
}

// 5. Blocks that fit the caches: the product of the interlude.
typedef void Product(Mat c, Mat a, Mat b);

const struct {
    const char *name;
    Product *run;
} steps[] = {
    {"definition", matmul_definition}, {"loop order", loop_order},
    {"register tile", register_tile}, {"packing", packing},
    {"blocking", matmul_add},
};

enum { STEPS = sizeof steps / sizeof *steps };

double gflops(Product *run, Mat c, Mat a, Mat b) {
    double work = 2 * size_of(c) * a.cols, best = INFINITY, started = now();
    for (int n = 0; n < 3 || now() - started < 1; n++) {
        double before = now();
        run(c, a, b);
        best = fmin(best, now() - before);
    }
    return work / best / 1e9;
}

void measure(int size, int threads) {
#ifdef _OPENMP
    omp_set_num_threads(threads);
#endif
    static Arena arena;
    Mat a = arena_mat(&arena, size, size), b = arena_mat(&arena, size, size);
    Mat c = arena_mat(&arena, size, size), expected = arena_mat(&arena, size, size);
    uint64_t state = 1;
    for (int k = 0; k < size * size; k++) {
        a.at[k] = (real)(2 * uniform(&state) - 1);
        b.at[k] = (real)(2 * uniform(&state) - 1);
    }
    fill(expected, 0);
    loop_order(expected, a, b);
    for (int s = threads > 1 ? STEPS - 1 : 0; s < STEPS; s++) {
        fill(c, 0);
        steps[s].run(c, a, b);
        for (int k = 0; k < size * size; k++)
            if (fabs((double)(c.at[k] - expected.at[k])) > 0.01)
                fail("product: %s is wrong", steps[s].name);
        printf("%s,%d,%d,%.2f\n", threads > 1 ? "threads" : steps[s].name, size,
               threads, gflops(steps[s].run, c, a, b));
        fflush(stdout);
    }
    arena_release(&arena, 0);
}

int main(void) {
    const int sizes[] = {96, 384, 1536}; // multiples of both sides of a tile
    int most = 1;
#ifdef _OPENMP
    most = omp_get_max_threads();
#endif
    puts("step,size,threads,gflops");
    for (int i = 0; i < 3; i++)
        measure(sizes[i], 1);
    for (int i = 0; i < 3 && most > 1; i++)
        measure(sizes[i], most);
    return 0;
}
