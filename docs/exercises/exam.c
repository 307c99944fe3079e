// What functions of transformer.c, or of a student's file, give for the numbers of
// a question: of an examination (exam.py), as lines "name = value"; or of a card
// about the student's file (oral.py).
//
//     cc -std=c11 -O2 -DSOURCE='"../../transformer.c"' exam.c -o exam -lm
//     exam QUESTION NUMBER...

#define TRANSFORMER_NO_MAIN
#define TRANSFORMER_DOUBLE
#include SOURCE

enum { T = 3, S = 4, K = 2, MOST = 16 };

static Arena room;
static const Config narrow = {.d_model = 4};
static Pass pass = {.arena = &room, .config = &narrow};

static void print_answer(const char *name, double value) {
    printf("%s = %.9g\n", name, value);
}

// A row of these numbers, or of zeros.
static Mat row_of(const double *x, int n) {
    Mat m = arena_zeros(&room, 1, n);
    for (int j = 0; x && j < n; j++)
        m.at[j] = (real)x[j];
    return m;
}

// ---------------------------------------------------------------- examinations

// L D H F V: the parameters of a whole model with V words on either side
static void count(const double *x) {
    Config c = {.layers = (int)x[0], .d_model = (int)x[1], .heads = (int)x[2],
                .d_ff = (int)x[3], .source_vocab = (int)x[4],
                .target_vocab = (int)x[4], .max_len = 20};
    Transformer *t = transformer_outline(&c);
    double of[COMPONENTS] = {0}, total = 0;
    for (int i = 0; i < t->list.tensors; i++) {
        const Tensor *tensor = &t->list.tensor[i];
        double numbers = (double)tensor->rows * tensor->cols;
        of[component_of(tensor->name.text)] += numbers;
        total += numbers;
    }
    print_answer("count_attention", of[2] + of[3]);
    print_answer("count_norms", of[5]);
    print_answer("count_total", total);
    transformer_free(t);
}

// scores in units of log 2 (3), values (3), gradient of the result
static void attention(const double *x) {
    Mat w = row_of(x, 3), dw = row_of(x + 3, 3);
    for (int j = 0; j < 3; j++)
        w.at[j] *= (real)log(2);
    softmax_row(w.at, NULL, 3);
    print_answer("attention_weight", (double)w.at[0]);
    print_answer("attention_out", (double)dot(w.at, dw.at, 3));
    scale_by(dw, (real)x[6]);
    softmax_backward(dw, w);
    print_answer("attention_dscore", (double)dw.at[0]);
}

// a row (4), the place whose output alone has a gradient, and that gradient
static void norm(const double *x) {
    Mat dx = row_of(NULL, 4), dy = row_of(NULL, 4);
    Norm w = {row_of((double[]){1, 1, 1, 1}, 4), row_of(NULL, 4)};
    Norm dw = {row_of(NULL, 4), row_of(NULL, 4)};
    NormSaved saved;
    Mat y = norm_forward(&pass, &saved, &w, row_of(x, 4));
    print_answer("norm_first", (double)y.at[0]);
    dy.at[(int)x[4]] = (real)x[5];
    norm_backward(&pass, &saved, &w, &dw, dx, dy);
    print_answer("norm_dx_first", (double)dx.at[0]);
}

// what e^logit is (4), the right word, the smoothing
static void loss(const double *x) {
    Mat z = row_of(x, 4), dz = row_of(NULL, 4), lse = row_of(NULL, 1);
    int right = (int)x[4];
    for (int j = 0; j < 4; j++)
        z.at[j] = (real)log(x[j]);
    print_answer("loss_plain", loss_forward(lse, z, &right, 0, &room).loss);
    print_answer("loss_smoothed",
                 loss_forward(lse, z, &right, x[5], &room).loss);
    loss_backward(dz, z, lse, &right, x[5], 1);
    print_answer("loss_dlogit", (double)dz.at[right]);
}

// D, warm-up, an early and a late step; two gradients of one parameter, clip
static void training(const double *x) {
    Settings s = {.config.d_model = (int)x[0], .recipe.warmup = (int)x[1],
                  .recipe.rate = -1, .recipe.schedule = NOAM};
    derive_settings(&s);
    print_answer("training_rate_early",
                 learning_rate(&s.recipe, (int64_t)x[2]));
    print_answer("training_rate_late",
                 learning_rate(&s.recipe, (int64_t)x[3]));
    real g[2] = {(real)x[4], (real)x[5]}, p[2] = {0}, m[2] = {0}, v[2] = {0};
    double factor = clip_factor(l2_norm(g, 2), x[6]);
    print_answer("training_clipped", (double)g[0] * factor);
    adam_step(paper_adam(p, m, v, g, 2), factor, 0.01, 1);
    print_answer("training_moment", (double)v[1]);
    print_answer("training_step", (double)p[0]);
}

// ---------------------------------------------------------------- cards

// A matrix of numbers that follow from the seed.
static Mat drawn(int rows, int cols, uint64_t seed) {
    Mat m = mat(allocate((size_t)(rows * cols), sizeof(real)), rows, cols);
    for (int k = 0; k < rows * cols; k++)
        *at(m, k / cols, k % cols) = (real)(2 * uniform(&seed) - 1);
    return m;
}

static void print_row(Mat m) {
    for (int j = 0; j < m.cols; j++)
        printf("%s%.6f", j ? " " : "", (double)m.at[j]);
    putchar('\n');
}

// seed: the sums of the rows of weights that softmax_row makes
static void row_sums(const double *x) {
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

// seed, the place of the bit, and the T × S bits: which rows of the gradients
// change if this bit of the mask does
static void mask_bit(const double *x) {
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
static void softmax_gradient(const double *x) {
    Mat w = row_of(x, 4), dw = row_of(x + 4, 4);
    softmax_backward(dw, w);
    print_row(dw);
}

// a row (4), gain (4), bias (4)
static void norm_row(const double *x) {
    Norm w = {.gain = row_of(x + 4, 4), .bias = row_of(x + 8, 4)};
    NormSaved saved;
    print_row(norm_forward(&pass, &saved, &w, row_of(x, 4)));
}

int main(int argc, char **argv) {
    const struct {
        const char *name;
        void (*answer)(const double *);
        int numbers;
    } question[] = {{"count", count, 5}, {"attention", attention, 7},
                    {"norm", norm, 6}, {"loss", loss, 6},
                    {"training", training, 7}, {"row_sums", row_sums, 1},
                    {"mask_bit", mask_bit, 2 + T * S},
                    {"softmax_gradient", softmax_gradient, 8},
                    {"norm_row", norm_row, 12}};
    double x[MOST];
    for (int i = 0; i < argc - 2 && i < MOST; i++)
        if (!read_number(&x[i], argv[i + 2], -1e9, 1e9))
            fail("%s is not a number", argv[i + 2]);
    for (size_t q = 0; q < sizeof question / sizeof *question; q++)
        if (argc > 1 && !strcmp(argv[1], question[q].name)
            && argc == 2 + question[q].numbers) {
            question[q].answer(x);
            return 0;
        }
    fail("exam QUESTION NUMBER...");
}
