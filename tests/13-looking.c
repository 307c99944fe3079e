// Chapter 13: attention as a file and as a picture, parameters and memory
// counted.

#include "test.h"
#include "model.h"

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

Vocab vocab_of(const char *const *word, int count) {
    Vocab v = vocab_new();
    for (int i = 0; i < count; i++)
        vocab_append(&v, word[i], (int)strlen(word[i]));
    return v;
}

// Reads one field of a CSV line; doubled quotes become one. Returns what stands
// behind it, which is a comma, a line end, or something that is wrong.
char next_field(const char **text, char to[64], bool *quoted) {
    const char *s = *text, *end = to + 63;
    *quoted = *s == '"';
    for (s += *quoted; *s && to < end; *to++ = *s++) {
        bool doubled = *quoted && *s == '"' && s[1] == '"';
        if (!doubled && strchr(*quoted ? "\"" : ",\n\"", *s))
            break;
        s += doubled;
    }
    *to = '\0';
    s += *quoted && *s == '"';
    *text = s + (*s != '\0');
    return *s;
}

typedef struct {
    char kind[64];
    long place[4]; // layer, head, query, key
    char weight[64], query[64], key[64];
    bool well_formed;
} CsvLine;

CsvLine next_csv_line(const char **text) {
    CsvLine line = {.well_formed = true};
    char field[64], *to[] = {line.kind, field, field, field, field,
                             line.weight, line.query, line.key};
    for (int i = 0; i < 8; i++) {
        bool quoted;
        char behind = next_field(text, to[i], &quoted);
        line.well_formed = line.well_formed && quoted == (i >= 6)
                        && behind == (i < 7 ? ',' : '\n');
        if (i >= 1 && i <= 4)
            line.place[i - 1] = strtol(field, NULL, 10);
    }
    return line;
}

typedef struct {
    int lines, formed, placed, close, exact, named, masked;
} CsvCount;

// Reads the lines of one head and compares them with its weights and names.
void compare_head(CsvCount *n, const char **text, const Saved *s, int kind,
                  int l, int h, const char *const *query,
                  const char *const *key) {
    Mat weights = attention_of(s, kind, l, h, H);
    for (int i = 0; i < weights.rows; i++)
        for (int j = 0; j < weights.cols; j++) {
            CsvLine line = next_csv_line(text);
            const long place[4] = {l, h, i, j};
            double w = *at(weights, i, j);
            n->lines++;
            n->formed += line.well_formed;
            n->placed += !strcmp(line.kind, kind_name[kind])
                      && !memcmp(line.place, place, sizeof place);
            double off = fabs(strtod(line.weight, NULL) - w);
            n->close += off <= 1e-3 * w; // less is a matter of digits
            n->exact += off <= 5e-9 * w;
            n->named += !strcmp(line.query, query[i])
                     && !strcmp(line.key, key[j]);
            n->masked += kind == DECODER && j > i && !strcmp(line.weight, "0");
        }
}

void test_csv(const Pass *pass, const Saved *s, const Batch *batch) {
    const char *from[] = {"\"", ",", "é", "\"a,\"\"b\"", "x"};
    const char *to[] = {"1", ",", "3", "4", "\"", "6", "la lune"};
    const char *source_names[S] = {",", "\"a,\"\"b\"", "\"", "x", "<end>"};
    const char *target_names[T] = {"<start>", "\"", ",", "la lune"};
    Vocab source = vocab_of(from, 5), target = vocab_of(to, 7);
    FILE *file = fopen(FILE_NAME, "wb");
    write_attention_csv(file, pass, s, batch, &source, &target);
    fclose(file);
    size_t size;
    char *contents = read_file(FILE_NAME, &size);
    const char *text = contents;
    const char names[] = "kind,layer,head,query,key,weight,query_token,"
                         "key_token\n";
    CLAIM(!strncmp(text, names, strlen(names)), "the first line has the names");
    text += strlen(names);
    CsvCount n = {0};
    for (int kind = 0; kind < KINDS; kind++)
        for (int l = 0; l < pass->config->layers; l++)
            for (int h = 0; h < H; h++)
                compare_head(&n, &text, s, kind, l, h,
                             kind == ENCODER ? source_names : target_names,
                             kind == DECODER ? target_names : source_names);
    int all = 2 * H * (S * S + T * T + T * S);
    CLAIM(n.formed == all && n.lines == all && !*text,
          "then come %d lines of six fields and two quoted ones", all);
    CLAIM(n.placed == all, "by kind, layer, head, query and key, from 0");
    CLAIM(n.close == all, "with the weight that this query gives this key");
    CLAIM(n.exact == n.close, "and no digit of its first nine is missing");
    CLAIM(n.masked == 2 * H * T * (T - 1) / 2, "which is 0 where it is masked");
    CLAIM(n.named == all, "and both tokens, even if they are \" or a comma");
    free(contents);
    vocab_free(&source);
    vocab_free(&target);
}

// ## The picture

