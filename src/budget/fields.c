/* Fields of training graphs. */
#include "budget/fields.h"

#include <stdio.h>

#include "ops/op.h"

static void describe(const plim__training *training, plim_value v, bool target, plim_data_field *field) {
    const plim_graph *g = training->graph;
    const plim__value *value = &g->values.items[v];
    bool counts = value->dtype == PLIM_I64 || value->dtype == PLIM_I32;
    *field = (plim_data_field){.dtype = value->dtype, .rank = value->shape.rank - 1, .target = target};
    snprintf(field->name, sizeof field->name, "%s", target ? "target" : value->name);
    int64_t elements = 1;
    for (int i = 0; i < field->rank && i < PLIM_DATA_MAX_RANK; i++)
        elements *= field->dims[i] = value->shape.dims[i + 1];
    field->bytes = (size_t)elements * (size_t)plim_dtype_bits(value->dtype) / 8;
    if (counts) field->classes = target ? training->classes : plim__op_rows_picked(g, v);
}

int plim__training_fields(const plim__training *training, plim_data_field fields[PLIM_MOST_INPUTS + 1]) {
    int count = 0;
    for (size_t i = 0; i < training->graph->inputs.count && count < PLIM_MOST_INPUTS; i++) {
        plim_value v = training->graph->inputs.items[i];
        if (v != training->target && plim__training_is_data(training, v))
            describe(training, v, false, &fields[count++]);
    }
    if (training->target >= 0) describe(training, training->target, true, &fields[count++]);
    return count;
}
