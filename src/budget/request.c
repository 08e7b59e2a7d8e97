/* Requests: from options, and as copies that outlive them. */
#include "budget/request.h"

#include <string.h>

#include "core/error.h"
#include "kernel/processor.h"
#include "mem/spill.h"

const char *plim_class_name(plim_class class_) {
    static const char *const names[] = {"exact", "reordered", "lossy"};
    return (size_t)class_ < 3 ? names[class_] : "?";
}

static const char *const precisions[] = {[PLIM_PRECISION_DEFAULT] = "fp32",
                                         [PLIM_PRECISION_F32] = "fp32",
                                         [PLIM_PRECISION_BF16] = "bf16",
                                         [PLIM_PRECISION_F16] = "fp16"};

const char *plim_precision_name(plim_precision precision) {
    return (size_t)precision < sizeof precisions / sizeof *precisions ? precisions[precision] : "?";
}

int plim_precision_find(const char *name, plim_precision *precision) {
    plim_precision p = PLIM_PRECISION_F16;
    while (name && p > PLIM_PRECISION_DEFAULT && strcmp(precisions[p], name) != 0) p--;
    if (!name || p == PLIM_PRECISION_DEFAULT) return 0;
    if (precision) *precision = p;
    return 1;
}

/* A base is a form of packing, but for the default. */
_Static_assert((int)PLIM_BASE_FILE - (int)PLIM_BASE_F32 == (int)PLIM__PACKED_FILE && PLIM__UNPACKED == 0,
               "bases and forms of packing are in the same order");

static plim__packed_form form_of(plim_base base) {
    return base == PLIM_BASE_DEFAULT ? PLIM__UNPACKED : (plim__packed_form)(base - PLIM_BASE_F32);
}

const char *plim_base_name(plim_base base) {
    return (size_t)base <= PLIM_BASE_FILE ? plim__packed_name(form_of(base)) : "?";
}

int plim_base_find(const char *name, plim_base *base) {
    plim__packed_form form = plim__packed_find(name);
    if (!name || (form == PLIM__UNPACKED && strcmp(name, plim__packed_name(PLIM__UNPACKED)) != 0)) return 0;
    if (base) *base = (plim_base)((int)PLIM_BASE_F32 + (int)form);
    return 1;
}

plim_class plim__allow_class(plim_allow allow) {
    return allow == PLIM_ALLOW_DEFAULT ? PLIM_REORDERED : (plim_class)(allow - PLIM_ALLOW_EXACT);
}

static int64_t at_least_one(int64_t number) { return number < 1 ? 1 : number; }

void plim__request_read(const plim_trainer_options *o, plim__request *request, plim__bounds *bounds) {
    *request = (plim__request){.loss = o->loss,
                               .optimizer = o->optimizer,
                               .schedule = o->schedule,
                               .batch = at_least_one(o->batch),
                               .accumulate = at_least_one(o->accumulate),
                               .sizes = o->sizes,
                               .size_count = o->size_count,
                               .freeze = o->freeze,
                               .freeze_count = o->freeze_count,
                               .rates = o->rates,
                               .rate_count = o->rate_count,
                               .trainable = o->trainable,
                               .trainable_count = o->trainable_count,
                               .seed = o->seed,
                               .precision = o->precision,
                               .base = o->base,
                               .measure = o->measure,
                               .allow = plim__allow_class(o->allow),
                               .saved = o->plan,
                               .alternatives = o->alternatives,
                               .records = o->records,
                               .log_bytes = o->log_bytes,
                               .data_bytes = o->data_bytes,
                               .data_held_bytes = o->data_held_bytes,
                               .data_opening_bytes = o->data_opening_bytes,
                               .data_sample_bytes = o->data_sample_bytes,
                               .samples = o->samples,
                               .updates = o->updates,
                               .evaluates = o->evaluates,
                               .irregular = o->irregular_batches,
                               .scores = o->scores};
    *bounds = (plim__bounds){.budget = o->budget,
                             .spill_folder = o->spill,
                             .no_spill = o->no_spill,
                             .no_winograd = o->no_winograd,
                             .threads = (int)at_least_one(o->threads)};
}

/* --- copies --------------------------------------------------------------------------------------------------- */

static void free_texts(const char *const *texts, size_t count) {
    for (size_t i = 0; texts && i < count; i++) plim__free((char *)texts[i]);
    plim__free((void *)texts);
}

