// The page's training: the program's own data, options and steps; and what can
// be broken in them, built of the same parts. Included by live.c.

// What the page can break, beside what an option does.
enum { NO_CAUSAL_MASK = 1, NO_SCALE = 2, DROPOUT_IN_USE = 4 };

int broken;              // the sum of what is
Pairs data, held_out;
int *order;              // of the pairs in this epoch
int64_t epoch = -1;

// Without the scale, queries are √K times as large, since the program will
// divide by √K. So between two steps the model is one that all of it can use.
void scale_queries(Transformer *t, double factor) {
    for (int i = 0; i < t->tensors; i++)
        if (strstr(t->tensor[i].name.text, ".query."))
            scale_by(*t->tensor[i].mat, (real)factor);
}

double root_of_width(void) {
    const Config *c = &live.settings.config;
    return broken & NO_SCALE ? sqrt((double)c->d_model / c->heads) : 1;
}

// transformer_forward, except that the causal mask may be missing.
Mat broken_forward(Pass *pass, Saved *s, const Batch *batch) {
    const Transformer *t = live.trainer.model;
    int B = batch->sentences, S = batch->source_length;
    int T = batch->target_length;
    Masks masks = {
        .source = padding_mask(pass->arena, batch->source, B, S),
        .target = broken & NO_CAUSAL_MASK
                ? padding_mask(pass->arena, batch->input, B, T)
                : causal_padding_mask(pass->arena, batch->input, B, T),
    };
    pass->sentences = B;
    encode(pass, s, t, batch->source, S, masks.source);
    return decode(pass, s, t, batch->input, T, masks);
}

