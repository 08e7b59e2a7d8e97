/* Budgets of runs. */
#include "cli/train_budget.h"

#include <stdio.h>
#include <string.h>

#include "cli/terminal.h"

plim_status plim__train_budget_begin(plim__train_budget *b, const plim__args *args, const plim_trainer_options *options,
                                     plim_error *error) {
    const char *text = plim__args_get(args, "budget");
    plim_budget_watch_options o = {
        .budget = options->budget, .automatic = text && strcmp(text, "auto") == 0, .requests = 1};
    return plim_budget_watch_create(&o, &b->watch, error);
}

plim_status plim__train_budget_poll(plim__train_budget *b, plim_trainer *trainer, plim_error *error) {
    return plim_budget_watch_poll(b->watch, trainer, NULL, error);
}

void plim__train_budget_end(plim__train_budget *b) {
    plim_budget_watch_free(b->watch);
    b->watch = NULL;
}

void plim__train_budget_say(const plim__train_budget *b, const plim_trainer *trainer) {
    plim_trainer_stats stats;
    plim_trainer_get_stats(trainer, &stats);
    char budget[PLIM_BYTES_TEXT], planned[PLIM_BYTES_TEXT], measured[PLIM_BYTES_TEXT], spilled[PLIM_BYTES_TEXT];
    plim__terminal_line(
        stdout,
        "budget %s: planned %s, measured %s (micro-batch %lld x %lld, %zu steps recomputed, %s spilled, %s%sclass %s)",
        plim_bytes_format(plim_budget_watch_budget(b->watch), budget), plim_bytes_format(stats.process_bytes, planned),
        plim_bytes_format(plim_process_resident_peak(), measured), (long long)stats.micro_batch,
        (long long)stats.accumulate, stats.repeated, plim_bytes_format(stats.spilled_bytes, spilled),
        stats.precision == PLIM_PRECISION_F32 ? "" : plim_precision_name(stats.precision),
        stats.precision == PLIM_PRECISION_F32 ? "" : ", ", plim_class_name(stats.class_));
}

void plim__train_budget_json(const plim__train_budget *b, const plim_trainer *trainer, json_t *object) {
    plim_trainer_stats stats;
    plim_trainer_get_stats(trainer, &stats);
    json_object_set_new(object, "budget_bytes",
                        plim_budget_watch_budget(b->watch)
                            ? json_integer((json_int_t)plim_budget_watch_budget(b->watch))
                            : json_null());
    json_object_set_new(object, "planned_arena_bytes", json_integer((json_int_t)stats.planned_arena_bytes));
    json_object_set_new(object, "planned_process_bytes",
                        stats.process_bytes ? json_integer((json_int_t)stats.process_bytes) : json_null());
    json_object_set_new(object, "replans", json_integer((json_int_t)stats.replans));
    json_object_set_new(object, "precision", json_string(plim_precision_name(stats.precision)));
    json_object_set_new(object, "base", json_string(plim_base_name(stats.base)));
    json_object_set_new(object, "class", json_string(plim_class_name(stats.class_)));
    json_object_set_new(object, "micro_batch", json_integer((json_int_t)stats.micro_batch));
    json_object_set_new(object, "accumulate", json_integer((json_int_t)stats.accumulate));
    json_object_set_new(object, "recomputed", json_integer((json_int_t)stats.repeated));
    json_object_set_new(object, "spilled_bytes", json_integer((json_int_t)stats.spilled_bytes));
    json_object_set_new(object, "streamed_bytes", json_integer((json_int_t)stats.streamed_bytes));
    json_object_set_new(object, "in_model_bytes", json_integer((json_int_t)stats.in_model_bytes));
}
