// tokenizer_json.h: byte pairs as Llama's later models have them, in one file.
//
// tokenizer.json says in many words what vocab.json and merges.txt say, and
// besides by which pattern the text is cut first, and whether a token begins
// each text. Three patterns are known here; a file with another one is refused,
// as is one whose pairs are not those of bytes (those of the first two Llamas).
//
// Include this file after bytepairs.h.

const char llama_pattern[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

// ## The pattern

// What is in a sequence of steps, or the step itself; *next goes through them.
const Json *first_step(const Json *step, const char *list) {
    return is_string(member(step, "type"), "Sequence")
         ? member(step, list) ? member(step, list)->child : NULL : step;
}

// The pattern that the steps before the joining of pairs make up, or -1.
int pattern_of(const Json *pre_tokenizer) {
    bool bytes = false, digits = false, llama = false;
    const Json *step = first_step(pre_tokenizer, "pretokenizers");
    for (; step; step = step->next) {
        const Json *type = member(step, "type");
        const Json *regex = member(member(step, "pattern"), "Regex");
        const Json *uses = member(step, "use_regex");
        const Json *prefix = member(step, "add_prefix_space");
        const Json *single = member(step, "individual_digits");
        bool cut = !uses || uses->kind == JSON_TRUE;
        if (is_string(type, "Digits") && single && single->kind == JSON_TRUE)
            digits = true;
        else if (is_string(type, "Split") && is_string(regex, llama_pattern))
            llama = true;
        else if (is_string(type, "ByteLevel") && cut != llama
                 && !(prefix && prefix->kind == JSON_TRUE))
            bytes = true;
        else
            return -1;
    }
    return !bytes || (llama && digits) ? -1
         : llama ? LLAMA_PIECES : digits ? SINGLE_DIGITS : GPT2_PIECES;
}

// ## The token that begins each text

// The number of a token that may have been added, or -1.
int added_token(const JsonFile *f, const char *text) {
    const Json *added = member(f->values, "added_tokens");
    const Json *a = added ? added->child : NULL;
    while (a && !is_string(member(a, "content"), text))
        a = a->next;
    const Json *id = member(a, "id");
    return is_whole(id, 0, INT_MAX) ? (int)id->number : -1;
}

// What the template for a single text begins with, if that is a special token.
int first_token_of(const JsonFile *f) {
    const Json *step = first_step(member(f->values, "post_processor"),
                                  "processors");
    for (; step; step = step->next) {
        const Json *single = member(step, "single");
        const Json *first = single ? single->child : NULL;
        const Json *name = member(member(first, "SpecialToken"), "id");
        if (name && name->kind == JSON_STRING)
            return added_token(f, name->text);
    }
    return -1;
}

// ## Reading

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
    b.pattern = pattern_of(member(b.file.values, "pre_tokenizer"));
    if (b.pattern < 0)
        fail("%s: this program does not know its pre_tokenizer", path);
    b.whole_first = whole && whole->kind == JSON_TRUE;
    read_entries_of(&b, member(model, "vocab"), size);
    b.result = allocate((size_t)merges->count + 1, sizeof(int));
    for (const Json *m = merges->child; m; m = m->next)
        if (!read_json_merge(&b, m))
            fail("%s: merge %d is not two tokens that make a third, or is "
                 "there twice", path, b.merges.count + 1);
    read_added_tokens(&b);
    b.first = first_token_of(&b.file);
    if (b.first >= size)
        fail("%s: the first token is none of the model's %d", path, size);
    free(path);
    b.file.path = NULL;
    return b;
}
