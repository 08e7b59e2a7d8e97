/* The C library's heap. Its settings are those of the whole process. */
#ifndef PLIM_MEM_HEAP_H
#define PLIM_MEM_HEAP_H

/* A heap that keeps what was freed grows by what differs from run to run: blocks of some 10 KiB and more become mappings
 * of their own, which end when they are freed, and threads share one heap. */
void plim__heap_prepare(void);
/* Gives back whatever is free now. */
void plim__heap_trim(void);

#endif
