/* Reading budgets. */
#include "cli/budget_options.h"

#include <ctype.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/activity.h"

extern char **environ;

static void warn_if_too_large(const plim__args *args, uint64_t budget) {
    const char *limit = "";
    uint64_t allowed = plim_machine_budget(&limit);
    char has[PLIM_BYTES_TEXT], asked[PLIM_BYTES_TEXT];
    if (allowed && budget > allowed)
        plim__say_note(args, "warning: the budget of %s is more than %s leaves (%s)", plim_bytes_format(budget, asked),
                       limit, plim_bytes_format(allowed, has));
}

static bool read_allow(plim__args *args, plim_trainer_options *options) {
    const char *text = plim__args_get(args, "allow");
    if (!text) return true;
    for (plim_class k = PLIM_EXACT; k <= PLIM_LOSSY; k++)
        if (strcmp(text, plim_class_name(k)) == 0) {
            options->allow = (plim_allow)(PLIM_ALLOW_EXACT + k);
            return true;
        }
    plim__say_choice(args, "allow", "exact, reordered or lossy");
    return false;
}

bool plim__budget_options_read(plim__args *args, plim_trainer_options *options) {
    const char *text = plim__args_get(args, "budget");
    if (!read_allow(args, options)) return false;
    options->spill = plim__args_get(args, "spill");
    options->no_spill = plim__args_has(args, "no-spill");
    if (options->spill && options->no_spill) {
        plim__say_usage(args, "--spill %s and --no-spill: one of them", options->spill);
        return false;
    }
    if (!text) return true;
    if (strcmp(text, "auto") == 0) {
        /* threads that compute take address space, which is what `ulimit -v` counts: before, not after. Who needs them will be
         * told when there is none. */
        (void)plim_machine_prepare(plim__args_threads(args), NULL);
        options->budget = plim_machine_budget(NULL);
        return true;
    }
    if (!plim__args_bytes(args, "budget", &options->budget)) return false;
    if (options->budget == 0) {
        plim__say_usage(args, "--budget %s: a budget is more than nothing", text);
        return false;
    }
    warn_if_too_large(args, options->budget);
    return true;
}

/* As a shell takes it for one word. */
static void add_word(plim__str *command, const char *word) {
    bool plain = *word != 0;
    for (const char *c = word; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_-./,:=+@%", *c)) plain = false;
    if (plain) {
        plim__str_add(command, word);
        return;
    }
    plim__str_add(command, "'");
    for (const char *c = word; *c; c++) plim__str_addf(command, *c == '\'' ? "'\\'%c" : "%c", *c);
    plim__str_add(command, "'");
}

void plim__budget_repeat_command(const plim__args *args, plim__str *command) {
    static const char *const others[] = {"budget", "device-memory", "plan", "replan",      "report",
                                         "save",   "trace",         "json", "trace-every", NULL};
    plim__str_addf(command, "plimsoll %s ", plim__args_command(args)->name);
    add_word(command, plim__args_at(args, 0));
    for (const plim__option *o = plim__args_command(args)->options; o->name; o++) {
        const char *value;
        size_t k = 0;
        while (others[k] && strcmp(o->name, others[k]) != 0) k++;
        for (size_t i = 0; !others[k] && (value = plim__args_get_nth(args, o->name, i)); i++) {
            plim__str_addf(command, " --%s", o->name);
            if (!o->value) continue;
            plim__str_add(command, " ");
            add_word(command, value);
        }
    }
    const char *threads = plim__args_get(args, "threads"); /* of all commands: it changes what the process holds */
    if (threads) {
        plim__str_add(command, " --threads ");
        add_word(command, threads);
    }
    plim__str_add(command, " --budget");
}

static bool may_measure(const plim__args *args) {
    const char *limit = "";
    char need[PLIM_BYTES_TEXT], has[PLIM_BYTES_TEXT];
    uint64_t allowed = plim_machine_budget(&limit);
    bool enough = !allowed || allowed >= plim_process_resident() + PLIM_MEASURING_BYTES;
    if (!enough)
        plim__say_note(args,
                       "expected times are those of an average machine: measuring needs %s, %s leaves "
                       "%s (plimsoll costs)",
                       plim_bytes_format(PLIM_MEASURING_BYTES, need), limit, plim_bytes_format(allowed, has));
    else
        plim__activity_say(args, "measuring what operators cost on this machine, once, for a few seconds");
    return enough;
}

/* In a process of its own, whose memory is gone when it ends. */
static void spawn_costs(const plim__args *args) {
    char threads[32];
    snprintf(threads, sizeof threads, "%d", plim__args_threads(args));
    char *argv[] = {"plimsoll", "costs", "--threads", threads, "--json", NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    if (posix_spawn_file_actions_init(&actions) != 0) return;
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
    if (posix_spawn(&child, "/proc/self/exe", &actions, NULL, argv, environ) == 0) waitpid(child, NULL, 0);
    posix_spawn_file_actions_destroy(&actions);
}

void plim__budget_measure_costs(const plim__args *args) {
    plim_machine_costs costs;
    int threads = plim__args_threads(args);
    if (plim_machine_get_costs(threads, &costs, NULL) != PLIM_OK) return;
    if (!costs.measured && may_measure(args)) {
        spawn_costs(args);
        (void)plim_machine_get_costs(threads, &costs, NULL);
    }
    if (!costs.measured && isatty(2))
        plim__say_note(args, "expected times are those of an average machine: this one is too busy to measure them, or "
                             "keeps no cache (plimsoll costs --again)");
}
