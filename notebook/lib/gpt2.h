// gpt2.h, used by lab 18: GPT-2, with the parameters that were published.
//
// It is the GPT of gpt.h but for four things, each of which would go unnoticed
// by every check of names and shapes:
//
//     embeddings     are added as they are, not multiplied by √D
//     activation     GELU by its approximation with a hyperbolic tangent
//     output layer   has no bias
//     tokens         0 to 3 are tokens like all others, so nothing is padding
//
// In its file, the layers for queries, keys and values are one layer, whose
// weight is (D,3D): views cut it apart. All weights are [in, out], as here, and
// attn.c_proj is square: read the other way round it fits just as well, and the
// model writes nonsense. Only numbers computed elsewhere tell.
//
// Include this file after gpt.h, modern.h and hub.h.

// ## The model

const char *const gpt2_ignored[] = {".attn.bias", ".attn.masked_bias",
                                    "lm_head.weight", NULL};
const Naming gpt2_naming = {"transformer.", gpt2_ignored};

// Sizes and switches, from config.json.
Config gpt2_config(const char *folder) {
    JsonFile f = read_hub_config(folder, "gpt2");
    Config c = {.norm = PRE_NORM, .positions = LEARNED, .tie = 1};
    c.layers = size_setting(&f, "n_layer", 1000, NEEDED);
    c.d_model = size_setting(&f, "n_embd", 65536, NEEDED);
    c.heads = size_setting(&f, "n_head", c.d_model, NEEDED);
    c.d_ff = size_setting(&f, "n_inner", 1000000, 4 * c.d_model);
    c.target_vocab = size_setting(&f, "vocab_size", 10000000, NEEDED);
    c.max_len = size_setting(&f, "n_positions", 1000000, NEEDED);
    if (c.d_model % c.heads)
        fail("%s: n_head does not divide n_embd", f.path);
    if (fabs(number_setting(&f, "layer_norm_epsilon", 1e-5) - 1e-5) > 1e-9)
        fail("%s: layer_norm_epsilon is not 1e-5", f.path);
    text_setting(&f, "activation_function", "gelu_new");
    switch_setting(&f, "tie_word_embeddings", true);
    switch_setting(&f, "scale_attn_weights", true);
    switch_setting(&f, "scale_attn_by_inverse_layer_idx", false);
    switch_setting(&f, "add_cross_attention", false);
    hub_config_free(&f);
    return c;
}

// A linear layer: weight (in,out) as here, and bias.
void list_conv1d(TensorList *l, Linear *w, int in, int out, Name path) {
    list_tensor(l, &w->weight, in, out, INIT_XAVIER,
                join(path.text, ".weight"));
    list_tensor(l, &w->bias, 1, out, INIT_ZEROS, join(path.text, ".bias"));
}

// A norm: what is `gain` here is called weight in every file of the hub.
void list_hub_norm(TensorList *l, Norm *w, int D, Name path) {
    list_tensor(l, &w->gain, 1, D, INIT_ONES, join(path.text, ".weight"));
    list_tensor(l, &w->bias, 1, D, INIT_ZEROS, join(path.text, ".bias"));
}

// The list, in the layout of the file. The query layer stands for all three
// until split_attention has been called.
Transformer *gpt2_outline(const Config *c) {
    int D = c->d_model, F = c->d_ff;
    Transformer *t = encoder_outline(c);
    TensorList *l = &t->list;
    list_table(l, &t->target_embedding, c->target_vocab, D, "wte");
    list_table(l, &t->target_positions, c->max_len, D, "wpe");
    for (int i = 0; i < c->layers; i++) {
        char at[NAME_SIZE];
        MultiHead *a = &t->encoder.layer[i].self_attention.multi_head;
        FeedForwardSublayer *f = &t->encoder.layer[i].feed_forward;
        snprintf(at, sizeof at, "h.%d.", i);
        list_hub_norm(l, &t->encoder.layer[i].self_attention.norm, D,
                      join(at, "ln_1"));
        list_conv1d(l, &a->query, D, 3 * D, join(at, "attn.c_attn"));
        list_conv1d(l, &a->output, D, D, join(at, "attn.c_proj"));
        list_hub_norm(l, &f->norm, D, join(at, "ln_2"));
        list_conv1d(l, &f->network.inner, D, F, join(at, "mlp.c_fc"));
        list_conv1d(l, &f->network.outer, F, D, join(at, "mlp.c_proj"));
    }
    list_hub_norm(l, &t->encoder.norm, D, join("ln_f", ""));
    return t;
}

