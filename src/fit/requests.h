/* The requests that a program made of its allocator, in order: from a PyTorch memory snapshot or from a trace. */
#ifndef PLIM_FIT_REQUESTS_H
#define PLIM_FIT_REQUESTS_H

#include "format/torch_snapshot.h"
#include "mem/timeline.h"

typedef enum plim__request_type {
    PLIM__REQUEST_ALLOC,
    PLIM__REQUEST_FREE,       /* at once */
    PLIM__REQUEST_FREE_BEGIN, /* the program is done with it */
    PLIM__REQUEST_FREE_END,   /* and so are all streams */
    PLIM__REQUEST_SEGMENT,    /* recorded: the allocator took a segment at this address */
    PLIM__REQUEST_GIVE,       /* recorded: the allocator gave segments back */
    PLIM__REQUEST_EMPTY       /* the program emptied the cache */
} plim__request_type;

typedef struct plim__request {
    uint64_t key; /* who: the recorded address, or the life's number plus one; unique while alive */
    uint64_t bytes;
    int64_t stream;
    uint32_t tick;
    uint32_t life; /* of the timeline; PLIM__NEVER: not known */
    uint8_t type;
} plim__request;

/* A segment that the allocator held when the record began. */
typedef struct plim__segment_before {
    uint64_t address, bytes;
    int64_t stream;
} plim__segment_before;

typedef struct plim__requests {
    PLIM_VEC(plim__request) list;
    size_t before;            /* the first ones: what was held when the record began */
    uint64_t held_before;     /* ... and its bytes */
    PLIM_VEC(uint64_t) sizes; /* ... and the bytes of each block; 0: not known */
    PLIM_VEC(plim__segment_before) segments;
    bool recorded;                /* keys are addresses that PyTorch's allocator gave */
    bool expandable;              /* ... with expandable segments */
    uint64_t reserved, allocated; /* recorded: at the end; 0: not known */
} plim__requests;

/* Reads a snapshot or a trace and what it asks for. Free both in any case. */
plim_status plim__requests_read(const char *path, int device, plim__timeline *timeline, plim__requests *requests,
                                plim_error *error);
/* Births and deaths of a timeline as requests. */
plim_status plim__requests_from_timeline(const plim__timeline *timeline, plim__requests *requests, plim_error *error);
void plim__requests_free(plim__requests *requests);

#endif
