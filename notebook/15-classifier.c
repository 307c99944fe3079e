// Lab 15: an encoder-only classifier, trained and examined.
//
//     15-classifier PADDING LAYERS POSITIONS STEPS SEED SENTENCE
//
// learns from data/lamp.train.tsv whether the lamp was on, and answers for the
// sentences of data/lamp.test.tsv, which it has never seen. PADDING is hidden
// from attention and from the mean, or counted by both. POSITIONS are
// sinusoidal or none. A classifier with 0 layers is a bag of words. SEED
// determines the initial parameters and the order of training.
//
// It prints CSV, one number per line:
//
//     measure,layer,head,query,key,value
//
// Layers and heads count from 1, words from 0. What a measure does not need is
// left empty.
//
//     parameters  their number
//     loss        nats, mean of the EVERY steps up to step `key`
//     right       percent of the test sentences, each with `key` pads
//     changed     percent of them whose answer is not the one without pads
//     length      percent right of the sentences of `key` words
//     turned      percent of the answers that change when one switch is turned
//                 from on to off or back; key: the role of that switch
//     alike       percent of the words that have role `key`, mean over the test
//     attention   percent of its weight that a word gives to them, mean over
//                 all words of a sentence and over the test
//     weight      attention of word `query` of SENTENCE to word `key`

#include "lib/lab.h"
#include "programs/classifier.c"

enum { D = 64, H = 4, B = 64, LONGEST = 32, MOST_PADS = 32, MOST_LAYERS = 2,
       EVERY = 40 };

// What a word has to do with the answer: it is the last switch before the
// question, which decides; another switch before it, or one after it; the
// question itself; anything else.
enum { DECIDING, BEFORE, AFTER, QUESTION, OTHERS, ALL_ROLES };
const char *const role_name[] = {"deciding", "before", "after", "question",
                                 "others"};

typedef struct {
    Checkpoint c; // with the two vocabularies
    Pairs train, test;
    bool counted; // whether padding counts
    int on, off, question; // the tokens "on", "off" and "?"
} Lab;

// The masks of a pass: of padding, or none if it counts.
Hidden hide(const Lab *lab, Arena *arena, const Batch *b) {
    if (lab->counted)
        return (Hidden){0};
    Mask mask = padding_mask(arena, b->source, b->sentences, b->source_length);
    return (Hidden){mask, mask};
}

// ## Training

// train_step, for a classifier -> the mean loss
double step(Lab *lab, const Batch *b) {
    Trainer *t = &lab->c.trainer;
    Pass pass = {.arena = &t->arena, .config = &t->model->config};
    clear(t->gradient->list.values, t->gradient->list.count);
    Loss loss = classifier_gradient(&pass, t->model, t->gradient, b,
                                    hide(lab, &t->arena, b));
    update(t, loss);
    return loss.loss / (double)loss.tokens;
}

// Trains for `steps` steps, and prints the loss.
void train_classifier(Lab *lab, int steps) {
    Trainer *t = &lab->c.trainer;
    int n = lab->train.count, batches = n / B;
    int *order = allocate((size_t)n, sizeof *order);
    double total = 0;
    for (int i = 0; i < steps; i++) {
        if (i % batches == 0)
            epoch_order(order, &lab->train, B,
                        (uint64_t)t->recipe.seed, i / batches);
        Batch batch = make_batch(&t->arena, &lab->train,
                                 order + i % batches * B, B);
        total += step(lab, &batch);
        arena_release(&t->arena, 0);
        if ((i + 1) % EVERY == 0) {
            printf("loss,,,,%d,%.6g\n", i + 1, total / EVERY);
            total = 0;
        }
    }
    free(order);
}

// ## Testing

// One sentence alone, followed by `pads` pads -> the most probable answer.
// s keeps what the pass has computed, until the arena is released.
int classify(Lab *lab, ClassifierSaved *s, Sentence sentence, int pads) {
    Arena *arena = &lab->c.trainer.arena;
    const Transformer *model = lab->c.trainer.model;
    int S = sentence.length + pads;
    int *ids = arena_take(arena, (size_t)S, sizeof *ids);
    for (int i = 0; i < S; i++)
        ids[i] = i < sentence.length ? sentence.id[i] : PAD;
    Batch one = {.sentences = 1, .source_length = S, .source = ids};
    Pass pass = {.arena = arena, .config = &model->config};
    Mat logits = classifier_forward(&pass, s, model, &one,
                                    hide(lab, arena, &one));
    return arg_max(row(logits, 0), FIRST_TOKEN, logits.cols);
}

