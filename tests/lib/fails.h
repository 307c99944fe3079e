// Claims about functions that end the program: fail() prints one line and exits
// with status 1. So each such call runs in a child process, whose standard
// error stream is read through a pipe. Without POSIX these claims are left out.

// A sanitizer's own malloc complains about a request that is too large.
#ifndef __has_feature // clang's; gcc tells in another way
#define __has_feature(name) 0
#endif
#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define MALLOC_COMPLAINS
#else
#define __lsan_disable() ((void)0)
#if __has_feature(memory_sanitizer)
#define MALLOC_COMPLAINS
#endif
#endif

#ifdef TRANSFORMER_POSIX
#include <sys/wait.h>

typedef struct {
    int status;     // 0: it returned; 1 …: exit status; below 0: a signal
    char said[500]; // what it wrote to the standard error stream
} Ending;

// True in the child, which must end by _exit(). In the parent false, when the
// child has ended; `e` then tells how.
bool in_child(Ending *e) {
    int ends[2], status = 0;
    fflush(stdout);
    if (pipe(ends) != 0)
        fail("cannot make a pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child < 0)
        fail("cannot fork: %s", strerror(errno));
    if (child == 0)
        dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    *e = (Ending){0};
    if (child == 0) {
        close(ends[0]);
        __lsan_disable(); // a program that ends by fail() frees nothing
        return true;
    }
    size_t used = 0, most = sizeof e->said - 1;
    for (ssize_t n; (n = read(ends[0], e->said + used, most - used)) > 0;)
        used += (size_t)n;
    close(ends[0]);
    waitpid(child, &status, 0);
    e->status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return false;
}

// Claims that the child ended by fail(), with `part` in its message.
void claim_failure(const Ending *e, const char *what, const char *part,
                   const char *file, int line) {
    bool right = ended_by_fail(e->status, e->said, part);
    claim(right, file, line, right ? "%s" : "%s; found: status %d, \"%s\"",
          what, e->status, e->said);
}

// Claims that the call, the last argument, ends the program by fail().
#define CLAIM_FAILS(what, part, ...)                                         \
    do {                                                                     \
        Ending ending;                                                       \
        if (in_child(&ending)) {                                             \
            (void)(__VA_ARGS__);                                             \
            _exit(0);                                                        \
        }                                                                    \
        claim_failure(&ending, what, part, __FILE__, __LINE__);              \
    } while (0)
#else
#define CLAIM_FAILS(what, part, ...)                                         \
    do {                                                                     \
        (void)(what);                                                        \
        (void)(part);                                                        \
        if (0)                                                               \
            (void)(__VA_ARGS__);                                             \
    } while (0)
#endif
