/* Choosing what is spilled. */
#include "plan/spill.h"

#include <stdlib.h>

#include "core/error.h"
#include "plan/plan.h"
#include "program/stream.h"

static size_t in_arena(const plim__buffer *buffer) {
    return (buffer->bytes + PLIM__ALIGNMENT - 1) / PLIM__ALIGNMENT * PLIM__ALIGNMENT;
}

/* --- the list ------------------------------------------------------------------------------------------------- */

/* How often steps name each buffer; operands that may be spilled count once, all others twice. */
static void count_uses(const plim__program *program, uint8_t *uses) {
    for (size_t s = 0; s < program->steps.count; s++) {
        const plim__step *step = &program->steps.items[s];
        for (int32_t i = 0; i < step->in_count + step->out_count; i++) {
            plim__operand operand = step->operands[i];
            int32_t k = i - step->in_count;
            bool may = k >= 0 && k < 32 && (step->spill >> k & 1) && operand.offset == 0;
            if (operand.buffer < 0) continue;
            uint8_t *of = &uses[operand.buffer];
            *of = (uint8_t)(*of + (may ? 1 : 2) > 2 ? 2 : *of + (may ? 1 : 2));
        }
    }
}

/* From those that are just worth it to the largest, so that little more is spilled than was asked for; then the small
 * ones. `bytes` is that of the one buffer here. */
static int in_order(const void *a, const void *b) {
    const plim__spill_item *x = a, *y = b;
    bool small_x = x->bytes < PLIM__SPILL_SMALLEST, small_y = y->bytes < PLIM__SPILL_SMALLEST;
    if (small_x != small_y) return small_x ? 1 : -1;
    if (x->bytes != y->bytes) return (x->bytes < y->bytes) != small_x ? -1 : 1;
    return (x->buffer > y->buffer) - (x->buffer < y->buffer);
}

plim_status plim__spill_list_make(const plim__program *program, plim__spill_list *list, plim_error *error) {
    *list = (plim__spill_list){0};
    uint8_t *uses = plim__alloc_zero(program->buffers.count + 1, sizeof *uses);
    bool ok = uses != NULL;
    if (ok) count_uses(program, uses);
    for (size_t i = 0; ok && i < program->loads.count; i++) {
        const plim__load *load = &program->loads.items[i];
        const plim__buffer *buffer = &program->buffers.items[load->buffer];
        if (load->tensor || uses[load->buffer] != 1 || !buffer->persistent || buffer->output) continue;
        ok = plim__vec_push(&list->items, (plim__spill_item){load->buffer, in_arena(buffer)});
    }
    plim__free(uses);
    if (!ok) {
        plim__spill_list_free(list);
        return plim__fail_memory(error, "a plan", program->buffers.count);
    }
    if (list->items.count) qsort(list->items.items, list->items.count, sizeof *list->items.items, in_order);
    for (size_t i = 1; i < list->items.count; i++) list->items.items[i].bytes += list->items.items[i - 1].bytes;
    return PLIM_OK;
}

void plim__spill_list_free(plim__spill_list *list) { plim__vec_free(&list->items); }

size_t plim__spill_list_sum(const plim__spill_list *list, size_t bytes) {
    for (size_t i = 0; bytes > 0 && i < list->items.count; i++)
        if (list->items.items[i].bytes >= bytes) return list->items.items[i].bytes;
    return 0;
}

size_t plim__spill_list_most(const plim__spill_list *list, uint64_t room) {
    for (size_t i = list->items.count; i-- > 0;)
        if (list->items.items[i].bytes <= room) return list->items.items[i].bytes;
    return 0;
}

/* --- marks ---------------------------------------------------------------------------------------------------- */

/* Each at its place in the file, one after the other. */
static void mark(plim__buffer *buffer, int64_t *at) {
    buffer->spilled = true;
    buffer->spill_at = *at;
    if (buffer->in_model) return;
    *at += (int64_t)((buffer->bytes + PLIM__SPILL_PLACE - 1) / PLIM__SPILL_PLACE * PLIM__SPILL_PLACE);
}

