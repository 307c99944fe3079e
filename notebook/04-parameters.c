// Lab 4: where the parameters are.
//
// The list of tensors of chapter 8 needs no memory for the numbers, so that a
// model of any size can be counted. For each of the models below, each side of
// it (encoder, decoder) and each component, a line of CSV:
//
//     model,d_model,side,component,parameters
//
// d_model is the model's width; parameters is a count. The components are those
// of chapter 13: embedding, attention, cross-attention, feed-forward, norms,
// output layer.

#include "lib/lab.h"

// One Config is one model: layers, width, heads, inner width, vocabularies. The
// sinusoidal positions are not learned, so they have no parameters.
Config sizes(int layers, int d_model, int heads, int vocab) {
    return (Config){.layers = layers, .d_model = d_model, .heads = heads,
                    .d_ff = 4 * d_model, .source_vocab = vocab,
                    .target_vocab = vocab, .max_len = 64};
}

// Counts a model by side and component, and prints the parts that it has.
void count(const char *model, Config config) {
    Transformer *t = transformer_outline(&config);
    size_t sum[2][COMPONENTS] = {{0}};
    for (int i = 0; i < t->list.tensors; i++) {
        const Tensor *one = &t->list.tensor[i];
        sum[!in_encoder(one->name.text)][component_of(one->name.text)] +=
            (size_t)one->rows * (size_t)one->cols;
    }
    for (int side = 0; side < 2; side++)
        for (int c = 0; c < COMPONENTS; c++)
            if (sum[side][c])
                printf("%s,%d,%s,%s,%zu\n", model, config.d_model,
                       side ? "decoder" : "encoder", component_name[c],
                       sum[side][c]);
    transformer_free(t);
}

int main(void) {
    printf("model,d_model,side,component,parameters\n");
    // The paper's base model; one matrix serves target embedding and output.
    Config base = sizes(6, 512, 8, 37000);
    base.tie = 1;
    count("base", base);
    // Three encoders of episode 52: its exercise 1, what it runs first, and
    // what it compares with an LSTM.
    count("exercise", sizes(6, 512, 8, 10000));
    count("example", sizes(6, 64, 8, 10000));
    count("comparison", sizes(6, 256, 8, 10000));
    // The exercise's encoder in other widths.
    for (int d_model = 16; d_model <= 8192; d_model *= 2)
        count("width", sizes(6, d_model, 8, 10000));
}
