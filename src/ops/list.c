/* The operator table and the passes as the public API lists them. */
#include "plimsoll/operators.h"

#include <string.h>

#include "graph/pass.h"
#include "ops/op.h"

size_t plim_operator_count(void) { return plim__op_count; }

void plim_operator_get(size_t index, plim_operator *row) {
    if (!row) return;
    memset(row, 0, sizeof *row);
    if (index >= plim__op_count) return;
    const plim__op *op = &plim__ops[index];
    *row = (plim_operator){.domain = op->domain,
                           .name = op->name,
                           .since = op->since,
                           .until = op->until,
                           .differentiable = plim__op_has_gradient(op),
                           .view = (op->flags & PLIM__OP_VIEW) != 0,
                           .in_place = (op->flags & PLIM__OP_INPLACE) != 0,
                           .random = (op->flags & PLIM__OP_RANDOM) != 0};
    _Static_assert(sizeof row->gradient_reads == PLIM__SAVED_TEXT, "the text fits");
    plim__op_saved_text(op, row->gradient_reads);
}

size_t plim_pass_count(void) { return plim__pass_count; }

void plim_pass_get(size_t index, plim_pass *pass) {
    if (!pass) return;
    memset(pass, 0, sizeof *pass);
    if (index < plim__pass_count) *pass = (plim_pass){plim__passes[index].name, plim__passes[index].summary};
}
