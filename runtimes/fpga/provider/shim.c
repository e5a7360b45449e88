/* The symbols that ONNX Runtime looks up in a provider library, and the callbacks that
 * release what it was given. Each forwards to a function that Python put in `hooks`; once
 * Python has emptied the table, because the interpreter is about to end, they do nothing,
 * so that sessions which outlive the interpreter can still be torn down. */
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

struct hooks {
    void *(*create_factories)(const char *name, const void *base, const void *logger,
                              void **factories, size_t capacity, size_t *count);
    void (*release_factory)(void *factory);
    void (*release_provider)(void *factory, void *provider);
    void (*release_computations)(void *provider, void **computations, size_t count);
};

EXPORT struct hooks hooks;

typedef void *(*create_status)(int code, const char *text);
typedef const create_status *(*get_api_of)(unsigned version);

EXPORT void *CreateEpFactories(const char *name, const void *base, const void *logger,
                               void **factories, size_t capacity, size_t *count) {
    *count = 0;
    if (!hooks.create_factories) {
        /* The first functions of OrtApiBase and of OrtApi: GetApi and CreateStatus. */
        get_api_of get_api = *(const get_api_of *)base;
        return (*get_api(1))(1, "nobody answers for the simulated card in this process. Call "
                                   "runtimes.fpga.provider.get_library_path() first");
    }
    return hooks.create_factories(name, base, logger, factories, capacity, count);
}

EXPORT void *ReleaseEpFactory(void *factory) {
    if (hooks.release_factory) hooks.release_factory(factory);
    return NULL;
}

EXPORT void release_provider(void *factory, void *provider) {
    if (hooks.release_provider) hooks.release_provider(factory, provider);
}

EXPORT void release_computations(void *provider, void **computations, size_t count) {
    if (hooks.release_computations) hooks.release_computations(provider, computations, count);
}

/* A computation keeps no state of its own between runs. */
EXPORT void *create_state(void *computation, void *context, void **state) {
    (void)context;
    *state = computation;
    return NULL;
}

EXPORT void release_state(void *computation, void *state) {
    (void)computation;
    (void)state;
}
