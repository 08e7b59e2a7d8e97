/* Lowering one node: what the lower functions (plim__lower_<name>, one a family of operators) work with.
 *
 * A lower function asks for its inputs in a layout it can read, declares its outputs, and emits a step:
 *
 *     plim_status plim__lower_relu(plim__lower *l) {
 *         plim__layout x;
 *         PLIM_TRY(plim__lower_input(l, 0, PLIM__STRIDED, &x));
 *         PLIM_TRY(plim__lower_output(l, 0, NULL));           // dense row-major, shape and dtype from the graph
 *         plim__lower_inplace(l, 0, 0);
 *         struct relu *state = ...;                           // plim__alloc
 *         return plim__lower_emit(l, "Relu", run_relu, state, plim__free);
 *     }
 *
 * Inputs and outputs reach the kernel in call->in / call->out in the order of these calls. An input that is
 * not in the wanted layout is rearranged by a step of its own before. The lower functions belong to a device (device.h);
 * what is here knows neither operators nor kernels. */
#ifndef PLIM_PROGRAM_LOWER_H
#define PLIM_PROGRAM_LOWER_H

#include "program/layout.h"
#include "program/program.h"

typedef enum plim__want {
    PLIM__ANY,     /* whatever it is, blocked too */
    PLIM__STRIDED, /* not blocked; strides may be anything (a transposed or sliced view) */
    PLIM__DENSE,   /* row-major without holes */
} plim__want;

typedef struct plim__lower plim__lower;

/* --- the node -------------------------------------------------------------------------------------------- */

const plim_graph *plim__lower_graph(const plim__lower *l);
const plim__node *plim__lower_node(const plim__lower *l);
plim_error *plim__lower_error(const plim__lower *l);
int plim__lower_threads(const plim__lower *l);
bool plim__lower_winograd(const plim__lower *l); /* of the target */
/* The type of the numbers that the node multiplies: PLIM_F32, or another one where its row and the target allow that. */
plim_dtype plim__lower_factors(const plim__lower *l);
plim__engine *plim__lower_engine(const plim__lower *l);
plim__engine *plim__lower_like(const plim__lower *l); /* that of the program which this one is like; NULL: none */
bool plim__lower_has_input(const plim__lower *l, size_t i);
bool plim__lower_has_output(const plim__lower *l, size_t i);
/* Type of an input or output, from the graph. */
const plim__shape *plim__lower_input_shape(const plim__lower *l, size_t i);
plim_dtype plim__lower_input_dtype(const plim__lower *l, size_t i);
const plim__shape *plim__lower_output_shape(const plim__lower *l, size_t i);
plim_dtype plim__lower_output_dtype(const plim__lower *l, size_t i);
/* Data of input i when it is constant (loaded into memory); NULL otherwise. */
plim__tensor *plim__lower_constant(plim__lower *l, size_t i);
/* The layout that input i has now, without asking for it. */
const plim__layout *plim__lower_peek(const plim__lower *l, size_t i);
/* The arrangement of node input i, a parameter or state that has its place. */
const plim__arrangement *plim__lower_arrangement(const plim__lower *l, size_t i);
/* "node 'x' (Op): ..." */
plim_status plim__lower_fail(plim__lower *l, plim_status status, const char *format, ...) PLIM_PRINTF(3, 4);
#ifdef __clang_analyzer__ /* core/error.h */
#include "core/error.h"
#define plim__lower_fail(l, status, ...) plim__failed(plim__lower_fail(l, status, __VA_ARGS__), status)
#endif
/* For operators and types that have no kernel: "unsupported: operator Op with float16 ...". */
plim_status plim__lower_unsupported(plim__lower *l, const char *why);

/* --- operands of the step to come ----------------------------------------------------------------------------- */

/* Node input i becomes the next in operand; *layout (may be NULL) is what it really is. An absent optional
 * input becomes a NULL operand. */
plim_status plim__lower_input(plim__lower *l, size_t i, plim__want want, plim__layout *layout);
/* The same in exactly this arrangement, which may be of another type than a float32 input: of 16 bits. */
plim_status plim__lower_input_as(plim__lower *l, size_t i, const plim__arrangement *want);
/* Float32 input i in a type of 16 bits: lying as it does somewhere where `readable` takes that (the layout is the float32 one's),
 * else dense row-major. A step that all readers share converts it, element for element as it lies. */
plim_status plim__lower_input_narrow(plim__lower *l, size_t i, plim_dtype dtype, bool (*readable)(const plim__layout *),
                                     plim__layout *layout);
/* Output 0, flat, is what float32 input i is converted to for all its readers; `done` is false, and nothing has happened, where
 * the input is only a part of what would be converted. */
plim_status plim__lower_output_narrow(plim__lower *l, size_t i, bool *done);
/* Node input i in exactly the arrangement of node input j, a weight: for updates, which go over whole buffers. */
plim_status plim__lower_input_like(plim__lower *l, size_t i, size_t j);
/* Node input i, a parameter or state, becomes the next out operand: the step reads and changes it where it is. If it
 * has no place yet, it is arranged like node input `like`, or dense row-major when that is -1. */
plim_status plim__lower_written(plim__lower *l, size_t i, int like);
/* Bytes of a parameter or state, padding included. */
size_t plim__lower_persistent_bytes(const plim__lower *l, size_t i);
/* Node output i becomes the next out operand; layout NULL is dense row-major. An absent optional output
 * becomes a NULL operand. */
plim_status plim__lower_output(plim__lower *l, size_t i, const plim__layout *layout);
/* Output 0 is node input i seen through another layout, `offset` bytes into it: no step, no memory. */
plim_status plim__lower_view(plim__lower *l, size_t i, const plim__layout *layout, int64_t offset);
/* The same for any output. When plim__lower_input was called before, the view is of that operand. */
plim_status plim__lower_view_output(plim__lower *l, size_t output, size_t input, const plim__layout *layout,
                                    int64_t offset);
/* Scratch memory for the step, 64-byte aligned. */
plim_status plim__lower_scratch(plim__lower *l, size_t bytes);
/* The k-th out operand may be written over the j-th in operand (same bytes), where the row allows it. */
void plim__lower_inplace(plim__lower *l, int in_operand, int out_operand);
/* The last out operand may lie in a file: the step is done in such pieces then, each in room_bytes of memory. */
void plim__lower_may_spill(plim__lower *l, const plim__pieces *pieces, size_t room_bytes);
/* The step computes such a product: its memory is counted, see product.h. */
plim_status plim__lower_product(plim__lower *l, plim__product product);
/* Ends the step. Takes `state`, also on failure; release (may be NULL) frees it. */
plim_status plim__lower_emit(plim__lower *l, const char *label, plim__kernel run, void *state, void (*release)(void *));

/* What a step takes of its own, beside its buffers and a state of a few numbers: bytes of the process, to be asked for before
 * they are taken. PLIM_BUDGET, or PLIM_NO_MEMORY without a room, where that is more than a program may take; PLIM_UNSUPPORTED
 * where it is more than any step may. */
plim_status plim__lower_own(plim__lower *l, size_t bytes);
/* Code that the device makes for a step, and shares between steps of a program with the same `code`; and pages of its library
 * that such code touches, which all programs share. */
plim_status plim__lower_code(plim__lower *l, uint64_t code, size_t bytes, size_t library_bytes);
/* Pages of the library that become resident when a step first runs this part of it: each part counts once. */
plim_status plim__lower_library_part(plim__lower *l, uint64_t part, size_t bytes);

#endif
