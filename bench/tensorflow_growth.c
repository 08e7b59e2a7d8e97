/* Preloaded into a process of TensorFlow: its allocator on the processor, which always grows, takes its whole limit at once
 * where PLIM_TF_WHOLE is set, as on a GPU without allow_growth. keras_fit.py builds and uses it; nothing else of TensorFlow
 * is changed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* BFCAllocator(std::unique_ptr<SubAllocator>, size_t limit, const std::string &name, const Options &) */
#define BFC                                                                                                            \
    "_ZN3tsl12BFCAllocatorC1ESt10unique_ptrINS_12SubAllocatorESt14default_deleteIS2_EEmRKNSt7__cxx1112basic_"          \
    "stringIcSt11char_"                                                                                                \
    "traitsIcESaIcEEERKNS0_7OptionsE"

typedef struct options {
    _Bool allow_growth, retry, garbage_collection;
    double fragmentation_fraction;
} options;

void bfc_create(void *self, void *device, size_t limit, const void *name, const options *given) __asm__(BFC);

void bfc_create(void *self, void *device, size_t limit, const void *name, const options *given) {
    void *library = dlopen("libtensorflow_framework.so.2", RTLD_LAZY | RTLD_NOLOAD);
    void (*create)(void *, void *, size_t, const void *, const options *) = NULL;
    void *found = library ? dlsym(library, BFC) : NULL;
    if (!found) abort();
    memcpy(&create, &found, sizeof create);
    options changed = *given;
    changed.allow_growth = given->allow_growth && !getenv("PLIM_TF_WHOLE");
    create(self, device, limit, name, &changed);
}
