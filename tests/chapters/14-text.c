// Chapter 14: UTF-8, tokens, vocabularies, byte pairs, files of pairs,
// translations as words.

#include "../lib/test.h"
#include "../lib/fails.h"

#define FILE_NAME SCRATCH "14-text.tsv"
#define BOM "\xef\xbb\xbf" // the byte order mark

const Tokenizer words = {WORDS, 0}, lower_words = {WORDS, 1};
const Tokenizer characters_one_by_one = {CHARACTERS, 0};

// ## UTF-8

// Writes c in n bytes, whether it needs them or not.
void write_utf8(char to[5], unsigned c, int n) {
    const unsigned first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    memset(to, 0, 5);
    for (int i = n - 1; i > 0; i--, c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)(first[n] | c);
}

// Of all numbers from `from` up to `to`, written in n bytes: how many are a
// character of `length` bytes, or if that is 0, no character.
int of_length(int length, unsigned from, unsigned to, int n) {
    char text[5];
    int count = 0;
    for (unsigned c = from; c <= to; c++) {
        write_utf8(text, c, n);
        count += utf8_length(text) == length
              && valid_utf8(text) == (length > 0);
    }
    return count;
}

int taken(unsigned from, unsigned to, int n) {
    return of_length(n, from, to, n);
}

int refused(unsigned from, unsigned to, int n) {
    return of_length(0, from, to, n);
}

// Of all characters of n bytes: how many are refused when their last byte is
// missing, at the end of the text and before a letter.
int refused_when_cut(unsigned from, unsigned to, int n) {
    char text[5];
    int count = 0;
    for (unsigned c = from; c <= to; c++) {
        write_utf8(text, c, n);
        bool good = true;
        for (int cut = n - 1; cut > 0; cut--) {
            text[cut] = '\0';
            good = good && utf8_length(text) == 0;
            text[cut] = 'a';
            good = good && utf8_length(text) == 0;
        }
        count += good;
    }
    return count;
}

void test_utf8(void) {
    CLAIM(taken(0, 0x7f, 1) == 0x80, "every character of one byte is valid");
    CLAIM(taken(0x80, 0x7ff, 2) == 0x780, "every character of two bytes");
    CLAIM(taken(0x800, 0xd7ff, 3) == 0xd000
          && taken(0xe000, 0xffff, 3) == 0x2000,
          "every character of three bytes");
    CLAIM(taken(0x10000, 0x10ffff, 4) == 0x100000,
          "every character of four bytes, up to U+10FFFF");
    CLAIM(refused(0xd800, 0xdfff, 3) == 0x800, "surrogates are not valid");
    CLAIM(refused(0x110000, 0x1fffff, 4) == 0xf0000,
          "nor is anything beyond U+10FFFF");
    CLAIM(refused(0, 0x7f, 2) == 0x80 && refused(0, 0x7ff, 3) == 0x800
          && refused(0, 0xffff, 4) == 0x10000,
          "nor a character in more bytes than it needs");
    CLAIM(refused_when_cut(0x80, 0x7ff, 2) == 0x780
          && refused_when_cut(0x800, 0xd7ff, 3) == 0xd000
          && refused_when_cut(0x10000, 0x10ffff, 4) == 0x100000,
          "nor one that lacks its last bytes");
    int lone = 0;
    for (int c = 0x80; c <= 0xff; c++)
        lone += !utf8_length((char[]){(char)c, 0}) && (c < 0xf8
             || !utf8_length((char[]){(char)c, -128, -128, -128, -128, 0}));
    CLAIM(lone == 0x80, "nor a byte that begins no character");
    CLAIM(valid_utf8("") && valid_utf8("a é € 😀") && !valid_utf8("a é \xff"),
          "a text is valid if all its characters are");
}

// Capitals of Latin, Greek, Cyrillic and Armenian in Unicode 14 whose small
// letters have as many bytes: a range's first and last, its step, and the
// distance to the small letter. Made with Python's str.lower.
const int unicode[][4] = {
    {0x41, 0x5a, 1, 32}, {0xc0, 0xd6, 1, 32}, {0xd8, 0xde, 1, 32},
    {0x100, 0x12e, 2, 1}, {0x132, 0x136, 2, 1}, {0x139, 0x147, 2, 1},
    {0x14a, 0x176, 2, 1}, {0x178, 0x178, 1, -121}, {0x179, 0x17d, 2, 1},
    {0x181, 0x181, 1, 210}, {0x186, 0x186, 1, 206}, {0x189, 0x18a, 1, 205},
    {0x18f, 0x18f, 1, 202}, {0x190, 0x190, 1, 203}, {0x198, 0x198, 1, 1},
    {0x1a0, 0x1a4, 2, 1}, {0x1af, 0x1af, 1, 1}, {0x1b3, 0x1b5, 2, 1},
    {0x1cd, 0x1db, 2, 1}, {0x1de, 0x1ee, 2, 1}, {0x1f8, 0x21e, 2, 1},
    {0x222, 0x232, 2, 1}, {0x386, 0x386, 1, 38}, {0x388, 0x38a, 1, 37},
    {0x38c, 0x38c, 1, 64}, {0x38e, 0x38f, 1, 63}, {0x391, 0x3a1, 1, 32},
    {0x3a3, 0x3ab, 1, 32}, {0x400, 0x40f, 1, 80}, {0x410, 0x42f, 1, 32},
    {0x460, 0x480, 2, 1}, {0x48a, 0x4be, 2, 1}, {0x4c0, 0x4c0, 1, 15},
    {0x4c1, 0x4cd, 2, 1}, {0x4d0, 0x52e, 2, 1}, {0x531, 0x556, 1, 48},
    {0x1e00, 0x1e94, 2, 1}, {0x1ea0, 0x1efe, 2, 1},
};

