// modern.h, used by labs 17 and 18: four changes since 2017, and the GPT of lab
// 16 with any of them.
//
// RMSNorm, rotary positions, SwiGLU and grouped queries: each with its formula,
// its forward and backward pass, and how to check it. Then a GPT in which each
// of the four is a field of its configuration. With all of them off it is the
// GPT of gpt.h, number for number; with all of them on it has the shape of the
// models that Llama (Touvron and others, 2023) has made usual. Two more fields,
// TANH_GELU and bare, are for the models that lab 18 reads.
//
// Include this file after lab.h. Its letters are those of transformer.c, and P
// is the longest context; one is new: G, the number of key heads. There is no
// dropout here: most large models are trained without it.

enum { LAYER_NORM, RMS_NORM };                   // Modern.norm
enum { NO_ROTARY, INTERLEAVED, ROTATE_HALF };    // Modern.rotary
enum { PLAIN, TANH_GELU, SWIGLU };               // Modern.network

// What Config (chapter 1) does not know. `heads` there is H, and `activation`
// is that of a PLAIN network.
typedef struct {
    int norm, rotary, network; // one of the constants above
    int key_heads;             // G, a divisor of H
    int biases;                // of linear layers; 0: there are none
    int bare;                  // embeddings are not multiplied by √D
    double epsilon;            // of RMSNorm
    double rotary_base;        // Θ, which sets the angles; often 10,000
} Modern;

// ## Linear layers without biases
//
// Many models of today have none. A Linear whose `bias.at` is NULL is one.

// y = x W, plus b if there is one; x (N,I) -> (N,O)
Mat project(Pass *pass, const Linear *w, Mat x) {
    if (w->bias.at)
        return linear_forward(pass, w, x);
    SHAPE(x, x.rows, w->weight.rows);
    Mat y = arena_zeros(pass->arena, x.rows, w->weight.cols);
    matmul_add(y, x, w->weight);
    return y;
}

// dx (N,I) and dw are added to; dy (N,O), x (N,I) and w as in the forward pass
void project_backward(Mat dx, Linear *dw, Mat dy, Mat x, const Linear *w) {
    if (w->bias.at) {
        linear_backward(dx, dw, dy, x, w);
        return;
    }
    matmul_add(dx, dy, transposed(w->weight));
    matmul_add(dw->weight, transposed(x), dy);
}

// ## RMSNorm
//
// Layer normalization does two things to a row: it subtracts the mean, and it
// brings the size to 1. Zhang and Sennrich (2019, arXiv 1910.07467) found that
// the second is what helps. RMSNorm does only that: it divides the row by its
// root mean square. There is no mean to compute, and no bias.
//
//     r   = √(1/D Σ_j x_j² + ε)        ε under the root
//     n_j = x_j/r
//     y_j = gain_j n_j
//
// By hand: x = [1, 7] has the mean square 25 and r = 5, so n = [0.2, 1.4].
//
// For the backward pass, as in chapter 6: dn_j = dy_j gain_j is what reaches
// n_j. Each x_j acts directly through n_j, and on all n_p through r.
//
//     ∂r/∂x_j   = 1/(2r) · 2 x_j/D = n_j/D       since r² = 1/D Σ x² + ε
//     ∂n_p/∂x_j = 1[j=p]/r - x_p/r² · n_j/D      by the quotient rule
//               = (1[j=p] - n_p n_j/D)/r
//
//     dx_j      = Σ_p dn_p ∂n_p/∂x_j
//               = (dn_j - n_j · 1/D Σ_p dn_p n_p)/r
//     dgain_j   = Σ_rows dy_j n_j
//
// It is the backward pass of layer normalization without its middle term.
//
// How to check it: scaling x changes nothing, so Σ dx_j x_j is nearly zero
// (exactly zero if ε were 0). The dx of a row need no longer sum to zero,
// since adding a constant to x does change y. And check with gains that differ:
// taking the mean of dy_p n_p and multiplying by gain_j afterwards is wrong,
// but gives the right numbers where all gains are equal.

// x (N,D) -> y (N,D). s->rstd is 1/r; s->mean is not used.
Mat rms_norm_forward(Pass *pass, NormSaved *s, const Norm *w, Mat x,
                     double epsilon) {
    int D = x.cols;
    s->x = x;
    s->rstd = arena_mat(pass->arena, x.rows, 1);
    Mat out = arena_mat(pass->arena, x.rows, D);
    SHAPE(x, out.rows, w->gain.cols);
    PARALLEL_FOR(size_of(x) * 3)
    for (int i = 0; i < x.rows; i++) {
        const real *from = row(x, i);
        real *y = row(out, i);
        real square = dot(from, from, D) / (real)D;           // (1) mean of x²
        real rstd = 1 / REAL(sqrt)(square + (real)epsilon);   // (2) 1/r
        for (int j = 0; j < D; j++)                           // (3) normalize
            y[j] = from[j] * rstd * w->gain.at[j];
        s->rstd.at[i] = rstd;
    }
    return out;
}

