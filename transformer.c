// transformer.c: the Transformer of "Attention Is All You Need" in one C file
//
// SPDX-License-Identifier: MIT

//@ chapter manual
// # 0. Manual
//
// This file is the whole encoder-decoder transformer of Vaswani and others
// (2017, arXiv 1706.03762): attention, both stacks, every gradient by hand,
// training, translation, and a look inside. It needs a C compiler and nothing
// else. Read it from top to bottom, like a book.
//
// ## Build and run
//
//     cc -O2 transformer.c -lm -o transformer    any C11 compiler
//     make                                       tuned to this machine
//     make run                                   trains, evaluates, translates
//
//     ./transformer train data/eng-fra.train.tsv --valid data/eng-fra.valid.tsv
//     echo "the red car is fast" | ./transformer translate model.safetensors
//     ./transformer evaluate model.safetensors data/eng-fra.test.tsv
//     ./transformer attention model.safetensors "the red car is fast"
//     ./transformer --help
//
// ## The model in one picture
//
// On the left is the *encoder*, which reads a sentence; on the right, the
// *decoder*, which writes its translation. Later chapters explain the boxes. An
// *embedding* is a vector for a word and its place, or *position* (chapter 4).
// *Attention* lets each position fetch information from the others (2, 3). The
// *feed-forward network* changes each position by itself (5). A *norm* keeps
// numbers in range (6). A *mask* hides what must not be seen (9).
//
//        source                           target, after "start"
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
//@ figure model instead
//
// ## Letters
//
// Each size has one letter everywhere: in formulas, in the comments that give
// the shape of a matrix, and as names of local variables.
//
//     B  sentences in a batch        D  width of the model (d_model)
//     S  length of the source        H  heads
//     T  length of the target        K  width of a head, D/H
//     V  words in the vocabulary     F  inner width, feed-forward network
//     L  layers of each stack        P  positions there is room for
//     N  rows, any number of them    I, O  inputs, outputs of a linear layer
//
// A shape is written (rows, columns). Batches are flat: sentence b of a source
// batch is rows b·S … b·S+S-1 of a matrix with B·S rows. A mask "(B of T,S)" is
// B matrices of shape (T,S), one for each sentence.
//
// *Weights* are the attention weights of chapter 2; what is learned is called
// *parameters*, except that a layer's matrix is its `weight`, as in PyTorch. A
// *token* is what the model reads and writes: until chapter 14, a word.
// *Memory* is the encoder's output, except where bytes are meant.
//
// A layer's input is x and its output y or out, unless a name says more. A
// gradient is named after the thing it belongs to: `dq` is ∂loss/∂q and has the
// shape of q. Each function x_forward is followed by its x_backward. (Only
// transformer_forward comes later, with the masks.) The steps of a forward pass
// are numbered (1), (2), …; the backward pass takes them in reverse order.
// Gradients are added (`+=`), because what is used twice gets gradients from
// both uses; the caller clears them first. Exceptions are marked.
//
// The pages in docs/ are made from this file. Lines that begin with "//@" are
// for the program that makes them, but three kinds are for you, too: `run
// build/examples NAME` is an example that you can run, after `make
// build/examples`; `plumbing` says that you may skip what follows, to the end
// of the section or up to `core`, where you should read on; `deviation` marks a
// difference from the paper. [section 3.2] refers to a section of the paper.
//
// ## Contents
//
//     0  manual                             9  masks
//     1  numbers, matrices, tools          10  batches
//     2  scaled dot-product attention      11  training
//     3  multi-head attention              12  decoding: greedy, with a beam
//     4  embeddings, positional encoding   13  looking inside
//     5  the feed-forward network
//     6  residual connections, norms           interlude: the engine room
//     7  the encoder                       14  text
//     8  the decoder, the whole model      15  saving and loading
//                                          16  the command line
//
// Chapters 1 to 13 are the Transformer; the rest turns it into a program.
//
//@ plumbing the headers
// ## What it needs
//
// The C11 standard library and, where they exist, OpenMP, to use several cores;
// the vector types of GCC and Clang, to get more out of each core; and POSIX,
// for files and terminals. These two compilers are told to round x·y before
// they add z to it, unless they are called with -ffp-contract=fast.

#define _XOPEN_SOURCE 700 // POSIX, where there is one; before any header

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#elif defined __GNUC__ && !defined __STRICT_ANSI__ // off in strict C
#pragma GCC optimize("fp-contract=off")
#endif

//@ chapter numbers
// # 1. Numbers
//
// Everything below is made of numbers, matrices, their product, memory to hold
// them, and a little randomness. This chapter says what these tools do; how
// they do it can wait until the engine room, after chapter 13.
//
//@ plumbing numbers are float, and double or complex in the tests
// ## The number type
//
// Training runs in single precision, as is usual. Tests that need more digits
// compile this file with `-DTRANSFORMER_DOUBLE`, and those of gradients with
// `-DTRANSFORMER_COMPLEX` (chapter 2 says why).

#if !defined TRANSFORMER_DOUBLE && !defined TRANSFORMER_COMPLEX
typedef float real;
#define REAL(function) (real)function // REAL(log)(x): log in double, rounded
#elif defined TRANSFORMER_COMPLEX
#include <complex.h>
typedef double complex real; // (double)x, in comparisons, is its real part
#define REAL(function) c##function
#else
typedef double real;
#define REAL(function) function
#endif

// ## Matrices are views
//
// A `Mat` does not own numbers; it says where they are. Element (i, j) is found
// `i * row_stride + j * col_stride` numbers after `at`. That one formula buys a
// lot: exchanging the two strides transposes the matrix; a later start with
// fewer columns is a slice of its columns (this is how attention is split into
// heads in chapter 3); a later start with fewer rows is a slice of its rows
// (one sentence of a batch). None of these moves a number. And a row_stride of
// 0 repeats one row: PyTorch calls this *broadcasting*.
//
//     at → [ a b c d ]     rows 2, cols 4, row_stride 4, col_stride 1
//          [ e f g h ]     transposed: rows 4, cols 2, strides 1 and 4
//
// The price is a rule to keep in mind: two views of the same numbers are not
// two matrices. Writing through one view changes the other. And a view is valid
// only as long as its memory. A Mat is small, so it is passed by value.

typedef struct {
    real *at;
    int rows, cols;
    ptrdiff_t row_stride, col_stride;
} Mat;

// A view of rows × cols numbers that lie row after row in `memory`.
Mat mat(real *memory, int rows, int cols) {
    return (Mat){memory, rows, cols, cols, 1};
}

// Address of element (i, j), so that `*at(m, i, j)` reads and writes.
real *at(Mat m, int i, int j) {
    return m.at + i * m.row_stride + j * m.col_stride;
}

// Start of row i.
real *row(Mat m, int i) {
    return m.at + i * m.row_stride;
}

// mᵀ, shape (cols, rows).
Mat transposed(Mat m) {
    return (Mat){m.at, m.cols, m.rows, m.col_stride, m.row_stride};
}

// Rows first … first + count - 1 of m, shape (count, cols).
Mat slice_rows(Mat m, int first, int count) {
    return (Mat){row(m, first), count, m.cols, m.row_stride, m.col_stride};
}

// Columns first … first + count - 1 of m, shape (rows, count).
Mat slice_cols(Mat m, int first, int count) {
    return (Mat){at(m, 0, first), m.rows, count, m.row_stride, m.col_stride};
}

//@ run build/examples views

// ## The matrix product
//
//     c_ij = Σ_p a_ip b_pj
//
// A transformer spends nearly all its time on this line. Applying a layer's
// matrix to every position of every sentence is a matrix product, comparing all
// queries with all keys is another, and the backward pass needs two for each.
//
//     a (2,3)        b (3,2)        c = a b (2,2)
//     1 2 3          1 0            1·1+2·0+3·2   1·0+2·1+3·2       7  8
//     4 5 6          0 1            4·1+5·0+6·2   4·0+5·1+6·2   =  16 17
//                    2 2
//
// This is the definition, three plain loops:

// c += a b; a (n, k), b (k, m), c (n, m), any views
void matmul_definition(Mat c, Mat a, Mat b) {
    //@ exercise matmul_definition
    for (int i = 0; i < a.rows; i++)
        for (int j = 0; j < b.cols; j++)
            for (int p = 0; p < a.cols; p++)
                *at(c, i, j) += *at(a, i, p) * *at(b, p, j);
    //@ end
}

//@ run build/examples product

// Training calls other functions for it, because a processor can do the same
// sixty times as fast, and with large matrices hundreds of times:

// c = from + a b, where from has c's shape, or is one row, repeated
// (row_stride 0); the threads share the work
void matmul_from(Mat c, Mat from, Mat a, Mat b);
void matmul_add(Mat c, Mat a, Mat b); // c += a b; the threads share the work

// c += a b on one thread: a small product, in a loop that the threads share
void small_matmul_add(Mat c, Mat a, Mat b);
void small_matmul(Mat c, Mat a, Mat b); // c = a b on one thread

//@ plumbing what the engine room provides: errors, loops, threads, an arena
// ## Tools
//
// The functions on matrices walk along rows, whose numbers must lie side by
// side: never give them a transposed view.

// One line on the standard error stream, and status 1.
_Noreturn void fail(const char *format, ...);
char *printable(char *text); // for a terminal: no control characters, in place

// Zeroed memory, count items of size bytes. Never NULL: it fails instead.
void *allocate(size_t count, size_t size);
void *reallocate(void *memory, size_t count, size_t size); // enlarged
size_t checked_product(size_t a, size_t b); // a · b; fails if it is too large

void fill(Mat m, real value);     // m = value
void copy(Mat to, Mat from);      // to = from, same shape
void add(Mat to, Mat from);       // to += from, same shape
void scale_by(Mat x, real factor); // x *= factor
void clear(real *x, size_t n);    // x = 0, n numbers
real sum(const real *x, int n);   // the sum Σⱼ x[j]
real dot(const real *x, const real *y, int n); // the sum Σⱼ x[j] y[j]
double size_of(Mat m);            // rows · cols
int min_int(int a, int b), max_int(int a, int b); // the smaller, the larger

// ## SHAPE, and several threads
//
// `SHAPE(q, T, K)` stops a debug build if q is not (T,K): "q is (4,8), wanted
// (5,8)". Otherwise it is nothing. (Debug builds are those of tests and
// exercises, and whatever you compile with -DTRANSFORMER_DEBUG.)
//
// Where the compiler offers OpenMP, a loop marked PARALLEL_FOR shares its
// iterations among threads, if `work`, a rough count of the numbers that it
// handles, is large enough to wake them; elsewhere the macro expands to
// nothing. One rule is kept throughout the file: each number is computed by one
// thread, in one order. So the same seed gives the same bits with any number of
// threads, and every error can be reproduced.

#if defined TRANSFORMER_DOUBLE || defined TRANSFORMER_POISON \
    || defined TRANSFORMER_MALLOC || defined TRANSFORMER_DEBUG
#define SHAPE(m, rows, cols) check_shape(__func__, #m, m, rows, cols)
#else
#define SHAPE(m, rows, cols) ((void)0)
#endif

// Ends the program unless m has that many rows and columns.
void check_shape(const char *function, const char *name, Mat m, int rows,
                 int cols);

#ifdef _OPENMP
#define PRAGMA(text) _Pragma(#text)
#define PARALLEL_FOR(work) \
    PRAGMA(omp parallel for schedule(static) if ((work) > 100000))
#else
#define PARALLEL_FOR(work)
#endif

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
//     step ends     used │                            (one layer at a time)

typedef struct {
    struct Block *top;     // where the memory comes from
    size_t used, peak;     // bytes in use now, and at most so far
    int sentences, tokens; // of a batch in training, for messages; 0: none
} Arena;

void *arena_take(Arena *arena, size_t count, size_t size); // not initialized
Mat arena_mat(Arena *arena, int rows, int cols);   // rows × cols, not set
Mat arena_zeros(Arena *arena, int rows, int cols); // rows × cols zeros
void arena_release(Arena *arena, size_t mark); // back to where used was mark
void arena_free(Arena *arena); // gives all memory back to the system

// ## Randomness
//
// All random numbers follow from the seed and from what they are for, such as
// "the noise of step 17" or "the order of epoch 3". A *key* is computed from
// these two, and it alone determines the numbers. (It has nothing to do with
// the keys of attention.) So no generator's state has to be saved.

enum { FOR_PARAMETERS = 1, FOR_ORDER, FOR_DROPOUT, FOR_BATCHES }; // keys
uint64_t random_key(uint64_t seed, uint64_t what_for, uint64_t which);
uint64_t scramble(uint64_t x);   // a number that looks unrelated to x
uint32_t scramble32(uint32_t x); // the same with 32 bits
double uniform(uint64_t *state); // the next of a sequence, 0 ≤ result < 1

//@ chapter attention
// # 2. Scaled dot-product attention
//
// "The red car is fast" is "la voiture rouge est rapide" in French. It cannot
// be translated word by word: "rouge" comes after its noun, and "the" becomes
// "la" rather than "le" because "voiture" is feminine. So a model that is about
// to write "la" must know that the noun is "car". *Attention* lets each
// position of a sentence fetch information from the others, or from another
// sentence.
//
// Each position that wants something sends out a *query* vector. Each position
// that has something to offer shows a *key* vector and keeps a *value* vector.
// A query is compared with every key by their dot product, the *score*. The
// higher it is, the larger the *weight*, the share of that position's value
// that is fetched:
//
//     query     keys   scaled score  weight  values   result
//
//            ┌─ 1 0       log 2       1/2      1 2 ─┐
//      1 0 ──┼─ 0 1         0         1/4      3 4 ─┼─► 2.5 4.25
//            └─ 0 0         0         1/4      5 9 ─┘
//
// The dot products 1, 0 and 0 are multiplied by a *scale*, here log 2 (later
// 1/√K). The exponentials of the results are 2, 1 and 1, so the weights are in
// that ratio, and the query takes half of the first value. A second query
// matches no key better than others and takes the mean of all values:
//
//     q  1 0     k  1 0     v  1 2       scaled      log 2   0   0
//        0 0        0 1        3 4                     0     0   0
//                   0 0        5 9       weights      1/2  1/4  1/4
//                                                     1/3  1/3  1/3
//                                        out          2.5 4.25
//                                                     3   5
//
// In one formula, and in shapes, for T queries, S keys and as many values, each
// K numbers wide:
//
//     attention = softmax(q kᵀ / √K) v
//
//     q                             (T,K)
//     k, v                          (S,K)
//     scores  = q kᵀ                (T,S)   by how well query i matches key j
//     scaled  = scores · scale      (T,S)
//     weights = softmax(scaled)     (T,S)   so that each row sums to 1
//     out     = weights v           (T,K)   where row i mixes the values
//
// A dictionary in a program finds the one key that matches exactly and returns
// its value. Attention is a soft dictionary: every key matches a little, and
// the result is a mean of all values, weighted by how well their keys match. A
// mean has a derivative, and a look-up has none.
//
// Now a trained model reads "the red car is fast". For "the", one of the four
// attentions in the last layer of its encoder (layer 1; we count from 0)
// fetches this much from each word and from the token that ends the sentence:
//
//     the    red    car    is     fast   end
//     0.08   0.08   0.72   0.03   0.02   0.06
//
// Of all keys, that of "car" matches the query of "the" best. Learned matrices
// make queries, keys and values from vectors of D numbers, one for each word
// (chapters 3 and 4); here they are given. D is 64, shared by four attentions,
// so K is 16.
//
//@ figure mixture
//@ panel stage=encoder.1.self_attention.weights&flow-head=3
//
// (The model is the one that `make run` trains: on your machine you get these
// very digits. This sentence was not in its training data. The other three
// attentions give "car" 0.97, 1.00 and 0.84.)
//
// A weight says where attention goes, but not why the model writes a word. Here
// it is the reason, too: if the encoder's vector of "the" alone is replaced by
// that of a sentence whose noun has the other gender, of 357 French words like
// "la", 98 % change ("Where does the model know it from?", chapter 13).
//
// Why the scale 1/√K? If the numbers in q and k are independent with mean 0 and
// variance 1, each product of two has variance 1, and the sum of K products has
// variance K. With K = 64 typical scores are ±8, and e⁸ is three thousand times
// e⁰. Such scores push softmax toward the corner where one weight is 1 and the
// others are 0, and in the corner the gradient is zero. Dividing by √K brings
// the variance back to 1. [section 3.2.1] (Lab 1, in notebook/, measures it for
// 32 keys: without the division, at K = 64, half of the queries get less than
// half of the gradient; at K = 512, less than a hundredth.)
//
// ## What a mask is
//
// Some keys must not be looked at: padding, which fills short sentences up to
// the length of the longest in their batch, and in the decoder the future. A
// mask says for query i and key j whether j may be seen: **1 means visible, 0
// means hidden.** (PyTorch's nn.Transformer has it the other way around; its
// scaled_dot_product_attention has it this way.) Chapter 9 decides which keys
// are hidden; here the decision is only obeyed.
//
//@ plumbing how a mask lies in memory
// A mask for a batch has three dimensions: sentence, query, key. Often it does
// not vary along one of them. That stride is then 0, as it may be in a Mat, and
// one row of bytes serves every query.

typedef struct {
    const unsigned char *visible; // NULL: everything is visible
    ptrdiff_t sentence_stride;    // 0: the same for every sentence of a batch
    ptrdiff_t row_stride;         // 0: the same for every query
} Mask;

// The visible keys of query i in sentence b, S bytes; or NULL for all of them.
const unsigned char *mask_row(Mask mask, int b, int i) {
    if (!mask.visible)
        return NULL;
    return mask.visible + b * mask.sentence_stride + i * mask.row_stride;
}

// The mask of sentence b alone.
Mask mask_of_sentence(Mask mask, int b) {
    return (Mask){mask_row(mask, b, 0), 0, mask.row_stride};
}

// ## Softmax
//
//     w_j = e^(x_j) / Σ_p e^(x_p)
//
// Softmax turns a row of scores x into weights, positive numbers that sum to 1.
// Adding the same number to all x changes nothing, since it cancels. We use
// this freedom to subtract the largest x: then no exponential can overflow, and
// at least one of them is 1, so the sum cannot vanish.
//
//     x                 1000  999  998          e^1000 would overflow
//     x - largest          0   -1   -2
//     its exponential      1  .368 .135         sum 1.503
//     weights           .665  .245 .090         sum 1
//
// Hidden keys take no part: their weight is exactly 0. A row in which every key
// is hidden has nothing to look at, and becomes zeros.

// eˣ, accurate to 2 or 3 parts in 10⁷ in single precision, and fast: with the C
// library's expf, softmax would spend most of its time there. See the
// interlude.
real exponential(real x);

//@ deviation
// Hidden keys are left out of the softmax, and a row without any visible key
// gives zeros. Adding -∞ to hidden scores, as in the paper's section 3.2.3,
// gives the same weights, except that such a row becomes 0/0. Many tutorials
// add -1e9: in single precision all scores of such a row become equal, and its
// query attends evenly to keys that it must not see.

// maxⱼ x[j], n numbers; -∞ if there are none. No comparison with NaN is true,
// so in a row of nothing but NaN, `most` is still -∞ at the end. Then the sum
// is returned: NaN for that row, but -∞ for one in which every key is hidden.
real max(const real *x, int n) {
    real most = -(real)INFINITY;
    for (int j = 0; j < n; j++)
        most = (double)x[j] > (double)most ? x[j] : most;
    return most == -(real)INFINITY && n ? sum(x, n) : most;
}

// x[j] = softmax over the visible x, n numbers, in place
void softmax_row(real *x, const unsigned char *visible, int n) {
    //@ exercise softmax_row
    if (visible)
        for (int j = 0; j < n; j++)
            x[j] = visible[j] ? x[j] : -(real)INFINITY;
    real most = max(x, n);
    if (most == -(real)INFINITY) { // nothing to see
        memset(x, 0, sizeof(real) * (size_t)n);
        return;
    }
    for (int j = 0; j < n; j++)
        x[j] = exponential(x[j] - most); // 0 for hidden keys
    real share = 1 / sum(x, n);
    for (int j = 0; j < n; j++)
        x[j] *= share;
    //@ end
}

// scaled scores (T,S) become weights, row by row, in place
void softmax_forward(Mat scores, Mask mask) {
    for (int i = 0; i < scores.rows; i++)
        softmax_row(row(scores, i), mask_row(mask, 0, i), scores.cols);
}

//@ run build/examples softmax

// ## Formulas
//
// In the file, formulas are written in plain characters; on the pages, they are
// set as in a printed book. Indices are letters from h on, or numbers.
//
//     w_j, Σ_j w_j          for an element of w and the sum of all of them
//     Σ_(j<i) w_j           for the sum over those j for which j < i
//     ∂y/∂x, (x + 1)/2      for a derivative and for any other fraction
//     √x, x², x^y, aᵀ       for a root, powers and a transposed matrix
//     a b, a · b            for a product of numbers or of matrices
//     f(x), f'(x)           for a function and its derivative
//     1[i=j]                for 1 if what is in the brackets holds, else 0
//     m ← m + 1             for a new value of m
//
// ## How to differentiate a program
//
// If you have never written a backward pass, you need only one idea. The *loss*
// is a number that says how wrong the output is. Training makes it fall, by
// small changes to every parameter (chapter 11). The program computes the loss
// in steps. Walk through the steps from the last to the first, and carry along,
// for each result x, the gradient dx = ∂loss/∂x: how fast the loss grows with
// x. It starts with ∂loss/∂loss = 1. At each step y = f(x), the chain rule
// turns dy, which we have, into dx. For numbers, dx = dy · f'(x). If x and y
// are lists, x_i reaches the loss through every y_j, and the parts add up:
//
//     dx_i = Σ_j dy_j ∂y_j/∂x_i
//
// Here ∂y_j/∂x_i says how fast y_j grows with x_i while the rest of x is held
// fixed. If each x_i grows by a small h_i, the loss grows by Σ_i dx_i h_i.
//
// The numbers ∂y_j/∂x_i form a matrix, the *Jacobian* of the step. We never
// build it. If the step is a matrix product, multiplying by the Jacobian is
// again a matrix product; if it is a sum, each term gets a copy of the
// gradient; if it acts on each number by itself, each gradient is multiplied by
// one derivative. And a result that goes into two steps receives a gradient
// from each of them, and the two are added.
//
//@ figure computation-graph
//
//@ run build/examples chain
//
// That is all there is to *backpropagation*, which PyTorch's autograd performs
// for you. It is laborious only because every step must be right. So each
// backward pass below comes with its derivation, with a fact by which you can
// check it by hand, and with a test that compares it with finite differences:
//
//     ∂loss/∂x ≈ (loss(x + h) - loss(x - h)) / 2h
//
// A function in the middle of the model has no loss of its own. To check it
// alone, we give it one: loss = Σ out · r, element by element, with fixed
// random numbers r. Then dout is r, and each element of out counts differently.
//
//@ plumbing how the tests take a slope without losing digits
// The difference has a flaw. If h is large, the curve bends between the two
// points; if it is small, two numbers that are nearly equal are subtracted, and
// their digits are lost. In double precision seven to ten remain. The *complex
// step* subtracts nothing. If i is the square root of -1,
//
//     f(x + i h) = f(x) + i h f'(x) - h²/2 f''(x) - …
//
// so the imaginary part, divided by h, is the derivative. With h = 10⁻²⁰⁰ the
// rest is below every digit. So the tests compile this file with complex
// numbers, and thirteen digits of every gradient agree (`make gradcheck`).
//
//@ figure slopes
//
// ## Softmax, backward
//
// We are given dw, the gradient of the loss with respect to the weights, and
// want dx, the gradient with respect to the scaled scores. The letters of this
// chapter, here and in the code:
//
//     i             for a query and its row, of the scores and of the result
//     j             for a key and its column of the scores
//     p             for any key of the row; sums run over it
//     x_j, w_j      for the scaled score and the weight of key j, in one row
//     dx_j, dw_j    for the gradients of these two
//
// Each weight depends on each scaled score of its row:
//
//     ∂w_p/∂x_j = w_p (1[j=p] - w_j)
//
// since raising x_j raises its own numerator and everyone's denominator. (For
// p = j, the quotient rule gives w_j - w_j²; for the others, where only the
// denominator moves, -w_p w_j.) The chain rule sums over the weights of a row:
//
//     dx_j = Σ_p dw_p w_p (1[j=p] - w_j)
//          = dw_j w_j - w_j Σ_p dw_p w_p
//          = w_j (dw_j - Σ_p dw_p w_p)
//
// The sum does not depend on j: one dot product for each row. In words: the
// gradient of a score is its weight times the amount by which dw_j exceeds the
// mean of dw over the row, a mean taken with the weights themselves.
//
// By hand, with the weights of the first query in the example above, and a dw
// that we make up:
//
//     w            = [1/2, 1/4, 1/4]
//     dw           = [2, 0, 4]
//     Σ_p dw_p w_p = 2 · 1/2 + 0 · 1/4 + 4 · 1/4 = 2
//     dx_0         = 1/2 (2 - 2) = 0
//     dx_1         = 1/4 (0 - 2) = -1/2
//     dx_2         = 1/4 (4 - 2) = 1/2
//
// Key 0 has the largest weight and yet no gradient, because its dw is just the
// mean. The loss falls if score 1 grows and score 2 shrinks. (The tests check
// all numbers that are worked out by hand.)
//
// How to check it: the dx of a row sum to zero. If all its scores grow by the
// same small h, the loss grows by h Σ_j dx_j (as said above); but no weight
// changes, so this is 0. A hidden key has w_j = 0 and so dx_j = 0: no mask is
// needed.

// dw (T,S), the gradient of the weights w (T,S), becomes dscaled (T,S), in
// place: each element is overwritten after its last use.
void softmax_backward(Mat dw, Mat w) {
    SHAPE(dw, w.rows, w.cols);
    //@ exercise softmax_backward
    for (int i = 0; i < w.rows; i++) {
        real *d = row(dw, i);
        const real *weight = row(w, i);
        real common = dot(d, weight, w.cols);
        for (int j = 0; j < w.cols; j++)
            d[j] = weight[j] * (d[j] - common);
    }
    //@ end
}

// ## Dropout
//
// In training, some of the weights are set to 0 at random, with probability
// `rate`, and the others divided by 1 - rate; chapter 6 says why, and has the
// function. It does nothing if the rate is 0, as it is when a model is used.

typedef struct {
    real rate;
    uint32_t key; // which numbers
} Dropout;

void dropout_row(real *x, int n, int i, Dropout d); // row i, of n numbers
void dropout(Mat x, Dropout d);                     // all rows of x

// ## Attention, forward and backward
//
// This struct is one attention, a *head* (chapter 3), at work on one sentence.
// q, k, v and the mask may come from anywhere, so one function serves all three
// kinds of attention in the transformer.
//
// In the backward pass the same struct holds gradients: `d` has dq, dk, dv and
// so on under the same names. Only d.weights holds four gradients in turn, each
// made from the one before: ddropped, dweights, dscaled and dscores.

typedef struct {
    Mat q, k, v; // (T,K), (S,K), (S,K)
    Mat weights; // (T,S) softmax(scaled)
    Mat dropped; // (T,S) after dropout; without dropout it *is* weights
    Mat out;     // (T,K)
    real scale;  // of the scores: 1/√K
    Dropout dropout;
} Head;

//@ figure attention

//@ deviation
// Dropout acts on the attention weights and inside the feed-forward network
// too, as in many programs. The paper's section 5.4 names only sub-layer
// outputs and embeddings. At a high rate the difference is large: on 4,700 real
// pairs and with a rate of 0.3, three models with dropout in all places had a
// mean BLEU (chapter 12) of 5.9, and three with dropout in the paper's places
// 12.9. For the paper's, set `--attention-dropout 0 --activation-dropout 0`.

// out = dropout(softmax(scale · q kᵀ)) v                 [section 3.2.1, eq. 1]
// Given: q (T,K), k and v (S,K), the mask (T,S) of one sentence. Written:
// weights and dropped (T,S), out (T,K).
void attention_forward(Head a, Mask mask) {
    SHAPE(a.weights, a.q.rows, a.k.rows);
    SHAPE(a.v, a.k.rows, a.out.cols);
    SHAPE(a.out, a.q.rows, a.q.cols);
    //@ exercise attention_forward
    small_matmul(a.weights, a.q, transposed(a.k)); // (1) scores = q kᵀ
    scale_by(a.weights, a.scale);                  // (2) times scale
    softmax_forward(a.weights, mask);              // (3) softmax(scaled)
    if (a.dropped.at != a.weights.at)              // (4) dropout(weights)
        copy(a.dropped, a.weights);
    for (int i = 0; i < a.dropped.rows; i++)
        dropout_row(row(a.dropped, i), a.dropped.cols, i, a.dropout);
    small_matmul(a.out, a.dropped, a.v);           // (5) out = dropped v
    //@ end
}

//@ run build/examples attention

// The backward pass goes from the last step to the first. The only new rule is
// that of the matrix product. Here a, b and c are the matrices of chapter 1,
// not a head and a sentence as in the code. In index form, for c = a b:
//
//     c_ij  = Σ_p a_ip b_pj
//     da_ip = Σ_j dc_ij b_pj     since ∂c_ij/∂a_ip = b_pj, for every j
//     db_pj = Σ_i a_ip dc_ij     since ∂c_ij/∂b_pj = a_ip, for every i
//
// The number a_ip is in each sum of row i of c, times b_pj; b_pj is in each sum
// of column j, times a_ip. The shapes leave no other choice, which helps to
// remember it.
//
//     c  = a b         (N,O) = (N,I) (I,O)
//     da = dc bᵀ       (N,I) = (N,O) (O,I)
//     db = aᵀ dc       (I,O) = (I,N) (N,O)
//
// By hand, with a and b as in chapter 1 and a made-up dc:
//
//     dc  1 0     b  1 0     a  1 2 3     da  1 0 2     db  1  8
//         0 2        0 1        4 5 6         0 2 4         2 10
//                    2 2                                    3 12
//
// For instance, counting rows and columns from 0:
//
//     da_12 = dc_10 b_20 + dc_11 b_21 = 0 · 2 + 2 · 2 = 4
//     db_21 = a_02 dc_01 + a_12 dc_11 = 3 · 0 + 6 · 2 = 12
//
//@ figure product-gradient
//
// Steps (5) and (1) are such products. In (1) b is kᵀ, so d(kᵀ) = qᵀ dscores;
// transposing both sides gives the last line:
//
//     ddropped = dout vᵀ
//     dv       = droppedᵀ dout
//     dq       = dscores k
//     dk       = dscoresᵀ q
//
// Dropout and the scale multiply each number by a constant, so their backward
// passes multiply by the same constant. The mask needs no line of its own:
// hidden weights are 0, and softmax_backward turns them into gradients of 0.
//
// By hand, for the example at the beginning of the chapter: dout is 8 in one
// place and 0 elsewhere. Nothing is dropped, so step (4) does nothing.
//
//     (5)  dout  8 0     dweights   8 24 40     dv  4 0
//                0 0                0  0  0         2 0
//                                                   2 0
//
//     (3)  dscaled  -6 1 5     1/2 (8 - 20), 1/4 (24 - 20), 1/4 (40 - 20),
//                    0 0 0     since 8/2 + 24/4 + 40/4 is 20
//
//     (2)  dscores  log 2 · [-6 1 5]
//                   log 2 · [ 0 0 0]
//
//     (1)  dq  log 2 · [-6 1]     dk  log 2 · [-6 0]
//              log 2 · [ 0 0]         log 2 · [ 1 0]
//                                     log 2 · [ 5 0]
//
// The three rows of dk sum to zero, and that is no accident.
//
// How to check it: let q_i and dk_j be rows. Adding one and the same vector u
// to all keys adds the constant q_i · u to row i of the scores, which changes
// no weight and so no loss. But moving all keys by a small u changes the loss
// by Σ_j dk_j · u. That is 0 for every u: the dk of all keys sum to zero. The
// key bias of chapter 3 is such a u, so its gradient is exactly zero.

// d.q, d.k and d.v are added to; d.out is given; d.weights is scratch; a is
// from the forward pass.
void attention_backward(Head d, Head a) {
    SHAPE(d.q, a.q.rows, a.q.cols);
    SHAPE(d.k, a.k.rows, a.k.cols);
    SHAPE(d.v, a.v.rows, a.v.cols);
    SHAPE(d.out, a.out.rows, a.out.cols);
    SHAPE(d.weights, a.weights.rows, a.weights.cols);
    //@ exercise attention_backward
    // (5) out = dropped v
    small_matmul(d.weights, d.out, transposed(a.v));
    small_matmul_add(d.v, transposed(a.dropped), d.out);
    // (4) dropped = dropout(weights)
    for (int i = 0; i < d.weights.rows; i++)
        dropout_row(row(d.weights, i), d.weights.cols, i, a.dropout);
    // (3) weights = softmax(scaled)
    softmax_backward(d.weights, a.weights);
    // (2) times scale
    scale_by(d.weights, a.scale);
    // (1) scores = q kᵀ
    small_matmul_add(d.q, d.weights, a.k);
    small_matmul_add(d.k, transposed(d.weights), a.q);
    //@ end
}

// The next example prints a table: for each tensor its shape, the gradient of
// one element by the backward pass and by differences, and how many elements
// agree to within 1e-6. Gradients start at a nonzero number, subtracted at the
// end. This exposes a function that overwrites where it should add.
//
//@ run build/examples attention_gradient

//@ chapter multi_head
// # 3. Multi-head attention
//
// A single head gives each query a single mixture. But a word may want several
// things at once. In the first layer of our model, the query of "car" fetches
// "red" in one attention, mostly "is" in another, and "fast" and "the" in a
// third. So the model runs H attentions side by side, its *heads*, each on
// vectors of K = D/H numbers, and joins their results. [section 3.2.2]
//
//@ figure mixture-heads
//@ panel stage=encoder.0.self_attention.weights&flow-head=0
//
//     c_h = attention(x W_h^Q, memory W_h^K, memory W_h^V)
//     multihead = concat(c_0, c_1, …) W^O
//
// The queries come from x, the keys and values from the *memory*. In
// self-attention that is x itself; in the decoder's cross-attention it is what
// the encoder made. The index h counts the heads, and c is what one of them has
// found; side by side, all these c are `context` in the code. Wᴼ mixes them;
// without it, the numbers of different heads would not meet before the next
// linear layer.
//
// Many heads need no more multiplications than one: the scores of one head of
// width D take T·S·D, and those of H heads of width D/H take H · T·S·D/H. Nor
// do they need more parameters, since their widths add up to D. What grows with
// H is the number of attention weights, T·S for each head, and the work of
// softmax on them. The price: each head compares only D/H numbers.
//
//@ plumbing what every step is given: sizes, memory, a key for dropout
// ## One pass through the model
//
// A model has a configuration: its sizes and its variants. One table in chapter
// 15 has the defaults, the limits, and the names that the command line uses.

enum { POST_NORM, PRE_NORM, NORMS };                   // .norm, chapter 6
enum { SINUSOIDAL, LEARNED, NO_POSITIONS, POSITIONS }; // .positions, chapter 4
enum { RELU, GELU, ACTIVATIONS };                      // .activation, chapter 5

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
    double dropout;   // share dropped in training: embeddings, sub-layers
    double attention_dropout;  // attention weights, chapter 2
    double activation_dropout; // inside the feed-forward network, chapter 5
} Config;

// Every layer needs an arena, the configuration and a key for dropout.
typedef struct {
    Arena *arena;
    const Config *config;
    bool training;  // dropout acts
    uint64_t noise; // the next dropout's key is made from it
    int sentences;  // B
} Pass;

// The dropout of the next place in the model: of that rate in training, else of
// rate 0. The forward pass asks for it and saves it for the backward pass.
Dropout next_dropout(Pass *pass, double rate) {
    pass->noise = scramble(pass->noise);
    return (Dropout){pass->training ? (real)rate : 0, (uint32_t)pass->noise};
}

