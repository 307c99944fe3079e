// How fast is a training step? Forward, loss, backward, clipping and Adam at five
// sizes, with random tokens, no padding, dropout 0.1 in all its places and
// separate embeddings. For each size one line:
//
//     name threads ms_per_step target_tokens_per_second gflops peak_bytes
//
// The time is the median of many steps. Floating-point operations are counted
// by a formula, not measured:
//
//     6 · Σ over linear layers of weights × rows that go through them
//   + 12 · Σ over attentions of query length × key length × d_model · sentences
//
// (a product takes 2 operations for each weight and row forward, and twice that
// backward). The peak is what the step takes from its arena, plus the four roles
// of the parameters.
//
// In place of a size, "decode" measures greedy decoding, "beam" decoding with a
// beam of 4, and "growth" how a step grows with its sizes; "--peak" measures the
// processor.

#define TRANSFORMER_NO_MAIN
#include "../../transformer.c"

typedef struct {
    const char *name;
    int vocab, d_model, heads, layers, d_ff, batch, length;
} Size;

const Size sizes[] = {
    {"tiny", 20, 32, 2, 1, 128, 32, 10},
    {"class", 32, 64, 4, 2, 256, 64, 20},
    {"small", 1000, 128, 4, 3, 512, 64, 24},
    {"mid", 4000, 256, 8, 3, 1024, 64, 32},
    {"base", 10000, 512, 8, 6, 2048, 16, 32},
};

enum { SIZES = sizeof sizes / sizeof *sizes };

double operations(const Size *s) {
    double D = s->d_model, F = s->d_ff, V = s->vocab, L = s->layers;
    double n = s->length, B = s->batch, rows = B * n;
    double encoder = 4 * D * D + 2 * D * F, decoder = 8 * D * D + 2 * D * F;
    return 6 * rows * (L * (encoder + decoder) + D * V)
         + 12 * B * L * 3 * n * n * D;
}

void random_tokens(int *id, int count, int vocab, uint64_t *state) {
    for (int i = 0; i < count; i++)
        id[i] = FIRST_TOKEN + (int)(uniform(state) * (vocab - FIRST_TOKEN));
}