// Whether a word is "on" or "off".
bool is_switch(const Lab *lab, int word) {
    return word == lab->on || word == lab->off;
}

// The role of each word of a sentence, and the places of the two that matter.
typedef struct {
    int role[LONGEST + 1], deciding, question;
} WordRoles;

// The sentence must have a question, and a switch before it.
WordRoles word_roles(const Lab *lab, Sentence s) {
    WordRoles r = {.question = 0};
    while (s.id[r.question] != lab->question)
        r.question++;
    for (int i = 0; i < s.length; i++) {
        r.role[i] = i == r.question ? QUESTION
                  : !is_switch(lab, s.id[i]) ? OTHERS
                  : i < r.question ? BEFORE : AFTER;
        if (r.role[i] == BEFORE)
            r.deciding = i;
    }
    r.role[r.deciding] = DECIDING;
    return r;
}

// How many answers are right, or change, and of how many: for each length, or
// for each role.
typedef struct {
    int yes[LONGEST + 1], of[LONGEST + 1];
} Tally;

// Counts one answer.
void tally(Tally *t, int place, bool yes) {
    t->yes[place] += yes;
    t->of[place]++;
}

// Right answers by length; and each switch turned, one at a time.
void test_words(Lab *lab) {
    Tally length = {0}, turned = {0};
    ClassifierSaved saved;
    for (int i = 0; i < lab->test.count; i++) {
        Sentence s = lab->test.source[i];
        WordRoles r = word_roles(lab, s);
        int said = classify(lab, &saved, s, 0);
        bool right = said == lab->test.target[i].id[0];
        tally(&length, s.length - 1, right); // without END
        for (int k = 0; k < s.length; k++)
            if (is_switch(lab, s.id[k])) {
                s.id[k] = lab->on + lab->off - s.id[k];
                tally(&turned, r.role[k], classify(lab, &saved, s, 0) != said);
                s.id[k] = lab->on + lab->off - s.id[k];
            }
        arena_release(&lab->c.trainer.arena, 0);
    }
    for (int n = 0; n <= LONGEST; n++)
        if (length.of[n])
            printf("length,,,,%d,%.6g\n", n,
                   100.0 * length.yes[n] / length.of[n]);
    for (int k = DECIDING; k <= AFTER; k++)
        printf("turned,,,,%s,%.6g\n", role_name[k],
               100.0 * turned.yes[k] / turned.of[k]);
}

// What pads after a sentence do to the answer.
void test_pads(Lab *lab) {
    const int pads[] = {0, 1, 2, 4, 8, 16, MOST_PADS};
    int right[7] = {0}, changed[7] = {0}, n = lab->test.count;
    ClassifierSaved saved;
    for (int i = 0; i < n; i++) {
        Sentence s = lab->test.source[i];
        int alone = classify(lab, &saved, s, 0);
        for (int k = 0; k < 7; k++) {
            int said = pads[k] ? classify(lab, &saved, s, pads[k]) : alone;
            right[k] += said == lab->test.target[i].id[0];
            changed[k] += said != alone;
        }
        arena_release(&lab->c.trainer.arena, 0);
    }
    for (int k = 0; k < 7; k++) {
        printf("right,,,,%d,%.6g\n", pads[k], 100.0 * right[k] / n);
        printf("changed,,,,%d,%.6g\n", pads[k], 100.0 * changed[k] / n);
    }
}

// ## Looking inside

// The weights of layer l and head h, both from 0: (S,S), of a sentence alone.
Mat weights_of(const ClassifierSaved *s, int l, int h) {
    Mat all = s->words.encoder.layer[l].self_attention.multi_head.weights;
    return slice_rows(all, h * all.cols, all.cols);
}