// Steps (3) to (1) together, by the formula for dx_j. dx (N,D) and dw are added
// to; dy (N,D) given. As in norm_backward, dy_n is dy times n.
void rms_norm_backward(Pass *pass, const NormSaved *s, const Norm *w, Norm *dw,
                       Mat dx, Mat dy) {
    int N = dy.rows, D = dy.cols;
    size_t mark = pass->arena->used;
    SHAPE(dx, N, D);
    SHAPE(s->x, N, D);
    Mat dyn = arena_mat(pass->arena, N, D);
    PARALLEL_FOR(size_of(dy) * 6)
    for (int i = 0; i < N; i++) {
        const real *x = row(s->x, i), *d = row(dy, i), *gain = w->gain.at;
        real *to = row(dx, i), *dy_n = row(dyn, i), rstd = s->rstd.at[i];
        for (int j = 0; j < D; j++)
            dy_n[j] = d[j] * (x[j] * rstd);
        real dnn_mean = dot(dy_n, gain, D) / (real)D;
        for (int j = 0; j < D; j++)
            to[j] += rstd * (d[j] * gain[j] - x[j] * rstd * dnn_mean);
    }
    add_column_sums(dw->gain, dyn);
    arena_release(pass->arena, mark);
}

// The norm that the configuration asks for; x (N,D) -> (N,D)
Mat any_norm_forward(Pass *pass, const Modern *m, NormSaved *s, const Norm *w,
                     Mat x) {
    if (m->norm == RMS_NORM)
        return rms_norm_forward(pass, s, w, x, m->epsilon);
    return norm_forward(pass, s, w, x);
}

// Its backward pass: dy (N,D) -> dx (N,D), fresh; dw is added to
Mat any_norm_backward(Pass *pass, const Modern *m, const NormSaved *s,
                      const Norm *w, Norm *dw, Mat dy) {
    Mat dx = arena_zeros(pass->arena, dy.rows, dy.cols);
    if (m->norm == RMS_NORM)
        rms_norm_backward(pass, s, w, dw, dx, dy);
    else
        norm_backward(pass, s, w, dw, dx, dy);
    return dx;
}

// ## Rotary positions
//
// Chapter 4 adds a vector for the position to the token's. Rotary positions (Su
// and others, 2021, arXiv 2104.09864) add nothing. They act in every layer, on
// queries and keys only, between the linear layer and the scores: the K numbers
// of a head are taken as K/2 points of a plane, and each point is turned about
// the origin by an angle proportional to the position.
//
//     θ_i  = Θ^(-2i/K)              i = 0 … K/2 - 1, Θ usually 10,000
//     q'_u = q_u cos tθ_i - q_v sin tθ_i
//     q'_v = q_u sin tθ_i + q_v cos tθ_i       t the position of this row
//
// where u and v are the two columns of pair i. Lab 17 shows what this is for:
// of the positions of a query and a key, a score depends on nothing but how far
// apart they are. A rotation is linear in q, so its backward pass multiplies by
// the transposed matrix, which is the rotation by the opposite angle. There is
// nothing to save and nothing to learn.
//
// Which two columns make a pair? There are two conventions, and no gradient check
// can tell one from the other, for each is a correct rotation:
//
//     INTERLEAVED   (2i, 2i+1)     in the paper, in GPT-J, in Meta's Llama
//     ROTATE_HALF   (i, i + K/2)   in GPT-NeoX, and in the files of Llama and
//                                  its descendants on the Hugging Face hub
//
// A model that was trained with one and runs with the other writes nonsense.
// But a score is a sum over the columns of a head, whose order does not matter:
// so permuting the columns of W_q and W_k, and their biases, takes a model from
// one convention to the other: `change_pairing`, below.
//
// How to check it: a query and a key at the same distance have the same score,
// wherever they stand; a row at position 0 stays as it is; no length changes.
// For the convention: compare with a reference whose convention is known.

// Cosines and sines of T positions from `first` on, (T,K/2) each.
typedef struct {
    Mat cosine, sine;
    int pairing; // INTERLEAVED or ROTATE_HALF; NO_ROTARY: nothing is turned
} Rotation;

