// tiny.c: the Transformer of "Attention Is All You Need" on ten screens, every
// gradient by hand. After n steps its parameters are those of transformer.c,
// bit for bit. docs/tiny.html explains it in one sitting, step by step.
//
//     cc -O3 -ffp-contract=off notebook/programs/tiny.c -lm -o tiny
//     ./tiny data/eng-fra.train.tsv [STEPS]      20 epochs take some minutes
//
// It omits what is not the model: saving it, held-out pairs, beams, threads. To
// be short, ReLU and norm overwrite their input; dropout keeps no mask, but
// draws it again from its key; loss also computes its gradient; and translate
// recomputes the whole sentence for each word that it writes.

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef WIDTH // smaller, all three: cc -DWIDTH=32 -DHEADS=2 -DLAYERS=1 …
#define WIDTH 64
#define HEADS 4
#define LAYERS 2
#endif
enum { D = WIDTH, H = HEADS, K = D / H, F = 4 * D, L = LAYERS };
_Static_assert(D % H == 0, "HEADS must divide WIDTH");
enum { BATCH = 64, LONGEST = 65, MOST = 4096 }; // sentences, tokens, words
#define each(i, n) for (int i = 0; i < (n); i++) // i = 0 … n-1
const char *path; int lines; // the file of pairs; how many have been read

_Noreturn void fail(const char *reason) { // ends the program, and says why
    fprintf(stderr, "tiny: %s:%d: %s\n", path, lines, reason);
    exit(1);
}

