// The command line: training, in all ways, and what is then in which file.
// (cli-use.c has the other commands, and wrong use.)

#include "commands.h"

// ## Progress and the log

void test_progress(void) {
    part = "train";
    works("a tiny model is trained",
          "train pairs.tsv" TINY "--steps 200 --model good --log good.csv");
    same("progress goes to stderr, nothing to stdout", "", out);
    matches("it counts the pairs", "data: 7 pairs*", err);
    same("it reports twenty times", "20", form("%d", count_of(err, "\nstep ")));
    same("without a terminal no line is rewritten", "0",
         form("%d", count_of(err, "\r")));
    matches("it says where the model is", "done at step 200 after *s; good; *",
            line_of(err, -1));
    absent("the temporary file is gone", "good.new");
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
    works("trained once more, under another name",
          "train pairs.tsv" TINY "--steps 200 --model again --log again.csv");
    same_bytes("it is the same model, byte for byte", "good", "again");
    same("and the same log, but for the speed", columns("good.csv"),
         columns("again.csv"));
    write_text("half.tsv", "the dog eats\tle chien mange\nthe dog eats\ta\n");
    run("train pairs.tsv --from good --lr 0 --steps 1 --valid half.tsv --model w");
    matches("each wrong sample has its (not yet), also after a right one", "*the "
            "dog eats  →  le chien mange\n    the dog eats  →  le chien mange  "
            "(not yet)\n*", err);
}

// In batches of all pairs every row of the log counts alike. The log rounds to
// six digits, the line to four places.
void test_means(void) {
    works("twenty intervals of three steps", "train pairs.tsv" MINI "--batch 7 "
          "--lr 0.05 --warmup 1 --steps 60 --model w --log w.csv");
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
    works("no --model is needed", "train pairs.tsv --steps 1");
    works("the model is called model.safetensors", "info model.safetensors");
    const char *const initial[] = {
        "layers 2", "d-model 64", "heads 4", "d-ff 256", "dropout 0.1",
        "norm post", "positions sinusoidal", "activation relu", "max-len 64",
        "tokens word", "min-count 1", "label-smoothing 0", "lr 0.00625",
        "warmup 400", "schedule noam", "clip 1", "batch 64", "seed 1"};
    int right = 0;
    for (int i = 0; i < 18; i++)
        right += strstr(out, form("\n%s\n", initial[i])) || i == 0;
    same("without options a model has the defaults that the help shows; d-ff is "
         "4 d-model, and lr 1/sqrt(d-model warmup)", "18", form("%d", right));
    run("train pairs.tsv" MINI "--model w");
    matches("without --epochs and --steps there are 20 epochs, here of two steps",
            "status 0: done at step 40 after *", last_outcome());
}

// A first step that needs more than the 256 megabytes that there are.
void test_no_memory(void) {
    char *word = form("%03000d", 0), *text = "";
    for (int i = 0; i < 16; i++)
        text = form("%s%s\t%s\n", text, word, word);
    write_text("large.tsv", text);
    run("train pairs.tsv" MINI "--steps 2 --model e");
    limit(RLIMIT_AS, 1 << 28);
    fails_late("a first step for which there is no memory is said with its batch",
               "out of memory: *", "train large.tsv --tokens char --layers 1 "
               "--d-model 8 --heads 8 --d-ff 8 --max-len 3000 --batch 16 "
               "--model e");
    limit(RLIMIT_AS, RLIM_INFINITY);
    bool in_32_bits = contents(program, NULL)[4] == 1; // as its ELF header says
    matches("that is, so many sentences of so many tokens", in_32_bits
            ? "*more than can be addressed*" : "*a batch of 16 × 3001 tokens*",
            err);
    run("info e");
    same("the model that was there has lost none of its training", "2",
         value(out, "steps trained"));
    remove("large.tsv");
}

// ## Threads

// What the environment and the program tell OpenMP's library, as it says itself,
// in GCC's words and in Clang's; "" if there is none.
char *told(const char *environment) {
    char *last = "";
    if (system(form("unset OMP_WAIT_POLICY; OMP_DISPLAY_ENV=verbose %s '%s' "
                    "train pairs.tsv" MINI "--steps 1 --model w --threads 2 > "
                    "told 2>&1", environment, program)) != 0)
        give_up("told");
    for (int i = 0; i < lines_of(contents("told", NULL)); i++) {
        char *line = line_of(contents("told", NULL), i);
        if (strstr(line, "GOMP_SPINCOUNT") || strstr(line, "KMP_BLOCKTIME"))
            last = line; // that of the program begun once more
    }
    return last;
}

