// Learning: the model is trained as a user would train it, and translates
// sentences it has never seen.

#include "test.h"

bool no_report(void *context, const Step *step) {
    (void)context;
    (void)step;
    return true;
}

// Exact match in percent on the test file after training on the training file.
double learn(const char *name, int layers, int steps) {
    char path[80];
    Settings s = {.min_count = 1};
    s.config = (Config){.layers = layers, .d_model = 64, .heads = 4, .d_ff = 128,
                        .max_len = 32};
    drop_everywhere(&s.config, 0.05);
    s.recipe = (Recipe){.rate = 3e-3, .warmup = 100, .clip = 1, .batch = 32,
                        .steps = steps, .seed = 1};
    snprintf(path, sizeof path, "data/%s.train.tsv", name);
    Text text = read_pairs(path, s.tokenizer);
    Checkpoint c = {.settings = s};
    c.source = vocab_build(text.source, text.count, s.tokenizer, 1);
    c.target = vocab_build(text.target, text.count, s.tokenizer, 1);
    c.settings.config.source_vocab = c.source.count;
    c.settings.config.target_vocab = c.target.count;
    c.trainer = trainer_of(&c.settings.config, &s.recipe);
    initialize(&c.trainer.model->list, 1);
    Pairs data = tokenize_pairs(&text, &c.source, &c.target, s.tokenizer, 32);
    text_free(&text);

    snprintf(path, sizeof path, "data/%s.test.tsv", name);
    text = read_pairs(path, s.tokenizer);
    Pairs test = tokenize_pairs(&text, &c.source, &c.target, s.tokenizer, 32);
    text_free(&text);

    train(&c.trainer, &data, no_report, NULL);
    Arena arena = {0};
    Sentence *result = translate_all(c.trainer.model, test.source, test.count, greedy,
                                     NULL, &arena);
    Match match = {0};
    for (int i = 0; i < test.count; i++)
        add_match(&match, result[i], test.target[i]);
    sentences_free(result, test.count);
    arena_free(&arena);
    pairs_free(&data);
    pairs_free(&test);
    checkpoint_free(&c);
    return 100.0 * match.exact / match.sentences;
}

int main(void) {
    double reverse = learn("reverse", 1, 1800);
    CLAIM(reverse == 100, "reversal of sequences is learned: %.1f %% of unseen ones "
          "exact", reverse);
    double french = learn("eng-fra", 2, 900);
    CLAIM(french >= 95, "English-French grammar is learned: %.1f %% of unseen "
          "sentences exact", french);
    return claims_end();
}
