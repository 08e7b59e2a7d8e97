/* Monotonic time. */
#ifndef PLIM_CORE_CLOCK_H
#define PLIM_CORE_CLOCK_H

/* Seconds since an arbitrary start; never goes back. */
double plim__clock_seconds(void);

#endif
