/* Optimizers and schedules: names, defaults, and which settings make sense. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "grad/optimizer.h"

static const char *const optimizer_names[] = {
    [PLIM_SGD] = "sgd",         [PLIM_ADAM] = "adam",           [PLIM_ADAMW] = "adamw", [PLIM_RMSPROP] = "rmsprop",
    [PLIM_ADAGRAD] = "adagrad", [PLIM_ADAFACTOR] = "adafactor", [PLIM_LION] = "lion"};
static const char *const schedule_names[] = {
    [PLIM_CONSTANT] = "constant", [PLIM_STEP] = "step", [PLIM_COSINE] = "cosine", [PLIM_LINEAR] = "linear"};

#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

static int find(const char *const *names, int count, const char *name) {
    for (int i = 0; name && i < count; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

plim_optimizer plim_optimizer_default(plim_optimizer_kind kind) {
    plim_optimizer o = {.kind = kind, .rate = 1e-3};
    switch (kind) {
    case PLIM_SGD: break;
    case PLIM_ADAM:
    case PLIM_ADAMW:
        o.beta1 = 0.9;
        o.beta2 = 0.999;
        o.epsilon = 1e-8;
        if (kind == PLIM_ADAMW) o.weight_decay = 1e-2;
        break;
    case PLIM_RMSPROP:
        o.rate = 1e-2;
        o.alpha = 0.99;
        o.epsilon = 1e-8;
        break;
    case PLIM_ADAGRAD:
        o.rate = 1e-2;
        o.epsilon = 1e-10;
        break;
    case PLIM_ADAFACTOR:
        o.rate = 1e-2;
        o.beta2 = -0.8;
        o.epsilon = 1e-3;
        o.threshold = 1;
        break;
    case PLIM_LION:
        o.rate = 1e-4;
        o.beta1 = 0.9;
        o.beta2 = 0.99;
        break;
    }
    return o;
}

int plim_optimizer_find(const char *name, plim_optimizer_kind *kind) {
    int found = find(optimizer_names, COUNT(optimizer_names), name);
    if (found >= 0 && kind) *kind = (plim_optimizer_kind)found;
    return found >= 0;
}

const char *plim_optimizer_name(plim_optimizer_kind kind) {
    return (int)kind >= 0 && (int)kind < COUNT(optimizer_names) ? optimizer_names[kind] : "?";
}

/* --- which settings make sense --------------------------------------------------------------------------------- */

struct range {
    const char *name;
    double value, least, most;
    bool below; /* the most itself is too much */
};

static plim_status check_range(const plim_optimizer *o, const struct range *r, plim_error *error) {
    bool fits = r->value >= r->least && (r->below ? r->value < r->most : r->value <= r->most);
    if (fits && isfinite(r->value)) return PLIM_OK;
    const char *name = plim_optimizer_name(o->kind);
    if (isinf(r->most))
        return plim__fail(error, PLIM_INVALID, "optimizer %s: %s is %g, it must be at least %g", name, r->name,
                          r->value, r->least);
    return plim__fail(error, PLIM_INVALID, "optimizer %s: %s is %g, it must be from %g %s %g", name, r->name, r->value,
                      r->least, r->below ? "to below" : "to", r->most);
}

bool plim__optimizer_quantizes(const plim_optimizer *o) {
    return o->kind == PLIM_ADAM || o->kind == PLIM_ADAMW || o->kind == PLIM_RMSPROP || o->kind == PLIM_LION ||
           (o->kind == PLIM_SGD && o->momentum != 0);
}

plim_status plim__optimizer_check(const plim_optimizer *o, plim_error *error) {
    if (find(optimizer_names, COUNT(optimizer_names), plim_optimizer_name(o->kind)) < 0)
        return plim__fail(error, PLIM_INVALID, "there is no optimizer %d", (int)o->kind);
    bool adam = o->kind == PLIM_ADAM || o->kind == PLIM_ADAMW, lion = o->kind == PLIM_LION;
    bool sgd = o->kind == PLIM_SGD, rmsprop = o->kind == PLIM_RMSPROP, adafactor = o->kind == PLIM_ADAFACTOR;
    const double any = INFINITY;
    const struct {
        bool known;
        struct range range;
    } checks[] = {{true, {"the learning rate", o->rate, 0, any, false}},
                  {true, {"the weight decay", o->weight_decay, 0, any, false}},
                  {true, {"the largest norm", o->clip_norm, 0, any, false}},
                  {true, {"the largest gradient", o->clip_value, 0, any, false}},
                  {sgd || rmsprop, {"momentum", o->momentum, 0, any, false}},
                  {sgd, {"dampening", o->dampening, -any, any, false}},
                  {adam || lion, {"beta1", o->beta1, 0, 1, true}},
                  {adam || lion, {"beta2", o->beta2, 0, 1, true}},
                  {adafactor, {"the decay exponent", o->beta2, -any, 0, false}},
                  {rmsprop, {"alpha", o->alpha, 0, any, false}},
                  {!sgd && !lion, {"epsilon", o->epsilon, 0, any, false}},
                  {adafactor, {"the threshold", o->threshold, 1, any, false}},
                  {o->kind == PLIM_ADAGRAD, {"the decay of the learning rate", o->rate_decay, 0, any, false}}};
    for (int i = 0; i < COUNT(checks); i++)
        if (checks[i].known) PLIM_TRY(check_range(o, &checks[i].range, error));
    if (o->state_bits != 0 && o->state_bits != 8 && o->state_bits != 32)
        return plim__fail(error, PLIM_INVALID, "optimizer %s: its state has 8 or 32 bits, not %lld",
                          plim_optimizer_name(o->kind), (long long)o->state_bits);
    if (o->state_bits == 8 && !plim__optimizer_quantizes(o))
        return plim__fail(error, PLIM_INVALID, "optimizer %s%s has no state in 8 bits", plim_optimizer_name(o->kind),
                          sgd ? " without momentum" : "");
    if (sgd && o->nesterov && (o->momentum == 0 || o->dampening != 0))
        return plim__fail(error, PLIM_INVALID, "optimizer sgd: nesterov needs a momentum and no dampening");
    return PLIM_OK;
}

