/* Reading --lora, writing --adapter and --merge. */
#include "cli/lora_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/str.h"
#include "plimsoll/lora.h"

enum { MOST_TARGETS = 32 };

struct spec {
    plim_lora_options options;
    const char *targets[MOST_TARGETS];
};

static bool read_number(const char *text, double *number) {
    char *end;
    *number = strtod(text, &end);
    return *text && !*end;
}

/* One "key=value" of the list. */
static bool read_part(struct spec *s, char *part) {
    plim_lora_options *o = &s->options;
    char *value = strchr(part, '=');
    double number;
    if (!value || !value[1]) return false;
    *value++ = 0;
    if (strcmp(part, "from") == 0) return o->from = value, true;
    if (strcmp(part, "targets") == 0) {
        if (o->target_count == MOST_TARGETS) return false;
        s->targets[o->target_count++] = value;
        return true;
    }
    if (!read_number(value, &number)) return false;
    if (strcmp(part, "r") == 0) return o->rank = (int64_t)number, number >= 1 && number <= 65536;
    if (strcmp(part, "alpha") == 0) return o->alpha = number, number > 0;
    return strcmp(part, "dropout") == 0 && (o->dropout = number, true);
}

/* A file does not tell what was frozen when its adapters were trained. */
static void say_adapters(const plim__args *args, const plim_graph *model) {
    plim_value value;
    if (plim__args_has(args, "trainable") || plim__args_has(args, "freeze")) return;
    for (size_t i = 0; (value = plim_graph_weight_at(model, i, NULL)) >= 0; i++) {
        const char *name = plim_graph_value_name(model, value);
        if (!name || !strstr(name, ".lora_A.")) continue;
        plim__say_note(args,
                       "the model has adapters, and all of it is trained; --trainable '*.lora_*' trains them alone");
        return;
    }
}

plim_status plim__lora_apply(plim__args *args, plim_graph *model, uint64_t seed, plim_error *error) {
    const char *given = plim__args_get(args, "lora");
    if (!given) return say_adapters(args, model), PLIM_OK;
    struct spec s = {.options.seed = seed};
    s.options.targets = s.targets;
    plim__str text = {0};
    plim__str_add(&text, given);
    if (text.failed) return plim__fail_memory(error, "--lora", strlen(given));
    plim_status status = PLIM_OK;
    size_t layers = 0;
    char *rest = NULL;
    for (char *part = strtok_r(text.data, ",", &rest); part && status == PLIM_OK; part = strtok_r(NULL, ",", &rest))
        if (!read_part(&s, part))
            status = plim__fail(
                error, PLIM_INVALID,
                "--lora %s: expected r=N, alpha=X, dropout=X, targets=GLOB and from=FOLDER, with commas", given);
    if (status == PLIM_OK) status = plim_lora_add(model, &s.options, &layers, error);
    if (status == PLIM_OK) plim__say_note(args, "%zu layers have adapters; the rest of the model is frozen", layers);
    plim__str_free(&text);
    return status;
}

plim_status plim__lora_check_outputs(const plim__args *args, plim_error *error) {
    const char *folder = plim__args_get(args, "adapter"), *merged = plim__args_get(args, "merge");
    if ((folder || merged) && !plim__args_has(args, "lora"))
        return plim__fail(error, PLIM_INVALID, "--%s needs --lora", folder ? "adapter" : "merge");
    plim_status status = merged ? plim_trainer_can_save(merged, error) : PLIM_OK;
    if (status == PLIM_OK && merged) status = plim_output_check(merged, PLIM_OUTPUT_MODEL, error);
    if (status != PLIM_OK || !folder) return status;
    plim__str path = {0};
    plim__str_addf(&path, "%s/adapter_model.safetensors", folder);
    status = path.failed ? plim__fail_memory(error, "a path", strlen(folder))
                         : plim_output_check(path.data, PLIM_OUTPUT_MODEL, error);
    plim__str_free(&path);
    return status;
}

plim_status plim__lora_write(const plim__args *args, plim_trainer *trainer, plim_error *error) {
    const char *folder = plim__args_get(args, "adapter"), *merged = plim__args_get(args, "merge");
    plim_status status = folder ? plim_lora_save(trainer, folder, error) : PLIM_OK;
    if (status == PLIM_OK && merged) status = plim_lora_merge(trainer, merged, error);
    return status;
}
