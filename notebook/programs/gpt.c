// gpt.c: a program that learns a text, and continues another.
//
//     gpt train TEXT [--model FILE] [--valid FILE] [--tokens char|bpe] …
//     gpt generate MODEL ["how it begins"] [--temperature T] [--top-p P] …
//     gpt --help
//
// The model is in gpt.h. Here are the text, the training, the checkpoint and
// the command line. Another program can use all but main: define GPT_NO_MAIN
// and include this file. Messages begin with "transformer:", since they are
// printed by transformer.c.

#include "../lib/lab.h"
#include "../lib/gpt.h"

// ## Text
//
// The tokens of chapter 14 are made for sentences: to characters, white space
// of any kind is a blank; to byte pairs it only separates words. In a program
// it matters. So blank, tab and newline are replaced by the signs that Unicode
// has for them (␠, ␉, ␊) and are then characters like all others. For byte
// pairs, a blank in front of each run of white space says where a word begins:
//
//     if (a)      characters   if␠(a)␊␠␠return␊
//       return    byte pairs   if ␠(a) ␊␠␠return ␊
//
// To get the text back, leave out the blanks and turn the signs back. Only
// carriage returns are lost; other white space comes back as blanks.

// The text with these signs; the caller frees it. A character may become four
// bytes.
char *signs_for_spaces(const char *text, Tokenizer how) {
    char *signs = allocate(4 * strlen(text) + 1, 1), *to = signs;
    bool after_space = true;
    for (int n; *text; text += n) {
        n = utf8_length(text);
        bool space = is_space(text);
        if (space && !after_space && how.tokens == BYTE_PAIRS)
            *to++ = ' ';
        if (!space)
            to = (char *)memcpy(to, text, (size_t)n) + n;
        else if (*text != '\r')
            to += sprintf(to, "\xe2\x90%c",
                          *text == '\t' || *text == '\n' ? 0x80 + *text : 0xa0);
        after_space = space;
    }
    return signs;
}

// The way back, in place; returns the text.
char *spaces_for_signs(char *text) {
    char *to = text;
    for (const char *c = text; *c; c++) {
        bool sign = !strncmp(c, "␉", 3) || !strncmp(c, "␊", 3)
                 || !strncmp(c, "␠", 3);
        c += sign ? 2 : 0;
        if (*c != ' ')
            *to++ = sign ? (char)(*c & 0x7f) : *c;
    }
    *to = '\0';
    return text;
}

enum { MEGABYTES = 64 }; // the largest text

// What follows a byte order mark, if there is one: it is not part of a text.
const char *after_order_mark(const char *text) {
    return text + (strncmp(text, "\xef\xbb\xbf", 3) ? 0 : 3);
}

// A text file, without the byte order marks that begin its lines; the caller
// frees it. Fails if it is empty, too large, or not a text. It may be a pipe
// without an end: no more is read than may be used.
char *read_text(const char *path) {
    enum { MOST = MEGABYTES * 1000000 };
    FILE *file = fopen(path, "rb");
    if (!file)
        fail("cannot open %s: %s", path, strerror(errno));
    char *text = allocate(MOST + 2, 1), *c = text;
    size_t size = fread(text, 1, MOST + 1, file);
    if (ferror(file))
        fail("cannot read %s: %s", path, strerror(errno));
    fclose(file);
    int line = 1;
    for (; *c && utf8_length(c); c += utf8_length(c))
        line += *c == '\n';
    if (!*after_order_mark(text) && c == text + size)
        fail("%s: the file is empty", path);
    if (size > MOST)
        fail("%s: more than %d MB", path, MEGABYTES);
    if (*c)
        fail("%s:%d: not valid UTF-8", path, line);
    if (c < text + size)
        fail("%s:%d: a zero byte: this is not a text file", path, line);
    char *to = text;
    const char *from = after_order_mark(text);
    while (*from) {
        *to++ = *from++;
        if (to[-1] == '\n')
            from = after_order_mark(from);
    }
    *to = '\0';
    return reallocate(text, (size_t)(to - text) + 1, 1);
}

// A text as tokens, without an end; the caller frees them.
Sentence tokens_in_text(const char *text, const Vocab *v, Tokenizer how) {
    char *signs = signs_for_spaces(text, how);
    Sentence s = tokenize(signs, v, how);
    s.length--;
    free(signs);
    return s;
}

// ## Training
//
// A step reads B windows of P tokens from random places of the text. The seed
// and the number of the step determine which.

