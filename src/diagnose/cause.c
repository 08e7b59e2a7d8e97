/* Which cause the numbers show. The order of the checks is the order of PLIM_CAUSE_LIST. */
#include "diagnose/cause.h"

#include <stdio.h>
#include <string.h>

#define GIB ((uint64_t)1 << 30)
/* Without a capacity to compare with, nobody allocates this much at once. */
#define NONSENSE (8 * 1024 * GIB)
/* The CUDA context takes up to 0.9 GiB of the gap that nobody lists. */
#define CONTEXT (GIB - GIB / 16)

static const char *const words[] = {
#define WORD(name, word, sentence, shown) word,
    PLIM_CAUSE_LIST(WORD)
#undef WORD
};
static const char *const sentences[] = {
#define SENTENCE(name, word, sentence, shown) sentence,
    PLIM_CAUSE_LIST(SENTENCE)
#undef SENTENCE
};

const char *plim_cause_name(plim_cause cause) { return cause < PLIM_CAUSE_COUNT ? words[cause] : "none"; }
const char *plim_cause_sentence(plim_cause cause) {
    return sentences[cause < PLIM_CAUSE_COUNT ? cause : PLIM_CAUSE_NONE];
}

uint64_t plim__cached(const plim_explanation *x) {
    if (!x->reserved.known || !x->allocated.known || x->reserved.bytes < x->allocated.bytes) return 0;
    return x->reserved.bytes - x->allocated.bytes;
}

bool plim__others(const plim_explanation *x, uint64_t *bytes) {
    if (x->other_process.known) return *bytes = x->other_process.bytes, true;
    if (!x->capacity.known || !x->free.known) return false;
    uint64_t own;
    if (x->process.known)
        own = x->process.bytes;
    else if (x->reserved.known)
        own = x->reserved.bytes;
    else if (x->allocated.known)
        own = x->allocated.bytes;
    else if (strcmp(x->framework, "vllm") == 0)
        own = 0; /* it asks before it takes anything */
    else
        return false;
    if (x->capacity.bytes < x->free.bytes || x->capacity.bytes - x->free.bytes < own) return *bytes = 0, true;
    *bytes = x->capacity.bytes - x->free.bytes - own;
    if (!x->process.known && own && *bytes < CONTEXT) *bytes = 0;
    return true;
}

/* --- the checks ----------------------------------------------------------------------------------------------- */

typedef struct view {
    const plim_explanation *x;
    const plim__incident *incident;
    unsigned facts;
    bool pool; /* capacity and free are an allocator's pool, not the device */
} view;

static bool is_bad_size(const view *v) {
    const plim_explanation *x = v->x;
    if (v->facts & PLIM_FACT_BAD_SIZE) return true;
    if (!x->requested.known) return false;
    if (x->requested.bytes == 0) return true;
    uint64_t whole = x->capacity.known ? x->capacity.bytes : x->limit.known ? x->limit.bytes : 0;
    if (whole) return x->requested.bytes / 30 > whole || x->requested.bytes >= ((uint64_t)1 << 62);
    return x->requested.bytes >= NONSENSE;
}

static bool is_too_big(const view *v) {
    const plim_explanation *x = v->x;
    if (v->facts & PLIM_FACT_TOO_BIG) return true;
    if (!x->requested.known) return false;
    if (x->capacity.known && x->requested.bytes > x->capacity.bytes) return true;
    return x->limit.known && !(v->facts & PLIM_FACT_BLOCK_LIMIT) && x->requested.bytes > x->limit.bytes;
}

static bool is_limit(const view *v) {
    const plim_explanation *x = v->x;
    if (v->facts & PLIM_FACT_LIMIT) return true;
    if (!x->limit.known || (v->facts & PLIM_FACT_BLOCK_LIMIT)) return false;
    if (x->device_kind && strcmp(x->device_kind, "mps") == 0) return false; /* a watermark of the memory it shares */
    if (v->pool || (v->incident->dumped && x->limit.bytes * 10 > x->capacity.bytes * 8)) return false;
    uint64_t held = x->reserved.known ? x->reserved.bytes : x->allocated.known ? x->allocated.bytes : 0;
    uint64_t request = x->requested.known ? x->requested.bytes : 0;
    bool reached = held + request >= x->limit.bytes - x->limit.bytes / 100;
    bool room = !x->free.known || x->free.bytes >= request;
    return reached && room;
}

