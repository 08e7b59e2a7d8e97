/* Requests through an allocator. Where the record is of the same allocator, its segments get the recorded addresses, so
 * that every address that is handed out can be compared with the recorded one. */
#include "fit/replay.h"

#include <stdio.h>
#include <string.h>

#include "alloc/pool.h"
#include "core/arguments.h"
#include "core/str.h"
#include "fit/before.h"

#define MIB ((uint64_t)1 << 20)

typedef struct run_state {
    plim_replay *replay;
    plim_pool *pool;
    plim_replay_result *result;
    plim__address_map places; /* keys to places in `addresses` */
    PLIM_VEC(uint64_t) addresses;
    PLIM_VEC(uint32_t) vacant;
    bool compare;    /* the record is of this allocator with these settings */
    size_t restored; /* requests that the pool began with, at their recorded addresses */
    bool keep;       /* samples and places are wanted */
} run_state;

plim_status plim_replay_load(const char *path, int device, plim_replay **replay, plim_error *error) {
    PLIM__NEED(replay, error);
    *replay = NULL;
    PLIM__NEED(path, error);
    if (device < -1) return plim__fail(error, PLIM_INVALID, "there is no device %d", device);
    plim_replay *made = plim__alloc_zero(1, sizeof *made);
    if (!made) return plim__fail_memory(error, "a replay", sizeof *made);
    plim__timeline_init(&made->timeline, PLIM__SOURCE_RUN);
    plim_status status = plim__requests_read(path, device, &made->timeline, &made->requests, error);
    if (status != PLIM_OK)
        plim_replay_free(made);
    else
        *replay = made;
    return status;
}

void plim__replay_clear(plim_replay *replay) {
    plim__timeline_free(&replay->timeline);
    plim__requests_free(&replay->requests);
    plim__vec_free(&replay->samples);
    plim__vec_free(&replay->moments);
    plim__vec_free(&replay->places);
    plim_pool_free(replay->pool);
}

void plim_replay_free(plim_replay *replay) {
    if (!replay) return;
    plim__replay_clear(replay);
    plim__free(replay);
}

/* --- one request ---------------------------------------------------------------------------------------------- */

static bool remember(run_state *s, uint64_t key, uint64_t address) {
    uint32_t place;
    if (s->vacant.count) {
        place = s->vacant.items[--s->vacant.count];
        s->addresses.items[place] = address;
    } else {
        if (!plim__vec_push(&s->addresses, address)) return false;
        place = (uint32_t)(s->addresses.count - 1);
    }
    return plim__vec_reserve(&s->vacant, s->addresses.count) && plim__address_put(&s->places, key, place);
}

static bool recall(run_state *s, uint64_t key, bool ends, uint64_t *address) {
    uint32_t place;
    if (ends ? !plim__address_take(&s->places, key, &place) : !plim__address_find(&s->places, key, &place))
        return false;
    *address = s->addresses.items[place];
    if (ends) (void)plim__vec_push(&s->vacant, place); /* room was made */
    return true;
}

static void name_request(const plim_replay *replay, const plim__request *request, char *name, size_t size) {
    *name = '\0';
    if (request->life == PLIM__NEVER || request->life >= replay->timeline.lives.count) return;
    uint32_t tensor = replay->timeline.lives.items[request->life].tensor;
    const char *text = plim__timeline_get(&replay->timeline, replay->timeline.tensors.items[tensor].name);
    snprintf(name, size, "%s", text);
}

static plim_status serve(run_state *s, size_t at, const plim__request *request, plim_error *error) {
    plim_pool_request wanted = {.bytes = request->bytes, .stream = request->stream};
    uint64_t address = 0;
    plim_error refused;
    plim_status status = plim_pool_alloc(s->pool, &wanted, &address, &refused);
    if (status == PLIM_NO_MEMORY && s->pool->stats.failures) {
        s->result->failed = true;
        s->result->failed_bytes = request->bytes;
        s->result->failed_event = at;
        name_request(s->replay, request, s->result->failed_name, sizeof s->result->failed_name);
        return PLIM_OK;
    }
    if (status != PLIM_OK) return plim__fail(error, status, "%s", refused.message);
    bool known = at >= s->replay->requests.before;
    if (s->compare && known && request->bytes) {
        s->result->addresses++;
        if (address != request->key) s->result->wrong++;
    }
    if (!remember(s, request->key, address)) return plim__fail_memory(error, "a replay", request->bytes);
    if (s->keep && request->life != PLIM__NEVER && request->life < s->replay->places.count)
        s->replay->places.items[request->life] = address;
    return PLIM_OK;
}

