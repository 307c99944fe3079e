// Lab 14: moving on. The logits that another program has to reach.
//
//     14-moving-on MODEL PAIRS.tsv
//
// Runs each pair through the model, teacher-forced and without dropout, and
// prints a line of CSV for each logit:
//
//     sentence,position,word,logit
//
// sentence: the number of the pair in the file; position: that of the expected
// token, so position 0 has read nothing but the start token; word: its number
// in the target vocabulary. All count from 0. Nine digits determine a float.

#include "lib/lab.h"

void print_logits(int sentence, Mat logits) {
    for (int i = 0; i < logits.rows; i++)
        for (int word = 0; word < logits.cols; word++)
            printf("%d,%d,%d,%.9g\n", sentence, i, word,
                   (double)*at(logits, i, word));
}

int main(int argc, char **argv) {
    if (argc != 3)
        fail("14-moving-on MODEL PAIRS.tsv");
    Checkpoint c = load_checkpoint(argv[1], false);
    Pairs p = load_pairs(argv[2], &c);
    Arena *arena = &c.trainer.arena;
    printf("sentence,position,word,logit\n");
    for (int n = 0; n < p.count; n++) {
        Pass pass = {.arena = arena, .config = &c.settings.config};
        Saved saved;
        Batch batch = make_batch(arena, &p, &n, 1);
        print_logits(n, transformer_forward(&pass, &saved, c.trainer.model,
                                            &batch));
        arena_release(arena, 0);
    }
    pairs_free(&p);
    checkpoint_free(&c);
}
