// bert.h, used by lab 18: BERT, with its tokens and its published parameters.
//
// BERT (Devlin and others, 2018) is the encoder of chapter 7 in the paper's own
// form, post-norm, with no mask but that of padding, so that every token sees
// all others. It was trained to guess which words were hidden. The differences:
//
//     embeddings   of token, position and segment are added and normalized;
//                  a text by itself is segment 0
//     ε            is 1e-12 in its norms, not 1e-5
//     activation   GELU by the error function, as in chapter 5
//     output       a linear layer, GELU and a norm come before the output
//                  layer, whose matrix is the embedding's; it has a bias
//
// In its file, matrices are [out, in], so each is used through a transposed
// view; and old files call the gain and bias of a norm gamma and beta. Include
// this file after gpt2.h.

// ## Its tokens
//
// BERT cuts a text in two steps. The first makes words of it:
//
//     clean     control characters and U+FFFD are dropped, white space of any
//               kind is a blank
//     space     a Chinese character is a word: blanks are put around it
//     lower     capitals become small letters, and accents are dropped: letters
//               are decomposed (é is e and an accent) and marks left out
//     split     at blanks; and each punctuation mark is a word. All signs of
//               ASCII count as such, even $ and +, which Unicode calls symbols
//
// The second cuts each word into pieces, from left to right, each the longest
// that the vocabulary has. A piece that does not begin a word is written with
// ## before it. If no piece fits at some place, the *whole* word is [UNK].
//
//     "Das Großraumbüro!"   ->   das gr ##o ##ß ##ra ##um ##bu ##ro !
//
// The hub's own programs, too, go letter by letter: capital Σ becomes σ even at
// the end of a word, where Greek has ς. A model's files may say that capitals
// or accents stay, or that Chinese characters do not stand apart.
//
// How to check it: another program gives the same tokens.

typedef struct {
    Tokens tokens;
    bool lower, strip, chinese; // small letters; no accents; blanks around those
    int longest_word;           // characters; a longer word is unknown
    int longest;                // bytes of the longest token
} WordPieces;

// ## Small letters without accents

enum { CAPITAL_I_DOT = 0x130, DOT_ABOVE = 0x307 };

int small_letter(int c) {
    const int *range = range_of(TABLE(capitals), c);
    return c + (range ? range[2] : 0);
}

// The combining class: 0 for a letter, above it for most marks.
int combining_class(int c) {
    const int *range = range_of(TABLE(classes), c);
    return range ? range[2] : 0;
}

enum { LONGEST_DECOMPOSITION = 4 };

// Writes the characters that one decomposes into in the end; returns how many.
// The two or three parts of a Hangul syllable follow from its number.
int decompose(int *to, int c) {
    const int *parts = row_up_to(TABLE(decompositions), c);
    int s = c - 0xac00, n = 0;
    if (s >= 0 && s < 19 * 21 * 28) {
        to[n++] = 0x1100 + s / (21 * 28);
        to[n++] = 0x1161 + s / 28 % 21;
        if (s % 28)
            to[n++] = 0x11a7 + s % 28;
    } else if (!parts || parts[0] != c) {
        to[n++] = c;
    } else {
        n = decompose(to, parts[1]);
        if (parts[2])
            n += decompose(to + n, parts[2]);
    }
    return n;
}

// Puts marks that follow one another into the order of their classes; marks of
// one class stay in their order.
void order_marks(int *c, int n) {
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && combining_class(c[k])
             && combining_class(c[k - 1]) > combining_class(c[k]); k--) {
            int kept = c[k];
            c[k] = c[k - 1];
            c[k - 1] = kept;
        }
}

// ## Words

