/* plimsoll plan: what training will need, before it runs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/activity.h"
#include "cli/budget_options.h"
#include "cli/config.h"
#include "cli/format.h"
#include "cli/lora_options.h"
#include "cli/plan_table.h"
#include "cli/remarks.h"
#include "cli/terminal.h"
#include "cli/train_data.h"
#include "cli/train_log.h"
#include "core/clock.h"

static const struct {
    const char *word, *title;
    plim__style style;
    char fill;
} kinds[] = {{"weights", "weights", PLIM_STYLE_BLUE, 'w'},       {"gradients", "gradients", PLIM_STYLE_MAGENTA, 'g'},
             {"optimizer", "optimizer", PLIM_STYLE_YELLOW, 'o'}, {"activations", "activations", PLIM_STYLE_GREEN, 'a'},
             {"workspace", "workspace", PLIM_STYLE_CYAN, 's'},   {"data", "data", PLIM_STYLE_RED, 'd'},
             {"program", "program", PLIM_STYLE_DIM, 'p'},        {"recording", "recording", PLIM_STYLE_DIM, 'r'},
             {"opening", "opening data", PLIM_STYLE_RED, 't'},   {"logs", "logs", PLIM_STYLE_DIM, 'l'}};
#define KINDS (sizeof kinds / sizeof *kinds)

static void bytes_of(const plim_plan_candidate *candidate, uint64_t bytes[KINDS]) {
    uint64_t values[KINDS] = {candidate->weights,   candidate->gradients, candidate->optimizer, candidate->activations,
                              candidate->workspace, candidate->data,      candidate->program,   candidate->recording,
                              candidate->opening,   candidate->logs};
    memcpy(bytes, values, sizeof values);
}

/* --- JSON ----------------------------------------------------------------------------------------------------- */

static json_t *candidate_json(const plim_plan_candidate *candidate) {
    uint64_t bytes[KINDS];
    bytes_of(candidate, bytes);
    json_t *by_kind = json_object();
    for (size_t i = 0; i < KINDS; i++) json_object_set_new(by_kind, kinds[i].word, json_integer((json_int_t)bytes[i]));
    return json_pack("{s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:I, s:I, s:I, s:s, s:I, s:s, s:f, s:s}",
                     "arena_bytes", (json_int_t)candidate->arena_bytes, "process_bytes",
                     (json_int_t)candidate->process_bytes, "by_kind", by_kind, "micro_batch",
                     (json_int_t)candidate->micro_batch, "accumulate", (json_int_t)candidate->accumulate, "recomputed",
                     (json_int_t)candidate->recomputed, "spilled_bytes", (json_int_t)candidate->spilled,
                     "streamed_bytes", (json_int_t)candidate->streamed, "in_model_bytes",
                     (json_int_t)candidate->in_model, "file_seconds", candidate->file_seconds, "file_waits",
                     candidate->file_waits, "state_saved_bytes", (json_int_t)candidate->state_saved, "bits_saved_bytes",
                     (json_int_t)candidate->bits_saved, "narrow_saved_bytes", (json_int_t)candidate->narrow_saved,
                     "precision", plim_precision_name(candidate->precision), "base_saved_bytes",
                     (json_int_t)candidate->base_saved, "base", plim_base_name(candidate->base), "seconds_per_step",
                     candidate->seconds, "class", plim_class_name(candidate->class_));
}

static json_t *peak_json(const plim_plan_report *r) {
    json_t *list = json_array();
    for (int i = 0; i < r->peak_count; i++) {
        const plim_plan_tensor *t = &r->peak[i];
        json_t *dims = json_array();
        for (int k = 0; k < t->rank; k++) json_array_append_new(dims, json_integer((json_int_t)t->dims[k]));
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:o, s:I, s:i}", "name", t->name, "layer", t->layer,
                                              "operator", t->op, "kind", t->kind, "shape", dims, "bytes",
                                              (json_int_t)t->bytes, "layouts", t->layouts));
    }
    return list;
}

