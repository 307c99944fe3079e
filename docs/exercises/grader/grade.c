// The graded checks of the exercises: one function for each region
// "//@ exercise NAME" of transformer.c, in the order of the file.
//
//     cc -std=c11 -Og -ffp-contract=off -DSOURCE='"transformer.c"' grade.c -lm
//     ./grade NAME FILE < TOKEN       runs a check, and writes its results
//
// Exit status: 0 done, 1 wrong before anything is compared, 2 misused;
// exercise_todo() in a student's file ends the program with 3. -DCHECK=NAME
// compiles one check alone.
//
// CONTRIBUTING.md says how a check is added, grade.h what a case is made of. A
// mistake that no case tells from another one needs a case that does.

#define TRANSFORMER_NO_MAIN
#define TRANSFORMER_DOUBLE
#define TRANSFORMER_POISON
#include SOURCE
#include "grade.h"

// ---------------------------------------------------------------- the checks
//
// The sizes, all different, so that an index in the wrong place shows.

enum { B = 2, H = 3, T = 4, S = 5, K = 6, F = 7, D = H * K, V = 11 };

// A mask from its picture: '1' visible, '0' hidden, all rows one after another;
// without one everything is visible.
static Mask picture(const char *text, int sentence_stride, int row_stride) {
    if (!text)
        return (Mask){0};
    size_t n = strlen(text);
    unsigned char *visible = allocate(n, 1);
    for (size_t k = 0; k < n; k++)
        visible[k] = text[k] == '1';
    return (Mask){visible, sentence_stride, row_stride};
}

static const Mat no_mat = {0};

static Config config_of(int norm) {
    return (Config){.layers = 1, .d_model = D, .heads = H, .d_ff = F,
                    .source_vocab = V - 2, .target_vocab = V, .max_len = 6,
                    .norm = norm};
}

// A training pass with this dropout everywhere; at rate 0, not a training pass.
static Pass pass_dropping(Config *config, double rate) {
    config->dropout = rate;
    config->attention_dropout = config->activation_dropout = rate;
    return (Pass){&room, config, rate > 0, 5, B};
}

static void grade_matmul_definition(void) {
    Mat a = input("a", 3, 4), b = input("b", 4, 5), c = output("c", 3, 5);
    start("c (3,5) += a (3,4) b (4,5)");
    matmul_definition(c, a, b);
    result("c", c);
    finish();

    // a is transposed, b a band of columns, c a band of rows and columns
    a = transposed(input("a", 2, 6));
    Mat wide = input("the matrix around b", 2, 9);
    b = slice_cols(wide, 3, 4);
    for (int k = 0; k < 18; k++)
        if (k % 9 < 3 || k % 9 > 6)
            wide.at[k] = nan_of(made_count - 1);
    Mat around = output("the matrix around c", 8, 10);
    c = slice_cols(slice_rows(around, 1, 6), 2, 4);
    start("a transposed, b and c bands of larger matrices");
    matmul_definition(c, a, b);
    result("c", c);
    fill(c, PREFILL);
    result("the matrix around c", around);
    finish();
}

static void grade_dropout_row(void) {
    const double h = scramble32(scramble32(99 + 1) ^ 2); // of row 1, number 2
    const Dropout d[] = {{0.5, 1234567}, {(real)0.3, 1234567}, {(real)0.8, 99},
                         {h / 4294967296.0, 99}};
    const char *name[] = {"rate 0.5", "rate 0.3", "rate 0.8, another key",
                          "a number whose h is p · 2³² itself: it stays"};
    for (int c = 0; c < 4; c++) {
        Mat x = scratch("x", 4, 23);
        start(name[c]);
        for (int i = 0; i < x.rows; i++)
            dropout_row(row(x, i), x.cols, i, d[c]);
        result("x", x);
        finish();
    }
}

static void softmax_case(const char *name, const char *mask, int rows, int cols,
                         double size, double shift) {
    Mat x = scratch("x", rows, cols);
    for (int k = 0; k < rows * cols; k++)
        x.at[k] = x.at[k] * size + shift;
    Mask m = picture(mask, 0, cols);
    for (int k = 0; mask && k < rows * cols; k += 5)
        if (!m.visible[k])
            x.at[k] = shift + 1e5; // what is hidden may be the largest
    start(name);
    for (int i = 0; i < rows; i++)
        softmax_row(row(x, i), mask_row(m, 0, i), cols);
    result("x", x);
    finish();
}

static void grade_softmax_row(void) {
    softmax_case("everything visible", NULL, 3, 7, 1, 0);
    softmax_case("large scores", NULL, 3, 7, 1, 5000);
    softmax_case("large negative scores", NULL, 3, 7, 1, -1e8);
    softmax_case("scores far apart", NULL, 3, 7, 900, 0);
    softmax_case("mask with holes", "101101" "011001" "100000", 3, 6, 1, 0);
    softmax_case("large negative scores and a mask", "1011" "0110", 2, 4, 1,
                 -1e8);
    softmax_case("a row without any visible key", "10110" "00000" "01001",
                 3, 5, 1, 2);
    softmax_case("a single key", NULL, 3, 1, 1, 0);
}

