/* The timeline's own memory: interned texts and stacks, and the order that readers rely on. */
#include "mem/timeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/str.h"

const char *plim__kind_word(plim__memory_kind kind) {
    static const char *const words[] = {
#define WORD(name, word, title) word,
        PLIM__KIND_LIST(WORD)
#undef WORD
    };
    return (unsigned)kind < PLIM__KIND_COUNT ? words[kind] : "other";
}

const char *plim__kind_title(plim__memory_kind kind) {
    static const char *const titles[] = {
#define TITLE(name, word, title) title,
        PLIM__KIND_LIST(TITLE)
#undef TITLE
    };
    return (unsigned)kind < PLIM__KIND_COUNT ? titles[kind] : "Other";
}

const char *plim__phase_word(plim__memory_phase phase) {
    static const char *const words[] = {
#define WORD(name, word) word,
        PLIM__PHASE_LIST(WORD)
#undef WORD
    };
    return (unsigned)phase < PLIM__PHASE_COUNT ? words[phase] : "";
}

const char *plim__source_word(plim__timeline_source source) {
    static const char *const words[] = {"plan", "run", "torch-snapshot", "tensorflow-dump"};
    return (unsigned)source < PLIM__SOURCES ? words[source] : "run";
}

void plim__timeline_init(plim__timeline *timeline, plim__timeline_source source) {
    *timeline = (plim__timeline){.source = source};
}

void plim__timeline_free(plim__timeline *timeline) {
    for (size_t i = 0; i < timeline->texts.count; i++) plim__free(timeline->texts.items[i]);
    for (size_t i = 0; i < timeline->series.count; i++) plim__vec_free(&timeline->series.items[i].samples);
    plim__vec_free(&timeline->seconds);
    plim__vec_free(&timeline->texts);
    plim__vec_free(&timeline->tensors);
    plim__vec_free(&timeline->lives);
    plim__vec_free(&timeline->marks);
    plim__vec_free(&timeline->refusals);
    plim__vec_free(&timeline->stacks);
    plim__vec_free(&timeline->frontier);
    plim__vec_free(&timeline->comparisons);
    plim__vec_free(&timeline->series);
    plim__free(timeline->plan);
    plim__vec_free(&timeline->segments);
    plim__vec_free(&timeline->blocks);
    plim__vec_free(&timeline->facts);
    plim__free(timeline->slots);
    plim__free(timeline->stack_slots);
    *timeline = (plim__timeline){0};
}

/* --- texts ---------------------------------------------------------------------------------------------------- */

/* The length of the UTF-8 sequence at `at`, 0 when it is not one. */
static size_t utf8_length(const unsigned char *at, size_t left) {
    if (at[0] < 0x80) return at[0] ? 1 : 0;
    size_t length = at[0] >= 0xC2 && at[0] < 0xE0   ? 2
                    : at[0] >= 0xE0 && at[0] < 0xF0 ? 3
                    : at[0] >= 0xF0 && at[0] < 0xF5 ? 4
                                                    : 0;
    if (length == 0 || length > left) return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xC0) != 0x80) return 0;
    if (at[0] == 0xE0 && at[1] < 0xA0) return 0;
    if (at[0] == 0xED && at[1] > 0x9F) return 0; /* surrogates */
    if (at[0] == 0xF0 && at[1] < 0x90) return 0;
    if (at[0] == 0xF4 && at[1] > 0x8F) return 0;
    return length;
}

/* A copy in which every byte that is not UTF-8 became U+FFFD. */
static char *clean_copy(const char *text, size_t length) {
    plim__str out = {0};
    for (size_t i = 0; i < length;) {
        size_t good = utf8_length((const unsigned char *)text + i, length - i);
        if (good)
            plim__str_addn(&out, text + i, good);
        else
            plim__str_add(&out, "\xEF\xBF\xBD");
        i += good ? good : 1;
    }
    if (out.failed) {
        plim__str_free(&out);
        return NULL;
    }
    return out.data;
}

static bool is_clean(const char *text, size_t length) {
    for (size_t i = 0; i < length;) {
        size_t good = utf8_length((const unsigned char *)text + i, length - i);
        if (!good) return false;
        i += good;
    }
    return true;
}

static uint64_t hash_text(const char *text, size_t length) { /* FNV-1a */
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    return h ^ (h >> 29);
}

/* Doubles a table of ids; slot value 0 is empty, so ids are stored plus nothing: id 0 is never stored. */
static bool grow_slots(uint32_t **slots, size_t *count, size_t ids, uint64_t (*hash)(const plim__timeline *, uint32_t),
                       const plim__timeline *timeline) {
    size_t next = *count ? *count * 2 : 64;
    uint32_t *grown = plim__alloc_zero(next, sizeof *grown);
    if (!grown) return false;
    for (uint32_t id = 1; id < ids; id++) {
        size_t at = (size_t)hash(timeline, id) & (next - 1);
        while (grown[at]) at = (at + 1) & (next - 1);
        grown[at] = id;
    }
    plim__free(*slots);
    *slots = grown;
    *count = next;
    return true;
}

