/* What the searches over schedules share: the schedule they work on, when its buffers are used, and how far it is from
 * a target. Private to src/plan. */
#ifndef PLIM_PLAN_SEARCH_H
#define PLIM_PLAN_SEARCH_H

#include "plan/schedule.h"

/* A schedule in memory that is there already. */
typedef struct plim__draft {
    int32_t *steps;
    size_t count;
} plim__draft;

/* A drop makes a schedule lower: these steps are done again before the step at `place`. */
#define PLIM__DROPS      96
#define PLIM__DROP_STEPS 512
struct plim__drop {
    int32_t *steps;
    int32_t count, place;
    double score; /* bytes above the target that it takes away, summed up over the places, for each second */
};

struct plim__removal { /* of the repetition at `place` */
    int32_t place;
    double seconds;
};

/* What one run made in a buffer, or the caller before the first step. Versions share memory where one is written over
 * another. */
typedef struct plim__version {
    int32_t buffer;
    int32_t born, end; /* places: of the run that makes it (-1: the caller), of its last use (behind all: the caller) */
    int32_t older;     /* the version of the buffer before it, -1: none ... */
    int32_t far;       /* ... one long before it, or the first; -1 for that itself ... */
    int32_t number;    /* ... and how many are before it */
    int32_t reading;   /* the last of its readings, -1: none */
    int32_t block;     /* the first version in its memory ... */
    int32_t heir;      /* ... and the one that is written over it, -1: none */
    int32_t block_end; /* of a first version: until when the memory is in use */
} plim__version;

typedef struct plim__reading {
    int32_t place, before; /* before: an earlier reading of the same version, -1: none */
    int32_t version;       /* -1: no step made what is read */
} plim__reading;

struct plim__trials;

typedef struct plim__search {
    const plim__depend *depend;
    const double *seconds; /* of each step, above 0 */
    plim__meter *meter;
    size_t capacity; /* of every draft */
    plim__draft now; /* what is searched from */
    plim__draft trial, best;
    /* of each step */
    int32_t *first; /* where its first run is, in the schedule that was surveyed */
    int32_t *runs;  /* how often it runs */
    int32_t *stamp;
    int32_t stamps;
    /* of each buffer, while walking a schedule */
    int32_t *since, *until; /* the last use so far, and the last use of what it holds now */
    /* `now` as it was surveyed (search_survey.c): of each place */
    int64_t *live;  /* bytes in use, with workspace ... */
    int64_t *cut;   /* ... and bytes from before it that are in use there or later */
    int64_t *area;  /* sums from the left: bytes above the target ... */
    int32_t *above; /* ... and places above it */
    double *spent;  /* seconds of all runs before it */
    int64_t *block; /* the largest live bytes of each block of places */
    int32_t *made;  /* the first of the versions that are made there ... */
    int32_t *read;  /* ... and of the readings */
    /* versions: inputs, then those of each place in turn */
    plim__version *versions;
    int32_t version_count;
    plim__reading *readings;
    int32_t *newest;          /* of each buffer: its last version */
    size_t versions_capacity; /* as many as there can be, those of a trial too */
    struct plim__trials *trials;
    struct plim__removal *removals;
    struct plim__drop drops[PLIM__DROPS]; /* the best first */
    size_t drop_count;
    int32_t *drop_steps, *free_drop; /* memory for their steps, and for those of the next one */
    uint64_t random;
    int64_t work; /* left: places walked over, and the like; when there is none, searches end with what they have */
    bool noise;   /* estimates are blurred, to find other drops than the last time */
} plim__search;

/* seconds must outlive the search. */
plim_status plim__search_create(const plim__depend *depend, const double *seconds, plim__search **search,
                                plim_error *error);
void plim__search_free(plim__search *search);
/* To be called first, and again before it searches for something else: what it finds does not depend on what it was used
 * for before. */
void plim__search_restart(plim__search *search, int64_t work);
/* About what a search over this many steps takes. */
size_t plim__search_bytes(size_t steps);

static inline void plim__draft_set(plim__draft *to, const plim__draft *from) {
    for (size_t i = 0; i < from->count; i++) to->steps[i] = from->steps[i];
    to->count = from->count;
}

double plim__search_cost(const plim__search *search, const plim__draft *draft); /* seconds of all runs */
/* Bytes above the target, summed up over the places of the draft. */
int64_t plim__search_excess(plim__search *search, const plim__draft *draft, int64_t target);
uint64_t plim__search_random(plim__search *search, uint64_t below);
/* Takes out runs whose outputs no step reads before they are computed again. */
void plim__search_clean(plim__search *search, plim__draft *draft);

/* Surveys `now`: live bytes, area and above for the target, runs, versions; since and until are those before the first
 * step. */
void plim__search_survey(plim__search *search, int64_t target);
/* Walks over the step at `place`: since and until are those behind it. */
void plim__search_pass(plim__search *search, int32_t place);
/* Whether live bytes are at most `bytes` at all places from `from` to `to`. */
bool plim__search_below(const plim__search *search, int32_t from, int32_t to, int64_t bytes);
/* The version of a buffer that a step at `place` reads; -1: none. */
int32_t plim__search_version(const plim__search *search, int32_t buffer, int32_t place);
#define PLIM__PLACES 32 /* in a block of places */

/* Trials: what would `now`, as it was surveyed, be like with some steps put in before a place, or without the run at a
 * place? Runs that no step would read any more are taken out, as plim__search_clean does. Returns bytes above the target,
 * summed up over the places; when they are `enough` or more it may return any number from there. */
int64_t plim__search_with(plim__search *search, const struct plim__drop *drop, int64_t target, int64_t enough);
int64_t plim__search_without(plim__search *search, int32_t place, int64_t target, int64_t enough);
double plim__search_more(const plim__search *search); /* seconds that the last trial of the first kind takes more */
bool plim__trials_create(plim__search *search);
void plim__trials_free(struct plim__trials *trials);

/* Drops buffers between two uses and computes them again before the second until `now` needs at most `target`. False when
 * it gets no further; `now` is then the lowest schedule found. */
bool plim__search_drop(plim__search *search, int64_t target);
/* Takes out repetitions of `now` that the target leaves room for, the dearest first. */
void plim__search_restore(plim__search *search, int64_t target);
/* Improves `now` by taking out some repetitions and dropping again, `rounds` times: towards the target while it needs
 * more, then towards less time. */
void plim__search_improve(plim__search *search, int64_t target, int rounds);
typedef struct plim__exact_goal {
    int64_t target; /* bytes */
    double limit;   /* seconds of repetitions */
    size_t states;  /* of the search, at most */
} plim__exact_goal;

/* The cheapest schedule that meets the goal with its first runs in this order becomes `now`. found: whether it did;
 * otherwise there is none, or the program is too large, or the states were not enough. */
plim_status plim__search_exact(plim__search *search, const plim__schedule *order, const plim__exact_goal *goal,
                               bool *found, plim_error *error);

#endif
