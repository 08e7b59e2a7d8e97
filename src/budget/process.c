/* Estimating and measuring the process. */
#include "budget/process.h"

#include <stdatomic.h>

#include "budget/training_plan.h"
#include "core/error.h"
#include "core/host.h"
#include "kernel/processor.h"
#include "mem/cpu_load.h"
#include "mem/heap.h"
#include "mem/limits.h"
#include "mem/resident.h"
#include "mem/threads.h"

/* What the first step adds to resident memory: pages of this program, oneDNN and the C library, stacks of threads. It was 550 to
 * 1,050 KiB for networks of the zoo and on long rows where oneDNN uses AVX-512, 660 to 890 for networks of the zoo and exported
 * ones with AVX2. Parts of oneDNN that few programs run are counted apart. */
static size_t first_step_bytes(const plim__training_plan *plan) {
    size_t parts = plan->main ? plim__program_first_run_bytes(plan->main->lowered) : 0;
    return ((size_t)(plim__processor_uses_avx512() ? 820 : 740) << 10) + parts;
}

/* What a runner keeps for each step: where its operands are, and its time. */
#define STEP_BYTES ((size_t)64)
/* No process has less overhead. */
#define LEAST_BYTES ((size_t)16 << 20)
/* The base of a process that does nothing else is less. */
#define PLAIN_BYTES ((size_t)24 << 20)
/* What is rebuilt after a search takes 200 to 490 KiB more than in a heap where nothing was. */
#define LEFT_BYTES ((size_t)384 << 10)
/* Programs of undeclared sizes take what the one that was planned does, and what differs from size to size. */
#define IRREGULAR_BYTES ((size_t)512 << 10)
/* Products are measured in pages, one more or less: the estimate counts whole grains, the nearest. */
#define PACKED_GRAIN ((size_t)256 << 10)
/* How far a plan stays below its budget: the kernel's own bookkeeping, and what differs from run to run. */
static size_t margin(size_t budget) { return ((size_t)256 << 10) + budget / 256; }

static atomic_bool has_past;

bool plim__process_enter(void) { return atomic_exchange(&has_past, true); }

/* Kernels that oneDNN has for others would be shared by the first plan, and by no later one. */
plim_status plim__process_prepare(int threads, plim_error *error) {
    plim__heap_prepare();
    plim__processor_trim();
    PLIM_TRY(plim__processor_warm(threads, error));
    if (threads < 2 || plim__host_keeps_affinity()) return PLIM_OK;
    plim__cpu_load load = plim__cpu_load_begin(); /* what a run does beside busy programs is resident from now on */
    (void)plim__cpu_load_others(&load);
    plim__threads_place(threads, &load.processors);
    return PLIM_OK;
}

/* Data buffers that are there already. */
static size_t data_held(const plim__training_plan *plan) {
    size_t bytes = plim__training_plan_data_bytes(plan);
    return bytes < plan->request.data_held_bytes ? bytes : (size_t)plan->request.data_held_bytes;
}

/* Whether what is measured now says something of the process that will train. */
static bool measures(const plim__training_plan *plan) { return plan->request.purpose != PLIM__PLAN_TO_TRY; }

static plim_status raise_packed(const plim__program *program, size_t *most, plim_error *error) {
    size_t bytes;
    PLIM_TRY(plim__program_packed(program, &bytes, error));
    if (bytes > *most) *most = bytes;
    return PLIM_OK;
}

/* The most that oneDNN packs in a step of any program. */
static plim_status packed_now(const plim__training_plan *plan, size_t *most, plim_error *error) {
    const plim__variant *irregular = plan->irregular.variant;
    PLIM_TRY(raise_packed(plan->main->program, most, error));
    for (size_t i = 0; i < plan->tails.count; i++) PLIM_TRY(raise_packed(plan->tails.items[i]->program, most, error));
    if (irregular) PLIM_TRY(raise_packed(irregular->program, most, error));
    return plan->evaluation ? raise_packed(plan->evaluation->program, most, error) : PLIM_OK;
}

