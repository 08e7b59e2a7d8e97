/* When it happened, as people say it: "when I am passing test images", "after the 21st epoch". */
#ifndef PLIM_DIAGNOSE_CONTEXT_WHEN_H
#define PLIM_DIAGNOSE_CONTEXT_WHEN_H

#include "diagnose/context.h"

/* Reads the sentences of the window; lines of a traceback are none. */
void plim__when_read(plim__context *context, plim__text window);

#endif
