/* A record and the run of its requests through an allocator. */
#ifndef PLIM_FIT_REPLAY_H
#define PLIM_FIT_REPLAY_H

#include "fit/requests.h"
#include "plimsoll/predict.h"

/* A point of the run, where the allocator's figures changed by more than it takes to see. */
typedef struct plim__replay_sample {
    uint32_t tick;
    uint64_t allocated, reserved;
} plim__replay_sample;

typedef struct plim__replay_moment {
    uint32_t tick;
    plim_replay_point point;
} plim__replay_moment;

struct plim_replay {
    plim__timeline timeline;
    plim__requests requests;
    plim_pool_options options; /* of the last run */
    plim_replay_result result;
    PLIM_VEC(plim__replay_sample) samples;
    PLIM_VEC(plim__replay_moment) moments;
    PLIM_VEC(uint64_t) places; /* of the last run: the address of each life; 0: it was not reached */
    plim_pool *pool;           /* as the last run left it */
};

/* What it holds, not itself. */
void plim__replay_clear(plim_replay *replay);
/* plim_replay_run without what a page needs: the last run stays as it is. */
plim_status plim__replay_measure(plim_replay *replay, const plim_pool_options *options, plim_replay_result *result,
                                 plim_error *error);

#endif
