// Chapter 8: the decoder, the whole model, the list of its parameters.

#include "../lib/test.h"
#include "../lib/fails.h"
#include "../lib/model.h"

typedef struct {
    Transformer *model;
    Mat x, memory, upstream;
} Case;

Mat forward(Case *c, Pass *pass, DecoderSaved *s) {
    *pass = pass_dropping(&c->model->config, 0, 31, B);
    Masks masks = {padding_mask(&room, source_ids, B, S),
                   causal_padding_mask(&room, input_ids, B, T)};
    return decoder_forward(pass, s, &c->model->decoder, c->x, c->memory,
                           masks);
}

loss_number loss(void *context) {
    Case *c = context;
    Pass pass;
    DecoderSaved s;
    return project(forward(c, &pass, &s), c->upstream);
}

void check_gradient(int norm, const char *name) {
    Config config = small_config();
    config.norm = norm;
    Case c = {random_transformer(&config), random_mat(B * T, D),
              random_mat(B * S, D), random_mat(B * T, D)};
    Transformer *g = transformer_zeros(&config);
    Pass pass;
    DecoderSaved s;
    forward(&c, &pass, &s);
    Mat dmemory = filled_mat(B * S, D, PREFILL);
    size_t used = room.used;
    random_mat(B * T, D);
    size_t one = room.used - used; // the bytes of one gradient
    Mat dx = decoder_backward(&pass, &s, &c.model->decoder, &g->decoder, dmemory,
                              c.upstream);
    CLAIM(room.used == used + one + (size_t)(3 * config.layers + norm) * one,
          "%s decoder: of scratch memory only the gradients are kept", name);
    for (int i = 0; i < B * T * D; i++)
        dx.at[i] += (real)PREFILL;
    CLAIM_GRADIENT(loss, &c, c.x, dx, "%s decoder: gradient of the embeddings",
                   name);
    CLAIM_GRADIENT(loss, &c, c.memory, dmemory,
                   "%s decoder: gradient of the encoder's output", name);
    double padded = 0;
    for (int i = S + 3; i < 2 * S; i++)
        for (int j = 0; j < D; j++)
            padded = fmax(padded, fabs(*at(dmemory, i, j) - PREFILL));
    CLAIM(padded == 0, "%s decoder: padding of the source gets no gradient", name);
    transformer_free(g);
    transformer_free(c.model);
}

void test_list(void) {
    Config config = {.layers = 6, .d_model = 512, .heads = 8, .d_ff = 2048,
                     .source_vocab = 10000, .target_vocab = 10000, .max_len = 64};
    Transformer *t = transformer_outline(&config);
    size_t encoder = 0, listed = 0;
    bool unique = true;
    for (int i = 0; i < t->list.tensors; i++) {
        const Tensor *tensor = &t->list.tensor[i];
        const char *name = tensor->name.text;
        size_t size = (size_t)tensor->rows * (size_t)tensor->cols;
        listed += size;
        encoder += in_encoder(name) ? size : 0;
        for (int j = 0; j < i; j++)
            unique = unique && strcmp(name, t->list.tensor[j].name.text);
    }
    CLAIM(encoder == 24034304, "the article's encoder has 24,034,304 parameters");
    CLAIM(listed == t->list.count, "count is the sum of all sizes");
    CLAIM(unique, "no two tensors have the same name");
    transformer_free(t);
}

void test_memory(void) {
    Config config = small_config();
    config.tie = 1;
    config.norm = PRE_NORM;
    config.positions = LEARNED;
    Transformer *t = transformer_new(&config);
    for (int i = 0; i < t->list.tensors; i++)
        fill(*t->list.tensor[i].mat, 1);
    double total = 0;
    for (size_t k = 0; k < t->list.count; k++)
        total += t->list.values[k];
    CLAIM(total == (double)t->list.count,
          "the tensors fill their block without gap or overlap");
    *at(t->target_embedding, 6, 3) = 42;
    CLAIM(*at(t->output.weight, 3, 6) == 42,
          "tied: the output matrix is the target embedding, transposed");
    transformer_free(t);
}

