/* The program: finds the subcommand, reads its options, calls it. No logic of its own. */
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/command.h"
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

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
    if (strcmp(name, "--version") == 0) {
        puts("plimsoll " PLIM_VERSION_STRING);
        return PLIM_EXIT_OK;
    }
    const plim__command *command = find(name);
    if (!command) {
        fprintf(stderr, "plimsoll: '%s' is not a command; 'plimsoll help' lists them\n", name);
        return PLIM_EXIT_USAGE;
    }
    return plim__args_run(command, argc > 1 ? argc - 2 : 0, argv + (argc > 1 ? 2 : 1));
}
