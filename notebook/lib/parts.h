// parts.h, used by lab 20: the transformer with parts taken out. To be included
// after lab.h.
//
// Heads, layers, widths and positions are in Config already. What is taken out
// here has a field in `Without`; with all of them zero, the model is that of
// transformer.c in pre-norm. The forward and the backward pass are those of
// chapters 7 and 8, with a condition at each part.

// What the decoder gets from the encoder's output.
enum {
    CROSS_ATTENTION, // what each position asks for
    ONE_VECTOR,      // in each layer one mixture, the same at every position
    NO_MEMORY,       // zeros
};

typedef struct {
    int cross;       // one of the above
    bool network;    // true: no feed-forward network
    bool residual;   // true: no residual connections
    bool norm;       // true: no norms; their gains and biases stay unused
    bool look_ahead; // true: a causal mask in the encoder
} Without;

typedef struct {
    Pass pass;
    Without without;
} PartsPass;

// ## One sub-layer
//
// y = x + sublayer(norm(x)), where "x +" and the norm may be missing.

Mat parts_enter(PartsPass *p, NormSaved *s, const Norm *w, Mat x) {
    return p->without.norm ? x : norm_forward(&p->pass, s, w, x);
}

// Its backward pass: dx is added to.
void parts_enter_backward(PartsPass *p, const NormSaved *s, const Norm *w,
                          Norm *dw, Mat dx, Mat dh) {
    if (p->without.norm)
        add(dx, dh);
    else
        norm_backward(&p->pass, s, w, dw, dx, dh);
}

// y + x
Mat parts_leave(PartsPass *p, Mat x, Mat y) {
    if (!p->without.residual)
        add(y, x);
    return y;
}

// Its backward pass -> the gradient of x, fresh; that of y is dout itself.
Mat parts_leave_backward(PartsPass *p, Mat dout) {
    return parts_leave(p, dout, arena_zeros(p->pass.arena, dout.rows,
                                            dout.cols));
}

// Self-attention, or cross-attention if there is a memory. Where the decoder
// gets one vector, every query is made from zeros, so all of them are the same.
Mat parts_attention_forward(PartsPass *p, AttentionSublayerSaved *s,
                            const AttentionSublayer *w, Mat x, Mat memory,
                            Mask mask) {
    Mat h = parts_enter(p, &s->residual.norm, &w->norm, x), asking = h;
    if (memory.at && p->without.cross == ONE_VECTOR)
        asking = arena_zeros(p->pass.arena, x.rows, x.cols);
    Mat y = multi_head_forward(&p->pass, &s->multi_head, &w->multi_head, asking,
                               memory.at ? memory : h, mask);
    return parts_leave(p, x, y);
}

Mat parts_attention_backward(PartsPass *p, const AttentionSublayerSaved *s,
                             const AttentionSublayer *w, AttentionSublayer *dw,
                             Mat dmemory, Mat dout) {
    Mat dx = parts_leave_backward(p, dout);
    Mat dh = arena_zeros(p->pass.arena, dout.rows, dout.cols);
    MultiHeadSaved d = {.x = dh, .memory = dmemory.at ? dmemory : dh};
    multi_head_backward(&p->pass, &d, &s->multi_head, &w->multi_head,
                        &dw->multi_head, dout);
    if (dmemory.at && p->without.cross == ONE_VECTOR)
        fill(dh, 0); // h made no query
    parts_enter_backward(p, &s->residual.norm, &w->norm, &dw->norm, dx, dh);
    return dx;
}

Mat parts_network_forward(PartsPass *p, FeedForwardSublayerSaved *s,
                          const FeedForwardSublayer *w, Mat x) {
    if (p->without.network)
        return x;
    Mat h = parts_enter(p, &s->residual.norm, &w->norm, x);
    return parts_leave(p, x, ffn_forward(&p->pass, &s->network, &w->network,
                                         h));
}

Mat parts_network_backward(PartsPass *p, const FeedForwardSublayerSaved *s,
                           const FeedForwardSublayer *w,
                           FeedForwardSublayer *dw, Mat dout) {
    if (p->without.network)
        return dout;
    Mat dx = parts_leave_backward(p, dout);
    Mat dh = arena_zeros(p->pass.arena, dout.rows, dout.cols);
    ffn_backward(&p->pass, &s->network, &w->network, &dw->network, dh, dout);
    parts_enter_backward(p, &s->residual.norm, &w->norm, &dw->norm, dx, dh);
    return dx;
}

// ## The stacks

Mat parts_encode(PartsPass *p, EncoderSaved *s, const Encoder *w, Mat x,
                 Mask mask) {
    int L = p->pass.config->layers;
    s->layer = arena_take(p->pass.arena, (size_t)L, sizeof *s->layer);
    for (int l = 0; l < L; l++) {
        x = parts_attention_forward(p, &s->layer[l].self_attention,
                                    &w->layer[l].self_attention, x, (Mat){0},
                                    mask);
        x = parts_network_forward(p, &s->layer[l].feed_forward,
                                  &w->layer[l].feed_forward, x);
    }
    return parts_enter(p, &s->norm, &w->norm, x);
}