// B windows, and for each position the token that is expected after it. The
// text has more than P tokens.
Batch windows(Arena *arena, Sentence text, int B, int P, uint64_t key) {
    size_t count = checked_product((size_t)B, (size_t)P);
    Batch batch = {.sentences = B, .target_length = P};
    batch.input = arena_take(arena, count, sizeof(int));
    batch.expected = arena_take(arena, count, sizeof(int));
    for (int b = 0; b < B; b++) {
        int first = random_below(text.length - P, &key);
        for (int i = 0; i < P; i++) {
            batch.input[b * P + i] = text.id[first + i];
            batch.expected[b * P + i] = text.id[first + i + 1];
        }
    }
    return batch;
}

// What adds the gradients of a batch; `models` are those of its program.
typedef Loss TextGradient(Pass *pass, void *models, const Batch *batch);

// train_step, for any model of a text, in windows of P tokens.
Step train_on_text(Trainer *t, Sentence text, int P, TextGradient *gradient,
                   void *models) {
    uint64_t seed = (uint64_t)t->recipe.seed, number = (uint64_t)t->step + 1;
    Pass pass = {.arena = &t->arena, .config = &t->model->config,
                 .training = true, .noise = noise_of_step(t)};
    Batch batch = windows(&t->arena, text, t->recipe.batch, P,
                          random_key(seed, FOR_ORDER, number));
    clear(t->gradient->list.values, t->gradient->list.count);
    Step step = update(t, gradient(&pass, models, &batch));
    arena_release(&t->arena, 0);
    return step;
}

Loss gpt_text_gradient(Pass *pass, void *trainer, const Batch *batch) {
    const Trainer *t = trainer;
    return gpt_gradient(pass, t->model, t->gradient, batch);
}

Step gpt_train_step(Trainer *t, Sentence text) {
    return train_on_text(t, text, t->model->config.max_len, gpt_text_gradient,
                         t);
}

// To measure a model, a text of two tokens or more is read in windows that
// overlap by half. Only the second half of each counts, so that no token has
// less than P/2 tokens before it; the first window counts as a whole. So each
// token but the first is predicted once. What does not count is expected to be
// padding, which loss_forward leaves out.

// The window that begins at `first`, a multiple of P/2 rounded up; of no tokens
// if all have been predicted.
Batch window_at(Arena *arena, Sentence text, int P, int first) {
    int T = min_int(P, text.length - 1 - first), known = first ? P / 2 : 0;
    Batch batch = {.sentences = 1, .target_length = T > known ? T : 0,
                   .input = text.id + first};
    batch.expected = arena_take(arena, (size_t)P, sizeof(int));
    for (int i = 0; i < T; i++)
        batch.expected[i] = i < known ? PAD : text.id[first + i + 1];
    return batch;
}

// Of any model of a text: ids (T) -> logits (T,V)
typedef Mat TextModel(Pass *pass, const void *model, const int *ids, int T);

Mat gpt_logits(Pass *pass, const void *model, const int *ids, int T) {
    GptSaved saved;
    return gpt_forward(pass, &saved, model, ids, T);
}

// The loss of a text of two tokens or more, each but the first.
Loss evaluate_text(TextModel *logits_of, const void *model, const Config *c,
                   Sentence text, Arena *arena) {
    Pass pass = {.arena = arena, .config = c, .sentences = 1};
    int P = c->max_len, half = (P + 1) / 2;
    Loss total = {0};
    for (int first = 0; true; first += half) {
        Batch b = window_at(arena, text, P, first);
        if (!b.target_length)
            break;
        Mat logits = logits_of(&pass, model, b.input, b.target_length);
        Mat lse = arena_mat(arena, b.target_length, 1);
        total = add_losses(total, loss_forward(lse, logits, b.expected, 0,
                                               arena));
        arena_release(arena, 0);
    }
    arena_release(arena, 0);
    return total;
}

Loss gpt_evaluate(const Transformer *t, Sentence text, Arena *arena) {
    return evaluate_text(gpt_logits, t, &t->config, text, arena);
}

// ## The checkpoint
//
// It is that of chapter 15, with other tensors: save_checkpoint writes whatever
// the list names. The target's vocabulary is the only one; the source's holds
// nothing but the special tokens.

// load_checkpoint, for a GPT that has something to say.
Checkpoint load_gpt(const char *path) {
    Checkpoint c = load_model(path, false, gpt_outline);
    const Config *m = &c.settings.config;
    if (m->norm != PRE_NORM || m->positions != LEARNED || m->activation != GELU
        || !m->tie)
        fail("%s is a model of transformer.c, but not a GPT", path);
    if (m->target_vocab == FIRST_TOKEN)
        fail("%s: its vocabulary has no tokens but the special ones", path);
    return c;
}

