// The command line: training, in all ways, and what is then in which file.
// (cli-use.c has the other commands, and wrong use.)

#include "../lib/commands.h"

// ## Progress and the log

void test_progress(void) {
    part = "train";
    works("a tiny model is trained",
          "train pairs.tsv" TINY "--steps 200 --model good.safetensors --log "
          "good.csv");
    same("progress goes to stderr, nothing to stdout", "", out);
    matches("it says what it will do", "data: 7 pairs, vocabularies of 15 and 15 tokens\n"
            "model: 2+2 layers, d_model 16, 2 heads, d_ff 64: * parameters\ntraining: 200 "
            "steps of 4 sentences, learning rate up to 0.01 after 10 steps\n*", err);
    same("it reports twenty times", "20", form("%d", count_of(err, "\nstep ")));
    same("without a terminal no line is rewritten", "0",
         form("%d", count_of(err, "\r")));
    matches("it says where the model is",
            "done at step 200 after *s; good.safetensors; *",
            line_of(err, -1));
    char *log = contents("good.csv", NULL);
    same("the log has the header", "step,split,loss,accuracy,learning_rate,"
         "gradient_norm,tokens_per_second", line_of(log, 0));
    LogRow *r = read_log("good.csv");
    int right = 0;
    for (int i = 0; r[i].fields; i++)
        right += r[i].fields == 7 && r[i].step == i + 1 && !r[i].valid
              && r[i].loss > 0 && r[i].accuracy >= 0 && r[i].accuracy <= 1
              && r[i].rate > 0 && r[i].norm > 0 && r[i].speed > 0;
    same("it has one row for each step, of seven numbers", "200 of 200",
         form("%d of %d", right, lines_of(log) - 1));
    same("the loss falls", "yes", r[199].loss < r[0].loss / 10 ? "yes" : "no");
    write_text("half.tsv", "the dog eats\tle chien mange\nthe dog eats\ta\n");
    run("train pairs.tsv --from good.safetensors --lr 0 --steps 1 --valid "
        "half.tsv --model w.safetensors");
    matches("each wrong sample has a (not yet), even after a right one", "*the "
            "dog eats  →  le chien mange\n    the dog eats  →  le chien mange  "
            "(not yet)\n*", err);
}

// In batches of all pairs every row of the log counts alike. The log rounds to
// six digits, the line to four places.
void test_means(void) {
    works("twenty intervals of three steps", "train pairs.tsv" MINI "--batch 7 "
          "--lr 0.05 --warmup 1 --steps 60 --model w.safetensors --log w.csv");
    LogRow *r = read_log("w.csv");
    int means = 0, own = 0;
    for (int i = 0; i < lines_of(err); i++) {
        int step;
        double loss, accuracy, rate, norm;
        if (sscanf(line_of(err, i), "step %d/60  loss %lf  accuracy %lf %%  lr "
                   "%lf  norm %lf", &step, &loss, &accuracy, &rate, &norm) != 5)
            continue;
        r = read_log("w.csv") + step - 1;
        double mean = (r->loss + r[-1].loss + r[-2].loss) / 3;
        double share = 100 * (r->accuracy + r[-1].accuracy + r[-2].accuracy) / 3;
        means += fabs(loss - mean) < 1e-4 && fabs(accuracy - share) < 0.06;
        own += fabs(rate - r->rate) <= 0.051 * rate
            && fabs(norm - r->norm) < 0.006;
    }
    same("the progress line shows the mean since the line before", "20",
         form("%d", means));
    same("and this step's learning rate and gradient norm", "20",
         form("%d", own));
}

void test_defaults(void) {
    write_text("one.tsv", "a\tb\n");
    run("train one.tsv --heads 1 --batch 1 --steps 1 --warmup 1 --model w.safetensors");
    matches("one thing has no plural", "*data: 1 pair, *, 1 head, *\ntraining: 1 step of "
            "1 sentence, * 1 step\n*", err);
    run("train one.tsv --resume --steps 1 --model w.safetensors");
    matches("nor has a finished step", "*nothing to do: 1 step is done;*", err);
    works("no --model is needed", "train pairs.tsv --steps 1");
    works("the model is called model.safetensors", "info model.safetensors");
    run("train pairs.tsv" MINI "--model w.safetensors");
    matches("without --epochs and --steps there are 20 epochs, here of two steps",
            "status 0: done at step 40 after *", last_outcome());
}

