// Chapter 6: layer normalization, residual connections, post-norm and pre-norm.

#include "../lib/test.h"

enum { N = 4, D = 6 };

typedef struct {
    Config config;
    Norm w;
    Mat x, y, upstream;
    double rate;
} Case;

loss_number norm_loss(void *context) {
    Case *c = context;
    Pass pass = pass_dropping(&c->config, 0, 0, 1);
    NormSaved s;
    return project(norm_forward(&pass, &s, &c->w, c->x), c->upstream);
}

Case new_case(int norm, double rate) {
    return (Case){.config = {.norm = norm, .d_model = D}, .rate = rate,
                  .w = {random_mat(1, D), random_mat(1, D)},
                  .x = random_mat(N, D), .y = random_mat(N, D),
                  .upstream = random_mat(N, D)};
}

void test_epsilon(void) {
    real gain[4] = {1, 1, 1, 1}, bias[4] = {0, 0, 0, 0};
    Norm plain = {mat(gain, 1, 4), mat(bias, 1, 4)};
    Pass pass = {.arena = &room};
    NormSaved s;
    const real a = (real)sqrt(3e-5);
    real small[4] = {a, -a, -a, a}, even[4] = {7, 7, 7, 7};
    Mat y = norm_forward(&pass, &s, &plain, mat(small, 1, 4));
    CLAIM(fabs(y.at[0] - sqrt(0.75)) < 1e-6,
          "ε is 1e-5, added to the variance: of 3e-5 it makes 4e-5");
    y = norm_forward(&pass, &s, &plain, mat(even, 1, 4));
    CLAIM(y.at[0] == 0 && fabs(s.rstd.at[0] - 1 / sqrt(1e-5)) < 1e-3,
          "equal numbers become zeros, since ε keeps the divisor from 0");
}

void test_norm(void) {
    real one[4] = {1, 0, 0, 0}, gain[4] = {1, 1, 1, 1}, bias[4] = {0, 0, 0, 0};
    Norm plain = {mat(gain, 1, 4), mat(bias, 1, 4)};
    Pass pass = {.arena = &room};
    NormSaved s;
    Mat y = norm_forward(&pass, &s, &plain, mat(one, 1, 4));
    CLAIM(fabs(y.at[0] - 1.7320) < 1e-4 && fabs(y.at[1] + 0.57735) < 1e-4,
          "the norm of [1,0,0,0] is 1.7320 -0.5773 -0.5773 -0.5773");
    CLAIM(fabs(sum(y.at, 4)) < 1e-6, "a normalized row sums to 0");

    Case c = new_case(POST_NORM, 0);
    y = norm_forward(&pass, &s, &c.w, c.x);
    Mat dx = filled_mat(N, D, PREFILL);
    Norm dw = {filled_mat(1, D, PREFILL), filled_mat(1, D, PREFILL)};
    size_t used = room.used;
    norm_backward(&pass, &s, &c.w, &dw, dx, c.upstream);
    CLAIM(room.used == used, "norm: scratch memory is given back");
    CLAIM_GRADIENT(norm_loss, &c, c.x, dx, "norm: dx");
    CLAIM_GRADIENT(norm_loss, &c, c.w.gain, dw.gain, "norm: dgain");
    CLAIM_GRADIENT(norm_loss, &c, c.w.bias, dw.bias, "norm: dbias");
}

// A row whose norm and its backward pass are computed by hand.
typedef struct {
    const char *who;
    real x[4], dy[4];
    double mean, rstd;
    real dx[4], dgain[4];
} ByHand;

void check_by_hand(ByHand h) {
    real g[4] = {2, 1, 4, 2}, b[4] = {0};
    Norm w = {mat(g, 1, 4), mat(b, 1, 4)};
    Norm dw = {filled_mat(1, 4, 0), filled_mat(1, 4, 0)};
    Mat found = filled_mat(1, 4, 0);
    Pass pass = {.arena = &room};
    NormSaved s;
    norm_forward(&pass, &s, &w, mat(h.x, 1, 4));
    norm_backward(&pass, &s, &w, &dw, found, mat(h.dy, 1, 4));
    CLAIM(fabs(s.mean.at[0] - h.mean) < 1e-6 && fabs(s.rstd.at[0] - h.rstd) < 1e-5,
          "%s: the mean is %g, rstd is %g", h.who, h.mean, h.rstd);
    CLAIM(largest_error(found, mat(h.dx, 1, 4)) < 1e-5
          && largest_error(dw.gain, mat(h.dgain, 1, 4)) < 1e-5
          && largest_error(dw.bias, mat(h.dy, 1, 4)) < 1e-6,
          "%s: so are dx and dgain, and dbias is dy", h.who);
}

