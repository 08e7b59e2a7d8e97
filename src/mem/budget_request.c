/* Requests lie in $XDG_RUNTIME_DIR/plimsoll, or /tmp/plimsoll-<user>: "<pid>.run" says that a process takes them,
 * "<pid>.budget" is one. */
#include "mem/budget_request.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file.h"

#define PATH 512

static void path_of(char path[PATH], pid_t pid, const char *suffix) {
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char folder[PATH - 64];
    if (runtime && *runtime)
        snprintf(folder, sizeof folder, "%s/plimsoll", runtime);
    else
        snprintf(folder, sizeof folder, "/tmp/plimsoll-%u", (unsigned)getuid());
    mkdir(folder, 0700);
    snprintf(path, PATH, "%s/%ld.%s", folder, (long)pid, suffix);
}

plim_status plim__budget_request_send(pid_t pid, uint64_t bytes, plim_error *error) {
    char path[PATH], text[32];
    path_of(path, pid, "run");
    if (kill(pid, 0) != 0 || access(path, F_OK) != 0)
        return plim__fail(error, PLIM_NOT_FOUND, "process %ld is not a plimsoll train of yours", (long)pid);
    path_of(path, pid, "budget");
    int length = snprintf(text, sizeof text, "%llu\n", (unsigned long long)bytes);
    return plim__file_write(path, text, (size_t)length, error);
}

plim_status plim__budget_request_open(plim_error *error) {
    char path[PATH];
    path_of(path, getpid(), "budget");
    unlink(path);
    path_of(path, getpid(), "run");
    return plim__file_write(path, "", 0, error);
}

bool plim__budget_request_take(uint64_t *bytes) {
    char path[PATH], text[32];
    path_of(path, getpid(), "budget");
    FILE *file = fopen(path, "re");
    if (!file) return false;
    char *end = NULL;
    bool good = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    unlink(path);
    errno = 0;
    if (good) *bytes = strtoull(text, &end, 10);
    return good && errno == 0 && end != text;
}

void plim__budget_request_close(void) {
    char path[PATH];
    path_of(path, getpid(), "budget");
    unlink(path);
    path_of(path, getpid(), "run");
    unlink(path);
}
