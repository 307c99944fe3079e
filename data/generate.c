// # The data sets
//
// This program writes three small translation tasks, one of classification, and
// one text for pre-training, each in three files of lines "source TAB target":
// one to train on, one to watch the training with, one to test with at the end.
// It uses integers and its own random numbers only, so that the files are the
// same, byte for byte, on every machine.
//
//     cc -O2 data/generate.c -o generate && ./generate data
//
// | set     | source                 | target                      |
// |---------|------------------------|-----------------------------|
// | reverse | a b c d                | d c b a                     |
// | eng-fra | the red car is fast    | la voiture rouge est rapide |
// | dates   | Wednesday 3 March 2021 | 2021-03-03                  |
// | lamp    | read on off wait ? on  | off                         |
// | hidden  | le _ rouge _ rapide    | le train rouge est rapide   |
//
// First come the tools that all sets share, then the sets one by one, and
// last the part that fills and writes the files.

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 128, MAX_PAIRS = 8000 }; // the largest set has 6800 pairs
enum { TRAIN, VALID, TEST, SPLITS };

typedef struct {
    char source[LINE], target[LINE];
} Pair;

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

// ## Tools

static _Noreturn void fail(const char *what, const char *why) {
    fprintf(stderr, "generate: %s: %s\n", what, why);
    exit(1);
}

// SplitMix64: a counter with a large odd step, whose bits are then well mixed.
static uint64_t random_state;

