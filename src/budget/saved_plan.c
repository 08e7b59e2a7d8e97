/* Saved plans. */
#include "budget/saved_plan.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "budget/costs_file.h"
#include "core/arguments.h"
#include "core/json.h"
#include "core/str.h"
#include "format/trace.h"
#include "kernel/processor.h"
#include "plimsoll/version.h"

/* 1 knew nothing of state in a file, 2 nothing of precision, 3 nothing of frozen layers in few bits, 4 nothing of Winograd */
#define VERSION 5

/* --- what a plan is for --------------------------------------------------------------------------------------- */

PLIM_PRINTF(3, 4)
static void set_text(json_t *object, const char *key, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    json_object_set_new(object, key, json_string(text));
}

static void set_list(json_t *object, const char *key, plim__str *list) {
    json_object_set_new(object, key, list->failed ? NULL : json_string(plim__str_text(list)));
    plim__str_free(list);
}

/* Everything that the plan depends on and that can differ, as texts by the words that a refusal uses. */
static plim_status describe(const plim__training_plan *plan, json_t **out, plim_error *error) {
    const plim__request *o = &plan->request;
    uint64_t model;
    char processor[128], library[32];
    PLIM_TRY(plim__graph_fingerprint(plan->model, &model, error));
    plim__processor_name(processor, sizeof processor);
    plim__processor_library(library, sizeof library);
    bool momentum = (o->optimizer.kind == PLIM_SGD || o->optimizer.kind == PLIM_RMSPROP) && o->optimizer.momentum != 0;
    json_t *is = *out = json_object();
    plim__str sizes = {0}, freeze = {0}, trainable = {0};
    set_text(is, "model", "%016llx", (unsigned long long)model);
    set_text(is, "version of plimsoll", "%s", PLIM_VERSION_STRING);
    set_text(is, "version of oneDNN", "%s", library);
    set_text(is, "processor", "%s", processor);
    set_text(is, "number of threads", "%d", plan->bounds.threads);
    set_text(is, "batch", "%lld", (long long)o->batch);
    set_text(is, "number of micro-batches", "%lld", (long long)o->accumulate);
    set_text(is, "loss", "%s", plim_loss_name(o->loss.kind));
    set_text(is, "optimizer", "%s%s%s%s", plim_optimizer_name(o->optimizer.kind), momentum ? " with momentum" : "",
             o->optimizer.clip_norm > 0 ? " with clipping" : "",
             o->optimizer.state_bits == 8    ? " in 8 bits"
             : o->optimizer.state_bits == 32 ? " in 32 bits"
                                             : "");
    for (size_t i = 0; i < o->size_count; i++)
        plim__str_addf(&sizes, "%s%s=%lld", i ? " " : "", o->sizes[i].symbol, (long long)o->sizes[i].size);
    for (size_t i = 0; i < o->freeze_count; i++) plim__str_addf(&freeze, "%s%s", i ? " " : "", o->freeze[i]);
    for (size_t i = 0; i < o->trainable_count; i++) plim__str_addf(&trainable, "%s%s", i ? " " : "", o->trainable[i]);
    set_text(is, "precision", "%s", o->precision ? plim_precision_name(o->precision) : "any");
    set_text(is, "form of frozen layers", "%s", plim_base_name(o->base));
    set_text(is, "form of convolutions", "%s", plan->bounds.no_winograd ? "direct" : "any");
    set_list(is, "set of sizes", &sizes);
    set_list(is, "set of frozen parameters", &freeze);
    set_list(is, "set of added parameters", &trainable);
    if (json_object_size(is) == 15) return PLIM_OK;
    json_decref(is);
    return plim__fail_memory(error, "a plan", 1);
}

/* --- writing -------------------------------------------------------------------------------------------------- */

