/* A step of TensorFlow's graph mode: the gradients of operators, and loops over time. */
#include "fit/graph_mode.h"

/* What stands before a gradient: the node, the gradient of its outputs, and the row that says what it reads. */
typedef struct place {
    plim__graph_step *s;
    size_t n;
    const plim__node *node;
    const plim__torch_row *row;
    uint32_t g;
} place;

static uint64_t bytes_of(const place *p, size_t i) { return plim__autograd_bytes(p->s->a, plim__node_in(p->node, i)); }

static uint32_t op(const place *p, uint64_t bytes, bool over, uint32_t r0, uint32_t r1, uint32_t r2) {
    return over ? plim__graph_over(p->s, p->node->op_name, bytes, r0, r1, r2)
                : plim__graph_new(p->s, p->node->op_name, bytes, r0, r1, r2);
}

/* The gradient of input i of a product or convolution reads the other one. A weight's has a kind of its own. */
static uint32_t of_product(const place *p, size_t i) {
    const plim__autograd *a = p->s->a;
    plim_value in = plim__node_in(p->node, i);
    bool weight = plim__autograd_is_weight(a, in), narrow = plim__autograd_narrows(a, p->node, in);
    uint64_t bytes = bytes_of(p, i);
    plim__operation o = {.name = a->g->values.items[in].name,
                         .what = p->node->op_name,
                         .kind = weight ? PLIM__KIND_GRADIENT : PLIM__KIND_ACTIVATION,
                         .bytes = narrow ? bytes / 2 : bytes,
                         .reads = {p->g},
                         .phase = p->s->phase,
                         .owner = i < 2 ? p->node : NULL,
                         .part = PLIM__GRADIENT | (i == 0 ? PLIM__GRADIENT_INPUT : PLIM__GRADIENT_WEIGHT)};
    if (i < 2) o.reads[1] = plim__graph_input(p->s, p->node, 1 - i);
    uint32_t made = plim__executor_add(&p->s->x, &o);
    return narrow ? op(p, bytes, false, made, 0, 0) : made;
}

/* y = x i + ...: for x itself, and over mean and variance for every x. `wide`: rows have scales of their own. */
static uint32_t of_norm(const place *p, bool wide) {
    uint64_t bytes = bytes_of(p, 0);
    uint32_t x = plim__graph_input(p->s, p->node, 0), scale = p->s->saved[p->n][0];
    uint32_t direct = op(p, bytes, true, p->g, scale, 0);
    uint32_t change = op(p, bytes, true, p->g, x, 0);
    if (wide) {
        uint32_t shift = op(p, bytes, true, p->g, 0, 0);
        change = op(p, bytes, true, change, shift, 0);
        uint32_t gamma = op(p, bytes, true, change, 0, 0);
        change = op(p, bytes, true, change, 0, 0);
        op(p, 0, false, gamma, 0, 0);
    }
    uint32_t moments = op(p, 0, false, change, 0, 0);
    uint32_t variance = op(p, bytes, false, moments, 0, 0), distance = op(p, bytes, true, x, moments, 0);
    uint32_t mean = op(p, bytes, false, moments, 0, 0);
    variance = op(p, bytes, true, variance, distance, 0);
    return op(p, bytes, true, direct, variance, mean);
}

static uint32_t of_gelu(const place *p) {
    const uint32_t *saved = p->s->saved[p->n];
    uint64_t bytes = bytes_of(p, 0);
    uint32_t half = op(p, bytes, true, p->g, saved[1], 0);
    uint32_t error = op(p, bytes, true, p->g, saved[2], 0);
    uint32_t bell = op(p, bytes, true, saved[0], p->g, 0);
    error = op(p, bytes, true, error, bell, 0);
    return op(p, bytes, true, half, error, 0);
}

/* A division has the quotient's part in its gradient, a softmax the sum over its row. */
static uint32_t of_other(const place *p, size_t i) {
    plim__graph_step *s = p->s;
    plim_value out = plim__node_out(p->node, 0);
    uint64_t bytes = bytes_of(p, i);
    bool over = p->row->memory == PLIM__MEMORY_OVER;
    switch (p->row->saves) {
    case PLIM__SAVES_NOTHING: return op(p, bytes, over, p->g, 0, 0);
    case PLIM__SAVES_X0: return op(p, bytes, over, p->g, plim__graph_input(s, p->node, 0), 0);
    case PLIM__SAVES_MASK: return op(p, bytes, true, op(p, bytes, true, p->g, s->saved[p->n][0], 0), 0, 0);
    case PLIM__SAVES_EQUAL: { /* where x is the largest; it waits for no gradient */
        uint32_t equal = op(p, plim__autograd_elements(s->a, plim__node_in(p->node, 0)), false,
                            plim__graph_input(s, p->node, 0), s->value[out], 0);
        return op(p, bytes, true, op(p, bytes, false, equal, 0, 0), p->g, 0);
    }
    case PLIM__SAVES_INDEX:
    case PLIM__SAVES_XY: return op(p, bytes, over, p->g, plim__graph_input(s, p->node, 0), s->value[out]);
    case PLIM__SAVES_Y:
        if (p->row->kind == PLIM__TORCH_SOFTMAX || p->row->kind == PLIM__TORCH_LOG_SOFTMAX) {
            uint32_t sum = op(p, 0, false, op(p, bytes, false, p->g, s->value[out], 0), 0, 0);
            uint32_t y = s->saved[p->n][0] ? s->saved[p->n][0] : s->value[out];
            return op(p, bytes, true, p->g, y, sum);
        }
        return op(p, bytes, over, p->g, s->value[out], 0);
    default: break;
    }
    if (p->node->inputs.count == 2) return op(p, bytes, over, p->g, plim__graph_input(s, p->node, 1 - i), 0);
    return op(p, bytes, over, p->g, plim__graph_input(s, p->node, 0),
              p->node->inputs.count > 2 ? plim__graph_input(s, p->node, 1) : 0);
}

