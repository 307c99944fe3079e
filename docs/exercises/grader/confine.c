// Runs a program that may do anything, so that it can do no harm. It may read
// the system's libraries, read and write the files that are named, no others; it
// starts no processes, signals none but itself, and has no network. If this is
// run as root, the program runs as the user "nobody", if there are other users.
//
// After "compile" the program is a compiler, which runs no line of a student's
// but reads what it is told to. It may read the system's programs, libraries
// and headers and the paths that are named, and write below the first of these.
//
//     ./confine                              does the system offer all of it?
//     ./confine FILE ... -- PROGRAM [ARGUMENT ...]
//     ./confine compile FOLDER PATH ... -- COMPILER [ARGUMENT ...]
//
// Exit status: that of the program; without one 0, or 1 if something is not
// offered; 2 misused, or what is offered fails. What is not offered is
// left out: then files, processes, or both are open to the program.
//
// Linux only. Landlock (https://docs.kernel.org/userspace-api/landlock.html)
// guards the files, seccomp (seccomp(2)) all other doors of the kernel.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRUNCATE (1 << 14) // LANDLOCK_ACCESS_FS_TRUNCATE, of newer headers

#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined __riscv && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#else
#error "confine.c does not know this processor"
#endif

enum { NOBODY = 65534, MISUSED = 2 };

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "confine: %s: %s\n", what, strerror(errno));
    exit(MISUSED);
}

// ---------------------------------------------------------------- files

// What this version of Landlock can guard: rights are bits, numbered in the
// order in which they were added.
static __u64 every_right(long version) {
    int count = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;
    return (1ULL << count) - 1;
}

// The program may use what is at this path, or below it, in these ways. A path
// that does not exist is left out.
static void allow_path(int rules, const char *path, __u64 rights) {
    int opened = open(path, O_PATH | O_CLOEXEC);
    if (opened < 0)
        return;
    struct stat status;
    if (fstat(opened, &status) == 0 && !S_ISDIR(status.st_mode)) // a file's rights
        rights &= LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE
                | LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE;
    struct landlock_path_beneath_attr rule = {rights, opened};
    if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule,
                0) != 0)
        fail(path);
    close(opened);
}

static const char *const libraries[] = {
    "/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64",
    "/usr/local/lib", "/nix/store", "/gnu/store",
};

static long landlock_version(void) {
    return syscall(SYS_landlock_create_ruleset, NULL, 0,
                   LANDLOCK_CREATE_RULESET_VERSION);
}

// From here on only the program, libraries, and the files up to NULL are open.
static void guard_files(char **file, const char *program, bool compiles) {
    if (landlock_version() < 1)
        return;
    __u64 rights = every_right(landlock_version());
    __u64 write = rights & (LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE);
    __u64 read = LANDLOCK_ACCESS_FS_READ_FILE, run = LANDLOCK_ACCESS_FS_EXECUTE;
    struct landlock_ruleset_attr handled = {.handled_access_fs = rights};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &handled,
                             sizeof handled, 0);
    if (rules < 0)
        fail("Landlock");
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        allow_path(rules, libraries[i], read | run);
    allow_path(rules, program, read | run);
    allow_path(rules, "/etc/ld.so.cache", read);
    allow_path(rules, "/dev/null", read | write);
    if (compiles) {
        __u64 look = read | LANDLOCK_ACCESS_FS_READ_DIR;
        allow_path(rules, "/usr", look | run);
        allow_path(rules, "/bin", look | run);
        allow_path(rules, *file++, rights & ~run);
        for (; *file; file++)
            allow_path(rules, *file, look | run);
    } else
        allow_path(rules, "/proc/self", read); // for the address sanitizer
    for (; *file; file++)
        allow_path(rules, *file, read | write);
    if (syscall(SYS_landlock_restrict_self, rules, 0) != 0)
        fail("Landlock");
    close(rules);
}

// ---------------------------------------------------------------- system calls

