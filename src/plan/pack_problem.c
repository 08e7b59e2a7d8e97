/* The packing problem in the form the search works on: items sorted by time, sections, who overlaps whom.
 *
 * Time is reduced to sections. Walking through the starts and ends in order, a section closes when something ends
 * after something has started; in between, the live set only grows or only shrinks, and each set that is passed on
 * the way is a subset of the one at the turning point. Sections are therefore the maximal sets of items alive
 * together, and the largest of their sums is the lower bound. */
#include "plan/pack_internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Beyond this the lists would take more memory than a plan is worth; such problems are left to the constructions. */
static const size_t max_entries = (size_t)1 << 23;

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int by_start(const void *left, const void *right) {
    const plim__pack_item *a = left, *b = right;
    if (a->lower != b->lower) return COMPARE(a->lower, b->lower);
    if (a->upper != b->upper) return COMPARE(a->upper, b->upper);
    if (a->size != b->size) return COMPARE(a->size, b->size);
    return COMPARE(a->buffer, b->buffer);
}

static int by_end(const void *left, const void *right) {
    const plim__pack_item *a = *(plim__pack_item *const *)left, *b = *(plim__pack_item *const *)right;
    if (a->upper != b->upper) return COMPARE(a->upper, b->upper);
    return COMPARE(a->buffer, b->buffer);
}

static int compare_kind(const plim__pack_item *a, const plim__pack_item *b) {
    if (a->first != b->first) return COMPARE(a->first, b->first);
    if (a->last != b->last) return COMPARE(a->last, b->last);
    if (a->size != b->size) return COMPARE(a->size, b->size);
    if (a->pad != b->pad) return COMPARE(a->pad, b->pad);
    if (a->alignment != b->alignment) return COMPARE(a->alignment, b->alignment);
    return COMPARE(a->fixed, b->fixed);
}

static int by_kind(const void *left, const void *right) {
    const plim__pack_item *a = *(plim__pack_item *const *)left, *b = *(plim__pack_item *const *)right;
    int order = compare_kind(a, b);
    return order ? order : COMPARE(a->buffer, b->buffer);
}

static plim_status check_buffer(const plim_pack_buffer *buffer, size_t index, int64_t *total, plim_error *error) {
    if (buffer->size < 0)
        return plim__fail(error, PLIM_INVALID, "buffer %zu: size %lld is negative", index, (long long)buffer->size);
    if (buffer->upper <= buffer->lower)
        return plim__fail(error, PLIM_INVALID, "buffer %zu: its life ends at %lld, not after its start at %lld", index,
                          (long long)buffer->upper, (long long)buffer->lower);
    if (buffer->alignment < 0)
        return plim__fail(error, PLIM_INVALID, "buffer %zu: alignment %lld is negative", index,
                          (long long)buffer->alignment);
    if (buffer->fixed && buffer->offset < 0)
        return plim__fail(error, PLIM_INVALID, "buffer %zu: fixed offset %lld is negative", index,
                          (long long)buffer->offset);
    if (buffer->fixed && buffer->alignment > 1 && buffer->offset % buffer->alignment)
        return plim__fail(error, PLIM_INVALID, "buffer %zu: fixed offset %lld is not a multiple of its alignment %lld",
                          index, (long long)buffer->offset, (long long)buffer->alignment);
    /* All offsets that can come up are below sum(sizes + alignments) + largest fixed offset. */
    static const int64_t limit = (int64_t)1 << 61;
    int64_t need = buffer->size;
    if (__builtin_add_overflow(need, buffer->alignment, &need) || __builtin_add_overflow(*total, need, total) ||
        *total > limit || (buffer->fixed && buffer->offset > limit))
        return plim__fail(error, PLIM_OVERFLOW, "buffer %zu: sizes up to here add up to more than 2^61", index);
    return PLIM_OK;
}

/* Rounds sizes up where all offsets are multiples of one alignment. */
static void pad_items(plim__pack_problem *problem) {
    bool same = true, any_fixed = false;
    for (int32_t i = 0; i < problem->count; i++) {
        plim__pack_item *item = &problem->items[i];
        same = same && item->alignment == problem->items[0].alignment;
        any_fixed = any_fixed || item->fixed != PLIM__PACK_FREE;
    }
    problem->uniform = same && !any_fixed;
    int64_t step = 0;
    for (int32_t i = 0; i < problem->count; i++) {
        plim__pack_item *item = &problem->items[i];
        if (same) {
            int64_t padded = plim__pack_align(item->size, item->alignment);
            item->pad = padded - item->size;
            item->size = padded;
            problem->padded = problem->padded || item->pad > 0;
        } else if (item->alignment > 1) {
            step = gcd(step, item->alignment);
        }
        step = gcd(step, item->size);
        if (item->fixed > 0) step = gcd(step, item->fixed);
    }
    problem->step = step ? step : 1;
}

