/* Rows of a table that stays in its file: those that a batch asks for, one read each. */
#include "kernel/copies.h"
#include "kernel/indices.h"
#include "kernel/lowers.h"

struct file_gather {
    plim__tensor *table;
    plim_dtype index_type;
    int64_t count;
};

static plim_status run(const plim__call *call) {
    const struct file_gather *s = call->state;
    int64_t rows = s->table->shape.dims[0], width = s->table->shape.dims[1];
    for (int64_t i = 0; i < s->count; i++) {
        int64_t row = plim__index_at(s->index_type, call->in[0], i, rows);
        if (row < 0) return plim__index_fail(call, s->index_type, call->in[0], i, rows);
        PLIM_TRY(plim__tensor_read_part(s->table, row * width, width, (float *)call->out[0] + i * width, call->error));
    }
    return PLIM_OK;
}

static void free_gather(void *state) {
    plim__tensor_release(((struct file_gather *)state)->table);
    plim__free(state);
}

plim_status plim__lower_file_gather(plim__lower *l) {
    struct file_gather *s;
    PLIM_TRY(plim__lower_input(l, 1, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    s->table =
        plim__tensor_retain(plim__graph_constant_tensor(plim__lower_graph(l), plim__node_in(plim__lower_node(l), 0)));
    s->index_type = plim__lower_input_dtype(l, 1);
    s->count = plim__shape_elements(plim__lower_input_shape(l, 1));
    return plim__lower_emit(l, "FileGather", run, s, free_gather);
}