/* Trying a product takes memory for its result. There is some where an arena fits that holds it: within the budget, and,
 * where planning is all that is asked for, on this machine. */
static bool can_try_products(const plim__training_plan *plan) {
    size_t arena = plan->persistent_bytes + plan->transient_bytes;
    return arena + LEAST_BYTES <= plan->bounds.budget && arena <= plim__limits_allowed_now();
}

/* Beside the arena and what is packed. */
static size_t to_come(const plim__training_plan *plan) {
    size_t data = plim__training_plan_data_bytes(plan) - data_held(plan);
    size_t steps = plan->main ? plan->main->program->steps.count : 0;
    return first_step_bytes(plan) + steps * STEP_BYTES + data + (plan->irregular.variant ? IRREGULAR_BYTES : 0) +
           plim__training_plan_recording_bytes(plan) + plan->request.log_bytes;
}

/* What all programs take beside the arena, about. */
static size_t program_bytes(const plim__training_plan *plan) {
    size_t bytes = plim__program_bytes(plan->main->lowered);
    for (size_t i = 0; i < plan->tails.count; i++) bytes += plim__program_bytes(plan->tails.items[i]->lowered);
    if (plan->irregular.variant) bytes += plim__program_bytes(plan->irregular.variant->lowered);
    if (plan->evaluation) bytes += plim__program_bytes(plan->evaluation->program);
    return bytes;
}

/* Of libraries. */
static size_t library_bytes(const plim__training_plan *plan) {
    return plan->main ? plim__program_library_bytes(plan->main->lowered) : 0;
}

void plim__process_unplug(plim__training_plan *plan) {
    plim__heap_unplug(plan->process.plugs);
    plan->process.plugs = NULL;
}

void plim__process_leave(plim__training_plan *plan) {
    plim__process_unplug(plan);
    plim__processor_trim();
    plim__heap_trim();
}

/* Nothing is resident that is free, and what oneDNN takes from the heap during a step will not stay. */
static void tidy(plim__training_plan *plan) {
    plim__process_leave(plan);
    plan->process.plugs = plim__heap_plug_holes();
}

/* Of a model as it was read, for each of its values: names, shapes, attributes. */
#define MODEL_VALUE_BYTES ((size_t)600)

/* Before any program is made: what these take is estimated, and no part of the base. */
void plim__process_begin(plim__training_plan *plan) {
    size_t model = plan->model->values.count * MODEL_VALUE_BYTES;
    plim__process_leave(plan);
    plan->process.left_bytes = plan->process.free_bytes = 0;
    if (plan->process.base_bytes) return;
    plan->process.base_bytes = plim__resident_coarse(model + data_held(plan)) + model;
}

void plim__process_search(plim__training_plan *plan) { plan->process.left_bytes = LEFT_BYTES; }

/* Threads pack for themselves, and seldom all at a time: a quarter less is expected, though all may be. */
static size_t unpacked(const plim__training_plan *plan) { return plan->process.packed_bytes / 4; }

plim_status plim__process_measure(plim__training_plan *plan, plim_error *error) {
    size_t arena = plan->persistent_bytes + plan->transient_bytes;
    tidy(plan);
    bool given = plan->request.purpose == PLIM__PLAN_TO_TELL && plan->bounds.packed_bytes;
    if (measures(plan) && !given) plan->process.packed_bytes = 0;
    if (measures(plan) && !given && can_try_products(plan))
        PLIM_TRY(packed_now(plan, &plan->process.packed_bytes, error));
    plan->process.planned_bytes =
        plim__resident_now() + to_come(plan) + plan->process.packed_bytes - unpacked(plan) + arena;
    return PLIM_OK;
}

size_t plim__process_overhead(const plim__training_plan *plan) {
    size_t others = plan->persistent_bytes + plan->transient_bytes - plan->main->plan->arena_bytes;
    size_t packed = (plan->process.packed_bytes + PACKED_GRAIN / 2) / PACKED_GRAIN * PACKED_GRAIN;
    return plan->process.base_bytes + program_bytes(plan) + library_bytes(plan) + data_held(plan) + to_come(plan) +
           packed + others + plan->process.left_bytes;
}

