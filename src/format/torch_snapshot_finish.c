/* From the records of a snapshot to a timeline of one device: event numbers become ticks, what was there before
 * the trace is added, and addresses become offsets on a map without the empty space between segments.
 *
 *   addresses   7f00'0000'0000 ├segment┤        7f31'4000'0000 ├──segment──┤
 *   map                      0 ├segment┼──segment──┤                             in granules of 2 MiB */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/str.h"
#include "format/torch_snapshot_internal.h"
#include "plimsoll/bytes.h"

enum { GRANULE_BITS = 21 };

static plim_status no_memory(const plim__torch_reader *reader, plim_error *error) {
    return plim__fail_memory(error, reader->path, 1);
}

/* --- names ---------------------------------------------------------------------------------------------------- */

/* What every allocation passes through on its way. */
static bool is_machinery(const char *frame) {
    static const char *const words[] = {"torch::unwind", "CapturedTraceback",     "gather_with_cpp", "CachingAllocator",
                                        "at::detail::",  "(anonymous namespace)", "at::Tensor",      "c10::"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(frame, words[i])) return true;
    return false;
}

/* How well a frame tells a user where an allocation comes from: his own Python, a library's, a step of the backward pass,
 * any other, the allocator's own. */
static int frame_rank(const char *frame) {
    if (strstr(frame, ".py:"))
        return strstr(frame, "/torch/") || strstr(frame, "site-packages") || strstr(frame, "dist-packages") ? 4 : 5;
    const char *backward = strstr(frame, "generated::");
    if (backward && strstr(backward, "Backward") && strstr(backward, "::apply")) return 3;
    return is_machinery(frame) ? 1 : 2;
}

/* The frame that names a stack, without its folders; a step of the backward pass without its arguments. */
static const char *stack_name(const plim__timeline *timeline, uint32_t stack, size_t *length) {
    const char *best = "";
    int rank = 0;
    for (uint32_t at = stack; at; at = timeline->stacks.items[at].parent) {
        const char *frame = plim__timeline_get(timeline, timeline->stacks.items[at].frame);
        if (frame_rank(frame) <= rank) continue;
        best = frame;
        rank = frame_rank(frame);
    }
    if (rank == 3) {
        const char *own = strstr(best, "generated::") + 11;
        *length = (size_t)(strstr(own, "::apply") - own);
        return own;
    }
    const char *space = strchr(best, ' '), *name = best;
    for (const char *c = best; *c && c != space; c++)
        if (*c == '/') name = c + 1;
    *length = strlen(name);
    return name;
}

bool plim__torch_tensor(plim__torch_reader *reader, uint32_t stack, uint64_t bytes, uint32_t *tensor) {
    while (reader->stack_tensors.count <= stack)
        if (!plim__vec_push(&reader->stack_tensors, 0)) return false;
    if (stack && reader->stack_tensors.items[stack]) return *tensor = reader->stack_tensors.items[stack] - 1, true;
    char size[PLIM_BYTES_TEXT], sized[64];
    snprintf(sized, sizeof sized, "%s without a stack", plim_bytes_format(bytes, size));
    plim__text_id text;
    size_t length = strlen(sized);
    const char *name = stack ? stack_name(reader->timeline, stack, &length) : sized;
    if (!plim__timeline_textn(reader->timeline, name, length, &text)) return false;
    /* one tensor for a size: they come in few sizes, and mostly the last one comes again */
    for (size_t i = reader->timeline->tensors.count; !stack && i > 0 && i + 64 > reader->timeline->tensors.count; i--)
        if (reader->timeline->tensors.items[i - 1].name == text) return *tensor = (uint32_t)(i - 1), true;
    if (!plim__vec_push(&reader->timeline->tensors, (plim__timeline_tensor){.name = text, .kind = PLIM__KIND_OTHER}))
        return false;
    *tensor = (uint32_t)(reader->timeline->tensors.count - 1);
    if (stack) reader->stack_tensors.items[stack] = *tensor + 1;
    return true;
}

/* --- which device --------------------------------------------------------------------------------------------- */

