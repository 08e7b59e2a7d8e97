/* Control flow that is decided before anything runs: conditions and counts are constants by the time types are inferred.
 *
 * A Loop is unrolled iteration by iteration. Where the condition of the next one is computed by the last, another Loop
 * node continues, and by the time that is inferred the condition is a constant, or the loop depends on data:
 *
 *   v ─→ Loop ─→ y         v ─→ body ─→ v₁ ─→ Loop ─→ y         v ─→ body ─→ v₁ ─→ body ─→ y
 */
#include <inttypes.h>
#include <string.h>

#include "ops/expand.h"

/* What has been unrolled already, as an attribute: no file has it. */
#define DONE "plimsoll.iterations"

plim_status plim__infer_branch(plim__infer *ctx) {
    plim__tensor *condition = plim__graph_constant_tensor(ctx->graph, plim__node_in(ctx->node, 0));
    if (!condition)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator If whose condition depends on data");
    int32_t node = (int32_t)(ctx->node - ctx->graph->nodes.items);
    return plim__graph_take_branch(ctx->graph, node, condition, true, ctx->error);
}

/* The node's subgraph, which must take and make this many values, without those that it captures; -1: any number. */
static plim_status find_body(plim__infer *ctx, int64_t inputs, int64_t outputs, const plim__attribute **body) {
    const plim__attribute *a = *body = plim__node_attribute(ctx->node, "body");
    if (!a || !a->graph) return plim__infer_fail(ctx, PLIM_CORRUPT, "it has no body");
    plim_error inner = {0};
    plim_status status = plim_graph_status(a->graph, &inner);
    if (status != PLIM_OK) return plim__infer_fail(ctx, status, "its body: %s", inner.message);
    int64_t own = (int64_t)(a->graph->inputs.count - a->captured), made = (int64_t)a->graph->outputs.count;
    if ((inputs >= 0 && own != inputs) || (outputs >= 0 && made != outputs))
        return plim__infer_fail(ctx, PLIM_CORRUPT, "its body takes %" PRId64 " values and makes %" PRId64, own, made);
    return PLIM_OK;
}

/* Values that are stacked along a new axis. */
static plim_value stack(plim__expand *e, plim_value *values, size_t count, int64_t axis) {
    plim_value at = plim__expand_ints(e, &axis, 1);
    for (size_t i = 0; i < count; i++) values[i] = plim__expand_two(e, "Unsqueeze", values[i], at);
    return plim__expand_concat(e, values, count, axis);
}

/* --- Loop ----------------------------------------------------------------------------------------------------- */

struct loop {
    plim__expand e;
    size_t carried, scans;
    int64_t most, done;                       /* iterations; most -1: as long as the condition holds */
    plim_value limit, condition;              /* inputs; may be missing */
    PLIM_VEC(plim_value) values, scanned;     /* carried; what each iteration gave out, one iteration after the other */
    PLIM_VEC(plim_value) captured, ins, outs; /* ins and outs are the body's */
};

static plim_status no_memory(plim__infer *ctx) { return plim__fail_memory(ctx->error, "a loop", sizeof(void *)); }

