/* Adapters from and to folders of PEFT's. */
#include "format/peft.h"

#include <errno.h>
#include <fnmatch.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/arguments.h"
#include "core/file.h"
#include "core/json.h"
#include "core/str.h"
#include "format/safetensors.h"
#include "plimsoll/lora.h"
#include "plimsoll/version.h"

enum { MOST_CONFIG = 1 << 20 };

static plim_status path_in(const char *folder, const char *file, plim__str *path, plim_error *error) {
    plim__str_addf(path, "%s/%s", folder, file);
    return path->failed ? plim__fail_memory(error, "a path", strlen(folder)) : PLIM_OK;
}

/* --- reading -------------------------------------------------------------------------------------------------- */

/* What changes what adapters compute, and is not known here. */
static const char *unknown_setting(const json_t *config) {
    static const char *const flags[] = {"use_dora", "use_rslora", "use_qalora", "use_bdlora", "lora_bias", NULL};
    static const char *const lists[] = {"modules_to_save",
                                        "rank_pattern",
                                        "alpha_pattern",
                                        "layer_replication",
                                        "trainable_token_indices",
                                        "target_parameters",
                                        NULL};
    const char *type = json_string_value(json_object_get(config, "peft_type")),
               *bias = json_string_value(json_object_get(config, "bias"));
    if (!type || strcmp(type, "LORA") != 0) return "peft_type";
    if (bias && strcmp(bias, "none") != 0) return "bias";
    for (size_t i = 0; flags[i]; i++)
        if (json_is_true(json_object_get(config, flags[i]))) return flags[i];
    for (size_t i = 0; lists[i]; i++) {
        const json_t *value = json_object_get(config, lists[i]);
        if (json_array_size(value) || json_object_size(value)) return lists[i];
    }
    return NULL;
}

static plim_status read_config(const char *folder, plim__lora_numbers *numbers, plim_error *error) {
    plim__str path = {0};
    char *text = NULL;
    size_t size;
    plim_status status = path_in(folder, "adapter_config.json", &path, error);
    if (status == PLIM_OK) status = plim__file_read(path.data, MOST_CONFIG, &text, &size, error);
    json_error_t problem;
    json_t *config = status == PLIM_OK ? json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem) : NULL;
    plim__free(text);
    if (status == PLIM_OK && !json_is_object(config))
        status = plim__fail(error, PLIM_CORRUPT, "'%s' is not JSON", path.data);
    const char *unknown = status == PLIM_OK ? unknown_setting(config) : NULL;
    if (unknown)
        status =
            plim__fail(error, PLIM_UNSUPPORTED, "'%s': adapters with this %s are not supported", path.data, unknown);
    if (status == PLIM_OK) {
        numbers->rank = json_integer_value(json_object_get(config, "r"));
        numbers->alpha = json_number_value(json_object_get(config, "lora_alpha"));
        numbers->dropout = json_number_value(json_object_get(config, "lora_dropout"));
        if (numbers->rank < 1 || numbers->rank > 65536 || !(numbers->dropout >= 0 && numbers->dropout < 1))
            status = plim__fail(error, PLIM_CORRUPT, "'%s': r or lora_dropout make no sense", path.data);
    }
    json_decref(config);
    plim__str_free(&path);
    return status;
}

/* The name of the model's parameter for one of the file; NULL: it is none of an adapter. */
static const char *name_in_model(const char *name) {
    size_t prefix = strlen(PLIM__PEFT_PREFIX);
    if (strncmp(name, PLIM__PEFT_PREFIX, prefix) == 0) name += prefix;
    size_t length = strlen(name), end = strlen(".lora_A.weight");
    bool adapter = length > end && (strcmp(name + length - end, ".lora_A.weight") == 0 ||
                                    strcmp(name + length - end, ".lora_B.weight") == 0);
    return adapter ? name : NULL;
}

