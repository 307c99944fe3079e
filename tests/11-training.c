// Chapter 11: loss, clipping, Adam, the learning rate, one step, the loop.

#include "test.h"
#include "model.h"

enum { N = 5, V = 6 };
int words[N] = {2, PAD, 5, UNKNOWN, 4};

typedef struct {
    Mat logits;
    double smoothing;
} Case;

double mean_loss(void *context) {
    Case *c = context;
    size_t mark = room.used;
    Mat lse = arena_mat(&room, N, 1);
    Loss loss = loss_forward(lse, c->logits, words, c->smoothing, &room);
    arena_release(&room, mark);
    return loss.loss / loss.tokens;
}

void test_loss(double smoothing) {
    Case c = {random_mat(N, V), smoothing};
    Mat lse = arena_mat(&room, N, 1), dlogits = arena_mat(&room, N, V);
    size_t used = room.used;
    Loss loss = loss_forward(lse, c.logits, words, smoothing, &room);
    CLAIM(loss.tokens == 4 && lse.at[1] == 0, "padding is not counted");
    CLAIM(room.used == used, "the loss gives its scratch memory back");
    loss_backward(dlogits, c.logits, lse, words, smoothing, loss.tokens);
    double rows = 0;
    for (int i = 0; i < N; i++)
        rows = fmax(rows, fabs(sum(row(dlogits, i), V)));
    CLAIM(rows < 1e-12, "the rows of dlogits sum to 0");
    CLAIM(max(row(dlogits, 1), V) == 0, "a row of padding has no gradient");
    for (int k = 0; k < N * V; k++)
        dlogits.at[k] += (real)PREFILL;
    CLAIM_GRADIENT(mean_loss, &c, c.logits, dlogits, "smoothing %.1f: dlogits",
                   smoothing);
}

void test_loss_values(void) {
    real even[4] = {7, 7, 7, 7}, sure[4] = {0, 0, 100, 0}, lse[1];
    int two[1] = {2}, unknown[1] = {UNKNOWN};
    Mat one = mat(lse, 1, 1);
    Loss loss = loss_forward(one, mat(even, 1, 4), two, 0, &room);
    CLAIM(fabs(loss.cross_entropy - log(4)) < 1e-6, "four equal logits: the loss is log 4");
    loss = loss_forward(one, mat(sure, 1, 4), two, 0, &room);
    CLAIM(loss.cross_entropy < 1e-6 && loss.correct == 1, "sure and right: no loss");
    loss = loss_forward(one, mat(sure, 1, 4), two, 0.1, &room);
    CLAIM(fabs(loss.loss - 7.5) < 1e-5 && loss.cross_entropy < 1e-6,
          "sure and right with smoothing 0.1: loss 0.1 · 3/4 · 100");
    real guess[4] = {0, 0, 0, 5};
    loss = loss_forward(one, mat(guess, 1, 4), unknown, 0, &room);
    CLAIM(loss.correct == 0 && loss.tokens == 1, "an unknown word is never correct");
}

void test_sums(void) {
    Loss a = {1, 2, 3, 4}, b = {10, 20, 30, 40}, c = add_losses(a, b);
    CLAIM(c.loss == 11 && c.cross_entropy == 22 && c.tokens == 33 && c.correct == 44,
          "losses are added one by one");
    real falling[5] = {9, 7, 5, 5, 2}, equal[5] = {9, 1, 5, 5, 2};
    CLAIM(arg_max(falling, 1, 5) == 1 && arg_max(equal, 1, 5) == 2
          && arg_max(equal, 0, 5) == 0,
          "arg_max: the first among equals, beginning where it is told");
    real pad[4] = {900, 0, 0, 0}, lse[1];
    int two[1] = {2};
    Loss loss = loss_forward(mat(lse, 1, 1), mat(pad, 1, 4), two, 0, &room);
    CLAIM(fabs(loss.cross_entropy - 900) < 1e-3,
          "a large logit of the padding overflows nothing");
}

