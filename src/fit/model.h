/* A training step of an ONNX model as PyTorch would run it: which tensors it makes, what its autograd saves, when each one
 * is freed. The result is a timeline like that of a captured program. */
#ifndef PLIM_FIT_MODEL_H
#define PLIM_FIT_MODEL_H

#include "graph/graph.h"
#include "mem/timeline.h"
#include "plimsoll/predict.h"

/* The model with sizes bound and patterns recognised, ready to be stepped through. Free with plim_graph_free. */
plim_status plim__model_prepare(const plim_graph *model, const plim_model_options *options, plim_graph **graph,
                                plim_error *error);

/* Fills an initialised timeline and finishes it. */
plim_status plim__model_steps(const plim_graph *graph, const plim_model_options *options, plim__timeline *timeline,
                              plim_error *error);

#endif