Mat parts_decode(PartsPass *p, DecoderSaved *s, const Decoder *w, Mat x,
                 Mat memory, Masks masks) {
    int L = p->pass.config->layers;
    s->layer = arena_take(p->pass.arena, (size_t)L, sizeof *s->layer);
    for (int l = 0; l < L; l++) {
        x = parts_attention_forward(p, &s->layer[l].self_attention,
                                    &w->layer[l].self_attention, x, (Mat){0},
                                    masks.target);
        x = parts_attention_forward(p, &s->layer[l].cross_attention,
                                    &w->layer[l].cross_attention, x, memory,
                                    masks.source);
        x = parts_network_forward(p, &s->layer[l].feed_forward,
                                  &w->layer[l].feed_forward, x);
    }
    return parts_enter(p, &s->norm, &w->norm, x);
}

Mat parts_encode_backward(PartsPass *p, const EncoderSaved *s, const Encoder *w,
                          Encoder *dw, Mat dout) {
    Mat dx = arena_zeros(p->pass.arena, dout.rows, dout.cols);
    parts_enter_backward(p, &s->norm, &w->norm, &dw->norm, dx, dout);
    for (int l = p->pass.config->layers - 1; l >= 0; l--) {
        dx = parts_network_backward(p, &s->layer[l].feed_forward,
                                    &w->layer[l].feed_forward,
                                    &dw->layer[l].feed_forward, dx);
        dx = parts_attention_backward(p, &s->layer[l].self_attention,
                                      &w->layer[l].self_attention,
                                      &dw->layer[l].self_attention, (Mat){0},
                                      dx);
    }
    return dx;
}

Mat parts_decode_backward(PartsPass *p, const DecoderSaved *s, const Decoder *w,
                          Decoder *dw, Mat dmemory, Mat dout) {
    Mat dx = arena_zeros(p->pass.arena, dout.rows, dout.cols);
    parts_enter_backward(p, &s->norm, &w->norm, &dw->norm, dx, dout);
    for (int l = p->pass.config->layers - 1; l >= 0; l--) {
        dx = parts_network_backward(p, &s->layer[l].feed_forward,
                                    &w->layer[l].feed_forward,
                                    &dw->layer[l].feed_forward, dx);
        dx = parts_attention_backward(p, &s->layer[l].cross_attention,
                                      &w->layer[l].cross_attention,
                                      &dw->layer[l].cross_attention, dmemory,
                                      dx);
        dx = parts_attention_backward(p, &s->layer[l].self_attention,
                                      &w->layer[l].self_attention,
                                      &dw->layer[l].self_attention, (Mat){0},
                                      dx);
    }
    return dx;
}

// ## The model

// Drops the tensors of the feed-forward networks from the list, if they go.
void parts_list(Transformer *t, const Without *without) {
    TensorList all = t->list, *l = &t->list;
    *l = (TensorList){0};
    for (int i = 0; i < all.tensors; i++) {
        const Tensor *x = &all.tensor[i];
        if (!without->network || !strstr(x->name.text, ".feed_forward"))
            list_tensor(l, x->mat, x->rows, x->cols, x->init, x->name);
    }
    free(all.tensor);
}

Transformer *parts_new(const Config *config, const Without *without) {
    Transformer *t = transformer_outline(config);
    parts_list(t, without);
    transformer_place(t);
    add_sinusoids(t);
    return t;
}

// logits (B·T,V)
Mat parts_forward(PartsPass *p, Saved *s, const Transformer *t,
                  const Batch *b) {
    Pass *pass = &p->pass;
    int B = b->sentences, S = b->source_length, T = b->target_length;
    Masks masks = {
        .source = padding_mask(pass->arena, b->source, B, S),
        .target = causal_padding_mask(pass->arena, b->input, B, T),
    };
    Mask seen = p->without.look_ahead
              ? causal_padding_mask(pass->arena, b->source, B, S)
              : masks.source;
    pass->sentences = B;
    Mat x = embedding_forward(pass, &s->source, t->source_embedding,
                              t->source_positions, b->source, S);
    s->memory = parts_encode(p, &s->encoder, &t->encoder, x, seen);
    if (p->without.cross == NO_MEMORY)
        fill(s->memory, 0);
    Mat y = embedding_forward(pass, &s->target, t->target_embedding,
                              t->target_positions, b->input, T);
    s->hidden = parts_decode(p, &s->decoder, &t->decoder, y, s->memory, masks);
    return linear_forward(pass, &t->output, s->hidden);
}

void parts_backward(PartsPass *p, const Saved *s, const Transformer *t,
                    Transformer *g, Mat dlogits) {
    Arena *arena = p->pass.arena;
    Mat dmemory = arena_zeros(arena, s->memory.rows, s->memory.cols);
    Mat dhidden = arena_zeros(arena, s->hidden.rows, s->hidden.cols);
    linear_backward(dhidden, &g->output, dlogits, s->hidden, &t->output);
    Mat dy = parts_decode_backward(p, &s->decoder, &t->decoder, &g->decoder,
                                   dmemory, dhidden);
    embedding_backward(&s->target, g->target_embedding, g->target_positions,
                       dy);
    if (p->without.cross == NO_MEMORY)
        fill(dmemory, 0);
    Mat dx = parts_encode_backward(p, &s->encoder, &t->encoder, &g->encoder,
                                   dmemory);
    embedding_backward(&s->source, g->source_embedding, g->source_positions,
                       dx);
}
