// Lab 19: the divisor of a gradient that is made in parts, and what a step and
// a message cost. It prints CSV.
//
//     19-machines divisor
//
// A batch of two sentences, one with a single expected word and the other with
// `words` of them, in two micro-batches. How far is the gradient from that of
// the whole batch, as a share of its norm, if each part is divided by the
// tokens of the whole, and if the mean of the parts' means is taken instead?
//
//     words,whole,means
//
//     19-machines train DATA.tsv VALID.tsv DIVISOR PARTS STEPS SEED
//
// trains on batches of 64 pairs drawn at random, each in PARTS parts; DIVISOR
// is whole or means. Twenty times in the run it prints the cross-entropy in
// nats and the share of tokens that are right on VALID.tsv.
//
//     step,loss,accuracy
//
//     19-machines step NAME
//
// The processor seconds of a gradient and of an update, the fewest of several,
// for a model and a batch of random words as in tests/bench/bench.c: small, mid
// or base.
//
//     model,parameters,gradient,update
//
//     mpirun -n 2 19-machines ping COUNT
//
// The seconds that a message of `bytes` bytes takes from rank to rank: half of
// the time there and back, the shortest of COUNT rounds (fewer for long ones).
//
//     bytes,seconds

#define MACHINES_NO_MAIN
#include "programs/mpi.c"
#include "lib/measure.h"

// ## The divisor

// The gradient of a batch in parts. If `means` is set, it is the mean of the
// parts' means, which is wrong if they differ in their number of tokens.
Loss gradient_in_parts(Trainer *t, const Batch *batch, bool means) {
    Loss total = {0};
    int full = min_int(batch->sentences, world.micro_batches);
    clear(t->gradient->list.values, t->gradient->list.count);
    for (int k = 0; k < world.micro_batches; k++) {
        int first;
        Batch part = micro_batch(batch, k, &first);
        int64_t divisor = means ? full * tokens_expected(&part)
                                : tokens_expected(batch);
        if (part.sentences)
            total = add_losses(total, add_gradient(
                t, &part, divisor, noise_of_step(t) + (uint64_t)first));
    }
    return total;
}

// |a - b| / |b|
double distance(const real *a, const real *b, size_t n) {
    double apart = 0, length = 0;
    for (size_t i = 0; i < n; i++) {
        double x = a[i], y = b[i];
        apart += (x - y) * (x - y);
        length += y * y;
    }
    return sqrt(apart / length);
}

const Recipe recipe = {.rate = 1e-4, .warmup = 100, .clip = 1, .seed = 1};

// `count` words of a vocabulary, drawn at random.
int *random_words(Arena *arena, int count, int vocab, uint64_t *state) {
    int *id = arena_take(arena, (size_t)count, sizeof *id);
    for (int i = 0; i < count; i++)
        id[i] = FIRST_TOKEN + random_below(vocab - FIRST_TOKEN, state);
    return id;
}

// B sentences of T random words on either side.
Batch random_batch(Arena *arena, int B, int T, int vocab) {
    uint64_t state = 1;
    return (Batch){B, T, T, random_words(arena, B * T, vocab, &state),
                   random_words(arena, B * T, vocab, &state),
                   random_words(arena, B * T, vocab, &state)};
}

void print_divisors(void) {
    enum { LONGEST_ROW = 64, V = 30 };
    Config config = {.layers = 2, .d_model = 64, .heads = 4, .d_ff = 256,
                     .source_vocab = V, .target_vocab = V,
                     .max_len = LONGEST_ROW};
    Trainer t = fresh_trainer(transformer_outline, &config, &recipe);
    const real *g = t.gradient->list.values;
    size_t n = t.gradient->list.count;
    real *right = allocate(n, sizeof *right);
    puts("words,whole,means");
    for (int words = 1; words <= LONGEST_ROW; words *= 2) {
        Batch batch = random_batch(&t.arena, 2, words, V);
        for (int i = 1; i < words; i++)
            batch.input[i] = batch.expected[i] = PAD;
        world.micro_batches = 1;
        gradient_in_parts(&t, &batch, false);
        memcpy(right, g, sizeof *right * n);
        world.micro_batches = 2;
        gradient_in_parts(&t, &batch, false);
        printf("%d,%.6g", words, distance(g, right, n));
        gradient_in_parts(&t, &batch, true);
        printf(",%.6g\n", distance(g, right, n));
        arena_release(&t.arena, 0);
    }
    free(right);
    trainer_free(&t);
}

// ## The same in training

