// The numbers that an examination asks for (exam.py), as lines "name = value", computed
// by the program's own functions:
//
//     cc -std=c11 -O1 -DTRANSFORMER_DOUBLE exam.c -o exam -lm
//     exam QUESTION NUMBER...

#define TRANSFORMER_NO_MAIN
#include "../../transformer.c"

static void print_answer(const char *name, double value) {
    printf("%s = %.9g\n", name, value);
}

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
    real w[3], dw[3];
    for (int j = 0; j < 3; j++)
        w[j] = (real)(x[j] * log(2));
    softmax_row(w, NULL, 3);
    double out = 0;
    for (int j = 0; j < 3; j++) {
        out += (double)w[j] * x[3 + j];
        dw[j] = (real)(x[6] * x[3 + j]);
    }
    softmax_backward(mat(dw, 1, 3), mat(w, 1, 3));
    print_answer("attention_weight", (double)w[0]);
    print_answer("attention_out", out);
    print_answer("attention_dscore", (double)dw[0]);
}

// a row (4), the place whose output alone has a gradient, and that gradient
static void norm(const double *x) {
    Arena arena = {0};
    Config c = {.d_model = 4};
    Pass pass = {.arena = &arena, .config = &c};
    real gain[4] = {1, 1, 1, 1}, bias[4] = {0}, dgain[4] = {0}, dbias[4] = {0};
    real in[4], dx[4] = {0}, dy[4] = {0};
    for (int j = 0; j < 4; j++)
        in[j] = (real)x[j];
    dy[(int)x[4]] = (real)x[5];
    Norm w = {.gain = mat(gain, 1, 4), .bias = mat(bias, 1, 4)};
    Norm dw = {.gain = mat(dgain, 1, 4), .bias = mat(dbias, 1, 4)};
    NormSaved saved;
    Mat y = norm_forward(&pass, &saved, &w, mat(in, 1, 4));
    print_answer("norm_first", (double)y.at[0]);
    norm_backward(&pass, &saved, &w, &dw, mat(dx, 1, 4), mat(dy, 1, 4));
    print_answer("norm_dx_first", (double)dx[0]);
    arena_free(&arena);
}

// what e^logit is (4), the right word, the smoothing
static void loss(const double *x) {
    Arena arena = {0};
    real z[4], dz[4] = {0}, lse[1];
    for (int j = 0; j < 4; j++)
        z[j] = (real)log(x[j]);
    int right = (int)x[4];
    Mat logits = mat(z, 1, 4);
    Loss l = loss_forward(mat(lse, 1, 1), logits, &right, 0, &arena);
    print_answer("loss_plain", l.loss);
    l = loss_forward(mat(lse, 1, 1), logits, &right, x[5], &arena);
    print_answer("loss_smoothed", l.loss);
    loss_backward(mat(dz, 1, 4), logits, mat(lse, 1, 1), &right, x[5], 1);
    print_answer("loss_dlogit", (double)dz[right]);
    arena_free(&arena);
}

// D, warm-up, an early and a late step; two gradients of one parameter, clip
static void training(const double *x) {
    Settings s = {.config.d_model = (int)x[0], .recipe.warmup = (int)x[1],
                  .recipe.rate = -1, .recipe.schedule = NOAM};
    derive_settings(&s);
    print_answer("training_rate_early", learning_rate(&s.recipe, (int64_t)x[2]));
    print_answer("training_rate_late", learning_rate(&s.recipe, (int64_t)x[3]));
    real g[2] = {(real)x[4], (real)x[5]}, p[2] = {0}, m[2] = {0}, v[2] = {0};
    double factor = clip_factor(l2_norm(g, 2), x[6]);
    print_answer("training_clipped", (double)g[0] * factor);
    adam_step(paper_adam(p, m, v, g, 2), factor, 0.01, 1);
    print_answer("training_moment", (double)v[1]);
    print_answer("training_step", (double)p[0]);
}

int main(int argc, char **argv) {
    const struct {
        const char *name;
        void (*answer)(const double *);
        int numbers;
    } question[] = {{"count", count, 5}, {"attention", attention, 7},
                    {"norm", norm, 6}, {"loss", loss, 6},
                    {"training", training, 7}};
    double x[8];
    for (int i = 0; i < argc - 2 && i < 8; i++)
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
