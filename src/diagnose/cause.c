/* Which cause the numbers show, and how much is missing. The order of the checks is the order of PLIM_CAUSE_LIST. */
#include "diagnose/cause.h"

#include <stdio.h>
#include <string.h>

#include "diagnose/context_words.h"
#include "diagnose/programs.h"
#include "diagnose/settings.h"
#include "diagnose/spots.h"

#define GIB ((uint64_t)1 << 30)
#define MIB ((uint64_t)1 << 20)
/* Without a capacity to compare with, no program allocates this much at once. */
#define NONSENSE (4 * 1024 * GIB)
/* The CUDA context takes up to 0.9 GiB of the gap that is not listed. */
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

static const char *const phases[] = {
#define PHASE(name, words) words,
    PLIM_PHASE_LIST(PHASE)
#undef PHASE
};

const char *plim_phase_name(plim_phase phase) {
    return phases[(unsigned)phase < PLIM_PHASE_COUNT ? phase : PLIM_PHASE_UNKNOWN];
}

const char *plim_cause_name(plim_cause cause) { return (unsigned)cause < PLIM_CAUSE_COUNT ? words[cause] : "none"; }
const char *plim_cause_sentence(plim_cause cause) {
    return sentences[(unsigned)cause < PLIM_CAUSE_COUNT ? cause : PLIM_CAUSE_NONE];
}

uint64_t plim__cached(const plim_explanation *x) {
    if (!x->reserved.known || !x->allocated.known || x->reserved.bytes < x->allocated.bytes) return 0;
    return x->reserved.bytes - x->allocated.bytes;
}

bool plim__is_crowded(const plim_explanation *x) {
    if (!x->allocated.known || !x->capacity.known || x->allocated.bytes > x->capacity.bytes) return false;
    if (x->allocated.bytes > x->capacity.bytes / 100 * 85) return true;
    bool little =
        plim__cached(x) < x->capacity.bytes / 10 && (!x->free.known || x->free.bytes < x->capacity.bytes / 10);
    return little && x->allocated.bytes > x->capacity.bytes / 100 * 70;
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
    plim__facts facts;
    bool pool;      /* capacity and free are an allocator's pool, not the device */
    bool in_pieces; /* a dump's free chunks would do together */
    plim__text log;
} view;

static bool is_kind(const plim_explanation *x, const char *kind) {
    return x->device_kind && strcmp(x->device_kind, kind) == 0;
}

static bool is_bad_size(const view *v) {
    const plim_explanation *x = v->x;
    if (v->facts & PLIM_FACT_BAD_SIZE) return true;
    if (!x->requested.known) return false;
    if (x->requested.bytes == 0) return true;
    uint64_t whole = x->capacity.known ? x->capacity.bytes : x->limit.known ? x->limit.bytes : 0;
    if (whole) return x->requested.bytes / 30 > whole || x->requested.bytes >= ((uint64_t)1 << 62);
    return x->requested.bytes >= NONSENSE;
}

/* Whole capacity or limit exceeded by one request. */
static bool is_too_big(const view *v) {
    const plim_explanation *x = v->x;
    if (v->facts & PLIM_FACT_TOO_BIG) return true;
    if (!x->requested.known) return false;
    if (x->capacity.known && x->requested.bytes > x->capacity.bytes) return true;
    /* more than nearly every card has */
    if (!x->capacity.known && !x->limit.known && is_kind(x, "gpu") && x->requested.bytes > 128 * GIB) return true;
    return x->limit.known && !(v->facts & PLIM_FACT_BLOCK_LIMIT) && x->requested.bytes > x->limit.bytes;
}

/* Not the whole capacity, but more than all that is live, and more than remains. */
static bool is_too_big_for_the_rest(const view *v) {
    const plim_explanation *x = v->x;
    if (!x->requested.known || !x->capacity.known || !x->allocated.known) return false;
    if (v->facts & PLIM_FACT_CHUNK) return false;
    uint64_t rest = (x->free.known ? x->free.bytes : 0) + plim__cached(x);
    return x->allocated.bytes < x->capacity.bytes / 4 * 3 && x->requested.bytes >= x->capacity.bytes / 4 &&
           x->requested.bytes >= x->allocated.bytes / 2 && x->requested.bytes + x->requested.bytes / 20 > rest;
}

