// What all test programs share: claims, random matrices, and the comparison of
// a gradient with the slopes of a function.
//
// Each program includes transformer.c itself, so that it can reach everything,
// and checks the claims of one chapter. It prints a line for each claim and, at
// the end, "N passed, N failed"; its exit status is 1 if any failed.

#define TRANSFORMER_NO_MAIN
#include "../../transformer.c"

// The type of sums. Where numbers are complex, claims are about real parts.
#ifdef TRANSFORMER_COMPLEX
#undef I // a size here
#define fabs(x) (fabs)((double)(x))
typedef double complex loss_number;
#else
typedef double loss_number;
#endif
#include "claims.h"

// How the names of the files that a test writes begin. The build whose memory
// is watched may run at the same time as the other.
#ifdef TRANSFORMER_MALLOC
#define SCRATCH "build/watched-"
#else
#define SCRATCH "build/"
#endif

// A sequence of random numbers that is the same in every run.
uint64_t test_state = 42;

// Normally distributed, mean 0 and standard deviation 1 (Box and Muller, 1958).
double normal(uint64_t *state) {
    double radius = sqrt(-2 * log(1 - uniform(state)));
    return radius * cos(6.283185307179586 * uniform(state));
}

// Fills m with random numbers of mean 0 and standard deviation `size`.
void randomize(Mat m, double size) {
    for (int i = 0; i < m.rows; i++)
        for (int j = 0; j < m.cols; j++)
            *at(m, i, j) = (real)(size * normal(&test_state));
}

// The memory of fresh matrices; main frees it at its end.
Arena room;

Mat random_mat(int rows, int cols) {
    Mat m = arena_mat(&room, rows, cols);
    randomize(m, 1);
    return m;
}

Mat filled_mat(int rows, int cols, double value) {
    Mat m = arena_mat(&room, rows, cols);
    fill(m, (real)value);
    return m;
}

Linear random_linear(int in, int out) {
    Linear w;
    w.weight = random_mat(in, out); // first: initializers leave it open
    w.bias = random_mat(1, out);
    return w;
}

Linear filled_linear(int in, int out, double value) {
    return (Linear){filled_mat(in, out, value), filled_mat(1, out, value)};
}

// to = from, same shape, whatever the strides
void assign(Mat to, Mat from) {
    for (int i = 0; i < to.rows; i++)
        for (int j = 0; j < to.cols; j++)
            *at(to, i, j) = *at(from, i, j);
}

Mat copied(Mat m) {
    Mat c = arena_mat(&room, m.rows, m.cols);
    assign(c, m);
    return c;
}

// The measure used throughout: |a - b| / max(|a|, |b|, floor). The floor is
// needed because some gradients are exactly zero. NaN counts as infinitely
// wrong.
double relative_error_above(double a, double b, double least) {
    double size = fmax(fmax(fabs(a), fabs(b)), least);
    double error = fabs(a - b) / size;
    return isnan(error) ? INFINITY : error;
}

double relative_error(double a, double b) {
    return relative_error_above(a, b, 1e-3);
}

double largest_error_above(Mat a, Mat b, double least) {
    double most = a.rows == b.rows && a.cols == b.cols ? 0 : INFINITY;
    for (int i = 0; i < a.rows && i < b.rows; i++)
        for (int j = 0; j < a.cols && j < b.cols; j++)
            most = fmax(most, relative_error_above(*at(a, i, j), *at(b, i, j),
                                                   least));
    return most;
}

double largest_error(Mat a, Mat b) {
    return largest_error_above(a, b, 1e-3);
}

bool same_bits(Mat a, Mat b) {
    for (int i = 0; i < a.rows; i++)
        for (int j = 0; j < a.cols; j++)
            if (memcmp(at(a, i, j), at(b, i, j), sizeof(real)))
                return false;
    return true;
}

Vocab vocab_of(const char *const *token, int count) {
    Vocab v = vocab_new();
    for (int i = 0; i < count; i++)
        vocab_append(&v, token[i], (int)strlen(token[i]));
    vocab_sort(&v);
    return v;
}

// The same tokens, and b finds each.
bool same_vocab(const Vocab *a, const Vocab *b) {
    bool same = a->count == b->count;
    for (int i = 0; same && i < a->count; i++) {
        const char *token = a->token[i];
        same = !strcmp(token, b->token[i])
            && (i < FIRST_TOKEN || token_id(b, token, (int)strlen(token)) == i);
    }
    return same;
}

// The same dropout in all places of a model.
void drop_everywhere(Config *config, double rate) {
    config->dropout = rate;
    config->attention_dropout = config->activation_dropout = rate;
}

// A pass of training that drops all that can be dropped at this rate; at rate 0,
// a pass without dropout.
Pass pass_dropping(Config *config, double rate, uint64_t noise, int sentences) {
    drop_everywhere(config, rate);
    return (Pass){&room, config, rate > 0, noise, sentences};
}

// A trainer of a new model, whose parameters are zero.
Trainer trainer_of(const Config *config, const Recipe *recipe) {
    return trainer_new(transformer_new(config), transformer_zeros(config),
                       recipe);
}

