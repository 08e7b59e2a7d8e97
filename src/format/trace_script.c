/* Scripts: cues sorted by tick, made by counting. */
#include "format/trace_script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/file.h"

enum { CUE_PHASE, CUE_OPERATOR, CUE_DEATH, CUE_BIRTH, CUE_TYPES };

static bool is_persistent(const plim__timeline_life *life) { return life->born == 0 && life->died == PLIM__NEVER; }

static uint32_t last_tick(const plim__timeline *timeline) {
    uint32_t last = timeline->ticks;
    for (size_t i = 0; i < timeline->lives.count; i++)
        if (timeline->lives.items[i].died != PLIM__NEVER && timeline->lives.items[i].died > last)
            last = timeline->lives.items[i].died;
    return last;
}

/* --- making --------------------------------------------------------------------------------------------------- */

/* Visits every cue: `buffers` and `operators` are ids by life and by mark. The first pass counts, the second places. */
typedef struct visit {
    plim__trace_script *script;
    uint32_t *next; /* of each tick: where its next cue goes; NULL while counting */
} visit;

static void put(visit *v, uint32_t tick, plim__trace_cue cue) {
    if (v->next)
        v->script->cues[v->next[tick]++] = cue;
    else
        v->script->first[tick + 1]++;
}

static void visit_all(visit *v, const plim__timeline *timeline, const uint32_t *buffers, const uint32_t *operators) {
    for (size_t i = 0; i < timeline->marks.count; i++) {
        const plim__timeline_mark *mark = &timeline->marks.items[i];
        if (mark->type == PLIM__MARK_PHASE)
            put(v, mark->tick, (plim__trace_cue){.id = (uint32_t)mark->value, .what = CUE_PHASE});
        if (mark->type == PLIM__MARK_OPERATOR)
            put(v, mark->tick, (plim__trace_cue){.id = operators[i], .what = CUE_OPERATOR});
    }
    for (size_t i = 0; i < timeline->lives.count; i++) {
        const plim__timeline_life *life = &timeline->lives.items[i];
        if (!is_persistent(life) && life->died != PLIM__NEVER)
            put(v, life->died, (plim__trace_cue){.id = buffers[i], .born = life->born, .what = CUE_DEATH});
    }
    for (size_t i = 0; i < timeline->lives.count; i++)
        if (!is_persistent(&timeline->lives.items[i]))
            put(v, timeline->lives.items[i].born, (plim__trace_cue){.id = buffers[i], .what = CUE_BIRTH});
}

static plim_status define(plim__trace *trace, const plim__timeline *timeline, plim__trace_script *script,
                          uint32_t *buffers, uint32_t *operators, plim_error *error) {
    for (size_t i = 0; i < timeline->lives.count; i++) {
        const plim__timeline_life *life = &timeline->lives.items[i];
        PLIM_TRY(plim__trace_define_life(trace, timeline, life, &buffers[i], error));
        if (is_persistent(life)) script->persistent[script->persistent_count++] = buffers[i];
    }
    for (size_t i = 0; i < timeline->marks.count; i++) {
        const plim__timeline_mark *mark = &timeline->marks.items[i];
        if (mark->type == PLIM__MARK_OPERATOR)
            PLIM_TRY(
                plim__trace_define_operator(trace, plim__timeline_get(timeline, mark->text), &operators[i], error));
    }
    return PLIM_OK;
}

static plim_status make(plim__trace *trace, const plim__timeline *timeline, plim__trace_script *script, uint32_t *ids,
                        uint32_t *next, plim_error *error) {
    uint32_t *buffers = ids, *operators = ids + timeline->lives.count;
    PLIM_TRY(define(trace, timeline, script, buffers, operators, error));
    visit v = {.script = script};
    visit_all(&v, timeline, buffers, operators);
    for (uint32_t t = 0; t < script->ticks; t++) script->first[t + 1] += script->first[t];
    for (uint32_t t = 0; t < script->ticks; t++) next[t] = script->first[t];
    script->cues = plim__alloc_array((size_t)script->first[script->ticks] + 1, sizeof *script->cues);
    if (!script->cues) return plim__fail_memory(error, "a recording", script->first[script->ticks]);
    v.next = next;
    visit_all(&v, timeline, buffers, operators);
    return PLIM_OK;
}

plim_status plim__trace_script_make(plim__trace *trace, const plim__timeline *timeline, plim__trace_script *script,
                                    plim_error *error) {
    *script = (plim__trace_script){.ticks = last_tick(timeline) + 1};
    script->first = plim__alloc_zero((size_t)script->ticks + 2, sizeof *script->first);
    script->persistent = plim__alloc_array(timeline->lives.count + 1, sizeof *script->persistent);
    uint32_t *ids = plim__alloc_array(timeline->lives.count + timeline->marks.count + 1, sizeof *ids);
    uint32_t *next = plim__alloc_array((size_t)script->ticks + 1, sizeof *next);
    plim_status status = script->first && script->persistent && ids && next
                             ? make(trace, timeline, script, ids, next, error)
                             : plim__fail_memory(error, "a recording", script->ticks * sizeof *next);
    plim__free(ids);
    plim__free(next);
    return status;
}

