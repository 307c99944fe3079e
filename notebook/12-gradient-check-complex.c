// Lab 12 with complex numbers.

#define TRANSFORMER_COMPLEX
#include "12-gradient-check.c"
