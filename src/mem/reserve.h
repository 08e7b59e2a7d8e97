/* A reserve for libraries that do not survive a failed allocation: oneDNN throws or writes to NULL, libgomp ends the process.
 *
 * Their calls of malloc, mmap, pthread_create and the like are led here (the entries of their import tables, the only place
 * where a library in somebody else's process can change what another library calls). A request that fails gives the reserve
 * back to the system and is tried again. Who runs them fills the reserve before and reports PLIM_NO_MEMORY where that is no
 * longer possible: memory then runs out between two calls, never inside one. */
#ifndef PLIM_MEM_RESERVE_H
#define PLIM_MEM_RESERVE_H

#include <stdbool.h>

#include "plimsoll/status.h"

/* Sets the reserve aside, again when it was spent. It is address space and takes no memory until it is needed. */
plim_status plim__reserve_fill(plim_error *error);
/* Whether a request has needed it since. */
bool plim__reserve_is_spent(void);

#endif
