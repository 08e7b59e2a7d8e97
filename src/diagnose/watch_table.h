/* Who holds the memory: a table of processes that is looked at again and again, so that it can say how each grows. */
#ifndef PLIM_DIAGNOSE_WATCH_TABLE_H
#define PLIM_DIAGNOSE_WATCH_TABLE_H

#include "core/vec.h"
#include "diagnose/watch_gpu.h"
#include "diagnose/watch_process.h"
#include "plimsoll/watch.h"

typedef struct plim__table_row {
    plim__process process;
    uint64_t gpu;      /* bytes on all GPUs */
    bool growth_known; /* it was there before */
    double growth;     /* resident bytes a minute, over the last quarter of a minute or more where possible */
    /* two earlier looks, the older one at least fifteen seconds before the newer one, when there was time for that */
    double older_seconds, newer_seconds;
    uint64_t older_rss, newer_rss;
} plim__table_row;

typedef plim_process_key plim__table_key;

/* "rss", "pss": the word for a key. */
const char *plim__table_word(plim__table_key key);

typedef struct plim__table {
    PLIM_VEC(plim__table_row) rows; /* processes with memory of their own: no kernel threads */
    uint64_t rss, pss, swap, gpu;   /* sums; RSS counts shared pages several times */
} plim__table;

/* Looks at everything at time `seconds`, with the details of the `detailed` largest (all of them when sorting needs
 * it), and sorts. `gpus` may be NULL. */
plim_status plim__table_look(plim__table *table, plim__gpus *gpus, double seconds, plim__table_key key, size_t detailed,
                             plim_error *error);
void plim__table_sort(plim__table *table, plim__table_key key);
void plim__table_free(plim__table *table);

#endif
