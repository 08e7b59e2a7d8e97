/* Will it fit: the requests of a recorded or predicted training step, put to an allocator on a device of given size. */
#ifndef PLIMSOLL_PREDICT_H
#define PLIMSOLL_PREDICT_H

#include "plimsoll/alloc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What an allocator made of a sequence of requests. */
typedef struct plim_replay_result {
    plim_pool_stats stats;                          /* at the end, or where it failed; the peaks are of the whole */
    uint64_t events;                                /* requests served */
    bool failed;                                    /* a request was refused; nothing after it was tried */
    uint64_t failed_bytes;                          /* ... of so many bytes */
    uint64_t failed_event;                          /* ... with this number */
    char failed_name[128];                          /* ... for this tensor or line of code; "" when not known */
    uint64_t held_before;                           /* bytes that were held when the record began; 0: it begins empty */
    uint64_t addresses;                             /* recorded addresses that could be compared */
    uint64_t wrong;                                 /* ... and differ (with the allocator of the record; else 0 of 0) */
    uint64_t recorded_reserved, recorded_allocated; /* at the end of the record; 0: not known */
    uint64_t least; /* the smallest capacity with which nothing fails; 0: not asked for */
} plim_replay_result;

typedef struct plim_replay plim_replay; /* a record that was read, and the last run of it */

/* Reads a PyTorch memory snapshot or a trace. `device` of a snapshot, -1: the one that holds the most. */
PLIM_API plim_status plim_replay_open(const char *path, int device, plim_replay **replay, plim_error *error);
PLIM_API void plim_replay_free(plim_replay *replay); /* NULL is fine */
/* Puts all requests to an allocator. A refused request is a result, not an error. */
PLIM_API plim_status plim_replay_run(plim_replay *replay, const plim_pool_options *options, plim_replay_result *result,
                                     plim_error *error);
/* The smallest capacity, in whole MiB, with which the allocator serves everything. */
PLIM_API plim_status plim_replay_least(plim_replay *replay, const plim_pool_options *options, uint64_t *bytes,
                                       plim_error *error);

/* A setting that can be tried on a record. */
typedef struct plim_replay_setting {
    const char *text;    /* for plim_pool_parse */
    const char *meaning; /* one sentence */
} plim_replay_setting;

/* The index-th of the settings worth trying; NULL past the end. */
PLIM_API const plim_replay_setting *plim_replay_setting_at(size_t index);

/* The last run as a page: memory over time with the allocator's segments, reserved bytes and the capacity as a line. Ends
 * the replay: what came after a refused request is dropped. */
PLIM_API plim_status plim_replay_page(plim_replay *replay, const char *path, plim_error *error);
/* The same as text for a terminal of this width (0: 80). Free it with plim_text_free. */
PLIM_API plim_status plim_replay_chart(plim_replay *replay, int width, bool unicode, char **text, plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