// ## Generating
//
// The model continues a text, token by token, until it has written as many as
// were asked for. It knows P positions. When the cache is full, it is emptied,
// and the newer half of what it held is read again: the model forgets the older
// half.

// Reads those of n tokens that are not in the cache yet, from *done on -> the
// logits (1,V) of the next token, to be released by the caller.
Mat read_on(Pass *pass, Cache *cache, const int *id, int *done, int n) {
    int P = pass->config->max_len;
    size_t mark = pass->arena->used;
    Mat logits = {0};
    if (n - *done > P - cache->length) { // no room
        *done = n - min_int(n, (P + 1) / 2);
        cache->length = 0;
    }
    while (*done < n) {
        arena_release(pass->arena, mark);
        logits = gpt_step(pass, cache, &id[(*done)++]);
    }
    return logits;
}

// Prints `count` tokens, the continuation of a prompt of one token or more.
void write_on(const Checkpoint *c, Sentence prompt, int count, Sampling how,
              uint64_t key) {
    const Transformer *t = c->trainer.model;
    Arena arena = {0};
    Pass pass = {.arena = &arena, .config = &t->config, .sentences = 1};
    Cache cache = gpt_cache(&arena, t, 1);
    size_t mark = arena.used, V = (size_t)c->target.count;
    int n = prompt.length, end = n + count, done = 0;
    int *id = allocate((size_t)end, sizeof *id);
    Candidate *candidate = allocate(V, sizeof *candidate);
    memcpy(id, prompt.id, sizeof *id * (size_t)n);
    for (; n < end; n++) {
        Mat logits = read_on(&pass, &cache, id, &done, n);
        int kept = candidates(candidate, logits.at, logits.cols, how);
        arena_release(&arena, mark);
        id[n] = draw(candidate, kept, &key);
        char *text = detokenize(&id[n], 1, &c->target, by_characters);
        fputs(spaces_for_signs(text), stdout);
        fflush(stdout);
        free(text);
    }
    free(candidate);
    free(id);
    arena_free(&arena);
}

// ## The command line
//
// As in chapters 15 and 16, a table says which options there are. Its rows are
// read by set_option, which counts a field's place from the beginning of the
// settings; so the settings come first here, and what only a GPT needs comes
// after them. The program pretrained reads its command line in the same way.

enum { GENERATE = TRANSLATE }; // Option.commands, beside TRAIN
enum { MOST_COMMANDS = 4 };

typedef struct {
    Settings settings; // also as the texts that were given
    Sampling how;
    int count; // tokens to generate
    int command, operands;
    const char *operand[2];
} Request;

// A program: command k has the bit 1 << k in the options' rows.
typedef struct {
    const char *name;
    const char *commands; // "one|another"
    const char *use[MOST_COMMANDS]; // their operands, for the help
    int least, most[MOST_COMMANDS]; // how many of them
    const Option *option;
    int options;
} Program;

#define FIELD(field) offsetof(Request, field)

