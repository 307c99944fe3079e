// Numbers of a sentence on its way, native and in double precision.
//
//     numbers MODEL SENTENCE TARGET STAGE...     what the page shows before its
//                                                program is there
//     numbers MODEL SENTENCE TARGET check COUNT  name,row,column,value,slope
//
// The latter are held against those of the page. First, every stage that the
// program's own forward pass saves must be what flow.c has, and so must the
// gradient of every parameter. Then COUNT numbers are picked at random; the slope
// is a finite difference of the loss, 0 for what only is looked at.

#include "live.c"

int compared;

void compare(const Stage *s, Mat theirs) {
    if (!s || s->value.rows != theirs.rows || s->value.cols != theirs.cols)
        fail("a stage is missing, or has another shape");
    for (int i = 0; i < theirs.rows; i++)
        for (int j = 0; j < theirs.cols; j++, compared++)
            if (fabs(*at(s->value, i, j) - *at(theirs, i, j)) > 1e-10)
                fail("%s[%d][%d] is %g, should be %g", s->name.text, i, j,
                     *at(s->value, i, j), *at(theirs, i, j));
}

void same(const char *path, const char *kind, Mat theirs) {
    compare(stage_of(join(path, kind).text), theirs);
}

void same_norm(const char *path, const NormSaved *s) {
    compare(stage_of(join(path, "n").text)->from, s->x);
    same(path, "mean", s->mean);
    same(path, "rstd", s->rstd);
}

void same_attention(Name path, const AttentionSublayerSaved *s) {
    const MultiHeadSaved *m = &s->multi_head;
    same(path.text, "q", m->q);
    same(path.text, "k", m->k);
    same(path.text, "v", m->v);
    same(path.text, "weights", m->weights);
    same(path.text, "out", m->context);
    same_norm(path.text, &s->residual.norm);
}

void same_network(Name path, const FeedForwardSublayerSaved *s) {
    same(path.text, "inner", s->network.inner);
    same(path.text, "active", s->network.active);
    same_norm(path.text, &s->residual.norm);
}

void same_encoder(const EncoderSaved *s, int layers) {
    for (int l = 0; l < layers; l++) {
        const EncoderLayerSaved *e = &s->layer[l];
        same_attention(path_of("encoder", l, "self_attention"),
                       &e->self_attention);
        same_network(path_of("encoder", l, "feed_forward"), &e->feed_forward);
    }
}

// Holds the stages against transformer_forward.
void compare_forward(Pass pass) {
    Transformer *model = live.trainer.model;
    Saved saved;
    Mat logits = transformer_forward(&pass, &saved, model, &flow.batch);
    same_encoder(&saved.encoder, model->config.layers);
    for (int l = 0; l < model->config.layers; l++) {
        const DecoderLayerSaved *d = &saved.decoder.layer[l];
        same_attention(path_of("decoder", l, "self_attention"),
                       &d->self_attention);
        same_attention(path_of("decoder", l, "cross_attention"),
                       &d->cross_attention);
        same_network(path_of("decoder", l, "feed_forward"), &d->feed_forward);
    }
    same("output.", "logits", logits);
}

// Holds the gradient of all parameters against another, of the same list.
void compare_gradient(const Transformer *other) {
    const real *a = flow.gradient->list.values, *b = other->list.values;
    for (size_t i = 0; i < other->list.count; i++, compared++)
        if (fabs(a[i] - b[i]) > 1e-10)
            fail("the gradient of parameter %zu is %g, should be %g", i, a[i],
                 b[i]);
}

// Against those of add_gradient.
void compare_all(void) {
    Transformer *model = live.trainer.model;
    Arena arena = {0};
    Pass pass = {.arena = &arena, .config = &model->config, .sentences = 1};
    Transformer *other = transformer_outline(&model->config);
    Trainer t = {.model = model, .gradient = other};
    transformer_place(other);
    compare_forward(pass);
    add_gradient(&t, &flow.batch, flow.batch.target_length, 1);
    compare_gradient(other);
    arena_free(&t.arena);
    arena_free(&arena);
    transformer_free(other);
    printf("%d numbers are the program's\n", compared);
}

// Numbers picked at random; the slope is a finite difference of the loss.
void pick(int count) {
    uint64_t state = 1;
    int stages = 0;
    for (Stage *s = flow.last; s; s = s->previous)
        stages++;
    for (; count > 0; count--) {
        Stage *s = flow.last;
        for (int k = (int)(uniform(&state) * stages); k > 0; k--)
            s = s->previous;
        Name name = s->name;
        int i = (int)(uniform(&state) * s->value.rows);
        int j = (int)(uniform(&state) * s->value.cols);
        double x = *at(s->value, i, j), h = 1e-5;
        double slope = s->gradient.at
                     ? (loss_with(name.text, i, j, x + h)
                        - loss_with(name.text, i, j, x - h)) / (2 * h) : 0;
        flow_forward(true);
        printf("%s,%d,%d,%.12g,%.12g\n", name.text, i, j, x, slope);
    }
}

int main(int argc, char **argv) {
    if (argc < 5)
        fail("usage: numbers MODEL SENTENCE TARGET STAGE... | check COUNT");
    live = load_checkpoint(argv[1], false);
    Config *c = &live.trainer.model->config;
    c->dropout = c->attention_dropout = c->activation_dropout = 0;
    describe_model();
    putchar('\n');
    flow_begin(argv[2], argv[3]);
    putchar('\n');
    flow_compute();
    putchar('\n');
    if (argc == 6 && !strcmp(argv[4], "check")) {
        compare_all();
        pick(atoi(argv[5]));
        return 0;
    }
    for (int n = 4; n < argc; n++) {
        flow_matrix(argv[n]);
        putchar('\n');
    }
    return 0;
}
