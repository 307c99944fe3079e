// mpi.c: trains transformer.c's model on several processes at once.
//
//     mpirun -n 4 build/notebook/mpi train DATA.tsv [--micro-batches M] …
//
// The processes, which MPI calls ranks, may run on one machine or on many. Each
// has the whole model and all the data, takes its share of every batch, and
// makes the same step as all others: this is data parallelism. Options, files
// and progress are those of `transformer train`; rank 0 alone writes. Messages
// begin with "transformer:", since they are printed by transformer.c.
//
// Built by `make mpi`, with Open MPI or MPICH; lab 19 is about it, and its
// programs use all but main: define MACHINES_NO_MAIN and include this file.

#include "lib/lab.h"
#include <mpi.h>

// ## A step
//
// A batch of B sentences is cut into M *micro-batches*: number k has the
// sentences from place k·B/M to place (k+1)·B/M, rounded down. A rank takes a
// block of them, in the same way. With g_k for the gradient of the summed loss
// of micro-batch k, and n for the tokens that the whole batch expects (padding
// is not counted), all ranks use
//
//     g = (((g_0/n + g_1/n) + g_2/n) + …) + g_(M-1)/n
//
// added in this order. Nothing in it says how many ranks there are. So it has
// the same bits on one rank and on seven, and so has the model that it trains.
// M is another matter: another M is another sum, with other roundings.
//
// Two things have to be right. The divisor is n, the tokens of all ranks, which
// must be known before any rank runs backward. It is not each rank's own count,
// followed by a mean over the ranks: a short share of a batch would then count
// as much as a long one. And dropout is keyed by the step and by the place of a
// micro-batch's first sentence in the whole batch, not by the rank.

enum { MOST_MICRO_BATCHES = 4096 };

// What a rank's time in a step goes into.
enum { GRADIENT, WAITING, SUM, UPDATE, PHASES };

// Where a rank is: what its end means to the others depends on it.
enum { BETWEEN, IN_STEP, ENDED };

// What each rank says to all others.
typedef struct {
    int64_t tokens; // of its micro-batches
    int64_t signal; // that asks it to stop; 0: none
    int64_t failed; // 1: it has failed, and has said why
    uint64_t digest;
} Note;

// This process among the others. There is one such world in a program, and what
// happens at exit needs it too, so it is global.
struct {
    int rank, size;    // 0 … size-1
    int micro_batches; // M
    bool given;        // on the command line
    int first, count;  // those of this rank
    bool fast;
    MPI_Datatype real; // what MPI calls the numbers
    int phase;
    int stopped;       // the signal at which all ranks stop; 0: none
    Note *note;        // of all ranks, when they last met
    real *gradient;    // of this rank's micro-batches, one after another
    Loss *loss;        // of each of them
    double spent[PHASES];
    FILE *hidden;      // where this rank's messages go; NULL: they are seen
    int screen;        // a copy of the real standard error
} world = {.micro_batches = 8};

// The first of part k, if n things are cut into `parts` parts.
int first_of(int n, int k, int parts) {
    return (int)((int64_t)n * k / parts);
}

// Micro-batch k, a view of the batch's rows; it may have no sentence. *first:
// the place of its first sentence.
Batch micro_batch(const Batch *batch, int k, int *first) {
    int M = world.micro_batches, S = batch->source_length;
    int T = batch->target_length;
    *first = first_of(batch->sentences, k, M);
    Batch part = *batch;
    part.sentences = first_of(batch->sentences, k + 1, M) - *first;
    part.source += *first * S;
    part.input += *first * T;
    part.expected += *first * T;
    return part;
}

// The tokens in this rank's micro-batches.
int64_t own_tokens(const Batch *batch) {
    int64_t tokens = 0;
    for (int k = 0; k < world.count; k++) {
        int first;
        Batch part = micro_batch(batch, world.first + k, &first);
        tokens += tokens_expected(&part);
    }
    return tokens;
}

// The gradients of this rank's micro-batches, divided by `tokens`: each into a
// block of its own or, if bits do not matter, all into t->gradient.
void own_gradients(Trainer *t, const Batch *batch, int64_t tokens) {
    real *g = t->gradient->list.values;
    size_t n = t->gradient->list.count;
    clear(g, n);
    for (int k = 0; k < world.count; k++) {
        int first;
        Batch part = micro_batch(batch, world.first + k, &first);
        world.loss[k] = (Loss){0};
        if (part.sentences)
            world.loss[k] = add_gradient(t, &part, tokens, noise_of_step(t)
                                                           + (uint64_t)first);
        if (world.fast)
            continue;
        memcpy(world.gradient + (size_t)k * n, g, sizeof(real) * n);
        clear(g, n);
    }
}

