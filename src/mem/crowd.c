/* A crowd: members sleep until they are placed, give way until they are placed elsewhere, and look at what that costs. */
#include "mem/crowd.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "core/alloc.h"
#include "core/clock.h"

#define STACK_BYTES (128 << 10)
#define TURNS       64   /* from look to look at what they cost */
#define FREE        0.02 /* seconds of the processor that a member may use before its share counts */
#define SHARE       0.05 /* more of the time than this is not giving way */

struct plim__crowd {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    _Atomic unsigned round; /* counts placements */
    cpu_set_t processors;   /* empty: sleep */
    bool ends;
    int count;
    struct plim__crowd_member {
        pthread_t thread;
        plim__crowd *crowd;
        int number;
    } members[];
};

static double used(void) {
    struct timespec t;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0 ? (double)t.tv_sec + (double)t.tv_nsec / 1e9 : 0;
}

/* To the n-th of the processors; false: there are fewer, or it cannot be moved. */
static bool go_to(const cpu_set_t *processors, int n) {
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        cpu_set_t one;
        if (!CPU_ISSET(i, processors) || n-- > 0) continue;
        CPU_ZERO(&one);
        CPU_SET(i, &one);
        return sched_setaffinity(0, sizeof one, &one) == 0;
    }
    return false;
}

static void give_way(const plim__crowd *crowd, unsigned round) {
    double start = plim__clock_seconds(), before = used();
    for (;;) {
        for (int i = 0; i < TURNS; i++) {
            if (atomic_load_explicit(&crowd->round, memory_order_relaxed) != round) return;
            sched_yield();
        }
        double cost = used() - before;
        if (cost > FREE && cost > SHARE * (plim__clock_seconds() - start)) return;
    }
}

static void *run(void *argument) {
    struct plim__crowd_member *me = argument;
    plim__crowd *crowd = me->crowd;
    unsigned seen = 0;
    pthread_mutex_lock(&crowd->lock);
    while (!crowd->ends) {
        unsigned round = atomic_load(&crowd->round);
        if (round == seen) {
            pthread_cond_wait(&crowd->moved, &crowd->lock);
            continue;
        }
        cpu_set_t to = crowd->processors;
        seen = round;
        pthread_mutex_unlock(&crowd->lock);
        if (go_to(&to, me->number)) give_way(crowd, round);
        pthread_mutex_lock(&crowd->lock);
    }
    pthread_mutex_unlock(&crowd->lock);
    return NULL;
}

/* Signals are the program's: they go to its own threads. */
static void start(plim__crowd *crowd, int count, const pthread_attr_t *attributes) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; crowd->count < count; crowd->count++) {
        struct plim__crowd_member *member = &crowd->members[crowd->count];
        member->crowd = crowd;
        member->number = crowd->count;
        if (pthread_create(&member->thread, attributes, run, member) != 0) break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

plim__crowd *plim__crowd_create(int count) {
    size_t bytes = sizeof(plim__crowd) + (size_t)count * sizeof(struct plim__crowd_member);
    plim__crowd *crowd = plim__alloc_optional(bytes);
    pthread_attr_t attributes;
    if (!crowd || pthread_attr_init(&attributes) != 0) {
        plim__free(crowd);
        return NULL;
    }
    memset(crowd, 0, bytes);
    pthread_mutex_init(&crowd->lock, NULL);
    pthread_cond_init(&crowd->moved, NULL);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    start(crowd, count, &attributes);
    pthread_attr_destroy(&attributes);
    if (crowd->count == count) return crowd;
    plim__crowd_free(crowd);
    return NULL;
}

static void tell(plim__crowd *crowd, const cpu_set_t *processors, bool ends) {
    pthread_mutex_lock(&crowd->lock);
    if (processors)
        crowd->processors = *processors;
    else
        CPU_ZERO(&crowd->processors);
    crowd->ends = ends;
    atomic_fetch_add(&crowd->round, 1);
    pthread_cond_broadcast(&crowd->moved);
    pthread_mutex_unlock(&crowd->lock);
}

void plim__crowd_place(plim__crowd *crowd, const cpu_set_t *processors) {
    if (crowd) tell(crowd, processors, false);
}

void plim__crowd_free(plim__crowd *crowd) {
    if (!crowd) return;
    tell(crowd, NULL, true);
    for (int i = 0; i < crowd->count; i++) pthread_join(crowd->members[i].thread, NULL);
    pthread_cond_destroy(&crowd->moved);
    pthread_mutex_destroy(&crowd->lock);
    plim__free(crowd);
}
