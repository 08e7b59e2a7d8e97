/* What `plimsoll run` says: the meter, the report when the command failed, the JSON. */
#ifndef PLIM_CLI_RUN_REPORT_H
#define PLIM_CLI_RUN_REPORT_H

#include <jansson.h>

#include "cli/terminal.h"
#include "diagnose/watch_findings.h"

/* The part of the command's output that is about memory. */
typedef struct plim__run_words {
    int unused;
} plim__run_words;

void plim__run_words_start(plim__run_words *words);
void plim__run_words_feed(plim__run_words *words, int stream, const char *data, size_t size);
void plim__run_words_finish(plim__run_words *words);
void plim__run_words_free(plim__run_words *words);

typedef struct plim__run_story {
    const plim__findings *findings;
    const plim__run_words *words;
    char *const *argv;
} plim__run_story;

/* One line without its end. */
void plim__run_meter(plim__str *out, const plim__terminal *terminal, const plim__sample *sample,
                     const plim__limits *limits);
void plim__run_report(plim__str *out, const plim__terminal *terminal, const plim__run_story *story);
json_t *plim__run_json(const plim__run_story *story); /* NULL when memory is short */

#endif