static uint64_t random_bits(void) {
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// A whole number from 0 to n - 1. C does not say which of two arguments is
// computed first, so no call below has two that draw.
static int random_below(int n) {
    return (int)(((random_bits() >> 32) * (uint64_t)n) >> 32);
}

static void append(char *line, const char *text, size_t length) {
    size_t used = strlen(line);
    if (used + length + 1 > LINE)
        fail(line, "line too long");
    memcpy(line + used, text, length);
    line[used + length] = '\0';
}

// ## Set 1: reverse
//
// 4 to 10 different letters from a to p; the target is the same backwards.

static void make_reverse(int split, int index, Pair *pair) {
    (void)split, (void)index;
    char letter[] = "abcdefghijklmnop";
    int last = 2 * (4 + random_below(7) - 1);
    for (int i = 0, drawn = 0; i <= last; i++) {
        if (i % 2 == 0) { // exchange one of those left into place `drawn`
            int k = drawn + random_below(16 - drawn);
            char c = letter[k];
            letter[k] = letter[drawn];
            letter[drawn++] = c;
        }
        pair->source[i] = pair->target[last - i] =
            i % 2 ? ' ' : letter[i / 2];
    }
}

// ## Set 2: eng-fra
//
// A phrase grammar draws the parts of a sentence and says them in English and
// in French. What the model has to find out:
//
// - most French adjectives follow the noun, a few stand before it;
// - articles and adjectives agree with the noun in gender and number;
// - "some" is "des", but "de" where an adjective comes first;
// - "not" is "ne ... pas" around the verb, and "ne" loses its e to a vowel;
// - a question puts "est-ce que" before the statement.
//
// The words are chosen so that French needs no other elision: whatever can
// follow a determiner or "que" begins with a consonant, and none with h.
//
// ### The words

enum { ENGLISH, FRENCH };

// Slashes separate the forms of a word: singular/plural, or in French also
// masculine/feminine/masculine plural/feminine plural.
typedef struct {
    const char *forms[2];
    int kinds, traits;
} Word;

// What a noun stands for, and which nouns the other words go with (verbs and
// prepositions: which objects), so that nobody "takes a castle".
enum {
    PERSON = 1, ANIMAL = 2, VEHICLE = 4, FURNITURE = 8, PLACE = 16, THING = 32,
    LIVING = PERSON | ANIMAL,
    OBJECT = VEHICLE | FURNITURE | PLACE | THING,
    ANY = LIVING | OBJECT
};

// Traits of nouns, of determiners, of adjectives: their place in French, and
// whether they may follow "is" and "very". Two adjectives of one sort never
// describe one noun: no small car is big.
enum {
    FEMININE = 1, DEFINITE = 2, INDEFINITE = 4,
    BEFORE = 8, AFTER = 16, IS = 32, VERY = 64,
    EARLY = BEFORE | IS | VERY, LATE = AFTER | IS | VERY,
    COLOUR = 128, SIZE = 256, AGE = 512, SORTS = COLOUR | SIZE | AGE
};

static const Word nouns[] = {
    {{"boy/boys", "garçon/garçons"}, PERSON, 0},
    {{"girl/girls", "fille/filles"}, PERSON, FEMININE},
    {{"dog/dogs", "chien/chiens"}, ANIMAL, 0},
    {{"cat/cats", "chat/chats"}, ANIMAL, 0},
    {{"horse/horses", "cheval/chevaux"}, ANIMAL, 0},
    {{"cow/cows", "vache/vaches"}, ANIMAL, FEMININE},
    {{"mouse/mice", "souris/souris"}, ANIMAL, FEMININE},
    {{"hen/hens", "poule/poules"}, ANIMAL, FEMININE},
    {{"car/cars", "voiture/voitures"}, VEHICLE, FEMININE},
    {{"boat/boats", "bateau/bateaux"}, VEHICLE, 0},
    {{"train/trains", "train/trains"}, VEHICLE, 0},
    {{"table/tables", "table/tables"}, FURNITURE, FEMININE},
    {{"chair/chairs", "chaise/chaises"}, FURNITURE, FEMININE},
    {{"bed/beds", "lit/lits"}, FURNITURE, 0},
    {{"house/houses", "maison/maisons"}, PLACE, FEMININE},
    {{"castle/castles", "château/châteaux"}, PLACE, 0},
    {{"book/books", "livre/livres"}, THING, 0},
    {{"bag/bags", "sac/sacs"}, THING, 0},
    {{"flower/flowers", "fleur/fleurs"}, THING, FEMININE},
    {{"box/boxes", "boîte/boîtes"}, THING, FEMININE},
};

static const Word adjectives[] = {
    {{"red", "rouge/rouges"}, OBJECT, AFTER | IS | COLOUR},
    {{"green", "vert/verte/verts/vertes"}, OBJECT, AFTER | IS | COLOUR},
    {{"blue", "bleu/bleue/bleus/bleues"}, OBJECT, AFTER | IS | COLOUR},
    {{"white", "blanc/blanche/blancs/blanches"},
     OBJECT | ANIMAL, AFTER | IS | COLOUR},
    {{"black", "noir/noire/noirs/noires"},
     OBJECT | ANIMAL, AFTER | IS | COLOUR},
    {{"fast", "rapide/rapides"}, LIVING | VEHICLE, LATE},
    {{"heavy", "lourd/lourde/lourds/lourdes"}, ANY & ~(PERSON | PLACE), LATE},
    {{"happy", "heureux/heureuse/heureux/heureuses"}, LIVING, LATE},
    {{"dirty", "sale/sales"}, ANY & ~PERSON, LATE},
    {{"small", "petit/petite/petits/petites"}, ANY, EARLY | SIZE},
    {{"big", "grand/grande/grands/grandes"}, ANY, EARLY | SIZE},
    {{"old", "vieux/vieille/vieux/vieilles"}, ANY & ~PERSON, EARLY | AGE},
    {{"new", "nouveau/nouvelle/nouveaux/nouvelles"},
     ANY & ~PERSON, BEFORE | AGE},
    {{"beautiful", "beau/belle/beaux/belles"}, ANY, EARLY},
};

// What is listed twice is drawn twice as often.
static const Word determiners[] = {
    {{"the", "le/la/les/les"}, ANY, DEFINITE},
    {{"the", "le/la/les/les"}, ANY, DEFINITE},
    {{"my", "mon/ma/mes/mes"}, ANY, DEFINITE},
    {{"your", "ton/ta/tes/tes"}, ANY, DEFINITE},
    {{"our", "notre/nos"}, ANY, DEFINITE},
    {{"this/these", "ce/cette/ces/ces"}, ANY, DEFINITE},
    {{"a/some", "un/une/des/des"}, ANY, INDEFINITE},
    {{"a/some", "un/une/des/des"}, ANY, INDEFINITE},
    {{"one/two", "un/une/deux/deux"}, ANY, INDEFINITE},
};

static const Word verbs[] = {
    {{"sees/see", "voit/voient"}, ANY, 0},
    {{"likes/like", "aime/aiment"}, ANY, 0},
    {{"prefers/prefer", "préfère/préfèrent"}, ANY, 0},
    {{"finds/find", "trouve/trouvent"}, ANY, 0},
    {{"looks for/look for", "cherche/cherchent"}, ANY, 0},
    {{"watches/watch", "regarde/regardent"}, ANY, 0},
    {{"follows/follow", "suit/suivent"}, LIVING | VEHICLE, 0},
    {{"wants/want", "veut/veulent"}, OBJECT | ANIMAL, 0},
    {{"chooses/choose", "choisit/choisissent"}, OBJECT | ANIMAL, 0},
    {{"pushes/push", "pousse/poussent"}, ANY & ~PLACE, 0},
    {{"pulls/pull", "tire/tirent"}, ANY & ~PLACE, 0},
    {{"takes/take", "prend/prennent"}, VEHICLE | THING, 0},
};

static const Word to_be = {{"is/are", "est/sont"}, 0, 0};
static const Word to_do = {{"does/do", ""}, 0, 0};

static const Word prepositions[] = {
    {{"under", "sous"}, FURNITURE | VEHICLE, 0},
    {{"on", "sur"}, FURNITURE, 0},
    {{"in", "dans"}, VEHICLE | PLACE, 0},
    {{"behind", "derrière"}, ANY, 0},
    {{"in front of", "devant"}, ANY, 0},
    {{"with", "avec"}, LIVING, 0},
};

// These pairs occur in no sentence of train and valid, only in test: there
// the model must combine what it has learned about each word separately. Every
// adjective has one feminine and one masculine noun here.
static const char *const unseen[][2] = {
    {"red", "car"}, {"red", "book"}, {"green", "table"}, {"green", "boat"},
    {"blue", "box"}, {"blue", "train"}, {"white", "house"}, {"white", "cat"},
    {"black", "hen"}, {"black", "horse"}, {"fast", "girl"}, {"fast", "dog"},
    {"heavy", "flower"}, {"heavy", "bag"}, {"happy", "mouse"},
    {"happy", "boy"}, {"dirty", "cow"}, {"dirty", "boat"},
    {"small", "chair"}, {"small", "castle"}, {"big", "hen"}, {"big", "bed"},
    {"old", "table"}, {"old", "book"}, {"new", "flower"}, {"new", "cat"},
    {"beautiful", "cow"}, {"beautiful", "train"},
};

// ### The rules
//
// Capitals stand for the parts. The rules show the crossing: A and N change
// places, B and N do not.
//
//     N noun   D determiner   C the same, right before B
//     B, A adjective before, after the French noun

static const char *const phrase_rules[][2] = {
    {"D N", "D N"}, {"D N", "D N"},
    {"C B N", "C B N"}, {"C B N", "C B N"},
    {"D A N", "D N A"}, {"D A N", "D N A"},
    {"C B A N", "C B N A"},
    {"D very B N", "C très B N"},
    {"D very A N", "D N très A"},
};

//     S subject   O object, or where P is   P preposition
//     V verb   H does or do   I the verb after H   ~ "ne" before the verb
//     J adjective, which agrees with the subject
//
// Questions and denials have definite phrases only, and so has the subject of
// "is": word by word, "some cats are black" would be odd French.

typedef struct {
    const char *text[2];
    int kinds;           // of subject; to be somewhere, it must be movable
    int subject, object; // DEFINITE, INDEFINITE or 0 for either
} SentenceRule;

enum { MOVABLE = LIVING | VEHICLE | THING };

static const SentenceRule sentence_rules[] = {
    {{"S", "S"}, ANY, 0, 0},
    {{"P O", "P O"}, 0, 0, 0},
    {{"there V S P O", "il y a S P O"}, MOVABLE, INDEFINITE, 0},
    {{"S V J", "S V J"}, ANY, DEFINITE, 0},
    {{"S V very J", "S V très J"}, ANY, DEFINITE, 0},
    {{"S V not J", "S ~V pas J"}, ANY, DEFINITE, 0},
    {{"S V not very J", "S ~V pas très J"}, ANY, DEFINITE, 0},
    {{"V S J?", "est-ce que S V J ?"}, ANY, DEFINITE, 0},
    {{"S V P O", "S V P O"}, MOVABLE, DEFINITE, 0},
    {{"S V not P O", "S ~V pas P O"}, MOVABLE, DEFINITE, DEFINITE},
    {{"V S P O?", "est-ce que S V P O ?"}, MOVABLE, DEFINITE, DEFINITE},
    {{"S V O", "S V O"}, LIVING, 0, 0},
    {{"S V O", "S V O"}, LIVING, 0, 0},
    {{"S V O", "S V O"}, LIVING, 0, 0},
    {{"S H not I O", "S ~V pas O"}, LIVING, DEFINITE, DEFINITE},
    {{"S H not I O", "S ~V pas O"}, LIVING, DEFINITE, DEFINITE},
    {{"H S I O?", "est-ce que S V O ?"}, LIVING, DEFINITE, DEFINITE},
};

// Parts are found by their letter; those that the rule lacks are NULL.
typedef struct {
    const char *const *text; // the rule, in both languages
    const Word *part[256];
    bool plural;
} Phrase;

typedef struct {
    const SentenceRule *rule;
    const Word *part[256];
    Phrase subject, object;
} Sentence;

// ### Saying a sentence

// The form of a word that agrees with a phrase; it ends at a slash.
static const char *form(const char *forms, const Phrase *p) {
    int slashes = 0;
    for (const char *c = forms; *c; c++)
        slashes += *c == '/';
    int skip = slashes > 0 && p->plural ? (slashes + 1) / 2 : 0;
    if (slashes == 3 && p->part['N']->traits & FEMININE)
        skip++;
    while (skip-- > 0)
        forms = strchr(forms, '/') + 1;
    return forms;
}

static void say(char *line, const Word *word, int language, const Phrase *p) {
    const char *text = form(word->forms[language], p);
    append(line, text, strcspn(text, "/"));
}

static bool is_vowel(char c) {
    return strchr("aeiou", c) != NULL;
}

// A determiner before an adjective: "a" may become "an" (of all words that
// can follow it, only "old" asks for that), and "des" becomes "de".
static void join(char *line, int language, const Phrase *p) {
    const char *space = strrchr(line, ' '), *last = space ? space + 1 : line;
    if (language == ENGLISH && !strcmp(last, "a") &&
        is_vowel(p->part['B']->forms[ENGLISH][0]))
        append(line, "n", 1);
    if (language == FRENCH && !strcmp(last, "des"))
        line[strlen(line) - 1] = '\0';
}

static void say_phrase(char *line, int language, const Phrase *p) {
    for (const char *c = p->text[language]; *c; c++) {
        const Word *word = p->part[(unsigned char)*c];
        if (word)
            say(line, word, language, p);
        else
            append(line, c, 1);
        if (*c == 'C')
            join(line, language, p);
    }
}

static void say_sentence(char *line, int language, const Sentence *s) {
    static const Phrase many = {.plural = true};
    const Phrase *p = &s->subject;
    for (const char *c = s->rule->text[language]; *c; c++) {
        const Word *word = s->part[(unsigned char)*c];
        if (word)
            say(line, word, language, *c == 'I' ? &many : p);
        else if (*c == 'S' || *c == 'O')
            say_phrase(line, language, *c == 'S' ? p : &s->object);
        else if (*c == '~' && is_vowel(*form(s->part['V']->forms[FRENCH], p)))
            append(line, "n'", 2);
        else if (*c == '~')
            append(line, "ne ", 3);
        else
            append(line, c, 1);
    }
}

// ### Drawing a sentence

// Draws a word that goes with nouns of these kinds and has all these traits.
static const Word *draw(const Word *words, int n, int kinds, int traits) {
    const Word *word;
    do
        word = &words[random_below(n)];
    while (!(word->kinds & kinds) || (word->traits & traits) != traits);
    return word;
}

#define DRAW(words, kinds, traits) draw(words, LENGTH(words), kinds, traits)

static bool clash(const Word *a, const Word *b) {
    return a && b && (a == b || (a->traits & b->traits & SORTS));
}

// An adjective that goes with the noun and with the adjectives it has.
static const Word *draw_adjective(const Phrase *p, int traits) {
    const Word *word;
    do
        word = DRAW(adjectives, p->part['N']->kinds, traits);
    while (clash(word, p->part['B']) || clash(word, p->part['A']));
    return word;
}

static Phrase draw_phrase(int kinds, int traits) {
    Phrase p = {.text = phrase_rules[random_below(LENGTH(phrase_rules))]};
    int very = strstr(p.text[ENGLISH], "very") ? VERY : 0;
    p.plural = random_below(2);
    p.part['C'] = p.part['D'] = DRAW(determiners, ANY, traits);
    p.part['N'] = DRAW(nouns, kinds, 0);
    if (strchr(p.text[ENGLISH], 'B'))
        p.part['B'] = draw_adjective(&p, BEFORE | very);
    if (strchr(p.text[ENGLISH], 'A'))
        p.part['A'] = draw_adjective(&p, AFTER | very);
    return p;
}

// A sentence with a preposition or an adjective needs "is", not another verb.
static Sentence draw_sentence(void) {
    Sentence s = {.part = {['H'] = &to_do, ['V'] = &to_be}};
    s.rule = &sentence_rules[random_below(LENGTH(sentence_rules))];
    const char *text = s.rule->text[ENGLISH];
    const Word *governs = NULL; // the word that the object goes with
    int very = strstr(text, "very") ? VERY : 0;
    if (strchr(text, 'S'))
        s.subject = draw_phrase(s.rule->kinds, s.rule->subject);
    if (strchr(text, 'J'))
        s.part['J'] = draw_adjective(&s.subject, IS | very);
    if (strchr(text, 'P'))
        s.part['P'] = governs = DRAW(prepositions, ANY, 0);
    else if (strchr(text, 'O'))
        s.part['V'] = s.part['I'] = governs = DRAW(verbs, ANY, 0);
    if (governs)
        do
            s.object = draw_phrase(governs->kinds, s.rule->object);
        while (s.object.part['N'] == s.subject.part['N']);
    return s;
}

static bool is_unseen(const Word *adjective, const Word *noun) {
    for (int i = 0; adjective && i < LENGTH(unseen); i++)
        if (!strcmp(unseen[i][0], adjective->forms[ENGLISH]) &&
            !strncmp(unseen[i][1], noun->forms[ENGLISH], strlen(unseen[i][1])))
            return true;
    return false;
}

static bool has_unseen(const Sentence *s) {
    const Phrase *p = &s->subject, *q = &s->object;
    return is_unseen(s->part['J'], p->part['N']) ||
           is_unseen(p->part['B'], p->part['N']) ||
           is_unseen(p->part['A'], p->part['N']) ||
           is_unseen(q->part['B'], q->part['N']) ||
           is_unseen(q->part['A'], q->part['N']);
}

// Two in five sentences of test have an unseen pair, and no other sentence
// has one. The first of them is drawn again until it is the book's example.
static void make_sentence(int split, int index, Pair *pair) {
    bool wanted = split == TEST && index % 5 < 2, first = wanted && index == 0;
    Sentence s;
    do {
        s = draw_sentence();
        *pair = (Pair){"", ""};
        say_sentence(pair->source, ENGLISH, &s);
        say_sentence(pair->target, FRENCH, &s);
    } while (has_unseen(&s) != wanted ||
             (first && strcmp(pair->source, "the red car is fast")));
}

// ## Set 3: dates
//
// A day from 1900 to 2099, written in one of nine ways; the target is the ISO
// form. No day is used twice, so that no date of test occurs in train.

static const char *const weekdays[] = {"Monday", "Tuesday", "Wednesday",
                                       "Thursday", "Friday", "Saturday",
                                       "Sunday"};
static const char *const months[] = {"January", "February", "March", "April",
                                     "May", "June", "July", "August",
                                     "September", "October", "November",
                                     "December"};

static int month_length(int month, int year) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month] + (month == 1 && leap);
}

