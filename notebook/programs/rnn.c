// rnn.c, used by labs 8 and 13: the recurrent networks that the transformer
// replaced, written out forward and backward in the style of transformer.c: the
// LSTM (Hochreiter and Schmidhuber, 1997), additive attention (Bahdanau and
// others, 2015), an encoder and a decoder made of them, and an LSTM that reads
// both ways. notebook/test/rnn.c checks every gradient against finite differences.
//
// It is to be included after transformer.c and uses its matrices, arena,
// embeddings, loss and list of tensors. The letters are those of transformer.c,
// with three more and another meaning of H:
//
//     B  sentences in a batch       E  width of an embedding
//     S  length of the source       H  width of the hidden state (not heads)
//     T  length of the target       A  inner width of additive attention
//     V  words in the vocabulary    I  inputs of an LSTM
//
// A recurrent network takes one step after the other, so here everything that
// belongs to one step lies together: row t·B + b is sentence b at step t. (In
// transformer.c it is row b·T + t.) Block t of a matrix is the rows t·B …
// t·B+B-1. All sentences of a batch have the same length: there is no padding.

// What a Pass must know about a model: here, only that nothing is dropped.
const Config without_dropout = {0};

// No positions, or no first state.
const Mat none = {0};

// Block t, of B rows.
Mat block(Mat m, int t, int B) {
    return slice_rows(m, t * B, B);
}

// ids (B·T), sentence by sentence -> (T·B), step by step
int *by_time(Arena *arena, const int *ids, int B, int T) {
    int *turned = arena_take(arena, (size_t)(B * T), sizeof *turned);
    for (int i = 0; i < B * T; i++)
        turned[i % T * B + i / T] = ids[i];
    return turned;
}

// ## The LSTM
//
// It reads x one step at a time and carries two vectors along: the cell c,
// which remembers, and the hidden state h, which is what the cell shows. Three
// gates, numbers between 0 and 1, say how much of the old cell stays (f), how
// much of the new candidate g comes in (i), and how much is shown (o):
//
// $$ z = x W + b + h' U $$
//
// $$ i, f, o = \sigma(z_i, z_f, z_o), \quad g = \tanh(z_g) $$
//
// $$ c = f c' + i g, \quad h = o \tanh(c) $$
//
// c' and h' are those of the step before. The products in the last line are
// element by element. (PyTorch orders the gates i, f, g, o and has a second
// bias, which adds nothing.)

typedef struct {
    Linear input;  // W (I,4H) and b (1,4H); columns in the order i, f, o, g
    Mat recurrent; // U (H,4H)
} Lstm;

typedef struct {
    int batch;         // B
    Mat gates;         // (T·B,4H): x W + b, then i, f, o, g
    Mat cell, hidden;  // ((T+1)·B,H): block 0 is the start, t+1 after step t
    Mat squashed;      // (T·B,H): tanh c
} LstmSaved;

// By exponential(), so that the processor computes many at once. y may be x.
void sigmoid_row(real *y, const real *x, int n) {
    for (int j = 0; j < n; j++)
        y[j] = 1 / (1 + exponential(-x[j]));
}

// tanh x = 2 σ(2x) - 1
void tanh_row(real *y, const real *x, int n) {
    for (int j = 0; j < n; j++)
        y[j] = 2 / (1 + exponential(-2 * x[j])) - 1;
}

// Room for T steps that begin with h and c (B,H); with h.at = NULL both are 0.
void lstm_start(Arena *arena, LstmSaved *s, const Lstm *w, int B, int T, Mat h,
                Mat c) {
    int H = w->recurrent.rows;
    *s = (LstmSaved){.batch = B, .gates = arena_mat(arena, T * B, 4 * H)};
    s->cell = arena_mat(arena, (T + 1) * B, H);
    s->hidden = arena_mat(arena, (T + 1) * B, H);
    s->squashed = arena_mat(arena, T * B, H);
    fill(block(s->cell, 0, B), 0);
    fill(block(s->hidden, 0, B), 0);
    if (h.at) {
        copy(block(s->cell, 0, B), c);
        copy(block(s->hidden, 0, B), h);
    }
}