// ## A linear layer
//
// The W above are linear layers: y = x W + b, applied to every row. W is
// stored with a row for each input and a column for each output, so that the
// formula is the code. (PyTorch's nn.Linear stores the transpose.)

//@ deviation
// Linear layers have biases, as in all the tutorials. The paper writes the
// projections of attention without them.

typedef struct {
    Mat weight; // (I,O): I inputs, O outputs
    Mat bias;   // (1,O)
} Linear;

// y = x W + b;  x (N,I) -> y (N,O). A row_stride of 0 repeats the one row of b.
Mat linear_forward(Pass *pass, const Linear *w, Mat x) {
    Mat y = arena_mat(pass->arena, x.rows, w->weight.cols);
    SHAPE(x, x.rows, w->weight.rows);
    Mat bias = {w->bias.at, y.rows, y.cols, 0, 1}; // (1) b in every row
    matmul_from(y, bias, x, w->weight);            // (2) y = b + x W
    return y;
}

//@ plumbing the sum of each column, shared among threads
// The gradient of a bias is a sum over rows. Threads that shared the rows would
// add to the same number; so they share the columns, and each sum is made by
// one thread, which reads and writes it once for every four rows.
//
// total[j] += Σᵢ x[i][j];  x (N,O), total (1,O)
void add_column_sums(Mat total, Mat x) {
    SHAPE(total, 1, x.cols);
    enum { BAND = 32 };
    PARALLEL_FOR(size_of(x))
    for (int first = 0; first < x.cols; first += BAND) {
        int last = min_int(first + BAND, x.cols);
        int i = 0;
        for (; i + 3 < x.rows; i += 4) {
            const real *x0 = row(x, i), *x1 = row(x, i + 1);
            const real *x2 = row(x, i + 2), *x3 = row(x, i + 3);
            for (int j = first; j < last; j++)
                total.at[j] = total.at[j] + x0[j] + x1[j] + x2[j] + x3[j];
        }
        for (; i < x.rows; i++)
            for (int j = first; j < last; j++)
                total.at[j] += *at(x, i, j);
    }
}

//@ core
// Now the backward pass of a linear layer. The letters of its derivation:
//
//     i, p, j      for a row, an input of the layer, an output of the layer
//     W_pj, b_j    for its weight and its bias; together they are w in the code
//     x_ip, y_ij   for its input and its result
//
// (In the code of the heads, below, b is a sentence, as in chapter 0.) The
// product rule of chapter 2 does most of the work. And since b_j is added in
// every row, it collects the gradient of every row.
//
//     y_ij = Σ_p x_ip W_pj + b_j
//     dx   = dy Wᵀ
//     dW   = xᵀ dy
//     db_j = Σ_i dy_ij               since b_j is in every row
//
// The rows are all positions of all sentences of the batch. One W serves them
// all, so dW adds up, over all rows, how each row would like W to change.

// dx (N,I) and dw are added to; dy (N,O), x (N,I) and w as in the forward pass
void linear_backward(Mat dx, Linear *dw, Mat dy, Mat x, const Linear *w) {
    SHAPE(dx, x.rows, x.cols);
    SHAPE(dy, x.rows, w->weight.cols);
    //@ exercise linear_backward
    // (2) y = b + x W
    matmul_add(dx, dy, transposed(w->weight));
    matmul_add(dw->weight, transposed(x), dy);
    // (1) b in every row
    add_column_sums(dw->bias, dy);
    //@ end
}

// ## Heads are slices of columns
//
// The paper gives each head its own matrices W, (D,K). Put side by side, the H
// matrices for the queries make one (D,D) matrix, W_q, and one product makes
// the queries of all heads: head h finds its own in columns hK … hK+K-1. (W_k
// and W_v are built in the same way; Wᴼ is W_o from here on.) The sentences of
// a batch lie one below the other. So the queries of head h in sentence b are a
// block of the matrix, and a view of it costs nothing. Many tutorials reshape
// and transpose a tensor instead.
//
//              head 0   head 1   head 2
//             ┌────────┬────────┬────────┐
//     sent. 0 │        │        │        │  T rows
//             ├────────┼────────┼────────┤
//     sent. 1 │        │ ██████ │        │  T rows   ██ head 1 of sentence 1
//             └────────┴────────┴────────┘
//                  K        K        K      columns, D in all
//
//@ figure heads instead

// Block of head h in sentence b: m (B·rows, D) -> (rows, K)
Mat head(Mat m, int b, int rows, int h, int K) {
    //@ exercise head
    return slice_cols(slice_rows(m, b * rows, rows), h * K, K);
    //@ end
}

//@ run build/examples heads

// The four matrices, each for all heads at once.
typedef struct {
    Linear query, key, value, output; // (D,D) each
} MultiHead;

//@ plumbing what is kept for the backward pass, and the views of one head
// What the forward pass leaves for the backward pass. T and S are the lengths
// on the side of the queries and of the keys. As with a head, a second such
// struct holds the gradients of the same things.
typedef struct {
    int sentences, heads; // B, H
    Mat x, memory;        // (B·T,D) for queries, (B·S,D) for keys and values
    Mat q, k, v;          // (B·T,D), (B·S,D), (B·S,D)
    Mat weights, dropped; // (B·H·T,S): sentence by sentence, head by head;
                          // without dropout one and the same
    Mat context;          // (B·T,D): the heads' results side by side
    Dropout dropout;
} MultiHeadSaved;

// Head i of B·H, as views: head i % H of sentence i / H. Each has its own
// dropout, since the same noise must not fall on every head. `room` is how many
// rows of k a sentence has: S, or more in the cache of chapter 12.
Head head_of(const MultiHeadSaved *s, int i) {
    int B = s->sentences, H = s->heads, b = i / H, h = i % H;
    int T = s->q.rows / B, S = s->weights.cols, K = s->q.cols / H;
    int room = s->k.rows / B;
    uint32_t key = scramble32(s->dropout.key + (uint32_t)i);
    return (Head){
        .q = head(s->q, b, T, h, K),
        .k = slice_rows(head(s->k, b, room, h, K), 0, S),
        .v = slice_rows(head(s->v, b, room, h, K), 0, S),
        .weights = slice_rows(s->weights, i * T, T),
        .dropped = slice_rows(s->dropped, i * T, T),
        .out = head(s->context, b, T, h, K),
        .scale = 1 / REAL(sqrt)((real)K),
        .dropout = {s->dropout.rate, key},
    };
}

//@ core
// The forward pass has two halves, because chapter 12 keeps the first one's
// results and runs the second again and again.

// Keys and values of the memory (B·S,D): k and v, (B·S,D) each
void make_keys(Pass *pass, MultiHeadSaved *s, const MultiHead *w, Mat memory) {
    SHAPE(memory, memory.rows, w->key.weight.rows);
    s->memory = memory;
    s->k = linear_forward(pass, &w->key, memory); // (1) keys, values
    s->v = linear_forward(pass, &w->value, memory);
}

// Queries of x (B·T,D), compared with the first S keys of their sentence in s,
// with the mask (B of T,S) -> (B·T,D). Each head reads and writes its own
// blocks, so the threads can share them.
Mat attend(Pass *pass, MultiHeadSaved *s, const MultiHead *w, Mat x, int S,
           Mask mask) {
    int H = pass->config->heads;
    SHAPE(x, x.rows, w->query.weight.rows);
    s->sentences = pass->sentences;
    s->heads = H;
    s->x = x;
    s->q = linear_forward(pass, &w->query, x);  // (2) queries
    s->dropout = next_dropout(pass, pass->config->attention_dropout);
    s->weights = arena_mat(pass->arena, H * x.rows, S);
    s->dropped = s->dropout.rate == 0 ? s->weights
               : arena_mat(pass->arena, H * x.rows, S);
    s->context = arena_mat(pass->arena, x.rows, s->q.cols);
    PARALLEL_FOR(size_of(s->weights) * (2 + s->q.cols / H / 4))
    for (int i = 0; i < s->sentences * H; i++)  // (3) attention, head by head
        attention_forward(head_of(s, i), mask_of_sentence(mask, i / H));
    return linear_forward(pass, &w->output, s->context); // (4) mix the heads
}

// x (B·T,D), memory (B·S,D), mask (B of T,S) -> (B·T,D)         [section 3.2.2]
Mat multi_head_forward(Pass *pass, MultiHeadSaved *s, const MultiHead *w,
                       Mat x, Mat memory, Mask mask) {
    make_keys(pass, s, w, memory);
    return attend(pass, s, w, x, memory.rows / pass->sentences, mask);
}

// The backward pass brings nothing new: linear layers, attention head by head,
// linear layers. The gradient of the result, dout, is given. What deserves care
// is where gradients meet. x feeds only the queries, but the memory feeds keys
// *and* values, so two gradients are added to dmemory. In self-attention dx and
// dmemory are one and the same matrix, which collects all three: the sum that
// the chain rule asks for when a thing is used three times.
//
// Heads need no rule of their own. A number in a slice of q *is* a number of q:
// head h adds to its columns of dq, dk and dv, and no other head does. The rule
// of linear layers gives the rest:
//
//     dcontext = dout W_oᵀ                  where each head finds its own dout
//     dx = dq W_qᵀ + dk W_kᵀ + dv W_vᵀ      in self-attention
//     dx = dq W_qᵀ                          in cross-attention
//     dmemory = dk W_kᵀ + dv W_vᵀ           in cross-attention
//
// By hand, in self-attention: one sentence of two words, D = 2 and two heads,
// so that K and the scale are 1. The query matrix is log 3 times the identity;
// the other three are the identity, so that dcontext is dout, and all biases
// are 0. Head 0 sees column 0.
//
//     x  0 1     q  0      log 3     head 0: weights  1/2 1/2     dout   0 0
//        1 0        log 3  0                          1/4 3/4           16 0
//
//     head 0, word 1:  dweights  0 16     dscores  -3 3
//
//     dq  0 0     dk  -3 log 3  0     dv   4 0
//         3 0          3 log 3  0         12 0
//
// Column 1 belongs to head 1. Its column of dout is 0, so its columns of dq, dk
// and dv are 0. W_q multiplies dq by log 3, the identities pass dk and dv on,
// and column 0 of dx is:
//
//     dx_00 = -3 log 3 + 4                      through k and v
//     dx_10 = 3 log 3 + 3 log 3 + 12            through q, k and v
//
// The gradient of W_k is xᵀ dk: each word adds its x, times its dk. For column
// 0, word 0 adds -3 log 3 times (0, 1) and word 1 adds 3 log 3 times (1, 0), so
// the column is (3 log 3, -3 log 3).
//
// How to check it: the tests compute the paper's form, with separate matrices
// for each head, and find the same numbers.

// d is the twin of s that holds the gradients. d->x (B·T,D), d->memory (B·S,D)
// and dw are added to; dout (B·T,D) given. The rest of d is scratch.
void multi_head_backward(Pass *pass, MultiHeadSaved *d, const MultiHeadSaved *s,
                         const MultiHead *w, MultiHead *dw, Mat dout) {
    Arena *arena = pass->arena;
    size_t mark = arena->used;
    int H = s->heads;
    SHAPE(d->x, s->x.rows, s->x.cols);
    SHAPE(d->memory, s->memory.rows, s->memory.cols);
    SHAPE(dout, s->x.rows, w->output.weight.cols);
    d->sentences = s->sentences;
    d->heads = H;
    // (4) out = context W + b
    d->context = arena_zeros(arena, s->context.rows, s->context.cols);
    linear_backward(d->context, &dw->output, dout, s->context, &w->output);
    // (3) head by head
    d->q = arena_zeros(arena, s->q.rows, s->q.cols);
    d->k = arena_zeros(arena, s->k.rows, s->k.cols);
    d->v = arena_zeros(arena, s->v.rows, s->v.cols);
    d->weights = d->dropped = arena_mat(arena, s->weights.rows,
                                        s->weights.cols);
    PARALLEL_FOR(size_of(s->weights) * (2 + s->q.cols / H / 2))
    for (int i = 0; i < s->sentences * H; i++)
        attention_backward(head_of(d, i), head_of(s, i));
    // (2) q = x Wq + bq
    linear_backward(d->x, &dw->query, d->q, s->x, &w->query);
    // (1) k = memory Wk + bk, v = memory Wv + bv
    linear_backward(d->memory, &dw->key, d->k, s->memory, &w->key);
    linear_backward(d->memory, &dw->value, d->v, s->memory, &w->value);
    arena_release(arena, mark);
}

//@ run build/examples multi_head_gradient

//@ chapter embedding
// # 4. Embeddings and positional encoding
//
// ## From a token to a vector
//
// A token is a number between 0 and V-1. The number itself means nothing: word
// 7 is not greater than word 6. So each token gets a vector, a row of D numbers
// in a table, and these are learned like every other parameter. Embedding a
// token means looking up its row.
//
//     the   red   car   is   fast   end
//      93    84    25   63     42     2      six rows of the English table
//
//@ panel stage=source.embedding
//
// Words that are used alike end up with similar rows. In our trained model, the
// row closest in direction to that of "red" is that of "dirty" (their cosine is
// 0.53), followed by "happy" (0.49) and "green" (0.45), while "car" is at 0.16.
// Closest to "la" are "une" (0.87), "ta" and "ma" (0.83 each): all feminine.
//
// The row is multiplied by √D [section 3.4], which makes its numbers about as
// large as those of the positions below: sines and cosines, with a standard
// deviation of 0.71. Like every other matrix, the table begins with numbers
// spread evenly between ±√(6/(V+D)) (chapter 8). In our model, with V = 109 and
// D = 64, their standard deviation is 0.11, and after the factor 0.86. Without
// the factor, positions would drown out words at first.
//
// ## Where a token stands
//
// Attention knows nothing of order. If you swap two words of the input, their
// results are swapped and nothing else changes: it is *permutation
// equivariant*. It could not tell who bites in "dog bites man". So a code of
// the position is added to the vector. [section 3.5] The code of position t
// is a row of D numbers. An even column j holds the sine of an angle, and
// column j + 1 the cosine of the same angle:
//
//     positions_(t,j) = sin(t / 10000^(j/D))
//     positions_(t,j+1) = cos(t / 10000^(j/D))
//
// (The paper writes 2i for this j.) Each pair of columns is a clock hand that
// turns at its own speed: the first pair once in 2π ≈ 6.3 positions, the last,
// if D is large, once in nearly 10000 · 2π (with D = 4, below, in 100 · 2π).
//
//     D = 4        sin t    cos t    sin t/100  cos t/100
//     position 0   0.000    1.000     0.000      1.000
//     position 1   0.841    0.540     0.010      1.000
//     position 2   0.909   -0.416     0.020      1.000
//     position 3   0.141   -0.990     0.030      1.000
//
// Moving by a fixed number of positions turns each hand by a fixed angle,
// wherever you start; that is a linear map, and attention can learn it. And if
// two hands turn by the same angle, the angle between them stays the same, and
// so does their dot product. So the dot product of two positions depends only
// on their distance.
//
// The codes can be learned instead (`--positions learned`): a second table with
// a row for each position. It knows nothing of positions not seen in training.

// table (P,D): row t is the code of position t
void sinusoidal_positions(Mat table) {
    //@ exercise sinusoidal_positions
    for (int t = 0; t < table.rows; t++)
        for (int j = 0; j < table.cols; j++) {
            double speed = pow(10000, -(double)(j - j % 2) / table.cols);
            *at(table, t, j) = (real)(j % 2 ? cos(t * speed) : sin(t * speed));
        }
    //@ end
}

//@ run build/examples positions

//@ figure positions

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
                      const int *ids, int T) {
    int B = pass->sentences, D = table.cols;
    real scale = REAL(sqrt)((real)D);
    *s = (EmbeddingSaved){ids, T, next_dropout(pass, pass->config->dropout)};
    Mat x = arena_mat(pass->arena, B * T, D);
    PARALLEL_FOR(size_of(x))
    for (int i = 0; i < B * T; i++) {
        const real *from = row(table, ids[i]);
        real *to = row(x, i);
        for (int j = 0; j < D; j++)         // (1) the token's row
            to[j] = scale * from[j];
        if (positions.at)                   // (2) plus the position's
            for (int j = 0; j < D; j++)
                to[j] += row(positions, i % T)[j];
    }
    dropout(x, s->dropout);                 // (3)
    return x;
}

// A row of the table is used wherever its token occurs, so it collects the
// gradients of all those places. Rows of tokens that do not occur get nothing.
//
//     i        for a place in the batch, from 0 to B·T - 1
//     ids_i    for the token there; its position is i mod T
//     dx_i     for row i of dx
//     v, t     for any token and any position
//
//     dtable_v     = √D Σ_(ids_i = v) dx_i
//     dpositions_t = Σ_(i mod T = t) dx_i
//
// The token ids themselves have no gradient: an id cannot change a little.

// dtable (V,D) and dpositions (P,D; at = NULL if there is nothing to learn) are
// added to. dx (B·T,D) is given and overwritten: dropout acts on it in place.
void embedding_backward(const EmbeddingSaved *s, Mat dtable, Mat dpositions,
                        Mat dx) {
    enum { BAND = 64 }; // threads share the columns, see add_column_sums
    real scale = REAL(sqrt)((real)dx.cols);
    SHAPE(dtable, dtable.rows, dx.cols);
    dropout(dx, s->dropout);                // (3)
    PARALLEL_FOR(size_of(dx))
    for (int first = 0; first < dx.cols; first += BAND) {
        int last = min_int(first + BAND, dx.cols);
        for (int i = 0; i < dx.rows; i++) {
            //@ exercise embedding_backward
            const real *from = row(dx, i);
            if (dpositions.at)              // (2) x += positions[t]
                for (int j = first; j < last; j++)
                    row(dpositions, i % s->length)[j] += from[j];
            real *to = row(dtable, s->ids[i]);
            for (int j = first; j < last; j++) // (1) x = √D · table[id]
                to[j] += scale * from[j];
            //@ end
        }
    }
}

//@ run build/examples embedding_gradient

//@ chapter feed_forward
// # 5. The position-wise feed-forward network
//
// Attention moves information between positions; this network works on it, at
// each position separately and with the same parameters everywhere. It widens
// the vector to F numbers, bends them, and narrows it again.
//
//     ffn(x) = relu(x W_1 + b_1) W_2 + b_2
//
// With F = 4 D it has two thirds of the parameters of an encoder layer: 8 D²
// against the 4 D² of attention.
//
// Without the bend in the middle, the *non-linearity*, two linear layers would
// be no more than one: (x W₁) W₂ = x (W₁ W₂). The paper bends each number z to
// max(0, z), called ReLU [section 3.3]. It can be read as F questions put to
// each vector: each column of W₁ asks one, ReLU keeps the answers that are
// positive, and each row of W₂ says what to add to the vector if the answer is
// yes. W₁ and W₂ are `inner` and `outer` below and in saved models.
//
// Later models often use GELU, which is smooth: z times the probability Φ(z)
// that a normal random number is below z.
//
//     gelu(z) = z Φ(z)
//     Φ(z) = 1/2 (1 + erf(z / √2))
//
//     z        -3      -2      -1      0      1      2      3
//     relu      0       0       0      0      1      2      3
//     gelu   -0.004  -0.046  -0.159    0    0.841  1.954  2.996
//
//@ panel stage=encoder.0.feed_forward.active

//@ deviation
// GELU is offered alongside the paper's ReLU.

#ifdef TRANSFORMER_COMPLEX // libm has no such erf; its slope is 2/√π e^(-x²)
// z, of which the imaginary part is tiny -> erf(z)
real cerf(real z) {
    double x = (double)z;
    return erf(x) + (z - x) * (1.1283791670955126 * exp(-x * x));
}
#endif

// The share Φ(x) of a normal distribution that lies below x.
real normal_below(real x) {
    return (real)0.5 * (1 + REAL(erf)(x * (real)0.70710678118654752));
}

// to = activation(x), element by element; activation RELU or GELU; same shape
void activation_forward(Mat to, Mat x, int activation) {
    SHAPE(to, x.rows, x.cols);
    PARALLEL_FOR(size_of(x) * (activation == GELU ? 20 : 1))
    for (int i = 0; i < x.rows; i++) {
        real *y = row(to, i);
        const real *from = row(x, i);
        if (activation == RELU)
            for (int j = 0; j < x.cols; j++)
                y[j] = (double)from[j] <= 0 ? 0 : from[j]; // NaN is kept
        else
            for (int j = 0; j < x.cols; j++)
                y[j] = from[j] * normal_below(from[j]);
    }
}

// The derivatives, with these letters:
//
//     z       for a number before the activation
//     Φ(z)    for the share of a normal distribution below z
//     x       for the input of the network and, in the code, of any function
//
//     relu'(z) = 1[z > 0]                       so 1 above zero and 0 below
//     gelu'(z) = Φ(z) + z Φ'(z)                 by the product rule
//              = Φ(z) + z e^(-z²/2) / √(2π)      since Φ' is the bell curve
//
// At 0, ReLU has a corner and no derivative; 0 is the usual choice. How to
// check it: GELU at 0 has slope 1/2, and gelu(z) - gelu(-z) = z, so that
// gelu'(z) + gelu'(-z) is 1 for every z.

// dy becomes dx, in place: dx = dy · activation'(x)
void activation_backward(Mat dy, Mat x, int activation) {
    SHAPE(dy, x.rows, x.cols);
    //@ exercise activation_backward
    const real density = (real)0.39894228040143268; // 1/√(2π)
    PARALLEL_FOR(size_of(x) * (activation == GELU ? 40 : 1))
    for (int i = 0; i < x.rows; i++) {
        real *d = row(dy, i);
        const real *from = row(x, i);
        if (activation == RELU)
            for (int j = 0; j < x.cols; j++)
                d[j] = (double)from[j] <= 0 ? 0 : d[j];
        else
            for (int j = 0; j < x.cols; j++) {
                real z = from[j];
                real bell = density * exponential((real)-0.5 * z * z);
                d[j] *= normal_below(z) + z * bell;
            }
    }
    //@ end
}

//@ run build/examples activation

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
    s->x = x;
    s->inner = linear_forward(pass, &w->inner, x);      // (1) widen
    s->active = arena_mat(pass->arena, x.rows, s->inner.cols);
    activation_forward(s->active, s->inner,
                       pass->config->activation);       // (2) bend
    s->dropout = next_dropout(pass, pass->config->activation_dropout);
    dropout(s->active, s->dropout);                     // (3) drop
    return linear_forward(pass, &w->outer, s->active);  // (4) narrow
}

// Backward, the same four steps in reverse. Step (4) needs its input, `active`;
// step (2) needs the input of the activation, `inner`; so the forward pass has
// saved both. Dropout needs nothing but its key.
//
// dx (N,D) and dw are added to; dout (N,D) given
void ffn_backward(Pass *pass, const FeedForwardSaved *s, const FeedForward *w,
                  FeedForward *dw, Mat dx, Mat dout) {
    size_t mark = pass->arena->used;
    SHAPE(dout, s->active.rows, w->outer.weight.cols);
    Mat dinner = arena_zeros(pass->arena, s->inner.rows, s->inner.cols);
    //@ exercise ffn_backward
    // (4) out = active W2 + b2
    linear_backward(dinner, &dw->outer, dout, s->active, &w->outer);
    // (3) active = dropout(activation(inner))
    dropout(dinner, s->dropout);
    // (2) activation(inner)
    activation_backward(dinner, s->inner, pass->config->activation);
    // (1) inner = x W1 + b1
    linear_backward(dx, &dw->inner, dinner, s->x, &w->inner);
    //@ end
    arena_release(pass->arena, mark);
}

//@ chapter residual
// # 6. Residual connections and layer normalization
//
// Two things hold a deep stack together. A *residual connection* (or skip
// connection) adds the input of a sub-layer (attention or feed-forward network)
// to its output, x + sublayer(x): the sub-layer needs to learn only what to
// change, and gradients have a direct path back to the first layer. *Layer
// normalization* brings the D numbers of each position back to mean 0 and
// variance 1, so that no layer drives the next out of its range.
//
//@ panel stage=encoder.0.self_attention.residual
//
// ## Layer normalization
//
//     y_j = gain_j (x_j - μ)/√(σ² + ε) + bias_j
//     μ = 1/D Σ_j x_j
//     σ² = 1/D Σ_j (x_j - μ)²
//
// Each row is normalized by itself: no position learns anything about another,
// and a sentence gives the same result alone and in a batch. Gain and bias are
// learned, one of each per column, so that the model can give each column its
// own scale and mean.
//
//@ panel stage=encoder.0.self_attention.n
//
// The variance is divided by D, not D-1, and ε, which is 1e-5 and keeps a row
// of equal numbers from being divided by zero, is inside the root. Tutorials
// differ in this; an example tells them apart:
//
//     x  = [1, 0, 0, 0]
//     μ  = 1/4
//     σ² = (9/16 + 3/16)/4 = 3/16
//     y  = [3/4, -1/4, -1/4, -1/4] / √(3/16) = [1.732, -0.577, -0.577, -0.577]
//
// With D-1 and ε outside the root the first number comes out as 1.5.

#define NORM_EPSILON 1e-5

typedef struct {
    Mat gain, bias; // (1,D)
} Norm;

typedef struct {
    Mat x;     // (N,D)
    Mat mean;  // (N,1) μ of each row
    Mat rstd;  // (N,1) 1/√(σ²+ε) of each row
} NormSaved;

// x (N,D) -> y (N,D)                                       [section 3.1, 5.4]
Mat norm_forward(Pass *pass, NormSaved *s, const Norm *w, Mat x) {
    int D = x.cols;
    s->x = x;
    s->mean = arena_mat(pass->arena, x.rows, 1);
    s->rstd = arena_mat(pass->arena, x.rows, 1);
    Mat out = arena_mat(pass->arena, x.rows, D);
    SHAPE(x, out.rows, w->gain.cols);
    PARALLEL_FOR(size_of(x) * 4)
    for (int i = 0; i < x.rows; i++) {
        const real *from = row(x, i);
        real *y = row(out, i);
        //@ exercise norm_forward
        real mean = sum(from, D) / (real)D;              // (1) μ
        for (int j = 0; j < D; j++)
            y[j] = from[j] - mean;
        real variance = dot(y, y, D) / (real)D;          // (2) σ²
        real rstd = 1 / REAL(sqrt)(variance + (real)NORM_EPSILON);
        for (int j = 0; j < D; j++)                      // (3) normalize
            y[j] = y[j] * rstd * w->gain.at[j] + w->bias.at[j];
        s->mean.at[i] = mean;
        s->rstd.at[i] = rstd;
        //@ end
    }
    return out;
}

//@ run build/examples norm

// ### The backward pass of a norm
//
// This gradient has a bad reputation, because μ and σ² depend on every x of the
// row, so that every result depends on every x. Begin with numbers: a row x of
// four, without ε. rstd is the reciprocal of its deviation, n is the normalized
// row, and dn the gradient that reaches n when dy is given.
//
//     x        = [0, 0, 4, 4]
//     μ        = 2
//     rstd     = 1/√4 = 1/2
//     n        = [-1, -1, 1, 1]              since n_j = (x_j - μ) rstd
//     gain     = [2, 1, 4, 2]
//     dy       = [0, 4, 1, 4]
//     dn       = [0, 4, 4, 8]                since dn_j = dy_j gain_j
//     dn_mean  = (0 + 4 + 4 + 8)/4 = 4
//     dnn_mean = (0 - 4 + 4 + 8)/4 = 2       since this is the mean of dn_j n_j
//     dx_0     = 1/2 (0 - 4 + 2) = -1
//     dx_1     = 1/2 (4 - 4 + 2) = 1
//     dx_2     = 1/2 (4 - 4 - 2) = -1
//     dx_3     = 1/2 (8 - 4 - 2) = 1
//     dgain    = [0, -4, 1, 4]               since dgain_j = dy_j n_j
//
// So dx is dn, less its mean, less n times dnn_mean, all times rstd. Why?
//
//@ figure norm-backward
//
// A norm ignores two changes of a row: a shift, which adds the same number to
// every x, and a stretch of all deviations from the mean. (In the example, [1,
// 1, 5, 5] and [-2, -2, 6, 6] give the same n.) Then the loss does not change,
// so nothing of dx may point in these two directions: that of the vector 1 =
// (1, 1, …, 1), and that of n. So take away the parts of dn along 1 and along
// n. What remains only has to be divided by σ, since a change h of x that goes
// in neither direction leaves μ and σ as they are and changes n by h/σ. (Its
// numbers sum to 0, so μ keeps its value; and σ² changes by 2σ/D times n · h,
// which is also 0.)
//
// The part of a row along 1 is its mean, in every column. The part of dn along
// n is n (dn · n)/(n · n), and n · n = D, since n has variance 1 (without ε):
// so it is n times the mean of all dn_j n_j. Taking one part away leaves the
// other as it is, because 1 and n are at right angles: the mean of n is 0.
//
// Taken one path at a time, the derivation is not hard either. For one row:
//
//     j           for a column, and p where a sum runs over all columns
//     x_j, y_j    for a number before and after the norm
//     n_j         for the normalized number, before gain and bias
//     dn_j        for the gradient that reaches n_j
//
//     rstd = 1/√(σ²+ε)
//     n_j  = (x_j - μ) rstd
//     y_j  = gain_j n_j + bias_j
//
// Three gradients are easy. Each row adds to those of gain and bias:
//
//     dgain_j = Σ_rows dy_j n_j
//     dbias_j = Σ_rows dy_j
//     dn_j    = dy_j gain_j
//
// Each x_j acts in three ways: directly through n_j, and on all n_p through μ
// and through rstd.
//
//     ∂μ/∂x_j    = 1/D
//     ∂σ²/∂x_j   = 1/D Σ_p 2 (x_p - μ) (1[j=p] - 1/D)    since μ moves, too
//                = 2 (x_j - μ)/D                  since Σ_p (x_p - μ) = 0
//     ∂rstd/∂x_j = -1/2 (σ²+ε)^(-3/2) ∂σ²/∂x_j    since rstd = (σ²+ε)^(-1/2)
//                = -1/2 rstd³ · 2 (x_j - μ)/D     since (σ²+ε)^(-3/2) = rstd³
//                = -rstd² n_j/D                   since n_j = (x_j - μ) rstd
//
//     ∂n_p/∂x_j = rstd (1[j=p] - 1/D)             by the product rule
//               + (x_p - μ) ∂rstd/∂x_j
//               = rstd (1[j=p] - 1/D)
//               - rstd n_p n_j/D                  since (x_p - μ) rstd = n_p
//
//     dx_j = Σ_p dn_p ∂n_p/∂x_j
//          = rstd dn_j                            through n_j itself
//          - rstd · 1/D Σ_p dn_p                  through μ
//          - rstd n_j · 1/D Σ_p dn_p n_p          through rstd
//          = rstd (dn_j - dn_mean - n_j dnn_mean)
//
// In the code, `dy_n` is dy times n: it holds the products dy_j n_j, because
// dgain needs their sums over the rows. They serve once more: times the gain,
// they are dn_j n_j, so the sum of the dn_j n_j in a row is `dot(dy_n, gain)`.
//
// How to check it: the dx of a row sum to zero, and Σ dx_j n_j is nearly zero
// (exactly zero if ε were 0). The two subtracted terms achieve just that.
//
// (A check of dx with the loss Σ y and gain 1 would notice nothing, not even
// that the backward pass is empty: with bias 0 that sum is zero whatever x is.)

// The code undoes steps (3), (2) and (1) together, by the formula for dx_j. dx
// (N,D) and dw are added to; dy (N,D) given.
void norm_backward(Pass *pass, const NormSaved *s, const Norm *w, Norm *dw,
                   Mat dx, Mat dy) {
    int N = dy.rows, D = dy.cols;
    size_t mark = pass->arena->used;
    SHAPE(dx, N, D);
    SHAPE(s->x, N, D);
    Mat dyn = arena_mat(pass->arena, N, D); // dy n, whose columns sum to dgain
    PARALLEL_FOR(size_of(dy) * 8)
    for (int i = 0; i < N; i++) {
        const real *x = row(s->x, i), *d = row(dy, i), *gain = w->gain.at;
        real *to = row(dx, i), *dy_n = row(dyn, i);
        real mean = s->mean.at[i], rstd = s->rstd.at[i];
        //@ exercise norm_backward
        for (int j = 0; j < D; j++)
            dy_n[j] = d[j] * ((x[j] - mean) * rstd);
        real dn_mean = dot(d, gain, D) / (real)D;
        real dnn_mean = dot(dy_n, gain, D) / (real)D;
        for (int j = 0; j < D; j++) {
            real n = (x[j] - mean) * rstd;
            to[j] += rstd * (d[j] * gain[j] - dn_mean - n * dnn_mean);
        }
        //@ end
    }
    add_column_sums(dw->gain, dyn);
    add_column_sums(dw->bias, dy);
    arena_release(pass->arena, mark);
}

//@ run build/examples norm_gradient

// ## Dropout
//
// In training, dropout sets each number of certain intermediate results to zero
// with probability p, so that the network cannot rely on any single one. This
// is a *regularization*: it works against overfitting (chapter 11). The numbers
// that stay are divided by 1-p, so that the expected value is the same as
// without dropout, and at *inference*, when the trained model is used, nothing
// needs to be done. [section 5.4]
//
//     x            4    1    3    2    5      mean 3; p = 0.4
//     dropped      4    0    3    0    5      two of five are gone
//     divided    6.67   0    5    0   8.33    by 0.6; mean 4, over many draws 3
//
// The backward pass must drop the gradients of the same numbers. Nothing is
// stored for that: whether a number is dropped depends only on its place and a
// key, which a `Dropout` remembers. Dropout is multiplication by a constant (0
// or 1/(1-p)), so its backward pass is the same function of the gradient.

// Multiplies x[j] by 0 or by 1/(1-p), for the n numbers of row i; forward and
// backward. Each row has its own key, made from key + i; number j is dropped if
// scrambling (row key) ^ j, an exclusive or, gives less than p · 2³².
void dropout_row(real *x, int n, int i, Dropout d) {
    if (d.rate == 0)
        return;
    //@ exercise dropout_row
    real scale = 1 / (1 - d.rate);
    uint32_t threshold = (uint32_t)(d.rate * 4294967296.0);
    uint32_t row_key = scramble32(d.key + (uint32_t)i);
    for (int j = 0; j < n; j++)
        x[j] *= scramble32(row_key ^ (uint32_t)j) < threshold ? 0 : scale;
    //@ end
}

void dropout(Mat x, Dropout d) {
    if (d.rate == 0)
        return;
    PARALLEL_FOR(size_of(x) * 2)
    for (int i = 0; i < x.rows; i++)
        dropout_row(row(x, i), x.cols, i, d);
}

//@ run build/examples dropout_mean

// ## Where the norm stands
//
// The paper normalizes after the addition, norm(x + sublayer(x)): *post-norm*.
// Most later models normalize the input of the sub-layer and leave the sum
// alone, x + sublayer(norm(x)): *pre-norm*. Then one path runs through the
// whole stack without any norm on it, and deep stacks train without trouble. A
// final norm is needed at the end, because the sum itself was never normalized.
//
//          post-norm                     pre-norm
//
//     x ──┬─ sublayer ─ + ─ norm ─    x ──┬─ norm ─ sublayer ─ + ─
//         └─────────────┘                 └────────────────────┘
//
//@ figure norms instead
//
// In code, h is the input of the sub-layer, and y its output:
//
//     post-norm    h = x           y = sublayer(h)    out = norm(x + y)
//     pre-norm     h = norm(x)     y = sublayer(h)    out = x + y
//
// The first column is `residual_enter`, the last one `residual_leave`.

//@ deviation
// Pre-norm is offered alongside the paper's post-norm, with one more norm at
// the end of each stack, which it needs.

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

// x + dropout(y), normalized or not; (N,D). The sum overwrites y.
Mat residual_leave(Pass *pass, ResidualSaved *s, const Norm *w, Mat x, Mat y) {
    s->dropout = next_dropout(pass, pass->config->dropout);
    //@ exercise residual_leave
    dropout(y, s->dropout);                              // (1) drop
    add(y, x);                                           // (2) add
    if (pass->config->norm == PRE_NORM)
        return y;
    return norm_forward(pass, &s->norm, w, y);           // (3) normalize
    //@ end
}

