// The executed examples of the book. Each shows one idea of transformer.c in
// numbers that can be checked by hand, or compares a backward pass with finite
// differences.
//
//     make build/examples
//     build/examples              lists them
//     build/examples softmax      runs one of them: the function
//                                 example_softmax
//
// An example also checks what it claims. If a claim is false, it says so, and
// the exit status is 1. All of them calculate in double.

#include "../../tests/lib/test.h"

// ## Printing

// x as it is printed with this many decimals; never -0.
double rounded(double x, int decimals) {
    double scale = pow(10, decimals), y = round(x * scale) / scale;
    return y == 0 ? 0 : y;
}

// Prints x in `width` places.
void put_number(double x, int width, int decimals) {
    printf("%*.*f", width, decimals, rounded(x, decimals));
}

// Prints a text and then blanks, `width` columns in all.
void put(const char *text, int width) {
    int blanks = width - columns(text);
    printf("%s%*s", text, blanks > 0 ? blanks : 0, "");
}

// Prints a claim if it holds; if not, says so, and remembers it.
void say(bool holds, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (*format == '\n')
        putchar(*format++);
    fputs(holds ? "" : "NOT TRUE: ", stdout);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    claims_failed += !holds;
}

// Prints n numbers in a line, after a label.
void show_row(const char *label, const real *x, int n, int decimals) {
    put(label, 22);
    for (int j = 0; j < n; j++)
        put_number(x[j], 9, decimals);
    putchar('\n');
}

// The places that each number of a matrix takes: as many as the largest needs
// if all are whole, and 9, with four decimals, if not.
int places(Mat m) {
    int most = 0;
    for (int i = 0; i < m.rows; i++)
        for (int j = 0; j < m.cols; j++) {
            double x = *at(m, i, j);
            if (fabs(x - round(x)) > 1e-9)
                return 9;
            int width = snprintf(NULL, 0, "%.0f", rounded(x, 0));
            most = width > most ? width : most;
        }
    return most + 2;
}

// Prints up to four matrices side by side, below their names and shapes. The
// names are in one string: show("q k", q, k). Numbers have four decimals, or
// none if all of a matrix are whole.
void show(const char *names, ...) {
    Mat m[4];
    int count = 1, rows = 0;
    for (const char *c = names; *c; c++)
        count += *c == ' ';
    va_list arguments;
    va_start(arguments, names);
    for (int k = 0; k < count; k++) {
        m[k] = va_arg(arguments, Mat);
        rows = m[k].rows > rows ? m[k].rows : rows;
    }
    va_end(arguments);
    for (int i = -1; i < rows; i++) { // -1: the heading
        const char *name = names;
        for (int k = 0, column = 0, start = 0; k < count; k++) {
            int length = (int)strcspn(name, " "), each = places(m[k]);
            int numbers = m[k].cols * each, heading = length + 6;
            if (i < m[k].rows)
                column += printf("%*s", start - column, "");
            if (i < 0)
                column += printf("%.*s (%d,%d)", length, name, m[k].rows,
                                 m[k].cols);
            for (int j = 0; i >= 0 && i < m[k].rows && j < m[k].cols; j++)
                column += printf("%*.*f", each, each == 9 ? 4 : 0,
                                 rounded(*at(m[k], i, j), each == 9 ? 4 : 0));
            start += (numbers > heading ? numbers : heading) + 4;
            name += length + 1;
        }
        putchar('\n');
    }
}

// The distance between two rows of n numbers.
double distance(const real *x, const real *y, int n) {
    double square = 0;
    for (int j = 0; j < n; j++)
        square += (x[j] - y[j]) * (x[j] - y[j]);
    return sqrt(square);
}

// ## Gradients against finite differences
//
// This works as in the tests. A struct …Case has everything that a function
// takes. A function …_loss runs the forward pass with just that, and turns the
// result into one number: Σ upstream · out, with random but fixed numbers
// `upstream`. So the backward pass is given dout = upstream. It adds gradients
// to buffers filled with PREFILL, which the comparison subtracts again.

// A buffer for the gradient of x.
Mat prefilled(Mat x) {
    return filled_mat(x.rows, x.cols, PREFILL);
}

// The gradient of f with respect to x by finite differences.
Mat differences(Scalar *f, void *context, Mat x) {
    Mat d = arena_mat(&room, x.rows, x.cols);
    size_t mark = room.used;
    for (int k = 0; k < x.rows * x.cols; k++) {
        d.at[k] = slope(f, context, at(x, k / x.cols, k % x.cols));
        arena_release(&room, mark); // what f has taken
    }
    return d;
}

// How many elements of dx, which began as `start`, are equal to those of d up
// to a relative error of 1e-6.
int agreeing(Mat dx, double start, Mat d) {
    int agree = 0;
    for (int i = 0; i < d.rows; i++)
        for (int j = 0; j < d.cols; j++)
            agree += relative_error(*at(dx, i, j) - start, *at(d, i, j)) < 1e-6;
    return agree;
}

// Checks every element of dx, which began as `start`, against finite
// differences of f, and prints a line with the first element that is not about
// zero. The first call also prints the heading.
void compare(const char *name, Scalar *f, void *context, Mat x, Mat dx,
             double start) {
    static bool heading;
    if (!heading)
        printf("%-29s%8s%7s%9s%12s%11s\n", "gradient of", "shape", "at",
               "backward", "differences", "below 1e-6");
    heading = true;
    Mat d = differences(f, context, x);
    int n = x.rows * x.cols, k = 0, agree = agreeing(dx, start, d);
    while (k < n && fabs(d.at[k]) < 0.01)
        k++;
    int i = k < n ? k / x.cols : 0, j = k < n ? k % x.cols : 0;
    char shape[40], place[40];
    sprintf(shape, "(%d,%d)", x.rows, x.cols);
    sprintf(place, "[%d][%d]", i, j);
    printf("%-29s%8s%7s", name, shape, place);
    put_number(*at(dx, i, j) - start, 9, 4);
    put_number(*at(d, i, j), 12, 4);
    fputs("    ", stdout);
    if (agree == n)
        printf("all %3d\n", n);
    else
        say(false, "only %d of %d", agree, n);
}

// ## Chapter 0: manual

typedef struct {
    real w, x, b, t;
} Chain;

double chain_loss(void *context) {
    const Chain *c = context;
    double y = c->x + (c->w * c->x + c->b);
    return (y - c->t) * (y - c->t);
}

// A loss computed in three steps. The path of x branches, into u and straight
// into y, and merges again in y. The backward pass takes the steps in reverse
// order, and each turns the gradient of its result into the gradients of what
// went in. So x receives a gradient along each branch, and the two are added.
// Finite differences know nothing of steps and find the same.
void example_chain(void) {
    Chain c = {.w = 3, .x = 2, .b = 1, .t = 5};
    double u = c.w * c.x + c.b;                 // (1)
    double y = c.x + u;                         // (2)
    double loss = (y - c.t) * (y - c.t);        // (3)
    double dy = 2 * (y - c.t), dt = -dy;        // (3) loss = (y - t)²
    double dx = dy, du = dy;                    // (2) y = x + u
    printf("w = %g, x = %g, b = %g, t = %g\n\n", c.w, c.x, c.b, c.t);
    printf("forward     (1) u = w x + b        %3g\n", u);
    printf("            (2) y = x + u          %3g\n", y);
    printf("            (3) loss = (y - t)²    %3g\n\n", loss);
    printf("backward    (3) dy = 2 (y - t)     %3g\n", dy);
    printf("                dt = -dy           %3g\n", dt);
    printf("            (2) dx = dy            %3g\n", dx);
    printf("                du = dy            %3g\n", du);
    double dw = du * c.x, db = du;              // (1) u = w x + b
    dx += du * c.w;
    printf("            (1) dw = du x          %3g\n", dw);
    printf("                db = du            %3g\n", db);
    printf("                dx += du w         %3g\n\n", dx);
    real *place[] = {&c.w, &c.x, &c.b, &c.t}, by_rule[] = {dw, dx, db, dt};
    real by_differences[4];
    for (int k = 0; k < 4; k++)
        by_differences[k] = slope(chain_loss, &c, place[k]);
    printf("                             dw       dx       db       dt\n");
    show_row("by the chain rule", by_rule, 4, 4);
    show_row("by differences", by_differences, 4, 4);
    double error = largest_error(mat(by_rule, 1, 4), mat(by_differences, 1, 4));
    say(error < 1e-6, "\nThey agree: all errors are below 1e-6.");
}