static const char *ending(int day) {
    static const char *const endings[] = {"th", "st", "nd", "rd"};
    return endings[day / 10 == 1 || day % 10 > 3 ? 0 : day % 10];
}

static void write_date(char *line, const char *w, int d, const char *m, int y) {
    switch (random_below(9)) {
    case 0: snprintf(line, LINE, "%d %s %d", d, m, y); break;
    case 1: snprintf(line, LINE, "%s %d, %d", m, d, y); break;
    case 2: snprintf(line, LINE, "%.3s %d, %d", m, d, y); break;
    case 3: snprintf(line, LINE, "%d %.3s %d", d, m, y); break;
    case 4: snprintf(line, LINE, "%d%s of %s %d", d, ending(d), m, y); break;
    case 5: snprintf(line, LINE, "%s %d%s, %d", m, d, ending(d), y); break;
    case 6: snprintf(line, LINE, "%s %d %s %d", w, d, m, y); break;
    case 7: snprintf(line, LINE, "%s, %s %d, %d", w, m, d, y); break;
    default: snprintf(line, LINE, "%.3s %d %.3s %d", w, d, m, y);
    }
}

// Counts days from 1 January 1900, a Monday. There are 49 leap years.
static void make_date(int split, int index, Pair *pair) {
    enum { DAYS = 200 * 365 + 49 };
    static bool used[DAYS];
    (void)split, (void)index;
    int day, month = 0;
    do
        day = random_below(DAYS);
    while (used[day]);
    used[day] = true;
    const char *weekday = weekdays[day % 7];
    for (; day >= month_length(month % 12, 1900 + month / 12); month++)
        day -= month_length(month % 12, 1900 + month / 12);
    int year = 1900 + month / 12;
    month %= 12;
    write_date(pair->source, weekday, day + 1, months[month], year);
    snprintf(pair->target, LINE, "%d-%02d-%02d", year, month + 1, day + 1);
}

