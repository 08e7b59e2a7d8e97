/* Taking a snapshot's pickle apart. The visitor folds what is complete:
 *
 *   frame dict    → the id of its text            block dict   → its place in reader.blocks
 *   frames list   → the id of its stack           segment dict → its place in reader.segments
 *   event dict    → the tick it happens at        trace list   → its place in reader.traces
 *
 * Only allocations and completed frees make a tick; what else happens stands at the tick of the next one. Most
 * events are not even listed: a trace list needs its first event only, to tell where the trace begins. */
#include "format/torch_snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "core/str.h"
#include "format/pickle.h"
#include "format/torch_snapshot_internal.h"
#include "plimsoll/bytes.h"

/* What the pickle's own values may hold at once; the rest of a reader's memory is the timeline. */
enum { PICKLE_LIMIT = 160 << 20 };

bool plim__torch_snapshot_sniff(const void *data, size_t size) {
    const unsigned char *at = data;
    if (size >= 2 && at[0] == 0x80) return at[1] >= 2 && at[1] <= 5;
    /* protocols 0 and 1 have no header: a list or a dict starts with one of these */
    return size >= 2 &&
           ((at[0] == '(' && (at[1] == 'd' || at[1] == 'l')) || ((at[0] == '}' || at[0] == ']') && at[1] == 'q'));
}

static uint64_t unsigned_at(plim__pickle_value dict, const char *key, uint64_t missing) {
    uint64_t number;
    return plim__pickle_uint(plim__pickle_get(dict, key), &number) ? number : missing;
}

static plim__pickle_verdict out_of_memory(const plim__torch_reader *reader, plim_error *error) {
    plim__fail_memory(error, reader->path, 1);
    return PLIM__PICKLE_FAIL;
}

/* The stack behind a "frames" value that was folded; 0 when there is none. */
static uint32_t stack_at(const plim__torch_reader *reader, plim__pickle_value dict) {
    int64_t token;
    bool folded = plim__pickle_token(plim__pickle_get(dict, "frames"), &token);
    return folded && token > 0 && (uint64_t)token < reader->timeline->stacks.count ? (uint32_t)token : 0;
}

/* --- stacks --------------------------------------------------------------------------------------------------- */

static bool is_frame(plim__pickle_value dict) {
    return plim__pickle_type_of(plim__pickle_get(dict, "filename")) == PLIM__PICKLE_STRING &&
           plim__pickle_type_of(plim__pickle_get(dict, "line")) == PLIM__PICKLE_INT;
}

/* "train.py:42 forward" */
static plim__pickle_verdict fold_frame(plim__torch_reader *reader, plim__pickle_value dict, int64_t *token,
                                       plim_error *error) {
    size_t file_length = 0, name_length = 0;
    const char *file = plim__pickle_text(plim__pickle_get(dict, "filename"), &file_length);
    const char *name = plim__pickle_text(plim__pickle_get(dict, "name"), &name_length);
    int64_t line = 0;
    plim__pickle_int(plim__pickle_get(dict, "line"), &line);
    plim__str text = {0};
    plim__str_addn(&text, file, file_length);
    if (line > 0) plim__str_addf(&text, ":%lld", (long long)line);
    plim__str_addc(&text, ' ');
    if (name) plim__str_addn(&text, name, name_length);
    plim__text_id id = 0;
    bool fine = !text.failed && plim__timeline_textn(reader->timeline, text.data, text.length, &id);
    plim__str_free(&text);
    *token = id;
    return fine ? PLIM__PICKLE_FOLD : out_of_memory(reader, error);
}

/* The file has the innermost frame first; a stack is built from the outermost. */
static plim__pickle_verdict fold_stack(plim__torch_reader *reader, plim__pickle_value list, int64_t *token,
                                       plim_error *error) {
    uint32_t stack = 0;
    for (size_t i = plim__pickle_count(list); i-- > 0;) {
        int64_t frame;
        if (!plim__pickle_token(plim__pickle_at(list, i), &frame) || frame <= 0 ||
            (uint64_t)frame >= reader->timeline->texts.count)
            continue;
        if (!plim__timeline_stack(reader->timeline, stack, (plim__text_id)frame, &stack))
            return out_of_memory(reader, error);
    }
    *token = stack;
    return PLIM__PICKLE_FOLD;
}

