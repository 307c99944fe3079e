// Chapter 11: loss, clipping, Adam, the learning rate, one step, the loop.

#include "../lib/test.h"
#include "../lib/model.h"

enum { N = 5, V = 6 };
int words[N] = {2, PAD, 5, UNKNOWN, 4};

typedef struct {
    Mat logits;
    double smoothing;
} Case;

loss_number mean_loss(void *context) {
    Case *c = context;
    Mat lse = arena_mat(&room, N, 1);
    Loss loss = loss_forward(lse, c->logits, words, c->smoothing, &room);
    loss_number sum = summed_loss(lse, c->logits, words, c->smoothing);
    return sum / loss.tokens;
}

void test_loss(double smoothing) {
    Case c = {random_mat(N, V), smoothing};
    Mat lse = arena_mat(&room, N, 1), dlogits = arena_mat(&room, N, V);
    size_t used = room.used;
    Loss loss = loss_forward(lse, c.logits, words, smoothing, &room);
    CLAIM(loss.tokens == 4 && lse.at[1] == 0, "padding is not counted");
    CLAIM(relative_error(loss.loss, summed_loss(lse, c.logits, words, smoothing))
          < 1e-14, "smoothing %.1f: the loss is its formula", smoothing);
    CLAIM(room.used == used, "the loss gives its scratch memory back");
    loss_backward(dlogits, c.logits, lse, words, smoothing, loss.tokens);
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
    for (int special = PAD; special <= START; special++) {
        real logits[5] = {0, 0, 4, 0, 0};
        logits[special] = 5;
        loss = loss_forward(one, mat(logits, 1, 5), two, 0, &room);
        CLAIM(loss.correct == 0, "token %d may be the most probable, and is wrong",
              special);
    }
}

void test_sums(void) {
    Loss a = {1, 2, 3, 4}, b = {10, 20, 30, 40}, c = add_losses(a, b);
    CLAIM(c.loss == 11 && c.cross_entropy == 22 && c.tokens == 33 && c.correct == 44,
          "losses are added one by one");
    real falling[5] = {9, 7, 5, 5, 2}, equal[5] = {9, 1, 5, 5, 2};
    CLAIM(arg_max(falling, 1, 5) == 1 && arg_max(equal, 1, 5) == 2
          && arg_max(equal, 0, 5) == 0,
          "arg_max: the first among equals, in the range that is given");
    real pad[4] = {900, 0, 0, 0}, lse[1];
    int two[1] = {2};
    Loss loss = loss_forward(mat(lse, 1, 1), mat(pad, 1, 4), two, 0, &room);
    CLAIM(fabs(loss.cross_entropy - 900) < 1e-3,
          "a large logit of the padding overflows nothing");
}