// ---- Random numbers ---------------------------------------------- chapter 1
enum { FOR_PARAMETERS = 1, FOR_ORDER, FOR_DROPOUT, FOR_BATCHES, SEED = 1 };
uint64_t scramble(uint64_t x) { // a number that looks unrelated to x
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
uint32_t scramble32(uint32_t x) { // the same with 32 bits
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}
uint64_t random_key(uint64_t what_for, int which) { // begins a sequence
    return scramble(scramble(scramble(SEED) + what_for) + (uint64_t)which);
}
double uniform(uint64_t *state) { // its next number, from 0 to 1
    *state = scramble(*state);
    return (double)(*state >> 11) / 9007199254740992.0;
}

// ---- Numbers, and their gradients ----------------------------- chapters 1, 8
// All numbers are in one array. The gradient of the one at x is at x + GRAD.
//     numbers           + GRAD                           + 2 GRAD
//     │ parameters │ x … room │ gradients of all these … │ Adam's m │ v │
enum { GRAD = 1 << 24, PARAMETERS = 3 * MOST * (D + 1) + L * 16 * D * (D + F) };
float *numbers;
int count, tensors, used; // parameters (< PARAMETERS), tensors of them; in use

float *zeros(int n) { // room for n numbers and for their gradients
    float *x = numbers + used;
    used += n;
    if (used > GRAD) fail("out of memory: make GRAD larger, or BATCH smaller");
    each (i, n) x[i] = x[GRAD + i] = 0;
    return x;
}

// Makes a parameter on its first use: a matrix random, a bias 0, a gain 1.
void parameter(float **x, int rows, int cols, float first) {
    if (*x) return;
    *x = numbers + count;
    uint64_t state = random_key(FOR_PARAMETERS, tensors++);
    double most = sqrt(6.0 / (rows + cols));
    each (i, rows * cols)
        numbers[count++] = rows == 1 ? first : most * (2 * uniform(&state) - 1);
}

float *transposed(const float *x, int rows, int cols) { // rows become columns
    float *y = zeros(rows * cols);
    each (i, rows) each (j, cols) y[j * rows + i] = x[i * cols + j];
    return y;
}

// The product of matrices, c (n,m) += a (n,k) b (k,m), 256 terms at a time
void product(float *c, const float *a, const float *b, int n, int k, int m) {
    static float sum[MOST]; // left at 0 by each call
    each (i, n) each (p, k) {
        each (j, m) sum[j] += a[i * k + p] * b[p * m + j];
        if (p % 256 < 255 && p < k - 1) continue;
        each (j, m) c[i * m + j] += sum[j], sum[j] = 0;
    }
}

// Σ x[j] y[j], or Σ x[j] if y is NULL, in 16 partial sums and a rest
float dot(const float *x, const float *y, int n) {
    float part[17] = {0}; // [16] is the rest
    each (j, n) part[j < n / 16 * 16 ? j % 16 : 16] += y ? x[j] * y[j] : x[j];
    for (int half = 8; half > 0; half /= 2)
        each (k, half) part[k] += part[k + half];
    return part[16] + part[0];
}

float exponential(float x) { // 2ⁿ eʳ, where r is small
    float n = rintf(x * 1.44269504f); // the exponent
    float r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float series = (1.0f / 720 * r + 1.0f / 120) * r + 1.0f / 24;
    series = (((series * r + 1.0f / 6) * r + 0.5f) * r + 1) * r + 1;
    return (double)x < -87 ? 0 : ldexpf(series, (int)n);
}

// Scores become shares, e^x / Σ e^x, which sum to 1; returns log Σ e^x.
float softmax(float *x, int n) {
    float most = -INFINITY;
    each (j, n) most = fmaxf(most, x[j]);
    each (j, n) x[j] = exponential(x[j] - most);
    float sum = dot(x, NULL, n), share = 1 / sum;
    each (j, n) x[j] *= share;
    return most + (float)log(sum);
}

// ---- A linear layer: y = x W + b --------------------------------- chapter 3
// Mixes the I numbers of each row: x (N,I), weight (I,O), bias (1,O) -> y (N,O)
typedef struct { float *weight, *bias, *x, *y; int N, I, O; } Linear;
float *linear(Linear *w, float *x, int N, int I, int O) {
    parameter(&w->weight, I, O, 0);
    parameter(&w->bias, 1, O, 0);
    *w = (Linear){w->weight, w->bias, x, zeros(N * O), N, I, O};
    each (i, N * O) w->y[i] = w->bias[i % O];
    product(w->y, x, w->weight, N, I, O);
    return w->y;
}

void linear_backward(Linear *w) { // dy -> dx, dW, db
    int N = w->N, I = w->I, O = w->O;
    product(w->x + GRAD, w->y + GRAD, transposed(w->weight, I, O), N, O, I);
    product(w->weight + GRAD, transposed(w->x, N, I), w->y + GRAD, I, N, O);
    each (i, N * O) w->bias[GRAD + i % O] += w->y[GRAD + i];
}

// ---- Dropout, residual connection and norm ----------------------- chapter 6
float rate;     // 0.1 in training, else 0
uint64_t noise; // changes with each place in the model that drops numbers
uint32_t next_key(void) { return (uint32_t)(noise = scramble(noise)); }

// Sets a tenth of row i to 0, so that none is relied on. The key says which.
void dropout(float *x, int n, int i, uint32_t key) {
    uint32_t threshold = (uint32_t)(rate * 4294967296.0);
    key = scramble32(key + (uint32_t)i);
    each (j, n)
        x[j] *= scramble32(key ^ (uint32_t)j) < threshold ? 0 : 1 / (1 - rate);
}

// Adds what a sub-layer found, y, to its input, x, and normalizes:
// out = norm(x + dropout(y)), all (N,D). y becomes n, the sum with mean 0.
typedef struct { float *gain, *bias, *x, *n, *out, *rstd;
                 uint32_t key; int N; } Norm;
float *norm(Norm *w, float *x, float *y, int N) {
    parameter(&w->gain, 1, D, 1);
    parameter(&w->bias, 1, D, 0);
    *w = (Norm){w->gain, w->bias, x, y, zeros(N * D), zeros(N), next_key(), N};
    each (i, N) {
        float *n = w->n + i * D, *out = w->out + i * D;
        dropout(n, D, i, w->key);
        each (j, D) n[j] += x[i * D + j];
        float mean = dot(n, NULL, D) / D;
        each (j, D) n[j] -= mean;
        w->rstd[i] = 1 / sqrtf(dot(n, n, D) / D + 1e-5f);
        each (j, D) n[j] *= w->rstd[i];
        each (j, D) out[j] = n[j] * w->gain[j] + w->bias[j];
    }
    return w->out;
}

// d, the gradient of out, becomes that of x + y; dy is y's. x: see "bypass".
void norm_backward(Norm *w) {
    each (i, w->N) {
        float *n = w->n + i * D, *d = w->out + i * D + GRAD, *gain = w->gain;
        float *dy = n + GRAD, d_times_n[D];
        each (j, D) d_times_n[j] = d[j] * n[j];
        each (j, D) gain[GRAD + j] += d_times_n[j];
        each (j, D) w->bias[GRAD + j] += d[j];
        float dn_mean = dot(d, gain, D) / D;    // dn, of n, is d · gain
        float dnn_mean = dot(d_times_n, gain, D) / D; // dn · n is d · n · gain
        each (j, D) d[j] = d[j] * gain[j] - dn_mean - n[j] * dnn_mean;
        each (j, D) dy[j] = d[j] *= w->rstd[i];
        dropout(dy, D, i, w->key);
    }
}

// ---- Embedding: the row of a token, and its position ------ chapters 4, 9, 10
enum { PAD, START, END, UNKNOWN, FIRST }; // the first tokens
enum { SOURCE, INPUT, EXPECTED };         // the three rows of a pair
typedef struct { int id[3][LONGEST], S, T, size; } Pair; // size: to sort by
const Pair *sentence[BATCH]; int B, V; // the batch, its size; words of French
typedef struct { float *table, *x; uint32_t key; int T, row; } Embedding;
// Tokens become vectors that say which word, and where it is: x (B·T,D)
float *embed(Embedding *e, int T, int row) {
    *e = (Embedding){e->table, zeros(B * T * D), next_key(), T, row};
    each (i, B * T) {
        float *x = e->x + i * D;
        float *word = e->table + sentence[i / T]->id[row][i % T] * D;
        each (j, D) {
            double turn = i % T * pow(10000, -(double)(j - j % 2) / D);
            x[j] = sqrtf(D) * word[j] + (float)(j % 2 ? cos(turn) : sin(turn));
        }
        dropout(x, D, i, e->key);
    }
    return e->x;
}

void embed_backward(Embedding *e) { // a row sums dx over its places
    each (i, B * e->T) {
        int id = sentence[i / e->T]->id[e->row][i % e->T];
        float *dx = e->x + i * D + GRAD, *word = e->table + id * D;
        dropout(dx, D, i, e->key);
        each (j, D) word[GRAD + j] += sqrtf(D) * dx[j];
    }
}

// ---- Attention, all heads: softmax(q kᵀ / √K) v ----------- chapters 2, 3, 9
typedef struct { Linear query, key, value, output; uint32_t noise; Norm norm;
                 float *weights, *dropped, *context; } Attention;

// Each position fetches what it needs from others: x (B·T,D) asks, and memory
// (B·S,D) answers. Padding is hidden, and if row is INPUT, so is the future.
float *attention(Attention *a, float *x, int T, float *memory, int S, int row) {
    linear(&a->query, x, B * T, D, D);
    linear(&a->key, memory, B * S, D, D);
    linear(&a->value, memory, B * S, D, D);
    a->weights = zeros(B * H * T * S), a->dropped = zeros(B * H * T * S);
    a->context = zeros(B * T * D);
    a->noise = next_key();
    each (i, B * H * T) { // sentence b, head h, query t
        int b = i / T / H, h = i / T % H, t = i % T;
        int asks = (b * T + t) * D + h * K, answers = b * S * D + h * K;
        float *q = a->query.y + asks, *c = a->context + asks;
        float *k = a->key.y + answers, *v = a->value.y + answers;
        float *w = a->weights + i * S, *u = a->dropped + i * S;
        const int *id = sentence[b]->id[row];
        each (j, S) each (e, K) w[j] += q[e] * k[j * D + e];
        each (j, S) w[j] = id[j] == PAD || (row == INPUT && j > t)
                         ? -INFINITY : w[j] * (1 / sqrtf(K));
        softmax(w, S);
        each (j, S) u[j] = w[j];
        dropout(u, S, t, scramble32(a->noise + (uint32_t)(i / T)));
        each (j, S) each (e, K) c[e] += u[j] * v[j * D + e];
    }
    linear(&a->output, a->context, B * T, D, D);
    return norm(&a->norm, x, a->output.y, B * T);
}

void attention_backward(Attention *a) { // the same lines, in reverse
    int T = a->query.N / B, S = a->key.N / B;
    norm_backward(&a->norm);
    linear_backward(&a->output);
    each (i, B * H * T) {
        int b = i / T / H, h = i / T % H, t = i % T;
        int asks = (b * T + t) * D + h * K, answers = b * S * D + h * K;
        float *q = a->query.y + asks, *dq = q + GRAD;
        float *k = a->key.y + answers, *dk = k + GRAD;
        float *v = a->value.y + answers, *dv = v + GRAD;
        float *w = a->weights + i * S, *dw = w + GRAD; // at first, of u
        float *u = a->dropped + i * S, *dc = a->context + asks + GRAD;
        each (j, S) each (e, K) dv[j * D + e] += u[j] * dc[e];
        each (j, S) each (e, K) dw[j] += dc[e] * v[j * D + e];
        dropout(dw, S, t, scramble32(a->noise + (uint32_t)(i / T)));
        float common = dot(dw, w, S);
        each (j, S) dw[j] = w[j] * (dw[j] - common) * (1 / sqrtf(K));
        each (j, S) each (e, K) dq[e] += dw[j] * k[j * D + e];
        each (j, S) each (e, K) dk[j * D + e] += dw[j] * q[e];
    }
    linear_backward(&a->query);
    linear_backward(&a->key);
    linear_backward(&a->value);
    each (i, B * T * D) a->norm.x[GRAD + i] += a->norm.out[GRAD + i]; // bypass
}

// ---- The feed-forward network: relu(x W + b) W + b ---------------- chapter 5
// Works on what each position has fetched, each by itself: x (N,D) -> (N,D)
typedef struct { Linear inner, outer; uint32_t key; Norm norm; } Network;
float *network(Network *f, float *x, int N) {
    float *a = linear(&f->inner, x, N, D, F);
    f->key = next_key();
    each (i, N * F) a[i] = fmaxf(a[i], 0);
    each (i, N) dropout(a + i * F, F, i, f->key);
    return norm(&f->norm, x, linear(&f->outer, a, N, F, D), N);
}

void network_backward(Network *f) {
    int N = f->inner.N;
    float *a = f->inner.y, *da = a + GRAD;
    norm_backward(&f->norm);
    linear_backward(&f->outer);
    each (i, N) dropout(da + i * F, F, i, f->key);
    each (i, N * F) da[i] = a[i] == 0 ? 0 : da[i];
    linear_backward(&f->inner);
    each (i, N * D) f->norm.x[GRAD + i] += f->norm.out[GRAD + i]; // bypass
}

// ---- The model ------------------------------------------------ chapters 7, 8
Embedding source_embedding, target_embedding;
Attention encoder_attention[L], decoder_attention[L], cross_attention[L];
Network encoder_network[L], decoder_network[L];
Linear output;

float *forward(void) { // Figure 1 of the paper: the tokens of a batch -> logits
    used = PARAMETERS; // frees what the last step computed
    int S = 0, T = sentence[B - 1]->T; // the longest; pairs are sorted by T
    each (b, B) S = sentence[b]->S > S ? sentence[b]->S : S;
    float *x = embed(&source_embedding, S, SOURCE);
    each (l, L) {
        x = attention(&encoder_attention[l], x, S, x, S, SOURCE);
        x = network(&encoder_network[l], x, B * S);
    }
    float *memory = x; // the encoder's output, for the decoder to read
    x = embed(&target_embedding, T, INPUT);
    each (l, L) {
        x = attention(&decoder_attention[l], x, T, x, T, INPUT);
        x = attention(&cross_attention[l], x, T, memory, S, SOURCE);
        x = network(&decoder_network[l], x, B * T);
    }
    return linear(&output, x, B * T, D, V);
}

void backward(void) { // the calls of forward, in reverse
    linear_backward(&output);
    for (int l = L - 1; l >= 0; l--) {
        network_backward(&decoder_network[l]);
        attention_backward(&cross_attention[l]); // adds to dmemory
        attention_backward(&decoder_attention[l]);
    }
    embed_backward(&target_embedding);
    for (int l = L - 1; l >= 0; l--) {
        network_backward(&encoder_network[l]);
        attention_backward(&encoder_attention[l]);
    }
    embed_backward(&source_embedding);
}

// ---- A step of training ----------------------------------------- chapter 11
// logits (B·T,V) -> the mean of -log p of expected words, and its gradient
double loss(float *logits) {
    int tokens = 0, T = target_embedding.T;
    double total = 0;
    each (b, B) tokens += sentence[b]->T;
    each (i, B * T) {
        int y = sentence[i / T]->id[EXPECTED][i % T];
        float *z = logits + i * V, *dz = z + GRAD, share = 1 / (float)tokens;
        if (y == PAD) continue; // dz stays 0
        each (j, V) dz[j] = z[j];
        float lse = softmax(dz, V); // only lse is needed
        total += lse - z[y];
        each (j, V) dz[j] = exponential(z[j] - lse) * share;
        dz[y] -= share;
    }
    return total / tokens;
}

void update(int t) { // moves each parameter a little: clipping, then Adam
    float *p = numbers, *g = p + GRAD, *m = g + GRAD, *v = m + PARAMETERS;
    int size = count / 64 + 1, warmup = 400; // squares: 64 partial sums
    double squares = 0, lr = 1 / sqrt((double)D * warmup);
    for (int i = 0; i < count; i += size)
        squares += dot(g + i, g + i, i + size < count ? size : count - i);
    lr = t < warmup ? lr * t / warmup : lr * sqrt(warmup / (double)t);
    float step = (float)(lr / (1 - pow(0.9, t)));
    float root = (float)(1 / sqrt(1 - pow(0.98, t)));
    each (i, count) {
        g[i] *= (float)(squares > 1 ? 1 / sqrt(squares) : 1);
        m[i] = 0.9f * m[i] + 0.1f * g[i];
        v[i] = 0.98f * v[i] + 0.02f * g[i] * g[i];
        p[i] -= step * m[i] / (sqrtf(v[i]) * root + 1e-9f);
        m[i] = fabsf(m[i]) < 1e-30f ? 0 : m[i]; // tiny numbers are slow
        v[i] = fabsf(v[i]) < 1e-30f ? 0 : v[i];
        g[i] = 0;
    }
}

// ---- Words and pairs --------------------------------------------- chapter 14
typedef struct { char word[MOST][32]; int words; } Language; // sorted by bytes
Language english = {{"<pad>", "<start>", "<end>", "<unknown>"}, FIRST};
Language french = {{"<pad>", "<start>", "<end>", "<unknown>"}, FIRST};
enum { PAIRS = 100000, POOL = 8 * BATCH };
Pair *pair; int order[PAIRS], batch[PAIRS];

// text -> its tokens and END; returns how many. New words join the language.
int tokenize(const char *s, int *id, Language *l) {
    int n = 0;
    for (size_t size; s && *(s += strspn(s, " \r")); s += size) {
        char word[32];
        size = strcspn(s, " \r.,!?;:\"()");
        size += size == 0; // a mark is a word
        if (size > 31 || n == LONGEST - 1 || l->words == MOST)
            fail("more than 64 words, or 4,000 words, or a word of 32 bytes");
        sprintf(word, "%.*s", (int)size, s);
        int i = FIRST;
        while (i < l->words && strcmp(l->word[i], word) < 0) i++;
        if (i == l->words || strcmp(l->word[i], word))
            memmove(l->word[i + 1], l->word[i], 32 * (size_t)(l->words++ - i));
        strcpy(l->word[i], word);
        id[n++] = i;
    }
    id[n] = END;
    return n + 1;
}

void read_pairs(void) { // the whole file, as tokens
    char text[1 << 12]; FILE *file = fopen(path, "rb");
    for (lines = 0; file && fgets(text, sizeof text, file);) {
        Pair *new = &pair[lines++];
        new->S = tokenize(strtok(text, "\t\n"), new->id[SOURCE], &english);
        new->T = tokenize(strtok(NULL, "\t\n"), new->id[EXPECTED], &french);
        if (new->S == 1 || new->T == 1 || lines == PAIRS)
            fail("expected source, tab, target, in fewer than 100000 lines");
        new->size = LONGEST * new->T + new->S;
        new->id[INPUT][0] = START;
        each (j, new->T - 1) new->id[INPUT][j + 1] = new->id[EXPECTED][j];
    }
    if (lines == 0) fail("cannot open the file, or it is empty");
    fclose(file);
}

void shuffle(int *item, int n, uint64_t key) { // 0 … n-1 in random order
    each (i, n) item[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int k = (int)(uniform(&key) * (i + 1)), kept = item[i];
        item[i] = item[k], item[k] = kept;
    }
}

// Batches of similar length: in an epoch, each pool of eight batches is sorted.
void next_batch(int step) {
    int batches = (lines + BATCH - 1) / BATCH, epoch = step / batches;
    if (step % batches == 0) {
        shuffle(order, lines, random_key(FOR_ORDER, epoch));
        each (i, lines) {
            int k = i, kept = order[i];
            for (; k % POOL && pair[order[k - 1]].size > pair[kept].size; k--)
                order[k] = order[k - 1];
            order[k] = kept;
        }
        shuffle(batch, lines / BATCH, random_key(FOR_BATCHES, epoch));
        batch[lines / BATCH] = lines / BATCH; // the rest comes last
    }
    int first = batch[step % batches] * BATCH;
    B = lines - first < BATCH ? lines - first : BATCH;
    each (b, B) sentence[b] = &pair[order[first + b]];
}

// ---- Translation, training --------------------------------- chapters 12, 11
void translate(Pair this) { // word by word, each time the most probable one
    rate = 0, sentence[0] = &this, B = 1;
    each (j, this.S - 1) printf("%s ", english.word[this.id[SOURCE][j]]);
    printf("→");
    for (int T = this.T = 1; T < LONGEST; T = ++this.T) { // START, T-1 words
        const float *z = forward() + (T - 1) * V;
        int best = END;
        each (j, V) best = j > END && (double)z[j] > (double)z[best] ? j : best;
        if (best == END) break;
        printf(" %s", french.word[best]);
        this.id[INPUT][T] = best;
    }
    printf("\n");
}

int main(int argc, char **argv) {
    path = argc > 1 ? argv[1] : "DATA.tsv";
    if (!(numbers = calloc(2 * (GRAD + PARAMETERS), sizeof *numbers))
        || !(pair = calloc(PAIRS, sizeof *pair))) fail("out of memory");
    each (pass, 2) read_pairs(); // a word's number is known after the first
    int steps = argc > 2 ? atoi(argv[2]) : 20 * ((lines + BATCH - 1) / BATCH);
    if (steps < 1) fail("the number of steps must be at least 1");
    parameter(&source_embedding.table, english.words, D, 0);
    parameter(&target_embedding.table, V = french.words, D, 0);
    for (int t = 1; t <= steps; t++) {
        next_batch(t - 1);
        rate = 0.1f; noise = random_key(FOR_DROPOUT, t);
        float *logits = forward();
        double mean = loss(logits);
        backward();
        update(t);
        if (!isfinite(mean)) fail("the loss is no longer a number");
        if (t == 1) printf("%d pairs, %d and %d words, %d parameters\n",
                           lines, english.words, V, count);
        if (t == 1 || t % 20 == 0) printf("step %d: loss %.4f\n", t, mean);
        if (t % 500 == 0 || t == steps)
            each (i, lines < 3 ? lines : 3) translate(pair[i]);
    }
    uint64_t checksum = 0xcbf29ce484222325;
    each (i, 4 * count) {
        union { float number; uint32_t bits; } p = {numbers[i / 4]};
        checksum = (checksum ^ (p.bits >> i % 4 * 8 & 255)) * 0x100000001b3;
    }
    printf("checksum %016llx\n", (unsigned long long)checksum);
}
