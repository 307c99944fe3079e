// measure.h, used by labs 1, 2, 7, 12, 13, 15 to 17 and 19 to 21: what they
// measure and check with. To be included after lab.h.

// `full`, or `small` in the short form of the labs (lab.py).
int in_short(int full, int small) {
    const char *form = getenv("LAB_SHORT");
    return form && !strcmp(form, "1") ? small : full;
}

// Random numbers for all parameters: gains around 1, no bias zero.
void randomize(const TensorList *l) {
    uint64_t state = random_key(1, FOR_PARAMETERS, 0);
    for (const Tensor *t = l->tensor; t < l->tensor + l->tensors; t++)
        for (int k = 0; k < t->rows * t->cols; k++)
            t->mat->at[k] = (real)((t->init == INIT_ONES)
                                   + 0.3 * normal(&state));
}

// The processor time of the shortest of `runs` runs, or of more if they are
// short. Processor time hardly depends on what other programs do.
double shortest_time(void (*run)(void *, bool), void *lab, bool training,
                     int runs) {
    double shortest = INFINITY, total = 0;
    for (int k = 0; k < runs || total < 0.02 * (runs - 1); k++) {
        clock_t started = clock();
        run(lab, training);
        double seconds = (double)(clock() - started) / CLOCKS_PER_SEC;
        shortest = fmin(shortest, seconds);
        total += seconds;
    }
    return shortest;
}

// An order for qsort: the smallest first.
int compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

// The entropy of the mean of two rows of n weights, in bits.
double entropy(const real *a, const real *b, int n) {
    double bits = 0;
    for (int j = 0; j < n; j++) {
        double weight = ((double)a[j] + (double)b[j]) / 2;
        bits -= weight > 0 ? weight * log2(weight) : 0;
    }
    return bits;
}

// The largest |a - b|, element by element.
double largest_difference(Mat a, Mat b) {
    double most = 0;
    for (int i = 0; i < a.rows; i++)
        for (int j = 0; j < a.cols; j++)
            most = fmax(most,
                        fabs((double)*at(a, i, j) - (double)*at(b, i, j)));
    return most;
}

// A line for each of T positions: label, position, and how far apart two
// matrices of logits (B·T,V) are there.
void print_differences(const char *label, Mat a, Mat b, int T) {
    int V = a.cols, B = a.rows / T;
    for (int t = 0; t < T; t++) {
        Mat x = {row(a, t), B, V, T * V, 1}, y = {row(b, t), B, V, T * V, 1};
        printf("%s%d,%.3g\n", label, t, largest_difference(x, y));
    }
}

// ## Is a model right?
//
// A model whose parameters are all random, its gradients against finite
// differences, and one step of training for another program to repeat. The
// columns of the CSV, after those of the lab:
//
//     tensor,elements,error     error: the largest |a - b| / max(|a|, |b|, 0.001)
//                               of a gradient and the finite difference
//     kind,name,place,value     kind: "parameter" or "gradient", element `place`
//                               of the tensor `name`; "logit"; "loss", before
//                               the step (place 0) and after it (1)
//     position,difference       the largest change of a logit at a position

// What a lab checks: a batch's logits, in the trainer's arena, and its loss,
// whose gradients are added to what is there.
typedef Mat LogitsOf(Trainer *t);
typedef Loss LossOf(Trainer *t);

double mean_loss(Trainer *t, LossOf *loss_of) {
    Loss loss = loss_of(t);
    arena_release(&t->arena, 0);
    return average(loss);
}

// A model that is ready for a step without clipping.
Trainer random_trainer(Transformer *outline(const Config *),
                       const Config *config) {
    Recipe recipe = {.rate = 0.01, .schedule = CONSTANT, .clip = INFINITY};
    Trainer t = fresh_trainer(outline, config, &recipe);
    randomize(&t.model->list);
    return t;
}

// The loss's derivative with respect to x: central differences with steps h and
// h/2, combined so that their errors of order h² cancel.
double derivative(Trainer *t, LossOf *loss_of, real *x) {
    const real kept = *x;
    double central[2];
    for (int half = 0; half < 2; half++) {
        double h = half ? 5e-5 : 1e-4;
        *x = (real)((double)kept + h);
        double above = mean_loss(t, loss_of);
        *x = (real)((double)kept - h);
        central[half] = (above - mean_loss(t, loss_of)) / (2 * h);
    }
    *x = kept;
    return (4 * central[1] - central[0]) / 3;
}

double relative_error(double a, double b) {
    return fabs(a - b) / fmax(fmax(fabs(a), fabs(b)), 1e-3);
}

// A line for each tensor: label, name, elements, the largest error of its
// gradient. The gradients start at 1/2, which shows one that is not added to
// what is there. In the short form of the labs every nineteenth is tried; since
// 19 has no factor in common with a width, each column has its turn.
void print_errors(Trainer *t, LossOf *loss_of, const char *label) {
    const TensorList *g = &t->gradient->list;
    int every = in_short(1, 19);
    double *found = allocate(g->count, sizeof *found);
    for (size_t k = 0; k < g->count; k++)
        g->values[k] = 0.5;
    mean_loss(t, loss_of);
    for (size_t k = 0; k < g->count; k++)
        found[k] = (double)g->values[k];
    size_t first = 0;
    for (int i = 0; i < g->tensors; i++) {
        int elements = g->tensor[i].rows * g->tensor[i].cols;
        double worst = 0;
        for (int k = 0; k < elements; k += every) {
            double error = relative_error(
                found[first + (size_t)k] - 0.5,
                derivative(t, loss_of,
                           &t->model->list.values[first + (size_t)k]));
            worst = fmax(worst, isnan(error) ? INFINITY : error);
        }
        first += (size_t)elements;
        printf("%s%s,%d,%.3g\n", label, g->tensor[i].name.text, elements,
               worst);
    }
    free(found);
}

// A line for each number: label, kind, tensor, its place there, the number.
void print_tensors(const TensorList *l, const char *label, const char *kind) {
    for (const Tensor *t = l->tensor; t < l->tensor + l->tensors; t++)
        for (int k = 0; k < t->rows * t->cols; k++)
            printf("%s%s,%s,%d,%.17g\n", label, kind, t->name.text, k,
                   (double)t->mat->at[k]);
}

// Everything about one step of Adam.
void print_step(Trainer *t, LogitsOf *logits_of, LossOf *loss_of,
                const char *label) {
    print_tensors(&t->model->list, label, "parameter");
    Mat logits = logits_of(t);
    for (int i = 0; i < logits.rows * logits.cols; i++)
        printf("%slogit,,%d,%.17g\n", label, i,
               (double)logits.at[i]);
    double before = mean_loss(t, loss_of);
    print_tensors(&t->gradient->list, label, "gradient");
    update(t, (Loss){0});
    printf("%sloss,,0,%.17g\n%sloss,,1,%.17g\n", label, before, label,
           mean_loss(t, loss_of));
}
