// bert.h, used by lab 18: BERT, with the parameters that were published.
//
// BERT (Devlin and others, 2018) is the encoder of chapter 7 in the paper's own
// form, post-norm, with no mask but that of padding, so that every token sees
// all others. It was trained to say which words were hidden. Its differences:
//
//     embeddings   of token, position and segment are added and normalized;
//                  a text by itself is segment 0
//     ε            is 1e-12 in its norms, not 1e-5
//     activation   GELU by the error function, as in chapter 5
//     output       a linear layer, GELU and a norm come before the logits,
//                  whose matrix is the embedding's; they have a bias
//
// In its file, weights are [out, in], so each is looked at transposed; and old
// files call gain and bias of a norm gamma and beta. Include this file after
// gpt2.h.

// ## The model

const char *const bert_ignored[] = {
    "position_ids", "pooler.", "cls.seq_relationship.",
    "cls.predictions.decoder.", NULL};

// The encoder, and what stands before and behind it.
typedef struct {
    Transformer *base; // sizes, embedding, positions, encoder, bias of the
                       // output layer, and the list of all tensors
    Mat segments;      // (2,D)
    Norm embedding_norm;
    Linear transform;  // (D,D)
    Norm transform_norm;
    real stretch;      // of what is normalized, for the sake of ε
} Bert;

// The sizes; `epsilon` and `segments` are what Config does not know.
Config bert_config(const char *folder, double *epsilon, int *segments) {
    JsonFile f = read_hub_config(folder, "bert");
    Config c = {.norm = POST_NORM, .positions = LEARNED, .activation = GELU,
                .tie = 1};
    c.layers = size_setting(&f, "num_hidden_layers", 1000, NEEDED);
    c.d_model = size_setting(&f, "hidden_size", 65536, NEEDED);
    c.heads = size_setting(&f, "num_attention_heads", c.d_model, NEEDED);
    c.d_ff = size_setting(&f, "intermediate_size", 1000000, NEEDED);
    c.target_vocab = size_setting(&f, "vocab_size", 10000000, NEEDED);
    c.max_len = size_setting(&f, "max_position_embeddings", 1000000, NEEDED);
    *segments = size_setting(&f, "type_vocab_size", 1000, 2);
    *epsilon = number_setting(&f, "layer_norm_eps", 1e-12);
    if (c.d_model % c.heads)
        fail("%s: num_attention_heads does not divide hidden_size", f.path);
    text_setting(&f, "hidden_act", "gelu");
    text_setting(&f, "position_embedding_type", "absolute");
    switch_setting(&f, "tie_word_embeddings", true);
    switch_setting(&f, "is_decoder", false);
    hub_config_free(&f);
    return c;
}

// A linear layer, in to out, whose weight is [out, in] in the file.
void list_turned(TensorList *l, Linear *w, int in, int out, const char *at,
                 const char *name) {
    Name path = join(at, name);
    list_tensor(l, &w->weight, out, in, INIT_XAVIER,
                join(path.text, ".weight"));
    list_tensor(l, &w->bias, 1, out, INIT_ZEROS, join(path.text, ".bias"));
}

void list_bert_layer(TensorList *l, EncoderLayer *w, const Config *c, int i) {
    int D = c->d_model, F = c->d_ff;
    char at[NAME_SIZE];
    MultiHead *a = &w->self_attention.multi_head;
    FeedForwardSublayer *f = &w->feed_forward;
    snprintf(at, sizeof at, "encoder.layer.%d.", i);
    list_turned(l, &a->query, D, D, at, "attention.self.query");
    list_turned(l, &a->key, D, D, at, "attention.self.key");
    list_turned(l, &a->value, D, D, at, "attention.self.value");
    list_turned(l, &a->output, D, D, at, "attention.output.dense");
    list_hub_norm(l, &w->self_attention.norm, D,
                  join(at, "attention.output.LayerNorm"));
    list_turned(l, &f->network.inner, D, F, at, "intermediate.dense");
    list_turned(l, &f->network.outer, F, D, at, "output.dense");
    list_hub_norm(l, &f->norm, D, join(at, "output.LayerNorm"));
}

