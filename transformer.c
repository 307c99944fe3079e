// transformer.c: the Transformer of "Attention Is All You Need" in one C file
//
// SPDX-License-Identifier: MIT

//@ chapter manual
// # 0. Manual
//
// This file is the encoder-decoder transformer of Vaswani and others (2017,
// arXiv 1706.03762), whole: attention, both stacks, every gradient by hand,
// training, translation, and a look inside. It needs a C compiler and nothing
// else. It is meant to be read from top to bottom, like a book, next to any
// PyTorch tutorial: the chapters come in the order in which those explain
// things, and nothing is used before it is explained.
//
// ## Build and run
//
//     cc -O2 transformer.c -lm -o transformer    any C11 compiler
//     make                                       tuned to this machine
//
//     ./transformer train data/eng-fra.train.tsv --valid data/eng-fra.valid.tsv
//     echo "the red car is fast" | ./transformer translate model.safetensors
//     ./transformer evaluate model.safetensors data/eng-fra.test.tsv
//     ./transformer attention model.safetensors "the red car is fast"
//     ./transformer info model.safetensors
//     ./transformer --help
//
// Another C program can use any part of it: define TRANSFORMER_NO_MAIN and
// include this file. The tests do just that.
//
// ## The model in one picture
//
//        source                           target, behind "start"
//          │ (B,S)                           │ (B,T)
//     ┌────┴─────┐                      ┌────┴─────┐
//     │ embedding│ + positions          │ embedding│ + positions
//     └────┬─────┘                      └────┬─────┘
//          │ (B·S,D)                         │ (B·T,D)
//     ┌────┴───────────┐                ┌────┴───────────┐
//     │ self-attention │ q k v          │ self-attention │ q k v, masked:
//     │ + norm         │                │ + norm         │ no look ahead
//     ├────────────────┤                ├────────────────┤
//     │ feed-forward   │                │ cross-         │ q from below
//     │ + norm         │ × L    ┌──────►│ attention+norm │ k, v from the
//     └────┬───────────┘        │       ├────────────────┤   encoder
//          │                    │       │ feed-forward   │
//          └────────────────────┘       │ + norm         │ × L
//                "memory" (B·S,D)       └────┬───────────┘
//                                            │ (B·T,D)
//                                       ┌────┴───────────┐
//                                       │ linear         │
//                                       └────┬───────────┘
//                                            │ logits (B·T,V) → softmax
//                                         next words
//
// ## Letters
//
// Sizes have one letter each, everywhere: in formulas, in the comments that
// give the shape of a matrix, and as names of local variables.
//
//     B  sentences in a batch        D  width of the model (d_model)
//     S  length of the source        H  heads
//     T  length of the target        K  width of a head, D/H
//     V  words in the vocabulary     F  inner width, feed-forward network
//     L  layers of each stack        P  positions there is room for
//     N  rows, any number of them    I, O  inputs, outputs of a linear layer
//
// A shape is written (rows, columns). Batches are flat: sentence b of a source
// batch is rows b·S … b·S+S-1 of a matrix with B·S rows. In chapters 2 and 3, T
// and S are the numbers of queries and of keys, whatever they come from.
//
// Gradients are named after what they are the gradient of: `dq` is ∂loss/∂q
// and has the shape of q. A function x_forward stands directly above its
// x_backward. The steps of the first are numbered (1), (2), …; the second
// takes them back in reverse order. Gradients are added to what is there
// (`+=`), because a thing that is used twice gets gradients from both uses;
// the one who owns the memory clears it first. Exceptions say so.
//
// Lines that begin with "@" are for the tools that make the walkthrough, the
// exercises and the tests from this file. "[section 3.2]" is one of the paper.
//
// ## How one differentiates a program
//
// A reader who has never written a backward pass needs one idea. The loss is a
// number that the program computes in steps. Walk through the steps from the
// last to the first, and carry along, for each intermediate result x, the
// gradient dx = ∂loss/∂x: how much the loss grows if x grows a little. It
// starts with ∂loss/∂loss = 1. At each step y = f(x), the chain rule turns dy,
// which we have, into dx:
//
//     dx_i = Σ_j dy_j ∂y_j/∂x_i
//
// For a matrix product this is again a matrix product, for a sum it is a copy,
// for a function of single numbers it is a multiplication. That is all there
// is to it. What makes it laborious is only that every step must be got right;
// so each backward pass below comes with its derivation, with a fact that lets
// one doubt it, and with a test that compares it with finite differences:
//
//     ∂loss/∂x ≈ (loss(x + h) - loss(x - h)) / 2h
//
// ## Contents
//
//      0  manual
//      1  numbers: matrix views, the matrix product, memory, random numbers
//      2  scaled dot-product attention
//      3  multi-head attention
//      4  embeddings and positional encoding
//      5  the position-wise feed-forward network
//      6  residual connections and layer normalization
//      7  the encoder
//      8  the decoder, and the whole model
//      9  masks
//     10  words to numbers
//     11  training
//     12  greedy decoding
//     13  looking inside
//     14  saving and loading
//     15  the command line
//
// ## Who calls whom
//
//     main                                                               15
//     └─ train_command                                                   15
//        └─ train ─ epoch_order, make_batch                          11, 10
//           └─ train_step                                                11
//              ├─ transformer_forward ─ padding_mask, causal_…            9
//              │  ├─ encode ─ embedding_forward                        8, 4
//              │  │  └─ encoder_forward ─ encoder_layer_forward           7
//              │  │     ├─ residual_enter, residual_leave                 6
//              │  │     ├─ multi_head_forward ─ linear_forward            3
//              │  │     │  └─ attention_forward ─ softmax_forward         2
//              │  │     └─ ffn_forward                                    5
//              │  └─ decode ─ decoder_forward, the same with              8
//              │              a cross-attention in each layer
//              ├─ loss_forward, loss_backward                            11
//              ├─ transformer_backward: all of the above, reversed        8
//              └─ norm_of, clip_factor, adam_step                        11
//
// ## What it needs
//
// The C11 standard library. Three things beyond it are used where they exist
// and done without elsewhere: OpenMP, so that several cores work together;
// vector types of GCC and clang, so that one core works well; and POSIX, to
// tell a terminal from a file and to be sure that a file has reached the disk.

#if defined __unix__ || defined __APPLE__
#define TRANSFORMER_POSIX 1
#define _POSIX_C_SOURCE 200809L // isatty, fsync, stat
#include <sys/stat.h>
#include <unistd.h>
#endif

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef _OPENMP
#include <omp.h>
#endif

//@ chapter numbers
// # 1. Numbers
//
// Everything below is made of a few plain things: a number, a matrix of
// numbers, the product of two matrices, memory to hold them, and a little
// randomness. This chapter builds these, and it is the only one that knows
// how a processor likes its numbers arranged. When you have read it you can
// forget all of that: from chapter 2 on, code reads like formulas.
//
// In a hurry? Read "Matrices are views" and the definition of the matrix
// product, and go on to chapter 2. What you skip makes the program fast; it
// changes no result but the last digits.
//
// ## The number type
//
// Training runs in single precision, as everywhere in this field. The tests
// compile this same file with `-DTRANSFORMER_DOUBLE`, because a gradient can
// only be checked against finite differences if the arithmetic has digits to
// spare: in single precision such a check bottoms out near 1e-3 and hides
// every smaller mistake.

#ifdef TRANSFORMER_DOUBLE
typedef double real;
#define REAL(function) function // REAL(sqrt)(x) is sqrt(x) in double
#else
typedef float real;
#define REAL(function) function##f // and sqrtf(x) in float
#endif

// ## When something is wrong
//
// There is one way to fail: say why in one line on the standard error stream,
// and stop with status 1. (Status 2, for a command that was misused, appears
// in chapter 15.) Files are only ever replaced whole (chapter 14), so stopping
// anywhere loses nothing that was saved.

// Prints "transformer: " and the formatted reason. Parts of it may come from a
// file: control characters do not reach the terminal.
void complain(const char *format, va_list arguments) {
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    for (char *c = text; *c; c++)
        *c = *c > 0 && *c < ' ' && c > text ? '?' : *c;
    fprintf(stderr, *text == '\n' ? "\ntransformer: %s" : "transformer: %s",
            text + (*text == '\n'));
}

// Complains, and ends the program with status 1.
_Noreturn void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    complain(format, arguments);
    fputc('\n', stderr);
    exit(1);
}

// Memory for `count` items of `size` bytes, zeroed, and more of it. Neither
// returns NULL: a request too large for the machine fails with a message.
void *allocate(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory)
        fail("out of memory: %zu items of %zu bytes", count, size);
    return memory;
}

void *reallocate(void *memory, size_t count, size_t size) {
    bool fits = count <= SIZE_MAX / size;
    void *larger = fits ? realloc(memory, count * size) : NULL;
    if (!larger)
        fail("out of memory: %zu items of %zu bytes", count, size);
    return larger;
}

// ## Sizes, and the letters that stand for them
//
// The configuration of a model. Its defaults, limits and the names under which
// the command line knows them stand in one table in chapter 15.

enum { POST_NORM, PRE_NORM };                   // Config.norm, chapter 6
enum { SINUSOIDAL, LEARNED, NO_POSITIONS };     // Config.positions, chapter 4
enum { RELU, GELU };                            // Config.activation, chapter 5

typedef struct {
    int layers;       // L: layers of the encoder, and as many of the decoder
    int d_model;      // D: width of the vector that stands for a token
    int heads;        // H: attention heads, each D/H = K wide
    int d_ff;         // F: inner width of the feed-forward network
    int source_vocab; // V of the source language
    int target_vocab; // V of the target language
    int max_len;      // longest sentence in tokens, not counting start and end
    int norm, positions, activation; // one of the constants above
    int tie;          // the output layer uses the target embedding's matrix
    double dropout;   // share of values dropped in training
} Config;

// ## Matrices are views
//
// A `Mat` does not own numbers; it says where they lie. Element (i, j) is
// found `i * row_stride + j * col_stride` numbers behind `at`. That one formula
// buys a lot: exchanging the two strides transposes the matrix, a later start
// with fewer columns is a band of columns (this is how attention is split into
// heads in chapter 3), a later start with fewer rows is a band of rows (one
// sentence of a batch). None of these moves a number.
//
//     at → [ a b c d ]     transposed: rows 4, cols 2, strides 1 and 4
//          [ e f g h ]     columns 2..3: rows 2, cols 2, starting at c
//     rows 2, cols 4, row_stride 4, col_stride 1
//
// The price is a rule to keep in mind: two views of the same numbers are not
// two matrices. Who writes through one changes the other. And a view is only
// good as long as the memory behind it is.
//
// A Mat is small, so it is passed by value, like a number.

typedef struct {
    real *at;
    int rows, cols;
    int row_stride, col_stride;
} Mat;

// A view of rows × cols numbers that lie row after row in `memory`.
Mat mat(real *memory, int rows, int cols) {
    return (Mat){memory, rows, cols, cols, 1};
}

// Address of element (i, j), so that `*at(m, i, j)` reads and writes.
real *at(Mat m, int i, int j) {
    return m.at + (ptrdiff_t)i * m.row_stride + (ptrdiff_t)j * m.col_stride;
}

// Start of row i.
real *row(Mat m, int i) {
    return m.at + (ptrdiff_t)i * m.row_stride;
}

// mᵀ, shape (cols, rows).
Mat transposed(Mat m) {
    return (Mat){m.at, m.cols, m.rows, m.col_stride, m.row_stride};
}

// Rows first … first + count - 1 of m, shape (count, cols).
Mat band_of_rows(Mat m, int first, int count) {
    return (Mat){row(m, first), count, m.cols, m.row_stride, m.col_stride};
}

// Columns first … first + count - 1 of m, shape (rows, count).
Mat band_of_cols(Mat m, int first, int count) {
    return (Mat){at(m, 0, first), m.rows, count, m.row_stride, m.col_stride};
}

// ## Several threads
//
// Where the compiler offers OpenMP, a loop marked PARALLEL_FOR shares its
// iterations among threads; where it does not, the mark is nothing and the
// program is serial. `work` is a rough count of the numbers that the whole loop
// handles: below a hundred thousand, some 30 microseconds, waking the other
// threads costs more than they save.
//
// One rule holds in the whole file: each number is computed by one thread, in
// one order, whatever the number of threads. So the same seed gives the same
// bits on one core and on two, and an error can always be reproduced.

#ifdef _OPENMP
#define PRAGMA(text) _Pragma(#text)
#define PARALLEL_FOR(work) \
    PRAGMA(omp parallel for schedule(static) if ((work) > 100000))
#else
#define PARALLEL_FOR(work)
#endif

// ## Loops over whole matrices
//
// Small tools that the chapters share. All of them expect rows whose numbers
// lie side by side (col_stride 1); only the matrix product takes any view.
// They are not marked PARALLEL_FOR: they spend their time waiting for memory,
// and a second core would wait for the same memory.

// The number of elements; as double, since it serves as an estimate of work.
double size_of(Mat m) {
    return (double)m.rows * m.cols;
}

// m = value
void fill(Mat m, real value) {
    for (int i = 0; i < m.rows; i++) {
        real *to = row(m, i);
        for (int j = 0; j < m.cols; j++)
            to[j] = value;
    }
}

// to = from, same shape
void copy(Mat to, Mat from) {
    for (int i = 0; i < to.rows; i++)
        memcpy(row(to, i), row(from, i), sizeof(real) * (size_t)to.cols);
}

// to += from, same shape
void add(Mat to, Mat from) {
    for (int i = 0; i < to.rows; i++) {
        real *sum = row(to, i);
        const real *x = row(from, i);
        for (int j = 0; j < to.cols; j++)
            sum[j] += x[j];
    }
}

// Sums and maxima along a row run through the whole program. Written naively
// each addition waits for the one before; SIMD allows the compiler to keep
// several sums side by side in its vector registers.

#ifdef _OPENMP
#define SIMD(operation, result) PRAGMA(omp simd reduction(operation : result))
#else
#define SIMD(operation, result)
#endif

// Σⱼ x[j], n numbers
real sum(const real *x, int n) {
    real total = 0;
    SIMD(+, total)
    for (int j = 0; j < n; j++)
        total += x[j];
    return total;
}

// Σⱼ x[j] y[j], n numbers each
real dot(const real *x, const real *y, int n) {
    real total = 0;
    SIMD(+, total)
    for (int j = 0; j < n; j++)
        total += x[j] * y[j];
    return total;
}

// maxⱼ x[j], n numbers; -infinity if there are none
real max(const real *x, int n) {
    real most = -(real)INFINITY;
    SIMD(max, most)
    for (int j = 0; j < n; j++)
        most = x[j] > most ? x[j] : most;
    return most;
}

// The exponential of softmax. In double it is libm's. In single precision
// libm's would be called for one number at a time, and softmax would spend
// its time there; these few lines without a branch run in vector registers and
// are right to about 1 part in 10⁷:
//
//     eˣ = 2ⁿ · eʳ,   n = round(x / ln 2),   r = x - n ln 2,   |r| ≤ 0.35
//
// where 2ⁿ is n written into the exponent bits of a float and eʳ a polynomial.
// ln 2 is subtracted in two parts, so that r keeps all its digits. Softmax asks
// only for x ≤ 0; below -87 the answer is as good as zero and kept there.
real exponential(real x) {
#ifdef TRANSFORMER_DOUBLE
    return exp(x);
#else
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    // adding 1.5 · 2²³ leaves no room for a fraction: this rounds
    float n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;
    float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float series = (1.0f / 720 * r + 1.0f / 120) * r + 1.0f / 24;
    series = ((((series * r + 1.0f / 6) * r + 0.5f) * r) + 1) * r + 1;
    int32_t bits = ((int32_t)n + 127) * (1 << 23);
    float power;
    memcpy(&power, &bits, sizeof power);
    return series * power;
#endif
}

// Σⱼ e^(x[j] - shift), n numbers
real sum_exponentials(const real *x, real shift, int n) {
    real total = 0;
    SIMD(+, total)
    for (int j = 0; j < n; j++)
        total += exponential(x[j] - shift);
    return total;
}

// ## The matrix product
//
// $$ c_{ij} = \sum_{p} a_{ip}\, b_{pj} $$
//
// Nearly all the time of a transformer goes into this line: applying a layer's
// weights to every position of every sentence is a matrix product, comparing
// all queries with all keys is one, and each of them comes back as two more in
// the backward pass.
//
//     a (2,3)        b (3,2)        c = a b (2,2)
//     1 2 3          1 0            1·1+2·0+3·2   1·0+2·1+3·2       7  8
//     4 5 6          0 1            4·1+5·0+6·2   4·0+5·1+6·2   =  16 17
//                    2 2
//
// First the definition, three plain loops. It is never called in training; the
// tests hold the fast product against it, for every shape and stride.

// c += a b; a (n, k), b (k, m), c (n, m), any views
void matmul_definition(Mat c, Mat a, Mat b) {
    for (int i = 0; i < a.rows; i++)
        for (int j = 0; j < b.cols; j++)
            for (int p = 0; p < a.cols; p++)
                *at(c, i, j) += *at(a, i, p) * *at(b, p, j);
}

// ### Why that is slow, and how to make it fast
//
// For each multiplication the definition reads two numbers from memory, and
// each addition waits for the one before. A processor core could do 16 or 32
// multiplications and additions in each cycle, if only the numbers were at
// hand. Three ideas bring them there.
//
// *A tile in registers.* The first cure is to compute a small *tile* of c at
// once and keep it in registers while running along p: a tile of 12 × 32 needs
// 12 + 32 numbers for 12 · 32 multiplications.
//
//                     b: 32 columns, packed side by side
//                     ┌────────────┐
//                   p │████████████│  two vectors per p
//                     └────────────┘
//            p        ┌────────────┐
//         ┌─────┐     │            │
//      a: │█    │     │   tile of  │  12 sums, each a vector,
//         │█    │     │     c      │  stay in registers
//         └─────┘     └────────────┘
//
// *Packing.* The 32 columns of b that belong to a column of tiles are copied to
// where they lie side by side in the order in which they will be read. The copy
// costs little, for it is used again for every row of a.
//
// *Blocking.* p runs in blocks of 256, so that the packed columns fit the first
// cache, and large a are cut into blocks that fit the second.
//
// A vector here is a type of GCC and clang that holds as many numbers as the
// processor's registers: `x * v` multiplies all of them by x. On a compiler
// without that type a "vector" is one number, and the same code still works.

#if defined __GNUC__ && !defined __TINYC__
#if defined __AVX512F__
enum { VECTOR_BYTES = 64, TILE_ROWS = 12 };
#elif defined __AVX__
enum { VECTOR_BYTES = 32, TILE_ROWS = 6 };
#else
enum { VECTOR_BYTES = 16, TILE_ROWS = 6 };
#endif
typedef real Vector __attribute__((vector_size(VECTOR_BYTES), may_alias,
                                   aligned(sizeof(real))));
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
enum { VECTOR_BYTES = sizeof(real), TILE_ROWS = 6 };
typedef real Vector;
#define ALWAYS_INLINE static inline
#endif

#if defined __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#elif defined __GNUC__ && !defined __TINYC__
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
#endif

enum {
    LANES = VECTOR_BYTES / (int)sizeof(real), // numbers in a vector
    TILE_COLS = 2 * LANES,                    // a tile is two vectors wide
    DEPTH = 256,                              // p runs in blocks of this many
};

// One tile: c += a b. a may be any view (its numbers are read one at a time); b
// is packed: TILE_COLS numbers for each p, one p after the other; rows of c lie
// c_stride apart. `rows` and `vectors` are constants in every call below, so
// the compiler unrolls the loops and keeps `left` and `right` in registers.
ALWAYS_INLINE void tile(int rows, int vectors, real *c, int c_stride,
                        Mat a, const real *b) {
    Vector left[TILE_ROWS], right[TILE_ROWS];
    UNROLL
    for (int i = 0; i < rows; i++)
        left[i] = right[i] = (Vector){0};

    const real *a_p = a.at;
    ptrdiff_t a_row = a.row_stride, a_col = a.col_stride;
    for (int p = 0; p < a.cols; p++, a_p += a_col, b += TILE_COLS) {
        Vector b_left = *(const Vector *)b;
        Vector b_right = *(const Vector *)(b + LANES);
        UNROLL
        for (int i = 0; i < rows; i++) {
            left[i] += a_p[i * a_row] * b_left;
            if (vectors == 2)
                right[i] += a_p[i * a_row] * b_right;
        }
    }

    UNROLL
    for (int i = 0; i < rows; i++) {
        Vector *to = (Vector *)(c + (ptrdiff_t)i * c_stride);
        to[0] += left[i];
        if (vectors == 2)
            to[1] += right[i];
    }
}

// The edges. At the bottom of c fewer rows are left than a tile has; each
// count gets a copy of the code above with its own constant. On the right
// fewer columns are left; then the tile goes to a buffer, and the columns that
// exist are added to c from there. (So does any c whose columns are not side
// by side.)
void any_tile(Mat c, Mat a, const real *b) {
    real buffer[TILE_ROWS * TILE_COLS];
    bool direct = c.cols % LANES == 0 && c.col_stride == 1;
    real *to = direct ? c.at : buffer;
    int stride = direct ? c.row_stride : TILE_COLS;
    if (!direct)
        memset(buffer, 0, sizeof buffer);
    switch (c.rows) {
#define CASE(count)                          \
    case count:                              \
        if (c.cols <= LANES)                 \
            tile(count, 1, to, stride, a, b); \
        else                                 \
            tile(count, 2, to, stride, a, b); \
        break
    CASE(1); CASE(2); CASE(3); CASE(4); CASE(5); CASE(6);
#if defined __AVX512F__
    CASE(7); CASE(8); CASE(9); CASE(10); CASE(11); CASE(12);
#endif
#undef CASE
    }
    if (!direct)
        for (int i = 0; i < c.rows; i++)
            for (int j = 0; j < c.cols; j++)
                *at(c, i, j) += buffer[i * TILE_COLS + j];
}

// Copies all columns of b, at most TILE_COLS, side by side for each row, with
// zeros for the columns that are missing.
void pack_cols(real *packed, Mat b) {
    if (b.cols < TILE_COLS)
        memset(packed, 0, sizeof(real) * TILE_COLS * (size_t)b.rows);
    if (b.col_stride == 1)
        for (int p = 0; p < b.rows; p++)
            memcpy(packed + p * TILE_COLS, row(b, p),
                   sizeof(real) * (size_t)b.cols);
    else
        for (int j = 0; j < b.cols; j++)
            for (int p = 0; p < b.rows; p++)
                packed[p * TILE_COLS + j] = *at(b, p, j);
}

int min_int(int a, int b) {
    return a < b ? a : b;
}

// c += a b for one column of tiles: c has at most TILE_COLS columns, a at most
// DEPTH. The packed columns of b (16 KB) stay in the nearest cache while the
// tiles run down the rows of a.
void column_of_tiles(Mat c, Mat a, const real *b) {
    for (int i = 0; i < c.rows; i += TILE_ROWS) {
        int rows = min_int(TILE_ROWS, c.rows - i);
        any_tile(band_of_rows(c, i, rows), band_of_rows(a, i, rows), b);
    }
}

// c += a b on one thread, for products that are small: those of one attention
// head, and any that stand inside a PARALLEL_FOR.
void small_matmul_add(Mat c, Mat a, Mat b) {
    real packed[DEPTH * TILE_COLS];
    for (int p = 0; p < a.cols; p += DEPTH) {
        int depth = min_int(DEPTH, a.cols - p);
        for (int j = 0; j < b.cols; j += TILE_COLS) {
            int cols = min_int(TILE_COLS, b.cols - j);
            pack_cols(packed, band_of_cols(band_of_rows(b, p, depth), j, cols));
            column_of_tiles(band_of_cols(c, j, cols),
                            band_of_cols(a, p, depth), packed);
        }
    }
}

// Large products are cut into blocks of a that fit the second cache. A block
// is copied so that the tiles find the 12 numbers of each p side by side, and
// then the columns of tiles are shared among the threads.

enum { BLOCK_ROWS = 960 }; // a multiple of every TILE_ROWS

// Copies a (at most BLOCK_ROWS × DEPTH) tile by tile, each tile p after p.
void pack_rows(real *packed, Mat a) {
    PARALLEL_FOR(size_of(a))
    for (int i = 0; i < a.rows; i += TILE_ROWS) {
        Mat from = band_of_rows(a, i, min_int(TILE_ROWS, a.rows - i));
        real *to = packed + (ptrdiff_t)i * a.cols;
        for (int r = 0; r < from.rows; r++)
            for (int p = 0; p < a.cols; p++)
                to[p * TILE_ROWS + r] = *at(from, r, p);
    }
}

// A product does some sixteen multiplications in the time that other loops need
// for one number.
double work_of_product(Mat c, int depth) {
    return size_of(c) * depth / 16;
}

// c += a b for a block of a that was packed
void block_matmul_add(Mat c, const real *packed_a, Mat b) {
    PARALLEL_FOR(work_of_product(c, b.rows))
    for (int j = 0; j < b.cols; j += TILE_COLS) {
        real packed[DEPTH * TILE_COLS];
        int cols = min_int(TILE_COLS, b.cols - j);
        pack_cols(packed, band_of_cols(b, j, cols));
        for (int i = 0; i < c.rows; i += TILE_ROWS) {
            int rows = min_int(TILE_ROWS, c.rows - i);
            Mat a = {(real *)packed_a + (ptrdiff_t)i * b.rows, rows, b.rows,
                     1, TILE_ROWS};
            Mat to = band_of_cols(band_of_rows(c, i, rows), j, cols);
            any_tile(to, a, packed);
        }
    }
}

