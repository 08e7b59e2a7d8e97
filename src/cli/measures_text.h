/* Measures of a model, for people and for scripts. */
#ifndef PLIM_CLI_MEASURES_TEXT_H
#define PLIM_CLI_MEASURES_TEXT_H

#include "cli/command.h"

/* What can be measured of an output of this shape with this loss, in at most `rank_bytes` for ROC AUC; false: nothing. */
bool plim__measures_find(const plim_graph *model, const plim_loss *loss, int64_t samples, uint64_t rank_bytes,
                         plim_measures_options *options);
/* "precision 0.91, recall 0.90, F1 0.90, top-5 0.99": what applies, of the summary. */
void plim__measures_line(const plim_measures *measures, char *text, size_t size);
/* The index-th number of the summary, NaN where it does not apply, with its key: "precision", ...; false past the last one.
 * Without measures only keys. */
bool plim__measures_at(const plim_measures *measures, size_t index, const char **key, double *value);
/* Each class in a row, and the confusion matrix where it is small enough for the terminal. */
void plim__measures_print(const plim_measures *measures, int64_t classes, const plim_job *job, const plim_data *data);
/* Adds what applies to an object: "precision", ..., and "classes" and "confusion" with `whole`. */
void plim__measures_json(const plim_measures *measures, int64_t classes, const plim_job *job, bool whole,
                         json_t *object);

#endif
