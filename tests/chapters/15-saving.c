// Chapter 15: settings as text, and checkpoints: what is saved comes back, the
// same file in another order is understood, everything else is refused.

// Thousands of damaged files are tried, each of which would end the program: so
// exit() comes back.

#include "../lib/sandbox.h"
#include "../lib/test.h"

#define FILE_NAME SCRATCH "15-saving.safetensors"

// ## Settings

// A value that is allowed; neighbors in the table get different ones.
const char *some_value(char to[64], const Option *o, int which) {
    if (o->type == INTEGER)
        snprintf(to, 64, "%.0f", o->least + which % 8);
    else if (o->type == NUMBER)
        snprintf(to, 64, "%.15g", 0.25 + which / 1024.0);
    else if (o->type == CHOICE)
        snprintf(to, 64, "%s", strrchr(o->choices, '|') + 1);
    else
        snprintf(to, 64, "yes");
    return to;
}

// Gives every option that has a value one, and binds them; false if one is
// refused.
bool set_all(Settings *s) {
    static char value[OPTIONS][64];
    for (int i = 0; i < OPTIONS; i++)
        if (options[i].type != STRING)
            s->text[i] = some_value(value[i], &options[i], i);
    return !bind_settings(s);
}

void give(Settings *s, const char *name, const char *text) {
    s->text[option_place(name, strlen(name))] = text;
}

// How many of these texts an option accepts.
int takes(const Option *o, const char *const *text, int count) {
    Settings s;
    int taken = 0;
    for (int i = 0; i < count; i++)
        taken += set_option(&s, o, text[i]);
    return taken;
}

void test_options(void) {
    Settings s = {0}, none = {0};
    CLAIM(set_all(&s), "all options may be given at once");
    CLAIM(!bind_settings(&none) && none.config.d_ff == 4 * none.config.d_model
          && none.recipe.rate == 1 / sqrt(64.0 * 400) && none.merges == 0
          && none.config.attention_dropout == none.config.dropout
          && none.config.activation_dropout == none.config.dropout,
          "or none: what is missing has its initial value, or follows from "
          "others");
    give(&none, "tokens", "bpe");
    give(&none, "dropout", "0.25");
    give(&none, "attention-dropout", "0.1");
    CLAIM(!bind_settings(&none) && none.merges == 4000
          && none.config.attention_dropout == 0.1
          && none.config.activation_dropout == 0.25,
          "what is bound again follows from what is given then");
    give(&none, "heads", "many");
    CLAIM(bind_settings(&none) == &options[option_place("heads", 5)],
          "a text that is not allowed is found");
    Option o = {.type = STRING, .offset = SETTING(log), .choices = "FILE"};
    CLAIM(set_option(&s, &o, "a file") && !strcmp(s.log, "a file")
          && !set_option(&s, &o, ""), "a name may be anything but empty");
    o.choices = "FILE.csv";
    CLAIM(set_option(&s, &o, "a.csv") && set_option(&s, &o, "b.d/a.tsv.csv")
          && takes(&o, (const char *[]){"", ".csv", "a", "csv", "acsv", "a.CSV",
                                        "a.csv ", "a.csv.tsv", "a.csv/b"}, 9)
             == 0, "unless the table says how it ends");
}

// Whether a numeric option accepts its limits, and nothing beyond them.
bool limits_hold(const Option *o) {
    char least[64], most[64], below[64], above[64];
    double step = o->type == INTEGER ? 1 : 1e-6 * o->most;
    snprintf(least, sizeof least, "%.15g", o->least);
    snprintf(most, sizeof most, "%.15g", o->most);
    snprintf(below, sizeof below, "%.15g", o->least - step);
    snprintf(above, sizeof above, "%.15g", o->most + step);
    return takes(o, (const char *[]){least, most}, 2) == 2
        && takes(o, (const char *[]){below, above}, 2) == 0;
}

// Whether each of the choices "a|b|c" can be set.
bool choices_hold(const Option *o, const char *choices) {
    bool good = true;
    for (int n = 0; *choices; n++) {
        Settings s = {0};
        char text[64];
        int length = (int)strcspn(choices, "|");
        snprintf(text, sizeof text, "%.*s", length, choices);
        good = good && set_option(&s, o, text)
            && *(int *)((char *)&s + o->offset) == n;
        choices += length + (choices[length] == '|');
    }
    return good;
}

void test_values(void) {
    const char *nonsense[] = {"", "x", "5x", "5 ", "-1", "1e99", "nan", "inf",
                              "1,5", "--", "99999999999999999999999", "1e-400"};
    const char *not_whole[] = {"1.5", "1e3", "0x10", "+5", " 5", "5.0"};
    const char *other[] = {"", "x", "|", "POST", "pos", "postt", "post|pre",
                           "1", "0", "true", "YES"};
    bool limits = true, numbers = true, whole = true, choices = true;
    for (const Option *o = options; o < options + OPTIONS; o++) {
        bool choice = o->type == CHOICE || o->type == FLAG;
        if (choice)
            choices = choices && takes(o, other, 11) == 0
                   && choices_hold(o, o->type == FLAG ? "no|yes" : o->choices);
        if (o->type == INTEGER)
            whole = whole && takes(o, not_whole, 6) == 0;
        if (choice || o->type == STRING)
            continue;
        limits = limits && limits_hold(o);
        numbers = numbers && takes(o, nonsense, 12) == 0;
    }
    CLAIM(limits, "numbers may reach their limits but not exceed them");
    CLAIM(numbers, "nothing but a number is accepted for one");
    CLAIM(whole, "whole numbers must be written as such");
    CLAIM(choices, "each choice can be set, in the order of the constants, and "
          "nothing else");
}

