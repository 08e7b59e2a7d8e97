/* Byte counts as people write them. */
#ifndef PLIMSOLL_BYTES_H
#define PLIMSOLL_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "plimsoll/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "700MiB", "12GB", "1.5 GiB", "4096", "64k": KiB is 1024 and KB is 1000, both mean what they say;
 * a bare K, M, G or T is a power of 1024. Refuses negative numbers and what does not fit. */
PLIM_API plim_status plim_bytes_parse(const char *text, uint64_t *bytes, plim_error *error);

/* "223.1 MiB" (one decimal, powers of 1024; whole bytes below 1 KiB). Returns `buffer`. */
#define PLIM_BYTES_TEXT 32
PLIM_API const char *plim_bytes_format(uint64_t bytes, char buffer[PLIM_BYTES_TEXT]);

/* "233,967,616". Returns `buffer`. */
PLIM_API const char *plim_bytes_group(uint64_t bytes, char buffer[PLIM_BYTES_TEXT]);

#ifdef __cplusplus
}
#endif
#endif
