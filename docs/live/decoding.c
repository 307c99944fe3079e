// The decoding, word by word, with its cache. Included by live.c.

enum { LIKELIEST = 5 };

struct {
    Arena arena;
    Cache cache;
} decoding;

// The likeliest tokens after logits (1,V), as beam search would find them for
// its first step -> how many there are. It leaves out pad and start.
int likeliest(Hypothesis *best, Mat logits) {
    Hypothesis open[LIKELIEST] = {{0}};
    open[1].sum = -INFINITY; // the first is the only one
    logits.rows = LIKELIEST;
    return best_candidates(best, open, logits);
}

// Translates a text greedily, with the program's own steps and cache, and prints
// for each step the likeliest tokens, [["la",0.98],["le",0.01]]; the first is
// taken.
EXPORT void decode_greedily(const char *text) {
    Sentence source = {0};
    const Transformer *model = live.trainer.model;
    Pass pass = {.arena = &decoding.arena, .config = &model->config};
    if (wrong_sentence(text, &live.source, &source))
        return;
    arena_release(pass.arena, 0);
    int id = START, P = longest_output(model, source.length);
    decoding.cache = decoder_start(&pass, model, source.id, 1, source.length, P);
    putchar('[');
    for (int done = 0; id != END && done < P; done++) {
        Hypothesis best[LIKELIEST];
        int n = likeliest(best, decoder_step(&pass, &decoding.cache, &id));
        for (int i = 0; i < n; i++) {
            printf(i ? ",[" : done ? ",[[" : "[[");
            print_text(live.target.token[best[i].token]);
            putchar(',');
            print_number(exp(best[i].sum));
            putchar(']');
        }
        putchar(']');
        id = best[0].token;
    }
    putchar(']');
    free(source.id);
}

// {"k":[[…]],"v":[[…]]}: what the cache holds for one head.
EXPORT void cached(int layer, int h) {
    Head a = head_of(&decoding.cache.layer[layer].self, h);
    printf("{\"k\":");
    print_mat(a.k);
    printf(",\"v\":");
    print_mat(a.v);
    putchar('}');
}