// ## What is saved comes back

const char *const source_words[] = {"\"", ",", "<pad>", "\\", "\\n", "é", "😀"};
const char *const target_words[] = {" ", "/", "{\"a\":[1]}", "~", "ß", "日本"};
enum { SOURCES = 7, TARGETS = 6 };

void randomize_all(real *values, size_t count) {
    for (size_t k = 0; k < count; k++)
        values[k] = (float)normal(&test_state); // as the file keeps them
}

// A model of random numbers with these settings, whose list ends with one
// without a name; the other settings are not the usual ones either.
Checkpoint checkpoint_of(Vocab source, Vocab target,
                         const char *const (*given)[2]) {
    Checkpoint c = {.source = source, .target = target};
    Settings *s = &c.settings;
    set_all(s);
    for (; (*given)[0]; given++)
        give(s, (*given)[0], (*given)[1]);
    bind_settings(s);
    set_vocab_sizes(&c);
    c.trainer = trainer_of(&s->config, &s->recipe);
    randomize_all(c.trainer.model->list.values, c.trainer.model->list.count);
    return c;
}

// One that has been trained.
Checkpoint random_checkpoint(int norm, int positions, int tie) {
    const char *const places[] = {"sinusoidal", "learned", "none"};
    const char *const given[][2] = {
        {"layers", tie ? "2" : "1"}, {"d-model", "4"}, {"heads", "2"},
        {"d-ff", "4"}, {"max-len", "3"}, {"norm", norm ? "pre" : "post"},
        {"positions", places[positions]}, {"activation", "gelu"},
        {"tie", tie ? "yes" : "no"}, {"dropout", "0.3"},
        {"attention-dropout", "0.2"}, {"activation-dropout", "0.4"},
        {"tokens", "word"}, {"lr", "0.0125"},
        {"steps", tie ? NULL : "77"}, // or epochs count
        {NULL}};
    Checkpoint c = checkpoint_of(vocab_of(source_words, SOURCES),
                                 vocab_of(target_words, TARGETS), given);
    Trainer *t = &c.trainer;
    size_t count = t->model->list.count;
    randomize_all(t->m, count);
    randomize_all(t->v, count);
    for (size_t k = 0; k < count; k++)
        t->v[k] = REAL(fabs)(t->v[k]);
    t->step = 123456;
    return c;
}

// What only training needs.
void drop_moments(Checkpoint *c) {
    Trainer *t = &c->trainer;
    free(t->m);
    free(t->v);
    transformer_free(t->gradient);
    t->m = t->v = NULL;
    t->gradient = NULL;
}

bool same_settings(const Settings *a, const Settings *b) {
    char left[32], right[32];
    bool same = a->config.source_vocab == b->config.source_vocab
             && a->config.target_vocab == b->config.target_vocab;
    for (int i = 0; i < OPTIONS; i++)
        same = same && (!options[i].in_model
            || !strcmp(option_text(left, a, i),
                       option_text(right, b, i)));
    return same;
}

// Whether both have the same numbers, or none.
bool same_block(const real *a, const real *b, size_t count) {
    return !a || !b ? a == b : !memcmp(a, b, sizeof *a * count);
}

bool same_parameters(const Transformer *a, const Transformer *b) {
    return a->list.count == b->list.count
        && same_block(a->list.values, b->list.values, a->list.count);
}

bool same_trainer(const Trainer *a, const Trainer *b) {
    size_t count = a->model->list.count;
    return same_parameters(a->model, b->model) && same_block(a->m, b->m, count)
        && same_block(a->v, b->v, count) && (!a->m) == (!b->gradient)
        && a->step == b->step
        && a->recipe.seed == b->recipe.seed && a->recipe.rate == b->recipe.rate
        && a->recipe.batch == b->recipe.batch;
}

bool same_checkpoint(const Checkpoint *a, const Checkpoint *b) {
    return same_settings(&a->settings, &b->settings)
        && same_vocab(&a->source, &b->source)
        && same_vocab(&a->target, &b->target)
        && same_trainer(&a->trainer, &b->trainer);
}

// Whether both translate alike: this needs what is not saved, the positions.
bool same_translation(const Transformer *a, const Transformer *b) {
    int ids[] = {5, 7, 4, END}, P = longest_output(a, 4);
    int *out = arena_take(&room, (size_t)P, sizeof *out);
    int *other = arena_take(&room, (size_t)P, sizeof *other);
    Batch batch = {.sentences = 1, .source_length = 4, .source = ids};
    double sum, other_sum;
    translate(a, &batch, out, &sum, &room);
    translate(b, &batch, other, &other_sum, &room);
    return !memcmp(out, other, sizeof *out * (size_t)P) && sum == other_sum;
}

// The bytes of a saved model; the caller frees them.
char *saved_file(const Checkpoint *c, size_t *size) {
    save_checkpoint(c, FILE_NAME);
    return read_file(FILE_NAME, size);
}

// Whether all that was saved comes back, and saves to the same bytes.
bool comes_back(const Checkpoint *c) {
    size_t size, again_size;
    char *bytes = saved_file(c, &size);
    Checkpoint loaded = load_checkpoint(FILE_NAME, c->trainer.m != NULL);
    char *again = saved_file(&loaded, &again_size);
    bool same = same_checkpoint(c, &loaded)
             && same_translation(c->trainer.model, loaded.trainer.model)
             && size == again_size && !memcmp(bytes, again, size);
    free(bytes);
    free(again);
    checkpoint_free(&loaded);
    return same;
}

