/* A timeline as a script: what is recorded at each of its ticks, defined once and played as often as the step runs. */
#ifndef PLIM_FORMAT_TRACE_SCRIPT_H
#define PLIM_FORMAT_TRACE_SCRIPT_H

#include "format/trace.h"

typedef struct plim__trace_cue {
    uint32_t id;   /* buffer, operator or phase */
    uint32_t born; /* of a death: the tick of the birth */
    uint8_t what;  /* private to trace_script.c */
} plim__trace_cue;

typedef struct plim__trace_script {
    uint32_t ticks;        /* the last one has only deaths */
    uint32_t *first;       /* cue of each tick; ticks + 1 of them */
    plim__trace_cue *cues; /* of a tick: phase, operator, deaths, births */
    uint32_t *persistent;  /* buffers that are there all the time */
    size_t persistent_count;
} plim__trace_script;

/* Defines the timeline's lives and operators in the trace. Free the script after a failure too. */
plim_status plim__trace_script_make(plim__trace *trace, const plim__timeline *timeline, plim__trace_script *script,
                                    plim_error *error);
void plim__trace_script_free(plim__trace_script *script);

/* A persistent buffer is born, or dies. */
void plim__trace_script_keep(plim__trace *trace, const plim__trace_script *script);
void plim__trace_script_drop(plim__trace *trace, const plim__trace_script *script);
/* One tick. On the step path: no allocation, no error. */
void plim__trace_script_play(plim__trace *trace, const plim__trace_script *script, uint32_t tick);
/* The step ends after `tick`, before its time: what was born and has not died dies. */
void plim__trace_script_break(plim__trace *trace, const plim__trace_script *script, uint32_t tick);

/* What a timeline has in addition to lives and marks: title, budget, facts, frontier, comparisons, plan. */
plim_status plim__trace_write_head(plim__trace *trace, const plim__timeline *timeline, plim_error *error);
/* A whole timeline as a file that plim__trace_read reads back: a plan that is saved. */
plim_status plim__trace_write_timeline(const plim__timeline *timeline, const char *path, plim_error *error);

#endif