// c += a b; a (n, k), b (k, m), c (n, m), any views of any size. Not to be
// called inside a PARALLEL_FOR. Each element of c is a sum over p in the same
// order on every path and with any number of threads: the same bits.
void matmul_add(Mat c, Mat a, Mat b) {
    static real packed[BLOCK_ROWS * DEPTH];
    if (c.col_stride != 1 && c.row_stride == 1) { // cᵀ = bᵀ aᵀ
        matmul_add(transposed(c), transposed(b), transposed(a));
        return;
    }
    if (b.cols <= 4 * TILE_COLS || a.rows <= 4 * TILE_ROWS) {
        // not enough columns to repay the packing: share the rows instead
        int share = 8 * TILE_ROWS;
        PARALLEL_FOR(work_of_product(c, a.cols))
        for (int i = 0; i < c.rows; i += share) {
            int rows = min_int(share, c.rows - i);
            small_matmul_add(band_of_rows(c, i, rows),
                             band_of_rows(a, i, rows), b);
        }
        return;
    }
    for (int p = 0; p < a.cols; p += DEPTH) {
        int depth = min_int(DEPTH, a.cols - p);
        for (int i = 0; i < a.rows; i += BLOCK_ROWS) {
            int rows = min_int(BLOCK_ROWS, a.rows - i);
            pack_rows(packed, band_of_cols(band_of_rows(a, i, rows), p, depth));
            block_matmul_add(band_of_rows(c, i, rows), packed,
                             band_of_rows(b, p, depth));
        }
    }
}

// c = a b
void matmul(Mat c, Mat a, Mat b) {
    fill(c, 0);
    matmul_add(c, a, b);
}

// ## Memory
//
// A training step needs memory for everything the forward pass leaves for the
// backward pass, and after the step it needs none of it. An *arena* is made for
// that: taking memory moves a mark forward, giving it back moves the mark back,
// and nothing is ever freed one by one.
//
//     step begins   used │
//     forward       used ├──── q k v ── weights ── context ── … ── logits ──┤
//     backward      used ├──── all of the above ───── scratch of one layer ─┤
//     step ends     used │                            (taken and given back
//                                                      layer by layer)
//
// The memory comes in blocks, the newest on top. When the top block is full a
// larger one is put on it; when the arena has been emptied, the blocks are
// replaced by a single one of the largest size yet needed, so from the second
// step on there is just one.
//
// Two variants serve the tests. TRANSFORMER_POISON fills fresh memory with NaN:
// whoever reads a number that was never written gets a loud answer.
// TRANSFORMER_MALLOC gives each request a block of its own, so that Valgrind
// and the sanitizers see it when a loop runs over an end.

typedef struct Block {
    struct Block *below;
    size_t start;    // bytes of the arena that were in use below this block
    size_t size;     // bytes in this block
    char *memory;
} Block;

typedef struct {
    Block *top;
    size_t used, peak; // bytes in use now, and at most so far
} Arena;

#ifdef TRANSFORMER_MALLOC
enum { LEAST_BLOCK = 0, ALIGNMENT = 1 };
#else
enum { LEAST_BLOCK = 1 << 16, ALIGNMENT = 64 };
#endif

// Puts a block with room for `size` bytes on top.
void arena_push(Arena *arena, size_t size) {
    Block *block = allocate(1, sizeof *block);
    *block = (Block){arena->top, arena->used, size, malloc(size + ALIGNMENT)};
    if (!block->memory)
        fail("out of memory: a step needs another %zu bytes", size);
    arena->top = block;
}

// Takes the top block away.
void arena_pop(Arena *arena) {
    Block *block = arena->top;
    arena->top = block->below;
    free(block->memory);
    free(block);
}

// Memory for `count` items of `size` bytes, until the arena is released to a
// mark taken before. Not initialized.
void *arena_take(Arena *arena, size_t count, size_t size) {
    size_t bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    Block *top = arena->top;
    if (LEAST_BLOCK == 0 || !top
        || arena->used - top->start + bytes > top->size) {
        size_t twice = LEAST_BLOCK ? 2 * arena->used + LEAST_BLOCK : 0;
        arena_push(arena, bytes > twice ? bytes : twice);
        top = arena->top;
    }
    size_t misaligned = (uintptr_t)top->memory % ALIGNMENT;
    char *memory = top->memory + (misaligned ? ALIGNMENT - misaligned : 0)
                 + (arena->used - top->start);
    arena->used += bytes;
    if (arena->used > arena->peak)
        arena->peak = arena->used;
    return memory;
}

// A matrix of fresh numbers.
Mat arena_mat(Arena *arena, int rows, int cols) {
    size_t count = (size_t)rows * (size_t)cols;
    Mat m = mat(arena_take(arena, count, sizeof(real)), rows, cols);
#ifdef TRANSFORMER_POISON
    fill(m, (real)NAN);
#endif
    return m;
}

// A matrix of zeros: where gradients are going to be added up.
Mat arena_zeros(Arena *arena, int rows, int cols) {
    Mat m = arena_mat(arena, rows, cols);
    fill(m, 0);
    return m;
}

// Gives back all that was taken since `arena->used` had the value `mark`.
void arena_release(Arena *arena, size_t mark) {
    arena->used = mark;
    while (arena->top && arena->top->start >= mark && arena->top->below)
        arena_pop(arena);
    if (mark == 0 && arena->top
        && (LEAST_BLOCK == 0 || arena->peak > arena->top->size)) {
        arena_pop(arena);
        if (LEAST_BLOCK)
            arena_push(arena, arena->peak);
    }
}

// Gives all memory back to the system.
void arena_free(Arena *arena) {
    while (arena->top)
        arena_pop(arena);
    *arena = (Arena){0};
}

