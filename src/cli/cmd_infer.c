/* plimsoll infer: runs a model on arrays from files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/activity.h"
#include "cli/float_arrays.h"
#include "cli/format.h"
#include "cli/infer_data.h"
#include "cli/model.h"
#include "cli/open_axes.h"
#include "cli/profile.h"
#include "cli/terminal.h"
#include "cli/train_outputs.h"
#include "core/alloc.h"
#include "core/clock.h"

#define MOST_FEEDS 64

struct feed {
    char name[128];
    const char *path;
    plim_array array;
};

struct job {
    struct feed feeds[MOST_FEEDS];
    size_t count;
    plim_fixed_input fixed[MOST_FEEDS];
};

/* "name=path"; the name may be left out when the model has one input or output. */
static bool split(plim__args *args, const char *option, const char *text, const char *only, char name[128],
                  const char **path) {
    const char *equals = strchr(text, '=');
    if (!equals && !only) return plim__say_usage(args, "--%s %s: expected NAME=FILE", option, text), false;
    snprintf(name, 128, "%.*s", equals ? (int)(equals - text) : 127, equals ? text : only);
    *path = equals ? equals + 1 : text;
    return true;
}

static bool is_input(const plim_graph *g, const char *name) {
    for (size_t i = 0; i < plim_graph_input_count(g); i++)
        if (strcmp(plim_graph_value_name(g, plim_graph_input_at(g, i)), name) == 0) return true;
    return false;
}

static int read_feeds(plim__args *args, const plim_graph *g, struct job *job) {
    const char *only = plim_graph_input_count(g) == 1 ? plim_graph_value_name(g, plim_graph_input_at(g, 0)) : NULL,
               *text;
    for (size_t i = 0; (text = plim__args_get_nth(args, "input", i)); i++) {
        struct feed *feed = &job->feeds[job->count];
        plim_error error;
        if (job->count == MOST_FEEDS) return plim__say_failure(args, "more than %d inputs", MOST_FEEDS);
        if (!split(args, "input", text, only, feed->name, &feed->path)) return PLIM_EXIT_USAGE;
        if (!is_input(g, feed->name)) return plim__say_failure(args, "the model has no input '%s'", feed->name);
        if (plim_array_load(feed->path, &feed->array, &error) != PLIM_OK) return plim__say_error(args, &error);
        job->count++;
    }
    return PLIM_EXIT_OK;
}

/* Numbers in float32 may be given to a model in another floating type, for which there may be no arrays at all. */
static int convert_feed(plim__args *args, plim_dtype wanted, struct feed *feed) {
    plim_array converted;
    if (feed->array.dtype != PLIM_F32 || wanted == PLIM_F32 || !plim__floats_fit(PLIM_F32, wanted)) return PLIM_EXIT_OK;
    if (!plim__floats_convert(&feed->array, wanted, &converted)) return plim__say_failure(args, "out of memory");
    plim_array_free(&feed->array);
    feed->array = converted;
    return PLIM_EXIT_OK;
}

/* Checks a feed against the model and reads the sizes of symbolic axes off it. */
static int fit_feed(plim__args *args, const plim_graph *g, struct feed *feed, plim__model_options *o) {
    plim_value v = plim_graph_find(g, feed->name);
    int64_t dims[PLIM_MAX_RANK];
    int rank = plim_graph_value_shape(g, v, dims), code = convert_feed(args, plim_graph_value_dtype(g, v), feed);
    if (code != PLIM_EXIT_OK) return code;
    if (plim_graph_value_dtype(g, v) != feed->array.dtype)
        return plim__say_failure(args, "'%s' is %s, but input '%s' takes %s", feed->path,
                                 plim_dtype_name(feed->array.dtype), feed->name,
                                 plim_dtype_name(plim_graph_value_dtype(g, v)));
    if (rank >= 0 && rank != feed->array.rank)
        return plim__say_failure(args, "'%s' has rank %d, but input '%s' takes rank %d", feed->path, feed->array.rank,
                                 feed->name, rank);
    for (int i = 0; i < rank; i++) {
        const char *symbol = plim_graph_symbol_name(g, dims[i]);
        size_t k = 0;
        while (symbol && k < o->session.size_count && strcmp(o->sizes[k].symbol, symbol) != 0) k++;
        if (symbol && k == o->session.size_count && k < PLIM__MOST_SIZES) {
            snprintf(o->names[k], sizeof o->names[k], "%s", symbol);
            o->sizes[o->session.size_count++] = (plim_size){o->names[k], feed->array.dims[i]};
        }
        int64_t want = symbol && k < PLIM__MOST_SIZES ? o->sizes[k].size : dims[i];
        if (want != feed->array.dims[i])
            return plim__say_failure(args, "'%s' has size %lld on axis %d, but input '%s' takes %lld", feed->path,
                                     (long long)feed->array.dims[i], i, feed->name, (long long)want);
    }
    return PLIM_EXIT_OK;
}