void plim__spill_mark(plim__program *program, const plim__spill_list *list, size_t bytes) {
    size_t sum = 0;
    int64_t at = 0;
    for (size_t b = 0; b < program->buffers.count; b++) {
        program->buffers.items[b].spilled = false;
        if (program->buffers.items[b].streamed) mark(&program->buffers.items[b], &at);
    }
    for (size_t i = 0; i < list->items.count && sum < bytes; i++) {
        mark(&program->buffers.items[list->items.items[i].buffer], &at);
        sum = list->items.items[i].bytes;
    }
}

void plim__spill_mark_like(plim__program *program, const plim__program *like) {
    for (size_t b = 0; b < program->buffers.count; b++) program->buffers.items[b].spilled = false;
    for (size_t i = 0; i < program->loads.count; i++) {
        const plim__load *load = &program->loads.items[i];
        if (load->shared < 0) continue;
        program->buffers.items[load->buffer].spilled = like->buffers.items[load->shared].spilled;
        program->buffers.items[load->buffer].spill_at = like->buffers.items[load->shared].spill_at;
    }
}

size_t plim__spilled_bytes(const plim__program *program) {
    size_t bytes = 0;
    for (size_t b = 0; b < program->buffers.count; b++)
        if (program->buffers.items[b].spilled) bytes += in_arena(&program->buffers.items[b]);
    return bytes;
}

size_t plim__streamed_bytes(const plim__program *program) {
    size_t bytes = 0;
    for (size_t b = 0; b < program->buffers.count; b++)
        if (program->buffers.items[b].streamed) bytes += in_arena(&program->buffers.items[b]);
    return bytes;
}

size_t plim__in_model_bytes(const plim__program *program) {
    size_t bytes = 0;
    for (size_t b = 0; b < program->buffers.count; b++)
        if (program->buffers.items[b].in_model) bytes += in_arena(&program->buffers.items[b]);
    return bytes;
}

size_t plim__spill_updated_bytes(const plim__program *program) {
    size_t bytes = 0;
    for (size_t s = 0; s < program->steps.count; s++) {
        const plim__step *step = &program->steps.items[s];
        for (int32_t i = step->in_count; i < step->in_count + step->out_count; i++) {
            const plim__buffer *buffer =
                step->operands[i].buffer < 0 ? NULL : &program->buffers.items[step->operands[i].buffer];
            if (buffer && (buffer->spilled || buffer->streamed)) bytes += in_arena(buffer);
        }
    }
    return bytes;
}

size_t plim__spill_file_bytes(const plim__program *program) {
    size_t bytes = 0;
    for (size_t b = 0; b < program->buffers.count; b++) {
        const plim__buffer *buffer = &program->buffers.items[b];
        size_t end = buffer->spilled && !buffer->in_model ? (size_t)buffer->spill_at + buffer->bytes : 0;
        if (end > bytes) bytes = end;
    }
    return bytes;
}

size_t plim__spill_moving_bytes(const plim__program *program) {
    size_t largest = 0, most = 0;
    for (size_t i = 0; i < program->loads.count; i++) {
        const plim__load *load = &program->loads.items[i];
        const plim__buffer *buffer = &program->buffers.items[load->buffer];
        const plim__value *value = &program->graph->values.items[load->value];
        if (!buffer->spilled || buffer->in_model || !load->back.run) continue;
        size_t scratch = load->in.scratch > load->back.scratch ? load->in.scratch : load->back.scratch,
               elements = (size_t)plim__shape_elements(&value->shape),
               dense = elements * (size_t)plim_dtype_bits(value->dtype) / 8;
        if (dense > largest) largest = dense;
        if (in_arena(buffer) + scratch > most) most = in_arena(buffer) + scratch;
    }
    return most ? most + largest : 0;
}
