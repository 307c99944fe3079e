// A machine that fails: at each request for memory and each access to the disk
// in turn, with a disk that is full or gone from then on, reads cut short,
// signals and power cuts at every one of them. machine.h says how it is done.
//
// What must hold: a run ends as it should, or says in one line what went wrong
// and ends with status 1; and the same command with --resume, when the machine
// is well again, ends in the bytes of a training to which nothing happened.

#include "../lib/machine.h"

#define MODEL_NAME "m.safetensors"
#define FILES_OF_ALL "train pairs.tsv --valid pairs.tsv --threads 1 " \
    "--model " MODEL_NAME " --log l.csv"
#define TRAIN FILES_OF_ALL " --layers 1 --d-model 2 --heads 1 --d-ff 2 " \
    "--max-len 6 --batch 2 --lr .05 --warmup 1"
#define AGAIN FILES_OF_ALL " --resume --steps 5"

int status, complaints;
long places[THINGS];  // requests of each kind in a run without a fault
char first_complaint[1500];

void complain_of(const char *what) {
    if (complaints++ == 0)
        snprintf(first_complaint, sizeof first_complaint,
                 "thing %d, number %ld, %s: %s: status %d, %.900s",
                 fault.thing, fault.number, fault.kind, what, status,
                 last_line());
}

void hold(const char *format, long number) {
    char what[200];
    snprintf(what, sizeof what, format, number);
    CLAIM(complaints == 0, "%s%s%s", what, complaints ? "\n       " : "",
          complaints ? first_complaint : "");
    complaints = 0;
}

// A file that is not yet finished, or NULL.
const char *unfinished(void) {
    for (int i = 0; i < NODES; i++)
        if (strstr(node[i].name, ".new"))
            return node[i].name;
    return NULL;
}

// Puts the files of the base into place, and nothing else.
void begin(void) {
    if (unfinished())
        disk_remove(unfinished());
    disk_copy("base.m", MODEL_NAME);
    disk_copy("base.l", "l.csv");
}

// Whether the log has all rows of the complete one: each step's row, the last
// one if the step was done again, is the same.
bool log_is_whole(void) {
    const char *log = find_node("l.csv")->bytes;
    const char *row = find_node("whole.l")->bytes;
    for (size_t size; (size = strcspn(row, "\n")) > 0; row += size + 1) {
        char start[32] = "", wanted[256];
        const char *last = NULL;
        snprintf(wanted, sizeof wanted, "%.*s\n", (int)size, row);
        sscanf(row, "%31[0-9,a-z]", start); // step, kind, and a digit
        for (const char *c = log; c; c = strchr(c, '\n') ? strchr(c, '\n') + 1
                                                         : NULL)
            if (!strncmp(c, start, strlen(start)) && strchr(c, '\n'))
                last = c;
        if (!last || strncmp(last, wanted, strlen(wanted)))
            return false;
    }
    return true;
}

// Resumes once the machine is well, and compares with what should come out. A
// file that a killed program has left must not be an obstacle.
void heal(void) {
    Fault was = fault;
    fault.number = 0;
    if ((status = run(AGAIN)) != 0)
        complain_of("cannot be resumed");
    else if (!disk_same(MODEL_NAME, "whole.m"))
        complain_of("resumed it ends in other bytes");
    else if (!kind_is("power") && !log_is_whole())
        complain_of("the log lacks something");
    else if (left_open)
        complain_of("a file is not closed");
    fault = was;
}

bool begins(const char *text) {
    return !strncmp(last_line(), text, strlen(text));
}

// Whether a run with this fault may end as it did.
bool may_end_so(void) {
    bool whole = status == 0 && disk_same(MODEL_NAME, "whole.m");
    if (kind_is("kill") || kind_is("power") || kind_is("late"))
        return status == 137;
    if (kind_is("int") || kind_is("term"))
        return whole || status == (kind_is("int") ? 130 : 143);
    if (kind_is("short"))
        return whole;
    if (fault.thing == MEMORY)
        return status == 1 && begins("transformer: out of memory: ");
    if (kind_is("fail") && !strcmp(request_gone, "close"))
        whole = false; // nobody knows whether what was written is there
    return whole || (status == 1 && begins("transformer: cannot "));
}

void try_training(Fault f) {
    begin();
    fault = f;
    status = run(AGAIN);
    if (!may_end_so())
        complain_of("no clear end");
    if (unfinished() && !kind_is("gone") && strstr(said(), "cannot write"))
        complain_of("half a file is left");
    bool ending = !strcmp(request_gone, "fsync")
               || !strcmp(request_gone, "close")
               || !strcmp(request_gone, "rename");
    if (kind_is("gone") && ending && !strstr(last_line(), strerror(EIO)))
        complain_of("the reason is not the first one");
    heal();
}

