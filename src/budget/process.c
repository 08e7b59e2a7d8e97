/* The process that trains within a budget:
 *
 *   process = resident now, plans made │ arena │ data buffers │ recording │ what running adds: factors that oneDNN packs
 *                                                                           for a matrix product, libraries, stacks
 *
 * Resident pages differ from run to run, by where libraries are mapped. So there are two sums: a way is chosen by what is
 * reckoned, the same every time; what is measured says what the process will hold. */
#include "budget/process.h"

#include "kernel/processor.h"
#include "mem/heap.h"
#include "mem/limits.h"
#include "mem/resident.h"
#include "run/recording.h"
#include "run/session_parts.h"

/* What the first step adds to resident memory: pages of oneDNN and the C library, stacks of threads. */
#define RUNNING_BYTES ((size_t)700 << 10)
/* No process has less besides the arena. */
#define LEAST_BYTES ((size_t)16 << 20)
/* Batches that the pipeline holds at a time, and what it aligns each by. */
#define DATA_SLOTS   3
#define DATA_PADDING 4096
/* Programs of sizes that nobody announced take what the one that was planned does, and what differs from size to size. */
#define ODD_BYTES ((size_t)512 << 10)
/* Products are measured in pages, one more or less: what is reckoned with is whole grains, the nearest. */
#define PACKED_GRAIN ((size_t)256 << 10)
/* A plan stays so far below its budget: the kernel's own bookkeeping, and what differs from run to run. */
static size_t margin(size_t budget) { return ((size_t)256 << 10) + budget / 256; }

size_t plim__trainer_data_bytes(const plim_trainer *t) {
    if (t->options.data_bytes) return t->options.data_bytes;
    plim_data_field fields[PLIM_MOST_INPUTS + 1];
    int count = t->main ? plim_trainer_fields(t, fields) : 0;
    size_t sample = 0;
    for (int i = 0; i < count; i++) sample += fields[i].bytes;
    return DATA_SLOTS * (sample * (size_t)t->options.batch + DATA_PADDING);
}

/* Kernels that oneDNN has for others would be shared by the first plan, and by no later one. */
plim_status plim__process_prepare(int threads, plim_error *error) {
    plim__heap_prepare();
    plim__processor_trim();
    return plim__processor_warm(threads, error);
}

/* Data buffers that are there already. */
static size_t data_held(const plim_trainer *t) {
    size_t bytes = plim__trainer_data_bytes(t);
    return bytes < t->options.data_held_bytes ? bytes : (size_t)t->options.data_held_bytes;
}

/* The most that oneDNN packs in a step of any variant. */
static plim_status packed_now(const plim_trainer *t, size_t *most, plim_error *error) {
    size_t bytes;
    PLIM_TRY(plim__program_packed(t->main->program, most, error));
    for (size_t i = 0; i < t->tails.count; i++) {
        PLIM_TRY(plim__program_packed(t->tails.items[i]->program, &bytes, error));
        if (bytes > *most) *most = bytes;
    }
    if (t->odd) PLIM_TRY(plim__program_packed(t->odd->program, &bytes, error));
    if (t->odd && bytes > *most) *most = bytes;
    if (!t->evaluation) return PLIM_OK;
    PLIM_TRY(plim__program_packed(plim__session_program(t->evaluation), &bytes, error));
    if (bytes > *most) *most = bytes;
    return PLIM_OK;
}

/* Trying a product takes memory for its result. There is some where an arena fits that holds it: within the budget, and,
 * where planning is all that is asked for, on this machine. */
static bool can_try_products(const plim_trainer *t) {
    size_t arena = t->kept_bytes + t->passing_bytes;
    return arena + LEAST_BYTES <= t->options.budget && arena <= plim__limits_allowed_now();
}

/* Besides the arena, and what is packed. */
static size_t to_come(const plim_trainer *t) {
    size_t data = plim__trainer_data_bytes(t) - data_held(t);
    return RUNNING_BYTES + data + (t->odd ? ODD_BYTES : 0) + plim__recording_bytes(t);
}

/* What all programs take besides the arena, about. */
static size_t program_bytes(const plim_trainer *t) {
    size_t bytes = plim__program_bytes(t->main->lowered);
    for (size_t i = 0; i < t->tails.count; i++) bytes += plim__program_bytes(t->tails.items[i]->lowered);
    if (t->odd) bytes += plim__program_bytes(t->odd->lowered);
    if (t->evaluation) bytes += plim__program_bytes(plim__session_program(t->evaluation));
    return bytes;
}

/* Of libraries. */
static size_t library_bytes(const plim_trainer *t) { return plim__program_library_bytes(t->main->lowered); }

void plim__process_untidy(plim_trainer *t) {
    plim__heap_unplug(t->plugs);
    t->plugs = NULL;
    plim__processor_trim();
    plim__heap_trim();
}

/* Nothing is resident that nobody holds, and what oneDNN takes from the heap during a step will not stay. */
static void tidy(plim_trainer *t) {
    plim__process_untidy(t);
    t->plugs = plim__heap_plug_holes();
}

/* Threads pack for themselves, and seldom all at a time: so much less is expected, though all may be. */
static size_t unpacked(const plim_trainer *t) { return t->packed_bytes / 4; }

plim_status plim__process_measure(plim_trainer *t, plim_error *error) {
    size_t arena = t->kept_bytes + t->passing_bytes;
    tidy(t);
    if (t->effort >= 0) t->packed_bytes = 0;
    if (t->effort >= 0 && can_try_products(t)) PLIM_TRY(packed_now(t, &t->packed_bytes, error));
    if (!t->base_bytes) t->base_bytes = plim__resident_coarse(program_bytes(t) + data_held(t), library_bytes(t));
    t->planned_process = plim__resident_now() + to_come(t) + t->packed_bytes - unpacked(t) + arena;
    return PLIM_OK;
}

size_t plim__process_reckon(const plim_trainer *t) {
    size_t others = t->kept_bytes + t->passing_bytes - t->main->plan->arena_bytes;
    size_t packed = (t->packed_bytes + PACKED_GRAIN / 2) / PACKED_GRAIN * PACKED_GRAIN;
    return t->base_bytes + program_bytes(t) + library_bytes(t) + data_held(t) + to_come(t) + packed + others;
}

bool plim__process_fits_as_reckoned(const plim_trainer *t) {
    size_t budget = t->options.budget;
    return plim__process_reckon(t) + t->main->plan->arena_bytes + margin(budget) <= budget;
}

bool plim__process_fits_as_measured(const plim_trainer *t) {
    size_t budget = t->options.budget;
    return t->effort < 0 || t->planned_process + unpacked(t) + margin(budget) / 2 <= budget;
}

size_t plim__process_least_budget(size_t process) {
    size_t bytes = process + ((size_t)1 << 20);
    bytes += bytes / 200;
    return (bytes + (1 << 20) - 1) >> 20 << 20;
}

void plim__process_correct(plim_trainer *t) {
    size_t reckoned = plim__process_reckon(t) + t->main->plan->arena_bytes;
    size_t measured = t->planned_process + unpacked(t);
    if (measured > reckoned) t->base_bytes += ((measured - reckoned) >> 20 << 20) + ((size_t)1 << 20);
}

void plim__process_count_planning(plim_trainer *t) {
    size_t peak = plim__resident_peak();
    bool runs = !t->explore || t->options.alternatives; /* it does not only say what would be */
    if (runs && peak > t->planned_process && peak <= t->options.budget) t->planned_process = peak;
}

size_t plim__process_arena_limit(size_t budget, size_t besides) {
    return budget > besides + margin(budget) ? budget - besides - margin(budget) : 1;
}
