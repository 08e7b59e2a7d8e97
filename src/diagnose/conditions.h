/* The words in which a fix says what must be so before it is offered. */
#ifndef PLIM_DIAGNOSE_CONDITIONS_H
#define PLIM_DIAGNOSE_CONDITIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "diagnose/reader.h"

typedef struct plim__case {
    const plim_explanation *x;
    plim__facts facts;
    const plim__context *context;
    int64_t tokens;    /* the longest context that fits; 0 when not told */
    const char *op;    /* the operator that asked; "" for none */
    plim_amount used;  /* by others in the same memory */
    plim__text log;    /* what was read around the failure */
    int card;          /* a card that a table in the log shows as empty; -1 for none */
    double parameters; /* of the model that is named; 0 for none */
} plim__case;

/* Whether all words of the list hold ("cached torch>=2.1 !windows"). */
bool plim__conditions_hold(const char *list, const plim__case *c);
/* The list for people: "memory is cached in pieces; PyTorch 2.1 or later; not Windows". */
void plim__conditions_print(const char *list, char *text, size_t size);
/* Whether every word of the list is known; for the test of the table. */
bool plim__conditions_known(const char *list);

#endif