static const plim__torch_trace *trace_of(const plim__torch_reader *reader, int device) {
    for (size_t i = 0; i < reader->traces.count; i++)
        if (reader->traces.items[i].device == device) return &reader->traces.items[i];
    return NULL;
}

/* A trace ends where the next one begins. */
static void end_traces(plim__torch_reader *reader) {
    for (size_t i = 0; i < reader->traces.count; i++) {
        plim__torch_trace *trace = &reader->traces.items[i];
        uint32_t end = reader->events;
        for (size_t k = 0; k < reader->traces.count; k++) {
            uint32_t other = reader->traces.items[k].first;
            if (k != i && other != PLIM__NEVER && (other > trace->first || (other == trace->first && k > i)) &&
                other < end)
                end = other;
        }
        trace->count = trace->first == PLIM__NEVER ? 0 : end - trace->first;
        if (trace->first == PLIM__NEVER) trace->first = reader->events;
    }
}

enum { MOST_DEVICES = 4096 }; /* torch_snapshot.c lets no larger number in */

/* The device with the most reserved bytes; without segments, the one with the most events. */
static int busiest_device(const plim__torch_reader *reader) {
    uint64_t held[MOST_DEVICES] = {0};
    int best = 0;
    for (size_t i = 0; i < reader->segments.count; i++)
        held[reader->segments.items[i].device] += reader->segments.items[i].bytes >> 9; /* no sum can overflow */
    for (size_t i = 0; !reader->segments.count && i < reader->traces.count; i++)
        if (reader->traces.items[i].device >= 0) held[reader->traces.items[i].device] = reader->traces.items[i].count;
    for (int d = 1; d < MOST_DEVICES; d++)
        if (held[d] > held[best]) best = d;
    return best;
}

/* Keeps what the trace's events touched, in ticks of that trace. */
static void keep_trace(plim__torch_reader *reader, const plim__torch_trace *trace) {
    plim__timeline *timeline = reader->timeline;
    uint32_t first = trace->first, count = trace->count;
    size_t kept = 0;
    for (size_t i = 0; i < timeline->lives.count; i++) {
        plim__timeline_life life = timeline->lives.items[i];
        bool before = life.born == PLIM__NEVER; /* there when the trace began */
        uint32_t event = before ? life.died : life.born;
        if (event - first >= count) continue; /* unsigned: also what is below first */
        life.born = before ? 0 : life.born - first;
        if (life.died != PLIM__NEVER) life.died -= first;
        if (life.died <= life.born) life.died = life.born + 1;
        timeline->lives.items[kept++] = life;
    }
    timeline->lives.count = kept;
    kept = 0;
    for (size_t i = 0; i < timeline->marks.count; i++) {
        plim__timeline_mark mark = timeline->marks.items[i];
        if (mark.tick - first > count) continue; /* one may stand behind the last tick */
        mark.tick -= first;
        timeline->marks.items[kept++] = mark;
    }
    timeline->marks.count = kept;
    kept = 0;
    for (size_t i = 0; i < timeline->refusals.count; i++) {
        plim__timeline_refusal refusal = timeline->refusals.items[i];
        if (refusal.tick - first > count) continue;
        refusal.tick -= first;
        timeline->refusals.items[kept++] = refusal;
    }
    timeline->refusals.count = kept;
    timeline->ticks = count + 1; /* one more for what is held at the end */
    if (!reader->timed || timeline->seconds.count < (size_t)first + count) {
        timeline->seconds.count = 0;
        return;
    }
    double start = count ? timeline->seconds.items[first] : 0, last = 0;
    for (uint32_t i = 0; i < count; i++) {
        double now = timeline->seconds.items[first + i] - start;
        timeline->seconds.items[i] = last = now > last ? now : last; /* clocks that step back do not here */
    }
    timeline->seconds.count = count;
}

static void keep_log(plim__memory_log *log, const plim__torch_trace *trace) {
    size_t kept = 0;
    for (size_t i = 0; log && i < log->events.count; i++) {
        plim__memory_event event = log->events.items[i];
        if (event.tick - trace->first > trace->count) continue; /* one may stand behind the last tick */
        event.tick -= trace->first;
        log->events.items[kept++] = event;
    }
    if (log) log->events.count = kept;
}

