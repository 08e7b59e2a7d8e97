/* The report as JSON. */
#include <math.h>
#include <string.h>

#include "report/curves.h"
#include "report/report.h"

/* jansson keeps the first failure to itself when a NULL is appended; so a set that fails is noted here. */
typedef struct builder {
    bool failed;
} builder;

static void set(builder *b, json_t *object, const char *key, json_t *value) {
    if (json_object_set_new(object, key, value) != 0) b->failed = true;
}

static void append(builder *b, json_t *array, json_t *value) {
    if (json_array_append_new(array, value) != 0) b->failed = true;
}

static json_t *bytes_of(uint64_t bytes) { return json_integer((json_int_t)bytes); }

static json_t *known_bytes(uint64_t bytes) { return bytes ? bytes_of(bytes) : json_null(); }

static json_t *text_of(const plim__timeline *timeline, plim__text_id id) {
    return json_string(plim__timeline_get(timeline, id));
}

static json_t *frames_of(builder *b, const plim__timeline *timeline, uint32_t stack) {
    json_t *frames = json_array();
    for (int python = 1; python >= 0; python--) /* a user's own lines come first */
        for (uint32_t at = stack; at && at < timeline->stacks.count; at = timeline->stacks.items[at].parent)
            if ((strstr(plim__timeline_get(timeline, timeline->stacks.items[at].frame), ".py:") != NULL) == python)
                append(b, frames, text_of(timeline, timeline->stacks.items[at].frame));
    return frames;
}

static json_t *life_json(builder *b, const plim__timeline *timeline, uint32_t index, uint64_t peak) {
    const plim__timeline_life *life = &timeline->lives.items[index];
    const plim__timeline_tensor *tensor = &timeline->tensors.items[life->tensor];
    json_t *out = json_object();
    set(b, out, "name", text_of(timeline, tensor->name));
    set(b, out, "layer", text_of(timeline, tensor->layer));
    set(b, out, "operator", text_of(timeline, tensor->operation));
    set(b, out, "kind", json_string(plim__kind_word(tensor->kind)));
    set(b, out, "phase", json_string(plim__phase_word(tensor->phase)));
    set(b, out, "shape", text_of(timeline, tensor->shape));
    set(b, out, "dtype", tensor->dtype ? json_string(plim_dtype_name(tensor->dtype)) : json_null());
    set(b, out, "bytes", bytes_of(life->bytes));
    set(b, out, "share_of_peak", json_real(peak ? (double)life->bytes / (double)peak : 0));
    set(b, out, "offset", life->offset == PLIM__NO_OFFSET ? json_null() : bytes_of(life->offset));
    set(b, out, "born", json_integer(life->born));
    set(b, out, "died", life->died == PLIM__NEVER ? json_null() : json_integer(life->died));
    if (life->stack) set(b, out, "stack", frames_of(b, timeline, life->stack));
    return out;
}

static json_t *holders_json(builder *b, const plim__timeline *timeline, const plim__holders *holders, uint64_t whole) {
    json_t *out = json_array();
    for (size_t i = 0; i < holders->count; i++) {
        const struct plim__holder *holder = &holders->items[i];
        json_t *row = life_json(b, timeline, holder->life, whole);
        set(b, row, "count", json_integer(holder->count));
        set(b, row, "bytes", bytes_of(holder->bytes));
        set(b, row, "share_of_peak", json_real(whole ? (double)holder->bytes / (double)whole : 0));
        append(b, out, row);
    }
    return out;
}

static json_t *peak_json(builder *b, const plim__timeline *timeline, const plim__summary *summary) {
    json_t *out = json_object(), *kinds = json_object();
    plim__str place = {0};
    plim__report_place(timeline, summary->peak_tick, &place);
    set(b, out, "bytes", bytes_of(summary->peak));
    set(b, out, "tick", json_integer(summary->peak_tick));
    set(b, out, "seconds",
        timeline->seconds.count ? json_real(timeline->seconds.items[summary->peak_tick]) : json_null());
    set(b, out, "place", json_string(plim__str_text(&place)));
    plim__str_free(&place);
    for (unsigned k = 0; k < PLIM__KIND_COUNT; k++)
        if (summary->kinds[k]) set(b, kinds, plim__kind_word(k), bytes_of(summary->kinds[k]));
    set(b, out, "kinds", kinds);
    set(b, out, "holders", holders_json(b, timeline, &summary->holders, summary->peak));
    set(b, out, "other_buffers", json_integer((json_int_t)summary->holders.smaller));
    set(b, out, "other_bytes", bytes_of(summary->peak - summary->holders.bytes));
    return out;
}

