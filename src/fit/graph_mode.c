/* A step of TensorFlow's graph mode: the forward pass and the updates. */
#include "fit/graph_mode.h"

#include <string.h>

#include "core/error.h"

const plim__torch_row *plim__graph_mode_row(const char *name) {
    static const plim__torch_row rows[] = {
#define TENSORFLOW_KIND(op, saves, memory, cast, kind)                                                                 \
    {op, PLIM__SAVES_##saves, PLIM__MEMORY_##memory, PLIM__CAST_##cast, PLIM__TORCH_##kind},
#define TENSORFLOW(op, saves, memory, cast) TENSORFLOW_KIND(op, saves, memory, cast, OTHER)
#include "fit/tensorflow_ops.def"
#undef TENSORFLOW
#undef TENSORFLOW_KIND
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

static plim__operation operation(const plim__graph_step *s, const char *what, uint64_t bytes) {
    return (plim__operation){.what = what, .kind = PLIM__KIND_ACTIVATION, .bytes = bytes, .phase = s->phase};
}

static uint32_t add(plim__graph_step *s, plim__operation o, uint32_t r0, uint32_t r1, uint32_t r2) {
    const uint32_t reads[] = {r0, r1, r2, s->after};
    memcpy(o.reads, reads, sizeof reads);
    return plim__executor_add(&s->x, &o);
}

plim__torch_kind plim__graph_mode_kind(const plim__node *node) {
    const plim__torch_row *row = plim__graph_mode_row(node->op_name);
    return row ? row->kind : PLIM__TORCH_OTHER;
}

uint32_t plim__graph_new(plim__graph_step *s, const char *what, uint64_t bytes, uint32_t r0, uint32_t r1, uint32_t r2) {
    return add(s, operation(s, what, bytes), r0, r1, r2);
}

uint32_t plim__graph_over(plim__graph_step *s, const char *what, uint64_t bytes, uint32_t r0, uint32_t r1,
                          uint32_t r2) {
    plim__operation o = operation(s, what, bytes);
    o.over = true;
    return add(s, o, r0, r1, r2);
}

uint32_t plim__graph_input(plim__graph_step *s, const plim__node *node, size_t i) {
    plim__autograd *a = s->a;
    plim_value in = plim__node_in(node, i);
    if (in < 0) return 0;
    if (!plim__autograd_narrows(a, node, in)) return s->value[in];
    bool weight = plim__autograd_is_weight(a, in);
    if (weight && s->half[in]) return s->half[in];
    uint32_t half = plim__graph_new(s, "to 16 bits", plim__autograd_elements(a, in) * 2, s->value[in], 0, 0);
    return weight ? s->half[in] = half : half;
}

/* --- updates -------------------------------------------------------------------------------------------------- */

typedef struct update {
    plim__graph_step *s;
    uint64_t bytes;
} update;

static uint32_t part(const update *u, const char *what, bool over, uint32_t r0, uint32_t r1) {
    plim__operation o = {.name = what,
                         .what = "step",
                         .kind = PLIM__KIND_OPTIMIZER,
                         .bytes = u->bytes,
                         .reads = {r0, r1},
                         .over = over,
                         .phase = u->s->phase};
    return plim__executor_add(&u->s->x, &o);
}

/* A variable takes a value over: nothing is kept. */
static uint32_t assign(const update *u, uint32_t value) { return plim__graph_new(u->s, "assign", 0, value, 0, 0); }

/* m += (g - m) (1 - b1);  v += (g^2 - v) (1 - b2);  w -= a m / (sqrt(v) + e) */
static void update_adam(const update *u, uint32_t g) {
    uint32_t change = part(u, "difference", true, g, 0), square = part(u, "square", true, g, 0);
    uint32_t m = assign(u, part(u, "scaled", true, change, 0));
    uint32_t v = part(u, "difference", true, square, 0);
    v = assign(u, part(u, "scaled", true, v, 0));
    uint32_t step = part(u, "step", true, m, 0);
    uint32_t root = part(u, "root", true, v, 0);
    root = part(u, "root and epsilon", true, root, 0);
    assign(u, part(u, "quotient", true, step, root));
}

/* v = r v + (1 - r) g^2;  w -= a g / sqrt(v + e).  `ready`: r v */
static void update_rmsprop(const update *u, uint32_t g, uint32_t ready) {
    uint32_t step = part(u, "step", true, g, 0), square = part(u, "square", true, g, 0);
    uint32_t v = assign(u, part(u, "sum", true, ready, square));
    uint32_t root = part(u, "sum and epsilon", true, v, 0);
    root = part(u, "root", true, root, 0);
    assign(u, part(u, "quotient", true, step, root));
}

/* s += g^2;  w -= a g / sqrt(s + e) */
static void update_adagrad(const update *u, uint32_t g) {
    uint32_t step = part(u, "step", true, g, 0);
    uint32_t sum = assign(u, part(u, "square", true, g, 0));
    uint32_t root = part(u, "sum and epsilon", true, sum, 0);
    root = part(u, "root", true, root, 0);
    assign(u, part(u, "quotient", true, step, root));
}

/* What an update computes from weights and state alone begins with the step: all of them are there before the first layer. */
static bool has_ready(plim_model_optimizer optimizer) {
    return optimizer == PLIM_MODEL_MOMENTUM || optimizer == PLIM_MODEL_RMSPROP;
}

/* Keras takes the decay off when the step begins, a few operations after its first ones. A weight that the backward pass reads is
 * copied then: the old one stays until it has been read. */
static bool has_decay(plim_model_optimizer optimizer) {
    return optimizer == PLIM_MODEL_ADAMW || optimizer == PLIM_MODEL_ADAMW_FUSED || optimizer == PLIM_MODEL_ADAMW_8BIT;
}

static uint32_t decay(const update *u) {
    enum { OPERATIONS_BEFORE = 5 };
    uint32_t product = part(u, "decay", false, 0, 0), rate = assign(u, 0);
    for (int i = 0; i < OPERATIONS_BEFORE; i++) rate = assign(u, rate);
    plim__operation copy = {.name = "weight before its decay",
                            .what = "step",
                            .kind = PLIM__KIND_OPTIMIZER,
                            .bytes = u->bytes,
                            .reads = {product, rate},
                            .if_read = true,
                            .phase = u->s->phase};
    return plim__executor_add(&u->s->x, &copy);
}

static bool is_trained(const plim__autograd *a, size_t v) {
    return a->needs[v] && a->g->values.items[v].kind == PLIM__VALUE_PARAMETER && a->uses[v] > 0;
}

static void begin_updates(plim__graph_step *s) {
    const plim__autograd *a = s->a;
    plim_model_optimizer optimizer = a->options->optimizer;
    for (size_t v = 0; v < a->g->values.count; v++) {
        if (!is_trained(a, v)) continue;
        s->left[v] = a->uses[v];
        update u = {s, plim__autograd_bytes(a, (plim_value)v)};
        if (s->last && has_ready(optimizer)) s->ready[v] = part(&u, "old average", false, 0, 0);
        if (s->last && has_decay(optimizer)) s->value[v] = decay(&u);
    }
}

static void update_weight(plim__graph_step *s, plim_value weight) {
    plim__autograd *a = s->a;
    update u = {s, plim__autograd_bytes(a, weight)};
    uint32_t g = s->gradient[weight], sum = 0;
    if (a->options->micro > 0) {
        if (!a->gradient[weight])
            a->gradient[weight] = plim__tape_new(&a->tape, a->g->values.items[weight].name, "sum of gradients",
                                                 PLIM__KIND_GRADIENT, u.bytes);
        plim__operation held = {.storage = a->gradient[weight]};
        sum = plim__executor_add(&s->x, &held);
        g = plim__graph_over(s, "sum of gradients", s->last ? u.bytes : 0, g, sum, 0);
    }
    if (!s->last) return;
    switch (a->options->optimizer) {
    case PLIM_MODEL_RMSPROP: update_rmsprop(&u, g, s->ready[weight]); return;
    case PLIM_MODEL_ADAGRAD: update_adagrad(&u, g); return;
    case PLIM_MODEL_SGD: assign(&u, part(&u, "step", true, g, 0)); return;
    case PLIM_MODEL_MOMENTUM: assign(&u, part(&u, "sum", true, s->ready[weight], part(&u, "step", true, g, 0))); return;
    default: update_adam(&u, g);
    }
}

void plim__graph_deliver(plim__graph_step *s, plim_value value, uint32_t one) {
    const plim__autograd *a = s->a;
    uint32_t old = s->gradient[value];
    if (one && old) one = plim__graph_over(s, "sum of gradients", plim__autograd_bytes(a, value), old, one, 0);
    if (one) s->gradient[value] = one;
    if (is_trained(a, (size_t)value) && --s->left[value] == 0 && s->gradient[value]) update_weight(s, value);
}

/* --- forward -------------------------------------------------------------------------------------------------- */

/* The random numbers depend on nothing and are there before the layer is reached. */
static uint32_t drop_out(plim__graph_step *s, size_t n, uint32_t in, uint64_t bytes) {
    uint64_t elements = plim__autograd_elements(s->a, plim__node_out(&s->a->g->nodes.items[n], 0));
    uint32_t numbers = plim__graph_new(s, "random numbers", elements * 4, 0, 0, 0);
    uint32_t mask = s->saved[n][0] = plim__graph_new(s, "mask", elements, numbers, 0, 0);
    uint32_t scaled = plim__graph_over(s, "scaled", bytes, in, 0, 0);
    return plim__graph_over(s, "dropped", bytes, scaled, mask, 0);
}

/* x/2 erfc(-x/sqrt 2) */
static uint32_t gelu(plim__graph_step *s, size_t n, uint32_t in, uint64_t bytes) {
    uint32_t *saved = s->saved[n];
    saved[0] = plim__graph_over(s, "Neg", bytes, in, 0, 0);
    saved[1] = plim__graph_over(s, "Erfc", bytes, saved[0], 0, 0);
    saved[2] = plim__graph_over(s, "half", bytes, in, 0, 0);
    return plim__graph_over(s, "Gelu", bytes, saved[2], saved[1], 0);
}

/* y = x i + (b - m i) with i = s / sqrt(v + e): for each channel, or, with `wide`, for each element, since a row has its own. */
static uint32_t normalise(plim__graph_step *s, size_t n, uint32_t in, uint64_t bytes, bool wide) {
    uint32_t squares = plim__graph_new(s, "squares", bytes, in, 0, 0);
    uint32_t moments = plim__graph_new(s, "moments", 0, squares, 0, 0);
    uint32_t scale = plim__graph_new(s, "scale", wide ? bytes : 0, moments, 0, 0);
    uint32_t product = plim__graph_over(s, "scaled", bytes, in, scale, 0);
    uint32_t shift = plim__graph_new(s, "shift", wide ? bytes : 0, scale, moments, 0);
    s->saved[n][0] = scale;
    return plim__graph_over(s, "normalised", bytes, product, shift, 0);
}

/* A softmax of scores times a number: its gradient ends in the factors y and that number, which the graph's optimizer multiplies
 * with each other first, since both are there already. */
static void scale_softmax(plim__graph_step *s, size_t n, plim_value out) {
    const plim_graph *g = s->a->g;
    const plim__node *node = &g->nodes.items[n];
    plim_value in = plim__node_in(node, 0);
    int32_t maker = in >= 0 ? g->values.items[in].producer : -1;
    if (plim__graph_mode_kind(node) != PLIM__TORCH_SOFTMAX || maker < 0 || !s->a->needs[out]) return;
    const plim__node *before = &g->nodes.items[maker];
    bool product = plim__graph_mode_kind(before) == PLIM__TORCH_SCALE;
    for (size_t i = 0; product && i < before->inputs.count; i++)
        if (plim__autograd_elements(s->a, before->inputs.items[i]) == 1)
            s->saved[n][0] = plim__graph_new(s, "scaled", plim__autograd_bytes(s->a, out), s->value[out], 0, 0);
}

static uint32_t apply(plim__graph_step *s, size_t n, const plim__torch_row *row, plim_value out) {
    const plim__node *node = &s->a->g->nodes.items[n];
    plim__operation o = {.name = s->a->g->values.items[out].name,
                         .what = node->op_name,
                         .kind = PLIM__KIND_ACTIVATION,
                         .bytes = plim__autograd_bytes(s->a, out),
                         .over = row->memory == PLIM__MEMORY_OVER || row->memory == PLIM__MEMORY_PASS,
                         .view = row->memory == PLIM__MEMORY_VIEW || row->memory == PLIM__MEMORY_VIEWED,
                         .phase = s->phase,
                         .owner = node};
    size_t count = 0;
    for (size_t i = 0; i < node->inputs.count && count + 1 < PLIM__EXECUTOR_READS; i++) {
        uint32_t in = plim__graph_input(s, node, i);
        if (in) o.reads[count++] = in;
    }
    o.reads[count] = s->after;
    return plim__executor_add(&s->x, &o);
}

static void add_adapter(plim__graph_step *s, size_t n, plim_value out) {
    const plim__autograd *a = s->a;
    const plim__shape *shape = &a->g->values.items[out].shape;
    uint64_t bytes = plim__autograd_bytes(a, out);
    uint64_t last = shape->rank > 0 && shape->dims[shape->rank - 1] > 0 ? (uint64_t)shape->dims[shape->rank - 1] : 1;
    uint32_t in = plim__graph_input(s, &a->g->nodes.items[n], 0);
    s->saved[n][3] = plim__graph_new(s, "adapter", bytes / last * (uint64_t)a->options->lora, in, 0, 0);
    uint32_t added = plim__graph_new(s, "adapter", bytes, s->saved[n][3], 0, 0);
    s->value[out] = plim__graph_over(s, "adapted", bytes, s->value[out], added, 0);
}

static void forward_node(plim__graph_step *s, size_t n) {
    const plim__node *node = &s->a->g->nodes.items[n];
    const plim__torch_row *row = plim__autograd_row(s->a, node);
    plim_value out = plim__node_out(node, 0);
    if (plim__graph_is_loop(node)) {
        plim__graph_loop(s, n);
        return;
    }
    if (out < 0) return;
    uint64_t bytes = plim__autograd_bytes(s->a, out);
    uint32_t in = plim__graph_input(s, node, 0);
    bool channels = plim__torch_kind_of(node->op_name) == PLIM__TORCH_BATCH_NORM;
    if (s->a->needs[out] && !*row->name) plim__autograd_note_unknown(s->a, node->op_name);
    if (row->saves == PLIM__SAVES_MASK)
        s->value[out] = drop_out(s, n, in, bytes);
    else if (row->saves == PLIM__SAVES_GELU)
        s->value[out] = gelu(s, n, in, bytes);
    else if (row->saves == PLIM__SAVES_NORM || channels)
        s->value[out] = normalise(s, n, in, bytes, !channels);
    else
        for (size_t i = 0; i < node->outputs.count; i++) {
            plim_value one = node->outputs.items[i];
            if (one >= 0 && (i == 0 || s->a->uses[one])) s->value[one] = apply(s, n, row, one);
        }
    scale_softmax(s, n, out);
    if (plim__autograd_has_adapter(s->a, node)) add_adapter(s, n, out);
}

static void forward(plim__graph_step *s, size_t from, size_t to) {
    for (size_t n = from; n < to && !s->a->tape.failed; n++)
        if (!s->a->g->nodes.items[n].dead) forward_node(s, n);
}

/* --- a pass --------------------------------------------------------------------------------------------------- */

static void give_mark(void *context, const plim__operation *o) { plim__autograd_mark(context, o->owner, o->part); }

static void give_inputs(plim__graph_step *s) {
    for (size_t i = 0; i < s->a->g->inputs.count; i++) {
        plim_value in = s->a->g->inputs.items[i];
        plim__operation held = {.storage = s->a->storage[in]};
        if (held.storage) s->value[in] = plim__executor_add(&s->x, &held);
    }
}

/* TensorFlow's cross entropy makes its gradient along with the loss. */
static void take_loss(plim__graph_step *s) {
    plim_value out = s->a->g->outputs.count ? s->a->g->outputs.items[0] : PLIM_NO_VALUE;
    if (out < 0) return;
    uint32_t all = plim__graph_new(s, "score gradient", plim__autograd_bytes(s->a, out), s->value[out], 0, 0);
    s->phase = PLIM__PHASE_BACKWARD;
    if (s->a->needs[out]) plim__graph_deliver(s, out, all);
}

/* The blocks from last to first; all but the last are computed again, when the gradient has come to their end. */
static void backward(plim__graph_step *s, const uint32_t *cuts, size_t cut_count) {
    const plim_graph *g = s->a->g;
    for (size_t b = cut_count + 1; b-- > 0;) {
        size_t from = b ? cuts[b - 1] : 0, to = b < cut_count ? cuts[b] : g->nodes.count;
        if (b < cut_count) {
            const plim__node *end = &g->nodes.items[to - 1];
            plim_value out = plim__node_out(end, 0);
            s->after = out >= 0 ? s->gradient[out] : 0;
            s->phase = PLIM__PHASE_RECOMPUTE;
            if (s->after) forward(s, from, to);
            s->phase = PLIM__PHASE_BACKWARD;
            s->after = 0;
        }
        for (size_t n = to; n-- > from && !s->a->tape.failed;)
            if (!g->nodes.items[n].dead) plim__graph_gradients(s, n);
    }
}

void plim__graph_mode_pass(plim__autograd *a, const uint32_t *cuts, size_t cut_count, bool last) {
    size_t values = a->g->values.count + 1;
    plim__graph_step s = {.a = a, .last = last, .phase = PLIM__PHASE_FORWARD};
    plim__executor_init(&s.x, &a->tape);
    s.x.mark = give_mark;
    s.x.context = a;
    s.value = plim__alloc_zero(values, sizeof *s.value);
    s.gradient = plim__alloc_zero(values, sizeof *s.gradient);
    s.half = plim__alloc_zero(values, sizeof *s.half);
    s.ready = plim__alloc_zero(values, sizeof *s.ready);
    s.left = plim__alloc_zero(values, sizeof *s.left);
    s.saved = plim__alloc_zero(a->g->nodes.count + 1, sizeof *s.saved);
    if (!s.value || !s.gradient || !s.half || !s.ready || !s.left || !s.saved) a->tape.failed = true;
    if (!a->tape.failed) {
        give_inputs(&s);
        begin_updates(&s);
        forward(&s, 0, a->g->nodes.count);
        take_loss(&s);
        backward(&s, cuts, cut_count);
        plim__executor_run(&s.x);
    }
    plim__executor_free(&s.x);
    plim__free(s.value);
    plim__free(s.gradient);
    plim__free(s.half);
    plim__free(s.ready);
    plim__free(s.left);
    plim__free(s.saved);
    plim__vec_free(&s.loops);
}
