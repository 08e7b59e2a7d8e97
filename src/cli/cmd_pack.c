/* plimsoll pack: offsets for the buffers of a CSV file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/activity.h"
#include "cli/command.h"
#include "core/alloc.h"
#include "core/file.h"
#include "plimsoll/pack.h"

static const double default_seconds = 60; /* with a capacity; without one the search is limited by work */

static bool read_options(plim__args *args, plim_pack_options *options) {
    uint64_t capacity = 1;
    if (!plim__args_bytes(args, "capacity", &capacity) || !plim__args_double(args, "seconds", &options->seconds))
        return false;
    bool limited = plim__args_has(args, "seconds");
    if (limited && !(options->seconds > 0 && options->seconds < 1e9))
        return plim__say_usage(args, "--seconds must be above 0"), false;
    if (capacity == 0 || capacity > INT64_MAX)
        return plim__say_usage(args, "--capacity must be from 1 to 2^63 - 1"), false;
    if (plim__args_has(args, "capacity")) {
        options->capacity = (int64_t)capacity;
        if (!limited) options->seconds = default_seconds;
    }
    if (limited) options->work = INT64_MAX;
    return true;
}

static void say_summary(const plim_pack_file *file, const plim_pack_result *result) {
    char height[PLIM_BYTES_TEXT], bound[PLIM_BYTES_TEXT];
    double over = result->lower_bound > 0 ? 100.0 * ((double)result->height / (double)result->lower_bound - 1) : 0;
    fprintf(stderr, "%zu buffers: height %s, %.2f %% above the lower bound %s%s; %.3f s\n", plim_pack_file_count(file),
            plim_bytes_group((uint64_t)result->height, height), over,
            plim_bytes_group((uint64_t)result->lower_bound, bound), result->exact ? " (proven lowest)" : "",
            result->seconds);
}

static json_t *to_json(const plim_pack_file *file, const plim_pack_options *options, const int64_t *offsets,
                       const plim_pack_result *result) {
    json_t *list = json_array();
    for (size_t i = 0; i < plim_pack_file_count(file); i++) json_array_append_new(list, json_integer(offsets[i]));
    return json_pack("{s:o, s:I, s:I, s:b, s:b, s:I, s:f, s:o}", "capacity",
                     options->capacity ? json_integer(options->capacity) : json_null(), "height",
                     (json_int_t)result->height, "lower_bound", (json_int_t)result->lower_bound, "fits", result->fits,
                     "exact", result->exact, "nodes", (json_int_t)result->nodes, "seconds", result->seconds, "offsets",
                     list);
}

/* The table goes to --out, or to standard output unless JSON does. */
static int write_table(plim__args *args, const plim_pack_file *file, const int64_t *offsets) {
    const char *out = plim__args_get(args, "out");
    if (!out && plim__args_json(args)) return PLIM_EXIT_OK;
    plim_error error = {0};
    char *text;
    if (plim_pack_file_print(file, offsets, &text, &error) != PLIM_OK)
        return plim__say_failure(args, "not enough memory for the table");
    int code = PLIM_EXIT_OK;
    if (out)
        code = plim__file_write(out, text, strlen(text), &error) == PLIM_OK ? code : plim__say_error(args, &error);
    else if (fputs(text, stdout) < 0 || fflush(stdout))
        code = plim__say_failure(args, "cannot write to standard output");
    plim_text_free(text);
    return code;
}

static int report(plim__args *args, const plim_pack_file *file, const plim_pack_options *options,
                  const int64_t *offsets, const plim_pack_result *result) {
    int code = PLIM_EXIT_OK;
    if (result->fits)
        code = write_table(args, file, offsets);
    else
        code = plim__say_failure(
            args, "'%s' %s the capacity %" PRId64 "; the lowest packing found is %" PRId64 " (lower bound %" PRId64 ")",
            plim__args_at(args, 0), result->exact ? "cannot fit" : "was not made to fit", options->capacity,
            result->height, result->lower_bound);
    if (plim__args_json(args)) {
        int printed = plim__say_json(args, to_json(file, options, offsets, result));
        return code ? code : printed;
    }
    if (result->fits) say_summary(file, result);
    return code;
}

static int run(plim__args *args) {
    const char *path = plim__args_at(args, 0);
    if (!path || plim__args_count(args) != 1) return plim__say_usage(args, "expected one CSV file");
    plim_pack_options options = {0};
    if (!read_options(args, &options)) return PLIM_EXIT_USAGE;
    plim_error error = {0};
    plim_pack_file *file = NULL;
    plim_pack_result result;
    int64_t *offsets = NULL;
    int code;
    plim__activity_say(args, "packing %s", path);
    if (plim_pack_file_load(path, &file, &error) != PLIM_OK)
        code = plim__say_error(args, &error);
    else if (!(offsets = plim__alloc_array(plim_pack_file_count(file) + 1, sizeof *offsets)))
        code = plim__say_failure(args, "not enough memory for the offsets");
    else if (plim_pack(plim_pack_file_buffers(file), plim_pack_file_count(file), &options, offsets, &result, &error) !=
             PLIM_OK)
        code = plim__say_failure(args, "'%s': %s", path, error.message);
    else
        plim__activity_end(), code = report(args, file, &options, offsets, &result);
    plim__free(offsets);
    plim_pack_file_free(file);
    return code;
}

static const plim__option options[] = {
    {"capacity", 'c', "N", "find a packing within N bytes; without it, the lowest packing"},
    {"seconds", 's', "S", "search at most so long (default 60 with a capacity, else about one second of work)"},
    {"out", 'o', "FILE", "write the table to FILE, not to standard output"},
    {0},
};

const plim__command plim__command_pack = {
    .name = "pack",
    .usage = "FILE.csv [--capacity N]",
    .summary = "Give every buffer an offset in one arena",
    .description =
        "Reads a row for each buffer: it lives in the half-open time span [lower, upper) and needs size bytes.\n"
        "Prints the same table with a column offset, such that buffers alive at the same time never overlap.\n"
        "The columns id, lower, upper and size may come in any order. Columns alignment and fixed (an offset\n"
        "that is not to be chosen, or empty) are optional; others are kept.\n"
        "When no packing within the capacity is found, the exit status is 1 and the best height is told.\n"
        "With --json, offsets are in the order of the rows.",
    .options = options,
    .examples = "  plimsoll pack buffers.csv --capacity 1MiB -o packed.csv\n"
                "  plimsoll pack buffers.csv --json | jq .height",
    .run = run,
};
