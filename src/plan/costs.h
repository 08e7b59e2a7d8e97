/* What a step costs on this machine: rates of each kind of step, measured once (src/run/measure.h), and the seconds that
 * follow from them:
 *
 *     seconds = step + operations / flops + bytes moved / bytes
 *
 * Each part grows with the size of the step, so that halves of a batch never look cheaper than the whole. */
#ifndef PLIM_PLAN_COSTS_H
#define PLIM_PLAN_COSTS_H

#include "program/program.h"

#define PLIM__MOST_RATES 96
#define PLIM__RATE_LABEL 32

typedef struct plim__rate {
    char label[PLIM__RATE_LABEL]; /* of the step */
    double flops, bytes;          /* a second; 0: the time does not depend on them */
} plim__rate;

typedef struct plim__costs {
    plim__rate rates[PLIM__MOST_RATES];
    size_t count;
    double flops, bytes; /* a second, of steps that are not listed */
    double step;         /* seconds that every step takes in addition */
    double disk;         /* bytes a second of a file that state is spilled to, read or written */
    double others;       /* the share of the processors that other programs had while this was measured */
} plim__costs;

/* From here on others disturb what is measured. */
#define PLIM__BUSY 0.2

/* One step that was timed. */
typedef struct plim__timed {
    char label[PLIM__RATE_LABEL]; /* a copy: the program it is of may go before the rates are drawn up */
    double seconds, flops, bytes;
} plim__timed;

#define PLIM__DEFAULT_DISK 500e6
/* Rates of a machine that was not measured: good for comparing plans, not for promising times. */
plim__costs plim__costs_default(int threads);
/* The rates that explain these times best; disk is left as it is. */
void plim__costs_fit(plim__costs *costs, const plim__timed *timed, size_t count);
double plim__costs_seconds(const plim__costs *costs, const plim__step *step);
/* Seconds of each step of a program (plim__free it); NULL when memory is short. */
double *plim__costs_of(const plim__costs *costs, const plim__program *program);
/* As text for a file, and back; the text is plim__free'd by the caller. False when it is of another form. */
char *plim__costs_write(const plim__costs *costs);
bool plim__costs_read(plim__costs *costs, const char *text);

#endif