bool file_holds(const char *expected) {
    size_t size;
    char *text = read_file(FILE_NAME, &size);
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
    FILE *file = fopen(FILE_NAME, "wb");
    draw_attention(file, mat(weight, 3, 4), rows, cols);
    fclose(file);
    CLAIM(file_holds("                l\n"
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

void test_columns(void) {
    CLAIM(columns("a") == 1 && columns("é") == 1 && columns("я") == 1
          && columns("→") == 1 && columns("\xcb\xbf") == 1
          && columns("\xcd\xb0") == 1 && columns("\xf4\x8f\xbf\xbf") == 1,
          "most characters take one column, the last one too");
    CLAIM(columns("猫") == 2 && columns("。") == 2 && columns("ひ") == 2
          && columns("ｶ") == 1 && columns("Ａ") == 2 && columns("ᄀ") == 2
          && columns("한") == 2 && columns("😀") == 2 && columns("🚗") == 2
          && columns("𠀀") == 2,
          "wide characters and emoji take two");
    CLAIM(columns(ACUTE) == 0 && columns("\xcd\xaf") == 0
          && columns("\xe2\x80\x8d") == 0 && columns("\xef\xb8\x8f") == 0,
          "combining marks take none");
    CLAIM(columns("") == 0 && columns("e" ACUTE "té") == 3
          && columns("猫x") == 3, "a name is as wide as its characters");
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
    FILE *file = fopen(FILE_NAME, "wb");
    draw_attention(file, mat(weight, 3, 3), rows, cols);
    fclose(file);
    CLAIM(file_holds("          e  \n"
                     "           " ACUTE "  \n"
                     "       黒 a  \n"
                     "       い  " ACUTE "  " ACUTE "\n"
                     "   猫 |  @@@@|\n"
                     "   e" ACUTE "t |    @@|\n"
                     "  abc |@@    |\n"),
          "names of wide characters and combining marks stand in their places");
}

// What cross-attention should look like, from the means as they are defined.
char *mean_picture(const Saved *s, const Pass *pass) {
    const char *rows[T] = {"e", "b?", "la", "<end>"};
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
    fclose(file);
    size_t size;
    return read_file(FILE_NAME, &size);
}

void test_cross_picture(Pass *pass, const Saved *s, const Batch *batch) {
    const char *from[] = {"un", "b", "c", "d", "e"};
    const char *to[] = {"a", "b\x7f", "c", "d", "e", "f\xc2\x9b", "la"};
    Vocab source = vocab_of(from, 5), target = vocab_of(to, 7);
    FILE *file = fopen(FILE_NAME, "wb");
    size_t mark = room.used;
    draw_cross_attention(file, pass, s, batch, &source, &target);
    fclose(file);
    CLAIM(room.used == mark, "drawing gives its memory back");
    size_t size;
    char *text = read_file(FILE_NAME, &size), *mean = mean_picture(s, pass);
    CLAIM(!strcmp(text, mean), "each picture shows the mean over the heads");
    free(mean);
    char *second = strstr(text, "|\n\ncross-attention, layer 1, mean of 3 heads"
                                "\n\n");
    CLAIM(!strncmp(text, "cross-attention, layer 0, mean of 3 heads\n\n", 43)
          && second && !strcmp(text + size - 2, "|\n"),
          "cross-attention is drawn layer by layer");
    const char *names[T] = {"\n      e |", "\n     b? |", "\n     la |",
                            "\n  <end> |"};
    bool named = second != NULL;
    for (int i = 0; named && i < T; i++) {
        const char *first = strstr(text, names[i]);
        named = first && first < second && strstr(second, names[i]);
    }
    CLAIM(named, "its rows have the names of the tokens that are written "
          "there, without control characters");
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

// Reads a line of the table: 18 columns of name, a number with commas, perhaps
// a share. Returns false if the name is not the expected one.
bool read_count(char **text, const char *name, long *count, double *share) {
    char *s = *text, digits[32] = "", *end = digits;
    size_t length = strcspn(s, "\n");
    bool named = !strncmp(s + strspn(s, " "), name, strlen(name));
    for (size_t i = 18; i < length && s[i] != '%'; i++) {
        if (*digits && s[i] == ' ')
            break;
        if (s[i] != ' ' && s[i] != ',')
            *end++ = s[i];
    }
    *end = '\0';
    *count = strtol(digits, NULL, 10);
    *share = length > 34 ? strtod(s + 34, NULL) : 0;
    *text = s + length + 1;
    return named;
}

// Whether one side of the table has the right components, counts, shares and
// total; adds the total to *all.
bool side_is_right(char **text, const Config *c, bool encoder, long *all) {
    long count, total = 0;
    double share, shares = 0;
    const char *title = encoder ? "encoder" : "decoder";
    bool good = read_count(text, title, &count, &share);
    for (int i = 0; i < COMPONENTS; i++) {
        long expected = formula(c, encoder, component_name[i]);
        if (expected == 0)
            continue;
        good = read_count(text, component_name[i], &count, &share) && good
            && count == expected;
        total += count;
        shares += share;
    }
    good = read_count(text, "total", &count, &share) && good && count == total;
    *all += total;
    return good && fabs(shares - 100) < 0.5;
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
        fclose(file);
        size_t size;
        char *contents = read_file(FILE_NAME, &size), *text = contents;
        long total = 0, count;
        double share;
        bool good = side_is_right(&text, &config, true, &total);
        good = side_is_right(&text, &config, false, &total) && good;
        good = read_count(&text, "parameters", &count, &share) && good;
        right += good && count == total && !*text
              && (size_t)count == t->list.count;
        free(contents);
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