/* inputs: limit, condition, carried values, what was given out already, captured values */
static plim_status read_loop(plim__infer *ctx, struct loop *l) {
    const plim__node *node = ctx->node;
    size_t captured = plim__node_captured(node), own = node->inputs.count - captured, given = 1;
    const plim__attribute *body;
    l->done = plim__node_int(node, DONE, 0);
    PLIM_TRY(find_body(ctx, -1, -1, &body));
    l->carried = body->graph->inputs.count - body->captured;
    if (l->carried < 2 || body->graph->outputs.count != node->outputs.count + 1 ||
        node->outputs.count + 2 < l->carried || own < 2 || l->done < 0 || l->done > (int64_t)PLIM__EXPAND_MOST)
        return plim__infer_fail(ctx, PLIM_CORRUPT, "its body does not fit its inputs and outputs");
    l->carried -= 2;
    l->scans = node->outputs.count - l->carried;
    if (own != 2 + l->carried + (size_t)l->done * l->scans)
        return plim__infer_fail(ctx, PLIM_CORRUPT, "it has %zu inputs, its body takes %zu", own, l->carried + 2);
    l->limit = node->inputs.items[0];
    l->condition = node->inputs.items[1];
    l->most = -1;
    if (l->limit >= 0) PLIM_TRY(plim__infer_ints(ctx, 0, &l->most, 1, &given));
    if (given != 1) return plim__infer_fail(ctx, PLIM_SHAPE, "its count is not one number");
    if (l->limit >= 0 && l->most < 0) l->most = 0;
    bool ok = true;
    for (size_t i = 2; i < node->inputs.count; i++)
        ok &= i < 2 + l->carried ? plim__vec_push(&l->values, node->inputs.items[i])
              : i < own          ? plim__vec_push(&l->scanned, node->inputs.items[i])
                                 : plim__vec_push(&l->captured, node->inputs.items[i]);
    for (size_t i = 0; i < l->carried + 2; i++) ok &= plim__vec_push(&l->ins, PLIM_NO_VALUE);
    for (size_t i = 0; i < node->outputs.count + 1; i++) ok &= plim__vec_push(&l->outs, PLIM_NO_VALUE);
    return ok ? PLIM_OK : no_memory(ctx);
}

/* Another Loop node goes on after the next condition is known. */
static plim_status go_on(plim__infer *ctx, struct loop *l) {
    plim_graph *g = l->e.g;
    int32_t next = plim__expand_node(&l->e, "Loop", (plim_value[]){l->limit, l->condition}, 2, 0);
    for (size_t i = 0; i < l->values.count; i++) plim__node_add_input(g, next, l->values.items[i]);
    for (size_t i = 0; i < l->scanned.count; i++) plim__node_add_input(g, next, l->scanned.items[i]);
    for (size_t i = 0; i < l->captured.count; i++) plim__node_add_input(g, next, l->captured.items[i]);
    for (size_t i = 0; i < g->nodes.items[l->e.node].outputs.count; i++)
        plim__node_add_output(g, next, g->nodes.items[l->e.node].outputs.items[i]);
    if (next >= 0 && !plim__node_copy_attributes(g, next, &g->nodes.items[l->e.node])) return no_memory(ctx);
    plim_graph_set_int(g, next, DONE, l->done);
    g->nodes.items[l->e.node].dead = true;
    return plim_graph_status(g, ctx->error);
}

static plim_status finish(plim__infer *ctx, struct loop *l) {
    plim_graph *g = l->e.g;
    for (size_t k = 0; k < l->scans; k++) {
        plim_value out = g->nodes.items[l->e.node].outputs.items[l->carried + k];
        l->ins.count = 0; /* the parts of one output; there is room for them from here on */
        for (int64_t i = 0; out >= 0 && i < l->done; i++)
            if (!plim__vec_push(&l->ins, l->scanned.items[(size_t)i * l->scans + k])) return no_memory(ctx);
        if (out >= 0 && l->done == 0)
            return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator Loop that gives out '%s' zero times",
                                    g->values.items[out].name);
        plim_value whole = out >= 0 ? stack(&l->e, l->ins.items, l->ins.count, 0) : PLIM_NO_VALUE;
        if (!plim__vec_push(&l->values, whole)) return no_memory(ctx);
    }
    return plim__expand_end(&l->e, l->values.items, l->values.count);
}

