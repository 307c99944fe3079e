// What the page shows of a model: attention, the decoding step by step, and one
// head in numbers. Included by live.c.

// What was looked at last: a sentence, the model's translation of it, and all
// that was computed on the way.
struct {
    Arena arena;
    Pass pass;
    Saved saved;    // of the whole translation at once
    Batch batch;
    Cache cache;    // of the decoding, word by word
} looked;

// ------------------------------------------------------------- the decoding

enum { LIKELIEST = 5 };

// The likeliest tokens after logits (1,V), as beam search would find them for
// its first step -> how many there are. It leaves out pad and start.
int likeliest(Hypothesis *best, Mat logits) {
    Hypothesis open[LIKELIEST] = {{0}};
    open[1].sum = -INFINITY; // the first is the only one
    logits.rows = LIKELIEST;
    return best_candidates(best, open, logits);
}

// Translates greedily, with the program's own steps and cache, and prints for
// each step the likeliest tokens, [["la",0.98],["le",0.01]]; the first is taken.
Sentence decode_greedily(Pass *pass, Sentence source) {
    const Transformer *model = live.trainer.model;
    int P = longest_output(model, source.length);
    Sentence own = {arena_take(pass->arena, (size_t)P, sizeof(int)), 0};
    looked.cache = decoder_start(pass, model, source.id, 1, source.length, P);
    int id = START;
    putchar('[');
    while (id != END && own.length < P) {
        Hypothesis best[LIKELIEST];
        int n = likeliest(best, decoder_step(pass, &looked.cache, &id));
        for (int i = 0; i < n; i++) {
            printf(i ? "," : own.length ? ",[" : "[");
            print_guess(best[i].token, exp(best[i].sum));
        }
        putchar(']');
        id = own.id[own.length++] = best[0].token;
    }
    putchar(']');
    return own;
}

// ["piano","tuba"]: the words (or characters) that the model does not know.
void print_unknown(const char *text) {
    Tokenizer how = live.settings.tokenizer;
    const char *word, *separator = "";
    putchar('[');
    for (int n; (word = next_token(&text, how, &n)) != NULL;) {
        char *one = allocate((size_t)n + 1, 1);
        Sentence s = tokenize(memcpy(one, word, (size_t)n), &live.source, how);
        if (unknowns(s.id, s.length)) {
            printf("%s", separator);
            print_text(one);
            separator = ",";
        }
        free(s.id);
        free(one);
    }
    putchar(']');
}

// Everything about the last sentence but its matrices.
void print_looked(Sentence own) {
    enum { SOME = 30 };
    const Vocab *from = &live.source;
    int known[SOME], n = min_int(SOME, from->count - FIRST_TOKEN);
    for (int i = 0; i < n; i++)
        known[i] = FIRST_TOKEN + i * (from->count - FIRST_TOKEN) / n;
    char *words = text_of(&live, &live.target, own);
    putchar(',');
    print_batch(&looked.batch);
    printf(",\"known\":");
    print_tokens(from, known, n);
    printf(",\"text\":");
    print_text(words);
    free(words);
}

// Translates a text, and keeps what the model computed for the functions below:
// {"steps":[…],"unknown":[],"source":["the","car","<end>"],
//  "input":["<start>","la","voiture"],"expected":["la","voiture","<end>"],
//  "known":["a","the"],"text":"la voiture"}, or {"wrong":"it has 50 tokens; …"}
EXPORT void inspect(const char *text) {
    Sentence source = {0};
    const char *wrong = wrong_sentence(text, &live.source, &source);
    if (wrong) {
        printf("{\"wrong\":\"%s\"}", wrong);
    } else {
        arena_release(&looked.arena, 0);
        looked.pass = (Pass){.arena = &looked.arena,
                             .config = &live.trainer.model->config};
        printf("{\"steps\":");
        Sentence own = decode_greedily(&looked.pass, source);
        looked.batch = look(&looked.pass, &looked.saved, live.trainer.model,
                            source, own);
        printf(",\"unknown\":");
        print_unknown(text);
        print_looked(own);
        putchar('}');
    }
    free(source.id);
}

// ---------------------------------------------------------------- attention

// The weights of one head.
EXPORT void attention(int kind, int layer, int h) {
    print_mat(attention_of(&looked.saved, kind, layer, h,
                           looked.pass.config->heads));
}

// {"k":[[…]],"v":[[…]]}: what the cache holds for one head.
EXPORT void cached(int layer, int h) {
    Head a = head_of(&looked.cache.layer[layer].self, h);
    printf("{\"k\":");
    print_mat(a.k);
    printf(",\"v\":");
    print_mat(a.v);
    putchar('}');
}

// ------------------------------------------------------ one head, in numbers

// A head on its own: copies, which may be changed.
struct {
    Arena arena;
    Head a, d;            // the head, and under the same names its gradients
    Mat mask;             // (T,S) 1: visible
    Mat scores, scaled;   // what attention_forward has in weights on its way
    Mat dweights, dscaled;                           // and attention_backward
} one;

