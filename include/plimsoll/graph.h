/* Models as graphs: values and the nodes that compute them, built in code or read from a file.
 *
 * Building needs no check after each call. The first thing that goes wrong is remembered in the graph,
 * every later call does nothing, and plim_graph_status tells at the end:
 *
 *     plim_graph *g = plim_graph_create();
 *     int64_t n = plim_graph_symbol(g, "N");
 *     plim_value x = plim_graph_input(g, "x", PLIM_F32, 2, (int64_t[]){n, 784});
 *     plim_value w = plim_graph_parameter(g, "fc.weight", PLIM_F32, 2, (int64_t[]){784, 10}, weights);
 *     plim_value y = plim_graph_apply(g, "MatMul", (plim_value[]){x, w}, 2);
 *     plim_graph_output(g, y, "logits");
 *     if (plim_graph_status(g, &error) != PLIM_OK) ...
 */
#ifndef PLIMSOLL_GRAPH_H
#define PLIMSOLL_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "plimsoll/dtype.h"
#include "plimsoll/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PLIM_MAX_RANK 8

typedef struct plim_graph plim_graph;
typedef int32_t plim_value; /* names a value inside its graph */
#define PLIM_NO_VALUE ((plim_value)-1)

/* NULL when memory is short; every function here takes NULL and then does nothing. */
PLIM_API plim_graph *plim_graph_create(void);
PLIM_API void plim_graph_free(plim_graph *graph);
/* A copy that shares the weights. NULL when memory is short. */
PLIM_API plim_graph *plim_graph_clone(const plim_graph *graph);
/* PLIM_OK, or the first failure since the graph was created. */
PLIM_API plim_status plim_graph_status(const plim_graph *graph, plim_error *error);

/* --- building ------------------------------------------------------------------------------------------------- */

/* A dimension that is bound when the graph is used, such as the batch: a negative number to put into
 * dims. The same name gives the same symbol. */
PLIM_API int64_t plim_graph_symbol(plim_graph *graph, const char *name);

PLIM_API plim_value plim_graph_input(plim_graph *graph, const char *name, plim_dtype dtype, int rank,
                                     const int64_t *dims);
/* Trainable weights; `data` is copied, in row-major order. NULL means zeros. */
PLIM_API plim_value plim_graph_parameter(plim_graph *graph, const char *name, plim_dtype dtype, int rank,
                                         const int64_t *dims, const void *data);
/* The same, but the graph takes a block from malloc() and frees it later, also on failure. */
PLIM_API plim_value plim_graph_parameter_take(plim_graph *graph, const char *name, plim_dtype dtype, int rank,
                                              const int64_t *dims, void *data);
/* A value that training does not change. name may be NULL. */
PLIM_API plim_value plim_graph_constant(plim_graph *graph, const char *name, plim_dtype dtype, int rank,
                                        const int64_t *dims, const void *data);

/* A node of operator `op` ("Conv", or "domain::Name"; those of the domain "plimsoll" are the library's to add). Returns its
 * number, -1 after a failure. `name` may be NULL. Missing optional inputs are PLIM_NO_VALUE. */
PLIM_API int32_t plim_graph_node(plim_graph *graph, const char *op, const char *name, const plim_value *inputs,
                                 size_t input_count, size_t output_count);
PLIM_API plim_value plim_graph_node_output(const plim_graph *graph, int32_t node, size_t index);
PLIM_API void plim_graph_set_int(plim_graph *graph, int32_t node, const char *name, int64_t value);
PLIM_API void plim_graph_set_float(plim_graph *graph, int32_t node, const char *name, float value);
PLIM_API void plim_graph_set_string(plim_graph *graph, int32_t node, const char *name, const char *value);
PLIM_API void plim_graph_set_ints(plim_graph *graph, int32_t node, const char *name, const int64_t *values,
                                  size_t count);
PLIM_API void plim_graph_set_floats(plim_graph *graph, int32_t node, const char *name, const float *values,
                                    size_t count);
PLIM_API void plim_graph_set_strings(plim_graph *graph, int32_t node, const char *name, const char *const *values,
                                     size_t count);
/* A node with one output and no attributes, in one call. */
PLIM_API plim_value plim_graph_apply(plim_graph *graph, const char *op, const plim_value *inputs, size_t count);

/* Declares a value as an output of the graph; name may be NULL to keep the one it has. */
PLIM_API void plim_graph_output(plim_graph *graph, plim_value value, const char *name);
PLIM_API void plim_graph_set_value_name(plim_graph *graph, plim_value value, const char *name);