// A first step that needs more than the 256 megabytes that there are.
void test_no_memory(void) {
    char *word = form("%03000d", 0), *text = "";
    for (int i = 0; i < 16; i++)
        text = form("%s%s\t%s\n", text, word, word);
    write_text("large.tsv", text);
    run("train pairs.tsv" MINI "--steps 2 --model e.safetensors");
    limit(RLIMIT_AS, 1 << 28);
    fails_late("a first step without enough memory is reported with its batch",
               "out of memory: *", "train large.tsv --tokens char --layers 1 "
               "--d-model 8 --heads 8 --d-ff 8 --max-len 3000 --batch 16 "
               "--model e.safetensors");
    limit(RLIMIT_AS, RLIM_INFINITY);
    bool in_32_bits = contents(program, NULL)[4] == 1; // as its ELF header says
    matches("that is, with its numbers of sentences and tokens", in_32_bits
            ? "*more than can be addressed*" : "*a batch of 16 × 3001 tokens*",
            err);
    run("info e.safetensors");
    same("the model that was there has lost none of its training", "2",
         value(out, "steps trained"));
    remove("large.tsv");
}

// ## Threads

// What OpenMP's library says it was told by the environment and by the program,
// in GCC's words or in Clang's; "" if there is no such library.
char *told(const char *environment) {
    char *last = "";
    if (system(form("unset OMP_WAIT_POLICY; OMP_DISPLAY_ENV=verbose %s '%s' "
                    "train pairs.tsv" MINI "--steps 1 --model w.safetensors "
                    "--threads 2 > told 2>&1", environment, program)) != 0)
        give_up("told");
    for (int i = 0; i < lines_of(contents("told", NULL)); i++) {
        char *line = line_of(contents("told", NULL), i);
        if (strstr(line, "GOMP_SPINCOUNT") || strstr(line, "KMP_BLOCKTIME"))
            last = line; // the last is that of the program begun once more
    }
    return last;
}

void test_threads(void) {
    part = "threads";
    run("translate nowhere --threads 2");
    if (status == 2) // as options.c claims of a program without OpenMP
        return;
    char *usual = told("");
    same("threads that wait for the others sleep soon", "yes",
         strstr(usual, "'10000'") || strstr(usual, "'1'")
         || strstr(usual, "'1ms'") ? "yes" : usual);
    same("unless the user wants it otherwise", "yes",
         strcmp(told("GOMP_SPINCOUNT=77 KMP_BLOCKTIME=77"), usual)
         && strcmp(told("OMP_WAIT_POLICY=active"), usual) ? "yes" : usual);
    limit(RLIMIT_AS, 2000000000);
    works("of a thousand, only as many are started as there are processors",
          "train pairs.tsv --layers 1 --d-model 256 --heads 2 --max-len 8 --steps 1 "
          "--model w.safetensors --threads 1000");
    limit(RLIMIT_AS, RLIM_INFINITY);
}

// ## Stopped, and resumed

// Starts a long training and stops it by a signal after some steps.
void stop(int which, int steps, const char *options) {
    remove("broken.safetensors");
    remove("broken.csv");
    pid_t process = start(form("train pairs.tsv %s --model broken.safetensors "
                          "--log "
                               "broken.csv", options));
    char *log = "";
    do {
        free(*log ? log : NULL);
        log = contents("broken.csv", NULL);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    } while (lines_of(log) < steps && kill(process, 0) == 0);
    kill(process, which);
    finish(process);
}

#define LONG MINI "--lr 0.01 --warmup 10 --attention-dropout 0 --steps 1200 "

void test_stopping(void) {
    part = "resume";
    write_text("valid.tsv", replaced(contents("pairs.tsv", NULL), "chien", "x"));
    works("a longer training",
          "train pairs.tsv" LONG "--valid valid.tsv --model whole.safetensors "
          "--log whole.csv");
    stop(SIGINT, 200, LONG "--valid valid.tsv");
    matches("stopped by Ctrl-C it saves, says how to go on, ends with status "
            "130", "status 130: stopped at step *; go on with --resume; "
            "broken.safetensors; *",
            last_outcome());
    char *log = contents("broken.csv", NULL);
    same("the log ends with the step that was saved",
         form("%d", atoi(line_of(err, -1) + strlen("stopped at step "))),
         form("%d", atoi(line_of(log, -1))));
    works("the stopped training is resumed",
          "train pairs.tsv --valid valid.tsv --resume --model "
          "broken.safetensors --log broken.csv");
    same_bytes("it ends in the same bytes as if it had not been stopped",
               "whole.safetensors", "broken.safetensors");
    same("the log is the same, but for the speed", columns("whole.csv"),
         columns("broken.csv"));
}

