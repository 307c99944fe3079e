// Lab 21: what a model has learned from text alone, carried over to a task.
//
//     21-carried-over TASK STEPS LABEL_STEPS SEED
//
// An encoder of two layers learns from 6,000 sentences of plain text. TASK says
// how:
//
//     next      guess the next word, as GPT does, under a causal mask
//     seventh   one word in seven is hidden: guess it, as BERT does
//     half      one word in two is hidden
//
// Then what it has learned is carried over: a classifier (lab 15's) begins with
// its parameters and learns from a few labeled sentences. Another one begins
// with random parameters.
//
// It prints CSV, one number per line:
//
//     measure,steps,frozen,examples,key,value
//
//     known     percent of the expected words of other text that are guessed
//               right by the encoder, `before` and `after` it was a classifier
//     right     percent of 400 sentences that the classifier gets right; their
//               nouns were in `labelled` sentences, or `never`
//
// `steps` are those of learning from text, before the LABEL_STEPS of the
// classifier; with 0 it begins with random parameters. `frozen` says what stays
// as it was carried over: none, embedding, layer 1 (and the embedding), or all
// but the output layer.
//
//     21-carried-over sentences SEED
//
// prints ten sentences of the text and ten labeled ones: what,label,sentence.

#include "lib/lab.h"
#include "lib/measure.h"
#include "programs/classifier.c"
#include "lib/nouns.h"

enum { D = 64, H = 4, L = 2, B = 32, TEXT = 6000, OTHER_TEXT = 300, TEST = 400,
       MOST_EXAMPLES = 1000, LONGEST = 20, LINE = 96 };

// ## The text
//
// Its patterns and kinds of nouns are in nouns.h.

// What random numbers are for, besides the purposes in transformer.c.
enum { FOR_TEXT = 100, FOR_LABELLED, FOR_TEXT_ORDER, FOR_LABEL_ORDER,
       FOR_MASKS };

// Noun k: two syllables, each of one of 14 consonants and one of 5 vowels. The
// nouns of a kind have nothing in common.
void append_noun(char *line, int k) {
    const char *consonant = "bdfgklmnprstvz", *vowel = "aeiou";
    int number = k * 1237 % (14 * 5 * 14 * 5);
    int first = number / 70, second = number % 70;
    const char noun[] = {consonant[first / 5], vowel[first % 5],
                         consonant[second / 5], vowel[second % 5], '\0'};
    strcat(line, noun);
}

// The sentence of a pattern with these nouns in their places.
void write_sentence(char line[LINE], const char *pattern, int one, int two) {
    *line = '\0';
    for (const char *p = pattern; *p; p++)
        if (*p == '%')
            append_noun(line, *++p == '1' ? one : two);
        else
            strcat(line, (char[]){*p, '\0'});
}

// A noun of that kind: any, or one that has labels or has none.
enum { ANY, WITH_LABELS, WITHOUT };

int draw_noun(int kind, int which, uint64_t *state) {
    int first = which == WITHOUT ? LABELLED : 0;
    int last = which == WITH_LABELS ? LABELLED : NOUNS_EACH;
    return kind * NOUNS_EACH + first + random_below(last - first, state);
}

// A sentence of the text: two in three tell the kind of their noun.
void draw_text(char line[LINE], uint64_t *state) {
    int kind = random_below(GROUPS, state);
    int one = draw_noun(kind, ANY, state);
    int two = random_below(NOUNS, state);
    const char *pattern = random_below(3, state)
                        ? telling[kind][random_below(TELLING, state)]
                        : neutral[random_below(NEUTRAL, state)];
    write_sentence(line, pattern, one, two);
}

// A sentence to label. It tells nothing about the kind of its first noun, which
// is its label and is returned; the second noun is of another kind.
int draw_labelled(char line[LINE], int which, uint64_t *state) {
    int kind = random_below(GROUPS, state);
    int other = (kind + 1 + random_below(GROUPS - 1, state)) % GROUPS;
    int one = draw_noun(kind, which, state);
    int two = draw_noun(other, which, state);
    write_sentence(line, neutral[random_below(NEUTRAL, state)], one, two);
    return kind;
}

// ## As numbers

typedef struct {
    Vocab words, groups; // [mask] is a word
    int mask;  // its number
    int apart; // one word in `apart` is hidden; 0: the next word is guessed
    Pairs text, other, examples, known, unknown; // targets are the sentences
    int label_steps;
    uint64_t seed;
} Lab;