static plim_status iterate(plim__infer *ctx, struct loop *l) {
    if (l->done >= (int64_t)PLIM__EXPAND_MOST)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator Loop of more than %zu iterations",
                                PLIM__EXPAND_MOST);
    l->ins.items[0] = plim__expand_number(&l->e, PLIM_I64, (double)l->done);
    l->ins.items[1] = l->condition >= 0 ? l->condition : plim__expand_number(&l->e, PLIM_BOOL, 1);
    for (size_t i = 0; i < l->carried; i++) l->ins.items[2 + i] = l->values.items[i];
    PLIM_TRY(plim_graph_status(l->e.g, ctx->error));
    PLIM_TRY(
        plim__graph_splice(l->e.g, l->e.node, "body", &(plim__splice){l->ins.items, l->outs.items, true}, ctx->error));
    ctx->node = &l->e.g->nodes.items[l->e.node];
    if (l->e.g->nodes.count > PLIM__EXPAND_MOST)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator Loop that becomes more than %zu nodes",
                                PLIM__EXPAND_MOST);
    l->condition = l->outs.items[0];
    for (size_t i = 0; i < l->carried; i++) l->values.items[i] = l->outs.items[1 + i];
    for (size_t i = 0; i < l->scans; i++)
        if (!plim__vec_push(&l->scanned, l->outs.items[1 + l->carried + i])) return no_memory(ctx);
    l->done++;
    return PLIM_OK;
}

static plim_status unroll(plim__infer *ctx, struct loop *l) {
    PLIM_TRY(read_loop(ctx, l));
    for (bool first = true;; first = false) {
        if (l->most >= 0 && l->done >= l->most) return finish(ctx, l);
        plim__tensor *condition = plim__graph_told(l->e.g, l->condition);
        if (!condition && l->condition >= 0) {
            if (!first) return go_on(ctx, l);
            return plim__infer_fail(ctx, PLIM_UNSUPPORTED,
                                    "unsupported: operator Loop whose condition depends on data");
        }
        if (condition && (condition->dtype != PLIM_BOOL || plim__shape_elements(&condition->shape) != 1))
            return plim__infer_fail(ctx, PLIM_DTYPE, "its condition is not one bool");
        if (condition) PLIM_TRY(plim__tensor_load(condition, ctx->error));
        if (condition && plim__tensor_at(condition, 0) == 0) return finish(ctx, l);
        PLIM_TRY(iterate(ctx, l));
    }
}

plim_status plim__infer_loop(plim__infer *ctx) {
    struct loop l = {.e = plim__expand_begin(ctx)};
    plim_status status = unroll(ctx, &l);
    plim__vec_free(&l.values);
    plim__vec_free(&l.scanned);
    plim__vec_free(&l.captured);
    plim__vec_free(&l.ins);
    plim__vec_free(&l.outs);
    return status;
}

/* --- Scan ----------------------------------------------------------------------------------------------------- */

struct scan {
    plim__expand e;
    size_t states, slices, results; /* carried values; inputs that are cut; outputs that are stacked */
    int64_t length;
    plim_value *ins, *outs; /* of the body */
    plim_value *parts;      /* input by input, (slices, length) */
    plim_value *stacked;    /* output by output, (results, length) */
};

static int64_t listed(const plim__node *node, const char *name, size_t i) {
    size_t count;
    const int64_t *values = plim__node_ints(node, name, &count);
    return values && i < count ? values[i] : 0;
}