void test_resume(void) {
    works("two epochs", "train pairs.tsv" MINI "--epochs 2 --model "
          "r.safetensors --log r.csv");
    works("two more epochs",
          "train pairs.tsv --resume --epochs 4 --model r.safetensors --log "
          "r.csv");
    works("four epochs at once",
          "train pairs.tsv" MINI "--epochs 4 --model f.safetensors --log "
          "f.csv");
    same_bytes("two and two epochs make the same model as four",
               "f.safetensors", "r.safetensors");
    same("and the same log", columns("f.csv"), columns("r.csv"));
    run("train pairs.tsv" MINI "--steps 3 --model s.safetensors");
    run("train pairs.tsv --resume --epochs 4 --model s.safetensors");
    matches("a training that counted steps goes on to count epochs",
            "status 0: done at step 8 *", last_outcome());
    run("train pairs.tsv --resume --steps 9 --model s.safetensors");
    matches("a training that counted epochs goes on to count steps",
            "status 0: done at step 9 *", last_outcome());
    copy("r.safetensors", "r4.safetensors");
    run("train pairs.tsv --resume --epochs 4 --model r.safetensors --log "
        "none.csv");
    matches("if all is done, there is nothing to do",
            "status 0: done at step 8 *; r.safetensors; *", last_outcome());
    absent("and no log is begun", "none.csv");
    static const char *const kept[] = {
        "--d-model 32", "--d-model 8", "--tie", "--tokens char", "--lr 0.5",
        "--dropout 0", "--batch 2", "--seed 2"};
    for (int i = 0; i < 8; i++)
        wrong(form("%s is refused", kept[i]), form("%.*s: r.safetensors has its "
              "own; for another, begin a new run --from it",
              (int)strcspn(kept[i], " "), kept[i]), form("train pairs.tsv "
              "--resume %s --epochs 5 --model r.safetensors", kept[i]));
    wrong("--steps and --epochs exclude each other here, too",
          "--steps and --epochs exclude each other",
          "train pairs.tsv --resume --steps 9 --epochs 9 --model r.safetensors");
    same_bytes("the model stays as it is", "r4.safetensors", "r.safetensors");
    EACH(fails,
        {"cannot open none.safetensors: " GONE,
         "train pairs.tsv --resume --model none.safetensors"},
        {"cannot open none.safetensors: " GONE, "train pairs.tsv --resume "
         "--valid valid.tsv --model none.safetensors"});
}

// What becomes of such runs is tried by sequences.c; here is what they print.
void test_measured(void) {
    run("train pairs.tsv --resume --steps 1200 --model whole.safetensors");
    char *last = last_outcome();
    matches("a complete run says what is done", "*nothing to do: 1200 steps*",
            err);
    run("info whole.safetensors");
    matches("nothing to do: the last line names the file, and the checksum of "
            "what is used", form("status 0: done at step 1200 *; "
            "whole.safetensors; *; checksum %s", value(out, "checksum")), last);
    run("train pairs.tsv" MINI "--steps 3 --model r.safetensors");
    matches("a new run says how many steps it replaces", "*r.safetensors: a model "
            "of 8 steps is there*\ndata: *", err);
    run("train pairs.tsv --resume --steps 4 --model r.safetensors");
    same("one that goes on does not", "0", form("%d", count_of(err, "is there")));
}

// ## Begun from a model

