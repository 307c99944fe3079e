// Chapter 13: attention as a file and as a picture, and how many parameters and
// how much memory a model has.

#include "../lib/test.h"
#include "../lib/model.h"

#define FILE_NAME SCRATCH "13-looking.txt"

int source_sentence[S] = {5, 7, 4, 8, END};
int target_sentence[T] = {8, 5, 10, END};

// ## The right matrix

// One head's weights, straight from the formula: softmax(x Wq (y Wk)ᵀ/√K).
Mat direct_weights(const MultiHead *w, Mat x, Mat y, int h, bool causal) {
    int K = D / H;
    Mat q = filled_mat(x.rows, D, 0), k = filled_mat(y.rows, D, 0);
    Mat weights = filled_mat(x.rows, y.rows, 0);
    matmul_definition(q, x, w->query.weight);
    matmul_definition(k, y, w->key.weight);
    for (int i = 0; i < x.rows; i++) {
        double total = 0;
        for (int j = 0; j < (causal ? i + 1 : y.rows); j++) {
            double score = 0;
            for (int p = h * K; p < (h + 1) * K; p++)
                score += (*at(q, i, p) + w->query.bias.at[p])
                       * (*at(k, j, p) + w->key.bias.at[p]);
            *at(weights, i, j) = (real)exp(score / sqrt(K));
            total += *at(weights, i, j);
        }
        for (int j = 0; j < y.rows; j++)
            *at(weights, i, j) /= (real)total;
    }
    return weights;
}

// The same head from the model's parameters and what went into its layer.
Mat expected_weights(const Transformer *t, const Saved *s, int kind, int l,
                     int h) {
    const EncoderLayer *encoder = &t->encoder.layer[l];
    const DecoderLayer *decoder = &t->decoder.layer[l];
    Mat x = s->encoder.layer[l].self_attention.multi_head.x;
    if (kind == ENCODER)
        return direct_weights(&encoder->self_attention.multi_head, x, x, h,
                              false);
    x = s->decoder.layer[l].self_attention.multi_head.x;
    if (kind == DECODER)
        return direct_weights(&decoder->self_attention.multi_head, x, x, h,
                              true);
    x = s->decoder.layer[l].cross_attention.multi_head.x;
    return direct_weights(&decoder->cross_attention.multi_head, x, s->memory,
                          h, false);
}

void test_attention_of(const Transformer *t, const Saved *s) {
    int right = 0, all = 0;
    for (int kind = 0; kind < KINDS; kind++)
        for (int l = 0; l < t->config.layers; l++)
            for (int h = 0; h < H; h++, all++) {
                Mat weights = attention_of(s, kind, l, h, H);
                Mat direct = expected_weights(t, s, kind, l, h);
                right += largest_error(weights, direct) < 1e-9;
            }
    CLAIM(right == all, "each of %d matrices is that of its kind, layer and "
          "head", all);
    Mat cross = attention_of(s, CROSS, 0, 0, H);
    Mat decoder = attention_of(s, DECODER, 0, 0, H);
    CLAIM(cross.rows == T && cross.cols == S && decoder.rows == T
          && decoder.cols == T && attention_of(s, ENCODER, 0, 0, H).rows == S,
          "a row for each query, a column for each key");
    bool whole = true;
    for (int i = 0; i < T; i++)
        whole = whole && fabs(sum(row(cross, i), S) - 1) < 1e-9;
    CLAIM(whole, "the rows sum to 1: looking drops nothing");
}

// ## The file

// Closes a file and returns what was written to it, which the caller frees.
char *written(FILE *file) {
    size_t size;
    fclose(file);
    return read_file(FILE_NAME, &size);
}

// The lines of one head, between the names of its queries and keys.
void write_head(FILE *file, Mat weights, int kind, int l, int h,
                const char *const *query, const char *const *key) {
    for (int i = 0; i < weights.rows; i++)
        for (int j = 0; j < weights.cols; j++)
            fprintf(file, "%s,%d,%d,%d,%d,%.9g,\"%s\",\"%s\"\n",
                    kind_name[kind], l, h, i, j, kind == DECODER && j > i ? 0
                    : (double)*at(weights, i, j), query[i], key[j]);
}