static uint64_t hash_text_id(const plim__timeline *timeline, uint32_t id) {
    return hash_text(timeline->texts.items[id], strlen(timeline->texts.items[id]));
}

static bool ensure_empty_text(plim__timeline *timeline) {
    if (timeline->texts.count) return true;
    char *empty = plim__strdup("");
    if (empty && plim__vec_push(&timeline->texts, empty)) return true;
    plim__free(empty);
    return false;
}

bool plim__timeline_textn(plim__timeline *timeline, const char *text, size_t length, plim__text_id *id) {
    *id = 0;
    if (!ensure_empty_text(timeline)) return false;
    if (length == 0) return true;
    if (!is_clean(text, length)) {
        char *clean = clean_copy(text, length);
        bool fine = clean && plim__timeline_textn(timeline, clean, strlen(clean), id);
        plim__free(clean);
        return fine;
    }
    if ((timeline->texts.count + 1) * 4 > timeline->slot_count * 3 &&
        !grow_slots(&timeline->slots, &timeline->slot_count, timeline->texts.count, hash_text_id, timeline))
        return false;
    size_t at = (size_t)hash_text(text, length) & (timeline->slot_count - 1);
    for (; timeline->slots[at]; at = (at + 1) & (timeline->slot_count - 1)) {
        const char *known = timeline->texts.items[timeline->slots[at]];
        if (strncmp(known, text, length) == 0 && known[length] == 0) return *id = timeline->slots[at], true;
    }
    char *copy = timeline->texts.count < UINT32_MAX ? plim__strndup(text, length) : NULL;
    if (!copy || !plim__vec_push(&timeline->texts, copy)) {
        plim__free(copy);
        return false;
    }
    *id = timeline->slots[at] = (uint32_t)(timeline->texts.count - 1);
    return true;
}

bool plim__timeline_text(plim__timeline *timeline, const char *text, plim__text_id *id) {
    return plim__timeline_textn(timeline, text ? text : "", text ? strlen(text) : 0, id);
}

const char *plim__timeline_get(const plim__timeline *timeline, plim__text_id id) {
    return id < timeline->texts.count ? timeline->texts.items[id] : "";
}

bool plim__timeline_shape(plim__timeline *timeline, const int64_t *dims, size_t rank, plim__text_id *id) {
    plim__str shape = {0};
    for (size_t i = 0; i < rank; i++) plim__str_addf(&shape, i ? "x%" PRId64 : "%" PRId64, dims[i]);
    bool fine = !shape.failed && plim__timeline_textn(timeline, plim__str_text(&shape), shape.length, id);
    plim__str_free(&shape);
    return fine;
}

/* --- stacks --------------------------------------------------------------------------------------------------- */

static uint64_t hash_stack(uint32_t parent, plim__text_id frame) {
    uint64_t h = ((uint64_t)parent << 32 | frame) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 31);
}

static uint64_t hash_stack_id(const plim__timeline *timeline, uint32_t id) {
    return hash_stack(timeline->stacks.items[id].parent, timeline->stacks.items[id].frame);
}

bool plim__timeline_stack(plim__timeline *timeline, uint32_t parent, plim__text_id frame, uint32_t *id) {
    *id = 0;
    if (timeline->stacks.count == 0 && !plim__vec_push(&timeline->stacks, (plim__stack_frame){0})) return false;
    if ((timeline->stacks.count + 1) * 4 > timeline->stack_slot_count * 3 &&
        !grow_slots(&timeline->stack_slots, &timeline->stack_slot_count, timeline->stacks.count, hash_stack_id,
                    timeline))
        return false;
    size_t mask = timeline->stack_slot_count - 1, at = (size_t)hash_stack(parent, frame) & mask;
    for (; timeline->stack_slots[at]; at = (at + 1) & mask) {
        const plim__stack_frame *known = &timeline->stacks.items[timeline->stack_slots[at]];
        if (known->parent == parent && known->frame == frame) return *id = timeline->stack_slots[at], true;
    }
    if (timeline->stacks.count >= UINT32_MAX || !plim__vec_push(&timeline->stacks, (plim__stack_frame){parent, frame}))
        return false;
    *id = timeline->stack_slots[at] = (uint32_t)(timeline->stacks.count - 1);
    return true;
}

void plim__timeline_stack_text(const plim__timeline *timeline, uint32_t stack, const char *between, size_t most,
                               plim__str *into) {
    /* a parent always has a smaller id, so this ends */
    for (size_t i = 0; stack && stack < timeline->stacks.count && i < most; i++) {
        if (i) plim__str_add(into, between);
        plim__str_add(into, plim__timeline_get(timeline, timeline->stacks.items[stack].frame));
        stack = timeline->stacks.items[stack].parent;
    }
}

