/* Reading the options of a data set. */
#include "cli/data_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/format.h"

static bool read_normal(plim__args *args, plim__data_settings *s) {
    int means = plim__args_floats(args, "mean", s->mean, 64),
        deviations = plim__args_floats(args, "std", s->deviation, 64);
    if (means < 0 || deviations < 0) return false;
    if (means && deviations && means != deviations) {
        plim__say_usage(args, "--mean has %d values, --std has %d", means, deviations);
        return false;
    }
    s->options.normal_count = means ? means : deviations;
    for (int i = 0; i < s->options.normal_count && !deviations; i++) s->deviation[i] = 1;
    s->options.mean = s->mean;
    s->options.deviation = s->deviation;
    return true;
}

/* "224" or "224x320" */
static bool read_image_size(plim__args *args, plim_data_options *o) {
    const char *text = plim__args_get(args, "image");
    char *end = NULL;
    if (!text) return true;
    o->height = o->width = strtoll(text, &end, 10);
    if (*end == 'x') o->width = strtoll(end + 1, &end, 10);
    if (!*end && o->height > 0 && o->width > 0) return true;
    plim__say_usage(args, "--image %s: expected a size as 224 or 224x320", text);
    return false;
}

static bool read_layout(plim__args *args, plim_data_options *o) {
    const char *text = plim__args_get(args, "layout");
    if (!text) return true;
    o->channels_last = strcmp(text, "nhwc") == 0 ? 1 : strcmp(text, "nchw") == 0 ? -1 : 0;
    if (!o->channels_last) plim__say_choice(args, "layout", "nchw or nhwc");
    return o->channels_last != 0;
}

static bool read_decimal(plim__args *args, plim_data_options *o) {
    const char *text = plim__args_get(args, "decimal");
    if (!text) return true;
    o->decimal = strcmp(text, "comma") == 0 ? ',' : strcmp(text, "point") == 0 ? '.' : 0;
    if (!o->decimal) plim__say_choice(args, "decimal", "comma or point");
    return o->decimal != 0;
}

/* A share; a path is a likely mistake, where the command has an option for it. */
static bool read_validation(plim__args *args, double *share) {
    const char *text = plim__args_get(args, "validation");
    char *end = NULL;
    if (text && (strtod(text, &end), end == text || *end))
        return plim__say_usage(
                   args, "--validation %s: expected a share, as 0.1; another data set goes to --val PATH of train",
                   plim__shown(text)),
               false;
    return plim__args_double(args, "validation", share);
}

bool plim__data_options_read(plim__args *args, plim__data_settings *settings) {
    memset(settings, 0, sizeof *settings);
    plim_data_options *o = &settings->options;
    int64_t token_bytes = 0, workers = 0, depth = 0;
    o->kind = plim__args_get(args, "kind");
    o->split = plim__args_get(args, "split");
    o->target = plim__args_get(args, "target");
    o->random_crop = plim__args_has(args, "random-crop");
    o->random_flip = plim__args_has(args, "random-flip");
    o->raw = plim__args_has(args, "raw");
    o->tokenizer = plim__args_get(args, "tokenizer");
    o->columns = plim__args_get(args, "columns");
    o->drop = plim__args_get(args, "drop");
    o->categories = plim__args_get(args, "categories");
    o->missing = plim__args_get(args, "missing");
    o->embed = plim__args_get(args, "embed");
    o->normalise = plim__args_has(args, "normalise");
    o->in_order = plim__args_has(args, "no-shuffle");
    o->skip_bad = plim__args_has(args, "skip-bad");
    bool good =
        read_validation(args, &o->validation) && plim__args_int(args, "seq", 1, (int64_t)1 << 32, &o->seq) &&
        plim__args_int(args, "stride", 1, (int64_t)1 << 32, &o->stride) &&
        plim__args_int(args, "token-bytes", 2, 4, &token_bytes) &&
        plim__args_int(args, "resize", 1, 16384, &o->resize) && plim__args_int(args, "channels", 1, 3, &o->channels) &&
        plim__args_int(args, "workers", 1, 256, &workers) && plim__args_int(args, "data-depth", 1, 63, &depth) &&
        plim__args_bytes(args, "data-buffer", &o->buffer_limit) &&
        plim__args_bytes(args, "unpack-limit", &o->unpack_limit) && read_image_size(args, o) &&
        read_normal(args, settings) && read_layout(args, o) && read_decimal(args, o);
    o->token_bytes = (int)token_bytes;
    o->workers = (int)workers;
    o->depth = (int)depth;
    return good;
}

plim_status plim__data_follow_job(const plim__args *args, const plim_graph *model, const char *path,
                                  plim__data_settings *settings, plim_error *error) {
    if (plim__args_has(args, "ignore-job") || strncmp(path, "synthetic", 9) == 0) return PLIM_OK;
    plim_status status = plim_job_read(model, &settings->job, error);
    if (status == PLIM_OK) status = plim_job_apply(settings->job, path, &settings->options, error);
    if (status == PLIM_INVALID && error) {
        size_t used = strlen(error->message);
        snprintf(error->message + used, sizeof error->message - used, " (--ignore-job uses what is given)");
    }
    return status;
}

void plim__data_settings_free(plim__data_settings *settings) {
    plim_job_free(settings->job);
    settings->job = NULL;
}
