/* The training step that a program is at, read from what it prints: "step 120", "iter: 7/500", "Epoch 2 [  64/1000]", a
 * tqdm bar. Only the tail of the output is kept, and looked at when someone asks: gigabytes of log cost nothing. */
#ifndef PLIM_DIAGNOSE_WATCH_STEPS_H
#define PLIM_DIAGNOSE_WATCH_STEPS_H

#include <stddef.h>
#include <stdint.h>

enum { PLIM_STEPS_TAIL = 1024 };

typedef struct plim__steps {
    char tail[PLIM_STEPS_TAIL];
    size_t length;
    int64_t before; /* steps of the epochs that are over: counters that fall back start a new one */
    int64_t last;   /* the counter as printed; -1 before the first */
    int kind;       /* which spelling is followed, so that two counters in one line are never mixed */
} plim__steps;

void plim__steps_start(plim__steps *steps);
void plim__steps_feed(plim__steps *steps, const char *data, size_t size);
/* The step counted over all epochs, or -1 when none was printed. */
int64_t plim__steps_now(plim__steps *steps);

#endif
