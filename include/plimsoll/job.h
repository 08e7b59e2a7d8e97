/* What a model remembers of its job: its classes, how its data was read, its loss. Training writes it into the model's notes
 * (ONNX metadata, safetensors metadata); whoever reads data for the model later reads it in the same way.
 *
 *     plim_job *job;
 *     plim_job_read(model, &job, &error);                      NULL when the model remembers nothing
 *     plim_job_apply(job, path, &options, &error);             fills in what is not set, refuses what differs
 *     plim_data_create(path, &options, &data, &error);
 *     plim_job_check(job, data, &error);
 *
 * The notes: "plimsoll.classes", a JSON list of names by number, and "plimsoll.job", a JSON object. */
#ifndef PLIMSOLL_JOB_H
#define PLIMSOLL_JOB_H

#include "plimsoll/data.h"
#include "plimsoll/graph.h"
#include "plimsoll/loss.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_job plim_job;

/* *job is NULL when the model remembers nothing. Notes that cannot be read are PLIM_CORRUPT. */
PLIM_API plim_status plim_job_read(const plim_graph *model, plim_job **job, plim_error *error);
PLIM_API void plim_job_free(plim_job *job);

/* Fills in options that are not set; one that is set to something else is PLIM_INVALID, and named. What the options point to
 * belongs to the job. `path` is the data that will be opened. A job of NULL changes nothing. */
PLIM_API plim_status plim_job_apply(const plim_job *job, const char *path, plim_data_options *options,
                                    plim_error *error);
/* Whether a data set that is open has the inputs of the job, in its order; PLIM_INVALID names the one that differs. */
PLIM_API plim_status plim_job_check(const plim_job *job, const plim_data *data, plim_error *error);
/* The loss it was trained with; what it points to belongs to the job. Returns 0, and *loss is as it was, when there is none. */
PLIM_API int plim_job_get_loss(const plim_job *job, plim_loss *loss);
PLIM_API int plim_job_class_count(const plim_job *job);
/* NULL past the end. */
PLIM_API const char *plim_job_class_name(const plim_job *job, int64_t index);
/* What is predicted: the name of a column or array; NULL when it has none. */
PLIM_API const char *plim_job_target(const plim_job *job);
/* The path of the tokenizer that its text was read with, as it was given; NULL when there was none. */
PLIM_API const char *plim_job_tokenizer(const plim_job *job);
/* PLIM_INVALID when the model was trained with another one than that with this plim_tokenizer_hash, or with none. */
PLIM_API plim_status plim_job_check_tokenizer(const plim_job *job, uint64_t hash, plim_error *error);
/* Which kind of data it was trained on, as plim_data_info has it; "" when that is not known. */
PLIM_API const char *plim_job_kind(const plim_job *job);

/* Writes into the model's notes how this data was read (data that was opened with these options), and the loss (may be NULL).
 * Names that are not UTF-8 are PLIM_INVALID: no file could hold them. */
PLIM_API plim_status plim_job_write(plim_graph *model, const plim_data *data, const plim_data_options *options,
                                    const plim_loss *loss, plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
