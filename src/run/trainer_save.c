/* A trainer's weights to model files, its whole state to checkpoints and back. */
#include "run/trainer_save.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/arguments.h"
#include "core/scalar.h"
#include "format/onnx.h"
#include "kernel/processor.h"
#include "ops/op.h"
#include "plimsoll/version.h"
#include "run/trainer.h"

static plim_status read_weight(void *context, size_t index, void *dense, plim_error *error) {
    const plim__trainer_weights *made = context;
    plim_trainer_tensor tensor;
    plim_trainer_get_tensor(made->trainer, made->indices[index], &tensor);
    if (tensor.dtype == made->items[index].dtype)
        return plim_trainer_read(made->trainer, made->indices[index], dense, error);
    int64_t count = plim__shape_elements(&made->items[index].shape);
    float *wide = plim__alloc_array((size_t)count, sizeof *wide);
    if (!wide) return plim__fail_memory(error, "a weight in the file's type", (size_t)count * sizeof *wide);
    plim_status status = plim_trainer_read(made->trainer, made->indices[index], wide, error);
    for (int64_t i = 0; status == PLIM_OK && i < count; i++)
        plim__scalar_set(made->items[index].dtype, dense, i, (double)wide[i]);
    plim__free(wide);
    return status;
}

/* A model in another type than float32 is written in its own. */
static void take_types(plim__trainer_weights *made, const plim_graph *model) {
    for (size_t i = 0; i < made->weights.count; i++) {
        plim_value v = plim_graph_find(model, made->items[i].name);
        const plim__tensor *tensor = v < 0 ? NULL : model->values.items[v].tensor;
        bool other = tensor && (tensor->dtype == PLIM_F16 || tensor->dtype == PLIM_BF16 || tensor->dtype == PLIM_F64);
        if (other && made->items[i].dtype == PLIM_F32) made->items[i].dtype = tensor->dtype;
    }
}

plim_status plim__trainer_weights_make(plim__trainer_weights *made, plim_trainer *t, plim__checkpoint_part part,
                                       plim_error *error) {
    size_t most = plim_trainer_tensor_count(t), count = 0;
    *made = (plim__trainer_weights){.trainer = t};
    made->items = plim__alloc_array(most, sizeof *made->items);
    made->indices = plim__alloc_array(most, sizeof *made->indices);
    if (!made->items || !made->indices) {
        plim__trainer_weights_free(made);
        return plim__fail_memory(error, "a list of weights", most * sizeof *made->items);
    }
    for (size_t i = 0; i < most; i++) {
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(t, i, &tensor);
        if ((tensor.role == PLIM_ROLE_OPTIMIZER) != (part == PLIM__CHECKPOINT_STATE)) continue;
        made->indices[count] = i;
        made->items[count++] = (plim__weight){tensor.name, tensor.dtype, plim__shape_of(tensor.rank, tensor.dims)};
    }
    made->weights = (plim__weights){made->items, count, made, NULL, read_weight};
    return PLIM_OK;
}

void plim__trainer_weights_free(plim__trainer_weights *made) {
    plim__free(made->items);
    plim__free(made->indices);
    *made = (plim__trainer_weights){0};
}

static plim_status find_format(const char *path, bool *safetensors, plim_error *error) {
    const char *dot = strrchr(path, '.');
    *safetensors = dot && strcasecmp(dot, ".safetensors") == 0;
    if (*safetensors || (dot && strcasecmp(dot, ".onnx") == 0)) return PLIM_OK;
    return plim__fail(error, PLIM_INVALID, "'%s': weights are saved as .onnx or .safetensors", path);
}

plim_status plim_trainer_can_save(const char *path, plim_error *error) {
    PLIM__NEED(path, error);
    bool safetensors;
    PLIM_TRY(find_format(path, &safetensors, error));
    const char *slash = strrchr(path, '/');
    char *folder = slash ? plim__strndup(path, (size_t)(slash - path) + 1) : plim__strdup(".");
    if (!folder) return plim__fail_memory(error, "a path", strlen(path));
    plim_status status = PLIM_OK;
    if (access(folder, W_OK | X_OK) != 0) status = plim__fail_errno(error, errno, "cannot write '%s'", path);
    plim__free(folder);
    return status;
}

/* A copy, since a model that was built in code may lack the types of its outputs, which a file should tell. */
static plim_status save_onnx(const plim_graph *model, const plim__weights *now, const char *path, plim_error *error) {
    plim_graph *copy = plim_graph_clone(model);
    if (!copy) return plim__fail_memory(error, "a copy of a graph", sizeof(void *));
    plim_status status = plim__infer_outputs(copy, plim__processor_fold, error);
    if (status == PLIM_OK) status = plim_graph_set_note(copy, PLIM__NOTE_WRITER, PLIM_VERSION_STRING, error);
    if (status == PLIM_OK) status = plim__onnx_save_changed(copy, now, path, error);
    plim_graph_free(copy);
    return status;
}

plim_status plim__trainer_save_graph(const plim_graph *g, const plim__weights *now, const char *path,
                                     plim_error *error) {
    bool safetensors;
    PLIM_TRY(find_format(path, &safetensors, error));
    return safetensors ? plim__safetensors_save(g, now, path, error) : save_onnx(g, now, path, error);
}