static void free_sizes(const plim_size *sizes, size_t count) {
    for (size_t i = 0; sizes && i < count; i++) plim__free((char *)sizes[i].symbol);
    plim__free((void *)sizes);
}

static bool copy_text(const char **text) {
    const char *from = *text;
    *text = from ? plim__strdup(from) : NULL;
    return !from || *text;
}

static bool copy_texts(const char *const **texts, size_t count) {
    const char **copy = plim__alloc_zero(count, sizeof *copy);
    bool ok = copy != NULL;
    for (size_t i = 0; ok && i < count; i++) ok = (copy[i] = plim__strdup((*texts)[i])) != NULL;
    *texts = copy;
    return ok;
}

static bool copy_sizes(const plim_size **sizes, size_t count) {
    plim_size *copy = plim__alloc_zero(count, sizeof *copy);
    bool ok = copy != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        copy[i] = (plim_size){plim__strdup((*sizes)[i].symbol), (*sizes)[i].size};
        ok = copy[i].symbol != NULL;
    }
    *sizes = copy;
    return ok;
}

static bool copy_floats(const float **floats, size_t count) {
    const float *from = *floats;
    float *copy = from ? plim__alloc_array(count, sizeof *copy) : NULL;
    if (copy && count) memcpy(copy, from, count * sizeof *copy);
    *floats = copy;
    return !from || copy;
}

plim_status plim__request_own(plim__request *r, plim__bounds *bounds, plim_error *error) {
    bool ok = copy_texts(&r->freeze, r->freeze_count);
    ok &= copy_texts(&r->trainable, r->trainable_count);
    ok &= copy_texts(&r->rates, r->rate_count);
    ok &= copy_sizes(&r->sizes, r->size_count);
    ok &= copy_text(&r->loss.output);
    ok &= copy_text(&r->loss.counts);
    ok &= copy_text(&r->saved);
    ok &= copy_text(&bounds->spill_folder);
    ok &= copy_floats(&r->loss.class_weights, r->loss.class_count);
    if (ok) return PLIM_OK;
    plim__request_free(r, bounds);
    return plim__fail_memory(error, "the options of a trainer", sizeof *r);
}

void plim__request_free(plim__request *r, plim__bounds *bounds) {
    free_texts(r->freeze, r->freeze_count);
    free_texts(r->trainable, r->trainable_count);
    free_texts(r->rates, r->rate_count);
    free_sizes(r->sizes, r->size_count);
    plim__free((char *)r->loss.output);
    plim__free((char *)r->loss.counts);
    plim__free((char *)r->saved);
    plim__free((char *)bounds->spill_folder);
    plim__free((float *)r->loss.class_weights);
    *r = (plim__request){0};
    *bounds = (plim__bounds){0};
}

/* --- questions ------------------------------------------------------------------------------------------------ */

int plim__request_state_bits(const plim__request *r) { return r->optimizer.state_bits == 8 ? 8 : 0; }

int64_t plim__request_last(const plim__request *r) {
    if (r->samples <= 0) return 0;
    int64_t batches = (r->samples + r->batch - 1) / r->batch;
    return r->updates > 0 && r->updates < batches ? 0 : r->samples % r->batch;
}

plim__training_options plim__request_training(const plim__request *r, int64_t samples, bool sums) {
    return (plim__training_options){
        .loss = &r->loss,
        .optimizer = &r->optimizer,
        .batch = samples,
        .sizes = r->sizes,
        .size_count = r->size_count,
        .freeze = r->freeze,
        .freeze_count = r->freeze_count,
        .rates = r->rates,
        .rate_count = r->rate_count,
        .trainable = r->trainable,
        .trainable_count = r->trainable_count,
        .seed = r->seed,
        .sums = sums,
        .precision = r->precision,
        /* a lever that is tried and not taken would leave kernels of the library in memory */
        .narrow_factors = r->precision == PLIM_PRECISION_BF16,
        .base = form_of(r->base),
        .state_bits = plim__request_state_bits(r)};
}

plim__target plim__bounds_target(const plim__bounds *bounds) {
    return (plim__target){.device = bounds->device ? bounds->device : &plim__processor,
                          .threads = bounds->threads,
                          .winograd = !bounds->no_winograd};
}

const char *plim__bounds_spill_folder(const plim__bounds *bounds) {
    return bounds->spill_folder ? bounds->spill_folder : plim__spill_default_folder();
}