void check_round_trip(int norm, int positions, int tie) {
    const char *norms[] = {"post-norm", "pre-norm"};
    const char *kinds[] = {"sinusoidal", "learned", "no"};
    Checkpoint c = random_checkpoint(norm, positions, tie);
    CLAIM(comes_back(&c),
          "%s, %s positions%s: all comes back, and saves to the same bytes",
          norms[norm], kinds[positions], tie ? ", tied" : "");
    checkpoint_free(&c);
}

void test_extremes(void) {
    Checkpoint c = random_checkpoint(POST_NORM, NO_POSITIONS, 0);
    const real values[] = {0, -(real)0.0, FLT_MAX, -FLT_MAX, FLT_MIN,
                           (real)1.17549421e-38f / 1024, 1 + (real)FLT_EPSILON};
    for (int i = 0; i < 7; i++)
        c.trainer.model->list.values[i] = (float)values[i];
    c.trainer.step = 0;
    save_checkpoint(&c, FILE_NAME);
    Checkpoint loaded = load_checkpoint(FILE_NAME, true);
    CLAIM(same_checkpoint(&c, &loaded),
          "the smallest and largest numbers and step 0 come back, too");
    checkpoint_free(&loaded);
    c.trainer.model->list.values[0] = (real)(1 + 1e-7 / 3);
    save_checkpoint(&c, FILE_NAME);
    loaded = load_checkpoint(FILE_NAME, true);
    CLAIM(loaded.trainer.model->list.values[0] == (float)(1 + 1e-7 / 3),
          "numbers are kept as 32-bit floats");
    checkpoint_free(&c);
    checkpoint_free(&loaded);
}

// ## The format, read without the program's reader

// A model file, taken apart.
typedef struct {
    char *header;  // its memory is that of the whole file
    char *numbers;
    size_t size;   // of the numbers
} File;

File file_of(const Checkpoint *c) {
    size_t length = 0, size;
    char *bytes = saved_file(c, &size);
    for (int i = 8; i-- > 0;)
        length = length << 8 | (unsigned char)bytes[i];
    memmove(bytes, bytes + 8, length);
    bytes[length] = '\0';
    return (File){bytes, bytes + 8 + length, size - 8 - length};
}

// Finds a tensor's entry in a header: the numbers of its shape, its offsets.
bool find_entry(const char *header, const char *name, int shape[2],
                long offset[2]) {
    char key[100];
    snprintf(key, sizeof key, "\"%s\":{\"dtype\":\"F32\",", name);
    const char *entry = strstr(header, key);
    return entry && sscanf(entry + strlen(key), "\"shape\":[%d,%d],"
                           "\"data_offsets\":[%ld,%ld]}", &shape[0], &shape[1],
                           &offset[0], &offset[1]) == 4;
}

// The float of 4 bytes, lowest first.
double float_at(const char *bytes) {
    uint32_t bits = 0;
    float value;
    for (int i = 4; i-- > 0;)
        bits = bits << 8 | (unsigned char)bytes[i];
    memcpy(&value, &bits, sizeof value);
    return value;
}

void test_format(void) {
    Checkpoint c = random_checkpoint(POST_NORM, SINUSOIDAL, 0);
    const Transformer *model = c.trainer.model;
    File f = file_of(&c);
    char *header = f.header, *data = f.numbers;
    size_t length = (size_t)(data - header) - 8;
    CLAIM(length % 8 == 0 && length < 65536,
          "eight bytes give the header's length, which is a multiple of 8");
    CLAIM(header[0] == '{' && strlen(header) == length
          && header[length - strspn(strrchr(header, '}') + 1, " ") - 1] == '}',
          "the header is an object, with blanks after it");
    CLAIM(f.size == 3 * 4 * model->list.count,
          "then come all numbers of three roles, and nothing else");
    int shape[2];
    long offset[2];
    CLAIM(find_entry(header, "source_embedding.weight", shape, offset)
          && shape[0] == 4 + SOURCES && shape[1] == 4 && offset[0] == 0,
          "a tensor is entered with its type, shape and place");
    CLAIM(find_entry(header, "output.weight", shape, offset)
          && float_at(data + offset[0] + 4 * (2 * shape[1] + 3))
             == *at(model->output.weight, 2, 3),
          "its numbers stand row by row, lowest byte first");
    ptrdiff_t place = at(model->output.weight, 2, 3) - model->list.values;
    CLAIM(find_entry(header, "adam.v.output.weight", shape, offset)
          && float_at(data + offset[0] + 4 * (2 * shape[1] + 3))
             == c.trainer.v[place], "adam.v. are the second moments");
    CLAIM(strstr(header, ",\"step\":\"123456\","),
          "the metadata says how far training has come");
    const char *words = "\"source_vocabulary\":\"<pad>\\n<start>\\n<end>\\n"
                        "<unknown>\\n\\\"\\n,\\n<pad>\\n\\\\\\n\\\\n\\né\\n😀\"";
    CLAIM(strstr(header, "\"__metadata__\":{") && strstr(header, words),
          "the metadata holds the words, joined by line ends");
    free(header);
    checkpoint_free(&c);
}

// A file without moments, and what was saved.
Checkpoint sample;
File whole;

void make_sample(Checkpoint c) {
    sample = c;
    whole = file_of(&sample);
    strcpy(strstr(whole.header, ",\"adam.m."), "}");
    whole.size = 4 * sample.trainer.model->list.count;
    drop_moments(&sample);
}

void free_sample(void) {
    checkpoint_free(&sample);
    free(whole.header);
}

