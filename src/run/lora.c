/* What a trainer has learned beside a frozen model: adapters as files, or as part of the weights. */
#include "graph/lora.h"

#include <stdio.h>
#include <string.h>

#include "core/arguments.h"
#include "core/str.h"
#include "format/onnx.h"
#include "format/peft.h"
#include "format/safetensors.h"
#include "plimsoll/lora.h"
#include "run/trainer.h"
#include "run/trainer_save.h"

static bool is_adapter(const char *name) { return strstr(name, ".lora_A.weight") || strstr(name, ".lora_B.weight"); }

static plim_status check(const plim_trainer *t, plim__lora_numbers *numbers, plim_error *error) {
    if (plim__lora_read(t->plan->model, numbers)) return PLIM_OK;
    return plim__fail(error, PLIM_INVALID, "the trainer's model has no adapters");
}

/* --- adapters alone ------------------------------------------------------------------------------------------- */

/* Those of the trainer's tensors that are of adapters, under PEFT's names. */
static plim_status keep_adapters(plim__trainer_weights *now, plim__str *names, plim_error *error) {
    size_t count = 0, at = 0;
    for (size_t i = 0; i < now->weights.count; i++) {
        if (!is_adapter(now->items[i].name)) continue;
        plim__str_addf(names, "%s%s", PLIM__PEFT_PREFIX, now->items[i].name);
        plim__str_addn(names, "", 1); /* its end */
        now->indices[count] = now->indices[i];
        now->items[count++] = now->items[i];
    }
    if (names->failed) return plim__fail_memory(error, "names of adapters", count);
    for (size_t i = 0; i < count; i++) {
        now->items[i].name = names->data + at;
        at += strlen(names->data + at) + 1;
    }
    now->weights.count = count;
    return PLIM_OK;
}

plim_status plim_lora_save(plim_trainer *trainer, const char *folder, plim_error *error) {
    plim__lora_numbers numbers;
    plim__trainer_weights now;
    plim__str names = {0};
    PLIM__NEED(trainer, error);
    PLIM__NEED(folder, error);
    PLIM_TRY(check(trainer, &numbers, error));
    PLIM_TRY(plim__trainer_weights_make(&now, trainer, PLIM__CHECKPOINT_MODEL, error));
    plim_status status = keep_adapters(&now, &names, error);
    plim__arena_release_pages(&trainer->arena);
    if (status == PLIM_OK) status = plim__peft_write(folder, &numbers, &now.weights, error);
    plim__arena_restore_pages(&trainer->arena);
    plim__trainer_weights_free(&now);
    plim__str_free(&names);
    return status;
}

/* --- the whole model ------------------------------------------------------------------------------------------ */

/* A parameter as it is now: the trainer's, or the model's where it is frozen. */
static plim_status read_now(plim_trainer *t, const plim_graph *g, plim_value v, float *to, plim_error *error) {
    for (size_t i = 0; i < plim_trainer_tensor_count(t); i++) {
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(t, i, &tensor);
        if (strcmp(tensor.name, g->values.items[v].name) == 0) return plim_trainer_read(t, i, to, error);
    }
    return plim__tensor_read(g->values.items[v].tensor, to, error);
}

/* W += scale · (B·A), or its transpose. */
static void add_product(float *w, const plim__lora_layer *layer, const float *a, const float *b, int64_t rank,
                        double scale) {
    for (int64_t o = 0; o < layer->out; o++)
        for (int64_t i = 0; i < layer->in; i++) {
            double sum = 0;
            for (int64_t k = 0; k < rank; k++) sum += (double)b[o * rank + k] * (double)a[k * layer->in + i];
            float *at = layer->rows ? &w[o * layer->in + i] : &w[i * layer->out + o];
            *at = (float)((double)*at + scale * sum);
        }
}

static plim_status merge_layer(plim_trainer *t, plim_graph *g, const plim__lora_layer *layer,
                               const plim__lora_numbers *numbers, plim_error *error) {
    plim_value a, b;
    plim__lora_matrices(g, layer, &a, &b);
    if (a < 0 || b < 0) return PLIM_OK;
    plim__tensor *merged;
    PLIM_TRY(plim__tensor_create(PLIM_F32, &g->values.items[layer->weight].tensor->shape, &merged, error));
    size_t of_a = (size_t)(numbers->rank * layer->in), of_b = (size_t)(numbers->rank * layer->out);
    float *low = plim__alloc_array(of_a + of_b, sizeof *low);
    plim_status status = low ? PLIM_OK : plim__fail_memory(error, "merging an adapter", (of_a + of_b) * sizeof *low);
    if (status == PLIM_OK) status = read_now(t, g, a, low, error);
    if (status == PLIM_OK) status = read_now(t, g, b, low + of_a, error);
    if (status == PLIM_OK) status = read_now(t, g, layer->weight, merged->data, error);
    if (status == PLIM_OK) {
        add_product(merged->data, layer, low, low + of_a, numbers->rank, numbers->alpha / (double)numbers->rank);
        plim__lora_detach(g, layer);
        plim__tensor_release(g->values.items[layer->weight].tensor);
        g->values.items[layer->weight].tensor = plim__tensor_retain(merged);
    }
    plim__free(low);
    plim__tensor_release(merged);
    return status;
}

static plim_status merge_all(plim_trainer *t, plim_graph *g, const plim__lora_numbers *numbers, plim_error *error) {
    for (size_t n = 0; n < g->nodes.count; n++) {
        plim__lora_layer layer;
        if (plim__lora_find(g, (int32_t)n, &layer)) PLIM_TRY(merge_layer(t, g, &layer, numbers, error));
    }
    PLIM_TRY(plim_graph_set_note(g, PLIM__NOTE_LORA, NULL, error));
    PLIM_TRY(plim__graph_sort(g, error));
    return plim__graph_prune(g, error);
}

/* Of the trainer's tensors, those that are not of adapters and not merged: what else was trained. */
static void keep_others(plim__trainer_weights *now, const plim_graph *merged, const plim_graph *model) {
    size_t count = 0;
    for (size_t i = 0; i < now->weights.count; i++) {
        plim_value v = plim_graph_find(merged, now->items[i].name);
        if (v < 0 || is_adapter(now->items[i].name) || merged->values.items[v].tensor != model->values.items[v].tensor)
            continue;
        now->indices[count] = now->indices[i];
        now->items[count++] = now->items[i];
    }
    now->weights.count = count;
}

plim_status plim_lora_merge(plim_trainer *trainer, const char *path, plim_error *error) {
    plim__lora_numbers numbers;
    plim__trainer_weights now = {0};
    PLIM__NEED(trainer, error);
    PLIM__NEED(path, error);
    PLIM_TRY(check(trainer, &numbers, error));
    PLIM_TRY(plim_trainer_can_save(path, error));
    const plim_graph *model = trainer->plan->model;
    plim_graph *merged = plim_graph_clone(model);
    if (!merged) return plim__fail_memory(error, "a copy of a graph", sizeof(void *));
    plim__arena_release_pages(&trainer->arena);
    plim_status status = merge_all(trainer, merged, &numbers, error);
    if (status == PLIM_OK) status = plim__trainer_weights_make(&now, trainer, PLIM__CHECKPOINT_MODEL, error);
    if (status == PLIM_OK) {
        keep_others(&now, merged, model);
        status = plim__trainer_save_graph(merged, &now.weights, path, error);
        plim__trainer_weights_free(&now);
    }
    plim__arena_restore_pages(&trainer->arena);
    plim_graph_free(merged);
    return status;
}
