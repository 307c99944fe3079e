// Chapter 3: linear layers, heads as bands of columns, multi-head attention.

#include "../lib/test.h"

enum { B = 2, T = 3, S = 4, D = 6, H = 3 };

typedef struct {
    Mat x, upstream;
    Linear w;
} LinearCase;

loss_number linear_loss(void *context) {
    LinearCase *c = context;
    Pass pass = {.arena = &room};
    Mat out = linear_forward(&pass, &c->w, c->x);
    return project(out, c->upstream);
}

void test_linear(void) {
    LinearCase c = {.x = random_mat(5, 4), .upstream = random_mat(5, 70),
                    .w = random_linear(4, 70)};
    Mat dx = filled_mat(5, 4, PREFILL);
    Linear dw = filled_linear(4, 70, PREFILL);
    linear_backward(dx, &dw, c.upstream, c.x, &c.w);
    CLAIM_GRADIENT(linear_loss, &c, c.x, dx, "linear: dx");
    claim_linear(linear_loss, &c, &c.w, &dw, "linear", "own");
}

// Whole numbers, whose sums are exact; after them NaN, which belongs to no sum.
void test_column_sums(void) {
    enum { ROWS = 9, COLS = 35 };
    Mat x = filled_mat(ROWS + 4, COLS, (double)NAN);
    for (int rows = 0; rows <= ROWS; rows++) {
        Mat total = filled_mat(1, COLS, 7);
        add_column_sums(total, slice_rows(x, 0, rows));
        bool right = true;
        for (int j = 0; j < COLS; j++) {
            double expected = 7 + rows * (rows - 1) / 2 + rows * j;
            right = right && (double)total.at[j] == expected;
        }
        CLAIM(right, "the sum of each column goes over all %d rows, and no more",
              rows);
        for (int j = 0; j < COLS; j++)
            *at(x, rows, j) = (real)(rows + j);
    }
}

typedef struct {
    Config config;
    MultiHead w;
    Mat x, memory, upstream;
    Mask mask;
    double rate;
} Case;

Mat forward(Case *c, Pass *pass, MultiHeadSaved *s) {
    *pass = pass_dropping(&c->config, c->rate, 5, B);
    return multi_head_forward(pass, s, &c->w, c->x, c->memory, c->mask);
}

loss_number loss(void *context) {
    Case *c = context;
    Pass pass;
    MultiHeadSaved s;
    return project(forward(c, &pass, &s), c->upstream);
}

// With t queries and s keys; s = 0: self-attention.
Case new_case(int t, int s, Mask mask, double rate) {
    Case c = {.config = {.d_model = D, .heads = H}, .mask = mask, .rate = rate};
    c.w = (MultiHead){.query = random_linear(D, D), .key = random_linear(D, D),
                      .value = random_linear(D, D), .output = random_linear(D, D)};
    c.x = random_mat(B * t, D);
    c.memory = s ? random_mat(B * s, D) : c.x;
    c.upstream = random_mat(B * t, D);
    return c;
}

// Claims that dx, dmemory and dw are the gradients of the case; dx is dmemory if it is
// self-attention.
void claim_gradients(Case *c, Mat dx, Mat dmemory, MultiHead *dw, const char *name) {
    CLAIM_GRADIENT(loss, c, c->x, dx, "%s: dx", name);
    if (dmemory.at != dx.at)
        CLAIM_GRADIENT(loss, c, c->memory, dmemory, "%s: dmemory", name);
    Linear *w[] = {&c->w.query, &c->w.key, &c->w.value, &c->w.output};
    Linear *g[] = {&dw->query, &dw->key, &dw->value, &dw->output};
    const char *part[] = {"query", "key", "value", "output"};
    for (int i = 0; i < 4; i++)
        claim_linear(loss, c, w[i], g[i], name, part[i]);
}

void check_gradient(int t, int keys, Mask mask, double rate, const char *name) {
    Case c = new_case(t, keys, mask, rate);
    Pass pass;
    MultiHeadSaved s;
    forward(&c, &pass, &s);
    CLAIM((s.dropped.at == s.weights.at) == (rate == 0),
          "%s: the weights are saved twice only with dropout", name);
    CLAIM(s.weights.rows == B * H * t
          && s.weights.cols == (keys ? keys : t)
          && s.dropped.rows == s.weights.rows,
          "%s: a row of weights for each query of each head", name);
    MultiHead dw = {filled_linear(D, D, PREFILL), filled_linear(D, D, PREFILL),
                    filled_linear(D, D, PREFILL), filled_linear(D, D, PREFILL)};
    Mat dx = filled_mat(B * t, D, PREFILL);
    Mat dmemory = keys ? filled_mat(B * keys, D, PREFILL) : dx;
    size_t used = room.used;
    MultiHeadSaved d = {.x = dx, .memory = dmemory};
    multi_head_backward(&pass, &d, &s, &c.w, &dw, c.upstream);
    CLAIM(room.used == used, "%s: scratch memory is given back", name);
    claim_gradients(&c, dx, dmemory, &dw, name);
    double most = 0;
    for (int j = 0; j < dw.key.bias.cols; j++)
        most = fmax(most, fabs(dw.key.bias.at[j] - PREFILL));
    if (rate == 0)
        CLAIM(most < 1e-12, "%s: the key bias has no gradient: %.0e", name, most);
}