void test_all_of_unicode(void) {
    int wrong = 0, changed = 0;
    for (int c = 1; c <= 0x10ffff; c++) {
        char text[7], before[5];
        int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4, small = c;
        write_utf8(before, (unsigned)c, n);
        snprintf(text, sizeof text, "%sA", before);
        if (!valid_utf8(text))
            continue;
        for (size_t k = 0; k < sizeof unicode / sizeof *unicode; k++) {
            const int *r = unicode[k];
            if (c >= r[0] && c <= r[1] && (c - r[0]) % r[2] == 0)
                small = c + r[3];
        }
        lower_case(text);
        wrong += utf8_number(text) != small || utf8_length(text) != n
              || strcmp(text + n, "a");
        changed += utf8_number(text) != c;
    }
    CLAIM(wrong == 0 && changed == 519, "%d letters become small, each the one "
          "that Unicode says, and no other character changes", changed);
}

// ## Tokens

void test_spaces(void) {
    char text[5];
    int spaces = 0, others = 0;
    for (unsigned c = 1; c <= 0xa0; c++) {
        write_utf8(text, c, c < 0x80 ? 1 : 2);
        *(c <= ' ' || c >= 0x7f ? &spaces : &others) += is_space(text);
    }
    CLAIM(spaces == 66, "the blank, all control characters and the no-break "
          "space of two bytes are white space");
    CLAIM(is_space("\xe2\x80\xaf!"), "and so is the one of three bytes");
    CLAIM(is_space("\xe3\x80\x80!"), "and the blank of Chinese and Japanese");
    int typeset = 0;
    for (unsigned c = 0xa1; c <= 0x10ffff; c++) {
        write_utf8(text, c, c < 0x800 ? 2 : c < 0x10000 ? 3 : 4);
        bool of_typesetting = (c >= 0x2000 && c <= 0x200a) || c == 0x2028
                           || c == 0x2029;
        typeset += is_space(text) && of_typesetting;
        others += is_space(text) && !of_typesetting && c != 0x202f
               && c != 0x3000;
    }
    CLAIM(typeset == 13, "and the eleven blanks of typesetting, and Unicode's "
          "separators of lines and paragraphs");
    CLAIM(others == 0 && !is_space("") && !is_space("a ")
          && !is_space("\xe2\x80"), "nothing else is white space");
    CLAIM(*skip_spaces(" \xc2\xa0\t\xe2\x80\xaf\xe3\x80\x80\xc2\x80"
                       "a ") == 'a'
          && *skip_spaces(" ") == '\0', "white space is skipped whole");
}

// Whether a terminal is shown this of a text.
bool shows(const char *text, const char *expected) {
    char shown[104];
    snprintf(shown, sizeof shown, "%s", text);
    return printable(shown) == shown && !strcmp(shown, expected);
}

void test_printable(void) {
    char all[104] = "", *end = all; // write_utf8 clears five bytes
    for (int c = 1; c <= 0x9f; c = c == 0x1f ? 0x7f : c + 1) {
        write_utf8(end, (unsigned)c, c < 0x80 ? 1 : 2);
        end += strlen(end);
    }
    char expected[97] = "";
    memset(expected, '?', 32 + 2 * 32);
    CLAIM(shows(all, expected), "each of the 64 control characters is shown "
          "as question marks, one for each byte");
    const char *stay = "~ é ¿ \xc2\xa0 à 猫 😀";
    CLAIM(shows(stay, stay) && shows("", ""), "all other characters stay");
    CLAIM(shows("a\xc2", "a\xc2") && shows("\xc2\x1b\xff", "\xc2?\xff"),
          "as do bytes that are not UTF-8, to the last one");
    CLAIM_FAILS("a message shows no control characters",
                "transformer: cannot open x?[31m??31my?: ",
                read_pairs("x\x1b[31m\xc2\x9b" "31my\x7f", words));
}

// Whether these are the tokens of a text, each in angle brackets.
bool cuts_into(const char *text, Tokenizer tokenizer, const char *expected) {
    char joined[400] = "", *end = joined;
    const char *token;
    for (int n; (token = next_token(&text, tokenizer, &n)) != NULL;)
        end += sprintf(end, "‹%.*s›", n, token);
    return !strcmp(joined, expected);
}

void test_words(void) {
    CLAIM(cuts_into("  The red\tcar ", words, "‹The›‹red›‹car›"),
          "words end at white space");
    CLAIM(cuts_into("a.b,c!d?e;f:g\"h(i)j", words,
                    "‹a›‹.›‹b›‹,›‹c›‹!›‹d›‹?›‹e›‹;›‹f›‹:›‹g›"
                    "‹\"›‹h›‹(›‹i›‹)›‹j›"),
          "each punctuation character is a token by itself");
    CLAIM(cuts_into("Wait...", words, "‹Wait›‹.›‹.›‹.›"), "also in a row");
    CLAIM(cuts_into("¿Qué? ¡Sí! «oui» “yes” Mais… 我、你。", words,
                    "‹¿›‹Qué›‹?›‹¡›‹Sí›‹!›‹«›‹oui›‹»›‹“›‹yes›‹”›‹Mais›‹…›"
                    "‹我›‹、›‹你›‹。›"),
          "so are marks of Spanish, French, English, Chinese and Japanese");
    CLAIM(cuts_into("don't l'eau aujourd’hui well-known 'tis -", words,
                    "‹don't›‹l'eau›‹aujourd’hui›‹well-known›‹'tis›‹-›"),
          "apostrophes and hyphens stay in their words");
    CLAIM(cuts_into("Où\xc2\xa0?\xe2\x80\xafIci\xe2\x80\xaf!", words,
                    "‹Où›‹?›‹Ici›‹!›"),
          "no-break spaces are spaces");
    CLAIM(cuts_into("\xe6\x98\xaf\xe3\x80\x80\xe7\x8c\xab", words,
                    "‹是›‹猫›"),
          "and so is the wide one");
    CLAIM(cuts_into("a\x7f" "b\xc2\x9b[1m", words, "‹a›‹b›‹[1m›"),
          "a vocabulary has no control characters");
    CLAIM(cuts_into("", words, "") && cuts_into(" \xc2\xa0\t", words, ""),
          "there is no token in an empty text or in white space");
}