static bool is_block_limit(const view *v) {
    const plim_explanation *x = v->x;
    if (v->facts & PLIM_FACT_BLOCK_LIMIT) return true;
    if (!x->device_kind || strcmp(x->device_kind, "xpu") != 0 || !x->requested.known) return false;
    if (x->requested.bytes <= 4 * GIB) return false;
    if (x->free.known) return x->free.bytes >= x->requested.bytes;
    return x->capacity.known && x->reserved.known && x->capacity.bytes >= x->reserved.bytes &&
           x->capacity.bytes - x->reserved.bytes >= x->requested.bytes;
}

static bool is_other_process(const view *v) {
    const plim_explanation *x = v->x;
    uint64_t others;
    if (v->facts & PLIM_FACT_FALLING) return true;
    if ((v->facts & PLIM_FACT_DRIVER) && !v->incident->confirmed) return true;
    if (v->pool || !plim__others(x, &others) || !x->capacity.known) return false;
    uint64_t free = x->free.known ? x->free.bytes : 0, request = x->requested.known ? x->requested.bytes : 0;
    return others >= x->capacity.bytes / 4 && free + others >= request;
}

static bool is_dataset(const view *v) {
    if (!(v->facts & PLIM_FACT_EAGER_CONST) || !v->incident->dumped) return false;
    const plim__dump *dump = &v->incident->dump;
    uint64_t pool = dump->has_limit ? dump->limit : dump->pool_bytes ? dump->pool_bytes : dump->region_bytes;
    if (!pool) return false;
    for (size_t i = 0; i < dump->size_count; i++)
        if (dump->sizes[i].bytes >= pool / 5) return true;
    return false;
}

static bool is_fragmented(const view *v) {
    const plim_explanation *x = v->x;
    if (v->facts & PLIM_FACT_SAID_FRAGMENTED) return true;
    if (!x->requested.known) return false;
    uint64_t request = x->requested.bytes;
    if (plim__cached(x) >= request && request) return true;
    if (x->free.known && x->free.bytes >= request) return true;
    const plim__dump *dump = &v->incident->dump;
    return dump->has_chunks && dump->free_bytes >= request && dump->largest_free < request;
}

static plim_cause decide(const view *v) {
    if (is_bad_size(v)) return PLIM_CAUSE_BAD_SIZE;
    if (is_too_big(v)) return PLIM_CAUSE_TOO_BIG;
    if (is_limit(v)) return PLIM_CAUSE_LIMIT;
    if (is_block_limit(v)) return PLIM_CAUSE_PER_ALLOCATION_LIMIT;
    if (v->facts & PLIM_FACT_HOST) return PLIM_CAUSE_HOST_MEMORY;
    if (is_other_process(v)) return PLIM_CAUSE_OTHER_PROCESS;
    if (is_dataset(v)) return PLIM_CAUSE_DATASET_ON_DEVICE;
    if ((v->facts & PLIM_FACT_DISGUISED) && !v->x->requested.known) return PLIM_CAUSE_DISGUISED;
    if (is_fragmented(v)) return PLIM_CAUSE_FRAGMENTED;
    return PLIM_CAUSE_FULL;
}

/* --- from incident to fields ---------------------------------------------------------------------------------- */

/* Both print the same allocator's words; the paths and the exception tell who. */
static const char *framework_of(const plim__event *facts) {
    if (facts->group != PLIM_GROUP_XLA) return facts->framework;
    unsigned both = facts->facts & (PLIM_FACT_TENSORFLOW | PLIM_FACT_JAX);
    if (both == PLIM_FACT_TENSORFLOW) return "tensorflow";
    if (both == PLIM_FACT_JAX) return "jax";
    return facts->framework;
}

static void copy_facts(const plim__event *facts, plim_explanation *x) {
    x->framework = framework_of(facts);
    x->device_kind = facts->kind;
    x->device_index = facts->index;
    x->requested = facts->requested;
    x->capacity = facts->capacity;
    x->allocated = facts->allocated;
    x->reserved = facts->reserved;
    x->free = facts->free;
    x->process = facts->process;
    x->other_process = facts->other;
    x->limit = facts->limit;
    x->largest_free = facts->largest_free;
    x->rank = facts->rank;
    memcpy(x->shape, facts->shape, sizeof x->shape);
    snprintf(x->dtype, sizeof x->dtype, "%s", facts->dtype);
    uint64_t bytes;
    if (x->rank >= 0 && plim__dims_bytes(x->shape, x->rank, plim__dtype_item(x->dtype), &bytes))
        x->shape_bytes = plim__exact(bytes);
    bool theirs = strcmp(x->framework, "jax") == 0 && facts->version && strncmp(facts->version, "TensorFlow", 10) == 0;
    snprintf(x->version, sizeof x->version, "%s", facts->version && !theirs ? facts->version : "");
}

