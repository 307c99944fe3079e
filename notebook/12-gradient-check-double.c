// Lab 12 in double precision: the same program with another type of number.

#define TRANSFORMER_DOUBLE
#include "12-gradient-check.c"
