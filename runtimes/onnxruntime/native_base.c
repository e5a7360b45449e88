/* ONNX Runtime's Python module exports none of its C functions, but hands its table of them to a
 * library of custom operators that it is told to register. This one has no operators, and keeps
 * the table for `api.py`. */
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT const void *graphlap_ort_base = NULL;

EXPORT void *RegisterCustomOps(void *options, const void *base) {
    (void)options;
    graphlap_ort_base = base;
    return NULL;
}