static bool is_limit(const view *v) {
    const plim_explanation *x = v->x;
    if (v->facts & PLIM_FACT_LIMIT) return true;
    if (v->facts & PLIM_FACT_POOL) return true;
    if (v->pool && (v->facts & PLIM_FACT_HOST)) return !v->in_pieces; /* the processor's pool has a size that was set */
    if (!x->limit.known || (v->facts & PLIM_FACT_BLOCK_LIMIT)) return false;
    uint64_t request = x->requested.known ? x->requested.bytes : 0;
    if (is_kind(x, "mps")) { /* a watermark of the memory that it shares */
        uint64_t other = v->incident->facts.used.known ? v->incident->facts.used.bytes : 0;
        uint64_t live = x->allocated.known ? x->allocated.bytes : 0;
        return live + other + request >= x->limit.bytes - x->limit.bytes / 20;
    }
    if (v->pool || (v->incident->dumped && x->limit.bytes * 10 > x->capacity.bytes * 8)) return false;
    uint64_t held = x->reserved.known ? x->reserved.bytes : x->allocated.known ? x->allocated.bytes : 0;
    bool reached = held + request >= x->limit.bytes - x->limit.bytes / 100;
    bool room = !x->free.known || x->free.bytes >= request;
    return reached && room;
}

/* Intel's runtime gives single blocks below 4 GiB only. */
static bool is_block_limit(const view *v) {
    const plim_explanation *x = v->x;
    if (v->facts & PLIM_FACT_BLOCK_LIMIT) return true;
    if (!is_kind(x, "xpu") || !x->requested.known) return false;
    if (x->requested.bytes < 4 * GIB - GIB / 50) return false;
    if (x->free.known) return x->free.bytes >= x->requested.bytes;
    return x->capacity.known && x->reserved.known && x->capacity.bytes >= x->reserved.bytes &&
           x->capacity.bytes - x->reserved.bytes >= x->requested.bytes;
}

/* Free beyond doubt: some drivers keep a little of what they call free. */
static bool is_amply_free(const plim_explanation *x) {
    if (!x->requested.known || !x->free.known) return false;
    bool much = x->free.bytes >= 512 * MIB || (x->capacity.known && x->free.bytes >= x->capacity.bytes / 10);
    if (!much) return false;
    uint64_t margin = x->requested.bytes / 8 > 64 * MIB ? x->requested.bytes / 8 : 64 * MIB;
    return x->free.bytes >= x->requested.bytes && x->free.bytes - x->requested.bytes >= margin;
}

bool plim__is_stated_in_pieces(const plim_explanation *x) {
    return x->requested.known && x->free.known && x->largest_free.known && x->free.bytes >= x->requested.bytes &&
           x->largest_free.bytes < x->requested.bytes;
}

bool plim__was_refused(const plim_explanation *x) {
    if (plim__is_stated_in_pieces(x) || !is_amply_free(x) || x->free.bytes / 2 < plim__cached(x)) return false;
    return x->free.bytes >= (x->capacity.known ? x->capacity.bytes / 10 : 2 * GIB);
}

static bool is_other_process(const view *v) {
    const plim_explanation *x = v->x;
    uint64_t others;
    if (v->facts & (PLIM_FACT_FALLING | PLIM_FACT_OTHERS)) return true;
    if ((v->facts & PLIM_FACT_DRIVER) && !v->incident->confirmed) return true;
    /* a pool that may grow and cannot: somebody else has the card */
    if (v->pool && !(v->facts & PLIM_FACT_HOST) && x->requested.known && x->allocated.known &&
        x->capacity.bytes >= GIB && x->allocated.bytes + x->requested.bytes < x->capacity.bytes / 2)
        return true;
    if (v->pool || !plim__others(x, &others) || !x->capacity.known || is_amply_free(x)) return false;
    if (v->facts & PLIM_FACT_UNKNOWN_PROCESSES) return false;
    uint64_t free = x->free.known ? x->free.bytes : 0, request = x->requested.known ? x->requested.bytes : 0;
    /* its own cache, unused, is no less than theirs without the context */
    uint64_t cached = plim__cached(x);
    if (request && cached >= request && cached >= x->capacity.bytes / 4 && cached + GIB / 2 >= others) return false;
    /* what is only estimated holds this process's context, and on a small card that and a desktop are a quarter */
    bool estimated = !x->other_process.known && !x->process.known;
    if (estimated && others < 5 * GIB / 4) return false;
    /* a desktop and the driver's own share, beside a process that holds most of it */
    bool mostly_own = x->reserved.known && x->reserved.bytes >= x->capacity.bytes / 100 * 55;
    if (estimated && others < 2 * GIB && mostly_own) return false;
    return others >= x->capacity.bytes / 4 && free + others >= request;
}

