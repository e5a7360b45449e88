/* The yardstick of our timed loop: ONNX Runtime's library driven from C.
 *
 *   c_loop LIBRARY MODEL THREADS ITERATIONS (axis NAME SIZE | in NAME DIMS | out NAME DIMS |
 *          state OUT_INDEX IN_INDEX) ...
 *
 * DIMS is 1x128x1; all tensors are float32. It binds preallocated buffers once, times
 * RunWithBinding, feeds state outputs back outside the clock, and prints the p50 and the p99
 * of the latencies in nanoseconds. Built as a shared library, `time_runs` is the same loop over
 * somebody else's session.
 *
 * ONNX Runtime's C headers are not in its wheel, so the few entries of its function table
 * that are needed are named here by index; the table is append-only by its own contract.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    GET_ERROR_MESSAGE = 2, CREATE_ENV = 3, CREATE_SESSION = 7, CREATE_SESSION_OPTIONS = 10,
    SET_OPTIMIZATION = 23, SET_INTRA_THREADS = 24, SET_INTER_THREADS = 25,
    CREATE_TENSOR_WITH_DATA = 49, CREATE_CPU_MEMORY_INFO = 69, ADD_FREE_DIMENSION_BY_NAME = 124,
    RUN_WITH_BINDING = 133, CREATE_IO_BINDING = 134, BIND_INPUT = 136, BIND_OUTPUT = 137,
    API_VERSION = 18, FLOAT = 1, MAX_TENSORS = 64, WARMUP_DIVISOR = 5
};

typedef void *(*status_fn)();
typedef struct { const void *(*get_api)(uint32_t); } api_base;
typedef struct { float *data; size_t bytes; } buffer;

static void **api;

static void ok(void *status, const char *what) {
    if (!status) return;
    const char *(*message)(void *) = (const char *(*)(void *))api[GET_ERROR_MESSAGE];
    fprintf(stderr, "%s: %s\n", what, message(status));
    exit(1);
}

#define CALL(slot, ...) ok(((status_fn)api[slot])(__VA_ARGS__), #slot)

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void *session, *binding;
static buffer inputs[MAX_TENSORS], outputs[MAX_TENSORS];
static void *to[MAX_TENSORS], *from[MAX_TENSORS];
static size_t bytes[MAX_TENSORS];
static int n_states;

/* Times runs, and copies states of so many bytes after each. */
void time_runs(void **table, void *session, void *binding, void **to, void **from, size_t *bytes,
               int n_states, long iterations, int64_t *latency) {
    status_fn run = (status_fn)table[RUN_WITH_BINDING];
    for (long i = 0; i < iterations; i++) {
        int64_t begin = now_ns();
        void *status = run(session, NULL, binding);
        int64_t end = now_ns();
        if (status) exit(1);
        latency[i] = end - begin;
        for (int k = 0; k < n_states; k++) memcpy(to[k], from[k], bytes[k]);
    }
}

static int prepare(int argc, char **argv) {
    if (argc < 5) { fprintf(stderr, "usage: see the head of c_loop.c\n"); return 2; }
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    const api_base *(*base)(void) = (const api_base *(*)(void))dlsym(library, "OrtGetApiBase");
    api = (void **)base()->get_api(API_VERSION);
    long threads = atol(argv[3]);
    int n_inputs = 0, n_outputs = 0, pairs[MAX_TENSORS][2];

    void *env, *options, *memory;
    CALL(CREATE_ENV, 3, "c_loop", &env);
    CALL(CREATE_SESSION_OPTIONS, &options);
    CALL(SET_INTRA_THREADS, options, (int)threads);
    CALL(SET_INTER_THREADS, options, 1);
    CALL(SET_OPTIMIZATION, options, 99);
    for (int i = 5; i < argc; i += 3)
        if (!strcmp(argv[i], "axis"))
            CALL(ADD_FREE_DIMENSION_BY_NAME, options, argv[i + 1], (int64_t)atol(argv[i + 2]));
    CALL(CREATE_SESSION, env, argv[2], options, &session);
    CALL(CREATE_IO_BINDING, session, &binding);
    CALL(CREATE_CPU_MEMORY_INFO, 1, 0, &memory);

    for (int i = 5; i + 2 < argc; i += 3) {
        if (!strcmp(argv[i], "axis")) continue;
        if (!strcmp(argv[i], "state")) {
            pairs[n_states][0] = atoi(argv[i + 1]);
            pairs[n_states++][1] = atoi(argv[i + 2]);
            continue;
        }
        int64_t dims[8], rank = 0, elements = 1;
        for (char *p = argv[i + 2]; *p; ) {
            dims[rank] = strtoll(p, &p, 10);
            elements *= dims[rank++];
            if (*p == 'x') p++;
        }
        buffer b = {aligned_alloc(64, (elements * 4 + 63) / 64 * 64), elements * 4};
        for (int64_t k = 0; k < elements; k++) b.data[k] = (float)(k % 17) / 17 - 0.5f;
        void *value;
        CALL(CREATE_TENSOR_WITH_DATA, memory, b.data, b.bytes, dims, (size_t)rank, FLOAT, &value);
        if (!strcmp(argv[i], "in")) {
            inputs[n_inputs++] = b;
            CALL(BIND_INPUT, binding, argv[i + 1], value);
        } else {
            outputs[n_outputs++] = b;
            CALL(BIND_OUTPUT, binding, argv[i + 1], value);
        }
    }

    for (int k = 0; k < n_states; k++) {
        from[k] = outputs[pairs[k][0]].data;
        to[k] = inputs[pairs[k][1]].data;
        bytes[k] = inputs[pairs[k][1]].bytes;
    }
    return 0;
}

int main(int argc, char **argv) {
    int wrong = prepare(argc, argv);
    if (wrong) return wrong;
    long iterations = atol(argv[4]);
    int64_t *latency = malloc(iterations * sizeof *latency);
    long warmup = iterations / WARMUP_DIVISOR;
    time_runs(api, session, binding, to, from, bytes, n_states, warmup, latency);
    time_runs(api, session, binding, to, from, bytes, n_states, iterations, latency);
    qsort(latency, iterations, sizeof *latency, ascending);
    printf("%lld %lld\n", (long long)latency[(iterations - 1) / 2],
           (long long)latency[(iterations * 99 + 99) / 100 - 1]);
    return 0;
}
