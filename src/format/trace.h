/* The trace: who held which bytes when, as a compact file that can be written while a step runs and read
 * after a crash. docs/trace-format.md describes every byte.
 *
 *   open → define* → (born | died | step | phase | operator | sample)* → close
 *
 * Defining may allocate and write; do it before the first step. Recording (the functions that return
 * nothing) stores 16 to 32 bytes in a buffer that open made, never allocates, and hands the buffer to the
 * kernel when it is full and at every step and phase, so that a killed process loses one phase at most.
 * A failed write stops the recording and is told by close. One thread records at a time. */
#ifndef PLIM_FORMAT_TRACE_H
#define PLIM_FORMAT_TRACE_H

#include "mem/timeline.h"

typedef struct plim__trace plim__trace;

plim_status plim__trace_open(const char *path, plim__timeline_source source, plim__trace **trace, plim_error *error);
/* The same in a file that is open for writing. Takes `fd`, also on failure; `path` is for messages. */
plim_status plim__trace_open_at(int fd, const char *path, plim__timeline_source source, plim__trace **trace,
                                plim_error *error);
/* Writes what is left and says how it went; frees in any case. NULL is fine. */
plim_status plim__trace_close(plim__trace *trace, plim_error *error);

/* --- before the steps ----------------------------------------------------------------------------------------- */

/* A buffer that will be born and die, perhaps many times; ids count up from 0. born and died are ignored. */
plim_status plim__trace_define_buffer(plim__trace *trace, const plim__timeline_buffer *buffer, uint32_t *id,
                                      plim_error *error);
/* The same for what a timeline knows as a tensor and a life of it. */
plim_status plim__trace_define_life(plim__trace *trace, const plim__timeline *timeline, const plim__timeline_life *life,
                                    uint32_t *id, plim_error *error);
plim_status plim__trace_define_operator(plim__trace *trace, const char *name, uint32_t *id, plim_error *error);
plim_status plim__trace_define_series(plim__trace *trace, const char *name, uint32_t *id, plim_error *error);
/* A series of numbers that are no bytes; recorded with plim__trace_sample_number. */
plim_status plim__trace_define_numbers(plim__trace *trace, const char *name, uint32_t *id, plim_error *error);
plim_status plim__trace_set_title(plim__trace *trace, const char *title, plim_error *error);
plim_status plim__trace_set_budget(plim__trace *trace, uint64_t budget, plim_error *error);
plim_status plim__trace_set_capacity(plim__trace *trace, uint64_t capacity, plim_error *error);
plim_status plim__trace_add_fact(plim__trace *trace, const char *name, const char *value, plim_error *error);
plim_status plim__trace_add_frontier(plim__trace *trace, const plim__timeline_point *point, plim_error *error);
plim_status plim__trace_add_comparison(plim__trace *trace, const char *what, uint64_t planned, uint64_t measured,
                                       plim_error *error);
/* Of a plan: the time of the events that follow, in place of the clock. Never falling. */
void plim__trace_expect(plim__trace *trace, double seconds);
/* All is defined, nearly: the names that were written are dropped, which takes less memory. What is defined later has
 * its names written again. */
void plim__trace_settle(plim__trace *trace);
/* How to make the plan again: any length. */
void plim__trace_add_plan(plim__trace *trace, const char *text);

/* --- on the step path: no allocation, no error ---------------------------------------------------------------- */

void plim__trace_born(plim__trace *trace, uint32_t buffer); /* at its defined offset and size */
void plim__trace_born_at(plim__trace *trace, uint32_t buffer, uint64_t offset, uint64_t bytes);
void plim__trace_died(plim__trace *trace, uint32_t buffer); /* the youngest life of it that is still there */
void plim__trace_step(plim__trace *trace, uint32_t number); /* a step begins */
void plim__trace_phase(plim__trace *trace, plim__memory_phase phase);
void plim__trace_operator(plim__trace *trace, uint32_t operation);
void plim__trace_sample(plim__trace *trace, uint32_t series, uint64_t bytes);
void plim__trace_sample_number(plim__trace *trace, uint32_t series, double number);
void plim__trace_refused(plim__trace *trace, uint64_t bytes); /* an allocation failed */
void plim__trace_flush(plim__trace *trace);

/* --- reading -------------------------------------------------------------------------------------------------- */

/* True when the bytes begin a trace. */
bool plim__trace_sniff(const void *data, size_t size);
/* Fills an initialised timeline. A file that a crash cut off gives everything up to the cut and sets `cut`. */
plim_status plim__trace_read(const char *path, plim__timeline *timeline, plim_error *error);
/* The same within `bytes`, for the timeline and a summary of it. Where that is too little, only one step in *every is
 * there (a fact of the timeline says so; the first one always is) and samples are joined; else *every is 1. */
plim_status plim__trace_read_within(const char *path, size_t bytes, plim__timeline *timeline, uint64_t *every,
                                    plim_error *error);

#endif
