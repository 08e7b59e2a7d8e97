/* plimsoll inspect: what a model is and what running it takes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/activity.h"
#include "cli/format.h"
#include "cli/model.h"
#include "cli/open_axes.h"
#include "cli/remarks.h"
#include "cli/terminal.h"

#define LARGEST 10

static json_t *value_json(const plim_graph *g, plim_value v) {
    int64_t dims[PLIM_MAX_RANK];
    int rank = plim_graph_value_shape(g, v, dims);
    json_t *shape = json_array();
    for (int i = 0; i < rank; i++)
        json_array_append_new(shape,
                              dims[i] < 0 ? json_string(plim_graph_symbol_name(g, dims[i])) : json_integer(dims[i]));
    return json_pack("{s:s, s:s, s:o}", "name", plim_graph_value_name(g, v), "dtype",
                     plim_dtype_name(plim_graph_value_dtype(g, v)), "shape", shape);
}

static json_t *tensors_json(const plim_session *s) {
    plim_session_tensor tensors[LARGEST];
    size_t count = plim_session_peak_tensors(s, tensors, LARGEST);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *shape = json_array();
        for (int k = 0; k < tensors[i].rank; k++) json_array_append_new(shape, json_integer(tensors[i].dims[k]));
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:o, s:I}", "name", tensors[i].name, "kind", tensors[i].kind,
                                        "op", tensors[i].op, "shape", shape, "bytes", (json_int_t)tensors[i].bytes));
    }
    return list;
}

static int say_json(plim__args *args, const plim_graph *model, const plim_session *s) {
    const plim_graph *g = plim_session_graph(s);
    plim_graph_weights w;
    plim_graph_get_weights(model, &w);
    plim_session_stats stats;
    plim_session_get_stats(s, &stats);
    json_t *inputs = json_array(), *outputs = json_array();
    for (size_t i = 0; i < plim_graph_input_count(model); i++)
        json_array_append_new(inputs, value_json(model, plim_graph_input_at(model, i)));
    for (size_t i = 0; i < plim_graph_output_count(g); i++)
        json_array_append_new(outputs, value_json(g, plim_graph_output_at(g, i)));
    json_t *kinds = json_pack("{s:I, s:I, s:I, s:I}", "weights", (json_int_t)stats.weight_bytes, "inputs",
                              (json_int_t)stats.input_bytes, "activations", (json_int_t)stats.activation_bytes,
                              "workspace", (json_int_t)stats.workspace_bytes);
    return plim__say_json(args,
                          json_pack("{s:o, s:o, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "weights",
                                    plim__weights_json(model), "remarks", plim__remarks_json(model), "parameters",
                                    (json_int_t)w.elements, "parameter_bytes", (json_int_t)w.bytes, "flops",
                                    stats.flops, "arena_bytes", (json_int_t)stats.arena_bytes, "lower_bound_bytes",
                                    (json_int_t)stats.lower_bound_bytes, "nodes",
                                    (json_int_t)plim_graph_node_count(model), "steps", (json_int_t)stats.steps,
                                    "inputs", inputs, "outputs", outputs, "memory", kinds, "largest", tensors_json(s)));
}

static void print_values(const char *title, const plim_graph *g, size_t count,
                         plim_value (*at)(const plim_graph *, size_t)) {
    for (size_t i = 0; i < count; i++) {
        int64_t dims[PLIM_MAX_RANK];
        char shape[PLIM_SHAPE_WORDS];
        int rank = plim_graph_value_shape(g, at(g, i), dims);
        plim__terminal_line(stdout, "%-12s %s  %s %s", i ? "" : title, plim__shown(plim_graph_value_name(g, at(g, i))),
                            plim_dtype_name(plim_graph_value_dtype(g, at(g, i))),
                            plim__format_shape(g, rank, dims, shape));
    }
}

static void print_memory(const plim_session_stats *stats) {
    char text[PLIM_BYTES_TEXT];
    plim__terminal_line(
        stdout, "memory       %s in one arena, planned (%.1f %% above the least possible)",
        plim_bytes_format(stats->arena_bytes, text),
        100 * ((double)stats->arena_bytes / (double)(stats->lower_bound_bytes ? stats->lower_bound_bytes : 1) - 1));
    const struct {
        const char *name;
        size_t bytes;
    } rows[] = {{"weights", stats->weight_bytes},
                {"inputs", stats->input_bytes},
                {"activations", stats->activation_bytes},
                {"workspace", stats->workspace_bytes}};
    for (size_t i = 0; i < 4; i++)
        printf("  %-11s %10s  at the peak\n", rows[i].name, plim_bytes_format(rows[i].bytes, text));
}

static void print_largest(const plim_session *s) {
    plim_session_tensor tensors[LARGEST];
    size_t count = plim_session_peak_tensors(s, tensors, LARGEST);
    plim__terminal terminal = plim__terminal_of(1);
    bool narrow = terminal.is_terminal && terminal.width < 72;
    puts("largest at the peak");
    for (size_t i = 0; i < count; i++) {
        char bytes[PLIM_BYTES_TEXT], shape[PLIM_SHAPE_WORDS];
        bool scratch = !*tensors[i].name;
        plim__str line = {0}, name = {0};
        plim__str_addf(&line, "  %10s  %-10s ", plim_bytes_format(tensors[i].bytes, bytes), tensors[i].kind);
        if (!narrow)
            plim__str_addf(&line, "%-18s ",
                           scratch ? "" : plim__format_shape(NULL, tensors[i].rank, tensors[i].dims, shape));
        plim__str_add(&name, plim__shown(tensors[i].name));
        if (terminal.is_terminal)
            plim__terminal_cut_middle(&name, terminal.width - (int)plim__terminal_columns(plim__str_text(&line)));
        printf("%s%s\n", plim__str_text(&line), plim__str_text(&name));
        plim__str_free(&line);
        plim__str_free(&name);
    }
}

static void say_text(const char *path, const plim_graph *model, const plim_session *s, plim__model_options *options) {
    char a[PLIM_BYTES_TEXT], b[PLIM_BYTES_TEXT];
    plim_graph_weights w;
    plim_graph_get_weights(model, &w);
    plim_session_stats stats;
    plim_session_get_stats(s, &stats);
    plim__terminal_line(stdout, "%s: %zu nodes, run as %zu steps", plim__shown(path), plim_graph_node_count(model),
                        stats.steps);
    print_values("inputs", model, plim_graph_input_count(model), plim_graph_input_at);
    print_values("outputs", plim_session_graph(s), plim_graph_output_count(plim_session_graph(s)),
                 plim_graph_output_at);
    plim__open_axes_print(model, &(plim__sizes){options->sizes, &options->session.size_count}, options->session.batch);
    printf("parameters   %s (%s)\n", plim__format_count((double)w.elements, a), plim_bytes_format(w.bytes, b));
    plim__weights_print(model, false);
    printf("work         %sFLOP a run\n", plim__format_count(stats.flops, a));
    print_memory(&stats);
    print_largest(s);
    plim__remarks_print(model);
}

/* The plan as a page: every buffer, when it lives and where it lies. */
static int write_report(plim__args *args, const char *path, int64_t batch, const plim_session *s) {
    plim_error error;
    plim_report *report;
    char text[32];
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    snprintf(text, sizeof text, "%lld", (long long)batch);
    plim_status status = plim_report_create_session(s, name, &report, &error);
    if (status == PLIM_OK) status = plim_report_add_fact(report, "batch", text, &error);
    if (status == PLIM_OK) status = plim_report_save(report, plim__args_get(args, "report"), &error);
    plim_report_free(report);
    return status == PLIM_OK ? PLIM_EXIT_OK : plim__say_error(args, &error);
}

