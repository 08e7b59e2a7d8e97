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

/* Adds to the sum of a group; of a recorded run or a plan each life is its own group. */
typedef struct group {
    uint64_t bytes;
    uint32_t count, life;
} group;

static void insert(plim__holders *holders, const group *g) {
    size_t at = holders->count;
    while (at > 0 && (g->bytes > holders->items[at - 1].bytes ||
                      (g->bytes == holders->items[at - 1].bytes && g->life < holders->items[at - 1].life)))
        at--;
    if (at == PLIM__HOLDERS) return;
    if (holders->count < PLIM__HOLDERS) holders->count++;
    memmove(holders->items + at + 1, holders->items + at, (holders->count - at - 1) * sizeof *holders->items);
    holders->items[at] = (struct plim__holder){.life = g->life, .count = g->count, .bytes = g->bytes};
}

plim_status plim__holders_find(const plim__timeline *timeline, uint32_t tick, plim__holders *holders,
                               plim_error *error) {
    *holders = (plim__holders){0};
    size_t names = timeline->source == PLIM__SOURCE_TORCH ? timeline->texts.count : 0;
    group *groups = names ? plim__alloc_zero(names, sizeof *groups) : NULL;
    if (names && !groups) return plim__fail_memory(error, "the holders of the timeline", names * sizeof *groups);
    for (uint32_t i = 0; i < timeline->lives.count; i++) {
        const plim__timeline_life *life = &timeline->lives.items[i];
        if (!alive(life, tick)) continue;
        holders->live++;
        if (!names) {
            insert(holders, &(group){.bytes = life->bytes, .count = 1, .life = i});
            continue;
        }
        group *g = &groups[timeline->tensors.items[life->tensor].name];
        if (!g->count || life->bytes > timeline->lives.items[g->life].bytes) g->life = i;
        g->bytes += life->bytes;
        g->count++;
    }
    for (size_t i = 0; i < names; i++)
        if (groups[i].count) insert(holders, &groups[i]);
    plim__free(groups);
    holders->smaller = holders->live;
    for (size_t i = 0; i < holders->count; i++) {
        holders->bytes += holders->items[i].bytes;
        holders->smaller -= holders->items[i].count;
    }
    return PLIM_OK;
}

static void find_kinds(const plim__timeline *timeline, plim__summary *summary) {
    for (size_t i = 0; i < timeline->lives.count; i++) {
        const plim__timeline_life *life = &timeline->lives.items[i];
        if (alive(life, summary->peak_tick)) summary->kinds[timeline->tensors.items[life->tensor].kind] += life->bytes;
    }
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
        find_kinds(timeline, summary);
        find_allocator(timeline, &summary->allocator);
        summary->fragmented = is_fragmented(timeline, &summary->allocator);
        size_t count = timeline->seconds.count;
        if (count) summary->seconds = timeline->seconds.items[count - 1] - timeline->seconds.items[0];
        status = plim__holders_find(timeline, summary->peak_tick, &summary->holders, error);
        if (status == PLIM_OK) status = plim__refusal_find(timeline, summary, error);
        if (status == PLIM_OK) status = plim__loop_find(timeline, summary, error);
    }
    if (status != PLIM_OK) plim__summary_free(summary);
    return status;
}

void plim__summary_free(plim__summary *summary) {
    plim__free(summary->totals);
    plim__free(summary->refusal.explanation);
    plim__vec_free(&summary->loop.leaks);
    *summary = (plim__summary){0};
}
