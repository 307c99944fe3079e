// pretrained.h, used by lab 18: all that it takes to read and run its models,
// in the order in which the files build on one another. Include it after gpt.h.

#include "modern.h"         // the model of GPT-2 (lab 17)
#include "hub.h"            // JSON, config.json, safetensors
#include "unicode.h"        // tables
#include "bytepairs.h"      // vocab.json, merges.txt
#include "gpt2.h"           // the models
#include "bert.h"           // and vocab.txt

// ## Continuing a text

typedef struct {
    ModernGpt model;
    ModernCache cache;
    BytePairs tokens;
    Arena arena;
    Pass pass;
    int end; // the token that ends a text; -1: none
} Writer;

// The token that config.json says ends a text, or -1.
int end_token(const char *folder, int size) {
    JsonFile f = read_hub_config(folder, "gpt2");
    const Json *id = setting(&f, "eos_token_id");
    int end = is_whole(id, 0, size - 1) ? (int)id->number : -1;
    json_free(&f);
    return end;
}

// The model and the tokenizer in a folder, with an empty cache for one text.
// The parameters come from `file`, if that is not NULL.
void writer_open(Writer *w, const char *folder, const char *file) {
    *w = (Writer){.model = read_gpt2(folder, file)};
    const Config *c = &w->model.base->config;
    w->end = end_token(folder, c->target_vocab);
    w->tokens = read_byte_pairs(folder, c->target_vocab);
    w->pass = (Pass){.arena = &w->arena, .config = c, .sentences = 1};
    w->cache = modern_cache(&w->arena, &w->model, 1);
}

void writer_close(Writer *w) {
    byte_pairs_free(&w->tokens);
    arena_free(&w->arena);
    transformer_free(w->model.base);
    modern_free(&w->model);
}

// The next token. To gpt.h the first few are special; here they are not, so all
// are moved up by as many.
int choose(Writer *w, Mat logits, Sampling how, uint64_t *key) {
    int V = logits.cols;
    size_t count = (size_t)(V + FIRST_TOKEN);
    real *moved = arena_take(&w->arena, count, sizeof *moved);
    Candidate *c = arena_take(&w->arena, count, sizeof *c);
    memcpy(moved + FIRST_TOKEN, logits.at, sizeof *moved * (size_t)V);
    int n = candidates(c, moved, V + FIRST_TOKEN, how);
    return draw(c, n, key) - FIRST_TOKEN;
}

// Prints a text of one token or more and its continuation: `count` tokens, or
// fewer if the model ends it.
void write_text(Writer *w, const char *text, Sentence prompt, int count,
                Sampling how, uint64_t key) {
    size_t mark = w->arena.used;
    Mat logits = {0};
    for (int i = 0; i < prompt.length; i++) {
        arena_release(&w->arena, mark);
        logits = modern_step(&w->pass, &w->cache, &prompt.id[i]);
    }
    for (int n = 0; n < count; n++) {
        int id = choose(w, logits, how, &key);
        fputs(n ? "" : text, stdout);
        if (id == w->end)
            break;
        print_token(stdout, w->tokens.tokens.text[id]);
        fflush(stdout);
        arena_release(&w->arena, mark);
        if (n + 1 < count)
            logits = modern_step(&w->pass, &w->cache, &id);
    }
}
