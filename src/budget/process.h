/* The model of the process that trains within a budget: what it will hold.
 *
 *   process = resident now, plans made │ arena │ data buffers │ recording, logs │ what running adds: factors that oneDNN packs
 *                                                                           for a matrix product, libraries, stacks
 *
 * Resident pages differ from run to run, by where libraries are mapped. So there are two sums: a candidate is chosen by
 * what is estimated, the same every time; what is measured says what the process will hold. */
#ifndef PLIM_BUDGET_PROCESS_H
#define PLIM_BUDGET_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "plimsoll/status.h"

struct plim__training_plan;

typedef struct plim__process {
    size_t planned_bytes;   /* resident bytes of the whole process at their highest; 0 without a budget */
    size_t opening_excess;  /* of these: what opening the data took more than the rest */
    size_t base_bytes;      /* resident without arena, data and search, coarsely; 0: measured with the first plan */
    size_t corrected_bytes; /* of these: what was added because more was measured than estimated */
    size_t free_bytes;      /* estimate with the step as it comes, for which nothing is searched; 0: not known */
    size_t left_bytes;      /* what a search leaves in the heap, between what is in use; 0: there was none */
    size_t packed_bytes;    /* that oneDNN takes from the heap during a step; given to a plan that is only tried */
    struct plim__heap_plug *plugs; /* src/mem/heap.h; NULL: none */
    bool has_past;                 /* other plans were made before in this process */
} plim__process;

/* Whether plans were made before: what they left in the heap is a part of the process then. From now on they were. */
bool plim__process_enter(void);

/* Before the first plan: a heap that gives back what is freed, and what oneDNN makes at its first call. */
plim_status plim__process_prepare(int threads, plim_error *error);
/* No program is made yet: what is resident without any. */
void plim__process_begin(struct plim__training_plan *plan);
/* All programs are made: planned_bytes is what the process will hold at its highest, as measured now, and the heap is in the
 * state in which steps leave nothing behind. Before programs are made or freed it must be left again (plim__process_leave),
 * which also gives back what is free. */
plim_status plim__process_measure(struct plim__training_plan *plan, plim_error *error);
void plim__process_leave(struct plim__training_plan *plan);
/* Only takes the plugs out of the heap. */
void plim__process_unplug(struct plim__training_plan *plan);
/* The overhead: bytes of the process beside the main program's arena, as estimated when a candidate is chosen. A number that
 * does not change from run to run, nor from `plan` to `train`, and mostly a little more than the truth. */
size_t plim__process_overhead(const struct plim__training_plan *plan);
/* With the arena of the main program, or what planning it takes where that is more. */
size_t plim__process_estimated(const struct plim__training_plan *plan);
/* What the process held at its highest while its data was opened, before any plan; 0 where that is not known. */
size_t plim__process_opening(const struct plim__training_plan *plan);
/* Of the overhead: what is there while a plan is made, beside programs; and what comes after it. */
size_t plim__process_held(const struct plim__training_plan *plan);
size_t plim__process_coming(const struct plim__training_plan *plan);
/* What a second program like the main one takes, beside its buffers; and what planning it does. */
size_t plim__process_second_program(const struct plim__training_plan *plan);
size_t plim__process_second_plan(const struct plim__training_plan *plan);
/* A search begins: what it leaves is counted from now on. */
void plim__process_search(struct plim__training_plan *plan);
/* With the arena of the step as it comes, or what planning it took where that is more. */
size_t plim__process_estimated_freely(const struct plim__training_plan *plan);
/* The estimate is never to be less than what was measured by more than `tolerance`: in a process that holds other things it may
 * be. It grows by whole MiB, the same in each run. */
void plim__process_correct(struct plim__training_plan *plan, size_t tolerance);
/* Plans that are only tried are made after much was searched for: what is measured then says nothing, and they always fit
 * as measured. */
bool plim__process_fits_as_estimated(const struct plim__training_plan *plan);
bool plim__process_fits_freely(const struct plim__training_plan *plan);
/* As estimated, but for what it may count more: a grain, and what was added because of a measure that differs from run to run. */
bool plim__process_fits_nearly(const struct plim__training_plan *plan);
bool plim__process_fits_as_measured(const struct plim__training_plan *plan);
/* What a budget leaves for the arena. */
size_t plim__process_arena_limit(size_t budget, size_t overhead);
/* The smallest budget, in halves of a MiB, for a process that is estimated at `process` bytes. */
size_t plim__process_least_budget(size_t process);
/* Where the arena is small, planning itself may have held more than running will. */
void plim__process_count_planning(struct plim__training_plan *plan);

#endif