// Backward of leave. dout (N,D) is the gradient of out; in post-norm it
// first goes back through the norm (dw is added to). Then the gradient of the
// sum goes both ways, unchanged: it is added to dx; and, with the same dropout,
// it is returned as dy (N,D).
Mat residual_leave_backward(Pass *pass, const ResidualSaved *s, const Norm *w,
                            Norm *dw, Mat dx, Mat dout) {
    Mat dy = arena_zeros(pass->arena, dout.rows, dout.cols);
    //@ exercise residual_leave_backward
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
    //@ end
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

// How large are the numbers after several layers, in a fresh model? The next
// example prints the root of their mean square over all positions:
//
//@ run build/examples residual_paths

//@ chapter encoder
// # 7. The encoder
//
// ## Sub-layers
//
// The encoder gives each source word a vector that knows about the other words.
// Together these vectors are the *memory*, which the decoder reads. The encoder
// is a stack of layers; every layer, here and in the decoder, has two or three
// sub-layers. A sub-layer is attention or the feed-forward network with a
// residual connection around it: enter, do the work, leave (chapter 6).

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

// x (B·T,D), memory (B·S,D) -> (B·T,D). Queries come from x, keys and values
// from memory; or from x, too, if memory.at is NULL: self-attention.
//
// In pre-norm the queries come from norm(x), and in self-attention so do keys
// and values. The memory is taken as it is: the encoder has normalized it.
Mat attention_sublayer_forward(Pass *pass, AttentionSublayerSaved *s,
                               const AttentionSublayer *w, Mat x, Mat memory,
                               Mask mask) {
    Mat h = residual_enter(pass, &s->residual, &w->norm, x);
    Mat y = multi_head_forward(pass, &s->multi_head, &w->multi_head, h,
                               memory.at ? memory : h, mask);
    return residual_leave(pass, &s->residual, &w->norm, x, y);
}

// The gradient of x collects two parts: one that went straight through the
// addition, and one that went through the sub-layer.
//
//                    ┌────────── sub-layer ◄─ dy ─┐
//            dh ◄────┘                            │
//     dx ◄── + ◄──────────────────────────────────┴──── dsum
//
// dsum is the gradient of the sum x + dropout(y): in pre-norm dout itself, in
// post-norm the result of norm_backward. (In pre-norm dh also goes back through
// the norm before it is added.) The straight part is why deep stacks can be
// trained at all: it bypasses the sub-layer. In pre-norm it arrives unchanged;
// in post-norm it goes back through every norm on its way.

// dout (B·T,D) -> dx (B·T,D). dmemory (B·S,D; at = NULL for self-attention) and
// dw are added to. In self-attention d.x and d.memory are the same matrix.
Mat attention_sublayer_backward(Pass *pass, const AttentionSublayerSaved *s,
                                const AttentionSublayer *w,
                                AttentionSublayer *dw, Mat dmemory, Mat dout) {
    Mat dx = arena_zeros(pass->arena, dout.rows, dout.cols);
    size_t mark = pass->arena->used;
    //@ exercise attention_sublayer_backward
    Mat dh = arena_zeros(pass->arena, dout.rows, dout.cols);
    Mat dy = residual_leave_backward(pass, &s->residual, &w->norm, &dw->norm,
                                     dx, dout);
    MultiHeadSaved d = {.x = dh, .memory = dmemory.at ? dmemory : dh};
    multi_head_backward(pass, &d, &s->multi_head, &w->multi_head,
                        &dw->multi_head, dy);
    residual_enter_backward(pass, &s->residual, &w->norm, &dw->norm, dx, dh);
    //@ end
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
//
//@ figure encoder-layer

typedef struct {
    AttentionSublayer self_attention;
    FeedForwardSublayer feed_forward;
} EncoderLayer;

typedef struct {
    AttentionSublayerSaved self_attention;
    FeedForwardSublayerSaved feed_forward;
} EncoderLayerSaved;

// x (B·S,D), source_mask over the keys (B of S,S) -> (B·S,D)
Mat encoder_layer_forward(Pass *pass, EncoderLayerSaved *s,
                          const EncoderLayer *w, Mat x, Mask source_mask) {
    //@ exercise encoder_layer_forward
    Mat none = {0};
    x = attention_sublayer_forward(pass, &s->self_attention, &w->self_attention,
                                   x, none, source_mask);       // (1)
    return ffn_sublayer_forward(pass, &s->feed_forward, &w->feed_forward,
                                x);                             // (2)
    //@ end
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
// L layers, one on top of the other; each refines what the one below has made.
// The first sees words and positions; from the second on, each position already
// knows something of its sentence. In the second layer of our model, for
// example, "the", "red" and "fast" all look at "car" in one of the heads, with
// weights of 1.00, 0.99 and 1.00.
//
//@ figure mixture-encoder
//
// The encoder runs once for each sentence, all positions at the same time:
// there is no loop over words here, neither in training nor at inference. This
// sets the transformer apart from the recurrent networks before it.

typedef struct {
    EncoderLayer *layer; // L of them
    Norm norm;           // pre-norm only
} Encoder;

typedef struct {
    EncoderLayerSaved *layer; // L of them
    NormSaved norm;
} EncoderSaved;

// x: embedded source (B·S,D), source_mask over its keys -> (B·S,D), what the
// decoder will look at. x may come from chapter 4 or from anywhere else: an
// experiment can blank or exchange embeddings before it calls this.
Mat encoder_forward(Pass *pass, EncoderSaved *s, const Encoder *w, Mat x,
                    Mask source_mask) {
    int L = pass->config->layers;
    s->layer = arena_take(pass->arena, (size_t)L, sizeof *s->layer);
    for (int l = 0; l < L; l++)
        x = encoder_layer_forward(pass, &s->layer[l], &w->layer[l], x,
                                  source_mask);
    if (pass->config->norm == PRE_NORM)
        x = norm_forward(pass, &s->norm, &w->norm, x);
    return x;
}

//@ run build/examples encoder

// How to check it: besides the gradient check, blanking the embedding of one
// word changes the output at every position of that sentence and at none of
// another; and without positions, permuting the input permutes the output.

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

// ## A layer, flattened
//
// The calls go six deep. Here is a post-norm encoder layer as ten calls in a
// row, with the struct that keeps what the backward pass needs of each; `→ y`
// names the result.
//
//     linear_forward     x → q            self_attention.multi_head.q
//     linear_forward     x → k            self_attention.multi_head.k
//     linear_forward     x → v            self_attention.multi_head.v
//     attention_forward  q, k, v → c      self_attention.multi_head.weights,
//                                         .dropped, .context; for each head
//     linear_forward     c → y
//     norm_forward       x + drop(y) → x  self_attention.residual.norm
//     linear_forward     x → z            feed_forward.network.inner
//     activation_forward z → a            feed_forward.network.active
//     linear_forward     a → y
//     norm_forward       x + drop(y) → x  feed_forward.residual.norm
//
// Backward, the same ten in reverse. At both sums the gradient goes two ways,
// and it meets itself again at x: from q, from k, from v, and straight across.

//@ chapter decoder
// # 8. The decoder, and the whole model
//
// The decoder writes the translation. Its layers have three sub-layers:
// self-attention over what has been written so far (the mask hides the rest),
// *cross-attention*, whose queries come from the translation and whose keys and
// values come from the encoder, and the feed-forward network.
//
//     query  ← decoder       what do I need to write the next word?
//     key    ← encoder       which source word can say it?
//     value  ← encoder       what does it say?
//
//@ figure decoder-layer
//@ panel stage=decoder.1.cross_attention.weights&flow-head=0
//
// The weights of cross-attention have a row for each target word and a column
// for each source word. In a model that has learned to translate, they often
// lie on the word that is translated next. With "la voiture" written, "rouge"
// comes: in the last layer of our model, the query of "voiture" gives "red"
// 0.99, 1.00, 0.94 and 1.00 in the four heads. Chapter 13 draws such weights.
//
//@ figure mixture-decoder

typedef struct {
    AttentionSublayer self_attention, cross_attention;
    FeedForwardSublayer feed_forward;
} DecoderLayer;

typedef struct {
    AttentionSublayerSaved self_attention, cross_attention;
    FeedForwardSublayerSaved feed_forward;
} DecoderLayerSaved;

// The two masks of a pass (chapter 9 makes them).
typedef struct {
    Mask source; // (B of T,S): keys of the encoder and of cross-attention
    Mask target; // (B of T,T): keys of the decoder's self-attention
} Masks;

// x (B·T,D), memory: the encoder's output (B·S,D) -> (B·T,D)
Mat decoder_layer_forward(Pass *pass, DecoderLayerSaved *s,
                          const DecoderLayer *w, Mat x, Mat memory,
                          Masks masks) {
    //@ exercise decoder_layer_forward
    Mat none = {0};
    x = attention_sublayer_forward(pass, &s->self_attention, &w->self_attention,
                                   x, none, masks.target);      // (1)
    x = attention_sublayer_forward(pass, &s->cross_attention,
                                   &w->cross_attention, x, memory,
                                   masks.source);               // (2)
    return ffn_sublayer_forward(pass, &s->feed_forward, &w->feed_forward,
                                x);                             // (3)
    //@ end
}

// Every decoder layer looks at the encoder's output, so every layer adds to
// dmemory. Losing a part of it is the classic mistake of hand-written decoders:
// the encoder then learns less, or nothing, but the loss still falls, so that
// only a gradient check notices.

// dout (B·T,D) -> the gradient of the layer's input, (B·T,D); dmemory (B·S,D)
// and dw are added to
Mat decoder_layer_backward(Pass *pass, const DecoderLayerSaved *s,
                           const DecoderLayer *w, DecoderLayer *dw,
                           Mat dmemory, Mat dout) {
    //@ exercise decoder_layer_backward
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
    //@ end
}

//@ run build/examples memory_gradient

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
                    Mat memory, Masks masks) {
    int L = pass->config->layers;
    s->layer = arena_take(pass->arena, (size_t)L, sizeof *s->layer);
    for (int l = 0; l < L; l++)
        x = decoder_layer_forward(pass, &s->layer[l], &w->layer[l], x, memory,
                                  masks);
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
// of the decoder into V numbers, the *logits*, one for each word that could
// come next. Softmax turns them into probabilities; that is left to the loss.
//
//@ figure model
//
// The last layer and the target embedding are both tables with D numbers for
// each word. The paper makes them one [section 3.4]: a word's logit is then the
// dot product of what the decoder wants to say with the vector of that word.
// This is *weight tying*; `--tie` does it: `output.weight` is a view of the
// embedding, transposed. Both gradients add up in one matrix, without extra
// code.
//
//@ deviation
// Source and target have separate embeddings, since they have separate
// vocabularies, and tying is an option that joins target embedding and output.
// The paper has one vocabulary for both languages and shares all three.

//@ plumbing a list of all tensors, and their numbers in one block
// ## One list of all parameters
//
// Many tasks go through all parameters: counting them, placing them in memory,
// initializing them, clearing gradients, taking a step, checking, saving. None
// needs to know what a transformer is. They need a list of tensors, and all
// numbers in one block, so that clearing gradients or taking a step is one flat
// loop; the Mats of the model point into that block.
//
//     model    source_embedding   target_embedding   encoder.layer[0]…   …
//                    │                  │                 │
//     values   [ ─── V·D ─── │ ─── V·D ─── │ ─── D·D ─── │ D │ D·D │ D …  ]
//
// A parameter that is not in the list has no memory and is never trained.

enum { NAME_SIZE = 64 };

typedef struct {
    char text[NAME_SIZE];
} Name;

enum { INIT_XAVIER, INIT_ZEROS, INIT_ONES };

typedef struct {
    Name name;      // dotted: encoder.0.self_attention.query.weight
    Mat *mat;       // its place in the model
    int rows, cols;
    int init;       // how it begins: one of the constants above
} Tensor;

typedef struct {
    Tensor *tensor; // `tensors` of them
    int tensors;
    real *values;   // all their numbers, one tensor after the other
    size_t count;   // how many numbers
} TensorList;

// Two strings joined, for the names of tensors; fails if they do not fit.
Name join(const char *a, const char *b) {
    Name name;
    if (snprintf(name.text, NAME_SIZE, "%s%s", a, b) >= NAME_SIZE)
        fail("the name %s%s is too long", a, b);
    return name;
}

// Appends one tensor, without numbers yet.
void list_tensor(TensorList *l, Mat *mat, int rows, int cols, int init,
                 Name name) {
    size_t size = checked_product((size_t)rows, (size_t)cols);
    size_t count = (size_t)l->tensors + 1;
    l->tensor = reallocate(l->tensor, count, sizeof *l->tensor);
    l->tensor[l->tensors++] = (Tensor){name, mat, rows, cols, init};
    l->count = checked_product(l->count + size, 1); // fails if too large
}

// Takes memory for all numbers, zeros at first, and gives each tensor a place.
void place_tensors(TensorList *l) {
    real *next = l->values = allocate(l->count, sizeof(real));
    for (Tensor *t = l->tensor; t < l->tensor + l->tensors; t++) {
        *t->mat = mat(next, t->rows, t->cols);
        next += (size_t)t->rows * (size_t)t->cols;
    }
}

// Frees the numbers, and the list of tensors.
void list_free(TensorList *l) {
    free(l->tensor);
    free(l->values);
}

//@ core
// How a model begins. All zeros would not do: in a product of two matrices each
// gets its gradient through the other, so both would stay zero forever. Equal
// numbers would not do either: equal columns get equal gradients and stay
// equal. So every matrix begins with numbers spread evenly between
// ±√(6/(in+out)), which keeps the variance of signals about the same from layer
// to layer, forward and backward. (Glorot and Bengio, 2010; it is called Xavier
// initialization, after the first author. For a table, in is V and out is D.)
// Biases begin at 0, gains at 1.
void initialize(const TensorList *l, uint64_t seed) {
    for (int i = 0; i < l->tensors; i++) {
        const Tensor *t = &l->tensor[i];
        uint64_t state = random_key(seed, FOR_PARAMETERS, (uint64_t)i);
        double limit = sqrt(6.0 / (t->rows + t->cols));
        size_t count = (size_t)t->rows * (size_t)t->cols;
        for (size_t k = 0; k < count; k++) {
            double x = t->init == INIT_ONES ? 1 : 0;
            if (t->init == INIT_XAVIER)
                x = limit * (2 * uniform(&state) - 1);
            t->mat->at[k] = (real)x;
        }
    }
}

// ### What the list says
//
// Names and shapes (saved biases and gains have one dimension, (F) not (1,F)):
//
//     source_embedding.weight                      (V,D)  V of the source
//     target_embedding.weight                      (V,D)  V of the target
//     source_positions.weight                      (P,D)  if learned
//     target_positions.weight                      (P,D)  if learned
//     encoder.0.self_attention.query.weight        (D,D)  key, value, output
//     encoder.0.self_attention.query.bias          (1,D)  key, value, output
//     encoder.0.self_attention_norm.gain           (1,D)  and bias
//     encoder.0.feed_forward.inner.weight          (D,F)  and bias (1,F)
//     encoder.0.feed_forward.outer.weight          (F,D)  and bias (1,D)
//     encoder.0.feed_forward_norm.gain             (1,D)  and bias
//     encoder.norm.gain                            (1,D)  and bias, in pre-norm
//     decoder.0.self_attention…, self_attention_norm…
//     decoder.0.cross_attention…, cross_attention_norm…
//     decoder.0.feed_forward…, feed_forward_norm…
//     decoder.norm.gain                            (1,D)  and bias, in pre-norm
//     output.weight                                (D,V)  unless tied
//     output.bias                                  (1,V)
//
// `transformer info` counts them for any configuration (chapter 13).

//@ plumbing the tensors of each part, in the order of a saved model
// The parts of a model. A linear layer: a weight (in,out) and a bias (1,out).
void list_linear(TensorList *l, Linear *w, int in, int out, Name path) {
    list_tensor(l, &w->weight, in, out, INIT_XAVIER,
                join(path.text, ".weight"));
    list_tensor(l, &w->bias, 1, out, INIT_ZEROS, join(path.text, ".bias"));
}

// A norm: D gains and D biases.
void list_norm(TensorList *l, Norm *w, int D, Name path) {
    list_tensor(l, &w->gain, 1, D, INIT_ONES, join(path.text, ".gain"));
    list_tensor(l, &w->bias, 1, D, INIT_ZEROS, join(path.text, ".bias"));
}

// Attention: four linear layers, D to D, and the norm of its residual.
void list_attention(TensorList *l, AttentionSublayer *w, int D, Name path) {
    list_linear(l, &w->multi_head.query, D, D, join(path.text, ".query"));
    list_linear(l, &w->multi_head.key, D, D, join(path.text, ".key"));
    list_linear(l, &w->multi_head.value, D, D, join(path.text, ".value"));
    list_linear(l, &w->multi_head.output, D, D, join(path.text, ".output"));
    list_norm(l, &w->norm, D, join(path.text, "_norm"));
}

// The feed-forward network: D to F and back, and the norm of its residual.
void list_ffn(TensorList *l, FeedForwardSublayer *w, int D, int F, Name path) {
    list_linear(l, &w->network.inner, D, F, join(path.text, ".inner"));
    list_linear(l, &w->network.outer, F, D, join(path.text, ".outer"));
    list_norm(l, &w->norm, D, join(path.text, "_norm"));
}

// The encoder: L layers and, in pre-norm, a final norm.
void list_encoder(TensorList *l, Encoder *e, const Config *c) {
    int D = c->d_model;
    for (int i = 0; i < c->layers; i++) {
        char path[NAME_SIZE];
        EncoderLayer *w = &e->layer[i];
        snprintf(path, sizeof path, "encoder.%d.", i);
        list_attention(l, &w->self_attention, D, join(path, "self_attention"));
        list_ffn(l, &w->feed_forward, D, c->d_ff, join(path, "feed_forward"));
    }
    if (c->norm == PRE_NORM)
        list_norm(l, &e->norm, D, join("encoder", ".norm"));
}

// The decoder: the same with cross-attention.
void list_decoder(TensorList *l, Decoder *d, const Config *c) {
    int D = c->d_model;
    for (int i = 0; i < c->layers; i++) {
        char path[NAME_SIZE];
        DecoderLayer *w = &d->layer[i];
        snprintf(path, sizeof path, "decoder.%d.", i);
        list_attention(l, &w->self_attention, D, join(path, "self_attention"));
        list_attention(l, &w->cross_attention, D,
                       join(path, "cross_attention"));
        list_ffn(l, &w->feed_forward, D, c->d_ff, join(path, "feed_forward"));
    }
    if (c->norm == PRE_NORM)
        list_norm(l, &d->norm, D, join("decoder", ".norm"));
}

// A table with a row of D numbers for each of V tokens, or of P positions.
void list_table(TensorList *l, Mat *table, int rows, int D, const char *name) {
    list_tensor(l, table, rows, D, INIT_XAVIER, join(name, ".weight"));
}

// ### The model

typedef struct {
    Config config;
    Mat source_embedding;  // (V,D), V of the source language
    Mat target_embedding;  // (V,D), V of the target language
    Mat source_positions;  // (P,D), P = max_len + 1; at = NULL: none
    Mat target_positions;  // (P,D); the 1 is for the start or the end token
    Encoder encoder;
    Decoder decoder;
    Linear output;         // (D,V); tied: the target embedding, transposed
    TensorList list;       // of all the above
} Transformer;

//@ plumbing memory for a model and for its gradients
// The model and its list, without memory for the numbers. The order of the list
// is the order in a saved model (chapter 15).
Transformer *transformer_outline(const Config *c) {
    int D = c->d_model, P = c->max_len + 1, V = c->target_vocab;
    Transformer *t = allocate(1, sizeof *t);
    TensorList *l = &t->list;
    t->config = *c;
    t->encoder.layer = allocate((size_t)c->layers, sizeof *t->encoder.layer);
    t->decoder.layer = allocate((size_t)c->layers, sizeof *t->decoder.layer);
    list_table(l, &t->source_embedding, c->source_vocab, D, "source_embedding");
    list_table(l, &t->target_embedding, V, D, "target_embedding");
    if (c->positions == LEARNED) {
        list_table(l, &t->source_positions, P, D, "source_positions");
        list_table(l, &t->target_positions, P, D, "target_positions");
    }
    list_encoder(l, &t->encoder, c);
    list_decoder(l, &t->decoder, c);
    if (!c->tie)
        list_tensor(l, &t->output.weight, D, V, INIT_XAVIER,
                    join("output", ".weight"));
    list_tensor(l, &t->output.bias, 1, V, INIT_ZEROS, join("output", ".bias"));
    return t;
}

// Places the numbers of an outline. A tied output layer is not in the list: it
// reads the embedding's matrix in the other direction.
void transformer_place(Transformer *t) {
    place_tensors(&t->list);
    if (t->config.tie)
        t->output.weight = transposed(t->target_embedding);
}

// The table of sines and cosines is not in the list either, since it is not
// learned. Source and target share it.
void add_sinusoids(Transformer *t) {
    int P = t->config.max_len + 1, D = t->config.d_model;
    if (t->config.positions != SINUSOIDAL)
        return;
    real *table = allocate((size_t)P * (size_t)D, sizeof(real));
    t->source_positions = t->target_positions = mat(table, P, D);
    sinusoidal_positions(t->source_positions);
}

// The gradients of all parameters, zero. They have the struct of the model and
// so the same names: their encoder.layer[0] is the gradient of the model's.
Transformer *transformer_zeros(const Config *config) {
    Transformer *t = transformer_outline(config);
    transformer_place(t);
    return t;
}

// A model whose parameters are zero until `initialize` sets them.
Transformer *transformer_new(const Config *config) {
    Transformer *t = transformer_zeros(config);
    add_sinusoids(t);
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
    list_free(&t->list);
    free(t);
}

// ## Forward and backward through everything

// What the forward pass leaves for the backward pass, of all chapters together.
typedef struct {
    EmbeddingSaved source, target;
    EncoderSaved encoder;
    DecoderSaved decoder;
    Mat memory; // (B·S,D) the encoder's output
    Mat hidden; // (B·T,D) the decoder's output
} Saved;

// ids (B·S), source_mask over source keys -> memory (B·S,D)
Mat encode(Pass *pass, Saved *s, const Transformer *t, const int *ids, int S,
           Mask source_mask) {
    Mat x = embedding_forward(pass, &s->source, t->source_embedding,
                              t->source_positions, ids, S);
    s->memory = encoder_forward(pass, &s->encoder, &t->encoder, x, source_mask);
    return s->memory;
}

// ids (B·T), with the memory that encode has left in s -> logits (B·T,V).
// transformer_forward, which makes the masks and calls both, is in chapter 9.
Mat decode(Pass *pass, Saved *s, const Transformer *t, const int *ids, int T,
           Masks masks) {
    Mat x = embedding_forward(pass, &s->target, t->target_embedding,
                              t->target_positions, ids, T);
    s->hidden = decoder_forward(pass, &s->decoder, &t->decoder, x, s->memory,
                                masks);
    return linear_forward(pass, &t->output, s->hidden);
}

// Backward, everything in reverse. The one place to look at twice is dmemory:
// when the encoder's turn comes, all layers of the decoder have added to it.
//
//@ figure gradient-ways

// dlogits (B·T,V) -> all gradients, added to g, made by transformer_zeros
void transformer_backward(Pass *pass, const Saved *s, const Transformer *t,
                          Transformer *g, Mat dlogits) {
    Mat dmemory = arena_zeros(pass->arena, s->memory.rows, s->memory.cols);
    Mat dhidden = arena_zeros(pass->arena, s->hidden.rows, s->hidden.cols);
    linear_backward(dhidden, &g->output, dlogits, s->hidden, &t->output);
    Mat dtarget = decoder_backward(pass, &s->decoder, &t->decoder, &g->decoder,
                                   dmemory, dhidden);
    embedding_backward(&s->target, g->target_embedding, g->target_positions,
                       dtarget);
    Mat dsource = encoder_backward(pass, &s->encoder, &t->encoder, &g->encoder,
                                   dmemory);
    embedding_backward(&s->source, g->source_embedding, g->source_positions,
                       dsource);
}

//@ chapter masks
// # 9. Masks
//
// Which keys may a query see? Two rules decide, and both need only token ids.
//
// **Padding.** Sentences of a batch have different lengths, and a matrix is a
// rectangle, so short sentences are filled up with token 0, the pad. A pad has
// no meaning: no query may see it. The mask hides *keys* (columns); what a
// padded *query* (row) computes does not matter, since nobody looks at it and
// the loss does not count it. Hiding rows instead is a common mistake: the
// padding then still takes its share of everybody's attention.
//
// **The future.** In training the decoder is given the whole translation at
// once, and each position must predict the next word. It must not copy that
// word from one position ahead: query i sees keys 0 … i only. So the position
// that must say "rouge" sees "start la voiture" and no more. A model trained
// without this mask reaches a wonderful loss, by copying, and then translates
// nonsense, because at inference there is no next word to copy.
//
// Nor can the mask be dropped at inference: the parameters were learned with
// it. And it keeps a position's results from ever changing once they are
// computed, which chapter 12 makes good use of.
//
// Since a target's padding comes last, the future mask alone would hide it from
// every real word. It is masked all the same, so that the code is right
// wherever pads are.
//
//     source padding        causal               causal and padding
//     [5 7 2 0 0]           4 words              [1 6 0 0]
//     1 1 1 0 0             1 0 0 0              1 0 0 0
//     1 1 1 0 0             1 1 0 0              1 1 0 0
//     1 1 1 0 0             1 1 1 0              1 1 0 0
//     1 1 1 0 0             1 1 1 1              1 1 0 0
//     1 1 1 0 0
//
//@ figure masks instead
//@ panel stage=decoder.0.self_attention.weights

// The first token numbers are special: 0 is the pad, 1 the start and 2 the end
// of a sentence (elsewhere often called BOS and EOS), 3 an unknown word. Of the
// masks above, the second is for experiments and tests only.

enum { PAD, START, END, UNKNOWN, FIRST_TOKEN };

// ids (B·S) of the source, used by the encoder's self-attention and by
// cross-attention: the same row for every query.
Mask padding_mask(Arena *arena, const int *ids, int B, int S) {
    unsigned char *visible = arena_take(arena, (size_t)B, (size_t)S);
    //@ exercise padding_mask
    for (int i = 0; i < B * S; i++)
        visible[i] = ids[i] != PAD;
    //@ end
    return (Mask){visible, S, 0};
}

// Query i sees key j if j ≤ i: T × T, the same for every sentence.
Mask causal_mask(Arena *arena, int T) {
    unsigned char *visible = arena_take(arena, (size_t)T, (size_t)T);
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++)
            visible[(ptrdiff_t)i * T + j] = j <= i;
    return (Mask){visible, 0, T};
}

// Query i sees key j if j ≤ i and key j is not padding: T × T for each
// sentence. ids (B·T) of the target.
Mask causal_padding_mask(Arena *arena, const int *ids, int B, int T) {
    ptrdiff_t size = (ptrdiff_t)checked_product((size_t)T, (size_t)T);
    unsigned char *visible = arena_take(arena, (size_t)B, (size_t)size);
    //@ exercise causal_padding_mask
    for (int b = 0; b < B; b++)
        for (int i = 0; i < T; i++)
            for (int j = 0; j < T; j++)
                visible[b * size + (ptrdiff_t)i * T + j] =
                    j <= i && ids[b * T + j] != PAD;
    //@ end
    return (Mask){visible, size, T};
}

//@ run build/examples masks

//@ figure padding

// ## A batch through the model
//
// What the decoder reads is the translation after a start token; what it should
// say is the translation followed by an end token. Position by position, the
// second is one step ahead of the first:
//
//     source     the    red      car      is     fast    end
//     input      start  la       voiture  rouge  est     rapide
//     expected   la     voiture  rouge    est    rapide  end
//
// All positions are predicted at once, each from the *true* words before it,
// whatever the model itself would have said. This is called teacher forcing.
//
// How to check it: the tests change a later word of the target and find every
// earlier logit bit for bit the same; change the embedding of the pad and find
// the same loss; and find a sentence's results the same alone and in a batch.

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
    Masks masks = {
        .source = padding_mask(pass->arena, batch->source, B, S),
        .target = causal_padding_mask(pass->arena, batch->input, B, T),
    };
    pass->sentences = B;
    encode(pass, s, t, batch->source, S, masks.source);
    return decode(pass, s, t, batch->input, T, masks);
}

//@ run build/examples leak

//@ run build/examples model_gradient

//@ chapter batches
// # 10. Batches
//
// The model knows only numbers; how a text becomes numbers can wait until
// chapter 14. This chapter chooses which pairs of sentences are computed
// together, and packs them into rectangles. [section 5.1]
//
//     "la voiture rouge"                    a sentence
//     64 151 112 2                          its tokens; 2 is the end token
//     64 151 112 2 0 0                      a row of a batch: 0 is padding
//
//@ panel stage=source.embedding&panel=sentence
//
// ## Sentences of numbers
//
// A sentence is stored as the numbers of its tokens, followed by END, which the
// decoder must learn to write.

typedef struct {
    int *id;
    int length; // with END
} Sentence;

// Frees n sentences, and their list.
void sentences_free(Sentence *s, int n) {
    for (int i = 0; i < n; i++)
        free(s[i].id);
    free(s);
}

typedef struct {
    Sentence *source, *target; // `count` of each, as numbers
    int count;
    int too_long; // pairs that were left out
} Pairs;

// Frees the sentences of both sides.
void pairs_free(Pairs *p) {
    sentences_free(p->source, p->count);
    sentences_free(p->target, p->count);
}

// ## Which pairs make a batch?
//
// A batch is a rectangle, as long as its longest sentence. The rest of each row
// is padding, which is computed and thrown away. Take six sentences of 3, 9, 4,
// 10, 3 and 9 tokens. In two batches, 19 of their 57 places are padding, but
// sorted, in batches of 3 3 4 and 9 9 10, only 4 are:
//
//     3 9 4    w w w . . . . . .        sorted:    w w w .
//              w w w w w w w w w                   w w w .
//              w w w w . . . . .                   w w w w
//
//@ figure bucketing instead
//
// This is called bucketing. An epoch of `make run` has 101,000 tokens; without
// sorting it would compute 155,000 places, and sorted as below 115,000.
//
// But a gradient should come from a mixture of the data, a different one in
// each epoch. So shuffle all pairs; divide them into pools of eight batches;
// sort each pool by length; divide it into batches; and shuffle the batches, or
// an epoch would go from short to long again and again.
//
//     shuffled      7 2 9 4 | 3 8 2 6      lengths; a pool has two batches here
//     sorted        2 4 7 9 | 2 3 6 8
//     batches       2 4, 7 9, 2 3, 6 8
//     shuffled      6 8, 2 4, 2 3, 7 9     the epoch

//@ deviation
// A batch is a fixed number of sentence pairs. In the paper it is a number of
// tokens, about 25,000 a side, so that short sentences come in larger batches.

// Pools of one batch would save no padding; one pool of all would mix nothing.
enum { POOL = 8 }; // batches in a pool

// Shuffles n items of `width` numbers, pairs or whole batches: from the last to
// the first, each is swapped with itself or one before it (Fisher and Yates).
void shuffle(int *item, int n, int width, uint64_t key) {
    for (int i = n - 1; i > 0; i--) {
        int *a = item + (ptrdiff_t)i * width;
        int *b = item + (ptrdiff_t)(uniform(&key) * (i + 1)) * width;
        for (int k = 0; k < width; k++) {
            int kept = a[k];
            a[k] = b[k];
            b[k] = kept;
        }
    }
}

// Sorts n indices of sentences by length, going through the list once for each
// length. Sentences of equal length keep their order, so sorting by source and
// then by target orders pairs whose targets are equally long by their sources.
void sort_by_length(int *index, int n, const Sentence *s) {
    int *before = allocate((size_t)n, sizeof *before), done = 0;
    memcpy(before, index, (size_t)n * sizeof *before);
    for (int length = 0; done < n; length++)
        for (int i = 0; i < n; i++)
            if (s[before[i]].length == length)
                index[done++] = before[i];
    free(before);
}

// Batches of an epoch. The last one may be smaller than batch_size.
int batches_in_epoch(int pairs, int batch_size) {
    return pairs / batch_size + (pairs % batch_size > 0);
}

// order[i] is the index of the pair at place i, and batch k begins at place
// k·batch_size. The last batch, which may be smaller, stays the last.
void epoch_order(int *order, const Pairs *p, int batch_size, uint64_t seed,
                 int64_t epoch) {
    int64_t n = p->count, pool = (int64_t)POOL * batch_size;
    for (int i = 0; i < n; i++)
        order[i] = i;
    shuffle(order, p->count, 1, random_key(seed, FOR_ORDER, (uint64_t)epoch));
    for (int64_t i = 0; i < n; i += pool) {
        int size = (int)(pool < n - i ? pool : n - i);
        sort_by_length(order + i, size, p->source);
        sort_by_length(order + i, size, p->target);
    }
    shuffle(order, p->count / batch_size, batch_size,
            random_key(seed, FOR_BATCHES, (uint64_t)epoch));
}

// ## Packing
//
// What remains is to copy numbers into a rectangle.

// Packs the B sentences with these indices, one in each row, padded to the
// longest, whose length is stored in *length -> ids (B·length), in the arena
int *pack(Arena *arena, const Sentence *s, const int *index, int B,
          int *length) {
    *length = 0;
    for (int b = 0; b < B; b++)
        *length = max_int(*length, s[index[b]].length);
    if (*length > INT_MAX / 1024 / B) // weights: B·H·T rows, H up to 1024
        fail("a batch of %d sentences of up to %d tokens is too large", B,
             *length);
    int *ids = arena_take(arena, (size_t)(B * *length), sizeof *ids);
    for (int i = 0; i < B * *length; i++) {
        Sentence one = s[index[i / *length]];
        int place = i % *length;
        ids[i] = place < one.length ? one.id[place] : PAD;
    }
    return ids;
}

// A batch of the B pairs with these indices, in the arena. The decoder's input
// is what is expected, moved by one position (chapter 9).
Batch make_batch(Arena *arena, const Pairs *p, const int *index, int B) {
    Batch batch = {.sentences = B};
    batch.source = pack(arena, p->source, index, B, &batch.source_length);
    batch.expected = pack(arena, p->target, index, B, &batch.target_length);
    int T = batch.target_length;
    batch.input = arena_take(arena, (size_t)(B * T), sizeof(int));
    //@ exercise make_batch
    for (int i = 0; i < B * T; i++) {
        int before = i % T ? batch.expected[i - 1] : START;
        batch.input[i] = before == END ? PAD : before;
    }
    //@ end
    return batch;
}

//@ run build/examples batch

//@ chapter training
// # 11. Training
//
// Training repeats one step: run a batch forward, measure how wrong it was, run
// backward to find what each parameter contributed, and adjust each.
//
// ## The loss
//
// In training the decoder is given the right translation, one word behind, and
// at each position the *expected* word is the next one: *teacher forcing*
// (chapter 9).
//
// The logits of a position become probabilities by softmax. Why does the loss
// take their logarithm? The probabilities of the words of a sentence multiply
// to that of the sentence; logarithms add, so that each word has a term of its
// own. And the gradient of minus such a term with respect to the logits is very
// simple: all probabilities, less 1 for the expected word y.
//
//     p_j - 1[j=y]
//
// The loss is the negative logarithm of the probability given to the expected
// word, the *cross-entropy*: 0 when the model is sure and right, large when it
// is sure and wrong. Its unit is the nat (that of the natural logarithm, as in
// PyTorch). For one token, with the logits z,
//
//     loss = -log p_y = log Σ_j e^(z_j) - z_y
//
// The first term, the logarithm of the sum, is called log-sum-exp, or lse.
//
// Three numbers to judge a loss by: a model that knows nothing and finds all V
// words equally likely has the loss log V (for V = 150 that is 5.01); one that
// hesitates between two words has log 2 = 0.69; a perfect one has 0. The
// exponential of the loss, the *perplexity*, says between how many words it
// hesitates.
//
// The example of chapter 2 is a test sentence, which the model never trains on.
// After one step of training its loss is 5.9 nats a token, worse than knowing
// nothing. After 94, when every training pair has been seen once, it is 3.0,
// and the model translates "la voiture est très vieille est très petits". After
// 470 it is 0.0025, and the translation is right.
//
// In numbers, for three words with logits z = (1, 2, 0), if word 1 is expected:
//
//     e^z     2.718  7.389  1.000      sum 11.107     lse = log 11.107 = 2.408
//     softmax 0.245  0.665  0.090      loss = 2.408 - 2 = 0.408 = -log 0.665
//
//@ plumbing label smoothing: a little less certainty
// *Label smoothing* asks for a little less certainty: instead of giving all
// probability to the expected word, the target distribution q gives ε/V to
// every word and adds the remaining 1-ε to the expected one. [section 5.4]
//
//     z_j, p_j     for the logit and the probability of word j
//     q_j          for its share in the target distribution
//     y            for the expected word, and no longer for a result
//
//     q_j     = (1-ε) 1[j=y] + ε/V
//     lse     = log Σ_k e^(z_k)
//     log p_j = z_j - lse
//     loss    = -Σ_j q_j log p_j
//             = lse - Σ_j q_j z_j                   since Σ_j q_j = 1
//             = lse - (1-ε) z_y - ε/V Σ_j z_j
//
// The paper does not say how ε is spread. This is PyTorch's way, over all V
// words; others leave the expected one out. With smoothing even a perfect model
// has a loss above zero, so the cross-entropy without it is reported as well.

//@ core
// Padding is not counted. The loss of a batch is the mean over its tokens; the
// functions below return sums, and loss_backward divides by the count.
//
// Suppose that the car were green: "la voiture verte est rapide" is expected,
// where the model would write "rouge". One word of six is then very improbable,
// and it alone makes the loss:
//
//@ panel stage=output.loss&target=la+voiture+verte+est+rapide&panel=sentence

typedef struct {
    double loss;          // sum over the tokens, as trained (smoothed)
    double cross_entropy; // sum over the tokens, without smoothing
    int64_t tokens;       // expected tokens that are not padding
    int64_t correct;      // whose most probable word is the expected one
} Loss;

//@ plumbing sums over tokens, the largest logit, the sum of exponentials
// The sums of two parts of a batch, or of two batches.
Loss add_losses(Loss a, Loss b) {
    return (Loss){a.loss + b.loss, a.cross_entropy + b.cross_entropy,
                  a.tokens + b.tokens, a.correct + b.correct};
}

// The mean cross-entropy per token in nats, without label smoothing.
double average(Loss l) {
    return l.cross_entropy / l.tokens;
}

// The share of tokens whose most probable word is the right one, from 0 to 1.
// Like the mean loss, it is measured with teacher forcing.
double accuracy(Loss l) {
    return (double)l.correct / l.tokens;
}

// The tokens of a batch that count.
int64_t tokens_expected(const Batch *batch) {
    int64_t count = 0;
    for (int i = 0; i < batch->sentences * batch->target_length; i++)
        count += batch->expected[i] != PAD;
    return count;
}

// Index of the largest of x[first] … x[n-1]; ties go to the lowest index.
int arg_max(const real *x, int first, int n) {
    int best = first;
    for (int j = first + 1; j < n; j++)
        if ((double)x[j] > (double)x[best])
            best = j;
    return best;
}

// Σⱼ e^(x[j] - shift), n numbers
real sum_exponentials(const real *x, real shift, int n);

//@ core
// logits (N,V), expected (N), ε -> the sums; lse (N,1) is saved. An unknown
// word is never correct.
Loss loss_forward(Mat lse, Mat logits, const int *expected, double smoothing,
                  Arena *arena) {
    int N = logits.rows, V = logits.cols;
    size_t mark = arena->used;
    SHAPE(lse, N, 1);
    Loss total = {0}, *each = arena_take(arena, (size_t)N, sizeof *each);
    PARALLEL_FOR(size_of(logits) * 10)
    for (int i = 0; i < N; i++) {
        const real *z = row(logits, i);
        int y = expected[i];
        each[i] = (Loss){0};
        lse.at[i] = 0;
        if (y == PAD)
            continue;
        //@ exercise loss_forward
        int best = arg_max(z, 0, V);
        lse.at[i] = z[best] + REAL(log)(sum_exponentials(z, z[best], V));
        each[i].tokens = 1;
        each[i].correct = best == y && y != UNKNOWN;
        each[i].cross_entropy = lse.at[i] - z[y];
        each[i].loss = lse.at[i] - (1 - smoothing) * z[y]
                     - smoothing / V * sum(z, V);
        //@ end
    }
    for (int i = 0; i < N; i++)
        total = add_losses(total, each[i]);
    arena_release(arena, mark);
    return total;
}

// The backward pass has the most beautiful formula of all. The derivative of
// lse is softmax:
//
//     ∂lse/∂z_j = e^(z_j) / Σ_k e^(z_k) = p_j
//
// and Σ_k q_k z_k has the derivative q_j. So for a token dz_j is p_j - q_j, and
// in a mean over n tokens
//
//     dz_j = 1/n (p_j - q_j)
//
// It is what the model says minus what it should say. In the example above, one
// token without smoothing, dz = (0.245, 0.665 - 1, 0.090): the step against
// this gradient raises the second logit and lowers the others, each in
// proportion to its own probability.
//
// (The softmax_backward of chapter 2 leads to the same place, since dp_j is
// -q_j/p_j. But that quotient overflows where p_j is very small; in dz_j the
// p_j of the denominator has been canceled by hand.)
//
//@ figure logits
//
// How to check it: a row sums to zero, because the p_j and the q_j both sum to
// 1; rows of padding are zero.

// logits (N,V), lse (N,1) and expected (N) as in loss_forward; tokens: its
// count. dlogits (N,V) is written, not added to, and may be the logits
// themselves: each of them is needed just once more, here.
void loss_backward(Mat dlogits, Mat logits, Mat lse, const int *expected,
                   double smoothing, int64_t tokens) {
    int V = logits.cols;
    SHAPE(dlogits, logits.rows, V);
    SHAPE(lse, logits.rows, 1);
    real share = 1 / (real)tokens, even = (real)(smoothing / V);
    PARALLEL_FOR(size_of(logits) * 10)
    for (int i = 0; i < logits.rows; i++) {
        const real *z = row(logits, i);
        real *d = row(dlogits, i);
        if (expected[i] == PAD) {
            memset(d, 0, sizeof(real) * (size_t)V);
            continue;
        }
        //@ exercise loss_backward
        for (int j = 0; j < V; j++)
            d[j] = (exponential(z[j] - lse.at[i]) - even) * share;
        d[expected[i]] -= (real)(1 - smoothing) * share;
        //@ end
    }
}

// The program's own numbers for this example:
//
//@ run build/examples loss

//@ run build/examples loss_gradient

// ## Clipping
//
// Now and then a batch gives a very large gradient, and one such step can ruin
// a model. So if the gradient of all parameters, taken as one vector, is longer
// than a limit, it is shortened to that limit. Only the length changes, not the
// direction. (The length of a vector is called its *norm*; this has nothing to
// do with the norms of chapter 6.)

//@ deviation
// The gradient is clipped to a global norm, as in many training programs. The
// training that the paper describes, in its section 5, has no such step.

//@ plumbing the norm, always summed in the same order
// √Σ x² over n numbers: always in 64 parts, however many threads there are, so
// that the sum is always the same.
double l2_norm(const real *x, size_t n) {
    enum { PARTS = 64 };
    double part[PARTS], total = 0;
    size_t size = n / PARTS + 1;
    PARALLEL_FOR((double)n)
    for (int k = 0; k < PARTS; k++) {
        size_t first = (size_t)k * size < n ? (size_t)k * size : n;
        size_t count = n - first < size ? n - first : size;
        part[k] = dot(x + first, x + first, (int)count);
    }
    for (int k = 0; k < PARTS; k++)
        total += part[k];
    return sqrt(total);
}

//@ core
// The factor that brings a gradient of the given norm down to `clip`.
double clip_factor(double norm, double clip) {
    //@ exercise clip_factor
    return norm > clip ? clip / norm : 1;
    //@ end
}

//@ run build/examples clip

// ## Adam
//
// A plain step, *gradient descent*, would be p -= rate · g. The *optimizer*
// used here, Adam (Kingma and Ba, 2015), keeps two running means, or moments,
// of each parameter's gradient: m of the gradient itself, so that the noise of
// single batches cancels, and v of its square, so that every parameter moves by
// about the same amount however large its gradients are.
//
//     p         for a parameter; as in the code, and no longer a probability
//     g         for its gradient
//     m, v      for the two moments
//     β₁, β₂    for the share of the old value that each of them keeps
//     t         for the number of the step, from 1
//
//     m ← β₁ m + (1-β₁) g
//     v ← β₂ v + (1-β₂) g²
//     m̂ = m/(1-β₁ᵗ)
//     v̂ = v/(1-β₂ᵗ)
//     p ← p - rate · m̂ / (√v̂ + epsilon)
//
// Why divide by √v̂? It is about the size of the gradient: m̂/√v̂ has no unit,
// lies mostly between -1 and 1, and tells how sure the direction is. So `rate`
// is the length of a step, whatever the scale of the gradient.
//
// m and v start at zero and are too small at first. How much too small? If
// every gradient were g, the first three values of m would be
//
//     (1-β₁) g
//     (1-β₁) (1 + β₁) g = (1-β₁²) g
//     (1-β₁) (1 + β₁ + β₁²) g = (1-β₁³) g
//
// and after t steps (1-β₁ᵗ) g: the shares that m gives to the gradients so far
// sum to 1-β₁ᵗ. Divided by that sum they sum to 1, so m̂ is a weighted mean of
// the gradients. In the same way v̂ is a weighted mean of their squares. This
// division is called *bias correction*. [section 5.3]
//
// Follow one parameter whose gradient is always 3. After the first step m = 0.3
// and v = 0.18; m̂ = 0.3/0.1 = 3 and v̂ = 0.18/0.02 = 9; the step is rate ·
// 3/√9, just the rate. After the second it is the same. If the gradient were
// always 300, the step would still be the rate. What matters is whether it
// keeps its sign: if not, m is near 0, and the parameter hardly moves.

// n parameters, with everything that a step needs to know of them.
typedef struct {
    real *p, *m, *v;
    const real *gradient;
    size_t count;
    double beta1, beta2, epsilon;
} Adam;

// With the paper's constants. (PyTorch's defaults are 0.9, 0.999 and 1e-8.)
Adam paper_adam(real *p, real *m, real *v, const real *gradient, size_t count) {
    return (Adam){p, m, v, gradient, count, 0.9, 0.98, 1e-9};
}

// Both corrections are the same for all parameters, so they are computed once:
// `step` is rate/(1-β₁ᵗ), and `root` is 1/√(1-β₂ᵗ), by which √v is multiplied
// before epsilon is added. Some programs multiply the rate by √(1-β₂ᵗ) instead.
// Then epsilon weighs 1/√(1-β₂ᵗ) times as much: seven times in the first step.

// Without gradients, as for a rare word, m and v shrink in each step, until
// they are so small that processors take a hundred times as long for them
// (subnormal numbers). They are set to 0 long before that.
real without_dust(real x) {
    const double dust = 1e-30f;
    return fabs((double)x) < dust ? 0 : x;
}

// Step number t, from 1: p moves, m and v are brought up to date; the gradient
// is multiplied by `factor` first.
void adam_step(Adam a, double factor, double rate, int64_t t) {
    const real beta1 = (real)a.beta1, beta2 = (real)a.beta2;
    const real rest1 = (real)(1 - a.beta1), rest2 = (real)(1 - a.beta2);
    real step = (real)(rate / (1 - pow(a.beta1, (double)t)));
    real root = (real)(1 / sqrt(1 - pow(a.beta2, (double)t)));
    real f = (real)factor, epsilon = (real)a.epsilon;
    real *p = a.p, *m = a.m, *v = a.v;
    PARALLEL_FOR((double)a.count * 4)
    for (ptrdiff_t i = 0; i < (ptrdiff_t)a.count; i++) {
        //@ exercise adam_step
        real g = a.gradient[i] * f;
        m[i] = beta1 * m[i] + rest1 * g;
        v[i] = beta2 * v[i] + rest2 * g * g;
        p[i] -= step * m[i] / (REAL(sqrt)(v[i]) * root + epsilon);
        //@ end
        m[i] = without_dust(m[i]);
        v[i] = without_dust(v[i]);
    }
}

//@ run build/examples adam

// ## The learning rate
//
// At the start m̂ and v̂ rest on only a few gradients, so Adam takes full steps
// in directions that are mostly noise; and in a post-norm stack the layers near
// the output react most to that. Such steps can throw the model into a state
// from which it never recovers. So the rate rises in a straight line for w
// *warm-up* steps and then falls with the inverse square root. [section 5.3]
//
//     rate = peak · min(t/w, √(w/t))
//
//     peak ┤      ╱╲
//          │    ╱    ╲__
//          │  ╱         ╲____
//          │╱                ╲_________
//        0 ┼──────┬─────┬──────────────┬── t
//          0      w    2w             4w      half of the peak at 4w
//
//@ figure learning-rate instead
//
// With peak = (D · w)^(-1/2), the default, this is the paper's formula: wider
// models take smaller steps. It is often called noam, after Noam Shazeer, one
// of the paper's authors. A schedule that stays at the peak is offered too.

enum { NOAM, CONSTANT, SCHEDULES }; // Recipe.schedule; constant warms up too

//@ plumbing the hyperparameters, in one struct
// How to train: the *hyperparameters*, which are chosen and not learned. (The
// sizes in Config are such choices, too.) Chapter 15 has the defaults.
typedef struct {
    double rate;      // the peak of the learning rate
    int warmup;       // steps
    int schedule;
    double clip;      // largest norm of the gradient
    double smoothing; // ε
    int batch;        // sentences
    int epochs;       // passes through the data, unless `steps` is given
    int steps;        // steps in all; 0: as many as `epochs` take
    int seed;
} Recipe;

//@ core
// The rate of step t, which counts from 1.
double learning_rate(const Recipe *r, int64_t t) {
    //@ exercise learning_rate
    if (t < r->warmup)
        return r->rate * (double)t / r->warmup;
    return r->schedule == CONSTANT ? r->rate
                                   : r->rate * sqrt(r->warmup / (double)t);
    //@ end
}

//@ run build/examples schedule

// ## One step
//
// The function train_step, below, puts all pieces together.
//
//@ figure training-step
//
//@ plumbing the four blocks of numbers, and the report on a step
// Four blocks of numbers in the same order: parameters, gradients, m and v.

typedef struct {
    Recipe recipe;
    Transformer *model, *gradient;
    real *m, *v;    // Adam's moments, as many as there are parameters
    int64_t step;   // steps done
    Arena arena;
} Trainer;

// A report on one step.
typedef struct {
    int64_t step;         // its number, from 1
    Loss loss;            // of its batch
    double rate;          // learning rate
    double gradient_norm; // before clipping
} Step;

// Memory to train a model, which then belongs to the trainer. The caller gives
// all of it back with trainer_free.
Trainer trainer_new(Transformer *model, Transformer *gradient,
                    const Recipe *recipe) {
    size_t count = model->list.count;
    return (Trainer){.recipe = *recipe, .model = model, .gradient = gradient,
                     .m = allocate(count, sizeof(real)),
                     .v = allocate(count, sizeof(real))};
}

// Frees model, gradient and moments.
void trainer_free(Trainer *t) {
    transformer_free(t->model);
    transformer_free(t->gradient);
    free(t->m);
    free(t->v);
    arena_free(&t->arena);
}

//@ core
// A step has two halves. The first adds the gradient of a batch to the
// gradients that are there, and the caller says by how many tokens to divide:
// so a batch that is too large for one pass, or is shared by several machines,
// can be cut into parts, whose gradients add up to that of the whole.

// Forward, loss, backward. The gradient of the batch's summed loss, divided by
// `tokens`, is added to t->gradient. `noise` is the key of all its dropout.
Loss add_gradient(Trainer *t, const Batch *batch, int64_t tokens,
                  uint64_t noise) {
    double smoothing = t->recipe.smoothing;
    size_t mark = t->arena.used;
    Pass pass = {.arena = &t->arena, .config = &t->model->config,
                 .training = true, .noise = noise};
    // (1) forward and loss
    Saved saved;
    Mat logits = transformer_forward(&pass, &saved, t->model, batch);
    Mat lse = arena_mat(&t->arena, logits.rows, 1);
    Loss loss = loss_forward(lse, logits, batch->expected, smoothing,
                             &t->arena);
    // (2) backward
    loss_backward(logits, logits, lse, batch->expected, smoothing, tokens);
    transformer_backward(&pass, &saved, t->model, t->gradient, logits);
    arena_release(&t->arena, mark);
    return loss;
}

// The second half changes the parameters. If the loss or the gradient is not a
// finite number, the parameters and t->step stay as they were.
Step update(Trainer *t, Loss loss) {
    const TensorList *p = &t->model->list, *g = &t->gradient->list;
    Step s = {.step = t->step + 1, .loss = loss};
    // (3) clip and step
    s.gradient_norm = l2_norm(g->values, g->count);
    s.rate = learning_rate(&t->recipe, s.step);
    if (isfinite(s.gradient_norm) && isfinite(loss.loss)) {
        adam_step(paper_adam(p->values, t->m, t->v, g->values, p->count),
                  clip_factor(s.gradient_norm, t->recipe.clip), s.rate, s.step);
        t->step = s.step;
    }
    return s;
}

// The key of the noise in step t->step + 1.
uint64_t noise_of_step(const Trainer *t) {
    return random_key((uint64_t)t->recipe.seed, FOR_DROPOUT,
                      (uint64_t)t->step + 1);
}

// The whole step.
Step train_step(Trainer *t, const Batch *batch) {
    clear(t->gradient->list.values, t->gradient->list.count);
    return update(t, add_gradient(t, batch, tokens_expected(batch),
                                  noise_of_step(t)));
}

// ## How good is it?
//
// We measure the loss as in training, teacher-forced, but without dropout. On
// held-out data it tells whether the model has learned the language or only the
// sentences it has seen (*overfitting*).

//@ plumbing the loss of all pairs, batch by batch
// The sums over all pairs, in batches of batch_size. The arena is unchanged.
Loss evaluate_loss(const Transformer *model, const Pairs *p, int batch_size,
                   double smoothing, Arena *arena) {
    Loss total = {0};
    Pass pass = {.arena = arena, .config = &model->config};
    int *order = allocate((size_t)p->count, sizeof *order);
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

//@ core
// Which of the models that a run passes through should be used? The newest (the
// paper averages its newest few). Held-out data only show how good it is. Their
// loss would be a bad way to choose: it often rises while the model still gets
// better, because a model that is sure of itself pays dearly for each mistake.
// In one run on 4,691 real pairs, the model with the lowest loss had a BLEU
// (chapter 12) of 4.3, and the last one, with a much higher loss, 13.5.
// Choosing by accuracy hardly pays either: in four such runs it gained about
// one point at most.

// ## The loop
//
// The pairs in the batch of step t, and the numbers dropped in it, follow from
// the seed and t. So the loop can begin at any step: a training run that is
// interrupted and resumed ends in the same bits as one that is not, and the
// tests check that.

//@ plumbing which batch comes next
// How many steps the recipe asks for with that many pairs.
int64_t total_steps(const Recipe *r, int pairs) {
    if (r->steps > 0)
        return r->steps;
    return (int64_t)r->epochs * batches_in_epoch(pairs, r->batch);
}

// Pairs, and the order of the epoch in which they were last asked for.
typedef struct {
    const Pairs *pairs;
    int *order;    // as many as there are pairs
    int64_t epoch; // -1: none yet
} Course;

// The batch of the step that follows `step` steps, in the arena.
Batch next_batch(Course *c, const Recipe *r, int64_t step, Arena *arena) {
    int count = c->pairs->count, per_epoch = batches_in_epoch(count, r->batch);
    if (step / per_epoch != c->epoch) {
        c->epoch = step / per_epoch;
        epoch_order(c->order, c->pairs, r->batch, (uint64_t)r->seed, c->epoch);
    }
    int first = (int)(step % per_epoch) * r->batch;
    Batch batch = make_batch(arena, c->pairs, c->order + first,
                             min_int(r->batch, count - first));
    arena->sentences = batch.sentences;
    arena->tokens = max_int(batch.source_length, batch.target_length);
    return batch;
}

//@ core
// After each step the loop reports to its caller, which decides what to print,
// measure and save (chapter 16), and whether to continue.
typedef bool Reporter(void *context, const Step *step);

// Trains up to the recipe's total number of steps, from wherever the trainer
// is. Returns false if a loss or gradient was not finite; the parameters are
// then those of the step before.
bool train(Trainer *t, const Pairs *data, Reporter *reporter, void *context) {
    int64_t total = total_steps(&t->recipe, data->count);
    int *order = allocate((size_t)data->count, sizeof *order);
    Course course = {data, order, -1};
    bool finite = true, go_on = true;
    while (t->step < total && finite && go_on) {
        Batch batch = next_batch(&course, &t->recipe, t->step, &t->arena);
        Step step = train_step(t, &batch);
        arena_release(&t->arena, 0);
        finite = t->step == step.step;
        go_on = finite && reporter(context, &step);
    }
    free(order);
    return finite;
}

//@ figure loss

// ## Who calls whom
//
//     train_command                                                      16
//     └─ train ─ next_batch ─ epoch_order, make_batch                11, 10
//        └─ train_step                                                   11
//           ├─ add_gradient                                              11
//           │  ├─ transformer_forward ─ padding_mask, causal_…            9
//           │  │  ├─ encode ─ embedding_forward                        8, 4
//           │  │  │  └─ encoder_forward ─ encoder_layer_forward           7
//           │  │  │     ├─ residual_enter, residual_leave                 6
//           │  │  │     ├─ multi_head_forward ─ linear_forward            3
//           │  │  │     │  └─ attention_forward ─ softmax_forward         2
//           │  │  │     └─ ffn_forward                                    5
//           │  │  └─ decode ─ decoder_forward, with cross-attention       8
//           │  ├─ loss_forward, loss_backward                            11
//           │  └─ transformer_backward: all of the above, reversed        8
//           └─ update ─ l2_norm, clip_factor, adam_step                  11

//@ chapter decoding
// # 12. Decoding
//
// A trained model translates one word at a time: give the decoder what has been
// written so far, take the most probable next word, write it down, and repeat
// until it says *end*. What it writes becomes part of its next input; such a
// model is called *autoregressive*. The largest logit has the largest
// probability, so no softmax is needed to find it.
//
// This way of decoding is *greedy*: it never takes a word back. *Beam search*,
// which keeps several beginnings, follows.

//@ deviation
// A model is used as its training left it. The paper averages the parameters of
// its last checkpoints [section 6.1], which gives somewhat better sentences.

// ## The cache
//
// Done naively, each new word means running the decoder over all the old ones
// again: n words take 1 + 2 + … + n positions. But the mask keeps old positions
// from seeing new ones, so nothing that is computed for them changes, in
// particular not their keys and values. Those are kept in a *KV cache*, and
// each step computes only one new position. The keys and values of
// cross-attention come from the source alone and are computed once. So n words
// cost n positions. The cache is exact, not an approximation.
//
//     step 3, writing after "start la voiture":
//
//     query of "voiture"  →  cached keys:  start  la  voiture   (its own, just
//                            cached values:  ·     ·     ·       added)
//
//@ figure cache instead
//
//@ panel stage=output.probabilities&view=decoding&at=2

//@ plumbing room for keys and values
// Room for P positions is taken at the start. Row b·P + t of the cache belongs
// to position t of sentence b.

typedef struct {
    MultiHeadSaved self;  // k, v (B·P,D): P rows for each sentence, t in use
    MultiHeadSaved cross; // k, v (B·S,D)
} LayerCache;

typedef struct {
    const Transformer *model;
    int length;        // t: positions decoded
    Mask source_mask;
    LayerCache *layer; // L of them
} Cache;

// Room for the keys and values of that many positions.
MultiHeadSaved empty_cache(Arena *arena, const MultiHead *w, int rows) {
    return (MultiHeadSaved){.k = arena_mat(arena, rows, w->key.weight.cols),
                            .v = arena_mat(arena, rows, w->value.weight.cols)};
}

// Encodes the source, ids (B·S), and makes a cache for P positions in an arena.
Cache decoder_start(Pass *pass, const Transformer *t, const int *ids, int B,
                    int S, int P) {
    int L = t->config.layers;
    Arena *arena = pass->arena;
    Saved saved;
    Cache c = {.model = t};
    pass->sentences = B;
    c.source_mask = padding_mask(arena, ids, B, S);
    c.layer = arena_take(arena, (size_t)L, sizeof *c.layer);
    Mat memory = encode(pass, &saved, t, ids, S, c.source_mask);
    for (int l = 0; l < L; l++) {
        const DecoderLayer *w = &t->decoder.layer[l];
        c.layer[l].self = empty_cache(arena, &w->self_attention.multi_head,
                                      B * P);
        make_keys(pass, &c.layer[l].cross, &w->cross_attention.multi_head,
                  memory);
    }
    return c;
}

// Writes key and value of the new position t of each sentence, x (B,D), to rows
// b·P + t of the cache s. A view of these rows has the stride of a sentence.
void extend_cache(Pass *pass, MultiHeadSaved *s, const MultiHead *w, Mat x,
                  int t) {
    MultiHeadSaved own;
    make_keys(pass, &own, w, x);
    ptrdiff_t stride = s->k.rows / x.rows * s->k.row_stride;
    copy((Mat){row(s->k, t), x.rows, s->k.cols, stride, 1}, own.k);
    copy((Mat){row(s->v, t), x.rows, s->v.cols, stride, 1}, own.v);
}

//@ core
// The layer of chapter 8 for one new position in each sentence: x (B,D) ->
// (B,D). Self-attention needs no mask: the cache holds nothing later than x.
Mat decoder_layer_step(Pass *pass, const DecoderLayer *w, LayerCache *layer,
                       const Cache *c, Mat x) {
    const AttentionSublayer *self = &w->self_attention;
    const AttentionSublayer *cross = &w->cross_attention;
    int S = layer->cross.k.rows / x.rows;
    ResidualSaved r;
    FeedForwardSublayerSaved f;
    //@ exercise decoder_layer_step
    // (1) self-attention
    Mat h = residual_enter(pass, &r, &self->norm, x);
    extend_cache(pass, &layer->self, &self->multi_head, h, c->length);
    Mat y = attend(pass, &layer->self, &self->multi_head, h, c->length + 1,
                   (Mask){0});
    x = residual_leave(pass, &r, &self->norm, x, y);
    // (2) cross-attention
    h = residual_enter(pass, &r, &cross->norm, x);
    y = attend(pass, &layer->cross, &cross->multi_head, h, S, c->source_mask);
    x = residual_leave(pass, &r, &cross->norm, x, y);
    // (3) feed-forward network
    return ffn_sublayer_forward(pass, &f, &w->feed_forward, x);
    //@ end
}

// One step of the decoder: the last tokens, id (B), go in, and the logits of
// the next ones (B,V) come out. There is room for P steps.
Mat decoder_step(Pass *pass, Cache *c, const int *id) {
    const Transformer *t = c->model;
    Mat positions = t->target_positions;
    EmbeddingSaved e;
    if (positions.at)
        positions = slice_rows(positions, c->length, 1);
    Mat x = embedding_forward(pass, &e, t->target_embedding, positions, id, 1);
    for (int l = 0; l < t->config.layers; l++)
        x = decoder_layer_step(pass, &t->decoder.layer[l], &c->layer[l], c, x);
    if (t->config.norm == PRE_NORM) {
        NormSaved n;
        x = norm_forward(pass, &n, &t->decoder.norm, x);
    }
    c->length++;
    return linear_forward(pass, &t->output, x);
}

//@ run build/examples cache

// ## The loop
//
// All sentences of a batch take their steps together. A sentence that has said
// *end* is done; it stays in the batch, and its output is ignored, until the
// longest translation ends.
//
//     step   input             output
//        0   start    start    la       il
//        1   la       il       voiture  dort
//        2   voiture  dort     rouge    end     the second sentence is done
//        3   rouge    (end)    end      ·       and now the first
//
// A model that has learned little may never say *end*. So a translation is cut
// off when it has 50 tokens more than its source [section 6.1], or max_len.
// (*end* counts as one of them.)

//@ plumbing lengths, and the logarithm of a probability
// The most tokens of the translation of a source of S tokens, END included.
int longest_output(const Transformer *model, int S) {
    enum { MORE = 50 };
    return min_int(model->config.max_len, S - 1 + MORE);
}

// How many tokens a row has before its padding.
int tokens_in(const int *row, int length) {
    int n = 0;
    while (n < length && row[n] != PAD)
        n++;
    return n;
}

// How probable is a translation? The logarithms of its tokens' probabilities
// are added. Each is the logit minus the lse of chapter 11.
//
// log Σⱼ e^(z[j]), V numbers; the largest is taken out first, as in softmax
double log_sum_exp(const real *z, int V) {
    double largest = z[arg_max(z, 0, V)];
    return largest + log(sum_exponentials(z, (real)largest, V));
}

//@ core
// Translates the sources of a batch. out (B·P), with P = longest_output(model,
// S), receives the tokens, then END (unless it was cut off), then PAD; logs (B)
// receives the logarithm of each translation's probability.
void translate(const Transformer *model, const Batch *batch, int *out,
               double *logs, Arena *arena) {
    int B = batch->sentences, S = batch->source_length;
    int P = longest_output(model, S), open = B;
    size_t mark = arena->used;
    Pass pass = {.arena = arena, .config = &model->config};
    Cache cache = decoder_start(&pass, model, batch->source, B, S, P);
    int *id = arena_take(arena, (size_t)B, sizeof *id);
    bool *done = arena_take(arena, (size_t)B, sizeof *done);
    for (int b = 0; b < B; b++) {
        id[b] = START;
        done[b] = false;
        logs[b] = 0;
    }
    for (int i = 0; i < B * P; i++)
        out[i] = PAD;
    for (int t = 0; open > 0; t++) {
        size_t step_mark = arena->used;
        Mat logits = decoder_step(&pass, &cache, id);
        for (int b = 0; b < B; b++) {
            if (done[b])
                continue;
            //@ exercise translate
            id[b] = arg_max(row(logits, b), END, logits.cols);
            out[b * P + t] = id[b];
            done[b] = id[b] == END;
            open -= done[b];
            //@ end
            const real *z = row(logits, b);
            logs[b] += z[id[b]] - log_sum_exp(z, logits.cols);
            int tokens = tokens_in(batch->source + b * S, S);
            if (!done[b] && t + 1 == longest_output(model, tokens)) { // cut off
                done[b] = true;
                open--;
            }
        }
        arena_release(arena, step_mark);
    }
    arena_release(arena, mark);
}

//@ run build/examples decoding

// ## Beam search
//
// The best sentence need not begin with the best word. Here the model wavers
// after "il", and is nearly certain after "elle":
//
//     il      0.5        il dort      0.5 · 0.5 = 0.25
//     elle    0.4        elle dort    0.4 · 0.9 = 0.36
//
// Greedy decoding takes "il" and never sees the better sentence. A *beam
// search* keeps the N most probable beginnings, its open *hypotheses*. In each
// step every one is continued with every token of the vocabulary, and the N
// best of these N·V candidates are kept. With N = 1 this is greedy decoding.
// The paper takes N = 4.
//
// A candidate that ends with *end* is finished: it leaves the beam and is
// compared with the others that have finished. But every token makes the
// probability smaller, so a short sentence has an unfair advantage over a long
// one. That is why the logarithm of the probability is divided by a *length
// penalty* (Wu and others, 2016) [section 6.1]:
//
//     score = log p / ((5 + n) / 6)^A
//
// for a translation of n tokens, END included, whose probability is p. The
// paper has A = 0.6; A = 0 leaves the logarithms as they are. A score is below
// zero, so a larger divisor makes it better.
//
// When may the search stop? As a hypothesis grows, the logarithm can only fall.
// At best it falls no further while the sentence grows as long as is allowed,
// which gives it the largest divisor. If even then the best open hypothesis
// could not beat the best finished one, the search is over. With A = 0.6 and
// room for 20 tokens, for example:
//
//     finished, 5 tokens, logarithm -2     score -2 / (10/6)^0.6 = -1.47
//     open, so far -3                      at best -3 / (25/6)^0.6 = -1.27
//     open, so far -4                      at best -4 / (25/6)^0.6 = -1.70
//
// With the first of the two open ones the search goes on; the other alone could
// not win. (A wider beam does not always find a better score: N others that
// look better, and then disappoint, can push out what greedy decoding keeps.)

// A translation, finished or not, stored as its last token. The token before it
// is that of hypothesis `row` of the step before.
typedef struct {
    double sum; // of the logarithms of all its tokens; -∞: there is none
    int row, token;
} Hypothesis;

// The search for one sentence.
typedef struct {
    Hypothesis *step; // (P+1,N): after each step those that are open
    int longest;      // a translation has no more tokens
    Hypothesis best;  // of those that have finished
    double score;     // its score; -∞: none has finished
    int length;       // its tokens
} Beam;

// ((5 + length) / 6) to the power of A.
double length_penalty(int length, double A) {
    return pow((5.0 + length) / 6, A);
}

// The N best candidates, the best first, and how many there are: open
// hypotheses (N), each with one more token; logits (N,V). Ties go to the first.
int best_candidates(Hypothesis *best, const Hypothesis *open, Mat logits) {
    int N = logits.rows, count = 0;
    for (int r = 0; r < N && open[r].sum > -INFINITY; r++) {
        const real *z = row(logits, r);
        double lse = log_sum_exp(z, logits.cols);
        for (int token = END; token < logits.cols; token++) {
            Hypothesis h = {open[r].sum + (z[token] - lse), r, token};
            if (count == N && !(h.sum > best[N - 1].sum))
                continue;
            int place = count < N ? count++ : N - 1; // the last gives way
            for (; place > 0 && h.sum > best[place - 1].sum; place--)
                best[place] = best[place - 1];
            best[place] = h;
        }
    }
    return count;
}

// Keeps a finished translation of that length if it is the best so far.
void finish_hypothesis(Beam *b, Hypothesis h, int length, double A) {
    double score = h.sum / length_penalty(length, A);
    if (score > b->score) {
        b->score = score;
        b->best = h;
        b->length = length;
    }
}

// Step t of one sentence: with its logits (N,V), from the hypotheses of this
// step to those of the next -> how many of these are open; they come first
int beam_step(Beam *b, int t, Mat logits, double A) {
    int N = logits.rows, open = 0;
    Hypothesis *next = b->step + (t + 1) * N;
    int count = best_candidates(next, b->step + t * N, logits);
    //@ exercise beam_step
    for (int i = 0; i < count; i++)
        if (next[i].token == END || t + 1 == b->longest)
            finish_hypothesis(b, next[i], t + 1, A);
        else
            next[open++] = next[i];
    if (open && next[0].sum / length_penalty(b->longest, A) <= b->score)
        open = 0; // none can beat the best finished one
    //@ end
    for (int i = open; i < N; i++)
        next[i] = (Hypothesis){-INFINITY, i, PAD};
    return open;
}

//@ plumbing keys and values follow their hypotheses; the search of a batch
// Each hypothesis has a row of the batch, and rows of the cache. When it is
// continued in another row, or in two, its keys and values have to follow:
//
//     row   step t     step t + 1, from row     cached keys
//      0    il         elle dort     1          of row 1
//      1    elle       elle mange    1          of row 1, where they are
//
// Keys and values of cross-attention are the same in all rows of a sentence.

// Row r of B now continues row from[r]; m (B·P,D) is k or v, n positions in use
void reorder(Arena *arena, Mat m, const int *from, int B, int n) {
    int P = m.rows / B;
    size_t mark = arena->used;
    Mat old = arena_mat(arena, B * n, m.cols);
    for (int r = 0; r < B; r++)
        copy(slice_rows(old, r * n, n), slice_rows(m, from[r] * P, n));
    for (int r = 0; r < B; r++)
        copy(slice_rows(m, r * P, n), slice_rows(old, r * n, n));
    arena_release(arena, mark);
}

// The same for the whole cache: keys and values of each layer.
void reorder_cache(Arena *arena, Cache *c, const int *from, int B) {
    for (int l = 0; l < c->model->config.layers; l++) {
        reorder(arena, c->layer[l].self.k, from, B, c->length);
        reorder(arena, c->layer[l].self.v, from, B, c->length);
    }
}

// The best finished translation, from its last token back to its first, and
// padding up to P -> out (P)
void write_best(int *out, const Beam *b, int N, int P) {
    Hypothesis h = b->best;
    for (int t = P - 1; t >= 0; t--) {
        out[t] = t < b->length ? h.token : PAD;
        if (t < b->length)
            h = b->step[t * N + h.row];
    }
}

// A search with N hypotheses of up to P tokens. It begins with an empty one.
Beam beam_new(Arena *arena, int N, int P, int longest) {
    size_t places = (size_t)(P + 1) * (size_t)N;
    Beam b = {.longest = longest, .score = -INFINITY,
              .best = {.sum = -INFINITY}};
    b.step = arena_take(arena, places, sizeof *b.step);
    for (int i = 0; i < N; i++)
        b.step[i] = (Hypothesis){i ? -INFINITY : 0, i, START};
    return b;
}

// Like `translate`, but with a beam of N. Each source fills N successive rows
// of the batch, which has B·N rows. out (B·P), logs (B).
void beam_search(const Transformer *model, const Batch *batch, int N, int *out,
                 double *logs, Arena *arena) {
    const double A = 0.6; // [section 6.1]
    int rows = batch->sentences, B = rows / N, open = B;
    int S = batch->source_length, P = longest_output(model, S);
    size_t mark = arena->used;
    Pass pass = {.arena = arena, .config = &model->config};
    Cache cache = decoder_start(&pass, model, batch->source, rows, S, P);
    Beam *beam = arena_take(arena, (size_t)B, sizeof *beam);
    int *id = arena_take(arena, (size_t)rows, sizeof *id);
    int *from = arena_take(arena, (size_t)rows, sizeof *from);
    for (int b = 0; b < B; b++) {
        int tokens = tokens_in(batch->source + b * N * S, S);
        beam[b] = beam_new(arena, N, P, longest_output(model, tokens));
    }
    for (int t = 0; open > 0; t++) {
        size_t step_mark = arena->used;
        for (int r = 0; r < rows; r++)
            id[r] = beam[r / N].step[t * N + r % N].token;
        Mat logits = decoder_step(&pass, &cache, id);
        open = 0;
        for (int b = 0; b < B; b++)
            open += beam_step(&beam[b], t, slice_rows(logits, b * N, N), A);
        for (int r = 0; r < rows; r++)
            from[r] = r / N * N + beam[r / N].step[(t + 1) * N + r % N].row;
        reorder_cache(arena, &cache, from, rows);
        arena_release(arena, step_mark);
    }
    for (int b = 0; b < B; b++) {
        write_best(out + b * P, &beam[b], N, P);
        logs[b] = beam[b].best.sum;
    }
    arena_release(arena, mark);
}

//@ figure beam

//@ run build/examples beam

//@ plumbing sentences of similar length are translated together
// ## All sentences
//
// At most 64 rows are decoded at once: 64 sentences of similar length, or 16
// with a beam of four. The parameters are then read once for 64 words, which
// makes a model with a d_model of 512 seven times as fast. One that fits into
// the processor's cache, like that of `make run`, gains little, and loses if
// one translation never ends: the others have to wait for it.

// The translations of a batch: greedy, or with a beam of N, where each source
// fills N rows -> ids (B·P), in the arena
int *translate_batch(const Transformer *model, const Batch *batch, int N,
                     Arena *arena) {
    int B = batch->sentences / N;
    int P = longest_output(model, batch->source_length);
    int *out = arena_take(arena, (size_t)(B * P), sizeof *out);
    double *logs = arena_take(arena, (size_t)B, sizeof *logs);
    if (N == 1)
        translate(model, batch, out, logs, arena);
    else
        beam_search(model, batch, N, out, logs, arena);
    for (int b = 0; b < B; b++)
        if (!isfinite(logs[b]))
            fail("while translating, the model's numbers are not finite");
    return out;
}

// Translates n sentences, greedily with a beam of 1; result[i] ends with END
// unless it was cut off. The caller frees the sentences.
Sentence *translate_all(const Transformer *model, const Sentence *source, int n,
                        int beam, Arena *arena) {
    enum { ROWS = 64 };
    Sentence *result = allocate((size_t)n, sizeof *result);
    int *order = allocate((size_t)n, sizeof *order);
    for (int i = 0; i < n; i++)
        order[i] = i;
    sort_by_length(order, n, source);
    for (int first = 0, B; first < n; first += B) {
        size_t mark = arena->used;
        B = min_int(max_int(ROWS / beam, 1), n - first);
        int *index = arena_take(arena, (size_t)(B * beam), sizeof *index);
        for (int r = 0; r < B * beam; r++)
            index[r] = order[first + r / beam]; // each source in N rows
        Batch batch = {.sentences = B * beam};
        batch.source = pack(arena, source, index, B * beam,
                            &batch.source_length);
        int *out = translate_batch(model, &batch, beam, arena);
        int P = longest_output(model, batch.source_length);
        for (int b = 0; b < B; b++, out += P) {
            int tokens = tokens_in(out, P);
            size_t size = (size_t)tokens * sizeof *out;
            int *id = memcpy(allocate(size, 1), out, size);
            result[order[first + b]] = (Sentence){id, tokens};
        }
        arena_release(arena, mark);
    }
    free(order);
    return result;
}

// ## Is it a good translation?
//
// Besides the loss there are two measures of whole translations. *Exact match*
// is the share of sentences that agree with the reference word for word. *BLEU*
// (Papineni and others, 2002) asks what share pₙ of the runs of n words also
// occurs in the reference, for n from 1 to 4. It is the geometric mean of the
// four shares, times a penalty for being too short.
//
//     bleu = min(1, e^(1 - r/c)) (p_1 p_2 p_3 p_4)^(1/4)
//
// with c words in all translations and r in all references. A run counts no
// more often than it occurs in the reference. Unknown words never match.
//
//     reference    la voiture rouge est rapide        r = 5
//     translation  la voiture verte est rapide        c = 5
//     p  4/5 words, 2/4 pairs (la voiture, est rapide), 0/3 triples: BLEU 0
//
// BLEU is meant for whole files, where some longer runs always match; that is
// why the counts of all sentences are added up first. A translation of fewer
// than n words counts as one run of n words that does not match, as in NLTK,
// whose corpus_bleu gives the same numbers.

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

// How many words a sentence has, without END.
int words_of(Sentence s) {
    return s.length && s.id[s.length - 1] == END ? s.length - 1 : s.length;
}

// How many of n tokens are unknown.
int unknowns(const int *id, int n) {
    int count = 0;
    for (int i = 0; i < n; i++)
        count += id[i] == UNKNOWN;
    return count;
}

// Adds one translation, of c words, and its reference, of r, to the counts.
void add_match(Match *m, Sentence s, Sentence reference) {
    int c = words_of(s), r = words_of(reference);
    m->exact += s.length == reference.length && unknowns(s.id, s.length) == 0
             && !memcmp(s.id, reference.id, sizeof(int) * (size_t)s.length);
    m->sentences++;
    m->length += c;
    m->reference += r;
    for (int n = 1; n <= 4; n++) {
        m->runs[n - 1] += max_int(c - n + 1, 1);
        for (int i = 0; i + n <= c; i++) {
            // the k-th occurrence counts if the reference has at least k
            const int *run = s.id + i;
            int k = occurrences(run, n, s.id, i + n);
            m->matched[n - 1] += unknowns(run, n) == 0
                              && k <= occurrences(run, n, reference.id, r);
        }
    }
}

// BLEU in percent; 0 if no run of some length matches.
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
// The model that `make run` trains is a quarter of a million numbers that
// nobody can read. But some of what it computes has a meaning by design: an
// attention weight says how much of one token went into another. This chapter
// writes the weights to a file for plotting programs, draws them in the
// terminal, and counts parameters and memory. (All numbers for "the red car is
// fast", here and in earlier chapters, are those of that model: `make run`
// trains the same on every machine, to the last bit.)
//
// ## Finding the weights
//
// The forward pass saved the weights for the backward pass. There are three
// kinds, each with L layers of H heads:
//
//     kind      queries                keys                   matrix
//     encoder   source                 source                 (S,S)
//     decoder   start, target tokens   start, target tokens   (T,T)
//     cross     start, target tokens   source                 (T,S)

enum { ENCODER, DECODER, CROSS, KINDS };
const char *const kind_name[KINDS] = {"encoder", "decoder", "cross"};

// The weights of one head in one layer, for a batch of one sentence, as a view.
// Row i shows how query i distributes its attention; it sums to 1.
Mat attention_of(const Saved *s, int kind, int layer, int h, int H) {
    const DecoderLayerSaved *d = &s->decoder.layer[layer];
    Mat all = kind == DECODER ? d->self_attention.multi_head.weights
            : kind == CROSS ? d->cross_attention.multi_head.weights
            : s->encoder.layer[layer].self_attention.multi_head.weights;
    return slice_rows(all, h * (all.rows / H), all.rows / H);
}

// Runs one pair of sentences through the model, teacher-forced; s then holds
// the weights. Returns the batch, whose tokens are those of rows and columns.
Batch look(Pass *pass, Saved *s, const Transformer *t, Sentence source,
           Sentence target) {
    Pairs one = {&source, &target, 1, 0};
    Batch batch = make_batch(pass->arena, &one, (const int[]){0}, 1);
    Mat logits = transformer_forward(pass, s, t, &batch);
    for (ptrdiff_t i = 0; i < (ptrdiff_t)logits.rows * logits.cols; i++)
        if (!isfinite((double)logits.at[i]))
            fail("the model's numbers are not finite");
    return batch;
}

//@ run build/examples look

//@ plumbing the weights as CSV
// ## As a file
//
// One line for each weight, tidy, for pandas, R and gnuplot; masked ones are 0.
//
//     kind,layer,head,query,key,weight,query_token,key_token
//     encoder,0,0,0,0,0.000705988437,"the","the"
//     encoder,0,0,0,1,0.00148793031,"the","red"
//
// Nine digits restore a float exactly. Tokens are always quoted, since a comma
// can be a token; quotes in them are doubled (RFC 4180).

#define CSV_HEADER "kind,layer,head,query,key,weight,query_token,key_token\n"

// Writes a token in quotes, followed by the character `end`.
void write_quoted(FILE *file, const char *token, char end) {
    fputc('"', file);
    for (; *token; token++)
        fprintf(file, *token == '"' ? "\"\"" : "%c", *token);
    fprintf(file, "\"%c", end);
}

// All weights of all kinds, layers and heads; pass and s are those of look().
// The names are the tokens that the encoder and the decoder have read.
void write_attention_csv(FILE *file, const Pass *pass, const Saved *s,
                         const char *const *source, const char *const *input) {
    int L = pass->config->layers, H = pass->config->heads;
    fputs(CSV_HEADER, file);
    for (int n = 0; n < KINDS * L * H; n++) {
        int kind = n / (L * H), l = n / H % L, h = n % H;
        const char *const *query = kind == ENCODER ? source : input;
        const char *const *key = kind == DECODER ? input : source;
        Mat w = attention_of(s, kind, l, h, H);
        for (int i = 0; i < w.rows; i++)
            for (int j = 0; j < w.cols; j++) {
                fprintf(file, "%s,%d,%d,%d,%d,%.9g,", kind_name[kind], l, h,
                        i, j, (double)*at(w, i, j));
                write_quoted(file, query[i], ',');
                write_quoted(file, key[j], '\n');
            }
    }
}

// ## As a picture
//
// Rows are queries, columns are keys; the fuller a cell, the larger its weight.
//
//                           <
//                         f e
//                 t r c   a n
//                 h e a i s d
//                 e d r s t >
//            la |##  ::      |
//       voiture |    @@      |
//         rouge |  @@        |
//           est |      %%  ..|
//        rapide |        @@  |
//         <end> |          @@|
//
// This is layer 1, the second of two; each cell is the mean of four heads. It
// shows what no loss can: French puts the color after the noun, so the model
// looks at "car" to write "voiture" and then goes back to "red" for "rouge". To
// write "la" one of the four heads looks at "car", since the article takes the
// noun's gender.
//
//@ figure cross-attention
//
//@ figure cross-attention-large
//
// Do not read too much into such a picture. Attention tells where values came
// from, not what they held: in the encoder, each position has looked at all
// others.

//@ plumbing how wide a text is in a terminal; the picture, line by line
// From chapter 14, for the character at `s` in UTF-8.
int utf8_number(const char *s); // its number, or -1 if it is not valid
int utf8_length(const char *s); // its length in bytes, or 0

// Characters that take no column in a terminal, mostly combining marks, and
// those that take two: ranges in hexadecimal. (Rare scripts are left out.)
const char no_column[] =
    "300-36f 483-489 591-5bd 5bf 5c1-5c2 5c7 " // Latin, Cyrillic, Hebrew
    "610-61a 61c 64b-65f 670 6d6-6dc 6df-6e4 6e7-6e8 6ea-6ed "    // Arabic
    "8ca-8e1 8e3-902 93c 941-948 94d 951-957 962-963 "        // Devanagari
    "981 9bc 9c1-9c4 9cd a01-a02 a3c a41-a51 a70-a71 " // Bengali, Gurmukhi
    "a81-a82 abc ac1-ac8 acd b01 b3c b3f b41-b44 b4d-b56 " // Gujarati, Odia
    "bc0 bcd c3e-c40 c46-c56 cbc cbf cc6 ccc-ccd " // Tamil, Telugu, Kannada
    "d41-d44 d4d dca dd2-dd6 7a6-7b0 "        // Malayalam, Sinhala, Thaana
    "e31 e34-e3a e47-e4e eb1 eb4-ebc ec8-ecd "                 // Thai, Lao
    "f71-f7e f80-f84 f86-f87 f8d-fbc "                           // Tibetan
    "102d-1030 1032-1037 1039-103a 103d-103e "                   // Burmese
    "17b4-17b5 17b7-17bd 17c6 17c9-17d3 17dd "                     // Khmer
    "1160-11ff 200b-200f 2028-202e 2060-206f 20d0-20f0 3099-309a fe00-fe0f";
const char two_columns[] = // East Asian characters and emoji
    "1100-115f 2e80-a4cf ac00-d7a3 f900-faff fe30-fe6f ff01-ff60 ffe0-ffe6 "
    "1f300-1faff 20000-3fffd";

// Whether a character is in one of the ranges.
bool in_ranges(long c, const char *ranges) {
    for (char *r = (char *)ranges; *r;) {
        long first = strtol(r, &r, 16);
        long last = *r == '-' ? strtol(r + 1, &r, 16) : first;
        if (first <= c && c <= last)
            return true;
    }
    return false;
}

// The columns that a text takes in a terminal.
int columns(const char *s) {
    int n = 0;
    for (int c; (c = utf8_number(s)) > 0; s += utf8_length(s))
        n += in_ranges(c, no_column) ? 0 : in_ranges(c, two_columns) ? 2 : 1;
    return n;
}

// The last n characters of a text; NULL if it has fewer. (A byte with the bits
// 10xxxxxx does not begin a character, see chapter 14.)
const char *last_characters(const char *s, int n) {
    const char *c = s + strlen(s);
    while (n > 0 && c > s)
        n -= (*--c & 0xc0) != 0x80;
    return n ? NULL : c;
}

// Draws weights (T,S), with T names for the rows and S for the columns. A cell
// is two columns wide and has one of ten shades, for weights below 0.1, 0.2 …
void draw_attention(FILE *file, Mat weights, const char *const *row_name,
                    const char *const *col_name) {
    int width = 0, height = 0;
    for (int i = 0; i < weights.rows; i++)
        width = max_int(width, columns(row_name[i]));
    for (int j = 0; j < weights.cols; j++)
        while (last_characters(col_name[j], height + 1))
            height++;
    // (1) the names of the columns, all ending in the last line
    for (int line = height; line > 0; line--) {
        fprintf(file, "  %*s  ", width, "");
        for (int j = 0; j < weights.cols; j++) {
            const char *s = last_characters(col_name[j], line);
            char c[5];
            sprintf(c, "%.*s", s ? utf8_length(s) : 1, s ? s : " ");
            fprintf(file, "%*s%s", 2 - columns(c), "", c);
        }
        fputc('\n', file);
    }
    // (2) the rows
    for (int i = 0; i < weights.rows; i++) {
        int indent = width - columns(row_name[i]);
        fprintf(file, "  %*s%s |", indent, "", row_name[i]);
        for (int j = 0; j < weights.cols; j++) {
            real w = *at(weights, i, j); // NaN if the model is broken
            char c = (double)w >= 0 ? " .:-=+*#%@"[min_int((int)(w * 10), 9)]
                                    : '?';
            fprintf(file, "%c%c", c, c);
        }
        fputs("|\n", file);
    }
}

// The ending of a plural: "s", unless there is only one.
const char *plural(int64_t n) {
    return n == 1 ? "" : "s";
}

// Draws cross-attention, layer by layer, as the mean of its heads; pass and s
// are those of look(). A row is named by the token written there.
void draw_cross_attention(FILE *file, Pass *pass, const Saved *s,
                          const char *const *written,
                          const char *const *source) {
    size_t mark = pass->arena->used;
    int H = pass->config->heads;
    for (int l = 0; l < pass->config->layers; l++) {
        Mat first = attention_of(s, CROSS, l, 0, H);
        Mat mean = arena_zeros(pass->arena, first.rows, first.cols);
        for (int h = 0; h < H; h++)
            add(mean, attention_of(s, CROSS, l, h, H));
        scale_by(mean, 1 / (real)H);
        fprintf(file, "%scross-attention, layer %d, mean of %d head%s\n\n",
                l ? "\n" : "", l, H, plural(H));
        draw_attention(file, mean, written, source);
    }
    arena_release(pass->arena, mark);
}

// ## Where the parameters are
//
// Chapter 8 lists all tensors, and the name of each says what it is for. So a
// table of parameters is a loop over that list.

enum { COMPONENTS = 7 };
const char *const component_name[COMPONENTS] = {
    "embedding", "positions", "attention", "cross-attention", "feed-forward",
    "norms", "output layer"};

// The component of a tensor: the last one whose word is in its name
// ("cross_attention_norm" contains three), else the output layer.
int component_of(const char *name) {
    const char *word[] = {"embedding", "positions", "attention",
                          "cross_attention", "feed_forward", "norm"};
    for (int c = COMPONENTS - 2; c >= 0; c--)
        if (strstr(name, word[c]))
            return c;
    return COMPONENTS - 1;
}

// Whether a tensor is on the encoder's side; the output layer is on the other.
bool in_encoder(const char *name) {
    return !strncmp(name, "encoder", 7) || !strncmp(name, "source", 6);
}

// 24034304 as "24,034,304"; `to` needs 32 bytes.
const char *with_commas(char *to, size_t n) {
    if (n < 1000)
        sprintf(to, "%zu", n);
    else
        sprintf(to + strlen(with_commas(to, n / 1000)), ",%03zu", n % 1000);
    return to;
}

// Prints how many parameters each component has, and its share of its side.
void print_parameters(FILE *file, const TensorList *l) {
    size_t count[2][COMPONENTS] = {{0}}, total[2] = {0};
    char text[32];
    for (int i = 0; i < l->tensors; i++) {
        const char *name = l->tensor[i].name.text;
        size_t size = (size_t)l->tensor[i].rows * (size_t)l->tensor[i].cols;
        int side = !in_encoder(name);
        count[side][component_of(name)] += size;
        total[side] += size;
    }
    for (int side = 0; side < 2; side++) {
        fputs(side ? "decoder\n" : "encoder\n", file);
        for (int c = 0; c < COMPONENTS; c++)
            if (count[side][c])
                fprintf(file, "  %-16s %15s  %5.1f %%\n", component_name[c],
                        with_commas(text, count[side][c]),
                        100 * (double)count[side][c] / (double)total[side]);
        fprintf(file, "  %-16s %15s\n", "total",
                with_commas(text, total[side]));
    }
    fprintf(file, "parameters         %15s\n", with_commas(text, l->count));
}

//@ run ./transformer info --layers 6 --d-model 512 --heads 8

// ## How much memory a training step takes
//
// A step needs room for four numbers for each parameter (chapter 11) and for
// what the forward pass saves. Count the matrices in chapters 3 to 8, with N =
// B·S rows in the encoder, M = B·T in the decoder, and two copies of the
// attention weights if dropout acts on them:
//
//     encoder = 8 N D + 2 N F + 2 B H S²                      in each layer
//     decoder = 12 M D + 2 N D + 2 M F + 2 B H T (T + S)      in each layer
//     ends    = N D + M D + M V                 in embeddings and logits
//
// For instance, 8 N D is made of q, k, v, the context, the output of attention
// (which the sum overwrites) and its norm; then the last two once more for the
// feed-forward network. Two terms to watch are M V, which in a small model with
// a large vocabulary exceeds all layers together, and S²: sentences twice as
// long have four times the attention weights.

// Bytes of the arena that the forward pass fills for B sentences of S and T
// tokens, without the smallest terms; the tests find it right to within 3 %.
double saved_bytes(const Config *c, double B, double S, double T) {
    double D = c->d_model, F = c->d_ff, H = c->heads, N = B * S, M = B * T;
    double copies = c->attention_dropout > 0 ? 2 : 1;
    double encoder = 8 * N * D + 2 * N * F + copies * B * H * S * S;
    double decoder = 12 * M * D + 2 * N * D + 2 * M * F
                   + copies * B * H * T * (T + S);
    double ends = N * D + M * D + M * c->target_vocab;
    return sizeof(real) * (c->layers * (encoder + decoder) + ends);
}

// ## The Transformer ends here
//
// The whole paper is above. The rest of this file turns it into a program: the
// interlude shows how the tools of chapter 1 work, and chapters 14 to 16 turn
// text into numbers, save models, and read a command line.

//@ chapter engine_room
// # Interlude. The engine room
//
// Chapter 1 said what the tools of this program do; here is how they do it. If
// you are here for the transformer, stop here.
//
//@ plumbing one line on the standard error stream, and stop
// ## When something is wrong
//
// There is one way to fail: say why in one line on the standard error stream,
// and stop with status 1. A saved model is only ever replaced whole (chapter
// 15), so stopping anywhere loses nothing that was saved.

#include <stdarg.h>

#if defined __unix__ || defined __APPLE__
#define TRANSFORMER_POSIX 1
#endif

// Whether a control character begins here: one below the space, DEL (7f), or
// one from U+0080 to U+009F, which are two bytes each.
bool is_control(const char *text) {
    const unsigned char *c = (const unsigned char *)text;
    return *c < ' ' || *c == 0x7f
        || (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0);
}

// Text from a file may hold control characters, which could move the cursor or
// worse. Each of their bytes is shown as "?".
char *printable(char *text) {
    for (char *c = text; *c; c++)
        if (is_control(c))
            memset(c, '?', *c == '\xc2' ? 2 : 1);
    return text;
}

// Prints "transformer: " and the formatted reason.
void complain(const char *format, va_list arguments) {
    static char text[1 << 16]; // longer than any path
    vsnprintf(text, sizeof text, format, arguments);
    fprintf(stderr, "transformer: %s", printable(text));
}

_Noreturn void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    complain(format, arguments);
    fputc('\n', stderr);
    exit(1);
}

void check_shape(const char *function, const char *name, Mat m, int rows,
                 int cols) {
    if (m.rows != rows || m.cols != cols)
        fail("%s: %s is (%d,%d), wanted (%d,%d)", function, name, m.rows,
             m.cols, rows, cols);
}

size_t checked_product(size_t a, size_t b) {
    if (b && a > PTRDIFF_MAX / b)
        fail("out of memory: %.4g times %.4g is more than can be addressed",
             (double)a, (double)b);
    return a * b;
}

void *allocate(size_t count, size_t size) {
    size_t bytes = checked_product(count, size);
    void *memory = calloc(bytes ? bytes : 1, 1);
    if (!memory)
        fail("out of memory: another %.0f MB are needed", (double)bytes / 1e6);
    return memory;
}

// The same memory, enlarged. The new part is not zeroed.
void *reallocate(void *memory, size_t count, size_t size) {
    size_t bytes = checked_product(count, size);
    void *larger = realloc(memory, bytes ? bytes : 1);
    if (!larger)
        fail("out of memory: another %.0f MB are needed", (double)bytes / 1e6);
    return larger;
}

//@ plumbing fill, copy, add, scale, clear, sum and dot
// ## Loops, and the order of a sum
//
// A loop is shared among threads if it handles more than a hundred thousand
// numbers; below that (some 30 microseconds) waking the other threads costs
// more than they save. `copy` and `scale_by` also serve single attention heads,
// each of which belongs to one thread, so they are never shared.

double size_of(Mat m) {
    return (double)m.rows * m.cols;
}

// The smaller of two numbers.
int min_int(int a, int b) {
    return a < b ? a : b;
}

// The larger of two numbers.
int max_int(int a, int b) {
    return a > b ? a : b;
}

void fill(Mat m, real value) {
    for (int i = 0; i < m.rows; i++) {
        real *to = row(m, i);
        for (int j = 0; j < m.cols; j++)
            to[j] = value;
    }
}

void copy(Mat to, Mat from) {
    SHAPE(to, from.rows, from.cols);
    for (int i = 0; i < to.rows; i++)
        memcpy(row(to, i), row(from, i), sizeof(real) * (size_t)to.cols);
}

void add(Mat to, Mat from) {
    SHAPE(to, from.rows, from.cols);
    PARALLEL_FOR(size_of(to))
    for (int i = 0; i < to.rows; i++) {
        real *y = row(to, i);
        const real *x = row(from, i);
        for (int j = 0; j < to.cols; j++)
            y[j] += x[j];
    }
}

void scale_by(Mat x, real factor) {
    for (int i = 0; i < x.rows; i++) {
        real *to = row(x, i);
        for (int j = 0; j < x.cols; j++)
            to[j] *= factor;
    }
}

void clear(real *x, size_t n) {
    PARALLEL_FOR((double)n)
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++)
        x[i] = 0;
}