// n numbers in memory of their own, so that Valgrind sees reads beyond the end.
void test_norm_of(int n) {
    size_t used = room.used;
    Mat x = random_mat(1, n);
    double square = 0;
    for (int k = 0; k < n; k++)
        square += (double)x.at[k] * x.at[k];
    CLAIM(relative_error(l2_norm(x.at, (size_t)n), sqrt(square)) < 1e-10,
          "the norm of %d numbers", n);
    Mat p = filled_mat(1, n, 1), m = filled_mat(1, n, 0), v = filled_mat(1, n, 0);
    adam_step(paper_adam(p.at, m.at, v.at, x.at, (size_t)n), 1, 0.01, 1);
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
    CLAIM(l2_norm((real[1]){7}, 0) == 0, "the norm of no numbers is 0");
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
        adam_step(paper_adam(p, m, v, g, 1), 0.5, 0.01, t);
        first = 0.9 * first + 0.1 * clipped;
        second = 0.98 * second + 0.02 * clipped * clipped;
        q -= 0.01 * (first / (1 - pow(0.9, t)))
           / (sqrt(second / (1 - pow(0.98, t))) + 1e-9);
        worst = fmax(worst, relative_error(p[0], q));
    }
    CLAIM(worst < 1e-10, "twenty steps of Adam are as defined: %.0e", worst);
    CLAIM(fabs(1 / sqrt(1 - 0.98) - 7.07) < 0.005,
          "by hand: epsilon outside of the corrected root would weigh 7 times");
    enum { LONG = 50005 }; // enough for several threads
    Mat many = filled_mat(1, LONG, 1), g = filled_mat(1, LONG, 3);
    Mat means = filled_mat(1, LONG, 0), squares = filled_mat(1, LONG, 0);
    many.at[LONG - 1] = 7;
    adam_step(paper_adam(many.at, means.at, squares.at, g.at, LONG - 1), 1,
              0.01, 1);
    worst = 0;
    for (int k = 0; k < LONG - 1; k++)
        worst = fmax(worst, fabs(many.at[k] - 0.99));
    CLAIM(worst < 1e-8 && many.at[LONG - 1] == 7,
          "of many parameters each takes one step");
    real tiny[1] = {(real)1e-9}, half[1] = {0}, mean[1] = {0}, size[1] = {0};
    adam_step(paper_adam(half, mean, size, tiny, 1), 1, 0.01, 1);
    CLAIM(fabs(half[0] + 0.005) < 1e-8,
          "a gradient as small as ε = 1e-9 takes half a step");
    real still[1] = {5}, zero[1] = {0};
    adam_step(paper_adam(still, m, v, zero, 1), 1, 0, 1);
    CLAIM(still[0] == 5, "learning rate 0 changes nothing");
    real other[1] = {0}, g1[1] = {2}, m1[1] = {0}, v1[1] = {0};
    Adam slow = {other, m1, v1, g1, 1, 0.5, 0.75, 2};
    adam_step(slow, 1, 0.01, 1);
    CLAIM(m1[0] == 1 && v1[0] == 1 && fabs(other[0] + 0.005) < 1e-8,
          "β₁, β₂ and ε may differ from the paper's");
    zero[0] = 0;
    for (int t = 1; t <= 5000; t++)
        adam_step(paper_adam(still, m1, v1, zero, 1), 1, 0, t);
    CLAIM(m1[0] == 0 && v1[0] == 0,
          "without a gradient both moments become 0, and no subnormal numbers");
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

// The blanks on the page of chapter 11.
void test_blanks_of_loss(void) {
    real z[3] = {2, 1, 0}, lse[1], d[3];
    int one[1] = {1};
    Mat logits = mat(z, 1, 3), saved = mat(lse, 1, 1), dz = mat(d, 1, 3);
    Loss loss = loss_forward(saved, logits, one, 0, &room);
    loss_backward(dz, logits, saved, one, 0, 1);
    CLAIM(fabs(loss.loss - 1.408) < 0.0005 && fabs(d[0] - 0.665) < 0.0005
          && fabs(d[1] + 0.755) < 0.0005 && fabs(d[2] - 0.090) < 0.0005,
          "blanks: of the logits 2, 1, 0 the loss is 1.408, dz = 0.665, -0.755, "
          "0.090");
    loss_backward(dz, logits, saved, one, 0.1, 1);
    CLAIM(fabs(d[0] - 0.632) < 0.0005,
          "blanks: with smoothing of 0.1 it begins with 0.632");
}

void test_blanks_of_steps(void) {
    real large[2] = {6, 8}, small[2] = {(real)0.3, (real)0.4};
    CLAIM(l2_norm(large, 2) == 10 && fabs(clip_factor(10, 2) - 0.2) < 1e-15
          && fabs(l2_norm(small, 2) - 0.5) < 1e-6 && clip_factor(0.5, 2) == 1,
          "blanks: 6, 8 is cut to a fifth, 0.3, 0.4 left alone");
    real p[1] = {1}, m[1] = {0}, v[1] = {0}, g[1] = {2}, first[3];
    adam_step(paper_adam(p, m, v, g, 1), 1, 0.1, 1);
    memcpy(first, (real[]){m[0], v[0], p[0]}, sizeof first);
    adam_step(paper_adam(p, m, v, g, 1), 1, 0.1, 2);
    real second = m[0];
    g[0] = -2;
    adam_step(paper_adam(p, m, v, g, 1), 1, 0.1, 3);
    CLAIM(fabs(first[0] - 0.2) < 1e-6 && fabs(first[1] - 0.08) < 1e-6
          && fabs(first[2] - 0.9) < 1e-6 && fabs(second - 0.38) < 1e-6
          && fabs(m[0] - 0.142) < 1e-6,
          "blanks: Adam's m = 0.2, v = 0.08, p = 0.9; then m = 0.38, 0.142");
    Recipe r = {.rate = 1, .warmup = 100, .schedule = NOAM};
    CLAIM(fabs(learning_rate(&r, 25) - 1. / 4) < 1e-12
          && fabs(learning_rate(&r, 900) - 1. / 3) < 1e-12,
          "blanks: a quarter of the peak at step w/4, a third at step 9 w");
}

