// What the checks of grade.c are made with: matrices with watched edges, results
// that one program writes and another compares, and words for what is wrong.
//
// A check runs twice. `make` runs it with the student's code and writes every
// result into a file. `compare` runs it in another process with the reference,
// in which there is no line of the student's, reads that file and says what
// differs. So nothing that the student's code prints, ends or overwrites can
// make the verdict: to be right it must hand over the right numbers. Before any
// of it runs, `make` reads a token from standard input, new in each run, and it
// writes it after the last result: without it the check has not come to its end.
//
// A check has one or more cases. Each makes its matrices, calls start() with the
// name of the case, then the function under test, hands what that has made to
// result(), and calls finish(). Simple cases come first, for only the first
// wrong one is reported. There are three kinds of matrices:
//
//     input    random; must be the same after the call
//     output   filled with PREFILL, so that = in the place of += is seen
//     scratch  random; may be used up, and may be a result
//
// They lie in a pool with gaps between them, so that a write outside is seen,
// and finish() takes them all back. The gaps around an input are NaN: reading
// there is seen, too. The arena gives no zeros either: its matrices are NaN,
// its other memory is full of JUNK.

#define PREFILL 0.5
#define UNTOUCHED 777.25 // what the gaps of the pool are full of

enum { POOL_SIZE = 1 << 16, ARENA_SIZE = 1 << 20, GAP = 64, JUNK = 0xc3 };
enum { MOST_MADE = 64, MOST_RESULTS = 64, TEXT = 400 };
enum { WRONG = 1, MISUSED = 2, ENDS_EARLY = 4 }; // exit status

typedef struct {
    const char *name;
    Mat m;
    bool is_input;
} Made;

typedef struct {
    Name name;
    Mat yours, expected, before; // the call; outside of the pool: PREFILL
    int wrong; // how many elements; -1: it has another shape
    bool in_pool; // it was there before the call
    bool is_whole, is_word; // its numbers are bytes or ints; they are tokens
} Result;

typedef struct {
    char text[TEXT]; // a result or one of its elements
} Place;

static real pool[POOL_SIZE], before[POOL_SIZE]; // now, and before the call
static real *pool_end;
static Made made[MOST_MADE];
static Result results[MOST_RESULTS];
static int made_count, result_count, case_count;
static const char *case_name = "";
static char right_before[TEXT]; // names of the cases before it
static FILE *results_file;
static bool comparing;
static char token[TEXT];
static char note[TEXT]; // a line more to say when a case is wrong
static Arena room;      // for the student's call

// ---------------------------------------------------------------- prepare

