/* Reports of sessions, plans and recorded runs. */
#include <stdint.h>

#include "budget/picture.h"
#include "core/arguments.h"
#include "format/trace.h"
#include "report/plan_timeline.h"
#include "report/report.h"
#include "run/recording.h"
#include "run/session_parts.h"

static plim_status fill_from_session(plim__timeline *timeline, const plim_session *session, const char *title,
                                     plim_error *error) {
    PLIM_TRY(plim__timeline_set_title(timeline, title, error));
    return plim__plan_timeline(plim_session_graph(session), plim__session_program(session), plim__session_plan(session),
                               timeline, error);
}

plim_status plim_report_create_session(const plim_session *session, const char *title, plim_report **report,
                                       plim_error *error) {
    PLIM__NEED(report, error);
    *report = NULL;
    PLIM__NEED(session, error);
    PLIM_TRY(plim__report_create(PLIM__SOURCE_PLAN, report, error));
    return plim__report_end(report, fill_from_session(&(*report)->timeline, session, title ? title : "", error));
}

plim_status plim_report_create_plan(const plim_plan *plan, const char *title, const char *command, plim_report **report,
                                    plim_error *error) {
    PLIM__NEED(report, error);
    *report = NULL;
    PLIM__NEED(plan, error);
    PLIM_TRY(plim__report_create(PLIM__SOURCE_PLAN, report, error));
    return plim__report_end(report, plim__plan_picture(plan, title ? title : "", command, &(*report)->timeline, error));
}

plim_status plim_trainer_record(plim_trainer *trainer, const char *path, const plim_record_options *options,
                                plim_error *error) {
    plim_record_options o;
    PLIM__NEED(trainer, error);
    PLIM__NEED(path, error);
    PLIM__OPTIONS(plim_record_options, o, options, error);
    if (o.every < 0)
        return plim__fail(error, PLIM_INVALID, "one update in %lld cannot be recorded", (long long)o.every);
    return plim__trainer_record(trainer, path, o.title ? o.title : "", o.command, o.every, error);
}

plim_status plim_trainer_record_end(plim_trainer *trainer, plim_error *error) {
    PLIM__NEED(trainer, error);
    return plim__trainer_record_end(trainer, error);
}

plim_status plim_trainer_save_report(plim_trainer *trainer, const char *trace, const char *page, uint64_t *every,
                                     plim_error *error) {
    uint64_t shown = 1;
    if (every) *every = 1;
    PLIM__NEED(trainer, error);
    PLIM__NEED(trace, error);
    PLIM__NEED(page, error);
    PLIM_TRY(plim_trainer_record_end(trainer, error));
    size_t room = plim__trainer_vacate(trainer);
    room = room > PLIM__PAGE_BYTES ? room - PLIM__PAGE_BYTES : 0;
    plim_report *report;
    PLIM_TRY(plim__report_create(PLIM__SOURCE_RUN, &report, error));
    plim_status status = plim__trace_read_within(trace, room, &report->timeline, &shown, error);
    if (status == PLIM_OK) status = plim_report_save(report, page, error);
    plim_report_free(report);
    if (every) *every = shown;
    return status;
}
