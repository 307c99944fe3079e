// Lab 21, continued: is the reader right? In double precision.
//
// Every element of every gradient against finite differences, for a model whose
// parameters are all random and whose batch is padded:
//
//     task, and the columns of measure.h
//
// task: next or masked. Positions are learned here, so that they have a gradient.

#define TRANSFORMER_DOUBLE
#include "lib/lab.h"
#include "programs/classifier.c"
#include "lib/measure.h"

enum { B = 2, T = 5, D = 12, V = 9 };

int ids[B * T] = {5, 7, 4, 8, 6, 6, 4, END, PAD, PAD};
int next[B * T] = {7, 4, 8, 6, END, 4, END, PAD, PAD, PAD};
int masked[B * T] = {PAD, 8, PAD, PAD, 5, 7, PAD, PAD, PAD, PAD};

bool causal; // the next word is guessed

Loss loss_of(Trainer *t) {
    Pass pass = {.arena = &t->arena, .config = &t->model->config};
    Batch batch = {.sentences = B, .source = ids, .source_length = T,
                   .expected = causal ? next : masked};
    Mask mask = causal ? causal_mask(&t->arena, T)
                       : padding_mask(&t->arena, ids, B, T);
    return reader_gradient(&pass, t->model, t->gradient, &batch, mask);
}

int main(void) {
    Config config = {.layers = 2, .d_model = D, .heads = 3, .d_ff = 7,
                     .source_vocab = V, .target_vocab = V, .max_len = T,
                     .positions = LEARNED};
    puts("task,tensor,elements,error");
    for (int k = 0; k < 2; k++) {
        Trainer t = random_trainer(classifier_outline, &config);
        causal = k == 0;
        print_errors(&t, loss_of, causal ? "next," : "masked,");
        trainer_free(&t);
    }
}