void plim__trace_script_free(plim__trace_script *script) {
    plim__free(script->first);
    plim__free(script->cues);
    plim__free(script->persistent);
    *script = (plim__trace_script){0};
}

/* --- playing -------------------------------------------------------------------------------------------------- */

void plim__trace_script_keep(plim__trace *trace, const plim__trace_script *script) {
    for (size_t i = 0; i < script->persistent_count; i++) plim__trace_born(trace, script->persistent[i]);
}

void plim__trace_script_drop(plim__trace *trace, const plim__trace_script *script) {
    for (size_t i = 0; i < script->persistent_count; i++) plim__trace_died(trace, script->persistent[i]);
}

void plim__trace_script_play(plim__trace *trace, const plim__trace_script *script, uint32_t tick) {
    if (tick >= script->ticks) return;
    for (uint32_t i = script->first[tick]; i < script->first[tick + 1]; i++) {
        const plim__trace_cue *cue = &script->cues[i];
        switch (cue->what) {
        case CUE_PHASE: plim__trace_phase(trace, (plim__memory_phase)cue->id); break;
        case CUE_OPERATOR: plim__trace_operator(trace, cue->id); break;
        case CUE_DEATH: plim__trace_died(trace, cue->id); break;
        default: plim__trace_born(trace, cue->id); break;
        }
    }
}

void plim__trace_script_break(plim__trace *trace, const plim__trace_script *script, uint32_t tick) {
    if (tick >= script->ticks) return;
    for (uint32_t i = script->first[tick + 1]; i < script->first[script->ticks]; i++) {
        const plim__trace_cue *cue = &script->cues[i];
        if (cue->what == CUE_DEATH && cue->born <= tick) plim__trace_died(trace, cue->id);
    }
    plim__trace_flush(trace);
}

/* --- a whole timeline ----------------------------------------------------------------------------------------- */

plim_status plim__trace_write_head(plim__trace *trace, const plim__timeline *timeline, plim_error *error) {
    PLIM_TRY(plim__trace_set_title(trace, plim__timeline_get(timeline, timeline->title), error));
    if (timeline->budget) PLIM_TRY(plim__trace_set_budget(trace, timeline->budget, error));
    if (timeline->capacity) PLIM_TRY(plim__trace_set_capacity(trace, timeline->capacity, error));
    for (size_t i = 0; i < timeline->facts.count; i++)
        PLIM_TRY(plim__trace_add_fact(trace, plim__timeline_get(timeline, timeline->facts.items[i].name),
                                      plim__timeline_get(timeline, timeline->facts.items[i].value), error));
    for (size_t i = 0; i < timeline->frontier.count; i++) {
        const plim__timeline_point point = plim__timeline_point_at(timeline, i);
        PLIM_TRY(plim__trace_add_frontier(trace, &point, error));
    }
    for (size_t i = 0; i < timeline->comparisons.count; i++) {
        const plim__timeline_comparison *pair = &timeline->comparisons.items[i];
        PLIM_TRY(plim__trace_add_comparison(trace, plim__timeline_get(timeline, pair->what), pair->planned,
                                            pair->measured, error));
    }
    if (timeline->plan) plim__trace_add_plan(trace, timeline->plan);
    return PLIM_OK;
}

static plim_status write_all(plim__trace *trace, const plim__timeline *timeline, plim_error *error) {
    plim__trace_script script = {0};
    PLIM_TRY(plim__trace_write_head(trace, timeline, error));
    plim_status status = plim__trace_script_make(trace, timeline, &script, error);
    if (status == PLIM_OK) {
        if (timeline->seconds.count) plim__trace_expect(trace, 0);
        plim__trace_script_keep(trace, &script);
        for (uint32_t t = 0; t < script.ticks; t++) {
            if (t < timeline->seconds.count) plim__trace_expect(trace, timeline->seconds.items[t]);
            plim__trace_script_play(trace, &script, t);
        }
    }
    plim__trace_script_free(&script);
    return status;
}

/* It appears whole or not at all. */
plim_status plim__trace_write_timeline(const plim__timeline *timeline, const char *path, plim_error *error) {
    plim__file_writer writer;
    plim__trace *trace;
    PLIM_TRY(plim__file_writer_open(&writer, path, error));
    int fd = fcntl(fileno(writer.stream), F_DUPFD_CLOEXEC, 0);
    plim_status status = fd < 0 ? plim__fail_errno(error, errno, "cannot write '%s'", path)
                                : plim__trace_open_at(fd, path, timeline->source, &trace, error);
    if (status == PLIM_OK) {
        status = write_all(trace, timeline, error);
        plim_status closed = plim__trace_close(trace, status ? NULL : error);
        if (status == PLIM_OK) status = closed;
    }
    if (status == PLIM_OK) status = plim__file_writer_commit(&writer, error);
    plim__file_writer_discard(&writer);
    return status;
}
