/* Rates and seconds. */
#include "plan/costs.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"

plim__costs plim__costs_default(int threads) {
    double share = threads > 0 ? (double)threads : 1;
    return (plim__costs){
        .flops = 50e9 * share, .bytes = 8e9 * (share < 2 ? share : 2), .step = 15e-6, .disk = PLIM__DEFAULT_DISK};
}

static const plim__rate *find(const plim__costs *costs, const char *label) {
    for (size_t i = 0; i < costs->count; i++)
        if (strncmp(costs->rates[i].label, label, PLIM__RATE_LABEL - 1) == 0) return &costs->rates[i];
    return NULL;
}

double plim__costs_seconds(const plim__costs *costs, const plim__step *step) {
    const plim__rate *rate = find(costs, step->label);
    double flops = rate && rate->flops > 0 ? rate->flops : costs->flops;
    double bytes = rate && rate->bytes > 0 ? rate->bytes : costs->bytes;
    /* arithmetic that is dense counts by its operations, the rest by the memory it moves */
    bool dense = step->cost.flops > 8 * step->cost.bytes;
    return costs->step + (dense ? step->cost.flops / flops : step->cost.bytes / bytes);
}

double *plim__costs_of(const plim__costs *costs, const plim__program *program) {
    double *seconds = plim__alloc_array(program->steps.count, sizeof *seconds);
    for (size_t s = 0; seconds && s < program->steps.count; s++)
        seconds[s] = plim__costs_seconds(costs, &program->steps.items[s]);
    return seconds;
}

char *plim__costs_write(const plim__costs *costs) {
    json_t *rates = json_array(), *root;
    for (size_t i = 0; i < costs->count; i++)
        json_array_append_new(rates, json_pack("{s:s, s:f, s:f}", "label", costs->rates[i].label, "flops",
                                               costs->rates[i].flops, "bytes", costs->rates[i].bytes));
    root = json_pack("{s:o, s:f, s:f, s:f, s:f}", "rates", rates, "flops", costs->flops, "bytes", costs->bytes, "step",
                     costs->step, "disk", costs->disk);
    char *dumped = root ? json_dumps(root, JSON_INDENT(1)) : NULL, *text = dumped ? plim__strdup(dumped) : NULL;
    free(dumped);
    json_decref(root);
    return text;
}

static bool read_rate(const json_t *item, plim__rate *rate) {
    const char *label;
    if (json_unpack((json_t *)(uintptr_t)item, "{s:s, s:F, s:F}", "label", &label, "flops", &rate->flops, "bytes",
                    &rate->bytes) != 0)
        return false;
    snprintf(rate->label, sizeof rate->label, "%s", label);
    return rate->flops >= 0 && rate->bytes >= 0;
}

bool plim__costs_read(plim__costs *costs, const char *text) {
    json_t *root = json_loads(text, 0, NULL), *rates = root ? json_object_get(root, "rates") : NULL;
    plim__costs read = {0};
    bool good = root && json_is_array(rates) && json_array_size(rates) <= PLIM__MOST_RATES &&
                json_unpack(root, "{s:F, s:F, s:F, s?F}", "flops", &read.flops, "bytes", &read.bytes, "step",
                            &read.step, "disk", &read.disk) == 0 &&
                read.flops > 0 && read.bytes > 0 && read.step >= 0 && read.disk >= 0;
    for (size_t i = 0; good && i < json_array_size(rates); i++)
        good = read_rate(json_array_get(rates, i), &read.rates[read.count++]);
    json_decref(root);
    if (good) *costs = read;
    return good;
}
