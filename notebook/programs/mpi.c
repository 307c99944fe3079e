// mpi.c: trains transformer.c's model on several processes at once.
//
//     mpirun -n 4 build/notebook/mpi train DATA.tsv …
//
// The processes, which MPI calls ranks, may run on one machine or on many. Each
// has the whole model and all the data, takes its share of every batch, and
// makes the same step as all others: this is data parallelism. Options, files
// and progress are those of `transformer train`; rank 0 alone writes. `make
// mpi` builds this; lab 19 is about it, and includes it without its main.

#include "../lib/lab.h"
#include <mpi.h>

#define ALL MPI_COMM_WORLD
_Static_assert(sizeof(real) == sizeof(float), "MPI_FLOAT is what is sent");

// ## A step
//
// A batch of B sentences is cut into M *micro-batches*: number k has the
// sentences from place k·B/M to place (k+1)·B/M, rounded down. A rank takes a
// block of them, in the same way. With g_k for the gradient of the summed loss
// of micro-batch k, and n for the tokens that the whole batch expects, all use
//
//     g = (((g_0/n + g_1/n) + g_2/n) + …) + g_(M-1)/n
//
// added in this order. Nothing in it says how many ranks there are. So it has
// the same bits on one rank and on seven. (Another M is another sum.)
//
// The divisor is n, the tokens of all ranks (lab 19 shows what else goes wrong).
// And dropout is keyed by the step and by the place of a micro-batch's first
// sentence in the whole batch, not by the rank.

enum { GRADIENT, WAITING, SUM, UPDATE, PHASES }; // of a step's time

// This process among the others; global, since what happens at exit needs it.
struct {
    int rank, size;    // 0 … size-1
    int micro_batches; // M: at least as many as ranks
    int first, count;  // those of this rank
    int failure;       // the status if it ends now; 0: all is well
    int stopped;       // 1: a rank was asked to stop, and so all do
    real *gradient;    // of this rank's micro-batches, one after another
    Loss *loss;        // of each of them
    double spent[PHASES];
} world = {.micro_batches = 8, .failure = 1};

// The first of part k, if n things are cut into `parts` parts.
int first_of(int n, int k, int parts) {
    return (int)((int64_t)n * k / parts);
}

// Micro-batch k, a view of the batch's rows; it may have no sentences. *first
// becomes the place of its first sentence.
Batch micro_batch(const Batch *batch, int k, int *first) {
    int M = world.micro_batches, B = batch->sentences;
    Batch part = *batch;
    *first = first_of(B, k, M);
    part.sentences = first_of(B, k + 1, M) - *first;
    part.source += *first * part.source_length;
    part.input += *first * part.target_length;
    part.expected += *first * part.target_length;
    return part;
}

// The gradients of this rank's micro-batches, each in a block of its own, divided
// by the tokens of the whole batch.
void own_gradients(Trainer *t, const Batch *batch) {
    real *g = t->gradient->list.values;
    size_t n = t->gradient->list.count;
    clear(g, n);
    for (int k = 0; k < world.count; k++) {
        int first;
        Batch part = micro_batch(batch, world.first + k, &first);
        world.loss[k] = (Loss){0};
        if (part.sentences)
            world.loss[k] = add_gradient(t, &part, tokens_expected(batch),
                                         noise_of_step(t) + (uint64_t)first);
        memcpy(world.gradient + (size_t)k * n, g, sizeof(real) * n);
        clear(g, n);
    }
}

// The sum of all micro-batches' gradients and losses, in their order, on all
// ranks. It is handed from rank to rank: each adds its own to what comes from
// the rank before. While one rank adds to a piece, the next one adds to the
// piece before it. The last rank has the sum, and sends it to all.
Loss sum_in_order(real *sum, size_t n) {
    enum { PIECE = 1 << 16 };
    int before = world.rank > 0 ? world.rank - 1 : MPI_PROC_NULL;
    int after = world.rank + 1 < world.size ? world.rank + 1 : MPI_PROC_NULL;
    Loss total = {0};
    for (size_t i = 0; i < n; i += PIECE) {
        int count = (int)(n - i < PIECE ? n - i : PIECE);
        MPI_Recv(sum + i, count, MPI_FLOAT, before, 0, ALL, MPI_STATUS_IGNORE);
        for (int k = 0; k < world.count; k++) {
            const real *g = world.gradient + (size_t)k * n + i;
            for (int j = 0; j < count; j++)
                sum[i + (size_t)j] += g[j];
        }
        MPI_Send(sum + i, count, MPI_FLOAT, after, 0, ALL);
    }
    MPI_Recv(&total, sizeof total, MPI_BYTE, before, 0, ALL, MPI_STATUS_IGNORE);
    for (int k = 0; k < world.count; k++)
        total = add_losses(total, world.loss[k]);
    MPI_Send(&total, sizeof total, MPI_BYTE, after, 0, ALL);
    MPI_Bcast(sum, (int)n, MPI_FLOAT, world.size - 1, ALL);
    MPI_Bcast(&total, sizeof total, MPI_BYTE, world.size - 1, ALL);
    return total;
}