// n numbers in memory of their own, so that Valgrind sees an end missed.
void test_norm_of(int n) {
    size_t used = room.used;
    Mat x = random_mat(1, n);
    double square = 0;
    for (int k = 0; k < n; k++)
        square += (double)x.at[k] * x.at[k];
    CLAIM(relative_error(l2_norm(x.at, (size_t)n), sqrt(square)) < 1e-10,
          "the norm of %d numbers", n);
    Mat p = filled_mat(1, n, 1), m = filled_mat(1, n, 0), v = filled_mat(1, n, 0);
    adam_step((Adam){p.at, m.at, v.at, x.at, (size_t)n}, 1, 0.01, 1);
    double worst = 0;
    for (int k = 0; k < n; k++)
        worst = fmax(worst, fabs(fabs(p.at[k] - 1) - 0.01));
    CLAIM(worst < 1e-4, "the first step of Adam on each of them is the rate");
    arena_release(&room, used);
}

void test_clipping(void) {
    const int size[] = {1, 63, 64, 65, 127, 50005}; // the sum has 64 parts
    for (int i = 0; i < 6; i++)
        test_norm_of(size[i]);
    CLAIM(l2_norm((real[1]){7}, 0) == 0, "the norm of no number is 0");
    CLAIM(clip_factor(4, 1) == 0.25 && clip_factor(0.5, 1) == 1,
          "a norm of 4 is cut to 1, a norm of 0.5 is left alone");
}

// Adam by its definition, in double, one parameter.
void test_adam(void) {
    real p[1] = {1}, m[1] = {0}, v[1] = {0};
    double q = 1, first = 0, second = 0, worst = 0;
    for (int t = 1; t <= 20; t++) {
        real g[1] = {(real)(cos(t) * 3)};
        double clipped = g[0] * 0.5;
        adam_step((Adam){p, m, v, g, 1}, 0.5, 0.01, t);
        first = 0.9 * first + 0.1 * clipped;
        second = 0.98 * second + 0.02 * clipped * clipped;
        q -= 0.01 * (first / (1 - pow(0.9, t)))
           / (sqrt(second / (1 - pow(0.98, t))) + 1e-9);
        worst = fmax(worst, relative_error(p[0], q));
    }
    CLAIM(worst < 1e-10, "twenty steps of Adam are its definition: %.0e", worst);
    enum { LONG = 50005 }; // enough for several threads
    Mat many = filled_mat(1, LONG, 1), g = filled_mat(1, LONG, 3);
    Mat means = filled_mat(1, LONG, 0), squares = filled_mat(1, LONG, 0);
    many.at[LONG - 1] = 7;
    adam_step((Adam){many.at, means.at, squares.at, g.at, LONG - 1}, 1, 0.01,
              1);
    worst = 0;
    for (int k = 0; k < LONG - 1; k++)
        worst = fmax(worst, fabs(many.at[k] - 0.99));
    CLAIM(worst < 1e-8 && many.at[LONG - 1] == 7,
          "of many parameters each takes one step");
    real tiny[1] = {(real)1e-9}, half[1] = {0}, mean[1] = {0}, size[1] = {0};
    adam_step((Adam){half, mean, size, tiny, 1}, 1, 0.01, 1);
    CLAIM(fabs(half[0] + 0.005) < 1e-8,
          "a gradient as small as ε = 1e-9 takes half a step");
    real still[1] = {5}, zero[1] = {0};
    adam_step((Adam){still, m, v, zero, 1}, 1, 0, 1);
    CLAIM(still[0] == 5, "learning rate 0 changes nothing");
}

