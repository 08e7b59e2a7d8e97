/* The numbers of a timeline, found once: the page, the JSON and the text all print these. */
#ifndef PLIM_REPORT_SUMMARY_H
#define PLIM_REPORT_SUMMARY_H

#include "mem/timeline.h"
#include "plimsoll/diagnose.h"

enum { PLIM__HOLDERS = 10 };

/* The largest that live at one moment. What a snapshot names is a place in the program: all from one place are one. */
typedef struct plim__holders {
    struct plim__holder {
        uint32_t life;  /* the largest of them */
        uint32_t count; /* lives */
        uint64_t bytes; /* together */
    } items[PLIM__HOLDERS];
    size_t count;   /* of items, largest first */
    size_t live;    /* buffers that live then */
    size_t smaller; /* ... and are in no item */
    uint64_t bytes; /* of the items */
} plim__holders;

/* The last allocation that was refused, at its moment: what is freed afterwards is still there. */
typedef struct plim__refusal {
    bool is_set;
    uint32_t tick;                 /* the last one before it */
    uint64_t requested, live;      /* what was asked for; live bytes */
    uint64_t reserved, unused;     /* what the allocator held, what was free on the device; UINT64_MAX: not known */
    uint32_t stack;                /* of the request; 0: not known */
    plim__holders holders;         /* at that moment */
    plim_explanation *explanation; /* why, and what to change; NULL when only the size is known */
} plim__refusal;

/* What an allocator's segments say. */
typedef struct plim__allocator_figures {
    uint64_t reserved, allocated, requested; /* held from the device; in live blocks; what was asked for these */
    uint64_t pending;                        /* freed, but another stream may still use it */
    uint64_t unused;                         /* cached: reserved and in no live block */
    uint64_t stuck;        /* ... of these, in segments that also hold live blocks: cannot be given back */
    uint64_t largest_free; /* the longest run of unused bytes */
    size_t free_blocks;
} plim__allocator_figures;

/* A group of buffers that outlive their step in growing number. */
typedef struct plim__leak {
    uint32_t example; /* a life of the group, still there at the end */
    uint32_t count;   /* lives of the group at the end */
    uint64_t bytes;   /* ... and what they hold */
    double bytes_per_step, count_per_step;
} plim__leak;

/* Several steps seen together. */
typedef struct plim__loop_figures {
    uint32_t steps;        /* whole steps; fewer than PLIM__LOOP_LEAST say nothing about leaks */
    bool inferred;         /* from an allocation that comes back regularly, not from marks */
    uint32_t anchor;       /* ... which is this life's */
    uint64_t first_number; /* of the first step */
    PLIM_VEC(plim__leak) leaks;
    double leaked_per_step;    /* bytes, all leaks together */
    bool fragmenting;          /* the allocator takes more and more for the same live bytes */
    uint64_t footprint;        /* what it takes in the last step */
    uint64_t live;             /* the peak of live bytes in the last step */
    double footprint_per_step; /* growth in bytes */
    uint64_t limit;            /* budget or capacity; 0: not known */
    uint64_t runs_out;         /* the number of the step in which `limit` is reached; 0: never, or not known */
} plim__loop_figures;

enum { PLIM__LOOP_LEAST = 4 };

typedef struct plim__summary {
    int64_t *totals; /* live bytes at each tick */
    uint64_t peak;
    uint32_t peak_tick;
    uint64_t kinds[PLIM__KIND_COUNT]; /* at the peak */
    plim__holders holders;            /* at the peak */
    plim__refusal refusal;
    uint64_t extent;      /* the highest address that a life used: what the arena must have; 0: not known */
    uint64_t held_at_end; /* live bytes at the last tick */
    uint64_t events;      /* births and deaths */
    double seconds;       /* from first to last tick; 0 when not known */
    plim__allocator_figures allocator;
    bool fragmented; /* a snapshot whose free bytes lie in pieces, or an allocation refused though as much was free */
    plim__loop_figures loop;
} plim__summary;

plim_status plim__summary_make(const plim__timeline *timeline, plim__summary *summary, plim_error *error);
void plim__summary_free(plim__summary *summary);
/* 1 - largest free run / free bytes; 0 when nothing is free. */
double plim__fragmentation(const plim__allocator_figures *figures);

/* What lives at a tick. */
plim_status plim__holders_find(const plim__timeline *timeline, uint32_t tick, plim__holders *holders,
                               plim_error *error);

/* refusal.c: the last refusal and its explanation. totals are ready. */
plim_status plim__refusal_find(const plim__timeline *timeline, plim__summary *summary, plim_error *error);

/* loop.c: steps, leaks and fragmentation over them. totals are ready. */
plim_status plim__loop_find(const plim__timeline *timeline, plim__summary *summary, plim_error *error);

#endif
