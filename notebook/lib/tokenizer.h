// tokenizer.h, used by lab 18: what a tokenizer's files say, of either kind.
//
// Which files there are depends on when and how a model was saved:
//
//     tokenizer.json            everything; with it, the next three are not read
//     vocab.json, merges.txt    the vocabulary of byte pairs
//     vocab.txt                 the vocabulary of word pieces
//     added_tokens.json         words that were added to it later
//     special_tokens_map.json   which words are special
//     tokenizer_config.json     the same as these two, and switches
//
// A word that was added is found in a text before anything else is done to it:
// <|endoftext|> is one token, not seven. If it is marked as `normalized`, it is
// found only after the text has been put into its normal form (bert.h), and in
// its own normal form.
//
// A model may have more rows than there are tokens, so that their number is
// round. It may also have fewer: then a word without a row must not be used.
//
// Include this file after hub.h and unicode.h.

typedef struct {
    const char *text;
    int id;
} Entry;

// A word that is found first.
typedef struct {
    const char *text, *found; // found: the form that is searched for
    int id;
    bool normalized, left, right; // left, right: it takes the blanks there, too
} Added;

enum { BOS, EOS, UNK, SEP, FILLER, CLS, MASK, SPECIALS };
const struct {
    const char *key, *usual[2]; // of byte pairs, of word pieces
} special_key[SPECIALS] = {
    [BOS] = {"bos_token", {"<|endoftext|>", NULL}},
    [EOS] = {"eos_token", {"<|endoftext|>", NULL}},
    [UNK] = {"unk_token", {"<|endoftext|>", "[UNK]"}},
    [SEP] = {"sep_token", {NULL, "[SEP]"}},
    [FILLER] = {"pad_token", {NULL, "[PAD]"}},
    [CLS] = {"cls_token", {NULL, "[CLS]"}},
    [MASK] = {"mask_token", {NULL, "[MASK]"}}};

typedef struct {
    bool words;        // word pieces, not byte pairs
    JsonFile whole, config, map, later, vocabulary; // which own the texts
    char *lines;       // so does this
    char *path;        // where the vocabulary is
    const char **text; // of each row of the model; NULL: no token has it
    int size;          // of these
    Entry *entry;      // the vocabulary, sorted by text
    int count;
    Added *added;
    int adds;
    int special[SPECIALS]; // their numbers; -1: there is none
} Tokens;

// ## The vocabulary

int compare_entries(const void *left, const void *right) {
    const Entry *a = left, *b = right;
    return strcmp(a->text, b->text);
}

// The number of a token of the vocabulary, or -1.
int find_entry(const Tokens *t, const char *text) {
    const Entry key = {text, 0};
    const Entry *found = bsearch(&key, t->entry, (size_t)t->count,
                                 sizeof *t->entry, compare_entries);
    return found ? found->id : -1;
}

// Gives a row of the model to a token, if it has that row.
void take_row(Tokens *t, const char *text, int id) {
    if (id >= t->size)
        return;
    if (t->text[id] && strcmp(t->text[id], text))
        fail("%s: the tokens %s and %s have the same number, %d", t->path,
             shown(t->text[id]).text, shown(text).text, id);
    t->text[id] = text;
}

// Appends a token to the vocabulary, which is not sorted yet.
void add_entry(Tokens *t, const char *text, int id) {
    if (t->count == t->size)
        fail("%s: more than the %d tokens of the model", t->path, t->size);
    take_row(t, text, id);
    t->entry[t->count++] = (Entry){text, id};
}

// Ends a line, which may have a carriage return; returns the next.
char *end_line(char *line) {
    char *end = line + strcspn(line, "\n"), *next = end + (*end == '\n');
    end -= end > line && end[-1] == '\r';
    *end = '\0';
    return next;
}

// vocab.txt: a token a line, whose number is that of the line, from 0.
void read_vocab_lines(Tokens *t) {
    t->lines = read_text_file(t->path);
    for (char *line = t->lines, *next; *line; line = next) {
        next = end_line(line);
        add_entry(t, line, t->count);
    }
}

