// The command line: help, wrong use, data, and all commands that use a model.
// (cli-train.c has training.)

#include "../lib/commands.h"

// ## Help

// The values in brackets at the ends of the lines: "beam 1 …".
char *defaults(void) {
    char *all = "";
    for (int i = 0; i < lines_of(out); i++) {
        char *line = line_of(out, i), *open = strrchr(line, '[');
        if (!strncmp(line, "  --", 4) && open && strchr(open, ']'))
            all = form("%s%s%.*s %.*s", all, *all ? " " : "",
                       (int)strcspn(line + 4, " "), line + 4,
                       (int)strcspn(open + 1, "]"), open + 1);
    }
    return all;
}

// (options.c checks that all options are listed, and no others.)
void test_command_help(const char *command, const char *initial) {
    run(form("%s --help", command));
    same(form("%s --help shows the defaults", command), initial, defaults());
    same(form("%s --help prints nothing on stderr", command), "", err);
}

#define MODEL_DEFAULTS "layers 2 d-model 64 heads 4 dropout 0.1 norm post " \
    "positions sinusoidal activation relu max-len 64 "
#define TRAIN_DEFAULTS MODEL_DEFAULTS "tokens word min-count 1 " \
    "label-smoothing 0 warmup 400 schedule noam clip 1 batch 64 epochs 20 " \
    "seed 1 model model.safetensors"

void test_help(void) {
    part = "help";
    const char *const asks[] = {"--help", "-h", "help"};
    for (int i = 0; i < 3; i++) {
        works(form("%s ends with status 0", asks[i]), asks[i]);
        matches(form("%s names all commands", asks[i]), "*\n  train *\n  "
                "translate *\n  evaluate *\n  attention *\n  info *", out);
    }
    prints("--version prints one line", "transformer *.*\n", "--version");
    same("and nothing else", "1 line", form("%d line", lines_of(out)));
    works("COMMAND -h is understood", "train -h");
    test_command_help("train", TRAIN_DEFAULTS);
    test_command_help("translate", "beam 1");
    test_command_help("evaluate", "beam 1");
    test_command_help("attention", "");
    test_command_help("info", MODEL_DEFAULTS "batch 64 vocab 10000");
    char *page = contents(form("%s/docs/using.md", root), NULL);
    char name[32], initial[32];
    int shown = 0, length;
    for (const char *c = "d-ff 256 merges 4000 " TRAIN_DEFAULTS; sscanf(c, "%31s %31s%n",
         name, initial, &length) == 2; c += length)
        shown += isdigit(*initial)
              && (strstr(page, form("--%s %s`", name, initial))
                  || strstr(page, form("--%s %s ", name, initial)));
    same("docs/using.md shows the same defaults, 12 of them", "12",
         form("%d", shown));
}

// ## Wrong use

// The message says what is allowed. Every limit of every row of the table is
// tried by 15-saving.c.
void test_values(void) {
#define WHOLE "a whole number from "
#define NUMBER "a number from "
    static const char *const values[][2] = {
        {"layers", WHOLE "1 to 100"}, {"d-model", WHOLE "1 to 65536"},
        {"heads", WHOLE "1 to 1024"}, {"d-ff", WHOLE "1 to 262144"},
        {"max-len", WHOLE "1 to 100000"}, {"merges", WHOLE "0 to 100000"},
        {"min-count", WHOLE "1 to 1000000"}, {"epochs", WHOLE "1 to 1000000"},
        {"batch", WHOLE "1 to 1000000"}, {"steps", WHOLE "1 to 2000000000"},
        {"warmup", WHOLE "1 to 10000000"}, {"seed", WHOLE "0 to 2147483647"},
        {"dropout", NUMBER "0 to 0.99"}, {"label-smoothing", NUMBER "0 to 0.99"},
        {"attention-dropout", NUMBER "0 to 0.99"}, {"lr", NUMBER "0 to 1000"},
        {"activation-dropout", NUMBER "0 to 0.99"}, {"norm", "post|pre"},
        {"clip", NUMBER "1e-09 to 1000000000"}, {"tokens", "word|char|bpe"},
        {"positions", "sinusoidal|learned|none"}, {"activation", "relu|gelu"},
        {"schedule", "noam|constant"}, {"threads", WHOLE "1 to 1024"},
        {"beam", WHOLE "1 to 64"}, {"vocab", WHOLE "5 to 10000000"}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const char *name = values[i][0], *allowed = values[i][1];
        wrong(form("--%s is %s", name, allowed),
              form("--%s: \"-5 x\" is not %s", name, allowed),
              form("%s --%s '-5 x'", !strcmp(name, "vocab") ? "info"
                   : strstr("threads beam", name) ? "translate a" : "train a",
                   name));
    }
}