// Step t, where block t of the gates holds x W + b already
// -> h after the step (B,H)
Mat lstm_step(LstmSaved *s, const Lstm *w, int t) {
    int B = s->batch, H = s->hidden.cols;
    Mat z = block(s->gates, t, B), h = block(s->hidden, t + 1, B);
    matmul_add(z, block(s->hidden, t, B), w->recurrent);         // (1) z
    for (int b = 0; b < B; b++) {
        real *gate = row(z, b), *squashed = row(s->squashed, t * B + b);
        const real *before = row(s->cell, t * B + b);
        real *cell = row(s->cell, (t + 1) * B + b), *show = row(h, b);
        sigmoid_row(gate, gate, 3 * H);                          // (2) i, f, o
        tanh_row(gate + 3 * H, gate + 3 * H, H);                 //     and g
        for (int j = 0; j < H; j++)                              // (3) c
            cell[j] = gate[H + j] * before[j] + gate[j] * gate[3 * H + j];
        tanh_row(squashed, cell, H);                             // (4) h
        for (int j = 0; j < H; j++)
            show[j] = gate[2 * H + j] * squashed[j];
    }
    return h;
}

// gates = x W + b, the part that does not depend on the step before
void lstm_inputs(Arena *arena, Mat gates, const Lstm *w, Mat x) {
    Pass pass = {.arena = arena};
    copy(gates, linear_forward(&pass, &w->input, x));
}

// x (T·B,I) -> h after every step (T·B,H). What does not depend on the step
// before is one large product over all steps.
Mat lstm_forward(Arena *arena, LstmSaved *s, const Lstm *w, Mat x, int B) {
    int T = x.rows / B;
    lstm_start(arena, s, w, B, T, none, none);
    lstm_inputs(arena, s->gates, w, x);
    for (int t = 0; t < T; t++)
        lstm_step(s, w, t);
    return slice_rows(s->hidden, B, T * B);
}

// The backward pass takes the steps from the last to the first. dh and dc are
// the gradients of h and c after step t: what later steps have sent back, and
// for h also what the layer above asks for. The step turns them into those of
// h' and c'.
//
//     (4) h = o tanh c       do = dh tanh c       dc += dh o (1 - tanh² c)
//     (3) c = f c' + i g     df = dc c'   di = dc g   dg = dc i   dc' = dc f
//     (2) σ' = σ (1 - σ)     dz_i = di i (1-i), and so for f and o
//         tanh' = 1 - tanh²  dz_g = dg (1 - g²)
//     (1) z = x W + b + h' U    dh' = dz Uᵀ   dU += h'ᵀ dz   dx = dz Wᵀ   …
//
// Only dz and dh' have to be found step by step. dU, dW, db and dx are sums or
// products over all steps and wait until dz is complete.
//
// How to check it: with f = 1 and i = 0 the cell is carried
// along unchanged, and dc' = dc, through any number of steps. This is what
// makes the LSTM remember where a plain recurrent network forgets.

typedef struct {
    Mat gates;        // (T·B,4H): dz
    Mat hidden, cell; // (B,H): dh and dc of the current step
} LstmFlow;

// dh and dc after the last step begin as zeros; the caller may add to them.
LstmFlow lstm_flow(Arena *arena, const LstmSaved *s) {
    int B = s->batch, H = s->hidden.cols;
    return (LstmFlow){arena_mat(arena, s->gates.rows, 4 * H),
                      arena_zeros(arena, B, H), arena_zeros(arena, B, H)};
}

// (4) to (2) for one sentence, H numbers: dz (4H) is written, dc becomes dc'.
// None of these overlap, which `restrict` tells the compiler.
void lstm_cell_backward(real *restrict dz, real *restrict dc,
                        const real *restrict dh, const real *restrict gate,
                        const real *restrict squashed,
                        const real *restrict before, int H) {
    for (int j = 0; j < H; j++) {
        real i = gate[j], f = gate[H + j], o = gate[2 * H + j];
        real g = gate[3 * H + j], u = squashed[j];
        real d = dc[j] + dh[j] * o * (1 - u * u);      // (4) h = o tanh c
        dz[2 * H + j] = dh[j] * u * o * (1 - o);
        dz[j] = d * g * i * (1 - i);                   // (3) c = f c' + i g
        dz[H + j] = d * before[j] * f * (1 - f);
        dz[3 * H + j] = d * i * (1 - g * g);
        dc[j] = d * f;
    }
}