// ## Random numbers
//
// Everything random is a pure function of the seed and of a place: "the noise
// of step 17", "the order of epoch 3". There is no hidden state to save, so an
// interrupted training goes on with the very bits it would have seen.
//
// Most programs keep a generator whose state changes with every call. Then the
// numbers depend on everything that happened before, and two threads asking at
// once get them in an order that nobody can predict. Here a *key* is made from
// the seed and the place, and the key alone decides.
//
// `scramble` turns a number into one that looks unrelated (the finalizer of
// SplitMix64; Steele, Lea and Flood, 2014). Every key comes from it.
uint64_t scramble(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// A key for one use of randomness: which seed, what for, and which one.
enum { FOR_PARAMETERS = 1, FOR_ORDER, FOR_DROPOUT };

uint64_t random_key(uint64_t seed, uint64_t what_for, uint64_t which) {
    return scramble(scramble(scramble(seed) + what_for) + which);
}

// The next number of the sequence that starts at *state, 0 ≤ result < 1.
double uniform(uint64_t *state) {
    *state = scramble(*state);
    return (double)(*state >> 11) / 9007199254740992.0; // 2⁵³
}

// Normally distributed, mean 0 and standard deviation 1 (Box and Muller, 1958).
double normal(uint64_t *state) {
    double radius = sqrt(-2 * log(1 - uniform(state)));
    return radius * cos(6.283185307179586 * uniform(state));
}

// ## Dropout
//
// In training, each number is set to zero with probability p, so that the
// network cannot lean on any single one. Those that stay are divided by 1-p:
// then the expected value is the same as without dropout, and when the model
// is used nothing needs to be done at all. [paper, section 5.4]
//
// The backward pass must drop the gradients of the same numbers. It does not
// need a stored mask for that: whether element i is dropped is a function of
// i and a key, and a `Dropout` remembers the key. Dropout is multiplication by
// a constant (0 or 1/(1-p)), so its backward pass multiplies the gradient by
// the same constant. It is the very same function.

typedef struct {
    real rate;    // p; 0 does nothing
    uint32_t key; // which numbers
} Dropout;

// 32 bits that look random, from a counter: multiply and shift, the form in
// which a processor can do many at once. (Constants by Chris Wellons.)
uint32_t scramble32(uint32_t x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

// x[j] = x[j] · 0 or 1/(1-p), the n numbers of row i, in place; forward and
// backward.
void dropout_row(real *x, int n, int i, Dropout d) {
    if (d.rate == 0)
        return;
    real scale = 1 / (1 - d.rate);
    uint32_t threshold = (uint32_t)(d.rate * 4294967296.0);
    uint32_t row_key = scramble32(d.key + (uint32_t)i);
    for (int j = 0; j < n; j++)
        x[j] *= scramble32(row_key ^ (uint32_t)j) < threshold ? 0 : scale;
}

// The same for all rows of a matrix.
void dropout(Mat x, Dropout d) {
    if (d.rate == 0)
        return;
    PARALLEL_FOR(size_of(x) * 2)
    for (int i = 0; i < x.rows; i++)
        dropout_row(row(x, i), x.cols, i, d);
}

// ## One pass through the model
//
// What every forward step needs to know: where to put its results, the sizes,
// and the noise. With `dropout` 0 there is none: that is how the model is used
// once it is trained.

typedef struct {
    Arena *arena;
    const Config *config;
    real dropout;   // rate in force now
    uint64_t noise; // key of the next dropout
} Pass;

// The dropout of the next place in the model. The forward pass asks for it, and
// saves it for the backward pass.
Dropout next_dropout(Pass *pass) {
    pass->noise = scramble(pass->noise);
    return (Dropout){pass->dropout, (uint32_t)pass->noise};
}

//@ chapter attention
// # 2. Scaled dot-product attention
//
// Attention lets every position of a sentence fetch information from any
// other. Each position that wants something sends out a *query* vector; each
// position that has something to offer shows a *key* vector and holds a *value*
// vector. A query is compared with every key; the better they match, the more
// of that position's value is fetched.
//
// $$ \operatorname{attention} = \operatorname{softmax}(q k^T / \sqrt{K}) v $$
//
// The shapes, for one head and one sentence: T queries, S keys and as many
// values, each K numbers wide.
//
//     q (T,K)   k (S,K)   v (S,K)
//     scores  = q kᵀ · scale        (T,S)   how well query i matches key j
//     weights = softmax(scores)     (T,S)   each row sums to 1
//     out     = weights v           (T,K)   row i: a mixture of the values
//
// A dictionary in a program finds the one key that is equal and returns its
// value. Attention is a soft dictionary: every key matches a little, and what
// comes back is a mean of all values, weighted by how well their keys match.
// That it is soft is the point, since a mean has a derivative and a look-up
// has none.
//
// An example small enough for paper: two queries, three keys, K = 2, and for
// once the scale log 2, so that the exponentials are powers of two.
//
//     q  1 0     k  1 0     v  1 2       scores      log 2   0   0
//        0 0        0 1        3 4                     0     0   0
//                   0 0        5 9       weights      1/2  1/4  1/4
//                                                     1/3  1/3  1/3
//                                        out          2.5 4.25
//                                                     3   5
//
// The first query matches the first key and takes half of its value. The
// second matches nothing in particular and takes the mean of everything. The
// tests check just these numbers.
//
// Why the scale 1/√K: if the numbers in q and k are independent with mean 0 and
// variance 1, each product of two has variance 1, and the sum of K products has
// variance K. With K = 64 typical scores are ±8, and e⁸ is three thousand times
// e⁰. Such scores push softmax into the corner where one weight is 1 and the
// others are 0, and there its gradient is almost zero: nothing is learned.
// Dividing by √K brings the variance back to 1. [section 3.2.1]
//
// ## What a mask is
//
// Some keys must not be looked at: padding, and in the decoder the future. A
// mask says for query i and key j whether j may be seen: **1 means visible, 0
// means hidden.** (PyTorch's nn.Transformer has it the other way round; its
// scaled_dot_product_attention has it this way.) Which keys are hidden is
// decided in chapter 9; here it is only obeyed.
//
// A mask for a batch has three dimensions: sentence, query, key. Often it is
// the same along one of them. The strides say so, like those of a Mat: a
// stride of 0 stays where it is, and one row of bytes serves for all queries.

typedef struct {
    const unsigned char *visible; // NULL: everything is visible
    int sentence_stride;          // 0: the same for every sentence of a batch
    int row_stride;               // 0: the same for every query
} Mask;

// The visible keys of query i in sentence b, S bytes; or NULL for all of them.
const unsigned char *mask_row(Mask mask, int b, int i) {
    if (!mask.visible)
        return NULL;
    return mask.visible + (ptrdiff_t)b * mask.sentence_stride
                        + (ptrdiff_t)i * mask.row_stride;
}

// The mask of sentence b alone.
Mask mask_of_sentence(Mask mask, int b) {
    return (Mask){mask_row(mask, b, 0), 0, mask.row_stride};
}

// ## Softmax
//
// $$ w_j = \frac{e^{x_j}}{\sum_k e^{x_k}} $$
//
// Adding the same number to all x changes nothing, since it cancels. We use
// this freedom to subtract the largest x: then no exponential can overflow, and
// at least one of them is 1, so the sum cannot vanish.
//
//     x                 1000  999  998          e^1000 would overflow
//     x - largest          0   -1   -2
//     e to the power of    1  .368 .135         sum 1.503
//     weights           .665  .245 .090         sum 1
//
// Hidden keys take no part: their weight is exactly 0. A row in which every key
// is hidden has nothing to look at, and becomes zeros.

//@ deviation
// Hidden keys are left out of the softmax, and a row without any visible key
// gives zeros. Adding -∞ to hidden scores, as in the paper's section 3.2.3,
// gives the same weights, except that such a row becomes 0/0; adding -1e9, as
// many tutorials do, spreads its attention evenly over what it must not see.

// x[j] = softmax over the visible x, n numbers, in place
void softmax_row(real *x, const unsigned char *visible, int n) {
    if (visible)
        for (int j = 0; j < n; j++)
            x[j] = visible[j] ? x[j] : -(real)INFINITY;
    real most = max(x, n);
    if (most == -(real)INFINITY) { // nothing to see
        memset(x, 0, sizeof(real) * (size_t)n);
        return;
    }
    for (int j = 0; j < n; j++)
        x[j] = exponential(x[j] - most);
    if (visible)
        for (int j = 0; j < n; j++)
            x[j] = visible[j] ? x[j] : 0;
    real scale = 1 / sum(x, n);
    for (int j = 0; j < n; j++)
        x[j] *= scale;
}

// scores (T,S) become weights, row by row, in place
void softmax_forward(Mat scores, Mask mask) {
    for (int i = 0; i < scores.rows; i++)
        softmax_row(row(scores, i), mask_row(mask, 0, i), scores.cols);
}

// The backward pass. Given dw, the gradient of the loss with respect to the
// weights, we want dx, that with respect to the scores. Index form: each weight
// depends on each score of its row,
//
//     ∂w_j / ∂x_i = w_j (1[i=j] - w_i)
//
// because raising x_i raises its own numerator and everybody's denominator.
// (For j = i, the quotient rule gives w_i - w_i²; for the others only the
// denominator moves, and it gives -w_j w_i.) The chain rule sums over all
// weights of the row:
//
//     dx_i = Σ_j dw_j w_j (1[i=j] - w_i)
//          = dw_i w_i - w_i Σ_j dw_j w_j
//          = w_i (dw_i - Σ_j dw_j w_j)
//
// The sum does not depend on i: one dot product for each row. In words: a score
// should rise if its weight is wanted more than the weights are wanted on
// average, and in proportion to how much weight it has.
//
// How one knows that it is right: the dx of a row sum to zero, because adding a
// constant to all scores changes nothing. A hidden key has w_i = 0 and so
// dx_i = 0, without a look at the mask.

// dw (T,S) becomes dscores, in place: every element is used up as it is made.
void softmax_backward(Mat dw, Mat w) {
    for (int i = 0; i < w.rows; i++) {
        real *d = row(dw, i);
        const real *weight = row(w, i);
        real common = dot(d, weight, w.cols);
        for (int j = 0; j < w.cols; j++)
            d[j] = weight[j] * (d[j] - common);
    }
}

// ## Attention, forward and backward
//
// One sentence, one head. `weights` and `dropped` are saved for the backward
// pass; they may be the same matrix when nothing is dropped. Everything is
// given: q, k and v may come from anywhere, and so may the mask and the scale.
// This one function serves all three attentions of the transformer, and the
// experiments that leave out the scale.

//@ deviation
// Dropout acts on the attention weights and inside the feed-forward network
// too, as in every tutorial. The paper's section 5.4 names only sub-layer
// outputs and embeddings.

// out = dropout(softmax(scale · q kᵀ)) v                 [section 3.2.1, eq. 1]
// q (T,K), k (S,K), v (S,K), mask (T,S) -> weights, dropped (T,S), out (T,K)
void attention_forward(Mat out, Mat weights, Mat dropped, Mat q, Mat k, Mat v,
                       Mask mask, real scale, Dropout d) {
    fill(weights, 0);
    small_matmul_add(weights, q, transposed(k)); // (1) scores = q kᵀ
    for (int i = 0; i < weights.rows; i++)       // (2) times scale
        for (int j = 0; j < weights.cols; j++)
            row(weights, i)[j] *= scale;
    softmax_forward(weights, mask);              // (3) softmax(scores)
    if (dropped.at != weights.at)                // (4) dropout(weights)
        copy(dropped, weights);
    for (int i = 0; i < dropped.rows; i++)
        dropout_row(row(dropped, i), dropped.cols, i, d);
    fill(out, 0);
    small_matmul_add(out, dropped, v);           // (5) out = dropped v
}

// Backward, step by step from the last to the first. The only new rule is that
// of the matrix product. In index form, for c = a b:
//
//     c_ij = Σ_p a_ip b_pj
//     da_ip = Σ_j dc_ij b_pj     a_ip meets every j of its row:   da = dc bᵀ
//     db_pj = Σ_i a_ip dc_ij     b_pj meets every i of its column: db = aᵀ dc
//
// The shapes leave no other choice, which is a good way to remember it.
//
//     in a picture      c      =      a      ·      b
//                     (n,m)         (n,k)         (k,m)
//
//                      da      =     dc      ·      bᵀ
//                     (n,k)         (n,m)         (m,k)
//
//                      db      =      aᵀ     ·     dc
//                     (k,m)         (k,n)         (n,m)
//
// The scores are such a product with b = kᵀ. Its gradient is d(kᵀ) = qᵀ
// dscores; transposed on both sides, dk = dscoresᵀ q.
//
// Dropout and the scale multiply each number by a constant, so their backward
// passes multiply by the same constant. The mask needs no line of its own:
// hidden weights are 0, and softmax_backward turns them into gradients of 0.
//
// How one knows that it is right: adding one and the same vector b to all keys
// adds the constant q_i · b to row i of the scores, which changes no weight. So
// the dk of all keys sum to zero, and the key bias of chapter 3 gets exactly no
// gradient. The tests check that, and compare every gradient with finite
// differences, with and without masks and dropout.

// dq (T,K), dk (S,K), dv (S,K) are added to; dout (T,K) given; dscores (T,S) is
// room for the gradient on its way back; the rest is as in the forward pass.
void attention_backward(Mat dq, Mat dk, Mat dv, Mat dout, Mat dscores,
                        Mat weights, Mat dropped, Mat q, Mat k, Mat v,
                        real scale, Dropout d) {
    // (5) out = dropped v
    fill(dscores, 0);
    small_matmul_add(dscores, dout, transposed(v));
    small_matmul_add(dv, transposed(dropped), dout);
    // (4) dropped = dropout(weights)
    for (int i = 0; i < dscores.rows; i++)
        dropout_row(row(dscores, i), dscores.cols, i, d);
    // (3) weights = softmax(scores)
    softmax_backward(dscores, weights);
    // (2) times scale
    for (int i = 0; i < dscores.rows; i++)
        for (int j = 0; j < dscores.cols; j++)
            row(dscores, i)[j] *= scale;
    // (1) scores = q kᵀ
    small_matmul_add(dq, dscores, k);
    small_matmul_add(dk, transposed(dscores), q);
}

//@ chapter multi_head
// # 3. Multi-head attention
//
// One attention makes one mixture for each query. But a word may want several
// things at once: its article, its verb, the word before it. So the model runs
// H attentions side by side, each on vectors of K = D/H numbers, and lays their
// results next to each other. [paper, section 3.2.2]
//
// $$ h_i = \operatorname{attention}(x W_i^Q, y W_i^K, y W_i^V) $$
//
// $$ \operatorname{multihead} = \operatorname{concat}(h_1, \ldots, h_H) W^O $$
//
// The queries come from x, keys and values from y. In self-attention y is x
// itself; in the decoder's cross-attention y is what the encoder made. W_O
// mixes what the heads have found; without it, the numbers of different heads
// would never meet in this sub-layer.
//
// Many heads cost the same as one. Scores for one head of width D take T·S·D
// multiplications, scores for H heads of width D/H take H · T·S·D/H. Nor do
// they have more parameters: the widths add up to D. What they cost is width:
// each head compares with D/H numbers only.
//
// ## A linear layer
//
// The W above are linear layers: y = x W + b, applied to every row. W is
// stored with a row for each input and a column for each output, so that the
// formula is the code. (PyTorch's nn.Linear stores the transpose.)

//@ deviation
// Linear layers have biases, as in all the tutorials. The paper writes the
// projections of attention without.

typedef struct {
    Mat weight; // (I,O): I inputs, O outputs
    Mat bias;   // (1,O)
} Linear;

// y = x W + b;  x (N,I) -> y (N,O)
void linear_forward(Mat y, Mat x, const Linear *w) {
    for (int i = 0; i < y.rows; i++)      // (1) y = b in every row
        memcpy(row(y, i), w->bias.at, sizeof(real) * (size_t)y.cols);
    matmul_add(y, x, w->weight);          // (2) y += x W
}

// The gradient of a bias is a sum over rows. Rows are shared among threads
// elsewhere; here that would make several threads add to the same number.
//
// total[j] += Σᵢ x[i][j];  x (N,O), total (1,O)
//
// The threads share the columns, so that each sum is made by one of them.
void add_column_sums(Mat total, Mat x) {
    enum { BAND = 64 };
    PARALLEL_FOR(size_of(x))
    for (int first = 0; first < x.cols; first += BAND) {
        int last = min_int(first + BAND, x.cols);
        for (int i = 0; i < x.rows; i++) {
            const real *from = row(x, i);
            for (int j = first; j < last; j++)
                total.at[j] += from[j];
        }
    }
}

// The product rule of chapter 2, and for the bias: b_j is added in every row,
// so it collects the gradient of every row.
//
//     y_ij = Σ_p x_ip W_pj + b_j
//     dx = dy Wᵀ       dW = xᵀ dy       db_j = Σ_i dy_ij
//
// The rows are all positions of all sentences of the batch. That one W serves
// them all is why dW is a product too: it adds up, over all rows, what each row
// would like W to be.

// dx (N,I) and dw are added to; dy (N,O), x (N,I) and w as in the forward pass
void linear_backward(Mat dx, Linear *dw, Mat dy, Mat x, const Linear *w) {
    // (2) y += x W
    matmul_add(dx, dy, transposed(w->weight));
    matmul_add(dw->weight, transposed(x), dy);
    // (1) y = b in every row
    add_column_sums(dw->bias, dy);
}

// ## Heads are bands of columns
//
// The paper gives each head matrices W of its own, (D,K). Put side by side, the
// H matrices of all heads make one (D,D) matrix, and one product makes the
// queries of all heads: head h finds its own in columns hK … hK+K-1. A batch
// works the same way: its sentences lie one below the other. So the queries of
// head h in sentence b are a block of the matrix, and a view of it costs
// nothing. Tutorials reshape and transpose here; we just point.
//
//              head 0   head 1   head 2
//             ┌────────┬────────┬────────┐
//     sent. 0 │        │        │        │  T rows
//             ├────────┼────────┼────────┤
//     sent. 1 │        │ ██████ │        │  T rows   ██ head 1 of sentence 1
//             └────────┴────────┴────────┘
//                  K        K        K      columns, D in all

// Block of head h in sentence b: m (B·rows, D) -> (rows, K)
Mat head(Mat m, int b, int rows, int h, int K) {
    return band_of_cols(band_of_rows(m, b * rows, rows), h * K, K);
}

// The four matrices, each for all heads at once.
typedef struct {
    Linear query, key, value, output; // (D,D) each
} MultiHead;

// What the forward pass leaves for the backward pass. T and S are the lengths
// on the side of the queries and of the keys.
typedef struct {
    int sentences;        // B
    Mat x, y;             // (B·T,D), (B·S,D): where queries and keys come from
    Mat q, k, v;          // (B·T,D), (B·S,D), (B·S,D)
    Mat weights, dropped; // (B·H·T,S): sentence by sentence, head by head
    Mat context;          // (B·T,D): the heads' results side by side
    Dropout dropout;
} MultiHeadSaved;

// The dropout of one head: the same noise must not fall on every head.
Dropout head_dropout(Dropout d, int which) {
    d.key = scramble32(d.key + (uint32_t)which);
    return d;
}

// x (B·T,D), y (B·S,D), mask (B of T,S) -> (B·T,D)              [section 3.2.2]
Mat multi_head_forward(Pass *pass, MultiHeadSaved *s, const MultiHead *w,
                       Mat x, Mat y, int B, Mask mask) {
    int D = x.cols, H = pass->config->heads, K = D / H;
    int T = x.rows / B, S = y.rows / B;
    Arena *arena = pass->arena;
    real scale = 1 / REAL(sqrt)((real)K);
    *s = (MultiHeadSaved){.sentences = B, .x = x, .y = y};
    s->dropout = next_dropout(pass);

    s->q = arena_mat(arena, B * T, D);          // (1) queries, keys, values
    s->k = arena_mat(arena, B * S, D);
    s->v = arena_mat(arena, B * S, D);
    linear_forward(s->q, x, &w->query);
    linear_forward(s->k, y, &w->key);
    linear_forward(s->v, y, &w->value);

    s->weights = arena_mat(arena, B * H * T, S); // (2) attention, head by head
    s->dropped = s->dropout.rate > 0 ? arena_mat(arena, B * H * T, S)
                                     : s->weights;
    s->context = arena_mat(arena, B * T, D);
    PARALLEL_FOR(size_of(s->weights) * (2 + K / 4))
    for (int i = 0; i < B * H; i++) {
        int b = i / H, h = i % H;
        attention_forward(head(s->context, b, T, h, K),
                          band_of_rows(s->weights, i * T, T),
                          band_of_rows(s->dropped, i * T, T),
                          head(s->q, b, T, h, K), head(s->k, b, S, h, K),
                          head(s->v, b, S, h, K), mask_of_sentence(mask, b),
                          scale, head_dropout(s->dropout, i));
    }

    Mat out = arena_mat(arena, B * T, D);       // (3) mix the heads
    linear_forward(out, s->context, &w->output);
    return out;
}

// Backward there is nothing new: linear layers, attention head by head, linear
// layers. What deserves care is where gradients meet. x feeds the queries only,
// but y feeds keys *and* values, so two gradients are added into dy. And
// in self-attention dx and dy are one and the same matrix, which collects all
// three: the sum that the chain rule asks for when a thing is used three times.
//
// How one knows that it is right: the tests compute the paper's form, with
// matrices of its own for each head, and find the same numbers; and they
// compare all eight tensors and both inputs with finite differences.

// dx (B·T,D), dy (B·S,D) and dw are added to; dout (B·T,D) given
void multi_head_backward(Pass *pass, const MultiHeadSaved *s,
                         const MultiHead *w, MultiHead *dw,
                         Mat dx, Mat dy, Mat dout) {
    int B = s->sentences, D = dout.cols, H = pass->config->heads, K = D / H;
    int T = s->x.rows / B, S = s->y.rows / B;
    Arena *arena = pass->arena;
    size_t mark = arena->used;
    real scale = 1 / REAL(sqrt)((real)K);

    // (3) out = context W + b
    Mat dcontext = arena_zeros(arena, B * T, D);
    linear_backward(dcontext, &dw->output, dout, s->context, &w->output);

    // (2) each head reads and writes its own block, so they need not wait
    Mat dq = arena_zeros(arena, B * T, D);
    Mat dk = arena_zeros(arena, B * S, D);
    Mat dv = arena_zeros(arena, B * S, D);
    Mat dscores = arena_mat(arena, B * H * T, S);
    PARALLEL_FOR(size_of(dscores) * (2 + K / 2))
    for (int i = 0; i < B * H; i++) {
        int b = i / H, h = i % H;
        attention_backward(head(dq, b, T, h, K), head(dk, b, S, h, K),
                           head(dv, b, S, h, K), head(dcontext, b, T, h, K),
                           band_of_rows(dscores, i * T, T),
                           band_of_rows(s->weights, i * T, T),
                           band_of_rows(s->dropped, i * T, T),
                           head(s->q, b, T, h, K), head(s->k, b, S, h, K),
                           head(s->v, b, S, h, K), scale,
                           head_dropout(s->dropout, i));
    }

    // (1) q = x Wq + bq, k = y Wk + bk, v = y Wv + bv
    linear_backward(dx, &dw->query, dq, s->x, &w->query);
    linear_backward(dy, &dw->key, dk, s->y, &w->key);
    linear_backward(dy, &dw->value, dv, s->y, &w->value);
    arena_release(arena, mark);
}

//@ chapter embedding
// # 4. Embeddings and positional encoding
//
// ## From a token to a vector
//
// A token is a number between 0 and V-1. The number itself means nothing: word
// 7 is not more than word 6. So each token gets a vector, a row of D numbers
// in a table, and these are learned like every other weight. To embed a token
// is to look up its row.
//
// (Seen as a matrix product it is x = onehot · table, where onehot has a
// single 1 in each row. Nobody multiplies by all those zeros, but the gradient
// below is just the product rule for this product.)
//
// The row is multiplied by √D [section 3.4]: the rows start with standard
// deviation 1/√D, so this brings their numbers to the order of 1, next to the
// positions, which are sines and cosines. With D = 64 a row starts with
// numbers around 0.125; times 8 they are around 1. Without the factor the
// positions would drown the words.
//
// ## Where a token stands
//
// Attention does not know order. Exchange two words of the input, and the same
// two results are exchanged, nothing else. So the position is added to the
// vector itself. [paper, section 3.5]
//
// $$ p_{t,2i} = \sin(\frac{t}{10000^{2i/D}}) $$
//
// $$ p_{t,2i+1} = \cos(\frac{t}{10000^{2i/D}}) $$
//
// Each pair of columns is a clock hand that turns at its own speed: the first
// pair once in 2π ≈ 6.3 positions, the last once in nearly 10000 · 2π. (Some
// texts have it the other way round. It is the *first* columns that are fast.)
//
//     D = 4        sin t    cos t    sin t/100  cos t/100
//     position 0   0.000    1.000     0.000      1.000
//     position 1   0.841    0.540     0.010      1.000
//     position 2   0.909   -0.416     0.020      1.000
//     position 3   0.141   -0.990     0.030      1.000
//
// Moving on by a fixed number of positions turns each hand by a fixed angle,
// wherever one starts; that is a linear map, and attention can learn it. It
// also follows that the dot product of two positions depends on their distance
// only, and the tests check that.
//
// Instead, the codes can be learned (`--positions learned`): a second table
// with a row for each position. Then there is nothing to say about positions
// beyond the last one that training has seen.

// table (P,D): row t is the code of position t
void sinusoidal_positions(Mat table) {
    for (int t = 0; t < table.rows; t++)
        for (int j = 0; j < table.cols; j++) {
            double turns = pow(10000, -(double)(j - j % 2) / table.cols);
            *at(table, t, j) = (real)(j % 2 ? cos(t * turns) : sin(t * turns));
        }
}

// What the backward pass needs to know.
typedef struct {
    const int *ids; // (B·T) tokens
    int length;     // T
    Dropout dropout;
} EmbeddingSaved;

// x = dropout(√D · table[id] + positions[t])
//
// ids (B·T), table (V,D), positions (P,D) with P ≥ T, or at = NULL for none
// -> x (B·T,D)
Mat embedding_forward(Pass *pass, EmbeddingSaved *s, Mat table, Mat positions,
                      const int *ids, int B, int T) {
    int D = table.cols;
    real scale = REAL(sqrt)((real)D);
    *s = (EmbeddingSaved){ids, T, next_dropout(pass)};
    Mat x = arena_mat(pass->arena, B * T, D);
    PARALLEL_FOR(size_of(x))
    for (int i = 0; i < B * T; i++) {
        const real *from = row(table, ids[i]);
        real *to = row(x, i);
        for (int j = 0; j < D; j++)         // (1) the token's row
            to[j] = scale * from[j];
        for (int j = 0; positions.at && j < D; j++)
            to[j] += row(positions, i % T)[j]; // (2) plus the position's
    }
    dropout(x, s->dropout);                 // (3)
    return x;
}

// A row of the table is used wherever its token stands, so it collects the
// gradients of all those places. Rows of tokens that do not occur get nothing.
//
//     dtable[v] = √D Σ over places i with ids[i] = v of dx_i
//     dpositions[t] = Σ over sentences of dx at position t
//
// The token ids themselves have no gradient: they are not numbers one could
// change a little.

// dtable (V,D) and dpositions (P,D; at = NULL if there is nothing to learn) are
// added to. dx (B·T,D) is given, and is used up: dropout acts on it in place.
void embedding_backward(const EmbeddingSaved *s, Mat dtable, Mat dpositions,
                        Mat dx) {
    enum { BAND = 64 }; // threads share the columns, see add_column_sums
    real scale = REAL(sqrt)((real)dx.cols);
    dropout(dx, s->dropout);                // (3)
    PARALLEL_FOR(size_of(dx))
    for (int first = 0; first < dx.cols; first += BAND) {
        int last = min_int(first + BAND, dx.cols);
        for (int i = 0; i < dx.rows; i++) {
            const real *from = row(dx, i);
            if (dpositions.at)              // (2) x += positions[t]
                for (int j = first; j < last; j++)
                    row(dpositions, i % s->length)[j] += from[j];
            real *to = row(dtable, s->ids[i]);
            for (int j = first; j < last; j++) // (1) x = √D · table[id]
                to[j] += scale * from[j];
        }
    }
}

//@ chapter feed_forward
// # 5. The position-wise feed-forward network
//
// Attention moves information between positions; this network works on it,
// at each position by itself and with the same weights everywhere. It widens
// the vector to F numbers, bends them, and narrows it again.
//
// $$ \operatorname{ffn}(x) = \operatorname{relu}(x W_1 + b_1) W_2 + b_2 $$
//
// With F = 4 D it holds two thirds of the parameters of an encoder layer: 8 D²
// against the 4 D² of attention.
//
// Without the bend in the middle, two linear layers would be no more than one:
// (x W₁) W₂ = x (W₁ W₂). The paper bends with max(0, x), called ReLU
// [section 3.3]. One can read it as F questions put to each vector: each column
// of W₁ asks one, ReLU keeps the answers that are positive, and each row of W₂
// says what to add to the vector if the answer is yes.
//
// Later models often use GELU, which is smooth: x times the probability Φ(x)
// that a normal random number is below x.
//
// $$ \operatorname{gelu}(x) = x\, \Phi(x) $$
//
// $$ \Phi(x) = \frac{1}{2}(1 + \operatorname{erf}(\frac{x}{\sqrt{2}})) $$
//
//     x        -3      -2      -1      0      1      2      3
//     relu      0       0       0      0      1      2      3
//     gelu   -0.004  -0.046  -0.159    0    0.841  1.954  2.996

//@ deviation
// GELU is offered beside the paper's ReLU.

// The share Φ(x) of a normal distribution that lies below x.
real normal_below(real x) {
    return (real)0.5 * (1 + REAL(erf)(x * (real)0.70710678118654752));
}

// to = activation(x), element by element; activation RELU or GELU; same shape
void activation_forward(Mat to, Mat x, int activation) {
    PARALLEL_FOR(size_of(x) * (activation == GELU ? 20 : 1))
    for (int i = 0; i < x.rows; i++) {
        real *y = row(to, i);
        const real *from = row(x, i);
        if (activation == RELU)
            for (int j = 0; j < x.cols; j++)
                y[j] = from[j] > 0 ? from[j] : 0;
        else
            for (int j = 0; j < x.cols; j++)
                y[j] = from[j] * normal_below(from[j]);
    }
}

// The derivatives:
//
//     relu'(x) = 1 if x > 0, else 0
//     gelu'(x) = Φ(x) + x Φ'(x)          product rule
//              = Φ(x) + x e^(-x²/2) / √(2π)
//
// At 0 ReLU has a corner and no derivative; 0 is the usual choice. Sanity: GELU
// at 0 has slope 1/2, and gelu(x) - gelu(-x) = x, so that gelu'(x) + gelu'(-x)
// is 1 for every x.

// dy becomes dx, in place: dx = dy · activation'(x)
void activation_backward(Mat dy, Mat x, int activation) {
    const real density = (real)0.39894228040143268; // 1/√(2π)
    PARALLEL_FOR(size_of(x) * (activation == GELU ? 40 : 1))
    for (int i = 0; i < x.rows; i++) {
        real *d = row(dy, i);
        const real *from = row(x, i);
        if (activation == RELU)
            for (int j = 0; j < x.cols; j++)
                d[j] = from[j] > 0 ? d[j] : 0;
        else
            for (int j = 0; j < x.cols; j++) {
                real z = from[j];
                real bell = density * exponential((real)-0.5 * z * z);
                d[j] *= normal_below(z) + z * bell;
            }
    }
}

typedef struct {
    Linear inner; // (D,F)
    Linear outer; // (F,D)
} FeedForward;

typedef struct {
    Mat x;      // (N,D) the input
    Mat inner;  // (N,F) before the activation
    Mat active; // (N,F) after activation and dropout
    Dropout dropout;
} FeedForwardSaved;

// x (N,D) -> (N,D), N any number of positions                  [section 3.3]
Mat ffn_forward(Pass *pass, FeedForwardSaved *s, const FeedForward *w, Mat x) {
    int N = x.rows, F = w->inner.weight.cols;
    s->x = x;
    s->dropout = next_dropout(pass);
    s->inner = arena_mat(pass->arena, N, F);
    linear_forward(s->inner, x, &w->inner);             // (1) widen
    s->active = arena_mat(pass->arena, N, F);
    activation_forward(s->active, s->inner,
                       pass->config->activation);       // (2) bend
    dropout(s->active, s->dropout);                     // (3) drop
    Mat out = arena_mat(pass->arena, N, x.cols);
    linear_forward(out, s->active, &w->outer);          // (4) narrow
    return out;
}

// Backward is the same four steps in reverse. Step (4) needs what it was
// given, `active`; step (2) needs what the activation was given, `inner`; so
// the forward pass has saved both. Dropout needs nothing but its key.
//
// dx (N,D) and dw are added to; dout (N,D) given
void ffn_backward(Pass *pass, const FeedForwardSaved *s, const FeedForward *w,
                  FeedForward *dw, Mat dx, Mat dout) {
    size_t mark = pass->arena->used;
    Mat dinner = arena_zeros(pass->arena, s->inner.rows, s->inner.cols);
    // (4) out = active W2 + b2
    linear_backward(dinner, &dw->outer, dout, s->active, &w->outer);
    // (3) active = dropout(activation(inner))
    dropout(dinner, s->dropout);
    // (2) activation(inner)
    activation_backward(dinner, s->inner, pass->config->activation);
    // (1) inner = x W1 + b1
    linear_backward(dx, &dw->inner, dinner, s->x, &w->inner);
    arena_release(pass->arena, mark);
}

//@ chapter residual
// # 6. Residual connections and layer normalization
//
// Two things hold a deep stack together. A *residual connection* adds the input
// of a sub-layer (attention or feed-forward network) to its output: the
// sub-layer needs to learn only what to change, and gradients have a straight
// way down. *Layer normalization* brings the D numbers of each position back to
// mean 0 and variance 1, so that no layer drives the next out of its range.
//
// ## Layer normalization
//
// $$ y_j = g_j \frac{x_j - \mu}{\sqrt{\sigma^2 + \epsilon}} + b_j $$
//
// $$ \mu = \frac{1}{D}\sum_j x_j $$
//
// $$ \sigma^2 = \frac{1}{D}\sum_j (x_j - \mu)^2 $$
//
// Each row by itself: no position learns anything about another, and a
// sentence gives the same alone and in a batch. Gain g and bias b are learned,
// one of each per column, so that the model can undo the normalization where
// it hurts.
//
// The variance is divided by D, not D-1, and ε stands inside the root.
// Tutorials differ in this; an example tells them apart:
//
//     x = [1, 0, 0, 0]     μ = 1/4     σ² = (9/16 + 3/16)/4 = 3/16
//     y = [3/4, -1/4, -1/4, -1/4] / √(3/16) = [1.732, -0.577, -0.577, -0.577]
//
// With D-1 and ε outside the root the first number comes out as 1.5.

#define NORM_EPSILON 1e-5

typedef struct {
    Mat gain, bias; // (1,D)
} Norm;

typedef struct {
    Mat x;     // (N,D)
    Mat mean;  // (N,1) μ of each row
    Mat scale; // (N,1) 1/√(σ²+ε) of each row
} NormSaved;

// x (N,D) -> y (N,D)                                       [section 3.1, 5.4]
Mat norm_forward(Pass *pass, NormSaved *s, const Norm *w, Mat x) {
    int D = x.cols;
    s->x = x;
    s->mean = arena_mat(pass->arena, x.rows, 1);
    s->scale = arena_mat(pass->arena, x.rows, 1);
    Mat out = arena_mat(pass->arena, x.rows, D);
    PARALLEL_FOR(size_of(x) * 4)
    for (int i = 0; i < x.rows; i++) {
        const real *from = row(x, i);
        real *y = row(out, i);
        real mean = sum(from, D) / (real)D;              // (1) μ
        for (int j = 0; j < D; j++)
            y[j] = from[j] - mean;
        real variance = dot(y, y, D) / (real)D;          // (2) σ²
        real scale = 1 / REAL(sqrt)(variance + (real)NORM_EPSILON);
        for (int j = 0; j < D; j++)                      // (3) normalize
            y[j] = y[j] * scale * w->gain.at[j] + w->bias.at[j];
        s->mean.at[i] = mean;
        s->scale.at[i] = scale;
    }
    return out;
}

// ### The backward pass of a norm
//
// It has a bad name, because μ and σ² contain every x of the row, so that every
// y depends on every x. Taken one path at a time it is not hard. For one row,
// write n_j for the normalized number and r for the scale:
//
//     n_j = (x_j - μ) r,     y_j = g_j n_j + b_j
//
// Gain and bias are easy: dg_j = Σ_rows dy_j n_j and db_j = Σ_rows dy_j. Let
// dn_j = dy_j g_j be the gradient that reaches n. Each x_i acts in three ways:
// directly through n_i, and on all n_j through μ and through r.
//
//     ∂μ/∂x_i = 1/D
//     ∂r/∂x_i = -r³ (x_i - μ)/D = -r² n_i/D        since r = (σ²+ε)^(-1/2)
//               and ∂σ²/∂x_i = 2 (x_i - μ)/D
//
//     dx_i = r dn_i                                directly
//          - r · 1/D Σ_j dn_j                      through μ
//          - r n_i · 1/D Σ_j dn_j n_j              through r
//
//     dx_i = r (dn_i - dn_mean - n_i · dnn_mean)
//
// with dn_mean the mean of dn_j and dnn_mean that of dn_j n_j.
//
// How one knows that it is right: the dx of a row sum to zero, because adding a
// constant to x changes nothing; and Σ dx_i n_i is nearly zero (exactly, if ε
// were 0), because stretching x changes nothing. The two terms subtracted are
// what makes it so.
//
// A warning to those who write such tests: a gradient check that sums up y
// would not see these two terms at all, since with gain 1 and bias 0 that sum
// is always zero. For the same reason `loss = output.sum()` behind a norm,
// which one finds in tutorials, teaches a model nothing.

// dx (N,D) and dw are added to; dy (N,D) given
void norm_backward(Pass *pass, const NormSaved *s, const Norm *w, Norm *dw,
                   Mat dx, Mat dy) {
    int N = dy.rows, D = dy.cols;
    size_t mark = pass->arena->used;
    Mat dyn = arena_mat(pass->arena, N, D); // dy n, whose columns sum to dgain
    PARALLEL_FOR(size_of(dy) * 8)
    for (int i = 0; i < N; i++) {
        const real *x = row(s->x, i), *d = row(dy, i), *gain = w->gain.at;
        real *to = row(dx, i), *dn_n = row(dyn, i);
        real mean = s->mean.at[i], scale = s->scale.at[i];
        for (int j = 0; j < D; j++)
            dn_n[j] = d[j] * ((x[j] - mean) * scale);
        real dn_mean = dot(d, gain, D) / (real)D;
        real dnn_mean = dot(dn_n, gain, D) / (real)D;
        for (int j = 0; j < D; j++) {
            real n = (x[j] - mean) * scale;
            to[j] += scale * (d[j] * gain[j] - dn_mean - n * dnn_mean);
        }
    }
    add_column_sums(dw->gain, dyn);
    add_column_sums(dw->bias, dy);
    arena_release(pass->arena, mark);
}

// ## Where the norm stands
//
// The paper normalizes after the addition, norm(x + sublayer(x)): *post-norm*.
// Most later models normalize the input of the sub-layer and leave the sum
// alone, `x + sublayer(norm(x))`: *pre-norm*. Then one path runs through the
// whole stack without any norm on it, deep stacks train without trouble, and a
// final norm is needed at the end. Mind that some tutorials call the first form
// pre-norm.
//
//          post-norm                     pre-norm
//
//     x ──┬─ sublayer ─ + ─ norm ─    x ──┬─ norm ─ sublayer ─ + ─
//         └─────────────┘                 └────────────────────┘
//
// Both are made of the same two steps around a sub-layer: *enter* makes its
// input from x, *leave* joins its output y with x again.

//@ deviation
// Pre-norm is offered beside the paper's post-norm, with one more norm at the
// end of each stack, which it needs.

typedef struct {
    NormSaved norm;
    Dropout dropout;
} ResidualSaved;

// The input of the sub-layer: x, or norm(x); (N,D)
Mat residual_enter(Pass *pass, ResidualSaved *s, const Norm *w, Mat x) {
    if (pass->config->norm == POST_NORM)
        return x;
    return norm_forward(pass, &s->norm, w, x);
}

// x + dropout(y), normalized or not; (N,D). y is used up: the sum takes its
// place.
Mat residual_leave(Pass *pass, ResidualSaved *s, const Norm *w, Mat x, Mat y) {
    s->dropout = next_dropout(pass);
    dropout(y, s->dropout);                              // (1) drop
    add(y, x);                                           // (2) add
    if (pass->config->norm == PRE_NORM)
        return y;
    return norm_forward(pass, &s->norm, w, y);           // (3) normalize
}

// Backward of leave: the gradient dout of the sum goes both ways, unchanged.
// One part is added to dx; the other, dropped alike, is returned: dy (N,D).
Mat residual_leave_backward(Pass *pass, const ResidualSaved *s, const Norm *w,
                            Norm *dw, Mat dx, Mat dout) {
    Mat dy = arena_zeros(pass->arena, dout.rows, dout.cols);
    // (3) out = norm(sum)
    if (pass->config->norm == PRE_NORM)
        copy(dy, dout);
    else
        norm_backward(pass, &s->norm, w, dw, dy, dout);
    // (2) sum = y + x
    add(dx, dy);
    // (1) y = dropout(y)
    dropout(dy, s->dropout);
    return dy;
}

// Backward of enter: dx (N,D) is added to; dh (N,D), the gradient of the
// sub-layer's input, given
void residual_enter_backward(Pass *pass, const ResidualSaved *s, const Norm *w,
                             Norm *dw, Mat dx, Mat dh) {
    if (pass->config->norm == POST_NORM)
        add(dx, dh);
    else
        norm_backward(pass, &s->norm, w, dw, dx, dh);
}

//@ chapter encoder
// # 7. The encoder
//
// ## Sub-layers
//
// A sub-layer is attention or the feed-forward network with a residual
// connection around it: enter, do the work, leave (chapter 6). Every layer of
// the model is made of two or three of them, so here they are, once and for
// all.

typedef struct {
    MultiHead multi_head;
    Norm norm;
} AttentionSublayer;

typedef struct {
    MultiHeadSaved multi_head;
    ResidualSaved residual;
} AttentionSublayerSaved;

typedef struct {
    FeedForward network;
    Norm norm;
} FeedForwardSublayer;

typedef struct {
    FeedForwardSaved network;
    ResidualSaved residual;
} FeedForwardSublayerSaved;

// x (B·T,D) asks, memory (B·S,D) answers -> (B·T,D). memory.at = NULL means
// that x asks itself: self-attention.
//
// In pre-norm what asks is norm(x), and in self-attention norm(x) answers too.
// The memory is taken as it is: the encoder has normalized it already.
Mat attention_sublayer_forward(Pass *pass, AttentionSublayerSaved *s,
                               const AttentionSublayer *w, Mat x, Mat memory,
                               int B, Mask mask) {
    Mat h = residual_enter(pass, &s->residual, &w->norm, x);
    Mat y = multi_head_forward(pass, &s->multi_head, &w->multi_head, h,
                               memory.at ? memory : h, B, mask);
    return residual_leave(pass, &s->residual, &w->norm, x, y);
}

// The gradient of x collects two parts: one that went straight through the
// addition, and one that went through the sub-layer.
//
//                    ┌────────── sub-layer ◄─ dy ─┐
//            dh ◄────┘                            │
//     dx ◄── + ◄──────────────────────────────────┴──── dout
//
// The straight part is why deep stacks can be trained at all: whatever a
// sub-layer does to the gradient, the gradient also arrives unharmed.

// dout (B·T,D) -> dx (B·T,D). dmemory (B·S,D), NULL for self-attention, and dw
// are added to.
Mat attention_sublayer_backward(Pass *pass, const AttentionSublayerSaved *s,
                                const AttentionSublayer *w,
                                AttentionSublayer *dw, Mat dmemory, Mat dout) {
    Mat dx = arena_zeros(pass->arena, dout.rows, dout.cols);
    size_t mark = pass->arena->used;
    Mat dh = arena_zeros(pass->arena, dout.rows, dout.cols);
    Mat dy = residual_leave_backward(pass, &s->residual, &w->norm, &dw->norm,
                                     dx, dout);
    multi_head_backward(pass, &s->multi_head, &w->multi_head, &dw->multi_head,
                        dh, dmemory.at ? dmemory : dh, dy);
    residual_enter_backward(pass, &s->residual, &w->norm, &dw->norm, dx, dh);
    arena_release(pass->arena, mark);
    return dx;
}

// x (N,D) -> (N,D)
Mat ffn_sublayer_forward(Pass *pass, FeedForwardSublayerSaved *s,
                         const FeedForwardSublayer *w, Mat x) {
    Mat h = residual_enter(pass, &s->residual, &w->norm, x);
    Mat y = ffn_forward(pass, &s->network, &w->network, h);
    return residual_leave(pass, &s->residual, &w->norm, x, y);
}

// dout (N,D) -> dx (N,D); dw is added to
Mat ffn_sublayer_backward(Pass *pass, const FeedForwardSublayerSaved *s,
                          const FeedForwardSublayer *w, FeedForwardSublayer *dw,
                          Mat dout) {
    Mat dx = arena_zeros(pass->arena, dout.rows, dout.cols);
    size_t mark = pass->arena->used;
    Mat dh = arena_zeros(pass->arena, dout.rows, dout.cols);
    Mat dy = residual_leave_backward(pass, &s->residual, &w->norm, &dw->norm,
                                     dx, dout);
    ffn_backward(pass, &s->network, &w->network, &dw->network, dh, dy);
    residual_enter_backward(pass, &s->residual, &w->norm, &dw->norm, dx, dh);
    arena_release(pass->arena, mark);
    return dx;
}

// ## An encoder layer
//
// Self-attention, in which every position of the source looks at every other,
// then the feed-forward network. [section 3.1]

typedef struct {
    AttentionSublayer self_attention;
    FeedForwardSublayer feed_forward;
} EncoderLayer;

typedef struct {
    AttentionSublayerSaved self_attention;
    FeedForwardSublayerSaved feed_forward;
} EncoderLayerSaved;

// x (B·S,D), mask over the keys (B of S,S) -> (B·S,D)
Mat encoder_layer_forward(Pass *pass, EncoderLayerSaved *s,
                          const EncoderLayer *w, Mat x, int B, Mask mask) {
    Mat none = {0};
    x = attention_sublayer_forward(pass, &s->self_attention, &w->self_attention,
                                   x, none, B, mask);           // (1)
    return ffn_sublayer_forward(pass, &s->feed_forward, &w->feed_forward,
                                x);                             // (2)
}

// dout (B·S,D) -> the gradient of the layer's input, (B·S,D); dw is added to
Mat encoder_layer_backward(Pass *pass, const EncoderLayerSaved *s,
                           const EncoderLayer *w, EncoderLayer *dw, Mat dout) {
    Mat none = {0};
    dout = ffn_sublayer_backward(pass, &s->feed_forward, &w->feed_forward,
                                 &dw->feed_forward, dout);      // (2)
    return attention_sublayer_backward(pass, &s->self_attention,
                                       &w->self_attention, &dw->self_attention,
                                       none, dout);             // (1)
}

// ## The stack
//
// L layers, one on the other; each refines what the one below has made. The
// first sees words and positions; from the second on, each position already
// knows something of its sentence.
//
// The encoder runs once for each sentence. All positions go through at the
// same time: there is no loop over words here, neither in training nor in use.
// That is what set the transformer apart from the recurrent networks before
// it.

typedef struct {
    EncoderLayer *layer; // L of them
    Norm norm;           // pre-norm only
} Encoder;

typedef struct {
    EncoderLayerSaved *layer; // L of them
    NormSaved norm;
} EncoderSaved;

// x: embedded source (B·S,D), mask over its keys -> (B·S,D), what the decoder
// will look at. x may come from chapter 4 or from anywhere else: an experiment
// can blank or exchange embeddings before it calls this.
Mat encoder_forward(Pass *pass, EncoderSaved *s, const Encoder *w, Mat x, int B,
                    Mask mask) {
    int L = pass->config->layers;
    s->layer = arena_take(pass->arena, (size_t)L, sizeof *s->layer);
    for (int l = 0; l < L; l++)
        x = encoder_layer_forward(pass, &s->layer[l], &w->layer[l], x, B, mask);
    if (pass->config->norm == PRE_NORM)
        x = norm_forward(pass, &s->norm, &w->norm, x);
    return x;
}

// How one knows that it is right: besides the gradient check, blanking one
// embedding changes the output at every position of that sentence and at none
// of another; and without positions, permuting the input permutes the output.

// dout (B·S,D) -> gradient of the embedded source, (B·S,D); dw is added to
Mat encoder_backward(Pass *pass, const EncoderSaved *s, const Encoder *w,
                     Encoder *dw, Mat dout) {
    Mat dx = dout;
    if (pass->config->norm == PRE_NORM) {
        dx = arena_zeros(pass->arena, dout.rows, dout.cols);
        norm_backward(pass, &s->norm, &w->norm, &dw->norm, dx, dout);
    }
    for (int l = pass->config->layers - 1; l >= 0; l--)
        dx = encoder_layer_backward(pass, &s->layer[l], &w->layer[l],
                                    &dw->layer[l], dx);
    return dx;
}

//@ chapter decoder
// # 8. The decoder, and the whole model
//
// The decoder writes the translation. Its layers have three sub-layers:
// self-attention over what has been written so far (the mask hides the rest),
// *cross-attention*, whose queries come from the translation and whose keys and
// values come from the encoder, and the feed-forward network.
//
//     query  ← decoder       what do I need to write the next word?
//     key    ← encoder       which source word could tell?
//     value  ← encoder       what does it tell?
//
// It is worth saying twice, because it is so often got wrong: the decoder
// asks, the encoder answers. The weights of cross-attention have a row for
// each target word and a column for each source word, and when the model has
// learned to translate one can read in them which word came from which
// (chapter 13).

typedef struct {
    AttentionSublayer self_attention, cross_attention;
    FeedForwardSublayer feed_forward;
} DecoderLayer;

typedef struct {
    AttentionSublayerSaved self_attention, cross_attention;
    FeedForwardSublayerSaved feed_forward;
} DecoderLayerSaved;

// x (B·T,D), memory: the encoder's output (B·S,D), self_mask (B of T,T),
// cross_mask (B of T,S) -> (B·T,D)
Mat decoder_layer_forward(Pass *pass, DecoderLayerSaved *s,
                          const DecoderLayer *w, Mat x, Mat memory, int B,
                          Mask self_mask, Mask cross_mask) {
    Mat none = {0};
    x = attention_sublayer_forward(pass, &s->self_attention, &w->self_attention,
                                   x, none, B, self_mask);      // (1)
    x = attention_sublayer_forward(pass, &s->cross_attention,
                                   &w->cross_attention, x, memory, B,
                                   cross_mask);                 // (2)
    return ffn_sublayer_forward(pass, &s->feed_forward, &w->feed_forward,
                                x);                             // (3)
}

// Every decoder layer looks at the encoder's output, so every layer adds to
// dmemory. Forgetting this is the classic mistake of hand-written decoders: the
// encoder then learns nothing, and the model still learns a little.

// dout (B·T,D) -> the gradient of the layer's input, (B·T,D); dmemory (B·S,D)
// and dw are added to
Mat decoder_layer_backward(Pass *pass, const DecoderLayerSaved *s,
                           const DecoderLayer *w, DecoderLayer *dw,
                           Mat dmemory, Mat dout) {
    Mat none = {0};
    dout = ffn_sublayer_backward(pass, &s->feed_forward, &w->feed_forward,
                                 &dw->feed_forward, dout);      // (3)
    dout = attention_sublayer_backward(pass, &s->cross_attention,
                                       &w->cross_attention,
                                       &dw->cross_attention, dmemory,
                                       dout);                   // (2)
    return attention_sublayer_backward(pass, &s->self_attention,
                                       &w->self_attention, &dw->self_attention,
                                       none, dout);             // (1)
}

// ## The stack

typedef struct {
    DecoderLayer *layer; // L of them
    Norm norm;           // pre-norm only
} Decoder;

typedef struct {
    DecoderLayerSaved *layer; // L of them
    NormSaved norm;
} DecoderSaved;

// x: embedded target (B·T,D), memory (B·S,D) -> (B·T,D)
Mat decoder_forward(Pass *pass, DecoderSaved *s, const Decoder *w, Mat x,
                    Mat memory, int B, Mask self_mask, Mask cross_mask) {
    int L = pass->config->layers;
    s->layer = arena_take(pass->arena, (size_t)L, sizeof *s->layer);
    for (int l = 0; l < L; l++)
        x = decoder_layer_forward(pass, &s->layer[l], &w->layer[l], x, memory,
                                  B, self_mask, cross_mask);
    if (pass->config->norm == PRE_NORM)
        x = norm_forward(pass, &s->norm, &w->norm, x);
    return x;
}

// dout (B·T,D) -> gradient of the embedded target, (B·T,D); dmemory (B·S,D) and
// dw are added to
Mat decoder_backward(Pass *pass, const DecoderSaved *s, const Decoder *w,
                     Decoder *dw, Mat dmemory, Mat dout) {
    Mat dx = dout;
    if (pass->config->norm == PRE_NORM) {
        dx = arena_zeros(pass->arena, dout.rows, dout.cols);
        norm_backward(pass, &s->norm, &w->norm, &dw->norm, dx, dout);
    }
    for (int l = pass->config->layers - 1; l >= 0; l--)
        dx = decoder_layer_backward(pass, &s->layer[l], &w->layer[l],
                                    &dw->layer[l], dmemory, dx);
    return dx;
}

// ## The whole model
//
// Two embeddings, two stacks, and a last linear layer that turns each position
// of the decoder into V scores, one for each word that could come next: the
// *logits*. Softmax makes probabilities of them; that is left to the loss.
//
// The last layer and the target embedding are both tables with D numbers for
// each word. The paper makes them one [section 3.4]: a word's score is then
// the dot product of what the decoder wants to say with the vector of that
// word. With `--tie` it is so here too: `output.weight` is a view of the
// embedding, transposed, in all four roles. The two gradients are added up in
// one place without a line of code.
//
//@ deviation
// Source and target have embeddings of their own, since they have vocabularies
// of their own, and tying is an option that joins target embedding and output.
// The paper has one vocabulary for both languages and shares all three.

// The same struct appears in four roles: the parameters themselves, their
// gradients, and the two moments that Adam keeps (chapter 11). In each role the
// numbers lie in one block, so that clearing gradients or taking a step is one
// flat loop; the Mats in the struct point into it.
//
//     struct   source_embedding   target_embedding   encoder.layer[0]…   …
//                    │                  │                 │
//     number   [ ─── V·D ─── │ ─── V·D ─── │ ─── D·D ─── │ D │ D·D │ D …  ]

enum { NAME_SIZE = 64 };

typedef struct {
    char text[NAME_SIZE];
} Name;

typedef struct {
    Name name;      // dotted: encoder.0.self_attention.query.weight
    Mat *mat;       // its place in the struct
    int rows, cols;
    int start;      // how it is initialized
} Tensor;

enum { START_XAVIER, START_EMBEDDING, START_ZEROS, START_ONES };

typedef struct {
    Config config;
    Mat source_embedding;  // (V,D), V of the source language
    Mat target_embedding;  // (V,D), V of the target language
    Mat source_positions;  // (P,D), P = max_len + 1; at = NULL: none
    Mat target_positions;  // (P,D)
    Encoder encoder;
    Decoder decoder;
    Linear output;         // (D,V); tied: the target embedding, transposed
    Tensor *tensor;        // the list of all the above
    int tensors;
    real *number;          // the block with all their numbers
    size_t count;          // how many
} Transformer;

// The list. Everything that has to go through all parameters goes through it:
// counting, placing in memory, initializing, checking gradients, saving,
// loading, printing. A parameter that is not in the list does not exist.

// a b
Name join(const char *a, const char *b) {
    Name name;
    if (snprintf(name.text, NAME_SIZE, "%s%s", a, b) >= NAME_SIZE)
        fail("the name %s%s is too long", a, b);
    return name;
}

// Appends one tensor.
void list(Transformer *t, Mat *mat, int rows, int cols, int start,
          const char *path, const char *name) {
    size_t count = (size_t)t->tensors + 1;
    t->tensor = reallocate(t->tensor, count, sizeof *t->tensor);
    t->tensor[t->tensors++] = (Tensor){join(path, name), mat, rows, cols,
                                       start};
    t->count += (size_t)rows * (size_t)cols;
}

// What the parts of the model are made of.
void list_linear(Transformer *t, Linear *w, int in, int out, Name path) {
    list(t, &w->weight, in, out, START_XAVIER, path.text, ".weight");
    list(t, &w->bias, 1, out, START_ZEROS, path.text, ".bias");
}

void list_norm(Transformer *t, Norm *w, Name path) {
    list(t, &w->gain, 1, t->config.d_model, START_ONES, path.text, ".gain");
    list(t, &w->bias, 1, t->config.d_model, START_ZEROS, path.text, ".bias");
}

void list_attention(Transformer *t, AttentionSublayer *w, Name path) {
    int D = t->config.d_model;
    list_linear(t, &w->multi_head.query, D, D, join(path.text, ".query"));
    list_linear(t, &w->multi_head.key, D, D, join(path.text, ".key"));
    list_linear(t, &w->multi_head.value, D, D, join(path.text, ".value"));
    list_linear(t, &w->multi_head.output, D, D, join(path.text, ".output"));
    list_norm(t, &w->norm, join(path.text, "_norm"));
}

void list_ffn(Transformer *t, FeedForwardSublayer *w, Name path) {
    int D = t->config.d_model, F = t->config.d_ff;
    list_linear(t, &w->network.inner, D, F, join(path.text, ".inner"));
    list_linear(t, &w->network.outer, F, D, join(path.text, ".outer"));
    list_norm(t, &w->norm, join(path.text, "_norm"));
}

void list_layers(Transformer *t) {
    char at[NAME_SIZE];
    for (int l = 0; l < t->config.layers; l++) {
        EncoderLayer *w = &t->encoder.layer[l];
        snprintf(at, sizeof at, "encoder.%d.", l);
        list_attention(t, &w->self_attention, join(at, "self_attention"));
        list_ffn(t, &w->feed_forward, join(at, "feed_forward"));
    }
    for (int l = 0; l < t->config.layers; l++) {
        DecoderLayer *w = &t->decoder.layer[l];
        snprintf(at, sizeof at, "decoder.%d.", l);
        list_attention(t, &w->self_attention, join(at, "self_attention"));
        list_attention(t, &w->cross_attention, join(at, "cross_attention"));
        list_ffn(t, &w->feed_forward, join(at, "feed_forward"));
    }
    if (t->config.norm == PRE_NORM) {
        list_norm(t, &t->encoder.norm, join("encoder", ".norm"));
        list_norm(t, &t->decoder.norm, join("decoder", ".norm"));
    }
}

// The order of the list is the order in the checkpoint.
void list_all(Transformer *t) {
    const Config *c = &t->config;
    int D = c->d_model, P = c->max_len + 1;
    list(t, &t->source_embedding, c->source_vocab, D, START_EMBEDDING,
         "source_embedding", ".weight");
    list(t, &t->target_embedding, c->target_vocab, D, START_EMBEDDING,
         "target_embedding", ".weight");
    if (c->positions == LEARNED) {
        list(t, &t->source_positions, P, D, START_EMBEDDING, "source_positions",
             ".weight");
        list(t, &t->target_positions, P, D, START_EMBEDDING, "target_positions",
             ".weight");
    }
    list_layers(t);
    if (!c->tie)
        list(t, &t->output.weight, D, c->target_vocab, START_XAVIER, "output",
             ".weight");
    list(t, &t->output.bias, 1, c->target_vocab, START_ZEROS, "output",
         ".bias");
}

// The list of tensors alone, without memory for their numbers.
Transformer *transformer_outline(const Config *config) {
    Transformer *t = allocate(1, sizeof *t);
    t->config = *config;
    size_t L = (size_t)config->layers;
    t->encoder.layer = allocate(L, sizeof *t->encoder.layer);
    t->decoder.layer = allocate(L, sizeof *t->decoder.layer);
    list_all(t);
    return t;
}

// A Transformer in one of its four roles, all numbers zero.
Transformer *transformer_zeros(const Config *config) {
    Transformer *t = transformer_outline(config);
    t->number = allocate(t->count, sizeof(real));
    real *next = t->number;
    for (int i = 0; i < t->tensors; i++) {
        Tensor *tensor = &t->tensor[i];
        *tensor->mat = mat(next, tensor->rows, tensor->cols);
        next += (size_t)tensor->rows * (size_t)tensor->cols;
    }
    if (config->tie) // one matrix, read in both directions
        t->output.weight = transposed(t->target_embedding);
    return t;
}

// Gives everything back; NULL is fine.
void transformer_free(Transformer *t) {
    if (!t)
        return;
    if (t->config.positions == SINUSOIDAL)
        free(t->source_positions.at);
    free(t->encoder.layer);
    free(t->decoder.layer);
    free(t->tensor);
    free(t->number);
    free(t);
}

// In the role of the parameters the model also needs its table of sines and
// cosines, which is not learned; source and target share it.
Transformer *transformer_new(const Config *config) {
    Transformer *t = transformer_zeros(config);
    if (config->positions == SINUSOIDAL) {
        int P = config->max_len + 1, D = config->d_model;
        real *table = allocate((size_t)P * (size_t)D, sizeof(real));
        t->source_positions = t->target_positions = mat(table, P, D);
        sinusoidal_positions(t->source_positions);
    }
    return t;
}

// How a model starts. Matrices: uniform between ±√(6/(in+out)), which keeps the
// variance of signals about the same from layer to layer, forward and backward
// (Glorot and Bengio, 2010). Embeddings: normal with variance 1/D. Biases 0,
// gains 1.
void initialize(Transformer *t, uint64_t seed) {
    for (int i = 0; i < t->tensors; i++) {
        Tensor *tensor = &t->tensor[i];
        uint64_t state = random_key(seed, FOR_PARAMETERS, (uint64_t)i);
        double limit = sqrt(6.0 / (tensor->rows + tensor->cols));
        double deviation = 1 / sqrt(t->config.d_model);
        size_t count = (size_t)tensor->rows * (size_t)tensor->cols;
        for (size_t k = 0; k < count; k++) {
            double x = 0;
            if (tensor->start == START_XAVIER)
                x = limit * (2 * uniform(&state) - 1);
            if (tensor->start == START_EMBEDDING)
                x = deviation * normal(&state);
            if (tensor->start == START_ONES)
                x = 1;
            tensor->mat->at[k] = (real)x;
        }
    }
}

// ## Forward and backward through everything

typedef struct {
    EmbeddingSaved source, target;
    EncoderSaved encoder;
    DecoderSaved decoder;
    Mat memory; // (B·S,D) the encoder's output
    Mat hidden; // (B·T,D) the decoder's output
} Saved;

// ids (B·S), mask over source keys -> memory (B·S,D)
Mat encode(Pass *pass, Saved *s, const Transformer *t, const int *ids, int B,
           int S, Mask mask) {
    Mat x = embedding_forward(pass, &s->source, t->source_embedding,
                              t->source_positions, ids, B, S);
    s->memory = encoder_forward(pass, &s->encoder, &t->encoder, x, B, mask);
    return s->memory;
}

// ids (B·T), self_mask (B of T,T), cross_mask (B of T,S) -> logits (B·T,V)
Mat decode(Pass *pass, Saved *s, const Transformer *t, const int *ids, int B,
           int T, Mask self_mask, Mask cross_mask) {
    Mat x = embedding_forward(pass, &s->target, t->target_embedding,
                              t->target_positions, ids, B, T);
    s->hidden = decoder_forward(pass, &s->decoder, &t->decoder, x, s->memory, B,
                                self_mask, cross_mask);
    Mat logits = arena_mat(pass->arena, B * T, t->config.target_vocab);
    linear_forward(logits, s->hidden, &t->output);
    return logits;
}

// Backward, everything in reverse. The one place to look at twice is dmemory:
// all layers of the decoder have added to it by the time the encoder's turn
// comes.

// dlogits (B·T,V) -> all gradients, added to g
void transformer_backward(Pass *pass, const Saved *s, const Transformer *t,
                          Transformer *g, Mat dlogits) {
    Mat none = {0};
    bool learned = t->config.positions == LEARNED;
    Mat dmemory = arena_zeros(pass->arena, s->memory.rows, s->memory.cols);
    Mat dhidden = arena_zeros(pass->arena, s->hidden.rows, s->hidden.cols);
    linear_backward(dhidden, &g->output, dlogits, s->hidden, &t->output);
    Mat dtarget = decoder_backward(pass, &s->decoder, &t->decoder, &g->decoder,
                                   dmemory, dhidden);
    embedding_backward(&s->target, g->target_embedding,
                       learned ? g->target_positions : none, dtarget);
    Mat dsource = encoder_backward(pass, &s->encoder, &t->encoder, &g->encoder,
                                   dmemory);
    embedding_backward(&s->source, g->source_embedding,
                       learned ? g->source_positions : none, dsource);
}

//@ chapter masks
// # 9. Masks
//
// Which keys may a query see? Two rules, both made from token ids alone.
//
// **Padding.** Sentences of a batch have different lengths, and a matrix is a
// rectangle, so short sentences are filled up with token 0, the pad. A pad is
// not there: no query may see it. The mask hides *keys* (columns); what a
// padded *query* (row) computes does not matter, since nobody looks at it and
// the loss does not count it. To hide rows instead is a common mistake: the
// padding then still takes its share of everybody's attention.
//
// **The future.** In training the decoder is given the whole translation at
// once, and each position must predict the next word. It must not find it by
// looking one position ahead: query i sees keys 0 … i only. A model trained
// without this mask reaches a wonderful loss, by copying, and then translates
// nonsense, for in use there is no next word to copy.
//
// Why not at least leave the mask away in use? Because the weights have been
// learned with it. And with it, what a position computes never changes any more
// once it is written; chapter 12 makes good use of that.
//
//     source padding        causal               causal and padding
//     [5 7 2 0 0]           4 words              [1 6 0 0]
//     1 1 1 0 0             1 0 0 0              1 0 0 0
//     1 1 1 0 0             1 1 0 0              1 1 0 0
//     1 1 1 0 0             1 1 1 0              1 1 0 0
//     1 1 1 0 0             1 1 1 1              1 1 0 0
//     1 1 1 0 0

enum { PAD, START, END, UNKNOWN, FIRST_WORD }; // the special tokens

// The three masks of the model. ids (B·S) of the source, used by the encoder's
// self-attention and by cross-attention: the same row for every query.
Mask padding_mask(Arena *arena, const int *ids, int B, int S) {
    unsigned char *visible = arena_take(arena, (size_t)B * (size_t)S, 1);
    for (int i = 0; i < B * S; i++)
        visible[i] = ids[i] != PAD;
    return (Mask){visible, S, 0};
}

// Query i sees key j if j ≤ i: T × T, the same for every sentence.
Mask causal_mask(Arena *arena, int T) {
    unsigned char *visible = arena_take(arena, (size_t)T * (size_t)T, 1);
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++)
            visible[i * T + j] = j <= i;
    return (Mask){visible, 0, T};
}

// Both: j ≤ i, and key j is not padding. ids (B·T) of the target.
Mask causal_padding_mask(Arena *arena, const int *ids, int B, int T) {
    size_t size = (size_t)T * (size_t)T;
    unsigned char *visible = arena_take(arena, (size_t)B * size, 1);
    for (int b = 0; b < B; b++)
        for (int i = 0; i < T; i++)
            for (int j = 0; j < T; j++)
                visible[(size_t)b * size + (size_t)(i * T + j)] =
                    j <= i && ids[b * T + j] != PAD;
    return (Mask){visible, T * T, T};
}

// ## A batch through the model
//
// What the decoder reads is the translation behind a start token; what it
// should say is the translation with an end token behind it. Position by
// position, the second is the first one step ahead:
//
//     source     the  red   car   end
//     input      start la   voiture rouge
//     expected   la   voiture rouge end
//
// All positions are predicted at once, each from the *true* words before it,
// whatever the model itself would have said. This is called teacher forcing.
//
// How one knows that it is right: the tests change a later word of the target
// and find every earlier logit bit for bit the same; change what the pad's
// embedding holds, and find the same loss; and run a sentence alone and padded
// in a batch.

typedef struct {
    int sentences;      // B
    int source_length;  // S
    int target_length;  // T
    int *source;        // (B·S) source words, end, padding
    int *input;         // (B·T) start, target words, padding
    int *expected;      // (B·T) target words, end, padding
} Batch;

// batch -> logits (B·T,V); s keeps what transformer_backward needs
Mat transformer_forward(Pass *pass, Saved *s, const Transformer *t,
                        const Batch *batch) {
    int B = batch->sentences, S = batch->source_length;
    int T = batch->target_length;
    Mask source_mask = padding_mask(pass->arena, batch->source, B, S);
    Mask target_mask = causal_padding_mask(pass->arena, batch->input, B, T);
    encode(pass, s, t, batch->source, B, S, source_mask);
    return decode(pass, s, t, batch->input, B, T, target_mask, source_mask);
}

//@ chapter words
// # 10. Words to numbers
//
// The model knows numbers only. This chapter reads pairs of sentences from a
// file, cuts them into tokens, gives each token a number, and packs sentences
// into batches. It is plain string handling; a reader who is here for the
// mathematics can go on to chapter 11.
//
// ## Text
//
// Files are UTF-8: one character takes one to four bytes.

// Bytes of the character at `s`, or 0 if it is not valid UTF-8. Overlong forms,
// surrogates and numbers beyond U+10FFFF are not valid. Ends at the end of the
// string, since a zero byte continues nothing.
int utf8_length(const char *s) {
    const unsigned char *c = (const unsigned char *)s;
    if (c[0] < 0x80)
        return 1;
    int length = c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3
               : c[0] < 0xf5 ? 4 : 0;
    for (int i = 1; i < length; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] >= 0xa0)
        || (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] >= 0x90))
        return 0;
    return length;
}

