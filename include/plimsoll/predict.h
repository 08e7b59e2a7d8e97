/* Will it fit: the requests of a recorded or predicted training step, put to an allocator on a device of given size. */
#ifndef PLIMSOLL_PREDICT_H
#define PLIMSOLL_PREDICT_H

#include "plimsoll/alloc.h"
#include "plimsoll/graph.h"
#include "plimsoll/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What an allocator made of a sequence of requests. */
typedef struct plim_replay_result {
    plim_pool_stats stats;                          /* at the end, or where it failed; the peaks are of the whole */
    uint64_t events;                                /* requests served */
    bool failed;                                    /* a request was refused; nothing after it was tried */
    uint64_t failed_bytes;                          /* ... of this size */
    uint64_t failed_event;                          /* ... with this number */
    char failed_name[128];                          /* ... for this tensor or line of code; "" when not known */
    uint64_t held_before;                           /* bytes that were held when the record began; 0: it begins empty */
    uint64_t addresses;                             /* recorded addresses that could be compared */
    uint64_t wrong;                                 /* ... and differ (with the allocator of the record; else 0 of 0) */
    uint64_t recorded_reserved, recorded_allocated; /* at the end of the record; 0: not known */
    uint64_t least;                                 /* see plim_replay_least_capacity; 0: not asked for */
} plim_replay_result;

typedef struct plim_replay plim_replay; /* a record that was read, and the last run of it */

/* Reads a PyTorch memory snapshot or a trace. `device` of a snapshot, -1: the one that holds the most. */
PLIM_API plim_status plim_replay_load(const char *path, int device, plim_replay **replay, plim_error *error);
PLIM_API void plim_replay_free(plim_replay *replay); /* NULL is fine */
/* Puts all requests to an allocator. A refused request is a result, not an error. */
PLIM_API plim_status plim_replay_run(plim_replay *replay, const plim_pool_options *options, plim_replay_result *result,
                                     plim_error *error);
/* The allocator at one moment of the last run. */
typedef struct plim_replay_point {
    uint64_t event; /* after this many requests */
    uint64_t requested, allocated, reserved;
    uint64_t unused, largest_free; /* reserved and in no block in use; the longest free block */
    double fragmentation;          /* 1 - largest_free / unused */
} plim_replay_point;

/* The last run over time: the index-th of at most 512 moments, in order; NULL past the end. Valid until the next run. */
PLIM_API const plim_replay_point *plim_replay_point_at(const plim_replay *replay, size_t index);

/* A capacity, in whole MiB, with which the allocator serves everything, while 1 MiB less is not enough. Where TensorFlow's region is
 * there from the start, more memory may fail where less did not: then one is found from which up to a twentieth more does too. */
PLIM_API plim_status plim_replay_least_capacity(plim_replay *replay, const plim_pool_options *options, uint64_t *bytes,
                                                plim_error *error);

/* A setting that can be tried on a record. */
typedef struct plim_replay_setting {
    const char *text;    /* for plim_pool_parse */
    const char *meaning; /* one sentence */
} plim_replay_setting;

/* The index-th of the settings worth trying; NULL past the end. */
PLIM_API const plim_replay_setting *plim_replay_setting_at(size_t index);

/* The last run as a page: memory over time with the allocator's segments, reserved bytes, the longest free block and the
 * capacity as lines. Ends the replay: what came after a refused request is dropped. */
PLIM_API plim_status plim_replay_save_page(plim_replay *replay, const char *path, plim_error *error);
/* The same as text for a terminal of this width (0: 80). Free it with plim_text_free. */
PLIM_API plim_status plim_replay_print(plim_replay *replay, int width, bool unicode, char **text, plim_error *error);

/* --- before anything runs ------------------------------------------------------------------------------------- */

typedef struct plim_gpu {
    const char *name;
    uint64_t memory; /* bytes that programs can have */
    int capability;  /* compute capability times ten */
} plim_gpu;