/* --- segments and blocks -------------------------------------------------------------------------------------- */

static uint8_t state_of(plim__pickle_value dict) {
    plim__pickle_value state = plim__pickle_get(dict, "state");
    if (plim__pickle_text_is(state, "active_allocated")) return PLIM__BLOCK_ACTIVE;
    if (plim__pickle_text_is(state, "active_pending_free") || plim__pickle_text_is(state, "active_awaiting_free"))
        return PLIM__BLOCK_PENDING;
    return PLIM__BLOCK_FREE;
}

/* Old snapshots keep the stack and the size asked for in the first entry of "history". */
static plim__pickle_verdict fold_block(plim__torch_reader *reader, plim__pickle_value dict, int64_t *token,
                                       plim_error *error) {
    plim__timeline_block block = {
        .bytes = unsigned_at(dict, "size", 0), .state = state_of(dict), .stack = stack_at(reader, dict)};
    block.requested = unsigned_at(dict, "requested_size", block.bytes);
    plim__pickle_value history = plim__pickle_at(plim__pickle_get(dict, "history"), 0);
    if (plim__pickle_type_of(history) == PLIM__PICKLE_DICT) {
        block.requested = unsigned_at(history, "real_size", block.requested);
        if (!block.stack) block.stack = stack_at(reader, history);
    }
    if (block.state == PLIM__BLOCK_FREE) block.requested = 0;
    if (!plim__vec_push(&reader->blocks, block)) return out_of_memory(reader, error);
    reader->is_snapshot = true;
    *token = (int64_t)reader->blocks.count - 1;
    return PLIM__PICKLE_FOLD;
}

static plim__pickle_verdict fold_segment(plim__torch_reader *reader, plim__pickle_value dict, int64_t *token,
                                         plim_error *error) {
    plim__pickle_value list = plim__pickle_get(dict, "blocks");
    int64_t stream = 0, device = 0, expandable = 0;
    plim__pickle_int(plim__pickle_get(dict, "stream"), &stream);
    plim__pickle_int(plim__pickle_get(dict, "device"), &device);
    plim__pickle_int(plim__pickle_get(dict, "is_expandable"), &expandable);
    plim__timeline_segment segment = {.address = unsigned_at(dict, "address", 0),
                                      .bytes = unsigned_at(dict, "total_size", 0),
                                      .stream = stream,
                                      .device = device >= 0 && device < 4096 ? (int32_t)device : 0,
                                      .offset = PLIM__NO_OFFSET,
                                      .expandable = expandable != 0,
                                      .first_block = (uint32_t)reader->segment_blocks.count};
    size_t length = 0;
    const char *pool = plim__pickle_text(plim__pickle_get(dict, "segment_type"), &length);
    if (pool && !plim__timeline_textn(reader->timeline, pool, length, &segment.pool))
        return out_of_memory(reader, error);
    for (size_t i = 0; i < plim__pickle_count(list); i++) {
        int64_t block;
        if (!plim__pickle_token(plim__pickle_at(list, i), &block) || block < 0 ||
            (uint64_t)block >= reader->blocks.count)
            continue;
        if (!plim__vec_push(&reader->segment_blocks, reader->blocks.items[block])) return out_of_memory(reader, error);
        segment.block_count++;
    }
    if (!plim__vec_push(&reader->segments, segment)) return out_of_memory(reader, error);
    reader->is_snapshot = true;
    *token = (int64_t)reader->segments.count - 1;
    return PLIM__PICKLE_FOLD;
}

/* --- events --------------------------------------------------------------------------------------------------- */

static bool add_life(plim__torch_reader *reader, plim__timeline_life life) {
    return plim__torch_tensor(reader, life.stack, life.bytes, &life.tensor) &&
           plim__vec_push(&reader->timeline->lives, life);
}