// ## Set 4: lamp
//
// What somebody does in an evening, one word for each thing: the lamp is
// switched on and off, other things happen, and once there is a question. Was
// the lamp on or off then? The last switch before the question tells, however
// many others come before it, or after the question and nearer to it.
//
// Each sentence has as many "on" as "off". Its twin, the next line, has the two
// exchanged: the same words, the other answer. So nobody can tell the answer
// from the words alone, without their order.

enum { LEAST_WORDS = 5, MOST_WORDS = 16, MOST_SWITCHES = 8 };
enum { OFF, ON, QUESTION, OTHER };

static const char *const lamp_words[] = {"off", "on", "?", "cook", "read",
                                         "rest", "sing", "wait", "walk"};

// Draws the words of a sentence, in any order; returns how many.
static int draw_words(int *word) {
    int n = LEAST_WORDS + random_below(MOST_WORDS - LEAST_WORDS + 1);
    int most = n - 1 < MOST_SWITCHES ? n - 1 : MOST_SWITCHES;
    int switches = 2 * (1 + random_below(most / 2));
    for (int i = 0; i < n; i++)
        word[i] = i < switches ? i % 2 : i == switches ? QUESTION
                : OTHER + random_below(LENGTH(lamp_words) - OTHER);
    for (int i = n - 1; i > 0; i--) {
        int k = random_below(i + 1), kept = word[i];
        word[i] = word[k];
        word[k] = kept;
    }
    return n;
}