void test_training(void) {
    static const struct {
        int thing;
        const char *kind, *what;
    } faults[] = {
        {MEMORY, "fail", "each of %ld requests for memory refused: it says so; "
         "resumed it loses nothing"},
        {DISK, "fail", "each of %ld accesses to the disk fails: done, or an "
         "error; resumed it loses nothing"},
        {DISK, "full", "the disk is full from each of %ld places on: done, or "
         "an error; nothing is lost"},
        {DISK, "gone", "the disk is gone from each of %ld places on: done, or "
         "an error; resumed it loses nothing"},
        {DISK, "short", "each of %ld reads and writes cut short: no "
         "difference"},
        {MEMORY, "int", "Ctrl-C at each of %ld requests for memory: resumed it "
         "loses nothing"},
        {DISK, "int", "Ctrl-C at each of %ld accesses to the disk: the same"},
        {ROOTS, "term", "a request to end at each of %ld square roots: the same"},
        {MEMORY, "kill", "killed at each of %ld requests for memory: resumed "
         "it loses nothing"},
        {DISK, "kill", "killed at each of %ld accesses to the disk: the same"},
        {DISK, "power", "the power fails at each of %ld accesses to the disk: "
         "the model is whole"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        for (long n = 1; n <= places[faults[i].thing]; n++)
            try_training((Fault){faults[i].thing, n, faults[i].kind});
        hold(faults[i].what, places[faults[i].thing]);
    }
    int lost = 0;
    for (long n = 1; n <= places[DISK]; n++) {
        begin();
        fault = (Fault){DISK, n, "late"};
        run(AGAIN);
        lost += !find_node(MODEL_NAME) || find_node(MODEL_NAME)->size == 0;
    }
    CLAIM(lost > 0, "the test works: without fsync, power cuts lose models, %d "
          "times", lost);
}

// ## The other commands

// Every possible fault; nothing may be half done.
void use_through(const char *name, const char *command, const char *input) {
    static const Fault kinds[] = {{MEMORY, 0, "fail"}, {DISK, 0, "fail"},
                                  {DISK, 0, "full"}, {DISK, 0, "short"}};
    char what[200];
    begin();
    fault.number = 0;
    disk_remove("a.csv");
    if ((status = run_with(command, input)) != 0)
        complain_of("it fails without a fault");
    if (left_open)
        complain_of("a file is not closed");
    memcpy(places, requested, sizeof places);
    disk_copy("(out)", "expected");
    bool table = find_node("a.csv") != NULL;
    if (table)
        disk_copy("a.csv", "new.csv");
    for (int k = 0; k < 4; k++)
        for (long n = 1; n <= places[kinds[k].thing]; n++) {
            begin();
            if (table)
                disk_copy("old.csv", "a.csv");
            fault = (Fault){kinds[k].thing, n, kinds[k].kind};
            status = run_with(command, input);
            if (status != 0
                && (status != 1 || kind_is("short")
                    || !begins(k ? "transformer: cannot "
                                 : "transformer: out of memory: ")))
                complain_of("no clear end");
            if (status == 0 && !disk_same("(out)", "expected"))
                complain_of("another output");
            if (unfinished())
                complain_of("half a file is left");
            if (table && !disk_same("a.csv", status ? "old.csv" : "new.csv"))
                complain_of("neither old nor new");
            if (!disk_same(MODEL_NAME, "base.m"))
                complain_of("the model changed");
        }
    snprintf(what, sizeof what, "%s: memory (%ld), disk (%ld), full disk, short "
             "reads%%.0ld", name, places[MEMORY], places[DISK]);
    hold(what, 0);
}

int main(void) {
    root_time = 1; // the same step takes the same time in any run
    static const char pairs[] = "a b\tc d\na\tc\nb \"a\"\td, c\n";
    disk_write("pairs.tsv", pairs, sizeof pairs - 1);
    if (run(TRAIN " --steps 2") != 0)
        CLAIM(false, "a training without a fault: %s", last_line());
    disk_copy(MODEL_NAME, "base.m");
    disk_copy("l.csv", "base.l");
    disk_remove(MODEL_NAME);
    disk_remove("l.csv");
    run(TRAIN " --steps 5");
    disk_copy(MODEL_NAME, "whole.m");
    disk_copy("l.csv", "whole.l");
    begin();
    status = run(AGAIN);
    memcpy(places, requested, sizeof places);
    CLAIM(status == 0 && disk_same(MODEL_NAME, "whole.m"), "a training: %ld "
          "requests for memory, %ld to disk", places[MEMORY], places[DISK]);
    test_training();
    begin();
    fault.number = 0;
    run("attention " MODEL_NAME " a --csv old.csv");
    use_through("info", "info " MODEL_NAME, "");
    use_through("evaluate", "evaluate " MODEL_NAME " pairs.tsv", "");
    use_through("attention",
                "attention " MODEL_NAME " b --target d --csv a.csv", "");
    use_through("translate", "translate " MODEL_NAME, "a b\n\nb\n");
    return claims_end();
}