// Writes a file of a header and numbers; it claims a header of this length.
void write_parts(unsigned long long length, const char *header,
                 const char *numbers, size_t size) {
    size_t behind = strlen(header) + 8;
    char *bytes = allocate(behind + size, 1);
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)(length >> 8 * i);
    memcpy(bytes + 8, header, behind - 8);
    memcpy(bytes + behind, numbers, size);
    write_file(FILE_NAME, bytes, behind + size);
    free(bytes);
}

void write_model(const char *header, const char *numbers, size_t size) {
    write_parts(strlen(header), header, numbers, size);
}

void write_header(const char *header) {
    write_model(header, whole.numbers, whole.size);
}

// The sample's header with `to` in the place of `from`; the caller frees it.
char *replaced(const char *from, const char *to) {
    const char *header = whole.header, *place = strstr(header, from);
    if (!place)
        fail("the header of the sample does not have %s", from);
    char *text = allocate(strlen(header) + strlen(to) + 1, 1);
    sprintf(text, "%.*s%s%s", (int)(place - header), header, to,
            place + strlen(from));
    return text;
}

// ## Other orders

// Claims that a file with this header and these numbers holds the sample; frees
// the header.
void accepts(char *header, const char *data, const char *what) {
    write_model(header, data, whole.size);
    Checkpoint c = load_checkpoint(FILE_NAME, false);
    CLAIM(same_checkpoint(&sample, &c), "%s", what);
    checkpoint_free(&c);
    free(header);
}

// Where the entry of a tensor in the sample has its place.
char *place_of(const char *header, const char *name) {
    char key[100];
    snprintf(key, sizeof key, "\"%s\":", name);
    return strstr(strstr(header, key), "_offsets\":[") + 11;
}

// Tensors and their numbers in the opposite order, the format after all other
// metadata, blanks at the end.
void test_other_order(void) {
    static const char format[] = "\"format\":\"" FORMAT "\"";
    const TensorList *l = &sample.trainer.model->list;
    char *header = allocate(2 * strlen(whole.header), 1), entry[160];
    char *data = allocate(whole.size, 1);
    const char *rest = strstr(whole.header, format) + sizeof format;
    const char *end = strstr(rest, "\"},\"source_embedding") + 1;
    size_t begin = 0;
    char *next = header + sprintf(header, "{\"__metadata__\":{%.*s,%s}",
                                  (int)(end - rest), rest, format);
    for (int i = l->tensors - 1; i >= 0; i--) {
        const Tensor *t = &l->tensor[i];
        const char *name = t->name.text;
        memcpy(data + begin, whole.numbers
               + strtol(place_of(whole.header, name), NULL, 10), bytes_of(t));
        next += sprintf(next, ",\"%s\":%s", name, entry_of(entry, t, begin));
        begin += bytes_of(t);
    }
    strcpy(next, "}   ");
    accepts(header, data, "tensors and metadata may come in any order");
    free(data);
}

void test_other_writing(void) {
    accepts(replaced("\"step\"", "\"by\":\"A \\t B\",\"by\":\"\",\"step\""),
            whole.numbers, "there may be other programs' metadata");
    test_other_order();
}

// Quotation marks in a value have backslashes, so it is never taken for a key.
void test_more_metadata(void) {
    char *header = replaced("\"step\"", "\"by\":\"A \\\"step\\\":\\\"5\\\" "
                            "\\n B\",\"step\"");
    write_header(header);
    Reader r = open_model(FILE_NAME);
    CLAIM(!strcmp(metadata(&r, "by", true), "A \"step\":\"5\" \n B")
          && !strcmp(metadata(&r, "step", true), "123456")
          && !strcmp(metadata(&r, "by", true), "A \"step\":\"5\" \n B")
          && !metadata(&r, "b", false),
          "metadata of another program are read, and not taken for names");
    close_model(&r);
    free(header);
}

// ## Everything else is refused

// The reader may take this much memory for a file of that size, or the program
// ends with status 99. The constant pays for the list of tensors, which a file
// of a few bytes can make as long as its settings go: 100 layers.
void allow_memory(size_t size) {
    memory_limit = memory_now + 16 * size + (2 << 20);
}

void load_frugally(const void *training) {
    struct stat file;
    if (stat(FILE_NAME, &file) != 0)
        fail("cannot read %s", FILE_NAME);
    allow_memory((size_t)file.st_size);
    Checkpoint c = load_checkpoint(FILE_NAME, training != NULL);
    checkpoint_free(&c);
}

// For a claim that the limit works.
void take_too_much(const void *size) {
    allow_memory(*(const size_t *)size);
    allocate(4 << 20, 1);
}

void test_limit(void) {
    size_t small = 1000, large = 1 << 20;
    CLAIM(status_of(take_too_much, &small) == 99
          && status_of(take_too_much, &large) == 0,
          "a limit of memory is kept");
}

// Claims that the call ends the program as fail() does, with `part` in its
// message.
#define CLAIM_FAILS(what, part, call, with) \
    CLAIM(failed_saying(part, status_of(call, with)), "%s", what)
#define REFUSAL "not a model this program can read"
#define CLAIM_REFUSED(what) CLAIM_FAILS(what, REFUSAL, load_frugally, NULL)
// The same of a file of these parts.
#define REFUSES(what, header, numbers, size)                                 \
    do {                                                                     \
        write_model(header, numbers, size);                                  \
        CLAIM_REFUSED(what);                                                 \
    } while (0)
#define CLAIM_NOT_RESUMED(what, part) \
    CLAIM_FAILS(what, part, load_frugally, FILE_NAME)

