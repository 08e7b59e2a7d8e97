/* Jobs as notes of models. One table says which numbers of plim_data_options are part of a job, for both directions. */
#include "plimsoll/job.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/arguments.h"
#include "core/json.h"
#include "data/source.h"
#include "graph/shape.h"

#define CLASSES_NOTE  "plimsoll.classes"
#define JOB_NOTE      "plimsoll.job"
#define MOST_CHANNELS 64

struct plim_job {
    json_t *root, *classes;
    const char **names; /* of classes */
    int class_count;
    float mean[MOST_CHANNELS], deviation[MOST_CHANNELS];
    int normal_count;
    float *class_weights;
    size_t weight_count;
};

/* Numbers; each is an int or an int64_t. */
static const struct number {
    const char *key, *flag; /* NULL: a user does not give it */
    const char *kind;       /* of data that knows it; NULL: any */
    size_t offset;
    bool wide;
} numbers[] = {
    {"height", "image", "images", offsetof(plim_data_options, height), true},
    {"width", "image", "images", offsetof(plim_data_options, width), true},
    {"resize", "resize", "images", offsetof(plim_data_options, resize), true},
    {"channels", "channels", "images", offsetof(plim_data_options, channels), true},
    {"seq", "seq", NULL, offsetof(plim_data_options, seq), true},
    {"token_bytes", "token-bytes", "tokens", offsetof(plim_data_options, token_bytes), false},
    {"raw", "raw", NULL, offsetof(plim_data_options, raw), false},
    {"channels_last", "layout nhwc", NULL, offsetof(plim_data_options, channels_last), false},
    {"decimal", "decimal", "csv", offsetof(plim_data_options, decimal), false},
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static int64_t number_of(const plim_data_options *options, const struct number *n) {
    const char *at = (const char *)options + n->offset;
    return n->wide ? *(const int64_t *)(const void *)at : *(const int *)(const void *)at;
}

static void set_number(plim_data_options *options, const struct number *n, int64_t value) {
    char *at = (char *)options + n->offset;
    if (n->wide)
        *(int64_t *)(void *)at = value;
    else
        *(int *)(void *)at = (int)value;
}

/* --- reading -------------------------------------------------------------------------------------------------- */

void plim_job_free(plim_job *job) {
    if (!job) return;
    json_decref(job->root);
    json_decref(job->classes);
    plim__free(job->names);
    plim__free(job->class_weights);
    plim__free(job);
}

static plim_status bad_note(const char *key, plim_error *error) {
    return plim__fail(error, PLIM_CORRUPT, "the model's note '%s' cannot be read", key);
}

static plim_status read_classes(plim_job *job, const char *text, plim_error *error) {
    job->classes = json_loads(text, 0, NULL);
    size_t count = json_array_size(job->classes);
    if (!json_is_array(job->classes) || count == 0 || count > 1 << 20) return bad_note(CLASSES_NOTE, error);
    job->names = plim__alloc_array(count, sizeof *job->names);
    if (!job->names) return plim__fail_memory(error, "names of classes", count * sizeof *job->names);
    for (size_t i = 0; i < count; i++)
        if (!(job->names[i] = json_string_value(json_array_get(job->classes, i)))) return bad_note(CLASSES_NOTE, error);
    job->class_count = (int)count;
    return PLIM_OK;
}

static bool read_floats(const json_t *from, float *to, size_t most) {
    for (size_t i = 0; i < json_array_size(from) && i < most; i++) {
        const json_t *value = json_array_get(from, i);
        if (!json_is_number(value)) return false;
        to[i] = (float)json_number_value(value);
    }
    return json_array_size(from) <= most;
}

static plim_status read_normal(plim_job *job, plim_error *error) {
    const json_t *mean = json_object_get(job->root, "mean"), *deviation = json_object_get(job->root, "std");
    if (!mean && !deviation) return PLIM_OK;
    if (json_array_size(mean) == 0 || json_array_size(mean) != json_array_size(deviation) ||
        !read_floats(mean, job->mean, MOST_CHANNELS) || !read_floats(deviation, job->deviation, MOST_CHANNELS))
        return bad_note(JOB_NOTE, error);
    job->normal_count = (int)json_array_size(mean);
    return PLIM_OK;
}

static plim_status read_weights(plim_job *job, plim_error *error) {
    const json_t *weights = json_object_get(json_object_get(job->root, "loss"), "class_weights");
    size_t count = json_array_size(weights);
    if (count == 0) return PLIM_OK;
    job->class_weights = plim__alloc_array(count, sizeof *job->class_weights);
    if (!job->class_weights) return plim__fail_memory(error, "class weights", count * sizeof *job->class_weights);
    job->weight_count = count;
    return read_floats(weights, job->class_weights, count) ? PLIM_OK : bad_note(JOB_NOTE, error);
}

static plim_status read_notes(plim_job *job, const char *classes, const char *text, plim_error *error) {
    if (classes) PLIM_TRY(read_classes(job, classes, error));
    if (!text) return PLIM_OK;
    job->root = json_loads(text, 0, NULL);
    if (!json_is_object(job->root)) return bad_note(JOB_NOTE, error);
    PLIM_TRY(read_normal(job, error));
    return read_weights(job, error);
}

plim_status plim_job_read(const plim_graph *model, plim_job **job, plim_error *error) {
    PLIM__NEED(job, error);
    *job = NULL;
    PLIM__NEED(model, error);
    const char *classes = plim_graph_get_note(model, CLASSES_NOTE), *text = plim_graph_get_note(model, JOB_NOTE);
    if (!classes && !text) return PLIM_OK;
    plim_job *made = plim__alloc_zero(1, sizeof *made);
    if (!made) return plim__fail_memory(error, "a job", sizeof *made);
    plim_status status = read_notes(made, classes, text, error);
    if (status == PLIM_OK)
        *job = made;
    else
        plim_job_free(made);
    return status;
}

int plim_job_class_count(const plim_job *job) { return job ? job->class_count : 0; }

const char *plim_job_class_name(const plim_job *job, int64_t index) {
    return job && index >= 0 && index < job->class_count ? job->names[index] : NULL;
}

const char *plim_job_target(const plim_job *job) {
    return job ? json_string_value(json_object_get(job->root, "target")) : NULL;
}

const char *plim_job_tokenizer(const plim_job *job) {
    return job ? json_string_value(json_object_get(job->root, "tokenizer_path")) : NULL;
}

const char *plim_job_kind(const plim_job *job) {
    const char *kind = job ? json_string_value(json_object_get(job->root, "kind")) : NULL;
    return kind ? kind : "";
}

/* --- data is read as it was ----------------------------------------------------------------------------------- */

static plim_status apply_number(const plim_job *job, const struct number *n, plim_data_options *options,
                                plim_error *error) {
    const json_t *value = json_object_get(job->root, n->key);
    int64_t was = json_is_true(value) ? 1 : json_integer_value(value), is = number_of(options, n);
    if (!value && is != 0 && !n->wide && !n->kind)
        return plim__fail(error, PLIM_INVALID, "--%s was given, and the model was trained without it", n->flag);
    if (!value || is == was) return PLIM_OK;
    if (is != 0)
        return plim__fail(error, PLIM_INVALID, "the model was trained with --%s %lld (%s), and %lld was given", n->flag,
                          (long long)was, n->key, (long long)is);
    set_number(options, n, was);
    return PLIM_OK;
}

static plim_status apply_normal(const plim_job *job, plim_data_options *options, plim_error *error) {
    if (options->normal_count == 0) {
        options->normal_count = job->normal_count;
        options->mean = job->mean;
        options->deviation = job->deviation;
        return PLIM_OK;
    }
    if (job->normal_count == 0)
        return plim__fail(error, PLIM_INVALID, "--mean and --std were given, and the model was trained without them");
    for (int i = 0; i < options->normal_count || i < job->normal_count; i++) {
        int here = options->normal_count == 1 ? 0 : i, there = job->normal_count == 1 ? 0 : i;
        bool beyond = here >= options->normal_count || there >= job->normal_count;
        if (!beyond && options->mean[here] == job->mean[there] && options->deviation[here] == job->deviation[there])
            continue;
        return plim__fail(error, PLIM_INVALID,
                          "the model was trained with --mean %g and --std %g, and %g and %g were given",
                          (double)job->mean[beyond ? 0 : there], (double)job->deviation[beyond ? 0 : there],
                          (double)options->mean[beyond ? 0 : here], (double)options->deviation[beyond ? 0 : here]);
    }
    return PLIM_OK;
}

/* A table is read by its columns' names; a target that was given by another name is another job. */
static plim_status apply_table(const plim_job *job, plim_data_options *options, plim_error *error) {
    static const char *const flags[] = {"columns", "drop", "categories", "missing", "embed"};
    const char *const given[] = {options->columns, options->drop, options->categories, options->missing,
                                 options->embed};
    const char *text = json_string_value(json_object_get(job->root, "table")), *target = plim_job_target(job);
    if (target && options->target && strcmp(target, options->target) != 0 && !options->no_target)
        return plim__fail(error, PLIM_INVALID, "the model was trained to predict '%s', and --target %s was given",
                          target, options->target);
    if (!options->target) options->target = target;
    if (!text || options->table) return PLIM_OK;
    for (int i = 0; i < 5; i++)
        if (given[i])
            return plim__fail(error, PLIM_INVALID, "--%s was given, and the model remembers its columns", flags[i]);
    options->table = text;
    return PLIM_OK;
}

plim_status plim_job_apply(const plim_job *job, const char *path, plim_data_options *options, plim_error *error) {
    PLIM__NEED(options, error);
    if (!job) return PLIM_OK;
    PLIM__NEED(path, error);
    const char *kind = plim__data_source_kind(path, options);
    bool arrays = strcmp(kind, "npy") == 0 || strcmp(kind, "npz") == 0 || strcmp(kind, "idx") == 0;
    for (int i = 0; i < NUMBERS && job->root; i++) {
        bool layout = numbers[i].offset == offsetof(plim_data_options, channels_last);
        if (layout && (!arrays || options->channels_last)) continue; /* the file's own: what is given counts */
        if (numbers[i].offset == offsetof(plim_data_options, decimal) && options->decimal) continue; /* so is this */
        if (!numbers[i].kind || strcmp(kind, numbers[i].kind) == 0)
            PLIM_TRY(apply_number(job, &numbers[i], options, error));
    }
    if (job->root) PLIM_TRY(apply_normal(job, options, error));
    if (job->class_count && !options->class_count) {
        options->classes = job->names;
        options->class_count = job->class_count;
    }
    if (strcmp(kind, "text") == 0 && !options->tokenizer) options->tokenizer = plim_job_tokenizer(job);
    return job->root && strcmp(kind, plim_job_kind(job)) == 0 ? apply_table(job, options, error) : PLIM_OK;
}

plim_status plim_job_check_tokenizer(const plim_job *job, uint64_t hash, plim_error *error) {
    const char *was = job ? json_string_value(json_object_get(job->root, "tokenizer")) : NULL;
    char is[32];
    snprintf(is, sizeof is, "%016llx", (unsigned long long)hash);
    if (!job || !*plim_job_kind(job)) return PLIM_OK;
    if (!was && hash)
        return plim__fail(error, PLIM_INVALID, "--tokenizer was given, and the model was trained on %s",
                          strcmp(plim_job_kind(job), "text") == 0 ? "bytes" : plim_job_kind(job));
    if (!was || strcmp(was, is) == 0) return PLIM_OK;
    const char *path = plim_job_tokenizer(job);
    return plim__fail(error, PLIM_INVALID, "the model was trained with another tokenizer: '%.200s' as it was then",
                      path ? path : "");
}

/* Sizes of a sample's axes, those of size 1 left out, as "3x16x16"; and how many elements that are. */
static int64_t print_axes(const plim_data_field *field, const json_t *sizes, char text[PLIM_SHAPE_TEXT]) {
    int64_t elements = 1;
    size_t rank = field ? (size_t)field->rank : json_array_size(sizes), used = 0;
    *text = 0;
    for (size_t i = 0; i < rank && used + 24 < PLIM_SHAPE_TEXT; i++) {
        int64_t size = field ? field->dims[i] : (int64_t)json_integer_value(json_array_get(sizes, i));
        if (size == 1) continue;
        elements *= size;
        used += (size_t)snprintf(text + used, PLIM_SHAPE_TEXT - used, "%s%lld", used ? "x" : "", (long long)size);
    }
    return elements;
}

/* A model that takes plain rows of numbers would take as many in any order: samples have the axes that they were trained with. */
static plim_status check_axes(const plim_job *job, const plim_data *data, plim_error *error) {
    const json_t *shapes = job ? json_object_get(job->root, "shapes") : NULL;
    const plim_data_field *field;
    for (int i = 0, input = 0; shapes && (field = plim_data_field_at(data, i)); i++) {
        if (field->target) continue;
        const json_t *sizes = json_array_get(shapes, (size_t)input++);
        char was[PLIM_SHAPE_TEXT], is[PLIM_SHAPE_TEXT];
        if (!sizes || print_axes(NULL, sizes, was) != print_axes(field, NULL, is) || strcmp(was, is) == 0) continue;
        if (!strchr(was, 'x') || !strchr(is, 'x')) continue; /* a plain row of numbers has no order of axes */
        const char *last = strrchr(is, 'x') + 1;
        size_t length = strlen(last);
        bool comes_last = strncmp(was, last, length) == 0 && was[length] == 'x';
        return plim__fail(error, PLIM_SHAPE,
                          "a sample of '%s' is %s, and the model was trained on %s: only the number of elements is the "
                          "same; %s",
                          field->name, is, was,
                          plim__data_moves_channels(data) ? "--layout nchw leaves its channels where they are"
                          : comes_last                    ? "--layout nhwc puts its last axis, the channels, first"
                                                          : "are its axes transposed?");
    }
    return PLIM_OK;
}

plim_status plim_job_check(const plim_job *job, const plim_data *data, plim_error *error) {
    PLIM__NEED(data, error);
    plim_data_info info;
    plim_data_get_info(data, &info);
    if (strcmp(info.kind, "text") == 0) PLIM_TRY(plim_job_check_tokenizer(job, info.tokenizer, error));
    PLIM_TRY(check_axes(job, data, error));
    const json_t *inputs = job ? json_object_get(job->root, "inputs") : NULL;
    const plim_data_field *field;
    size_t seen = 0;
    if (json_array_size(inputs) < 2) return PLIM_OK; /* one input is that one, whatever it is called */
    for (int i = 0; (field = plim_data_field_at(data, i)); i++) {
        if (field->target) continue;
        const char *name = json_string_value(json_array_get(inputs, seen++));
        if (!name || strcmp(name, field->name) != 0)
            return plim__fail(error, PLIM_INVALID,
                              "input %zu of the data is '%s'; the model was trained with '%s' there", seen, field->name,
                              name ? name : "nothing");
    }
    if (seen == json_array_size(inputs)) return PLIM_OK;
    return plim__fail(error, PLIM_INVALID, "the data has no input '%s', which the model was trained with",
                      json_string_value(json_array_get(inputs, seen)));
}

int plim_job_get_loss(const plim_job *job, plim_loss *loss) {
    if (!job || !loss) return 0;
    const json_t *from = json_object_get(job->root, "loss");
    const char *name = json_string_value(json_object_get(from, "kind"));
    plim_loss_kind kind;
    if (!name || !plim_loss_find(name, &kind)) return 0;
    *loss = plim_loss_default(kind);
    loss->output = json_string_value(json_object_get(from, "output"));
    loss->counts = json_string_value(json_object_get(from, "counts"));
    loss->label_smoothing = json_number_value(json_object_get(from, "label_smoothing"));
    const json_t *ignored = json_object_get(from, "ignore_index"), *delta = json_object_get(from, "delta");
    if (ignored) loss->ignore_index = json_integer_value(ignored);
    if (delta) loss->delta = json_number_value(delta);
    loss->class_weights = job->class_weights;
    loss->class_count = job->weight_count;
    return 1;
}

/* --- writing -------------------------------------------------------------------------------------------------- */

/* What was left out has its default; images know it by now. */
static plim_data_options resolve(const plim_data *data, const plim_data_info *info, const plim_data_options *options) {
    plim_data_options o = *options;
    if (o.channels_last < 0) o.channels_last = 0;
    const plim_data_field *first = plim_data_field_at(data, 0);
    if (strcmp(info->kind, "images") == 0 && first && first->rank == 3) {
        o.channels = first->dims[0];
        o.height = first->dims[1];
        o.width = first->dims[2];
        o.resize = plim__image_resize(&o);
    } else {
        o.channels = o.height = o.width = o.resize = 0;
    }
    bool text = strcmp(info->kind, "text") == 0 || strcmp(info->kind, "tokens") == 0;
    o.seq = text && first && first->rank == 1 ? first->dims[0] : 0;
    return o;
}

/* An object that could not take a value is not an object any more: nothing is left out silently. */
static void set(json_t **object, const char *key, json_t *value) {
    if (json_object_set_new(*object, key, value) == 0) return;
    json_decref(*object);
    *object = NULL;
}

static void append(json_t **list, json_t *value) {
    if (json_array_append_new(*list, value) == 0) return;
    json_decref(*list);
    *list = NULL;
}

static json_t *floats_json(const float *values, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) append(&list, json_real((double)values[i]));
    return list;
}