const Option gpt_options[] = {
    {"model", STRING, FIELD(settings.model), "FILE.safetensors",
     "gpt.safetensors", TRAIN, 0, "where to save the run", 0, 0},
    {"valid", STRING, FIELD(settings.valid), "FILE", NULL, TRAIN, 0,
     "a held-out text to measure progress on", 0, 0},
    {"tokens", CHOICE, FIELD(settings.tokenizer.tokens), "char|bpe", "char", TRAIN, MODEL,
     "cut the text into characters or byte pairs", 0, 0},
    {"merges", INTEGER, FIELD(settings.merges), "N", NULL, TRAIN, MODEL,
     "byte pairs to merge, at most; with bpe (1000)", 1, 100000},
    {"layers", INTEGER, FIELD(settings.config.layers), "N", "3", TRAIN, MODEL,
     "layers", 1, 100},
    {"d-model", INTEGER, FIELD(settings.config.d_model), "N", "64", TRAIN,
     MODEL, "width of the vector that stands for a token", 1, 65536},
    {"heads", INTEGER, FIELD(settings.config.heads), "N", "4", TRAIN, MODEL,
     "attention heads; must divide d-model", 1, 1024},
    {"context", INTEGER, FIELD(settings.config.max_len), "N", "64", TRAIN,
     MODEL, "tokens that the model sees at once", 1, 100000},
    {"dropout", NUMBER, FIELD(settings.config.dropout), "P", "0", TRAIN, RUN,
     "share of values dropped in training", 0, 0.99},
    {"batch", INTEGER, FIELD(settings.recipe.batch), "N", "8", TRAIN, RUN,
     "windows of the text in a step", 1, 10000},
    {"steps", INTEGER, FIELD(settings.recipe.steps), "N", "2000", TRAIN, RUN,
     "training steps, in all", 1, 2000000000},
    {"lr", NUMBER, FIELD(settings.recipe.rate), "RATE", "0.004", TRAIN, RUN,
     "peak of the learning rate", 0, 1000},
    {"warmup", INTEGER, FIELD(settings.recipe.warmup), "N", "100", TRAIN, RUN,
     "steps until the learning rate reaches its peak", 1, 10000000},
    {"tokens", INTEGER, FIELD(count), "N", "500", GENERATE, 0,
     "tokens to write", 1, 10000000},
    {"temperature", NUMBER, FIELD(how.temperature), "T", "1", GENERATE, 0,
     "below 1 safer, above 1 wilder; 0 takes the best", 0, 100},
    {"top-k", INTEGER, FIELD(how.top_k), "K", "0", GENERATE, 0,
     "choose from the K best only; 0: from all", 0, 10000000},
    {"top-p", NUMBER, FIELD(how.top_p), "P", "1", GENERATE, 0,
     "choose from the best that sum to P", 1e-6, 1},
    {"seed", INTEGER, FIELD(settings.recipe.seed), "N", "1", TRAIN | GENERATE,
     RUN, "of everything random", 0, 2147483647},
    {"help", FLAG, FIELD(settings.help), "no|yes", NULL, TRAIN | GENERATE, 0,
     "show this help", 0, 0},
};

enum { GPT_OPTIONS = sizeof gpt_options / sizeof *gpt_options };

const Program gpt_program = {
    "gpt", "train|generate", {"TEXT", "MODEL [\"how it begins\"]"}, 1, {1, 2},
    gpt_options, GPT_OPTIONS};

// Says what is wrong and where to find help, and exits with status 2.
_Noreturn void misused(const Program *p, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    complain(format, arguments);
    fprintf(stderr, " (see: %s --help)\n", p->name);
    exit(2);
}

void print_program_help(const Program *p) {
    const char *command = p->commands;
    for (int k = 0; *command; k++) {
        int length = (int)strcspn(command, "|");
        printf("%s%s %.*s %s [options]\n\n", k ? "\n" : "", p->name, length,
               command, p->use[k]);
        for (const Option *o = p->option; o < p->option + p->options; o++)
            if (o->commands >> k & 1) {
                const char *value = o->type == FLAG ? "" : o->choices;
                int room = 25 - printf("  --%s %s", o->name, value);
                printf("%*s %s", room > 0 ? room : 0, "", o->help);
                printf(o->initial ? " [%s]\n" : "\n", o->initial);
            }
        command += length + (command[length] == '|');
    }
}

// The row of chapter 15's table for the same field of the settings, or -1.
int row_of(const Option *o) {
    for (int i = 0; i < OPTIONS; i++)
        if (options[i].offset == o->offset)
            return i;
    return -1;
}

// Reads the option that argument[0] begins; returns how many arguments it took.
int read_row(const Program *p, Request *r, char **argument) {
    const Option *o = p->option, *end = o + p->options;
    while (o < end && (strcmp(argument[0] + 2, o->name)
                       || !(o->commands & r->command)))
        o++;
    if (o == end)
        misused(p, "there is no option %s", argument[0]);
    const char *value = o->type == FLAG ? "yes" : argument[1];
    if (!value || !*value)
        misused(p, "%s needs a value", argument[0]);
    bool right = set_option(&r->settings, o, value);
    if (!right && (o->type == INTEGER || o->type == NUMBER))
        misused(p, "%s: \"%s\" is not a %snumber from %.10g to %.10g",
                argument[0], value, o->type == INTEGER ? "whole " : "",
                o->least, o->most);
    if (!right)
        misused(p, "%s: \"%s\" is not %s", argument[0], value, o->choices);
    if (row_of(o) >= 0)
        r->settings.text[row_of(o)] = value;
    return 1 + (o->type != FLAG);
}

