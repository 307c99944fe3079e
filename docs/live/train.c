// The page's training: the program's own data, options and steps; and what can
// be broken in them, built of the same parts. Included by live.c.

// What the page can break, besides what an option can.
enum { NO_CAUSAL_MASK = 1, NO_SCALE = 2, NO_WARM_UP = 4 };

int broken;              // the sum of those that are
Pairs data, held_out;
Course course = {.pairs = &data, .epoch = -1};

// Without the scale, queries are √K times as large, since the program will
// divide by √K. So between two steps the rest of it can use the model as it is.
void scale_queries(Transformer *t, double factor) {
    for (int i = 0; i < t->list.tensors; i++)
        if (strstr(t->list.tensor[i].name.text, ".query."))
            scale_by(*t->list.tensor[i].mat, (real)factor);
}

double root_of_width(void) {
    const Config *c = &live.settings.config;
    return broken & NO_SCALE ? sqrt((double)c->d_model / c->heads) : 1;
}

// add_gradient, except that the decoder sees all the tokens it must predict.
Loss gradient_without_mask(Trainer *t, const Batch *batch) {
    Arena *arena = &t->arena;
    int B = batch->sentences, S = batch->source_length;
    int T = batch->target_length;
    double smoothing = t->recipe.smoothing;
    Pass pass = {.arena = arena, .config = &t->model->config, .training = true,
                 .noise = noise_of_step(t), .sentences = B};
    Masks masks = {padding_mask(arena, batch->source, B, S),
                   padding_mask(arena, batch->input, B, T)};
    Saved saved;
    encode(&pass, &saved, t->model, batch->source, S, masks.source);
    Mat logits = decode(&pass, &saved, t->model, batch->input, T, masks);
    Mat lse = arena_mat(arena, logits.rows, 1);
    Loss loss = loss_forward(lse, logits, batch->expected, smoothing, arena);
    loss_backward(logits, logits, lse, batch->expected, smoothing, loss.tokens);
    transformer_backward(&pass, &saved, t->model, t->gradient, logits);
    return loss;
}

// ---------------------------------------------------------- a new training

// Cuts a text into its lines, the arguments of a command.
Arguments arguments_of(char *lines) {
    enum { MOST = 100 };
    char *argument[MOST + 1] = {"transformer"};
    int count = 1;
    for (char *next; lines && count < MOST; lines = next) {
        next = cut_at(lines, '\n');
        argument[count++] = lines;
    }
    return read_arguments(count, argument);
}

// Compares two pairs by their tokens.
int compare_pairs(const void *left, const void *right) {
    int a = *(const int *)left, b = *(const int *)right;
    const Sentence *sides[] = {data.source, data.target};
    for (int k = 0; k < 2; k++) {
        Sentence x = sides[k][a], y = sides[k][b];
        int order = x.length != y.length ? x.length - y.length
                  : memcmp(x.id, y.id, sizeof *x.id * (size_t)x.length);
        if (order)
            return order;
    }
    return 0;
}

Pairs new_pairs(int most) {
    return (Pairs){allocate((size_t)most, sizeof(Sentence)),
                   allocate((size_t)most, sizeof(Sentence)), 0, 0};
}

// Without a file for validation, every twentieth pair is held out; of fewer than a
// hundred, every fifth. Equal pairs count once, as sorting puts them side by side:
// so none is both held out and trained on.
void hold_out(void) {
    int each = data.count < 100 ? 5 : 20, different = 0;
    int *sorted = allocate((size_t)data.count, sizeof *sorted);
    Pairs rest = new_pairs(data.count);
    held_out = new_pairs(data.count);
    for (int i = 0; i < data.count; i++)
        sorted[i] = i;
    qsort(sorted, (size_t)data.count, sizeof *sorted, compare_pairs);
    for (const int *i = sorted; i < sorted + data.count; i++) {
        different += i > sorted && compare_pairs(i - 1, i);
        Pairs *to = different % each == each - 1 ? &held_out : &rest;
        to->source[to->count] = data.source[*i];
        to->target[to->count++] = data.target[*i];
    }
    data = rest;
    free(sorted);
}

// Refuses what would take all of a browser's memory, or minutes for a step.
void check_size(const Text *text, const Settings *s) {
    enum { MOST = 4000000 };
    Config config = s->config;
    Vocab source = new_vocab(s, text->source, text->count);
    Vocab target = new_vocab(s, text->target, text->count);
    config.source_vocab = source.count;
    config.target_vocab = target.count;
    Transformer *outline = transformer_outline(&config);
    double bytes = saved_bytes(&config, s->recipe.batch, config.max_len,
                               config.max_len);
    if (outline->list.count > MOST)
        fail("%zu parameters are too many for a browser: at most %d; take "
             "fewer layers, a smaller d-model or less text",
             outline->list.count, MOST);
    if (bytes > 1.5e9)
        fail("a step may need %.0f MB, too many for a browser; take a smaller "
             "batch or max-len", bytes / 1e6);
    transformer_free(outline);
    vocab_free(&source);
    vocab_free(&target);
}

