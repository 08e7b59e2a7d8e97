/* plimsoll costs: what steps cost on this machine. */
#include <stdio.h>

#include "cli/command.h"

static int run(plim__args *args) {
    plim_machine_costs costs;
    plim_error error;
    int threads = plim__args_threads(args);
    if (plim_machine_measure(threads, plim__args_has(args, "again"), &costs, &error) != PLIM_OK)
        return plim__say_error(args, &error);
    if (plim__args_json(args)) {
        json_t *rates = json_array();
        for (size_t i = 0; i < costs.rate_count; i++)
            json_array_append_new(rates,
                                  json_pack("{s:s, s:f, s:f}", "operator", costs.rates[i].label, "flops_per_second",
                                            costs.rates[i].flops, "bytes_per_second", costs.rates[i].bytes));
        return plim__say_json(args, json_pack("{s:i, s:o, s:f, s:f}", "threads", threads, "rates", rates,
                                              "spill_bytes_per_second", costs.disk_bytes, "others_share", costs.busy));
    }
    printf("%-28s %12s %12s\n", "operator", "GFLOP/s", "GB/s");
    for (size_t i = 0; i < costs.rate_count; i++)
        printf("%-28s %12.1f %12.2f\n", costs.rates[i].label, costs.rates[i].flops / 1e9, costs.rates[i].bytes / 1e9);
    printf("%-28s %12s %12.2f\n", "(spilling to a file)", "", costs.disk_bytes / 1e9);
    if (costs.busy > PLIM_MEASURING_BUSY)
        printf("other programs had %.0f %% of the processors meanwhile: measure --again when they are done\n",
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
