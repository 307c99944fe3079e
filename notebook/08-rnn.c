// Lab 8: why the recurrent network was dropped.
//
// Three models learn to write a sequence of random words backwards, from the
// same pairs in the same order:
//
//     plain        LSTM encoder and decoder
//     attention    the same with additive attention
//     transformer  of this project, 2 + 2 layers
//
//     08-rnn MODEL LENGTH EPOCHS PAIRS
//
// trains one of them, tests it on a fifth as many pairs, and prints CSV, one
// number per line:
//
//     measure,epoch,query,key,value
//
// measure is: parameters (their number); loss (nats per word, mean of an epoch
// of training); seconds (of processor time for the training of this epoch,
// without the test); word and sequence (shares of words and of whole sequences
// that are right when the test data are decoded greedily); place (share of
// right words at place `query` of the output, after the last epoch); weight
// (attention of output place `query` to input place `key`, after the last
// epoch, of the attention model: mean over the test data). Places count from 1.

#include "lib/lab.h"
#include "programs/rnn.c"

enum { LETTERS = 18, V = FIRST_TOKEN + LETTERS, B = 64, LONGEST = 40,
       MOST_PAIRS = 2500 };

const Recipe recipe = {.rate = 1e-3, .clip = 5, .batch = B, .seed = 1};

typedef struct {
    Learner learner;
    Course course;       // through the training data
    int length, epochs;
} Lab;

// n sequences of the given length and their reversals. No END: the length is
// known.
Pairs random_pairs(int n, int length, uint64_t seed) {
    size_t count = (size_t)n, T = (size_t)length;
    Pairs p = {allocate(count, sizeof(Sentence)),
               allocate(count, sizeof(Sentence)), n, 0};
    uint64_t state = random_key(seed, FOR_PARAMETERS, (uint64_t)length);
    for (int i = 0; i < n; i++) {
        p.source[i] = (Sentence){allocate(T, sizeof(int)), length};
        p.target[i] = (Sentence){allocate(T, sizeof(int)), length};
        for (int t = 0; t < length; t++) {
            int word = FIRST_TOKEN + random_below(LETTERS, &state);
            p.source[i].id[t] = p.target[i].id[length - 1 - t] = word;
        }
    }
    return p;
}

Lab lab_new(const char *name, int length, int epochs) {
    Config config = {.layers = 2, .d_model = 64, .heads = 4, .d_ff = 256,
                     .source_vocab = V, .target_vocab = V, .max_len = length};
    RnnConfig rnn = {.vocab = V, .embedding = 64, .hidden = 128};
    rnn.attention = strcmp(name, "attention") == 0 ? 64 : 0;
    bool recurrent = strcmp(name, "transformer") != 0;
    return (Lab){.learner = learner_new(recurrent, &rnn, &config, 1),
                 .length = length, .epochs = epochs};
}

// One epoch -> the loss. The recurrent models are fed the true word with a
// probability that falls from 1 to 0.2, decided anew for each step of a batch.
Loss epoch_of(Lab *lab, int epoch) {
    Learner *l = &lab->learner;
    uint64_t coin = random_key(2, FOR_DROPOUT, (uint64_t)epoch);
    double forced = fmax(0.2, 1 - 0.9 * epoch / lab->epochs);
    Loss total = {0};
    for (int i = 0; i < lab->course.pairs->count; i += B) {
        Batch batch = next_batch(&lab->course, &recipe, l->step, &l->arena);
        bool *own = arena_take(&l->arena, (size_t)lab->length, sizeof *own);
        for (int t = 0; t < lab->length; t++)
            own[t] = uniform(&coin) >= forced;
        total = add_losses(total, learner_step(l, &batch, own, recipe.rate,
                                               recipe.clip));
        arena_release(&l->arena, 0);
    }
    return total;
}