// train_step, with this forward pass, and with queries that are scaled outside
// of what Adam sees.
Step broken_step(Trainer *t, const Batch *batch) {
    Transformer *model = t->model, *gradient = t->gradient;
    const Recipe *r = &t->recipe;
    Step step = {.step = t->step + 1};
    Pass pass = {.arena = &t->arena, .config = &model->config,
                 .dropout = (real)model->config.dropout,
                 .noise = random_key((uint64_t)r->seed, FOR_DROPOUT,
                                     (uint64_t)step.step)};
    Saved saved;
    Mat logits = broken_forward(&pass, &saved, batch);
    Mat lse = arena_mat(&t->arena, logits.rows, 1);
    step.loss = loss_forward(lse, logits, batch->expected, r->smoothing,
                             &t->arena);
    clear(gradient->values, gradient->count);
    loss_backward(logits, logits, lse, batch->expected, r->smoothing,
                  step.loss.tokens);
    transformer_backward(&pass, &saved, model, gradient, logits);
    scale_queries(gradient, root_of_width());
    step.gradient_norm = l2_norm(gradient->values, gradient->count);
    step.rate = learning_rate(r, step.step);
    if (!isfinite(step.gradient_norm) || !isfinite(step.loss.loss))
        return step;
    Adam all = {model->values, t->m->values, t->v->values, gradient->values,
                model->count};
    scale_queries(model, 1 / root_of_width());
    adam_step(all, clip_factor(step.gradient_norm, r->clip), step.rate,
              step.step);
    scale_queries(model, root_of_width());
    t->step = step.step;
    return step;
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

// Without a file of its own, every twentieth pair is held out; of fewer than a
// hundred, every fifth.
void hold_out(void) {
    Pairs all = data;
    int each = all.count < 100 ? 5 : 20;
    held_out = (Pairs){allocate((size_t)all.count, sizeof(Sentence)),
                       allocate((size_t)all.count, sizeof(Sentence)), 0, 0};
    data.count = 0;
    for (int i = 0; i < all.count; i++) {
        Pairs *to = i % each == each - 1 ? &held_out : &data;
        to->source[to->count] = all.source[i];
        to->target[to->count++] = all.target[i];
    }
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
    if (outline->count > MOST)
        fail("%zu parameters are too many for a browser: at most %d; take "
             "fewer layers, a smaller d-model or less text", outline->count,
             MOST);
    if (bytes > 1.5e9)
        fail("a step may need %.0f MB, too many for a browser; take a smaller "
             "batch or max-len", bytes / 1e6);
    transformer_free(outline);
    vocab_free(&source);
    vocab_free(&target);
}

// A new training; the arguments are those of `transformer train`, one a line.
EXPORT void train_new(char *arguments, int what_is_broken) {
    Arguments a = arguments_of(arguments);
    broken = what_is_broken;
    live = (Checkpoint){.settings = a.settings};
    Text text = read_pairs(a.operand[0], live.settings.tokenizer);
    check_size(&text, &live.settings);
    new_model(&live, a.operand[0], &text);
    scale_queries(live.trainer.model, root_of_width());
    data = number_pairs(a.operand[0], text, &live);
    if (a.settings.valid)
        held_out = load_pairs(a.settings.valid, &live);
    else
        hold_out();
    order = allocate((size_t)data.count, sizeof *order);
    printf("{\"pairs\":%d,\"held_out\":%d,\"steps\":%" PRId64 ","
           "\"parameters\":%zu}", data.count, held_out.count,
           total_steps(&live.trainer.recipe, data.count),
           live.trainer.model->count);
}

// The next step of train(): the same batches in the same order.
Step next_step(void) {
    Trainer *t = &live.trainer;
    int size = t->recipe.batch, per_epoch = batches_in_epoch(data.count, size);
    if (t->step / per_epoch != epoch) {
        epoch = t->step / per_epoch;
        epoch_order(order, &data, size, (uint64_t)t->recipe.seed, epoch);
    }
    int first = (int)(t->step % per_epoch) * size;
    Batch batch = make_batch(&t->arena, &data, order + first,
                             min_int(size, data.count - first));
    Step step = broken & (NO_CAUSAL_MASK | NO_SCALE) ? broken_step(t, &batch)
                                                     : train_step(t, &batch);
    arena_release(&t->arena, 0);
    return step;
}

// At most so many steps, at least one, for about so many seconds:
// [[step, loss, accuracy, learning rate, gradient norm, tokens], ...]
// A loss that is not a number is null, and its step not made.
EXPORT void train_steps(int most, double seconds) {
    double end = now() + seconds;
    putchar('[');
    for (int i = 0; i < most && (i == 0 || now() < end); i++) {
        Step s = next_step();
        double row[] = {(double)s.step, s.loss.loss / (double)s.loss.tokens,
                        accuracy(s.loss), s.rate, s.gradient_norm,
                        (double)s.loss.tokens};
        for (int k = 0; k < 6; k++) {
            printf(k ? "," : i ? ",[" : "[");
            print_number(row[k]);
        }
        putchar(']');
        if (live.trainer.step != s.step)
            break;
    }
    putchar(']');
}

// ---------------------------------------------------------- how good is it?

// A pass of a model in use: without dropout, unless that was left on.
Pass pass_in_use(void) {
    Trainer *t = &live.trainer;
    return (Pass){.arena = &t->arena, .config = &t->model->config,
                  .dropout = broken & DROPOUT_IN_USE
                           ? (real)t->model->config.dropout : 0,
                  .noise = (uint64_t)t->step};
}

// Greedy decoding as one writes it first: for each word, all that has been
// written goes through the decoder again.
Sentence answer_slowly(Pass *pass, Sentence source) {
    const Transformer *model = live.trainer.model;
    int longest = longest_output(model, source.length);
    Sentence own = {allocate((size_t)longest, sizeof(int)), 0};
    bool done = false;
    while (!done && own.length < longest) {
        size_t mark = pass->arena->used;
        int n = own.length++;
        Pairs one = {&source, &own, 1, 0};
        own.id[n] = END;
        Batch batch = make_batch(pass->arena, &one, (const int[]){0}, 1);
        Saved saved;
        Mat logits = transformer_forward(pass, &saved, model, &batch);
        own.id[n] = arg_max(row(logits, n), END, logits.cols);
        done = own.id[n] == END;
        arena_release(pass->arena, mark);
    }
    return own;
}

// What the model says to n sentences.
Sentence *answers(const Sentence *source, int n) {
    if (!(broken & DROPOUT_IN_USE))
        return translate_all(live.trainer.model, source, n, greedy, NULL,
                             &live.trainer.arena);
    Pass pass = pass_in_use();
    Sentence *own = allocate((size_t)n, sizeof *own);
    for (int i = 0; i < n; i++)
        own[i] = answer_slowly(&pass, source[i]);
    return own;
}

// The loss on the first n pairs that were held out.
Loss held_out_loss(int n) {
    Trainer *t = &live.trainer;
    Pairs first = held_out;
    first.count = n;
    if (!(broken & DROPOUT_IN_USE))
        return evaluate_loss(t->model, &first, t->recipe.batch, 0, &t->arena);
    Pass pass = pass_in_use();
    Saved saved;
    int *index = arena_take(&t->arena, (size_t)n, sizeof *index);
    for (int i = 0; i < n; i++)
        index[i] = i;
    Batch batch = make_batch(&t->arena, &first, index, n);
    Mat logits = transformer_forward(&pass, &saved, t->model, &batch);
    Mat lse = arena_mat(&t->arena, logits.rows, 1);
    Loss loss = loss_forward(lse, logits, batch.expected, 0, &t->arena);
    arena_release(&t->arena, 0);
    return loss;
}

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
// says to the first three:
// {"loss":…,"accuracy":…,"exact":…,"sentences":200,"samples":[…]}
EXPORT void evaluate(void) {
    enum { MOST = 200, SHOWN = 3 };
    Pairs p = held_out.count ? held_out : data;
    int n = min_int(p.count, MOST);
    Loss loss = held_out.count ? held_out_loss(n) : (Loss){0};
    Sentence *own = answers(p.source, n);
    Match match = {0};
    for (int i = 0; i < n; i++)
        add_translation(&match, own[i], p.target[i], &live.target,
                        live.settings.tokenizer);
    printf("{\"loss\":");
    print_number(average(loss));
    printf(",\"accuracy\":");
    print_number(accuracy(loss));
    printf(",\"exact\":%.9g,\"sentences\":%d,\"samples\":[",
           (double)match.exact / n, n);
    for (int i = 0; i < min_int(n, SHOWN); i++) {
        printf(i ? "," : "");
        print_sample(p.source[i], p.target[i], own[i]);
    }
    printf("]}");
    sentences_free(own, n);
}