bool valid_utf8(const char *s) {
    for (int n; *s; s += n)
        if ((n = utf8_length(s)) == 0)
            return false;
    return true;
}

// Lower-cases Latin, Greek and Cyrillic letters of one or two bytes, in place;
// their small forms take as many bytes.
void lower_case(char *s) {
    for (int n; *s; s += n) {
        n = utf8_length(s);
        if (n == 1 && *s >= 'A' && *s <= 'Z')
            *s = (char)(*s - 'A' + 'a');
        if (n != 2)
            continue;
        int c = (s[0] & 0x1f) << 6 | (s[1] & 0x3f);
        if ((c >= 0xc0 && c <= 0xde && c != 0xd7)       // À … Þ
            || (c >= 0x391 && c <= 0x3a9)               // Α … Ω
            || (c >= 0x410 && c <= 0x42f))              // А … Я
            c += 32;
        else if (c >= 0x400 && c <= 0x40f)              // Ѐ … Џ
            c += 80;
        else if (c == 0x178)                            // Ÿ
            c = 0xff;
        else if ((c >= 0x100 && c <= 0x137 && c != 0x130 && c != 0x131)
                 || (c >= 0x14a && c <= 0x177))         // Ā ā … in pairs
            c |= 1;
        else if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e))
            c += c % 2;                                 // Ĺ ĺ … in pairs
        s[0] = (char)(0xc0 | c >> 6);
        s[1] = (char)(0x80 | (c & 0x3f));
    }
}