// The list, in the layout of the file.
Bert *bert_outline(const Config *c, int segments) {
    int D = c->d_model, V = c->target_vocab;
    Bert *b = allocate(1, sizeof *b);
    Transformer *t = b->base = encoder_outline(c);
    TensorList *l = &t->list;
    list_table(l, &t->target_embedding, V, D, "embeddings.word_embeddings");
    list_table(l, &t->target_positions, c->max_len, D,
               "embeddings.position_embeddings");
    list_table(l, &b->segments, segments, D,
               "embeddings.token_type_embeddings");
    list_hub_norm(l, &b->embedding_norm, D, join("embeddings.LayerNorm", ""));
    for (int i = 0; i < c->layers; i++)
        list_bert_layer(l, &t->encoder.layer[i], c, i);
    list_turned(l, &b->transform, D, D, "cls.predictions.", "transform.dense");
    list_hub_norm(l, &b->transform_norm, D,
                  join("cls.predictions.transform.LayerNorm", ""));
    list_tensor(l, &t->output.bias, 1, V, INIT_ZEROS,
                join("cls.predictions.bias", ""));
    return b;
}

// When the numbers have their place.
void turn_bert(Bert *b) {
    for (int i = 0; i < b->base->config.layers; i++) {
        MultiHead *a = &b->base->encoder.layer[i].self_attention.multi_head;
        FeedForward *f = &b->base->encoder.layer[i].feed_forward.network;
        turn(&a->query);
        turn(&a->key);
        turn(&a->value);
        turn(&a->output);
        turn(&f->inner);
        turn(&f->outer);
    }
    turn(&b->transform);
    b->base->output.weight = transposed(b->base->target_embedding);
}

// The model in a folder.
Bert *read_bert(const char *folder) {
    double epsilon;
    int segments;
    const Config c = bert_config(folder, &epsilon, &segments);
    Bert *b = bert_outline(&c, segments);
    b->stretch = (real)sqrt(NORM_EPSILON / epsilon);
    read_parameters(&b->base->list, (Naming){"bert.", bert_ignored}, folder,
                    NULL);
    turn_bert(b);
    return b;
}

void bert_free(Bert *b) {
    transformer_free(b->base);
    free(b);
}

// ## Forward
//
// norm_forward has ε = 1e-5. Another one is reached by stretching: the mean and
// the deviation of s x are s times those of x, so
//
//     norm(s x) = s (x - μ)/√(s² σ² + 1e-5) = (x - μ)/√(σ² + 1e-5/s²)
//
// is the norm of x with ε = 1e-5/s². For 1e-12, s is 3162.

// norm(x) with the model's ε; x (N,D) is overwritten -> (N,D)
Mat stretched_norm(Pass *pass, const Bert *b, const Norm *w, Mat x) {
    NormSaved s;
    scale_by(x, b->stretch);
    return norm_forward(pass, &s, w, x);
}

// ids (T), T ≤ P -> (T,D): what the model knows of each token
Mat bert_forward(Pass *pass, const Bert *b, const int *ids, int T) {
    const Transformer *t = b->base;
    Arena *arena = pass->arena;
    Mat x = arena_zeros(arena, T, t->config.d_model);
    int *zeros = arena_take(arena, (size_t)T, sizeof *zeros);
    memset(zeros, 0, sizeof *zeros * (size_t)T);
    look_up(x, t->target_embedding, ids);
    look_up(x, t->target_positions, places(arena, 1, T, 0));
    look_up(x, b->segments, zeros);
    x = stretched_norm(pass, b, &b->embedding_norm, x);
    for (int l = 0; l < t->config.layers; l++) {
        const AttentionSublayer *a = &t->encoder.layer[l].self_attention;
        const FeedForwardSublayer *f = &t->encoder.layer[l].feed_forward;
        MultiHeadSaved attention;
        FeedForwardSaved network;
        Mat y = multi_head_forward(pass, &attention, &a->multi_head, x, x,
                                   (Mask){0});                // (1) attention
        add(y, x);
        x = stretched_norm(pass, b, &a->norm, y);
        y = ffn_forward(pass, &network, &f->network, x);      // (2) network
        add(y, x);
        x = stretched_norm(pass, b, &f->norm, y);
    }
    return x;
}

// Fails where numbers have overflowed: they say nothing any more.
void check_finite(Mat m) {
    for (int i = 0; i < m.rows * m.cols; i++)
        if (!isfinite(m.at[i]))
            fail("the model's numbers are not finite");
}

// hidden (N,D) of any tokens -> logits (N,V) of what stands, or stood, there
Mat bert_logits(Pass *pass, const Bert *b, Mat hidden) {
    Mat x = linear_forward(pass, &b->transform, hidden);
    Mat active = arena_mat(pass->arena, x.rows, x.cols);
    activation_forward(active, x, GELU);
    Mat y = stretched_norm(pass, b, &b->transform_norm, active);
    return linear_forward(pass, &b->base->output, y);
}
