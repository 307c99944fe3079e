// pretrained.h, used by lab 18: all that is needed to read and run its models,
// in the order in which the files build on one another. Include it after gpt.h.

#include <float.h>

#include "modern.h"         // the model of GPT-2 (lab 17)
#include "hub.h"            // JSON, config.json, safetensors
#include "unicode.h"        // tables
#include "tokenizer.h"      // the words of a tokenizer's files
#include "bytepairs.h"      // their byte pairs
#include "gpt2.h"           // the models
#include "bert.h"           // and its word pieces

// ## Continuing a text

typedef struct {
    ModernGpt model;
    ModernCache cache;
    BytePairs tokens;
    Arena arena;
    Pass pass;
    bool *end; // of each token: whether it ends a text
    int begin; // the token that begins one; -1: none
} Writer;

// Notes the tokens that end a text: one number or a list of them.
void read_ends(Writer *w, const JsonFile *f, int usual) {
    int V = w->model.base->config.target_vocab;
    const Json *v = setting(f, "eos_token_id");
    const bool list = v && v->kind == JSON_ARRAY;
    for (v = list ? v->child : v; v; v = list ? v->next : NULL) {
        if (v->kind != JSON_NUMBER)
            fail("%s: eos_token_id is not a number or a list of them", f->path);
        if (is_whole(v, 0, V - 1))
            w->end[(int)v->number] = true;
    }
    if (!member(f->values, "eos_token_id") && usual < V && usual >= 0)
        w->end[usual] = true;
}

enum { USUAL_END = 50256 }; // of GPT-2, and of files that name none

// What the model's files say of the beginning and the end of a text.
void read_borders(Writer *w, const char *folder) {
    int V = w->model.base->config.target_vocab;
    JsonFile f = read_hub_config(folder, "gpt2");
    JsonFile generation = json_if_there(folder, "generation_config.json");
    const Json *begin = setting(&f, "bos_token_id");
    w->end = allocate((size_t)V, sizeof *w->end);
    read_ends(w, &f, USUAL_END);
    read_ends(w, &generation, -1);
    w->begin = is_whole(begin, 0, V - 1) ? (int)begin->number : V - 1;
    while (!is_whole(begin, 0, V - 1) && w->begin >= 0 && !w->end[w->begin])
        w->begin--;
    json_free(&f);
    json_free(&generation);
}

// The model and the tokenizer in a folder, with an empty cache for one text.
// The parameters come from `file`, if that is not NULL.
void writer_open(Writer *w, const char *folder, const char *file) {
    *w = (Writer){.model = read_gpt2(folder, file)};
    const Config *c = &w->model.base->config;
    read_borders(w, folder);
    w->tokens = read_byte_pairs(folder, c->target_vocab);
    w->pass = (Pass){.arena = &w->arena, .config = c, .sentences = 1};
    w->cache = modern_cache(&w->arena, &w->model, 1);
}

void writer_close(Writer *w) {
    byte_pairs_free(&w->tokens);
    arena_free(&w->arena);
    transformer_free(w->model.base);
    modern_free(&w->model);
    free(w->end);
}

// The next token. In gpt.h the first FIRST_TOKEN are special; here none is, so
// all are moved up by that many. A row without a token is never chosen.
int choose(Writer *w, Mat logits, Sampling how, uint64_t *key) {
    int V = logits.cols;
    size_t count = (size_t)(V + FIRST_TOKEN);
    real *moved = arena_take(&w->arena, count, sizeof *moved);
    Candidate *c = arena_take(&w->arena, count, sizeof *c);
    for (int i = 0; i < V; i++)
        moved[i + FIRST_TOKEN] = w->tokens.tokens.text[i] ? logits.at[i]
                                                          : -FLT_MAX;
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
        if (w->end[id])
            break;
        print_token(stdout, &w->tokens.tokens, id);
        fflush(stdout);
        arena_release(&w->arena, mark);
        if (n + 1 < count)
            logits = modern_step(&w->pass, &w->cache, &id);
    }
}