static uint32_t of_input(const place *p, size_t i) {
    const plim__autograd *a = p->s->a;
    plim_value in = plim__node_in(p->node, i), out = plim__node_out(p->node, 0);
    plim__torch_kind kind = plim__torch_kind_of(p->node->op_name);
    bool same = bytes_of(p, i) == plim__autograd_bytes(a, out);
    if (p->row->memory == PLIM__MEMORY_VIEW) return p->g;
    if (p->row->memory == PLIM__MEMORY_PASS) return same ? p->g : op(p, bytes_of(p, i), false, p->g, 0, 0);
    if (kind == PLIM__TORCH_CONV || kind == PLIM__TORCH_CONV_TRANSPOSE || kind == PLIM__TORCH_MATMUL ||
        kind == PLIM__TORCH_GEMM)
        return of_product(p, i);
    bool norm = kind == PLIM__TORCH_BATCH_NORM || p->row->saves == PLIM__SAVES_NORM;
    if (norm && i == 0) return of_norm(p, kind != PLIM__TORCH_BATCH_NORM);
    if (norm || plim__autograd_is_weight(a, in)) return op(p, bytes_of(p, i), false, p->g, 0, 0);
    return p->row->saves == PLIM__SAVES_GELU ? of_gelu(p) : of_other(p, i);
}

/* Adapters beside a frozen product: their own gradients are small; the input's is added. */
static uint32_t of_adapter(const place *p) {
    uint32_t inner = op(p, 0, false, p->g, p->s->saved[p->n][3], 0);
    op(p, 0, false, inner, plim__graph_input(p->s, p->node, 0), 0);
    return op(p, bytes_of(p, 0), false, inner, 0, 0);
}

void plim__graph_gradients(plim__graph_step *s, size_t n) {
    const plim__node *node = &s->a->g->nodes.items[n];
    place p = {.s = s, .n = n, .node = node, .row = plim__autograd_row(s->a, node)};
    if (plim__graph_is_loop(node)) {
        plim__graph_loop_gradients(s, n);
        return;
    }
    for (size_t i = 0; i < node->outputs.count; i++) {
        plim_value out = node->outputs.items[i];
        uint32_t one = out >= 0 ? s->gradient[out] : 0;
        p.g = p.g && one ? op(&p, bytes_of(&p, 0), false, p.g, one, 0) : one ? one : p.g;
    }
    for (size_t i = 0; i < node->inputs.count; i++) {
        plim_value in = node->inputs.items[i];
        if (in < 0 || !s->a->needs[in]) continue;
        plim__graph_deliver(s, in, p.g ? of_input(&p, i) : 0);
        if (p.g && i == 0 && plim__autograd_has_adapter(s->a, node)) plim__graph_deliver(s, in, of_adapter(&p));
    }
}

/* --- loops over time ------------------------------------------------------------------------------------------ */

/* A recurrent layer is a loop whose steps put what their gradients need on lists: tensors of the state's size, and the step's input.
 * TensorFlow 2.21, seven for LSTM: four gates, the state, the cell, and it squashed; six for GRU: both gates, the candidate, the
 * state's part of it, one product, one difference. For the gradients a list of zeros is there from the start. The gradients of GRU's
 * gates are put into place one by one, each in a tensor of all gates. */
enum { KEPT = 7 };

static uint64_t kept_of(const plim__node *node) {
    plim__torch_kind kind = plim__graph_mode_kind(node);
    return kind == PLIM__TORCH_LSTM ? KEPT : kind == PLIM__TORCH_GRU ? 6 : 2;
}

typedef struct loop {
    uint64_t steps, state, gates, input; /* bytes of a step: of a state, of all gates; of the whole sequence */
} loop;

bool plim__graph_is_loop(const plim__node *node) {
    plim__torch_kind kind = plim__graph_mode_kind(node);
    return kind == PLIM__TORCH_LSTM || kind == PLIM__TORCH_GRU || kind == PLIM__TORCH_RNN;
}

/* Of a very long loop many steps are taken as one: what is held is the same. */
enum { STEPS_MOST = 1024 };

