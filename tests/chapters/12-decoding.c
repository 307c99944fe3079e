// Chapter 12: greedy decoding with caches, beam search, BLEU.

#include "../lib/test.h"
#include "../lib/fails.h"
#include "../lib/model.h"

// A random model that ends more or less readily, as `end` says.
Transformer *ending_model(const Config *config, double end) {
    Transformer *t = random_transformer(config);
    t->output.bias.at[END] += (real)end;
    return t;
}

// What the decoder says after each of n words.
Mat logits_after(const Transformer *t, Sentence source, int *input, int n) {
    Pass pass = {.arena = &room, .config = &t->config};
    Saved s;
    Batch batch = {1, source.length, n, source.id, input, NULL};
    return transformer_forward(&pass, &s, t, &batch);
}

// Translations of n sources in one batch, with a beam of N, and their scores.
Sentence *scored(const Transformer *t, const Sentence *source, int n, int N,
                 double *score) {
    Sentence *own = allocate((size_t)n, sizeof *own);
    int *index = arena_take(&room, (size_t)(n * N), sizeof *index);
    for (int r = 0; r < n * N; r++)
        index[r] = r / N;
    Batch batch = {.sentences = n * N};
    batch.source = pack(&room, source, index, n * N, &batch.source_length);
    int P = longest_output(t, batch.source_length);
    int *out = arena_take(&room, (size_t)(n * P), sizeof *out);
    if (N == 1)
        translate(t, &batch, out, score, &room);
    else
        beam_search(t, &batch, N, out, score, &room);
    for (int i = 0; i < n; i++) {
        int tokens = tokens_in(out + i * P, P);
        own[i] = (Sentence){copied_ids(out + i * P, tokens), tokens};
        score[i] /= pow((5 + tokens) / 6., 0.6);
    }
    return own;
}

double score_of(const Transformer *t, Sentence source, int beam) {
    double score;
    free(scored(t, &source, 1, beam, &score));
    return score;
}