// The paper's form: each head has projections and an attention of its own, the
// results side by side, then the output projection.
void test_against_paper(void) {
    Case c = new_case(T, S, (Mask){0}, 0);
    Pass pass;
    MultiHeadSaved s;
    Mat out = forward(&c, &pass, &s);
    Mat concat = arena_mat(&room, B * T, D);
    int K = D / H;
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++) {
            Head a = {.out = head(concat, b, T, h, K),
                      .scale = 1 / REAL(sqrt)((real)K)};
            a.weights = a.dropped = arena_mat(&room, T, S);
            Linear *from[] = {&c.w.query, &c.w.key, &c.w.value};
            Mat *to[] = {&a.q, &a.k, &a.v};
            for (int i = 0; i < 3; i++) {
                Linear own = {slice_cols(from[i]->weight, h * K, K),
                              slice_cols(from[i]->bias, h * K, K)};
                Mat in = i == 0 ? slice_rows(c.x, b * T, T)
                                : slice_rows(c.memory, b * S, S);
                *to[i] = linear_forward(&pass, &own, in);
            }
            attention_forward(a, (Mask){0});
        }
    Mat expected = linear_forward(&pass, &c.w.output, concat);
    CLAIM(largest_error(out, expected) < 1e-10,
          "heads as bands of columns are the paper's separate heads");
}

// One new position after the other, each compared with the keys that are in the
// cache, gives what all positions at once give under a causal mask.
void test_steps(void) {
    unsigned char causal[T * T] = {1, 0, 0, 1, 1, 0, 1, 1, 1};
    Case c = new_case(T, 0, (Mask){causal, 0, T}, 0);
    Pass pass;
    MultiHeadSaved s;
    Mat whole = forward(&c, &pass, &s);
    MultiHeadSaved cache = empty_cache(&room, &c.w, B * T);
    double worst = 0;
    for (int t = 0; t < T; t++) {
        Mat x = {row(c.x, t), B, D, T * c.x.row_stride, 1};
        extend_cache(&pass, &cache, &c.w, x, t);
        Mat out = attend(&pass, &cache, &c.w, x, t + 1, (Mask){0});
        Mat expected = {row(whole, t), B, D, T * whole.row_stride, 1};
        worst = fmax(worst, largest_error(out, expected));
    }
    CLAIM(worst < 1e-10,
          "step by step, with a cache, the results are the same: %.1e", worst);
}

void test_noise(void) {
    Case c = new_case(T, S, (Mask){0}, 0.5);
    Pass pass;
    MultiHeadSaved s;
    forward(&c, &pass, &s);
    s.dropout.key = 5;
    CLAIM(head_of(&s, 2).dropout.key == scramble32(7)
          && head_of(&s, 2).dropout.rate == (real)0.5,
          "each head has its own noise");
}

// Dropout acts on the weights of every head, not on the context or the result.
void test_dropout(void) {
    Case c = new_case(T, S, (Mask){0}, 0.5), without = c;
    without.rate = 0;
    Pass pass;
    MultiHeadSaved s;
    forward(&without, &pass, &s);
    Mat context = filled_mat(B * T, D, 0);
    for (int i = 0; i < B * H * T; i++)
        for (int k = 0; k < D / H; k++) {
            int b = i / (H * T), h = i / T % H, t = i % T, col = h * (D / H) + k;
            uint32_t key = scramble32(first_key(5) + (uint32_t)(b * H + h));
            for (int j = 0; j < S; j++)
                *at(context, b * T + t, col) += (real)(
                    half_dropped(*at(s.weights, i, j), key, t, j)
                    * *at(s.v, b * S + j, col));
        }
    Mat expected = linear_forward(&pass, &c.w.output, context);
    Mat out = forward(&c, &pass, &s);
    CLAIM(largest_error(s.context, context) < 1e-10,
          "dropout acts on the weights of each head, not on the context");
    CLAIM(largest_error(out, expected) < 1e-10, "nor on the result");
}

