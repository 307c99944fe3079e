// Numbers of "One sentence", to hold against those of the page: native, in
// double precision, and by other ways where there are any.
//
//     numbers MODEL SENTENCE TARGET COUNT    name,row,column,value,slope
//     numbers gpt MODEL TEXT NEXT COUNT      the same of a GPT
//
// First, every stage that the program's own forward pass saves must be what
// flow.c has, and so must the gradient of every parameter. Then COUNT numbers
// are picked at random; the slope is a finite difference of the loss, 0 for
// what only is looked at. Compiled with -DTRANSFORMER_DOUBLE.

#include "gpt.c"

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

// And against gpt_forward.
void compare_gpt_forward(Pass pass) {
    Transformer *model = live.trainer.model;
    GptSaved saved;
    Mat logits = gpt_forward(&pass, &saved, model, flow.batch.input,
                             flow.batch.target_length);
    same_encoder(&saved.encoder, model->config.layers);
    same("encoder.", "norm", saved.hidden);
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

// Against that of add_gradient, or of gpt_gradient.
void compare_all(bool is_gpt) {
    Transformer *model = live.trainer.model;
    Arena arena = {0};
    Pass pass = {.arena = &arena, .config = &model->config, .sentences = 1};
    Transformer *other = is_gpt ? gpt_outline(&model->config)
                                : transformer_outline(&model->config);
    Trainer t = {.model = model, .gradient = other};
    transformer_place(other);
    if (is_gpt) {
        compare_gpt_forward(pass);
        gpt_gradient(&pass, model, other, &flow.batch);
    } else {
        compare_forward(pass);
        add_gradient(&t, &flow.batch, flow.batch.target_length, 1);
    }
    compare_gradient(other);
    arena_free(&t.arena);
    arena_free(&arena);
    transformer_free(other);
}

int main(int argc, char **argv) {
    bool is_gpt = argc == 6 && !strcmp(argv[1], "gpt");
    if (argc != 5 && !is_gpt)
        fail("usage: numbers [gpt] MODEL SENTENCE TARGET COUNT");
    argv += is_gpt;
    live = is_gpt ? load_gpt(argv[1], false) : load_checkpoint(argv[1], false);
    Config *c = &live.trainer.model->config;
    c->dropout = c->attention_dropout = c->activation_dropout = 0;
    if (is_gpt)
        gpt_begin(argv[2], argv[3]);
    else
        flow_begin(argv[2], argv[3]);
    putchar('\n');
    flow_compute();
    putchar('\n');
    compare_all(is_gpt);
    printf("%d numbers are the program's\n", compared);
    uint64_t state = 1;
    int stages = 0;
    for (Stage *s = flow.last; s; s = s->previous)
        stages++;
    for (int n = atoi(argv[4]); n > 0; n--) {
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
    return 0;
}
