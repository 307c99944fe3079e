// hub.h, used by lab 18: models in the layout of the hub's checkpoints.
//
// A model is a folder. config.json says how large it is, and model.safetensors
// holds its parameters. Chapter 15 reads files that it has written. These come
// from other programs: tensors in any order, names with a prefix or without
// one, and tensors that are not parameters. What stays the same is the idea: the
// list of tensors says what must be there, and whatever is missing, superfluous
// or of another shape is named.
//
// The list has the names and shapes *of the file*. So each tensor is read into
// its place as it is, and a model that needs it in another form uses a view
// (chapter 1): of a transposed matrix, or of one of three that lie side by
// side. No number is copied, a gradient has the file's layout without a line of
// code, and saving is writing the list.
//
// Include this file after transformer.c.

// ## JSON
//
// Chapter 15 reads only the header that it has written itself, and compares
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
// what it refuses is refused here, in one line that names the wrong byte.

// A text from such a file, as messages show it: a long one is cut.
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

// Fails unless there is such a file. It has to be a regular one: opening
// a pipe waits for its other end, and a device has no size.
void check_file(const char *path) {
    FILE *file = NULL;
#ifdef TRANSFORMER_POSIX
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        fail("cannot read %s: it is not a regular file", path);
#endif
    if (!(file = fopen(path, "rb")))
        fail("cannot open %s: %s", path, strerror(errno));
    fclose(file);
}

