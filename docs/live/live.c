// What the page that trains in a browser calls: transformer.c, unchanged, and
// these functions, compiled to WebAssembly by build.py.
//
// An instance of it holds one model: one that is trained (train_new), in single
// precision, or one that a sentence is followed through (load), in double. What a
// function answers is printed to stdout as JSON, which wasi.js hands to the page. A
// mistake ends the instance, by fail(), with the program's own words: so the page
// tries a new training, or a file, in an instance of its own.

#define TRANSFORMER_NO_MAIN
#include "../../transformer.c"

#define EXPORT __attribute__((visibility("default")))

Checkpoint live;    // the model; with a training also gradient and moments
const char *const model_path = "model.safetensors";

// ---------------------------------------------------------------- JSON

// A number, or null if it is not finite.
void print_number(double x) {
    if (isfinite(x))
        printf("%.9g", x);
    else
        printf("null");
}

// "text", without control characters, which it changes.
void print_text(char *text) {
    putchar('"');
    for (const char *c = printable(text); *c; c++)
        printf(*c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    putchar('"');
}

// ["the","red","car"]: tokens by their ids; without ids the first n of all
void print_tokens(const Vocab *v, const int *id, int n) {
    putchar('[');
    for (int i = 0; i < n; i++) {
        printf(i ? "," : "");
        print_text(v->token[id ? id[i] : i]);
    }
    putchar(']');
}

// [[1,2],[3,4]]
void print_mat(Mat m) {
    for (int i = 0; i < m.rows; i++)
        for (int j = 0; j < m.cols; j++) {
            printf(j ? "," : i ? "],[" : "[[");
            print_number(*at(m, i, j));
        }
    printf("]]");
}

// ------------------------------------------------------- options and models

// All options of a training, from the program's own table.
EXPORT void list_options(void) {
    const char *type[] = {[INTEGER] = "integer", [NUMBER] = "number",
                          [CHOICE] = "choice", [FLAG] = "flag"};
    const char *separator = "";
    putchar('[');
    for (const Option *o = options; o < options + OPTIONS; o++) {
        if (!o->in_model)
            continue;
        printf("%s{\"name\":\"%s\",\"type\":\"%s\",\"choices\":\"%s\","
               "\"initial\":\"%s\",\"help\":\"%s\"}", separator, o->name,
               type[o->type], o->choices,
               o->initial && o->type != FLAG ? o->initial : "", o->help);
        separator = ",";
    }
    putchar(']');
}

// The model's options, and its size.
EXPORT void describe_model(void) {
    char value[32];
    putchar('{');
    for (int i = 0; i < OPTIONS; i++)
        if (options[i].in_model)
            printf("\"%s\":\"%s\",", options[i].name,
                   option_text(value, &live.settings, i));
    printf("\"parameters\":%zu}", live.trainer.model->list.count);
}

// Reads the model from the file at model_path.
EXPORT void load(void) {
    checkpoint_free(&live);
    live = load_checkpoint(model_path, false);
}

// Writes the model to the file at model_path, without the optimizer's moments.
EXPORT void save(void) {
    Checkpoint c = live;
    c.trainer.m = c.trainer.v = NULL;
    save_checkpoint(&c, model_path);
}

// What a reader has typed, as tokens -> what is wrong with it, or NULL
const char *wrong_sentence(const char *text, const Vocab *v, Sentence *s) {
    const char *wrong = tokenize_input(text, &live, v, s);
    return wrong ? wrong : s->length == 1 ? "is empty" : NULL;
}

#ifdef TRANSFORMER_DOUBLE
#include "decoding.c"
#include "flow.c"
#else
#include "train.c"
#endif
