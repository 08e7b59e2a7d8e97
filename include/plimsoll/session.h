/* A session: a model made ready to run with given sizes, in one planned block of memory.
 *
 *     plim_session *s;
 *     plim_session_create(graph, &(plim_session_options){.batch = 16}, &s, &error);
 *     memcpy(plim_session_input(s, "image"), pixels, bytes);
 *     plim_session_run(s, &error);
 *     const float *logits = plim_session_output(s, "logits");
 *     plim_session_free(s);
 */
#ifndef PLIMSOLL_SESSION_H
#define PLIMSOLL_SESSION_H

#include "plimsoll/graph.h"
#include "plimsoll/loss.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_session plim_session;

typedef struct plim_size { /* a symbol's size: {"seq", 256} */
    const char *symbol;
    int64_t size;
} plim_size;

/* An input whose data is known when the session is made (a shape, axes): it becomes a constant. */
typedef struct plim_fixed_input {
    const char *name;
    plim_dtype dtype;
    int rank;
    const int64_t *dims;
    const void *data; /* copied */
} plim_fixed_input;

/* Whether a model that can train is set to evaluation: no dropout, batch norm with its running statistics. */
typedef enum plim_evaluation_mode {
    PLIM_EVALUATION_NONE,       /* it runs as it is */
    PLIM_EVALUATION_AS_TRAINED, /* and computes as training does: in float32 */
    PLIM_EVALUATION_AS_STORED   /* and computes in the types that it has */
} plim_evaluation_mode;

/* Zero means the default everywhere. */
typedef struct plim_session_options {
    size_t size;   /* sizeof(plim_session_options), or 0; see plimsoll.h */
    int threads;   /* default 1 */
    int64_t batch; /* size of every symbol that `sizes` does not name; default 1 */
    const plim_size *sizes;
    size_t size_count;
    const plim_fixed_input *fixed;
    size_t fixed_count;
    const char *without;   /* passes to leave out, separated by commas: "fuse-attention,winograd" */
    int plan_only;         /* no arena, no weights: for looking at the plan */
    int measure;           /* measure the time of each step */
    const plim_loss *loss; /* for plim_evaluate: it takes the place of the outputs, and the model is set to evaluation
                            * (no dropout, batch norm with its running statistics) */
    int scores;            /* with .loss: what it applies to stays an output, for plim_evaluate_measured */
    plim_evaluation_mode evaluation; /* without a loss: for predictions of a model that trains */
} plim_session_options;

/* The graph is not changed and not needed afterwards. */
PLIM_API plim_status plim_session_create(const plim_graph *model, const plim_session_options *options,
                                         plim_session **session, plim_error *error);
PLIM_API void plim_session_free(plim_session *session);

/* The graph as it runs: sizes bound, constants folded, patterns fused. */
PLIM_API const plim_graph *plim_session_graph(const plim_session *session);

/* Memory of an input or output by name, row-major; NULL when there is none. Inputs must be filled before
 * each run: their memory may be used again during it. Outputs stay until the next run. */
PLIM_API void *plim_session_input(plim_session *session, const char *name);
PLIM_API const void *plim_session_output(const plim_session *session, const char *name);

PLIM_API plim_status plim_session_run(plim_session *session, plim_error *error);

typedef struct plim_session_stats {
    size_t arena_bytes;       /* all the memory the model uses */
    size_t lower_bound_bytes; /* the least that any placement of the same steps could use */
    size_t weight_bytes, input_bytes, activation_bytes, workspace_bytes; /* at the moment of the peak */
    size_t steps, nodes;
    double flops; /* of one run */
} plim_session_stats;
PLIM_API void plim_session_get_stats(const plim_session *session, plim_session_stats *stats);

/* The largest buffers alive at the peak, largest first. Returns how many were written. */
typedef struct plim_session_tensor {
    const char *name; /* "" for workspace */
    const char *op;   /* the operator that makes it */
    const char *kind; /* "weight", "input", "activation", "workspace" */
    plim_dtype dtype;
    int rank;
    int64_t dims[PLIM_MAX_RANK];
    size_t bytes;
} plim_session_tensor;
PLIM_API size_t plim_session_peak_tensors(const plim_session *session, plim_session_tensor *tensors, size_t most);

/* One step of the program, with the time it took in the last run (with options.measure). */
typedef struct plim_session_step {
    const char *label, *node;
    int product; /* it is a convolution or matrix product, forward or backward */
    double seconds, flops, bytes;
} plim_session_step;
PLIM_API size_t plim_session_step_count(const plim_session *session);
PLIM_API void plim_session_get_step(const plim_session *session, size_t index, plim_session_step *step);

#ifdef __cplusplus
}
#endif
#endif