// The example of chapter 6, there without epsilon, and the blanks on its page:
// the row with its numbers twice as far apart, and another dy.
void test_by_hand(void) {
    check_by_hand((ByHand){"norm by hand", {0, 0, 4, 4}, {0, 4, 1, 4}, 2, 0.5,
                           {-1, 1, -1, 1}, {0, -4, 1, 4}});
    check_by_hand((ByHand){"blanks", {0, 0, 8, 8}, {0, 6, 1, 4}, 4, 0.25,
                           {(real)-0.75, (real)0.75, (real)-0.5, (real)0.5},
                           {0, -6, 1, 4}});
    real x[4] = {2, 0, 0, 0}, b[4] = {0};
    Norm w = {mat(b, 1, 4), mat(b, 1, 4)};
    Pass pass = {.arena = &room};
    NormSaved s;
    norm_forward(&pass, &s, &w, mat(x, 1, 4));
    CLAIM(fabs(1 / (s.rstd.at[0] * s.rstd.at[0]) - 0.75) < 1e-4,
          "blanks: the variance of 2, 0, 0, 0 is 3/4");
}

// A residual around the sub-layer y(h) = h ⊙ h (squares), whose derivative is 2h.
Mat residual(Case *c, Pass *pass, ResidualSaved *s, Mat *h) {
    *pass = pass_dropping(&c->config, c->rate, 17, 1);
    *h = residual_enter(pass, s, &c->w, c->x);
    Mat y = arena_mat(&room, N, D);
    for (int i = 0; i < N * D; i++)
        y.at[i] = h->at[i] * h->at[i];
    return residual_leave(pass, s, &c->w, c->x, y);
}

loss_number residual_loss(void *context) {
    Case *c = context;
    Pass pass;
    ResidualSaved s;
    Mat h;
    return project(residual(c, &pass, &s, &h), c->upstream);
}

// Dropout acts on the result of the sub-layer, at the full rate, and not on x
// or on the sum.
void test_dropout(int norm, const char *name) {
    Case c = new_case(norm, 0.5);
    Pass pass;
    ResidualSaved s;
    NormSaved unused;
    Mat h;
    Mat out = residual(&c, &pass, &s, &h), sum = arena_mat(&room, N, D);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < D; j++) {
            double y = (double)*at(h, i, j) * *at(h, i, j);
            *at(sum, i, j) = (real)(*at(c.x, i, j)
                                    + half_dropped(y, first_key(17), i, j));
        }
    Mat expected = norm == PRE_NORM ? sum
                 : norm_forward(&pass, &unused, &c.w, sum);
    CLAIM(largest_error(out, expected) < 1e-10,
          "%s residual: dropout acts on the sub-layer's result, before x is "
          "added", name);
}

void check_residual(int norm, double rate, const char *name) {
    Case c = new_case(norm, rate);
    Pass pass;
    ResidualSaved s;
    Mat h;
    residual(&c, &pass, &s, &h);
    Mat dx = filled_mat(N, D, PREFILL), dh = filled_mat(N, D, 0);
    Norm dw = {filled_mat(1, D, PREFILL), filled_mat(1, D, PREFILL)};
    Mat dy = residual_leave_backward(&pass, &s, &c.w, &dw, dx, c.upstream);
    for (int i = 0; i < N * D; i++)
        dh.at[i] = dy.at[i] * 2 * h.at[i];
    residual_enter_backward(&pass, &s, &c.w, &dw, dx, dh);
    CLAIM_GRADIENT(residual_loss, &c, c.x, dx, "%s residual: dx", name);
    CLAIM_GRADIENT(residual_loss, &c, c.w.gain, dw.gain, "%s residual: dgain", name);
    CLAIM_GRADIENT(residual_loss, &c, c.w.bias, dw.bias, "%s residual: dbias", name);
}

int main(void) {
    test_epsilon();
    test_norm();
    test_by_hand();
    const char *const name[NORMS] = {"post-norm", "pre-norm"};
    for (int norm = 0; norm < NORMS; norm++) {
        test_dropout(norm, name[norm]);
        check_residual(norm, 0, name[norm]);
        check_residual(norm, 0.3, join(name[norm], ", dropout,").text);
    }
    arena_free(&room);
    return claims_end();
}
