// Lab 3, second part: longer than in training.
//
//     03-lengths TASK POSITIONS STEPS
//
// A small model learns to repeat random letters (TASK copy) or to reverse them
// (reverse), SHORTEST to TRAINED at a time, in STEPS steps. POSITIONS are
// sinusoidal, learned or none. Then it is tested with SHORTEST to LONGEST
// letters, TESTS times each. For each place in a sentence a line of CSV:
//
//     task,positions,length,place,correct,forced,exact
//
// length: letters in the sentence; place: counts from 1; correct: the share of
// the sentences in which the model writes the right letter there; forced: that
// share if it is given all the right letters before (teacher forcing) and must
// not end the sentence; exact: the share of sentences that are right from the
// first letter to the end token, the same in all lines of a length.

#include "lib/lab.h"

enum { LETTERS = 16, SHORTEST = 4, TRAINED = 10, LONGEST = 16 };
enum { D = 32, BATCH = 32, TESTS = 256 };

// A batch of random letters, from random_key(seed, FOR_ORDER, which). The
// target is the source, or the source backwards; both end with END.
Batch letters(Arena *arena, uint64_t seed, uint64_t which, int B, int length,
              bool reverse) {
    uint64_t state = random_key(seed, FOR_ORDER, which);
    int T = length + 1;
    int *id = arena_take(arena, (size_t)(3 * B * T), sizeof *id);
    Batch batch = {B, T, T, id, id + B * T, id + 2 * B * T};
    for (int i = 0; i < B * T; i++)
        id[i] = i % T == length ? END
                                : FIRST_TOKEN + random_below(LETTERS, &state);
    for (int i = 0; i < B * T; i++) {
        int place = i % T, first = i - place;
        int from = reverse ? length - 1 - place : place;
        batch.expected[i] = place == length ? END : id[first + from];
    }
    for (int i = 0; i < B * T; i++)
        batch.input[i] = i % T ? batch.expected[i - 1] : START;
    return batch;
}

// Trains for `steps` steps, each with a batch of one length.
Trainer trained(int positions, bool reverse, int steps) {
    Config config = {.layers = 1, .d_model = D, .heads = 4, .d_ff = 4 * D,
                     .source_vocab = FIRST_TOKEN + LETTERS,
                     .target_vocab = FIRST_TOKEN + LETTERS,
                     .max_len = LONGEST, .positions = positions};
    Recipe recipe = {.rate = 0.004, .warmup = 200, .clip = 1, .seed = 1};
    Trainer t = fresh_trainer(transformer_outline, &config, &recipe);
    while (t.step < steps) {
        int length = SHORTEST + (int)(t.step % (TRAINED - SHORTEST + 1));
        Batch batch = letters(&t.arena, 1, (uint64_t)t.step, BATCH, length,
                              reverse);
        train_step(&t, &batch);
        arena_release(&t.arena, 0);
    }
    return t;
}

// How well the model writes new sentences of one length.
void test(Trainer *t, const char *names, int length, bool reverse) {
    int P = length + 1, exact = 0;
    int right[LONGEST + 1] = {0}, forced[LONGEST + 1] = {0};
    Batch batch = letters(&t->arena, 2, (uint64_t)length, TESTS, length,
                          reverse);
    int room = longest_output(t->model, P);
    int *out = arena_take(&t->arena, (size_t)(TESTS * room), sizeof *out);
    double sum[TESTS];
    translate(t->model, &batch, out, sum, &t->arena);
    Pass pass = {.arena = &t->arena, .config = &t->model->config};
    Saved saved;
    Mat logits = transformer_forward(&pass, &saved, t->model, &batch);
    for (int b = 0; b < TESTS; b++) {
        int all = 0;
        for (int place = 0; place < P; place++) {
            int i = b * P + place, said = out[b * room + place];
            right[place] += said == batch.expected[i];
            forced[place] += arg_max(row(logits, i), FIRST_TOKEN, logits.cols)
                             == batch.expected[i];
            all += said == batch.expected[i];
        }
        exact += all == P;
    }
    for (int place = 0; place < length; place++)
        printf("%s,%d,%d,%.4f,%.4f,%.4f\n", names, length, place + 1,
               (double)right[place] / TESTS, (double)forced[place] / TESTS,
               (double)exact / TESTS);
    arena_release(&t->arena, 0);
}

int main(int argc, char **argv) {
    int positions = argc != 4 ? -1
                  : find_choice("sinusoidal|learned|none", argv[2]);
    if (positions < 0)
        fail("03-lengths TASK sinusoidal|learned|none STEPS");
    use_one_thread();
    bool reverse = !strcmp(argv[1], "reverse");
    char names[64];
    snprintf(names, sizeof names, "%s,%s", argv[1], argv[2]);
    Trainer t = trained(positions, reverse, atoi(argv[3]));
    puts("task,positions,length,place,correct,forced,exact");
    for (int length = SHORTEST; length <= LONGEST; length++)
        test(&t, names, length, reverse);
    trainer_free(&t);
}
