// json.h, used by lab 18: a reader of JSON, for the files beside a model.
//
// Chapter 14 reads only the header that it has written itself, and compares
// text with text. The files of other programs say the same things in many ways,
// so here is a parser. It keeps the text, undoes the escapes of strings in
// place, and makes one small struct for each value:
//
//     {"n_head": 2, "shape": [4, 12]}
//
//     OBJECT ─child→ NUMBER "n_head" 2 ─next→ ARRAY "shape"
//                                               │child
//                                               └→ NUMBER 4 ─next→ NUMBER 12
//
// How to check it: what Python's json module writes is read as the same values;
// what it refuses is refused, in one line with the byte that is wrong. Include
// this file after transformer.c.

// ## Files of other programs

// A text of such a file, as messages show it: a long one is cut.
typedef struct {
    char text[64];
} Shown;

Shown shown(const char *text) {
    Shown s;
    size_t n = strlen(text), most = sizeof s.text - sizeof "…";
    n = n > most ? most : n;
    while (n > 0 && (text[n] & 0xc0) == 0x80) // within a character
        n--;
    snprintf(s.text, sizeof s.text, "%.*s%s", (int)n, text, text[n] ? "…" : "");
    return s;
}

// Whether there is such a file. It has to be a regular one: who opens a pipe
// waits for its other end, and a device has no size.
bool file_exists(const char *path) {
#ifdef TRANSFORMER_POSIX
    struct stat status;
    bool found = stat(path, &status) == 0;
    if (found && !S_ISREG(status.st_mode))
        fail("cannot read %s: it is not a regular file", path);
    return found;
#else
    FILE *file = fopen(path, "rb");
    if (file)
        fclose(file);
    return file != NULL;
#endif
}

FILE *open_file(const char *path) {
    FILE *file = file_exists(path) ? fopen(path, "rb") : NULL;
    if (!file)
        fail("cannot open %s: %s", path, strerror(errno));
    return file;
}

// A whole text, with a zero byte behind it; the caller frees it.
char *read_text_file(const char *path) {
    FILE *file = open_file(path);
    long end = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (end < 0)
        fail("cannot read %s: %s", path, strerror(errno));
    size_t size = (size_t)end;
    char *text = allocate(size + 1, 1);
    rewind(file);
    if (fread(text, 1, size, file) != size)
        fail("cannot read %s: %s", path,
             ferror(file) ? strerror(errno) : "it has become shorter");
    fclose(file);
    if (strlen(text) != size)
        fail("%s: a zero byte: this is not a text file", path);
    if (!strncmp(text, "\xef\xbb\xbf", 3))
        fail("%s: it begins with a byte order mark (byte 0)", path);
    return text;
}

// ## Values

enum { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY,
       JSON_OBJECT };
enum { DEEPEST_JSON = 64 };

typedef struct Json {
    int kind;
    const char *name; // of a member of an object; NULL elsewhere
    const char *text; // of a string
    double number;
    int count;        // of the elements of an array, the members of an object
    struct Json *child, *next;
} Json;

// A text of JSON and its values; values[0] is the whole.
typedef struct {
    const char *path; // for messages
    char *text, *at;
    Json *values;
    size_t used;
    int depth;
} JsonFile;

// Fails: says which file, what is wrong with it, and where.
_Noreturn void refuse_json(const JsonFile *f, const char *reason) {
    fail("%s: not JSON: %s (byte %td)", f->path, reason, f->at - f->text);
}

void skip_json_space(JsonFile *f) {
    f->at += strspn(f->at, " \t\r\n");
}

// Whether `text` comes next; if so it is taken, and the space behind it.
bool take_json(JsonFile *f, const char *text) {
    size_t length = strlen(text);
    if (strncmp(f->at, text, length))
        return false;
    f->at += length;
    skip_json_space(f);
    return true;
}

void expect_json(JsonFile *f, const char *text) {
    char reason[32];
    snprintf(reason, sizeof reason, "%s is missing", text);
    if (!take_json(f, text))
        refuse_json(f, reason);
}

// Writes a character in UTF-8; returns where it ends.
char *write_utf8(char *to, int c) {
    int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    const int mark[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int i = n - 1; i > 0; i--, c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)(mark[n] | c);
    return to + n;
}

// The number behind \u.
int read_hex(JsonFile *f) {
    int value = 0;
    for (int i = 0; i < 4; i++, f->at++) {
        const char *digits = "0123456789abcdefABCDEF";
        const char *digit = *f->at ? strchr(digits, *f->at) : NULL;
        if (!digit)
            refuse_json(f, "\\u needs four hexadecimal digits");
        int k = (int)(digit - digits);
        value = 16 * value + (k < 16 ? k : k - 6);
    }
    return value;
}

// An escape by number: \u0120, or two of them for a character above U+FFFF.
char *read_escape(JsonFile *f, char *to) {
    int c = read_hex(f);
    if (c >= 0xd800 && c < 0xdc00 && f->at[0] == '\\' && f->at[1] == 'u') {
        f->at += 2;
        int low = read_hex(f);
        c = low >= 0xdc00 && low < 0xe000
          ? 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00) : c;
    }
    if (c == 0 || (c >= 0xd800 && c < 0xe000))
        refuse_json(f, "\\u with a number that is no character");
    return write_utf8(to, c);
}

