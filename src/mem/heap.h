/* The C library's heap. Its settings are those of the whole process. */
#ifndef PLIM_MEM_HEAP_H
#define PLIM_MEM_HEAP_H

/* A heap that keeps what was freed grows by what differs from run to run: blocks of 64 KiB and more become mappings
 * of their own, which end when they are freed, threads share one heap, and the kernel makes no huge pages of it. */
void plim__heap_prepare(void);
/* Gives back whatever is free now. */
void plim__heap_trim(void);

/* Takes holes out of use in which large blocks would find room: what is put there stays resident after it is freed, where
 * a block of its own would not. Holes that were trimmed take next to nothing meanwhile. To be filled in again; NULL: there
 * are none. */
typedef struct plim__heap_plug plim__heap_plug;
plim__heap_plug *plim__heap_plug_holes(void);
void plim__heap_unplug(plim__heap_plug *plugs);

#endif
