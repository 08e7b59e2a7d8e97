/* Times of steps with threads spread over all cores and gathered on half of them, and which to go on with. */
#include "run/placement.h"

#include <string.h>

#include <omp.h>

#include "core/clock.h"
#include "core/host.h"
#include "mem/threads.h"

#define WINDOW  0.05 /* seconds of steps that make a time */
#define LOOK    0.25 /* seconds from look to look at what others use: /proc/stat counts in hundredths */
#define BUSY    0.4  /* processors */
#define BETTER  0.95 /* of the time of a step that spread threads take: else they stay spread */
#define SETTLE  1.0  /* seconds that the kernel may take to move others' programs away ... */
#define PATIENT 4.0  /* ... and where waiting for that costs next to nothing */
#define NOTHING 1.25 /* times a step with spread threads */
#define LONGEST 60.0 /* seconds from trial to trial; the first ones are sooner */
#define STEPS   30   /* from trial to trial at least, as one of long steps is a step */

static const double first_hold[] = {2, 15}; /* seconds: spread, gathered. Leaving a good place costs a second */

static void place(plim__gathering *g, double now, bool gathered, bool trying) {
    g->gathered = gathered;
    g->trying = trying;
    g->moved = now;
}

static void decide(plim__gathering *g, double now) {
    bool before = !g->gathered, better = g->step[1] < BETTER * g->step[0];
    double wait = g->step[1] < NOTHING * g->step[0] ? PATIENT : SETTLE;
    if (g->gathered && !better && now - g->moved < wait) return;
    double least = STEPS * g->step[before];
    g->hold = better != before || g->hold <= 0 ? first_hold[better] : 2 * g->hold < LONGEST ? 2 * g->hold : LONGEST;
    g->next = now + (g->hold > least ? g->hold : least);
    place(g, now, better, false);
}

void plim__gathering_step(plim__gathering *g, double now, double seconds, double others) {
    if (others >= 0 && g->busy != (others > BUSY)) {
        g->busy = !g->busy;
        g->step[0] = 0; /* what it took before tells nothing */
    }
    g->sum += seconds;
    g->count++;
    if (g->sum < WINDOW) return;
    double *step = &g->step[g->gathered], mean = g->sum / g->count;
    *step = g->trying || *step <= 0 ? mean : (*step + mean) / 2; /* beside others no two are alike */
    g->sum = 0;
    g->count = 0;
    if (g->trying)
        decide(g, now);
    else if (g->gathered && !g->busy)
        place(g, now, false, false);
    else if (g->busy && now >= g->next)
        place(g, now, !g->gathered, true);
}

/* --------------------------------------------------------------------------------------------------------------- */

/* As many processors as hold two threads each, from that of the calling thread on. */
static cpu_set_t half_of(const cpu_set_t *all, int threads) {
    cpu_set_t half;
    int first = sched_getcpu(), wanted = (threads + 1) / 2;
    CPU_ZERO(&half);
    for (int i = 0; i < CPU_SETSIZE && wanted > 0; i++) {
        size_t processor = (size_t)((first < 0 ? 0 : first) + i) % CPU_SETSIZE;
        if (!CPU_ISSET(processor, all)) continue;
        CPU_SET(processor, &half);
        wanted--;
    }
    return half;
}

void plim__placement_begin(plim__placement *p, int threads) {
    memset(p, 0, sizeof *p);
    if (threads < 2 || plim__host_keeps_affinity() || omp_get_proc_bind() != omp_proc_bind_false ||
        sched_getaffinity(0, sizeof p->all, &p->all) != 0 || threads > CPU_COUNT(&p->all) ||
        2 * threads <= CPU_COUNT(&p->all))
        return;
    p->threads = threads;
    p->crowd = plim__crowd_create((threads + 1) / 2);
    p->seen = plim__cpu_load_begin();
    p->looked = plim__clock_seconds();
}

static void move(const plim__placement *p) {
    bool gathered = p->gathering.gathered;
    cpu_set_t to = gathered ? half_of(&p->all, p->threads) : p->all;
    plim__threads_place(p->threads, &to);
    plim__crowd_place(p->crowd, gathered ? &to : NULL);
}

void plim__placement_step(plim__placement *p, double seconds) {
    double now, others = -1;
    bool before = p->gathering.gathered;
    if (p->threads == 0) return;
    now = plim__clock_seconds();
    if (now - p->looked >= LOOK) {
        others = plim__cpu_load_others(&p->seen) * CPU_COUNT(&p->all);
        p->looked = now;
    }
    plim__gathering_step(&p->gathering, now, seconds, others);
    if (p->gathering.gathered != before) move(p);
}

void plim__placement_end(plim__placement *p) {
    if (p->threads > 0 && p->gathering.gathered) {
        p->gathering.gathered = false;
        move(p);
    }
    plim__crowd_free(p->crowd);
    p->crowd = NULL;
}
