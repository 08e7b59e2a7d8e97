#include "fit/autograd.h"

#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "fit/autograd_rows.h"
#include "fit/graph_mode.h"

/* --- rows ----------------------------------------------------------------------------------------------------- */

const plim__torch_row *plim__torch_row_find(const char *name) {
    static const plim__torch_row rows[] = {
#define TORCH_KIND(op, saves, memory, cast, kind)                                                                      \
    {op, PLIM__SAVES_##saves, PLIM__MEMORY_##memory, PLIM__CAST_##cast, PLIM__TORCH_##kind},
#define TORCH(op, saves, memory, cast) TORCH_KIND(op, saves, memory, cast, OTHER)
#include "fit/torch_ops.def"
#undef TORCH
#undef TORCH_KIND
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

plim__torch_kind plim__torch_kind_of(const char *name) {
    const plim__torch_row *row = plim__torch_row_find(name);
    return row ? row->kind : PLIM__TORCH_OTHER;
}

/* Each name once; a list that is full ends with three points. */
void plim__autograd_note_unknown(plim__autograd *a, const char *name) {
    static const char head[] = "operators that count as saving their inputs: ";
    size_t length = strlen(name), used = strlen(a->unknown), room = sizeof a->unknown - used;
    const char *list = used ? a->unknown + sizeof head - 2 : ""; /* the space before the first name */
    for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
        if (at[-1] == ' ' && (at[length] == ',' || !at[length])) return;
    if (length + sizeof head + 8 < room)
        snprintf(a->unknown + used, room, "%s%s", used ? ", " : head, name);
    else if (used && room > 6 && strcmp(a->unknown + used - 3, "...") != 0)
        snprintf(a->unknown + used, room, ", ...");
}

const plim__torch_row *plim__autograd_row(const plim__autograd *a, const plim__node *node) {
    static const plim__torch_row other = {"", PLIM__SAVES_X, PLIM__MEMORY_NEW, PLIM__CAST_SAME, PLIM__TORCH_OTHER};
    const plim__torch_row *row = a->options->graph_mode ? plim__graph_mode_row(node->op_name) : NULL;
    if (!row) row = plim__torch_row_find(node->op_name);
    return row ? row : &other;
}

/* --- values --------------------------------------------------------------------------------------------------- */

static bool is_float(plim_dtype dtype) {
    return dtype == PLIM_F32 || dtype == PLIM_F16 || dtype == PLIM_BF16 || dtype == PLIM_F64;
}

uint64_t plim__autograd_elements(const plim__autograd *a, plim_value value) {
    int64_t count = value >= 0 ? plim__shape_elements(&a->g->values.items[value].shape) : 0;
    return count > 0 ? (uint64_t)count : 0;
}

bool plim__autograd_is_weight(const plim__autograd *a, plim_value value) {
    if (value < 0) return false;
    const plim__value *v = &a->g->values.items[value];
    return v->kind == PLIM__VALUE_PARAMETER || v->kind == PLIM__VALUE_STATE || v->kind == PLIM__VALUE_CONSTANT;
}

uint64_t plim__autograd_bytes(const plim__autograd *a, plim_value value) {
    if (value < 0) return 0;
    plim_dtype dtype = a->g->values.items[value].dtype;
    uint64_t width = is_float(dtype) ? a->width[value] : ((uint64_t)plim_dtype_bits(dtype) + 7) / 8;
    return plim__autograd_elements(a, value) * width;
}

static bool is_half_precision(const plim__autograd *a) {
    return a->options->precision == PLIM_MODEL_AMP_BF16 || a->options->precision == PLIM_MODEL_AMP_FP16;
}

/* --- the tables ----------------------------------------------------------------------------------------------- */

/* A low-rank adapter stands beside a product with a frozen weight. */
bool plim__autograd_has_adapter(const plim__autograd *a, const plim__node *node) {
    plim__torch_kind kind = plim__torch_kind_of(node->op_name);
    bool product = kind == PLIM__TORCH_MATMUL || kind == PLIM__TORCH_GEMM;
    return a->options->lora && product && plim__autograd_is_weight(a, plim__node_in(node, 1));
}

/* Widths under autocast, and who needs a gradient: both follow the nodes. */
static void find_widths(plim__autograd *a) {
    bool all_half = a->options->precision == PLIM_MODEL_BF16, autocast = is_half_precision(a);
    for (size_t v = 0; v < a->g->values.count; v++) a->width[v] = all_half ? 2 : 4;
    for (size_t n = 0; n < a->g->nodes.count; n++) {
        const plim__node *node = &a->g->nodes.items[n];
        if (node->dead) continue;
        const plim__torch_row *row = plim__autograd_row(a, node);
        uint8_t width = 0;
        bool needs = plim__autograd_has_adapter(a, node);
        for (size_t i = 0; i < node->inputs.count; i++) {
            plim_value in = node->inputs.items[i];
            if (in < 0) continue;
            needs = needs || a->needs[in];
            bool counts = is_float(a->g->values.items[in].dtype) && !plim__autograd_is_weight(a, in);
            if (counts && a->width[in] > width) width = a->width[in];
        }
        if (!width) width = all_half ? 2 : 4;
        if (autocast && row->cast == PLIM__CAST_HALF) width = 2;
        if (autocast && row->cast == PLIM__CAST_FULL) width = 4;
        for (size_t i = 0; i < node->outputs.count; i++) {
            plim_value out = node->outputs.items[i];
            if (out < 0) continue;
            a->width[out] = width;
            a->needs[out] = needs && is_float(a->g->values.items[out].dtype);
        }
    }
}

static bool is_viewing(const plim__torch_row *row) {
    return row->memory == PLIM__MEMORY_VIEW || row->memory == PLIM__MEMORY_VIEWED;
}

/* The only layer that is trained when the rest is frozen. */
static int64_t last_weighted(const plim__autograd *a) {
    for (size_t n = a->g->nodes.count; n-- > 0;) {
        const plim__node *node = &a->g->nodes.items[n];
        for (size_t i = 0; !node->dead && i < node->inputs.count; i++) {
            plim_value in = node->inputs.items[i];
            if (in >= 0 && a->g->values.items[in].kind == PLIM__VALUE_PARAMETER &&
                plim__autograd_elements(a, in) > 4096)
                return (int64_t)n;
        }
    }
    return -1;
}

static void find_trained(plim__autograd *a) {
    int64_t only = a->options->frozen ? last_weighted(a) : -1;
    for (size_t n = 0; n < a->g->nodes.count; n++) {
        const plim__node *node = &a->g->nodes.items[n];
        if (node->dead || (only >= 0 && (int64_t)n != only)) continue;
        for (size_t i = 0; i < node->inputs.count; i++) {
            plim_value in = node->inputs.items[i];
            if (in < 0) continue;
            const plim__value *value = &a->g->values.items[in];
            bool trained = value->kind == PLIM__VALUE_PARAMETER && is_float(value->dtype);
            if (trained) a->needs[in] = !a->options->lora;
        }
    }
}

/* What each view looks like. */
static void find_strides(plim__autograd *a) {
    for (size_t n = 0; n < a->g->nodes.count; n++) {
        const plim__node *node = &a->g->nodes.items[n];
        plim_value in = plim__node_in(node, 0), out = plim__node_out(node, 0);
        if (node->dead || in < 0 || out < 0) continue;
        const plim__torch_row *row = plim__autograd_row(a, node);
        plim__torch_kind kind = plim__torch_kind_of(node->op_name);
        plim__strides strides;
        if (kind == PLIM__TORCH_ATTENTION)
            a->strides[out] = plim__strides_attention(&a->g->values.items[out].shape);
        else if (!is_viewing(row) || !plim__strides_view(a->g, node, kind, &a->strides[in], &strides))
            continue;
        else
            for (size_t i = 0; i < node->outputs.count; i++)
                if (node->outputs.items[i] >= 0) a->strides[node->outputs.items[i]] = strides;
    }
}

plim_status plim__autograd_init(plim__autograd *a, const plim_graph *g, const plim_model_options *options,
                                plim__timeline *timeline, plim_error *error) {
    *a = (plim__autograd){.g = g, .options = options, .saving = true};
    size_t values = g->values.count + 1, nodes = g->nodes.count + 1;
    plim__tape_init(&a->tape, timeline);
    a->storage = plim__alloc_zero(values, sizeof *a->storage);
    a->gradient = plim__alloc_zero(values, sizeof *a->gradient);
    a->half = plim__alloc_zero(values, sizeof *a->half);
    a->width = plim__alloc_zero(values, sizeof *a->width);
    a->needs = plim__alloc_zero(values, sizeof *a->needs);
    a->strides = plim__alloc_zero(values, sizeof *a->strides);
    a->left = plim__alloc_zero(values, sizeof *a->left);
    a->first = plim__alloc_zero(nodes, sizeof *a->first);
    a->count = plim__alloc_zero(nodes, sizeof *a->count);
    a->uses = plim__graph_uses(g);
    bool fine = a->storage && a->gradient && a->half && a->width && a->needs && a->strides && a->left && a->first &&
                a->count && a->uses && !a->tape.failed;
    if (!fine) return plim__fail_memory(error, "a predicted step", values);
    for (size_t v = 0; v < g->values.count; v++) a->strides[v] = plim__strides_plain(&g->values.items[v].shape);
    find_trained(a);
    find_widths(a);
    find_strides(a);
    return PLIM_OK;
}

void plim__autograd_free(plim__autograd *a) {
    plim__tape_free(&a->tape);
    plim__free(a->storage);
    plim__free(a->gradient);
    plim__free(a->half);
    plim__free(a->width);
    plim__free(a->needs);
    plim__free(a->strides);
    plim__free(a->left);
    plim__free(a->first);
    plim__free(a->count);
    plim__free(a->uses);
    plim__vec_free(&a->saved);
}

/* --- forward -------------------------------------------------------------------------------------------------- */

static const char *name_of(const plim__autograd *a, plim_value value) {
    return value >= 0 && a->g->values.items[value].name ? a->g->values.items[value].name : "";
}

static void save(plim__autograd *a, uint32_t storage) {
    if (!storage || !a->saving || a->tape.failed) return;
    plim__tape_hold(&a->tape, storage);
    if (!plim__vec_push(&a->saved, storage)) a->tape.failed = true;
}

/* A new storage that autograd alone holds. */
static void save_new(plim__autograd *a, const plim__node *node, const char *what, uint64_t bytes) {
    uint32_t storage = plim__tape_new(&a->tape, what, node->op_name, PLIM__KIND_ACTIVATION, bytes);
    save(a, storage);
    plim__tape_drop(&a->tape, storage);
}

bool plim__autograd_narrows(const plim__autograd *a, const plim__node *node, plim_value in) {
    const plim__torch_row *row = plim__torch_row_find(node->op_name);
    return is_half_precision(a) && row && row->cast == PLIM__CAST_HALF && is_float(a->g->values.items[in].dtype) &&
           a->width[in] == 4;
}

/* The input as the kernel reads it: under autocast a copy in 16 bits. *temporary: a reference to drop. */
static uint32_t cast_input(plim__autograd *a, const plim__node *node, plim_value in, uint32_t *temporary) {
    *temporary = 0;
    uint32_t storage = in >= 0 ? a->storage[in] : 0;
    if (!storage || !plim__autograd_narrows(a, node, in)) return storage;
    if (plim__autograd_is_weight(a, in)) {
        if (!a->half[in])
            a->half[in] = plim__tape_new(&a->tape, name_of(a, in), "to 16 bits", PLIM__KIND_WEIGHT,
                                         plim__autograd_elements(a, in) * 2);
        return a->half[in];
    }
    return *temporary = plim__tape_new(&a->tape, name_of(a, in), "to 16 bits", PLIM__KIND_ACTIVATION,
                                       plim__autograd_elements(a, in) * 2);
}

static void write_dims(const plim__shape *shape, char *text, size_t size) {
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; i < shape->rank && at + 24 < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%lld", i ? "x" : "", (long long)shape->dims[i]);
}

static void write_list(const plim__node *node, const char *name, int rank, int64_t missing, char *text) {
    size_t count = 0, at = 0;
    const int64_t *list = plim__node_ints(node, name, &count);
    for (int i = 0; i < rank && at < 64; i++)
        at += (size_t)snprintf(text + at, 96 - at, "%s%lld", i ? "x" : "",
                               (long long)(list && (size_t)i < count ? list[i] : missing));
}

/* Operators whose kernels ask for work spaces are named as a capture names them. */
void plim__autograd_mark(plim__autograd *a, const plim__node *node, unsigned gradients) {
    bool backward = gradients != 0;
    char x[96], w[96], y[96], stride[96] = "1", pad[96] = "0", dilation[96] = "1", text[640];
    const plim__torch_row *row = plim__torch_row_find(node->op_name);
    plim__torch_kind kind = plim__torch_kind_of(node->op_name);
    if (kind != PLIM__TORCH_CONV && kind != PLIM__TORCH_CONV_TRANSPOSE) {
        bool gemm = row && row->cast == PLIM__CAST_HALF;
        plim__tape_mark(&a->tape, PLIM__MARK_OPERATOR, 0, gemm ? "gemm" : node->op_name);
        return;
    }
    plim_value in = plim__node_in(node, 0), weight = plim__node_in(node, 1), out = plim__node_out(node, 0);
    const plim__shape *shape = &a->g->values.items[in].shape;
    write_dims(shape, x, sizeof x);
    write_dims(&a->g->values.items[weight].shape, w, sizeof w);
    write_dims(&a->g->values.items[out].shape, y, sizeof y);
    write_list(node, "strides", shape->rank - 2, 1, stride);
    write_list(node, "pads", shape->rank - 2, 0, pad);
    write_list(node, "dilations", shape->rank - 2, 1, dilation);
    int written = snprintf(text, sizeof text, "conv%s %s %s s%s p%s d%s g%lld t%d e%d", backward ? "_backward" : "", x,
                           w, stride, pad, dilation, (long long)plim__node_int(node, "group", 1),
                           kind == PLIM__TORCH_CONV_TRANSPOSE, a->width[out]);
    if (backward && written > 0 && (size_t)written < sizeof text)
        snprintf(text + written, sizeof text - (size_t)written, " m%d%d o%s", (gradients & PLIM__GRADIENT_INPUT) != 0,
                 (gradients & PLIM__GRADIENT_WEIGHT) != 0, y);
    plim__tape_mark(&a->tape, PLIM__MARK_OPERATOR, 0, text);
}

/* Bytes of the numbers that a normalisation saves beside its input. */
static uint64_t statistics_of(const plim__autograd *a, const plim__node *node) {
    const plim__shape *shape = &a->g->values.items[plim__node_in(node, 0)].shape;
    bool channels = plim__torch_kind_of(node->op_name) == PLIM__TORCH_BATCH_NORM;
    if (shape->rank < 2) return 8;
    if (channels) return (uint64_t)shape->dims[1] * 8;
    int64_t last = shape->dims[shape->rank - 1];
    return plim__autograd_elements(a, plim__node_in(node, 0)) / (uint64_t)(last > 0 ? last : 1) * 8;
}

static void save_inputs(plim__autograd *a, const plim__node *node, const uint32_t *inputs) {
    for (size_t i = 0; i < node->inputs.count && i < 8; i++) {
        bool other = false; /* an input is needed for the gradients of the others */
        for (size_t k = 0; k < node->inputs.count; k++)
            other = other || (k != i && node->inputs.items[k] >= 0 && a->needs[node->inputs.items[k]]);
        if (other || node->inputs.count == 1) save(a, inputs[i]);
    }
}

/* A number for each row of scores; the kernel for 32 bits fills the rows of a head up to a multiple of 32. */
static uint64_t log_sum_bytes(const plim__shape *shape, uint8_t width) {
    uint64_t rows = 4;
    for (int i = 0; i + 1 < shape->rank; i++) {
        uint64_t size = shape->dims[i] > 0 ? (uint64_t)shape->dims[i] : 1;
        rows *= i + 2 == shape->rank && width == 4 ? (size + 31) / 32 * 32 : size;
    }
    return rows;
}

static void save_for(plim__autograd *a, const plim__node *node, const plim__torch_row *row, const uint32_t *inputs) {
    plim_value out = plim__node_out(node, 0), in = plim__node_in(node, 0);
    switch (row->saves) {
    case PLIM__SAVES_NOTHING: return;
    case PLIM__SAVES_X: save_inputs(a, node, inputs); return;
    case PLIM__SAVES_X0: save(a, inputs[0]); return;
    case PLIM__SAVES_Y: save(a, a->storage[out]); return;
    case PLIM__SAVES_MASK: save_new(a, node, "mask", plim__autograd_elements(a, out)); return;
    case PLIM__SAVES_INDEX:
        save(a, inputs[0]);
        save_new(a, node, "indices", plim__autograd_elements(a, out) * 8);
        return;
    case PLIM__SAVES_STATS:
        save(a, inputs[0]);
        save_new(a, node, "statistics", statistics_of(a, node));
        return;
    case PLIM__SAVES_XY:
    case PLIM__SAVES_EQUAL:
    case PLIM__SAVES_GELU:
    case PLIM__SAVES_NORM: return; /* of graph mode only */
    case PLIM__SAVES_ATTENTION: {
        const plim__shape *shape = &a->g->values.items[in].shape;
        for (size_t i = 0; i < node->inputs.count && i < 8; i++) save(a, inputs[i]);
        save(a, a->storage[out]);
        save_new(a, node, "log-sum-exp", log_sum_bytes(shape, a->width[out]));
        return;
    }
    }
}

/* A bias that is added to a product is part of it. */
static bool is_bias(const plim__autograd *a, const plim__node *node) {
    if (plim__torch_kind_of(node->op_name) != PLIM__TORCH_ADD || node->inputs.count != 2) return false;
    for (size_t i = 0; i < 2; i++) {
        plim_value bias = node->inputs.items[i], product = node->inputs.items[1 - i];
        if (bias < 0 || product < 0 || a->g->values.items[bias].kind != PLIM__VALUE_PARAMETER) continue;
        int32_t maker = a->g->values.items[product].producer;
        if (a->g->values.items[bias].shape.rank == 1 && maker >= 0 && a->uses[product] == 1 &&
            plim__torch_kind_of(a->g->nodes.items[maker].op_name) == PLIM__TORCH_MATMUL)
            return true;
    }
    return false;
}

static plim_value shared_input(plim__autograd *a, const plim__node *node, const plim__torch_row *row) {
    if (is_viewing(row)) {
        plim_value in = plim__node_in(node, 0);
        plim__strides strides;
        bool view = plim__strides_view(a->g, node, plim__torch_kind_of(node->op_name), &a->strides[in], &strides);
        return view ? in : PLIM_NO_VALUE;
    }
    if (is_bias(a, node))
        return plim__autograd_is_weight(a, node->inputs.items[0]) ? node->inputs.items[1] : node->inputs.items[0];
    if (row->memory != PLIM__MEMORY_OVER) return PLIM_NO_VALUE;
    plim_value in = plim__node_in(node, 0);
    int32_t maker = in >= 0 ? a->g->values.items[in].producer : -1;
    const plim__torch_row *before = maker >= 0 ? plim__torch_row_find(a->g->nodes.items[maker].op_name) : NULL;
    bool writable = before && before->saves != PLIM__SAVES_Y && a->uses[in] == 1;
    return writable ? in : PLIM_NO_VALUE;
}

/* A low-rank adapter beside a frozen product: its own input, its middle, and a second output that is added. */
static void adapt(plim__autograd *a, const plim__node *node, uint32_t input) {
    plim_value out = plim__node_out(node, 0);
    if (!plim__autograd_has_adapter(a, node)) return;
    const plim__shape *shape = &a->g->values.items[out].shape;
    uint64_t last = shape->rank > 0 && shape->dims[shape->rank - 1] > 0 ? (uint64_t)shape->dims[shape->rank - 1] : 1;
    save(a, input);
    save_new(a, node, "adapter", plim__autograd_elements(a, out) / last * (uint64_t)a->options->lora * a->width[out]);
    uint32_t added =
        plim__tape_new(&a->tape, "adapter", node->op_name, PLIM__KIND_ACTIVATION, plim__autograd_bytes(a, out));
    plim__tape_drop(&a->tape, added);
}

/* A product over many axes reads its input as one matrix, or as a batch of them: where its strides do not allow that, a copy is
 * made, and saved in its place. */
static void copy_for_product(plim__autograd *a, const plim__node *node, size_t i, uint32_t *input,
                             uint32_t *temporary) {
    plim_value in = node->inputs.items[i];
    if (!*input || plim__autograd_is_weight(a, in)) return;
    const plim__value *value = &a->g->values.items[in];
    bool matrix = plim__autograd_is_weight(a, node->inputs.items[1 - i]);
    int last = value->shape.rank - (matrix ? 1 : 2);
    if (value->shape.rank < 3 || plim__strides_join(&value->shape, &a->strides[in], 0, last)) return;
    uint32_t copy =
        plim__tape_new(&a->tape, name_of(a, in), "copy", PLIM__KIND_ACTIVATION, plim__autograd_bytes(a, in));
    plim__tape_drop(&a->tape, *temporary);
    *temporary = *input = copy;
}

static void forward_node(plim__autograd *a, size_t n) {
    const plim__node *node = &a->g->nodes.items[n];
    const plim__torch_row *row = plim__autograd_row(a, node);
    uint32_t inputs[8] = {0}, temporary[8] = {0};
    for (size_t i = 0; i < node->inputs.count && i < 8; i++)
        inputs[i] = cast_input(a, node, node->inputs.items[i], &temporary[i]);
    for (size_t i = 0; plim__torch_kind_of(node->op_name) == PLIM__TORCH_MATMUL && i < 2; i++)
        copy_for_product(a, node, i, &inputs[i], &temporary[i]);
    plim__autograd_mark(a, node, 0);
    plim_value shared = shared_input(a, node, row);
    for (size_t i = 0; i < node->outputs.count; i++) {
        plim_value out = node->outputs.items[i];
        if (out < 0 || (i > 0 && !a->uses[out])) continue;
        bool view = shared >= 0 && a->storage[shared];
        a->storage[out] = view ? plim__tape_hold(&a->tape, a->storage[shared])
                               : plim__tape_new(&a->tape, name_of(a, out), node->op_name, PLIM__KIND_ACTIVATION,
                                                plim__autograd_bytes(a, out));
        a->left[out] = a->uses[out];
    }
    a->first[n] = (uint32_t)a->saved.count;
    plim_value out = plim__node_out(node, 0);
    if (out >= 0 && a->needs[out]) {
        if (!*row->name) plim__autograd_note_unknown(a, node->op_name);
        save_for(a, node, row, inputs);
        adapt(a, node, inputs[0]);
    }
    a->count[n] = (uint32_t)a->saved.count - a->first[n];
    for (size_t i = 0; i < node->inputs.count; i++) {
        plim_value in = node->inputs.items[i];
        if (i < 8) plim__tape_drop(&a->tape, temporary[i]);
        if (in < 0 || plim__autograd_is_weight(a, in) || --a->left[in] > 0) continue;
        plim__tape_drop(&a->tape, a->storage[in]);
        a->storage[in] = 0;
    }
}

void plim__autograd_forward(plim__autograd *a, size_t from, size_t to) {
    for (size_t n = from; n < to && !a->tape.failed; n++)
        if (!a->g->nodes.items[n].dead) forward_node(a, n);
}

/* --- backward ------------------------------------------------------------------------------------------------- */

void plim__autograd_deliver(plim__autograd *a, plim_value value, uint32_t storage) {
    if (!storage) return;
    uint32_t old = a->gradient[value];
    if (!old) {
        a->gradient[value] = storage;
        return;
    }
    if (plim__tape_is_alone(&a->tape, old)) { /* the sum is written over it */
        plim__tape_drop(&a->tape, storage);
        return;
    }
    a->gradient[value] = plim__tape_new(&a->tape, name_of(a, value), "sum of gradients", PLIM__KIND_ACTIVATION,
                                        plim__autograd_bytes(a, value));
    plim__tape_drop(&a->tape, old);
    plim__tape_drop(&a->tape, storage);
}

static uint32_t new_gradient(plim__autograd *a, const plim__node *node, plim_value in) {
    bool weight = plim__autograd_is_weight(a, in);
    const plim__torch_row *row = plim__torch_row_find(node->op_name);
    bool narrow = is_half_precision(a) && row && row->cast == PLIM__CAST_HALF && a->width[in] == 4;
    uint32_t half = narrow ? plim__tape_new(&a->tape, name_of(a, in), node->op_name, PLIM__KIND_ACTIVATION,
                                            plim__autograd_elements(a, in) * 2)
                           : 0;
    uint32_t made = plim__tape_new(&a->tape, name_of(a, in), node->op_name,
                                   weight ? PLIM__KIND_GRADIENT : PLIM__KIND_ACTIVATION, plim__autograd_bytes(a, in));
    plim__tape_drop(&a->tape, half);
    return made;
}

static void backward_input(plim__autograd *a, const plim__node *node, const plim__torch_row *row, plim_value in) {
    plim_value out = plim__node_out(node, 0);
    uint32_t incoming = a->gradient[out];
    bool same = plim__autograd_elements(a, in) == plim__autograd_elements(a, out) && a->width[in] == a->width[out];
    bool passes = row->memory == PLIM__MEMORY_VIEW || (row->memory == PLIM__MEMORY_PASS && same) ||
                  (is_bias(a, node) && !plim__autograd_is_weight(a, in));
    if (passes && same && incoming)
        plim__autograd_deliver(a, in, plim__tape_hold(&a->tape, incoming));
    else
        plim__autograd_deliver(a, in, new_gradient(a, node, in));
}

static void backward_node(plim__autograd *a, size_t n) {
    const plim__node *node = &a->g->nodes.items[n];
    const plim__torch_row *row = plim__autograd_row(a, node);
    bool wanted = false;
    for (size_t i = 0; i < node->outputs.count; i++)
        wanted = wanted || (node->outputs.items[i] >= 0 && a->gradient[node->outputs.items[i]]);
    if (wanted) {
        plim_value in = plim__node_in(node, 0), weight = plim__node_in(node, 1);
        plim__autograd_mark(a, node,
                            PLIM__GRADIENT | (in >= 0 && a->needs[in] ? PLIM__GRADIENT_INPUT : 0) |
                                (weight >= 0 && a->needs[weight] ? PLIM__GRADIENT_WEIGHT : 0));
        for (size_t i = 0; i < node->inputs.count; i++) {
            in = node->inputs.items[i];
            if (in >= 0 && a->needs[in]) backward_input(a, node, row, in);
        }
    }
    for (size_t i = 0; i < node->outputs.count; i++) {
        plim_value out = node->outputs.items[i];
        if (out < 0) continue;
        plim__tape_drop(&a->tape, a->gradient[out]);
        a->gradient[out] = 0;
    }
    for (uint32_t i = 0; i < a->count[n]; i++) plim__tape_drop(&a->tape, a->saved.items[a->first[n] + i]);
    a->count[n] = 0;
}

void plim__autograd_backward(plim__autograd *a, size_t from, size_t to) {
    for (size_t n = to; n-- > from && !a->tape.failed;)
        if (!a->g->nodes.items[n].dead) backward_node(a, n);
}
