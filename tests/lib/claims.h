// How every test program here counts and reports: a line for each claim, at the
// end "N passed, N failed", and an exit status of 1 if any failed.

#ifndef CLAIMS_H
#define CLAIMS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int claims_passed, claims_failed;

// Checks one claim; further arguments say what was found.
#define CLAIM(holds, ...) claim((holds), __FILE__, __LINE__, __VA_ARGS__)

void claim(bool holds, const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf(holds ? "ok   " : "FAIL ");
    vprintf(format, arguments);
    if (!holds)
        printf("  (%s:%d)", file, line);
    putchar('\n');
    va_end(arguments);
    *(holds ? &claims_passed : &claims_failed) += 1;
    if (!holds && getenv("STOP_AT_FIRST")) // for tests/audit/mutants.py
        exit(1);
}

int claims_end(void) {
    printf("%d passed, %d failed\n", claims_passed, claims_failed);
    return claims_failed > 0;
}

// A check that this machine cannot make: it is named, and fails in CI.
void skip(const char *what) {
    const char *ci = getenv("CI");
    printf("skip %s\n", what);
    claims_failed += ci && !strcmp(ci, "true");
}

// Whether a program that ended with this status and this message ended by
// fail(): with status 1 and one line, in which `part` occurs.
bool ended_by_fail(int status, const char *said, const char *part) {
    const char *end = strchr(said, '\n');
    return status == 1 && !strncmp(said, "transformer: ", 13) && end && !end[1]
        && strstr(said, part);
}

// Writes a file of these bytes, or gives up.
void write_file(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    if (file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0)
        return;
    printf("FAIL cannot write %s\n", path);
    exit(1);
}

#endif
