/* The dump that TensorFlow's (and XLA's) best-fit allocator writes into a log when it runs out of memory:
 *
 *   Next region of size 1073741824
 *   InUse at 7ff901200000 of size 14155776 by op conv1/kernel action_count 12 step 0 next 1
 *   Free  at 7ff901f80400 of size 28334848 next 3
 *
 * becomes one moment with segments, blocks and a life for each chunk in use. */
#ifndef PLIM_FORMAT_TF_DUMP_H
#define PLIM_FORMAT_TF_DUMP_H

#include "mem/timeline.h"

/* Fills an initialised timeline with the last dump in a log. PLIM_UNSUPPORTED when there is none. */
plim_status plim__tf_dump_read(const char *path, plim__timeline *timeline, plim_error *error);

#endif
