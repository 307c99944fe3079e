// Loads a model and saves it again, for tests/audit/platforms.py:
//
//     again FROM TO
//
// The two files are the same bytes, whichever machine made the first.

#define TRANSFORMER_NO_MAIN
#include "../../transformer.c"

int main(int argc, char **argv) {
    if (argc != 3)
        fail("again FROM TO");
    Checkpoint c = load_checkpoint(argv[1], true);
    save_checkpoint(&c, argv[2]);
    checkpoint_free(&c);
    return 0;
}
