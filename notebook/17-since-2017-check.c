// Lab 17, continued: are the changes right? In double precision.
//
// The first argument selects the test; each prints a CSV of its own. The models
// are small, all their parameters are random, and there is one for each change;
// a second argument chooses one of them.
//
//     gradients   every element of every gradient against finite differences
//     gains-1     the same with all gains 1, which is too weak a test
//     values      one step of training, for another program to repeat
//     future      one token of each text replaced by another
//     cache       token by token with the cache, against the forward pass
//
// Their columns are `model` and those of measure.h.
//
// same: what should not change the logits, and what should.
//
//     what,difference
//
// distance: the scores of one query with one key at different positions.
//
//     positions,query,key,score

#define TRANSFORMER_DOUBLE
#include "lib/lab.h"
#include "lib/gpt.h"
#include "lib/modern.h"
#include "lib/measure.h"

enum { B = 2, T = 5, D = 16, V = 9, H = 4, G = 2, L = 2, REPLACED = 3 };

int input[B * T] = {5, 7, 4, 8, 6, 8, 7, 7, 5, 4};
int expected[B * T] = {7, 4, 8, 6, 5, 7, 7, 5, 4, 6};
const Batch batch = {.sentences = B, .target_length = T, .input = input,
                     .expected = expected};

const struct {
    const char *name;
    Modern modern;
} models[] = {
    {"lab 16", {.key_heads = H, .biases = 1}},
    {"RMSNorm", {.norm = RMS_NORM, .key_heads = H, .biases = 1,
                 .epsilon = 0.01}},
    {"interleaved", {.rotary = INTERLEAVED, .key_heads = H, .biases = 1,
                     .rotary_base = 100}},
    {"rotate half", {.rotary = ROTATE_HALF, .key_heads = H, .biases = 1,
                     .rotary_base = 100}},
    {"SwiGLU", {.network = SWIGLU, .key_heads = H, .biases = 1}},
    {"grouped", {.key_heads = G, .biases = 1}},
    {"all", {.norm = RMS_NORM, .rotary = ROTATE_HALF, .network = SWIGLU,
             .key_heads = G, .biases = 1, .epsilon = 0.01, .rotary_base = 100}},
    {"all without biases", {.norm = RMS_NORM, .rotary = ROTATE_HALF,
                            .network = SWIGLU, .key_heads = G, .epsilon = 0.01,
                            .rotary_base = 100}},
};

enum { MODELS = sizeof models / sizeof *models };

// Learned positions where nothing is turned. The last model is not tied.
Config config_of(const Modern *m) {
    return (Config){.layers = L, .d_model = D, .heads = H, .d_ff = 6,
                    .source_vocab = FIRST_TOKEN, .target_vocab = V,
                    .max_len = T, .norm = PRE_NORM,
                    .positions = m->rotary ? NO_POSITIONS : LEARNED,
                    .activation = GELU, .tie = m->biases};
}

// The model at work, and its gradients.
ModernGpt model, gradient;

Trainer new_lab(int number) {
    const Modern *m = &models[number].modern;
    Recipe recipe = {.rate = 0.01, .schedule = CONSTANT, .clip = INFINITY};
    Config config = config_of(m);
    model = modern_zeros(&config, m);
    gradient = modern_zeros(&config, m);
    randomize(&model.base->list);
    return trainer_new(model.base, gradient.base, &recipe);
}

void end_lab(Trainer *t) {
    modern_free(&model);
    modern_free(&gradient);
    trainer_free(t);
}

Pass new_pass(Trainer *t) {
    return (Pass){.arena = &t->arena, .config = &t->model->config,
                  .sentences = B};
}

Loss loss_of(Trainer *t) {
    Pass pass = new_pass(t);
    return modern_gradient(&pass, &model, &gradient, &batch);
}

Mat logits_of(Trainer *t) {
    Pass pass = new_pass(t);
    ModernSaved saved;
    return modern_forward(&pass, &saved, &model, input, T);
}

void gradients(Trainer *t, const char *label) {
    print_errors(t, loss_of, label);
}

void gains_1(Trainer *t, const char *label) {
    const TensorList *l = &t->model->list;
    for (const Tensor *x = l->tensor; x < l->tensor + l->tensors; x++)
        if (x->init == INIT_ONES)
            fill(*x->mat, 1);
    print_errors(t, loss_of, label);
}