// The angles of positions first … first + T - 1, for heads of even width K.
// They are computed in double precision: t θ_i can be large, but only what is
// left of it after all full turns counts.
Rotation rotation_of(Arena *arena, const Modern *m, int K, int first, int T) {
    Rotation r = {.pairing = m->rotary};
    if (m->rotary == NO_ROTARY)
        return r;
    r.cosine = arena_mat(arena, T, K / 2);
    r.sine = arena_mat(arena, T, K / 2);
    for (int i = 0; i < K / 2; i++) {
        double theta = pow(m->rotary_base, -2.0 * i / K);
        for (int t = 0; t < T; t++) {
            *at(r.cosine, t, i) = (real)cos((first + t) * theta);
            *at(r.sine, t, i) = (real)sin((first + t) * theta);
        }
    }
    return r;
}

// Turns one head's K numbers, in place; direction 1 is forward, -1 is backward.
void rotate_head(real *x, const Rotation *r, int t, real direction) {
    int pairs = r->cosine.cols;
    int apart = r->pairing == INTERLEAVED ? 1 : pairs; // from u to v
    int step = r->pairing == INTERLEAVED ? 2 : 1;      // from pair to pair
    const real *cosine = row(r->cosine, t), *sine = row(r->sine, t);
    for (int i = 0; i < pairs; i++) {
        real *u = &x[step * i], *v = u + apart;
        real c = cosine[i], s = direction * sine[i], was = *u;
        *u = was * c - *v * s;
        *v = was * s + *v * c;
    }
}

// The same for every head of x (B·T,heads·K), in place: row i stands at the
// position i mod T of the rotation. Any number of heads.
void rotate(Mat x, const Rotation *r, real direction) {
    int T = r->cosine.rows, K = 2 * r->cosine.cols;
    if (r->pairing == NO_ROTARY)
        return;
    PARALLEL_FOR(size_of(x) * 3)
    for (int i = 0; i < x.rows; i++)
        for (int first = 0; first < x.cols; first += K)
            rotate_head(row(x, i) + first, r, i % T, direction);
}

// Permutes the columns of each head of m (any rows, heads·K) from one
// convention to the other. To change a model's convention: the matrices and the
// biases of query *and* key in every layer, and Modern.rotary.
void change_pairing(Mat m, int K, int to) {
    real *moved = allocate((size_t)K, sizeof *moved);
    for (int i = 0; i < m.rows; i++)
        for (int first = 0; first < m.cols; first += K) {
            for (int j = 0; j < K; j++) {
                int half = j / 2 + j % 2 * (K / 2); // where 2i and 2i+1 are
                int new = to == INTERLEAVED ? j : half;
                int old = to == INTERLEAVED ? half : j;
                moved[new] = *at(m, i, first + old);
            }
            for (int j = 0; j < K; j++)
                *at(m, i, first + j) = moved[j];
        }
    free(moved);
}

// ## Grouped queries
//
// While a model writes, its cache holds a key and a value of D numbers for each
// position of each layer, and every new token reads all of it. Ainslie and
// others (2023, arXiv 2305.13245) let several heads of queries share one head
// of keys and values: H heads ask, and only G answer, each for a group of H/G.
// The cache is smaller by a factor of H/G.
//
//     g(h) = ⌊h / (H/G)⌋              the key head that query head h reads
//
//     H = 4, G = 2      h     0  1  2  3
//                       g(h)  0  0  1  1
//
// With G = H this is chapter 3, with G = 1 it is called multi-query attention
// (Shazeer, 2019, arXiv 1911.02150). W_k and W_v become narrower, (D,GK), and
// `grouped_head` finds for each head the keys and values that it reads.
//
// What is used several times collects as many gradients (chapter 3), so
//
//     dk_g = Σ_(h: g(h) = g) dk of head h,    dv_g likewise
//
// All heads of a group add to the same numbers, so one thread has to take the
// whole group.
//
// How to check it: copy each of the G key heads H/G times, side by side. That
// is an attention with H key heads, and must give the same result. Use 1 < G <
// H: with G = 1 or G = H a wrong order, such as h mod G, is right by accident.

// What the forward pass leaves for the backward pass, as MultiHeadSaved of
// chapter 3; a second one holds the gradients of the same things.
typedef struct {
    int sentences, heads; // B, H
    Mat x;                // (B·T,D)
    Mat q, k, v;          // (B·T,D), (B·T,GK), (B·T,GK)
    Mat weights;          // (B·H·T,S): sentence by sentence, head by head
    Mat context;          // (B·T,D): the heads' results side by side
} GroupedSaved;

// How many heads read the same keys and values: H/G.
int heads_in_group(const GroupedSaved *s) {
    return s->q.cols / s->k.cols;
}