// A new training; the arguments are those of `transformer train`, one a line.
EXPORT void train_new(char *arguments, int what_is_broken) {
    char *copy = allocate(strlen(arguments) + 1, 1);
    Arguments a = arguments_of(strcpy(copy, arguments));
    broken = what_is_broken;
    live = (Checkpoint){.settings = a.settings, .texts = copy};
    Text text = read_pairs(a.operand[0], live.settings.tokenizer);
    check_size(&text, &live.settings);
    new_model(&live, a.operand[0], &text);
    scale_queries(live.trainer.model, root_of_width());
    data = number_pairs(a.operand[0], text, &live);
    if (a.settings.valid)
        held_out = load_pairs(a.settings.valid, &live);
    else
        hold_out();
    course.order = allocate((size_t)data.count, sizeof *course.order);
    printf("{\"pairs\":%d,\"held_out\":%d,\"steps\":%" PRId64 ","
           "\"parameters\":%zu,\"target_vocab\":%d,"
           "\"dropout\":%.9g}", data.count, held_out.count,
           total_steps(&live.trainer.recipe, data.count),
           live.trainer.model->list.count, live.target.count,
           live.settings.config.dropout);
}

// update(), without what is broken. Adam sees the queries unscaled. Without
// warm-up, the rate is at its peak until the warm-up would have ended; from
// then on it is what it would have been.
Step broken_update(Trainer *t, Loss loss) {
    Recipe given = t->recipe;
    if (broken & NO_WARM_UP && t->step < given.warmup) {
        t->recipe.warmup = 1;
        t->recipe.schedule = CONSTANT;
    }
    scale_queries(t->gradient, root_of_width());
    scale_queries(t->model, 1 / root_of_width());
    Step step = update(t, loss);
    scale_queries(t->model, root_of_width());
    t->recipe = given;
    return step;
}

// The next step of train(), of the same batch.
Step next_step(void) {
    Trainer *t = &live.trainer;
    Batch batch = next_batch(&course, &t->recipe, t->step, &t->arena);
    clear(t->gradient->list.values, t->gradient->list.count);
    Loss loss = broken & NO_CAUSAL_MASK
              ? gradient_without_mask(t, &batch)
              : add_gradient(t, &batch, tokens_expected(&batch),
                             noise_of_step(t));
    Step step = broken_update(t, loss);
    arena_release(&t->arena, 0);
    return step;
}

// At most `most` steps, at least one, for about this many seconds:
// [[step, loss, learning rate], ...]
// A loss that is not a number is null, and its step is not taken.
EXPORT void train_steps(int most, double seconds) {
    double end = now() + seconds;
    putchar('[');
    for (int i = 0; i < most && (i == 0 || now() < end); i++) {
        Step s = next_step();
        printf(i ? ",[%d," : "[%d,", (int)s.step);
        print_number(s.loss.loss / (double)s.loss.tokens);
        printf(",%.9g]", s.rate);
        if (live.trainer.step != s.step)
            break;
    }
    putchar(']');
}

// ---------------------------------------------------------- how good is it?

// {"source":"…","expected":"…","said":"…","right":true}
void print_sample(Sentence source, Sentence expected, Sentence own) {
    Match match = {0};
    char *text[] = {text_of(&live, &live.source, source),
                    text_of(&live, &live.target, expected),
                    text_of(&live, &live.target, own)};
    const char *key[] = {"source", "expected", "said"};
    add_translation(&match, own, expected, &live.target,
                    live.settings.tokenizer);
    for (int i = 0; i < 3; i++) {
        printf("%c\"%s\":", i ? ',' : '{', key[i]);
        print_text(text[i]);
        free(text[i]);
    }
    printf(",\"right\":%s}", match.exact ? "true" : "false");
}

// How good the model is on at most 200 pairs that were held out, and what it
// says for the first three:
// {"loss":…,"exact":…,"checksum":"…","samples":[…]}
EXPORT void evaluate(void) {
    enum { MOST = 200, SHOWN = 3 };
    Trainer *t = &live.trainer;
    Pairs p = held_out.count ? held_out : data;
    Loss loss = {0};
    Match match = {0};
    p.count = min_int(p.count, MOST);
    if (held_out.count)
        loss = evaluate_loss(t->model, &p, t->recipe.batch, 0, &t->arena);
    Sentence *own = translate_all(t->model, p.source, p.count, 1, &t->arena);
    for (int i = 0; i < p.count; i++)
        add_translation(&match, own[i], p.target[i], &live.target,
                        live.settings.tokenizer);
    printf("{\"loss\":");
    print_number(average(loss));
    printf(",\"exact\":%.9g,\"checksum\":\"%016" PRIx64 "\",\"samples\":[",
           (double)match.exact / p.count, checksum(t));
    for (int i = 0; i < min_int(p.count, SHOWN); i++) {
        printf(i ? "," : "");
        print_sample(p.source[i], p.target[i], own[i]);
    }
    printf("]}");
    sentences_free(own, p.count);
}
