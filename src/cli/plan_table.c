/* Printing the table of a plan. */
#include "cli/plan_table.h"

#include <stdio.h>

#include "plimsoll/bytes.h"

enum { WIDE = 80, MIDDLE = 56 }; /* columns that a terminal must have for all figures, and for most */

typedef struct table {
    const plim__terminal *terminal;
    plim_plan_candidate rows[PLIM_PLAN_POINTS + 1];
    int count, chosen; /* chosen: -1 for none */
} table;

/* The same way of fitting; packing may have found a few bytes more or less for one of them. */
static bool is_same(const plim_plan_candidate *a, const plim_plan_candidate *b) {
    uint64_t most = a->arena_bytes > b->arena_bytes ? a->arena_bytes : b->arena_bytes,
             least = a->arena_bytes < b->arena_bytes ? a->arena_bytes : b->arena_bytes;
    return most - least <= most / 100 && a->micro_batch == b->micro_batch && a->recomputed == b->recomputed &&
           a->spilled == b->spilled && a->class_ == b->class_;
}

/* The chosen plan as a row: like every row with the least budget that gives it, which the asked one need not be. It was
 * measured, the smallest budget is estimated: nothing is said to work below that. */
static plim_plan_candidate row_of_chosen(const plim_plan_report *r) {
    plim_plan_candidate row = r->chosen;
    if (row.budget_bytes < r->minimum_budget_bytes) row.budget_bytes = r->minimum_budget_bytes;
    if (row.budget_bytes > r->budget_bytes) row.budget_bytes = r->budget_bytes;
    return row;
}

/* That row where the frontier has it too, with its estimate. */
static plim_plan_candidate merged(const plim_plan_candidate *own, const plim_plan_candidate *of, uint64_t asked) {
    plim_plan_candidate row = *own;
    row.budget_bytes = of->budget_bytes < asked ? of->budget_bytes : asked;
    return row;
}

static void add_chosen(table *t, const plim_plan_candidate *row) {
    t->chosen = t->count;
    t->rows[t->count++] = *row;
}

/* Whether a row would only raise questions beside the chosen one: it needs as much and gives no more, or differs from it in
 * nothing that the table shows but the way. */
static bool is_idle(const plim_plan_candidate *row, const plim_plan_candidate *chosen) {
    if (row->budget_bytes >= chosen->budget_bytes)
        return row->seconds >= chosen->seconds && row->class_ >= chosen->class_;
    return row->arena_bytes >= chosen->arena_bytes;
}

/* The chosen plan is the row that is the same, else a row of its own at the place of its budget. */
static void fill(table *t, const plim_plan_report *r) {
    bool chosen = r->fits && r->budget_bytes;
    plim_plan_candidate own = row_of_chosen(r);
    int rows = r->frontier_count < PLIM_PLAN_POINTS ? r->frontier_count : PLIM_PLAN_POINTS, same = rows;
    t->chosen = -1;
    while (chosen && same > 0 && !is_same(&r->frontier[same - 1], &own)) same--;
    if (chosen && same > 0) own = merged(&own, &r->frontier[same - 1], r->budget_bytes);
    for (int i = 0; i < rows; i++) {
        const plim_plan_candidate *c = &r->frontier[i];
        if (chosen && i == same - 1) {
            add_chosen(t, &own);
            continue;
        }
        if (chosen && is_idle(c, &own)) continue;
        if (chosen && same == 0 && t->chosen < 0 && c->budget_bytes < own.budget_bytes) add_chosen(t, &own);
        t->rows[t->count++] = *c;
    }
    if (chosen && t->chosen < 0) add_chosen(t, &own);
}

static void print_head(const table *t) {
    printf("\n%s\n", t->chosen >= 0 ? "Other budgets (> is the plan above):" : "Other budgets:");
    if (t->terminal->width >= WIDE)
        printf("  %10s %10s %8s %12s %10s %10s  %s\n", "budget", "arena", "s/update", "micro-batch", "recomputed",
               "spilled", "class");
    else if (t->terminal->width >= MIDDLE)
        printf("  %10s %8s %12s %10s  %s\n", "budget", "s/update", "micro-batch", "recomputed", "class");
    else
        printf("  %10s %8s  %s\n", "budget", "s/update", "class");
}

