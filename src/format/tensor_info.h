/* What every reader of weight files tells about a tensor, without loading it. */
#ifndef PLIM_FORMAT_TENSOR_INFO_H
#define PLIM_FORMAT_TENSOR_INFO_H

#include "format/element.h"
#include "plimsoll/status.h"

typedef struct plim__tensor_info {
    const char *name; /* "" where the file has none */
    const plim__element *element;
    int rank;
    const int64_t *dims;
    uint64_t elements;
    uint64_t bytes; /* that the file keeps for it; 0 for a view of what another tensor already brought */
    bool repeated;  /* the very same data under another name: tied weights */
    bool placed;    /* PyTorch archives: its elements lie in the file, row-major, from byte `at` on */
    uint64_t at;
} plim__tensor_info;

/* Called for each tensor in file order; what it points at is gone after the call. */
typedef plim_status (*plim__tensor_visit)(void *context, const plim__tensor_info *info, plim_error *error);

#endif
