/* Peak, holders and allocator figures. */
#include "report/summary.h"

#include <string.h>

#include "core/error.h"

static bool alive(const plim__timeline_life *life, uint32_t tick) { return life->born <= tick && tick < life->died; }

/* Live bytes at each tick: births add and deaths take at their tick, then a running sum. */
static plim_status find_totals(const plim__timeline *timeline, plim__summary *summary, plim_error *error) {
    int64_t *totals = plim__alloc_zero(timeline->ticks, sizeof *totals);
    if (!totals) return plim__fail_memory(error, "the totals of the timeline", timeline->ticks * sizeof *totals);
    summary->totals = totals;
    uint64_t sum = 0;
    for (size_t i = 0; i < timeline->lives.count; i++) {
        const plim__timeline_life *life = &timeline->lives.items[i];
        if (life->bytes > INT64_MAX - sum)
            return plim__fail(error, PLIM_OVERFLOW, "the buffers' bytes do not fit in 63 bits");
        sum += life->bytes;
        totals[life->born] += (int64_t)life->bytes;
        if (life->died < timeline->ticks) totals[life->died] -= (int64_t)life->bytes;
        summary->events += life->died == PLIM__NEVER ? 1 : 2;
        if (life->offset != PLIM__NO_OFFSET && life->offset + life->bytes > summary->extent)
            summary->extent = life->offset + life->bytes;
    }
    for (uint32_t t = 1; t < timeline->ticks; t++) totals[t] += totals[t - 1];
    for (uint32_t t = 0; t < timeline->ticks; t++)
        if ((uint64_t)totals[t] > summary->peak) {
            summary->peak = (uint64_t)totals[t];
            summary->peak_tick = t;
        }
    if (timeline->ticks) summary->held_at_end = (uint64_t)totals[timeline->ticks - 1];
    return PLIM_OK;
}

static bool larger(const plim__timeline *timeline, uint32_t a, uint32_t b) {
    const plim__timeline_life *left = &timeline->lives.items[a], *right = &timeline->lives.items[b];
    return left->bytes != right->bytes ? left->bytes > right->bytes : a < b;
}

static void find_holders(const plim__timeline *timeline, plim__summary *summary) {
    for (uint32_t i = 0; i < timeline->lives.count; i++) {
        const plim__timeline_life *life = &timeline->lives.items[i];
        if (!alive(life, summary->peak_tick)) continue;
        summary->live_at_peak++;
        summary->kinds[timeline->tensors.items[life->tensor].kind] += life->bytes;
        size_t at = summary->holder_count;
        while (at > 0 && larger(timeline, i, summary->holders[at - 1])) at--;
        if (at == PLIM__HOLDERS) continue;
        if (summary->holder_count < PLIM__HOLDERS) summary->holder_count++;
        memmove(summary->holders + at + 1, summary->holders + at,
                (summary->holder_count - at - 1) * sizeof *summary->holders);
        summary->holders[at] = i;
    }
    for (size_t i = 0; i < summary->holder_count; i++)
        summary->holder_bytes += timeline->lives.items[summary->holders[i]].bytes;
}

static void find_allocator(const plim__timeline *timeline, plim__allocator_figures *figures) {
    for (size_t i = 0; i < timeline->segments.count; i++) {
        const plim__timeline_segment *segment = &timeline->segments.items[i];
        uint64_t run = 0, unused = figures->unused, held = figures->allocated + figures->pending;
        figures->reserved += segment->bytes;
        for (uint32_t b = segment->first_block; b < segment->first_block + segment->block_count; b++) {
            const plim__timeline_block *block = &timeline->blocks.items[b];
            run = block->state == PLIM__BLOCK_FREE ? run + block->bytes : 0;
            if (run > figures->largest_free) figures->largest_free = run;
            if (block->state == PLIM__BLOCK_FREE) {
                figures->unused += block->bytes;
                figures->free_blocks++;
            } else if (block->state == PLIM__BLOCK_PENDING) {
                figures->pending += block->bytes;
            } else {
                figures->allocated += block->bytes;
                figures->requested += block->requested;
            }
        }
        if (figures->allocated + figures->pending > held) figures->stuck += figures->unused - unused;
    }
}

double plim__fragmentation(const plim__allocator_figures *figures) {
    return figures->unused ? 1 - (double)figures->largest_free / (double)figures->unused : 0;
}

/* A quarter of the memory idle between live blocks and in pieces: large requests will fail though there is room.
 * Segments that are free as a whole are no harm: the allocator gives them back before it fails. */
static bool is_fragmented(const plim__timeline *timeline, const plim__allocator_figures *figures) {
    if (figures->reserved == 0) return false;
    for (size_t i = 0; i < timeline->marks.count; i++) {
        const plim__timeline_mark *mark = &timeline->marks.items[i];
        if (mark->type == PLIM__MARK_OOM && mark->value <= figures->unused && mark->value > figures->largest_free)
            return true;
    }
    return figures->stuck >= figures->reserved / 4 && figures->largest_free < figures->stuck / 2;
}

plim_status plim__summary_make(const plim__timeline *timeline, plim__summary *summary, plim_error *error) {
    *summary = (plim__summary){0};
    plim_status status = find_totals(timeline, summary, error);
    if (status == PLIM_OK) {
        find_holders(timeline, summary);
        find_allocator(timeline, &summary->allocator);
        summary->fragmented = is_fragmented(timeline, &summary->allocator);
        size_t count = timeline->seconds.count;
        if (count) summary->seconds = timeline->seconds.items[count - 1] - timeline->seconds.items[0];
        status = plim__loop_find(timeline, summary, error);
    }
    if (status != PLIM_OK) plim__summary_free(summary);
    return status;
}

void plim__summary_free(plim__summary *summary) {
    plim__free(summary->totals);
    plim__vec_free(&summary->loop.leaks);
    *summary = (plim__summary){0};
}