// Part k of three that lie side by side.
Linear third(const Linear *w, int k) {
    int D = w->weight.cols / 3;
    return (Linear){slice_cols(w->weight, k * D, D),
                    slice_cols(w->bias, k * D, D)};
}

// When the numbers have their place: queries, keys and values are views of the
// one layer in the file, and the output layer is a view of the embedding.
void split_attention(Transformer *t) {
    for (int i = 0; i < t->config.layers; i++) {
        MultiHead *a = &t->encoder.layer[i].self_attention.multi_head;
        Linear all = a->query;
        a->query = third(&all, 0);
        a->key = third(&all, 1);
        a->value = third(&all, 2);
    }
    t->output.weight = transposed(t->target_embedding);
}

// The model in a folder; its parameters from `file`, if that is not NULL.
Transformer *read_gpt2(const char *folder, const char *file) {
    const Config c = gpt2_config(folder);
    Transformer *t = gpt2_outline(&c);
    read_parameters(&t->list, gpt2_naming, folder, file);
    split_attention(t);
    return t;
}

// Its gradients, zero.
Transformer *gpt2_zeros(const Config *c) {
    Transformer *t = gpt2_outline(c);
    place_tensors(&t->list);
    split_attention(t);
    return t;
}

// ## Embeddings as they are

// x[i] += table[id[i]] for all rows of x
void look_up(Mat x, Mat table, const int *id) {
    for (int i = 0; i < x.rows; i++)
        for (int j = 0; j < x.cols; j++)
            row(x, i)[j] += row(table, id[i])[j];
}

// dtable[id[i]] += dx[i]: what is used twice gets two gradients
void look_up_backward(Mat dtable, Mat dx, const int *id) {
    for (int i = 0; i < dx.rows; i++)
        for (int j = 0; j < dx.cols; j++)
            row(dtable, id[i])[j] += row(dx, i)[j];
}

// The positions of B·T tokens, from `first` on in each text.
int *places(Arena *arena, int B, int T, int first) {
    size_t count = checked_product((size_t)B, (size_t)T);
    int *place = arena_take(arena, count, sizeof *place);
    for (int i = 0; i < B * T; i++)
        place[i] = first + i % T;
    return place;
}

// ## GELU by tanh
//
// The error function of chapter 5 was slow in 2018, and this comes within 0.001
// of it. A model that was trained with one should run with it.
//
//     gelu(z)  = z/2 (1 + tanh u)      u = √(2/π) (z + 0.044715 z³)
//              = z σ(2u)               since 1 + tanh u = 2 σ(2u)
//     gelu'(z) = s + z s (1 - s) 2u'   s = σ(2u), σ' = σ (1 - σ)
//     u'       = √(2/π) (1 + 3 · 0.044715 z²)

// σ(2u)
real tanh_share(real z) {
    const real k = (real)1.5957691216057308; // 2 √(2/π)
    return 1 / (1 + exponential(-k * (z + (real)0.044715 * z * z * z)));
}

// to = gelu(x), (N,F) both
void tanh_gelu_forward(Mat to, Mat x) {
    PARALLEL_FOR(size_of(x) * 10)
    for (int i = 0; i < x.rows; i++)
        for (int j = 0; j < x.cols; j++)
            row(to, i)[j] = row(x, i)[j] * tanh_share(row(x, i)[j]);
}

