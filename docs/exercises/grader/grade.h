// What the checks of grade.c are made with: matrices with watched edges, and
// results that are written into a file.
//
// A check runs with the student's code, and once with the reference. Each time it
// writes every result into a file; comparing.py reads both files and says what
// differs. So nothing that the student's code prints, ends or overwrites can
// decide the verdict. Before any of that code runs, a token, new in each run, is
// read from standard input; it is written after the last result.
//
// A case makes its matrices, calls start() with its name, then the function under
// test, hands what that has made to result(), and calls finish(). Simple cases
// come first, for only the first wrong one is reported. Matrices are
//
//     input    random; must be the same after the call
//     output   filled with PREFILL, so that = in place of += is seen
//     scratch  random; may be used up, and may be a result
//
// They lie in a pool with gaps between them, so that a write outside is seen. The
// gaps around an input are NaN: reading there is seen, too. The arena gives no
// zeros either: its matrices are NaN, its other memory is full of JUNK.

#define PREFILL 0.5
#define UNTOUCHED 777.25 // what the gaps of the pool are full of

enum { POOL_SIZE = 1 << 16, ARENA_SIZE = 1 << 20, GAP = 64, JUNK = 0xc3 };
enum { MOST_MADE = 64, TEXT = 400 };
enum { WRONG = 1, MISUSED = 2 }; // exit status

typedef struct {
    const char *name;
    Mat m;
    bool is_input;
} Made;

static real pool[POOL_SIZE], before[POOL_SIZE]; // now, and before the call
static real *pool_end;
static Made made[MOST_MADE];
static int made_count, case_count;
static FILE *results_file;
static char token[TEXT];
static Arena room; // for the student's call

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

// A matrix whose numbers follow from its name and the number of the case.
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

// A matrix that is not in the pool.
static Mat separate(int rows, int cols) {
    return mat(allocate((size_t)rows * (size_t)cols, sizeof(real)), rows, cols);
}

// ---------------------------------------------------------------- results
//
// For each case the file has these lines: "case" and its name; for each matrix
// "given", its kind and name, then its shape and the bits of its numbers; for each
// result "result" and the same, and, if it lies in the pool, "before" and the bits
// that it had before the call; and "end". Where something else is wrong, a line
// "wrong: ..." is the last one. The token comes after all cases.

// Ends the program, which has itself found what is wrong.
static _Noreturn void stop_here(const char *text) {
    fprintf(results_file, "wrong: %s\n", text);
    exit(WRONG);
}

static void write_bits(Mat m) {
    for (int i = 0; i < m.rows; i++)
        for (int j = 0; j < m.cols; j++) {
            double x = *at(m, i, j);
            unsigned long long bits;
            memcpy(&bits, &x, sizeof x);
            fprintf(results_file, " %llx", bits);
        }
    fputc('\n', results_file);
}

// Everything is ready; the call follows.
static void start(const char *name) {
    memcpy(before, pool, sizeof pool);
    fprintf(results_file, "case %s\n", name);
    for (const Made *one = made; one < made + made_count; one++) {
        fprintf(results_file, "given matrix %s\n%d %d", one->name, one->m.rows,
                one->m.cols);
        write_bits(one->m);
    }
}

static void write_result(const char *kind, const char *name, Mat m) {
    // whoever forgets to set a matrix may leave any shape in it
    bool is_possible = m.at && m.rows > 0 && m.cols > 0
                       && m.rows <= POOL_SIZE / m.cols;
    fprintf(results_file, "result %s %s\n%d %d", kind, name, m.at ? m.rows : 0,
            m.at ? m.cols : 0);
    write_bits(is_possible ? m : (Mat){0});
    if (is_possible && m.at >= pool && m.at < pool + POOL_SIZE) {
        m.at = before + (m.at - pool);
        fprintf(results_file, "before");
        write_bits(m);
    }
}

// A result of the case: a matrix, whole numbers (bytes, or ints, which are
// tokens), or one number.
static void result(const char *name, Mat m) {
    write_result("matrix", name, m);
}

// The same for a matrix that was full of PREFILL, and is not in the pool.
static void result_added(const char *name, Mat m) {
    Mat was = separate(m.rows, m.cols);
    fill(was, PREFILL);
    result(name, m);
    fputs("before", results_file);
    write_bits(was);
}

static Mat whole(const void *x, size_t size, int rows, int cols) {
    Mat m = separate(rows, cols);
    for (int k = 0; k < rows * cols; k++)
        m.at[k] = size == 1 ? ((const unsigned char *)x)[k]
                            : ((const int *)x)[k];
    return m;
}

static void result_whole(const char *name, const void *x, size_t size, int rows,
                         int cols) {
    write_result(size == 1 ? "bytes" : "tokens", name, whole(x, size, rows, cols));
}

// Tokens that the call is given; called after start().
static void given_tokens(const char *name, const int *x, int rows, int cols) {
    fprintf(results_file, "given tokens %s\n%d %d", name, rows, cols);
    write_bits(whole(x, sizeof *x, rows, cols));
}

static void result_number(const char *name, double x) {
    real number = (real)x;
    write_result("number", name, mat(&number, 1, 1));
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
            Mat m = one->m;
            int used = snprintf(text, TEXT, "your code changes %s", one->name);
            if (m.rows > 1 && m.cols > 1)
                snprintf(text + used, TEXT, "[%d][%d] (of %d × %d), which is only "
                         "to be read", k / m.cols, k % m.cols, m.rows, m.cols);
            else
                snprintf(text + used, TEXT, "[%d] (of %d), which is only to be "
                         "read", k, m.rows * m.cols);
            stop_here(text);
        }
}

// The state in which a case begins.
static void begin_case(void) {
    for (int k = 0; k < POOL_SIZE; k++)
        pool[k] = UNTOUCHED;
    pool_end = pool;
    made_count = 0;
    arena_release(&room, 0);
    memset(arena_take(&room, ARENA_SIZE, 1), JUNK, ARENA_SIZE);
    arena_release(&room, 0);
}

// The end of a case.
static void finish(void) {
    check_pool();
    fputs("end\n", results_file);
    fflush(results_file); // what follows may crash
    case_count++;
    begin_case();
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

static int grade_main(const Check *checks, int n, int count, char **argument) {
    int k = 0;
    while (k < n && (count != 3 || strcmp(argument[1], checks[k].name) != 0))
        k++;
    if (k == n) {
        fprintf(stderr, "usage: grade NAME FILE\n");
        return MISUSED;
    }
    read_token();
    results_file = fopen(argument[2], "w");
    if (!results_file) {
        fprintf(stderr, "grade: cannot open %s: %s\n", argument[2],
                strerror(errno));
        return MISUSED;
    }
    begin_case();
    checks[k].run();
    fprintf(results_file, "%s\n", token);
    fclose(results_file);
    return 0;
}
