// Lab 2: heads.
//
// The first argument chooses what is measured, and with it the CSV.
//
//     random                       head,query,key,weight
//     parameters                   heads,matrix,parameters
//     statistics MODEL DATA.tsv    kind,layer,head,measure,key,value,count
//
// random: the attention weights of four untrained heads (d_model 64) between
// ten random vectors, as in the article's exercise.
//
// parameters: those of one attention with `heads` heads, matrix and bias.
//
// statistics: what each head of a model does in the first SENTENCES of the
// data; kind is encoder, decoder or cross. Each value is a mean, over `count`
// values. The measures:
//
//     entropy     of a query's weights, as a share of the largest possible
//     difference  from the other heads of the layer: the Jensen-Shannon
//                 divergence in bits; 0 for equal weights, 1 if they never
//                 look at the same key
//     offset      weight of the key at offset `key` from the query, in fair
//                 shares: times the number of keys that the query sees; not
//                 of cross-attention
//     word        weight of the word `key`, in fair shares, likewise

#include "lib/lab.h"
#include "lib/measure.h"

enum { SENTENCES = 200, REACH = 3, PLACES = 10, D = 64, H = 4 };

// One layer with this many heads.
Config sizes(int heads) {
    return (Config){.layers = 1, .d_model = D, .heads = heads, .d_ff = 4 * D,
                    .source_vocab = 5, .target_vocab = 5, .max_len = PLACES};
}

void print_random(Arena *arena) {
    Config config = sizes(H);
    Transformer *t = transformer_new(&config);
    initialize(&t->list, 1);
    uint64_t state = random_key(1, FOR_ORDER, 0);
    Mat x = arena_mat(arena, PLACES, D);
    fill_normal(x, &state);
    Pass pass = {.arena = arena, .config = &config, .sentences = 1};
    MultiHeadSaved s;
    Mask all = {0};
    const EncoderLayer *layer = &t->encoder.layer[0];
    multi_head_forward(&pass, &s, &layer->self_attention.multi_head, x, x, all);
    puts("head,query,key,weight");
    for (int i = 0; i < H * PLACES; i++)
        for (int j = 0; j < PLACES; j++)
            printf("%d,%d,%d,%.5f\n", i / PLACES, i % PLACES, j,
                   (double)*at(s.weights, i, j));
    transformer_free(t);
}

void print_parameters_of(int heads) {
    const char *matrix[] = {"query", "key", "value", "output"};
    Config config = sizes(heads);
    Transformer *t = transformer_outline(&config);
    for (int m = 0; m < 4; m++) {
        int count = 0;
        Name name = join("encoder.0.self_attention.", matrix[m]);
        for (int i = 0; i < t->list.tensors; i++) {
            const Tensor *one = &t->list.tensor[i];
            if (!strncmp(one->name.text, name.text, strlen(name.text)))
                count += one->rows * one->cols;
        }
        printf("%d,%s,%d\n", heads, matrix[m], count);
    }
    transformer_free(t);
}

// ## What the heads of a trained model do

typedef struct {
    double sum, count;
} Mean;

void take_in(Mean *m, double value) {
    m->sum += value;
    m->count++;
}

typedef struct {
    Mean entropy, difference, offset[2 * REACH + 1];
    Mean *token; // one for each word
} Habits;

// Row i of the weights of all heads of a layer: n keys are visible. With a
// single key there is nothing to measure.
void measure_row(Habits *head, const Mat *weights, int heads, int i, int n) {
    for (int h = 0; h < heads && n > 1; h++) {
        const real *a = row(weights[h], i);
        take_in(&head[h].entropy, entropy(a, a, n) / log2(n));
        for (int other = 0; other < heads; other++) {
            const real *b = row(weights[other], i);
            if (other != h)
                take_in(&head[h].difference, entropy(a, b, n)
                        - (entropy(a, a, n) + entropy(b, b, n)) / 2);
        }
    }
}