// Bytes of the white space at `s`, 0 if there is none. Control characters count
// as white space, and so do the no-break spaces U+00A0 and U+202F, which French
// typography puts before ! and ?.
int space_length(const char *s) {
    if (*s > 0 && *s <= ' ')
        return 1;
    if (!strncmp(s, "\xc2\xa0", 2))
        return 2;
    return strncmp(s, "\xe2\x80\xaf", 3) ? 0 : 3;
}

// How text is cut into tokens.
enum { WORDS, CHARACTERS };

typedef struct {
    int tokens;     // WORDS or CHARACTERS
    int lowercase;
} Tokenizer;

bool is_punctuation(char c) {
    return c != '\0' && strchr(".,!?;:\"()", c) != NULL;
}

// The next token of *text: returns its first byte and puts its length into
// *length; NULL at the end. Words end at white space and at punctuation, which
// is a token by itself. Characters are tokens one by one, any space as " ".
const char *next_token(const char **text, Tokenizer tokenizer, int *length) {
    const char *s = *text;
    int space = space_length(s);
    if (tokenizer.tokens == CHARACTERS) {
        if (!*s)
            return NULL;
        *length = space ? 1 : utf8_length(s);
        *text = s + (space ? space : *length);
        return space ? " " : s;
    }
    for (; space; space = space_length(s))
        s += space;
    const char *end = s;
    if (is_punctuation(*end))
        end++;
    else
        while (*end && !is_punctuation(*end) && !space_length(end))
            end += utf8_length(end);
    *length = (int)(end - s);
    *text = end;
    return *length ? s : NULL;
}

// ## The vocabulary
//
// A number for each token and a token for each number. The special tokens of
// chapter 9 come first; behind them the words stand in alphabetical order (of
// their bytes), so that a word's number is found by halving.

typedef struct {
    char **word; // V of them
    int count;   // V
} Vocab;

// Some bytes of a text.
typedef struct {
    const char *start;
    int length;
} Slice;

int compare_slices(const void *left, const void *right) {
    const Slice *a = left, *b = right;
    int order = memcmp(a->start, b->start,
                       (size_t)min_int(a->length, b->length));
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

// The token's number; UNKNOWN if the vocabulary does not have it. No text can
// stand for a special token.
int token_id(const Vocab *v, const char *word, int length) {
    Slice wanted = {word, length};
    int low = FIRST_WORD, high = v->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        Slice there = {v->word[middle], (int)strlen(v->word[middle])};
        int order = compare_slices(&wanted, &there);
        if (order == 0)
            return middle;
        *(order < 0 ? &high : &low) = order < 0 ? middle : middle + 1;
    }
    return UNKNOWN;
}

// Appends a word; its number is the count before.
void vocab_append(Vocab *v, const char *word, int length) {
    v->word = reallocate(v->word, (size_t)v->count + 1, sizeof *v->word);
    v->word[v->count] = allocate((size_t)length + 1, 1);
    memcpy(v->word[v->count++], word, (size_t)length);
}

// A vocabulary with the special tokens alone.
Vocab vocab_new(void) {
    Vocab v = {0};
    const char *special[] = {"<pad>", "<start>", "<end>", "<unknown>"};
    for (int i = 0; i < FIRST_WORD; i++)
        vocab_append(&v, special[i], (int)strlen(special[i]));
    return v;
}

void vocab_free(Vocab *v) {
    for (int i = 0; i < v->count; i++)
        free(v->word[i]);
    free(v->word);
}

// All tokens that occur at least min_count times in the texts: sort them, and
// equal ones lie side by side.
Vocab vocab_build(char *const *text, int texts, Tokenizer tokenizer,
                  int min_count) {
    Vocab v = vocab_new();
    Slice *all = NULL, next;
    size_t count = 0, room = 0;
    for (int i = 0; i < texts; i++) {
        const char *s = text[i];
        while ((next.start = next_token(&s, tokenizer, &next.length)) != NULL) {
            if (count == room)
                all = reallocate(all, room = 2 * room + 1024, sizeof *all);
            all[count++] = next;
        }
    }
    if (count)
        qsort(all, count, sizeof *all, compare_slices);
    for (size_t i = 0, same; i < count; i += same) {
        for (same = 1; i + same < count; same++)
            if (compare_slices(&all[i], &all[i + same]))
                break;
        if (same >= (size_t)min_count)
            vocab_append(&v, all[i].start, all[i].length);
    }
    free(all);
    return v;
}

// ## Sentences

typedef struct {
    int *id;     // the tokens, END last
    int length;  // including END
} Sentence;

// text -> tokens and END
Sentence encode_text(const char *text, const Vocab *v, Tokenizer tokenizer) {
    Sentence s = {allocate(strlen(text) + 1, sizeof(int)), 0};
    const char *word;
    for (int n; (word = next_token(&text, tokenizer, &n)) != NULL;)
        s.id[s.length++] = token_id(v, word, n);
    s.id[s.length++] = END;
    return s;
}

// tokens up to END -> text: words joined by spaces, characters by nothing. The
// caller frees the result.
char *decode_text(const int *id, int length, const Vocab *v, Tokenizer tokenizer) {
    size_t size = 1;
    for (int i = 0; i < length; i++)
        size += strlen(v->word[id[i]]) + 1;
    char *text = allocate(size, 1), *end = text;
    for (int i = 0; i < length && id[i] != END; i++)
        end += snprintf(end, size - (size_t)(end - text), "%s%s",
                        i && tokenizer.tokens == WORDS ? " " : "",
                        v->word[id[i]]);
    return text;
}

// ## Files of sentence pairs
//
// One pair a line: source, tab, target; further columns are ignored. A line
// that does not fit this is an error with its number; nothing is skipped in
// silence.

typedef struct {
    char *contents;         // the file, cut into strings
    char **source, **target;
    int count;
} Text;

// The whole of a file, with a zero byte behind it. The caller frees it.
char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file)
        fail("cannot open %s: %s", path, strerror(errno));
    size_t room = 1 << 16, used = 0;
    char *contents = allocate(room, 1);
    for (size_t n; (n = fread(contents + used, 1, room - used - 1, file)) > 0;) {
        used += n;
        if (room - used == 1)
            contents = reallocate(contents, room *= 2, 1);
    }
    bool failed = ferror(file);
    int reason = errno;
    fclose(file);
    if (failed)
        fail("cannot read %s: %s", path, strerror(reason));
    contents[used] = '\0';
    *size = used;
    return contents;
}

// Cuts one line into its columns and checks them; `line` is its number.
void read_line(Text *text, char *s, size_t length, const char *path, int line,
               Tokenizer tokenizer) {
    if (length && s[length - 1] == '\r') // a file from Windows
        s[--length] = '\0';
    if (memchr(s, '\0', length))
        fail("%s:%d: a zero byte: this is not a text file", path, line);
    if (!valid_utf8(s))
        fail("%s:%d: not valid UTF-8", path, line);
    char *tab = strchr(s, '\t');
    if (!tab)
        fail("%s:%d: expected source, tab, target; found no tab", path, line);
    *tab = '\0';
    tab[1 + strcspn(tab + 1, "\t")] = '\0';
    char *column[] = {s, tab + 1};
    for (int i = 0; i < 2; i++) {
        const char *rest = column[i];
        int n;
        if (tokenizer.lowercase)
            lower_case(column[i]);
        if (!next_token(&rest, (Tokenizer){WORDS, 0}, &n))
            fail("%s:%d: the %s is empty", path, line, i ? "target" : "source");
    }
    text->source[text->count] = column[0];
    text->target[text->count++] = column[1];
}

// Reads a file of pairs; lower-cased if the tokenizer says so.
Text read_pairs(const char *path, Tokenizer tokenizer) {
    size_t size;
    Text text = {.contents = read_file(path, &size)};
    char *s = text.contents, *end = s + size;
    if (size >= 3 && !memcmp(s, "\xef\xbb\xbf", 3)) // byte order mark
        s += 3;
    size_t lines = 1;
    for (const char *c = s; (c = memchr(c, '\n', (size_t)(end - c))); c++)
        lines++;
    if (lines > INT_MAX)
        fail("%s: more than %d lines", path, INT_MAX);
    text.source = allocate(lines, sizeof *text.source);
    text.target = allocate(lines, sizeof *text.target);
    for (int line = 1; s < end; line++) {
        char *stop = memchr(s, '\n', (size_t)(end - s));
        size_t length = (size_t)((stop ? stop : end) - s);
        s[length] = '\0';
        read_line(&text, s, length, path, line, tokenizer);
        s += length + 1;
    }
    if (text.count == 0)
        fail("%s: the file is empty", path);
    return text;
}

void text_free(Text *text) {
    free(text->contents);
    free(text->source);
    free(text->target);
    *text = (Text){0};
}

// Pairs as numbers. Those with a sentence of more than max_len tokens do not
// fit the model; they are counted, and left out.
typedef struct {
    Sentence *source, *target;
    int count;
    int too_long;
} Pairs;

Pairs encode_pairs(const Text *text, const Vocab *source, const Vocab *target,
                   Tokenizer tokenizer, int max_len) {
    Pairs p = {0};
    p.source = allocate((size_t)text->count, sizeof *p.source);
    p.target = allocate((size_t)text->count, sizeof *p.target);
    for (int i = 0; i < text->count; i++) {
        Sentence s = encode_text(text->source[i], source, tokenizer);
        Sentence t = encode_text(text->target[i], target, tokenizer);
        if (s.length - 1 <= max_len && t.length - 1 <= max_len) {
            p.source[p.count] = s;
            p.target[p.count++] = t;
        } else {
            p.too_long++;
            free(s.id);
            free(t.id);
        }
    }
    return p;
}

void pairs_free(Pairs *p) {
    for (int i = 0; i < p->count; i++) {
        free(p->source[i].id);
        free(p->target[i].id);
    }
    free(p->source);
    free(p->target);
    *p = (Pairs){0};
}

// ## Batches
//
// Sentences of a batch should have similar lengths, or most of the work goes
// into padding. But batches should also be mixtures, and different in each
// epoch. So: shuffle all pairs; take them in pools of some batches; sort each
// pool by length and cut it into batches; shuffle the batches.

enum { POOL = 8 }; // batches in a pool

// Shuffles n items in place (Fisher and Yates).
void shuffle(int *item, int n, uint64_t key) {
    for (int i = n - 1; i > 0; i--) {
        int j = (int)(uniform(&key) * (i + 1));
        int kept = item[i];
        item[i] = item[j];
        item[j] = kept;
    }
}

typedef struct {
    int target, source, place, pair;
} SortKey;