bool is_chinese(int c) {
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf)
        || (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f)
        || (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b820 && c <= 0x2ceaf)
        || (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

bool is_punctuation(int c) {
    bool sign = c > ' ' && c < 0x7f && !(c >= '0' && c <= '9')
             && !(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z');
    return sign || IN(punctuation, c);
}

// The normal form of valid text, in a new block that the caller frees: clean,
// with blanks around Chinese characters, in small letters, without marks.
char *normal_form(const WordPieces *w, const char *text) {
    size_t most = LONGEST_DECOMPOSITION * strlen(text) + 1;
    int *c = allocate(most, sizeof *c), n = 0;
    char *form = allocate(2 * most + 2, 2), *to = form;
    for (; *text; text += utf8_length(text)) {
        int one = utf8_number(text), blanks = w->chinese && is_chinese(one);
        bool tab = one == '\t' || one == '\n' || one == '\r';
        bool space = tab || IN(spaces, one);
        if (one == 0xfffd || (IN(controls, one) && !tab))
            continue;
        if (blanks)
            c[n++] = ' ';
        n += w->strip && !space ? decompose(c + n, one) : 1;
        if (!w->strip || space)
            c[n - 1] = space ? ' ' : one;
        if (blanks)
            c[n++] = ' ';
    }
    if (w->strip)
        order_marks(c, n);
    for (int i = 0; i < n; i++) {
        if (w->strip && IN(marks, c[i]))
            continue;
        to = write_utf8(to, w->lower ? small_letter(c[i]) : c[i]);
        if (w->lower && c[i] == CAPITAL_I_DOT) // its small form is two of them
            to = write_utf8(to, DOT_ABOVE);
    }
    free(c);
    return form;
}

// ## Pieces

// The token of the longest piece from text[first] to *end at most, -1 if there
// is none; *end becomes where it ends. `piece` is scratch for `longest` bytes
// and a few more.
int longest_piece(const WordPieces *w, const char *text, int first, int *end,
                  char *piece) {
    char *start = piece + sprintf(piece, first ? "##" : "");
    int most = w->longest - (int)(start - piece);
    for (*end = min_int(*end, first + most); *end > first; --*end) {
        memcpy(start, text + first, (size_t)(*end - first));
        start[*end - first] = '\0';
        int id = find_entry(&w->tokens, piece);
        if (id >= 0)
            return id;
    }
    return -1;
}

// Appends the pieces of a word of `length` bytes.
void cut_word(Sentence *s, const WordPieces *w, const char *text, int length) {
    int first = 0, before = s->length, characters = 0;
    char *piece = allocate((size_t)w->longest + 4, 1);
    for (int i = 0; i < length; i += utf8_length(text + i))
        characters++;
    while (first < length && characters <= w->longest_word) {
        int end = length, id = longest_piece(w, text, first, &end, piece);
        if (id < 0)
            break;
        s->id[s->length++] = id;
        first = end;
    }
    free(piece);
    if (first < length) {
        s->length = before;
        s->id[s->length++] = w->tokens.special[UNK];
    }
}

// Appends the words of a text in its normal form: what stands between blanks,
// and each punctuation mark by itself.
void cut_form(Sentence *s, const void *of, const char *text) {
    for (const char *c = text, *end; *c; c = end) {
        end = c + utf8_length(c);
        if (!is_punctuation(utf8_number(c)))
            while (*c != ' ' && *end && *end != ' '
                   && !is_punctuation(utf8_number(end)))
                end += utf8_length(end);
        if (*c != ' ')
            cut_word(s, of, c, (int)(end - c));
    }
}

// Those of a text from which the words that are found first have been cut.
void cut_text(Sentence *s, const void *of, const char *text) {
    const WordPieces *w = of;
    char *form = normal_form(w, text);
    cut_around(s, &w->tokens, true, cut_form, w, form);
    free(form);
}

// A text -> [CLS], the tokens of its words, [SEP]; the caller frees them. A
// character becomes at most as many tokens as it decomposes into.
Sentence cut_words(const WordPieces *w, const char *text) {
    check_text(text);
    size_t most = LONGEST_DECOMPOSITION * strlen(text) + 2;
    Sentence s = {allocate(most, sizeof(int)), 0};
    s.id[s.length++] = w->tokens.special[CLS];
    cut_around(&s, &w->tokens, false, cut_text, w, text);
    s.id[s.length++] = w->tokens.special[SEP];
    return s;
}

// ## Reading

// Whether a special token has this text.
bool is_named(const Tokens *t, int special, const Json *text) {
    return text && text->text && token_number(t, text->text) == t->special[special];
}

// What is put around a text must be [CLS] and [SEP]. Older files say it in one
// way, later ones in another.
void check_template(const Tokens *t) {
    const Json *after = setting(&t->whole, "post_processor");
    const Json *old = member(after, "cls"), *end = member(after, "sep");
    const Json *list = member(after, "single"), *part[3] = {0};
    for (const Json *v = child_of(list); v && list->count == 3; v = v->next)
        part[v == list->child ? 0 : v->next ? 1 : 2] = v;
    const Json *first = member(member(part[0], "SpecialToken"), "id");
    const Json *last = member(member(part[2], "SpecialToken"), "id");
    bool right = is_string(member(after, "type"), "BertProcessing")
               ? is_named(t, CLS, child_of(old)) && is_named(t, SEP, child_of(end))
               : is_named(t, CLS, first) && member(part[1], "Sequence")
                 && is_named(t, SEP, last);
    if (!right)
        fail("%s: post_processor does not put %s before a text and %s after it",
             t->path, special_key[CLS].usual[1], special_key[SEP].usual[1]);
}

// How a text gets its normal form, and what is a word. tokenizer.json says so
// if it is there, but switches of tokenizer_config.json override it.
void read_switches(WordPieces *w) {
    const JsonFile *whole = &w->tokens.whole, *c = &w->tokens.config;
    bool chain = whole->values;
    JsonFile form = part_of(whole, "normalizer", chain ? "BertNormalizer" : NULL);
    JsonFile words = part_of(whole, "pre_tokenizer",
                             chain ? "BertPreTokenizer" : NULL);
    JsonFile model = part_of(whole, "model", chain ? "WordPiece" : NULL);
    const Json *unknown = setting(&model, "unk_token");
    w->lower = flag_setting(c, "do_lower_case",
                            flag_setting(&form, "lowercase", true));
    w->strip = flag_setting(c, "strip_accents",
                            flag_setting(&form, "strip_accents", w->lower));
    w->chinese = flag_setting(c, "tokenize_chinese_chars",
                              flag_setting(&form, "handle_chinese_chars", true));
    w->longest_word = size_setting(&model, "max_input_chars_per_word", 1000000,
                                   100);
    switch_setting(&form, "clean_text", true);
    switch_setting(c, "do_basic_tokenize", true);
    text_setting(&model, "continuing_subword_prefix", "##");
    if (child_of(setting(c, "never_split")))
        fail("%s: never_split is not known to this program", c->path);
    if (unknown && !is_named(&w->tokens, UNK, unknown))
        fail("%s: unk_token is not the one in the other files", model.path);
    free(form.path);
    free(words.path);
    free(model.path);
}

// The tokenizer of a model with `size` rows.
WordPieces read_word_pieces(const char *folder, int size) {
    WordPieces w = {.tokens = read_tokens(folder, size, true)};
    const Tokens *t = &w.tokens;
    const int needed[] = {UNK, CLS, SEP};
    for (int k = 0; k < 3; k++)
        if (t->special[needed[k]] < 0)
            fail("%s: the token %s is missing", t->path,
                 special_key[needed[k]].usual[1]);
    read_switches(&w);
    if (t->whole.values)
        check_template(t);
    for (int i = 0; i < t->count; i++)
        w.longest = max_int(w.longest, (int)strlen(t->entry[i].text));
    for (int i = 0; i < t->adds; i++)
        if (t->added[i].normalized)
            t->added[i].found = normal_form(&w, t->added[i].text);
    return w;
}

void word_pieces_free(WordPieces *w) {
    for (int i = 0; i < w->tokens.adds; i++)
        if (w->tokens.added[i].normalized)
            free((char *)w->tokens.added[i].found);
    tokens_free(&w->tokens);
}

// ## The model

const char *const bert_ignored[] = {
    "position_ids", "pooler.", "cls.seq_relationship.",
    "cls.predictions.decoder.", "classifier.", "qa_outputs.", NULL};

// The encoder, and what stands before and after it.
typedef struct {
    Transformer *base; // sizes, embedding, positions, encoder, bias of the
                       // output layer, and the list of all tensors
    Mat segments;      // (2,D)
    Norm embedding_norm;
    bool head;         // for masked words; many models have none
    Linear transform;  // (D,D)
    Norm transform_norm;
    real stretch;      // a norm's input times this: see "Forward"
} Bert;

// The sizes; Config has no fields for `epsilon` and `segments`.
Config bert_config(const char *folder, double *epsilon, int *segments) {
    JsonFile f = read_hub_config(folder, "bert");
    Config c = {.norm = POST_NORM, .positions = LEARNED, .activation = GELU,
                .tie = 1};
    c.layers = size_setting(&f, "num_hidden_layers", 1000, NEEDED);
    c.d_model = size_setting(&f, "hidden_size", 65536, NEEDED);
    c.heads = size_setting(&f, "num_attention_heads", c.d_model, NEEDED);
    c.d_ff = size_setting(&f, "intermediate_size", 1000000, NEEDED);
    c.target_vocab = size_setting(&f, "vocab_size", 10000000, NEEDED);
    c.max_len = size_setting(&f, "max_position_embeddings", 1000000, NEEDED);
    *segments = size_setting(&f, "type_vocab_size", 1000, 2);
    *epsilon = number_setting(&f, "layer_norm_eps", 1e-12);
    if (c.d_model % c.heads)
        fail("%s: num_attention_heads does not divide hidden_size", f.path);
    text_setting(&f, "hidden_act", "gelu");
    text_setting(&f, "position_embedding_type", "absolute");
    switch_setting(&f, "tie_word_embeddings", true);
    switch_setting(&f, "is_decoder", false);
    json_free(&f);
    return c;
}

// A linear layer, in to out, whose weight is [out, in] in the file.
void list_turned(TensorList *l, Linear *w, int in, int out, Name path) {
    list_tensor(l, &w->weight, out, in, INIT_XAVIER,
                join(path.text, ".weight"));
    list_tensor(l, &w->bias, 1, out, INIT_ZEROS, join(path.text, ".bias"));
}

void list_bert_layer(TensorList *l, EncoderLayer *w, const Config *c, int i) {
    int D = c->d_model, F = c->d_ff;
    char at[NAME_SIZE];
    MultiHead *a = &w->self_attention.multi_head;
    FeedForwardSublayer *f = &w->feed_forward;
    snprintf(at, sizeof at, "encoder.layer.%d.", i);
    list_turned(l, &a->query, D, D, join(at, "attention.self.query"));
    list_turned(l, &a->key, D, D, join(at, "attention.self.key"));
    list_turned(l, &a->value, D, D, join(at, "attention.self.value"));
    list_turned(l, &a->output, D, D, join(at, "attention.output.dense"));
    list_hub_norm(l, &w->self_attention.norm, D,
                  join(at, "attention.output.LayerNorm"));
    list_turned(l, &f->network.inner, D, F,
                join(at, "intermediate.dense"));
    list_turned(l, &f->network.outer, F, D, join(at, "output.dense"));
    list_hub_norm(l, &f->norm, D, join(at, "output.LayerNorm"));
}

// The list, in the layout of the file.
Bert *bert_outline(const Config *c, int segments) {
    int D = c->d_model, V = c->target_vocab;
    Bert *b = allocate(1, sizeof *b);
    Transformer *t = b->base = encoder_outline(c);
    TensorList *l = &t->list;
    list_table(l, &t->target_embedding, V, D, "embeddings.word_embeddings");
    list_table(l, &t->target_positions, c->max_len, D,
               "embeddings.position_embeddings");
    list_table(l, &b->segments, segments, D,
               "embeddings.token_type_embeddings");
    list_hub_norm(l, &b->embedding_norm, D,
                  join("embeddings.LayerNorm", ""));
    for (int i = 0; i < c->layers; i++)
        list_bert_layer(l, &t->encoder.layer[i], c, i);
    list_turned(l, &b->transform, D, D,
                join("cls.predictions.transform.dense", ""));
    list_hub_norm(l, &b->transform_norm, D,
                  join("cls.predictions.transform.LayerNorm", ""));
    list_tensor(l, &t->output.bias, 1, V, INIT_ZEROS,
                join("cls.predictions.bias", ""));
    return b;
}

// For when the numbers have their places: from now on, all matrices but the
// embeddings are seen as (in,out).
void turn_bert(Bert *b) {
    const TensorList *l = &b->base->list;
    for (Tensor *t = l->tensor; t < l->tensor + l->tensors; t++)
        if (!is_vector(t) && !strstr(t->name.text, "embed"))
            *t->mat = transposed(*t->mat);
    b->base->output.weight = transposed(b->base->target_embedding);
}

// The model in a folder.
Bert *read_bert(const char *folder) {
    double epsilon;
    int segments;
    const Config c = bert_config(folder, &epsilon, &segments);
    Bert *b = bert_outline(&c, segments);
    b->stretch = (real)sqrt(NORM_EPSILON / epsilon);
    read_parameters(&b->base->list,
                    (Naming){"bert.", bert_ignored, "cls.predictions."}, folder,
                    NULL);
    b->head = b->transform.weight.at;
    turn_bert(b);
    return b;
}

void bert_free(Bert *b) {
    transformer_free(b->base);
    free(b);
}

// ## Forward
//
// norm_forward has ε = 1e-5. Another ε is reached by stretching: the mean and
// the deviation of s x are s times those of x, so
//
//     norm(s x) = s (x - μ)/√(s² σ² + 1e-5) = (x - μ)/√(σ² + 1e-5/s²)
//
// is the norm of x with ε = 1e-5/s². For 1e-12, s is 3162.

// norm(x) with the model's ε; x (N,D) is overwritten -> (N,D)
Mat stretched_norm(Pass *pass, const Bert *b, const Norm *w, Mat x) {
    NormSaved s;
    scale_by(x, b->stretch);
    return norm_forward(pass, &s, w, x);
}

// ids (T), T ≤ P -> (T,D): the encoding of each token
Mat bert_forward(Pass *pass, const Bert *b, const int *ids, int T) {
    const Transformer *t = b->base;
    EmbeddingSaved embedding;
    Mat x = bare_forward(pass, &embedding, t->target_embedding,
                         t->target_positions, ids, T);
    for (int i = 0; i < T; i++)
        add(slice_rows(x, i, 1), slice_rows(b->segments, 0, 1));
    x = stretched_norm(pass, b, &b->embedding_norm, x);
    for (int l = 0; l < t->config.layers; l++) {
        const AttentionSublayer *a = &t->encoder.layer[l].self_attention;
        const FeedForwardSublayer *f = &t->encoder.layer[l].feed_forward;
        MultiHeadSaved attention;
        FeedForwardSaved network;
        Mat y = multi_head_forward(pass, &attention, &a->multi_head, x, x,
                                   (Mask){0});                // (1) attention
        add(y, x);
        x = stretched_norm(pass, b, &a->norm, y);
        y = ffn_forward(pass, &network, &f->network, x);      // (2) network
        add(y, x);
        x = stretched_norm(pass, b, &f->norm, y);
    }
    return x;
}

// Fails if numbers have overflowed: then they no longer mean anything.
void check_finite(Mat m) {
    for (int i = 0; i < m.rows * m.cols; i++)
        if (!isfinite(m.at[i]))
            fail("the model's numbers are not finite");
}

// hidden (N,D) of any tokens -> logits (N,V) of the words in their places
Mat bert_logits(Pass *pass, const Bert *b, Mat hidden) {
    Mat x = linear_forward(pass, &b->transform, hidden);
    Mat active = arena_mat(pass->arena, x.rows, x.cols);
    activation_forward(active, x, GELU);
    Mat y = stretched_norm(pass, b, &b->transform_norm, active);
    return linear_forward(pass, &b->base->output, y);
}
