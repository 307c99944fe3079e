// tiny.c: the Transformer of "Attention Is All You Need", on ten screens
//
// SPDX-License-Identifier: MIT
//
// Encoder and decoder, every gradient by hand, training and translation. It
// computes what transformer.c computes, in plain loops: after n steps the two
// have the same parameters, bit for bit. That file explains all of it; here it
// can be seen at once. At the right of a heading stand the file's chapters.
//
//     cc -std=c11 -O3 notebook/tiny.c -lm -o tiny
//     ./tiny data/eng-fra.train.tsv        20 epochs, some minutes
//     ./tiny data/eng-fra.train.tsv 100    that many steps

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef WIDTH // a smaller model: cc -DWIDTH=32 -DHEADS=2 -DLAYERS=1 …
#define WIDTH 64
#define HEADS 4
#define LAYERS 2
#endif

enum { D = WIDTH, H = HEADS, K = D / H, F = 4 * D, L = LAYERS };
enum { BATCH = 64, LONGEST = 65, MOST = 4096 }; // sentences, tokens, words
enum { PAD, START, END, UNKNOWN, FIRST };       // the first tokens
enum { FOR_PARAMETERS = 1, FOR_ORDER, FOR_DROPOUT, SEED = 1, WARMUP = 400 };

const char *path; // of the sentence pairs
int line;         // of that file, while it is read

_Noreturn void fail(const char *reason) {
    fprintf(stderr, "tiny: %s:%d: %s\n", path, line, reason);
    exit(1);
}

// ---- Random numbers ------------------------------------------------ chapter 1