/* --- notes ---------------------------------------------------------------------------------------------------- */

/* Texts that travel with a model, by key: ONNX's metadata_props, and the metadata of safetensors files. Keys that begin with
 * "plimsoll." are this library's (job.h). A value of NULL removes the note. */
PLIM_API plim_status plim_graph_set_note(plim_graph *graph, const char *key, const char *value, plim_error *error);
/* NULL when there is none; valid until the note is changed. */
PLIM_API const char *plim_graph_get_note(const plim_graph *graph, const char *key);
/* The key of the index-th note, and its value (may be NULL); NULL past the end. */
PLIM_API const char *plim_graph_note_at(const plim_graph *graph, size_t index, const char **value);

/* --- looking -------------------------------------------------------------------------------------------------- */

PLIM_API size_t plim_graph_input_count(const plim_graph *graph); /* without weights */
PLIM_API plim_value plim_graph_input_at(const plim_graph *graph, size_t index);
PLIM_API size_t plim_graph_output_count(const plim_graph *graph);
PLIM_API plim_value plim_graph_output_at(const plim_graph *graph, size_t index);
PLIM_API size_t plim_graph_node_count(const plim_graph *graph);
/* The parameters: how many tensors, their elements and bytes. */
typedef struct plim_graph_weights {
    size_t tensors;
    int64_t elements;
    uint64_t bytes;
} plim_graph_weights;
PLIM_API void plim_graph_get_weights(const plim_graph *graph, plim_graph_weights *weights);
/* One of them, and whether training changes it. */
typedef struct plim_graph_weight {
    uint64_t bytes;
    int trained;     /* 0: a buffer, a mask, a table, a setting, ...: training leaves it as it is */
    const char *why; /* "a parameter, says the exporter", "one number: a setting", ... */
} plim_graph_weight;
/* The index-th parameter, below .tensors; PLIM_NO_VALUE beyond. weight may be NULL. */
PLIM_API plim_value plim_graph_weight_at(const plim_graph *graph, size_t index, plim_graph_weight *weight);

/* What to know about a model before it is trained: exporters change networks, and say so only in their metadata. */
typedef enum plim_remark_kind {
    PLIM_REMARK_RESTORED, /* an exporter had changed it; it is again as the module was */
    PLIM_REMARK_LOST,     /* an exporter has changed it, and training differs from the module's */
    PLIM_REMARK_DOUBT,    /* the file contradicts itself or leaves something open; what was taken is said */
    PLIM_REMARK_COUNT
} plim_remark_kind;
PLIM_API size_t plim_graph_remark_count(const plim_graph *graph);
/* The text, valid as long as the graph; NULL beyond the last one. kind may be NULL. */
PLIM_API const char *plim_graph_remark_at(const plim_graph *graph, size_t index, plim_remark_kind *kind);

PLIM_API plim_value plim_graph_find(const plim_graph *graph, const char *name); /* or PLIM_NO_VALUE */
PLIM_API const char *plim_graph_value_name(const plim_graph *graph, plim_value value);
PLIM_API plim_dtype plim_graph_value_dtype(const plim_graph *graph, plim_value value);
/* The rank, -1 when it is not known (yet). Symbolic dimensions are negative. */
PLIM_API int plim_graph_value_shape(const plim_graph *graph, plim_value value, int64_t dims[PLIM_MAX_RANK]);
/* "N" for a symbolic dimension; NULL otherwise. */
PLIM_API const char *plim_graph_symbol_name(const plim_graph *graph, int64_t dim);

/* A batch that is part of a model: its inputs are [2,3,32,32] where others are [batch,3,32,32]. */
typedef struct plim_baked_batch {
    int64_t samples; /* that the model is for; 0: its batch is open */
    int freed;       /* 1: it is open now, the first axis of every input is the symbol "batch" */
    char why[200];   /* what prevents that */
} plim_baked_batch;
/* Opens the batch where that is provably the same model; otherwise the graph stays as it is. Fails only when memory is
 * short. */
PLIM_API plim_status plim_graph_free_batch(plim_graph *graph, plim_baked_batch *baked, plim_error *error);

/* The graph as text, one line a node:  %y = MatMul(%x, %fc.weight) : float32[N,10]
 * Free with plim_text_free. NULL when memory is short. */
PLIM_API char *plim_graph_print(const plim_graph *graph);

#ifdef __cplusplus
}
#endif
#endif