PLIM_API const plim_gpu *plim_gpu_at(size_t index); /* the table of known cards; NULL past the end */
/* By name ("RTX 3060", "NVIDIA A100-SXM4-40GB") or by memory ("12GiB"). PLIM_NOT_FOUND names the cards that are near. */
PLIM_API plim_status plim_gpu_find(const char *text, plim_gpu *gpu, plim_error *error);

enum { PLIM_PREDICTION_KINDS = 8, PLIM_PREDICTION_HOLDERS = 8 };

/* Who holds memory at the peak. */
typedef struct plim_prediction_holder {
    char name[96], shape[64];
    const char *kind; /* "activation" */
    uint64_t bytes;
} plim_prediction_holder;

typedef struct plim_prediction_result {
    bool fits;                               /* on the card, with what driver and libraries take; true without a card */
    plim_replay_result replay;               /* on the card; without one, on a device without a limit */
    uint64_t capacity;                       /* bytes that the card leaves to the allocator; 0: no card */
    uint64_t requested, allocated, reserved; /* peaks on a device without a limit */
    uint64_t cublas, work; /* work spaces of matrix products, and the largest one of a convolution; in the above */
    uint64_t libraries;    /* kernels and handles that are loaded on first use */
    uint64_t context, context_most;        /* the CUDA context; with all kernels loaded at once */
    uint64_t driver, driver_most;          /* what nvidia-smi shows at the peak, on the card */
    uint64_t kinds[PLIM_PREDICTION_KINDS]; /* requested bytes at the peak, by kind */
    plim_prediction_holder holders[PLIM_PREDICTION_HOLDERS];
    size_t holder_count;
    char cut[512];   /* the record ends early, and why; "" when it is whole */
    char notes[512]; /* what the prediction does not know or had to assume: operators without a row ...; "": nothing */
} plim_prediction_result;

/* What the software stack decides, the work spaces of cuDNN and cuBLAS, cannot be known before the run. */
typedef struct plim_prediction_range {
    uint64_t least, most; /* reserved bytes on the card, over all stacks that are known */
    /* What a job may be limited to, beside its context: the most, a margin of 4 % and 20 MiB, and the libraries. Never
     * more than the card has. */
    uint64_t limit;
    size_t stacks;  /* simulated */
    size_t fitting; /* ... of which the job fits with this number */
} plim_prediction_range;

PLIM_API const char *plim_prediction_kind(size_t index); /* "weight", "gradient" ...; NULL past the end */

typedef struct plim_prediction plim_prediction;

/* From a trace that python/plimsoll/capture.py or a plan wrote. */
PLIM_API plim_status plim_prediction_load(const char *path, plim_prediction **prediction, plim_error *error);
PLIM_API void plim_prediction_free(plim_prediction *prediction); /* NULL is fine */
/* `gpu` may be NULL: then there are no work spaces and no limit. `pool` gives the allocator and its settings. */
PLIM_API plim_status plim_prediction_run(plim_prediction *prediction, const plim_gpu *gpu,
                                         const plim_pool_options *pool, plim_prediction_result *result,
                                         plim_error *error);
/* Simulates the job once for each stack. The last run stays as it is. */
PLIM_API plim_status plim_prediction_find_range(plim_prediction *prediction, const plim_gpu *gpu,
                                                const plim_pool_options *pool, plim_prediction_range *range,
                                                plim_error *error);
/* name, word, bytes of state for a parameter of four bytes, temporary bytes of a step for one */
#define PLIM_MODEL_OPTIMIZER_LIST(X)                                                                                   \
    X(SGD, "sgd", 0, 0)                                                                                                \
    X(MOMENTUM, "momentum", 4, 0)                                                                                      \
    X(ADAM, "adam", 8, 4)                                                                                              \
    X(ADAMW, "adamw", 8, 4)                                                                                            \
    X(ADAMW_FUSED, "adamw-fused", 8, 0)                                                                                \
    X(ADAMW_8BIT, "adamw-8bit", 2, 0)                                                                                  \
    X(RMSPROP, "rmsprop", 4, 4)                                                                                        \
    X(ADAGRAD, "adagrad", 4, 4)

