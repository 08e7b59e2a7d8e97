/* What a timeline becomes for people and for other tools. The numbers all come from one plim__summary. */
#ifndef PLIM_REPORT_REPORT_H
#define PLIM_REPORT_REPORT_H

#include <jansson.h>

#include "core/str.h"
#include "format/torch_snapshot.h"
#include "mem/timeline.h"
#include "plimsoll/report.h"
#include "report/summary.h"

/* A timeline with its numbers. */
struct plim_report {
    plim__timeline timeline;
    plim__summary summary;
    bool summed; /* the summary is there */
};

/* An empty one, to be filled in. */
plim_status plim__report_create(plim__timeline_source source, plim_report **report, plim_error *error);
/* After a failure: frees what was made, and sets *report to NULL. Returns status. */
plim_status plim__report_end(plim_report **report, plim_status status);

/* Reads a trace, a PyTorch memory snapshot or a log with a TensorFlow allocator dump, told apart by content.
 * `device` chooses among a snapshot's devices; -1 takes the one that holds the most. The timeline must be
 * initialised; free it in any case. */
plim_status plim__report_read(const char *path, int device, plim__timeline *timeline, plim_error *error);

/* The same; of a snapshot also its events, for those who replay them. */
plim_status plim__report_read_log(const char *path, int device, plim__timeline *timeline, plim__memory_log *log,
                                  plim_error *error);

/* Memory that writing a page takes in addition to its timeline and summary: packing, JSON, and pages of this program and of the
 * libraries that only this uses. */
#define PLIM__PAGE_BYTES ((size_t)1 << 20)

/* One self-contained page. Appears complete or not at all. */
plim_status plim__report_html(const plim__timeline *timeline, const plim__summary *summary, const char *path,
                              plim_error *error);

/* The JSON of `plimsoll report --json`, also inside the page. NULL when memory is short. */
json_t *plim__report_json(const plim__timeline *timeline, const plim__summary *summary);

typedef struct plim__text_options {
    int width, height; /* characters in all, rows of the chart; 0 takes 80 and 12 */
    bool colour, unicode;
} plim__text_options;

/* A chart of the step, the largest holders at the peak, and what else is worth a line. */
void plim__report_text(const plim__timeline *timeline, const plim__summary *summary, const plim__text_options *options,
                       plim__str *out);

/* For other tools: PyTorch's memory viewer, Perfetto and chrome://tracing, spreadsheets. */
plim_status plim__export_torch(const plim__timeline *timeline, const char *path, plim_error *error);
plim_status plim__export_perfetto(const plim__timeline *timeline, const char *path, plim_error *error);
plim_status plim__export_csv(const plim__timeline *timeline, const plim__summary *summary, const char *path,
                             plim_error *error);

/* What happens at a tick, for all who say where the peak is: "step 3, backward, conv2_1" ("" when not known). */
void plim__report_place(const plim__timeline *timeline, uint32_t tick, plim__str *out);

#endif
