// Chapter 12: greedy decoding with caches, BLEU.

#include "test.h"
#include "model.h"

// Step by step with caches against all at once with masks.
void test_teacher_forced(int norm, int positions) {
    Config config = small_config();
    config.norm = norm;
    config.positions = positions;
    config.heads = norm == PRE_NORM ? 6 : 3; // more and less than their width
    ModelCase c = {random_transformer(&config), small_batch(), 0, 0};
    Pass pass;
    Saved s;
    Mat whole = model_logits(&c, &pass, &s);
    Cache cache = decoder_start(&pass, c.model, c.batch.source, B, S, T);
    double worst = 0;
    for (int t = 0; t < T; t++) {
        int id[B] = {input_ids[t], input_ids[T + t]};
        Mat step = decoder_step(&pass, &cache, id);
        for (int b = 0; b < B; b++)
            if (id[b] != PAD)
                worst = fmax(worst, largest_error(slice_rows(step, b, 1),
                                                  slice_rows(whole, b * T + t, 1)));
    }
    CLAIM(worst < 1e-10, "%s, positions %d: decoding step by step gives the "
          "teacher-forced logits: %.0e", norm ? "pre-norm" : "post-norm", positions,
          worst);
    transformer_free(c.model);
}

// The article's loop: run the whole decoder again for every word.
int naive_translation(const Transformer *model, const int *ids, int length,
                      int *out, int most) {
    int input[16] = {START}, n = 0;
    while (n < most) {
        Pass pass = {.arena = &room, .config = &model->config};
        Saved s;
        Batch batch = {1, length, n + 1, (int *)ids, input, NULL};
        Mat logits = transformer_forward(&pass, &s, model, &batch);
        out[n] = arg_max(row(logits, n), END, logits.cols);
        input[n + 1] = out[n];
        if (out[n++] == END)
            break;
    }
    return n;
}

void test_translate(void) {
    Config config = small_config();
    int same = 0, total = 0, apart = 0;
    bool given_back = true;
    for (int trial = 0; trial < 20; trial++) {
        Transformer *t = random_transformer(&config);
        t->output.bias.at[END] += (real)(0.1 * trial); // some come to an end
        int out[B * 7], naive[7], lengths[B] = {5, 3}, last = 0;
        size_t used = room.used;
        Batch batch = {.sentences = B, .source_length = S, .source = source_ids};
        translate(t, &batch, out, &room);
        given_back = given_back && room.used == used;
        for (int b = 0; b < B; b++) {
            int n = naive_translation(t, source_ids + b * S, lengths[b], naive, 7);
            bool equal = n == 7 || out[b * 7 + n] == PAD;
            for (int i = 0; i < n; i++)
                equal = equal && naive[i] == out[b * 7 + i];
            same += equal;
            total++;
            apart += b > 0 && n != last;
            last = n;
        }
        transformer_free(t);
    }
    CLAIM(same == total, "translate gives what the naive loop gives: %d of %d",
          same, total);
    CLAIM(apart > 2, "in %d batches one sentence ends before the other", apart);
    CLAIM(given_back, "and gives its memory back");
}

// The most memory a translation of P tokens takes, by a model that never ends.
size_t peak_of(int P) {
    Config config = small_config();
    config.positions = NO_POSITIONS;
    config.max_len = P - 1;
    Transformer *t = random_transformer(&config);
    t->output.bias.at[END] = -1000;
    Arena arena = {0};
    int *out = arena_take(&room, (size_t)(B * P), sizeof *out);
    Batch batch = {.sentences = B, .source_length = S,
                   .source = copied_ids(source_ids, B * S)};
    translate(t, &batch, out, &arena);
    size_t peak = arena.peak;
    arena_free(&arena);
    transformer_free(t);
    return peak;
}

void test_memory(void) {
    size_t caches = 2 * 2 * 20 * B * D * sizeof(real); // of 2 layers, 20 tokens
    size_t weights = 2 * B * H * 20 * sizeof(real);    // in the last step
    CLAIM(peak_of(40) - peak_of(20) == caches + weights,
          "each step gives its memory back: 20 more take room in caches only");
}

