/* What the parts of the ONNX reader share: the open model, and how each kind of message becomes a part of a graph.
 *
 *   onnx_wire      finds fields in the file                           onnx_open       opens and closes it
 *   onnx_tensor    TensorProto, SparseTensorProto → plim__tensor      onnx_external   data in other files
 *   onnx_type      ValueInfoProto → dtype and shape                   onnx_attribute  AttributeProto
 *   onnx_load      ModelProto, GraphProto, NodeProto → plim_graph     onnx_peek       weights without a graph
 *   onnx_metadata  what exporters say about the model
 */
#ifndef PLIM_FORMAT_ONNX_READ_H
#define PLIM_FORMAT_ONNX_READ_H

#include "core/map.h"
#include "core/vec.h"
#include "format/onnx.h"
#include "format/onnx_wire.h"
#include "graph/graph.h"
#include "graph/passes/export/provenance.h"

enum {
    PLIM__ONNX_INLINE = 4096, /* tensors up to this many bytes are read at once, larger ones stay in the file */
    PLIM__ONNX_NEWEST_OPSET = 24,
};

struct plim__onnx_external {
    plim__source *source;
    uint64_t size;
};

/* A file being read. */
typedef struct plim__onnx_reader {
    plim__wire wire;
    plim__source *source;     /* NULL when reading from memory */
    int folder;               /* descriptor of the model's folder, -1 until it is needed */
    uint64_t dense_allowance; /* bytes that sparse tensors may still grow to: a tiny file must not ask for much */
    plim__map external_names; /* location → index in externals */
    PLIM_VEC(struct plim__onnx_external) externals;
    bool in_function;       /* attributes may refer to those of a call */
    plim_graph *g;          /* NULL while there is none */
    plim__map symbol_names; /* dim_param → dimension */
} plim__onnx_reader;

plim_status plim__onnx_open(plim__onnx_reader *reader, const char *path, plim_error *error);
void plim__onnx_open_memory(plim__onnx_reader *reader, const void *data, size_t size);
void plim__onnx_close(plim__onnx_reader *reader);
/* Ends a public call: puts the file before the message and keeps the message on one line. */
plim_status plim__onnx_finish(const char *path, plim_status status, plim_error *error);

/* --- tensors -------------------------------------------------------------------------------------------------- */

/* All of a TensorProto but its data. */
typedef struct plim__onnx_head {
    char *name; /* "" for none */
    plim_dtype dtype;
    plim__shape shape;
    size_t bytes; /* 0 for strings */
    bool has_raw, external;
    plim__span raw;
    char *location; /* of external data; NULL for none */
    uint64_t offset, length;
    bool has_length;
} plim__onnx_head;

/* Names the tensor in every message. plim__onnx_head_free also after a failure. */
plim_status plim__onnx_read_head(plim__onnx_reader *reader, plim__span span, plim__onnx_head *head, plim_error *error);
void plim__onnx_head_free(plim__onnx_head *head);
/* The tensor of a head that is not made of strings. */
plim_status plim__onnx_read_payload(plim__onnx_reader *reader, plim__span span, const plim__onnx_head *head,
                                    plim__tensor **tensor, plim_error *error);
/* The name (plim__free it) and the dense form of a SparseTensorProto. With tensor NULL only *head is filled. */
plim_status plim__onnx_read_sparse(plim__onnx_reader *reader, plim__span span, plim__onnx_head *head,
                                   plim__tensor **tensor, plim_error *error);
typedef struct plim__onnx_dims {
    size_t rank;
    const int64_t *sizes;
} plim__onnx_dims;
/* dims of a file to a shape: rank, sign and size in bytes are checked. dtype may be a string. */
plim_status plim__onnx_shape(const char *name, plim_dtype dtype, plim__onnx_dims dims, plim__shape *shape,
                             size_t *bytes, plim_error *error);
/* A dtype number of a file. */
plim_status plim__onnx_dtype(const char *name, int64_t number, plim_dtype *dtype, plim_error *error);
/* The tensor of external data: head->location lies in the model's folder and holds enough bytes. */
plim_status plim__onnx_read_external(plim__onnx_reader *reader, const plim__onnx_head *head, plim__tensor **tensor,
                                     plim_error *error);

/* --- values and attributes ------------------------------------------------------------------------------------ */

#define PLIM__ONNX_SEQUENCE "a sequence"

typedef struct plim__onnx_value {
    char *name;
    plim_dtype dtype; /* PLIM_DTYPE_NONE when not told */
    plim__shape shape;
    const char *other; /* "a sequence", ... when it is not a tensor */
} plim__onnx_value;

/* `fresh`: dimensions that are not told become new symbols; otherwise such a shape is unknown. Free ->name also after
 * a failure. */
plim_status plim__onnx_read_value(plim__onnx_reader *reader, plim__span span, bool fresh, plim__onnx_value *value,
                                  plim_error *error);

/* plim__attribute_free it, also after a failure. */
plim_status plim__onnx_read_attribute(plim__onnx_reader *reader, plim__span span, plim__attribute *attribute,
                                      plim_error *error);

/* --- what exporters say ------------------------------------------------------------------------------------------- */

plim_status plim__onnx_read_signature(plim__onnx_reader *reader, plim__span graph, plim__provenance *provenance,
                                      plim_error *error);
/* Adds nothing for a node or value without metadata. */
plim_status plim__onnx_read_node_origin(plim__onnx_reader *reader, plim__span span, plim__node_origin *origin,
                                        plim_error *error);
plim_status plim__onnx_read_value_origin(plim__onnx_reader *reader, plim__span span, const char *name,
                                         plim__provenance *provenance, plim_error *error);

#endif
