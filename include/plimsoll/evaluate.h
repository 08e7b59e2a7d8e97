/* Evaluation: how well a model predicts a data set. */
#ifndef PLIMSOLL_EVALUATE_H
#define PLIMSOLL_EVALUATE_H

#include "plimsoll/data.h"
#include "plimsoll/session.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_evaluation {
    int classifies;  /* the target is a class: loss is cross entropy, accuracy counts */
    double loss;     /* mean cross entropy, or mean squared error */
    double accuracy; /* share of right classes; 0 for other targets */
    int64_t count;   /* predictions: samples, or samples times tokens or pixels */
    int64_t samples;
} plim_evaluation;

/* Runs one epoch of `data` through the session and compares the model's first output with the target. The data's
 * batch must be the session's. Scores are logits with classes on the last axis (N, C) and (N, T, C), or on the
 * second (N, C, H, W). A label outside the classes is PLIM_INVALID and named. */
PLIM_API plim_status plim_evaluate(plim_session *session, plim_data *data, plim_evaluation *result, plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
