/* Reading a command line against a command's table of options. */
#ifndef PLIM_CLI_ARGS_H
#define PLIM_CLI_ARGS_H

#include "cli/command.h"

/* Parses the arguments after the command's name, answers --help, runs the command; the exit code. */
int plim__args_run(const plim__command *command, int argc, char **argv);

/* The index-th option of a command, those that every command has included; NULL past the end. */
const plim__option *plim__option_at(const plim__command *command, size_t index);

/* Help of one command on standard output; in cmd_help.c. */
void plim__help_command(const plim__command *command);

#endif