void values(Trainer *t, const char *label) {
    print_step(t, logits_of, loss_of, label);
}

// ## The future, and the cache

// In each text of the batch, the token at REPLACED becomes another, and then
// itself again.
void future(Trainer *t, const char *label) {
    int kept[B * T];
    Mat before = logits_of(t);
    memcpy(kept, input, sizeof kept);
    for (int i = REPLACED; i < B * T; i += T)
        input[i] = input[i] == 4 ? 5 : 4;
    print_differences(label, before, logits_of(t), T);
    memcpy(input, kept, sizeof kept);
}

// Position by position, all texts of the batch side by side.
void cache(Trainer *t, const char *label) {
    Mat whole = logits_of(t), steps = arena_mat(&t->arena, B * T, V);
    Pass pass = new_pass(t);
    ModernCache c = modern_cache(&t->arena, &model, B);
    for (int i = 0; i < T; i++) {
        const int id[B] = {input[i], input[T + i]};
        Mat logits = modern_step(&pass, &c, id);
        for (int b = 0; b < B; b++)
            copy(slice_rows(steps, b * T + i, 1), slice_rows(logits, b, 1));
    }
    print_differences(label, whole, steps, T);
}

// ## What is the same

// A line: what was done, and how far the logits are now from what they were.
void print_change(Trainer *t, Mat before, const char *what) {
    printf("%s,%.3g\n", what, largest_difference(before, logits_of(t)));
}

// With everything off: gpt.h on the same numbers, and its gradients.
void same_as_gpt(void) {
    Trainer t = new_lab(0);
    Transformer *gpt = gpt_outline(&t.model->config), *dgpt;
    dgpt = gpt_outline(&t.model->config);
    transformer_place(gpt);
    transformer_place(dgpt);
    int n = (int)t.model->list.count;
    Mat found = mat(t.gradient->list.values, 1, n);
    copy(mat(gpt->list.values, 1, n), mat(t.model->list.values, 1, n));
    Pass pass = new_pass(&t);
    GptSaved saved;
    print_change(&t, gpt_forward(&pass, &saved, gpt, input, T),
                 "all off or gpt.h");
    mean_loss(&t, loss_of);
    gpt_gradient(&pass, gpt, dgpt, &batch);
    printf("their gradients,%.3g\n",
           largest_difference(found, mat(dgpt->list.values, 1, n)));
    transformer_free(gpt);
    transformer_free(dgpt);
    end_lab(&t);
}

enum { QUERY, KEY, QUERY_BIAS, KEY_BIAS };

// Permutes one of these in all layers.
void permute(int which, int to) {
    for (int l = 0; l < L; l++) {
        const MultiHead *a = &model.layer[l].attention;
        const Mat m[] = {a->query.weight, a->key.weight, a->query.bias,
                         a->key.bias};
        change_pairing(m[which], D / H, to);
    }
}

// The convention of a model, changed step by step.
void same_in_both_conventions(void) {
    Trainer t = new_lab(2);
    Mat before = logits_of(&t);
    model.modern.rotary = ROTATE_HALF;
    print_change(&t, before, "another convention");
    permute(QUERY, ROTATE_HALF);
    print_change(&t, before, "… and queries permuted");
    permute(KEY, ROTATE_HALF);
    print_change(&t, before, "… and keys");
    permute(QUERY_BIAS, ROTATE_HALF);
    permute(KEY_BIAS, ROTATE_HALF);
    print_change(&t, before, "… and the biases of both");
    for (int which = QUERY; which <= KEY_BIAS; which++)
        permute(which, INTERLEAVED);
    model.modern.rotary = INTERLEAVED;
    print_change(&t, before, "all of it undone");
    end_lab(&t);
}

// Each key head, copied to every query head of its group.
void spread(Linear to, Linear from) {
    int K = D / H;
    for (int h = 0; h < H; h++) {
        int g = h / (H / G);
        copy(slice_cols(to.weight, h * K, K),
             slice_cols(from.weight, g * K, K));
        copy(slice_cols(to.bias, h * K, K), slice_cols(from.bias, g * K, K));
    }
}

