/* The update of parameters, as nodes: one for each parameter, with its states, after clipping by the norm of all
 * gradients together. */
#include "grad/optimizer.h"

#include <stdio.h>

#include "core/error.h"
#include "core/str.h"
#include "ops/update.h"

/* What all nodes share. */
struct maker {
    plim_graph *graph;
    const plim_optimizer *optimizer;
    plim_value update, scale;
    plim_error *error;
};

static int32_t begin(const struct maker *m, const char *op, const plim_value *inputs, size_t count, size_t outputs) {
    plim_graph *g = m->graph;
    const char *parameter = NULL; /* what is updated names the node */
    for (size_t i = 0; i < count && !parameter; i++)
        if (inputs[i] >= 0 && g->values.items[inputs[i]].kind == PLIM__VALUE_PARAMETER)
            parameter = g->values.items[inputs[i]].name;
    int32_t node = plim__graph_add_node(g, PLIM__DOMAIN, op, parameter, 1);
    if (node < 0) return node;
    g->nodes.items[node].phase = PLIM__UPDATE;
    for (size_t i = 0; i < count; i++) plim__node_add_input(g, node, inputs[i]);
    for (size_t i = 0; i < outputs; i++)
        plim__node_add_output(g, node,
                              plim__graph_add_value(g, NULL, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN));
    return node;
}

static plim_status end(const struct maker *m, int32_t n) {
    PLIM_TRY(plim_graph_status(m->graph, m->error));
    plim__node *node = &m->graph->nodes.items[n];
    node->op = plim__op_find(node->domain, node->op_name, node->version);
    if (!node->op) return plim__fail(m->error, PLIM_INTERNAL, "there is no operator %s", node->op_name);
    plim__infer ctx = {m->graph, node, m->error};
    return node->op->infer(&ctx);
}

/* A state named after its parameter, zero at first. Names of a model may be anything, so one that is taken gets longer. */
static plim_value add_state(const struct maker *m, plim_value parameter, const char *what, const plim__shape *shape) {
    plim__str name = {0};
    plim__str_addf(&name, "%s.%s", m->graph->values.items[parameter].name, what);
    while (!name.failed && plim__map_get(&m->graph->names, plim__str_text(&name), -1) >= 0) plim__str_addc(&name, '_');
    plim_value state = PLIM_NO_VALUE;
    if (name.failed)
        plim__graph_fail(m->graph, PLIM_NO_MEMORY, "out of memory while adding an optimizer");
    else
        state = plim__graph_add_value(m->graph, name.data, PLIM__VALUE_STATE, PLIM_F32, shape);
    plim__str_free(&name);
    return state;
}

/* Operator and states of an elementwise rule. */
struct rule {
    const char *op, *states[2];
};

static struct rule rule_of(const plim_optimizer *o) {
    bool momentum = o->momentum != 0;
    switch (o->kind) {
    case PLIM_SGD: return (struct rule){"SgdUpdate", {momentum ? "momentum" : NULL}};
    case PLIM_ADAM:
    case PLIM_ADAMW: return (struct rule){"AdamUpdate", {"m", "v"}};
    case PLIM_RMSPROP: return (struct rule){"RmspropUpdate", {momentum ? "momentum" : "v", momentum ? "v" : NULL}};
    case PLIM_ADAGRAD: return (struct rule){"AdagradUpdate", {"v"}};
    default: return (struct rule){"LionUpdate", {"m"}};
    }
}

static void set_numbers(const struct maker *m, int32_t node) {
    const plim_optimizer *o = m->optimizer;
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"clip_value", o->clip_value}, {"weight_decay", o->weight_decay},
                   {"momentum", o->momentum},     {"dampening", o->dampening},
                   {"beta1", o->beta1},           {"beta2", o->beta2},
                   {"alpha", o->alpha},           {"epsilon", o->epsilon},
                   {"rate_decay", o->rate_decay}, {"threshold", o->threshold}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].value != 0) plim__update_set(m->graph, node, numbers[i].name, numbers[i].value);
    plim_graph_set_int(m->graph, node, "decoupled", o->kind == PLIM_ADAMW || o->kind == PLIM_LION);
    if (o->kind == PLIM_SGD) plim_graph_set_int(m->graph, node, "nesterov", o->nesterov != 0);
}

