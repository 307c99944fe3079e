// One sentence through the whole model, in numbers: every stage on the way from
// words to loss, and its gradient on the way back. Included by live.c.
//
// The stages are computed by the program's own parts, one at a time, so that
// each can be seen, and changed before the next is computed. Each stage knows
// what it was computed from and how to go back; so the backward pass goes
// through the list of stages from its end.

typedef struct Stage Stage;
typedef void Backward(Stage *s);

struct Stage {
    Name name;               // decoder.1.cross_attention.scores
    Mat value, gradient;     // gradient.at = NULL: only looked at
    Backward *backward;      // adds to the gradients of what it comes from
    Stage *from, *other, *previous;
    const void *w;           // its parameters, and their gradient
    void *dw;
    NormSaved norm;
    EmbeddingSaved embedding;
};

typedef struct {
    Name name;
    int i, j;
    real x;
} Change;

struct {
    Arena arena;
    Pass pass;
    Stage *last;
    Change *change;          // `changes` of them, the later ones win
    int changes;
    Sentence source, target;
    Batch batch;
    Transformer *gradient;
    Loss loss;
} flow;

// ---------------------------------------------------------------- the stages

// A stage with this value, and with all changes that belong to it.
Stage *keep(Name name, Mat value, Stage *from, Backward *backward) {
    Stage *s = arena_take(&flow.arena, 1, sizeof *s);
    *s = (Stage){.name = name, .value = value, .backward = backward,
                 .from = from, .previous = flow.last};
    if (backward)
        s->gradient = arena_zeros(&flow.arena, value.rows, value.cols);
    for (const Change *c = flow.change; c < flow.change + flow.changes; c++)
        if (!strcmp(c->name.text, name.text) && c->i < value.rows
            && c->j < value.cols)
            *at(value, c->i, c->j) = c->x;
    return flow.last = s;
}

Mat copy_of(Mat m) {
    Mat new = arena_mat(&flow.arena, m.rows, m.cols);
    copy(new, m);
    return new;
}

void embed_backward(Stage *s) {
    embedding_backward(&s->embedding, *(Mat *)s->dw, (Mat){0}, s->gradient);
}

void positions_backward(Stage *s) {
    Mat *learned = s->dw;
    add(s->from->gradient, s->gradient);
    if (learned->at)
        add(slice_rows(*learned, 0, s->value.rows), s->gradient);
}

// A sentence's tokens as vectors: rows of the table, the embedding, the
// positional encoding, and the sum of both.
Stage *embed(const char *path, Mat table, Mat *dtable, Mat positions,
             Mat *dpositions, const int *ids, int T) {
    EmbeddingSaved saved;
    Mat tokens = arena_mat(&flow.arena, T, table.cols);
    Mat x = embedding_forward(&flow.pass, &saved, table, (Mat){0}, ids, T);
    for (int i = 0; i < T; i++)
        copy(slice_rows(tokens, i, 1), slice_rows(table, ids[i], 1));
    keep(join(path, "token"), tokens, NULL, NULL);
    Stage *s = keep(join(path, "embedding"), x, NULL, embed_backward);
    s->embedding = saved;
    s->dw = dtable;
    if (!positions.at)
        return s;
    Mat encoding = copy_of(slice_rows(positions, 0, T)), sum = copy_of(x);
    keep(join(path, "encoding"), encoding, NULL, NULL);
    add(sum, encoding);
    s = keep(join(path, "positions"), sum, s, positions_backward);
    s->dw = dpositions;
    return s;
}

void linear_stage_backward(Stage *s) {
    linear_backward(s->from->gradient, s->dw, s->gradient, s->from->value,
                    s->w);
}

Stage *linear(Name name, Stage *x, const Linear *w, Linear *dw) {
    Mat y = linear_forward(&flow.pass, w, x->value);
    Stage *s = keep(name, y, x, linear_stage_backward);
    s->w = w;
    s->dw = dw;
    return s;
}

void sum_backward(Stage *s) {
    add(s->from->gradient, s->gradient);
    add(s->other->gradient, s->gradient);
}

Stage *sum_of(Name name, Stage *x, Stage *y) {
    Mat z = copy_of(y->value);
    add(z, x->value);
    Stage *s = keep(name, z, y, sum_backward);
    s->other = x;
    return s;
}