static const int allowed[] = {
    // files, as far as Landlock lets them be opened
    SYS_read, SYS_readv, SYS_pread64, SYS_write, SYS_writev, SYS_lseek,
    SYS_openat, SYS_close, SYS_dup, SYS_dup3, SYS_fstat, SYS_newfstatat,
    SYS_statx, SYS_faccessat, SYS_readlinkat, SYS_getcwd,
    // memory
    SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise,
    // the program itself
    SYS_execveat, SYS_exit, SYS_exit_group, SYS_getpid, SYS_gettid, SYS_getppid,
    SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getrusage,
    SYS_set_tid_address, SYS_set_robust_list, SYS_rt_sigaction,
    SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall,
    // its threads
    SYS_futex, SYS_sched_yield, SYS_sched_getaffinity,
    // the machine and the time
    SYS_uname, SYS_sysinfo, SYS_getrandom, SYS_getcpu, SYS_clock_gettime,
    SYS_clock_getres, SYS_gettimeofday, SYS_nanosleep, SYS_clock_nanosleep,
#ifdef SYS_rseq
    SYS_rseq,
#endif
#ifdef __x86_64__ // newer processors have only the calls above
    SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_dup2, SYS_time,
    SYS_arch_prctl,
#endif
};

enum { MOST_STEPS = 4 * sizeof allowed / sizeof *allowed };

typedef struct {
    struct sock_filter step[MOST_STEPS];
    unsigned short count;
} Filter;

static void add(Filter *f, int code, unsigned operand, int then,
                int otherwise) {
    f->step[f->count++] = (struct sock_filter){
        (unsigned short)code, (unsigned char)then, (unsigned char)otherwise,
        operand};
}

static void load(Filter *f, size_t place) {
    add(f, BPF_LD | BPF_W | BPF_ABS, (unsigned)place, 0, 0);
}

// The call of this number ends here, with this answer.
static void answer(Filter *f, long call, unsigned what) {
    add(f, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1);
    add(f, BPF_RET | BPF_K, what, 0, 0);
}

// The call of this number is allowed if its first argument is `wanted`; or with
// BPF_JSET for `test`, if it has that bit.
static void allow_if(Filter *f, long call, int test, unsigned wanted) {
    add(f, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 4);
    load(f, offsetof(struct seccomp_data, args[0])); // its lower half
    add(f, BPF_JMP | test | BPF_K, wanted, 0, 1);
    add(f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    add(f, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
}

// From here on all calls that are not listed fail.
static void guard_calls(void) {
    Filter f = {.count = 0};
    load(&f, offsetof(struct seccomp_data, arch));
    add(&f, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    add(&f, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    load(&f, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        answer(&f, allowed[i], SECCOMP_RET_ALLOW);
    unsigned own = (unsigned)getpid();
    allow_if(&f, SYS_kill, BPF_JEQ, own);
    allow_if(&f, SYS_tkill, BPF_JEQ, own);
    allow_if(&f, SYS_tgkill, BPF_JEQ, own);
    allow_if(&f, SYS_prlimit64, BPF_JEQ, 0); // 0: this process
    allow_if(&f, SYS_clone, BPF_JSET, CLONE_THREAD);
    answer(&f, SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS); // then clone is used
    add(&f, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
    struct sock_fprog program = {f.count, f.step};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0
        && errno != EINVAL)
        fail("seccomp");
}

// ---------------------------------------------------------------- the program

// A container may have no other user than root: then it stays root.
static void become_nobody(void) {
    if (geteuid() == 0 && setgroups(0, NULL) == 0 && setgid(NOBODY) == 0
        && setuid(NOBODY) != 0)
        fail("cannot become another user");
}

// From here on the process is confined. Does the system offer all of it?
static bool confine(char **file, const char *program, bool compiles) {
    bool offered = landlock_version() > 0 && prctl(PR_GET_SECCOMP) >= 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        fail("no_new_privs");
    guard_files(file, program, compiles);
    if (compiles) // its passes are processes, and it writes into our folder
        return offered;
    become_nobody(); // who may not even reach the folder of the program
    guard_calls();
    return offered;
}

int main(int count, char **argument) {
    int k = 1;
    while (k < count && strcmp(argument[k], "--") != 0)
        k++;
    char **command = argument + k + 1;
    if (count == 1)
        return !confine(argument + 1, argument[0], false);
    bool compiles = strcmp(argument[1], "compile") == 0;
    if (k + 1 >= count || k < 1 + 2 * compiles) {
        fprintf(stderr, "usage: confine [FILE ... -- PROGRAM ...]\n"
                "       confine compile FOLDER PATH ... -- COMPILER ...\n");
        return MISUSED;
    }
    argument[k] = NULL; // ends the files
    int program = open(*command, O_PATH | O_CLOEXEC);
    if (program < 0)
        fail(*command);
    confine(argument + 1 + compiles, *command, compiles);
    fexecve(program, command, environ);
    fail(*command);
}