static plim_status add_update(const struct maker *m, plim_value parameter, plim_value gradient) {
    plim__shape shape = m->graph->values.items[parameter].shape;
    struct rule rule = rule_of(m->optimizer);
    plim_value inputs[PLIM__UPDATE_STATES + 2] = {m->update, m->scale, parameter, gradient};
    size_t count = PLIM__UPDATE_STATES;
    for (int i = 0; i < 2; i++)
        if (rule.states[i]) inputs[count++] = add_state(m, parameter, rule.states[i], &shape);
    PLIM_TRY(plim_graph_status(m->graph, m->error));
    int32_t node = begin(m, rule.op, inputs, count, 0);
    set_numbers(m, node);
    return end(m, node);
}

/* One node finds the direction, in plain order as the states are; the other takes the step, wherever the parameter is. */
static plim_status add_adafactor(const struct maker *m, plim_value parameter, plim_value gradient) {
    plim__shape shape = m->graph->values.items[gradient].shape;
    plim_value inputs[5] = {m->update, m->scale, gradient};
    bool matrix = shape.rank > 1;
    for (int i = 0; i < (matrix ? 2 : 1); i++) {
        plim__shape state = plim__adafactor_state(&shape, i);
        inputs[3 + i] = add_state(m, parameter, !matrix ? "v" : i == 0 ? "row" : "column", &state);
    }
    PLIM_TRY(plim_graph_status(m->graph, m->error));
    int32_t node = begin(m, "AdafactorDirection", inputs, matrix ? 5 : 4, 2);
    set_numbers(m, node);
    PLIM_TRY(end(m, node));
    plim_value direction = plim_graph_node_output(m->graph, node, 0),
               squares = plim_graph_node_output(m->graph, node, 1);
    node = begin(m, "AdafactorUpdate", (plim_value[]){m->update, squares, parameter, direction}, 4, 0);
    set_numbers(m, node);
    return end(m, node);
}

/* The scale becomes one that also brings the norm of all gradients down to the limit. */
static plim_status clip_by_norm(struct maker *m, const plim_value *gradients, size_t count) {
    PLIM_VEC(plim_value) inputs = {0};
    bool room = plim__vec_push(&inputs, m->scale);
    plim_status status = PLIM_OK;
    for (size_t i = 0; room && status == PLIM_OK && i < count; i++) {
        if (gradients[i] < 0) continue;
        int32_t node = begin(m, "GradientSquares", &gradients[i], 1, 1);
        status = end(m, node);
        room = status != PLIM_OK || plim__vec_push(&inputs, plim_graph_node_output(m->graph, node, 0));
    }
    if (!room) status = plim__fail_memory(m->error, "an optimizer", count * sizeof(plim_value));
    if (status == PLIM_OK) {
        int32_t node = begin(m, "GradientScale", inputs.items, inputs.count, 1);
        plim__update_set(m->graph, node, "clip_norm", m->optimizer->clip_norm);
        status = end(m, node);
        if (status == PLIM_OK) m->scale = plim_graph_node_output(m->graph, node, 0);
    }
    plim__vec_free(&inputs);
    return status;
}

plim_status plim__optimizer_append(plim_graph *g, const plim_optimizer *optimizer, const plim__updates *updates,
                                   plim_error *error) {
    PLIM_TRY(plim_graph_status(g, error));
    PLIM_TRY(plim__optimizer_check(optimizer, error));
    struct maker m = {g, optimizer, updates->update, updates->scale, error};
    if (optimizer->clip_norm > 0) PLIM_TRY(clip_by_norm(&m, updates->gradients, updates->count));
    for (size_t i = 0; i < updates->count; i++) {
        plim_value parameter = updates->parameters[i], gradient = updates->gradients[i];
        if (gradient < 0) continue; /* the loss does not depend on it */
        if (optimizer->kind == PLIM_ADAFACTOR)
            PLIM_TRY(add_adafactor(&m, parameter, gradient));
        else
            PLIM_TRY(add_update(&m, parameter, gradient));
    }
    return PLIM_OK;
}
