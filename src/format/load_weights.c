/* Weights of another file by their names. They stay in that file until they are used, as those of a model do. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/arguments.h"
#include "format/safetensors.h"
#include "format/torch_file.h"
#include "plimsoll/onnx.h"

typedef struct loading {
    plim_graph *g;
    const char *path;
    bool *last; /* of each value: a parameter of the last layer */
    bool *seen;
    plim_weights_loaded *report;
} loading;

/* --- the last layer ------------------------------------------------------------------------------------------- */

/* From the output back: the first node that has a matrix or filters of its own, and biases behind it. */
static void mark_last(loading *l) {
    plim_value v = l->g->outputs.count ? l->g->outputs.items[0] : PLIM_NO_VALUE;
    for (bool found = false; v >= 0 && !found && l->g->values.items[v].producer >= 0;) {
        const plim__node *node = &l->g->nodes.items[l->g->values.items[v].producer];
        v = PLIM_NO_VALUE;
        for (size_t i = 0; i < node->inputs.count; i++) {
            plim_value in = node->inputs.items[i];
            if (in < 0) continue;
            bool parameter = l->g->values.items[in].kind == PLIM__VALUE_PARAMETER;
            if (parameter) l->last[in] = true;
            found |= parameter && l->g->values.items[in].shape.rank >= 2;
            if (!parameter && v == PLIM_NO_VALUE) v = in;
        }
    }
}

/* --- one tensor ----------------------------------------------------------------------------------------------- */

static void note_new(loading *l, plim_value v) {
    plim_weights_loaded *r = l->report;
    size_t length = strlen(r->names);
    snprintf(r->names + length, sizeof r->names - length, "%s%s", length ? ", " : "", l->g->values.items[v].name);
    r->replaced++;
}

/* Takes the tensor over. */
static plim_status place(loading *l, plim_value v, plim__tensor *tensor, plim_error *error) {
    plim__value *value = &l->g->values.items[v];
    bool same = tensor->dtype == value->dtype && plim__shape_equal(&tensor->shape, &value->shape);
    l->seen[v] = true;
    if (same) {
        plim__tensor_release(value->tensor);
        value->tensor = tensor;
        l->report->loaded++;
        return PLIM_OK;
    }
    char has[PLIM_SHAPE_TEXT], wants[PLIM_SHAPE_TEXT];
    plim_status status = PLIM_OK;
    if (l->last[v] && tensor->dtype == value->dtype)
        note_new(l, v);
    else
        status = plim__fail(error, PLIM_SHAPE, "'%s' has '%s' as %s%s, the model as %s%s", l->path, value->name,
                            plim_dtype_name(tensor->dtype), plim__shape_text(&tensor->shape, NULL, has),
                            plim_dtype_name(value->dtype), plim__shape_text(&value->shape, NULL, wants));
    plim__tensor_release(tensor);
    return status;
}

static plim_value find_parameter(const loading *l, const char *name) {
    plim_value v = plim_graph_find(l->g, name);
    if (v < 0 || !l->g->values.items[v].tensor) return PLIM_NO_VALUE;
    plim__value_kind kind = l->g->values.items[v].kind;
    return kind == PLIM__VALUE_PARAMETER ? v : PLIM_NO_VALUE;
}

/* --- files ---------------------------------------------------------------------------------------------------- */

/* Names differ in what stands before them: our checkpoints have "model.", files of a model without its head lack what
 * the whole has. Old ones of BERT end in gamma and beta. */
static plim_value find_renamed(const loading *l, const char *name) {
    static const char *const before[] = {"", "model.", "bert."};
    static const char *const ends[][2] = {{"", ""}, {".gamma", ".weight"}, {".beta", ".bias"}};
    size_t length = strlen(name);
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
        size_t end = strlen(ends[e][0]);
        if (length < end || strcmp(name + length - end, ends[e][0]) != 0 || length > 400) continue;
        for (size_t b = 0; b < sizeof before / sizeof *before; b++) {
            char text[512];
            snprintf(text, sizeof text, "%s%.*s%s", before[b], (int)(length - end), name, ends[e][1]);
            plim_value v = find_parameter(l, text);
            if (v < 0 && strncmp(text, "model.", 6) == 0) v = find_parameter(l, text + 6);
            if (v >= 0) return v;
        }
    }
    return PLIM_NO_VALUE;
}