// Step t: dh and dc in the flow become dh' and dc'; block t of dz is written.
void lstm_step_backward(LstmFlow *d, const LstmSaved *s, const Lstm *w, int t) {
    int B = s->batch, H = s->hidden.cols;
    for (int i = t * B; i < t * B + B; i++)
        lstm_cell_backward(row(d->gates, i), row(d->cell, i % B),
                           row(d->hidden, i % B), row(s->gates, i),
                           row(s->squashed, i), row(s->cell, i), H);
    fill(d->hidden, 0);                                // (1) z = … + h' U
    matmul_add(d->hidden, block(d->gates, t, B), transposed(w->recurrent));
}

// Once all steps are done: dw is added to. x (T·B,I)
void lstm_weights_backward(Lstm *dw, const LstmFlow *d, const LstmSaved *s,
                           Mat x) {
    Mat before = slice_rows(s->hidden, 0, x.rows); // h' of every step
    matmul_add(dw->recurrent, transposed(before), d->gates);
    matmul_add(dw->input.weight, transposed(x), d->gates);
    add_column_sums(dw->input.bias, d->gates);
}

// All steps. dout (T·B,H): what the layer above asks for; d: from lstm_flow;
// dx (T·B,I) and dw are added to.
void lstm_backward(LstmFlow *d, Lstm *dw, Mat dx, Mat dout, const LstmSaved *s,
                   const Lstm *w, Mat x) {
    int B = s->batch;
    for (int t = x.rows / B - 1; t >= 0; t--) {
        add(d->hidden, block(dout, t, B));
        lstm_step_backward(d, s, w, t);
    }
    matmul_add(dx, d->gates, transposed(w->input.weight));
    lstm_weights_backward(dw, d, s, x);
}

// ## An LSTM that reads both ways
//
// A word's meaning may depend on what follows. So a second LSTM reads from the
// end, and the two results of each step are put side by side. The second is an
// ordinary LSTM on x with its blocks in reverse order.

typedef struct {
    Lstm forth, back; // I to H each
} BiLstm;

typedef struct {
    LstmSaved forth, back;
    Mat x, turned;    // (T·B,I): block t of turned is block T-1-t of x
} BiLstmSaved;

// to += from with its blocks of B rows in reverse order
void add_turned(Mat to, Mat from, int B) {
    int T = from.rows / B;
    for (int t = 0; t < T; t++)
        add(block(to, t, B), block(from, T - 1 - t, B));
}

// x (T·B,I) -> (T·B,2H)
Mat bilstm_forward(Arena *arena, BiLstmSaved *s, const BiLstm *w, Mat x,
                   int B) {
    int H = w->forth.recurrent.rows;
    s->x = x;
    s->turned = arena_zeros(arena, x.rows, x.cols);       // (1) turn x
    add_turned(s->turned, x, B);
    Mat out = arena_zeros(arena, x.rows, 2 * H);          // (2) two LSTMs
    copy(slice_cols(out, 0, H),
         lstm_forward(arena, &s->forth, &w->forth, x, B));
    add_turned(slice_cols(out, H, H),                   // (3) turn back
               lstm_forward(arena, &s->back, &w->back, s->turned, B), B);
    return out;
}

// dout (T·B,2H); dx (T·B,I) and dw are added to. Turning only moves blocks, and
// the gradient is turned in the same way.
void bilstm_backward(Arena *arena, BiLstm *dw, Mat dx, Mat dout,
                     const BiLstmSaved *s, const BiLstm *w) {
    size_t mark = arena->used;
    int B = s->forth.batch, H = w->forth.recurrent.rows;
    Mat dback = arena_zeros(arena, dout.rows, H);         // (3) turn back
    add_turned(dback, slice_cols(dout, H, H), B);
    LstmFlow d = lstm_flow(arena, &s->forth);             // (2) two LSTMs
    lstm_backward(&d, &dw->forth, dx, slice_cols(dout, 0, H), &s->forth,
                  &w->forth, s->x);
    d = lstm_flow(arena, &s->back);
    Mat dturned = arena_zeros(arena, dx.rows, dx.cols);
    lstm_backward(&d, &dw->back, dturned, dback, &s->back, &w->back, s->turned);
    add_turned(dx, dturned, B);                           // (1) turn x
    arena_release(arena, mark);
}

