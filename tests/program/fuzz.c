// Hostile input, a great deal of it. Parts of the program, and of lab 18, are
// fed damaged bytes: they must accept them, or refuse them in one line.
//
//     model      a saved model: read, used, saved, read again
//     pairs      a file of sentence pairs: read, numbered, put into batches
//     text       lines on the standard input: read, cut, numbered, drawn
//     options    a command line
//     hub        parameters from the hub: read, saved, read again
//     pieces     a text, cut into byte pairs and into word pieces
//     folder     the text files of a model from the hub: its sizes are read,
//                its tokenizer cuts a text, the model is made and computed
//
// libFuzzer feeds it: the files of a folder, then variations of them, and keeps
// those that reach new code.
//
//     clang -g -O1 -fsanitize=fuzzer,address,undefined tests/program/fuzz.c -lm
//         -o build/fuzz
//     PART=model build/fuzz -dict=tests/corpus/words.dict FOLDER
//
// (.ci/parts.sh does so, with the files of tests/corpus, of which some hold many
// inputs, with lines ===== between them.)
//
// All memory is counted: more than a small multiple of the input ends the test.
// What was fed last is in the file that FUZZ_INPUT names, or else in
// build/fuzz.input. A file in memory (/dev/shm) makes it thirty times as fast.

#include "../lib/sandbox.h"
#include <unistd.h>

// The input of `text` comes from here.
int fed_byte(void);
#define getchar fed_byte
#include "../../notebook/lib/lab.h"
#undef getchar
#include "../../notebook/lib/gpt.h"
#include "../../notebook/lib/pretrained.h"

const char *input_name = "build/fuzz.input";

