// Chapter 15, apart from the command line, which cli-use.c and cli-train.c try:
// what is done after each step of a run, how many threads do it, and the log.

#include "test.h"
#include "fails.h"
#include "model.h"

#define MODEL_NAME SCRATCH "15-commands.safetensors"
#define LOG_NAME SCRATCH "15-commands.csv"
#define SAID_NAME SCRATCH "15-commands.txt"

// ## When to look

void test_times(void) {
    bool last = true, many = true, even = true, each = true;
    for (int total = 1; total <= 1000; total++) {
        int looks = 0, before = 0, least = total, most = 0;
        for (int step = 1; step <= total; step++)
            if (time_to_look(step, total)) {
                least = min_int(least, step - before);
                most = max_int(most, step - before);
                before = step;
                looks++;
            }
        last = last && before == total;
        many = many && looks == min_int(total, 20);
        even = even && most - least <= 1;
        each = each && (total > 20 || most == 1);
    }
    CLAIM(many, "a run of 20 steps or more, as of 39 or 59, has twenty looks");
    CLAIM(each, "a shorter one has a look after each step");
    CLAIM(even && last,
          "they are as far apart as can be, and the last comes at the end");
    const int64_t total = 2000000000;
    CLAIM(time_to_look(total, total) && time_to_look(total / 20, total)
          && !time_to_look(total - 1, total), "so it is in the longest run");
}

// ## After each step

// A run whose reports are held against what they should be.
typedef struct {
    Progress progress;
    int looks, bests;
    double highest;         // accuracy
    int64_t best, saved;    // steps
    bool judged, kept, whole, silent; // the claims
} Watched;

bool equal_floats(const real *a, const real *b, size_t count) {
    bool same = true;
    for (size_t k = 0; k < count; k++)
        same = same && (float)a[k] == (float)b[k];
    return same;
}

// Whether the file has the run as it was when it was saved last: at a look, or
// after the first step.
bool file_is_right(const Watched *w) {
    const Trainer *t = &w->progress.checkpoint->trainer;
    size_t count = t->model->list.count;
    Checkpoint used = load_checkpoint(MODEL_NAME, false);
    Checkpoint all = load_checkpoint(MODEL_NAME, true);
    bool newest = t->step == w->saved; // else the parameters have moved since
    bool right = used.trainer.step == w->saved
              && used.trainer.best_step == w->best
              && used.trainer.best_accuracy == w->highest
              && (!(t->best || newest)
                  || equal_floats(used.trainer.model->list.values,
                                  t->best ? t->best : t->model->list.values,
                                  count))
              && (!newest || (equal_floats(all.trainer.model->list.values,
                                        t->model->list.values, count)
                           && equal_floats(all.trainer.m, t->m, count)
                           && equal_floats(all.trainer.v, t->v, count)));
    checkpoint_free(&used);
    checkpoint_free(&all);
    return right;
}

bool inspect(void *context, const Step *s) {
    Watched *w = context;
    Progress *c = &w->progress;
    const Trainer *t = &c->checkpoint->trainer;
    bool look = time_to_look(s->step, c->total);
    double found = accuracy(evaluate_loss(t->model, c->valid, 8, 0, &room));
    bool better = look && (w->looks == 0 || found >= w->highest);
    w->looks += look;
    w->bests += better;
    w->highest = better ? found : w->highest;
    w->best = better ? s->step : w->best;
    w->saved = look || s->step == 1 ? s->step : w->saved;
    long said = ftell(stderr);
    bool go_on = report_step(c, s);
    w->judged = w->judged && t->best_step == w->best
             && t->best_accuracy == w->highest && (w->looks > 0) == !!t->best;
    w->kept = w->kept
           && (!better || equal_floats(t->best, t->model->list.values,
                                       t->model->list.count));
    w->whole = w->whole && file_is_right(w);
    w->silent = w->silent && look == (ftell(stderr) > said);
    return go_on && t->arena.used == 0;
}