// ## Additive attention
//
// The decoder's state h' asks, the encoder's states e_s answer. The transformer
// compares them by a dot product; here a small network does:
//
// $$ r_s = v \cdot \tanh(e_s M + h' Q) $$
//
// $$ a = \operatorname{softmax}(r), \quad k = \sum_s a_s e_s $$
//
// k is the context. e M does not depend on the decoder and is computed once for
// all its steps.

typedef struct {
    Mat memory; // M (H,A)
    Mat query;  // Q (H,A)
    Mat score;  // v (1,A)
} Additive;

typedef struct {
    int batch;    // B
    Mat values;   // e (S·B,H)
    Mat keys;     // e M (S·B,A)
    Mat squashed; // u = tanh(e M + h' Q): (T·S·B,A), S·B rows for each step
    Mat weights;  // a (T·B,S)
} AdditiveSaved;

// to += factor · x, n numbers
void add_times(real *restrict to, real factor, const real *restrict x, int n) {
    for (int j = 0; j < n; j++)
        to[j] += factor * x[j];
}

// Room for T steps that look at values (S·B,H).
void additive_start(Arena *arena, AdditiveSaved *s, const Additive *w,
                    Mat values, int B, int T) {
    int S = values.rows / B, A = w->memory.cols;
    *s = (AdditiveSaved){.batch = B, .values = values};
    s->keys = arena_zeros(arena, S * B, A);
    matmul_add(s->keys, values, w->memory);
    s->squashed = arena_mat(arena, T * S * B, A);
    s->weights = arena_mat(arena, T * B, S);
}

// Step t: state h' (B,H) -> context k (B,H), written
void additive_step(Arena *arena, AdditiveSaved *s, const Additive *w, int t,
                   Mat context, Mat state) {
    size_t mark = arena->used;
    int B = s->batch, N = s->values.rows, A = s->keys.cols;
    Mat u = block(s->squashed, t, N), a = block(s->weights, t, B);
    Mat query = arena_zeros(arena, B, A);
    matmul_add(query, state, w->query);                        // (1) h' Q
    for (int i = 0; i < N; i++) {
        copy(slice_rows(u, i, 1), slice_rows(s->keys, i, 1));
        add(slice_rows(u, i, 1), slice_rows(query, i % B, 1));
        tanh_row(row(u, i), row(u, i), A);                     // (2) u
        *at(a, i % B, i / B) = dot(row(u, i), w->score.at, A); // (3) r
    }
    softmax_forward(a, (Mask){0});                             // (4) a
    fill(context, 0);
    for (int i = 0; i < N; i++)                                // (5) k
        add_times(row(context, i % B), *at(a, i % B, i / B), row(s->values, i),
                  context.cols);
    arena_release(arena, mark);
}

// Backwards:
//
//     (5) k = Σ_s a_s e_s       da_s = dk · e_s      de_s += a_s dk
//     (4) softmax_backward      dr
//     (3) r_s = v · u_s         du_s = dr_s v        dv += dr_s u_s
//     (2) u_s = tanh(p_s + q)   dp_s = du_s (1 - u_s²)      dq = Σ_s dp_s
//     (1) q = h' Q              dh' += dq Qᵀ         dQ += h'ᵀ dq
//     (0) p = e M               de += dp Mᵀ          dM += eᵀ dp
//
// Every step of the decoder looks at the same e and the same p, so all of them
// add to de and dp; M and Q wait until all steps are done.
//
// How to check it: the dr of a sentence sum to 0, since adding
// the same number to all scores changes nothing.

