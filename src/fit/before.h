/* The allocator as it was when a record began: its segments, what was in use in them, and what was free. */
#ifndef PLIM_FIT_BEFORE_H
#define PLIM_FIT_BEFORE_H

#include "alloc/pool.h"
#include "fit/requests.h"

/* Into an empty pool of PyTorch's. *whole: every block that was held lies in a segment that is known, and overlaps none. */
plim_status plim__before_restore(const plim__requests *requests, plim_pool *pool, bool *whole, plim_error *error);

#endif
