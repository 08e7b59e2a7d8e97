/* What would make a job need less: each is the same job simulated once more with one thing changed. */
#include "core/error.h"
#include "fit/predict.h"

typedef struct trial {
    plim_model_options model;
    plim_pool_options pool;
} trial;

typedef struct cure {
    const char *name, *meaning;
    const char *in_keras;     /* what it means there; NULL: there is no such thing */
    bool (*change)(trial *t); /* false: it is so already */
} cure;

static int64_t batch_of(const trial *t) { return t->model.micro > 0 ? t->model.micro : t->model.batch; }

static bool halve(trial *t) {
    if (batch_of(t) < 2) return false;
    t->model.micro = batch_of(t) / 2;
    return true;
}

static bool quarter(trial *t) {
    if (batch_of(t) < 4) return false;
    t->model.micro = batch_of(t) / 4;
    return true;
}

static bool mix(trial *t) {
    if (t->model.precision != PLIM_MODEL_FP32) return false;
    t->model.precision = PLIM_MODEL_AMP_BF16;
    return true;
}

static bool narrow(trial *t) {
    if (t->model.precision == PLIM_MODEL_BF16) return false;
    t->model.precision = PLIM_MODEL_BF16;
    return true;
}

static bool recompute(trial *t) {
    if (t->model.checkpoint) return false;
    return t->model.checkpoint = true;
}

static bool fuse(trial *t) {
    if (t->model.optimizer != PLIM_MODEL_ADAMW && t->model.optimizer != PLIM_MODEL_ADAM) return false;
    t->model.optimizer = PLIM_MODEL_ADAMW_FUSED;
    return true;
}

static bool use_8bit(trial *t) {
    bool adam = t->model.optimizer == PLIM_MODEL_ADAMW || t->model.optimizer == PLIM_MODEL_ADAM ||
                t->model.optimizer == PLIM_MODEL_ADAMW_FUSED;
    t->model.optimizer = PLIM_MODEL_ADAMW_8BIT;
    return adam;
}

static bool freeze(trial *t) {
    if (t->model.frozen || t->model.lora) return false;
    return t->model.frozen = true;
}

static bool adapt(trial *t) {
    if (t->model.frozen || t->model.lora) return false;
    t->model.lora = 16;
    return true;
}

static bool expand(trial *t) {
    if (t->pool.kind != PLIM_POOL_PYTORCH || t->pool.expandable_segments) return false;
    return t->pool.expandable_segments = true;
}

static const cure cures[] = {
    {"expandable segments", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", NULL, expand},
    {"half batch, 2 accumulation steps", "the same update where no batch norm is in the model",
     "gradient_accumulation_steps=2; the same update where no batch norm is in the model", halve},
    {"quarter batch, 4 accumulation steps", "the same update where no batch norm is in the model",
     "gradient_accumulation_steps=4; the same update where no batch norm is in the model", quarter},
    {"mixed precision", "torch.autocast(dtype=torch.bfloat16)",
     "keras.mixed_precision.set_global_policy(\"mixed_bfloat16\")", mix},
    {"recomputation", "torch.utils.checkpoint around every block: about a third more time",
     "tf.recompute_grad around every block: about a third more time", recompute},
    {"mixed precision and recomputation", "both", "both", NULL},
    {"fused optimizer", "fused=True: no temporaries in the step", NULL, fuse},
    {"8-bit optimizer", "bitsandbytes' AdamW8bit", NULL, use_8bit},
    {"all in 16 bits", "model.to(torch.bfloat16): lossy", "keras.config.set_dtype_policy(\"bfloat16\"): lossy", narrow},
    {"train the last layer only", "requires_grad_(False) on the rest", "trainable=False for the rest", freeze},
    {"LoRA, rank 16", "adapters beside frozen weights", "enable_lora(16) for layers whose weights are frozen", adapt},
};

static bool apply(const cure *c, trial *t) {
    if (c->change) return c->change(t);
    bool mixed = mix(t), again = recompute(t);
    return mixed && again;
}

static plim_status predict(const plim_prediction_job *job, const trial *t, plim_prediction_result *result,
                           plim_error *error) {
    plim_prediction *prediction = NULL;
    PLIM_TRY(plim_prediction_create(job->model, &t->model, &prediction, error));
    plim_status status = plim_prediction_run(prediction, job->gpu, &t->pool, result, error);
    plim_prediction_free(prediction);
    return status;
}

static bool is_whole(const plim_prediction_job *job) { return job && job->model && job->options && job->pool; }

plim_status plim_prediction_try(const plim_prediction_job *job, size_t index, plim_prediction_cure *out,
                                plim_error *error) {
    if (!is_whole(job) || !out)
        return plim__fail(error, PLIM_INVALID, "a job with model, options and pool, and a place");
    if (index >= sizeof cures / sizeof *cures) return plim__fail(error, PLIM_NOT_FOUND, "there is no such cure");
    trial t = {.model = *job->options, .pool = *job->pool};
    const char *meaning = job->options->graph_mode ? cures[index].in_keras : cures[index].meaning;
    *out = (plim_prediction_cure){.name = cures[index].name, .meaning = meaning ? meaning : ""};
    out->applies = meaning && apply(&cures[index], &t);
    if (!out->applies) return PLIM_OK;
    plim_prediction_result result;
    PLIM_TRY(predict(job, &t, &result, error));
    out->fits = result.fits;
    out->reserved = result.reserved;
    out->driver = result.fits && job->gpu ? result.driver : result.reserved + result.libraries + result.context;
    return PLIM_OK;
}

plim_status plim_prediction_largest_batch(const plim_prediction_job *job, int64_t *batch, plim_error *error) {
    if (!is_whole(job) || !job->gpu || !batch)
        return plim__fail(error, PLIM_INVALID, "a job with model, options, card and pool, and a place");
    enum { MOST = 1 << 20 };
    int64_t fits = 0, fails = 0, next = job->options->batch > 0 ? job->options->batch : 1;
    trial t = {.model = *job->options, .pool = *job->pool};
    t.model.micro = 0;
    while (next > 0 && next <= MOST) {
        plim_prediction_result result;
        t.model.batch = next;
        PLIM_TRY(predict(job, &t, &result, error));
        if (result.fits)
            fits = next;
        else
            fails = next;
        /* the answer is near where the bytes of a sample say; a 32nd part of it is close enough above 64 */
        if (fails && (fails - fits <= 1 || (fits >= 64 && fails - fits <= fits / 32))) break;
        next = fails ? fits + (fails - fits) / 2 : fits * 2;
        if (fails && next == 0) break;
    }
    *batch = fits;
    return PLIM_OK;
}
