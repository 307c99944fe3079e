// A small whole model for the tests, with unequal sizes, so that an index in the
// wrong place shows, and a padded batch.

enum { B = 2, S = 5, T = 4, D = 12, H = 3, F = 7, SOURCE_V = 9, TARGET_V = 11 };

int source_ids[B * S] = {5, 7, 4, 8, END, 6, 4, END, PAD, PAD};
int input_ids[B * T] = {START, 8, 5, 10, START, 6, PAD, PAD};
int expected_ids[B * T] = {8, 5, 10, END, 6, END, PAD, PAD};

// A copy in memory of its own, so that Valgrind sees reads beyond its end.
int *copied_ids(const int *ids, int n) {
    int *copy = arena_take(&room, (size_t)n, sizeof *ids);
    return memcpy(copy, ids, sizeof *ids * (size_t)n);
}

Batch small_batch(void) {
    return (Batch){B, S, T, copied_ids(source_ids, B * S),
                   copied_ids(input_ids, B * T),
                   copied_ids(expected_ids, B * T)};
}

Config small_config(void) {
    return (Config){.layers = 2, .d_model = D, .heads = H, .d_ff = F,
                    .source_vocab = SOURCE_V, .target_vocab = TARGET_V,
                    .max_len = 6, .dropout = 0.3, .attention_dropout = 0.2,
                    .activation_dropout = 0.4};
}

// Parameters that are all random: gains around 1, no bias zero.
Transformer *random_transformer(const Config *config) {
    Transformer *t = transformer_new(config);
    for (int i = 0; i < t->list.tensors; i++) {
        Tensor *tensor = &t->list.tensor[i];
        bool norm = tensor->init == INIT_ONES;
        for (int k = 0; k < tensor->rows * tensor->cols; k++)
            tensor->mat->at[k] = (real)((norm ? 1 : 0)
                                        + 0.3 * normal(&test_state));
    }
    return t;
}

// The loss of a batch as one number, and everything that makes it.
typedef struct {
    Transformer *model;
    Batch batch;
    bool training; // with dropout
    double smoothing;
} ModelCase;

Mat model_logits(ModelCase *c, Pass *pass, Saved *s) {
    *pass = (Pass){&room, &c->model->config, c->training, 23, B};
    return transformer_forward(pass, s, c->model, &c->batch);
}

loss_number model_loss(void *context) {
    ModelCase *c = context;
    size_t mark = room.used;
    Pass pass;
    Saved s;
    Mat logits = model_logits(c, &pass, &s);
    Mat lse = arena_mat(&room, logits.rows, 1);
    Loss loss = loss_forward(lse, logits, c->batch.expected, c->smoothing, &room);
    loss_number sum = summed_loss(lse, logits, c->batch.expected, c->smoothing);
    arena_release(&room, mark);
    return loss.tokens ? sum / loss.tokens : sum;
}

// All gradients, added to PREFILL.
Transformer *model_gradient(ModelCase *c) {
    Transformer *g = transformer_zeros(&c->model->config);
    for (size_t k = 0; k < g->list.count; k++)
        g->list.values[k] = (real)PREFILL;
    size_t mark = room.used;
    Pass pass;
    Saved s;
    Mat logits = model_logits(c, &pass, &s);
    loss_of_logits(logits, c->batch.expected, c->smoothing);
    transformer_backward(&pass, &s, c->model, g, logits);
    arena_release(&room, mark);
    return g;
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
