// What a student's functions give for the numbers of a card (oral.py):
//
//     oral "CARD NUMBER ..."
//
// CARD is one of these: sums (of the rows of weights that softmax_row makes),
// mask (which rows of the gradients change if a bit of it does), softmax and
// norm (what softmax_backward and norm_forward make of a row).

#define TRANSFORMER_NO_MAIN
#define TRANSFORMER_DOUBLE
#include SOURCE

enum { T = 3, S = 4, K = 2, MOST = 16 };

// A matrix of numbers that follow from the seed.
static Mat drawn(int rows, int cols, uint64_t seed) {
    Mat m = mat(allocate((size_t)(rows * cols), sizeof(real)), rows, cols);
    for (int k = 0; k < rows * cols; k++)
        *at(m, k / cols, k % cols) = (real)(2 * uniform(&seed) - 1);
    return m;
}

static Mat row_of(const double *x, int n) {
    Mat m = drawn(1, n, 0);
    for (int j = 0; j < n; j++)
        *at(m, 0, j) = (real)x[j];
    return m;
}

static void print_row(Mat m, int i) {
    for (int j = 0; j < m.cols; j++)
        printf("%s%.6f", j ? " " : "", (double)*at(m, i, j));
    putchar('\n');
}

// seed
static void sums(const double *x) {
    Mat w = drawn(S, S, (uint64_t)x[0]);
    for (int i = 0; i < S; i++) {
        softmax_row(row(w, i), NULL, S);
        printf("%.6f\n", (double)sum(row(w, i), S));
    }
}

// The gradients of attention with this mask, which fits one sentence.
static Head gradients(uint64_t seed, const unsigned char *visible) {
    Head a = {.q = drawn(T, K, seed + 1), .k = drawn(S, K, seed + 2),
              .v = drawn(S, K, seed + 3), .weights = drawn(T, S, 0),
              .out = drawn(T, K, 0), .scale = 1};
    a.dropped = a.weights;
    Head d = {.q = drawn(T, K, 0), .k = drawn(S, K, 0), .v = drawn(S, K, 0),
              .weights = drawn(T, S, 0), .out = drawn(T, K, seed + 4)};
    fill(d.q, 0);
    fill(d.k, 0);
    fill(d.v, 0);
    attention_forward(a, (Mask){visible, 0, S});
    attention_backward(d, a);
    return d;
}

static void print_changed(const char *name, Mat a, Mat b) {
    printf("%s:", name);
    for (int i = 0; i < a.rows; i++)
        for (int j = 0; j < a.cols; j++)
            if (fabs(*at(a, i, j) - *at(b, i, j)) > 1e-9) {
                printf(" %d", i);
                break;
            }
    putchar('\n');
}

// seed, the place of the bit, and the T × S bits
static void mask(const double *x) {
    unsigned char visible[T * S];
    for (int k = 0; k < T * S; k++)
        visible[k] = x[2 + k] != 0;
    Head before = gradients((uint64_t)x[0], visible);
    visible[(int)x[1]] ^= 1;
    Head after = gradients((uint64_t)x[0], visible);
    print_changed("dq", before.q, after.q);
    print_changed("dk", before.k, after.k);
    print_changed("dv", before.v, after.v);
}

// weights (4), their gradients (4)
static void softmax(const double *x) {
    Mat w = row_of(x, 4), dw = row_of(x + 4, 4);
    softmax_backward(dw, w);
    print_row(dw, 0);
}

// a row (4), gain (4), bias (4)
static void norm(const double *x) {
    Arena arena = {0};
    Config c = {.d_model = 4};
    Pass pass = {.arena = &arena, .config = &c};
    Norm w = {.gain = row_of(x + 4, 4), .bias = row_of(x + 8, 4)};
    NormSaved saved;
    print_row(norm_forward(&pass, &saved, &w, row_of(x, 4)), 0);
}

int main(int argc, char **argv) {
    const struct {
        const char *name;
        void (*answer)(const double *);
        int numbers;
    } card[] = {{"sums", sums, 1}, {"mask", mask, 2 + T * S},
                {"softmax", softmax, 8}, {"norm", norm, 12}};
    double x[MOST];
    int count = 0;
    char *word = argc > 1 ? strtok(argv[1], " ") : NULL, *name = word;
    while (name && count < MOST && (word = strtok(NULL, " ")) != NULL)
        x[count++] = strtod(word, NULL);
    for (size_t k = 0; name && k < sizeof card / sizeof *card; k++)
        if (strcmp(name, card[k].name) == 0 && count == card[k].numbers) {
            card[k].answer(x);
            return 0;
        }
    fail("oral \"CARD NUMBER ...\"");
}
