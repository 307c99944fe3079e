// Extreme cases: the smallest models and batches there are, scores too large
// for an exponential, sentences that are empty or longer than any in training,
// dropout at its limit, a file of many lines.

#include "../lib/sandbox.h"
#include "../lib/test.h"
#include "../lib/model.h"

#define FILE_NAME SCRATCH "edges.tsv"

enum { WORD = FIRST_TOKEN };

// The mean loss; the logits' largest size goes to *most.
double loss_of(ModelCase *c, double *most) {
    size_t mark = room.used;
    Pass pass;
    Saved s;
    Mat logits = model_logits(c, &pass, &s);
    for (int i = 0; i < logits.rows; i++)
        for (int j = 0; j < logits.cols; j++) {
            double x = fabs((double)*at(logits, i, j));
            *most = isnan(*most) || x <= *most ? *most : x; // keeps a NaN
        }
    arena_release(&room, mark);
    return (double)model_loss(c);
}

// A model of random numbers.
Transformer *model_of(int width, int heads, int words, int norm) {
    Config config = {.layers = 1, .d_model = width, .heads = heads, .d_ff = 3,
                     .source_vocab = WORD + words, .target_vocab = WORD + words,
                     .max_len = 40, .norm = norm};
    Transformer *t = transformer_new(&config);
    for (size_t k = 0; k < t->list.count; k++)
        t->list.values[k] = (real)(0.3 * normal(&test_state));
    return t;
}

// Claims that every gradient is right. Frees the model.
void check_gradients(ModelCase c, const char *what) {
    Transformer *g = model_gradient(&c);
    double worst = 0;
    for (int i = 0; i < g->list.tensors; i++)
        worst = fmax(worst, gradient_error(model_loss, &c,
                                           *c.model->list.tensor[i].mat,
                                           *g->list.tensor[i].mat));
    CLAIM(worst < slope_error, "%s: every gradient agrees with " SLOPE
          ": %.1e", what, worst);
    transformer_free(g);
    transformer_free(c.model);
}

// ## As small as can be

void test_smallest(void) {
    int end[] = {END}, start[] = {START}, word[] = {WORD};
    int two[] = {WORD, END}, input[] = {START, WORD};
    const Batch empty = {1, 1, 1, end, start, end};
    const Batch one = {1, 1, 1, word, start, word};
    const Batch pair = {1, 2, 2, two, input, two};
    const struct {
        const char *what;
        const Batch *batch;
        int width, heads, words;
        double dropout;
    } small[] = {
        {"one sentence of one token, one head, one word, width 1", &one, 1, 1,
         1, 0},
        {"one sentence of one token, one head, one word, width 4", &one, 4, 1,
         1, 0},
        {"an empty source and target", &empty, 4, 2, 1, 0},
        {"as many heads as the width", &pair, 4, 4, 2, 0},
        {"dropout 0.9", &pair, 4, 2, 2, 0.9},
    };
    for (int norm = 0; norm < NORMS; norm++)
        for (int i = 0; i < 5; i++) {
            ModelCase c = {model_of(small[i].width, small[i].heads,
                                    small[i].words, norm),
                           *small[i].batch, small[i].dropout > 0, 0};
            char what[100];
            drop_everywhere(&c.model->config, small[i].dropout);
            snprintf(what, sizeof what, "%s, %s",
                     norm ? "pre-norm" : "post-norm", small[i].what);
            check_gradients(c, what);
        }
}

// ## Nothing but padding

void test_padding(void) {
    int source[] = {WORD, END, PAD, PAD}, input[] = {START, WORD, PAD, PAD};
    int expected[] = {WORD, END, PAD, PAD};
    Batch batch = {2, 2, 2, source, input, expected};
    for (int norm = 0; norm < NORMS; norm++) {
        ModelCase c = {.model = model_of(4, 2, 2, norm), .batch = batch};
        ModelCase alone = {c.model, {1, 2, 2, source, input, expected}, false, 0};
        double most = 0, loss = loss_of(&c, &most);
        CLAIM(isfinite(most) && loss == (double)model_loss(&alone),
              "a sentence of padding only: every logit is finite, and the "
              "loss is that of the other sentence");
        check_gradients(c, "a sentence of padding only");
    }
    int nothing[] = {PAD, PAD};
    Batch empty = {1, 2, 2, nothing, nothing, nothing};
    ModelCase none = {.model = model_of(4, 2, 2, 0), .batch = empty};
    double most = 0, loss = loss_of(&none, &most);
    CLAIM(loss == 0 && isfinite(most), "a batch of padding only has no loss");
    transformer_free(none.model);
}

