/* The range of a prediction: the job on every stack that is known, since which one runs it cannot be told beforehand. */
#include "core/arguments.h"
#include "fit/gpu.h"
#include "fit/predict.h"

#define SEGMENT ((uint64_t)20 << 20)

/* What differs between stacks. A work space adds its own bytes, and it also splits cached blocks at other places: reserved
 * memory moves by more than the work space, in both directions, so each one is simulated. */
static const plim__stack stacks[] = {
    {0},
    {.backward_work = true},
    {.forward_work = true},
    {.forward_work = true, .backward_work = true},
    {.gemm_work = 33554432}, /* the work space of compute capability 9, for each product */
};

/* Simulated stacks are not all there are, and kernels are loaded while a job runs: one more segment, and 4 %, which is
 * more than the step between two versions of a library of models that keeps other tensors. */
static uint64_t limit_of(uint64_t most, uint64_t capacity) {
    uint64_t limit = most + SEGMENT + most / 25;
    return limit < capacity ? limit : capacity;
}

static plim_status measure(plim_prediction *prediction, const plim__stack *stack, const plim_gpu *gpu,
                           plim_pool_options *pool, plim_prediction_range *range, plim_error *error) {
    plim__stack on_card = *stack;
    plim_replay_result result;
    on_card.capability = gpu->capability;
    plim__requests_free(&prediction->replay.requests);
    prediction->replay.requests = (plim__requests){0};
    prediction->capability = -1;
    PLIM_TRY(plim__stream_make(&prediction->replay.timeline, &on_card, &prediction->replay.requests, &prediction->facts,
                               error));
    plim__gpu_overhead o = plim__gpu_overhead_of(gpu, prediction->facts.gemm, prediction->facts.convolution);
    uint64_t taken = o.context + o.libraries;
    pool->capacity = gpu->memory > taken ? gpu->memory - taken : 1;
    PLIM_TRY(plim__replay_measure(&prediction->replay, pool, &result, error));
    uint64_t reserved = result.failed ? pool->capacity : result.stats.reserved_peak;
    range->stacks++;
    range->fitting += !result.failed;
    if (reserved > range->most) range->most = reserved;
    if (!range->least || reserved < range->least) range->least = reserved;
    range->limit = limit_of(range->most, pool->capacity) + o.libraries;
    return PLIM_OK;
}

plim_status plim_prediction_find_range(plim_prediction *prediction, const plim_gpu *gpu, const plim_pool_options *pool,
                                       plim_prediction_range *range, plim_error *error) {
    plim_pool_options options;
    PLIM__NEED(range, error);
    *range = (plim_prediction_range){0};
    PLIM__NEED(prediction, error);
    PLIM__NEED(gpu, error);
    PLIM__OPTIONS(plim_pool_options, options, pool, error);
    options.real = false;
    plim_status status = PLIM_OK;
    for (size_t i = 0; status == PLIM_OK && i < sizeof stacks / sizeof *stacks; i++)
        status = measure(prediction, &stacks[i], gpu, &options, range, error);
    if (status == PLIM_OK) status = plim__prediction_make_requests(prediction, gpu->capability, error);
    return status;
}
