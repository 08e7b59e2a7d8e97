/* What this process holds: resident bytes now and at their highest. */
#ifndef PLIM_MEM_RESIDENT_H
#define PLIM_MEM_RESIDENT_H

#include <stdint.h>

/* VmRSS and VmHWM of /proc/self/status; 0 when they cannot be read. Unlike getrusage's maximum, VmHWM
 * starts again when a program is started. */
uint64_t plim__resident_now(void);
uint64_t plim__resident_peak(void);
/* About what is resident now in addition to `own` bytes of its own memory, and mostly a little more: a number that is the same for
 * each run that does the same, also where bytes differ. */
uint64_t plim__resident_coarse(uint64_t own);

#endif
