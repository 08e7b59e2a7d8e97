/* From a graph with concrete shapes to a program: the device lowers one node after the other. */
#include "program/program.h"

#include <string.h>

#include "mem/carrier.h"
#include "mem/resident.h"
#include "mem/spill.h"
#include "plimsoll/bytes.h"
#include "program/lower_state.h"

static plim_status place_inputs(plim__lower *l) {
    for (size_t i = 0; i < l->graph->inputs.count; i++) {
        plim_value v = l->graph->inputs.items[i];
        const plim__value *value = &l->graph->values.items[v];
        plim__arrangement dense = {.layout = plim__layout_dense(value->dtype, &value->shape)};
        plim__operand operand = {-1, 0};
        PLIM_TRY(plim__lower_buffer(l, plim__layout_bytes(&dense.layout), PLIM__BUFFER_INPUT, v, &operand.buffer));
        PLIM_TRY(plim__place_add(l, v, &dense, operand));
        l->program->values[v] = operand;
    }
    return PLIM_OK;
}

static plim_status place_outputs(plim__lower *l) {
    l->node = NULL;
    l->node_index = -1;
    for (size_t i = 0; i < l->graph->outputs.count; i++) {
        plim_value v = l->graph->outputs.items[i];
        PLIM_TRY(plim__place_dense(l, v, &l->program->values[v]));
        l->program->buffers.items[l->program->values[v].buffer].output = true;
    }
    return PLIM_OK;
}

static plim_status fail_room(const plim__room *room, size_t nodes, plim_error *error) {
    char needed[PLIM_BYTES_TEXT], there[PLIM_BYTES_TEXT];
    return plim__fail(error, PLIM_BUDGET, "the program for %zu nodes takes about %s, and there is room for %s", nodes,
                      plim_bytes_format(room->needed, needed), plim_bytes_format(room->bytes, there));
}

/* The sum may be too low: what is resident is looked at now and then, in programs that are large enough to matter. */
#define NODES_BEFORE  128
#define NODES_BETWEEN 16

static plim_status check_room(plim__lower *l, size_t done) {
    plim__room *room = l->program->target.room;
    size_t bytes = plim__program_bytes(l->program), count = l->graph->nodes.count;
    if (!room || !room->bytes) return PLIM_OK;
    bool looks = done + 1 >= NODES_BEFORE && (done + 1) % NODES_BETWEEN == 0;
    if (bytes <= room->bytes && !(looks && plim__resident_now() > room->resident)) return PLIM_OK;
    room->needed = plim__lower_expected_bytes(l);
    return fail_room(room, count, l->error);
}

static plim_status lower_nodes(plim__lower *l) {
    for (size_t n = 0; n < l->graph->nodes.count; n++) {
        const plim__node *node = &l->graph->nodes.items[n];
        if (node->dead) continue;
        PLIM_TRY(check_room(l, n));
        l->node = node;
        l->node_index = (int32_t)n;
        l->emitted = false;
        plim__lower_reset(l);
        PLIM_TRY(l->program->target.device->lower(l));
    }
    return PLIM_OK;
}

/* What operators that write change: their persistent inputs. */
static bool *find_written(const plim_graph *g) {
    bool *written = plim__alloc_zero(g->values.count, sizeof *written);
    for (size_t n = 0; written && n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        if (node->dead || !(node->op->flags & PLIM__OP_WRITES)) continue;
        for (size_t i = 0; i < node->inputs.count; i++) {
            plim_value v = node->inputs.items[i];
            if (v < 0) continue;
            plim__value_kind kind = g->values.items[v].kind;
            written[v] |= kind == PLIM__VALUE_PARAMETER || kind == PLIM__VALUE_STATE || kind == PLIM__VALUE_SUM;
        }
    }
    return written;
}

/* Masks, positions, what was folded: outside of the arena. */
static size_t constant_bytes(const plim_graph *g) {
    size_t bytes = 0;
    for (size_t v = 0; v < g->values.count; v++) {
        const plim__value *value = &g->values.items[v];
        if (value->kind == PLIM__VALUE_CONSTANT && value->tensor && value->tensor->data) bytes += value->tensor->bytes;
    }
    return bytes;
}

