/* Training: a model, a loss, an optimizer and batches.
 *
 *     plim_trainer *t;
 *     plim_trainer_options o = {.batch = 256, .loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY),
 *                               .optimizer = plim_optimizer_default(PLIM_ADAMW)};
 *     plim_trainer_create(model, &o, &t, &error);
 *     while (plim_data_next(data, &batch, &error) == PLIM_OK && batch.count > 0)
 *         plim_trainer_step(t, &batch, &result, &error);
 *     plim_trainer_save(t, "trained.onnx", &error);
 *     plim_trainer_free(t);
 */
#ifndef PLIMSOLL_TRAIN_H
#define PLIMSOLL_TRAIN_H

#include "plimsoll/evaluate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- optimizers ----------------------------------------------------------------------------------------------- */

typedef enum plim_optimizer_kind {
    PLIM_SGD,
    PLIM_ADAM,
    PLIM_ADAMW,
    PLIM_RMSPROP,
    PLIM_ADAGRAD,
    PLIM_ADAFACTOR,
    PLIM_LION,
} plim_optimizer_kind;

/* Stands for a zero that is meant, in fields of an optimizer where 0 is a field that was not set: it computes as 0. */
#define PLIM_ZERO 1e-300

/* Each computes what the optimizer of that name in PyTorch computes (Lion: its paper). Fields that an optimizer does
 * not know are not read. One of which only .kind is set is plim_optimizer_default of that kind. In others a rate, beta1,
 * beta2 or alpha of 0 is PLIM_INVALID, as it most likely was not set: begin with plim_optimizer_default, and write PLIM_ZERO
 * for a zero that is meant. */
typedef struct plim_optimizer {
    plim_optimizer_kind kind;
    double rate;          /* learning rate, before the schedule */
    double momentum;      /* sgd, rmsprop */
    double dampening;     /* sgd */
    int nesterov;         /* sgd */
    double beta1, beta2;  /* adam, adamw, lion; beta2 is adafactor's decay exponent (-0.8) */
    double alpha;         /* rmsprop: smoothing */
    double epsilon;       /* adafactor: its second one (1e-3) */
    double threshold;     /* adafactor: d, update clipping */
    double rate_decay;    /* adagrad */
    double weight_decay;  /* added to the gradient; adamw, lion and adafactor shrink the weight instead */
    double clip_norm;     /* of all gradients together, as torch.nn.utils.clip_grad_norm_; 0: none */
    double clip_value;    /* of each entry, after clipping by norm; 0: none */
    int64_t state_bits;   /* sgd with momentum, adam, adamw, rmsprop, lion: 32; 8, which is lossy; 0: 8 only where lossy
                           * plans are allowed and the budget asks for it */
    uint64_t reserved[3]; /* zero: room for later versions */
} plim_optimizer;

/* What PyTorch 2.13 has as defaults; for Lion those of its paper. */
PLIM_API plim_optimizer plim_optimizer_default(plim_optimizer_kind kind);
/* By name: "sgd", "adam", "adamw", "rmsprop", "adagrad", "adafactor", "lion". Returns 0 when there is none. */
PLIM_API int plim_optimizer_find(const char *name, plim_optimizer_kind *kind);
PLIM_API const char *plim_optimizer_name(plim_optimizer_kind kind);

typedef enum plim_schedule_kind { PLIM_CONSTANT, PLIM_STEP, PLIM_COSINE, PLIM_LINEAR } plim_schedule_kind;

/* A factor of the learning rate, from 0 to 1, by the number of the update (from 0). After the warm-up the others count
 * from its end:
 *     constant   1
 *     step       gamma^floor(n / every)
 *     cosine     least + (1 - least) (1 + cos(pi n / N)) / 2      N = total - warmup; from there on, least
 *     linear     1 - (1 - least) n / N */
typedef struct plim_schedule {
    plim_schedule_kind kind;
    int64_t warmup; /* updates during which the factor rises linearly: (n + 1) / warmup */
    int64_t total;  /* updates until cosine and linear have reached `least`, warm-up included; 0: they stay at 1 */
    int64_t every;  /* step: times gamma every this many updates; 0: never */
    double gamma;   /* step; 0 stands for 0.1 */
    double least;   /* factor at the end of cosine and linear */
    uint64_t reserved[4]; /* zero: room for later versions */
} plim_schedule;

