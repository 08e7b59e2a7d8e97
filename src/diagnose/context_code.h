/* What the code that somebody posts does, or leaves out. */
#ifndef PLIM_DIAGNOSE_CONTEXT_CODE_H
#define PLIM_DIAGNOSE_CONTEXT_CODE_H

#include "diagnose/context.h"

void plim__code_read(plim__context *context, plim__text window);

#endif