static json_t *loss_json(const plim_loss *loss) {
    json_t *made = json_pack("{s:s}", "kind", plim_loss_name(loss->kind));
    if (loss->output) set(&made, "output", json_string(loss->output));
    if (loss->counts) set(&made, "counts", json_string(loss->counts));
    if (loss->kind == PLIM_LOSS_CROSS_ENTROPY) {
        if (loss->ignore_index != plim_loss_default(loss->kind).ignore_index)
            set(&made, "ignore_index", json_integer(loss->ignore_index));
        if (loss->label_smoothing > 0) set(&made, "label_smoothing", json_real(loss->label_smoothing));
        if (loss->class_count) set(&made, "class_weights", floats_json(loss->class_weights, loss->class_count));
    }
    if (loss->kind == PLIM_LOSS_HUBER) set(&made, "delta", json_real(loss->delta));
    return made;
}

/* The target's name in the file, where it has one. */
static const char *target_name(const plim_data *data, const plim_data_info *info, const plim_data_options *options) {
    const plim_data_field *field;
    if (!options->target || strcmp(info->kind, "npy") == 0) return NULL; /* of npy, it is a path */
    if (plim__data_target_columns(data)) return plim__data_target_columns(data);
    for (int i = 0; (field = plim_data_field_at(data, i)); i++)
        if (field->target && strcmp(field->name, "y") != 0 && strlen(field->name) + 1 < sizeof field->name)
            return field->name;
    return options->target;
}

