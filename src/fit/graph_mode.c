/* A step of TensorFlow's graph mode. */
#include "fit/graph_mode.h"

#include <string.h>

const plim__torch_row *plim__graph_mode_row(const char *name) {
    static const plim__torch_row rows[] = {
#define TENSORFLOW(op, saves, memory, cast)                                                                            \
    {op, PLIM__SAVES_##saves, PLIM__MEMORY_##memory, PLIM__CAST_##cast, PLIM__TORCH_OTHER},
#include "fit/tensorflow_ops.def"
#undef TENSORFLOW
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

bool plim__graph_mode_updates(const plim__autograd *a) { return a->options->graph_mode && !a->options->micro; }

/* Keras' optimizers as TensorFlow runs them, in tensors of the weight's size: `ready` are computed when the step begins (the
 * old average times its factor), `work` are alive beside the gradient at once (its square, the new value of the weight). */
static const struct update_row {
    uint8_t ready, work;
} updates[PLIM_MODEL_OPTIMIZERS] = {
    [PLIM_MODEL_SGD] = {0, 1},     [PLIM_MODEL_MOMENTUM] = {1, 1},    [PLIM_MODEL_ADAM] = {0, 1},
    [PLIM_MODEL_ADAMW] = {0, 1},   [PLIM_MODEL_ADAMW_FUSED] = {0, 1}, [PLIM_MODEL_ADAMW_8BIT] = {0, 1},
    [PLIM_MODEL_RMSPROP] = {1, 1}, [PLIM_MODEL_ADAGRAD] = {0, 1},
};

static bool is_trained(const plim__autograd *a, size_t v) {
    return a->needs[v] && a->g->values.items[v].kind == PLIM__VALUE_PARAMETER && a->uses[v] > 0;
}

static uint32_t new_part(plim__autograd *a, plim_value weight, const char *what) {
    return plim__tape_new(&a->tape, a->g->values.items[weight].name, what, PLIM__KIND_OPTIMIZER,
                          plim__autograd_bytes(a, weight));
}

void plim__graph_mode_begin(plim__autograd *a) {
    if (!plim__graph_mode_updates(a)) return;
    for (size_t v = 0; v < a->g->values.count; v++) {
        if (!is_trained(a, v)) continue;
        a->left[v] = a->uses[v];
        if (updates[a->options->optimizer].ready) a->ready[v] = new_part(a, (plim_value)v, "ready");
    }
}

void plim__graph_mode_deliver(plim__autograd *a, plim_value weight) {
    uint32_t parts[4];
    if (!plim__graph_mode_updates(a) || !is_trained(a, (size_t)weight) || --a->left[weight] > 0) return;
    size_t count = updates[a->options->optimizer].work;
    for (size_t i = 0; i < count; i++) parts[i] = new_part(a, weight, "step");
    for (size_t i = 0; i < count; i++) plim__tape_drop(&a->tape, parts[i]);
    plim__tape_drop(&a->tape, a->ready[weight]);
    plim__tape_drop(&a->tape, a->gradient[weight]);
    a->ready[weight] = a->gradient[weight] = 0;
}

plim_value plim__graph_mode_overwrites(const plim__autograd *a, const plim__node *node, const plim__torch_row *row) {
    bool may = row->memory == PLIM__MEMORY_OVER || row->memory == PLIM__MEMORY_PASS;
    uint64_t bytes = plim__autograd_bytes(a, plim__node_out(node, 0));
    for (size_t i = 0; may && i < node->inputs.count; i++) {
        plim_value in = node->inputs.items[i];
        if (in < 0 || plim__autograd_is_weight(a, in) || a->left[in] != 1) continue;
        if (plim__autograd_bytes(a, in) == bytes && plim__tape_is_alone(&a->tape, a->storage[in])) return in;
    }
    return PLIM_NO_VALUE;
}

size_t plim__graph_mode_temporaries(const plim__node *node) {
    const plim__torch_row *row = plim__graph_mode_row(node->op_name);
    bool norm = plim__torch_kind_of(node->op_name) == PLIM__TORCH_BATCH_NORM || (row && row->saves == PLIM__SAVES_NORM);
    return norm ? 2 : 0;
}