// dy becomes dx, in place: dx = dy · gelu'(x)
void tanh_gelu_backward(Mat dy, Mat x) {
    const real k = (real)1.5957691216057308;
    PARALLEL_FOR(size_of(x) * 20)
    for (int i = 0; i < x.rows; i++)
        for (int j = 0; j < x.cols; j++) {
            real z = row(x, i)[j], s = tanh_share(z);
            real slope = k * (1 + 3 * (real)0.044715 * z * z);
            row(dy, i)[j] *= s + z * s * (1 - s) * slope;
        }
}

// ## Forward and backward
//
// Attention is that of chapter 7. The feed-forward sub-layer is too, with the
// other activation.

// x (N,D) -> (N,D)
Mat gpt2_ffn_forward(Pass *pass, FeedForwardSublayerSaved *s,
                     const FeedForwardSublayer *w, Mat x) {
    FeedForwardSaved *n = &s->network;
    n->x = residual_enter(pass, &s->residual, &w->norm, x);
    n->inner = linear_forward(pass, &w->network.inner, n->x);   // (1) widen
    n->active = arena_mat(pass->arena, x.rows, n->inner.cols);
    tanh_gelu_forward(n->active, n->inner);                     // (2) bend
    Mat y = linear_forward(pass, &w->network.outer, n->active); // (3) narrow
    return residual_leave(pass, &s->residual, &w->norm, x, y);
}

// dout (N,D) -> dx (N,D), fresh; dw is added to
Mat gpt2_ffn_backward(Pass *pass, const FeedForwardSublayerSaved *s,
                      const FeedForwardSublayer *w, FeedForwardSublayer *dw,
                      Mat dout) {
    const FeedForwardSaved *n = &s->network;
    Mat dx = arena_zeros(pass->arena, dout.rows, dout.cols);
    Mat dh = arena_zeros(pass->arena, dout.rows, dout.cols);
    Mat dinner = arena_zeros(pass->arena, n->inner.rows, n->inner.cols);
    Mat dy = residual_leave_backward(pass, &s->residual, &w->norm, &dw->norm,
                                     dx, dout);
    linear_backward(dinner, &dw->network.outer, dy, n->active,
                    &w->network.outer);                         // (3)
    tanh_gelu_backward(dinner, n->inner);                       // (2)
    linear_backward(dh, &dw->network.inner, dinner, n->x,
                    &w->network.inner);                         // (1)
    residual_enter_backward(pass, &s->residual, &w->norm, &dw->norm, dx, dh);
    return dx;
}

typedef struct {
    const int *ids, *places; // (B·T) each
    EncoderSaved encoder;
    Mat hidden;              // (B·T,D)
} Gpt2Saved;

// ids (B·T), T ≤ P -> logits (B·T,V)
Mat gpt2_forward(Pass *pass, Gpt2Saved *s, const Transformer *t, const int *ids,
                 int T) {
    int B = pass->sentences, L = t->config.layers;
    Mask mask = causal_mask(pass->arena, T);
    Mat x = arena_zeros(pass->arena, B * T, t->config.d_model);
    s->ids = ids;
    s->places = places(pass->arena, B, T, 0);
    look_up(x, t->target_embedding, s->ids);                      // (1) tokens
    look_up(x, t->target_positions, s->places);
    s->encoder.layer = arena_take(pass->arena, (size_t)L,
                                  sizeof *s->encoder.layer);
    for (int l = 0; l < L; l++) {                                 // (2) layers
        const EncoderLayer *w = &t->encoder.layer[l];
        EncoderLayerSaved *saved = &s->encoder.layer[l];
        x = attention_sublayer_forward(pass, &saved->self_attention,
                                       &w->self_attention, x, (Mat){0}, mask);
        x = gpt2_ffn_forward(pass, &saved->feed_forward, &w->feed_forward, x);
    }
    s->hidden = norm_forward(pass, &s->encoder.norm, &t->encoder.norm, x);
    return project(pass, &t->output, s->hidden);                  // (3) logits
}

