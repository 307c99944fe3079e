// Every intermediate result, the loss and every gradient of a small padded
// model, and Adam's first steps, against values from PyTorch's autograd. The
// files in tests/golden are made by tests/golden.py; reading them needs no
// Python.

#include "test.h"

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

Mat expected(const char *prefix, const char *name) {
    char full[160];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    for (int i = 0; i < goldens; i++)
        if (!strcmp(golden[i].name, full))
            return golden[i].mat;
    fail("no golden value %s", full);
}

int *ids_of(const char *name) {
    Mat m = expected("", name);
    int *ids = arena_take(&room, (size_t)(m.rows * m.cols), sizeof *ids);
    for (int k = 0; k < m.rows * m.cols; k++)
        ids[k] = (int)m.at[k];
    return ids;
}

// ## Comparing

double worst_value, worst_gradient;
const char *worst_name = "";

// Notes the largest error of what we computed against the golden value.
void compare(const char *name, Mat ours) {
    double error = largest_error(ours, expected("value.", name));
    if (error > worst_value || isnan(error)) {
        worst_value = error;
        static char kept[80];
        snprintf(kept, sizeof kept, "%s", name);
        worst_name = kept;
    }
}

void compare_in(const char *prefix, const char *name, Mat ours) {
    char full[80];
    snprintf(full, sizeof full, "%s.%s", prefix, name);
    compare(full, ours);
}

// weights · values, head by head, is what the output projection reads
void compare_attention(const char *prefix, const MultiHeadSaved *s,
                       const MultiHead *w) {
    Pass pass = {.arena = &room};
    Mat out = linear_forward(&pass, &w->output, s->context);
    compare_in(prefix, "query", s->q);
    compare_in(prefix, "key", s->k);
    compare_in(prefix, "value", s->v);
    compare_in(prefix, "weights", s->weights);
    compare_in(prefix, "context", s->context);
    compare_in(prefix, "output", out);
}

void compare_ffn(const char *prefix, const FeedForwardSaved *s,
                 const FeedForward *w) {
    Pass pass = {.arena = &room};
    Mat out = linear_forward(&pass, &w->outer, s->active);
    compare_in(prefix, "feed_forward.inner", s->inner);
    compare_in(prefix, "feed_forward.active", s->active);
    compare_in(prefix, "feed_forward.output", out);
}

void compare_norm(const char *prefix, const char *name, const NormSaved *s,
                  const Norm *w) {
    Pass pass = {.arena = &room};
    NormSaved again;
    compare_in(prefix, name, norm_forward(&pass, &again, w, s->x));
}

void compare_layers(const Saved *s, const Transformer *t) {
    char prefix[40], path[80];
    for (int l = 0; l < t->config.layers; l++) {
        const EncoderLayerSaved *e = &s->encoder.layer[l];
        const EncoderLayer *ew = &t->encoder.layer[l];
        snprintf(prefix, sizeof prefix, "encoder.%d", l);
        snprintf(path, sizeof path, "%s.self_attention", prefix);
        compare_attention(path, &e->self_attention.multi_head,
                          &ew->self_attention.multi_head);
        compare_norm(prefix, "self_attention_norm",
                     &e->self_attention.residual.norm, &ew->self_attention.norm);
        compare_ffn(prefix, &e->feed_forward.network, &ew->feed_forward.network);
        compare_norm(prefix, "feed_forward_norm", &e->feed_forward.residual.norm,
                     &ew->feed_forward.norm);

        const DecoderLayerSaved *d = &s->decoder.layer[l];
        const DecoderLayer *dw = &t->decoder.layer[l];
        snprintf(prefix, sizeof prefix, "decoder.%d", l);
        snprintf(path, sizeof path, "%s.self_attention", prefix);
        compare_attention(path, &d->self_attention.multi_head,
                          &dw->self_attention.multi_head);
        compare_norm(prefix, "self_attention_norm",
                     &d->self_attention.residual.norm, &dw->self_attention.norm);
        snprintf(path, sizeof path, "%s.cross_attention", prefix);
        compare_attention(path, &d->cross_attention.multi_head,
                          &dw->cross_attention.multi_head);
        compare_norm(prefix, "cross_attention_norm",
                     &d->cross_attention.residual.norm,
                     &dw->cross_attention.norm);
        compare_ffn(prefix, &d->feed_forward.network, &dw->feed_forward.network);
        compare_norm(prefix, "feed_forward_norm", &d->feed_forward.residual.norm,
                     &dw->feed_forward.norm);
    }
}

