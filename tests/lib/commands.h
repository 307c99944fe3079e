// The program from outside: it is given a command line, a standard input and
// files, and its exit status, output, messages and files are compared with what
// they should be.
//
//     works(CLAIM, COMMAND)             status 0, and no message of failure
//     prints(CLAIM, PATTERN, COMMAND)   the same, and this on the standard output
//     fails(CLAIM, PATTERN, COMMAND)    status 1, and this message, in one line
//     fails_late(…)                     the same, after some progress
//     wrong(CLAIM, PATTERN, COMMAND)    status 2, in one line that names the help
//
// A COMMAND is split at blanks, except between ' and '. In a PATTERN each *
// stands for anything. TRANSFORMER=PATH names the program. Everything happens
// in a folder that is removed at the end.

#define _XOPEN_SOURCE 700
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "claims.h"

extern char **environ;

char program[PATH_MAX], root[PATH_MAX], folder[PATH_MAX];
const char *part = "", *running = ""; // of the claims; the last command
int status;                           // of the last command
char *out, *err;                      // what it wrote

// ## Texts and files

_Noreturn void give_up(const char *what) {
    printf("FAIL %s: %s\n", what, strerror(errno));
    exit(1);
}

void *memory(size_t size) {
    void *new = calloc(size + 1, 1);
    if (!new)
        give_up("no memory");
    return new;
}

// A text that stays until the program ends.
char *form(const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = memory((size_t)length);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    return text;
}

// Whether a text fits a pattern in which each * stands for anything.
bool fits(const char *pattern, const char *text) {
    const char *star = NULL, *resume = NULL;
    while (*text)
        if (*pattern == '*') {
            star = pattern++;
            resume = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++resume;
        } else
            return false;
    return pattern[strspn(pattern, "*")] == '\0';
}

// The bytes of a file and a zero; "" if there is none. size may be NULL.
char *contents(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    size_t used = 0, room = 1 << 16;
    char *bytes = memory(room);
    while (file && (used += fread(bytes + used, 1, room - used, file)) == room)
        if (!(bytes = realloc(bytes, (room *= 2) + 1)))
            give_up(path);
    bytes[used] = '\0';
    if (file)
        fclose(file);
    if (size)
        *size = used;
    return bytes;
}

void write_text(const char *path, const char *text) {
    write_file(path, text, strlen(text));
}

bool exists(const char *path) {
    struct stat file;
    return lstat(path, &file) == 0;
}

void copy(const char *from, const char *to) {
    size_t size;
    char *bytes = contents(from, &size);
    write_file(to, bytes, size);
    free(bytes);
}

bool same_file(const char *a, const char *b) {
    size_t x, y;
    char *p = contents(a, &x), *q = contents(b, &y);
    bool same = exists(a) && exists(b) && x == y && !memcmp(p, q, x);
    free(p);
    free(q);
    return same;
}

int lines_of(const char *text) {
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

// How often a part occurs in a text.
int count_of(const char *text, const char *what) {
    int count = 0;
    for (; (text = strstr(text, what)) != NULL; text++)
        count++;
    return count;
}

// Line n of a text, from 0 or, if below 0, from its end.
char *line_of(const char *text, int n) {
    for (n += n < 0 ? lines_of(text) : 0; n > 0 && *text; n--)
        text += strcspn(text, "\n") + 1;
    return form("%.*s", (int)strcspn(text, "\n"), text);
}

// What follows a key and a blank in the line that they begin; "-" if none does.
char *value(const char *text, const char *key) {
    size_t length = strlen(key);
    for (const char *c = text; *c; c += strcspn(c, "\n"), c += *c == '\n')
        if (!strncmp(c, key, length) && c[length] == ' ')
            return line_of(c + length + 1, 0);
    return "-";
}

char *replaced(const char *text, const char *from, const char *to) {
    const char *place = strstr(text, from);
    if (!place)
        return form("%s", text);
    return form("%.*s%s%s", (int)(place - text), text, to,
                replaced(place + strlen(from), from, to));
}

// ## Running it

// Streams that are other than usual in the next command: a file descriptor, or
// CLOSED.
enum { USUAL = -1, CLOSED = -2 };
enum { PATIENCE = 60 }; // seconds; an emulator takes its time
pid_t started;
int stream[3] = {USUAL, USUAL, USUAL};
rlim_t largest_file = RLIM_INFINITY; // of the next command

void limit(int what, rlim_t most) {
    struct rlimit limits;
    getrlimit(what, &limits);
    limits.rlim_cur = most < limits.rlim_max ? most : limits.rlim_max;
    setrlimit(what, &limits);
}

// The standard input of the next command.
void give(const char *text) {
    write_text("in", text);
}

// Splits a command; if it uses a model, adds --threads=1 unless it has its own.
void split(const char *command, char **argument) {
    static const char *const threaded[] = {"train", "translate", "evaluate",
                                           "attention"};
    int n = 0;
    argument[n++] = program;
    for (const char *c = command + strspn(command, " "); *c;
         c += strspn(c, " ")) {
        bool quoted = *c == '\'';
        size_t length = strcspn(c += quoted, quoted ? "'" : " ");
        argument[n++] = form("%.*s", (int)length, c);
        c += length + quoted;
    }
    for (int i = 0; i < 4 && n > 1 && !strstr(command, "--threads"); i++)
        if (!strcmp(argument[1], threaded[i])) {
            memmove(argument + 3, argument + 2,
                    (size_t)(n++ - 2) * sizeof *argument);
            argument[2] = form("--threads=1");
        }
    argument[n] = NULL;
}

pid_t start(const char *command) {
    static const char *const name[] = {"in", "out", "err"};
    char *argument[100];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    pid_t process;
    split(running = command, argument);
    write_text("out", "");
    write_text("err", "");
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 3; i++)
        if (stream[i] >= 0)
            posix_spawn_file_actions_adddup2(&actions, stream[i], i);
        else if (stream[i] == CLOSED)
            posix_spawn_file_actions_addclose(&actions, i);
        else
            posix_spawn_file_actions_addopen(&actions, i, name[i],
                i ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY, 0600);
    posix_spawnattr_init(&attributes);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    alarm(PATIENCE);
    limit(RLIMIT_FSIZE, largest_file);
    if ((errno = posix_spawn(&process, program, &actions, &attributes, argument,
                             environ)) != 0)
        give_up(program);
    limit(RLIMIT_FSIZE, largest_file = RLIM_INFINITY);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    stream[0] = stream[1] = stream[2] = USUAL;
    return started = process;
}