void write_replaced(const char *from, const char *to) {
    char *header = replaced(from, to);
    write_header(header);
    free(header);
}

// What occurs once in the header, or the whole of it if NULL, and what must not
// be in its place.
typedef struct {
    const char *from, *to[8];
} Damage;

void refuses_all(const Damage *d, size_t count) {
    for (const Damage *end = d + count; d < end; d++) {
        int n = 0, refused = 0;
        for (; n < 8 && d->to[n]; n++) {
            if (d->from)
                write_replaced(d->from, d->to[n]);
            else
                write_model(d->to[n], "", 0);
            bool right = failed_saying(REFUSAL, status_of(load_frugally, NULL));
            printf("%s", right ? "" : d->to[n]);
            refused += right;
        }
        CLAIM(n > 0 && refused == n, "%s: each of %d other texts is refused",
              d->from ? d->from : "a header", n);
    }
}

#define REFUSES_ALL(damages) \
    refuses_all(damages, sizeof damages / sizeof *damages)

#define PLACE "\"data_offsets\":[0,176]"
#define SHAPE_TEXT "\"shape\":[11,4]"
#define TYPE "\"dtype\":\"F32\""
#define ENTRY "{" TYPE "," SHAPE_TEXT "," PLACE "}"
#define METADATA "{\"__metadata__\":{"
#define WORDS_KEY "\"source_vocabulary\":\""

const Damage header_damages[] = {
    // Holes, overlaps, what lies outside, what overflows, anything but a
    // list of two whole numbers.
    {"[0,176]", {"[4,176]", "[176,0]", "[0,18446744073709551792]",
                 "[18446744073709551615,175]", "[0.0,176]", "[0]", "[0,176"}},
    {"[176,336]", {"[180,336]", "[172,336]", "[-18446744073709551440,336]"}},
    {"[11,4]", {"[4,11]", "[44]", "[12,4]", "[18446744073709551627,4]"}},
    {"[4]", {"[1,4]"}},
    {"\"F32\"", {"\"F16\"", "32"}},
    {ENTRY, {"{}", "{" TYPE "," SHAPE_TEXT "}", "{" TYPE "," PLACE "}",
             "{" SHAPE_TEXT "," PLACE "}"}},
    {"\"source_embedding.weight\":" ENTRY ",", {""}},
    {"\"source_emb", {"\"emb", "\"adam.m.source_emb"}},
    {"0.self_attention.query.bias", {"0.self_attention.query.weight"}},
    // The metadata.
    {"\"step\":\"123456\"", {"\"stop\":\"123456\"", "\"step\":1", "\"step\":{}",
                             "\"step\":\"\"", "\"step\":\"-1\"",
                             "\"step\":\"1.5\"",
                             "\"step\":\"99999999999999999999\""}},
    {"\"format\":\"" FORMAT "\"", {"\"former\":\"" FORMAT "\"",
                                   "\"format\":\"" FORMAT "0\""}},
    {"\"target_voc", {"\"voc"}},
    // Settings that do not fit the tensors, or are as large as they may be:
    // memory is taken only for numbers that are there.
    {"layers\":\"1", {"layers\":\"2", "layers\":\"100"}},
    {"d_model\":\"4", {"d_model\":\"8", "d_model\":\"65536"}},
    {"d_ff\":\"4", {"d_ff\":\"5", "d_ff\":\"262144"}},
    {"norm\":\"post", {"norm\":\"pre"}},
    {"sinusoidal", {"learned"}},
    {"tie\":\"no", {"tie\":\"yes"}},
    {"heads\":\"2", {"heads\":\"3"}},
    // Words: twice, empty, with special ones out of their places, too many, too
    // few.
    {"\\né\\n", {"\\n😀\\n", "\\n\\n"}},
    {"\\n😀\"", {"\\n😀\\n\"", "\\n😀\\n😀😀\"", "\""}},
    {"<pad>\\n<start>", {"\\n<pad>\\n<start>", "<start>\\n<pad>",
                         "<pad>\\n<begin>"}},
    {WORDS_KEY, {"\"voc\":\"", WORDS_KEY "\",\"old\":\"",
                 WORDS_KEY "<pad>\\n<start>\",\"old\":\""}},
    // No text, or a word that holds what no text can hold: saved again, it would
    // make a file that cannot be read.
    {"é", {"\n", "\\u00e9", "\xe9", "\\té", "\x7fé", "\xc2\x80é", "\xed\xa0\x80"}},
    {NULL, {"", "{}", "a b c", METADATA "\"a\\",
            METADATA "\"format\":\"" FORMAT "\"}}"}},
};

void test_bad_settings(void) {
    int missing = 0, wrong = 0, all = 0;
    for (int i = 0; i < OPTIONS; i++) {
        char name[32], key[48], other[48];
        metadata_name(name, &options[i]);
        if (!options[i].in_model)
            continue;
        all++;
        snprintf(key, sizeof key, "\"%s\":\"", name);
        snprintf(other, sizeof other, "\"?%s\":\"", name);
        write_replaced(key, other);
        int status = status_of(load_frugally, NULL);
        missing += options[i].initial // else it follows from others
                 ? failed_saying(name, status)
                 : status == 0
                   || failed_saying("with the entry", status);
        snprintf(other, sizeof other, "\"%s\":\"?", name);
        write_replaced(key, other);
        wrong += failed_saying(options[i].name,
                               status_of(load_frugally, NULL));
    }
    CLAIM(missing == all, "each of the %d settings must be there, unless the "
          "table says what its absence means", all);
    CLAIM(wrong == all, "and have a value that is allowed");
}