// A model of the words that made_up_pairs has.
Checkpoint new_checkpoint(int steps, double rate) {
    Checkpoint c = {.source = vocab_new(), .target = vocab_new()};
    Settings *s = &c.settings;
    const char *words[] = {"a", "b", "c", "d", "e"};
    for (int i = 0; i < 5; i++) {
        vocab_append(&c.source, words[i], 1);
        vocab_append(&c.target, words[i], 1);
    }
    const char *const given[][2] = {
        {"layers", "2"}, {"d-model", "12"}, {"heads", "3"}, {"d-ff", "7"},
        {"max-len", "6"}, {"dropout", "0.3"}};
    for (int i = 0; i < 6; i++)
        s->text[option_place(given[i][0], strlen(given[i][0]))] = given[i][1];
    bind_settings(s);
    set_vocab_sizes(&c);
    s->recipe = (Recipe){.rate = rate, .warmup = 1, .clip = 1, .batch = 8,
                         .steps = steps, .seed = 5, .epochs = 1};
    c.trainer = trainer_of(&s->config, &s->recipe);
    initialize(&c.trainer.model->list, 5);
    return c;
}

// The rows of a log that are of a kind: "train" or "valid".
int rows_of(const char *kind) {
    size_t size;
    int rows = 0;
    char *log = read_file(LOG_NAME, &size), part[16];
    snprintf(part, sizeof part, ",%s,", kind);
    for (const char *c = log; (c = strstr(c, part)) != NULL; c++)
        rows++;
    free(log);
    return rows;
}

void check_looks(int steps, double rate, int looks, const char *name) {
    Pairs data = made_up_pairs(50), valid = made_up_pairs(10);
    Checkpoint k = new_checkpoint(steps, rate);
    Settings files = {.model = MODEL_NAME, .log = LOG_NAME};
    Watched w = {.judged = true, .kept = true, .whole = true, .silent = true};
    w.progress = (Progress){.settings = &files, .checkpoint = &k, .data = &data,
                          .valid = &valid, .total = steps, .pace = {.all = 1}};
    CLAIM(train(&k.trainer, &data, inspect, &w) && k.trainer.step == steps
          && w.looks == looks, "%s: %d looks at the validation data", name,
          looks);
    CLAIM(w.judged, "%s: the best step is the most accurate, of equal ones the "
          "newest", name);
    CLAIM(w.kept, "%s: its parameters are kept", name);
    CLAIM(w.whole, "%s: the file always has the run of the last look, to use "
          "and to go on with", name);
    CLAIM(w.silent, "%s: between two looks nothing is said", name);
    fclose(w.progress.log);
    CLAIM(rows_of("train") == steps && rows_of("valid") == looks,
          "%s: the log has a row for each step and for each look", name);
    if (rate == 0)
        CLAIM(w.bests == looks, "%s: what is as good is better", name);
    if (rate > 1)
        CLAIM(w.bests < looks, "%s: what is worse is not", name);
    checkpoint_free(&k);
    pairs_free(&data);
    pairs_free(&valid);
}

// Without validation data nothing is called the best, and a signal ends the run
// after the step at work.
void test_stopping(void) {
    Pairs data = made_up_pairs(50);
    Checkpoint k = new_checkpoint(30, 0.01);
    Settings files = {.model = MODEL_NAME};
    Progress c = {.settings = &files, .checkpoint = &k, .data = &data,
                 .total = 30, .pace = {.all = 1}};
    remove(MODEL_NAME);
    stop_signal = SIGINT;
    train(&k.trainer, &data, report_step, &c);
    stop_signal = 0;
    CLAIM(k.trainer.step == 1, "after a signal a run ends with its step");
    train(&k.trainer, &data, report_step, &c);
    Checkpoint used = load_checkpoint(MODEL_NAME, true);
    CLAIM(k.trainer.step == 30 && !k.trainer.best && !used.trainer.best
          && used.trainer.best_step == 0
          && equal_floats(used.trainer.model->list.values,
                          k.trainer.model->list.values,
                          k.trainer.model->list.count),
          "a run that is never measured keeps its newest parameters");
    checkpoint_free(&used);
    checkpoint_free(&k);
    pairs_free(&data);
}

// Whole runs, with three threads, of two steps and of four.
void test_last_line(void) {
    for (int steps = 2; steps <= 4; steps += 2) {
        char number[2] = {(char)('0' + steps)}, peak[80];
        char *argument[] = {"transformer", "train", "data/reverse.valid.tsv",
                            "--layers", "1", "--batch", "16", "--model",
                            MODEL_NAME, "--steps", number};
        Arguments a = read_arguments(11, argument);
        Checkpoint c = {.settings = a.settings};
        size_t size;
#ifdef _OPENMP
        int threads = omp_get_max_threads();
        omp_set_num_threads(3);
#endif
        train_command(&a, &c);
#ifdef _OPENMP
        CLAIM(omp_get_max_threads() == (steps < TRIALS ? 3 : 1), "after %d steps "
              "of a run the next has all threads that there are, or one in its "
              "trials: %d", steps, omp_get_max_threads());
        omp_set_num_threads(threads);
#endif
        char *said = read_file(SAID_NAME, &size);
        snprintf(peak, sizeof peak, "; peak memory of a step %.1f MB; ",
                 (double)c.trainer.arena.peak / 1e6);
        CLAIM(strstr(said, peak), "the last line of a run has%.*s",
              (int)strlen(peak) - 2, peak + 1);
        free(said);
        checkpoint_free(&c);
    }
    handle_signals(SIG_DFL);
}

