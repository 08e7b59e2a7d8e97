/* Places in a program that name their own cure: a call, a file or a function in the traceback, a line of code.
 *
 * What stands here is about the very thing that asked for the memory, so it comes before what holds for all programs in that
 * situation. Adding a place is adding a row; docs/causes.md is printed from it.
 */
#ifndef PLIM_DIAGNOSE_SPOTS_H
#define PLIM_DIAGNOSE_SPOTS_H

#include <stddef.h>

#include "diagnose/context.h"
#include "diagnose/levers.h"

enum { PLIM_SPOT_MARKS = 8, PLIM_SPOT_ADVICE = 2, PLIM_SPOTS = 64 };

typedef struct plim__spot {
    const char *name;
    const char *marks[PLIM_SPOT_MARKS]; /* white space left out, any case; NULL behind the last */
    const char *when;                   /* in the words of conditions.h */
    struct {
        plim__lever lever;
        const char *title, *setting; /* with the slots of fixes.h; NULL for none */
    } advice[PLIM_SPOT_ADVICE];
} plim__spot;

extern const plim__spot plim__spots[];
extern const size_t plim__spot_count;

/* Every mark of every row, one after the other: how many there are, and the n-th with the row that it is of. */
size_t plim__spot_mark_count(void);
const char *plim__spot_mark(size_t n, size_t *spot);

/* Takes note of a mark; what `after` says may speak against it ("losses.append(loss" and then ".item()"). */
void plim__spot_read(plim__context *context, size_t mark, plim__text after);

/* The row of that name was met. */
bool plim__at_spot(const plim__context *context, const char *name);

#endif
