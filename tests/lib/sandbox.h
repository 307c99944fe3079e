// For tests that call thousands of times what may end the program: exit() comes
// back, what transformer.c has allocated since then is freed, what it has
// opened is closed, and how much memory that was, and what was printed, is
// known. To be included before test.h.

#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include "claims.h"

// The header of each piece of memory that transformer.c has.
typedef union Piece {
    struct {
        union Piece *before, *behind; // a ring, in which `ring` is the first
        size_t size;
        bool inside; // allocated while exit() comes back
    } is;
    max_align_t aligned[2];
} Piece;

Piece ring = {.is = {&ring, &ring, 0, false}};
size_t memory_now, memory_peak; // bytes
size_t memory_limit = SIZE_MAX; // beyond it, the call ends with status 99
bool exit_returns;
jmp_buf where_exit_returns;
int exit_status;
FILE *messages;  // the standard error stream, while exit() comes back
char last_message[4096]; // what the last call wrote there

_Noreturn void sandbox_exit(int status) {
    if (!exit_returns)
        exit(status);
    exit_status = status;
    longjmp(where_exit_returns, 1);
}

// Takes the memory out of the ring and returns the whole piece.
void *unlinked(void *memory) {
    if (!memory)
        return NULL;
    Piece *p = (Piece *)memory - 1;
    p->is.before->is.behind = p->is.behind;
    p->is.behind->is.before = p->is.before;
    memory_now -= p->is.size;
    return p;
}

// Puts a piece into the ring and returns the memory after its header.
void *linked(Piece *p, size_t size) {
    if (!p)
        return NULL;
    p->is.before = &ring;
    p->is.behind = ring.is.behind;
    p->is.size = size;
    p->is.inside = exit_returns;
    p->is.behind->is.before = ring.is.behind = p;
    memory_now += size;
    if (memory_now > memory_peak)
        memory_peak = memory_now;
    if (memory_now > memory_limit)
        sandbox_exit(99);
    return p + 1;
}

void *sandbox_malloc(size_t size) {
    if (size > SIZE_MAX / 2)
        return NULL;
    return linked(malloc(sizeof(Piece) + size), size);
}

void *sandbox_calloc(size_t count, size_t size) {
    if (count > SIZE_MAX / 2 / size)
        return NULL;
    return linked(calloc(1, sizeof(Piece) + count * size), count * size);
}

void sandbox_free(void *memory) {
    free(unlinked(memory));
}

void *sandbox_realloc(void *memory, size_t size) {
    size_t before = memory ? ((Piece *)memory - 1)->is.size : 0;
    Piece *p = unlinked(memory);
    Piece *larger = size > SIZE_MAX / 2 ? NULL
                                        : realloc(p, sizeof(Piece) + size);
    if (!larger && p)
        linked(p, before);
    return linked(larger, size);
}

enum { SANDBOX_FILES = 8 };
FILE *open_files[SANDBOX_FILES]; // opened while exit() comes back

FILE *sandbox_fopen(const char *path, const char *mode) {
    FILE *file = fopen(path, mode);
    for (int i = 0; exit_returns && file; i++) {
        if (i == SANDBOX_FILES)
            abort();
        if (!open_files[i]) {
            open_files[i] = file;
            break;
        }
    }
    return file;
}

int sandbox_fclose(FILE *file) {
    for (int i = 0; i < SANDBOX_FILES; i++)
        if (open_files[i] == file)
            open_files[i] = NULL;
    return fclose(file);
}

FILE *sandbox_stderr(void) {
    return exit_returns ? messages : stderr;
}

// What may end the program is called between these two, after a setjmp, to
// which exit() returns.

void sandbox_begin(void) {
    if (!messages && !(messages = tmpfile()))
        abort();
    rewind(messages);
    exit_returns = true;
    exit_status = 0;
    memory_peak = memory_now;
}

// Frees and closes what is left; returns 0 or what exit() was given.
int sandbox_end(void) {
    for (Piece *p = ring.is.behind, *next; p != &ring; p = next) {
        next = p->is.behind;
        if (p->is.inside)
            sandbox_free(p + 1);
    }
    for (int i = 0; i < SANDBOX_FILES; i++)
        if (open_files[i])
            sandbox_fclose(open_files[i]);
    exit_returns = false;
    memory_limit = SIZE_MAX;
    size_t length = (size_t)ftell(messages), most = sizeof last_message - 1;
    rewind(messages);
    length = fread(last_message, 1, length < most ? length : most, messages);
    last_message[length] = '\0';
    return exit_status;
}

// Calls what may end the program; returns 0 or what exit() was given.
int status_of(void call(const void *), const void *with) {
    sandbox_begin();
    if (setjmp(where_exit_returns) == 0)
        call(with);
    return sandbox_end();
}

// Whether a call ended by fail() with `part` in its message; else shows it.
bool failed_saying(const char *part, int status) {
    bool right = ended_by_fail(status, last_message, part);
    if (!right)
        printf("wanted: %s; found: status %d, \"%s\"\n", part, status,
               last_message);
    return right;
}

#undef stderr
#define stderr sandbox_stderr()
#define exit sandbox_exit
#define fopen sandbox_fopen
#define fclose sandbox_fclose
#define malloc sandbox_malloc
#define calloc sandbox_calloc
#define realloc sandbox_realloc
#define free sandbox_free