static plim_status read_scan(plim__infer *ctx, struct scan *s) {
    const plim__node *node = ctx->node;
    size_t own = node->inputs.count - plim__node_captured(node);
    int64_t slices = plim__node_int(node, "num_scan_inputs", 0);
    const plim__attribute *body;
    if (slices < 1 || (uint64_t)slices > own) return plim__infer_fail(ctx, PLIM_CORRUPT, "num_scan_inputs is wrong");
    PLIM_TRY(find_body(ctx, (int64_t)own, (int64_t)node->outputs.count, &body));
    s->slices = (size_t)slices;
    s->states = own - s->slices;
    if (node->outputs.count < s->states) return plim__infer_fail(ctx, PLIM_CORRUPT, "it has too few outputs");
    s->results = node->outputs.count - s->states;
    for (size_t i = 0; i < s->slices; i++) {
        plim_value v = node->inputs.items[s->states + i];
        int axis;
        if (v < 0 || plim__sequence_of(ctx->graph, v))
            return plim__infer_fail(ctx, PLIM_CORRUPT, "an input is missing");
        const plim__shape *x = &ctx->graph->values.items[v].shape;
        if (!plim__axis_normalize(listed(node, "scan_input_axes", i), x->rank, &axis))
            return plim__infer_fail(ctx, PLIM_SHAPE, "an axis is out of range for rank %d", x->rank);
        if (i && s->length != x->dims[axis]) return plim__infer_fail(ctx, PLIM_SHAPE, "its inputs differ in length");
        s->length = x->dims[axis];
    }
    if (s->length < 1 || s->length > (int64_t)PLIM__EXPAND_MOST)
        return plim__infer_fail(ctx, PLIM_UNSUPPORTED, "unsupported: operator Scan of %" PRId64 " steps", s->length);
    return PLIM_OK;
}

/* Cuts every scanned input into its steps. */
static plim_status cut(plim__infer *ctx, struct scan *s) {
    size_t length = (size_t)s->length;
    int64_t *ones = plim__alloc_array(length, sizeof *ones);
    if (!ones) return no_memory(ctx);
    for (size_t t = 0; t < length; t++) ones[t] = 1;
    for (size_t i = 0; i < s->slices; i++) {
        const plim__node *node = &s->e.g->nodes.items[s->e.node];
        plim_value x = node->inputs.items[s->states + i];
        int64_t axis = listed(node, "scan_input_axes", i);
        bool backward = listed(node, "scan_input_directions", i) != 0;
        int32_t split = plim__expand_split(&s->e, x, axis, ones, length);
        plim_value at = plim__expand_ints(&s->e, &axis, 1);
        for (size_t t = 0; t < length; t++)
            s->parts[i * length + t] =
                plim__expand_two(&s->e, "Squeeze", plim__expand_out(&s->e, split, backward ? length - 1 - t : t), at);
    }
    plim__free(ones);
    return plim_graph_status(s->e.g, ctx->error);
}

static plim_status run_scan(plim__infer *ctx, struct scan *s) {
    size_t length = (size_t)s->length;
    plim_graph *g = s->e.g;
    for (size_t i = 0; i < s->states; i++) s->ins[i] = g->nodes.items[s->e.node].inputs.items[i];
    PLIM_TRY(cut(ctx, s));
    for (size_t t = 0; t < length; t++) {
        for (size_t i = 0; i < s->slices; i++) s->ins[s->states + i] = s->parts[i * length + t];
        PLIM_TRY(plim__graph_splice(g, s->e.node, "body", &(plim__splice){s->ins, s->outs, true}, ctx->error));
        if (g->nodes.count > PLIM__EXPAND_MOST) {
            ctx->node = &g->nodes.items[s->e.node];
            return plim__infer_fail(ctx, PLIM_UNSUPPORTED,
                                    "unsupported: operator Scan that becomes more than %zu nodes", PLIM__EXPAND_MOST);
        }
        for (size_t i = 0; i < s->states; i++) s->ins[i] = s->outs[i];
        for (size_t k = 0; k < s->results; k++) {
            bool backward = listed(&g->nodes.items[s->e.node], "scan_output_directions", k) != 0;
            s->stacked[k * length + (backward ? length - 1 - t : t)] = s->outs[s->states + k];
        }
    }
    for (size_t k = 0; k < s->results; k++) {
        int64_t axis = listed(&g->nodes.items[s->e.node], "scan_output_axes", k);
        s->outs[s->states + k] = stack(&s->e, s->stacked + k * length, length, axis);
    }
    return plim__expand_end(&s->e, s->outs, s->states + s->results);
}

