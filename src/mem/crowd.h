/* Threads that do nothing but give way, so that the processors that they are on look as full as they are. Threads of a team
 * sleep at barriers; a scheduler that counts who is ready sees a processor of theirs with one or none for a moment, moves
 * somebody else's program to it, and takes seconds to move it away again. A thread that is always ready and always gives
 * way costs next to nothing where giving way means waiting for one's next turn (Linux 6.6 and later); where it does not, it
 * notices and sleeps. */
#ifndef PLIM_MEM_CROWD_H
#define PLIM_MEM_CROWD_H

#include <sched.h>

typedef struct plim__crowd plim__crowd;

/* Asleep. NULL: the system does not give the threads; all functions take that as a crowd of none. */
plim__crowd *plim__crowd_create(int count);
/* One on each of these processors, as far as they go; NULL: back to sleep. Allocates nothing. */
void plim__crowd_place(plim__crowd *crowd, const cpu_set_t *processors);
void plim__crowd_free(plim__crowd *crowd);

#endif
