/* A CUDA driver over host memory, for adapters to be tested without a GPU.
 *
 * Work given to a stream waits in a queue until somebody synchronises, so that a run that does
 * not wait leaves its outputs as they were. What is made is counted until it is given back.
 * A thread must have made a context current, one that is still held, for all but the questions
 * about devices.
 *
 * A capture ends in error if a call that may wait or allocate is made meanwhile: by any thread in
 * the global mode, by the capturing one in the thread-local mode. Work may fail when it is done and
 * not when it is queued: from then on every call fails. Devices have so much memory and no more.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    OK = 0, INVALID = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, NO_CONTEXT = 201,
    CONTEXT_IN_USE = 708, UNSUPPORTED = 900, INVALIDATED = 901, WRONG_THREAD = 908
};
enum { GLOBAL, THREAD_LOCAL, RELAXED };
enum { COPY, CALL, MARK, FILL };

typedef struct Op {
    int kind;
    void *target;
    const void *source;
    size_t size;
    void (*function)(void *);
    struct Op *next;
} Op;
typedef struct { Op *first, *last; } Queue;
typedef struct {
    Queue queue, recorded;
    int capturing, mode, invalidated;
    pthread_t by;
} Stream;
typedef struct { size_t size; char rest[56]; } Block; /* before each piece of device memory */
typedef struct { double ms; } Event;

enum { STREAMS = 256 };
static Stream *streams[STREAMS];

enum { DEVICES = 8 };
static int held[DEVICES]; /* how often each device's context is retained */
static unsigned flags_of[DEVICES]; /* of each device's context */
static int version = 13000, devices = 2, init_code = OK, alloc_code = OK, live = 0;
static int host_alloc_code = OK, next_fault = OK, fault = OK;
static size_t memory = (size_t)1 << 30, used = 0;
static int l2 = 50 << 20; /* bytes of the cache */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local int *current;

#define NEEDS_CONTEXT do { \
        if (fault) return fault; \
        if (!current || !*current) return NO_CONTEXT; \
    } while (0)

/* A call that may wait for the device or allocate: a capture that it disturbs is over. */
static int disturbs(void) {
    int found = OK;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < STREAMS; i++) {
        Stream *stream = streams[i];
        if (!stream || !stream->capturing || stream->mode == RELAXED) continue;
        if (stream->mode == THREAD_LOCAL && !pthread_equal(stream->by, pthread_self())) continue;
        stream->invalidated = 1;
        found = UNSUPPORTED;
    }
    pthread_mutex_unlock(&lock);
    return found;
}
#define UNSAFE do { NEEDS_CONTEXT; int found_ = disturbs(); if (found_) return found_; } while (0)

void stand_in_set(int v, int d, int init, int alloc) {
    version = v; devices = d; init_code = init; alloc_code = alloc;
    host_alloc_code = next_fault = fault = OK;
    memory = (size_t)1 << 30;
}
/* As a process that has just begun: what a fault kept from being given back is forgotten. */
void stand_in_begin(void) {
    live = 0;
    used = 0;
    memset(held, 0, sizeof held);
    memset(flags_of, 0, sizeof flags_of);
    memset(streams, 0, sizeof streams);
}
/* Pinned memory is refused with this code. */
void stand_in_refuse_host(int code) { host_alloc_code = code; }
/* The next work that is done fails so. */
void stand_in_fail(int code) { next_fault = code; }
void stand_in_cache(int bytes) { l2 = bytes; }
void stand_in_memory(size_t bytes) { memory = bytes; }
size_t stand_in_used(void) { return used; }
int stand_in_live(void) { return live; }

/* What was asked for in its order: i and o copies in and out, x work, g a graph, w a wait, c a
 * filling of memory, which a cache is cleared by. */
enum { TOLD = 1 << 12 };
static char told[TOLD];
static int told_so_far;
static void tell(char what) { if (told_so_far < TOLD - 1) told[told_so_far++] = what; }
const char *stand_in_told(void) { told[told_so_far] = 0; told_so_far = 0; return told; }