Linear scaled_identity(double size) {
    Linear w = filled_linear(2, 2, 0);
    *at(w.weight, 0, 0) = *at(w.weight, 1, 1) = (real)size;
    return w;
}

// The backward pass that chapter 3 does by hand, with n = 3, and asks for in its
// blanks, with n = 4: two words, two heads of width 1, a query matrix of log n times
// the identity, and one number of dout, (n + 1)², which is not 0.
void test_by_hand(const char *name, int n) {
    real N = (real)n, most = (N + 1) * (N + 1), unit = (real)log(n);
    real x[4] = {0, 1, 1, 0}, dout[4] = {0, 0, most, 0};
    Config config = {.d_model = 2, .heads = 2};
    Pass pass = {.arena = &room, .config = &config, .sentences = 1};
    MultiHead w = {scaled_identity(unit), scaled_identity(1), scaled_identity(1),
                   scaled_identity(1)};
    MultiHead dw = {filled_linear(2, 2, 0), filled_linear(2, 2, 0),
                    filled_linear(2, 2, 0), filled_linear(2, 2, 0)};
    MultiHeadSaved s;
    multi_head_forward(&pass, &s, &w, mat(x, 2, 2), mat(x, 2, 2), (Mask){0});
    real weights[4] = {0.5, 0.5, 1 / (N + 1), N / (N + 1)};
    CLAIM(largest_error(slice_rows(s.weights, 0, 2), mat(weights, 2, 2)) < 1e-6,
          "%s: the weights of head 0 are 1/2 1/2, 1/%d %d/%d", name, n + 1, n, n + 1);
    Mat dx = filled_mat(2, 2, 0);
    MultiHeadSaved d = {.x = dx, .memory = dx};
    multi_head_backward(&pass, &d, &s, &w, &dw, mat(dout, 2, 2));
    real merged[4] = {-N * unit + (N + 1), 0, N * unit + N * unit + N * (N + 1), 0};
    CLAIM(largest_error(dx, mat(merged, 2, 2)) < 1e-6,
          "%s: dx is the sum of what dq, dk and dv send back", name);
    // The gradient of a bias is a column's sum: it separates dq, dk and dv.
    CLAIM(relative_error(dw.query.bias.at[0], N) < 1e-6
          && dw.key.bias.at[0] == 0
          && relative_error(dw.value.bias.at[0], most) < 1e-6,
          "%s: column 0 of dq, dk and dv sums to %d, 0 and %.0f", name, n,
          (double)most);
    real column[4] = {N * unit, 0, -N * unit, 0};
    CLAIM(largest_error(dw.key.weight, mat(column, 2, 2)) < 1e-6,
          "%s: column 0 of dW_k sums over both words", name);
    CLAIM(dw.query.bias.at[1] == 0 && dw.key.bias.at[1] == 0
          && dw.value.bias.at[1] == 0,
          "%s: head 1 has no part in it, and column 1 stays 0", name);
}

void test_next_dropout(void) {
    Pass pass = {.training = true, .noise = 7}, use = {.noise = 7};
    Dropout first = next_dropout(&pass, 0.25), second = next_dropout(&pass, 0.5);
    Dropout none = next_dropout(&use, 0.25);
    CLAIM(first.key == (uint32_t)scramble(7)
          && second.key == (uint32_t)scramble(scramble(7)),
          "each place in the model scrambles the key once more");
    CLAIM(first.rate == (real)0.25 && second.rate == (real)0.5,
          "and drops at the rate of that place");
    CLAIM(none.rate == 0 && none.key == first.key, "but only in training");
}

int main(void) {
    test_next_dropout();
    test_linear();
    test_column_sums();
    test_by_hand("by hand", 3);
    test_by_hand("blanks", 4);
    test_noise();
    test_dropout();
    test_against_paper();
    test_steps();
    unsigned char cross[B * S] = {1, 1, 0, 1, 1, 0, 0, 0};
    unsigned char causal[T * T] = {1, 0, 0, 1, 1, 0, 1, 1, 1};
    Mask padded = {cross, S, 0}, no_future = {causal, 0, T}, none = {0};
    check_gradient(T, S, padded, 0, "cross-attention, padded");
    check_gradient(T, S, padded, 0.3, "cross-attention, dropout");
    check_gradient(1, S, padded, 0, "cross-attention of one query");
    check_gradient(S, T, none, 0, "cross-attention to fewer keys");
    check_gradient(S, T, none, 0.3, "fewer keys, dropout");
    check_gradient(T, 0, no_future, 0, "causal self-attention");
    check_gradient(T, 0, no_future, 0.3, "self-attention, dropout");
    arena_free(&room);
    return claims_end();
}