// Weights as softmax makes them: rows that sum to 1, hidden keys 0.
static Mat random_weights(int rows, int cols, Mask mask) {
    Mat w = input("weights", rows, cols);
    for (int i = 0; i < rows; i++) {
        const unsigned char *visible = mask_row(mask, 0, i);
        double total = 0;
        for (int j = 0; j < cols; j++) {
            bool seen = !visible || visible[j];
            total += *at(w, i, j) = seen ? exp(*at(w, i, j)) : 0;
        }
        for (int j = 0; j < cols; j++)
            *at(w, i, j) /= total > 0 ? total : 1;
    }
    return w;
}

static void grade_softmax_backward(void) {
    const char *mask[] = {NULL, "011010" "101101" "000000" "001000"};
    for (int c = 0; c < 2; c++) {
        Mat w = random_weights(4, 6, picture(mask[c], 0, 6));
        Mat dw = scratch("dw", 4, 6);
        start(c ? "hidden keys, and a row without any visible key"
                : "everything visible");
        softmax_backward(dw, w);
        result("dw", dw);
        finish();
    }
    Mat wide = scratch("the matrix around dw", 4, 9);
    Mat dw = slice_cols(wide, 2, 6);
    Mat w = random_weights(4, 6, picture(NULL, 0, 6));
    start("rows of dw that lie further apart than they are long");
    softmax_backward(dw, w);
    result("dw", dw);
    fill(dw, 0);
    result("the matrix around dw", wide);
    finish();
}

static const struct {
    const char *name, *mask;
    Dropout dropout;
} attention_case[] = {
    {"everything visible, no dropout", NULL, {0, 0}},
    {"mask with holes", "10110" "01101" "00100" "11111", {0, 0}},
    {"a row without any visible key", "10110" "00000" "00110" "10011", {0, 0}},
    {"dropout", NULL, {(real)0.4, 4711}},
    {"mask and dropout", "11010" "10001" "00000" "11101", {(real)0.4, 4712}},
    {"no dropout, and dropped is another matrix than weights", NULL, {0, 0}},
};

static void grade_attention_forward(void) {
    for (int c = 0; c < 6; c++) {
        Dropout d = attention_case[c].dropout;
        Mask mask = picture(attention_case[c].mask, 0, S);
        Head a = {.q = input("q", T, K), .k = input("k", S, K),
                  .v = input("v", S, K), .weights = scratch("weights", T, S),
                  .scale = (real)0.37, .dropout = d};
        a.dropped = c < 3 ? a.weights : scratch("dropped", T, S);
        Mat heads = output("the heads beside out", T, D);
        a.out = slice_cols(heads, K, K);
        start(attention_case[c].name);
        attention_forward(a, mask);
        result("weights", a.weights);
        result("dropped", a.dropped);
        result("out", a.out);
        fill(a.out, PREFILL);
        result("the heads beside out", heads);
        finish();
    }
}

static void grade_attention_backward(void) {
    for (int c = 0; c < 5; c++) {
        Dropout d = attention_case[c].dropout;
        Mask mask = picture(attention_case[c].mask, 0, S);
        Head a = {.q = input("q", T, K), .k = input("k", S, K),
                  .v = input("v", S, K), .scale = (real)0.37, .dropout = d};
        Mat dout = input("dout", T, K), dscores = scratch("dscores", T, S);
        a.out = input("out", T, K); // only its shape counts
        a.weights = random_weights(T, S, mask);
        a.dropped = a.weights;
        if (d.rate > 0) {
            a.dropped = input("dropped", T, S);
            copy(a.dropped, a.weights);
            dropout(a.dropped, d);
        }
        Mat heads = output("the heads beside dk", S, D);
        Mat dk = slice_cols(heads, K, K);
        Head da = {.q = output("dq", T, K), .k = dk, .v = output("dv", S, K),
                   .weights = dscores, .dropped = dscores, .out = dout,
                   .scale = a.scale}; // as multi_head_backward leaves it
        start(attention_case[c].name);
        attention_backward(da, a);
        result("dq", da.q);
        result("dk", dk);
        result("dv", da.v);
        fill(dk, PREFILL);
        result("the heads beside dk", heads);
        finish();
    }
}

static void grade_linear_backward(void) {
    for (int tied = 0; tied < 2; tied++) {
        Mat x = input("x", 5, 3), dx = output("dx", 5, 3);
        Mat dy = input("dy", 5, 4);
        Mat weight = tied ? transposed(input("W", 4, 3)) : input("W", 3, 4);
        Mat dweight = tied ? transposed(output("dW", 4, 3))
                           : output("dW", 3, 4);
        Linear w = {weight, input("b", 1, 4)};
        Linear dw = {dweight, output("db", 1, 4)};
        start(tied ? "W and dW are transposed views, as in a tied output layer"
                   : "W as it lies in memory");
        linear_backward(dx, &dw, dy, x, &w);
        result("dx", dx);
        result("dW", dw.weight);
        result("db", dw.bias);
        finish();
    }
}

