// Lab 7: what masks are for, and what goes wrong without them.
//
// The first argument selects the test; each prints a CSV of its own. The model
// is a fresh one of 2 layers and d_model 64.
//
// leak: one word of the decoder's input is replaced. Which logits notice?
//
//     mask,changed,position,difference
//
// mask: "causal" or "none", of the decoder's self-attention; changed: the place
// of the replaced word; position: that of the logits; both from 0. difference:
// the largest change of a logit there.
//
// padding: a source of LENGTH words, padded.
//
//     mask,pads,difference,content
//
// mask: "keys" hides padded keys; "queries" lets padded queries see nothing,
// but hides no key; "none" hides nothing. pads: how many. difference: the
// largest difference of a logit from that of the sentence without pads.
// content: its largest change when the pad's embedding gets other numbers.

#include "lib/lab.h"
#include "lib/measure.h"

enum { D = 64, V = 20, LENGTH = 6, MOST_PADS = 10, T = 10 };

typedef struct {
    Transformer *model;
    Arena arena;
} Lab;

Lab new_lab(void) {
    Config config = {.layers = 2, .d_model = D, .heads = 4, .d_ff = 4 * D,
                     .source_vocab = V, .target_vocab = V,
                     .max_len = LENGTH + MOST_PADS};
    Lab lab = {.model = transformer_new(&config)};
    initialize(&lab.model->list, 1);
    return lab;
}

// One source of S tokens and one target of T through the model -> logits (T,V)
Mat logits_of(Lab *lab, const int *source, int S, Mask source_mask,
              const int *target, Mask target_mask) {
    Pass pass = {.arena = &lab->arena, .config = &lab->model->config,
                 .sentences = 1};
    Saved *saved = arena_take(&lab->arena, 1, sizeof *saved);
    Masks masks = {.target = target_mask};
    if (source_mask.row_stride == 0) // a mask over keys serves here, too
        masks.source = source_mask;
    encode(&pass, saved, lab->model, source, S, source_mask);
    return decode(&pass, saved, lab->model, target, T, masks);
}

// Words from FIRST_TOKEN on, and pads after them.
void words(int *ids, int count, int pads) {
    for (int i = 0; i < count + pads; i++)
        ids[i] = i < count ? FIRST_TOKEN + i * 5 % (V - FIRST_TOKEN) : PAD;
}

void leak(Lab *lab) {
    int source[LENGTH], target[T];
    words(source, LENGTH, 0);
    printf("mask,changed,position,difference\n");
    for (int causal = 0; causal <= 1; causal++)
        for (int changed = 0; changed < T; changed++) {
            Mask none = {0};
            Mask mask = causal ? causal_mask(&lab->arena, T) : none;
            words(target, T, 0);
            Mat before = logits_of(lab, source, LENGTH, none, target, mask);
            target[changed] = FIRST_TOKEN + 1; // not in the sentence
            Mat after = logits_of(lab, source, LENGTH, none, target, mask);
            for (int i = 0; i < T; i++)
                printf("%s,%d,%d,%.6g\n", causal ? "causal" : "none", changed,
                       i, largest_difference(slice_rows(before, i, 1),
                                             slice_rows(after, i, 1)));
        }
}

enum { KEYS, QUERIES, NONE };

Mask source_mask(Arena *arena, int kind, const int *ids, int S) {
    if (kind == NONE)
        return (Mask){0};
    if (kind == KEYS)
        return padding_mask(arena, ids, 1, S);
    unsigned char *visible = arena_take(arena, (size_t)(S * S), 1);
    for (int i = 0; i < S * S; i++)
        visible[i] = ids[i / S] != PAD;
    return (Mask){visible, 0, S};
}

void padding(Lab *lab) {
    const char *const name[] = {"keys", "queries", "none"};
    int source[LENGTH + MOST_PADS], target[T];
    words(target, T, 0);
    Mask causal = causal_mask(&lab->arena, T);
    Mat pad = slice_rows(lab->model->source_embedding, PAD, 1);
    Mat kept = arena_mat(&lab->arena, 1, D);
    copy(kept, pad);
    printf("mask,pads,difference,content\n");
    for (int kind = KEYS; kind <= NONE; kind++)
        for (int pads = 0; pads <= MOST_PADS; pads++) {
            int S = LENGTH + pads;
            words(source, LENGTH, pads);
            Mask mask = source_mask(&lab->arena, kind, source, S);
            Mat alone = logits_of(lab, source, LENGTH, (Mask){0}, target,
                                  causal);
            Mat padded = logits_of(lab, source, S, mask, target, causal);
            fill(pad, 1);
            Mat other = logits_of(lab, source, S, mask, target, causal);
            copy(pad, kept);
            printf("%s,%d,%.6g,%.6g\n", name[kind], pads,
                   largest_difference(alone, padded),
                   largest_difference(padded, other));
        }
}

int main(int argc, char **argv) {
    Lab lab = new_lab();
    if (argc > 1 && !strcmp(argv[1], "padding"))
        padding(&lab);
    else
        leak(&lab);
    arena_free(&lab.arena);
    transformer_free(lab.model);
}
