/* The version of the library. */
#include "plimsoll/version.h"

const char *plim_version(void) { return PLIM_VERSION_STRING; }
