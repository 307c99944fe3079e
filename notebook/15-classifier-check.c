// Lab 15, continued: is the classifier right? In double precision.
//
// The first argument says which test; each prints a CSV of its own. The model
// is small, all its parameters are random, and its batch is padded.
//
// gradients: every element of every gradient against finite differences.
//
//     norm,hidden,tensor,elements,error
//
// norm: post or pre. hidden: where padding is, "both" (attention and mean),
// "attention" or "neither". error: the largest |a - b| / max(|a|, |b|, 0.001)
// in this tensor. Positions are learned here, so that they have a gradient.
//
// values: one step of training, for another program to repeat.
//
//     norm,kind,name,place,value
//
// kind: "parameter" or "gradient", element `place` of the tensor `name`;
// "logit"; "loss", before the step (place 0) and after it (1).
//
// pads: one sentence with up to MOST_PADS pads behind it.
//
//     hidden,pads,difference
//
// difference: the largest change of a logit against no pads.

#define TRANSFORMER_DOUBLE
#include "lab.h"
#include "classifier.c"

enum { B = 3, S = 6, D = 12, SOURCE_V = 9, TARGET_V = 6, MOST_PADS = 16 };
enum { BOTH, ATTENTION_ONLY, NEITHER };
const char *const hidden_name[] = {"both", "attention", "neither"};
const char *const norm_name[] = {"post", "pre"};
const double RATE = 0.01;

const int ids[B * S] = {5, 7, 4, 8, 6, END, 6, 4, END, PAD, PAD, PAD,
                        8, 7, 7, 5, END, PAD};
const int answers[B] = {4, 5, 4};

typedef struct {
    Transformer *model, *gradient;
    Arena arena;
    int hidden; // where padding is
} Lab;

// Parameters that are all random: gains around 1, no bias zero.
Lab new_lab(int norm, int positions, int hidden) {
    Config config = {.layers = 2, .d_model = D, .heads = 3, .d_ff = 7,
                     .source_vocab = SOURCE_V, .target_vocab = TARGET_V,
                     .max_len = S + MOST_PADS, .norm = norm,
                     .positions = positions};
    Lab lab = {classifier_new(&config), classifier_zeros(&config), {0},
               hidden};
    uint64_t state = random_key(1, FOR_PARAMETERS, 0);
    for (int i = 0; i < lab.model->tensors; i++) {
        Tensor *t = &lab.model->tensor[i];
        for (int k = 0; k < t->rows * t->cols; k++)
            t->mat->at[k] = (t->init == INIT_ONES) + 0.3 * normal(&state);
    }
    return lab;
}

// Gives it all back.
void lab_free(Lab *lab) {
    arena_free(&lab->arena);
    transformer_free(lab->model);
    transformer_free(lab->gradient);
}

// The masks that hide padding where lab->hidden says.
Hidden hide(Lab *lab, const Examples *e) {
    Mask none = {0}, mask = padding_mask(&lab->arena, e->ids, e->sentences,
                                         e->length);
    return (Hidden){.attention = lab->hidden == NEITHER ? none : mask,
                    .mean = lab->hidden == BOTH ? mask : none};
}

