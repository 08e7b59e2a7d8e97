/* Threads that pass bytes on: from the command to our streams, and from our terminal to the command's. */
#ifndef PLIM_DIAGNOSE_WATCH_PUMP_H
#define PLIM_DIAGNOSE_WATCH_PUMP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "plimsoll/status.h"

typedef struct plim__pump {
    int from, to;              /* `from` is closed and -1 once it ended, or `to` can't be written any more */
    int wake;                  /* an eventfd: pass on what is there, then stop */
    pthread_mutex_t lock;      /* held while the tap is called and the bytes are written */
    pthread_mutex_t *tap_lock; /* the tap is called by one pump at a time */
    void (*tap)(void *context, int stream, const char *data, size_t size);
    void *context;
    pthread_t thread;
    bool running;
} plim__pump;

plim_status plim__pump_start(plim__pump *pump, plim_error *error);
/* Passes on what is there and ends the thread. `from` stays open when someone may still write to it. */
void plim__pump_stop(plim__pump *pump);
/* Passes on all that still comes from the pumps that are open, without threads and taps, until they end. */
void plim__pump_rest(plim__pump *pumps, size_t count);

typedef struct plim__pump_input {
    int from, terminal; /* our terminal, the command's */
    pid_t leader;       /* the command */
    int wake;
    void (*suspend)(void *context); /* Ctrl-Z was pressed, and the command has no shell of its own that would take it */
    void *context;
    pthread_t thread;
    bool running;
} plim__pump_input;

plim_status plim__pump_input_start(plim__pump_input *input, plim_error *error);
void plim__pump_input_stop(plim__pump_input *input);

bool plim__pump_write_all(int fd, const char *data, size_t size);

#endif