static plim_status keep_device(plim__torch_reader *reader, int device, plim_error *error) {
    const plim__torch_trace none = {.device = device}, *trace = trace_of(reader, device);
    keep_trace(reader, trace ? trace : &none);
    keep_log(reader->log, trace ? trace : &none);
    plim__timeline *timeline = reader->timeline;
    double end = timeline->seconds.count ? timeline->seconds.items[timeline->seconds.count - 1] : 0;
    if (timeline->seconds.count && !plim__vec_push(&timeline->seconds, end)) return no_memory(reader, error);
    for (size_t i = 0; i < reader->segments.count; i++) {
        plim__timeline_segment segment = reader->segments.items[i];
        if (segment.device != device) continue;
        uint32_t from = segment.first_block;
        segment.first_block = (uint32_t)timeline->blocks.count;
        for (uint32_t b = from; b < from + segment.block_count; b++)
            if (!plim__vec_push(&timeline->blocks, reader->segment_blocks.items[b])) return no_memory(reader, error);
        if (!plim__vec_push(&timeline->segments, segment)) return no_memory(reader, error);
    }
    return PLIM_OK;
}

/* --- what was there before ------------------------------------------------------------------------------------ */

/* Live blocks that no event of the trace tells of were there all the time. */
static plim_status add_untold(plim__torch_reader *reader, plim_error *error) {
    plim__timeline *timeline = reader->timeline;
    for (size_t i = 0; i < timeline->segments.count; i++) {
        const plim__timeline_segment *segment = &timeline->segments.items[i];
        uint64_t address = segment->address;
        for (uint32_t b = segment->first_block; b < segment->first_block + segment->block_count; b++) {
            const plim__timeline_block *block = &timeline->blocks.items[b];
            uint32_t known;
            if (block->state != PLIM__BLOCK_FREE && !plim__address_find(&reader->live, address, &known)) {
                plim__timeline_life life = {
                    .bytes = block->requested, .offset = address, .died = PLIM__NEVER, .stack = block->stack};
                if (!plim__torch_tensor(reader, life.stack, life.bytes, &life.tensor) ||
                    !plim__vec_push(&timeline->lives, life))
                    return no_memory(reader, error);
            }
            if (block->bytes > UINT64_MAX / 4 - address)
                return plim__fail(error, PLIM_CORRUPT, "'%s' has a block of %llu bytes", reader->path,
                                  (unsigned long long)block->bytes);
            address += block->bytes;
        }
    }
    return PLIM_OK;
}

/* The reserved bytes over time, backwards from what is reserved at the end. */
static plim_status add_reserved(plim__torch_reader *reader, const plim__torch_trace *trace, plim_error *error) {
    plim__timeline *timeline = reader->timeline;
    int64_t held = 0;
    for (size_t i = 0; i < timeline->segments.count; i++)
        held += (int64_t)(timeline->segments.items[i].bytes & INT64_MAX >> 8);
    for (size_t i = 0; i < reader->changes.count; i++)
        if (trace && reader->changes.items[i].event - trace->first <= trace->count)
            held -= reader->changes.items[i].bytes;
    if (!trace || reader->changes.count == 0) return PLIM_OK;
    uint32_t series;
    PLIM_TRY(plim__timeline_add_series(timeline, "reserved", &series, error));
    PLIM_TRY(plim__timeline_add_sample(timeline, series, 0, held > 0 ? (uint64_t)held : 0, error));
    for (size_t i = 0; i < reader->changes.count; i++) {
        const plim__torch_change *change = &reader->changes.items[i];
        if (change->event - trace->first > trace->count) continue;
        held += change->bytes;
        PLIM_TRY(plim__timeline_add_sample(timeline, series, change->event - trace->first,
                                           held > 0 ? (uint64_t)held : 0, error));
    }
    return PLIM_OK;
}

