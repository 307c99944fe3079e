// Chapter 9: masks, and what must not leak through the whole model.

#include "../lib/test.h"
#include "../lib/model.h"

void test_masks(void) {
    Mask padding = padding_mask(&room, source_ids, B, S);
    const unsigned char expected[S] = {1, 1, 1, 0, 0};
    CLAIM(!memcmp(mask_row(padding, 1, 0), expected, S)
          && !memcmp(mask_row(padding, 1, 3), expected, S),
          "a padding mask hides padded keys from every query");
    Mask causal = causal_mask(&room, 3);
    const unsigned char triangle[9] = {1, 0, 0, 1, 1, 0, 1, 1, 1};
    CLAIM(!memcmp(mask_row(causal, 7, 0), triangle, 9)
          && !memcmp(mask_row(causal, 7, 2), triangle + 6, 3),
          "a causal mask shows query i the keys up to i, in every sentence");
    Mask both = causal_padding_mask(&room, input_ids, B, T);
    const unsigned char last[T] = {1, 1, 0, 0}, full[T] = {1, 1, 1, 1};
    CLAIM(!memcmp(mask_row(both, 1, 3), last, T)
          && !memcmp(mask_row(both, 0, 3), full, T), "both together");
    Mask short_ones = causal_padding_mask(&room, input_ids, 4, 2);
    CLAIM(!memcmp(mask_row(short_ones, 2, 0), "\1\0\1\1\0\0\0\0", 8),
          "also in four sentences of two tokens");
    CLAIM(mask_row((Mask){0}, 1, 2) == NULL
          && mask_row((Mask){NULL, S, 1}, 1, 2) == NULL,
          "no mask shows everything");
    Mask second = mask_of_sentence(both, 1);
    CLAIM(mask_row(second, 0, 2) == mask_row(both, 1, 2)
          && mask_row(second, 1, 2) == mask_row(both, 1, 2),
          "the mask of one sentence is the same for every sentence");
}

Mat logits_of(ModelCase *c) {
    Pass pass;
    Saved s;
    return model_logits(c, &pass, &s);
}

// The future: changing a later target word changes no earlier logit.
void test_no_leak(ModelCase *c, const char *name) {
    int changed[B * T];
    memcpy(changed, input_ids, sizeof changed);
    Mat before = logits_of(c);
    changed[2] = 9; // word 2 of sentence 0
    c->batch.input = changed;
    Mat after = logits_of(c);
    CLAIM(same_bits(slice_rows(before, 0, 2), slice_rows(after, 0, 2)),
          "%s: a later target word changes no earlier logit", name);
    CLAIM(!same_bits(slice_rows(before, 2, 1), slice_rows(after, 2, 1)),
          "%s: but it changes its own", name);
    c->batch.input = input_ids;
}

// Padding: whatever it holds, nothing that counts changes. The mask is made
// from the ids, so the embedding of PAD is changed, not the id.
void test_padding(ModelCase *c, const char *name) {
    Mat before = logits_of(c);
    double loss = model_loss(c);
    for (int j = 0; j < D; j++) {
        *at(c->model->source_embedding, PAD, j) += 5;
        if (!c->model->config.tie)
            *at(c->model->target_embedding, PAD, j) += 5;
    }
    Mat after = logits_of(c);
    CLAIM(same_bits(slice_rows(before, 0, T + 2), slice_rows(after, 0, T + 2)),
          "%s: what padding holds changes no logit of a real position", name);
    CLAIM(loss == model_loss(c), "%s: or the loss", name);
    Transformer *g = model_gradient(c);
    double most = 0;
    for (int j = 0; j < D; j++)
        most = fmax(most, fabs(*at(g->source_embedding, PAD, j) - PREFILL));
    CLAIM(most == 0, "%s: the pad's embedding gets no gradient", name);
    transformer_free(g);
}

// A sentence gives the same in a batch as alone.
void test_alone(ModelCase *c, const char *name) {
    Mat together = logits_of(c);
    Batch whole = c->batch;
    c->batch = (Batch){1, 3, 2, source_ids + S, input_ids + T, expected_ids + T};
    Mat alone = logits_of(c);
    double error = largest_error(slice_rows(together, T, 2), alone);
    CLAIM(error < 1e-10, "%s: a sentence gives the same alone and padded in a "
          "batch: %.0e", name, error);
    c->batch = whole;
}

// A target of 46,400 characters has a mask of more than 2³¹ bytes, if memory
// can hold that many.
void test_large_mask(void) {
#if PTRDIFF_MAX > INT32_MAX
    const unsigned char first = 1;
    const ptrdiff_t length = 46400;
    Mask mask = {&first, length * length, length};
    CLAIM(mask_row(mask, 1, 46399) - &first == length * length + 46399 * length,
          "the rows of a mask may lie more than 2³¹ bytes apart");
#endif
}

int main(void) {
    test_masks();
    for (int norm = 0; norm < NORMS; norm++) {
        const char *name = norm == POST_NORM ? "post-norm" : "pre-norm";
        Config config = small_config();
        config.norm = norm;
        ModelCase c = {random_transformer(&config), small_batch(), false, 0};
        test_no_leak(&c, name);
        test_alone(&c, name);
        test_padding(&c, name);
        transformer_free(c.model);
    }
    if (sizeof(ptrdiff_t) > sizeof(int))
        test_large_mask();
    arena_free(&room);
    return claims_end();
}