void test_translate_all(int batch, double end) {
    Config config = small_config();
    Transformer *t = random_transformer(&config);
    t->output.bias.at[END] += (real)end;
    Sentence *source = arena_take(&room, 9, sizeof *source);
    for (int i = 0; i < 9; i++) {
        int n = 1 + (i * 5) % 6;
        source[i] = (Sentence){arena_take(&room, (size_t)n, sizeof(int)), n};
        for (int k = 0; k < n; k++)
            source[i].id[k] = k + 1 == n ? END : 4 + (i + k) % 5;
    }
    Arena arena = {0};
    arena_take(&arena, 3, 1);
    size_t used = arena.used;
    Sentence *batched = translate_all(t, source, 9, batch, &arena);
    CLAIM(arena.used == used, "the memory of each batch is given back");
    bool same = true;
    int most = 0, least = 7;
    for (int i = 0; i < 9; i++) {
        int alone[7], n = 0;
        Batch one = {.sentences = 1, .source_length = source[i].length,
                     .source = source[i].id};
        translate(t, &one, alone, &arena);
        while (n < 7 && alone[n] != PAD)
            n++;
        same = same && n == batched[i].length
            && !memcmp(alone, batched[i].id, sizeof(int) * (size_t)n);
        most = n > most ? n : most;
        least = n < least ? n : least;
    }
    CLAIM(same, "sentences in batches are translated as alone, and keep their "
          "order: %d to %d tokens", least, most);
    sentences_free(batched, 9);
    arena_free(&arena);
    transformer_free(t);
}

void test_longest(void) {
    Transformer model = {.config = {.max_len = 100}};
    CLAIM(longest_output(&model, 4) == 54 && longest_output(&model, 50) == 100,
          "a translation has up to 50 words more than its source, and END");
    CLAIM(longest_output(&model, 51) == 101 && longest_output(&model, 52) == 101,
          "but never more than max_len words");
}

void test_cut_off(void) {
    enum { P = S - 1 + 50 + 1 };
    Config config = small_config();
    config.max_len = 100;
    Transformer *t = random_transformer(&config);
    t->output.bias.at[END] = -1000;
    int out[B * P + 1];
    out[B * P] = -1;
    Batch batch = {.sentences = B, .source_length = S, .source = source_ids};
    translate(t, &batch, out, &room);
    bool words = true;
    for (int i = 0; i < B * P; i++)
        words = words && out[i] > END && out[i] < TARGET_V;
    CLAIM(words && out[B * P] == -1,
          "a translation that never ends is cut off there");
    transformer_free(t);
}

void test_bleu(void) {
    int a[] = {4, 5, 6, 7, 8, END}, b[] = {4, 5, 6, 7, 9, END};
    int c[] = {4, 4, 4, 4, 4, END}, u[] = {UNKNOWN, 5, END};
    Match m = {0};
    add_match(&m, (Sentence){a, 6}, (Sentence){a, 6});
    CLAIM(m.exact == 1 && fabs(bleu(&m) - 100) < 1e-9,
          "a translation equal to its reference: exact, BLEU 100");
    m = (Match){0};
    add_match(&m, (Sentence){b, 6}, (Sentence){a, 6});
    // 4/5 words, 3/4 pairs, 2/3 triples, 1/2 quadruples
    CLAIM(m.exact == 0 && fabs(bleu(&m) - 100 * pow(.8 * .75 * 2 / 3 * .5, .25)) < 1e-9,
          "one wrong word of five: BLEU by hand");
    m = (Match){0};
    add_match(&m, (Sentence){c, 6}, (Sentence){a, 6});
    CLAIM(m.matched[0] == 1 && m.runs[0] == 5,
          "a word repeated counts as often as the reference has it");
    m = (Match){0};
    add_match(&m, (Sentence){a, 4}, (Sentence){a, 6});
    CLAIM(fabs(bleu(&m) - 100 * exp(1 - 5. / 4)) < 1e-9,
          "too short by one word of five: the brevity penalty");
    m = (Match){0};
    add_match(&m, (Sentence){u, 3}, (Sentence){u, 3});
    CLAIM(m.exact == 0 && m.matched[0] == 1, "unknown words never match");
    m = (Match){0};
    add_match(&m, (Sentence){a, 0}, (Sentence){a, 6});
    CLAIM(bleu(&m) == 0, "an empty translation has BLEU 0");
}

int main(void) {
    for (int norm = 0; norm < 2; norm++)
        for (int positions = 0; positions < 3; positions++)
            test_teacher_forced(norm, positions);
    test_translate();
    test_memory();
    test_translate_all(4, 0);
    test_translate_all(3, 1);
    test_translate_all(4, 2);
    test_translate_all(3, -1000); // no end: as many tokens as there is room for
    test_longest();
    test_cut_off();
    test_bleu();
    arena_free(&room);
    return claims_end();
}
