// Lab 20, continued: recurrent networks beside the transformer, with about as
// many parameters.
//
//     20-recurrent train TASK MODEL PAIRS SEED STEPS RATE
//
// trains a model on PAIRS different pairs, whose sources have SHORTEST to
// TRAINED numbers, and prints CSV, a line for each length up to LONGEST:
//
//     parameters,length,right
//
// right: of TEST pairs that are made with another key, the percentage written
// without a mistake, the end token among them. As the true words before each
// are given, a pair counts only if all are right, which is then what greedy
// decoding would write.
//
// TASK is one of the table `tasks` below. MODEL is plain or attention, the
// LSTMs of lab 8, or transformer. There is a pair at least for each length.
//
//     20-recurrent time MODEL RUNS
//
// prints how long a fresh model takes to write a token, for one sentence on one
// core, the shortest of RUNS runs:
//
//     prefix,seconds
//
// seconds: mean of the last WINDOW of the first `prefix` tokens.

#include "lib/lab.h"
#include "lib/measure.h"
#include "rnn.c"

enum { B = 32, SHORTEST = 4, TRAINED = 10, LONGEST = 16, TEST = 200,
       LENGTHS = TRAINED - SHORTEST + 1, NUMBERS = 16,
       V = FIRST_TOKEN + NUMBERS, TEST_KEY = 1000 };

// ## The tasks
//
// Each has the numbers of a source, 0 to NUMBERS-1, and says what is written at
// place i.

typedef int Task(const int *number, int length, int i);

int copied(const int *number, int length, int i) {
    (void)length;
    return number[i];
}

int reversed(const int *number, int length, int i) {
    return number[length - 1 - i];
}

// Is the sum of the numbers up to this place odd?
int odd(const int *number, int length, int i) {
    (void)length;
    int sum = 0;
    for (int j = 0; j <= i; j++)
        sum += number[j];
    return sum % 2;
}

const struct {
    const char *name;
    Task *task;
} tasks[] = {{"copy", copied}, {"reverse", reversed}, {"odd", odd}};

// n pairs of one length, from number `first` on; behind the last of the
// different ones the first comes again.
Batch make_pairs(Arena *arena, Task *task, uint64_t key, int length, int n,
                 int64_t first, int64_t different) {
    int T = length + 1, number[LONGEST];
    int *id = arena_take(arena, (size_t)(3 * n * T), sizeof *id);
    Batch b = {n, T, T, id, id + n * T, id + 2 * n * T};
    key = random_key(key, FOR_ORDER, (uint64_t)length);
    for (int k = 0; k < n; k++) {
        uint64_t which = (uint64_t)((first + k) % different);
        uint64_t state = random_key(key, FOR_ORDER, which);
        for (int i = 0; i < length; i++)
            number[i] = random_below(NUMBERS, &state);
        for (int i = 0; i < T; i++) {
            int at = k * T + i;
            b.source[at] = i < length ? FIRST_TOKEN + number[i] : END;
            b.expected[at] = i < length ? FIRST_TOKEN + task(number, length, i)
                                        : END;
            b.input[at] = i ? b.expected[at - 1] : START;
        }
    }
    return b;
}

// ## The models

Learner new_learner(const char *name, int max_len, uint64_t seed) {
    Config config = {.layers = 1, .d_model = 32, .heads = 4, .d_ff = 128,
                     .source_vocab = V, .target_vocab = V, .max_len = max_len,
                     .norm = PRE_NORM};
    RnnConfig rnn = {.vocab = V, .embedding = 32,
                     .attention = strcmp(name, "attention") ? 0 : 32,
                     .hidden = strcmp(name, "attention") ? 46 : 37};
    return learner_new(strcmp(name, "transformer") != 0, &rnn, &config, seed);
}

// ## Training and testing

const bool always_true_words[LONGEST + 1] = {0};

void train_learner(Learner *l, Task *task, int pairs, uint64_t seed,
                   int steps, double rate) {
    const Recipe recipe = {.rate = rate, .warmup = 50, .schedule = CONSTANT};
    for (int step = 0; step < steps; step++) {
        int kind = step % LENGTHS; // the lengths take turns
        int different = (pairs + LENGTHS - 1 - kind) / LENGTHS;
        Batch b = make_pairs(&l->arena, task, seed, SHORTEST + kind, B,
                             (int64_t)(step / LENGTHS) * B, different);
        learner_step(l, &b, always_true_words,
                     learning_rate(&recipe, step + 1), 1);
        arena_release(&l->arena, 0);
    }
}