void test_characters(void) {
    CLAIM(cuts_into("né, 😀!", characters_one_by_one, "‹n›‹é›‹,›‹ ›‹😀›‹!›"),
          "in character mode each character is a token");
    CLAIM(cuts_into(" a\t\xc2\xa0" "b\xe2\x80\xaf", characters_one_by_one,
                    "‹ ›‹a›‹ ›‹ ›‹b›‹ ›"),
          "and each white-space character is a token that is a blank");
    CLAIM(cuts_into("", characters_one_by_one, ""),
          "an empty text has no characters");
}

// ## Vocabularies

int id_of(const Vocab *v, const char *word) {
    return token_id(v, word, (int)strlen(word));
}

void test_vocab(void) {
    char first[] = "b a b", second[] = "c, a";
    char *text[] = {first, second};
    Vocab v = vocab_build(text, 2, words, 1);
    CLAIM(v.count == 8 && !strcmp(v.token[PAD], "<pad>")
          && !strcmp(v.token[START], "<start>") && !strcmp(v.token[END], "<end>")
          && !strcmp(v.token[UNKNOWN], "<unknown>"),
          "a vocabulary begins with the four special tokens");
    CLAIM(id_of(&v, ",") == 4 && id_of(&v, "a") == 5 && id_of(&v, "b") == 6
          && id_of(&v, "c") == 7, "then come words in order of their bytes");
    CLAIM(id_of(&v, "d") == UNKNOWN && id_of(&v, "") == UNKNOWN
          && id_of(&v, "ab") == UNKNOWN, "a word that it lacks is unknown");
    CLAIM(token_id(&v, "abc", 1) == 5, "a word need not end with a zero byte");
    vocab_free(&v);
    v = vocab_build(text, 2, words, 2);
    CLAIM(v.count == 6 && id_of(&v, "a") == 4 && id_of(&v, "b") == 5
          && id_of(&v, "c") == UNKNOWN, "min_count leaves out rare words");
    vocab_free(&v);
    v = vocab_build(text, 2, words, 3);
    CLAIM(v.count == FIRST_TOKEN, "if all are rare, only the special ones stay");
    vocab_free(&v);
    v = vocab_build(NULL, 0, words, 1);
    CLAIM(v.count == FIRST_TOKEN, "as they do if there is no text");
    vocab_free(&v);
}

void test_special(void) {
    char text[] = "<end> a";
    Vocab v = vocab_build((char *[]){text}, 1, words, 1);
    CLAIM(id_of(&v, "<pad>") == UNKNOWN && id_of(&v, "<unknown>") == UNKNOWN,
          "a word that looks like a special token is unknown");
    CLAIM(id_of(&v, "<end>") == 4 && !strcmp(v.token[4], "<end>"),
          "or a word like any other, with a number of its own");
    Sentence s = tokenize("<end> <start> a", &v, words);
    CLAIM(s.length == 4 && s.id[0] == 4 && s.id[1] == UNKNOWN && s.id[2] == 5
          && s.id[3] == END, "it does not end a sentence");
    free(s.id);
    vocab_free(&v);
}

void test_order(void) {
    char text[] = "b é a B aé ab 日本 a 😀 aa b";
    const char *sorted[] = {"B", "a", "aa", "ab", "aé", "b", "é", "日本", "😀"};
    Vocab v = vocab_build((char *[]){text}, 1, words, 1);
    int right = 0;
    for (int i = 0; i < 9; i++)
        right += id_of(&v, sorted[i]) == FIRST_TOKEN + i;
    CLAIM(right == 9 && v.count == FIRST_TOKEN + 9, "a word comes before those "
          "that it begins, letters with accents after all others");
    vocab_free(&v);
}

// ## Sentences

bool comes_back(const char *text, const Vocab *v, Tokenizer tokenizer,
                const char *expected) {
    Sentence s = tokenize(text, v, tokenizer);
    char *back = detokenize(s.id, s.length, v, tokenizer);
    bool same = !strcmp(back, expected) && s.id[s.length - 1] == END;
    free(back);
    free(s.id);
    return same;
}

