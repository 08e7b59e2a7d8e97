#include "fit/requests.h"

#include <stdlib.h>

#include "core/address_map.h"
#include "core/alloc.h"
#include "core/error.h"
#include "report/events.h"
#include "report/report.h"

#define MIB ((uint64_t)1 << 20)

static plim_status no_memory(plim_error *error) { return plim__fail_memory(error, "the requests of a trace", 1); }

void plim__requests_free(plim__requests *requests) {
    plim__vec_free(&requests->list);
    plim__vec_free(&requests->sizes);
    plim__vec_free(&requests->segments);
}

plim_status plim__requests_from_timeline(const plim__timeline *timeline, plim__requests *requests, plim_error *error) {
    plim__events events;
    PLIM_TRY(plim__events_open(&events, timeline, error));
    uint32_t life;
    bool death, fine = true;
    while (fine && plim__events_next(&events, &life, &death)) {
        const plim__timeline_life *l = &timeline->lives.items[life];
        plim__request request = {.key = (uint64_t)life + 1,
                                 .bytes = l->bytes,
                                 .tick = death ? l->died : l->born,
                                 .life = life,
                                 .type = death ? PLIM__REQUEST_FREE : PLIM__REQUEST_ALLOC};
        fine = plim__vec_push(&requests->list, request);
    }
    plim__events_free(&events);
    return fine ? PLIM_OK : no_memory(error);
}

/* The life that begins at a tick with a given size. */
static uint32_t life_at(const plim__timeline *timeline, uint32_t tick, uint64_t bytes) {
    size_t low = 0, high = timeline->lives.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (timeline->lives.items[middle].born < tick)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < timeline->lives.count && timeline->lives.items[low].born == tick; low++)
        if (timeline->lives.items[low].bytes == bytes) return (uint32_t)low;
    return PLIM__NEVER;
}

typedef struct builder {
    const plim__timeline *timeline;
    const plim__memory_log *log;
    plim__requests *requests;
    plim__address_map live; /* addresses to places in the log */
} builder;

static bool add(builder *b, plim__request_type type, const plim__memory_event *event) {
    uint32_t life = type == PLIM__REQUEST_ALLOC ? life_at(b->timeline, event->tick, event->bytes) : PLIM__NEVER;
    plim__request request = {.key = event->address,
                             .bytes = event->bytes,
                             .stream = event->stream,
                             .tick = event->tick,
                             .life = life,
                             .type = (uint8_t)type};
    return plim__vec_push(&b->requests->list, request);
}

static bool add_held(builder *b, plim__memory_event event, uint64_t size) {
    b->requests->before++;
    b->requests->held_before += event.bytes;
    event.tick = 0;
    return plim__vec_push(&b->requests->sizes, size) && add(b, PLIM__REQUEST_ALLOC, &event);
}

/* Blocks that are freed without having been allocated were there before. */
static bool find_freed_before(builder *b) {
    bool fine = true;
    for (size_t i = 0; fine && i < b->log->events.count; i++) {
        const plim__memory_event *event = &b->log->events.items[i];
        uint32_t known;
        if (event->action == PLIM__ACTION_ALLOC)
            fine = plim__address_put(&b->live, event->address, (uint32_t)(i & UINT32_MAX >> 1));
        else if (event->action == PLIM__ACTION_FREE_REQUESTED && !plim__address_take(&b->live, event->address, &known))
            fine = add_held(b, *event, 0);
    }
    return fine;
}

/* ... and so were blocks that live at the end and that no event tells of. */
static bool find_silent(builder *b) {
    bool fine = true;
    for (size_t i = 0; fine && i < b->timeline->segments.count; i++) {
        const plim__timeline_segment *segment = &b->timeline->segments.items[i];
        uint64_t address = segment->address;
        b->requests->reserved += segment->bytes;
        for (uint32_t k = segment->first_block; fine && k < segment->first_block + segment->block_count; k++) {
            const plim__timeline_block *block = &b->timeline->blocks.items[k];
            uint32_t known;
            bool active = block->state == PLIM__BLOCK_ACTIVE;
            if (active) b->requests->allocated += block->bytes;
            plim__memory_event held = {.address = address, .bytes = block->requested, .stream = segment->stream};
            if (active && !plim__address_find(&b->live, address, &known)) fine = add_held(b, held, block->bytes);
            address += block->bytes;
        }
    }
    return fine;
}

typedef struct held_block {
    uint64_t address;
    size_t at; /* in the requests */
} held_block;

