/* Leaks and fragmentation: what grows from step to step that should not.
 *
 * For each group of buffers (same stack, or same name) count those alive at the end of every step. A first
 * third of the steps may warm up; after it a leak's count rises in both halves and does not fall:
 *
 *   healthy   1 1 1 1 1 1 1 1        cache     1 2 4 4 4 4 4 4
 *   leak      1 2 3 4 5 6 7 8        slow leak 1 1 2 2 2 3 3 4
 *
 * Fragmentation is the same rule for what the allocator takes (reserved bytes, or the highest address in
 * use) while the live bytes do not rise with it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "report/summary.h"

/* A life that was there at the ends of steps first ... last. */
typedef struct survivor {
    uint64_t group, bytes;
    uint32_t first, last, life;
} survivor;

typedef struct steps {
    uint32_t *ends; /* the tick after each step */
    uint32_t count;
} steps;

static uint64_t group_of(const plim__timeline *timeline, const plim__timeline_life *life) {
    if (life->stack) return (uint64_t)life->stack << 1;
    plim__text_id name = timeline->tensors.items[life->tensor].name;
    return name ? (uint64_t)name << 1 | 1 : life->bytes << 1 | 1u << 31;
}

/* --- where the steps are -------------------------------------------------------------------------------------- */

static bool steps_from_marks(const plim__timeline *timeline, plim__loop_figures *loop, steps *out) {
    uint32_t count = 0;
    for (size_t i = 0; i < timeline->marks.count; i++) count += timeline->marks.items[i].type == PLIM__MARK_STEP;
    out->ends = plim__alloc_array((size_t)count + 1, sizeof *out->ends);
    if (!out->ends) return false;
    bool first = true;
    for (size_t i = 0; i < timeline->marks.count; i++) {
        const plim__timeline_mark *mark = &timeline->marks.items[i];
        if (mark->type != PLIM__MARK_STEP) continue;
        if (first)
            loop->first_number = mark->value;
        else
            out->ends[out->count++] = mark->tick;
        first = false;
    }
    /* a recording that was cut off ends inside its last step */
    if (count && !timeline->cut) out->ends[out->count++] = timeline->ticks;
    return true;
}

typedef struct birth {
    uint64_t group;
    uint32_t tick, life;
} birth;

static int by_group_and_tick(const void *a, const void *b) {
    const birth *left = a, *right = b;
    if (left->group != right->group) return left->group < right->group ? -1 : 1;
    return (left->tick > right->tick) - (left->tick < right->tick);
}

/* True when the births come at even distances over most of the record. */
static bool is_regular(const birth *births, size_t count, uint32_t ticks) {
    double span = births[count - 1].tick - births[0].tick, mean = span / (double)(count - 1), square = 0;
    if (mean < 2 || span < 0.6 * ticks) return false;
    for (size_t i = 1; i < count; i++) {
        double away = births[i].tick - births[i - 1].tick - mean;
        square += away * away;
    }
    return sqrt(square / (double)(count - 1)) < 0.25 * mean;
}

static bool sampled(const plim__timeline *timeline, size_t life, uint64_t every) {
    return every == 1 || (group_of(timeline, &timeline->lives.items[life]) * 0x9E3779B97F4A7C15u >> 40) % every == 0;
}

/* In a training step most places allocate once. So of all groups that come back regularly, the number of
 * times that is most common is the number of steps; the group that starts first marks where they begin. */
