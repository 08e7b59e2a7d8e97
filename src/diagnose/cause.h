/* From the incident that counts to the answer: fields, cause, evidence, confidence, fixes. */
#ifndef PLIM_DIAGNOSE_CAUSE_H
#define PLIM_DIAGNOSE_CAUSE_H

#include "diagnose/reader.h"
#include "plimsoll/diagnose.h"

void plim__conclude(plim__reader *reader, plim_explanation *explanation);

/* What several parts calculate with. */
uint64_t plim__cached(const plim_explanation *explanation); /* reserved - allocated; 0 when not told */
/* What other processes hold: listed, or capacity - free - own; false when the numbers do not tell. */
bool plim__others(const plim_explanation *explanation, uint64_t *bytes);

/* Hardly anything is left beside what is live: holes that are closed do not help for long. */
bool plim__is_crowded(const plim_explanation *explanation);

/* The message says what the largest free block has, and that is less than was asked for, though enough is free. */
bool plim__is_stated_in_pieces(const plim_explanation *explanation);

/* Far more is free than was asked for or is cached: something other than the device's memory refused. */
bool plim__was_refused(const plim_explanation *explanation);

void plim__add_evidence(plim_explanation *explanation, const char *format, ...) PLIM_PRINTF(2, 3);
/* Sentences for the cause that was found, with its numbers. */
void plim__gather_evidence(const plim__reader *reader, plim_explanation *explanation);

/* The fixes for an explanation, from the one table of causes and fixes (fixes.c, fixes_full.c). */
void plim__choose_fixes(plim_explanation *explanation, const plim__reader *reader);

/* "1.96 GiB": two decimals, so that a request just above what is free does not look like it. */
typedef char plim__size_text[32];
const char *plim__size(uint64_t bytes, plim__size_text text);

/* The cause in one sentence with this failure's numbers. */
void plim__write_headline(const plim__reader *reader, plim_explanation *explanation);

#endif
