// Lab 2: how does the model know the gender?
//
//     02-whence MODEL DATA.tsv      change,where,cases,same,other,else
//
// A case is a place in a French sentence where a determiner with a gender is
// due: "la", not "le". Only the English noun tells which. In each case
// something inside the model is changed. Does the model still write the same
// determiner, that of the other gender, or something else? The columns same,
// other and else are percentages of the cases. Only those cases count in which
// the model, unchanged, is right with this noun and with one of the other
// gender in its place.
//
//     zero      attention weights are set to 0, the others stay as they are
//     patch     numbers are taken from the pass with the other noun
//
// The noun and its determiner are columns of the weights, and rows of the
// memory, where the English words stand.

#include "lib/lab.h"

// Each noun, and one of the other gender for something of the same kind.
const char *const nouns[][2] = {
    {"boy", "girl"}, {"girl", "boy"}, {"dog", "cow"}, {"cow", "dog"},
    {"cat", "mouse"}, {"mouse", "cat"}, {"horse", "hen"}, {"hen", "horse"},
    {"car", "boat"}, {"boat", "car"}, {"train", "car"}, {"table", "bed"},
    {"bed", "table"}, {"chair", "bed"}, {"house", "castle"},
    {"castle", "house"}, {"book", "flower"}, {"flower", "book"},
    {"bag", "box"}, {"box", "bag"}, {NULL}};

const char *const genders[][2] = {
    {"le", "la"}, {"la", "le"}, {"un", "une"}, {"une", "un"}, {"ce", "cette"},
    {"cette", "ce"}, {"mon", "ma"}, {"ma", "mon"}, {"ton", "ta"},
    {"ta", "ton"}, {NULL}};

const char *const determiners[2] = {
    " the a an some my your our this these one two ",
    " le la les un une des de deux mon ma mes ton ta tes notre nos ce cette "
    "ces "};

// The word beside this one in one of these tables, or NULL.
const char *other_of(const char *const (*pair)[2], const char *word) {
    while ((*pair)[0] && strcmp((*pair)[0], word))
        pair++;
    return (*pair)[0] ? (*pair)[1] : NULL;
}

bool is_determiner(const char *word, int language) {
    char padded[64];
    snprintf(padded, sizeof padded, " %s ", word);
    return strstr(determiners[language], padded) != NULL;
}

// ## What is changed

typedef struct {
    int place;            // of the determiner that is due, in the French
    int determiner, noun; // in the English
    int same, other;      // the determiner, and that of the other gender
    int layer, head;      // the largest weight from `place` to the noun
} Case;

// Weights, or rows of the memory.
typedef enum {
    NONE, ALL, NOUN, NOT_NOUN, DETERMINER, LARGEST, MIXED_NOUN
} Set;

enum { EVERY = -1, NOUNS = 64, CHANGES = 64 };

typedef struct {
    const char *change, *where;
    Set cross, encoder;          // these weights are set to 0,
    int layer;                   // in this layer, or in EVERY one
    Set memory;                  // these rows are taken from the other pass
    bool cross_too, encoder_too; // and these weights, all of them
} Change;

// Does the weight from row i to word j belong to the set?
bool has(Set set, const Case *c, int layer, int head, int i, int j) {
    switch (set) {
    case NONE: return false;
    case ALL: return true;
    case NOUN: return j == c->noun;
    case NOT_NOUN: return j != c->noun;
    case DETERMINER: return j == c->determiner;
    case LARGEST: return layer == c->layer && head == c->head
                         && i == c->place && j == c->noun;
    case MIXED_NOUN: return i != c->noun && j == c->noun;
    }
    return false;
}

// A pass with a change. `other` is what the pass with the other noun has saved.
typedef struct {
    Pass pass;
    const Transformer *t;
    const Change *change;
    const Case *at;
    const Saved *other;
} Changed;

// attention_sublayer_forward, post-norm, with changed weights: taken from the
// other pass, or set to 0.
Mat attend_changed(Changed *r, AttentionSublayerSaved *saved,
                   const AttentionSublayer *w, Mat x, Mat y, Mask mask,
                   Set zero, int layer, Mat weights) {
    MultiHeadSaved *s = &saved->multi_head;
    multi_head_forward(&r->pass, s, &w->multi_head, x, y, mask);
    if (weights.at)
        copy(s->weights, weights);
    for (int h = 0; h < s->heads; h++) {
        Head a = head_of(s, h);
        bool here = r->change->layer == EVERY || r->change->layer == layer;
        for (int i = 0; i < a.weights.rows; i++)
            for (int j = 0; here && j < a.weights.cols; j++)
                if (has(zero, r->at, layer, h, i, j))
                    *at(a.weights, i, j) = 0;
        small_matmul(a.out, a.weights, a.v);
    }
    return residual_leave(&r->pass, &saved->residual, &w->norm, x,
                          linear_forward(&r->pass, &w->multi_head.output,
                                         s->context));
}

