/* The operators that models may use, and the passes that rewrite them. */
#ifndef PLIMSOLL_OPERATORS_H
#define PLIMSOLL_OPERATORS_H

#include <stddef.h>

#include "plimsoll/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One row of the operator table. */
typedef struct plim_operator {
    const char *domain, *name; /* "" is ONNX's own domain; "plimsoll" holds what passes and gradients make */
    int since, until;          /* the opsets of the domain that are understood */
    int differentiable;
    char gradient_reads[160]; /* of the forward pass: "input 0, output 0"; "nothing"; "" where there is no gradient */
    int view;                 /* outputs may share the memory of an input without moving a byte */
    int in_place;             /* the output may be written over an input that nothing reads any more */
    int random;               /* draws random numbers */
} plim_operator;

PLIM_API size_t plim_operator_count(void);
/* All zero past the end. */
PLIM_API void plim_operator_get(size_t index, plim_operator *row);

/* A pass that plim_session_options.without can name. */
typedef struct plim_pass {
    const char *name, *summary;
} plim_pass;

PLIM_API size_t plim_pass_count(void);
PLIM_API void plim_pass_get(size_t index, plim_pass *pass);

/* --- conformance ---------------------------------------------------------------------------------------------- */

typedef enum plim_verdict { PLIM_VERDICT_PASSED, PLIM_VERDICT_FAILED, PLIM_VERDICT_UNSUPPORTED } plim_verdict;

typedef struct plim_conformance {
    plim_verdict verdict;
    char reason[1024];     /* why it did not pass; "" when it did */
    const char *corrected; /* how the model was corrected first, because ONNX itself has found it wrong since; NULL: it
                              was not. Static. */
} plim_conformance;

/* Runs one ONNX conformance case: a folder with model.onnx, test_data_set_K/input_I.pb and output_I.pb. Values agree when
 * |a - b| <= 1e-7 + 1e-3 |b|, as in ONNX's own runner. A case that does not pass is PLIM_OK: see .verdict. */
PLIM_API plim_status plim_conformance_run(const char *folder, int threads, plim_conformance *result, plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
