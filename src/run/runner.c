/* The runner. */
#include "run/runner.h"

#include <math.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "format/trace_script.h"
#include "mem/carrier.h"
#include "mem/spill.h"
#include "run/errands.h"

void *plim__runner_at(const plim__runner *runner, plim__operand operand) {
    if (operand.buffer < 0 || runner->plan->offsets[operand.buffer] < 0) return NULL;
    size_t offset = (size_t)runner->plan->offsets[operand.buffer], persistent = runner->plan->persistent_bytes;
    return (offset < persistent ? runner->arena->persistent + offset
                                : runner->arena->transient + (offset - persistent)) +
           operand.offset;
}

static const plim__device *device_of(const plim__runner *runner) { return runner->program->target.device; }

static plim_status enter(const plim__runner *runner, plim_error *error) {
    return device_of(runner)->enter(runner->program->engine, error);
}

/* --- persistent buffers --------------------------------------------------------------------------------------- */

/* Memory between runs: the transient part is free then, and mostly large enough. The caller may hold a part of it already,
 * at `held`. */
static void *borrow(const plim__runner *runner, size_t from, size_t bytes, const void *held) {
    const plim__arena *arena = runner->arena;
    const char *at = held;
    size_t most = at >= arena->transient && at < arena->transient + arena->transient_bytes
                      ? (size_t)(at - arena->transient)
                      : arena->transient_bytes;
    if (bytes == 0) bytes = 1; /* nothing has a place too, and one that give_back knows */
    if (from + bytes <= most) return arena->transient + from;
    return device_of(runner)->host ? plim__alloc(bytes) : NULL;
}

static void give_back(const plim__runner *runner, void *memory) {
    char *at = memory;
    if (at < runner->arena->transient || at >= runner->arena->transient + runner->arena->transient_bytes)
        plim__free(memory);
}

/* Parts of the transient memory that are in use already. */
struct in_use {
    size_t bytes;     /* at its beginning */
    const void *held; /* by the caller, up to its end; NULL: none */
};

static plim_status rearrange(const plim__runner *runner, const plim__rearrangement *how, struct in_use in_use,
                             void *from, void *to, plim_error *error) {
    void *scratch = borrow(runner, in_use.bytes, how->scratch, in_use.held);
    if (!scratch) return plim__fail_memory(error, "rearranging a weight", how->scratch);
    plim__call call = {.state = how->state, .in = &from, .out = &to, .scratch = scratch, .error = error};
    plim_status status = device_of(runner)->run(how->run, &call);
    give_back(runner, scratch);
    return status;
}

static size_t aligned(size_t bytes) { return (bytes + PLIM__ALIGNMENT - 1) / PLIM__ALIGNMENT * PLIM__ALIGNMENT; }

/* Into the device's memory, `to`. */
static plim_status read_tensor(const plim__runner *runner, plim__tensor *tensor, void *to, plim_error *error) {
    const plim__device *device = device_of(runner);
    if (device->host) return plim__tensor_read(tensor, to, error);
    void *block = plim__alloc(tensor->bytes);
    if (!block) return plim__fail_memory(error, "loading a weight", tensor->bytes);
    plim_status status = plim__tensor_read(tensor, block, error);
    if (status == PLIM_OK) status = device->write(runner->program->engine, to, block, tensor->bytes);
    plim__free(block);
    return status;
}

static size_t dense_bytes(const plim__runner *runner, const plim__load *load) {
    const plim__value *value = &runner->program->graph->values.items[load->value];
    return (size_t)plim__shape_elements(&value->shape) * (size_t)plim_dtype_bits(value->dtype) / 8;
}