// n sentences, labeled or of the text. source: the kind, or nothing.
Pairs new_sentences(const Lab *lab, int n, bool labelled, int which,
                    uint64_t key) {
    uint64_t state = random_key(lab->seed, labelled ? FOR_LABELLED : FOR_TEXT,
                                key);
    Pairs p = {.source = allocate((size_t)n, sizeof(Sentence)),
               .target = allocate((size_t)n, sizeof(Sentence)), .count = n};
    for (int i = 0; i < n; i++) {
        char line[LINE];
        const char *kind = "";
        if (labelled)
            kind = group_name[draw_labelled(line, which, &state)];
        else
            draw_text(line, &state);
        p.source[i] = tokenize(kind, &lab->groups, (Tokenizer){0});
        p.target[i] = tokenize(line, &lab->words, (Tokenizer){0});
    }
    return p;
}

// Vocabularies of all patterns and nouns, and all the sentences.
Lab lab_new(int apart, int label_steps, uint64_t seed) {
    enum { ENTRIES = GROUPS * TELLING + NEUTRAL + NOUNS + 1 };
    static char line[ENTRIES][LINE];
    char *text[ENTRIES], *kind[GROUPS];
    int n = 0;
    for (int k = 0; k < GROUPS * TELLING; k++)
        write_sentence(line[n++], telling[k / TELLING][k % TELLING], 0, 0);
    for (int k = 0; k < NEUTRAL; k++)
        write_sentence(line[n++], neutral[k], 0, 0);
    for (int k = 0; k < NOUNS; k++)
        append_noun(line[n++], k);
    strcpy(line[n++], "mask");
    for (int i = 0; i < n; i++)
        text[i] = line[i];
    for (int k = 0; k < GROUPS; k++)
        kind[k] = (char *)group_name[k];
    Lab lab = {.words = vocab_build(text, n, (Tokenizer){0}, 1),
               .groups = vocab_build(kind, GROUPS, (Tokenizer){0}, 1),
               .apart = apart, .label_steps = label_steps, .seed = seed};
    lab.mask = token_id(&lab.words, "mask", 4);
    int test = in_short(TEST, 20);
    lab.text = new_sentences(&lab, TEXT, false, ANY, 0);
    lab.other = new_sentences(&lab, in_short(OTHER_TEXT, 30), false, ANY, 1);
    lab.examples = new_sentences(&lab, MOST_EXAMPLES, true, WITH_LABELS, 0);
    lab.known = new_sentences(&lab, test, true, WITH_LABELS, 1);
    lab.unknown = new_sentences(&lab, test, true, WITHOUT, 2);
    return lab;
}

// ## The model
//
// Both tasks and the classifier have the same parameters, but for the output
// layer: embedding, positions, encoder, linear. The classifier is lab 15's. The
// model of the text has logits at each position instead of one row for each
// sentence, and so it lacks the mean.

// What the encoder may look at: if it guesses the next word, only what came
// before. The mean of the classifier runs over all words.
Hidden hide(const Lab *lab, Arena *arena, const Batch *b) {
    int T = b->source_length;
    Mask visible = padding_mask(arena, b->source, b->sentences, T);
    return (Hidden){lab->apart ? visible : causal_mask(arena, T), visible};
}

// ## Learning from text

// Sentences order[0] … order[n - 1] of p, as a batch whose source is what is
// read. Each next word is expected, or else only the words that are hidden.
Batch text_batch(const Lab *lab, Arena *arena, const Pairs *p,
                 const int *order, int n, uint64_t *state) {
    Batch b = make_batch(arena, p, order, n);
    int *read = b.input, *expected = b.expected;
    for (int i = 0; lab->apart && i < n * b.target_length; i++) {
        bool hidden = read[i] >= FIRST_TOKEN
                   && random_below(lab->apart, state) == 0;
        expected[i] = hidden ? read[i] : PAD;
        read[i] = hidden ? lab->mask : read[i];
    }
    b.source = read;
    b.source_length = b.target_length;
    return b;
}

// Forward, loss and, in training, backward.
Loss text_loss(const Lab *lab, Trainer *t, const Batch *b, bool training) {
    Pass pass = {.arena = &t->arena, .config = &t->model->config};
    return reader_gradient(&pass, t->model, training ? t->gradient : NULL, b,
                           hide(lab, &t->arena, b).attention);
}

