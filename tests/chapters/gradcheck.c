// The gradient of every tensor of the whole model against the complex step, in
// every configuration: post-norm and pre-norm, ReLU and GELU, sinusoidal,
// learned and no positions, tied or not, with and without label smoothing and
// dropout (at three rates); source and target padded. Prints a table, with one
// entry for each tensor: of the element with the largest error over all
// configurations, the gradient by the backward pass, and below it the slope.

#include "../lib/test.h"
#include "../lib/model.h"

enum { MOST = 200 };

typedef struct {
    Name name;
    double worst, backward, slope;
} Row;

Row table[MOST];
int rows, checked;

Row *find_row(const char *name) {
    for (int i = 0; i < rows; i++)
        if (!strcmp(table[i].name.text, name))
            return &table[i];
    table[rows].name = join(name, "");
    return &table[rows++];
}

// Compares every element of one tensor.
void check_tensor(Row *r, ModelCase *c, Mat x, Mat dx) {
    for (int k = 0; k < x.rows * x.cols; k++, checked++) {
        double backward = (double)dx.at[k] - PREFILL;
        double stepped = slope(model_loss, c, &x.at[k]);
        double error = relative_error_above(backward, stepped, least_slope);
        if (!(error <= r->worst))
            *r = (Row){r->name, error, backward, stepped};
    }
}

// Returns whether no error is too large.
bool check_configuration(Config config, double smoothing, bool training) {
    ModelCase c = {random_transformer(&config), small_batch(), training,
                   smoothing};
    Transformer *g = model_gradient(&c);
    bool good = true;
    for (int i = 0; i < g->list.tensors; i++) {
        Row *r = find_row(g->list.tensor[i].name.text);
        check_tensor(r, &c, *c.model->list.tensor[i].mat,
                     *g->list.tensor[i].mat);
        good = good && r->worst < slope_error;
    }
    transformer_free(g);
    transformer_free(c.model);
    return good;
}

// The newest values come first; the first wrong configuration ends the check.
int main(void) {
    int configurations = 0;
    bool good = true;
    for (int norm = NORMS; norm-- > 0;)
        for (int activation = ACTIVATIONS; activation-- > 0;)
            for (int positions = POSITIONS; positions-- > 0;)
                for (int tie = 2; tie-- > 0;)
                    for (int noise = 2; good && noise-- > 0;) {
                        Config config = small_config();
                        // half as wide, and two layers in the corners alone, for speed
                        config.d_model = D / 2;
                        config.layers = positions == LEARNED && tie ? 2 : 1;
                        config.norm = norm;
                        config.activation = activation;
                        config.positions = positions;
                        config.tie = tie;
                        good = check_configuration(config, noise ? 0.1 : 0,
                                                   noise);
                        configurations++;
                    }
    printf("%-42s %20s %9s\n", "tensor", "backward", "error");
    printf("%-42s %20s\n\n", "", SLOPE);
    double worst = 0;
    for (int i = 0; i < rows; i++) {
        printf("%-42s %20.13e %9.1e\n%-42s %20.13e\n", table[i].name.text,
               table[i].backward, table[i].worst, "", table[i].slope);
        worst = fmax(worst, table[i].worst);
    }
    for (int i = 0; i < rows; i++)
        if (!(table[i].worst < slope_error))
            CLAIM(false, "%s: error %.1e", table[i].name.text, table[i].worst);
    CLAIM(worst < slope_error, "every gradient of the model, %d in %d "
          "configurations, agrees with " SLOPE ": %.1e", checked,
          configurations, worst);
    arena_free(&room);
    return claims_end();
}