/* --- adding --------------------------------------------------------------------------------------------------- */

static plim_status no_memory(plim_error *error) { return plim__fail_memory(error, "the memory timeline", 1); }

plim_status plim__timeline_add_tensor(plim__timeline *timeline, const plim__timeline_buffer *buffer, uint32_t *id,
                                      plim_error *error) {
    plim__timeline_tensor row = {
        .kind = (uint8_t)((unsigned)buffer->kind < PLIM__KIND_COUNT ? buffer->kind : PLIM__KIND_OTHER),
        .phase = (uint8_t)((unsigned)buffer->phase < PLIM__PHASE_COUNT ? buffer->phase : PLIM__PHASE_NONE),
        .dtype = (uint8_t)((unsigned)buffer->dtype < PLIM_DTYPE_COUNT ? buffer->dtype : PLIM_DTYPE_NONE)};
    if (!plim__timeline_text(timeline, buffer->name, &row.name) ||
        !plim__timeline_text(timeline, buffer->layer, &row.layer) ||
        !plim__timeline_text(timeline, buffer->operation, &row.operation) ||
        !plim__timeline_shape(timeline, buffer->dims, buffer->rank, &row.shape) ||
        timeline->tensors.count >= UINT32_MAX || !plim__vec_push(&timeline->tensors, row))
        return no_memory(error);
    *id = (uint32_t)(timeline->tensors.count - 1);
    return PLIM_OK;
}

plim_status plim__timeline_add_life(plim__timeline *timeline, plim__timeline_life life, plim_error *error) {
    return plim__vec_push(&timeline->lives, life) ? PLIM_OK : no_memory(error);
}

plim_status plim__timeline_add(plim__timeline *timeline, const plim__timeline_buffer *buffer, plim_error *error) {
    uint32_t tensor;
    PLIM_TRY(plim__timeline_add_tensor(timeline, buffer, &tensor, error));
    plim__timeline_life life = {
        .bytes = buffer->bytes, .offset = buffer->offset, .tensor = tensor, .born = buffer->born, .died = buffer->died};
    return plim__timeline_add_life(timeline, life, error);
}

plim_status plim__timeline_add_mark(plim__timeline *timeline, plim__timeline_mark_type type, uint32_t tick,
                                    uint64_t value, const char *text, plim_error *error) {
    plim__timeline_mark mark = {.value = value, .tick = tick, .type = (uint8_t)type};
    if (!plim__timeline_text(timeline, text, &mark.text) || !plim__vec_push(&timeline->marks, mark))
        return no_memory(error);
    return PLIM_OK;
}

plim_status plim__timeline_add_fact(plim__timeline *timeline, const char *name, const char *value, plim_error *error) {
    struct plim__timeline_fact fact;
    if (!plim__timeline_text(timeline, name, &fact.name) || !plim__timeline_text(timeline, value, &fact.value) ||
        !plim__vec_push(&timeline->facts, fact))
        return no_memory(error);
    return PLIM_OK;
}

plim_status plim__timeline_add_frontier(plim__timeline *timeline, const plim__timeline_point *point,
                                        plim_error *error) {
    plim__timeline_plan plan = {
        .budget = point->budget, .peak = point->peak, .seconds = point->seconds, .chosen = point->chosen};
    if (!plim__timeline_text(timeline, point->label, &plan.label) ||
        !plim__timeline_text(timeline, point->command, &plan.command) || !plim__vec_push(&timeline->frontier, plan))
        return no_memory(error);
    return PLIM_OK;
}

plim__timeline_point plim__timeline_point_at(const plim__timeline *timeline, size_t index) {
    const plim__timeline_plan *plan = &timeline->frontier.items[index];
    return (plim__timeline_point){plan->budget,
                                  plan->peak,
                                  plan->seconds,
                                  plim__timeline_get(timeline, plan->label),
                                  plim__timeline_get(timeline, plan->command),
                                  plan->chosen};
}

plim_status plim__timeline_add_comparison(plim__timeline *timeline, const char *what, uint64_t planned,
                                          uint64_t measured, plim_error *error) {
    plim__timeline_comparison row = {.planned = planned, .measured = measured};
    if (!plim__timeline_text(timeline, what, &row.what) || !plim__vec_push(&timeline->comparisons, row))
        return no_memory(error);
    return PLIM_OK;
}

plim_status plim__timeline_add_series(plim__timeline *timeline, const char *name, uint32_t *index, plim_error *error) {
    plim__timeline_series series = {0};
    if (!plim__timeline_text(timeline, name, &series.name) || !plim__vec_push(&timeline->series, series))
        return no_memory(error);
    *index = (uint32_t)(timeline->series.count - 1);
    return PLIM_OK;
}

