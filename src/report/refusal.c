/* A refusal as PyTorch would have told it, and explain's answer to that: page and log give the same causes and fixes. */
#include <string.h>

#include "core/error.h"
#include "core/str.h"
#include "report/summary.h"

static const plim__timeline_mark *last_refusal(const plim__timeline *timeline) {
    for (size_t i = timeline->marks.count; i-- > 0;)
        if (timeline->marks.items[i].type == PLIM__MARK_OOM) return &timeline->marks.items[i];
    return NULL;
}

/* The series of that name at a tick; UINT64_MAX when there is none. */
static uint64_t sample_at(const plim__timeline *timeline, const char *name, uint32_t tick) {
    uint64_t found = UINT64_MAX;
    for (size_t s = 0; s < timeline->series.count; s++) {
        const plim__timeline_series *series = &timeline->series.items[s];
        if (series->numbers || strcmp(plim__timeline_get(timeline, series->name), name) != 0) continue;
        for (size_t i = 0; i < series->samples.count && series->samples.items[i].tick <= tick; i++)
            found = series->samples.items[i].bytes;
    }
    return found;
}

/* "train.py:12 step" as a traceback has it; the outermost frame first. */
static void add_frames(const plim__timeline *timeline, uint32_t stack, int depth, plim__str *text) {
    enum { DEEPEST = 200 };
    if (!stack || stack >= timeline->stacks.count || depth == DEEPEST) return;
    add_frames(timeline, timeline->stacks.items[stack].parent, depth + 1, text);
    const char *frame = plim__timeline_get(timeline, timeline->stacks.items[stack].frame);
    const char *file = strstr(frame, ".py:"), *space = file ? strchr(file, ' ') : NULL;
    if (!space) return;
    plim__str_addf(text, "  File \"%.*s.py\", line %.*s, in %s\n", (int)(file - frame), frame, (int)(space - file - 4),
                   file + 4, space + 1);
}

static void write_message(const plim__timeline *timeline, const plim__refusal *refusal, plim__str *text) {
    plim__str_add(text, "Traceback (most recent call last):\n");
    add_frames(timeline, refusal->stack, 0, text);
    plim__str_addf(text, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %llu bytes. GPU 0 ",
                   (unsigned long long)refusal->requested);
    if (timeline->capacity)
        plim__str_addf(text, "has a total capacity of %llu bytes ", (unsigned long long)timeline->capacity);
    if (refusal->unused != UINT64_MAX)
        plim__str_addf(text, "of which %llu bytes is free. ", (unsigned long long)refusal->unused);
    plim__str_addf(text, "Of the allocated memory %llu bytes is allocated by PyTorch",
                   (unsigned long long)refusal->live);
    if (refusal->reserved != UINT64_MAX && refusal->reserved >= refusal->live)
        plim__str_addf(text, ", and %llu bytes is reserved by PyTorch but unallocated",
                       (unsigned long long)(refusal->reserved - refusal->live));
    plim__str_add(text, ".\n");
}

static plim_status explain(const plim__timeline *timeline, plim__refusal *refusal, plim_error *error) {
    plim__str text = {0};
    plim_explainer *explainer = NULL;
    const plim_explanation *answer;
    write_message(timeline, refusal, &text);
    refusal->explanation = plim__alloc_zero(1, sizeof *refusal->explanation);
    plim_status status = text.failed || !refusal->explanation
                             ? plim__fail_memory(error, "the explanation of a refusal", sizeof *refusal->explanation)
                             : plim_explainer_create(&explainer, error);
    if (status == PLIM_OK) status = plim_explainer_feed(explainer, text.data, text.length, error);
    if (status == PLIM_OK) status = plim_explainer_finish(explainer, &answer, error);
    if (status == PLIM_OK) *refusal->explanation = *answer;
    plim_explainer_free(explainer);
    plim__str_free(&text);
    return status;
}

plim_status plim__refusal_find(const plim__timeline *timeline, plim__summary *summary, plim_error *error) {
    const plim__timeline_mark *mark = last_refusal(timeline);
    if (!mark || !timeline->ticks) return PLIM_OK;
    plim__refusal *refusal = &summary->refusal;
    /* it stands before the event of its tick, which may already free something */
    uint32_t tick = mark->tick ? mark->tick - 1 : 0;
    if (tick >= timeline->ticks) tick = timeline->ticks - 1;
    *refusal = (plim__refusal){.is_set = true,
                               .tick = tick,
                               .requested = mark->value,
                               .live = (uint64_t)summary->totals[tick],
                               .reserved = sample_at(timeline, "reserved", tick),
                               .unused = UINT64_MAX};
    for (size_t i = 0; i < timeline->refusals.count; i++)
        if (timeline->refusals.items[i].tick == mark->tick) {
            refusal->unused = timeline->refusals.items[i].unused;
            refusal->stack = timeline->refusals.items[i].stack;
        }
    PLIM_TRY(plim__holders_find(timeline, tick, &refusal->holders, error));
    return timeline->source == PLIM__SOURCE_TORCH ? explain(timeline, refusal, error) : PLIM_OK;
}