/* --- what a caller gave ----------------------------------------------------------------------------------------- */

static bool has_later_fields(const uint64_t *reserved, int count) {
    for (int i = 0; i < count; i++)
        if (reserved[i]) return true;
    return false;
}

static plim_status refuse_zero(const plim_optimizer *o, const char *field, plim_error *error) {
    return plim__fail(error, PLIM_INVALID,
                      "optimizer %s: %s is 0; begin with plim_optimizer_default, and write PLIM_ZERO where 0 is meant",
                      plim_optimizer_name(o->kind), field);
}

plim_status plim__optimizer_resolve(const plim_optimizer *given, plim_optimizer *optimizer, plim_error *error) {
    *optimizer = *given;
    plim_optimizer *o = optimizer;
    if ((int)o->kind < 0 || (int)o->kind >= COUNT(optimizer_names))
        return plim__fail(error, PLIM_INVALID, "there is no optimizer %d", (int)o->kind);
    if (has_later_fields(o->reserved, COUNT(o->reserved)))
        return plim__fail(error, PLIM_UNSUPPORTED, "the optimizer sets a field that this version does not have");
    const double numbers[] = {o->rate,    o->momentum,  o->dampening,  o->beta1,        o->beta2,     o->alpha,
                              o->epsilon, o->threshold, o->rate_decay, o->weight_decay, o->clip_norm, o->clip_value};
    bool empty = !o->nesterov;
    for (int i = 0; i < COUNT(numbers); i++) empty = empty && numbers[i] == 0;
    if (empty) {
        *o = plim_optimizer_default(o->kind);
        o->state_bits = given->state_bits;
        return PLIM_OK;
    }
    bool betas = o->kind == PLIM_ADAM || o->kind == PLIM_ADAMW || o->kind == PLIM_LION;
    if (o->rate == 0) return refuse_zero(o, "rate", error);
    if (betas && o->beta1 == 0) return refuse_zero(o, "beta1", error);
    if ((betas || o->kind == PLIM_ADAFACTOR) && o->beta2 == 0) return refuse_zero(o, "beta2", error);
    if (o->kind == PLIM_RMSPROP && o->alpha == 0) return refuse_zero(o, "alpha", error);
    return PLIM_OK;
}

plim_status plim__rate_parse(const char *text, size_t *glob, double *factor, plim_error *error) {
    const char *equals = text ? strrchr(text, '=') : NULL;
    char *end = NULL;
    double value = equals ? strtod(equals + 1, &end) : -1;
    if (!equals || equals == text || end == equals + 1 || *end || !(value >= 0) || !isfinite(value))
        return plim__fail(error, PLIM_INVALID, "'%.100s' is no factor of a learning rate, as 'layer4.*=0.1'",
                          text ? text : "");
    if (glob) *glob = (size_t)(equals - text);
    if (factor) *factor = value;
    return PLIM_OK;
}

plim_status plim__schedule_check(const plim_schedule *s, plim_error *error) {
    if ((int)s->kind < 0 || (int)s->kind >= COUNT(schedule_names))
        return plim__fail(error, PLIM_INVALID, "there is no schedule %d", (int)s->kind);
    if (has_later_fields(s->reserved, COUNT(s->reserved)))
        return plim__fail(error, PLIM_UNSUPPORTED, "the schedule sets a field that this version does not have");
    if (s->warmup < 0 || s->total < 0 || s->every < 0)
        return plim__fail(error, PLIM_INVALID, "schedule %s: warmup, total and every must not be negative",
                          schedule_names[s->kind]);
    if (!isfinite(s->gamma) || !isfinite(s->least))
        return plim__fail(error, PLIM_INVALID, "schedule %s: gamma and least must be finite", schedule_names[s->kind]);
    return PLIM_OK;
}

/* --- schedules ------------------------------------------------------------------------------------------------- */

int plim_schedule_find(const char *name, plim_schedule_kind *kind) {
    int found = find(schedule_names, COUNT(schedule_names), name);
    if (found >= 0 && kind) *kind = (plim_schedule_kind)found;
    return found >= 0;
}

double plim_schedule_factor(const plim_schedule *s, int64_t update) {
    const double pi = 3.14159265358979323846;
    if (!s) return 1;
    if (update < 0) update = 0;
    if (update < s->warmup) return (double)(update + 1) / (double)s->warmup;
    int64_t warmup = s->warmup > 0 ? s->warmup : 0, since = update - warmup,
            length = s->total > warmup ? s->total - warmup : 0;
    int64_t reductions = s->every > 0 ? since / s->every : 0;
    double share = length > 0 && since < length ? (double)since / (double)length : 1; /* of the way to the end */
    switch (s->kind) {
    case PLIM_STEP: return s->every > 0 ? pow(s->gamma == 0 ? 0.1 : s->gamma, (double)reductions) : 1;
    case PLIM_COSINE: return s->total > 0 ? s->least + (1 - s->least) * (1 + cos(pi * share)) / 2 : 1;
    case PLIM_LINEAR: return s->total > 0 ? 1 + (s->least - 1) * share : 1;
    default: return 1;
    }
}
