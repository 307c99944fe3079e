// Lab 13, continued: a transformer's encoder beside a bidirectional LSTM.
//
// Both in the sizes that tutorial 5 compares: 10,000 words, width 256; the
// encoder has 6 layers with 8 heads and inner width 1024, the LSTM 2 layers
// with 128 numbers for each direction.
//
//     13-lstm parameters     model,part,parameters
//     13-lstm time LONGEST RUNS
//                            model,what,length,batch,work,chain,seconds
//
// The second measures lengths from 25 to LONGEST words. what: forward, or
// training, which is forward and backward, without the step of Adam. batch: 4
// sentences; in training with more than 1,000 words only 1, to save memory.
// work: multiplications in matrix products, forward. chain: how many matrix
// products of the forward pass have to wait for one another. seconds: processor
// time on one thread, the shortest of RUNS runs or more; inf if RUNS is 0.

#include "lib/lab.h"
#include "lib/measure.h"
#include "programs/rnn.c"

enum { V = 10000, D = 256, HALF = D / 2, LSTM_LAYERS = 2, MOST_LENGTH = 2000 };

// Both models with gradients, and what they read.
typedef struct {
    Transformer *transformer, *transformer_gradient;
    TensorList list[2];            // the LSTM's tensors, and their gradients
    Mat embedding[2];              // (V,D)
    BiLstm lstm[2][LSTM_LAYERS];
    int batch, length;
    int *ids;                      // (B·S), read in either order
    Arena arena;
} Lab;

void lstm_new(Lab *lab, int role) {
    TensorList *list = &lab->list[role];
    list_table(list, &lab->embedding[role], V, D, "embedding");
    for (int l = 0; l < LSTM_LAYERS; l++) {
        list_lstm(list, &lab->lstm[role][l].forth, D, HALF, "forth");
        list_lstm(list, &lab->lstm[role][l].back, D, HALF, "back");
    }
    place_tensors(list);
}

Pass pass_of(Lab *lab) {
    return (Pass){.arena = &lab->arena, .sentences = lab->batch,
                  .config = &lab->transformer->config};
}

// In training forward and backward; else forward, layer by layer, and what each
// layer has saved is discarded.
void run_transformer(void *it, bool training) {
    Lab *lab = it;
    const Transformer *t = lab->transformer;
    Transformer *g = lab->transformer_gradient;
    Pass pass = pass_of(lab);
    Saved s;
    if (training) {
        Mat out = encode(&pass, &s, t, lab->ids, lab->length, (Mask){0});
        Mat dx = encoder_backward(&pass, &s.encoder, &t->encoder, &g->encoder,
                                  out);
        embedding_backward(&s.source, g->source_embedding, none, dx);
        arena_release(&lab->arena, 0);
        return;
    }
    Mat x = embedding_forward(&pass, &s.source, t->source_embedding,
                              t->source_positions, lab->ids, lab->length);
    size_t mark = lab->arena.used;
    for (int l = 0; l < t->config.layers; l++) {
        EncoderLayerSaved layer;
        copy(x, encoder_layer_forward(&pass, &layer, &t->encoder.layer[l], x,
                                      (Mask){0}));
        arena_release(&lab->arena, mark);
    }
    arena_release(&lab->arena, 0);
}

// The same for the LSTM.
void run_lstm(void *it, bool training) {
    Lab *lab = it;
    Arena *arena = &lab->arena;
    Pass pass = pass_of(lab);
    EmbeddingSaved e;
    BiLstmSaved s[LSTM_LAYERS];
    Mat x = embedding_forward(&pass, &e, lab->embedding[0], none, lab->ids,
                              lab->length);
    for (int l = 0; l < LSTM_LAYERS; l++)
        x = bilstm_forward(arena, &s[l], &lab->lstm[0][l], x, lab->batch);
    for (int l = LSTM_LAYERS - 1; l >= 0 && training; l--) {
        Mat dx = arena_zeros(arena, x.rows, D);
        bilstm_backward(arena, &lab->lstm[1][l], dx, x, &s[l],
                        &lab->lstm[0][l]);
        x = dx;
    }
    if (training)
        embedding_backward(&e, lab->embedding[1], none, x);
    arena_release(arena, 0);
}

