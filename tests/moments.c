// The program, to which something happens at a given moment:
//
//     cc -O1 tests/moments.c -o build/moments -lm
//     MOMENT="step 5 2" build/moments train … --log /dev/null
//
//     step N SIGNAL   the signal comes when the run's Nth step is in the log
//     save N SIGNAL   it comes when the Nth model is written, and has not
//                     taken its name yet
//     memory          there is none for the run's first step
//
// The log must not be a file: one that is would be saved like a model. If all
// went well and the moment did not come, the status is 99.

#define _XOPEN_SOURCE 700
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

FILE *row_log;  // the log, when it has been opened
bool described; // the run has said what it will do, and is about to begin
bool has_come;
int rows_left, saves_left, signal_number;

// Reads the moment, once. What is not waited for is never reached.
void read_moment(void) {
    static bool done;
    const char *text = getenv("MOMENT");
    if (done || !text)
        return;
    done = true;
    if (sscanf(text, "step %d %d", &rows_left, &signal_number) == 2
        || sscanf(text, "save %d %d", &saves_left, &signal_number) == 2
        || !strcmp(text, "memory"))
        return;
    fprintf(stderr, "there is no moment \"%s\"\n", text);
    exit(99);
}

void count_down(int *left) {
    read_moment();
    if (*left > 0 && --*left == 0) {
        has_come = true;
        raise(signal_number);
    }
}

// The first request for memory of the first step is refused.
bool refused(void) {
    const char *text = getenv("MOMENT");
    if (!described || has_come || !text || strcmp(text, "memory"))
        return false;
    return has_come = true;
}

void *moment_malloc(size_t size) {
    return refused() ? NULL : malloc(size);
}

void *moment_calloc(size_t count, size_t size) {
    return refused() ? NULL : calloc(count, size);
}

void *moment_realloc(void *memory, size_t size) {
    return refused() ? NULL : realloc(memory, size);
}

int moment_fprintf(FILE *file, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int result = vfprintf(file, format, arguments);
    va_end(arguments);
    described = described || strstr(format, "\ntraining: ");
    return result;
}

FILE *moment_fopen(const char *path, const char *mode) {
    FILE *file = fopen(path, mode);
    if (*mode == 'a')
        row_log = file;
    return file;
}

// Each row of the log is flushed by itself.
int moment_fflush(FILE *file) {
    int result = fflush(file);
    if (file && file == row_log)
        count_down(&rows_left);
    return result;
}

int moment_rename(const char *from, const char *to) {
    count_down(&saves_left);
    return rename(from, to);
}

#define malloc moment_malloc
#define calloc moment_calloc
#define realloc moment_realloc
#define fprintf moment_fprintf
#define fopen moment_fopen
#define fflush moment_fflush
#define rename moment_rename
#define main program
#include "../transformer.c"
#undef main

int main(int argc, char **argv) {
    int status = program(argc, argv);
    return status == 0 && getenv("MOMENT") && !has_come ? 99 : status;
}