/* Inputs that decide shapes must be known when the session is made: integers first, then everything. */
static plim_status create_session(const plim_graph *g, struct job *job, plim__model_options *o, plim_session **session,
                                  plim_error *error) {
    plim_status status = plim_session_create(g, &o->session, session, error);
    for (int round = 0; status == PLIM_UNSUPPORTED && round < 2 && job->count; round++) {
        size_t fixed = 0;
        for (size_t i = 0; i < job->count; i++) {
            const struct feed *feed = &job->feeds[i];
            if (round == 0 && feed->array.dtype != PLIM_I64 && feed->array.dtype != PLIM_I32) continue;
            job->fixed[fixed++] =
                (plim_fixed_input){feed->name, feed->array.dtype, feed->array.rank, feed->array.dims, feed->array.data};
        }
        o->session.fixed = job->fixed;
        o->session.fixed_count = fixed;
        if (fixed) status = plim_session_create(g, &o->session, session, error);
    }
    return status;
}

/* Inputs that were not given are zeros; their memory may have been used by the run before. */
static void zero_inputs(plim_session *session) {
    const plim_graph *g = plim_session_graph(session);
    for (size_t i = 0; i < plim_graph_input_count(g); i++) {
        plim_value v = plim_graph_input_at(g, i);
        int64_t dims[PLIM_MAX_RANK], elements = 1;
        size_t bytes = 0;
        int rank = plim_graph_value_shape(g, v, dims);
        for (int k = 0; k < rank; k++) elements *= dims[k];
        void *memory = plim_session_input(session, plim_graph_value_name(g, v));
        if (memory && plim_dtype_bytes(plim_graph_value_dtype(g, v), elements, &bytes)) memset(memory, 0, bytes);
    }
}

static void feed_inputs(plim_session *session, const struct job *job) {
    zero_inputs(session);
    for (size_t i = 0; i < job->count; i++) {
        void *memory = plim_session_input(session, job->feeds[i].name);
        if (memory) memcpy(memory, job->feeds[i].array.data, job->feeds[i].array.bytes);
    }
}

/* Before the work and before the first file: what is asked for exists. */
static int check_outputs(plim__args *args, const plim_session *session, const struct job *job) {
    const plim_graph *g = plim_session_graph(session);
    const char *only = plim_graph_output_count(g) == 1 ? plim_graph_value_name(g, plim_graph_output_at(g, 0)) : NULL,
               *text;
    for (size_t i = 0; (text = plim__args_get_nth(args, "output", i)); i++) {
        char name[128];
        const char *path;
        if (!split(args, "output", text, only, name, &path)) return PLIM_EXIT_USAGE;
        if (!plim_session_output(session, name)) return plim__say_failure(args, "the model has no output '%s'", name);
        for (size_t k = 0; k < job->count; k++)
            if (plim__is_same_file(path, job->feeds[k].path))
                return plim__say_failure(args, "--output would replace the input '%s'", path);
    }
    return PLIM_EXIT_OK;
}