void test_sentences(void) {
    char text[] = "où est l'eau ? (là) a é";
    Vocab v = vocab_build((char *[]){text}, 1, words, 1);
    CLAIM(comes_back(" où  est l'eau? ", &v, words, "où est l'eau ?"),
          "words come back from their numbers, joined by single spaces");
    CLAIM(comes_back("où est Paul", &v, words, "où est <unknown>"),
          "an unknown word comes back as <unknown>");
    CLAIM(comes_back("", &v, words, ""), "an empty text is END alone");
    const int id[] = {id_of(&v, "où"), id_of(&v, "est"), END, 4, PAD};
    char *ended = detokenize(id, 5, &v, words);
    char *open = detokenize(id, 2, &v, words);
    char *nothing = detokenize(id, 0, &v, words);
    CLAIM(!strcmp(ended, "où est"), "what comes after END is not shown");
    CLAIM(!strcmp(open, "où est") && !strcmp(nothing, ""),
          "a sentence may lack its END");
    free(ended);
    free(open);
    free(nothing);
    vocab_free(&v);
    v = vocab_build((char *[]){text}, 1, characters_one_by_one, 1);
    CLAIM(comes_back("l'eau  (là)", &v, characters_one_by_one, "l'eau  (là)"),
          "characters come back as they were");
    vocab_free(&v);
}

// ## Byte pairs

const Tokenizer byte_pairs = {BYTE_PAIRS, 0};

// Whether a text is spelled with these pieces, each in angle brackets.
bool spells(const Vocab *v, const char *text, const char *expected) {
    char joined[400] = "", *end = joined;
    Sentence s = tokenize(text, v, byte_pairs);
    for (int i = 0; i < s.length - 1; i++)
        end += sprintf(end, "‹%s›", v->token[s.id[i]]);
    free(s.id);
    return !strcmp(joined, expected);
}

// The number of the first piece; pieces come after the characters.
int first_piece(const Vocab *v) {
    int id = FIRST_TOKEN;
    while (id < v->count && !v->token[id][utf8_length(v->token[id])])
        id++;
    return id;
}

int pieces_in(const Vocab *v) {
    return v->count - first_piece(v);
}

// Whether merge number i made the piece of these two.
bool merges(const Vocab *v, int i, const char *left, const char *right) {
    if (i >= pieces_in(v))
        return false;
    const char *both = v->token[first_piece(v) + i];
    size_t length = strlen(left);
    return !strncmp(both, left, length) && !strcmp(both + length, right);
}

// The number of the token with this text, wherever in the vocabulary it is.
int number_of(const Vocab *v, const char *token) {
    int id = FIRST_TOKEN;
    while (id < v->count && strcmp(v->token[id], token))
        id++;
    return id;
}

void test_byte_pairs(void) {
    char text[] = "cat cats eat eats cat";
    const char *token[] = {" ", "a", "c", "e", "s", "t",
                           "at", " c", " cat", " e", " eat"};
    Vocab v = learn_merges((char *[]){text}, 1, 1000);
    CLAIM(pieces_in(&v) == 5 && merges(&v, 0, "a", "t")
          && merges(&v, 1, " ", "c") && merges(&v, 2, " c", "at")
          && merges(&v, 3, " ", "e") && merges(&v, 4, " e", "at"),
          "the merges of the example, and it stops where no pair occurs twice");
    int right = 0;
    for (int i = 0; i < 11; i++)
        right += number_of(&v, token[i]) == FIRST_TOKEN + i;
    CLAIM(right == 11 && v.count == FIRST_TOKEN + 11
          && first_piece(&v) == FIRST_TOKEN + 6,
          "its vocabulary: the characters in the order of their bytes, then a "
          "piece for each merge, as they were learned");
    CLAIM(id_of(&v, "c") == FIRST_TOKEN + 2
          && id_of(&v, " cat") == FIRST_TOKEN + 8 && id_of(&v, "ca") == UNKNOWN,
          "characters and pieces are found by their text");
    CLAIM(spells(&v, "cats eat", "‹ cat›‹s›‹ eat›"),
          "the words of the example as learning left them");
    CLAIM(spells(&v, "seats", "‹ ›‹s›‹e›‹at›‹s›"),
          "a new word is spelled with pieces");
    CLAIM(spells(&v, "beat catß", "‹ ›‹<unknown>›‹e›‹at›‹ cat›‹<unknown>›"),
          "only a character that is new is unknown");
    CLAIM(comes_back("beat", &v, byte_pairs, "<unknown>eat")
          && comes_back("a cats  seat", &v, byte_pairs, "a cats seat"),
          "words come back with single blanks between them");
    CLAIM(comes_back("", &v, byte_pairs, "")
          && comes_back(" \t", &v, byte_pairs, ""), "and blanks as nothing");
    const int odd[] = {number_of(&v, "at"), number_of(&v, " "),
                       number_of(&v, " cat"), END};
    char *back = detokenize(odd, 4, &v, byte_pairs);
    CLAIM(!strcmp(back, "at  cat"), "pieces in an order that no text gives are "
          "put side by side, too");
    free(back);
    vocab_free(&v);
}

void test_stops(void) {
    char text[] = "cat cats eat eats cat", single[] = "abc d";
    Vocab v = learn_merges((char *[]){text}, 1, 2);
    CLAIM(pieces_in(&v) == 2 && merges(&v, 1, " ", "c")
          && spells(&v, "cats", "‹ c›‹at›‹s›"),
          "it learns no more merges than it was asked for");
    vocab_free(&v);
    v = learn_merges((char *[]){text}, 1, 0);
    CLAIM(pieces_in(&v) == 0 && v.count == FIRST_TOKEN + 6
          && spells(&v, "cats", "‹ ›‹c›‹a›‹t›‹s›"),
          "without merges there are characters and blanks");
    vocab_free(&v);
    v = learn_merges((char *[]){single}, 1, 1000);
    CLAIM(pieces_in(&v) == 0 && v.count == FIRST_TOKEN + 5,
          "a pair that occurs once is not joined");
    vocab_free(&v);
    v = learn_merges(NULL, 0, 1000);
    CLAIM(pieces_in(&v) == 0 && spells(&v, "a", "‹ ›‹<unknown>›"),
          "an empty text has no pieces");
    vocab_free(&v);
}