// vocab.json, or that part of tokenizer.json: tokens and their numbers.
void read_vocab_object(Tokens *t, const Json *object) {
    if (!object || object->kind != JSON_OBJECT)
        fail("%s: there is no vocabulary", t->path);
    for (const Json *m = object->child; m; m = m->next) {
        if (!is_whole(m, 0, t->size - 1))
            fail("%s: the token %s has no number below %d", t->path,
                 shown(m->name).text, t->size);
        add_entry(t, m->name, (int)m->number);
    }
}

// Refuses files for another tokenizer: they name the class of theirs.
void check_class(const JsonFile *f, const char *name) {
    const Json *class = setting(f, "tokenizer_class");
    size_t n = strlen(name);
    if (class && (!class->text || strncmp(class->text, name, n)
                  || (class->text[n] && strcmp(class->text + n, "Fast"))))
        fail("%s: tokenizer_class is %s; this program knows %s", f->path,
             class->text ? shown(class->text).text : "not a text", name);
}

// The vocabulary, from the file that has it.
void read_vocabulary(Tokens *t, const char *folder) {
    const char *class = t->words ? "BertTokenizer" : "GPT2Tokenizer";
    t->entry = allocate((size_t)t->size, sizeof *t->entry);
    if (t->whole.values) {
        t->path = path_in(folder, "tokenizer.json");
        read_vocab_object(t, member(member(t->whole.values, "model"), "vocab"));
    } else {
        JsonFile f = read_json(folder, "config.json");
        check_class(&f, class);
        check_class(&t->config, class);
        json_free(&f);
        t->path = path_in(folder, t->words ? "vocab.txt" : "vocab.json");
        if (t->words) {
            read_vocab_lines(t);
        } else {
            t->vocabulary = read_json(folder, "vocab.json");
            read_vocab_object(t, t->vocabulary.values);
        }
    }
    qsort(t->entry, (size_t)t->count, sizeof *t->entry, compare_entries);
    for (int i = 1; i < t->count; i++)
        if (!strcmp(t->entry[i - 1].text, t->entry[i].text))
            fail("%s: the token %s appears twice", t->path,
                 shown(t->entry[i].text).text);
}

// ## Words that were added

Added *find_added(const Tokens *t, const char *text) {
    for (int i = 0; i < t->adds; i++)
        if (!strcmp(t->added[i].text, text))
            return &t->added[i];
    return NULL;
}

// The number of any token, or -1.
int token_number(const Tokens *t, const char *text) {
    const Added *a = find_added(t, text);
    return a ? a->id : find_entry(t, text);
}

// The number of a token for which no file has one: after all others.
int next_number(const Tokens *t) {
    int next = t->count;
    for (int i = 0; i < t->adds; i++)
        next = max_int(next, t->added[i].id + 1);
    return next;
}

// Whether `how` has this switch on; `missing` if it lacks it or is no object.
bool is_on(const Json *how, const char *key, bool missing) {
    const Json *v = member(how, key);
    return v ? v->kind == JSON_TRUE : missing;
}

// Adds a word, which may be in the vocabulary, or have been added by another
// file. An id below 0 means that its number is not known.
void add_word(Tokens *t, const JsonFile *f, const char *text, int id,
              const Json *how, bool special) {
    if (!text)
        fail("%s: a token without a text", f->path);
    int known = token_number(t, text);
    Added *a = find_added(t, text);
    if (id < 0)
        id = known < 0 ? next_number(t) : known;
    if (known >= 0 && known != id)
        fail("%s: the token %s has the number %d, but elsewhere %d", f->path,
             shown(text).text, id, known);
    if (is_on(how, "single_word", false))
        fail("%s: single_word, of the token %s, is not known to this program",
             f->path, shown(text).text);
    if (!*text)
        return;
    if (!a) {
        t->added = reallocate(t->added, (size_t)t->adds + 1, sizeof *a);
        a = &t->added[t->adds++];
    }
    *a = (Added){text, text, id, is_on(how, "normalized", !special),
                 is_on(how, "lstrip", false), is_on(how, "rstrip", false)};
    take_row(t, text, id);
}

// The text of a token that is given as such or as an object; else NULL.
const char *content_of(const Json *v) {
    v = v && v->kind == JSON_OBJECT ? member(v, "content") : v;
    return v ? v->text : NULL;
}

#define MORE_SPECIALS "additional_special_tokens"

const Json *child_of(const Json *v) {
    return v ? v->child : NULL;
}