/* --- the map -------------------------------------------------------------------------------------------------- */

typedef PLIM_VEC(uint64_t) granules;

static int by_number(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Sorts and drops what is there twice. */
static void tidy(granules *all) {
    if (!all->count) return;
    qsort(all->items, all->count, sizeof *all->items, by_number);
    size_t kept = 1;
    for (size_t i = 1; i < all->count; i++)
        if (all->items[i] != all->items[kept - 1]) all->items[kept++] = all->items[i];
    all->count = kept;
}

/* The granules of a range; enormous ones (a hostile file) only at their ends. */
static bool add_range(granules *all, uint64_t address, uint64_t bytes) {
    uint64_t from = address >> GRANULE_BITS, to = (address + (bytes ? bytes - 1 : 0)) >> GRANULE_BITS;
    if (to - from > 1 << 20) from = to;
    if (all->count && from == to && all->items[all->count - 1] == from) return true;
    for (uint64_t g = from; g <= to; g++)
        if (!plim__vec_push(all, g)) return false;
    if (all->count > 1 << 20) tidy(all);
    return all->count < 1 << 26;
}

static uint64_t offset_of(const granules *all, uint64_t address) {
    uint64_t wanted = address >> GRANULE_BITS;
    size_t low = 0, high = all->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (all->items[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == all->count || all->items[low] != wanted) return PLIM__NO_OFFSET;
    return ((uint64_t)low << GRANULE_BITS) + (address & (((uint64_t)1 << GRANULE_BITS) - 1));
}

static plim_status lay_out(plim__torch_reader *reader, plim_error *error) {
    plim__timeline *timeline = reader->timeline;
    granules all = {0};
    bool fine = true;
    for (size_t i = 0; fine && i < timeline->segments.count; i++)
        fine = add_range(&all, timeline->segments.items[i].address, timeline->segments.items[i].bytes);
    for (size_t i = 0; fine && i < timeline->lives.count; i++)
        fine = add_range(&all, timeline->lives.items[i].offset, timeline->lives.items[i].bytes);
    tidy(&all);
    for (size_t i = 0; fine && i < timeline->lives.count; i++)
        timeline->lives.items[i].offset = offset_of(&all, timeline->lives.items[i].offset);
    for (size_t i = 0; fine && i < timeline->segments.count; i++)
        timeline->segments.items[i].offset = offset_of(&all, timeline->segments.items[i].address);
    plim__vec_free(&all);
    return fine ? PLIM_OK : no_memory(reader, error);
}

static plim_status add_facts(plim__torch_reader *reader, int device, plim_error *error) {
    char text[96];
    int devices = 0;
    for (size_t i = 0; i < reader->segments.count; i++)
        devices = reader->segments.items[i].device > devices ? reader->segments.items[i].device : devices;
    for (size_t i = 0; i < reader->traces.count; i++)
        if (reader->traces.items[i].count && reader->traces.items[i].device > devices)
            devices = reader->traces.items[i].device;
    snprintf(text, sizeof text, devices ? "%d of 0 to %d" : "%d", device, devices);
    return plim__timeline_add_fact(reader->timeline, "device", text, error);
}

plim_status plim__torch_finish(plim__torch_reader *reader, plim_error *error) {
    /* a trace list that is not inside device_traces (a form we have not met) is device 0's */
    if (reader->traces.count == 1 && reader->traces.items[0].device < 0) reader->traces.items[0].device = 0;
    end_traces(reader);
    int device = reader->device >= 0 ? reader->device : busiest_device(reader);
    PLIM_TRY(keep_device(reader, device, error));
    if (reader->device >= 0 && !reader->timeline->segments.count && !trace_of(reader, device))
        return plim__fail(error, PLIM_NOT_FOUND, "'%s' has no device %d", reader->path, device);
    PLIM_TRY(add_untold(reader, error));
    PLIM_TRY(add_reserved(reader, trace_of(reader, device), error));
    PLIM_TRY(lay_out(reader, error));
    PLIM_TRY(add_facts(reader, device, error));
    return plim__timeline_finish(reader->timeline, error);
}
