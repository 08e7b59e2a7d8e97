/* The update of parameters, as nodes: one for each parameter, with its states, after clipping by the norm of all
 * gradients together. */
#include "grad/optimizer.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/str.h"
#include "ops/update.h"

/* What all nodes share. */
struct maker {
    plim_graph *graph;
    const plim_optimizer *optimizer;
    const plim__updates *updates;
    plim_value update, scale;
    int state_bits;
    size_t saved; /* bytes of state */
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
static plim_value add_state(const struct maker *m, plim_value parameter, const char *what, plim_dtype dtype,
                            const plim__shape *shape) {
    plim__str name = {0};
    plim__str_addf(&name, "%s.%s", m->graph->values.items[parameter].name, what);
    while (!name.failed && plim__map_get(&m->graph->names, plim__str_text(&name), -1) >= 0) plim__str_addc(&name, '_');
    plim_value state = PLIM_NO_VALUE;
    if (name.failed)
        plim__graph_fail(m->graph, PLIM_NO_MEMORY, "out of memory while adding an optimizer");
    else
        state = plim__graph_add_value(m->graph, name.data, PLIM__VALUE_STATE, dtype, shape);
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

/* Whether "GLOB=FACTOR" is for this parameter. A factor of 0 is one that computes as 0. */
static bool rate_matches(const struct maker *m, const char *text, plim_value parameter, double *factor) {
    char glob[1024];
    size_t length;
    if (plim__rate_parse(text, &length, factor, NULL) != PLIM_OK || length >= sizeof glob) return false;
    memcpy(glob, text, length);
    glob[length] = 0;
    if (*factor == 0) *factor = PLIM_ZERO;
    return fnmatch(glob, m->graph->values.items[parameter].name, 0) == 0;
}

/* Of the last that matches; 0: none does. */
static double rate_factor(const struct maker *m, plim_value parameter) {
    double factor;
    for (size_t i = m->updates->rate_count; i-- > 0;)
        if (rate_matches(m, m->updates->rates[i], parameter, &factor)) return factor;
    return 0;
}

static plim_status check_rates(const struct maker *m) {
    const plim__updates *u = m->updates;
    double factor;
    for (size_t i = 0; i < u->rate_count; i++) {
        size_t k = 0;
        while (k < u->count && !rate_matches(m, u->rates[i], u->parameters[k], &factor)) k++;
        if (k == u->count)
            return plim__fail(m->error, PLIM_NOT_FOUND, "no trained parameter matches '%.200s' (--lr-scale)",
                              u->rates[i]);
    }
    return PLIM_OK;
}

static void set_numbers(const struct maker *m, int32_t node, plim_value parameter) {
    const plim_optimizer *o = m->optimizer;
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"clip_value", o->clip_value},
                   {"weight_decay", o->weight_decay},
                   {"momentum", o->momentum},
                   {"dampening", o->dampening},
                   {"beta1", o->beta1},
                   {"beta2", o->beta2},
                   {"alpha", o->alpha},
                   {"epsilon", o->epsilon},
                   {"rate_decay", o->rate_decay},
                   {"threshold", o->threshold},
                   {"rate_factor", rate_factor(m, parameter)}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].value != 0) plim__update_set(m->graph, node, numbers[i].name, numbers[i].value);
    plim_graph_set_int(m->graph, node, "decoupled", o->kind == PLIM_ADAMW || o->kind == PLIM_LION);
    if (o->kind == PLIM_SGD) plim_graph_set_int(m->graph, node, "nesterov", o->nesterov != 0);
}

/* Small states are little to save, and rows of an embedding have gradients too seldom for a block to have one scale: both
 * are as bitsandbytes and those who use it have them. */
static bool is_quantized(const struct maker *m, plim_value parameter) {
    const plim_graph *g = m->graph;
    if (m->state_bits != 8 || !rule_of(m->optimizer).states[0] ||
        plim__shape_elements(&g->values.items[parameter].shape) < PLIM__STATE8_LEAST)
        return false;
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        if (!node->dead && !*node->domain && strcmp(node->op_name, "Gather") == 0 &&
            plim__node_in(node, 0) == parameter)
            return false;
    }
    return true;
}

