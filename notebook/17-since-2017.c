// Lab 17: the GPT of lab 16, with each of four changes, trained.
//
//     17-since-2017 train CHANGE STEPS SEED
//
// learns data/book.train.txt in byte pairs, with d_model 64 and gpt's defaults.
// CHANGE is one of
//
//     none, RMSNorm, rotary, SwiGLU, grouped
//     all           the four together
//     today         the four together, and linear layers without biases
//
// The inner width of the feed-forward network is chosen so that there are as
// many parameters as without a change, or slightly fewer. CSV:
//
//     measure,step,value
//
//     parameters  their number
//     inner       the inner width
//     cache       numbers that the cache keeps per position
//     seconds     processor time of the training steps up to here
//     train       bits per character, mean of the steps since the line before
//     held_out    bits per character of data/book.valid.txt
//
// The last three are measured ten times.
//
//     17-since-2017 sizes
//
// prints the sizes without training: CSV of change, parameters, inner, cache.

#define GPT_NO_MAIN
#include "programs/gpt.c"
#include "lib/measure.h"
#include "lib/modern.h"

const struct {
    const char *name;
    Modern modern;
} changes[] = {
    {"none", {.key_heads = 4, .biases = 1}},
    {"RMSNorm", {.norm = RMS_NORM, .key_heads = 4, .biases = 1,
                 .epsilon = 1e-5}},
    {"rotary", {.rotary = ROTATE_HALF, .key_heads = 4, .biases = 1,
                .rotary_base = 10000}},
    {"SwiGLU", {.network = SWIGLU, .key_heads = 4, .biases = 1}},
    {"grouped", {.key_heads = 2, .biases = 1}},
    {"all", {.norm = RMS_NORM, .rotary = ROTATE_HALF, .network = SWIGLU,
             .key_heads = 2, .biases = 1, .epsilon = 1e-5,
             .rotary_base = 10000}},
    {"today", {.norm = RMS_NORM, .rotary = ROTATE_HALF, .network = SWIGLU,
               .key_heads = 2, .epsilon = 1e-5, .rotary_base = 10000}},
};

enum { CHANGES = sizeof changes / sizeof *changes, MEASURED = 10 };

// The parameters of such a model.
size_t parameters_of(const Config *config, const Modern *modern) {
    ModernGpt t = modern_outline(config, modern);
    size_t count = t.base->list.count;
    modern_free(&t);
    transformer_free(t.base);
    return count;
}

// The configuration with a change. Where positions are rotary, none are added;
// the inner width makes up for what the change adds or takes away.
Config changed(Config config, const Modern *modern) {
    size_t wanted = parameters_of(&config, &changes[0].modern);
    config.positions = modern->rotary ? NO_POSITIONS : LEARNED;
    config.d_ff = 1;
    while (parameters_of(&config, modern) <= wanted)
        config.d_ff++;
    config.d_ff--;
    return config;
}

// How many numbers the cache keeps per position: keys and values of all layers.
int cached(const Config *c, const Modern *m) {
    return 2 * c->layers * m->key_heads * (c->d_model / c->heads);
}

// A model in training.
typedef struct {
    ModernGpt model, gradient;
    Trainer trainer;
} Lab;

// c describes the model as gpt would train it; of c's trainer, only the recipe
// is used.
Lab lab_new(const Checkpoint *c, const Modern *modern) {
    Config config = changed(c->settings.config, modern);
    Lab lab = {modern_zeros(&config, modern), modern_zeros(&config, modern),
               {.step = 0}};
    const Recipe *recipe = &c->trainer.recipe;
    initialize(&lab.model.base->list, (uint64_t)recipe->seed);
    lab.trainer = trainer_new(lab.model.base, lab.gradient.base, recipe);
    return lab;
}

void lab_free(Lab *lab) {
    modern_free(&lab->model);
    modern_free(&lab->gradient);
    trainer_free(&lab->trainer);
}