/* Names as wrappers of PyTorch make them: DistributedDataParallel and torch.compile. */
static plim_value find_wrapped(const loading *l, const char *name) {
    static const char *const prefixes[] = {"module.", "_orig_mod."};
    plim_value v = *name ? find_renamed(l, name) : PLIM_NO_VALUE;
    for (size_t i = 0; v < 0 && i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) v = find_wrapped(l, name + strlen(prefixes[i]));
    return v;
}

/* PyTorch's batch norm counts its batches; nothing is computed from that, and other programs do not have it. */
static bool is_counter(const char *name) {
    static const char end[] = "num_batches_tracked";
    size_t length = strlen(name);
    return length >= sizeof end - 1 && strcmp(name + length - (sizeof end - 1), end) == 0;
}

static plim_status load_tensor(loading *l, plim__source *source, const plim__tensor_info *from, plim_error *error) {
    plim_value v = find_wrapped(l, from->name);
    if (v < 0) {
        l->report->unused += !is_counter(from->name);
        return PLIM_OK;
    }
    plim_dtype dtype = plim_dtype_from_name(from->element->name);
    if (from->rank > PLIM_MAX_RANK || (dtype != PLIM_F32 && dtype != PLIM_F16 && dtype != PLIM_BF16))
        return plim__fail(error, PLIM_UNSUPPORTED,
                          "'%s' has '%s' as %s of rank %d; float32, float16 and bfloat16 are loaded", l->path,
                          from->name, from->element->name, from->rank);
    if (!from->placed)
        return plim__fail(error, PLIM_UNSUPPORTED,
                          "'%s' has '%s' compressed or not in the order of its rows; .contiguous() before saving helps",
                          l->path, from->name);
    plim__shape shape = plim__shape_of(from->rank, from->dims);
    plim__tensor *tensor, *wide;
    PLIM_TRY(plim__tensor_in_file(dtype, &shape, source, from->at, &tensor, error));
    if (dtype == PLIM_F32 || dtype == l->g->values.items[v].dtype) return place(l, v, tensor, error);
    plim_status status = plim__tensor_cast(tensor, PLIM_F32, &wide, error);
    plim__tensor_release(tensor);
    return status == PLIM_OK ? place(l, v, wide, error) : status;
}

static plim_status load_file(void *context, const char *path, const plim__safetensors *file, plim_error *error) {
    loading *l = context;
    plim__source *source = plim__source_open(path, error);
    if (!source) return error->status;
    plim_status status = PLIM_OK;
    for (size_t i = 0; i < file->count && status == PLIM_OK; i++) {
        const plim__safetensors_tensor *t = &file->tensors[i];
        plim__tensor_info info = {t->name, t->element, t->rank, t->dims, .placed = true, .at = t->offset};
        status = load_tensor(l, source, &info, error);
    }
    plim__source_release(source);
    return status;
}

static plim_status load_safetensors(loading *l, plim_error *error) {
    plim__source *source = plim__source_open(l->path, error);
    plim__safetensors file;
    if (!source) return error->status;
    plim_status status = plim__safetensors_open(&file, source->fd, l->path, error);
    plim__source_release(source);
    if (status != PLIM_OK) return status;
    status = load_file(l, l->path, &file, error);
    plim__safetensors_close(&file);
    return status;
}

typedef struct torch_loading {
    loading *l;
    plim__source *source;
} torch_loading;

static plim_status load_torch_tensor(void *context, const plim__tensor_info *from, plim_error *error) {
    const torch_loading *t = context;
    return load_tensor(t->l, t->source, from, error);
}

