// Every option reaches what it names, in every command that takes it.
//
// For each command and each option that its help lists, that is, for each row of
// the program's own tables, there is a claim here about what the option does.
// An option without a claim fails, and so does a claim without an option. Most
// models here are trained with a learning rate of 0: their numbers are the
// initial ones, so that only what the option does can differ.

#include "../lib/commands.h"

#define SMALL " --layers 1 --d-model 8 --heads 2 --d-ff 6 --max-len 8 " \
              "--batch 100 --dropout 0 --lr 0 --steps 1 "

char *claimed = " "; // "train/layers info/layers train/d-model …"

// Claims what an option does in these commands.
void row(const char *commands, const char *option, const char *what,
         const char *expected, const char *got) {
    part = form("%s --%s", commands, option);
    for (const char *c = commands; *c; c += strspn(c, " ")) {
        int length = (int)strcspn(c, " ");
        claimed = form("%s%.*s/%s ", claimed, length, c, option);
        c += length;
    }
    same(what, expected, got);
}

// A model of one step that changes nothing in it.
void make(const char *name, const char *options) {
    run(form("train pairs.tsv" SMALL "%s --model %s.safetensors --log %s.csv",
             options, name, name));
    if (status != 0)
        holds(false, name, "it is trained", last_outcome());
}

// Whether each of two things holds, in words.
const char *yes(bool first, bool second) {
    static const char *const text[] = {"no no", "no yes", "yes no", "yes yes"};
    return text[2 * first + second];
}

// The file of a model of that name.
char *file_of(const char *model) {
    return form("%s.safetensors", model);
}

bool has(const char *model, const char *tensor) {
    return strstr(header(file_of(model)), form("\"%s\":{", tensor)) != NULL;
}

char *shape(const char *model, const char *tensor) {
    char *entry = strstr(header(file_of(model)), form("\"%s\":{", tensor));
    char *text = entry ? strchr(entry, '[') + 1 : "";
    return form("%.*s", (int)strcspn(text, "]"), text);
}

// Whether two models have the same parameters, which come before the moments.
bool same_numbers(const char *a, const char *b) {
    const char *first = file_of(a), *second = file_of(b);
    size_t x, y, p = strlen(header(first)) + 8, q = strlen(header(second)) + 8;
    char *left = contents(first, &x), *right = contents(second, &y);
    return x - p == y - q && !memcmp(left + p, right + q, (x - p) / 3);
}

// A line of what `info` says of a model.
char *info(const char *model, const char *key) {
    run(form("info %s.safetensors", model));
    return value(out, key);
}

// The loss that `evaluate` finds.
double measured(const char *model, const char *data) {
    run(form("evaluate %s.safetensors %s", model, data));
    return strtod(value(out, "loss"), NULL);
}

// The loss of a step, in a log.
double logged(const char *model, int step, bool valid) {
    for (LogRow *r = read_log(form("%s.csv", model)); r->fields; r++)
        if (r->step == step && r->valid == valid)
            return r->loss;
    return NAN;
}

bool near(double a, double b) {
    return fabs(a - b) < 1e-4;
}

int rows_logged(const char *model) {
    return count_of(contents(form("%s.csv", model), NULL), ",train,");
}

// ## Data