// Too few operands, and too many.
void test_operands(void) {
    static const char *const takes[][3] = {
        {"train", "", "DATA.tsv"}, {"translate", "", "MODEL"},
        {"evaluate", "a", "MODEL DATA.tsv"},
        {"attention", "a", "MODEL SENTENCE"}, {"info", NULL, "[MODEL]"}};
    for (int i = 0; i < 5; i++) {
        const char *name = takes[i][0], *few = takes[i][1], *of = takes[i][2];
        if (few)
            wrong(form("%s needs %s", name, of), form("%s needs %s", name, of),
                  form("%s %s", name, few));
        wrong(form("%s takes no more than %s", name, of),
              form("unexpected argument \"z\"; %s takes %s", name, of),
              form("%s a %s z", name, few ? few : ""));
    }
}

void test_wrong_use(void) {
    part = "wrong use";
    test_operands();
    EACH(wrong,
        {"what shall I do? train, translate, evaluate, attention or info", ""},
        {"there is no command \"learn\"", "learn"},
        {"there is no command \"\"", "''"},
        {"there is no command \"--tie\"", "--tie"},
        {"unexpected argument \"cat\"; attention takes MODEL SENTENCE",
         "attention a the cat"},
        {"train has no option --layer", "train --layer 2 a"},
        {"train has no option --la", "train --la 2 a"},
        {"train has no option --depth", "train --depth=2 a"},
        {"translate has no option --layers", "translate a --layers 2"},
        {"train has no option -x", "train -x pairs.tsv"},
        {"train has no option -steps", "train pairs.tsv -steps 2"},
        {"--log: *", "train a --log="},
        {"--layers needs a value: a whole number from 1 to 100",
         "info --layers"},
        {"--layers needs a value: a whole number from 1 to 100",
         "train a --layers --tie"},
        {"--norm needs a value: post|pre", "train a --norm"},
        {"--model needs a value*", "train a --model"},
        {"--model: *", "train a --model ''"},
        {"--tie takes no value", "train a --tie=yes"},
        {"--help takes no value", "train a --help=yes"},
        {"--steps and --epochs exclude each other",
         "train pairs.tsv --steps 5 --epochs 5"});
    wrong("heads must divide d-model",
          "3 heads cannot share a d-model of 64: it must be a multiple",
          "train pairs.tsv --heads 3");
    run("info --layers=7 --norm=pre --tie");
    same("--name=value is understood", "7 pre yes", form("%s %s %s",
         value(out, "layers"), value(out, "norm"), value(out, "tie")));
    fails("a single - is the name of a file", "cannot open -: " GONE,
          "translate -");
    works("-- ends the options", "info --tie --");
    wrong("what follows is an operand", "unexpected argument \"--tie\"; info "
          "takes [MODEL]", "info -- good --tie");
    char *name = form("%03000d", 0);
    fails("a long message keeps its end", form("cannot open %s: File*name too "
          "long", name), form("evaluate %s in", name));
    fails("a message keeps the letters of any language",
          "cannot open été: " GONE, "translate été");
    test_values();
}

// ## Data

// 14-text.c reads every kind of file. Here are all the ways to give one.
void test_bad_data(void) {
    write_text("data.tsv", "a\tb\r\nc\td\re\tf\r\n");
    write_text("short.tsv", "a\tb\nc\n");
    EACH(fails,
        {"data.tsv:2: a carriage return in the middle: lines must end with LF "
         "or CR LF", "train data.tsv" MINI "--model bad.safetensors"},
        {"cannot open nowhere.tsv: " GONE, "train nowhere.tsv"},
        {"cannot open nowhere: " GONE,
         "train pairs.tsv --valid nowhere --model bad.safetensors"},
        {"short.tsv:2: expected source, tab, target; found no tab",
         "train pairs.tsv --valid short.tsv --model bad.safetensors"},
        {"cannot open nowhere: " GONE, "evaluate good.safetensors nowhere"},
        {"short.tsv:2: expected source, tab, target; found no tab",
         "evaluate good.safetensors short.tsv"},
        {"pairs.tsv: no word occurs 100 times",
         "train pairs.tsv --min-count 100 --model bad.safetensors"});
    absent("no model is made of bad data", "bad.safetensors");
}