/* The pickle inside is read and never executed; a file that asks for more than tensors is refused. */
static plim_status load_torch(loading *l, plim_error *error) {
    torch_loading t = {.l = l, .source = plim__source_open(l->path, error)};
    if (!t.source) return error->status;
    unsigned char start[24] = {0};
    plim__zip zip;
    ssize_t got = pread(t.source->fd, start, sizeof start, 0);
    plim_status status;
    if (got > 0 && plim__torch_is_plain(start, (size_t)got))
        status = plim__fail(
            error, PLIM_UNSUPPORTED,
            "'%s' was saved by PyTorch before 1.6; torch.save(torch.load(FILE), FILE) makes the newer form", l->path);
    else if ((status = plim__zip_open(&zip, t.source->fd, l->path, error)) == PLIM_OK) {
        status = plim__torch_list_archive(&zip, load_torch_tensor, &t, error);
        plim__zip_close(&zip);
    }
    plim__source_release(t.source);
    return status;
}

static plim_status load_onnx(loading *l, plim_error *error) {
    plim_graph *from;
    PLIM_TRY(plim_graph_load(l->path, &from, error));
    plim_status status = PLIM_OK;
    for (size_t i = 0; i < from->values.count && status == PLIM_OK; i++) {
        const plim__value *value = &from->values.items[i];
        if (value->kind != PLIM__VALUE_PARAMETER || !value->tensor) continue;
        plim_value v = find_parameter(l, value->name);
        if (v < 0)
            l->report->unused++;
        else
            status = place(l, v, plim__tensor_retain(value->tensor), error);
    }
    plim_graph_free(from);
    return status;
}

static plim_status check_complete(loading *l, plim_error *error) {
    for (size_t v = 0; v < l->g->values.count; v++) {
        const plim__value *value = &l->g->values.items[v];
        if (value->kind != PLIM__VALUE_PARAMETER || !value->tensor || l->seen[v] || value->shape.rank == 0 ||
            value->role == PLIM__ROLE_POSITIONS || value->role == PLIM__ROLE_MASK)
            continue; /* what the model computes with, and files of weights do not have */
        if (l->last[v])
            note_new(l, (plim_value)v);
        else
            return plim__fail(error, PLIM_NOT_FOUND, "'%s' has nothing for the model's '%s'%s", l->path, value->name,
                              l->report->loaded ? ""
                                                : ": none of its tensors has a name of the model's (of a whole PyTorch "
                                                  "model, save its state_dict())");
    }
    return PLIM_OK;
}

plim_status plim_graph_load_weights(plim_graph *graph, const char *path, plim_weights_loaded *loaded,
                                    plim_error *error) {
    plim_weights_loaded unused;
    plim_error ignored;
    if (!error) error = &ignored; /* statuses are read from it */
    PLIM__NEED(graph, error);
    PLIM__NEED(path, error);
    PLIM_TRY(plim_graph_status(graph, error));
    if (!loaded) loaded = &unused;
    *loaded = (plim_weights_loaded){0};
    size_t count = graph->values.count + 1;
    loading l = {.g = graph, .path = path, .report = loaded};
    l.last = plim__alloc_zero(2 * count, sizeof *l.last);
    if (!l.last) return plim__fail_memory(error, "a list of weights", 2 * count);
    l.seen = l.last + count;
    mark_last(&l);
    const char *dot = strrchr(path, '.');
    bool safetensors = dot && (strcasecmp(dot, ".safetensors") == 0 || strcasecmp(dot, ".ckpt") == 0);
    bool torch = dot && (strcasecmp(dot, ".pt") == 0 || strcasecmp(dot, ".pth") == 0 || strcasecmp(dot, ".bin") == 0);
    plim_status status = plim__safetensors_is_index(path) ? plim__safetensors_index_each(path, load_file, &l, error)
                         : safetensors                    ? load_safetensors(&l, error)
                         : torch                          ? load_torch(&l, error)
                                                          : load_onnx(&l, error);
    if (status == PLIM_OK) status = check_complete(&l, error);
    if (status == PLIM_OK && loaded->loaded == 0)
        status = plim__fail(error, PLIM_INVALID, "'%s' has no weights of the model", path);
    plim__free(l.last);
    return status;
}
