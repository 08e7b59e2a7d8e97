/* --report and --trace of train: the run as it happened. */
#ifndef PLIM_CLI_TRAIN_REPORT_H
#define PLIM_CLI_TRAIN_REPORT_H

#include "cli/command.h"

/* Rows for a command's option table. */
#define PLIM__TRAIN_REPORT_OPTIONS                                                                                     \
    {"plan", 0, "FILE", "train by this plan, which plimsoll plan --save wrote"},                                       \
        {"replan", 0, NULL, "with --plan: plan again for its budget, whatever the plan was made for"},                 \
        {"report", 0, "FILE.html",                                                                                     \
         "write the run as a page: memory over the steps, planned and measured; with --budget, other budgets too"},    \
        {"trace", 0, "FILE", "record the run in this file, for plimsoll report"}, {                                    \
        "trace-every", 0, "N", "record one update in N, after the first three; the default is 100"                     \
    }

/* Fills in the plan of --plan, and its budget where none is given. False after an error has been printed. */
bool plim__train_plan_read(plim__args *args, plim_trainer_options *options);

typedef struct plim__train_report {
    const char *page, *trace; /* NULL: not asked for */
    char temporary[32];       /* the trace of a page that is not kept, a file without a name; "" for none */
    int file;                 /* it, open until the end */
    int64_t every;
} plim__train_report;

/* False after a usage error has been printed. */
bool plim__train_report_read(plim__args *args, plim__train_report *report);
/* Before the first update. */
plim_status plim__train_report_begin(plim__train_report *report, plim_trainer *trainer, const plim__args *args,
                                     plim_error *error);
/* After the last one: the file is closed, the page written. Also after a failure, for what was recorded until then. */
plim_status plim__train_report_end(plim__train_report *report, plim_trainer *trainer, plim_error *error);

#endif