void test_good_data(void) {
    run("train pairs.tsv" MINI "--steps 3 --model plain.safetensors");
    char *pairs = contents("pairs.tsv", NULL);
    int ends[2];
    if (pipe(ends) != 0
        || write(ends[1], pairs, strlen(pairs)) != (ssize_t)strlen(pairs))
        give_up("pipe");
    close(ends[1]);
    stream[0] = ends[0];
    works("data may come through a pipe",
          "train /dev/stdin" MINI "--steps 3 --model piped.safetensors");
    close(ends[0]);
    same_bytes("which is read once", "plain.safetensors", "piped.safetensors");
    write_text("data.tsv", "x y\tz\n");
    run("train data.tsv --resume --steps 4 --model plain.safetensors");
    same("if a model knows no word of the data, it says so",
         "data.tsv: the model does not know 3 of 3 tokens", line_of(err, 0));
    write_text("data.tsv", "a cat sleeps\tun chat dort\na dog zzz\tun chat dort\n");
    run("train data.tsv --from good.safetensors --steps 3 "
        "--model from.safetensors");
    same("also if it lacks a single one, and the run begins with a model",
         "data.tsv: the model does not know 1 of 12 tokens", line_of(err, 0));
    const char *hint = "data.tsv: most sentences are one word; without blanks "
                       "between words, use --tokens char or bpe";
    write_text("data.tsv", "我爱你。\tje t'aime\n你爱我。\ttu m'aimes\n是 的\toui\n");
    run("train data.tsv" MINI "--steps 3 --model chinese.safetensors");
    same("for lines of a single word another tokenization is suggested", hint,
         line_of(err, 0));
    run("train data.tsv" MINI "--steps 3 --model chinese.safetensors --tokens char");
    same("but not if it is in use", "0",
         form("%d", strstr(err, "are one word") != NULL));
    run("train pairs.tsv" MINI "--steps 3 --model plain.safetensors");
    same("nor if most lines have several words", "0",
         form("%d", strstr(err, "are one word") != NULL));
}

void test_long_pairs(void) {
    const char *more = "one two three four five six seven eight nine\ta\n"
                       "a\tone two three four five six seven eight nine\n";
    static const char *const of[][2] = {
        {"training data", "train data.tsv" MINI "--steps 3 --model "
         "l.safetensors"},
        {"validation data",
         "train pairs.tsv" MINI "--steps 3 --valid data.tsv --model "
         "k.safetensors"},
        {"data to evaluate", "evaluate good.safetensors data.tsv"}};
    write_text("data.tsv", form("%s%s", contents("pairs.tsv", NULL), more));
    write_text("long.tsv", more);
    for (int i = 0; i < 3; i++) {
        works(form("%s may have pairs longer than --max-len", of[i][0]),
              of[i][1]);
        same("they are left out and counted", "data.tsv: left out 2 of 9 "
             "pairs, with more than 8 tokens", line_of(err, 0));
        if (i == 0)
            matches("the others are there", "*\ndata: 7 pairs*", err);
    }
    same("and not measured", "7", value(out, "sentences"));
    EACH(fails,
        {"long.tsv: every pair has more than 8 tokens", "train long.tsv" MINI
         "--model l2.safetensors"},
        {"long.tsv: every pair has more than 8 tokens", "train pairs.tsv" MINI
         "--model l2.safetensors --valid long.tsv"},
        {"long.tsv: every pair has more than 8 tokens",
         "evaluate good.safetensors long.tsv"});
}

// ## Translate

// Claims what a model makes of these lines.
void translates(const char *what, const char *expected, const char *model,
                const char *lines) {
    give(lines);
    prints(what, expected, form("translate %s", model));
}

void test_lines(void) {
    char *targets = TARGETS;
    translates("what was learned by heart comes out", targets,
               "good.safetensors", SOURCES);
    translates("no input, no output, not even an empty line", "",
               "good.safetensors", "");
    translates("an empty line gives an empty line", "\n", "good.safetensors",
               "\n");
    translates("empty lines and lines of spaces stay where they are",
               "un chat dort\n\n\nle chien mange\n\n", "good.safetensors",
               "a cat sleeps\n\n \t\nthe dog eats\n\n");
    translates("a last line without an end counts", "le chien mange\n",
               "good.safetensors",
               "the dog eats");
    give("zebra\nthe zebra sleeps\n<unknown> <pad> <start> <end>\n🦓\n");
    works("unknown words do no harm", "translate good.safetensors");
    same("as many lines come out as go in", "4", form("%d", lines_of(out)));
    same("the number of unknown words is printed once",
         "the model does not know 7 of the input's tokens\n", err);
    give("the cat sleeps\n");
    run("translate good.safetensors");
    same("nothing is printed if the model knows all words", "", err);
    translates("a line may be long, if its words are few",
               "le chat dort\nle chat dort\n", "good.safetensors",
               form("%3000s\n%255s\n", "the cat sleeps", "the cat sleeps"));
    translates("Windows line endings end lines", "le chat dort\n\n",
               "good.safetensors", "the cat sleeps\r\n\r\n");
    translates("a byte order mark is not part of the first word",
               "le chat dort\n", "good.safetensors",
               "\xef\xbb\xbfthe cat sleeps\n");
    translates("nor is it in a later line, as cat leaves it between two files",
               "le chat dort\nle chat dort\n", "good.safetensors",
               "the cat sleeps\n\xef\xbb\xbfthe cat sleeps\n");
    same("so no word is unknown", "", err);
}