// ## Chapter 1: numbers

// Prints where a view begins and how it walks.
void show_strides(const char *name, Mat m) {
    put(name, 22);
    printf("%4d %6d %13td %12td %10g\n", m.rows, m.cols, m.row_stride,
           m.col_stride, *m.at);
}

// One block of twelve numbers, and four ways of looking at it. Nothing is
// copied, so whatever is written through one view is seen through all of them.
void example_views(void) {
    real memory[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    Mat m = mat(memory, 3, 4);
    Mat mt = transposed(m);
    Mat columns = slice_cols(m, 1, 2);
    Mat rows = slice_rows(m, 1, 2);
    show("m mt columns rows", m, mt, columns, rows);
    printf("\n                      rows   cols    row_stride   col_stride"
           "   begins at\n");
    show_strides("m", m);
    show_strides("mt, transposed", mt);
    show_strides("columns 1 and 2", columns);
    show_strides("rows 1 and 2", rows);

    *at(mt, 0, 2) = 90;  // row 0, column 2 of the transpose
    fill(columns, 0);
    printf("\nafter *at(mt, 0, 2) = 90 and fill(columns, 0)\n");
    show("m mt columns rows", m, mt, columns, rows);
}

// The chapter's product, by the definition and by the fast function.
void example_product(void) {
    real a_numbers[] = {1, 2, 3, 4, 5, 6};
    real b_numbers[] = {1, 0, 0, 1, 2, 2};
    Mat a = mat(a_numbers, 2, 3), b = mat(b_numbers, 3, 2);
    Mat slow = filled_mat(2, 2, 0), fast = arena_mat(&room, 2, 2);
    matmul_definition(slow, a, b); // adds to what is there
    small_matmul(fast, a, b);            // clears first
    show("a b", a, b);
    putchar('\n');
    show("matmul_definition small_matmul", slow, fast);
    putchar('\n');
    say(same_bits(slow, fast), "Both give the same.");
}

// Dropout with p = 0.4. The key alone decides which numbers are dropped; those
// that stay are divided by 0.6, so that the mean over many keys is that of x.
void example_dropout_mean(void) {
    enum { N = 5, DRAWS = 100000 };
    const real x[N] = {4, 1, 3, 2, 5};
    const uint32_t key[] = {35, 35, 36, 37};
    real y[N];
    show_row("x", x, N, 4);
    for (int k = 0; k < 4; k++) {
        memcpy(y, x, sizeof x);
        dropout_row(y, N, 0, (Dropout){0.4, key[k]});
        char label[30];
        sprintf(label, "key %d%s", (int)key[k], k == 1 ? " again" : "");
        show_row(label, y, N, 4);
    }
    double total = 0;
    for (uint32_t draw = 0; draw < DRAWS; draw++) {
        memcpy(y, x, sizeof x);
        dropout_row(y, N, 0, (Dropout){0.4, draw});
        total += sum(y, N) / N;
    }
    printf("\nmean of x                %.3f\n", sum(x, N) / N);
    say(fabs(total / DRAWS - sum(x, N) / N) < 0.02,
        "mean over 100,000 keys   %.3f", rounded(total / DRAWS, 3));
}

// ## Chapter 2: attention

// Softmax of scores whose exponentials would overflow; with a hidden score; and
// with nothing to see at all.
void example_softmax(void) {
    real x[] = {1000, 999, 998}, shifted[3], power[3], weights[3];
    const unsigned char first_hidden[] = {0, 1, 1}, all_hidden[] = {0, 0, 0};
    for (int j = 0; j < 3; j++) {
        shifted[j] = x[j] - max(x, 3);
        power[j] = exp(shifted[j]);
    }
    show_row("x", x, 3, 0);
    show_row("x - largest", shifted, 3, 0);
    show_row("its exponential", power, 3, 4);
    const unsigned char *visible[] = {NULL, first_hidden, all_hidden};
    const char *label[] = {"softmax", "the first one hidden", "all hidden"};
    for (int k = 0; k < 3; k++) {
        memcpy(weights, x, sizeof x);
        softmax_row(weights, visible[k], 3);
        show_row(label[k], weights, 3, 4);
    }
    putchar('\n');
    say(isinf(exp(x[0])), "The exponential of 1000 itself is too large for a "
                          "double.");
}

// One head at work: three queries, four keys, K = 2. attention_forward does all
// the work; scores and scaled are computed here once more, to be shown.
void example_attention(void) {
    enum { T = 3, S = 4, K = 2 };
    real q_numbers[] = {2, 0, 0, 2, 1, 1};
    real k_numbers[] = {1, 0, 0, 1, 1, 1, 2, 0};
    real v_numbers[] = {10, 0, 0, 10, 20, 20, 0, 40};
    Mat q = mat(q_numbers, T, K), k = mat(k_numbers, S, K);
    Mat v = mat(v_numbers, S, K);
    Mat scores = arena_mat(&room, T, S), weights = arena_mat(&room, T, S);
    Mat out = arena_mat(&room, T, K);
    Head a = {.q = q, .k = k, .v = v, .weights = weights, .dropped = weights,
              .out = out, .scale = 1 / sqrt(K)};
    show("q k v", q, k, v);
    small_matmul(scores, q, transposed(k));
    Mat scaled = copied(scores);
    for (int i = 0; i < T * S; i++)
        scaled.at[i] *= a.scale;
    show("scores scaled", scores, scaled);
    attention_forward(a, (Mask){0});
    show("weights out", weights, out);
    const unsigned char visible[] = {1, 1, 1, 0}; // the same for each query
    attention_forward(a, (Mask){visible, 0, 0});
    printf("\nthe same with the last key hidden\n");
    show("weights out", weights, out);
}

typedef struct {
    Head head;
    Mat upstream;
} AttentionCase;

double attention_loss(void *context) {
    AttentionCase *c = context;
    attention_forward(c->head, (Mask){0});
    return project(c->head.out, c->upstream);
}

// The gradients of queries, keys and values. Those of all keys together are
// zero: the same vector added to every key changes no weight.
void example_attention_gradient(void) {
    enum { T = 3, S = 4, K = 2 };
    Head a = {.scale = 1 / sqrt(K)};
    a.q = random_mat(T, K);
    a.k = random_mat(S, K);
    a.v = random_mat(S, K);
    a.weights = a.dropped = arena_mat(&room, T, S);
    a.out = arena_mat(&room, T, K);
    AttentionCase c = {a, random_mat(T, K)};
    attention_forward(a, (Mask){0});
    Head d = {.q = prefilled(a.q), .k = prefilled(a.k), .v = prefilled(a.v),
              .weights = arena_mat(&room, T, S), .out = c.upstream};
    attention_backward(d, a);
    compare("q", attention_loss, &c, a.q, d.q, PREFILL);
    compare("k", attention_loss, &c, a.k, d.k, PREFILL);
    compare("v", attention_loss, &c, a.v, d.v, PREFILL);
    real total[K] = {0};
    putchar('\n');
    for (int j = 0; j < S; j++) {
        real dk_j[K] = {*at(d.k, j, 0) - PREFILL, *at(d.k, j, 1) - PREFILL};
        show_row(j ? "" : "dk", dk_j, K, 4);
        total[0] += dk_j[0];
        total[1] += dk_j[1];
    }
    show_row("sum over the keys", total, K, 4);
    if (!(fabs(total[0]) + fabs(total[1]) < 1e-12))
        say(false, "that is zero");
}

// ## Chapter 3: multi-head attention

// Prints a matrix of whole numbers with three digits each.
void show_codes(const char *name, Mat m) {
    for (int i = 0; i < m.rows; i++) {
        put(i ? "" : name, 22);
        for (int j = 0; j < m.cols; j++)
            printf("  %03.0f", *at(m, i, j));
        putchar('\n');
    }
}

// Two sentences of three positions, D = 6. Each number says where it is:
// sentence, position, column. A head of a sentence is a block of it.
void example_heads(void) {
    enum { B = 2, T = 3, D = 6, H = 3, K = D / H };
    Mat m = arena_mat(&room, B * T, D);
    for (int b = 0; b < B; b++)
        for (int t = 0; t < T; t++)
            for (int j = 0; j < D; j++)
                *at(m, b * T + t, j) = 100 * b + 10 * t + j;
    show_codes("m (B·T,D)", m);
    for (int h = 0; h < H; h++) {
        char name[40];
        sprintf(name, "head(m, 1, T, %d, K)", h);
        putchar('\n');
        show_codes(name, head(m, 1, T, h, K));
    }
    Mat block = head(m, 1, T, 1, K);
    printf("\nhead 1 of sentence 1: rows %d, cols %d, row_stride %td, "
           "col_stride %td\n", block.rows, block.cols, block.row_stride,
           block.col_stride);
    say(block.at == at(m, T, K), "It begins at m[%d][%d], and no number has "
        "moved.", T, K);
}

Linear prefilled_linear(const Linear *w) {
    return (Linear){prefilled(w->weight), prefilled(w->bias)};
}

// Compares the two tensors of a linear layer.
void compare_linear(const char *name, Scalar *f, void *context,
                    const Linear *w, const Linear *dw) {
    compare(join(name, ".weight").text, f, context, w->weight, dw->weight,
            PREFILL);
    compare(join(name, ".bias").text, f, context, w->bias, dw->bias, PREFILL);
}

typedef struct {
    Pass pass;
    MultiHeadSaved s;
    MultiHead w;
    Mat x, memory, upstream;
} MultiHeadCase;

double multi_head_loss(void *context) {
    MultiHeadCase *c = context;
    return project(multi_head_forward(&c->pass, &c->s, &c->w, c->x, c->memory,
                                      (Mask){0}), c->upstream);
}

// All eight tensors of a multi-head attention and both of its inputs: x, where
// the queries come from, and the memory, which feeds keys and values.
void example_multi_head_gradient(void) {
    enum { B = 2, T = 3, S = 4, D = 6, H = 3 };
    Config config = {.d_model = D, .heads = H};
    MultiHeadCase c = {.pass = {.arena = &room, .config = &config,
                                .sentences = B}};
    MultiHead dw;
    Linear *w[] = {&c.w.query, &c.w.key, &c.w.value, &c.w.output};
    Linear *g[] = {&dw.query, &dw.key, &dw.value, &dw.output};
    const char *name[] = {"query", "key", "value", "output"};
    for (int k = 0; k < 4; k++) {
        *w[k] = random_linear(D, D);
        *g[k] = prefilled_linear(w[k]);
    }
    c.x = random_mat(B * T, D);
    c.memory = random_mat(B * S, D);
    c.upstream = random_mat(B * T, D);
    multi_head_loss(&c);
    Mat dx = prefilled(c.x), dmemory = prefilled(c.memory);
    MultiHeadSaved d = {.x = dx, .memory = dmemory};
    multi_head_backward(&c.pass, &d, &c.s, &c.w, &dw, c.upstream);
    for (int k = 0; k < 4; k++)
        compare_linear(name[k], multi_head_loss, &c, w[k], g[k]);
    compare("x", multi_head_loss, &c, c.x, dx, PREFILL);
    compare("memory", multi_head_loss, &c, c.memory, dmemory, PREFILL);
    say(largest_error(dw.key.bias, prefilled(dw.key.bias)) < 1e-12,
        "\nThe key bias changes no weight, so its gradient is zero.");
}

// ## Chapter 4: embeddings and positions

// The codes of four positions, and how alike two positions are: that depends on
// how far apart they are, and not on where they are.
void example_positions(void) {
    enum { P = 40, D = 8 };
    Mat p = arena_mat(&room, P, D);
    sinusoidal_positions(p);
    show("positions", slice_rows(p, 0, 4));
    printf("\ndot products of the codes of positions t and t + n\n\n"
           "          n = 0    n = 1    n = 3   n = 10\n");
    const int start[] = {0, 1, 2, 10, 29}, apart[] = {0, 1, 3, 10};
    bool equal = true;
    for (int k = 0; k < 5; k++) {
        int t = start[k];
        printf("t = %-2d", t);
        for (int n = 0; n < 4; n++) {
            double product = dot(row(p, t), row(p, t + apart[n]), D);
            put_number(product, 9, 4);
            equal = equal && fabs(product - dot(row(p, 0), row(p, apart[n]), D))
                             < 1e-12;
        }
        putchar('\n');
    }
    say(equal, "\nThe number in a column is the same in every row.");
}

// Two sentences of two tokens. Token 2 occurs in both, so its row collects two
// gradients, times √D = 2; token 0 occurs in neither. The first position
// collects the gradients of both sentences, and so does the second.
void example_embedding_gradient(void) {
    enum { V = 4, P = 2, D = 4, B = 2, T = 2 };
    const int ids[B * T] = {2, 1, 3, 2};
    real dx_numbers[] = {1,   2,   3,   4,        // token 2, position 0
                         10,  20,  30,  40,       // token 1, position 1
                         100, 200, 300, 400,      // token 3, position 0
                         1000, 2000, 3000, 4000}; // token 2, position 1
    Mat dx = mat(dx_numbers, B * T, D);
    Mat table = random_mat(V, D), positions = random_mat(P, D);
    Mat dtable = arena_zeros(&room, V, D);
    Mat dpositions = arena_zeros(&room, P, D);
    Config config = {.d_model = D};
    Pass pass = {.arena = &room, .config = &config, .sentences = B};
    EmbeddingSaved s;
    embedding_forward(&pass, &s, table, positions, ids, T);
    show("dx", dx);
    putchar('\n');
    embedding_backward(&s, dtable, dpositions, dx);
    show("dtable dpositions", dtable, dpositions);
    say(*at(dtable, 2, 0) == 2 * (1 + 1000) && *at(dtable, 0, 0) == 0,
        "\ndtable[2][0] = 2 · (1 + 1000), and token 0 does not occur");
}

// ## Chapter 5: the feed-forward network

typedef struct {
    Mat x, upstream;
    int activation;
} ActivationCase;

double activation_loss(void *context) {
    ActivationCase *c = context;
    Mat y = arena_mat(&room, c->x.rows, c->x.cols);
    activation_forward(y, c->x, c->activation);
    return project(y, c->upstream);
}

// ReLU and GELU with their slopes. activation_backward multiplies a gradient by
// the slope; given a gradient of ones it shows the slope itself.
void example_activation(void) {
    enum { N = 7 };
    real numbers[N] = {-3, -2, -1, 0, 1, 2, 3};
    Mat x = mat(numbers, 1, N), y[2], d[2];
    for (int k = RELU; k <= GELU; k++) {
        y[k] = arena_mat(&room, 1, N);
        d[k] = filled_mat(1, N, 1);
        activation_forward(y[k], x, k);
        activation_backward(d[k], x, k);
    }
    printf("  x     relu    slope      gelu    slope\n");
    for (int j = 0; j < N; j++) {
        printf("%3.0f %8.0f %8.0f", x.at[j], y[RELU].at[j], d[RELU].at[j]);
        put_number(y[GELU].at[j], 10, 4);
        put_number(d[GELU].at[j], 9, 4);
        putchar('\n');
    }
    putchar('\n');
    ActivationCase c = {x, filled_mat(1, N, 1), GELU};
    compare("x (gelu)", activation_loss, &c, x, d[GELU], 0);
    bool holds = true;
    for (int j = 0; j < N; j++) {
        double total = d[GELU].at[j] + d[GELU].at[N - 1 - j];
        holds = holds && fabs(total - 1) < 1e-12;
    }
    say(holds, "\nThe slopes of gelu at x and at -x sum to 1.");
}

// ## Chapter 6: residual connections and norms

// Three rows, each normalized by itself. The second is the first plus 100, the
// third is twice the first: after the norm they are the same. Below is what
// becomes of the first row if the variance is divided by D-1 and ε is added to
// the root.
void example_norm(void) {
    enum { D = 4 };
    real numbers[] = {1, 0, 0, 0, 101, 100, 100, 100, 2, 0, 0, 0};
    Mat x = mat(numbers, 3, D);
    Norm w = {filled_mat(1, D, 1), filled_mat(1, D, 0)};
    Pass pass = {.arena = &room};
    NormSaved s;
    Mat y = norm_forward(&pass, &s, &w, x);
    show("x norm(x)", x, y);
    double far = distance(row(y, 0), row(y, 1), D)
               + distance(row(y, 0), row(y, 2), D);
    say(far < 1e-4, "\nThe rows of norm(x) differ by less than 1e-4.");
    double mean = sum(row(x, 0), D) / D, square = 0;
    for (int j = 0; j < D; j++)
        square += pow(*at(x, 0, j) - mean, 2);
    printf("\nfirst row: mean %.4f, variance %.4f, or %.4f with D - 1\n\n",
           mean, square / D, square / (D - 1));
    real other[D];
    for (int j = 0; j < D; j++)
        other[j] = (*at(x, 0, j) - mean)
                 / (sqrt(square / (D - 1)) + NORM_EPSILON);
    show_row("divided by D, ε inside", row(y, 0), D, 4);
    show_row("D - 1, ε outside", other, D, 4);
}

typedef struct {
    Pass pass;
    NormSaved s;
    Norm w;
    Mat x, upstream;
} NormCase;

double norm_loss(void *context) {
    NormCase *c = context;
    return project(norm_forward(&c->pass, &c->s, &c->w, c->x), c->upstream);
}

// Prints a gradient of one row, from the backward pass and from differences.
void show_both(const char *name, NormCase *c, Mat x, Mat dx) {
    Mat d = differences(norm_loss, c, x);
    show_row(join(name, "  backward").text, dx.at, x.cols, 4);
    show_row("       differences", d.at, x.cols, 4);
    if (agreeing(dx, 0, d) < x.cols)
        say(false, "all errors are below 1e-6");
}

// The backward pass of a norm for one row, element by element; a sum that must
// be zero and one that is nearly zero, because of ε; and the loss that teaches
// nothing, the plain sum of y.
void example_norm_gradient(void) {
    enum { D = 4 };
    Config config = {.d_model = D};
    NormCase c = {.pass = {.arena = &room, .config = &config}};
    c.x = random_mat(1, D);
    c.upstream = random_mat(1, D);
    c.w.gain = random_mat(1, D);
    c.w.bias = random_mat(1, D);
    norm_loss(&c);
    NormSaved s = c.s;
    Mat dx = arena_zeros(&room, 1, D), none = arena_zeros(&room, 1, D);
    Norm dw = {arena_zeros(&room, 1, D), arena_zeros(&room, 1, D)};
    norm_backward(&c.pass, &s, &c.w, &dw, dx, c.upstream);
    show_both("x    ", &c, c.x, dx);
    show_both("gain ", &c, c.w.gain, dw.gain);
    show_both("bias ", &c, c.w.bias, dw.bias);
    double along = 0;
    for (int j = 0; j < D; j++)
        along += dx.at[j] * (c.x.at[j] - s.mean.at[0]) * s.rstd.at[0];
    printf("\nΣ dx   %8.4f\nΣ dx n %8.4f\n\n", rounded(sum(dx.at, D), 4),
           rounded(along, 4));
    if (!(fabs(sum(dx.at, D)) < 1e-12 && fabs(along) < 1e-3))
        say(false, "the first sum is zero, the second nearly");
    Norm plain = {filled_mat(1, D, 1), filled_mat(1, D, 0)};
    norm_backward(&c.pass, &s, &plain, &dw, none, filled_mat(1, D, 1));
    show_row("dx if the loss is Σ y", none.at, D, 4);
    if (!(l2_norm(none.at, D) < 1e-12))
        say(false, "that is zero");
}

// The small model of the tests, from here on: B = 2 sentences, S = 5, T = 4,
// D = 12, H = 3, F = 7, and a padded batch.
#include "../../tests/lib/model.h"

// The size of a typical element.
double root_mean_square(Mat m) {
    size_t n = (size_t)m.rows * (size_t)m.cols;
    return l2_norm(m.at, n) / sqrt((double)n);
}

// Random x goes up a stack of twelve fresh encoder layers. Post-norm brings it
// back to size 1 in every layer. Pre-norm adds and adds, so the numbers grow;
// that is why such a stack has one more norm at its end.
void example_residual_paths(void) {
    enum { L = 12 };
    const char *name[] = {"post-norm", "pre-norm"};
    enum { WIDTH = 8 * D };
    Mat start = random_mat(S, WIDTH);
    printf("size after layer           1        2        4        6"
           "       12\n");
    for (int norm = POST_NORM; norm <= PRE_NORM; norm++) {
        Config config = small_config();
        config.norm = norm;
        config.layers = L;
        config.d_model = WIDTH; // in few columns, chance decides
        config.d_ff = 4 * WIDTH;
        Transformer *t = transformer_new(&config);
        initialize(&t->list, 1);
        Pass pass = {.arena = &room, .config = &config, .sentences = 1};
        EncoderLayerSaved s;
        Mat x = start;
        put(name[norm], 19);
        for (int l = 1; l <= L; l++) {
            x = encoder_layer_forward(&pass, &s, &t->encoder.layer[l - 1], x,
                                      (Mask){0});
            if (l <= 2 || l == 4 || l == 6 || l == L)
                put_number(root_mean_square(x), 9, 2);
        }
        putchar('\n');
        transformer_free(t);
    }
}

// ## Chapter 7: the encoder

typedef struct {
    Transformer *model, *gradient;
    Pass pass;
    DecoderSaved decoder;
    Mat x, memory, upstream;
} StackCase;

// A model with random numbers in all of its tensors, gradients, which begin as
// PREFILL, and random inputs for its two stacks, `length` positions a sentence.
StackCase new_stack_case(int layers, int length) {
    Config config = small_config();
    config.layers = layers;
    StackCase c = {.model = random_transformer(&config),
                   .gradient = transformer_zeros(&config)};
    for (size_t k = 0; k < c.gradient->list.count; k++)
        c.gradient->list.values[k] = PREFILL;
    c.pass = (Pass){.arena = &room, .config = &c.model->config, .sentences = B};
    c.x = random_mat(B * length, D);
    c.upstream = random_mat(B * length, D);
    c.memory = random_mat(B * S, D);
    return c;
}

// Two sentences of six random embeddings go through the encoder. Then one
// embedding is blanked: every position of its sentence changes, and none of the
// other. Then the positions of the first sentence are put in another order.
void example_encoder(void) {
    enum { LENGTH = 6, BLANK = 2 };
    const int from[LENGTH] = {3, 0, 5, 1, 4, 2};
    Config config = small_config();
    Transformer *t = random_transformer(&config);
    Pass pass = {.arena = &room, .config = &config, .sentences = B};
    EncoderSaved s;
    Mat x = random_mat(B * LENGTH, D), blanked = copied(x), moved = copied(x);
    fill(slice_rows(blanked, BLANK, 1), 0);
    for (int i = 0; i < LENGTH; i++)
        copy(slice_rows(moved, i, 1), slice_rows(x, from[i], 1));
    const Encoder *w = &t->encoder;
    Mat y = encoder_forward(&pass, &s, w, x, (Mask){0});
    Mat y_blanked = encoder_forward(&pass, &s, w, blanked, (Mask){0});
    Mat y_moved = encoder_forward(&pass, &s, w, moved, (Mask){0});
    printf("how far the output moves if x at position %d becomes 0\n\n", BLANK);
    real far[B * LENGTH];
    for (int i = 0; i < B * LENGTH; i++)
        far[i] = distance(row(y, i), row(y_blanked, i), D);
    show_row("sentence 0", far, LENGTH, 4);
    show_row("sentence 1", far + LENGTH, LENGTH, 4);
    bool noticed = true, same = true;
    for (int i = 0; i < LENGTH; i++) {
        noticed = noticed && far[i] > 0.01 && far[LENGTH + i] == 0;
        same = same && distance(row(y_moved, i), row(y, from[i]), D) < 1e-12;
    }
    say(noticed, "\nEvery position of sentence 0 moves, and none of sentence 1.");
    say(same, "The input in another order gives the output in that order:\n"
        "the largest difference is below 1e-12.");
    transformer_free(t);
}

// ## Chapter 8: the decoder

double decoder_loss(void *context) {
    StackCase *c = context;
    Masks masks = {padding_mask(&room, source_ids, B, S),
                   causal_padding_mask(&room, input_ids, B, T)};
    return project(decoder_forward(&c->pass, &c->decoder, &c->model->decoder,
                                   c->x, c->memory, masks), c->upstream);
}

// Prints the size of a gradient of the memory and some of its elements.
void show_part(const char *label, Mat part) {
    put(label, 16);
    put_number(root_mean_square(part), 8, 4);
    for (int j = 0; j < 3; j++)
        put_number(*at(part, 0, j), 10, 4);
    putchar('\n');
}

// Three decoder layers look at one memory. Each layer's part of dmemory goes
// into a matrix of its own here; only all three together give what finite
// differences find. A layer that is forgotten is missing from the sum.
void example_memory_gradient(void) {
    enum { L = 3 };
    StackCase c = new_stack_case(L, T);
    decoder_loss(&c);
    Mat dx = c.upstream, all = arena_zeros(&room, B * S, D);
    const char *name[L] = {"from layer 0", "from layer 1", "from layer 2"};
    printf("dmemory             size    [0][0]    [0][1]    [0][2]\n");
    for (int l = L - 1; l >= 0; l--) {
        Mat part = arena_zeros(&room, B * S, D);
        dx = decoder_layer_backward(&c.pass, &c.decoder.layer[l],
                                    &c.model->decoder.layer[l],
                                    &c.gradient->decoder.layer[l], part, dx);
        show_part(name[l], part);
        add(all, part);
    }
    Mat d = differences(decoder_loss, &c, c.memory);
    show_part("the sum", all);
    show_part("differences", d);
    int agree = agreeing(all, 0, d);
    say(agree == B * S * D, "\nThe sum agrees in %d of %d elements, with "
        "errors below 1e-6.", agree, B * S * D);
    transformer_free(c.model);
    transformer_free(c.gradient);
}

// ## Chapter 9: masks

// Prints which of n keys each query of sentence b sees, side by side for three
// masks of q queries each.
void show_masks(const Mask mask[3], const int q[3], int b) {
    printf("\n  padding       causal      causal and padding\n");
    for (int i = 0; i < q[0]; i++) {
        for (int k = 0; k < 3; k++)
            for (int j = 0; i < q[k] && j < q[k]; j++)
                printf("%*d", j ? 2 : k ? 6 : 3, mask_row(mask[k], b, i)[j]);
        putchar('\n');
    }
}

// The three masks of a padded batch; 1 is visible. A row for each query, a
// column for each key: what is padded is hidden as a key, not as a query.
void example_masks(void) {
    const Mask mask[] = {padding_mask(&room, source_ids, B, S),
                         causal_mask(&room, T),
                         causal_padding_mask(&room, input_ids, B, T)};
    const int queries[] = {S, T, T};
    for (int b = 0; b < B; b++) {
        printf("%ssentence %d: source", b ? "\n" : "", b);
        for (int j = 0; j < S; j++)
            printf(" %d", source_ids[b * S + j]);
        printf(", input of the decoder");
        for (int j = 0; j < T; j++)
            printf(" %d", input_ids[b * T + j]);
        putchar('\n');
        show_masks(mask, queries, b);
    }
}

// One sentence, and two targets that differ only in their last word. With the
// causal mask no earlier logit changes. Without it they all do: the model is
// told what it should predict.
void example_leak(void) {
    Config config = small_config();
    Transformer *t = random_transformer(&config);
    int input[2][T] = {{START, 8, 5, 10}, {START, 8, 5, 7}};
    Masks masks[2] = {{.target = causal_mask(&room, T)}, {.target = {0}}};
    Mat logits[2][2];
    for (int m = 0; m < 2; m++)
        for (int k = 0; k < 2; k++) {
            Pass pass = {.arena = &room, .config = &config, .sentences = 1};
            Saved s;
            encode(&pass, &s, t, source_ids, S, masks[m].source);
            logits[m][k] = decode(&pass, &s, t, input[k], T, masks[m]);
        }
    printf("The last word of the input is changed. How far do the logits"
           " move?\n\n"
           "position                      0        1        2        3\n");
    for (int m = 0; m < 2; m++) {
        real moved[T];
        for (int i = 0; i < T; i++)
            moved[i] = distance(row(logits[m][0], i), row(logits[m][1], i),
                                TARGET_V);
        show_row(m ? "without a mask" : "with the causal mask", moved, T, 4);
    }
    Mat before = slice_rows(logits[0][0], 0, T - 1);
    say(same_bits(before, slice_rows(logits[0][1], 0, T - 1)),
        "\nWith the mask, positions 0 to 2 are the same to the last bit.");
    transformer_free(t);
}

// The whole model, with two layers on each side, label smoothing and a padded
// batch: every single parameter, counted by component.
void example_model_gradient(void) {
    Config config = small_config();
    ModelCase c = {random_transformer(&config), small_batch(), false, 0.1};
    Transformer *g = model_gradient(&c);
    int all[2][COMPONENTS] = {{0}}, agree[2][COMPONENTS] = {{0}};
    for (int i = 0; i < g->list.tensors; i++) {
        const char *name = g->list.tensor[i].name.text;
        int side = !in_encoder(name), k = component_of(name);
        Mat x = *c.model->list.tensor[i].mat, dx = *g->list.tensor[i].mat;
        all[side][k] += x.rows * x.cols;
        agree[side][k] += agreeing(dx, PREFILL,
                                   differences(model_loss, &c, x));
    }
    printf("                           parameters  error < 1e-6\n");
    int wrong = 0;
    for (int n = 0; n < 2 * COMPONENTS; n++) {
        int side = n / COMPONENTS, k = n % COMPONENTS;
        if (all[side][k])
            printf("%-10s%-16s%11d %13d\n", side ? "decoder" : "encoder",
                   component_name[k], all[side][k], agree[side][k]);
        wrong += all[side][k] - agree[side][k];
    }
    say(wrong == 0, "\nAll %d gradients agree with finite differences.",
        (int)g->list.count);
    transformer_free(c.model);
    transformer_free(g);
}

// ## Chapters 10 and 14: batches and text

// Prints the tokens of a text in brackets.
void show_tokens(const char *text, Tokenizer how) {
    const char *token;
    for (int n; (token = next_token(&text, how, &n)) != NULL;)
        printf(" [%.*s]", n, token);
    putchar('\n');
}

// A text becomes tokens, these become numbers, and the numbers a text. Commas
// and question marks are tokens by themselves; "paul" is not in the vocabulary.
void example_tokens(void) {
    char *known[] = {"oui, le chat dort.", "où est le chien noir ?"};
    const char *text = "où est le chat noir, paul?";
    const Tokenizer words = {.tokens = WORDS}, letters = {.tokens = CHARACTERS};
    Vocab v = vocab_build(known, 2, words, 1);
    printf("vocabulary  ");
    for (int k = 0; k < v.count; k++) {
        printf("%s%d %s", k == 8 ? "\n            " : "", k, v.token[k]);
        printf(k == 7 || k == v.count - 1 ? "" : "  ");
    }
    printf("\n\ntext        %s\nwords      ", text);
    show_tokens(text, words);
    Sentence s = tokenize(text, &v, words);
    printf("numbers    ");
    for (int k = 0; k < s.length; k++)
        printf(" %d", s.id[k]);
    char *back = detokenize(s.id, s.length, &v, words);
    printf("\nback        %s\n\nletters    ", back);
    show_tokens("où, paul?", letters);
    free(back);
    free(s.id);
    vocab_free(&v);
}

// Writes a piece of a word, with ␣ for the blank; returns how many bytes.
int write_piece(char *to, const char *piece) {
    bool blank = *piece == ' ';
    return sprintf(to, "%s%s", blank ? "␣" : "", piece + blank);
}

// Writes the pieces of a text, with more room between words; returns how many
// pieces there are.
int write_pieces(char *to, const char *text, const Vocab *v) {
    Sentence s = tokenize(text, v, (Tokenizer){.tokens = BYTE_PAIRS});
    int pieces = s.length - 1;
    for (int k = 0; k < pieces; k++) {
        const char *piece = v->token[s.id[k]];
        to += sprintf(to, "%s", k == 0 ? "" : *piece == ' ' ? "   " : " ");
        to += write_piece(to, piece);
    }
    free(s.id);
    return pieces;
}

// Prints what the last merge has joined, and how often it occurs. `before` is
// the vocabulary without its piece.
void show_merge(const Vocab *v, const Vocab *before, int times) {
    char piece[100], line[200], *to = line;
    const char *end = v->token[v->count - 1];
    sprintf(piece, "%s", end + (*end == ' '));
    Sentence s = tokenize(piece, before, (Tokenizer){.tokens = BYTE_PAIRS});
    for (int k = *end != ' '; k < s.length - 1; k++) { // without the blank
        to += sprintf(to, "%s", to > line ? " + " : "");
        to += write_piece(to, before->token[s.id[k]]);
    }
    free(s.id);
    put(line, 10);
    printf("%6d   ", times);
}

// The merges of the chapter, one by one. A merge occurs as many times as it
// takes pieces from the text. Then a word that is new, and one with a letter
// that is new.
void example_byte_pairs(void) {
    char text[] = "cat cats eat eats cat", line[200];
    Vocab v = learn_merges((char *[]){text}, 1, 0);
    int before = write_pieces(line, text, &v), pieces;
    write_pieces(line, "cat cats eat eats", &v);
    printf("merge     occurs   the words then\n%19s%s\n", "", line);
    for (int n = 1; n <= 5; n++, before = pieces) {
        Vocab old = v;
        v = learn_merges((char *[]){text}, 1, n);
        pieces = write_pieces(line, text, &v);
        show_merge(&v, &old, before - pieces);
        vocab_free(&old);
        write_pieces(line, "cat cats eat eats", &v);
        puts(line);
    }
    write_pieces(line, "seats", &v);
    printf("\nseats     %s\n", line);
    write_pieces(line, "beat", &v);
    printf("beat      %s\n", line);
    vocab_free(&v);
    v = learn_merges((char *[]){text}, 1, 1000);
    say(v.count == FIRST_TOKEN + 6 + 5, "\nAfter that no pair occurs twice.");
    vocab_free(&v);
}

// Prints three rows of tokens, as numbers and as words.
void show_ids(const char *name, const int *ids, int length, const Vocab *v) {
    printf("%s (3,%d)\n", name, length);
    for (int b = 0; b < 3; b++) {
        for (int t = 0; t < length; t++) {
            int id = ids[b * length + t];
            printf("%4d %-*s", id, t < length - 1 ? 9 : 0, v->token[id]);
        }
        putchar('\n');
    }
}

// Three pairs of different lengths as the three rectangles of a batch. After
// <start>, the decoder reads what it should have said one place earlier.
void example_batch(void) {
    char *source[] = {"the red car", "the cat is asleep", "yes"};
    char *target[] = {"la voiture rouge", "le chat dort", "oui"};
    Text text = {NULL, source, target, 3, 0};
    Tokenizer words = {.tokens = WORDS};
    Vocab english = vocab_build(source, 3, words, 1);
    Vocab french = vocab_build(target, 3, words, 1);
    Pairs pairs = tokenize_pairs(&text, &english, &french, words, 10);
    const int number[] = {0, 1, 2};
    Batch batch = make_batch(&room, &pairs, number, 3);
    show_ids("source", batch.source, batch.source_length, &english);
    show_ids("\ninput of the decoder", batch.input, batch.target_length,
             &french);
    show_ids("\nexpected", batch.expected, batch.target_length, &french);
    pairs_free(&pairs);
    vocab_free(&english);
    vocab_free(&french);
}

// ## Chapter 11: training

// Three words with the logits of the chapter. Word 0 is the padding, which is
// never expected, so the expected word is number 1 here.
void example_loss(void) {
    enum { V = 3 };
    real z[V] = {1, 2, 0}, p[V], lse;
    const int expected[] = {1};
    Mat logits = mat(z, 1, V), d = arena_mat(&room, 1, V);
    memcpy(p, z, sizeof z);
    softmax_row(p, NULL, V);
    printf("                         word 0   word 1   word 2      sum\n");
    show_row("logits z", z, V, 4);
    show_row("probabilities p", p, V, 4);
    for (int k = 0; k < 2; k++) {
        double smoothing = k ? 0.1 : 0;
        Loss l = loss_forward(mat(&lse, 1, 1), logits, expected, smoothing,
                              &room);
        loss_backward(d, logits, mat(&lse, 1, 1), expected, smoothing,
                      l.tokens);
        real line[V + 1] = {d.at[0], d.at[1], d.at[2], sum(d.at, V)};
        printf("\nsmoothing %.1f: loss %.4f\n", smoothing, l.loss);
        show_row("gradient dz", line, V + 1, 4);
        if (k == 0)
            say(fabs(l.loss + log(p[1])) < 1e-12, "loss = -log p of word 1");
        if (!(fabs(sum(d.at, V)) < 1e-12))
            say(false, "the sum is zero");
    }
}

typedef struct {
    Mat logits;
    const int *expected;
    double smoothing;
} LossCase;

double mean_loss(void *context) {
    LossCase *c = context;
    Mat lse = arena_mat(&room, c->logits.rows, 1);
    Loss l = loss_forward(lse, c->logits, c->expected, c->smoothing, &room);
    return l.loss / l.tokens;
}

// The gradient of the logits, plain and with label smoothing. Row 1 is padding
// and gets none; every row sums to zero.
void example_loss_gradient(void) {
    enum { N = 4, V = 6 };
    const int expected[N] = {2, PAD, 5, 4};
    Mat logits = random_mat(N, V), d = arena_mat(&room, N, V);
    Mat lse = arena_mat(&room, N, 1);
    for (int k = 0; k < 2; k++) {
        LossCase c = {logits, expected, k ? 0.1 : 0};
        Loss l = loss_forward(lse, logits, expected, c.smoothing, &room);
        loss_backward(d, logits, lse, expected, c.smoothing, l.tokens);
        compare(k ? "logits, smoothing 0.1" : "logits", mean_loss, &c, logits,
                d, 0);
    }
    putchar('\n');
    show("logits", logits);
    show("dlogits", d);
    bool zero = true;
    for (int i = 0; i < N; i++)
        zero = zero && fabs(sum(row(d, i), V)) < 1e-12;
    say(zero, "\nThe rows of dlogits sum to 0.");
}

// Three steps of Adam on one parameter, with the gradients 3, 3 and -3 and the
// rate 0.1. The steps are as long as the rate, until the sign changes.
void example_adam(void) {
    const real gradient[] = {3, 3, -3};
    const double rate = 0.1;
    real p = 1, m = 0, v = 0;
    double mean = 0, square = 0; // the same by the formula
    bool holds = true;
    printf("step  gradient        m        v       m̂        v̂   length"
           "        p\n");
    for (int t = 1; t <= 3; t++) {
        real before = p;
        Adam adam = paper_adam(&p, &m, &v, &gradient[t - 1], 1);
        adam_step(adam, 1, rate, t);
        mean = 0.9 * mean + 0.1 * gradient[t - 1];
        square = 0.98 * square + 0.02 * gradient[t - 1] * gradient[t - 1];
        double m_hat = mean / (1 - pow(0.9, t));
        double v_hat = square / (1 - pow(0.98, t));
        double length = rate * m_hat / (sqrt(v_hat) + adam.epsilon);
        const double shown[] = {m, v, m_hat, v_hat, before - p, p};
        printf("%4d%10.0f", t, gradient[t - 1]);
        for (int k = 0; k < 6; k++)
            put_number(shown[k], 9, 4);
        putchar('\n');
        holds = holds && fabs(length - (before - p)) < 1e-12;
    }
    say(holds, "\nThe length of each step is rate · m̂ / (√v̂ + ε).");
}

// Both schedules with their peak at step w = 400, for D = 64.
void example_schedule(void) {
    enum { WARMUP = 400 };
    const long step[] = {1, WARMUP / 2, WARMUP, 2 * WARMUP, 4 * WARMUP};
    const char *name[] = {"1", "w/2", "w", "2w", "4w"};
    Recipe r = {.rate = 1 / sqrt(64 * WARMUP), .warmup = WARMUP};
    printf("peak = 1/√(64 · 400) = %.5f\n\n", r.rate);
    printf("            step      noam   of the peak      constant\n");
    for (int k = 0; k < 5; k++) {
        r.schedule = NOAM;
        double noam = learning_rate(&r, step[k]);
        r.schedule = CONSTANT;
        double constant = learning_rate(&r, step[k]);
        printf("t = %-4s %7ld %9.7f %13.4f %13.7f\n", name[k], step[k], noam,
               noam / r.rate, constant);
    }
}

// A gradient that is too long is shortened to length 1 and keeps its direction.
// A short one is left alone.
void example_clip(void) {
    const real gradient[2][2] = {{3, 4}, {0.3, 0.4}};
    printf("gradient            norm    factor    clipped             norm\n");
    for (int k = 0; k < 2; k++) {
        const real *g = gradient[k];
        double norm = l2_norm(g, 2);
        double factor = clip_factor(norm, 1);
        real clipped[] = {factor * g[0], factor * g[1]};
        printf("%.4f  %.4f  %8.4f  %8.4f    %.4f  %.4f  %8.4f\n", g[0], g[1],
               norm, factor, clipped[0], clipped[1],
               l2_norm(clipped, 2));
    }
}

// ## Chapter 12: decoding

bool no_report(void *context, const Step *step) {
    (void)context;
    (void)step;
    return true;
}

// A fresh model for a text, with the settings of this command.
Checkpoint begin(int words, char **command, const Text *text) {
    Checkpoint c = {.settings = read_arguments(words, command).settings};
    new_model(&c, "", text);
    return c;
}

// A model of one layer with D = 16, trained for a moment on twelve pairs: four
// nouns, each alone, red and black.
Checkpoint small_trained_model(void) {
    char *source[] = {
        "the car", "the red car", "the black car",
        "the house", "the red house", "the black house",
        "the cat", "the red cat", "the black cat",
        "the dog", "the red dog", "the black dog"};
    char *target[] = {
        "la voiture", "la voiture rouge", "la voiture noire",
        "la maison", "la maison rouge", "la maison noire",
        "le chat", "le chat rouge", "le chat noir",
        "le chien", "le chien rouge", "le chien noir"};
    char *command[] = {"transformer", "train", "pairs.tsv", "--layers=1",
                       "--d-model=16", "--heads=2", "--d-ff=32", "--max-len=8",
                       "--dropout=0", "--lr=0.01", "--warmup=20", "--batch=12",
                       "--steps=40"};
    Text text = {NULL, source, target, sizeof source / sizeof *source, 0};
    Checkpoint c = begin(13, command, &text);
    Pairs pairs = tokenize_pairs(&text, &c.source, &c.target,
                                 c.settings.tokenizer, 8);
    train(&c.trainer, &pairs, no_report, NULL);
    pairs_free(&pairs);
    return c;
}

// Prints the most probable words, the first one first; uses p up.
void show_best(Mat p, const Vocab *v, int count) {
    for (int k = 0; k < count; k++) {
        int best = arg_max(p.at, 0, p.cols);
        printf("%.3f ", rounded(p.at[best], 3));
        put(v->token[best], k == count - 1 ? 0 : 11);
        p.at[best] = -1;
    }
    putchar('\n');
}

// A translation grows word by word. At each step: what has been written so far,
// and the three words that the model finds most probable next. It was trained
// on this sentence, but so briefly that it still hesitates a little.
void example_decoding(void) {
    Checkpoint c = small_trained_model();
    const Transformer *model = c.trainer.model;
    const char *text = "the black car";
    Sentence source = tokenize(text, &c.source, c.settings.tokenizer);
    Pass pass = {.arena = &room, .config = &model->config};
    Cache cache = decoder_start(&pass, model, source.id, 1, source.length, 8);
    char written[100] = "<start>";
    printf("source: %s\n\n", text);
    printf("written so far            next word\n");
    for (int id = START; id != END && cache.length < 8;) {
        put(written, 26);
        Mat p = decoder_step(&pass, &cache, &id); // logits
        id = arg_max(p.at, END, p.cols);
        softmax_row(p.at, NULL, p.cols);          // probabilities
        show_best(p, &c.target, 3);
        sprintf(written + strlen(written), " %s", c.target.token[id]);
    }
    put(written, 0);
    putchar('\n');
    free(source.id);
    checkpoint_free(&c);
}

// Decodes step by step with the cache, and computes all positions anew for each
// word: the logits are the same; it counts the positions computed for them.
void example_cache(void) {
    enum { N = 7 };
    int input[N] = {START, 8, 5, 10, 6, 4, 9};
    int cached = 0, whole = 0;
    bool same = true;
    Config config = small_config();
    Transformer *t = random_transformer(&config);
    Pass pass = {.arena = &room, .config = &config};
    Cache cache = decoder_start(&pass, t, source_ids, 1, S, N);
    printf("word   positions computed, in all\n"
           "       with the cache     without\n");
    for (int n = 1; n <= N; n++) {
        Saved s;
        Batch batch = {1, S, n, source_ids, input, NULL};
        Mat all = transformer_forward(&pass, &s, t, &batch);
        Mat next = decoder_step(&pass, &cache, &input[n - 1]);
        cached += next.rows;
        whole += all.rows;
        printf("%4d   %14d %11d\n", n, cached, whole);
        double far = distance(row(next, 0), row(all, n - 1), TARGET_V);
        same = same && far < 1e-12;
    }
    say(cached == N && whole == N * (N + 1) / 2, "\nn, and n (n + 1) / 2");
    say(same, "The logits of both differ by less than 1e-12.");
    transformer_free(t);
}

// A beam of two, step by step. What the model would say is given by hand: the
// probabilities of the next word after each beginning.
void example_beam(void) {
    enum { IL = END + 1, ELLE, DORT, MANGE, WORDS_HERE };
    const char *word[] = {"", "<start>", "<end>", "il", "elle", "dort", "mange"};
    const double next[3][2][WORDS_HERE] = {
        {{[IL] = .5, [ELLE] = .4, [DORT] = .1}},
        {{[DORT] = .5, [MANGE] = .4, [END] = .1}, // after il
         {[DORT] = .9, [MANGE] = .1}},            // after elle
        {{[END] = .9, [MANGE] = .1}, {[END] = .9, [MANGE] = .1}}};
    Mat logits = arena_mat(&room, 2, WORDS_HERE);
    Beam b = beam_new(&room, 2, 8, 8);
    char text[2][40] = {"", ""};
    printf("after step   row   from row   hypothesis    probability\n");
    for (int t = 0, open = 1; open; t++) {
        char before[2][40];
        memcpy(before, text, sizeof text);
        for (int k = 0; k < 2 * WORDS_HERE; k++)
            logits.at[k] = log(next[t][k / WORDS_HERE][k % WORDS_HERE]);
        open = beam_step(&b, t, logits, 0.6);
        for (int r = 0; r < open; r++) {
            Hypothesis h = b.step[(t + 1) * 2 + r];
            sprintf(text[r], "%.20s %s", before[h.row], word[h.token]);
            printf("%10d %5d %10d   ", t, r, h.row);
            put(text[r], 12);
            printf("%12.3f\n", exp(h.sum));
        }
    }
    printf("the best that finished: %s <end>, probability %.3f, score %.3f\n\n",
           text[b.best.row] + 1, exp(b.best.sum), b.score);
    say(fabs(exp(b.best.sum) - .4 * .9 * .9) < 1e-9 && b.length == 3,
        "Greedy decoding would have written: il dort <end>, probability 0.225.");
}

// ## Chapter 13: looking inside

// Prints weights with the names of rows and columns, and the sum of each row.
void show_weights(Mat w, const char *const *rows, const char *const *cols) {
    put("", 12);
    for (int j = 0; j < w.cols; j++)
        printf("%9s", cols[j]);
    printf("%9s\n", "sum");
    for (int i = 0; i < w.rows; i++) {
        put(rows[i], 12);
        for (int j = 0; j < w.cols; j++)
            put_number(*at(w, i, j), 9, 4);
        put_number(sum(row(w, i), w.cols), 9, 4);
        putchar('\n');
    }
}

// Cross-attention of one head while the small model writes its translation: as
// numbers and as a picture. A row is named by the word that is written there.
void example_look(void) {
    Checkpoint c = small_trained_model();
    const Transformer *model = c.trainer.model;
    Sentence source = tokenize("the black car", &c.source,
                                  c.settings.tokenizer);
    Sentence *target = translate_all(model, &source, 1, 1, &room);
    Pass pass = {.arena = &room, .config = &model->config};
    Saved s;
    Batch batch = look(&pass, &s, model, source, *target);
    Mat w = attention_of(&s, CROSS, 0, 0, model->config.heads);
    const char *rows[8], *cols[8];
    for (int i = 0; i < w.rows; i++)
        rows[i] = c.target.token[batch.expected[i]];
    for (int j = 0; j < w.cols; j++)
        cols[j] = c.source.token[batch.source[j]];
    show_weights(w, rows, cols);
    putchar('\n');
    draw_attention(stdout, w, rows, cols);
    free(source.id);
    sentences_free(target, 1);
    checkpoint_free(&c);
}

// ## The table of all examples

typedef struct {
    const char *name;
    void (*run)(void);
} Example;

#define ROW(name) {#name, example_##name}

const Example examples[] = {
    ROW(chain), ROW(views), ROW(product), ROW(dropout_mean),
    ROW(softmax), ROW(attention),
    ROW(attention_gradient), ROW(heads), ROW(multi_head_gradient),
    ROW(positions), ROW(embedding_gradient), ROW(activation), ROW(norm),
    ROW(norm_gradient), ROW(residual_paths), ROW(encoder), ROW(memory_gradient),
    ROW(masks), ROW(leak), ROW(model_gradient), ROW(tokens), ROW(byte_pairs),
    ROW(batch), ROW(loss), ROW(loss_gradient), ROW(adam), ROW(schedule),
    ROW(clip), ROW(decoding), ROW(cache), ROW(beam), ROW(look),
};

enum { EXAMPLES = sizeof examples / sizeof *examples };

int main(int argc, char **argv) {
    const Example *e = examples, *end = examples + EXAMPLES;
    if (argc == 1) {
        for (; e < end; e++)
            puts(e->name);
        return 0;
    }
    while (e < end && strcmp(e->name, argv[1]))
        e++;
    if (argc > 2 || e == end) {
        fprintf(stderr, argc > 2 ? "examples: one name at a time, not %s %s …\n"
                : "examples: there is no example %s; without a name they are "
                  "listed\n", argv[1], argv[2]);
        return 2;
    }
    e->run();
    arena_free(&room);
    return claims_failed > 0;
}
