/* A model prepared for running forward with given sizes: its graph, its program, where everything lies. A session runs it. */
#ifndef PLIM_PLAN_INFERENCE_H
#define PLIM_PLAN_INFERENCE_H

#include "grad/evaluation.h"
#include "plan/plan.h"
#include "plimsoll/session.h"

typedef struct plim__inference {
    plim_graph *graph;
    plim__program *program;
    plim__plan *plan;
    bool evaluates; /* it was made with a loss */
    bool
        widened; /* it computes in float32, since the model's own type lacks an operator; inputs and outputs are cast */
    plim__evaluated evaluated;
} plim__inference;

/* The program whose weights it reads; they change, so nothing is folded into them. */
typedef struct plim__shared {
    const plim__program *program;
    const plim__plan *plan;
    size_t persistent_from; /* what only the inference keeps between runs begins here */
} plim__shared;

/* Of the options, those about running are not read, nor the number of threads, which the target has. `shared` may be
 * NULL. */
plim_status plim__inference_create(const plim_graph *model, const plim_session_options *options, plim__target target,
                                   const plim__shared *shared, plim__inference **inference, plim_error *error);
void plim__inference_free(plim__inference *inference);

#endif