// ## Signals and pipes

#ifdef TRANSFORMER_POSIX
#include <fcntl.h>

// A model that cannot be written ends the program: so what was done before it
// shows. No step of a model is missing from the log.
void test_log_comes_first(void) {
    Pairs data = made_up_pairs(50);
    Checkpoint k = new_checkpoint(1, 0.01);
    Settings files = {.model = "no/such/folder/model", .log = LOG_NAME};
    Progress c = {.settings = &files, .checkpoint = &k, .data = &data,
                 .total = 1, .pace = {.all = 1}};
    Ending e;
    remove(LOG_NAME);
    if (in_child(&e)) {
        train(&k.trainer, &data, report_step, &c);
        _exit(0);
    }
    CLAIM(e.status == 1 && strstr(e.said, "cannot write no/such/folder/model")
          && rows_of("train") == 1, "a step is logged before it is saved");
    checkpoint_free(&k);
    pairs_free(&data);
}

// The first signal is remembered, and a second one, the same or another, ends
// the program at once.
void test_second_signal(void) {
    const int which[] = {SIGINT, SIGTERM, SIGHUP};
    int remembered = 0, ended = 0;
    Ending e;
    for (int i = 0; i < 9; i++) {
        if (in_child(&e)) {
            for (int k = 0; k < 3; k++)
                signal(which[k], SIG_DFL); // a shell may have them ignored
            handle_signals(remember_signal);
            raise(which[i / 3]);
            fputs(stop_signal == which[i / 3] ? "remembered" : "", stderr);
            raise(which[i % 3]);
            _exit(0);
        }
        remembered += !strcmp(e.said, "remembered");
        ended += e.status == -which[i % 3];
    }
    CLAIM(remembered == 9, "each of three signals is remembered");
    CLAIM(ended == 9, "a second one, of any kind, ends the program at once");
    if (in_child(&e)) {
        signal(SIGHUP, SIG_IGN);
        handle_signals(remember_signal);
        raise(SIGHUP);
        _exit(stop_signal == SIGHUP);
    }
    CLAIM(e.status == 0, "one that is ignored, as with nohup, stays ignored");
}