// The last switch before the question; QUESTION if there is none.
static int lamp_at_question(const int *word) {
    int state = QUESTION;
    for (; *word != QUESTION; word++)
        if (*word <= ON)
            state = *word;
    return state;
}

static void make_lamp(int split, int index, Pair *pair) {
    static int word[MOST_WORDS], n;
    (void)split;
    if (index % 2 == 0)
        do
            n = draw_words(word);
        while (lamp_at_question(word) == QUESTION);
    else // the twin
        for (int i = 0; i < n; i++)
            word[i] = word[i] <= ON ? ON - word[i] : word[i];
    for (int i = 0; i < n; i++) {
        const char *text = lamp_words[word[i]];
        append(pair->source, " ", i > 0);
        append(pair->source, text, strlen(text));
    }
    strcpy(pair->target, lamp_words[lamp_at_question(word)]);
}

// ## Set 5: hidden
//
// Plain text, without labels: sentences of set 2, every other one in French,
// without their translations. Each word of the source is hidden with a chance
// of one in three; the target is the whole sentence.

static void hide_words(char *line, const char *sentence) {
    for (const char *word = sentence; *word;) {
        size_t length = strcspn(word, " ?"), rest = strspn(word + length, " ?");
        bool hidden = random_below(3) == 0;
        append(line, hidden ? "_" : word, hidden ? 1 : length);
        append(line, word + length, rest);
        word += length + rest;
    }
}

