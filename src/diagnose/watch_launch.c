/* Starting a command between us and our streams. */
#include "diagnose/watch_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "diagnose/watch_pump.h"

struct plim__launch {
    pid_t pid;
    int master, slave;   /* the pseudo-terminal; -1 without one */
    bool session;        /* the command has it as its controlling terminal, and our own is raw */
    plim__pump pumps[2]; /* one a channel */
    size_t pump_count;
    plim__pump_input input;
    plim__launch_tap *tap;
    void *context;
    pthread_mutex_t tap_lock;
    struct termios terminal; /* ours, as it was */
    sigset_t mask_before;
    struct sigaction pipe_before, child_before;
    bool done;
    int status;
    struct rusage usage;
};

/* --- streams -------------------------------------------------------------------------------------------------- */

/* Standard streams came through an exec: one that would not survive the next is a hole that was filled. */
static bool is_open(int fd) {
    int flags = fcntl(fd, F_GETFD);
    return flags >= 0 && !(flags & FD_CLOEXEC);
}

void plim__launch_prepare(void) {
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", O_RDWR | O_CLOEXEC);
}

static bool same_file(int a, int b) {
    struct stat x, y;
    if (fstat(a, &x) != 0 || fstat(b, &y) != 0) return false;
    return S_ISCHR(x.st_mode) ? S_ISCHR(y.st_mode) && x.st_rdev == y.st_rdev
                              : x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool in_foreground(int fd) { return isatty(fd) && tcgetpgrp(fd) == getpgrp(); }

static void close_if(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* The ends that the command gets. */
typedef struct command_ends {
    int fd[3]; /* -1: inherits ours */
} command_ends;

static plim_status open_terminal(plim__launch *launch, int ours, plim_error *error) {
    struct winsize size;
    struct termios settings;
    bool known = ioctl(ours, TIOCGWINSZ, &size) == 0;
    bool settable = tcgetattr(ours, &settings) == 0;
    if (!launch->session && settable) cfmakeraw(&settings); /* our own terminal still adds the carriage returns */
    if (openpty(&launch->master, &launch->slave, NULL, settable ? &settings : NULL, known ? &size : NULL) != 0)
        return plim__fail_errno(error, errno, "cannot open a pseudo-terminal");
    fcntl(launch->master, F_SETFD, FD_CLOEXEC);
    fcntl(launch->slave, F_SETFD, FD_CLOEXEC);
    return PLIM_OK;
}

static plim_status open_channel(plim__launch *launch, int stream, command_ends *ends, plim_error *error) {
    int source;
    if (isatty(stream) && launch->master < 0) { /* a second, other terminal goes by pipe */
        PLIM_TRY(open_terminal(launch, stream, error));
        ends->fd[stream] = launch->slave;
        source = fcntl(launch->master, F_DUPFD_CLOEXEC, 3);
        if (source < 0) return plim__fail_errno(error, errno, "cannot open a pseudo-terminal");
    } else {
        int pair[2];
        if (pipe2(pair, O_CLOEXEC) != 0) return plim__fail_errno(error, errno, "cannot make a pipe");
        fcntl(pair[0], F_SETPIPE_SZ, 1 << 20); /* so that the command seldom waits for us; a wish */
        source = pair[0];
        ends->fd[stream] = pair[1];
    }
    plim__pump *pump = &launch->pumps[launch->pump_count++];
    *pump = (plim__pump){.from = source,
                         .to = stream,
                         .wake = -1,
                         .tap_lock = &launch->tap_lock,
                         .tap = launch->tap,
                         .context = launch->context};
    pthread_mutex_init(&pump->lock, NULL);
    return PLIM_OK;
}

static plim_status open_streams(plim__launch *launch, command_ends *ends, plim_error *error) {
    bool out = is_open(1), err = is_open(2);
    bool terminal = (out && isatty(1)) || (err && isatty(2));
    launch->session = terminal && in_foreground(0);
    if (out) PLIM_TRY(open_channel(launch, 1, ends, error));
    if (err && out && same_file(1, 2))
        ends->fd[2] = ends->fd[1];
    else if (err)
        PLIM_TRY(open_channel(launch, 2, ends, error));
    if (launch->session) ends->fd[0] = launch->slave;
    return PLIM_OK;
}

/* --- the command ---------------------------------------------------------------------------------------------- */

/* In the child, where only calls that are safe after fork may be made. Never returns. */
static void become(const plim__launch *launch, const command_ends *ends, char *const *argv, int report) {
    if (launch->session) {
        setsid();
        ioctl(launch->slave, TIOCSCTTY, 0);
    }
    for (int i = 0; i < 3; i++)
        if (ends->fd[i] >= 0 && dup2(ends->fd[i], i) < 0) goto failed; /* none is below 3: see plim__launch_prepare */
    sigaction(SIGPIPE, &launch->pipe_before, NULL);
    sigaction(SIGCHLD, &launch->child_before, NULL);
    pthread_sigmask(SIG_SETMASK, &launch->mask_before, NULL);
    execvp(argv[0], argv);
failed:;
    int why = errno;
    ssize_t ignored = write(report, &why, sizeof why);
    (void)ignored;
    _exit(127);
}

static plim_status spawn(plim__launch *launch, const command_ends *ends, char *const *argv, plim_error *error) {
    int report[2], why = 0;
    if (pipe2(report, O_CLOEXEC) != 0) return plim__fail_errno(error, errno, "cannot make a pipe");
    launch->pid = fork();
    if (launch->pid == 0) become(launch, ends, argv, report[1]);
    int fork_errno = errno;
    close(report[1]);
    if (launch->pid < 0) {
        close(report[0]);
        return plim__fail_errno(error, fork_errno, "cannot start a process");
    }
    ssize_t count;
    while ((count = read(report[0], &why, sizeof why)) < 0 && errno == EINTR) {}
    close(report[0]);
    if (count != (ssize_t)sizeof why) return PLIM_OK;
    waitpid(launch->pid, NULL, 0);
    launch->pid = -1;
    if (why == ENOENT && !strchr(argv[0], '/'))
        return plim__fail(error, PLIM_NOT_FOUND, "%s: command not found", argv[0]);
    plim_status status = plim__fail_errno(error, why, "%s", argv[0]);
    return why == ENOENT ? PLIM_NOT_FOUND : status == PLIM_NOT_FOUND ? PLIM_IO : status;
}

/* --- signals -------------------------------------------------------------------------------------------------- */

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR2, SIGALRM};

static void signals_of_interest(sigset_t *set) {
    sigemptyset(set);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) sigaddset(set, passed_on[i]);
    sigaddset(set, SIGCHLD);
    sigaddset(set, SIGWINCH);
    sigaddset(set, SIGUSR1);
    sigaddset(set, SIGTSTP);
    sigaddset(set, SIGCONT);
    sigaddset(set, SIGTTIN);
    sigaddset(set, SIGTTOU);
}

