// entries.h: what both tokenizers share: text made valid, the properties of
// characters, and finding the number of a token. Include it after json.h and
// unicode.h.

// ## Characters

// Whether the number c is in a table of n ranges.
bool in_ranges(const int (*range)[2], size_t n, int c) {
    size_t low = 0;
    while (low < n) {
        size_t middle = (low + n) / 2;
        if (c > range[middle][1])
            low = middle + 1;
        else if (c < range[middle][0])
            n = middle;
        else
            return true;
    }
    return false;
}

#define IN(table, c) in_ranges(table, sizeof table / sizeof *table, c)

// How many bytes at s, which begin no valid character, stand for one that is
// broken: as many as could still become one, and at least one. (Unicode calls
// this the maximal subpart.)
int broken_length(const char *s) {
    const unsigned char *c = (const unsigned char *)s;
    int needed = *c < 0xc2 || *c > 0xf4 ? 1 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : 4;
    int least = *c == 0xe0 ? 0xa0 : *c == 0xf0 ? 0x90 : 0x80;
    int most = *c == 0xed ? 0x9f : *c == 0xf4 ? 0x8f : 0xbf;
    if (needed == 1 || c[1] < least || c[1] > most)
        return 1;
    int n = 2;
    while (n < needed && c[n] / 64 == 2)
        n++;
    return n;
}

// A copy of any bytes as valid UTF-8, in which U+FFFD stands for each broken
// character: what Python and JavaScript make of such bytes. The caller frees
// it.
char *repaired(const char *text) {
    char *valid = allocate(3 * strlen(text) + 1, 1), *to = valid;
    while (*text) {
        int n = utf8_length(text);
        memcpy(to, n ? text : "\xef\xbf\xbd", n ? (size_t)n : 3);
        to += n ? n : 3;
        text += n ? n : broken_length(text);
    }
    return valid;
}

// ## Tokens and their numbers

// The lines of a text, at most.
size_t lines_in(const char *text) {
    size_t lines = 1;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

typedef struct {
    const char *text;
    int id;
} Entry;

// Both directions: by number, and sorted by text.
typedef struct {
    const char **text; // of each number; NULL: no token has it
    int size;          // of these
    Entry *sorted;     // `count` of them
    int count;
} Entries;

int compare_entries(const void *left, const void *right) {
    const Entry *a = left, *b = right;
    return strcmp(a->text, b->text);
}

// Room for `count` tokens with numbers below `size`.
Entries entries_new(int size, size_t count) {
    return (Entries){.text = allocate((size_t)size, sizeof(char *)),
                     .size = size,
                     .sorted = allocate(count, sizeof(Entry))};
}

// Refuses a vocabulary that is not the model's. A model has as many tokens or,
// for the sake of speed, the next multiple of 2, 4, … 256.
void check_size(const Entries *e, const char *path) {
    int tokens = 0, multiple = 1;
    for (int i = 0; i < e->size; i++)
        tokens += e->text[i] != NULL;
    while (multiple <= 256
           && (tokens + multiple - 1) / multiple * multiple != e->size)
        multiple *= 2;
    if (multiple > 256)
        fail("%s: %d tokens, but the model has %d: is it cut short?", path,
             tokens, e->size);
}

// Appends a token; false if its number is another's.
bool add_entry(Entries *e, const char *text, int id) {
    if (e->text[id])
        return false;
    e->text[id] = text;
    e->sorted[e->count++] = (Entry){text, id};
    return true;
}

// Sorts them, after which they are found. Returns a text that is there twice,
// or NULL.
const char *sort_entries(Entries *e) {
    qsort(e->sorted, (size_t)e->count, sizeof *e->sorted, compare_entries);
    for (int i = 1; i < e->count; i++)
        if (!strcmp(e->sorted[i - 1].text, e->sorted[i].text))
            return e->sorted[i].text;
    return NULL;
}

// The number of a token, or -1.
int find_entry(const Entries *e, const char *text) {
    const Entry key = {text, 0};
    const Entry *found = bsearch(&key, e->sorted, (size_t)e->count,
                                 sizeof *e->sorted, compare_entries);
    return found ? found->id : -1;
}

void entries_free(Entries *e) {
    free(e->text);
    free(e->sorted);
}