void test_waiting(void) {
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
}

void test_threads(void) {
    part = "threads"; // data that are large enough to be shared among them
    FILE *file = fopen("many.tsv", "w");
    for (int line = 0; line < 100; line++) {
        for (int i = 0; i < 40; i++)
            fprintf(file, "%sw%d", i == 20 ? "\t" : i ? " " : "",
                    (line * 7 + i % 20 * i) % 20);
        fputc('\n', file);
    }
    fclose(file);
    run("translate nowhere --threads 2");
    if (status == 2) // as options.c claims of a program without OpenMP
        return;
    for (int n = 1; n <= 3; n++)
        works(form("trained with --threads %d", n), form("train many.tsv --layers "
              "1 --batch 100 --max-len 20 --steps 2 --model threads%d --threads "
              "%d", n, n));
    limit(RLIMIT_AS, 2000000000);
    works("a thousand threads are no more than there are processors",
          "train many.tsv --layers 1 --batch 100 --max-len 20 --steps 2 --model "
          "threads1000 --threads 1000");
    limit(RLIMIT_AS, RLIM_INFINITY);
    same_bytes("two threads give the same bytes as one", "threads1", "threads2");
    same_bytes("three threads give the same bytes as one", "threads1",
               "threads3");
}

// ## Stopped, and resumed