bool same_values(const Transformer *a, const Transformer *b) {
    return !memcmp(a->list.values, b->list.values,
                   a->list.count * sizeof(real));
}

void test_start(void) {
    Config config = small_config();
    config.d_model = 120;
    config.d_ff = 480;
    Transformer *t = transformer_new(&config), *same = transformer_new(&config);
    initialize(&t->list, 3);
    initialize(&same->list, 3);
    CLAIM(same_values(t, same), "the same seed gives the same model");
    bool as_written = true;
    for (int i = 0; i < t->list.tensors; i++) {
        const Tensor *tensor = &t->list.tensor[i];
        uint64_t state = random_key(3, FOR_PARAMETERS, (uint64_t)i);
        double limit = sqrt(6. / (tensor->rows + tensor->cols));
        for (int k = 0; k < tensor->rows * tensor->cols; k++) {
            double x = strstr(tensor->name.text, ".weight")
                     ? limit * (2 * uniform(&state) - 1)
                     : strstr(tensor->name.text, ".gain") != NULL;
            as_written = as_written && fabs(tensor->mat->at[k] - x) < 1e-6;
        }
    }
    CLAIM(as_written, "matrices and embeddings start uniform between "
          "±√(6/(in+out)), each from a sequence of its own, by its number; biases "
          "at 0, gains at 1");
    initialize(&same->list, 4);
    CLAIM(!same_values(t, same), "another seed gives another one");
    initialize(&same->list, 3);
    CLAIM(same_values(t, same), "whatever the model held before");
    transformer_free(t);
    transformer_free(same);
}

// The places of dropout in the model, in a list, and whether each has the rate
// that belongs there.
typedef struct {
    const Config *config;
    Dropout place[64];
    int count;
    bool right;
} Places;

void add_place(Places *p, Dropout d, double rate) {
    p->place[p->count++] = d;
    p->right = p->right && d.rate == (real)rate;
}

void places_of_attention(Places *p, const AttentionSublayerSaved *s) {
    add_place(p, s->multi_head.dropout, p->config->attention_dropout);
    add_place(p, s->residual.dropout, p->config->dropout);
}

void places_of_ffn(Places *p, const FeedForwardSublayerSaved *s) {
    add_place(p, s->network.dropout, p->config->activation_dropout);
    add_place(p, s->residual.dropout, p->config->dropout);
}

void test_dropout(void) {
    Config config = small_config();
    ModelCase c = {random_transformer(&config), small_batch(), true, 0};
    Pass pass;
    Saved s;
    Places p = {.config = &config, .right = true};
    model_logits(&c, &pass, &s);
    add_place(&p, s.source.dropout, config.dropout);
    add_place(&p, s.target.dropout, config.dropout);
    for (int l = 0; l < config.layers; l++) {
        places_of_attention(&p, &s.encoder.layer[l].self_attention);
        places_of_ffn(&p, &s.encoder.layer[l].feed_forward);
        places_of_attention(&p, &s.decoder.layer[l].self_attention);
        places_of_attention(&p, &s.decoder.layer[l].cross_attention);
        places_of_ffn(&p, &s.decoder.layer[l].feed_forward);
    }
    bool keys = true;
    for (int i = 0; i < p.count; i++)
        for (int j = 0; j < i; j++)
            keys = keys && p.place[i].key != p.place[j].key;
    CLAIM(p.right, "of %d places of dropout, attention weights have one rate, "
          "inner layers another, all others the third", p.count);
    CLAIM(keys, "and each has noise of its own");
    transformer_free(c.model);
}

void test_names(void) {
    char long_name[NAME_SIZE];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    CLAIM(!strcmp(join(long_name, "").text, long_name),
          "a name may fill all of its room");
    CLAIM_FAILS("a longer one is refused, not cut", "is too long",
                join(long_name, "y").text[0]);
}

int main(void) {
    for (int norm = 0; norm < NORMS; norm++)
        check_gradient(norm, norm ? "pre-norm" : "post-norm");
    test_list();
    test_names();
    test_memory();
    test_dropout();
    test_start();
    arena_free(&room);
    return claims_end();
}