// The sum of all micro-batches' gradients, in their order, on all ranks. It is
// handed from rank to rank: each adds its own to what comes from the rank
// before. While one rank adds to a piece, the next is at the piece before it.
// The last rank has the sum, and sends it to all.
void sum_in_order(real *sum, size_t n) {
    enum { PIECE = 1 << 16 };
    int before = world.rank > 0 ? world.rank - 1 : MPI_PROC_NULL;
    int after = world.rank + 1 < world.size ? world.rank + 1 : MPI_PROC_NULL;
    MPI_Request sent = MPI_REQUEST_NULL;
    for (size_t i = 0; i < n; i += PIECE) {
        int count = (int)(n - i < PIECE ? n - i : PIECE);
        MPI_Recv(sum + i, count, world.real, before, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        for (int k = 0; k < world.count; k++) {
            const real *g = world.gradient + (size_t)k * n + i;
            for (int j = 0; j < count; j++)
                sum[i + (size_t)j] += g[j];
        }
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
        MPI_Isend(sum + i, count, world.real, after, 0, MPI_COMM_WORLD, &sent);
    }
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Bcast(sum, (int)n, world.real, world.size - 1, MPI_COMM_WORLD);
}

// The sum of all micro-batches' losses, in the same way.
Loss sum_of_losses(void) {
    int before = world.rank > 0 ? world.rank - 1 : MPI_PROC_NULL;
    int after = world.rank + 1 < world.size ? world.rank + 1 : MPI_PROC_NULL;
    Loss total = {0};
    MPI_Recv(&total, sizeof total, MPI_BYTE, before, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    for (int k = 0; k < world.count; k++)
        total = add_losses(total, world.loss[k]);
    MPI_Send(&total, sizeof total, MPI_BYTE, after, 0, MPI_COMM_WORLD);
    MPI_Bcast(&total, sizeof total, MPI_BYTE, world.size - 1, MPI_COMM_WORLD);
    return total;
}

// Adds the time since *clock to what was spent on one kind of work.
void spend(double *clock, int kind) {
    double time = now();
    world.spent[kind] += time - *clock;
    *clock = time;
}

// train_step, by all ranks; `tokens` are those of the whole batch. The barrier
// tells the time that a rank waits for others from the time of the sum.
Step step_together(Trainer *t, const Batch *batch, int64_t tokens) {
    TensorList *g = &t->gradient->list;
    double clock = now();
    world.phase = IN_STEP;
    own_gradients(t, batch, tokens);
    spend(&clock, GRADIENT);
    MPI_Barrier(MPI_COMM_WORLD);
    spend(&clock, WAITING);
    if (world.fast)
        MPI_Allreduce(MPI_IN_PLACE, g->values, (int)g->count, world.real,
                      MPI_SUM, MPI_COMM_WORLD);
    else
        sum_in_order(g->values, g->count);
    Loss loss = sum_of_losses();
    spend(&clock, SUM);
    Step s = update(t, loss);
    spend(&clock, UPDATE);
    world.phase = BETWEEN;
    return s;
}

// ## Agreement
//
// Between two steps the ranks meet, and each gives a note to all. There they
// learn how many tokens the batch has, whether one of them was asked to stop,
// and whether one has failed: a rank that fails comes to the next meeting
// before it ends (see leave), so that the others do not wait for it forever. If
// that is not possible, because they are in the middle of a step, MPI_Abort
// ends them all. A rank that is killed comes to no meeting; mpirun notices.

// Gives this note to all ranks and collects theirs. Returns the first rank that
// has failed, or -1.
int meet(Note mine) {
    enum { FIELDS = sizeof mine / sizeof(int64_t) };
    int failed = -1;
    MPI_Allgather(&mine, FIELDS, MPI_INT64_T, world.note, FIELDS, MPI_INT64_T,
                  MPI_COMM_WORLD);
    for (int r = world.size - 1; r >= 0; r--)
        failed = world.note[r].failed ? r : failed;
    return failed;
}

// The same for a rank that is well; it ends if another is not.
void meet_well(Note mine) {
    if (meet(mine) < 0)
        return;
    world.phase = ENDED;
    exit(1);
}

// Ranks other than 0 get ready unheard: what they have to say is what rank 0
// says. If one of them alone fails, its last line is shown after all.
void hide_messages(void) {
    world.hidden = world.rank ? tmpfile() : NULL;
    if (!world.hidden)
        return;
    world.screen = dup(STDERR_FILENO);
    dup2(fileno(world.hidden), STDERR_FILENO);
}

// From now on messages are seen; `last`: so is the last of those before.
void show_messages(bool last) {
    char line[1024] = "";
    if (!world.hidden)
        return;
    dup2(world.screen, STDERR_FILENO);
    rewind(world.hidden);
    while (fgets(line, sizeof line, world.hidden))
        ;
    if (last)
        fprintf(stderr, "rank %d: %s", world.rank, line);
    fclose(world.hidden);
    close(world.screen);
    world.hidden = NULL;
}

// Called at exit, whatever its reason.
void leave(void) {
    if (world.phase == IN_STEP)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (world.phase == BETWEEN && meet((Note){.failed = 1}) == world.rank)
        show_messages(true);
    MPI_Finalize();
}

// The digest of these bytes, after those that have the digest `before`.
uint64_t digest(uint64_t before, const void *bytes, size_t size) {
    const char *from = bytes;
    for (size_t i = 0; i < size; i += sizeof before) {
        uint64_t word = size;
        memcpy(&word, from + i, size - i < sizeof word ? size - i
                                                       : sizeof word);
        before = scramble(before ^ word);
    }
    return before;
}

// Ends the run unless all ranks have the same digest. Nothing is saved.
void compare(uint64_t mine, const char *what) {
    char other[256] = "";
    int count = 0;
    meet_well((Note){.digest = mine});
    for (int r = 1; r < world.size; r++)
        if (world.note[r].digest != world.note[0].digest && count++ < 32)
            snprintf(other + strlen(other), sizeof other - strlen(other),
                     "%s%d", count > 1 ? ", " : "", r);
    if (!count)
        return;
    world.phase = ENDED;
    if (world.rank == 0)
        fail("not the same %s as on rank 0: rank%s %s", what,
             count > 1 ? "s" : "", other);
    exit(1);
}

// ## What must be the same on all ranks

// What the training's settings are, on the command line or in a file.
uint64_t digest_of_settings(const Settings *s) {
    int own[] = {world.micro_batches, world.fast};
    uint64_t d = digest(0, own, sizeof own);
    for (int i = 0; i < OPTIONS; i++)
        if (options[i].in_model) {
            char to[32];
            const char *text = option_text(to, s, i);
            d = digest(d, text, strlen(text));
        }
    return d;
}

uint64_t digest_of_pairs(const Pairs *p) {
    uint64_t d = 0;
    for (int i = 0; i < p->count; i++) {
        const Sentence both[] = {p->source[i], p->target[i]};
        for (int k = 0; k < 2; k++)
            d = digest(d, both[k].id, sizeof(int) * (size_t)both[k].length);
    }
    return d;
}

// Parameters and moments.
uint64_t digest_of_training(const Trainer *t) {
    const TensorList *l = &t->model->list;
    const real *block[] = {l->values, t->m, t->v};
    uint64_t d = (uint64_t)t->step;
    for (int k = 0; k < 3; k++)
        d = digest(d, block[k], sizeof(real) * l->count);
    return d;
}

// The gradient of the first micro-batch, which is the same for all; so it has
// the same bits, unless a rank is another build or another kind of processor.
uint64_t digest_of_gradient(Trainer *t, const Batch *batch) {
    int first = 0, k = 0;
    Batch part = {0};
    while (!part.sentences)
        part = micro_batch(batch, k++, &first);
    clear(t->gradient->list.values, t->gradient->list.count);
    add_gradient(t, &part, tokens_expected(&part), noise_of_step(t));
    return digest(0, t->gradient->list.values,
                  sizeof(real) * t->gradient->list.count);
}

// ## The loop

// Ranks that differ after this step end the run before anything is saved.
void compare_parameters(const Progress *p) {
    char what[80];
    const Trainer *t = &p->checkpoint->trainer;
    snprintf(what, sizeof what, "parameters after step %" PRId64
             " (which is not saved)", t->step);
    compare(digest_of_training(t), what);
}

// report_step for all ranks: rank 0 prints, measures and saves.
void report_together(Progress *p, const Step *s) {
    if (time_to_look(s->step, p->total))
        compare_parameters(p);
    if (world.rank == 0) {
        report_step(p, s);
        return;
    }
    p->step_started = now();
}

// The tokens of the whole batch. If a rank was asked to stop, all of them are.
int64_t count_together(const Batch *batch) {
    double clock = now();
    int64_t tokens = 0;
    meet_well((Note){.tokens = own_tokens(batch), .signal = stop_signal});
    for (int r = 0; r < world.size; r++) {
        tokens += world.note[r].tokens;
        if (world.note[r].signal)
            world.stopped = (int)world.note[r].signal;
    }
    spend(&clock, WAITING);
    return tokens;
}

// train of chapter 11, by all ranks; also stops if a signal asks for it.
bool train_together(Progress *p) {
    Trainer *t = &p->checkpoint->trainer;
    int *order = allocate((size_t)p->data->count, sizeof *order);
    Course course = {p->data, order, -1};
    bool finite = true;
    while (t->step < p->total && finite) {
        Batch batch = next_batch(&course, &t->recipe, t->step, &t->arena);
        if (t->step == p->first_step)
            compare(digest_of_gradient(t, &batch),
                    "first gradient (another build or processor?)");
        int64_t tokens = count_together(&batch);
        if (world.stopped)
            break;
        Step s = step_together(t, &batch, tokens);
        arena_release(&t->arena, 0);
        finite = t->step == s.step;
        if (finite)
            report_together(p, &s);
    }
    free(order);
    return finite;
}

// ## The command

// Rank 0 says how the run ended. The times are its own.
void say_end(const Progress *p) {
    const Trainer *t = &p->checkpoint->trainer;
    double steps = (double)(t->step - p->first_step) / 1000;
    fprintf(stderr, "%s at step %" PRId64 " after %.1f s; %s%s\n",
            world.stopped ? "stopped" : "done", t->step, now() - p->started,
            world.stopped ? "go on with --resume; " : "", p->settings->model);
    if (steps > 0)
        fprintf(stderr, "milliseconds of a step: gradient %.3f, waiting %.3f, "
                "sum %.3f, update %.3f\n", world.spent[GRADIENT] / steps,
                world.spent[WAITING] / steps, world.spent[SUM] / steps,
                world.spent[UPDATE] / steps);
}

// run_training of chapter 15, by all ranks.
void run_together(Progress *p) {
    const Trainer *t = &p->checkpoint->trainer;
    handle_signals(remember_signal);
    bool finite = train_together(p);
    if (!finite) {
        world.phase = ENDED;
        if (world.rank == 0)
            fail("step %" PRId64 ": the loss is not a number any more; try a "
                 "smaller --lr", t->step + 1);
        exit(1);
    }
    if (world.stopped)
        compare_parameters(p);
    if (world.rank == 0 && world.stopped)
        save_checkpoint(p->checkpoint, p->settings->model);
    if (world.rank == 0)
        say_end(p);
    meet_well((Note){0}); // rank 0 may have failed to save
}

// Says what is wrong and where to find help, and exits with status 2.
_Noreturn void wrong_use(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    complain(format, arguments);
    fputs(" (see: mpi train --help)\n", stderr);
    exit(2);
}

// M belongs to a run as its seed does, and is kept in its file. A file without
// it is one of `transformer train`, whose steps are of one piece.
void keep_micro_batches(Checkpoint *c, const Settings *s) {
    static char more[40];
    const char *key = "micro_batches";
    if (s->resume && !world.given) {
        Reader r = open_model(s->model);
        const char *text = metadata(&r, key, false);
        world.micro_batches = text ? (int)read_whole(text, 1,
                                                     MOST_MICRO_BATCHES) : 1;
        if (world.micro_batches < 1)
            fail("%s: it says %s \"%s\"", s->model, key, text);
        close_model(&r);
    }
    snprintf(more, sizeof more, ",\"%s\":\"%d\"", key, world.micro_batches);
    c->more = world.micro_batches > 1 ? more : NULL;
    if (world.size > world.micro_batches)
        wrong_use("%d ranks cannot share %d micro-batches: ask for more "
                  "--micro-batches", world.size, world.micro_batches);
}

// Room for this rank's share of a step.
void take_share(const Trainer *t) {
    size_t n = t->gradient->list.count;
    if (n > INT_MAX)
        fail("%zu parameters are more than MPI sends at once", n);
    world.first = first_of(world.micro_batches, world.rank, world.size);
    world.count = first_of(world.micro_batches, world.rank + 1, world.size)
                - world.first;
    world.loss = allocate((size_t)world.count, sizeof *world.loss);
    world.gradient = allocate(world.fast ? 0 : (size_t)world.count * n,
                              sizeof(real));
}

// What is about to happen, beside what chapter 15 says.
void describe_together(const Progress *p) {
    int threads = 1;
#ifdef _OPENMP
    threads = omp_get_max_threads();
#endif
    describe(p);
    fprintf(stderr, "ranks: %d, with up to %d thread%s each; %d micro-batches, "
            "%s\n", world.size, threads, threads > 1 ? "s" : "",
            world.micro_batches, world.fast
            ? "added in any order: other bits with another number of ranks"
            : "added in their order: the same bits with any number of ranks");
    if (p->checkpoint->trainer.step >= p->total)
        fprintf(stderr, "nothing to do: %" PRId64 " steps are done; ask for "
                "more --steps or --epochs\n", p->checkpoint->trainer.step);
}

// train_command of chapter 15, by all ranks.
void train_on_all(const Arguments *a, Checkpoint *c) {
    const Settings *s = &a->settings;
    Trainer *t = &c->trainer;
    signal(SIGPIPE, SIG_IGN);
    *c = begin_run(a);
    if (world.rank == 0 && !s->resume)
        announce(s->model);
    keep_micro_batches(c, s);
    Text text = read_pairs(a->operand[0], c->settings.tokenizer);
    if (!t->model)
        new_model(c, a->operand[0], &text);
    Pairs data = number_pairs(a->operand[0], text, c), valid = {0};
    if (s->valid && world.rank == 0)
        valid = load_pairs(s->valid, c);
    Progress p = {
        .settings = s, .checkpoint = c, .data = &data,
        .valid = valid.count ? &valid : NULL, .first_step = t->step,
        .total = total_steps(&t->recipe, data.count),
        .started = now(), .step_started = now(),
    };
    take_share(t);
    compare(digest_of_settings(&c->settings), "options");
    compare(digest_of_pairs(&data), "training data");
    compare(digest_of_training(t), "parameters to begin with");
    show_messages(false);
    if (world.rank == 0)
        describe_together(&p);
    run_together(&p);
    if (p.log)
        fclose(p.log);
    pairs_free(&data);
    pairs_free(&valid);
}

// ## The command line
//
// Two options are added to those of `transformer train`.

// Takes these two options out of the arguments; returns how many are left.
int take_options(int argc, char **argv) {
    const char *name = "--micro-batches";
    size_t length = strlen(name);
    int left = 0;
    for (int i = 0; i < argc; i++) {
        bool named = !strncmp(argv[i], name, length);
        if (!strcmp(argv[i], "--fast"))
            world.fast = true;
        else if (named && (!argv[i][length] || argv[i][length] == '=')) {
            bool attached = argv[i][length];
            const char *value = attached ? argv[i] + length + 1 : argv[++i];
            int64_t M = value && *value
                      ? read_whole(value, 1, MOST_MICRO_BATCHES) : -1;
            if (M < 0)
                wrong_use("%s: \"%s\" is not a whole number from 1 to %d", name,
                          value ? value : "", MOST_MICRO_BATCHES);
            world.micro_batches = (int)M;
            world.given = true;
        } else
            argv[left++] = argv[i];
    }
    argv[left] = NULL;
    return left;
}

void print_mpi_help(void) {
    puts("mpirun -n RANKS mpi train DATA.tsv [options]\n\n"
         "  transformer train, by several processes. Two more options:\n\n"
         "  --micro-batches M                      parts of a batch, whose "
         "gradients are added in order [8]\n"
         "  --fast                                 add them in any order: not "
         "the same bits\n\nThe others are those of");
    print_command_help(commands);
}

// Begins with MPI, which must be able to live beside OpenMP's threads.
void begin_world(int *argc, char ***argv) {
    int provided;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world.size);
    world.real = sizeof(real) == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE;
    world.note = allocate((size_t)world.size, sizeof *world.note);
    hide_messages();
    atexit(leave);
    if (provided < MPI_THREAD_FUNNELED)
        fail("this MPI does not allow a program to have several threads");
}

#ifndef MACHINES_NO_MAIN
int main(int argc, char **argv) {
    let_threads_sleep(argv);
    check_arithmetic();
    signal(SIGXFSZ, SIG_IGN); // a file too large: the write fails, and is said
    begin_world(&argc, &argv);
    argc = take_options(argc, argv);
    bool help = argc == 2 && find_choice("help|--help|-h", argv[1]) >= 0;
    Arguments a = {.settings.help = help};
    Checkpoint c = {0};
    if (!help)
        a = read_arguments(argc, argv);
    if (!help && a.command->bit != TRAIN)
        wrong_use("mpi only trains; for %s, take transformer", a.command->name);
    set_threads(&a);
    if (!a.settings.help)
        train_on_all(&a, &c);
    else if (world.rank == 0)
        print_mpi_help();
    checkpoint_free(&c);
    free(world.gradient);
    free(world.loss);
    world.phase = ENDED;
    finish_output();
    return world.stopped ? 128 + world.stopped : 0;
}
#endif