// The first element of a setting, which is of that kind.
const Json *first_of(const JsonFile *f, const char *key, int kind) {
    const Json *v = setting(f, key);
    if (v && v->kind != kind)
        fail("%s: %s is not %s", f->path, key,
             kind == JSON_ARRAY ? "a list" : "an object");
    return child_of(v);
}

// What the files say of a special token: a text, an object, or NULL.
const Json *said_of(const Tokens *t, const char *key, const JsonFile **where) {
    const Json *v = setting(&t->map, key);
    *where = v ? &t->map : &t->config;
    return v ? v : setting(&t->config, key);
}

bool has_content(const Json *v, const char *text) {
    return content_of(v) && !strcmp(content_of(v), text);
}

// Whether the files say that this text is a special token.
bool is_special(const Tokens *t, const char *text) {
    const JsonFile *where;
    for (int k = 0; k < SPECIALS; k++)
        if (has_content(said_of(t, special_key[k].key, &where), text))
            return true;
    for (const Json *v = child_of(said_of(t, MORE_SPECIALS, &where)); v;
         v = v->next)
        if (has_content(v, text))
            return true;
    return false;
}

// Checks the number of a token.
int number_in(const JsonFile *f, double number) {
    if (!(number >= 0 && number <= 1e9 && number == floor(number)))
        fail("%s: a token without a number", f->path);
    return (int)number;
}

// The words of tokenizer.json, tokenizer_config.json and added_tokens.json, all
// of which give numbers.
void read_numbered(Tokens *t) {
    const Json *v = first_of(&t->whole, "added_tokens", JSON_ARRAY);
    for (; v; v = v->next) {
        const Json *id = member(v, "id");
        add_word(t, &t->whole, content_of(v),
                 number_in(&t->whole, id ? id->number : -1), v,
                 is_on(v, "special", false));
    }
    v = first_of(&t->config, "added_tokens_decoder", JSON_OBJECT);
    for (; v; v = v->next)
        add_word(t, &t->config, content_of(v),
                 number_in(&t->config, (double)read_whole(v->name, 0, 1e9)), v,
                 is_on(v, "special", false));
    for (v = child_of(t->later.values); v; v = v->next) {
        int id = number_in(&t->later, v->kind == JSON_NUMBER ? v->number : -1);
        const Added *a = find_added(t, v->name);
        if (!a || a->id != id)
            add_word(t, &t->later, v->name, id, NULL, is_special(t, v->name));
    }
}

// Special tokens: what the files say, or else the usual one if it is in the
// vocabulary.
void read_specials(Tokens *t) {
    const JsonFile *where;
    for (int k = 0; k < SPECIALS; k++) {
        const Json *v = said_of(t, special_key[k].key, &where);
        const char *text = v ? content_of(v) : special_key[k].usual[t->words];
        if (v && !text)
            fail("%s: %s is not a token", where->path, special_key[k].key);
        if (text && (v || token_number(t, text) >= 0) && !find_added(t, text))
            add_word(t, where, text, -1, v, true);
        t->special[k] = text ? token_number(t, text) : -1;
    }
    for (const Json *v = child_of(said_of(t, MORE_SPECIALS, &where)); v;
         v = v->next)
        if (!content_of(v) || !find_added(t, content_of(v)))
            add_word(t, where, content_of(v), -1, v, true);
}

// ## tokenizer.json
//
// It describes a tokenizer as a chain of parts of many types. For each kind of
// tokenizer, this program builds one chain; any other is refused.

// A part of the file, of this type; if that is NULL, there must be none. A part
// may omit its type, as old files do.
JsonFile part_of(const JsonFile *f, const char *key, const char *type) {
    JsonFile part = {.path = path_in(f->path, key),
                     .values = (Json *)setting(f, key)};
    const Json *is = member(part.values, "type");
    if (type && !part.values)
        fail("%s is missing", part.path);
    if (!type && part.values)
        fail("%s, %s, is not known to this program", part.path,
             is && is->text ? shown(is->text).text : "of no type");
    if (is)
        text_setting(&part, "type", type);
    return part;
}

