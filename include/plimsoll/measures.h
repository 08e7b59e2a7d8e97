/* Measures of predictions, as scikit-learn defines them: confusion matrix, precision, recall and F1 by class, top-5, ROC AUC,
 * intersection over union, mean absolute error, R2.
 *
 *     plim_measures *measures;
 *     plim_measures_create(&(plim_measures_options){.classes = 10}, &measures, &error);
 *     plim_evaluate_measured(session, data, measures, &result, &error);    the session was made with .scores
 *     plim_measures_get(measures, &summary);
 */
#ifndef PLIMSOLL_MEASURES_H
#define PLIMSOLL_MEASURES_H

#include "plimsoll/evaluate.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PLIM_MEASURES_MOST_CLASSES 1024

typedef struct plim_measures plim_measures;

/* Zero means the default everywhere. */
typedef struct plim_measures_options {
    size_t size;     /* sizeof(plim_measures_options), or 0; see plimsoll.h */
    int64_t classes; /* of class targets, at most PLIM_MEASURES_MOST_CLASSES; 0: targets are numbers */
    int independent; /* each class is there or not (bce_with_logits): several may be */
    int64_t columns; /* of number targets; default 1 */
    int64_t
        rank_room; /* predictions whose probabilities are held for ROC AUC; 0: there is none. More come: it is NaN */
} plim_measures_options;

PLIM_API plim_status plim_measures_create(const plim_measures_options *options, plim_measures **measures,
                                          plim_error *error);
PLIM_API void plim_measures_free(plim_measures *measures);
/* Bytes that it holds from the beginning, and never more. */
PLIM_API uint64_t plim_measures_bytes(const plim_measures_options *options);
PLIM_API void plim_measures_clear(plim_measures *measures);

/* Scores of classes with the class numbers (labels outside of the classes do not count), of independent classes with numbers
 * 0 or 1, or numbers with numbers. `scores` are count x classes x places (places: pixels; 1 otherwise), targets count x
 * places, or count x classes for independent ones, or count x columns. */
PLIM_API plim_status plim_measures_add_classes(plim_measures *measures, const float *scores, const int64_t *labels,
                                               int64_t count, int64_t places, plim_error *error);
PLIM_API plim_status plim_measures_add_numbers(plim_measures *measures, const float *scores, const float *targets,
                                               int64_t count, plim_error *error);

/* NaN for what does not apply. Means over classes are over those that occur as a label or a prediction. */
typedef struct plim_measures_summary {
    int64_t places;                    /* the most that a sample had: above 1, they are pixels */
    int64_t count;                     /* predictions that count */
    double accuracy, top5;             /* shares */
    double precision, recall, f1, iou; /* means over classes; NaN-free: 0 where nothing was predicted */
    double auc; /* area under the ROC curve: of class 1 of two, else mean of each against all others */
    double mean_absolute, root_mean_square, r2; /* of numbers: means over columns */
} plim_measures_summary;
PLIM_API void plim_measures_get(const plim_measures *measures, plim_measures_summary *summary);

typedef struct plim_measures_class {
    int64_t support;   /* labels of this class */
    int64_t predicted; /* predictions of it */
    double precision, recall, f1, iou;
} plim_measures_class;
/* Zeros past the end. */
PLIM_API void plim_measures_get_class(const plim_measures *measures, int64_t index, plim_measures_class *of);
/* How often `label` was predicted as `predicted`; 0 past the end, and for independent classes. */
PLIM_API int64_t plim_measures_confusion(const plim_measures *measures, int64_t label, int64_t predicted);

/* plim_evaluate and plim_trainer_evaluate that also measure; the session or trainer was made with .scores. The measures are
 * cleared first. */
PLIM_API plim_status plim_evaluate_measured(plim_session *session, plim_data *data, plim_measures *measures,
                                            plim_evaluation *result, plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