static bool steps_from_rhythm(const plim__timeline *timeline, plim__loop_figures *loop, steps *out) {
    enum { MOST = 4096, ENOUGH = 1 << 19 };
    /* of a very long record only some groups are inspected, but these whole */
    uint64_t every = timeline->lives.count / ENOUGH + 1;
    size_t count = 0;
    for (size_t i = 0; i < timeline->lives.count; i++) count += sampled(timeline, i, every);
    birth *births = plim__alloc_array(count, sizeof *births);
    uint32_t *votes = plim__alloc_zero(MOST, sizeof *votes), *anchors = plim__alloc_zero(MOST, sizeof *anchors);
    out->ends = plim__alloc_array(MOST, sizeof *out->ends);
    bool fine = births && votes && anchors && out->ends;
    for (size_t i = 0, at = 0; fine && i < timeline->lives.count; i++) {
        const plim__timeline_life *life = &timeline->lives.items[i];
        if (sampled(timeline, i, every)) births[at++] = (birth){group_of(timeline, life), life->born, (uint32_t)i};
    }
    if (fine) qsort(births, count, sizeof *births, by_group_and_tick);
    size_t best = 0;
    for (size_t from = 0, to; fine && from < count; from = to) {
        for (to = from + 1; to < count && births[to].group == births[from].group;) to++;
        size_t times = to - from;
        if (times < PLIM__LOOP_LEAST || times >= MOST || !is_regular(births + from, times, timeline->ticks)) continue;
        if (votes[times]++ == 0 || births[from].tick < births[anchors[times]].tick) anchors[times] = (uint32_t)from;
        if (best == 0 || votes[times] > votes[best]) best = times;
    }
    if (fine && best) {
        loop->inferred = true;
        loop->anchor = births[anchors[best]].life;
        for (size_t i = 1; i < best; i++) out->ends[out->count++] = births[anchors[best] + i].tick;
    }
    plim__free(births);
    plim__free(votes);
    plim__free(anchors);
    return fine;
}

/* --- what grows ----------------------------------------------------------------------------------------------- */

/* The rule at the top of this file. */
static bool grows(const double *values, uint32_t count, double least) {
    uint32_t from = count / 3 ? count / 3 : 1, middle = from + (count - from) / 2, falls = 0;
    if (count < PLIM__LOOP_LEAST || values[count - 1] - values[from] < least) return false;
    for (uint32_t i = from + 1; i < count; i++) falls += values[i] < values[i - 1];
    return falls * 20 <= count && values[middle] > values[from] && values[count - 1] > values[middle];
}

static double slope(const double *values, uint32_t count) {
    uint32_t from = count / 3 ? count / 3 : 1;
    return (values[count - 1] - values[from]) / (count - 1 - from);
}

