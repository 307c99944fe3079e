// Lab 12: how well finite differences check a gradient, and with which step h.
//
// The loss of a small whole model, two sentences with padding, is computed at
// parameter + h and parameter - h; the slope between the two is compared with
// what the backward pass says. This file is compiled three times: in single
// precision, as 12-gradient-check-double in double, and as
// 12-gradient-check-complex with complex numbers, which are two doubles each.
//
//     precision,activation,method,step,largest,median,caught
//
// precision: float or double. activation: relu or gelu, of the feed-forward
// network. method: "central", (f(x+h) - f(x-h)) / 2h; "one-sided", (f(x+h) -
// f(x)) / h; "two steps", (4 central(h/2) - central(h)) / 3, in which errors of
// order h² cancel; "complex", the imaginary part of f(x + ih), divided by h
// (the project's tests do this). step: h, in the unit of the parameters.
//
// largest, median: of |a - b| / max(|a|, |b|, 0.001) over every STRIDE-th
// parameter of all tensors. caught: the largest such error if each gradient of
// the backward pass is made 0.01 % too large, which is a mistake that a check
// should catch.

#include "lib/lab.h"
#include "lib/measure.h"

enum { D = 12, V = 11, STRIDE = 61 };

Sentence source[] = {{(int[]){5, 7, 4, 8, END}, 5}, {(int[]){6, 4, END}, 3}};
Sentence target[] = {{(int[]){8, 5, 10, END}, 4}, {(int[]){6, END}, 2}};
const Pairs pairs = {source, target, 2, 0};

#ifdef TRANSFORMER_COMPLEX
typedef double complex number;
#else
typedef double number;
#endif

typedef struct {
    Trainer trainer;
    Batch batch;
    number loss;
} Lab;

// The mean loss of the two pairs. (loss_forward's has no imaginary part.)
number loss_of(Lab *lab) {
    Trainer *t = &lab->trainer;
    size_t mark = t->arena.used;
    Pass pass = {.arena = &t->arena, .config = &t->model->config};
    Saved saved;
    Mat z = transformer_forward(&pass, &saved, t->model, &lab->batch);
    Mat lse = arena_mat(&t->arena, z.rows, 1);
    const int *expected = lab->batch.expected;
    Loss loss = loss_forward(lse, z, expected, 0, &t->arena);
    number sum = 0;
    for (int i = 0; i < z.rows; i++)
        if (expected[i] != PAD)
            sum += lse.at[i] - *at(z, i, expected[i]);
    arena_release(&t->arena, mark);
    return sum / loss.tokens;
}

// A model, and its gradients.
Lab new_lab(int activation) {
    Config config = {.layers = 2, .d_model = D, .heads = 3, .d_ff = 24,
                     .source_vocab = V, .target_vocab = V, .max_len = 5,
                     .activation = activation};
    Lab lab = {.trainer = fresh_trainer(transformer_outline, &config,
                                        &(Recipe){0})};
    Trainer *t = &lab.trainer;
    randomize(&t->model->list);
    lab.batch = make_batch(&t->arena, &pairs, (int[]){0, 1}, pairs.count);
    add_gradient(t, &lab.batch, tokens_expected(&lab.batch), 0);
    lab.loss = loss_of(&lab);
    return lab;
}

#ifdef TRANSFORMER_COMPLEX
const char *const method_name[] = {"complex"};
enum { METHODS = 1, SMALLEST = 16 };

double slope(Lab *lab, real *x, double h, int method) {
    const real kept = *x;
    (void)method;
    *x = kept + h * _Complex_I;
    double found = cimag(loss_of(lab)) / h;
    *x = kept;
    return found;
}
#else
enum { ONE_SIDED, CENTRAL, TWO_STEPS, METHODS, SMALLEST = 9 };
const char *const method_name[] = {"one-sided", "central", "two steps"};

// The loss with *x moved by h, and by how much *x has really moved: x + h is
// rounded, too.
double moved(Lab *lab, real *x, double h, double *by) {
    const real kept = *x;
    *x = (real)((double)kept + h);
    *by = (double)*x - (double)kept;
    double loss = loss_of(lab);
    *x = kept;
    return loss;
}

double slope(Lab *lab, real *x, double h, int method) {
    if (method == TWO_STEPS)
        return (4 * slope(lab, x, h / 2, CENTRAL) - slope(lab, x, h, CENTRAL))
             / 3;
    double up, down = 0, above = moved(lab, x, h, &up), below = lab->loss;
    if (method == CENTRAL)
        below = moved(lab, x, -h, &down);
    return up > down ? (above - below) / (up - down) : 0;
}
#endif

void measure(Lab *lab, const char *activation, int method, double h) {
    int n = 0;
    double caught = 0;
    const TensorList *l = &lab->trainer.model->list;
    const TensorList *g = &lab->trainer.gradient->list;
    double *error = allocate(l->count, sizeof *error);
    for (size_t i = 0; i < l->count; i += STRIDE) {
        double found = slope(lab, &l->values[i], h, method);
        double backward = (double)g->values[i];
        error[n++] = relative_error(found, backward);
        caught = fmax(caught, relative_error(found, 1.0001 * backward));
    }
    qsort(error, (size_t)n, sizeof *error, compare_doubles);
    printf("%s,%s,%s,%.3g,%.3g,%.3g,%.3g\n",
           sizeof(real) == sizeof(float) ? "float" : "double", activation,
           method_name[method], h, error[n - 1], error[n / 2], caught);
    free(error);
}

int main(void) {
    const char *const name[] = {"relu", "gelu"};
    use_one_thread();
    printf("precision,activation,method,step,largest,median,caught\n");
    for (int activation = RELU; activation <= GELU; activation++) {
        Lab lab = new_lab(activation);
        for (int method = 0; method < METHODS; method++)
            for (int k = 2; k <= 2 * SMALLEST; k++)
                measure(&lab, name[activation], method, pow(10, -k / 2.0));
        trainer_free(&lab.trainer);
    }
}
