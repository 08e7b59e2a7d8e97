/* A pickle that PyTorch's memory viewer and its _memory_viz.py read: one segment that is the arena, its blocks
 * as they are at the end, and the trace of allocations. Only opcodes of protocol 2 that the viewer's own
 * unpickler knows; texts and stacks are stored once and referred to by number after that. */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "report/events.h"
#include "report/report.h"

/* Where the arena seems to be: a round address that fits in 47 bits, as a device's would. */
#define BASE ((uint64_t)0x7f0000000000)

typedef struct pickle {
    const plim__timeline *timeline;
    plim__file_writer file;
    plim_error *error;
    plim_status status;
    uint64_t *addresses; /* of each life */
    uint64_t extent;
    uint32_t memo;         /* numbers given out */
    uint32_t *stack_memo;  /* for each stack its number plus one; 0 when not yet written */
    uint32_t *tensor_memo; /* the same for the frames of a tensor without a stack */
    struct key_memo {
        const char *text;
        uint32_t number;
    } keys[40];
    size_t key_count;
} pickle;

/* --- opcodes -------------------------------------------------------------------------------------------------- */

static void put(pickle *p, const void *bytes, size_t count) {
    if (p->status == PLIM_OK) p->status = plim__file_writer_write(&p->file, bytes, count, p->error);
}

static void op(pickle *p, char opcode) { put(p, &opcode, 1); }

static void put_number(pickle *p, uint64_t value) {
    unsigned char out[12] = {0};
    for (unsigned i = 0; i < 8; i++) out[i + 2] = (unsigned char)(value >> (8 * i));
    if (value < 256) {
        out[1] = 'K';
        put(p, out + 1, 2);
    } else if (value <= INT32_MAX) {
        out[1] = 'J';
        put(p, out + 1, 5);
    } else { /* LONG1 is signed: a ninth byte of zero keeps large addresses positive */
        out[0] = (unsigned char)0x8a;
        out[1] = value >> 63 ? 9 : 8;
        put(p, out, 2u + out[1]);
    }
}

static void put_text(pickle *p, const char *text) {
    uint32_t length = (uint32_t)strlen(text);
    unsigned char head[5] = {'X', (unsigned char)length, (unsigned char)(length >> 8), (unsigned char)(length >> 16),
                             (unsigned char)(length >> 24)};
    put(p, head, sizeof head);
    put(p, text, length);
}

/* LONG_BINPUT 'r' and LONG_BINGET 'j' */
static void put_memo(pickle *p, char opcode, uint32_t number) {
    unsigned char out[5] = {(unsigned char)opcode, (unsigned char)number, (unsigned char)(number >> 8),
                            (unsigned char)(number >> 16), (unsigned char)(number >> 24)};
    put(p, out, sizeof out);
}

/* A word of the format, which comes again and again. The pointer is its identity. */
static void put_key(pickle *p, const char *text) {
    for (size_t i = 0; i < p->key_count; i++)
        if (strcmp(p->keys[i].text, text) == 0) {
            put_memo(p, 'j', p->keys[i].number);
            return;
        }
    put_text(p, text);
    if (p->key_count == sizeof p->keys / sizeof *p->keys) return;
    put_memo(p, 'r', p->memo);
    p->keys[p->key_count++] = (struct key_memo){text, p->memo++};
}

static void put_pair_number(pickle *p, const char *key, uint64_t value) {
    put_key(p, key);
    put_number(p, value);
}

static void put_pair_word(pickle *p, const char *key, const char *word) {
    put_key(p, key);
    put_key(p, word);
}

/* --- stacks --------------------------------------------------------------------------------------------------- */

static void put_frame(pickle *p, const char *file, size_t file_length, uint64_t line, const char *name) {
    op(p, '}');
    op(p, '(');
    put_key(p, "filename");
    char *copy = plim__strndup(file, file_length);
    if (!copy && p->status == PLIM_OK) p->status = plim__fail_memory(p->error, "a file name", file_length);
    put_text(p, copy ? copy : "");
    plim__free(copy);
    put_pair_number(p, "line", line);
    put_key(p, "name");
    put_text(p, name);
    op(p, 'u');
}

/* "file:12 name", as the snapshot reader makes them; other texts are names. */
static void put_frame_text(pickle *p, const char *text) {
    const char *space = strchr(text, ' '), *colon = NULL;
    for (const char *c = text; space && c < space; c++)
        if (*c == ':') colon = c;
    char *end = NULL;
    uint64_t line = colon ? strtoull(colon + 1, &end, 10) : 0;
    if (colon && end == space)
        put_frame(p, text, (size_t)(colon - text), line, space + 1);
    else
        put_frame(p, "", 0, 0, text);
}

