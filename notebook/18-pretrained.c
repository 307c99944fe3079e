// Lab 18: what the models of pretrained.h say, for another program to repeat.
// Each command prints a CSV. IDS are numbers of tokens.
//
// logits FOLDER IDS: GPT-2; after each token, all at once and with the cache.
//
//     position,token,whole,cached
//
// greedy FOLDER N IDS: N tokens, each the likeliest: with all positions
// recomputed for each of them, and with the cache.
//
//     step,whole,cached
//
// bert FOLDER IDS: the encoding of each token, and its logits.
//
//     kind,position,place,value
//
// tokens KIND FOLDER FILE: the texts in a file, each ended by a zero byte. KIND
// is gpt2 or bert.
//
//     text,tokens
//
// step FOLDER IDS: GPT-2; the loss, the gradient of each number, and the loss
// after a step of Adam. Each token but the last is followed by the next.
//
//     kind,name,place,value

#include "lib/lab.h"
#include "lib/gpt.h"
#include "lib/pretrained.h"

enum { MOST_IDS = 1000 };

typedef struct {
    int id[MOST_IDS];
    int count;
} Ids;

Ids read_ids(char **word, int words) {
    Ids ids = {.count = words};
    if (words < 1 || words > MOST_IDS)
        fail("1 to %d tokens are expected", MOST_IDS);
    for (int i = 0; i < words; i++)
        ids.id[i] = atoi(word[i]);
    return ids;
}

// The model in a folder, which is to read these tokens and `more`.
void open_gpt2(Writer *w, const char *folder, Ids ids, int more) {
    writer_open(w, folder, NULL);
    if (ids.count + more > min_int(MOST_IDS, w->pass.config->max_len))
        fail("more tokens than the model has positions");
    for (int i = 0; i < ids.count; i++)
        if (ids.id[i] < 0 || ids.id[i] >= w->model.base->config.target_vocab)
            fail("there is no token %d", ids.id[i]);
}

void print_logits(char **argument, int n) {
    Ids ids = read_ids(argument + 1, n - 1);
    Writer w;
    open_gpt2(&w, argument[0], ids, 0);
    ModernSaved saved;
    Mat whole = modern_forward(&w.pass, &saved, &w.model, ids.id, ids.count);
    printf("position,token,whole,cached\n");
    for (int i = 0; i < ids.count; i++) {
        Mat cached = modern_step(&w.pass, &w.cache, &ids.id[i]);
        for (int j = 0; j < whole.cols; j++)
            printf("%d,%d,%.9g,%.9g\n", i, j, (double)*at(whole, i, j),
                   (double)cached.at[j]);
    }
    writer_close(&w);
}

void print_greedy(char **argument, int n) {
    Ids ids = read_ids(argument + 2, n - 2);
    int steps = atoi(argument[1]), first = ids.count;
    Writer w;
    open_gpt2(&w, argument[0], ids, steps);
    ModernSaved saved;
    Mat last = {0};
    for (int i = 0; i < first; i++)
        last = modern_step(&w.pass, &w.cache, &ids.id[i]);
    printf("step,whole,cached\n");
    for (int k = 0; k < steps; k++) {
        Mat whole = modern_forward(&w.pass, &saved, &w.model, ids.id,
                                   first + k);
        int best = arg_max(row(whole, first + k - 1), 0, whole.cols);
        int cached = arg_max(last.at, 0, last.cols);
        printf("%d,%d,%d\n", k, best, cached);
        ids.id[first + k] = best;
        last = modern_step(&w.pass, &w.cache, &cached);
    }
    writer_close(&w);
}

void print_values(const char *kind, Mat m) {
    for (int i = 0; i < m.rows; i++)
        for (int j = 0; j < m.cols; j++)
            printf("%s,%d,%d,%.9g\n", kind, i, j, (double)*at(m, i, j));
}

void print_bert(char **argument, int n) {
    Ids ids = read_ids(argument + 1, n - 1);
    Bert *b = read_bert(argument[0]);
    Arena arena = {0};
    Pass pass = {.arena = &arena, .config = &b->base->config, .sentences = 1};
    Mat hidden = bert_forward(&pass, b, ids.id, ids.count);
    printf("kind,position,place,value\n");
    print_values("encoding", hidden);
    print_values("logit", bert_logits(&pass, b, hidden));
    arena_free(&arena);
    bert_free(b);
}

void print_sentence(int number, Sentence s) {
    printf("%d,", number);
    for (int i = 0; i < s.length; i++)
        printf(i ? " %d" : "%d", s.id[i]);
    putchar('\n');
    free(s.id);
}

void print_tokens(char **argument, int n) {
    bool bert = !strcmp(argument[0], "bert");
    JsonFile f = read_hub_config(argument[1], argument[0]);
    int V = size_setting(&f, "vocab_size", 10000000, NEEDED);
    BytePairs pairs = {.rules = 0};
    WordPieces words = {.longest = 0};
    if (bert)
        words = read_word_pieces(argument[1], V);
    else
        pairs = read_byte_pairs(argument[1], V);
    FILE *file = fopen(argument[2], "rb");
    char *text = NULL;
    size_t room = 0;
    printf("text,tokens\n");
    for (int i = 0; file && n == 3 && getdelim(&text, &room, 0, file) > 0; i++)
        print_sentence(i, bert ? cut_words(&words, text)
                               : cut_bytes(&pairs, text));
    if (bert)
        word_pieces_free(&words);
    else
        byte_pairs_free(&pairs);
    json_free(&f);
    free(text);
    if (!file || fclose(file))
        fail("cannot read %s", argument[2]);
}

void print_step_of(char **argument, int n) {
    Ids ids = read_ids(argument + 1, n - 1);
    Recipe recipe = {.rate = 0.001, .schedule = CONSTANT, .clip = INFINITY};
    ModernGpt model = read_gpt2(argument[0], NULL);
    ModernGpt gradient = gpt2_zeros(&model.base->config);
    Trainer t = trainer_new(model.base, gradient.base, &recipe);
    const TensorList *g = &t.gradient->list;
    Pass pass = {.arena = &t.arena, .config = &model.base->config};
    Batch batch = {.sentences = 1, .target_length = ids.count - 1,
                   .input = ids.id, .expected = ids.id + 1};
    printf("kind,name,place,value\n");
    for (int after = 0; after < 2; after++) {
        clear(g->values, g->count);
        Loss loss = gpt2_gradient(&pass, &model, &gradient, &batch);
        printf("loss,,%d,%.17g\n", after, average(loss));
        const real *next = g->values;
        for (int i = 0; i < g->tensors && !after; i++)
            for (size_t k = 0; k < bytes_of(&g->tensor[i]) / 4; k++)
                printf("gradient,%s,%zu,%.17g\n", g->tensor[i].name.text, k,
                       (double)*next++);
        update(&t, loss);
    }
    trainer_free(&t);
    modern_free(&model);
    modern_free(&gradient);
}

int main(int argc, char **argv) {
    const struct {
        const char *name;
        void (*run)(char **, int);
        int least; // arguments
    } tests[] = {{"logits", print_logits, 2}, {"greedy", print_greedy, 3},
                 {"bert", print_bert, 2}, {"tokens", print_tokens, 3},
                 {"step", print_step_of, 3}};
    for (int i = 0; i < 5; i++)
        if (argc >= 2 && !strcmp(argv[1], tests[i].name)
            && argc - 2 >= tests[i].least) {
            tests[i].run(argv + 2, argc - 2);
            return 0;
        }
    fail("18-pretrained logits, greedy, bert, tokens or step");
}