void test_csv(const Pass *pass, const Saved *s, const Batch *batch) {
    const char *from[] = {"\"", ",", "é", "\"a,\"\"b\"", "x"};
    const char *to[] = {"1", ",", "3", "4", "\"", "6", "la lune"};
    // The same words as they stand in the sentences, with doubled quotes.
    const char *source_names[S] = {",", "\"\"a,\"\"\"\"b\"\"", "\"\"", "x",
                                   "<end>"};
    const char *target_names[T] = {"<start>", "\"\"", ",", "la lune"};
    Vocab source = vocab_of(from, 5), target = vocab_of(to, 7);
    FILE *file = fopen(FILE_NAME, "wb");
    write_attention_csv(file, pass, s,
                        tokens_of(&room, &source, batch->source, S),
                        tokens_of(&room, &target, batch->input, T));
    char *text = written(file);
    file = fopen(FILE_NAME, "wb");
    fputs("kind,layer,head,query,key,weight,query_token,key_token\n", file);
    for (int kind = 0; kind < KINDS; kind++)
        for (int l = 0; l < pass->config->layers; l++)
            for (int h = 0; h < H; h++)
                write_head(file, attention_of(s, kind, l, h, H), kind, l, h,
                           kind == ENCODER ? source_names : target_names,
                           kind == DECODER ? target_names : source_names);
    char *expected = written(file);
    CLAIM(!strcmp(text, expected), "the file: a line with the names, then one "
          "for each of %d weights, by kind, layer, head, query and key, from "
          "0; nine digits of what this query gives this key, 0 where it is "
          "masked; and both tokens, quoted, even if they are \" or a comma",
          2 * H * (S * S + T * T + T * S));
    free(text);
    free(expected);
    vocab_free(&source);
    vocab_free(&target);
}

// ## The picture

// Whether these weights are drawn as expected.
bool drawn_as(Mat weights, const char *const *rows, const char *const *cols,
              const char *expected) {
    FILE *file = fopen(FILE_NAME, "wb");
    draw_attention(file, weights, rows, cols);
    char *text = written(file);
    bool same = !strcmp(text, expected);
    if (!same)
        printf("%s", text);
    free(text);
    return same;
}

void test_picture(void) {
    real weight[] = {0, (real)0.0999, (real)0.15, (real)0.25,
                     (real)0.35, (real)0.45, (real)0.55, (real)0.65,
                     (real)0.75, (real)0.85, (real)0.95, 1};
    const char *rows[] = {"né", "<end>", "x"};
    const char *cols[] = {"é", "ab", ",", "lune"};
    CLAIM(drawn_as(mat(weight, 3, 4), rows, cols,
                   "                l\n"
                   "                u\n"
                   "            a   n\n"
                   "          é b , e\n"
                   "     né |    ..::|\n"
                   "  <end> |--==++**|\n"
                   "      x |##%%@@@@|\n"),
          "a picture: keys upright above their columns, queries before their "
          "rows, ten shades");
}

// Combining marks are written with their numbers here: an editor might put them
// together with their letters.
#define ACUTE "\xcc\x81" // U+0301

const struct {
    const char *text;
    int columns;
} width[] = {
    {"", 0}, {"a", 1}, {"é", 1}, {"я", 1}, {"→", 1}, {"\xcb\xbf", 1}, {"\xcd\xb0", 1},
    {"\xf4\x8f\xbf\xbf", 1}, // the last character
    {"猫", 2}, {"。", 2}, {"ひ", 2}, {"ｶ", 1}, {"Ａ", 2}, {"ᄀ", 2}, {"한", 2}, {"😀", 2},
    {"🚗", 2}, {"𠀀", 2}, {"猫x", 3}, {"e" ACUTE "té", 3}, {ACUTE, 0}, {"\xcd\xaf", 0},
    {"\xe2\x80\x8d", 0}, {"\xef\xb8\x8f", 0}, {"\xe3\x81\xaf\xe3\x82\x99", 2}, // ha, "
    {"ที่นี่", 2}, {"मुझे", 2}, {"हिन्दी", 5}, {"كِتَابٌ", 4}, {"ٱلرَّحْمَـٰنِۚ", 7}, {"अ॒ग्निमी॑ळे", 7},
    {"বিশ্ব", 4}, {"தமிழ்", 4}, {"ଓଡ଼ିଆ", 3}, {"ශ්‍රී", 2}, {"കേരളത്തിൽ", 8}, {"తెలుగు", 5},
    {"ಕನ್ನಡ", 4}, {"ગુજરાતી", 6}, {"ਪੰਜਾਬੀ", 5}, {"ນ້ຳ", 2}, {"ខ្មែរ", 4}, {"မြန်မာ", 5},
    {"བོད་ཡིག", 5}, {"שָׁלוֹם", 4}, {"ދިވެހި", 3}};

void test_columns(void) {
    for (size_t k = 0; k < sizeof width / sizeof *width; k++)
        CLAIM(columns(width[k].text) == width[k].columns, "“%s” takes %d columns",
              width[k].text, width[k].columns);
    const char *name = "é猫x", *empty = "";
    CLAIM(last_characters(name, 0) == name + 6
          && last_characters(name, 1) == name + 5
          && last_characters(name, 2) == name + 2
          && last_characters(name, 3) == name && !last_characters(name, 4)
          && last_characters(empty, 0) == empty && !last_characters(empty, 1),
          "the last characters of a name, as many as it has");
}

