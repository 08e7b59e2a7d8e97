/* The page: its frame, style and scripts are in the program; what is written here is the data. The frame has
 * a mark @@name@@ where each part goes. */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "plimsoll/version.h"
#include "report/page_assets.h"
#include "report/page_data.h"
#include "report/report.h"

typedef struct page {
    const plim__timeline *timeline;
    const plim__summary *summary;
    plim__file_writer file;
    plim_error *error;
} page;

static plim_status put(page *p, const char *text, size_t length) {
    return plim__file_writer_write(&p->file, text, length, p->error);
}

/* For the title: what HTML would take for markup becomes text. */
static plim_status put_escaped(page *p, const char *text) {
    for (; *text; text++) {
        const char *as = *text == '<' ? "&lt;" : *text == '&' ? "&amp;" : *text == '>' ? "&gt;" : NULL;
        PLIM_TRY(as ? put(p, as, strlen(as)) : put(p, text, 1));
    }
    return PLIM_OK;
}

static json_t *words(unsigned count, const char *(*word)(unsigned)) {
    json_t *out = json_array();
    for (unsigned i = 0; i < count; i++) json_array_append_new(out, json_string(word(i)));
    return out;
}

static const char *kind_word(unsigned i) { return plim__kind_word((plim__memory_kind)i); }
static const char *kind_title(unsigned i) { return plim__kind_title((plim__memory_kind)i); }
static const char *phase_word(unsigned i) { return plim__phase_word((plim__memory_phase)i); }
static const char *dtype_word(unsigned i) { return i ? plim_dtype_name((plim_dtype)i) : ""; }

/* How many rows each column has, and the words behind the small numbers in them. */
static json_t *layout_json(const plim__timeline *timeline) {
    json_t *series = json_array();
    for (size_t i = 0; i < timeline->series.count; i++) {
        if (timeline->series.items[i].numbers) continue;
        json_array_append_new(series, json_pack("{s:s, s:I}", "name",
                                                plim__timeline_get(timeline, timeline->series.items[i].name), "samples",
                                                (json_int_t)timeline->series.items[i].samples.count));
    }
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "texts",
                     (json_int_t)timeline->texts.count, "tensors", (json_int_t)timeline->tensors.count, "lives",
                     (json_int_t)timeline->lives.count, "stacks", (json_int_t)timeline->stacks.count, "marks",
                     (json_int_t)timeline->marks.count, "ticks", (json_int_t)timeline->ticks, "times",
                     (json_int_t)timeline->seconds.count, "segments", (json_int_t)timeline->segments.count, "blocks",
                     (json_int_t)timeline->blocks.count, "series", series, "kinds", words(PLIM__KIND_COUNT, kind_word),
                     "kindTitles", words(PLIM__KIND_COUNT, kind_title), "phases", words(PLIM__PHASE_COUNT, phase_word),
                     "dtypes", words(PLIM_DTYPE_COUNT, dtype_word));
}

/* "<" could end the script element that holds the JSON; \u003c means the same to JSON and nothing to HTML. */
static plim_status put_meta(page *p) {
    json_t *meta = json_pack("{s:o, s:o, s:s}", "layout", layout_json(p->timeline), "summary",
                             plim__report_json(p->timeline, p->summary), "version", PLIM_VERSION_STRING);
    plim__str text = {0};
    plim_status status = plim__json_print(&text, meta, JSON_COMPACT | JSON_PRESERVE_ORDER)
                             ? PLIM_OK
                             : plim__fail_memory(p->error, "the page's summary", text.length + 1);
    json_decref(meta);
    for (const char *at = plim__str_text(&text), *end; status == PLIM_OK && *at; at = end) {
        end = at + strcspn(at, "<");
        status = put(p, at, (size_t)(end - at));
        if (status == PLIM_OK && *end == '<') {
            status = put(p, "\\u003c", 6);
            end++;
        }
    }
    plim__str_free(&text);
    return status;
}

static plim_status put_part(page *p, const char *name, size_t length) {
#define IS(word) (length == sizeof(word) - 1 && memcmp(name, word, length) == 0)
    if (IS("title")) return put_escaped(p, plim__timeline_get(p->timeline, p->timeline->title));
    if (IS("style")) return put(p, plim__page_style, strlen(plim__page_style));
    if (IS("script")) return put(p, plim__page_script, strlen(plim__page_script));
    if (IS("meta")) return put_meta(p);
    if (IS("data")) return plim__page_data_write(p->timeline, &p->file, p->error);
#undef IS
    return plim__fail(p->error, PLIM_INTERNAL, "the page has no part '%.*s'", (int)length, name);
}

static plim_status put_page(page *p) {
    const char *at = plim__page_html, *open;
    while ((open = strstr(at, "@@"))) {
        const char *close = strstr(open + 2, "@@");
        if (!close) break;
        PLIM_TRY(put(p, at, (size_t)(open - at)));
        PLIM_TRY(put_part(p, open + 2, (size_t)(close - open - 2)));
        at = close + 2;
    }
    return put(p, at, strlen(at));
}

plim_status plim__report_html(const plim__timeline *timeline, const plim__summary *summary, const char *path,
                              plim_error *error) {
    page p = {.timeline = timeline, .summary = summary, .error = error};
    PLIM_TRY(plim__file_writer_open(&p.file, path, error));
    plim_status status = put_page(&p);
    if (status == PLIM_OK) status = plim__file_writer_commit(&p.file, error);
    plim__file_writer_discard(&p.file);
    return status;
}