void test_rate(void) {
    Recipe r = {.rate = 0.01, .warmup = 100, .schedule = NOAM};
    CLAIM(fabs(learning_rate(&r, 1) - 0.0001) < 1e-12
          && fabs(learning_rate(&r, 50) - 0.005) < 1e-12,
          "warm-up is a straight line from step 1");
    CLAIM(fabs(learning_rate(&r, 100) - 0.01) < 1e-12
          && fabs(learning_rate(&r, 400) - 0.005) < 1e-12,
          "the peak is at step w, half of it at step 4 w");
    r.schedule = CONSTANT;
    CLAIM(fabs(learning_rate(&r, 50) - 0.005) < 1e-12
          && learning_rate(&r, 4000) == r.rate,
          "constant warms up too, and stays");
    // the paper's formula: D^-0.5 · min(t^-0.5, t · w^-1.5)
    Recipe paper = {.rate = 1 / sqrt(512. * 4000), .warmup = 4000};
    double worst = 0;
    for (int t = 1; t < 20000; t += 777)
        worst = fmax(worst, fabs(learning_rate(&paper, t) * sqrt(512)
                                 / fmin(pow(t, -0.5), t * pow(4000, -1.5)) - 1));
    CLAIM(worst < 1e-12, "peak (D w)^-½ gives the paper's equation 3");
}

// ## The loop

typedef struct {
    int calls, milestones, stop_at;
    long last;
} Seen;

bool watch(void *context, const Report *r) {
    Seen *s = context;
    s->calls++;
    s->milestones += r->milestone;
    s->last = r->step.step;
    return r->step.step != s->stop_at;
}

// A few made-up pairs: the target is the source backwards.
Pairs made_up_pairs(int count) {
    Pairs p = {.count = count};
    p.source = allocate((size_t)count, sizeof *p.source);
    p.target = allocate((size_t)count, sizeof *p.target);
    for (int i = 0; i < count; i++) {
        int n = 1 + i % 4;
        p.source[i] = (Sentence){allocate((size_t)n + 1, sizeof(int)), n + 1};
        p.target[i] = (Sentence){allocate((size_t)n + 1, sizeof(int)), n + 1};
        for (int k = 0; k < n; k++) {
            int word = FIRST_TOKEN + (int)(uniform(&test_state) * 5);
            p.source[i].id[k] = p.target[i].id[n - 1 - k] = word;
        }
        p.source[i].id[n] = p.target[i].id[n] = END;
    }
    return p;
}

Trainer new_trainer(int steps) {
    Config config = small_config();
    config.dropout = 0.1;
    Recipe recipe = {.rate = 0.01, .warmup = 10, .clip = 1, .smoothing = 0.1,
                     .batch = 8, .steps = steps, .seed = 5};
    Trainer t = trainer_new(&config, &recipe);
    initialize(t.model, 5);
    return t;
}

void test_loop(void) {
    Pairs data = made_up_pairs(50), valid = made_up_pairs(10);
    Trainer whole = new_trainer(40), parts = new_trainer(40);
    Seen seen = {.stop_at = -1};
    CLAIM(train(&whole, &data, &valid, watch, &seen), "training stays finite");
    CLAIM(seen.calls == 40 && seen.last == 40 && whole.step == 40,
          "the report comes after each of 40 steps");
    CLAIM(seen.milestones == 20, "with 20 milestones");
    CLAIM(train(&whole, &data, &valid, watch, &seen) && seen.calls == 40,
          "what is complete is well and takes no step more");
    CLAIM(isfinite(whole.best), "the best validation loss is known");

    Seen first = {.stop_at = 13}, second = {.stop_at = -1};
    train(&parts, &data, &valid, watch, &first);
    CLAIM(parts.step == 13, "a report that says no stops the loop");
    train(&parts, &data, &valid, watch, &second);
    CLAIM(second.calls == 27, "and training goes on from there");
    CLAIM(!memcmp(whole.model->values, parts.model->values,
                  whole.model->count * sizeof(real)) && whole.best == parts.best,
          "interrupted and resumed training ends in the same bits");
    CLAIM(!memcmp(whole.v->values, parts.v->values,
                  whole.model->count * sizeof(real)), "Adam's moments too");

    Transformer *model = whole.model;
    model->output.bias.at[3] = (real)NAN;
    Mat before = copied(model->source_embedding);
    whole.recipe.steps = 50;
    CLAIM(!train(&whole, &data, NULL, watch, &seen) && whole.step == 40,
          "a loss that is not a number ends training");
    CLAIM(same_bits(before, model->source_embedding),
          "and leaves the parameters alone");
    trainer_free(&whole);
    trainer_free(&parts);
    pairs_free(&data);
    pairs_free(&valid);
}