static void take_signals(plim__launch *launch) {
    struct sigaction ignore = {.sa_handler = SIG_IGN}, standard = {.sa_handler = SIG_DFL};
    sigaction(SIGPIPE, &ignore, &launch->pipe_before);
    sigaction(SIGCHLD, &standard, &launch->child_before);
    sigset_t set;
    signals_of_interest(&set);
    pthread_sigmask(SIG_BLOCK, &set, &launch->mask_before);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* what the command leaves behind stays visible in the tree */
}

static void raw_mode(plim__launch *launch, bool on) {
    if (!launch->session || !in_foreground(0)) return; /* in the background the terminal is the shell's */
    struct termios raw = launch->terminal;
    if (on) cfmakeraw(&raw);
    tcsetattr(0, TCSADRAIN, &raw);
}

static void resize(plim__launch *launch) {
    struct winsize size;
    int ours = isatty(1) ? 1 : 2;
    if (launch->master < 0 || ioctl(ours, TIOCGWINSZ, &size) != 0) return;
    ioctl(launch->master, TIOCSWINSZ, &size); /* tells the command too, when it is its controlling terminal */
    if (!launch->session) kill(launch->pid, SIGWINCH);
}

/* Ctrl-Z: the command stops, our shell gets the terminal back. */
static void suspend(plim__launch *launch) {
    if (launch->session) kill(-launch->pid, SIGSTOP);
    raw_mode(launch, false);
    kill(launch->session ? 0 : getpid(), SIGSTOP);
}

/* After `fg` or `bg`. */
static void resume(plim__launch *launch) {
    raw_mode(launch, true);
    resize(launch);
    if (launch->session) kill(-launch->pid, SIGCONT);
}

/* Everything that ended is collected; true when the command is among it. */
static bool collect(plim__launch *launch) {
    for (;;) {
        int status;
        struct rusage usage;
        pid_t pid = wait4(-1, &status, WNOHANG, &usage);
        if (pid <= 0) return launch->done;
        if (pid != launch->pid) continue;
        launch->done = true;
        launch->status = status;
        launch->usage = usage;
    }
}

plim__launch_event plim__launch_wait(plim__launch *launch, double seconds) {
    sigset_t set;
    signals_of_interest(&set);
    struct timespec timeout = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    if (collect(launch)) return PLIM_LAUNCH_DONE;
    siginfo_t info;
    int number = sigtimedwait(&set, &info, &timeout);
    if (number == SIGCHLD && collect(launch)) return PLIM_LAUNCH_DONE;
    if (number == SIGUSR1) return PLIM_LAUNCH_REQUEST;
    if (number == SIGWINCH) resize(launch);
    if (number == SIGTSTP) suspend(launch);
    if (number == SIGCONT) resume(launch);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        if (number == passed_on[i]) {
            /* a key press went to the whole foreground group: in our session the command has it already */
            bool had_it = !launch->session && info.si_code == SI_KERNEL;
            if (!had_it) kill(launch->session ? -launch->pid : launch->pid, number);
        }
    return PLIM_LAUNCH_TICK;
}