// Its matrices, in the order in which they are computed.
const struct {
    const char *name;
    const Mat *mat;
} matrices[] = {
    {"q", &one.a.q}, {"k", &one.a.k}, {"v", &one.a.v}, {"scores", &one.scores},
    {"scaled", &one.scaled}, {"mask", &one.mask}, {"weights", &one.a.weights},
    {"out", &one.a.out}, {"dout", &one.d.out}, {"dweights", &one.dweights},
    {"dscaled", &one.dscaled}, {"dscores", &one.d.weights}, {"dq", &one.d.q},
    {"dk", &one.d.k}, {"dv", &one.d.v},
};
enum { MATRICES = sizeof matrices / sizeof *matrices };

// A head with memory of its own for T queries, S keys and a width of K.
Head new_head(Arena *arena, int T, int S, int K) {
    Head a = {.q = arena_zeros(arena, T, K), .k = arena_zeros(arena, S, K),
              .v = arena_zeros(arena, S, K), .out = arena_zeros(arena, T, K),
              .weights = arena_zeros(arena, T, S)};
    a.dropped = a.weights;
    return a;
}

// What the model multiplies in this kind of attention, in this layer.
const MultiHeadSaved *multi_head_of(int kind, int layer) {
    const DecoderLayerSaved *d = &looked.saved.decoder.layer[layer];
    return kind == DECODER ? &d->self_attention.multi_head
         : kind == CROSS ? &d->cross_attention.multi_head
         : &looked.saved.encoder.layer[layer].self_attention.multi_head;
}

// Copies a head of the model. The gradient of its result is made up: it asks
// for one number, the first of the first query; where the causal mask leaves
// that query nothing to choose from, of the last.
EXPORT void take_head(int kind, int layer, int h) {
    Head from = head_of(multi_head_of(kind, layer), h);
    int T = from.q.rows, S = from.k.rows, K = from.q.cols;
    Arena *arena = &one.arena;
    arena_release(arena, 0);
    one.a = new_head(arena, T, S, K);
    one.d = new_head(arena, T, S, K);
    one.a.scale = from.scale;
    copy(one.a.q, from.q);
    copy(one.a.k, from.k);
    copy(one.a.v, from.v);
    *at(one.d.out, kind == DECODER ? T - 1 : 0, 0) = 1;
    Mat *own[] = {&one.mask, &one.scores, &one.scaled, &one.dweights,
                  &one.dscaled};
    for (int i = 0; i < 5; i++)
        *own[i] = arena_zeros(arena, T, S);
    Mask mask = kind == DECODER
              ? causal_padding_mask(arena, looked.batch.input, 1, T)
              : padding_mask(arena, looked.batch.source, 1, S);
    for (int i = 0; i < T; i++)
        for (int j = 0; j < S; j++)
            *at(one.mask, i, j) = mask_row(mask, 0, i)[j];
}

// Changes a number of q, k, v, dout or the mask; or the scale. What is not
// there (the address of the page may say anything) is left alone.
EXPORT void change(const char *name, int i, int j, double x) {
    for (int n = 0; n < MATRICES; n++) {
        const Mat *m = matrices[n].mat;
        if (!strcmp(name, matrices[n].name) && i >= 0 && i < m->rows && j >= 0
            && j < m->cols)
            *at(*m, i, j) = (real)x;
    }
    if (!strcmp(name, "scale"))
        one.a.scale = (real)x;
}

// The mask as attention_forward takes it.
Mask mask_of(Arena *arena, Mat m) {
    unsigned char *visible = arena_take(arena, (size_t)m.rows, (size_t)m.cols);
    for (int i = 0; i < m.rows; i++)
        for (int j = 0; j < m.cols; j++)
            visible[i * m.cols + j] = *at(m, i, j) != 0;
    return (Mask){visible, 0, m.cols};
}

// Forward and backward. Both work in place, so the stages between are computed
// by the same parts once more.
EXPORT void compute_head(void) {
    Head a = one.a, d = one.d;
    size_t mark = one.arena.used;
    attention_forward(a, mask_of(&one.arena, one.mask));
    fill(one.scores, 0);
    small_matmul_add(one.scores, a.q, transposed(a.k));
    copy(one.scaled, one.scores);
    scale_by(one.scaled, a.scale);
    fill(d.q, 0);
    fill(d.k, 0);
    fill(d.v, 0);
    attention_backward(d, a);
    fill(one.dweights, 0);
    small_matmul_add(one.dweights, d.out, transposed(a.v));
    copy(one.dscaled, one.dweights);
    softmax_backward(one.dscaled, a.weights);
    arena_release(&one.arena, mark);
    printf("{\"scale\":");
    print_number(a.scale);
    for (int n = 0; n < MATRICES; n++) {
        printf(",\"%s\":", matrices[n].name);
        print_mat(*matrices[n].mat);
    }
    putchar('}');
}
