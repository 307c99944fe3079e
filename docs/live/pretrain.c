// Trains the model that the book's text quotes, as docs/runs/make.sh does: what
// pretrain.js calls. Then model.safetensors has it without the moments. It is a
// program of its own, so that a change of the page does not train it anew.

#define TRANSFORMER_NO_MAIN
#include "../../transformer.c"

__attribute__((visibility("default"))) void pretrain(void) {
    char *argument[] = {"transformer", "train", "eng-fra.train.tsv", "--steps",
                        "2340"};
    Arguments a = read_arguments(sizeof argument / sizeof *argument, argument);
    Checkpoint c = {0};
    train_command(&a, &c);
    checkpoint_free(&c);
    c = load_checkpoint(a.settings.model, false);
    save_checkpoint(&c, a.settings.model);
    checkpoint_free(&c);
}