// A string, its escapes undone in place: what is written is never longer.
const char *read_json_string(JsonFile *f) {
    const char *from = "\"\\/bfnrt", *meant = "\"\\/\b\f\n\r\t";
    if (*f->at != '"')
        refuse_json(f, "a string is missing");
    char *text = ++f->at, *to = text;
    while (*f->at != '"') {
        if ((unsigned char)*f->at < ' ')
            refuse_json(f, "a string does not end");
        if (*f->at != '\\') {
            *to++ = *f->at++;
            continue;
        }
        char c = *++f->at;
        const char *escape = c ? strchr(from, c) : NULL;
        if (c != 'u' && !escape)
            refuse_json(f, "an escape that does not exist");
        f->at++;
        if (c == 'u')
            to = read_escape(f, to);
        else
            *to++ = meant[escape - from];
    }
    f->at++;
    *to = '\0';
    if (!valid_utf8(text))
        refuse_json(f, "a string that is not valid UTF-8");
    skip_json_space(f);
    return text;
}

// One digit or more.
void take_digits(JsonFile *f) {
    size_t digits = strspn(f->at, "0123456789");
    if (!digits)
        refuse_json(f, "a value or a digit is missing");
    f->at += digits;
}

// A number such as -12.5e+3. strtod alone would also take 012, 12., hexadecimal
// digits, infinities and NaN.
double read_json_number(JsonFile *f) {
    double value = strtod(f->at, NULL);
    f->at += *f->at == '-';
    if (*f->at == '0')
        f->at++;
    else
        take_digits(f);
    if (*f->at == '.') {
        f->at++;
        take_digits(f);
    }
    if (*f->at == 'e' || *f->at == 'E') {
        f->at++;
        f->at += *f->at == '+' || *f->at == '-';
        take_digits(f);
    }
    if (!isfinite(value))
        refuse_json(f, "a number that is too large");
    skip_json_space(f);
    return value;
}

Json *read_json_value(JsonFile *f);

// What stands between [ and ] or between { and }, separated by commas.
void read_json_children(JsonFile *f, Json *parent, const char *close) {
    Json **place = &parent->child;
    if (++f->depth > DEEPEST_JSON)
        refuse_json(f, "brackets too deep");
    if (!take_json(f, close)) {
        do {
            const char *name = NULL;
            if (parent->kind == JSON_OBJECT) {
                name = read_json_string(f);
                expect_json(f, ":");
            }
            *place = read_json_value(f);
            (*place)->name = name;
            place = &(*place)->next;
            parent->count++;
        } while (take_json(f, ","));
        expect_json(f, close);
    }
    f->depth--;
}

// Any value.
Json *read_json_value(JsonFile *f) {
    const char *const literal[] = {"null", "false", "true"};
    Json *v = &f->values[f->used++];
    for (int k = JSON_NULL; k <= JSON_TRUE; k++)
        if (take_json(f, literal[k])) {
            v->kind = k;
            return v;
        }
    if (*f->at == '"') {
        v->kind = JSON_STRING;
        v->text = read_json_string(f);
    } else if (take_json(f, "[")) {
        v->kind = JSON_ARRAY;
        read_json_children(f, v, "]");
    } else if (take_json(f, "{")) {
        v->kind = JSON_OBJECT;
        read_json_children(f, v, "}");
    } else {
        v->kind = JSON_NUMBER;
        v->number = read_json_number(f);
    }
    return v;
}

// Parses a text that was allocated, and which the file then owns. There are at
// most as many values as brackets and commas, and one more; so one allocation
// holds them all, and they never move.
JsonFile parse_json(const char *path, char *text) {
    size_t most = 1;
    for (const char *c = text; *c; c++)
        most += strchr(",[{:", *c) != NULL;
    JsonFile f = {.path = path, .text = text, .at = text,
                  .values = allocate(most, sizeof(Json))};
    skip_json_space(&f);
    read_json_value(&f);
    if (*f.at)
        refuse_json(&f, "something after its end");
    return f;
}

JsonFile read_json(const char *path) {
    return parse_json(path, read_text_file(path));
}

void json_free(JsonFile *f) {
    free(f->values);
    free(f->text);
}

// The member of that name, or NULL. Of two it is the last, as in Python. Of a
// value that is not an object, NULL.
const Json *member(const Json *object, const char *name) {
    const Json *found = NULL;
    if (object && object->kind == JSON_OBJECT)
        for (const Json *m = object->child; m; m = m->next)
            found = strcmp(m->name, name) ? found : m;
    return found;
}

// Whether a value is a whole number from `least` to `most`.
bool is_whole(const Json *v, double least, double most) {
    return v && v->kind == JSON_NUMBER && v->number >= least
        && v->number <= most && v->number == floor(v->number);
}

// Whether a value is this string.
bool is_string(const Json *v, const char *text) {
    return v && v->kind == JSON_STRING && !strcmp(v->text, text);
}
