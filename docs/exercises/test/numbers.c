// The numbers that the pages of kind "number" ask for, as lines "name = value",
// except those that labs have measured. test_kinds.py compares the pages with them:
// what changes the initial parameters or the layers changes these answers, too.

#include "../../../notebook/lib/lab.h"
#include "../../../notebook/lib/tasks.h"
#include "../../../notebook/lib/modern.h"
#include "../../../notebook/lib/nouns.h"

static Arena room;

static void print_answer(const char *name, double value) {
    printf("%s = %.9g\n", name, value);
}

// Numbers around 0, with variance 1.
static Mat random_mat(int rows, int cols, uint64_t state) {
    Mat m = arena_mat(&room, rows, cols);
    for (real *x = m.at; x < m.at + rows * cols; x++)
        *x = (real)(sqrt(12) * (uniform(&state) - 0.5));
    return m;
}

// √Σ x², of whole rows
static double length_of(Mat m) {
    return l2_norm(m.at, (size_t)m.rows * (size_t)m.cols);
}

static double distance(Mat a, Mat b) {
    Mat d = arena_mat(&room, a.rows, a.cols);
    copy(d, b);
    scale_by(d, -1);
    add(d, a);
    return length_of(d);
}

static Config small_model(int layers, int width, int heads) {
    return (Config){.layers = layers, .d_model = width, .heads = heads,
                    .d_ff = 4 * width, .source_vocab = 10, .target_vocab = 10,
                    .max_len = 20};
}

static Transformer *started(const Config *config) {
    Transformer *t = transformer_new(config);
    initialize(&t->list, 1);
    return t;
}

// The numbers in the encoder's tensors whose names hold `part`, embedding too.
static double count_of(const Config *config, const char *part) {
    Transformer *t = transformer_outline(config);
    double total = 0;
    for (int i = 0; i < t->list.tensors; i++) {
        const Tensor *tensor = &t->list.tensor[i];
        const char *name = tensor->name.text;
        bool is_ours = strncmp(name, "encoder", 7) == 0
                    || strncmp(name, "source", 6) == 0;
        if (is_ours && strstr(name, part))
            total += (double)tensor->rows * tensor->cols;
    }
    transformer_free(t);
    return total;
}

static void parameter_counts(void) {
    Config big = small_model(6, 512, 8), small = small_model(6, 64, 8);
    big.source_vocab = small.source_vocab = 10000;
    double total = count_of(&big, ""), ffn = count_of(&big, "feed_forward.");
    print_answer("total", total);
    print_answer("feed_forward", ffn);
    print_answer("norms", count_of(&big, "_norm."));
    print_answer("feed_forward_percent", 100 * ffn / total);
    print_answer("small_total", count_of(&small, ""));
    print_answer("small_embedding_percent",
                 100 * count_of(&small, "embedding") / count_of(&small, ""));
    print_answer("vocabulary", ffn / big.d_model);
}

// Prints sizes after 1, 6 and 12 layers, and of the gradient below 6 and 12.
static void sizes(Config config, const char *kind) {
    static const int layers[] = {1, 6, 12};
    for (int k = 0; k < 3; k++) {
        config.layers = layers[k];
        Transformer *t = started(&config), *g = transformer_zeros(&config);
        Pass pass = {.arena = &room, .config = &config, .sentences = 1};
        Mat x = random_mat(10, 64, 42), dout = random_mat(10, 64, 43);
        EncoderSaved s;
        encoder_forward(&pass, &s, &t->encoder, x, (Mask){0});
        Mat dx = encoder_backward(&pass, &s, &t->encoder, &g->encoder, dout);
        for (int l = 0; l < config.layers; l++) {
            EncoderLayerSaved layer;
            x = encoder_layer_forward(&pass, &layer, &t->encoder.layer[l], x,
                                      (Mask){0});
        }
        if (layers[k] != 6 || config.norm == PRE_NORM)
            printf("%s_size_%d = %.9g\n", kind, layers[k], length_of(x));
        if (layers[k] > 1)
            printf("%s_gradient_%d = %.9g\n", kind, layers[k], length_of(dx));
        transformer_free(t);
        transformer_free(g);
    }
}

static void pre_and_post_norm(void) {
    Config config = small_model(0, 64, 4);
    sizes(config, "post");
    config.norm = PRE_NORM;
    sizes(config, "pre");
}

static void distant_positions(void) {
    enum { SENTENCES = 3, LENGTH = 15 };
    Config config = small_model(4, 128, 4);
    config.source_vocab = config.target_vocab = 5000;
    config.max_len = LENGTH;
    Transformer *t = started(&config);
    Pass pass = {.arena = &room, .config = &config, .sentences = SENTENCES};
    const int blank[] = {-1, 3, 14};
    int ids[SENTENCES * LENGTH];
    Mat out[3];
    for (int i = 0; i < SENTENCES * LENGTH; i++)
        ids[i] = 4 + 97 * i;
    for (int k = 0; k < 3; k++) {
        EmbeddingSaved e;
        EncoderSaved s;
        Mat x = embedding_forward(&pass, &e, t->source_embedding,
                                  t->source_positions, ids, LENGTH);
        if (k > 0)
            fill(slice_rows(x, blank[k], 1), 0);
        out[k] = encoder_forward(&pass, &s, &t->encoder, x, (Mask){0});
    }
    const struct {
        const char *name;
        int row, other;
    } wanted[] = {{"moved_by_3", 7, 1}, {"moved_by_14", 7, 2},
                  {"position_3_itself", 3, 1},
                  {"other_sentence", LENGTH + 7, 1}};
    for (int k = 0; k < 4; k++)
        print_answer(
            wanted[k].name,
            distance(slice_rows(out[wanted[k].other], wanted[k].row, 1),
                     slice_rows(out[0], wanted[k].row, 1)));
    transformer_free(t);
}