// The key of the first dropout in a pass with this noise.
uint32_t first_key(uint64_t noise) {
    return (uint32_t)scramble(noise);
}

// x, in row i and column j, after dropout of rate 1/2: zero or twice x. A
// gradient cannot tell where dropout acts, since forward and backward agree
// wherever it is; a formula written out with this can.
double half_dropped(double x, uint32_t key, int i, int j) {
    bool out = scramble32(scramble32(key + (uint32_t)i) ^ (uint32_t)j)
             < 2147483648u;
    return out ? 0 : 2 * x;
}

// Σ upstream · out: a scalar whose gradient with respect to out is `upstream`.
// upstream is random and fixed. With a plain sum, a layer norm without its last
// terms would pass, and so would a softmax without any backward pass.
loss_number project(Mat out, Mat upstream) {
    loss_number total = 0;
    for (int i = 0; i < out.rows; i++)
        for (int j = 0; j < out.cols; j++)
            total += (loss_number)*at(out, i, j) * (loss_number)*at(upstream, i, j);
    return total;
}

// The loss that loss_forward returns, with its imaginary part.
loss_number summed_loss(Mat lse, Mat logits, const int *expected, double smoothing) {
    loss_number total = 0;
    for (int i = 0; i < logits.rows; i++)
        if (expected[i] != PAD)
            total += lse.at[i] - (1 - smoothing) * *at(logits, i, expected[i])
                   - smoothing / logits.cols * sum(row(logits, i), logits.cols);
    return total;
}

// Returns the loss; the logits become its gradient.
Loss loss_of_logits(Mat logits, const int *expected, double smoothing) {
    Mat lse = arena_mat(&room, logits.rows, 1);
    Loss loss = loss_forward(lse, logits, expected, smoothing, &room);
    loss_backward(logits, logits, lse, expected, smoothing, loss.tokens);
    return loss;
}

// Gradient buffers are filled with this before the backward pass, to reveal an
// assignment where an addition belongs.
#define PREFILL 0.5

typedef loss_number Scalar(void *context);

// The value of f; what f has taken from the room is given back.
loss_number value_of(Scalar *f, void *context) {
    size_t mark = room.used;
    loss_number value = f(context);
    arena_release(&room, mark);
    return value;
}

// The central difference of f with points at *x - h and *x + h.
double central_difference(Scalar *f, void *context, real *x, double h) {
    const real kept = *x;
    *x = (real)(kept + h);
    double above = (double)value_of(f, context);
    *x = (real)(kept - h);
    double below = (double)value_of(f, context);
    *x = kept;
    return (above - below) / (2 * h);
}

// The slope of f as *x changes: central differences with steps h and h/2,
// combined so that their errors of order h² cancel (Richardson). Where the two
// disagree, the corner of a ReLU may lie between the points, and no difference
// is the slope. So the points move closer, until the corner is outside.
double difference_slope(Scalar *f, void *context, real *x) {
    double far, near, h = 1e-4;
    do {
        far = central_difference(f, context, x, h);
        near = central_difference(f, context, x, h / 2);
        h /= 10;
    } while (relative_error(far, near) > 1e-6 && h > 5e-7);
    return (4 * near - far) / 3;
}

// The slope to the last digit, where numbers are complex: nothing is subtracted.
#ifdef TRANSFORMER_COMPLEX
#define SLOPE "the complex step"
const double slope_error = 1e-11, least_slope = 1e-2;

double slope(Scalar *f, void *context, real *x) {
    const real kept = *x;
    const double h = 1e-200;
    *x = kept + h * _Complex_I;
    double result = cimag(value_of(f, context)) / h;
    *x = kept;
    return result;
}
#else
#define SLOPE "finite differences"
const double slope_error = 1e-6, least_slope = 1e-3;

double slope(Scalar *f, void *context, real *x) {
    return difference_slope(f, context, x);
}
#endif

// The largest error of dx - PREFILL against the slopes of f in every element of
// x.
double gradient_error(Scalar *f, void *context, Mat x, Mat dx) {
    double most = 0;
    for (int i = 0; i < x.rows; i++)
        for (int j = 0; j < x.cols; j++)
            most = fmax(most, relative_error_above(
                                  *at(dx, i, j) - PREFILL,
                                  slope(f, context, at(x, i, j)), least_slope));
    return most;
}

#define CLAIM_GRADIENT(f, context, x, dx, ...)                              \
    do {                                                                    \
        double worst = gradient_error(f, context, x, dx);                   \
        char text[200];                                                     \
        snprintf(text, sizeof text, __VA_ARGS__);                           \
        CLAIM(worst < slope_error, "%s agrees with " SLOPE ": %.1e", text,  \
              worst);                                                       \
    } while (0)

// The same for both gradients of a linear layer, which is one part of `name`.
void claim_linear(Scalar *f, void *context, const Linear *w, const Linear *dw,
                  const char *name, const char *part) {
    CLAIM_GRADIENT(f, context, w->weight, dw->weight, "%s: %s weight", name, part);
    CLAIM_GRADIENT(f, context, w->bias, dw->bias, "%s: %s bias", name, part);
}
