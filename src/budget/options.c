/* Options of trainers and plans, as callers give them: read, checked and made whole. */
#include "budget/request.h"
#include "core/arguments.h"
#include "grad/optimizer.h"

/* Counts that go with lists, and the lists themselves. */
static plim_status check_lists(const plim_trainer_options *o, plim_error *error) {
    if (o->size_count && !o->sizes)
        return plim__fail(error, PLIM_INVALID, "there are %zu sizes, but sizes is NULL", o->size_count);
    if (o->freeze_count && !o->freeze)
        return plim__fail(error, PLIM_INVALID, "there are %zu names to freeze, but freeze is NULL", o->freeze_count);
    if (o->trainable_count && !o->trainable)
        return plim__fail(error, PLIM_INVALID, "there are %zu names to train, but trainable is NULL",
                          o->trainable_count);
    if (o->rate_count && !o->rates)
        return plim__fail(error, PLIM_INVALID, "there are %zu factors of rates, but rates is NULL", o->rate_count);
    for (size_t i = 0; i < o->rate_count; i++) PLIM_TRY(plim__rate_parse(o->rates[i], NULL, NULL, error));
    for (size_t i = 0; i < o->trainable_count; i++)
        if (!o->trainable[i]) return plim__fail(error, PLIM_INVALID, "trainable[%zu] is NULL", i);
    for (size_t i = 0; i < o->size_count; i++)
        if (!o->sizes[i].symbol) return plim__fail(error, PLIM_INVALID, "sizes[%zu].symbol is NULL", i);
    for (size_t i = 0; i < o->freeze_count; i++)
        if (!o->freeze[i]) return plim__fail(error, PLIM_INVALID, "freeze[%zu] is NULL", i);
    return PLIM_OK;
}

/* Far beyond any batch or data set, and sums of a few such numbers are still numbers. */
#define MOST_SAMPLES ((int64_t)1 << 48)

static plim_status check_numbers(const plim_trainer_options *o, plim_error *error) {
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"batch", o->batch},
                   {"accumulate", o->accumulate},
                   {"samples", o->samples},
                   {"updates", o->updates},
                   {"evaluates", o->evaluates}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i].value < 0)
            return plim__fail(error, PLIM_INVALID, "%s is %lld, it must not be negative", numbers[i].name,
                              (long long)numbers[i].value);
        if (numbers[i].value > MOST_SAMPLES)
            return plim__fail(error, PLIM_OVERFLOW, "%s is %lld, it must be at most %lld", numbers[i].name,
                              (long long)numbers[i].value, (long long)MOST_SAMPLES);
    }
    PLIM_TRY(plim__threads_check(o->threads, error));
    if ((unsigned)o->allow > PLIM_ALLOW_LOSSY)
        return plim__fail(error, PLIM_INVALID, "allow is %d, which is no plim_allow", (int)o->allow);
    if ((unsigned)o->precision > PLIM_PRECISION_F16)
        return plim__fail(error, PLIM_INVALID, "precision is %d, which is no plim_precision", (int)o->precision);
    if ((unsigned)o->base > PLIM_BASE_FILE)
        return plim__fail(error, PLIM_INVALID, "base is %d, which is no plim_base", (int)o->base);
    return PLIM_OK;
}

plim_status plim__trainable_check(const plim_graph *model, plim_error *error) {
    PLIM_TRY(plim_graph_status(model, error));
    size_t count = plim_graph_input_count(model);
    if (count <= PLIM_MOST_INPUTS) return PLIM_OK;
    return plim__fail(error, PLIM_UNSUPPORTED, "the model has %zu inputs, a batch has at most %d", count,
                      PLIM_MOST_INPUTS);
}

plim_status plim__trainer_options_read(const plim_trainer_options *given, plim_trainer_options *options,
                                       plim_error *error) {
    PLIM__OPTIONS(plim_trainer_options, *options, given, error);
    PLIM_TRY(check_numbers(options, error));
    PLIM_TRY(check_lists(options, error));
    PLIM_TRY(plim__schedule_check(&options->schedule, error));
    plim_loss loss = options->loss;
    PLIM_TRY(plim__loss_resolve(&loss, &options->loss, error));
    plim_optimizer optimizer = options->optimizer;
    return plim__optimizer_resolve(&optimizer, &options->optimizer, error);
}
