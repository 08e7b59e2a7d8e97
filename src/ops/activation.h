/* Functions of one number: activation.def describes each once, this is how the rest of the program asks. */
#ifndef PLIM_OPS_ACTIVATION_H
#define PLIM_OPS_ACTIVATION_H

#include "graph/graph.h"

/* PLIM__FUNCTION_Abs, ... */
typedef enum plim__function {
#define FUNCTION(name, zero, where, formula) PLIM__FUNCTION_##name,
#include "ops/activation.def"
    PLIM__FUNCTION_COUNT
} plim__function;

typedef struct plim__function_row {
    const char *name;           /* as operators and recurrent cells call it */
    bool keeps_zero;            /* f(0) = 0: may run over the zeros that pad blocked layouts */
    bool in_cells;              /* recurrent cells may have it */
    bool from_output;           /* its gradient reads the output, not the input */
    bool bits;                  /* one bit of what its gradient reads is enough */
    bool precise;               /* what its gradient reads must not be rounded to 16 bits */
    bool sided;                 /* ... which tells the side of zero only if a is not negative */
    const char *a, *b;          /* its attributes; NULL for none */
    float a_default, b_default; /* where they are not given; 0 for those it does not have */
    const char *fused;          /* its name as the `activation` of a product or convolution; NULL: cannot be fused */
} plim__function_row;

extern const plim__function_row plim__functions[PLIM__FUNCTION_COUNT];

/* The function that a node computes, or whose backward pass it is; PLIM__FUNCTION_COUNT for other nodes. */
plim__function plim__function_of(const plim__node *node);
/* By the name that recurrent cells give it, in any case of letters, and by that of a fused activation;
 * PLIM__FUNCTION_COUNT when there is none. */
plim__function plim__function_of_cell(const char *name);
plim__function plim__function_of_fused(const char *activation);
/* What stands for the function when it is fused; *a becomes 0 where that is another one. */
plim__function plim__function_fused_as(plim__function f, float *a);
/* a and b of a node, or their defaults. */
void plim__function_attributes(plim__function f, const plim__node *node, float *a, float *b);

#endif
