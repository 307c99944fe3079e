// bytepairs.h, used by lab 18: the byte pairs of GPT-2 and of Llama's later
// relatives, and what word pieces share with them.
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

// ## Tokens and their numbers

// The lines of a text, at most.
size_t lines_in(const char *text) {
    size_t lines = 1;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

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

// Refuses a vocabulary that is not the model's. A model has as many tokens or,
// for the sake of speed, the next multiple of 2, 4, … 256.
void check_size(const Entries *e, const char *path) {
    int tokens = 0, multiple = 1;
    for (int i = 0; i < e->size; i++)
        tokens += e->text[i] != NULL;
    while (multiple <= 256
           && (tokens + multiple - 1) / multiple * multiple != e->size)
        multiple *= 2;
    if (multiple > 256)
        fail("%s: %d tokens, but the model has %d: is it cut short?", path,
             tokens, e->size);
}

// Appends a token; false if its number is another's.
bool add_entry(Entries *e, const char *text, int id) {
    if (e->text[id])
        return false;
    e->text[id] = text;
    e->sorted[e->count++] = (Entry){text, id};
    return true;
}

// Sorts them, after which they are found. Returns a text that is there twice,
// or NULL.
const char *sort_entries(Entries *e) {
    qsort(e->sorted, (size_t)e->count, sizeof *e->sorted, compare_entries);
    for (int i = 1; i < e->count; i++)
        if (!strcmp(e->sorted[i - 1].text, e->sorted[i].text))
            return e->sorted[i].text;
    return NULL;
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

// The patterns that are known here. Those of Llama are in tokenizer.json.
enum { GPT2_PIECES, SINGLE_DIGITS, LLAMA_PIECES };

// Two tokens, and what they make. Merges with the same left token are a chain:
// each names the one before it, as one more than its place, or 0.
typedef struct {
    int left, right, made, before;
} TokenMerge;

typedef struct {
    JsonFile file;   // which owns the texts
    char *lines;     // so does this, if there is a merges.txt
    Entries tokens;
    int byte[256];   // the number of each byte's token, or -1
    TokenMerge *merge; // in the order in which they were learned
    int merges;        // how many there are
    int *last;         // of each left token: the end of its chain
    int pattern;
    bool whole_first; // a piece that is a token is not cut
    int first;        // a token that begins each text; -1: none
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

// Prints a token as the bytes that it stands for. A token with another
// character, which is one that was added, is printed as it is.
void print_token(FILE *file, const char *text) {
    bool plain = false;
    for (const char *c = text; *c; c += utf8_length(c))
        plain = plain || byte_of(utf8_number(c)) < 0;
    if (plain)
        fputs(text, file);
    for (const char *c = text; !plain && *c; c += utf8_length(c))
        fputc(byte_of(utf8_number(c)), file);
}

// ## Reading

// The numbers of all tokens, from a JSON object. A model has `size` of them.
void read_entries_of(BytePairs *b, const Json *object, int size) {
    const char *path = b->file.path;
    if (!object || object->kind != JSON_OBJECT)
        fail("%s: there is no vocabulary", path);
    b->tokens = entries_new(size, (size_t)object->count + 1);
    b->last = allocate((size_t)size, sizeof *b->last);
    for (const Json *m = object->child; m; m = m->next)
        if (!is_whole(m, 0, size - 1)
            || !add_entry(&b->tokens, m->name, (int)m->number))
            fail("%s: the token %s has no number below %d of its own", path,
                 shown(m->name).text, size);
    const char *twice = sort_entries(&b->tokens);
    if (twice)
        fail("%s: the token %s is there twice", path, shown(twice).text);
    for (int k = 0; k < 256; k++) {
        char text[5] = {0};
        write_utf8(text, character_of(k));
        b->byte[k] = find_entry(&b->tokens, text);
        bool occurs = k < 0xc0 || (k > 0xc1 && k < 0xf5); // in valid UTF-8
        if (b->byte[k] < 0 && occurs)
            fail("%s: no token for the byte %d (%s): these are not byte-level "
                 "pairs", path, k, text);
    }
}

// The place of the merge of these two, or how many there are: not there.
int find_merge(const BytePairs *b, int left, int right) {
    int k = b->merges && left >= 0 ? b->last[left] : 0;
    while (k && b->merge[k - 1].right != right)
        k = b->merge[k - 1].before;
    return k ? k - 1 : b->merges;
}

// Appends one merge of two texts; false if one of them or what they make is no
// token, or if the pair is there already.
bool add_merge(BytePairs *b, const char *left, const char *right) {
    size_t size = strlen(left) + strlen(right) + 1;
    char *joined = allocate(size, 1);
    snprintf(joined, size, "%s%s", left, right);
    TokenMerge m = {.left = find_entry(&b->tokens, left),
                    .right = find_entry(&b->tokens, right),
                    .made = find_entry(&b->tokens, joined)};
    free(joined);
    if (m.left < 0 || m.right < 0 || m.made < 0
        || find_merge(b, m.left, m.right) < b->merges)
        return false;
    m.before = b->last[m.left];
    b->merge[b->merges++] = m;
    b->last[m.left] = b->merges;
    return true;
}

// "left right", which it cuts into two.
bool add_merge_line(BytePairs *b, char *line) {
    char *blank = strchr(line, ' ');
    if (!blank)
        return false;
    *blank = '\0';
    return add_merge(b, line, blank + 1);
}

// merges.txt: a line for each merge; the first may give a version.
void read_merge_lines(BytePairs *b, const char *path) {
    b->lines = read_text_file(path);
    b->merge = allocate(lines_in(b->lines), sizeof *b->merge);
    char *line = b->lines;
    for (int n = 1; *line; n++) {
        char *end = line + strcspn(line, "\n"), *next = end + (*end == '\n');
        end -= end > line && end[-1] == '\r';
        *end = '\0';
        bool header = n == 1 && !strncmp(line, "#version", 8);
        if (!header && *line && !add_merge_line(b, line))
            fail("%s:%d: not two tokens that make a third, or there twice",
                 path, n);
        line = next;
    }
}

// Refuses merges that are cut short: every token must be a byte, or be made by
// a merge, or be special, like <|endoftext|>, or have been added. Models that
// look for whole pieces first have other tokens, too.
void check_merges(const BytePairs *b, const char *path) {
    const Entries *e = &b->tokens;
    const Json *added = member(b->file.values, "added_tokens");
    bool *made = allocate((size_t)e->size, sizeof *made);
    for (int k = 0; k < 256; k++)
        if (b->byte[k] >= 0)
            made[b->byte[k]] = true;
    for (int k = 0; k < b->merges; k++)
        made[b->merge[k].made] = true;
    for (const Json *a = added ? added->child : NULL; a; a = a->next)
        made[(int)member(a, "id")->number] = true;
    for (int i = 0; i < e->size; i++) {
        const char *t = e->text[i] && !made[i] ? e->text[i] : "<>";
        bool special = (*t == '<' || *t == '[')
                    && strchr(">]", t[strlen(t) - 1]);
        if (!special && (!b->whole_first || !b->merges))
            fail("%s: no merge makes the token %s: is it cut short?", path,
                 shown(t).text);
    }
    free(made);
}

// GPT-2's tokenizer, of a model with `size` tokens.
BytePairs read_byte_pairs(const char *folder, int size) {
    char *vocab = path_in(folder, "vocab.json");
    char *merges = path_in(folder, "merges.txt");
    BytePairs b = {.file = read_json(vocab), .first = -1};
    read_entries_of(&b, b.file.values, size);
    check_size(&b.tokens, vocab);
    read_merge_lines(&b, merges);
    check_merges(&b, merges);
    free(vocab);
    free(merges);
    b.file.path = NULL;
    return b;
}

void byte_pairs_free(BytePairs *b) {
    entries_free(&b->tokens);
    free(b->merge);
    free(b->last);
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

// The end of a run of one class that begins at s, of at most that many
// characters.
const char *end_of_run(const char *s, int class, int most) {
    for (; *s && most > 0 && class_of(s) == class; most--)
        s += utf8_length(s);
    return s;
}

// The length of 's, 't, 're, 've, 'm, 'll or 'd, or 0. To Unicode, ſ is a small
// s whose capital is S; so if case does not matter, ſ is one of them.
int ending_length(const char *s, bool any_case) {
    const char *const ending[] = {"s", "t", "re", "ve", "m", "ll", "d", "ſ"};
    for (int k = 0; *s == '\'' && k < 7 + any_case; k++) {
        const char *e = ending[k], *c = s + 1;
        while (*e && (*c == *e || (any_case && *c == *e - 'a' + 'A'))) {
            e++;
            c++;
        }
        if (!*e)
            return (int)(c - s);
    }
    return 0;
}

// The end of the white space at s that is a piece: all of it at the end of the
// text, and else without its last character, unless there is only one.
const char *end_of_space(const char *s) {
    const char *end = s, *last = s;
    while (*end && class_of(end) == SPACE) {
        last = end;
        end += utf8_length(end);
    }
    return *end && last > s ? last : end;
}

// The end of the first piece of a text that is not empty, by GPT-2's pattern.
// Some models take out each single digit before; to the white space in front of
// it, that is the end of the text.
const char *end_of_piece(const char *s, bool single_digits) {
    int ending = ending_length(s, false);
    if (ending)
        return s + ending;
    const char *c = *s == ' ' && s[1] ? s + 1 : s;
    int class = class_of(c);
    if (single_digits && class == NUMBER_SIGN)
        return c > s ? c : s + utf8_length(s);
    if (class != SPACE)
        return end_of_run(c, class, INT_MAX);
    const char *end = end_of_run(s, SPACE, INT_MAX);
    return single_digits && *end && class_of(end) == NUMBER_SIGN
         ? end : end_of_space(s);
}

// The same by Llama's:
//
//     (?i:'s|'t|'re|'ve|'m|'ll|'d)
//     |[^\r\n\p{L}\p{N}]?\p{L}+         any one sign may precede letters
//     |\p{N}{1,3}                       three digits at most, without a blank
//     | ?[^\s\p{L}\p{N}]+[\r\n]*        signs, and the line ends behind them
//     |\s*[\r\n]+                       white space up to its last line end
//     |\s+(?!\S)|\s+
const char *end_of_llama_piece(const char *s) {
    int ending = ending_length(s, true), class = class_of(s);
    if (ending)
        return s + ending;
    const char *c = s + utf8_length(s);
    bool line_end = *s == '\r' || *s == '\n';
    if (class == LETTER)
        return end_of_run(s, LETTER, INT_MAX);
    if (class != NUMBER_SIGN && !line_end && *c && class_of(c) == LETTER)
        return end_of_run(c, LETTER, INT_MAX);
    if (class == NUMBER_SIGN)
        return end_of_run(s, NUMBER_SIGN, 3);
    const char *signs = *s == ' ' ? c : s;
    const char *end = end_of_run(signs, OTHER, INT_MAX);
    if (end > signs)
        return end + strspn(end, "\r\n");
    const char *last = NULL;
    for (c = s; *c && class_of(c) == SPACE; c += utf8_length(c))
        last = *c == '\r' || *c == '\n' ? c + 1 : last;
    return last ? last : end_of_space(s);
}

const char *next_piece(const BytePairs *b, const char *s) {
    return b->pattern == LLAMA_PIECES
         ? end_of_llama_piece(s)
         : end_of_piece(s, b->pattern == SINGLE_DIGITS);
}

// ## Joining

// A piece of `length` bytes -> its tokens, at most as many; returns how many.
// The merges that fit are applied in the order in which they were learned.
int join_bytes(int *id, const BytePairs *b, const char *piece, int length) {
    int n = length;
    for (int i = 0; i < n; i++)
        id[i] = b->byte[(unsigned char)piece[i]];
    for (;;) {
        int first = b->merges, kept = 0;
        for (int i = 0; i + 1 < n; i++)
            first = min_int(first, find_merge(b, id[i], id[i + 1]));
        if (first == b->merges)
            return n;
        TokenMerge m = b->merge[first];
        for (int i = 0; i < n; i++) {
            bool found = id[i] == m.left && i + 1 < n && id[i + 1] == m.right;
            id[kept++] = found ? m.made : id[i];
            i += found;
        }
        n = kept;
    }
}

// The number of the token that a whole piece is, or -1.
int whole_piece(const BytePairs *b, const char *piece, int length) {
    char *text = allocate(2 * (size_t)length + 1, 1), *to = text;
    for (int i = 0; i < length; i++)
        to = write_utf8(to, character_of((unsigned char)piece[i]));
    int id = find_entry(&b->tokens, text);
    free(text);
    return id;
}

// Any bytes without a zero -> their tokens; the caller frees them. What looks
// like a special token is text like all other.
Sentence cut_bytes(const BytePairs *b, const char *text) {
    char *valid = repaired(text);
    Sentence s = {allocate(strlen(valid) + 1, sizeof(int)), 0};
    if (b->first >= 0)
        s.id[s.length++] = b->first;
    for (const char *c = valid, *end; *c; c = end) {
        end = next_piece(b, c);
        int n = (int)(end - c);
        int whole = b->whole_first ? whole_piece(b, c, n) : -1;
        if (whole >= 0)
            s.id[s.length++] = whole;
        else
            s.length += join_bytes(s.id + s.length, b, c, n);
    }
    free(valid);
    return s;
}

// ## tokenizer.json
//
// tokenizer.json says in many words what vocab.json and merges.txt say, and
// besides by which pattern the text is cut first, and whether a token begins
// each text. Three patterns are known here. What asks for anything else is
// refused by its name, such as byte_fallback, for the pairs of the first two
// Llamas are not those of bytes.

const char llama_pattern[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

// ### The pattern

// The step behind this one, or the first if that is NULL: of what is a sequence
// of steps in `list`, or else a step itself.
const Json *next_step(const Json *whole, const char *list, const Json *step) {
    if (!is_string(member(whole, "type"), "Sequence"))
        return step ? NULL : whole;
    const Json *steps = member(whole, list);
    return step ? step->next : steps ? steps->child : NULL;
}

// Whether this step is of that type, and all that it says is known.
bool is_step(const JsonFile *step, const char *type) {
    known_settings(step, "type|pattern|behavior|invert|individual_digits|"
                   "add_prefix_space|trim_offsets|use_regex");
    text_setting(step, "behavior", "Isolated");
    switch_setting(step, "invert", false);
    switch_setting(step, "add_prefix_space", false);
    return is_string(setting(step, "type"), type);
}

// The pattern that the steps before the joining of pairs make up, or -1.
int pattern_of(const JsonFile *f) {
    bool bytes = false, digits = false, llama = false;
    const Json *all = setting(f, "pre_tokenizer"), *next = NULL;
    while ((next = next_step(all, "pretokenizers", next))) {
        const JsonFile step = part_of(f, next);
        const Json *regex = member(setting(&step, "pattern"), "Regex");
        if (is_step(&step, "Digits")
            && flag_setting(&step, "individual_digits", false))
            digits = true;
        else if (is_step(&step, "Split") && is_string(regex, llama_pattern))
            llama = true;
        else if (is_step(&step, "ByteLevel")
                 && flag_setting(&step, "use_regex", true) != llama)
            bytes = true;
        else
            return -1;
    }
    return !bytes || (llama && digits) ? -1
         : llama ? LLAMA_PIECES : digits ? SINGLE_DIGITS : GPT2_PIECES;
}

// ### The token that begins each text

// The number of a token that may have been added, or -1.
int added_token(const JsonFile *f, const char *text) {
    const Json *added = member(f->values, "added_tokens");
    const Json *a = added ? added->child : NULL;
    while (a && !is_string(member(a, "content"), text))
        a = a->next;
    const Json *id = member(a, "id");
    return is_whole(id, 0, INT_MAX) ? (int)id->number : -1;
}

// The special token that the template puts before a text, or -1; it may put
// nothing else anywhere.
int first_token_of(const JsonFile *f) {
    int first = -1;
    const Json *all = setting(f, "post_processor"), *step = NULL;
    while ((step = next_step(all, "processors", step))) {
        const Json *single = member(step, "single");
        const Json *part = single ? single->child : NULL;
        const Json *name = member(member(part, "SpecialToken"), "id");
        bool special = name && name->kind == JSON_STRING;
        if (special) {
            first = added_token(f, name->text);
            part = part->next;
        }
        bool known = is_string(member(step, "type"), "TemplateProcessing")
                   ? member(part, "Sequence") && !part->next
                     && (!special || first >= 0)
                   : is_string(member(step, "type"), "ByteLevel");
        if (!known)
            fail("%s: this program does not know its post_processor", f->path);
    }
    return first;
}

// ### All of it

// A merge: "left right", or an array of the two.
bool read_json_merge(BytePairs *b, const Json *m) {
    if (m->kind == JSON_STRING)
        return add_merge_line(b, (char *)m->text);
    return m->kind == JSON_ARRAY && m->count == 2
        && m->child->kind == JSON_STRING
        && m->child->next->kind == JSON_STRING
        && add_merge(b, m->child->text, m->child->next->text);
}

// Added tokens that the vocabulary lacks, so that they can be written.
void read_added_tokens(BytePairs *b) {
    const Json *added = member(b->file.values, "added_tokens");
    for (const Json *a = added ? added->child : NULL; a; a = a->next) {
        const Json *id = member(a, "id"), *text = member(a, "content");
        if (!is_whole(id, 0, b->tokens.size - 1) || !text
            || text->kind != JSON_STRING)
            fail("%s: an added token without a text, or without a number below "
                 "%d", b->file.path, b->tokens.size);
        if (!b->tokens.text[(int)id->number])
            b->tokens.text[(int)id->number] = text->text;
    }
}

// Refuses what would make other tokens of a text.
void check_known(const JsonFile *f) {
    const JsonFile model = part_of(f, setting(f, "model"));
    const JsonFile decoder = part_of(f, setting(f, "decoder"));
    known_settings(f, "version|truncation|padding|added_tokens|pre_tokenizer|"
                   "post_processor|decoder|model"); // a normalizer, but null
    known_settings(&model, "type|unk_token|continuing_subword_prefix|"
                   "end_of_word_suffix|fuse_unk|byte_fallback|ignore_merges|"
                   "vocab|merges"); // dropout, but null
    text_setting(&model, "continuing_subword_prefix", "");
    text_setting(&model, "end_of_word_suffix", "");
    switch_setting(&model, "byte_fallback", false);
    text_setting(&decoder, "type", "ByteLevel");
}

// The tokenizer of a model with `size` tokens.
BytePairs read_tokenizer_json(const char *folder, int size) {
    char *path = path_in(folder, "tokenizer.json");
    BytePairs b = {.file = read_json(path)};
    const Json *model = member(b.file.values, "model");
    const Json *merges = member(model, "merges");
    const Json *whole = member(model, "ignore_merges");
    if (!is_string(member(model, "type"), "BPE") || !merges
        || merges->kind != JSON_ARRAY)
        fail("%s: these are not byte pairs", path);
    check_known(&b.file);
    b.pattern = pattern_of(&b.file);
    if (b.pattern < 0)
        fail("%s: this program does not know its pre_tokenizer", path);
    b.whole_first = whole && whole->kind == JSON_TRUE;
    read_entries_of(&b, member(model, "vocab"), size);
    b.merge = allocate((size_t)merges->count + 1, sizeof *b.merge);
    for (const Json *m = merges->child; m; m = m->next)
        if (!read_json_merge(&b, m))
            fail("%s: merge %d is not two tokens that make a third, or is "
                 "there twice", path, b.merges + 1);
    read_added_tokens(&b);
    check_size(&b.tokens, path);
    check_merges(&b, path);
    b.first = first_token_of(&b.file);
    if (b.first >= size)
        fail("%s: the first token is none of the model's %d", path, size);
    free(path);
    b.file.path = NULL;
    return b;
}