void test_bad_lines(void) {
    const char *long_line = "line %d of the input has 9 tokens; the model takes "
                            "at most 8 (train with --max-len 9)";
    give("a cat sleeps\n1 2 3 4 5 6 7 8\n");
    works("a line of --max-len tokens is translated",
          "translate good.safetensors");
    give("1 2 3 4 5 6 7 8 9\n");
    fails("a line of more than --max-len tokens is an error",
          form(long_line, 1), "translate good.safetensors");
    give("a cat sleeps\n\n1 2 3 4 5 6 7 8 9\na dog sleeps\n");
    run("translate good.safetensors");
    same("an error names the number of the line",
         form("transformer: %s\n", form(long_line, 3)), err);
    same("the lines before a wrong one are translated", "un chat dort\n\n", out);
    give("a cat sleeps\n\377\376\n");
    fails_late("a line that is not UTF-8 is an error",
               "line 2 of the input is not valid UTF-8",
               "translate good.safetensors");
    write_file("in", "a cat sleeps\na cat\0sleeps\n", 26);
    fails_late("a zero byte is an error", "line 2 of the input has a zero byte*",
               "translate good.safetensors");
    same("even then the lines before it are translated", "un chat dort\n", out);
    translates("a line of one byte less than 2^20 is translated",
               "un chat dort\nun chat dort\n", "good.safetensors",
               form("a cat sleeps\n%*s\n", (1 << 20) - 1, "a cat sleeps"));
    give(form("a cat sleeps\n%*s\n", 1 << 20, "a cat sleeps"));
    fails_late("one of 2^20 bytes is not",
               "line 2 of the input has a megabyte or more", "translate good.safetensors");
    same("and the lines before it are translated", "un chat dort\n", out);
    stream[0] = open(".", O_RDONLY);
    fails("a folder as input is an error",
          "cannot read the input: Is a directory",
          "translate good.safetensors");
    stream[0] = CLOSED;
    fails("so is none", "cannot read the input: Bad file descriptor",
          "translate good.safetensors");
}

void test_letters(void) {
    write_text("upper.tsv", "The CAT\tLE Chat\nSummer\tÉTÉ\nWinter\thiver\n");
    run("train upper.tsv" TINY "--lowercase --steps 200 --model "
        "lower.safetensors");
    translates("a --lowercase model takes any case and writes small letters",
               "le chat\nle chat\nété\n", "lower.safetensors",
               "the cat\nTHE CAT\nsUMMER\n");
    write_text("chars.tsv", "ab\tb  a!\nbé\té b\nba\tab\n");
    run("train chars.tsv" TINY "--tokens char --steps 200 --model "
        "char.safetensors");
    translates("a model of characters writes them without spaces between",
               "b  a!\né b\nab\n", "char.safetensors", "ab\nbé\nba");
    write_text("exact.tsv", "ab\tb a!\nbé\té b\nba\tba\n");
    run("evaluate char.safetensors exact.tsv");
    same("its matches are those of words: blanks do not count", "66.67",
         value(out, "exact_match"));
    give("abababab\r\n");
    works("a Windows line ending is not a character: 8 are not too many",
          "translate char.safetensors");
    give("aaaaaaaaa\n");
    fails("a model of characters counts characters", "line 1 of the input has "
          "9 tokens; the model takes at most 8 (train with --max-len 9)",
          "translate char.safetensors");
    give("abz\ny\n");
    run("translate char.safetensors");
    same("and characters that it does not know", "the model does not know 2 of "
         "the input's tokens\n", err);
}

// Writes to a program that waits, and reads an answer.
void converse(const char *what, int to, const char *question, int from,
              const char *expected) {
    char answer[100] = "";
    if (write(to, question, strlen(question)) != (ssize_t)strlen(question))
        give_up(what);
    for (size_t n = 0; n < 99 && !strchr(answer, '\n'); n++)
        if (read(from, answer + n, 1) != 1)
            break;
    same(what, expected, answer);
}