static plim_array output_array(const plim_session *session, const plim_graph *g, const char *name) {
    plim_value v = plim_graph_find(g, name);
    plim_array array = {.dtype = plim_graph_value_dtype(g, v),
                        .data = (void *)(uintptr_t)plim_session_output(session, name)}; /* only read */
    array.rank = plim_graph_value_shape(g, v, array.dims);
    int64_t elements = 1;
    for (int i = 0; i < array.rank; i++) elements *= array.dims[i];
    plim_dtype_bytes(array.dtype, elements, &array.bytes);
    return array;
}

static int write_outputs(plim__args *args, const plim_session *session) {
    const plim_graph *g = plim_session_graph(session);
    const char *only = plim_graph_output_count(g) == 1 ? plim_graph_value_name(g, plim_graph_output_at(g, 0)) : NULL,
               *text;
    for (size_t i = 0; (text = plim__args_get_nth(args, "output", i)); i++) {
        char name[128];
        const char *path;
        plim_error error;
        if (!split(args, "output", text, only, name, &path)) return PLIM_EXIT_USAGE;
        plim_array array = output_array(session, g, name), wide = {0};
        if (array.dtype == PLIM_BF16 && !plim__floats_convert(&array, PLIM_F32, &wide))
            return plim__say_failure(args, "out of memory");
        if (wide.data)
            plim__say_note(args, "note: '%s' is written as float32: NumPy has no bfloat16", plim__shown(path));
        plim_status status = plim_array_save(wide.data ? &wide : &array, path, &error);
        plim__free(wide.data);
        if (status != PLIM_OK) return plim__say_error(args, &error);
    }
    return PLIM_EXIT_OK;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void print_profile(const plim_session *session) {
    plim__profile profile = {0};
    for (size_t i = 0; i < plim_session_step_count(session); i++) {
        plim_session_step step;
        plim_session_get_step(session, i, &step);
        plim__profile_add(&profile, &step);
    }
    plim__profile_sort(&profile);
    plim__profile_print(&profile);
}

static int run_session(plim__args *args, plim_session *session, const struct job *job) {
    int64_t repeat = 1;
    plim_error error;
    if (!plim__args_int(args, "repeat", 1, 10000, &repeat)) return PLIM_EXIT_USAGE;
    double *times = plim__alloc_array((size_t)repeat, sizeof *times);
    if (!times) return plim__say_failure(args, "out of memory");
    for (int64_t i = 0; i < repeat; i++) {
        feed_inputs(session, job);
        double start = plim__clock_seconds();
        if (plim_session_run(session, &error) != PLIM_OK) {
            plim__free(times);
            return plim__say_error(args, &error);
        }
        times[i] = plim__clock_seconds() - start;
    }
    plim__activity_end();
    qsort(times, (size_t)repeat, sizeof *times, by_value);
    double median = times[repeat / 2];
    plim__free(times);
    int code = write_outputs(args, session);
    if (code != PLIM_EXIT_OK) return code;
    plim_session_stats stats;
    plim_session_get_stats(session, &stats);
    uint64_t peak = plim_process_resident_peak();
    if (plim__args_json(args))
        return plim__say_json(args, json_pack("{s:f, s:I, s:I}", "seconds", median, "arena_bytes",
                                              (json_int_t)stats.arena_bytes, "peak_resident_bytes", (json_int_t)peak));
    char arena[PLIM_BYTES_TEXT], resident[PLIM_BYTES_TEXT];
    plim__terminal_line(stdout, "%.1f ms, arena %s, peak resident %s", median * 1e3,
                        plim_bytes_format(stats.arena_bytes, arena), plim_bytes_format(peak, resident));
    if (plim__args_has(args, "profile")) print_profile(session);
    return PLIM_EXIT_OK;
}

/* Inputs that were not given stay zero only when the user asked for that. */
static int check_complete(plim__args *args, const plim_graph *g, const struct job *job) {
    if (plim__args_has(args, "zeros")) return PLIM_EXIT_OK;
    for (size_t i = 0; i < plim_graph_input_count(g); i++) {
        const char *name = plim_graph_value_name(g, plim_graph_input_at(g, i));
        size_t k = 0;
        while (k < job->count && strcmp(job->feeds[k].name, name) != 0) k++;
        if (k == job->count)
            return plim__say_failure(args, "input '%s' is missing; give --input %s=FILE.npy, or --zeros to measure",
                                     name, name);
    }
    return PLIM_EXIT_OK;
}

/* What the session has to say of how it computes, beyond what is known of the model. */
static void say_remarks(plim__args *args, const plim_graph *model, const plim_session *session) {
    const plim_graph *g = plim_session_graph(session);
    for (size_t i = plim_graph_remark_count(model); i < plim_graph_remark_count(g); i++)
        plim__say_note(args, "note: %s", plim_graph_remark_at(g, i, NULL));
}

static int run(plim__args *args) {
    const char *path = plim__args_at(args, 0);
    if (!path) return plim__say_usage(args, "which model?");
    plim__model_options options;
    if (!plim__model_options_read(args, &options)) return PLIM_EXIT_USAGE;
    if (plim__args_has(args, "data")) return plim__infer_data(args, path, &options);
    options.session.measure = plim__args_has(args, "profile");
    options.session.evaluation = PLIM_EVALUATION_AS_STORED;
    plim_error error;
    plim_graph *g;
    plim__activity_say(args, "reading %s", path);
    if (plim_graph_load(path, &g, &error) != PLIM_OK) return plim__say_error(args, &error);
    struct job job = {0};
    plim_session *session = NULL;
    int code = read_feeds(args, g, &job);
    if (code == PLIM_EXIT_OK) code = check_complete(args, g, &job);
    plim__sizes sizes = {options.sizes, &options.session.size_count};
    if (code == PLIM_EXIT_OK && plim__open_axes_check(g, &sizes, &error) != PLIM_OK)
        code = plim__say_error(args, &error);
    for (size_t i = 0; code == PLIM_EXIT_OK && i < job.count; i++) code = fit_feed(args, g, &job.feeds[i], &options);
    if (code == PLIM_EXIT_OK && plim__open_axes_settle(args, g, &sizes, &error) != PLIM_OK)
        code = plim__say_error(args, &error);
    if (code == PLIM_EXIT_OK && create_session(g, &job, &options, &session, &error) != PLIM_OK)
        code = plim__say_failure(args, "%s: %s", path, error.message);
    if (code == PLIM_EXIT_OK) say_remarks(args, g, session);
    if (code == PLIM_EXIT_OK) plim__activity_say(args, "running %s", path);
    if (code == PLIM_EXIT_OK) code = check_outputs(args, session, &job);
    if (code == PLIM_EXIT_OK) code = run_session(args, session, &job);
    plim_session_free(session);
    for (size_t i = 0; i < job.count; i++) plim_array_free(&job.feeds[i].array);
    plim_graph_free(g);
    return code;
}

static const plim__option options[] = {
    {"input", 'i', "NAME=FILE", "an input, from an NPY file; may be given several times"},
    {"output", 'o', "NAME=FILE", "an output, to an NPY file; may be given several times"},
    PLIM__MODEL_OPTIONS,
    {"repeat", 0, "N", "run N times and tell the median"},
    {"data", 'd', "PATH", "instead of --input: a data set, read as the model's own was; outputs have all its samples"},
    {"zeros", 0, NULL, "feed zeros for inputs that are not given, for measuring"},
    {"profile", 0, NULL, "tell where the time goes"},
    PLIM__JOB_OPTIONS,
    PLIM__DATA_OPTIONS,
    {0},
};

const plim__command plim__command_infer = {
    .name = "infer",
    .usage = "MODEL.onnx --input NAME=FILE.npy --output NAME=FILE.npy",
    .summary = "Run a model on arrays from NPY files",
    .description =
        "The names may be left out when the model has one input or one output. With --data, a whole data set goes "
        "through it.",
    .options = options,
    .examples = "  plimsoll infer resnet50.onnx --input image=x.npy --output logits=y.npy\n  plimsoll infer "
                "resnet50.onnx --batch 16 --zeros --repeat 10 --profile",
    .run = run,
};
