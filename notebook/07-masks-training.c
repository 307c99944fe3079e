// Lab 7, continued: training without the causal mask.
//
// The same model, with one layer on each side, is trained twice to reverse 4 to
// 10 letters, from the same start on the same batches: once with the causal
// mask in the decoder's self-attention, once without. Without it, position i
// can look at position i+1 of the decoder's input, which holds the very word
// that is expected at i.
//
//     07-masks-training STEPS EVERY
//
// trains for STEPS steps, and after every EVERY steps tests the model on 200
// unseen pairs:
//
//     mask,step,loss,accuracy,written
//
// mask: "causal" or "none". loss: nats per token, with the true words before
// each given (teacher forcing). accuracy: percent of tokens that are then the
// most probable. written: percent of tokens that are right when the model
// writes the whole answer itself, greedily, word by word; each time with the
// mask that it was trained with.
//
// What the models write for some pairs goes to the file
// build/notebook/07-masks-written.csv: mask,source,expected,written.

#include "lib/lab.h"

enum { LAYERS = 1, WIDTH = 64, SHOWN = 3 };

// transformer_forward, except that the causal mask may be missing.
Mat forward(Pass *pass, Saved *s, const Transformer *t, const Batch *batch,
            bool causal) {
    int B = batch->sentences, S = batch->source_length;
    int T = batch->target_length;
    Masks masks = {
        .source = padding_mask(pass->arena, batch->source, B, S),
        .target = causal ? causal_padding_mask(pass->arena, batch->input, B, T)
                         : padding_mask(pass->arena, batch->input, B, T),
    };
    pass->sentences = B;
    encode(pass, s, t, batch->source, S, masks.source);
    return decode(pass, s, t, batch->input, T, masks);
}

// train_step, with this forward pass.
void step(Trainer *t, const Batch *batch, bool causal) {
    Pass pass = {.arena = &t->arena, .config = &t->model->config};
    Saved saved;
    Mat logits = forward(&pass, &saved, t->model, batch, causal);
    Loss loss = loss_and_gradient(&t->arena, logits, batch->expected);
    clear(t->gradient->list.values, t->gradient->list.count);
    transformer_backward(&pass, &saved, t->model, t->gradient, logits);
    update(t, loss);
}

// Greedy decoding as you would write it first: for each word, all words written
// so far go through the decoder again. out (B·P), P = target_length.
void write_words(Trainer *t, const Batch *batch, bool causal, int *out) {
    int B = batch->sentences, P = batch->target_length;
    Pass pass = {.arena = &t->arena, .config = &t->model->config};
    Saved saved;
    for (int n = 1; n <= P; n++) {
        size_t mark = t->arena.used;
        int *input = arena_take(&t->arena, (size_t)(B * n), sizeof *input);
        for (int i = 0; i < B * n; i++)
            input[i] = i % n ? out[i / n * P + i % n - 1] : START;
        Batch written = {B, batch->source_length, n, batch->source, input,
                         NULL};
        Mat logits = forward(&pass, &saved, t->model, &written, causal);
        for (int b = 0; b < B; b++)
            out[b * P + n - 1] = arg_max(row(logits, b * n + n - 1), END,
                                         logits.cols);
        arena_release(&t->arena, mark);
    }
}

// A line of CSV: how good is the model now? out receives what it writes.
void report(Trainer *t, const Batch *batch, bool causal, int *out) {
    Pass pass = {.arena = &t->arena, .config = &t->model->config};
    Saved saved;
    int n = batch->sentences * batch->target_length, right = 0;
    Mat logits = forward(&pass, &saved, t->model, batch, causal);
    Mat lse = arena_mat(&t->arena, logits.rows, 1);
    Loss loss = loss_forward(lse, logits, batch->expected, 0, &t->arena);
    write_words(t, batch, causal, out);
    for (int i = 0; i < n; i++)
        right += batch->expected[i] != PAD && out[i] == batch->expected[i];
    printf("%s,%" PRId64 ",%.5g,%.4g,%.4g\n", causal ? "causal" : "none",
           t->step, loss.cross_entropy / loss.tokens,
           100.0 * loss.correct / loss.tokens, 100.0 * right / loss.tokens);
}

// What it writes for the first pairs.
void show(FILE *file, const Checkpoint *c, const Pairs *p, const int *out,
          int P, bool causal) {
    for (int b = 0; b < SHOWN; b++) {
        char *source = text_of(c, &c->source, p->source[b]);
        char *target = text_of(c, &c->target, p->target[b]);
        char *written = detokenize(out + b * P, P, &c->target,
                                   c->settings.tokenizer);
        fprintf(file, "%s,%s,%s,%s\n", causal ? "causal" : "none", source,
                target, written);
        free(source);
        free(target);
        free(written);
    }
}

// Trains and tests one of the two models.
void train_one(bool causal, int steps, int every, FILE *file) {
    const char *path = "data/reverse.train.tsv";
    Checkpoint c = {.settings = {
        .config = {.layers = LAYERS, .d_model = WIDTH, .heads = 4,
                   .d_ff = 2 * WIDTH, .max_len = 16},
        .recipe = {.rate = 2e-3, .warmup = 100, .clip = 1, .batch = 64,
                   .seed = 1},
        .min_count = 1}};
    Text text = read_pairs(path, c.settings.tokenizer);
    new_model(&c, path, &text);
    Trainer *t = &c.trainer;
    Pairs data = number_pairs(path, text, &c);
    Pairs unseen = load_pairs("data/reverse.valid.tsv", &c);
    int *order = allocate((size_t)data.count, sizeof *order);
    for (int i = 0; i < unseen.count; i++)
        order[i] = i;
    Arena arena = {0};
    Batch test = make_batch(&arena, &unseen, order, unseen.count);
    int P = test.target_length;
    int *out = arena_take(&arena, (size_t)(test.sentences * P), sizeof *out);
    int per_epoch = data.count / t->recipe.batch;
    report(t, &test, causal, out);
    while (t->step < steps) {
        int k = (int)(t->step % per_epoch) * t->recipe.batch;
        if (k == 0)
            epoch_order(order, &data, t->recipe.batch, 1, t->step / per_epoch);
        Batch batch = make_batch(&t->arena, &data, order + k, t->recipe.batch);
        step(t, &batch, causal);
        arena_release(&t->arena, 0);
        if (t->step % every == 0)
            report(t, &test, causal, out);
    }
    show(file, &c, &unseen, out, P, causal);
    free(order);
    arena_free(&arena);
    pairs_free(&data);
    pairs_free(&unseen);
    checkpoint_free(&c);
}

int main(int argc, char **argv) {
    if (argc != 3)
        fail("07-masks-training STEPS EVERY");
    use_one_thread();
    FILE *file = fopen("build/notebook/07-masks-written.csv", "w");
    if (!file)
        fail("cannot write build/notebook/07-masks-written.csv");
    fprintf(file, "mask,source,expected,written\n");
    printf("mask,step,loss,accuracy,written\n");
    train_one(true, atoi(argv[1]), atoi(argv[2]), file);
    train_one(false, atoi(argv[1]), atoi(argv[2]), file);
    fclose(file);
}