// Appends a random word: characters from the first few of the list.
char *random_word(char *end, int different) {
    const char *letter[] = {"a", "b", "é", "c", "日", "d", "'", "😀", "-", "e"};
    int length = 1 + (int)(uniform(&test_state) * 9);
    for (int i = 0; i < length; i++)
        end += sprintf(end, "%s",
                       letter[(int)(uniform(&test_state) * different)]);
    return end;
}

// A random text of words and punctuation; the caller frees it.
char *random_text(int words_in_it, int different) {
    const char *between[] = {" ", "  ", ", ", ".", " (", ") ", "\xc2\xa0?"};
    char *text = allocate((size_t)words_in_it * 64, 1), *end = text;
    for (int i = 0; i < words_in_it; i++) {
        int which = (int)(uniform(&test_state) * 14);
        end += sprintf(end, "%s", between[which < 7 ? which : 0]);
        end = random_word(end, different);
    }
    return text;
}

// The simplest possible learner. The text is one string, in which a byte of 1,
// here |, stands before and after each piece, and a line end after each word:
// "| |c|a|t|". All pairs are counted anew for each merge.

enum { PLAIN_ROOM = 8000 };

void plain_read(char *plain, const char *text) {
    const char *token;
    for (int n; (token = next_token(&text, words, &n)) != NULL;) {
        plain += sprintf(plain, "\1 \1");
        for (int i = 0, bytes; i < n; i += bytes) {
            bytes = utf8_length(token + i);
            plain += sprintf(plain, "%.*s\1", bytes, token + i);
        }
        plain += sprintf(plain, "\n");
    }
}

// The most frequent pair, as "|left|right|", the first in order if several are;
// returns how often it occurs.
int plain_choose(const char *plain, char chosen[128]) {
    int most = 0;
    for (const char *c = plain; *c; c++) {
        char pair[128];
        int length = 0, count = 0;
        sscanf(c, "\1%*[^\1\n]\1%*[^\1\n]\1%n", &length);
        if (!length)
            continue;
        snprintf(pair, sizeof pair, "%.*s", length, c);
        for (const char *p = plain; (p = strstr(p, pair)) != NULL; p++)
            count++;
        if (count > most || (count == most && strcmp(pair, chosen) < 0)) {
            strcpy(chosen, pair);
            most = count;
        }
    }
    return most;
}

// Joins a pair wherever it is: the | between its pieces is removed.
void plain_join(char *plain, const char *pair) {
    size_t length = strlen(pair), middle = 1 + strcspn(pair + 1, "\1");
    while ((plain = strstr(plain, pair)) != NULL) {
        memmove(plain + middle, plain + middle + 1, strlen(plain + middle));
        plain += length - 2; // the last |
    }
}

// Whether a text is spelled with the pieces that the plain learner left.
bool plain_leaves(const char *plain, const char *text, const Vocab *v) {
    Sentence s = tokenize(text, v, byte_pairs);
    char spelled[PLAIN_ROOM] = "\1", *end = spelled + 1;
    for (int i = 0; i < s.length - 1; i++) {
        const char *piece = v->token[s.id[i]];
        if (*piece == ' ' && i)
            end += sprintf(end, "\n\1");
        end += sprintf(end, "%s\1", piece);
    }
    sprintf(end, "\n");
    free(s.id);
    return !strcmp(plain, spelled);
}

void test_plain_learner(void) {
    enum { ROUNDS = 60 };
    static char plain[PLAIN_ROOM], pair[128];
    char overlap[][60] = {"a aa aaa aaaa aaaaa aaaaaa aaaaaaa aaaaaaaa aaaa aaa",
                          "abab ababa babab aabbaabb abababab bababa abab aabb"};
    int same = 0, split = 0, learned = 0, again = 0;
    for (int round = 0; round < ROUNDS; round++) {
        bool given = round < 2;
        char *text = given ? overlap[round]
                           : random_text(40, 1 + round % 10);
        Vocab v = learn_merges(&text, 1, 1000);
        Vocab letters = learn_merges(&text, 1, 0);
        plain_read(plain, text);
        bool good = true;
        int n = 0;
        for (; plain_choose(plain, pair) >= 2; n++) {
            char left[64], right[64];
            sscanf(pair, "\1%63[^\1]\1%63[^\1]", left, right);
            good = good && merges(&v, n, left, right);
            plain_join(plain, pair);
        }
        same += good && n == pieces_in(&v);
        split += plain_leaves(plain, text, &v);
        learned += n;
        for (int i = FIRST_TOKEN; i < v.count; i++)
            again += number_of(&v, v.token[i]) != i
                  || id_of(&v, v.token[i]) != i;
        again += v.count != letters.count + n
              || first_piece(&v) != letters.count;
        vocab_free(&letters);
        vocab_free(&v);
        free(given ? NULL : text);
    }
    CLAIM(same == ROUNDS, "%d merges of %d texts are those that "
          "counting anew gives", learned, ROUNDS);
    CLAIM(split == ROUNDS, "words are split as learning left them");
    CLAIM(again == 0, "each merge makes a new piece, which is found by its "
          "text");
}

