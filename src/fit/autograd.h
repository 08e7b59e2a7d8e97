/* One pass through a model as PyTorch's eager mode and autograd do it, on a tape of storages. */
#ifndef PLIM_FIT_AUTOGRAD_H
#define PLIM_FIT_AUTOGRAD_H

#include "fit/autograd_rows.h"
#include "fit/model.h"
#include "fit/strides.h"
#include "fit/tape.h"

typedef struct plim__autograd {
    const plim_graph *g;
    const plim_model_options *options;
    plim__tape tape;
    uint32_t *storage;        /* of each value, while the program holds it */
    uint32_t *gradient;       /* of each value */
    uint32_t *half;           /* autocast: the 16-bit copy of each weight */
    uint8_t *width;           /* bytes of an element of each floating value */
    bool *needs;              /* a gradient is needed */
    plim__strides *strides;   /* of each value */
    int32_t *uses;            /* of each value, in all */
    int32_t *left;            /* ... in this pass */
    PLIM_VEC(uint32_t) saved; /* storages that autograd saves; those of node n from first[n] to first[n + 1] in order */
    uint32_t *first, *count;  /* of each node */
    char unknown[384];        /* operators that PyTorch's rows do not have, by name; "": none */
    bool saving;              /* autograd is on */
} plim__autograd;

plim_status plim__autograd_init(plim__autograd *a, const plim_graph *g, const plim_model_options *options,
                                plim__timeline *timeline, plim_error *error);
void plim__autograd_free(plim__autograd *a);

bool plim__autograd_is_weight(const plim__autograd *a, plim_value value);
uint64_t plim__autograd_bytes(const plim__autograd *a, plim_value value);
uint64_t plim__autograd_elements(const plim__autograd *a, plim_value value);
/* The operator's row; one without a name where there is none. */
const plim__torch_row *plim__autograd_row(const plim__autograd *a, const plim__node *node);
void plim__autograd_note_unknown(plim__autograd *a, const char *name);
/* A low-rank adapter stands beside the node. */
bool plim__autograd_has_adapter(const plim__autograd *a, const plim__node *node);
/* The kernel reads this input in 16 bits, and it is not. */
bool plim__autograd_narrows(const plim__autograd *a, const plim__node *node, plim_value in);
/* Names an operator whose kernels may ask for work spaces: 0 in the forward pass, else the gradients that are computed. */
enum { PLIM__GRADIENT_INPUT = 1, PLIM__GRADIENT_WEIGHT = 2, PLIM__GRADIENT = 4 };
void plim__autograd_mark(plim__autograd *a, const plim__node *node, unsigned gradients);

/* Nodes from..to - 1. Backward takes them in reverse. */
void plim__autograd_forward(plim__autograd *a, size_t from, size_t to);
void plim__autograd_backward(plim__autograd *a, size_t from, size_t to);
/* A gradient for a value: taken over where it is the first, else summed. Takes the reference. */
void plim__autograd_deliver(plim__autograd *a, plim_value value, uint32_t storage);

#endif