// The block is compared by where it lies, not by what is in it.
static void grade_head(void) {
    const int which[][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 2}, {2, 1}};
    const char *name[] = {"sentence 0, head 0", "sentence 0, head 1",
                          "sentence 1, head 0", "sentence 1, head 2",
                          "sentence 2, head 1"};
    for (int c = 0; c < 5; c++) {
        Mat m = slice_cols(input("m", 3 * T, D + 4), 2, D);
        start(name[c]);
        Mat block = head(m, which[c][0], T, which[c][1], K);
        bool in_pool = block.at >= pool && block.at < pool + POOL_SIZE;
        ptrdiff_t offset = in_pool ? block.at - m.at : -1; // or somewhere
        result_number("rows", block.rows);
        result_number("cols", block.cols);
        result_number("row_stride", block.row_stride);
        result_number("col_stride", block.col_stride);
        result_number("row of m at which it starts",
                      floor((double)offset / m.row_stride));
        result_number("column of m at which it starts",
                      (double)(offset % m.row_stride));
        finish();
    }
}

static void grade_sinusoidal_positions(void) {
    for (int odd = 0; odd < 2; odd++) {
        Mat table = output("table", 7 - odd, 10 + odd);
        start(odd ? "an odd number of columns" : "7 positions, 10 columns");
        sinusoidal_positions(table);
        result("table", table);
        finish();
    }
}

static void grade_embedding_backward(void) {
    static const int words[] = {5, 8, 5, 3, 2, 7, 5, 8, 6, 2};
    static const int padded[] = {5, 8, 2, 0, 0, 7, 5, 4, 6, 2};
    const struct {
        const char *name;
        int width;
        bool learned;
        Dropout dropout;
        const int *ids;
    } cases[] = {
        {"positions are not learned", D, false, {0, 0}, words},
        {"positions are learned", D, true, {0, 0}, words},
        {"dropout", D, true, {(real)0.3, 77}, words},
        {"D = 70: two bands of columns", 70, true, {0, 0}, words},
        {"padding: a token like any other here", D, true, {0, 0}, padded},
    };
    for (int c = 0; c < 5; c++) {
        int width = cases[c].width;
        Mat dx = scratch("dx", B * S, width);
        Mat dtable = output("dtable", V, width);
        Mat dpositions = cases[c].learned ? output("dpositions", S + 2, width)
                                          : no_mat;
        EmbeddingSaved s = {cases[c].ids, S, cases[c].dropout};
        start(cases[c].name);
        embedding_backward(&s, dtable, dpositions, dx);
        result("dtable", dtable);
        if (cases[c].learned)
            result("dpositions", dpositions);
        finish();
    }
}

static void grade_activation_backward(void) {
    for (int activation = RELU; activation <= GELU; activation++) {
        Mat x = input("x", 4, 7), dy = scratch("dy", 4, 7);
        *at(x, 1, 2) = 0; // the corner of ReLU
        *at(x, 2, 3) = 5;
        *at(x, 3, 0) = -5;
        start(activation == RELU ? "RELU" : "GELU");
        activation_backward(dy, x, activation);
        result("dy", dy);
        finish();
    }
}

static void grade_ffn_backward(void) {
    const char *name[] = {"ReLU, no dropout", "GELU, no dropout",
                          "ReLU, dropout"};
    for (int c = 0; c < 3; c++) {
        Config config = config_of(POST_NORM);
        config.activation = c == 1 ? GELU : RELU;
        Dropout d = {(real)(c == 2 ? 0.4 : 0), 31};
        Pass pass = pass_dropping(&config, d.rate);
        FeedForward w = {{input("W1", D, F), input("b1", 1, F)},
                         {input("W2", F, D), input("b2", 1, D)}};
        FeedForward dw = {{output("dW1", D, F), output("db1", 1, F)},
                          {output("dW2", F, D), output("db2", 1, D)}};
        FeedForwardSaved s = {input("x", B * T, D), input("inner", B * T, F),
                              input("active", B * T, F), d};
        activation_forward(s.active, s.inner, config.activation);
        dropout(s.active, d);
        Mat dx = output("dx", B * T, D), dout = input("dout", B * T, D);
        start(name[c]);
        ffn_backward(&pass, &s, &w, &dw, dx, dout);
        result("dx", dx);
        result("dW1", dw.inner.weight);
        result("db1", dw.inner.bias);
        result("dW2", dw.outer.weight);
        result("db2", dw.outer.bias);
        finish();
    }
}

static const struct {
    const char *name;
    double size, shift; // of the numbers in x
} norm_case[] = {
    {"ordinary numbers", 1, 0.3},
    {"small numbers, where ε counts", 0.003, 0},
    {"numbers far from 0", 1, 1e5},
};

static Mat norm_input(int c) {
    Mat x = input("x", 4, D);
    for (int k = 0; k < 4 * D; k++)
        x.at[k] = x.at[k] * norm_case[c].size + norm_case[c].shift;
    return x;
}

static void grade_norm_forward(void) {
    Config config = config_of(POST_NORM);
    Pass pass = pass_dropping(&config, 0);
    for (int c = 0; c < 3; c++) {
        Mat x = norm_input(c);
        Norm w = {input("gain", 1, D), input("bias", 1, D)};
        NormSaved s = {0};
        start(norm_case[c].name);
        Mat y = norm_forward(&pass, &s, &w, x);
        result("mean", s.mean);
        result("rstd", s.rstd);
        result("y", y);
        finish();
    }
}