// Adds the time since *clock to what was spent on one kind of work.
void spend(double *clock, int kind) {
    double time = now();
    world.spent[kind] += time - *clock;
    *clock = time;
}

// train_step, by all ranks. The barrier separates the time that a rank waits
// for others from the time of the sum.
Step step_together(Trainer *t, const Batch *batch) {
    TensorList *g = &t->gradient->list;
    double clock = now();
    own_gradients(t, batch);
    spend(&clock, GRADIENT);
    MPI_Barrier(ALL);
    spend(&clock, WAITING);
    Loss loss = sum_in_order(g->values, g->count);
    spend(&clock, SUM);
    Step s = update(t, loss);
    spend(&clock, UPDATE);
    return s;
}

// ## Together
//
// A rank that fails says why, and MPI_Abort ends all. Rank 0 gets ready first,
// so that what is wrong on all ranks is said once. Then all compare what they
// begin with, and, before they are saved, their parameters, which differ if
// their options do.

// Called at exit, whatever its reason. MPICH loses what was said just before.
void leave(void) {
    for (double t = now(); world.failure && now() < t + 0.2;) continue;
    if (world.failure)
        MPI_Abort(ALL, world.failure);
    MPI_Finalize();
}

// Ends the run unless all ranks have the same number. Rank 0 says why.
void compare(uint64_t mine, const char *what) {
    uint64_t most[] = {mine, ~mine}; // and the least
    MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_UINT64_T, MPI_MAX, ALL);
    if (most[0] != ~most[1] && world.rank)
        MPI_Barrier(ALL); // until rank 0 has ended all
    if (most[0] != ~most[1])
        fail("not the same %s on all ranks", what);
}

// A digest of these bytes, and of those before them (FNV-1a).
uint64_t digest(uint64_t before, const void *bytes, size_t size) {
    const unsigned char *from = bytes;
    for (size_t i = 0; i < size; i++)
        before = (before ^ from[i]) * 0x100000001b3u;
    return before;
}

// That of the parameters and the data.
uint64_t digest_of_run(const Trainer *t, const Pairs *data) {
    uint64_t d = checksum(t);
    for (int i = 0; i < data->count; i++) {
        Sentence from = data->source[i], to = data->target[i];
        d = digest(d, from.id, sizeof(int) * (size_t)from.length);
        d = digest(d, to.id, sizeof(int) * (size_t)to.length);
    }
    return d;
}

// ## The loop

// train of chapter 11, by all ranks. Rank 0 prints, measures and saves.
void train_together(Progress *p) {
    Trainer *t = &p->checkpoint->trainer;
    int *order = allocate((size_t)p->data->count, sizeof *order);
    Course course = {p->data, order, -1};
    while (t->step < p->total) {
        world.stopped = stop_signal != 0;
        MPI_Allreduce(MPI_IN_PLACE, &world.stopped, 1, MPI_INT, MPI_MAX, ALL);
        if (world.stopped)
            break;
        Batch batch = next_batch(&course, &t->recipe, t->step, &t->arena);
        Step s = step_together(t, &batch);
        arena_release(&t->arena, 0);
        if (t->step != s.step && world.rank)
            MPI_Barrier(ALL);
        if (t->step != s.step)
            fail("step %" PRId64 ": the loss is not a number any more; try a "
                 "smaller --lr", s.step);
        if (s.step == p->first_step + 1 || time_to_look(s.step, p->total))
            compare(checksum(t), "parameters (which are not saved)");
        if (world.rank == 0)
            report_step(p, &s);
    }
    free(order);
}

