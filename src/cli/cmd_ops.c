/* plimsoll ops: the operator table, for people and for docs/operators.md. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "ops/op.h"

static const char *domain_of(const plim__op *op) { return *op->domain ? op->domain : "ai.onnx"; }

static json_t *list_json(void) {
    json_t *list = json_array();
    for (size_t i = 0; i < plim__op_count; i++) {
        const plim__op *op = &plim__ops[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:i, s:b, s:b}", "name", op->name, "domain",
                                              domain_of(op), "since", op->since, "until", op->until, "gradient",
                                              plim__op_has_gradient(op), "in_place", (op->flags & PLIM__OP_INPLACE) != 0));
    }
    return json_pack("{s:o}", "operators", list);
}

static void print_rows(const char *domain) {
    printf("\n## %s\n\n| operator | opsets | gradient | memory |\n|---|---|---|---|\n", *domain ? domain : "ai.onnx");
    for (size_t i = 0; i < plim__op_count; i++) {
        const plim__op *op = &plim__ops[i];
        if (strcmp(op->domain, domain) != 0) continue;
        const char *memory = op->flags & PLIM__OP_VIEW      ? "a view where strides allow"
                             : op->flags & PLIM__OP_INPLACE ? "may write over its input"
                                                            : "";
        printf("| %s | %d to %d | %s | %s |\n", op->name, op->since, op->until, plim__op_has_gradient(op) ? "yes" : "", memory);
    }
}

/* Each domain once, in the order of the table. */
static void print_markdown(void) {
    puts("# Operators\n\nMade by `plimsoll ops --markdown` from the operator table (`src/ops/*.def`). The domain "
         "`plimsoll` holds what passes and\n"
         "gradients make; files of others never have it.\n\n"
         "`If` needs a condition that the file or the shapes tell: its branch then takes its place. Weights inside a "
         "branch that shapes\n"
         "select are used, but not trained.");
    for (size_t i = 0; i < plim__op_count; i++) {
        size_t first = 0;
        while (strcmp(plim__ops[first].domain, plim__ops[i].domain) != 0) first++;
        if (first == i) print_rows(plim__ops[i].domain);
    }
}

static int run(plim__args *args) {
    if (plim__args_json(args)) return plim__say_json(args, list_json());
    if (plim__args_has(args, "markdown")) return print_markdown(), PLIM_EXIT_OK;
    for (size_t i = 0; i < plim__op_count; i++)
        printf("%-28s %-26s opsets %2d to %2d%s\n", plim__ops[i].name, domain_of(&plim__ops[i]), plim__ops[i].since,
               plim__ops[i].until, plim__op_has_gradient(&plim__ops[i]) ? "  gradient" : "");
    return PLIM_EXIT_OK;
}

static const plim__option options[] = {
    {"markdown", 0, NULL, "print docs/operators.md"},
    {0},
};

const plim__command plim__command_ops = {
    .name = "ops",
    .usage = "[--markdown]",
    .summary = "List the operators that models may use",
    .options = options,
    .examples = "  plimsoll ops | grep Conv",
    .run = run,
};