// ------------------------------------------------------------- normalization

// A norm whose gain is 1 and whose bias is 0.
Norm plain_norm(int D) {
    Norm w = {arena_mat(&flow.arena, 1, D), arena_zeros(&flow.arena, 1, D)};
    fill(w.gain, 1);
    return w;
}

void n_backward(Stage *s) {
    Norm w = plain_norm(s->value.cols), unused = plain_norm(s->value.cols);
    norm_backward(&flow.pass, &s->norm, &w, &unused, s->from->gradient,
                  s->gradient);
}

void gain_backward(Stage *s) {
    const Norm *w = s->w;
    Norm *dw = s->dw;
    Mat n = s->from->value;
    for (int i = 0; i < n.rows; i++)
        for (int j = 0; j < n.cols; j++) {
            real d = *at(s->gradient, i, j);
            *at(s->from->gradient, i, j) += d * w->gain.at[j];
            dw->gain.at[j] += d * *at(n, i, j);
            dw->bias.at[j] += d;
        }
}

// Mean, 1/deviation, n, and n with gain and bias.
Stage *normalized(const char *path, Stage *x, const Norm *w, Norm *dw) {
    NormSaved saved;
    Norm plain = plain_norm(x->value.cols);
    Mat n = norm_forward(&flow.pass, &saved, &plain, x->value);
    keep(join(path, "mean"), copy_of(saved.mean), x, NULL);
    keep(join(path, "rstd"), copy_of(saved.rstd), x, NULL);
    Stage *s = keep(join(path, "n"), n, x, n_backward);
    s->norm = saved;
    Mat y = copy_of(n);
    for (int i = 0; i < y.rows; i++)
        for (int j = 0; j < y.cols; j++)
            *at(y, i, j) = *at(y, i, j) * w->gain.at[j] + w->bias.at[j];
    s = keep(join(path, "norm"), y, s, gain_backward);
    s->w = w;
    s->dw = dw;
    return s;
}

// ----------------------------------------------------------------- attention

// The part of head h in q, or in keys or values, which heads may share.
Mat part(Mat m, int h) {
    const Config *c = &live.settings.config;
    int K = c->d_model / c->heads;
    return head(m, 0, m.rows, h * m.cols / c->d_model, K);
}

// The rows of head h in scores or weights.
Mat rows_of(Mat m, int h) {
    int T = m.rows / live.settings.config.heads;
    return slice_rows(m, h * T, T);
}

void scores_backward(Stage *s) {
    for (int h = 0; h < live.settings.config.heads; h++) {
        Mat d = rows_of(s->gradient, h);
        small_matmul_add(part(s->from->gradient, h), d,
                         part(s->other->value, h));
        small_matmul_add(part(s->other->gradient, h), transposed(d),
                         part(s->from->value, h));
    }
}

real scale_of_scores(void) {
    const Config *c = &live.settings.config;
    return 1 / REAL(sqrt)((real)(c->d_model / c->heads));
}

void scaled_backward(Stage *s) {
    Mat d = copy_of(s->gradient);
    scale_by(d, scale_of_scores());
    add(s->from->gradient, d);
}

void weights_backward(Stage *s) {
    Mat d = copy_of(s->gradient);
    softmax_backward(d, s->value);
    add(s->from->gradient, d);
}

void context_backward(Stage *s) {
    for (int h = 0; h < live.settings.config.heads; h++) {
        Mat d = part(s->gradient, h);
        small_matmul_add(rows_of(s->from->gradient, h), d,
                         transposed(part(s->other->value, h)));
        small_matmul_add(part(s->other->gradient, h),
                         transposed(rows_of(s->from->value, h)), d);
    }
}

// The mask as attention_forward takes it.
Mask mask_of(Arena *arena, Mat m) {
    unsigned char *visible = arena_take(arena, (size_t)m.rows, (size_t)m.cols);
    for (int i = 0; i < m.rows; i++)
        for (int j = 0; j < m.cols; j++)
            visible[i * m.cols + j] = *at(m, i, j) != 0;
    return (Mask){visible, 0, m.cols};
}