/* A device that does not tell what is free, and of which hardly anything is ours. */
static bool is_hardly_used(const view *v) {
    const plim_explanation *x = v->x;
    if (!is_kind(x, "xpu") || x->free.known || !x->requested.known || !x->capacity.known || !x->reserved.known)
        return false;
    return x->reserved.bytes + x->requested.bytes < x->capacity.bytes / 2;
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
    if (!x->requested.known || !x->requested.bytes) return false;
    uint64_t request = x->requested.bytes, cached = plim__cached(x);
    if (v->pool) return v->in_pieces;
    if (x->allocated.known && x->capacity.known && x->allocated.bytes > x->capacity.bytes) return false; /* paged out */
    if (v->in_pieces) return true;
    /* what is cached beside a full device is a crumb */
    if (plim__is_crowded(x) && cached < x->capacity.bytes / 20 && cached < GIB && !is_amply_free(x)) return false;
    /* a margin, as for what is free; a few megabytes in the cache may be of the wrong pool */
    bool crumb =
        x->capacity.known && cached < x->capacity.bytes / 12 && (cached < request + request / 8 || request < 32 * MIB);
    if (cached >= request && !crumb) return true;
    if (!x->free.known) return false;
    if (is_amply_free(x)) return true;
    /* little is asked and little is left: full, whatever the last megabytes say */
    bool crumbs = x->capacity.known ? request < x->capacity.bytes / 20 && x->free.bytes < x->capacity.bytes / 20
                                    : x->free.bytes < 512 * MIB;
    if (crumbs) return false;
    if (x->free.bytes >= request && x->free.bytes - request >= request / 20) return true;
    return cached >= request / 20 && x->free.bytes + cached >= request;
}

/* One request for more than half of the device, and for more than is free. */
static bool is_mostly_request(const view *v) {
    const plim_explanation *x = v->x;
    return !v->pool && x->requested.known && x->capacity.known && x->free.known && x->allocated.known &&
           x->requested.bytes > x->capacity.bytes / 2 && x->requested.bytes > x->free.bytes &&
           x->allocated.bytes < x->requested.bytes && !(v->facts & PLIM_FACT_CHUNK);
}

/* The driver refused, and a table in the log shows one card as taken and another as empty. */
static bool is_shown_taken(const view *v) {
    if (v->x->requested.known || v->x->capacity.known || !is_kind(v->x, "gpu")) return false;
    plim__cards cards = plim__cards_read(v->log);
    return cards.full && cards.empty;
}

static plim_cause decide(const view *v) {
    bool dense = plim__at_spot(&v->incident->context, "a graph made dense") && v->x->requested.known &&
                 v->x->requested.bytes < 1024 * NONSENSE; /* that is what it takes */
    const plim__context *told = &v->incident->context;
    bool pictures = plim__context_has(told, PLIM_CONTEXT_IMAGES) || plim__context_has(told, PLIM_CONTEXT_TILES) ||
                    plim__context_has(told, PLIM_CONTEXT_DIFFUSION);
    dense |= pictures && !plim__context_has(told, PLIM_CONTEXT_TRAINING) && v->x->requested.known &&
             v->x->requested.bytes < 2 * NONSENSE; /* attention over every pixel */
    if (is_bad_size(v)) return dense ? PLIM_CAUSE_TOO_BIG : PLIM_CAUSE_BAD_SIZE;
    if (is_too_big(v) || is_mostly_request(v)) return PLIM_CAUSE_TOO_BIG;
    if (is_limit(v)) return PLIM_CAUSE_LIMIT;
    if (is_block_limit(v)) return PLIM_CAUSE_PER_ALLOCATION_LIMIT;
    if ((v->facts & PLIM_FACT_HOST) && !v->pool) return PLIM_CAUSE_HOST_MEMORY;
    if (is_other_process(v) || is_hardly_used(v) || is_shown_taken(v)) return PLIM_CAUSE_OTHER_PROCESS;
    if (is_dataset(v)) return PLIM_CAUSE_DATASET_ON_DEVICE;
    bool full = v->x->allocated.known && v->x->capacity.known &&
                v->x->allocated.bytes >= v->x->capacity.bytes / 100 * 98; /* the pool's own figures say so */
    if ((v->facts & PLIM_FACT_DISGUISED) && !v->x->requested.known && !full) return PLIM_CAUSE_DISGUISED;
    if (is_fragmented(v)) return PLIM_CAUSE_FRAGMENTED;
    if (is_too_big_for_the_rest(v)) return PLIM_CAUSE_TOO_BIG;
    return v->facts & PLIM_FACT_HOST ? PLIM_CAUSE_HOST_MEMORY : PLIM_CAUSE_FULL;
}

