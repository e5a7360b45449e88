/* Three execution providers that can't be used, one for each macro: CRASHES ends the process as it
 * is loaded, NEWER wants an ONNX Runtime of the future, and NEITHER has no entry point. */
#include <signal.h>
#include <stddef.h>

struct base {
    void **(*get_api)(unsigned version);
    const char *(*get_version)(void);
};

#ifdef CRASHES
void *CreateEpFactories(const char *name, const struct base *base) {
    raise(SIGSEGV);
    return NULL;
}
#endif

#ifdef NEWER
void *CreateEpFactories(const char *name, const struct base *base) {
    if (base->get_api(9999)) return NULL;
    void *(*create_status)(int code, const char *message) = base->get_api(24)[0];
    return create_status(1, "it needs ONNX Runtime 1.9999");
}
#endif

void *ReleaseEpFactory(void *factory) { return NULL; }
