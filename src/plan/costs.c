/* Rates and seconds. */
#include "plan/costs.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/hash.h"
#include "core/json.h"

#define STEP 15e-6 /* entering a step, and waking the threads */

plim__costs plim__costs_default(int threads) {
    double share = threads > 0 ? (double)threads : 1;
    return (plim__costs){
        .flops = 50e9 * share, .bytes = 8e9 * (share < 2 ? share : 2), .step = STEP, .disk = PLIM__DEFAULT_DISK};
}

static const plim__rate *find_first(const plim__costs *costs, const char *label, size_t length) {
    for (size_t i = 0; i < costs->count; i++)
        if (strncmp(costs->rates[i].label, label, length) == 0 && !costs->rates[i].label[length])
            return &costs->rates[i];
    return NULL;
}

static const plim__rate *find(const plim__costs *costs, const char *label) {
    size_t length = strlen(label);
    return find_first(costs, label, length < PLIM__RATE_LABEL ? length : PLIM__RATE_LABEL - 1);
}

static double time_of(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

/* Products of 16 bits are not measured by themselves: they take half of the time that those of float32 take. */
#define NARROW       "Bf16"
#define NARROW_SPEED 2

double plim__costs_seconds(const plim__costs *costs, const plim__step *step) {
    const plim__rate *rate = find(costs, step->label);
    size_t length = strlen(step->label), ending = sizeof NARROW - 1;
    bool narrow = !rate && length > ending && strcmp(step->label + length - ending, NARROW) == 0;
    if (narrow) rate = find_first(costs, step->label, length - ending);
    double flops = rate ? rate->flops : costs->flops, bytes = rate ? rate->bytes : costs->bytes;
    if (narrow) flops *= NARROW_SPEED;
    return costs->step + time_of(step->cost.flops, flops) + time_of(step->cost.bytes, bytes) +
           (rate ? 0 : time_of(step->cost.read, costs->disk)); /* what was measured has it */
}

/* --- rates from times ----------------------------------------------------------------------------------------- */

/* Sums over steps, each weighted by 1 / its seconds: a long step counts for more than a short one, but does not drown
 * it. */
struct sums {
    double ff, fb, bb, ft, bt;
};

static void add(struct sums *sums, const plim__timed *s) {
    double seconds = s->seconds > 2 * STEP ? s->seconds - STEP : s->seconds / 2;
    if (seconds <= 0) return;
    sums->ff += s->flops * s->flops / seconds;
    sums->fb += s->flops * s->bytes / seconds;
    sums->bb += s->bytes * s->bytes / seconds;
    sums->ft += s->flops;
    sums->bt += s->bytes;
}

#define SLOWEST 4e9 /* bytes a second beside arithmetic: where both grow together, times alone do not tell them apart */

/* Least squares for seconds = flops · f + bytes · b, neither below zero. */
static void solve(const struct sums *s, double *flops, double *bytes) {
    double d = s->ff * s->bb - s->fb * s->fb, f = 0, b = 0;
    if (d > 1e-6 * s->ff * s->bb) {
        f = (s->ft * s->bb - s->bt * s->fb) / d;
        b = (s->bt * s->ff - s->ft * s->fb) / d;
    }
    if (f > 0 && b > 1 / SLOWEST) {
        b = 1 / SLOWEST;
        f = (s->ft - b * s->fb) / s->ff;
    }
    if (f <= 0 || b <= 0) { /* one alone: whichever explains more */
        double by_flops = s->ff > 0 ? s->ft * s->ft / s->ff : 0, by_bytes = s->bb > 0 ? s->bt * s->bt / s->bb : 0;
        f = by_flops > by_bytes ? s->ft / s->ff : 0;
        b = by_flops > by_bytes || s->bb <= 0 ? 0 : s->bt / s->bb;
    }
    *flops = f > 0 ? 1 / f : 0;
    *bytes = b > 0 ? 1 / b : 0;
}

void plim__costs_fit(plim__costs *costs, const plim__timed *timed, size_t count) {
    struct sums all = {0};
    costs->count = 0;
    costs->step = STEP;
    for (size_t i = 0; i < count; i++) {
        add(&all, &timed[i]);
        if (find(costs, timed[i].label) || costs->count == PLIM__MOST_RATES) continue;
        plim__rate *rate = &costs->rates[costs->count++];
        struct sums one = {0};
        memcpy(rate->label, timed[i].label, sizeof rate->label);
        for (size_t j = i; j < count; j++)
            if (strcmp(timed[j].label, timed[i].label) == 0) add(&one, &timed[j]);
        solve(&one, &rate->flops, &rate->bytes);
    }
    solve(&all, &costs->flops, &costs->bytes);
}

double *plim__costs_of(const plim__costs *costs, const plim__program *program) {
    double *seconds = plim__alloc_array(program->steps.count, sizeof *seconds);
    for (size_t s = 0; seconds && s < program->steps.count; s++)
        seconds[s] = plim__costs_seconds(costs, &program->steps.items[s]);
    return seconds;
}

/* A number that other rates do not have: a file that was damaged or cut off says something else. */
static bool sum_of(const json_t *root, char sum[20]) {
    plim__hash hash = PLIM_HASH_START;
    plim__str text = {0};
    bool printed = plim__json_print(&text, root, JSON_COMPACT);
    if (printed) plim__hash_add(&hash, text.data, text.length);
    snprintf(sum, 20, "%016llx", (unsigned long long)plim__hash_value(&hash));
    plim__str_free(&text);
    return printed;
}

char *plim__costs_write(const plim__costs *costs) {
    json_t *rates = json_array(), *root;
    for (size_t i = 0; i < costs->count; i++)
        json_array_append_new(rates, json_pack("{s:s, s:f, s:f}", "label", costs->rates[i].label, "flops",
                                               costs->rates[i].flops, "bytes", costs->rates[i].bytes));
    root = json_pack("{s:o, s:f, s:f, s:f, s:f, s:f}", "rates", rates, "flops", costs->flops, "bytes", costs->bytes,
                     "step", costs->step, "disk", costs->disk, "others", costs->others);
    plim__str text = {0};
    char sum[20];
    bool good = sum_of(root, sum) && json_object_set_new(root, "sum", json_string(sum)) == 0;
    if (!good || !plim__json_print(&text, root, JSON_INDENT(1))) plim__str_free(&text);
    json_decref(root);
    return text.data;
}

/* What no processor, memory or disk has: times from such rates would be worth less than those of an average machine. */
static bool is_rate(double rate) { return rate >= 1e5 && rate <= 1e17; }

static bool read_rate(const json_t *item, plim__rate *rate) {
    const char *label;
    if (json_unpack((json_t *)(uintptr_t)item, "{s:s, s:F, s:F}", "label", &label, "flops", &rate->flops, "bytes",
                    &rate->bytes) != 0)
        return false;
    snprintf(rate->label, sizeof rate->label, "%s", label);
    return (rate->flops == 0 || is_rate(rate->flops)) && (rate->bytes == 0 || is_rate(rate->bytes));
}

/* Takes the sum out. */
static bool has_sum(json_t *root) {
    char sum[20], said[20] = "";
    const char *text = json_string_value(json_object_get(root, "sum"));
    if (text) snprintf(said, sizeof said, "%s", text);
    json_object_del(root, "sum");
    return sum_of(root, sum) && strcmp(sum, said) == 0;
}

bool plim__costs_read(plim__costs *costs, const char *text) {
    json_t *root = json_loads(text, 0, NULL), *rates = root ? json_object_get(root, "rates") : NULL;
    plim__costs read = {0};
    bool good = root && has_sum(root) && json_is_array(rates) && json_array_size(rates) <= PLIM__MOST_RATES &&
                json_unpack(root, "{s:F, s:F, s:F, s:F, s?F}", "flops", &read.flops, "bytes", &read.bytes, "step",
                            &read.step, "disk", &read.disk, "others", &read.others) == 0 &&
                (read.flops == 0 || is_rate(read.flops)) && (read.bytes == 0 || is_rate(read.bytes)) &&
                read.step >= 0 && read.step < 1 && is_rate(read.disk) && read.others >= 0;
    for (size_t i = 0; good && i < json_array_size(rates); i++)
        good = read_rate(json_array_get(rates, i), &read.rates[read.count++]);
    json_decref(root);
    if (good) *costs = read;
    return good;
}
