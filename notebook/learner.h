// A recurrent model or a transformer, in training. To be included after lab.h
// and rnn.c.

// A model and its gradients.
typedef struct {
    bool recurrent;
    Rnn *rnn[2];
    Transformer *transformer[2];
    TensorList *list[2]; // of the kind in training
    Adam adam;
    int64_t step;
    Arena arena;
} Learner;

// `recurrent` says which of the two configurations counts.
Learner learner_new(bool recurrent, const RnnConfig *rnn, const Config *config,
                    uint64_t seed) {
    Learner l = {.recurrent = recurrent};
    for (int k = 0; k < 2; k++) {
        l.rnn[k] = rnn_zeros(rnn);
        l.transformer[k] = transformer_new(config);
        l.list[k] = recurrent ? &l.rnn[k]->list : &l.transformer[k]->list;
    }
    initialize(l.list[0], seed);
    size_t count = l.list[0]->count;
    l.adam = slow_adam(l.list[0]->values, allocate(count, sizeof(real)),
                       allocate(count, sizeof(real)), l.list[1]->values, count);
    return l;
}

void learner_free(Learner *l) {
    for (int k = 0; k < 2; k++) {
        transformer_free(l->transformer[k]);
        rnn_free(l->rnn[k]);
    }
    free(l->adam.m);
    free(l->adam.v);
    arena_free(&l->arena);
}

typedef struct {
    RnnSaved rnn;
    Saved transformer;
    Pass pass;           // of the transformer
    const int *expected; // in the order of the logits
} LearnerSaved;

// -> logits (T·B,V). own (T): see rnn_forward; a transformer is always fed the
// true word.
Mat learner_forward(Learner *l, LearnerSaved *s, const Batch *batch,
                    const bool *own) {
    const Transformer *t = l->transformer[0];
    s->pass = (Pass){.arena = &l->arena, .config = &t->config};
    Mat logits = l->recurrent
               ? rnn_forward(&l->arena, &s->rnn, l->rnn[0], batch, own)
               : transformer_forward(&s->pass, &s->transformer, t, batch);
    s->expected = l->recurrent ? s->rnn.expected : batch->expected;
    return logits;
}

// A step of training at this rate.
Loss learner_step(Learner *l, const Batch *batch, const bool *own, double rate,
                  double clip) {
    const Adam *adam = &l->adam;
    LearnerSaved s;
    Mat logits = learner_forward(l, &s, batch, own);
    Mat lse = arena_mat(&l->arena, logits.rows, 1);
    Loss loss = loss_forward(lse, logits, s.expected, 0, &l->arena);
    clear(l->list[1]->values, adam->count);
    loss_backward(logits, logits, lse, s.expected, 0, loss.tokens);
    if (l->recurrent)
        rnn_backward(&l->arena, l->rnn[1], logits, &s.rnn, l->rnn[0]);
    else
        transformer_backward(&s.pass, &s.transformer, l->transformer[0],
                             l->transformer[1], logits);
    double norm = l2_norm(adam->gradient, adam->count);
    adam_step(*adam, clip_factor(norm, clip), rate, ++l->step);
    return loss;
}