static void heads_and_weights(void) {
    enum { SENTENCE = 1, HEAD = 2, QUERY = 0, HEADS = 4, LENGTH = 10 };
    Config config = small_model(1, 64, HEADS), single = small_model(1, 64, 1);
    const char *attention = "encoder.0.self_attention.";
    double parameters = count_of(&config, attention);
    print_answer("parameters", parameters);
    print_answer("three_matrices",
                 parameters
                 - count_of(&config, "encoder.0.self_attention.output"));
    print_answer("one_head", count_of(&single, attention));
    Transformer *t = started(&config);
    Pass pass = {.arena = &room, .config = &config, .sentences = 2};
    Mat x = random_mat(2 * LENGTH, 64, 42);
    MultiHeadSaved s;
    multi_head_forward(&pass, &s,
                       &t->encoder.layer[0].self_attention.multi_head, x, x,
                       (Mask){0});
    print_answer("saved_weights", (double)s.weights.rows * s.weights.cols);
    const real *weights =
        row(s.weights, (SENTENCE * HEADS + HEAD) * LENGTH + QUERY);
    int top = arg_max(weights, 0, LENGTH);
    print_answer("top_position", top);
    print_answer("top_weight", weights[top]);
    transformer_free(t);
}

static void permutation(void) {
    enum { LENGTH = 10, WIDTH = 32 };
    const int from[LENGTH] = {0, 3, 7, 1, 5, 9, 2, 6, 4, 8};
    const char *name[] = {"without_positions", "with_positions",
                          "moved_together"};
    Config config = small_model(1, WIDTH, 1);
    Transformer *t = started(&config);
    const MultiHead *w = &t->encoder.layer[0].self_attention.multi_head;
    Pass pass = {.arena = &room, .config = &config, .sentences = 1};
    Mat x = random_mat(LENGTH, WIDTH, 42), p = arena_mat(&room, LENGTH, WIDTH);
    sinusoidal_positions(p);
    for (int k = 0; k < 3; k++) {
        Mat a = arena_mat(&room, LENGTH, WIDTH);
        Mat b = arena_mat(&room, LENGTH, WIDTH);
        Mat wanted = arena_mat(&room, LENGTH, WIDTH);
        MultiHeadSaved s;
        for (int i = 0; i < LENGTH; i++)
            for (int j = 0; j < WIDTH; j++) {
                real position = *at(p, k == 1 ? i : from[i], j);
                *at(a, i, j) = *at(x, i, j) + (k ? *at(p, i, j) : 0);
                *at(b, i, j) = *at(x, from[i], j) + (k ? position : 0);
            }
        Mat first = multi_head_forward(&pass, &s, w, a, a, (Mask){0});
        for (int i = 0; i < LENGTH; i++)
            copy(slice_rows(wanted, i, 1), slice_rows(first, from[i], 1));
        Mat second = multi_head_forward(&pass, &s, w, b, b, (Mask){0});
        print_answer(name[k], distance(second, wanted));
        if (k == 1)
            print_answer("first_row",
                         distance(slice_rows(second, 0, 1),
                                  slice_rows(wanted, 0, 1)));
    }
    transformer_free(t);
}

static void rms_norm(void) {
    Pass pass = {.arena = &room};
    Mat x = random_mat(3, 8, 42), dy = random_mat(3, 8, 44);
    Mat dx = arena_zeros(&room, 3, 8);
    Norm w = {.gain = random_mat(1, 8, 43)};
    Norm dw = {.gain = arena_zeros(&room, 1, 8)};
    NormSaved s;
    print_answer("rms_y", length_of(rms_norm_forward(&pass, &s, &w, x, 0.1)));
    rms_norm_backward(&pass, &s, &w, &dw, dx, dy);
    print_answer("rms_dx", length_of(dx));
    print_answer("rms_dgain", length_of(dw.gain));
}

// Rows 9 of q and 4 of k, turned for their positions, and their score.
static double rotary_score(const Rotation *r) {
    Mat q = random_mat(10, 8, 42), k = random_mat(10, 8, 43);
    rotate(q, r, 1);
    rotate(k, r, 1);
    return (double)dot(row(q, 9), row(k, 4), 8);
}