// Reads the whole command line, or exits with status 2. If help is asked for,
// it prints that, and r.command is 0.
Request read_request(const Program *p, int argc, char **argv) {
    Request r = {.operands = 0};
    const char *name = argc > 1 ? argv[1] : "";
    int which = find_choice(p->commands, name);
    r.settings.help = find_choice("help|--help|-h", name) >= 0;
    if (which < 0 && !r.settings.help)
        misused(p, *name ? "there is no command \"%s\"; there are %s"
                         : "what shall I do%s? %s", name, p->commands);
    r.command = which < 0 ? 0 : 1 << which;
    for (const Option *o = p->option; o < p->option + p->options; o++)
        if (o->initial && (o->commands & r.command))
            set_option(&r.settings, o, o->initial);
    for (int i = 2; i < argc && r.command;)
        if (!strncmp(argv[i], "--", 2))
            i += read_row(p, &r, argv + i);
        else if (r.operands == p->most[which])
            misused(p, "what is \"%s\"?", argv[i]);
        else
            r.operand[r.operands++] = argv[i++];
    if (!r.settings.help && r.operands < p->least)
        misused(p, "%s needs %s", name, p->use[which]);
    if (r.settings.help) {
        print_program_help(p);
        r.command = 0;
    }
    return r;
}

// The settings of a new run, as texts of which chapter 15 makes numbers: what
// was given, the defaults of this program, and what makes a model a GPT.
void complete_settings(Settings *s) {
    const char *const fixed[][2] = {
        {"norm", "pre"}, {"positions", "learned"}, {"activation", "gelu"},
        {"tie", "yes"}};
    if (given(s, "merges") && (!given(s, "tokens")
                               || strcmp(given(s, "tokens"), "bpe")))
        misused(&gpt_program, "--merges needs --tokens bpe");
    for (const Option *o = gpt_options; o < gpt_options + GPT_OPTIONS; o++)
        if (o->commands & TRAIN && row_of(o) >= 0 && !s->text[row_of(o)])
            s->text[row_of(o)] = o->initial;
    for (int k = 0; k < 4; k++)
        s->text[option_place(fixed[k][0], strlen(fixed[k][0]))] = fixed[k][1];
    if (!strcmp(given(s, "tokens"), "bpe") && !given(s, "merges"))
        s->text[option_place("merges", 6)] = "1000";
    bind_settings(s);
    if (wrong_config(&s->config))
        misused(&gpt_program, "%s", wrong_config(&s->config));
}

// ### train

// A text to learn from or to measure with, and what it takes to report in bits
// per character, in which models of characters and of pieces can be compared.
typedef struct {
    Sentence tokens;
    int characters;
} GptText;

// A text in the model's tokens; it must have more than `least`. Frees the text,
// which came from `path`.
GptText number_text(const char *path, char *text, const Checkpoint *c,
                    int least) {
    GptText t = {tokens_in_text(text, &c->target, c->settings.tokenizer), 0};
    for (const char *next = text; *next; next += utf8_length(next))
        t.characters++;
    if (t.tokens.length <= least)
        fail("%s: only %d tokens; more than %d are needed", path,
             t.tokens.length, least);
    free(text);
    return t;
}

// The loss of one or more tokens of this text in bits per character.
double bits(Loss l, const GptText *t) {
    return average(l) / log(2) * t->tokens.length / t->characters;
}

// A new run, whose vocabulary comes from the text.
Checkpoint begin_training(const Request *r, char *text) {
    Checkpoint c = {.settings = r->settings, .source = vocab_new()};
    complete_settings(&c.settings);
    char *signs = signs_for_spaces(text, c.settings.tokenizer);
    c.target = new_vocab(&c.settings, &signs, 1);
    set_vocab_sizes(&c);
    c.trainer = fresh_trainer(gpt_outline, &c.settings.config,
                              &c.settings.recipe);
    free(signs);
    return c;
}

// What is reported and saved while a model is trained.
typedef struct {
    Checkpoint *checkpoint;
    const char *model;   // where it is saved
    GptText text, valid; // valid may be empty
    Loss since;          // of the steps since the last report
    double shown;        // when something was said
} Report;