// Steps until the last; a step's batch, like its dropout, follows from a key.
void train_in_parts(Trainer *t, const Pairs *data, const Pairs *valid,
                    bool means) {
    enum { B = 64 };
    int64_t steps = t->recipe.steps;
    puts("step,loss,accuracy");
    while (t->step < steps) {
        int index[B];
        uint64_t key = random_key((uint64_t)t->recipe.seed, FOR_ORDER,
                                  (uint64_t)t->step);
        for (int i = 0; i < B; i++)
            index[i] = random_below(data->count, &key);
        Batch batch = make_batch(&t->arena, data, index, B);
        Step s = update(t, gradient_in_parts(t, &batch, means));
        arena_release(&t->arena, 0);
        if (t->step != s.step)
            fail("step %" PRId64 ": the loss is not finite", s.step);
        if (!time_to_look(s.step, steps))
            continue;
        Loss loss = evaluate_loss(t->model, valid, B, 0, &t->arena);
        printf("%" PRId64 ",%.6g,%.6g\n", s.step, average(loss),
               accuracy(loss));
    }
}

// The arguments after "train".
void train_with_divisor(char **argument) {
    bool means = find_choice("whole|means", argument[2]) == 1;
    int64_t parts = read_whole(argument[3], 1, 4096);
    int64_t steps = read_whole(argument[4], 1, 1000000);
    int64_t seed = read_whole(argument[5], 0, 1000000);
    if (parts < 0 || steps < 0 || seed < 0
        || find_choice("whole|means", argument[2]) < 0)
        fail("train takes whole or means, then parts, steps and a seed");
    world.micro_batches = (int)parts;
    Checkpoint c = {0};
    c.settings.text[option_place("steps", 5)] = argument[4];
    c.settings.text[option_place("seed", 4)] = argument[5];
    c.settings.text[option_place("warmup", 6)] = "200";
    bind_settings(&c.settings);
    Text text = read_pairs(argument[0], c.settings.tokenizer);
    new_model(&c, argument[0], &text);
    Pairs data = number_pairs(argument[0], text, &c);
    Pairs valid = load_pairs(argument[1], &c);
    train_in_parts(&c.trainer, &data, &valid, means);
    pairs_free(&data);
    pairs_free(&valid);
    checkpoint_free(&c);
}

// ## What a step costs, and a message

typedef struct {
    const char *name;
    int vocab, d_model, heads, layers, d_ff, batch, length;
} Size;

const Size sizes[] = {
    {"small", 1000, 128, 4, 3, 512, 64, 24},
    {"mid", 4000, 256, 8, 3, 1024, 64, 32},
    {"base", 10000, 512, 8, 6, 2048, 16, 32},
};

void time_step(const char *name) {
    int k = find_choice("small|mid|base", name);
    if (k < 0)
        fail("there is no model %s", name);
    const Size *s = &sizes[k];
    Config config = {.layers = s->layers, .d_model = s->d_model,
                     .heads = s->heads, .d_ff = s->d_ff, .max_len = s->length,
                     .dropout = 0.1, .attention_dropout = 0.1,
                     .activation_dropout = 0.1, .source_vocab = s->vocab,
                     .target_vocab = s->vocab};
    Trainer t = fresh_trainer(transformer_outline, &config, &recipe);
    Batch batch = random_batch(&t.arena, s->batch, s->length, s->vocab);
    double least[2] = {INFINITY, INFINITY};
    for (int i = 0; i < in_short(5, 1); i++) {
        clock_t start = clock();
        Loss loss = gradient_in_parts(&t, &batch, false);
        clock_t middle = clock();
        update(&t, loss);
        least[0] = fmin(least[0], (double)(middle - start) / CLOCKS_PER_SEC);
        least[1] = fmin(least[1], (double)(clock() - middle) / CLOCKS_PER_SEC);
    }
    printf("model,parameters,gradient,update\n%s,%zu,%.6g,%.6g\n", name,
           t.model->list.count, least[0], least[1]);
    trainer_free(&t);
}

// One message from rank 0 to rank 1 and back.
void there_and_back(char *message, int bytes) {
    int other = 1 - world.rank;
    if (world.rank == 0)
        MPI_Send(message, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
    MPI_Recv(message, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    if (world.rank == 1)
        MPI_Send(message, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
}

void print_pings(int count) {
    enum { MOST = 1 << 22, SMALL = 1 << 16 };
    char *message = allocate(MOST, 1);
    if (world.size != 2)
        fail("ping takes two ranks");
    if (world.rank == 0)
        puts("bytes,seconds");
    for (int bytes = 4; bytes <= MOST; bytes *= 4) {
        double least = INFINITY;
        for (int i = 0; i < (bytes > SMALL ? count / 40 : count); i++) {
            double start = now();
            there_and_back(message, bytes);
            least = fmin(least, (now() - start) / 2);
        }
        if (world.rank == 0)
            printf("%d,%.6g\n", bytes, least);
    }
    free(message);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    begin_world(&argc, &argv);
    world.micro_batches = 1;
    if (!strcmp(what, "divisor"))
        print_divisors();
    else if (!strcmp(what, "train") && argc == 8)
        train_with_divisor(argv + 2);
    else if (!strcmp(what, "step") && argc == 3)
        time_step(argv[2]);
    else if (!strcmp(what, "ping") && argc == 3)
        print_pings(atoi(argv[2]));
    else
        fail("19-machines divisor, train, step or ping");
    finish_output();
    world.failure = 0;
    return 0;
}