// What the loop tells the reporter, held against what it should be.
typedef struct {
    const Pairs *valid;
    int looks, bests;
    double lowest;
    bool counted, silent, measured, judged, remembered; // the five claims
} Looks;

bool inspect(void *context, const Report *r) {
    Looks *s = context;
    s->counted = s->counted && r->trainer->step == r->step.step
              && r->steps == r->trainer->recipe.steps;
    if (!r->milestone) {
        s->silent = s->silent && r->valid.tokens == 0 && !r->best;
        return true;
    }
    Loss again = evaluate_loss(r->trainer->model, s->valid, 8, 0, &room);
    s->measured = s->measured && r->valid.loss == again.loss
               && r->valid.cross_entropy == again.cross_entropy
               && r->valid.tokens == again.tokens;
    s->judged = s->judged && r->best == (again.cross_entropy < s->lowest);
    s->lowest = fmin(s->lowest, again.cross_entropy);
    s->remembered = s->remembered && r->trainer->best == s->lowest;
    s->looks++;
    s->bests += r->best;
    return true;
}

// How often a training of that many steps looks at the validation data.
void check_looks(int steps, double rate, int looks, const char *name) {
    Pairs data = made_up_pairs(50), valid = made_up_pairs(10);
    Trainer t = new_trainer(steps);
    t.recipe.rate = rate;
    Looks s = {&valid, 0, 0, INFINITY, true, true, true, true, true};
    train(&t, &data, &valid, inspect, &s);
    CLAIM(s.counted && t.step == steps,
          "%s: each has a report, with its number and the total", name);
    CLAIM(s.silent, "%s: between two looks a report has no validation loss", name);
    CLAIM(s.measured, "%s: a look gives the loss of the model as it is, "
          "unsmoothed", name);
    CLAIM(s.judged, "%s: best is said of a loss below all before, and of no other",
          name);
    CLAIM(s.remembered, "%s: the trainer remembers the lowest loss", name);
    CLAIM(s.looks == looks, "%s: %d looks at the validation data", name, looks);
    CLAIM(t.arena.used == 0, "%s: the steps give their memory back", name);
    if (rate == 0)
        CLAIM(s.bests == 1, "%s: an equal loss is no better one", name);
    if (rate > 1)
        CLAIM(s.bests < s.looks, "%s: nor is a worse one", name);
    trainer_free(&t);
    pairs_free(&data);
    pairs_free(&valid);
}

// Loss and gradient, of which one alone is not finite: nothing is learned.
void test_not_finite(void) {
    Batch batch = small_batch();
    const char *what[] = {"the gradient is too long", "the loss is infinite",
                          "the smoothed loss alone is infinite"};
    for (int k = 0; k < 3; k++) {
        Trainer t = new_trainer(1);
        Mat bias = t.model->output.bias;
        if (k == 0)
            fill(t.model->decoder.layer[1].feed_forward.norm.gain, (real)1e200);
        else
            fill(bias, (real)1e308);
        if (k == 1)
            bias.at[expected_ids[0]] = (real)-1e308;
        Mat before = copied(t.model->source_embedding);
        Step s = train_step(&t, &batch);
        CLAIM((k == 0) == isfinite(s.loss.loss) && (k > 0) == isfinite(s.gradient_norm)
              && (k != 1) == isfinite(s.loss.cross_entropy), "%s, and that alone", what[k]);
        CLAIM(t.step == 0 && same_bits(before, t.model->source_embedding),
              "%s: no step is taken", what[k]);
        trainer_free(&t);
    }
}

