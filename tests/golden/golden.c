// Every intermediate result, the loss and every gradient of a small padded
// model, the same with dropout in all its places, and Adam's first steps,
// against values from PyTorch's autograd. The files in tests/golden are made by
// tests/golden/golden.py; reading them needs no Python.

#include "../lib/test.h"

// ## Reading the files

typedef struct {
    char name[80];
    Mat mat;
} Golden;

Golden *golden;
int goldens;

void read_golden(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file)
        fail("cannot open %s", path);
    goldens = 0;
    char name[80];
    int rows, cols;
    while (fscanf(file, " %79s", name) == 1) {
        if (name[0] == '#') {
            if (fscanf(file, "%*[^\n]") == EOF)
                break;
            continue;
        }
        if (fscanf(file, "%d %d", &rows, &cols) != 2)
            fail("%s: %s has no size", path, name);
        golden = reallocate(golden, (size_t)goldens + 1, sizeof *golden);
        Golden *g = &golden[goldens++];
        snprintf(g->name, sizeof g->name, "%s", name);
        g->mat = arena_mat(&room, rows, cols);
        for (int k = 0; k < rows * cols; k++) {
            double value;
            if (fscanf(file, "%lf", &value) != 1)
                fail("%s: %s has too few numbers", path, name);
            g->mat.at[k] = (real)value;
        }
    }
    fclose(file);
}

const Mat *find(const char *prefix, const char *name) {
    char full[160];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    for (int i = 0; i < goldens; i++)
        if (!strcmp(golden[i].name, full))
            return &golden[i].mat;
    return NULL;
}

Mat expected(const char *prefix, const char *name) {
    const Mat *m = find(prefix, name);
    if (!m)
        fail("no golden value %s%s", prefix, name);
    return *m;
}

// How many there are whose names begin with this.
int count_of(const char *prefix) {
    int count = 0;
    for (int i = 0; i < goldens; i++)
        count += !strncmp(golden[i].name, prefix, strlen(prefix));
    return count;
}

int *ids_of(const char *name) {
    Mat m = expected("", name);
    int *ids = arena_take(&room, (size_t)(m.rows * m.cols), sizeof *ids);
    for (int k = 0; k < m.rows * m.cols; k++)
        ids[k] = (int)m.at[k];
    return ids;
}

// ## Comparing

const double limit = sizeof(real) == 8 ? 1e-10 : 1e-4;

// How many tensors of a kind were compared, and the first that is wrong; while
// all are right, the one that is farthest off.
typedef struct {
    int compared;
    double error;
    char name[80];
} Agreement;

Agreement values, gradients, masks;

void note(Agreement *a, const char *name, double error) {
    a->compared++;
    if (a->error < limit && error > a->error) {
        a->error = error;
        snprintf(a->name, sizeof a->name, "%s", name);
    }
}

// Compares what we computed with the golden value. The file of a model with
// dropout has only some of them.
void compare(const char *name, Mat ours) {
    if (find("", "noise") && !find("value.", name))
        return;
    note(&values, name, largest_error(ours, expected("value.", name)));
}

void compare_in(const char *prefix, const char *name, Mat ours) {
    char full[80];
    snprintf(full, sizeof full, "%s.%s", prefix, name);
    compare(full, ours);
}

// Dropout drops where the mask is 0, and nowhere else; and it divides by 1-p.
// In attention each head has noise of its own; all heads have as many rows.
void compare_mask(const char *prefix, const char *name, const Dropout *d,
                  int heads) {
    char full[80];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    if (d->rate == 0)
        return;
    Mat mask = expected("mask.", full);
    Mat ones = filled_mat(mask.rows, mask.cols, 1 - (double)d->rate);
    int rows = mask.rows / heads;
    for (int i = 0; i < heads; i++)
        dropout(slice_rows(ones, i * rows, rows), d[i]);
    note(&masks, full, largest_error(ones, mask));
}

// weights · values, head by head, is what the output projection reads
void compare_attention(const char *prefix, const AttentionSublayerSaved *saved,
                       const AttentionSublayer *w) {
    const MultiHeadSaved *s = &saved->multi_head;
    Pass pass = {.arena = &room};
    compare_in(prefix, "query", s->q);
    compare_in(prefix, "key", s->k);
    compare_in(prefix, "value", s->v);
    compare_in(prefix, "weights", s->weights);
    compare_in(prefix, "context", s->context);
    compare_in(prefix, "output",
               linear_forward(&pass, &w->multi_head.output, s->context));
    int heads = s->sentences * s->heads;
    Dropout *d = arena_take(&room, (size_t)heads, sizeof *d);
    for (int i = 0; i < heads; i++)
        d[i] = head_of(s, i).dropout;
    compare_mask(prefix, ".weights", d, heads);
    compare_mask(prefix, ".output", &saved->residual.dropout, 1);
}

