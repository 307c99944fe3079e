// Chapter 5: the position-wise feed-forward network.

#include "../lib/test.h"

enum { N = 5, D = 3, F = 7 };

typedef struct {
    Config config;
    FeedForward w;
    Mat x, upstream;
    double rate;
} Case;

Mat forward(Case *c, Pass *pass, FeedForwardSaved *s) {
    *pass = pass_dropping(&c->config, c->rate, 3, 1);
    return ffn_forward(pass, s, &c->w, c->x);
}

loss_number loss(void *context) {
    Case *c = context;
    Pass pass;
    FeedForwardSaved s;
    return project(forward(c, &pass, &s), c->upstream);
}

Case new_case(int activation, double rate) {
    return (Case){{.activation = activation},
                  {random_linear(D, F), random_linear(F, D)}, random_mat(N, D),
                  random_mat(N, D), rate};
}

void check_gradient(int activation, double rate, const char *name) {
    Case c = new_case(activation, rate);
    Pass pass;
    FeedForwardSaved s;
    forward(&c, &pass, &s);
    Mat dx = filled_mat(N, D, PREFILL);
    FeedForward dw = {filled_linear(D, F, PREFILL), filled_linear(F, D, PREFILL)};
    size_t used = room.used;
    ffn_backward(&pass, &s, &c.w, &dw, dx, c.upstream);
    CLAIM(room.used == used, "%s: scratch memory is given back", name);
    CLAIM_GRADIENT(loss, &c, c.x, dx, "%s: dx", name);
    claim_linear(loss, &c, &c.w.inner, &dw.inner, name, "inner");
    claim_linear(loss, &c, &c.w.outer, &dw.outer, name, "outer");
}

void test_activations(void) {
    real in[4] = {-2, 0, 1, 3}, out[4], slope[4] = {1, 1, 1, 1};
    Mat x = mat(in, 1, 4), y = mat(out, 1, 4), d = mat(slope, 1, 4);
    activation_forward(y, x, RELU);
    activation_backward(d, x, RELU);
    CLAIM(out[0] == 0 && out[1] == 0 && out[2] == 1 && out[3] == 3, "relu");
    CLAIM(slope[0] == 0 && slope[1] == 0 && slope[2] == 1, "its slope is 0 or 1");
    activation_forward(y, x, GELU);
    CLAIM(fabs(out[2] - 0.841344746) < 1e-6 && fabs(out[0] + 0.045500264) < 1e-6,
          "gelu(1) = 0.8413, gelu(-2) = -0.0455");
    for (int j = 0; j < 4; j++)
        slope[j] = 1;
    activation_backward(d, x, GELU);
    CLAIM(fabs(slope[1] - 0.5) < 1e-6, "the slope of gelu at 0 is 1/2");
    real both[2] = {(real)1.3, (real)-1.3}, slopes[2] = {1, 1};
    activation_backward(mat(slopes, 1, 2), mat(both, 1, 2), GELU);
    CLAIM(fabs(slopes[0] + slopes[1] - 1) < 1e-6, "gelu'(x) + gelu'(-x) = 1");
}

// NaN must not become a number. (16 numbers fill every vector.)
void test_not_a_number(int activation, const char *name) {
    Mat x = filled_mat(1, 17, -1), y = filled_mat(1, 17, 0), d = filled_mat(1, 17, 7);
    x.at[3] = x.at[16] = (real)NAN;
    activation_forward(y, x, activation);
    activation_backward(d, x, activation);
    CLAIM(isnan(fabs(y.at[3])) && isnan(fabs(y.at[16])) && !isnan(fabs(y.at[4])),
          "%s of NaN is NaN", name);
    CLAIM((double)d.at[3] != 0 && (double)d.at[16] != 0,
          "%s: it does not stop the gradient either", name);
}