// A NaN that says of which matrix it is; a sum or product of it says so, too.
static double nan_of(int which) {
    uint64_t bits = 0x7ff8000000c00000 + (uint64_t)which;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// Normally distributed, mean 0 and standard deviation 1 (Box and Muller, 1958).
static double normal(uint64_t *state) {
    double radius = sqrt(-2 * log(1 - uniform(state)));
    return radius * cos(6.283185307179586 * uniform(state));
}

// Its numbers follow from its name and the number of the case.
static Mat make(const char *name, int rows, int cols, bool is_input) {
    Mat m = mat(pool_end + GAP, rows, cols);
    int n = rows * cols;
    if (made_count == MOST_MADE || m.at + n + GAP > pool + POOL_SIZE)
        fail("grade.c: the pool is too small");
    for (int k = 1; k <= GAP && is_input; k++)
        m.at[-k] = m.at[n + k - 1] = nan_of(made_count);
    pool_end = m.at + n + GAP;
    made[made_count++] = (Made){name, m, is_input};
    uint64_t state = (uint64_t)case_count;
    for (const char *c = name; *c; c++)
        state = scramble(state + (uint64_t)*c);
    for (real *x = m.at; x < m.at + n; x++)
        *x = (real)normal(&state);
    return m;
}

static Mat input(const char *name, int rows, int cols) {
    return make(name, rows, cols, true);
}

static Mat scratch(const char *name, int rows, int cols) {
    return make(name, rows, cols, false);
}

static Mat output(const char *name, int rows, int cols) {
    Mat m = make(name, rows, cols, false);
    fill(m, PREFILL);
    return m;
}

// All is ready, the call follows. `name` is kept.
static void start(const char *name) {
    case_name = name;
    memcpy(before, pool, sizeof pool);
}

// A matrix that is not in the pool.
static Mat separate(int rows, int cols) {
    return mat(allocate((size_t)rows * (size_t)cols, sizeof(real)), rows, cols);
}

// A matrix of its own with the same numbers.
static Mat twin(Mat m) {
    Mat copied = separate(m.rows, m.cols);
    for (int i = 0; i < m.rows; i++)
        for (int j = 0; j < m.cols; j++)
            *at(copied, i, j) = *at(m, i, j);
    return copied;
}

static bool close_to(double a, double b) {
    double most = fmax(fabs(a), fabs(b));
    return a == b || (fabs(a - b) <= 1e-9 + 1e-7 * most && most < INFINITY);
}

// y = factor · x + shift, everywhere?
static bool follows(Mat y, Mat x, double factor, double shift) {
    for (int i = 0; i < x.rows; i++)
        for (int j = 0; j < x.cols; j++)
            if (!close_to(*at(y, i, j), factor * *at(x, i, j) + shift))
                return false;
    return true;
}

static bool same(Mat a, Mat b) {
    return a.rows == b.rows && a.cols == b.cols && follows(a, b, 1, 0);
}

// ---------------------------------------------------------------- results
//
// The file has a line "result NAME", then the shape and the bits of its numbers,
// for each result; a line "case" at the end of each case, or "wrong: ..." where
// something else is wrong; and at the end the token.

static void print_case(void) {
    printf("case: %s%s%s\n", case_name,
           *right_before ? "; the cases before it are right: " : "", right_before);
    fflush(stdout);
}

// The case is wrong, and the program ends.
static _Noreturn void stop(int status) {
    print_case();
    exit(status);
}

// The same for what the student's side sees itself: `text` is what is wrong.
static _Noreturn void stop_here(const char *text) {
    fprintf(results_file, "wrong: %s\n", text);
    exit(WRONG);
}

// Reads the next line, which should be `wanted`. Whatever else the student's
// code has left there, the case ends.
static void expect_line(const char *wanted) {
    char line[3 * TEXT] = "";
    if (!fgets(line, sizeof line, results_file) || !strchr(line, '\n'))
        stop(ENDS_EARLY);
    line[strcspn(line, "\n")] = 0;
    if (strcmp(line, wanted) == 0)
        return;
    if (strncmp(line, "wrong: ", 7) != 0)
        stop(ENDS_EARLY);
    puts(line);
    stop(WRONG);
}

// Whoever forgets to set a matrix may leave any shape in it.
static bool is_possible(int rows, int cols) {
    return rows > 0 && cols > 0 && rows <= POOL_SIZE / cols;
}

static void write_result(const char *name, Mat m) {
    bool is_set = m.at != NULL;
    fprintf(results_file, "result %s\n%d %d", name, is_set ? m.rows : 0,
            is_set ? m.cols : 0);
    for (int i = 0; is_set && is_possible(m.rows, m.cols) && i < m.rows; i++)
        for (int j = 0; j < m.cols; j++) {
            double x = *at(m, i, j);
            unsigned long long bits;
            memcpy(&bits, &x, sizeof x);
            fprintf(results_file, " %llx", bits);
        }
    fputc('\n', results_file);
}

// The result that the student's code has made. It has no numbers if it was not
// set (then its shape is 0 × 0) or its shape is impossible.
static Mat read_result(const char *name) {
    Mat m = {0};
    char line[TEXT];
    snprintf(line, TEXT, "result %s", name);
    expect_line(line);
    if (fscanf(results_file, "%d %d", &m.rows, &m.cols) != 2)
        stop(ENDS_EARLY);
    if (is_possible(m.rows, m.cols))
        m = separate(m.rows, m.cols);
    for (int k = 0; m.at && k < m.rows * m.cols; k++) {
        unsigned long long bits;
        if (fscanf(results_file, "%llx", &bits) != 1)
            stop(ENDS_EARLY);
        memcpy(&m.at[k], &bits, sizeof bits);
    }
    fgetc(results_file); // the end of the line
    return m;
}

// A result of the case: written, or compared.
static void result(const char *name, Mat m) {
    if (!comparing) {
        write_result(name, m);
        return;
    }
    if (result_count == MOST_RESULTS)
        fail("grade.c: too many results");
    Result *r = &results[result_count++];
    *r = (Result){.name = join(name, ""), .yours = read_result(name),
                  .expected = twin(m), .before = m, .wrong = -1};
    if (r->yours.rows != m.rows || r->yours.cols != m.cols)
        return;
    Mat snapshot = m;
    bool in_pool = m.at >= pool && m.at < pool + POOL_SIZE;
    if (in_pool)
        snapshot.at = before + (m.at - pool);
    r->in_pool = in_pool;
    r->wrong = 0;
    r->before = separate(m.rows, m.cols);
    for (int i = 0; i < m.rows; i++)
        for (int j = 0; j < m.cols; j++) {
            *at(r->before, i, j) = in_pool ? *at(snapshot, i, j) : PREFILL;
            r->wrong += !close_to(*at(r->yours, i, j), *at(m, i, j));
        }
}

// The same for whole numbers, bytes or ints; and for one number.
static void result_whole(const char *name, const void *x, size_t size, int rows,
                         int cols) {
    Mat m = separate(rows, cols);
    for (int k = 0; k < rows * cols; k++)
        m.at[k] = size == 1 ? ((const unsigned char *)x)[k]
                            : ((const int *)x)[k];
    result(name, m);
    if (!comparing)
        return;
    results[result_count - 1].is_whole = true;
    results[result_count - 1].is_word = size > 1;
}

static void result_number(const char *name, double x) {
    real number = (real)x;
    result(name, mat(&number, 1, 1));
    if (comparing) // there was nothing before it
        fill(results[result_count - 1].before, (real)NAN);
}

// ---------------------------------------------------------------- diagnose
//
// In these functions y is the student's result, e the expected one, and b what
// was there before; all lie row after row.

static bool all_are(Mat m, double value) {
    for (int i = 0; i < m.rows; i++)
        for (int j = 0; j < m.cols; j++)
            if (*at(m, i, j) != value)
                return false;
    return true;
}

// Is it as it was before the call, or as memory of the arena is?
static bool untouched(Mat y, Mat b) {
    int junk;
    memset(&junk, JUNK, sizeof junk);
    return same(y, b) || all_are(y, JUNK) || all_are(y, junk);
}

// The input outside of which a NaN comes from, or NULL. (Not every processor
// hands on which NaN it was.)
static const char *read_outside(Mat y) {
    for (int k = 0; k < y.rows * y.cols; k++)
        for (int which = 0; which < made_count; which++) {
            double nan = nan_of(which);
            if (memcmp(&y.at[k], &nan, sizeof nan) == 0)
                return made[which].name;
        }
    return NULL;
}

static Mat difference(Mat a, Mat b) {
    Mat m = separate(a.rows, a.cols);
    for (int k = 0; k < a.rows * a.cols; k++)
        m.at[k] = a.at[k] - b.at[k];
    return m;
}

// y = factor · e everywhere, for some factor?
static bool is_multiple(Mat y, Mat e, double *factor) {
    double most = 0;
    *factor = 1;
    for (int i = 0; i < e.rows; i++)
        for (int j = 0; j < e.cols; j++)
            if (fabs(*at(e, i, j)) > most) {
                most = fabs(*at(e, i, j));
                *factor = *at(y, i, j) / *at(e, i, j);
            }
    return follows(y, e, *factor, 0);
}

// "√12", "1/3", "-2", or with digits
static Name name_of_factor(double f) {
    Name name;
    snprintf(name.text, NAME_SIZE, "%.7g", f);
    for (int n = 64; n > 1; n--) {
        const double value[] = {sqrt(n), 1 / sqrt(n), n, 1.0 / n};
        const char *form[] = {"%s√%d", "%s1/√%d", "%s%d", "%s1/%d"};
        for (int k = 0; k < 4; k++)
            if (close_to(fabs(f), value[k]))
                snprintf(name.text, NAME_SIZE, form[k], f < 0 ? "-" : "", n);
    }
    return name;
}

// The same numbers in another order: each occurs as often in y as in e?
static bool is_permuted(Mat y, Mat e) {
    int n = y.rows * y.cols;
    for (int k = 0; k < n; k++) {
        int surplus = 0;
        for (int l = 0; l < n; l++)
            surplus += close_to(y.at[l], e.at[k]) - close_to(e.at[l], e.at[k]);
        if (surplus != 0)
            return false;
    }
    return true;
}

// What holds for all elements, and how many are no numbers.
typedef struct {
    bool right_if_written;  // the wrong ones are memory of the arena
    bool right_if_not_0;    // wrong only where 0 is expected
    bool right_if_changed;  // wrong only where e is as b
    bool partly_added;      // either e or e + b, and this also where e is not 0
    bool is_complement;     // 0 where something is expected, or the other way
    bool nearly_right;      // to five digits of the largest number
    int nans, infinite;
} Pattern;

static Pattern pattern_of(Mat y, Mat e, Mat b) {
    Pattern p = {true, true, true, true, true, true, 0, 0};
    double most = 0, error = 0;
    bool added = false; // what is padding may be right
    int junk;
    memset(&junk, JUNK, sizeof junk);
    for (int k = 0; k < e.rows * e.cols; k++) {
        double x = y.at[k], wanted = e.at[k], was = b.at[k];
        bool right = close_to(x, wanted), is_sum = close_to(x, wanted + was);
        p.right_if_written &= x == wanted || x == JUNK || x == junk;
        p.right_if_not_0 &= right || wanted == 0;
        p.right_if_changed &= right || wanted == was;
        p.partly_added &= right || is_sum;
        p.is_complement &= (x == 0) != (wanted == 0);
        p.nans += isnan(x) != 0;
        p.infinite += isinf(x) != 0;
        added |= is_sum && wanted != 0 && was != 0;
        most = fmax(most, fabs(wanted));
        error += fabs(x - wanted);
    }
    p.partly_added &= added;
    p.nearly_right = error < 1e-5 * most;
    return p;
}

// More than two different rows, which are not the same by chance?
static bool is_varied(Mat m) {
    int count = 0;
    for (int i = 0; i < m.rows; i++) {
        bool is_new = true;
        for (int k = 0; k < i; k++)
            is_new = is_new && !same(slice_rows(m, i, 1), slice_rows(m, k, 1));
        count += is_new;
    }
    return count > 2;
}

// What is wrong at the ends; `what` is "row", or with all transposed "column".
static bool diagnose_ends(Mat y, Mat e, Mat b, const char *what, char *text) {
    int n = y.rows;
    const char *end[] = {"first", "last"}, *side[] = {"early", "late"};
    for (int k = 0; k < 2 && n > 1; k++) {
        int place = k * (n - 1); // the row at this end; the rest begins at !k
        Mat one = slice_rows(y, place, 1), rest = slice_rows(y, !k, n - 1);
        Mat e_rest = slice_rows(e, !k, n - 1);
        Mat e_next = slice_rows(e, k, n - 1);
        if (same(rest, e_rest))
            snprintf(text, TEXT, untouched(one, slice_rows(b, place, 1))
                     ? "the %s %s is never written" : "only the %s %s is wrong",
                     end[k], what);
        else if (same(one, slice_rows(e, place, 1))
                 && untouched(rest, slice_rows(b, !k, n - 1)))
            snprintf(text, TEXT, "only the %s %s is written", end[k], what);
        else if (is_varied(e_next) && same(rest, e_next))
            snprintf(text, TEXT, "all is one %s too %s: an index is off by one",
                     what, side[!k]);
        else
            continue;
        return true;
    }
    return false;
}

// A number added to, or a factor on, each line as a whole; d and g are y - b
// and e - b.
static bool diagnose_terms(Mat y, Mat e, Mat d, Mat g, const char *what,
                           char *text) {
    bool shifted = y.cols > 2, scaled[2] = {shifted, shifted};
    double factor;
    for (int i = 0; i < y.rows; i++) {
        Mat yi = slice_rows(y, i, 1), ei = slice_rows(e, i, 1);
        Mat di = slice_rows(d, i, 1), gi = slice_rows(g, i, 1);
        double shift = *at(yi, 0, 0) - *at(ei, 0, 0);
        shifted = shifted && follows(yi, ei, 1, shift);
        scaled[0] = scaled[0] && is_multiple(yi, ei, &factor);
        scaled[1] = scaled[1] && is_multiple(di, gi, &factor);
    }
    snprintf(text, TEXT, shifted
             ? "each %s is off by a number of its own: a term that is the same "
               "along the %s is missing or wrong"
             : "each %s has a factor of its own too many or too few",
             what, what);
    return shifted || scaled[0] || scaled[1];
}

// The likely cause, into `text`; false if none is found. The first that fits.
static bool diagnose(const Result *r, char *text) {
    Mat y = r->yours, e = r->expected, b = r->before;
    Mat d = difference(y, b), g = difference(e, b);
    Mat turned = {y.at, e.rows, e.cols, 1, e.rows}; // as if y lay col after col
    Pattern p = pattern_of(y, e, b);
    bool many = r->wrong > 1, single = e.rows * e.cols == 1;
    double factor = 0;
    const char *outside = read_outside(y);
    if (outside)
        snprintf(text, TEXT, "not a number: it was read outside of %s",
                 outside);
    const struct {
        bool holds;
        const char *say;
    } cause[] = {
        {all_are(e, JUNK) || (all_are(e, e.at[0]) && e.at[0] < -1e9),
         "nothing is to be written there"},
        {untouched(y, b), all_are(b, PREFILL) || all_are(b, 0) || !same(y, b)
         ? "never written, or what was added is 0"
         : "unchanged: it holds what it held before the call"},
        {outside, text},
        {r->is_whole && p.right_if_written,
         "the wrong ones are never written"},
        {p.nearly_right, "right to five digits, not to nine: a float "
         "where real belongs, a function for floats, or too short a constant"},
        {!single && (many || e.rows == 1 || e.cols == 1)
         && (diagnose_ends(y, e, b, "row", text)
             || diagnose_ends(transposed(y), transposed(e), transposed(b),
                              "column", text)), NULL},
        {p.nans > 0, "not a number: never written, or made of what was never "
                   "written or lies outside, or of 0/0, ∞/∞ or ∞-∞"},
        {p.infinite > 0,
         "infinite: an exponential of too much, or a division by 0"},
        {all_are(y, 0), "all zero"},
        {many && !r->is_word && !all_are(e, 0) && p.is_complement,
         "exactly the wrong ones are 0: a condition is turned round"},
        {follows(y, e, -1, 0) || (!single && follows(d, g, -1, 0)), "wrong sign"},
        {many && same(y, g),
         "overwritten instead of accumulated: = where += belongs"},
        {many && r->in_pool && p.partly_added,
         "added to what was there instead of set: += where = belongs"},
        {many && follows(y, g, -1, 0), "wrong sign, and = in the place of +="},
        {many && same(turned, e), "transposed: rows and columns exchanged"},
        {many && p.right_if_not_0, r->is_word
         ? "wrong only where PAD is expected"
         : "wrong only where 0 is expected: what is hidden, dropped or "
           "padding"},
        {many && p.right_if_changed,
         "wrong only where nothing should be changed"},
    };
    for (size_t k = 0; k < sizeof cause / sizeof *cause; k++)
        if (cause[k].holds)
            return !cause[k].say || cause[k].say == text
                || snprintf(text, TEXT, "%s", cause[k].say);
    for (int k = 0; k < result_count; k++)
        if (many && same(y, results[k].expected))
            return snprintf(text, TEXT, "it has the numbers expected of %s",
                            results[k].name.text);
    if (many && (is_multiple(y, e, &factor) || is_multiple(d, g, &factor)))
        return snprintf(text, TEXT, "a constant factor: %s times what is "
                        "expected", name_of_factor(factor).text);
    if (many && follows(y, e, 1, y.at[0] - e.at[0]))
        return snprintf(text, TEXT, "off by %.7g everywhere",
                        y.at[0] - e.at[0]);
    if (many && !r->is_whole
        && (diagnose_terms(y, e, d, g, "row", text)
            || diagnose_terms(transposed(y), transposed(e), transposed(d),
                              transposed(g), "column", text)))
        return true;
    return many && is_permuted(y, e)
        && snprintf(text, TEXT, "the right numbers in a wrong order");
}

// ---------------------------------------------------------------- compare

// "dgain[2] (of 4)", "dx[1][3] (of 8 × 18)", "loss"
static Place place(const char *name, int k, Mat m) {
    Place p;
    if (m.rows > 1 && m.cols > 1)
        snprintf(p.text, TEXT, "%s[%d][%d] (of %d × %d)", name, k / m.cols,
                 k % m.cols, m.rows, m.cols);
    else if (m.rows > 1 || m.cols > 1)
        snprintf(p.text, TEXT, "%s[%d] (of %d)", name, k, m.rows * m.cols);
    else
        snprintf(p.text, TEXT, "%s", name);
    return p;
}

// "2 of 60 of dx, 4 of 4 of dgain", of the results that are wrong; or "dbias";
// of many that are right only the number
static void print_names(bool wrong) {
    int printed = 0, count = 0, most = 4;
    for (Result *r = results; r < results + result_count; r++)
        count += (r->wrong != 0) == wrong;
    if (!wrong && count > most) {
        printf("; the %d others are right", count);
        return;
    }
    for (Result *r = results; r < results + result_count && printed < most; r++)
        if ((r->wrong != 0) == wrong) {
            printf("%s", printed++ ? ", " : wrong ? "wrong: " : "; right: ");
            int n = r->expected.rows * r->expected.cols;
            if (r->wrong > 0 && n > 1)
                printf("%d of %d of ", r->wrong, n);
            printf("%s", r->name.text);
        }
    if (count > printed)
        printf(" and %d more", count - printed);
}

// A number, or the name of a token. No -0, and no sign of a NaN.
static void print_value(const Result *r, double x, int digits) {
    const char *word[] = {"PAD", "START", "END", "UNKNOWN"};
    if (r->is_word && x >= 0 && x < FIRST_TOKEN)
        printf("%s", word[(int)x]);
    else
        printf("%.*g", digits, isnan(x) ? fabs(x) : x + 0.0);
}

// A result of a wrong shape; the case ends.
static void wrong_shape(const Result *r) {
    Mat y = r->yours, e = r->expected;
    const char *name = r->name.text;
    bool is_set = y.rows != 0 || y.cols != 0;
    if (is_set || strcmp(name, "what is returned") != 0)
        printf(is_set ? "wrong: %s is %d × %d, expected %d × %d\n"
                      : "wrong: %s is not set\n",
               name, y.rows, y.cols, e.rows, e.cols);
    else
        printf("wrong: nothing is returned: is the return missing?\n");
    for (Result *other = results; other < results + result_count; other++)
        if (y.at && other != r && same(y, other->expected))
            printf("looks like: %s: it has the numbers expected of %s\n", name,
                   other->name.text);
    stop(WRONG);
}

// Is it made of a wrong result before it? Then its NaN tells nothing.
static bool follows_wrong(const Result *r) {
    bool has_nan = false;
    for (int k = 0; k < r->yours.rows * r->yours.cols; k++)
        has_nan = has_nan || isnan(r->yours.at[k]);
    for (const Result *first = results; has_nan && first < r; first++)
        if (first->wrong > 0)
            return true;
    return false;
}

// Says what the wrong results look like: up to three causes.
static void print_causes(void) {
    char text[TEXT];
    int said = 0;
    for (Result *r = results; r < results + result_count && said < 3; r++)
        if (r->wrong > 0 && !follows_wrong(r) && diagnose(r, text)) {
            printf("looks like: %s: %s\n", r->name.text, text);
            said++;
        }
}

// An input that was changed, too, is reported behind them.
static void print_changed(void) {
    char line[3 * TEXT] = "";
    if (fgets(line, sizeof line, results_file)
        && strncmp(line, "wrong: ", 7) == 0)
        printf("besides, %s", line + 7);
}

// Says what is wrong with the results of the case, if anything is.
static void check_results(void) {
    int first = 0, k = 0;
    while (first < result_count && results[first].wrong == 0)
        first++;
    if (first == result_count)
        return;
    Result *r = &results[first];
    if (r->wrong < 0)
        wrong_shape(r);
    Mat y = r->yours, e = r->expected;
    while (close_to(y.at[k], e.at[k]))
        k++;
    int digits = fabs(y.at[k] - e.at[k]) < 1e-5 ? 15 : 7;
    printf("%s: yours ", place(r->name.text, k, e).text);
    print_value(r, y.at[k], digits);
    printf(", expected ");
    print_value(r, e.at[k], digits);
    putchar('\n');
    print_names(true);
    print_names(false);
    putchar('\n');
    print_causes();
    print_changed();
    printf("%s", note);
    stop(WRONG);
}

// Was anything written between the matrices, or into one that is only read?
static void check_pool(void) {
    char text[2 * TEXT];
    for (int distance = 1; distance <= GAP; distance++)
        for (Made *one = made; one < made + made_count; one++) {
            Mat m = one->m;
            double gap = one->is_input ? nan_of((int)(one - made)) : UNTOUCHED;
            const real *next = &m.at[m.rows * m.cols + distance - 1];
            bool behind = memcmp(next, &gap, sizeof gap) != 0;
            if (!behind && memcmp(&m.at[-distance], &gap, sizeof gap) == 0)
                continue;
            snprintf(text, sizeof text, "your code writes outside of %s "
                     "(%d × %d), %d %s", one->name, m.rows, m.cols, distance,
                     behind ? "after its last number"
                            : "before its first number");
            stop_here(text);
        }
    for (Made *one = made; one < made + made_count; one++)
        for (int k = 0; one->is_input && k < one->m.rows * one->m.cols; k++) {
            const real *x = &one->m.at[k];
            if (memcmp(x, &before[x - pool], sizeof *x) == 0)
                continue;
            snprintf(text, sizeof text, "your code changes %s, which is only "
                     "to be read", place(one->name, k, one->m).text);
            stop_here(text);
        }
}

// The state in which a case begins.
static void begin_case(void) {
    for (int k = 0; k < POOL_SIZE; k++)
        pool[k] = UNTOUCHED;
    pool_end = pool;
    made_count = result_count = 0;
    *note = 0;
    arena_release(&room, 0);
    memset(arena_take(&room, ARENA_SIZE, 1), JUNK, ARENA_SIZE);
    arena_release(&room, 0);
}

// The end of a case.
static void finish(void) {
    if (comparing) {
        check_results();
        expect_line("case");
    } else {
        check_pool();
        fputs("case\n", results_file);
        fflush(results_file); // what comes may crash
    }
    size_t used = strlen(right_before);
    snprintf(right_before + used, TEXT - used, "%s%s", used ? "; " : "",
             case_name);
    case_name = "";
    case_count++;
    begin_case();
}

// ---------------------------------------------------------------- shapes
//
// tool.py lets the student's lines call these in the place of the products.

static void fits(const char *name, int line, Mat c, Mat a, Mat b) {
    if (c.rows == a.rows && a.cols == b.rows && b.cols == c.cols)
        return;
    char text[TEXT];
    snprintf(text, TEXT, "%s in line %d: c (%d,%d) += a (%d,%d) b (%d,%d): the "
             "shapes do not fit", name, line, c.rows, c.cols, a.rows, a.cols,
             b.rows, b.cols);
    stop_here(text);
}

void watched_product(const char *name, int line,
                     void (*product)(Mat, Mat, Mat), Mat c, Mat a, Mat b) {
    fits(name, line, c, a, b);
    product(c, a, b);
}

void watched_matmul_from(int line, Mat c, Mat from, Mat a, Mat b) {
    fits("matmul_from", line, c, a, b);
    matmul_from(c, from, a, b);
}

void watched_linear_backward(int line, Mat dx, Linear *dw, Mat dy, Mat x,
                             const Linear *w) {
    Mat W = w->weight, dW = dw->weight;
    if (dx.rows != x.rows || dy.rows != x.rows || dx.cols != W.rows
        || x.cols != W.rows || dy.cols != W.cols || dW.rows != W.rows
        || dW.cols != W.cols) {
        char text[TEXT];
        snprintf(text, TEXT, "linear_backward in line %d: dx (%d,%d), "
                 "dW (%d,%d), dy (%d,%d), x (%d,%d), W (%d,%d): the shapes do "
                 "not fit", line, dx.rows, dx.cols, dW.rows, dW.cols, dy.rows,
                 dy.cols, x.rows, x.cols, W.rows, W.cols);
        stop_here(text);
    }
    linear_backward(dx, dw, dy, x, w);
}

// ---------------------------------------------------------------- the program

typedef struct {
    const char *name;
    void (*run)(void);
} Check;

// Reads the token, before any line of the student's has run, and leaves nothing
// of it in standard input or its buffer.
static void read_token(void) {
    setvbuf(stdin, NULL, _IONBF, 0);
    if (!fgets(token, sizeof token, stdin)
        || !freopen("/dev/null", "r", stdin)) {
        fprintf(stderr, "grade: there is no token on standard input\n");
        exit(MISUSED);
    }
    token[strcspn(token, "\n")] = 0;
}

static void run_check(const Check *check, const char *file) {
    read_token();
    results_file = fopen(file, comparing ? "r" : "w");
    if (!results_file) {
        fprintf(stderr, "grade: cannot open %s: %s\n", file, strerror(errno));
        exit(MISUSED);
    }
    begin_case();
    check->run();
    if (comparing) {
        case_name = "the end";
        expect_line(token);
        printf("right: %d cases\n", case_count);
    } else
        fprintf(results_file, "%s\n", token);
    fclose(results_file);
}

static int grade_main(const Check *checks, int n, int count, char **argument) {
    int k = 0;
    if (count == 2 && strcmp(argument[1], "list") == 0) {
        for (k = 0; k < n; k++)
            puts(checks[k].name);
        return 0;
    }
    while (k < n && (count != 4 || strcmp(argument[1], checks[k].name) != 0))
        k++;
    comparing = count == 4 && strcmp(argument[2], "compare") == 0;
    bool made_here = count == 4 && strcmp(argument[2], "make") == 0;
    if (k == n || !(comparing || made_here)) {
        fprintf(stderr, "usage: grade NAME make|compare FILE, or grade list\n");
        return MISUSED;
    }
    run_check(&checks[k], argument[3]);
    return 0;
}