// In each layer of the encoder six products wait for one another: queries,
// scores, context, output, inner and outer layer. In one of the LSTM, x W and
// then one in each step; the two directions do not wait for each other.
void measure(Lab *lab, bool training, int runs) {
    const Config *c = &lab->transformer->config;
    double n = lab->length, rows = lab->batch * n, F = c->d_ff;
    double work[2] = {c->layers * (rows * (4.0 * D * D + 2 * D * F)
                                   + 2 * rows * n * D),
                      LSTM_LAYERS * 2 * rows * (D + HALF) * 4 * HALF};
    double chain[2] = {c->layers * 6.0, LSTM_LAYERS * (1 + n)};
    void (*run[2])(void *, bool) = {run_transformer, run_lstm};
    for (int k = 0; k < 2; k++)
        printf("%s,%s,%d,%d,%.0f,%.0f,%.6f\n", k ? "BiLSTM" : "transformer",
               training ? "training" : "forward", lab->length, lab->batch,
               work[k], chain[k], shortest_time(run[k], lab, training, runs));
    fflush(stdout);
}

// Parameters of the encoder and of the LSTM, with their embeddings.
void print_counts(const Lab *lab) {
    const TensorList *l = &lab->transformer->list;
    size_t words = (size_t)V * D, layers = 0;
    for (const Tensor *t = l->tensor; t < l->tensor + l->tensors; t++)
        if (strncmp(t->name.text, "encoder.", 8) == 0)
            layers += (size_t)t->rows * (size_t)t->cols;
    printf("model,part,parameters\n");
    printf("transformer,embedding,%zu\n", words);
    printf("transformer,layers,%zu\n", layers);
    printf("BiLSTM,embedding,%zu\nBiLSTM,layers,%zu\n", words,
           lab->list[0].count - words);
}

void measure_all(Lab *lab, int longest, int runs) {
    const int length[] = {25, 50, 100, 200, 500, 1000, MOST_LENGTH};
    uint64_t state = random_key(1, FOR_PARAMETERS, 9);
    lab->ids = allocate(4 * MOST_LENGTH, sizeof *lab->ids);
    for (int i = 0; i < 4 * MOST_LENGTH; i++)
        lab->ids[i] = random_below(V, &state);
    printf("model,what,length,batch,work,chain,seconds\n");
    for (int k = 0; k < 7 && length[k] <= longest; k++)
        for (int training = 0; training < 2; training++) {
            lab->length = length[k];
            lab->batch = training && length[k] > 1000 ? 1 : 4;
            measure(lab, training, runs);
        }
    free(lab->ids);
}

int main(int argc, char **argv) {
    Config config = {.layers = 6, .d_model = D, .heads = 8, .d_ff = 4 * D,
                     .source_vocab = V, .target_vocab = FIRST_TOKEN,
                     .max_len = MOST_LENGTH};
    Lab lab = {.transformer = transformer_new(&config),
               .transformer_gradient = transformer_zeros(&config)};
    lstm_new(&lab, 0);
    lstm_new(&lab, 1);
    initialize(&lab.transformer->list, 1);
    initialize(&lab.list[0], 1);
    use_one_thread();
    if (argc == 2 && strcmp(argv[1], "parameters") == 0)
        print_counts(&lab);
    else if (argc == 4 && strcmp(argv[1], "time") == 0)
        measure_all(&lab, atoi(argv[2]), atoi(argv[3]));
    else
        fail("13-lstm parameters | time LONGEST RUNS");
    transformer_free(lab.transformer);
    transformer_free(lab.transformer_gradient);
    list_free(&lab.list[0]);
    list_free(&lab.list[1]);
    arena_free(&lab.arena);
}
