/* ONNX conformance folders: a model, inputs, and the outputs that it must give. */
#ifndef PLIM_RUN_CONFORMANCE_H
#define PLIM_RUN_CONFORMANCE_H

#include "plimsoll/status.h"

typedef enum plim__verdict { PLIM__PASSED, PLIM__FAILED, PLIM__UNSUPPORTED } plim__verdict;

/* Runs the case in `folder` (model.onnx, test_data_set_K/input_I.pb and output_I.pb). `error` says why it did
 * not pass. Values agree when |a - b| <= 1e-7 + 1e-3 |b|, as in ONNX's own runner. *corrected is NULL, or tells in which
 * way the model was put right first, because ONNX itself has found it wrong since. */
plim__verdict plim__conformance_case(const char *folder, int threads, const char **corrected, plim_error *error);

#endif
