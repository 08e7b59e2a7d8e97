/* Reading the options of training. */
#include "cli/train_options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

static bool read_double(plim__args *args, const char *name, double least, double most, double *value) {
    if (!plim__args_double(args, name, value)) return false;
    if (!plim__args_has(args, name) || (*value >= least && *value <= most)) return true;
    plim__say_usage(args, "--%s %s: expected a number from %g to %g", name, plim__args_get(args, name), least, most);
    return false;
}

bool plim__loss_options_read(plim__args *args, plim_loss_kind kind, float class_weights[PLIM__MOST_CLASSES],
                             plim_loss *loss, bool *balanced) {
    const char *weights = plim__args_get(args, "class-weights"), *name = plim__args_get(args, "loss");
    if (name && !plim_loss_find(name, &kind)) {
        plim__say_choice(args, "loss", "cross_entropy, bce_with_logits, mse, l1, huber or model");
        return false;
    }
    *loss = plim_loss_default(kind);
    loss->output = plim__args_get(args, "loss-output");
    loss->counts = plim__args_get(args, "loss-counts");
    if (balanced) *balanced = weights && strcmp(weights, "balanced") == 0;
    int classes =
        balanced && *balanced ? 0 : plim__args_floats(args, "class-weights", class_weights, PLIM__MOST_CLASSES);
    if (classes < 0) return false;
    if (classes > 0) {
        loss->class_weights = class_weights;
        loss->class_count = (size_t)classes;
    }
    return plim__args_int(args, "ignore-index", INT64_MIN, INT64_MAX, &loss->ignore_index) &&
           read_double(args, "label-smoothing", 0, 1, &loss->label_smoothing) &&
           read_double(args, "huber-delta", 1e-30, 1e30, &loss->delta);
}

/* Settings that not every optimizer has. */
static const struct own_option {
    const char *name;
    plim_optimizer_kind kinds[2]; /* that know it */
    double least, most;
    size_t offset; /* of the double in plim_optimizer */
} own_options[] = {
    {"momentum", {PLIM_SGD, PLIM_RMSPROP}, 0, 1, offsetof(plim_optimizer, momentum)},
    {"dampening", {PLIM_SGD, PLIM_SGD}, -1e30, 1e30, offsetof(plim_optimizer, dampening)},
    {"alpha", {PLIM_RMSPROP, PLIM_RMSPROP}, 0, 1, offsetof(plim_optimizer, alpha)},
    {"lr-decay", {PLIM_ADAGRAD, PLIM_ADAGRAD}, 0, 1e30, offsetof(plim_optimizer, rate_decay)},
    {"beta2-decay", {PLIM_ADAFACTOR, PLIM_ADAFACTOR}, -1e30, 0, offsetof(plim_optimizer, beta2)},
    {"update-threshold", {PLIM_ADAFACTOR, PLIM_ADAFACTOR}, 1, 1e30, offsetof(plim_optimizer, threshold)},
};

/* What another optimizer would not read is a mistake, not a wish. */
static bool read_own(plim__args *args, const struct own_option *option, plim_optimizer *o) {
    if (!plim__args_has(args, option->name)) return true;
    if (o->kind == option->kinds[0] || o->kind == option->kinds[1])
        return read_double(args, option->name, option->least, option->most,
                           (double *)(void *)((char *)o + option->offset));
    plim__say_usage(args, "--%s is for %s%s%s, not for %s", option->name, plim_optimizer_name(option->kinds[0]),
                    option->kinds[1] == option->kinds[0] ? "" : " and ",
                    option->kinds[1] == option->kinds[0] ? "" : plim_optimizer_name(option->kinds[1]),
                    plim_optimizer_name(o->kind));
    return false;
}

static bool read_betas(plim__args *args, plim_optimizer *o) {
    float betas[2] = {(float)o->beta1, (float)o->beta2};
    int count = plim__args_floats(args, "betas", betas, 2);
    if (count == 1) plim__say_usage(args, "--betas %s: expected two numbers", plim__args_get(args, "betas"));
    if (count == 2) { /* as doubles */
        o->beta1 = strtod(plim__args_get(args, "betas"), NULL);
        o->beta2 = strtod(strchr(plim__args_get(args, "betas"), ',') + 1, NULL);
    }
    return count == 0 || count == 2;
}

/* Who writes --lr 0 or --betas 0,0 means it. */
static void mean_zeros(plim_optimizer *o) {
    const plim_optimizer usual = plim_optimizer_default(o->kind);
    if (o->rate == 0) o->rate = PLIM_ZERO;
    if (o->beta1 == 0 && usual.beta1 != 0) o->beta1 = PLIM_ZERO;
    if (o->beta2 == 0 && usual.beta2 != 0) o->beta2 = PLIM_ZERO;
    if (o->alpha == 0 && usual.alpha != 0) o->alpha = PLIM_ZERO;
}

static bool read_state_bits(plim__args *args, plim_optimizer *o) {
    static const struct {
        const char *name;
        int bits;
    } words[] = {{"auto", 0}, {"8bit", 8}, {"32bit", 32}};
    const char *word = plim__args_get(args, "optimizer-state");
    for (size_t i = 0; word && i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].name, word) == 0) {
            o->state_bits = words[i].bits;
            return true;
        }
    if (word) plim__say_usage(args, "--optimizer-state %s: expected auto, 8bit or 32bit", word);
    return !word;
}

static bool read_precision(plim__args *args, plim_precision *precision) {
    const char *word = plim__args_get(args, "precision");
    if (!word || strcmp(word, "auto") == 0 || plim_precision_find(word, precision)) return true;
    plim__say_usage(args, "--precision %s: expected auto, fp32, bf16 or fp16", word);
    return false;
}

