// Tests of notebook/programs/rnn.c: the recurrent networks of labs 8 and 13.

#include "../../tests/lib/test.h"
#include "../programs/rnn.c"

enum { B = 2, S = 4, T = 3, I = 5, H = 6, A = 7, V = 9, E = 5 };

// -------------------------------------------------------------------- LSTM

Lstm random_lstm(int in, int hidden) {
    return (Lstm){random_linear(in, 4 * hidden), random_mat(hidden, 4 * hidden)};
}

Lstm prefilled_lstm(int in, int hidden) {
    return (Lstm){filled_linear(in, 4 * hidden, PREFILL),
                  filled_mat(hidden, 4 * hidden, PREFILL)};
}

void claim_lstm(Scalar *f, void *context, Lstm *w, Lstm *dw, const char *name) {
    claim_linear(f, context, &w->input, &dw->input, name, "input");
    CLAIM_GRADIENT(f, context, w->recurrent, dw->recurrent, "%s: recurrent", name);
}

// One step, by the formulas and libm.
void test_one_step(void) {
    Lstm w = random_lstm(1, 1);
    Mat x = random_mat(1, 1), h = random_mat(1, 1), c = random_mat(1, 1);
    LstmSaved s;
    lstm_start(&room, &s, &w, 1, 1, h, c);
    lstm_inputs(&room, s.gates, &w, x);
    lstm_step(&s, &w, 0);
    double z[4];
    for (int k = 0; k < 4; k++)
        z[k] = (double)(*x.at * w.input.weight.at[k] + w.input.bias.at[k]
                        + *h.at * w.recurrent.at[k]);
    double i = 1 / (1 + exp(-z[0])), f = 1 / (1 + exp(-z[1]));
    double o = 1 / (1 + exp(-z[2])), g = tanh(z[3]);
    double cell = f * (double)*c.at + i * g;
    CLAIM(fabs((double)s.cell.at[1] - cell) < 1e-6
              && fabs((double)s.hidden.at[1] - o * tanh(cell)) < 1e-6,
          "c = f c' + i g, h = o tanh c");
}

// Nothing of one sentence gets into another.
void test_sentences_apart(void) {
    Lstm w = random_lstm(I, H);
    Mat x = random_mat(S * B, I);
    LstmSaved s, changed;
    Mat out = lstm_forward(&room, &s, &w, x, B);
    for (int t = 0; t < S; t++)
        randomize(slice_rows(x, t * B + 1, 1), 1);
    Mat after = lstm_forward(&room, &changed, &w, x, B);
    bool same = true;
    for (int t = 0; t < S; t++)
        same = same && same_bits(slice_rows(out, t * B, 1),
                                 slice_rows(after, t * B, 1));
    CLAIM(same, "another sentence of the batch changes no bit");
}

// ------------------------------------------------------------------ BiLSTM

typedef struct {
    BiLstm w;
    Mat x, upstream; // (S·B,I), (S·B,2H)
} BiCase;

loss_number bilstm_loss(void *context) {
    BiCase *c = context;
    BiLstmSaved s;
    return project(bilstm_forward(&room, &s, &c->w, c->x, B), c->upstream);
}

void check_bilstm(void) {
    BiCase c = {{random_lstm(I, H), random_lstm(I, H)}, random_mat(S * B, I),
                random_mat(S * B, 2 * H)};
    BiLstmSaved s;
    Mat out = bilstm_forward(&room, &s, &c.w, c.x, B);
    BiLstm dw = {prefilled_lstm(I, H), prefilled_lstm(I, H)};
    Mat dx = filled_mat(S * B, I, PREFILL);
    bilstm_backward(&room, &dw, dx, c.upstream, &s, &c.w);
    CLAIM_GRADIENT(bilstm_loss, &c, c.x, dx, "bilstm: dx");
    claim_lstm(bilstm_loss, &c, &c.w.forth, &dw.forth, "bilstm forth");
    claim_lstm(bilstm_loss, &c, &c.w.back, &dw.back, "bilstm back");
    Mat kept = copied(out);
    randomize(block(c.x, S - 1, B), 1); // the last word
    out = bilstm_forward(&room, &s, &c.w, c.x, B);
    Mat before = slice_rows(out, 0, (S - 1) * B);
    CLAIM(same_bits(slice_cols(before, 0, H),
                    slice_cols(slice_rows(kept, 0, (S - 1) * B), 0, H))
              && !same_bits(slice_cols(block(out, 0, B), H, H),
                            slice_cols(block(kept, 0, B), H, H)),
          "the last word reaches the first only by the LSTM that reads back");
}

// --------------------------------------------------------- the whole model
//
// Its gradients include those of the LSTM with a first state, of additive
// attention and of everything between them.