// The percentage of pairs of one length without a mistake.
double test_learner(Learner *l, Task *task, int length) {
    LearnerSaved s;
    bool wrong[TEST] = {0};
    int n = in_short(TEST, 10);
    Batch b = make_pairs(&l->arena, task, TEST_KEY, length, n, 0, n);
    Mat logits = learner_forward(l, &s, &b, always_true_words);
    for (int i = 0; i < logits.rows; i++) {
        int pair = l->recurrent ? i % n : i / b.target_length;
        wrong[pair] |= arg_max(row(logits, i), 0, V) != s.expected[i];
    }
    arena_release(&l->arena, 0);
    int right = 0;
    for (int i = 0; i < n; i++)
        right += !wrong[i];
    return 100.0 * right / n;
}

void train_and_test(const char *name, Task *task, int pairs, int seed,
                    int steps, double rate) {
    Learner l = new_learner(name, LONGEST + 1, (uint64_t)seed);
    train_learner(&l, task, pairs, (uint64_t)seed, steps, rate);
    printf("parameters,length,right\n");
    for (int length = SHORTEST; length <= LONGEST; length++)
        printf("%zu,%d,%.1f\n", l.list[0]->count, length,
               test_learner(&l, task, length));
    learner_free(&l);
}

// ## The time of a token

enum { MOST = 4096, WINDOW = 16 };

// A decoder at work on one sentence.
typedef struct {
    Learner *learner;
    Pass pass;
    RnnSaved rnn;
    Mat logits;  // of the recurrent ones, (MOST,V)
    Cache cache; // of the transformer
    int last;    // what it has just written
} Writer;

Writer writer_new(Learner *l) {
    Writer d = {.learner = l, .last = START};
    Batch b = make_pairs(&l->arena, copied, 1, LONGEST, 1, 0, 1);
    b.target_length = MOST;
    b.expected = arena_take(&l->arena, MOST, sizeof *b.expected);
    d.pass = (Pass){.arena = &l->arena, .sentences = 1,
                    .config = &l->transformer[0]->config};
    d.logits = arena_mat(&l->arena, MOST, V);
    if (l->recurrent)
        rnn_start(&d.pass, &d.rnn, l->rnn[0], &b);
    else
        d.cache = decoder_start(&d.pass, l->transformer[0], b.source, 1,
                                b.source_length, MOST);
    return d;
}

void write_next(Writer *d, int t) {
    Learner *l = d->learner;
    size_t mark = l->arena.used;
    if (l->recurrent) {
        choose_input(&d->rnn, d->logits, t, true);
        decoder_step_forward(&d->pass, &d->rnn, l->rnn[0], d->logits, t);
    } else {
        Mat logits = decoder_step(&d->pass, &d->cache, &d->last);
        d->last = arg_max(row(logits, 0), 0, V);
    }
    arena_release(&l->arena, mark);
}

// One run; least[i]: of the last WINDOW of the first WINDOW << i tokens, the
// time of one.
void time_run(Learner *l, double *least) {
    Writer d = writer_new(l);
    clock_t started = 0;
    for (int t = 0, i = 0; t < MOST; t++) {
        if (t == (WINDOW << i) - WINDOW)
            started = clock();
        write_next(&d, t);
        if (t + 1 == WINDOW << i) {
            double seconds = (double)(clock() - started) / CLOCKS_PER_SEC;
            least[i] = fmin(least[i], seconds / WINDOW);
            i++;
        }
    }
    arena_release(&l->arena, 0);
}

void time_tokens(const char *name, int runs) {
    double least[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    Learner l = new_learner(name, MOST, 1);
    for (int i = 0; i < runs; i++)
        time_run(&l, least);
    printf("prefix,seconds\n");
    for (int i = 0; WINDOW << i <= MOST; i++)
        printf("%d,%.9f\n", WINDOW << i, least[i]);
    learner_free(&l);
}

// ## The command line

_Noreturn void wrong_command(void) {
    fail("20-recurrent train TASK MODEL PAIRS SEED STEPS RATE, "
         "or 20-recurrent time MODEL RUNS");
}

Task *task_named(const char *name) {
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        if (!strcmp(name, tasks[i].name))
            return tasks[i].task;
    wrong_command();
}

const char *model_named(const char *name) {
    if (find_choice("plain|attention|transformer", name) < 0)
        wrong_command();
    return name;
}

int main(int argc, char **argv) {
    use_one_thread();
    if (argc == 8 && !strcmp(argv[1], "train") && atoi(argv[4]) >= LENGTHS)
        train_and_test(model_named(argv[3]), task_named(argv[2]), atoi(argv[4]),
                       atoi(argv[5]), atoi(argv[6]), atof(argv[7]));
    else if (argc == 4 && !strcmp(argv[1], "time"))
        time_tokens(model_named(argv[2]), atoi(argv[3]));
    else
        wrong_command();
}
