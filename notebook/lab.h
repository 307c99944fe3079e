// What the labs share: the whole of transformer.c, and random numbers.

#define TRANSFORMER_NO_MAIN
#include "../transformer.c"

// Normally distributed, mean 0 and standard deviation 1 (Box and Muller, 1958).
double normal(uint64_t *state) {
    double radius = sqrt(-2 * log(1 - uniform(state)));
    return radius * cos(6.283185307179586 * uniform(state));
}
