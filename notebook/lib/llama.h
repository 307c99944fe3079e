// llama.h, used by lab 18: models of Llama's shape, from published files.
//
// Llama (Touvron and others, 2023) and its descendants are the GPT of modern.h
// with all four changes: RMSNorm, rotary positions, SwiGLU and grouped queries,
// and no biases. What their files add:
//
//     weights       are [out, in]: they are looked at transposed
//     embeddings    are taken as they are, not multiplied by √D
//     rotary pairs  are (i, i + K/2), ROTATE_HALF. With the other convention
//                   every name, shape and gradient is right, and the text wrong
//     output layer  is the embedding's matrix, or lm_head.weight
//
// Include this file after gpt2.h.

const char *const llama_ignored[] = {"rotary_emb.inv_freq", NULL};
const char *const llama_tied_ignored[] = {"rotary_emb.inv_freq",
                                          "lm_head.weight", NULL};

// What config.json says about rotary positions: rope_theta, and rope_scaling
// or, in newer files, rope_parameters, which has rope_theta, too.
void read_rope(const JsonFile *f, Modern *m) {
    const Json *older = setting(f, "rope_scaling");
    const Json *newer = setting(f, "rope_parameters");
    JsonFile rope = part_of(f, newer ? newer : older);
    if ((older && newer) || (rope.values && rope.values->kind != JSON_OBJECT))
        fail("%s: rope_scaling or rope_parameters, one of them, is an object",
             f->path);
    known_settings(&rope, "rope_type|type|rope_theta|factor|low_freq_factor|"
                   "high_freq_factor|original_max_position_embeddings");
    double outside = number_setting(f, "rope_theta", 10000);
    m->rotary_base = number_setting(&rope, "rope_theta", outside);
    if (setting(f, "rope_theta") && m->rotary_base != outside)
        fail("%s: rope_theta is there twice, with two values", f->path);
    const char *key = setting(&rope, "rope_type") ? "rope_type" : "type";
    if (!is_string(setting(&rope, key), "llama3")) {
        text_setting(&rope, key, "default");
        return;
    }
    m->stretch = (Stretch){
        .factor = number_setting(&rope, "factor", NEEDED),
        .low = number_setting(&rope, "low_freq_factor", NEEDED),
        .high = number_setting(&rope, "high_freq_factor", NEEDED),
        .length = number_setting(&rope, "original_max_position_embeddings",
                                 NEEDED)};
    if (m->stretch.low >= m->stretch.high)
        fail("%s: low_freq_factor is not below high_freq_factor", f->path);
}

// Sizes and switches, with room for `room` positions or as many as the model
// has been trained for.
Config llama_config(const char *folder, int room, Modern *m) {
    JsonFile f = read_hub_config(folder, "llama");
    Config c = {.norm = PRE_NORM, .positions = NO_POSITIONS};
    c.layers = size_setting(&f, "num_hidden_layers", 1000, NEEDED);
    c.d_model = size_setting(&f, "hidden_size", 65536, NEEDED);
    c.heads = size_setting(&f, "num_attention_heads", c.d_model, NEEDED);
    c.d_ff = size_setting(&f, "intermediate_size", 1000000, NEEDED);
    c.target_vocab = size_setting(&f, "vocab_size", 10000000, NEEDED);
    c.max_len = min_int(room, size_setting(&f, "max_position_embeddings",
                                           100000000, NEEDED));
    c.tie = flag_setting(&f, "tie_word_embeddings", false);
    *m = (Modern){.norm = RMS_NORM, .rotary = ROTATE_HALF, .network = SWIGLU,
                  .bare = 1};
    m->key_heads = size_setting(&f, "num_key_value_heads", c.heads, c.heads);
    m->epsilon = number_setting(&f, "rms_norm_eps", 1e-6);
    read_rope(&f, m);
    const char *wrong = wrong_modern(&c, m);
    if (wrong)
        fail("%s: %s", f.path, wrong);
    int K = c.d_model / c.heads;
    if (size_setting(&f, "head_dim", 65536, K) != K)
        fail("%s: head_dim is not hidden_size / num_attention_heads", f.path);
    text_setting(&f, "hidden_act", "silu");
    switch_setting(&f, "rope_interleaved", false);
    switch_setting(&f, "attention_bias", false);
    switch_setting(&f, "mlp_bias", false);
    hub_config_free(&f);
    return c;
}

void list_llama_layer(TensorList *l, ModernLayer *w, const Config *c,
                      const Modern *m, int i) {
    int D = c->d_model, F = c->d_ff, GK = D / c->heads * m->key_heads;
    char at[NAME_SIZE];
    MultiHead *a = &w->attention;
    Network *n = &w->network;
    snprintf(at, sizeof at, "layers.%d.", i);
    list_hub_norm(l, &w->attention_norm, D, false, join(at, "input_layernorm"));
    list_turned(l, &a->query, D, D, false, join(at, "self_attn.q_proj"));
    list_turned(l, &a->key, D, GK, false, join(at, "self_attn.k_proj"));
    list_turned(l, &a->value, D, GK, false, join(at, "self_attn.v_proj"));
    list_turned(l, &a->output, D, D, false, join(at, "self_attn.o_proj"));
    list_hub_norm(l, &w->network_norm, D, false,
                  join(at, "post_attention_layernorm"));
    list_turned(l, &n->gate, D, F, false, join(at, "mlp.gate_proj"));
    list_turned(l, &n->inner, D, F, false, join(at, "mlp.up_proj"));
    list_turned(l, &n->outer, F, D, false, join(at, "mlp.down_proj"));
}

// The list, in the layout of the file.
ModernGpt llama_outline(const Config *c, const Modern *m) {
    int D = c->d_model, V = c->target_vocab;
    ModernGpt t = {.modern = *m, .base = encoder_outline(c)};
    TensorList *l = &t.base->list;
    t.layer = allocate((size_t)c->layers, sizeof *t.layer);
    list_table(l, &t.base->target_embedding, V, D, "embed_tokens");
    for (int i = 0; i < c->layers; i++)
        list_llama_layer(l, &t.layer[i], c, m, i);
    list_hub_norm(l, &t.base->encoder.norm, D, false, join("norm", ""));
    if (!c->tie)
        list_turned(l, &t.base->output, D, V, false, join("lm_head", ""));
    return t;
}

// When the numbers have their place.
void turn_llama(ModernGpt *t) {
    turn_weights(&t->base->list);
    if (t->base->config.tie)
        t->base->output.weight = transposed(t->base->target_embedding);
}

// The model in a folder, with room for that many positions.
ModernGpt read_llama(const char *folder, int room) {
    Modern m;
    const Config c = llama_config(folder, room, &m);
    ModernGpt t = llama_outline(&c, &m);
    read_parameters(&t.base->list,
                    (Naming){"model.", c.tie ? llama_tied_ignored
                                             : llama_ignored}, folder, NULL);
    turn_llama(&t);
    return t;
}