typedef struct {
    Mat values;  // de (S·B,H)
    Mat keys;    // dp (S·B,A), of all steps
    Mat queries; // dq (T·B,A), step by step
} AdditiveFlow;

AdditiveFlow additive_flow(Arena *arena, const AdditiveSaved *s) {
    int N = s->values.rows, A = s->keys.cols;
    return (AdditiveFlow){arena_zeros(arena, N, s->values.cols),
                          arena_zeros(arena, N, A),
                          arena_zeros(arena, s->weights.rows, A)};
}

// (3) and (2) for one place of one sentence, A numbers.
void additive_score_backward(real *restrict dp, real *restrict dq,
                             real *restrict dv, real dr, const real *restrict u,
                             const real *restrict v, int A) {
    for (int j = 0; j < A; j++) {
        real d = dr * v[j] * (1 - u[j] * u[j]);
        dp[j] += d;
        dq[j] += d;
        dv[j] += dr * u[j];
    }
}

// Step t. dcontext (B,H); the flow, dstate (B,H) and dw->score are added to.
void additive_step_backward(Arena *arena, AdditiveFlow *d, Additive *dw,
                            Mat dstate, Mat dcontext, const AdditiveSaved *s,
                            const Additive *w, int t) {
    size_t mark = arena->used;
    int B = s->batch, N = s->values.rows, H = s->values.cols;
    Mat u = block(s->squashed, t, N), a = block(s->weights, t, B);
    Mat dr = arena_mat(arena, B, a.cols), dq = block(d->queries, t, B);
    for (int i = 0; i < N; i++) {                              // (5) k = Σ a e
        const real *dk = row(dcontext, i % B);
        *at(dr, i % B, i / B) = dot(dk, row(s->values, i), H);
        add_times(row(d->values, i), *at(a, i % B, i / B), dk, H);
    }
    softmax_backward(dr, a);                                   // (4) a
    for (int i = 0; i < N; i++)                                // (3) r, (2) u
        additive_score_backward(row(d->keys, i), row(dq, i % B), dw->score.at,
                                *at(dr, i % B, i / B), row(u, i), w->score.at,
                                dq.cols);
    matmul_add(dstate, dq, transposed(w->query));              // (1) q = h' Q
    arena_release(arena, mark);
}

// Once all steps are done. states (T·B,H): the h' of every step. dw and the
// flow's values are added to.
void additive_weights_backward(AdditiveFlow *d, Additive *dw,
                               const AdditiveSaved *s, const Additive *w,
                               Mat states) {
    matmul_add(dw->query, transposed(states), d->queries);     // (1) q = h' Q
    matmul_add(d->values, d->keys, transposed(w->memory));     // (0) p = e M
    matmul_add(dw->memory, transposed(s->values), d->keys);
}

// ## Encoder and decoder
//
// The encoder's LSTM reads the source. The decoder's LSTM begins with the state
// in which the encoder ended, and writes the target: at each step the word
// before goes in, and the logits of the next word come out. Without attention,
// the 2H numbers of that state are all that the decoder ever learns about the
// source, however long it is. With attention, each step also sees a context, a
// mixture of all the encoder's states, on the way in and on the way out:
//
//     x_t = embedding of word t-1,  k_t        k_t from h_{t-1} and all e_s
//     h_t = LSTM(x_t)
//     logits_t = (h_t, k_t) W + b

typedef struct {
    int vocab;     // V, of source and of target
    int embedding; // E
    int hidden;    // H
    int attention; // A; 0: none
} RnnConfig;

typedef struct {
    RnnConfig config;
    Mat source_embedding, target_embedding; // (V,E)
    Lstm encoder;       // E to H
    Lstm decoder;       // E to H, with attention E+H to H
    Additive attention; // if A > 0
    Linear output;      // (H,V), with attention (2H,V)
    TensorList list;    // of all the above
} Rnn;

void list_lstm(TensorList *l, Lstm *w, int I, int H, const char *name) {
    list_linear(l, &w->input, I, 4 * H, join(name, ".input"));
    list_tensor(l, &w->recurrent, H, 4 * H, INIT_XAVIER,
                join(name, ".recurrent"));
}