// Pairs of nine words, and five in capitals, in each language; the last pair
// has nine words. And source sentences of two words and of four.
void write_data(void) {
    char *text = "", *valid = "", *sources = "";
    for (int k = 0; k < 24; k++) {
        char *s = "", *t = "";
        for (int i = 0; i <= k % 5; i++) {
            char w = (char)('a' + (k * 5 + i * i) % 9);
            s = form("%s%s%c", s, i ? " " : "", w);
            t = form("%s%s%c%c%s", t, i ? " " : "", w, w, w == 'a' ? " aa" : "");
        }
        text = form("%s%s\t%s\n", text, s, t);
    }
    for (char w = 'A'; w <= 'E'; w++)
        text = form("%s%c b\t%c%c bb\n", text, w, w, w);
    text = form("%sa b c d e f g h i\taa bb cc dd ee ff gg hh ii\n", text);
    write_text("pairs.tsv", text);
    for (int i = 2; i < 9; i++)
        valid = form("%s%s\n", valid, line_of(text, i));
    for (char *c = valid; *c; c++)
        *c = *c >= 'a' && *c <= 'd' ? (char)('a' + (*c - 'a' + 3) % 4) : *c;
    write_text("valid.tsv", valid);
    for (int i = 1; i <= 9; i++)
        for (int k = 1; k <= 9; k++)
            sources = form("%s%c %c\n%c %c %c %c\n", sources, 'a' + i - 1,
                           'a' + k - 1, 'a' + i - 1, 'a' + k - 1,
                           'a' + i * k % 9, 'a' + i - 1);
    write_text("sources", sources);
}

char *vocabularies(const char *model) {
    char *source = info(model, "source vocabulary");
    return form("%s %s", source, value(out, "target vocabulary"));
}

// ## The model

// What `info` says of the shape of a model: all but the options of training.
char *outline(void) {
    char *text = "";
    for (int i = 0; i < lines_of(out); i++) {
        char *line = line_of(out, i), *name = form("%.*s ", (int)strcspn(line,
            " "), line);
        if (!strstr("tokens merges lowercase min-count label-smoothing lr warmup "
                    "schedule clip epochs steps seed checksum ", name)
            || !strcmp(name, " "))
            text = form("%s%s\n", text, line);
    }
    return text;
}

#define GIVEN "info --layers 1 --d-model 8 --heads 2 --d-ff 6 --max-len 8 " \
              "--dropout 0 --batch 100 --vocab 18 "

// `info` says the same of this option and of a model m that was made with it, and
// something else without the option.
void agrees(const char *option, const char *given) {
    run("info m.safetensors");
    char *found = outline();
    run(form(GIVEN "--%s %s", option, given));
    char *computed = outline();
    found = replaced(found, "steps trained 1\n", "");
    run(GIVEN);
    row("info", option, "the model that train makes, and not the one without it",
        found, computed);
    holds(strcmp(outline(), computed) != 0, "it makes a difference", "another",
          "the same");
}

void test_model(void) {
    make("m", "--layers 3");
    row("train", "layers", "three in the encoder and three in the decoder",
        "yes yes", yes(has("m", "encoder.2.feed_forward.inner.bias")
        && has("m", "decoder.2.feed_forward.inner.bias"),
        !has("m", "encoder.3.feed_forward.inner.bias")));
    agrees("layers", "3");
    make("m", "--d-model 12");
    row("train", "d-model", "the width of an embedding", "18,12",
        shape("m", "source_embedding.weight"));
    agrees("d-model", "12");
    make("m", "--heads 4");
    run("attention m.safetensors 'a b' --csv heads.csv");
    char *table = contents("heads.csv", NULL);
    row("train", "heads", "the heads of each layer are 0 to 3", "yes yes",
        yes(strstr(table, "\ncross,0,3,") != NULL,
            !strstr(table, "\ncross,0,4,")));
    agrees("heads", "4");
    make("m", "--d-ff 5");
    row("train", "d-ff", "the width of the inner layer", "8,5",
        shape("m", "encoder.0.feed_forward.inner.weight"));
    agrees("d-ff", "5");
    make("m", "--norm pre");
    row("train", "norm", "pre has a last norm, post has none", "yes no",
        yes(has("m", "encoder.norm.gain"), has("plain", "encoder.norm.gain")));
    agrees("norm", "pre");
    double loss = measured("plain", "pairs.tsv");
    make("none", "--positions none");
    make("m", "--positions learned");
    row("train", "positions",
        "learned ones are parameters; without, another loss", "yes yes",
        yes(has("m", "source_positions.weight")
            && !has("plain", "source_positions.weight")
            && !has("none", "source_positions.weight"),
            measured("none", "pairs.tsv") != loss));
    agrees("positions", "learned");
    make("m", "--activation gelu");
    row("train", "activation", "the same numbers give another loss",
        "yes yes", yes(same_numbers("m", "plain"),
                       measured("m", "pairs.tsv") != loss));
    agrees("activation", "gelu");
    make("m", "--tie");
    row("train", "tie", "there is no matrix of the output layer", "no yes",
        yes(has("m", "output.weight"), has("plain", "output.weight")));
    agrees("tie", "");
    make("m", "--max-len 9");
    int left_out = count_of(err, "left out");
    agrees("max-len", "9");
    make("plain", "");
    row("train", "max-len", "with 9 no pair is left out, with 8 one of 9 words",
        "0 pairs.tsv: left out 1 of 30 pairs, with more than 8 tokens",
        form("%d %s", left_out, line_of(err, 1)));
}