// H key heads that are copies of G.
void same_with_copies(void) {
    Trainer t = new_lab(5);
    ModernGpt grouped = model, dgrouped = gradient;
    Mat before = logits_of(&t);
    Trainer copies = new_lab(0);
    for (int i = 0; i < t.model->list.tensors; i++)
        if (t.model->list.tensor[i].cols
            == copies.model->list.tensor[i].cols)
            copy(*copies.model->list.tensor[i].mat,
                 *t.model->list.tensor[i].mat);
    for (int l = 0; l < L; l++) {
        const MultiHead *from = &grouped.layer[l].attention;
        spread(model.layer[l].attention.key, from->key);
        spread(model.layer[l].attention.value, from->value);
    }
    print_change(&copies, before, "key heads copied to all heads");
    end_lab(&copies);
    modern_free(&grouped);
    modern_free(&dgrouped);
    trainer_free(&t);
}

// ## Distance

// One query and one key at all pairs of positions.
void print_scores(const char *positions, Mat q, Mat k) {
    for (int i = 0; i < q.rows * k.rows; i++)
        printf("%s,%d,%d,%.17g\n", positions, i / k.rows, i % k.rows,
               dot(row(q, i / k.rows), row(k, i % k.rows), q.cols));
}

// Random numbers, the same in every row.
Mat equal_rows(Arena *arena, int rows, int cols, uint64_t *state) {
    Mat first = arena_mat(arena, 1, cols), m = arena_mat(arena, rows, cols);
    fill_normal(first, state);
    for (int i = 0; i < rows; i++)
        copy(slice_rows(m, i, 1), first);
    return m;
}

// Turned in either convention, or with the sinusoids of chapter 4 added.
void distance(void) {
    enum { PLACES = 24 };
    const char *name[] = {"sinusoids added", "interleaved", "rotate half"};
    Arena arena = {0};
    Mat sinusoids = arena_mat(&arena, PLACES, D);
    sinusoidal_positions(sinusoids);
    printf("positions,query,key,score\n");
    for (int how = NO_ROTARY; how <= ROTATE_HALF; how++) {
        uint64_t state = 7;
        const Modern m = {.rotary = how, .rotary_base = 100};
        Rotation r = rotation_of(&arena, &m, D, 0, PLACES);
        Mat q = equal_rows(&arena, PLACES, D, &state);
        Mat k = equal_rows(&arena, PLACES, D, &state);
        if (how == NO_ROTARY) {
            add(q, sinusoids);
            add(k, sinusoids);
        }
        rotate(q, &r, 1);
        rotate(k, &r, 1);
        print_scores(name[how], q, k);
    }
    arena_free(&arena);
}

void same(void) {
    printf("what,difference\n");
    same_as_gpt();
    same_in_both_conventions();
    same_with_copies();
}

// The tests that take a model each.
const struct {
    const char *name, *columns;
    void (*run)(Trainer *, const char *label);
} tests[] = {
    {"gradients", "tensor,elements,error", gradients},
    {"gains-1", "tensor,elements,error", gains_1},
    {"values", "kind,name,place,value", values},
    {"future", "position,difference", future},
    {"cache", "position,difference", cache},
};

// One of them, on the model with this name, or on all; false if there is none.
bool test_models(int number, const char *name) {
    bool found = false;
    printf("model,%s\n", tests[number].columns);
    for (int i = 0; i < MODELS; i++)
        if (!name || !strcmp(name, models[i].name)) {
            Trainer t = new_lab(i);
            tests[number].run(&t, join(models[i].name, ",").text);
            end_lab(&t);
            found = true;
        }
    return found;
}

int main(int argc, char **argv) {
    const char *test = argc > 1 ? argv[1] : "";
    for (int i = 0; argc <= 3 && i < (int)(sizeof tests / sizeof *tests); i++)
        if (!strcmp(test, tests[i].name) && test_models(i, argv[2]))
            return 0;
    if (argc == 2 && !strcmp(test, "same"))
        same();
    else if (argc == 2 && !strcmp(test, "distance"))
        distance();
    else
        fail("17-since-2017-check gradients, gains-1, values, future or cache, "
             "each with or without a model; same; or distance");
}
