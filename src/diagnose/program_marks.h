/* The marks by which programs of the table are found in a text (programs.h), as the automaton of the context wants them. */
#ifndef PLIM_DIAGNOSE_PROGRAM_MARKS_H
#define PLIM_DIAGNOSE_PROGRAM_MARKS_H

#include "diagnose/context.h"

enum { PLIM_MARKS = 1792, PLIM_MARK_BYTES = 28 << 10 };

typedef struct plim__mark {
    uint16_t text; /* where it begins in `texts` */
    uint8_t program;
    bool named; /* a name, not something printed */
} plim__mark;

typedef struct plim__marks {
    size_t count, bytes;
    plim__mark items[PLIM_MARKS];
    char texts[PLIM_MARK_BYTES];
} plim__marks;

/* The marks of the table, each with a slash twice, for the paths of Windows; false when they do not fit. */
bool plim__marks_read(plim__marks *marks);

/* Takes note of the mark that `before` ends with, if it stands there as a word of its own. */
void plim__marks_found(const plim__marks *marks, size_t index, plim__program_set *found, plim__text before,
                       plim__text after);

#endif
