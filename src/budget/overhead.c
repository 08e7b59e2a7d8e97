/* Bytes of the process beside the arena that follow from the plan: data buffers and what recording holds. */
#include "budget/fields.h"
#include "budget/recorded.h"
#include "budget/training_plan.h"
#include "format/trace_script.h"
#include "mem/timeline.h"
#include "report/report.h"

/* --- data ----------------------------------------------------------------------------------------------------- */

/* Batches that the pipeline holds at a time, and what it aligns each by. */
#define DATA_SLOTS   3
#define DATA_PADDING 4096

size_t plim__training_plan_data_bytes(const plim__training_plan *plan) {
    if (plan->request.data_bytes) return plan->request.data_bytes;
    plim_data_field fields[PLIM_MOST_INPUTS + 1];
    int count = plan->main ? plim__training_fields(plan->main->training, fields) : 0;
    size_t sample = 0;
    for (int i = 0; i < count; i++) sample += fields[i].bytes;
    return DATA_SLOTS * (sample * (size_t)plan->request.batch + DATA_PADDING);
}

/* --- recording ------------------------------------------------------------------------------------------------ */

/* A trace with its block of records, and pages of the program that nothing else uses. */
#define TRACE_BYTES ((size_t)96 << 10)
/* What a definition takes in the timeline of a page: its names, mostly. */
#define DEFINED_BYTES ((size_t)320)

/* A cue for each operator, birth and death; where the cues of each tick begin; what is persistent. */
static size_t script_bytes(const plim__program *program) {
    size_t steps = program->steps.count, buffers = program->buffers.count;
    return (steps + 2 * buffers) * sizeof(plim__trace_cue) + (steps + buffers) * sizeof(uint32_t);
}

/* A page of a single update: the least that can be shown. */
static size_t page_bytes(const plim__training_plan *plan) {
    const plim__program *program = plan->main->program;
    size_t steps = program->steps.count, buffers = program->buffers.count, bytes = PLIM__PAGE_BYTES + PLIM__PAGE_MARGIN,
           others = plan->tails.count + (plan->irregular.variant ? PLIM__RECORDED_IRREGULAR : 0),
           runs = (size_t)((plan->request.batch + plan->main->samples - 1) / plan->main->samples);
    bytes += (1 + others) * (steps + buffers) * DEFINED_BYTES;
    return bytes + runs * (steps * 2 * sizeof(plim__timeline_mark) +
                           buffers * (sizeof(plim__timeline_life) + 4 * sizeof(double)));
}

size_t plim__training_plan_recording_bytes(const plim__training_plan *plan) {
    if (!plan->request.records) return 0;
    size_t bytes = TRACE_BYTES + script_bytes(plan->main->program),
           arena = plan->persistent_bytes + plan->transient_bytes;
    for (size_t i = 0; i < plan->tails.count; i++) bytes += script_bytes(plan->tails.items[i]->program);
    if (plan->irregular.variant) bytes += script_bytes(plan->irregular.variant->program);
    size_t page = plan->request.records > 1 ? page_bytes(plan) : 0;
    return page > arena ? bytes + page - arena : bytes;
}