// ## The loop

typedef struct {
    int calls, stop_at;
    int64_t last; // step
} Seen;

bool watch(void *context, const Step *step) {
    Seen *s = context;
    s->calls++;
    s->last = step->step;
    return step->step != s->stop_at;
}

Trainer new_trainer(int steps) {
    Config config = small_config();
    drop_everywhere(&config, 0.1);
    Recipe recipe = {.rate = 0.01, .warmup = 10, .clip = 1, .smoothing = 0.1,
                     .batch = 8, .steps = steps, .seed = 5};
    Trainer t = trainer_of(&config, &recipe);
    initialize(&t.model->list, 5);
    return t;
}

// Whether two trainers have the same parameters, to the bit.
bool same_parameters(const Trainer *a, const Trainer *b) {
    return !memcmp(a->model->list.values, b->model->list.values,
                   a->model->list.count * sizeof(real));
}

void test_loop(void) {
    Pairs data = made_up_pairs(50);
    Trainer whole = new_trainer(40), parts = new_trainer(40);
    Seen seen = {.stop_at = -1};
    CLAIM(train(&whole, &data, watch, &seen), "training stays finite");
    CLAIM(seen.calls == 40 && seen.last == 40 && whole.step == 40,
          "the report comes after each of 40 steps");
    CLAIM(train(&whole, &data, watch, &seen) && seen.calls == 40,
          "a complete run succeeds and takes no further step");
    CLAIM(whole.arena.used == 0, "the steps give their memory back");

    Seen first = {.stop_at = 13}, second = {.stop_at = -1};
    CLAIM(train(&parts, &data, watch, &first) && parts.step == 13,
          "a report that returns false stops the loop");
    train(&parts, &data, watch, &second);
    CLAIM(second.calls == 27, "and training goes on from there");
    size_t size = whole.model->list.count * sizeof(real);
    CLAIM(same_parameters(&whole, &parts),
          "interrupted and resumed training ends in the same bits");
    CLAIM(!memcmp(whole.m, parts.m, size) && !memcmp(whole.v, parts.v, size),
          "Adam's moments too");

    Transformer *model = whole.model;
    model->output.bias.at[3] = (real)NAN;
    Mat before = copied(model->source_embedding);
    whole.recipe.steps = 50;
    CLAIM(!train(&whole, &data, watch, &seen) && whole.step == 40
          && seen.calls == 40,
          "a loss that is not a number ends training, without a report");
    CLAIM(same_bits(before, model->source_embedding),
          "and leaves the parameters alone");
    trainer_free(&whole);
    trainer_free(&parts);
    pairs_free(&data);
}

// The batches of a course begin anywhere, and an epoch is put in order once.
void test_course(void) {
    enum { COUNT = 20, SIZE = 8, EACH = 3 };
    Pairs data = made_up_pairs(COUNT);
    for (int i = 0; i < COUNT; i++)
        data.source[i].length--; // now the target is the longer side
    Recipe r = {.batch = SIZE, .seed = 5};
    int order[COUNT], own[COUNT] = {0};
    Course course = {&data, own, -1};
    bool same = true, kept = true, known = true;
    for (int step = 7; step < 7 + 3 * EACH; step++) {
        int64_t epoch = course.epoch;
        own[0] += step % EACH ? COUNT : 0; // shows if the order is made anew
        int marked = own[0];
        Batch batch = next_batch(&course, &r, step, &room);
        kept = kept && (course.epoch != epoch || own[0] == marked);
        own[0] -= own[0] >= COUNT ? COUNT : 0;
        epoch_order(order, &data, SIZE, 5, step / EACH);
        int first = step % EACH * SIZE, count = min_int(SIZE, COUNT - first);
        Batch expected = make_batch(&room, &data, order + first, count);
        same = same && batch.sentences == count && course.epoch == step / EACH
            && batch.source_length == expected.source_length
            && !memcmp(batch.source, expected.source, sizeof(int)
                       * (size_t)(count * expected.source_length));
        known = known && room.sentences == count
             && room.tokens == max_int(expected.source_length,
                                       expected.target_length);
    }
    CLAIM(known, "the arena knows the size of each, for messages");
    CLAIM(same, "a course that begins at step 7 has the batches of its epochs");
    CLAIM(kept, "the order of an epoch is made once");
    pairs_free(&data);
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
        CLAIM((k == 0) == isfinite(s.loss.loss)
              && (k > 0) == isfinite(s.gradient_norm)
              && (k != 1) == isfinite(s.loss.cross_entropy),
              "%s, and that alone", what[k]);
        CLAIM(t.step == 0 && same_bits(before, t.model->source_embedding),
              "%s: no step is taken", what[k]);
        trainer_free(&t);
    }
}