// Words of a text in another order, which must not matter.
void test_order_of_words(void) {
    char first[] = "deed feed, deeds", second[] = "feeds reed. deed";
    Vocab v = learn_merges((char *[]){first, second}, 2, 1000);
    Vocab other = learn_merges((char *[]){second, first}, 2, 1000);
    CLAIM(pieces_in(&v) > 3 && same_vocab(&v, &other),
          "the order of the sentences does not matter");
    vocab_free(&v);
    vocab_free(&other);
}

// Spells a text without blanks in the order of learning: makes one piece after
// another, wherever two neighbors make it -> how many tokens are left
int spell_in_order(int *id, const char *text, const Vocab *v) {
    int n = 0;
    id[n++] = id_of(v, " ");
    for (const char *c = text; *c; c += utf8_length(c))
        id[n++] = token_id(v, c, utf8_length(c));
    for (int piece = first_piece(v); piece < v->count; piece++) {
        int kept = 0;
        for (int i = 0; i < n; i++) {
            char both[200] = "";
            if (i + 1 < n)
                sprintf(both, "%s%s", v->token[id[i]], v->token[id[i + 1]]);
            bool found = !strcmp(both, v->token[piece]);
            id[kept++] = found ? piece : id[i];
            i += found;
        }
        n = kept;
    }
    return n;
}

// Random texts of the characters that the pieces were learned from.
void test_round_trip(void) {
    enum { TEXTS = 400 };
    char *text = random_text(300, 10);
    Vocab v = learn_merges(&text, 1, 60);
    int same = 0, as_plain = 0;
    for (int i = 0; i < TEXTS; i++) {
        char *new = random_text(i % 20, 10);
        Vocab whole = vocab_build(&new, 1, words, 1);
        Sentence s = tokenize(new, &whole, words);
        char *expected = detokenize(s.id, s.length, &whole, words);
        same += comes_back(new, &v, byte_pairs, expected);
        char word[400] = "";
        for (char *end = word; end - word < i % 100; end = strchr(end, '\0'))
            random_word(end, 10);
        int one[400], other[400], n = spell(one, word, (int)strlen(word), &v);
        int m = spell_in_order(other, word, &v);
        as_plain += n == m && !memcmp(one, other, sizeof *one * (size_t)n);
        free(s.id);
        free(expected);
        free(new);
        vocab_free(&whole);
    }
    CLAIM(same == TEXTS, "every text of known characters comes back as it does "
          "from words");
    CLAIM(as_plain == TEXTS, "joining what makes the earliest piece is "
          "making the pieces in the order in which they were learned");
    vocab_free(&v);
    free(text);
}

void test_earliest_piece(void) {
    const char *bc_first[] = {" ", "a", "b", "c", "bc", "ab", "abc"};
    const char *ab_first[] = {" ", "a", "b", "c", "ab", "bc", "abc"};
    const char *odd[] = {" ", "a", "b", "c", "abc", "xb", "bc", " x"};
    Vocab one = vocab_of(bc_first, 7), other = vocab_of(ab_first, 7);
    Vocab strange = vocab_of(odd, 8);
    CLAIM(spells(&one, "aabc abd", "‹ ›‹a›‹abc›‹ ›‹ab›‹<unknown>›")
          && spells(&one, "abbc", "‹ ›‹ab›‹bc›")
          && spells(&other, "abbc bc", "‹ ›‹ab›‹bc›‹ ›‹bc›"),
          "two neighbors are joined if they make a piece");
    vocab_free(&one);
    const char *last[] = {" ", "a", "b", "c", "bc", "ab"};
    one = vocab_of(last, 6);
    vocab_free(&other);
    other = vocab_of(ab_first, 6);
    CLAIM(spells(&one, "abc", "‹ ›‹a›‹bc›") && spells(&other, "abc", "‹ ›‹ab›‹c›"),
          "where two pieces are possible, the earlier one in the vocabulary is "
          "made");
    CLAIM(spells(&strange, "abc xb", "‹ ›‹abc›‹ ›‹xb›"), "a piece's text alone "
          "counts, not what it was made of");
    vocab_free(&one);
    vocab_free(&other);
    vocab_free(&strange);
}

void test_marks(void) {
    char word[] = "......";
    Vocab v = learn_merges((char *[]){word}, 1, 1000);
    CLAIM(pieces_in(&v) == 1 && spells(&v, "..", "‹ .›‹ .›"),
          "each punctuation mark is a word");
    Sentence s = tokenize("...", &v, byte_pairs);
    CLAIM(s.length == 4 && s.id[3] == END, "and has a blank of its own");
    free(s.id);
    vocab_free(&v);
}

// The time to join the pieces of a word must not grow with the square of its
// length.
void test_long_word(void) {
    enum { LETTERS = 200000 };
    char *text = random_text(300, 6), *word = allocate(LETTERS + 40, 1);
    Vocab v = learn_merges(&text, 1, 200);
    for (char *end = word; end < word + LETTERS; end = strchr(end, '\0'))
        random_word(end, 6);
    Sentence s = tokenize(word, &v, byte_pairs);
    CLAIM(unknowns(s.id, s.length) == 0 && s.length < LETTERS / 2
          && comes_back(word, &v, byte_pairs, word),
          "a word of 200,000 bytes is cut into pieces, too");
    free(s.id);
    free(word);
    free(text);
    vocab_free(&v);
}

// ## Files

// The pairs in a file with this text, as "source|target" in lines of their own.
bool reads_as(const char *bytes, Tokenizer tokenizer, const char *expected) {
    char joined[400], *end = joined;
    write_file(FILE_NAME, bytes, strlen(bytes));
    Text text = read_pairs(FILE_NAME, tokenizer);
    for (int i = 0; i < text.count; i++)
        end += sprintf(end, "%s|%s\n", text.source[i], text.target[i]);
    text_free(&text);
    return !strcmp(joined, expected);
}

