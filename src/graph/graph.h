/* The graph inside: values, nodes and attributes, as every later stage sees them.
 *
 *   values[]  each has one producer (a node) or is an input, a constant or a parameter
 *   nodes[]   in topological order once plim__graph_sort has run; `dead` ones are skipped and dropped by
 *             plim__graph_compact
 *
 * Values and nodes are named by their index; indices stay valid until compaction. */
#ifndef PLIM_GRAPH_GRAPH_H
#define PLIM_GRAPH_GRAPH_H

#include <stdbool.h>

#include "core/map.h"
#include "core/vec.h"
#include "graph/batch_axis.h"
#include "graph/roles.h"
#include "graph/shape.h"
#include "graph/tensor.h"
#include "plimsoll/graph.h"

typedef enum plim__value_kind {
    PLIM__VALUE_NODE,      /* computed by a node */
    PLIM__VALUE_INPUT,     /* fed by the caller */
    PLIM__VALUE_CONSTANT,  /* fixed data */
    PLIM__VALUE_PARAMETER, /* a float initializer of the model; training changes it when its role says so */
    PLIM__VALUE_STATE,     /* persistent, written by the step: optimizer state, statistics; zero at first
                            * when it has no tensor */
    PLIM__VALUE_SUM,       /* the same for the gradient of a parameter, summed up over micro-batches */
} plim__value_kind;

typedef struct plim__value {
    char *name;
    plim__value_kind kind;
    plim_dtype dtype; /* PLIM_DTYPE_NONE while unknown */
    plim__shape shape;
    int32_t producer;     /* node, -1 for none */
    bool is_gradient;     /* of a parameter; for reports */
    plim__tensor *tensor; /* constants, parameters, initial state */
    plim__batch batch;    /* of a training graph: where the samples lie */
    plim__role role;      /* of a parameter: whether training changes it, and why */
} plim__value;

typedef enum plim__attribute_type {
    PLIM__ATTRIBUTE_INT,
    PLIM__ATTRIBUTE_FLOAT,
    PLIM__ATTRIBUTE_STRING,
    PLIM__ATTRIBUTE_TENSOR,
    PLIM__ATTRIBUTE_INTS,
    PLIM__ATTRIBUTE_FLOATS,
    PLIM__ATTRIBUTE_STRINGS,
    PLIM__ATTRIBUTE_GRAPH,     /* a subgraph; its bytes are kept too, so that it can be written back */
    PLIM__ATTRIBUTE_REFERENCE, /* in the body of a function: to the attribute of the call that s names */
    PLIM__ATTRIBUTE_OTHER,     /* sparse tensors, types, ...: kept as bytes likewise */
} plim__attribute_type;

typedef struct plim__attribute {
    char *name;
    plim__attribute_type type;
    int64_t i;
    float f;
    char *s;       /* STRING (terminated); GRAPH and OTHER: the AttributeProto's bytes */
    size_t length; /* of s; of ints, floats or strings */
    int64_t *ints;
    float *floats;
    char **strings;
    plim__tensor *tensor;
    plim_graph
        *graph;      /* GRAPH: its inputs end with the values that it captures. One that cannot be understood has failed
                        * (plim_graph_status) */
    bool rewritten;  /* GRAPH: its bytes no longer say what it is, and cannot be written back */
    size_t captured; /* values around the node that the graph uses by name: they are inputs of the node too, after its
                        * own, in the order of its attributes */
} plim__attribute;

typedef struct plim__op plim__op;

/* What part of a training step a node belongs to. */
typedef enum plim__phase {
    PLIM__FORWARD,
    PLIM__BACKWARD,
    PLIM__UPDATE, /* once a batch, after its last micro-batch */
} plim__phase;

typedef struct plim__node {
    char *name;
    char *op_name, *domain; /* as in the file; domain "" is ONNX's own */
    const plim__op *op;     /* row of the operator table; NULL while unresolved or unknown */
    int version;            /* opset of its domain */
    plim__phase phase;
    bool dead;
    PLIM_VEC(plim_value) inputs;  /* PLIM_NO_VALUE for a missing optional one */
    PLIM_VEC(plim_value) outputs; /* PLIM_NO_VALUE for an unused optional one */
    PLIM_VEC(plim__attribute) attributes;
} plim__node;

struct plim__opset {
    char *domain;
    int64_t version;
};

struct plim__property {
    char *key, *value;
};

/* An attribute of Identity, which is kept as the call that a file's node was made from: no gradient goes through it. */
#define PLIM__DETACHED "plimsoll.detached"

/* Keys of notes that are ours; the writer's version marks files that may be replaced. */
#define PLIM__NOTE_PREFIX "plimsoll."
#define PLIM__NOTE_WRITER "plimsoll.version"

/* What a file says about itself; kept so that writing back loses nothing. */
typedef struct plim__model_info {
    int64_t ir_version, model_version;
    char *producer_name, *producer_version, *model_domain, *doc, *graph_name;
    PLIM_VEC(struct plim__opset) opsets;
    PLIM_VEC(struct plim__property) properties;
    char *signature; /* of PyTorch's exporter: which values are parameters; NULL for none */
} plim__model_info;