static json_t *plan_json(const plim__training_plan *plan, uint64_t budget, json_t *is) {
    const plim__variant *v = plan->main;
    json_t *steps = json_array();
    for (size_t i = 0; i < v->schedule.count; i++) json_array_append_new(steps, json_integer(v->schedule.steps[i]));
    return json_pack("{s:i, s:o, s:I, s:{s:I, s:I, s:i, s:s, s:I, s:b, s:I}, s:s, s:I, s:I, s:f, s:o}", "plimsoll_plan",
                     VERSION, "for", is, "budget_bytes", (json_int_t)budget, "levers", "micro_batch",
                     (json_int_t)plan->choice.levers.micro_batch, "loss_rows",
                     (json_int_t)plan->choice.levers.loss_rows, "state_bits", plan->choice.levers.state_bits,
                     "precision", plim_precision_name(plan->choice.levers.precision), "passing_limit",
                     (json_int_t)plan->choice.levers.transient_limit, "stream", plan->choice.levers.stream, "spill",
                     (json_int_t)plan->choice.levers.spill, "class", plim_class_name(plan->choice.class), "arena_bytes",
                     (json_int_t)v->plan->arena_bytes, "process_bytes", (json_int_t)plan->process.planned_bytes,
                     "seconds_per_step", plan->choice.seconds, "schedule", steps);
}

plim_status plim__saved_plan_text(const plim__training_plan *plan, uint64_t budget, char **text, plim_error *error) {
    json_t *is;
    PLIM_TRY(describe(plan, &is, error));
    json_t *saved = plan_json(plan, budget, is);
    plim__str printed = {0};
    if (!plim__json_print(&printed, saved, JSON_COMPACT)) plim__str_free(&printed);
    *text = printed.data;
    json_decref(saved);
    return *text ? PLIM_OK : plim__fail_memory(error, "a plan", 1);
}

/* --- reading -------------------------------------------------------------------------------------------------- */

static plim_status read_plan(const char *path, json_t **saved, plim_error *error) {
    plim__timeline timeline;
    plim__timeline_init(&timeline, PLIM__SOURCE_PLAN);
    plim_status status = plim__trace_read(path, &timeline, error);
    *saved = status == PLIM_OK && timeline.plan ? json_loads(timeline.plan, 0, NULL) : NULL;
    bool cut = status == PLIM_OK && timeline.cut;
    plim__timeline_free(&timeline);
    if (status != PLIM_OK) return status;
    json_int_t version = json_integer_value(json_object_get(*saved, "plimsoll_plan"));
    if (!cut && version > 0 && version != VERSION) {
        json_decref(*saved);
        return plim__fail(error, PLIM_UNSUPPORTED,
                          "'%s' is a saved plan of form %lld, and this program makes and reads form %d: save it again",
                          path, (long long)version, VERSION);
    }
    if (cut || version != VERSION) {
        json_decref(*saved);
        return plim__fail(error, PLIM_CORRUPT, "'%s' %s", path,
                          cut ? "is cut off" : "is not a saved plan (plimsoll plan --save makes one)");
    }
    return PLIM_OK;
}

plim_status plim_plan_read_budget(const char *path, uint64_t *budget, plim_error *error) {
    PLIM__NEED(budget, error);
    *budget = 0;
    PLIM__NEED(path, error);
    json_t *saved;
    PLIM_TRY(read_plan(path, &saved, error));
    json_int_t bytes = json_integer_value(json_object_get(saved, "budget_bytes"));
    *budget = bytes > 0 ? (uint64_t)bytes : 0;
    json_decref(saved);
    return PLIM_OK;
}

static plim_status check(const plim__training_plan *plan, const json_t *saved, plim_error *error) {
    json_t *here;
    const char *key;
    json_t *value;
    PLIM_TRY(describe(plan, &here, error));
    plim_status status = PLIM_OK;
    json_object_foreach(here, key, value) {
        const char *now = json_string_value(value),
                   *then = json_string_value(json_object_get(json_object_get(saved, "for"), key));
        if (status != PLIM_OK || (then && strcmp(now, then) == 0)) continue;
        status = plim__fail(error, PLIM_INVALID,
                            "'%s' is a plan for another %s: '%s', and here it is '%s'; plan again with --replan",
                            plan->request.saved, key, then ? then : "", now);
    }
    json_decref(here);
    json_int_t budget = json_integer_value(json_object_get(saved, "budget_bytes"));
    if (status == PLIM_OK && plan->bounds.budget && plan->bounds.budget != (uint64_t)budget)
        status = plim__fail(error, PLIM_INVALID,
                            "'%s' is a plan for a budget of %lld bytes, not %llu; plan again with --replan",
                            plan->request.saved, (long long)budget, (unsigned long long)plan->bounds.budget);
    return status;
}

