/* ONNX models in and out.
 *
 * Reads opsets 1 to 21, any IR version, every encoding of tensors. Weights stay in the file until they are
 * used, so loading costs memory for the graph only; the file must not be changed meanwhile (replacing it by rename,
 * as plim_graph_save does, is fine).
 *
 * Not kept when a model is written back: doc strings of nodes and values, quantization annotations, training
 * info, model-local functions (a model that uses one is refused), initializers that nothing uses, and an If whose
 * condition the file tells: its branch takes its place when it is read. */
#ifndef PLIMSOLL_ONNX_H
#define PLIMSOLL_ONNX_H

#include <stddef.h>

#include "plimsoll/graph.h"
#include "plimsoll/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Float initializers become parameters, other ones constants. External data must lie in the model's folder or
 * below it, not behind symbolic links. *graph is NULL on failure; the message names the file, node and value. */
PLIM_API plim_status plim_graph_load(const char *path, plim_graph **graph, plim_error *error);
/* A model without external data. `data` is not needed afterwards. */
PLIM_API plim_status plim_graph_load_memory(const void *data, size_t size, plim_graph **graph, plim_error *error);

/* Puts the weights of another file in place of the model's, by name: an ONNX model, a .safetensors file or the index of several
 * (.safetensors.index.json), or a checkpoint of plim_fit (.ckpt). Names may have or lack "model." or "bert." in front, and
 * numbers in 16 bits become float32. All must be there with the same types and shapes, but for the last layer: where its shapes differ (another
 * number of classes) or it is not in the file, it stays as it is. Others are PLIM_SHAPE or PLIM_NOT_FOUND, and named; then
 * the model holds some of the file's weights and should be dropped. Data stays in the file until it is used. */
typedef struct plim_weights_loaded {
    size_t loaded;   /* tensors of the model that have the file's data now */
    size_t replaced; /* of the last layer, that have not */
    size_t unused;   /* of the file, that the model has not */
    char names[200]; /* of those that have not, with commas */
} plim_weights_loaded;
PLIM_API plim_status plim_graph_load_weights(plim_graph *graph, const char *path, plim_weights_loaded *loaded,
                                             plim_error *error);

/* Writes the model; the file appears whole or not at all. Weights are streamed, never copied as a whole. Models of
 * 2 GiB and more, which protocol buffers cannot hold, get their weights in PATH.data beside it. */
PLIM_API plim_status plim_graph_save(const plim_graph *graph, const char *path, plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