static bool read_base(plim__args *args, plim_base *base) {
    const char *word = plim__args_get(args, "base");
    if (!word || plim_base_find(word, base)) return true;
    plim__say_usage(args, "--base %s: expected fp32, bf16, int8, nf4 or file", word);
    return false;
}

static bool read_optimizer(plim__args *args, plim_optimizer *o) {
    const char *name = plim__args_get(args, "optimizer");
    plim_optimizer_kind kind = PLIM_ADAMW;
    if (name && !plim_optimizer_find(name, &kind)) {
        plim__say_choice(args, "optimizer", "sgd, adam, adamw, rmsprop, adagrad, adafactor or lion");
        return false;
    }
    *o = plim_optimizer_default(kind);
    o->nesterov = plim__args_has(args, "nesterov");
    for (size_t i = 0; i < sizeof own_options / sizeof *own_options; i++)
        if (!read_own(args, &own_options[i], o)) return false;
    if (!read_state_bits(args, o) || !read_betas(args, o) || !read_double(args, "lr", 0, 1e30, &o->rate) ||
        !read_double(args, "eps", 0, 1, &o->epsilon) || !read_double(args, "weight-decay", 0, 1e30, &o->weight_decay) ||
        !read_double(args, "clip-norm", 0, 1e30, &o->clip_norm) ||
        !read_double(args, "clip-value", 0, 1e30, &o->clip_value))
        return false;
    mean_zeros(o);
    return true;
}

static bool read_schedule(plim__args *args, plim_schedule *schedule) {
    const char *name = plim__args_get(args, "schedule");
    if (name && !plim_schedule_find(name, &schedule->kind)) {
        plim__say_choice(args, "schedule", "constant, step, cosine or linear");
        return false;
    }
    schedule->gamma = 0.1;
    schedule->every = 1000;
    return plim__args_int(args, "warmup", 0, (int64_t)1 << 40, &schedule->warmup) &&
           plim__args_int(args, "lr-step", 1, (int64_t)1 << 40, &schedule->every) &&
           read_double(args, "lr-gamma", 0, 1e30, &schedule->gamma) &&
           read_double(args, "lr-least", 0, 1, &schedule->least);
}

bool plim__globs_read(plim__args *args, const char *option, const char *globs[PLIM__MOST_FREEZE], size_t *count) {
    const char *glob;
    for (*count = 0; (glob = plim__args_get_nth(args, option, *count)); ++*count) {
        if (*count == PLIM__MOST_FREEZE) {
            plim__say_usage(args, "--%s: at most %d times", option, PLIM__MOST_FREEZE);
            return false;
        }
        globs[*count] = glob;
    }
    return true;
}

#define ANY_BATCH                                                                                                      \
    "torch.onnx.export(..., dynamic_shapes=({0: torch.export.Dim(\"batch\")},)) makes a file for any batch"

plim_status plim__train_free_batch(plim__args *args, plim_graph *model, plim__train_settings *s, plim_error *error) {
    plim_trainer_options *o = &s->options;
    plim_baked_batch baked;
    plim_status status = plim_graph_free_batch(model, &baked, error);
    if (status != PLIM_OK || baked.samples == 0) return status;
    if (baked.freed) {
        plim__say_note(args, "note: the file is for batches of %lld; it is the same model for any batch",
                       (long long)baked.samples);
        return PLIM_OK;
    }
    if (!plim__args_has(args, "batch") && !plim__args_has(args, "accumulate")) o->batch = baked.samples;
    if (!plim__args_has(args, "accumulate") && o->batch % baked.samples == 0) o->accumulate = o->batch / baked.samples;
    if (o->batch != baked.samples * o->accumulate)
        return plim__fail(
            error, PLIM_SHAPE,
            "the file is for batches of %lld, and %lld in %lld part%s is not made of these (%.120s); " ANY_BATCH,
            (long long)baked.samples, (long long)o->batch, (long long)o->accumulate, o->accumulate == 1 ? "" : "s",
            baked.why);
    plim__say_note(args,
                   "note: the file is for batches of %lld: an update of %lld samples has %lld of them "
                   "(%s); " ANY_BATCH,
                   (long long)baked.samples, (long long)o->batch, (long long)o->accumulate, baked.why);
    return PLIM_OK;
}

bool plim__train_options_read(plim__args *args, plim__train_settings *s) {
    memset(s, 0, sizeof *s);
    plim_trainer_options *o = &s->options;
    o->threads = plim__args_threads(args);
    o->batch = 32;
    o->accumulate = 1;
    int64_t seed = 0;
    o->sizes = s->sizes;
    o->freeze = s->freeze;
    o->trainable = s->trainable;
    o->rates = s->rates;
    bool good = plim__globs_read(args, "freeze", s->freeze, &o->freeze_count) &&
                plim__globs_read(args, "trainable", s->trainable, &o->trainable_count) &&
                plim__globs_read(args, "lr-scale", s->rates, &o->rate_count) &&
                plim__args_int(args, "batch", 1, 1 << 24, &o->batch) &&
                plim__args_int(args, "accumulate", 1, 1 << 24, &o->accumulate) &&
                plim__args_int(args, "seed", 0, INT64_MAX, &seed) &&
                plim__sizes_read(args, s->sizes, s->names, &o->size_count) &&
                plim__loss_options_read(args, PLIM_LOSS_CROSS_ENTROPY, s->class_weights, &o->loss, &s->balanced) &&
                read_precision(args, &o->precision) && read_base(args, &o->base) &&
                read_optimizer(args, &o->optimizer) && read_schedule(args, &o->schedule);
    o->seed = (uint64_t)seed;
    o->no_winograd = plim__args_has(args, "no-winograd");
    return good;
}