static bool take_alloc(plim__torch_reader *reader, uint64_t address, uint64_t bytes, uint32_t stack) {
    plim__timeline_life life = {
        .bytes = bytes, .offset = address, .born = reader->events, .died = PLIM__NEVER, .stack = stack};
    uint32_t lost;
    /* events of a full ring are dropped at its start only; an address given out twice was freed unseen */
    if (plim__address_take(&reader->live, address, &lost)) reader->timeline->lives.items[lost].died = reader->events;
    return add_life(reader, life) &&
           plim__address_put(&reader->live, address, (uint32_t)(reader->timeline->lives.count - 1));
}

/* What is freed but was not allocated in the trace was there before it: born at 0, PLIM__NEVER stands for that
 * until the device's first event is known. */
static bool take_free(plim__torch_reader *reader, uint64_t address, uint64_t bytes, uint32_t stack) {
    uint32_t life;
    if (!plim__address_take(&reader->live, address, &life))
        return add_life(
            reader,
            (plim__timeline_life){
                .bytes = bytes, .offset = address, .born = PLIM__NEVER, .died = reader->events, .stack = stack});
    plim__timeline_life *known = &reader->timeline->lives.items[life];
    known->died = reader->events > known->born ? reader->events : known->born + 1;
    return true;
}

/* Times are kept for ticks only. *back: the clock went back, so another device's trace begins here. */
static double take_time(plim__torch_reader *reader, plim__pickle_value event, bool *back) {
    double time = reader->last_time;
    if (!plim__pickle_double(plim__pickle_get(event, "time_us"), &time)) reader->timed = false;
    if (reader->seen == 0) reader->first_time = time;
    *back = reader->seen == 0 || time < reader->last_time || !reader->timed;
    reader->last_time = time;
    return (time - reader->first_time) * 1e-6;
}

/* A birth or a death happened: the next one is at the next tick. */
static bool end_tick(plim__torch_reader *reader, double seconds) {
    reader->events++;
    return !reader->timed || plim__vec_push(&reader->timeline->seconds, seconds);
}

static bool take_refusal(plim__torch_reader *reader, plim__pickle_value event, uint64_t bytes, plim_error *error) {
    char text[96] = "", size[PLIM_BYTES_TEXT];
    uint64_t unused = unsigned_at(event, "device_free", UINT64_MAX);
    if (unused != UINT64_MAX) snprintf(text, sizeof text, "%s free on the device", plim_bytes_format(unused, size));
    plim__timeline_refusal refusal = {.unused = unused, .tick = reader->events, .stack = stack_at(reader, event)};
    return plim__vec_push(&reader->timeline->refusals, refusal) &&
           plim__timeline_add_mark(reader->timeline, PLIM__MARK_OOM, reader->events, bytes, text, error) == PLIM_OK;
}

static const struct action_word {
    const char *word;
    plim__memory_action action;
} action_words[] = {
    {"alloc", PLIM__ACTION_ALLOC},
    {"free_requested", PLIM__ACTION_FREE_REQUESTED},
    {"free_completed", PLIM__ACTION_FREE_COMPLETED},
    {"segment_alloc", PLIM__ACTION_SEGMENT_TAKEN},
    {"segment_map", PLIM__ACTION_SEGMENT_TAKEN},
    {"segment_free", PLIM__ACTION_SEGMENT_GIVEN},
    {"segment_unmap", PLIM__ACTION_SEGMENT_GIVEN},
    {"oom", PLIM__ACTION_REFUSED},
};

static bool add_to_log(plim__torch_reader *reader, plim__pickle_value event, uint64_t address, uint64_t bytes) {
    plim__pickle_value action = plim__pickle_get(event, "action");
    plim__memory_event entry = {.address = address, .bytes = bytes, .tick = reader->events};
    plim__pickle_int(plim__pickle_get(event, "stream"), &entry.stream);
    for (size_t i = 0; i < sizeof action_words / sizeof *action_words; i++) {
        if (!plim__pickle_text_is(action, action_words[i].word)) continue;
        entry.action = (uint8_t)action_words[i].action;
        return plim__vec_push(&reader->log->events, entry);
    }
    return true;
}