static plim_status build(const plim_graph *g, plim__target target, const plim__program *like, plim__program *program,
                         plim_error *error) {
    program->graph = g;
    program->target = target;
    if (program->target.threads < 1) program->target.threads = 1;
    PLIM_TRY(target.device->open(program->target.threads, &program->engine, error));
    program->value_count = g->values.count;
    program->values = plim__alloc_array(g->values.count, sizeof *program->values);
    plim__lower l = {.graph = g, .program = program, .like = like, .error = error};
    l.first = plim__alloc_array(g->values.count, sizeof *l.first);
    l.written = find_written(g);
    plim_status status = program->values && l.first && l.written
                             ? PLIM_OK
                             : plim__fail_memory(error, "a plan", g->values.count * sizeof *l.first);
    if (status == PLIM_OK) {
        memset(l.first, -1, g->values.count * sizeof *l.first);
        for (size_t v = 0; v < g->values.count; v++) program->values[v] = (plim__operand){-1, 0};
        plim__lower_reset(&l);
        status = place_inputs(&l);
    }
    if (status == PLIM_OK) status = lower_nodes(&l);
    if (status == PLIM_OK) status = place_outputs(&l);
    program->code_bytes += constant_bytes(g);
    for (size_t v = 0; status == PLIM_OK && v < g->values.count; v++) /* for reports: where each value is first */
        if (program->values[v].buffer < 0 && l.first[v] >= 0) program->values[v] = l.places.items[l.first[v]].operand;
    plim__free(l.first);
    plim__free(l.written);
    plim__vec_free(&l.places);
    plim__vec_free(&l.twins);
    plim__vec_free(&l.in);
    plim__vec_free(&l.out);
    plim__address_free(&l.codes);
    return status;
}

plim_status plim__program_create(const plim_graph *g, plim__target target, const plim__program *like,
                                 plim__program **program, plim_error *error) {
    *program = plim__alloc_zero(1, sizeof **program);
    if (!*program) return plim__fail_memory(error, "a program", sizeof **program);
    plim_status status = build(g, target, like, *program, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim__program_free(*program);
    *program = NULL;
    return status;
}

void plim__program_free(plim__program *program) {
    if (!program) return;
    for (size_t i = 0; i < program->steps.count; i++) {
        plim__step *step = &program->steps.items[i];
        if (step->release) step->release(step->state);
        plim__free(step->operands);
    }
    for (size_t i = 0; !program->original && i < program->loads.count; i++) {
        plim__load *load = &program->loads.items[i];
        if (load->in.release) load->in.release(load->in.state);
        if (load->back.release) load->back.release(load->back.state);
        plim__tensor_release(load->tensor);
    }
    plim__vec_free(&program->steps);
    for (size_t i = 0; i < program->arrangements.count; i++) plim__free(program->arrangements.items[i]);
    plim__vec_free(&program->arrangements);
    plim__vec_free(&program->loads);
    plim__vec_free(&program->buffers);
    plim__vec_free(&program->products);
    plim__free(program->values);
    if (!program->original && program->engine) program->target.device->close(program->engine);
    plim__free(program);
}

/* Of a graph and its steps, as seen with networks of 10 to 400 layers; and of every program, kernels of other sizes. */
#define NODE_BYTES    ((size_t)2048)
#define PROGRAM_BYTES ((size_t)128 << 10)

size_t plim__program_bytes(const plim__program *program) {
    return PROGRAM_BYTES + program->graph->nodes.count * NODE_BYTES + program->code_bytes;
}

plim_status plim__program_check_room(plim__room *room, size_t nodes, plim_error *error) {
    size_t bytes = PROGRAM_BYTES + nodes * NODE_BYTES;
    if (!room || !room->bytes || bytes <= room->bytes) return PLIM_OK;
    room->needed = bytes;
    return fail_room(room, nodes, error);
}

size_t plim__program_library_bytes(const plim__program *program) { return program->library_bytes; }

size_t plim__program_first_run_bytes(const plim__program *program) { return program->first_run_bytes; }

size_t plim__spill_window_bytes(const plim__program *program) {
    return program->room_bytes
               ? (size_t)plim__carrier_rooms(program->target.threads) * program->room_bytes + PLIM__SPILL_PAGE
               : 0;
}

plim_status plim__program_packed(const plim__program *program, size_t *bytes, plim_error *error) {
    if (program->original) program = program->original;
    const plim__device *device = program->target.device;
    *bytes = 0;
    for (size_t i = 0; i < program->products.count; i++) {
        size_t packed;
        PLIM_TRY(device->packed(&program->products.items[i], program->target.threads, &packed, error));
        if (packed > *bytes) *bytes = packed;
    }
    return PLIM_OK;
}