void test_wide_picture(void) {
    real weight[] = {0, 1, 1, 0, 0, 1, 1, 0, 0};
    const char *rows[] = {"猫", "e" ACUTE "t", "abc"};
    const char *cols[] = {"黒い", "e" ACUTE "a" ACUTE, ACUTE};
    CLAIM(drawn_as(mat(weight, 3, 3), rows, cols,
                   "          e  \n"
                   "           " ACUTE "  \n"
                   "       黒 a  \n"
                   "       い  " ACUTE "  " ACUTE "\n"
                   "   猫 |  @@@@|\n"
                   "   e" ACUTE "t |    @@|\n"
                   "  abc |@@    |\n"),
          "names with wide characters and combining marks are aligned");
}

// What cross-attention should look like, from the means as they are defined.
char *mean_picture(const Saved *s, const Pass *pass) {
    const char *rows[T] = {"e", "b", "la", "<end>"};
    const char *cols[S] = {"b", "d", "un", "e", "<end>"};
    FILE *file = fopen(FILE_NAME, "wb");
    for (int l = 0; l < pass->config->layers; l++) {
        Mat mean = filled_mat(T, S, 0);
        for (int i = 0; i < T * S; i++)
            for (int h = 0; h < H; h++)
                mean.at[i] += attention_of(s, CROSS, l, h, H).at[i] / H;
        fprintf(file, "%scross-attention, layer %d, mean of %d heads\n\n",
                l ? "\n" : "", l, H);
        draw_attention(file, mean, rows, cols);
    }
    return written(file);
}

void test_cross_picture(Pass *pass, const Saved *s, const Batch *batch) {
    const char *from[] = {"un", "b", "c", "d", "e"};
    const char *to[] = {"a", "b", "c", "d", "e", "f", "la"};
    Vocab source = vocab_of(from, 5), target = vocab_of(to, 7);
    FILE *file = fopen(FILE_NAME, "wb");
    const char **cols = tokens_of(&room, &source, batch->source, S);
    const char **rows = tokens_of(&room, &target, batch->expected, T);
    size_t mark = room.used;
    draw_cross_attention(file, pass, s, rows, cols);
    CLAIM(room.used == mark, "drawing gives its memory back");
    char *text = written(file), *mean = mean_picture(s, pass);
    CLAIM(!strcmp(text, mean), "cross-attention is drawn layer by layer, each "
          "picture the mean over the heads; its rows have the names of the "
          "tokens that are written there");
    free(mean);
    free(text);
    vocab_free(&source);
    vocab_free(&target);
}

// ## Parameters

bool with_commas_is(size_t n, const char *expected) {
    char text[32];
    return !strcmp(with_commas(text, n), expected);
}

void test_names(void) {
    CLAIM(with_commas_is(0, "0") && with_commas_is(999, "999")
          && with_commas_is(1000, "1,000") && with_commas_is(100000, "100,000")
          && with_commas_is(24034304, "24,034,304")
          && with_commas_is(1000000000, "1,000,000,000"),
          "a comma stands after every third digit");
    const struct {
        const char *name, *component;
    } expected[] = {
        {"source_embedding.weight", "embedding"},
        {"target_positions.weight", "positions"},
        {"encoder.11.self_attention.output.weight", "attention"},
        {"decoder.0.self_attention.query.bias", "attention"},
        {"decoder.0.cross_attention.output.bias", "cross-attention"},
        {"decoder.0.cross_attention_norm.gain", "norms"},
        {"encoder.0.feed_forward_norm.bias", "norms"},
        {"decoder.norm.gain", "norms"},
        {"encoder.0.feed_forward.outer.weight", "feed-forward"},
        {"output.weight", "output layer"}, {"output.bias", "output layer"},
    };
    int right = 0, all = sizeof expected / sizeof *expected;
    for (int i = 0; i < all; i++)
        right += !strcmp(component_name[component_of(expected[i].name)],
                         expected[i].component);
    CLAIM(right == all, "a tensor's name tells its component");
}

// How many parameters a component should have, by the formulas.
long formula(const Config *c, bool encoder, const char *component) {
    long V = encoder ? SOURCE_V : TARGET_V, L = c->layers;
    if (!strcmp(component, "embedding"))
        return V * D;
    if (!strcmp(component, "positions"))
        return c->positions == LEARNED ? (c->max_len + 1) * D : 0;
    if (!strcmp(component, "attention"))
        return L * 4 * (D * D + D);
    if (!strcmp(component, "cross-attention"))
        return encoder ? 0 : L * 4 * (D * D + D);
    if (!strcmp(component, "feed-forward"))
        return L * (2 * D * F + D + F);
    if (!strcmp(component, "norms"))
        return 2 * D * (L * (encoder ? 2 : 3) + (c->norm == PRE_NORM));
    return encoder ? 0 : c->tie ? TARGET_V : D * TARGET_V + TARGET_V;
}

