// What the labs share: the whole of transformer.c, random numbers, and what
// models made of its parts have in common.

#define TRANSFORMER_NO_MAIN
#include "../transformer.c"

// Normally distributed, mean 0 and standard deviation 1 (Box and Muller, 1958).
double normal(uint64_t *state) {
    double radius = sqrt(-2 * log(1 - uniform(state)));
    return radius * cos(6.283185307179586 * uniform(state));
}

// The layers of the encoder, and its final norm, for a list without a decoder.
void list_encoder(Transformer *t) {
    for (int l = 0; l < t->config.layers; l++) {
        char path[NAME_SIZE];
        EncoderLayer *w = &t->encoder.layer[l];
        snprintf(path, sizeof path, "encoder.%d.", l);
        list_attention(t, &w->self_attention, join(path, "self_attention"));
        list_ffn(t, &w->feed_forward, join(path, "feed_forward"));
    }
    if (t->config.norm == PRE_NORM)
        list_norm(t, &t->encoder.norm, join("encoder", ".norm"));
}

// The list of a model without a decoder, but no numbers yet. Like
// transformer_outline, but `list_model` says which tensors there are.
Transformer *encoder_outline(const Config *config,
                             void list_model(Transformer *)) {
    Transformer *t = allocate(1, sizeof *t);
    t->config = *config;
    t->encoder.layer = allocate((size_t)config->layers,
                                sizeof *t->encoder.layer);
    list_model(t);
    return t;
}

// Such a model in one of its four roles, all numbers zero. The caller gives it
// back with transformer_free.
Transformer *encoder_zeros(const Config *config,
                           void list_model(Transformer *)) {
    Transformer *t = encoder_outline(config, list_model);
    real *next = t->values = allocate(t->count, sizeof(real));
    for (int i = 0; i < t->tensors; i++) {
        Tensor *tensor = &t->tensor[i];
        *tensor->mat = mat(next, tensor->rows, tensor->cols);
        next += (size_t)tensor->rows * (size_t)tensor->cols;
    }
    return t;
}

// The last part of train_step: clips the gradient, and takes a step of Adam.
void take_step(Trainer *t) {
    const Transformer *g = t->gradient;
    Adam adam = {t->model->values, t->m->values, t->v->values, g->values,
                 g->count};
    double norm = l2_norm(g->values, g->count);
    t->step++;
    adam_step(adam, clip_factor(norm, t->recipe.clip),
              learning_rate(&t->recipe, t->step), t->step);
}
