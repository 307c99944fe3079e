// Lab 13: what attention costs, and where it overtakes the feed-forward net.
//
// One encoder layer without its norms, for one sentence of n tokens, in three
// parts. Only the operations of matrix products are counted, a multiplication
// and an addition as two: 8 n D² in the projections, 4 n² D in attention, and
// 4 n D F in the feed-forward network. The count leaves out what is not a
// product, such as the softmax. `13-cost time LONGEST RUNS` prints a line for
// each width, length up to LONGEST, part and pass:
//
//     d_model,length,part,pass,seconds,operations
//
// pass: forward, or training, which is forward and backward. seconds: time on
// one core, the shortest of RUNS runs or more. operations: by the count above;
// the backward pass has two products for each one of the forward pass.
// `13-cost memory LONGEST` prints
//
//     d_model,length,part,bytes
//
// bytes: what multi_head_forward (attention with its projections) or
// ffn_forward leaves in the arena for the backward pass, without dropout.

#include "lib/lab.h"
#include "lib/measure.h"

enum { HEADS = 8, WIDEST = 512 };

typedef struct {
    int n;
    Transformer *model, *gradient; // of one layer
    Arena room, scratch;
    Mat x, q, k, v, context, junk;      // (n,D); junk takes all gradients
    Mat weights, dweights;              // (H·n,n)
} Lab;

Lab lab_new(int d_model, int n) {
    Config config = {.source_vocab = 8, .target_vocab = 8, .layers = 1,
                     .d_model = d_model, .heads = HEADS, .d_ff = 4 * d_model,
                     .max_len = 8};
    Lab lab = {.n = n, .model = transformer_new(&config),
               .gradient = transformer_zeros(&config)};
    initialize(&lab.model->list, 1);
    Mat *mat[] = {&lab.x, &lab.q, &lab.k, &lab.v, &lab.context, &lab.junk};
    uint64_t state = random_key(1, FOR_PARAMETERS, 0);
    for (int i = 0; i < 6; i++) {
        *mat[i] = arena_mat(&lab.room, n, d_model);
        fill_normal(*mat[i], &state);
    }
    lab.weights = arena_zeros(&lab.room, HEADS * n, n);
    lab.dweights = arena_zeros(&lab.room, HEADS * n, n);
    return lab;
}

void lab_free(Lab *lab) {
    transformer_free(lab->model);
    transformer_free(lab->gradient);
    arena_free(&lab->room);
    arena_free(&lab->scratch);
}

void projections(void *it, bool training) {
    Lab *lab = it;
    MultiHead *w = &lab->model->encoder.layer[0].self_attention.multi_head;
    MultiHead *dw = &lab->gradient->encoder.layer[0].self_attention.multi_head;
    Linear *linear[] = {&w->query, &w->key, &w->value, &w->output};
    Linear *dlinear[] = {&dw->query, &dw->key, &dw->value, &dw->output};
    Pass pass = {.arena = &lab->scratch};
    for (int i = 0; i < 4; i++) {
        linear_forward(&pass, linear[i], lab->x);
        if (training)
            linear_backward(lab->junk, dlinear[i], lab->x, lab->x, linear[i]);
    }
    arena_release(&lab->scratch, 0);
}

void attention(void *it, bool training) {
    Lab *lab = it;
    MultiHeadSaved s = {
        .q = lab->q, .k = lab->k, .v = lab->v, .context = lab->context,
        .weights = lab->weights, .dropped = lab->weights, .sentences = 1,
        .heads = HEADS};
    MultiHeadSaved d = {
        .q = lab->junk, .k = lab->junk, .v = lab->junk, .context = lab->x,
        .weights = lab->dweights, .dropped = lab->dweights, .sentences = 1,
        .heads = HEADS};
    for (int h = 0; h < HEADS; h++) {
        attention_forward(head_of(&s, h), (Mask){0});
        if (training)
            attention_backward(head_of(&d, h), head_of(&s, h));
    }
}

void feed_forward(void *it, bool training) {
    Lab *lab = it;
    FeedForward *w = &lab->model->encoder.layer[0].feed_forward.network;
    FeedForward *dw = &lab->gradient->encoder.layer[0].feed_forward.network;
    Pass pass = {.arena = &lab->scratch, .config = &lab->model->config};
    FeedForwardSaved saved;
    ffn_forward(&pass, &saved, w, lab->x);
    if (training)
        ffn_backward(&pass, &saved, w, dw, lab->junk, lab->x);
    arena_release(&lab->scratch, 0);
}

void measure_time(int d_model, int n, int runs) {
    Lab lab = lab_new(d_model, n);
    double D = d_model, N = n, F = 4 * D;
    struct {
        const char *name;
        void (*run)(void *, bool);
        double operations;
    } part[] = {
        {"projections", projections, 8 * N * D * D},
        {"attention", attention, 4 * N * N * D},
        {"feed-forward", feed_forward, 4 * N * D * F},
    };
    for (int i = 0; i < 3; i++)
        for (int training = 0; training < 2; training++)
            printf("%d,%d,%s,%s,%.4g,%.0f\n", d_model, n, part[i].name,
                   training ? "training" : "forward",
                   shortest_time(part[i].run, &lab, training, runs),
                   part[i].operations * (training ? 3 : 1));
    lab_free(&lab);
}

void measure_memory(int d_model, int n) {
    Lab lab = lab_new(d_model, n);
    Arena *arena = &lab.scratch;
    Pass pass = {.arena = arena, .config = &lab.model->config, .sentences = 1};
    const EncoderLayer *w = &lab.model->encoder.layer[0];
    MultiHeadSaved attended;
    FeedForwardSaved fed;
    multi_head_forward(&pass, &attended, &w->self_attention.multi_head, lab.x,
                       lab.x, (Mask){0});
    printf("%d,%d,attention,%zu\n", d_model, n, arena->used);
    arena_release(arena, 0);
    ffn_forward(&pass, &fed, &w->feed_forward.network, lab.x);
    printf("%d,%d,feed-forward,%zu\n", d_model, n, arena->used);
    lab_free(&lab);
}

int main(int argc, char **argv) {
    bool memory = argc == 3 && strcmp(argv[1], "memory") == 0;
    if (!memory && !(argc == 4 && strcmp(argv[1], "time") == 0))
        fail("13-cost time LONGEST RUNS | memory LONGEST");
    use_one_thread();
    puts(memory ? "d_model,length,part,bytes"
                : "d_model,length,part,pass,seconds,operations");
    for (int d_model = 128; d_model <= WIDEST; d_model *= 2)
        for (int n = 32; n <= atoi(argv[2]); n *= 2)
            if (memory)
                measure_memory(d_model, n);
            else
                measure_time(d_model, n, atoi(argv[3]));
}