/* What a reader of the model has to know before training it: plim_graph_remark_at. */
struct plim__remark {
    plim_remark_kind kind;
    char *text;
};

typedef struct plim__readers plim__readers;

struct plim_graph {
    PLIM_VEC(plim__value) values;
    PLIM_VEC(plim__node) nodes;
    PLIM_VEC(plim_value) inputs;
    PLIM_VEC(plim_value) outputs;
    PLIM_VEC(char *) symbols;
    plim__map names; /* value name → value */
    plim__model_info info;
    PLIM_VEC(struct plim__remark) remarks;
    plim__readers *readers; /* an index of who reads each value; NULL: none */
    plim_error failure;     /* the first failure while building */
    bool trains;            /* parameters change: passes do not read them */
};

/* The domain of operators that passes and gradients make; no file has them. */
#define PLIM__DOMAIN "plimsoll"

#define PLIM__DEFAULT_OPSET 17 /* of graphs built in code */

/* --- parts ---------------------------------------------------------------------------------------------------- */

/* A new value; the name is copied, made unique when NULL. PLIM_NO_VALUE and g->failure on failure. A
 * name that exists already is a failure. */
plim_value plim__graph_add_value(plim_graph *g, const char *name, plim__value_kind kind, plim_dtype dtype,
                                 const plim__shape *shape);
/* Takes the reference to `tensor`, also on failure. kind is CONSTANT, PARAMETER or STATE. */
plim_value plim__graph_add_tensor(plim_graph *g, const char *name, plim__value_kind kind, plim__tensor *tensor);
/* A node without outputs yet; op_name and domain as in the file. -1 on failure. */
int32_t plim__graph_add_node(plim_graph *g, const char *domain, const char *op_name, const char *name, int version);
/* plim_graph_node and _apply, for operators of our own domain too. */
int32_t plim__graph_node(plim_graph *g, const char *op, const char *name, const plim_value *inputs, size_t input_count,
                         size_t output_count);
plim_value plim__graph_apply(plim_graph *g, const char *op, const plim_value *inputs, size_t count);
bool plim__node_add_input(plim_graph *g, int32_t node, plim_value value);
/* The node becomes another operator of our own domain; its values and attributes stay. */
plim_status plim__node_become(plim_graph *g, int32_t node, const char *op);
/* Makes the value an output of the node (its producer). */
bool plim__node_add_output(plim_graph *g, int32_t node, plim_value value);
/* Replaces an attribute of the same name. Takes everything the attribute owns, also on failure. */
bool plim__node_set_attribute(plim_graph *g, int32_t node, plim__attribute attribute);
void plim__attribute_free(plim__attribute *attribute);
/* A copy under a name (of any graph); false when memory is short. */
bool plim__attribute_clone(const plim__attribute *from, const char *name, plim__attribute *to);
/* Copies of all attributes of a node (of any graph); false when memory is short. */
bool plim__node_copy_attributes(plim_graph *g, int32_t to, const plim__node *from);

/* How many of its last inputs the node does not list in the file, since its subgraphs capture them. */
size_t plim__node_captured(const plim__node *node);

/* The opset that the graph declares for a domain; 0 when it declares none. */
int plim__graph_opset(const plim_graph *g, const char *domain);
bool plim__graph_set_opset(plim_graph *g, const char *domain, int64_t version);
/* Remembers the first failure; returns its status. */
plim_status plim__graph_fail(plim_graph *g, plim_status status, const char *format, ...) PLIM_PRINTF(3, 4);
#ifdef __clang_analyzer__ /* core/error.h */
#include "core/error.h"
#define plim__graph_fail(g, status, ...) plim__failed(plim__graph_fail(g, status, __VA_ARGS__), status)
#endif

/* Adds a remark, as plim_graph_remark_at tells it. */
plim_status plim__graph_remark(plim_graph *g, plim_remark_kind kind, const char *format, ...) PLIM_PRINTF(3, 4);

/* --- reading attributes --------------------------------------------------------------------------------------- */

const plim__attribute *plim__node_attribute(const plim__node *node, const char *name); /* or NULL */
int64_t plim__node_int(const plim__node *node, const char *name, int64_t missing);
float plim__node_float(const plim__node *node, const char *name, float missing);
const char *plim__node_string(const plim__node *node, const char *name, const char *missing);
/* The list and its length; NULL and 0 when absent. */
const int64_t *plim__node_ints(const plim__node *node, const char *name, size_t *count);
const float *plim__node_floats(const plim__node *node, const char *name, size_t *count);

