// pretrained.c: GPT-2 and BERT, from their files.
//
//     pretrained gpt2 FOLDER "how it begins" [--tokens N] [--temperature T] …
//     pretrained bert FOLDER "a [MASK] sentence" [--csv FILE]
//     pretrained finetune FOLDER TEXT [--steps N] [--lr RATE] …
//     pretrained --help
//
// FOLDER has config.json, model.safetensors and the tokenizer's files, as they
// are published on the Hugging Face hub. Messages begin with "transformer:",
// since they are printed by transformer.c.

#define GPT_NO_MAIN
#include "gpt.c"
#include "../lib/pretrained.h"

// ## The command line
//
// Again a table of options, which gpt.c reads.

enum { ON_GPT2 = 1, ON_BERT = 2, FINETUNE = 4 }; // in the order of the names

const Option hub_options[] = {
    {"tokens", INTEGER, FIELD(count), "N", "40", ON_GPT2, 0, "tokens to write", 1,
     1000000},
    {"temperature", NUMBER, FIELD(how.temperature), "T", "0", ON_GPT2, 0,
     "0 takes the best token; 1 draws from all", 0, 100},
    {"top-k", INTEGER, FIELD(how.top_k), "K", "0", ON_GPT2, 0,
     "draw from the K best only; 0: from all", 0, 10000000},
    {"top-p", NUMBER, FIELD(how.top_p), "P", "1", ON_GPT2, 0,
     "draw from the best that sum to P", 1e-6, 1},
    {"csv", STRING, FIELD(settings.csv), "FILE.csv", NULL, ON_BERT, 0,
     "where to write the encoding, a row for each token", 0, 0},
    {"steps", INTEGER, FIELD(settings.recipe.steps), "N", "100", FINETUNE, 0,
     "training steps", 1, 2000000000},
    {"lr", NUMBER, FIELD(settings.recipe.rate), "RATE", "0.00005", FINETUNE, 0,
     "learning rate", 0, 1000},
    {"batch", INTEGER, FIELD(settings.recipe.batch), "N", "4", FINETUNE, 0,
     "windows of the text in a step", 1, 10000},
    {"window", INTEGER, FIELD(settings.config.max_len), "N", "64", FINETUNE, 0,
     "tokens in a window", 1, 1000000},
    {"model", STRING, FIELD(settings.model), "FILE", NULL, ON_GPT2, 0,
     "parameters from this file, not from the folder's", 0, 0},
    {"model", STRING, FIELD(settings.model), "FILE.safetensors",
     "finetuned.safetensors", FINETUNE, 0, "where to save the parameters", 0,
     0},
    {"seed", INTEGER, FIELD(settings.recipe.seed), "N", "1", ON_GPT2 | FINETUNE,
     0, "of everything random", 0, 2147483647},
    {"help", FLAG, FIELD(settings.help), "no|yes", NULL,
     ON_GPT2 | ON_BERT | FINETUNE, 0, "show this help", 0, 0},
};

enum { HUB_OPTIONS = sizeof hub_options / sizeof *hub_options };

const Program hub_program = {
    "pretrained", "gpt2|bert|finetune",
    {"FOLDER \"how it begins\"", "FOLDER \"a [MASK] sentence\"",
     "FOLDER TEXT"}, 2, {2, 2, 2},
    hub_options, HUB_OPTIONS};

// ## gpt2

// Prints the size of a model, and how many of its rows have no token.
void describe_model(const TensorList *l, const Tokens *t) {
    char number[32];
    int rows = rows_without(t);
    fprintf(stderr, "%s parameters, %.0f MB", with_commas(number, l->count),
            (double)l->count * sizeof(real) / 1e6);
    fprintf(stderr, rows ? "; %d of %d rows have no token\n" : "\n", rows,
            t->size);
}

// The tokens of a prompt, which must leave room for `count` more. If it is
// empty, the token that begins a text.
Sentence read_prompt(const Writer *w, const char *text, int count) {
    Sentence s = cut_bytes(&w->tokens, text);
    if (s.length == 0 && w->begin >= 0) {
        s.id = reallocate(s.id, 1, sizeof *s.id);
        s.id[s.length++] = w->begin;
    }
    if (s.length == 0)
        fail("the prompt is empty");
    int room = w->pass.config->max_len;
    if (s.length > room - count)
        fail("%d tokens and %d more are too many: the model has %d positions",
             s.length, count, room);
    return s;
}

// pretrained gpt2 FOLDER PROMPT
void continue_text(const Request *r) {
    const char *text = after_order_mark(r->operand[1]);
    Writer w;
    writer_open(&w, r->operand[0], r->settings.model);
    Sentence prompt = read_prompt(&w, text, r->count);
    describe_model(&w.model.base->list, &w.tokens.tokens);
    write_text(&w, text, prompt, r->count, r->how,
               scramble((uint64_t)r->settings.recipe.seed));
    putchar('\n');
    free(prompt.id);
    writer_close(&w);
}

// ## bert

enum { LIKELIEST = 5 };