// The weights of all heads, by way of scores, scale and mask.
Stage *weigh(const char *path, Stage *q, Stage *k, Mask mask) {
    int H = live.settings.config.heads, T = q->value.rows, S = k->value.rows;
    Mat scores = arena_zeros(&flow.arena, H * T, S);
    for (int h = 0; h < H; h++)
        small_matmul_add(rows_of(scores, h), part(q->value, h),
                         transposed(part(k->value, h)));
    Stage *s = keep(join(path, "scores"), scores, q, scores_backward);
    s->other = k;
    Mat scaled = copy_of(scores);
    scale_by(scaled, scale_of_scores());
    s = keep(join(path, "scaled"), scaled, s, scaled_backward);
    Mat seen = arena_mat(&flow.arena, T, S);
    for (int i = 0; i < T; i++)
        for (int j = 0; j < S; j++)
            *at(seen, i, j) = mask_row(mask, 0, i)[j];
    keep(join(path, "mask"), seen, NULL, NULL);
    Mat weights = copy_of(s->value);
    for (int h = 0; h < H; h++)
        softmax_forward(rows_of(weights, h), mask_of(&flow.arena, seen));
    return keep(join(path, "weights"), weights, s, weights_backward);
}

// A sub-layer of attention; memory is NULL for self-attention.
Stage *attention_stages(const char *path, Stage *x, Stage *memory, Mask mask,
                        const AttentionSublayer *w, AttentionSublayer *dw) {
    const MultiHead *m = &w->multi_head;
    MultiHead *dm = &dw->multi_head;
    bool pre = live.settings.config.norm == PRE_NORM;
    Stage *h = pre ? normalized(path, x, &w->norm, &dw->norm) : x;
    Stage *y = memory ? memory : h;
    Stage *k = linear(join(path, "k"), y, &m->key, &dm->key);
    Stage *v = linear(join(path, "v"), y, &m->value, &dm->value);
    Stage *q = linear(join(path, "q"), h, &m->query, &dm->query);
    Stage *weights = weigh(path, q, k, mask);
    Mat context = arena_zeros(&flow.arena, q->value.rows, q->value.cols);
    for (int i = 0; i < live.settings.config.heads; i++)
        small_matmul_add(part(context, i), rows_of(weights->value, i),
                         part(v->value, i));
    Stage *s = keep(join(path, "out"), context, weights, context_backward);
    s->other = v;
    s = linear(join(path, "joined"), s, &m->output, &dm->output);
    s = sum_of(join(path, "residual"), x, s);
    return pre ? s : normalized(path, s, &w->norm, &dw->norm);
}

void active_backward(Stage *s) {
    Mat d = copy_of(s->gradient);
    activation_backward(d, s->from->value, live.settings.config.activation);
    add(s->from->gradient, d);
}

Stage *ffn_stages(const char *path, Stage *x, const FeedForwardSublayer *w,
                  FeedForwardSublayer *dw) {
    bool pre = live.settings.config.norm == PRE_NORM;
    Stage *h = pre ? normalized(path, x, &w->norm, &dw->norm) : x;
    Stage *s = linear(join(path, "inner"), h, &w->network.inner,
                      &dw->network.inner);
    Mat active = arena_mat(&flow.arena, s->value.rows, s->value.cols);
    activation_forward(active, s->value, live.settings.config.activation);
    s = keep(join(path, "active"), active, s, active_backward);
    s = linear(join(path, "outer"), s, &w->network.outer, &dw->network.outer);
    s = sum_of(join(path, "residual"), x, s);
    return pre ? s : normalized(path, s, &w->norm, &dw->norm);
}

// ------------------------------------------------------------ the whole model

// decoder.1.cross_attention.
Name path_of(const char *side, int layer, const char *sublayer) {
    Name name;
    snprintf(name.text, sizeof name.text, "%s.%d.%s.", side, layer, sublayer);
    return name;
}