static plim_status place_one(plim_graph *g, plim__source *source, const plim__safetensors_tensor *from,
                             plim_error *error) {
    const char *name = name_in_model(from->name);
    plim_value v = name ? plim_graph_find(g, name) : PLIM_NO_VALUE;
    if (v < 0 || !g->values.items[v].tensor)
        return plim__fail(error, PLIM_INVALID, "'%s' has '%.200s', which is no adapter of this model", source->path,
                          from->name);
    plim__value *value = &g->values.items[v];
    plim__shape shape = from->rank == 2 ? plim__shape_of(2, from->dims) : (plim__shape){0};
    plim_dtype dtype = plim_dtype_from_name(from->element->name);
    if (dtype != PLIM_F32 || !plim__shape_equal(&shape, &value->tensor->shape))
        return plim__fail(error, PLIM_INVALID, "'%s' is for another model: '%.200s' has other sizes, or is %s",
                          source->path, from->name, from->element->name);
    plim__tensor *tensor;
    PLIM_TRY(plim__tensor_in_file(PLIM_F32, &shape, source, from->offset, &tensor, error));
    plim__tensor_release(value->tensor);
    value->tensor = tensor;
    return PLIM_OK;
}

/* Both matrices of a layer of the model. */
static bool file_has(const plim__safetensors *file, const char *layer) {
    char name[320];
    snprintf(name, sizeof name, "%s.lora_A.weight", layer);
    for (size_t i = 0; i < file->count; i++) {
        const char *known = name_in_model(file->tensors[i].name);
        if (known && strcmp(known, name) == 0) return true;
    }
    return false;
}

/* --- which layers --------------------------------------------------------------------------------------------- */

static const char *const usual_targets[] = {"q_proj", "v_proj", "query", "value", "c_attn", "attn.qkv"};

/* The whole name, or what follows a dot in it. */
static bool is_named(const char *name, const char *glob) {
    for (const char *at = name; at; at = strchr(at, '.'), at += at ? 1 : 0)
        if (fnmatch(glob, at, 0) == 0) return true;
    return false;
}

static bool is_target(const plim_lora_options *o, const plim__safetensors *file, const char *name) {
    if (o->from) return file_has(file, name);
    size_t count = o->target_count ? o->target_count : sizeof usual_targets / sizeof *usual_targets;
    for (size_t i = 0; i < count; i++)
        if (is_named(name, o->target_count ? o->targets[i] : usual_targets[i])) return true;
    return false;
}

static plim_status attach_all(plim_graph *g, const plim_lora_options *o, const plim__safetensors *file,
                              const plim__lora_numbers *numbers, size_t *layers, plim_error *error) {
    size_t nodes = g->nodes.count;
    for (size_t n = 0; n < nodes; n++) {
        plim__lora_layer layer;
        plim_value a, b;
        if (!plim__lora_find(g, (int32_t)n, &layer) || !is_target(o, file, layer.name)) continue;
        plim__lora_matrices(g, &layer, &a, &b);
        if (a >= 0) continue; /* one weight in several products has one adapter, beside the first */
        PLIM_TRY(plim__lora_attach(g, &layer, numbers, o->seed, error));
        ++*layers;
    }
    if (*layers) return PLIM_OK;
    if (o->from) return plim__fail(error, PLIM_INVALID, "'%s' is for another model: no layer has its names", o->from);
    return plim__fail(error, PLIM_NOT_FOUND, "no layer with a weight matrix is called like %s%s",
                      o->target_count ? o->targets[0] : "q_proj or value",
                      o->target_count > 1 ? " or the other targets"
                      : o->target_count   ? ""
                                          : "; name targets");
}

/* The matrices of the folder in place of what was drawn. */
static plim_status place_all(plim_graph *g, const char *path, const plim__safetensors *file, size_t layers,
                             plim_error *error) {
    plim__source *source = plim__source_open(path, error);
    if (!source) return error->status;
    plim_status status = PLIM_OK;
    for (size_t i = 0; i < file->count && status == PLIM_OK; i++)
        status = place_one(g, source, &file->tensors[i], error);
    if (status == PLIM_OK && file->count != 2 * layers)
        status = plim__fail(error, PLIM_INVALID, "'%s' has %zu matrices for %zu layers", path, file->count, layers);
    plim__source_release(source);
    return status;
}

