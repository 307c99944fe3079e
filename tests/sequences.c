// One run is one file: sequences of commands on one or two model files, and
// what must then be in which file. And the figures that a run tells.
//
// A small model of the specification says what each command does to the file;
// machine.h makes it end at the moment that is wanted. The sequences are made by
// crossing the choices: what is there before, how a run begins, how it ends, and
// what follows.
//
// Which file is right? A run is a function of its seed, its data and the number
// of steps, whatever it is measured on. So the parameters of step n are those of
// a run of n steps without validation data, and how good they are is what
// `evaluate` says of them. The rest follows: the file, byte for byte, from the
// seed, the data, the steps asked for, the newest step, the step to use, and the
// data it was measured on. The first file of each such state is read; the others
// are compared with it. Uninterrupted runs come first.

#include "machine.h"

#define OPTIONS_OF_ALL " --layers 1 --d-model 8 --heads 2 --d-ff 4 --max-len 4 " \
    "--batch 6 --warmup 1 --lr 0.1 --threads 1 "

// ## What is in a model file
//
// This reads the format by itself, so that a mistake which transformer.c makes
// both when it writes and when it reads is seen. Sums stand for the numbers: of
// each tensor's name, shape and bytes.

enum { PREFIXES = 4, MOST = 300 };
const char *const prefix[PREFIXES] = {"", "adam.m.", "adam.v.", "newest."};

typedef struct {
    char seed[24], steps[24], step[24], best[24], accuracy[24], word;
    uint64_t sum[PREFIXES], names[PREFIXES], checksum;
    const char *wrong; // NULL: the file is whole
} Contents;

#define FIRST_HASH 14695981039346656037u

// FNV-1a
uint64_t mix(uint64_t hash, const void *from, size_t length) {
    const unsigned char *byte = from;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ byte[i]) * 1099511628211u;
    return hash;
}

// The value of a key of the metadata, "-" if there is none.
void find_key(const Node *n, const char *key, char to[24]) {
    char quoted[50];
    sprintf(quoted, "\"%s\":\"", key);
    const char *place = strstr(n->bytes + 8, quoted);
    strcpy(to, "-");
    if (place && (place += strlen(quoted)))
        sprintf(to, "%.*s", (int)strcspn(place, "\"") % 24, place);
}

// Each entry of the header, and that the numbers are where it says, one behind
// the other, none twice.
const char *read_tensors(Contents *c, const Node *n, size_t numbers) {
    const char *place = strstr(n->bytes + 8, "\"},\"");
    char name[100], shape[50], seen[MOST][100];
    size_t end = 0, begin, next;
    int length, count = 0;
    for (place = place ? place + 3 : ""; *place == '"';
         place += length + (place[length] == ',')) {
        length = 0;
        if (sscanf(place, "\"%99[^\"]\":{\"dtype\":\"F32\",\"shape\":[%49[^]]],"
                   "\"data_offsets\":[%zu,%zu]}%n", name, shape, &begin, &next,
                   &length) != 4 || !length || count == MOST)
            return "an entry cannot be read";
        if (begin != end || next > n->size - numbers)
            return "a tensor is not in its place";
        for (int i = 0; i < count; i++)
            if (!strcmp(seen[i], name))
                return "a tensor is there twice";
        strcpy(seen[count++], name);
        int role = PREFIXES - 1;
        while (strncmp(name, prefix[role], strlen(prefix[role])))
            role--;
        const char *bare = name + strlen(prefix[role]);
        uint64_t hash = mix(FIRST_HASH, bare, strlen(bare));
        c->names[role] += hash;
        hash = mix(hash, shape, strlen(shape));
        c->sum[role] += mix(hash, n->bytes + numbers + begin, next - begin);
        if (role == 0)
            c->checksum = mix(c->checksum, n->bytes + numbers + begin,
                              next - begin);
        end = next;
    }
    if (end != n->size - numbers || !count)
        return "its numbers do not end where its tensors do";
    if (c->names[1] != c->names[2] || (c->names[1] && c->names[1] != c->names[0])
        || (c->names[3] && c->names[3] != c->names[0]))
        return "some tensors are missing";
    return NULL;
}

