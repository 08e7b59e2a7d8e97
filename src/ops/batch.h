/* The batch axis of every value of a graph, found from two sizes of the batch.
 *
 * A model is built for a batch of `whole` samples and for a part of it. What a Shape, a constant mask or a scale becomes
 * for each size is known then, so nothing has to be guessed: the rules below say for the whole where samples lie, and
 * the part must agree in every shape and constant. What no rule proves is unknown, and is not split.
 *
 * A row's rule is plim__batch_<name>(plim__batch_rule *r): it reads the batches of the node's inputs and sets those of its
 * outputs; what it does not set is unknown. A rule may set a plausible batch though samples influence each other
 * (`mixes`): splitting then changes results. */
#ifndef PLIM_OPS_BATCH_H
#define PLIM_OPS_BATCH_H

#include "ops/op.h"

/* The same graph for two sizes of the batch, whole > part: the same values by number. */
typedef struct plim__batch_pair {
    plim_graph *whole, *part;
    int64_t whole_samples, part_samples;
} plim__batch_pair;

struct plim__batch_rule {
    const plim__batch_pair *pair;
    const plim__node *node, *twin; /* of the whole, and of the part: NULL when that has computed it already */
    plim__batch *values;           /* of the whole */
    bool mixes;
};

typedef enum plim__split {
    PLIM__SPLIT_NEVER,     /* nothing can be said about the result */
    PLIM__SPLIT_LOSSY,     /* samples influence each other: other numbers */
    PLIM__SPLIT_REORDERED, /* the same sums in another order */
} plim__split;

/* How a loss and its gradients combine. */
typedef enum plim__combine {
    PLIM__COMBINE_MEAN, /* weighted by the weight of the loss */
    PLIM__COMBINE_SUM,  /* added up */
} plim__combine;

typedef struct plim__batch_verdict {
    plim__split split;
    plim__combine combine;
    plim_value weight; /* of the loss, where the graph computes it; PLIM_NO_VALUE: samples */
    char why[160];     /* what prevents splitting, or makes it lossy; empty when nothing does */
} plim__batch_verdict;

/* `values` (of pair->whole->values.count) receives the batch of each. Both graphs are sorted, with all types. */
void plim__batch_axes_find(const plim__batch_pair *pair, plim_value loss, plim__batch *values,
                           plim__batch_verdict *verdict);

/* --- for rules ------------------------------------------------------------------------------------------------ */

static inline bool plim__batch_has(const plim__batch_rule *r, size_t i) { return plim__node_in(r->node, i) >= 0; }
/* Of an input that is there. */
const plim__batch *plim__batch_in(const plim__batch_rule *r, size_t i);
const plim__shape *plim__batch_shape(const plim__batch_rule *r, size_t i);
const plim__shape *plim__batch_out_shape(const plim__batch_rule *r, size_t i);
void plim__batch_set(plim__batch_rule *r, size_t output, plim__batch batch);
/* The same for everybody: missing, or NONE with the power 0. */
bool plim__batch_is_fixed(const plim__batch_rule *r, size_t i);
bool plim__batch_are_fixed(const plim__batch_rule *r, size_t from); /* inputs from this one on */
/* Input i has samples along an axis, and is not scaled. */
bool plim__batch_is_axis(const plim__batch_rule *r, size_t i);
/* An axis that a node is told by an attribute; -1 when it is out of range. */
int plim__batch_axis_attribute(const plim__batch_rule *r, const char *name, int64_t missing, int rank);
/* For readers of attributes and constant inputs. */
plim__infer plim__batch_reading(const plim__batch_rule *r, bool part);
/* Output i: the batch of input 0 with its axis elsewhere. */
void plim__batch_move(plim__batch_rule *r, size_t output, int axis);
/* Sums of terms: what a broadcast of all inputs is when they are added. UNKNOWN when they do not go together. */
plim__batch plim__batch_add(plim__batch_rule *r);
/* Products and sums of products: inputs' axes have labels, those of the output keep theirs, others are summed over. */
#define PLIM__BATCH_FACTORS 16
typedef struct plim__batch_product {
    size_t count;
    plim__batch batches[PLIM__BATCH_FACTORS];
    const plim__shape *shapes[PLIM__BATCH_FACTORS];
    int labels[PLIM__BATCH_FACTORS][PLIM_MAX_RANK];
    int out_rank, out_labels[PLIM_MAX_RANK];
} plim__batch_product;
plim__batch plim__batch_multiply(plim__batch_rule *r, const plim__batch_product *product);

#endif
