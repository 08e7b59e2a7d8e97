/* What the two halves of the snapshot reader share: torch_snapshot.c takes the pickle apart into these records,
 * torch_snapshot_finish.c makes a timeline of them. */
#ifndef PLIM_FORMAT_TORCH_SNAPSHOT_INTERNAL_H
#define PLIM_FORMAT_TORCH_SNAPSHOT_INTERNAL_H

#include "core/address_map.h"
#include "format/torch_snapshot.h"
#include "mem/timeline.h"

/* Ticks first ... first + count - 1 are of one device. */
typedef struct plim__torch_trace {
    uint32_t first; /* PLIM__NEVER when it has no event */
    uint32_t count; /* known at the end */
    int32_t device; /* -1 until its place in device_traces is known */
} plim__torch_trace;

typedef struct plim__torch_change { /* the allocator took from the device, or gave back */
    int64_t bytes;
    uint32_t event;
} plim__torch_change;

typedef struct plim__torch_reader {
    plim__timeline *timeline; /* lives carry addresses as offsets, and ticks of all devices together, until the end */
    const char *path;
    int device;
    plim__memory_log *log; /* all events as they come; NULL: not wanted */
    uint32_t events;       /* allocations and completed frees: ticks */
    uint64_t seen;         /* all events */
    bool timed;
    double first_time, last_time;
    plim__address_map live;
    PLIM_VEC(plim__torch_trace) traces;
    PLIM_VEC(plim__torch_change) changes;
    PLIM_VEC(plim__timeline_block) blocks;     /* of all devices, as they come */
    PLIM_VEC(plim__timeline_segment) segments; /* of all devices */
    PLIM_VEC(plim__timeline_block) segment_blocks;
    PLIM_VEC(uint32_t) stack_tensors; /* the tensor for each stack, plus one */
    bool is_snapshot;                 /* a segment, a block or an event was seen */
} plim__torch_reader;

/* The tensor that stands for all allocations of a stack, or of a size when there is no stack. */
bool plim__torch_tensor(plim__torch_reader *reader, uint32_t stack, uint64_t bytes, uint32_t *tensor);

plim_status plim__torch_finish(plim__torch_reader *reader, plim_error *error);

#endif