/* An allocation of less than nothing, or beyond what devices have: figures that leave it out would be wrong unsaid. */
static bool is_impossible(plim__pickle_value event) {
    uint64_t bytes;
    plim__pickle_value size = plim__pickle_get(event, "size");
    if (!plim__pickle_text_is(plim__pickle_get(event, "action"), "alloc")) return false;
    if (plim__pickle_type_of(size) == PLIM__PICKLE_ABSENT) return false;
    return !plim__pickle_uint(size, &bytes) || bytes > (uint64_t)1 << 60;
}

static bool act(plim__torch_reader *reader, plim__pickle_value event, double seconds, plim_error *error) {
    plim__pickle_value action = plim__pickle_get(event, "action");
    uint64_t bytes = unsigned_at(event, "size", 0), address = unsigned_at(event, "addr", 0);
    if (bytes > (uint64_t)1 << 60 || address > UINT64_MAX - ((uint64_t)1 << 61)) return true; /* nonsense */
    if (reader->log && !add_to_log(reader, event, address, bytes)) return false;
    if (plim__pickle_text_is(action, "alloc"))
        return take_alloc(reader, address, bytes, stack_at(reader, event)) && end_tick(reader, seconds);
    if (plim__pickle_text_is(action, "free_completed"))
        return take_free(reader, address, bytes, stack_at(reader, event)) && end_tick(reader, seconds);
    if (plim__pickle_text_is(action, "segment_alloc") || plim__pickle_text_is(action, "segment_map"))
        return plim__vec_push(&reader->changes, (plim__torch_change){(int64_t)bytes, reader->events});
    if (plim__pickle_text_is(action, "segment_free") || plim__pickle_text_is(action, "segment_unmap"))
        return plim__vec_push(&reader->changes, (plim__torch_change){-(int64_t)bytes, reader->events});
    if (plim__pickle_text_is(action, "oom")) return take_refusal(reader, event, bytes, error);
    return true;
}

static plim__pickle_verdict fold_event(plim__torch_reader *reader, plim__pickle_value event, int64_t *token,
                                       plim_error *error) {
    enum { EVERY = 64 }; /* should a trace begin without its clock going back, its start is known this well */
    if (reader->events >= UINT32_MAX - 4) {
        plim__fail(error, PLIM_UNSUPPORTED, "'%s' has more than 4,294,967,290 events", reader->path);
        return PLIM__PICKLE_FAIL;
    }
    if (is_impossible(event)) {
        plim__fail(error, PLIM_CORRUPT, "'%s': event %llu allocates a size that no device has", reader->path,
                   (unsigned long long)reader->seen);
        return PLIM__PICKLE_FAIL;
    }
    bool back;
    double seconds = take_time(reader, event, &back);
    *token = reader->events;
    if (!act(reader, event, seconds, error)) return out_of_memory(reader, error);
    reader->is_snapshot = true;
    bool listed = back || reader->seen % EVERY == 0;
    reader->seen++;
    return listed ? PLIM__PICKLE_FOLD : PLIM__PICKLE_DROP;
}

/* A list of events: one device's trace. Which device is known when device_traces itself is complete, and where
 * the trace ends when the next one is. */
static plim__pickle_verdict fold_trace(plim__torch_reader *reader, plim__pickle_value list, int64_t *token,
                                       plim_error *error) {
    int64_t first = 0;
    bool empty = plim__pickle_count(list) == 0;
    if (!empty && !plim__pickle_token(plim__pickle_at(list, 0), &first)) return PLIM__PICKLE_KEEP;
    if (first < 0 || first > reader->events) return PLIM__PICKLE_KEEP;
    plim__torch_trace trace = {.first = empty ? PLIM__NEVER : (uint32_t)first, .device = -1};
    if (!plim__vec_push(&reader->traces, trace)) return out_of_memory(reader, error);
    *token = (int64_t)reader->traces.count - 1;
    return PLIM__PICKLE_FOLD;
}

