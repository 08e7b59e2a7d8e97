/* plimsoll check: runs ONNX conformance folders and prints a table. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/format.h"
#include "core/vec.h"

typedef PLIM_VEC(char *) paths;

static bool has_model(const char *folder) {
    char path[4096];
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    return access(path, R_OK) == 0;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The folder itself when it is a case, otherwise every case below it. */
static bool collect(const char *folder, paths *cases, int depth) {
    if (has_model(folder)) {
        char *copy = plim__strdup(folder);
        return copy && plim__vec_push(cases, copy);
    }
    DIR *dir = depth < 4 ? opendir(folder) : NULL;
    if (!dir) return depth > 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[4096];
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN || entry->d_type == DT_LNK)
            collect(path, cases, depth + 1);
    }
    closedir(dir);
    return true;
}

static bool collect_all(plim__args *args, paths *cases) {
    for (size_t i = 0; i < plim__args_count(args); i++)
        if (!collect(plim__args_at(args, i), cases, 0))
            return plim__say_failure(args, "cannot open folder '%s'", plim__args_at(args, i)), false;
    if (cases->count) {
        qsort(cases->items, cases->count, sizeof *cases->items, by_name);
        return true;
    }
    plim__say_failure(args, "no conformance case (a folder with model.onnx) in '%s'", plim__args_at(args, 0));
    return false;
}

static void run_case(plim__args *args, const char *folder, size_t counts[3], json_t *list) {
    static const char *const words[] = {"passed", "failed", "unsupported"};
    plim_conformance result;
    plim_error error;
    if (plim_conformance_run(folder, plim__args_threads(args), &result, &error) != PLIM_OK)
        snprintf(result.reason, sizeof result.reason, "%s", error.message);
    const char *name = strrchr(folder, '/') ? strrchr(folder, '/') + 1 : folder, *word = words[result.verdict];
    counts[result.verdict]++;
    if (plim__args_json(args))
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s*}", "name", name, "status", word, "reason",
                                              result.reason, "corrected", result.corrected));
    else if (result.verdict != PLIM_VERDICT_PASSED || result.corrected || plim__args_has(args, "all"))
        printf("%-12s %-56s %s\n", word, plim__shown(name),
               plim__shown(result.corrected && !*result.reason ? result.corrected : result.reason));
}

static int run(plim__args *args) {
    if (!plim__args_count(args)) return plim__say_usage(args, "which folder?");
    paths cases = {0};
    bool found = collect_all(args, &cases);
    json_t *list = json_array();
    size_t counts[3] = {0};
    for (size_t i = 0; i < cases.count; i++) {
        if (found) run_case(args, cases.items[i], counts, list);
        plim__free(cases.items[i]);
    }
    plim__vec_free(&cases);
    if (found && plim__args_json(args))
        return plim__say_json(args,
                              json_pack("{s:I, s:I, s:I, s:o}", "passed", (json_int_t)counts[0], "failed",
                                        (json_int_t)counts[1], "unsupported", (json_int_t)counts[2], "cases", list));
    json_decref(list);
    if (!found) return PLIM_EXIT_FAILURE;
    printf("\n%zu passed, %zu failed, %zu unsupported\n", counts[0], counts[1], counts[2]);
    return counts[1] ? PLIM_EXIT_FAILURE : PLIM_EXIT_OK;
}

static const plim__option options[] = {
    {"all", 'a', NULL, "list the cases that passed, too"},
    {0},
};

const plim__command plim__command_check = {
    .name = "check",
    .usage = "FOLDER... [--all]",
    .summary = "Run ONNX conformance cases",
    .description =
        "A case is a folder with model.onnx and test_data_set_K/input_I.pb and output_I.pb; a folder without\n"
        "model.onnx is searched for cases. Exit code 1 when a case gives a wrong answer.",
    .options = options,
    .examples = "  plimsoll check /usr/share/libonnx-testdata/data/node",
    .run = run,
};