static json_t *inputs_json(const plim_data *data) {
    json_t *list = json_array();
    const plim_data_field *field;
    for (int i = 0; (field = plim_data_field_at(data, i)); i++)
        if (!field->target) append(&list, json_string(field->name));
    return list;
}

static json_t *shapes_json(const plim_data *data) {
    json_t *list = json_array();
    const plim_data_field *field;
    for (int i = 0; (field = plim_data_field_at(data, i)); i++) {
        if (field->target) continue;
        json_t *sizes = json_array();
        for (int k = 0; k < field->rank; k++) append(&sizes, json_integer(field->dims[k]));
        append(&list, sizes);
    }
    return list;
}

static json_t *job_json(const plim_data *data, const plim_data_options *options, const plim_loss *loss) {
    plim_data_info info;
    plim_data_get_info(data, &info);
    plim_data_options o = resolve(data, &info, options);
    const char *target = target_name(data, &info, options), *table = plim_data_table(data);
    json_t *made = json_pack("{s:i, s:s}", "format", 1, "kind", info.kind);
    if (target) set(&made, "target", json_string(target));
    for (int i = 0; i < NUMBERS; i++) {
        int64_t value = number_of(&o, &numbers[i]);
        if (value) set(&made, numbers[i].key, json_integer(value));
    }
    if (o.normal_count) {
        set(&made, "mean", floats_json(o.mean, (size_t)o.normal_count));
        set(&made, "std", floats_json(o.deviation, (size_t)o.normal_count));
    }
    if (table) set(&made, "table", json_string(table));
    if (info.tokenizer && options->tokenizer) {
        char hash[32];
        snprintf(hash, sizeof hash, "%016llx", (unsigned long long)info.tokenizer);
        set(&made, "tokenizer", json_string(hash));
        set(&made, "tokenizer_path", json_string(options->tokenizer));
    }
    set(&made, "inputs", inputs_json(data));
    set(&made, "shapes", shapes_json(data));
    if (loss) set(&made, "loss", loss_json(loss));
    return made;
}