// dlogits (B·T,V) -> all gradients, added to g
void gpt2_backward(Pass *pass, const Gpt2Saved *s, const Transformer *t,
                   Transformer *g, Mat dlogits) {
    Mat dx = arena_zeros(pass->arena, s->hidden.rows, s->hidden.cols);
    Mat dhidden = arena_zeros(pass->arena, s->hidden.rows, s->hidden.cols);
    // (3) logits = hidden Eᵀ
    project_backward(dhidden, &g->output, dlogits, s->hidden, &t->output);
    // (2) layers
    norm_backward(pass, &s->encoder.norm, &t->encoder.norm, &g->encoder.norm,
                  dx, dhidden);
    for (int l = t->config.layers - 1; l >= 0; l--) {
        const EncoderLayer *w = &t->encoder.layer[l];
        const EncoderLayerSaved *saved = &s->encoder.layer[l];
        EncoderLayer *dw = &g->encoder.layer[l];
        dx = gpt2_ffn_backward(pass, &saved->feed_forward, &w->feed_forward,
                               &dw->feed_forward, dx);
        dx = attention_sublayer_backward(pass, &saved->self_attention,
                                         &w->self_attention,
                                         &dw->self_attention, (Mat){0}, dx);
    }
    // (1) x = tokens + positions
    look_up_backward(g->target_embedding, dx, s->ids);
    look_up_backward(g->target_positions, dx, s->places);
}

// ## The loss
//
// That of chapter 11 leaves out padding, which is token 0 there. Here token 0
// is an exclamation mark.

// logits (N,V), expected (N) -> the sums; the logits become the gradient of the
// mean loss: softmax minus 1 for what is expected, divided by N
Loss next_token_loss(Mat logits, const int *expected) {
    Loss total = {.tokens = logits.rows};
    int V = logits.cols;
    for (int i = 0; i < logits.rows; i++) {
        real *z = row(logits, i), share = 1 / (real)logits.rows;
        int best = arg_max(z, 0, V), y = expected[i];
        real lse = z[best] + REAL(log)(sum_exponentials(z, z[best], V));
        total.cross_entropy += lse - z[y];
        total.correct += best == y;
        for (int j = 0; j < V; j++)
            z[j] = exponential(z[j] - lse) * share;
        z[y] -= share;
    }
    total.loss = total.cross_entropy;
    return total;
}

// The first half of a step (chapter 11): forward, loss, backward; the gradients
// are added to g. Of the batch only input and expected are used, B·T each.
Loss gpt2_gradient(Pass *pass, const Transformer *t, Transformer *g,
                   const Batch *batch) {
    Gpt2Saved saved;
    pass->sentences = batch->sentences;
    Mat logits = gpt2_forward(pass, &saved, t, batch->input,
                              batch->target_length);
    Loss loss = next_token_loss(logits, batch->expected);
    gpt2_backward(pass, &saved, t, g, logits);
    return loss;
}

// ## With a cache

// gpt2_forward for the next position; id (B), fewer than P positions before it
// -> logits (B,V). The cache is that of gpt.h.
Mat gpt2_step(Pass *pass, Cache *c, const int *id) {
    const Transformer *t = c->model;
    int B = pass->sentences;
    Mat x = arena_zeros(pass->arena, B, t->config.d_model);
    look_up(x, t->target_embedding, id);
    look_up(x, t->target_positions, places(pass->arena, B, 1, c->length));
    for (int l = 0; l < t->config.layers; l++) {
        const EncoderLayer *w = &t->encoder.layer[l];
        const AttentionSublayer *a = &w->self_attention;
        MultiHeadSaved *cache = &c->layer[l].self;
        ResidualSaved r;
        FeedForwardSublayerSaved f;
        Mat h = residual_enter(pass, &r, &a->norm, x);
        extend_cache(pass, cache, &a->multi_head, h, c->length);
        Mat y = attend(pass, cache, &a->multi_head, h, c->length + 1,
                       (Mask){0});
        x = residual_leave(pass, &r, &a->norm, x, y);
        x = gpt2_ffn_forward(pass, &f, &w->feed_forward, x);
    }
    c->length++;
    NormSaved n;
    return project(pass, &t->output,
                   norm_forward(pass, &n, &t->encoder.norm, x));
}