// ## Scores

// Queries and keys whose scores are `size`, 0 and -size.
void check_scores(double size) {
    Mat q = filled_mat(2, 2, 0), k = filled_mat(3, 2, 0), v = random_mat(3, 2);
    Mat weights = filled_mat(2, 3, 0), out = filled_mat(2, 2, 0);
    for (int i = 0; i < 2; i++)
        *at(q, i, 0) = (real)(i ? -size : size);
    for (int j = 0; j < 3; j++)
        *at(k, j, 0) = (real)(1 - j);
    attention_forward((Head){.q = q, .k = k, .v = v, .weights = weights,
                             .dropped = weights, .out = out, .scale = 1},
                      (Mask){0});
    bool sure = *at(weights, 0, 0) == 1 && *at(weights, 1, 2) == 1
             && *at(weights, 0, 2) == 0 && *at(weights, 1, 0) == 0;
    CLAIM(sure && largest_error(slice_rows(out, 0, 1),
                                slice_rows(v, 0, 1)) == 0,
          "scores of %.0e, 0 and %.0e: the first key has all the weight", size,
          -size);
    Mat dw = random_mat(2, 3);
    softmax_backward(dw, weights);
    double most = 0;
    for (int i = 0; i < 6; i++)
        most = dw.at[i] == 0 ? most : INFINITY; // for a NaN, too
    CLAIM(most == 0, "and the gradient is 0, not NaN");
}

// As long as its weights are finite, a model can be used.
void test_huge_weights(void) {
    for (double size = 1e10; size < 1e38; size *= 1e9) {
        Transformer *t = model_of(4, 2, 2, POST_NORM);
        for (size_t k = 0; k < t->list.count; k++)
            t->list.values[k] *= (real)size;
        enum { P = 40 }; // longest_output
        int source[] = {WORD, END}, out[P] = {0}, good = 0;
        Batch batch = {.sentences = 1, .source_length = 2, .source = source};
        double sum;
        translate(t, &batch, out, &sum, &room);
        for (int i = 0; i < P; i++)
            good += out[i] >= 0 && out[i] < t->config.target_vocab;
        CLAIM(good == P, "weights of %.0e: it translates into words", size);
        Sentence one = {source, 2}, *own;
        own = translate_all(t, &one, 1, 4, &room);
        good = own->length <= P;
        for (int i = 0; i < own->length; i++)
            good = good && own->id[i] >= END
                && own->id[i] < t->config.target_vocab;
        CLAIM(good, "so does a beam: %d tokens", own->length);
        sentences_free(own, 1);
        transformer_free(t);
    }
}

// A picture of weights that are not numbers.
void test_drawing_nan(void) {
    const char *names[] = {"x", "y"};
    size_t size;
    FILE *file = fopen(FILE_NAME, "w");
    draw_attention(file, filled_mat(2, 2, NAN), names, names);
    fclose(file);
    char *drawn = read_file(FILE_NAME, &size);
    CLAIM(strstr(drawn, "|????|"), "weights that are NaN are drawn as ?");
    free(drawn);
}

// ## Longer than trained

Sentence sentence_of(int words) {
    Sentence s = {allocate((size_t)words + 1, sizeof(int)), words + 1};
    for (int i = 0; i < words; i++)
        s.id[i] = WORD + i % 2;
    s.id[words] = END;
    return s;
}

