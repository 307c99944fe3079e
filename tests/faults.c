// The program on a machine that fails where one wants it to:
//
//     cc -O1 tests/faults.c -o build/faults -lm
//     FAULT="memory 17 fail" build/faults train …
//
// Two things are counted from 1: requests for memory, and what is asked of the
// disk (open, each read and write, fsync, close, rename, remove). At the number
// given this happens:
//
//     fail    there is no memory; the disk has an error
//     full    half of what is written fits, and from then on nothing
//     gone    the disk is not there any more: nothing works from then on
//     short   a read brings half of what was asked for
//     kill    the program is killed just before
//     power   so is the machine: what was not yet fsynced is lost, too
//     int     Ctrl-C is pressed just before
//
// With COUNTS=FILE the numbers of both are written to FILE at the end. The kind
// "power-late" forgets that fsync was called, to see that its lack is noticed.
// Needs fopencookie, which glibc and musl have.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEMORY, DISK, THINGS, FILES = 256 };
const char *const thing_name[THINGS] = {"memory", "disk"};
long requested[THINGS], fault_number;
int fault_thing;
char fault_kind[16];
bool disk_is_full, disk_is_gone;

// Files that were opened for writing, under the names they have now.
typedef struct {
    char path[256];
    FILE *file;
    int fd;
    off_t safe; // bytes that were fsynced
    bool writes;
} Opened;

Opened opened[FILES];
int files;

void write_counts(void) {
    FILE *file = fopen(getenv("COUNTS"), "w");
    if (!file)
        abort();
    fprintf(file, "%ld %ld\n", requested[MEMORY], requested[DISK]);
    fclose(file);
}

void read_fault(void) {
    static bool done;
    char name[16] = "";
    const char *text = getenv("FAULT");
    if (done)
        return;
    done = true;
    if (getenv("COUNTS"))
        atexit(write_counts);
    if (!text || !*text)
        return;
    if (sscanf(text, "%15s %ld %15s", name, &fault_number, fault_kind) != 3)
        abort();
    fault_thing = !strcmp(name, "disk");
}

bool kind_is(const char *kind) {
    return !strcmp(fault_kind, kind);
}

void cut_power(void) {
    for (int i = 0; i < files; i++)
        if (opened[i].writes && truncate(opened[i].path, opened[i].safe) != 0
            && errno != ENOENT)
            abort();
}

// Counts one request. Returns whether it is the one that goes wrong, in a way
// that its caller sees to.
bool goes_wrong(int thing) {
    read_fault();
    if (++requested[thing] != fault_number || thing != fault_thing)
        return false;
    if (!strncmp(fault_kind, "power", 5))
        cut_power();
    if (!strncmp(fault_kind, "power", 5) || kind_is("kill"))
        kill(getpid(), SIGKILL);
    if (kind_is("int"))
        raise(SIGINT);
    return !kind_is("int");
}

void *fault_malloc(size_t size) {
    return goes_wrong(MEMORY) ? NULL : malloc(size);
}

void *fault_calloc(size_t count, size_t size) {
    return goes_wrong(MEMORY) ? NULL : calloc(count, size);
}

void *fault_realloc(void *memory, size_t size) {
    return goes_wrong(MEMORY) ? NULL : realloc(memory, size);
}

// Whether a request of the disk fails; errno says why.
bool disk_fails(void) {
    bool wrong = goes_wrong(DISK);
    disk_is_full = disk_is_full || (wrong && kind_is("full"));
    disk_is_gone = disk_is_gone || (wrong && kind_is("gone"));
    errno = EIO;
    return disk_is_gone || (wrong && kind_is("fail"));
}

ssize_t disk_read(void *cookie, char *to, size_t size) {
    long before = requested[DISK];
    if (disk_fails())
        return -1;
    bool now = before + 1 == fault_number && fault_thing == DISK;
    if (now && kind_is("short") && size > 1)
        size /= 2;
    return read(((Opened *)cookie)->fd, to, size);
}

ssize_t disk_write(void *cookie, const char *from, size_t size) {
    bool was_full = disk_is_full;
    if (disk_fails())
        return 0;
    if (disk_is_full)
        size = was_full ? 0 : size / 2;
    errno = ENOSPC;
    return size ? write(((Opened *)cookie)->fd, from, size) : 0;
}

int disk_seek(void *cookie, off64_t *place, int from) {
    *place = lseek(((Opened *)cookie)->fd, *place, from);
    return *place < 0 ? -1 : 0;
}

int disk_close(void *cookie) {
    Opened *o = cookie;
    int result = close(o->fd);
    o->file = NULL;
    return disk_fails() ? -1 : result;
}

// What is known of a name no longer holds: its file is replaced or removed.
void forget(const char *path) {
    for (int i = 0; i < files; i++)
        if (!strcmp(opened[i].path, path))
            opened[i].writes = false;
}

FILE *fault_fopen(const char *path, const char *mode) {
    bool writes = *mode != 'r', appends = *mode == 'a';
    if (disk_fails())
        return NULL;
    if (files == FILES || strlen(path) >= sizeof opened->path)
        abort();
    Opened *o = &opened[files];
    int flags = appends ? O_WRONLY | O_CREAT | O_APPEND
              : writes ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY;
    flags |= strchr(mode, 'x') ? O_EXCL : 0;
    *o = (Opened){.fd = open(path, flags, 0666), .writes = writes};
    if (o->fd < 0)
        return NULL;
    if (writes && !appends)
        forget(path);
    strcpy(o->path, path);
    if (appends)
        o->safe = lseek(o->fd, 0, SEEK_END);
    o->file = fopencookie(o, mode, (cookie_io_functions_t){
        disk_read, disk_write, disk_seek, disk_close});
    files++;
    return o->file;
}

// The file's number in `opened`, for fsync; a real one has none above FILES.
int fault_fileno(FILE *file) {
    for (int i = 0; i < files; i++)
        if (opened[i].file == file)
            return FILES + i;
    return fileno(file);
}

int fault_fsync(int number) {
    Opened *o = &opened[number - FILES];
    if (disk_fails())
        return -1;
    if (!kind_is("power-late"))
        o->safe = lseek(o->fd, 0, SEEK_END);
    return 0;
}

int fault_rename(const char *from, const char *to) {
    if (disk_fails())
        return -1;
    forget(to);
    for (int i = 0; i < files; i++)
        if (!strcmp(opened[i].path, from) && opened[i].writes)
            strcpy(opened[i].path, to);
    return rename(from, to);
}

int fault_remove(const char *path) {
    if (disk_fails())
        return -1;
    forget(path);
    return remove(path);
}

#define malloc fault_malloc
#define calloc fault_calloc
#define realloc fault_realloc
#define fopen fault_fopen
#define fileno fault_fileno
#define fsync fault_fsync
#define rename fault_rename
#define remove fault_remove
#include "../transformer.c"