Contents read_contents(const char *name) {
    Contents c = {.wrong = "it is not there", .checksum = FIRST_HASH};
    const Node *n = find_node(name);
    size_t numbers = 0;
    for (int i = 8; n && n->size > 8 && i-- > 0;)
        numbers = numbers * 256 + (unsigned char)n->bytes[i];
    if (!n || n->size < 8 || (numbers += 8) > n->size)
        return c;
    c.wrong = read_tensors(&c, n, numbers);
    find_key(n, "seed", c.seed);
    find_key(n, "steps", c.steps);
    find_key(n, "step", c.step);
    find_key(n, "best_step", c.best);
    find_key(n, "best_accuracy", c.accuracy);
    char again[24];
    sprintf(again, "%.17g", strtod(c.accuracy, NULL));
    if (*c.accuracy != '-' && strcmp(again, c.accuracy))
        c.wrong = "its accuracy is not written with 17 digits";
    if (*c.accuracy != '-')
        sprintf(c.accuracy, "%.2f", 100 * strtod(again, NULL));
    const char *word = strstr(n->bytes + 8, "<unknown>\\n");
    c.word = word ? word[11] : '-';
    return c;
}

// ## Runs without interruption

// The numbers of a run of so many steps, and how good they are on data v and w.
typedef struct {
    int seed, step;
    char data, name[24]; // of the file
    uint64_t parameters, moments;
    double accuracy[2];  // percent; -1: not yet known
} Alone;

Alone alone[200];
int runs_alone;

double share_of(const char *model, char valid) {
    char command[100];
    sprintf(command, "evaluate %s %c.tsv --threads 1", model, valid);
    run(command);
    const char *line = strstr(written(), "token_accuracy ");
    return line ? strtod(line + 15, NULL) : -2;
}

void train_alone(const Alone *a, const char *model) {
    char command[300];
    sprintf(command, "train %c.tsv" OPTIONS_OF_ALL "--seed %d --steps %d --model "
            "%s", a->data, a->seed, a->step, model);
    run(command);
}

Alone *numbers_of(int seed, char data, int step) {
    for (int i = 0; i < runs_alone; i++)
        if (alone[i].seed == seed && alone[i].data == data
            && alone[i].step == step)
            return &alone[i];
    Alone *a = &alone[runs_alone++];
    *a = (Alone){seed, step, data, .accuracy = {-1, -1}};
    disk_remove("alone");
    train_alone(a, "alone");
    Contents c = read_contents("alone");
    a->parameters = c.sum[0];
    a->moments = mix(c.sum[1], &c.sum[2], 8);
    for (int i = 0; i < 2; i++)
        a->accuracy[i] = share_of("alone", (char)('v' + i));
    return a;
}

// In percent; two digits behind the point tell any two shares apart here.
double accuracy_of(int seed, char data, int step, char valid) {
    return numbers_of(seed, data, step)->accuracy[valid - 'v'];
}

// ## The specification

// What a model file holds. `best` is the step to use and `on` what it was measured
// on, 0 and '-' if the run has never been measured.
typedef struct {
    bool there;
    int seed, steps, step, best;
    char data, on;
} State;

// How a run ends: by itself, for lack of memory in its first step, killed in the
// nth save, or by a signal after its nth step.
typedef struct {
    const char *kind; // "end", "memory", "kill", "int", "term", "hup"
    int number;
} End;

const End at_end = {"end", 0};
State file_m, file_n; // what the files m and n should hold
int expected;         // the status
char story[2000], complaint[3000];
int ties, files, behind, whole, known;
State known_state[200], uninterrupted[27];
int uninterrupted_runs;

bool ends(End e, const char *kind) {
    return !strcmp(e.kind, kind);
}

bool same_state(const State *a, const State *b) {
    return a->there == b->there && a->seed == b->seed && a->steps == b->steps
        && a->step == b->step && a->best == b->best && a->data == b->data
        && a->on == b->on;
}

// A look at the newest step; of two equal ones the newer is kept.
void look_at(State *s, char valid) {
    double found = accuracy_of(s->seed, s->data, s->step, valid);
    double record = s->best ? accuracy_of(s->seed, s->data, s->best, s->on) : -1;
    ties += found == record;
    if (found >= record) {
        s->best = s->step;
        s->on = valid;
    }
}