static void *make(size_t size) {
    __atomic_add_fetch(&live, 1, __ATOMIC_SEQ_CST);
    return calloc(1, size);
}
static int drop(void *thing) {
    if (!thing) return INVALID;
    __atomic_sub_fetch(&live, 1, __ATOMIC_SEQ_CST);
    free(thing);
    return OK;
}

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
    if (stream->invalidated) return INVALIDATED;
    append(stream->capturing ? &stream->recorded : &stream->queue, op);
    return OK;
}
static void run(Queue *queue) {
    while (queue->first) {
        Op *op = queue->first;
        queue->first = op->next;
        if (!queue->first) queue->last = NULL;
        if (next_fault) { fault = next_fault; next_fault = OK; }
        if (fault) { free(op); continue; }
        if (op->kind == COPY) memcpy(op->target, op->source, op->size);
        if (op->kind == FILL) memset(op->target, (int)(uintptr_t)op->source, op->size);
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
          : code == OUT_OF_MEMORY ? "out of memory" : code == 803 ? "system has unsupported driver" : "failure";
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
    switch (attribute) {  // as an H100's driver has them
    case 13: *value = 1980000; return OK;  // kHz
    case 16: *value = 132; return OK;  // multiprocessors
    case 36: *value = 2619000; return OK;  // kHz of the memory
    case 37: *value = 5120; return OK;  // bits of its bus
    case 38: *value = l2; return OK;
    case 75: *value = 9; return OK;
    case 76: *value = 0; return OK;
    }
    return INVALID;
}
int cuDeviceGetUuid_v2(char *uuid, int device) {
    memset(uuid, 0x10 + device, 16);
    return OK;
}
int cuDeviceGetPCIBusId(char *text, int size, int device) {
    strncpy(text, device ? "0000:C1:00.0" : "0000:41:00.0", size);
    return OK;
}
int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
    if (held[device]) return CONTEXT_IN_USE;
    flags_of[device] = flags;
    return OK;
}
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    *flags = flags_of[device];
    *active = held[device] > 0;
    return OK;
}
int cuDevicePrimaryCtxRetain(int **context, int device) {
    live++;
    held[device]++;
    *context = &held[device];
    return OK;
}
int cuDevicePrimaryCtxRelease_v2(int device) { live--; held[device]--; return OK; }
int cuCtxSetCurrent(int *context) { current = context; return OK; }

int cuMemGetInfo_v2(size_t *left, size_t *total) {
    NEEDS_CONTEXT;
    *total = memory;
    *left = memory > used ? memory - used : 0;
    return OK;
}
int cuMemAlloc_v2(uint64_t *address, size_t size) {
    UNSAFE;
    if (alloc_code) return alloc_code;
    if (used + size > memory) return OUT_OF_MEMORY;
    /* What is only held, as to make a device smaller, takes no memory of the host's. */
    Block *block = make(sizeof(Block) + size);
    block->size = size;
    __atomic_add_fetch(&used, size, __ATOMIC_SEQ_CST);
    *address = (uint64_t)(uintptr_t)(block + 1);
    return OK;
}
int cuMemFree_v2(uint64_t address) {
    NEEDS_CONTEXT;
    if (!address) return INVALID;
    Block *block = (Block *)(uintptr_t)address - 1;
    __atomic_sub_fetch(&used, block->size, __ATOMIC_SEQ_CST);
    return drop(block);
}
int cuMemAllocHost_v2(void **address, size_t size) {
    UNSAFE;
    if (host_alloc_code) return host_alloc_code;
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
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t size, Stream *stream) {
    tell('c');
    return put(stream, (Op){FILL, (void *)(uintptr_t)to, (const void *)(uintptr_t)value, size,
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
    int found = disturbs();
    if (found) return found;
    for (int i = 0; i < STREAMS; i++) if (streams[i]) run(&streams[i]->queue);
    return fault;
}
int cuStreamSynchronize(Stream *stream) {
    NEEDS_CONTEXT;
    tell('w');
    if (!stream) return INVALID;
    if (stream->capturing) { stream->invalidated = 1; return UNSUPPORTED; }
    run(&stream->queue);
    return fault;
}
int cuStreamBeginCapture_v2(Stream *stream, int mode) {
    NEEDS_CONTEXT;
    if (stream->capturing || mode > RELAXED) return INVALID;
    stream->mode = mode;
    stream->by = pthread_self();
    stream->invalidated = 0;
    stream->capturing = 1;
    return OK;
}
int cuStreamEndCapture(Stream *stream, Queue **graph) {
    NEEDS_CONTEXT;
    *graph = NULL;
    if (!stream->capturing) return INVALID;
    if (stream->mode != RELAXED && !pthread_equal(stream->by, pthread_self())) return WRONG_THREAD;
    stream->capturing = 0;
    if (stream->invalidated) {
        stream->invalidated = 0;
        empty(&stream->recorded);
        return INVALIDATED;
    }
    *graph = make(sizeof(Queue));
    **graph = stream->recorded;
    stream->recorded = (Queue){NULL, NULL};
    return OK;
}
int cuGraphInstantiateWithFlags(Queue **executable, Queue *graph, uint64_t flags) {
    NEEDS_CONTEXT;
    if (flags || !graph) return INVALID;
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
int cuGraphDestroy(Queue *graph) { NEEDS_CONTEXT; if (!graph) return INVALID; empty(graph); return drop(graph); }

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
