// The vectors of one head of the encoder, as CSV: the queries, keys, values and
// results while a trained model reads a sentence.
//
//     build/runs/vectors MODEL SENTENCE LAYER HEAD > vectors.csv

#define TRANSFORMER_NO_MAIN
#include "../../../transformer.c"

// One line for each number of m, whose rows belong to these tokens.
void write_matrix(const char *name, Mat m, const int *id, const Vocab *v) {
    for (int i = 0; i < m.rows; i++)
        for (int j = 0; j < m.cols; j++) {
            printf("%s,%d,%d,%.9g,", name, i, j, *at(m, i, j));
            write_quoted(stdout, v->token[id[i]], '\n');
        }
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fputs("usage: vectors MODEL SENTENCE LAYER HEAD\n", stderr);
        return 2;
    }
    Checkpoint c = load_checkpoint(argv[1], false);
    const Transformer *model = c.trainer.model;
    Arena *arena = &c.trainer.arena;
    Sentence source = tokenize(argv[2], &c.source, c.settings.tokenizer);
    Sentence *target = translate_all(model, &source, 1, 1, arena);
    Pass pass = {.arena = arena, .config = &model->config};
    Saved saved;
    Batch batch = look(&pass, &saved, model, source, *target);
    Head a = head_of(&saved.encoder.layer[atoi(argv[3])]
                          .self_attention.multi_head, atoi(argv[4]));
    puts("matrix,row,column,value,token");
    write_matrix("query", a.q, batch.source, &c.source);
    write_matrix("key", a.k, batch.source, &c.source);
    write_matrix("value", a.v, batch.source, &c.source);
    write_matrix("out", a.out, batch.source, &c.source);
    sentences_free(target, 1);
    free(source.id);
    checkpoint_free(&c);
    return 0;
}