/* A dump's own totals. Reserved: 0 and LargestFreeBlock: 0 mean "not tracked". */
static bool copy_dump(const plim__reader *reader, plim__incident *incident, plim_explanation *x) {
    const plim__dump *dump = &incident->dump;
    bool pool = !x->capacity.known && dump->has_limit;
    if (dump->has_limit) {
        if (pool)
            x->capacity = plim__exact(dump->limit);
        else
            x->limit = plim__exact(dump->limit);
    }
    if (dump->has_in_use) x->allocated = plim__exact(dump->in_use);
    if (pool && dump->has_in_use && !x->free.known)
        x->free = plim__exact(dump->limit > dump->in_use ? dump->limit - dump->in_use : 0);
    if (dump->regions)
        x->reserved = plim__exact(dump->region_bytes);
    else if (dump->pool_bytes)
        x->reserved = plim__exact(dump->pool_bytes);
    else if (dump->reserved)
        x->reserved = plim__exact(dump->reserved);
    if (dump->has_chunks && dump->free_count)
        x->largest_free = plim__exact(dump->largest_free);
    else if (dump->stated_largest_free)
        x->largest_free = plim__exact(dump->stated_largest_free);
    if (dump->free_bytes) x->fragmentation = 1 - (double)dump->largest_free / (double)dump->free_bytes;
    uint64_t megabyte = 1 << 20;
    if (pool && dump->limit % megabyte == 0 && reader->created_mb == (int64_t)(dump->limit / megabyte) &&
        reader->total_memory.known && dump->limit < reader->total_memory.bytes / 10 * 8) {
        incident->facts.facts |= PLIM_FACT_LIMIT;
        x->limit = plim__exact(dump->limit);
    }
    return pool;
}

static void copy_holders(const plim__incident *incident, plim_explanation *x) {
    plim__dump_size sizes[PLIM_EXPLANATION_HOLDERS];
    size_t count = plim__dump_largest(&incident->dump, sizes, PLIM_EXPLANATION_HOLDERS);
    for (size_t i = 0; i < count; i++) {
        plim_holder *holder = &x->holders[x->holder_count++];
        holder->bytes = sizes[i].bytes;
        holder->count = sizes[i].count;
        plim__guess_shape(holder->bytes, holder->guess, sizeof holder->guess);
    }
    for (size_t i = 0; i < incident->buffers.count && x->holder_count < PLIM_EXPLANATION_HOLDERS; i++) {
        const plim__xla_buffer *buffer = &incident->buffers.items[i];
        plim_holder *holder = &x->holders[x->holder_count++];
        holder->bytes = buffer->exact ? buffer->exact : buffer->size.bytes;
        holder->count = 1;
        int used = 0;
        for (int d = 0; d < buffer->rank && used < (int)sizeof holder->guess - 24; d++)
            used += snprintf(holder->guess + used, sizeof holder->guess - (size_t)used, d ? " x %lld" : "%lld",
                             (long long)buffer->shape[d]);
        if (buffer->rank >= 0 && used < (int)sizeof holder->guess)
            snprintf(holder->guess + used, sizeof holder->guess - (size_t)used, " %s", buffer->dtype);
        snprintf(holder->what, sizeof holder->what, "%s", buffer->what);
    }
}

/* A driver's complaint or a skipped tactic failed nothing when the run went on. */
static bool is_warning(plim__reader *reader) {
    const plim__incident *incident = &reader->incident;
    unsigned facts = incident->facts.facts;
    if (facts & PLIM_FACT_WARNING) return true;
    if (reader->engine_done && strcmp(incident->facts.framework, "tensorrt") == 0) return true;
    if (incident->confirmed) return false;
    if (facts & PLIM_FACT_TACTIC) return true;
    return (facts & PLIM_FACT_DRIVER) && plim__reader_moved_on(reader);
}

void plim__conclude(plim__reader *reader, plim_explanation *x) {
    plim__incident *incident = &reader->incident;
    memset(x, 0, sizeof *x);
    x->framework = "none";
    x->device_index = -1;
    x->rank = -1;
    x->fragmentation = -1;
    x->cause = PLIM_CAUSE_NONE;
    x->confidence = 1;
    if (!incident->is_set) return;
    copy_facts(&incident->facts, x);
    snprintf(x->message, sizeof x->message, "%s", incident->message);
    bool pool = incident->dumped && copy_dump(reader, incident, x);
    copy_holders(incident, x);
    if (is_warning(reader)) {
        x->cause = PLIM_CAUSE_WARNING;
    } else {
        x->found = 1;
        x->failures = reader->failures;
        view v = {.x = x, .incident = incident, .facts = incident->facts.facts, .pool = pool};
        x->cause = decide(&v);
    }
    plim__gather_evidence(reader, x);
    plim__choose_fixes(x, incident->facts.facts);
}
