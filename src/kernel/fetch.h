/* The pieces of plim__device.fetch. */
#ifndef PLIM_KERNEL_FETCH_H
#define PLIM_KERNEL_FETCH_H

#include "program/program.h"

#define PLIM__FETCH_ROOM ((size_t)256 << 10) /* and the bytes of a piece */

extern const plim__pieces plim__fetch;

#endif