// n numbers below `count`.
void draw_order(int *order, int n, int count, uint64_t *state) {
    for (int i = 0; i < n; i++)
        order[i] = random_below(count, state);
}

// Trains until t->step is `steps`.
void learn_text(const Lab *lab, Trainer *t, int64_t steps) {
    uint64_t state = random_key(lab->seed, FOR_TEXT_ORDER, (uint64_t)t->step);
    while (t->step < steps) {
        int order[B];
        draw_order(order, B, lab->text.count, &state);
        Batch b = text_batch(lab, &t->arena, &lab->text, order, B, &state);
        clear(t->gradient->list.values, t->gradient->list.count);
        update(t, text_loss(lab, t, &b, true));
        arena_release(&t->arena, 0);
    }
}

// Percent of the expected words of other text that are guessed right.
double words_known(const Lab *lab, Trainer *t) {
    uint64_t state = random_key(lab->seed, FOR_MASKS, 0);
    int order[OTHER_TEXT];
    for (int i = 0; i < OTHER_TEXT; i++)
        order[i] = i;
    Batch b = text_batch(lab, &t->arena, &lab->other, order, lab->other.count,
                         &state);
    double known = 100 * accuracy(text_loss(lab, t, &b, false));
    arena_release(&t->arena, 0);
    return known;
}

// ## Learning from labels

// A batch of labeled sentences: the sentence is read, its kind is expected.
Batch labelled_batch(Arena *arena, const Pairs *p, const int *order, int n) {
    Batch b = make_batch(arena, p, order, n);
    int *kind = arena_take(arena, (size_t)n, sizeof *kind);
    for (int i = 0; i < n; i++)
        kind[i] = b.source[i * b.source_length];
    return (Batch){.sentences = n, .source = b.input, .expected = kind,
                   .source_length = b.target_length};
}

// Percent of labeled sentences that are classified correctly.
double right(const Lab *lab, Trainer *t, const Pairs *p) {
    int order[TEST];
    for (int i = 0; i < TEST; i++)
        order[i] = i;
    Batch b = labelled_batch(&t->arena, p, order, p->count);
    Pass pass = {.arena = &t->arena, .config = &t->model->config};
    ClassifierSaved saved;
    Mat logits = classifier_forward(&pass, &saved, t->model, &b,
                                    hide(lab, &t->arena, &b));
    int count = 0;
    for (int i = 0; i < p->count; i++)
        count += arg_max(row(logits, i), FIRST_TOKEN, logits.cols)
              == b.expected[i];
    arena_release(&t->arena, 0);
    return 100.0 * count / p->count;
}

// What stays as it was carried over, and how the names of its tensors begin.
enum { NONE, EMBEDDING, LAYER_1, ALL, FREEZINGS };
const char *const frozen_name[FREEZINGS] = {"none", "embedding", "layer 1",
                                            "all"};
const char *const frozen_prefix[FREEZINGS][3] = {
    {NULL}, {"source_embedding"}, {"source_embedding", "encoder.0."},
    {"source_embedding", "encoder."}};

// A frozen tensor gets the gradient 0, so its moments and its steps stay 0.
void freeze(Transformer *gradient, int frozen) {
    TensorList *l = &gradient->list;
    for (int i = 0; i < l->tensors; i++) {
        Tensor *t = &l->tensor[i];
        for (int k = 0; k < 2 && frozen_prefix[frozen][k]; k++)
            if (!strncmp(t->name.text, frozen_prefix[frozen][k],
                         strlen(frozen_prefix[frozen][k])))
                fill(*t->mat, 0);
    }
}

void learn_labels(const Lab *lab, Trainer *t, int examples, int frozen) {
    uint64_t state = random_key(lab->seed, FOR_LABEL_ORDER, (uint64_t)examples);
    for (int k = 0; k < lab->label_steps; k++) {
        int order[B], n = min_int(B, examples);
        draw_order(order, n, examples, &state);
        Batch b = labelled_batch(&t->arena, &lab->examples, order, n);
        Pass pass = {.arena = &t->arena, .config = &t->model->config};
        clear(t->gradient->list.values, t->gradient->list.count);
        Loss loss = classifier_gradient(&pass, t->model, t->gradient, &b,
                                        hide(lab, &t->arena, &b));
        freeze(t->gradient, frozen);
        update(t, loss);
        arena_release(&t->arena, 0);
    }
}