// Head i of B·H, as views: head i % H of sentence i / H, with the keys and
// values of its group. In a cache a sentence has room for more keys than the S
// that are in use.
Head grouped_head(const GroupedSaved *s, int i) {
    int B = s->sentences, H = s->heads, b = i / H, h = i % H;
    int T = s->q.rows / B, S = s->weights.cols, K = s->q.cols / H;
    int room = s->k.rows / B, share = heads_in_group(s), g = h / share;
    Mat weights = slice_rows(s->weights, i * T, T);
    return (Head){
        .q = head(s->q, b, T, h, K),
        .k = slice_rows(head(s->k, b, room, g, K), 0, S),
        .v = slice_rows(head(s->v, b, room, g, K), 0, S),
        .weights = weights,
        .dropped = weights,
        .out = head(s->context, b, T, h, K),
        .scale = 1 / REAL(sqrt)((real)K),
    };
}

// Keys and values of x (B·T,D), the keys turned: s->k and s->v, (B·T,GK) each
void rotated_keys(Pass *pass, const Rotation *r, GroupedSaved *s,
                  const MultiHead *w, Mat x) {
    s->k = project(pass, &w->key, x);           // (1) keys, turned, and values
    rotate(s->k, r, 1);
    s->v = project(pass, &w->value, x);
}

// Queries of x (B·T,D), turned: s->q (B·T,D). With the next function it is
// attend of chapter 3, in two parts because of the rotation between them.
void rotated_queries(Pass *pass, const Rotation *r, GroupedSaved *s,
                     const MultiHead *w, Mat x) {
    s->sentences = pass->sentences;
    s->heads = pass->config->heads;
    s->x = x;
    s->q = project(pass, &w->query, x);         // (2) queries, turned
    rotate(s->q, r, 1);
}

// Attention of the queries in s to the first S keys of each text -> (B·T,D).
// mask: B of (T,S).
Mat attend_in_groups(Pass *pass, GroupedSaved *s, const MultiHead *w, int S,
                     Mask mask) {
    int H = s->heads;
    s->weights = arena_mat(pass->arena, H * s->q.rows, S);
    s->context = arena_mat(pass->arena, s->q.rows, s->q.cols);
    PARALLEL_FOR(size_of(s->weights) * (2 + s->q.cols / H / 4))
    for (int i = 0; i < s->sentences * H; i++)  // (3) attention, head by head
        attention_forward(grouped_head(s, i), mask_of_sentence(mask, i / H));
    return project(pass, &w->output, s->context); // (4) mix the heads
}

// multi_head_backward with a rotation. dy (B·T,D) -> dx (B·T,D), fresh; dw is
// added to.
Mat grouped_backward(Pass *pass, const Rotation *r, const GroupedSaved *s,
                     const MultiHead *w, MultiHead *dw, Mat dy) {
    Arena *arena = pass->arena;
    int share = heads_in_group(s);
    Mat dx = arena_zeros(arena, s->x.rows, s->x.cols);
    size_t mark = arena->used;
    GroupedSaved d = {.sentences = s->sentences, .heads = s->heads};
    // (4) out = context W + b
    d.context = arena_zeros(arena, s->context.rows, s->context.cols);
    project_backward(d.context, &dw->output, dy, s->context, &w->output);
    // (3) one thread for each group, whose heads add to the same dk and dv
    d.q = arena_zeros(arena, s->q.rows, s->q.cols);
    d.k = arena_zeros(arena, s->k.rows, s->k.cols);
    d.v = arena_zeros(arena, s->v.rows, s->v.cols);
    d.weights = arena_mat(arena, s->weights.rows, s->weights.cols);
    PARALLEL_FOR(size_of(s->weights) * (2 + s->q.cols / s->heads / 2))
    for (int first = 0; first < s->sentences * s->heads; first += share)
        for (int i = first; i < first + share; i++)
            attention_backward(grouped_head(&d, i), grouped_head(s, i));
    // (2) queries and (1) keys, turned back; values
    rotate(d.q, r, -1);
    rotate(d.k, r, -1);
    project_backward(dx, &dw->query, d.q, s->x, &w->query);
    project_backward(dx, &dw->key, d.k, s->x, &w->key);
    project_backward(dx, &dw->value, d.v, s->x, &w->value);
    arena_release(arena, mark);
    return dx;
}