static loop loop_of(const plim__autograd *a, const plim__node *node) {
    if (plim__node_in(node, 0) < 0 || plim__node_in(node, 2) < 0) return (loop){0};
    const plim__shape *x = &a->g->values.items[plim__node_in(node, 0)].shape;
    const plim__shape *r = &a->g->values.items[plim__node_in(node, 2)].shape;
    bool batch_first = plim__node_int(node, "layout", 0) == 1;
    loop l = {.input = plim__autograd_bytes(a, plim__node_in(node, 0))};
    if (x->rank != 3 || r->rank != 3) return l;
    uint64_t batch = (uint64_t)x->dims[batch_first ? 0 : 1], rows = (uint64_t)r->dims[0] * batch * 4;
    l.steps = (uint64_t)x->dims[batch_first ? 1 : 0];
    l.state = rows * (uint64_t)r->dims[2];
    l.gates = rows * (uint64_t)r->dims[1];
    if (l.steps <= STEPS_MOST) return l;
    l.state = l.state * l.steps / STEPS_MOST;
    l.steps = STEPS_MOST;
    return l;
}

void plim__graph_loop(plim__graph_step *s, size_t n) {
    const plim__node *node = &s->a->g->nodes.items[n];
    loop l = loop_of(s->a, node);
    uint32_t *saved = s->saved[n], last;
    saved[0] = plim__graph_new(s, "steps of the input", l.input, plim__graph_input(s, node, 0), 0, 0);
    saved[1] = (uint32_t)s->loops.count;
    last = saved[0];
    for (uint64_t t = 0; t < l.steps && !s->a->tape.failed; t++) {
        plim__operation o = {.name = "step",
                             .what = node->op_name,
                             .kind = PLIM__KIND_ACTIVATION,
                             .bytes = l.state,
                             .work = 2 * l.gates,
                             .phase = s->phase};
        for (size_t k = 0; k < kept_of(node); k++) {
            o.reads[0] = last;
            o.reads[1] = k ? 0 : saved[0];
            last = plim__executor_add(&s->x, &o);
            o.work = 0;
            if (!plim__vec_push(&s->loops, last)) s->a->tape.failed = true;
        }
    }
    for (size_t i = 0; i < node->outputs.count; i++) {
        plim_value out = node->outputs.items[i];
        if (out < 0 || !s->a->uses[out]) continue;
        s->value[out] = plim__graph_new(s, node->op_name, plim__autograd_bytes(s->a, out), last, 0, 0);
    }
}

/* Gradients of the weights are summed over the steps, each beside the one that is added. */
void plim__graph_loop_gradients(plim__graph_step *s, size_t n) {
    const plim__node *node = &s->a->g->nodes.items[n];
    loop l = loop_of(s->a, node);
    uint32_t token = 0, sums[8] = {0}, list = 0;
    uint64_t parts = 0, kept = kept_of(node);
    plim_value x = plim__node_in(node, 0);
    if (x < 0) return;
    for (size_t i = 0; i < node->outputs.count; i++) {
        plim_value out = node->outputs.items[i];
        if (out < 0 || !s->gradient[out]) continue;
        uint32_t one = s->gradient[out];
        if (i == 0)
            one = list = plim__graph_new(s, "steps of the gradient", plim__autograd_bytes(s->a, out), one, 0, 0);
        token = plim__graph_new(s, "", 0, one, token, 0);
    }
    for (size_t i = 1; token && i < node->inputs.count && i < 8; i++) {
        plim_value in = node->inputs.items[i];
        if (in < 0 || !s->a->needs[in]) continue;
        sums[i] = plim__graph_new(s, node->op_name, plim__autograd_bytes(s->a, in), token, 0, 0);
        parts += plim__autograd_bytes(s->a, in);
    }
    uint32_t zeros = token && s->a->needs[x] ? plim__graph_new(s, "zeros", l.input, token, 0, 0) : 0;
    for (uint64_t t = token ? l.steps : 0; t-- > 0 && !s->a->tape.failed;) {
        plim__operation o = {.what = node->op_name,
                             .work = parts + l.gates * (plim__graph_mode_kind(node) == PLIM__TORCH_GRU ? 4 : 1),
                             .reads = {token},
                             .phase = s->phase};
        for (size_t k = 0; k < kept; k++) o.reads[k + 1] = s->loops.items[s->saved[n][1] + t * kept + k];
        token = plim__executor_add(&s->x, &o);
    }
    plim__graph_new(s, "", 0, list, token, 0); /* the lists stay until the last step */
    plim__graph_new(s, "", 0, s->saved[n][0], token, 0);
    for (size_t i = 1; i < node->inputs.count && i < 8; i++) {
        plim_value in = node->inputs.items[i];
        if (in < 0 || !s->a->needs[in]) continue;
        uint64_t bytes = plim__autograd_bytes(s->a, in);
        plim__graph_deliver(s, in, token ? plim__graph_over(s, node->op_name, bytes, sums[i], token, 0) : 0);
    }
    if (!s->a->needs[x]) return;
    plim__graph_deliver(s, x, token ? plim__graph_new(s, node->op_name, l.input, zeros, token, 0) : 0);
}
