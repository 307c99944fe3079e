// One run is one file: sequences of commands on one or two model files, and
// what must then be in which file. And the figures that a run reports.
//
// A small model of the specification says what each command does to the file;
// machine.h makes it end at the moment that is wanted. The sequences are made by
// crossing the choices: what is there before, how a run begins, how it ends, and
// what follows.
//
// Which file is right? A run is a function of its seed, its data and the number
// of steps, whatever it is measured on. So the parameters of step n are those of
// a run of n steps without validation data, and the file follows, byte for byte,
// from the seed, the data, the steps asked for and the steps done. (15-saving.c
// reads the format without the program's reader.)

#include "../lib/machine.h"

#define OPTIONS_OF_ALL " --layers 1 --d-model 8 --heads 2 --d-ff 4 --max-len 4 " \
    "--batch 6 --warmup 1 --lr 0.1 --threads 1 "

// ## Runs without interruption

// A run that was never interrupted, of `step` steps.
typedef struct {
    int seed, step;
    char data;
    Checkpoint run;
} Alone;

Alone alone[200];
int runs_alone;

Alone *numbers_of(int seed, char data, int step) {
    for (int i = 0; i < runs_alone; i++)
        if (alone[i].seed == seed && alone[i].data == data
            && alone[i].step == step)
            return &alone[i];
    Alone *a = &alone[runs_alone++];
    *a = (Alone){.seed = seed, .step = step, .data = data};
    disk_remove("alone.safetensors");
    run("train %c.tsv" OPTIONS_OF_ALL "--seed %d --steps %d --model "
        "alone.safetensors", data, seed, step);
    a->run = load_checkpoint("alone.safetensors", true);
    return a;
}

// ## The specification

// What a model file holds.
typedef struct {
    bool there;
    int seed, steps, step;
    char data;
} State;

// How a run ends: by itself, killed in the nth save, or by a signal after its
// nth step. (failing.c has runs that end for lack of memory.)
typedef struct {
    const char *kind; // "end", "kill", "int", "term", "hup"
    int number;
} End;

const End at_end = {"end", 0};
State file_m, file_n; // what the files m and n (.safetensors) should hold
int expected;         // the status
char story[2000], complaint[3000];
int files, whole;
State uninterrupted[27];
int uninterrupted_runs;

bool ends(End e, const char *kind) {
    return !strcmp(e.kind, kind);
}

bool same_state(const State *a, const State *b) {
    return a->there == b->there && a->seed == b->seed && a->steps == b->steps
        && a->step == b->step && a->data == b->data;
}

// Goes on from a state up to its steps, or up to where the run is meant to end;
// `file` is what is saved then.
void go_on(State s, State *file, End end) {
    int every = s.steps < 20 ? 1 : s.steps / 20, first = s.step, saves = 0;
    int signal_status = ends(end, "int") ? 130 : ends(end, "term") ? 143
                      : ends(end, "hup") ? 129 : 0;
    expected = ends(end, "end") ? 0 : 99; // 99: the moment does not come
    while (s.step < s.steps) {
        s.step++;
        if (s.step % every == 0 || s.step == first + 1) {
            if (ends(end, "kill") && ++saves == end.number) {
                expected = 137;
                return;
            }
            *file = s;
        }
        if (signal_status && s.step == first + end.number) {
            expected = signal_status;
            *file = s;
            return;
        }
    }
}

// ## Checks

void should_be(const char *what, const char *wanted, const char *got) {
    size_t length = strlen(complaint);
    if (strcmp(wanted, got))
        snprintf(complaint + length, sizeof complaint - length,
                 "\n       %s\n       expected: %.300s\n       got:      %.300s",
                 what, wanted, got);
}

// Writes the file that a state is: that of an uninterrupted run, but for the
// steps that were asked for.
void write_right(const State *s, const char *name) {
    Checkpoint c = numbers_of(s->seed, s->data, s->step)->run;
    char steps[16];
    sprintf(steps, "%d", s->steps);
    c.settings.text[option_place("steps", 5)] = steps;
    save_checkpoint(&c, name);
}

// The file is what its state says.
void check_file(const char *name, const State *s) {
    if (!s->there)
        return;
    files++;
    write_right(s, "right.safetensors");
    should_be(name, "as it is", disk_same(name, "right.safetensors")
                                ? "as it is" : "other bytes");
}

void check_files(void) {
    should_be("the files there", file_m.there ? "m" : "",
           find_node("m.safetensors") ? "m" : "");
    should_be("the files there", file_n.there ? "n" : "",
           find_node("n.safetensors") ? "n" : "");
    check_file("m.safetensors", &file_m);
    check_file("n.safetensors", &file_n);
}

