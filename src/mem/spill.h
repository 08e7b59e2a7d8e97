/* A file that takes what memory has no room for: a place on disk without a name, which ends with the process. Its space
 * is reserved when it is made, so that a full disk is met before the first step. */
#ifndef PLIM_MEM_SPILL_H
#define PLIM_MEM_SPILL_H

#include <stddef.h>
#include <stdint.h>

#include "plimsoll/status.h"

typedef struct plim__spill plim__spill;

#define PLIM__SPILL_PAGE ((size_t)4096) /* what transfers around the cache are made of */

/* Where such files go unless the caller names a folder: $TMPDIR, else /var/tmp. */
const char *plim__spill_default_folder(void);
/* Whether a folder can take such a file: one that can be written and that is not memory itself (tmpfs). *room (may be
 * NULL) is how much there is. */
plim_status plim__spill_check(const char *folder, uint64_t *room, plim_error *error);

/* All of it reads as zeros. */
plim_status plim__spill_create(const char *folder, uint64_t bytes, plim__spill **spill, plim_error *error);
void plim__spill_free(plim__spill *spill);
/* From now on around the kernel's cache (O_DIRECT), where the file system does that: for a file that the cache has no room for,
 * which would only throw out pages while others wait for them. Before anything else is done with it. */
void plim__spill_go_around_cache(plim__spill *spill);
/* Any thread may call these, for places that do not overlap. */
plim_status plim__spill_read(const plim__spill *spill, void *data, size_t bytes, int64_t at, plim_error *error);
plim_status plim__spill_write(const plim__spill *spill, const void *data, size_t bytes, int64_t at, plim_error *error);

/* The same for what begins at a page of the file that nothing else shares, up to the end of its last page: `data` is aligned to
 * PLIM__SPILL_PAGE, and as large in whole pages. These, and only these, may go around the cache. */
plim_status plim__spill_read_pages(const plim__spill *spill, void *data, size_t bytes, int64_t at, plim_error *error);
plim_status plim__spill_write_pages(const plim__spill *spill, const void *data, size_t bytes, int64_t at,
                                    plim_error *error);
/* Such pages to anywhere, by way of `room` where they go around the cache. */
plim_status plim__spill_read_by(const plim__spill *spill, void *data, size_t bytes, int64_t at, void *room,
                                plim_error *error);

/* Bytes a second, reading and writing alike, of a file in this folder. */
plim_status plim__spill_rate(const char *folder, double *rate, plim_error *error);

#endif
