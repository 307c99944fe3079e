// The grader with many wrong bodies in it, of which each is run in a process of
// its own: known.py compiles it.
//
//     each NAME NUMBER ...    writes results/NUMBER for each

#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int mistake; // which of them is called

#define main grade_program
#include "grade.c"
#undef main

static void run_one(char *name) {
    char path[64];
    const struct rlimit memory = {1 << 30, 1 << 30}, size = {1 << 24, 1 << 24};
    snprintf(path, sizeof path, "results/%d", mistake);
    if (setrlimit(RLIMIT_AS, &memory) != 0
        || setrlimit(RLIMIT_FSIZE, &size) != 0 || !freopen(path, "w", stdout)
        || !freopen("/dev/null", "w", stdout)
        || !freopen("/dev/null", "w", stderr) || !freopen("token", "r", stdin))
        _Exit(MISUSED);
    alarm(2);
    exit(grade_program(4, (char *[]){"grade", name, "make", path, NULL}));
}

// A line for each: its number, and how it ended.
int main(int count, char **argument) {
    for (int i = 2; i < count; i++) {
        mistake = atoi(argument[i]);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0)
            run_one(argument[1]);
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) < 0)
            return MISUSED;
        printf("%d %d\n", mistake,
               WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    }
    return 0;
}