/* Unowned when `life` is NULL. */
static void put_frames(pickle *p, const plim__timeline_life *life) {
    const plim__timeline *timeline = p->timeline;
    put_key(p, "frames");
    if (!life) {
        op(p, ']');
        return;
    }
    const plim__timeline_tensor *tensor = &timeline->tensors.items[life->tensor];
    uint32_t *memo = life->stack ? &p->stack_memo[life->stack] : &p->tensor_memo[life->tensor];
    if (*memo) {
        put_memo(p, 'j', *memo - 1);
        return;
    }
    op(p, ']');
    put_memo(p, 'r', p->memo);
    *memo = ++p->memo;
    op(p, '(');
    for (uint32_t stack = life->stack; stack; stack = timeline->stacks.items[stack].parent)
        put_frame_text(p, plim__timeline_get(timeline, timeline->stacks.items[stack].frame));
    if (!life->stack) { /* a run of ours has no call stack: tensor, operator and layer say where it comes from */
        const char *kind = plim__kind_word(tensor->kind), *name = plim__timeline_get(timeline, tensor->name);
        put_frame(p, kind, strlen(kind), 0, name);
        if (tensor->operation) put_frame(p, "operator", 8, 0, plim__timeline_get(timeline, tensor->operation));
        if (tensor->layer) put_frame(p, "layer", 5, 0, plim__timeline_get(timeline, tensor->layer));
    }
    op(p, 'e');
}

/* --- the trace ------------------------------------------------------------------------------------------------ */

static void put_event(pickle *p, const char *action, uint64_t address, uint64_t bytes, uint32_t tick,
                      const plim__timeline_life *life) {
    const plim__timeline *timeline = p->timeline;
    op(p, '}');
    op(p, '(');
    put_pair_word(p, "action", action);
    put_pair_number(p, "addr", address);
    put_pair_number(p, "size", bytes);
    put_pair_number(p, "stream", 0);
    double time = tick < timeline->seconds.count ? timeline->seconds.items[tick] * 1e6 : (double)tick;
    put_pair_number(p, "time_us", time > 0 ? (uint64_t)time : 0);
    put_frames(p, life);
    op(p, 'u');
}

static void put_refusals(pickle *p, uint32_t before, size_t *next) {
    for (; *next < p->timeline->marks.count && p->timeline->marks.items[*next].tick <= before; ++*next) {
        const plim__timeline_mark *mark = &p->timeline->marks.items[*next];
        if (mark->type != PLIM__MARK_OOM) continue;
        op(p, '}');
        op(p, '(');
        put_pair_word(p, "action", "oom");
        put_pair_number(p, "device_free", 0);
        put_pair_number(p, "size", mark->value);
        put_pair_number(p, "stream", 0);
        put_frames(p, NULL);
        op(p, 'u');
    }
}

static plim_status put_trace(pickle *p) {
    plim__events events;
    PLIM_TRY(plim__events_open(&events, p->timeline, p->error));
    uint32_t index, in_batch = 1;
    size_t next_mark = 0;
    bool death;
    op(p, ']');
    op(p, '(');
    if (p->extent) put_event(p, "segment_alloc", BASE, p->extent, 0, NULL);
    while (p->status == PLIM_OK && plim__events_next(&events, &index, &death)) {
        const plim__timeline_life *life = &p->timeline->lives.items[index];
        uint32_t tick = death ? life->died : life->born;
        put_refusals(p, tick, &next_mark);
        if (death) put_event(p, "free_requested", p->addresses[index], life->bytes, tick, life);
        put_event(p, death ? "free_completed" : "alloc", p->addresses[index], life->bytes, tick, life);
        if (++in_batch < 1000) continue;
        op(p, 'e');
        op(p, '(');
        in_batch = 0;
    }
    put_refusals(p, UINT32_MAX, &next_mark);
    op(p, 'e');
    plim__events_free(&events);
    return p->status;
}

/* --- the segment ---------------------------------------------------------------------------------------------- */

typedef struct placed {
    uint64_t address;
    uint32_t life;
} placed;

static int by_address(const void *a, const void *b) {
    const placed *left = a, *right = b;
    return (left->address > right->address) - (left->address < right->address);
}

static void put_block(pickle *p, uint64_t address, uint64_t bytes, const plim__timeline_life *life) {
    op(p, '}');
    op(p, '(');
    put_pair_number(p, "address", address);
    put_pair_number(p, "size", bytes);
    put_pair_number(p, "requested_size", life ? bytes : 0);
    put_pair_word(p, "state", life ? "active_allocated" : "inactive");
    put_frames(p, life);
    op(p, 'u');
}

