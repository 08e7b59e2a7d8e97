/* Reports: memory over time as a page, as text, as JSON and for other tools.
 *
 *     plim_report *report;
 *     plim_report_load("run.trace", -1, &report, &error);
 *     plim_report_save(report, "run.html", &error);
 *     plim_report_free(report);
 */
#ifndef PLIMSOLL_REPORT_H
#define PLIMSOLL_REPORT_H

#include "plimsoll/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_report plim_report;

/* Reads a trace that Plimsoll recorded, a PyTorch memory snapshot, or a log with a TensorFlow allocator dump; the content
 * tells which. `device` chooses among a snapshot's devices; -1 takes the one that holds the most. */
PLIM_API plim_status plim_report_load(const char *path, int device, plim_report **report, plim_error *error);
/* The plan of a session: every buffer, when it lives and where it lies. `title` is the model's name. */
PLIM_API plim_status plim_report_create_session(const plim_session *session, const char *title, plim_report **report,
                                                plim_error *error);
/* The chosen plan (where nothing fits, the unconstrained one) with others as its frontier. `command` is how to ask for one
 * of them, up to its budget: "plimsoll plan lenet.onnx --budget"; NULL for none. */
PLIM_API plim_status plim_report_create_plan(const plim_plan *plan, const char *title, const char *command,
                                             plim_report **report, plim_error *error);
PLIM_API void plim_report_free(plim_report *report);

/* A line in the head of the page: {"batch", "16"}. Before anything is written. */
PLIM_API plim_status plim_report_add_fact(plim_report *report, const char *name, const char *value, plim_error *error);
/* Drawn as a line; a report of leaks says when it would be reached. 0: the one of the file. */
PLIM_API plim_status plim_report_set_budget(plim_report *report, uint64_t bytes, plim_error *error);

typedef struct plim_report_info {
    uint64_t peak_bytes;
    uint64_t events;  /* births and deaths of buffers */
    const char *note; /* why the record ends early; "" when it is whole. Valid until the report is freed. */
} plim_report_info;
PLIM_API plim_status plim_report_get_info(plim_report *report, plim_report_info *info, plim_error *error);

/* One self-contained page (HTML), which appears whole or not at all. */
PLIM_API plim_status plim_report_save(plim_report *report, const char *path, plim_error *error);
/* For other tools: "torch-snapshot" (PyTorch's memory viewer), "perfetto" (and chrome://tracing), "csv". */
PLIM_API plim_status plim_report_export(plim_report *report, const char *format, const char *path, plim_error *error);

/* Zero is the default in every field. */
typedef struct plim_report_text_options {
    size_t size;       /* sizeof(plim_report_text_options), or 0; see plimsoll.h */
    int width, height; /* characters in all, rows of the chart; default 80 and 12 */
    int colour, unicode;
} plim_report_text_options;

/* A chart of the step, the largest holders at the peak, and what else is worth a line. Free it with plim_text_free. */
PLIM_API plim_status plim_report_print(plim_report *report, const plim_report_text_options *options, char **text,
                                       plim_error *error);
/* The numbers of the page as one JSON object. Free it with plim_text_free. */
PLIM_API plim_status plim_report_print_json(plim_report *report, char **text, plim_error *error);

/* --- recording a run ------------------------------------------------------------------------------------------ */

/* Zero is the default in every field. */
typedef struct plim_record_options {
    size_t size;         /* sizeof(plim_record_options), or 0; see plimsoll.h */
    const char *title;   /* the model's name; default "" */
    const char *command; /* as in plim_report_create_plan */
    int64_t every;       /* record one update in N, after the first three; default 100 */
} plim_record_options;

/* Records a run in a file, from the next update on: every birth and death of a buffer as it happens, resident memory and
 * the loss. All updates are sampled, some are recorded whole, until the file is large. What that holds is part of the plan
 * where plim_trainer_options.records was set. */
PLIM_API plim_status plim_trainer_record(plim_trainer *trainer, const char *path, const plim_record_options *options,
                                         plim_error *error);
/* Writes what was planned and what was measured, and closes the file. Without a recording it does nothing. */
PLIM_API plim_status plim_trainer_record_end(plim_trainer *trainer, plim_error *error);
/* Makes a page of a recorded run (`trace`), within the memory that the trainer was planned for. Training is over then: the
 * arena's memory is released, and of the trainer only plim_trainer_get_stats and plim_trainer_free are left. *every (may be
 * NULL): the page shows one in this many of the recorded updates, as the budget allows. */
PLIM_API plim_status plim_trainer_save_report(plim_trainer *trainer, const char *trace, const char *page,
                                              uint64_t *every, plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
