// Chapter 16, apart from the command line, which cli-use.c and cli-train.c
// test: what is done after each step of a run, and the log.

#include "../lib/test.h"
#include "../lib/fails.h"
#include "../lib/model.h"

#define MODEL_NAME SCRATCH "16-commands.safetensors"
#define LOG_NAME SCRATCH "16-commands.csv"
#define SAID_NAME SCRATCH "16-commands.txt"

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
          "they are evenly spaced, and the last comes at the end");
    const int64_t total = 2000000000;
    CLAIM(time_to_look(total, total) && time_to_look(total / 20, total)
          && !time_to_look(total - 1, total), "so it does in the longest run");
}

// ## After each step

// A run whose reports are watched. (sequences.c says what is then in the file.)
typedef struct {
    Progress progress;
    int looks;
    bool silent; // between two looks
} Watched;

bool inspect(void *context, const Step *s) {
    Watched *w = context;
    bool look = time_to_look(s->step, w->progress.total);
    long said = ftell(stderr);
    bool go_on = report_step(&w->progress, s);
    w->looks += look;
    w->silent = w->silent && look == (ftell(stderr) > said);
    return go_on && w->progress.checkpoint->trainer.arena.used == 0;
}

// A model of the words that made_up_pairs has.
Checkpoint new_checkpoint(int steps) {
    Checkpoint c = {.source = vocab_new(), .target = vocab_new()};
    Settings *s = &c.settings;
    const char *words[] = {"a", "b", "c", "d", "e"};
    for (int i = 0; i < 5; i++) {
        vocab_append(&c.source, words[i], 1);
        vocab_append(&c.target, words[i], 1);
    }
    vocab_sort(&c.source);
    vocab_sort(&c.target);
    const char *const given[][2] = {
        {"layers", "2"}, {"d-model", "12"}, {"heads", "3"}, {"d-ff", "7"},
        {"max-len", "6"}, {"dropout", "0.3"}};
    for (int i = 0; i < 6; i++)
        s->text[option_place(given[i][0], strlen(given[i][0]))] = given[i][1];
    bind_settings(s);
    set_vocab_sizes(&c);
    s->recipe = (Recipe){.rate = 0.01, .warmup = 1, .clip = 1, .batch = 8,
                         .steps = steps, .seed = 5, .epochs = 1};
    c.trainer = trainer_of(&s->config, &s->recipe);
    initialize(&c.trainer.model->list, 5);
    return c;
}

Progress progress_of(const Settings *files, Checkpoint *c, const Pairs *data) {
    return (Progress){.settings = files, .checkpoint = c, .data = data,
                      .total = c->settings.recipe.steps};
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

void check_looks(int steps, int looks) {
    Pairs data = made_up_pairs(50), valid = made_up_pairs(10);
    Checkpoint k = new_checkpoint(steps);
    Settings files = {.model = MODEL_NAME, .log = LOG_NAME};
    Watched w = {.progress = progress_of(&files, &k, &data), .silent = true};
    w.progress.valid = &valid;
    CLAIM(train(&k.trainer, &data, inspect, &w) && k.trainer.step == steps
          && w.looks == looks, "%d steps: %d looks at the validation data",
          steps, looks);
    CLAIM(w.silent, "%d steps: between two looks nothing is printed", steps);
    fclose(w.progress.log);
    CLAIM(rows_of("train") == steps && rows_of("valid") == looks,
          "%d steps: the log has a row for each step and for each look", steps);
    checkpoint_free(&k);
    pairs_free(&data);
    pairs_free(&valid);
}

// Whole runs, of two steps and of four.
void test_last_line(void) {
    for (int steps = 2; steps <= 4; steps += 2) {
        char number[2] = {(char)('0' + steps)}, peak[80];
        char *argument[] = {"transformer", "train", "data/reverse.valid.tsv",
                            "--layers", "1", "--batch", "16", "--model",
                            MODEL_NAME, "--steps", number};
        Arguments a = read_arguments(11, argument);
        Checkpoint c = {.settings = a.settings};
        size_t size;
        train_command(&a, &c);
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

// A model that cannot be written ends the program, and this shows what was done
// before. No step of a saved model is missing from the log.
void test_log_comes_first(void) {
    Pairs data = made_up_pairs(50);
    Checkpoint k = new_checkpoint(1);
    Settings files = {.model = "no/such/folder/model", .log = LOG_NAME};
    Progress c = progress_of(&files, &k, &data);
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
                signal(which[k], SIG_DFL); // a shell may ignore them
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
    CLAIM(e.status == 0, "an ignored signal, as with nohup, stays ignored");
}

// The disk was full when a line was written, and nothing is left to write.
void print_on_full_disk(void) {
    if (!freopen("/dev/full", "w", stdout))
        fail("cannot open /dev/full: %s", strerror(errno));
    setvbuf(stdout, NULL, _IONBF, 0);
    puts("lost");
    finish_output();
}

void test_last_moment(void) {
    struct stat full;
    if (stat("/dev/full", &full) == 0)
        CLAIM_FAILS("output that was lost before the end is noticed",
                    "cannot write the output", (print_on_full_disk(), 0));
    char path[FILENAME_MAX] = {0};
    for (int i = 0; i < FILENAME_MAX - 3; i++)
        path[i] = i == FILENAME_MAX - 4 ? 'x' : "./"[i % 2];
    CLAIM_FAILS("a path with no room for .new is refused, not cut",
                "this path is too long: ./.", (begin_file(path), 0));
}
#else
void test_last_moment(void) {}
void test_log_comes_first(void) {}
void test_second_signal(void) {}
#endif

// ## The log

const Settings begun = {.log = LOG_NAME};
const Settings going_on = {.log = LOG_NAME, .resume = true};

#define ROW(step) step ",train,1.5,0.5,0.01,2,900\n"

// Whether a log of these bytes, to which a row is written, becomes the header
// and these rows.
bool becomes(const Settings *s, const char *bytes, const char *rows) {
    write_file(LOG_NAME, bytes, strlen(bytes));
    FILE *file = begin_log(s);
    fputs(ROW("13"), file);
    fclose(file);
    size_t size, header = strlen(LOG_HEADER);
    char *log = read_file(LOG_NAME, &size);
    bool right = !strncmp(log, LOG_HEADER, header)
              && !strcmp(log + header, rows);
    free(log);
    return right;
}

void test_log(void) {
    CLAIM(becomes(&going_on, "", ROW("13"))
          && becomes(&going_on, LOG_HEADER, ROW("13")),
          "an empty log is begun, and one without rows gets some");
    CLAIM(becomes(&going_on, LOG_HEADER ROW("12") ROW("13"),
                  ROW("12") ROW("13") ROW("13")),
          "a resumed run appends: steps that are done again appear twice");
    CLAIM(becomes(&going_on, LOG_HEADER ROW("11") "12,train,1.",
                  ROW("11") "12,train,1.\n" ROW("13")),
          "a row that was torn is not made longer");
    CLAIM(becomes(&begun, LOG_HEADER ROW("3"), ROW("13")),
          "a new run begins a new log");
}

int main(void) {
    if (!freopen(SAID_NAME, "w", stderr))
        fail("cannot write %s", SAID_NAME);
    setvbuf(stderr, NULL, _IONBF, 0);
    test_times();
    check_looks(5, 5);
    check_looks(39, 20);
    check_looks(41, 20);
    test_last_line();
    test_log_comes_first();
    test_second_signal();
    test_last_moment();
    test_log();
    remove(MODEL_NAME);
    remove(LOG_NAME);
    remove(SAID_NAME);
    arena_free(&room);
    return claims_end();
}