/* --- what is missing ------------------------------------------------------------------------------------------ */

static plim_amount above(uint64_t need, uint64_t have) {
    return need > have ? plim__rounded((double)(need - have)) : (plim_amount){0};
}

static plim_amount shortfall_of(const plim__incident *incident, const plim_explanation *x) {
    if (incident->facts.missing.known) return incident->facts.missing;
    if (!x->requested.known) {
        bool over = x->cause == PLIM_CAUSE_LIMIT && x->process.known && x->limit.known;
        return over ? above(x->process.bytes, x->limit.bytes) : (plim_amount){0};
    }
    uint64_t request = x->requested.bytes;
    uint64_t held = x->reserved.known ? x->reserved.bytes : x->allocated.known ? x->allocated.bytes : 0;
    switch (x->cause) {
    case PLIM_CAUSE_TOO_BIG:
        if (x->free.known && (!x->capacity.known || request <= x->capacity.bytes)) return above(request, x->free.bytes);
        if (x->limit.known && (!x->capacity.known || x->limit.bytes < x->capacity.bytes))
            return above(request, x->limit.bytes);
        return x->capacity.known ? above(request, x->capacity.bytes) : (plim_amount){0};
    case PLIM_CAUSE_LIMIT:
        if (incident->facts.used.known && is_kind(x, "mps")) held += incident->facts.used.bytes;
        if (x->limit.known) return above(held + request, x->limit.bytes);
        return x->free.known ? above(request, x->free.bytes) : (plim_amount){0};
    case PLIM_CAUSE_FRAGMENTED: return x->largest_free.known ? above(request, x->largest_free.bytes) : (plim_amount){0};
    case PLIM_CAUSE_FULL:
    case PLIM_CAUSE_OTHER_PROCESS:
    case PLIM_CAUSE_DATASET_ON_DEVICE:
    case PLIM_CAUSE_HOST_MEMORY:
        if (x->free.known) return above(request, x->free.bytes);
        return x->capacity.known && held ? above(held + request, x->capacity.bytes) : (plim_amount){0};
    default: return (plim_amount){0};
    }
}

/* --- will it happen again? ------------------------------------------------------------------------------------ */

static void write_recurrence(plim_explanation *x) {
    const plim_place *place = &x->place;
    char *to = x->recurrence;
    size_t size = sizeof x->recurrence;
    if (x->cause == PLIM_CAUSE_BAD_SIZE)
        snprintf(to, size, "it will fail the same way until the size is mended");
    else if (x->cause == PLIM_CAUSE_OTHER_PROCESS)
        snprintf(to, size, "it depends on what else runs on the device at that moment");
    else if (x->phase == PLIM_PHASE_LOADING || x->phase == PLIM_PHASE_COMPILING)
        snprintf(to, size, "it happened before any step: it will fail the same way every time");
    else if (x->failures > 1 && x->failures < 1000000)
        snprintf(to, size, "it failed %llu times in this log", (unsigned long long)x->failures);
    else if (place->epoch > 1 || (place->epoch == 1 && place->step < 0))
        snprintf(to, size,
                 "at least one epoch fit before: what grew or came later (evaluation, a longer sample, a kept "
                 "graph) is the difference");
    else if (place->step > 20)
        snprintf(to, size, "%lld steps fit before: a larger sample or something that grows is the difference",
                 (long long)place->step);
    else if (place->step >= 0 && place->step <= 1)
        snprintf(to, size, "in the first step: it will fail the same way every time");
}

/* --- from incident to fields ---------------------------------------------------------------------------------- */

