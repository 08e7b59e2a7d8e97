/* What recording a run may hold: the plan counts it (overhead.c), and recording keeps to it (src/run/recording.c). */
#ifndef PLIM_BUDGET_RECORDED_H
#define PLIM_BUDGET_RECORDED_H

/* With a budget at most this many undeclared sizes of batches are recorded whole: each has names of its own. */
#define PLIM__RECORDED_IRREGULAR 8
/* Bytes to spare when a page is made. */
#define PLIM__PAGE_MARGIN ((size_t)128 << 10)

#endif