// Decodes a batch greedily into out (B·T). weights (T,S) collects the attention
// of the model that has it.
void decode_batch(Learner *l, const Batch *batch, int *out, Mat weights) {
    Arena *arena = &l->arena;
    int T = batch->target_length, n = batch->sentences;
    if (!l->recurrent) {
        int room = longest_output(l->transformer[0], T);
        int *said = arena_take(arena, (size_t)(n * room), sizeof *said);
        double *sum = arena_take(arena, (size_t)n, sizeof *sum);
        translate(l->transformer[0], batch, said, sum, arena);
        for (int i = 0; i < n * T; i++)
            out[i] = said[i / T * room + i % T];
        return;
    }
    RnnSaved s;
    rnn_translate(arena, &s, l->rnn[0], batch, out);
    for (int i = 0; s.attention.weights.at && i < n * T; i++)
        add(slice_rows(weights, i / n, 1),
            slice_rows(s.attention.weights, i, 1));
}

// What is right in the test data: the words at each place (T) and, returned,
// whole sequences.
int test_of(Lab *lab, const Pairs *test, int *place, Mat weights) {
    int T = lab->length, sequences = 0, order[MOST_PAIRS], out[B * LONGEST];
    for (int i = 0; i < test->count; i++)
        order[i] = i;
    for (int i = 0; i < test->count; i += B) {
        Batch batch = make_batch(&lab->learner.arena, test, order + i,
                                 min_int(B, test->count - i));
        decode_batch(&lab->learner, &batch, out, weights);
        for (int b = 0; b < batch.sentences; b++) {
            int right = 0;
            for (int j = b * T; j < b * T + T; j++) {
                place[j % T] += out[j] == batch.expected[j];
                right += out[j] == batch.expected[j];
            }
            sequences += right == T;
        }
        arena_release(&lab->learner.arena, 0);
    }
    return sequences;
}

// Tests after an epoch; after the last one, in more detail.
void report_test(Lab *lab, const Pairs *test, int epoch) {
    real sums[LONGEST * LONGEST] = {0};
    Mat weights = mat(sums, lab->length, lab->length);
    int n = test->count, T = lab->length, place[LONGEST] = {0}, words = 0;
    double sequences = test_of(lab, test, place, weights);
    for (int t = 0; t < T; t++)
        words += place[t];
    printf("word,%d,,,%.5f\n", epoch, (double)words / n / T);
    printf("sequence,%d,,,%.4f\n", epoch, sequences / n);
    for (int t = 0; epoch == lab->epochs && t < T; t++) {
        printf("place,%d,%d,,%.4f\n", epoch, t + 1, (double)place[t] / n);
        for (int s = 0; lab->learner.rnn[0]->config.attention && s < T; s++)
            printf("weight,%d,%d,%d,%.4f\n", epoch, t + 1, s + 1,
                   (double)*at(weights, t, s) / n);
    }
}

int main(int argc, char **argv) {
    int count = argc == 5 ? atoi(argv[4]) : 0;
    if (count < 5 || count > MOST_PAIRS || atoi(argv[2]) > LONGEST)
        fail("08-rnn MODEL LENGTH EPOCHS PAIRS: a length of at most %d, 5 to "
             "%d pairs", LONGEST, MOST_PAIRS);
    use_one_thread();
    Lab lab = lab_new(argv[1], atoi(argv[2]), atoi(argv[3]));
    Pairs train_data = random_pairs(count, lab.length, 1);
    Pairs test_data = random_pairs(count / 5, lab.length, 2);
    lab.course = (Course){&train_data, (int[MOST_PAIRS]){0}, -1};
    printf("measure,epoch,query,key,value\nparameters,0,,,%zu\n",
           lab.learner.list[0]->count);
    for (int epoch = 0; epoch < lab.epochs; epoch++) {
        clock_t started = clock();
        Loss loss = epoch_of(&lab, epoch);
        double seconds = (double)(clock() - started) / CLOCKS_PER_SEC;
        printf("loss,%d,,,%.5f\nseconds,%d,,,%.3f\n", epoch + 1,
               loss.loss / loss.tokens, epoch + 1, seconds);
        if (epoch % 2 == 1 || epoch + 1 == lab.epochs)
            report_test(&lab, &test_data, epoch + 1);
    }
    learner_free(&lab.learner);
    pairs_free(&train_data);
    pairs_free(&test_data);
}