// Starts a long training and stops it by a signal after some steps.
void stop(int which, int steps, const char *options) {
    remove("broken");
    remove("broken.csv");
    pid_t process = start(form("train pairs.tsv %s --model broken --log "
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

#define LONG MINI "--lr 0.01 --warmup 10 --steps 1200 --valid valid.tsv "

void test_stopping(void) {
    part = "resume";
    // Other translations than those learned: the accuracy on them soon begins to
    // fall, so the best model and the newest are not the same.
    char *text = replaced(contents("pairs.tsv", NULL), "chien", "x");
    write_text("valid.tsv", replaced(replaced(text, "chat", "chien"), "x",
                                     "chat"));
    works("a longer training",
          "train pairs.tsv" LONG "--model whole --log whole.csv");
    stop(SIGINT, 200, LONG);
    matches("stopped by Ctrl-C it saves, says how to go on and ends with status "
            "130", "status 130: stopped at step *; go on with --resume; broken; *",
            last_outcome());
    absent("no temporary file is left", "broken.new");
    char *log = contents("broken.csv", NULL);
    same("the log ends with the step that was saved",
         form("%d", atoi(line_of(err, -1) + strlen("stopped at step "))),
         form("%d", atoi(line_of(log, -1))));
    works("the stopped training is resumed",
          "train pairs.tsv" LONG "--resume --model broken --log broken.csv");
    same_bytes("it ends in the same bytes as if not stopped", "whole", "broken");
    same("the log is the same, but for the speed", columns("whole.csv"),
         columns("broken.csv"));
    stop(SIGHUP, 100, MINI "--steps 2000000000");
    matches("the terminal is closed: it saves",
            "status 129: stopped at step *; go on with --resume; broken; *",
            last_outcome());
    works("the model is there", "info broken");
}

void test_resume(void) {
    works("two epochs", "train pairs.tsv" MINI "--epochs 2 --model r --log r.csv");
    copy("r", "r2");
    copy("r.csv", "r2.csv");
    works("two more epochs",
          "train pairs.tsv --resume --epochs 4 --model r --log r.csv");
    works("four epochs at once",
          "train pairs.tsv" MINI "--epochs 4 --model f --log f.csv");
    same_bytes("two and two epochs make the same model as four", "f", "r");
    same("and the same log", columns("f.csv"), columns("r.csv"));
    run("train pairs.tsv" MINI "--steps 3 --model s");
    run("train pairs.tsv --resume --epochs 4 --model s");
    matches("a training that counted steps goes on to count epochs",
            "status 0: done at step 8 *", last_outcome());
    run("train pairs.tsv --resume --steps 9 --model s");
    matches("a training that counted epochs goes on to count steps",
            "status 0: done at step 9 *", last_outcome());
    copy("r", "r4");
    run("train pairs.tsv --resume --epochs 4 --model r --log none.csv");
    matches("if all is done, there is nothing to do",
            "status 0: done at step 8 *; r; *", last_outcome());
    absent("and no log is begun", "none.csv");
    EACH(wrong,
        {"another --d-model than the model has is refused",
         "--d-model: the model in r has 8, not 32",
         "train pairs.tsv --resume --d-model 32 --model r"},
        {"--tie, which the model has not, is refused", "--tie*",
         "train pairs.tsv --resume --tie --model r"},
        {"other --tokens are refused", "--tokens: the model in r has word, not char",
         "train pairs.tsv --resume --tokens char --model r"},
        {"--steps and --epochs exclude each other here, too",
         "--steps and --epochs exclude each other",
         "train pairs.tsv --resume --steps 9 --epochs 9 --model r"});
    same_bytes("the model stays as it is", "r4", "r");
    works("the same --d-model is no conflict, another --lr is allowed",
          "train pairs.tsv --resume --d-model 8 --lr 0.5 --epochs 5 --model r");
    run("train pairs.tsv --layers 1 --d-model 9 --heads 3 --steps 1 --model h");
    works("three heads, which the model has, are no conflict",
          "train pairs.tsv --resume --heads 3 --steps 2 --model h");
    EACH(fails,
        {"without a model there is nothing to resume", "cannot open none: " GONE,
         "train pairs.tsv --resume --model none"},
        {"with --valid it is the same", "cannot open none: " GONE,
         "train pairs.tsv --resume --valid valid.tsv --model none"});
    char *text = header("r"), *begin = "{\"__metadata__\":{";
    with_header("mpi", replaced(text, begin, form("%s\"micro_batches\":\"4\",",
                begin)), "r");
    fails("the run of another program is not gone on with", "mpi*",
          "train pairs.tsv --resume --epochs 9 --model mpi");
    works("its model can be used", "info mpi");
}

// What becomes of such runs is tried by sequences.c; here is what is said.
void test_measured(void) {
    wrong("resumed without --valid, a run that was measured is refused",
          "the best model of the run in whole was found with --valid: give "
          "--valid again",
          "train pairs.tsv --resume --steps 2000 --model whole");
    run("train pairs.tsv --resume --steps 1200 --valid valid.tsv "
        "--model whole");
    char *last = last_outcome();
    matches("and an earlier one what is done", "*nothing to do: 1200 steps*",
            err);
    run("info whole");
    matches("nothing to do: the last line names the file, and the checksum of "
            "what is used", form("status 0: done at step 1200 *; whole; *; "
            "checksum %s", value(out, "checksum")), last);
}

// ## Settings of a resumed run

// What was derived stays derived, what was given stays given, also if it is the
// same number.
void test_derived(void) {
#define NEW MINI "--steps 1 "
    static const struct {
        const char *what, *options, *expected; // the rate, three dropouts
    } runs[] = {
        {"the rate is derived from --d-model 8 and --warmup 400", NEW,
         "0.0176777 0.1 0.1 0.1"},
        {"resumed with another --warmup it is derived anew",
         "--resume --steps 2 --warmup 100", "0.0353553 0.1 0.1 0.1"},
        {"it may be given", "--resume --steps 3 --lr 0.5", "0.5 0.1 0.1 0.1"},
        {"a rate that was given stays", "--resume --steps 4 --warmup 400",
         "0.5 0.1 0.1 0.1"},
        {"one is given that would have been derived",
         NEW "--d-model 16 --warmup 100 --lr 0.025", "0.025 0.1 0.1 0.1"},
        {"it stays, too", "--resume --steps 2 --warmup 400",
         "0.025 0.1 0.1 0.1"},
        {"without the other two, --dropout is all three", NEW "--dropout 0.2",
         "0.0176777 0.2 0.2 0.2"},
        {"also when it changes", "--resume --steps 2 --dropout 0.3",
         "0.0176777 0.3 0.3 0.3"},
        {"one that was given stays",
         "--resume --steps 3 --dropout 0.1 --attention-dropout 0",
         "0.0176777 0.1 0 0.1"},
        {"so does the other",
         "--resume --steps 4 --dropout 0.3 --activation-dropout 0.4",
         "0.0176777 0.3 0 0.4"},
        {"both do, when --dropout changes", "--resume --steps 5 --dropout 0.2",
         "0.0176777 0.2 0 0.4"},
        {"one is given that is the same as --dropout",
         NEW "--dropout 0.1 --attention-dropout 0.1", "0.0176777 0.1 0.1 0.1"},
        {"it stays, too", "--resume --steps 2 --dropout 0.3",
         "0.0176777 0.3 0.1 0.3"}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        run(form("train pairs.tsv %s --model w", runs[i].options));
        run("info w");
        same(runs[i].what, runs[i].expected,
             form("%.6g %s %s %s", strtod(value(out, "lr"), NULL),
                  value(out, "dropout"), value(out, "attention-dropout"),
                  value(out, "activation-dropout")));
    }
}

// Where a log first differs from u.csv: "step column".
char *first_difference(void) {
    LogRow *a = read_log("u.csv"), *b = read_log("w.csv");
    for (; a->fields && b->fields; a++, b++)
        if (a->loss != b->loss || a->rate != b->rate)
            return form("%d %s", b->step,
                        a->loss != b->loss ? "loss" : "learning_rate");
    return "none";
}

// What is changed when a training is resumed is used, too, not only saved.
void test_changes(void) {
    const char *const change[][2] = {
        {"--lr 0.02", "5 learning_rate"}, {"--clip 0.01", "6 loss"},
        {"--batch 2", "5 loss"}, {"--label-smoothing 0.5", "6 loss"},
        {"--dropout 0", "5 loss"}, {"--attention-dropout 0", "5 loss"},
        {"--activation-dropout 0", "5 loss"},
        {"--schedule constant", "5 learning_rate"}};
    run("train pairs.tsv" MINI "--lr 0.01 --warmup 2 --steps 4 --model u");
    copy("u", "w");
    run("train pairs.tsv --resume --steps 7 --model w --log u.csv");
    for (int i = 0; i < 8; i++) {
        copy("u", "w");
        remove("w.csv");
        works(form("resumed with %s", change[i][0]), form("train pairs.tsv "
              "--resume --steps 7 --model w --log w.csv %s", change[i][0]));
        same(form("%s is used from then on", change[i][0]), change[i][1],
             first_difference());
        if (i == 0)
            same("it is the new peak", "0.0126491", form("%.6g",
                 read_log("w.csv")->rate));
    }
    LogRow *r = read_log("w.csv");
    same("the rate stays at the peak", "0.01 0.01 0.01", form("%g %g %g",
         r[0].rate, r[1].rate, r[2].rate));
}

// ## Begun from a model

void test_from(void) {
    part = "from";
    // A model of no step that changes anything has the numbers that a new run of
    // the same seed begins with: so what begins from it is the same run.
#define SAME "--batch 4 --dropout 0.1 --steps 6 --lr 0.01 --seed 3 --valid " \
             "valid.tsv "
    run("train pairs.tsv" MINI "--steps 2 --lr 0 --seed 3 --model start");
    run("train pairs.tsv" MINI SAME "--model new --log new.csv");
    works("a run from a model",
          "train pairs.tsv --from start " SAME "--model from --log from.csv");
    same("from the initial numbers it is the run that makes its own",
         columns("new.csv"), columns("from.csv"));
    write_text("strange.tsv", "zebra a\tq b\n");
    copy("from", "kept");
    works("other data", "train strange.tsv --from from --steps 2 --model on");
    same_bytes("the model that it began with is not touched", "kept", "from");
    run("info on");
    same("its vocabularies are that model's", "15 15", form("%s %s",
         value(out, "source vocabulary"), value(out, "target vocabulary")));
    same("the steps are its own, and no best step is handed on", "2 -",
         form("%s %s", value(out, "steps trained"), value(out, "best step")));
    same("settings of training are defaults again", "0.1 64", form("%s %s",
         value(out, "dropout"), value(out, "batch")));
    run("train pairs.tsv --layers 1 --d-model 16 --heads 2 --max-len 8 --steps 1 "
        "--model wide");
    works("a model of another width than the default",
          "train pairs.tsv --from wide --steps 1 --warmup 100 --model on");
    run("info on");
    same("the learning rate follows from its width", "0.025", value(out, "lr"));
    works("the same --d-model is no conflict",
          "train pairs.tsv --from wide --d-model 16 --steps 1 --model on");
    EACH(wrong,
        {"another --d-model is refused", "--d-model: the model in wide has 16, not 32",
         "train pairs.tsv --from wide --d-model 32 --model none"},
        {"other --tokens are refused here, too",
         "--tokens: the model in wide has word, not char",
         "train pairs.tsv --from wide --tokens char --model none"},
        {"--resume and --from exclude each other",
         "--resume and --from exclude each other",
         "train pairs.tsv --resume --from wide"});
    EACH(fails,
        {"a model that is not there", "cannot open none: " GONE,
         "train pairs.tsv --from none --model none2"},
        {"data are not a model", "pairs.tsv: not a model*",
         "train pairs.tsv --from pairs.tsv --model none"});
    absent("nothing has been written", "none");
    run("train pairs.tsv --resume --steps 9 --valid valid.tsv --model from");
    matches("such a run is resumed like any other", "status 0: done at step 9*",
            last_outcome());
    run("train pairs.tsv --resume --steps 9 --valid valid.tsv --model new");
    run("evaluate new pairs.tsv");
    char *expected = form("%s", out);
    run("evaluate from pairs.tsv");
    same("and ends the same", expected, out);
    // A run that was measured has two sets of numbers: its best is begun with.
    run("evaluate whole pairs.tsv");
    char *loss = value(out, "loss");
    run("train pairs.tsv --from whole --batch 7 --dropout 0 --steps 1 --model on "
        "--log on.csv");
    same("a run begins with the best of a model, not with the newest", "yes",
         fabs(read_log("on.csv")->loss - strtod(loss, NULL)) < 1e-4 ? "yes"
         : form("%s, not %g", loss, read_log("on.csv")->loss));
    stop(SIGINT, 3, "--from start --steps 2000000000");
    matches("stopped it says to go on with --resume, without --from",
            "status 130: stopped at step *--resume*--from*; broken; *",
            last_outcome());
}

// ## A loss that explodes

#define RATE " --batch 4 --dropout 0 --lr 1000 --clip 1e9 --schedule constant " \
    "--warmup 20 "
#define WILD " --layers 6 --d-model 4 --heads 2 --max-len 8" RATE

void test_explosion(void) {
    part = "a learning rate that is far too large";
    EACH(fails_late, {"the loss becomes not a number: it says so and stops",
         "step *: the loss is not a number any more; try a smaller --lr; the "
         "last * is in wild",
         "train pairs.tsv" WILD "--steps 60 --model wild"});
    char *line = line_of(err, -1);
    int bad = atoi(line + strlen("transformer: step "));
    run("info wild");
    int saved = atoi(value(out, "steps trained"));
    same("the model saved before that is of an earlier step", "yes",
         saved > 0 && saved < bad ? "yes" : form("%d of %d", saved, bad));
    run("train pairs.tsv --resume --model wild");
    same("resumed, it fails again, and says again where the good state is", line,
         line_of(err, -1));
    run("train pairs.tsv" WILD "--steps 2000 --model early");
    matches("before the first look it is the state after the first step",
            "status 1: *the loss is not a number any more;* is in early",
            last_outcome());
    run("info early");
    same("which is there", "1", value(out, "steps trained"));
    fails_late("begun from a model that is well, it explodes like any other",
               "step *: the loss is not a number any more; *; the last * is in on",
               "train pairs.tsv --from early" RATE "--steps 2000 --model on");
    run("train pairs.tsv" MINI "--steps 1 --model e");
    make_huge("e", "huge");
    run("train pairs.tsv --from huge --steps 5 --model on");
    same("begun from a model that overflows, a smaller --lr is no advice",
         "status 1, 0", form("status %d, %d", status, count_of(err, "--lr")));
}

// ## Files

// What is there under the name of the model, the log, and beside it.
void test_replacing(void) {
    part = "files";
    run("train pairs.tsv" MINI "--steps 1 --model m --log l.csv");
    works("a model and a log replace others",
          "train pairs.tsv" MINI "--steps 1 --model m --log l.csv");
    copy("m", "kept");
    symlink("m", "link");
    works("a link is replaced, too",
          "train pairs.tsv" MINI "--steps 2 --model link");
    same_bytes("and not what it led to", "kept", "m");
    write_text("notes", "milk\n");
    mkdir("folder", 0700);
    mkfifo("pipe", 0600);
    const char *const other[] = {"notes", "folder", "pipe", "/dev/null"};
    for (int i = 0; i < 8; i++)
        fails(form("a %s does not replace %s", i % 2 ? "log" : "model",
                   other[i / 2]), form("*%s*", other[i / 2]),
              form("train valid.tsv" MINI "--steps 1 --model %s --log %s",
                   i % 2 ? "new1" : other[i / 2], i % 2 ? other[i / 2] : "l1"));
    absent("nothing is trained in all these cases", "new1");
    same("what was there is there", "milk\n", contents("notes", NULL));
    fails("a model into a folder that is not there, before training starts",
          "cannot write nowhere/m*: " GONE,
          "train pairs.tsv" MINI "--model nowhere/m");
    fails("a log into one", "cannot write nowhere/log*: " GONE,
          "train pairs.tsv" MINI "--log nowhere/log --model new1");
}

// A file is written under a name that nobody has.
void test_new_files(void) {
    char *pairs = contents("pairs.tsv", NULL);
    const char *const name[] = {"t.new", "t.csv.new"};
    for (int i = 0; i < 2; i++) {
        write_text(name[i], pairs);
        fails(form("%s is there already: it is named", name[i]),
              form("*%s*", name[i]),
              "train pairs.tsv" MINI "--steps 1 --model t --log t.csv");
        same_bytes("and stays as it is", "pairs.tsv", name[i]);
        absent("there is no model then", "t");
        remove(name[i]);
        symlink("pairs.tsv", name[i]);
        fails(form("%s is a link: so it is", name[i]), form("*%s*", name[i]),
              "train pairs.tsv" MINI "--steps 1 --model t --log t.csv");
        same("what it points to stays", pairs, contents("pairs.tsv", NULL));
        remove(name[i]);
    }
    works("when they are removed it trains",
          "train pairs.tsv" MINI "--steps 1 --model t --log t.csv");
    works("two names in different folders are two files",
          "train pairs.tsv" MINI "--steps 1 --model folder/t --log t.csv");
}

// A limit on the size of files is like a full disk for the log alone.
// (failing.c has a full disk for the model, too.)
void test_full(void) {
    largest_file = 49152;
    fails_late("a log that does not fit", "cannot write w.csv: File too large*",
               "train pairs.tsv" MINI "--steps 20000 --model w2 --log w.csv");
    works("the model of its last look is there", "info w2");
    run("train pairs.tsv" MINI "--steps 20 --model w2");
    // As with `train | tee` after Ctrl-C: whoever reads its messages goes first.
    int ends[2];
    if (pipe(ends) != 0)
        give_up("pipe");
    close(ends[0]);
    stream[2] = ends[1];
    run("train pairs.tsv" MINI "--steps 20 --model w4");
    same_bytes("nobody reads its messages: it trains and saves all the same",
               "w2", "w4");
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
    char *text = shown_by("train pairs.tsv" MINI "--steps 40 --model t");
    if (!text) {
        skip("what is shown at a terminal: there is none to be made");
        return;
    }
    matches("the first step is shown at once", "*step 1/40 * left*", text);
    matches("the line is rewritten, and never wrapped",
            "*left*\033[?7h\r\033[?7lstep *", text);
    text = shown_by("train pairs.tsv" WILD "--steps 2000 --model early");
    same("a message of failure has a line of its own", "1 1", form("%d %d",
         status, count_of(text, "\ntransformer: step")));
    largest_file = 49152;
    text = shown_by("train pairs.tsv" MINI "--steps 2000000 --model t3 --log t3.csv");
    same("so has that of a log that does not fit on the disk", "1 1", form(
         "%d %d", status, count_of(text, "\ntransformer: cannot write t3.csv")));
    give("the cat sleeps\na dog sleeps\n");
    matches("each line is answered", "*un chien dort*",
            shown_by("translate good"));
    matches("info is the same there", "layers 3*", shown_by("info --layers 3"));
}

int main(void) {
    commands_begin();
    test_progress();
    test_means();
    test_defaults();
    test_no_memory();
    test_waiting();
    test_threads();
    test_stopping();
    test_resume();
    test_measured();
    test_derived();
    test_changes();
    test_from();
    test_explosion();
    test_replacing();
    test_new_files();
    test_full();
    test_terminal();
    return claims_end();
}
