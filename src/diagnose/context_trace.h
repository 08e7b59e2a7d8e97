/* The traceback and the progress around a message: what the program was doing, and on which of the user's lines. */
#ifndef PLIM_DIAGNOSE_CONTEXT_TRACE_H
#define PLIM_DIAGNOSE_CONTEXT_TRACE_H

#include "diagnose/context.h"

/* Fills phase and place. */
void plim__traceback_read(plim__context *context, plim__text window, const char *at, const char *end);

#endif