static plim_status give_back(run_state *s, const plim__request *request, plim_error *error) {
    uint64_t address = 0;
    bool ends = request->type != PLIM__REQUEST_FREE_BEGIN;
    if (!recall(s, request->key, ends, &address) || !address) return PLIM_OK; /* a free of what was never seen */
    if (request->type == PLIM__REQUEST_FREE_END)
        plim__pool_release_end(s->pool, address);
    else if (request->type == PLIM__REQUEST_FREE_BEGIN)
        (void)plim__pool_release_begin(s->pool, address, NULL);
    else
        return plim_pool_release(s->pool, address, error);
    return PLIM_OK;
}

/* The recorded allocator gave this segment back; ours does too where it is wholly free. */
static void close_segment(run_state *s, uint64_t address) {
    for (size_t which = 0; which < PLIM__POOLS; which++) {
        plim__block_set *set = &s->pool->free[which];
        for (size_t i = 0; i < set->order.count; i++) {
            uint32_t index = set->order.items[i];
            const plim__block *block = plim__pool_at(s->pool, index);
            if (block->address != address || block->expandable || !plim__pool_is_whole(s->pool, index)) continue;
            plim__pool_close(s->pool, index);
            return;
        }
    }
}

static plim_status handle(run_state *s, size_t at, const plim__request *request, plim_error *error) {
    switch ((plim__request_type)request->type) {
    case PLIM__REQUEST_ALLOC: return serve(s, at, request, error);
    case PLIM__REQUEST_FREE:
    case PLIM__REQUEST_FREE_BEGIN:
    case PLIM__REQUEST_FREE_END: return give_back(s, request, error);
    case PLIM__REQUEST_SEGMENT:
        if (s->compare && !s->pool->options.expandable_segments) s->pool->device.wished = request->key;
        return PLIM_OK;
    case PLIM__REQUEST_GIVE:
        if (s->compare) close_segment(s, request->key);
        return PLIM_OK;
    case PLIM__REQUEST_EMPTY: return s->compare ? PLIM_OK : plim_pool_empty(s->pool, error);
    }
    return PLIM_OK;
}

/* --- all of them ---------------------------------------------------------------------------------------------- */

static bool is_recorded_allocator(const plim_replay *replay, const plim_pool_options *o) {
    bool plain = !o->max_split_size && !o->expandable_segments && !o->large_segment_size && o->memory_fraction == 0 &&
                 !o->roundup_power2_divisions[0] && !o->roundup_power2_divisions[PLIM_POOL_DIVISIONS - 1];
    return replay->requests.recorded && !replay->requests.expandable && o->kind == PLIM_POOL_PYTORCH && plain &&
           !o->capacity;
}

static bool add_sample(run_state *s, uint32_t tick) {
    plim__replay_sample now = {tick, s->pool->stats.allocated, s->pool->stats.reserved};
    size_t count = s->replay->samples.count;
    if (count && s->replay->samples.items[count - 1].tick == tick) {
        plim__replay_sample *last = &s->replay->samples.items[count - 1];
        if (now.reserved > last->reserved) last->reserved = now.reserved;
        if (now.allocated > last->allocated) last->allocated = now.allocated;
        return true;
    }
    return plim__vec_push(&s->replay->samples, now);
}

/* Looking at every block takes time: it is done a few hundred times in a run. */
static bool add_point(run_state *s, uint32_t tick) {
    plim_pool_stats now;
    plim_pool_get_stats(s->pool, &now);
    plim_replay_point point = {.event = s->result->events,
                               .requested = now.requested,
                               .allocated = now.allocated,
                               .reserved = now.reserved,
                               .unused = now.unused,
                               .largest_free = now.largest_free,
                               .fragmentation = now.fragmentation};
    return plim__vec_push(&s->replay->moments, ((plim__replay_moment){tick, point}));
}