void encode_changed(Changed *r, Saved *s, const Batch *b, Mask mask) {
    const Transformer *t = r->t;
    int L = t->config.layers;
    Mat x = embedding_forward(&r->pass, &s->source, t->source_embedding,
                              t->source_positions, b->source, b->source_length);
    s->encoder.layer = arena_take(r->pass.arena, (size_t)L,
                                  sizeof *s->encoder.layer);
    for (int l = 0; l < L; l++) {
        const EncoderLayer *w = &t->encoder.layer[l];
        Mat given = r->change->encoder_too ? r->other->encoder.layer[l]
                  .self_attention.multi_head.weights : (Mat){0};
        x = attend_changed(r, &s->encoder.layer[l].self_attention,
                           &w->self_attention, x, x, mask, r->change->encoder,
                           l, given);
        x = ffn_sublayer_forward(&r->pass, &s->encoder.layer[l].feed_forward,
                                 &w->feed_forward, x);
    }
    s->memory = x;
    for (int j = 0; j < x.rows; j++)
        if (has(r->change->memory, r->at, 0, 0, 0, j))
            copy(slice_rows(x, j, 1), slice_rows(r->other->memory, j, 1));
}

// The logits of transformer_forward, with the change.
Mat forward_changed(Changed *r, Saved *s, const Batch *b) {
    Arena *arena = r->pass.arena;
    const Transformer *t = r->t;
    int L = t->config.layers, S = b->source_length, T = b->target_length;
    Mask seen = padding_mask(arena, b->source, 1, S);
    Mask causal = causal_padding_mask(arena, b->input, 1, T);
    encode_changed(r, s, b, seen);
    Mat x = embedding_forward(&r->pass, &s->target, t->target_embedding,
                              t->target_positions, b->input, T);
    s->decoder.layer = arena_take(arena, (size_t)L, sizeof *s->decoder.layer);
    for (int l = 0; l < L; l++) {
        const DecoderLayer *w = &t->decoder.layer[l];
        DecoderLayerSaved *d = &s->decoder.layer[l];
        Mat given = r->change->cross_too ? r->other->decoder.layer[l]
                  .cross_attention.multi_head.weights : (Mat){0};
        x = attention_sublayer_forward(&r->pass, &d->self_attention,
                                       &w->self_attention, x, (Mat){0}, causal);
        x = attend_changed(r, &d->cross_attention, &w->cross_attention, x,
                           s->memory, seen, r->change->cross, l, given);
        x = ffn_sublayer_forward(&r->pass, &d->feed_forward, &w->feed_forward,
                                 x);
    }
    return linear_forward(&r->pass, &t->output, x);
}

// ## The cases

// The places of the determiners of a sentence; returns how many.
int places(int *place, const Sentence *s, const Vocab *v, int language) {
    int count = 0;
    for (int i = 0; i < s->length && count < NOUNS; i++)
        if (is_determiner(v->token[s->id[i]], language))
            place[count++] = i;
    return count;
}

// The cases of a pair: noun k of one sentence is noun k of the other. A case
// has a determiner with a gender and a noun in the singular.
int find_cases(Case *found, const Sentence *source, const Sentence *target,
               const Checkpoint *c) {
    int english[NOUNS], french[NOUNS], count = 0;
    int n = places(english, source, &c->source, 0);
    if (n != places(french, target, &c->target, 1))
        fail("a pair with different numbers of determiners");
    for (int k = 0; k < n; k++) {
        const char *due = c->target.token[target->id[french[k]]];
        const char *twin = other_of(genders, due);
        int noun = english[k] + 1;
        while (noun < source->length - 1
               && !other_of(nouns, c->source.token[source->id[noun]]))
            noun++;
        if (twin && noun < source->length - 1)
            found[count++] = (Case){
                .place = french[k], .determiner = english[k], .noun = noun,
                .same = target->id[french[k]],
                .other = token_id(&c->target, twin, (int)strlen(twin))};
    }
    return count;
}

// The layer and the head in which the determiner looks most at the noun.
void find_largest(Case *c, const Saved *s, const Config *config) {
    real most = -1;
    for (int l = 0; l < config->layers; l++)
        for (int h = 0; h < config->heads; h++) {
            Mat w = attention_of(s, CROSS, l, h, config->heads);
            if (*at(w, c->place, c->noun) > most) {
                most = *at(w, c->place, c->noun);
                c->layer = l;
                c->head = h;
            }
        }
}

typedef struct {
    int cases, same, other;
} Count;

