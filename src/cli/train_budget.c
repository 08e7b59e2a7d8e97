/* Budgets of runs. */
#include "cli/train_budget.h"

#include <stdio.h>
#include <string.h>

#include "mem/budget_request.h"
#include "mem/resident.h"

void plim__train_budget_begin(plim__train_budget *b, const plim__args *args, const plim_trainer_options *options) {
    const char *text = plim__args_get(args, "budget");
    *b = (plim__train_budget){.watch = {.automatic = text && strcmp(text, "auto") == 0, .budget = options->budget}};
    b->open = plim__budget_request_open(NULL) == PLIM_OK; /* where that is not possible, nobody can ask */
}

plim_status plim__train_budget_poll(plim__train_budget *b, plim_trainer *trainer, bool quiet, plim_error *error) {
    bool changed;
    *b->watch.notice = 0;
    plim_status status = plim__budget_watch_poll(&b->watch, trainer, &changed, error);
    if (*b->watch.notice && !quiet) fprintf(stderr, "plimsoll train: %s\n", b->watch.notice);
    return status;
}

void plim__train_budget_end(plim__train_budget *b) {
    if (b->open) plim__budget_request_close();
    b->open = false;
}

void plim__train_budget_say(const plim__train_budget *b, const plim_trainer *trainer) {
    plim_trainer_stats stats;
    plim_trainer_get_stats(trainer, &stats);
    char budget[PLIM_BYTES_TEXT], planned[PLIM_BYTES_TEXT], measured[PLIM_BYTES_TEXT], spilled[PLIM_BYTES_TEXT];
    printf("budget %s: planned %s, measured %s (micro-batch %lld x %lld, %zu steps recomputed, %s spilled, class %s)\n",
           plim_bytes_format(b->watch.budget, budget), plim_bytes_format(stats.process_bytes, planned),
           plim_bytes_format(plim__resident_peak(), measured), (long long)stats.micro_batch,
           (long long)stats.accumulate, stats.repeated, plim_bytes_format(stats.spilled_bytes, spilled),
           plim_class_name(stats.class_));
}

void plim__train_budget_json(const plim__train_budget *b, const plim_trainer *trainer, json_t *object) {
    plim_trainer_stats stats;
    plim_trainer_get_stats(trainer, &stats);
    json_object_set_new(object, "budget_bytes",
                        b->watch.budget ? json_integer((json_int_t)b->watch.budget) : json_null());
    json_object_set_new(object, "planned_arena_bytes", json_integer((json_int_t)stats.planned_arena_bytes));
    json_object_set_new(object, "planned_process_bytes",
                        stats.process_bytes ? json_integer((json_int_t)stats.process_bytes) : json_null());
    json_object_set_new(object, "replans", json_integer((json_int_t)stats.replans));
    json_object_set_new(object, "class", json_string(plim_class_name(stats.class_)));
    json_object_set_new(object, "micro_batch", json_integer((json_int_t)stats.micro_batch));
    json_object_set_new(object, "accumulate", json_integer((json_int_t)stats.accumulate));
    json_object_set_new(object, "recomputed", json_integer((json_int_t)stats.repeated));
    json_object_set_new(object, "spilled_bytes", json_integer((json_int_t)stats.spilled_bytes));
}
