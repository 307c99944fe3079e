// Lab 20, continued: are the models without a part right? In double precision.
//
//     20-parts-check gradients
//
// Every element of every gradient against finite differences, in a small model
// with learned positions, whose parameters are all random and whose batch is
// padded. The columns are
//
//     without, and those of measure.h
//
//     20-parts-check same
//
// With every part in its place: how far the logits are from those of
// transformer.c, and the gradients from its gradients.
//
//     what,difference

#define TRANSFORMER_DOUBLE
#include "lib/lab.h"
#include "lib/measure.h"
#include "lib/parts.h"

enum { B = 2, S = 5, T = 4, V = 9 };

int source[B * S] = {5, 7, 4, 8, 6, 8, 7, 5, PAD, PAD};
int input[B * T] = {START, 6, 4, 8, START, 7, 7, PAD};
int expected[B * T] = {6, 4, 8, END, 7, 7, END, PAD};
const Batch batch = {B, S, T, source, input, expected};

const struct {
    const char *name;
    Without without;
} models[] = {
    {"nothing", {0}},
    {"network", {.network = true}},
    {"residual", {.residual = true}},
    {"norm", {.norm = true}},
    {"residual and norm", {.residual = true, .norm = true}},
    {"look ahead", {.look_ahead = true}},
    {"cross-attention", {.cross = ONE_VECTOR}},
    {"memory", {.cross = NO_MEMORY}},
};

enum { MODELS = sizeof models / sizeof *models };

Without without; // of the model at work

Trainer new_lab(int number) {
    Config config = {.layers = 2, .d_model = 8, .heads = 2, .d_ff = 6,
                     .source_vocab = V, .target_vocab = V, .max_len = S,
                     .norm = PRE_NORM, .positions = LEARNED};
    Recipe recipe = {.rate = 0.01, .schedule = CONSTANT, .clip = INFINITY};
    without = models[number].without;
    Transformer *model = parts_new(&config, &without);
    randomize(&model->list);
    return trainer_new(model, parts_new(&config, &without), &recipe);
}

PartsPass new_pass(Trainer *t) {
    return (PartsPass){{.arena = &t->arena, .config = &t->model->config},
                       without};
}

Mat logits_of(Trainer *t) {
    PartsPass pass = new_pass(t);
    Saved saved;
    return parts_forward(&pass, &saved, t->model, &batch);
}

Loss loss_of(Trainer *t) {
    PartsPass pass = new_pass(t);
    Saved saved;
    Mat logits = parts_forward(&pass, &saved, t->model, &batch);
    Loss loss = loss_and_gradient(&t->arena, logits, expected);
    parts_backward(&pass, &saved, t->model, t->gradient, logits);
    return loss;
}

void gradients(void) {
    printf("without,tensor,elements,error\n");
    for (int i = 0; i < MODELS; i++) {
        Trainer t = new_lab(i);
        print_errors(&t, loss_of, join(models[i].name, ",").text);
        trainer_free(&t);
    }
}

void same(void) {
    Trainer t = new_lab(0);
    int n = (int)t.model->list.count;
    Mat gradient = mat(t.gradient->list.values, 1, n);
    Mat ours = logits_of(&t);
    Pass pass = {.arena = &t.arena, .config = &t.model->config};
    Saved saved;
    Mat logits = transformer_forward(&pass, &saved, t.model, &batch);
    printf("what,difference\nlogits,%.3g\n", largest_difference(ours, logits));
    loss_and_gradient(&t.arena, logits, expected);
    transformer_backward(&pass, &saved, t.model, t.gradient, logits);
    Trainer other = new_lab(0);
    mean_loss(&other, loss_of);
    Mat found = mat(other.gradient->list.values, 1, n);
    printf("gradients,%.3g\n", largest_difference(gradient, found));
    trainer_free(&other);
    trainer_free(&t);
}

int main(int argc, char **argv) {
    const char *which = argc == 2 ? argv[1] : "";
    if (!strcmp(which, "gradients"))
        gradients();
    else if (!strcmp(which, "same"))
        same();
    else
        fail("20-parts-check gradients or same");
}
