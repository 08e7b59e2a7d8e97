/* Explanations on the terminal, and as JSON. */
#include "cli/explanation.h"

#include <math.h>
#include <string.h>

#include "plimsoll/status.h"

static json_t *amount_json(plim_amount amount) {
    return amount.known && amount.bytes <= INT64_MAX ? json_integer((json_int_t)amount.bytes) : json_null();
}

/* Messages may hold bytes that are not UTF-8; those become question marks. */
static json_t *text_json(const char *text) {
    json_t *made = json_string(text);
    if (made) return made;
    char plain[512];
    size_t length = 0;
    for (; *text && length + 1 < sizeof plain; text++) plain[length++] = (unsigned char)*text < 128 ? *text : '?';
    plain[length] = 0;
    return json_string(plain);
}

static json_t *shape_json(const plim_explanation *x) {
    if (x->rank < 0) return json_null();
    json_t *shape = json_array();
    for (int i = 0; i < x->rank; i++) json_array_append_new(shape, json_integer(x->shape[i]));
    return shape;
}

static json_t *fixes_json(const plim_explanation *x) {
    json_t *fixes = json_array();
    for (int i = 0; i < x->fix_count; i++) {
        const plim_fix *fix = &x->fixes[i];
        json_array_append_new(
            fixes, json_pack("{s:s, s:o, s:o, s:o, s:o, s:i}", "title", fix->title, "setting", text_json(fix->setting),
                             "saving_bytes", amount_json(fix->saving), "saving_is",
                             fix->saving_note[0] ? json_string(fix->saving_note) : json_null(), "reaches",
                             fix->reaches < 0 ? json_null() : json_boolean(fix->reaches), "cost", fix->cost));
    }
    return fixes;
}

static json_t *holders_json(const plim_explanation *x) {
    json_t *holders = json_array();
    for (int i = 0; i < x->holder_count; i++) {
        const plim_holder *holder = &x->holders[i];
        json_array_append_new(holders,
                              json_pack("{s:I, s:I, s:o, s:o}", "bytes", (json_int_t)(holder->bytes & INT64_MAX),
                                        "count", (json_int_t)(holder->count & INT64_MAX), "shape_guess",
                                        holder->guess[0] ? json_string(holder->guess) : json_null(), "what",
                                        holder->what[0] ? text_json(holder->what) : json_null()));
    }
    return holders;
}

static json_t *count_json(int64_t count) { return count >= 0 ? json_integer(count) : json_null(); }

static json_t *place_json(const plim_explanation *x) {
    const plim_place *place = &x->place;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "file",
                     place->file[0] ? text_json(place->file) : json_null(), "line", count_json(place->line), "function",
                     place->function[0] ? text_json(place->function) : json_null(), "code",
                     place->code[0] ? text_json(place->code) : json_null(), "epoch", count_json(place->epoch), "step",
                     count_json(place->step), "step_count", count_json(place->step_count));
}

json_t *plim__explanation_json(const plim_explanation *x) {
    json_t *evidence = json_array();
    for (int i = 0; i < x->evidence_count; i++) json_array_append_new(evidence, text_json(x->evidence[i]));
    json_t *object = json_object();
    json_object_set_new(object, "found", json_boolean(x->found));
    json_object_set_new(object, "framework", json_string(x->framework));
    json_object_set_new(object, "device",
                        json_pack("{s:s?, s:o}", "kind", x->device_kind, "index",
                                  x->device_index >= 0 ? json_integer(x->device_index) : json_null()));
    json_object_set_new(object, "requested_bytes", amount_json(x->requested));
    json_object_set_new(object, "requested_exact", x->requested.known ? json_boolean(x->requested.exact) : json_null());
    json_object_set_new(object, "shape", shape_json(x));
    json_object_set_new(object, "dtype", x->dtype[0] ? text_json(x->dtype) : json_null());
    json_object_set_new(object, "shape_bytes", amount_json(x->shape_bytes));
    json_object_set_new(object, "capacity_bytes", amount_json(x->capacity));
    json_object_set_new(object, "allocated_bytes", amount_json(x->allocated));
    json_object_set_new(object, "reserved_bytes", amount_json(x->reserved));
    json_object_set_new(object, "free_bytes", amount_json(x->free));
    json_object_set_new(object, "process_bytes", amount_json(x->process));
    json_object_set_new(object, "other_process_bytes", amount_json(x->other_process));
    json_object_set_new(object, "limit_bytes", amount_json(x->limit));
    json_object_set_new(object, "largest_free_bytes", amount_json(x->largest_free));
    json_object_set_new(object, "shortfall_bytes", amount_json(x->shortfall));
    json_object_set_new(object, "cause", json_string(plim_cause_name(x->cause)));
    json_object_set_new(object, "headline", x->headline[0] ? text_json(x->headline) : json_null());
    json_object_set_new(object, "phase",
                        x->phase != PLIM_PHASE_UNKNOWN ? json_string(plim_phase_name(x->phase)) : json_null());
    json_object_set_new(object, "place", place_json(x));
    json_object_set_new(object, "recurrence", x->recurrence[0] ? json_string(x->recurrence) : json_null());
    json_object_set_new(object, "unread", x->unread[0] ? text_json(x->unread) : json_null());
    json_object_set_new(object, "confidence", json_real(round(x->confidence * 100) / 100));
    json_object_set_new(object, "evidence", evidence);
    json_object_set_new(object, "fixes", fixes_json(x));
    json_object_set_new(object, "holders", holders_json(x));
    json_object_set_new(object, "fragmentation",
                        x->fragmentation >= 0 ? json_real(round(x->fragmentation * 1e4) / 1e4) : json_null());
    json_object_set_new(object, "version", x->version[0] ? json_string(x->version) : json_null());
    json_object_set_new(object, "message", x->message[0] ? text_json(x->message) : json_null());
    json_object_set_new(object, "failures", json_integer((json_int_t)(x->failures & INT64_MAX)));
    return object;
}

void plim__explanation_print(plim__str *out, const plim__terminal *terminal, const plim_explanation *x) {
    plim_explanation_style style = {.size = sizeof style, .colour = terminal->colour, .unicode = terminal->unicode};
    style.width = terminal->width > 40 ? (terminal->width < 100 ? terminal->width : 100) : 80;
    char *text;
    if (plim_explanation_print(x, &style, &text, NULL) == PLIM_OK)
        plim__str_add(out, text);
    else
        out->failed = true;
    plim_text_free(text);
}
