/* What a subcommand is: a name, its options, its help, and a function. The table in commands.def is the
 * one source for dispatch, `help`, the man page and the shell completion. */
#ifndef PLIM_CLI_COMMAND_H
#define PLIM_CLI_COMMAND_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plimsoll/plimsoll.h"

/* Exit codes: what a shell script can rely on. */
enum { PLIM_EXIT_OK = 0, PLIM_EXIT_FAILURE = 1, PLIM_EXIT_USAGE = 2 };

typedef struct plim__option {
    const char *name;  /* "batch" for --batch */
    char letter;       /* 'o' for -o; 0 for none */
    const char *value; /* "N": what the argument is called; NULL for a switch */
    const char *help;  /* one sentence without a full stop */
} plim__option;

typedef struct plim__args plim__args;

typedef struct plim__command {
    const char *name;
    const char *usage;           /* what follows the name: "MODEL.onnx [OPTION...]" */
    const char *summary;         /* one line */
    const char *description;     /* paragraphs, for `help` and the man page; may be NULL */
    const plim__option *options; /* ends with a row whose name is NULL; --json, --threads and --help are always there */
    const char *examples;        /* lines of shell, each may be followed by lines that start with '#' */
    int (*run)(plim__args *args);
    bool quick;       /* no kernel runs in it: how threads wait does not matter */
    bool passthrough; /* arguments after the first positional (or --) belong to another program */
} plim__command;

extern const plim__command *const plim__commands[];
extern const size_t plim__command_count;

/* --- what was given ------------------------------------------------------------------------------------------- */

/* Positional arguments. */
size_t plim__args_count(const plim__args *args);
const char *plim__args_at(const plim__args *args, size_t index); /* NULL past the end */
/* The last value given for an option, or NULL. A switch gives "". */
const char *plim__args_get(const plim__args *args, const char *name);
bool plim__args_has(const plim__args *args, const char *name);
/* Options that may be given several times: the index-th value, or NULL. */
const char *plim__args_get_nth(const plim__args *args, const char *name, size_t index);
/* Typed reads: leave *value alone when the option is absent; on nonsense they print the usage error and
 * return false, and the command returns PLIM_EXIT_USAGE. */
bool plim__args_int(plim__args *args, const char *name, int64_t least, int64_t most, int64_t *value);
bool plim__args_double(plim__args *args, const char *name, double *value);
bool plim__args_bytes(plim__args *args, const char *name, uint64_t *value);
/* "0.485,0.456,0.406": the number of values, 0 when the option is absent, -1 after a usage error. */
int plim__args_floats(plim__args *args, const char *name, float *values, int most);
bool plim__args_json(const plim__args *args);
int plim__args_threads(const plim__args *args); /* the cores this process may use, unless --threads says */
const plim__command *plim__args_command(const plim__args *args);

/* --- what is said --------------------------------------------------------------------------------------------- */

/* One line on standard error: "plimsoll size: message". Return the exit code, so that commands end in
 * `return plim__say_error(args, &error)`. With --json standard output stays empty. */
int plim__say_error(const plim__args *args, const plim_error *error);
/* The same for what is no failure. */
void plim__say_note(const plim__args *args, const char *format, ...) PLIM_PRINTF(2, 3);
/* A value that an option does not know: "--optimizer adma: expected sgd, adam or lion; is adam meant?". */
int plim__say_choice(const plim__args *args, const char *option, const char *list);
int plim__say_failure(const plim__args *args, const char *format, ...) PLIM_PRINTF(2, 3);
int plim__say_usage(const plim__args *args, const char *format, ...) PLIM_PRINTF(2, 3);
/* Prints one JSON object and a newline on standard output, frees it, returns the exit code (1 when the
 * object is NULL or the output cannot be written). */
int plim__say_json(const plim__args *args, json_t *object);

#endif