void test_waiting(void) {
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0)
        give_up("pipe");
    fcntl(to[1], F_SETFD, FD_CLOEXEC);
    fcntl(from[0], F_SETFD, FD_CLOEXEC);
    stream[0] = to[0];
    stream[1] = from[1];
    pid_t process = start("translate good.safetensors");
    close(to[0]);
    close(from[1]);
    converse("each line is answered at once", to[1], "a cat sleeps\n",
             from[0], "un chat dort\n");
    converse("even in the middle of the next line", to[1],
             "the cat sleeps\nthe dog ", from[0], "le chat dort\n");
    converse("which is not cut", to[1], "eats\n", from[0], "le chien mange\n");
    close(to[1]);
    finish(process);
    same("and it ends when the input ends", "0", form("%d", status));
    close(from[0]);
}

// ## Evaluate

// BLEU of perfect translations: those of two and three words have no run of
// four words, and count as if one were missing.
#define HIGHEST_BLEU "91.22"

void test_evaluate(void) {
    part = "evaluate";
    works("the model is measured on what it has learned by heart",
          "evaluate good.safetensors pairs.tsv");
    char *first = form("%s", out);
    matches("it prints the keys in their order", "sentences *\ntokens *\n"
            "loss *\nperplexity *\ntoken_accuracy *\nexact_match *\nbleu *\n",
            out);
    same("and no other", "7", form("%d", lines_of(out)));
    same("a model that knows all by heart is perfect", "7 37 100.00 100.00",
         form("%s %s %s %s", value(out, "sentences"), value(out, "tokens"),
              value(out, "token_accuracy"), value(out, "exact_match")));
    same("and BLEU is the most that such short sentences can have",
         HIGHEST_BLEU, value(out, "bleu"));
    double loss = strtod(value(out, "loss"), NULL);
    same("the loss is small, and the perplexity its exponential", "yes",
         loss < 0.1 && fabs(exp(loss) - strtod(value(out, "perplexity"), NULL))
         < 1e-4 ? "yes" : out);
    same("nothing is printed on stderr", "", err);
    run("evaluate good.safetensors pairs.tsv --beam 4");
    same("a beam finds the same, where the model is sure", first, out);
    write_text("unknown.tsv", "the cat sleeps\tle zebra dort\n");
    run("evaluate good.safetensors unknown.tsv");
    same("an unknown word is never right", "0.00", value(out, "exact_match"));
    write_text("rare.tsv", "a\tb x\na\tb y\na\tb z\n");
    run("train rare.tsv" TINY "--min-count 2 --steps 100 --model "
        "rare.safetensors");
    run("evaluate rare.safetensors rare.tsv");
    same("an unknown word is not right even if the model writes <unknown>",
         "66.67 0.00", form("%s %s", value(out, "token_accuracy"),
                            value(out, "exact_match")));
}

// ## Byte pairs

#define PIECES TINY "--max-len 40 --tokens bpe "

void test_learning_pieces(void) {
    works("a model of byte pairs is trained",
          "train pairs.tsv" PIECES "--merges 25 --steps 300 --model "
          "bpe.safetensors");
    run("info bpe.safetensors");
    same("info says what its tokens are", "bpe 25 1", form("%s %s %s",
         value(out, "tokens"), value(out, "merges"), value(out, "min-count")));
    translates("translations have words and blanks as a model of words has "
               "them", TARGETS, "bpe.safetensors", SOURCES);
    run("evaluate bpe.safetensors pairs.tsv");
    same("every training pair is learned", "100.00", value(out, "exact_match"));
    same("exact matches and BLEU count words, not pieces",
         HIGHEST_BLEU, value(out, "bleu"));
    works("attention of byte pairs", "attention bpe.safetensors 'the cat "
          "sleeps'");
    write_text("sources.tsv", side_by_side(SOURCES, SOURCES));
    copy("bpe.safetensors", "again.safetensors");
    run("train sources.tsv --resume --steps 301 --model again.safetensors");
    char *text = strstr(header("bpe.safetensors"), "\"source_vocabulary\"");
    holds(strstr(header("again.safetensors"), form("%.*s", (int)strcspn(text,
          "}"), text)),
          "resuming with other data does not change the pieces", text,
          header("again.safetensors"));
    EACH(wrong,
        {"--merges needs --tokens bpe", "train pairs.tsv" MINI "--merges 5"},
        {"--merges needs --tokens bpe", "train pairs.tsv" MINI
         "--tokens char --merges 5"},
        {"--min-count and --tokens bpe exclude each other", "train pairs.tsv"
         MINI "--min-count 2 --tokens bpe"});
}