void test_files(void) {
    CLAIM(reads_as("a b\tc\nd\te f\n", words, "a b|c\nd|e f\n"),
          "a line is source, tab, target");
    CLAIM(reads_as("a b\tc\nd\te f", words, "a b|c\nd|e f\n"),
          "the last line need not end");
    CLAIM(reads_as("a b\tc\r\nd\te f\r\n", words, "a b|c\nd|e f\n")
          && reads_as("a\tb\r", words, "a|b\n")
          && reads_as("a\tb\r\n", characters_one_by_one, "a|b\n"),
          "lines may end as on Windows, even where characters are tokens");
    CLAIM(reads_as(BOM "a\tb\n", words, "a|b\n"),
          "a byte order mark is left out");
    CLAIM(reads_as(BOM "a\t" BOM "b\n" BOM "c\t" BOM "d\t" BOM "e\n", words,
                   "a|b\nc|d\n")
          && reads_as(BOM "a\t" BOM "b\r\n", characters_one_by_one, "a|b\n"),
          "at the beginning of any line and of any column");
    CLAIM(reads_as("a" BOM "\tb " BOM "\n", words, "a" BOM "|b " BOM "\n"),
          "anywhere else it is a character like any other");
    CLAIM(reads_as("a\tb\tCC-BY 2.0\t#17\nc\td\t\n", words, "a|b\nc|d\n"),
          "further columns are left out");
    write_file(FILE_NAME, "1\tAh\t8\tOh\n2\tA\t9\tO\nx 3\ta\n", 24);
    Text numbered = read_pairs(FILE_NAME, words);
    CLAIM(numbered.numbers == 2, "sources that are only a number are counted");
    text_free(&numbered);
    CLAIM(reads_as("A É\tŒuf\tX\n", lower_words, "a é|œuf\n")
          && reads_as("A É\tŒuf\tX\n", words, "A É|Œuf\n"),
          "text is lower-cased if that was asked for, else left as it is");
}

// Whether all lines of a file of `size` bytes are read: they have six, and the
// last one some more.
bool reads_whole(size_t size) {
    char *bytes = allocate(size, 1), *last = bytes + (size / 6 - 1) * 6;
    size_t rest = size - (size_t)(last - bytes);
    for (size_t k = 0; k < size; k++)
        bytes[k] = "ab\tcd\n"[k % 6];
    memcpy(last, "x\tyyyyyyyyyy", rest);
    write_file(FILE_NAME, bytes, size);
    Text text = read_pairs(FILE_NAME, words);
    int end = text.count - 1, good = text.count == (int)size / 6;
    for (int i = 0; i < end; i++)
        good = good && !strcmp(text.source[i], "ab")
            && !strcmp(text.target[i], "cd");
    good = good && !strcmp(text.source[end], "x")
        && strlen(text.target[end]) == rest - 2;
    text_free(&text);
    free(bytes);
    return good;
}

void test_large_files(void) {
    int good = 0;
    for (size_t size = 65530; size < 65542; size++) // where memory has to grow
        good += reads_whole(size) && reads_whole(2 * size);
    CLAIM(good == 12 && reads_whole(1000000), "large files are read whole");
}

// What is wrong, and where, in a file of these bytes.
#define BAD(bytes, what) {bytes, sizeof bytes - 1, FILE_NAME what}

void test_bad_files(void) {
    static char long_line[(1 << 20) + 2]; // a pair, a line end
    memset(long_line, 'a', 1 << 20);
    long_line[1] = '\t';
    long_line[1 << 20] = '\n';
    const struct {
        const char *bytes;
        size_t size;
        const char *part;
    } bad[] = {
        BAD("a\tb\nno tab here\n", ":2: expected source, tab, target"),
        BAD("a\tb\n\nc\td\n", ":2: expected source"),
        BAD(BOM, ":1: expected source"),
        BAD(long_line, ":1: a line of more than a megabyte"),
        BAD("a\tb\nc\td\n \t\xc2\xa0\n", ":3: the source is empty"),
        BAD("\tb\n", ":1: the source is empty"),
        BAD("a\tb\nc\t \n", ":2: the target is empty"),
        BAD("a\tb\nc\t\n", ":2: the target is empty"),
        BAD("a\tb\r\nc\t\r\n", ":2: the target is empty"),
        BAD("a\tb\nc\t\td\n", ":2: the target is empty"),
        BAD("a\t" BOM " \n", ":1: the target is empty"),
        BAD("a\tb\nc\td\0e\n", ":2: a zero byte"),
        BAD("a\tb\nc\td\ne\xe9\tf\n", ":3: not valid UTF-8"),
        BAD("a\tb\tc\xff\n", ":1: not valid UTF-8"),
        BAD("", ": the file is empty")};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file(FILE_NAME, bad[i].bytes, bad[i].size);
        CLAIM_FAILS(bad[i].part, bad[i].part, read_pairs(FILE_NAME, words));
    }
    remove(FILE_NAME);
    CLAIM_FAILS("a file that is not there", "cannot open " FILE_NAME,
                read_pairs(FILE_NAME, words));
    CLAIM_FAILS("a folder", "cannot read build: Is a directory",
                read_pairs("build", words));
    struct stat zero;
    if (stat("/dev/zero", &zero) == 0 && S_ISCHR(zero.st_mode))
        CLAIM_FAILS("zeros without end", "/dev/zero:1: a zero byte",
                    read_pairs("/dev/zero", words));
}