/* Both print the same allocator's words; the paths and the exception tell who. */
static const char *framework_of(const plim__event *facts) {
    if (facts->group != PLIM_GROUP_XLA) return facts->framework;
    plim__facts both = facts->facts & (PLIM_FACT_TENSORFLOW | PLIM_FACT_JAX);
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
    /* "this process has 0 bytes": the driver does not see it */
    if (x->process.known && x->allocated.known && x->process.bytes < x->allocated.bytes / 2)
        x->process = (plim_amount){0};
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

static plim_amount rounded_bytes(uint64_t bytes) { return plim__rounded((double)bytes); }

/* A dump's own totals. Reserved: 0 and LargestFreeBlock: 0 mean "not tracked". */
static bool copy_dump(const plim__reader *reader, plim__incident *incident, plim_explanation *x) {
    const plim__dump *dump = &incident->dump;
    bool pool = !x->capacity.known && dump->has_limit;
    plim_amount (*stated)(uint64_t) = dump->rounded ? rounded_bytes : plim__exact;
    if (dump->has_limit) {
        if (pool)
            x->capacity = stated(dump->limit);
        else
            x->limit = stated(dump->limit);
    }
    if (dump->has_in_use) x->allocated = stated(dump->in_use);
    if (pool && dump->has_in_use && !x->free.known)
        x->free = stated(dump->limit > dump->in_use ? dump->limit - dump->in_use : 0);
    if (dump->regions)
        x->reserved = plim__exact(dump->region_bytes);
    else if (dump->pool_bytes)
        x->reserved = stated(dump->pool_bytes);
    else if (dump->reserved)
        x->reserved = stated(dump->reserved);
    if (dump->has_chunks && dump->free_count)
        x->largest_free = plim__exact(dump->largest_free);
    else if (dump->stated_largest_free)
        x->largest_free = stated(dump->stated_largest_free);
    if (dump->free_bytes) x->fragmentation = 1 - (double)dump->largest_free / (double)dump->free_bytes;
    uint64_t megabyte = 1 << 20;
    if (pool && dump->limit % megabyte == 0 && reader->created_mb == (int64_t)(dump->limit / megabyte) &&
        reader->total_memory.known && dump->limit < reader->total_memory.bytes / 10 * 8) {
        incident->facts.facts |= PLIM_FACT_LIMIT;
        x->limit = stated(dump->limit);
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

static bool says(const plim__incident *incident, plim__context_word word) {
    return plim__context_has(&incident->context, word);
}

/* A warning about the host's memory, and somebody who says that the program was killed then. */
static void take_word_for_it(plim__incident *incident) {
    plim__event *facts = &incident->facts;
    bool host = facts->kind && strcmp(facts->kind, "host") == 0;
    if (!(facts->facts & PLIM_FACT_WARNING) || !host || !incident->context.person) return;
    if (!says(incident, PLIM_CONTEXT_WAS_KILLED)) return;
    facts->facts &= ~PLIM_FACT_WARNING;
    facts->facts |= PLIM_FACT_HOST | PLIM_FACT_KILLED;
}

/* A driver's complaint or a skipped tactic failed nothing when the run went on. */
static bool is_warning(plim__reader *reader) {
    const plim__incident *incident = &reader->incident;
    plim__facts facts = incident->facts.facts;
    if ((facts & PLIM_FACT_WARNING) || incident->recovered) return true;
    if (reader->engine_done && strcmp(incident->facts.framework, "tensorrt") == 0) return true;
    if (incident->confirmed) return false;
    if (facts & PLIM_FACT_TACTIC) return true;
    return (facts & PLIM_FACT_DRIVER) && plim__reader_moved_on(reader);
}

/* The driver alone speaks: a framework that the log mentions, or the one that its program is built on. */
static void name_speaker(const plim__incident *incident, plim_explanation *x) {
    static const struct {
        plim__context_word word;
        const char *framework;
    } speakers[] = {{PLIM_CONTEXT_TRTLLM, "tensorrt-llm"},
                    {PLIM_CONTEXT_CNTK, "cntk"},
                    {PLIM_CONTEXT_OLLAMA, "ollama"},
                    {PLIM_CONTEXT_LLAMA, "llama.cpp"},
                    {PLIM_CONTEXT_TENSORRT, "tensorrt"},
                    {PLIM_CONTEXT_ONNXRUNTIME, "onnxruntime"},
                    {PLIM_CONTEXT_JAX, "jax"},
                    {PLIM_CONTEXT_MXNET, "mxnet"},
                    {PLIM_CONTEXT_PADDLE, "paddle"},
                    {PLIM_CONTEXT_CUPY, "cupy"},
                    {PLIM_CONTEXT_XGBOOST, "xgboost"},
                    {PLIM_CONTEXT_MLX, "mlx"},
                    {PLIM_CONTEXT_PYTORCH, "pytorch"},
                    {PLIM_CONTEXT_TENSORFLOW, "tensorflow"},
                    {PLIM_CONTEXT_TRANSFORMERS, "pytorch"},
                    {PLIM_CONTEXT_COMFY, "pytorch"},
                    {PLIM_CONTEXT_TILES, "pytorch"},
                    {PLIM_CONTEXT_LORA, "pytorch"},
                    {PLIM_CONTEXT_DIFFUSERS, "pytorch"},
                    {PLIM_CONTEXT_WEBUI, "pytorch"},
                    {PLIM_CONTEXT_KOHYA, "pytorch"},
                    {PLIM_CONTEXT_LIGHTNING, "pytorch"},
                    {PLIM_CONTEXT_DEEPSPEED, "pytorch"},
                    {PLIM_CONTEXT_DETECTION, "pytorch"},
                    {PLIM_CONTEXT_LLM, "pytorch"},
                    {PLIM_CONTEXT_KERAS, "tensorflow"},
                    {PLIM_CONTEXT_GRADIO, "pytorch"},
                    {PLIM_CONTEXT_JVM, "java"}};
    bool bare = strcmp(x->framework, "cuda") == 0 || strcmp(x->framework, "unknown") == 0 ||
                strcmp(x->framework, "hip") == 0 || strcmp(x->framework, "sycl") == 0 ||
                strcmp(x->framework, "vulkan") == 0;
    if (!bare || incident->facts.strength > PLIM_PLAIN) return;
    for (size_t i = 0; i < sizeof speakers / sizeof *speakers; i++)
        if (says(incident, speakers[i].word)) {
            x->framework = speakers[i].framework;
            return;
        }
    if (strcmp(x->framework, "cuda") != 0 && strcmp(x->framework, "unknown") != 0) return;
    plim__case c = {.x = x, .facts = incident->facts.facts, .context = &incident->context, .op = "", .card = -1};
    const plim__program *program = plim__program_find(&c);
    if (program) x->framework = program->framework ? program->framework : "pytorch";
}

/* Who speaks, where the words alone do not tell: the rest of the log does. */
static void refine_framework(const plim__incident *incident, plim_explanation *x) {
    if (strcmp(x->framework, "hip") == 0 && says(incident, PLIM_CONTEXT_JULIA)) x->framework = "julia";
    if (strcmp(x->framework, "opencl") == 0 && says(incident, PLIM_CONTEXT_LIGHTGBM)) x->framework = "lightgbm";
    if (strcmp(x->framework, "kernel") == 0 && says(incident, PLIM_CONTEXT_DEEPSPEED) &&
        incident->facts.strength <= PLIM_WEAK && !(incident->facts.facts & PLIM_FACT_LIMIT))
        x->framework = "deepspeed";
    bool plain = strcmp(x->framework, "pytorch") == 0 || strcmp(x->framework, "cuda") == 0;
    if (plain && says(incident, PLIM_CONTEXT_DARKNET) && !says(incident, PLIM_CONTEXT_PYTORCH) && !x->capacity.known)
        x->framework = "darknet";
    name_speaker(incident, x);
    /* Python's RuntimeError about CUDA is PyTorch's, or an extension's of it */
    if (strcmp(x->framework, "cuda") == 0 &&
        (strstr(x->message, "RuntimeError") || strstr(x->message, "CUDA_LAUNCH_BLOCKING")))
        x->framework = "pytorch";
    bool shared = strcmp(x->framework, "onnxruntime") == 0 ||
                  (strcmp(x->framework, "pytorch") == 0 && !says(incident, PLIM_CONTEXT_PYTORCH));
    if (strcmp(x->framework, "cpp") == 0 &&
        (strstr(x->message, "XGBoostError") || says(incident, PLIM_CONTEXT_XGBOOST)))
        x->framework = "xgboost";
    if (strcmp(x->framework, "cpp") == 0 && says(incident, PLIM_CONTEXT_LIGHTGBM)) x->framework = "lightgbm";
    bool thrust = strcmp(x->framework, "rapids") == 0 && strstr(x->message, "cudaErrorMemoryAllocation");
    if (thrust && (says(incident, PLIM_CONTEXT_PYTORCH) || strstr(x->message, "Minkowski"))) x->framework = "pytorch";
    if (thrust && strcmp(x->framework, "rapids") == 0) {
        plim__case c = {.x = x, .facts = incident->facts.facts, .context = &incident->context, .op = "", .card = -1};
        const plim__program *program = plim__program_find(&c);
        if (program && !program->framework) x->framework = "pytorch";
    }
    if (shared && says(incident, PLIM_CONTEXT_CNTK)) x->framework = "cntk";
    if (shared && says(incident, PLIM_CONTEXT_XGBOOST) && !x->capacity.known) x->framework = "xgboost";
    if (strcmp(x->framework, "pytorch") == 0 && says(incident, PLIM_CONTEXT_LUA) && strstr(x->version, "PyTorch 0")) {
        x->framework = "torch7";
        x->version[0] = 0;
    }
    if (strcmp(x->framework, "pytorch") == 0 && strncmp(x->version, "Lua", 3) == 0 && says(incident, PLIM_CONTEXT_LUA))
        x->framework = "torch7";
    if (incident->facts.group == PLIM_GROUP_XLA && says(incident, PLIM_CONTEXT_XLA_TORCH) &&
        !says(incident, PLIM_CONTEXT_KERAS)) {
        x->framework = "pytorch";
        x->version[0] = 0;
    }
    if (is_kind(x, "tpu") && strcmp(x->framework, "jax") == 0 && says(incident, PLIM_CONTEXT_TENSORFLOW) &&
        !says(incident, PLIM_CONTEXT_JAX) && !says(incident, PLIM_CONTEXT_PYTORCH))
        x->framework = "tensorflow";
    if (is_kind(x, "tpu") && strcmp(x->framework, "jax") == 0 && says(incident, PLIM_CONTEXT_PYTORCH) &&
        !says(incident, PLIM_CONTEXT_JAX) && !says(incident, PLIM_CONTEXT_TENSORFLOW))
        x->framework = "pytorch";
    if (strcmp(x->framework, "tensorflow") == 0 && says(incident, PLIM_CONTEXT_JAX) &&
        !(incident->facts.facts & PLIM_FACT_TENSORFLOW) && !says(incident, PLIM_CONTEXT_KERAS)) {
        x->framework = "jax";
        x->version[0] = 0;
    }
    if (strcmp(x->framework, "llama.cpp") == 0 && says(incident, PLIM_CONTEXT_OLLAMA)) x->framework = "ollama";
}

/* Only words, and none about a device: the host's memory, or the heap of the language at hand. */
static void settle_place(plim__incident *incident, plim_explanation *x) {
    bool open = strcmp(x->framework, "unknown") == 0 || strcmp(x->framework, "pytorch") == 0;
    if (!x->device_kind && open && says(incident, PLIM_CONTEXT_ON_MPS)) {
        x->framework = "pytorch";
        x->device_kind = "mps";
        return;
    }
    bool cpu = strcmp(x->framework, "onnxruntime") == 0 && says(incident, PLIM_CONTEXT_ORT_CPU);
    if (!x->device_kind && cpu) {
        x->device_kind = "host";
        incident->facts.facts |= PLIM_FACT_HOST;
    }
    bool java = strcmp(x->framework, "java") == 0 && incident->facts.group == PLIM_GROUP_WORDS;
    bool bare = (strcmp(x->framework, "unknown") == 0 && !says(incident, PLIM_CONTEXT_GPU)) ||
                says(incident, PLIM_CONTEXT_NO_GPU);
    if (x->device_kind || (!java && !bare)) return;
    x->device_kind = "host";
    incident->facts.facts |= PLIM_FACT_HOST | (java ? PLIM_FACT_HEAP | PLIM_FACT_LIMIT : 0);
}

static void copy_context(const plim__incident *incident, plim_explanation *x) {
    x->phase = incident->context.phase;
    x->place = incident->context.place;
    snprintf(x->unread, sizeof x->unread, "%s", incident->unread);
    if ((incident->facts.facts & PLIM_FACT_MODEL) && x->phase == PLIM_PHASE_UNKNOWN) x->phase = PLIM_PHASE_LOADING;
}

static plim_explanation nothing(void) {
    return (plim_explanation){.framework = "none",
                              .device_index = -1,
                              .rank = -1,
                              .fragmentation = -1,
                              .cause = PLIM_CAUSE_NONE,
                              .confidence = 1,
                              .place = {.line = -1, .epoch = -1, .step = -1, .step_count = -1}};
}

/* A text about a message: no report of a person, no line of a program, and the points of an article (article.h). */
static bool is_article(const plim__reader *reader) {
    const plim__incident *incident = &reader->incident;
    const plim__context *context = &incident->context;
    const plim__event *facts = &incident->facts;
    int points = context->teaching + (reader->described ? 2 : 0) + (reader->described > 1 ? 2 : 0);
    bool settings = points == 0 && context->batch >= 0 && plim__context_has(context, PLIM_CONTEXT_TRAINER);
    bool told = context->person || reader->dated || context->traced || settings;
    bool other = plim__context_has(context, PLIM_CONTEXT_OTHER_ERROR); /* words about memory beside another error */
    if ((facts->facts & PLIM_FACT_SAID) && (!told || points >= 4 || other)) return true;
    bool figures = facts->requested.known || facts->capacity.known || facts->process.known;
    if (context->traced) return points >= 12 && !context->person;
    if (reader->dated) return points >= 8;
    if (context->person) return points >= (figures ? 12 : 6);
    return points >= (figures ? 6 : 4);
}

/* Enough is free, and no block of it is large enough, as a dump or the message itself says. */
static bool is_in_pieces(const plim__dump *dump, const plim_explanation *x) {
    if (!dump->has_chunks) return plim__is_stated_in_pieces(x);
    return x->requested.known && dump->free_bytes >= x->requested.bytes && dump->largest_free < x->requested.bytes;
}

void plim__conclude(plim__reader *reader, plim_explanation *x) {
    plim__incident *incident = &reader->incident;
    *x = nothing();
    if (!incident->is_set || (incident->facts.facts & PLIM_FACT_NOT_MEMORY)) return;
    plim__reader_context(reader);
    if (is_article(reader)) return;
    if (reader->vllm) {
        plim__context_set(&incident->context, PLIM_CONTEXT_VLLM);
        plim__program_note(&incident->context.programs, "vLLM");
    }
    if (strstr(incident->message, "Allocation on device")) plim__program_note(&incident->context.programs, "ComfyUI");
    if (strcmp(incident->facts.framework, "ctranslate2") == 0)
        plim__program_note(&incident->context.programs, "Whisper");
    take_word_for_it(incident);
    if (!incident->context.tensorflow && reader->year > 2000 && reader->year < 2020) incident->context.tensorflow = 110;
    copy_facts(&incident->facts, x);
    snprintf(x->message, sizeof x->message, "%s", incident->message);
    bool pool = incident->dumped && copy_dump(reader, incident, x);
    if ((incident->facts.facts & PLIM_FACT_DRIVER) && !incident->confirmed && !x->capacity.known) {
        x->capacity = reader->total_memory; /* what TensorFlow saw of the card when it started */
        x->free = reader->free_memory;
    }
    /* a library that found the card taken when the program started */
    if ((incident->facts.facts & PLIM_FACT_DISGUISED) && reader->total_memory.known && reader->free_memory.known &&
        !x->capacity.known && incident->facts.group == PLIM_GROUP_XLA) {
        x->capacity = reader->total_memory;
        x->free = reader->free_memory;
        if (x->free.bytes < x->capacity.bytes / 4) incident->facts.facts |= PLIM_FACT_OTHERS;
    }
    copy_holders(incident, x);
    copy_context(incident, x);
    refine_framework(incident, x);
    settle_place(incident, x);
    if (is_warning(reader)) {
        x->cause = PLIM_CAUSE_WARNING;
    } else {
        x->found = 1;
        x->failures = reader->failures;
        view v = {.x = x,
                  .incident = incident,
                  .facts = incident->facts.facts,
                  .pool = pool,
                  .in_pieces = is_in_pieces(&incident->dump, x),
                  .log = {reader->begin, reader->end}};
        x->cause = decide(&v);
        if (x->cause == PLIM_CAUSE_LIMIT && pool && !x->limit.known) x->limit = x->capacity;
        x->shortfall = shortfall_of(incident, x);
        /* the difference of two rounded figures that are as good as equal tells nothing */
        if (x->requested.known && x->shortfall.bytes < x->requested.bytes / 200) x->shortfall = (plim_amount){0};
        write_recurrence(x);
    }
    plim__gather_evidence(reader, x);
    plim__write_headline(reader, x);
    plim__choose_fixes(x, reader);
}
