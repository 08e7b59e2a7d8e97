/* The table of levers. A setting that differs from the whole batch in one lever tells what that lever does alone: both without
 * recompute, which is a row of its own; but weights in a file save where they are fetched again, so that both are compared
 * at their least. */
#include "budget/lever_table.h"

#include <string.h>

struct table {
    const plim__setting *whole;
    const plim__candidate *choice;
    plim_plan_lever *rows;
    int count;
};

static size_t bytes_of(const plim__setting *s, bool least) {
    return s->persistent_bytes + (least ? s->last_transient : s->first_transient);
}

/* A lever that saves nothing is no row; of one with several settings (sizes of micro-batches), the row that saves the most. */
static void add(struct table *t, plim_plan_lever row) {
    int at = 0;
    if (row.saved_bytes == 0) return;
    while (at < t->count && strcmp(t->rows[at].name, row.name) != 0) at++;
    if (at == PLIM_PLAN_LEVERS || (at < t->count && t->rows[at].saved_bytes >= row.saved_bytes)) return;
    t->rows[at] = row;
    if (at == t->count) t->count++;
}

static void add_recompute(struct table *t) {
    const plim__setting *s = t->whole;
    add(t, (plim_plan_lever){.name = "recompute",
                             .saved_bytes = s->first_transient - s->last_transient,
                             .seconds = s->last_seconds * (double)s->runs,
                             .class_ = PLIM_EXACT,
                             .used = t->choice->repeated > 0});
}

static void add_spill(struct table *t, const plim__task *task) {
    size_t most = plim__spill_list_most(&t->whole->spillable, task->spill_room);
    add(t, (plim_plan_lever){.name = "state in a file",
                             .saved_bytes = most > t->whole->window ? most - t->whole->window : 0,
                             .seconds = 2 * (double)most / task->costs->disk,
                             .class_ = PLIM_EXACT,
                             .used = t->choice->levers.spill > 0});
}

/* Levers by which settings differ from each other, and the fields that say so. */
#define LEVERS(EACH)                                                                                                   \
    EACH("weights in a file", stream)                                                                                  \
    EACH("micro-batches", micro_batch)                                                                                 \
    EACH("loss in chunks", loss_rows)                                                                                  \
    EACH("state in 8 bits", state_bits)                                                                                \
    EACH("16 bits", precision)

#define NAME(name, field) name,
static const char *const names[] = {LEVERS(NAME)};
#undef NAME

/* Bit i: they differ in the i-th of them. */
static unsigned differences(const plim__levers *a, const plim__levers *b) {
    unsigned bits = 0, bit = 1;
#define COMPARE(name, field)                                                                                           \
    if (a->field != b->field) bits |= bit;                                                                             \
    bit <<= 1;
    LEVERS(COMPARE)
#undef COMPARE
    return bits;
}

/* The one in which they differ; NULL: there are several, or none. */
static const char *only_name(unsigned bits) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (bits == 1u << i) return names[i];
    return NULL;
}

static void add_setting(struct table *t, const plim__setting *s, const plim__costs *costs) {
    const plim__levers *own = &s->levers, *whole = &t->whole->levers;
    unsigned bits = differences(own, whole);
    const char *name = s->explored ? only_name(bits) : NULL;
    bool least = own->stream != whole->stream;
    if (!name || bytes_of(s, least) >= bytes_of(t->whole, least)) return;
    add(t, (plim_plan_lever){.name = name,
                             .saved_bytes = bytes_of(t->whole, least) - bytes_of(s, least),
                             .seconds = s->update_seconds - t->whole->update_seconds +
                                        (double)s->streamed_bytes / costs->disk, /* fetched once more */
                             .class_ = s->class,
                             .used = (bits & differences(&t->choice->levers, whole)) != 0});
}

int plim__lever_table(const plim__candidates *all, const plim__candidate *choice, plim_plan_lever *rows) {
    if (all->settings.count == 0 || !all->settings.items[0]->explored) return 0;
    struct table t = {.whole = all->settings.items[0], .choice = choice, .rows = rows};
    add_recompute(&t);
    add_spill(&t, &all->task);
    for (size_t i = 1; i < all->settings.count; i++) add_setting(&t, all->settings.items[i], all->task.costs);
    return t.count;
}