// In which pieces a step of train_step agrees with the step put together here.
typedef struct {
    bool loss, gradient, norm, rate, moments, parameters;
} Agreement;

// Forward, loss and backward with the noise of step t, from 1.
Loss loss_and_gradient(const Transformer *model, const Batch *batch, long t,
                       Transformer *g) {
    Pass pass = {&room, &model->config, true,
                 random_key(5, FOR_DROPOUT, (uint64_t)t), 0};
    Saved s;
    Mat logits = transformer_forward(&pass, &s, model, batch);
    Loss loss = loss_of_logits(logits, batch->expected, 0.1);
    transformer_backward(&pass, &s, model, g, logits);
    return loss;
}

// Takes step t. What Adam does is checked with the trainer's gradient, so that
// a wrong gradient does not count as a wrong step, too.
void take_step(Trainer *t, const Batch *batch, long step, Agreement *a) {
    size_t n = t->model->list.count, size = n * sizeof(real), used = t->arena.used;
    Transformer *g = transformer_zeros(&t->model->config);
    Loss loss = loss_and_gradient(t->model, batch, step, g);
    Mat p = copied(mat(t->model->list.values, 1, (int)n));
    Mat m = copied(mat(t->m, 1, (int)n));
    Mat v = copied(mat(t->v, 1, (int)n));
    Step done = train_step(t, batch);
    double norm = l2_norm(t->gradient->list.values, n);
    Adam all = paper_adam(p.at, m.at, v.at, t->gradient->list.values, n);
    adam_step(all, clip_factor(norm, 1), learning_rate(&t->recipe, step), step);
    a->loss = a->loss && done.loss.loss == loss.loss
           && done.loss.cross_entropy == loss.cross_entropy
           && done.loss.tokens == loss.tokens;
    a->gradient = a->gradient
               && !memcmp(g->list.values, t->gradient->list.values, size);
    a->norm = a->norm && done.gradient_norm == norm && norm > 1;
    a->rate = a->rate && done.step == step && t->arena.used == used
           && done.rate == learning_rate(&t->recipe, step);
    a->moments = a->moments && !memcmp(m.at, t->m, size)
              && !memcmp(v.at, t->v, size);
    a->parameters = a->parameters && !memcmp(p.at, t->model->list.values, size);
    transformer_free(g);
}

// The loop is train_step on the batches of epoch_order, and train_step is all
// the pieces, one after another, bit for bit.
void test_pieces(int pairs, int per_epoch) {
    Pairs data = made_up_pairs(pairs);
    Trainer whole = new_trainer(0), t = new_trainer(0);
    arena_take(&t.arena, 3, 1); // taken before the steps: they must keep it
    whole.recipe.epochs = 2;
    Seen seen = {.stop_at = -1};
    train(&whole, &data, watch, &seen);
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
    CLAIM(a.rate, "a step: steps and their rates are counted from 1, and each gives "
          "its memory back");
    CLAIM(a.moments, "a step: the moments get the gradient, all of it shortened "
          "by one factor");
    CLAIM(a.parameters, "a step: Adam corrects its bias by the step's number");
    CLAIM(whole.step == t.step && same_parameters(&whole, &t),
          "two epochs of %d pairs are %d steps on the batches of epoch_order",
          pairs, 2 * per_epoch);
    trainer_free(&whole);
    trainer_free(&t);
    pairs_free(&data);
}

