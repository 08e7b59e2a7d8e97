/* Constant evaluation: a program of one node, run in memory of its own. */
#include "program/fold.h"

#include <string.h>

#include "core/error.h"
#include "program/program.h"

/* Larger results stay computed: folding them would keep bytes that a view or a cheap step gives anyway. */
#define MOST_BYTES (4u << 20)

/* A graph with this node alone; its inputs are constants of the same tensors. */
static plim_graph *isolate(const plim_graph *g, const plim__node *node) {
    plim_graph *alone = plim_graph_create();
    if (!alone) return NULL;
    int32_t id = plim__graph_add_node(alone, node->domain, node->op_name, node->name, node->version);
    for (size_t i = 0; i < node->inputs.count; i++) {
        plim_value v = node->inputs.items[i];
        if (v >= 0)
            v = plim__graph_add_tensor(alone, NULL, PLIM__VALUE_CONSTANT,
                                       plim__tensor_retain(g->values.items[v].tensor));
        plim__node_add_input(alone, id, v);
    }
    for (size_t i = 0; i < node->outputs.count; i++) {
        plim_value v = node->outputs.items[i];
        if (v >= 0)
            v = plim__graph_add_value(alone, NULL, PLIM__VALUE_NODE, g->values.items[v].dtype,
                                      &g->values.items[v].shape);
        plim__node_add_output(alone, id, v);
        if (v >= 0) plim_graph_output(alone, v, NULL);
    }
    if (plim_graph_status(alone, NULL) != PLIM_OK) {
        plim_graph_free(alone);
        return NULL;
    }
    /* the attributes are only read: borrowed for the time of the evaluation */
    alone->nodes.items[id].op = node->op;
    memcpy(&alone->nodes.items[id].attributes, &node->attributes, sizeof node->attributes);
    return alone;
}

static void free_isolated(plim_graph *alone) {
    memset(&alone->nodes.items[0].attributes, 0, sizeof alone->nodes.items[0].attributes);
    plim_graph_free(alone);
}

static plim_status bring_in(const plim__device *device, const plim__load *load, void **to, plim_error *error) {
    if (!load->in.run) return plim__tensor_read(load->tensor, *to, error);
    PLIM_TRY(plim__tensor_load(load->tensor, error));
    void *scratch = plim__alloc(load->in.scratch);
    if (!scratch) return plim__fail_memory(error, "folding a constant", load->in.scratch);
    plim__call call = {.state = load->in.state, .in = &load->tensor->data, .out = to, .scratch = scratch};
    plim_status status = device->run(load->in.run, &call);
    plim__free(scratch);
    return status;
}

static plim_status run_step(const plim__device *device, const plim__step *step, void *const *blocks,
                            plim_error *error) {
    int32_t count = step->in_count + step->out_count;
    void **pointers = plim__alloc_array((size_t)count, sizeof *pointers);
    if (!pointers) return plim__fail_memory(error, "folding a constant", sizeof *pointers);
    for (int32_t i = 0; i < count; i++) {
        plim__operand o = step->operands[i];
        pointers[i] = o.buffer < 0 ? NULL : (char *)blocks[o.buffer] + o.offset;
    }
    plim_error detail = {0};
    plim__call call = {.state = step->state,
                       .in = pointers,
                       .out = pointers + step->in_count,
                       .error = &detail,
                       .scratch = step->scratch < 0 ? NULL : blocks[step->scratch]};
    plim_status status = device->run(step->run, &call);
    plim__free(pointers);
    if (status == PLIM_OK) return PLIM_OK;
    return plim__fail(error, status, "folding %s failed: %s", step->label,
                      *detail.message ? detail.message : plim_status_sentence(status));
}

/* Buffers are not packed here: each gets a block of its own. */
static plim_status run_blocks(const plim__program *program, void **blocks, plim_error *error) {
    const plim__device *device = program->target.device;
    for (size_t b = 0; b < program->buffers.count; b++)
        if (!(blocks[b] = plim__alloc(program->buffers.items[b].bytes)))
            return plim__fail_memory(error, "folding a constant", program->buffers.items[b].bytes);
    for (size_t i = 0; i < program->loads.count; i++)
        PLIM_TRY(bring_in(device, &program->loads.items[i], &blocks[program->loads.items[i].buffer], error));
    for (size_t s = 0; s < program->steps.count; s++)
        PLIM_TRY(run_step(device, &program->steps.items[s], blocks, error));
    return device->wait(program->engine);
}

static plim_status take_outputs(plim_graph *g, const plim__node *node, const plim_graph *alone,
                                const plim__program *program, void *const *blocks, plim_error *error) {
    size_t k = 0;
    for (size_t i = 0; i < node->outputs.count; i++) {
        plim_value v = node->outputs.items[i];
        if (v < 0) continue;
        plim__operand at = program->values[alone->outputs.items[k++]];
        plim__value *value = &g->values.items[v];
        plim__tensor *tensor;
        PLIM_TRY(plim__tensor_create(value->dtype, &value->shape, &tensor, error));
        memcpy(tensor->data, (char *)blocks[at.buffer] + at.offset, tensor->bytes);
        value->tensor = tensor;
        value->kind = PLIM__VALUE_CONSTANT;
    }
    return PLIM_OK;
}

plim_status plim__program_fold(plim_graph *g, int32_t index, const plim__device *device, plim_error *error) {
    const plim__node *node = &g->nodes.items[index];
    size_t total = 0;
    for (size_t i = 0; i < node->outputs.count; i++) {
        size_t bytes = 0;
        plim_value v = node->outputs.items[i];
        if (v >= 0) PLIM_TRY(plim__shape_bytes(&g->values.items[v].shape, g->values.items[v].dtype, &bytes, error));
        total += bytes;
    }
    if (total > MOST_BYTES) return PLIM_OK;
    plim_graph *alone = isolate(g, node);
    if (!alone) return plim__fail_memory(error, "folding a constant", sizeof *alone);
    plim__program *program = NULL;
    plim_status status =
        plim__program_create(alone, (plim__target){.device = device, .threads = 1}, NULL, &program, error);
    void **blocks = status == PLIM_OK ? plim__alloc_zero(program->buffers.count, sizeof *blocks) : NULL;
    if (status == PLIM_OK && !blocks) status = plim__fail_memory(error, "folding a constant", sizeof *blocks);
    if (status == PLIM_OK) status = run_blocks(program, blocks, error);
    if (status == PLIM_OK) status = take_outputs(g, node, alone, program, blocks, error);
    for (size_t b = 0; blocks && b < program->buffers.count; b++) plim__free(blocks[b]);
    plim__free(blocks);
    plim__program_free(program);
    free_isolated(alone);
    return status;
}
