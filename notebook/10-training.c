// Lab 10: training. Is a trained model as sure as it should be?
//
//     10-training MODEL PAIRS.tsv
//
// For each expected token of the pairs, given the true tokens before it, a line
// of CSV says how probable the model finds it at the end of its run (which may
// not be when it was best):
//
//     expected,best,correct
//
// expected: the probability of the expected token; best: that of the most
// probable one; correct: 1 if the two are the same token, else 0. A model that
// is honest about what it knows is correct in nine of ten places where its best
// token has the probability 0.9. Loss, learning rate and gradient norm need no
// program of their own: `train --log` has them.

#include "lib/lab.h"

void print_pair(const Transformer *t, const Pairs *pairs, int n, Arena *arena) {
    Pass pass = {.arena = arena, .config = &t->config};
    Saved saved;
    Batch batch = make_batch(arena, pairs, &n, 1);
    Mat logits = transformer_forward(&pass, &saved, t, &batch);
    softmax_forward(logits, (Mask){0});
    for (int i = 0; i < logits.rows; i++) {
        const real *p = row(logits, i);
        int best = arg_max(p, 0, logits.cols), expected = batch.expected[i];
        printf("%.9g,%.9g,%d\n", (double)p[expected], (double)p[best],
               best == expected);
    }
    arena_release(arena, 0);
}

int main(int argc, char **argv) {
    if (argc != 3)
        fail("10-training MODEL PAIRS.tsv");
    Checkpoint c = load_checkpoint(argv[1], true);
    Pairs p = load_pairs(argv[2], &c);
    printf("expected,best,correct\n");
    for (int i = 0; i < p.count; i++)
        print_pair(c.trainer.model, &p, i, &c.trainer.arena);
    pairs_free(&p);
    checkpoint_free(&c);
}
