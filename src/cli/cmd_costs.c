/* plimsoll costs: what steps cost on this machine. */
#include <stdio.h>

#include "cli/activity.h"
#include "cli/command.h"
#include "cli/terminal.h"

static int run(plim__args *args) {
    plim_machine_costs costs;
    plim_error error;
    int threads = plim__args_threads(args);
    plim__activity_say(args, "measuring what operators cost on this machine, for a few seconds");
    if (plim_machine_measure(threads, plim__args_has(args, "again"), &costs, &error) != PLIM_OK)
        return plim__say_error(args, &error);
    plim__activity_end();
    if (plim__args_json(args)) {
        json_t *rates = json_array();
        for (size_t i = 0; i < costs.rate_count; i++)
            json_array_append_new(rates,
                                  json_pack("{s:s, s:f, s:f}", "operator", costs.rates[i].label, "flops_per_second",
                                            costs.rates[i].flops, "bytes_per_second", costs.rates[i].bytes));
        return plim__say_json(args, json_pack("{s:i, s:o, s:f, s:f}", "threads", threads, "rates", rates,
                                              "spill_bytes_per_second", costs.disk_bytes, "others_share", costs.busy));
    }
    plim__terminal_line(stdout, "%-28s %12s %12s", "operator", "GFLOP/s", "GB/s");
    for (size_t i = 0; i < costs.rate_count; i++)
        plim__terminal_line(stdout, "%-28s %12.1f %12.2f", costs.rates[i].label, costs.rates[i].flops / 1e9,
                            costs.rates[i].bytes / 1e9);
    plim__terminal_line(stdout, "%-28s %12s %12.2f", "(spilling to a file)", "", costs.disk_bytes / 1e9);
    if (!costs.measured)
        plim__terminal_line(
            stdout,
            "these are rates of an average machine: other programs have the processors of this one, or its cache "
            "folder "
            "cannot be written; --again measures nevertheless");
    else if (costs.busy > PLIM_MEASURING_BUSY)
        plim__terminal_line(
            stdout, "other programs had %.0f %% of the processors meanwhile: measure --again when they are done",
            100 * costs.busy);
    return PLIM_EXIT_OK;
}

static const plim__option options[] = {{"again", 0, NULL, "measure again, even when they are known"}, {0}};

const plim__command plim__command_costs = {
    .name = "costs",
    .usage = "[OPTION...]",
    .summary = "Measure what operators cost on this machine",
    .description = "Planning under a budget weighs memory against time. Rates are measured once, by training small "
                   "networks for a few seconds, and kept in the user's cache folder.",
    .options = options,
    .examples = "  plimsoll costs --again",
    .run = run,
};