int compare_doubles(const void *left, const void *right) {
    const double *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

Config config_of(const Size *s) {
    return (Config){.layers = s->layers, .d_model = s->d_model,
                    .heads = s->heads, .d_ff = s->d_ff, .dropout = 0.1,
                    .attention_dropout = 0.1, .activation_dropout = 0.1,
                    .source_vocab = s->vocab, .target_vocab = s->vocab,
                    .max_len = s->length};
}

// The median seconds of a step, and the bytes of its peak.
double measure(const Size *s, size_t *peak) {
    enum { STEPS = 201 };
    Config config = config_of(s);
    Recipe recipe = {.rate = 1e-4, .warmup = 100, .clip = 1, .batch = s->batch};
    Trainer t = trainer_new(transformer_new(&config),
                            transformer_zeros(&config), &recipe);
    initialize(&t.model->list, 1);
    int count = s->batch * s->length;
    int *id = allocate((size_t)count * 3, sizeof *id);
    Batch batch = {s->batch, s->length, s->length, id, id + count, id + 2 * count};
    uint64_t state = 1;
    double second[STEPS], started = now();
    int steps = 0;
    for (int i = 0; i < STEPS && (i < 6 || now() - started < 4); i++) {
        random_tokens(id, 3 * count, s->vocab, &state);
        double before = now();
        train_step(&t, &batch);
        if (i > 0) // the first step finds its memory
            second[steps++] = now() - before;
        arena_release(&t.arena, 0);
    }
    qsort(second, (size_t)steps, sizeof *second, compare_doubles);
    *peak = t.arena.peak + 4 * t.model->list.count * sizeof(real);
    free(id);
    trainer_free(&t);
    return second[steps / 2];
}

void measure_size(const Size *s, int threads) {
    size_t peak;
    double seconds = measure(s, &peak);
    printf("%s %d %.3f %.0f %.1f %zu\n", s->name, threads, 1e3 * seconds,
           s->batch * s->length / seconds, operations(s) / seconds / 1e9, peak);
    fflush(stdout);
}

// How time and memory grow: `class`, with one quantity doubled again and again.
// CSV; `gflop` and `saved` are what the formulas say of a step.
void measure_growth(void) {
    printf("quantity,value,ms,gflop,peak_bytes,saved_bytes\n");
    for (int q = 0; q < 4; q++)
        for (int doubled = 0; doubled < 5; doubled++) {
            Size s = sizes[1];
            int *value[] = {&s.length, &s.batch, &s.d_model, &s.vocab};
            *value[q] = (int[]){10, 16, 32, 500}[q] << doubled;
            s.d_ff = 4 * s.d_model;
            size_t peak;
            double seconds = measure(&s, &peak);
            Config config = config_of(&s);
            printf("%s,%d,%.3f,%.3f,%zu,%.0f\n",
                   (const char *[]){"length", "batch", "d_model",
                                    "vocabulary"}[q], *value[q],
                   1e3 * seconds, operations(&s) / 1e9, peak,
                   saved_bytes(&config, s.batch, s.length, s.length));
            fflush(stdout);
        }
}

// Decoding at `small`: SENTENCES sentences of LENGTH random words become LENGTH
// words each, for no one may say *end*. Prints
//
//     name threads sentences seconds
void measure_decoding(const char *name, int beam, int threads) {
    enum { SENTENCES = 1000, LENGTH = 20 };
    const Size *s = &sizes[2];
    Config config = config_of(s);
    config.max_len = LENGTH;
    Transformer *model = transformer_new(&config);
    initialize(&model->list, 1);
    model->output.bias.at[END] = -(real)INFINITY;
    int id[SENTENCES * LENGTH];
    uint64_t state = 1;
    random_tokens(id, SENTENCES * LENGTH, s->vocab, &state);
    Sentence source[SENTENCES];
    for (int i = 0; i < SENTENCES; i++)
        source[i] = (Sentence){id + i * LENGTH, LENGTH};
    Arena arena = {0};
    double started = now();
    Sentence *result = translate_all(model, source, SENTENCES, beam, &arena);
    printf("%s %d %d %.4f\n", name, threads, SENTENCES, now() - started);
    for (int i = 0; i < SENTENCES; i++)
        free(result[i].id);
    free(result);
    arena_free(&arena);
    transformer_free(model);
}

// The peak of one core: multiplications and additions on numbers that are in
// registers already, as many side by side as the tile of chapter 1 has.
double peak_gflops(void) {
    enum { TURNS = 1000000, SUMS = 2 * TILE_ROWS };
    Vector sum[SUMS], factor = (Vector){0} + (real)0.5;
    double best = INFINITY;
    real total = 0;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < SUMS; i++)
            sum[i] = (Vector){0} + (real)i;
        double started = now();
        for (int p = 0; p < TURNS; p++) {
            UNROLL
            for (int i = 0; i < TILE_ROWS; i++) {
                sum[2 * i] = sum[2 * i] * factor + factor;
                sum[2 * i + 1] = sum[2 * i + 1] * factor + factor;
            }
        }
        best = fmin(best, now() - started);
        for (int i = 0; i < SUMS; i++)
            total += *(real *)&sum[i];
    }
    if (!isfinite((double)total)) // uses the sums, so that they are computed
        fail("bench: the peak is not a number");
    return 2.0 * SUMS * LANES * TURNS / best / 1e9;
}

// What one word of the command line asks for. Returns whether there is such a thing.
bool measure_named(const char *name, int threads) {
    if (!strcmp(name, "decode"))
        measure_decoding("decode", 1, threads);
    else if (!strcmp(name, "beam"))
        measure_decoding("beam", 4, threads);
    else if (!strcmp(name, "growth"))
        measure_growth();
    else if (!strcmp(name, "--peak"))
        printf("peak %.1f\n", peak_gflops());
    else {
        int i = 0;
        while (i < SIZES && strcmp(name, sizes[i].name))
            i++;
        if (i == SIZES)
            return false;
        measure_size(&sizes[i], threads);
    }
    return true;
}

int main(int argc, char **argv) {
    let_threads_sleep(argv);
    int threads = 1, first = 1;
#ifdef _OPENMP
    threads = omp_get_max_threads();
#endif
    if (argc > 2 && !strcmp(argv[1], "--threads")) {
        threads = max_int(atoi(argv[2]), 1);
        first = 3;
    }
#ifdef _OPENMP
    omp_set_num_threads(threads);
#else
    threads = 1;
#endif
    for (int k = first; k < argc; k++)
        if (!measure_named(argv[k], threads))
            fail("bench: there is no size \"%s\"", argv[k]);
    for (int i = 0; first == argc && i < SIZES; i++)
        measure_size(&sizes[i], threads);
    return 0;
}
