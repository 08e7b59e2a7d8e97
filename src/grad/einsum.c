/* Gradients of Einsum: each operand's is an Einsum of dy and the others. */
#include <string.h>

#include "grad/gradient.h"
#include "ops/movement.h"

/* Labels that are used, axes behind an ellipsis among them, are named by letters in their order. */
static char letter(const plim__einsum *e, int label) {
    int number = 0;
    for (int i = 0; i < label; i++) number += e->size[i] >= 0;
    return (char)(number < 26 ? 'a' + number : 'A' + number - 26);
}

/* Ones where axes a and b of x have the same index; they are of the same size. */
static plim_value diagonal(plim__gradient *d, plim_value x, int a, int b) {
    plim__shape shape = plim__gradient_shape(d, x), ones = {.rank = shape.rank};
    int64_t size = shape.dims[a];
    for (int i = 0; i < shape.rank; i++) ones.dims[i] = i == a || i == b ? size : 1;
    float *eye = plim__alloc_zero((size_t)size * (size_t)size, sizeof *eye);
    if (!eye) {
        plim__graph_fail(d->graph, PLIM_NO_MEMORY, "out of memory while building gradients");
        return PLIM_NO_VALUE;
    }
    for (int64_t i = 0; i < size; i++) eye[i * size + i] = 1;
    plim_value made = plim_graph_constant(d->graph, NULL, PLIM_F32, ones.rank, ones.dims, eye);
    plim__free(eye);
    return plim__gradient_cast_to(d, made, plim__gradient_dtype(d, x));
}

/* The product of dy and the other operands, summed to i's labels, each once and only where it is known; `with_ones` is
 * its shape with a 1 for every axis that is missing. */
static plim_value others(plim__gradient *d, const plim__einsum *e, int i, plim__shape *with_ones) {
    char text[PLIM__EINSUM_INPUTS * (PLIM_MAX_RANK + 1) + 2 * PLIM_MAX_RANK + 8], *at = text;
    bool known[PLIM__EINSUM_LABELS] = {false};
    plim_value inputs[PLIM__EINSUM_INPUTS] = {plim__gradient_of_output(d, 0)};
    size_t count = 1;
    for (int k = 0; k < e->out_rank; k++) *at++ = letter(e, e->out_labels[k]), known[e->out_labels[k]] = true;
    for (int j = 0; j < e->inputs; j++) {
        if (j == i) continue;
        *at++ = ',';
        inputs[count++] = plim__gradient_input(d, (size_t)j);
        for (int k = 0; k < e->rank[j]; k++) *at++ = letter(e, e->labels[j][k]), known[e->labels[j][k]] = true;
    }
    *at++ = '-';
    *at++ = '>';
    for (int k = 0; k < e->rank[i]; k++) {
        int label = e->labels[i][k];
        if (known[label] && with_ones->dims[k] == e->size[label]) {
            *at++ = letter(e, label);
            known[label] = false; /* a label that comes again is a diagonal */
        } else {
            with_ones->dims[k] = 1;
        }
    }
    *at = 0;
    int32_t node = plim__gradient_begin(d, "", "Einsum", inputs, count, 1);
    plim_graph_set_string(d->graph, node, "equation", text);
    return plim__gradient_reshape(d, plim__gradient_end(d, node), with_ones);
}

static plim_status operand(plim__gradient *d, const plim__einsum *e, int i) {
    plim__shape own = plim__gradient_shape(d, plim__gradient_input(d, (size_t)i)), with_ones = own;
    plim_value gradient = others(d, e, i, &with_ones);
    gradient = plim__gradient_expand(d, gradient, &own);
    for (int a = 0; a < e->rank[i]; a++)
        for (int b = a + 1; b < e->rank[i]; b++)
            if (e->labels[i][a] == e->labels[i][b] && own.dims[a] == own.dims[b])
                gradient = plim__gradient_two(d, "Mul", gradient, diagonal(d, gradient, a, b));
    return plim__gradient_set(d, (size_t)i, gradient);
}

plim_status plim__gradient_einsum(plim__gradient *d) {
    plim__einsum e;
    plim__infer reading = plim__gradient_reading(d);
    PLIM_TRY(plim__einsum_read(&reading, &e));
    int used = 0;
    for (int label = 0; label < PLIM__EINSUM_LABELS; label++) used += e.size[label] >= 0;
    if (used > 52) return plim__gradient_unsupported(d, "with more labels than letters "); /* no model has that */
    for (int i = 0; i < e.inputs; i++)
        if (plim__gradient_wanted(d, (size_t)i)) PLIM_TRY(operand(d, &e, i));
    return PLIM_OK;
}