static json_t *frontier_json(const plim_plan_report *r) {
    json_t *list = json_array();
    for (int i = 0; i < r->frontier_count; i++) {
        const plim_plan_candidate *candidate = &r->frontier[i];
        json_array_append_new(
            list, json_pack("{s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:s}", "budget", (json_int_t)candidate->budget_bytes,
                            "arena", (json_int_t)candidate->arena_bytes, "seconds", candidate->seconds, "micro_batch",
                            (json_int_t)candidate->micro_batch, "accumulate", (json_int_t)candidate->accumulate,
                            "recomputed", (json_int_t)candidate->recomputed, "spilled_bytes",
                            (json_int_t)candidate->spilled, "class", plim_class_name(candidate->class_)));
    }
    return list;
}

static json_t *levers_json(const plim_plan_report *r) {
    json_t *list = json_array();
    for (int i = 0; i < r->lever_count; i++) {
        const plim_plan_lever *lever = &r->levers[i];
        json_array_append_new(list, json_pack("{s:s, s:I, s:f, s:s, s:b}", "lever", lever->name, "saved_bytes",
                                              (json_int_t)lever->saved_bytes, "seconds", lever->seconds, "class",
                                              plim_class_name(lever->class_), "used", lever->used));
    }
    return list;
}

static json_t *report_json(const plim_plan_report *r, const plim_graph *model, double seconds, uint64_t opening) {
    json_t *root = candidate_json(r->fits ? &r->chosen : &r->unconstrained);
    json_object_set_new(root, "remarks", plim__remarks_json(model));
    json_object_set_new(root, "fits", json_boolean(r->fits));
    json_object_set_new(root, "budget_bytes",
                        r->budget_bytes ? json_integer((json_int_t)r->budget_bytes) : json_null());
    json_object_set_new(root, "peak_tensors", peak_json(r));
    json_object_set_new(root, "unconstrained", candidate_json(&r->unconstrained));
    json_object_set_new(root, "minimum_budget_bytes", json_integer((json_int_t)r->minimum_budget_bytes));
    json_object_set_new(root, "largest_batch", json_integer((json_int_t)r->largest_batch));
    json_object_set_new(root, "largest_batch_open", json_boolean(r->largest_batch_open));
    json_object_set_new(root, "opening_bytes", json_integer((json_int_t)opening));
    json_object_set_new(root, "frontier", frontier_json(r));
    json_object_set_new(root, "levers", levers_json(r));
    json_object_set_new(root, "prevents_split", r->prevents_split ? json_string(r->prevents_split) : json_null());
    json_object_set_new(root, "planning_seconds", json_real(seconds));
    return root;
}

/* --- text ----------------------------------------------------------------------------------------------------- */

static void print_bar(const plim__terminal *terminal, const plim_plan_candidate *candidate, uint64_t total) {
    plim__bar_part parts[KINDS];
    uint64_t bytes[KINDS];
    bytes_of(candidate, bytes);
    for (size_t i = 0; i < KINDS; i++)
        parts[i] = (plim__bar_part){.value = (double)bytes[i], .style = kinds[i].style, .fill = kinds[i].fill};
    plim__str out = {0};
    int width = terminal->width > 100 ? 96 : terminal->width - 4;
    plim__terminal_bar(&out, terminal, parts, KINDS, (double)total, width < 10 ? 10 : width);
    printf("  %s\n", plim__str_text(&out));
    plim__str_clear(&out);
    for (size_t i = 0; i < KINDS; i++) {
        char text[PLIM_BYTES_TEXT];
        if (!bytes[i]) continue;
        plim__str_addf(&out, "%s%s%s%s %s", out.length ? ", " : "  ", plim__terminal_style(terminal, kinds[i].style),
                       kinds[i].title, plim__terminal_style(terminal, PLIM_STYLE_PLAIN),
                       plim_bytes_format(bytes[i], text));
    }
    plim__terminal_line(stdout, "%s", plim__str_text(&out));
    plim__str_free(&out);
}