void test_from(void) {
    part = "from";
    // At a learning rate of 0 a model keeps the numbers with which a new run of
    // its seed begins, even in further steps with another seed. So a run that
    // begins from it is the same as a new one.
#define SAME "--batch 4 --dropout 0.2 --attention-dropout 0 --clip 0.01 " \
             "--warmup 2 --steps 6 --lr 0.01 --seed 3 --valid valid.tsv "
    run("train pairs.tsv" MINI "--steps 2 --lr 0 --seed 3 --model w.safetensors");
    run("train pairs.tsv --from w.safetensors --steps 2 --lr 0 --seed 9 --model "
        "start.safetensors");
    run("train pairs.tsv" MINI SAME "--model new.safetensors --log new.csv");
    works("a run from a model",
          "train pairs.tsv --from start.safetensors " SAME "--model "
          "from.safetensors --log from.csv");
    same("from the initial numbers it is the run that makes its own numbers",
         columns("new.csv"), columns("from.csv"));
    write_text("strange.tsv", "zebra a\tq b\n");
    copy("from.safetensors", "kept.safetensors");
    works("other data", "train strange.tsv --from from.safetensors --steps 2 "
          "--model on.safetensors");
    same_bytes("the model that it began with is not touched",
               "kept.safetensors", "from.safetensors");
    run("info on.safetensors");
    same("its vocabularies are that model's", "15 15", form("%s %s",
         value(out, "source vocabulary"), value(out, "target vocabulary")));
    same("the steps are its own", "2", value(out, "steps trained"));
    same("settings of training are defaults again", "0.1 64", form("%s %s",
         value(out, "dropout"), value(out, "batch")));
    run("train pairs.tsv --layers 1 --d-model 16 --heads 2 --max-len 8 --steps 1 "
        "--model wide.safetensors");
    works("a model of another width than the default",
          "train pairs.tsv --from wide.safetensors --steps 1 --warmup 100 "
          "--model on.safetensors");
    run("info on.safetensors");
    same("the learning rate follows from its width", "0.025", value(out, "lr"));
    symlink("wide.safetensors", "other.safetensors");
    EACH(wrong,
        {"--d-model: wide.safetensors has its own", "train pairs.tsv --from "
         "wide.safetensors --d-model 32 --model none.safetensors"},
        {"--d-model: *", "train pairs.tsv --from wide.safetensors --d-model "
         "16 --model none.safetensors"},
        {"--tokens: *", "train pairs.tsv --from wide.safetensors --tokens "
         "char --model none.safetensors"},
        {"wide.safetensors would be overwritten: give another --model",
         "train pairs.tsv --from wide.safetensors --model wide.safetensors"},
        {"./wide.safetensors would be overwritten*",
         "train pairs.tsv --from ./wide.safetensors --model wide.safetensors"},
        {"wide.safetensors would be overwritten*",
         "train pairs.tsv --from wide.safetensors --model other.safetensors"},
        {"--resume and --from exclude each other",
         "train pairs.tsv --resume --from wide.safetensors"});
    EACH(fails,
        {"cannot open none.safetensors: " GONE,
         "train pairs.tsv --from none.safetensors --model none2.safetensors"},
        {"pairs.tsv: not a model*",
         "train pairs.tsv --from pairs.tsv --model none.safetensors"});
    absent("nothing has been written", "none.safetensors");
    run("train pairs.tsv --resume --steps 9 --valid valid.tsv --model "
        "from.safetensors");
    matches("such a run is resumed like any other", "status 0: done at step 9*",
            last_outcome());
    run("train pairs.tsv --resume --steps 9 --valid valid.tsv --model "
        "new.safetensors");
    run("evaluate new.safetensors pairs.tsv");
    char *expected = form("%s", out);
    run("evaluate from.safetensors pairs.tsv");
    same("and ends the same", expected, out);
    stop(SIGINT, 3, "--from start.safetensors --steps 2000000000");
    run("train pairs.tsv --resume --epochs 1 --model broken.safetensors");
    matches("stopped it is resumed like any other, without --from",
            "status 0: done at step *; broken.safetensors; *", last_outcome());
}

// ## A loss that explodes

#define RATE " --batch 4 --dropout 0 --lr 1000 --clip 1e9 --schedule constant " \
    "--warmup 20 "
#define WILD " --layers 6 --d-model 4 --heads 2 --max-len 8" RATE

