/* The pipeline: worker threads that keep a ring of batches filled ahead of the consumer.
 *
 *   source ──→ workers ──→ [slot][slot][slot]... ──→ plim__pipeline_next
 *              claim a chunk of the batch that is     one slot is held by the consumer, the others are
 *              being filled, read it, mark it done    free, being filled or ready
 *
 * A batch has a number and its samples follow from it, so who fills what, and when, changes nothing. Slots are
 * allocated and touched when the pipeline is made; one is added when the consumer waits and the workers do too. */
#ifndef PLIM_DATA_PIPELINE_H
#define PLIM_DATA_PIPELINE_H

#include "data/augment.h"
#include "data/order.h"
#include "data/source.h"

typedef struct plim__pipeline plim__pipeline;

typedef struct plim__pipeline_options {
    plim__order order;
    int64_t batch;
    int64_t epochs; /* 0: endless */
    bool drop_last, skip_bad;
    plim__augment augment; /* mixup is made here: it takes pairs of a batch */
    int workers;           /* at least 1 */
    int depth;             /* 0: tunes itself */
    uint64_t buffer_limit; /* for slots */
    uint64_t memory_limit; /* for slots and scratch memory; 0: none */
} plim__pipeline_options;

/* The source must outlive the pipeline. No thread is started before the first batch is asked for. */
plim_status plim__pipeline_create(const plim__data_source *source, const plim__pipeline_options *options,
                                  plim__pipeline **pipeline, plim_error *error);
void plim__pipeline_free(plim__pipeline *pipeline);

/* As plim_data_next, plim_data_tell, plim_data_seek and plim_data_get_stats. */
plim_status plim__pipeline_next(plim__pipeline *pipeline, plim_data_batch *batch, plim_error *error);
plim_data_position plim__pipeline_tell(const plim__pipeline *pipeline);
plim_status plim__pipeline_seek(plim__pipeline *pipeline, plim_data_position position, plim_error *error);
void plim__pipeline_stats(plim__pipeline *pipeline, plim_data_stats *stats);
/* The place that sample `index` had in the batch at `position` before bad ones were taken out; of the batch that came last. */
int64_t plim__pipeline_place(const plim__pipeline *pipeline, int64_t position, int64_t index);
const char *plim__pipeline_last_bad(const plim__pipeline *pipeline);

uint64_t plim__pipeline_bytes(plim__pipeline *pipeline);            /* slots and workers' scratch memory, now */
uint64_t plim__pipeline_most_bytes(const plim__pipeline *pipeline); /* the same at most, as far as it is known */
/* By which that grows with each sample of a batch. */
uint64_t plim__pipeline_sample_bytes(const plim__pipeline *pipeline);
int64_t plim__pipeline_batches(const plim__pipeline *pipeline); /* of one epoch */

#endif
