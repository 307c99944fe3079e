// Lab 16, continued: is the GPT right? In double precision.
//
// The first argument selects the test; each prints a CSV of its own. The model
// is small, and all its parameters are random.
//
//     gradients   every element of every gradient against finite differences
//     values      one step of training, for another program to repeat
//     future      one token of a text replaced by another
//     cache       token by token with the cache, against the forward pass
//
// Their columns are those of measure.h.
//
// sampling: what temperature, top-k and top-p leave of given logits.
//
//     rule,value,token,probability

#define TRANSFORMER_DOUBLE
#include "lib/lab.h"
#include "lib/gpt.h"
#include "lib/measure.h"

enum { B = 3, T = 6, D = 12, V = 9, REPLACED = 3 };

int input[B * T] = {5, 7, 4, 8, 6, 5, 6, 4, 8, 8, 7, 4, 8, 7, 7, 5, 4, 6};
int expected[B * T] = {7, 4, 8, 6, 5, 6, 4, 8, 8, 7, 4, 5, 7, 7, 5, 4, 6, 8};
const Batch batch = {.sentences = B, .target_length = T, .input = input,
                     .expected = expected};

Trainer new_lab(void) {
    Config config = {.layers = 2, .d_model = D, .heads = 3, .d_ff = 7,
                     .source_vocab = FIRST_TOKEN, .target_vocab = V,
                     .max_len = T, .norm = PRE_NORM, .positions = LEARNED,
                     .activation = GELU, .tie = 1};
    return random_trainer(gpt_outline, &config);
}

Pass new_pass(Trainer *t) {
    return (Pass){.arena = &t->arena, .config = &t->model->config,
                  .sentences = B};
}

Loss loss_of(Trainer *t) {
    Pass pass = new_pass(t);
    return gpt_gradient(&pass, t->model, t->gradient, &batch);
}

Mat logits_of(Trainer *t) {
    Pass pass = new_pass(t);
    GptSaved saved;
    return gpt_forward(&pass, &saved, t->model, input, T);
}

void gradients(Trainer *t) {
    printf("tensor,elements,error\n");
    print_errors(t, loss_of, "");
}

void values(Trainer *t) {
    printf("kind,name,place,value\n");
    print_step(t, logits_of, loss_of, "");
}

// ## The future, and the cache

// In each text of the batch, the token at REPLACED becomes another.
void future(Trainer *t) {
    Mat before = logits_of(t);
    for (int i = REPLACED; i < B * T; i += T)
        input[i] = input[i] == 4 ? 5 : 4;
    printf("position,difference\n");
    print_differences("", before, logits_of(t), T);
}

// Position by position, all texts of the batch side by side.
void cache(Trainer *t) {
    Mat whole = logits_of(t), steps = arena_mat(&t->arena, B * T, V);
    Pass pass = new_pass(t);
    Cache c = gpt_cache(&t->arena, t->model, B);
    for (int i = 0; i < T; i++) {
        const int id[B] = {input[i], input[T + i], input[2 * T + i]};
        Mat logits = gpt_step(&pass, &c, id);
        for (int b = 0; b < B; b++)
            copy(slice_rows(steps, b * T + i, 1), slice_rows(logits, b, 1));
    }
    printf("position,difference\n");
    print_differences("", whole, steps, T);
}

// ## Sampling

// The logits of the special tokens are the largest: they must not be chosen.
void sampling(Trainer *t) {
    const real logits[V] = {9, 9, 9, 9, 0, 2, 1, 3, -1};
    const struct {
        const char *rule;
        double value;
        Sampling how;
    } tried[] = {{"temperature", 1, {1, 0, 1}}, {"temperature", 2, {2, 0, 1}},
                 {"temperature", 0.5, {0.5, 0, 1}},
                 {"temperature", 0, {0, 0, 1}}, {"top-k", 2, {1, 2, 1}},
                 {"top-p", 0.8, {1, 0, 0.8}}, {"top-p", 0.95, {1, 0, 0.95}}};
    Candidate c[V];
    (void)t;
    printf("rule,value,token,probability\n");
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        int n = candidates(c, logits, V, tried[i].how);
        for (int k = 0; k < n; k++)
            printf("%s,%g,%d,%.17g\n", tried[i].rule, tried[i].value,
                   c[k].token, c[k].p);
    }
}

int main(int argc, char **argv) {
    const struct {
        const char *name;
        void (*run)(Trainer *);
    } tests[] = {{"gradients", gradients}, {"values", values},
                 {"future", future}, {"cache", cache}, {"sampling", sampling}};
    Trainer t = new_lab();
    for (int i = 0; i < 5; i++)
        if (argc == 2 && !strcmp(argv[1], tests[i].name)) {
            tests[i].run(&t);
            trainer_free(&t);
            return 0;
        }
    fail("16-gpt-check gradients, values, future, cache or sampling");
}