static inline plim_value plim__node_in(const plim__node *node, size_t i) {
    return i < node->inputs.count ? node->inputs.items[i] : PLIM_NO_VALUE;
}
static inline plim_value plim__node_out(const plim__node *node, size_t i) {
    return i < node->outputs.count ? node->outputs.items[i] : PLIM_NO_VALUE;
}
/* How messages call a node: its name, or that of its first output, or its operator. */
const char *plim__node_label(const plim_graph *g, const plim__node *node);
/* The tensor of a constant or parameter value; NULL for anything else. */
plim__tensor *plim__graph_tensor(const plim_graph *g, plim_value value);
/* Like plim__graph_tensor, but only for values that training does not change. */
plim__tensor *plim__graph_constant_tensor(const plim_graph *g, plim_value value);

/* --- rewriting ------------------------------------------------------------------------------------------------ */

/* Every use of `from` (nodes and graph outputs) becomes a use of `to`. If `from` was an output of the
 * graph, `to` takes its name over, so that users still find it. */
plim_status plim__graph_replace(plim_graph *g, plim_value from, plim_value to);
plim_status plim__graph_swap_names(plim_graph *g, plim_value a, plim_value b);
/* Gives a value a name that no other has. */
plim_status plim__graph_rename(plim_graph *g, plim_value value, const char *name);
/* How many live nodes and graph outputs use each value: an array of values.count (plim__free it). */
int32_t *plim__graph_uses(const plim_graph *g);
/* The only live node that uses the value; -1 when there are none, several, or it is a graph output. */
int32_t plim__graph_only_user(const plim_graph *g, plim_value value);
/* Whether a live node or the graph's outputs use it. */
bool plim__graph_is_used(const plim_graph *g, plim_value value);
bool plim__graph_is_output(const plim_graph *g, plim_value value);
/* The live nodes that read a value, in any order, one twice that reads it twice; at most `most` of them. Returns how many. */
size_t plim__graph_readers(const plim_graph *g, plim_value value, int32_t *nodes, size_t most);
/* Puts a value into an input that the node has. */
void plim__node_set_input(plim_graph *g, int32_t node, size_t input, plim_value value);
/* Live nodes that read `from` read `to`. */
void plim__graph_reread(plim_graph *g, plim_value from, plim_value to);
/* An index for these questions, until it is dropped or nodes change places; without one every question walks over the whole
 * graph. While there is one, inputs are set by functions of this header only. Short memory fails the graph. */
void plim__readers_index(plim_graph *g);
void plim__readers_drop(plim_graph *g);
void plim__readers_add(plim_graph *g, int32_t node, size_t input, plim_value value);
/* What the inputs of a subgraph are, but those that it captures, and what its outputs have become. With `fixed` its weights
 * are constants: a reader of the loaded graph would not find them. */
typedef struct plim__splice {
    const plim_value *inputs;
    plim_value *outputs;
    bool fixed;
} plim__splice;
/* A copy of all nodes of another graph, at the end; ends->inputs are all of its inputs. */
plim_status plim__graph_copy_into(plim_graph *g, const plim_graph *from, const plim__splice *ends, plim_error *error);
/* A copy of the nodes in the subgraph that a node's attribute holds, at the end; both are there and fit. */
plim_status plim__graph_splice(plim_graph *g, int32_t node, const char *attribute, const plim__splice *ends,
                               plim_error *error);
/* The tensor of a value that the graph tells: a constant, or what a Constant node holds. NULL for any other. */
plim__tensor *plim__graph_told(const plim_graph *g, plim_value value);
/* The branch of an If node that `condition` (one bool) selects takes the node's place; its nodes come at the end, to be
 * sorted. */
plim_status plim__graph_take_branch(plim_graph *g, int32_t node, plim__tensor *condition, bool fixed,
                                    plim_error *error);
/* The same for every If whose condition the graph tells: a constant, or what a Constant node holds. */
plim_status plim__graph_take_known_branches(plim_graph *g, plim_error *error);
/* Orders nodes topologically; a cycle or a value without a producer is PLIM_CORRUPT and is named. */
plim_status plim__graph_sort(plim_graph *g, plim_error *error);
/* Marks nodes dead whose outputs nothing needs, and drops dead nodes. Values stay where they are. */
plim_status plim__graph_prune(plim_graph *g, plim_error *error);
/* A number that tells models apart: over the names, types and shapes of inputs and of the parameters that nodes use, over
 * the nodes, their attributes and what they connect, over small constants; not over the weights' data. A model and the
 * file that it is written to have the same. */
plim_status plim__graph_fingerprint(const plim_graph *g, uint64_t *fingerprint, plim_error *error);
/* Debug: every structural invariant holds. */
bool plim__graph_is_valid(const plim_graph *g, plim_error *error);

/* Every value and weight of float16, bfloat16 or float64 is float32, and so is what nodes cast to. */
plim_status plim__graph_widen(plim_graph *g, plim_error *error);
/* The same, but inputs and outputs keep their types: they are cast. */
plim_status plim__graph_widen_inside(plim_graph *g, plim_error *error);
/* Whether there is anything to widen. */
bool plim__graph_is_narrow(const plim_graph *g);

/* Substitutes symbols by numbers everywhere; name NULL binds every symbol that is left. */
plim_status plim__graph_bind(plim_graph *g, const char *symbol, int64_t size, plim_error *error);

#endif