// After each step. Twenty times in all it reports, evaluates the held-out text
// and saves the model; in between, a terminal shows how far it has come.
void report_progress(void *context, Loss loss) {
    Report *p = context;
    Trainer *t = &p->checkpoint->trainer;
    int64_t steps = t->recipe.steps;
    bool terminal = is_terminal(stderr), report = time_to_look(t->step, steps);
    p->since = add_losses(p->since, loss);
    if (!report && (!terminal || now() - p->shown < 0.2))
        return;
    p->shown = now();
    fprintf(stderr, "%sstep %" PRId64 "/%" PRId64 "  %.4f bits per character",
            terminal ? "\r" : "", t->step, steps, bits(p->since, &p->text));
    if (!report)
        return;
    if (p->valid.characters) {
        Loss held_out = gpt_evaluate(t->model, p->valid.tokens, &t->arena);
        fprintf(stderr, ", held out %.4f", bits(held_out, &p->valid));
    }
    fputc('\n', stderr);
    p->since = (Loss){0};
    save_checkpoint(p->checkpoint, p->model);
}

// Trains until the last step or until a signal.
void train_until_stopped(Trainer *t, Sentence text, int P,
                         TextGradient *gradient, void *models,
                         void report(void *, Loss), void *context) {
#ifdef SIGPIPE
    signal(SIGPIPE, SIG_IGN); // Ctrl-C also ends a `tee` behind this program
#endif
    handle_signals(remember_signal);
    while (t->step < t->recipe.steps && !stop_signal) {
        Step step = train_on_text(t, text, P, gradient, models);
        if (t->step != step.step)
            fail("step %" PRId64 ": the loss or its gradient is not finite any "
                 "more; try a smaller --lr", step.step);
        report(context, step.loss);
    }
}

// gpt train TEXT
void gpt_train(const Request *r) {
    const Settings *s = &r->settings;
    const char *path = r->operand[0];
    char *text = read_text(path);
    Checkpoint c = begin_training(r, text);
    Trainer *t = &c.trainer;
    const Config *m = &c.settings.config;
    Report p = {.checkpoint = &c, .model = s->model, .shown = now(),
                  .text = number_text(path, text, &c, m->max_len)};
    if (s->valid)
        p.valid = number_text(s->valid, read_text(s->valid), &c, 1);
    char number[32];
    fprintf(stderr, "%d characters, %d tokens of %d kinds; %s parameters in %d "
            "layers\n", p.text.characters, p.text.tokens.length, c.target.count,
            with_commas(number, t->model->list.count), m->layers);
    train_until_stopped(t, p.text.tokens, m->max_len, gpt_text_gradient, t,
                        report_progress, &p);
    if (stop_signal) {
        save_checkpoint(&c, p.model);
        fprintf(stderr, "%sstopped at step %" PRId64 "; %s\n",
                is_terminal(stderr) ? "\n" : "", t->step, p.model);
    }
    free(p.text.tokens.id);
    free(p.valid.tokens.id);
    checkpoint_free(&c);
}

// ### generate

// What is wrong with a prompt; NULL if nothing is. Carriage returns are no
// tokens.
const char *wrong_prompt(const char *text) {
    return !valid_utf8(text) ? "not valid UTF-8"
         : !text[strspn(text, "\r")] ? "empty" : NULL;
}

// gpt generate MODEL [PROMPT]
void gpt_generate(const Request *r) {
    const char *text = r->operands == 2 ? after_order_mark(r->operand[1]) : "\n";
    const char *wrong = wrong_prompt(text);
    if (wrong)
        misused(&gpt_program, "the prompt is %s", wrong);
    Checkpoint c = load_gpt(r->operand[0]);
    Sentence prompt = tokens_in_text(text, &c.target, c.settings.tokenizer);
    int unknown = unknowns(prompt.id, prompt.length);
    if (unknown)
        fprintf(stderr, "the model does not know %d of the prompt's "
                "characters\n", unknown);
    fputs(r->operands == 2 ? text : "", stdout);
    write_on(&c, prompt, r->count, r->how,
             scramble((uint64_t)r->settings.recipe.seed));
    putchar('\n');
    free(prompt.id);
    checkpoint_free(&c);
}

// What both programs begin and end with; run[k] is command k.
int run_program(const Program *p, void (*const run[])(const Request *),
                int argc, char **argv) {
    let_threads_sleep(argv);
#ifdef SIGXFSZ
    signal(SIGXFSZ, SIG_IGN); // a file too large: the write fails, and is said
#endif
    check_arithmetic();
    Request r = read_request(p, argc, argv);
    for (int k = 0; r.command >> k; k++)
        if (r.command >> k & 1)
            run[k](&r);
    finish_output();
    return stop_signal ? 128 + stop_signal : 0;
}

#ifndef GPT_NO_MAIN
int main(int argc, char **argv) {
    void (*const run[])(const Request *) = {gpt_train, gpt_generate};
    return run_program(&gpt_program, run, argc, argv);
}
#endif