// What norm_forward leaves for x.
static NormSaved norm_saved(Mat x) {
    NormSaved s = {x, input("mean", x.rows, 1), input("rstd", x.rows, 1)};
    for (int i = 0; i < x.rows; i++) {
        double mean = 0, variance = 0;
        for (int j = 0; j < x.cols; j++)
            mean += *at(x, i, j) / x.cols;
        for (int j = 0; j < x.cols; j++)
            variance += pow(*at(x, i, j) - mean, 2) / x.cols;
        s.mean.at[i] = mean;
        s.rstd.at[i] = 1 / sqrt(variance + 1e-5);
    }
    return s;
}

static void grade_norm_backward(void) {
    Config config = config_of(POST_NORM);
    Pass pass = pass_dropping(&config, 0);
    for (int c = 0; c < 3; c++) {
        NormSaved s = norm_saved(norm_input(c));
        Norm w = {input("gain", 1, D), input("bias", 1, D)};
        Norm dw = {output("dgain", 1, D), output("dbias", 1, D)};
        Mat dy = input("dy", 4, D), dx = output("dx", 4, D);
        start(norm_case[c].name);
        norm_backward(&pass, &s, &w, &dw, dx, dy);
        result("dx", dx);
        result("dgain", dw.gain);
        result("dbias", dw.bias);
        finish();
    }
}

static const struct {
    const char *name;
    int norm;
    double dropout;
} residual_case[] = {
    {"pre-norm, no dropout", PRE_NORM, 0},
    {"post-norm, no dropout", POST_NORM, 0},
    {"pre-norm, dropout", PRE_NORM, 0.3},
    {"post-norm, dropout", POST_NORM, 0.3},
};

static void grade_residual_leave(void) {
    for (int c = 0; c < 4; c++) {
        Config config = config_of(residual_case[c].norm);
        Pass pass = pass_dropping(&config, residual_case[c].dropout);
        Norm w = {input("gain", 1, D), input("bias", 1, D)};
        Mat x = input("x", B * T, D), y = scratch("y", B * T, D);
        ResidualSaved s = {0};
        residual_enter(&pass, &s, &w, x);
        start(residual_case[c].name);
        Mat out = residual_leave(&pass, &s, &w, x, y);
        if (config.norm == POST_NORM)
            result("s->norm.x", s.norm.x);
        result("what is returned", out);
        finish();
    }
}

static void grade_residual_leave_backward(void) {
    for (int c = 0; c < 4; c++) {
        Config config = config_of(residual_case[c].norm);
        real rate = (real)residual_case[c].dropout;
        Pass pass = pass_dropping(&config, rate);
        Norm w = {input("gain", 1, D), input("bias", 1, D)};
        Norm dw = {output("dgain", 1, D), output("dbias", 1, D)};
        ResidualSaved s = {norm_saved(input("sum", B * T, D)), {rate, 31}};
        Mat dout = input("dout", B * T, D), dx = output("dx", B * T, D);
        start(residual_case[c].name);
        Mat dy = residual_leave_backward(&pass, &s, &w, &dw, dx, dout);
        result("dy", dy);
        result("dx", dx);
        result("dgain", dw.gain);
        result("dbias", dw.bias);
        finish();
    }
}

static const char *source_mask = "10101" "11011", *target_mask =
    "1000" "1100" "1110" "1111" "1000" "1000" "1010" "1010";

// A model all of whose parameters are random, or PREFILL.
static Transformer *random_model(Config config, uint64_t seed) {
    Transformer *t = transformer_new(&config);
    for (size_t k = 0; k < t->list.count; k++)
        t->list.values[k] = (real)(0.4 * normal(&seed));
    return t;
}

static Transformer *gradients_of(const Transformer *t) {
    Transformer *g = transformer_zeros(&t->config);
    for (size_t k = 0; k < g->list.count; k++)
        g->list.values[k] = PREFILL;
    return g;
}

// The gradients of the decoder's tensors with this prefix, as results.
static void result_gradients(const Transformer *g, const char *prefix) {
    Name path = join("decoder.0.", prefix);
    for (int i = 0; i < g->list.tensors; i++) {
        const char *name = g->list.tensor[i].name.text;
        if (strncmp(name, path.text, strlen(path.text)) == 0)
            result_added(join("gradient of ", name + strlen("decoder.0.")).text,
                         *g->list.tensor[i].mat);
    }
}