// By length of target, then of source, then by place: no two are equal, so the
// order does not depend on how qsort works.
int compare_lengths(const void *left, const void *right) {
    const SortKey *a = left, *b = right;
    if (a->target != b->target)
        return a->target < b->target ? -1 : 1;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

int batches_in_epoch(int pairs, int batch_size) {
    return (pairs + batch_size - 1) / batch_size;
}

// The order of one epoch: order[i] is the pair at place i, and batch k takes
// places k·batch_size … up to the next. A function of seed and epoch alone. The
// last batch is the one that may be smaller, so only the others change places.
void epoch_order(int *order, const Pairs *p, int batch_size, uint64_t seed,
                 long epoch) {
    uint64_t key = random_key(seed, FOR_ORDER, (uint64_t)epoch);
    int n = p->count, full = n / batch_size;
    int *shuffled = allocate((size_t)n, sizeof(int));
    for (int i = 0; i < n; i++)
        shuffled[i] = i;
    shuffle(shuffled, n, key);
    SortKey *sorted = allocate((size_t)n, sizeof *sorted);
    for (int i = 0; i < n; i++) {
        int k = shuffled[i];
        sorted[i] = (SortKey){p->target[k].length, p->source[k].length, i, k};
    }
    size_t pool = (size_t)POOL * (size_t)batch_size;
    for (size_t i = 0; i < (size_t)n; i += pool) {
        size_t count = (size_t)n - i < pool ? (size_t)n - i : pool;
        qsort(sorted + i, count, sizeof *sorted, compare_lengths);
    }
    int *place = allocate((size_t)full + 1, sizeof(int));
    for (int k = 0; k <= full; k++)
        place[k] = k;
    shuffle(place, full, scramble(key));
    for (int i = 0; i < n; i++)
        order[i] = sorted[place[i / batch_size] * batch_size
                          + i % batch_size].pair;
    free(place);
    free(sorted);
    free(shuffled);
}

// Packs the pairs with the given numbers into a batch; the memory is the
// arena's.
Batch make_batch(Arena *arena, const Pairs *p, const int *pair, int count) {
    Batch batch = {.sentences = count};
    for (int b = 0; b < count; b++) {
        Sentence s = p->source[pair[b]], t = p->target[pair[b]];
        if (s.length > batch.source_length)
            batch.source_length = s.length;
        if (t.length > batch.target_length)
            batch.target_length = t.length;
    }
    int S = batch.source_length, T = batch.target_length;
    batch.source = arena_take(arena, (size_t)count * (size_t)S, sizeof(int));
    batch.input = arena_take(arena, (size_t)count * (size_t)T, sizeof(int));
    batch.expected = arena_take(arena, (size_t)count * (size_t)T, sizeof(int));
    for (int b = 0; b < count; b++) {
        Sentence s = p->source[pair[b]], t = p->target[pair[b]];
        for (int i = 0; i < S; i++)
            batch.source[b * S + i] = i < s.length ? s.id[i] : PAD;
        for (int i = 0; i < T; i++) {
            batch.expected[b * T + i] = i < t.length ? t.id[i] : PAD;
            batch.input[b * T + i] = i == 0 ? START
                                   : i < t.length ? t.id[i - 1] : PAD;
        }
    }
    return batch;
}

//@ chapter training
// # 11. Training
//
// Training repeats one step: run a batch forward, measure how wrong it was,
// run backward to find how each parameter contributed, change each a little.
//
// ## The loss
//
// The logits of a position become probabilities by softmax. The loss is the
// negative logarithm of the probability given to the expected word: 0 when the
// model is sure and right, large when it is sure and wrong. Its unit is the
// nat.
//
// $$ \operatorname{loss} = -\log p_y = \log \sum_j e^{z_j} - z_y $$
//
// Three numbers to judge a loss by: a model that knows nothing and finds all V
// words equally likely has the loss log V (for V = 150 that is 5.01); one that
// hesitates between two words has log 2 = 0.69; a perfect one has 0. e to the
// power of the loss, the *perplexity*, says between how many words the model
// hesitates.
//
// *Label smoothing* asks for a little less certainty: instead of all weight on
// the expected word, the target distribution q puts ε/V on every word and the
// remaining 1-ε on the expected one. [paper, section 5.4]
//
//     loss = -Σ_j q_j log p_j,   log p_j = z_j - lse,   lse = log Σ_k e^(z_k)
//          = lse - (1-ε) z_y - ε/V Σ_j z_j               since Σ_j q_j = 1
//
// Of the definitions in use this is PyTorch's; others spread ε over the V-1
// wrong words only. With smoothing even a perfect model has a loss above zero,
// so the plain loss is reported as well.
//
// Padding is not counted. The loss of a batch is the mean over its tokens.

//@ deviation
// Label smoothing spreads ε over all V words, the expected one included, as
// PyTorch does. The paper does not say how it is spread.

typedef struct {
    double loss;     // sum over the tokens, as trained (smoothed)
    double plain;    // sum over the tokens, without smoothing
    int tokens;      // expected tokens that are not padding
    int correct;     // whose most probable word is the expected one
} Loss;

Loss add_losses(Loss a, Loss b) {
    return (Loss){a.loss + b.loss, a.plain + b.plain, a.tokens + b.tokens,
                  a.correct + b.correct};
}

// The place of the largest of n numbers, the first one among equals, beginning
// at `first`.
int arg_max(const real *x, int first, int n) {
    int best = first;
    for (int j = first + 1; j < n; j++)
        if (x[j] > x[best])
            best = j;
    return best;
}

// logits (N,V), expected (N), ε -> the sums; lse (N,1) is saved. A word the
// vocabulary does not have is never correct.
Loss loss_forward(Mat lse, Mat logits, const int *expected, double smoothing,
                  Arena *arena) {
    int N = logits.rows, V = logits.cols;
    size_t mark = arena->used;
    Loss total = {0}, *each = arena_take(arena, (size_t)N, sizeof *each);
    PARALLEL_FOR(size_of(logits) * 10)
    for (int i = 0; i < N; i++) {
        const real *z = row(logits, i);
        int y = expected[i];
        each[i] = (Loss){0};
        lse.at[i] = 0;
        if (y == PAD)
            continue;
        int best = arg_max(z, 0, V);
        lse.at[i] = z[best] + REAL(log)(sum_exponentials(z, z[best], V));
        each[i].tokens = 1;
        each[i].correct = best == y && y != UNKNOWN;
        each[i].plain = lse.at[i] - z[y];
        each[i].loss = lse.at[i] - (1 - smoothing) * z[y]
                     - smoothing / V * sum(z, V);
    }
    for (int i = 0; i < N; i++)
        total = add_losses(total, each[i]);
    arena_release(arena, mark);
    return total;
}

// Backward, the most beautiful formula of all. The derivative of lse is
// softmax:
//
//     ∂lse/∂z_j = e^(z_j) / Σ_k e^(z_k) = p_j
//
//     dz_j = p_j - q_j = p_j - (1-ε) 1[j=y] - ε/V
//
// What the model says minus what it should say. All of it is divided by the
// number of tokens, because the loss is their mean.
//
// How one knows that it is right: a row sums to zero, for p and q both sum to
// 1; rows of padding are zero.

// dlogits (N,V) is written, not added to, and may be the logits themselves:
// each of them is needed just once more, here.
void loss_backward(Mat dlogits, Mat logits, Mat lse, const int *expected,
                   double smoothing, int tokens) {
    int V = logits.cols;
    real share = 1 / (real)tokens, even = (real)(smoothing / V);
    PARALLEL_FOR(size_of(logits) * 10)
    for (int i = 0; i < logits.rows; i++) {
        const real *z = row(logits, i);
        real *d = row(dlogits, i);
        if (expected[i] == PAD) {
            memset(d, 0, sizeof(real) * (size_t)V);
            continue;
        }
        for (int j = 0; j < V; j++)
            d[j] = (exponential(z[j] - lse.at[i]) - even) * share;
        d[expected[i]] -= (real)(1 - smoothing) * share;
    }
}

// ## Clipping
//
// Now and then a batch gives a very large gradient, and one such step can ruin
// a model. So if the length of the whole gradient, all parameters taken as one
// vector, exceeds a limit, it is shortened to that limit.

// The direction stays the same, only the length changes; and since all
// parameters are shortened by one factor, none gains on another.

//@ deviation
// The gradient is clipped to a global norm. The paper does not mention
// clipping; tutorials and tools do it as a matter of course.

enum { CHUNK = 1 << 14 }; // numbers that one thread takes at a time

// √Σ x² over n numbers, in chunks, so that threads do not change the sum
double norm_of(const real *x, size_t n, Arena *arena) {
    size_t mark = arena->used;
    int chunks = (int)((n + CHUNK - 1) / CHUNK);
    double *part = arena_take(arena, (size_t)chunks, sizeof *part), total = 0;
    PARALLEL_FOR((double)n)
    for (int k = 0; k < chunks; k++) {
        size_t first = (size_t)k * CHUNK;
        size_t count = n - first < CHUNK ? n - first : CHUNK;
        part[k] = dot(x + first, x + first, (int)count);
    }
    for (int k = 0; k < chunks; k++)
        total += part[k];
    arena_release(arena, mark);
    return sqrt(total);
}

// The factor that brings a gradient of the given norm down to `clip`.
double clip_factor(double norm, double clip) {
    return norm > clip ? clip / norm : 1;
}

// ## Adam
//
// A plain step would be p -= rate · g. Adam (Kingma and Ba, 2015) keeps two
// running means for each parameter: m of the gradient, so that the noise of
// single batches cancels, and v of its square, so that every parameter moves by
// about the same amount however large its gradients are.
//
//     m = β₁ m + (1-β₁) g           v = β₂ v + (1-β₂) g²
//     p -= rate · m̂ / (√v̂ + ε)      m̂ = m/(1-β₁ᵗ),  v̂ = v/(1-β₂ᵗ)
//
// m and v start at zero and would be too small at first; dividing by 1-βᵗ (t is
// the number of the step, from 1) makes up for that. [section 5.3]
//
// Follow one parameter whose gradient is always 3. After the first step m =
// 0.3 and v = 0.18; m̂ = 0.3/0.1 = 3 and v̂ = 0.18/0.02 = 9; the step is rate
// · 3/√9, just the rate. After the second it is the same. Were the gradient
// always 300, the step would be the rate again. Adam looks at the *signal* in
// the gradient: where it changes its sign all the time, m is near 0, and the
// parameter rests.

#define ADAM_BETA1 0.9
#define ADAM_BETA2 0.98
#define ADAM_EPSILON 1e-9

// One step on n numbers; the gradient is multiplied by `factor` first.
void adam_step(real *p, real *m, real *v, const real *gradient, size_t n,
               double factor, double rate, long t) {
    const real beta1 = (real)ADAM_BETA1, beta2 = (real)ADAM_BETA2;
    const real rest1 = (real)(1 - ADAM_BETA1), rest2 = (real)(1 - ADAM_BETA2);
    real step = (real)(rate / (1 - pow(ADAM_BETA1, (double)t)));
    real root = (real)(1 / sqrt(1 - pow(ADAM_BETA2, (double)t)));
    real f = (real)factor, epsilon = (real)ADAM_EPSILON;
    long chunks = (long)((n + CHUNK - 1) / CHUNK);
    PARALLEL_FOR((double)n * 4)
    for (long k = 0; k < chunks; k++) {
        size_t last = (size_t)(k + 1) * CHUNK < n ? (size_t)(k + 1) * CHUNK : n;
        for (size_t i = (size_t)k * CHUNK; i < last; i++) {
            real g = gradient[i] * f;
            m[i] = beta1 * m[i] + rest1 * g;
            v[i] = beta2 * v[i] + rest2 * g * g;
            p[i] -= step * m[i] / (REAL(sqrt)(v[i]) * root + epsilon);
        }
    }
}

// ## The learning rate
//
// At the start v̂ rests on a few gradients only, and in a post-norm stack the
// gradients near the output are large: a full step there can throw the model
// where it never recovers from. So the rate rises in a straight line for some
// *warm-up* steps and then falls with the inverse square root. [section 5.3]
//
// $$ \operatorname{rate} = \operatorname{peak} \cdot \min(t/w, \sqrt{w/t}) $$
//
//     peak ┤      ╱╲
//          │    ╱    ╲__
//          │  ╱         ╲____
//          │╱                ╲_________
//        0 ┼──────┬─────┬──────────────┬── t
//          0      w    2w             4w      half of the peak at 4w
//
// With peak = (D · w)^(-1/2), the default, this is the paper's formula. Wider
// models get smaller steps. A schedule that stays at the peak is offered too.

enum { NOAM, CONSTANT }; // Recipe.schedule; constant warms up too

// How to train. The command line's table in chapter 15 has the defaults.
typedef struct {
    double rate;      // the peak of the learning rate
    int warmup;       // steps
    int schedule;
    double clip;      // largest norm of the gradient
    double smoothing; // ε
    int batch;        // sentences
    int epochs;       // passes through the data; or else
    int steps;        // steps; 0: epochs count
    int seed;
} Recipe;

// The rate of step t, which counts from 1.
double learning_rate(const Recipe *r, long t) {
    if (t < r->warmup)
        return r->rate * (double)t / r->warmup;
    return r->schedule == CONSTANT ? r->rate
                                   : r->rate * sqrt(r->warmup / (double)t);
}

// ## One step
//
// All the pieces together. This function is what the whole file is about; the
// rest of the program feeds it and looks at what comes out.

typedef struct {
    Recipe recipe;
    Transformer *model, *gradient, *m, *v; // the four roles
    Arena arena;
    long step;      // steps done
    double best;    // lowest validation loss so far; infinite: none
} Trainer;

typedef struct {
    long step;         // its number, from 1
    Loss loss;         // of its batch
    double rate, norm; // learning rate; length of the gradient, unclipped
} Step;

Trainer trainer_new(const Config *config, const Recipe *recipe) {
    return (Trainer){
        .recipe = *recipe,
        .model = transformer_new(config),
        .gradient = transformer_zeros(config),
        .m = transformer_zeros(config),
        .v = transformer_zeros(config),
        .best = INFINITY,
    };
}

void trainer_free(Trainer *t) {
    transformer_free(t->model);
    transformer_free(t->gradient);
    transformer_free(t->m);
    transformer_free(t->v);
    arena_free(&t->arena);
}

// Forward, loss, backward, clip, Adam. If the loss or the gradient is not a
// finite number, the parameters stay as they were, and step.norm tells.
Step train_step(Trainer *t, const Batch *batch) {
    Transformer *model = t->model, *gradient = t->gradient;
    const Recipe *recipe = &t->recipe;
    size_t mark = t->arena.used;
    Step step = {.step = t->step + 1};
    Pass pass = {&t->arena, &model->config, (real)model->config.dropout,
                 random_key((uint64_t)recipe->seed, FOR_DROPOUT,
                            (uint64_t)step.step)};
    // (1) forward and loss
    Saved saved;
    Mat logits = transformer_forward(&pass, &saved, model, batch);
    Mat lse = arena_mat(&t->arena, logits.rows, 1);
    step.loss = loss_forward(lse, logits, batch->expected, recipe->smoothing,
                             &t->arena);
    // (2) backward, into gradients that start at zero
    memset(gradient->number, 0, gradient->count * sizeof(real));
    loss_backward(logits, logits, lse, batch->expected, recipe->smoothing,
                  step.loss.tokens);
    transformer_backward(&pass, &saved, model, gradient, logits);
    // (3) clip and step
    step.norm = norm_of(gradient->number, gradient->count, &t->arena);
    step.rate = learning_rate(recipe, step.step);
    if (isfinite(step.norm) && isfinite(step.loss.loss)) {
        adam_step(model->number, t->m->number, t->v->number, gradient->number,
                  model->count, clip_factor(step.norm, recipe->clip), step.rate,
                  step.step);
        t->step = step.step;
    }
    arena_release(&t->arena, mark);
    return step;
}

// ## How good is it?
//
// Teacher-forced: each next word is predicted from the true words before it,
// without dropout. This is the loss of held-out data, not yet a translation.

Loss evaluate_loss(const Transformer *model, const Pairs *p, int batch_size,
                   double smoothing, Arena *arena) {
    Loss total = {0};
    Pass pass = {.arena = arena, .config = &model->config};
    int *order = allocate((size_t)p->count + 1, sizeof *order);
    for (int i = 0; i < p->count; i++)
        order[i] = i;
    for (int i = 0; i < p->count; i += batch_size) {
        size_t mark = arena->used;
        Saved saved;
        Batch batch = make_batch(arena, p, order + i,
                                 min_int(batch_size, p->count - i));
        Mat logits = transformer_forward(&pass, &saved, model, &batch);
        Mat lse = arena_mat(arena, logits.rows, 1);
        total = add_losses(total, loss_forward(lse, logits, batch.expected,
                                               smoothing, arena));
        arena_release(arena, mark);
    }
    free(order);
    return total;
}

// ## The loop
//
// After each step the loop reports to whoever called it. What is printed and
// saved is not its business (it is chapter 15's), and the answer says whether
// to go on. About twenty times in a training it also evaluates the validation
// data.
//
// Which pairs make up the batch of step t, and which numbers are dropped in
// it, follows from the seed and t. So the loop can begin at any step: an
// interrupted training that is resumed ends in the same bits as one that was
// not, and the tests check that.

enum { REPORTS = 20 };

typedef struct {
    const Trainer *trainer;
    Step step;
    long steps;        // the total aimed at
    bool pause;        // time to look and to save: one of the REPORTS
    Loss valid;        // at such times; tokens = 0: no validation data
    bool best;         // and it was the lowest loss so far
} Report;

typedef bool Reporter(void *context, const Report *report);

long total_steps(const Recipe *r, int pairs) {
    if (r->steps > 0)
        return r->steps;
    return (long)r->epochs * batches_in_epoch(pairs, r->batch);
}

// Trains up to the recipe's total, from wherever the trainer stands. Returns
// false if a loss or gradient was not finite; the parameters are then those of
// the step before. valid may be NULL.
bool train(Trainer *t, const Pairs *data, const Pairs *valid,
           Reporter *reporter, void *context) {
    const Recipe *r = &t->recipe;
    int per_epoch = batches_in_epoch(data->count, r->batch);
    long total = total_steps(r, data->count), epoch = -1;
    long interval = total > REPORTS ? total / REPORTS : 1;
    int *order = allocate((size_t)data->count, sizeof *order);
    bool go_on = true, finite = true;
    while (t->step < total && go_on) {
        if (t->step / per_epoch != epoch) {
            epoch = t->step / per_epoch;
            epoch_order(order, data, r->batch, (uint64_t)r->seed, epoch);
        }
        int first = (int)(t->step % per_epoch) * r->batch;
        Batch batch = make_batch(&t->arena, data, order + first,
                                 min_int(r->batch, data->count - first));
        Report report = {.trainer = t, .steps = total};
        report.step = train_step(t, &batch);
        arena_release(&t->arena, 0);
        finite = t->step == report.step.step;
        if (!finite)
            break;
        report.pause = t->step % interval == 0 || t->step == total;
        if (report.pause && valid) {
            report.valid = evaluate_loss(t->model, valid, r->batch, 0,
                                         &t->arena);
            report.best = report.valid.plain < t->best;
            t->best = report.best ? report.valid.plain : t->best;
        }
        go_on = reporter(context, &report);
    }
    free(order);
    return finite;
}

//@ chapter decoding
// # 12. Greedy decoding
//
// A trained model translates one word at a time: give the decoder what has been
// written so far, take the most probable next word, write it down, repeat until
// it says *end*.
//
// That is *greedy*: it never takes a word back. A search that keeps the best
// few beginnings (beam search) finds somewhat better sentences and is left out
// here.
//
// Done naively, every new word runs the decoder over all the old ones again: n
// words take 1 + 2 + … + n positions. But the mask keeps old positions from
// seeing new ones, so nothing about them changes: not what they compute, and
// in particular not their keys and values. Those are kept in a *cache*, and
// each step computes one new position only. The keys and values of
// cross-attention come from the source alone and are computed once. n words
// now take n positions.
//
//     step 3, writing after "start la voiture":
//
//     query of "voiture"  →  cached keys:  start  la  voiture   (its own, just
//                            cached values:  ·     ·     ·       added)
//
// The cache is exact, not an approximation. The tests decode step by step and
// compare each step's logits with those of the whole sentence at once.

typedef struct {
    Mat self_key, self_value;   // (B·P,D): P rows for each sentence, t in use
    Mat cross_key, cross_value; // (B·S,D)
} LayerCache;

typedef struct {
    const Transformer *model;
    int sentences, source_length; // B, S
    int room;                     // P: positions there is room for
    int length;                   // t: positions decoded
    Mask source_mask;
    LayerCache *layer;            // L of them
} Cache;

// Encodes the source and prepares the caches. ids (B·S); room for P positions.
Cache decoder_start(Pass *pass, const Transformer *t, const int *ids, int B,
                    int S, int P) {
    int D = t->config.d_model, L = t->config.layers;
    Arena *arena = pass->arena;
    Saved saved;
    Cache c = {.model = t, .sentences = B, .source_length = S, .room = P};
    c.source_mask = padding_mask(arena, ids, B, S);
    c.layer = arena_take(arena, (size_t)L, sizeof *c.layer);
    Mat memory = encode(pass, &saved, t, ids, B, S, c.source_mask);
    for (int l = 0; l < L; l++) {
        const DecoderLayer *layer = &t->decoder.layer[l];
        const MultiHead *cross = &layer->cross_attention.multi_head;
        LayerCache *k = &c.layer[l];
        k->self_key = arena_mat(arena, B * P, D);
        k->self_value = arena_mat(arena, B * P, D);
        k->cross_key = arena_mat(arena, B * S, D);
        k->cross_value = arena_mat(arena, B * S, D);
        linear_forward(k->cross_key, memory, &cross->key);
        linear_forward(k->cross_value, memory, &cross->value);
    }
    return c;
}

// Attention of one new position in each sentence. x (B,D); key and value hold
// `stride` rows for each sentence, of which `used` are looked at -> (B,D)
Mat attend_to_cache(Pass *pass, const MultiHead *w, Mat x, Mat key, Mat value,
                    int stride, int used, Mask mask) {
    int B = x.rows, D = x.cols, H = pass->config->heads, K = D / H;
    Mat q = arena_mat(pass->arena, B, D);
    linear_forward(q, x, &w->query);
    Mat weights = arena_mat(pass->arena, B * H, used);
    Mat context = arena_mat(pass->arena, B, D);
    PARALLEL_FOR(size_of(weights) * (2 + K / 4))
    for (int i = 0; i < B * H; i++) {
        int b = i / H, h = i % H;
        Mat weight = band_of_rows(weights, i, 1);
        Mat k = band_of_rows(head(key, b, stride, h, K), 0, used);
        Mat v = band_of_rows(head(value, b, stride, h, K), 0, used);
        attention_forward(head(context, b, 1, h, K), weight, weight,
                          head(q, b, 1, h, K), k, v, mask_of_sentence(mask, b),
                          1 / REAL(sqrt)((real)K), (Dropout){0});
    }
    Mat out = arena_mat(pass->arena, B, D);
    linear_forward(out, context, &w->output);
    return out;
}

// Computes keys and values of the new position t into the cache: row t of each
// sentence. A view with a row stride of a whole sentence reaches them all.
void extend_cache(const MultiHead *w, Mat x, Mat key, Mat value, int room,
                  int t) {
    Mat k = {row(key, t), x.rows, x.cols, room * key.row_stride, 1};
    Mat v = {row(value, t), x.rows, x.cols, room * value.row_stride, 1};
    linear_forward(k, x, &w->key);
    linear_forward(v, x, &w->value);
}

// One decoder layer for one new position in each sentence: x (B,D) -> (B,D).
// The same three sub-layers as in chapter 8.
Mat decoder_layer_step(Pass *pass, const DecoderLayer *w, LayerCache *k,
                       const Cache *c, Mat x) {
    const AttentionSublayer *self = &w->self_attention;
    const AttentionSublayer *cross = &w->cross_attention;
    ResidualSaved r;
    FeedForwardSublayerSaved f;
    // (1) self-attention
    Mat h = residual_enter(pass, &r, &self->norm, x);
    extend_cache(&self->multi_head, h, k->self_key, k->self_value, c->room,
                 c->length);
    Mat y = attend_to_cache(pass, &self->multi_head, h, k->self_key,
                            k->self_value, c->room, c->length + 1, (Mask){0});
    x = residual_leave(pass, &r, &self->norm, x, y);
    // (2) cross-attention
    h = residual_enter(pass, &r, &cross->norm, x);
    y = attend_to_cache(pass, &cross->multi_head, h, k->cross_key,
                        k->cross_value, c->source_length, c->source_length,
                        c->source_mask);
    x = residual_leave(pass, &r, &cross->norm, x, y);
    // (3) feed-forward network
    return ffn_sublayer_forward(pass, &f, &w->feed_forward, x);
}

// One step: id (B), the last token of each sentence -> logits (B,V) of the next
Mat decoder_step(Pass *pass, Cache *c, const int *id) {
    const Transformer *t = c->model;
    Mat positions = t->target_positions;
    EmbeddingSaved e;
    if (positions.at)
        positions = band_of_rows(positions, c->length, 1);
    Mat x = embedding_forward(pass, &e, t->target_embedding, positions, id,
                              c->sentences, 1);
    for (int l = 0; l < t->config.layers; l++)
        x = decoder_layer_step(pass, &t->decoder.layer[l], &c->layer[l], c, x);
    if (t->config.norm == PRE_NORM) {
        NormSaved n;
        x = norm_forward(pass, &n, &t->decoder.norm, x);
    }
    Mat logits = arena_mat(pass->arena, c->sentences, t->config.target_vocab);
    linear_forward(logits, x, &t->output);
    c->length++;
    return logits;
}

// Translates B sentences. ids (B·S), padded; out (B·P) receives the tokens,
// END behind the last one (or P tokens and no END), the rest PAD. P is at most
// max_len + 1. pad and start are never written.
void translate(const Transformer *model, const int *ids, int B, int S, int *out,
               int P, Arena *arena) {
    size_t mark = arena->used;
    Pass pass = {.arena = arena, .config = &model->config};
    Cache cache = decoder_start(&pass, model, ids, B, S, P);
    int *id = arena_take(arena, (size_t)B, sizeof *id);
    bool *done = arena_take(arena, (size_t)B, sizeof *done);
    for (int b = 0; b < B; b++) {
        id[b] = START;
        done[b] = false;
    }
    int open = B;
    for (int t = 0; t < P; t++) {
        size_t step_mark = arena->used;
        Mat logits = {0};
        if (open > 0)
            logits = decoder_step(&pass, &cache, id);
        for (int b = 0; b < B; b++) {
            out[b * P + t] = PAD;
            if (done[b])
                continue;
            id[b] = arg_max(row(logits, b), END, logits.cols);
            out[b * P + t] = id[b];
            done[b] = id[b] == END;
            open -= done[b];
        }
        arena_release(arena, step_mark);
    }
    arena_release(arena, mark);
}

// Translates all sentences, batch by batch; result[i] ends with END unless the
// model did not come to an end within max_len tokens. Sentences of similar
// length are taken together. The caller frees each result's id and the array.
Sentence *translate_all(const Transformer *model, const Sentence *source, int n,
                        int batch_size, Arena *arena) {
    int P = model->config.max_len + 1;
    Sentence *result = allocate((size_t)n, sizeof *result);
    SortKey *order = allocate((size_t)n, sizeof *order);
    for (int i = 0; i < n; i++)
        order[i] = (SortKey){0, source[i].length, i, i};
    qsort(order, (size_t)n, sizeof *order, compare_lengths);
    for (int first = 0; first < n; first += batch_size) {
        int B = min_int(batch_size, n - first);
        int S = order[first + B - 1].source; // the longest
        size_t mark = arena->used;
        int *ids = arena_take(arena, (size_t)B * (size_t)S, sizeof *ids);
        int *out = arena_take(arena, (size_t)B * (size_t)P, sizeof *out);
        for (int b = 0; b < B; b++) {
            Sentence s = source[order[first + b].pair];
            for (int i = 0; i < S; i++)
                ids[b * S + i] = i < s.length ? s.id[i] : PAD;
        }
        translate(model, ids, B, S, out, P, arena);
        for (int b = 0; b < B; b++) {
            Sentence *s = &result[order[first + b].pair];
            *s = (Sentence){allocate((size_t)P, sizeof(int)), 0};
            while (s->length < P && out[b * P + s->length] != PAD) {
                s->id[s->length] = out[b * P + s->length];
                s->length++;
            }
        }
        arena_release(arena, mark);
    }
    free(order);
    return result;
}

void sentences_free(Sentence *s, int n) {
    for (int i = 0; i < n; i++)
        free(s[i].id);
    free(s);
}

// ## Is it a good translation?
//
// Two measures on whole translations, next to the loss. *Exact match*: the
// share of sentences that agree with the reference word by word. *BLEU*
// (Papineni and others, 2002): the share of runs of 1, 2, 3 and 4 words that
// also occur in the reference, as a geometric mean, times a penalty for being
// too short.
//
// $$ \operatorname{bleu} = \min(1, e^{1 - r/c}) (p_1 p_2 p_3 p_4)^{1/4} $$
//
// with c words in all translations, r in all references. A run counts as often
// as the reference has it and no more. Runs with an unknown word never match.
//
//     reference    la voiture rouge est rapide        r = 5
//     translation  la voiture verte est rapide        c = 5
//     p  4/5 words, 2/4 pairs (la voiture, est rapide), 0/3 triples: BLEU 0
//
// It is meant for whole files, where some longer runs always match; that is why
// the counts of all sentences are added up first.

typedef struct {
    double matched[4], runs[4]; // runs of 1 … 4 words
    double length, reference;   // c and r
    int exact, sentences;
} Match;

// How often the n words at `run` occur in s (without its END).
int occurrences(const int *run, int n, const int *s, int length) {
    int count = 0;
    for (int i = 0; i + n <= length; i++)
        count += !memcmp(run, s + i, sizeof(int) * (size_t)n);
    return count;
}

// Words of a sentence without END, if it has one.
int words_of(Sentence s) {
    return s.length && s.id[s.length - 1] == END ? s.length - 1 : s.length;
}

void match_runs(Match *m, const int *s, int c, const int *reference, int r,
                int n) {
    for (int i = 0; i + n <= c; i++) {
        m->runs[n - 1]++;
        bool known = true;
        for (int k = 0; k < n; k++)
            known = known && s[i + k] != UNKNOWN;
        // the k-th occurrence counts if the reference has at least k
        int before = occurrences(s + i, n, s, i + n);
        m->matched[n - 1] += known
            && before <= occurrences(s + i, n, reference, r);
    }
}

void add_match(Match *m, Sentence s, Sentence reference) {
    int c = words_of(s), r = words_of(reference);
    bool same = s.length == reference.length;
    for (int i = 0; same && i < s.length; i++)
        same = s.id[i] == reference.id[i] && s.id[i] != UNKNOWN;
    m->exact += same;
    m->sentences++;
    m->length += c;
    m->reference += r;
    for (int n = 1; n <= 4; n++)
        match_runs(m, s.id, c, reference.id, r, n);
}

// In percent. 0 if no run of some length matches.
double bleu(const Match *m) {
    double logs = 0;
    for (int n = 0; n < 4; n++) {
        if (m->matched[n] == 0)
            return 0;
        logs += log(m->matched[n] / m->runs[n]) / 4;
    }
    double penalty = fmin(0, 1 - m->reference / m->length);
    return 100 * exp(penalty + logs);
}

//@ chapter looking
// # 13. Looking inside
//
// The attention weights are there to be looked at: they lie in what the forward
// pass saved. This chapter writes them to a file that any plotting program
// reads, draws them in the terminal, and counts parameters and memory.

enum { ENCODER, DECODER, CROSS, KINDS };
const char *const kind_name[KINDS] = {"encoder", "decoder", "cross"};

// The weights of one head in one layer, for the only sentence of a batch:
// (S,S), (T,T) or (T,S). Row i: how query i spreads its attention.
Mat attention_of(const Saved *s, int kind, int layer, int h, int H) {
    const AttentionSublayerSaved *a =
        kind == ENCODER ? &s->encoder.layer[layer].self_attention
        : kind == DECODER ? &s->decoder.layer[layer].self_attention
                          : &s->decoder.layer[layer].cross_attention;
    int T = a->multi_head.weights.rows / H;
    return band_of_rows(a->multi_head.weights, h * T, T);
}

// Runs one pair through the model without dropout; s then holds the weights.
Batch look(Pass *pass, Saved *s, const Transformer *t, Sentence source,
           Sentence target) {
    Pairs one = {.source = &source, .target = &target, .count = 1};
    Batch batch = make_batch(pass->arena, &one, (const int[]){0}, 1);
    transformer_forward(pass, s, t, &batch);
    return batch;
}

// The tokens on the two axes of a kind of attention. The queries of the decoder
// are its input: start, and the words before the one being written.
void axes(const Batch *batch, int kind, const int **query, const int **key) {
    *query = kind == ENCODER ? batch->source : batch->input;
    *key = kind == DECODER ? batch->input : batch->source;
}

// ## As a file
//
// One line for each weight, in the tidy form that pandas, R and gnuplot read.
// Tokens are quoted, quotes in them doubled (RFC 4180).

void write_quoted(FILE *file, const char *token) {
    fputc('"', file);
    for (; *token; token++) {
        if (*token == '"')
            fputc('"', file);
        fputc(*token, file);
    }
    fputc('"', file);
}

void write_attention_csv(FILE *file, const Transformer *t, const Saved *s,
                         const Batch *batch, const Vocab *source,
                         const Vocab *target) {
    fputs("kind,layer,head,query,key,weight,query_token,key_token\n", file);
    int H = t->config.heads, all = KINDS * t->config.layers * H;
    for (int n = 0; n < all; n++) {
        int kind = n / (t->config.layers * H), layer = n / H % t->config.layers;
        int h = n % H;
        const Vocab *query_vocab = kind == ENCODER ? source : target;
        const Vocab *key_vocab = kind == DECODER ? target : source;
        const int *query, *key;
        axes(batch, kind, &query, &key);
        Mat weights = attention_of(s, kind, layer, h, H);
        for (int i = 0; i < weights.rows; i++)
            for (int j = 0; j < weights.cols; j++) {
                fprintf(file, "%s,%d,%d,%d,%d,%.9g,", kind_name[kind], layer, h,
                        i, j, (double)*at(weights, i, j));
                write_quoted(file, query_vocab->word[query[i]]);
                fputc(',', file);
                write_quoted(file, key_vocab->word[key[j]]);
                fputc('\n', file);
            }
    }
}

// ## As a picture
//
// Rows are queries, columns are keys; the darker, the larger the weight. The
// names of the columns stand upright above them. It needs no colour.

// The n-th character of a token, as bytes of UTF-8 (up to 4); "" behind its end.
void nth_character(char to[5], const char *token, int n) {
    for (; n > 0 && *token; n--)
        token += utf8_length(token);
    int length = *token ? utf8_length(token) : 0;
    memcpy(to, token, (size_t)length);
    to[length] = '\0';
}

// Characters, not bytes.
int characters(const char *token) {
    int n = 0;
    for (; *token; token += utf8_length(token))
        n++;
    return n;
}

int longest(const char *const *name, int count) {
    int most = 0;
    for (int i = 0; i < count; i++)
        most = characters(name[i]) > most ? characters(name[i]) : most;
    return most;
}

// weights (T,S), T names for the rows, S for the columns
void draw_attention(FILE *file, Mat weights, const char *const *row_name,
                    const char *const *col_name) {
    const char *shade[] = {"  ", "..", "::", "--", "==", "++", "**", "##", "%%",
                           "@@"};
    int width = longest(row_name, weights.rows);
    int height = longest(col_name, weights.cols);
    for (int line = 0; line < height; line++) {
        fprintf(file, "  %*s  ", width, "");
        for (int j = 0; j < weights.cols; j++) {
            char c[5];
            int skip = height - characters(col_name[j]);
            nth_character(c, line < skip ? "" : col_name[j], line - skip);
            fprintf(file, " %s%s", *c ? c : " ", j + 1 < weights.cols ? " " : "");
        }
        fputc('\n', file);
    }
    for (int i = 0; i < weights.rows; i++) {
        int indent = width - characters(row_name[i]);
        fprintf(file, "  %*s%s |", indent, "", row_name[i]);
        for (int j = 0; j < weights.cols; j++) {
            int step = (int)(*at(weights, i, j) * 10);
            fputs(shade[min_int(step, 9)], file);
        }
        fputs("|\n", file);
    }
}

// The mean over the heads of a layer, as a fresh matrix.
Mat mean_of_heads(Arena *arena, const Saved *s, int kind, int layer, int H) {
    Mat first = attention_of(s, kind, layer, 0, H);
    Mat mean = arena_zeros(arena, first.rows, first.cols);
    for (int h = 0; h < H; h++)
        add(mean, attention_of(s, kind, layer, h, H));
    for (int i = 0; i < mean.rows; i++)
        for (int j = 0; j < mean.cols; j++)
            *at(mean, i, j) /= (real)H;
    return mean;
}

// Draws cross-attention, layer by layer. The rows are named by the word being
// written there, which is what one wants to know: where did the model look when
// it wrote this?
void draw_cross_attention(FILE *file, Arena *arena, const Transformer *t,
                          const Saved *s, const Batch *batch,
                          const Vocab *source, const Vocab *target) {
    size_t mark = arena->used;
    int S = batch->source_length, T = batch->target_length;
    const char **rows = arena_take(arena, (size_t)T, sizeof *rows);
    const char **cols = arena_take(arena, (size_t)S, sizeof *cols);
    for (int i = 0; i < T; i++)
        rows[i] = target->word[batch->expected[i]];
    for (int j = 0; j < S; j++)
        cols[j] = source->word[batch->source[j]];
    for (int l = 0; l < t->config.layers; l++) {
        fprintf(file, "cross-attention, layer %d, mean of %d heads\n\n", l,
                t->config.heads);
        draw_attention(file, mean_of_heads(arena, s, CROSS, l, t->config.heads),
                       rows, cols);
        fputs(l + 1 < t->config.layers ? "\n" : "", file);
    }
    arena_release(arena, mark);
}

// ## Where the parameters are

enum { IN_EMBEDDING, IN_POSITIONS, IN_ATTENTION, IN_CROSS_ATTENTION,
       IN_FEED_FORWARD, IN_NORMS, IN_OUTPUT, COMPONENTS };
const char *const component_name[COMPONENTS] = {
    "embedding", "positions", "attention", "cross-attention", "feed-forward",
    "norms", "output layer"};

// What a tensor belongs to, by its name.
int component_of(const char *name) {
    return strstr(name, "norm") ? IN_NORMS
         : strstr(name, "cross_attention") ? IN_CROSS_ATTENTION
         : strstr(name, "attention") ? IN_ATTENTION
         : strstr(name, "feed_forward") ? IN_FEED_FORWARD
         : strstr(name, "embedding") ? IN_EMBEDDING
         : strstr(name, "positions") ? IN_POSITIONS : IN_OUTPUT;
}

bool in_encoder(const char *name) {
    return !strncmp(name, "encoder", 7) || !strncmp(name, "source", 6);
}

// 24034304 as "24,034,304"; `to` needs 32 bytes.
const char *with_commas(char *to, size_t n) {
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%zu", n), out = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            to[out++] = ',';
        to[out++] = digits[i];
    }
    to[out] = '\0';
    return to;
}

// Prints the parameters of the encoder (or of the rest) by component, with each
// one's share, and their total.
void print_side(FILE *file, const Transformer *t, bool encoder) {
    size_t count[COMPONENTS] = {0}, total = 0;
    for (int i = 0; i < t->tensors; i++) {
        const Tensor *tensor = &t->tensor[i];
        size_t size = (size_t)tensor->rows * (size_t)tensor->cols;
        if (in_encoder(tensor->name.text) == encoder) {
            count[component_of(tensor->name.text)] += size;
            total += size;
        }
    }
    char text[32];
    fprintf(file, "%s\n", encoder ? "encoder" : "decoder");
    for (int c = 0; c < COMPONENTS; c++)
        if (count[c])
            fprintf(file, "  %-16s %15s  %5.1f %%\n", component_name[c],
                    with_commas(text, count[c]),
                    100 * (double)count[c] / (double)total);
    fprintf(file, "  %-16s %15s\n", "total", with_commas(text, total));
}

void print_parameters(FILE *file, const Transformer *t) {
    char text[32];
    print_side(file, t, true);
    print_side(file, t, false);
    fprintf(file, "parameters         %15s\n", with_commas(text, t->count));
}

// ## How much memory a training step takes
//
// The four roles of the parameters, and what the forward pass saves. Count the
// matrices in chapters 3 to 8, with N = B·S rows in the encoder, M = B·T in the
// decoder, and two copies of the attention weights if they are dropped:
//
//     encoder layer   8 N D + 2 N F + 2 B H S²
//     decoder layer  12 M D + 2 N D + 2 M F + 2 B H T (T + S)
//     embeddings and logits        N D + M D + M V
//
// The backward pass adds the gradients between layers (2 N D in each encoder
// layer, 3 M D in each decoder layer) and some room for the sub-layer at work.