// Trains on sentences of one and two words. Returns whether it stayed finite.
bool train_a_little(Trainer *t, double dropout) {
    int none[] = {END}, one[] = {WORD, END}, two[] = {WORD, WORD + 1, END};
    Sentence source[] = {{one, 2}, {two, 3}, {none, 1}};
    Sentence target[] = {{two, 3}, {one, 2}, {one, 2}};
    Pairs p = {source, target, 3, 0};
    Recipe recipe = {.rate = 0.01, .warmup = 1, .clip = 1, .batch = 2,
                     .steps = 30, .seed = 1};
    Config config = {.layers = 1, .d_model = 4, .heads = 1, .d_ff = 4,
                     .source_vocab = WORD + 2, .target_vocab = WORD + 2,
                     .max_len = 40};
    drop_everywhere(&config, dropout);
    *t = trainer_of(&config, &recipe);
    initialize(&t->model->list, 1);
    int order[] = {0, 1, 2};
    bool finite = true;
    for (int i = 0; i < 30; i++) {
        Batch batch = make_batch(&t->arena, &p, order + i % 2, 2);
        finite = finite && train_step(t, &batch).step == t->step;
        arena_release(&t->arena, 0);
    }
    return finite;
}

void test_long_and_empty(void) {
    Trainer t;
    CLAIM(train_a_little(&t, 0), "training with an empty source is finite");
    int none[] = {END}, two[] = {WORD, WORD + 1, END};
    Sentence s[] = {{NULL, 0}, {none, 1}, {two, 3}};
    s[0] = sentence_of(40);
    Sentence *all = translate_all(t.model, s, 3, 1, &t.arena);
    Sentence *empty = translate_all(t.model, s + 1, 1, 1, &t.arena);
    bool good = all[0].length > 0 && all[0].length <= 40;
    for (int i = 0; i < all[0].length; i++)
        good = good && all[0].id[i] >= END && all[0].id[i] < WORD + 2;
    CLAIM(good, "a source twenty times as long as in training");
    CLAIM(empty->length == all[1].length
          && !memcmp(empty->id, all[1].id, sizeof(int) * (size_t)empty->length),
          "an empty source gives the same alone and beside long ones");
    sentences_free(all, 3);
    sentences_free(empty, 1);
    free(s[0].id);
    trainer_free(&t);
}

// ## Dropout at its limit

void test_limits(void) {
    Trainer t;
    CLAIM(train_a_little(&t, 0.99), "dropout 0.99: training is finite");
    trainer_free(&t);
}

// ## Many lines

// A tenth of them where each access to memory is watched, which takes fifty
// times as long.
#ifdef TRANSFORMER_MALLOC
enum { MANY_LINES = 10000 };
#else
enum { MANY_LINES = 100000 };
#endif

void test_many_lines(void) {
    FILE *file = fopen(FILE_NAME, "wb");
    for (int i = 0; i < MANY_LINES; i++)
        fprintf(file, "a%d b\tc d e%d\n", i % 1000, i % 500);
    long size = ftell(file);
    fclose(file);
    Tokenizer how = {WORDS, 0};
    memory_peak = memory_now;
    size_t before = memory_now;
    double started = now();
    Text text = read_pairs(FILE_NAME, how);
    Vocab from = vocab_build(text.source, MANY_LINES, how, 1);
    Vocab to = vocab_build(text.target, MANY_LINES, how, 1);
    Pairs p = tokenize_pairs(&text, &from, &to, how, 64);
    text_free(&text);
    int *order = allocate(MANY_LINES, sizeof *order);
    int last = p.target[MANY_LINES - 1].id[2];
    epoch_order(order, &p, 64, 1, 0);
    CLAIM(p.count == MANY_LINES && p.too_long == 0 && from.count == WORD + 1001
          && to.count == WORD + 502 && !strcmp(to.token[last], "e499"),
          "%d lines are read, numbered and put in order: %.1f s", MANY_LINES,
          now() - started);
    double times = (double)(memory_peak - before) / (double)size;
    CLAIM(times < 12, "within memory for %.1f times the file", times);
    free(order);
    pairs_free(&p);
    vocab_free(&from);
    vocab_free(&to);
    remove(FILE_NAME);
}

int main(void) {
    test_smallest();
    test_padding();
    check_scores(1e4);
    check_scores(1e30);
    test_huge_weights();
    test_drawing_nan();
    test_long_and_empty();
    test_limits();
    test_many_lines();
    remove(FILE_NAME);
    arena_free(&room);
    return claims_end();
}