// ## Pairs

void test_pairs(void) {
    char source[] = "a b a", longer[] = "a b a b", target[] = "x y";
    char *sources[] = {source, longer, source};
    char *targets[] = {target, target, longer};
    Text text = {.source = sources, .target = targets, .count = 3};
    Vocab from = vocab_build(sources, 1, words, 1);
    Vocab to = vocab_build(targets, 1, words, 1);
    Pairs p = tokenize_pairs(&text, &from, &to, words, 3);
    CLAIM(p.count == 1 && p.too_long == 2,
          "pairs with more than max_len tokens on either side are left out");
    const int a_b_a[] = {4, 5, 4, END}, x_y[] = {4, 5, END};
    CLAIM(p.source[0].length == 4 && p.target[0].length == 3
          && !memcmp(p.source[0].id, a_b_a, sizeof a_b_a)
          && !memcmp(p.target[0].id, x_y, sizeof x_y),
          "max_len tokens fit; END is not counted");
    pairs_free(&p);
    p = tokenize_pairs(&text, &from, &to, words, 4);
    CLAIM(p.count == 3 && p.too_long == 0 && p.target[2].id[0] == UNKNOWN,
          "with a larger max_len all fit");
    pairs_free(&p);
    vocab_free(&from);
    vocab_free(&to);
}

void test_large_texts(void) {
    Vocab full = {.count = INT_MAX};
    CLAIM_FAILS("a text of 2^31 tokens is refused", "more than 2147483647 tok",
                (vocab_append(&full, "a", 1), 0));
}

// ## Translations as words

// The counts of a translation and its reference, by their words.
Match match_of_texts(Sentence translation, Sentence reference, const Vocab *v,
                     Tokenizer how) {
    Match m = {0};
    add_translation(&m, translation, reference, v, how);
    return m;
}

// Pieces: 4 " l", 5 "a", 6 " la", 7 "c", 8 " ch", 9 "ats", 10 " <unknown>",
// 11 " "
void test_bleu_of_pieces(void) {
    char *piece[] = {"<pad>", "<start>", "<end>", "<unknown>", " l", "a", " la",
                     "c", " ch", "ats", " <unknown>", " "};
    Vocab v = {.token = piece, .count = 12};
    Tokenizer pieces = {.tokens = BYTE_PAIRS};
    Sentence one = {(int[]){4, 5, 8, 9, END}, 5};    // la chats
    Sentence other = {(int[]){6, 8, 9, END}, 4};     // the same
    Sentence open = {(int[]){6, 8, 9}, 3};           // cut off
    Sentence unknown = {(int[]){6, 8, UNKNOWN, END}, 4};
    Match m = match_of_texts(one, other, &v, pieces);
    CLAIM(m.exact == 1 && m.length == 2 && m.reference == 2 && m.matched[0] == 2
          && m.matched[1] == 1 && m.runs[1] == 1,
          "other pieces of the same words are the same words");
    m = match_of_texts(one, other, &v, words);
    CLAIM(m.exact == 0 && m.length == 4 && m.matched[1] == 1,
          "tokens that are words are printed with blanks between");
    m = match_of_texts(open, other, &v, pieces);
    CLAIM(m.exact == 1 && m.matched[0] == 2,
          "the text counts: an end is not printed");
    m = match_of_texts(unknown, unknown, &v, pieces);
    CLAIM(m.exact == 0 && m.matched[0] == 1 && m.length == 2,
          "a word with an unknown character never matches");
    Sentence literal = {(int[]){6, 10, 10, END}, 4}; // "la <unknown> <unknown>"
    Sentence lost = {(int[]){6, 11, UNKNOWN, END}, 4};
    m = match_of_texts(literal, literal, &v, pieces);
    CLAIM(m.exact == 1 && m.matched[0] == 3 && m.matched[1] == 2,
          "the word \"<unknown>\" in a text is a word like any other");
    m = match_of_texts(lost, literal, &v, pieces);
    Match other_way = match_of_texts(literal, lost, &v, pieces);
    CLAIM(m.exact == 0 && m.matched[0] == 1 && m.length == 2
          && other_way.exact == 0 && other_way.matched[0] == 1,
          "which an unknown token does not match, though it is printed so");
    Tokenizer letters = {.tokens = CHARACTERS};
    Sentence spelled = {(int[]){5, 7, 11, 11, 5, END}, 6}; // "ac  a"
    Sentence closer = {(int[]){5, 7, 11, 5, END}, 5};      // "ac a"
    m = match_of_texts(spelled, closer, &v, letters);
    CLAIM(m.exact == 1 && m.matched[0] == 2 && m.matched[1] == 1,
          "characters make words, too: what is between blanks");
    Sentence blank = {(int[]){11, 6, 8, 9, 11, END}, 6};
    m = match_of_texts(blank, other, &v, pieces);
    CLAIM(m.exact == 1 && m.length == 2 && m.matched[0] == 2,
          "a blank to which no letters are added is not a word");
}

int main(void) {
    test_utf8();
    test_all_of_unicode();
    test_spaces();
    test_printable();
    test_words();
    test_characters();
    test_vocab();
    test_special();
    test_order();
    test_sentences();
    test_byte_pairs();
    test_stops();
    test_plain_learner();
    test_order_of_words();
    test_round_trip();
    test_earliest_piece();
    test_marks();
    test_long_word();
    test_files();
    test_large_files();
    test_bad_files();
    test_pairs();
    test_large_texts();
    test_bleu_of_pieces();
    remove(FILE_NAME);
    arena_free(&room);
    return claims_end();
}