static json_t *classes_json(const plim_data *data, const plim_data_options *options) {
    json_t *list = json_array();
    const char *name;
    for (int64_t i = 0; (name = plim_data_class_name(data, i)); i++) append(&list, json_string(name));
    for (int i = 0; json_array_size(list) == (size_t)i && i < options->class_count; i++)
        append(&list, json_string(options->classes[i]));
    return list;
}

static plim_status write_note(plim_graph *model, const char *key, const json_t *value, plim_error *error) {
    plim__str text = {0};
    plim__json_print(&text, value, JSON_COMPACT | JSON_PRESERVE_ORDER);
    plim_status status = text.failed ? plim__fail(error, PLIM_INVALID, "a name in the data is not UTF-8 (%s)", key)
                                     : plim_graph_set_note(model, key, plim__str_text(&text), error);
    plim__str_free(&text);
    return status;
}

plim_status plim_job_write(plim_graph *model, const plim_data *data, const plim_data_options *options,
                           const plim_loss *loss, plim_error *error) {
    plim_data_options o;
    PLIM__NEED(model, error);
    PLIM__NEED(data, error);
    PLIM__OPTIONS(plim_data_options, o, options, error);
    json_t *classes = classes_json(data, &o), *job = job_json(data, &o, loss);
    plim_status status = write_note(model, JOB_NOTE, job, error);
    if (status == PLIM_OK && json_array_size(classes) > 0)
        status = write_note(model, CLASSES_NOTE, classes, error);
    else if (status == PLIM_OK)
        status = classes ? plim_graph_set_note(model, CLASSES_NOTE, NULL, error)
                         : plim__fail(error, PLIM_INVALID, "the name of a class is not UTF-8: rename it");
    json_decref(classes);
    json_decref(job);
    return status;
}
