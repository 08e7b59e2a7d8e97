/* Small files of the kernel (/proc, /sys): read whole without the heap, so that sampling never allocates. */
#ifndef PLIM_MEM_PROCFS_H
#define PLIM_MEM_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "plimsoll/machine.h" /* PLIM_NO_LIMIT: also for a figure that is not known */

/* Reads up to size - 1 bytes and ends them with a zero. The bytes read, or -1. `format` makes the path. */
ssize_t plim__procfs_read(char *buffer, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The number in a file that holds just one; "max" and the v1 figures for "none" are PLIM_NO_LIMIT. False when it can't
 * be read or is no number. */
bool plim__procfs_number(uint64_t *value, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The number after a key at the start of a line: "oom_kill 3", "MemTotal:  24682416 kB" (a unit kB multiplies). False
 * when the key is absent. `key` is compared whole, up to a blank or colon. */
bool plim__procfs_field(const char *text, const char *key, uint64_t *value);

#endif