void test_pieces(void) {
    give("tach sleet\n");
    works("new words of known characters", "translate bpe.safetensors");
    same("are made of pieces, and not unknown", "", err);
    give("tach caß sleet\n");
    run("translate bpe.safetensors");
    same("a word with a character that the training data lack is", "the model "
         "does not know 1 of the input's tokens\n", err);
    give("the cat sleeps\nqqqqqqqqqqqqqqqqqqqq qqqqqqqqqqqqqqqqqqqq\n");
    fails_late("a line of too many pieces says how many it has", "line 2 of the "
          "input has 42 tokens; the model takes at most 40 (train with "
          "--max-len 42)", "translate bpe.safetensors");
    works("with that --max-len", "train pairs.tsv" PIECES
          "--merges 25 --max-len 42 --steps 1 --model long.safetensors");
    give("qqqqqqqqqqqqqqqqqqqq qqqqqqqqqqqqqqqqqqqq\n");
    works("such a line is translated", "translate long.safetensors");
    write_text("longer.tsv", form("%s%.41s\ta\n", contents("pairs.tsv", NULL),
               "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq"));
    run("train longer.tsv" PIECES "--merges 0 --steps 1 --model "
        "longer.safetensors");
    same("pairs that are too long are left out and counted", "longer.tsv: left "
         "out 1 of 8 pairs, with more than 40 tokens", line_of(err, 0));
}

// Files of earlier editions. The second kept the newest state in one whose name had
// a .last in it. The first wrote its file when it had trained on these pairs, and made
// this of three sentences, with a mistake.
void test_editions(void) {
    static const char *const edition[][2] = {{"first-edition", "602"},
                                              {"second-edition.last", "42"}};
    copy(form("%s/tests/golden/first-edition.safetensors", root),
         "first.safetensors");
    write_text("first.tsv", "a cat sleeps\tun chat dort\na dog sleeps\tun chien "
               "dort\nthe cat eats\tle chat mange\nthe dog eats\tle chien "
               "mange\n");
    translates("a model of the first edition translates as it did", "un chat "
               "chien mange\nle chien mange\nle chien mange\n",
               "first.safetensors",
               "the cat sleeps\na dog eats\nthe dog eats\n");
    run("evaluate first.safetensors first.tsv");
    same("and is as good as it was", "0.000129", value(out, "loss"));
    run("info first.safetensors");
    same("it is one of words", "word", value(out, "tokens"));
    for (int i = 0; i < 2; i++) {
        copy(form("%s/tests/golden/%s.safetensors", root, edition[i][0]),
             "old.safetensors");
        run(form("train first.tsv --resume --steps %s --model old.safetensors",
                 edition[i][1]));
        run("info old.safetensors");
        same(form("%s goes on", edition[i][0]), edition[i][1],
             value(out, "steps trained"));
    }
}

// ## Attention

void test_attention(void) {
    part = "attention";
    works("it shows what the model looks at",
          "attention good.safetensors 'the cat sees a dog' --csv a.csv");
    char *picture = form("%s", out);
    matches("first the translation, an empty line, and a picture for each layer",
            "le chat voit un chien\n\n*cross-attention, layer 0, mean of 2 "
            "heads*cross-attention, layer 1, mean of 2 heads*", out);
    char *csv = contents("a.csv", NULL);
    same("the header of the CSV",
         "kind,layer,head,query,key,weight,query_token,key_token",
         line_of(csv, 0));
    same("one line for each weight: 3 kinds, 2 layers, 2 heads, 6 by 6 tokens",
         "433", form("%d", lines_of(csv)));
    absent("the temporary file is gone", "a.csv.new");
    run("attention good.safetensors 'the cat sees a dog' --target 'le chat "
        "voit un chien' "
        "--csv b.csv");
    same_bytes("without --target it is the attention to its own translation",
               "a.csv", "b.csv");
    same("and the picture of it", picture, out);
    works("--target: attention to another translation",
          "attention good.safetensors 'the cat sees a dog' --target 'le chat "
          "dort' "
          "--csv b.csv");
    same("the --target stands above the picture", "le chat dort",
         line_of(out, 0));
    same("3 kinds, 2 layers, 2 heads: 6 by 6, 4 by 4 and 4 by 6 weights", "305",
         form("%d", lines_of(contents("b.csv", NULL))));
    works("a sentence with quote marks and commas",
          "attention good.safetensors 'the dog says \"yes, cat\"' --csv q.csv");
    matches("tokens are quoted, and quote marks doubled", "*,\"the\",\"\"\"\"\n*,"
            "\"the\",\"yes\"\n*,\"the\",\",\"\n*", contents("q.csv", NULL));
    works("an unknown word", "attention good.safetensors 'the zebra sleeps'");
    works("a sentence may begin with a dash and a blank",
          "attention good.safetensors '- the cat sleeps'");
    works("and after -- with anything",
          "attention good.safetensors -- '-the cat sleeps'");
    EACH(fails,
        {"the sentence is empty", "attention good.safetensors ''"},
        {"the sentence is empty", "attention good.safetensors '  '"},
        {"the sentence has 9 tokens; the model takes at most 8 (train with "
         "--max-len 9)", "attention good.safetensors 'a a a a a a a a a'"},
        {"the target has 9 tokens; the model takes at most 8 (train with "
         "--max-len 9)",
         "attention good.safetensors a --target 'a a a a a a a a a'"},
        {"the sentence is not valid UTF-8",
         "attention good.safetensors 'a\377'"});
    mkdir("folder.csv", 0700);
    EACH(fails_late,
        {"cannot write nowhere/a.csv*",
         "attention good.safetensors a --csv nowhere/a.csv"},
        {"cannot write folder.csv: *",
         "attention good.safetensors a --csv folder.csv"});
}