// Settings that older files do not have: each stands for what held before.
void test_missing(void) {
    const char *setting[] = {",\"attention_dropout\":\"0.2\"",
                             ",\"activation_dropout\":\"0.4\""};
    for (int i = 0; i < 2; i++) {
        write_replaced(setting[i], "");
        Checkpoint c = load_checkpoint(FILE_NAME, false);
        const Config *config = &c.settings.config;
        CLAIM(config->attention_dropout == (i ? 0.2 : 0.3)
              && config->activation_dropout == (i ? 0.3 : 0.4)
              && c.trainer.model->config.dropout == 0.3
              && c.trainer.model->config.attention_dropout
                 == config->attention_dropout,
              "without %s a model has the usual dropout there", setting[i] + 1);
        checkpoint_free(&c);
    }
    accepts(replaced("\"step\"", "\"best\":\"inf\",\"state\":\"best\",\"step\""),
            whole.numbers, "what earlier editions kept is ignored");
    write_replaced("\"steps\":\"77\"", "\"steps\":\"0\"");
    Checkpoint c = load_checkpoint(FILE_NAME, false);
    CLAIM(!given(&c.settings, "steps"), "there, 0 means no steps were given");
    checkpoint_free(&c);
}

// ## Places

// Two tensors in one place; a tensor and its numbers missing; a file that goes
// on after its numbers; and one that ends before.
void test_bad_places(void) {
    char *header = replaced("{", "{"), *longer = allocate(whole.size + 1000, 1);
    char *first = place_of(header, "encoder.0.self_attention.query.bias");
    char *second = place_of(header, "encoder.0.self_attention.key.bias");
    size_t length = strcspn(first, "]");
    CLAIM(length == strcspn(second, "]"), "two places that look alike");
    memcpy(second, first, length);
    memcpy(longer, whole.numbers, whole.size);
    REFUSES("the bytes of one tensor given to two", header, longer, whole.size);
    strcpy(header, whole.header);
    strcpy(strstr(header, ",\"output.bias\""), "}");
    REFUSES("a missing tensor", header, longer, whole.size);
    REFUSES("and its numbers missing, too", header, longer, whole.size - 40);
    REFUSES("1,000 bytes after the last tensor", whole.header, longer,
            whole.size + 1000);
    REFUSES("one", whole.header, longer, whole.size + 1);
    REFUSES("a byte too few", whole.header, longer, whole.size - 1);
    const char *bits[] = {"\0\0\xc0\x7f", "\1\0\x80\xff", "\0\0\x80\x7f",
                          "\0\0\x80\xff"};
    const char *names[] = {"a quiet NaN", "a signalling NaN", "an infinity",
                           "a negative infinity"};
    for (int i = 0; i < 4; i++) {
        memcpy(longer, whole.numbers, whole.size);
        memcpy(i % 2 ? longer : longer + whole.size - 4, bits[i], 4);
        REFUSES(names[i], whole.header, longer, whole.size);
    }
    free(header);
    free(longer);
}

#ifdef TRANSFORMER_POSIX
void load_in_a_megabyte(const void *nothing) {
    memory_limit = memory_now + (1 << 20);
    load_checkpoint(FILE_NAME, nothing != NULL);
}

// Only the length of a header, and a file as large as that, which takes no room.
void test_sparse(void) {
    const char length[] = {0, 0, (char)0xc0, (char)0xd9, 69, 0, 0, 0}; // 3e11
    write_file(FILE_NAME, length, 8);
    if (sizeof(off_t) < 8 || truncate(FILE_NAME, (off_t)301000000000) != 0)
        return; // such a file cannot be made here
    CLAIM_FAILS("a header that claims 300 GB of a sparse file", "not a model",
                load_in_a_megabyte, NULL);
    remove(FILE_NAME);
}
#else
void test_sparse(void) {}
#endif

void test_bad_lengths(void) {
    unsigned long long length = strlen(whole.header);
    const unsigned long long lengths[] = {0, 1, length - 1, length + 1,
        length + whole.size, length + whole.size + 1, length + (1ull << 32),
        length + (1ull << 56),
        1ull << 63, ~0ull, ~0ull - 7, ~0ull - 8};
    int sizes = sizeof lengths / sizeof *lengths;
    for (int i = 0; i < sizes; i++) {
        char what[64];
        snprintf(what, sizeof what, "a header said to have %llu bytes",
                 lengths[i]);
        write_parts(lengths[i], whole.header, whole.numbers, whole.size);
        CLAIM_REFUSED(what);
    }
}

// Headers of a million bytes and more: a beginning, what repeats, and an end.
void test_large_headers(void) {
    static const char *const large[][3] = {
        {"{", "[", ""}, {METADATA, "{", ""}, {"{", " ", ""}, {"", " ", ""},
        {METADATA "\"a\":\"\"", ",\"\":\"\"", "}}"},
        {METADATA "\"a\":\"\"", ",\"format\":\"" FORMAT "\"", "}}"},
        {METADATA "\"", "é", "\":\"\"}}"}, {METADATA "\"format\":\"", "a", ""},
        {METADATA "\"format\":\"", "\\\"", ""}};
    enum { SIZE = 1000000 };
    char *header = allocate(SIZE + 100, 1);
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        char what[100], *next = header + sprintf(header, "%s", large[i][0]);
        while (next < header + SIZE)
            next += sprintf(next, "%s", large[i][1]);
        strcpy(next, large[i][2]);
        snprintf(what, sizeof what, "a header of %s%s, again and again",
                 large[i][0], large[i][1]);
        REFUSES(what, header, "", 0);
    }
    free(header);
}