static void print_candidate(const plim_plan_candidate *candidate, const plim_plan_candidate *base, const char *folder) {
    char process[PLIM_BYTES_TEXT], arena[PLIM_BYTES_TEXT], slower[40] = "";
    plim__terminal_line(stdout, "  %s for the process, %s of it the arena; class %s",
                        plim_bytes_format(candidate->process_bytes, process),
                        plim_bytes_format(candidate->arena_bytes, arena), plim_class_name(candidate->class_));
    if (base && base->seconds > 0)
        snprintf(slower, sizeof slower, " (+%.1f %%)", fmax(0, 100 * (candidate->seconds / base->seconds - 1)));
    plim__terminal_line(stdout, "  micro-batch %lld x %lld, %llu steps recomputed, %.3g s an update expected%s",
                        (long long)candidate->micro_batch, (long long)candidate->accumulate,
                        (unsigned long long)candidate->recomputed, candidate->seconds, slower);
    if (candidate->state_saved)
        plim__terminal_line(stdout, "  optimizer state in 8 bits: %s less",
                            plim_bytes_format(candidate->state_saved, arena));
    if (candidate->bits_saved)
        plim__terminal_line(stdout, "  saved as bits: %s of activations less",
                            plim_bytes_format(candidate->bits_saved, arena));
    if (candidate->narrow_saved)
        plim__terminal_line(stdout, "  precision %s: %s less waits for the backward pass",
                            plim_precision_name(candidate->precision),
                            plim_bytes_format(candidate->narrow_saved, arena));
    if (candidate->base_saved)
        plim__terminal_line(stdout, "  frozen layers in %s: %s less", plim_base_name(candidate->base),
                            plim_bytes_format(candidate->base_saved, arena));
    uint64_t state = candidate->spilled - candidate->streamed;
    if (!folder) folder = plim_spill_default_folder();
    uint64_t streamed = candidate->streamed - candidate->in_model;
    if (streamed)
        plim__terminal_line(stdout, "  weights in a file: %s in %s, fetched when they are read",
                            plim_bytes_format(streamed, arena), folder);
    if (candidate->in_model)
        plim__terminal_line(stdout, "  frozen weights in the model's file: %s, fetched when they are read",
                            plim_bytes_format(candidate->in_model, arena));
    if (state)
        plim__terminal_line(stdout, "  spilled: %s of optimizer state to %s", plim_bytes_format(state, arena), folder);
    if (candidate->file_seconds > 0)
        plim__terminal_line(stdout,
                            "  reading and writing files: %.2g s of an update, of which %.2g s pass beside computing",
                            candidate->file_seconds, candidate->file_seconds - candidate->file_waits);
}

static void print_peak(const plim_plan_report *r, const plim__terminal *terminal) {
    printf("\nLargest at the peak:\n");
    bool narrow = terminal->width < 72;
    for (int i = 0; i < r->peak_count; i++) {
        const plim_plan_tensor *t = &r->peak[i];
        char bytes[PLIM_BYTES_TEXT], shape[PLIM_SHAPE_WORDS];
        plim__str line = {0}, name = {0};
        plim__str_addf(&line, "  %10s  %-11s ", plim_bytes_format(t->bytes, bytes), t->kind);
        if (!narrow)
            plim__str_addf(&line, "%-16s ", t->rank >= 0 ? plim__format_shape(NULL, t->rank, t->dims, shape) : "");
        plim__str_add(&name, *t->name ? plim__shown(t->name) : "workspace");
        if (t->layouts > 1) plim__str_addf(&name, ", %d layouts", t->layouts);
        if (*t->layer) plim__str_addf(&name, " (%s %s)", t->op, plim__shown(t->layer));
        if (terminal->is_terminal)
            plim__terminal_cut_middle(&name, terminal->width - (int)plim__terminal_columns(plim__str_text(&line)));
        printf("%s%s\n", plim__str_text(&line), plim__str_text(&name));
        plim__str_free(&line);
        plim__str_free(&name);
    }
}

