/* A CUDA driver over host memory, for adapters to be tested without a GPU.
 *
 * Work given to a stream waits in a queue until somebody synchronises, so that a run that does
 * not wait leaves its outputs as they were. What is made is counted until it is given back.
 * A thread must have made a context current, one that is still held, for all but the questions
 * about devices.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OK = 0, INVALID = 1, NO_DEVICE = 100, NO_CONTEXT = 201 };
enum { COPY, CALL, MARK };

typedef struct Op {
    int kind;
    void *target;
    const void *source;
    size_t size;
    void (*function)(void *);
    struct Op *next;
} Op;
typedef struct { Op *first, *last; } Queue;
typedef struct { Queue queue, recorded; int capturing; } Stream;
typedef struct { double ms; } Event;

enum { STREAMS = 256 };
static Stream *streams[STREAMS];

static int version = 13000, devices = 2, init_code = OK, alloc_code = OK, live = 0;

enum { DEVICES = 8 };
static int held[DEVICES]; /* how often each device's context is retained */
static _Thread_local int *current;

#define NEEDS_CONTEXT if (!current || !*current) return NO_CONTEXT

void stand_in_set(int v, int d, int init, int alloc) {
    version = v; devices = d; init_code = init; alloc_code = alloc;
}
int stand_in_live(void) { return live; }

/* What was asked for in its order: i and o copies in and out, x work, g a graph, w a wait. */
enum { TOLD = 1 << 12 };
static char told[TOLD];
static int told_so_far;
static void tell(char what) { if (told_so_far < TOLD - 1) told[told_so_far++] = what; }
const char *stand_in_told(void) { told[told_so_far] = 0; told_so_far = 0; return told; }

static void *make(size_t size) { live++; return calloc(1, size); }
static int drop(void *thing) { if (!thing) return INVALID; live--; free(thing); return OK; }

static void append(Queue *queue, Op op) {
    Op *copy = malloc(sizeof op);
    *copy = op;
    copy->next = NULL;
    if (queue->last) queue->last->next = copy; else queue->first = copy;
    queue->last = copy;
}
static int put(Stream *stream, Op op) {
    NEEDS_CONTEXT;
    if (!stream) return INVALID;
    append(stream->capturing ? &stream->recorded : &stream->queue, op);
    return OK;
}
static void run(Queue *queue) {
    while (queue->first) {
        Op *op = queue->first;
        queue->first = op->next;
        if (!queue->first) queue->last = NULL;
        if (op->kind == COPY) memcpy(op->target, op->source, op->size);
        if (op->kind == CALL) op->function(op->target);
        if (op->kind == MARK) {
            struct timespec now;
            clock_gettime(CLOCK_MONOTONIC, &now);
            ((Event *)op->target)->ms = now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
        }
        free(op);
    }
}
static void empty(Queue *queue) {
    while (queue->first) { Op *op = queue->first; queue->first = op->next; free(op); }
    queue->last = NULL;
}

int cuGetErrorString(int code, const char **text) {
    *text = code == NO_DEVICE ? "no CUDA-capable device is detected"
          : code == 2 ? "out of memory" : code == 803 ? "system has unsupported driver" : "failure";
    return OK;
}
int cuInit(unsigned flags) { return flags ? INVALID : init_code; }
int cuDriverGetVersion(int *number) { *number = version; return OK; }
int cuDeviceGetCount(int *count) { *count = devices; return OK; }
int cuDeviceGet(int *device, int index) { *device = index; return index < devices ? OK : INVALID; }
int cuDeviceGetName(char *text, int size, int device) {
    strncpy(text, device ? "Other GPU" : "Stand-in GPU", size);
    return OK;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    *value = attribute == 75 ? 9 : 0;
    return attribute == 75 || attribute == 76 ? OK : INVALID;
}
int cuDevicePrimaryCtxRetain(int **context, int device) {
    live++;
    held[device]++;
    *context = &held[device];
    return OK;
}
int cuDevicePrimaryCtxRelease_v2(int device) { live--; held[device]--; return OK; }
int cuCtxSetCurrent(int *context) { current = context; return OK; }

