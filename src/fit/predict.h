/* A predicted step: a timeline of tensors, and the run of its requests through an allocator on a card. */
#ifndef PLIM_FIT_PREDICT_H
#define PLIM_FIT_PREDICT_H

#include "fit/replay.h"
#include "fit/stream.h"

struct plim_prediction {
    plim_replay replay; /* its timeline is the predicted step */
    plim__stream_facts facts;
    int capability; /* that the requests were made for; -1: none were yet */
};

/* An empty prediction whose timeline the caller fills. */
plim_status plim__prediction_create(plim_prediction **prediction, plim_error *error);

/* The requests depend on the card: its kernels ask for work spaces. */
plim_status plim__prediction_make_requests(plim_prediction *prediction, int capability, plim_error *error);

#endif
