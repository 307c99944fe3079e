// Trains the page's GPT on the English sentences of the data, as `gpt train`
// does: what pretrain.js calls. Then model.safetensors has it without the
// moments.

#define GPT_NO_MAIN
#include "../../notebook/gpt.c"

__attribute__((visibility("default"))) void pretrain(void) {
    char *argument[] = {"gpt", "train", "english.txt", "--tokens", "bpe",
                        "--layers", "2", "--d-model", "32", "--context", "16",
                        "--steps", "1000", "--lr", "0.01",
                        "--model", "model.safetensors"};
    Request r = read_request(&gpt_program, sizeof argument / sizeof *argument,
                             argument);
    gpt_train(&r);
    Checkpoint c = load_gpt(r.settings.model, false);
    save_checkpoint(&c, r.settings.model);
    checkpoint_free(&c);
}