// ## Dropout

// Without it the loss of a training step is that of `evaluate`. Each kind alone
// changes it; a kind that is not given follows --dropout. (15-saving.c tests
// which setting is which, 08-decoder.c where it acts.)
void test_dropout(void) {
    double loss = measured("plain", "pairs.tsv");
    part = "train";
    holds(near(logged("plain", 1, false), loss), "without dropout a training step "
          "has the loss that evaluate finds", form("%g", loss),
          form("%g", logged("plain", 1, false)));
    make("m", "--dropout 0.5");
    make("three", "--dropout 0.5 --attention-dropout 0.5 --activation-dropout 0.5");
    make("one", "--dropout 0.5 --attention-dropout 0 --activation-dropout 0");
    make("two", "--dropout 0.5 --activation-dropout 0");
    double all = logged("m", 1, false), one = logged("one", 1, false),
           two = logged("two", 1, false);
    row("train", "dropout", "in all its places, those of the other two, too",
        "yes yes", yes(near(all, logged("three", 1, false)), !near(all, loss)
            && !near(all, one) && !near(all, two) && !near(one, two)));
    agrees("dropout", "0.5");
    for (int i = 0; i < 2; i++) {
        const char *kind = i ? "activation-dropout" : "attention-dropout";
        make("m", form("--%s 0.5", kind));
        row("train", kind, "it changes the loss of a step, not what evaluate finds",
            "no yes", yes(near(logged("m", 1, false), loss),
                          near(measured("m", "pairs.tsv"), loss)));
        agrees(kind, "0.5");
    }
}

// ## The tokens

void test_tokens(void) {
    make("m", "--tokens char --max-len 40");
    row("train", "tokens", "nine small letters, five capitals, a blank, and "
        "the four special tokens", "19 19", vocabularies("m"));
    make("m", "--tokens char --max-len 40 --min-count 4");
    same("--min-count holds for them, too: capitals are rare", "14 14",
         vocabularies("m"));
    make("m", "--tokens bpe --max-len 40 --merges 3");
    make("none", "--tokens bpe --max-len 40 --merges 0");
    int a, b, c, d;
    sscanf(vocabularies("m"), "%d %d", &a, &b);
    sscanf(vocabularies("none"), "%d %d", &c, &d);
    row("train", "merges", "three more pieces than without", "3 3",
        form("%d %d", a - c, b - d));
    make("m", "--lowercase");
    row("train", "lowercase", "capitals are the same words", "13 13",
        vocabularies("m"));
    make("m", "--min-count 4");
    row("train", "min-count", "words that occur four times: none in capitals",
        "13 13", vocabularies("m"));
}

// ## The recipe

// The learning rates of a model's steps.
char *rates(const char *model) {
    char *text = "";
    for (LogRow *r = read_log(form("%s.csv", model)); r->fields; r++)
        text = form("%s%s%g", text, *text ? " " : "", r->rate);
    return text;
}

