/* The operator table: one row an operator. Everything the program knows about an operator is in its row
 * and the functions it names; nothing else switches on an operator's name.
 *
 * The rows live in the family files *.def as
 *     OP(domain, name, since, until, min_in, max_in, min_out, max_out, infer, gradient, saved, cost, lower,
 *        batch, flags)
 * where infer names plim__infer_<infer> (this folder), gradient plim__gradient_<gradient> (src/grad),
 * cost plim__cost_<cost> (this folder) and lower plim__lower_<lower> (src/program). Several rows may share a
 * function; `none` stands for no gradient. since..until are the opsets of the domain that are understood.
 *
 * Inputs before min_in must be there (but see PLIM__OP_ABSENT), those from min_in on may be left out anywhere. A
 * max_in of MANY means any number, all of which must be there. Outputs before min_out must be there, but of our own
 * operators.
 *
 * saved lists what the gradient reads of the forward pass, which is what has to live until then: IN(i) and OUT(i)
 * for inputs and outputs, INS for any of the inputs, EXTRA for what a training form of the operator computes
 * in addition (where a maximum was, a mean); NOTHING, or NONE where there is no gradient. A gradient that reads
 * anything else fails.
 *
 * batch names plim__batch_<batch> (this folder, batch.h): where the samples of a batch lie in the outputs. With `none`
 * nothing is known of them, and a batch that goes through such an operator is not split. */
#ifndef PLIM_OPS_OP_H
#define PLIM_OPS_OP_H

#include <stdbool.h>

#include "core/error.h"
#include "graph/graph.h"

#define PLIM__MANY 32767

/* What a gradient reads of the forward pass, as bits of plim__op.saved. */
#define PLIM__SAVED_IN(i)  (1u << (i))        /* i < 15 */
#define PLIM__SAVED_OUT(i) (1u << (16 + (i))) /* i < 14 */
#define PLIM__SAVED_INS    0x7fffu
#define PLIM__SAVED_EXTRA  (1u << 30)
#define PLIM__SAVED_NONE   (1u << 31) /* there is no gradient */

/* Each of these decides: what a row does not allow, lowering does not do. */
enum plim__op_flags {
    PLIM__OP_VIEW = 1 << 0,      /* outputs may share the memory of an input without moving a byte */
    PLIM__OP_INPLACE = 1 << 1,   /* output 0 may be written over an input that nothing reads any more */
    PLIM__OP_RANDOM = 1 << 2,    /* draws random numbers: never folded, recomputed with the same counters */
    PLIM__OP_WRITES = 1 << 3,    /* changes inputs that are parameters or state where they are, has no outputs; stands
                                * after every reader of these. Its phase is never PLIM__FORWARD. */
    PLIM__OP_SEQUENCES = 1 << 5, /* takes sequences, which are resolved while types are inferred */
    PLIM__OP_PRODUCT = 1 << 4,   /* a convolution or matrix product: profiles tell how much of the time these take */
    PLIM__OP_NARROW = 1 << 6,    /* in a backward pass, what it reads of the forward pass may have waited in 16 bits */
    PLIM__OP_FACTORS = 1 << 7,   /* may multiply numbers of 16 bits: its sums, and what it gives out, are float32 */
};
#define PLIM__OP_ABSENT(i) (1u << (8 + (i))) /* input i may be left out though it stands before min_in; i < 16 */

typedef struct plim__infer {
    plim_graph *graph;
    const plim__node *node;
    plim_error *error;
} plim__infer;

typedef struct plim__cost {
    double flops;
    double bytes; /* read and written */
    double read;  /* from a file */
} plim__cost;

typedef struct plim__batch_rule plim__batch_rule; /* ops/batch.h */

struct plim__op {
    const char *domain, *name;
    int since, until;
    int min_in, max_in, min_out, max_out;
    plim_status (*infer)(plim__infer *ctx);
    void (*cost)(const plim_graph *g, const plim__node *node, plim__cost *cost);
    void (*batch)(plim__batch_rule *r); /* NULL: nothing is known of the batch of its outputs */
    unsigned saved, flags;
};

extern const plim__op plim__ops[];
extern const size_t plim__op_count;

