/* Who holds the memory. */
#include "diagnose/watch_table.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

static const double anchor_seconds = 15;

const char *plim__table_word(plim__table_key key) {
    static const char *const words[PLIM_PROCESS_KEYS] = {"rss", "pss",    "swap", "shared",
                                                         "gpu", "growth", "pid",  "name"};
    return (unsigned)key < PLIM_PROCESS_KEYS ? words[key] : "";
}

/* --- order ---------------------------------------------------------------------------------------------------- */

static int descending(double a, double b) { return (a < b) - (a > b); }

static int compare_by(plim__table_key key, const plim__table_row *a, const plim__table_row *b) {
    const plim__process *p = &a->process, *q = &b->process;
    switch (key) {
    case PLIM_PROCESS_PSS: return descending((double)p->pss, (double)q->pss);
    case PLIM_PROCESS_SWAP: return descending((double)p->swap, (double)q->swap);
    case PLIM_PROCESS_SHARED: return descending((double)p->shared, (double)q->shared);
    case PLIM_PROCESS_GPU: return descending((double)a->gpu, (double)b->gpu);
    case PLIM_PROCESS_GROWTH: return descending(a->growth, b->growth);
    case PLIM_PROCESS_PID: return (p->pid > q->pid) - (p->pid < q->pid);
    case PLIM_PROCESS_NAME: return strcmp(p->name, q->name);
    default: return descending((double)p->rss, (double)q->rss);
    }
}

static int compare(const void *a, const void *b, void *key) {
    const plim__table_row *x = a, *y = b;
    int order = compare_by(*(plim__table_key *)key, x, y);
    if (order == 0) order = compare_by(PLIM_PROCESS_RSS, x, y);
    return order ? order : compare_by(PLIM_PROCESS_PID, x, y);
}

void plim__table_sort(plim__table *table, plim__table_key key) {
    if (table->rows.count > 1) qsort_r(table->rows.items, table->rows.count, sizeof *table->rows.items, compare, &key);
}

/* --- looking -------------------------------------------------------------------------------------------------- */

static const plim__table_row *find(const plim__table_row *rows, size_t count, const plim__process *process) {
    for (size_t i = 0; i < count; i++)
        if (rows[i].process.pid == process->pid && rows[i].process.started == process->started) return &rows[i];
    return NULL;
}

static void grow(plim__table_row *row, const plim__table_row *before, double now) {
    row->older_seconds = row->newer_seconds = now;
    row->older_rss = row->newer_rss = row->process.rss;
    if (!before) return;
    row->older_seconds = before->older_seconds;
    row->older_rss = before->older_rss;
    row->newer_seconds = before->newer_seconds;
    row->newer_rss = before->newer_rss;
    if (now > row->older_seconds) {
        row->growth_known = true;
        row->growth = ((double)row->process.rss - (double)row->older_rss) / (now - row->older_seconds) * 60;
    }
    if (now - row->newer_seconds < anchor_seconds) return;
    row->older_seconds = row->newer_seconds;
    row->older_rss = row->newer_rss;
    row->newer_seconds = now;
    row->newer_rss = row->process.rss;
}

static void add_gpus(plim__table *table, plim__gpus *gpus) {
    plim__gpu_process list[PLIM_GPU_PROCESSES_MOST];
    size_t count = gpus ? plim__gpus_processes(gpus, list, PLIM_GPU_PROCESSES_MOST) : 0;
    table->gpu = 0;
    for (size_t i = 0; i < count; i++) {
        table->gpu += list[i].bytes;
        for (size_t k = 0; k < table->rows.count; k++)
            if (table->rows.items[k].process.pid == list[i].pid) table->rows.items[k].gpu += list[i].bytes;
    }
}

plim_status plim__table_look(plim__table *table, plim__gpus *gpus, double seconds, plim__table_key key, size_t detailed,
                             plim_error *error) {
    plim__process_list list = {0};
    plim__table next = {0};
    if (!plim__process_scan(&list)) {
        plim__vec_free(&list);
        return plim__fail(error, PLIM_IO, "cannot read the processes in /proc");
    }
    bool good = true;
    for (size_t i = 0; i < list.count && good; i++) {
        if (list.items[i].rss == 0) continue;
        plim__table_row row = {.process = list.items[i]};
        good = plim__vec_push(&next.rows, row);
    }
    plim__vec_free(&list);
    if (!good) {
        plim__table_free(&next);
        return plim__fail_memory(error, "the table of processes", (next.rows.count + 1) * sizeof *next.rows.items);
    }
    plim__table_sort(&next, PLIM_PROCESS_RSS);
    if (key == PLIM_PROCESS_PSS || key == PLIM_PROCESS_SWAP || key == PLIM_PROCESS_SHARED) detailed = next.rows.count;
    for (size_t i = 0; i < next.rows.count; i++) {
        plim__table_row *row = &next.rows.items[i];
        if (i < detailed) plim__process_detail(&row->process);
        grow(row, find(table->rows.items, table->rows.count, &row->process), seconds);
        next.rss += row->process.rss;
        next.pss += row->process.detailed ? row->process.pss : 0;
        next.swap += row->process.swap;
    }
    add_gpus(&next, gpus);
    plim__table_sort(&next, key);
    plim__table_free(table);
    *table = next;
    return PLIM_OK;
}

void plim__table_free(plim__table *table) { plim__vec_free(&table->rows); }