/* What is spilled, as the file has it, in borrowed memory: from the file to `dense`, or back. */
static plim_status move_spilled(plim__runner *runner, const plim__load *load, void *dense, bool out,
                                plim_error *error) {
    const plim__buffer *buffer = &runner->program->buffers.items[load->buffer];
    const plim__rearrangement *how = out ? &load->back : &load->in;
    plim__spill *file = runner->arena->spill;
    if (!how->run)
        return out ? plim__spill_read(file, dense, dense_bytes(runner, load), buffer->spill_at, error)
                   : plim__spill_write(file, dense, dense_bytes(runner, load), buffer->spill_at, error);
    void *raw = borrow(runner, 0, buffer->bytes, dense);
    if (!raw) return plim__fail_memory(error, "reading what is spilled", buffer->bytes);
    if (!out) memset(raw, 0, buffer->bytes); /* padding */
    plim_status status = out ? plim__spill_read(file, raw, buffer->bytes, buffer->spill_at, error) : PLIM_OK;
    if (status == PLIM_OK)
        status = rearrange(runner, how, (struct in_use){aligned(buffer->bytes), dense}, out ? raw : dense,
                           out ? dense : raw, error);
    if (status == PLIM_OK && !out) status = plim__spill_write(file, raw, buffer->bytes, buffer->spill_at, error);
    give_back(runner, raw);
    return status;
}

/* To the file, by way of the end of the transient memory: its beginning serves to rearrange. */
static plim_status load_spilled(plim__runner *runner, const plim__load *load, plim_error *error) {
    const plim__arena *arena = runner->arena;
    size_t bytes = aligned(load->tensor->bytes);
    bool fits = bytes > 0 && bytes <= arena->transient_bytes;
    char *staging = fits ? arena->transient + (arena->transient_bytes - bytes) / PLIM__ALIGNMENT * PLIM__ALIGNMENT
                         : plim__alloc(bytes);
    if (!staging) return plim__fail_memory(error, "bringing a weight to a file", bytes);
    plim_status status = plim__tensor_read(load->tensor, staging, error);
    if (status == PLIM_OK) status = move_spilled(runner, load, staging, false, error);
    give_back(runner, staging);
    return status;
}

static plim_status load_one(plim__runner *runner, const plim__load *load, plim_error *error) {
    if (runner->program->buffers.items[load->buffer].in_model) return PLIM_OK;
    if (load->tensor && runner->program->buffers.items[load->buffer].spilled) return load_spilled(runner, load, error);
    char *target = plim__runner_at(runner, (plim__operand){load->buffer, 0});
    if (!target) return PLIM_OK; /* never used; or spilled, to a file that is all zeros */
    if (!load->tensor) {
        size_t bytes = runner->program->buffers.items[load->buffer].bytes;
        return device_of(runner)->clear(runner->program->engine, target, bytes);
    }
    if (!load->in.run) return read_tensor(runner, load->tensor, target, error);
    /* one weight at a time is held twice while it is rearranged */
    size_t bytes = aligned(load->tensor->bytes);
    void *staging = borrow(runner, 0, bytes, NULL);
    plim_status status = staging ? read_tensor(runner, load->tensor, staging, error)
                                 : plim__fail_memory(error, "rearranging a weight", bytes);
    if (status == PLIM_OK) status = rearrange(runner, &load->in, (struct in_use){bytes, NULL}, staging, target, error);
    give_back(runner, staging);
    return status;
}

/* Transient memory is scratch between runs, and what is in the file is complete. */
static plim_status enter_between_runs(const plim__runner *runner, plim_error *error) {
    if (runner->arena->carrier) plim__carrier_drop(runner->arena->carrier);
    return enter(runner, error);
}

plim_status plim__runner_load(plim__runner *runner, plim_error *error) {
    PLIM_TRY(enter_between_runs(runner, error));
    for (size_t i = 0; i < runner->program->loads.count; i++)
        if (runner->program->loads.items[i].shared < 0)
            PLIM_TRY(load_one(runner, &runner->program->loads.items[i], error));
    return PLIM_OK;
}

