/* An article, documentation or the description of a change, rather than a log or somebody's report? Such texts quote messages that
 * no program printed there. Points are counted: phrases that they have and logs do not, readers who are addressed, lists of advice. */
#ifndef PLIM_DIAGNOSE_ARTICLE_H
#define PLIM_DIAGNOSE_ARTICLE_H

#include <stdbool.h>
#include <stddef.h>

#include "diagnose/text.h"

typedef struct plim__phrase {
    const char *text; /* white space left out, any case */
    int points;       /* 1: also in what people write to each other; 2: rare there; 4: hardly ever */
} plim__phrase;

enum { PLIM_PHRASES = 256 };
extern const plim__phrase plim__phrases[];
size_t plim__phrase_count(void);

/* A question is somebody's plea, whatever its words. */
bool plim__asks(plim__text after);

/* Points for the reader's being addressed and for lists of advice. */
int plim__advice_points(plim__text window);

#endif