int cuMemAlloc_v2(uint64_t *address, size_t size) {
    NEEDS_CONTEXT;
    if (alloc_code) return alloc_code;
    *address = (uint64_t)(uintptr_t)make(size);
    return OK;
}
int cuMemFree_v2(uint64_t address) { NEEDS_CONTEXT; return drop((void *)(uintptr_t)address); }
int cuMemAllocHost_v2(void **address, size_t size) {
    NEEDS_CONTEXT;
    *address = make(size);
    return OK;
}
int cuMemFreeHost(void *address) { NEEDS_CONTEXT; return drop(address); }
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, Stream *stream) {
    tell('i');
    return put(stream, (Op){COPY, (void *)(uintptr_t)to, from, size, NULL, NULL});
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, Stream *stream) {
    tell('o');
    return put(stream, (Op){COPY, to, (const void *)(uintptr_t)from, size, NULL, NULL});
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, Stream *stream) {
    return put(stream, (Op){COPY, (void *)(uintptr_t)to, (const void *)(uintptr_t)from, size,
                            NULL, NULL});
}
int cuLaunchHostFunc(Stream *stream, void (*function)(void *), void *data) {
    tell('x');
    return put(stream, (Op){CALL, data, NULL, 0, function, NULL});
}

int cuStreamCreate(Stream **stream, unsigned flags) {
    (void)flags;
    NEEDS_CONTEXT;
    for (int i = 0; i < STREAMS; i++)
        if (!streams[i]) { streams[i] = *stream = make(sizeof(Stream)); return OK; }
    return INVALID;
}
int cuStreamDestroy_v2(Stream *stream) {
    NEEDS_CONTEXT;
    for (int i = 0; i < STREAMS; i++) if (streams[i] == stream) streams[i] = NULL;
    run(&stream->queue);
    return drop(stream);
}
int cuCtxSynchronize(void) {
    NEEDS_CONTEXT;
    for (int i = 0; i < STREAMS; i++) if (streams[i]) run(&streams[i]->queue);
    return OK;
}
int cuStreamSynchronize(Stream *stream) {
    NEEDS_CONTEXT;
    tell('w');
    if (!stream || stream->capturing) return INVALID;
    run(&stream->queue);
    return OK;
}
int cuStreamBeginCapture_v2(Stream *stream, int mode) {
    (void)mode;
    NEEDS_CONTEXT;
    if (stream->capturing) return INVALID;
    stream->capturing = 1;
    return OK;
}
int cuStreamEndCapture(Stream *stream, Queue **graph) {
    NEEDS_CONTEXT;
    *graph = make(sizeof(Queue));
    **graph = stream->recorded;
    stream->recorded = (Queue){NULL, NULL};
    stream->capturing = 0;
    return OK;
}
int cuGraphInstantiateWithFlags(Queue **executable, Queue *graph, uint64_t flags) {
    NEEDS_CONTEXT;
    if (flags) return INVALID;
    *executable = make(sizeof(Queue));
    for (Op *op = graph->first; op; op = op->next) append(*executable, *op);
    return OK;
}
int cuGraphLaunch(Queue *executable, Stream *stream) {
    NEEDS_CONTEXT;
    tell('g');
    for (Op *op = executable->first; op; op = op->next) put(stream, *op);
    return OK;
}
int cuGraphExecDestroy(Queue *executable) { NEEDS_CONTEXT; empty(executable); return drop(executable); }
int cuGraphDestroy(Queue *graph) { NEEDS_CONTEXT; empty(graph); return drop(graph); }

int cuEventCreate(Event **event, unsigned flags) {
    (void)flags;
    NEEDS_CONTEXT;
    *event = make(sizeof(Event));
    return OK;
}
int cuEventRecord(Event *event, Stream *stream) {
    return put(stream, (Op){MARK, event, NULL, 0, NULL, NULL});
}
int cuEventElapsedTime(float *ms, Event *start, Event *end) {
    NEEDS_CONTEXT;
    *ms = (float)(end->ms - start->ms);
    return OK;
}
int cuEventDestroy_v2(Event *event) { NEEDS_CONTEXT; return drop(event); }
