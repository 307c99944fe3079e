// Numbers of a sentence on its way, from a native build in double precision.
//
//     numbers MODEL SENTENCE TARGET STAGE...     what the page shows before its
//                                                program is there
//     numbers MODEL SENTENCE TARGET check COUNT  name,row,column,value,slope
//
// The latter are compared with those of the page. First, the logits and the gradient
// of every parameter must be what the program has. Then COUNT numbers are picked at
// random; the slope is a finite difference of the loss, 0 where there is no gradient.

#include "live.c"

int compared;

// Compares numbers of flow.c with the program's.
void compare(const char *what, const real *ours, const real *theirs,
             size_t n) {
    for (size_t i = 0; i < n; i++, compared++)
        if (fabs(ours[i] - theirs[i]) > 1e-10)
            fail("%s: number %zu is %g, should be %g", what, i, ours[i],
                 theirs[i]);
}

// Compares the logits and the gradient of all parameters with those of
// transformer_forward and add_gradient.
void compare_all(void) {
    Transformer *model = live.trainer.model;
    Arena arena = {0};
    Pass pass = {.arena = &arena, .config = &model->config, .sentences = 1};
    Saved saved;
    Transformer *other = transformer_zeros(&model->config);
    Trainer t = {.model = model, .gradient = other};
    Mat z = transformer_forward(&pass, &saved, model, &flow.batch);
    compare("logits", stage_of("output.logits")->value.at, z.at,
            (size_t)z.rows * (size_t)z.cols);
    add_gradient(&t, &flow.batch, flow.batch.target_length, 1);
    compare("gradient", flow.gradient->list.values, other->list.values,
            other->list.count);
    arena_free(&t.arena);
    arena_free(&arena);
    transformer_free(other);
    printf("%d numbers are the program's\n", compared);
}

// Numbers picked at random; the slope is a finite difference of the loss.
void pick(int count) {
    uint64_t state = 1;
    int stages = 0;
    for (Stage *s = flow.last; s; s = s->previous)
        stages++;
    for (; count > 0; count--) {
        Stage *s = flow.last;
        for (int k = (int)(uniform(&state) * stages); k > 0; k--)
            s = s->previous;
        Name name = s->name;
        int i = (int)(uniform(&state) * s->value.rows);
        int j = (int)(uniform(&state) * s->value.cols);
        double x = *at(s->value, i, j), h = 1e-5;
        double slope = s->gradient.at
                     ? (loss_with(name.text, i, j, x + h)
                        - loss_with(name.text, i, j, x - h)) / (2 * h) : 0;
        flow_forward();
        printf("%s,%d,%d,%.12g,%.12g\n", name.text, i, j, x, slope);
    }
}

int main(int argc, char **argv) {
    if (argc < 5)
        fail("usage: numbers MODEL SENTENCE TARGET STAGE... | check COUNT");
    live = load_checkpoint(argv[1], false);
    Config *c = &live.trainer.model->config;
    c->dropout = c->attention_dropout = c->activation_dropout = 0;
    describe_model();
    putchar('\n');
    flow_begin(argv[2], argv[3]);
    putchar('\n');
    flow_compute();
    putchar('\n');
    if (argc == 6 && !strcmp(argv[4], "check")) {
        compare_all();
        pick(atoi(argv[5]));
        return 0;
    }
    for (int n = 4; n < argc; n++) {
        flow_matrix(argv[n]);
        putchar('\n');
    }
    return 0;
}