// The blanks on the page of chapter 5.
void test_blanks(void) {
    real z[3] = {2, -5, 0}, y[3], dy[3] = {3, 7, 4}, six[1] = {6}, zero[1] = {0};
    activation_forward(mat(y, 1, 3), mat(z, 1, 3), RELU);
    activation_backward(mat(dy, 1, 3), mat(z, 1, 3), RELU);
    CLAIM(y[0] == 2 && y[1] == 0 && y[2] == 0 && dy[0] == 3 && dy[1] == 0
          && dy[2] == 0, "blanks: of 3, 7, 4 relu passes 3, 0, 0 back to 2, -5, 0");
    activation_backward(mat(six, 1, 1), mat(zero, 1, 1), GELU);
    CLAIM(fabs(six[0] - 3) < 1e-6, "blanks: of 6 gelu passes 3 back to 0");
    real both[2] = {1.5, -1.5}, out[2], slopes[2] = {1, 1};
    activation_forward(mat(out, 1, 2), mat(both, 1, 2), GELU);
    activation_backward(mat(slopes, 1, 2), mat(both, 1, 2), GELU);
    CLAIM(fabs(out[0] - 1.3998) < 5e-5 && fabs(out[1] + 0.1002) < 5e-5
          && fabs(slopes[0] - 1.1275) < 5e-5 && fabs(slopes[1] + 0.1275) < 5e-5,
          "blanks: gelu(-1.5) = -0.1002, and its slope there is -0.1275");
}

loss_number relu(void *context) {
    real y;
    activation_forward(mat(&y, 1, 1), mat(context, 1, 1), RELU);
    return y;
}

// Between the two points of a difference may lie the corner of ReLU.
void test_corner(void) {
    const double near[] = {7e-5, 3e-5, 4e-6, -4e-6, -3e-5, -7e-5};
    double most = 0;
    for (int i = 0; i < 6; i++) {
        real x = (real)near[i], dx = 1;
        activation_backward(mat(&dx, 1, 1), mat(&x, 1, 1), RELU);
        most = fmax(most, relative_error(dx, difference_slope(relu, &x, &x)));
    }
    CLAIM(most < 1e-6, "relu near its corner agrees with finite differences, "
          "which keep clear of it: %.1e", most);
}

// The same row gives the same result wherever it stands.
void test_position_wise(void) {
    Case c = new_case(GELU, 0);
    memcpy(row(c.x, 4), row(c.x, 1), sizeof(real) * D);
    Pass pass;
    FeedForwardSaved s;
    Mat out = forward(&c, &pass, &s);
    CLAIM(same_bits(slice_rows(out, 1, 1), slice_rows(out, 4, 1)),
          "every position is treated alike");
}

// out = dropout(activation(x W₁ + b₁)) W₂ + b₂, and dropout is nowhere else.
// (Only GELU tells dropout before it from dropout after it.)
void test_dropout(int activation, const char *name) {
    Case c = new_case(activation, 0.5);
    Pass pass;
    FeedForwardSaved s;
    Mat out = forward(&c, &pass, &s);
    Mat active = arena_mat(&room, N, F);
    activation_forward(active, linear_forward(&pass, &c.w.inner, c.x),
                       activation);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < F; j++)
            *at(active, i, j) = (real)half_dropped(*at(active, i, j),
                                                   first_key(3), i, j);
    CLAIM(largest_error(s.active, active) < 1e-10,
          "%s: dropout acts on the result of the activation", name);
    Mat expected = linear_forward(&pass, &c.w.outer, active);
    CLAIM(largest_error(out, expected) < 1e-10,
          "%s: and not on that of the network", name);
}

int main(void) {
    test_activations();
    test_blanks();
    test_corner();
    test_position_wise();
    for (int activation = 0; activation < ACTIVATIONS; activation++) {
        const char *const name[ACTIVATIONS] = {"relu", "gelu"};
        test_dropout(activation, name[activation]);
        test_not_a_number(activation, name[activation]);
        check_gradient(activation, 0, name[activation]);
    }
    check_gradient(RELU, 0.3, "relu with dropout");
    arena_free(&room);
    return claims_end();
}
