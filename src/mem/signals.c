/* Signal masks of threads that run kernels. */
#include "mem/signals.h"

#include <pthread.h>
#include <stddef.h>

void plim__signals_hold(sigset_t *before) {
    static const int raised[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t held;
    sigfillset(&held);
    for (size_t i = 0; i < sizeof raised / sizeof *raised; i++) sigdelset(&held, raised[i]);
    pthread_sigmask(SIG_BLOCK, &held, before);
}

void plim__signals_release(const sigset_t *before) { pthread_sigmask(SIG_SETMASK, before, NULL); }