const plim_replay_point *plim_replay_point_at(const plim_replay *replay, size_t index) {
    return replay && index < replay->moments.count ? &replay->moments.items[index].point : NULL;
}

static plim_status run_all(run_state *s, plim_error *error) {
    plim_replay *replay = s->replay;
    enum { POINTS = 511 }; /* and the end */
    size_t each = replay->requests.list.count / POINTS + 1;
    plim_status status = PLIM_OK;
    for (size_t i = s->restored; status == PLIM_OK && !s->result->failed && i < replay->requests.list.count; i++) {
        const plim__request *request = &replay->requests.list.items[i];
        status = handle(s, i, request, error);
        if (!s->result->failed) s->result->events++;
        if (status == PLIM_OK && s->keep && !add_sample(s, request->tick))
            status = plim__fail_memory(error, "a replay's samples", 1);
        bool look = s->keep && (i % each == 0 || s->result->failed || i + 1 == replay->requests.list.count);
        if (status == PLIM_OK && look && !add_point(s, request->tick))
            status = plim__fail_memory(error, "a replay's samples", 1);
    }
    return status;
}

static plim_status prepare_places(plim_replay *replay, plim_error *error) {
    replay->samples.count = replay->moments.count = replay->places.count = 0;
    for (size_t i = 0; i < replay->timeline.lives.count; i++)
        if (!plim__vec_push(&replay->places, 0)) return plim__fail_memory(error, "a replay's places", i);
    return PLIM_OK;
}

/* A record that begins later: the allocator as it was then, where the record tells enough of it. */
static plim_status begin(run_state *s, const plim_pool_options *options, plim_error *error) {
    const plim__requests *requests = &s->replay->requests;
    PLIM_TRY(plim_pool_create(options, &s->pool, error));
    if (!s->compare || !requests->before) return PLIM_OK;
    PLIM_TRY(plim__before_restore(requests, s->pool, &s->compare, error));
    if (!s->compare) {
        plim_pool_free(s->pool);
        s->pool = NULL;
        return plim_pool_create(options, &s->pool, error);
    }
    s->restored = requests->before;
    for (size_t i = 0; i < requests->before; i++) {
        const plim__request *request = &requests->list.items[i];
        if (request->bytes && !remember(s, request->key, request->key))
            return plim__fail_memory(error, "a replay", requests->before);
    }
    return PLIM_OK;
}

static plim_status run(plim_replay *replay, const plim_pool_options *options, bool keep, plim_replay_result *result,
                       plim_error *error) {
    *result = (plim_replay_result){.held_before = replay->requests.held_before,
                                   .recorded_reserved = replay->requests.reserved,
                                   .recorded_allocated = replay->requests.allocated};
    run_state s = {.replay = replay, .result = result, .keep = keep};
    s.compare = is_recorded_allocator(replay, options);
    plim_status status = begin(&s, options, error);
    if (status == PLIM_OK && keep) status = prepare_places(replay, error);
    if (status == PLIM_OK) status = run_all(&s, error);
    if (s.pool) plim_pool_get_stats(s.pool, &result->stats);
    plim__address_free(&s.places);
    plim__vec_free(&s.addresses);
    plim__vec_free(&s.vacant);
    if (keep && status == PLIM_OK) {
        plim_pool_free(replay->pool);
        replay->pool = s.pool;
        replay->options = *options;
        replay->result = *result;
    } else {
        plim_pool_free(s.pool);
    }
    return status;
}

plim_status plim__replay_measure(plim_replay *replay, const plim_pool_options *options, plim_replay_result *result,
                                 plim_error *error) {
    return run(replay, options, false, result, error);
}

plim_status plim_replay_run(plim_replay *replay, const plim_pool_options *options, plim_replay_result *result,
                            plim_error *error) {
    plim_pool_options o;
    PLIM__NEED(result, error);
    *result = (plim_replay_result){0};
    PLIM__NEED(replay, error);
    PLIM__OPTIONS(plim_pool_options, o, options, error);
    options = &o;
    if (options->real) return plim__fail(error, PLIM_INVALID, "a record is replayed on a simulated device");
    return run(replay, options, true, result, error);
}