// The loss of ten pairs, `size` in a batch, piece by piece.
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

// The most memory that evaluating n pairs takes, four in a batch.
size_t peak_of(const Transformer *model, int n) {
    Pairs data = made_up_pairs(n); // of four lengths, in turn
    Arena arena = {0};
    evaluate_loss(model, &data, 4, 0.1, &arena);
    size_t peak = arena.peak;
    arena_free(&arena);
    pairs_free(&data);
    return peak;
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
    CLAIM(peak_of(t.model, 4) == peak_of(t.model, 40),
          "the peak of memory does not grow with the data");
    Recipe many = {.epochs = 1000000, .batch = 1};
    CLAIM(total_steps(&many, 1000000) == 1000000000000,
          "a million epochs over a million pairs are 10^12 steps");
    Recipe epochs = {.epochs = 3, .batch = 8}, step = {.epochs = 3, .steps = 1};
    CLAIM(total_steps(&epochs, 48) == 18 && total_steps(&epochs, 50) == 21
          && total_steps(&step, 50) == 1,
          "three epochs of 48 pairs in batches of 8 are 18 steps, of 50 are 21");
    trainer_free(&t);
    pairs_free(&data);
}

// A batch cut in two: the gradients of its parts, each divided by the tokens of
// the whole, add up to that of the whole.
void test_parts(void) {
    Trainer t = new_trainer(1);
    drop_everywhere(&t.model->config, 0); // the noise would not be the same
    Batch batch = small_batch(), half[2];
    int64_t tokens = tokens_expected(&batch), counted = 0;
    for (int i = 0; i < 2; i++) {
        half[i] = (Batch){1, S, T, batch.source + i * S, batch.input + i * T,
                          batch.expected + i * T};
        counted += tokens_expected(&half[i]);
    }
    CLAIM(tokens == 6 && counted == 6, "padding is not expected");
    size_t n = t.model->list.count;
    real *g = t.gradient->list.values;
    Loss whole = add_gradient(&t, &batch, tokens, noise_of_step(&t));
    Mat once = copied(mat(g, 1, (int)n));
    clear(g, n);
    Loss parts = add_losses(add_gradient(&t, &half[0], tokens, 1),
                            add_gradient(&t, &half[1], tokens, 2));
    CLAIM(largest_error(mat(g, 1, (int)n), once) < 1e-10
          && relative_error(whole.loss, parts.loss) < 1e-10
          && parts.tokens == whole.tokens,
          "a batch may be cut into parts: their gradients are added");
    CLAIM(t.step == 0 && sum(t.m, (int)n) == 0 && t.arena.used == 0,
          "which is not yet a step");
    Mat before = copied(mat(t.model->list.values, 1, (int)n));
    Step s = update(&t, parts);
    CLAIM(t.step == 1 && s.step == 1
          && !same_bits(before, mat(t.model->list.values, 1, (int)n)),
          "`update` takes one");
    trainer_free(&t);
}

void test_threads(void) {
#ifdef _OPENMP
    Transformer *model[3];
    Pairs data = made_up_pairs(200);
    for (int k = 0; k < 3; k++) {
        Config config = small_config();
        config.layers = 1;
        config.d_model = 96;
        config.d_ff = 400;
        Recipe recipe = {.rate = 0.01, .warmup = 2, .clip = 1, .batch = 100,
                         .steps = 2, .seed = 5};
        Trainer t = trainer_of(&config, &recipe);
        initialize(&t.model->list, 5);
        omp_set_num_threads(k + 1);
        Seen seen = {.stop_at = -1};
        train(&t, &data, watch, &seen);
        model[k] = t.model;
        t.model = NULL;
        trainer_free(&t);
    }
    omp_set_num_threads(1);
    size_t size = model[0]->list.count * sizeof(real);
    const real *one = model[0]->list.values;
    CLAIM(!memcmp(one, model[1]->list.values, size)
          && !memcmp(one, model[2]->list.values, size),
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
    test_adam();
    test_rate();
    test_blanks_of_loss();
    test_blanks_of_steps();
    test_not_finite();
    test_pieces(16, 2);
    test_pieces(17, 3);
    test_parts();
    test_evaluation();
    test_course();
    test_loop();
    test_threads();
    arena_free(&room);
    return claims_end();
}
