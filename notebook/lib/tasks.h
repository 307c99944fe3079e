// tasks.h, used by lab 20 and an exercise: small tasks, each made for one part
// of the transformer. To be included after lab.h.

enum { LONGEST = 12 }; // words of a source or of a target

// `make` fills source (S) and target (T) with numbers of words, from 0; `spell`
// writes one of them as a word.

typedef struct Task Task;

struct Task {
    const char *name;
    int source_words, target_words; // how many there are
    int S, T;                       // words of a source and of a target
    int jumps;                      // how far arrows and pointers are followed
    int layers, steps;              // of the whole model
    void (*make)(const Task *t, uint64_t *state, int *source, int *target);
    void (*spell)(const Task *t, char *word, int id, bool target);
};

// n things in a random order
void mix(uint64_t *state, int *x, int n) {
    shuffle(x, n, 1, *state);
    for (int i = 1; i < n; i++)
        uniform(state); // shuffle has drawn from a copy
}

// 0 … n-1
void count_up(int *x, int n) {
    for (int i = 0; i < n; i++)
        x[i] = i;
}

// Arrows between S places form one circle; they are listed in any order. Begin
// at the first place, and write where you are after every `jumps` jumps.
void make_arrows(const Task *t, uint64_t *state, int *source, int *target) {
    int n = t->S, circle[LONGEST];
    count_up(circle, n);
    mix(state, circle + 1, n - 1);
    for (int i = 0; i < n; i++)
        source[i] = circle[i] * n + circle[(i + 1) % n];
    mix(state, source, n);
    for (int i = 0; i < t->T; i++)
        target[i] = circle[t->jumps * (i + 1) % n];
}

void spell_arrows(const Task *t, char *word, int id, bool target) {
    if (target)
        sprintf(word, "%c", 'a' + id);
    else
        sprintf(word, "%c>%c", 'a' + id / t->S, 'a' + id % t->S);
}

// Each place names a place. For each, write where `jumps` jumps lead.
void make_pointers(const Task *t, uint64_t *state, int *source, int *target) {
    for (int i = 0; i < t->S; i++)
        source[i] = random_below(t->S, state);
    count_up(target, t->T);
    for (int k = 0; k < t->jumps; k++)
        for (int i = 0; i < t->T; i++)
            target[i] = source[target[i]];
}

void spell_number(const Task *t, char *word, int id, bool target) {
    (void)t, (void)target;
    sprintf(word, "%d", id);
}

// Four letters with a bit each, in any order, and a question: what are the bits
// of these four, in this order? The answer is one word.
enum { FACTS = 4 };

void make_facts(const Task *t, uint64_t *state, int *source, int *target) {
    int bit[FACTS], asked[FACTS];
    (void)t;
    for (int i = 0; i < FACTS; i++)
        source[i] = 2 * i + (bit[i] = random_below(2, state));
    mix(state, source, FACTS);
    count_up(asked, FACTS);
    mix(state, asked, FACTS);
    source[FACTS] = target[0] = 0;
    for (int i = 0; i < FACTS; i++) {
        source[FACTS] = FACTS * source[FACTS] + asked[i];
        target[0] = 2 * target[0] + bit[asked[i]];
    }
    source[FACTS] += 2 * FACTS;
}

void spell_facts(const Task *t, char *word, int id, bool target) {
    (void)t;
    if (!target && id < 2 * FACTS) {
        sprintf(word, "%c%d", 'a' + id / 2, id % 2);
        return;
    }
    id -= target ? 0 : 2 * FACTS;
    strcpy(word, target ? "" : "?");
    for (int i = FACTS - 1, size = target ? 2 : FACTS; i >= 0; i--) {
        int place = id >> (target ? i : 2 * i) & (size - 1);
        sprintf(word + strlen(word), "%c", (target ? '0' : 'a') + place);
    }
}

// Is the number of ones odd?
void make_parity(const Task *t, uint64_t *state, int *source, int *target) {
    target[0] = 0;
    for (int i = 0; i < t->S; i++)
        target[0] ^= source[i] = random_below(2, state);
}

// Which letter is the first?
void make_first(const Task *t, uint64_t *state, int *source, int *target) {
    for (int i = 0; i < t->S; i++)
        source[i] = random_below(t->source_words, state);
    target[0] = source[0];
}

void spell_letter(const Task *t, char *word, int id, bool target) {
    (void)t, (void)target;
    sprintf(word, "%c", 'a' + id);
}

const Task tasks[] = {
    {"facts", 2 * FACTS + 256, 16, FACTS + 1, 1, 0, 1, 500,
     make_facts, spell_facts},
    {"parity", 2, 2, 7, 1, 0, 1, 1000, make_parity, spell_number},
    {"pointers", 6, 6, 6, 6, 4, 2, 1000, make_pointers, spell_number},
    {"first", 8, 8, 8, 1, 0, 2, 300, make_first, spell_letter},
    {"circle", 36, 6, 6, 5, 1, 2, 400, make_arrows, spell_arrows},
    {"jump", 49, 7, 7, 1, 3, 1, 1200, make_arrows, spell_arrows},
    {"long circle", 100, 10, 10, 9, 1, 1, 500, make_arrows, spell_arrows},
};

// n pairs, from number `first` on. If `different` is not 0, there are only that
// many, again and again. Pair i is a function of the key and of i.
Batch make_pairs(Arena *arena, const Task *t, uint64_t key, int64_t first,
                 int n, int64_t different) {
    int S = t->S, T = t->T;
    Batch b = {n, S, T, arena_take(arena, (size_t)(n * S), sizeof(int)),
               arena_take(arena, (size_t)(n * T), sizeof(int)),
               arena_take(arena, (size_t)(n * T), sizeof(int))};
    for (int i = 0; i < n; i++) {
        int64_t which = different ? (first + i) % different : first + i;
        uint64_t state = random_key(key, FOR_ORDER, (uint64_t)which);
        t->make(t, &state, b.source + i * S, b.expected + i * T);
    }
    for (int i = 0; i < n * S; i++)
        b.source[i] += FIRST_TOKEN;
    for (int i = 0; i < n * T; i++)
        b.expected[i] += FIRST_TOKEN;
    for (int i = 0; i < n * T; i++)
        b.input[i] = i % T ? b.expected[i - 1] : START;
    return b;
}

void print_words(const Task *t, const int *id, int n, bool target) {
    char word[8];
    for (int i = 0; i < n; i++) {
        t->spell(t, word, id[i] - FIRST_TOKEN, target);
        printf("%s%s", i ? " " : "", word);
    }
    putchar(target ? '\n' : '\t');
}

void print_pairs(const Task *t, uint64_t key, int n) {
    Arena arena = {0};
    Batch b = make_pairs(&arena, t, key, 0, n, 0);
    for (int i = 0; i < n; i++) {
        print_words(t, b.source + i * t->S, t->S, false);
        print_words(t, b.expected + i * t->T, t->T, true);
    }
    arena_free(&arena);
}

const Task *task_named(const char *name) {
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        if (!strcmp(name, tasks[i].name))
            return &tasks[i];
    fail("there is no task %s", name);
}
