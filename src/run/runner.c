/* The runner. */
#include "run/runner.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "core/clock.h"
#include "core/error.h"
#include "kernel/machine.h"

void *plim__runner_at(const plim__runner *runner, plim__operand operand) {
    if (operand.buffer < 0 || runner->plan->offsets[operand.buffer] < 0) return NULL;
    return runner->arena + runner->plan->offsets[operand.buffer] + operand.offset;
}

/* Reserved and touched at once: the kernel's overcommit cannot take it back later. */
static plim_status reserve(plim__runner *runner, plim_error *error) {
    size_t bytes = runner->plan->arena_bytes;
    if (bytes == 0) bytes = 1;
    void *arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (arena == MAP_FAILED) return plim__fail_memory(error, "the arena", bytes);
    runner->arena = arena;
    return PLIM_OK;
}

static plim_status load_one(plim__runner *runner, const plim__load *load, plim_error *error) {
    char *target = plim__runner_at(runner, (plim__operand){load->buffer, 0});
    if (!load->tensor) {
        memset(target, 0, runner->program->buffers.items[load->buffer].bytes);
        return PLIM_OK;
    }
    if (!load->rearrange) return plim__tensor_read(load->tensor, target, error);
    /* one weight at a time is held twice while it is rearranged */
    void *staging = plim__alloc(load->tensor->bytes), *scratch = plim__alloc(load->scratch);
    plim_status status = staging && scratch ? plim__tensor_read(load->tensor, staging, error)
                                            : plim__fail_memory(error, "rearranging a weight", load->tensor->bytes);
    plim__call call = {.state = load->state, .in = &staging, .out = (void *[]){target}, .scratch = scratch};
    if (status == PLIM_OK) status = load->rearrange(&call);
    plim__free(staging);
    plim__free(scratch);
    return status;
}

static void resolve(plim__runner *runner) {
    void **at = runner->pointers;
    for (size_t s = 0; s < runner->program->steps.count; s++) {
        const plim__step *step = &runner->program->steps.items[s];
        for (int32_t i = 0; i < step->in_count + step->out_count; i++)
            *at++ = plim__runner_at(runner, step->operands[i]);
    }
}

plim_status plim__runner_create(const plim__program *program, const plim__plan *plan, plim__runner **out,
                                plim_error *error) {
    *out = NULL;
    plim__runner *runner = plim__alloc_zero(1, sizeof *runner);
    if (!runner) return plim__fail_memory(error, "a runner", sizeof *runner);
    runner->program = program;
    runner->plan = plan;
    size_t operands = 0;
    for (size_t s = 0; s < program->steps.count; s++)
        operands += (size_t)(program->steps.items[s].in_count + program->steps.items[s].out_count);
    runner->pointers = plim__alloc_array(operands, sizeof *runner->pointers);
    plim_status status =
        runner->pointers ? reserve(runner, error) : plim__fail_memory(error, "a runner", operands * sizeof(void *));
    plim__machine_enter(program->machine);
    for (size_t i = 0; status == PLIM_OK && i < program->loads.count; i++)
        status = load_one(runner, &program->loads.items[i], error);
    if (status != PLIM_OK) {
        plim__runner_free(runner);
        return status;
    }
    resolve(runner);
    *out = runner;
    return PLIM_OK;
}

void plim__runner_free(plim__runner *runner) {
    if (!runner) return;
    if (runner->arena) munmap(runner->arena, runner->plan->arena_bytes ? runner->plan->arena_bytes : 1);
    plim__free(runner->pointers);
    plim__free(runner->seconds);
    plim__free(runner);
}

plim_status plim__runner_measure(plim__runner *runner, plim_error *error) {
    if (!runner->seconds) runner->seconds = plim__alloc_zero(runner->program->steps.count, sizeof *runner->seconds);
    return runner->seconds ? PLIM_OK
                           : plim__fail_memory(error, "measuring", runner->program->steps.count * sizeof(double));
}

plim_status plim__runner_run(plim__runner *runner, const plim_graph *g, plim_error *error) {
    const plim__program *program = runner->program;
    void **at = runner->pointers;
    plim_error detail = {0};
    plim__machine_enter(program->machine);
    for (size_t s = 0; s < program->steps.count; s++) {
        const plim__step *step = &program->steps.items[s];
        plim__call call = {.state = step->state,
                           .in = at,
                           .out = at + step->in_count,
                           .tick = runner->tick,
                           .error = &detail,
                           .scratch = plim__runner_at(runner, (plim__operand){step->scratch, 0})};
        double start = runner->seconds ? plim__clock_seconds() : 0;
        plim_status status = step->run(&call);
        if (runner->seconds) runner->seconds[s] = plim__clock_seconds() - start;
        if (status != PLIM_OK) {
            const plim__node *node = step->node >= 0 ? &g->nodes.items[step->node] : NULL;
            return plim__fail(error, status, "node '%s' (%s) failed: %s", node ? node->name : "",
                              node ? node->op_name : step->label,
                              *detail.message ? detail.message : plim_status_sentence(status));
        }
        at += step->in_count + step->out_count;
    }
    runner->tick++;
    return PLIM_OK;
}
