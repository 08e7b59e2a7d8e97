/* plimsoll budget: another budget for a training that is running. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"

static int run(plim__args *args) {
    const char *who = plim__args_at(args, 0), *size = plim__args_at(args, 1);
    if (!who || !size) return plim__say_usage(args, "give a process and a size, as: plimsoll budget 1234 700MiB");
    char *end;
    errno = 0;
    long pid = strtol(who, &end, 10);
    uint64_t bytes;
    plim_error error;
    if (errno || *end || pid <= 0) return plim__say_usage(args, "'%s' is not a process number", who);
    if (plim_bytes_parse(size, &bytes, &error) != PLIM_OK || bytes == 0)
        return plim__say_usage(args, "'%s' is not a size, as 700MiB", size);
    if (plim_budget_request((int)pid, bytes, &error) != PLIM_OK) return plim__say_error(args, &error);
    if (plim__args_json(args))
        return plim__say_json(args, json_pack("{s:I, s:I}", "pid", (json_int_t)pid, "budget_bytes", (json_int_t)bytes));
    char text[PLIM_BYTES_TEXT];
    printf("asked process %ld to train within %s; it plans again after the step it is in\n", pid,
           plim_bytes_format(bytes, text));
    return PLIM_EXIT_OK;
}

static const plim__option options[] = {{0}};

const plim__command plim__command_budget = {
    .name = "budget",
    .usage = "PID SIZE",
    .summary = "Give a training that is running another budget",
    .description = "The run plans again at the next step and goes on with the same weights, state and data. A budget "
                   "that cannot be met is refused there, and the run goes on as it was.",
    .options = options,
    .examples = "  plimsoll budget 1234 500MiB",
    .run = run,
};
