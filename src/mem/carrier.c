/* Carriers: a list of errands, in order of when they are due, and threads that take pieces of the first. */
#include "mem/carrier.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"

#define MOST_ROOMS  4 /* of which one is the caller's: more readers at a time do not make a disk faster */
#define STACK_BYTES ((size_t)128 << 10)

struct plim__carrier {
    pthread_mutex_t lock;
    pthread_cond_t more;  /* pieces, or the end */
    pthread_cond_t ended; /* an errand */
    plim__errand *first;  /* those with pieces that no thread has taken */
    size_t under_way;     /* errands with pieces that have not ended */
    bool stops;
    plim_error why; /* of the piece that failed last */
    char *rooms;
    size_t room_bytes;
    plim__carrier_counts counts;
    pid_t process;
    int threads; /* those that were started */
    struct plim__carrier_thread {
        struct plim__carrier *carrier;
        pthread_t thread;
        int room;
    } thread[MOST_ROOMS - 1];
};

int plim__carrier_rooms(int threads) { return threads < 2 ? 2 : threads > MOST_ROOMS ? MOST_ROOMS : threads; }

/* --- pieces: all with the lock held ------------------------------------------------------------------------------ */

static void unlink_errand(plim__carrier *c, const plim__errand *errand) {
    plim__errand **at = &c->first;
    while (*at && *at != errand) at = &(*at)->next;
    if (*at) *at = errand->next;
}

static void end_pieces(plim__carrier *c, plim__errand *errand, size_t count) {
    errand->ended += count;
    if (count == 0 || errand->ended < errand->pieces) return;
    c->under_way--;
    pthread_cond_broadcast(&c->ended);
}

/* Those that no thread has taken are not done any more. */
static void leave_out(plim__carrier *c, plim__errand *errand) {
    size_t left = errand->pieces - errand->taken;
    if (left == 0) return;
    unlink_errand(c, errand);
    errand->taken = errand->pieces;
    end_pieces(c, errand, left);
}

/* Lets go of the lock while it works. */
static void do_piece(plim__carrier *c, plim__errand *errand, int room) {
    size_t piece = errand->taken++;
    plim_error error = {0};
    if (errand->taken == errand->pieces) unlink_errand(c, errand);
    pthread_mutex_unlock(&c->lock);
    plim_status status = errand->piece(errand, piece, c->rooms + (size_t)room * c->room_bytes, &error);
    pthread_mutex_lock(&c->lock);
    if (status != PLIM_OK && errand->status == PLIM_OK) {
        errand->status = status;
        c->why = error;
        leave_out(c, errand);
    }
    end_pieces(c, errand, 1);
}

/* --- threads ---------------------------------------------------------------------------------------------------- */

static void *work(void *argument) {
    const struct plim__carrier_thread *own = argument;
    plim__carrier *c = own->carrier;
    pthread_mutex_lock(&c->lock);
    while (!c->stops) {
        if (!c->first) {
            pthread_cond_wait(&c->more, &c->lock);
            continue;
        }
        c->counts.pieces++;
        do_piece(c, c->first, own->room);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Fewer than wished for are enough, and none is. Signals are the program's: they go to its own threads. */
static void start(plim__carrier *c, int threads) {
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0) return;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (c->threads < threads) {
        struct plim__carrier_thread *t = &c->thread[c->threads];
        *t = (struct plim__carrier_thread){.carrier = c, .room = c->threads + 1};
        if (pthread_create(&t->thread, &attributes, work, t) != 0) break;
        c->threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

plim_status plim__carrier_create(int rooms, plim__carrier **carrier, plim_error *error) {
    plim__carrier *c = *carrier = plim__alloc_zero(1, sizeof *c);
    if (!c) return plim__fail_memory(error, "reading ahead", sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->more, NULL);
    pthread_cond_init(&c->ended, NULL);
    c->process = getpid();
    start(c, (rooms < MOST_ROOMS ? rooms : MOST_ROOMS) - 1);
    return PLIM_OK;
}

bool plim__carrier_is_forked(const plim__carrier *c) { return c->process != getpid(); }

void plim__carrier_free(plim__carrier *c) {
    if (!c) return;
    if (!plim__carrier_is_forked(c)) { /* else the lock is as a thread of the parent had it */
        plim__carrier_drop(c);
        pthread_mutex_lock(&c->lock);
        c->stops = true;
        pthread_cond_broadcast(&c->more);
        pthread_mutex_unlock(&c->lock);
        for (int i = 0; i < c->threads; i++) pthread_join(c->thread[i].thread, NULL);
        pthread_cond_destroy(&c->ended);
        pthread_cond_destroy(&c->more);
        pthread_mutex_destroy(&c->lock);
    }
    plim__free(c);
}

/* --- for the caller ------------------------------------------------------------------------------------------------ */

void plim__carrier_settle_in(plim__carrier *c, void *rooms, size_t room_bytes) {
    pthread_mutex_lock(&c->lock);
    c->rooms = rooms;
    c->room_bytes = room_bytes;
    pthread_mutex_unlock(&c->lock);
}

void plim__carrier_send(plim__carrier *c, plim__errand *errand) {
    errand->taken = errand->ended = 0;
    errand->status = PLIM_OK;
    errand->next = NULL;
    pthread_mutex_lock(&c->lock);
    c->counts.errands++;
    if (errand->pieces > 0) {
        plim__errand **at = &c->first;
        while (*at && (*at)->due <= errand->due) at = &(*at)->next;
        errand->next = *at;
        *at = errand;
        c->under_way++;
        pthread_cond_broadcast(&c->more);
    }
    pthread_mutex_unlock(&c->lock);
}

plim_status plim__carrier_wait(plim__carrier *c, plim__errand *errand, plim_error *error) {
    pthread_mutex_lock(&c->lock);
    if (errand->ended == errand->pieces) c->counts.finished++;
    while (errand->ended < errand->pieces)
        if (errand->taken < errand->pieces)
            do_piece(c, errand, 0);
        else
            pthread_cond_wait(&c->ended, &c->lock);
    plim_status status = errand->status;
    if (status != PLIM_OK && error) *error = c->why;
    pthread_mutex_unlock(&c->lock);
    return status;
}

void plim__carrier_drop(plim__carrier *c) {
    if (plim__carrier_is_forked(c)) return;
    pthread_mutex_lock(&c->lock);
    while (c->first) leave_out(c, c->first);
    while (c->under_way > 0) pthread_cond_wait(&c->ended, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

plim__carrier_counts plim__carrier_count(plim__carrier *c) {
    pthread_mutex_lock(&c->lock);
    plim__carrier_counts counts = c->counts;
    pthread_mutex_unlock(&c->lock);
    return counts;
}
