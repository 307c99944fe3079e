// Lab 16, continued: is the GPT right? In double precision.
//
// The first argument says which test; each prints a CSV of its own. The model
// is small, and all its parameters are random.
//
// gradients: every element of every gradient against finite differences.
//
//     tensor,elements,error
//
// error: the largest |a - b| / max(|a|, |b|, 0.001) in this tensor.
//
// values: one step of training, for another program to repeat.
//
//     kind,name,place,value
//
// kind: "parameter" or "gradient", element `place` of the tensor `name`;
// "logit"; "loss", before the step (place 0) and after it (1).
//
// future: one token of a text replaced by another.
//
//     position,difference
//
// difference: the largest change of a logit at that position.
//
// cache: token by token with the cache, against the forward pass.
//
//     position,difference
//
// sampling: what temperature, top-k and top-p leave of given logits.
//
//     rule,value,token,probability

#define TRANSFORMER_DOUBLE
#include "lab.h"
#include "gpt.h"

enum { B = 3, T = 6, D = 12, V = 9, REPLACED = 3 };
const double RATE = 0.01;

int input[B * T] = {5, 7, 4, 8, 6, 5, 6, 4, 8, 8, 7, 4, 8, 7, 7, 5, 4, 6};
int expected[B * T] = {7, 4, 8, 6, 5, 6, 4, 8, 8, 7, 4, 5, 7, 7, 5, 4, 6, 8};
const Batch batch = {.sentences = B, .target_length = T, .input = input,
                     .expected = expected};

typedef struct {
    Transformer *model, *gradient;
    Arena arena;
    Pass pass;
} Lab;

// Parameters that are all random: gains around 1, no bias zero.
void lab_new(Lab *lab) {
    Config config = {.layers = 2, .d_model = D, .heads = 3, .d_ff = 7,
                     .source_vocab = FIRST_TOKEN, .target_vocab = V,
                     .max_len = T, .norm = PRE_NORM, .positions = LEARNED,
                     .activation = GELU, .tie = 1};
    *lab = (Lab){.model = gpt_zeros(&config), .gradient = gpt_zeros(&config)};
    lab->pass = (Pass){.arena = &lab->arena, .config = &lab->model->config,
                       .sentences = B};
    uint64_t state = random_key(1, FOR_PARAMETERS, 0);
    for (int i = 0; i < lab->model->tensors; i++) {
        Tensor *t = &lab->model->tensor[i];
        for (int k = 0; k < t->rows * t->cols; k++)
            t->mat->at[k] = (t->init == INIT_ONES) + 0.3 * normal(&state);
    }
}

// The mean loss of the batch; the gradients are added to lab->gradient.
double loss_of(Lab *lab) {
    Loss loss = gpt_gradient(&lab->pass, lab->model, lab->gradient, &batch);
    arena_release(&lab->arena, 0);
    return loss.loss / (double)loss.tokens;
}

// logits (B·T,V) of the batch
Mat logits_of(Lab *lab) {
    GptSaved saved;
    return gpt_forward(&lab->pass, &saved, lab->model, input, T);
}

// ## Gradients

// Central differences with steps h and h/2, put together so that their errors
// of order h² cancel.
double slope(Lab *lab, real *x) {
    const real kept = *x;
    double central[2];
    for (int half = 0; half < 2; half++) {
        double h = half ? 5e-5 : 1e-4;
        *x = kept + h;
        double above = loss_of(lab);
        *x = kept - h;
        central[half] = (above - loss_of(lab)) / (2 * h);
    }
    *x = kept;
    return (4 * central[1] - central[0]) / 3;
}

// A line for each tensor. The gradients start at 1/2, so that one which is not
// added to what is there shows.
void gradients(Lab *lab) {
    Transformer *g = lab->gradient;
    double *found = allocate(g->count, sizeof *found);
    for (size_t k = 0; k < g->count; k++)
        g->values[k] = 0.5;
    loss_of(lab);
    memcpy(found, g->values, g->count * sizeof *found);
    size_t next = 0;
    printf("tensor,elements,error\n");
    for (int i = 0; i < g->tensors; i++) {
        int elements = g->tensor[i].rows * g->tensor[i].cols;
        double worst = 0;
        for (int k = 0; k < elements; k++, next++) {
            double a = found[next] - 0.5;
            double b = slope(lab, &lab->model->values[next]);
            double error = fabs(a - b) / fmax(fmax(fabs(a), fabs(b)), 1e-3);
            worst = fmax(worst, isnan(error) ? INFINITY : error);
        }
        printf("%s,%d,%.3g\n", g->tensor[i].name.text, elements, worst);
    }
    free(found);
}

