/* The yardstick of our timed loop: RunWithBinding of ONNX Runtime, timed from C.
 *
 * The session, its binding and the function are somebody else's; they come as addresses. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void *(*run_fn)(void *session, void *options, void *binding);

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Times runs, and copies states of so many bytes after each. */
void time_runs(run_fn run, void *session, void *binding, void **to, void **from, size_t *bytes,
               int n_states, long iterations, int64_t *latency) {
    for (long i = 0; i < iterations; i++) {
        int64_t begin = now_ns();
        void *status = run(session, NULL, binding);
        int64_t end = now_ns();
        if (status) exit(1);
        latency[i] = end - begin;
        for (int k = 0; k < n_states; k++) memcpy(to[k], from[k], bytes[k]);
    }
}
