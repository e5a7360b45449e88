/* A block of timed runs in C: two clock reads around a lane's calls, states fed back and inputs
 * changed outside them, and waits by the policies of the Python loop. The interpreter is not
 * needed, and not held, until the block ends. `__init__.py` mirrors the structures. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
#define SECOND 1000000000LL

enum { SPIN, SLEEP, HYBRID };

/* So long at most until a lane that waits for an arrival hears that the round has ended. */
#define PATIENCE (SECOND / 10)

/* A function of up to four words; `checked` is the width of its result, zero for success. */
struct call {
    void *function;
    intptr_t arguments[4];
    int32_t count;
    int32_t checked;
};

struct copy {
    void *to;
    const void *from;
    size_t bytes;
};

struct block {
    int64_t *scheduled, *started;
    _Atomic int64_t *finished; /* written last: who follows an open loop goes by it */
    const struct call *calls;
    const struct copy *states;
    const struct copy *sets;
    int64_t n_calls, n_states, n_sets, copies_of_set;
    int64_t set; /* which of the sets is fed next; goes on from block to block */
    int64_t gap_ns;
    int64_t hybrid_margin_ns;
    int32_t wait;
    int32_t failed; /* which call failed */
    const int64_t *arrivals; /* absolute times, ascending; null for a closed loop */
    int64_t n_arrivals;
    _Atomic int64_t *next_arrival; /* shared by all lanes */
    const _Atomic int64_t *until; /* of an open loop: when nothing is begun any more */
    intptr_t status; /* what that call returned */
    int64_t runs_of_query; /* of this lane */
    _Atomic int64_t *met; /* the query that each lane has come to, counted from 1 */
    int64_t n_lanes, lane;
    const int64_t *turns; /* whose calls each run makes, of those that lie one after another */
    int64_t calls_of_turn;
    const struct call *after; /* made after each run, outside the clock */
    int64_t n_after;
    int64_t n_queued; /* of a marked run: so many of its calls queue it, the others wait */
    const float *reading; /* where calls after a marked run leave their figures */
    float *readings; /* all of them, run by run */
    int64_t n_readings;
};

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

static void sleep_until(int64_t until_ns) {
    int64_t left = until_ns - now_ns();
    if (left <= 0) return;
    struct timespec t = {(time_t)(left / SECOND), (long)(left % SECOND)};
    while (nanosleep(&t, &t) && errno == EINTR) {}
}

static void wait_until(const struct block *b, int64_t until_ns) {
    if (b->wait == SLEEP) {
        sleep_until(until_ns);
        return;
    }
    if (b->wait == HYBRID) sleep_until(until_ns - b->hybrid_margin_ns);
    while (now_ns() < until_ns) {}
}

/* Whether the arrival's time came before the round ended. */
static int waited_for(const struct block *b, int64_t due) {
    for (;;) {
        int64_t now = now_ns(), until = atomic_load_explicit(b->until, memory_order_relaxed);
        if (due >= until || now >= until) return 0;
        if (due - now <= PATIENCE) break;
        wait_until(b, now + PATIENCE);
    }
    wait_until(b, due);
    return 1;
}

#define CALLED_AS(type)                                                                      \
    switch (c->count) {                                                                      \
    case 0: return ((type (*)(void))c->function)();                                          \
    case 1: return ((type (*)(intptr_t))c->function)(a[0]);                                  \
    case 2: return ((type (*)(intptr_t, intptr_t))c->function)(a[0], a[1]);                  \
    case 3: return ((type (*)(intptr_t, intptr_t, intptr_t))c->function)(a[0], a[1], a[2]);  \
    default:                                                                                 \
        return ((type (*)(intptr_t, intptr_t, intptr_t, intptr_t))c->function)(a[0], a[1],   \
                                                                               a[2], a[3]);  \
    }

static inline intptr_t called(const struct call *c) {
    const intptr_t *a = c->arguments;
    if (c->checked == sizeof(int32_t)) CALLED_AS(int32_t)
    CALLED_AS(intptr_t)
}

