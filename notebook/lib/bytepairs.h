// bytepairs.h, used by lab 18: the byte pairs of GPT-2. Include it after
// tokenizer.h.
//
// Chapter 14 learns byte pairs from characters, within words. GPT-2 (Radford
// and others, 2019) does the same with two differences. It begins with *bytes*,
// so that nothing is ever unknown. And it cuts the text into pieces, inside
// which pairs are joined, by a pattern:
//
//     's|'t|'re|'ve|'m|'ll|'d     the endings of English words
//     | ?\p{L}+                   letters, with a blank in front or without
//     | ?\p{N}+                   digits, likewise
//     | ?[^\s\p{L}\p{N}]+         anything else, likewise
//     |\s+(?!\S)                  white space but its last character
//     |\s+                        white space
//
//     "I'm 25   years"   ->   [I] ['m] [ 25] [  ] [ years]
//
// Unicode says what is a letter, a digit or white space. \s is the property
// White_Space: not U+001C to U+001F, which Python's isspace takes for space.
//
// The file vocab.json gives each token its number, and merges.txt the pairs in
// the order in which they were learned. Since JSON has no bytes, both write a
// character for each byte: the byte itself if it is visible and not a blank,
// else one from U+0100 on. A blank becomes Ġ (U+0120), a newline Ċ.
//
// How to check it: tokens, put side by side, give back every text; and another
// program cuts the same text into the same tokens.

// ## What a tokenizer consists of

// A merge: two tokens, and the one that they make. Merges of a lower rank were
// learned earlier.
typedef struct {
    int left, right, made, rank;
} Rule;

typedef struct {
    Tokens tokens;
    int byte[256]; // the number of each byte's token
    Rule *rule;    // sorted by left and right
    size_t rules;
} BytePairs;

// ## Bytes as characters