// Batches of sentences as on the web: a few of them many times as long as the
// rest. Two threads take 60 % of the time of one, or five times as long.
void test_pace(void) {
#ifdef _OPENMP
    int threads = omp_get_max_threads();
#endif
    enum { AFTER = ROUND / TRIALS };
    struct {
        Pace pace;
        double after[AFTER];
    } timed = {.pace = {.all = 1}};
    for (int i = 0; i < AFTER; i++)
        timed.after[i] = 3000;
    bool right = true;
    for (int k = 0; k < 2 * ROUND; k++) {
        int place = k % ROUND, start = k < ROUND ? 1000 : 2000;
        double tokens = 1 + k % 3, token = start - place; // faster and faster
        set_pace(&timed.pace, k, token * tokens, tokens);
        double all = start - min_int(place, TRIALS);
        double one = start - min_int(place, 2 * TRIALS);
        if (place < 1)
            all = INFINITY;
        if (place <= TRIALS)
            one = INFINITY;
        right = right && timed.pace.least[0] == all
             && timed.pace.least[1] == one;
    }
    CLAIM(right, "each round keeps the fastest of its first steps: by token, "
          "%d with all threads and %d with one", TRIALS, TRIALS);
    for (int i = 0; i < AFTER; i++)
        right = right && timed.after[i] == 3000;
    CLAIM(right, "and of the later ones nothing");
    Pace slower = {.all = 1, .least = {INFINITY, INFINITY}};
    for (int k = 1; k <= 2 * TRIALS; k++)
        set_pace(&slower, k, 12 * k, 4);
    CLAIM(slower.least[0] == 3 && slower.least[1] == 3 * (TRIALS + 1),
          "the fastest, not the last");
#ifdef _OPENMP
    int wrong = 0;
    for (int busy = 0; busy < 2; busy++) {
        Pace pace = {.all = 2};
        double seconds = 0, tokens = 1;
        for (int k = 0; k < 100 * ROUND; k++) {
            set_pace(&pace, k, seconds, tokens);
            bool one = omp_get_max_threads() == 1;
            wrong += k % ROUND >= 2 * TRIALS && one != busy;
            tokens = floor(640 * exp(0.7 * normal(&test_state)));
            seconds = 1e-5 * tokens * (one ? 1 : busy ? 5 : 0.6);
        }
    }
    omp_set_num_threads(threads);
    CLAIM(wrong == 0, "threads are chosen by the time of a token, so that long "
          "batches mislead nobody: %d steps of 51,200 chose wrongly", wrong);
#endif
}

// In which pieces a step of train_step agrees with the pieces put together here.
typedef struct {
    bool loss, gradient, norm, rate, moments, parameters;
} Agreement;

// Forward, loss and backward with the noise of step t, from 1.
Loss loss_and_gradient(const Transformer *model, const Batch *batch, long t,
                       Transformer *g) {
    Pass pass = {&room, &model->config, (real)0.1,
                 random_key(5, FOR_DROPOUT, (uint64_t)t), 0};
    Saved s;
    Mat logits = transformer_forward(&pass, &s, model, batch);
    Mat lse = arena_mat(&room, logits.rows, 1);
    Loss loss = loss_forward(lse, logits, batch->expected, 0.1, &room);
    loss_backward(logits, logits, lse, batch->expected, 0.1, loss.tokens);
    transformer_backward(&pass, &s, model, g, logits);
    return loss;
}

