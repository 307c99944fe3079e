// Lab 6: who influences whom in an encoder.
//
// A fresh encoder of 4 layers, d_model 128 and 4 heads, reads 3 sentences of 15
// random tokens out of 5,000: the sizes of the tutorial's exercise. The
// embedding of one position is blanked, in all three sentences; its positional
// encoding stays. How far does the output move, at each position?
//
//     start,mask,layers,blanked,position,distance,other
//
// start: how the parameters begin. "transformer.c": all matrices, embeddings
// too, after Glorot and Bengio. "PyTorch": as its nn.Embedding and nn.Linear
// begin: the one with standard deviation 1, the other uniform between ±1/√in;
// biases are zero in both starts. Both multiply embeddings by √d_model. mask:
// what a query may see: "none" hides nothing, "causal" hides what comes later,
// "window" all but its two neighbors and itself. layers: how many the signal
// has passed. blanked, position: from 0.
//
// distance: |output - output when blanked|, the L2 norm over the d_model
// numbers of the position, averaged over the three sentences. It has no unit;
// layer normalization gives each position's output the norm √d_model = 11.3.
// other: the largest distance at any position of the other two sentences when
// only the first one is blanked.
//
// With the argument "control" it blanks nothing and prints
//
//     sentences,positions,d_model,same,dropout
//
// the shape of the output; how far apart two runs are at position 7; and how
// far with dropout 0.1, when each run drops different numbers.

#include "lib/lab.h"

enum { B = 3, S = 15, D = 128, L = 4, V = 5000 };
enum { NONE, CAUSAL, WINDOW };
const char *const mask_name[] = {"none", "causal", "window"};

typedef struct {
    Transformer *model;
    int ids[B * S];
    Arena arena;
    Mask mask;
    Pass pass;
} Lab;

// PyTorch's numbers instead of those of initialize.
void start_as_pytorch(Transformer *t) {
    for (int i = 0; i < t->list.tensors; i++) {
        Tensor *tensor = &t->list.tensor[i];
        int in = tensor->rows, out = tensor->cols;
        double factor = sqrt(1.0 / in) / sqrt(6.0 / (in + out));
        for (int k = 0; tensor->init == INIT_XAVIER && k < in * out; k++)
            tensor->mat->at[k] *= (real)factor;
    }
    uint64_t state = random_key(2, FOR_PARAMETERS, 0);
    for (int k = 0; k < V * D; k++)
        t->source_embedding.at[k] = (real)normal(&state);
}

Lab new_lab(bool as_pytorch) {
    Config config = {.layers = L, .d_model = D, .heads = 4, .d_ff = 4 * D,
                     .source_vocab = V, .target_vocab = 5, .max_len = S};
    Lab lab = {.model = transformer_new(&config)};
    initialize(&lab.model->list, 1);
    if (as_pytorch)
        start_as_pytorch(lab.model);
    uint64_t state = random_key(1, FOR_ORDER, 0);
    for (int i = 0; i < B * S; i++)
        lab.ids[i] = FIRST_TOKEN + random_below(V - FIRST_TOKEN, &state);
    return lab;
}

// May query i see key j?
Mask make_mask(Arena *arena, int kind) {
    if (kind == NONE)
        return (Mask){0};
    unsigned char *visible = arena_take(arena, S * S, 1);
    for (int i = 0; i < S; i++)
        for (int j = 0; j < S; j++)
            visible[i * S + j] = kind == CAUSAL ? j <= i : abs(i - j) <= 1;
    return (Mask){visible, 0, S};
}

// The outputs of all layers, out[0 … L-1], each (B·S,D); position `blank` of
// the first `sentences` sentences has no embedding.
void encode_blanked(Lab *lab, Mat *out, int blank, int sentences) {
    Pass *pass = &lab->pass;
    EmbeddingSaved e;
    EncoderLayerSaved s;
    const Transformer *t = lab->model;
    pass->arena = &lab->arena;
    pass->config = &t->config;
    pass->sentences = B;
    Mat x = embedding_forward(pass, &e, t->source_embedding,
                              t->source_positions, lab->ids, S);
    for (int b = 0; b < sentences; b++)
        copy(slice_rows(x, b * S + blank, 1),
             slice_rows(t->source_positions, blank, 1));
    for (int l = 0; l < L; l++)
        out[l] = x = encoder_layer_forward(pass, &s, &t->encoder.layer[l], x,
                                           lab->mask);
}

// |x - y| in row i.
double distance(Mat x, Mat y, int i) {
    double total = 0;
    for (int j = 0; j < D; j++)
        total += pow((double)row(x, i)[j] - (double)row(y, i)[j], 2);
    return sqrt(total);
}

void blank_one(Lab *lab, const char *name, int kind, const Mat *whole,
               int blank) {
    Mat blanked[L], first[L];
    encode_blanked(lab, blanked, blank, B);
    encode_blanked(lab, first, blank, 1);
    for (int l = 0; l < L; l++) {
        double other = 0;
        for (int i = S; i < B * S; i++)
            other = fmax(other, distance(whole[l], first[l], i));
        for (int i = 0; i < S; i++) {
            double mean = 0;
            for (int b = 0; b < B; b++)
                mean += distance(whole[l], blanked[l], b * S + i) / B;
            printf("%s,%s,%d,%d,%d,%.6g,%.6g\n", name, mask_name[kind], l + 1,
                   blank, i, mean, other);
        }
    }
}

void measure(const char *name, bool as_pytorch) {
    Lab lab = new_lab(as_pytorch);
    for (int kind = NONE; kind <= WINDOW; kind++) {
        Mat whole[L];
        lab.mask = make_mask(&lab.arena, kind);
        encode_blanked(&lab, whole, 0, 0);
        for (int blank = 0; blank < S; blank++)
            blank_one(&lab, name, kind, whole, blank);
    }
    arena_free(&lab.arena);
    transformer_free(lab.model);
}

void control(void) {
    Lab lab = new_lab(false);
    Mat one[L], two[L];
    double apart[2];
    for (int drop = 0; drop <= 1; drop++) {
        Config *c = &lab.model->config;
        c->dropout = c->attention_dropout = drop ? 0.1 : 0;
        c->activation_dropout = c->dropout;
        lab.pass = (Pass){.training = true, .noise = 1};
        encode_blanked(&lab, one, 0, 0);
        encode_blanked(&lab, two, 0, 0); // the noise has moved on
        apart[drop] = distance(one[L - 1], two[L - 1], 7);
    }
    printf("sentences,positions,d_model,same,dropout\n%d,%d,%d,%g,%g\n", B,
           one[L - 1].rows / B, one[L - 1].cols, apart[0], apart[1]);
    arena_free(&lab.arena);
    transformer_free(lab.model);
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "control")) {
        control();
        return 0;
    }
    printf("start,mask,layers,blanked,position,distance,other\n");
    measure("transformer.c", false);
    measure("PyTorch", true);
}