// Whether a byte stands for itself.
bool is_visible(int byte) {
    return (byte > ' ' && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
}

// The character of a byte: itself, or 256 + the number of hidden bytes before.
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

// Prints a token: an added word as it is, any other as the bytes that it stands
// for, and nothing for a row without a token.
void print_token(FILE *file, const Tokens *t, int id) {
    const char *text = t->text[id] ? t->text[id] : "";
    if (find_added(t, text))
        fputs(text, file);
    else
        for (; *text; text += utf8_length(text))
            fputc(byte_of(utf8_number(text)), file);
}

// ## Reading

// Finds the bytes' tokens. Any token that was not added is a text of bytes.
void read_bytes_of(BytePairs *b) {
    const Tokens *t = &b->tokens;
    for (int i = 0; i < t->count; i++) {
        const char *c = t->entry[i].text;
        while (*c && byte_of(utf8_number(c)) >= 0)
            c += utf8_length(c);
        if (*c && !find_added(t, t->entry[i].text))
            fail("%s: the token %s is not a text of bytes", t->path,
                 shown(t->entry[i].text).text);
    }
    for (int k = 0; k < 256; k++) {
        char text[5] = {0};
        write_utf8(text, character_of(k));
        b->byte[k] = find_entry(t, text);
        if (b->byte[k] < 0)
            fail("%s: no token for the byte %d (%s)", t->path, k, text);
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

// Appends a merge: left and right, or if right is NULL, both of them in `left`,
// with a blank between. `number` is its place in the file.
void add_rule(BytePairs *b, const char *left, const char *right, int number,
              const char *path) {
    const char *blank = strchr(left, ' ');
    size_t n = blank && !right ? (size_t)(blank - left) : strlen(left);
    char *text = strcpy(allocate(strlen(left) + (right ? strlen(right) : 0) + 1,
                                 1), left);
    Rule r = {.rank = number};
    text[n] = '\0';
    right = right ? right : left + n + (blank != NULL);
    r.left = find_entry(&b->tokens, text);
    r.right = find_entry(&b->tokens, right);
    r.made = find_entry(&b->tokens, strcpy(text + n, right) - n);
    if (r.left < 0 || r.right < 0 || r.made < 0)
        fail("%s:%d: not two tokens that make a third", path, number);
    if ((b->rules & (b->rules - 1)) == 0)
        b->rule = reallocate(b->rule, 2 * b->rules + 1, sizeof r);
    b->rule[b->rules++] = r;
    free(text);
}

// merges.txt: a line for each merge; the first may give a version.
void read_merges_file(BytePairs *b, const char *path) {
    int n = 1;
    char *lines = read_text_file(path);
    for (char *line = lines, *next; *line; line = next, n++) {
        next = end_line(line);
        if (*line && (n > 1 || strncmp(line, "#version", 8)))
            add_rule(b, line, NULL, n, path);
    }
    free(lines);
}

// The merges of tokenizer.json: texts "left right", or lists of two.
void read_merges_list(BytePairs *b, const JsonFile *model) {
    int n = 1;
    for (const Json *v = child_of(setting(model, "merges")); v; v = v->next) {
        const Json *left = v->child ? v->child : v;
        const char *right = v->child && v->count == 2 ? left->next->text : NULL;
        add_rule(b, left->text ? left->text : "", right, n++, model->path);
    }
}

// Sorts the merges. Refuses them if they are cut short: every token must be a
// byte, or be made by a merge, or be special, like <|endoftext|>.
void check_rules(BytePairs *b, const char *path) {
    const Tokens *t = &b->tokens;
    bool *made = allocate((size_t)t->size, sizeof *made);
    qsort(b->rule, b->rules, sizeof *b->rule, compare_rules);
    for (size_t k = 1; k < b->rules; k++)
        if (!compare_rules(&b->rule[k - 1], &b->rule[k]))
            fail("%s:%d: this merge appears twice", path,
                 max_int(b->rule[k - 1].rank, b->rule[k].rank));
    for (int k = 0; k < 256; k++)
        made[b->byte[k]] = true;
    for (size_t k = 0; k < b->rules; k++)
        made[b->rule[k].made] = true;
    for (int i = 0; i < t->count; i++) {
        const char *text = t->entry[i].text;
        bool special = (*text == '<' && text[strlen(text) - 1] == '>')
                    || find_added(t, text);
        if (!made[t->entry[i].id] && !special)
            fail("%s: no merge makes the token %s: is it cut short?", path,
                 shown(text).text);
    }
    free(made);
}

// What tokenizer.json says besides the vocabulary. It must do nothing to the
// text before it is cut, and put nothing around it afterwards.
void read_pipeline(BytePairs *b) {
    const Tokens *t = &b->tokens;
    const Json *after = setting(&t->whole, "post_processor");
    JsonFile none = part_of(&t->whole, "normalizer", NULL);
    JsonFile model = part_of(&t->whole, "model", "BPE");
    JsonFile before = part_of(&t->whole, "pre_tokenizer", "ByteLevel");
    JsonFile behind = part_of(&t->whole, "post_processor",
                              after ? "ByteLevel" : NULL);
    if (flag_setting(&t->config, "add_prefix_space",
                     flag_setting(&before, "add_prefix_space", false)))
        fail("%s: add_prefix_space is true, which this program does not know",
             before.path);
    switch_setting(&before, "use_regex", true);
    switch_setting(&model, "byte_fallback", false);
    switch_setting(&model, "ignore_merges", false);
    text_setting(&model, "continuing_subword_prefix", "");
    text_setting(&model, "end_of_word_suffix", "");
    if (setting(&model, "dropout"))
        fail("%s: dropout is not known to this program", model.path);
    read_merges_list(b, &model);
    check_rules(b, model.path);
    free(none.path);
    free(model.path);
    free(before.path);
    free(behind.path);
}

// The tokenizer of a model with `size` rows.
BytePairs read_byte_pairs(const char *folder, int size) {
    BytePairs b = {.tokens = read_tokens(folder, size, false)};
    const Tokens *t = &b.tokens;
    switch_setting(&t->config, "add_bos_token", false);
    read_bytes_of(&b);
    if (t->whole.values) {
        read_pipeline(&b);
    } else {
        char *path = path_in(folder, "merges.txt");
        switch_setting(&t->config, "add_prefix_space", false);
        read_merges_file(&b, path);
        check_rules(&b, path);
        free(path);
    }
    return b;
}

void byte_pairs_free(BytePairs *b) {
    tokens_free(&b->tokens);
    free(b->rule);
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

// The tokens of a text without words that were added.
void cut_plain_bytes(Sentence *s, const void *of, const char *text) {
    for (const char *c = text, *end; *c; c = end) {
        end = end_of_piece(c);
        s->length += join_bytes(s->id + s->length, of, c, (int)(end - c));
    }
}

// Those of a text from which the words that are found first have been cut.
void cut_around_normalized(Sentence *s, const void *of, const char *text) {
    const BytePairs *b = of;
    cut_around(s, &b->tokens, true, cut_plain_bytes, b, text);
}

// A text -> its tokens; the caller frees them.
Sentence cut_bytes(const BytePairs *b, const char *text) {
    check_text(text);
    Sentence s = {allocate(strlen(text) + 1, sizeof(int)), 0};
    cut_around(&s, &b->tokens, false, cut_around_normalized, b, text);
    return s;
}