PLIM_API double plim_schedule_factor(const plim_schedule *schedule, int64_t update);
PLIM_API int plim_schedule_find(const char *name,
                                plim_schedule_kind *kind); /* "constant", "step", "cosine", "linear" */

/* In how many bits the numbers of the forward pass wait for the backward pass, which reads them. Weights, their gradients, the
 * optimizer's state and all sums are float32. With bfloat16, on processors that multiply it (AVX512-BF16), convolutions and matrix
 * products read both factors in it, gradients too; everywhere else arithmetic is float32. */
typedef enum plim_precision {
    PLIM_PRECISION_DEFAULT, /* float32; bfloat16 only where lossy plans are allowed and the budget asks for it */
    PLIM_PRECISION_F32,
    PLIM_PRECISION_BF16, /* rounded to bfloat16, half of the bytes, and multiplied so where the processor can: lossy */
    PLIM_PRECISION_F16,  /* rounded to IEEE half, more digits and infinite from 65520 on: lossy. The loss is scaled as
                          * torch.amp.GradScaler does, and an update whose gradients are not finite is skipped */
} plim_precision;

PLIM_API const char *plim_precision_name(plim_precision precision); /* "fp32", "bf16", "fp16" */
/* By name: "fp32", "bf16", "fp16". Returns 0 when there is none. */
PLIM_API int plim_precision_find(const char *name, plim_precision *precision);

/* In which form the weights of frozen layers are kept: those of matrix products, but the last one, which the adapters of lora.h
 * stand beside or --freeze names. The product unpacks a piece at a time; nothing else changes. */
typedef enum plim_base {
    PLIM_BASE_DEFAULT, /* float32 */
    PLIM_BASE_F32,
    PLIM_BASE_BF16, /* rounded to bfloat16, half of the bytes: lossy, like those below */
    PLIM_BASE_INT8, /* each row of a matrix over its largest magnitude, in 8 bits */
    PLIM_BASE_NF4,  /* 4-bit NormalFloat in blocks of 64, as bitsandbytes has it */
    PLIM_BASE_FILE, /* in the model's file, where products read them each time: reordered, the last layer too */
} plim_base;

PLIM_API const char *plim_base_name(plim_base base); /* "fp32", "bf16", "int8", "nf4", "file" */
/* By name. Returns 0 when there is none. */
PLIM_API int plim_base_find(const char *name, plim_base *base);

/* --- what memory may cost ------------------------------------------------------------------------------------- */

/* What a plan may do to the numbers. */
typedef enum plim_class {
    PLIM_EXACT,     /* the same bits: order, packing, recompute, updates within the backward pass, spilling */
    PLIM_REORDERED, /* the same sums in another order: micro-batches, the loss in chunks */
    PLIM_LOSSY,     /* other numbers: micro-batches of a model that mixes the samples of a batch */
} plim_class;

PLIM_API const char *plim_class_name(plim_class class_); /* "exact", "reordered", "lossy" */

/* Which classes of plans may be chosen: the one named and those before it. */
typedef enum plim_allow { PLIM_ALLOW_DEFAULT, PLIM_ALLOW_EXACT, PLIM_ALLOW_REORDERED, PLIM_ALLOW_LOSSY } plim_allow;

/* --- the trainer ---------------------------------------------------------------------------------------------- */

typedef struct plim_trainer plim_trainer;

