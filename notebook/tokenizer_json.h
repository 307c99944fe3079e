// tokenizer_json.h: byte pairs as Llama's later models have them, in one file.
//
// tokenizer.json says in many words what vocab.json and merges.txt say, and
// besides by which pattern the text is cut first, and whether a token begins
// each text. Three patterns are known here. What asks for anything else is
// refused by its name, such as byte_fallback, for the pairs of the first two
// Llamas are not those of bytes.
//
// Include this file after bytepairs.h.

const char llama_pattern[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

// ## The pattern

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
    b.result = allocate((size_t)merges->count + 1, sizeof(int));
    for (const Json *m = merges->child; m; m = m->next)
        if (!read_json_merge(&b, m))
            fail("%s: merge %d is not two tokens that make a third, or is "
                 "there twice", path, b.merges.count + 1);
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
