// gpt2.h, used by lab 18: GPT-2, with the parameters that were published.
//
// It is the GPT of modern.h without the four changes, and so that of gpt.h,
// except for four things, none of which a check of names and shapes would
// notice:
//
//     embeddings     are added as they are, not multiplied by √D
//     activation     GELU by its approximation with a hyperbolic tangent
//     output layer   has no bias
//     tokens         0 to 3 are tokens like all others, so nothing is padding
//
// The first two are fields of Modern; the others follow from what is listed and
// from the loss below.
//
// In its file, the layers for queries, keys and values are one layer, whose
// weight is (D,3D): views cut it apart. All matrices are [in, out], as here, and
// attn.c_proj is square: read transposed it fits just as well, and the model
// writes nonsense. Only numbers computed elsewhere tell.
//
// Include this file after modern.h and hub.h.

// ## The model

const char *const gpt2_ignored[] = {".attn.bias", ".attn.masked_bias",
                                    "lm_head.weight", NULL};
const Naming gpt2_naming = {"transformer.", gpt2_ignored, NULL};

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
    json_free(&f);
    return c;
}

// The list, in the layout of the file. The query layer stands for all three
// until split_attention has been called.
ModernGpt gpt2_outline(const Config *c) {
    int D = c->d_model, F = c->d_ff;
    ModernGpt t = {.modern = {.network = TANH_GELU, .key_heads = c->heads,
                              .biases = 1, .bare = 1},
                   .layer = allocate((size_t)c->layers, sizeof *t.layer),
                   .base = encoder_outline(c)};
    TensorList *l = &t.base->list;
    list_table(l, &t.base->target_embedding, c->target_vocab, D, "wte");
    list_table(l, &t.base->target_positions, c->max_len, D, "wpe");
    for (int i = 0; i < c->layers; i++) {
        char at[NAME_SIZE];
        ModernLayer *w = &t.layer[i];
        snprintf(at, sizeof at, "h.%d.", i);
        list_hub_norm(l, &w->attention_norm, D, join(at, "ln_1"));
        list_linear(l, &w->attention.query, D, 3 * D, join(at, "attn.c_attn"));
        list_linear(l, &w->attention.output, D, D, join(at, "attn.c_proj"));
        list_hub_norm(l, &w->network_norm, D, join(at, "ln_2"));
        list_linear(l, &w->network.inner, D, F, join(at, "mlp.c_fc"));
        list_linear(l, &w->network.outer, F, D, join(at, "mlp.c_proj"));
    }
    list_hub_norm(l, &t.base->encoder.norm, D, join("ln_f", ""));
    return t;
}

// Part k of three that lie side by side.
Linear third(const Linear *w, int k) {
    int D = w->weight.cols / 3;
    return (Linear){slice_cols(w->weight, k * D, D),
                    slice_cols(w->bias, k * D, D)};
}

// For when the numbers have their places: queries, keys and values become views
// of the one layer in the file, and the output layer one of the embedding.
void split_attention(ModernGpt *t) {
    for (int i = 0; i < t->base->config.layers; i++) {
        MultiHead *a = &t->layer[i].attention;
        Linear all = a->query;
        a->query = third(&all, 0);
        a->key = third(&all, 1);
        a->value = third(&all, 2);
    }
    t->base->output.weight = transposed(t->base->target_embedding);
}

// The model in a folder; its parameters from `file`, if that is not NULL.
ModernGpt read_gpt2(const char *folder, const char *file) {
    const Config c = gpt2_config(folder);
    ModernGpt t = gpt2_outline(&c);
    read_parameters(&t.base->list, gpt2_naming, folder, file);
    split_attention(&t);
    return t;
}

// Its gradients, zero.
ModernGpt gpt2_zeros(const Config *c) {
    ModernGpt t = gpt2_outline(c);
    place_tensors(&t.base->list);
    split_attention(&t);
    return t;
}

// ## The loss
//
// That of chapter 11 leaves out padding, which is token 0 there. Here token 0
// is an exclamation mark.

// logits (N,V), expected (N) -> the summed loss; the logits become the gradient
// of the mean loss: softmax, minus 1 at the expected token, divided by N
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
Loss gpt2_gradient(Pass *pass, const ModernGpt *t, ModernGpt *g,
                   const Batch *batch) {
    ModernSaved saved;
    pass->sentences = batch->sentences;
    Mat logits = modern_forward(pass, &saved, t, batch->input,
                                batch->target_length);
    Loss loss = next_token_loss(logits, batch->expected);
    modern_backward(pass, &saved, t, g, logits);
    return loss;
}
