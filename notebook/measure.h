// What several labs measure with. To be included after lab.h.

// Random numbers for all parameters: gains around 1, no bias zero.
void randomize(const TensorList *l) {
    uint64_t state = random_key(1, FOR_PARAMETERS, 0);
    for (const Tensor *t = l->tensor; t < l->tensor + l->tensors; t++)
        for (int k = 0; k < t->rows * t->cols; k++)
            t->mat->at[k] = (real)((t->init == INIT_ONES)
                                   + 0.3 * normal(&state));
}

// The order for qsort: the smallest first.
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
