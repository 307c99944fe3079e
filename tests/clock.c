// The program with a clock of its own, for tests/options.sh: time passes only
// while a square root is taken, and each takes longer than the one before. Every
// step of training takes as many square roots, so the kth takes 2k - 1 times as
// long as the first: who mistakes the time of the run for that of the step is
// found out.

#define _XOPEN_SOURCE 700
#include <math.h>
#include <time.h>

double roots;

double slow_sqrt(double x) {
    roots++;
    return sqrt(x);
}

float slow_sqrtf(float x) {
    roots++;
    return sqrtf(x);
}

int slow_clock(clockid_t which, struct timespec *t) {
    double seconds = 1e-14 * roots * roots;
    (void)which;
    t->tv_sec = (time_t)seconds;
    t->tv_nsec = (long)(1e9 * (seconds - floor(seconds)));
    return 0;
}

#define sqrt slow_sqrt
#define sqrtf slow_sqrtf
#define clock_gettime slow_clock
#include "../transformer.c"