void test_rates(void) {
    make("m", "--lr 0.25 --warmup 1");
    row("train", "lr", "the peak", "0.25", rates("m"));
    make("m", "--lr 1 --warmup 4 --steps 4");
    row("train", "warmup", "four steps to the peak", "0.25 0.5 0.75 1",
        rates("m"));
    make("m", "--lr 1 --warmup 2 --steps 4 --schedule constant");
    make("four", "--lr 1 --warmup 1 --steps 4");
    row("train", "schedule", "constant stays at the peak, noam falls",
        "0.5 1 1 1, 1 0.707107 0.57735 0.5",
        form("%s, %s", rates("m"), rates("four")));
    make("m", "--lr 0.01 --warmup 1 --steps 2 --clip 1e-9");
    make("two", "--lr 0.01 --warmup 1 --steps 2");
    LogRow *clipped = read_log("m.csv"), *free_ = read_log("two.csv");
    row("train", "clip", "a step so short that Adam cannot make up for it; the "
        "norm is logged", "yes yes", yes(near(clipped[0].loss, free_[0].loss)
            && !near(clipped[1].loss, free_[1].loss),
            clipped[0].norm == free_[0].norm));
}

void test_recipe(void) {
    double loss = measured("plain", "pairs.tsv");
    make("m", "--label-smoothing 0.3 --lr 0.01 --warmup 1 --steps 2 "
         "--valid valid.tsv");
    make("two", "--lr 0.01 --warmup 1 --steps 2");
    row("train", "label-smoothing", "another second step; what is shown is the "
        "plain loss", "no yes", yes(near(logged("m", 2, false),
        logged("two", 2, false)), near(logged("m", 1, false), loss)
        && near(logged("m", 2, true), measured("m", "valid.tsv"))));
    test_rates();
#define COUNTED "train pairs.tsv --layers 1 --d-model 8 --heads 2 --d-ff 6 " \
                "--max-len 8 --dropout 0 --lr 0 --batch 4 --log m.csv " \
                "--model m.safetensors "
    run(COUNTED "--epochs 1");
    row("train", "batch", "29 pairs in batches of four are eight steps", "8",
        form("%d", rows_logged("m")));
    char *steps = "";
    for (int i = 0; i < 3; i++) {
        run(form("info %s %s", i < 2 ? "m.safetensors" : "",
                 i ? "--batch 7" : ""));
        char *line = strstr(out, "training step with ");
        steps = form("%s%d ", steps, line ? atoi(line + 19) : 0);
    }
    row("info", "batch", "a model has its own, unless one is given", "4 7 7 ",
        steps);
    run(COUNTED "--epochs 3");
    row("train", "epochs", "three are 24 steps", "24",
        form("%d", rows_logged("m")));
    make("m", "--steps 5");
    row("train", "steps", "five", "5 5",
        form("%d %s", rows_logged("m"), info("m", "steps trained")));
    make("m", "--seed 2");
    make("two", "--seed 2 --batch 4 --warmup 7");
    make("three", "--seed 3");
    row("train", "seed", "it alone determines the initial numbers", "yes yes",
        yes(same_numbers("m", "two"), !same_numbers("m", "plain")
            && !same_numbers("m", "three")));
}

// ## Files

// The sources of the samples that the last training showed, each after a /.
char *samples(void) {
    char *text = "";
    for (int i = 0; i < lines_of(err); i++) {
        char *line = line_of(err, i), *arrow = strstr(line, "  →");
        if (!strncmp(line, "    ", 4) && arrow)
            text = form("%s/%.*s", text, (int)(arrow - line - 4), line + 4);
    }
    return text;
}

// The first three sources of a file, in the same way.
char *first_sources(const char *path) {
    char *data = contents(path, NULL), *text = "";
    for (int i = 0; i < 3; i++) {
        char *line = line_of(data, i);
        text = form("%s/%.*s", text, (int)strcspn(line, "\t"), line);
    }
    return text;
}

