// The page's program in double precision: that of live.c, and beside it the GPT
// of notebook/programs/gpt.c, on its way through One sentence, and as it writes on.
//
// Its layers are an encoder's, under a causal mask. So the stages are those of
// flow.c, and only begin in another way.

#define GPT_NO_MAIN
#include "../../notebook/programs/gpt.c"
#include "live.c"

// The text: how it begins, and what the model has written since.
struct {
    char *text;
    Sentence tokens;
    int begins;       // tokens in which it begins
    Arena arena;
    Mat logits;       // of the next token
    int seen;         // tokens at its end that the model saw for them
} written;

// Reads the GPT from the file at model_path.
EXPORT void gpt_load(void) {
    checkpoint_free(&live);
    live = load_gpt(model_path, false);
}

// From the embedding on. The target has the tokens that are read, and the one
// after the last.
Stage *gpt_stages(void) {
    const Transformer *t = live.trainer.model;
    Transformer *g = flow.gradient;
    int T = flow.target.length - 1, *id = flow.target.id;
    flow.batch = (Batch){.sentences = 1, .target_length = T, .input = id,
                         .expected = id + 1};
    Stage *x = embed("text.", t->target_embedding, &g->target_embedding,
                     t->target_positions, &g->target_positions, id, T);
    return layers_stages(x, causal_mask(&flow.arena, T));
}

// Reads all of the text as write_on does: first how it begins, then token by
// token; the model forgets what write_on forgets.
void read_text_again(void) {
    const Transformer *t = live.trainer.model;
    Arena *arena = &written.arena;
    arena_release(arena, 0);
    Pass pass = {.arena = arena, .config = &t->config, .sentences = 1};
    Cache cache = gpt_cache(arena, t, 1);
    size_t mark = arena->used;
    int done = 0;
    for (int n = written.begins; n <= written.tokens.length; n++) {
        arena_release(arena, mark);
        written.logits = read_on(&pass, &cache, written.tokens.id, &done, n);
    }
    written.seen = cache.length;
}

// What the text is now, unless the model itself has written it: then it is cut
// into tokens already.
void take_text(const char *text) {
    if (written.text && !strcmp(text, written.text))
        return;
    free(written.text);
    free(written.tokens.id);
    written.text = strcpy(allocate(strlen(text) + 1, 1), text);
    written.tokens = tokens_in_text(text, &live.target, live.settings.tokenizer);
    written.begins = written.tokens.length;
}

// What the model sees of the text, and after it what is to come next: the tokens
// of `next`, or, if there are none, the likeliest.
Sentence seen_and(const char *next) {
    const Vocab *v = &live.target;
    Sentence come = tokens_in_text(next, v, live.settings.tokenizer);
    int seen = written.seen, more = max_int(come.length, 1);
    Sentence all = {allocate((size_t)(seen + more), sizeof(int)), seen + more};
    memcpy(all.id, written.tokens.id + written.tokens.length - seen,
           sizeof(int) * (size_t)seen);
    all.id[seen] = arg_max(written.logits.at, FIRST_TOKEN, v->count);
    memcpy(all.id + seen, come.id, sizeof(int) * (size_t)come.length);
    free(come.id);
    return all;
}

// A text, and what is expected after it; "" asks for the likeliest token. What
// is printed is what flow_begin prints.
EXPORT void gpt_begin(const char *text, const char *next) {
    int P = live.settings.config.max_len;
    const char *wrong = wrong_prompt(text);
    if (wrong) {
        printf("{\"wrong\":\"is %s\"}", wrong);
        return;
    }
    take_text(text);
    read_text_again();
    Sentence all = seen_and(next);
    if (all.length - 1 > P) {
        printf("{\"wrong\":\"has %d tokens with what is expected; the model "
               "sees at most %d\"}", all.length - 1, P);
        free(all.id);
        return;
    }
    if (!flow.gradient) {
        flow.gradient = gpt_outline(&live.settings.config);
        transformer_place(flow.gradient);
    }
    flow.given = written.seen - 1;
    flow.forgotten = written.tokens.length - written.seen;
    flow_from((Sentence){0}, all, gpt_stages);
}

// ------------------------------------------------------------ it writes on

// The candidates for the next token, to be freed by the caller.
Candidate *candidates_now(double temperature, int *kept) {
    Candidate *c = allocate((size_t)live.target.count, sizeof *c);
    Sampling how = {.temperature = temperature, .top_p = 1};
    *kept = candidates(c, written.logits.at, live.target.count, how);
    return c;
}

// [["red",0.98],["car",0.01]]: the likeliest of them.
EXPORT void gpt_likeliest(double temperature) {
    int kept;
    read_text_again(); // a parameter may have changed
    Candidate *c = candidates_now(temperature, &kept);
    putchar('[');
    for (int i = 0; i < min_int(kept, LIKELIEST); i++) {
        printf(i ? "," : "");
        print_guess(c[i].token, c[i].p);
    }
    putchar(']');
    free(c);
}

// Writes the next token, the same that `gpt generate` writes with this
// temperature and seed: " red". Since the beginning, each has taken one random
// number.
EXPORT void gpt_write(double temperature, int seed) {
    int kept, n = written.tokens.length;
    read_text_again();
    uint64_t key = scramble((uint64_t)seed);
    for (int i = written.begins; i < n; i++)
        uniform(&key);
    Candidate *c = candidates_now(temperature, &kept);
    int id = draw(c, kept, &key);
    free(c);
    Sentence *s = &written.tokens;
    s->id = reallocate(s->id, (size_t)n + 1, sizeof *s->id);
    s->id[s->length++] = id;
    char *more = spaces_for_signs(
        detokenize(&id, 1, &live.target, by_characters));
    size_t size = strlen(written.text) + strlen(more) + 1;
    written.text = strcat(reallocate(written.text, size, 1), more);
    print_text(more);
    free(more);
}