// A floating-point sum depends on its order: in single precision, 1e8 + 1 - 1e8
// is 0, and 1e8 - 1e8 + 1 is 1. So the order of every sum is fixed. In a plain
// loop each addition waits for the one before. Here 16 partial sums, every 16th
// number in one of them, run side by side; then halves are added to halves.
// What is left at the end is added up by itself.

enum { PARTIAL_SUMS = 16 };

// Returns the sum, over j from 0 to n - 1, of `term`, which may contain j.
#define RETURN_SUM(term) \
    real part[PARTIAL_SUMS] = {0}, rest = 0; \
    int whole = n - n % PARTIAL_SUMS; \
    for (int i = 0; i < whole; i += PARTIAL_SUMS) \
        for (int k = 0, j = i; k < PARTIAL_SUMS; k++, j++) \
            part[k] += term; \
    for (int j = whole; j < n; j++) \
        rest += term; \
    for (int half = PARTIAL_SUMS / 2; half > 0; half /= 2) \
        for (int k = 0; k < half; k++) \
            part[k] += part[k + half]; \
    return rest + part[0]

real sum(const real *x, int n) {
    RETURN_SUM(x[j]);
}

real dot(const real *x, const real *y, int n) {
    RETURN_SUM(x[j] * y[j]);
}