// Rank 0 says how the run ended. The times are those of rank 0.
void say_end(const Progress *p) {
    const Trainer *t = &p->checkpoint->trainer;
    double steps = fmax((double)(t->step - p->first_step), 1) / 1000;
    const double *spent = world.spent;
    fprintf(stderr, "%s at step %" PRId64 " after %.1f s; %s\nmilliseconds of "
            "a step: gradient %.3f, waiting %.3f, sum %.3f, update %.3f\n",
            world.stopped ? "stopped" : "done", t->step, now() - p->started,
            p->settings->model, spent[GRADIENT] / steps, spent[WAITING] / steps,
            spent[SUM] / steps, spent[UPDATE] / steps);
}

// ## The command

// Room for this rank's share of a step.
void take_share(const Trainer *t) {
    size_t n = t->gradient->list.count;
    int M = world.micro_batches;
    if (n > INT_MAX || world.size > M)
        fail("%d ranks cannot share %d micro-batches of %zu parameters",
             world.size, M, n);
    world.first = first_of(M, world.rank, world.size);
    world.count = first_of(M, world.rank + 1, world.size) - world.first;
    world.loss = allocate((size_t)world.count, sizeof *world.loss);
    world.gradient = allocate((size_t)world.count * n, sizeof(real));
}

// Trains with these data, and says how the run ended.
void run_together(Progress *p) {
    Checkpoint *c = p->checkpoint;
    take_share(&c->trainer);
    if (world.rank == 0) {
        describe(p);
        fprintf(stderr, "ranks: %d; %d micro-batches, added in their order\n",
                world.size, world.micro_batches);
        MPI_Barrier(ALL); // the others follow
    }
    compare(digest_of_run(&c->trainer, p->data), "data or model");
    handle_signals(remember_signal);
    train_together(p);
    compare(checksum(&c->trainer), "parameters (which are not saved)");
    if (world.rank == 0 && world.stopped)
        save_checkpoint(c, p->settings->model);
    if (world.rank == 0)
        say_end(p);
    MPI_Barrier(ALL); // rank 0 may have failed to save
}

// train_command of chapter 16, by all ranks.
void train_on_all(const Arguments *a, Checkpoint *c) {
    const Settings *s = &a->settings;
    signal(SIGPIPE, SIG_IGN);
    *c = begin_run(a);
    if (world.rank == 0 && !s->resume)
        announce(s->model);
    Text text = read_pairs(a->operand[0], c->settings.tokenizer);
    if (!c->trainer.model)
        new_model(c, a->operand[0], &text);
    Pairs data = number_pairs(a->operand[0], text, c), valid = {0};
    if (s->valid && world.rank == 0)
        valid = load_pairs(s->valid, c);
    Progress p = {
        .settings = s, .checkpoint = c, .data = &data,
        .valid = valid.count ? &valid : NULL, .first_step = c->trainer.step,
        .total = total_steps(&c->trainer.recipe, data.count),
        .started = now(), .step_started = now(),
    };
    run_together(&p);
    if (p.log)
        fclose(p.log);
    pairs_free(&data);
    pairs_free(&valid);
}

// Starts MPI, which must be able to work beside OpenMP's threads.
void begin_world(int *argc, char ***argv) {
    int provided;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(ALL, &world.rank);
    MPI_Comm_size(ALL, &world.size);
    atexit(leave);
    if (provided < MPI_THREAD_FUNNELED)
        fail("this MPI does not allow a program to have several threads");
}

#ifndef MACHINES_NO_MAIN
int main(int argc, char **argv) {
    let_threads_sleep(argv);
    check_arithmetic();
    signal(SIGXFSZ, SIG_IGN); // a file too large: the write fails and says so
    begin_world(&argc, &argv);
    if (world.rank)
        MPI_Barrier(ALL); // rank 0 goes first
    world.failure = 2;    // until the arguments are read: misused
    Arguments a = read_arguments(argc, argv);
    if (a.command->bit != TRAIN || a.settings.help)
        fail("mpi only trains; `transformer train --help` lists what it takes");
    world.failure = 1;
    Checkpoint c = {0};
    set_threads(&a);
    train_on_all(&a, &c);
    checkpoint_free(&c);
    free(world.gradient);
    free(world.loss);
    finish_output();
    world.failure = 0;
    return world.stopped ? 130 : 0;
}
#endif
