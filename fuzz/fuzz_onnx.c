/* Any bytes as an ONNX model: loaded or refused with a message on one line, in memory bounded by their size. */
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "plimsoll/plimsoll.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    plim_graph *g;
    plim_error error;
    if (plim_graph_load_memory(data, size, &g, &error) != PLIM_OK) {
        if (g || error.status == PLIM_OK || !*error.message || strchr(error.message, '\n')) abort();
        return 0;
    }
    if (!plim__graph_is_valid(g, &error)) abort();
    plim_graph_free(g);
    return 0;
}
