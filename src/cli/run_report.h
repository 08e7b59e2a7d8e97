/* What `plimsoll run` says: the meter, the report when the command failed, the JSON. */
#ifndef PLIM_CLI_RUN_REPORT_H
#define PLIM_CLI_RUN_REPORT_H

#include <jansson.h>

#include "cli/terminal.h"
#include "plimsoll/diagnose.h"
#include "plimsoll/watch.h"

/* What the command's output says about memory. Each stream is read by itself: a traceback on one is not cut by lines of
 * the other. */
typedef struct plim__run_words {
    plim_explainer *explainers[2];       /* standard output, standard error; NULL once one failed */
    plim_explainer *kernels;             /* the kernel's words, when the command had none */
    const plim_explanation *explanation; /* after the end; NULL when nothing was found */
    plim_explanation copy;               /* what it points to: without advice that was followed already */
} plim__run_words;

void plim__run_words_start(plim__run_words *words);
void plim__run_words_feed(plim__run_words *words, int stream, const char *data, size_t size);
/* After the end. What is known of the death goes before what the words make of it, and stands in for them where there
 * are none. */
void plim__run_words_finish(plim__run_words *words, const plim_watch_result *findings);
void plim__run_words_free(plim__run_words *words);

typedef struct plim__run_story {
    const plim_watch_result *findings;
    const plim__run_words *words;
    char *const *argv;
} plim__run_story;

/* One line without its end. */
void plim__run_meter(plim__str *out, const plim__terminal *terminal, const plim_watch_sample *sample,
                     const plim_limits *limits);
void plim__run_report(plim__str *out, const plim__terminal *terminal, const plim__run_story *story);
json_t *plim__run_json(const plim__run_story *story); /* NULL when memory is short */

#endif