static inline bool plim__op_has_gradient(const plim__op *op) { return op->saved != PLIM__SAVED_NONE; }
/* "input 0, output 0": what the gradient reads, for people; "nothing", or "" where there is no gradient. */
#define PLIM__SAVED_TEXT 160
const char *plim__op_saved_text(const plim__op *op, char text[PLIM__SAVED_TEXT]);
/* Whether input i may not be left out. */
bool plim__op_requires(const plim__op *op, size_t i);
/* The row for an operator at an opset; NULL when there is none. */
const plim__op *plim__op_find(const char *domain, const char *name, int version);
/* Sets node->op of every node, whose required inputs are all there afterwards: PLIM_CORRUPT names one that is not.
 * PLIM_UNSUPPORTED names the first operator without a row:
 * "unsupported: operator X (opset N) in node 'name'". */
plim_status plim__ops_resolve(plim_graph *g, plim_error *error);

/* How many rows the tables have that a value picks from as indices, the fewest where there are several; 0 when it picks
 * from none. */
int64_t plim__op_rows_picked(const plim_graph *g, plim_value indices);

/* --- for inference functions: all shapes are concrete --------------------------------------------------------- */

static inline bool plim__infer_has(const plim__infer *ctx, size_t i) { return plim__node_in(ctx->node, i) >= 0; }
/* Shape and dtype of input i, which must be there. */
static inline const plim__shape *plim__infer_shape(const plim__infer *ctx, size_t i) {
    return &ctx->graph->values.items[plim__node_in(ctx->node, i)].shape;
}
static inline plim_dtype plim__infer_dtype(const plim__infer *ctx, size_t i) {
    return ctx->graph->values.items[plim__node_in(ctx->node, i)].dtype;
}
/* PLIM_DTYPE where inputs i and j are there, and of different types. */
plim_status plim__infer_same_types(plim__infer *ctx, size_t i, size_t j);
/* Sets the type of output i; an absent optional output is fine. */
plim_status plim__infer_output(plim__infer *ctx, size_t i, plim_dtype dtype, const plim__shape *shape);
/* Output i is known already (Shape, Constant): it becomes a constant. Takes the tensor, also on failure. A
 * node all of whose outputs are constants disappears. */
plim_status plim__infer_constant(plim__infer *ctx, size_t i, plim__tensor *tensor);
/* Reads a constant integer input (a shape, axes, sizes). PLIM_UNSUPPORTED when it depends on data. */
plim_status plim__infer_ints(plim__infer *ctx, size_t i, int64_t *values, size_t most, size_t *count);
/* Axes from attribute `name` (older opsets) or from input i (newer ones), normalised to 0..rank-1 and
 * checked for duplicates; count 0 when neither is given. */
plim_status plim__infer_axes(plim__infer *ctx, const char *name, size_t i, int rank, int axes[PLIM_MAX_RANK],
                             int *count);
/* "node 'conv1' (Conv): ..." */
plim_status plim__infer_fail(plim__infer *ctx, plim_status status, const char *format, ...) PLIM_PRINTF(3, 4);
#ifdef __clang_analyzer__ /* core/error.h */
#include "core/error.h"
#define plim__infer_fail(ctx, status, ...) plim__failed(plim__infer_fail(ctx, status, __VA_ARGS__), status)
#endif

/* Common shapes of answers, usable as `infer` in a row. */
plim_status plim__infer_same(plim__infer *ctx);      /* outputs: type of input 0 */
plim_status plim__infer_broadcast(plim__infer *ctx); /* output: broadcast shape of all inputs, dtype of input 0 */

/* Runs inference over the whole graph in order; calls `fold` (may be NULL) after each node whose inputs
 * are all constants, so that shapes that are computed become known. fold may turn the node's outputs into
 * constants and mark the node dead. */
typedef plim_status (*plim__fold)(plim_graph *g, int32_t node, void *context, plim_error *error);
plim_status plim__infer_graph(plim_graph *g, plim__fold fold, void *context, plim_error *error);
/* Gives the graph's outputs types where they have none and inference finds them, with symbols left open: files should
 * tell them. */
plim_status plim__infer_outputs(plim_graph *g, plim__fold fold, plim_error *error);

/* Costs, usable in a row. */
void plim__cost_pointwise(const plim_graph *g, const plim__node *node, plim__cost *cost); /* 1 flop an output element */
void plim__cost_none(const plim_graph *g, const plim__node *node, plim__cost *cost);      /* views */

/* The functions that rows name. */
#define OP(domain, name, since, until, min_in, max_in, min_out, max_out, infer, gradient, saved, cost, lower, batch,   \
           flags)                                                                                                      \
    plim_status plim__infer_##infer(plim__infer *ctx);                                                                 \
    void plim__cost_##cost(const plim_graph *g, const plim__node *node, plim__cost *c);                                \
    void plim__batch_##batch(plim__batch_rule *r);
#include "ops/ops.def"
#undef OP

#endif
