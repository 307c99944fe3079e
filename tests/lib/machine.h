// A machine in memory, on which the program runs hundreds of times a second:
// its disk, its standard streams and its clock are here, exit() comes back, and
// things go wrong where a test wants them to. It includes transformer.c.
//
//     disk_write("pairs.tsv", "a\tb\n", 4);
//     fault = (Fault){DISK, 17, "fail"};
//     int status = run("train pairs.tsv …");
//
// It counts, from 1, requests for memory, accesses to the disk (open, each read
// and write, fsync, close, rename, remove), square roots, rows of the log, and
// models that are about to get their name. At the number given, this happens:
//
//     fail    there is no memory; the disk has an error
//     full    half of what is written fits, and from then on nothing
//     gone    the disk is no longer there: nothing works from then on, and the
//             reason is another one than at first
//     short   a read brings half of what was asked for
//     kill    the program is killed just before
//     power   so is the machine: what was not yet fsynced is lost, too
//     late    the same on a machine that forgets that fsync was called
//     int     Ctrl-C is pressed just before; likewise the signals term and hup
//
// Needs fopencookie, which glibc and musl have.

#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "claims.h"
#include "sandbox.h"
#undef fopen
#undef fclose

// ## What goes wrong

enum { MEMORY, DISK, ROOTS, LOG_ROWS, SAVES, THINGS };

typedef struct {
    int thing;
    long number;
    const char *kind;
} Fault;

Fault fault; // of the next run; a number of 0 is never reached
long requested[THINGS];
bool disk_is_full, disk_is_gone, dead, has_come;
const char *request_gone; // what was asked of the disk when it went wrong

enum { NODES = 40, FILES = 16 };

typedef struct {
    char name[32]; // "" if it is removed
    char *bytes;
    size_t size, safe; // bytes; of them fsynced
} Node;

typedef struct {
    Node *node;
    FILE *file; // NULL: closed
    size_t place;
    bool appends, counts, written;
} Opened;

Node node[NODES];
Opened opened[FILES];
FILE *machine_in, *machine_out, *machine_err;
int left_open; // files that the program did not close in the last run

bool kind_is(const char *kind) {
    return fault.kind && !strcmp(fault.kind, kind);
}

// The program ends here, and what it had not yet written is lost.
_Noreturn void kill_program(int status) {
    for (int i = 0; i < NODES && (kind_is("power") || kind_is("late")); i++)
        if (node[i].size > node[i].safe)
            node[i].size = node[i].safe;
    dead = true;
    sandbox_exit(status);
}

// A signal ends the program unless the program has a handler for it: before
// that is installed, and after it has caught one.
void send_signal(int which) {
    struct sigaction action;
    sigaction(which, NULL, &action);
    if (action.sa_handler == SIG_DFL)
        kill_program(128 + which);
    raise(which);
}

// Counts one request. Returns whether it is the one that goes wrong, in a way
// that the caller has to carry out.
bool goes_wrong(int thing) {
    if (++requested[thing] != fault.number || thing != fault.thing || dead)
        return false;
    has_come = true;
    if (kind_is("kill") || kind_is("power") || kind_is("late"))
        kill_program(128 + SIGKILL);
    int which = kind_is("int") ? SIGINT : kind_is("term") ? SIGTERM
              : kind_is("hup") ? SIGHUP : 0;
    if (which)
        send_signal(which);
    return !which;
}

// ## Memory

bool no_memory(void) {
    return exit_returns && goes_wrong(MEMORY);
}

void *machine_malloc(size_t size) {
    return no_memory() ? NULL : sandbox_malloc(size);
}

void *machine_calloc(size_t count, size_t size) {
    return no_memory() ? NULL : sandbox_calloc(count, size);
}

void *machine_realloc(void *memory, size_t size) {
    return no_memory() ? NULL : sandbox_realloc(memory, size);
}

// ## The disk

Node *find_node(const char *name) {
    for (int i = 0; i < NODES; i++)
        if (!strcmp(node[i].name, name))
            return &node[i];
    return NULL;
}

// Memory that outlives the program: what is on the disk.
void *lasting(void *old, size_t size) {
    bool inside = exit_returns;
    exit_returns = false;
    void *new = sandbox_realloc(old, size);
    exit_returns = inside;
    return new;
}

// An empty file of this name.
Node *make_node(const char *name) {
    Node *n = find_node(name);
    if (!n && !(n = find_node("")))
        abort();
    *n = (Node){.bytes = lasting(n->bytes, 1)};
    *n->bytes = '\0';
    snprintf(n->name, sizeof n->name, "%s", name);
    return n;
}

