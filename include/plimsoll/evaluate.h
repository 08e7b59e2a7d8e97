/* Evaluation: how well a model predicts a data set. */
#ifndef PLIMSOLL_EVALUATE_H
#define PLIMSOLL_EVALUATE_H

#include "plimsoll/data.h"
#include "plimsoll/session.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_evaluation {
    int classifies; /* the target is a class: accuracy counts */
    double loss; /* mean over all that count, each by its weight: what training on the whole would have as its loss; the
                  * sum over all where the model's own loss is one */
    double accuracy; /* share of right classes; 0 for other targets */
    int64_t count;   /* predictions that count: samples, or samples times tokens, pixels or numbers */
    int64_t samples;
} plim_evaluation;

/* Runs one epoch of `data` through a session that was made with a loss. The session takes plim_evaluation_batch samples
 * at a time; with less, batches go through in pieces. Fields feed the model's inputs by name, or by order where the names
 * differ. A label outside the classes is PLIM_INVALID and named. */
PLIM_API plim_status plim_evaluate(plim_session *session, plim_data *data, plim_evaluation *result, plim_error *error);

/* Fills the inputs of a session with samples of a batch, from `from` on: as many as it takes (*count), and zeros for the rest.
 * Fields feed inputs by name, or by order where the names differ; what does not fit is PLIM_SHAPE. */
PLIM_API plim_status plim_session_feed(plim_session *session, plim_data *data, const plim_data_batch *batch,
                                       int64_t from, int64_t *count, plim_error *error);

/* The batch that a session needs to evaluate this data: that of the data; less where the model has its own loss, which
 * knows no short batches, and the last one is short; 1 where any may be, because bad samples are left out. */
PLIM_API int64_t plim_evaluation_batch(const plim_loss *loss, const plim_data *data);

#ifdef __cplusplus
}
#endif
#endif