Loss lab_gradient(Pass *pass, void *lab, const Batch *batch) {
    Lab *l = lab;
    return modern_gradient(pass, &l->model, &l->gradient, batch);
}

// For evaluate_text.
Mat modern_logits(Pass *pass, const void *model, const int *ids, int T) {
    ModernSaved saved;
    return modern_forward(pass, &saved, model, ids, T);
}

// Trains, and prints how it goes.
void run_lab(Lab *lab, const GptText *train, const GptText *held_out) {
    Trainer *t = &lab->trainer;
    int64_t steps = t->recipe.steps;
    double seconds = 0;
    Loss since = {0};
    for (int64_t step = 1; step <= steps; step++) {
        clock_t started = clock();
        Step made = train_on_text(t, train->tokens, t->model->config.max_len,
                                  lab_gradient, lab);
        since = add_losses(since, made.loss);
        seconds += (double)(clock() - started) / CLOCKS_PER_SEC;
        if (step * MEASURED / steps == (step - 1) * MEASURED / steps)
            continue;
        Loss loss = evaluate_text(modern_logits, &lab->model,
                                  &t->model->config, held_out->tokens,
                                  &t->arena);
        printf("seconds,%" PRId64 ",%.6g\ntrain,%" PRId64 ",%.6g\n"
               "held_out,%" PRId64 ",%.6g\n", step, seconds, step,
               bits(since, train), step,
               bits(loss, held_out));
        since = (Loss){0};
    }
}

// A run of lab 16 with these steps, this seed and this text, as begin_training
// makes it.
Checkpoint begin_lab(char *steps, char *seed, char *text) {
    char *words[] = {"gpt", "train", "", "--tokens", "bpe", "--steps", steps,
                     "--seed", seed};
    Request r = read_request(&gpt_program, sizeof words / sizeof *words,
                             words);
    return begin_training(&r, text);
}

// train CHANGE STEPS SEED
void train_lab(const Modern *modern, char *steps, char *seed) {
    const char *from = "data/book.train.txt", *other = "data/book.valid.txt";
    char *text = read_text(from);
    Checkpoint c = begin_lab(steps, seed, text);
    GptText train = number_text(from, text, &c, c.settings.config.max_len);
    GptText held_out = number_text(other, read_text(other), &c, 1);
    held_out.tokens.length = in_short(held_out.tokens.length, 500);
    Lab lab = lab_new(&c, modern);
    const Config *config = &lab.trainer.model->config;
    printf("measure,step,value\nparameters,,%zu\ninner,,%d\ncache,,%d\n",
           lab.trainer.model->list.count, config->d_ff,
           cached(config, modern));
    run_lab(&lab, &train, &held_out);
    lab_free(&lab);
    free(train.tokens.id);
    free(held_out.tokens.id);
    checkpoint_free(&c);
}

// sizes
void sizes_lab(void) {
    char *text = read_text("data/book.train.txt");
    Checkpoint c = begin_lab("1", "1", text);
    printf("change,parameters,inner,cache\n");
    for (int i = 0; i < CHANGES; i++) {
        const Modern *m = &changes[i].modern;
        Config config = changed(c.settings.config, m);
        printf("%s,%zu,%d,%d\n", changes[i].name, parameters_of(&config, m),
               config.d_ff, cached(&config, m));
    }
    free(text);
    checkpoint_free(&c);
}

int main(int argc, char **argv) {
    use_one_thread();
    if (argc == 2 && !strcmp(argv[1], "sizes")) {
        sizes_lab();
        return 0;
    }
    for (int i = 0; i < CHANGES; i++)
        if (argc == 5 && !strcmp(argv[1], "train")
            && !strcmp(argv[2], changes[i].name)) {
            train_lab(&changes[i].modern, argv[3], argv[4]);
            return 0;
        }
    fail("17-since-2017 train CHANGE STEPS SEED, or 17-since-2017 sizes");
}