void node_write(Node *n, size_t place, const char *from, size_t size) {
    if (place + size > n->size) {
        n->size = place + size;
        n->bytes = lasting(n->bytes, n->size + 1);
        n->bytes[n->size] = '\0';
    }
    memcpy(n->bytes + place, from, size);
}

void disk_write(const char *name, const char *bytes, size_t size) {
    Node *n = make_node(name);
    node_write(n, 0, bytes, size);
    n->safe = size;
}

void disk_copy(const char *from, const char *to) {
    Node *n = find_node(from);
    disk_write(to, n->bytes, n->size);
}

void disk_remove(const char *name) {
    Node *n = find_node(name);
    if (n)
        *n->name = '\0';
}

bool disk_same(const char *a, const char *b) {
    Node *x = find_node(a), *y = find_node(b);
    return x && y && x->size == y->size && !memcmp(x->bytes, y->bytes, x->size);
}

// Whether a request of the disk fails; errno says why.
bool disk_fails(const char *request) {
    bool was_gone = disk_is_gone, wrong = goes_wrong(DISK);
    disk_is_full = disk_is_full || (wrong && kind_is("full"));
    disk_is_gone = disk_is_gone || (wrong && kind_is("gone"));
    if (wrong)
        request_gone = request;
    errno = was_gone ? ENXIO : EIO;
    return disk_is_gone || (wrong && kind_is("fail"));
}

ssize_t machine_read(void *cookie, char *to, size_t size) {
    Opened *o = cookie;
    long before = requested[DISK];
    if (o->counts && disk_fails("read"))
        return -1;
    if (o->counts && before + 1 == fault.number && fault.thing == DISK
        && kind_is("short") && size > 1)
        size /= 2;
    size_t left = o->node->size - o->place;
    size = size < left ? size : left;
    memcpy(to, o->node->bytes + o->place, size);
    o->place += size;
    return (ssize_t)size;
}

ssize_t machine_write(void *cookie, const char *from, size_t size) {
    Opened *o = cookie;
    bool was_full = disk_is_full;
    if (dead)
        return (ssize_t)size;
    if (o->counts && disk_fails("write"))
        return 0;
    if (o->counts && disk_is_full)
        size = was_full ? 0 : size / 2;
    if (o->appends)
        o->place = o->node->size;
    node_write(o->node, o->place, from, size);
    o->place += size;
    o->written = true;
    errno = ENOSPC;
    return (ssize_t)size;
}

int machine_seek(void *cookie, off64_t *place, int from) {
    Opened *o = cookie;
    off64_t base = from == SEEK_SET ? 0 : from == SEEK_CUR ? (off64_t)o->place
                 : (off64_t)o->node->size;
    if (base + *place < 0)
        return -1;
    o->place = (size_t)(*place += base);
    return 0;
}

int machine_close(void *cookie) {
    Opened *o = cookie;
    o->file = NULL;
    const char *what = o->written ? "close" : "close what was read";
    return o->counts && !dead && disk_fails(what) ? -1 : 0;
}

FILE *open_node(int i, Node *n, const char *mode, bool counts) {
    Opened *o = &opened[i];
    *o = (Opened){.node = n, .appends = *mode == 'a', .counts = counts};
    o->file = fopencookie(o, mode, (cookie_io_functions_t){
        machine_read, machine_write, machine_seek, machine_close});
    return o->file;
}

FILE *machine_fopen(const char *path, const char *mode) {
    if (disk_fails("open"))
        return NULL;
    Node *n = find_node(path);
    errno = ENOENT;
    if (!n && *mode == 'r')
        return NULL;
    if (!n || *mode == 'w')
        n = make_node(path);
    int i = 0;
    while (opened[i].file)
        if (++i == FILES)
            abort();
    return open_node(i, n, mode, true);
}

FILE *machine_freopen(const char *path, const char *mode, FILE *file) {
    fclose(file);
    return machine_fopen(path, mode);
}

// The file's index in `opened`, for fsync.
int machine_fileno(FILE *file) {
    for (int i = 0; i < FILES; i++)
        if (opened[i].file == file)
            return i;
    return -1;
}

int machine_fsync(int number) {
    if (disk_fails("fsync"))
        return -1;
    if (!kind_is("late"))
        opened[number].node->safe = opened[number].node->size;
    return 0;
}

// Each row of the log is flushed by itself.
int machine_fflush(FILE *file) {
    int result = fflush(file);
    const char *name = file ? opened[machine_fileno(file)].node->name : "";
    if (strstr(name, ".csv") && !strstr(name, ".new"))
        goes_wrong(LOG_ROWS);
    return result;
}