// All layers of the encoder; x is the embedded source.
Stage *layers_stages(Stage *x, Mask mask) {
    const Transformer *t = live.trainer.model;
    Transformer *g = flow.gradient;
    for (int l = 0; l < t->config.layers; l++) {
        const EncoderLayer *w = &t->encoder.layer[l];
        EncoderLayer *dw = &g->encoder.layer[l];
        x = attention_stages(path_of("encoder", l, "self_attention").text, x,
                             NULL, mask, &w->self_attention,
                             &dw->self_attention);
        x = ffn_stages(path_of("encoder", l, "feed_forward").text, x,
                       &w->feed_forward, &dw->feed_forward);
    }
    return t->config.norm == PRE_NORM
         ? normalized("encoder.", x, &t->encoder.norm, &g->encoder.norm) : x;
}

Stage *decoder_stages(Stage *memory, Masks masks) {
    const Transformer *t = live.trainer.model;
    Transformer *g = flow.gradient;
    Batch *b = &flow.batch;
    Stage *x = embed("target.", t->target_embedding, &g->target_embedding,
                     t->target_positions, &g->target_positions, b->input,
                     b->target_length);
    for (int l = 0; l < t->config.layers; l++) {
        const DecoderLayer *w = &t->decoder.layer[l];
        DecoderLayer *dw = &g->decoder.layer[l];
        x = attention_stages(path_of("decoder", l, "self_attention").text, x,
                             NULL, masks.target, &w->self_attention,
                             &dw->self_attention);
        x = attention_stages(path_of("decoder", l, "cross_attention").text, x,
                             memory, masks.source, &w->cross_attention,
                             &dw->cross_attention);
        x = ffn_stages(path_of("decoder", l, "feed_forward").text, x,
                       &w->feed_forward, &dw->feed_forward);
    }
    return t->config.norm == PRE_NORM
         ? normalized("decoder.", x, &t->decoder.norm, &g->decoder.norm) : x;
}

// Encoder and decoder.
Stage *both_stages(void) {
    const Transformer *t = live.trainer.model;
    Transformer *g = flow.gradient;
    Arena *arena = &flow.arena;
    Pairs pair = {&flow.source, &flow.target, 1, 0};
    Batch *b = &flow.batch;
    *b = make_batch(arena, &pair, (const int[]){0}, 1);
    int S = b->source_length, T = b->target_length;
    Masks masks = {padding_mask(arena, b->source, 1, S),
                   causal_padding_mask(arena, b->input, 1, T)};
    Stage *x = embed("source.", t->source_embedding, &g->source_embedding,
                     t->source_positions, &g->source_positions, b->source, S);
    return decoder_stages(layers_stages(x, masks.source), masks);
}

// Loss per token, exact even where it is nearly 0: ln(1 + Σ e^(z - z_right)).
double exact_loss(Mat z, const int *expected) {
    double total = 0;
    for (int i = 0; i < z.rows; i++) {
        double others = 0, right = *at(z, i, expected[i]);
        for (int j = 0; j < z.cols; j++)
            others += j == expected[i] ? 0 : exp(*at(z, i, j) - right);
        total += log1p(others);
    }
    return total / z.rows;
}

// Forward, from the words to the loss. Returns the loss per token.
double flow_forward(void) {
    Transformer *t = live.trainer.model, *g = flow.gradient;
    Arena *arena = &flow.arena;
    arena_release(arena, 0);
    flow.last = NULL;
    flow.pass = (Pass){.arena = arena, .config = &t->config, .sentences = 1};
    Stage *x = both_stages();
    Stage *z = linear(join("output.", "logits"), x, &t->output, &g->output);
    const Batch *b = &flow.batch;
    int T = b->target_length;
    Mat p = copy_of(z->value), each = arena_mat(arena, T, 1);
    Mat lse = arena_mat(arena, T, 1);
    softmax_forward(p, (Mask){0});
    keep(join("output.", "probabilities"), p, z, NULL);
    flow.loss = loss_forward(lse, z->value, b->expected, 0, arena);
    for (int i = 0; i < T; i++)
        each.at[i] = lse.at[i] - *at(z->value, i, b->expected[i]);
    keep(join("output.", "loss"), each, z, NULL);
    loss_backward(z->gradient, z->value, lse, b->expected, 0, T);
    return exact_loss(z->value, b->expected);
}

// Backward: the stages, the last first.
void flow_backward(void) {
    clear(flow.gradient->list.values, flow.gradient->list.count);
    for (Stage *s = flow.last; s; s = s->previous)
        if (s->backward)
            s->backward(s);
}

// ---------------------------------------------------------- what is asked for

