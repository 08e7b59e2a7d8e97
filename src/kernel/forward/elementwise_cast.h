/* Conversions between numeric types, as loops. */
#ifndef PLIM_KERNEL_FORWARD_ELEMENTWISE_CAST_H
#define PLIM_KERNEL_FORWARD_ELEMENTWISE_CAST_H

#include "kernel/elementwise.h"

/* NULL when one of them is not a numeric type of whole bytes. */
plim__loop_body plim__cast_body(plim_dtype from, plim_dtype to);
/* One number, in a type that plim__cast_body knows. */
void plim__cast_scalar(double value, plim_dtype to, void *out);

#endif