// Runs the program up to its end, and checks what it leaves. The story leaves
// out some options.
void carry_out(const char *command, const char *others, char data,
               const char *file, char valid, End end) {
    char all[300] = "", wanted[32], got[1100];
    size_t told_so_far = strlen(story);
    sprintf(all, "train %c.tsv %s --model %s.safetensors", data, command, file);
    if (valid != '-')
        sprintf(all + strlen(all), " --valid %c.tsv", valid);
    snprintf(story + told_so_far, sizeof story - told_so_far, "%s%s (%s %d)",
             told_so_far ? "; " : "", all, end.kind, end.number);
    fault = (Fault){ends(end, "kill") ? SAVES : LOG_ROWS, end.number, end.kind};
    int status = run("%s --log %s.csv --threads 1 %s", all, file, others);
    if (status == 0 && !ends(end, "end") && !has_come)
        status = 99;
    fault = (Fault){0};
    sprintf(wanted, "%d", expected);
    snprintf(got, sizeof got, "%d", status);
    if (status != expected)
        snprintf(got, sizeof got, "%d %.1000s", status, last_line());
    should_be("the status", wanted, got);
    for (int i = 0; i < NODES; i++)
        if (strstr(node[i].name, ".new")) {
            should_be("only a killed run leaves something", "137", wanted);
            *node[i].name = '\0';
        }
    check_files();
}

// A new run, in the file m or n.
void begin(const char *name, int seed, char data, char valid, int steps,
           End end) {
    State *file = *name == 'm' ? &file_m : &file_n;
    char text[50];
    go_on((State){true, seed, steps, 0, data}, file, end);
    sprintf(text, "--seed %d --steps %d", seed, steps);
    carry_out(text, OPTIONS_OF_ALL, data, name, valid, end);
}

// --resume; with the steps that the model was given, if `steps` is 0
void resume(const char *name, char valid, int steps, End end) {
    State *file = *name == 'm' ? &file_m : &file_n, former = *file, s = *file;
    char text[50] = "--resume";
    if (steps)
        sprintf(text, "--resume --steps %d", steps);
    if (!s.there) {
        expected = 1;
        s.data = 'x';
    } else {
        s.steps = steps ? steps : s.steps;
        if (s.step >= s.steps)
            expected = ends(end, "end") ? 0 : 99;
        else
            go_on(s, file, end);
    }
    carry_out(text, "", s.data, name, valid, end);
    for (int i = 0; i < uninterrupted_runs; i++)
        whole += same_state(file, &uninterrupted[i])
              && !same_state(file, &former);
}

// A disk with m in this state, or without.
void after(const State *s) {
    disk_remove("m.safetensors");
    disk_remove("n.safetensors");
    disk_remove("m.csv");
    disk_remove("n.csv");
    file_m = *s;
    file_n = (State){0};
    *story = *complaint = '\0';
    if (!s->there)
        return;
    write_right(s, "m.safetensors");
    sprintf(story, "after step %d of %d, seed %d, %c.tsv", s->step, s->steps,
            s->seed, s->data);
}

// Makes the claim of one sequence.
void told(void) {
    CLAIM(!*complaint, "%s%s", story, complaint);
    *complaint = *story = '\0';
}

// ## The table

const char measured[] = "-v";

void test_uninterrupted(void) {
    const int total[] = {10, 40, 60};
    for (int k = 0; k < 3; k++)
        for (int v = 0; v < 2; v++)
            for (int t = 0; t < 3; t++) {
                after(&(State){0});
                begin("m", k + 1, k < 2 ? 'x' : 'y', measured[v], total[t],
                      at_end);
                told();
                uninterrupted[uninterrupted_runs++] = file_m;
            }
}

// What is there before × how a run begins × how it ends. The states that this
// leaves are written to `left`; returns how many.
int test_beginnings(State *left) {
    const End how[] = {at_end, {"int", 1}, {"term", 5}, {"kill", 1},
                       {"kill", 4}};
    int count = 0;
    for (int before = 0; before < 4; before++)
        for (int v = 0; v < 2; v++)
            for (int h = 0; h < 5; h++) {
                after(&(State){0});
                if (before)
                    begin("m", before < 3 ? 2 : 3, before < 3 ? 'x' : 'y',
                          before == 1 ? '-' : 'v', 10, at_end);
                begin("m", 1, 'x', measured[v], 40, how[h]);
                told();
                int i = 0;
                while (i < count && !same_state(&left[i], &file_m))
                    i++;
                left[count += i == count] = file_m;
                left[i] = file_m;
            }
    return count;
}

// What may follow in such a state: it goes on, with other data to measure on,
// with more steps …
void test_going_on(const State *was) {
    const End interrupted = {"int", 1};
    for (int v = 0; v < 2; v++) {
        for (int total = 0; total <= 60; total += 60) {
            after(was);
            resume("m", measured[v], total, at_end);
            told();
        }
        after(was);
        resume("m", measured[v], 60, interrupted);
        resume("m", measured[v], 0, at_end);
        told();
    }
}