// Bytes of the arena that the forward pass fills, without the smallest terms.
double saved_bytes(const Config *c, double B, double S, double T) {
    double D = c->d_model, F = c->d_ff, H = c->heads, N = B * S, M = B * T;
    double copies = c->dropout > 0 ? 2 : 1;
    double encoder = 8 * N * D + 2 * N * F + copies * B * H * S * S;
    double decoder = 12 * M * D + 2 * N * D + 2 * M * F
                   + copies * B * H * T * (T + S);
    double ends = N * D + M * D + M * c->target_vocab;
    return sizeof(real) * (c->layers * (encoder + decoder) + ends);
}

//@ chapter saving
// # 14. Saving and loading
//
// ## Settings
//
// Everything a user can choose stands in one table: its name, where its value
// goes, what is allowed, what holds if nothing is said, and what to say in the
// help. The command line is parsed with it (chapter 15), and a checkpoint keeps
// the same names and values, so that a model always knows how it was made.

typedef struct {
    Config config;
    Tokenizer tokenizer;
    Recipe recipe;
    int min_count, threads, vocab, length;
    const char *model, *valid, *log, *target, *csv;
    int resume, help;
} Settings;

enum { INTEGER, NUMBER, CHOICE, FLAG, STRING };                  // Option.type
enum { TRAIN = 1, TRANSLATE = 2, EVALUATE = 4, ATTENTION = 8, INFO = 16 };

typedef struct {
    const char *name;    // as on the command line, without --
    int type;
    size_t offset;       // its place in Settings
    double least, most;  // what is allowed, both included
    const char *choices; // separated by |; else what the help calls the value
    const char *initial; // NULL: worked out from the others, or none
    int commands;        // that take it
    int in_model;        // 1: kept in the model; 2: and fixed when resuming
    const char *help;
} Option;

#define SETTING(field) offsetof(Settings, field)

const Option options[] = {
    {"layers", INTEGER, SETTING(config.layers), 1, 100, "N", "2",
     TRAIN | INFO, 2, "layers of the encoder, and of the decoder"},
    {"d-model", INTEGER, SETTING(config.d_model), 1, 65536, "N", "64",
     TRAIN | INFO, 2, "width of the vector that stands for a token"},
    {"heads", INTEGER, SETTING(config.heads), 1, 1024, "N", "4",
     TRAIN | INFO, 2, "attention heads; must divide d-model"},
    {"d-ff", INTEGER, SETTING(config.d_ff), 1, 262144, "N", NULL,
     TRAIN | INFO, 2, "inner width of the feed-forward network (4 d-model)"},
    {"dropout", NUMBER, SETTING(config.dropout), 0, 0.99, "P", "0.1",
     TRAIN | INFO, 1, "share of values dropped in training"},
    {"norm", CHOICE, SETTING(config.norm), 0, 0, "post|pre", "post",
     TRAIN | INFO, 2, "normalize after or before a sub-layer"},
    {"positions", CHOICE, SETTING(config.positions), 0, 0,
     "sinusoidal|learned|none", "sinusoidal", TRAIN | INFO, 2,
     "positional encoding"},
    {"activation", CHOICE, SETTING(config.activation), 0, 0, "relu|gelu",
     "relu", TRAIN | INFO, 2, "of the feed-forward network"},
    {"tie", FLAG, SETTING(config.tie), 0, 0, NULL, NULL, TRAIN | INFO, 2,
     "one matrix for target embedding and output layer"},
    {"max-len", INTEGER, SETTING(config.max_len), 1, 100000, "N", "64",
     TRAIN | INFO, 2, "longest sentence, in tokens"},
    {"tokens", CHOICE, SETTING(tokenizer.tokens), 0, 0, "word|char", "word",
     TRAIN, 2, "cut text into words or into characters"},
    {"lowercase", FLAG, SETTING(tokenizer.lowercase), 0, 0, NULL, NULL, TRAIN,
     2, "write everything in lower case first"},
    {"min-count", INTEGER, SETTING(min_count), 1, 1000000, "N", "1", TRAIN, 2,
     "words that occur less often are unknown"},
    {"label-smoothing", NUMBER, SETTING(recipe.smoothing), 0, 0.99, "E", "0",
     TRAIN, 1, "weight spread evenly over all words"},
    {"lr", NUMBER, SETTING(recipe.rate), 0, 1000, "RATE", NULL, TRAIN, 1,
     "peak of the learning rate (1/sqrt(d-model warmup))"},
    {"warmup", INTEGER, SETTING(recipe.warmup), 1, 10000000, "N", "400", TRAIN,
     1, "steps until the learning rate reaches its peak"},
    {"schedule", CHOICE, SETTING(recipe.schedule), 0, 0, "noam|constant",
     "noam", TRAIN, 1, "after the warm-up: inverse square root, or constant"},
    {"clip", NUMBER, SETTING(recipe.clip), 1e-9, 1e9, "NORM", "1", TRAIN, 1,
     "largest norm of the gradient"},
    {"batch", INTEGER, SETTING(recipe.batch), 1, 1000000, "N", "64",
     TRAIN | INFO, 1, "sentences in a batch"},
    {"epochs", INTEGER, SETTING(recipe.epochs), 1, 1000000, "N", "20", TRAIN, 1,
     "passes through the data, in all"},
    {"steps", INTEGER, SETTING(recipe.steps), 1, 2000000000, "N", NULL, TRAIN,
     1, "steps, in all; instead of epochs"},
    {"seed", INTEGER, SETTING(recipe.seed), 0, 2147483647, "N", "1", TRAIN, 1,
     "of everything random"},
    {"model", STRING, SETTING(model), 0, 0, "FILE", "model.safetensors", TRAIN,
     0, "where to save; with --valid the best so far"},
    {"valid", STRING, SETTING(valid), 0, 0, "FILE", NULL, TRAIN, 0,
     "pairs to measure progress on"},
    {"log", STRING, SETTING(log), 0, 0, "FILE.csv", NULL, TRAIN, 0,
     "write loss and learning rate of each step"},
    {"resume", FLAG, SETTING(resume), 0, 0, NULL, NULL, TRAIN, 0,
     "go on where an earlier training stopped"},
    {"target", STRING, SETTING(target), 0, 0, "TEXT", NULL, ATTENTION, 0,
     "the translation to look at (the model's own)"},
    {"csv", STRING, SETTING(csv), 0, 0, "FILE", NULL, ATTENTION, 0,
     "write all attention weights"},
    {"vocab", INTEGER, SETTING(vocab), 5, 10000000, "N", "10000", INFO, 0,
     "size of both vocabularies"},
    {"length", INTEGER, SETTING(length), 1, 100000, "N", "20", INFO, 0,
     "tokens in a sentence, for the memory of a step"},
    {"threads", INTEGER, SETTING(threads), 1, 1024, "N", NULL,
     TRAIN | TRANSLATE | EVALUATE | ATTENTION, 0,
     "at most this many (all processors)"},
    {"help", FLAG, SETTING(help), 0, 0, NULL, NULL,
     TRAIN | TRANSLATE | EVALUATE | ATTENTION | INFO, 0, "show this help"},
};

enum { OPTIONS = sizeof options / sizeof *options };

// The number of `text` among the choices "a|b|c", or -1.
int find_choice(const char *choices, const char *text) {
    size_t length = strlen(text);
    for (int n = 0; choices; n++) {
        size_t this = strcspn(choices, "|");
        if (this == length && !strncmp(choices, text, length))
            return n;
        choices = choices[this] ? choices + this + 1 : NULL;
    }
    return -1;
}

// Puts a value into the settings; false if it is not allowed.
bool set_option(Settings *s, const Option *o, const char *text) {
    void *place = (char *)s + o->offset;
    if (o->type == STRING)
        return *(*(const char **)place = text) != '\0';
    if (o->type == CHOICE || o->type == FLAG)
        return (*(int *)place = find_choice(
                    o->type == FLAG ? "no|yes" : o->choices, text)) >= 0;
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= o->least && value <= o->most))
        return false;
    if (o->type == NUMBER)
        *(double *)place = value;
    else
        *(int *)place = (int)value;
    return o->type == NUMBER || text[strspn(text, "0123456789")] == '\0';
}

// The value as text, which set_option reads back; `to` needs 64 bytes.
const char *option_text(char *to, const Settings *s, const Option *o) {
    const void *place = (const char *)s + o->offset;
    if (o->type == NUMBER) { // as many digits as it takes
        double value = *(const double *)place;
        for (int digits = 15; digits <= 17; digits++)
            if (snprintf(to, 64, "%.*g", digits, value) && strtod(to, NULL) == value)
                break;
    } else if (o->type == INTEGER)
        snprintf(to, 64, "%d", *(const int *)place);
    else {
        const char *choice = o->type == FLAG ? "no|yes" : o->choices;
        for (int n = *(const int *)place; n > 0; n--)
            choice += strcspn(choice, "|") + 1;
        snprintf(to, 64, "%.*s", (int)strcspn(choice, "|"), choice);
    }
    return to;
}

// ## A checkpoint
//
// Everything needed to use a model, or to go on training it as if nothing had
// happened. The shuffling of epochs and the noise of dropout are functions of
// seed and step (chapter 1), so two numbers stand for all of that.

typedef struct {
    Settings settings;
    Vocab source, target;
    Trainer trainer;  // m and v may be NULL: enough to use the model
} Checkpoint;

void checkpoint_free(Checkpoint *c) {
    vocab_free(&c->source);
    vocab_free(&c->target);
    trainer_free(&c->trainer);
}

// ## The file format
//
// A *safetensors* file, so that Python can read it with its own library:
//
//     8 bytes       length of the header, little-endian
//     the header    JSON: for each tensor its type, shape and place; and under
//                   "__metadata__" strings of our own
//     the numbers   32-bit floats, little-endian, row by row
//
// ### Writing

#define FORMAT "transformer.c 1"

// The name under which an option is kept: d-model becomes d_model.
const char *metadata_name(char to[32], const Option *o) {
    snprintf(to, 32, "%s", o->name);
    for (char *c = to; *c; c++)
        *c = *c == '-' ? '_' : *c;
    return to;
}

// The inside of a JSON string. Tokens hold no control characters (chapter 10).
void write_escaped(FILE *file, const char *text) {
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        fputc(*text, file);
    }
}

void write_vocab(FILE *file, const char *key, const Vocab *v) {
    fprintf(file, ",\"%s\":\"", key);
    for (int i = 0; i < v->count; i++) {
        fputs(i ? "\\n" : "", file);
        write_escaped(file, v->word[i]);
    }
    fputc('"', file);
}

void write_metadata(FILE *file, const Checkpoint *c) {
    char name[32], value[64];
    fprintf(file, "\"__metadata__\":{\"format\":\"%s\"", FORMAT);
    for (int i = 0; i < OPTIONS; i++)
        if (options[i].in_model)
            fprintf(file, ",\"%s\":\"%s\"", metadata_name(name, &options[i]),
                    option_text(value, &c->settings, &options[i]));
    fprintf(file, ",\"step\":\"%ld\",\"best\":\"%.17g\"", c->trainer.step,
            c->trainer.best);
    write_vocab(file, "source_vocabulary", &c->source);
    write_vocab(file, "target_vocabulary", &c->target);
    fputc('}', file);
}

// A matrix has two dimensions in the file, a bias or a gain has one.
bool is_vector(const Tensor *t) {
    return strstr(t->name.text, ".weight") == NULL;
}

const char *const role_prefix[] = {"", "adam.m.", "adam.v."};

// The entries of one role, behind one another; *offset counts bytes.
void write_entries(FILE *file, const Transformer *t, const char *prefix,
                   size_t *offset) {
    for (int i = 0; i < t->tensors; i++) {
        const Tensor *tensor = &t->tensor[i];
        size_t begin = *offset;
        *offset += 4 * (size_t)tensor->rows * (size_t)tensor->cols;
        fprintf(file, ",\"%s%s\":{\"dtype\":\"F32\",\"shape\":[", prefix,
                tensor->name.text);
        if (!is_vector(tensor))
            fprintf(file, "%d,", tensor->rows);
        fprintf(file, "%d],\"data_offsets\":[%zu,%zu]}", tensor->cols, begin,
                *offset);
    }
}

// Each number as four bytes, lowest first, whatever this machine's own order.
void write_numbers(FILE *file, const Transformer *t) {
    for (size_t k = 0; k < t->count; k++) {
        float value = (float)t->number[k];
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        unsigned char byte[4] = {bits & 255, bits >> 8 & 255, bits >> 16 & 255,
                                 bits >> 24};
        fwrite(byte, 1, 4, file);
    }
}

// ## Files are replaced whole
//
// Whatever happens while a file is written (a full disk, Ctrl-C, no power), the
// old one must still be there. So the new one is written beside it, under
// another name, and takes its place by renaming, which happens at once or not at
// all.

// A file that replaces `path` when it is complete.
typedef struct {
    const char *path;
    char *beside;
    FILE *file;
} NewFile;

// False for devices and folders; true for a file, and for nothing at all.
bool is_regular(const char *path) {
#ifdef TRANSFORMER_POSIX
    struct stat status;
    return stat(path, &status) != 0 || S_ISREG(status.st_mode);
#else
    return path != NULL;
#endif
}

NewFile new_file(const char *path) {
    if (!is_regular(path))
        fail("cannot write %s: it is not a regular file", path);
    NewFile n = {.path = path, .beside = allocate(strlen(path) + 5, 1)};
    sprintf(n.beside, "%s.new", path);
    n.file = fopen(n.beside, "wb");
    if (!n.file)
        fail("cannot write %s: %s", n.beside, strerror(errno));
    return n;
}

// Completes and renames the file, or removes it and fails.
void commit_file(NewFile *n) {
    bool written = fflush(n->file) == 0 && !ferror(n->file);
#ifdef TRANSFORMER_POSIX
    written = written && fsync(fileno(n->file)) == 0;
#endif
    int reason = errno;
    fclose(n->file);
#ifdef _WIN32
    if (written)
        remove(n->path); // rename does not replace there
#endif
    if (written && rename(n->beside, n->path) != 0) {
        written = false;
        reason = errno;
    }
    if (!written) {
        remove(n->beside);
        fail("cannot write %s: %s (what was there before is unchanged)",
             n->path, strerror(reason));
    }
    free(n->beside);
}

void save_checkpoint(const Checkpoint *c, const char *path) {
    const Transformer *role[] = {c->trainer.model, c->trainer.m, c->trainer.v};
    NewFile n = new_file(path);
    unsigned char length[8] = {0};
    size_t offset = 0;
    fwrite(length, 1, 8, n.file); // a place for the length, not yet known
    fputc('{', n.file);
    write_metadata(n.file, c);
    for (int i = 0; i < 3; i++)
        write_entries(n.file, role[i], role_prefix[i], &offset);
    fputc('}', n.file);
    long end = ftell(n.file);
    for (; end % 8; end++)
        fputc(' ', n.file);
    for (int i = 0; i < 3; i++)
        write_numbers(n.file, role[i]);
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)(end - 8) >> 8 * i);
    rewind(n.file);
    fwrite(length, 1, 8, n.file);
    commit_file(&n);
}

// ### Reading
//
// A file may be cut short, damaged, or made by somebody who wishes us ill. The
// reader trusts nothing: it knows the few forms of JSON that occur here, in the
// order in which all writers of safetensors put them, and refuses everything
// else; and no number from the file is used before it has been compared with
// what is expected.

typedef struct {
    const char *path;
    const char *start, *at, *end;
} Reader;

_Noreturn void refuse(const Reader *r, const char *reason, const char *what) {
    fail("%s: not a model this program can read: %s%s (byte %ld)", r->path,
         reason, what, (long)(r->at - r->start));
}

void skip_spaces(Reader *r) {
    while (r->at < r->end && *r->at && strchr(" \t\r\n", *r->at))
        r->at++;
}