// ## One step

// A line for each element of each tensor.
void print_tensors(const Transformer *t, const char *kind) {
    for (int i = 0; i < t->tensors; i++)
        for (int k = 0; k < t->tensor[i].rows * t->tensor[i].cols; k++)
            printf("%s,%s,%d,%.17g\n", kind, t->tensor[i].name.text, k,
                   t->tensor[i].mat->at[k]);
}

// Everything about one step of Adam, without clipping.
void values(Lab *lab) {
    Transformer *t = lab->model, *g = lab->gradient;
    Transformer *m = gpt_zeros(&t->config), *v = gpt_zeros(&t->config);
    printf("kind,name,place,value\n");
    print_tensors(t, "parameter");
    Mat logits = logits_of(lab);
    for (int i = 0; i < B * T * V; i++)
        printf("logit,,%d,%.17g\n", i, logits.at[i]);
    double before = loss_of(lab);
    print_tensors(g, "gradient");
    Adam adam = {t->values, m->values, v->values, g->values, t->count};
    adam_step(adam, 1, RATE, 1);
    double after = loss_of(lab);
    printf("loss,,0,%.17g\nloss,,1,%.17g\n", before, after);
    transformer_free(m);
    transformer_free(v);
}

// ## The future, and the cache

// Prints how far apart two matrices of logits are at each position.
void print_differences(Mat a, Mat b) {
    printf("position,difference\n");
    for (int t = 0; t < T; t++) {
        double most = 0;
        for (int i = t; i < B * T; i += T)
            for (int j = 0; j < V; j++)
                most = fmax(most, fabs(*at(a, i, j) - *at(b, i, j)));
        printf("%d,%.3g\n", t, most);
    }
}

// In each text of the batch, the token at REPLACED becomes another.
void future(Lab *lab) {
    Mat before = logits_of(lab);
    for (int i = REPLACED; i < B * T; i += T)
        input[i] = input[i] == 4 ? 5 : 4;
    print_differences(before, logits_of(lab));
}

// Position by position, all texts of the batch side by side.
void cache(Lab *lab) {
    Mat whole = logits_of(lab), steps = arena_mat(&lab->arena, B * T, V);
    Cache c = gpt_cache(&lab->arena, lab->model, B);
    for (int t = 0; t < T; t++) {
        const int id[B] = {input[t], input[T + t], input[2 * T + t]};
        Mat logits = gpt_step(&lab->pass, &c, id);
        for (int b = 0; b < B; b++)
            copy(slice_rows(steps, b * T + t, 1), slice_rows(logits, b, 1));
    }
    print_differences(whole, steps);
}

// ## Sampling

// The logits of the special tokens are the largest: they must not be chosen.
void sampling(Lab *lab) {
    const real logits[V] = {9, 9, 9, 9, 0, 2, 1, 3, -1};
    const struct {
        const char *rule;
        double value;
        Sampling how;
    } tried[] = {{"temperature", 1, {1, 0, 1}}, {"temperature", 2, {2, 0, 1}},
                 {"temperature", 0.5, {0.5, 0, 1}},
                 {"temperature", 0, {0, 0, 1}}, {"top-k", 2, {1, 2, 1}},
                 {"top-p", 0.8, {1, 0, 0.8}}, {"top-p", 0.95, {1, 0, 0.95}}};
    Candidate c[V];
    (void)lab;
    printf("rule,value,token,probability\n");
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        int n = candidates(c, logits, V, tried[i].how);
        for (int k = 0; k < n; k++)
            printf("%s,%g,%d,%.17g\n", tried[i].rule, tried[i].value,
                   c[k].token, c[k].p);
    }
}

int main(int argc, char **argv) {
    const struct {
        const char *name;
        void (*run)(Lab *);
    } tests[] = {{"gradients", gradients}, {"values", values},
                 {"future", future}, {"cache", cache}, {"sampling", sampling}};
    Lab lab;
    for (int i = 0; i < 5; i++)
        if (argc == 2 && !strcmp(argv[1], tests[i].name)) {
            lab_new(&lab);
            tests[i].run(&lab);
            arena_free(&lab.arena);
            transformer_free(lab.model);
            transformer_free(lab.gradient);
            return 0;
        }
    fail("16-gpt-check gradients, values, future, cache or sampling");
}
