/* Starts a command between us and our streams: what it writes is passed on byte for byte, and shown to a tap on the
 * way.
 *
 *   our stdin ──────────────────────────→ command        inherited, unless it is the terminal that follows:
 *   our stdin ──→ input thread ──→ pty ──→ command        a terminal stays a terminal: its own pseudo-terminal, in a
 *   our stdout ←── pump ←── pty or pipe ←── command       session of its own, with our window size; ours is raw
 * meanwhile our stderr ←── pump ←── pty or pipe ←── command       one channel for both when both are the same file, so
 * that their order stays
 *
 * Signals that we get are passed on; job control works. */
#ifndef PLIM_DIAGNOSE_WATCH_LAUNCH_H
#define PLIM_DIAGNOSE_WATCH_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "plimsoll/status.h"

/* What to do with the bytes that pass. `stream` is 1 or 2; one call at a time. Called with the output lock held, right
 * before the bytes are written. */
typedef void plim__launch_tap(void *context, int stream, const char *data, size_t size);

typedef struct plim__launch plim__launch;

/* To be called before any file is opened: a closed standard stream stays closed for the command, but its number must
 * not go to a file of ours. */
void plim__launch_prepare(void);

/* argv ends with NULL. On failure to execute the status is PLIM_NOT_FOUND (a shell would leave with 127) or another
 * (126). */
plim_status plim__launch_start(plim__launch **launch, char *const *argv, plim__launch_tap *tap, void *context,
                               plim_error *error);
pid_t plim__launch_pid(const plim__launch *launch);

typedef enum plim__launch_event {
    PLIM_LAUNCH_DONE,    /* the command ended */
    PLIM_LAUNCH_TICK,    /* the time is over */
    PLIM_LAUNCH_REQUEST, /* SIGUSR1: show the meter */
} plim__launch_event;

/* Waits, passing signals on. */
plim__launch_event plim__launch_wait(plim__launch *launch, double seconds);

/* Passes on what is still on its way, and gives the terminal back. What background processes of the command still write
 * goes on being passed by a process that stays behind. */
void plim__launch_finish(plim__launch *launch);
/* After PLIM_LAUNCH_DONE: as waitpid tells, and what the kernel counted. */
int plim__launch_status(const plim__launch *launch, struct rusage *usage);
void plim__launch_free(plim__launch *launch); /* NULL is fine */

/* Writes to a stream between the command's own bytes; false (and nothing written) while the stream is held up. */
bool plim__launch_write(plim__launch *launch, int stream, const char *data, size_t size);

#endif