size_t plim__process_opening(const plim__training_plan *plan) {
    size_t bytes = plan->request.data_opening_bytes;
    return bytes ? plan->process.base_bytes + bytes : 0;
}

size_t plim__process_held(const plim__training_plan *plan) {
    return plan->process.base_bytes + library_bytes(plan) + data_held(plan);
}

size_t plim__process_coming(const plim__training_plan *plan) { return to_come(plan); }

size_t plim__process_second_program(const plim__training_plan *plan) {
    return plim__program_bytes(plan->main->lowered);
}

size_t plim__process_second_plan(const plim__training_plan *plan) {
    return plim__process_second_program(plan) + plim__working_bytes(plan->main->lowered->steps.count);
}

static size_t estimated(const plim__training_plan *plan, size_t working) {
    size_t arena = plan->main->plan->arena_bytes, coming = to_come(plan);
    if (arena + coming < working) arena = working - coming;
    size_t process = plim__process_overhead(plan) + arena, opening = plim__process_opening(plan);
    return process > opening ? process : opening;
}

size_t plim__process_estimated(const plim__training_plan *plan) {
    return estimated(plan, plim__working_bytes(plan->main->lowered->steps.count));
}

size_t plim__process_estimated_freely(const plim__training_plan *plan) {
    return estimated(plan, plim__packing_bytes(plan->main->lowered->steps.count));
}

bool plim__process_fits_as_estimated(const plim__training_plan *plan) {
    size_t budget = plan->bounds.budget;
    return plim__process_estimated(plan) + margin(budget) <= budget;
}

bool plim__process_fits_freely(const plim__training_plan *plan) {
    size_t budget = plan->bounds.budget;
    return plim__process_estimated_freely(plan) + margin(budget) <= budget;
}

/* What the estimates of two processes that do the same may differ by: a grain of what is packed; where the process holds other
 * things, which are counted in MiB, one of them. */
static size_t count_grain(const plim__training_plan *plan) {
    return plan->process.base_bytes > PLAIN_BYTES ? (size_t)1 << 20 : PACKED_GRAIN + (8 << 10);
}

bool plim__process_fits_nearly(const plim__training_plan *plan) {
    size_t budget = plan->bounds.budget;
    return plim__process_estimated(plan) + margin(budget) <= budget + count_grain(plan) + plan->process.corrected_bytes;
}

bool plim__process_fits_as_measured(const plim__training_plan *plan) {
    size_t budget = plan->bounds.budget;
    return !measures(plan) || plan->process.planned_bytes + unpacked(plan) + margin(budget) / 2 <= budget;
}

size_t plim__process_least_budget(size_t process) {
    const size_t half = (size_t)1 << 19;
    size_t bytes = (process + margin(process)) / half * half;
    while (process + margin(bytes) > bytes) bytes += half;
    return bytes;
}

void plim__process_correct(plim__training_plan *plan, size_t tolerance) {
    size_t estimated = plim__process_overhead(plan) + plan->main->plan->arena_bytes + tolerance;
    size_t measured = plan->process.planned_bytes + unpacked(plan);
    if (measured <= estimated) return;
    size_t more = ((measured - estimated) >> 20 << 20) + ((size_t)1 << 20);
    plan->process.base_bytes += more;
    plan->process.corrected_bytes += more;
}

void plim__process_count_planning(plim__training_plan *plan) {
    size_t peak = plim__resident_peak();
    size_t opening = plim__process_opening(plan);
    plan->process.opening_excess = 0;
    if (plan->process.planned_bytes < opening) {
        plan->process.opening_excess = opening - plan->process.planned_bytes;
        plan->process.planned_bytes = opening;
    }
    bool only_shows = plan->request.purpose == PLIM__PLAN_TO_SHOW && !plan->request.alternatives;
    if (!only_shows && peak > plan->process.planned_bytes && peak <= plan->bounds.budget)
        plan->process.planned_bytes = peak;
}

size_t plim__process_arena_limit(size_t budget, size_t overhead) {
    return budget > overhead + margin(budget) ? budget - overhead - margin(budget) : 1;
}