static void grade_attention_sublayer_backward(void) {
    const char *name[] = {
        "self-attention, pre-norm", "self-attention, post-norm, dropout",
        "cross-attention, pre-norm, dropout", "cross-attention, post-norm"};
    for (int c = 0; c < 4; c++) {
        bool cross = c >= 2;
        Transformer *t = random_model(config_of(c % 2 ? POST_NORM : PRE_NORM),
                                      42);
        Transformer *g = gradients_of(t);
        DecoderLayer *layer = t->decoder.layer, *dlayer = g->decoder.layer;
        AttentionSublayer *w = cross ? &layer->cross_attention
                                     : &layer->self_attention;
        AttentionSublayer *dw = cross ? &dlayer->cross_attention
                                      : &dlayer->self_attention;
        Pass pass = pass_dropping(&t->config, c == 1 || c == 2 ? 0.3 : 0);
        Mat x = input("x", B * T, D), dout = input("dout", B * T, D);
        Mat memory = cross ? input("memory", B * S, D) : no_mat;
        Mat dmemory = cross ? output("dmemory", B * S, D) : no_mat;
        Mask mask = cross ? picture(source_mask, S, 0)
                          : picture(target_mask, T * T, T);
        AttentionSublayerSaved s;
        attention_sublayer_forward(&pass, &s, w, x, memory, mask);
        start(name[c]);
        Mat dx = attention_sublayer_backward(&pass, &s, w, dw, dmemory, dout);
        result("dx", dx);
        if (cross)
            result("dmemory", dmemory);
        result_gradients(g, cross ? "cross_attention" : "self_attention");
        finish();
    }
}

static void grade_encoder_layer_forward(void) {
    for (int c = 0; c < 4; c++) {
        Transformer *t = random_model(config_of(residual_case[c].norm), 42);
        Pass pass = pass_dropping(&t->config, residual_case[c].dropout);
        Mat x = input("x", B * S, D);
        EncoderLayerSaved s;
        memset(&s, 0, sizeof s);
        start(residual_case[c].name);
        Mat out = encoder_layer_forward(&pass, &s, &t->encoder.layer[0], x,
                                        picture(source_mask, S, 0));
        result("weights saved by self-attention",
               s.self_attention.multi_head.weights);
        result("x saved by the feed-forward network", s.feed_forward.network.x);
        result("what is returned", out);
        finish();
    }
}

static Masks both_masks(void) {
    return (Masks){.source = picture(source_mask, S, 0),
                   .target = picture(target_mask, T * T, T)};
}

static void grade_decoder_layer_forward(void) {
    for (int c = 0; c < 4; c++) {
        Transformer *t = random_model(config_of(residual_case[c].norm), 42);
        Pass pass = pass_dropping(&t->config, residual_case[c].dropout);
        Mat x = input("x", B * T, D), memory = input("memory", B * S, D);
        DecoderLayerSaved s;
        memset(&s, 0, sizeof s);
        start(residual_case[c].name);
        Mat out = decoder_layer_forward(&pass, &s, &t->decoder.layer[0], x,
                                        memory, both_masks());
        result("weights saved by self-attention",
               s.self_attention.multi_head.weights);
        result("weights saved by cross-attention",
               s.cross_attention.multi_head.weights);
        result("x saved by the feed-forward network", s.feed_forward.network.x);
        result("what is returned", out);
        finish();
    }
}

static void grade_decoder_layer_backward(void) {
    for (int c = 0; c < 4; c++) {
        Transformer *t = random_model(config_of(residual_case[c].norm), 42);
        Transformer *g = gradients_of(t);
        DecoderLayer *w = &t->decoder.layer[0], *dw = &g->decoder.layer[0];
        Pass pass = pass_dropping(&t->config, residual_case[c].dropout);
        Mat x = input("x", B * T, D), memory = input("memory", B * S, D);
        Mat dmemory = output("dmemory", B * S, D);
        Mat dout = input("dout", B * T, D);
        DecoderLayerSaved s;
        decoder_layer_forward(&pass, &s, w, x, memory, both_masks());
        start(residual_case[c].name);
        Mat dx = decoder_layer_backward(&pass, &s, w, dw, dmemory, dout);
        result("dx", dx);
        result("dmemory", dmemory);
        result_gradients(g, "");
        finish();
    }
}

// Bytes after the mask must be untouched: they are a result, too.
static void grade_padding_mask(void) {
    static const int ids[3 * S] = {5, 7, END, PAD, PAD, START, 4, UNKNOWN, 9,
                                   END, 4, PAD, 6, END, PAD};
    for (int sentences = 1; sentences <= 3; sentences += 2) {
        start(sentences == 1 ? "one sentence" : "three sentences");
        given_tokens("ids", ids, sentences, S);
        Mask m = padding_mask(&room, ids, sentences, S);
        result_whole("visible", m.visible, 1, sentences, S);
        result_whole("the bytes after visible", m.visible + sentences * S,
                     1, 1, 4);
        finish();
    }
}

static void grade_causal_padding_mask(void) {
    static const int words[] = {START, UNKNOWN, 8, 5};
    static const int padded[3 * T] = {START, 7, PAD, PAD, START, PAD, UNKNOWN, PAD,
                                      START, 6, END, 5};
    for (int sentences = 1; sentences <= 3; sentences += 2) {
        const int *ids = sentences == 1 ? words : padded;
        start(sentences == 1 ? "one sentence without padding"
                             : "three sentences, with padding");
        given_tokens("ids", ids, sentences * T, 1);
        Mask m = causal_padding_mask(&room, ids, sentences, T);
        result_whole("visible", m.visible, 1, sentences * T, T);
        result_whole("the bytes after visible", m.visible + sentences * T * T,
                     1, 1, 4);
        finish();
    }
}