static plim_status add_from(plim_graph *g, const plim_lora_options *o, plim__lora_numbers *numbers, size_t *layers,
                            plim_error *error) {
    plim__str path = {0};
    plim__safetensors file;
    PLIM_TRY(read_config(o->from, numbers, error));
    plim_status status = path_in(o->from, "adapter_model.safetensors", &path, error);
    plim__source *source = status == PLIM_OK ? plim__source_open(path.data, error) : NULL;
    if (status == PLIM_OK && !source) status = error->status;
    if (status == PLIM_OK) status = plim__safetensors_open(&file, source->fd, path.data, error);
    plim__source_release(source);
    if (status == PLIM_OK) {
        status = attach_all(g, o, &file, numbers, layers, error);
        if (status == PLIM_OK) status = place_all(g, path.data, &file, *layers, error);
        plim__safetensors_close(&file);
    }
    plim__str_free(&path);
    return status;
}

plim_status plim_lora_add(plim_graph *model, const plim_lora_options *options, size_t *layers, plim_error *error) {
    plim_lora_options o;
    plim__lora_numbers numbers;
    plim_error ignored;
    size_t count = 0;
    if (!error) error = &ignored; /* statuses are read from it */
    PLIM__NEED(model, error);
    PLIM__OPTIONS(plim_lora_options, o, options, error);
    PLIM_TRY(plim_graph_status(model, error));
    if (plim__lora_read(model, &numbers))
        return plim__fail(error, PLIM_INVALID, "the model has adapters already: merge them first");
    numbers = (plim__lora_numbers){o.rank ? o.rank : 8, o.alpha != 0 ? o.alpha : 16, o.dropout};
    if (numbers.rank < 1 || numbers.rank > 65536 || !(numbers.dropout >= 0 && numbers.dropout < 1) ||
        !(numbers.alpha > 0 && numbers.alpha < 1e30))
        return plim__fail(error, PLIM_INVALID, "adapters of rank %lld, alpha %g and dropout %g make no sense",
                          (long long)numbers.rank, numbers.alpha, numbers.dropout);
    PLIM_TRY(o.from ? add_from(model, &o, &numbers, &count, error)
                    : attach_all(model, &o, NULL, &numbers, &count, error));
    if (layers) *layers = count;
    return plim__lora_finish(model, &numbers, error);
}

/* --- writing -------------------------------------------------------------------------------------------------- */

static plim_status write_config(const char *folder, const plim__lora_numbers *numbers, json_t *targets,
                                plim_error *error) {
    plim__str path = {0}, text = {0};
    json_t *config = json_pack("{s:s, s:n, s:n, s:i, s:f, s:f, s:o, s:s, s:b, s:b}", "peft_type", "LORA", "task_type",
                               "base_model_name_or_path", "r", (int)numbers->rank, "lora_alpha", numbers->alpha,
                               "lora_dropout", numbers->dropout, "target_modules", targets, "bias", "none",
                               "fan_in_fan_out", 0, "inference_mode", 1);
    plim_status status = path_in(folder, "adapter_config.json", &path, error);
    bool printed = config && plim__json_print(&text, config, JSON_INDENT(2));
    json_decref(config);
    if (status == PLIM_OK && !printed) status = plim__fail_memory(error, "the settings of adapters", 1);
    if (status == PLIM_OK) status = plim__file_write(path.data, text.data, text.length, error);
    plim__str_free(&text);
    plim__str_free(&path);
    return status;
}

/* Layers by their whole names, which PEFT takes as well as their ends. */
static json_t *target_names(const plim__weights *weights) {
    json_t *list = json_array();
    size_t prefix = strlen(PLIM__PEFT_PREFIX);
    for (size_t i = 0; i < weights->count; i++) {
        const char *name = weights->items[i].name + prefix, *end = strstr(name, ".lora_A.weight");
        if (end) json_array_append_new(list, json_stringn(name, (size_t)(end - name)));
    }
    return list;
}

plim_status plim__peft_write(const char *folder, const plim__lora_numbers *numbers, const plim__weights *weights,
                             plim_error *error) {
    plim__str path = {0};
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return plim__fail_errno(error, errno, "cannot make the folder '%s'", folder);
    plim_status status = path_in(folder, "adapter_model.safetensors", &path, error);
    const plim__safetensors_note notes[] = {{"format", "pt"}, {PLIM__NOTE_WRITER, PLIM_VERSION_STRING}};
    if (status == PLIM_OK) status = plim__safetensors_write(path.data, weights, notes, 2, error);
    if (status == PLIM_OK) status = write_config(folder, numbers, target_names(weights), error);
    plim__str_free(&path);
    return status;
}