static void print_row(const table *t, int row) {
    const plim_plan_candidate *c = &t->rows[row];
    bool chosen = row == t->chosen;
    char budget[PLIM_BYTES_TEXT], arena[PLIM_BYTES_TEXT], spilled[PLIM_BYTES_TEXT], pieces[48];
    snprintf(pieces, sizeof pieces, "%lld x %lld", (long long)c->micro_batch, (long long)c->accumulate);
    plim_bytes_format(c->budget_bytes, budget);
    printf("%s%c ", chosen ? plim__terminal_style(t->terminal, PLIM_STYLE_BOLD) : "", chosen ? '>' : ' ');
    if (t->terminal->width >= WIDE)
        printf("%10s %10s %8.3g %12s %10llu %10s  %s", budget, plim_bytes_format(c->arena_bytes, arena), c->seconds,
               pieces, (unsigned long long)c->recomputed, plim_bytes_format(c->spilled, spilled),
               plim_class_name(c->class_));
    else if (t->terminal->width >= MIDDLE)
        printf("%10s %8.3g %12s %10llu  %s", budget, c->seconds, pieces, (unsigned long long)c->recomputed,
               plim_class_name(c->class_));
    else
        printf("%10s %8.3g  %s", budget, c->seconds, plim_class_name(c->class_));
    printf("%s\n", chosen ? plim__terminal_style(t->terminal, PLIM_STYLE_PLAIN) : "");
}

/* One line a word, of those that the table has. */
static void print_words(const table *t) {
    bool pieces = false, again = false, spilled = false, reordered = false, lossy = false;
    for (int i = 0; i < t->count; i++) {
        const plim_plan_candidate *c = &t->rows[i];
        pieces |= c->accumulate > 1;
        again |= c->recomputed > 0;
        spilled |= c->spilled > 0;
        reordered |= c->class_ == PLIM_REORDERED;
        lossy |= c->class_ == PLIM_LOSSY;
    }
    const struct {
        const char *word, *meaning;
        bool shown;
    } words[] = {
        {"budget", "the least --budget for the row: the process, and room to plan it", true},
        {"arena", "the block of memory that holds every tensor of the step", t->terminal->width >= WIDE},
        {"micro-batch", "samples run at once x parts of a batch", pieces && t->terminal->width >= MIDDLE},
        {"recomputed", "steps that are run again instead of keeping what they gave",
         again && t->terminal->width >= MIDDLE},
        {"spilled", "weights and optimizer state that are in a file", spilled && t->terminal->width >= WIDE},
        {"exact", "the same bits as without a budget", true},
        {"reordered", "the same sums, added in another order", reordered},
        {"lossy", "other numbers than without a budget", lossy},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].shown)
            plim__terminal_line(stdout, "  %s%-11s%s  %s", plim__terminal_style(t->terminal, PLIM_STYLE_DIM),
                                words[i].word, plim__terminal_style(t->terminal, PLIM_STYLE_PLAIN), words[i].meaning);
}

void plim__plan_table_print(const plim_plan_report *report, const plim__terminal *terminal) {
    table t = {.terminal = terminal};
    fill(&t, report);
    if (t.count == 0) return;
    print_head(&t);
    for (int i = 0; i < t.count; i++) print_row(&t, i);
    print_words(&t);
}

/* --- levers --------------------------------------------------------------------------------------------------- */

void plim__plan_levers_print(const plim_plan_report *r, const plim__terminal *terminal) {
    bool wide = terminal->width >= MIDDLE;
    if (r->lever_count == 0) return;
    plim__terminal_line(stdout, "\nWhat each lever saves by itself%s:",
                        r->budget_bytes && r->fits ? " (> is used by the plan above)" : "");
    printf("  %-17s %9s %9s%s\n", "lever", "saves", "adds", wide ? "  class" : "");
    for (int i = 0; i < r->lever_count; i++) {
        const plim_plan_lever *lever = &r->levers[i];
        char saved[PLIM_BYTES_TEXT], added[32];
        snprintf(added, sizeof added, "%+.2g s", lever->seconds);
        printf("%c %-17s %9s %9s%s%s\n", r->budget_bytes && r->fits && lever->used ? '>' : ' ', lever->name,
               plim_bytes_format(lever->saved_bytes, saved), added, wide ? "  " : "",
               wide ? plim_class_name(lever->class_) : "");
    }
}