static void grade_make_batch(void) {
    static int id[][5] = {{7, 5, 9, 6, END}, {8, END}, {4, UNKNOWN, 6, END},
                          {END}, {6, 6, 7, 5, END}};
    const Sentence a = {id[0], 5}, b = {id[1], 2}, c = {id[2], 4},
                   d = {id[3], 1}, e = {id[4], 5};
    Sentence target[] = {a, b, c, d, e}, source[] = {c, a, b, c, b};
    Pairs pairs = {source, target, 5, 0};
    static const int number[][4] = {{0, 4}, {1, 0, 3, 2}};
    for (int k = 0; k < 2; k++) {
        int sentences = k ? 4 : 2;
        start(k ? "sentences of 2, 5, 1 and 4 tokens"
                : "sentences of equal length");
        Batch batch = make_batch(&room, &pairs, number[k], sentences);
        int length = batch.target_length;
        result_whole("input", batch.input, sizeof(int), sentences, length);
        result_whole("expected", batch.expected, sizeof(int), sentences,
                     length);
        result_whole("the numbers after input",
                     batch.input + sentences * length, sizeof(int), 1, 2);
        finish();
    }
}

enum { ROWS = 9 };
static const int expected_words[ROWS] = {END, PAD, V - 1, 7, UNKNOWN,
                                          PAD, 5,   8,     4};

static const struct {
    const char *name;
    double smoothing, size, shift; // ε; of the logits
} loss_case[] = {
    {"ε = 0", 0, 1, 0},
    {"ε = 0.1", 0.1, 1, 0},
    {"large logits, ε = 0.1", 0.1, 3, 2000},
    {"large negative logits, ε = 0.1", 0.1, 3, -2000},
    {"logits far apart, ε = 0.1", 0.1, 900, 0},
    {"PAD or START has the largest logit", 0.1, 1, 0},
    {"the last word has the largest logit", 0.1, 1, 0},
    {"the largest logit is there twice: the first one counts", 0.1, 1, 0},
    {"no word has half of the probability", 0.1, 0.1, 0},
};
enum { PLAIN_CASES = 5, LOSS_CASES = 9 };

// In all rows but two the expected word is the most probable one; in the cases after
// the plain ones, the name of the case says which is.
static Mat random_logits(int c, bool is_input) {
    Mat z = make("logits", ROWS, V, is_input);
    for (int i = 0; i < ROWS - 1; i++)
        if (i != 2)
            *at(z, i, expected_words[i]) = 4;
    for (int k = 0; k < ROWS * V; k++)
        z.at[k] = z.at[k] * loss_case[c].size + loss_case[c].shift;
    for (int i = 0; i < ROWS && c >= PLAIN_CASES; i++) {
        int y = expected_words[i];
        const int largest[] = {i % 2 ? PAD : START, V - 1, y, y};
        *at(z, i, largest[c - PLAIN_CASES]) = c == LOSS_CASES - 1 ? 0.5 : 9;
        if (c == LOSS_CASES - 2)
            *at(z, i, y == V - 1 || i == 7 ? y - 1 : y + 1) = 9;
    }
    return z;
}

static void grade_loss_forward(void) {
    for (int c = 0; c < LOSS_CASES; c++) {
        Mat z = random_logits(c, true), lse = output("lse", ROWS, 1);
        start(loss_case[c].name);
        given_tokens("expected", expected_words, ROWS, 1);
        Loss l = loss_forward(lse, z, expected_words, loss_case[c].smoothing,
                              &room);
        result("lse", lse);
        result_number("loss", l.loss);
        result_number("cross_entropy", l.cross_entropy);
        result_number("tokens", l.tokens);
        result_number("correct", l.correct);
        finish();
    }
}

static void grade_loss_backward(void) {
    for (int c = 0; c < 6; c++) {
        bool in_place = c == 5;
        const char *name = in_place ? "dlogits in the place of the logits"
                                    : loss_case[c].name;
        double smoothing = loss_case[in_place ? 1 : c].smoothing;
        Mat z = random_logits(in_place ? 1 : c, !in_place);
        Mat lse = input("lse", ROWS, 1);
        Mat dlogits = in_place ? z : output("dlogits", ROWS, V);
        for (int i = 0; i < ROWS; i++) {
            double most = max(row(z, i), V), total = 0;
            for (int j = 0; j < V; j++)
                total += exp(*at(z, i, j) - most);
            lse.at[i] = expected_words[i] == PAD ? 0 : most + log(total);
        }
        start(name);
        given_tokens("expected", expected_words, ROWS, 1);
        loss_backward(dlogits, z, lse, expected_words, smoothing, 7);
        result("dlogits", dlogits);
        finish();
    }
}

static void grade_clip_factor(void) {
    static const double cases[][2] = {
        {0.4, 1}, {4, 1}, {3, 3}, {5, 3}, {0, 1}, {500, 0.1}, {1.5, 2},
        {0.6, 0.5}, {0.8, 0.5}};
    for (int c = 0; c < 9; c++) {
        char name[TEXT];
        snprintf(name, TEXT, "norm %g, clip %g", cases[c][0], cases[c][1]);
        start(name);
        result_number("factor", clip_factor(cases[c][0], cases[c][1]));
        finish();
    }
}