void test_files(void) {
    run("train pairs.tsv" SMALL "--model there.safetensors");
    row("train", "model", "there it is", "yes yes",
        yes(exists("there.safetensors"),
            same_file("there.safetensors", "plain.safetensors")));
    make("m", "--seed 5");
    run("train pairs.tsv --from m.safetensors --lr 0 --steps 1 --model "
        "copy.safetensors");
    row("train", "from", "the run begins with its parameters", "yes no",
        yes(same_numbers("m", "copy"), same_numbers("plain", "copy")));
    make("m", "");
    same("without --valid the samples are training data",
         first_sources("pairs.tsv"), samples());
    make("m", "--valid valid.tsv");
    char *shown = samples();
    row("train", "valid", "samples of these data, and the loss on them",
        form("%s yes yes", first_sources("valid.tsv")), form("%s %s", shown,
             yes(*shown, near(logged("m", 1, true), measured("m", "valid.tsv")))));
    matches("the log has a row for each step, and for each look",
            "step,*\n1,train,*\n1,valid,*\n", contents("m.csv", NULL));
    row("train", "log", "and no other", "3",
        form("%d", lines_of(contents("m.csv", NULL))));
    run("train pairs.tsv --resume --steps 3 --model plain.safetensors --log "
        "resumed.csv");
    char *log = contents("resumed.csv", NULL);
    row("train", "resume", "it goes on from the model's step", "2 3", form("%d "
        "%d", atoi(line_of(log, 1)), atoi(line_of(log, 2))));
    make("plain", "");
}

// ## What using a model does

void train_noisy(int seed) {
    run(form("train pairs.tsv --layers 1 --d-model 16 --heads 2 --max-len 8 "
             "--batch 8 --dropout 0.2 --label-smoothing 0.1 --lr 0.04 --warmup 10 "
             "--steps 300 --seed %d --model noisy.safetensors", seed));
}

char *translated(const char *options) {
    give(contents("sources", NULL));
    run(form("translate noisy.safetensors %s", options));
    return form("%s", out);
}

// If the references are what a beam of three finds, all are exact matches for
// an evaluation with a beam of three, and not for one with another beam: with
// the first of some models for which the beam makes a difference.
void test_beams(void) {
    const char *const way[] = {"--beam 3", "--beam 1", "--beam 2", "--beam 4"};
    char *found = "";
    for (int seed = 1; seed <= 5 && strcmp(found, "ssoooooo"); seed++) {
        train_noisy(seed);
        char *expected = translated(way[0]), *pairs = "";
        for (int i = 0; i < lines_of(expected); i++) {
            char *line = line_of(expected, i);
            if (*line && count_of(line, " ") < 7)
                pairs = form("%s%s\t%s\n", pairs, line_of(contents("sources",
                             NULL), i), line);
        }
        write_text("found.tsv", pairs);
        found = "";
        for (int i = 0; i < 4; i++) {
            char *other = translated(way[i]);
            run(form("evaluate noisy.safetensors found.tsv %s", way[i]));
            found = form("%s%c%c", found, strcmp(other, expected) ? 'o' : 's',
                         strcmp(value(out, "exact_match"), "100.00") ? 'o' : 's');
        }
    }
    row("translate evaluate", "beam",
        "both find the same with 3, not so with 1, 2 and 4", "ssoooooo",
        found);
}

void test_attention(void) {
    run("attention noisy.safetensors 'a b' --target 'cc dd ee' --csv "
        "target.csv");
    char *table = contents("target.csv", NULL), *words = "";
    for (int i = 0; i < lines_of(table); i++) {
        char *line = line_of(table, i), *quote = strchr(line, '"');
        int query, key;
        if (sscanf(line, "decoder,0,0,%d,%d,", &query, &key) == 2 && key == 0)
            words = form("%s%s%.*s", words, *words ? " " : "",
                         (int)strcspn(quote + 1, "\""), quote + 1);
    }
    row("attention", "target", "the words that the decoder reads",
        "<start> cc dd ee", words);
    row("attention", "csv",
        "a row for each weight: 3 kinds, 2 heads, 4 and 3 tokens", "74",
        form("%d", lines_of(table) - 1));
}