plim_status plim_trainer_save(plim_trainer *trainer, const char *path, plim_error *error) {
    plim_trainer *t = trainer;
    bool safetensors;
    PLIM__NEED(trainer, error);
    PLIM__NEED(path, error);
    PLIM_TRY(find_format(path, &safetensors, error));
    plim__trainer_weights now;
    PLIM_TRY(plim__trainer_weights_make(&now, t, PLIM__CHECKPOINT_MODEL, error));
    take_types(&now, t->plan->model);
    plim__arena_release_pages(
        &t->arena); /* a weight is rearranged on its way to the file: in memory that training had */
    plim_status status = plim__trainer_save_graph(t->plan->model, &now.weights, path, error);
    plim__arena_restore_pages(&t->arena);
    plim__trainer_weights_free(&now);
    return status;
}

/* --- checkpoints ---------------------------------------------------------------------------------------------- */

const char *plim__trainer_settings(const plim_trainer *t, char text[PLIM__SETTINGS_TEXT]) {
    const plim_optimizer *o = &t->plan->request.optimizer;
    snprintf(
        text, PLIM__SETTINGS_TEXT,
        "rate=%.9g momentum=%.9g dampening=%.9g nesterov=%d beta1=%.9g beta2=%.9g alpha=%.9g epsilon=%.9g "
        "threshold=%.9g rate_decay=%.9g weight_decay=%.9g clip_norm=%.9g clip_value=%.9g batch=%lld accumulate=%lld",
        o->rate, o->momentum, o->dampening, o->nesterov, o->beta1, o->beta2, o->alpha, o->epsilon, o->threshold,
        o->rate_decay, o->weight_decay, o->clip_norm, o->clip_value, (long long)t->plan->request.batch,
        (long long)t->plan->request.accumulate);
    return text;
}

/* Both lists of a trainer, and what identifies its run. */
typedef struct identity {
    plim__trainer_weights model, state;
    plim__checkpoint meta;
} identity;

static void free_identity(identity *of) {
    plim__trainer_weights_free(&of->model);
    plim__trainer_weights_free(&of->state);
}

static plim_status identify(plim_trainer *t, plim__checkpoint meta, identity *of, plim_error *error) {
    *of = (identity){.meta = meta};
    of->meta.optimizer = plim_optimizer_name(t->plan->request.optimizer.kind);
    of->meta.update = t->progress.updates;
    of->meta.seed = t->plan->request.seed;
    plim_status status = plim__graph_fingerprint(t->plan->model, &of->meta.model, error);
    if (status == PLIM_OK) status = plim__trainer_weights_make(&of->model, t, PLIM__CHECKPOINT_MODEL, error);
    if (status == PLIM_OK) status = plim__trainer_weights_make(&of->state, t, PLIM__CHECKPOINT_STATE, error);
    if (status != PLIM_OK) free_identity(of);
    return status;
}

plim_status plim__trainer_write_checkpoint(plim_trainer *t, const char *path, plim__checkpoint meta,
                                           plim_error *error) {
    identity now;
    char settings[PLIM__SETTINGS_TEXT];
    PLIM_TRY(identify(t, meta, &now, error));
    now.meta.settings = plim__trainer_settings(t, settings);
    plim__arena_release_pages(&t->arena);
    plim_status status = plim__checkpoint_write(path, &now.meta, &now.model.weights, &now.state.weights, error);
    plim__arena_restore_pages(&t->arena);
    free_identity(&now);
    return status;
}

static plim_status load_part(const plim__checkpoint_file *file, plim__checkpoint_part part,
                             const plim__trainer_weights *to, void *scratch, plim_error *error) {
    for (size_t i = 0; i < to->weights.count; i++) {
        PLIM_TRY(plim__checkpoint_read(file, part, &to->items[i], scratch, error));
        PLIM_TRY(plim_trainer_write(to->trainer, to->indices[i], scratch, error));
    }
    return PLIM_OK;
}

static plim_status load_all(const plim__checkpoint_file *file, const identity *to, plim_error *error) {
    size_t need, other;
    PLIM_TRY(plim__weights_scratch(&to->model.weights, &need, error));
    PLIM_TRY(plim__weights_scratch(&to->state.weights, &other, error));
    if (other > need) need = other;
    void *scratch = plim__alloc(need);
    if (!scratch) return plim__fail_memory(error, "a tensor of a checkpoint", need);
    plim_status status = load_part(file, PLIM__CHECKPOINT_MODEL, &to->model, scratch, error);
    if (status == PLIM_OK) status = load_part(file, PLIM__CHECKPOINT_STATE, &to->state, scratch, error);
    plim__free(scratch);
    return status;
}

plim_status plim__trainer_read_checkpoint(plim_trainer *t, const plim__checkpoint_file *file, plim_error *error) {
    identity here;
    PLIM_TRY(identify(t, (plim__checkpoint){0}, &here, error));
    plim_status status = plim__checkpoint_match(file, &here.meta, &here.model.weights, &here.state.weights, error);
    if (status == PLIM_OK && file->meta.seed != here.meta.seed)
        status = plim__fail(error, PLIM_INVALID, "'%s' is a checkpoint of a run with the seed %llu, not %llu",
                            file->path, (unsigned long long)file->meta.seed, (unsigned long long)here.meta.seed);
    plim__arena_release_pages(&t->arena); /* a tensor of the file is held beside the arena */
    if (status == PLIM_OK) status = load_all(file, &here, error);
    plim__arena_restore_pages(&t->arena);
    if (status == PLIM_OK) plim_trainer_set_progress(t, (plim_progress){.updates = file->meta.update});
    free_identity(&here);
    return status;
}