real sum_exponentials(const real *x, real shift, int n) {
    RETURN_SUM(exponential(x[j] - shift));
}

//@ plumbing an arena: memory that is given back all at once
// ## The arena
//
// The memory of an arena comes in blocks, the newest on top. When the top block
// is full, a larger one is put on it; when the arena has been emptied, a single
// one as large as the peak so far replaces them all.
//
// Two variants serve the tests. TRANSFORMER_POISON fills fresh memory with NaN,
// so that reading a number that was never written cannot go unnoticed.
// TRANSFORMER_MALLOC gives each request its own block, so that Valgrind and the
// sanitizers notice a loop that runs past its end.

typedef struct Block {
    struct Block *below;
    size_t offset;   // bytes of the arena that were in use below this block
    size_t size;     // bytes in this block
    char *memory;
} Block;

#ifdef TRANSFORMER_MALLOC
enum { LEAST_BLOCK = 0, ALIGNMENT = 1 };
#else
enum { LEAST_BLOCK = 1 << 16, ALIGNMENT = 64 };
#endif

// Puts a block with room for `size` bytes on top.
void arena_push(Arena *arena, size_t size) {
    Block *block = allocate(1, sizeof *block);
    *block = (Block){arena->top, arena->used, size,
                     malloc(size + ALIGNMENT - 1)};
    double total = ((double)arena->used + (double)size) / 1e6;
    if (!block->memory && arena->sentences)
        fail("out of memory: a batch of %d × %d tokens needs more than %.0f "
             "MB; try a smaller --batch or shorter sentences",
             arena->sentences, arena->tokens, total);
    if (!block->memory)
        fail("out of memory: %.0f MB are needed", total);
    arena->top = block;
}

// Takes the top block away.
void arena_pop(Arena *arena) {
    Block *block = arena->top;
    arena->top = block->below;
    free(block->memory);
    free(block);
}

// Memory for `count` items, until the arena is released to an earlier mark.
void *arena_take(Arena *arena, size_t count, size_t size) {
    size_t bytes = checked_product(count, size) + ALIGNMENT - 1;
    bytes -= bytes % ALIGNMENT;
    Block *top = arena->top;
    if (LEAST_BLOCK == 0 || !top
        || bytes > top->size - (arena->used - top->offset)) {
        size_t room = LEAST_BLOCK ? 2 * arena->used + LEAST_BLOCK : 0;
        if (LEAST_BLOCK > 0 && room < arena->peak)
            room = arena->peak;
        arena_push(arena, bytes > room ? bytes : room);
        top = arena->top;
    }
    size_t misaligned = (uintptr_t)top->memory % ALIGNMENT;
    char *memory = top->memory + (misaligned ? ALIGNMENT - misaligned : 0)
                 + (arena->used - top->offset);
    arena->used += bytes;
    if (arena->used > arena->peak)
        arena->peak = arena->used;
    return memory;
}

Mat arena_mat(Arena *arena, int rows, int cols) {
    size_t count = checked_product((size_t)rows, (size_t)cols);
    Mat m = mat(arena_take(arena, count, sizeof(real)), rows, cols);
#ifdef TRANSFORMER_POISON
    fill(m, (real)NAN);
#endif
    return m;
}

Mat arena_zeros(Arena *arena, int rows, int cols) {
    Mat m = arena_mat(arena, rows, cols);
    clear(m.at, (size_t)rows * (size_t)cols);
    return m;
}

void arena_release(Arena *arena, size_t mark) {
    arena->used = mark;
    while (arena->top && arena->top->offset >= mark
           && (LEAST_BLOCK == 0 || arena->top->below
               || arena->top->size < arena->peak))
        arena_pop(arena);
}

void arena_free(Arena *arena) {
    while (arena->top)
        arena_pop(arena);
    *arena = (Arena){0};
}

//@ plumbing random numbers as functions of the seed and of a place
// ## Random numbers
//
// `scramble` turns a number into one that looks unrelated (the finalizer of
// SplitMix64; Steele, Lea and Flood, 2014). Every key comes from it, so an
// interrupted run continues with the same bits, and threads cannot disturb it.

