/* The one table of fixes. Adding a fix is adding a row; docs/causes.md is printed from it.
 *
 * `when` lists what must be so, in words that conditions.c knows; a word with ! in front must not be so. Within a cause
 * rows stand in the order to try. A setting may hold slots: {conf} the allocator's variable for the version at hand,
 * {at} the user's own line, {smi} the tool that lists who is on the device, {visible} the variable that chooses one, {card} another than the one that is taken, {device} PyTorch's name of it, {double} twice the limit that is set, {lower}
 * and {higher} a better share of the card, {room} most of the card, {tokens} the longest context that fits, {batch} why it is not the batch, {layers} fewer layers than are on the device. Titles may, too.
 */
#ifndef PLIM_DIAGNOSE_FIXES_H
#define PLIM_DIAGNOSE_FIXES_H

#include <stddef.h>

#include "diagnose/levers.h"
#include "plimsoll/diagnose.h"

/* How the saving is estimated. */
#define PLIM_SAVING_LIST(X)                                                                                            \
    X(UNKNOWN, "")                                                                                                     \
    X(CACHED, "what is reserved and not allocated")                                                                    \
    X(OTHERS, "what the other processes hold")                                                                         \
    X(HALF_REQUEST, "half of this request; other activations halve, too")                                              \
    X(HALF_TENSOR, "half of this tensor")                                                                              \
    X(HALF_LIVE, "up to half of what is live")                                                                         \
    X(REQUEST, "this request")                                                                                         \
    X(EXCESS, "what the request has beyond the capacity or limit")                                                     \
    X(ROOM, "free memory beyond the limit")                                                                            \
    X(SHARE, "what the larger share adds")                                                                             \
    X(HOLDER, "the largest holder of the dump")

typedef enum plim__saving {
#define PLIM_SAVING_ENUM(name, sentence) PLIM_SAVING_##name,
    PLIM_SAVING_LIST(PLIM_SAVING_ENUM)
#undef PLIM_SAVING_ENUM
} plim__saving;

typedef struct plim__fix_row {
    plim_cause cause;
    const char *frameworks; /* words, "*" for all */
    const char *when;
    plim__lever lever; /* what it turns; two fixes of a device turn two levers */
    plim__saving saving;
    int cost;                    /* as plim_fix has it */
    const char *title, *setting; /* NULL: the settings of the program at hand (programs.h) */
} plim__fix_row;

size_t plim__fix_row_count(void);
const plim__fix_row *plim__fix_row_at(size_t index);

/* The parts of the table for PLIM_CAUSE_FULL and for PLIM_CAUSE_HOST_MEMORY. */
extern const plim__fix_row plim__fix_full_rows[], plim__fix_host_rows[];
extern const size_t plim__fix_full_count, plim__fix_host_count;

#define ROW(cause, frameworks, when, lever, saving, cost, title, setting)                                              \
    { PLIM_CAUSE_##cause, frameworks, when, PLIM_LEVER_##lever, PLIM_SAVING_##saving, cost, title, setting }

/* Where the settings of the program at hand stand (programs.h). */
#define PROGRAM_ROW(cause, frameworks, when)                                                                           \
    { PLIM_CAUSE_##cause, frameworks, when, PLIM_LEVER_OWN, PLIM_SAVING_UNKNOWN, 0, NULL, NULL }

#endif
