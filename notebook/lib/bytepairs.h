// bytepairs.h, used by lab 18: the byte pairs of GPT-2, and what word pieces
// share with them.
//
// Chapter 14 learns byte pairs from characters, within words. GPT-2 (Radford
// and others, 2019) does the same with two differences. It begins with *bytes*,
// so that nothing is ever unknown. And it cuts the text into pieces, inside
// which pairs are joined, by a pattern:
//
//     's|'t|'re|'ve|'m|'ll|'d     the ends of English words
//     | ?\p{L}+                   letters, with a blank in front or without
//     | ?\p{N}+                   digits, likewise
//     | ?[^\s\p{L}\p{N}]+         anything else, likewise
//     |\s+(?!\S)                  white space, but for the last of it
//     |\s+                        white space
//
//     "I'm 25   years"   ->   [I] ['m] [ 25] [  ] [ years]
//
// What is a letter, a digit or white space, Unicode says. \s is the property
// White_Space: not U+001C to U+001F, which Python's isspace takes for space.
//
// The file vocab.json gives each token its number, and merges.txt the pairs in
// the order in which they were learned. Since JSON has no bytes, both write a
// character for each byte: itself if it can be seen and is no blank, and else
// one from U+0100 on. A blank becomes Ġ (U+0120), a newline Ċ.
//
// How to check it: tokens, put side by side, give back every text; and another
// program cuts the same text into the same tokens.

// ## Characters

// Whether the number c is in a table of n ranges.
bool in_ranges(const int (*range)[2], size_t n, int c) {
    size_t low = 0;
    while (low < n) {
        size_t middle = (low + n) / 2;
        if (c > range[middle][1])
            low = middle + 1;
        else if (c < range[middle][0])
            n = middle;
        else
            return true;
    }
    return false;
}

#define IN(table, c) in_ranges(table, sizeof table / sizeof *table, c)

// How many bytes at s, which begin no valid character, stand for one that is
// broken: as many as could still become one, and at least one. (Unicode calls
// this the maximal subpart.)
int broken_length(const char *s) {
    const unsigned char *c = (const unsigned char *)s;
    int needed = *c < 0xc2 || *c > 0xf4 ? 1 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : 4;
    int least = *c == 0xe0 ? 0xa0 : *c == 0xf0 ? 0x90 : 0x80;
    int most = *c == 0xed ? 0x9f : *c == 0xf4 ? 0x8f : 0xbf;
    if (needed == 1 || c[1] < least || c[1] > most)
        return 1;
    int n = 2;
    while (n < needed && c[n] / 64 == 2)
        n++;
    return n;
}

// A copy of any bytes as valid UTF-8, in which U+FFFD stands for each broken
// character: what Python and JavaScript make of such bytes. The caller frees
// it.
char *repaired(const char *text) {
    char *valid = allocate(3 * strlen(text) + 1, 1), *to = valid;
    while (*text) {
        int n = utf8_length(text);
        memcpy(to, n ? text : "\xef\xbf\xbd", n ? (size_t)n : 3);
        to += n ? n : 3;
        text += n ? n : broken_length(text);
    }
    return valid;
}

// Ends a line, which may have a carriage return; returns the next.
char *end_line(char *line) {
    char *end = line + strcspn(line, "\n"), *next = end + (*end == '\n');
    end -= end > line && end[-1] == '\r';
    *end = '\0';
    return next;
}

// ## Tokens and their numbers

typedef struct {
    const char *text;
    int id;
} Entry;

// Both directions: by number, and sorted by text.
typedef struct {
    const char **text; // of each number; NULL: no token has it
    int size;          // of these
    Entry *sorted;     // `count` of them
    int count;
} Entries;

int compare_entries(const void *left, const void *right) {
    const Entry *a = left, *b = right;
    return strcmp(a->text, b->text);
}

// Room for `count` tokens with numbers below `size`.
Entries entries_new(int size, size_t count) {
    return (Entries){.text = allocate((size_t)size, sizeof(char *)),
                     .size = size,
                     .sorted = allocate(count, sizeof(Entry))};
}

// Appends a token; false if its number is another's.
bool add_entry(Entries *e, const char *text, int id) {
    if (e->text[id])
        return false;
    e->text[id] = text;
    e->sorted[e->count++] = (Entry){text, id};
    return true;
}