/* Items by end, for sweeping; NULL when memory is short. */
static plim__pack_item **sorted_pointers(plim__pack_problem *problem, int (*order)(const void *, const void *)) {
    plim__pack_item **pointers = plim__alloc_array((size_t)problem->count + 1, sizeof *pointers);
    if (!pointers) return NULL;
    for (int32_t i = 0; i < problem->count; i++) pointers[i] = &problem->items[i];
    qsort(pointers, (size_t)problem->count, sizeof *pointers, order);
    return pointers;
}

static void sweep(plim__pack_problem *problem, plim__pack_item *const *ends) {
    int64_t live = 0, padded = 0, largest_pad = 0, best_padded = 0;
    int32_t section = 0, ended = 0;
    bool grown = false;
    for (int32_t started = 0; ended < problem->count;) {
        if (started < problem->count && problem->items[started].lower < ends[ended]->upper) {
            plim__pack_item *item = &problem->items[started++];
            item->first = section;
            grown = true;
            live += item->size - item->pad;
            padded += item->size;
            if (item->pad > largest_pad) largest_pad = item->pad;
            if (live > problem->lower_bound) problem->lower_bound = live;
            if (padded > best_padded) best_padded = padded;
        } else {
            plim__pack_item *item = ends[ended++];
            section += grown;
            grown = false;
            item->last = section;
            live -= item->size - item->pad;
            padded -= item->size;
        }
    }
    problem->section_count = section;
    problem->padded_bound = best_padded - largest_pad;
    if (problem->padded_bound < problem->lower_bound) problem->padded_bound = problem->lower_bound;
}

/* Items alive all the time may as well lie at the bottom, if everything else can be shifted up. When sizes are padded,
 * one of them might profit from lying on top of all; the one that profits most stays in the problem. */
static void set_bottom_aside(plim__pack_problem *problem) {
    if (!problem->uniform) return;
    plim__pack_item *items = problem->items;
    int32_t stays = -1, kept = 0, total = problem->count;
    for (int32_t i = 0; i < total; i++) {
        bool always = items[i].first == 0 && items[i].last == problem->section_count;
        if (always && items[i].pad > 0 && (stays < 0 || items[i].pad > items[stays].pad)) stays = i;
    }
    for (int32_t i = 0; i < total; i++) {
        plim__pack_item item = items[i];
        if (i != stays && item.first == 0 && item.last == problem->section_count) {
            item.fixed = problem->base;
            problem->base += item.size;
        }
        items[i] = item;
    }
    /* Stable, so that the others stay sorted; those set aside all start first and move behind. */
    for (int32_t i = 0; i < total; i++)
        if (items[i].fixed == PLIM__PACK_FREE) {
            plim__pack_item item = items[i];
            items[i] = items[kept];
            items[kept++] = item;
        }
    problem->count = kept;
    problem->bottom = total - kept;
    problem->padded_bound -= problem->base;
}

static void measure_sections(plim__pack_problem *problem, plim__pack_item *const *ends) {
    int64_t live = 0;
    int32_t started = 0, ended = 0;
    problem->dive_work = 2 * (int64_t)problem->count * problem->section_count; /* choosing where to go on */
    for (int32_t section = 0; section < problem->section_count; section++) {
        for (; started < problem->count && problem->items[started].first <= section; started++) live++;
        problem->section_entries += (size_t)live;
        problem->dive_work += live * live / 2;
        for (; ended < problem->count && ends[ended]->last <= section + 1; ended++) live--;
    }
}

static void number_kinds(plim__pack_problem *problem, plim__pack_item *const *sorted) {
    int32_t kind = 0;
    for (int32_t i = 0; i < problem->count; i++) {
        if (i > 0 && compare_kind(sorted[i - 1], sorted[i])) kind++;
        sorted[i]->kind = kind;
    }
}

plim_status plim__pack_problem_init(plim__pack_problem *problem, const plim_pack_buffer *buffers, size_t count,
                                    plim_error *error) {
    memset(problem, 0, sizeof *problem);
    if (count > INT32_MAX / 2)
        return plim__fail(error, PLIM_OVERFLOW, "%zu buffers are more than the packer takes", count);
    problem->items = plim__alloc_array(count + 1, sizeof *problem->items);
    if (!problem->items) return plim__fail_memory(error, "the buffers to pack", count * sizeof *problem->items);
    int64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        PLIM_TRY(check_buffer(&buffers[i], i, &total, error));
        if (buffers[i].size == 0) continue;
        problem->items[problem->count++] =
            (plim__pack_item){.lower = buffers[i].lower,
                              .upper = buffers[i].upper,
                              .size = buffers[i].size,
                              .alignment = buffers[i].alignment > 1 ? buffers[i].alignment : 1,
                              .fixed = buffers[i].fixed ? buffers[i].offset : PLIM__PACK_FREE,
                              .buffer = (int32_t)i};
    }
    qsort(problem->items, (size_t)problem->count, sizeof *problem->items, by_start);
    pad_items(problem);
    plim__pack_item **ends = sorted_pointers(problem, by_end);
    if (!ends) return plim__fail_memory(error, "the order of buffers", (size_t)problem->count * sizeof *ends);
    sweep(problem, ends);
    plim__free(ends);
    set_bottom_aside(problem);
    ends = sorted_pointers(problem, by_end);
    if (!ends) return plim__fail_memory(error, "the order of buffers", (size_t)problem->count * sizeof *ends);
    measure_sections(problem, ends);
    qsort(ends, (size_t)problem->count, sizeof *ends, by_kind);
    number_kinds(problem, ends);
    plim__free(ends);
    return PLIM_OK;
}