uint64_t scramble(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// The key that follows from a seed and from what it is for.
uint64_t random_key(uint64_t seed, uint64_t what_for, uint64_t which) {
    return scramble(scramble(scramble(seed) + what_for) + which);
}

double uniform(uint64_t *state) {
    *state = scramble(*state);
    return (double)(*state >> 11) / 9007199254740992.0; // 2⁵³
}

// `scramble` of 32 bits, from a counter, by multiplying and shifting, which a
// processor can do to many numbers at once. (Constants by Chris Wellons.)
uint32_t scramble32(uint32_t x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

//@ plumbing begun beside the old file, completed by renaming
// ## Files that replace others
//
// A new file is written beside the old one and takes its place by renaming, at
// once or not at all. So whatever happens (a full disk, Ctrl-C, no power), the
// name refers to a complete file, the old one or the new one.

#include <errno.h>

#ifdef TRANSFORMER_POSIX
#include <sys/stat.h>
#include <unistd.h>
#endif

// PATH.new, in memory that the next call uses again.
const char *beside(const char *path) {
    static char name[FILENAME_MAX];
    if (snprintf(name, sizeof name, "%s.new", path) >= (int)sizeof name)
        fail("this path is too long: %.60s…", path);
    return name;
}

// Opens PATH.new for writing, or fails with the reason.
FILE *begin_file(const char *path) {
    FILE *file = fopen(beside(path), "wb");
    if (!file)
        fail("cannot write %s: %s", path, strerror(errno));
    return file;
}

// Completes and renames the file. If any of this fails, or a write failed
// before, PATH.new is removed, and the program fails with the first reason.
void end_file(FILE *file, const char *path) {
    bool good = !ferror(file) && fflush(file) == 0;
#ifdef TRANSFORMER_POSIX
    good = good && fsync(fileno(file)) == 0;
#endif
    good = good && fclose(file) == 0;
#ifdef _WIN32
    if (good)
        remove(path); // rename does not replace there
#endif
    if (!good || rename(beside(path), path) != 0) {
        int reason = errno; // remove may change it
        remove(beside(path));
        fail("cannot write %s: %s (what was there before is unchanged)", path,
             strerror(reason));
    }
}

//@ plumbing threads that wait sleep soon; the clock; is it a terminal?
// ## Threads that wait
//
// A thread waits between two shared loops. While it checks for the next, no
// other program can use its core, and two trainings side by side would take
// thirty times as long instead of twice. So it checks for a millisecond at most
// and then sleeps. Environment variables say so: to GCC's library as a number
// of checks, to Clang's in milliseconds. GCC's reads them before `main` begins,
// so the program sets them and starts over. What the user has set is kept.

#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif

// Time in seconds from an arbitrary start; with POSIX, a clock never set back.
double now(void) {
    struct timespec t = {.tv_sec = time(NULL)};
#ifdef TRANSFORMER_POSIX
    clock_gettime(CLOCK_MONOTONIC, &t);
#elif defined TIME_UTC
    timespec_get(&t, TIME_UTC);
#endif
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Starts the program over with these arguments, unless that has been done. If
// it cannot be done, the program still works, but makes others wait.
void let_threads_sleep(char **argv) {
#if defined _OPENMP && defined TRANSFORMER_POSIX
    if (!getenv("OMP_WAIT_POLICY") && !getenv("KMP_BLOCKTIME")
        && !setenv("GOMP_SPINCOUNT", "10000", 0)
        && !setenv("KMP_BLOCKTIME", "1", 0))
        execvp(argv[0], argv);
#else
    (void)argv;
#endif
}

// Whether the file is a terminal. Without POSIX the answer is no.
bool is_terminal(FILE *file) {
#ifdef TRANSFORMER_POSIX
    return isatty(fileno(file));
#else
    (void)file;
    return false;
#endif
}

// ## Why three loops are slow
//
// Training spends most of its time in the matrix product. For each
// multiplication the definition reads two numbers from memory, and each
// addition waits for the one before. A processor core could do 16 or 32
// multiplications and additions in each cycle, if only the numbers were at
// hand. Three ideas put them there.
//
// *A tile in registers.* Compute a small *tile* of c at once and keep it in
// registers while running along p: for each p, a tile of 12 × 32 reads 12 + 32
// numbers and makes 12 · 32 multiplications.
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
// *Packing.* The 32 columns of b that belong to a column of tiles are copied
// side by side, in the order in which they will be read. The copy costs little,
// because every tile of the column uses it again.
//
// *Blocking.* p runs in blocks of 256, so that the packed columns fit into the
// L1 cache; and the rows of a come in blocks of a megabyte, which stay in the
// L2 cache while one column of tiles after another uses them.
//
// A vector here is a type of GCC and Clang that holds as many numbers as one of
// the processor's registers: `x * v` multiplies all of them by x. With other
// compilers a "vector" is one number, and the same code still works. So it is
// where C computes in a wider type (32-bit x86; see FLT_EVAL_METHOD).

#include <float.h>

#define WIDER (FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16)

#if defined __GNUC__ && !defined __TINYC__ && !WIDER \
    && !defined TRANSFORMER_COMPLEX
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
#define PREFETCH(place) __builtin_prefetch((place), 1) // it will be written
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#else
enum { VECTOR_BYTES = sizeof(real), TILE_ROWS = 6 };
typedef real Vector;
#define ALWAYS_INLINE static inline
#define PREFETCH(place)
#define UNROLL
#endif

#define CACHE_LINE _Alignas(64) // numbers that are read together begin here

enum {
    LANES = VECTOR_BYTES / (int)sizeof(real), // numbers in a vector
    TILE_COLS = 2 * LANES,                    // a tile is two vectors wide
    DEPTH = 256,                              // p runs in blocks of this many
};

// One tile: c = from + a b, so c += a b if from is c. a may be any view (its
// numbers are read one at a time); the numbers of a row of b, of c and of from
// lie side by side. The second vector of a row ends where the row ends: in a
// row of 12 numbers and with vectors of 8, the two are numbers 0-7 and 4-11,
// and 4-7 are computed twice, to the same result. `rows` and `vectors` are
// constants in every call, so the compiler unrolls the loops and keeps `left`
// and `right` in registers. The addresses of the rows of a must fit there too:
// every fourth row has a pointer, from which the three after it are reached.
ALWAYS_INLINE void tile(int rows, int vectors, Mat c, Mat from, Mat a, Mat b) {
    Vector left[12], right[12]; // no tile has more rows
    const real *four_rows[3] = {0}, *b_p = b.at;
    ptrdiff_t a_row = a.row_stride, a_col = a.col_stride;
    ptrdiff_t second = c.cols - LANES; // its first column
    UNROLL
    for (int i = 0; i < rows; i++) {
        left[i] = right[i] = (Vector){0};
        if (i % 4 == 0)
            four_rows[i / 4] = a.at + i * a_row;
    }

    for (int p = 0; p < a.cols; p++, b_p += b.row_stride) {
        Vector b_left = *(const Vector *)b_p;
        Vector b_right = *(const Vector *)(b_p + second);
        // Meanwhile c is fetched into the cache, a row for every 16 steps of p:
        // all rows at once would delay the numbers of a and b.
        if (p % 16 == 0 && p / 16 < rows) {
            PREFETCH(row(c, p / 16));
            PREFETCH(row(c, p / 16) + second);
        }
        UNROLL
        for (int i = 0; i < rows; i++) {
            real a_ip = four_rows[i / 4][i % 4 * a_row + p * a_col];
            left[i] += a_ip * b_left;
            if (vectors == 2)
                right[i] += a_ip * b_right;
        }
    }

    UNROLL
    for (int i = 0; i < rows; i++) {
        const real *start = row(from, i); // both are read before one is written
        Vector sum = *(const Vector *)start + left[i];
        if (vectors == 2)
            *(Vector *)(row(c, i) + second) = right[i]
                                            + *(const Vector *)(start + second);
        *(Vector *)row(c, i) = sum;
    }
}

static const real zero_row[TILE_COLS]; // where a tile of c = a b begins

// One tile of c.rows rows. At the bottom of c, fewer may be left than a tile
// has; each number of rows gets a copy of the code above, with its constant.
ALWAYS_INLINE void tile_of_rows(int vectors, Mat c, Mat from, Mat a, Mat b) {
    switch (c.rows) {
    case 1: tile(1, vectors, c, from, a, b); break;
    case 2: tile(2, vectors, c, from, a, b); break;
    case 3: tile(3, vectors, c, from, a, b); break;
    case 4: tile(4, vectors, c, from, a, b); break;
    case 5: tile(5, vectors, c, from, a, b); break;
    case 6: tile(6, vectors, c, from, a, b); break;
    case 7: tile(7, vectors, c, from, a, b); break;
    case 8: tile(8, vectors, c, from, a, b); break;
    case 9: tile(9, vectors, c, from, a, b); break;
    case 10: tile(10, vectors, c, from, a, b); break;
    case 11: tile(11, vectors, c, from, a, b); break;
    default: tile(12, vectors, c, from, a, b);
    }
}

// On the right, fewer columns may be left than a vector has; then the tile
// computes a b by itself, in a buffer, and the columns that exist are added.
// (The same is done for any c whose columns are not side by side.)
void any_tile(Mat c, Mat from, Mat a, Mat b) {
    real sums[TILE_ROWS * TILE_COLS];
    Mat none = {(real *)zero_row, c.rows, TILE_COLS, 0, 1};
    if (from.at == zero_row)
        from = none;
    bool direct = c.cols >= LANES && c.col_stride == 1 && from.col_stride == 1;
    int cols = c.cols < LANES ? LANES : c.cols;
    Mat to = direct ? c : (Mat){sums, c.rows, cols, TILE_COLS, 1};
    Mat start = direct ? from : none;
    if (c.cols <= LANES)
        tile_of_rows(1, to, start, a, b);
    else
        tile_of_rows(2, to, start, a, b);
    for (int i = 0; !direct && i < c.rows; i++) {
        const real *sum = row(to, i);
        for (int j = 0; j < c.cols; j++)
            *at(c, i, j) = *at(from, i, j) + sum[j];
    }
}

// Copies all columns of b, at most `width`, side by side for each row, with
// zeros for those that a vector lacks. `width` is a constant in every call:
// copying a number of bytes that the compiler knows takes a few instructions.
ALWAYS_INLINE void pack_cols(int width, real *packed, Mat b) {
    if (b.cols < LANES)
        memset(packed, 0, sizeof(real) * (size_t)width * (size_t)b.rows);
    if (b.cols == width && b.col_stride == 1)
        for (int p = 0; p < b.rows; p++)
            memcpy(packed + p * width, row(b, p), sizeof(real) * (size_t)width);
    else
        for (int j = 0; j < b.cols; j++)
            for (int p = 0; p < b.rows; p++)
                packed[p * width + j] = *at(b, p, j);
}

// c = from + a b for one column of tiles: c has at most TILE_COLS columns, a at
// most DEPTH. The packed columns of b (32 KB with AVX-512) stay in the nearest
// cache while the tiles run down the rows of a.
void column_of_tiles(Mat c, Mat from, Mat a, Mat b) {
    for (int i = 0; i < c.rows; i += TILE_ROWS) {
        int rows = min_int(TILE_ROWS, c.rows - i);
        any_tile(slice_rows(c, i, rows), slice_rows(from, i, rows),
                 slice_rows(a, i, rows), b);
    }
}

// c = from + a b on one thread: a small product, or one block of a large one.
// For only a few tiles, copying b does not pay: if no vector would reach beyond
// its rows, they are used where they are.
void small_matmul_from(Mat c, Mat from, Mat a, Mat b) {
    CACHE_LINE real packed[DEPTH * TILE_COLS];
    int last = (b.cols - 1) % TILE_COLS + 1; // columns of the last tile
    bool direct = b.col_stride == 1 && last >= LANES
               && c.rows <= 4 * TILE_ROWS;
    for (int p = 0; p == 0 || p < a.cols; p += DEPTH, from = c) {
        int depth = min_int(DEPTH, a.cols - p);
        Mat a_p = slice_cols(a, p, depth), b_p = slice_rows(b, p, depth);
        for (int j = 0; j < b.cols; j += TILE_COLS) {
            int cols = min_int(TILE_COLS, b.cols - j);
            Mat b_j = slice_cols(b_p, j, cols);
            if (!direct) {
                pack_cols(TILE_COLS, packed, b_j);
                b_j = mat(packed, depth, TILE_COLS);
            }
            column_of_tiles(slice_cols(c, j, cols),
                            slice_cols(from, j, cols), a_p, b_j);
        }
    }
}

void small_matmul_add(Mat c, Mat a, Mat b) {
    SHAPE(a, c.rows, b.rows);
    SHAPE(b, a.cols, c.cols);
    small_matmul_from(c, c, a, b);
}

// c = a b: every tile begins with zeros, so c is neither cleared nor read.
void small_matmul(Mat c, Mat a, Mat b) {
    SHAPE(a, c.rows, b.rows);
    SHAPE(b, a.cols, c.cols);
    Mat from = {(real *)zero_row, c.rows, c.cols, 0, 0};
    small_matmul_from(c, from, a, b);
}

// ## Large products
//
// c is cut into blocks, each a column of tiles, and the threads share the
// blocks. (In PARALLEL_FOR, 16 multiplications here count as one number.)

enum { BLOCK = 1 << 18 }; // numbers of a in a block: about a megabyte

void matmul_from(Mat c, Mat from, Mat a, Mat b) {
    if (c.col_stride != 1 && c.row_stride == 1) { // cᵀ = fromᵀ + bᵀ aᵀ
        matmul_from(transposed(c), transposed(from), transposed(b),
                    transposed(a));
        return;
    }
    // the rows of a block: a multiple of every TILE_ROWS, from 96 to 960
    int block = 12 * min_int(max_int(BLOCK / (a.cols + 1) / 12, 8), 80);
    int down = (c.rows + block - 1) / block;
    int across = (c.cols + TILE_COLS - 1) / TILE_COLS;
    PARALLEL_FOR(size_of(c) * a.cols / 16)
    for (int k = 0; k < down * across; k++) {
        int i = k / across * block, j = k % across * TILE_COLS;
        int rows = min_int(block, c.rows - i);
        int cols = min_int(TILE_COLS, c.cols - j);
        Mat c_i = slice_rows(c, i, rows), from_i = slice_rows(from, i, rows);
        small_matmul_from(slice_cols(c_i, j, cols), slice_cols(from_i, j, cols),
                          slice_rows(a, i, rows), slice_cols(b, j, cols));
    }
}

void matmul_add(Mat c, Mat a, Mat b) {
    SHAPE(a, c.rows, b.rows);
    SHAPE(b, a.cols, c.cols);
    matmul_from(c, c, a, b);
}

// ## The exponential
//
// In double it is libm's. In single precision libm's would be called for one
// number at a time; these few lines without a branch run in vector registers
// and are accurate to 2 or 3 parts in 10⁷:
//
//     eˣ = 2ⁿ · eʳ
//     n  = round(x / ln 2)
//     r  = x - n ln 2          so that -0.35 ≤ r ≤ 0.35
//
// where 2ⁿ is n written into the exponent bits of a float and eʳ a polynomial.
// ln 2 is subtracted in two parts, so that r keeps all its digits. Softmax asks
// only for x ≤ 0; below -87, where eˣ is less than 2 · 10⁻³⁸, the answer is 0.
//
// This relies on every sum being rounded to a float at once. Where C computes
// in a wider type, libm's function is used there too; and a compiler that was
// told to reorder sums is stopped, here or when the program begins.

#if defined __FAST_MATH__ || __FINITE_MATH_ONLY__ + 0 > 0 \
    || defined __ASSOCIATIVE_MATH__
#error "build without -ffast-math or the like: infinities, NaN and order matter"
#endif

real exponential(real x) {
#if defined TRANSFORMER_DOUBLE || defined TRANSFORMER_COMPLEX || WIDER
    return REAL(exp)(x);
#else
    float y = x > -87.0f ? x : -87.0f; // also for NaN, which no int can be
    y = y > 88.0f ? 88.0f : y;
    // adding 1.5 · 2²³ leaves no room for a fraction: this rounds
    float n = (y * 1.44269504f + 12582912.0f) - 12582912.0f;
    float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float series = (1.0f / 720 * r + 1.0f / 120) * r + 1.0f / 24;
    series = ((((series * r + 1.0f / 6) * r + 0.5f) * r) + 1) * r + 1;
    int32_t bits = ((int32_t)n + 127) * (1 << 23);
    float power;
    memcpy(&power, &bits, sizeof power);
    return x < -87.0f ? 0 : series * power;
#endif
}

// Fails if the compiler was told to reorder sums: the rounding above is then
// optimized away, and everything that is computed is wrong.
void check_arithmetic(void) {
    volatile real x = -1;
    if (fabs((double)exponential(x) - exp(-1.0)) > 1e-6)
        fail("built with -ffast-math or the like, it computes wrongly");
}

//@ chapter text
// # 14. Text
//
// The model reads and writes numbers. This chapter turns text into numbers, and
// numbers back into text: it reads pairs of sentences from a file, splits them
// into tokens (tokenization), and gives each token a number.
//
//     read_pairs      file -> text            once, before training
//     vocab_build     text -> vocabulary      (learn_merges for byte pairs)
//     tokenize_pairs  text -> numbers         for the batches of chapter 10
//     detokenize      numbers -> text         after the decoding of chapter 12
//
//@ plumbing UTF-8: what is valid, and what is a lower-case letter
// ## Characters
//
// Files are UTF-8: one to four bytes hold the number of a character (below, in
// hexadecimal), after marks that tell how many bytes there are.
//
//     bytes  numbers              encoded as
//       1    0 … 7f               0xxxxxxx
//       2    80 … 7ff             110xxxxx 10xxxxxx
//       3    800 … ffff           1110xxxx 10xxxxxx 10xxxxxx
//       4    10000 … 10ffff       11110xxx 10xxxxxx 10xxxxxx 10xxxxxx
//
// é is number e9, in bits 11 101001: two bytes, 110_00011 10_101001, that is,
// c3 a9. A byte below 80 is always a character by itself, such as a tab.

const int utf8_mark[] = {0, 0, 0xc0, 0xe0, 0xf0}; // by number of bytes

// The number of the character at s; below 0 if it is not valid: torn, in more
// bytes than needed, above 10ffff, or from d800 to dfff (reserved for UTF-16).
int utf8_number(const char *s) {
    const int least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *c = (const unsigned char *)s;
    int n = *c < 0x80 ? 1 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : 4;
    int number = *c - utf8_mark[n]; // below 0 if *c begins nothing
    for (int i = 1; i < n; i++) {
        if (c[i] / 64 != 2)
            return -1;
        number = 64 * number + c[i] % 64;
    }
    bool reserved = number >= 0xd800 && number <= 0xdfff;
    return number < least[n] || number > 0x10ffff || reserved ? -1 : number;
}

int utf8_length(const char *s) {
    int c = utf8_number(s);
    return c < 0 ? 0 : c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

// Whether the whole string is valid. All functions below rely on it.
bool valid_utf8(const char *s) {
    while (*s && utf8_length(s))
        s += utf8_length(s);
    return *s == '\0';
}

// With --lowercase, "The" and "the" are the same token. What the C library
// considers a lower-case letter depends on the machine's locale, and a model
// must not. So here are the capitals of today's languages in Latin (also
// Vietnamese and Hausa), Greek, Cyrillic (also Kazakh) and Armenian letters, if
// the small letter has as many bytes. (That of İ has fewer, so İ is kept.)
// There are three letters for each range: the first capital, the last one, and
// the small form of the first. If that is the very next character, as with Āā
// Ăă Ąą, every other character of the range is a capital.

const char capital_ranges[] =
    "AZaÀÖàØÞøĀĮāĲĶĳĹŇĺŊŶŋŸŸÿŹŽźƁƁɓƆƆɔƉƊɖƏƏəƐƐɛƘƘƙƠƤơƯƯưƳƵƴǍǛǎǞǮǟǸȞǹȢȲȣ"
    "ΆΆάΈΊέΌΌόΎΏύΑΡαΣΫσЀЏѐАЯаѠҀѡҊҾҋӀӀӏӁӍӂӐԮӑԱՖաḀẔḁẠỾạ";

// The small letter of a capital; any other character itself.
int lower_letter(int c) {
    const char *r = capital_ranges;
    int small = c;
    for (int n; *r && c >= utf8_number(r); r += 3 * n) {
        n = utf8_length(r);
        int first = utf8_number(r), add = utf8_number(r + 2 * n) - first;
        if (c <= utf8_number(r + n) && (add != 1 || (c - first) % 2 == 0))
            small = c + add;
    }
    return small;
}

// Converts to lower case, in place.
void lower_case(char *s) {
    for (int n; *s; s += n) {
        int c = lower_letter(utf8_number(s));
        n = utf8_length(s);
        for (int i = n - 1; i > 0; i--, c /= 64)
            s[i] = (char)(0x80 + c % 64);
        *s = (char)(utf8_mark[n] + c);
    }
}

// ## Tokens
//
// A token is the unit that the model reads and writes. There are three ways to
// split a text:
//
//     text         "Où est-il, Paul ?"
//     words        [Où] [est-il] [,] [Paul] [?]
//     characters   [O] [ù] [ ] [e] [s] [t] [-] [i] [l] [,] [ ] [P] …
//     byte pairs   [ Où] [ est] [-] [il] [ ,] [ P] [aul] [ ?]
//
// With words, sentences are short and the vocabulary is large, and a word that
// did not occur in training is lost. With characters, sentences are long, the
// vocabulary is small, and hardly any token is ever new; they suit dates and
// spelling. Byte pairs lie between the two: frequent words are single tokens,
// and rare ones are spelled with pieces. Punctuation is split off, or "car" and
// "car." would be two unrelated tokens. Words are joined again by single
// spaces, so the text above comes back as "Où est-il , Paul ?".

//@ deviation
// Tokens are whole words unless you ask for something else. The paper uses byte
// pairs, with one vocabulary for both languages; here each language has its
// own. This changes the tokens, but nothing in the model.

enum { WORDS, CHARACTERS, BYTE_PAIRS, TOKENIZERS };

// How text becomes tokens: chosen before training, and saved with the model.
typedef struct {
    int tokens; // WORDS, CHARACTERS or BYTE_PAIRS
    int lowercase;
} Tokenizer;

// Whether the character at `s` is white space: a blank, a control character,
// blanks and line ends of typesetting, no-break spaces, or wide Chinese ones.
bool is_space(const char *s) {
    int c = utf8_number(s);
    return (c > 0 && c <= ' ') || (c >= 0x7f && c <= 0xa0)
        || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029
        || c == 0x202f || c == 0x3000;
}

// Whether a punctuation mark begins at `s`: a token by itself.
bool is_mark(const char *s) {
    const char *m = ".,!?;:\"()¿¡«»“”…。、";
    while (*m && utf8_number(m) != utf8_number(s))
        m += utf8_length(m);
    return *m;
}

// The first place at or after `s` that is not white space.
const char *skip_spaces(const char *s) {
    while (is_space(s))
        s += utf8_length(s);
    return s;
}

// The next token of `*text`, of `*length` bytes, or NULL at the end; `*text` is
// moved past it. If tokens are characters, any white space becomes " ". For
// byte pairs it returns whole words, which are split into pieces later.
const char *next_token(const char **text, Tokenizer tokenizer, int *length) {
    bool characters = tokenizer.tokens == CHARACTERS;
    const char *s = characters ? *text : skip_spaces(*text);
    if (*s == '\0')
        return NULL;
    const char *end = s + utf8_length(s);
    if (!characters && !is_mark(s))
        while (*end && !is_mark(end) && !is_space(end))
            end += utf8_length(end);
    *text = end;
    *length = is_space(s) ? 1 : (int)(end - s);
    return is_space(s) ? " " : s;
}

// ## The vocabulary
//
// A vocabulary gives each token a number (its id) and each number a token. The
// special tokens of chapter 9 come first, the others in the order of their
// bytes, so that a binary search finds them. Here is the vocabulary of "b a b"
// and "c, a":
//
//     0 <pad>   1 <start>   2 <end>   3 <unknown>   4 ,   5 a   6 b   7 c
//
// Source and target each have a vocabulary, made from the training data alone.
// A token that does not occur there, or fewer than min_count times (an option),
// becomes <unknown>. With min_count 1 the model never meets <unknown> in
// training, so it cannot learn to deal with it. With min_count 2 it does, and
// little is lost, since little can be learned from one occurrence.
//
//@ plumbing the lists, how a token is found in them, how they are built
// A token: its bytes (no zero byte need follow), how many, and its number.
typedef struct {
    const char *text;
    size_t length;
    int id;
} Token;

typedef struct {
    char **token; // V strings
    int count;    // V
    Token *index; // V - FIRST_TOKEN, by their bytes: all but the special ones
} Vocab;

// Frees all tokens, and the index.
void vocab_free(Vocab *v) {
    for (int i = 0; i < v->count; i++)
        free(v->token[i]);
    free(v->token);
    free(v->index);
}

// The order for qsort and bsearch: by bytes.
int compare_tokens(const void *left, const void *right) {
    const Token *a = left, *b = right;
    bool longer = a->length > b->length;
    int order = memcmp(a->text, b->text, longer ? b->length : a->length);
    return order ? order : longer - (a->length < b->length);
}

// Makes the index of a vocabulary that is complete.
void vocab_sort(Vocab *v) {
    size_t n = (size_t)(v->count - FIRST_TOKEN);
    v->index = reallocate(v->index, n, sizeof *v->index);
    for (int id = FIRST_TOKEN; id < v->count; id++)
        v->index[id - FIRST_TOKEN] =
            (Token){v->token[id], strlen(v->token[id]), id};
    qsort(v->index, n, sizeof *v->index, compare_tokens);
}

// The number of the token of `length` bytes at `text`, or UNKNOWN. Special
// tokens are not looked up: "<end>" in a text is a word like any other.
int token_id(const Vocab *v, const char *text, int length) {
    Token key = {text, (size_t)length, 0};
    Token *found = bsearch(&key, v->index, (size_t)(v->count - FIRST_TOKEN),
                           sizeof key, compare_tokens);
    return found ? found->id : UNKNOWN;
}

// Appends a copy of the token. At each power of two the memory doubles.
void vocab_append(Vocab *v, const char *token, int length) {
    size_t count = (size_t)v->count, n = (size_t)length;
    if (v->count == INT_MAX)
        fail("the text has more than %d tokens", INT_MAX);
    if ((count & (count - 1)) == 0)
        v->token = reallocate(v->token, 2 * count + 1, sizeof *v->token);
    v->token[v->count++] = memcpy(allocate(n + 1, 1), token, n);
}

// A vocabulary with only the special tokens.
Vocab vocab_new(void) {
    Vocab v = {0};
    const char *name[FIRST_TOKEN] = {[PAD] = "<pad>", [START] = "<start>",
                                    [END] = "<end>", [UNKNOWN] = "<unknown>"};
    for (int i = 0; i < FIRST_TOKEN; i++)
        vocab_append(&v, name[i], (int)strlen(name[i]));
    vocab_sort(&v);
    return v;
}

// How often does each token occur? Sort the list of all tokens of the texts:
// equal ones then lie side by side, and one occurs at least min_count times if
// it is still there min_count - 1 places further on.
//
//     ,  a  a  b  b  c        with min_count 2: a and b
//        └──┘  └──┘
//
// A vocabulary of all tokens that occur at least min_count times in the texts.
Vocab vocab_build(char *const *text, int texts, Tokenizer tokenizer,
                  int min_count) {
    Vocab v = vocab_new(), all = vocab_new();
    for (int i = 0, n; i < texts; i++)
        for (const char *s = text[i], *w; (w = next_token(&s, tokenizer, &n));)
            vocab_append(&all, w, n);
    vocab_sort(&all);
    const Token *t = all.index;
    for (int i = 0; i <= all.count - FIRST_TOKEN - min_count; i++)
        if ((i == 0 || compare_tokens(&t[i - 1], &t[i]))
            && !compare_tokens(&t[i], &t[i + min_count - 1]))
            vocab_append(&v, t[i].text, t[i].length);
    vocab_free(&all);
    vocab_sort(&v);
    return v;
}

// ## Byte pairs
//
// Which pieces should words be made of? Byte-pair encoding (Sennrich, Haddow
// and Birch, 2016) lets the training data decide. Spell every word as its
// characters, with a blank in front that marks where the word begins. Then,
// again and again, take the two neighbors that occur together most often, and
// join them into a new piece wherever they do: a *merge*. These are all the
// merges for the text "cat cats eat eats cat", with ␣ for the blank:
//
//     merge       occurs   the words then
//                          ␣ c a t   ␣ c a t s   ␣ e a t   ␣ e a t s
//     a   t           5    ␣ c at    ␣ c at s    ␣ e at    ␣ e at s
//     ␣   c           3    ␣c at     ␣c at s     ␣ e at    ␣ e at s
//     ␣c  at          3    ␣cat      ␣cat s      ␣ e at    ␣ e at s
//     ␣   e           2    ␣cat      ␣cat s      ␣e at     ␣e at s
//     ␣e  at          2    ␣cat      ␣cat s      ␣eat      ␣eat s
//
// "cat" occurs twice, so its pairs count twice. Learning stops after as many
// merges as you asked for, or when no pair occurs twice: here ␣cat and s occur
// together only once. The vocabulary has the characters, in the order of their
// bytes, and then one piece for each merge, as they were learned:
//
//     4 ␣   5 a   6 c   7 e   8 s   9 t
//     10 at   11 ␣c   12 ␣cat   13 ␣e   14 ␣eat
//
// A new word is spelled in the same way. Then, again and again, the two
// neighbors that make the earliest piece in the vocabulary are joined. So
// "seats" becomes ␣ s e at s: there is no piece eat, and ␣eat needs a blank
// before the e. No word is ever unknown, only a character that does not occur
// in the training data.
//
//@ figure merging

//@ plumbing a word is spelled, and its pieces are joined
// What two neighbors make is looked up once, and again only when one of them
// has changed. So a line of a megabyte without a blank takes three seconds.

// A word of `length` bytes -> the numbers of its pieces, and how many. In
// `text`, with its blank, the piece that begins at i ends at end[i], where the
// next one begins, and pair[i] is what the two make (0: not looked up).
int spell(int *id, const char *word, int length, const Vocab *v) {
    int size = length + 1, n = 0, first;
    char *text = allocate((size_t)size + 1, 1);
    int *end = allocate(2 * (size_t)size, sizeof *end), *pair = end + size;
    sprintf(text, " %.*s", length, word);
    for (int i = 0; i < size; i = end[i])
        end[i] = i + utf8_length(text + i);
    do {
        first = v->count; // no piece
        for (int i = 0; end[i] < size; i = end[i]) {
            if (!pair[i])
                pair[i] = token_id(v, text + i, end[end[i]] - i);
            if (pair[i] != UNKNOWN)
                first = min_int(first, pair[i]);
        }
        for (int i = 0, before = 0; i < size; before = i, i = end[i])
            if (end[i] < size && pair[i] == first) {
                end[i] = end[end[i]];
                pair[i] = pair[before] = 0;
            }
    } while (first < v->count);
    for (int i = 0; i < size; i = end[i])
        id[n++] = token_id(v, text + i, end[i] - i);
    free(text);
    free(end);
    return n;
}

// ## Text to sentences, and back

// text -> its tokens and END, at most two for each byte, since byte pairs add a
// blank to each word. The caller frees the ids.
Sentence tokenize(const char *text, const Vocab *v, Tokenizer tokenizer) {
    Sentence s = {allocate(2 * strlen(text) + 1, sizeof(int)), 0};
    const char *token;
    for (int n; (token = next_token(&text, tokenizer, &n)) != NULL;)
        if (tokenizer.tokens == BYTE_PAIRS)
            s.length += spell(s.id + s.length, token, n, v);
        else
            s.id[s.length++] = token_id(v, token, n);
    s.id[s.length++] = END;
    s.id = reallocate(s.id, (size_t)s.length, sizeof *s.id);
    return s;
}

// `length` tokens, or only those before END -> text, which the caller frees:
// words joined by single spaces, other tokens by nothing. With byte pairs, the
// blank at the very beginning is left out. UNKNOWN becomes the text `unknown`.
char *join_tokens(const int *id, int length, const Vocab *v,
                  Tokenizer tokenizer, const char *unknown) {
    const char *between = tokenizer.tokens == WORDS ? " " : "";
    size_t size = 1;
    for (int i = 0; i < length; i++)
        size += strlen(v->token[id[i]]) + 1;
    char *text = allocate(size, 1), *end = text;
    for (int i = 0; i < length && id[i] != END; i++) {
        const char *token = id[i] == UNKNOWN ? unknown : v->token[id[i]];
        bool blank = tokenizer.tokens == BYTE_PAIRS && i == 0 && *token == ' ';
        end += sprintf(end, "%s%s", i ? between : "", token + blank);
    }
    return text;
}

// join_tokens, as a text is shown: UNKNOWN becomes <unknown>.
char *detokenize(const int *id, int length, const Vocab *v,
                 Tokenizer tokenizer) {
    return join_tokens(id, length, v, tokenizer, v->token[UNKNOWN]);
}

// The tokens of n ids, as texts in the vocabulary.
const char **tokens_of(Arena *arena, const Vocab *v, const int *id, int n) {
    const char **token = arena_take(arena, (size_t)n, sizeof *token);
    for (int i = 0; i < n; i++)
        token[i] = v->token[id[i]];
    return token;
}

//@ run build/examples tokens

//@ plumbing the most frequent pair is joined, again and again
// ## Learning byte pairs
//
// Byte pairs are learned from the different words of the training data and from
// how often each occurs. The spelled words form one long sentence, with END
// after each. For each merge all pairs in it are counted again, and the most
// frequent one is joined wherever it occurs. That is simple, and fast enough:
// 4,000 merges take a second for a book with 6,400 different words.

const Tokenizer by_words = {.tokens = WORDS};
const Tokenizer by_characters = {.tokens = CHARACTERS};

// The different words of the texts, spelled. (*times)[i] is how often the word
// with piece i occurs, and `*v` becomes the alphabet: the characters and " ".
Sentence spell_words(char *const *text, int texts, Vocab *v, int **times) {
    Vocab words = vocab_build(text, texts, by_words, 1);
    int *count = allocate((size_t)words.count, sizeof *count);
    size_t room = 0;
    for (int i = 0, n; i < texts; i++)
        for (const char *s = text[i], *w; (w = next_token(&s, by_words, &n));)
            count[token_id(&words, w, n)]++;
    for (int i = FIRST_TOKEN; i < words.count; i++)
        room += strlen(words.token[i]) + 2;
    vocab_append(&words, " ", 1);
    *v = vocab_build(words.token + FIRST_TOKEN, words.count - FIRST_TOKEN,
                     by_characters, 1);
    Sentence s = {allocate(room, sizeof(int)), 0};
    *times = allocate(room, sizeof **times);
    for (int i = FIRST_TOKEN; i + 1 < words.count; i++) {
        const char *word = words.token[i];
        int end = s.length + spell(s.id + s.length, word, (int)strlen(word), v);
        s.id[end] = END;
        while (s.length <= end)
            (*times)[s.length++] = count[i];
    }
    vocab_free(&words);
    free(count);
    return s;
}

// Two neighbors, and how often they occur.
typedef struct {
    int left, right;
    int64_t count;
} Merge;

// Whether to join pair a and not b: it is more frequent. If both are equally
// frequent, the bytes of the left pieces decide, then of the right ones.
bool is_better(Merge a, Merge b, const Vocab *v) {
    int left = strcmp(v->token[a.left], v->token[b.left]);
    int right = strcmp(v->token[a.right], v->token[b.right]);
    return a.count != b.count ? a.count > b.count
         : left < 0 || (left == 0 && right < 0);
}

// The pair to be joined next. For each left piece a chain (ended by 0) runs
// through all places after it, and along it right neighbors are counted.
Merge most_frequent(Sentence s, const int *times, const Vocab *v) {
    int *chain = allocate((size_t)v->count, sizeof *chain);
    int *next = allocate((size_t)s.length, sizeof *next);
    int64_t *count = allocate((size_t)v->count, sizeof *count);
    Merge best = {0};
    for (int i = 1; i < s.length; i++) {
        next[i] = chain[s.id[i - 1]];
        chain[s.id[i - 1]] = i;
    }
    for (int left = END + 1; left < v->count; left++) {
        for (int i = chain[left]; i; i = next[i]) {
            int right = s.id[i];
            Merge m = {left, right, count[right] += times[i]};
            if (right != END && is_better(m, best, v))
                best = m;
        }
        for (int i = chain[left]; i; i = next[i])
            count[s.id[i]] = 0;
    }
    free(chain);
    free(next);
    free(count);
    return best;
}

// Joins a pair into `piece` wherever it occurs, from left to right.
void join_everywhere(Sentence *s, int *times, Merge m, int piece) {
    int kept = 0;
    for (int i = 0; i < s->length; i++, kept++) {
        bool found = s->id[i] == m.left && s->id[i + 1] == m.right;
        s->id[kept] = found ? piece : s->id[i];
        times[kept] = times[i];
        i += found;
    }
    s->length = kept;
}

// A vocabulary of the characters of the texts, the blank, and the pieces made
// by at most `merges` merges.
Vocab learn_merges(char *const *text, int texts, int merges) {
    Vocab v;
    int *times;
    Sentence s = spell_words(text, texts, &v, &times);
    for (; merges > 0; merges--) {
        Merge m = most_frequent(s, times, &v);
        if (m.count < 2)
            break;
        char *piece = detokenize((int[]){m.left, m.right}, 2, &v,
                                 by_characters);
        vocab_append(&v, piece, (int)strlen(piece));
        join_everywhere(&s, times, m, v.count - 1);
        free(piece);
    }
    free(s.id);
    free(times);
    vocab_sort(&v);
    return v;
}

//@ run build/examples byte_pairs

//@ plumbing a file is read, checked and cut into pairs of sentences
// ## Files of sentence pairs
//
// Each line is a pair: source, tab, target. Further columns, which often hold
// the origin of a sentence, are ignored. Lines may end as on Windows. A byte
// order mark is skipped at the beginning of any line or column, where `cat` and
// `paste` leave it. A file with a defect is refused; otherwise you would train
// on less data than you think:
//
//     pairs.tsv:17: expected source, tab, target; found no tab

// The whole file is read; zero bytes for tabs and line ends make it strings.
typedef struct {
    char *contents;          // the file, cut into strings
    char **source, **target; // `count` of each, pointers into it
    int count, numbers;      // numbers: sources of digits only
} Text;

// Frees the file's text, and the list of pairs.
void text_free(Text *t) {
    free(t->contents);
    free(t->source); // and the targets
}

// The whole of a file, or of a pipe, followed by a zero byte, which *size does
// not count. Nothing is read after a zero byte, which no text has.
char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file)
        fail("cannot open %s: %s", path, strerror(errno));
    char *contents = NULL;
    size_t room = 1 << 15;
    *size = 0;
    do {
        contents = reallocate(contents, room *= 2, 1);
        *size += fread(contents + *size, 1, room - 1 - *size, file);
    } while (*size + 1 == room && !memchr(contents, '\0', *size));
    if (ferror(file))
        fail("cannot read %s: %s", path, strerror(errno));
    fclose(file);
    contents[*size] = '\0';
    return contents;
}

// Puts a zero byte in place of the first `sign` -> what follows, or NULL
char *cut_at(char *text, char sign) {
    char *found = strchr(text, sign);
    if (found)
        *found++ = '\0';
    return found;
}

// What follows a byte order mark, if there is one at the beginning.
char *skip_order_mark(char *text) {
    return text + (strncmp(text, "\xef\xbb\xbf", 3) ? 0 : 3);
}

enum { LONGEST_LINE = 1 << 20 }; // bytes: no sentence is longer

// Appends a line's first two columns to the text -> NULL, or what is wrong
const char *add_line(Text *t, char *line, Tokenizer tokenizer) {
    size_t length = strcspn(line, "\r");
    if (strlen(line) >= LONGEST_LINE)
        return "a line of more than a megabyte";
    if (line[length + strspn(line + length, "\r")])
        return "a carriage return in the middle: lines must end with LF or "
               "CR LF";
    line[length] = '\0';
    if (!valid_utf8(line))
        return "not valid UTF-8";
    if (tokenizer.lowercase)
        lower_case(line);
    char *target = cut_at(line, '\t');
    if (!target)
        return "expected source, tab, target; found no tab";
    cut_at(target, '\t'); // further columns
    t->source[t->count] = line = skip_order_mark(line);
    t->target[t->count] = target = skip_order_mark(target);
    t->numbers += !line[strspn(line, "0123456789")];
    return !*skip_spaces(line) ? "the source is empty"
         : !*skip_spaces(target) ? "the target is empty" : NULL;
}

// A file of pairs, in lower case if the tokenizer says so. Fails with file
// name, line and reason if it is anything else.
Text read_pairs(const char *path, Tokenizer tokenizer) {
    size_t size, lines = 1;
    Text t = {.contents = read_file(path, &size)};
    char *line = t.contents, *end = line + size;
    for (const char *c = line; c < end; c++)
        lines += *c == '\n';
    if (lines > INT_MAX)
        fail("%s: more than %d lines", path, INT_MAX);
    t.source = allocate(2 * lines, sizeof *t.source);
    t.target = t.source + lines;
    for (char *next; line && line < end; line = next, t.count++) {
        next = cut_at(line, '\n');
        const char *wrong = !next && line + strlen(line) < end
                              ? "a zero byte: this is not a text file"
                              : add_line(&t, line, tokenizer);
        if (wrong)
            fail("%s:%d: %s", path, t.count + 1, wrong);
    }
    if (t.count == 0)
        fail("%s: the file is empty", path);
    if (t.numbers > 0.9 * t.count)
        fprintf(stderr, "%s: nearly every source is a number; are the first "
                "two columns source and target?\n", path);
    return t;
}

// text -> numbers, but no pair with more than max_len tokens on either side
Pairs tokenize_pairs(const Text *text, const Vocab *source, const Vocab *target,
                     Tokenizer tokenizer, int max_len) {
    size_t n = (size_t)text->count;
    Pairs p = {allocate(n, sizeof(Sentence)), allocate(n, sizeof(Sentence)),
               0, 0};
    for (int i = 0; i < text->count; i++) {
        Sentence s = tokenize(text->source[i], source, tokenizer);
        Sentence t = tokenize(text->target[i], target, tokenizer);
        if (max_int(s.length, t.length) - 1 > max_len) {
            free(s.id);
            free(t.id);
            p.too_long++;
            continue;
        }
        p.source[p.count] = s;
        p.target[p.count++] = t;
    }
    return p;
}

//@ plumbing a translation becomes words
// ## Translations as words
//
// Exact match and BLEU (chapter 12) compare words: whatever is between the
// blanks of the text that `translate` prints. So models of words, of pieces and
// of characters can be compared. An unknown token becomes a control character,
// a different one in translation and reference, so its word never matches.

// Adds one translation and its reference, given in the tokens of a model.
void add_translation(Match *m, Sentence s, Sentence reference, const Vocab *v,
                     Tokenizer tokenizer) {
    char *text[] = {
        join_tokens(s.id, s.length, v, tokenizer, "\1"),
        join_tokens(reference.id, reference.length, v, tokenizer, "\2")};
    Vocab words = vocab_new();
    int own = 0, all = 0;
    for (int k = 0; k < 2; k++) {
        own = words.count - FIRST_TOKEN; // the last time: the translation's
        for (char *w = strtok(text[k], " "); w; w = strtok(NULL, " "))
            vocab_append(&words, w, (int)strlen(w));
        free(text[k]);
    }
    vocab_sort(&words);
    int *id = allocate((size_t)words.count, sizeof *id);
    for (int i = FIRST_TOKEN; i < words.count; i++)
        id[all++] = token_id(&words, words.token[i],
                             (int)strlen(words.token[i]));
    add_match(m, (Sentence){id, own}, (Sentence){id + own, all - own});
    free(id);
    vocab_free(&words);
}

//@ chapter saving
// # 15. Saving and loading
//
// This chapter turns everything that matters in a run into one file, and such a
// file back into a run. It has two halves: a table of all *settings*, the
// user's choices, and the *checkpoint* of settings, vocabularies and numbers.
//
// ## Settings
//
// A setting comes as text, from the command line or from a file. It stays text
// until all are known; then one function turns the texts into numbers and
// derives what was not given, so that nothing derived is mistaken for a choice.

#include <inttypes.h>

enum { MOST_OPTIONS = 48 };

typedef struct {
    const char *text[MOST_OPTIONS]; // as in the table below; NULL: not given
    Config config;       // the model
    Tokenizer tokenizer; // how text is cut
    Recipe recipe;       // how the model is trained
    int beam, min_count, merges, threads, vocab;
    const char *model, *from, *valid, *log, *target, *csv; // target is no path
    int resume, help;
} Settings;

// Everything about a setting is in one row of a table, which the command line,
// the help, the checkpoint and `info` all read. MODEL settings decide which
// tensors there are or what their numbers mean, and RUN settings decide how
// training finds these numbers. Both are kept in the model's file.

enum { INTEGER, NUMBER, CHOICE, FLAG, STRING };                  // Option.type
enum { TRAIN = 1, TRANSLATE = 2, EVALUATE = 4, ATTENTION = 8, INFO = 16,
       USING = TRANSLATE | EVALUATE | ATTENTION };           // Option.commands
enum { MODEL = 1, RUN = 2 };                                 // Option.in_model

//     INTEGER   digits only, between two limits     int
//     NUMBER    any way C writes a number, limited  double
//     CHOICE    one of a few words                  int: which, from 0
//     FLAG      there or not; kept as yes or no     int: 1 or 0
//     STRING    any text but an empty one           const char *
//
// Where the help calls a text FILE.csv, it must end in .csv, and in the same
// way a model's name ends in .safetensors. So a mistyped command cannot
// overwrite a file of sentence pairs with a log.
//
// The macro offsetof tells how many bytes after the start of the struct a field
// lies, so one function can set fields of all types.

typedef struct {
    const char *name;    // as on the command line, without --
    int type;
    size_t offset;       // of its field in Settings
    const char *choices; // separated by |; else what the help calls the value
    const char *initial; // the default; NULL: zero, or from other options
    int commands;        // that take it
    int in_model;        // MODEL or RUN: kept in the model's file; 0: not kept
    const char *help;
    double least, most;  // what a number may be, both included
} Option;

#define SETTING(field) offsetof(Settings, field)

// The limits are not recommendations: they keep arithmetic within its types.
// The defaults are the paper's architecture at classroom size. With
//
//     --layers 6 --d-model 512 --heads 8 --d-ff 2048 --warmup 4000
//
// they become the paper's base model; to train it as the paper did, add
// --label-smoothing 0.1, --attention-dropout 0 and --activation-dropout 0.

const Option options[] = {
    {"layers", INTEGER, SETTING(config.layers), "N", "2", TRAIN | INFO, MODEL,
     "layers of the encoder, and of the decoder", 1, 100},
    {"d-model", INTEGER, SETTING(config.d_model), "N", "64", TRAIN | INFO,
     MODEL, "width of the vector that stands for a token", 1, 65536},
    {"heads", INTEGER, SETTING(config.heads), "N", "4", TRAIN | INFO, MODEL,
     "attention heads; must divide d-model", 1, 1024},
    {"d-ff", INTEGER, SETTING(config.d_ff), "N", NULL, TRAIN | INFO, MODEL,
     "inner width of the feed-forward network (4 d-model)", 1, 262144},
    {"dropout", NUMBER, SETTING(config.dropout), "P", "0.1", TRAIN | INFO, RUN,
     "share of embeddings and sub-layer outputs dropped", 0, 0.99},
    {"attention-dropout", NUMBER, SETTING(config.attention_dropout), "P", NULL,
     TRAIN | INFO, RUN, "of attention weights (as --dropout)", 0, 0.99},
    {"activation-dropout", NUMBER, SETTING(config.activation_dropout), "P",
     NULL, TRAIN | INFO, RUN, "of the inner layer (as --dropout)", 0, 0.99},
    {"norm", CHOICE, SETTING(config.norm), "post|pre", "post", TRAIN | INFO,
     MODEL, "normalize after or before a sub-layer", 0, 0},
    {"positions", CHOICE, SETTING(config.positions), "sinusoidal|learned|none",
     "sinusoidal", TRAIN | INFO, MODEL, "positional encoding", 0, 0},
    {"activation", CHOICE, SETTING(config.activation), "relu|gelu", "relu",
     TRAIN | INFO, MODEL, "of the feed-forward network", 0, 0},
    {"tie", FLAG, SETTING(config.tie), "no|yes", "no", TRAIN | INFO, MODEL,
     "one matrix for target embedding and output layer", 0, 0},
    {"max-len", INTEGER, SETTING(config.max_len), "N", "64", TRAIN | INFO,
     MODEL, "longest sentence, in tokens", 1, 100000},
    {"tokens", CHOICE, SETTING(tokenizer.tokens), "word|char|bpe", "word",
     TRAIN, MODEL, "cut text into words, characters or byte pairs", 0, 0},
    {"merges", INTEGER, SETTING(merges), "N", NULL, TRAIN, MODEL,
     "merges of byte pairs to learn, at most (4000)", 0, 100000},
    {"lowercase", FLAG, SETTING(tokenizer.lowercase), "no|yes", "no", TRAIN,
     MODEL, "write everything in lower case first", 0, 0},
    {"min-count", INTEGER, SETTING(min_count), "N", "1", TRAIN, MODEL,
     "words that occur less often are unknown", 1, 1000000},
    {"label-smoothing", NUMBER, SETTING(recipe.smoothing), "E", "0", TRAIN,
     RUN, "probability spread evenly over all words", 0, 0.99},
    {"lr", NUMBER, SETTING(recipe.rate), "RATE", NULL, TRAIN, RUN,
     "peak of the learning rate (1/sqrt(d-model warmup))", 0, 1000},
    {"warmup", INTEGER, SETTING(recipe.warmup), "N", "400", TRAIN, RUN,
     "steps until the learning rate reaches its peak", 1, 10000000},
    {"schedule", CHOICE, SETTING(recipe.schedule), "noam|constant", "noam",
     TRAIN, RUN, "after the warm-up: inverse square root, or constant", 0, 0},
    {"clip", NUMBER, SETTING(recipe.clip), "NORM", "1", TRAIN, RUN,
     "largest norm of the gradient", 1e-9, 1e9},
    {"batch", INTEGER, SETTING(recipe.batch), "N", "64", TRAIN | INFO, RUN,
     "sentences in a batch", 1, 1000000},
    {"epochs", INTEGER, SETTING(recipe.epochs), "N", "20", TRAIN, RUN,
     "passes through the data, in all", 1, 1000000},
    {"steps", INTEGER, SETTING(recipe.steps), "N", NULL, TRAIN, RUN,
     "steps, in all; instead of epochs", 1, 2000000000},
    {"seed", INTEGER, SETTING(recipe.seed), "N", "1", TRAIN, RUN,
     "of everything random", 0, 2147483647},
    {"model", STRING, SETTING(model), "FILE.safetensors", "model.safetensors",
     TRAIN, 0, "where to save the run", 0, 0},
    {"from", STRING, SETTING(from), "MODEL", NULL, TRAIN, 0,
     "begin with the parameters and words of this model", 0, 0},
    {"valid", STRING, SETTING(valid), "FILE", NULL, TRAIN, 0,
     "pairs to measure progress on", 0, 0},
    {"log", STRING, SETTING(log), "FILE.csv", NULL, TRAIN, 0,
     "write loss and learning rate of each step", 0, 0},
    {"resume", FLAG, SETTING(resume), "no|yes", NULL, TRAIN, 0,
     "go on where an earlier run stopped", 0, 0},
    {"beam", INTEGER, SETTING(beam), "N", "1", TRANSLATE | EVALUATE, 0,
     "hypotheses to keep while translating; 1 is greedy", 1, 64},
    {"target", STRING, SETTING(target), "TEXT", NULL, ATTENTION, 0,
     "the translation to look at (the model's own)", 0, 0},
    {"csv", STRING, SETTING(csv), "FILE.csv", NULL, ATTENTION, 0,
     "write all attention weights", 0, 0},
    {"vocab", INTEGER, SETTING(vocab), "N", "10000", INFO, 0,
     "size of both vocabularies", 5, 10000000},
    {"threads", INTEGER, SETTING(threads), "N", NULL, TRAIN | USING, 0,
     "at most this many (all processors)", 1, 1024},
    {"help", FLAG, SETTING(help), "no|yes", NULL, TRAIN | USING | INFO, 0,
     "show this help", 0, 0},
};

enum { OPTIONS = sizeof options / sizeof *options };
_Static_assert((int)OPTIONS <= MOST_OPTIONS, "there is room for all texts");
_Static_assert(PRE_NORM == 1 && LEARNED == 1 && NO_POSITIONS == 2 && GELU == 1
               && CHARACTERS == 1 && BYTE_PAIRS == 2 && CONSTANT == 1,
               "choices are listed in the order of their constants, from 0");

//@ plumbing set_option reads a value, bind_settings all of them
// ### From text to value
//
// Why not atoi? It takes "12abc" for 12 and "abc" for 0. So every number is
// checked: nothing may follow it, and it must be within its limits (no NaN is).

// Reads a number from least to most into `*to`. Returns false if the text is
// anything else; `*to` is then meaningless.
bool read_number(double *to, const char *text, double least, double most) {
    char *end;
    errno = 0;
    *to = strtod(text, &end);
    bool whole = end > text && !*end && errno != ERANGE;
    return whole && *to >= least && *to <= most;
}

// The whole number that the text gives, if it is from least to most; else -1.
// Digits only: no sign, no point, no exponent.
int64_t read_whole(const char *text, double least, double most) {
    double value;
    bool whole = !text[strspn(text, "0123456789")]
              && read_number(&value, text, least, most);
    return whole ? (int64_t)value : -1;
}

// Which of the choices "a|b|c" the text is, from 0; -1 if it is none.
int find_choice(const char *choices, const char *text) {
    size_t length = strlen(text);
    for (int n = 0; *choices; n++) {
        size_t end = strcspn(choices, "|");
        if (end == length && !strncmp(choices, text, length))
            return n;
        choices += end + (choices[end] == '|');
    }
    return -1;
}

// Whether a text may be the value of a STRING called "FILE.csv" or the like.
bool fits_name(const char *choices, const char *text) {
    const char *ending = strchr(choices, '.');
    size_t length = strlen(text), end = ending ? strlen(ending) : 0;
    return length > end && (!end || !strcmp(text + length - end, ending));
}

// Puts the value of option `o` into the settings. Returns false if the text is
// not allowed. For a STRING the pointer is kept, not a copy of the text.
bool set_option(Settings *s, const Option *o, const char *text) {
    void *place = (char *)s + o->offset;
    if (o->type == NUMBER)
        return read_number(place, text, o->least, o->most);
    if (o->type == STRING) {
        *(const char **)place = text;
        return fits_name(o->choices, text);
    }
    int *value = place;
    *value = o->type == INTEGER ? (int)read_whole(text, o->least, o->most)
                                : find_choice(o->choices, text);
    return *value >= 0;
}

// Where the table has the option with that name of `length` bytes; or -1.
int option_place(const char *name, size_t length) {
    for (int i = 0; i < OPTIONS; i++)
        if (strlen(options[i].name) == length
            && !strncmp(options[i].name, name, length))
            return i;
    return -1;
}

// The text that was given for an option; NULL if none was.
const char *given(const Settings *s, const char *name) {
    return s->text[option_place(name, strlen(name))];
}

// Turns the texts into numbers, and derives what was not given:
//
//     d_model 64, warmup 400    →    d_ff 256, rate 1/√25600 = 0.00625
//     dropout 0.1               →    attention and activation dropout 0.1
//
// The rate is the paper's formula (D · t)^(-1/2) at step w. Returns NULL, or
// the first option whose text is not allowed.
const Option *bind_settings(Settings *s) {
    Config *c = &s->config;
    for (int i = 0; i < OPTIONS; i++) {
        const char *text = s->text[i] ? s->text[i] : options[i].initial;
        if (text && !set_option(s, &options[i], text))
            return &options[i];
    }
    if (!given(s, "d-ff"))
        c->d_ff = 4 * c->d_model;
    if (!given(s, "attention-dropout"))
        c->attention_dropout = c->dropout;
    if (!given(s, "activation-dropout"))
        c->activation_dropout = c->dropout;
    if (!given(s, "merges"))
        s->merges = s->tokenizer.tokens == BYTE_PAIRS ? 4000 : 0;
    if (!given(s, "lr"))
        s->recipe.rate = 1 / sqrt((double)c->d_model * s->recipe.warmup);
    if (!given(s, "steps"))
        s->recipe.steps = 0;
    return NULL;
}

// What is wrong with a configuration that the table allows; NULL if nothing is.
const char *wrong_config(const Config *c) {
    static char reason[80];
    snprintf(reason, sizeof reason, "%d heads cannot share a d-model of %d: it "
             "must be a multiple", c->heads, c->d_model);
    return c->d_model % c->heads ? reason : NULL;
}

// ## A checkpoint
//
// A checkpoint has everything needed to use a model, or to go on training it as
// if nothing had happened: the settings; the words; the parameters; Adam's two
// moments, without which the first steps would be as rough as those of a new
// run; and how far training has come. There is no state of a random generator:
// the order of an epoch and the noise of dropout are functions of the seed and
// of the number of the step (chapter 1). Nor does the file record a time, a
// path or the number of threads: the same build and run write the same file.

typedef struct {
    Settings settings;
    Vocab source, target;
    Trainer trainer;   // to use the model, .model is enough: the rest is zero
    char *texts;       // those of the settings, if they come from a file
} Checkpoint;

// Frees all that a checkpoint holds, whether loaded or new.
void checkpoint_free(Checkpoint *c) {
    vocab_free(&c->source);
    vocab_free(&c->target);
    trainer_free(&c->trainer);
    free(c->texts);
}

// ## The file format
//
// A checkpoint is a *safetensors* file, which Python reads with a library of
// that name: 8 bytes with the length of the header, lowest byte first; the
// header, which is JSON; and the numbers, 32-bit floats, lowest byte first, row
// by row. Here is the header of a tiny model, on several lines and shortened:
//
//     {"__metadata__":{
//        "format":"transformer.c 1",
//        "layers":"1","d_model":"8","heads":"2", … ,"seed":"1",
//        "step":"120",
//        "source_vocabulary":"<pad>\n<start>\n<end>\n<unknown>\na\ncat\nthe",
//        "target_vocabulary":"<pad>\n<start>\n<end>\n<unknown>\nchat\nle\nun"},
//      "source_embedding.weight":
//        {"dtype":"F32","shape":[7,8],"data_offsets":[0,224]},
//      … ,
//      "adam.v.output.bias":
//        {"dtype":"F32","shape":[7],"data_offsets":[26648,26676]}}
//
// The offsets count bytes from the end of the header: 7 · 8 floats are 224
// bytes. Tensors have the names of chapter 8; Adam's moments have "adam.m." or
// "adam.v." before the name.

#define FORMAT "transformer.c 1"

// What a file keeps for each parameter, and the prefix of its name. Earlier
// editions kept the parameters of the best step under the plain names, and
// those of the newest step under "newest.".
enum { PARAMETERS, FIRST_MOMENT, SECOND_MOMENT, NEWEST, ROLES };
const char *const role_prefix[ROLES] = {"", "adam.m.", "adam.v.", "newest."};

//@ plumbing numbers as bytes, names of settings, the entry of a tensor
// ### What writing and reading share

// The bits of a number as the file has it.
uint32_t float_bits(real x) {
    float value = (float)x;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// The `count` lowest bytes of a number, lowest first; end_file finds errors
void write_integer(FILE *file, uint64_t value, int count) {
    for (int i = 0; i < count; i++)
        fputc((int)(value >> 8 * i & 255), file);
}

// The number in these bytes.
uint64_t read_integer(const char *from, int count) {
    uint64_t value = 0;
    for (int i = count - 1; i >= 0; i--)
        value = value << 8 | (unsigned char)from[i];
    return value;
}

// The name under which an option is kept: d-model becomes d_model. Returns
// `to`, with room for 32 bytes.
const char *metadata_name(char to[32], const Option *o) {
    snprintf(to, 32, "%s", o->name);
    for (char *c = to; *c; c++)
        *c = *c == '-' ? '_' : *c;
    return to;
}

// How many bytes a tensor takes in the file.
size_t bytes_of(const Tensor *t) {
    return 4 * (size_t)t->rows * (size_t)t->cols;
}

// The entry of a tensor whose numbers start at `begin`. A matrix has two
// dimensions in it, a bias or a gain has one. Returns `to`.
const char *entry_of(char to[160], const Tensor *t, size_t begin) {
    char rows[16] = "";
    if (strstr(t->name.text, ".weight"))
        snprintf(rows, sizeof rows, "%d,", t->rows);
    snprintf(to, 160, "{\"dtype\":\"F32\",\"shape\":[%s%d],"
             "\"data_offsets\":[%zu,%zu]}", rows, t->cols, begin,
             begin + bytes_of(t));
    return to;
}

// ### One number for a whole model
//
// A *checksum* turns all parameters, as the file has them, into one number
// (FNV-1a; Fowler, Noll and Vo): sixteen digits are the same if all bits are.
uint64_t checksum(const Trainer *t) {
    const real *x = t->model->list.values;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < t->model->list.count; i++)
        for (uint32_t k = 0, bits = float_bits(x[i]); k < 32; k += 8)
            hash = (hash ^ (bits >> k & 255)) * 0x100000001b3u;
    return hash;
}

//@ plumbing the header, then the numbers
// ### Writing
//
// Eight zeros in place of the length, which is not known yet; the header; the
// numbers; and then, back at the start, the length.

// One vocabulary: its tokens joined by newlines. Tokens contain no control
// characters (chapter 14), so only two characters have to be escaped.
void write_vocab(FILE *file, const char *key, const Vocab *v) {
    fprintf(file, ",\"%s\":\"", key);
    for (int i = 0; i < v->count; i++) {
        fputs(i ? "\\n" : "", file);
        for (const char *c = v->token[i]; *c; c++)
            fprintf(file, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    }
    fputc('"', file);
}

// Everything that is not a tensor.
void write_metadata(FILE *file, const Checkpoint *c) {
    char name[32];
    fprintf(file, "{\"__metadata__\":{\"format\":\"%s\"", FORMAT);
    for (int i = 0; i < OPTIONS; i++) {
        const char *text = c->settings.text[i] ? c->settings.text[i]
                                               : options[i].initial;
        if (options[i].in_model && text)
            fprintf(file, ",\"%s\":\"%s\"", metadata_name(name, &options[i]),
                    text);
    }
    fprintf(file, ",\"step\":\"%" PRId64 "\"", c->trainer.step);
    write_vocab(file, "source_vocabulary", &c->source);
    write_vocab(file, "target_vocabulary", &c->target);
    fputc('}', file);
}

// Fails if a number is not finite: such a model must not replace a good one.
void check_numbers(const real *x, size_t count, const char *path) {
    for (size_t i = 0; i < count; i++)
        if (!isfinite((float)x[i]))
            fail("%s is not saved: a number in it is not finite", path);
}

// Saves a checkpoint, with the moments if it has them, and replaces what was
// there; or fails and leaves that as it was. Blanks after the header align the
// numbers for programs that map the file into memory.
void save_checkpoint(const Checkpoint *c, const char *path) {
    const TensorList *l = &c->trainer.model->list;
    const real *const block[] = {l->values, c->trainer.m, c->trainer.v};
    int roles = c->trainer.m ? 3 : 1;
    char entry[160];
    size_t begin = 0;
    for (int k = 0; k < roles; k++)
        check_numbers(block[k], l->count, path);
    FILE *file = begin_file(path);
    write_integer(file, 0, 8);
    write_metadata(file, c);
    for (int k = 0; k < roles; k++)
        for (int i = 0; i < l->tensors; i++) {
            const Tensor *t = &l->tensor[i];
            fprintf(file, ",\"%s%s\":%s", role_prefix[k], t->name.text,
                    entry_of(entry, t, begin));
            begin += bytes_of(t);
        }
    fputc('}', file);
    long end = ftell(file);
    for (; end % 8; end++)
        fputc(' ', file);
    for (int k = 0; k < roles; k++)
        for (size_t i = 0; i < l->count; i++)
            write_integer(file, float_bits(block[k][i]), 4);
    fseek(file, 0, SEEK_SET); // unlike rewind, clears no error
    write_integer(file, (uint64_t)(end - 8), 8);
    end_file(file, path);
}

//@ run head -c 8 data/models/eng-fra.safetensors | od -A n -t u8
//@ run head -c 400 data/models/eng-fra.safetensors | tail -c 392 | fold -w 72
//@ run grep -ao '"output.bias":{[^}]*}' data/models/eng-fra.safetensors

// ### Reading
//
// A file may be cut short, damaged, or made to do harm. The reader does not
// parse JSON. It looks names up in the text of the header, in any order, and
// compares what follows with what must be there. (Inside a string every
// quotation mark has a backslash, so `"name":` is found only where it is a
// name.) The metadata alone determine the list of tensors (chapter 8), whose
// bytes must fill the rest of the file. So no file can make the program read
// beyond its end, or take memory for parameters that are not in it.

enum { LONGEST_HEADER = 100000000 }; // bytes

#define NO_MODEL "%s: not a model this program can read: "

typedef struct {
    const char *path;
    FILE *file;
    size_t size, numbers; // of the file; where in it the numbers begin
    char *header, *near;  // its text; the name in it that was found last
    char *texts;          // as long as it, for values of the metadata
    size_t *begin;        // where in the numbers each tensor's begin, by role
    int roles;            // how many the file has
} Reader;

//@ plumbing a reader that trusts nothing
// Reads the next bytes of the file, or fails.
void read_bytes(const Reader *r, void *to, size_t size) {
    if (fread(to, 1, size, r->file) == size)
        return;
    if (ferror(r->file))
        fail("cannot read %s: %s", r->path, strerror(errno));
    fail(NO_MODEL "no safetensors header, or cut short", r->path);
}

// Opens a file and reads its header, and puts a zero byte after it. The length
// of the header is checked before memory is taken for it.
Reader open_model(const char *path) {
    Reader r = {.path = path, .file = fopen(path, "rb")};
    char start[8];
    if (!r.file)
        fail("cannot open %s: %s", path, strerror(errno));
    read_bytes(&r, start, sizeof start);
    uint64_t length = read_integer(start, 8);
    if (fseek(r.file, 0, SEEK_END) != 0)
        fail("cannot read %s: %s", path, strerror(errno));
    r.size = (size_t)ftell(r.file);
    fseek(r.file, 8, SEEK_SET);
    if (length > LONGEST_HEADER || length + 8 > r.size)
        fail(NO_MODEL "no safetensors header, or cut short", path);
    r.numbers = (size_t)length + 8;
    r.near = r.header = allocate((size_t)length + 1, 1);
    r.texts = allocate((size_t)length + 1, 1);
    read_bytes(&r, r.header, (size_t)length);
    return r;
}

// Closes the file, and frees what was read of it.
void close_model(Reader *r) {
    fclose(r->file);
    free(r->header);
    free(r->texts);
    free(r->begin);
}

// What follows "PREFIXname": in the header; NULL if that is not there. The
// search begins where the last one ended, since names mostly come in order.
const char *find_name(Reader *r, const char *prefix, const char *name) {
    char text[128];
    int length = snprintf(text, sizeof text, "\"%s%s\":", prefix, name);
    char *found = strstr(r->near, text);
    found = found ? found : strstr(r->header, text);
    r->near = found ? found + length : r->header;
    return found ? r->near : NULL;
}

// The value of a key of the metadata, its escapes undone. If the file lacks it,
// the value is NULL or, if it is needed, the file is refused.
char *metadata(Reader *r, const char *key, bool needed) {
    const char *from = find_name(r, "", key);
    bool good = from && *from == '"';
    char *value = r->texts + (from ? from - r->header : 0), *to = value;
    if (!from && !needed)
        return NULL;
    while (good && *++from != '"') {
        bool escaped = *from == '\\';
        from += escaped;
        good = (unsigned char)*from >= ' '
            && (!escaped || strchr("n\"\\", *from));
        *to++ = escaped && *from == 'n' ? '\n' : *from;
    }
    *to = '\0';
    if (!good || !valid_utf8(value))
        fail(NO_MODEL "%s is missing, or not text", r->path, key);
    return value;
}

// One vocabulary, from tokens joined by newlines: the special ones first, then
// the others, all different, not empty and without control characters.
Vocab read_vocab(Reader *r, const char *key) {
    Vocab v = vocab_new();
    char *token = metadata(r, key, true), *rest;
    int count = 0;
    bool good = true;
    for (; token; token = rest, count++) {
        rest = cut_at(token, '\n');
        for (const char *c = token; *c; c++)
            good = good && !is_control(c);
        if (count < FIRST_TOKEN)
            good = good && !strcmp(token, v.token[count]);
        else
            vocab_append(&v, token, (int)strlen(token));
    }
    vocab_sort(&v);
    for (int i = FIRST_TOKEN; i < v.count; i++)
        good = good && token_id(&v, v.token[i], (int)strlen(v.token[i])) == i;
    if (!good || count < FIRST_TOKEN || token_id(&v, "", 0) != UNKNOWN)
        fail(NO_MODEL "%s: a token is empty, not in its place, or repeated",
             r->path, key);
    return v;
}

// Puts the sizes of the vocabularies into the configuration.
void set_vocab_sizes(Checkpoint *c) {
    c->settings.config.source_vocab = c->source.count;
    c->settings.config.target_vocab = c->target.count;
}

// Everything that is not a tensor. Settings with a default may be missing.
void read_settings(Reader *r, Checkpoint *c) {
    char key[32];
    Settings *s = &c->settings;
    const char **steps = &s->text[option_place("steps", 5)];
    if (strcmp(metadata(r, "format", true), FORMAT))
        fail(NO_MODEL "its format is not \"%s\"", r->path, FORMAT);
    for (int i = 0; i < OPTIONS; i++)
        if (options[i].in_model)
            s->text[i] = metadata(r, metadata_name(key, &options[i]),
                                  options[i].initial);
    if (*steps && !strcmp(*steps, "0")) // not given, in files of edition 1
        *steps = NULL;
    const Option *wrong = bind_settings(s);
    if (wrong)
        fail(NO_MODEL "%s is \"%s\"", r->path, wrong->name,
             s->text[wrong - options]);
    if (wrong_config(&s->config))
        fail(NO_MODEL "%s", r->path, wrong_config(&s->config));
    c->source = read_vocab(r, "source_vocabulary");
    c->target = read_vocab(r, "target_vocabulary");
    set_vocab_sizes(c);
    const char *step = metadata(r, "step", true);
    c->trainer.step = read_whole(step, 0, (double)(INT64_MAX / 2));
    if (c->trainer.step < 0)
        fail(NO_MODEL "step is \"%s\"", r->path, step);
}

// Where the numbers of a tensor begin, counted from the end of the header.
// Refuses the file unless its entry is what it must be.
size_t read_entry(Reader *r, const char *prefix, const Tensor *t) {
    char wanted[160];
    const char *entry = find_name(r, prefix, t->name.text);
    const char *place = entry ? strstr(entry, "_offsets\":[") : NULL;
    size_t begin = place ? (size_t)strtoull(place + 11, NULL, 10) : 0;
    entry_of(wanted, t, begin);
    if (!entry || strncmp(entry, wanted, strlen(wanted)))
        fail(NO_MODEL "the tensor %s%s should be there, with the entry %s",
             r->path, prefix, t->name.text, wanted);
    return begin;
}

// The entries of all tensors. Refuses the file unless the tensors fill it: one
// begins at 0, one where that one ends, and so on to the end.
void read_entries(Reader *r, const TensorList *l) {
    const char *first = l->tensor[0].name.text;
    size_t end = 0;
    int n = 0;
    r->begin = allocate((size_t)(ROLES * l->tensors), sizeof *r->begin);
    for (; r->roles < ROLES; r->roles++) {
        const char *prefix = role_prefix[r->roles];
        if (r->roles > PARAMETERS && !find_name(r, prefix, first))
            break;
        for (int i = 0; i < l->tensors; i++)
            r->begin[n++] = read_entry(r, prefix, &l->tensor[i]);
    }
    for (int k = 0; k < n; k++) {
        int next = 0;
        while (next < n - 1 && r->begin[next] != end)
            next++;
        if (r->begin[next] != end)
            fail(NO_MODEL "no tensor begins at %zu", r->path, end);
        end += bytes_of(&l->tensor[next % l->tensors]);
    }
    if (end != r->size - r->numbers)
        fail(NO_MODEL "its tensors end at %zu and not at %zu", r->path, end,
             r->size - r->numbers);
}

// The numbers of all tensors in that role, into a block. Their bytes are read
// into the place of the numbers and replaced by them from the last to the
// first, since a real may be larger than a float. Infinities and NaN, which
// training never writes, are refused: a single one would spread through the
// whole model. So are second moments below zero, whose root is NaN.
void read_role(const Reader *r, const TensorList *l, int role, real *to) {
    for (int i = 0; i < l->tensors; i++) {
        const Tensor *t = &l->tensor[i];
        size_t place = r->numbers + r->begin[role * l->tensors + i];
        if (fseek(r->file, (long)place, SEEK_SET) != 0)
            fail("cannot read %s: %s", r->path, strerror(errno));
        read_bytes(r, to, bytes_of(t));
        for (size_t k = bytes_of(t) / 4; k-- > 0;) {
            uint32_t bits = (uint32_t)read_integer((char *)to + 4 * k, 4);
            float value;
            memcpy(&value, &bits, sizeof value);
            if (!isfinite(value) || (role == SECOND_MOMENT && value < 0))
                fail(NO_MODEL "the tensor %s%s has a value that is not finite, "
                     "or no square", r->path, role_prefix[role], t->name.text);
            to[k] = (real)value;
        }
        to += bytes_of(t) / 4;
    }
}

// Reads a model: its parameters or, for training, everything needed to go on.
// `outline` says which tensors it has. Fails, with a reason, on anything else.
Checkpoint load_model(const char *path, bool training,
                      Transformer *outline(const Config *)) {
    Checkpoint c = {0};
    Trainer *t = &c.trainer;
    const Config *config = &c.settings.config;
    Reader r = open_model(path);
    read_settings(&r, &c);
    t->recipe = c.settings.recipe;
    t->model = outline(config);
    const TensorList *l = &t->model->list;
    read_entries(&r, l);
    if (training && r.roles <= SECOND_MOMENT)
        fail("%s: without the optimizer's state it cannot be resumed", path);
    transformer_place(t->model);
    add_sinusoids(t->model);
    read_role(&r, l, training && r.roles > NEWEST ? NEWEST : PARAMETERS,
              l->values);
    if (training) {
        t->gradient = outline(config);
        transformer_place(t->gradient);
        t->m = allocate(l->count, sizeof(real));
        t->v = allocate(l->count, sizeof(real));
        read_role(&r, l, FIRST_MOMENT, t->m);
        read_role(&r, l, SECOND_MOMENT, t->v);
    }
    c.texts = r.texts;
    r.texts = NULL;
    close_model(&r);
    return c;
}

// Reads the checkpoint of a transformer, as load_model says.
Checkpoint load_checkpoint(const char *path, bool training) {
    return load_model(path, training, transformer_outline);
}

//@ chapter commands
// # 16. The command line
//
// The last chapter turns all this into a program. It follows the conventions of
// Unix: data go to standard output, messages to standard error, and the exit
// status tells a script what happened.
//
//     0    done
//     1    failed: a file, the data, the disk, the numbers
//     2    misused: the command line makes no sense; nothing was touched
//     130  training stopped by Ctrl-C, after saving; 143 by kill, 129 by the
//          terminal (a second signal ends it with the same status, unsaved)
//
// ## What the user asks for
//
// Commands are listed in a table, as options are in chapter 15. An *operand* is
// an argument without a name, such as a file.

#include <signal.h>

typedef struct {
    const char *name;
    int bit;              // TRAIN … INFO
    const char *operands; // for the help
    int least, most;      // how many of them
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

// The command line, understood.
typedef struct {
    const Command *command;
    const char *operand[2];
    int operands;
    Settings settings;
} Arguments;

// `fail` (chapter 1) reports that a sensible command went wrong; `misuse`, that
// the command itself makes no sense: it says so, and exits with status 2.
_Noreturn void misuse(const Arguments *a, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    complain(format, arguments);
    fprintf(stderr, " (see: transformer%s%s --help)\n", a->command ? " " : "",
            a->command ? a->command->name : "");
    exit(2);
}

//@ run ./transformer train --d-mode 64 2>&1 || echo "exit status $?"

// Fails if standard output could not be written (to a full disk, say), which
// would otherwise go unnoticed.
void finish_output(void) {
    if (fflush(stdout) != 0 || ferror(stdout))
        fail("cannot write the output: %s", strerror(errno));
}

//@ plumbing the help, made from the two tables
// ### Help
//
// The text comes from the two tables. Defaults are in brackets.

// Prints what --help says of the program as a whole.
void print_help(void) {
    puts("The Transformer of \"Attention Is All You Need\" in C.\n\n"
         "  transformer train data/eng-fra.train.tsv\n"
         "  echo \"the red car is fast\" | "
         "transformer translate model.safetensors\n");
    for (const Command *c = commands; c < commands + COMMANDS; c++)
        printf("  %-10s %-15s %s\n", c->name, c->operands, c->help);
    puts("\nMore: transformer COMMAND --help; transformer --version");
}

// A command, and the options that it takes.
void print_command_help(const Command *c) {
    printf("transformer %s %s [options]\n\n  %s\n\n", c->name, c->operands,
           c->help);
    for (const Option *o = options; o < options + OPTIONS; o++) {
        if (!(o->commands & c->bit))
            continue;
        bool flag = o->type == FLAG;
        int room = 40 - printf("  --%s %s", o->name, flag ? "" : o->choices);
        printf("%*s %s", room > 0 ? room : 0, "", o->help);
        printf(o->initial && !flag ? " [%s]\n" : "\n", o->initial);
    }
}

//@ run ./transformer train --help

//@ plumbing options and operands, and what is wrong with them
// ### Reading the command line
// An option is written `--name value` or `--name=value`, before or after the
// operands. A name must be complete: the program would rather complain than
// guess. Of two values the later one counts, so a script can say `train
// $DEFAULTS "$@"`.

// Reads the option that argument[0] begins; returns how many further arguments
// it took. Exits with status 2 if its value is missing or wrong. One that
// begins with two dashes must be attached (--log=--odd-name).
int read_option(Arguments *a, char **argument) {
    const char *name = argument[0] + 2, *value = argument[1];
    size_t length = strcspn(name, "=");
    int place = option_place(name, length);
    bool attached = name[length] == '=';
    char allowed[128];
    if (place < 0 || !(options[place].commands & a->command->bit))
        misuse(a, "%s has no option --%.*s", a->command->name, (int)length,
               name);
    const Option *o = &options[place];
    if (o->type == INTEGER || o->type == NUMBER)
        snprintf(allowed, sizeof allowed, "a %snumber from %.10g to %.10g",
                 o->type == INTEGER ? "whole " : "", o->least, o->most);
    else
        snprintf(allowed, sizeof allowed, "%s", o->choices);
    if (o->type == FLAG && attached)
        misuse(a, "--%s takes no value", o->name);
    if (attached || o->type == FLAG)
        value = attached ? name + length + 1 : "yes";
    else if (!value || !strncmp(value, "--", 2))
        misuse(a, "--%s needs a value: %s", o->name, allowed);
    if (!set_option(&a->settings, o, value))
        misuse(a, "--%s: \"%s\" is not %s", o->name, value, allowed);
    a->settings.text[place] = value;
    return o->type != FLAG && !attached;
}

// Exits with status 2 if settings contradict each other, or if `info` is given
// what its file decides. Other files are compared when loaded.
void check_settings(const Arguments *a) {
    const Settings *s = &a->settings;
    bool byte_pairs = s->tokenizer.tokens == BYTE_PAIRS;
    bool decided = a->command->bit == INFO && a->operands;
    for (int i = 0; decided && i < OPTIONS; i++)
        if (s->text[i] && strcmp(options[i].name, "batch"))
            misuse(a, "--%s: the model in %s has its own", options[i].name,
                   a->operand[0]);
    if (given(s, "steps") && given(s, "epochs"))
        misuse(a, "--steps and --epochs exclude each other");
    if (s->resume && s->from)
        misuse(a, "--resume and --from exclude each other");
    if (s->resume || s->from || (a->command->bit != TRAIN && a->operands))
        return; // a file has its own settings
    if (wrong_config(&s->config))
        misuse(a, "%s", wrong_config(&s->config));
    if (!byte_pairs && given(s, "merges"))
        misuse(a, "--merges needs --tokens bpe");
    if (byte_pairs && given(s, "min-count"))
        misuse(a, "--min-count and --tokens bpe exclude each other");
}

// Reads what follows the command. "--" ends the options, and a sentence may
// begin with a dash and a blank.
void read_words(Arguments *a, int count, char **word) {
    bool options_end = false;
    for (int i = 0; i < count; i++) {
        const char *w = word[i];
        bool option = !options_end && w[0] == '-' && w[1] && w[1] != ' ';
        if (option && !strcmp(w, "--"))
            options_end = true;
        else if (option && w[1] == '-')
            i += read_option(a, word + i);
        else if (option && !strcmp(w, "-h"))
            a->settings.text[option_place("help", 4)] = "yes";
        else if (option)
            misuse(a, "%s has no option %s", a->command->name, w);
        else if (a->operands == a->command->most)
            misuse(a, "unexpected argument \"%s\"; %s takes %s", w,
                   a->command->name, a->command->operands);
        else
            a->operand[a->operands++] = w;
    }
}

// Reads the whole command line, or exits with status 2. --help needs no
// operand.
Arguments read_arguments(int argc, char **argv) {
    Arguments a = {0};
    if (argc < 2)
        misuse(&a, "what shall I do? train, translate, evaluate, attention "
               "or info");
    for (int i = 0; i < COMMANDS; i++)
        if (!strcmp(argv[1], commands[i].name))
            a.command = &commands[i];
    if (!a.command)
        misuse(&a, "there is no command \"%s\"", argv[1]);
    read_words(&a, argc - 2, argv + 2);
    bind_settings(&a.settings);
    if (!a.settings.help && a.operands < a.command->least)
        misuse(&a, "%s needs %s", a.command->name, a.command->operands);
    if (!a.settings.help)
        check_settings(&a);
    return a;
}

// OpenMP uses all processors; on a busy machine, try --threads 1.
void set_threads(const Arguments *a) {
    int threads = a->settings.threads;
#ifdef _OPENMP
    if (threads) // more than there are processors would only wait
        omp_set_num_threads(min_int(threads, omp_get_num_procs()));
#else
    if (threads > 1)
        misuse(a, "--threads %d: this program was built without OpenMP",
               threads);
#endif
}

//@ plumbing Ctrl-C leaves a note, and the step is finished
// ## The terminal, and Ctrl-C

// The first Ctrl-C asks the training loop to finish its step and save, since in
// the middle of a step half of the parameters may be old. SIGTERM, which kill
// sends, and SIGHUP, which comes when the terminal is closed, are handled in
// the same way, and the second signal ends the program at once. A signal that
// is ignored when the program begins (nohup does that) stays ignored.
volatile sig_atomic_t stop_signal;

#ifndef SIGHUP
#define SIGHUP SIGTERM // where terminals send none
#endif

// Gives the three signals to a handler, except those that are ignored.
void handle_signals(void (*handler)(int)) {
    const int which[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; i++)
        if (signal(which[i], handler) == SIG_IGN)
            signal(which[i], SIG_IGN);
}

// Handles a signal: the next one ends the program at once.
void remember_signal(int which) {
    stop_signal = which;
    handle_signals(SIG_DFL);
}

//@ plumbing pairs of a file as numbers; mean loss and accuracy
// ## What all commands with a model do

// A sentence as text, in one of the model's vocabularies; the caller frees it.
char *text_of(const Checkpoint *c, const Vocab *v, Sentence s) {
    return detokenize(s.id, s.length, v, c->settings.tokenizer);
}

// The model's translation of a sentence; the caller frees its ids.
Sentence translation_of(Checkpoint *c, Sentence source, int beam) {
    Sentence *all = translate_all(c->trainer.model, &source, 1, beam,
                                  &c->trainer.arena);
    Sentence own = *all;
    free(all);
    return own;
}

// A text as pairs in the model's numbers; pairs_free frees them. Says how many
// are left out, being too long, and how many tokens are unknown. Fails if no
// pair remains. The text, which came from `path`, is freed.
Pairs number_pairs(const char *path, Text text, const Checkpoint *c) {
    const Settings *s = &c->settings;
    int most = s->config.max_len;
    int64_t tokens = 0, unknown = 0;
    Pairs p = tokenize_pairs(&text, &c->source, &c->target, s->tokenizer, most);
    text_free(&text);
    if (p.count == 0)
        fail("%s: every pair has more than %d tokens", path, most);
    if (p.too_long)
        fprintf(stderr, "%s: left out %d of %d pairs, with more than %d "
                "tokens\n", path, p.too_long, p.too_long + p.count, most);
    for (int i = 0; i < p.count; i++) {
        tokens += p.source[i].length - 1 + p.target[i].length - 1;
        unknown += unknowns(p.source[i].id, p.source[i].length)
                 + unknowns(p.target[i].id, p.target[i].length);
    }
    if (unknown)
        fprintf(stderr, "%s: the model does not know %" PRId64 " of %" PRId64
                " tokens\n", path, unknown, tokens);
    return p;
}

// The pairs of a file. Fails if anything is wrong with it.
Pairs load_pairs(const char *path, const Checkpoint *c) {
    return number_pairs(path, read_pairs(path, c->settings.tokenizer), c);
}

// ## train
//
// The training loop of chapter 11 reports after each step. This command prints
// and logs the report, and now and then saves the run.
// The loss should fall, fast at first. The accuracy is that of single words in
// training, with dropout, so the model is better than it looks. If the norm of
// the gradient keeps growing, the learning rate is too high. If the valid loss
// rises while the loss falls, the model is overfitting.
//
//@ plumbing the progress line, and three sentences now and then
// ### Progress
//
// On a terminal the progress line is rewritten five times a second; elsewhere
// it is printed twenty times in a run. At every fifth of these twenty times,
// three sentences are translated; "(not yet)" follows one that is not exact.

// What has to be remembered from one report to the next.
typedef struct {
    const Settings *settings;
    Checkpoint *checkpoint;
    const Pairs *data, *valid; // valid: NULL if there are none
    FILE *log;            // NULL: none, or not begun yet
    int64_t total;        // steps to be done
    int64_t first_step;   // done before this run
    double started, step_started, shown; // times
    Loss since;           // losses since the last look
    int looks;            // so far
    bool line_open;       // the terminal's line will be rewritten
} Progress;

// The progress line, with the time left. A terminal too narrow for it is told
// not to wrap it (ESC [?7l, and then ESC [?7h), since only one line can be
// rewritten. A `whole` line ends, and is not rewritten.
void show_progress(Progress *p, const Step *s, bool whole) {
    double each = (now() - p->started) / (double)(s->step - p->first_step);
    int64_t left = (int64_t)(each * (double)(p->total - s->step) + 0.5);
    bool terminal = is_terminal(stderr);
    fprintf(stderr, "%sstep %" PRId64 "/%" PRId64 "  loss %.4f",
            terminal ? "\r\033[?7l" : "", s->step, p->total, average(p->since));
    fprintf(stderr, "  accuracy %.1f %%", 100 * accuracy(p->since));
    fprintf(stderr, "  lr %.2g  norm %.2f", s->rate, s->gradient_norm);
    fprintf(stderr, "  %" PRId64 ":%02" PRId64 " left", left / 60, left % 60);
    fprintf(stderr, "%s%s", terminal ? "   \033[?7h" : "", whole ? "\n" : "");
    p->line_open = !whole;
    p->shown = now();
}

// Translates three sentences greedily and compares them with the references;
// fewer if a signal arrives.
void show_samples(const Progress *p) {
    Checkpoint *c = p->checkpoint;
    const Pairs *pairs = p->valid ? p->valid : p->data;
    for (int i = 0; i < min_int(3, pairs->count) && !stop_signal; i++) {
        Sentence own = translation_of(c, pairs->source[i], 1);
        Match match = {0};
        add_translation(&match, own, pairs->target[i], &c->target,
                        c->settings.tokenizer);
        char *from = text_of(c, &c->source, pairs->source[i]);
        char *to = text_of(c, &c->target, own);
        fprintf(stderr, "    %s  →  %s%s\n", printable(from), printable(to),
                match.exact ? "" : "  (not yet)");
        free(from);
        free(to);
        free(own.id);
    }
}

// ### The log
//
// A file for plotting: one row for each step, and one for each look at the
// validation data, where the last two columns are empty. The loss is the
// cross-entropy, without label smoothing, in both.
//@ plumbing a row for each step, and one for each look
#define LOG_HEADER "step,split,loss,accuracy,learning_rate,gradient_norm," \
                   "tokens_per_second\n"

// Fails if there is something in the file, and it does not begin like this.
void check_beginning(FILE *file, const char *path, const char *wanted) {
    char start[128];
    size_t size = fread(start, 1, strlen(wanted), file);
    if (memcmp(start, wanted, size))
        fail("%s stays as it is: it does not begin with \"%.*s\"", path,
             (int)strcspn(wanted, "\n"), wanted);
}

// Begins a new log or, if the run is resumed, goes on with the old one. A last
// row that a full disk cut short is ended. What is no log stays as it is.
FILE *begin_log(const Settings *s) {
    FILE *log = fopen(s->log, "ab+");
    bool seeks = log && fseek(log, 0, SEEK_SET) == 0; // a pipe does not
    if (seeks)
        check_beginning(log, s->log, LOG_HEADER);
    if (seeks && !s->resume)
        log = freopen(s->log, "wb+", log);
    if (!log)
        fail("cannot write %s: %s", s->log, strerror(errno));
    int last = fseek(log, -1, SEEK_END) == 0 ? getc(log) : EOF;
    fseek(log, 0, SEEK_END);
    if (last == EOF)
        fputs(LOG_HEADER, log);
    else if (last != '\n')
        fputc('\n', log);
    return log;
}

// Writes the row or rows of one step. The log begins after the first step: if
// that step fails, an old log is left unchanged.
void write_log(Progress *p, const Step *s, double seconds, Loss valid) {
    const Loss *l = &s->loss;
    if (!p->log)
        p->log = begin_log(p->settings);
    fprintf(p->log, "%" PRId64 ",train,%.6g,%.6g,%.6g,%.6g,%.0f\n", s->step,
            average(*l), accuracy(*l), s->rate, s->gradient_norm,
            l->tokens / fmax(seconds, 1e-9));
    if (valid.tokens)
        fprintf(p->log, "%" PRId64 ",valid,%.6g,%.6g,%.6g,,\n", s->step,
                average(valid), accuracy(valid), s->rate);
    if (fflush(p->log) != 0) {
        fputs(p->line_open ? "\n" : "", stderr);
        fail("cannot write %s: %s", p->settings->log, strerror(errno));
    }
}

//@ plumbing measure, log, print, save
// ### After each step
//
// First the log, then the checkpoint: so no step of a checkpoint is missing
// from the log. (A run that was killed and is resumed does some steps again,
// and their rows come twice: the last ones count.) The run is measured and
// saved twenty times. It is also saved right after its first step: from then on
// model and log belong to this run, not to an older one.

enum { LOOKS = 20 };

// Whether to measure and save after this step: twenty times in a run, as evenly
// as possible; after each step if there are fewer.
bool time_to_look(int64_t step, int64_t total) {
    int64_t looks = total < LOOKS ? total : LOOKS;
    return step * looks / total > (step - 1) * looks / total;
}

// The Reporter of chapter 11. Returns whether to go on.
bool report_step(void *context, const Step *s) {
    Progress *p = context;
    Trainer *t = &p->checkpoint->trainer;
    double seconds = now() - p->step_started;
    bool look = time_to_look(s->step, p->total);
    bool first = s->step == p->first_step + 1;
    Loss valid = {0};
    if (look && p->valid)
        valid = evaluate_loss(t->model, p->valid, t->recipe.batch, 0,
                              &t->arena);
    p->since = add_losses(p->since, s->loss);
    if (p->settings->log)
        write_log(p, s, seconds, valid);
    if (look || (is_terminal(stderr) && now() - p->shown > 0.2))
        show_progress(p, s, look);
    if (valid.tokens)
        fprintf(stderr, "    valid  loss %.4f  accuracy %.1f %%\n",
                average(valid), 100 * accuracy(valid));
    if (look && (p->looks++ % 5 == 0 || s->step == p->total))
        show_samples(p);
    if (look || first)
        save_checkpoint(p->checkpoint, p->settings->model);
    if (look)
        p->since = (Loss){0};
    p->step_started = now();
    return !stop_signal;
}

//@ plumbing a new model, or one to go on with
// ### Where training begins

// The vocabulary of one language, from the training data alone: a word that
// occurs only in the validation data is unknown, like any new word.
Vocab new_vocab(const Settings *s, char *const *text, int texts) {
    if (s->tokenizer.tokens == BYTE_PAIRS)
        return learn_merges(text, texts, s->merges);
    return vocab_build(text, texts, s->tokenizer, s->min_count);
}

// How many texts are a single word, apart from marks. If most are, the language
// may be written without blanks and has to be cut in another way.
int single_words(char *const *text, int texts) {
    int single = 0;
    for (int i = 0, words = 0, n; i < texts; i++, words = 0) {
        for (const char *s = text[i], *w; (w = next_token(&s, by_words, &n));)
            words += !is_mark(w);
        single += words == 1;
    }
    return single;
}

// A new model with the checkpoint's settings: vocabularies from the training
// data, which come from `path`, and random parameters. Fails if no word is
// left.
void new_model(Checkpoint *c, const char *path, const Text *text) {
    Settings *s = &c->settings;
    int single = max_int(single_words(text->source, text->count),
                         single_words(text->target, text->count));
    if (s->tokenizer.tokens == WORDS && single > text->count / 2)
        fprintf(stderr, "%s: most sentences are one word; without blanks "
                "between words, use --tokens char or bpe\n", path);
    c->source = new_vocab(s, text->source, text->count);
    c->target = new_vocab(s, text->target, text->count);
    set_vocab_sizes(c);
    if (min_int(c->source.count, c->target.count) == FIRST_TOKEN)
        fail("%s: no word occurs %d times", path, s->min_count);
    c->trainer = trainer_new(transformer_new(&s->config),
                             transformer_zeros(&s->config), &s->recipe);
    initialize(&c->trainer.model->list, (uint64_t)s->recipe.seed);
}

// Whether two paths lead to one file.
bool same_file(const char *a, const char *b) {
#ifdef TRANSFORMER_POSIX
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev
        && x.st_ino == y.st_ino;
#else
    return !strcmp(a, b);
#endif
}

// The settings of a run that begins with a checkpoint: --from takes a model as
// it is, and --resume is the same run, longer. Exits with status 2 if an option
// asks for something else.
Settings joined_settings(const Arguments *a, const Settings *file) {
    Settings s = a->settings;
    for (int i = 0; i < OPTIONS; i++) {
        const char *name = options[i].name;
        bool longer = !strcmp(name, "steps") || !strcmp(name, "epochs");
        if (!options[i].in_model || (s.from && options[i].in_model == RUN))
            continue;
        if (s.text[i] && !longer)
            misuse(a, "--%s: %s has its own%s", name, s.from ? s.from : s.model,
                   s.from ? "" : "; for another, begin a new run --from it");
        if (!s.text[i])
            s.text[i] = file->text[i];
    }
    if (given(&a->settings, "epochs")) // in place of the file's steps
        s.text[option_place("steps", 5)] = NULL;
    bind_settings(&s);
    return s;
}

// What a run begins with: nothing yet; a checkpoint to go on with; or the
// parameters and words of a model, with steps and moments at 0 (*fine-tuning*:
// what that one has learned need not be learned again).
Checkpoint begin_run(const Arguments *a) {
    const Settings *s = &a->settings;
    if (!s->resume && !s->from)
        return (Checkpoint){.settings = *s};
    Checkpoint c = load_checkpoint(s->resume ? s->model : s->from, s->resume);
    Trainer *t = &c.trainer;
    c.settings = joined_settings(a, &c.settings);
    set_vocab_sizes(&c);
    t->model->config = c.settings.config;
    t->recipe = c.settings.recipe;
    if (s->from && same_file(s->from, s->model))
        misuse(a, "%s would be overwritten: give another --model", s->from);
    if (s->from)
        *t = trainer_new(t->model, transformer_zeros(&t->model->config),
                         &c.settings.recipe);
    return c;
}

// Says what a new run will replace; fails if a file there is not a model.
void announce(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return;
    fclose(file);
    Reader r = open_model(path);
    char *step = printable(metadata(&r, "step", true));
    fprintf(stderr, "%s: a model of %s step%s is there; the first step of this "
            "run replaces it\n", path, step, strcmp(step, "1") ? "s" : "");
    close_model(&r);
}

// Says in three lines what is about to happen.
void describe(const Progress *p) {
    const Checkpoint *c = p->checkpoint;
    const Config *m = &c->settings.config;
    const Recipe *r = &c->settings.recipe;
    int pairs = p->data->count;
    char text[32];
    with_commas(text, c->trainer.model->list.count);
    fprintf(stderr, "data: %d pair%s, vocabularies of %d and %d tokens\n",
            pairs, plural(pairs), m->source_vocab, m->target_vocab);
    fprintf(stderr, "model: %d+%d layers, d_model %d, %d head%s, d_ff %d: %s "
            "parameters\n", m->layers, m->layers, m->d_model, m->heads,
            plural(m->heads), m->d_ff, text);
    fprintf(stderr, "training: %" PRId64 " step%s of %d sentence%s, learning "
            "rate up to %.3g after %d step%s\n", p->total, plural(p->total),
            r->batch, plural(r->batch), r->rate, r->warmup, plural(r->warmup));
    volatile float x = 1 + 0x1p-12f, y = 1 + 0x1p-11f; // x·x, rounded, is y
    if (c->trainer.model->list.count > 2000000 && x * x - y == 0)
        fputs("on some processors a program built by `make FAST=1` trains so "
              "large a model up to 1.7 times as fast, with other last bits\n",
              stderr);
}

//@ plumbing train, from its arguments to its last message
// ### The command

// Trains, saves if stopped, and says how it ended. If the numbers are no longer
// finite, nothing is saved: the last checkpoint is a better state.
void run_training(Progress *p) {
    const Settings *s = p->settings;
    Trainer *t = &p->checkpoint->trainer;
    handle_signals(remember_signal);
    bool finite = train(t, p->data, report_step, p);
    fputs(p->line_open ? "\n" : "", stderr);
    if (!finite && t->step == 0)
        fail("step 1: the loss is not a number: nothing can be learned from "
             "the model%s%s", s->from ? " in " : "", s->from ? s->from : "");
    if (!finite)
        fail("step %" PRId64 ": the loss is not a number any more; try a "
             "smaller --lr; the last state that was saved is in %s",
             t->step + 1, s->model);
    if (stop_signal)
        save_checkpoint(p->checkpoint, s->model);
    fprintf(stderr, "%s at step %" PRId64 " after %.1f s; %s",
            stop_signal ? "stopped" : "done", t->step, now() - p->started,
            stop_signal ? "go on with --resume; " : "");
    fprintf(stderr, "%s; peak memory of a step %.1f MB; checksum %016" PRIx64
            "\n", s->model, (double)t->arena.peak / 1e6, checksum(t));
}

// transformer train DATA.tsv
//
// The data are read once, since they may come through a pipe. A pipe that is no
// longer read must not end the program: Ctrl-C also ends the `tee` behind it,
// while the last step is still to be saved.
void train_command(const Arguments *a, Checkpoint *c) {
    const Settings *s = &a->settings;
    Trainer *t = &c->trainer;
#ifdef SIGPIPE
    signal(SIGPIPE, SIG_IGN);
#endif
    *c = begin_run(a);
    if (!s->resume)
        announce(s->model);
    Text text = read_pairs(a->operand[0], c->settings.tokenizer);
    if (!t->model)
        new_model(c, a->operand[0], &text);
    Pairs data = number_pairs(a->operand[0], text, c), valid = {0};
    if (s->valid)
        valid = load_pairs(s->valid, c);
    Progress p = {
        .settings = s, .checkpoint = c, .data = &data,
        .valid = s->valid ? &valid : NULL, .first_step = t->step,
        .total = total_steps(&t->recipe, data.count),
        .started = now(), .step_started = now(),
    };
    describe(&p);
    if (t->step >= p.total)
        fprintf(stderr, "nothing to do: %" PRId64 " step%s done; ask for more "
                "--steps or --epochs\n", t->step,
                t->step == 1 ? " is" : "s are");
    run_training(&p);
    if (p.log && fclose(p.log) != 0)
        fail("cannot write %s: %s", s->log, strerror(errno));
    pairs_free(&data);
    pairs_free(&valid);
}

// ## translate
//
// One line comes out for each that goes in; a line without a word gives an
// empty line. A line that cannot be translated ends the program with a message
// that gives its number. Tokens that the model does not know become <unknown>,
// and are counted in one line at the end. Each line is answered before the next
// is read, so another program can ask through one pipe and read from another.

//@ plumbing a line is read, translated, answered
// Reads the line of standard input with this number into `text`, without its
// end (LF or CR LF); false after the last. Fails if the input cannot be read or
// is not text.
bool read_line(char text[LONGEST_LINE], int number) {
    int length = 0, c;
    while ((c = getchar()) != EOF && c != '\n') {
        if (c == '\0' || length == LONGEST_LINE - 1)
            fail("line %d of the input has %s", number, c ? "a megabyte or more"
                 : "a zero byte: this is not text");
        text[length++] = (char)c;
    }
    if (ferror(stdin))
        fail("cannot read the input: %s", strerror(errno));
    bool more = length || c != EOF;
    while (length && text[length - 1] == '\r')
        length--;
    text[length] = '\0';
    return more;
}

// text -> its tokens in *s, which the caller frees. Returns NULL, or what is
// wrong with the text, to be said after its name.
const char *tokenize_input(const char *text, const Checkpoint *c,
                           const Vocab *v, Sentence *s) {
    static char reason[128];
    int most = c->settings.config.max_len;
    if (!valid_utf8(text))
        return "is not valid UTF-8";
    char *copied = strcpy(allocate(strlen(text) + 1, 1), text);
    if (c->settings.tokenizer.lowercase)
        lower_case(copied);
    *s = tokenize(skip_order_mark(copied), v, c->settings.tokenizer);
    free(copied);
    snprintf(reason, sizeof reason, "has %d tokens; the model takes at most %d "
             "(train with --max-len %d)", s->length - 1, most, s->length - 1);
    return s->length - 1 > most ? reason : NULL;
}

// transformer translate MODEL
void translate_command(const Arguments *a, Checkpoint *c) {
    char *line = allocate(LONGEST_LINE, 1);
    int unknown = 0;
    for (int number = 1; read_line(line, number); number++) {
        Sentence s;
        const char *wrong = tokenize_input(line, c, &c->source, &s);
        if (wrong)
            fail("line %d of the input %s", number, wrong);
        Sentence own = translation_of(c, s, a->settings.beam);
        char *text = text_of(c, &c->target, own);
        puts(s.length > 1 ? text : ""); // of no word, an empty line
        finish_output();
        unknown += unknowns(s.id, s.length);
        free(text);
        free(own.id);
        free(s.id);
    }
    if (unknown)
        fprintf(stderr, "the model does not know %d of the input's tokens\n",
                unknown);
    free(line);
}

// ## evaluate
//
// Loss, perplexity and token accuracy are teacher-forced: how well is the true
// translation predicted, word by word? The last two measure the model's own
// translations (chapter 12).
//
//     $ ./transformer evaluate model.safetensors data/eng-fra.test.tsv
//     sentences 500
//     tokens 4423              of the targets, each with its end
//     loss 0.601704            nats for each token
//     perplexity 1.8252        e to the loss
//     token_accuracy 84.08     percent
//     exact_match 26.20        percent
//     bleu 56.82               percent
//
// This model was stopped early, after 216 steps. Given the true words before
// it, a word is right five times in six; a sentence of eight words from
// beginning to end only once in four, since 0.8408 to the power of 8 is 0.250.
//
// Losses of words, of pieces and of characters cannot be compared: with fewer
// tokens to choose from the loss is lower. Exact match and BLEU can.

//@ plumbing the command
// transformer evaluate MODEL DATA.tsv
void evaluate_command(const Arguments *a, Checkpoint *c) {
    enum { TOGETHER = 64 };
    const Transformer *model = c->trainer.model;
    Arena *arena = &c->trainer.arena;
    Pairs p = load_pairs(a->operand[1], c);
    Loss loss = evaluate_loss(model, &p, TOGETHER, 0, arena);
    if (!isfinite(loss.cross_entropy))
        fail("%s: its loss on %s is not a number", a->operand[0],
             a->operand[1]);
    Sentence *result = translate_all(model, p.source, p.count,
                                     a->settings.beam, arena);
    Match match = {0};
    for (int i = 0; i < p.count; i++)
        add_translation(&match, result[i], p.target[i], &c->target,
                        c->settings.tokenizer);
    printf("sentences %d\ntokens %" PRId64 "\n", p.count, loss.tokens);
    printf("loss %.6f\nperplexity %.4f\n", average(loss), exp(average(loss)));
    printf("token_accuracy %.2f\n", 100 * accuracy(loss));
    printf("exact_match %.2f\n", 100.0 * match.exact / match.sentences);
    printf("bleu %.2f\n", bleu(&match));
    sentences_free(result, p.count);
    pairs_free(&p);
}

// ## attention
//
// Shows where the model looks while it translates a sentence or, with --target,
// where it would have looked if it had written that translation. Chapter 13
// explains the picture and the file.

//@ plumbing the command
// The tokens of a text from the command line; messages call it `called`.
Sentence given_sentence(const char *called, const char *text,
                        const Checkpoint *c, const Vocab *v) {
    Sentence s;
    const char *wrong = tokenize_input(text, c, v, &s);
    if (wrong)
        fail("the %s %s", called, wrong);
    return s;
}

// transformer attention MODEL SENTENCE
void attention_command(const Arguments *a, Checkpoint *c) {
    const char *csv = a->settings.csv, *wanted = a->settings.target;
    const Transformer *model = c->trainer.model;
    Arena *arena = &c->trainer.arena;
    Sentence source = given_sentence("sentence", a->operand[1], c, &c->source);
    if (source.length == 1)
        fail("the sentence is empty");
    Sentence target = wanted ? given_sentence("target", wanted, c, &c->target)
                             : translation_of(c, source, 1);
    Pass pass = {.arena = arena, .config = &model->config};
    Saved saved;
    Batch batch = look(&pass, &saved, model, source, target);
    int S = batch.source_length, T = batch.target_length;
    const char **from = tokens_of(arena, &c->source, batch.source, S);
    const char **input = tokens_of(arena, &c->target, batch.input, T);
    const char **written = tokens_of(arena, &c->target, batch.expected, T);
    char *words = text_of(c, &c->target, target);
    printf("%s\n\n", printable(words));
    draw_cross_attention(stdout, &pass, &saved, written, from);
    finish_output();
    if (csv) {
        FILE *old = fopen(csv, "rb");
        if (old) {
            check_beginning(old, csv, CSV_HEADER);
            fclose(old);
        }
        FILE *file = begin_file(csv);
        write_attention_csv(file, &pass, &saved, from, input);
        end_file(file, csv);
    }
    free(words);
    free(source.id);
    free(target.id);
}

// ## info
//
// Shows what is in a model file, or what a model with these options would be:
// so you can compute the size of the paper's model (chapter 13) before you have
// the memory for it. In an encoder layer two thirds of the parameters are in
// the feed-forward network, in a decoder layer half; the rest is attention.

//@ plumbing the command
// The value of an option as text: as it was given, or a number that follows
// from others, which only a few have.
const char *option_text(char to[32], const Settings *s, int i) {
    const void *place = (const char *)s + options[i].offset;
    if (s->text[i] || options[i].initial)
        return s->text[i] ? s->text[i] : options[i].initial;
    snprintf(to, 32, "%.10g", options[i].type == NUMBER
             ? *(const double *)place : *(const int *)place);
    return to;
}

// transformer info [MODEL]
void info_command(const Arguments *a, Checkpoint *c) {
    enum { LENGTH = 20 }; // of the sentences in a step
    bool file = a->operands > 0;
    const Settings *s = file ? &c->settings : &a->settings;
    const Trainer *t = &c->trainer;
    Config config = s->config;
    int batch = (given(&a->settings, "batch") ? &a->settings : s)->recipe.batch;
    char text[32];
    if (!file)
        config.source_vocab = config.target_vocab = s->vocab;
    for (int i = 0; i < OPTIONS; i++)
        if (options[i].in_model && (file || (options[i].commands & INFO)))
            printf("%s %s\n", options[i].name, option_text(text, s, i));
    printf("source vocabulary %d\ntarget vocabulary %d\n", config.source_vocab,
           config.target_vocab);
    if (file)
        printf("steps trained %" PRId64 "\nchecksum %016" PRIx64 "\n", t->step,
               checksum(t));
    Transformer *outline = transformer_outline(&config);
    putchar('\n');
    print_parameters(stdout, &outline->list);
    printf("\na training step with %d sentence%s of %d tokens\n", batch,
           plural(batch), LENGTH);
    printf("  parameters, gradients, two moments %10.1f MB\n",
           4.0 * sizeof(real) * (double)outline->list.count / 1e6);
    printf("  saved by the forward pass          %10.1f MB\n",
           saved_bytes(&config, batch, LENGTH, LENGTH) / 1e6);
    transformer_free(outline);
}

// ## main
//
// A command line comes in, one of five functions is called, and a status goes
// out. To use parts of this file in another program, define TRANSFORMER_NO_MAIN
// and include it. The program needs a stack of 256 KB.

#ifndef TRANSFORMER_NO_MAIN

// The commands, in the order of their table.
void (*const function_of[COMMANDS])(const Arguments *, Checkpoint *) = {
    train_command, translate_command, evaluate_command, attention_command,
    info_command};

// The status is 0, or 128 plus the number of the signal that stopped training.
int main(int argc, char **argv) {
    let_threads_sleep(argv);
    const char *first = argc > 1 ? argv[1] : "";
#ifdef SIGXFSZ
    signal(SIGXFSZ, SIG_IGN); // a limit on files is like a full disk
#endif
    check_arithmetic();
    if (!strcmp(first, "--version"))
        puts("transformer 4.0");
    else if (find_choice("help|--help|-h", first) >= 0)
        print_help();
    else {
        Arguments a = read_arguments(argc, argv);
        Checkpoint c = {0};
        set_threads(&a);
        if (a.settings.help)
            print_command_help(a.command);
        else {
            if (a.operands && a.command->bit != TRAIN)
                c = load_checkpoint(a.operand[0], false);
            function_of[a.command - commands](&a, &c);
        }
        checkpoint_free(&c);
    }
    finish_output();
    return stop_signal ? 128 + stop_signal : 0;
}
#endif
