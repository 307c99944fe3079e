// Lab 5: post-norm and pre-norm, in a fresh stack of encoder layers.
//
// The same random input goes through stacks of 1 to 12 layers, and a gradient
// comes back. The sizes are those of the tutorial's block: d_model
// 64, 8 heads, 2 sentences of 10 positions, no dropout. A line of CSV for each
// place between two layers:
//
//     norm,loss,layers,layer,output,gradient,weights
//
// norm: post, pre (without a norm at the end of the stack), or pre + final
// (with it, as transformer.c has it). loss: which gradient comes in at the end;
// "random" is that of Σ out · u with random u of variance 1, "sum" is that of
// Σ out. layers: of the whole stack. layer: the place, after this many layers;
// 0 is the input.
//
// output: the norm √Σx² of what the layer puts out, all positions together.
// gradient: the norm of the loss's gradient with respect to it. weights: the
// norm of the gradient of all parameters of this layer (0 for layer 0). None
// has a unit; all are means over MODELS fresh models and inputs.

#include "lib/lab.h"

enum { B = 2, T = 10, D = 64, DEEPEST = 12, MODELS = 10 };
enum { POST, PRE, PRE_FINAL };
const char *const norm_name[] = {"post", "pre", "pre + final"};

// The three norms at one place of the stack.
typedef struct {
    double output, gradient, weights;
} Place;

double length_of(Mat m) {
    return l2_norm(m.at, (size_t)m.rows * (size_t)m.cols);
}

// The norm of the gradient of all parameters of encoder layer l, from 0.
double length_of_layer(const Transformer *g, int l) {
    char path[NAME_SIZE];
    double total = 0;
    snprintf(path, sizeof path, "encoder.%d.", l);
    for (int i = 0; i < g->list.tensors; i++)
        if (!strncmp(g->list.tensor[i].name.text, path, strlen(path)))
            total += pow(length_of(*g->list.tensor[i].mat), 2);
    return sqrt(total);
}

// A random input, or a random gradient; or ones, the gradient of a sum.
Mat random_mat(Arena *arena, uint64_t key, bool ones) {
    Mat m = arena_mat(arena, B * T, D);
    fill(m, 1);
    if (!ones)
        fill_normal(m, &key);
    return m;
}

// One fresh model: up through the stack, and down again. The norms are added
// to place[0 … L].
void add_model(Place *place, int kind, bool sum, int L, uint64_t seed) {
    Config config = {.layers = L, .d_model = D, .heads = 8, .d_ff = 4 * D,
                     .source_vocab = 5, .target_vocab = 5, .max_len = T,
                     .norm = kind == POST ? POST_NORM : PRE_NORM};
    Transformer *t = transformer_new(&config), *g = transformer_zeros(&config);
    initialize(&t->list, seed);
    Arena arena = {0};
    Pass pass = {.arena = &arena, .config = &config, .sentences = B};
    EncoderLayerSaved saved[DEEPEST];
    NormSaved last;
    Mat x = random_mat(&arena, random_key(seed, FOR_ORDER, 0), false);
    Mat dx = random_mat(&arena, random_key(seed, FOR_ORDER, 1), sum);
    place[0].output += length_of(x) / MODELS;
    for (int l = 0; l < L; l++) {
        x = encoder_layer_forward(&pass, &saved[l], &t->encoder.layer[l], x,
                                  (Mask){0});
        place[l + 1].output += length_of(x) / MODELS;
    }
    if (kind == PRE_FINAL) {
        Mat above = dx;
        norm_forward(&pass, &last, &t->encoder.norm, x);
        dx = arena_zeros(&arena, B * T, D);
        norm_backward(&pass, &last, &t->encoder.norm, &g->encoder.norm, dx,
                      above);
    }
    for (int l = L - 1; l >= 0; l--) {
        place[l + 1].gradient += length_of(dx) / MODELS;
        dx = encoder_layer_backward(&pass, &saved[l], &t->encoder.layer[l],
                                    &g->encoder.layer[l], dx);
        place[l + 1].weights += length_of_layer(g, l) / MODELS;
    }
    place[0].gradient += length_of(dx) / MODELS;
    arena_free(&arena);
    transformer_free(t);
    transformer_free(g);
}

void measure(int kind, bool sum, int L) {
    Place place[DEEPEST + 1] = {{0}};
    for (uint64_t seed = 1; seed <= MODELS; seed++)
        add_model(place, kind, sum, L, seed);
    for (int l = 0; l <= L; l++)
        printf("%s,%s,%d,%d,%.5g,%.5g,%.5g\n", norm_name[kind],
               sum ? "sum" : "random", L, l, place[l].output, place[l].gradient,
               place[l].weights);
}

int main(void) {
    const int layers[] = {1, 2, 4, 6, 8, DEEPEST};
    printf("norm,loss,layers,layer,output,gradient,weights\n");
    for (int kind = POST; kind <= PRE_FINAL; kind++)
        for (int sum = 0; sum <= 1; sum++)
            for (int i = 0; i < 6; i++)
                measure(kind, sum, layers[i]);
}