typedef enum plim_model_optimizer {
#define PLIM_MODEL_OPTIMIZER_ENUM(name, word, state, work) PLIM_MODEL_##name,
    PLIM_MODEL_OPTIMIZER_LIST(PLIM_MODEL_OPTIMIZER_ENUM)
#undef PLIM_MODEL_OPTIMIZER_ENUM
        PLIM_MODEL_OPTIMIZERS
} plim_model_optimizer;

/* fp32; autocast to 16 bits with weights in float32; all in 16 bits */
#define PLIM_MODEL_PRECISION_LIST(X)                                                                                   \
    X(FP32, "fp32")                                                                                                    \
    X(AMP_BF16, "amp-bf16")                                                                                            \
    X(AMP_FP16, "amp-fp16")                                                                                            \
    X(BF16, "bf16")

typedef enum plim_model_precision {
#define PLIM_MODEL_PRECISION_ENUM(name, word) PLIM_MODEL_##name,
    PLIM_MODEL_PRECISION_LIST(PLIM_MODEL_PRECISION_ENUM)
#undef PLIM_MODEL_PRECISION_ENUM
        PLIM_MODEL_PRECISIONS
} plim_model_precision;

/* How an ONNX model is trained. Zero-initialised: batch 1, SGD, float32, everything trained. */
typedef struct plim_model_options {
    size_t size;   /* sizeof(plim_model_options), or 0; see plimsoll.h */
    int64_t batch; /* size of every symbol that `sizes` does not name; 0: 1 */
    const plim_size *sizes;
    size_t size_count;
    plim_model_optimizer optimizer;
    plim_model_precision precision;
    bool checkpoint; /* recompute: of every block only its input is saved */
    int64_t micro;   /* gradients are summed over batches of this size; 0: the whole batch at once */
    bool frozen;     /* nothing but the last layer with weights is trained */
    int64_t lora;    /* the rank of adapters beside frozen weights; 0: none */
    bool graph_mode; /* as TensorFlow's graph mode runs it, with Keras' optimizers and losses; else as PyTorch does */
} plim_model_options;

PLIM_API bool plim_model_optimizer_find(const char *word, plim_model_optimizer *optimizer);
PLIM_API bool plim_model_precision_find(const char *word, plim_model_precision *precision);

/* From an ONNX model, as PyTorch or TensorFlow would train it. The graph is not needed afterwards. */
PLIM_API plim_status plim_prediction_create(const plim_graph *model, const plim_model_options *options,
                                            plim_prediction **prediction, plim_error *error);
/* A model, how it is trained, and where. */
typedef struct plim_prediction_job {
    const plim_graph *model;
    const plim_model_options *options;
    const plim_gpu *gpu; /* may be NULL for plim_prediction_try */
    const plim_pool_options *pool;
} plim_prediction_job;

/* The largest batch that fits; 0: not even 1 does. */
PLIM_API plim_status plim_prediction_largest_batch(const plim_prediction_job *job, int64_t *batch, plim_error *error);

/* Something that makes a job need less. */
typedef struct plim_prediction_cure {
    const char *name, *meaning;
    bool applies; /* false: the job does it already, or it makes no difference here */
    bool fits;
    uint64_t driver; /* what nvidia-smi would show */
    uint64_t reserved;
} plim_prediction_cure;

/* Tries the index-th cure by simulating the job with it; PLIM_NOT_FOUND past the last one. */
PLIM_API plim_status plim_prediction_try(const plim_prediction_job *job, size_t index, plim_prediction_cure *cure,
                                         plim_error *error);

/* The last run as a page, with the card's capacity as a line. Ends the prediction. */
PLIM_API plim_status plim_prediction_save_page(plim_prediction *prediction, const char *path, plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
