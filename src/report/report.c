/* Reports as the public API has them: a timeline, and its numbers once they are asked for. */
#include <string.h>

#include "core/alloc.h"
#include "core/arguments.h"
#include "core/json.h"
#include "report/report.h"

plim_status plim__report_create(plim__timeline_source source, plim_report **report, plim_error *error) {
    *report = plim__alloc_zero(1, sizeof **report);
    if (!*report) return plim__fail_memory(error, "a report", sizeof **report);
    plim__timeline_init(&(*report)->timeline, source);
    return PLIM_OK;
}

plim_status plim__report_end(plim_report **report, plim_status status) {
    if (status == PLIM_OK) return PLIM_OK;
    plim_report_free(*report);
    *report = NULL;
    return status;
}

void plim_report_free(plim_report *r) {
    if (!r) return;
    if (r->summed) plim__summary_free(&r->summary);
    plim__timeline_free(&r->timeline);
    plim__free(r);
}

plim_status plim_report_load(const char *path, int device, plim_report **report, plim_error *error) {
    PLIM__NEED(report, error);
    *report = NULL;
    PLIM__NEED(path, error);
    if (device < -1) return plim__fail(error, PLIM_INVALID, "plim_report_load: there is no device %d", device);
    PLIM_TRY(plim__report_create(PLIM__SOURCE_RUN, report, error));
    return plim__report_end(report, plim__report_read(path, device, &(*report)->timeline, error));
}

/* The numbers are found once; what changes the timeline drops them. */
static void drop_summary(plim_report *r) {
    if (r->summed) plim__summary_free(&r->summary);
    r->summed = false;
}

static plim_status sum_up(plim_report *r, plim_error *error) {
    if (r->summed) return PLIM_OK;
    PLIM_TRY(plim__summary_make(&r->timeline, &r->summary, error));
    r->summed = true;
    return PLIM_OK;
}

plim_status plim_report_add_fact(plim_report *report, const char *name, const char *value, plim_error *error) {
    PLIM__NEED(report, error);
    PLIM__NEED(name, error);
    PLIM__NEED(value, error);
    return plim__timeline_add_fact(&report->timeline, name, value, error);
}

plim_status plim_report_set_budget(plim_report *report, uint64_t bytes, plim_error *error) {
    PLIM__NEED(report, error);
    if (bytes == 0) return PLIM_OK;
    drop_summary(report);
    report->timeline.budget = bytes;
    return PLIM_OK;
}

plim_status plim_report_get_info(plim_report *report, plim_report_info *info, plim_error *error) {
    PLIM__NEED(info, error);
    *info = (plim_report_info){.note = ""};
    PLIM__NEED(report, error);
    PLIM_TRY(sum_up(report, error));
    *info = (plim_report_info){.peak_bytes = report->summary.peak,
                               .events = report->summary.events,
                               .note = plim__timeline_get(&report->timeline, report->timeline.cut)};
    return PLIM_OK;
}

plim_status plim_report_save(plim_report *report, const char *path, plim_error *error) {
    PLIM__NEED(report, error);
    PLIM__NEED(path, error);
    PLIM_TRY(sum_up(report, error));
    return plim__report_html(&report->timeline, &report->summary, path, error);
}

plim_status plim_report_export(plim_report *report, const char *format, const char *path, plim_error *error) {
    PLIM__NEED(report, error);
    PLIM__NEED(format, error);
    PLIM__NEED(path, error);
    PLIM_TRY(sum_up(report, error));
    if (strcmp(format, "torch-snapshot") == 0) return plim__export_torch(&report->timeline, path, error);
    if (strcmp(format, "perfetto") == 0) return plim__export_perfetto(&report->timeline, path, error);
    if (strcmp(format, "csv") == 0) return plim__export_csv(&report->timeline, &report->summary, path, error);
    return plim__fail(error, PLIM_INVALID, "there is no export '%s'; there are torch-snapshot, perfetto and csv",
                      format);
}

plim_status plim_report_print(plim_report *report, const plim_report_text_options *options, char **text,
                              plim_error *error) {
    plim_report_text_options o;
    PLIM__NEED(text, error);
    *text = NULL;
    PLIM__NEED(report, error);
    PLIM__OPTIONS(plim_report_text_options, o, options, error);
    enum { MOST = 10000 };
    if (o.width < 0 || o.width > MOST || o.height < 0 || o.height > MOST)
        return plim__fail(error, PLIM_INVALID, "a chart of %d x %d characters: expected from 0 to %d each", o.width,
                          o.height, MOST);
    PLIM_TRY(sum_up(report, error));
    plim__str out = {0};
    plim__report_text(
        &report->timeline, &report->summary,
        &(plim__text_options){.width = o.width, .height = o.height, .colour = o.colour, .unicode = o.unicode}, &out);
    if (out.failed) {
        plim__str_free(&out);
        return plim__fail_memory(error, "the text of a report", out.length);
    }
    *text = out.data;
    return PLIM_OK;
}

plim_status plim_report_print_json(plim_report *report, char **text, plim_error *error) {
    PLIM__NEED(text, error);
    *text = NULL;
    PLIM__NEED(report, error);
    PLIM_TRY(sum_up(report, error));
    json_t *object = plim__report_json(&report->timeline, &report->summary);
    plim__str out = {0};
    bool printed = object && plim__json_print(&out, object, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    json_decref(object);
    if (!printed) {
        plim__str_free(&out);
        return plim__fail_memory(error, "the JSON of a report", out.length);
    }
    *text = out.data;
    return PLIM_OK;
}
