// Chapter 10: which pairs make a batch, and packing.

#include "../lib/test.h"
#include "../lib/fails.h"

// ## Epochs

// n pairs of random lengths from 2 to 20.
Pairs random_pairs(int n) {
    Pairs p = {.count = n};
    p.source = allocate((size_t)n, sizeof *p.source);
    p.target = allocate((size_t)n, sizeof *p.target);
    for (int i = 0; i < n; i++) {
        Sentence *side[] = {&p.source[i], &p.target[i]};
        for (int k = 0; k < 2; k++) {
            side[k]->length = 2 + (int)(uniform(&test_state) * 19);
            side[k]->id = allocate((size_t)side[k]->length, sizeof(int));
            for (int j = 0; j < side[k]->length - 1; j++)
                side[k]->id[j] = FIRST_TOKEN + (i + j) % 50;
            side[k]->id[side[k]->length - 1] = END;
        }
    }
    return p;
}

bool is_permutation(const int *order, int n) {
    char *seen = allocate((size_t)n, 1);
    int distinct = 0;
    for (int i = 0; i < n; i++)
        if (order[i] >= 0 && order[i] < n && !seen[order[i]]++)
            distinct++;
    free(seen);
    return distinct == n;
}

// Positions of the target sides that are padding, in all batches.
int padding(const int *order, const Pairs *p, int batch_size) {
    int total = 0;
    for (int first = 0; first < p->count; first += batch_size) {
        int last = min_int(first + batch_size, p->count), most = 0;
        for (int i = first; i < last; i++)
            if (p->target[order[i]].length > most)
                most = p->target[order[i]].length;
        for (int i = first; i < last; i++)
            total += most - p->target[order[i]].length;
    }
    return total;
}

// Whether lengths rise within each batch, those of the targets first, the last
// batch too. They do if batches are cut from sorted pools, and do not if a
// small one comes between others.
bool rises(const int *order, const Pairs *p, int batch_size) {
    bool good = true;
    for (int i = 1; i < p->count; i++) {
        int target = p->target[order[i]].length
                   - p->target[order[i - 1]].length;
        int source = p->source[order[i]].length
                   - p->source[order[i - 1]].length;
        if (i % batch_size)
            good = good && (target > 0 || (target == 0 && source >= 0));
    }
    return good;
}

// All n! orders are equally likely: in 12,000 shuffles of three items each of
// the six orders comes 2000 times, give or take three standard deviations of
// 41. If items were swapped with any of the three, orders would come 1333 to
// 2667 times; if no item could stay in its place, only two of the six would.
void test_shuffle(void) {
    int times[27] = {0}, least = INT_MAX, most = 0, orders = 0;
    for (uint64_t k = 0; k < 12000; k++) {
        int item[3] = {0, 1, 2};
        shuffle(item, 3, 1, random_key(1, FOR_ORDER, k));
        times[item[0] * 9 + item[1] * 3 + item[2]]++;
    }
    for (int i = 0; i < 27; i++)
        if (times[i] > 0) {
            least = min_int(least, times[i]);
            most = max_int(most, times[i]);
            orders++;
        }
    CLAIM(orders == 6 && least > 1875 && most < 2125, "three items come in %d "
          "orders of 6, each as often as the others: %d to %d times in 12000",
          orders, least, most);
    int wide[] = {1, 2, 3, 4, 5, 6, 7, 8}, narrow[] = {1, 3, 5, 7};
    bool together = true;
    shuffle(wide, 4, 2, 9);
    shuffle(narrow, 4, 1, 9);
    for (int i = 0; i < 4; i++)
        together = together && wide[2 * i] == narrow[i]
                && wide[2 * i + 1] == narrow[i] + 1;
    CLAIM(together, "items of two numbers are shuffled as a whole");
}

void test_epochs(void) {
    enum { N = 1003, BATCH = 10 };
    Pairs p = random_pairs(N);
    int order[N], again[N], other[N], seed[N], plain[N];
    epoch_order(order, &p, BATCH, 7, 3);
    epoch_order(again, &p, BATCH, 7, 3);
    epoch_order(other, &p, BATCH, 7, 4);
    epoch_order(seed, &p, BATCH, 8, 3);
    CLAIM(is_permutation(order, N), "each pair comes once in an epoch");
    CLAIM(!memcmp(order, again, sizeof order),
          "the same seed and epoch give the same order");
    CLAIM(memcmp(order, other, sizeof order) && is_permutation(other, N),
          "another epoch gives another one");
    CLAIM(memcmp(order, seed, sizeof order)
          && memcmp(other, seed, sizeof order), "and so does another seed");
    for (int i = 0; i < N; i++)
        plain[i] = i;
    int sorted = padding(order, &p, BATCH);
    int unsorted = padding(plain, &p, BATCH);
    CLAIM(sorted < unsorted / 5, "a batch has similar lengths: %d padded words "
          "instead of %d", sorted, unsorted);
    CLAIM(batches_in_epoch(N, BATCH) == 101 && batches_in_epoch(1000, 10) == 100
          && batches_in_epoch(1, 10) == 1, "every pair is in a batch");
    CLAIM(rises(order, &p, BATCH) && rises(other, &p, BATCH),
          "the last batch is the small one");
    pairs_free(&p);
}