// Goes on from a state up to its steps, or up to where the run is meant to end;
// `file` is what is saved then.
void go_on(State s, State *file, char valid, End end) {
    int every = s.steps < 20 ? 1 : s.steps / 20, first = s.step, saves = 0;
    int signal_status = ends(end, "int") ? 130 : ends(end, "term") ? 143
                      : ends(end, "hup") ? 129 : 0;
    expected = ends(end, "end") ? 0 : 99; // 99: the moment does not come
    if (ends(end, "memory")) {
        expected = 1;
        return;
    }
    while (s.step < s.steps) {
        s.step++;
        bool look = s.step % every == 0;
        if (look && valid != '-')
            look_at(&s, valid);
        if (look || s.step == first + 1) {
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

void expect_number(const char *what, double wanted, double got) {
    char a[32], b[32];
    sprintf(a, "%.2f", wanted);
    sprintf(b, "%.2f", got);
    should_be(what, a, b);
}

void describe_state(const State *s, char to[300]) {
    const Alone *newest = numbers_of(s->seed, s->data, s->step);
    const Alone *used = s->best ? numbers_of(s->seed, s->data, s->best) : newest;
    char best[24] = "-", share[24] = "-", fresh[24] = "-";
    if (s->best) {
        sprintf(best, "%d", s->best);
        sprintf(share, "%.2f", accuracy_of(s->seed, s->data, s->best, s->on));
    }
    if (used != newest)
        sprintf(fresh, "%016" PRIx64, newest->parameters);
    sprintf(to, "seed %d steps %d step %d best %s accuracy %s word %c parameters "
            "%016" PRIx64 " newest %s moments %016" PRIx64, s->seed, s->steps,
            s->step, best, share, s->data, used->parameters, fresh,
            newest->moments);
}

void describe_contents(const Contents *c, char to[300]) {
    char fresh[24] = "-";
    if (c->names[3])
        sprintf(fresh, "%016" PRIx64, c->sum[3]);
    sprintf(to, "%s%s", c->wrong ? c->wrong : "", c->wrong ? ": " : "");
    sprintf(to + strlen(to), "seed %s steps %s step %s best %s accuracy %s word "
            "%c parameters %016" PRIx64 " newest %s moments %016" PRIx64,
            c->seed, c->steps, c->step, c->best, c->accuracy, c->word, c->sum[0],
            fresh, mix(c->sum[1], &c->sum[2], 8));
}

// What a file in this state must hold, when it is the first.
void read_state(const char *name, const State *s) {
    char wanted[300], got[300], command[50];
    Contents c = read_contents(name);
    describe_state(s, wanted);
    describe_contents(&c, got);
    should_be("the file", wanted, got);
    files++;
    behind += s->best && s->best != s->step;
    if (s->best)
        expect_number("what evaluate says of it",
                      accuracy_of(s->seed, s->data, s->best, s->on),
                      share_of(name, s->on));
    sprintf(command, "info %s", name);
    run(command);
    sprintf(wanted, "\nsteps trained %d\nchecksum %016" PRIx64 "\n", s->step,
            c.checksum);
    if (s->best)
        sprintf(wanted + strlen(wanted), "best step %d\nbest accuracy %.2f\n",
                s->best, accuracy_of(s->seed, s->data, s->best, s->on));
    should_be("info", "as it is", strstr(written(), wanted) && (s->best
           || !strstr(written(), "\nbest")) ? "as it is" : written());
}

// The file is what its state says.
void check_file(const char *name, const State *s) {
    char copy[24];
    if (!s->there)
        return;
    for (int i = 0; i < known; i++)
        if (same_state(&known_state[i], s)) {
            sprintf(copy, "known %d", i);
            if (!disk_same(name, copy)) {
                char got[300], wanted[300];
                Contents c = read_contents(name);
                describe_contents(&c, got);
                describe_state(s, wanted);
                strcat(wanted, ", the same bytes");
                should_be(name, wanted, got);
            }
            return;
        }
    size_t before = strlen(complaint);
    read_state(name, s);
    if (strlen(complaint) == before) {
        sprintf(copy, "known %d", known);
        known_state[known++] = *s;
        disk_copy(name, copy);
    }
}

void check_files(void) {
    should_be("the files there", file_m.there ? "m" : "",
           find_node("m") ? "m" : "");
    should_be("the files there", file_n.there ? "n" : "",
           find_node("n") ? "n" : "");
    check_file("m", &file_m);
    check_file("n", &file_n);
}

// Runs the program up to its end, and looks at what it leaves.
void carry_out(const char *command, char data, const char *file, char valid,
               End end) {
    char all[500], wanted[32], got[1100];
    sprintf(all, "train %c.tsv %s --model %s --log %s.csv --threads 1", data,
            command, file, file);
    if (valid != '-')
        sprintf(all + strlen(all), " --valid %c.tsv", valid);
    fault = (Fault){ends(end, "memory") ? FIRST_STEP : ends(end, "kill") ? SAVES
                    : LOG_ROWS, end.number, end.kind};
    if (ends(end, "memory"))
        fault = (Fault){FIRST_STEP, 1, "fail"};
    int status = run(all);
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

void tell(const char *what, char valid, End end) {
    size_t length = strlen(story);
    snprintf(story + length, sizeof story - length, "%s%s", length ? "; " : "",
             what);
    if (valid != '-')
        sprintf(story + strlen(story), " --valid %c.tsv", valid);
    if (!ends(end, "end"))
        sprintf(story + strlen(story), " (%s %d)", end.kind, end.number);
}

// A new run, in the file m or n.
void begin(const char *name, int seed, char data, char valid, int steps,
           End end) {
    State *file = *name == 'm' ? &file_m : &file_n;
    char text[300];
    sprintf(text, "train %c.tsv --model %s --seed %d --steps %d", data, name,
            seed, steps);
    tell(text, valid, end);
    go_on((State){true, seed, steps, 0, 0, data, '-'}, file, valid, end);
    sprintf(text, OPTIONS_OF_ALL "--seed %d --steps %d", seed, steps);
    carry_out(text, data, name, valid, end);
}

// --resume; the steps that the model knows, if they are 0
void resume(const char *name, char valid, int steps, End end) {
    State *file = *name == 'm' ? &file_m : &file_n, former = *file, s = *file;
    char text[300];
    sprintf(text, "--resume");
    if (steps)
        sprintf(text + strlen(text), " --steps %d", steps);
    tell(text, valid, end);
    if (!s.there) {
        expected = 1;
        s.data = 'x';
    } else {
        s.steps = steps ? steps : s.steps;
        if (s.best && valid == '-')
            expected = 2;
        else if (s.step >= s.steps)
            expected = ends(end, "end") ? 0 : 99;
        else
            go_on(s, file, valid, end);
    }
    carry_out(text, s.data, name, valid, end);
    for (int i = 0; i < uninterrupted_runs; i++)
        whole += same_state(file, &uninterrupted[i])
              && !same_state(file, &former);
}

// A disk with m in this state, or without.
void after(const State *s) {
    disk_remove("m");
    disk_remove("n");
    disk_remove("m.csv");
    disk_remove("n.csv");
    file_m = *s;
    file_n = (State){0};
    *story = *complaint = '\0';
    if (!s->there)
        return;
    for (int i = 0; i < known; i++)
        if (same_state(&known_state[i], s)) {
            char copy[24];
            sprintf(copy, "known %d", i);
            disk_copy(copy, "m");
        }
    sprintf(story, "after step %d of %d, seed %d, %c.tsv", s->step, s->steps,
            s->seed, s->data);
    if (s->best)
        sprintf(story + strlen(story), ", best %d on %c.tsv", s->best, s->on);
}

// The claim of one sequence.
void told(void) {
    CLAIM(!*complaint, "%s%s", story, complaint);
    *complaint = *story = '\0';
}

// ## The table

const char measured[] = "-vw";

void test_uninterrupted(void) {
    const int total[] = {10, 40, 80};
    for (int k = 0; k < 3; k++)
        for (int v = 0; v < 3; v++)
            for (int t = 0; t < 3; t++) {
                after(&(State){0});
                begin("m", k + 1, k < 2 ? 'x' : 'y', measured[v], total[t],
                      at_end);
                told();
                uninterrupted[uninterrupted_runs++] = file_m;
            }
}

// What is there before × how a run begins × how it ends. What this leaves is
// written to `left`.
int test_beginnings(State *left) {
    const End how[] = {at_end, {"int", 1}, {"term", 5}, {"kill", 1}, {"kill", 3},
                       {"memory", 1}};
    int count = 0;
    for (int before = 0; before < 4; before++)
        for (int v = 0; v < 3; v++)
            for (int h = 0; h < 6; h++) {
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
    for (int v = 0; v < 3; v++) {
        for (int total = 0; total <= 80; total += 80) {
            after(was);
            resume("m", measured[v], total, at_end);
            told();
        }
        after(was);
        resume("m", measured[v], 80, interrupted);
        resume("m", measured[v], 0, at_end);
        told();
    }
}

// … until it is stopped again, or killed, or there is no memory; or a second run
// begins in the same file, or in another one.
void test_following(const State *was) {
    const End again[] = {{"hup", 7}, {"kill", 1}, {"kill", 2}, {"memory", 1}};
    const End same[] = {at_end, {"int", 1}, {"kill", 2}};
    const End other[] = {{"term", 5}, {"memory", 1}};
    for (int v = 0; v < 2; v++) {
        char by = measured[v];
        for (int h = 0; h < 4; h++) {
            after(was);
            resume("m", by, 80, again[h]);
            resume("m", by, 0, at_end);
            told();
        }
        for (int h = 0; h < 3; h++) {
            after(was);
            begin("m", 2, 'x', by, 40, same[h]);
            resume("m", by, 80, at_end);
            told();
        }
        for (int h = 0; h < 2; h++) {
            after(was);
            begin("n", 2, 'x', by, 40, other[h]);
            resume("m", 'v', 80, at_end);
            resume("n", by, 0, at_end);
            told();
        }
    }
}

// ## A model and the newest state

// All that the commands make of it.
void uses(const char *model, char *to, size_t size) {
    char command[100];
    sprintf(command, "translate %s --scores --beam 2 --threads 1", model);
    run_with(command, "x0 x1\nx3\nx5\n");
    snprintf(to, size, "%s", written());
    sprintf(command, "evaluate %s w.tsv --threads 1", model);
    run(command);
    snprintf(to + strlen(to), size - strlen(to), "%s", written());
    sprintf(command, "attention %s x3 --threads 1 --csv csv", model);
    run(command);
    snprintf(to + strlen(to), size - strlen(to), "%s%s", written(),
             find_node("csv")->bytes);
}

// Whoever uses a file with two states has the one that is kept, as if the run
// had ended there.
void test_uses(void) {
    static char got[20000], kept[20000], newest[20000];
    int seen = 0;
    for (int i = 0; i < known; i++) {
        const State *s = &known_state[i];
        if (s->seed != 1 || s->steps != 40 || !s->best || s->best == s->step)
            continue;
        char name[24];
        sprintf(name, "known %d", i);
        disk_copy(name, "used");
        disk_remove("best");
        disk_remove("last");
        train_alone(numbers_of(1, 'x', s->best), "best");
        train_alone(numbers_of(1, 'x', s->step), "last");
        uses("used", got, sizeof got);
        uses("best", kept, sizeof kept);
        uses("last", newest, sizeof newest);
        should_be(name, kept, got);
        seen += strcmp(kept, newest) != 0;
    }
    CLAIM(!*complaint && seen >= 2, "translate, evaluate and attention use the "
          "parameters that are kept, in %d files%s", seen, complaint);
}

// ## Other files

// Files of earlier editions. The second kept the newest state in a file of its
// own, whose name had a .last in it; it had trained for 40 steps, the first for
// 600.
void test_editions(void) {
    const char *const path[] = {"tests/golden/first-edition.safetensors",
                                "tests/golden/second-edition.last.safetensors"};
    for (int i = 0; i < 4; i++) {
        int step = i / 2 ? 40 : 600;
        char command[100];
        disk_load(path[i / 2], "m");
        sprintf(command, "train x.tsv --resume --steps %d --threads 1 --model m%s",
                step + 2, i % 2 ? " --valid v.tsv" : "");
        int status = run(command);
        Contents c = read_contents("m");
        double share = i % 2 ? share_of("m", 'v') : 0;
        CLAIM(status == 0 && !c.wrong && atoi(c.step) == step + 2
              && (i % 2 ? strtod(c.accuracy, NULL) == share
                  && atoi(c.best) > step : *c.best == '-'),
              "a file of the %s edition goes on, measured on %s",
              i / 2 ? "second" : "first", i % 2 ? "v" : "nothing");
    }
    after(&(State){0});
    disk_copy("x.tsv", "m");
    int status = run("train y.tsv" OPTIONS_OF_ALL "--steps 10 --model m");
    CLAIM(status == 1 && disk_same("x.tsv", "m"),
          "a text is no model: it is refused, and left alone");
    disk_write("m", "", 0);
    status = run("train x.tsv" OPTIONS_OF_ALL "--steps 10 --seed 1 --model m");
    check_file("m", &(State){true, 1, 10, 10, 0, 'x', '-'});
    CLAIM(status == 0 && !*complaint,
          "an empty file is nothing that could be lost%s", complaint);
}

// ## Figures

// Batches of all pairs, so that each step takes the same time.
#define ALIKE "train z.tsv --layers 1 --d-model 16 --max-len 20 --batch 99 " \
              "--threads 1 --model z --log z.csv "

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
    enum { STEPS = 40, LONG = 20 };
    char text[4000] = "";
    int tokens = 0, right = 0, left = 0;
    for (int i = 0; i < 24; i++) { // most of the places are padding
        int words = i % 4 ? 1 : LONG;
        sprintf(text + strlen(text), "a\t");
        for (int k = 0; k < words; k++)
            sprintf(text + strlen(text), "%sb", k ? " " : "");
        strcat(text, "\n");
        tokens += words + 1;
    }
    disk_write("z.tsv", text, strlen(text));
    root_time = 0; // the kth step takes 2k - 1 times as long as the first
    run(ALIKE "--steps 40");
    double first = speed_of(1);
    for (int k = 1; k <= STEPS; k++)
        right += fabs(speed_of(k) * (2 * k - 1) / first - 1) < 0.05;
    CLAIM(right == STEPS, "tokens a second are those of the step, not of the run: "
          "%d of %d", right, STEPS);
    root_time = 1;
    run(ALIKE "--steps 40");
    double each = roots / STEPS;
    root_time = 0.001 / each; // a thousandth of a second for each step
    run(ALIKE "--steps 40");
    for (right = 0; right < STEPS; right++)
        if (fabs(speed_of(right + 1) * 0.001 / tokens - 1) > 0.1)
            break;
    CLAIM(right == STEPS, "and of the target, without padding: %d of %d", right,
          STEPS);
    root_time = 60 / each; // a minute for each step
    run(ALIKE "--resume --steps 80");
    int minutes, step;
    for (const char *c = said(); (c = strstr(c, "\nstep ")) != NULL; c++)
        if (sscanf(c, "\nstep %d/80", &step) == 1
            && sscanf(strstr(c, "norm"), "norm %*f %d:", &minutes) == 1)
            left += abs(minutes - (80 - step)) <= 1 + (80 - step) / 20;
    CLAIM(left == 10, "the time left is that of the steps that are left, also "
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
    write_pairs("v.tsv", 'x', 1, 12, 1); // to measure on: some are never learned
    write_pairs("w.tsv", 'x', 2, 10, 0); // and these are
    test_uninterrupted();
    int count = test_beginnings(left);
    for (int i = 0; i < count; i++) {
        test_going_on(&left[i]);
        test_following(&left[i]);
    }
    CLAIM(behind > 9 && ties > 9 && whole > 9, "%d states, %d of them with two "
          "sets of parameters; %d times the newer of two equally good ones was "
          "kept; %d resumed runs ended in the bytes of one that was not "
          "interrupted", files, behind, ties, whole);
    test_uses();
    test_editions();
    test_figures();
    return claims_end();
}