// A model or its gradients, all numbers zero; initialize(&r->list, seed) gives
// a model its first numbers. Freed by rnn_free.
Rnn *rnn_zeros(const RnnConfig *config) {
    int V = config->vocab, E = config->embedding, H = config->hidden;
    int A = config->attention, context = A > 0 ? H : 0;
    Rnn *r = allocate(1, sizeof *r);
    TensorList *l = &r->list;
    r->config = *config;
    list_table(l, &r->source_embedding, V, E, "source_embedding");
    list_table(l, &r->target_embedding, V, E, "target_embedding");
    list_lstm(l, &r->encoder, E, H, "encoder");
    list_lstm(l, &r->decoder, E + context, H, "decoder");
    if (A > 0) {
        list_table(l, &r->attention.memory, H, A, "attention.memory");
        list_table(l, &r->attention.query, H, A, "attention.query");
        list_table(l, &r->attention.score, 1, A, "attention.score");
    }
    list_linear(l, &r->output, H + context, V, join("output", ""));
    place_tensors(l);
    return r;
}

void rnn_free(Rnn *r) {
    list_free(&r->list);
    free(r);
}

typedef struct {
    int B, S, T;
    int *source, *expected, *input; // (S·B), (T·B), (T·B), step by step
    EmbeddingSaved source_words, target_words;
    Mat source_x;     // (S·B,E)
    Mat target_x;     // (T·B,E), with attention (T·B,E+H)
    LstmSaved encoder, decoder;
    AdditiveSaved attention;
    Mat features;     // (T·B,H), with attention (T·B,2H)
} RnnSaved;

// The word that goes in at step t: START, the true word before, or the one
// that the model itself has just found most probable.
void choose_input(RnnSaved *s, Mat logits, int t, bool own) {
    for (int i = t * s->B; i < t * s->B + s->B; i++) {
        int before = i - s->B;
        s->input[i] = t == 0 ? START : s->expected[before];
        if (t > 0 && own)
            s->input[i] = arg_max(row(logits, before), 0, logits.cols);
    }
}

// Step t of the decoder -> block t of the logits, written
void decoder_step_forward(Pass *pass, RnnSaved *s, const Rnn *w, Mat logits,
                          int t) {
    int B = s->B, E = w->config.embedding, H = w->config.hidden;
    Mat x = block(s->target_x, t, B), features = block(s->features, t, B);
    EmbeddingSaved here;
    copy(slice_cols(x, 0, E),                                // (1) word
         embedding_forward(pass, &here, w->target_embedding, none,
                           s->input + t * B, 1));
    if (w->config.attention > 0) {                             // (2) context
        Mat context = slice_cols(x, E, H);
        additive_step(pass->arena, &s->attention, &w->attention, t, context,
                      block(s->decoder.hidden, t, B));
        copy(slice_cols(features, H, H), context);
    }
    lstm_inputs(pass->arena, block(s->decoder.gates, t, B),    // (3) LSTM
                &w->decoder, x);
    copy(slice_cols(features, 0, H),
         lstm_step(&s->decoder, &w->decoder, t));
    copy(block(logits, t, B),                                  // (4) scores
         linear_forward(pass, &w->output, features));
}

// Encodes the source and prepares the steps of the decoder.
void rnn_start(Pass *pass, RnnSaved *s, const Rnn *w, const Batch *batch) {
    Arena *arena = pass->arena;
    int B = batch->sentences, S = batch->source_length;
    int T = batch->target_length, E = w->config.embedding, H = w->config.hidden;
    int context = w->config.attention > 0 ? H : 0;
    *s = (RnnSaved){.B = B, .S = S, .T = T};
    s->source = by_time(arena, batch->source, B, S);
    s->expected = by_time(arena, batch->expected, B, T);
    s->input = arena_take(arena, (size_t)(B * T), sizeof(int));
    s->target_words = (EmbeddingSaved){.ids = s->input};

    s->source_x = embedding_forward(pass, &s->source_words,  // (1) encoder
                                    w->source_embedding, none, s->source, S);
    Mat memory = lstm_forward(arena, &s->encoder, &w->encoder, s->source_x, B);
    lstm_start(arena, &s->decoder, &w->decoder, B, T,        // (2) its end is
               block(s->encoder.hidden, S, B),               // the start
               block(s->encoder.cell, S, B));
    if (context)                                             // (3) e M
        additive_start(arena, &s->attention, &w->attention, memory, B, T);
    s->target_x = arena_mat(arena, T * B, E + context);
    s->features = arena_mat(arena, T * B, H + context);
}