// Sorts them, after which they are found. Refuses a vocabulary that is not the
// model's, or has a token twice.
void sort_entries(Entries *e, const char *path) {
    if (e->count != e->size)
        fail("%s: %d tokens, but the model has %d: is it cut short?", path,
             e->count, e->size);
    qsort(e->sorted, (size_t)e->count, sizeof *e->sorted, compare_entries);
    for (int i = 1; i < e->count; i++)
        if (!strcmp(e->sorted[i - 1].text, e->sorted[i].text))
            fail("%s: the token %s is there twice", path,
                 shown(e->sorted[i].text).text);
}

// The number of a token, or -1.
int find_entry(const Entries *e, const char *text) {
    const Entry key = {text, 0};
    const Entry *found = bsearch(&key, e->sorted, (size_t)e->count,
                                 sizeof *e->sorted, compare_entries);
    return found ? found->id : -1;
}

void entries_free(Entries *e) {
    free(e->text);
    free(e->sorted);
}

// ## What a tokenizer consists of

// A merge: two tokens, and the one that they make. Those of a lower rank were
// learned earlier.
typedef struct {
    int left, right, made, rank;
} Rule;

typedef struct {
    JsonFile file;   // which owns the texts
    char *lines;     // so does this
    Entries tokens;
    int byte[256];   // the number of each byte's token
    Rule *rule;      // sorted by left and right
    size_t rules;
} BytePairs;

// ## Bytes as characters