void test_explosion(void) {
    part = "a learning rate that is far too large";
    EACH(fails_late,
        {"step *: the loss is not a number any more; try a smaller --lr; the "
         "last * is in wild.safetensors", "train pairs.tsv" WILD
         "--steps 60 --model wild.safetensors"});
    char *line = line_of(err, -1);
    int bad = atoi(line + strlen("transformer: step "));
    run("info wild.safetensors");
    int saved = atoi(value(out, "steps trained"));
    same("the model saved before that is from an earlier step", "yes",
         saved > 0 && saved < bad ? "yes" : form("%d of %d", saved, bad));
    run("train pairs.tsv --resume --model wild.safetensors");
    same("resumed, it fails again, and says where the good state is", line,
         line_of(err, -1));
    run("train pairs.tsv" WILD "--steps 2000 --model early.safetensors");
    matches("before the first report it is the state after the first step",
            "status 1: *the loss is not a number any more;* is in early.safetensors",
            last_outcome());
    run("info early.safetensors");
    same("which is there", "1", value(out, "steps trained"));
    fails_late("begun from a model that is finite, it explodes like any other",
               "step *: the loss is not a number any more; *; the last * is in on*",
               "train pairs.tsv --from early.safetensors" RATE "--steps 2000 "
               "--model on.safetensors");
    run("train pairs.tsv" MINI "--steps 1 --model e.safetensors");
    make_huge("e.safetensors", "huge.safetensors");
    run("train pairs.tsv --from huge.safetensors --steps 5 --model "
        "on.safetensors");
    same("begun from a model that overflows, a smaller --lr is no advice",
         "status 1, 0", form("status %d, %d", status, count_of(err, "--lr")));
}

// ## Files

// What is there under the name of the model, the log, and beside it.
void test_replacing(void) {
    part = "files";
    run("train pairs.tsv" MINI "--steps 1 --model m.safetensors --log l.csv");
    works("a model and a log replace others",
          "train pairs.tsv" MINI "--steps 1 --model m.safetensors --log l.csv");
    copy("m.safetensors", "kept.safetensors");
    symlink("m.safetensors", "link.safetensors");
    works("a link is replaced, too",
          "train pairs.tsv" MINI "--steps 2 --model link.safetensors");
    same_bytes("but not its target", "kept.safetensors", "m.safetensors");
    write_text("milk.safetensors", "milk\n");
    mkdir("folder.safetensors", 0700);
    fails("a file that is not a model is not replaced by one",
          "milk.safetensors: not a model*",
          "train pairs.tsv" MINI "--steps 1 --model milk.safetensors");
    fails("nor is a folder", "cannot read folder.safetensors: *",
          "train pairs.tsv" MINI "--steps 1 --model folder.safetensors");
    same("the file is as it was", "milk\n", contents("milk.safetensors", NULL));
    fails_late("a model in a folder that is not there: reported after one step",
               "cannot write nowhere/m.safetensors: " GONE,
               "train pairs.tsv" MINI "--model nowhere/m.safetensors");
    fails_late("and a log in one", "cannot write nowhere/log.csv: " GONE,
               "train pairs.tsv" MINI "--log nowhere/log.csv --model "
               "new1.safetensors");
    absent("no step is saved that is not logged", "new1.safetensors");
    write_text("t.safetensors.new", "half a mo");
    works("a file that a killed run has left is no obstacle",
          "train pairs.tsv" MINI "--steps 1 --model t.safetensors");
    absent("it is gone", "t.safetensors.new");
}

// The ending of a name says what kind of file it is, so no data are lost.
void test_names(void) {
    char *pairs = contents("pairs.tsv", NULL);
    EACH(wrong,
        {"--model: \"pairs.tsv\" is not FILE.safetensors",
         "train pairs.tsv --model pairs.tsv"},
        {"--log: \"pairs.tsv\" is not FILE.csv",
         "train pairs.tsv --log pairs.tsv"},
        {"--log: *", "train pairs.tsv --log model.safetensors"},
        {"--csv: \"pairs.tsv\" is not FILE.csv",
         "attention good.safetensors a --csv pairs.tsv"});
    same("the data are there", pairs, contents("pairs.tsv", NULL));
    copy("pairs.tsv", "pairs.csv");
    run("train pairs.tsv" MINI "--steps 1 --model m.safetensors");
    copy("m.safetensors", "kept.safetensors");
    symlink("m.safetensors", "model.csv");
    EACH(fails_late,
        {"pairs.csv stays as it is: it does not begin with \"step,*",
         "train pairs.csv" MINI "--log pairs.csv --model new2.safetensors"},
        {"model.csv stays as it is: it does not begin with \"step,*",
         "train pairs.csv --resume --steps 2 --model m.safetensors --log "
         "model.csv"},
        {"pairs.csv stays as it is: it does not begin with \"kind,*",
         "attention good.safetensors 'the cat' --csv pairs.csv"});
    same("they, too, are there", pairs, contents("pairs.csv", NULL));
    same_bytes("and the model", "kept.safetensors", "m.safetensors");
    absent("no step is saved without its log", "new2.safetensors");
    mkfifo("pipe.csv", 0600);
    int end = open("pipe.csv", O_RDONLY | O_NONBLOCK);
    char first[6] = "";
    run("train pairs.tsv" MINI "--steps 1 --model m.safetensors --log pipe.csv");
    holds(read(end, first, 5) == 5 && !strcmp(first, "step,"),
          "a pipe may be a log", "step,", first);
    close(end);
}

