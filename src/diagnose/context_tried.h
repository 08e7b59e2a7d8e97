/* Which levers somebody has pulled in vain, or has on already: they are not offered again. */
#ifndef PLIM_DIAGNOSE_CONTEXT_TRIED_H
#define PLIM_DIAGNOSE_CONTEXT_TRIED_H

#include "diagnose/context_words.h"
#include "diagnose/levers.h"

/* Words of levers, beside those of the context that are one (a batch size, 16 bits). */
typedef struct plim__tried_word {
    const char *text; /* white space left out, any case */
    plim__lever lever;
} plim__tried_word;
extern const plim__tried_word plim__tried_words[];
extern const size_t plim__tried_count;

/* The lever that a word of the context is of; PLIM_LEVER_COUNT for none. */
plim__lever plim__lever_of_word(const plim__word *word);

/* Takes note of a lever's word, if its sentence says that it was tried. `before` ends with the word. */
void plim__tried_read(plim__context *context, plim__tried_word word, plim__text before, plim__text after);

bool plim__was_tried(const plim__context *context, plim__lever lever);

#endif