// ## Carrying over

// Copies what two models have in common: all but the output layer.
void carry_over(Transformer *to, const Transformer *from) {
    for (int i = 0; i < to->list.tensors; i++)
        for (int k = 0; k < from->list.tensors; k++) {
            const Tensor *a = &to->list.tensor[i], *b = &from->list.tensor[k];
            if (!strcmp(a->name.text, b->name.text)
                && strncmp(a->name.text, "output", 6))
                copy(*a->mat, *b->mat);
        }
}

Trainer new_trainer(const Lab *lab, int answers) {
    Config config = {.layers = L, .d_model = D, .heads = H, .d_ff = 4 * D,
                     .source_vocab = lab->words.count, .target_vocab = answers,
                     .max_len = LONGEST};
    Recipe recipe = {.rate = 2e-3, .warmup = 100, .clip = 1,
                     .seed = (int)lab->seed};
    return fresh_trainer(classifier_outline, &config, &recipe);
}

// One classifier: trained, tested, and put back to see what it has forgotten.
void classify(const Lab *lab, const Trainer *reader, int frozen, int examples) {
    int64_t steps = reader->step;
    const char *name = frozen_name[frozen];
    Trainer t = new_trainer(lab, lab->groups.count);
    if (steps)
        carry_over(t.model, reader->model);
    learn_labels(lab, &t, examples, frozen);
    printf("right,%" PRId64 ",%s,%d,labelled,%.6g\n", steps, name, examples,
           right(lab, &t, &lab->known));
    printf("right,%" PRId64 ",%s,%d,never,%.6g\n", steps, name, examples,
           right(lab, &t, &lab->unknown));
    Trainer back = new_trainer(lab, lab->words.count);
    copy(back.model->output.weight, reader->model->output.weight);
    copy(back.model->output.bias, reader->model->output.bias);
    carry_over(back.model, t.model);
    printf("known,%" PRId64 ",%s,%d,after,%.6g\n", steps, name, examples,
           words_known(lab, &back));
    trainer_free(&back);
    trainer_free(&t);
}

// ## All together

// Some sentences, to read.
void print_sentences(uint64_t seed) {
    uint64_t state = random_key(seed, FOR_TEXT, 0);
    char line[LINE];
    puts("what,label,sentence");
    for (int i = 0; i < 10; i++) {
        draw_text(line, &state);
        printf("text,,%s\n", line);
    }
    for (int i = 0; i < 10; i++) {
        int group = draw_labelled(line, WITH_LABELS, &state);
        printf("labelled,%s,%s\n", group_name[group], line);
    }
}

// The encoder learns; along the way and at the end, classifiers begin from it.
void carry(const Lab *lab, int steps) {
    const int examples[] = {10, 30, 100, 300, MOST_EXAMPLES};
    Trainer reader = new_trainer(lab, lab->words.count);
    puts("measure,steps,frozen,examples,key,value");
    for (int k = 0; k < 5; k++)
        classify(lab, &reader, NONE, examples[k]);
    for (int part = 8; part > 0; part /= 2) {
        learn_text(lab, &reader, steps / part);
        printf("known,%d,none,0,before,%.6g\n", steps / part,
               words_known(lab, &reader));
        if (part > 1)
            classify(lab, &reader, NONE, 100);
    }
    for (int k = 0; k < 5; k++)
        for (int f = NONE; f < FREEZINGS; f++)
            classify(lab, &reader, f, examples[k]);
    trainer_free(&reader);
}

int main(int argc, char **argv) {
    if (argc == 3 && !strcmp(argv[1], "sentences")) {
        print_sentences((uint64_t)atoi(argv[2]));
        return 0;
    }
    int task = argc == 5 ? find_choice("next|half|seventh", argv[1]) : -1;
    if (task < 0)
        fail("21-carried-over TASK STEPS LABEL_STEPS SEED, or sentences SEED; "
             "TASK is next, half or seventh");
    use_one_thread();
    Lab lab = lab_new((int[]){0, 2, 7}[task], atoi(argv[3]),
                      (uint64_t)atoi(argv[4]));
    carry(&lab, atoi(argv[2]));
    Pairs *all[] = {&lab.text, &lab.other, &lab.examples, &lab.known,
                    &lab.unknown};
    for (int i = 0; i < 5; i++)
        pairs_free(all[i]);
    vocab_free(&lab.words);
    vocab_free(&lab.groups);
}