/* --- life ----------------------------------------------------------------------------------------------------- */

static void suspend_from_input(void *context) {
    (void)context;
    kill(getpid(), SIGTSTP); /* handled by the thread that waits */
}

static plim_status start_threads(plim__launch *launch, plim_error *error) {
    for (size_t i = 0; i < launch->pump_count; i++) PLIM_TRY(plim__pump_start(&launch->pumps[i], error));
    if (!launch->session) return PLIM_OK;
    launch->input = (plim__pump_input){.from = 0,
                                       .terminal = launch->master,
                                       .leader = launch->pid,
                                       .wake = -1,
                                       .suspend = suspend_from_input,
                                       .context = launch};
    return plim__pump_input_start(&launch->input, error);
}

plim_status plim__launch_start(plim__launch **out, char *const *argv, plim__launch_tap *tap, void *context,
                               plim_error *error) {
    *out = NULL;
    plim__launch *launch = plim__alloc_zero(1, sizeof *launch);
    if (!launch) return plim__fail_memory(error, "the command's streams", sizeof *launch);
    launch->master = launch->slave = -1;
    launch->pid = -1;
    launch->tap = tap;
    launch->context = context;
    launch->input.wake = -1;
    pthread_mutex_init(&launch->tap_lock, NULL);
    command_ends ends = {{-1, -1, -1}};
    plim__launch_prepare();
    take_signals(launch);
    plim_status status = open_streams(launch, &ends, error);
    if (launch->session)
        status = status == PLIM_OK && tcgetattr(0, &launch->terminal) != 0
                     ? plim__fail_errno(error, errno, "cannot read the terminal's settings")
                     : status;
    if (status == PLIM_OK) status = spawn(launch, &ends, argv, error);
    for (int i = 1; i <= 2; i++)
        if (ends.fd[i] >= 0 && ends.fd[i] != launch->slave && (i == 1 || ends.fd[2] != ends.fd[1])) close(ends.fd[i]);
    if (status == PLIM_OK) {
        raw_mode(launch, true);
        status = start_threads(launch, error);
        if (status != PLIM_OK) kill(launch->pid, SIGKILL); /* without its streams it would hang */
    }
    if (status != PLIM_OK) {
        plim__launch_free(launch);
        return status;
    }
    *out = launch;
    return PLIM_OK;
}

pid_t plim__launch_pid(const plim__launch *launch) { return launch->pid; }

/* Passes on what background processes still write, after we are gone: without it they would be killed by SIGPIPE, or
 * whoever reads our output would miss it. */
static void leave_behind(plim__launch *launch) {
    size_t open = 0;
    for (size_t i = 0; i < launch->pump_count; i++) open += launch->pumps[i].from >= 0;
    if (open == 0 || fork() != 0) return;
    pthread_sigmask(SIG_SETMASK, &launch->mask_before, NULL);
    plim__pump_rest(launch->pumps, launch->pump_count);
    _exit(0);
}

void plim__launch_finish(plim__launch *launch) {
    close_if(&launch->slave); /* kept so far, lest a command that closes its terminal for a while looked like the end */
    plim__pump_input_stop(&launch->input);
    for (size_t i = 0; i < launch->pump_count; i++) plim__pump_stop(&launch->pumps[i]);
    raw_mode(launch, false);
    leave_behind(launch);
}

int plim__launch_status(const plim__launch *launch, struct rusage *usage) {
    *usage = launch->usage;
    return launch->status;
}

void plim__launch_free(plim__launch *launch) {
    if (!launch) return;
    plim__pump_input_stop(&launch->input);
    for (size_t i = 0; i < launch->pump_count; i++) {
        plim__pump_stop(&launch->pumps[i]);
        close_if(&launch->pumps[i].from);
        pthread_mutex_destroy(&launch->pumps[i].lock);
    }
    close_if(&launch->slave);
    close_if(&launch->master);
    pthread_mutex_destroy(&launch->tap_lock);
    sigaction(SIGPIPE, &launch->pipe_before, NULL);
    sigaction(SIGCHLD, &launch->child_before, NULL);
    pthread_sigmask(SIG_SETMASK, &launch->mask_before, NULL);
    plim__free(launch);
}

bool plim__launch_write(plim__launch *launch, int stream, const char *data, size_t size) {
    plim__pump *pump = NULL;
    for (size_t i = 0; i < launch->pump_count; i++)
        if (launch->pumps[i].to == stream || !pump) pump = &launch->pumps[i];
    if (!pump) return plim__pump_write_all(stream, data, size);
    if (pthread_mutex_trylock(&pump->lock) != 0) return false;
    bool good = plim__pump_write_all(stream, data, size);
    pthread_mutex_unlock(&pump->lock);
    return good;
}