static void grade_adam_step(void) {
    static const struct {
        const char *name;
        long t;
        double factor, size; // of the gradient
    } cases[] = {
        {"step 7", 7, 1, 1},
        {"step 1", 1, 1, 1},
        {"a clipped gradient: factor 0.25", 3, 0.25, 2},
        {"tiny gradients, where Adam's ε counts", 1, 1, 1e-8},
        {"gradients of 0", 1, 1, 0},
    };
    for (int c = 0; c < 5; c++) {
        Mat p = scratch("p", 1, 9), m = scratch("m", 1, 9);
        Mat v = scratch("v", 1, 9);
        Mat gradient = input("gradient", 1, 9);
        for (int k = 0; k < 9; k++) {
            gradient.at[k] *= cases[c].size;
            m.at[k] *= cases[c].t > 1 ? 0.3 : 0; // 0 before the first step
            v.at[k] = cases[c].t > 1 ? 0.1 * fabs(v.at[k]) : 0;
        }
        start(cases[c].name);
        adam_step(paper_adam(p.at, m.at, v.at, gradient.at, 9),
                  cases[c].factor, 0.25, cases[c].t);
        result("m", m);
        result("v", v);
        result("p", p);
        finish();
    }
}

static void grade_learning_rate(void) {
    static const long steps[] = {1, 2, 9, 10, 11, 17, 40, 1000};
    for (int c = 0; c < 3; c++) {
        Recipe r = {.rate = 0.3, .warmup = c == 2 ? 1 : 10,
                    .schedule = c == 1 ? CONSTANT : NOAM};
        Mat rate = scratch("rate", 1, 8), t = input("t", 1, 8);
        Mat past = input("t - w", 1, 8);
        for (int k = 0; k < 8; k++) {
            t.at[k] = (real)steps[k];
            past.at[k] = t.at[k] - r.warmup;
        }
        start(c == 0 ? "NOAM, warm-up 10, steps 1 2 9 10 11 17 40 1000"
            : c == 1 ? "CONSTANT, warm-up 10, the same steps"
                     : "NOAM, warm-up 1, the same steps");
        for (int k = 0; k < 8; k++)
            rate.at[k] = (real)learning_rate(&r, steps[k]);
        result("rate", rate);
        finish();
    }
}

static void grade_decoder_layer_step(void) {
    enum { ROOM = 7 };
    const char *name[] = {"pre-norm, the first position",
                          "post-norm, the third position",
                          "pre-norm, the last position there is room for"};
    const int length[] = {0, 2, ROOM - 1};
    for (int c = 0; c < 3; c++) {
        Transformer *t = random_model(config_of(c == 1 ? POST_NORM : PRE_NORM),
                                      42);
        Pass pass = pass_dropping(&t->config, 0);
        MultiHeadSaved empty = {.sentences = B, .heads = H};
        LayerCache layer = {empty, empty};
        layer.self.k = scratch("self.k", B * ROOM, D);
        layer.self.v = scratch("self.v", B * ROOM, D);
        layer.cross.k = input("cross.k", B * S, D);
        layer.cross.v = input("cross.v", B * S, D);
        layer.cross.memory = input("memory", B * S, D);
        Cache cache = {t, length[c], picture(source_mask, S, 0), &layer};
        Mat x = input("x", B, D);
        start(name[c]);
        Mat out = decoder_layer_step(&pass, &t->decoder.layer[0], &layer,
                                     &cache, x);
        result("self.k", layer.self.k);
        result("self.v", layer.self.v);
        result("what is returned", out);
        finish();
    }
}

// PAD and START, which must not be chosen, seem the best of all.
static void grade_translate(void) {
    static int ids[3 * S] = {5, 7, 4, 8, END, 6, 4, END, PAD, PAD,
                             3, 5, 5, END, PAD};
    Batch batch = {.sentences = 3, .source_length = S, .source = ids};
    const char *name[] = {"no sentence ends",
                          "two sentences end, at different steps",
                          "every sentence ends at once",
                          "the last word of the vocabulary is the best",
                          "two words have the same logit: the first counts"};
    const double end[] = {-99, 0, 99, -99, -99};
    for (int c = 0; c < 5; c++) {
        // 4155: the three translations differ, and so do their lengths
        Config config = config_of(PRE_NORM);
        config.max_len = 7;
        Transformer *t = random_model(config, 4155);
        for (int k = 0; k < V * D; k++) // what was read counts for more
            t->target_embedding.at[k] *= 3;
        fill(t->decoder.norm.gain, 1);
        fill(t->decoder.norm.bias, 0);
        fill(t->output.bias, 0);
        t->output.bias.at[PAD] = t->output.bias.at[START] = 50;
        t->output.bias.at[END] = end[c];
        t->output.bias.at[V - 1] = c == 3 ? 40 : 0;
        if (c == 4) {
            fill(t->output.weight, 0);
            t->output.bias.at[5] = t->output.bias.at[7] = 40;
        }
        int out[3 * 7 + 2], P = longest_output(t, S);
        if (P != 7)
            fail("grade.c: a translation has %d words", P);
        memset(out, JUNK, sizeof out);
        start(name[c]);
        double logs[3];
        room.peak = 0;
        translate(t, &batch, out, logs, &room);
        result_whole("out", out, sizeof(int), 3, P);
        result("logs", mat(logs, 3, 1));
        result_whole("the numbers after out", out + 3 * P, sizeof(int), 1, 2);
        // it grows with the decoder's steps: none may be made in vain
        result_number("bytes of memory at work", (double)room.peak);
        finish();
    }
}

