/* PyTorch's memory snapshots (torch.cuda.memory._dump_snapshot): pickles of segments, blocks and, in newer
 * ones, the allocator's events with their call stacks. Read as a stream: each event becomes a few bytes as
 * soon as it is complete, so that a gigabyte takes a fraction of that in memory. */
#ifndef PLIM_FORMAT_TORCH_SNAPSHOT_H
#define PLIM_FORMAT_TORCH_SNAPSHOT_H

#include "mem/timeline.h"

/* True when the bytes may begin a pickle of a list or dict. */
bool plim__torch_snapshot_sniff(const void *data, size_t size);

/* Fills an initialised timeline. The old form (a list of segments) and the new one (a dict) are both read.
 * `device`: whose memory; -1 takes the one that holds the most. */
plim_status plim__torch_snapshot_read(const char *path, int device, plim__timeline *timeline, plim_error *error);

/* What the allocator did, one after the other, for those who do it again. */
typedef enum plim__memory_action {
    PLIM__ACTION_ALLOC,
    PLIM__ACTION_FREE_REQUESTED, /* by the program */
    PLIM__ACTION_FREE_COMPLETED, /* no stream uses it any more */
    PLIM__ACTION_SEGMENT_TAKEN,
    PLIM__ACTION_SEGMENT_GIVEN,
    PLIM__ACTION_REFUSED
} plim__memory_action;

typedef struct plim__memory_event {
    uint64_t address, bytes; /* bytes as asked for */
    int64_t stream;
    uint32_t tick; /* of the timeline: an allocation begins a life there */
    uint8_t action;
} plim__memory_event;

typedef struct plim__memory_log {
    PLIM_VEC(plim__memory_event) events;
} plim__memory_log;

/* The same, and the events of the device; free the log's events in any case. */
plim_status plim__torch_snapshot_log(const char *path, int device, plim__timeline *timeline, plim__memory_log *log,
                                     plim_error *error);

#endif