// Takes step t. What Adam does is held against the gradient of the trainer, so
// that a wrong gradient is not called a wrong step.
void take_step(Trainer *t, const Batch *batch, long step, Agreement *a) {
    size_t n = t->model->count, size = n * sizeof(real);
    Transformer *g = transformer_zeros(&t->model->config);
    Loss loss = loss_and_gradient(t->model, batch, step, g);
    Mat p = copied(mat(t->model->values, 1, (int)n));
    Mat m = copied(mat(t->m->values, 1, (int)n));
    Mat v = copied(mat(t->v->values, 1, (int)n));
    Step done = train_step(t, batch);
    double norm = l2_norm(t->gradient->values, n);
    Adam all = {p.at, m.at, v.at, t->gradient->values, n};
    adam_step(all, clip_factor(norm, 1), learning_rate(&t->recipe, step), step);
    a->loss = a->loss && done.loss.loss == loss.loss
           && done.loss.cross_entropy == loss.cross_entropy
           && done.loss.tokens == loss.tokens;
    a->gradient = a->gradient && !memcmp(g->values, t->gradient->values, size);
    a->norm = a->norm && done.gradient_norm == norm && norm > 1;
    a->rate = a->rate && done.step == step && t->arena.used == 0
           && done.rate == learning_rate(&t->recipe, step);
    a->moments = a->moments && !memcmp(m.at, t->m->values, size)
              && !memcmp(v.at, t->v->values, size);
    a->parameters = a->parameters && !memcmp(p.at, t->model->values, size);
    transformer_free(g);
}

// The loop is train_step on the batches of epoch_order, and train_step is all
// the pieces one after the other, bit for bit.
void test_pieces(int pairs, int per_epoch) {
    Pairs data = made_up_pairs(pairs);
    Trainer whole = new_trainer(0), t = new_trainer(0);
    whole.recipe.epochs = 2;
    Seen seen = {.stop_at = -1};
    train(&whole, &data, NULL, watch, &seen);
    int order[20];
    Agreement a = {true, true, true, true, true, true};
    for (long step = 1; step <= 2 * per_epoch; step++) {
        epoch_order(order, &data, 8, 5, (step - 1) / per_epoch);
        int first = (int)(step - 1) % per_epoch * 8;
        Batch batch = make_batch(&room, &data, order + first,
                                 min_int(8, pairs - first));
        take_step(&t, &batch, step, &a);
    }
    CLAIM(a.loss, "a step: the loss of its batch, with noise of its own");
    CLAIM(a.gradient, "a step: the gradient of the mean over its tokens, without "
          "the padding");
    CLAIM(a.norm, "a step: the norm is that of all gradients as one vector, and "
          "long enough to be clipped");
    CLAIM(a.rate, "a step: steps and their rates are counted from 1");
    CLAIM(a.moments, "a step: the moments get the gradient, all of it shortened "
          "by one factor");
    CLAIM(a.parameters, "a step: Adam corrects its bias by the step's number");
    CLAIM(whole.step == t.step && !memcmp(whole.model->values, t.model->values,
                                          t.model->count * sizeof(real)),
          "two epochs of %d pairs are %d steps on the batches of epoch_order",
          pairs, 2 * per_epoch);
    trainer_free(&whole);
    trainer_free(&t);
    pairs_free(&data);
}