// Whether a byte stands for itself.
bool is_visible(int byte) {
    return (byte > ' ' && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
}

// The character of a byte: itself, or 256 and the number of such bytes before.
int character_of(int byte) {
    int hidden = 0;
    for (int b = 0; b < byte; b++)
        hidden += !is_visible(b);
    return is_visible(byte) ? byte : 256 + hidden;
}

// The byte of a character, or -1.
int byte_of(int character) {
    int hidden = 256;
    for (int b = 0; b < 256; b++) {
        if (character == (is_visible(b) ? b : hidden))
            return b;
        hidden += !is_visible(b);
    }
    return -1;
}

// Prints a token as the bytes that it stands for.
void print_token(FILE *file, const char *text) {
    for (; *text; text += utf8_length(text))
        fputc(byte_of(utf8_number(text)), file);
}

// ## Reading

// vocab.json: the numbers of all tokens. A model has `size` of them, each a
// text of characters that stand for bytes.
void read_numbers(BytePairs *b, int size) {
    const Json *object = b->file.values;
    const char *path = b->file.path;
    if (object->kind != JSON_OBJECT)
        fail("%s: there is no vocabulary", path);
    b->tokens = entries_new(size, (size_t)object->count + 1);
    for (const Json *m = object->child; m; m = m->next) {
        const char *c = m->name;
        while (*c && byte_of(utf8_number(c)) >= 0)
            c += utf8_length(c);
        if (*c || !is_whole(m, 0, size - 1)
            || !add_entry(&b->tokens, m->name, (int)m->number))
            fail("%s: the token %s has no number below %d of its own, or is no "
                 "text of bytes", path, shown(m->name).text, size);
    }
    sort_entries(&b->tokens, path);
    for (int k = 0; k < 256; k++) {
        char text[5] = {0};
        write_utf8(text, character_of(k));
        b->byte[k] = find_entry(&b->tokens, text);
        if (b->byte[k] < 0)
            fail("%s: no token for the byte %d (%s)", path, k, text);
    }
}

int compare_rules(const void *left, const void *right) {
    const Rule *a = left, *b = right;
    return a->left != b->left ? (a->left > b->left) - (a->left < b->left)
                              : (a->right > b->right) - (a->right < b->right);
}

// The merge of these two, or NULL.
const Rule *find_rule(const BytePairs *b, int left, int right) {
    const Rule key = {.left = left, .right = right};
    return bsearch(&key, b->rule, b->rules, sizeof key, compare_rules);
}

// The merge in a line, "left right".
Rule read_rule(const Entries *e, char *line, const char *path, int number) {
    char *blank = strchr(line, ' ');
    Rule r = {.left = -1, .rank = number};
    if (blank) {
        *blank = '\0';
        r.left = find_entry(e, line);
        r.right = find_entry(e, blank + 1);
        memmove(blank, blank + 1, strlen(blank + 1) + 1); // side by side
        r.made = find_entry(e, line);
    }
    if (r.left < 0 || r.right < 0 || r.made < 0)
        fail("%s:%d: not two tokens that make a third", path, number);
    return r;
}

// merges.txt: a line for each merge; the first may give a version.
void read_rules(BytePairs *b, const char *path) {
    size_t lines = 1;
    b->lines = read_text_file(path);
    for (const char *c = b->lines; *c; c++)
        lines += *c == '\n';
    b->rule = allocate(lines, sizeof *b->rule);
    int n = 1;
    for (char *line = b->lines, *next; *line; line = next, n++) {
        next = end_line(line);
        if (*line && (n > 1 || strncmp(line, "#version", 8)))
            b->rule[b->rules++] = read_rule(&b->tokens, line, path, n);
    }
    qsort(b->rule, b->rules, sizeof *b->rule, compare_rules);
    for (size_t k = 1; k < b->rules; k++)
        if (!compare_rules(&b->rule[k - 1], &b->rule[k]))
            fail("%s:%d: this merge is there twice", path,
                 max_int(b->rule[k - 1].rank, b->rule[k].rank));
}

// Refuses merges that are cut short: every token must be a byte, or be made by
// a merge, or be special, like <|endoftext|>.
void check_rules(const BytePairs *b, const char *path) {
    const Entries *e = &b->tokens;
    bool *made = allocate((size_t)e->size, sizeof *made);
    for (int k = 0; k < 256; k++)
        made[b->byte[k]] = true;
    for (size_t k = 0; k < b->rules; k++)
        made[b->rule[k].made] = true;
    for (int i = 0; i < e->size; i++) {
        const char *t = e->text[i];
        if (!made[i] && !(*t == '<' && t[strlen(t) - 1] == '>'))
            fail("%s: no merge makes the token %s: is it cut short?", path,
                 shown(t).text);
    }
    free(made);
}

// The tokenizer of a model with `size` tokens.
BytePairs read_byte_pairs(const char *folder, int size) {
    char *merges = path_in(folder, "merges.txt");
    BytePairs b = {.file = read_json(folder, "vocab.json")};
    read_numbers(&b, size);
    read_rules(&b, merges);
    check_rules(&b, merges);
    free(merges);
    return b;
}

void byte_pairs_free(BytePairs *b) {
    entries_free(&b->tokens);
    free(b->rule);
    free(b->lines);
    json_free(&b->file);
}

// ## Cutting

enum { SPACE, LETTER, NUMBER_SIGN, OTHER };

int class_of(const char *s) {
    int c = utf8_number(s);
    return IN(spaces, c) ? SPACE : IN(letters, c) ? LETTER
         : IN(numbers, c) ? NUMBER_SIGN : OTHER;
}

// The length of 's, 't, 're, 've, 'm, 'll or 'd, or 0.
size_t ending_length(const char *s) {
    const char *const ending[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (int k = 0; k < 7; k++)
        if (!strncmp(s, ending[k], strlen(ending[k])))
            return strlen(ending[k]);
    return 0;
}

// The end of the first piece of a text that is not empty. White space is one
// piece at the end of the text, and elsewhere without its last character,
// unless there is only one.
const char *end_of_piece(const char *s) {
    size_t ending = ending_length(s);
    if (ending)
        return s + ending;
    const char *end = *s == ' ' && s[1] ? s + 1 : s, *last = s;
    int class = class_of(end);
    for (end = class == SPACE ? s : end; *end && class_of(end) == class;) {
        last = end;
        end += utf8_length(end);
    }
    return class == SPACE && *end && last > s ? last : end;
}

// ## Joining

// A piece of `length` bytes -> its tokens, at most as many; returns how many.
// Of the merges that fit, the one that was learned first is applied, wherever
// it fits, again and again.
int join_bytes(int *id, const BytePairs *b, const char *piece, int length) {
    int n = length;
    for (int i = 0; i < n; i++)
        id[i] = b->byte[(unsigned char)piece[i]];
    for (;;) {
        const Rule *first = NULL;
        for (int i = 0; i + 1 < n; i++) {
            const Rule *r = find_rule(b, id[i], id[i + 1]);
            if (r && (!first || r->rank < first->rank))
                first = r;
        }
        if (!first)
            return n;
        int kept = 0;
        for (int i = 0; i < n; i++) {
            bool both = i + 1 < n && id[i] == first->left
                     && id[i + 1] == first->right;
            id[kept++] = both ? first->made : id[i];
            i += both;
        }
        n = kept;
    }
}

// Any bytes without a zero -> their tokens; the caller frees them. What looks
// like a special token is text like all other.
Sentence cut_bytes(const BytePairs *b, const char *text) {
    char *valid = repaired(text);
    Sentence s = {allocate(strlen(valid) + 1, sizeof(int)), 0};
    for (const char *c = valid, *end; *c; c = end) {
        end = end_of_piece(c);
        s.length += join_bytes(s.id + s.length, b, c, (int)(end - c));
    }
    free(valid);
    return s;
}