void finish(pid_t process) {
    int how;
    while (waitpid(process, &how, 0) < 0 && errno == EINTR)
        continue;
    alarm(0);
    status = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    free(out);
    free(err);
    out = contents("out", NULL);
    err = contents("err", NULL);
    give("");
}

void run(const char *command) {
    finish(start(command));
}

// ## Claims

// No command takes longer than PATIENCE. One that does waits for ever: it is
// named, and nothing else is tried.
void out_of_patience(int which) {
    (void)which;
    kill(started, SIGKILL);
    CLAIM(false, "%s: %s: it ends within %d seconds", part, running, PATIENCE);
    exit(claims_end());
}

void holds(bool right, const char *what, const char *expected, const char *got) {
    claim(right, running, status, "%s: %s", part, what);
    if (!right)
        printf("       expected: %.300s\n       got:      %.300s\n", expected,
               got);
}

void same(const char *what, const char *expected, const char *got) {
    holds(!strcmp(expected, got), what, expected, got);
}

void matches(const char *what, const char *pattern, const char *got) {
    holds(fits(pattern, got), what, pattern, got);
}

void same_bytes(const char *what, const char *a, const char *b) {
    holds(same_file(a, b), what, form("%s and %s are the same", a, b),
          "they differ");
}

void absent(const char *what, const char *path) {
    holds(!exists(path), what, form("no file %s", path), "it exists");
}

// What happened: the status, the message, and whether it was a single line.
char *outcome(void) {
    int lines = lines_of(err);
    return form("status %d%s%s: %.*s", status, lines == 1 ? "" : form(
                ", %d lines on stderr", lines),
                *out ? ", something on stdout" : "",
                (int)strlen(err) - (lines > 0), err);
}

// The same of a run that has already reported progress.
char *last_outcome(void) {
    return form("status %d: %s", status, line_of(err, -1));
}

bool complains(void) {
    return !strncmp(err, "transformer: ", 13) || strstr(err, "\ntransformer: ");
}

void works(const char *what, const char *command) {
    run(command);
    holds(status == 0 && !complains(), what, "status 0", last_outcome());
}

void prints(const char *what, const char *pattern, const char *command) {
    run(command);
    holds(status == 0 && fits(pattern, out), what, pattern,
          status ? last_outcome() : out);
}

void fails(const char *what, const char *message, const char *command) {
    run(command);
    matches(what, form("status 1: transformer: %s", message), outcome());
}

void fails_late(const char *what, const char *message, const char *command) {
    run(command);
    matches(what, form("status 1: transformer: %s", message), last_outcome());
}

void wrong(const char *what, const char *message, const char *command) {
    static const char *const known[] = {"train", "translate", "evaluate",
                                        "attention", "info"};
    char *first = form("%.*s", (int)strcspn(command, " "), command);
    const char *of = "";
    for (int i = 0; i < 5; i++)
        if (!strcmp(first, known[i]))
            of = form("%s ", first);
    run(command);
    matches(what, form("status 2: transformer: %s (see: transformer %s--help)",
                       message, of), outcome());
}

// Many claims of one kind, each called as its command.
typedef struct {
    const char *pattern, *command;
} Row;