/* Blocks cover the segment without gaps; a block without an owner at the end is inactive. */
static plim_status put_blocks(pickle *p, uint64_t *held) {
    const plim__timeline *timeline = p->timeline;
    PLIM_VEC(placed) live = {0};
    bool fine = true;
    for (uint32_t i = 0; fine && i < timeline->lives.count; i++)
        if (timeline->lives.items[i].died == PLIM__NEVER && timeline->lives.items[i].bytes)
            fine = plim__vec_push(&live, (placed){p->addresses[i], i});
    if (!fine) {
        plim__vec_free(&live);
        return plim__fail_memory(p->error, "the blocks at the end", 1);
    }
    if (live.count) qsort(live.items, live.count, sizeof *live.items, by_address);
    uint64_t at = BASE, end = BASE + p->extent;
    put_key(p, "blocks");
    op(p, ']');
    op(p, '(');
    for (size_t i = 0; i < live.count; i++) {
        const plim__timeline_life *life = &timeline->lives.items[live.items[i].life];
        uint64_t start = live.items[i].address, stop = start + life->bytes;
        if (stop <= at) continue; /* shares memory with the one before */
        if (start > at) put_block(p, at, start - at, NULL);
        if (start < at) start = at;
        put_block(p, start, stop - start, life);
        *held += stop - start;
        at = stop;
    }
    if (at < end) put_block(p, at, end - at, NULL);
    op(p, 'e');
    plim__vec_free(&live);
    return p->status;
}

static plim_status put_segment(pickle *p) {
    uint64_t held = 0;
    op(p, '}');
    op(p, '(');
    PLIM_TRY(put_blocks(p, &held));
    put_pair_number(p, "device", 0);
    put_pair_number(p, "address", BASE);
    put_pair_number(p, "total_size", p->extent);
    put_pair_number(p, "allocated_size", held);
    put_pair_number(p, "active_size", held);
    put_pair_number(p, "requested_size", held);
    put_pair_number(p, "stream", 0);
    put_pair_word(p, "segment_type", "large");
    put_key(p, "segment_pool_id");
    put_number(p, 0);
    put_number(p, 0);
    op(p, (char)0x86); /* a tuple of two */
    put_key(p, "is_expandable");
    op(p, (char)0x89); /* False */
    put_key(p, "frames");
    op(p, ']');
    op(p, 'u');
    return p->status;
}

static plim_status put_snapshot(pickle *p) {
    put(p, "\x80\x02}(", 4);
    put_key(p, "segments");
    op(p, ']');
    if (p->extent) {
        PLIM_TRY(put_segment(p));
        op(p, 'a');
    }
    put_key(p, "device_traces");
    op(p, ']');
    PLIM_TRY(put_trace(p));
    op(p, 'a');
    put_key(p, "allocator_settings");
    op(p, '}');
    put(p, "u.", 2);
    return p->status;
}

/* Lives keep their offset; those without one get a place of their own behind the rest. */
static void find_addresses(pickle *p) {
    const plim__timeline *timeline = p->timeline;
    for (size_t i = 0; i < timeline->lives.count; i++) {
        const plim__timeline_life *life = &timeline->lives.items[i];
        if (life->offset != PLIM__NO_OFFSET && life->offset + life->bytes > p->extent)
            p->extent = life->offset + life->bytes;
    }
    for (size_t i = 0; i < timeline->lives.count; i++) {
        const plim__timeline_life *life = &timeline->lives.items[i];
        bool known = life->offset != PLIM__NO_OFFSET;
        p->addresses[i] = BASE + (known ? life->offset : p->extent);
        if (!known) p->extent += life->bytes;
    }
}

plim_status plim__export_torch(const plim__timeline *timeline, const char *path, plim_error *error) {
    pickle p = {.timeline = timeline, .error = error};
    p.addresses = plim__alloc_array(timeline->lives.count, sizeof *p.addresses);
    p.stack_memo = plim__alloc_zero(timeline->stacks.count, sizeof *p.stack_memo);
    p.tensor_memo = plim__alloc_zero(timeline->tensors.count, sizeof *p.tensor_memo);
    plim_status status = PLIM_OK;
    if (!p.addresses || !p.stack_memo || !p.tensor_memo)
        status = plim__fail_memory(error, "the export", timeline->lives.count * sizeof *p.addresses);
    if (status == PLIM_OK) status = plim__file_writer_open(&p.file, path, error);
    if (status == PLIM_OK) {
        find_addresses(&p);
        status = put_snapshot(&p);
        if (status == PLIM_OK) status = plim__file_writer_commit(&p.file, error);
        plim__file_writer_discard(&p.file);
    }
    plim__free(p.addresses);
    plim__free(p.stack_memo);
    plim__free(p.tensor_memo);
    return status;
}