static void copy_all(const struct copy *copies, int64_t count) {
    for (int64_t k = 0; k < count; k++) memcpy(copies[k].to, copies[k].from, copies[k].bytes);
}

/* Makes some of the calls; zero where one failed, whose number counts from `first`. */
static inline int run_some(struct block *b, const struct call *calls, int64_t from, int64_t to,
                           int64_t first) {
    for (int64_t k = from; k < to; k++) {
        intptr_t status = called(&calls[k]);
        if (status) {
            b->failed = (int32_t)(first + k);
            b->status = status;
            return 0;
        }
    }
    return 1;
}

/* Makes the calls of a run; zero where one failed. */
static inline int run_all(struct block *b) { return run_some(b, b->calls, 0, b->n_calls, 0); }

/* What is done between two runs; zero where a call failed. */
static inline int prepare(struct block *b) {
    copy_all(b->states, b->n_states);
    if (b->n_sets) {
        copy_all(b->sets + b->set * b->copies_of_set, b->copies_of_set);
        b->set = (b->set + 1) % b->n_sets;
    }
    return run_some(b, b->after, 0, b->n_after, b->n_calls);
}

EXPORT int32_t graphlap_nothing(void) { return 0; }

/* Times up to `count` runs, and returns how many there were: fewer where a call failed, or where
 * there were no more arrivals. */
EXPORT int64_t graphlap_time_block(struct block *b, int64_t count) {
    int64_t due = now_ns() + b->gap_ns;
    b->failed = -1;
    for (int64_t i = 0; i < count; i++) {
        int paced = b->arrivals || b->gap_ns;
        if (b->arrivals) {
            int64_t mine = atomic_fetch_add(b->next_arrival, 1);
            if (mine >= b->n_arrivals) return i;
            due = b->arrivals[mine];
            if (!waited_for(b, due)) return i;
        } else if (paced) {
            wait_until(b, due);
        }
        int64_t begin = now_ns();
        if (!run_all(b)) return i;
        int64_t end = now_ns();
        b->scheduled[i] = paced ? due : begin;
        b->started[i] = begin;
        atomic_store_explicit(&b->finished[i], end, memory_order_release);
        due = end + b->gap_ns;
        if (!prepare(b)) return i + 1;
    }
    return count;
}

/* Times `count` runs with marks of the device's clock in their calls: when each began, when all of
 * it was queued, and when it was complete; returns how many there were: fewer where a call failed. */
EXPORT int64_t graphlap_time_marked(struct block *b, int64_t count) {
    b->failed = -1;
    for (int64_t i = 0; i < count; i++) {
        int64_t begin = now_ns();
        if (!run_some(b, b->calls, 0, b->n_queued, 0)) return i;
        int64_t queued = now_ns();
        if (!run_some(b, b->calls, b->n_queued, b->n_calls, 0)) return i;
        b->scheduled[i] = begin;
        b->started[i] = queued;
        b->finished[i] = now_ns();
        if (!prepare(b)) return i;
        memcpy(b->readings + i * b->n_readings, b->reading, b->n_readings * sizeof *b->reading);
    }
    return count;
}

/* Waits until every lane has come to this query; zero where one has given up. Lanes may be more
 * than cores, so a waiting one lets others run. */
static int meet(const struct block *b, int64_t query) {
    atomic_store(&b->met[b->lane], query + 1);
    for (int64_t other = 0; other < b->n_lanes; other++) {
        int64_t come;
        while ((come = atomic_load(&b->met[other])) <= query) sched_yield();
        if (come == INT64_MAX) return 0;
    }
    return 1;
}

/* Times this lane's part of up to `count` queries, its runs one after another with what is done
 * between two of them; returns how many there were: fewer where a call failed or a lane gave up. */