/* Through memory of a device that cannot reach the caller's: `out` to `dense`, or back. */
static plim_status move_staged(plim__runner *runner, const plim__load *load, void *dense, bool out, plim_error *error) {
    const plim__device *device = device_of(runner);
    plim__engine *engine = runner->program->engine;
    size_t bytes = dense_bytes(runner, load);
    void *place = plim__runner_at(runner, (plim__operand){load->buffer, 0}), *staging = borrow(runner, 0, bytes, NULL);
    if (!staging) return plim__fail_memory(error, "rearranging a weight", bytes);
    plim_status status = out ? PLIM_OK : device->write(engine, staging, dense, bytes);
    if (status == PLIM_OK)
        status = rearrange(runner, out ? &load->back : &load->in, (struct in_use){aligned(bytes), NULL},
                           out ? place : staging, out ? staging : place, error);
    if (status == PLIM_OK && out) status = device->read(engine, dense, staging, bytes);
    give_back(runner, staging);
    return status;
}

plim_status plim__runner_read_tensor(plim__runner *runner, const plim__load *load, void *dense, plim_error *error) {
    char *source = plim__runner_at(runner, (plim__operand){load->buffer, 0});
    PLIM_TRY(enter_between_runs(runner, error));
    if (runner->program->buffers.items[load->buffer].in_model) return plim__tensor_read(load->tensor, dense, error);
    if (runner->program->buffers.items[load->buffer].spilled) return move_spilled(runner, load, dense, true, error);
    if (load->back.run && !device_of(runner)->host) return move_staged(runner, load, dense, true, error);
    if (load->back.run) return rearrange(runner, &load->back, (struct in_use){0, dense}, source, dense, error);
    return device_of(runner)->read(runner->program->engine, dense, source, dense_bytes(runner, load));
}

plim_status plim__runner_write_tensor(plim__runner *runner, const plim__load *load, const void *dense,
                                      plim_error *error) {
    char *target = plim__runner_at(runner, (plim__operand){load->buffer, 0});
    PLIM_TRY(enter_between_runs(runner, error));
    void *from = (void *)(uintptr_t)dense;
    if (runner->program->buffers.items[load->buffer].in_model)
        return plim__fail(error, PLIM_INTERNAL, "a frozen weight would be changed in its model's file");
    if (runner->program->buffers.items[load->buffer].spilled) return move_spilled(runner, load, from, false, error);
    if (load->in.run && !device_of(runner)->host) return move_staged(runner, load, from, false, error);
    if (load->in.run) return rearrange(runner, &load->in, (struct in_use){0, from}, from, target, error);
    return device_of(runner)->write(runner->program->engine, target, dense, dense_bytes(runner, load));
}

/* --- making --------------------------------------------------------------------------------------------------- */

void plim__runner_resolve(plim__runner *runner) {
    size_t at = 0;
    for (size_t s = 0; s < runner->program->steps.count; s++) {
        const plim__step *step = &runner->program->steps.items[s];
        runner->operands[s] = at;
        for (int32_t i = 0; i < step->in_count + step->out_count; i++)
            runner->pointers[at++] = plim__runner_at(runner, step->operands[i]);
    }
}

/* Where spilled operands are in the file; that never changes. */
static plim_status find_places(plim__runner *runner, size_t operands, plim_error *error) {
    const plim__program *program = runner->program;
    if (runner->plan->window < 0) return PLIM_OK;
    runner->places = plim__alloc_array(operands, sizeof *runner->places);
    if (!runner->places) return plim__fail_memory(error, "a runner", operands * sizeof *runner->places);
    size_t at = 0;
    for (size_t s = 0; s < program->steps.count; s++) {
        const plim__step *step = &program->steps.items[s];
        for (int32_t i = 0; i < step->in_count + step->out_count; i++) {
            int32_t b = step->operands[i].buffer;
            bool spilled = b >= 0 && program->buffers.items[b].spilled;
            runner->places[at++] = spilled ? program->buffers.items[b].spill_at : -1;
        }
    }
    return PLIM_OK;
}

