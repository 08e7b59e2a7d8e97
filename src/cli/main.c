/* The program: finds the subcommand, reads its options, calls it. No logic of its own. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/command.h"
#include "cli/format.h"
#include "core/str.h"
#include "plimsoll/version.h"

#define COMMAND(name) extern const plim__command plim__command_##name;
#include "cli/commands.def"
#undef COMMAND

const plim__command *const plim__commands[] = {
#define COMMAND(name) &plim__command_##name,
#include "cli/commands.def"
#undef COMMAND
};
const size_t plim__command_count = sizeof plim__commands / sizeof *plim__commands;

static const plim__command *find(const char *name) {
    for (size_t i = 0; i < plim__command_count; i++)
        if (strcmp(plim__commands[i]->name, name) == 0) return plim__commands[i];
    return NULL;
}

/* Threads of libgomp that wait spin for some milliseconds, on processors that others need: beside two busy processes a step
 * took ten times as long. Some ten microseconds bridge the gaps between kernels as well. libgomp reads that when it is loaded,
 * so the program starts itself once more, unless the user says how threads wait; programs that it starts do not see it. */
static void wait_shortly(char **argv) {
    static const char spins[] = "2000", again[] = "PLIMSOLL_SPINS";
    char path[PATH_MAX];
    if (getenv(again)) {
        unsetenv(again);
        unsetenv("GOMP_SPINCOUNT");
        return;
    }
    if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY")) return;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0 || setenv("GOMP_SPINCOUNT", spins, 1) != 0) return;
    path[length] = 0;
    if (setenv(again, spins, 1) == 0) execv(path, argv);
    unsetenv(again); /* it cannot: then as it is */
    unsetenv("GOMP_SPINCOUNT");
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
    if (strcmp(name, "--version") == 0) {
        puts("plimsoll " PLIM_VERSION_STRING);
        return PLIM_EXIT_OK;
    }
    const plim__command *command = find(name);
    if (!command) {
        const char *best = NULL;
        for (size_t i = 0; i < plim__command_count; i++) best = plim__str_nearest(name, best, plim__commands[i]->name);
        fprintf(stderr, "plimsoll: '%s' is not a command%s%s%s 'plimsoll help' lists them\n", plim__shown(name),
                best ? "; is '" : "", best ? best : "", best ? "' meant?" : ";");
        return PLIM_EXIT_USAGE;
    }
    if (!command->quick) wait_shortly(argv);
    return plim__args_run(command, argc > 1 ? argc - 2 : 0, argv + (argc > 1 ? 2 : 1));
}
