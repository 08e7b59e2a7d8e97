#include "fit/predict.h"

#include <stdio.h>
#include <string.h>

#include "core/arguments.h"
#include "fit/gpu.h"
#include "report/report.h"

plim_status plim__prediction_create(plim_prediction **prediction, plim_error *error) {
    plim_prediction *made = plim__alloc_zero(1, sizeof *made);
    if (!made) return plim__fail_memory(error, "a prediction", sizeof *made);
    plim__timeline_init(&made->replay.timeline, PLIM__SOURCE_PLAN);
    made->capability = -1;
    *prediction = made;
    return PLIM_OK;
}

plim_status plim_prediction_load(const char *path, plim_prediction **prediction, plim_error *error) {
    PLIM__NEED(prediction, error);
    *prediction = NULL;
    PLIM__NEED(path, error);
    PLIM_TRY(plim__prediction_create(prediction, error));
    plim_status status = plim__report_read(path, -1, &(*prediction)->replay.timeline, error);
    if (status == PLIM_OK && !(*prediction)->replay.timeline.lives.count)
        status = plim__fail(error, PLIM_UNSUPPORTED, "'%s' has no tensors to predict from", path);
    if (status == PLIM_OK) return PLIM_OK;
    plim_prediction_free(*prediction);
    *prediction = NULL;
    return status;
}

void plim_prediction_free(plim_prediction *prediction) {
    if (!prediction) return;
    plim__replay_clear(&prediction->replay);
    plim__free(prediction);
}

const char *plim_prediction_kind(size_t index) {
    return index < PLIM__KIND_COUNT ? plim__kind_word((plim__memory_kind)index) : NULL;
}

static void describe_peak(const plim_prediction *prediction, const plim__summary *summary,
                          plim_prediction_result *result) {
    const plim__timeline *timeline = &prediction->replay.timeline;
    _Static_assert((int)PLIM__KIND_COUNT == (int)PLIM_PREDICTION_KINDS, "one figure for each kind");
    for (size_t i = 0; i < PLIM_PREDICTION_KINDS; i++) result->kinds[i] = summary->kinds[i];
    for (size_t i = 0; i < summary->holders.count && i < PLIM_PREDICTION_HOLDERS; i++) {
        const plim__timeline_life *life = &timeline->lives.items[summary->holders.items[i].life];
        const plim__timeline_tensor *tensor = &timeline->tensors.items[life->tensor];
        plim_prediction_holder *holder = &result->holders[result->holder_count++];
        snprintf(holder->name, sizeof holder->name, "%s", plim__timeline_get(timeline, tensor->name));
        snprintf(holder->shape, sizeof holder->shape, "%s", plim__timeline_get(timeline, tensor->shape));
        holder->kind = plim__kind_word((plim__memory_kind)tensor->kind);
        holder->bytes = life->bytes;
    }
}

static void describe_cut(const plim__timeline *timeline, plim_prediction_result *result) {
    if (timeline->cut) snprintf(result->cut, sizeof result->cut, "%s", plim__timeline_get(timeline, timeline->cut));
    for (size_t i = 0; i < timeline->facts.count; i++) {
        const char *name = plim__timeline_get(timeline, timeline->facts.items[i].name);
        const char *value = plim__timeline_get(timeline, timeline->facts.items[i].value);
        size_t used = strlen(result->notes);
        if (strcmp(name, "capture") == 0) snprintf(result->cut, sizeof result->cut, "%s", value);
        if (strcmp(name, "note") == 0)
            snprintf(result->notes + used, sizeof result->notes - used, "%s%s", used ? "; " : "", value);
    }
}

plim_status plim__prediction_make_requests(plim_prediction *prediction, int capability, plim_error *error) {
    plim__stack stack = {.capability = capability};
    if (prediction->capability == capability) return PLIM_OK;
    plim__requests_free(&prediction->replay.requests);
    prediction->replay.requests = (plim__requests){0};
    PLIM_TRY(plim__stream_make(&prediction->replay.timeline, &stack, &prediction->replay.requests, &prediction->facts,
                               error));
    prediction->capability = capability;
    return PLIM_OK;
}

static void add_card(const plim_prediction *prediction, const plim_gpu *gpu, plim_prediction_result *result) {
    plim__gpu_overhead o = plim__gpu_overhead_of(gpu, prediction->facts.gemm, prediction->facts.convolution);
    uint64_t taken = o.context + o.libraries;
    result->context = o.context;
    result->context_most = o.context_most;
    result->libraries = o.libraries;
    result->capacity = gpu->memory > taken ? gpu->memory - taken : 1;
}

plim_status plim_prediction_run(plim_prediction *prediction, const plim_gpu *gpu, const plim_pool_options *pool,
                                plim_prediction_result *result, plim_error *error) {
    plim_pool_options o;
    PLIM__NEED(result, error);
    *result = (plim_prediction_result){0};
    PLIM__NEED(prediction, error);
    PLIM__OPTIONS(plim_pool_options, o, pool, error);
    pool = &o;
    PLIM_TRY(plim__prediction_make_requests(prediction, gpu ? gpu->capability : 0, error));
    plim__summary summary = {0};
    PLIM_TRY(plim__summary_make(&prediction->replay.timeline, &summary, error));
    describe_peak(prediction, &summary, result);
    describe_cut(&prediction->replay.timeline, result);
    plim__summary_free(&summary);
    plim_pool_options options = *pool;
    options.capacity = 0;
    options.real = false;
    PLIM_TRY(plim_replay_run(&prediction->replay, &options, &result->replay, error));
    result->requested = result->replay.stats.requested_peak;
    result->allocated = result->replay.stats.allocated_peak;
    /* An allocator that takes its limit at once has no limit here: what it needs is what it hands out. */
    result->reserved = options.whole ? result->allocated : result->replay.stats.reserved_peak;
    result->cublas = prediction->facts.cublas;
    result->work = prediction->facts.largest_work;
    result->fits = true;
    if (!gpu) return PLIM_OK;
    add_card(prediction, gpu, result);
    options.capacity = result->capacity;
    PLIM_TRY(plim_replay_run(&prediction->replay, &options, &result->replay, error));
    result->fits = !result->replay.failed;
    uint64_t outside = result->libraries + result->replay.stats.reserved_peak;
    result->driver = outside + result->context;
    result->driver_most = outside + result->context_most;
    return PLIM_OK;
}

plim_status plim_prediction_save_page(plim_prediction *prediction, const char *path, plim_error *error) {
    PLIM__NEED(prediction, error);
    return plim_replay_save_page(&prediction->replay, path, error);
}
