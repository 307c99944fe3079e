// Lab 20: what each part of the transformer is for.
//
// Seven small tasks, and a model from which one part is taken at a time.
//
//     20-parts train TASK PART SEED STEPS [NAME VALUE]...
//
// trains a model for STEPS steps (0: as many as the task has by itself) and
// prints CSV, a line after each tenth of them:
//
//     parameters,step,loss,right
//
// loss: nats per word, mean of this tenth of the training. right: of TEST pairs
// that are made with another key, the percentage written without a mistake. As
// the true words before each are given, a pair counts only if all are right,
// which is then what greedy decoding would write.
//
// TASK and PART are those of the tables `tasks` and `parts` below. NAME may be
// heads, width (d_model), layers, or pairs: how many different pairs there are
// to train on; without it, none is seen twice on purpose.
//
//     20-parts pairs TASK SEED COUNT
//
// prints so many pairs of a task, "source TAB target", which `transformer
// train` can read.

#include "lib/lab.h"
#include "lib/measure.h"
#include "lib/parts.h"

enum { B = 32, TEST = 500, LONGEST = 12, TEST_KEY = 1000 };

// ## The tasks
//
// Each fills source (S) and target (T) with numbers of words, from 0; spell
// writes one of them as a word.

typedef struct Task Task;

struct Task {
    const char *name;
    int source_words, target_words; // how many there are
    int S, T;                       // words of a source and of a target
    int jumps;                      // how far arrows and pointers are followed
    int layers, steps;              // of the whole model
    void (*make)(const Task *t, uint64_t *state, int *source, int *target);
    void (*spell)(const Task *t, char *word, int id, bool target);
};

// n things in a random order
void mix(uint64_t *state, int *x, int n) {
    shuffle(x, n, 1, *state);
    for (int i = 1; i < n; i++)
        uniform(state); // shuffle has drawn from a copy
}

// 0 … n-1
void count_up(int *x, int n) {
    for (int i = 0; i < n; i++)
        x[i] = i;
}

// Arrows between S places, which form one circle, in any order. Begin at the
// first place and write where you are after each few jumps.
void make_arrows(const Task *t, uint64_t *state, int *source, int *target) {
    int n = t->S, circle[LONGEST];
    count_up(circle, n);
    mix(state, circle + 1, n - 1);
    for (int i = 0; i < n; i++)
        source[i] = circle[i] * n + circle[(i + 1) % n];
    mix(state, source, n);
    for (int i = 0; i < t->T; i++)
        target[i] = circle[t->jumps * (i + 1) % n];
}

void spell_arrows(const Task *t, char *word, int id, bool target) {
    if (target)
        sprintf(word, "%c", 'a' + id);
    else
        sprintf(word, "%c>%c", 'a' + id / t->S, 'a' + id % t->S);
}

// Each place names a place. For each, write where some jumps lead.
void make_pointers(const Task *t, uint64_t *state, int *source, int *target) {
    for (int i = 0; i < t->S; i++)
        source[i] = random_below(t->S, state);
    count_up(target, t->T);
    for (int k = 0; k < t->jumps; k++)
        for (int i = 0; i < t->T; i++)
            target[i] = source[target[i]];
}

void spell_number(const Task *t, char *word, int id, bool target) {
    (void)t, (void)target;
    sprintf(word, "%d", id);
}

// Four letters with a bit each, in any order, and a question: what are the bits
// of these four, in this order? The answer is one word.
enum { FACTS = 4 };

void make_facts(const Task *t, uint64_t *state, int *source, int *target) {
    int bit[FACTS], asked[FACTS];
    (void)t;
    for (int i = 0; i < FACTS; i++)
        source[i] = 2 * i + (bit[i] = random_below(2, state));
    mix(state, source, FACTS);
    count_up(asked, FACTS);
    mix(state, asked, FACTS);
    source[FACTS] = target[0] = 0;
    for (int i = 0; i < FACTS; i++) {
        source[FACTS] = FACTS * source[FACTS] + asked[i];
        target[0] = 2 * target[0] + bit[asked[i]];
    }
    source[FACTS] += 2 * FACTS;
}

void spell_facts(const Task *t, char *word, int id, bool target) {
    (void)t;
    if (!target && id < 2 * FACTS) {
        sprintf(word, "%c%d", 'a' + id / 2, id % 2);
        return;
    }
    id -= target ? 0 : 2 * FACTS;
    strcpy(word, target ? "" : "?");
    for (int i = FACTS - 1, size = target ? 2 : FACTS; i >= 0; i--) {
        int place = id >> (target ? i : 2 * i) & (size - 1);
        sprintf(word + strlen(word), "%c", (target ? '0' : 'a') + place);
    }
}

// Is the number of ones odd?
void make_parity(const Task *t, uint64_t *state, int *source, int *target) {
    target[0] = 0;
    for (int i = 0; i < t->S; i++)
        target[0] ^= source[i] = random_below(2, state);
}

