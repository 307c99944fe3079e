// Lab 16: a GPT that learns this book, trained and queried.
//
//     16-gpt train TOKENS D_MODEL STEPS SEED PREFIX
//
// learns data/book.train.txt, cut into TOKENS ("char" or "bpe"). CSV:
//
//     measure,step,value
//
//     parameters  their number
//     embedding   how many of them are in the embedding and the output's bias
//     tokens      in the training text
//     kinds       of tokens, in the vocabulary
//     train       bits per character, mean of the steps since the line before
//     held_out    bits per character of data/book.valid.txt
//
// The last two are measured after all steps, after half of them, after a
// quarter, and so on. Each time the model is saved as PREFIX-STEP.safetensors,
// unless PREFIX is "-".
//
//     16-gpt next MODEL PROMPT TEMPERATURE TOP_K TOP_P
//
// asks such a model what comes after the prompt. CSV:
//
//     token,probability

#define GPT_NO_MAIN
#include "programs/gpt.c"
#include "lib/measure.h"

enum { HALVES = 6 };

// Whether to measure the model after this step.
bool time_to_measure(int64_t step, int64_t steps) {
    bool now = false;
    for (int k = 0; k < HALVES; k++)
        now = now || (step == steps >> k && step > 0);
    return now;
}

// Prints how good the model is now, and saves it.
void measure(Checkpoint *c, Loss since, const GptText *train,
             const GptText *held_out, const char *prefix) {
    Trainer *t = &c->trainer;
    char path[256];
    Loss loss = gpt_evaluate(t->model, held_out->tokens, &t->arena);
    printf("train,%" PRId64 ",%.6g\nheld_out,%" PRId64 ",%.6g\n", t->step,
           bits(since, train), t->step, bits(loss, held_out));
    snprintf(path, sizeof path, "%s-%" PRId64 ".safetensors", prefix, t->step);
    if (strcmp(prefix, "-"))
        save_checkpoint(c, path);
}

// train TOKENS D_MODEL STEPS SEED PREFIX, otherwise with gpt's defaults
void train_lab(char **argument) {
    char *words[] = {"gpt", "train", "data/book.train.txt", "--tokens",
                     argument[0], "--d-model", argument[1], "--steps",
                     argument[2], "--seed", argument[3]};
    Request r = read_request(&gpt_program, sizeof words / sizeof *words,
                             words);
    char *text = read_text(words[2]);
    Checkpoint c = begin_training(&r, text);
    Trainer *t = &c.trainer;
    int V = c.target.count, P = c.settings.config.max_len;
    GptText train = number_text(words[2], text, &c, P);
    GptText held_out = number_text("data/book.valid.txt",
                                   read_text("data/book.valid.txt"), &c, 1);
    held_out.tokens.length = in_short(held_out.tokens.length, 500);
    Loss since = {0};
    printf("measure,step,value\nparameters,,%zu\nembedding,,%d\ntokens,,%d\n"
           "kinds,,%d\n", t->model->list.count,
           V * (c.settings.config.d_model + 1), train.tokens.length, V);
    while (t->step < t->recipe.steps) {
        since = add_losses(since, gpt_train_step(t, train.tokens).loss);
        if (time_to_measure(t->step, t->recipe.steps)) {
            measure(&c, since, &train, &held_out, argument[4]);
            since = (Loss){0};
        }
    }
    free(train.tokens.id);
    free(held_out.tokens.id);
    checkpoint_free(&c);
}

// next MODEL PROMPT TEMPERATURE TOP_K TOP_P
void next_lab(char **argument) {
    if (wrong_prompt(argument[1]))
        fail("the prompt is %s", wrong_prompt(argument[1]));
    Checkpoint c = load_gpt(argument[0]);
    Arena arena = {0};
    Pass pass = {.arena = &arena, .config = &c.trainer.model->config,
                 .sentences = 1};
    Sampling how = {atof(argument[2]), atoi(argument[3]), atof(argument[4])};
    Sentence prompt = tokens_in_text(argument[1], &c.target, c.settings.tokenizer);
    Candidate *candidate = allocate((size_t)c.target.count, sizeof *candidate);
    Cache cache = gpt_cache(&arena, c.trainer.model, 1);
    int done = 0;
    Mat logits = read_on(&pass, &cache, prompt.id, &done, prompt.length);
    int n = candidates(candidate, logits.at, logits.cols, how);
    printf("token,probability\n");
    for (int i = 0; i < n; i++) {
        write_quoted(stdout, c.target.token[candidate[i].token], ',');
        printf("%.9g\n", candidate[i].p);
    }
    free(candidate);
    free(prompt.id);
    arena_free(&arena);
    checkpoint_free(&c);
}

int main(int argc, char **argv) {
    use_one_thread();
    if (argc == 7 && !strcmp(argv[1], "train"))
        train_lab(argv + 2);
    else if (argc == 7 && !strcmp(argv[1], "next"))
        next_lab(argv + 2);
    else
        fail("16-gpt train TOKENS D_MODEL STEPS SEED PREFIX, or "
             "16-gpt next MODEL PROMPT TEMPERATURE TOP_K TOP_P");
}