#define EACH(check, ...)                                                     \
    do {                                                                     \
        const Row rows[] = {__VA_ARGS__};                                    \
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)              \
            check(rows[i].command, rows[i].pattern, rows[i].command);        \
    } while (0)

// ## Logs

typedef struct {
    int step, fields;
    bool valid;           // a look, not a step of training
    double loss, accuracy, rate, norm, speed;
} LogRow;

// The rows below the header; the last has no fields.
LogRow *read_log(const char *path) {
    char *text = contents(path, NULL), split[6];
    LogRow *rows = memory(sizeof *rows * (size_t)(lines_of(text) + 1)), *r = rows;
    for (const char *c = strchr(text, '\n'); c && c[1]; c = strchr(c, '\n')) {
        c++;
        r->fields = sscanf(c, "%d,%5[a-z],%lf,%lf,%lf,%lf,%lf", &r->step, split,
                           &r->loss, &r->accuracy, &r->rate, &r->norm,
                           &r->speed);
        r->valid = !strcmp(split, "valid");
        r++;
    }
    free(text);
    return rows;
}

// The log without its last column, the speed.
char *columns(const char *path) {
    char *text = contents(path, NULL), *to = text;
    int commas = 0;
    for (const char *c = text; *c; c++) {
        commas = *c == '\n' ? 0 : commas + (*c == ',');
        if (commas < 6)
            *to++ = *c;
    }
    *to = '\0';
    return text;
}

// ## Models

// The header of a model file.
char *header(const char *path) {
    size_t size, length = 0;
    char *bytes = contents(path, &size);
    for (int i = 8; i-- > 0;)
        length = length * 256 + (unsigned char)bytes[i];
    if (size < 8 || length > size - 8)
        give_up(path);
    char *text = form("%.*s", (int)length, bytes + 8);
    free(bytes);
    return text;
}

// The same model with first parameters that are finite, but so large that the
// loss is not.
void make_huge(const char *from, const char *to) {
    size_t size, begin = 8 + strlen(header(from));
    char *bytes = contents(from, &size);
    for (size_t i = 0; i < 300; i++)
        memcpy(bytes + begin + 4 * i, "\377\377\177\177", 4);
    write_file(to, bytes, size);
    free(bytes);
}

// ## Data

#define GONE "No such file or directory"
#define PAIRS 7
#define TOKENS 37 // in the targets, with an END each
#define SOURCES "the cat sees a dog\nthe dog sees a cat\na cat sleeps\n" \
    "a dog sleeps\nthe cat sleeps\nthe dog eats\nthe dog says \"yes, cat\"\n"
#define WRITTEN "le chat voit un chien\nle chien voit un chat\nun chat dort\n" \
    "un chien dort\nle chat dort\nle chien mange\nle chien dit \"oui, chat\"\n"
// As translations come back: tokens joined by blanks.
#define TARGETS replaced(WRITTEN, "\"oui, chat\"", "\" oui , chat \"")

// The smallest model that can learn these, and how it is trained; and one that
// learns nothing, for tests of everything but learning.
#define TINY " --layers 2 --d-model 16 --heads 2 --max-len 8 --batch 4 " \
             "--dropout 0 --lr 0.01 --warmup 10 "
#define MINI " --layers 1 --d-model 8 --heads 2 --max-len 8 --batch 4 "

// Lines put side by side.
char *side_by_side(const char *left, const char *right) {
    char *text = "";
    for (int i = 0; i < lines_of(left); i++)
        text = form("%s%s\t%s\n", text, line_of(left, i), line_of(right, i));
    return text;
}

// ## The beginning and the end

void clean_up(void) {
    if (chdir("/") != 0 || system(form("rm -rf '%s'", folder)) != 0)
        perror(folder);
}

void interrupted(int which) {
    clean_up();
    _exit(128 + which);
}

void commands_begin(void) {
    const char *given = getenv("TRANSFORMER"), *tmp = getenv("TMPDIR");
    if (!realpath(given ? given : "./transformer", program)
        || access(program, X_OK) != 0)
        give_up("there is no program; run make first");
    bool shared = access("/dev/shm", W_OK) == 0; // in memory: saving is fast
    snprintf(folder, sizeof folder, "%s/transformer.XXXXXX",
             shared ? "/dev/shm" : tmp ? tmp : "/tmp");
    if (!getcwd(root, sizeof root) || !mkdtemp(folder) || chdir(folder) != 0)
        give_up(folder);
    atexit(clean_up);
    signal(SIGINT, interrupted);
    signal(SIGTERM, interrupted);
    signal(SIGALRM, out_of_patience);
    signal(SIGPIPE, SIG_IGN);
    setenv("LC_ALL", "C", 1);
    setenv("OMP_WAIT_POLICY", "passive", 1); // others may need the processor
    limit(RLIMIT_CPU, 200);
    setvbuf(stdout, NULL, _IOLBF, 0);
    give("");
    write_text("pairs.tsv", side_by_side(SOURCES, WRITTEN));
}