// The mean loss of the batch; the gradients are added to lab->gradient.
double loss_of(Lab *lab) {
    Examples e = {B, S, ids, answers};
    Pass pass = {.arena = &lab->arena, .config = &lab->model->config};
    Loss loss = classifier_gradient(&pass, lab->model, lab->gradient, &e,
                                    hide(lab, &e));
    arena_release(&lab->arena, 0);
    return loss.loss / (double)loss.tokens;
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
void check_gradients(Lab *lab) {
    Transformer *g = lab->gradient;
    double *found = allocate(g->count, sizeof *found);
    for (size_t k = 0; k < g->count; k++)
        g->values[k] = 0.5;
    loss_of(lab);
    memcpy(found, g->values, g->count * sizeof *found);
    size_t next = 0;
    for (int i = 0; i < g->tensors; i++) {
        int elements = g->tensor[i].rows * g->tensor[i].cols;
        double worst = 0;
        for (int k = 0; k < elements; k++, next++) {
            double a = found[next] - 0.5;
            double b = slope(lab, &lab->model->values[next]);
            double error = fabs(a - b) / fmax(fmax(fabs(a), fabs(b)), 1e-3);
            worst = fmax(worst, isnan(error) ? INFINITY : error);
        }
        printf("%s,%s,%s,%d,%.3g\n", norm_name[lab->model->config.norm],
               hidden_name[lab->hidden], g->tensor[i].name.text, elements,
               worst);
    }
    free(found);
}

// All configurations.
void gradients(void) {
    printf("norm,hidden,tensor,elements,error\n");
    for (int norm = POST_NORM; norm <= PRE_NORM; norm++)
        for (int hidden = BOTH; hidden <= NEITHER; hidden++) {
            Lab lab = new_lab(norm, LEARNED, hidden);
            check_gradients(&lab);
            lab_free(&lab);
        }
}

// ## One step

// A line for each element of each tensor.
void print_tensors(const Transformer *t, const char *kind) {
    for (int i = 0; i < t->tensors; i++)
        for (int k = 0; k < t->tensor[i].rows * t->tensor[i].cols; k++)
            printf("%s,%s,%s,%d,%.17g\n", norm_name[t->config.norm], kind,
                   t->tensor[i].name.text, k, t->tensor[i].mat->at[k]);
}

// A line for each logit of the batch.
void print_logits(Lab *lab) {
    Examples e = {B, S, ids, answers};
    Pass pass = {.arena = &lab->arena, .config = &lab->model->config};
    ClassifierSaved saved;
    Mat logits = classifier_forward(&pass, &saved, lab->model, &e,
                                    hide(lab, &e));
    for (int i = 0; i < B * TARGET_V; i++)
        printf("%s,logit,,%d,%.17g\n", norm_name[lab->model->config.norm], i,
               logits.at[i]);
    arena_release(&lab->arena, 0);
}

// Everything about one step of Adam, without clipping.
void print_step(Lab *lab) {
    Transformer *t = lab->model, *g = lab->gradient;
    Transformer *m = classifier_zeros(&t->config);
    Transformer *v = classifier_zeros(&t->config);
    print_tensors(t, "parameter");
    print_logits(lab);
    double before = loss_of(lab);
    print_tensors(g, "gradient");
    Adam adam = {t->values, m->values, v->values, g->values, t->count};
    adam_step(adam, 1, RATE, 1);
    double after = loss_of(lab);
    printf("%s,loss,,0,%.17g\n", norm_name[t->config.norm], before);
    printf("%s,loss,,1,%.17g\n", norm_name[t->config.norm], after);
    transformer_free(m);
    transformer_free(v);
}

// In post-norm and in pre-norm.
void values(void) {
    printf("norm,kind,name,place,value\n");
    for (int norm = POST_NORM; norm <= PRE_NORM; norm++) {
        Lab lab = new_lab(norm, SINUSOIDAL, BOTH);
        print_step(&lab);
        lab_free(&lab);
    }
}

// ## Pads

// logits (1,TARGET_V) of the first sentence of the batch
Mat logits_of(Lab *lab, int pads) {
    int *padded = arena_take(&lab->arena, (size_t)(S + pads), sizeof *padded);
    for (int i = 0; i < S + pads; i++)
        padded[i] = i < S ? ids[i] : PAD;
    Examples e = {1, S + pads, padded, answers};
    Pass pass = {.arena = &lab->arena, .config = &lab->model->config};
    ClassifierSaved saved;
    return classifier_forward(&pass, &saved, lab->model, &e, hide(lab, &e));
}

// With each number of pads, hidden in each way.
void pads(void) {
    printf("hidden,pads,difference\n");
    for (int hidden = BOTH; hidden <= NEITHER; hidden++) {
        Lab lab = new_lab(POST_NORM, SINUSOIDAL, hidden);
        for (int n = 0; n <= MOST_PADS; n++) {
            Mat alone = logits_of(&lab, 0), padded = logits_of(&lab, n);
            double most = 0;
            for (int j = 0; j < TARGET_V; j++)
                most = fmax(most, fabs(alone.at[j] - padded.at[j]));
            printf("%s,%d,%.6g\n", hidden_name[hidden], n, most);
        }
        lab_free(&lab);
    }
}

int main(int argc, char **argv) {
    const char *which = argc == 2 ? argv[1] : "";
    if (!strcmp(which, "gradients"))
        gradients();
    else if (!strcmp(which, "values"))
        values();
    else if (!strcmp(which, "pads"))
        pads();
    else
        fail("15-classifier-check gradients, values or pads");
}
