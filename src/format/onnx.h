/* ONNX beyond the public interface: tensor files, weights listed without loading, writing with another limit. */
#ifndef PLIM_FORMAT_ONNX_H
#define PLIM_FORMAT_ONNX_H

#include <stdbool.h>

#include "format/weights.h"
#include "graph/tensor.h"
#include "plimsoll/onnx.h"

/* A file that holds one TensorProto, such as the conformance data's input_0.pb; its data is in memory. `name` gets
 * the name stored in the file ("" for none; plim__free it) unless it is NULL. Sequences, optionals and strings are
 * PLIM_UNSUPPORTED. */
plim_status plim__onnx_read_tensor_file(const char *path, plim__tensor **tensor, char **name, plim_error *error);

typedef struct plim__onnx_weight {
    const char *name; /* valid during the call only */
    plim_dtype dtype;
    plim__shape shape;
    size_t bytes;  /* in memory, dense */
    bool external; /* kept in another file */
} plim__onnx_weight;

/* Tells every initializer of a model's graph from its headers alone: no data is read, external files need not be
 * there. String tensors have 0 bytes. The callback returns false to stop early. */
typedef bool (*plim__onnx_weight_callback)(const plim__onnx_weight *weight, void *context);
plim_status plim__onnx_list_weights(const char *path, plim__onnx_weight_callback callback, void *context,
                                    plim_error *error);

/* plim_graph_save with the data of `changed` where it has them: everything else is as in the graph. `path` may be the
 * file that the graph was loaded from. */
plim_status plim__onnx_save_changed(const plim_graph *graph, const plim__weights *changed, const char *path,
                                    plim_error *error);
/* The same with another limit than 2 GiB for a model in one file; `changed` may be NULL. */
plim_status plim__onnx_save_limited(const plim_graph *graph, const plim__weights *changed, const char *path,
                                    uint64_t limit, plim_error *error);

#endif
