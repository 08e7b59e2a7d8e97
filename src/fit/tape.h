/* Storages with reference counts over a growing timeline: what PyTorch's tensors are made of. */
#ifndef PLIM_FIT_TAPE_H
#define PLIM_FIT_TAPE_H

#include "mem/timeline.h"

typedef struct plim__storage {
    uint32_t life;
    uint32_t references;
    uint64_t bytes;
} plim__storage;

typedef struct plim__tape {
    plim__timeline *timeline;
    PLIM_VEC(plim__storage) storages; /* the first is none */
    uint32_t tick;
    plim__memory_phase phase;
    bool failed; /* out of memory: everything after it is ignored, one check at the end */
} plim__tape;

void plim__tape_init(plim__tape *tape, plim__timeline *timeline);
void plim__tape_free(plim__tape *tape);

/* A new storage with one reference; 0 when it has no bytes. */
uint32_t plim__tape_new(plim__tape *tape, const char *name, const char *operation, plim__memory_kind kind,
                        uint64_t bytes);
uint32_t plim__tape_hold(plim__tape *tape, uint32_t storage); /* one more reference; returns storage */
void plim__tape_drop(plim__tape *tape, uint32_t storage);     /* one less; the last one frees it */
bool plim__tape_is_alone(const plim__tape *tape, uint32_t storage);
void plim__tape_phase(plim__tape *tape, plim__memory_phase phase);
void plim__tape_mark(plim__tape *tape, plim__timeline_mark_type type, uint64_t value, const char *text);

#endif