plim_status plim__timeline_add_sample(plim__timeline *timeline, uint32_t series, uint32_t tick, uint64_t bytes,
                                      plim_error *error) {
    if (series >= timeline->series.count)
        return plim__fail(error, PLIM_INVALID, "the timeline has no series %u", series);
    return plim__vec_push(&timeline->series.items[series].samples, (plim__timeline_sample){bytes, tick})
               ? PLIM_OK
               : no_memory(error);
}

plim_status plim__timeline_set_title(plim__timeline *timeline, const char *title, plim_error *error) {
    return plim__timeline_text(timeline, title, &timeline->title) ? PLIM_OK : no_memory(error);
}

plim_status plim__timeline_set_cut(plim__timeline *timeline, const char *why, plim_error *error) {
    return plim__timeline_text(timeline, why, &timeline->cut) ? PLIM_OK : no_memory(error);
}

/* --- order ---------------------------------------------------------------------------------------------------- */

static int by_birth(const void *a, const void *b) {
    const plim__timeline_life *left = a, *right = b;
    if (left->born != right->born) return left->born < right->born ? -1 : 1;
    if (left->offset != right->offset) return left->offset < right->offset ? -1 : 1;
    return (left->tensor > right->tensor) - (left->tensor < right->tensor);
}

static int by_tick(const void *a, const void *b) {
    const plim__timeline_mark *left = a, *right = b;
    if (left->tick != right->tick) return left->tick < right->tick ? -1 : 1;
    return (left->type > right->type) - (left->type < right->type);
}

static int by_sample_tick(const void *a, const void *b) {
    const plim__timeline_sample *left = a, *right = b;
    return (left->tick > right->tick) - (left->tick < right->tick);
}

static void sort(void *items, size_t count, size_t size, int (*order)(const void *, const void *)) {
    const char *at = items;
    for (size_t i = 1; i < count; i++)
        if (order(at + (i - 1) * size, at + i * size) > 0) {
            qsort(items, count, size, order); /* readers mostly give things in order: then nothing is copied */
            return;
        }
}

static plim_status check_life(const plim__timeline *timeline, const plim__timeline_life *life, plim_error *error) {
    if (life->tensor >= timeline->tensors.count || (life->stack && life->stack >= timeline->stacks.count))
        return plim__fail(error, PLIM_CORRUPT,
                          "a buffer in the memory timeline names a tensor or stack that is not there");
    if (life->died <= life->born)
        return plim__fail(error, PLIM_CORRUPT, "buffer '%s' dies at tick %u, before it is born at tick %u",
                          plim__timeline_get(timeline, timeline->tensors.items[life->tensor].name), life->died,
                          life->born);
    if (life->offset != PLIM__NO_OFFSET && life->bytes > PLIM__NO_OFFSET - life->offset)
        return plim__fail(error, PLIM_CORRUPT, "buffer '%s' has an offset and a size that do not fit in 64 bits",
                          plim__timeline_get(timeline, timeline->tensors.items[life->tensor].name));
    return PLIM_OK;
}

plim_status plim__timeline_finish(plim__timeline *timeline, plim_error *error) {
    if (!ensure_empty_text(timeline)) return no_memory(error);
    uint32_t ticks = timeline->ticks;
    for (size_t i = 0; i < timeline->lives.count; i++) {
        const plim__timeline_life *life = &timeline->lives.items[i];
        PLIM_TRY(check_life(timeline, life, error));
        uint32_t end = life->died != PLIM__NEVER ? life->died : life->born + 1;
        if (end > ticks) ticks = end;
    }
    for (size_t i = 0; i < timeline->marks.count; i++)
        if (timeline->marks.items[i].tick >= ticks) ticks = timeline->marks.items[i].tick + 1;
    timeline->ticks = ticks;
    if (timeline->seconds.count && timeline->seconds.count != ticks) timeline->seconds.count = 0;
    sort(timeline->lives.items, timeline->lives.count, sizeof *timeline->lives.items, by_birth);
    sort(timeline->marks.items, timeline->marks.count, sizeof *timeline->marks.items, by_tick);
    for (size_t i = 0; i < timeline->series.count; i++)
        sort(timeline->series.items[i].samples.items, timeline->series.items[i].samples.count,
             sizeof(plim__timeline_sample), by_sample_tick);
    return PLIM_OK;
}

const plim__timeline_mark *plim__timeline_mark_at(const plim__timeline *timeline, plim__timeline_mark_type type,
                                                  uint32_t tick) {
    size_t low = 0, high = timeline->marks.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (timeline->marks.items[middle].tick <= tick)
            low = middle + 1;
        else
            high = middle;
    }
    while (low-- > 0)
        if (timeline->marks.items[low].type == type) return &timeline->marks.items[low];
    return NULL;
}
