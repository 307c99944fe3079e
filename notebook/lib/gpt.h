// gpt.h, used by labs 16, 17 and 18: a GPT, built from parts of transformer.c.
//
// It reads a text and predicts, at each position, the next token:
//
//     tokens (B·T) → embedding + positions → encoder, causal mask
//                  → linear → logits (B·T,V)
//
// There is no source, and so neither cross-attention nor memory. What is left
// of the decoder layer of chapter 8 is the encoder layer of chapter 7; only the
// mask of chapter 9 tells them apart. So a GPT is an encoder under a causal
// mask. As in GPT-2 (Radford and others, 2019), norms come before the
// sub-layers, with one more at the top, the activation is GELU, positions are
// learned, and the output layer uses the embedding's matrix. As in
// transformer.c, and not in GPT-2, embeddings are multiplied by √D, and the
// output layer has a bias.
//
// This file has the model, its step with a cache, and the choice of the next
// token; gpt.c makes it a program. Include it after lab.h. Its letters are
// those of transformer.c: P is the longest context.

// ## The model
//
// All of it: the list of tensors, and a forward and a backward pass of three
// lines each.

// The embedding, positions, the layers; of the output layer only the bias, as
// transformer_place ties its matrix to the embedding. No memory for numbers.
Transformer *gpt_outline(const Config *c) {
    Transformer *t = encoder_outline(c);
    TensorList *l = &t->list;
    list_table(l, &t->target_embedding, c->target_vocab, c->d_model,
               "embedding");
    list_table(l, &t->target_positions, c->max_len, c->d_model, "positions");
    list_encoder(l, &t->encoder, c);
    list_tensor(l, &t->output.bias, 1, c->target_vocab, INIT_ZEROS,
                join("output", ".bias"));
    return t;
}

typedef struct {
    EmbeddingSaved embedding;
    EncoderSaved encoder;
    Mat hidden; // (B·T,D)
} GptSaved;

// ids (B·T), T ≤ P -> logits (B·T,V); no row depends on later tokens
Mat gpt_forward(Pass *pass, GptSaved *s, const Transformer *t, const int *ids,
                int T) {
    Mat x = embedding_forward(pass, &s->embedding, t->target_embedding,
                              t->target_positions, ids, T);   // (1) tokens
    s->hidden = encoder_forward(pass, &s->encoder, &t->encoder, x,
                                causal_mask(pass->arena, T)); // (2) layers
    return linear_forward(pass, &t->output, s->hidden);       // (3) logits
}

// dlogits (B·T,V) -> all gradients, added to g. The embedding's matrix is used
// twice, and gets a gradient from (3) and from (1).
void gpt_backward(Pass *pass, const GptSaved *s, const Transformer *t,
                  Transformer *g, Mat dlogits) {
    Mat dx = arena_zeros(pass->arena, s->hidden.rows, s->hidden.cols);
    // (3) logits = hidden Eᵀ + b
    linear_backward(dx, &g->output, dlogits, s->hidden, &t->output);
    // (2) hidden = encoder(x)
    dx = encoder_backward(pass, &s->encoder, &t->encoder, &g->encoder, dx);
    // (1) x = embedding of the tokens
    embedding_backward(&s->embedding, g->target_embedding, g->target_positions,
                       dx);
}

// Forward, loss, backward: the gradients are added to g. Of the batch only
// input and expected are used, B·T tokens each.
Loss gpt_gradient(Pass *pass, const Transformer *t, Transformer *g,
                  const Batch *batch) {
    GptSaved saved;
    pass->sentences = batch->sentences;
    Mat logits = gpt_forward(pass, &saved, t, batch->input,
                             batch->target_length);
    Loss loss = loss_and_gradient(pass->arena, logits, batch->expected);
    gpt_backward(pass, &saved, t, g, logits);
    return loss;
}

// ## With a cache
//
// Chapter 12 keeps the keys and values of all positions, so that a new token
// costs one position and not all of them. The same is done here, with the same
// functions. No mask is needed: what is still to come is not in the cache.
//
// How to check it: token by token, the logits are those of the forward pass.

