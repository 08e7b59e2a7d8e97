/* What an exporter wrote beside the graph: which values are parameters, what each node was before the exporter rewrote
 * it. It is read with the graph, used once (graph/passes/export/restore.h) and released. */
#ifndef PLIM_GRAPH_EXPORT_PROVENANCE_H
#define PLIM_GRAPH_EXPORT_PROVENANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/map.h"
#include "core/vec.h"
#include "plimsoll/status.h"

/* Keys of PyTorch's exporter. */
#define PLIM__KEY_SIGNATURE "pkg.torch.export.ExportedProgram.graph_signature" /* of the graph */
#define PLIM__KEY_KIND      "pkg.torch.export.graph_signature.InputSpec.kind"  /* of a value */
#define PLIM__KEY_FOLDED    "pkg.onnxscript.optimizer.folded_from"             /* of a value */
#define PLIM__KEY_CALL      "pkg.torch.onnx.fx_node"                           /* of a node */
#define PLIM__KEY_RULES     "pkg.onnxscript.rewriter.rule_name"                /* of a node */
#define PLIM__KEY_TRACE     "pkg.torch.onnx.stack_trace"                       /* of a node */

/* A node and the call that it was made from; texts may be NULL. */
typedef struct plim__node_origin {
    int32_t node;
    char *call;  /* "%linear : [...] = call_function[target=torch.ops.aten.linear.default](args = (%x, %p_w), ..." */
    char *rules; /* "RemoveOptionalBiasFromGemm, ..." */
    bool traced; /* there is a stack trace */
    bool
        apart; /* ... which begins in code that the exporter made of a part of the module: torch.no_grad() or autocast */
} plim__node_origin;

/* A named value; texts may be NULL. */
typedef struct plim__value_origin {
    char *name;
    char *kind;   /* "PARAMETER", "BUFFER", ... */
    char *folded; /* "['fc.weight', 'val_3']": what it was computed from */
} plim__value_origin;

typedef struct plim__provenance {
    char *signature;                   /* NULL for none */
    PLIM_VEC(plim__node_origin) nodes; /* those that read weights or detach */
    PLIM_VEC(int32_t) apart;           /* nodes of which that is true */
    bool mixed;                        /* ... and there are others */
    PLIM_VEC(plim__value_origin) values;
} plim__provenance;

void plim__provenance_free(plim__provenance *provenance);
/* Takes the texts, also when it fails. */
plim_status plim__provenance_add_node(plim__provenance *provenance, plim__node_origin origin, plim_error *error);
void plim__node_origin_free(plim__node_origin *origin);

/* --- the signature ------------------------------------------------------------------------------------------------ */

typedef enum plim__listed_kind {
    PLIM__LISTED_PARAMETER,
    PLIM__LISTED_BUFFER,
    PLIM__LISTED_OTHER, /* constants that the exporter lifted */
} plim__listed_kind;

/* One line:  p_fc_weight: PARAMETER target='fc.weight' */
typedef struct plim__listed {
    char *placeholder; /* its name in calls, without % */
    char *target;      /* its name in the module, and in the file */
    plim__listed_kind kind;
} plim__listed;

/* One line of the outputs:  div_1: BUFFER_MUTATION target='norm.u' */
typedef struct plim__moved {
    char *value;  /* what the buffer becomes after a step */
    char *target; /* the buffer */
    bool followed;
} plim__moved;

typedef struct plim__signature {
    PLIM_VEC(plim__listed) items;
    PLIM_VEC(plim__moved) moved;
    plim__map placeholders, targets; /* to indices */
} plim__signature;

/* What is not understood is left out. PLIM_NO_MEMORY is the only failure. plim__signature_free it, also then. */
plim_status plim__signature_read(const char *text, plim__signature *signature, plim_error *error);
void plim__signature_free(plim__signature *signature);

/* --- calls -------------------------------------------------------------------------------------------------------- */

enum { PLIM__CALL_ARGUMENTS = 16 };

/* The call of a node, as parts of its text. */
typedef struct plim__call {
    const char *target; /* "aten.linear.default](..." : compare with plim__call_is */
    size_t target_length;
    const char *arguments[PLIM__CALL_ARGUMENTS]; /* positional ones */
    size_t lengths[PLIM__CALL_ARGUMENTS];
    size_t count;
} plim__call;

/* False for a text that is no call. */
bool plim__call_read(const char *text, plim__call *call);
/* Whether it calls this function of ATen, in any overload: plim__call_is(&call, "linear"). */
bool plim__call_is(const plim__call *call, const char *name);
/* The placeholder that argument i is, copied to name[size]; false when it is none. */
bool plim__call_argument(const plim__call *call, size_t i, char *name, size_t size);
/* The i-th argument that is a number; false when there are fewer. */
bool plim__call_number(const plim__call *call, size_t i, double *number);

#endif
