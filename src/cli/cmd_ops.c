/* plimsoll ops: the operator table, for people and for docs/operators.md. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/terminal.h"

static const char *domain_of(const plim_operator *op) { return *op->domain ? op->domain : "ai.onnx"; }

static plim_operator row(size_t index) {
    plim_operator op;
    plim_operator_get(index, &op);
    return op;
}

static json_t *list_json(void) {
    json_t *list = json_array();
    for (size_t i = 0; i < plim_operator_count(); i++) {
        plim_operator op = row(i);
        json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:i, s:b, s:s, s:b, s:b, s:b}", "name", op.name,
                                              "domain", domain_of(&op), "since", op.since, "until", op.until,
                                              "gradient", op.differentiable, "gradient_reads", op.gradient_reads,
                                              "view", op.view, "in_place", op.in_place, "random", op.random));
    }
    return json_pack("{s:o}", "operators", list);
}

static void print_rows(const char *domain) {
    printf("\n## %s\n\n| operator | opsets | its gradient reads | memory |\n|---|---|---|---|\n",
           *domain ? domain : "ai.onnx");
    static const char *const memory[2][2] = {{"", "may write over an input"},
                                             {"a view where strides allow", "a view, or may write over an input"}};
    for (size_t i = 0; i < plim_operator_count(); i++) {
        plim_operator op = row(i);
        if (strcmp(op.domain, domain) != 0) continue;
        printf("| %s | %d to %d | %s | %s |\n", op.name, op.since, op.until, op.gradient_reads,
               memory[op.view != 0][op.in_place != 0]);
    }
}

/* Each domain once, in the order of the table. */
static void print_markdown(void) {
    puts("# Operators\n\nMade by `plimsoll ops --markdown` from the operator table (`src/ops/*.def`). The domain "
         "`plimsoll` holds what passes and\n"
         "gradients make; files of others never have it.\n\n"
         "What a gradient reads of the forward pass has to stay in memory until then, or to be computed again; an "
         "operator without an\n"
         "entry has no gradient. Lowering makes views and writes over inputs only where this table allows it.\n\n"
         "`If` needs a condition that the file or the shapes tell: its branch then takes its place. Weights inside a "
         "branch that shapes\n"
         "select are used, but not trained.");
    for (size_t i = 0; i < plim_operator_count(); i++) {
        size_t first = 0;
        while (strcmp(row(first).domain, row(i).domain) != 0) first++;
        if (first == i) print_rows(row(i).domain);
    }
}

static int run(plim__args *args) {
    if (plim__args_json(args)) return plim__say_json(args, list_json());
    if (plim__args_has(args, "markdown")) return print_markdown(), PLIM_EXIT_OK;
    for (size_t i = 0; i < plim_operator_count(); i++) {
        plim_operator op = row(i);
        plim__terminal_line(stdout, "%-26s %-23s opsets %2d to %2d%s", op.name, domain_of(&op), op.since, op.until,
                            op.differentiable ? "  gradient" : "");
    }
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