// ## Info, and help

long parameters(int words) {
    run(form("info --d-model 8 --vocab %d", words));
    char *line = strstr(out, "\nparameters");
    return line ? atol(replaced(form("%s", line + 11 + strspn(line + 11, " ")),
                                ",", "")) : 0;
}

void test_info(void) {
    row("info", "vocab", "a word more takes 3 d-model + 1 parameters", "25",
        form("%ld", parameters(51) - parameters(50)));
    const char *const command[] = {"train", "translate", "evaluate", "attention",
                                   "info"};
    for (int i = 0; i < 5; i++) {
        run(form("%s nowhere --help", command[i]));
        row(command[i], "help", "is shown, and nothing else done",
            form("transformer %s 0", command[i]),
            form("%.*s %d", (int)strlen(command[i]) + 12, out, status));
    }
}

// ## Threads

// The most threads that worked together. (Each says so when it begins to.)
int most_threads(const char *command) {
    int most = 0;
    setenv("OMP_DISPLAY_AFFINITY", "true", 1);
    setenv("OMP_AFFINITY_FORMAT", "%N work", 1);
    give("a b c d e f g h\n");
    run(command);
    unsetenv("OMP_DISPLAY_AFFINITY");
    for (int i = 0; i < lines_of(err); i++)
        if (strstr(line_of(err, i), " work") && atoi(line_of(err, i)) > most)
            most = atoi(line_of(err, i));
    return most;
}

void test_threads(void) {
#define LARGE "train pairs.tsv --layers 1 --d-model 256 --heads 2 --steps 1 " \
              "--max-len 8 --model "
    run(LARGE "large.safetensors");
    int cores = sysconf(_SC_NPROCESSORS_ONLN) < 2 ? 1 : 2;
    run("translate large.safetensors --threads 2");
    if (status != 0) {
        row("train translate evaluate attention", "threads", "there are none in "
            "this program", "status 2: transformer: --threads 2: this program "
            "was built without OpenMP", form("%.*s", (int)strcspn(outcome(), "("
            ) - 1, outcome()));
        return;
    }
    const char *const use[][2] = {
        {"train", LARGE "threads.safetensors"}, {"translate", "translate large.safetensors"},
        {"evaluate", "evaluate large.safetensors pairs.tsv"},
        {"attention", "attention large.safetensors 'a b c d e f g h'"}};
    for (int i = 0; i < 4; i++) {
        int one = most_threads(form("%s --threads 1", use[i][1]));
        int two = most_threads(form("%s --threads 2", use[i][1]));
        row(use[i][0], "threads", "that many work together",
            form("1 %d", cores), form("%d %d", one ? one : 1, two));
    }
}

// ## No row is missing

void test_all_claimed(void) {
    const char *const command[] = {"train", "translate", "evaluate", "attention",
                                   "info"};
    part = "tables";
    for (int i = 0; i < 5; i++) {
        run(form("%s --help", command[i]));
        char *missing = "", name[50];
        int options = 0;
        for (int k = 0; k < lines_of(out); k++)
            if (sscanf(line_of(out, k), "  --%49s", name) == 1) {
                options++;
                if (!strstr(claimed, form(" %s/%s ", command[i], name)))
                    missing = form("%s %s", missing, name);
            }
        same(form("%s: each of its options has a claim here", command[i]), "",
             missing);
        same(form("%s --help lists each option that has one", command[i]),
             form("%d", count_of(claimed, form(" %s/", command[i]))),
             form("%d", options));
    }
}

int main(void) {
    commands_begin();
    write_data();
    make("plain", "");
    test_model();
    test_dropout();
    test_tokens();
    test_recipe();
    test_files();
    test_beams();
    test_attention();
    test_info();
    test_threads();
    test_all_claimed();
    return claims_end();
}