// ## SwiGLU
//
// The feed-forward network of chapter 5 widens, bends and narrows. In a *gated*
// network (Shazeer, 2020, arXiv 2002.05202) two linear layers widen, side by
// side. One of them goes through the activation, and is then a gate for the
// other: the two are multiplied number by number. The activation is Swish, also
// called SiLU.
//
//     a = x W_gate        b = x W_inner
//     s = a σ(a)          σ(a) = 1/(1 + e⁻ᵃ)
//     y = s ⊙ b           out = y W_outer
//
// The paper measures that it works better, and offers no explanation. There are
// three matrices instead of two. So for as many parameters as before, the inner
// width is two thirds as large: F = 8/3 D instead of 4 D.
//
// The backward pass is the product rule, with a derivative as in chapter 5:
//
//     dσ/da = σ(a)(1 - σ(a))
//     ds/da = σ(a) + a σ(a)(1 - σ(a)) = σ(a)(1 + a(1 - σ(a)))
//
//     da    = dy ⊙ b ⊙ σ(a)(1 + a(1 - σ(a)))
//     db    = dy ⊙ s
//
// By hand, at a = 0: σ = 1/2, so s is 0 and its slope 1/2. With b = 6 and
// dy = 1, da = 3 and db = 0.
//
// How to check it: far from 0, s is a or 0, so that da is dy b or 0. No
// gradient check can see whether gate and inner layer have been exchanged: for
// that, compare with a reference.

// y = a σ(a) b; all (N,F)
void swiglu_forward(Mat y, Mat a, Mat b) {
    SHAPE(a, y.rows, y.cols);
    SHAPE(b, y.rows, y.cols);
    PARALLEL_FOR(size_of(y) * 10)
    for (int i = 0; i < y.rows; i++)
        for (int j = 0; j < y.cols; j++) {
            real z = row(a, i)[j];
            row(y, i)[j] = z / (1 + exponential(-z)) * row(b, i)[j];
        }
}

