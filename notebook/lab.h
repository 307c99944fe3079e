// What the labs share: the whole of transformer.c.

#define TRANSFORMER_NO_MAIN
#include "../transformer.c"
