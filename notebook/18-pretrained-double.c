// Lab 18 in double precision.

#define TRANSFORMER_DOUBLE
#include "18-pretrained.c"
