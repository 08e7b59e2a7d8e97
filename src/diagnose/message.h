/* Messages as rows: the sentence itself, with its figures named, says how it is found and what it tells.
 *
 *   {"{model requires more system memory} (<requested>) than is available (<free>)", "ollama", "host", PLIM_FACT_HOST}
 *
 *   {...}             the words that give the message away; looked for in one pass with those of all other rows
 *   <requested>       a figure with its unit, or an integer number of bytes; <requested GiB> the unit is not printed
 *   <n> <word> <...>  a number, a word, up to 160 characters: stepped over
 *   [...]             may be missing
 *
 * Figures: requested capacity allocated reserved free process other limit largest used missing index tokens. Blanks and case do
 * not matter. A backslash takes the next character as it is. docs/causes.md lists the rows.
 */
#ifndef PLIM_DIAGNOSE_MESSAGE_H
#define PLIM_DIAGNOSE_MESSAGE_H

#include "diagnose/reader.h"

typedef struct plim__message {
    const char *sentence;
    const char *framework, *kind; /* kind NULL: not told */
    plim__facts facts;
    int strength; /* 0: PLIM_STRONG */
} plim__message;

/* The tables, each ended by an empty row. */
extern const plim__message plim__messages_device[], plim__messages_host[];

/* The words in braces without white space, into `trigger`; false when they do not fit. */
bool plim__message_trigger(const plim__message *message, char *trigger, size_t size);

/* Reads the message whose trigger stands at [start, end), and reports it. */
void plim__message_parse(plim__reader *reader, const plim__message *message, const char *start, const char *end);

#endif