static void make_hidden(int split, int index, Pair *pair) {
    Pair both;
    (void)split;
    make_sentence(TRAIN, index, &both);
    strcpy(pair->target, index % 2 ? both.target : both.source);
    hide_words(pair->source, pair->target);
}

// ## Filling and writing

typedef struct {
    const char *name;
    int sizes[SPLITS];
    void (*make)(int split, int index, Pair *pair);
    bool many_targets; // of a source; the first one is kept
} Set;

static const Set sets[] = {
    {"reverse", {3000, 200, 300}, make_reverse, false},
    {"eng-fra", {6000, 300, 500}, make_sentence, false},
    {"dates", {4000, 200, 400}, make_date, false},
    {"lamp", {4000, 200, 800}, make_lamp, false},
    {"hidden", {3000, 200, 300}, make_hidden, true},
};

static Pair pairs[MAX_PAIRS];

// Has the source of pair n been drawn before?
static bool is_old(const Set *set, int n) {
    for (int i = 0; i < n; i++)
        if (!strcmp(pairs[i].source, pairs[n].source)) {
            if (!set->many_targets && strcmp(pairs[i].target, pairs[n].target))
                fail(pairs[n].source, "has two targets");
            return true;
        }
    return false;
}

// Fills `pairs` with train, valid and test, one after the other.
static void fill(const Set *set) {
    int n = 0;
    random_state = 2017;
    for (int split = TRAIN; split < SPLITS; split++)
        for (int i = 0; i < set->sizes[split]; i++, n++)
            do {
                pairs[n] = (Pair){"", ""};
                set->make(split, i, &pairs[n]);
            } while (is_old(set, n));
}

// "wb", so that a line ends in a single LF on every system.
static void write_pairs(const char *path, const Pair *first, int n) {
    FILE *file = fopen(path, "wb");
    if (!file)
        fail(path, strerror(errno));
    bool good = true;
    for (int i = 0; good && i < n; i++)
        good = fprintf(file, "%s\t%s\n", first[i].source, first[i].target) > 0;
    good = good && fflush(file) == 0;
    if (!good || fclose(file) != 0)
        fail(path, strerror(errno));
}

static void make_set(const Set *set, const char *folder) {
    static const char *const names[] = {"train", "valid", "test"};
    char path[4096];
    const Pair *first = pairs;
    fill(set);
    for (int split = TRAIN; split < SPLITS; split++) {
        snprintf(path, sizeof path, "%s/%s.%s.tsv", folder, set->name, names[split]);
        write_pairs(path, first, set->sizes[split]);
        first += set->sizes[split];
    }
}

int main(int argc, char **argv) {
    if (argc != 2 || argv[1][0] == '\0' || argv[1][0] == '-') {
        fprintf(stderr, "usage: generate FOLDER\n");
        return 2;
    }
    for (int i = 0; i < LENGTH(sets); i++)
        make_set(&sets[i], argv[1]);
    return 0;
}
