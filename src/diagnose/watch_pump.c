/* Threads that pass bytes on. */
#include "diagnose/watch_pump.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

#include "core/error.h"

/* What is passed on after the command has ended: a full pipe and more. The rest is left to plim__pump_rest, since a
 * background process may write without end. */
enum { PIECE = 1 << 16, LAST_BYTES = 4 << 20 };

bool plim__pump_write_all(int fd, const char *data, size_t size) {
    while (size > 0) {
        ssize_t count = write(fd, data, size);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) { /* whoever shares the stream with us made it non-blocking */
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, 1000);
            continue;
        }
        if (count < 0) return false;
        data += count;
        size -= (size_t)count;
    }
    return true;
}

/* Waits until `from` has something; false when it is time to stop and nothing is there. *stopping says that it is time.
 */
static bool wait_for(int from, int wake, bool *stopping) {
    struct pollfd fds[2] = {{.fd = from, .events = POLLIN}, {.fd = wake, .events = POLLIN}};
    for (;;) {
        int count = poll(fds, 2, -1);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return false;
        *stopping = fds[1].revents != 0;
        if (fds[0].revents) return true;
        if (fds[1].revents) return false;
    }
}

/* Reads a piece and passes it on. False at the end: a pseudo-terminal ends with EIO. */
static bool pass(plim__pump *pump, char *piece) {
    ssize_t count = read(pump->from, piece, PIECE);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (count <= 0) return false;
    pthread_mutex_lock(&pump->lock);
    if (pump->tap) {
        pthread_mutex_lock(pump->tap_lock);
        pump->tap(pump->context, pump->to, piece, (size_t)count);
        pthread_mutex_unlock(pump->tap_lock);
    }
    bool good = plim__pump_write_all(pump->to, piece, (size_t)count);
    pthread_mutex_unlock(&pump->lock);
    return good;
}

static void close_source(plim__pump *pump) {
    close(pump->from); /* a command that writes on gets SIGPIPE, as it would have without us */
    pump->from = -1;
}

static void *run_pump(void *argument) {
    plim__pump *pump = argument;
    static _Thread_local char piece[PIECE];
    bool stopping = false;
    for (int last = 0; last < LAST_BYTES / PIECE && wait_for(pump->from, pump->wake, &stopping); last += stopping)
        if (!pass(pump, piece)) {
            close_source(pump);
            break;
        }
    return NULL;
}

/* Threads take no signals: they are for the one that waits for the command. */
static plim_status start(pthread_t *thread, int *wake, void *(*run)(void *), void *argument, bool *running,
                         plim_error *error) {
    *wake = eventfd(0, EFD_CLOEXEC);
    if (*wake < 0) return plim__fail_errno(error, errno, "cannot make an eventfd");
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) return plim__fail_errno(error, failed, "cannot start a thread");
    *running = true;
    return PLIM_OK;
}

static void stop(pthread_t thread, int *wake, bool *running) {
    if (*running) {
        uint64_t one = 1;
        ssize_t ignored = write(*wake, &one, sizeof one);
        (void)ignored;
        pthread_join(thread, NULL);
    }
    *running = false;
    if (*wake >= 0) close(*wake);
    *wake = -1;
}

plim_status plim__pump_start(plim__pump *pump, plim_error *error) {
    return start(&pump->thread, &pump->wake, run_pump, pump, &pump->running, error);
}

void plim__pump_stop(plim__pump *pump) { stop(pump->thread, &pump->wake, &pump->running); }

void plim__pump_rest(plim__pump *pumps, size_t count) {
    static char piece[PIECE];
    for (;;) {
        struct pollfd fds[2];
        size_t which[2], open = 0;
        for (size_t i = 0; i < count && open < 2; i++)
            if (pumps[i].from >= 0) {
                fds[open] = (struct pollfd){.fd = pumps[i].from, .events = POLLIN};
                which[open++] = i;
            }
        if (open == 0) return;
        if (poll(fds, open, -1) < 0 && errno != EINTR) return;
        for (size_t i = 0; i < open; i++) {
            plim__pump *pump = &pumps[which[i]];
            pump->tap = NULL;
            if (fds[i].revents && !pass(pump, piece)) close_source(pump);
        }
    }
}

/* --- input ---------------------------------------------------------------------------------------------------- */

/* The command's own terminal would turn Ctrl-Z into SIGTSTP, but nothing stops a session leader whose parent is
 * elsewhere: the kernel drops the signal. A shell inside, which has put another group in the foreground, gets the key
 * as usual. */
static bool is_suspend(const plim__pump_input *input, char key) {
    struct termios settings;
    return tcgetattr(input->terminal, &settings) == 0 && (settings.c_lflag & ISIG) &&
           (unsigned char)key == settings.c_cc[VSUSP] && tcgetpgrp(input->terminal) == input->leader;
}

static void *run_input(void *argument) {
    plim__pump_input *input = argument;
    char keys[4096];
    bool stopping = false;
    while (wait_for(input->from, input->wake, &stopping) && !stopping) {
        ssize_t count = read(input->from, keys, sizeof keys);
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (count < 0 && errno == EIO && isatty(input->from)) { /* in the background: until we are in front again */
            poll(&(struct pollfd){.fd = input->wake, .events = POLLIN}, 1, 200);
            continue;
        }
        if (count <= 0) break;
        ssize_t begin = 0;
        for (ssize_t i = 0; i < count; i++)
            if (is_suspend(input, keys[i])) {
                plim__pump_write_all(input->terminal, keys + begin, (size_t)(i - begin));
                begin = i + 1;
                input->suspend(input->context);
            }
        if (begin < count && !plim__pump_write_all(input->terminal, keys + begin, (size_t)(count - begin))) break;
    }
    return NULL;
}

plim_status plim__pump_input_start(plim__pump_input *input, plim_error *error) {
    return start(&input->thread, &input->wake, run_input, input, &input->running, error);
}

void plim__pump_input_stop(plim__pump_input *input) { stop(input->thread, &input->wake, &input->running); }