// batch -> logits (T·B,V), step by step. own (T): whether the model's own word
// goes in at step t instead of the true one; NULL: it does at every step, which
// is greedy decoding and uses nothing of batch->expected.
Mat rnn_forward(Arena *arena, RnnSaved *s, const Rnn *w, const Batch *batch,
                const bool *own) {
    int B = batch->sentences, T = batch->target_length;
    Pass pass = {.arena = arena, .config = &without_dropout, .sentences = B};
    rnn_start(&pass, s, w, batch);
    Mat logits = arena_mat(arena, T * B, w->config.vocab);
    for (int t = 0; t < T; t++) {                            // (4) decoder
        choose_input(s, logits, t, !own || own[t]);
        decoder_step_forward(&pass, s, w, logits, t);
    }
    return logits;
}

// Decodes greedily: out (B·T), sentence by sentence as in transformer.c.
void rnn_translate(Arena *arena, RnnSaved *s, const Rnn *w, const Batch *batch,
                   int *out) {
    int B = batch->sentences, T = batch->target_length;
    Mat logits = rnn_forward(arena, s, w, batch, NULL);
    for (int i = 0; i < B * T; i++)
        out[i % B * T + i / B] = arg_max(row(logits, i), 0, logits.cols);
}

// Backwards through the decoder. The context of a step has gone two ways, into
// the LSTM and into the logits, and collects from both; the state h' has gone
// three: into the logits of its own step, into the next step, and into the
// next step's query to attention. The choice of the model's own word is not
// differentiable: no gradient goes through it.
//
// a.at = NULL: no attention. dx: columns of target_x, dfeatures (T·B,H or 2H)
void decoder_backward_steps(Arena *arena, LstmFlow *d, AdditiveFlow *a, Rnn *dw,
                            Mat dfeatures, const RnnSaved *s, const Rnn *w) {
    int B = s->B, E = w->config.embedding, H = w->config.hidden;
    for (int t = s->T - 1; t >= 0; t--) {
        Mat dfeature = block(dfeatures, t, B);
        add(d->hidden, slice_cols(dfeature, 0, H));        // (4) scores
        lstm_step_backward(d, &s->decoder, &w->decoder, t);  // (3) LSTM
        if (w->config.attention > 0) {                       // (2) context
            Mat dcontext = slice_cols(dfeature, H, H);
            Mat used = slice_rows(w->decoder.input.weight, E, H);
            matmul_add(dcontext, block(d->gates, t, B), transposed(used));
            additive_step_backward(arena, a, &dw->attention, d->hidden,
                                   dcontext, &s->attention, &w->attention, t);
        }
    }
}

// dlogits (T·B,V) -> all gradients, added to dw
void rnn_backward(Arena *arena, Rnn *dw, Mat dlogits, const RnnSaved *s,
                  const Rnn *w) {
    int E = w->config.embedding, N = s->T * s->B;
    Mat dfeatures = arena_zeros(arena, N, s->features.cols);
    linear_backward(dfeatures, &dw->output, dlogits, s->features, &w->output);
    LstmFlow d = lstm_flow(arena, &s->decoder);              // (4) decoder
    AdditiveFlow a = {.values = arena_zeros(arena, s->S * s->B,
                                            w->config.hidden)};
    if (w->config.attention > 0)
        a = additive_flow(arena, &s->attention);
    decoder_backward_steps(arena, &d, &a, dw, dfeatures, s, w);
    lstm_weights_backward(&dw->decoder, &d, &s->decoder, s->target_x);
    Mat words = slice_rows(w->decoder.input.weight, 0, E);
    Mat dtarget = arena_zeros(arena, N, E);
    matmul_add(dtarget, d.gates, transposed(words));
    embedding_backward(&s->target_words, dw->target_embedding, none, dtarget);
    if (w->config.attention > 0)                             // (3) e M
        additive_weights_backward(&a, &dw->attention, &s->attention,
                                  &w->attention,
                                  slice_rows(s->decoder.hidden, 0, N));
    LstmFlow e = lstm_flow(arena, &s->encoder);              // (2) the start
    copy(e.hidden, d.hidden);
    copy(e.cell, d.cell);
    Mat dsource = arena_zeros(arena, s->S * s->B, E);        // (1) encoder
    lstm_backward(&e, &dw->encoder, dsource, a.values, &s->encoder, &w->encoder,
                  s->source_x);
    embedding_backward(&s->source_words, dw->source_embedding, none, dsource);
}