// Takes the character c if it comes next, behind white space.
bool take(Reader *r, char c) {
    skip_spaces(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

void expect(Reader *r, char c) {
    if (!take(r, c))
        refuse(r, "its header should go on with ", (const char[]){c, '\0'});
}

// A string, its escapes undone. The caller frees it.
char *read_string(Reader *r) {
    expect(r, '"');
    const char *from = "\"\\/bfnrt", *to = "\"\\/\b\f\n\r\t", *end = r->at;
    while (end < r->end && *end != '"')
        end += *end == '\\' && r->end - end > 1 ? 2 : 1;
    char *text = allocate((size_t)(end - r->at) + 1, 1), *next = text;
    for (; r->at < end; r->at++) {
        const char *escape = "";
        bool escaped = *r->at == '\\';
        if (escaped && ++r->at < end)
            escape = *r->at ? strchr(from, *r->at) : NULL;
        if ((unsigned char)*r->at < 0x20 || !escape || (escaped && !*escape))
            refuse(r, "a string with a character that does not belong there",
                   "");
        *next++ = escaped ? to[escape - from] : *r->at;
    }
    expect(r, '"');
    if (!valid_utf8(text))
        refuse(r, "a string that is not valid UTF-8", "");
    return text;
}

// Takes the string `name`, a colon, and one more character.
void expect_key(Reader *r, const char *name, char then) {
    char *key = read_string(r);
    bool same = !strcmp(key, name);
    free(key);
    if (!same)
        refuse(r, "expected the key ", name);
    expect(r, ':');
    expect(r, then);
}

// Takes this very number.
void expect_number(Reader *r, size_t expected, const char *what) {
    skip_spaces(r);
    size_t value = 0;
    const char *first = r->at;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        if (value > SIZE_MAX / 10 - 9)
            break;
        value = 10 * value + (size_t)(*r->at - '0');
    }
    if (r->at == first || value != expected)
        refuse(r, "not the shape or place that fits its settings: ", what);
}

// Tokens joined by newlines, the special ones first, the words in order.
Vocab read_vocab(const Reader *r, const char *text) {
    Vocab v = vocab_new();
    for (int id = 0; text; id++) {
        int length = (int)strcspn(text, "\n");
        Slice word = {text, length}, before = {"", 0};
        if (id < FIRST_WORD || id > FIRST_WORD)
            before.start = v.word[id < FIRST_WORD ? id : id - 1];
        before.length = (int)strlen(before.start);
        int order = compare_slices(&before, &word);
        if (length == 0 || (id < FIRST_WORD ? order != 0 : order >= 0))
            refuse(r, "a vocabulary whose tokens are not in order", "");
        if (id >= FIRST_WORD)
            vocab_append(&v, text, length);
        text = text[length] ? text + length + 1 : NULL;
    }
    return v;
}

enum { FORMAT_KEY = OPTIONS, STEP, BEST, SOURCE, TARGET, KEYS };

// Puts one string of the metadata where it belongs. Returns which key it was,
// KEYS for one of somebody else's.
int read_metadatum(const Reader *r, Checkpoint *c, const char *key,
                   const char *value) {
    const char *own[] = {"format", "step", "best", "source_vocabulary",
                         "target_vocabulary"};
    char name[32], *end = NULL;
    int which = 0;
    while (which < OPTIONS && (!options[which].in_model
                    || strcmp(metadata_name(name, &options[which]), key)))
        which++;
    while (which >= OPTIONS && which < KEYS && strcmp(own[which - OPTIONS], key))
        which++;
    bool good = true;
    if (which < OPTIONS)
        good = set_option(&c->settings, &options[which], value)
            || (!strcmp(key, "steps") && !strcmp(value, "0"));
    if (which == FORMAT_KEY)
        good = !strcmp(value, FORMAT);
    if (which == STEP) {
        c->trainer.step = strtol(value, &end, 10);
        good = *value && !*end && c->trainer.step >= 0
            && c->trainer.step < LONG_MAX;
    }
    if (which == BEST) {
        c->trainer.best = strtod(value, &end);
        good = *value && !*end && !isnan(c->trainer.best);
    }
    if (which == SOURCE)
        c->source = read_vocab(r, value);
    if (which == TARGET)
        c->target = read_vocab(r, value);
    if (!good)
        fail("%s: the metadata says %s \"%s\", which is not allowed", r->path, key,
             value);
    return which;
}

// {"name":"value",…}: all that this program writes must be there, once.
void read_metadata(Reader *r, Checkpoint *c) {
    bool seen[KEYS + 1] = {false};
    char name[32];
    expect_key(r, "__metadata__", '{');
    do {
        char *key = read_string(r);
        expect(r, ':');
        char *value = read_string(r);
        int which = read_metadatum(r, c, key, value);
        if (seen[which] && which < KEYS)
            refuse(r, "metadata twice: ", key);
        seen[which] = true;
        free(key);
        free(value);
    } while (take(r, ','));
    expect(r, '}');
    for (int i = 0; i < KEYS; i++)
        if (!seen[i] && (i >= OPTIONS || options[i].in_model))
            refuse(r, "no metadata for ", i < OPTIONS
                   ? metadata_name(name, &options[i]) : "format, step, best or "
                   "vocabulary");
    Config *config = &c->settings.config;
    config->source_vocab = c->source.count;
    config->target_vocab = c->target.count;
    if (c->source.count < FIRST_WORD || c->target.count < FIRST_WORD
        || config->d_model % config->heads)
        refuse(r, "settings that contradict each other", "");
}

// The tensor of that name in one of the roles, or NULL.
const Tensor *find_tensor(Transformer *const *role, const char *name) {
    for (int k = 2; k >= 0; k--) {
        size_t prefix = strlen(role_prefix[k]);
        if (!role[k] || strncmp(name, role_prefix[k], prefix))
            continue;
        for (int i = 0; i < role[k]->tensors; i++)
            if (!strcmp(role[k]->tensor[i].name.text, name + prefix))
                return &role[k]->tensor[i];
    }
    return NULL;
}

// "name":{"dtype":"F32","shape":[…],"data_offsets":[begin,end]}, and its numbers
// into place. Tensors follow one another without gaps; *begin moves on.
void read_tensor(Reader *r, Transformer *const *role, const unsigned char *data,
                 size_t *begin) {
    char *name = read_string(r);
    const Tensor *tensor = find_tensor(role, name);
    if (!tensor || isfinite(tensor->mat->at[0]))
        refuse(r, "a tensor that does not belong there, or is there twice: ",
               name);
    size_t count = (size_t)tensor->rows * (size_t)tensor->cols;
    expect(r, ':');
    expect(r, '{');
    expect_key(r, "dtype", '"');
    r->at--;
    char *type = read_string(r);
    if (strcmp(type, "F32"))
        refuse(r, "numbers that are not F32: ", name);
    free(type);
    expect(r, ',');
    expect_key(r, "shape", '[');
    if (!is_vector(tensor)) {
        expect_number(r, (size_t)tensor->rows, name);
        expect(r, ',');
    }
    expect_number(r, (size_t)tensor->cols, name);
    expect(r, ']');
    expect(r, ',');
    expect_key(r, "data_offsets", '[');
    expect_number(r, *begin, name);
    expect(r, ',');
    expect_number(r, *begin + 4 * count, name);
    expect(r, ']');
    expect(r, '}');
    for (size_t k = 0; k < count; k++) {
        const unsigned char *byte = data + *begin + 4 * k;
        uint32_t bits = byte[0] | (uint32_t)byte[1] << 8
                      | (uint32_t)byte[2] << 16 | (uint32_t)byte[3] << 24;
        float value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            refuse(r, "a value that is not a number: ", name);
        tensor->mat->at[k] = (real)value;
    }
    *begin += 4 * count;
    free(name);
}

// All tensors: the parameters, and Adam's moments if the file has them. Memory is
// taken only after the settings have been found to ask for just as many numbers
// as the file holds.
void read_tensors(Reader *r, Checkpoint *c, size_t size) {
    Trainer *t = &c->trainer;
    const Config *config = &c->settings.config;
    const unsigned char *data = (const unsigned char *)r->end;
    Transformer *outline = transformer_outline(config);
    size_t count = outline->count, begin = 0;
    int left = outline->tensors;
    transformer_free(outline);
    if (size != 4 * count && size != 12 * count)
        refuse(r, "cut short, or not the numbers that its settings ask for", "");
    t->model = transformer_new(config);
    if (size == 12 * count) {
        left *= 3;
        t->gradient = transformer_zeros(config);
        t->m = transformer_zeros(config);
        t->v = transformer_zeros(config);
    }
    Transformer *role[] = {t->model, t->m, t->v};
    for (int k = 0; k < 3; k++) // until a tensor is read, it is not a number
        for (size_t i = 0; role[k] && i < count; i++)
            role[k]->number[i] = (real)NAN;
    for (; left > 0; left--) {
        expect(r, ',');
        read_tensor(r, role, data, &begin);
    }
    expect(r, '}');
    skip_spaces(r);
    if (r->at != r->end)
        refuse(r, "something behind the end of its header", "");
}

// Fails, with a reason, on anything that is not a model of this program.
Checkpoint load_checkpoint(const char *path) {
    enum { LONGEST_HEADER = 100 << 20 };
    Checkpoint c = {0};
    size_t size;
    char *contents = read_file(path, &size);
    Reader r = {path, contents, contents, contents + size};
    uint64_t length = 0;
    for (int i = 7; i >= 0 && size >= 8; i--)
        length = length << 8 | (unsigned char)contents[i];
    if (size < 8 || length > size - 8 || length > LONGEST_HEADER)
        refuse(&r, "no safetensors header, or cut short", "");
    r.at += 8;
    r.end = r.at + length;
    expect(&r, '{');
    read_metadata(&r, &c);
    read_tensors(&r, &c, size - 8 - (size_t)length);
    c.trainer.recipe = c.settings.recipe;
    free(contents);
    return c;
}
//@ chapter commands
// # 15. The command line
//
// The last chapter makes a program of all this. Data goes to the standard
// output, everything said about it to the standard error stream, so that
// commands can be combined. Exit status: 0 done, 1 failed, 2 misused, 130
// stopped by Ctrl-C after saving.
//
// ## What the user asks for

typedef struct {
    const char *name;
    int bit;              // TRAIN … INFO
    const char *operands; // for the help
    int least, most;      // how many
    const char *help;
} Command;

const Command commands[] = {
    {"train", TRAIN, "DATA.tsv", 1, 1,
     "learn from pairs of sentences: source, tab, target"},
    {"translate", TRANSLATE, "MODEL", 1, 1,
     "one source a line on stdin, one target a line on stdout"},
    {"evaluate", EVALUATE, "MODEL DATA.tsv", 2, 2,
     "loss, exact match and BLEU on pairs of sentences"},
    {"attention", ATTENTION, "MODEL SENTENCE", 2, 2,
     "show which words the model looks at"},
    {"info", INFO, "[MODEL]", 0, 1,
     "configuration and parameters, of a file or of options"},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

typedef struct {
    const Command *command;
    const char *operand[2];
    int operands;
    Settings settings;
    bool given[OPTIONS];
} Arguments;

// Says what is wrong and where help is, and ends with status 2.
_Noreturn void misuse(const Arguments *a, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    complain(format, arguments);
    fprintf(stderr, " (see: transformer%s%s --help)\n", a->command ? " " : "",
            a->command ? a->command->name : "");
    exit(2);
}

// Ends with a message if the standard output could not be written (disk full).
void finish_output(void) {
    if (fflush(stdout) != 0 || ferror(stdout))
        fail("cannot write the output: %s", strerror(errno));
}

void print_help(void) {
    puts("The Transformer of \"Attention Is All You Need\" in C.\n\n"
         "  transformer train data/eng-fra.train.tsv\n"
         "  echo \"the red car is fast\" | "
         "transformer translate model.safetensors\n");
    for (int i = 0; i < COMMANDS; i++)
        printf("  %-10s %-15s %s\n", commands[i].name, commands[i].operands,
               commands[i].help);
    puts("\nMore: transformer COMMAND --help; transformer --version");
}

void print_command_help(const Command *c) {
    printf("transformer %s %s [options]\n\n  %s\n\n", c->name, c->operands,
           c->help);
    for (const Option *o = options; o < options + OPTIONS; o++) {
        if (!(o->commands & c->bit))
            continue;
        int width = printf("  --%s %s", o->name, o->choices ? o->choices : "");
        printf("%*s %s", width < 40 ? 40 - width : 0, "", o->help);
        printf(o->initial ? " [%s]\n" : "\n", o->initial);
    }
}

const Option *find_option(const Arguments *a, const char *name, size_t length) {
    for (const Option *o = options; o < options + OPTIONS; o++)
        if ((o->commands & a->command->bit) && strlen(o->name) == length
            && !strncmp(o->name, name, length))
            return o;
    misuse(a, "%s has no option -%s%.*s", a->command->name,
           length > 1 ? "-" : "", (int)length, name);
}

bool was_given(const Arguments *a, const char *name) {
    return a->given[find_option(a, name, strlen(name)) - options];
}

// Reads one option, "--name value" or "--name=value"; returns how many
// arguments it took.
int read_option(Arguments *a, char **argument) {
    const char *name = argument[0] + 1 + (argument[0][1] == '-');
    const char *value = argument[1];
    size_t length = strcspn(name, "=");
    const Option *o = find_option(a, name, length);
    bool attached = name[length] == '=';
    char allowed[128];
    if (o->type == INTEGER)
        snprintf(allowed, sizeof allowed, "a whole number from %.0f to %.0f",
                 o->least, o->most);
    else if (o->type == NUMBER)
        snprintf(allowed, sizeof allowed, "a number from %g to %g", o->least,
                 o->most);
    else
        snprintf(allowed, sizeof allowed, "%s",
                 o->choices ? o->choices : "some text");
    if (attached)
        value = name + length + 1;
    if (o->type == FLAG) {
        if (attached)
            misuse(a, "--%s takes no value", o->name);
        value = "yes";
    } else if (!value || (!attached && !strncmp(value, "--", 2)))
        misuse(a, "--%s needs a value: %s", o->name, allowed);
    if (!set_option(&a->settings, o, value))
        misuse(a, "--%s: \"%s\" is not %s", o->name, value, allowed);
    a->given[o - options] = true;
    return o->type == FLAG || attached ? 1 : 2;
}

// Fills in what follows from other settings, and checks what only holds between
// several. A model that exists has been checked already.
void complete_settings(const Arguments *a, Settings *s) {
    if (s->config.d_ff == 0)
        s->config.d_ff = 4 * s->config.d_model;
    if (s->recipe.rate < 0)
        s->recipe.rate = 1 / sqrt((double)s->config.d_model * s->recipe.warmup);
    bool new_model = (a->command->bit == TRAIN && !s->resume)
                  || (a->command->bit == INFO && a->operands == 0);
    if (new_model && s->config.d_model % s->config.heads)
        misuse(a, "--heads %d does not divide --d-model %d", s->config.heads,
               s->config.d_model);
}

Arguments read_arguments(int argc, char **argv) {
    Arguments a = {.settings = {.recipe = {.rate = -1}}};
    if (argc < 2)
        misuse(&a, "what shall I do? train, translate, evaluate, attention, info");
    for (int i = 0; i < COMMANDS; i++)
        if (!strcmp(argv[1], commands[i].name))
            a.command = &commands[i];
    if (!a.command)
        misuse(&a, "there is no command \"%s\"", argv[1]);
    for (const Option *o = options; o < options + OPTIONS; o++)
        if (o->initial)
            set_option(&a.settings, o, o->initial);
    bool plain = false; // behind --, everything is an operand
    for (int i = 2; i < argc;) {
        if (!plain && !strcmp(argv[i], "--"))
            plain = ++i;
        else if (!plain && argv[i][0] == '-' && argv[i][1])
            i += read_option(&a, argv + i);
        else if (a.operands == a.command->most)
            misuse(&a, "what is \"%s\"? %s takes %s", argv[i], a.command->name,
                   a.command->operands);
        else
            a.operand[a.operands++] = argv[i++];
    }
    if (!a.settings.help && a.operands < a.command->least)
        misuse(&a, "%s needs %s", a.command->name, a.command->operands);
    complete_settings(&a, &a.settings);
    return a;
}

void set_threads(const Arguments *a) {
    int threads = a->settings.threads;
#ifdef _OPENMP
    if (threads)
        omp_set_num_threads(threads);
#else
    if (threads > 1)
        misuse(a, "--threads %d: this program was built without OpenMP", threads);
#endif
}

// ## Time, the terminal, and Ctrl-C

// Seconds since some moment.
double now(void) {
#ifdef TIME_UTC
    struct timespec t;
    if (timespec_get(&t, TIME_UTC))
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
#endif
    return (double)time(NULL);
}

bool is_terminal(FILE *file) {
#ifdef TRANSFORMER_POSIX
    return isatty(fileno(file));
#else
    return file == NULL;
#endif
}

// The first Ctrl-C asks the training loop to finish its step and save; a second
// one ends the program at once.
volatile sig_atomic_t stop_signal;

void remember_signal(int number) {
    stop_signal = number;
    signal(number, SIG_DFL);
}

// ## train
//
// What the training loop of chapter 11 reports, this prints, logs and saves.

typedef struct {
    const Settings *settings;
    Checkpoint *checkpoint;
    const Pairs *samples; // the first of them are translated now and then
    const char *newest;   // where the newest checkpoint goes
    FILE *log;
    long first_step;      // of this run
    double started, step_started, shown;
    Loss since;           // losses since the last pause
    int pauses;
    bool saved, line_open;
} Console;

void save_newest(Console *c) {
    save_checkpoint(c->checkpoint, c->newest);
    c->saved = true;
}

// "step 120/2000  loss 1.234  …". At a terminal the line is written over until a
// pause makes it stay.
void show_progress(Console *c, const Report *r) {
    const Step *s = &r->step;
    double each = (now() - c->started) / (double)(s->step - c->first_step);
    long left = (long)(each * (double)(r->steps - s->step) + 0.5);
    fprintf(stderr, "%sstep %ld/%ld  loss %.4f  accuracy %.1f %%  lr %.2g  norm "
            "%.2f  %ld:%02ld left%s", c->line_open ? "\r" : "", s->step, r->steps,
            c->since.plain / c->since.tokens,
            100.0 * c->since.correct / c->since.tokens, s->rate, s->norm,
            left / 60, left % 60, is_terminal(stderr) ? "   " : "");
    c->line_open = !r->pause;
    if (r->pause)
        fputc('\n', stderr);
    c->shown = now();
}

// Translates three sentences, so that one can watch the model learn.
void show_samples(const Console *c) {
    const Checkpoint *k = c->checkpoint;
    Tokenizer tokenizer = k->settings.tokenizer;
    int n = min_int(3, c->samples->count);
    Arena arena = {0};
    Sentence *result = translate_all(k->trainer.model, c->samples->source, n, n,
                                     &arena);
    for (int i = 0; i < n; i++) {
        Sentence source = c->samples->source[i];
        Match match = {0};
        add_match(&match, result[i], c->samples->target[i]);
        char *from = decode_text(source.id, source.length, &k->source, tokenizer);
        char *to = decode_text(result[i].id, result[i].length, &k->target,
                               tokenizer);
        fprintf(stderr, "    %s  →  %s%s\n", from, to,
                match.exact ? "" : "  (not yet)");
        free(from);
        free(to);
    }
    sentences_free(result, n);
    arena_free(&arena);
}

// One row for the step, one for the validation data; times are wall time.
void write_log(Console *c, const Report *r) {
    const Loss *loss = &r->step.loss;
    fprintf(c->log, "%ld,train,%.6g,%.6g,%.6g,%.6g,%.0f\n", r->step.step,
            loss->loss / loss->tokens, (double)loss->correct / loss->tokens,
            r->step.rate, r->step.norm,
            loss->tokens / fmax(now() - c->step_started, 1e-9));
    if (r->valid.tokens)
        fprintf(c->log, "%ld,valid,%.6g,%.6g,%.6g,,\n", r->step.step,
                r->valid.plain / r->valid.tokens,
                (double)r->valid.correct / r->valid.tokens, r->step.rate);
    if (fflush(c->log) != 0) {
        int reason = errno;
        save_newest(c);
        fail("%scannot write %s: %s (the model of step %ld is saved in %s)",
             c->line_open ? "\n" : "", c->settings->log, strerror(reason),
             r->step.step, c->newest);
    }
}

// Called after each step. At a pause it saves: the newest state always, and with
// validation data also the best.
bool report_step(void *context, const Report *r) {
    Console *c = context;
    c->since = add_losses(c->since, r->step.loss);
    if (c->log)
        write_log(c, r);
    if (r->pause || (is_terminal(stderr) && now() - c->shown > 0.2))
        show_progress(c, r);
    if (r->pause) {
        if (r->valid.tokens)
            fprintf(stderr, "    valid  loss %.4f  accuracy %.1f %%%s\n",
                    r->valid.plain / r->valid.tokens,
                    100.0 * r->valid.correct / r->valid.tokens,
                    r->best ? "  (best so far)" : "");
        if (c->pauses++ % 5 == 0 || r->step.step == r->steps)
            show_samples(c);
        save_newest(c);
        if (r->best)
            save_checkpoint(c->checkpoint, c->settings->model);
        c->since = (Loss){0};
    }
    c->step_started = now();
    return !stop_signal;
}

// "out/model.safetensors" -> "out/model.last.safetensors"; the caller frees it.
char *last_path(const char *path) {
    const char *ending = ".safetensors";
    size_t length = strlen(path), tail = strlen(ending);
    if (length < tail || strcmp(path + length - tail, ending))
        tail = 0;
    char *last = allocate(length + 6, 1);
    sprintf(last, "%.*s.last%s", (int)(length - tail), path,
            path + length - tail);
    return last;
}

// Opens the log. A resumed training keeps the rows of the steps that its
// checkpoint knows of; what it does not know of is going to happen again.
FILE *open_log(const char *path, bool resume, long step) {
    char *old = NULL;
    size_t size;
    FILE *log = resume && is_regular(path) ? fopen(path, "rb") : NULL;
    if (log) {
        fclose(log);
        old = read_file(path, &size);
    }
    log = fopen(path, "wb");
    if (!log)
        fail("cannot write %s: %s", path, strerror(errno));
    fputs("step,split,loss,accuracy,learning_rate,gradient_norm,"
          "tokens_per_second\n", log);
    char *line = old ? old + strcspn(old, "\n") : NULL;
    while (line && *line++) {
        size_t length = strcspn(line, "\n");
        if (line[length] && strtol(line, NULL, 10) <= step)
            fprintf(log, "%.*s\n", (int)length, line);
        line += length;
    }
    free(old);
    return log;
}

// A new model: vocabularies from the training data, random parameters.
Checkpoint new_checkpoint(const Settings *s, const char *path) {
    Checkpoint c = {.settings = *s};
    Text text = read_pairs(path, s->tokenizer);
    c.source = vocab_build(text.source, text.count, s->tokenizer, s->min_count);
    c.target = vocab_build(text.target, text.count, s->tokenizer, s->min_count);
    text_free(&text);
    if (c.source.count == FIRST_WORD || c.target.count == FIRST_WORD)
        fail("%s: no word occurs %d times", path, s->min_count);
    c.settings.config.source_vocab = c.source.count;
    c.settings.config.target_vocab = c.target.count;
    c.trainer = trainer_new(&c.settings.config, &c.settings.recipe);
    initialize(c.trainer.model, (uint64_t)s->recipe.seed);
    return c;
}

// The model to go on with. What is given on the command line replaces what the
// model remembers, except for what its parameters depend on: that must agree.
Checkpoint resume_checkpoint(const Arguments *a, const char *path) {
    Checkpoint c = load_checkpoint(path);
    if (!c.trainer.m)
        fail("%s: without the optimizer's state it cannot be resumed", path);
    for (int i = 0; i < OPTIONS; i++) {
        const Option *o = &options[i];
        char mine[64], its[64];
        if (!o->in_model || !a->given[i])
            continue;
        option_text(mine, &a->settings, o);
        option_text(its, &c.settings, o);
        if (o->in_model == 2 && strcmp(mine, its))
            misuse(a, "--%s %s: the model in %s has %s", o->name, mine, path, its);
        set_option(&c.settings, o, mine);
    }
    if (was_given(a, "epochs"))
        c.settings.recipe.steps = 0;
    c.trainer.recipe = c.settings.recipe;
    c.trainer.model->config.dropout = c.settings.config.dropout;
    return c;
}

Pairs load_pairs(const char *path, const Checkpoint *c) {
    const Settings *s = &c->settings;
    Text text = read_pairs(path, s->tokenizer);
    Pairs p = encode_pairs(&text, &c->source, &c->target, s->tokenizer,
                           s->config.max_len);
    int all = text.count;
    text_free(&text);
    if (p.count == 0)
        fail("%s: every pair has more than %d tokens", path, s->config.max_len);
    if (p.too_long)
        fprintf(stderr, "%s: left out %d of %d pairs, with more than %d tokens\n",
                path, p.too_long, all, s->config.max_len);
    return p;
}

void describe(const Checkpoint *c, const Pairs *data) {
    const Config *m = &c->settings.config;
    const Recipe *r = &c->settings.recipe;
    char text[32];
    fprintf(stderr, "data: %d pairs, vocabularies of %d and %d tokens\n"
            "model: %d+%d layers, d_model %d, %d heads, d_ff %d: %s parameters\n"
            "training: %ld steps of %d sentences, learning rate up to %.3g after "
            "%d steps\n", data->count, m->source_vocab, m->target_vocab,
            m->layers, m->layers, m->d_model, m->heads, m->d_ff,
            with_commas(text, c->trainer.model->count),
            total_steps(r, data->count), r->batch, r->rate, r->warmup);
}

// No file may be read and written at once, and each that will be written must be
// writable: better to know now than after an hour.
void check_paths(const Arguments *a, const char *newest) {
    const char *out[] = {a->settings.model, newest, a->settings.log};
    const char *in[] = {a->operand[0], a->settings.valid};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++)
            if (out[i] && in[k] && !strcmp(out[i], in[k]))
                misuse(a, "%s would be overwritten", in[k]);
    for (int i = 0; i < 2; i++) {
        NewFile trial = new_file(out[i]);
        fclose(trial.file);
        remove(trial.beside);
        free(trial.beside);
    }
}

int train_command(const Arguments *a) {
    const Settings *s = &a->settings;
    char *last = s->valid ? last_path(s->model) : NULL;
    const char *newest = last ? last : s->model;
    if (was_given(a, "steps") && was_given(a, "epochs"))
        misuse(a, "--steps and --epochs exclude each other");
    check_paths(a, newest);
    Checkpoint c = s->resume ? resume_checkpoint(a, newest)
                             : new_checkpoint(s, a->operand[0]);
    Pairs data = load_pairs(a->operand[0], &c), valid = {0};
    if (s->valid)
        valid = load_pairs(s->valid, &c);
    Console console = {
        .settings = s, .checkpoint = &c, .samples = s->valid ? &valid : &data,
        .newest = newest, .first_step = c.trainer.step,
        .log = s->log ? open_log(s->log, s->resume, c.trainer.step) : NULL,
        .started = now(), .step_started = now(), .saved = s->resume,
    };
    describe(&c, &data);
    signal(SIGINT, remember_signal);
    signal(SIGTERM, remember_signal);
    if (c.trainer.step >= total_steps(&c.trainer.recipe, data.count))
        fprintf(stderr, "nothing to do: %ld steps are done; ask for more --steps "
                "or --epochs\n", c.trainer.step);

    bool finite = train(&c.trainer, &data, s->valid ? &valid : NULL, report_step,
                        &console);
    if (console.line_open)
        fputc('\n', stderr);
    if (!finite)
        fail("step %ld: the loss is not a number any more; try a smaller --lr; "
             "%s %s", c.trainer.step + 1, console.saved
             ? "the last good state is in" : "nothing was saved in", newest);
    if (stop_signal)
        save_newest(&console);
    fprintf(stderr, "%s at step %ld after %.1f s: %s (peak memory of a step: %.1f "
            "MB)\n", stop_signal ? "stopped; go on with --resume;" : "done",
            c.trainer.step, now() - console.started,
            stop_signal ? newest : s->model, (double)c.trainer.arena.peak / 1e6);
    if (console.log)
        fclose(console.log);
    pairs_free(&data);
    pairs_free(&valid);
    checkpoint_free(&c);
    free(last);
    return stop_signal ? 128 + stop_signal : 0;
}

// ## translate

// The next line of the standard input, without its end (LF or CR LF) and without
// a byte order mark; NULL behind the last. The caller frees it.
char *read_input(int number) {
    size_t length = 0, room = 1;
    char *line = allocate(room, 1);
    int c;
    while ((c = getchar()) != EOF && c != '\n') {
        if (c == '\0')
            fail("line %d of the input: a zero byte: this is not text", number);
        if (length + 1 == room)
            line = reallocate(line, room = 2 * room + 256, 1);
        line[length++] = (char)c;
        if (number == 1 && length == 3 && !memcmp(line, "\xef\xbb\xbf", 3))
            length = 0;
    }
    if (ferror(stdin))
        fail("cannot read the input: %s", strerror(errno));
    bool any = length > 0 || c == '\n';
    length -= length && line[length - 1] == '\r';
    line[length] = '\0';
    if (!any)
        free(line);
    return any ? line : NULL;
}

// text -> its tokens. NULL, or else what is wrong with the text.
const char *encode_input(const char *text, const Checkpoint *c, const Vocab *v,
                         Sentence *s) {
    static char reason[64];
    if (!valid_utf8(text))
        return "is not valid UTF-8";
    char *copied = allocate(strlen(text) + 1, 1);
    strcpy(copied, text);
    if (c->settings.tokenizer.lowercase)
        lower_case(copied);
    *s = encode_text(copied, v, c->settings.tokenizer);
    free(copied);
    snprintf(reason, sizeof reason, "has %d tokens; the model takes at most %d",
             s->length - 1, c->settings.config.max_len);
    return s->length - 1 > c->settings.config.max_len ? reason : NULL;
}

// Translates and prints n lines; a line without a word stays empty.
void translate_lines(const Checkpoint *c, Sentence *line, int n, Arena *arena) {
    Sentence *result = translate_all(c->trainer.model, line, n, n, arena);
    for (int i = 0; i < n; i++) {
        char *text = decode_text(result[i].id, result[i].length, &c->target,
                                 c->settings.tokenizer);
        puts(line[i].length > 1 ? text : "");
        free(text);
        free(line[i].id);
    }
    sentences_free(result, n);
    finish_output();
}

// At a terminal each line is answered at once; from a file lines are taken
// together, which is faster.
int translate_command(const Arguments *a) {
    enum { LINES = 64 };
    Checkpoint c = load_checkpoint(a->operand[0]);
    int together = is_terminal(stdin) ? 1 : LINES, n = 0;
    Sentence line[LINES];
    Arena arena = {0};
    char *text;
    for (int number = 1; (text = read_input(number)) != NULL; number++) {
        const char *wrong = encode_input(text, &c, &c.source, &line[n]);
        free(text);
        n += !wrong;
        if (n == together || wrong) {
            translate_lines(&c, line, n, &arena);
            n = 0;
        }
        if (wrong)
            fail("line %d of the input %s", number, wrong);
    }
    translate_lines(&c, line, n, &arena);
    arena_free(&arena);
    checkpoint_free(&c);
    return 0;
}

// ## evaluate

int evaluate_command(const Arguments *a) {
    enum { TOGETHER = 64 };
    Checkpoint c = load_checkpoint(a->operand[0]);
    Pairs p = load_pairs(a->operand[1], &c);
    Arena arena = {0};
    Loss loss = evaluate_loss(c.trainer.model, &p, TOGETHER, 0, &arena);
    Sentence *result = translate_all(c.trainer.model, p.source, p.count, TOGETHER,
                                     &arena);
    Match match = {0};
    for (int i = 0; i < p.count; i++)
        add_match(&match, result[i], p.target[i]);
    double mean = loss.plain / loss.tokens;
    printf("sentences %d\ntokens %d\nloss %.6f\nperplexity %.4f\n"
           "token_accuracy %.2f\nexact_match %.2f\nbleu %.2f\n",
           p.count, loss.tokens, mean, exp(mean),
           100.0 * loss.correct / loss.tokens,
           100.0 * match.exact / match.sentences, bleu(&match));
    sentences_free(result, p.count);
    arena_free(&arena);
    pairs_free(&p);
    checkpoint_free(&c);
    finish_output();
    return 0;
}

// ## attention

int attention_command(const Arguments *a) {
    const Settings *s = &a->settings;
    if (s->csv && !strcmp(s->csv, a->operand[0]))
        misuse(a, "%s would be overwritten", s->csv);
    Checkpoint c = load_checkpoint(a->operand[0]);
    const Transformer *model = c.trainer.model;
    Arena arena = {0};
    Sentence source, *target = NULL;
    const char *wrong = encode_input(a->operand[1], &c, &c.source, &source);
    if (wrong || source.length == 1)
        fail("the sentence %s", wrong ? wrong : "is empty");
    if (s->target) {
        target = allocate(1, sizeof *target);
        wrong = encode_input(s->target, &c, &c.target, target);
        if (wrong)
            fail("the target %s", wrong);
    } else
        target = translate_all(model, &source, 1, 1, &arena);

    Pass pass = {.arena = &arena, .config = &model->config};
    Saved saved;
    Batch batch = look(&pass, &saved, model, source, *target);
    char *words = decode_text(target->id, target->length, &c.target,
                              c.settings.tokenizer);
    printf("%s\n\n", words);
    draw_cross_attention(stdout, &arena, model, &saved, &batch, &c.source,
                         &c.target);
    if (s->csv) {
        NewFile n = new_file(s->csv);
        write_attention_csv(n.file, model, &saved, &batch, &c.source, &c.target);
        commit_file(&n);
    }
    free(words);
    free(source.id);
    sentences_free(target, 1);
    arena_free(&arena);
    checkpoint_free(&c);
    finish_output();
    return 0;
}

// ## info

int info_command(const Arguments *a) {
    Checkpoint c = {.settings = a->settings};
    Settings *s = &c.settings;
    if (a->operands) {
        for (int i = 0; i < OPTIONS; i++)
            if (a->given[i] && (options[i].in_model || was_given(a, "vocab")))
                misuse(a, "--%s: the model in %s has its own", options[i].name,
                       a->operand[0]);
        c = load_checkpoint(a->operand[0]);
        s->length = a->settings.length;
    } else
        s->config.source_vocab = s->config.target_vocab = s->vocab;
    for (const Option *o = options; o < options + OPTIONS; o++) {
        char text[64];
        if (o->in_model && (a->operands || (o->commands & INFO)))
            printf("%s %s\n", o->name, option_text(text, s, o));
    }
    const Config *config = &s->config;
    printf("source vocabulary %d\ntarget vocabulary %d\n", config->source_vocab,
           config->target_vocab);
    if (a->operands)
        printf("steps trained %ld\n", c.trainer.step);
    putchar('\n');
    Transformer *outline = transformer_outline(config);
    print_parameters(stdout, outline);
    printf("\na training step with %d sentences of %d tokens\n"
           "  parameters, gradients, two moments %10.1f MB\n"
           "  saved by the forward pass          %10.1f MB\n",
           s->recipe.batch, s->length,
           4.0 * sizeof(real) * (double)outline->count / 1e6,
           saved_bytes(config, s->recipe.batch, s->length, s->length) / 1e6);
    transformer_free(outline);
    checkpoint_free(&c);
    finish_output();
    return 0;
}

// ## main

#ifndef TRANSFORMER_NO_MAIN
int main(int argc, char **argv) {
    int (*const run[])(const Arguments *) = {
        train_command, translate_command, evaluate_command, attention_command,
        info_command};
    bool one = argc == 2;
    if (one && !strcmp(argv[1], "--version"))
        puts("transformer 1.0");
    else if (one && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
        print_help();
    else {
        Arguments a = read_arguments(argc, argv);
        set_threads(&a);
        if (!a.settings.help)
            return run[a.command - commands](&a);
        print_command_help(a.command);
    }
    finish_output();
    return 0;
}
#endif