// A whole text, with a zero byte after it; the caller frees it.
char *read_text_file(const char *path) {
    size_t size;
    check_file(path);
    char *text = read_file(path, &size);
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
    char *path; // for messages
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

// Whether `text` comes next; if so, it is consumed, with the space after it.
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

// The number after \u.
int read_hex(JsonFile *f) {
    if (strspn(f->at, "0123456789abcdefABCDEF") < 4)
        refuse_json(f, "\\u needs four hexadecimal digits");
    char digits[] = {f->at[0], f->at[1], f->at[2], f->at[3], '\0'};
    f->at += 4;
    return (int)strtol(digits, NULL, 16);
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
        refuse_json(f, "\\u with a number that is not a character");
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

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// A number such as -12.5e+3. strtod alone would also take 012, 12., hexadecimal
// digits, infinities and NaN.
double read_json_number(JsonFile *f) {
    char *end, *first = f->at + (*f->at == '-');
    double value = strtod(f->at, &end);
    char *point = memchr(first, '.', (size_t)max_int((int)(end - first), 0));
    if (!is_digit(*first) || !is_digit(end[-1]) || (point && !is_digit(point[1]))
        || (*first == '0' && (is_digit(first[1]) || (first[1] | ' ') == 'x')))
        refuse_json(f, "a value or a digit is missing");
    if (!isfinite(value))
        refuse_json(f, "a number that is too large");
    f->at = end;
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

// Parses a text. The path, which is for messages, and the text were allocated,
// and the result owns them. There is at most one value more than there are
// brackets, commas and colons; so one allocation holds all, and none moves.
JsonFile parse_json(char *path, char *text) {
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

// A file in a folder; the caller frees the path.
char *path_in(const char *folder, const char *name) {
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = allocate(size, 1);
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

JsonFile read_json(const char *folder, const char *name) {
    char *path = path_in(folder, name);
    return parse_json(path, read_text_file(path));
}

// Whether a folder has something of that name.
bool is_there(const char *folder, const char *name) {
    char *path = path_in(folder, name);
    bool there = same_file(path, path) || errno != ENOENT; // a pipe is not opened
    free(path);
    return there;
}

// A file in a folder, which must be an object; if there is none, no values.
JsonFile json_if_there(const char *folder, const char *name) {
    if (!is_there(folder, name))
        return (JsonFile){.path = path_in(folder, name)};
    JsonFile f = read_json(folder, name);
    if (f.values->kind != JSON_OBJECT)
        fail("%s: not an object", f.path);
    return f;
}

void json_free(JsonFile *f) {
    free(f->path);
    free(f->values);
    free(f->text);
}

// The member of that name, the last of several, as in Python; NULL if there is
// none, or if the value is not an object.
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

// ## config.json
//
// Sizes, and switches. A switch that asks for anything other than what is built
// here is refused: a model that runs in another way than it was trained still
// gives answers, but not those that it has learned.

// The value of a key, NULL if it is missing or null.
const Json *setting(const JsonFile *f, const char *key) {
    const Json *v = member(f->values, key);
    return v && v->kind != JSON_NULL ? v : NULL;
}

enum { NEEDED = -1 };

// A size, from 1 to `most`; `missing` if it is not there, unless that is
// NEEDED.
int size_setting(const JsonFile *f, const char *key, int most, int missing) {
    const Json *v = setting(f, key);
    if (!v && missing != NEEDED)
        return missing;
    if (!is_whole(v, 1, most))
        fail("%s: %s is not a whole number from 1 to %d", f->path, key, most);
    return (int)v->number;
}

// A number above 0; `missing` if it is not there.
double number_setting(const JsonFile *f, const char *key, double missing) {
    const Json *v = setting(f, key);
    if (v && (v->kind != JSON_NUMBER || v->number <= 0 || v->number > 1e12))
        fail("%s: %s is not a number above 0", f->path, key);
    return v ? v->number : missing;
}

bool flag_setting(const JsonFile *f, const char *key, bool missing) {
    const Json *v = setting(f, key);
    if (v && v->kind != JSON_TRUE && v->kind != JSON_FALSE)
        fail("%s: %s is neither true nor false", f->path, key);
    return v ? v->kind == JSON_TRUE : missing;
}

// Refuses the model unless the key has this text, or is not there.
void text_setting(const JsonFile *f, const char *key, const char *wanted) {
    const Json *v = setting(f, key);
    if (v && !is_string(v, wanted))
        fail("%s: %s is %s\"%s\"; this program knows \"%s\"", f->path, key,
             v->text ? "" : "not a text such as ",
             shown(v->text ? v->text : wanted).text, wanted);
}

// Refuses the model unless the switch has this value, or is not there.
void switch_setting(const JsonFile *f, const char *key, bool wanted) {
    if (flag_setting(f, key, wanted) != wanted)
        fail("%s: %s is %s, which this program does not know", f->path, key,
             wanted ? "false" : "true");
}

// The configuration in a folder, of a model of that type.
JsonFile read_hub_config(const char *folder, const char *type) {
    JsonFile f = read_json(folder, "config.json");
    if (!setting(&f, "model_type"))
        fail("%s: there is no model_type", f.path);
    text_setting(&f, "model_type", type);
    return f;
}

// ## Where the tensors are

// What a family of models calls its tensors.
typedef struct {
    const char *prefix;         // a name may begin with it
    const char *const *ignored; // parts of names to be ignored; NULL ends them
    const char *optional;       // begins the last ones, which may be left out
} Naming;

// A file, whose reader knows where each tensor's numbers are; the list; and which
// of its tensors have been found.
typedef struct {
    Reader file;
    TensorList *list;
    Naming naming;
    bool *found;
} Hub;

// Whether this is a name in files that no parameter has.
bool is_ignored(const Naming *n, const char *name) {
    for (const char *const *part = n->ignored; *part; part++)
        if (strstr(name, *part))
            return true;
    return false;
}

// A vector has one dimension in the file, a matrix two.
bool is_vector(const Tensor *t) {
    return t->init != INIT_XAVIER;
}

// Whether the shape in an entry is that of the tensor.
bool has_shape(const Json *shape, const Tensor *t) {
    const Json *first = shape ? shape->child : NULL;
    if (!shape || shape->kind != JSON_ARRAY || !first)
        return false;
    if (is_vector(t))
        return shape->count == 1 && is_whole(first, t->cols, t->cols);
    return shape->count == 2 && is_whole(first, t->rows, t->rows)
        && is_whole(first->next, t->cols, t->cols);
}

// Whether two names mean the same. Old files call the gain and bias of a norm
// gamma and beta where later ones say weight and bias.
bool same_name(const char *name, const char *listed) {
    const char *const old[][2] = {{".gamma", ".weight"}, {".beta", ".bias"}};
    const char *a = strrchr(name, '.'), *b = strrchr(listed, '.');
    for (int k = 0; k < 2 && a && b; k++)
        if (!strcmp(a, old[k][0]) && !strcmp(b, old[k][1]))
            return a - name == b - listed
                && !strncmp(name, listed, (size_t)(a - name));
    return !strcmp(name, listed);
}

// The place in the list of the tensor that a file calls `name`, or -1.
int find_in_list(const Hub *h, const char *name) {
    size_t length = strlen(h->naming.prefix);
    name += strncmp(name, h->naming.prefix, length) ? 0 : length;
    for (int i = 0; i < h->list->tensors; i++)
        if (same_name(name, h->list->tensor[i].name.text))
            return i;
    return -1;
}

// Checks the entry of a tensor of the list and remembers where its numbers are.
void locate(Hub *h, const Json *entry, int i) {
    const Reader *r = &h->file;
    const Tensor *t = &h->list->tensor[i];
    const Shown shown_name = shown(entry->name);
    const char *name = shown_name.text;
    const Json *offsets = member(entry, "data_offsets");
    const Json *type = member(entry, "dtype");
    double most = (double)(r->size - r->numbers);
    if (h->found[i])
        fail("%s: the tensor %s appears twice", r->path, name);
    if (!is_string(type, "F32"))
        fail("%s: the tensor %s is %s, not F32", r->path, name,
             type && type->text ? shown(type->text).text : "of no type");
    if (!has_shape(member(entry, "shape"), t))
        fail(is_vector(t) ? "%s: the tensor %s is not of the shape [%d]"
                          : "%s: the tensor %s is not of the shape [%d,%d]",
             r->path, name, is_vector(t) ? t->cols : t->rows, t->cols);
    if (!offsets || offsets->count != 2 || !is_whole(offsets->child, 0, most)
        || !is_whole(offsets->child->next, 0, most))
        fail("%s: the tensor %s is not within the file, which may be cut short",
             r->path, name);
    size_t begin = (size_t)offsets->child->number;
    size_t end = (size_t)offsets->child->next->number;
    if (begin > end || end - begin != bytes_of(t))
        fail("%s: the tensor %s does not have the %zu bytes of its shape",
             r->path, name, bytes_of(t));
    h->file.begin[i] = begin;
    h->found[i] = true;
}

// Drops the optional tensors from the list, if the file has none of them.
void leave_out(Hub *h) {
    TensorList *l = h->list;
    int n = l->tensors;
    const char *part = h->naming.optional;
    for (; part && strstr(l->tensor[n - 1].name.text, part); n--)
        if (h->found[n - 1])
            return;
    for (; l->tensors > n; l->tensors--)
        l->count -= bytes_of(&l->tensor[l->tensors - 1]) / 4;
}

// Reads the header of the file, in which only the tensors are of interest.
void locate_all(Hub *h, char *path) {
    JsonFile header = parse_json(path, h->file.header);
    if (header.values->kind != JSON_OBJECT)
        fail("%s: the header is not an object", path);
    for (const Json *e = header.values->child; e; e = e->next) {
        int place = find_in_list(h, e->name);
        if (place >= 0)
            locate(h, e, place);
        else if (strcmp(e->name, "__metadata__")
                 && !is_ignored(&h->naming, e->name))
            fail("%s: the tensor %s does not belong to this model", path,
                 shown(e->name).text);
    }
    leave_out(h);
    for (int i = 0; i < h->list->tensors; i++)
        if (!h->found[i])
            fail("%s: the tensor %s is missing", path,
                 h->list->tensor[i].name.text);
    free(header.values); // the text is the file's
}

// Refuses two tensors that share bytes: such a list would ask for more memory
// than its file has bytes.
void check_apart(const Hub *h) {
    const Tensor *t = h->list->tensor;
    const size_t *begin = h->file.begin;
    for (int i = 0; i < h->list->tensors; i++)
        for (int k = 0; k < i; k++)
            if (begin[i] < begin[k] + bytes_of(&t[k])
                && begin[k] < begin[i] + bytes_of(&t[i]))
                fail("%s: the tensors %s and %s share bytes", h->file.path,
                     t[k].name.text, t[i].name.text);
}

// ## The numbers

// Other forms in which parameters are published.
void check_parameters(const char *folder) {
    const char *const other[] = {"model.safetensors.index.json",
                                 "pytorch_model.bin"};
    for (int k = 0; k < 2; k++)
        if (!is_there(folder, "model.safetensors")
            && is_there(folder, other[k]))
            fail("%s: there is %s, but no model.safetensors, which this program "
                 "reads", folder, other[k]);
}

// Reads a model's parameters: those in `file`, or if that is NULL, those of the
// folder. The list has been made and gets its memory here, after all entries
// have been checked; so no file makes the program ask for much more memory than
// it has bytes.
void read_parameters(TensorList *l, Naming naming, const char *folder,
                     const char *file) {
    char *path = file ? strcpy(allocate(strlen(file) + 1, 1), file)
                      : path_in(folder, "model.safetensors");
    if (!file)
        check_parameters(folder);
    check_file(path);
    Hub h = {open_model(path), l, naming,
             allocate((size_t)l->tensors, sizeof *h.found)};
    h.file.begin = allocate((size_t)l->tensors, sizeof *h.file.begin);
    locate_all(&h, path);
    check_apart(&h);
    place_tensors(l);
    read_role(&h.file, l, PARAMETERS, l->values);
    close_model(&h.file);
    free(h.found);
    free(path);
}

// A norm: what is `gain` here is called weight in every file of the hub.
void list_hub_norm(TensorList *l, Norm *w, int D, Name path) {
    list_tensor(l, &w->gain, 1, D, INIT_ONES, join(path.text, ".weight"));
    list_tensor(l, &w->bias, 1, D, INIT_ZEROS, join(path.text, ".bias"));
}

// ## Saving

// The entry of a tensor in a header, with its place.
void write_hub_entry(FILE *file, const Tensor *t, size_t begin) {
    fprintf(file, ",\"%s\":{\"dtype\":\"F32\",\"shape\":[", t->name.text);
    if (!is_vector(t))
        fprintf(file, "%d,", t->rows);
    fprintf(file, "%d],\"data_offsets\":[%zu,%zu]}", t->cols, begin,
            begin + bytes_of(t));
}

// Writes all parameters, as the hub's readers expect them. A file that is there
// is replaced as a whole or stays (chapter 15).
void save_parameters(const TensorList *l, const char *path) {
    check_numbers(l->values, l->count, path);
    FILE *file = begin_file(path);
    size_t begin = 0;
    write_integer(file, 0, 8);
    fputs("{\"__metadata__\":{\"format\":\"pt\"}", file);
    for (const Tensor *t = l->tensor; t < l->tensor + l->tensors; t++) {
        write_hub_entry(file, t, begin);
        begin += bytes_of(t);
    }
    fputc('}', file);
    long end = ftell(file);
    for (; end % 8; end++)
        fputc(' ', file);
    for (size_t i = 0; i < l->count; i++)
        write_integer(file, float_bits(l->values[i]), 4);
    fseek(file, 0, SEEK_SET);
    write_integer(file, (uint64_t)(end - 8), 8);
    end_file(file, path);
}