// ## A slower Adam
//
// adam_step has the paper's β₂ = 0.98: its mean of squared gradients looks back
// over some fifty steps. The articles train with PyTorch's default, 0.999, and
// with a rate that never falls. That matters: once the loss is small, gradients
// are small too; a mean that forgets quickly follows them down, and then one
// hard batch makes a giant step. With 0.98 and a constant rate the models of
// lab 8 learn, jump back to where they began, and learn again. (The paper's
// rate falls, and its gradients are those of larger batches.)

// With PyTorch's numbers, for adam_step.
Adam slow_adam(real *p, real *m, real *v, const real *gradient, size_t count) {
    return (Adam){p, m, v, gradient, count, 0.9, 0.999, 1e-8};
}

// ## In training, beside a transformer

// A model and its gradients.
typedef struct {
    bool recurrent;
    Rnn *rnn[2];
    Transformer *transformer[2];
    TensorList *list[2]; // of the kind in training
    Adam adam;
    int64_t step;
    Arena arena;
} Learner;

// `recurrent` says which of the two configurations is used.
Learner learner_new(bool recurrent, const RnnConfig *rnn, const Config *config,
                    uint64_t seed) {
    Learner l = {.recurrent = recurrent};
    for (int k = 0; k < 2; k++) {
        l.rnn[k] = rnn_zeros(rnn);
        l.transformer[k] = transformer_new(config);
        l.list[k] = recurrent ? &l.rnn[k]->list : &l.transformer[k]->list;
    }
    initialize(l.list[0], seed);
    size_t count = l.list[0]->count;
    l.adam = slow_adam(l.list[0]->values, allocate(count, sizeof(real)),
                       allocate(count, sizeof(real)), l.list[1]->values, count);
    return l;
}

void learner_free(Learner *l) {
    for (int k = 0; k < 2; k++) {
        transformer_free(l->transformer[k]);
        rnn_free(l->rnn[k]);
    }
    free(l->adam.m);
    free(l->adam.v);
    arena_free(&l->arena);
}

// A step of training at this rate. own (T): see rnn_forward; a transformer is
// always fed the true word.
Loss learner_step(Learner *l, const Batch *batch, const bool *own, double rate,
                  double clip) {
    const Adam *adam = &l->adam;
    const Transformer *t = l->transformer[0];
    Pass pass = {.arena = &l->arena, .config = &t->config};
    RnnSaved rnn;
    Saved saved;
    Mat logits = l->recurrent
               ? rnn_forward(&l->arena, &rnn, l->rnn[0], batch, own)
               : transformer_forward(&pass, &saved, t, batch);
    const int *expected = l->recurrent ? rnn.expected : batch->expected;
    Mat lse = arena_mat(&l->arena, logits.rows, 1);
    Loss loss = loss_forward(lse, logits, expected, 0, &l->arena);
    clear(l->list[1]->values, adam->count);
    loss_backward(logits, logits, lse, expected, 0, loss.tokens);
    if (l->recurrent)
        rnn_backward(&l->arena, l->rnn[1], logits, &rnn, l->rnn[0]);
    else
        transformer_backward(&pass, &saved, t, l->transformer[1], logits);
    double norm = l2_norm(adam->gradient, adam->count);
    adam_step(*adam, clip_factor(norm, clip), rate, ++l->step);
    return loss;
}