static void print_report(const plim__args *args, const plim_plan_report *r, const plim_trainer_options *options) {
    plim__terminal terminal = plim__terminal_of(1);
    char text[PLIM_BYTES_TEXT];
    plim__terminal_line(stdout, "%s, batch %lld, %s", plim__shown(plim__args_at(args, 0)), (long long)options->batch,
                        plim_optimizer_name(options->optimizer.kind));
    puts("\nUnconstrained:");
    print_candidate(&r->unconstrained, NULL, NULL);
    print_bar(&terminal, &r->unconstrained, r->unconstrained.process_bytes);
    if (r->budget_bytes && r->fits) {
        printf("\nWithin %s:\n", plim_bytes_format(r->budget_bytes, text));
        print_candidate(&r->chosen, &r->unconstrained, options->spill);
        print_bar(&terminal, &r->chosen, r->unconstrained.process_bytes);
    }
    if (options->data_opening_bytes)
        plim__terminal_line(
            stdout, "\nBefore the first step: %s for the tokenizer while text becomes numbers, then given back.",
            plim_bytes_format(options->data_opening_bytes, text));
    print_peak(r, &terminal);
    plim__plan_levers_print(r, &terminal);
    plim__plan_table_print(r, &terminal);
    plim__str end = {0};
    plim__str_addf(&end, "Smallest budget: %s.", plim_bytes_format(r->minimum_budget_bytes, text));
    if (r->largest_batch > 0)
        plim__str_addf(&end, " Largest batch in one piece within %s: %s%lld.",
                       plim_bytes_format(r->largest_batch_limit, text), r->largest_batch_open ? "at least " : "",
                       (long long)r->largest_batch);
    plim__terminal_line(stdout, "\n%s", plim__str_text(&end));
    plim__str_free(&end);
    if (r->prevents_split)
        plim__terminal_line(stdout, "Micro-batches change the result: %s.", plim__shown(r->prevents_split));
    if (!r->fits) plim__terminal_line(stdout, "\n%s", plim__shown(r->why));
    const char *page = plim__args_get(args, "report"), *file = plim__args_get(args, "save");
    if (page) plim__terminal_line(stdout, "\nWrote %s", plim__shown(page));
    if (file && r->fits) plim__terminal_line(stdout, "%sWrote %s", page ? "" : "\n", plim__shown(file));
}

/* --- the page ------------------------------------------------------------------------------------------------- */

static plim_status write_page(const plim_plan *plan, const char *name, const char *command, const char *path,
                              plim_error *error) {
    plim_report *report;
    plim_status status = plim_report_create_plan(plan, name, command, &report, error);
    if (status == PLIM_OK) status = plim_report_save(report, path, error);
    plim_report_free(report);
    return status;
}

static int write_files(const plim__args *args, const plim_plan *plan) {
    const char *page = plim__args_get(args, "report"), *file = plim__args_get(args, "save");
    const char *path = plim__args_at(args, 0), *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    plim_error error;
    plim_status status = PLIM_OK;
    plim__str command = {0};
    plim__budget_repeat_command(args, &command);
    if (page) status = write_page(plan, name, plim__str_text(&command), page, &error);
    if (status == PLIM_OK && file && plim_plan_get_report(plan)->fits)
        status = plim_plan_save(plan, name, plim__str_text(&command), file, &error);
    plim__str_free(&command);
    return status == PLIM_OK ? PLIM_EXIT_OK : plim__say_error(args, &error);
}

/* --- the command ---------------------------------------------------------------------------------------------- */

/* The data set, if one is named: short batches, validation and buffers are part of the plan. */
static plim_status open_data(const plim__args *args, const plim_graph *model, plim__train_settings *settings,
                             plim__data_settings *data, plim__train_data *made, plim_error *error) {
    plim__sizes sizes = {settings->sizes, &settings->options.size_count};
    if (!plim__args_has(args, "data")) {
        plim_status checked = plim__open_axes_check(model, &sizes, error);
        return checked == PLIM_OK ? plim__open_axes_settle(args, model, &sizes, error) : checked;
    }
    plim_status status = plim__train_data_follow(args, model, settings, data, error);
    if (status != PLIM_OK) return status;
    made->counted = true;
    return plim__train_data_open(args, model, settings, data, made, error);
}