/* Zero is the default in every field; NULL options are all defaults. What pointers lead to is copied. */
typedef struct plim_trainer_options {
    size_t size;              /* sizeof(plim_trainer_options), or 0; see plimsoll.h */
    plim_loss loss;           /* default: cross entropy on the first output */
    plim_optimizer optimizer; /* default: plim_optimizer_default(PLIM_SGD) */
    plim_schedule schedule;   /* default: constant */
    int64_t batch; /* samples of an update, and the size of every symbol that `sizes` does not name; default 1 */
    const plim_size *sizes; /* other symbols */
    size_t size_count;
    int64_t accumulate;        /* micro-batches of an update; default 1. The gradient is that of the whole batch. */
    const char *const *freeze; /* globs on names of parameters that stay as they are: "features.*" */
    size_t freeze_count;
    uint64_t seed; /* of dropout */
    int threads;   /* default 1 */
    int measure;   /* measure the time of each step of the program */
    /* A budget bounds the resident memory of the whole process. The plan within it is the fastest that is found among
     * those of a class up to `allow`; when none fits, making the trainer fails with PLIM_BUDGET before anything runs, and
     * the message names the smallest budget. */
    uint64_t budget;  /* bytes; 0: none */
    plim_allow allow; /* the classes of plans that may be chosen for a budget; default: up to reordered */
    const char *plan; /* a file of plim_plan_save: makes exactly this plan, with its budget. A plan for another model,
                          * machine, number of threads, version or other options is PLIM_INVALID; NULL: plans itself */
    int alternatives; /* with a budget: find other plans too, for the page of the run; planning takes longer */
    int records; /* the run will be recorded; 2: and a page made of it at its end. What that holds is planned too */
    uint64_t data_bytes;      /* that the process holds for reading data, outside the arena; default: three batches */
    uint64_t data_held_bytes; /* of these, what is there already: data sets that are open */
    /* Sizes that will come. What they need is planned and reserved with the rest, and nothing is allocated when they
     * come. Others work too: their programs are made when they come. Without a budget that is memory that no plan knows
     * of; with one, the first of them makes the trainer plan again, once, as if they had been declared. */
    int64_t samples; /* of an epoch, whose last batch may be short; 0: all batches are whole */
    int64_t
        evaluates; /* plim_trainer_evaluate will be called, with plim_evaluation_batch of its data; 0: it will not */
    int scores;    /* plim_trainer_evaluate_measured will be called: evaluation holds scores to its end */
    int irregular_batches; /* batches of any size may come, as plim_data_options.skip_bad makes them: a plan within a budget has
                      * room for one program of an undeclared size. Each such size replaces the one before it,
                      * within that room: making it takes a moment, and the process holds no more than was planned. */
    /* Under a budget, optimizer state that memory has no room for goes to a file: read and written back at each update,
     * the numbers are the same. The file has no name and ends with the trainer. */
    const char *spill; /* the folder for it; NULL: $TMPDIR, else /var/tmp, where that is a disk that can be written */
    int no_spill;      /* never */
    /* What is trained is what plim_graph_weight_at says; these globs on names add to it: masks, tables, settings, what
     * the exporter calls a buffer. `freeze` takes away after that. */
    const char *const *trainable;
    size_t trainable_count;
    /* "GLOB=FACTOR": parameters whose names match have the learning rate times this; of several that match, the last one
     * counts. A glob that matches no parameter is PLIM_NOT_FOUND. */
    const char *const *rates;
    size_t rate_count;
    plim_precision precision; /* of what waits for the backward pass; naming one that is lossy allows it */
    plim_base base; /* of frozen layers; naming one that is lossy allows it. With nothing frozen: PLIM_INVALID */
    uint64_t
        data_opening_bytes; /* that the process held for opening its data and gave back (plim_data_info.opening_bytes): no
                                  * process is planned as smaller than that */
    uint64_t
        data_sample_bytes; /* by which data_bytes grow with each sample of a batch (plim_data_info.sample_bytes), for
                                 * the largest batch of a plan; 0: they do not */
    int no_winograd; /* 3x3 convolutions sum products, also where Winograd's form would be faster (with AVX-512): that one rounds
                      * otherwise, by some 2e-6 of the largest result. Whether it is used depends on the model, batch, threads and
                      * processor, never on a budget; evaluation beside training does not use it */
    uint64_t log_bytes; /* that the caller holds for logs of the run while it goes on; 0: none. They are planned too */
    int64_t
        updates; /* that the run makes at most: one that ends within an epoch never meets its short last batch, which then is
                      * not planned for; 0: whole epochs */
} plim_trainer_options;

/* The model is not changed, and must stay until the trainer is freed. */
PLIM_API plim_status plim_trainer_create(const plim_graph *model, const plim_trainer_options *options,
                                         plim_trainer **trainer, plim_error *error);
PLIM_API void plim_trainer_free(plim_trainer *trainer);

