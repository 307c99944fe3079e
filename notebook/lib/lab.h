// lab.h, used by all labs: the whole of transformer.c, random numbers, and what
// models made of its parts have in common.

#define TRANSFORMER_NO_MAIN
#include "../../transformer.c"

// A whole number from 0 to n - 1.
int random_below(int n, uint64_t *state) {
    return (int)(uniform(state) * n);
}

// Normally distributed, mean 0 and standard deviation 1 (Box and Muller, 1958).
double normal(uint64_t *state) {
    double radius = sqrt(-2 * log(1 - uniform(state)));
    return radius * cos(6.283185307179586 * uniform(state));
}

// Such numbers for a matrix.
void fill_normal(Mat m, uint64_t *state) {
    for (int i = 0; i < m.rows * m.cols; i++)
        m.at[i] = (real)normal(state);
}

// With one thread from now on: several of these programs run side by side, and
// what is timed should depend on one core alone.
void use_one_thread(void) {
#ifdef _OPENMP
    omp_set_num_threads(1);
#endif
}

// A fresh model, ready for training; `outline` says which tensors it has.
Trainer fresh_trainer(Transformer *outline(const Config *),
                      const Config *config, const Recipe *recipe) {
    Transformer *model = outline(config), *gradient = outline(config);
    transformer_place(model);
    transformer_place(gradient);
    add_sinusoids(model);
    initialize(&model->list, (uint64_t)recipe->seed);
    return trainer_new(model, gradient, recipe);
}

// The loss of these logits (N,V); they become the gradient of its mean.
Loss loss_and_gradient(Arena *arena, Mat logits, const int *expected) {
    Mat lse = arena_mat(arena, logits.rows, 1);
    Loss loss = loss_forward(lse, logits, expected, 0, arena);
    loss_backward(logits, logits, lse, expected, 0, loss.tokens);
    return loss;
}

// A Transformer without a decoder, and with nothing in its list yet.
Transformer *encoder_outline(const Config *config) {
    Transformer *t = allocate(1, sizeof *t);
    t->config = *config;
    t->encoder.layer = allocate((size_t)config->layers,
                                sizeof *t->encoder.layer);
    return t;
}