EXPORT int64_t graphlap_time_queries(struct block *b, int64_t count) {
    b->failed = -1;
    for (int64_t i = 0; i < count; i++) {
        if (!meet(b, i)) return i;
        int64_t begin = now_ns();
        for (int64_t run = 1; run_all(b); run++) {
            if (run == b->runs_of_query) break;
            if (!prepare(b)) return i;
        }
        int64_t end = now_ns();
        if (b->failed >= 0) return i;
        b->scheduled[i] = b->started[i] = begin;
        b->finished[i] = end;
        if (!prepare(b)) return i + 1;
    }
    return count;
}

/* Times as many of the requests as this lane takes, one after another, at most `count`; returns
 * how many: fewer where a call failed. */
EXPORT int64_t graphlap_time_requests(struct block *b, int64_t count) {
    b->failed = -1;
    int64_t i = 0;
    for (; i < count && atomic_fetch_add(b->next_arrival, 1) < b->n_arrivals; i++) {
        int64_t begin = now_ns();
        if (!run_all(b)) return i;
        int64_t end = now_ns();
        b->started[i] = begin;
        b->finished[i] = end;
        if (!prepare(b)) return i + 1;
    }
    return i;
}

/* Times a run for each of `count` turns, by the calls of the one whose turn it is; returns how many
 * there were: fewer where a call failed. */
EXPORT int64_t graphlap_time_turns(struct block *b, int64_t count) {
    struct block turn = *b;
    int64_t i = 0, due = now_ns() + b->gap_ns;
    turn.n_calls = b->calls_of_turn;
    turn.failed = b->failed = -1;
    for (; i < count; i++) {
        turn.calls = b->calls + b->turns[i] * b->calls_of_turn;
        if (b->gap_ns) wait_until(b, due);
        int64_t begin = now_ns();
        if (!run_all(&turn)) {
            b->failed = turn.failed + (int32_t)(turn.calls - b->calls);
            b->status = turn.status;
            break;
        }
        int64_t end = now_ns();
        b->scheduled[i] = b->gap_ns ? due : begin;
        b->started[i] = begin;
        b->finished[i] = end;
        due = end + b->gap_ns;
    }
    return i;
}

/* `x` changes in a way that the compiler can't foresee, so that each operation is made. */
#define STEP(x)                                                                              \
    x ^= a;                                                                                  \
    __asm__ volatile("" : "+r"(x));
#define EIGHT_STEPS                                                                          \
    STEP(x) STEP(x) STEP(x) STEP(x) STEP(x) STEP(x) STEP(x) STEP(x)
#define EIGHT_AT_ONCE                                                                        \
    STEP(x) STEP(x1) STEP(x2) STEP(x3) STEP(x4) STEP(x5) STEP(x6) STEP(x7)

/* How long `count` operations take, a multiple of 16; of two tries the shorter, since the core may
 * be taken away in one. An exclusive or of two registers takes one cycle, on every processor of the
 * last decades. */
#define SHORTEST_NS(SIXTEEN)                                                                 \
    int64_t shortest = INT64_MAX;                                                            \
    for (int attempt = 0; attempt < 2; attempt++) {                                          \
        int64_t begin = now_ns();                                                            \
        for (int64_t i = 0; i < count; i += 16) { SIXTEEN SIXTEEN }                          \
        int64_t taken = now_ns() - begin;                                                    \
        if (taken < shortest) shortest = taken;                                              \
    }                                                                                        \
    return shortest;

/* Of operations that wait for each other: a cycle each. */
EXPORT int64_t graphlap_dependent_ns(uint64_t a, int64_t count) {
    uint64_t x = ~a;
    SHORTEST_NS(EIGHT_STEPS)
}

/* Of eight chains of such operations, as many at a time as the core begins in a cycle: half as many
 * while its other hardware thread works. */
EXPORT int64_t graphlap_independent_ns(uint64_t a, int64_t count) {
    uint64_t x = ~a, x1 = x, x2 = x, x3 = x, x4 = x, x5 = x, x6 = x, x7 = x;
    SHORTEST_NS(EIGHT_AT_ONCE)
}