uint64_t scramble(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint32_t scramble32(uint32_t x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

uint64_t random_key(int what_for, int which) {
    uint64_t key = scramble(scramble(SEED) + (uint64_t)what_for);
    return scramble(key + (uint64_t)which);
}

double uniform(uint64_t *state) { // from 0 to 1
    *state = scramble(*state);
    return (double)(*state >> 11) / 9007199254740992.0;
}

// ---- Matrices, and their gradients --------------------------------- chapter 1

typedef struct {
    float *at;
    int rows, cols, down, right; // steps to the next row, to the next column
} Mat;

typedef struct {
    Mat data, grad; // x and ∂loss/∂x
} Tensor;

float *at(Mat m, int i, int j) {
    return m.at + i * m.down + j * m.right;
}

Mat transposed(Mat m) {
    return (Mat){m.at, m.cols, m.rows, m.right, m.down};
}

enum { ROOM = 1 << 25 };
float memory[ROOM]; // of one step
int used;

Tensor tensor(int rows, int cols) { // zeros
    int size = rows * cols;
    float *x = memory + used;
    if (2 * size > ROOM - used)
        fail("not enough memory: make ROOM larger, or BATCH smaller");
    used += 2 * size;
    memset(x, 0, sizeof(float) * 2 * (size_t)size);
    return (Tensor){{x, rows, cols, cols, 1}, {x + size, rows, cols, cols, 1}};
}

// c += a b, where 256 terms at a time are summed up by themselves
void product(Mat c, Mat a, Mat b) {
    float sum[MOST];
    for (int first = 0; first < a.cols; first += 256)
        for (int i = 0; i < c.rows; i++) {
            memset(sum, 0, sizeof sum[0] * (size_t)c.cols);
            for (int p = first; p < a.cols && p < first + 256; p++) {
                float a_ip = *at(a, i, p), *b_p = at(b, p, 0);
                for (int j = 0; j < c.cols; j++)
                    sum[j] += a_ip * b_p[j * b.right];
            }
            for (int j = 0; j < c.cols; j++)
                *at(c, i, j) += sum[j];
        }
}

// Σ x[j] y[j], or Σ x[j] if y is NULL, in 16 partial sums and a rest
float dot(const float *x, const float *y, int n) {
    float part[17] = {0};
    for (int j = 0; j < n; j++)
        part[j < n / 16 * 16 ? j % 16 : 16] += y ? x[j] * y[j] : x[j];
    for (int half = 8; half > 0; half /= 2)
        for (int k = 0; k < half; k++)
            part[k] += part[k + half];
    return part[16] + part[0];
}

float exponential(float x) { // 2ⁿ eʳ, where r is small
    float n = x * 1.44269504f + 12582912.0f - 12582912.0f; // rounds
    float r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float series = (1.0f / 720 * r + 1.0f / 120) * r + 1.0f / 24;
    series = (((series * r + 1.0f / 6) * r + 0.5f) * r + 1) * r + 1;
    return x < -87 ? 0 : ldexpf(series, (int)n);
}

// x becomes softmax(x); returns log Σ e^x
float softmax(float *x, int n) {
    float most = x[0];
    for (int j = 1; j < n; j++)
        most = x[j] > most ? x[j] : most;
    for (int j = 0; j < n; j++)
        x[j] = exponential(x[j] - most);
    float sum = dot(x, NULL, n), share = 1 / sum;
    for (int j = 0; j < n; j++)
        x[j] *= share;
    return most + logf(sum);
}

// ---- Parameters: one list of numbers p, gradients g, moments m, v ---- chapter 8

enum { NUMBERS = 3 * MOST * (D + 1) + L * 16 * D * (D + F) }; // there is room
float p[NUMBERS], g[NUMBERS], m[NUMBERS], v[NUMBERS];
int count, tensors;

// A matrix begins with random numbers, a single row with the given one.
Tensor parameter(int rows, int cols, float first) {
    Tensor t = {{p + count, rows, cols, cols, 1},
                {g + count, rows, cols, cols, 1}};
    uint64_t state = random_key(FOR_PARAMETERS, tensors++);
    double limit = sqrt(6.0 / (rows + cols));
    for (int k = 0; k < rows * cols; k++)
        p[count++] = rows == 1 ? first
                   : (float)(limit * (2 * uniform(&state) - 1));
    return t;
}

// ---- Linear: y = x W + b ------------------------------------------- chapter 3

typedef struct {
    Tensor weight, bias, x, y; // (I,O), (1,O), (N,I), (N,O)
} Linear;

// x (N,I) -> y (N,O). A layer is made when it is used for the first time.
Tensor linear(Linear *w, Tensor x, int out) {
    if (!w->weight.data.at) {
        w->weight = parameter(x.data.cols, out, 0);
        w->bias = parameter(1, out, 0);
    }
    w->x = x;
    w->y = tensor(x.data.rows, out);
    for (int i = 0; i < x.data.rows; i++)
        memcpy(at(w->y.data, i, 0), w->bias.data.at, sizeof(float[out]));
    product(w->y.data, x.data, w->weight.data);
    return w->y;
}

void linear_backward(Linear *w) {
    product(w->x.grad, w->y.grad, transposed(w->weight.data));
    product(w->weight.grad, transposed(w->x.data), w->y.grad);
    for (int i = 0; i < w->y.grad.rows; i++)
        for (int j = 0; j < w->y.grad.cols; j++)
            w->bias.grad.at[j] += *at(w->y.grad, i, j);
}

// ---- Dropout ------------------------------------------------------- chapter 6

float rate;     // 0.1 in training, else 0
uint64_t noise; // of the last place in the model where numbers were dropped

uint32_t next_key(void) {
    noise = scramble(noise);
    return (uint32_t)noise;
}

// Row i of a matrix: forward and backward, a key drops the same numbers.
void dropout(float *x, int n, int i, uint32_t key) {
    uint32_t threshold = (uint32_t)(rate * 4294967296.0);
    uint32_t row_key = scramble32(key + (uint32_t)i);
    for (int j = 0; j < n; j++)
        x[j] *= scramble32(row_key ^ (uint32_t)j) < threshold ? 0
                                                              : 1 / (1 - rate);
}

// ---- Residual connection and norm: out = norm(x + dropout(y)) -------- chapter 6

typedef struct {
    Tensor gain, bias, x, y, out; // (1,D), (1,D), (N,D), (N,D), (N,D)
    float rstd[BATCH * LONGEST];  // 1/σ of each row
    uint32_t key;
} Norm;

// y becomes x + dropout(y), normalized, without gain and bias
Tensor norm(Norm *w, Tensor x, Tensor y) {
    if (!w->gain.data.at) {
        w->gain = parameter(1, D, 1);
        w->bias = parameter(1, D, 0);
    }
    w->x = x;
    w->y = y;
    w->out = tensor(x.data.rows, D);
    w->key = next_key();
    for (int i = 0; i < x.data.rows; i++) {
        float *n = at(y.data, i, 0), *out = at(w->out.data, i, 0);
        dropout(n, D, i, w->key);
        for (int j = 0; j < D; j++)
            n[j] += *at(x.data, i, j);
        float mean = dot(n, NULL, D) / D;
        for (int j = 0; j < D; j++)
            n[j] -= mean;
        w->rstd[i] = 1 / sqrtf(dot(n, n, D) / D + 1e-5f);
        for (int j = 0; j < D; j++) {
            n[j] *= w->rstd[i];
            out[j] = n[j] * w->gain.data.at[j] + w->bias.data.at[j];
        }
    }
    return w->out;
}

// out.grad becomes the gradient of the sum, and with dropout that of y.
void norm_backward(Norm *w) {
    const float *gain = w->gain.data.at;
    for (int i = 0; i < w->out.grad.rows; i++) {
        float *d = at(w->out.grad, i, 0), *dy = at(w->y.grad, i, 0), dn[D];
        const float *n = at(w->y.data, i, 0);
        for (int j = 0; j < D; j++) {
            dn[j] = d[j] * n[j];
            w->gain.grad.at[j] += dn[j];
            w->bias.grad.at[j] += d[j];
        }
        float dn_mean = dot(d, gain, D) / D, dnn_mean = dot(dn, gain, D) / D;
        for (int j = 0; j < D; j++) {
            d[j] = w->rstd[i] * (d[j] * gain[j] - dn_mean - n[j] * dnn_mean);
            dy[j] = d[j];
        }
        dropout(dy, D, i, w->key);
    }
}

// Around the sub-layer, the gradient of the sum is that of x, too.
void bypass(Norm *w) {
    for (int i = 0; i < w->x.grad.rows * D; i++)
        w->x.grad.at[i] += w->out.grad.at[i];
}

// ---- Attention, all heads: softmax(q kᵀ / √K) v ------------- chapters 2, 3, 9

typedef struct {
    Linear query, key, value, output;
    Tensor weights, dropped, context; // (B·H·T,S), (B·H·T,S), (B·T,D)
    uint32_t noise;
    Norm norm;
} Attention;

int B; // sentences

// x (B·T,D) asks, y (B·S,D) answers; ids are the tokens of y, which hide
// padding. A causal query does not see what comes after it.
Tensor attention(Attention *a, Tensor x, Tensor y, const int *ids, int causal) {
    int T = x.data.rows / B, S = y.data.rows / B;
    linear(&a->query, x, D);
    linear(&a->key, y, D);
    linear(&a->value, y, D);
    a->weights = tensor(B * H * T, S);
    a->dropped = tensor(B * H * T, S);
    a->context = tensor(B * T, D);
    a->noise = next_key();
    for (int i = 0; i < B * H * T; i++) { // sentence b, head h, query t
        int b = i / T / H, h = i / T % H, t = i % T;
        float *q = at(a->query.y.data, b * T + t, h * K);
        float *c = at(a->context.data, b * T + t, h * K);
        float *w = at(a->weights.data, i, 0), *u = at(a->dropped.data, i, 0);
        for (int j = 0; j < S; j++) {
            for (int e = 0; e < K; e++)
                w[j] += q[e] * *at(a->key.y.data, b * S + j, h * K + e);
            w[j] *= 1 / sqrtf(K);
            if (ids[b * S + j] == PAD || (causal && j > t))
                w[j] = -INFINITY;
        }
        softmax(w, S);
        memcpy(u, w, sizeof(float[S]));
        dropout(u, S, t, scramble32(a->noise + (uint32_t)(i / T)));
        for (int j = 0; j < S; j++)
            for (int e = 0; e < K; e++)
                c[e] += u[j] * *at(a->value.y.data, b * S + j, h * K + e);
    }
    return norm(&a->norm, x, linear(&a->output, a->context, D));
}

void attention_backward(Attention *a) {
    int T = a->context.data.rows / B, S = a->weights.data.cols;
    norm_backward(&a->norm);
    linear_backward(&a->output);
    for (int i = 0; i < B * H * T; i++) {
        int b = i / T / H, h = i / T % H, t = i % T;
        float *q = at(a->query.y.data, b * T + t, h * K);
        float *dq = at(a->query.y.grad, b * T + t, h * K);
        float *dc = at(a->context.grad, b * T + t, h * K);
        float *w = at(a->weights.data, i, 0), *u = at(a->dropped.data, i, 0);
        float *dw = at(a->weights.grad, i, 0);
        for (int j = 0; j < S; j++)
            for (int e = 0; e < K; e++) { // c = u v
                dw[j] += dc[e] * *at(a->value.y.data, b * S + j, h * K + e);
                *at(a->value.y.grad, b * S + j, h * K + e) += u[j] * dc[e];
            }
        dropout(dw, S, t, scramble32(a->noise + (uint32_t)(i / T)));
        float common = dot(dw, w, S);
        for (int j = 0; j < S; j++) { // softmax, and its scores
            dw[j] = w[j] * (dw[j] - common) * (1 / sqrtf(K));
            for (int e = 0; e < K; e++) {
                dq[e] += dw[j] * *at(a->key.y.data, b * S + j, h * K + e);
                *at(a->key.y.grad, b * S + j, h * K + e) += dw[j] * q[e];
            }
        }
    }
    linear_backward(&a->query);
    linear_backward(&a->key);
    linear_backward(&a->value);
    bypass(&a->norm);
}

// ---- The feed-forward network: relu(x W + b) W + b -------------------- chapter 5

typedef struct {
    Linear inner, outer; // (D,F), (F,D)
    uint32_t key;
    Norm norm;
} Network;

Tensor network(Network *f, Tensor x) {
    Tensor a = linear(&f->inner, x, F);
    f->key = next_key();
    for (int i = 0; i < a.data.rows; i++) {
        float *z = at(a.data, i, 0);
        for (int j = 0; j < F; j++)
            z[j] = z[j] > 0 ? z[j] : 0;
        dropout(z, F, i, f->key);
    }
    return norm(&f->norm, x, linear(&f->outer, a, D));
}

void network_backward(Network *f) {
    Tensor a = f->inner.y;
    norm_backward(&f->norm);
    linear_backward(&f->outer);
    for (int i = 0; i < a.grad.rows; i++) {
        dropout(at(a.grad, i, 0), F, i, f->key);
        for (int j = 0; j < F; j++)
            if (*at(a.data, i, j) == 0)
                *at(a.grad, i, j) = 0;
    }
    linear_backward(&f->inner);
    bypass(&f->norm);
}

// ---- Embedding: the row of a token, and its position ------------------ chapter 4

typedef struct {
    Tensor table, x; // (V,D), (N,D)
    const int *ids;
    uint32_t key;
} Embedding;

Tensor embed(Embedding *e, const int *ids, int length) {
    e->x = tensor(B * length, D);
    e->ids = ids;
    e->key = next_key();
    for (int i = 0; i < B * length; i++) {
        for (int j = 0; j < D; j++) {
            double angle = i % length * pow(10000, -(double)(j - j % 2) / D);
            *at(e->x.data, i, j) = sqrtf(D) * *at(e->table.data, ids[i], j)
                                 + (float)(j % 2 ? cos(angle) : sin(angle));
        }
        dropout(at(e->x.data, i, 0), D, i, e->key);
    }
    return e->x;
}

void embed_backward(Embedding *e) {
    for (int i = 0; i < e->x.grad.rows; i++) {
        dropout(at(e->x.grad, i, 0), D, i, e->key);
        for (int j = 0; j < D; j++)
            *at(e->table.grad, e->ids[i], j) += sqrtf(D) * *at(e->x.grad, i, j);
    }
}

// ---- The model -------------------------------------------------- chapters 7, 8

int S, T; // lengths of source and target
int source[BATCH * LONGEST], input[BATCH * LONGEST], expected[BATCH * LONGEST];
Embedding source_embedding, target_embedding;
Attention encoder_attention[L], decoder_attention[L], cross_attention[L];
Network encoder_network[L], decoder_network[L];
Linear output;

Tensor forward(void) {
    Tensor x = embed(&source_embedding, source, S);
    for (int l = 0; l < L; l++) {
        x = attention(&encoder_attention[l], x, x, source, 0);
        x = network(&encoder_network[l], x);
    }
    Tensor y = embed(&target_embedding, input, T);
    for (int l = 0; l < L; l++) {
        y = attention(&decoder_attention[l], y, y, input, 1);
        y = attention(&cross_attention[l], y, x, source, 0);
        y = network(&decoder_network[l], y);
    }
    return linear(&output, y, target_embedding.table.data.rows); // logits
}

void backward(void) {
    linear_backward(&output);
    for (int l = L - 1; l >= 0; l--) {
        network_backward(&decoder_network[l]);
        attention_backward(&cross_attention[l]);
        attention_backward(&decoder_attention[l]);
    }
    embed_backward(&target_embedding);
    for (int l = L - 1; l >= 0; l--) {
        network_backward(&encoder_network[l]);
        attention_backward(&encoder_attention[l]);
    }
    embed_backward(&source_embedding);
}

// ---- A step of training ------------------------------------------- chapter 11

// logits (B·T,V) -> mean loss; its gradient, softmax - 1[j=y], in logits.grad
double loss(Tensor logits) {
    int V = logits.data.cols, tokens = 0;
    double total = 0;
    for (int i = 0; i < B * T; i++)
        tokens += expected[i] != PAD;
    for (int i = 0; i < B * T; i++) {
        float *z = at(logits.data, i, 0), *d = at(logits.grad, i, 0);
        if (expected[i] == PAD)
            continue;
        memcpy(d, z, sizeof(float[V]));
        float lse = softmax(d, V), share = 1 / (float)tokens;
        for (int j = 0; j < V; j++)
            d[j] = exponential(z[j] - lse) * share;
        d[expected[i]] -= share;
        total += lse - z[expected[i]];
    }
    return total / tokens;
}

void update(int t) {
    int size = count / 64 + 1;
    double norm = 0, lr = 1 / sqrt((double)D * WARMUP);
    for (int i = 0; i < count; i += size)
        norm += dot(g + i, g + i, i + size < count ? size : count - i);
    norm = sqrt(norm);
    lr = t < WARMUP ? lr * t / WARMUP : lr * sqrt(WARMUP / (double)t);
    float step = (float)(lr / (1 - pow(0.9, t)));
    float root = (float)(1 / sqrt(1 - pow(0.98, t)));
    float clip = norm > 1 ? (float)(1 / norm) : 1;
    for (int i = 0; i < count; i++) {
        float d = g[i] * clip;
        m[i] = 0.9f * m[i] + 0.1f * d;
        v[i] = 0.98f * v[i] + 0.02f * d * d;
        p[i] -= step * m[i] / (sqrtf(v[i]) * root + 1e-9f);
    }
}

// ---- Words, sentence pairs, batches -------------------------------- chapter 10

typedef struct {
    char word[MOST][32]; // in the order of their bytes, from FIRST on
    int words;
} Language;

typedef struct {
    int source[LONGEST], target[LONGEST], S, T; // with END; then PAD
} Pair;

enum { PAIRS = 100000, POOL = 8 * BATCH };
Language english = {{"<pad>", "<start>", "<end>", "<unknown>"}, FIRST};
Language french = {{"<pad>", "<start>", "<end>", "<unknown>"}, FIRST};
Pair pairs[PAIRS];
int pair_count, order[PAIRS], batch[PAIRS];

// The number of a word. A new one is added, and moves those behind it.
int number_of(const char *word, Language *l) {
    int i = FIRST;
    while (i < l->words && strcmp(l->word[i], word) < 0)
        i++;
    if (i < l->words && strcmp(l->word[i], word) == 0)
        return i;
    if (l->words == MOST)
        fail("too many words: make MOST larger");
    memmove(l->word[i + 1], l->word[i], sizeof *l->word * (size_t)(l->words++ - i));
    strcpy(l->word[i], word);
    return i;
}

// text -> its tokens and END; returns how many
int tokenize(const char *text, int *id, Language *l) {
    int n = 0;
    for (int size; *(text += strspn(text, " \r\n")); text += size) {
        char word[32];
        size = (int)strcspn(text, " \r\n.,!?;:\"()");
        size += size == 0; // a mark is a word
        if (size > 31 || n == LONGEST - 1)
            fail("a word of more than 31 bytes, or more than 64 words");
        snprintf(word, sizeof word, "%.*s", size, text);
        id[n++] = number_of(word, l);
    }
    if (n == 0)
        fail("the source or the target is empty");
    id[n] = END;
    return n + 1;
}

// Twice, since a word has its number only when all words are known.
void read_pairs(void) {
    char text[1 << 12];
    for (int pass = 0; pass < 2; pass++) {
        FILE *file = fopen(path, "rb");
        for (line = 1; file && fgets(text, sizeof text, file); line++) {
            char *target = strchr(text, '\t');
            if (!target || line == PAIRS)
                fail("expected source, tab, target, in less than 100000 lines");
            *target++ = '\0';
            target[strcspn(target, "\t")] = '\0';
            Pair *pair = &pairs[line - 1];
            pair->S = tokenize(text, pair->source, &english);
            pair->T = tokenize(target, pair->target, &french);
        }
        if (line == 1)
            fail("cannot open the file, or it is empty");
        fclose(file);
    }
    pair_count = line - 1;
}

void swap(int *a, int *b) {
    int kept = *a;
    *a = *b;
    *b = kept;
}

void shuffle(int *item, int n, uint64_t key) {
    for (int i = 0; i < n; i++)
        item[i] = i;
    for (int i = n - 1; i > 0; i--)
        swap(&item[i], &item[(int)(uniform(&key) * (i + 1))]);
}

int longer(const Pair *a, const Pair *b) {
    return a->T > b->T || (a->T == b->T && a->S > b->S);
}

// Batches of similar length: each pool of eight is sorted.
void begin_epoch(int epoch) {
    uint64_t key = random_key(FOR_ORDER, epoch);
    shuffle(order, pair_count, key);
    for (int i = 0; i < pair_count; i++)
        for (int k = i; k % POOL; k--)
            if (longer(&pairs[order[k - 1]], &pairs[order[k]]))
                swap(&order[k - 1], &order[k]);
    shuffle(batch, pair_count / BATCH, scramble(key));
    batch[pair_count / BATCH] = pair_count / BATCH; // the rest comes last
}

void make_batch(const int *index, int n) {
    B = n;
    S = T = 0;
    for (int b = 0; b < B; b++) {
        const Pair *pair = &pairs[index[b]];
        S = pair->S > S ? pair->S : S;
        T = pair->T > T ? pair->T : T;
    }
    for (int i = 0; i < B * S; i++)
        source[i] = pairs[index[i / S]].source[i % S];
    for (int i = 0; i < B * T; i++) {
        expected[i] = pairs[index[i / T]].target[i % T];
        input[i] = i % T ? expected[i - 1] : START;
        input[i] = input[i] == END ? PAD : input[i];
    }
}

// ---- Translation, training ----------------------------------- chapters 12, 11

void translate(int i) {
    rate = 0;
    make_batch(&i, 1);
    for (int j = 0; source[j] != END; j++)
        printf("%s ", english.word[source[j]]);
    printf("→");
    for (T = 1; T < LONGEST; T++) {
        used = 0;
        const float *z = at(forward().data, T - 1, 0);
        int best = END;
        for (int j = END; j < french.words; j++)
            best = z[j] > z[best] ? j : best;
        if (best == END)
            break;
        printf(" %s", french.word[best]);
        input[T] = best;
    }
    printf("\n");
}

void train(int t) {
    int batches = (pair_count + BATCH - 1) / BATCH, k = (t - 1) % batches;
    if (k == 0)
        begin_epoch((t - 1) / batches);
    int first = batch[k] * BATCH, rest = pair_count - first;
    make_batch(order + first, rest < BATCH ? rest : BATCH);
    rate = 0.1f;
    noise = random_key(FOR_DROPOUT, t);
    used = 0;
    memset(g, 0, sizeof g);
    double mean = loss(forward());
    backward();
    update(t);
    if (t % 100 == 0 || t == 1)
        printf("step %d: loss %.4f\n", t, mean);
}

int main(int argc, char **argv) {
    int steps = argc == 3 ? atoi(argv[2]) : 1880;
    path = argc > 1 ? argv[1] : "DATA.tsv";
    read_pairs();
    source_embedding.table = parameter(english.words, D, 0);
    target_embedding.table = parameter(french.words, D, 0);
    for (int t = 1; t <= steps; t++) {
        train(t);
        for (int i = 0; i < 3 && (t % 500 == 0 || t == steps); i++)
            translate(i);
    }
    uint64_t checksum = 0xcbf29ce484222325;
    for (int i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &p[i], sizeof bits);
        for (int k = 0; k < 32; k += 8)
            checksum = (checksum ^ (bits >> k & 255)) * 0x100000001b3;
    }
    printf("%d parameters, checksum %016llx\n", count,
           (unsigned long long)checksum);
}
