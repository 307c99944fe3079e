// reader.h: an encoder that learns from text alone.
//
//     words (B·T) → embedding + positions → encoder → linear → logits (B·T,V)
//
// It is the classifier of lab 15 without the mean: a row of logits for each
// position. Masked words (BERT) are guessed by an encoder that looks both ways;
// the next word (GPT), by one under a causal mask. All tensors but those of the
// output layer have the same shapes in both, and so they can be carried over.
// Include it after lab.h and classifier.c. Its letters are those of
// transformer.c.

typedef struct {
    EmbeddingSaved embedding;
    EncoderSaved encoder;
    Mat hidden; // (B·T,D)
} ReaderSaved;

// The sources are read -> logits (B·T,V)
Mat reader_forward(Pass *pass, ReaderSaved *s, const Transformer *t,
                   const Batch *b, Mask mask) {
    pass->sentences = b->sentences;
    Mat x = embedding_forward(pass, &s->embedding, t->source_embedding,
                              t->source_positions, b->source,
                              b->source_length);
    s->hidden = encoder_forward(pass, &s->encoder, &t->encoder, x, mask);
    return linear_forward(pass, &t->output, s->hidden);
}

// dlogits (B·T,V) -> all gradients, added to g
void reader_backward(Pass *pass, const ReaderSaved *s, const Transformer *t,
                     Transformer *g, Mat dlogits) {
    Mat dx = arena_zeros(pass->arena, s->hidden.rows, s->hidden.cols);
    linear_backward(dx, &g->output, dlogits, s->hidden, &t->output);
    dx = encoder_backward(pass, &s->encoder, &t->encoder, &g->encoder, dx);
    embedding_backward(&s->embedding, g->source_embedding, g->source_positions,
                       dx);
}

// Forward, loss and, if there is a gradient g to add to, backward. Of the batch
// the sources are read; B·T words or pads are expected.
Loss reader_gradient(Pass *pass, const Transformer *t, Transformer *g,
                     const Batch *b, Mask mask) {
    ReaderSaved saved;
    Mat logits = reader_forward(pass, &saved, t, b, mask);
    Mat lse = arena_mat(pass->arena, logits.rows, 1);
    Loss loss = loss_forward(lse, logits, b->expected, 0, pass->arena);
    if (g) {
        loss_backward(logits, logits, lse, b->expected, 0, loss.tokens);
        reader_backward(pass, &saved, t, g, logits);
    }
    return loss;
}
