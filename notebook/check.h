// What the checks of labs 15 and 16 share: a model whose parameters are all
// random, its gradients against finite differences, and one step of training
// for another program to repeat.

// What a lab checks: a batch's logits and mean loss. The gradients are added to
// what is there.
Mat logits_of(Trainer *t);
double loss_of(Trainer *t);

// A model that is ready for a step without clipping.
Trainer random_trainer(Transformer *outline(const Config *),
                       const Config *config) {
    Recipe recipe = {.rate = 0.01, .schedule = CONSTANT, .clip = INFINITY};
    Trainer t = fresh_trainer(outline, config, &recipe);
    randomize(&t.model->list);
    return t;
}

// The loss's derivative with respect to x. Central differences with steps h and
// h/2, put together so that their errors of order h² cancel.
double slope(Trainer *t, real *x) {
    const real kept = *x;
    double central[2];
    for (int half = 0; half < 2; half++) {
        double h = half ? 5e-5 : 1e-4;
        *x = kept + h;
        double above = loss_of(t);
        *x = kept - h;
        central[half] = (above - loss_of(t)) / (2 * h);
    }
    *x = kept;
    return (4 * central[1] - central[0]) / 3;
}

// A line for each tensor: label, name, elements, the largest error of its
// gradient. The gradients start at 1/2, so that one which is not added to what
// is there shows.
void print_errors(Trainer *t, const char *label) {
    const TensorList *g = &t->gradient->list;
    double *found = allocate(g->count, sizeof *found);
    for (size_t k = 0; k < g->count; k++)
        g->values[k] = 0.5;
    loss_of(t);
    memcpy(found, g->values, g->count * sizeof *found);
    size_t next = 0;
    for (int i = 0; i < g->tensors; i++) {
        int elements = g->tensor[i].rows * g->tensor[i].cols;
        double worst = 0;
        for (int k = 0; k < elements; k++, next++) {
            double a = found[next] - 0.5;
            double b = slope(t, &t->model->list.values[next]);
            double error = fabs(a - b) / fmax(fmax(fabs(a), fabs(b)), 1e-3);
            worst = fmax(worst, isnan(error) ? INFINITY : error);
        }
        printf("%s%s,%d,%.3g\n", label, g->tensor[i].name.text, elements,
               worst);
    }
    free(found);
}

// A line for each number: label, what it is, which tensor, its place, itself.
void print_tensors(const TensorList *l, const char *label, const char *kind) {
    for (const Tensor *t = l->tensor; t < l->tensor + l->tensors; t++)
        for (int k = 0; k < t->rows * t->cols; k++)
            printf("%s%s,%s,%d,%.17g\n", label, kind, t->name.text, k,
                   t->mat->at[k]);
}

// Everything about one step of Adam.
void print_step(Trainer *t, const char *label) {
    print_tensors(&t->model->list, label, "parameter");
    Mat logits = logits_of(t);
    for (int i = 0; i < logits.rows * logits.cols; i++)
        printf("%slogit,,%d,%.17g\n", label, i, logits.at[i]);
    double before = loss_of(t);
    print_tensors(&t->gradient->list, label, "gradient");
    update(t, (Loss){0});
    printf("%sloss,,0,%.17g\n%sloss,,1,%.17g\n", label, before, label,
           loss_of(t));
}