// da and db are written; dy, a and b given; all (N,F)
void swiglu_backward(Mat da, Mat db, Mat dy, Mat a, Mat b) {
    SHAPE(da, dy.rows, dy.cols);
    SHAPE(db, dy.rows, dy.cols);
    PARALLEL_FOR(size_of(dy) * 12)
    for (int i = 0; i < dy.rows; i++)
        for (int j = 0; j < dy.cols; j++) {
            real z = row(a, i)[j], d = row(dy, i)[j];
            real sigma = 1 / (1 + exponential(-z));
            row(db, i)[j] = d * z * sigma;
            row(da, i)[j] = d * row(b, i)[j] * sigma * (1 + z * (1 - sigma));
        }
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

// ## The network, gated or not

typedef struct {
    Linear gate;  // (D,F), SwiGLU only
    Linear inner; // (D,F)
    Linear outer; // (F,D)
} Network;

typedef struct {
    Mat x;           // (N,D) the input
    Mat gate, inner; // (N,F) before the activation
    Mat active;      // (N,F) after it
} NetworkSaved;

// x (N,D) -> (N,D)
Mat network_forward(Pass *pass, const Modern *m, NetworkSaved *s,
                    const Network *w, Mat x) {
    s->x = x;
    s->inner = project(pass, &w->inner, x);             // (1) widen
    s->active = arena_mat(pass->arena, x.rows, s->inner.cols);
    if (m->network == SWIGLU) {
        s->gate = project(pass, &w->gate, x);           // (2) gate, or bend
        swiglu_forward(s->active, s->gate, s->inner);
    } else if (m->network == TANH_GELU)
        tanh_gelu_forward(s->active, s->inner);
    else
        activation_forward(s->active, s->inner, pass->config->activation);
    return project(pass, &w->outer, s->active);         // (3) narrow
}

// dy (N,D) -> dx (N,D), fresh; dw is added to
Mat network_backward(Pass *pass, const Modern *m, const NetworkSaved *s,
                     const Network *w, Network *dw, Mat dy) {
    int N = s->x.rows, F = s->inner.cols;
    Mat dx = arena_zeros(pass->arena, N, s->x.cols);
    size_t mark = pass->arena->used;
    // (3) out = active W + b
    Mat dactive = arena_zeros(pass->arena, N, F);
    project_backward(dactive, &dw->outer, dy, s->active, &w->outer);
    if (m->network == SWIGLU) {
        // (2) active = gate σ(gate) inner
        Mat dgate = arena_mat(pass->arena, N, F);
        Mat dinner = arena_mat(pass->arena, N, F);
        swiglu_backward(dgate, dinner, dactive, s->gate, s->inner);
        project_backward(dx, &dw->gate, dgate, s->x, &w->gate);
        dactive = dinner;
    } else if (m->network == TANH_GELU)
        tanh_gelu_backward(dactive, s->inner);
    else
        activation_backward(dactive, s->inner, pass->config->activation);
    // (1) inner = x W + b
    project_backward(dx, &dw->inner, dactive, s->x, &w->inner);
    arena_release(pass->arena, mark);
    return dx;
}

// ## Bare embeddings
//
// Published models add the rows of their tables as they are.

// table[id] + positions[t]; ids, table and positions as in embedding_forward
// -> x (B·T,D)
Mat bare_forward(Pass *pass, EmbeddingSaved *s, Mat table, Mat positions,
                 const int *ids, int T) {
    Mat x = arena_mat(pass->arena, pass->sentences * T, table.cols);
    *s = (EmbeddingSaved){.ids = ids, .length = T};
    for (int i = 0; i < x.rows; i++) {
        copy(slice_rows(x, i, 1), slice_rows(table, ids[i], 1));
        if (positions.at)
            add(slice_rows(x, i, 1), slice_rows(positions, i % T, 1));
    }
    return x;
}

// dx (B·T,D); dtable and dpositions are added to
void bare_backward(const EmbeddingSaved *s, Mat dtable, Mat dpositions,
                   Mat dx) {
    for (int i = 0; i < dx.rows; i++) {
        Mat d = slice_rows(dx, i, 1);
        add(slice_rows(dtable, s->ids[i], 1), d);
        if (dpositions.at)
            add(slice_rows(dpositions, i % s->length, 1), d);
    }
}

// ## The model
//
// A stack of pre-norm layers under a causal mask, as in gpt.h.

typedef struct {
    MultiHead attention; // query (D,D), key and value (D,GK), output (D,D)
    Norm attention_norm;
    Network network;
    Norm network_norm;
} ModernLayer;

typedef struct {
    Modern modern;
    ModernLayer *layer; // L of them
    Transformer *base;  // sizes, embedding, positions, output layer, list of
                        // all tensors; of its encoder only the final norm
} ModernGpt;

// A linear layer in the list, with or without its bias.
void list_projection(TensorList *l, Linear *w, int in, int out, int bias,
                     Name path) {
    if (bias)
        list_linear(l, w, in, out, path);
    else
        list_tensor(l, &w->weight, in, out, INIT_XAVIER,
                    join(path.text, ".weight"));
}

// A norm in the list: RMSNorm has no bias.
void list_any_norm(TensorList *l, const Modern *m, Norm *w, int D, Name path) {
    if (m->norm == RMS_NORM)
        list_tensor(l, &w->gain, 1, D, INIT_ONES, join(path.text, ".gain"));
    else
        list_norm(l, w, D, path);
}

// One layer: tensors layer.L.attention…, layer.L.network…
void list_layer(TensorList *l, ModernLayer *w, const Config *c,
                const Modern *m, int number) {
    int D = c->d_model, KG = D / c->heads * m->key_heads, bias = m->biases;
    char at[NAME_SIZE];
    MultiHead *a = &w->attention;
    snprintf(at, sizeof at, "layer.%d.", number);
    list_projection(l, &a->query, D, D, bias, join(at, "attention.query"));
    list_projection(l, &a->key, D, KG, bias, join(at, "attention.key"));
    list_projection(l, &a->value, D, KG, bias, join(at, "attention.value"));
    list_projection(l, &a->output, D, D, bias, join(at, "attention.output"));
    list_any_norm(l, m, &w->attention_norm, D, join(at, "attention_norm"));
    if (m->network == SWIGLU)
        list_projection(l, &w->network.gate, D, c->d_ff, bias,
                        join(at, "network.gate"));
    list_projection(l, &w->network.inner, D, c->d_ff, bias,
                    join(at, "network.inner"));
    list_projection(l, &w->network.outer, c->d_ff, D, bias,
                    join(at, "network.outer"));
    list_any_norm(l, m, &w->network_norm, D, join(at, "network_norm"));
}

// The model and its list, without memory for the numbers, as in gpt_outline.
// `positions` is LEARNED or NO_POSITIONS, H is a multiple of G, and where
// positions are rotary, a head has an even width.
ModernGpt modern_outline(const Config *c, const Modern *m) {
    int D = c->d_model, V = c->target_vocab;
    ModernGpt t = {.modern = *m, .base = encoder_outline(c)};
    TensorList *l = &t.base->list;
    t.layer = allocate((size_t)c->layers, sizeof *t.layer);
    list_table(l, &t.base->target_embedding, V, D, "embedding");
    if (c->positions == LEARNED)
        list_table(l, &t.base->target_positions, c->max_len, D, "positions");
    for (int i = 0; i < c->layers; i++)
        list_layer(l, &t.layer[i], c, m, i);
    list_any_norm(l, m, &t.base->encoder.norm, D, join("norm", ""));
    if (!c->tie)
        list_tensor(l, &t.base->output.weight, D, V, INIT_XAVIER,
                    join("output", ".weight"));
    if (m->biases)
        list_tensor(l, &t.base->output.bias, 1, V, INIT_ZEROS,
                    join("output", ".bias"));
    return t;
}

// The same with memory for the numbers, which are zeros.
ModernGpt modern_zeros(const Config *c, const Modern *m) {
    ModernGpt t = modern_outline(c, m);
    transformer_place(t.base);
    return t;
}

// Frees what does not belong to the base, which is freed with its trainer or by
// transformer_free.
void modern_free(ModernGpt *t) {
    free(t->layer);
}

typedef struct {
    NormSaved attention_norm, network_norm;
    GroupedSaved attention;
    NetworkSaved network;
} ModernLayerSaved;

typedef struct {
    EmbeddingSaved embedding;
    ModernLayerSaved *layer; // L of them
    NormSaved norm;
    Rotation rotation; // of positions 0 … T-1
    Mask mask;
    Mat hidden;        // (B·T,D)
} ModernSaved;

// One layer, whose keys and values are in s already: x (B·T,D), and h, which is
// x normalized -> (B·T,D); the first S keys of each text are seen.
Mat modern_layer(Pass *pass, const Rotation *r, ModernLayerSaved *s,
                 const ModernLayer *w, const Modern *m, Mat x, Mat h, int S,
                 Mask mask) {
    // (1) self-attention
    rotated_queries(pass, r, &s->attention, &w->attention, h);
    Mat y = attend_in_groups(pass, &s->attention, &w->attention, S, mask);
    add(y, x);
    // (2) feed-forward network
    h = any_norm_forward(pass, m, &s->network_norm, &w->network_norm, y);
    Mat z = network_forward(pass, m, &s->network, &w->network, h);
    add(z, y);
    return z;
}

// Layer l: x (B·T,D) -> (B·T,D)
Mat modern_layer_forward(Pass *pass, ModernSaved *saved, int l,
                         const ModernGpt *t, Mat x) {
    ModernLayerSaved *s = &saved->layer[l];
    const ModernLayer *w = &t->layer[l];
    const Modern *m = &t->modern;
    Mat h = any_norm_forward(pass, m, &s->attention_norm, &w->attention_norm,
                             x);
    rotated_keys(pass, &saved->rotation, &s->attention, &w->attention, h);
    return modern_layer(pass, &saved->rotation, s, w, m, x, h,
                        x.rows / pass->sentences, saved->mask);
}

// dout (B·T,D) -> the gradient of the layer's input, (B·T,D); dw is added to
Mat modern_layer_backward(Pass *pass, const ModernSaved *saved, int l,
                          const ModernGpt *t, ModernGpt *g, Mat dout) {
    const ModernLayerSaved *s = &saved->layer[l];
    const ModernLayer *w = &t->layer[l];
    ModernLayer *dw = &g->layer[l];
    // (2) z = y + network(norm(y))
    Mat dh = network_backward(pass, &t->modern, &s->network, &w->network,
                              &dw->network, dout);
    Mat dy = any_norm_backward(pass, &t->modern, &s->network_norm,
                               &w->network_norm, &dw->network_norm, dh);
    add(dy, dout);
    // (1) y = x + attention(norm(x))
    dh = grouped_backward(pass, &saved->rotation, &s->attention, &w->attention,
                          &dw->attention, dy);
    Mat dx = any_norm_backward(pass, &t->modern, &s->attention_norm,
                               &w->attention_norm, &dw->attention_norm, dh);
    add(dx, dy);
    return dx;
}

// The embedding that the configuration asks for: bare, or times √D.
Mat any_embedding_forward(Pass *pass, EmbeddingSaved *s, const ModernGpt *t,
                          Mat positions, const int *ids, int T) {
    Mat table = t->base->target_embedding;
    return t->modern.bare
         ? bare_forward(pass, s, table, positions, ids, T)
         : embedding_forward(pass, s, table, positions, ids, T);
}

// ids (B·T), T ≤ P -> logits (B·T,V); no row depends on later tokens
Mat modern_forward(Pass *pass, ModernSaved *s, const ModernGpt *t,
                   const int *ids, int T) {
    const Transformer *base = t->base;
    const Config *c = &base->config;
    Mat x = any_embedding_forward(pass, &s->embedding, t,
                                  base->target_positions, ids,
                                  T);                   // (1) tokens
    s->layer = arena_take(pass->arena, (size_t)c->layers, sizeof *s->layer);
    s->rotation = rotation_of(pass->arena, &t->modern, c->d_model / c->heads, 0,
                              T);
    s->mask = causal_mask(pass->arena, T);
    for (int l = 0; l < c->layers; l++)                 // (2) layers, last norm
        x = modern_layer_forward(pass, s, l, t, x);
    s->hidden = any_norm_forward(pass, &t->modern, &s->norm,
                                 &base->encoder.norm, x);
    return project(pass, &base->output, s->hidden);     // (3) logits
}

// dlogits (B·T,V) -> all gradients, added to g
void modern_backward(Pass *pass, const ModernSaved *s, const ModernGpt *t,
                     ModernGpt *g, Mat dlogits) {
    const Transformer *base = t->base;
    Mat dx = arena_zeros(pass->arena, s->hidden.rows, s->hidden.cols);
    // (3) logits = hidden W + b
    project_backward(dx, &g->base->output, dlogits, s->hidden, &base->output);
    // (2) hidden = norm(layers(x))
    dx = any_norm_backward(pass, &t->modern, &s->norm, &base->encoder.norm,
                           &g->base->encoder.norm, dx);
    for (int l = base->config.layers - 1; l >= 0; l--)
        dx = modern_layer_backward(pass, s, l, t, g, dx);
    // (1) x = embedding of the tokens
    Mat dtable = g->base->target_embedding;
    Mat dpositions = g->base->target_positions;
    if (t->modern.bare)
        bare_backward(&s->embedding, dtable, dpositions, dx);
    else
        embedding_backward(&s->embedding, dtable, dpositions, dx);
}

// Forward, loss, backward, as gpt_gradient: the gradients are added to g.
Loss modern_gradient(Pass *pass, const ModernGpt *t, ModernGpt *g,
                     const Batch *batch) {
    ModernSaved saved;
    pass->sentences = batch->sentences;
    Mat logits = modern_forward(pass, &saved, t, batch->input,
                                batch->target_length);
    Loss loss = loss_and_gradient(pass->arena, logits, batch->expected);
    modern_backward(pass, &saved, t, g, logits);
    return loss;
}

// ## With a cache
//
// The cache keeps keys as they are after the rotation: a key is turned once, by
// the angle of its own position, and the queries that come later do not change
// it. Only G heads of keys and values are kept: 2 L G K numbers per position.
//
// How to check it: token by token, the logits are those of the forward pass. If
// keys are turned for the newest position and not for their own, they differ
// from the second token on.

typedef struct {
    const ModernGpt *model;
    int length;          // t: positions read
    GroupedSaved *layer; // L of them; k, v (B·P,GK): P rows for each text
} ModernCache;

// An empty cache with room for P positions of B texts; P is max_len.
ModernCache modern_cache(Arena *arena, const ModernGpt *t, int B) {
    const Config *config = &t->base->config;
    ModernCache c = {.model = t};
    c.layer = arena_take(arena, (size_t)config->layers, sizeof *c.layer);
    int GK = config->d_model / config->heads * t->modern.key_heads;
    for (int l = 0; l < config->layers; l++)
        c.layer[l] = (GroupedSaved){
            .k = arena_mat(arena, B * config->max_len, GK),
            .v = arena_mat(arena, B * config->max_len, GK)};
    return c;
}

// extend_cache of chapter 12: key, turned, and value of position t of each text
// from x (B,D), in rows b·P + t of the cache s.
void extend_rotated_cache(Pass *pass, const Rotation *r, GroupedSaved *s,
                          const MultiHead *w, Mat x, int t) {
    GroupedSaved new;
    rotated_keys(pass, r, &new, w, x);
    ptrdiff_t text = s->k.rows / x.rows * s->k.row_stride;
    copy((Mat){row(s->k, t), x.rows, s->k.cols, text, 1}, new.k);
    copy((Mat){row(s->v, t), x.rows, s->v.cols, text, 1}, new.v);
}

// modern_layer_forward for the next position; x (B,D) -> (B,D)
Mat modern_layer_step(Pass *pass, const Rotation *r, const ModernCache *c,
                      int l, Mat x) {
    const ModernLayer *w = &c->model->layer[l];
    const Modern *m = &c->model->modern;
    ModernLayerSaved s = {.attention = c->layer[l]};
    Mat h = any_norm_forward(pass, m, &s.attention_norm, &w->attention_norm, x);
    extend_rotated_cache(pass, r, &s.attention, &w->attention, h, c->length);
    return modern_layer(pass, r, &s, w, m, x, h, c->length + 1, (Mask){0});
}

// modern_forward for the next position, with fewer than P positions in the
// cache; id (B) -> logits (B,V)
Mat modern_step(Pass *pass, ModernCache *c, const int *id) {
    const ModernGpt *t = c->model;
    const Config *config = &t->base->config;
    Mat positions = t->base->target_positions;
    EmbeddingSaved e;
    NormSaved n;
    Rotation r = rotation_of(pass->arena, &t->modern,
                             config->d_model / config->heads, c->length, 1);
    if (positions.at)
        positions = slice_rows(positions, c->length, 1);
    Mat x = any_embedding_forward(pass, &e, t, positions, id, 1);
    for (int l = 0; l < config->layers; l++)
        x = modern_layer_step(pass, &r, c, l, x);
    c->length++;
    x = any_norm_forward(pass, &t->modern, &n, &t->base->encoder.norm, x);
    return project(pass, &t->base->output, x);
}