// ## The model

void check_model(const char *path, Config config, double smoothing) {
    read_golden(path);
    Mat source = expected("", "source"), input = expected("", "input");
    config.layers = 2;
    config.d_model = expected("parameter.", "source_embedding.weight").cols;
    config.heads = 2;
    config.d_ff = expected("parameter.", "encoder.0.feed_forward.inner.weight").cols;
    config.source_vocab = expected("parameter.", "source_embedding.weight").rows;
    config.target_vocab = expected("parameter.", "target_embedding.weight").rows;
    config.max_len = 5;
    Transformer *t = transformer_new(&config), *g = transformer_zeros(&config);
    for (int i = 0; i < t->tensors; i++)
        copy(*t->tensor[i].mat, expected("parameter.", t->tensor[i].name.text));

    Batch batch = {source.rows, source.cols, input.cols, ids_of("source"),
                   ids_of("input"), ids_of("expected")};
    Pass pass = {.arena = &room, .config = &config};
    Saved s;
    Mat logits = transformer_forward(&pass, &s, t, &batch);
    Mat lse = arena_mat(&room, logits.rows, 1);
    Loss loss = loss_forward(lse, logits, batch.expected, smoothing, &room);
    real mean = (real)(loss.loss / loss.tokens);
    real plain = (real)(loss.cross_entropy / loss.tokens);

    worst_value = worst_gradient = 0;
    compare_layers(&s, t);
    compare("source_embedded", config.norm == POST_NORM
            ? s.encoder.layer[0].self_attention.multi_head.x
            : s.encoder.layer[0].self_attention.residual.norm.x);
    compare("encoder.output", s.memory);
    compare("decoder.output", s.hidden);
    compare("logits", logits);
    compare("loss", mat(&mean, 1, 1));
    compare("loss_unsmoothed", mat(&plain, 1, 1));
    double limit = sizeof(real) == 8 ? 1e-10 : 1e-4;
    CLAIM(worst_value < limit, "%s: every intermediate result is PyTorch's: %.1e "
          "(%s)", path, worst_value, worst_name);

    loss_backward(logits, logits, lse, batch.expected, smoothing, loss.tokens);
    transformer_backward(&pass, &s, t, g, logits);
    for (int i = 0; i < g->tensors; i++) {
        double error = largest_error(*g->tensor[i].mat,
                                     expected("gradient.", g->tensor[i].name.text));
        if (error > worst_gradient) {
            worst_gradient = error;
            worst_name = g->tensor[i].name.text;
        }
    }
    CLAIM(worst_gradient < limit, "%s: every gradient is PyTorch's: %.1e (%s)",
          path, worst_gradient, worst_name);
    transformer_free(t);
    transformer_free(g);
}

// ## Adam and clipping

void check_adam(void) {
    read_golden("tests/golden/adam.txt");
    Mat p = copied(expected("", "parameter"));
    Mat m = filled_mat(1, p.cols, 0), v = filled_mat(1, p.cols, 0);
    double worst = 0, limit = sizeof(real) == 8 ? 1e-10 : 1e-4;
    for (int t = 1; t <= 3; t++) {
        char number[4];
        snprintf(number, sizeof number, "%d", t);
        Adam all = {p.at, m.at, v.at, expected("gradient.", number).at,
                    (size_t)p.cols};
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
    check_model("tests/golden/post.txt", (Config){.norm = POST_NORM}, 0);
    check_model("tests/golden/pre.txt",
                (Config){.norm = PRE_NORM, .activation = GELU,
                         .positions = LEARNED, .tie = 1}, 0.1);
    check_adam();
    free(golden);
    arena_free(&room);
    return claims_end();
}
