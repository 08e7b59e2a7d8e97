/* The kernel of plim__device.fetch. */
#ifndef PLIM_KERNEL_FETCH_H
#define PLIM_KERNEL_FETCH_H

#include "program/program.h"

plim_status plim__fetch(const plim__call *call);

#endif