// Which letter is the first?
void make_first(const Task *t, uint64_t *state, int *source, int *target) {
    for (int i = 0; i < t->S; i++)
        source[i] = random_below(t->source_words, state);
    target[0] = source[0];
}

void spell_letter(const Task *t, char *word, int id, bool target) {
    (void)t, (void)target;
    sprintf(word, "%c", 'a' + id);
}

const Task tasks[] = {
    {"facts", 2 * FACTS + 256, 16, FACTS + 1, 1, 0, 1, 500,
     make_facts, spell_facts},
    {"parity", 2, 2, 7, 1, 0, 1, 1000, make_parity, spell_number},
    {"pointers", 6, 6, 6, 6, 4, 2, 1000, make_pointers, spell_number},
    {"first", 8, 8, 8, 1, 0, 2, 300, make_first, spell_letter},
    {"circle", 36, 6, 6, 5, 1, 2, 400, make_arrows, spell_arrows},
    {"jump", 49, 7, 7, 1, 3, 1, 1200, make_arrows, spell_arrows},
    {"long circle", 100, 10, 10, 9, 1, 1, 500, make_arrows, spell_arrows},
};

// n pairs, from number `first` on; if there are only so many different ones,
// they come again and again. Pair i is a function of the key and of i.
Batch make_pairs(Arena *arena, const Task *t, uint64_t key, int64_t first,
                 int n, int64_t different) {
    int S = t->S, T = t->T;
    Batch b = {n, S, T, arena_take(arena, (size_t)(n * S), sizeof(int)),
               arena_take(arena, (size_t)(n * T), sizeof(int)),
               arena_take(arena, (size_t)(n * T), sizeof(int))};
    for (int i = 0; i < n; i++) {
        int64_t which = different ? (first + i) % different : first + i;
        uint64_t state = random_key(key, FOR_ORDER, (uint64_t)which);
        t->make(t, &state, b.source + i * S, b.expected + i * T);
    }
    for (int i = 0; i < n * S; i++)
        b.source[i] += FIRST_TOKEN;
    for (int i = 0; i < n * T; i++)
        b.expected[i] += FIRST_TOKEN;
    for (int i = 0; i < n * T; i++)
        b.input[i] = i % T ? b.expected[i - 1] : START;
    return b;
}

void print_words(const Task *t, const int *id, int n, bool target) {
    char word[8];
    for (int i = 0; i < n; i++) {
        t->spell(t, word, id[i] - FIRST_TOKEN, target);
        printf("%s%s", i ? " " : "", word);
    }
    putchar(target ? '\n' : '\t');
}

void print_pairs(const Task *t, uint64_t key, int n) {
    Arena arena = {0};
    Batch b = make_pairs(&arena, t, key, 0, n, 0);
    for (int i = 0; i < n; i++) {
        print_words(t, b.source + i * t->S, t->S, false);
        print_words(t, b.expected + i * t->T, t->T, true);
    }
    arena_free(&arena);
}

// ## The models

typedef struct {
    const char *name; // what is missing
    Without without;
    bool one_head, one_layer, no_positions;
} Part;

const Part parts[] = {
    {"nothing", {0}, 0, 0, 0},
    {"heads", {0}, 1, 0, 0},
    {"network", {.network = true}, 0, 0, 0},
    {"layers", {0}, 0, 1, 0},
    {"positions", {0}, 0, 0, 1},
    {"residual", {.residual = true}, 0, 0, 0},
    {"norm", {.norm = true}, 0, 0, 0},
    {"residual and norm", {.residual = true, .norm = true}, 0, 0, 0},
    {"look ahead", {.look_ahead = true}, 0, 0, 0},
    {"cross-attention", {.cross = ONE_VECTOR}, 0, 0, 0},
    {"memory", {.cross = NO_MEMORY}, 0, 0, 0},
};

Config config_of(const Task *t) {
    return (Config){.layers = t->layers, .d_model = 32, .heads = 4, .d_ff = 128,
                    .source_vocab = FIRST_TOKEN + t->source_words,
                    .target_vocab = FIRST_TOKEN + t->target_words,
                    .max_len = LONGEST, .norm = PRE_NORM};
}

size_t parameters_of(const Config *c, const Without *without) {
    Transformer *t = parts_new(c, without);
    size_t count = t->list.count;
    transformer_free(t);
    return count;
}

// The configuration without a part. Where that takes parameters away, the rest
// is widened until there are at least as many as before.
Config reduced(Config c, const Part *part) {
    const Without none = {0};
    size_t wanted = parameters_of(&c, &none);
    c.heads = part->one_head ? 1 : c.heads;
    c.layers = part->one_layer ? 1 : c.layers;
    c.positions = part->no_positions ? NO_POSITIONS : c.positions;
    while (parameters_of(&c, &part->without) < wanted)
        if (part->without.network)
            c.d_model += c.heads;
        else
            c.d_ff++;
    return c;
}

