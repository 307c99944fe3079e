// What the labs share: the whole of transformer.c, and lines of CSV.

#define TRANSFORMER_NO_MAIN
#include "../transformer.c"
