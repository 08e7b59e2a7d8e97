/* Models made byte by byte, loaded or refused. */
#ifndef PLIM_TEST_LOAD_CASE_H
#define PLIM_TEST_LOAD_CASE_H

#include <string.h>

#include "format/onnx_bytes.h"
#include "graph/graph.h"
#include "plim_test.h"
#include "plimsoll/onnx.h"

static plim_error error;

/* Loads and frees the bytes. NULL when refused. */
static inline plim_graph *load(bytes *model) {
    plim_graph *g;
    plim_status status = plim_graph_load_memory(model->data, model->size, &g, &error);
    assert_true((status == PLIM_OK) == (g != NULL));
    free(model->data);
    if (g) assert_true(plim__graph_is_valid(g, NULL));
    return g;
}

static inline plim_graph *must_load(bytes *model) {
    plim_graph *g = load(model);
    if (!g) fail_msg("%s", error.message);
    return g;
}

/* The model is refused with this status, and the message holds these words. */
static inline void must_refuse(bytes *model, plim_status status, const char *words, const char *more) {
    plim_graph *g = load(model);
    assert_null(g);
    if (error.status != status || !strstr(error.message, words) || (more && !strstr(error.message, more)))
        fail_msg("expected %s with '%s', got %s: %s", plim_status_name(status), words, plim_status_name(error.status),
                 error.message);
    assert_null(strchr(error.message, '\n'));
}

#endif