// Writes the whole file again, with other bytes for the last number of its last
// role.
void write_last(const File *f, const char bits[4]) {
    memcpy(f->numbers + f->size - 4, bits, 4);
    write_model(f->header, f->numbers, f->size);
}

// Files with incomplete moments. Using the model without training skips them.
void test_bad_moments(void) {
    Checkpoint c = random_checkpoint(POST_NORM, SINUSOIDAL, 0);
    File f = file_of(&c);
    write_last(&f, "\0\0\x80\x7f");
    CLAIM_NOT_RESUMED("an infinite moment", "adam.v.output.bias has a value");
    write_last(&f, "\0\0\x80\xbf");
    CLAIM_NOT_RESUMED("a mean of squares of -1",
                      "adam.v.output.bias has a value that is not finite, or "
                      "no square");
    Checkpoint used = load_checkpoint(FILE_NAME, false);
    CLAIM(!used.trainer.m && same_parameters(c.trainer.model,
                                             used.trainer.model),
          "the parameters are read alone, and moments left out are not checked");
    checkpoint_free(&used);
    memcpy(strstr(f.header, "adam.v.output.bias"), "adam.w", 6);
    write_model(f.header, f.numbers, f.size);
    CLAIM_NOT_RESUMED("a moment that is missing", "adam.v.output.bias");
    CLAIM_REFUSED("using the model fails for lack of it, too");
    strcpy(strstr(f.header, ",\"adam.v."), "}");
    write_model(f.header, f.numbers, f.size / 3 * 2);
    CLAIM_NOT_RESUMED("one role of moments only",
                      "without the optimizer's state it cannot be resumed");
    write_header(whole.header);
    CLAIM_NOT_RESUMED("a model without moments, which can only be used",
                      "without the optimizer's state it cannot be resumed");
    free(f.header);
    checkpoint_free(&c);
}

// A file of an earlier edition: the parameters of the best step under the plain
// names, those of the newest step as well.
void test_earlier_edition(void) {
    Checkpoint c = random_checkpoint(POST_NORM, SINUSOIDAL, 0);
    File f = file_of(&c);
    const TensorList *l = &c.trainer.model->list;
    size_t one = 4 * l->count, begin = 3 * one;
    char *header = allocate(2 * strlen(f.header), 1), entry[160];
    char *numbers = allocate(4, one), *next = header;
    memcpy(numbers, f.numbers, 3 * one);
    memcpy(numbers + 3 * one, f.numbers, one); // the newest
    for (size_t i = 0; i < one; i += 4)
        numbers[i] ^= 1; // the best
    next += sprintf(next, "%.*s", (int)(strrchr(f.header, '}') - f.header),
                    f.header);
    for (int i = 0; i < l->tensors; i++) {
        next += sprintf(next, ",\"newest.%s\":%s", l->tensor[i].name.text,
                        entry_of(entry, &l->tensor[i], begin));
        begin += bytes_of(&l->tensor[i]);
    }
    strcpy(next, "}");
    write_model(header, numbers, 4 * one);
    Checkpoint used = load_checkpoint(FILE_NAME, false);
    Checkpoint trained = load_checkpoint(FILE_NAME, true);
    size_t changed = 0;
    for (size_t k = 0; k < l->count; k++)
        changed += used.trainer.model->list.values[k] != l->values[k];
    CLAIM(changed == l->count, "a file that keeps the best step beside the "
          "newest is used with the plain names");
    CLAIM(same_checkpoint(&c, &trained), "and resumed with the newest");
    strstr(header, "\"newest.output.bias")[1] = 'N';
    write_model(header, numbers, 4 * one);
    CLAIM_REFUSED("one of the newest tensors that is missing");
    free(f.header);
    free(header);
    free(numbers);
    checkpoint_free(&c);
    checkpoint_free(&used);
    checkpoint_free(&trained);
}

// A model so large that its numbers dominate the memory.
void test_frugal_use(void) {
    Checkpoint c = random_checkpoint(POST_NORM, NO_POSITIONS, 0);
    trainer_free(&c.trainer);
    give(&c.settings, "d-ff", "100000");
    bind_settings(&c.settings);
    set_vocab_sizes(&c);
    c.trainer = trainer_of(&c.settings.config, &c.settings.recipe);
    save_checkpoint(&c, FILE_NAME);
    size_t bytes = c.trainer.model->list.count * sizeof(real);
    size_t before = memory_peak = memory_now;
    Checkpoint used = load_checkpoint(FILE_NAME, false);
    double times = (double)(memory_peak - before) / (double)bytes;
    checkpoint_free(&used);
    CLAIM(times < 1.1, "to use a model takes %.2f times "
          "the memory of its parameters", times);
    checkpoint_free(&c);
}

// ## No damage crashes the program

// Every fifth place; fuzz.c damages more.
enum { STRIDE = 5 };

// How often the file was refused; whatever else happens ends the test.
int count_refused(void) {
    int status = status_of(load_frugally, NULL);
    if (status > 1)
        fail("loading ends with status %d, saying %s", status, last_message);
    return status;
}

void test_every_place(void) {
    size_t header = 8 + strlen(whole.header), size;
    int cuts = 0, refused = 0, flips = 0;
    write_header(whole.header);
    CLAIM(count_refused() == 0, "the undamaged file loads");
    char *bytes = read_file(FILE_NAME, &size);
    for (size_t length = 0; length < size; length += STRIDE, cuts++) {
        write_file(FILE_NAME, bytes, length);
        refused += count_refused();
    }
    CLAIM(refused == cuts, "cut short at any of %d places it is refused", cuts);
    refused = 0;
    for (size_t place = 0; place < header; place += STRIDE, flips++) {
        bytes[place] ^= (char)(1 << place % 8);
        write_file(FILE_NAME, bytes, size);
        refused += count_refused();
        bytes[place] ^= (char)(1 << place % 8);
    }
    CLAIM(refused > flips / 2, "with a bit changed at any of %d places of its "
          "header it is refused (%d) or loads (%d)", flips, refused,
          flips - refused);
    free(bytes);
}

