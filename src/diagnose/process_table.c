/* The public face of the table of processes. */
#include <string.h>

#include "core/alloc.h"
#include "core/arguments.h"
#include "core/clock.h"
#include "diagnose/watch_table.h"
#include "plimsoll/watch.h"

struct plim_process_table {
    plim__table table;
    plim__gpus *gpus;
    const char *note; /* why there are none */
    double start;
};

const char *plim_process_key_name(plim_process_key key) {
    return (unsigned)key < PLIM_PROCESS_KEYS ? plim__table_word(key) : "?";
}

plim_status plim_process_table_create(plim_process_table **table, plim_error *error) {
    if (!table) return plim__fail(error, PLIM_INVALID, "plim_process_table_create: there is no place for the table");
    plim_process_table *made = *table = plim__alloc_zero(1, sizeof *made);
    if (!made) return plim__fail_memory(error, "the table of processes", sizeof *made);
    made->note = "";
    made->gpus = plim__gpus_open(&made->note);
    made->start = plim__clock_seconds();
    return PLIM_OK;
}

void plim_process_table_free(plim_process_table *t) {
    if (!t) return;
    plim__gpus_close(t->gpus);
    plim__table_free(&t->table);
    plim__free(t);
}

plim_status plim_process_table_update(plim_process_table *t, plim_process_key key, size_t detailed, plim_error *error) {
    if (!t) return plim__fail(error, PLIM_INVALID, "plim_process_table_update: there is no table");
    if ((unsigned)key >= PLIM_PROCESS_KEYS)
        return plim__fail(error, PLIM_INVALID, "plim_process_table_update: there is no key %d", (int)key);
    return plim__table_look(&t->table, t->gpus, plim__clock_seconds() - t->start, key, detailed, error);
}

size_t plim_process_table_count(const plim_process_table *t) { return t ? t->table.rows.count : 0; }

void plim_process_table_get(const plim_process_table *t, size_t index, plim_process *process) {
    if (!process) return;
    memset(process, 0, sizeof *process);
    if (index >= plim_process_table_count(t)) return;
    const plim__table_row *row = &t->table.rows.items[index];
    const plim__process *p = &row->process;
    process->pid = (int)p->pid;
    process->parent = (int)p->parent;
    memcpy(process->name, p->name, sizeof process->name);
    plim__process_command(p, process->command, sizeof process->command);
    process->rss = p->rss;
    process->shared = p->shared;
    process->detailed = p->detailed;
    process->pss = p->pss;
    process->swap = p->swap;
    process->gpu = row->gpu;
    process->growth_known = row->growth_known;
    process->growth = row->growth;
}

size_t plim_process_table_gpu_count(const plim_process_table *t) { return t ? plim__gpus_count(t->gpus) : 0; }

int plim_process_table_get_gpu(plim_process_table *t, size_t index, plim_process_gpu *gpu) {
    plim__gpu read;
    if (!gpu) return 0;
    memset(gpu, 0, sizeof *gpu);
    if (index >= plim_process_table_gpu_count(t) || !plim__gpus_read(t->gpus, index, &read)) return 0;
    memcpy(gpu->name, read.name, sizeof gpu->name);
    gpu->total = read.total;
    gpu->used = read.used;
    return 1;
}

const char *plim_process_table_gpu_note(const plim_process_table *t) { return t && !t->gpus && t->note ? t->note : ""; }