static plim_status add_update(struct maker *m, plim_value parameter, plim_value gradient) {
    plim__shape shape = m->graph->values.items[parameter].shape;
    struct rule rule = rule_of(m->optimizer);
    bool quantized = is_quantized(m, parameter);
    plim__shape scales = {.rank = 1, .dims = {plim__state8_blocks(plim__shape_elements(&shape))}};
    plim_value inputs[PLIM__UPDATE_STATES + 4] = {m->update, m->scale, parameter, gradient};
    size_t count = PLIM__UPDATE_STATES;
    for (int i = 0; i < 2 && rule.states[i]; i++) {
        char name[32];
        inputs[count++] = add_state(m, parameter, rule.states[i], quantized ? PLIM_U8 : PLIM_F32, &shape);
        snprintf(name, sizeof name, "%s.absmax", rule.states[i]);
        if (quantized) inputs[count++] = add_state(m, parameter, name, PLIM_F32, &scales);
        if (quantized) m->saved += 3 * (size_t)plim__shape_elements(&shape) - 4 * (size_t)scales.dims[0];
    }
    PLIM_TRY(plim_graph_status(m->graph, m->error));
    char op[32];
    snprintf(op, sizeof op, "%s%s", rule.op, quantized ? "8" : "");
    int32_t node = begin(m, op, inputs, count, 0);
    set_numbers(m, node, parameter);
    return end(m, node);
}

/* One node finds the direction, in plain order as the states are; the other takes the step, wherever the parameter is. */
static plim_status add_adafactor(const struct maker *m, plim_value parameter, plim_value gradient) {
    plim__shape shape = m->graph->values.items[gradient].shape;
    plim_value inputs[5] = {m->update, m->scale, gradient};
    bool matrix = shape.rank > 1;
    for (int i = 0; i < (matrix ? 2 : 1); i++) {
        plim__shape state = plim__adafactor_state(&shape, i);
        inputs[3 + i] = add_state(m, parameter, !matrix ? "v" : i == 0 ? "row" : "column", PLIM_F32, &state);
    }
    PLIM_TRY(plim_graph_status(m->graph, m->error));
    int32_t node = begin(m, "AdafactorDirection", inputs, matrix ? 5 : 4, 2);
    set_numbers(m, node, parameter);
    PLIM_TRY(end(m, node));
    plim_value direction = plim_graph_node_output(m->graph, node, 0),
               squares = plim_graph_node_output(m->graph, node, 1);
    node = begin(m, "AdafactorUpdate", (plim_value[]){m->update, squares, parameter, direction}, 4, 0);
    set_numbers(m, node, parameter);
    return end(m, node);
}

/* The scale becomes one that also brings the norm of all gradients down to the limit, if there is one, and that is no number
 * where one of them is not, if that is asked for: every update waits for all gradients. */
static plim_status join_gradients(struct maker *m, const plim_value *gradients, size_t count) {
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
        if (m->optimizer->clip_norm > 0) plim__update_set(m->graph, node, "clip_norm", m->optimizer->clip_norm);
        if (m->updates->checked) plim_graph_set_int(m->graph, node, "checks", 1);
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
    struct maker m = {g, optimizer, updates, updates->update, updates->scale, updates->state_bits, 0, error};
    PLIM_TRY(check_rates(&m));
    if (optimizer->clip_norm > 0 || updates->checked) PLIM_TRY(join_gradients(&m, updates->gradients, updates->count));
    if (updates->checked) *updates->checked = m.scale;
    for (size_t i = 0; i < updates->count; i++) {
        plim_value parameter = updates->parameters[i], gradient = updates->gradients[i];
        if (gradient < 0) continue; /* the loss does not depend on it */
        if (optimizer->kind == PLIM_ADAFACTOR)
            PLIM_TRY(add_adafactor(&m, parameter, gradient));
        else
            PLIM_TRY(add_update(&m, parameter, gradient));
    }
    if (updates->saved) *updates->saved = m.saved;
    return PLIM_OK;
}