// ## Training and testing

typedef struct {
    const Task *task;
    Without without;
    int64_t pairs; // different ones; 0: no limit
    Trainer trainer;
} Lab;

PartsPass pass_of(Lab *lab) {
    Trainer *t = &lab->trainer;
    return (PartsPass){{.arena = &t->arena, .config = &t->model->config},
                       lab->without};
}

Recipe recipe_of(int seed, int steps) {
    return (Recipe){.rate = 3e-3, .warmup = 50, .schedule = CONSTANT, .clip = 1,
                    .seed = seed, .steps = steps};
}

// The loss of a step, in nats per word.
double train_lab(Lab *lab) {
    Trainer *t = &lab->trainer;
    PartsPass pass = pass_of(lab);
    Saved saved;
    Batch b = make_pairs(&t->arena, lab->task, (uint64_t)t->recipe.seed,
                         t->step * B, B, lab->pairs);
    Mat logits = parts_forward(&pass, &saved, t->model, &b);
    Loss loss = loss_and_gradient(&t->arena, logits, b.expected);
    clear(t->gradient->list.values, t->gradient->list.count);
    parts_backward(&pass, &saved, t->model, t->gradient, logits);
    update(t, loss);
    arena_release(&t->arena, 0);
    return loss.loss / (double)loss.tokens;
}

// The percentage of pairs without a mistake.
double test_lab(Lab *lab) {
    Trainer *t = &lab->trainer;
    PartsPass pass = pass_of(lab);
    Saved saved;
    Batch b = make_pairs(&t->arena, lab->task, TEST_KEY, 0,
                         in_short(TEST, 20), 0);
    Mat logits = parts_forward(&pass, &saved, t->model, &b);
    int right = 0, T = b.target_length;
    for (int i = 0; i < b.sentences; i++) {
        bool all = true;
        for (int j = i * T; j < i * T + T; j++)
            all &= arg_max(row(logits, j), 0, logits.cols) == b.expected[j];
        right += all;
    }
    arena_release(&t->arena, 0);
    return 100.0 * right / b.sentences;
}

Lab lab_new(const Task *task, const Part *part, Config config,
            const Recipe *recipe) {
    Lab lab = {.task = task, .without = part->without};
    Transformer *model = parts_new(&config, &part->without);
    initialize(&model->list, (uint64_t)recipe->seed);
    lab.trainer = trainer_new(model, parts_new(&config, &part->without),
                              recipe);
    return lab;
}

void run_lab(Lab *lab) {
    Trainer *t = &lab->trainer;
    int steps = t->recipe.steps;
    double loss = 0, since = 0;
    printf("parameters,step,loss,right\n");
    for (int step = 1; step <= steps; step++) {
        loss += train_lab(lab);
        since++;
        if (step * 10 / steps == (step - 1) * 10 / steps)
            continue;
        printf("%zu,%d,%.4g,%.1f\n", t->model->list.count, step, loss / since,
               test_lab(lab));
        loss = since = 0;
    }
}

// ## The command line

_Noreturn void wrong_command(void) {
    fail("20-parts train TASK PART SEED STEPS [NAME VALUE]..., "
         "or 20-parts pairs TASK SEED COUNT");
}

const Task *task_named(const char *name) {
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        if (!strcmp(name, tasks[i].name))
            return &tasks[i];
    wrong_command();
}

const Part *part_named(const char *name) {
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strcmp(name, parts[i].name))
            return &parts[i];
    wrong_command();
}

// NAME VALUE: a field of the configuration, or the number of pairs.
void set(Config *c, int64_t *pairs, const char *name, int value) {
    if (!strcmp(name, "heads"))
        c->heads = value;
    else if (!strcmp(name, "layers"))
        c->layers = value;
    else if (!strcmp(name, "pairs"))
        *pairs = value;
    else if (!strcmp(name, "width"))
        c->d_ff = 4 * (c->d_model = value);
    else
        wrong_command();
}

int main(int argc, char **argv) {
    use_one_thread();
    if (argc == 5 && !strcmp(argv[1], "pairs")) {
        print_pairs(task_named(argv[2]), strtoull(argv[3], NULL, 10),
                    atoi(argv[4]));
        return 0;
    }
    if (argc < 6 || argc % 2 || strcmp(argv[1], "train"))
        wrong_command();
    const Task *task = task_named(argv[2]);
    const Part *part = part_named(argv[3]);
    Config config = config_of(task);
    int steps = atoi(argv[5]);
    Recipe recipe = recipe_of(atoi(argv[4]), steps ? steps : task->steps);
    int64_t pairs = 0;
    for (int i = 6; i < argc; i += 2)
        set(&config, &pairs, argv[i], atoi(argv[i + 1]));
    Lab lab = lab_new(task, part, reduced(config, part), &recipe);
    lab.pairs = pairs;
    run_lab(&lab);
    trainer_free(&lab.trainer);
}