// ## Files are replaced whole

void save_it(const void *checkpoint) {
    save_checkpoint(checkpoint, FILE_NAME);
}

void test_not_finite(void) {
    Checkpoint c = random_checkpoint(PRE_NORM, LEARNED, 1);
    write_header(whole.header);
    c.trainer.model->list.values[3] = (real)NAN;
    CLAIM_FAILS("a parameter that is not a number is not saved", "not finite",
                save_it, &c);
    c.trainer.model->list.values[3] = (real)1e39;
    CLAIM_FAILS("nor is one too large for a float", "not finite", save_it, &c);
    c.trainer.model->list.values[3] = 0;
    real *moments[] = {c.trainer.m, c.trainer.v};
    for (int k = 0; k < 2; k++) {
        size_t last = c.trainer.model->list.count - 1;
        moments[k][last] = (real)INFINITY;
        CLAIM_FAILS(k ? "or of its square" : "nor is an infinite mean of the "
                    "gradient", "not finite", save_it, &c);
        moments[k][last] = 0;
    }
    Checkpoint old = load_checkpoint(FILE_NAME, false);
    CLAIM(same_checkpoint(&sample, &old) && !fopen(FILE_NAME ".new", "rb"),
          "what was there before is still there, and nothing beside it");
    checkpoint_free(&old);
    checkpoint_free(&c);
}

// ## Byte pairs

// A model of byte pairs with these pieces.
Checkpoint checkpoint_of_pieces(Vocab source, Vocab target) {
    const char *const given[][2] = {
        {"layers", "1"}, {"d-model", "4"}, {"heads", "2"}, {"d-ff", "4"},
        {"max-len", "9"}, {"norm", "post"}, {"positions", "sinusoidal"},
        {"tie", "no"}, {"tokens", "bpe"}, {"lowercase", "no"}, {"merges", "9"},
        {NULL}};
    return checkpoint_of(source, target, given);
}

// One whose pieces have quotes and backslashes in them.
Checkpoint byte_pairs_checkpoint(void) {
    char source[] = "cat cats eat eats cat \\n\" \\n\"";
    char target[] = "été étés été";
    return checkpoint_of_pieces(learn_merges((char *[]){source}, 1, 9),
                                learn_merges((char *[]){target}, 1, 9));
}

// Whether a text becomes the same tokens.
bool same_tokens(const Checkpoint *a, const Checkpoint *b, const char *text) {
    Sentence s = tokenize(text, &a->source, a->settings.tokenizer);
    Sentence t = tokenize(text, &b->source, b->settings.tokenizer);
    bool same = s.length == t.length
             && !memcmp(s.id, t.id, sizeof *s.id * (size_t)s.length);
    free(s.id);
    free(t.id);
    return same;
}

void test_byte_pairs(void) {
    CLAIM(comes_back(&sample),
          "a model of byte pairs comes back, and saves to the same bytes");
    Checkpoint loaded = load_checkpoint(FILE_NAME, false);
    CLAIM(same_tokens(&sample, &loaded, "eat \\n\" cats n\\ teats é"),
          "it makes the same tokens of a text");
    CLAIM(!strstr(whole.header, "_merges"), "merges are not stored: pieces "
          "imply them");
    accepts(replaced("\"step\"", "\"source_merges\":\"a\\tt\",\"step\""),
            whole.numbers, "an older file, which lists them, loads");
    checkpoint_free(&loaded);
}

void test_bad_pieces(void) {
    const Damage damages[] = {
        {"\"merges\":\"9\"", {"\"merges\":\"100001\""}},
        {"\\n c\\n", {"\\nat\\n"}}, // a piece that is there
        {"\\nat\\n", {"\\na\\n", "\\n\\n", "\\na\\t\\n"}},
    };
    REFUSES_ALL(damages);
    char *header = replaced("\\nat\\n c\\n", "\\n c\\nat\\n");
    write_header(header);
    Checkpoint c = load_checkpoint(FILE_NAME, false);
    CLAIM(!strcmp(c.source.token[sample.source.count - 1],
                  sample.source.token[sample.source.count - 1]),
          "pieces may come in any order");
    checkpoint_free(&c);
    free(header);
}

int main(void) {
    test_options();
    test_values();
    for (int k = 0; k < 12; k++)
        check_round_trip(k / 6, k / 2 % 3, k % 2);
    test_extremes();
    test_format();
    make_sample(random_checkpoint(POST_NORM, SINUSOIDAL, 0));
    test_other_writing();
    test_more_metadata();
    REFUSES_ALL(header_damages);
    test_bad_settings();
    test_missing();
    test_bad_lengths();
    test_bad_places();
    test_sparse();
    test_limit();
    test_large_headers();
    test_bad_moments();
    test_earlier_edition();
    test_frugal_use();
    test_every_place();
    test_not_finite();
    CLAIM(comes_back(&sample),
          "a model without moments can be saved and comes back");
    free_sample();
    make_sample(byte_pairs_checkpoint());
    test_byte_pairs();
    test_bad_pieces();
    free_sample();
    remove(FILE_NAME);
    arena_free(&room);
    return claims_end();
}