// Prints the likeliest tokens of logits (1,V), which become probabilities.
void print_likeliest(const WordPieces *w, Mat logits) {
    real *p = logits.at;
    check_finite(logits);
    softmax_forward(logits, (Mask){0});
    for (int k = 0; k < LIKELIEST;) {
        int best = arg_max(p, 0, logits.cols);
        if (p[best] < 0)
            break;
        if (w->tokens.text[best] && ++k)
            printf("  %.4f  %s\n", (double)p[best], w->tokens.text[best]);
        p[best] = -1;
    }
}

// The vectors of all tokens, one per row.
void write_encoding(const char *path, const WordPieces *w, Sentence s,
                    Mat hidden) {
    FILE *file = begin_file(path);
    fputs("token,0", file);
    for (int j = 1; j < hidden.cols; j++)
        fprintf(file, ",%d", j);
    for (int i = 0; i < s.length; i++) {
        fputc('\n', file);
        write_quoted(file, w->tokens.text[s.id[i]], ',');
        for (int j = 0; j < hidden.cols; j++)
            fprintf(file, "%s%.9g", j ? "," : "", (double)*at(hidden, i, j));
    }
    fputc('\n', file);
    end_file(file, path);
}

// pretrained bert FOLDER TEXT
void guess_words(const Request *r) {
    Bert *b = read_bert(r->operand[0]);
    const Config *c = &b->base->config;
    WordPieces w = read_word_pieces(r->operand[0], c->target_vocab);
    Sentence s = cut_words(&w, r->operand[1]);
    if (s.length > c->max_len)
        fail("%d tokens are too many: the model has %d positions", s.length,
             c->max_len);
    for (int i = 0; i < s.length && !b->head; i++)
        if (s.id[i] == w.tokens.special[MASK])
            fail("%s: the model has no head for masked words "
                 "(cls.predictions), so %s cannot be guessed", r->operand[0],
                 w.tokens.text[s.id[i]]);
    describe_model(&b->base->list, &w.tokens);
    Arena arena = {0};
    Pass pass = {.arena = &arena, .config = c, .sentences = 1};
    Mat hidden = bert_forward(&pass, b, s.id, s.length);
    check_finite(hidden);
    for (int i = 0; i < s.length; i++)
        printf("%s%s", w.tokens.text[s.id[i]], i + 1 < s.length ? " " : "\n");
    for (int i = 0; i < s.length; i++)
        if (s.id[i] == w.tokens.special[MASK]) {
            printf("token %d:\n", i + 1);
            print_likeliest(&w, bert_logits(&pass, b, slice_rows(hidden, i, 1)));
        }
    if (r->settings.csv)
        write_encoding(r->settings.csv, &w, s, hidden);
    arena_free(&arena);
    free(s.id);
    word_pieces_free(&w);
    bert_free(b);
}

// ## finetune

// A model in training.
typedef struct {
    ModernGpt model, gradient;
    Trainer trainer;
    Loss since; // of the steps since the last report
} Tuning;

Loss tuning_gradient(Pass *pass, void *tuning, const Batch *batch) {
    Tuning *t = tuning;
    return gpt2_gradient(pass, &t->model, &t->gradient, batch);
}

// Reports the loss twenty times.
void report_tuning(void *tuning, Loss loss) {
    Tuning *t = tuning;
    t->since = add_losses(t->since, loss);
    if (!time_to_look(t->trainer.step, t->trainer.recipe.steps))
        return;
    fprintf(stderr, "step %" PRId64 "/%d  loss %.4f\n", t->trainer.step,
            t->trainer.recipe.steps, average(t->since));
    t->since = (Loss){0};
}

// pretrained finetune FOLDER TEXT
void finetune(const Request *r) {
    const Settings *s = &r->settings;
    const char *folder = r->operand[0], *path = r->operand[1];
    char *own = path_in(folder, "model.safetensors");
    int T = s->config.max_len;
    if (!strcmp(s->model, own) || same_file(s->model, own))
        misused(&hub_program, "%s would be overwritten", s->model);
    char *text = read_text(path);
    Tuning t = {.model = read_gpt2(folder, NULL)};
    const Config *c = &t.model.base->config;
    if (T > c->max_len)
        misused(&hub_program, "--window %d: the model has %d positions", T,
                c->max_len);
    BytePairs b = read_byte_pairs(folder, c->target_vocab);
    Sentence tokens = cut_bytes(&b, text);
    if (tokens.length <= T)
        fail("%s: only %d tokens; more than %d are needed", path, tokens.length,
             T);
    Recipe recipe = s->recipe;
    recipe.schedule = CONSTANT;
    recipe.clip = 1;
    t.gradient = gpt2_zeros(c);
    t.trainer = trainer_new(t.model.base, t.gradient.base, &recipe);
    describe_model(&t.model.base->list, &b.tokens);
    train_until_stopped(&t.trainer, tokens, T, tuning_gradient, &t,
                        report_tuning, &t);
    save_parameters(&t.model.base->list, s->model);
    fprintf(stderr, "%s after step %" PRId64 "\n", s->model, t.trainer.step);
    trainer_free(&t.trainer);
    modern_free(&t.model);
    modern_free(&t.gradient);
    byte_pairs_free(&b);
    free(tokens.id);
    free(text);
    free(own);
}

int main(int argc, char **argv) {
    void (*const run[])(const Request *) = {continue_text, guess_words,
                                            finetune};
    return run_program(&hub_program, run, argc, argv);
}
