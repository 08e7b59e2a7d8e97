/* The run as it happened. */
#include "cli/train_report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/budget_options.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/file.h"

bool plim__train_report_read(plim__args *args, plim__train_report *report) {
    *report = (plim__train_report){.page = plim__args_get(args, "report"), .trace = plim__args_get(args, "trace")};
    return plim__args_int(args, "trace-every", 1, (int64_t)1 << 40, &report->every);
}

/* A page that cannot be written is reported before training, not after hours of it. */
static plim_status check_page(const char *path, plim_error *error) {
    plim__file_writer writer;
    PLIM_TRY(plim__file_writer_open(&writer, path, error));
    plim__file_writer_discard(&writer);
    return PLIM_OK;
}

bool plim__train_plan_read(plim__args *args, plim_trainer_options *options) {
    const char *path = plim__args_get(args, "plan");
    uint64_t budget;
    plim_error error;
    if (!path) return true;
    if (plim_plan_read_budget(path, &budget, &error) != PLIM_OK) return plim__say_error(args, &error), false;
    if (!plim__args_has(args, "budget")) options->budget = budget;
    if (!plim__args_has(args, "replan")) options->plan = path;
    return true;
}

/* Where state is spilled to: /tmp is memory on many machines. Without a name nothing is left of it, however the run ends. */
static plim_status make_temporary(plim__train_report *report, plim_error *error) {
    const char *folder = plim_spill_default_folder();
    report->file = plim__file_unnamed(folder);
    if (report->file < 0) return plim__fail_errno(error, errno, "cannot make a file in '%s'", folder);
    snprintf(report->temporary, sizeof report->temporary, "/proc/self/fd/%d", report->file);
    return PLIM_OK;
}

plim_status plim__train_report_begin(plim__train_report *report, plim_trainer *trainer, const plim__args *args,
                                     plim_error *error) {
    const char *model = plim__args_at(args, 0), *slash = strrchr(model, '/');
    if (!report->page && !report->trace) return PLIM_OK;
    if (report->page) PLIM_TRY(check_page(report->page, error));
    if (!report->trace) PLIM_TRY(make_temporary(report, error));
    plim__str command = {0};
    plim__budget_repeat_command(args, &command);
    plim_record_options options = {
        .title = slash ? slash + 1 : model, .command = plim__str_text(&command), .every = report->every};
    plim_status status =
        plim_trainer_record(trainer, report->trace ? report->trace : report->temporary, &options, error);
    plim__str_free(&command);
    return status;
}

static void say_thinned(const plim__train_report *report, uint64_t every) {
    const char *trace = report->trace;
    plim__terminal_line(stderr,
                        "plimsoll train: note: the page shows one in %llu of the recorded updates, as the budget "
                        "allows%s%s%s%s%s",
                        (unsigned long long)every, trace ? "; plimsoll report " : "", trace ? trace : "",
                        trace ? " -o " : "", trace ? report->page : "", trace ? " shows all" : "");
}

plim_status plim__train_report_end(plim__train_report *report, plim_trainer *trainer, plim_error *error) {
    if (!report->trace && !report->temporary[0]) return PLIM_OK;
    plim_status status = plim_trainer_record_end(trainer, error);
    if (status == PLIM_OK && report->page) {
        uint64_t every;
        status = plim_trainer_save_report(trainer, report->trace ? report->trace : report->temporary, report->page,
                                          &every, error);
        if (status == PLIM_OK && every > 1) say_thinned(report, every);
    }
    if (report->temporary[0]) close(report->file);
    return status;
}
