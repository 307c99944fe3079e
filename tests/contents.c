// What is in a model file, in one line, for tests/sequences.sh:
//
//     seed 1 steps 40 step 5 best 4 accuracy 62.50 word x
//         parameters 9a41… newest 07cc… moments 53d0…
//
// It reads the format by itself, so that a mistake which transformer.c makes
// both when it writes and when it reads is seen. Sums stand for the numbers: of
// each tensor's name, shape and bytes, so that `parameters` and `newest` are
// the same if all of them are. What is not in the file is "-". The word is the
// first of the source's vocabulary. A file that is not whole is refused: bytes
// that belong to no tensor, a tensor that is there twice, moments or newest
// parameters of some tensors only.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1000, ROLES = 4 };
const char *const prefix[ROLES] = {"", "adam.m.", "adam.v.", "newest."};

typedef struct {
    char name[100];
    int role;
} Found;

const char *path;
unsigned char *bytes; // of the whole file, and a zero
size_t size, numbers; // of the file; where the numbers begin
Found found[MOST];
int tensors;
uint64_t sum[ROLES], names[ROLES];

_Noreturn void refuse(const char *reason, const char *what) {
    printf("%s is not whole: %s %.60s\n", path, reason, what);
    exit(1);
}

uint64_t mix(uint64_t hash, const void *from, size_t length) {
    const unsigned char *byte = from;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ byte[i]) * 1099511628211u;
    return hash;
}

void read_file(void) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        refuse("it cannot be opened", "");
    size = (size_t)ftell(file);
    bytes = calloc(size + 1, 1);
    rewind(file);
    if (!bytes || fread(bytes, 1, size, file) != size || size < 8)
        refuse("it cannot be read", "");
    fclose(file);
    for (int i = 8; i-- > 0;)
        numbers = numbers * 256 + bytes[i];
    numbers += 8;
    if (numbers > size)
        refuse("its header is cut short", "");
}

// The value of a key of the metadata, "-" if there is none.
void metadata(const char *key, char *to) {
    char quoted[50];
    sprintf(quoted, "\"%s\":\"", key);
    const char *at = strstr((char *)bytes + 8, quoted);
    strcpy(to, "-");
    if (at && (at += strlen(quoted)) < (char *)bytes + numbers)
        sprintf(to, "%.*s", (int)strcspn(at, "\"") % 50, at);
}

// One more tensor, whose numbers are these bytes.
void add_tensor(const char *name, const char *shape, size_t begin, size_t end) {
    int role = ROLES - 1;
    while (strncmp(name, prefix[role], strlen(prefix[role])))
        role--;
    Found f = {.role = role};
    snprintf(f.name, sizeof f.name, "%s", name + strlen(prefix[role]));
    for (int i = 0; i < tensors; i++)
        if (found[i].role == role && !strcmp(found[i].name, f.name))
            refuse("there is twice", name);
    if (tensors == MOST)
        refuse("too many tensors with", name);
    found[tensors++] = f;
    uint64_t hash = mix(14695981039346656037u, f.name, strlen(f.name));
    names[role] += hash;
    hash = mix(hash, shape, strlen(shape));
    sum[role] += mix(hash, bytes + numbers + begin, end - begin);
}

void read_tensors(void) {
    const char *at = strstr((char *)bytes + 8, "\"},\"");
    size_t end = 0, next_begin, next_end;
    char name[100], shape[50];
    int length;
    for (at = at ? at + 3 : ""; *at == '"'; at += length + (at[length] == ',')) {
        length = 0;
        if (sscanf(at, "\"%99[^\"]\":{\"dtype\":\"F32\",\"shape\":[%49[^]]],"
                   "\"data_offsets\":[%zu,%zu]}%n", name, shape, &next_begin,
                   &next_end, &length) != 4 || !length)
            refuse("cannot read the entry at", at);
        if (next_begin != end || next_end > size - numbers)
            refuse("not in its place:", name);
        end = next_end;
        add_tensor(name, shape, next_begin, next_end);
    }
    if (end != size - numbers || !tensors)
        refuse("its numbers do not end where its tensors do", "");
    for (int role = 1; role < ROLES; role++)
        if (names[role] && names[role] != names[0])
            refuse("only some tensors have", prefix[role]);
    if (names[1] != names[2])
        refuse("only one of both moments is there", "");
}

int main(int argc, char **argv) {
    char seed[51], steps[51], step[51], best[51], accuracy[51], again[51];
    if (argc != 2)
        return 2;
    path = argv[1];
    read_file();
    read_tensors();
    metadata("seed", seed);
    metadata("steps", steps);
    metadata("step", step);
    metadata("best_step", best);
    metadata("best_accuracy", accuracy);
    sprintf(again, "%.17g", strtod(accuracy, NULL));
    if (*accuracy != '-' && strcmp(again, accuracy))
        refuse("not written with 17 digits:", accuracy);
    if (*accuracy != '-')
        sprintf(accuracy, "%.2f", 100 * strtod(again, NULL));
    const char *word = strstr((char *)bytes + 8, "<unknown>\\n");
    printf("seed %s steps %s step %s best %s accuracy %s word %c\n"
           "parameters %016llx newest ", seed, steps, step, best, accuracy,
           word ? word[11] : '-', (unsigned long long)sum[0]);
    if (names[3])
        printf("%016llx", (unsigned long long)sum[3]);
    else
        printf("-");
    printf(" moments %016llx\n", (unsigned long long)mix(sum[1], &sum[2], 8));
    return 0;
}