static int list_passes(plim__args *args) {
    json_t *list = json_array();
    for (size_t i = 0; i < plim_pass_count(); i++) {
        plim_pass pass;
        plim_pass_get(i, &pass);
        if (!plim__args_json(args))
            printf("%-18s %s\n", pass.name, pass.summary);
        else if (i > 0) /* folding is no pass of its own */
            json_array_append_new(list, json_pack("{s:s, s:s}", "name", pass.name, "summary", pass.summary));
    }
    if (plim__args_json(args)) return plim__say_json(args, json_pack("{s:o}", "passes", list));
    json_decref(list);
    return PLIM_EXIT_OK;
}

static int run(plim__args *args) {
    const char *path = plim__args_at(args, 0);
    if (plim__args_has(args, "passes")) return list_passes(args);
    if (!path) return plim__say_usage(args, "which model?");
    plim__model_options options;
    if (!plim__model_options_read(args, &options)) return PLIM_EXIT_USAGE;
    options.session.plan_only = 1;
    plim_error error;
    plim_graph *model;
    plim_session *session;
    plim__activity_say(args, "reading %s", path);
    if (plim_graph_load(path, &model, &error) != PLIM_OK) return plim__say_error(args, &error);
    plim__sizes sizes = {options.sizes, &options.session.size_count};
    plim_status status = plim__open_axes_check(model, &sizes, &error);
    if (status == PLIM_OK) status = plim_session_create(model, &options.session, &session, &error);
    if (status != PLIM_OK) {
        plim_graph_free(model);
        return plim__say_failure(args, "%s: %s", path, error.message);
    }
    plim__activity_end();
    int code = plim__args_has(args, "report") ? write_report(args, path, options.session.batch, session) : PLIM_EXIT_OK;
    if (code != PLIM_EXIT_OK) {
        /* said already */
    } else if (plim__args_json(args)) {
        code = say_json(args, model, session);
    } else if (plim__args_has(args, "weights")) {
        plim__weights_print(model, true);
        plim__remarks_print(model);
    } else if (plim__args_has(args, "graph")) {
        char *text = plim_graph_print(plim_session_graph(session));
        fputs(text ? text : "", stdout);
        plim_text_free(text);
    } else {
        say_text(path, model, session, &options);
    }
    plim_session_free(session);
    plim_graph_free(model);
    return code;
}

static const plim__option options[] = {
    PLIM__MODEL_OPTIONS,
    {"graph", 'g', NULL, "print the graph as it runs, one line a node"},
    {"weights", 'w', NULL, "list the tensors of the file: which are trained, which are not, and why"},
    {"report", 0, "FILE.html", "write the plan as a page: memory over the run, and where every buffer lies"},
    {"passes", 0, NULL, "list the rewriting passes"},
    {0},
};

const plim__command plim__command_inspect = {
    .name = "inspect",
    .usage = "MODEL.onnx [--batch N]",
    .summary = "Show a model's inputs, outputs, parameters, work and planned memory",
    .options = options,
    .examples =
        "  plimsoll inspect resnet50.onnx --batch 16\n  plimsoll inspect gpt2.onnx --batch 4 --report plan.html",
    .run = run,
};