// An empty cache with room for P positions of B texts.
Cache gpt_cache(Arena *arena, const Transformer *t, int B) {
    int L = t->config.layers;
    Cache c = {.model = t};
    c.layer = arena_take(arena, (size_t)L, sizeof *c.layer);
    for (int l = 0; l < L; l++)
        c.layer[l].self = empty_cache(
            arena, &t->encoder.layer[l].self_attention.multi_head,
            B * t->config.max_len);
    return c;
}

// encoder_layer_forward for the next position; x (B,D) -> (B,D)
Mat gpt_layer_step(Pass *pass, const EncoderLayer *w, MultiHeadSaved *cache,
                   int t, Mat x) {
    const AttentionSublayer *self = &w->self_attention;
    ResidualSaved r;
    FeedForwardSublayerSaved f;
    // (1) self-attention
    Mat h = residual_enter(pass, &r, &self->norm, x);
    extend_cache(pass, cache, &self->multi_head, h, t);
    Mat y = attend(pass, cache, &self->multi_head, h, t + 1, (Mask){0});
    x = residual_leave(pass, &r, &self->norm, x, y);
    // (2) feed-forward network
    return ffn_sublayer_forward(pass, &f, &w->feed_forward, x);
}

// gpt_forward for the next position; id (B), fewer than P positions before it
// -> logits (B,V)
Mat gpt_step(Pass *pass, Cache *c, const int *id) {
    const Transformer *t = c->model;
    EmbeddingSaved e;
    NormSaved n;
    Mat x = embedding_forward(pass, &e, t->target_embedding,
                              slice_rows(t->target_positions, c->length, 1),
                              id, 1);
    for (int l = 0; l < t->config.layers; l++)
        x = gpt_layer_step(pass, &t->encoder.layer[l], &c->layer[l].self,
                           c->length, x);
    c->length++;
    return linear_forward(pass, &t->output,
                          norm_forward(pass, &n, &t->encoder.norm, x));
}

// ## The next token
//
// Softmax turns the logits into probabilities, and you could draw from them as
// they are. Three rules change them first, in this order:
//
//     temperature τ   logits are divided by τ. Below 1, what is probable
//                     becomes more probable; above 1, all become more alike.
//                     At 0 only the most probable token is left.
//     top-k           the k most probable tokens are kept
//     top-p           the fewest tokens are kept, the most probable first,
//                     whose probabilities sum to p or more
//
// The probabilities that are kept are divided by their sum. Top-k keeps the
// same number of tokens whether the model is sure or not; top-p (Holtzman and
// others, 2020) keeps few where it is sure and many where it is not. τ = 1,
// k = 0 (all) and p = 1 change nothing.

typedef struct {
    double temperature;
    int top_k; // 0: all
    double top_p;
} Sampling;

typedef struct {
    int token;
    double p; // its probability
} Candidate;

// The order for qsort: the most probable first, then by number.
int compare_candidates(const void *left, const void *right) {
    const Candidate *a = left, *b = right;
    return a->p != b->p ? (a->p < b->p) - (a->p > b->p) : a->token - b->token;
}

// The distribution that is left of V logits -> how many candidates, of which c
// has room for V. Special tokens are not candidates: no text contains them.
int candidates(Candidate *c, const real *logits, int V, Sampling how) {
    double most = logits[arg_max(logits, FIRST_TOKEN, V)], sum = 0;
    double tau = fmax(how.temperature, 1e-6); // e^(-1/τ) is 0, the best has 1
    int n = V - FIRST_TOKEN, kept = 0;
    for (int j = 0; j < n; j++) {
        int token = FIRST_TOKEN + j;
        if (!isfinite(logits[token]))
            fail("the model's numbers are not finite");
        c[j] = (Candidate){token, exp((logits[token] - most) / tau)};
        sum += c[j].p;
    }
    for (int j = 0; j < n; j++)
        c[j].p /= sum;
    qsort(c, (size_t)n, sizeof *c, compare_candidates);
    n = how.top_k ? min_int(n, how.top_k) : n;
    for (sum = 0; kept < n && sum < how.top_p; kept++)
        sum += c[kept].p;
    for (int j = 0; j < kept; j++)
        c[j].p /= sum;
    return kept;
}

// One of n candidates, each with its probability.
int draw(const Candidate *c, int n, uint64_t *state) {
    double u = uniform(state);
    int i = 0;
    while (i < n - 1 && u >= c[i].p)
        u -= c[i++].p;
    return c[i].token;
}