// Writes one side of the table by the formulas; returns its total.
long write_side(FILE *file, const Config *c, bool encoder) {
    long count[COMPONENTS], total = 0;
    char text[32];
    for (int i = 0; i < COMPONENTS; i++)
        total += count[i] = formula(c, encoder, component_name[i]);
    fprintf(file, "%s\n", encoder ? "encoder" : "decoder");
    for (int i = 0; i < COMPONENTS; i++)
        if (count[i])
            fprintf(file, "  %-16s %15s  %5.1f %%\n", component_name[i],
                    with_commas(text, (size_t)count[i]),
                    100.0 * (double)count[i] / (double)total);
    fprintf(file, "  total            %15s\n",
            with_commas(text, (size_t)total));
    return total;
}

void test_parameters(void) {
    int right = 0, all = 0;
    for (int k = 0; k < 12; k++, all++) {
        Config config = small_config();
        config.norm = k % 2;
        config.tie = k / 2 % 2;
        config.positions = k / 4;
        Transformer *t = transformer_outline(&config);
        FILE *file = fopen(FILE_NAME, "wb");
        print_parameters(file, &t->list);
        char *table = written(file), text[32];
        file = fopen(FILE_NAME, "wb");
        long total = write_side(file, &config, true);
        total += write_side(file, &config, false);
        fprintf(file, "parameters         %15s\n",
                with_commas(text, (size_t)total));
        char *expected = written(file);
        right += !strcmp(table, expected) && (size_t)total == t->list.count;
        free(table);
        free(expected);
        transformer_free(t);
    }
    CLAIM(right == all, "the table of parameters agrees with the formulas and "
          "adds up, in %d configurations", all);
}

// ## Memory

// Bytes that a forward pass takes from the arena.
size_t bytes_taken(const Config *config, int sentences, int source, int target) {
    int *ids = allocate((size_t)(sentences * (source + target)), sizeof *ids);
    for (int i = 0; i < sentences * (source + target); i++)
        ids[i] = FIRST_TOKEN + i % 50;
    int *input = ids + sentences * source;
    Batch batch = {sentences, source, target, ids, input, input};
    Transformer *t = transformer_new(config);
    initialize(&t->list, 1);
    Arena arena = {0};
    Pass pass = {&arena, config, true, 1, 0};
    Saved s;
    transformer_forward(&pass, &s, t, &batch);
    size_t used = arena.used;
    arena_free(&arena);
    transformer_free(t);
    free(ids);
    return used;
}

void check_memory(Config config, int sentences, int source, int target,
                  const char *name) {
    double taken = (double)bytes_taken(&config, sentences, source, target);
    double said = saved_bytes(&config, sentences, source, target);
    double allowed = config.norm == PRE_NORM ? 0.03 : 0.01; // last norms, masks
    CLAIM(fabs(said / taken - 1) < allowed, "%s: the formula says %.0f KB, the "
          "forward pass takes %.0f KB", name, said / 1000, taken / 1000);
}

void test_memory(void) {
    Config c = {.layers = 2, .d_model = 64, .heads = 4, .d_ff = 256,
                .source_vocab = 100, .target_vocab = 100, .max_len = 64};
    check_memory(c, 16, 20, 20, "without dropout");
    check_memory(c, 16, 10, 40, "a long target");
    check_memory(c, 16, 40, 10, "a long source");
    c.dropout = c.activation_dropout = 0.1;
    check_memory(c, 16, 20, 20, "dropout, but not of attention weights");
    c.attention_dropout = 0.1;
    check_memory(c, 16, 20, 20, "with dropout");
    check_memory(c, 4, 60, 60, "with dropout, long sentences");
    c.norm = PRE_NORM;
    check_memory(c, 16, 20, 20, "pre-norm");
    c.d_ff = 64;
    c.target_vocab = 5000;
    check_memory(c, 16, 20, 20, "a large vocabulary");
}

int main(void) {
    Config config = small_config();
    drop_everywhere(&config, 0.5); // must make no difference here
    Transformer *t = random_transformer(&config);
    Pass pass = {.arena = &room, .config = &t->config};
    Saved s;
    Batch batch = look(&pass, &s, t, (Sentence){source_sentence, S},
                       (Sentence){target_sentence, T});
    test_attention_of(t, &s);
    test_csv(&pass, &s, &batch);
    test_picture();
    test_columns();
    test_wide_picture();
    test_cross_picture(&pass, &s, &batch);
    test_names();
    test_parameters();
    test_memory();
    transformer_free(t);
    remove(FILE_NAME);
    arena_free(&room);
    return claims_end();
}