// The loss of ten pairs, so many in a batch, piece by piece.
Loss loss_of(const Transformer *model, const Pairs *data, int size) {
    int order[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    Loss total = {0};
    for (int i = 0; i < 10; i += size) {
        Batch batch = make_batch(&room, data, order + i, min_int(size, 10 - i));
        Pass pass = {.arena = &room, .config = &model->config};
        Saved s;
        Mat logits = transformer_forward(&pass, &s, model, &batch);
        Mat lse = arena_mat(&room, logits.rows, 1);
        total = add_losses(total, loss_forward(lse, logits, batch.expected, 0.1,
                                               &room));
    }
    return total;
}

void test_evaluation(void) {
    Pairs data = made_up_pairs(10);
    Trainer t = new_trainer(1);
    arena_take(&t.arena, 3, 1);
    size_t used = t.arena.used;
    Loss alone = loss_of(t.model, &data, 1);
    for (int size = 4; size <= 5; size++) {
        Loss each = loss_of(t.model, &data, size);
        Loss all = evaluate_loss(t.model, &data, size, 0.1, &t.arena);
        CLAIM(!memcmp(&all, &each, sizeof all),
              "evaluation is without dropout, %d pairs in a batch", size);
        CLAIM(all.tokens == alone.tokens && all.correct == alone.correct
              && relative_error(all.loss, alone.loss) < 1e-10,
              "and finds what the pairs give alone");
    }
    CLAIM(t.arena.used == used, "and gives its memory back");
    Recipe epochs = {.epochs = 3, .batch = 8}, step = {.epochs = 3, .steps = 1};
    CLAIM(total_steps(&epochs, 48) == 18 && total_steps(&epochs, 50) == 21
          && total_steps(&step, 50) == 1,
          "three epochs of 48 pairs in batches of 8 are 18 steps, of 50 are 21");
    trainer_free(&t);
    pairs_free(&data);
}

void test_step(void) {
    Trainer t = new_trainer(1);
    Batch batch = small_batch();
    arena_take(&t.arena, 3, 1); // what was taken before is not given back
    size_t used = t.arena.used;
    double first = 0, last = 0;
    bool given_back = true;
    for (int i = 0; i < 150; i++) {
        Step s = train_step(&t, &batch);
        given_back = given_back && t.arena.used == used;
        last = s.loss.cross_entropy / s.loss.tokens;
        first = i == 0 ? last : first;
    }
    CLAIM(first > 1.5 && last < 0.2, "one batch is learned by heart: loss %.2f, "
          "then %.2f", first, last);
    CLAIM(given_back, "and each step gives its memory back");
    t.model->output.bias.at[batch.expected[0]] = -INFINITY;
    Step s = train_step(&t, &batch);
    CLAIM(isfinite(s.gradient_norm) && isinf(s.loss.loss) && t.step == 150,
          "an infinite loss, even if its gradients are finite: no step is made");
    trainer_free(&t);
}

void test_threads(void) {
#ifdef _OPENMP
    Transformer *model[3];
    Pairs data = made_up_pairs(300);
    for (int k = 0; k < 3; k++) {
        Config config = small_config();
        config.d_model = 96;
        config.d_ff = 400;
        Recipe recipe = {.rate = 0.01, .warmup = 2, .clip = 1, .batch = 100,
                         .steps = 3, .seed = 5};
        Trainer t = trainer_new(&config, &recipe);
        initialize(t.model, 5);
        omp_set_num_threads(k + 1);
        Seen seen = {.stop_at = -1};
        train(&t, &data, NULL, watch, &seen);
        model[k] = t.model;
        t.model = NULL;
        trainer_free(&t);
    }
    omp_set_num_threads(1);
    size_t size = model[0]->count * sizeof(real);
    CLAIM(!memcmp(model[0]->values, model[1]->values, size)
          && !memcmp(model[0]->values, model[2]->values, size),
          "1, 2 and 3 threads train to the same bits");
    for (int k = 0; k < 3; k++)
        transformer_free(model[k]);
    pairs_free(&data);
#endif
}

int main(void) {
    test_loss(0);
    test_loss(0.1);
    test_loss_values();
    test_sums();
    test_clipping();
    test_pace();
    test_adam();
    test_rate();
    test_step();
    test_not_finite();
    test_pieces(16, 2);
    test_pieces(17, 3);
    test_evaluation();
    test_loop();
    check_looks(5, 0.01, 5, "5 steps");
    check_looks(10, 3, 10, "10 steps of rate 3");
    check_looks(41, 0, 21, "41 steps of rate 0");
    test_threads();
    arena_free(&room);
    return claims_end();
}