/* The first step whose end is after the tick; count when there is none. */
static uint32_t step_of(const steps *loop, uint32_t tick) {
    uint32_t low = 0, high = loop->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (loop->ends[middle] <= tick)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int by_group(const void *a, const void *b) {
    const survivor *left = a, *right = b;
    if (left->group != right->group) return left->group < right->group ? -1 : 1;
    return (left->life > right->life) - (left->life < right->life);
}

static int by_rate(const void *a, const void *b) {
    const plim__leak *left = a, *right = b;
    if (left->bytes_per_step != right->bytes_per_step) return left->bytes_per_step > right->bytes_per_step ? -1 : 1;
    return (left->example > right->example) - (left->example < right->example);
}

/* One group: its count at the end of each step, and a verdict. */
static bool judge_group(const survivor *group, size_t size, const steps *loop, double *counts, double *bytes,
                        plim__summary *summary) {
    memset(counts, 0, (loop->count + 1) * sizeof *counts);
    memset(bytes, 0, (loop->count + 1) * sizeof *bytes);
    plim__leak leak = {.example = group[0].life};
    for (size_t i = 0; i < size; i++) {
        counts[group[i].first]++;
        counts[group[i].last + 1]--;
        bytes[group[i].first] += (double)group[i].bytes;
        bytes[group[i].last + 1] -= (double)group[i].bytes;
        if (group[i].last != loop->count - 1) continue;
        leak.count++;
        leak.bytes += group[i].bytes;
        leak.example = group[i].life;
    }
    for (uint32_t step = 1; step < loop->count; step++) {
        counts[step] += counts[step - 1];
        bytes[step] += bytes[step - 1];
    }
    if (!grows(counts, loop->count, 2) || leak.bytes == 0) return true;
    leak.bytes_per_step = slope(bytes, loop->count);
    leak.count_per_step = slope(counts, loop->count);
    summary->loop.leaked_per_step += leak.bytes_per_step;
    return plim__vec_push(&summary->loop.leaks, leak);
}

static bool find_leaks(const plim__timeline *timeline, const steps *loop, plim__summary *summary) {
    PLIM_VEC(survivor) survivors = {0};
    size_t room = (size_t)loop->count + 1; /* one more, where a survivor of the last step ends */
    double *counts = plim__alloc_array(room, sizeof *counts), *bytes = plim__alloc_array(room, sizeof *bytes);
    bool fine = counts && bytes;
    for (size_t i = 0; fine && i < timeline->lives.count; i++) {
        const plim__timeline_life *life = &timeline->lives.items[i];
        uint32_t first = step_of(loop, life->born),
                 last = life->died == PLIM__NEVER ? loop->count : step_of(loop, life->died);
        /* dead by its own step's end, or there before the first step: not of this loop */
        if (last <= first || life->bytes == 0) continue;
        fine =
            plim__vec_push(&survivors, (survivor){group_of(timeline, life), life->bytes, first, last - 1, (uint32_t)i});
    }
    if (fine && survivors.count) qsort(survivors.items, survivors.count, sizeof *survivors.items, by_group);
    for (size_t from = 0, to; fine && from < survivors.count; from = to) {
        for (to = from + 1; to < survivors.count && survivors.items[to].group == survivors.items[from].group;) to++;
        if (to - from >= 2) fine = judge_group(survivors.items + from, to - from, loop, counts, bytes, summary);
    }
    if (fine && summary->loop.leaks.count)
        qsort(summary->loop.leaks.items, summary->loop.leaks.count, sizeof *summary->loop.leaks.items, by_rate);
    plim__vec_free(&survivors);
    plim__free(counts);
    plim__free(bytes);
    return fine;
}

/* Steps that were inferred may be layers of one pass, whose activations are meant to stay until the backward pass. A
 * training step gives most of what it takes back; layers keep a good part of it. */
static bool are_layers(const plim__timeline *timeline, const steps *loop, const plim__summary *summary) {
    double taken = 0;
    for (size_t i = 0; i < timeline->lives.count; i++) {
        const plim__timeline_life *life = &timeline->lives.items[i];
        if (life->born >= loop->ends[0] && life->born < loop->ends[loop->count - 1]) taken += (double)life->bytes;
    }
    double per_step = taken / (loop->count - 1);
    return summary->loop.leaked_per_step > 0.25 * per_step;
}

/* The highest address in use in each step. A life covers steps first ... last, which two runs of a power of
 * two steps cover too; so each life raises two cells, and the longer runs are handed down at the end:
 *   level 2   ├───────────┤
 *   level 1   ├─────┤─────┤     cells[level][s] stands for steps s ... s + 2^level - 1 */
static bool find_extents(const plim__timeline *timeline, const steps *loop, double *extents) {
    unsigned levels = 1;
    while ((2u << (levels - 1)) <= loop->count) levels++;
    double *cells = plim__alloc_zero((size_t)levels * loop->count, sizeof *cells);
    if (!cells) return false;
    for (size_t i = 0; i < timeline->lives.count; i++) {
        const plim__timeline_life *life = &timeline->lives.items[i];
        uint32_t first = step_of(loop, life->born);
        if (life->offset == PLIM__NO_OFFSET || first >= loop->count) continue;
        uint32_t last = life->died == PLIM__NEVER ? loop->count - 1 : step_of(loop, life->died - 1), level = 0;
        if (last >= loop->count) last = loop->count - 1;
        while ((2u << level) <= last - first + 1) level++;
        double top = (double)(life->offset + life->bytes), *row = cells + (size_t)level * loop->count;
        row[first] = fmax(row[first], top);
        row[last + 1 - (1u << level)] = fmax(row[last + 1 - (1u << level)], top);
    }
    for (unsigned level = levels - 1; level > 0; level--) {
        double *row = cells + (size_t)level * loop->count, *below = row - loop->count;
        uint32_t half = 1u << (level - 1);
        for (uint32_t s = 0; s + half < loop->count; s++) {
            below[s] = fmax(below[s], row[s]);
            below[s + half] = fmax(below[s + half], row[s]);
        }
    }
    memcpy(extents, cells, loop->count * sizeof *extents);
    plim__free(cells);
    return true;
}

/* What the allocator takes in each step: the reserved series when there is one, else the highest address. */
static bool find_footprints(const plim__timeline *timeline, const steps *loop, double *footprints) {
    const plim__timeline_series *reserved = NULL;
    for (size_t i = 0; i < timeline->series.count; i++)
        if (strcmp(plim__timeline_get(timeline, timeline->series.items[i].name), "reserved") == 0)
            reserved = &timeline->series.items[i];
    if (reserved) {
        double held = 0;
        size_t at = 0;
        for (uint32_t s = 0; s < loop->count; s++) {
            footprints[s] = held;
            for (; at < reserved->samples.count && reserved->samples.items[at].tick < loop->ends[s]; at++) {
                held = (double)reserved->samples.items[at].bytes;
                if (held > footprints[s]) footprints[s] = held;
            }
        }
        return true;
    }
    return find_extents(timeline, loop, footprints);
}

static bool find_fragmentation(const plim__timeline *timeline, const steps *loop, plim__summary *summary) {
    double *footprints = plim__alloc_zero(loop->count, sizeof *footprints),
           *peaks = plim__alloc_zero(loop->count, sizeof *peaks);
    bool fine = footprints && peaks && find_footprints(timeline, loop, footprints);
    if (fine) {
        for (uint32_t s = 0, tick = 0; s < loop->count; s++)
            for (; tick < loop->ends[s] && tick < timeline->ticks; tick++)
                if ((double)summary->totals[tick] > peaks[s]) peaks[s] = (double)summary->totals[tick];
        uint32_t last = loop->count - 1, from = loop->count / 3 ? loop->count / 3 : 1;
        plim__loop_figures *found = &summary->loop;
        found->footprint = (uint64_t)footprints[last];
        found->live = (uint64_t)peaks[last];
        found->footprint_per_step = slope(footprints, loop->count);
        double taken = footprints[last] - footprints[from], needed = peaks[last] - peaks[from];
        found->fragmenting = grows(footprints, loop->count, 0.05 * footprints[from]) && needed < 0.5 * taken;
    }
    plim__free(footprints);
    plim__free(peaks);
    return fine;
}

static void find_end(const plim__timeline *timeline, plim__loop_figures *loop) {
    loop->limit = timeline->budget ? timeline->budget : timeline->capacity;
    double rate = loop->fragmenting && loop->footprint_per_step > loop->leaked_per_step ? loop->footprint_per_step
                                                                                        : loop->leaked_per_step;
    uint64_t used = loop->fragmenting ? loop->footprint : loop->live;
    if (rate <= 0 || loop->limit <= used) return;
    double more = ceil((double)(loop->limit - used) / rate);
    if (more < 1e15) loop->runs_out = loop->first_number + loop->steps - 1 + (uint64_t)more;
}

plim_status plim__loop_find(const plim__timeline *timeline, plim__summary *summary, plim_error *error) {
    steps loop = {0};
    bool fine = steps_from_marks(timeline, &summary->loop, &loop);
    if (fine && loop.count == 0 && timeline->source == PLIM__SOURCE_TORCH && timeline->lives.count) {
        plim__free(loop.ends);
        loop.ends = NULL;
        fine = steps_from_rhythm(timeline, &summary->loop, &loop);
    }
    summary->loop.steps = loop.count;
    if (fine && loop.count >= PLIM__LOOP_LEAST) {
        fine = find_leaks(timeline, &loop, summary);
        if (fine && summary->loop.inferred && summary->loop.leaks.count && are_layers(timeline, &loop, summary)) {
            summary->loop.leaks.count = 0;
            summary->loop.leaked_per_step = 0;
            loop.count = summary->loop.steps = 0;
        }
        fine = fine && (loop.count == 0 || find_fragmentation(timeline, &loop, summary));
        if (fine) find_end(timeline, &summary->loop);
    }
    plim__free(loop.ends);
    return fine ? PLIM_OK : plim__fail_memory(error, "the search for leaks", timeline->lives.count * sizeof(survivor));
}