int machine_rename(const char *from, const char *to) {
    if (disk_fails("rename"))
        return -1;
    if (!strstr(to, ".csv"))
        goes_wrong(SAVES);
    disk_remove(to);
    snprintf(find_node(from)->name, sizeof node->name, "%s", to);
    return 0;
}

int machine_remove(const char *path) {
    if (disk_fails("remove"))
        return -1;
    errno = ENOENT;
    if (!find_node(path))
        return -1;
    disk_remove(path);
    return 0;
}

int machine_stat(const char *path, struct stat *to) {
    Node *n = find_node(path);
    errno = ENOENT;
    if (!n)
        return -1;
    *to = (struct stat){.st_ino = (ino_t)(n - node + 1)};
    return 0;
}

// ## Time, which passes only while square roots are taken: each step of
// training takes the same number.

double roots, root_time; // seconds of each; 0: each takes longer than the last

double machine_sqrt(double x) {
    roots++;
    if (exit_returns)
        goes_wrong(ROOTS);
    return sqrt(x);
}

int machine_clock(clockid_t which, struct timespec *t) {
    double seconds = root_time > 0 ? root_time * roots : 1e-14 * roots * roots;
    (void)which;
    t->tv_sec = (time_t)seconds;
    t->tv_nsec = (long)(1e9 * (seconds - floor(seconds)));
    return 0;
}

// ## The program

int machine_printf(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int result = vfprintf(machine_out, format, arguments);
    va_end(arguments);
    return result;
}

int machine_puts(const char *text) {
    return fprintf(machine_out, "%s\n", text) < 0 ? EOF : 1;
}

#undef stdin
#undef stdout
#undef stderr
#undef malloc
#undef calloc
#undef realloc
#define stdin machine_in
#define stdout machine_out
#define stderr machine_err
#define malloc machine_malloc
#define calloc machine_calloc
#define realloc machine_realloc
#define fopen machine_fopen
#define freopen machine_freopen
#define fileno machine_fileno
#define fsync machine_fsync
#define fflush machine_fflush
#define rename machine_rename
#define remove machine_remove
#define stat(path, to) machine_stat(path, to)
#define lstat(path, to) machine_stat(path, to)
#define isatty(number) ((number) < 0)
#define printf machine_printf
#define puts machine_puts
#define putchar(c) putc(c, machine_out)
#define fputc(c, file) putc_unlocked(c, file) // half of the time is in it
#define sqrt machine_sqrt
#define clock_gettime machine_clock
#define main program
#include "../../transformer.c"
#undef main

// What the program wrote in the last run.
const char *said(void) {
    return find_node("(err)")->bytes;
}

const char *written(void) {
    return find_node("(out)")->bytes;
}

// The last line of its messages.
const char *last_line(void) {
    static char line[1000];
    const char *text = said(), *end = text + strlen(text);
    while (end > text && end[-1] == '\n')
        end--;
    const char *begin = end;
    while (begin > text && begin[-1] != '\n')
        begin--;
    snprintf(line, sizeof line, "%.*s", (int)(end - begin), begin);
    return line;
}

// Runs a command, split at blanks, with this standard input; returns the status.
int run_with(const char *command, const char *input) {
    char text[1000], *argument[64] = {"transformer"};
    int count = 1;
    snprintf(text, sizeof text, "%s", command);
    for (char *c = strtok(text, " "); c; c = strtok(NULL, " "))
        argument[count++] = c;
    disk_write("(in)", input, strlen(input));
    machine_in = open_node(0, find_node("(in)"), "r", false);
    machine_out = open_node(1, make_node("(out)"), "w", false);
    machine_err = open_node(2, make_node("(err)"), "w", false);
    setvbuf(machine_err, NULL, _IOLBF, 0);
    memset(requested, 0, sizeof requested);
    disk_is_full = disk_is_gone = dead = has_come = false;
    request_gone = "";
    left_open = 0;
    stop_signal = 0;
    for (int i = 0; i < 3; i++)
        signal((const int[]){SIGINT, SIGTERM, SIGHUP}[i], SIG_DFL);
    roots = 0;
    sandbox_begin();
    if (setjmp(where_exit_returns) == 0)
        sandbox_exit(program(count, argument));
    exit_returns = false; // what follows is not the program's doing
    dead = true;
    for (int i = 3; i < FILES; i++)
        if (opened[i].file) {
            left_open++;
            fclose(opened[i].file);
        }
    dead = false;
    for (int i = 0; i < 3; i++)
        if (opened[i].file)
            fclose(opened[i].file);
    return sandbox_end();
}

int run(const char *format, ...) {
    char command[1000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    return run_with(command, "");
}
