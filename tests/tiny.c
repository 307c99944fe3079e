// The gradients of notebook/tiny.c, against the complex step: its numbers are
// complex here. If one has the imaginary part h, that of the loss is h times the
// derivative, with nothing subtracted. The exponential is that of the
// library, since the slope of a polynomial is not quite the polynomial.

#include <complex.h>
#include <math.h>
#include <stdint.h>
#include "claims.h"
#undef I

#pragma GCC diagnostic ignored "-Wreturn-type" // main, under another name
#if defined __clang__
#pragma clang diagnostic ignored "-Wkeyword-macro"
#endif
#define WIDTH 8
#define HEADS 2
#define LAYERS 2
#define main tiny_main
#define float double complex
#define fabsf(x) fabs(creal(x))
#define fmaxf(a, b) (creal(a) > creal(b) ? (a) : (b))
#define sqrtf csqrt
#define log clog
#define ldexpf(series, n) ((void)(series), cexp(x)) // at the end of exponential
#include "../notebook/tiny.c"
#undef main
#undef float

const Pair two[] = {
    {{{4, 5, 6, END}, {START, 4}, {4, END}}, 4, 2, 0},
    {{{7, END}, {START, 5, 6, 4}, {5, 6, 4, END}}, 2, 4, 0},
};

// The mean loss over all tokens; dropout is the same each time.
double complex complex_loss(void) {
    double complex total = 0;
    noise = 17;
    const double complex *z = forward();
    for (int i = 0; i < B * 4; i++, z += V) {
        double complex sum = 0;
        int y = two[i / 4].id[EXPECTED][i % 4];
        for (int j = 0; j < V; j++)
            sum += cexp(z[j]);
        total += y == PAD ? 0 : clog(sum) - z[y];
    }
    return total / 6;
}

// The largest error of all gradients; *wrong receives how many are off.
double largest_error(int *wrong) {
    double most = 0;
    for (int i = 0; i < count; i++) {
        const double h = 1e-100;
        memory[i] += h * _Complex_I;
        double slope = cimag(complex_loss()) / h;
        memory[i] = creal(memory[i]);
        double g = creal(memory[GRAD + i]);
        double size = fmax(fmax(fabs(g), fabs(slope)), 1e-3);
        double error = fabs(g - slope) / size;
        most = fmax(most, error);
        *wrong += !(error < 1e-11);
    }
    return most;
}

int main(void) {
    memory = calloc(2 * (GRAD + PARAMETERS), sizeof *memory);
    if (!memory)
        fail("out of memory");
    B = 2;
    V = 8;
    sentence[0] = &two[0];
    sentence[1] = &two[1];
    parameter(&source_embedding.table, 8, D, 0);
    parameter(&target_embedding.table, V, D, 0);
    rate = 0.1;
    complex_loss(); // makes the parameters
    uint64_t state = 1;
    for (int i = 0; i < count; i++)
        memory[i] += uniform(&state) - 0.5;
    noise = 17;
    double found = loss(forward()), expected = creal(complex_loss());
    CLAIM(fabs(found - expected) < 1e-12,
          "tiny.c: the loss is the mean of -log softmax (%.6f)", found);
    noise = 17;
    loss(forward());
    backward();
    int wrong = 0;
    double most = largest_error(&wrong);
    CLAIM(count > 3000 && wrong == 0, "tiny.c: %d of %d gradients agree with "
          "the complex step; largest error %.1e", count - wrong, count, most);
    return claims_end();
}