enum { BEAM = 3, LONGEST_HERE = 7 };

// A search in step t, with three open hypotheses of probabilities 1/2, 1/4 and
// 1/8 (in step 0 with the first alone), and with this best score.
static Beam search_at(int t, double score) {
    Arena *arena = &room;
    Beam b = beam_new(arena, BEAM, LONGEST_HERE, LONGEST_HERE);
    for (int i = 0; i < BEAM; i++)
        b.step[t * BEAM + i] = (Hypothesis){
            t || !i ? log(0.5) * (i + 1) : -INFINITY, i, END + 1 + i};
    b.score = score;
    return b;
}

// What a step has made: how many are open and which, with their probabilities,
// and the best finished one. What comes after the open ones does not matter.
static void step_results(const Beam *b, int t, int open) {
    int words[BEAM];
    Mat probability = separate(1, BEAM), row = separate(1, BEAM);
    for (int i = 0; i < BEAM; i++) {
        const Hypothesis *h = &b->step[(t + 1) * BEAM + i];
        row.at[i] = i < open ? h->row : -1;
        words[i] = i < open ? h->token : -1;
        probability.at[i] = i < open ? (real)exp(h->sum) : -1;
    }
    result_number("open", open);
    result("next.row", row);
    result_whole("next.token", words, sizeof *words, 1, BEAM);
    result("exp(next.sum)", probability);
    result_number("b->length", b->length);
    result_number("exp(b->best.sum)", exp(b->best.sum));
    result_number("exp(b->score)", exp(b->score));
}

// `score` is the best one before; a number above 0 is a multiple of the score
// that the first candidate can reach.
static void grade_beam_step(void) {
    static const struct {
        const char *name;
        int t;
        double end, A, score; // END's logit
    } cases[] = {
        {"none of the candidates ends", 1, -9, 0.6, -INFINITY},
        {"an open one could beat the best now", 3, -9, 1, -1.5},
        {"an open one could beat the best later", 3, -9, 1, -1.05},
        {"some end, others stay open", 1, 2.5, 0.6, -INFINITY},
        {"all end", 2, 20, 0.6, -INFINITY},
        {"none can beat the best any more", 3, -9, 0.6, -0.5},
        {"the last step", LONGEST_HERE - 1, 0, 0.6, -9},
        {"the best score is easy to beat", 3, -9, 0.6, -50},
        {"the first candidate ends, a later one stays open", 1, 2.5, 2,
         -INFINITY},
        {"the last step but one", LONGEST_HERE - 2, -9, 0.6, -9},
        {"an open one can only reach the best", 3, -9, 0, 1},
        {"an open one can beat the best by little", 3, -9, 0.6, 1.01},
        {"an open one can nearly reach the best", 3, -9, 0.6, 0.99},
        {"the first candidate ends, none can beat it", 1, 2.5, 0.1, -INFINITY},
        {"fewer candidates than places", 0, -9, 0.6, -INFINITY}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int t = cases[c].t;
        Mat logits = input("logits", BEAM, t ? V : FIRST_TOKEN);
        for (int r = 0; r < BEAM; r++)
            *at(logits, r, END) = (real)cases[c].end;
        Beam b = search_at(t, cases[c].score);
        if (b.score > 0) {
            Hypothesis first[BEAM];
            best_candidates(first, b.step + t * BEAM, logits);
            b.score *= first[0].sum / length_penalty(b.longest, cases[c].A);
        }
        start(cases[c].name);
        int open = beam_step(&b, t, logits, cases[c].A);
        step_results(&b, t, open);
        finish();
    }
}

// ---------------------------------------------------------------- the table

#define ROW(name) {#name, grade_##name}
#define THE_CHECK(name) ROW(name)

static const Check checks[] = {
#ifdef CHECK // alone: it is compiled much faster
    THE_CHECK(CHECK),
#else
    ROW(matmul_definition), ROW(dropout_row), ROW(softmax_row),
    ROW(softmax_backward), ROW(attention_forward), ROW(attention_backward),
    ROW(linear_backward), ROW(head), ROW(sinusoidal_positions),
    ROW(embedding_backward), ROW(activation_backward), ROW(ffn_backward),
    ROW(norm_forward), ROW(norm_backward), ROW(residual_leave),
    ROW(residual_leave_backward), ROW(attention_sublayer_backward),
    ROW(encoder_layer_forward), ROW(decoder_layer_forward),
    ROW(decoder_layer_backward), ROW(padding_mask), ROW(causal_padding_mask),
    ROW(make_batch), ROW(loss_forward), ROW(loss_backward), ROW(clip_factor),
    ROW(adam_step), ROW(learning_rate), ROW(decoder_layer_step), ROW(translate),
    ROW(beam_step),
#endif
};

int main(int count, char **argument) {
    return grade_main(checks, sizeof checks / sizeof *checks, count, argument);
}