int source_ids[B * S] = {5, 7, 4, 8, 6, 4, 8, 5};
int expected_ids[B * T] = {8, 5, 7, 6, 6, 4};

typedef struct {
    Rnn *model;
    bool own[T];
} RnnCase;

Batch rnn_batch(void) {
    return (Batch){B, S, T, source_ids, NULL, expected_ids};
}

loss_number rnn_loss(void *context) {
    RnnCase *c = context;
    Batch batch = rnn_batch();
    RnnSaved s;
    Mat logits = rnn_forward(&room, &s, c->model, &batch, c->own);
    Mat lse = arena_mat(&room, logits.rows, 1);
    Loss loss = loss_forward(lse, logits, s.expected, 0, &room);
    loss_number sum = summed_loss(lse, logits, s.expected, 0);
    return sum / loss.tokens;
}

Rnn *random_rnn(int attention) {
    RnnConfig config = {V, E, H, attention};
    Rnn *r = rnn_zeros(&config);
    for (size_t k = 0; k < r->list.count; k++)
        r->list.values[k] = (real)(0.7 * normal(&test_state));
    return r;
}

void check_rnn(int attention, bool own, const char *name) {
    RnnCase c = {random_rnn(attention), {own, own, own}};
    Rnn *g = rnn_zeros(&c.model->config);
    for (size_t k = 0; k < g->list.count; k++)
        g->list.values[k] = (real)PREFILL;
    Batch batch = rnn_batch();
    RnnSaved s;
    Mat logits = rnn_forward(&room, &s, c.model, &batch, c.own);
    loss_of_logits(logits, s.expected, 0);
    rnn_backward(&room, g, logits, &s, c.model);
    for (int i = 0; i < g->list.tensors; i++)
        CLAIM_GRADIENT(rnn_loss, &c, *c.model->list.tensor[i].mat,
                       *g->list.tensor[i].mat, "%s: %s", name,
                       g->list.tensor[i].name.text);
    rnn_free(c.model);
    rnn_free(g);
}

// What the model is fed at each step, and that it never sees the true words
// when it is fed its own.
void test_inputs(void) {
    Rnn *r = random_rnn(A);
    Batch batch = rnn_batch();
    RnnSaved s;
    bool forced[T] = {false}, mixed[T] = {false, true, false};
    bool all[T] = {true, true, true};
    rnn_forward(&room, &s, r, &batch, forced);
    CLAIM(s.input[0] == START && s.input[1] == START && s.input[2] == 8
              && s.input[3] == 6 && s.input[4] == 5 && s.input[5] == 6,
          "teacher forcing feeds START and the true words before");
    Mat logits = rnn_forward(&room, &s, r, &batch, mixed);
    CLAIM(s.input[2] == arg_max(row(logits, 0), 0, V)
              && s.input[3] == arg_max(row(logits, 1), 0, V) && s.input[4] == 5,
          "where the model's own word is asked for, it gets the likeliest one");
    logits = copied(rnn_forward(&room, &s, r, &batch, all));
    int out[B * T], same = 0;
    rnn_translate(&room, &s, r, &batch, out);
    for (int b = 0; b < B; b++)
        for (int t = 0; t < T; t++)
            same += out[b * T + t] == arg_max(row(logits, t * B + b), 0, V);
    CLAIM(same == B * T, "decoding feeds the model its own word at every step");
    int kept = expected_ids[0];
    expected_ids[0] = 4;
    CLAIM(same_bits(logits, rnn_forward(&room, &s, r, &batch, all)),
          "decoding does not look at what is expected");
    expected_ids[0] = kept;
    rnn_free(r);
}

// While the gradient is constant, each step is as long as the rate.
void test_slow_adam(void) {
    real p[2] = {0}, m[2] = {0}, v[2] = {0}, g[2] = {3, -300};
    for (int t = 1; t <= 10; t++)
        adam_step(slow_adam(p, m, v, g, 2), 0.5, 0.01, t);
    CLAIM(fabs((double)p[0] + 0.1) < 1e-6 && fabs((double)p[1] - 0.1) < 1e-6,
          "a constant gradient, of any size, moves a parameter by the rate");
    CLAIM(fabs((double)v[0] / (2.25 * (1 - pow(0.999, 10))) - 1) < 1e-5,
          "Adam's mean of squares forgets one in a thousand");
}

int main(void) {
    test_one_step();
    test_sentences_apart();
    check_bilstm();
    check_rnn(0, false, "without attention");
    check_rnn(A, false, "with attention");
    check_rnn(0, true, "without attention, own words");
    check_rnn(A, true, "with attention, own words");
    test_inputs();
    test_slow_adam();
    arena_free(&room);
    return claims_end();
}