static plim_status fails_with(plim_replay *replay, plim_pool_options *tried, uint64_t mebibytes, bool *fails,
                              plim_error *error) {
    plim_replay_result result;
    tried->capacity = mebibytes * MIB;
    PLIM_TRY(run(replay, tried, false, &result, error));
    *fails = result.failed;
    return PLIM_OK;
}

/* Halves between a capacity that does not do and one that does. */
static plim_status close_in(plim_replay *replay, plim_pool_options *tried, uint64_t low, uint64_t *high,
                            plim_error *error) {
    while (low + 1 < *high) {
        uint64_t middle = low + (*high - low) / 2;
        bool fails;
        PLIM_TRY(fails_with(replay, tried, middle, &fails, error));
        if (fails)
            low = middle;
        else
            *high = middle;
    }
    return PLIM_OK;
}

/* More memory is not always enough where less was: what a region ends with decides which chunks are split. So what is found must
 * also do with up to a twentieth more; where it does not, the search goes on above. */
static plim_status check_above(plim_replay *replay, plim_pool_options *tried, uint64_t *least, plim_error *error) {
    enum { CHECKS = 16, SHARE = 20, ROUNDS = 256 };
    uint64_t step = *least / SHARE / CHECKS + 1, jump = step, checked = *least, failed = 0;
    for (int round = 0; round < ROUNDS && (failed || checked < *least + *least / SHARE); round++) {
        bool fails;
        PLIM_TRY(fails_with(replay, tried, checked + jump, &fails, error));
        checked += jump;
        jump = fails ? jump * 2 : step;
        if (fails) failed = checked;
        if (fails || !failed) continue;
        *least = checked;
        PLIM_TRY(close_in(replay, tried, failed, least, error));
        checked = *least;
        failed = 0;
    }
    return PLIM_OK;
}

plim_status plim_replay_least_capacity(plim_replay *replay, const plim_pool_options *options, uint64_t *bytes,
                                       plim_error *error) {
    plim_pool_options tried;
    PLIM__NEED(bytes, error);
    *bytes = 0;
    PLIM__NEED(replay, error);
    PLIM__OPTIONS(plim_pool_options, tried, options, error);
    plim_replay_result result;
    tried.capacity = 0;
    tried.limit = 0;
    tried.whole = false;
    PLIM_TRY(run(replay, &tried, false, &result, error));
    if (result.failed) return plim__fail(error, PLIM_OVERFLOW, "the record asks for more than any device has");
    uint64_t low = result.stats.requested_peak / MIB, high = (result.stats.reserved_peak + MIB - 1) / MIB;
    tried.whole = options->whole;
    PLIM_TRY(close_in(replay, &tried, low, &high, error));
    if (tried.whole) PLIM_TRY(check_above(replay, &tried, &high, error));
    *bytes = high * MIB;
    return PLIM_OK;
}

/* --- settings worth trying ------------------------------------------------------------------------------------ */

const plim_replay_setting *plim_replay_setting_at(size_t index) {
    static const plim_replay_setting all[] = {
        {"pytorch", "PyTorch's defaults"},
        {"pytorch:expandable_segments:True", "segments grow instead of being many: least fragmentation"},
        {"pytorch:max_split_size_mb:128", "blocks of 128 MiB and more are never split"},
        {"pytorch:max_split_size_mb:512", "blocks of 512 MiB and more are never split"},
        {"pytorch:roundup_power2_divisions:8",
         "sizes are rounded to eighths of powers of two, so that blocks fit again"},
        {"pytorch:garbage_collection_threshold:0.8,per_process_memory_fraction:1.0",
         "old cached segments go back above 80 % of the card"},
        {"cudamallocasync", "PyTorch or TensorFlow with cudaMallocAsync"},
        {"tensorflow", "TensorFlow's allocator with allow_growth"},
        {"onnxruntime", "onnxruntime's arena"},
    };
    return index < sizeof all / sizeof *all ? &all[index] : NULL;
}
