// The gradient of every tensor of the whole model against central differences,
// in every configuration: post-norm and pre-norm, ReLU and GELU, sinusoidal,
// learned and no positions, tied or not, with and without label smoothing and
// dropout (at three rates); source and target padded. Prints a table, one row a
// tensor, with the largest error over all configurations and elements.

#include "test.h"
#include "model.h"

enum { MOST = 200 };

typedef struct {
    Name name;
    int checked;  // elements, over all configurations
    double worst;
} Row;

Row table[MOST];
int rows;

Row *find_row(const char *name) {
    for (int i = 0; i < rows; i++)
        if (!strcmp(table[i].name.text, name))
            return &table[i];
    table[rows].name = join(name, "");
    return &table[rows++];
}

// Returns whether no error is too large.
bool check_configuration(Config config, double smoothing, bool training) {
    bool good = true;
    ModelCase c = {random_transformer(&config), small_batch(), training,
                   smoothing};
    Transformer *g = model_gradient(&c);
    for (int i = 0; i < g->list.tensors; i++) {
        Row *r = find_row(g->list.tensor[i].name.text);
        double error = gradient_error(model_loss, &c,
                                      *c.model->list.tensor[i].mat,
                                      *g->list.tensor[i].mat);
        r->worst = fmax(r->worst, error);
        good = good && error < 1e-6;
        r->checked += g->list.tensor[i].rows * g->list.tensor[i].cols;
    }
    transformer_free(g);
    transformer_free(c.model);
    return good;
}

// What was added last comes first, and the first wrong configuration ends it.
int main(void) {
    int configurations = 0;
    bool good = true;
    for (int norm = NORMS; norm-- > 0;)
        for (int activation = ACTIVATIONS; activation-- > 0;)
            for (int positions = POSITIONS; positions-- > 0;)
                for (int tie = 2; tie-- > 0;)
                    for (int noise = 2; good && noise-- > 0;) {
                        Config config = small_config();
                        // two layers in the corners, one elsewhere, for speed
                        config.layers = positions == LEARNED && tie ? 2 : 1;
                        config.norm = norm;
                        config.activation = activation;
                        config.positions = positions;
                        config.tie = tie;
                        good = check_configuration(config, noise ? 0.1 : 0,
                                                   noise);
                        configurations++;
                    }
    printf("%-42s %9s %9s\n", "tensor", "elements", "error");
    double worst = 0;
    for (int i = 0; i < rows; i++) {
        printf("%-42s %9d %9.1e\n", table[i].name.text, table[i].checked,
               table[i].worst);
        worst = fmax(worst, table[i].worst);
    }
    for (int i = 0; i < rows; i++)
        if (!(table[i].worst < 1e-6))
            CLAIM(false, "%s: error %.1e", table[i].name.text, table[i].worst);
    CLAIM(worst < 1e-6, "every gradient of the model agrees with finite "
          "differences in %d configurations: %.1e", configurations, worst);
    arena_free(&room);
    return claims_end();
}
