// Lab 15, continued: is the classifier right? In double precision.
//
// The first argument selects the test; each prints a CSV of its own. The model
// is small, all its parameters are random, and its batch is padded.
//
// gradients: every element of every gradient against finite differences. The
// columns of measure.h follow
//
//     norm,hidden
//
// norm: post or pre. hidden: from what padding is hidden, "both" (attention and
// mean), "attention" or "neither". Positions are learned here, so that they
// have a gradient.
//
// values: one step of training, for another program to repeat, after norm.
//
// pads: one sentence followed by up to MOST_PADS pads.
//
//     hidden,pads,difference
//
// difference: the largest difference of a logit from that without pads.

#define TRANSFORMER_DOUBLE
#include "lib/lab.h"
#include "programs/classifier.c"
#include "lib/measure.h"

enum { B = 3, S = 6, D = 12, SOURCE_V = 9, TARGET_V = 6, MOST_PADS = 16 };
enum { BOTH, ATTENTION_ONLY, NEITHER };
const char *const hidden_name[] = {"both", "attention", "neither"};
const char *const norm_name[] = {"post", "pre"};

int ids[B * S] = {5, 7, 4, 8, 6, END, 6, 4, END, PAD, PAD, PAD,
                        8, 7, 7, 5, END, PAD};
int answers[B] = {4, 5, 4};

int hidden; // from what padding is hidden: one of the above

Trainer new_lab(int norm, int positions) {
    Config config = {.layers = 2, .d_model = D, .heads = 3, .d_ff = 7,
                     .source_vocab = SOURCE_V, .target_vocab = TARGET_V,
                     .max_len = S + MOST_PADS, .norm = norm,
                     .positions = positions};
    return random_trainer(classifier_outline, &config);
}

// The masks that hide padding as `hidden` says.
Hidden hide(Arena *arena, const Batch *b) {
    Mask none = {0}, mask = padding_mask(arena, b->source, b->sentences,
                                         b->source_length);
    return (Hidden){.attention = hidden == NEITHER ? none : mask,
                    .mean = hidden == BOTH ? mask : none};
}

// logits (sentences,TARGET_V), in the arena
Mat logits_for(Trainer *t, const Batch *b) {
    Pass pass = {.arena = &t->arena, .config = &t->model->config};
    ClassifierSaved saved;
    return classifier_forward(&pass, &saved, t->model, b, hide(&t->arena, b));
}

const Batch batch = {B, S, 1, ids, NULL, answers};

Mat logits_of(Trainer *t) {
    return logits_for(t, &batch);
}

Loss loss_of(Trainer *t) {
    Pass pass = {.arena = &t->arena, .config = &t->model->config};
    return classifier_gradient(&pass, t->model, t->gradient, &batch,
                               hide(&t->arena, &batch));
}

// All configurations.
void gradients(void) {
    printf("norm,hidden,tensor,elements,error\n");
    for (int norm = POST_NORM; norm <= PRE_NORM; norm++)
        for (hidden = BOTH; hidden <= NEITHER; hidden++) {
            Trainer t = new_lab(norm, LEARNED);
            char label[32];
            snprintf(label, sizeof label, "%s,%s,", norm_name[norm],
                     hidden_name[hidden]);
            print_errors(&t, loss_of, label);
            trainer_free(&t);
        }
}

// In post-norm and in pre-norm.
void values(void) {
    printf("norm,kind,name,place,value\n");
    for (int norm = POST_NORM; norm <= PRE_NORM; norm++) {
        Trainer t = new_lab(norm, SINUSOIDAL);
        print_step(&t, logits_of, loss_of, norm == POST_NORM ? "post," : "pre,");
        trainer_free(&t);
    }
}

// logits (1,TARGET_V) of the first sentence of the batch
Mat logits_with(Trainer *t, int pads) {
    int *padded = arena_take(&t->arena, (size_t)(S + pads), sizeof *padded);
    for (int i = 0; i < S + pads; i++)
        padded[i] = i < S ? ids[i] : PAD;
    return logits_for(t, &(Batch){1, S + pads, 1, padded, NULL, answers});
}

// With each number of pads, hidden in each way.
void pads(void) {
    printf("hidden,pads,difference\n");
    for (hidden = BOTH; hidden <= NEITHER; hidden++) {
        Trainer t = new_lab(POST_NORM, SINUSOIDAL);
        for (int n = 0; n <= MOST_PADS; n++) {
            Mat alone = logits_with(&t, 0), padded = logits_with(&t, n);
            printf("%s,%d,%.6g\n", hidden_name[hidden], n,
                   largest_difference(alone, padded));
        }
        trainer_free(&t);
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