Stage *stage_of(const char *name) {
    Stage *s = flow.last;
    while (s && strcmp(s->name.text, name))
        s = s->previous;
    return s;
}

// A tensor of the model, or of the gradient; or nothing.
Mat tensor_of(const Transformer *t, const char *name) {
    int n = 0;
    while (n < t->list.tensors && strcmp(t->list.tensor[n].name.text, name))
        n++;
    return n < t->list.tensors ? *t->list.tensor[n].mat : (Mat){0};
}

// The root mean square of each row: [0.9,1.1]
void print_sizes(Mat m) {
    putchar('[');
    for (int i = 0; i < m.rows; i++) {
        printf(i ? "," : "");
        print_number(sqrt(dot(row(m, i), row(m, i), m.cols) / m.cols));
    }
    putchar(']');
}

void print_stage(const Stage *s) {
    if (s->previous) {
        print_stage(s->previous);
        putchar(',');
    }
    printf("{\"name\":\"%s\",\"rows\":%d,\"from\":\"%s\",\"other\":\"%s\","
           "\"sizes\":", s->name.text, s->value.rows,
           s->from ? s->from->name.text : "",
           s->other ? s->other->name.text : "");
    print_sizes(s->value);
    if (s->gradient.at) {
        printf(",\"pulls\":");
        print_sizes(s->gradient);
    }
    putchar('}');
}

// Forward and backward, with the changes made so far:
// {"loss":0.01,"stages":[{"name":"source.embedding",…},…]}
EXPORT void flow_compute(void) {
    flow_forward();
    flow_backward();
    printf("{\"loss\":");
    print_number(average(flow.loss));
    printf(",\"stages\":[");
    print_stage(flow.last);
    printf("]}");
}

// The words, and the names of all tensors.
void print_facts(void) {
    const Vocab *from = &live.source, *to = &live.target;
    const TensorList *l = &live.trainer.model->list;
    const Batch *b = &flow.batch;
    printf("{\"source\":");
    print_tokens(from, b->source, b->source_length);
    printf(",\"input\":");
    print_tokens(to, b->input, b->target_length);
    printf(",\"expected\":");
    print_tokens(to, b->expected, b->target_length);
    printf(",\"source_words\":");
    print_tokens(from, NULL, from->count);
    printf(",\"target_words\":");
    print_tokens(to, NULL, to->count);
    printf(",\"tensors\":[");
    for (int i = 0; i < l->tensors; i++)
        printf(i ? ",\"%s\"" : "\"%s\"", l->tensor[i].name.text);
    printf("]}");
}

// The sentence and its translation; "" asks for the model's own.
// Begins anew, without changes.
// {"source":[…],"input":[…],"expected":[…],"source_words":[…],"target_words":[…],
//  "tensors":["source_embedding.weight",…]}, or {"wrong":"is empty"}
EXPORT void flow_begin(const char *source, const char *target) {
    Sentence s = {0}, t = {0};
    const char *wrong = wrong_sentence(source, &live.source, &s);
    if (!wrong && *target)
        wrong = tokenize_input(target, &live, &live.target, &t);
    if (wrong) {
        printf("{\"wrong\":\"%s\"}", wrong);
        free(s.id);
        free(t.id);
        return;
    }
    if (!*target) {
        Sentence *own = translate_all(live.trainer.model, &s, 1, 1,
                                      &live.trainer.arena);
        t = *own;
        free(own);
    }
    if (!flow.gradient)
        flow.gradient = transformer_zeros(&live.settings.config);
    free(flow.source.id);
    free(flow.target.id);
    flow.source = s;
    flow.target = t;
    flow.changes = 0;
    flow_forward();
    print_facts();
}

// {"value":[[…]],"gradient":[[…]]} of a stage or a tensor; the gradient is null
// where there is none.
EXPORT void flow_matrix(const char *name) {
    const Stage *s = stage_of(name);
    Mat value = s ? s->value : tensor_of(live.trainer.model, name);
    Mat gradient = s ? s->gradient : tensor_of(flow.gradient, name);
    printf("{\"value\":");
    print_mat(value);
    printf(",\"gradient\":");
    if (gradient.at)
        print_mat(gradient);
    else
        printf("null");
    putchar('}');
}