#define PLIM_MOST_INPUTS 16
/* What one update learns from: samples of each input of the model in its order, row-major, and of the target. */
typedef struct plim_batch {
    int64_t count;
    const void *inputs[PLIM_MOST_INPUTS];
    const void *target; /* not read when the model has its own loss */
} plim_batch;

typedef struct plim_step_result {
    double loss;    /* mean over the batch, before the update */
    double weight;  /* targets that count: samples, tokens or pixels, times their class weights */
    double targets; /* how many these are, whatever their weights */
    double correct; /* of these, how many were predicted; -1 when the model does not classify */
    double rate;    /* learning rate of the update */
    int64_t update; /* its number, from 1 */
    double seconds;
    double loss_scale;       /* of the gradients; 1 but for PLIM_PRECISION_F16 */
    int skipped;             /* the gradients were not finite: weights and the optimizer's state are as before */
    int64_t skipped_updates; /* since training began, this one included */
} plim_step_result;

/* One update. A loss that is not finite is PLIM_NUMERIC: the message names the step and the first operator. Data that is not
 * finite, or a label out of range, is PLIM_INVALID. With PLIM_PRECISION_F16 gradients that are not finite skip the update;
 * twenty in a row are PLIM_NUMERIC. Weights and state are as they were before. */
PLIM_API plim_status plim_trainer_step(plim_trainer *trainer, const plim_batch *batch, plim_step_result *result,
                                       plim_error *error);

/* Between two steps: plans again for another budget (0: none) and goes on with the same weights, state and counters. When
 * the new budget cannot be met, PLIM_BUDGET, and everything is as before. */
PLIM_API plim_status plim_trainer_set_budget(plim_trainer *trainer, uint64_t budget, plim_error *error);

/* How fields of a data set feed the model: by name, or by order where the names differ. */
typedef struct plim_feed {
    int inputs[PLIM_MOST_INPUTS]; /* fields */
    int target;                   /* -1 when none is needed */
} plim_feed;
PLIM_API plim_status plim_trainer_match(const plim_trainer *trainer, plim_data *data, plim_feed *feed,
                                        plim_error *error);
PLIM_API plim_batch plim_feed_batch(const plim_trainer *trainer, const plim_feed *feed, const plim_data_batch *batch);
/* Fields of synthetic data that fit the model, inputs first. Returns how many. */
PLIM_API int plim_trainer_fields(const plim_trainer *trainer, plim_data_field fields[PLIM_MOST_INPUTS + 1]);

/* Loss and accuracy over one epoch of `data`, with the weights as they are now, in the memory of training: in pieces that
 * fit into it. */
PLIM_API plim_status plim_trainer_evaluate(plim_trainer *trainer, plim_data *data, plim_evaluation *result,
                                           plim_error *error);

/* The same, with measures (plimsoll/measures.h); the trainer was made with .scores. */
struct plim_measures;
PLIM_API plim_status plim_trainer_evaluate_measured(plim_trainer *trainer, plim_data *data,
                                                    struct plim_measures *measures, plim_evaluation *result,
                                                    plim_error *error);

typedef struct plim_trainer_stats {
    int64_t batch, micro_batch, accumulate;
    size_t arena_bytes; /* all that training and evaluation use, without the overhead of the process */
    size_t weight_bytes, gradient_bytes, optimizer_bytes, activation_bytes, workspace_bytes,
        data_bytes;             /* at the peak */
    size_t parameters;          /* numbers that are trained */
    size_t frozen;              /* tensors that are not */
    size_t steps;               /* of the program of one micro-batch */
    double flops;               /* of one update */
    const char *prevents_split; /* why micro-batches would change the result, and which node does; NULL: they do not */
    size_t planned_arena_bytes;
    size_t data_buffer_bytes; /* that reading data may hold outside the arena, as planned */
    size_t process_bytes;     /* resident memory of the whole process at its highest, as planned; 0 without a budget */
    double seconds;           /* of an update, as planned */
    plim_class class_;        /* what the plan does to the numbers */
    size_t repeated;          /* steps that are done again to save memory */
    size_t spilled_bytes;     /* of weights and optimizer state, in a file */
    int64_t replans;          /* since training began */
    plim_precision precision; /* of what waits for the backward pass: never PLIM_PRECISION_DEFAULT */
    plim_base base;           /* of frozen layers: never PLIM_BASE_DEFAULT */
    uint64_t base_saved;      /* bytes that they take less than in float32 */
    size_t streamed_bytes;    /* of spilled_bytes: weights, which steps fetch when they read them, */
    size_t in_model_bytes;    /* and of these those that are fetched from the model's own file: frozen ones */
    double file_seconds;      /* of an update, as planned: what moving all of that takes at the rate of the disk, */
    double file_waits;        /* and how much of it steps wait for; the rest passes while others compute */
} plim_trainer_stats;
PLIM_API void plim_trainer_get_stats(const plim_trainer *trainer, plim_trainer_stats *stats);