static int by_address(const void *a, const void *b) {
    const held_block *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

/* The last of the held blocks that begins at or below an address; NULL: none does. */
static held_block *block_below(held_block *blocks, size_t count, uint64_t address) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (blocks[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &blocks[low - 1] : NULL;
}

/* A block of the large pool may be longer than what was asked for, by up to 1 MiB. What is free behind it is handed out from
 * its front, so the first block that appears there while it lives tells where it ends. */
static bool find_sizes(builder *b) {
    plim__requests *requests = b->requests;
    size_t count = requests->before;
    held_block *blocks = plim__alloc_zero(count + 1, sizeof *blocks);
    bool *gone = plim__alloc_zero(count + 1, sizeof *gone);
    for (size_t i = 0; blocks && i < count; i++) blocks[i] = (held_block){requests->list.items[i].key, i};
    if (blocks) qsort(blocks, count, sizeof *blocks, by_address);
    for (size_t i = 0; blocks && gone && i < b->log->events.count; i++) {
        const plim__memory_event *event = &b->log->events.items[i];
        held_block *block = block_below(blocks, count, event->address);
        if (!block || gone[block->at]) continue;
        if (event->action == PLIM__ACTION_FREE_REQUESTED && block->address == event->address) gone[block->at] = true;
        if (event->action != PLIM__ACTION_ALLOC || requests->sizes.items[block->at]) continue;
        uint64_t length = event->address - block->address, least = requests->list.items[block->at].bytes;
        if (least > MIB && length >= least && length - least <= MIB) requests->sizes.items[block->at] = length;
    }
    bool fine = blocks && gone;
    plim__free(blocks);
    plim__free(gone);
    return fine;
}

/* Segments that are there at the end and were not taken, or that were given back and not taken before. */
static bool find_segments_before(builder *b) {
    plim__address_map taken = {0};
    bool fine = true;
    uint32_t known;
    for (size_t i = 0; fine && i < b->log->events.count; i++) {
        const plim__memory_event *event = &b->log->events.items[i];
        plim__segment_before segment = {event->address, event->bytes, event->stream};
        if (event->action == PLIM__ACTION_SEGMENT_TAKEN)
            fine = plim__address_put(&taken, event->address, 0);
        else if (event->action == PLIM__ACTION_SEGMENT_GIVEN && !plim__address_take(&taken, event->address, &known))
            fine = plim__vec_push(&b->requests->segments, segment);
    }
    for (size_t i = 0; fine && i < b->timeline->segments.count; i++) {
        const plim__timeline_segment *s = &b->timeline->segments.items[i];
        plim__segment_before segment = {s->address, s->bytes, s->stream};
        b->requests->expandable = b->requests->expandable || s->expandable;
        if (!plim__address_find(&taken, s->address, &known)) fine = plim__vec_push(&b->requests->segments, segment);
    }
    plim__address_free(&taken);
    return fine;
}

/* Segments that go back just before another is taken were given back at a limit; else the program asked for it. */
static bool is_retry(const plim__memory_log *log, size_t at) {
    while (at < log->events.count && log->events.items[at].action == PLIM__ACTION_SEGMENT_GIVEN) at++;
    return at < log->events.count && (log->events.items[at].action == PLIM__ACTION_SEGMENT_TAKEN ||
                                      log->events.items[at].action == PLIM__ACTION_REFUSED);
}

static bool add_event(builder *b, size_t at) {
    const plim__memory_event *event = &b->log->events.items[at];
    bool follows = at > 0 && b->log->events.items[at - 1].action == PLIM__ACTION_SEGMENT_GIVEN;
    switch ((plim__memory_action)event->action) {
    case PLIM__ACTION_ALLOC: return add(b, PLIM__REQUEST_ALLOC, event);
    case PLIM__ACTION_FREE_REQUESTED: return add(b, PLIM__REQUEST_FREE_BEGIN, event);
    case PLIM__ACTION_FREE_COMPLETED: return add(b, PLIM__REQUEST_FREE_END, event);
    case PLIM__ACTION_SEGMENT_TAKEN: return add(b, PLIM__REQUEST_SEGMENT, event);
    case PLIM__ACTION_SEGMENT_GIVEN:
        if (!follows && !is_retry(b->log, at) && !add(b, PLIM__REQUEST_EMPTY, event)) return false;
        return add(b, PLIM__REQUEST_GIVE, event);
    case PLIM__ACTION_REFUSED: break;
    }
    return true;
}

static plim_status from_log(const plim__timeline *timeline, const plim__memory_log *log, plim__requests *requests,
                            plim_error *error) {
    builder b = {.timeline = timeline, .log = log, .requests = requests};
    bool fine = find_freed_before(&b) && find_silent(&b) && find_sizes(&b) && find_segments_before(&b);
    for (size_t i = 0; fine && i < log->events.count; i++) fine = add_event(&b, i);
    plim__address_free(&b.live);
    requests->recorded = true;
    return fine ? PLIM_OK : no_memory(error);
}

plim_status plim__requests_read(const char *path, int device, plim__timeline *timeline, plim__requests *requests,
                                plim_error *error) {
    plim__memory_log log = {0};
    plim_status status = plim__report_read_log(path, device, timeline, &log, error);
    if (status == PLIM_OK && log.events.count)
        status = from_log(timeline, &log, requests, error);
    else if (status == PLIM_OK)
        status = plim__requests_from_timeline(timeline, requests, error);
    plim__vec_free(&log.events);
    if (status == PLIM_OK && !requests->list.count)
        status = plim__fail(error, PLIM_UNSUPPORTED, "'%s' has no allocations to replay", path);
    return status;
}