// A standard input that does not block, and in which nothing is yet.
void test_waiting(void) {
    Ending e;
    if (in_child(&e)) {
        int ends[2];
        Checkpoint c = new_checkpoint(1, 0.01);
        Input in = {.checkpoint = &c, .settings = &c.settings};
        if (pipe(ends) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
            _exit(2);
        if (fork() == 0) {
            nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
            _exit(write(ends[1], "a", 1) != 1);
        }
        close(ends[1]);
        dup2(ends[0], STDIN_FILENO);
        setvbuf(stdin, NULL, _IONBF, 0);
        _exit(next_byte(&in) == 'a' && next_byte(&in) == EOF ? 0 : 3);
    }
    CLAIM(e.status == 0, "an input that does not block is waited for");
}
#else
void test_log_comes_first(void) {}
void test_second_signal(void) {}
void test_waiting(void) {}
#endif

// ## How many threads

// Batches of sentences as on the web: a few of them many times as long as the
// rest. Two threads take 60 % of the time of one, or five times as long.
void test_pace(void) {
#ifdef _OPENMP
    int threads = omp_get_max_threads();
#endif
    enum { AFTER = ROUND / TRIALS };
    struct {
        Pace pace;
        double after[AFTER];
    } timed = {.pace = {.all = 1}};
    for (int i = 0; i < AFTER; i++)
        timed.after[i] = 3000;
    bool right = true;
    for (int k = 0; k < 2 * ROUND; k++) {
        int place = k % ROUND, start = k < ROUND ? 1000 : 2000;
        double tokens = 1 + k % 3, token = start - place; // faster and faster
        set_pace(&timed.pace, k, token * tokens, tokens);
        double all = start - min_int(place, TRIALS);
        double one = start - min_int(place, 2 * TRIALS);
        if (place < 1)
            all = INFINITY;
        if (place <= TRIALS)
            one = INFINITY;
        right = right && timed.pace.with_all == all
             && timed.pace.one == one;
    }
    CLAIM(right, "each round keeps the fastest of its first steps: by token, "
          "%d with all threads and %d with one", TRIALS, TRIALS);
    for (int i = 0; i < AFTER; i++)
        right = right && timed.after[i] == 3000;
    CLAIM(right, "and of the later ones nothing");
    Pace slower = {.all = 1, .with_all = INFINITY, .one = INFINITY};
    for (int k = 1; k <= 2 * TRIALS; k++)
        set_pace(&slower, k, 12 * k, 4);
    CLAIM(slower.with_all == 3 && slower.one == 3 * (TRIALS + 1),
          "the fastest, not the last");
#ifdef _OPENMP
    int wrong = 0;
    for (int busy = 0; busy < 2; busy++) {
        Pace pace = {.all = 2};
        double seconds = 0, tokens = 1;
        for (int k = 0; k < 100 * ROUND; k++) {
            set_pace(&pace, k, seconds, tokens);
            bool one = omp_get_max_threads() == 1;
            wrong += k % ROUND >= 2 * TRIALS && one != busy;
            tokens = floor(640 * exp(0.7 * normal(&test_state)));
            seconds = 1e-5 * tokens * (one ? 1 : busy ? 5 : 0.6);
        }
    }
    omp_set_num_threads(threads);
    CLAIM(wrong == 0, "threads are chosen by the time of a token, so that long "
          "batches mislead nobody: %d steps of 51,200 chose wrongly", wrong);
#endif
}

// ## The log

void write_log_file(const char *bytes, size_t size) {
    FILE *file = fopen(LOG_NAME, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        fail("cannot write %s", LOG_NAME);
}

const Settings going_on = {.log = LOG_NAME, .resume = true};
const Progress resumed = {.settings = &going_on, .first_step = 12};

// Whether a log of these bytes, when a run goes on from step 12, becomes the
// header and these rows.
bool becomes(const char *bytes, const char *rows) {
    write_log_file(bytes, strlen(bytes));
    fclose(begin_log(&resumed));
    size_t size, header = strlen(LOG_HEADER);
    char *log = read_file(LOG_NAME, &size);
    bool right = !strncmp(log, LOG_HEADER, header)
              && !strcmp(log + header, rows);
    free(log);
    return right;
}

#define ROW(step) step ",train,1.5,0.5,0.01,2,900\n"
#define LOOK(step) step ",valid,1.5,0.5,0.01,,\n"

void test_log(void) {
    CLAIM(becomes("", "") && becomes(LOG_HEADER, ""),
          "an empty log, or one without rows, is begun");
    CLAIM(becomes(LOG_HEADER ROW("11") ROW("12") LOOK("12") ROW("13"),
                  ROW("11") ROW("12") LOOK("12")),
          "rows of steps that the model does not know are left out");
    CLAIM(becomes(LOG_HEADER ROW("11") "12,train,1.", ROW("11"))
          && becomes(LOG_HEADER ROW("11") "1", ROW("11"))
          && becomes(LOG_HEADER ROW("11") "12,tr", ROW("11")),
          "so is a row that a power cut has torn");
    write_log_file(LOG_HEADER ROW("3"), strlen(LOG_HEADER ROW("3")));
    const Settings begun = {.log = LOG_NAME};
    fclose(begin_log(&(Progress){.settings = &begun}));
    size_t size;
    char *log = read_file(LOG_NAME, &size);
    CLAIM(!strcmp(log, LOG_HEADER), "a new run begins a new log");
    free(log);
}

int main(void) {
    if (!freopen(SAID_NAME, "w", stderr))
        fail("cannot write %s", SAID_NAME);
    setvbuf(stderr, NULL, _IONBF, 0);
    test_times();
    check_looks(5, 0.01, 5, "5 steps");
    check_looks(39, 3, 20, "39 steps of rate 3");
    check_looks(41, 0, 20, "41 steps of rate 0");
    test_stopping();
    test_last_line();
    test_log_comes_first();
    test_second_signal();
    test_waiting();
    test_pace();
    test_log();
    remove(MODEL_NAME);
    remove(LOG_NAME);
    remove(SAID_NAME);
    arena_free(&room);
    return claims_end();
}
