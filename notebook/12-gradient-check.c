// Lab 12: how well finite differences check a gradient, and with which step h.
//
// The loss of a small whole model, two sentences with padding, is computed at
// parameter + h and parameter - h; the slope between the two is held against
// what the backward pass says. This file is compiled twice: in single
// precision, and by 12-gradient-check-double.c in double.
//
//     precision,activation,method,step,largest,median,caught
//
// precision: float or double. activation: relu or gelu, of the feed-forward
// network. method: "central", (f(x+h) - f(x-h)) / 2h; "one-sided", (f(x+h) -
// f(x)) / h; "two steps", (4 central(h/2) - central(h)) / 3, in which errors of
// order h² cancel (the project's tests do this). step: h, in the unit of the
// parameters.
//
// largest, median: of |a - b| / max(|a|, |b|, 0.001) over every STRIDE-th
// parameter of all tensors. caught: the largest such error if each gradient of
// the backward pass is made 0.01 % too large, which is a mistake that a check
// should catch.

#include "lab.h"

enum { B = 2, S = 5, T = 4, D = 12, V = 11, STRIDE = 19, STEPS_A_DECADE = 2 };
enum { ONE_SIDED, CENTRAL, TWO_STEPS };
const char *const method_name[] = {"one-sided", "central", "two steps"};

int source[B * S] = {5, 7, 4, 8, END, 6, 4, END, PAD, PAD};
int input[B * T] = {START, 8, 5, 10, START, 6, PAD, PAD};
int expected[B * T] = {8, 5, 10, END, 6, END, PAD, PAD};

typedef struct {
    Transformer *model, *gradient;
    Arena arena;
    double loss;
} Lab;

// The mean loss of the batch; its gradient too, if wanted.
double loss_of(Lab *lab, bool backward) {
    const Batch batch = {B, S, T, source, input, expected};
    size_t mark = lab->arena.used;
    Pass pass = {.arena = &lab->arena, .config = &lab->model->config};
    Saved saved;
    Mat logits = transformer_forward(&pass, &saved, lab->model, &batch);
    Mat lse = arena_mat(&lab->arena, logits.rows, 1);
    Loss loss = loss_forward(lse, logits, expected, 0, &lab->arena);
    if (backward) {
        loss_backward(logits, logits, lse, expected, 0, loss.tokens);
        transformer_backward(&pass, &saved, lab->model, lab->gradient, logits);
    }
    arena_release(&lab->arena, mark);
    return loss.loss / loss.tokens;
}

// Parameters that are all random: gains around 1, no bias zero.
Lab new_lab(int activation) {
    Config config = {.layers = 2, .d_model = D, .heads = 3, .d_ff = 24,
                     .source_vocab = V, .target_vocab = V, .max_len = S,
                     .activation = activation};
    Lab lab = {.model = transformer_new(&config),
               .gradient = transformer_zeros(&config)};
    uint64_t state = random_key(1, FOR_PARAMETERS, 0);
    for (int i = 0; i < lab.model->tensors; i++) {
        Tensor *t = &lab.model->tensor[i];
        double mean = t->init == INIT_ONES ? 1 : 0;
        for (int k = 0; k < t->rows * t->cols; k++)
            t->mat->at[k] = (real)(mean + 0.3 * normal(&state));
    }
    lab.loss = loss_of(&lab, true);
    return lab;
}

void lab_free(Lab *lab) {
    arena_free(&lab->arena);
    transformer_free(lab->model);
    transformer_free(lab->gradient);
}

// The loss with *x moved by h, and by how much it has really moved: x + h is
// rounded, too.
double moved(Lab *lab, real *x, double h, double *by) {
    const real kept = *x;
    *x = (real)((double)kept + h);
    *by = (double)*x - (double)kept;
    double loss = loss_of(lab, false);
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

double relative_error(double a, double b) {
    return fabs(a - b) / fmax(fmax(fabs(a), fabs(b)), 1e-3);
}

int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void measure(Lab *lab, const char *activation, int method, double h) {
    int n = 0;
    double caught = 0;
    double *error = allocate(lab->model->count, sizeof *error);
    for (size_t i = 0; i < lab->model->count; i += STRIDE) {
        double found = slope(lab, &lab->model->values[i], h, method);
        double backward = (double)lab->gradient->values[i];
        error[n++] = relative_error(found, backward);
        caught = fmax(caught, relative_error(found, 1.0001 * backward));
    }
    qsort(error, (size_t)n, sizeof *error, compare);
    printf("%s,%s,%s,%.3g,%.3g,%.3g,%.3g\n",
           sizeof(real) == sizeof(double) ? "double" : "float", activation,
           method_name[method], h, error[n - 1], error[n / 2], caught);
    free(error);
}

int main(void) {
    const char *const name[] = {"relu", "gelu"};
    printf("precision,activation,method,step,largest,median,caught\n");
    for (int activation = RELU; activation <= GELU; activation++) {
        Lab lab = new_lab(activation);
        for (int method = ONE_SIDED; method <= TWO_STEPS; method++)
            for (int k = -STEPS_A_DECADE; k >= -9 * STEPS_A_DECADE; k--)
                measure(&lab, name[activation], method,
                        pow(10, (double)k / STEPS_A_DECADE));
        lab_free(&lab);
    }
}
