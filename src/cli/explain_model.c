#include "cli/explain_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/format.h"
#include "cli/open_axes.h"

typedef struct work {
    plim__args *args;
    plim_graph *graph;
    plim__model_options sizes;
    plim_model_options options;
    plim_gpu gpu;
    plim_pool_options pool;
    plim_prediction_result now;
    int64_t largest;
    plim_error error;
} work;

static bool read_options(work *w, uint64_t capacity) {
    const char *gpu = plim__args_get(w->args, "gpu"), *optimizer = plim__args_get(w->args, "optimizer");
    const char *precision = plim__args_get(w->args, "precision");
    if (!plim__model_options_read(w->args, &w->sizes)) return false;
    w->options = (plim_model_options){.batch = w->sizes.session.batch > 0 ? w->sizes.session.batch : 1,
                                      .sizes = w->sizes.session.sizes,
                                      .size_count = w->sizes.session.size_count,
                                      .optimizer = PLIM_MODEL_ADAMW};
    if (optimizer && !plim_model_optimizer_find(optimizer, &w->options.optimizer))
        return plim__say_usage(w->args, "--optimizer %s is not known; 'plimsoll help fit' lists them", optimizer),
               false;
    if (precision && !plim_model_precision_find(precision, &w->options.precision))
        return plim__say_usage(w->args, "--precision %s is not known; 'plimsoll help fit' lists them", precision),
               false;
    w->gpu = (plim_gpu){.name = "the card of the log", .memory = capacity, .capability = 86};
    if (gpu && plim_gpu_find(gpu, &w->gpu, &w->error) != PLIM_OK)
        return plim__say_usage(w->args, "--gpu: %s", w->error.message), false;
    if (!w->gpu.memory)
        return plim__say_usage(w->args, "the log does not say how large the card is: give --gpu"), false;
    return true;
}

static plim_status predict(work *w) {
    plim_prediction *prediction = NULL;
    plim_prediction_job job = {w->graph, &w->options, &w->gpu, &w->pool};
    plim_status status = plim_prediction_create(w->graph, &w->options, &prediction, &w->error);
    if (status == PLIM_OK) status = plim_prediction_run(prediction, &w->gpu, &w->pool, &w->now, &w->error);
    plim_prediction_free(prediction);
    if (status == PLIM_OK) status = plim_prediction_largest_batch(&job, &w->largest, &w->error);
    return status;
}

static void print_head(const work *w) {
    char needed[PLIM_BYTES_TEXT], memory[PLIM_BYTES_TEXT];
    uint64_t need = w->now.fits ? w->now.driver : w->now.reserved + w->now.libraries + w->now.context;
    printf("\nThe model: %s, batch %" PRId64 "%s, needs %s of %s on %s and %s\n",
           plim__shown(plim__args_get(w->args, "model")), w->options.batch,
           w->options.graph_mode ? ", in TensorFlow" : "", plim_bytes_format(need, needed),
           plim_bytes_format(w->gpu.memory, memory), w->gpu.name,
           w->now.fits ? "fits: the log tells of something else, or of other settings" : "does not fit");
    if (w->largest > 0) printf("  the largest batch that fits is %" PRId64 "\n", w->largest);
}

/* Each change that makes it fit, simulated. */
static plim_status tell_cures(work *w, json_t *list) {
    plim_prediction_job job = {w->graph, &w->options, &w->gpu, &w->pool};
    for (size_t i = 0;; i++) {
        plim_prediction_cure cure;
        plim_status status = plim_prediction_try(&job, i, &cure, &w->error);
        if (status == PLIM_NOT_FOUND) return PLIM_OK;
        if (status != PLIM_OK) return status;
        if (!cure.applies || !cure.fits || w->now.fits) continue;
        char bytes[PLIM_BYTES_TEXT];
        if (list)
            json_array_append_new(list, json_pack("{s:s, s:s, s:I}", "name", cure.name, "meaning", cure.meaning,
                                                  "driver", (json_int_t)cure.driver));
        else
            printf("  fits with %-38s %10s   %s\n", cure.name, plim_bytes_format(cure.driver, bytes), cure.meaning);
    }
}

static int tell(work *w, json_t *object) {
    if (predict(w) != PLIM_OK) return plim__say_error(w->args, &w->error);
    json_t *cures = object ? json_array() : NULL;
    if (!object) print_head(w);
    if (tell_cures(w, cures) != PLIM_OK) {
        json_decref(cures);
        return plim__say_error(w->args, &w->error);
    }
    if (object)
        json_object_set_new(object, "prediction",
                            json_pack("{s:b, s:I, s:I, s:I, s:o}", "fits", w->now.fits, "reserved",
                                      (json_int_t)w->now.reserved, "memory", (json_int_t)w->gpu.memory, "largest_batch",
                                      (json_int_t)w->largest, "cures", cures));
    return PLIM_EXIT_OK;
}

int plim__explain_model(plim__args *args, uint64_t capacity, const char *framework, json_t *object) {
    work w = {.args = args};
    if (!read_options(&w, capacity)) return PLIM_EXIT_USAGE;
    w.options.graph_mode = framework && strcmp(framework, "tensorflow") == 0;
    if (w.options.graph_mode) w.pool.kind = PLIM_POOL_TENSORFLOW;
    if (plim_graph_load(plim__args_get(args, "model"), &w.graph, &w.error) != PLIM_OK)
        return plim__say_error(args, &w.error);
    plim__sizes sizes = {w.sizes.sizes, &w.sizes.session.size_count};
    bool named = plim__open_axes_check(w.graph, &sizes, &w.error) == PLIM_OK;
    int code = named ? tell(&w, object) : plim__say_error(args, &w.error);
    plim_graph_free(w.graph);
    return code;
}