// Changes a number of a stage, or of a tensor, from the next computation on.
EXPORT void flow_change(const char *name, int i, int j, double x) {
    Mat m = tensor_of(live.trainer.model, name);
    if (m.at && i >= 0 && i < m.rows && j >= 0 && j < m.cols)
        *at(m, i, j) = (real)x;
    if (m.at || i < 0 || j < 0)
        return;
    flow.change = reallocate(flow.change, (size_t)flow.changes + 1,
                             sizeof *flow.change);
    flow.change[flow.changes++] = (Change){join(name, ""), i, j, (real)x};
}

// The loss if one number were x.
double loss_with(const char *name, int i, int j, double x) {
    Mat m = tensor_of(live.trainer.model, name);
    int changes = flow.changes;
    real before = m.at ? *at(m, i, j) : 0;
    flow_change(name, i, j, x);
    double loss = flow_forward();
    flow.changes = changes;
    if (m.at)
        *at(m, i, j) = before;
    return loss;
}

// The finite difference of the loss with respect to one number, and how large
// its error from rounding may be, and from the bend of the curve:
// {"less":…,"more":…,"h":…,"rounding":…,"bend":…,"slope":…}
EXPORT void flow_slope(const char *name, int i, int j, double x) {
    const double h = 1e-5;
    double less = loss_with(name, i, j, x - h);
    double more = loss_with(name, i, j, x + h);
    if (isfinite(less) && isfinite(more))
        printf("{\"less\":%.15g,\"more\":%.15g,\"h\":%g,\"rounding\":%g,"
               "\"bend\":%g,\"slope\":%.9g}", less, more, h,
               1e-15 * more / h, 1e-4, (more - less) / (2 * h));
    else
        printf("{\"slope\":null}");
    flow_forward();
    flow_backward();
}

// Adam's first step for one parameter, as if it were the only one, and the loss
// after it: {"rate":…,"m":…,"v":…,"after":…,"loss":…}
EXPORT void flow_adam(const char *name, int i, int j) {
    const Recipe *r = &live.settings.recipe;
    real p = *at(tensor_of(live.trainer.model, name), i, j), m = 0, v = 0;
    real gradient = *at(tensor_of(flow.gradient, name), i, j);
    double rate = learning_rate(r, max_int(r->warmup, 1));
    adam_step(paper_adam(&p, &m, &v, &gradient, 1), 1, rate, 1);
    double loss = loss_with(name, i, j, p);
    if (isfinite(loss) && isfinite(v))
        printf("{\"rate\":%.9g,\"m\":%.9g,\"v\":%.9g,\"after\":%.9g,"
               "\"loss\":%.9g}", rate, (double)m, (double)v, (double)p, loss);
    else
        printf("{\"loss\":null}");
    flow_forward();
    flow_backward();
}

// The parameter with the largest gradient, of a tensor or, for "", of all:
// {"name":"output.weight","i":1,"j":2}
EXPORT void flow_largest(const char *tensor) {
    const TensorList *list = &flow.gradient->list;
    Change most = {.x = -1};
    for (int n = 0; n < list->tensors; n++) {
        Mat m = *list->tensor[n].mat;
        Name name = list->tensor[n].name;
        for (int k = 0; k < m.rows * m.cols; k++) {
            int i = k / m.cols, j = k % m.cols;
            real size = REAL(fabs)(*at(m, i, j));
            if (size > most.x && (!*tensor || !strcmp(tensor, name.text)))
                most = (Change){name, i, j, size};
        }
    }
    printf("{\"name\":\"%s\",\"i\":%d,\"j\":%d}", most.name.text, most.i,
           most.j);
}

// All parameters take this step of Adam, counted from 1, on this sentence alone.
EXPORT void flow_learn(int step) {
    static real *m, *v;
    TensorList *p = &live.trainer.model->list;
    const Recipe *r = &live.settings.recipe;
    if (step == 1) {
        free(m);
        free(v);
        m = allocate(p->count, sizeof *m);
        v = allocate(p->count, sizeof *v);
    }
    adam_step(paper_adam(p->values, m, v, flow.gradient->list.values, p->count),
              1, learning_rate(r, max_int(r->warmup, 1)), step);
}