// Without a change, each logit must be that of transformer_forward.
void check(Changed *r, const Batch *b, Mat z) {
    Saved s;
    Mat wanted = transformer_forward(&r->pass, &s, r->t, b);
    if (memcmp(z.at, wanted.at, size_of(z) * sizeof *z.at))
        fail("the pass that can be changed is not the model's own");
}

// What the model says in a case, with a change.
int said(Changed *r, Saved *s, const Batch *b, const Case *at,
         const Change *change) {
    r->at = at;
    r->change = change;
    Mat z = forward_changed(r, s, b);
    if (!r->other)
        check(r, b, z);
    return arg_max(row(z, at->place), 0, z.cols);
}

// One case: all changes, if the model is right without any.
void try_case(Count *count, const Change *change, int changes, Case at,
              const Sentence *source, const Sentence *target, Checkpoint *c) {
    Arena *arena = &c->trainer.arena;
    Changed r = {.pass = {.arena = arena, .config = &c->settings.config,
                      .sentences = 1}, .t = c->trainer.model};
    Saved own, others, changed;
    Pairs one = {(Sentence *)source, (Sentence *)target, 1, 0};
    Batch b = make_batch(arena, &one, (const int[]){0}, 1);
    Batch swapped = make_batch(arena, &one, (const int[]){0}, 1);
    const char *noun = other_of(nouns, c->source.token[b.source[at.noun]]);
    Change nothing = {.layer = EVERY};
    swapped.source[at.noun] = token_id(&c->source, noun, (int)strlen(noun));
    if (said(&r, &own, &b, &at, &nothing) == at.same
        && said(&r, &others, &swapped, &at, &nothing) == at.other) {
        find_largest(&at, &own, &c->settings.config);
        r.other = &others;
        for (int k = 0; k < changes; k++) {
            int word = said(&r, &changed, &b, &at, &change[k]);
            count[k].cases++;
            count[k].same += word == at.same;
            count[k].other += word == at.other;
        }
    }
    arena_release(arena, 0);
}

// The changes; returns how many.
int list_changes(Change *list, const Config *config) {
    const Change fixed[] = {
        {"zero", "nothing", .cross = NONE},
        {"zero", "cross: the largest weight on the noun", .cross = LARGEST},
        {"zero", "cross: all weights on the noun", .cross = NOUN},
        {"zero", "cross: all weights on the determiner", .cross = DETERMINER},
        {"zero", "encoder: all others' weights on the noun",
         .encoder = MIXED_NOUN},
        {"zero", "both: all weights on the noun", .cross = NOUN,
         .encoder = MIXED_NOUN},
        {"patch", "cross: all weights", .cross_too = true},
        {"patch", "encoder: all weights", .encoder_too = true},
        {"patch", "both: all weights", .cross_too = true, .encoder_too = true},
        {"patch", "memory: the noun", .memory = NOUN},
        {"patch", "memory: the determiner", .memory = DETERMINER},
        {"patch", "memory: all but the noun", .memory = NOT_NOUN},
        {"patch", "memory: all words", .memory = ALL}};
    int count = 0;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        list[count] = fixed[i];
        list[count++].layer = EVERY;
    }
    for (int l = 0; l < config->layers; l++) {
        list[count++] = (Change){"zero", "cross", .cross = ALL, .layer = l};
        list[count++] = (Change){"zero", "encoder", .encoder = ALL, .layer = l};
    }
    return count;
}

void print_change(const Change *change, const Count *count) {
    double share = 100.0 / count->cases;
    printf("%s,%s", change->change, change->where);
    if (change->layer != EVERY)
        printf(": all weights of layer %d", change->layer);
    printf(",%d,%.1f,%.1f,%.1f\n", count->cases, share * count->same,
           share * count->other,
           share * (count->cases - count->same - count->other));
}

int main(int argc, char **argv) {
    if (argc != 3)
        fail("02-whence MODEL DATA.tsv");
    Checkpoint c = load_checkpoint(argv[1], false);
    Pairs p = load_pairs(argv[2], &c);
    const Config *config = &c.settings.config;
    Change change[CHANGES];
    Count count[CHANGES] = {0};
    if (config->norm == PRE_NORM || config->layers > 24)
        fail("%s: not a post-norm model of at most 24 layers", argv[1]);
    int changes = list_changes(change, config);
    for (int k = 0; k < p.count; k++) {
        Case found[NOUNS];
        int n = find_cases(found, &p.source[k], &p.target[k], &c);
        for (int i = 0; i < n; i++)
            try_case(count, change, changes, found[i], &p.source[k],
                     &p.target[k], &c);
    }
    puts("change,where,cases,same,other,else");
    for (int k = 0; k < changes; k++)
        print_change(&change[k], &count[k]);
    pairs_free(&p);
    checkpoint_free(&c);
}
