// Lab 3: positions.
//
// The first argument chooses what is measured, and with it the CSV.
//
//     table         position,dimension,value
//     wavelength    dimension,formula,measured
//     dot           position,offset,dot
//     permutation   model,positions,difference,norm
//
// table: the sinusoidal code of WIDTH dimensions, position by position.
//
// wavelength: that of each pair of dimensions 2i, 2i+1 of a code of 512, in
// positions; measured: from how far the pair turns between positions 0 and 1.
//
// dot: the dot product of the codes of `position` and `position` + `offset`.
//
// permutation: 10 random vectors are permuted, go through the model, and are
// put back into their order. difference: the norm of the change in the output;
// norm: that of the output.

#include "lib/lab.h"

enum { WIDTH = 64, WIDE = 512, ROWS = 100 };

void print_table(Arena *arena) {
    Mat table = arena_mat(arena, ROWS, WIDTH);
    sinusoidal_positions(table);
    puts("position,dimension,value");
    for (int t = 0; t < ROWS; t++)
        for (int j = 0; j < WIDTH; j++)
            printf("%d,%d,%.4f\n", t, j, (double)*at(table, t, j));
}

void print_wavelengths(Arena *arena) {
    Mat table = arena_mat(arena, 2, WIDE);
    sinusoidal_positions(table);
    const double circle = 2 * acos(-1);
    puts("dimension,formula,measured");
    for (int j = 0; j < WIDE; j += 2) {
        double angle = atan2((double)*at(table, 1, j),
                             (double)*at(table, 1, j + 1));
        printf("%d,%.2f,%.2f\n", j, circle * pow(10000, (double)j / WIDE),
               circle / angle);
    }
}

void print_dots(Arena *arena) {
    Mat table = arena_mat(arena, 2 * ROWS, WIDTH);
    sinusoidal_positions(table);
    puts("position,offset,dot");
    for (int t = 0; t <= ROWS; t += 25)
        for (int offset = 0; offset < ROWS; offset++)
            printf("%d,%d,%.5f\n", t, offset,
                   (double)dot(row(table, t), row(table, t + offset), WIDTH));
}

// ## Permuted words

enum { PLACES = 10, D = 32 };

// What the model makes of x, with the code of its place added to each row. With
// 0 layers: attention alone, one head and nothing around it, as in the article.
Mat through(Transformer *t, Arena *arena, Mat x, bool positions, int layers) {
    Mat y = arena_mat(arena, PLACES, D);
    if (positions)
        copy(y, t->source_positions);
    else
        fill(y, 0);
    add(y, x);
    Pass pass = {.arena = arena, .config = &t->config, .sentences = 1};
    Mask all = {0};
    if (layers > 0) {
        EncoderSaved saved;
        return encoder_forward(&pass, &saved, &t->encoder, y, all);
    }
    MultiHeadSaved saved;
    multi_head_forward(&pass, &saved,
                       &t->encoder.layer[0].self_attention.multi_head, y, y,
                       all);
    return saved.context;
}

void print_permutation(Transformer *t, Arena *arena, const char *model,
                       bool positions, int layers) {
    static const int order[PLACES] = {0, 3, 7, 1, 5, 9, 2, 6, 4, 8};
    uint64_t state = random_key(1, FOR_ORDER, 0);
    Mat x = arena_mat(arena, PLACES, D);
    Mat exchanged = arena_mat(arena, PLACES, D);
    fill_normal(x, &state);
    for (int i = 0; i < PLACES; i++)
        copy(slice_rows(exchanged, i, 1), slice_rows(x, order[i], 1));
    Mat y = through(t, arena, x, positions, layers);
    Mat z = through(t, arena, exchanged, positions, layers);
    double difference = 0, norm = 0;
    for (int i = 0; i < PLACES * D; i++) {
        double before = *at(y, order[i / D], i % D);
        double after = *at(z, i / D, i % D);
        difference += (after - before) * (after - before);
        norm += before * before;
    }
    printf("%s,%s,%.2e,%.4f\n", model, positions ? "sinusoidal" : "none",
           sqrt(difference), sqrt(norm));
}

void permutations(Arena *arena) {
    Config config = {.layers = 4, .d_model = D, .heads = 1, .d_ff = 4 * D,
                     .source_vocab = 5, .target_vocab = 5, .max_len = PLACES};
    Transformer *t = transformer_new(&config);
    initialize(&t->list, 1);
    puts("model,positions,difference,norm");
    for (int positions = 0; positions < 2; positions++) {
        print_permutation(t, arena, "attention alone", positions, 0);
        print_permutation(t, arena, "encoder with 4 layers", positions, 4);
    }
    transformer_free(t);
}

int main(int argc, char **argv) {
    Arena arena = {0};
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "table"))
        print_table(&arena);
    else if (!strcmp(what, "wavelength"))
        print_wavelengths(&arena);
    else if (!strcmp(what, "dot"))
        print_dots(&arena);
    else if (!strcmp(what, "permutation"))
        permutations(&arena);
    else
        fail("03-positions table | wavelength | dot | permutation");
    arena_free(&arena);
}
