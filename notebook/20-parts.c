// Lab 20: what each part of the transformer is for. The small tasks of tasks.h,
// and a model from which one part is taken at a time.
//
//     20-parts train TASK PART SEED STEPS [NAME VALUE]...
//
// trains a model for STEPS steps (0: as many as the task has by itself) and
// prints CSV, a line after each tenth of them:
//
//     parameters,step,loss,right
//
// loss: nats per word, mean of this tenth of the training. right: of TEST pairs
// that are made with another key, the percentage written without a mistake. The
// true words before each are given; but if all are right, greedy decoding would
// have written the same.
//
// TASK and PART are those of the tables `tasks` and `parts`. NAME may be heads,
// width (d_model), layers, or pairs: how many different pairs there are to
// train on; without it, every pair is drawn anew.
//
//     20-parts pairs TASK SEED COUNT
//
// prints COUNT pairs of a task, as `transformer train` reads them.

#include "lib/lab.h"
#include "lib/measure.h"
#include "lib/parts.h"
#include "lib/tasks.h"

enum { B = 32, TEST = 500, TEST_KEY = 1000 };

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
        print_pairs(task_named(argv[2]), atoi(argv[3]), atoi(argv[4]));
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
