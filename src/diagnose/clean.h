/* From the bytes of a log to text that a reader can match: byte order marks, colour codes, carriage returns, line
 * prefixes, hard wraps and escapes taken away.
 *
 * Word wraps stay as line ends (patterns step over white space). A hard wrap, where every cut line has exactly 80
 * characters, is undone, since it cuts words and numbers; so is a run of 50 and more blanks, which is what a wrapped
 * kernel log becomes when it is pasted.
 */
#ifndef PLIM_DIAGNOSE_CLEAN_H
#define PLIM_DIAGNOSE_CLEAN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/str.h"

typedef struct plim__cleaner {
    plim__str out;     /* the cleaned text; the owner takes from its front */
    plim__str scratch; /* the line without colour codes */
    bool started;
    bool dated; /* some line began with a time */
    int year;   /* the first that a line was dated with; 0 for none */
    bool vllm;  /* some line began as vLLM's do: "ERROR 01-02 03:04:05 [core.py:6]" */
    /* of the line before: */
    size_t prefix;        /* bytes of its prefix */
    bool full, full_body; /* exactly 80 characters, with and without its prefix */
} plim__cleaner;

/* Adds one physical line, without its line feed. */
void plim__clean_line(plim__cleaner *cleaner, const char *line, size_t length);
/* Adds the last line's end. */
void plim__clean_end(plim__cleaner *cleaner);
void plim__clean_free(plim__cleaner *cleaner);

/* Bytes of log prefix at the start of a line: ranks, times, service names, levels; 0 when there is none. */
size_t plim__clean_prefix(const char *line, size_t length);

#endif