static plim_status read_schedule(const json_t *list, plim__schedule *schedule, plim_error *error) {
    size_t count = json_array_size(list);
    schedule->steps = plim__alloc_array(count + 1, sizeof *schedule->steps);
    if (!schedule->steps) return plim__fail_memory(error, "a plan", count * sizeof *schedule->steps);
    for (size_t i = 0; i < count; i++) {
        json_int_t step = json_integer_value(json_array_get(list, i));
        schedule->steps[i] = step >= 0 && step < INT32_MAX ? (int32_t)step : -1;
    }
    schedule->count = count;
    return PLIM_OK;
}

static plim_status apply(plim__training_plan *plan, const json_t *saved, plim_error *error) {
    const json_t *levers = json_object_get(saved, "levers");
    const char *class = json_string_value(json_object_get(saved, "class"));
    plim__task task = plim__training_plan_task(plan);
    plim__schedule schedule = {0};
    json_int_t spill = json_integer_value(json_object_get(levers, "spill"));
    plim_precision precision = PLIM_PRECISION_DEFAULT;
    const char *named = json_string_value(json_object_get(levers, "precision"));
    if (!named || !plim_precision_find(named, &precision))
        return plim__fail(error, PLIM_CORRUPT, "'%s': its levers make no sense", plan->request.saved);
    bool stream = json_is_true(json_object_get(levers, "stream"));
    if ((spill > 0 || stream) && plan->bounds.no_spill)
        return plim__fail(
            error, PLIM_INVALID,
            "'%s' keeps weights or optimizer state in a file, which --no-spill forbids; plan again with --replan",
            plan->request.saved);
    plan->choice = (plim__candidate){
        .levers = {.micro_batch = json_integer_value(json_object_get(levers, "micro_batch")),
                   .loss_rows = json_integer_value(json_object_get(levers, "loss_rows")),
                   .state_bits = json_integer_value(json_object_get(levers, "state_bits")) == 8 ? 8 : 0,
                   .precision = plim__precision_lever(precision),
                   .transient_limit = json_integer_value(json_object_get(levers, "passing_limit")),
                   .stream = stream,
                   .spill = spill > 0 ? (size_t)spill : 0},
        .seconds = json_number_value(json_object_get(saved, "seconds_per_step"))};
    for (plim_class k = PLIM_EXACT; k <= PLIM_LOSSY; k++)
        if (class && strcmp(class, plim_class_name(k)) == 0) plan->choice.class = k;
    if (plan->choice.levers.micro_batch < 1 || plan->choice.levers.micro_batch > plan->request.batch ||
        plan->choice.levers.loss_rows < 0)
        return plim__fail(error, PLIM_CORRUPT, "'%s': its levers make no sense", plan->request.saved);
    plim_status status = read_schedule(json_object_get(saved, "schedule"), &schedule, error);
    if (status == PLIM_OK)
        status = plim__levers_apply_schedule(&task, &plan->choice.levers, &schedule, &plan->main, error);
    plim__schedule_free(&schedule);
    PLIM_TRY(status);
    json_int_t arena = json_integer_value(json_object_get(saved, "arena_bytes"));
    if ((json_int_t)plan->main->plan->arena_bytes != arena)
        return plim__fail(error, PLIM_INVALID,
                          "'%s' plans an arena of %lld bytes, here it comes to %zu; plan again "
                          "with --replan",
                          plan->request.saved, (long long)arena, plan->main->plan->arena_bytes);
    plan->choice.persistent_bytes = plan->main->plan->persistent_bytes;
    plan->choice.transient_bytes = plim__variant_transient_bytes(plan->main);
    plan->choice.repeated = plan->main->repeated;
    plan->choice.program_bytes =
        plim__task_programs(&task, plan->main->samples) * plim__program_bytes(plan->main->lowered);
    json_int_t budget = json_integer_value(json_object_get(saved, "budget_bytes"));
    if (budget > 0) plan->bounds.budget = (uint64_t)budget;
    return PLIM_OK;
}

plim_status plim__saved_plan_take(plim__training_plan *plan, plim_error *error) {
    json_t *saved;
    PLIM_TRY(read_plan(plan->request.saved, &saved, error));
    plim_status status = check(plan, saved, error);
    if (status == PLIM_OK) status = apply(plan, saved, error);
    json_decref(saved);
    return status;
}
