/* The words that tell what a program was doing and what was set, and how what stands around them is read. */
#ifndef PLIM_DIAGNOSE_CONTEXT_WORDS_H
#define PLIM_DIAGNOSE_CONTEXT_WORDS_H

#include "diagnose/context.h"

/* What stands around the word decides, for those that have a reader. */
typedef struct plim__word_place {
    plim__text before, after; /* `before` ends with the word, `after` begins behind it */
    plim__context_word means;
    const char *word;
} plim__word_place;
typedef void plim__word_reader(plim__context *context, plim__word_place at);

typedef struct plim__word {
    const char *text; /* white space left out, any case */
    plim__context_word means;
    plim__word_reader *read; /* NULL: the word alone is enough */
    bool decides;            /* the reader says whether it holds; else it only reads what the word brings */
} plim__word;

/* The tables: context_words.c, what is said to be set or tried (context_said.c), and words that mean another thing where
 * others stand (context_sense.c). */
extern const plim__word plim__words[], plim__said_words[], plim__sense_words[];
extern const size_t plim__word_count, plim__said_count, plim__sense_count;
enum { PLIM_WORDS = 1536 }; /* room for them, and for those of levers (context_tried.h) */

/* Steps over what may stand between a name and its value: quotes, colons, equal signs, "of", "is", "to". */
plim__text plim__value_of(plim__text t);

/* A reader: it holds where the word is a name of its own, not the end of another. */
void plim__read_name(plim__context *context, plim__word_place at);

void plim__context_set(plim__context *context, plim__context_word means);

#endif
