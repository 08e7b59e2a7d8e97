/* Threads that carry bytes between a file and memory while the calling thread computes.
 *
 *   caller    send(a) send(b)  computes …  wait(a)  computes …  wait(b)
 *   thread      a a a b a b b …               whatever is due first, a piece at a time
 *
 * An errand is work in pieces that may be done in any order, by any thread. Who waits for one does pieces of it too: with no
 * thread at all, because the system gave none, all is done, only later. Nothing here allocates once the carrier is made.
 * Each thread works in a room of its own; the threads hold all signals, and sleep while there is nothing to do. */
#ifndef PLIM_MEM_CARRIER_H
#define PLIM_MEM_CARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plimsoll/status.h"

typedef struct plim__carrier plim__carrier;

typedef struct plim__errand {
    /* Does one piece, in `room`, memory of the thread that calls. */
    plim_status (*piece)(const struct plim__errand *errand, size_t piece, void *room, plim_error *error);
    size_t pieces;
    int32_t due; /* those with the least come first */
    /* the carrier's */
    size_t taken, ended;
    plim_status status; /* of the first piece that failed */
    struct plim__errand *next;
} plim__errand;

/* What has been done since it was made. */
typedef struct plim__carrier_counts {
    uint64_t errands;  /* sent */
    uint64_t finished; /* of them, those that were done when they were waited for */
    uint64_t pieces;   /* by the threads */
} plim__carrier_counts;

/* How many rooms a carrier for programs of this many threads has: one is the caller's. */
int plim__carrier_rooms(int threads);
plim_status plim__carrier_create(int rooms, plim__carrier **carrier, plim_error *error);
/* What was sent is ended first; in a child that was forked meanwhile, where there are no threads, it is only freed. */
void plim__carrier_free(plim__carrier *carrier);
/* Whether this process is a child of the one that made it, which has neither its threads nor a file of its own. */
bool plim__carrier_is_forked(const plim__carrier *carrier);

/* Where the rooms are, one behind the other; while nothing is under way. */
void plim__carrier_settle_in(plim__carrier *carrier, void *rooms, size_t room_bytes);
/* The errand stays where it is until it was waited for or dropped. One at a time is the caller's thread. */
void plim__carrier_send(plim__carrier *carrier, plim__errand *errand);
/* Until all pieces of it have ended; its status. */
plim_status plim__carrier_wait(plim__carrier *carrier, plim__errand *errand, plim_error *error);
/* Pieces that no thread has begun are left out, the others are waited for: nothing is under way then. Nothing in a child. */
void plim__carrier_drop(plim__carrier *carrier);
plim__carrier_counts plim__carrier_count(plim__carrier *carrier);

#endif
