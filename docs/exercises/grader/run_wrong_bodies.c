// The grader with many wrong bodies in it, of which each is run in a process of
// its own: run_wrong_bodies.py compiles it, and writes wrong_bodies.txt.
//
//     program NAME NUMBER ...    writes results/NUMBER for each

#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int mistake; // which of them is called

#define main grade_program
#include "grade.c"
#undef main

static void run_one(char *name, int number) {
    char path[64];
    const struct rlimit memory = {1 << 30, 1 << 30}, size = {1 << 24, 1 << 24};
    snprintf(path, sizeof path, "results/%d", number);
    if (setrlimit(RLIMIT_AS, &memory) != 0
        || setrlimit(RLIMIT_FSIZE, &size) != 0
        || !freopen("/dev/null", "w", stdout)
        || !freopen("/dev/null", "w", stderr) || !freopen("token", "r", stdin))
        _Exit(MISUSED);
    alarm(2);
    exit(grade_program(3, (char *[]){"grade", name, path, NULL}));
}

// The same in a process of its own: how it ended.
static int ended(char *name, int number) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        run_one(name, number);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0)
        exit(MISUSED);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// A line for each: its number, and how it ended.
int main(int count, char **argument) {
    for (int i = 2; i < count; i++) {
        mistake = atoi(argument[i]);
        printf("%d %d\n", mistake, ended(argument[1], mistake));
    }
    return 0;
}