// ## Info

void test_article(void) {
    works("the model of the article",
          "info --vocab 10000 --d-model 512 --heads 8 --layers 6 --d-ff 2048");
    matches("it has as many parameters as it says, with commas",
            "*encoder*embedding *5,120,000*attention *6,303,744*feed-forward "
            "*12,598,272*norms *12,288*total *24,034,304*decoder*embedding "
            "*5,120,000*attention *6,303,744*cross-attention *6,303,744*"
            "feed-forward *12,598,272*norms *18,432*output layer *5,130,000*"
            "total *35,474,192*parameters *59,508,496*", out);
    // 64 sentences of 20 tokens, by the formula of chapter 13; a megabyte is 10^6
    // bytes
    double D = 512, F = 2048, H = 8, L = 6, V = 10000, S = 20, N = 64 * S;
    double encoder = 8 * N * D + 2 * N * F + 2 * N * H * S;
    double decoder = 14 * N * D + 2 * N * F + 2 * N * H * 2 * S;
    matches("the memory of a step, in megabytes", form("*parameters,* %.1f "
            "MB\n*forward pass* %.1f MB*", 16 * 59508496 / 1e6,
            4 * (L * (encoder + decoder) + 2 * N * D + N * V) / 1e6), out);
}

void test_info(void) {
    part = "info";
    test_article();
    run("info");
    char *plain = form("%s", out);
    matches("without options it shows the defaults", "layers 2\nd-model 64\n"
            "heads 4\nd-ff 256\ndropout 0.1\nattention-dropout 0.1\n"
            "activation-dropout 0.1\nnorm post\npositions sinusoidal\n"
            "activation relu\ntie no\nmax-len 64\nbatch 64\nsource voc*", out);
    run("info --vocab 10000");
    same("which include 10000 words", plain, out);
    prints("numbers above 2^31 are counted", "*total *5,145,192,448\n*total *"
           "10,278,593,344\nparameters *15,423,785,792\n*",
           "info --vocab 5000000 --d-model 1024");
    works("of a model file", "info good.safetensors");
    matches("it says how the model was made", "layers 2\nd-model 16\nheads 2\n"
            "d-ff 64\ndropout 0\nattention-dropout 0\nactivation-dropout 0\n"
            "norm post\npositions sinusoidal\nactivation relu\ntie no\n"
            "max-len 8\ntokens word\n*lowercase no\nmin-count 1\n"
            "label-smoothing 0\nlr 0.01\nwarmup 10\nschedule noam\nclip 1\n"
            "batch 4\n*steps 200\nseed 1\n*", out);
    matches("how many words it has and how long it was trained", "*source "
            "vocabulary 15\ntarget vocabulary 15\nsteps trained 200\n*", out);
    matches("how many parameters it has", "*parameters *16,095*", out);
    // The Python code in docs/using.md opens a model without a library.
    char *page = contents(form("%s/docs/using.md", root), NULL);
    char *python = strstr(page, "```python\n");
    mkdir("python", 0700);
    mkdir("python/out", 0700);
    copy("good.safetensors", "python/out/model.safetensors");
    write_text("open.py", form("%.*s", (int)(strstr(python + 9, "```")
                                             - python - 10), python + 10));
    int how = system("cd python && python3 ../open.py > ../shown 2>&1");
    if (how == 127 << 8)
        skip("opening a model in Python: there is no python3");
    else
        matches("Python opens a model as docs/using.md says: its d_model and "
                "five numbers", "16*(*, *, *, *, *)*", contents("shown", NULL));
    EACH(wrong,
        {"--layers: the model in good.safetensors has its own",
         "info good.safetensors --layers 2"},
        {"--heads: the model in good.safetensors has its own",
         "info good.safetensors --heads 3"},
        {"--vocab: the model in good.safetensors has its own",
         "info good.safetensors --vocab 50"});
}