// The places and the words that query i, which sees n keys, looks at.
void measure_keys(Habits *head, const real *weight, const int *id, int i,
                  int n) {
    for (int j = 0; j < n && n > 1; j++) {
        double share = (double)weight[j] * n;
        take_in(&head->token[id[j]], share);
        if (abs(j - i) <= REACH)
            take_in(&head->offset[j - i + REACH], share);
    }
}

void print_head(const Habits *head, const char *names, const Vocab *vocab) {
    printf("%s,entropy,,%.4f,%.0f\n", names,
           head->entropy.sum / head->entropy.count, head->entropy.count);
    printf("%s,difference,,%.4f,%.0f\n", names,
           head->difference.sum / head->difference.count,
           head->difference.count);
    for (int k = 0; k <= 2 * REACH; k++)
        if (head->offset[k].count > 0)
            printf("%s,offset,%d,%.4f,%.0f\n", names, k - REACH,
                   head->offset[k].sum / head->offset[k].count,
                   head->offset[k].count);
    for (int k = 0; k < vocab->count; k++)
        if (head->token[k].count > 0)
            printf("%s,word,\"%s\",%.4f,%.0f\n", names, vocab->token[k],
                   head->token[k].sum / head->token[k].count,
                   head->token[k].count);
}

// One kind of attention in one layer, in all sentences.
void measure(Checkpoint *c, const Pairs *p, int kind, int layer) {
    int heads = c->settings.config.heads;
    int words = c->source.count + c->target.count; // enough for either
    Habits *head = allocate((size_t)heads, sizeof *head);
    Mat *weights = allocate((size_t)heads, sizeof *weights);
    for (int h = 0; h < heads; h++)
        head[h].token = allocate((size_t)words, sizeof(Mean));
    Arena *arena = &c->trainer.arena;
    Pass pass = {.arena = arena, .config = &c->settings.config};
    for (int k = 0; k < min_int(SENTENCES, p->count); k++) {
        Saved s;
        Batch batch = look(&pass, &s, c->trainer.model, p->source[k],
                           p->target[k]);
        for (int h = 0; h < heads; h++)
            weights[h] = attention_of(&s, kind, layer, h, heads);
        for (int i = 0; i < weights[0].rows; i++) {
            int n = kind == DECODER ? i + 1 : weights[0].cols;
            measure_row(head, weights, heads, i, n);
            for (int h = 0; h < heads && kind != CROSS; h++)
                measure_keys(&head[h], row(weights[h], i),
                             kind == DECODER ? batch.input : batch.source, i,
                             n);
        }
        arena_release(arena, 0);
    }
    for (int h = 0; h < heads; h++) {
        char names[64];
        snprintf(names, sizeof names, "%s,%d,%d", kind_name[kind], layer, h);
        print_head(&head[h], names, kind == DECODER ? &c->target : &c->source);
        free(head[h].token);
    }
    free(head);
    free(weights);
}

void statistics(const char *model, const char *data) {
    Checkpoint c = load_checkpoint(model, false);
    Pairs pairs = load_pairs(data, &c);
    puts("kind,layer,head,measure,key,value,count");
    for (int kind = 0; kind < KINDS; kind++)
        for (int layer = 0; layer < c.settings.config.layers; layer++)
            measure(&c, &pairs, kind, layer);
    pairs_free(&pairs);
    checkpoint_free(&c);
}

int main(int argc, char **argv) {
    Arena arena = {0};
    if (argc == 2 && !strcmp(argv[1], "random"))
        print_random(&arena);
    else if (argc == 2 && !strcmp(argv[1], "parameters")) {
        puts("heads,matrix,parameters");
        for (int heads = 1; heads <= D; heads *= 2)
            print_parameters_of(heads);
    } else if (argc == 4 && !strcmp(argv[1], "statistics"))
        statistics(argv[2], argv[3]);
    else
        fail("02-heads random | parameters | statistics MODEL DATA.tsv");
    arena_free(&arena);
}