/* Overlapping pairs: an item overlaps those alive when it starts, and those that start before it ends. */
static size_t count_overlaps(const plim__pack_problem *problem) {
    size_t pairs = 0;
    for (int32_t i = 0; i < problem->count; i++)
        for (int32_t k = i + 1; k < problem->count && problem->items[k].first < problem->items[i].last; k++) {
            pairs += 2;
            if (pairs > max_entries) return pairs;
        }
    return pairs;
}

bool plim__pack_problem_searchable(const plim__pack_problem *problem, int64_t work, size_t bytes) {
    if (problem->dive_work > work || problem->section_entries > max_entries) return false;
    size_t pairs = count_overlaps(problem), lists = (2 * problem->section_entries + pairs) * sizeof(int32_t);
    return pairs <= max_entries && (!bytes || lists <= bytes);
}

static bool lists_alloc(plim__pack_lists *lists, size_t count, size_t entries) {
    lists->start = plim__alloc_zero(count + 2, sizeof *lists->start);
    lists->items = plim__alloc_array(entries + 1, sizeof *lists->items);
    return lists->start && lists->items;
}

/* Counting sort: start[] first holds counts, shifted by two so that filling it moves each entry to its own start. */
static void lists_close(plim__pack_lists *lists, size_t count) {
    for (size_t i = 1; i <= count; i++) lists->start[i + 1] += lists->start[i];
}

static void fill_sections(plim__pack_problem *problem) {
    plim__pack_lists *live = &problem->live, *starting = &problem->starting;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < problem->count; i++) {
            const plim__pack_item *item = &problem->items[i];
            for (int32_t s = item->first; s < item->last; s++) {
                if (pass == 0)
                    live->start[s + 2]++;
                else
                    live->items[live->start[s + 1]++] = i;
            }
            if (pass == 0)
                starting->start[item->first + 2]++;
            else
                starting->items[starting->start[item->first + 1]++] = i;
        }
        if (pass == 0) {
            lists_close(live, (size_t)problem->section_count);
            lists_close(starting, (size_t)problem->section_count);
        }
    }
}

static void fill_overlaps(plim__pack_problem *problem) {
    plim__pack_lists *overlaps = &problem->overlaps;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < problem->count; i++)
            for (int32_t k = i + 1; k < problem->count && problem->items[k].first < problem->items[i].last; k++) {
                if (pass == 0) {
                    overlaps->start[i + 2]++;
                    overlaps->start[k + 2]++;
                } else {
                    overlaps->items[overlaps->start[i + 1]++] = k;
                    overlaps->items[overlaps->start[k + 1]++] = i;
                }
            }
        if (pass == 0) lists_close(overlaps, (size_t)problem->count);
    }
}

plim_status plim__pack_problem_index(plim__pack_problem *problem, plim_error *error) {
    size_t sections = (size_t)problem->section_count, count = (size_t)problem->count;
    size_t pairs = count_overlaps(problem);
    if (!lists_alloc(&problem->live, sections, problem->section_entries) ||
        !lists_alloc(&problem->starting, sections, count) || !lists_alloc(&problem->overlaps, count, pairs))
        return plim__fail_memory(error, "the packer's lists",
                                 (problem->section_entries + count + pairs) * sizeof(int32_t));
    fill_sections(problem);
    fill_overlaps(problem);
    return PLIM_OK;
}

static void lists_free(plim__pack_lists *lists) {
    plim__free(lists->start);
    plim__free(lists->items);
}

void plim__pack_problem_free(plim__pack_problem *problem) {
    lists_free(&problem->live);
    lists_free(&problem->starting);
    lists_free(&problem->overlaps);
    plim__free(problem->items);
    memset(problem, 0, sizeof *problem);
}

int64_t plim__pack_height(const plim__pack_problem *problem, const int64_t *offsets) {
    int64_t height = 0;
    for (int32_t i = 0; i < problem->count; i++) {
        int64_t top = offsets[i] + problem->items[i].size - problem->items[i].pad;
        if (top > height) height = top;
    }
    return height;
}
