/* The proof of a packing: walks through time and keeps what is alive sorted by offset, so that a newcomer needs to be
 * compared with its two neighbours only. */
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/arguments.h"
#include "plimsoll/pack.h"

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

typedef struct event {
    int64_t time;
    bool starts;
    size_t buffer;
} event;

/* Ends come before starts at the same time: lifetimes are half-open. */
static int by_time(const void *left, const void *right) {
    const event *a = left, *b = right;
    if (a->time != b->time) return COMPARE(a->time, b->time);
    if (a->starts != b->starts) return a->starts - b->starts;
    return COMPARE(a->buffer, b->buffer);
}

static size_t position(const size_t *live, size_t count, const int64_t *offsets, int64_t offset) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (offsets[live[middle]] < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static plim_status collision(size_t a, size_t b, plim_error *error) {
    return plim__fail(error, PLIM_INVALID, "buffers %zu and %zu overlap", a < b ? a : b, a < b ? b : a);
}

static plim_status sweep(const plim_pack_buffer *buffers, const int64_t *offsets, const event *events,
                         size_t event_count, size_t *live, plim_error *error) {
    size_t count = 0;
    for (size_t i = 0; i < event_count; i++) {
        size_t buffer = events[i].buffer, at = position(live, count, offsets, offsets[buffer]);
        if (!events[i].starts) {
            memmove(live + at, live + at + 1, (count - at - 1) * sizeof *live);
            count--;
            continue;
        }
        if (at < count && offsets[live[at]] - offsets[buffer] < buffers[buffer].size)
            return collision(live[at], buffer, error);
        if (at > 0 && offsets[buffer] - offsets[live[at - 1]] < buffers[live[at - 1]].size)
            return collision(live[at - 1], buffer, error);
        memmove(live + at + 1, live + at, (count - at) * sizeof *live);
        live[at] = buffer;
        count++;
    }
    return PLIM_OK;
}

static plim_status check_alone(const plim_pack_buffer *buffer, size_t index, int64_t offset, plim_error *error) {
    if (offset < 0)
        return plim__fail(error, PLIM_INVALID, "buffer %zu has the negative offset %lld", index, (long long)offset);
    if (buffer->size > INT64_MAX - offset)
        return plim__fail(error, PLIM_INVALID, "buffer %zu at %lld ends beyond 63 bits", index, (long long)offset);
    if (buffer->alignment > 1 && offset % buffer->alignment)
        return plim__fail(error, PLIM_INVALID, "buffer %zu at %lld is not aligned to %lld", index, (long long)offset,
                          (long long)buffer->alignment);
    if (buffer->fixed && offset != buffer->offset)
        return plim__fail(error, PLIM_INVALID, "buffer %zu is at %lld, not at its fixed offset %lld", index,
                          (long long)offset, (long long)buffer->offset);
    return PLIM_OK;
}

plim_status plim_pack_check(const plim_pack_buffer *buffers, size_t count, const int64_t *offsets, plim_error *error) {
    if (count) PLIM__NEED(buffers, error);
    if (count) PLIM__NEED(offsets, error);
    event *events = plim__alloc_array(2 * count + 1, sizeof *events);
    size_t *live = plim__alloc_array(count + 1, sizeof *live), event_count = 0;
    plim_status status = PLIM_OK;
    if (!events || !live) status = plim__fail_memory(error, "the check of a packing", count * 2 * sizeof *events);
    for (size_t i = 0; i < count && status == PLIM_OK; i++) {
        status = check_alone(&buffers[i], i, offsets[i], error);
        if (buffers[i].size <= 0 || buffers[i].upper <= buffers[i].lower) continue;
        events[event_count++] = (event){buffers[i].lower, true, i};
        events[event_count++] = (event){buffers[i].upper, false, i};
    }
    if (status == PLIM_OK) {
        qsort(events, event_count, sizeof *events, by_time);
        status = sweep(buffers, offsets, events, event_count, live, error);
    }
    plim__free(events);
    plim__free(live);
    return status;
}