static plim_status make(plim__runner *runner, plim__arena *shared, plim_error *error) {
    const plim__program *program = runner->program;
    size_t operands = 0;
    for (size_t s = 0; s < program->steps.count; s++)
        operands += (size_t)(program->steps.items[s].in_count + program->steps.items[s].out_count);
    runner->pointers = plim__alloc_array(operands, sizeof *runner->pointers);
    runner->operands = plim__alloc_array(program->steps.count, sizeof *runner->operands);
    if (!runner->pointers || !runner->operands) return plim__fail_memory(error, "a runner", operands * sizeof(void *));
    PLIM_TRY(find_places(runner, operands, error));
    runner->arena = shared ? shared : &runner->own;
    const plim__plan *plan = runner->plan;
    if (!shared) {
        PLIM_TRY(plim__arena_reserve(&runner->own, device_of(runner)->memory, plan->persistent_bytes,
                                     plan->arena_bytes - plan->persistent_bytes, error));
        PLIM_TRY(plim__runner_load(runner, error));
    }
    plim__runner_resolve(runner);
    return plim__errands_create(runner, &runner->errands, error);
}

plim_status plim__runner_create(const plim__program *program, const plim__plan *plan, plim__arena *shared,
                                plim__runner **out, plim_error *error) {
    plim__runner *runner = *out = plim__alloc_zero(1, sizeof *runner);
    if (!runner) return plim__fail_memory(error, "a runner", sizeof *runner);
    runner->program = program;
    runner->plan = plan;
    runner->first = true;
    plim_status status = make(runner, shared, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim__runner_free(runner);
    *out = NULL;
    return status;
}

void plim__runner_free(plim__runner *runner) {
    if (!runner) return;
    if (runner->errands) plim__errands_drop(runner->errands);
    plim__errands_free(runner->errands);
    plim__arena_release(&runner->own);
    plim__free(runner->pointers);
    plim__free(runner->operands);
    plim__free(runner->places);
    plim__free(runner->seconds);
    plim__free(runner);
}

plim_status plim__runner_measure(plim__runner *runner, plim_error *error) {
    if (!runner->seconds) runner->seconds = plim__alloc_zero(runner->program->steps.count, sizeof *runner->seconds);
    return runner->seconds ? PLIM_OK
                           : plim__fail_memory(error, "measuring", runner->program->steps.count * sizeof(double));
}

/* --- running -------------------------------------------------------------------------------------------------- */

/* Through a small block of the host's memory: the numbers may be in a device's. */
bool plim__runner_find_nonfinite(const plim__runner *runner, const float *x, size_t count, float *found, size_t *at) {
    float block[4096];
    const size_t most = sizeof block / sizeof *block;
    for (size_t from = 0; from < count; from += most) {
        size_t here = count - from < most ? count - from : most;
        if (device_of(runner)->read(runner->program->engine, block, x + from, here * sizeof *block) != PLIM_OK)
            return false;
        for (size_t i = 0; i < here; i++) {
            if (isfinite(block[i])) continue;
            *found = block[i];
            *at = from + i;
            return true;
        }
    }
    return false;
}

/* The first number in a step's outputs that is not finite. Padding of blocked layouts is zero. */
static plim_status check_finite(const plim__runner *runner, const plim__step *step, void *const *out,
                                plim_error *error) {
    for (int32_t i = 0; i < step->out_count; i++) {
        plim__operand operand = step->operands[step->in_count + i];
        if (operand.buffer < 0) continue;
        const plim__buffer *buffer = &runner->program->buffers.items[operand.buffer];
        const plim__value *value = buffer->value < 0 ? NULL : &runner->program->graph->values.items[buffer->value];
        if (!value || value->dtype != PLIM_F32) continue;
        float found;
        size_t at;
        if (out[i] && /* else it is in a file */
            plim__runner_find_nonfinite(runner, out[i], buffer->bytes / sizeof found, &found, &at))
            return plim__fail(error, PLIM_NUMERIC, "it makes %s in '%s'", isnan(found) ? "NaN" : "Inf", value->name);
    }
    return PLIM_OK;
}

plim__call plim__runner_call(const plim__runner *runner, size_t s) {
    const plim__step *step = &runner->program->steps.items[s];
    void *const *at = runner->pointers + runner->operands[s];
    plim__call call = {.state = step->state,
                       .in = at,
                       .out = at + step->in_count,
                       .tick = runner->tick,
                       .sample = runner->sample,
                       .first = runner->first,
                       .scratch = plim__runner_at(runner, (plim__operand){step->scratch, 0})};
    if (!runner->places) return call;
    call.spill = runner->arena->spill;
    call.in_places = runner->places + runner->operands[s];
    call.places = call.in_places + step->in_count;
    return call;
}

static plim_status fail_step(const plim__runner *runner, size_t s, plim_status status, const plim_error *detail,
                             plim_error *error) {
    const plim__step *step = &runner->program->steps.items[s];
    const plim__node *node = step->node >= 0 ? &runner->program->graph->nodes.items[step->node] : NULL;
    return plim__fail(error, status, "node '%s' (%s) failed: %s",
                      node ? plim__node_label(runner->program->graph, node) : "", node ? node->op_name : step->label,
                      *detail->message ? detail->message : plim_status_sentence(status));
}

static plim_status run_step(plim__runner *runner, size_t s, plim_error *error) {
    const plim__step *step = &runner->program->steps.items[s];
    plim_error detail = {0};
    plim__call call = plim__runner_call(runner, s);
    call.error = &detail;
    double start = runner->seconds ? plim__clock_seconds() : 0;
    plim_status status = plim__step_in_pieces(runner->program, step) ? plim__errands_run(runner->errands, s, &detail)
                                                                     : device_of(runner)->run(step->run, &call);
    if (runner->seconds) runner->seconds[s] = plim__clock_seconds() - start;
    if (status == PLIM_OK && runner->check) status = check_finite(runner, step, call.out, &detail);
    return status == PLIM_OK ? PLIM_OK : fail_step(runner, s, status, &detail, error);
}

/* What other threads do for steps before and behind this one; at the end of a run, what is left. */
static plim_status advance(plim__runner *runner, size_t s, plim_error *error) {
    plim_error detail = {0};
    size_t failed = s;
    plim_status status = runner->errands ? plim__errands_advance(runner->errands, s, &failed, &detail) : PLIM_OK;
    return status == PLIM_OK ? PLIM_OK : fail_step(runner, failed, status, &detail, error);
}

static void play(plim__runner *runner, uint32_t tick) {
    plim__trace_script_play(runner->trace, runner->script, tick);
    runner->played = tick;
}

static plim_status run_steps(plim__runner *runner, size_t from, size_t to, plim_error *error) {
    for (size_t s = from; s < to; s++) {
        if (runner->script) play(runner, (uint32_t)s);
        PLIM_TRY(advance(runner, s, error));
        if (!(runner->no_update && runner->program->steps.items[s].phase == PLIM__UPDATE))
            PLIM_TRY(run_step(runner, s, error));
    }
    if (to == runner->program->steps.count) PLIM_TRY(advance(runner, to, error));
    return device_of(runner)->wait(runner->program->engine);
}

plim_status plim__runner_run_part(plim__runner *runner, size_t from, size_t to, plim_error *error) {
    PLIM_TRY(enter(runner, error));
    if (runner->errands && from == 0) PLIM_TRY(plim__errands_start(runner->errands, error));
    plim_status status = run_steps(runner, from, to, error);
    if (status != PLIM_OK && runner->errands) plim__errands_drop(runner->errands);
    PLIM_TRY(status);
    if (runner->script && to == runner->program->steps.count)
        for (uint32_t tick = (uint32_t)to; tick < runner->script->ticks; tick++) /* what dies with the last step */
            play(runner, tick);
    return PLIM_OK;
}

plim_status plim__runner_run(plim__runner *runner, plim_error *error) {
    PLIM_TRY(plim__runner_run_part(runner, 0, runner->program->steps.count, error));
    runner->tick++;
    return PLIM_OK;
}