// A limit on the size of files is like a full disk: here for the log, a model and
// a table alone. (failing.c has a full disk for all.)
void test_full(void) {
    largest_file = 1024;
    fails_late("a model above it fails", "cannot write big.safetensors: *",
               "train pairs.tsv" MINI "--steps 1 --model big.safetensors");
    absent("nothing of it is left", "big.safetensors.new");
    largest_file = 1024;
    fails_late("so does a table", "cannot write big.csv: *",
               "attention good.safetensors 'the cat' --csv big.csv");
    largest_file = 49152;
    fails_late("and a log", "cannot write w.csv: File too large*",
               "train pairs.tsv" MINI "--steps 20000 --model w2.safetensors "
               "--log w.csv");
    works("the model that was saved last is there", "info w2.safetensors");
    run("train pairs.tsv" MINI "--steps 20 --model w2.safetensors");
    // As in `train 2>&1 | tee` after Ctrl-C: the reader of messages ends first.
    int ends[2];
    if (pipe(ends) != 0)
        give_up("pipe");
    close(ends[0]);
    stream[2] = ends[1];
    run("train pairs.tsv" MINI "--steps 20 --model w4.safetensors");
    same_bytes("if nobody reads its messages, it trains and saves all the same",
               "w2.safetensors", "w4.safetensors");
    close(ends[1]);
}

// ## A terminal

// All that a terminal shows of this command.
char *shown_by(const char *command) {
    int master = posix_openpt(O_RDWR | O_NOCTTY), used = 0;
    char *text = memory(1 << 20);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        return NULL;
    fcntl(master, F_SETFD, FD_CLOEXEC);
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    fcntl(slave, F_SETFD, FD_CLOEXEC);
    stream[1] = stream[2] = slave;
    pid_t process = start(command);
    close(slave);
    for (ssize_t n; (n = read(master, text + used, (1 << 20) - (size_t)used)) > 0;)
        used += (int)n;
    finish(process);
    close(master);
    return text;
}

void test_terminal(void) {
    part = "a terminal";
    char *text = shown_by("train pairs.tsv" MINI "--steps 40 --model "
    "t.safetensors");
    if (!text) {
        skip("what is shown at a terminal: none can be made here");
        return;
    }
    matches("the first step is shown at once", "*step 1/40 * left*", text);
    matches("the line is rewritten, and never wrapped",
            "*left*\033[?7h\r\033[?7lstep *", text);
    text = shown_by("train pairs.tsv" WILD "--steps 2000 --model "
                    "early.safetensors");
    same("a message of failure has a line of its own", "1 1", form("%d %d",
         status, count_of(text, "\ntransformer: step")));
    largest_file = 49152;
    text = shown_by("train pairs.tsv" MINI "--steps 2000000 --model "
                    "t3.safetensors --log t3.csv");
    same("so has that of a log that does not fit on the disk", "1 1", form(
         "%d %d", status, count_of(text, "\ntransformer: cannot write t3.csv")));
    give("the cat sleeps\na dog sleeps\n");
    matches("each line is answered", "*un chien dort*",
            shown_by("translate good.safetensors"));
    matches("info is the same there", "layers 3*", shown_by("info --layers 3"));
}

int main(void) {
    commands_begin();
    test_progress();
    test_means();
    test_defaults();
    test_no_memory();
    test_threads();
    test_stopping();
    test_resume();
    test_measured();
    test_from();
    test_explosion();
    test_replacing();
    test_names();
    test_full();
    test_terminal();
    return claims_end();
}