// … until it is stopped again, or killed; or a second run begins in the same
// file, or in another one.
void test_following(const State *was) {
    const End again[] = {{"hup", 7}, {"kill", 1}, {"kill", 2}};
    const End same[] = {at_end, {"int", 1}, {"kill", 2}};
    for (int v = 0; v < 2; v++) {
        char by = measured[v];
        for (int h = 0; h < 3; h++) {
            after(was);
            resume("m", by, 60, again[h]);
            resume("m", by, 0, at_end);
            told();
            after(was);
            begin("m", 2, 'x', by, 40, same[h]);
            resume("m", by, 60, at_end);
            told();
        }
        after(was);
        begin("n", 2, 'x', by, 40, (End){"term", 5});
        resume("m", 'v', 60, at_end);
        resume("n", by, 0, at_end);
        told();
    }
}

// ## Figures

// Batches of all pairs, so that each step takes the same time.
#define ALIKE "train z.tsv --threads 1 --model z.safetensors --log z.csv "
#define SIZE "--layers 1 --d-model 16 --max-len 20 --batch 99 "

// The speed in a row of the log.
double speed_of(int step) {
    const char *row = find_node("z.csv")->bytes;
    for (int i = 0; i < step; i++)
        row = strchr(row, '\n') + 1;
    for (int i = 0; i < 6; i++)
        row = strchr(row, ',') + 1;
    return strtod(row, NULL);
}

void test_figures(void) {
    enum { STEPS = 40, TOKENS = 6 * (21 + 3 * 2) };
    char text[1000] = "";
    int right = 0, left = 0;
    for (int i = 0; i < 6; i++) // most of the places are padding
        strcat(text, "a\tb b b b b b b b b b b b b b b b b b b b\n"
                     "a\tb\na\tb\na\tb\n");
    disk_write("z.tsv", text, strlen(text));
    root_time = 0; // the kth step takes 2k - 1 times as long as the first
    run(ALIKE SIZE "--steps 40");
    double first = speed_of(1);
    for (int k = 1; k <= STEPS; k++)
        right += fabs(speed_of(k) * (2 * k - 1) / first - 1) < 0.05;
    CLAIM(right == STEPS, "tokens a second are those of the step, not of the run: "
          "%d of %d", right, STEPS);
    root_time = 1;
    run(ALIKE SIZE "--steps 40");
    double each = roots / STEPS;
    root_time = 0.001 / each; // a thousandth of a second for each step
    run(ALIKE SIZE "--steps 40");
    for (right = 0; right < STEPS; right++)
        if (fabs(speed_of(right + 1) * 0.001 / TOKENS - 1) > 0.1)
            break;
    CLAIM(right == STEPS, "and of the target without padding: %d of %d", right,
          STEPS);
    root_time = 60 / each; // a minute for each step
    run(ALIKE "--resume --steps 80");
    int minutes, step;
    for (const char *c = said(); (c = strstr(c, "\nstep ")) != NULL; c++)
        if (sscanf(c, "\nstep %d/80", &step) == 1
            && sscanf(strstr(c, "norm"), "norm %*f %d:", &minutes) == 1)
            left += abs(minutes - (80 - step)) <= 1 + (80 - step) / 20;
    CLAIM(left == 10, "the time left is that of the steps that are left, even "
          "when a run is resumed: in %d of 10 lines", left);
    root_time = 0;
}

// ## Data

// Pairs of one or two words; a turn of 1 makes some wrong.
void write_pairs(const char *name, char word, int first, int count, int turn) {
    char text[1000] = "";
    for (int k = first; k < first + count; k++) {
        int i = k % 6, to = k % 4 == 3 ? (i + turn) % 6 : i;
        if (k % 3)
            sprintf(text + strlen(text), "%c%d\tt%d\n", word, i, to);
        else
            sprintf(text + strlen(text), "%c%d %c%d\tt%d t%d\n", word, i, word,
                    k % 2, to, (k + turn) % 2);
    }
    disk_write(name, text, strlen(text));
}

int main(void) {
    static State left[80];
    write_pairs("x.tsv", 'x', 0, 24, 0); // to train on
    write_pairs("y.tsv", 'y', 3, 24, 0);
    write_pairs("v.tsv", 'x', 1, 12, 1); // to measure on
    test_uninterrupted();
    int count = test_beginnings(left);
    for (int i = 0; i < count; i++) {
        test_going_on(&left[i]);
        test_following(&left[i]);
    }
    CLAIM(whole > 9, "%d files; %d resumed runs ended in the bytes of one that "
          "was not interrupted", files, whole);
    test_figures();
    return claims_end();
}