static void name_devices(plim__torch_reader *reader, plim__pickle_value traces) {
    for (size_t i = 0; i < plim__pickle_count(traces) && i < 4096; i++) {
        int64_t token;
        if (plim__pickle_token(plim__pickle_at(traces, i), &token) && token >= 0 &&
            (uint64_t)token < reader->traces.count)
            reader->traces.items[token].device = (int32_t)i;
    }
}

/* --- the whole ------------------------------------------------------------------------------------------------ */

static plim__pickle_verdict visit_list(plim__torch_reader *reader, plim__pickle_value key, plim__pickle_value list,
                                       int64_t *token, plim_error *error) {
    if (plim__pickle_text_is(key, "frames")) return fold_stack(reader, list, token, error);
    if (plim__pickle_text_is(key, "device_traces")) return name_devices(reader, list), PLIM__PICKLE_KEEP;
    return plim__pickle_type_of(key) == PLIM__PICKLE_ABSENT ? fold_trace(reader, list, token, error)
                                                            : PLIM__PICKLE_KEEP;
}

static plim__pickle_verdict visit(void *context, plim__pickle_value key, plim__pickle_value container, int64_t *token,
                                  plim_error *error) {
    plim__torch_reader *reader = context;
    plim__pickle_type type = plim__pickle_type_of(container);
    if (type == PLIM__PICKLE_LIST) return visit_list(reader, key, container, token, error);
    if (type != PLIM__PICKLE_DICT || plim__pickle_type_of(key) != PLIM__PICKLE_ABSENT) return PLIM__PICKLE_KEEP;
    if (plim__pickle_type_of(plim__pickle_get(container, "action")) == PLIM__PICKLE_STRING)
        return fold_event(reader, container, token, error);
    if (is_frame(container)) return fold_frame(reader, container, token, error);
    if (plim__pickle_type_of(plim__pickle_get(container, "total_size")) != PLIM__PICKLE_ABSENT)
        return fold_segment(reader, container, token, error);
    if (plim__pickle_type_of(plim__pickle_get(container, "state")) == PLIM__PICKLE_STRING)
        return fold_block(reader, container, token, error);
    return PLIM__PICKLE_KEEP;
}

static plim_status read_pickle(plim__torch_reader *reader, plim_error *error) {
    int fd = open(reader->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return plim__fail_errno(error, errno, "cannot open '%s'", reader->path);
    plim__pickle_options options = {
        .name = reader->path, .memory_limit = PICKLE_LIMIT, .visitor = {.context = reader, .visit = visit}};
    plim__pickle *pickle = NULL;
    plim_status status = plim__pickle_read_fd(fd, 0, &options, &pickle, error);
    if (status == PLIM_OK && !reader->is_snapshot) {
        plim__pickle_type root = plim__pickle_type_of(plim__pickle_root(pickle));
        bool empty = root == PLIM__PICKLE_LIST ||
                     plim__pickle_type_of(plim__pickle_get(plim__pickle_root(pickle), "segments")) == PLIM__PICKLE_LIST;
        if (!empty)
            status =
                plim__fail(error, PLIM_UNSUPPORTED,
                           "'%s' is a pickle, but not a PyTorch memory snapshot: it has no segments", reader->path);
    }
    plim__pickle_free(pickle);
    close(fd);
    return status;
}

plim_status plim__torch_snapshot_log(const char *path, int device, plim__timeline *timeline, plim__memory_log *log,
                                     plim_error *error) {
    plim__torch_reader reader = {.timeline = timeline, .path = path, .device = device, .log = log, .timed = true};
    timeline->source = PLIM__SOURCE_TORCH;
    plim_status status = read_pickle(&reader, error);
    if (status == PLIM_OK) status = plim__torch_finish(&reader, error);
    plim__address_free(&reader.live);
    plim__vec_free(&reader.traces);
    plim__vec_free(&reader.changes);
    plim__vec_free(&reader.blocks);
    plim__vec_free(&reader.segments);
    plim__vec_free(&reader.segment_blocks);
    plim__vec_free(&reader.stack_tensors);
    return status;
}

plim_status plim__torch_snapshot_read(const char *path, int device, plim__timeline *timeline, plim_error *error) {
    return plim__torch_snapshot_log(path, device, timeline, NULL, error);
}