// Two pairs are alike, and longer than all others: sorted by length they would
// always meet.
void test_mixture(void) {
    enum { BATCH = 4, N = 8 * POOL * BATCH, EPOCHS = 20 };
    Pairs p = random_pairs(N);
    int order[N], together = 0, shorter = 0;
    for (int i = 0; i < 2; i++) {
        free(p.target[i].id);
        p.target[i] = (Sentence){allocate(30, sizeof(int)), 30};
    }
    for (int e = 0; e < EPOCHS; e++) {
        epoch_order(order, &p, BATCH, 1, e);
        int of_first = 0, of_second = 0;
        for (int i = 0; i < N; i++) {
            of_first = order[i] == 0 ? i / BATCH : of_first;
            of_second = order[i] == 1 ? i / BATCH : of_second;
        }
        together += of_first == of_second;
        shorter += p.target[order[0]].length < p.target[order[N - 1]].length;
    }
    CLAIM(together > 0 && together < EPOCHS / 2, "two pairs of one length meet in "
          "a batch now and then: in %d of %d epochs", together, EPOCHS);
    CLAIM(shorter > 0 && shorter < EPOCHS,
          "an epoch begins with short sentences or with long ones");
    pairs_free(&p);
}

void test_small_epochs(void) {
    Pairs p = random_pairs(30);
    int order[30], good = 0, sizes = 0;
    for (int n = 1; n <= 30; n++)
        for (int size = 1; size <= 32; size++, sizes++) {
            Pairs some = {p.source, p.target, n, 0};
            epoch_order(order, &some, size, 5, 0);
            good += is_permutation(order, n) && rises(order, &some, size);
        }
    CLAIM(good == sizes, "any number of pairs in batches of any size");
    pairs_free(&p);
}

// ## Batches

void test_batch(void) {
    int a[] = {7, 8, END}, b[] = {9, END}, c[] = {4, 5, 6, END}, d[] = {4, END};
    Sentence source[] = {{a, 3}, {b, 2}, {d, 2}};
    Sentence target[] = {{d, 2}, {c, 4}, {a, 3}};
    Pairs p = {source, target, 3, 0};
    Batch batch = make_batch(&room, &p, (const int[]){1, 0}, 2);
    CLAIM(batch.sentences == 2 && batch.source_length == 3
          && batch.target_length == 4, "a batch is as long as its longest");
    const int expected_source[] = {9, END, PAD, 7, 8, END};
    const int expected_input[] = {START, 4, 5, 6, START, 4, PAD, PAD};
    const int expected_output[] = {4, 5, 6, END, 4, END, PAD, PAD};
    CLAIM(!memcmp(batch.source, expected_source, sizeof expected_source),
          "sources end with END and padding, in the order asked for");
    CLAIM(!memcmp(batch.input, expected_input, sizeof expected_input),
          "the decoder's input begins with START and lacks END");
    CLAIM(!memcmp(batch.expected, expected_output, sizeof expected_output),
          "what is expected is the input one step later");
}

void test_random_batches(void) {
    Pairs p = random_pairs(50);
    int order[50], shifted = 0, padded = 0, positions = 0;
    epoch_order(order, &p, 8, 1, 1);
    for (int first = 0; first < 50; first += 8) {
        int count = min_int(8, 50 - first);
        Batch batch = make_batch(&room, &p, order + first, count);
        int T = batch.target_length;
        for (int i = 0; i < batch.sentences * T; i++, positions++) {
            int t = i % T, length = p.target[order[first + i / T]].length;
            int before = t ? batch.expected[i - 1] : START;
            shifted += batch.input[i] == (t < length ? before : PAD);
            padded += (batch.expected[i] == PAD) == (t >= length);
        }
    }
    CLAIM(shifted == positions && padded == positions,
          "the same holds for all batches of an epoch");
    pairs_free(&p);
}

// Two sentences, the longer of which just fits into a batch, and then does not.
void test_large_batch(void) {
    const int most = INT_MAX / 1024 / 2, index[2] = {0, 1};
    int end = END, length = 0;
    Sentence s[2] = {{&end, 1}, {allocate((size_t)most, sizeof(int)), most}};
    Arena arena = {0};
    int *ids = pack(&arena, s, index, 2, &length);
    CLAIM(length == most && ids[0] == END && ids[1] == PAD,
          "a batch may have %d places", 2 * most);
    length = 99;
    pack(&arena, s, index, 1, &length);
    CLAIM(length == 1, "its length is that of its longest sentence, whatever "
          "stood there before");
    arena_free(&arena);
    s[1].length++;
    CLAIM_FAILS("but no more",
                "a batch of 2 sentences of up to 1048576 tokens is too large",
                pack(&arena, s, index, 2, &length));
    free(s[1].id);
}

void test_large_epochs(void) {
    enum { N = 50 };
    int order[N], later[N];
    CLAIM(batches_in_epoch(INT_MAX, 2) == 1 << 30
          && batches_in_epoch(INT_MAX, INT_MAX) == 1
          && batches_in_epoch(1, INT_MAX) == 1,
          "as many pairs as an int can count, in batches of any size");
    Pairs p = random_pairs(N);
    epoch_order(order, &p, INT_MAX, 1, 0);
    CLAIM(is_permutation(order, N) && rises(order, &p, N),
          "a batch may be larger than any file");
    epoch_order(order, &p, 4, 1, 7);
    epoch_order(later, &p, 4, 1, 7 + ((int64_t)1 << 32));
    CLAIM(is_permutation(later, N) && memcmp(order, later, sizeof order),
          "after 2^32 epochs the orders do not repeat");
    pairs_free(&p);
}

int main(void) {
    test_shuffle();
    test_epochs();
    test_mixture();
    test_small_epochs();
    test_batch();
    test_random_batches();
    test_large_batch();
    test_large_epochs();
    arena_free(&room);
    return claims_end();
}