/* Steps of the program of one micro-batch: the mean time that each took in an update (options.measure), and its work. */
PLIM_API size_t plim_trainer_step_count(const plim_trainer *trainer);
PLIM_API void plim_trainer_get_step(const plim_trainer *trainer, size_t index, plim_session_step *step);

/* --- trainable state ------------------------------------------------------------------------------------------ */

typedef enum plim_tensor_role { PLIM_ROLE_PARAMETER, PLIM_ROLE_STATISTIC, PLIM_ROLE_OPTIMIZER } plim_tensor_role;

typedef struct plim_trainer_tensor {
    const char *name;
    plim_tensor_role role;
    plim_dtype dtype;
    int rank;
    int64_t dims[PLIM_MAX_RANK];
    size_t bytes; /* dense, row-major */
} plim_trainer_tensor;

PLIM_API size_t plim_trainer_tensor_count(const plim_trainer *trainer);
PLIM_API void plim_trainer_get_tensor(const plim_trainer *trainer, size_t index, plim_trainer_tensor *tensor);
PLIM_API plim_status plim_trainer_read(plim_trainer *trainer, size_t index, void *values, plim_error *error);
PLIM_API plim_status plim_trainer_write(plim_trainer *trainer, size_t index, const void *values, plim_error *error);

/* Gradients of the last step's parameters, for looking at: makes the step run without its update. */
PLIM_API plim_status plim_trainer_gradients(plim_trainer *trainer, const plim_batch *batch,
                                            void (*show)(void *context, const char *name, int rank, const int64_t *dims,
                                                         const float *values),
                                            void *context, plim_error *error);

/* Writes the model with the weights as they are now: as ONNX, with everything else as in the model (its own file may be
 * replaced), or the weights alone as .safetensors; the name's end decides. The file appears whole or not at all. */
PLIM_API plim_status plim_trainer_save(plim_trainer *trainer, const char *path, plim_error *error);
/* Whether plim_trainer_save could write there, as far as that can be known before training: the name's end, and a folder
 * that takes files. */
PLIM_API plim_status plim_trainer_can_save(const char *path, plim_error *error);

/* What a file is, as far as it could be lost by writing over it. */
typedef enum plim_output_kind {
    PLIM_OUTPUT_NONE,       /* nothing there, an empty file, a pipe or a device */
    PLIM_OUTPUT_CHECKPOINT, /* of plim_fit */
    PLIM_OUTPUT_MODEL,      /* a model or weights that this library wrote */
    PLIM_OUTPUT_RECORD,     /* a log, a recording or a page of it */
    PLIM_OUTPUT_FOREIGN,    /* anything else */
} plim_output_kind;
PLIM_API plim_output_kind plim_output_find(const char *path);
/* PLIM_INVALID when something of another kind is there: writing there would lose it. The functions that write replace what
 * they are told to; whoever takes names from people asks first. */
PLIM_API plim_status plim_output_check(const char *path, plim_output_kind kind, plim_error *error);

/* How far training is: what a checkpoint has in addition to tensors. */
typedef struct plim_progress {
    int64_t updates;         /* done; random operators and schedules count them */
    int64_t skipped_updates; /* of these, with PLIM_PRECISION_F16: optimizers do not count them */
    int64_t skipped_in_row;  /* of these, the last ones */
    int64_t good_in_row;     /* made since the loss scale changed */
    double loss_scale;       /* for the next one; 0: the one to begin with */
} plim_progress;
PLIM_API plim_progress plim_trainer_progress(const plim_trainer *trainer);
PLIM_API void plim_trainer_set_progress(plim_trainer *trainer, plim_progress progress);

#ifdef __cplusplus
}
#endif
#endif