// What the words of a sentence look at, averaged over all of them, as the mean
// at the top counts them all equally; and what that would be if each looked at
// all words equally.
void look_at_roles(Lab *lab) {
    double weight[MOST_LAYERS][H][ALL_ROLES] = {{{0}}}, alike[ALL_ROLES] = {0};
    int L = lab->c.trainer.model->config.layers, n = lab->test.count;
    for (int i = 0; i < n; i++) {
        Sentence s = lab->test.source[i];
        ClassifierSaved saved;
        WordRoles r = word_roles(lab, s);
        double share = 100.0 / s.length / n;
        classify(lab, &saved, s, 0);
        for (int k = 0; k < s.length; k++) {
            alike[r.role[k]] += share;
            for (int j = 0; j < L * H * s.length; j++) {
                int l = j / s.length / H, h = j / s.length % H;
                weight[l][h][r.role[k]] += share * (double)
                    *at(weights_of(&saved, l, h), j % s.length, k);
            }
        }
        arena_release(&lab->c.trainer.arena, 0);
    }
    for (int k = 0; k < ALL_ROLES; k++) {
        printf("alike,,,,%s,%.6g\n", role_name[k], alike[k]);
        for (int j = 0; j < L * H; j++)
            printf("attention,%d,%d,,%s,%.6g\n", j / H + 1, j % H + 1,
                   role_name[k], weight[j / H][j % H][k]);
    }
}

// The sentence given on the command line.
Sentence read_sentence(const Lab *lab, const char *text) {
    if (!valid_utf8(text))
        fail("the sentence is not valid UTF-8");
    Sentence s = tokenize(text, &lab->c.source, lab->c.settings.tokenizer);
    if (s.length > LONGEST + 1)
        fail("the sentence has more than %d words", LONGEST);
    return s;
}

// All attention weights of a sentence.
void show(Lab *lab, Sentence s) {
    ClassifierSaved saved;
    classify(lab, &saved, s, 0);
    for (int l = 0; l < lab->c.trainer.model->config.layers; l++)
        for (int h = 0; h < H; h++)
            for (int i = 0; i < s.length; i++)
                for (int k = 0; k < s.length; k++)
                    printf("weight,%d,%d,%d,%d,%.5f\n", l + 1, h + 1, i, k,
                           (double)*at(weights_of(&saved, l, h), i, k));
    arena_release(&lab->c.trainer.arena, 0);
}

// ## All together

// Vocabularies, data and a fresh model.
Lab lab_new(int layers, int positions, int seed) {
    const char *path = "data/lamp.train.tsv";
    Lab lab = {.c.settings = {.config.max_len = LONGEST, .min_count = 1}};
    Checkpoint *c = &lab.c;
    Text text = read_pairs(path, c->settings.tokenizer);
    c->source = new_vocab(&c->settings, text.source, text.count);
    c->target = new_vocab(&c->settings, text.target, text.count);
    lab.train = number_pairs(path, text, c);
    lab.test = load_pairs("data/lamp.test.tsv", c);
    for (int i = 0; i < lab.train.count; i++)
        lab.train.target[i].length = 1; // the answer, without END
    lab.on = token_id(&c->source, "on", 2);
    lab.off = token_id(&c->source, "off", 3);
    lab.question = token_id(&c->source, "?", 1);
    Config config = {.layers = layers, .d_model = D, .heads = H, .d_ff = 4 * D,
                     .source_vocab = c->source.count,
                     .target_vocab = c->target.count,
                     .max_len = LONGEST + MOST_PADS, .positions = positions};
    Recipe recipe = {.rate = 2e-3, .warmup = 100, .clip = 1, .seed = seed};
    c->trainer = fresh_trainer(classifier_outline, &config, &recipe);
    return lab;
}

int main(int argc, char **argv) {
    if (argc != 7 || atoi(argv[2]) > MOST_LAYERS)
        fail("15-classifier PADDING LAYERS POSITIONS STEPS SEED SENTENCE, with "
             "at most %d layers", MOST_LAYERS);
    use_one_thread();
    Lab lab = lab_new(atoi(argv[2]),
                      strcmp(argv[3], "none") ? SINUSOIDAL : NO_POSITIONS,
                      atoi(argv[5]));
    Sentence own = read_sentence(&lab, argv[6]);
    lab.counted = !strcmp(argv[1], "counted");
    printf("measure,layer,head,query,key,value\nparameters,,,,,%zu\n",
           lab.c.trainer.model->list.count);
    train_classifier(&lab, atoi(argv[4]));
    test_words(&lab);
    test_pads(&lab);
    look_at_roles(&lab);
    show(&lab, own);
    free(own.id);
    checkpoint_free(&lab.c);
    pairs_free(&lab.train);
    pairs_free(&lab.test);
}