void compare_ffn(const char *prefix, const FeedForwardSublayerSaved *saved,
                 const FeedForwardSublayer *w) {
    const FeedForwardSaved *s = &saved->network;
    Pass pass = {.arena = &room};
    compare_in(prefix, "inner", s->inner);
    compare_in(prefix, "active", s->active);
    compare_in(prefix, "output",
               linear_forward(&pass, &w->network.outer, s->active));
    compare_mask(prefix, ".active", &s->dropout, 1);
    compare_mask(prefix, ".output", &saved->residual.dropout, 1);
}

void compare_norm(const char *sublayer, const ResidualSaved *s, const Norm *w) {
    Pass pass = {.arena = &room};
    NormSaved again;
    char name[100];
    snprintf(name, sizeof name, "%s_norm", sublayer);
    compare(name, norm_forward(&pass, &again, w, s->norm.x));
}

// A sub-layer's norm comes after it in a post-norm model, else before it.
#define COMPARE_SUBLAYER(kind, stack, l, sublayer, s, w)                      \
    do {                                                                      \
        char name[80];                                                        \
        snprintf(name, sizeof name, stack ".%d." #sublayer, l);               \
        if (norm == PRE_NORM)                                                 \
            compare_norm(name, &(s)->sublayer.residual, &(w)->sublayer.norm); \
        compare_##kind(name, &(s)->sublayer, &(w)->sublayer);                 \
        if (norm == POST_NORM)                                                \
            compare_norm(name, &(s)->sublayer.residual, &(w)->sublayer.norm); \
    } while (0)

// The input of a stack, of whose first sub-layer this is.
Mat input_of(const AttentionSublayerSaved *s, int norm) {
    return norm == POST_NORM ? s->multi_head.x : s->residual.norm.x;
}

// In the order in which they are computed.
void compare_pass(const Saved *s, const Transformer *t) {
    int norm = t->config.norm;
    compare_mask("", "source_embedded", &s->source.dropout, 1);
    compare("source_embedded",
            input_of(&s->encoder.layer->self_attention, norm));
    for (int l = 0; l < t->config.layers; l++) {
        const EncoderLayerSaved *e = &s->encoder.layer[l];
        const EncoderLayer *w = &t->encoder.layer[l];
        COMPARE_SUBLAYER(attention, "encoder", l, self_attention, e, w);
        COMPARE_SUBLAYER(ffn, "encoder", l, feed_forward, e, w);
    }
    compare("encoder.output", s->memory);
    compare_mask("", "target_embedded", &s->target.dropout, 1);
    compare("target_embedded",
            input_of(&s->decoder.layer->self_attention, norm));
    for (int l = 0; l < t->config.layers; l++) {
        const DecoderLayerSaved *d = &s->decoder.layer[l];
        const DecoderLayer *w = &t->decoder.layer[l];
        COMPARE_SUBLAYER(attention, "decoder", l, self_attention, d, w);
        COMPARE_SUBLAYER(attention, "decoder", l, cross_attention, d, w);
        COMPARE_SUBLAYER(ffn, "decoder", l, feed_forward, d, w);
    }
    compare("decoder.output", s->hidden);
}

// ## The model

Transformer *golden_model(Config config) {
    config.layers = 2;
    Mat source = expected("parameter.", "source_embedding.weight");
    Mat target = expected("parameter.", "target_embedding.weight");
    config.d_model = source.cols;
    config.source_vocab = source.rows;
    config.target_vocab = target.rows;
    config.d_ff = expected("value.", "encoder.0.feed_forward.inner").cols;
    config.heads = 2;
    config.max_len = 5;
    Transformer *t = transformer_new(&config);
    for (int i = 0; i < t->list.tensors; i++)
        copy(*t->list.tensor[i].mat,
             expected("parameter.", t->list.tensor[i].name.text));
    return t;
}

Batch golden_batch(void) {
    Mat source = expected("", "source"), input = expected("", "input");
    return (Batch){source.rows, source.cols, input.cols, ids_of("source"),
                   ids_of("input"), ids_of("expected")};
}

// Forward and backward, every value and every gradient of the file last read.
void check_pass(Pass pass, const Transformer *t, const Batch *batch,
                double smoothing) {
    values = gradients = masks = (Agreement){.error = 0};
    Saved s;
    Mat logits = transformer_forward(&pass, &s, t, batch);
    compare_pass(&s, t);
    compare("logits", logits);
    Loss loss = loss_of_logits(logits, batch->expected, smoothing);
    real mean = (real)(loss.loss / loss.tokens);
    real plain = (real)(loss.cross_entropy / loss.tokens);
    compare("loss", mat(&mean, 1, 1));
    compare("loss_unsmoothed", mat(&plain, 1, 1));

    Transformer *g = transformer_zeros(&t->config);
    transformer_backward(&pass, &s, t, g, logits);
    for (int i = 0; i < g->list.tensors; i++) {
        const char *name = g->list.tensor[i].name.text;
        if (!pass.training || find("gradient.", name))
            note(&gradients, name, largest_error(*g->list.tensor[i].mat,
                                                 expected("gradient.", name)));
    }
    transformer_free(g);
}

void check_model(const char *path, const char *dropped_path, Config config,
                 double smoothing) {
    read_golden(path);
    Transformer *t = golden_model(config);
    Batch batch = golden_batch();
    Pass pass = {.arena = &room, .config = &t->config};
    check_pass(pass, t, &batch, smoothing);
    CLAIM(values.error < limit, "%s: every intermediate result is PyTorch's: "
          "%.1e (%s)", path, values.error, values.name);
    CLAIM(gradients.error < limit, "%s: every gradient is PyTorch's: %.1e (%s)",
          path, gradients.error, gradients.name);

    read_golden(dropped_path);
    drop_everywhere(&t->config, expected("", "rate").at[0]);
    pass.training = true;
    pass.noise = (uint64_t)expected("", "noise").at[0];
    check_pass(pass, t, &batch, smoothing);
    CLAIM(masks.error < limit && masks.compared == count_of("mask."),
          "%s: in all %d places dropout draws the given masks: %.1e (%s)",
          dropped_path, masks.compared, masks.error, masks.name);
    CLAIM(values.error < limit && values.compared == count_of("value."),
          "%s: with these masks all %d values are PyTorch's: %.1e (%s)",
          dropped_path, values.compared, values.error, values.name);
    CLAIM(gradients.error < limit
          && gradients.compared == count_of("gradient."),
          "%s: and all %d gradients: %.1e (%s)", dropped_path,
          gradients.compared, gradients.error, gradients.name);
    transformer_free(t);
}

// ## Adam and clipping

void check_adam(void) {
    read_golden("tests/golden/adam.txt");
    Mat p = copied(expected("", "parameter"));
    Mat m = filled_mat(1, p.cols, 0), v = filled_mat(1, p.cols, 0);
    double worst = 0;
    for (int t = 1; t <= 3; t++) {
        char number[4];
        snprintf(number, sizeof number, "%d", t);
        const real *gradient = expected("gradient.", number).at;
        Adam all = paper_adam(p.at, m.at, v.at, gradient, (size_t)p.cols);
        adam_step(all, 1, expected("learning_rate.", number).at[0], t);
        worst = fmax(worst, largest_error(p, expected("parameter.", number)));
    }
    worst = fmax(worst, largest_error(m, expected("", "m.3")));
    worst = fmax(worst, largest_error(v, expected("", "v.3")));
    CLAIM(worst < limit, "three steps of Adam are PyTorch's: %.1e", worst);

    Mat g = expected("clip.", "gradient");
    double norm = l2_norm(g.at, (size_t)g.cols);
    CLAIM(relative_error(norm, expected("clip.", "norm").at[0]) < limit,
          "the norm of a gradient is PyTorch's");
    double factor = clip_factor(norm, expected("clip.", "max_norm").at[0]);
    // PyTorch divides by norm + 1e-6
    double theirs = expected("clip.", "result").at[0] / g.at[0];
    CLAIM(fabs(factor / theirs * (norm / (norm + 1e-6)) - 1) < 1e-6,
          "and so is the factor it is clipped by");
}

int main(void) {
    check_model("tests/golden/post.txt", "tests/golden/post-dropout.txt",
                (Config){.norm = POST_NORM}, 0);
    check_model("tests/golden/pre.txt", "tests/golden/pre-dropout.txt",
                (Config){.norm = PRE_NORM, .activation = GELU,
                         .positions = LEARNED, .tie = 1}, 0.1);
    check_adam();
    free(golden);
    arena_free(&room);
    return claims_end();
}