// ## Bad models

// 15-saving.c damages model files in every way, in one process. Here it is
// commands that are given one. (main() reads it for all of them.)
void test_bad_models(void) {
    part = "bad models";
    write_text("notes", "a\tb\n");
    write_text("empty", "");
    size_t size;
    char *bytes = contents("good.safetensors", &size);
    write_file("cut", bytes, size / 2);
    for (int i = 0; i < 4; i++) // the first number of the first tensor
        bytes[8 + strlen(header("good.safetensors")) + (size_t)i]
            = "\0\0\300\177"[i];
    write_file("nan", bytes, size);
    memcpy(strstr(bytes + 8, "2\",\"d_model\":\"16\""),
           "\\n\",\"d_model\":\"6\"", 17);
    write_file("later", bytes, size);
    EACH(fails,
        {"cannot open nowhere: " GONE, "info nowhere"},
        {"* .:*", "translate ."},
        {"notes: not a model*", "evaluate notes pairs.tsv"},
        {"empty: not a model*", "attention empty word"},
        {"cut: not a model*", "translate cut"},
        {"nan: *not finite*", "attention nan word"},
        {"later: not a model*layers is \"?\"*", "info later"});
    same("a message has no control characters", "", strpbrk(err, "\r\b\033")
         ? err : "");
    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], bytes, 8) != 8)
        give_up("pipe");
    close(ends[1]);
    stream[0] = ends[0];
    fails("a pipe is refused", "cannot read /dev/stdin: *", "info /dev/stdin");
    close(ends[0]);
    make_huge("good.safetensors", "huge");
    fails("evaluate: a loss that is not a number is reported",
          "huge: its loss on pairs.tsv is not a number", "evaluate huge pairs.tsv");
    static const char *const way[] = {
        "translate huge", "translate huge --beam 4",
        "attention huge 'the cat' --csv h.csv",
        "attention huge 'the cat' --target 'le chat' --csv h.csv"};
    for (int i = 0; i < 4; i++) {
        give(SOURCES);
        fails(form("%s: numbers that are not finite are reported", way[i]),
              "*the model's numbers are not finite", way[i]);
    }
    absent("no CSV is written from them", "h.csv");
}

// ## The standard output

void test_output(void) {
    part = "output";
    static const char *const use[] = {
        "translate good.safetensors", "evaluate good.safetensors pairs.tsv",
        "attention good.safetensors cat",
        "info good.safetensors", "info", "--help", "--version", "train --help"};
    int full = open("/dev/full", O_WRONLY);
    if (full < 0)
        skip("output to a full disk: there is no /dev/full");
    for (int i = 0; i < 8 && full >= 0; i++) {
        give(SOURCES);
        stream[1] = full;
        fails(form("%s: the output goes to a full disk", use[i]),
              "cannot write the output: No space left on device", use[i]);
    }
    stream[1] = CLOSED;
    fails("a closed output is reported", "cannot write the output: *",
          "attention good.safetensors a --csv w.csv");
    int ends[2];
    if (pipe(ends) != 0)
        give_up("pipe");
    close(ends[0]);
    stream[1] = ends[1];
    give("a\n");
    run("translate good.safetensors");
    same("a reader that has gone away ends it", form("%d", 128 + SIGPIPE),
         form("%d", status));
    close(ends[1]);
}

int main(void) {
    commands_begin();
    test_help();
    test_wrong_use();
    run("train pairs.tsv" TINY "--steps 200 --model good.safetensors --log "
        "good.csv");
    part = "data";
    test_bad_data();
    test_good_data();
    test_long_pairs();
    part = "translate";
    test_lines();
    test_bad_lines();
    test_letters();
    test_waiting();
    test_evaluate();
    part = "byte pairs";
    test_learning_pieces();
    test_pieces();
    test_editions();
    test_attention();
    test_info();
    test_bad_models();
    test_output();
    return claims_end();
}