// Ends the test if something is not as it must be. (What is allocated between
// sandbox_begin and sandbox_end need not be freed.)
#define MUST(holds)                                                          \
    do {                                                                     \
        if (!(holds)) {                                                      \
            printf("%s:%d: must hold: %s (input in %s)\n", __FILE__,         \
                   __LINE__, #holds, input_name);                            \
            fflush(stdout);                                                  \
            abort();                                                         \
        }                                                                    \
    } while (0)

// What is fed.
typedef struct {
    const char *bytes;
    size_t size, read;
} Fed;

Fed input;

int fed_byte(void) {
    return input.read < input.size ? (unsigned char)input.bytes[input.read++]
                                   : EOF;
}

bool input_has(const char *text) {
    size_t length = strlen(text);
    for (size_t i = 0; i + length <= input.size; i++)
        if (!memcmp(input.bytes + i, text, length))
            return true;
    return false;
}

FILE *nowhere(void) {
    static FILE *file;
    if (!file)
        file = fopen("/dev/null", "w");
    MUST(file);
    return file;
}

// The first byte says how text is to be cut.
Tokenizer tokenizer(void) {
    int c = fed_byte();
    return (Tokenizer){c & 4 ? BYTE_PAIRS : c & 1 ? CHARACTERS : WORDS,
                       c >> 1 & 1};
}

// ## model

// Uses a model that was read, whatever its numbers are.
void use_model(Checkpoint *c) {
    const Transformer *t = c->trainer.model;
    Arena *arena = &c->trainer.arena;
    Sentence source, *own;
    if (tokenize_input("a b", c, &c->source, &source))
        return;
    own = translate_all(t, &source, 1, 3, arena);
    sentences_free(own, 1);
    own = translate_all(t, &source, 1, 1, arena);
    free(detokenize(own->id, own->length, &c->target,
                     c->settings.tokenizer));
    Pass pass = {.arena = arena, .config = &t->config};
    Saved saved;
    Batch batch = look(&pass, &saved, t, source, *own);
    const char **from = tokens_of(arena, &c->source, batch.source,
                                  batch.source_length);
    const char **to = tokens_of(arena, &c->target, batch.input,
                                batch.target_length);
    draw_cross_attention(nowhere(), &pass, &saved, to, from);
    write_attention_csv(nowhere(), &pass, &saved, from, to);
    Pairs one = {&source, own, own->length > 0, 0};
    evaluate_loss(t, &one, 1, 0, arena);
}

// What was read can be saved, and what is then read is the same.
void save_again(const Checkpoint *c, bool training) {
    size_t size, again;
    save_checkpoint(c, input_name);
    char *bytes = read_file(input_name, &size);
    Checkpoint loaded = load_checkpoint(input_name, training);
    save_checkpoint(&loaded, input_name);
    char *same = read_file(input_name, &again);
    MUST(size == again && !memcmp(bytes, same, size));
}

// A file that seems to have moments is read as for training.
void feed_model(void) {
    bool training = input_has("adam.");
    Checkpoint c = load_checkpoint(input_name, training);
    memory_limit = SIZE_MAX;
    if (c.settings.config.max_len <= 100)
        use_model(&c);
    save_again(&c, training);
}

// ## pairs

// Each token is found by its text, and a piece that is a whole word by
// tokenizing the word.
void check_vocabulary(const Vocab *v, Tokenizer how) {
    for (int i = FIRST_TOKEN; i < v->count; i++) {
        const char *token = v->token[i];
        MUST(valid_utf8(token));
        MUST(token_id(v, token, (int)strlen(token)) == i);
        if (how.tokens == BYTE_PAIRS && *token == ' ' && token[1]) {
            Sentence s = tokenize(token + 1, v, how);
            MUST(s.length == 2 && s.id[0] == i);
            free(s.id);
        }
    }
}

// Text made of tokens is cut into the same tokens again.
void check_sentence(Sentence s, const Vocab *v, Tokenizer how) {
    char *text = detokenize(s.id, s.length, v, how);
    Sentence again = tokenize(text, v, how);
    MUST(again.length == s.length);
    for (int i = 0; i < s.length; i++)
        MUST(s.id[i] == UNKNOWN || again.id[i] == s.id[i]);
    free(again.id);
    free(text);
}

void feed_pairs(void) {
    Tokenizer how = tokenizer();
    int least = 1 + fed_byte() % 4;
    write_file(input_name, input.bytes + input.read, input.size - input.read);
    Text text = read_pairs(input_name, how);
    Settings s = {.tokenizer = how, .min_count = least, .merges = 10 * least};
    Vocab from = new_vocab(&s, text.source, text.count);
    Vocab to = new_vocab(&s, text.target, text.count);
    check_vocabulary(&from, how);
    check_vocabulary(&to, how);
    Pairs p = tokenize_pairs(&text, &from, &to, how, 30);
    MUST(p.count + p.too_long == text.count);
    bool known = how.tokens == BYTE_PAIRS || (how.tokens == WORDS && least == 1);
    for (int i = 0; known && i < p.count; i++)
        check_sentence(p.source[i], &from, how);
    if (!p.count)
        return;
    int *order = allocate((size_t)p.count, sizeof *order);
    epoch_order(order, &p, 1 + least, 1, 1);
    Arena arena = {0};
    for (int i = 0; i < p.count; i += 1 + least)
        make_batch(&arena, &p, order + i, min_int(1 + least, p.count - i));
}

// ## text

// A checkpoint whose words are all those of the text.
Checkpoint checkpoint_of(char *text, Tokenizer how) {
    Checkpoint c = {.settings = {.tokenizer = how, .min_count = 1,
                                 .merges = 20}};
    c.settings.config.max_len = 20;
    c.source = new_vocab(&c.settings, &text, 1);
    check_vocabulary(&c.source, how);
    return c;
}

void draw_line(char *line, const Checkpoint *c, Sentence s) {
    const char *names[] = {line, c->source.token[s.id[0]]};
    real weights[] = {0, 1, (real)0.5, (real)0.25};
    draw_attention(nowhere(), mat(weights, 2, 2), names, names);
    write_quoted(nowhere(), line, '\n');
    MUST(*last_characters(line, 0) == '\0');
}

void feed_text(void) {
    Tokenizer how = tokenizer();
    char *line = allocate(LONGEST_LINE, 1);
    for (int number = 1; read_line(line, number); number++) {
        Checkpoint none = {.settings = {.tokenizer = how}};
        Sentence s;
        none.source = vocab_new();
        const char *wrong = tokenize_input(line, &none, &none.source, &s);
        if (!valid_utf8(line)) {
            MUST(wrong);
            fail("line %d of the input %s", number, wrong);
        }
        if (how.lowercase)
            lower_case(line);
        MUST(valid_utf8(line));
        Checkpoint c = checkpoint_of(skip_order_mark(line), how);
        wrong = tokenize_input(line, &c, &c.source, &s);
        MUST(s.id[s.length - 1] == END && (s.length > 21) == !!wrong);
        for (int i = 0; i < s.length - 1; i++)
            MUST(s.id[i] >= FIRST_TOKEN && s.id[i] < c.source.count);
        check_sentence(s, &c.source, how);
        draw_line(line, &c, s);
        checkpoint_free(&c);
    }
    free(line);
}

// ## options

// Arguments are separated by zero bytes or line ends, as in a file of corpus.
void feed_options(void) {
    enum { MOST = 40 };
    char name[] = "transformer", *argument[MOST + 1] = {name};
    char *text = allocate(input.size + 1, 1), *next = text;
    int count = 1;
    memcpy(text, input.bytes, input.size);
    while (next < text + input.size && count < MOST) {
        argument[count++] = next;
        next += strcspn(next, "\n");
        *next++ = '\0';
    }
    Arguments a = read_arguments(count, argument);
    MUST(a.command && a.operands <= a.command->most);
    for (int i = 0; i < OPTIONS; i++) {
        Settings back = a.settings;
        const char *text_of_it = a.settings.text[i];
        MUST(!text_of_it || set_option(&back, &options[i], text_of_it));
    }
    MUST(!bind_settings(&a.settings));
}

// ## hub

// The list that the file must fill.
typedef struct {
    TensorList list;
    Mat at[3];
} Small;

void small_list(Small *s) {
    *s = (Small){.at = {{0}}};
    list_tensor(&s->list, &s->at[0], 3, 4, INIT_XAVIER, join("a", ".weight"));
    list_tensor(&s->list, &s->at[1], 1, 4, INIT_ZEROS, join("a", ".bias"));
    list_tensor(&s->list, &s->at[2], 1, 2, INIT_ONES, join("norm", ".weight"));
}

void feed_hub(void) {
    const char *const ignored[] = {".mask", NULL};
    const Naming naming = {"model.", ignored, NULL};
    Small s, again;
    small_list(&s);
    small_list(&again);
    read_parameters(&s.list, naming, "build", input_name);
    save_parameters(&s.list, input_name);
    read_parameters(&again.list, naming, "build", input_name);
    for (size_t i = 0; i < s.list.count; i++)
        MUST(isfinite(s.list.values[i])
             && s.list.values[i] == again.list.values[i]);
}

// ## pieces

// A file in a folder of its own, with this content; returns the folder.
const char *folder_with(const char *name, const char *bytes, size_t size) {
    static char folder[300], path[400];
    snprintf(folder, sizeof folder, "%s.folder", input_name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    mkdir(folder, 0777);
    write_file(path, bytes, size);
    return folder;
}

// The tokens of a text, put side by side, are the text.
void check_bytes(const BytePairs *b, const char *text) {
    const char *next = text;
    Sentence s = cut_bytes(b, text);
    for (int i = 0; i < s.length; i++) {
        MUST(s.id[i] >= 0 && s.id[i] < b->tokens.size);
        const char *c = b->tokens.text[s.id[i]];
        for (; *c; c += utf8_length(c))
            MUST(byte_of(utf8_number(c)) == (unsigned char)*next++);
    }
    MUST(!*next);
    free(s.id);
}

const char sample[] = "It's 12345 o'clock!\r\n\n  \tÀ café";

void use_byte_pairs(BytePairs b) {
    check_bytes(&b, sample);
    byte_pairs_free(&b);
}

// All bytes are tokens, and nothing is joined.
BytePairs plain_bytes(char text[256][5], const char **of) {
    static Rule none;
    BytePairs b = {.tokens = {.text = of, .size = 256}, .rule = &none};
    for (int k = 0; k < 256; k++) {
        *write_utf8(text[k], character_of(k)) = '\0';
        of[k] = text[k];
        b.byte[k] = k;
    }
    return b;
}

void feed_pieces(void) {
    static const char vocab[] = "[UNK]\n[CLS]\n[SEP]\n[MASK]\n[PAD]\na\n##a\n"
                                "e\n##e\nthe\n##ing\n!\n中";
    enum { WORD_PIECES = 13 };
    size_t cased = fed_byte() & 1, size = input.size - input.read;
    char *text = allocate(size + 1, 1), letter[256][5];
    const char *of[256];
    memcpy(text, input.bytes + input.read, size);
    BytePairs b = plain_bytes(letter, of);
    check_bytes(&b, text);
    folder_with("config.json", "{}", 2);
    const char *folder = folder_with("vocab.txt", vocab, sizeof vocab - 1);
    WordPieces w = read_word_pieces(folder, WORD_PIECES);
    w.lower = w.strip = !cased;
    Sentence s = cut_words(&w, text);
    MUST(s.length >= 2 && s.id[0] == w.tokens.special[CLS]
         && s.id[s.length - 1] == w.tokens.special[SEP]);
    for (int i = 0; i < s.length; i++)
        MUST(s.id[i] >= 0 && s.id[i] < WORD_PIECES);
    free(s.id);
    free(text);
    word_pieces_free(&w);
}

// ## folder

// Writes the files that are in the input, each after a line "=== NAME", and
// removes those that are not. Returns the folder.
const char *folder_of_input(void) {
    const char *const known[] = {
        "config.json", "vocab.json", "merges.txt", "vocab.txt",
        "tokenizer_config.json", "tokenizer.json", "added_tokens.json",
        "special_tokens_map.json"};
    const char *folder = NULL;
    char *text = allocate(input.size + 1, 1), mark[64];
    memcpy(text, input.bytes, input.size);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        snprintf(mark, sizeof mark, "=== %s\n", known[k]);
        const char *from = strstr(text, mark);
        const char *begin = from ? from + strlen(mark) : "";
        const char *end = strstr(begin, "\n=== ");
        folder = folder_with(known[k], begin,
                             end ? (size_t)(end + 1 - begin) : strlen(begin));
        if (!from)
            remove(path_in(folder, known[k]));
    }
    return folder;
}

// The table of tokens may take as much memory as config.json says.
void allow_tokens(int V) {
    memory_limit += (sizeof(char *) + sizeof(Entry) + 2) * (size_t)V;
}

enum { FED_TOKENS = 3 };

// Prepares the pass of a model and the ids that it reads. Returns how many, 0
// if the model is too large for a pass.
int begin_pass(Pass *pass, const Config *c, TensorList *l, int *ids) {
    static Arena arena;
    memory_limit = SIZE_MAX;
    if (l->count >= 20000)
        return 0;
    arena = (Arena){0};
    place_tensors(l);
    *pass = (Pass){.arena = &arena, .config = c, .sentences = 1};
    for (int i = 0; i < FED_TOKENS; i++)
        ids[i] = i % c->target_vocab;
    return min_int(FED_TOKENS, c->max_len);
}

void use_gpt2(const char *folder) {
    Config c = gpt2_config(folder);
    allow_tokens(c.target_vocab);
    use_byte_pairs(read_byte_pairs(folder, c.target_vocab));
    ModernGpt t = gpt2_outline(&c);
    Pass pass;
    ModernSaved saved;
    int ids[FED_TOKENS], T = begin_pass(&pass, &c, &t.base->list, ids);
    if (T) {
        split_attention(&t);
        modern_forward(&pass, &saved, &t, ids, T);
    }
}

void use_bert(const char *folder) {
    double epsilon;
    int segments;
    Config c = bert_config(folder, &epsilon, &segments);
    allow_tokens(c.target_vocab);
    WordPieces w = read_word_pieces(folder, c.target_vocab);
    Sentence s = cut_words(&w, sample);
    for (int i = 0; i < s.length; i++)
        MUST(s.id[i] >= 0 && s.id[i] < w.tokens.count);
    free(s.id);
    word_pieces_free(&w);
    Bert *b = bert_outline(&c, segments);
    Pass pass;
    int ids[FED_TOKENS], T = begin_pass(&pass, &c, &b->base->list, ids);
    if (T) {
        turn_bert(b);
        bert_logits(&pass, b, bert_forward(&pass, b, ids, T));
    }
}

void feed_folder(void) {
    const char *folder = folder_of_input();
    if (input_has("\"bert\""))
        use_bert(folder);
    else
        use_gpt2(folder);
}

// ## One input

typedef struct {
    const char *name;
    void (*feed)(void);
    bool misused; // refusals end with status 2
} Part;

const Part parts[] = {
    {"model", feed_model, false}, {"pairs", feed_pairs, false},
    {"text", feed_text, false}, {"options", feed_options, true},
    {"hub", feed_hub, false},
    {"pieces", feed_pieces, false}, {"folder", feed_folder, false},
};
enum { PARTS = sizeof parts / sizeof *parts };

// A refusal is one line that names the program, without control characters.
void check_message(int status, bool misused) {
    const char *end = strchr(last_message, '\n');
    MUST(status == (misused ? 2 : 1));
    MUST(!strncmp(last_message, "transformer: ", 13) && end && !end[1]);
    for (const char *c = last_message; c < end; c++)
        MUST(*c < 0 || *c >= ' ');
    MUST(!misused || strstr(last_message, "(see: transformer"));
}

// ## libFuzzer

const Part *part; // the one that PART names
int taken, refused;

void end_fuzzing(void) {
    printf("%s: %d inputs taken, %d refused with a reason\n", part->name, taken, refused);
    MUST(taken > 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    const char *name = getenv("PART"), *given = getenv("FUZZ_INPUT");
    (void)argc;
    (void)argv;
    for (const Part *p = parts; name && p < parts + PARTS; p++)
        part = strcmp(p->name, name) ? part : p;
    input_name = given ? given : input_name;
    MUST(part);
    nowhere(); // opened here, it stays open
    return atexit(end_fuzzing);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    write_file(input_name, bytes, size);
    input = (Fed){(const char *)bytes, size, 0};
    sandbox_begin();
    memory_limit = memory_now + 100 * size + (2 << 20);
    if (setjmp(where_exit_returns) == 0)
        part->feed();
    int status = sandbox_end();
    if (status)
        check_message(status, part->misused);
    *(status ? &refused : &taken) += 1;
    return 0;
}
