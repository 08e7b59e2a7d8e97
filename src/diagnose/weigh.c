/* Bytes a parameter:
 *
 *   weights     4 in 32 bits, 2 in 16, 1.06 in 8, 0.56 in 4 (with its scales)
 *   training    16 in all with Adam: 4 weights, 4 gradients, 8 state; with adapters the weights alone
 */
#include "diagnose/weigh.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/cause.h"

static const double in_32_bits = 4, in_16_bits = 2, in_4_bits = 0.56, adam_state = 8, adam_state_8bit = 2,
                    adam_in_all = 16;

/* --- the model's size ------------------------------------------------------------------------------------------- */

/* "7b", "1.3B", "(13B)": a number of its own with a B, not "8x7B", "16GB" or "512 B". */
static bool take_billions(plim__text log, const char **at, double *billions) {
    const char *p = *at;
    bool apart = p == log.at || !(isalnum((unsigned char)p[-1]) || p[-1] == '.');
    double value = 0, scale = 0;
    const char *first = p;
    for (; p < log.end && (isdigit((unsigned char)*p) || (*p == '.' && scale == 0 && p > first)); p++) {
        if (*p == '.')
            scale = 1;
        else
            value = value * 10 + (*p - '0'), scale *= 10;
    }
    *at = p;
    if (!apart || p - first > 5 || p >= log.end || (*p | 32) != 'b') return false;
    if (p + 1 < log.end && (isalnum((unsigned char)p[1]) || p[1] == '/')) return false;
    if (scale > 1) value /= scale;
    if (value < 0.1 || value > 700) return false;
    *billions = value;
    return true;
}

double plim__parameters_read(plim__text log, bool names_only) {
    double named = 0, told = 0, value;
    for (const char *at = log.at; at < log.end && named == 0;) {
        if (!isdigit((unsigned char)*at)) {
            at++;
            continue;
        }
        const char *first = at;
        if (!take_billions(log, &at, &value)) continue;
        if (first > log.at && (first[-1] == '-' || first[-1] == '_')) named = value; /* part of a model's name */
        if (told == 0) told = value;
    }
    return 1e9 * (named > 0 || names_only ? named : told);
}

/* --- bytes ------------------------------------------------------------------------------------------------------ */

/* What the weights take now, a parameter: 16 bits unless the log or what is live says 32. */
static double now_of(const plim__case *c, double parameters) {
    bool wide = plim__context_has(c->context, PLIM_CONTEXT_FLOAT32) ||
                (c->context->phase == PLIM_PHASE_LOADING && c->x->allocated.known &&
                 (double)c->x->allocated.bytes > 2.2 * parameters);
    return wide ? in_32_bits : in_16_bits;
}

/* Less is live than most of the weights, though the device has room: they are spread over cards, quantized, or of another
 * model. */
static bool is_elsewhere(const plim__case *c, double parameters) {
    const plim_explanation *x = c->x;
    if (c->context->weights.known && (double)c->context->weights.bytes < 1.6 * parameters) return true;
    if (plim__conditions_hold("parallel", c) || plim__conditions_hold("quantized", c)) return true;
    if (c->context->phase == PLIM_PHASE_LOADING || !x->allocated.known) return false;
    bool filled = x->capacity.known && x->allocated.bytes > x->capacity.bytes / 100 * 85;
    return !filled && (double)x->allocated.bytes < 1.6 * parameters;
}

bool plim__weigh(plim__lever lever, const plim__case *c, plim__weight *made) {
    double parameters = c->parameters;
    *made = (plim__weight){.reaches = -1};
    if (parameters <= 0 || is_elsewhere(c, parameters)) return false;
    double now = now_of(c, parameters), left, billions = parameters / 1e9;
    plim__size_text before, after;
    bool all = plim__conditions_hold("train", c) || plim__conditions_hold("optimizer", c);
    if (lever == PLIM_LEVER_QUANTIZE) {
        left = in_4_bits;
        snprintf(made->note, sizeof made->note, "%g B parameters: %s in %d bits, %s in 4", billions,
                 plim__size((uint64_t)(now * parameters), before), now > 3 ? 32 : 16,
                 plim__size((uint64_t)(left * parameters), after));
    } else if (lever == PLIM_LEVER_ADAPTERS && all && !plim__conditions_hold("lora", c)) {
        now = adam_in_all, left = in_16_bits;
        snprintf(made->note, sizeof made->note, "%g B parameters: %s with all of Adam, %s frozen in 16 bits", billions,
                 plim__size((uint64_t)(now * parameters), before), plim__size((uint64_t)(left * parameters), after));
    } else if (lever == PLIM_LEVER_OPTIMIZER && all && !plim__conditions_hold("lora", c)) {
        now = adam_state, left = adam_state_8bit;
        snprintf(made->note, sizeof made->note, "%g B parameters: %s of Adam's state, %s in 8 bits", billions,
                 plim__size((uint64_t)(now * parameters), before), plim__size((uint64_t)(left * parameters), after));
    } else {
        return false;
    }
    made->saving = plim__rounded((now - left) * parameters);
    if (lever == PLIM_LEVER_QUANTIZE && c->x->capacity.known && c->context->phase == PLIM_PHASE_LOADING)
        made->reaches = left * parameters * 1.1 < (double)c->x->capacity.bytes;
    return true;
}

bool plim__weights_exceed(const plim__case *c) {
    return c->x->capacity.known && !is_elsewhere(c, c->parameters) && !plim__conditions_hold("multigpu", c) &&
           c->parameters * now_of(c, c->parameters) > 0.85 * (double)c->x->capacity.bytes;
}

bool plim__state_exceeds(const plim__case *c) {
    bool frozen =
        plim__context_has(c->context, PLIM_CONTEXT_LORA) || plim__context_has(c->context, PLIM_CONTEXT_QUANTIZED);
    return !frozen && c->x->capacity.known && c->parameters * adam_in_all > (double)c->x->capacity.bytes;
}

bool plim__weights_sentence(const plim__case *c, char *to, size_t size) {
    double parameters = c->parameters;
    if (parameters <= 0 || !c->x->capacity.known || is_elsewhere(c, parameters)) return false;
    double now = now_of(c, parameters);
    if (now * parameters < 0.9 * (double)c->x->capacity.bytes) return false;
    plim__size_text weights, whole;
    snprintf(to, size, "the weights alone take %s: %g B parameters in %d bits, on a device of %s",
             plim__size((uint64_t)(now * parameters), weights), parameters / 1e9, now > 3 ? 32 : 16,
             plim__size(c->x->capacity.bytes, whole));
    return true;
}