plim_status plim__infer_scan(plim__infer *ctx) {
    struct scan s = {.e = plim__expand_begin(ctx)};
    PLIM_TRY(read_scan(ctx, &s));
    size_t length = (size_t)s.length;
    s.ins = plim__alloc_array(s.states + s.slices, sizeof *s.ins);
    s.outs = plim__alloc_array(s.states + s.results, sizeof *s.outs);
    s.parts = plim__alloc_array(s.slices * length, sizeof *s.parts);
    s.stacked = plim__alloc_array(s.results * length, sizeof *s.stacked);
    plim_status status = s.ins && s.outs && s.parts && s.stacked ? run_scan(ctx, &s) : no_memory(ctx);
    plim__free(s.ins);
    plim__free(s.outs);
    plim__free(s.parts);
    plim__free(s.stacked);
    return status;
}

/* --- SequenceMap ---------------------------------------------------------------------------------------------- */

struct map {
    plim__expand e;
    size_t inputs, outputs, length;
    plim_value *ins, *outs, *made; /* of the body; made is (outputs, length) */
};

/* Element k of the input when it is a sequence, or the tensor itself. */
static plim_value element(const plim_graph *g, plim_value input, size_t k) {
    const plim__node *sequence = plim__sequence_of(g, input);
    return sequence ? sequence->inputs.items[k] : input;
}

static plim_status run_map(plim__infer *ctx, struct map *m) {
    plim_graph *g = m->e.g;
    for (size_t k = 0; k < m->length; k++) {
        for (size_t i = 0; i < m->inputs; i++) m->ins[i] = element(g, g->nodes.items[m->e.node].inputs.items[i], k);
        PLIM_TRY(plim__graph_splice(g, m->e.node, "body", &(plim__splice){m->ins, m->outs, true}, ctx->error));
        if (g->nodes.count > PLIM__EXPAND_MOST)
            return plim__fail(ctx->error, PLIM_UNSUPPORTED,
                              "unsupported: operator SequenceMap that becomes more than %zu nodes", PLIM__EXPAND_MOST);
        for (size_t i = 0; i < m->outputs; i++) m->made[i * m->length + k] = m->outs[i];
    }
    for (size_t i = 0; i < m->outputs; i++) {
        plim_value out = g->nodes.items[m->e.node].outputs.items[i];
        int32_t sequence = plim__expand_node(&m->e, "SequenceConstruct", m->made + i * m->length, m->length, 0);
        if (out >= 0) plim__node_add_output(g, sequence, out);
    }
    g->nodes.items[m->e.node].dead = true;
    return plim_graph_status(g, ctx->error);
}

plim_status plim__infer_sequence_map(plim__infer *ctx) {
    const plim__node *node = ctx->node;
    struct map m = {.e = plim__expand_begin(ctx), .outputs = node->outputs.count};
    const plim__attribute *body;
    m.inputs = node->inputs.count - plim__node_captured(node);
    PLIM_TRY(find_body(ctx, (int64_t)m.inputs, (int64_t)m.outputs, &body));
    for (size_t i = 0; i < m.inputs; i++) {
        const plim__node *sequence = plim__sequence_of(ctx->graph, node->inputs.items[i]);
        if (i == 0 && !sequence)
            return plim__infer_fail(ctx, PLIM_UNSUPPORTED,
                                    "unsupported: operator SequenceMap whose input is no sequence of known length");
        if (i == 0) m.length = sequence->inputs.count;
        if (sequence && sequence->inputs.count != m.length)
            return plim__infer_fail(ctx, PLIM_SHAPE, "its sequences differ in length");
    }
    m.ins = plim__alloc_array(m.inputs, sizeof *m.ins);
    m.outs = plim__alloc_array(m.outputs, sizeof *m.outs);
    m.made = plim__alloc_array(m.outputs * m.length, sizeof *m.made);
    plim_status status = m.ins && m.outs && m.made ? run_map(ctx, &m) : no_memory(ctx);
    plim__free(m.ins);
    plim__free(m.outs);
    plim__free(m.made);
    return status;
}
