/* oneDNN for lower functions: its layouts, its primitives as steps. */
#ifndef PLIM_KERNEL_ONEDNN_H
#define PLIM_KERNEL_ONEDNN_H

#include <oneapi/dnnl/dnnl.h>

#include "kernel/facts.h"
#include "program/lower.h"

struct plim__engine {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    int threads;
    plim__facts facts; /* of the program's graph */
};

static inline dnnl_engine_t plim__lower_dnnl_engine(const plim__lower *l) { return plim__lower_engine(l)->engine; }

/* --- layouts -------------------------------------------------------------------------------------------------- */

_Static_assert(sizeof(dnnl_memory_desc_t) <= sizeof(plim__native), "a memory descriptor fits a native layout");
static inline const dnnl_memory_desc_t *plim__native_md(const plim__native *native) {
    return (const dnnl_memory_desc_t *)(const void *)native->bytes;
}
/* Of a blocked layout. */
static inline const dnnl_memory_desc_t *plim__md(const plim__layout *layout) {
    return plim__native_md(&layout->native);
}
/* oneDNN's description of any layout; false for types it does not know (int64, bool, float64). Rank 0 becomes {1}. */
bool plim__layout_md(const plim__layout *layout, dnnl_memory_desc_t *md);
plim__layout plim__layout_from_md(const dnnl_memory_desc_t *md, plim_dtype dtype, const plim__shape *shape);
/* Blocked, and without padding: memory holds the elements and nothing else. */
bool plim__layout_is_exact(const plim__layout *layout);
/* Blocked or with any strides, but every byte of it is an element or zero: whole buffers can be worked on. */
bool plim__layout_is_whole(const plim__layout *layout);
/* How steps that save a tensor in another form, and those that read that form, go over node input i, so that they agree on
 * the order: as it lies there where its memory is whole, else dense row-major. */
plim__layout plim__lower_saved_layout(const plim__lower *l, size_t i);

/* As plim__lower_input and _output, in exactly this layout of oneDNN's. */
plim_status plim__lower_input_md(plim__lower *l, size_t i, const dnnl_memory_desc_t *md);
plim_status plim__lower_output_md(plim__lower *l, size_t i, const dnnl_memory_desc_t *md);
/* The same for weights whose dense memory oneDNN sees with other axes (groups, transposed): `seen` describes
 * that memory, `md` is the layout wanted. */
plim_status plim__lower_input_seen(plim__lower *l, size_t i, const dnnl_memory_desc_t *seen,
                                   const dnnl_memory_desc_t *md);

/* --- primitives ----------------------------------------------------------------------------------------------- */

/* Turns a oneDNN status into ours. */
plim_status plim__lower_dnnl(plim__lower *l, dnnl_status_t status, const char *what);
/* Attributes with the scratchpad in user mode; destroy with dnnl_primitive_attr_destroy. */
plim_status plim__lower_attr(plim__lower *l, dnnl_primitive_attr_t *attr);
/* One argument of a primitive: DNNL_ARG_x, its memory descriptor, and which operand of the step it is:
 * k >= 0 is in operand k, PLIM__OUT(k) is out operand k. */
typedef struct plim__argument {
    int id;
    dnnl_memory_desc_t md;
    int operand;
} plim__argument;
#define PLIM__OUT(k) (-1 - (k))
/* Emits a step that executes the primitive (scratchpad included). Destroys pd, also on failure. */
plim_status plim__lower_primitive(plim__lower *l, const char *label, dnnl_primitive_desc_t pd,
                                  const plim__argument *arguments, int count);
/* The same for a primitive that adds to what out operand 0 holds already (a sum post-op): in operand `addend` is what it
 * adds to. Where the two do not share memory it is copied first. */
plim_status plim__lower_primitive_onto(plim__lower *l, const char *label, dnnl_primitive_desc_t pd,
                                       const plim__argument *arguments, int count, int addend);
/* What "brgconv" keeps for each column of the output, as seen with rows of 56 to 4096. */
#define PLIM__COLUMN_BYTES 1152
/* Counts what oneDNN writes for each column of a pool's window: code. `unrolled` is false where that is too much, as for the mean
 * of a long signal: only the kernels for dense layouts do without. */
plim_status plim__lower_pool_columns(plim__lower *l, int64_t columns, bool *unrolled);
/* A kernel that executes the primitive, for steps that do more. Destroys pd. */
plim_status plim__primitive_create(plim__lower *l, dnnl_primitive_desc_t pd, const plim__argument *arguments, int count,
                                   plim__rearrangement *made);

/* --- functions of the device (program/device.h) that are oneDNN's ----------------------------------------------- */

plim_status plim__reorder_create(plim__lower *l, const plim__arrangement *from, const plim__arrangement *to,
                                 plim__rearrangement *made);
bool plim__reorder_is_direct(const plim__arrangement *from, const plim__arrangement *to);
bool plim__reorder_same_axes(const plim__arrangement *a, const plim__arrangement *b);

#endif
