/* A library of one operator for ONNX Runtime, `graphlap.test.Twice`: each element doubled.

   ONNX Runtime's headers come in no package; its function tables only ever grow, so that the
   places of the few functions used are declared here. */

#include <stddef.h>
#include <stdint.h>

typedef const void *const *Api;
typedef struct { Api (*api)(uint32_t version); const char *(*version)(void); } ApiBase;

enum {
  CREATE_DOMAIN = 26, ADD_TO_DOMAIN = 27, ADD_DOMAIN = 28, DATA = 51, DIMENSIONS_COUNT = 61,
  DIMENSIONS = 62, SHAPE = 65, INPUT = 90, OUTPUT = 91, RELEASE_SHAPE = 99,
};
enum { FLOAT = 1, NEEDS_NO_NEWER = 8, API_VERSION = 14, MOST_DIMENSIONS = 8 };

typedef void *(*Made)();

static Api ort;

#define CALL(place, ...) ((Made)ort[place])(__VA_ARGS__)

static void *create(const void *op, Api api, const void *info) { ort = api; return &ort; }
static const char *name(const void *op) { return "Twice"; }
static const char *provider(const void *op) { return NULL; }
static int type(const void *op, size_t index) { return FLOAT; }
static size_t one(const void *op) { return 1; }
static int required(const void *op, size_t index) { return 0; }
static void destroy(void *kernel) {}

static void compute(void *kernel, void *context) {
  const void *x; void *y; void *shape; const float *from; float *to;
  int64_t sizes[MOST_DIMENSIONS]; size_t count; int64_t elements = 1;
  CALL(INPUT, context, (size_t)0, &x);
  CALL(SHAPE, x, &shape);
  CALL(DIMENSIONS_COUNT, shape, &count);
  CALL(DIMENSIONS, shape, sizes, count);
  CALL(RELEASE_SHAPE, shape);
  CALL(OUTPUT, context, (size_t)0, sizes, count, &y);
  CALL(DATA, x, (void **)&from);
  CALL(DATA, y, (void **)&to);
  for (size_t i = 0; i < count; i++) elements *= sizes[i];
  for (int64_t i = 0; i < elements; i++) to[i] = 2 * from[i];
}

static struct {
  uint32_t version;
  void *functions[32];
} twice = {
  NEEDS_NO_NEWER,
  {create, name, provider, type, one, type, one, compute, destroy, required, required},
};

void *RegisterCustomOps(void *options, const ApiBase *base) {
  void *domain;
  ort = base->api(API_VERSION);
  CALL(CREATE_DOMAIN, "graphlap.test", &domain);
  CALL(ADD_TO_DOMAIN, domain, &twice);
  return CALL(ADD_DOMAIN, options, domain);
}