static json_t *explanation_json(builder *b, const plim_explanation *x) {
    json_t *out = json_object(), *evidence = json_array(), *fixes = json_array();
    for (int i = 0; i < x->evidence_count; i++) append(b, evidence, json_string(x->evidence[i]));
    for (int i = 0; i < x->fix_count; i++) {
        json_t *fix = json_object();
        set(b, fix, "title", json_string(x->fixes[i].title));
        set(b, fix, "setting", json_string(x->fixes[i].setting));
        append(b, fixes, fix);
    }
    set(b, out, "cause", json_string(plim_cause_name(x->cause)));
    set(b, out, "headline", json_string(x->headline));
    set(b, out, "evidence", evidence);
    set(b, out, "fixes", fixes);
    return out;
}

/* The last refusal at its moment, and the answer that `explain` gives to its message. */
static json_t *refusal_json(builder *b, const plim__timeline *timeline, const plim__summary *summary) {
    const plim__refusal *refusal = &summary->refusal;
    if (!refusal->is_set) return json_null();
    json_t *out = json_object();
    set(b, out, "tick", json_integer(refusal->tick));
    set(b, out, "requested_bytes", bytes_of(refusal->requested));
    set(b, out, "live_bytes", bytes_of(refusal->live));
    set(b, out, "reserved_bytes", refusal->reserved == UINT64_MAX ? json_null() : bytes_of(refusal->reserved));
    set(b, out, "free_bytes", refusal->unused == UINT64_MAX ? json_null() : bytes_of(refusal->unused));
    set(b, out, "holders", holders_json(b, timeline, &refusal->holders, refusal->live));
    set(b, out, "stack", frames_of(b, timeline, refusal->stack));
    set(b, out, "explanation", refusal->explanation ? explanation_json(b, refusal->explanation) : json_null());
    return out;
}

static json_t *allocator_json(builder *b, const plim__timeline *timeline, const plim__summary *summary) {
    const plim__allocator_figures *figures = &summary->allocator;
    json_t *out = json_object();
    set(b, out, "segments", json_integer((json_int_t)timeline->segments.count));
    set(b, out, "blocks", json_integer((json_int_t)timeline->blocks.count));
    set(b, out, "reserved_bytes", bytes_of(figures->reserved));
    set(b, out, "allocated_bytes", bytes_of(figures->allocated));
    set(b, out, "requested_bytes", bytes_of(figures->requested));
    set(b, out, "pending_bytes", bytes_of(figures->pending));
    set(b, out, "unused_bytes", bytes_of(figures->unused));
    set(b, out, "stuck_bytes", bytes_of(figures->stuck));
    set(b, out, "free_blocks", json_integer((json_int_t)figures->free_blocks));
    set(b, out, "largest_free_bytes", bytes_of(figures->largest_free));
    set(b, out, "fragmentation", json_real(plim__fragmentation(figures)));
    set(b, out, "fragmented", json_boolean(summary->fragmented));
    return out;
}

static json_t *loop_json(builder *b, const plim__timeline *timeline, const plim__summary *summary) {
    const plim__loop_figures *loop = &summary->loop;
    json_t *out = json_object(), *leaks = json_array();
    set(b, out, "steps", json_integer(loop->steps));
    set(b, out, "steps_inferred", json_boolean(loop->inferred));
    set(b, out, "leaking", json_boolean(loop->leaks.count > 0));
    set(b, out, "fragmenting", json_boolean(loop->fragmenting));
    set(b, out, "leaked_bytes_per_step", json_real(loop->leaked_per_step));
    set(b, out, "footprint_bytes", bytes_of(loop->footprint));
    set(b, out, "footprint_bytes_per_step", json_real(loop->fragmenting ? loop->footprint_per_step : 0));
    set(b, out, "live_bytes", bytes_of(loop->live));
    set(b, out, "limit_bytes", known_bytes(loop->limit));
    set(b, out, "runs_out_at_step", loop->runs_out ? json_integer((json_int_t)loop->runs_out) : json_null());
    for (size_t i = 0; i < loop->leaks.count; i++) {
        const plim__leak *leak = &loop->leaks.items[i];
        json_t *row = life_json(b, timeline, leak->example, summary->peak);
        set(b, row, "life", json_integer(leak->example));
        set(b, row, "held_buffers", json_integer(leak->count));
        set(b, row, "held_bytes", bytes_of(leak->bytes));
        set(b, row, "buffers_per_step", json_real(leak->count_per_step));
        set(b, row, "bytes_per_step", json_real(leak->bytes_per_step));
        append(b, leaks, row);
    }
    set(b, out, "leaks", leaks);
    return out;
}

