/* The last run of a replay as a timeline, for the page and the chart. */
#include "alloc/pool.h"
#include "core/arguments.h"
#include "fit/replay.h"
#include "report/report.h"

static const uint64_t first_address = (uint64_t)0x7f0000000000;

/* After a refusal nothing more happened: what would have come is not shown. */
static void cut(plim_replay *replay) {
    plim__timeline *timeline = &replay->timeline;
    uint32_t last = replay->requests.list.items[replay->result.failed_event].tick;
    size_t kept = 0;
    for (size_t i = 0; i < timeline->lives.count; i++) {
        plim__timeline_life life = timeline->lives.items[i];
        if (life.born >= last && !(life.born == 0 && replay->places.items[i])) continue;
        if (life.died > last) life.died = PLIM__NEVER;
        replay->places.items[kept] = replay->places.items[i];
        timeline->lives.items[kept++] = life;
    }
    timeline->lives.count = kept;
    timeline->ticks = last + 1;
    if (timeline->seconds.count > timeline->ticks) timeline->seconds.count = timeline->ticks;
    kept = 0;
    for (size_t i = 0; i < timeline->marks.count; i++)
        if (timeline->marks.items[i].tick <= last) timeline->marks.items[kept++] = timeline->marks.items[i];
    timeline->marks.count = kept;
}

/* Simulated addresses rise without holes, except where ranges are longer than what is in them. */
static void place_lives(plim_replay *replay) {
    bool sparse = replay->options.expandable_segments || replay->options.falling_addresses ||
                  replay->options.kind == PLIM_POOL_CUDA_ASYNC;
    for (size_t i = 0; i < replay->timeline.lives.count; i++) {
        uint64_t at = replay->places.items[i];
        bool known = !sparse && at >= first_address;
        replay->timeline.lives.items[i].offset = known ? at - first_address : PLIM__NO_OFFSET;
    }
}

typedef struct listing {
    plim__timeline *timeline;
    bool fine;
} listing;

static bool add_piece(void *context, const plim_pool_piece *piece) {
    listing *list = context;
    plim__timeline *t = list->timeline;
    bool first = !t->segments.count || t->segments.items[t->segments.count - 1].address != piece->segment;
    if (first) {
        plim__timeline_segment segment = {.address = piece->segment,
                                          .stream = piece->stream,
                                          .offset = PLIM__NO_OFFSET,
                                          .first_block = (uint32_t)t->blocks.count};
        if (!plim__vec_push(&t->segments, segment)) return list->fine = false;
    }
    if (!piece->mapped) return true;
    plim__timeline_segment *segment = &t->segments.items[t->segments.count - 1];
    plim__timeline_block block = {.bytes = piece->bytes, .requested = piece->requested};
    block.state = (uint8_t)(piece->used ? PLIM__BLOCK_ACTIVE : piece->pending ? PLIM__BLOCK_PENDING : PLIM__BLOCK_FREE);
    segment->bytes += piece->bytes;
    segment->block_count++;
    return list->fine = plim__vec_push(&t->blocks, block);
}

static plim_status list_segments(plim_replay *replay, plim_error *error) {
    listing list = {.timeline = &replay->timeline, .fine = true};
    replay->timeline.segments.count = replay->timeline.blocks.count = 0;
    PLIM_TRY(plim_pool_each(replay->pool, add_piece, &list, error));
    return list.fine ? PLIM_OK : plim__fail_memory(error, "the segments of a replay", 1);
}

static plim_status add_reserved(plim_replay *replay, plim_error *error) {
    plim__timeline *timeline = &replay->timeline;
    for (size_t i = 0; i < timeline->series.count; i++) plim__vec_free(&timeline->series.items[i].samples);
    timeline->series.count = 0;
    uint32_t series;
    PLIM_TRY(plim__timeline_add_series(timeline, "reserved", &series, error));
    uint64_t last = UINT64_MAX;
    for (size_t i = 0; i < replay->samples.count; i++) {
        const plim__replay_sample *sample = &replay->samples.items[i];
        if (sample->reserved == last || sample->tick >= timeline->ticks) continue;
        last = sample->reserved;
        PLIM_TRY(plim__timeline_add_sample(timeline, series, sample->tick, last, error));
    }
    return PLIM_OK;
}

/* What is reserved and not in use serves a request only where it lies in one piece. */
static plim_status add_longest_free(plim_replay *replay, plim_error *error) {
    plim__timeline *timeline = &replay->timeline;
    uint32_t series;
    PLIM_TRY(plim__timeline_add_series(timeline, "longest free block", &series, error));
    for (size_t i = 0; i < replay->moments.count; i++) {
        const plim__replay_moment *moment = &replay->moments.items[i];
        if (moment->tick < timeline->ticks)
            PLIM_TRY(plim__timeline_add_sample(timeline, series, moment->tick, moment->point.largest_free, error));
    }
    return PLIM_OK;
}

static plim_status prepare(plim_replay *replay, plim_error *error) {
    if (!replay || !replay->pool) return plim__fail(error, PLIM_INVALID, "nothing was replayed yet");
    bool as_recorded = replay->result.addresses && !replay->result.wrong;
    if (replay->result.failed) cut(replay);
    if (!as_recorded) place_lives(replay);
    if (!as_recorded) PLIM_TRY(list_segments(replay, error));
    PLIM_TRY(add_reserved(replay, error));
    PLIM_TRY(add_longest_free(replay, error));
    if (replay->options.capacity) replay->timeline.capacity = replay->options.capacity;
    PLIM_TRY(plim__timeline_add_fact(&replay->timeline, "allocator", plim_pool_title(replay->options.kind), error));
    if (replay->result.failed)
        PLIM_TRY(plim__timeline_add_mark(&replay->timeline, PLIM__MARK_OOM, replay->timeline.ticks - 1,
                                         replay->result.failed_bytes, replay->result.failed_name, error));
    return plim__timeline_finish(&replay->timeline, error);
}

plim_status plim_replay_save_page(plim_replay *replay, const char *path, plim_error *error) {
    plim__summary summary = {0};
    PLIM__NEED(replay, error);
    PLIM__NEED(path, error);
    PLIM_TRY(prepare(replay, error));
    plim_status status = plim__summary_make(&replay->timeline, &summary, error);
    if (status == PLIM_OK) status = plim__report_html(&replay->timeline, &summary, path, error);
    plim__summary_free(&summary);
    return status;
}

plim_status plim_replay_print(plim_replay *replay, int width, bool unicode, char **text, plim_error *error) {
    plim__summary summary = {0};
    plim__str out = {0};
    PLIM__NEED(text, error);
    *text = NULL;
    PLIM__NEED(replay, error);
    if (width < 0 || width > 10000) return plim__fail(error, PLIM_INVALID, "a chart of %d characters", width);
    PLIM_TRY(prepare(replay, error));
    plim_status status = plim__summary_make(&replay->timeline, &summary, error);
    plim__text_options options = {.width = width, .unicode = unicode};
    if (status == PLIM_OK) plim__report_text(&replay->timeline, &summary, &options, &out);
    plim__summary_free(&summary);
    if (status == PLIM_OK && out.failed) status = plim__fail_memory(error, "a chart", out.length);
    if (status == PLIM_OK)
        *text = out.data;
    else
        plim__str_free(&out);
    return status;
}
