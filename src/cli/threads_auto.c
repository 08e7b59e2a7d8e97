/* Some updates of the same job for each number of threads, each in a process of its own, whose memory is gone when it ends:
 * `plimsoll find-lr` with learning rates near zero does just that and writes nothing. A number of threads that is slower than
 * the best so far is given up as soon as that shows, and a job whose first updates take longer than LONGEST is large enough
 * for all threads. */
#include "cli/threads_auto.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/activity.h"
#include "cli/format.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "core/str.h"
#include "core/vec.h"

extern char **environ;

#define LONGEST  20.0 /* seconds for the first measurement */
#define PATIENCE 1.3  /* how much longer than the best a measurement may take before it is given up */

typedef PLIM_VEC(char *) words;

typedef struct trial {
    int threads;
    double seconds; /* of an update; 0: not known */
    double took;    /* altogether, planning included */
    bool slow;      /* given up */
} trial;

bool plim__threads_are_auto(const plim__args *args) {
    const char *text = plim__args_get(args, "threads");
    return text && strcmp(text, "auto") == 0;
}

/* Learning rates are the measurement's own; what would be written or read twice has no place in it. */
static bool passes(const char *name) {
    static const char *const own[] = {"data", "steps",  "from",   "to",      "plot",     "config",   "save-config",
                                      "lr",   "budget", "warmup", "lr-step", "lr-gamma", "lr-least", "schedule"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(name, own[i]) == 0) return false;
    return true;
}

static bool add(words *line, const char *option, const char *value) {
    plim__str word = {0};
    if (option) plim__str_addf(&word, "--%s%s", option, value ? "=" : "");
    if (value) plim__str_add(&word, value);
    if (!word.failed && plim__vec_push(line, word.data)) return true;
    plim__str_free(&word);
    return false;
}

/* This process stays beside the one that measures: a budget is for both. */
static bool add_budget(words *line, const plim__args *args) {
    const char *text = plim__args_get(args, "budget");
    uint64_t bytes = 0, own = plim_process_resident();
    char number[32];
    if (!text || plim_bytes_parse(text, &bytes, NULL) != PLIM_OK || bytes <= own)
        return !text || add(line, "budget", text);
    snprintf(number, sizeof number, "%llu", (unsigned long long)(bytes - own));
    return add(line, "budget", number);
}

static const plim__command *measuring(void) {
    for (size_t i = 0; i < plim__command_count; i++)
        if (strcmp(plim__commands[i]->name, "find-lr") == 0) return plim__commands[i];
    return NULL;
}

static bool make_line(words *line, const plim__args *args, int threads) {
    char count[32];
    const char *data = plim__args_get(args, "data"), *value;
    snprintf(count, sizeof count, "%d", threads);
    bool made = add(line, NULL, "plimsoll") && add(line, NULL, "find-lr") && add(line, NULL, plim__args_at(args, 0)) &&
                add(line, "data", data ? data : "synthetic") && add(line, "from", "1e-12") &&
                add(line, "to", "1e-11") && add(line, "steps", "10") && add(line, "threads", count) &&
                add(line, "json", NULL) && add_budget(line, args);
    for (const plim__option *o = measuring()->options; made && o->name; o++)
        for (size_t i = 0; made && passes(o->name) && (value = plim__args_get_nth(args, o->name, i)); i++)
            made = add(line, o->name, o->value ? value : NULL);
    return made && plim__vec_push(line, (char *)NULL);
}

/* Reads what the child prints until it ends or its time is over; then it is killed. */
static bool listen_to(int fd, pid_t child, double longest, plim__str *text) {
    double end = plim__clock_seconds() + longest;
    char buffer[4096];
    bool late = false;
    for (;;) {
        fd_set ready;
        FD_ZERO(&ready);
        FD_SET(fd, &ready);
        double left = end - plim__clock_seconds();
        struct timeval wait = {.tv_sec = (long)left, .tv_usec = (long)((left - (double)(long)left) * 1e6)};
        late = left <= 0 || select(fd + 1, &ready, NULL, NULL, &wait) <= 0;
        ssize_t got = late ? 0 : read(fd, buffer, sizeof buffer);
        if (got <= 0) break;
        plim__str_addn(text, buffer, (size_t)got);
    }
    if (late) kill(child, SIGKILL);
    return !late;
}

static double seconds_of(const char *text) {
    json_t *object = json_loads(text, 0, NULL);
    double seconds = json_number_value(json_object_get(object, "seconds_per_step"));
    json_decref(object);
    return seconds;
}

static void measure(const plim__args *args, double longest, trial *t) {
    int ends[2];
    pid_t child;
    words line = {0};
    plim__str text = {0};
    posix_spawn_file_actions_t actions;
    double begin = plim__clock_seconds();
    if (make_line(&line, args, t->threads) && pipe(ends) == 0) {
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
        posix_spawn_file_actions_addclose(&actions, ends[0]);
        posix_spawn_file_actions_addclose(&actions, ends[1]);
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
        bool started = posix_spawn(&child, "/proc/self/exe", &actions, NULL, line.items, environ) == 0;
        posix_spawn_file_actions_destroy(&actions);
        close(ends[1]);
        if (started) t->slow = !listen_to(ends[0], child, longest, &text);
        close(ends[0]);
        if (started) waitpid(child, NULL, 0);
        if (started && !t->slow) t->seconds = seconds_of(plim__str_text(&text));
    }
    t->took = plim__clock_seconds() - begin;
    for (size_t i = 0; i < line.count; i++) plim__free(line.items[i]);
    plim__vec_free(&line);
    plim__str_free(&text);
}

static void say(const plim__args *args, const trial *trials, int count, int best) {
    plim__str text = {0};
    for (int i = 0; i < count; i++) {
        plim__str_addf(&text, "%s%d: ", i ? ", " : "", trials[i].threads);
        if (trials[i].slow)
            plim__str_add(&text, "longer");
        else
            plim__str_addf(&text, "%.3g ms", trials[i].seconds * 1e3);
    }
    plim__say_note(args, "threads: %d, by the time of an update (%s)", best, plim__str_text(&text));
    plim__str_free(&text);
}

int plim__threads_measure(const plim__args *args) {
    enum { MOST = 16 };
    trial trials[MOST] = {{0}};
    int all = plim_machine_threads(), count = 0, best = -1;
    if (all == 1 || !plim__args_at(args, 0)) return all;
    for (int threads = all; threads >= 1 && count < MOST; threads /= 2) {
        trial *t = &trials[count++];
        *t = (trial){.threads = threads};
        plim__activity_say(args, "measuring how many threads pay: %d", threads);
        measure(args, best < 0 ? LONGEST : PATIENCE * trials[best].took, t);
        if (t->seconds <= 0 && !t->slow) break; /* it cannot run like this */
        if (t->slow && best < 0) break;         /* large enough for all */
        if (!t->slow && (best < 0 || t->seconds < trials[best].seconds)) best = count - 1;
    }
    plim__activity_end();
    if (best < 0) {
        plim__say_note(args, "threads: %d, all that this process may use (%s)", all,
                       trials[0].slow ? "ten updates take longer than twenty seconds" : "nothing could be measured");
        return all;
    }
    if (trials[count - 1].seconds <= 0 && !trials[count - 1].slow) count--;
    say(args, trials, count, trials[best].threads);
    return trials[best].threads;
}