// The part of a tokenizer that both kinds have, for a model of `size` rows.
Tokens read_tokens(const char *folder, int size, bool words) {
    Tokens t = {.words = words, .size = size,
                .text = allocate((size_t)size, sizeof *t.text),
                .whole = json_if_there(folder, "tokenizer.json"),
                .config = json_if_there(folder, "tokenizer_config.json"),
                .map = json_if_there(folder, "special_tokens_map.json"),
                .later = json_if_there(folder, "added_tokens.json")};
    switch_setting(&t.config, "split_special_tokens", false);
    if (t.whole.values) { // first: other types have other vocabularies
        JsonFile model = part_of(&t.whole, "model", words ? "WordPiece" : "BPE");
        free(model.path);
    }
    read_vocabulary(&t, folder);
    read_numbered(&t);
    read_specials(&t);
    return t;
}

void tokens_free(Tokens *t) {
    json_free(&t->whole);
    json_free(&t->config);
    json_free(&t->map);
    json_free(&t->later);
    json_free(&t->vocabulary);
    free(t->lines);
    free(t->path);
    free(t->text);
    free(t->entry);
    free(t->added);
}

// How many rows of the model have no token.
int rows_without(const Tokens *t) {
    int rows = 0;
    for (int i = 0; i < t->size; i++)
        rows += !t->text[i];
    return rows;
}

// ## Characters

// In a table sorted by its first column: the last row whose first number is at
// most c; NULL if there is none.
const int *row_up_to(const int *table, size_t rows, size_t width, int c) {
    size_t low = 0;
    while (low < rows) {
        size_t middle = (low + rows) / 2;
        if (table[middle * width] <= c)
            low = middle + 1;
        else
            rows = middle;
    }
    return low ? table + (low - 1) * width : NULL;
}

// The row whose range includes c, in a table of first, last, …; or NULL.
const int *range_of(const int *table, size_t rows, size_t width, int c) {
    const int *range = row_up_to(table, rows, width, c);
    return range && c <= range[1] ? range : NULL;
}

#define TABLE(t) t[0], sizeof t / sizeof *t, sizeof *t / sizeof **t
#define IN(table, c) (range_of(TABLE(table), c) != NULL)

// ## Cutting around the words that were added

// Fails unless a text is valid: no token stands for a broken character.
void check_text(const char *text) {
    if (!valid_utf8(text))
        fail("the text is not valid UTF-8");
}

// Appends the tokens of a text; `of` is the tokenizer that does it.
typedef void Cutter(Sentence *s, const void *of, const char *text);

// The longest added word that begins here, or NULL.
const Added *added_at(const Tokens *t, const char *text, bool normalized) {
    const Added *longest = NULL;
    size_t most = 0;
    for (int i = 0; i < t->adds; i++) {
        const Added *a = &t->added[i];
        size_t n = strlen(a->found);
        if (a->normalized == normalized && n > most
            && !strncmp(text, a->found, n)) {
            longest = a;
            most = n;
        }
    }
    return longest;
}

// Where the blanks that end at `end` begin; not before `first`.
const char *before_blanks(const char *first, const char *end) {
    const char *s = end;
    while (s > first) {
        const char *c = s - 1;
        while ((*c & 0xc0) == 0x80)
            c--;
        if (!IN(spaces, utf8_number(c)))
            break;
        s = c;
    }
    return s;
}

// Cuts the text from `text` to `end`, unless it is empty.
void cut_between(Sentence *s, Cutter *cut, const void *of, const char *text,
                 const char *end) {
    size_t length = (size_t)(end - text);
    char *part = memcpy(allocate(length + 1, 1), text, length);
    if (length)
        cut(s, of, part);
    free(part);
}

// Appends the tokens of a text: the added words (normalized or not, as asked),
// and what the cutter `rest` makes of the text between them.
void cut_around(Sentence *s, const Tokens *t, bool normalized, Cutter *rest,
                const void *of, const char *text) {
    const char *plain = text, *c = text;
    while (*c) {
        const Added *a = added_at(t, c, normalized);
        if (!a) {
            c += utf8_length(c);
            continue;
        }
        if (a->id >= t->size)
            fail("the token %s has the number %d, but the model has only %d rows",
                 shown(a->text).text, a->id, t->size);
        cut_between(s, rest, of, plain, a->left ? before_blanks(plain, c) : c);
        s->id[s->length++] = a->id;
        c += strlen(a->found);
        while (a->right && *c && IN(spaces, utf8_number(c)))
            c += utf8_length(c);
        plain = c;
    }
    cut_between(s, rest, of, plain, c);
}