static json_t *frontier_json(builder *b, const plim__timeline *timeline) {
    json_t *out = json_array();
    for (size_t i = 0; i < timeline->frontier.count; i++) {
        const plim__timeline_plan *point = &timeline->frontier.items[i];
        json_t *row = json_object();
        set(b, row, "budget_bytes", bytes_of(point->budget));
        set(b, row, "peak_bytes", bytes_of(point->peak));
        set(b, row, "seconds", json_real(point->seconds));
        set(b, row, "plan", text_of(timeline, point->label));
        if (point->command) set(b, row, "command", text_of(timeline, point->command));
        set(b, row, "chosen", json_boolean(point->chosen));
        append(b, out, row);
    }
    return out;
}

static json_t *comparisons_json(builder *b, const plim__timeline *timeline) {
    json_t *out = json_array();
    for (size_t i = 0; i < timeline->comparisons.count; i++) {
        const plim__timeline_comparison *comparison = &timeline->comparisons.items[i];
        json_t *row = json_object();
        set(b, row, "what", text_of(timeline, comparison->what));
        set(b, row, "planned_bytes", bytes_of(comparison->planned));
        set(b, row, "measured_bytes", bytes_of(comparison->measured));
        append(b, out, row);
    }
    return out;
}

/* Lines beside the buffers: resident memory, the loss. */
static json_t *series_json(builder *b, const plim__timeline *timeline) {
    json_t *out = json_array();
    for (size_t i = 0; i < timeline->series.count; i++) {
        const plim__timeline_series *series = &timeline->series.items[i];
        json_t *row = json_object();
        double first = 0, last = 0, most = 0;
        for (size_t k = 0; k < series->samples.count; k++) {
            uint64_t bits = series->samples.items[k].bytes;
            if (series->numbers)
                memcpy(&last, &bits, sizeof last);
            else
                last = (double)bits;
            if (k == 0) first = most = last;
            if (last > most) most = last;
        }
        set(b, row, "name", text_of(timeline, series->name));
        set(b, row, "unit", json_string(series->numbers ? "number" : "bytes"));
        set(b, row, "samples", json_integer((json_int_t)series->samples.count));
        set(b, row, "first", isfinite(first) ? json_real(first) : json_null());
        set(b, row, "last", isfinite(last) ? json_real(last) : json_null());
        set(b, row, "most", isfinite(most) ? json_real(most) : json_null());
        set(b, row, "curve", plim__curve_json(timeline, series));
        append(b, out, row);
    }
    return out;
}

static json_t *refused_json(builder *b, const plim__timeline *timeline) {
    json_t *out = json_array();
    for (size_t i = 0; i < timeline->marks.count; i++) {
        const plim__timeline_mark *mark = &timeline->marks.items[i];
        if (mark->type != PLIM__MARK_OOM) continue;
        json_t *row = json_object();
        set(b, row, "tick", json_integer(mark->tick));
        set(b, row, "requested_bytes", bytes_of(mark->value));
        set(b, row, "text", text_of(timeline, mark->text));
        append(b, out, row);
    }
    return out;
}

json_t *plim__report_json(const plim__timeline *timeline, const plim__summary *summary) {
    builder b = {false};
    json_t *out = json_object(), *facts = json_object();
    set(&b, out, "source", json_string(plim__source_word(timeline->source)));
    set(&b, out, "title", text_of(timeline, timeline->title));
    set(&b, out, "cut", timeline->cut ? text_of(timeline, timeline->cut) : json_null());
    for (size_t i = 0; i < timeline->facts.count; i++)
        set(&b, facts, plim__timeline_get(timeline, timeline->facts.items[i].name),
            text_of(timeline, timeline->facts.items[i].value));
    set(&b, out, "facts", facts);
    set(&b, out, "events", json_integer((json_int_t)summary->events));
    set(&b, out, "lifetimes", json_integer((json_int_t)timeline->lives.count));
    set(&b, out, "tensors", json_integer((json_int_t)timeline->tensors.count));
    set(&b, out, "ticks", json_integer(timeline->ticks));
    set(&b, out, "seconds", timeline->seconds.count ? json_real(summary->seconds) : json_null());
    set(&b, out, "budget_bytes", known_bytes(timeline->budget));
    set(&b, out, "capacity_bytes", known_bytes(timeline->capacity));
    set(&b, out, "peak", peak_json(&b, timeline, summary));
    set(&b, out, "arena_bytes", known_bytes(summary->extent));
    set(&b, out, "held_at_end_bytes", bytes_of(summary->held_at_end));
    set(&b, out, "allocator", timeline->segments.count ? allocator_json(&b, timeline, summary) : json_null());
    set(&b, out, "out_of_memory", refused_json(&b, timeline));
    set(&b, out, "refusal", refusal_json(&b, timeline, summary));
    set(&b, out, "loop", loop_json(&b, timeline, summary));
    set(&b, out, "frontier", frontier_json(&b, timeline));
    set(&b, out, "planned_and_measured", comparisons_json(&b, timeline));
    set(&b, out, "series", series_json(&b, timeline));
    if (!b.failed) return out;
    json_decref(out);
    return NULL;
}
