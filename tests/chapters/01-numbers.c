// Chapter 1: numbers, matrix views, the matrix product, memory, randomness.

#include "../lib/test.h"
#include "../lib/fails.h"

void test_views(void) {
    real number[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    Mat m = mat(number, 2, 4);
    CLAIM(*at(m, 1, 2) == 6, "element (1,2) of a 2×4 matrix is the 7th number");
    Mat t = transposed(m);
    CLAIM(t.rows == 4 && t.cols == 2 && *at(t, 2, 1) == 6,
          "transposing exchanges rows and columns without moving a number");
    Mat cols = slice_cols(m, 2, 2), rows = slice_rows(m, 1, 1);
    CLAIM(*at(cols, 1, 0) == 6 && cols.cols == 2, "a band of columns");
    CLAIM(*at(rows, 0, 2) == 6 && rows.rows == 1, "a band of rows");
    CLAIM(*at(transposed(cols), 0, 1) == 6, "views of views");
}

// m = value, whatever its strides
void set(Mat m, real value) {
    for (int i = 0; i < m.rows; i++)
        for (int j = 0; j < m.cols; j++)
            *at(m, i, j) = value;
}

// How far c is from what it should be: from + a b.
double product_error(Mat c, Mat from, Mat a, Mat b) {
    Mat expected = copied(from);
    matmul_definition(expected, a, b);
    return largest_error_above(c, expected, 1);
}

// The fast product and the small ones against the definition, for shape (n, k)
// times (k, m), every combination of transposed operands, and views with gaps;
// and those that begin from another matrix, or from one row, repeated. worst
// (5) becomes their largest errors.
void product_errors(double *worst, int n, int k, int m, int which) {
    Mat a = which & 1 ? transposed(random_mat(k, n)) : random_mat(n, k);
    Mat b = which & 2 ? transposed(random_mat(m, k)) : random_mat(k, m);
    Mat c = which & 4 ? transposed(random_mat(m, n)) : random_mat(n, m);
    if (which & 8) { // bands of wider matrices
        a = slice_cols(random_mat(n, k + 5), 2, k);
        b = slice_cols(random_mat(k, m + 3), 1, m);
        c = slice_cols(random_mat(n, m + 7), 3, m);
    }
    Mat other = which & 1 ? transposed(random_mat(m, n)) : random_mat(n, m);
    Mat before = copied(c), zero = filled_mat(n, m, 0);
    Mat from[5] = {before, before, zero, other,
                   {random_mat(1, m).at, n, m, 0, 1}};
    for (int i = 0; i < 5; i++) {
        set(c, (real)NAN); // overwritten by the products that do not add to c
        if (i < 2)
            assign(c, from[i]);
        if (i == 0)
            matmul_add(c, a, b);
        else if (i == 1)
            small_matmul_add(c, a, b);
        else if (i == 2)
            small_matmul(c, a, b);
        else
            matmul_from(c, from[i], a, b);
        worst[i] = fmax(worst[i], product_error(c, from[i], a, b));
    }
}

void test_products(void) {
    const int size[][3] = {
        {1, 1, 1}, {1, 7, 1}, {2, 3, 5}, {20, 16, 20}, {12, 300, 32},
        {13, 5, 33}, {25, 17, 16}, {64, 64, 64}, {100, 40, 70}, {11, 1, 100},
        {97, 257, 70}, {1, 600, 70}, {70, 600, 1}, {130, 0, 130},
        {60, 520, 70}, // more than twice DEPTH
        {1000, 30, 40}, {900, 300, 33}, // more rows than a block has
    };
    double limit = sizeof(real) == 8 ? 1e-12 : 1e-4;
    for (size_t s = 0; s < sizeof size / sizeof *size; s++) {
        int n = size[s][0], k = size[s][1], m = size[s][2];
        double worst[5] = {0}, most = 0;
        for (int which = 0; which < 9; which++) {
            size_t mark = room.used;
            product_errors(worst, n, k, m, which);
            arena_release(&room, mark);
        }
        for (int i = 0; i < 5; i++)
            most = fmax(most, worst[i]);
        CLAIM(most < limit, "(%d,%d) times (%d,%d): whatever the strides, "
              "matmul_add is the three loops, %.1e, and so are small_matmul_add, "
              "%.1e, small_matmul, %.1e, and matmul_from another matrix, %.1e, or "
              "one row, %.1e", n, k, k, m, worst[0], worst[1], worst[2], worst[3],
              worst[4]);
    }
    Mat wide = random_mat(60, 160), a = random_mat(30, 20), b = random_mat(20, 64);
    Mat c = {wide.at, 30, 64, 2 * wide.row_stride, 2}, before = copied(c);
    matmul_add(c, a, b);
    CLAIM(product_error(c, before, a, b) < limit,
          "c may have gaps between its rows and between its columns");
}

// One row of a product does not depend on how many other rows there are.
void test_products_by_rows(void) {
    Mat a = random_mat(200, 300), b = random_mat(300, 170);
    Mat all = filled_mat(200, 170, 0), one = filled_mat(1, 170, 0);
    matmul_add(all, a, b);
    bool same = true;
    for (int i = 0; i < 200; i += 33) {
        fill(one, 0);
        matmul_add(one, slice_rows(a, i, 1), b);
        same = same && same_bits(one, slice_rows(all, i, 1));
    }
    CLAIM(same, "a row of a product has the same bits alone and among others");
}

void test_threads(void) {
#ifdef _OPENMP
    // small, tall and large c
    const int size[][3] = {{100, 900, 120}, {900, 40, 60}, {400, 300, 350}};
    for (int s = 0; s < 3; s++) {
        int n = size[s][0], k = size[s][1], m = size[s][2];
        Mat a = random_mat(n, k), b = random_mat(k, m), c[3];
        for (int t = 0; t < 3; t++) {
            c[t] = filled_mat(n, m, 0);
            omp_set_num_threads(t + 1);
            matmul_add(c[t], a, b);
        }
        omp_set_num_threads(1);
        CLAIM(same_bits(c[0], c[1]) && same_bits(c[0], c[2]),
              "1, 2 and 3 threads give a product of %d x %d the same bits", n, m);
    }
#endif
}

void test_rows(void) {
    bool good = true;
    real limit = sizeof(real) == 8 ? (real)1e-12 : (real)1e-4;
    for (int n = 0; n < 70; n++) {
        Mat x = random_mat(1, n + 1), y = random_mat(1, n + 1);
        double s = 0, d = 0, m = -INFINITY, e = 0;
        for (int j = 0; j < n; j++) {
            s += x.at[j];
            d += (double)x.at[j] * y.at[j];
            m = fmax(m, x.at[j]);
            e += exp(x.at[j] - 1);
        }
        good = good && fabs(sum(x.at, n) - s) < limit
            && fabs(dot(x.at, y.at, n) - d) < limit && max(x.at, n) == (real)m
            && fabs(sum_exponentials(x.at, 1, n) - e) < limit * (1 + e);
    }
    CLAIM(good, "sum, dot, max and sum_exponentials of 0 to 69 numbers");
}

// Few numbers, and enough for several threads.
void test_clear(void) {
    enum { MOST = 150001 };
    real *x = arena_take(&room, MOST + 1, sizeof *x);
    const int size[] = {0, 1, 99, 100001, MOST};
    bool zero = true;
    for (size_t s = 0; s < sizeof size / sizeof *size; s++) {
        for (int i = 0; i <= MOST; i++)
            x[i] = 1;
        clear(x, (size_t)size[s]);
        for (int i = 0; i <= MOST; i++)
            zero = zero && x[i] == (i < size[s] ? 0 : 1);
    }
    CLAIM(zero, "clear makes n numbers zero and no other");
}

void test_exponential(void) {
    double worst = 0;
    for (double x = -80; x <= 20; x += 0.0137) {
        double right = exp((double)(real)x);
        worst = fmax(worst, fabs(exponential((real)x) - right) / right);
    }
    CLAIM(worst < (sizeof(real) == 8 ? 1e-15 : 3e-7),
          "exponential is right to %.1e from -80 to 20", worst);
    CLAIM(exponential(0) == 1, "exponential(0) is exactly 1");
    CLAIM(exponential(-1000) == 0 && exponential(-(real)INFINITY) == 0
          && exponential(-90) < 1e-38, "exponential is exactly 0 far below");
    CLAIM(exponential(1000) > 1e38, "exponential(1000) is nearly infinite");
}

void test_memory(void) {
    Arena arena = {0};
    size_t before = arena.used;
    Mat a = arena_mat(&arena, 10, 10);
    size_t mark = arena.used;
    fill(a, 1);
    Mat b = arena_mat(&arena, 300, 300); // larger than the first block
    fill(b, 2);
    CLAIM(sum(a.at, 100) == 100, "a second block does not touch the first");
    CLAIM(arena.peak >= arena.used && arena.used > mark, "the peak is counted");
    arena_release(&arena, mark);
    CLAIM(arena.used == mark && sum(a.at, 100) == 100,
          "releasing to a mark keeps what was taken before it");
    arena_release(&arena, before);
    Mat c = arena_zeros(&arena, 300, 300);
    CLAIM(sum(row(c, 7), 300) == 0, "arena_zeros gives zeros");
#ifdef TRANSFORMER_POISON
    CLAIM(isnan(*at(arena_mat(&arena, 2, 2), 1, 1)),
          "in this build fresh memory is not a number");
#endif
    arena_free(&arena);
    arena_release(&arena, 0);
    CLAIM(!arena.top && !arena.used, "an empty arena can be released");
}

// Which blocks an arena takes from the system, and when it gives them back.
void test_blocks(void) {
#ifndef TRANSFORMER_MALLOC // there each request has a block of its own
    const size_t least = LEAST_BLOCK;
    Arena arena = {0};
    char *a = arena_take(&arena, 100, 1), *b = arena_take(&arena, 16, 4);
    CLAIM(b - a == 128 && arena.used == 192 && (uintptr_t)a % 64 == 0,
          "requests lie side by side, each at a multiple of 64 bytes");
    arena_take(&arena, least - 192, 1);
    CLAIM(arena.top->size == least && !arena.top->below && arena.used == least,
          "a block is filled to its end");
    size_t mark = arena.used;
    char *c = arena_take(&arena, 1, 1), *d = arena_take(&arena, 64, 1);
    CLAIM(arena.top->size == 3 * least && arena.top->offset == least
          && arena.top->below->memory <= a && d - c == 64 && c < d
          && c >= arena.top->memory && c < arena.top->memory + 64,
          "on it comes one with room for twice what is in use, and more");
    arena_take(&arena, 100, least);
    CLAIM(arena.top->size == 100 * least,
          "or for a larger request, and then no more than that");
    size_t peak = arena.used;
    CLAIM(peak == 101 * least + 128 && arena.peak == peak,
          "what is in use, and the most so far, are counted");
    arena_release(&arena, mark);
    CLAIM(arena.used == mark && arena.peak == peak && !arena.top->below
          && arena.top->size == least,
          "releasing to a mark gives back the blocks on top of it");
    arena_release(&arena, 0);
    arena_take(&arena, 1, 1);
    CLAIM(arena.top->size == peak && !arena.top->below && arena.peak == peak,
          "an arena that was emptied begins with one block of the peak's size");
    Block *kept = arena.top;
    arena_release(&arena, 0);
    CLAIM(arena.top == kept && arena.used == 0, "which stays from then on");
    arena_free(&arena);
    CLAIM(!arena.top && !arena.used && !arena.peak,
          "until all is given back to the system");
    Mat old = filled_mat(8, 16, 5);
    room.used -= 8 * 16 * sizeof(real);
    Mat zeros = arena_zeros(&room, 7, 16);
    bool zero = zeros.at == old.at && zeros.rows == 7 && zeros.cols == 16;
    for (int k = 0; k < 8 * 16; k++)
        zero = zero && zeros.at[k] == (k < 7 * 16 ? 0 : 5);
    CLAIM(zero, "arena_zeros clears its own numbers and no other");
#endif
}

// What calloc and realloc leave open.
void test_requests(void) {
    void *nothing = allocate(0, 0);
    CLAIM(nothing != NULL, "no items have a place in memory, too");
    free(nothing);
    nothing = reallocate(NULL, 0, 4);
    CLAIM(nothing != NULL, "even if they may become more");
    free(nothing);
    volatile size_t many = SIZE_MAX / 2; // volatile: so that no compiler warns
    CLAIM_FAILS("a matrix that is too large is refused", "out of memory",
                (arena_mat(&room, INT_MAX, INT_MAX), 0));
#ifndef MALLOC_COMPLAINS
    Arena full = {.sentences = 64, .tokens = 512};
    full.used = SIZE_MAX / 16 + 1;
    char says[200];
    double megabytes = ((double)full.used + (double)(SIZE_MAX / 4)) / 1e6;
    snprintf(says, sizeof says, "a batch of 64 × 512 tokens needs more than "
             "%.0f MB; try a smaller --batch", megabytes);
    CLAIM_FAILS("a batch that does not fit is named, with what to do", says,
                arena_take(&full, SIZE_MAX / 4, 1));
    full.sentences = 0;
    snprintf(says, sizeof says, "out of memory: %.0f MB are needed", megabytes);
    CLAIM_FAILS("without a batch only the amount needed is named", says,
                arena_take(&full, SIZE_MAX / 4, 1));
#endif
    CLAIM_FAILS("a size that overflows is refused", "out of memory",
                reallocate(NULL, many, 4));
    volatile size_t most = PTRDIFF_MAX;
    CLAIM(checked_product(most, 1) == most && checked_product(most, 0) == 0
          && checked_product(3, most / 3) == most / 3 * 3,
          "a product may be as much as the machine can address");
    char needed[100];
    snprintf(needed, sizeof needed, "out of memory: %.4g times 2 is more",
             (double)most + 1);
    CLAIM_FAILS("but no more; the message has the factors", needed,
                checked_product(most + 1, 2));
    CLAIM_FAILS("not even by a single byte", "out of memory: 4 times ",
                checked_product(4, most / 4 + 1));
}

void test_shapes(void) {
    Mat m = random_mat(2, 3);
    CLAIM_FAILS("too few rows are named", "f: x is (2,3), wanted (3,3)",
                (check_shape("f", "x", m, 3, 3), 0));
    CLAIM_FAILS("so are too many columns", "f: x is (2,3), wanted (2,2)",
                (check_shape("f", "x", m, 2, 2), 0));
}

void test_random(void) {
    enum { N = 100000 };
    double mean = 0, square = 0;
    uint64_t state = random_key(1, 2, 3), other = random_key(1, 2, 3);
    CLAIM(uniform(&state) == uniform(&other), "the same key, the same numbers");
    CLAIM(random_key(1, 2, 3) != random_key(1, 3, 2), "other place, other key");
    for (int i = 0; i < N; i++) {
        double u = uniform(&state);
        mean += u / N;
        square += u * u / N;
    }
    CLAIM(fabs(mean - 0.5) < 0.005 && fabs(square - 1. / 3) < 0.005,
          "uniform: mean 1/2, mean square 1/3");
}

void test_dropout(void) {
    Mat ones = filled_mat(100, 500, 1);
    dropout(ones, (Dropout){(real)0.3, 7});
    double dropped = 0, total = 0;
    for (int i = 0; i < 100; i++)
        for (int j = 0; j < 500; j++) {
            dropped += *at(ones, i, j) == 0;
            total += *at(ones, i, j);
        }
    CLAIM(fabs(dropped / 50000 - 0.3) < 0.01, "dropout 0.3 drops three in ten");
    CLAIM(fabs(total / 50000 - 1) < 0.015, "and keeps the mean");
    bool as_written = true;
    for (uint32_t i = 0; i < 100; i++)
        for (uint32_t j = 0; j < 500; j++) {
            bool out = scramble32(scramble32(7 + i) ^ j) < 0.3 * 4294967296.0;
            real kept = *at(ones, (int)i, (int)j);
            as_written = as_written
                && (out ? kept == 0 : fabs(kept - 1 / 0.7) < 1e-6);
        }
    CLAIM(as_written, "number j of row i: key + i scrambled, then with j again");
    uint32_t drawn = scramble32(scramble32(7));
    real one[1] = {1};
    dropout_row(one, 1, 0, (Dropout){(real)(drawn / 4294967296.0), 7});
    CLAIM(sizeof(real) == 4 || one[0] != 0, "below the rate, not at it");
    Mat x = random_mat(3, 4), y = copied(x);
    dropout(x, (Dropout){0, 7});
    CLAIM(same_bits(x, y), "dropout 0 changes nothing");
}

// Views of more numbers than an int can count, if memory can hold that many.
void test_large_views(void) {
#if PTRDIFF_MAX > INT32_MAX
    real one;
    Mat m = {&one, 3, 3, INT_MAX, 1}, turned = transposed(m);
    CLAIM(row(m, 2) - m.at == 2 * (ptrdiff_t)INT_MAX
          && at(turned, 1, 2) - m.at == 1 + 2 * (ptrdiff_t)INT_MAX,
          "an element may lie more than 2³¹ numbers after the first");
#endif
}

int main(void) {
    test_views();
    test_rows();
    test_clear();
    test_exponential();
    test_memory();
    test_blocks();
    test_requests();
    test_shapes();
    test_random();
    test_dropout();
    test_products(); // takes the longest, so it comes late
    test_products_by_rows();
    test_threads();
    if (sizeof(ptrdiff_t) > sizeof(int))
        test_large_views();
    arena_free(&room);
    return claims_end();
}