// Step by step with caches against all at once with masks.
void test_teacher_forced(int norm, int positions) {
    Config config = small_config();
    config.norm = norm;
    config.positions = positions;
    config.heads = norm == PRE_NORM ? 6 : 3; // more and fewer than their width
    ModelCase c = {random_transformer(&config), small_batch(), false, 0};
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

// The most memory that a translation of P tokens takes, with this beam, by a
// model that never ends. All of it is given back.
size_t peak_of(int P, int beam) {
    Config config = small_config();
    config.positions = NO_POSITIONS;
    config.max_len = P;
    Transformer *t = ending_model(&config, -1000);
    Arena arena = {0};
    int *out = arena_take(&room, (size_t)(B * P), sizeof *out);
    int *source = arena_take(&room, (size_t)(B * beam * S), sizeof *source);
    for (int i = 0; i < B * beam * S; i++)
        source[i] = source_ids[i / S / beam * S + i % S];
    Batch batch = {.sentences = B * beam, .source_length = S, .source = source};
    double sum[B];
    if (beam == 1)
        translate(t, &batch, out, sum, &arena);
    else
        beam_search(t, &batch, beam, out, sum, &arena);
    size_t peak = arena.used ? 0 : arena.peak;
    arena_free(&arena);
    transformer_free(t);
    return peak;
}

void test_memory(void) {
    size_t caches = 2 * 2 * 20 * B * D * sizeof(real); // of 2 layers, 20 tokens
    size_t weights = 2 * B * H * 20 * sizeof(real);    // in the last step
    CLAIM(peak_of(40, 1) - peak_of(20, 1) == caches + weights,
          "each step gives its memory back: 20 more take room in caches only");
    size_t steps = 20 * B * sizeof(Hypothesis), moved = caches / 4;
    CLAIM(peak_of(40, 3) - peak_of(20, 3)
          == 3 * (caches + weights + steps + moved),
          "with a beam of 3, in caches, in the matrix of them that is moved, and "
          "in what each step has written");
}

// n sources of one to six tokens, with END.
Sentence *short_sources(int n) {
    Sentence *source = arena_take(&room, (size_t)n, sizeof *source);
    for (int i = 0; i < n; i++) {
        int length = 1 + (i * 5) % 6;
        source[i] = (Sentence){arena_take(&room, (size_t)length, sizeof(int)),
                               length};
        for (int k = 0; k < length; k++)
            source[i].id[k] = k + 1 == length ? END : 4 + (i + i / 7 + k) % 5;
    }
    return source;
}

bool equal_sentences(Sentence a, Sentence b) {
    return a.length == b.length
        && !memcmp(a.id, b.id, sizeof(int) * (size_t)a.length);
}

// More sentences than are decoded at once.
void test_translate_all(int beam, double end) {
    enum { N = 70 };
    Config config = small_config();
    Transformer *t = ending_model(&config, end);
    Sentence *source = short_sources(N);
    Arena arena = {0};
    arena_take(&arena, 3, 1);
    size_t used = arena.used;
    Sentence *batched = translate_all(t, source, N, beam, &arena);
    int same = 0, most = 0, least = 7;
    for (int i = 0; i < N; i++) {
        Sentence *alone = translate_all(t, &source[i], 1, beam, &arena);
        same += equal_sentences(*alone, batched[i]);
        most = max_int(alone->length, most);
        least = min_int(alone->length, least);
        sentences_free(alone, 1);
    }
    CLAIM(same == N, "beam %d: sentences in batches are translated as alone, "
          "and keep their order: %d of %d, %d to %d tokens",
          beam, same, N, least, most);
    CLAIM(arena.used == used, "the memory of each batch is given back");
    sentences_free(batched, N);
    arena_free(&arena);
    transformer_free(t);
}

// The most memory that n sentences take, all of the same length and without end.
size_t peak_of_all(int n, int beam) {
    Config config = small_config();
    Transformer *t = ending_model(&config, -1000);
    Sentence *source = arena_take(&room, (size_t)n, sizeof *source);
    int ids[] = {4, 5, END};
    for (int i = 0; i < n; i++)
        source[i] = (Sentence){ids, 3};
    Arena arena = {0};
    sentences_free(translate_all(t, source, n, beam, &arena), n);
    size_t peak = arena.peak;
    arena_free(&arena);
    transformer_free(t);
    return peak;
}

void test_rows(int beam) {
    int n = max_int(64 / beam, 1); // sentences that are decoded at once
    CLAIM(peak_of_all(n - 1, beam) < peak_of_all(n, beam)
          && peak_of_all(n, beam) == peak_of_all(3 * n + 1, beam),
          "beam %d: 64 rows are decoded at once, and no more; if a beam is "
          "wider, a sentence is decoded alone", beam);
}

// A model whose numbers are not finite has no best translation.
void test_broken_model(int beam) {
    Config config = small_config();
    Transformer *t = random_transformer(&config);
    Sentence *source = short_sources(3);
    t->output.bias.at[5] = NAN;
    CLAIM_FAILS("of a model whose numbers are not finite nothing is translated",
                "the model's numbers are not finite",
                translate_all(t, source, 3, beam, &room));
    t->output.bias.at[5] = 0;
    t->encoder.layer[1].feed_forward.network.inner.bias.at[0] = NAN;
    CLAIM_FAILS("nor if ReLU would hide one of them",
                "the model's numbers are not finite",
                translate_all(t, source, 3, beam, &room));
    transformer_free(t);
}

// The logarithm of the probability that the model, with teacher forcing, gives
// to n tokens.
double forced_sum(const Transformer *t, Sentence source, const int *token,
                  int n) {
    int input[64] = {START};
    size_t mark = room.used;
    memcpy(input + 1, token, sizeof(int) * (size_t)(n - 1));
    Mat logits = logits_after(t, source, input, n);
    double total = 0;
    for (int k = 0; k < n; k++) {
        double sum = 0;
        for (int j = 0; j < logits.cols; j++)
            sum += exp(*at(logits, k, j));
        total += *at(logits, k, token[k]) - log(sum);
    }
    arena_release(&room, mark);
    return total;
}

// The best score of all translations that begin with the n tokens given.
double best_of_all(const Transformer *t, Sentence source, int *token, int n,
                   int most) {
    double best = -INFINITY;
    for (token[n] = END; token[n] < t->config.target_vocab; token[n]++) {
        double score;
        if (token[n] == END || n + 1 == most)
            score = forced_sum(t, source, token, n + 1)
                  / pow((6 + n) / 6., 0.6);
        else
            score = best_of_all(t, source, token, n + 1, most);
        best = fmax(best, score);
    }
    return best;
}

void test_wide_beam(void) {
    Config config = small_config();
    config.target_vocab = 6;
    config.max_len = 3;
    double worst = 0, narrow = 0;
    int lengths[4] = {0};
    int ids[] = {5, 7, END};
    Sentence source = {ids, 3};
    for (int trial = 0; trial < 30; trial++) {
        Transformer *t = random_transformer(&config);
        int token[3];
        double best = best_of_all(t, source, token, 0, 3), wide;
        Sentence *own = scored(t, &source, 1, 40, &wide);
        worst = fmax(worst, fabs(wide - best));
        narrow = fmax(narrow, best - score_of(t, source, 1));
        lengths[own->length]++;
        free(own);
        transformer_free(t);
    }
    CLAIM(worst < 1e-10 && narrow > 0.1, "a beam as wide as all sentences finds "
          "what trying all of them finds: %.0e (greedy is up to %.2f below)",
          worst, narrow);
    CLAIM(lengths[1] && lengths[2] + lengths[3] > 0 && !lengths[0],
          "of one token %d times, of two %d, of three %d", lengths[1],
          lengths[2], lengths[3]);
}

// A naive beam search, without caches or early stops, for up to three
// hypotheses of up to seven tokens.
enum { WIDEST = 3, TOKENS = 9 };

typedef struct {
    int token[TOKENS], length;
    double sum; // of the logarithms of their probabilities
} Beginning;

// The larger sum first; of equal ones the one that was there first.
int by_sum(const void *left, const void *right) {
    const Beginning *a = left, *b = right;
    return a->sum < b->sum ? 1 : a->sum > b->sum ? -1
         : a < b ? -1 : 1;
}

// All continuations of the beginning, in the order of their tokens: z (V)
int continuations(Beginning *to, const Beginning *from, const real *z, int V) {
    double sum = 0;
    for (int j = 0; j < V; j++)
        sum += exp(z[j]);
    for (int j = END; j < V; j++, to++) {
        *to = *from;
        to->token[to->length++] = j;
        to->sum += z[j] - log(sum);
    }
    return V - END;
}

// Sorts the candidates, and takes the first N: those that end go to `finished`,
// the others are open. Returns how many are open; *ended counts those that end.
int keep_first(Beginning *open, Beginning *all, int count, int N,
              Beginning *finished, int *ended) {
    int opened = 0;
    qsort(all, (size_t)count, sizeof *all, by_sum);
    for (int i = 0; i < N && i < count; i++) {
        int last = all[i].token[all[i].length - 1];
        if (last == END || all[i].length == TOKENS)
            finished[(*ended)++] = all[i];
        else
            open[opened++] = all[i];
    }
    return opened;
}

// Runs the whole decoder over each open hypothesis in each step, tries every
// token, and stops when none is open. Returns how many have finished.
int naive_beam(const Transformer *t, Sentence source, int N,
               Beginning *finished) {
    Beginning open[WIDEST] = {{.length = 0}}, all[WIDEST * TARGET_V];
    int opened = 1, ended = 0;
    while (opened > 0) {
        int count = 0;
        for (int r = 0; r < opened; r++) {
            size_t mark = room.used;
            int input[TOKENS + 1] = {START}, n = open[r].length;
            memcpy(input + 1, open[r].token, sizeof(int) * (size_t)n);
            Mat logits = logits_after(t, source, input, n + 1);
            count += continuations(all + count, &open[r], row(logits, n),
                                   TARGET_V);
            arena_release(&room, mark);
        }
        opened = keep_first(open, all, count, N, finished, &ended);
    }
    return ended;
}

// The best of those that finished, the first if there are two; *score is its
// score.
const Beginning *best_finished(const Beginning *finished, int ended,
                               double *score) {
    const Beginning *best = finished;
    *score = -INFINITY;
    for (const Beginning *f = finished; f < finished + ended; f++) {
        double own = f->sum / pow((5 + f->length) / 6., 0.6);
        if (own > *score) {
            best = f;
            *score = own;
        }
    }
    return best;
}

// What the naive search has found for a source.
typedef struct {
    Beginning finished[WIDEST * TOKENS];
    int ended;
} Naive;

typedef struct {
    int same, of, shortest, longest;
} Compared;

// Translations of n sources, found together, against those of the naive search.
void compare_beams(Compared *c, const Transformer *t, const Sentence *source,
                   const Naive *naive, int n, int beam) {
    double score[3], best_score;
    Sentence *own = scored(t, source, n, beam, score);
    for (int i = 0; i < n; i++) {
        const Beginning *best = best_finished(naive[i].finished, naive[i].ended,
                                              &best_score);
        c->same += own[i].length == best->length
            && !memcmp(own[i].id, best->token,
                       sizeof(int) * (size_t)best->length)
            && fabs(score[i] - best_score) < 1e-9;
        c->of++;
        c->shortest = min_int(c->shortest, best->length);
        c->longest = max_int(c->longest, best->length);
    }
    free(own);
}

// Models that end early, late and never. A beam of one is `translate`.
void test_naive_beam(int beam) {
#ifdef TRANSFORMER_MALLOC
    enum { MODELS = 6 }; // few, as Valgrind is slow
#else
    enum { MODELS = 36 };
#endif
    const double end[] = {-1000, 0, 0.5, 1, 1.5, 2};
    Config config = small_config();
    config.layers = 1;
    config.max_len = TOKENS;
    Compared c = {.shortest = TOKENS};
    Sentence *source = short_sources(3);
    Naive naive[3];
    for (int trial = 0; trial < MODELS; trial++) {
        config.norm = trial % 2;
        Transformer *t = ending_model(&config, end[trial % 6]);
        for (int i = 0; i < 3; i++)
            naive[i].ended = naive_beam(t, source[i], beam, naive[i].finished);
        compare_beams(&c, t, source, naive, 3, beam);
        for (int i = 0; i < 3; i++)
            compare_beams(&c, t, source + i, naive + i, 1, beam);
        transformer_free(t);
    }
    CLAIM(c.same == c.of && c.shortest == 1 && c.longest == TOKENS,
          "beam %d: %d random models, one source and three: "
          "%d of %d translations and scores are those of a search that decodes "
          "each hypothesis anew in each step (%d to %d tokens)", beam, MODELS,
          c.same, c.of, c.shortest, c.longest);
}

// Whether hypothesis i of step t, traced back, is this beginning.
bool same_hypothesis(const Beam *b, int N, int t, int i, const Beginning *own) {
    Hypothesis h = b->step[t * N + i];
    bool same = own->length == t && fabs(h.sum - own->sum) < 1e-9;
    for (int k = t - 1; same && k >= 0; k--) {
        same = h.token == own->token[k];
        h = b->step[k * N + h.row];
    }
    return same;
}

// Which hypotheses a step keeps, in which order: with random logits, and a
// penalty so large that no hypothesis is ever hopeless.
void test_kept_hypotheses(int N) {
    enum { A = 300 };
    int same = 0, of = 0, fewer = 0;
    for (int trial = 0; trial < 50; trial++) {
        Beginning open[WIDEST] = {{.length = 0}}, all[WIDEST * TARGET_V];
        Beginning finished[WIDEST * TOKENS];
        Beam b = beam_new(&room, N, TOKENS, TOKENS);
        int opened = 1, ended = 0;
        for (int t = 0; t < TOKENS && opened > 0; t++) {
            Mat logits = random_mat(N, TARGET_V);
            int count = 0;
            for (int r = 0; r < N; r++) {
                *at(logits, r, END) += 1;
                if (r < opened)
                    count += continuations(all + count, &open[r],
                                           row(logits, r), TARGET_V);
            }
            opened = keep_first(open, all, count, N, finished, &ended);
            bool equal = beam_step(&b, t, logits, A) == opened;
            for (int i = 0; i < N; i++)
                equal = equal
                    && (i < opened ? same_hypothesis(&b, N, t + 1, i, &open[i])
                                   : b.step[(t + 1) * N + i].sum == -INFINITY);
            same += equal;
            of++;
            fewer += opened > 0 && opened < N && t > 0;
        }
    }
    CLAIM(same == of && fewer > 9, "a beam of %d: after %d of %d steps the open "
          "hypotheses, their sums and their order are those that sorting all "
          "candidates gives (%d times some had finished)", N, same, of, fewer);
}

void test_log_sum_exp(void) {
    real high[] = {2000, 1999, 1998}, first[] = {2000, -2000, -2000};
    double sum = log(1 + exp(-1) + exp(-2));
    CLAIM(fabs(log_sum_exp(high, 3) - 2000 - sum) < 1e-10
          && log_sum_exp(first, 3) == 2000,
          "log-probabilities of logits whose exponentials exceed a double");
}

void test_beam_of_one(void) {
    Config config = small_config();
    int same = 0;
    Batch batch = {.sentences = B, .source_length = S, .source = source_ids};
    for (int trial = 0; trial < 20; trial++) {
        Transformer *t = ending_model(&config, 0.1 * trial);
        int out[B * 6], own[B * 6];
        double sum[B], own_sum[B];
        translate(t, &batch, out, sum, &room);
        beam_search(t, &batch, 1, own, own_sum, &room);
        same += !memcmp(out, own, sizeof out) && !memcmp(sum, own_sum, sizeof sum);
        transformer_free(t);
    }
    CLAIM(same == 20, "a beam of one is greedy decoding, bit for bit: %d of 20",
          same);
}

// The beginning that greedy decoding keeps may be displaced by two better ones.
void test_wider_is_not_always_better(void) {
    Config config = small_config();
    int below = 0, above = 0;
    double worst = 0;
    Sentence source = {copied_ids(source_ids, S), S};
    for (int trial = 0; trial < 1000; trial++) {
        Transformer *t = random_transformer(&config);
        double one = score_of(t, source, 1);
        double two = score_of(t, source, 2);
        below += two < one - 1e-6;
        above += two > one + 1e-6;
        worst = fmin(worst, two - one);
        transformer_free(t);
    }
    CLAIM(below > 0 && above > 3 * below, "in 1,000 models a beam of two scores "
          "above greedy decoding %d times, and below it %d times, by up to %.2f",
          above, below, -worst);
}

// Rows of a cache that have been moved, against a cache filled anew with what
// each row has then written.
void test_reorder(void) {
    enum { ROWS = 3, STEPS = 4 };
    Config config = small_config();
    Transformer *t = random_transformer(&config);
    int written[ROWS][STEPS] = {{START, 5, 6, 7}, {START, 8, 9, 10},
                                {START, 4, 4, 9}};
    int from[ROWS] = {2, 2, 0}, *ids = arena_take(&room, ROWS * S, sizeof *ids);
    for (int i = 0; i < ROWS * S; i++)
        ids[i] = source_ids[i % S];
    Pass pass = {.arena = &room, .config = &config};
    Cache moved = decoder_start(&pass, t, ids, ROWS, S, STEPS);
    Cache anew = decoder_start(&pass, t, ids, ROWS, S, STEPS);
    Mat x = {0}, y = {0};
    for (int k = 0; k < STEPS; k++) {
        int one[ROWS], other[ROWS];
        for (int r = 0; r < ROWS; r++) {
            one[r] = written[k < 3 ? r : from[r]][k];
            other[r] = written[from[r]][k];
        }
        x = decoder_step(&pass, &moved, one);
        y = decoder_step(&pass, &anew, other);
        if (k == 2)
            reorder_cache(&room, &moved, from, ROWS);
    }
    double worst = largest_error(x, y);
    for (int l = 0; l < config.layers; l++) {
        worst = fmax(worst, largest_error(moved.layer[l].self.k,
                                          anew.layer[l].self.k));
        worst = fmax(worst, largest_error(moved.layer[l].self.v,
                                          anew.layer[l].self.v));
    }
    CLAIM(worst < 1e-12, "caches whose rows were moved are those that are "
          "computed anew: %.0e", worst);
    transformer_free(t);
}

// Logits of the given probabilities, of END and the two tokens after it.
void set_logits(Mat logits, int r, double end, double four, double five) {
    fill(slice_rows(logits, r, 1), -1000);
    *at(logits, r, END) = (real)log(end);
    *at(logits, r, END + 1) = (real)log(four);
    *at(logits, r, END + 2) = (real)log(five);
}

void test_ties(void) {
    Mat logits = arena_mat(&room, 2, 5);
    Beam b = beam_new(&room, 2, 8, 6);
    Hypothesis *next = b.step + 2;
    set_logits(logits, 0, .1, .4, .4);
    beam_step(&b, 0, logits, 0);
    CLAIM(next[0].token == 3 && next[1].token == 4,
          "of two equal candidates the lower token comes first");
    set_logits(logits, 0, .5, .25, .25);
    set_logits(logits, 1, .5, .25, .25);
    beam_step(&b, 1, logits, 0);
    CLAIM(b.length == 2 && b.best.row == 0,
          "of two that finish with equal scores the first one counts");
    b = beam_new(&room, 2, 8, 6);
    next = b.step + 2;
    set_logits(logits, 0, .3, .3, .3);
    beam_step(&b, 0, logits, 2);
    CLAIM(b.length == 1 && next[0].token == 3 && next[1].sum == -INFINITY,
          "of three equal candidates a beam of two takes the first two");
}

// A step is the last one if even the greatest length would not help.
void test_when_to_stop(void) {
    Mat logits = arena_mat(&room, 2, 5);
    Beam b = beam_new(&room, 2, 8, 6);
    set_logits(logits, 0, .5, .5, .001);
    CLAIM(beam_step(&b, 0, logits, 0) == 0 && b.length == 1,
          "an open hypothesis that could only be as good as the best finished "
          "one cannot beat it");
    // log .5945 = -.520 of one token; -1 / (11/6) = -.545, but -1 / (12/6) = -.5
    b = beam_new(&room, 2, 8, 6);
    set_logits(logits, 0, .5945, exp(-1), .0376);
    CLAIM(beam_step(&b, 0, logits, 1) == 0 && b.length == 1,
          "the largest penalty is that of the longest translation allowed");
    b = beam_new(&room, 2, 8, 7);
    CLAIM(beam_step(&b, 0, logits, 1) == 1,
          "with one token more there would be hope");
    CLAIM(fabs(-2 / length_penalty(5, 0.6) + 1.47) < 0.005
          && fabs(-3 / length_penalty(20, 0.6) + 1.27) < 0.005
          && fabs(-4 / length_penalty(20, 0.6) + 1.70) < 0.005,
          "by hand: of -3 and -4 with room for 20 tokens, only -3 can beat -2 "
          "with 5");
}

void test_beam_step(void) {
    Mat logits = arena_mat(&room, 2, 5);
    Beam b = beam_new(&room, 2, 8, 6);
    Hypothesis *next = b.step + 2;
    set_logits(logits, 0, .1, .2, .7);
    set_logits(logits, 1, .1, .2, .7);
    int open = beam_step(&b, 0, logits, 0);
    CLAIM(open == 2 && b.length == 0 && next[0].token == 4 && next[1].token == 3
          && fabs(next[0].sum - log(.7)) < 1e-12,
          "END finishes nothing if two other tokens are more probable");
    next = b.step + 4;
    set_logits(logits, 0, .4, .35, .25); // of .7: .28, .245, .175
    set_logits(logits, 1, .1, .1, .8);   // of .2: .02, .02, .16
    Beam unfair = b;
    open = beam_step(&b, 1, logits, 2);
    CLAIM(open == 1 && b.length == 2
          && fabs(b.score - log(.28) / (7 / 6. * 7 / 6)) < 1e-12,
          "END finishes a hypothesis if it is among the best");
    CLAIM(next[0].row == 0 && next[0].token == 3
          && fabs(next[0].sum - log(.245)) < 1e-12 && next[1].sum == -INFINITY,
          "the others of the best stay open, and come first");
    b.step[5 * 2] = next[0];
    b.step[5 * 2 + 1] = next[1];
    CLAIM(beam_step(&unfair, 1, logits, 0) == 0 && unfair.length == 2,
          "without a penalty .245 can no longer beat .28: the search stops");
    open = beam_step(&b, 5, logits, 2);
    CLAIM(open == 0 && b.length == 6 && b.best.token == 2
          && b.step[6 * 2].sum == -INFINITY,
          "in the last step all finish, with END or without, and none is open");
}

void test_longest(void) {
    Transformer model = {.config = {.max_len = 100}};
    CLAIM(longest_output(&model, 4) == 53 && longest_output(&model, 50) == 99,
          "a translation has up to 50 tokens more than the words of its source");
    CLAIM(longest_output(&model, 51) == 100 && longest_output(&model, 52) == 100,
          "but never more than max_len");
    CLAIM(tokens_in((int[]){PAD, PAD}, 2) == 0
          && tokens_in((int[]){5, END, PAD}, 3) == 2
          && tokens_in((int[]){5, END, 5}, 2) == 2,
          "the tokens of a row end at its padding, or at its end");
}

// Whether translations that never end have as many tokens as they may: the
// second source has two tokens less than the first.
bool cut_in_place(const int *out, int P) {
    bool words = true;
    for (int i = 0; i < B * P; i++)
        words = words && (i < B * P - 2 ? out[i] > END && out[i] < TARGET_V
                                        : out[i] == PAD);
    return words && out[B * P] == -1;
}

void test_cut_off(void) {
    enum { P = S - 1 + 50 };
    Config config = small_config();
    config.max_len = 100;
    Transformer *t = ending_model(&config, -1000);
    int out[B * P + 1], twice[B * 2 * S];
    out[B * P] = -1;
    Batch batch = {.sentences = B, .source_length = S, .source = source_ids};
    double sum[B], beam_sum[B];
    translate(t, &batch, out, sum, &room);
    CLAIM(cut_in_place(out, P), "without an end a translation is cut there");
    beam_search(t, &batch, 1, out, beam_sum, &room);
    CLAIM(cut_in_place(out, P) && !memcmp(sum, beam_sum, sizeof sum),
          "so is one with a beam of one, and no token beyond it counts");
    for (int i = 0; i < B * 2 * S; i++)
        twice[i] = source_ids[i / (2 * S) * S + i % S];
    batch = (Batch){.sentences = B * 2, .source_length = S, .source = twice};
    memset(out, 0, sizeof *out * B * P);
    beam_search(t, &batch, 2, out, sum, &room);
    CLAIM(cut_in_place(out, P), "and of two");
    Sentence source = {source_ids, S};
    Sentence *all = translate_all(t, &source, 1, 1, &room);
    CLAIM(all->length == P, "and one of many: %d tokens", all->length);
    sentences_free(all, 1);
    transformer_free(t);
}

// One translation, of n tokens, compared with its reference.
Match match_of(int *translation, int n, int *reference, int there) {
    Match m = {0};
    add_match(&m, (Sentence){translation, n}, (Sentence){reference, there});
    return m;
}

void test_bleu(void) {
    int a[] = {4, 5, 6, 7, 8, END}, b[] = {4, 5, 6, 7, 9, END};
    int c[] = {4, 4, 4, 4, 4, END}, u[] = {UNKNOWN, 5, END};
    Match m = match_of(a, 6, a, 6);
    CLAIM(m.exact == 1 && fabs(bleu(&m) - 100) < 1e-9,
          "a translation equal to its reference: exact, BLEU 100");
    m = match_of(b, 6, a, 6);
    // 4/5 words, 3/4 pairs, 2/3 triples, 1/2 quadruples
    CLAIM(m.exact == 0 && fabs(bleu(&m) - 100 * pow(.8 * .75 * 2 / 3 * .5, .25)) < 1e-9,
          "one wrong word of five: BLEU by hand");
    m = match_of(c, 6, a, 6);
    CLAIM(m.matched[0] == 1 && m.runs[0] == 5,
          "a word repeated counts as often as the reference has it");
    m = match_of(a, 4, a, 6);
    CLAIM(fabs(bleu(&m) - 100 * exp(1 - 5. / 4)) < 1e-9,
          "too short by one word of five: the brevity penalty");
    m = match_of(a, 2, a, 2);
    CLAIM(m.runs[0] == 2 && m.runs[2] == 1 && m.runs[3] == 1 && m.matched[2] == 0,
          "a translation of two words counts as one run of three, and of four, "
          "that does not match");
    m = match_of(u, 3, u, 3);
    CLAIM(m.exact == 0 && m.matched[0] == 1, "unknown words never match");
    int run[] = {UNKNOWN, 5, 6, UNKNOWN, END};
    m = match_of(run, 5, run, 5);
    CLAIM(m.matched[0] == 2 && m.matched[1] == 1 && m.matched[2] == 0
          && m.runs[2] == 2,
          "nor does a run in which only the first or the last word is unknown");
    m = match_of(a, 0, a, 6);
    CLAIM(bleu(&m) == 0, "an empty translation has BLEU 0");
}

// The blanks on the page of chapter 12.
void test_blanks(void) {
    double elle = .4 * .8 * .9, il = .5 * .6 * .9;
    CLAIM(fabs(elle - .288) < 1e-12 && fabs(il - .27) < 1e-12
          && fabs(log(elle) / length_penalty(3, 0.6) + 1.047) < 0.0005,
          "blanks: elle dort scores -1.047, above il dort");
    int a[] = {4, 5, 6, 7, 8, 9, END}, b[] = {4, 5, 6, 7, 8, 10, END};
    Match wrong = match_of(b, 7, a, 7), shorter = match_of(b, 5, a, 7);
    CLAIM(wrong.matched[0] == 5 && wrong.runs[0] == 6 && wrong.matched[3] == 2
          && wrong.runs[3] == 3 && fabs(bleu(&wrong) - 75.98) < 0.005
          && fabs(bleu(&shorter) - 81.9) < 0.05,
          "blanks: of six words the last is wrong, BLEU 75.98; without it the "
          "penalty is 0.819");
    enum { WORDS_WRITTEN = 9 };
    int input[WORDS_WRITTEN] = {START, 4, 5, 6, 4, 5, 6, 4, 5}, cached = 0, whole = 0;
    Config config = small_config();
    config.max_len = WORDS_WRITTEN;
    Transformer *t = random_transformer(&config);
    Pass pass = {.arena = &room, .config = &config};
    Cache cache = decoder_start(&pass, t, source_ids, 1, S, WORDS_WRITTEN);
    for (int n = 1; n <= WORDS_WRITTEN; n++) {
        whole += logits_after(t, (Sentence){source_ids, S}, input, n).rows;
        cached += decoder_step(&pass, &cache, &input[n - 1]).rows;
    }
    CLAIM(cached == 9 && whole == 45,
          "blanks: nine words take 9 positions with the cache, 45 without");
    transformer_free(t);
}

// BLEU of more than one sentence, by hand: one translation is too long by two
// words, others are too short by two.
void test_bleu_of_corpus(void) {
    int a[] = {4, 5, 6, 7, 8, END}, longer[] = {4, 5, 6, 7, 8, 9, 10, END};
    int b[] = {11, 12, 13, 14, 15, 16, 17, END};
    Match m = match_of(longer, 8, a, 6);
    double first = bleu(&m);
    CLAIM(fabs(first - 100 * pow(5. / 7 * 4 / 6 * 3 / 5 * 2 / 4, .25)) < 1e-9,
          "too long by two words: no penalty, and no reward");
    add_match(&m, (Sentence){b, 5}, (Sentence){b, 8});
    CLAIM(fabs(bleu(&m) - 100 * pow(10. / 12 * 8 / 10 * 6 / 8 * 4 / 6, .25)) < 1e-9,
          "one too long and one too short by as much: runs are added up before "
          "they are divided, and there is no penalty");
    add_match(&m, (Sentence){b, 5}, (Sentence){b, 8});
    double shares = 15. / 17 * 12 / 14 * 9 / 11 * 6 / 8;
    CLAIM(fabs(bleu(&m) - 100 * pow(shares, .25) * exp(1 - 19. / 17)) < 1e-9,
          "the penalty is that of all words: 17, where the references have 19");
    m = match_of(a, 4, (int[]){4, 5, 6, 9, END}, 5);
    CLAIM(m.matched[2] == 1 && m.matched[3] == 0 && bleu(&m) == 0,
          "if no run of four words matches BLEU is 0, whatever shorter ones do");
    add_match(&m, (Sentence){a, 6}, (Sentence){a, 6});
    CLAIM(bleu(&m) > 0, "but one that matches in another sentence is enough");
}

int main(void) {
    for (int norm = 0; norm < NORMS; norm++)
        for (int positions = 0; positions < POSITIONS; positions++)
            test_teacher_forced(norm, positions);
    test_memory();
    for (int beam = 1; beam < 6; beam += 2) {
        test_translate_all(beam, 0);
        test_translate_all(beam, 2);
        test_translate_all(beam, -1000); // no end: all tokens there is room for
        test_rows(beam);
        test_broken_model(beam);
    }
    test_rows(64);
    test_rows(70);
    test_wide_beam();
    test_log_sum_exp();
    test_beam_of_one();
    test_wider_is_not_always_better();
    test_reorder();
    test_beam_step();
    test_ties();
    test_when_to_stop();
    test_longest();
    test_cut_off();
    test_bleu();
    test_blanks();
    test_bleu_of_corpus();
    for (int beam = 1; beam <= WIDEST; beam++) {
        test_naive_beam(beam);
        if (beam > 1)
            test_kept_hypotheses(beam);
    }
    arena_free(&room);
    return claims_end();
}
