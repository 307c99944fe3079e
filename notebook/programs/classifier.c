// classifier.c, used by labs 15 and 21: an encoder-only classifier, made of the
// parts of transformer.c.
//
// It reads a sentence and gives one answer about the whole of it:
//
//     words (B·S) → embedding + positions → encoder → mean → linear → (B,V)
//
// A batch has one row of logits for each sentence, not one for each position.
// The answer is a word of the target vocabulary, so loss_forward, loss_backward
// and the vocabulary serve as they are. (The V columns include the four special
// tokens, which are never the answer; a few steps of training rule them out.)
// Only two things are new: the list of parameters, which is shorter, and the
// mean over a sentence. The file is to be included after lab.h, and its letters
// are those of transformer.c.

// ## Parameters
//
// A classifier is a Transformer without its decoder: the same struct, but with
// a list that leaves the decoder and the target's tables out. What goes through
// the list (initialize, Adam's flat loops, transformer_free) need not know the
// difference.

// The source embedding, the encoder, the output layer, without memory for the
// numbers.
Transformer *classifier_outline(const Config *c) {
    int D = c->d_model;
    Transformer *t = encoder_outline(c);
    TensorList *l = &t->list;
    list_table(l, &t->source_embedding, c->source_vocab, D, "source_embedding");
    if (c->positions == LEARNED)
        list_table(l, &t->source_positions, c->max_len + 1, D,
                   "source_positions");
    list_encoder(l, &t->encoder, c);
    list_linear(l, &t->output, D, c->target_vocab, join("output", ""));
    return t;
}

// ## The mean of a sentence
//
// $$ m = \sum_s w_s x_s $$
//
// with w_s = 1/n for the n visible positions of the sentence, and 0 for its
// padding; else the mean would depend on the longest sentence of the batch.
// This is attention whose scores are all equal, so softmax_row gives the weights,
// and the mean is a product, whose backward pass we know from chapter 2:
// dx_sj = w_s dm_j. How to check it: each visible position gets the same
// gradient, dm/n, and padding gets none.

// x (B·S,D), mask over the positions of a sentence -> (B,D); the weights (B,S)
// are kept for the backward pass. With an empty mask, padding counts, too.
Mat mean_forward(Pass *pass, Mat *weights, Mat x, Mask mask) {
    int B = pass->sentences, S = x.rows / B;
    Mat mean = arena_zeros(pass->arena, B, x.cols);
    *weights = arena_zeros(pass->arena, B, S);
    for (int b = 0; b < B; b++) {
        softmax_row(row(*weights, b), mask_row(mask, b, 0), S);
        matmul_add(slice_rows(mean, b, 1), slice_rows(*weights, b, 1),
                   slice_rows(x, b * S, S));
    }
    return mean;
}

// dx (B·S,D) is added to; dmean (B,D) given
void mean_backward(Mat dx, Mat weights, Mat dmean) {
    int B = weights.rows, S = weights.cols;
    SHAPE(dx, B * S, dmean.cols);
    SHAPE(dmean, B, dx.cols);
    for (int b = 0; b < B; b++)
        matmul_add(slice_rows(dx, b * S, S),
                   transposed(slice_rows(weights, b, 1)),
                   slice_rows(dmean, b, 1));
}

// ## The whole model

// The masks that hide padding; an empty one does not, for comparison.
typedef struct {
    Mask attention; // (B of S,S): keys of the encoder
    Mask mean;      // (B of S,S), all rows of a sentence the same
} Hidden;

// What both the classifier and the reader below begin with.
typedef struct {
    EmbeddingSaved embedding;
    EncoderSaved encoder;
    Mat hidden; // (B·S,D)
} ReaderSaved;

typedef struct {
    ReaderSaved words;
    Mat weights; // (B,S) of the mean
    Mat mean;    // (B,D)
} ClassifierSaved;

// The sources are read -> s->hidden (B·S,D)
Mat words_forward(Pass *pass, ReaderSaved *s, const Transformer *t,
                  const Batch *batch, Mask mask) {
    pass->sentences = batch->sentences;
    Mat x = embedding_forward(pass, &s->embedding, t->source_embedding,
                              t->source_positions, batch->source,
                              batch->source_length);
    return s->hidden = encoder_forward(pass, &s->encoder, &t->encoder, x, mask);
}

// dx (B·S,D), the gradient of s->hidden -> all gradients, added to g
void words_backward(Pass *pass, const ReaderSaved *s, const Transformer *t,
                    Transformer *g, Mat dx) {
    dx = encoder_backward(pass, &s->encoder, &t->encoder, &g->encoder, dx);
    embedding_backward(&s->embedding, g->source_embedding, g->source_positions,
                       dx);
}

// Sources, for each of which one word is expected, the answer -> logits (B,V)
Mat classifier_forward(Pass *pass, ClassifierSaved *s, const Transformer *t,
                       const Batch *batch, Hidden hidden) {
    Mat x = words_forward(pass, &s->words, t, batch,
                          hidden.attention);                  // (1) encoder
    s->mean = mean_forward(pass, &s->weights, x, hidden.mean); // (2) mean
    return linear_forward(pass, &t->output, s->mean);         // (3) answer
}

// dlogits (B,V) -> all gradients, added to g
void classifier_backward(Pass *pass, const ClassifierSaved *s,
                         const Transformer *t, Transformer *g, Mat dlogits) {
    int B = s->weights.rows, S = s->weights.cols, D = s->mean.cols;
    // (3) logits = mean W + b
    Mat dmean = arena_zeros(pass->arena, B, D);
    linear_backward(dmean, &g->output, dlogits, s->mean, &t->output);
    // (2) mean = weights x
    Mat dx = arena_zeros(pass->arena, B * S, D);
    mean_backward(dx, s->weights, dmean);
    // (1) x = encoder(words)
    words_backward(pass, &s->words, t, g, dx);
}

// Forward, loss, backward: the gradients are added to g. The loss is summed
// over the sentences; the gradient is that of its mean.
Loss classifier_gradient(Pass *pass, const Transformer *t, Transformer *g,
                         const Batch *batch, Hidden hidden) {
    ClassifierSaved saved;
    Mat logits = classifier_forward(pass, &saved, t, batch, hidden);
    Loss loss = loss_and_gradient(pass->arena, logits, batch->expected);
    classifier_backward(pass, &saved, t, g, logits);
    return loss;
}

// ## An encoder that learns from text alone
//
//     words (B·S) → embedding + positions → encoder → linear → logits (B·S,V)
//
// It is the classifier without the mean: a row of logits for each position.
// Masked words (BERT) are guessed by an encoder that looks both ways; the next
// word (GPT), by one under a causal mask. All tensors but the output layer's
// have the same shapes as the classifier's, so lab 21 can carry them over.

// Forward, loss and, if there is a gradient g to add to, backward. The batch's
// sources are read; B·S words or pads are expected.
Loss reader_gradient(Pass *pass, const Transformer *t, Transformer *g,
                     const Batch *b, Mask mask) {
    ReaderSaved s;
    Mat logits = linear_forward(pass, &t->output,
                                words_forward(pass, &s, t, b, mask));
    Loss loss = loss_and_gradient(pass->arena, logits, b->expected);
    if (g) {
        Mat dx = arena_zeros(pass->arena, s.hidden.rows, s.hidden.cols);
        linear_backward(dx, &g->output, logits, s.hidden, &t->output);
        words_backward(pass, &s, t, g, dx);
    }
    return loss;
}