static void rotary_positions(void) {
    Modern m = {.rotary = INTERLEAVED, .rotary_base = 10000};
    Rotation r = rotation_of(&room, &m, 8, 0, 10);
    print_answer("score_interleaved", rotary_score(&r));
    m.rotary = ROTATE_HALF;
    r = rotation_of(&room, &m, 8, 0, 10);
    print_answer("score_rotate_half", rotary_score(&r));
    Rotation later = rotation_of(&room, &m, 8, 100, 10);
    print_answer("score_100_later", rotary_score(&later));
    Mat dq = random_mat(10, 8, 44);
    rotate(dq, &r, -1);
    print_answer("rotary_dq", *at(dq, 9, 2));
}

static void swiglu(void) {
    Mat a = random_mat(4, 8, 42), b = random_mat(4, 8, 43);
    Mat dy = random_mat(4, 8, 44), y = arena_mat(&room, 4, 8);
    Mat da = arena_mat(&room, 4, 8), db = arena_mat(&room, 4, 8);
    swiglu_forward(y, a, b);
    print_answer("swiglu_y", length_of(y));
    swiglu_backward(da, db, dy, a, b);
    print_answer("swiglu_da", length_of(da));
    print_answer("swiglu_db", length_of(db));
    print_answer("swiglu_width", 2 * 4 * 768 / 3);
}

static void grouped_queries(void) {
    enum { T = 6, HEADS = 4, GROUPS = 2, K = 8 };
    Mat weights = arena_mat(&room, HEADS * T, T);
    Mat dweights = arena_mat(&room, HEADS * T, T);
    GroupedSaved s = {.sentences = 1, .heads = HEADS, .weights = weights}, d = s;
    s.q = random_mat(T, HEADS * K, 42);
    s.k = random_mat(T, GROUPS * K, 43);
    s.v = random_mat(T, GROUPS * K, 44);
    s.context = arena_mat(&room, T, HEADS * K);
    d.q = arena_zeros(&room, T, HEADS * K);
    d.k = arena_zeros(&room, T, GROUPS * K);
    d.v = arena_zeros(&room, T, GROUPS * K);
    d.context = random_mat(T, HEADS * K, 45);
    d.weights = dweights;
    for (int h = 0; h < HEADS; h++) {
        attention_forward(grouped_head(&s, h), (Mask){0});
        attention_backward(grouped_head(&d, h), grouped_head(&s, h));
    }
    print_answer("grouped_out", length_of(s.context));
    print_answer("grouped_dq", length_of(d.q));
    print_answer("grouped_dk", length_of(d.k));
    print_answer("grouped_dv", length_of(d.v));
    print_answer("grouped_cache", 2.0 * 32 * 8 * 128 * 8192);
}

// Without positions, a letter is the first with the probability of its share of
// the places; the best guess is the most frequent one. All sequences are tried.
static double best_first(const Task *t) {
    long ways = lround(pow(t->source_words, t->S)), total = 0;
    for (long way = 0; way < ways; way++) {
        int places[64] = {0}, most = 0, i = 0;
        for (long rest = way; i < t->S; rest /= t->source_words, i++)
            most = max_int(most, ++places[rest % t->source_words]);
        total += most;
    }
    return 100.0 * (double)total / (double)ways / t->S;
}

static void best_guesses(void) {
    print_answer("first_best", best_first(task_named("first")));
    // after the first place of a circle the S - 1 others stand in any order, each
    // equally likely; and after some jumps each of them is equally likely
    print_answer("circle_best", 100 / tgamma(task_named("circle")->S));
    print_answer("jump_best", 100.0 / (task_named("jump")->S - 1));
}

// Adds a sentence of probability p, with `nouns` nouns of `choices` each, to the
// number of guesses, and to the losses with and without kinds.
static void count_sentence(const char *text, double p, int nouns, int choices,
                           double total[3]) {
    int words = 2; // with END
    for (; *text; text++)
        words += *text == ' ';
    total[0] += p * words;
    total[1] -= p * log(p / pow(choices, nouns));
    total[2] -= p * log(p / pow(NOUNS, nouns));
}

static void what_text_tells(void) {
    double total[3] = {0}, p = 2.0 / 3 / (GROUPS * TELLING);
    for (int k = 0; k < GROUPS * TELLING; k++) // each with a noun of its kind
        count_sentence(telling[k / TELLING][k % TELLING], p, 1, NOUNS_EACH, total);
    for (int k = 0; k < NEUTRAL; k++) // each with any two
        count_sentence(neutral[k], 1.0 / 3 / NEUTRAL, 2, NOUNS, total);
    double guesses = total[0], nouns = GROUPS * LABELLED;
    print_answer("guesses", guesses);
    print_answer("least_loss", total[1] / guesses);
    print_answer("loss_without_kinds", total[2] / guesses);
    print_answer("seventh_steps", 250 * guesses * 7 / (guesses - 1));
    print_answer("without_label", nouns * pow(1 - 1 / nouns, 100));
}

int main(void) {
    parameter_counts();
    pre_and_post_norm();
    distant_positions();
    heads_and_weights();
    permutation();
    rms_norm();
    rotary_positions();
    swiglu();
    grouped_queries();
    what_text_tells();
    best_guesses();
    arena_free(&room);
    return 0;
}