static int plan(plim__args *args, plim__train_settings *settings, plim__data_settings *data_settings) {
    plim_error error;
    plim_graph *model;
    plim_plan *made;
    plim__train_data data = {0};
    int64_t epochs;
    if (!plim__train_length_read(args, &epochs, &data.steps)) return PLIM_EXIT_USAGE;
    plim__activity_say(args, "reading %s", plim__args_at(args, 0));
    if (plim_graph_load(plim__args_at(args, 0), &model, &error) != PLIM_OK) return plim__say_error(args, &error);
    plim__budget_measure_costs(args);
    plim_status status = plim__lora_apply(args, model, settings->options.seed, &error);
    if (status == PLIM_OK) status = plim__train_free_batch(args, model, settings, &error);
    if (status != PLIM_OK) {
        plim_graph_free(model);
        return plim__say_error(args, &error);
    }
    status = open_data(args, model, settings, data_settings, &data, &error);
    double start = plim__clock_seconds();
    plim__activity_say(args, "planning, for this budget and for others");
    if (status == PLIM_OK) status = plim_plan_create(model, &settings->options, &made, &error);
    double seconds = plim__clock_seconds() - start;
    plim__activity_end();
    int code;
    if (status != PLIM_OK) {
        plim__remarks_say(args, model); /* which may be why */
        code = plim__say_error(args, &error);
    } else {
        const plim_plan_report *report = plim_plan_get_report(made);
        code = write_files(args, made);
        if (code != PLIM_EXIT_OK)
            ; /* said already */
        else if (plim__args_json(args))
            code = plim__say_json(args, report_json(report, model, seconds, settings->options.data_opening_bytes));
        else
            print_report(args, report, &settings->options), plim__remarks_print(model), code = PLIM_EXIT_OK;
        if (code == PLIM_EXIT_OK && !report->fits) code = PLIM_EXIT_FAILURE;
        plim_plan_free(made);
    }
    plim__train_data_free(&data);
    plim__data_settings_free(data_settings);
    plim_graph_free(model);
    return code;
}

static int run(plim__args *args) {
    static plim__train_settings settings;
    static plim__data_settings data;
    if (!plim__args_at(args, 0)) return plim__say_usage(args, "which model?");
    if (!plim__train_options_read(args, &settings) || !plim__budget_options_read(args, &settings.options) ||
        !plim__args_bytes(args, "device-memory", &settings.options.budget) || !plim__data_options_read(args, &data))
        return PLIM_EXIT_USAGE;
    settings.options.records = plim__args_has(args, "recorded") ? 2 : 0;
    settings.options.log_bytes = plim__train_log_bytes(args);
    return plan(args, &settings, &data);
}

static const plim__option options[] = {
    PLIM__BUDGET_OPTIONS,
    {"device-memory", 0, "SIZE", "plan for another machine, which has SIZE bytes for the process"},
    {"report", 0, "FILE.html", "write the plan as a page: memory over the step, where everything lies, other budgets"},
    {"save", 0, "FILE", "write the plan to this file, for train --plan and for report"},
    {"recorded", 0, NULL, "plan for a run that is recorded: what train --report and --trace hold is part of it"},
    {"log", 0, "FILE", "plan for a run that writes this log: what it holds is part of the plan; nothing is written"},
    {"tensorboard", 0, "DIR", "the same for an event file of TensorBoard"},
    {"data", 'd', "PATH",
     "plan for this data set too: the short batch at the end of an epoch (unless --steps ends before it), validation, "
     "buffers"},
    PLIM__TRAIN_LENGTH_OPTIONS,
    PLIM__CONFIG_OPTIONS,
    PLIM__LORA_OPTIONS,
    PLIM__TRAIN_OPTIONS,
    PLIM__TRAIN_DATA_OPTIONS,
    PLIM__DATA_OPTIONS,
    {0},
};

const plim__command plim__command_plan = {
    .name = "plan",
    .usage = "MODEL.onnx [--batch N] [--budget SIZE]",
    .summary = "Tell what training will need, and what fits a budget",
    .description = "What the training step needs without a budget, by kind; the tensors that make the peak; the plan "
                   "that fits the budget, with its cost in time; what other budgets would cost; the largest batch and "
                   "the smallest budget. Exits 1 when nothing fits.",
    .options = options,
    .examples = "  plimsoll plan resnet50.onnx --batch 16 --optimizer sgd --budget 700MiB --report plan.html\n"
                "  plimsoll plan gpt2.onnx --batch 4 --size seq=256 --device-memory 8GiB --json",
    .run = run,
};
