/* The file of rates. */
#include "budget/costs_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/host.h"
#include "core/str.h"
#include "plimsoll/version.h"

#define FORM 3 /* of the file: rates of an earlier form mean something else */

void plim__processor_name(char *name, size_t size) {
    snprintf(name, size, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        snprintf(name, size, "%s", colon + 2);
        name[strcspn(name, "\n")] = 0;
        break;
    }
    if (file) fclose(file);
}

/* "…/plimsoll/costs-<form>-<hash of processor and version>-<threads>.json"; NULL when there is no home. */
static char *cache_path(int threads, bool make) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char cpu[128];
    plim__processor_name(cpu, sizeof cpu);
    uint64_t hash = 1469598103934665603u;
    for (const char *c = cpu; *c; c++) hash = (hash ^ (uint8_t)*c) * 1099511628211u;
    for (const char *c = PLIM_VERSION_STRING; *c; c++) hash = (hash ^ (uint8_t)*c) * 1099511628211u;
    plim__str path = {0};
    if (cache && *cache)
        plim__str_addf(&path, "%s", cache);
    else if (home && *home)
        plim__str_addf(&path, "%s/.cache", home);
    else
        return NULL;
    if (make) mkdir(plim__str_text(&path), 0700);
    plim__str_add(&path, "/plimsoll");
    if (make) mkdir(plim__str_text(&path), 0755);
    plim__str_addf(&path, "/costs-%d-%016llx-%d.json", FORM, (unsigned long long)hash, threads);
    char *text = path.failed ? NULL : plim__strdup(path.data);
    plim__str_free(&path);
    return text;
}

static bool read_cache(int threads, plim__costs *costs) {
    if (plim__host_keeps_files()) return false;
    char *path = cache_path(threads, false), *text = NULL;
    size_t size;
    bool good =
        path && plim__file_read_own(path, 1 << 20, &text, &size, NULL) == PLIM_OK && plim__costs_read(costs, text);
    plim__free(path);
    plim__free(text);
    return good;
}

/* There is nothing, or a file that may be replaced. */
static bool is_ours(const char *path) {
    struct stat info;
    return lstat(path, &info) != 0 || (S_ISREG(info.st_mode) && info.st_uid == geteuid());
}

bool plim__costs_storable(int threads) {
    if (plim__host_keeps_files()) return false;
    char *path = cache_path(threads, true);
    bool there = path && access(path, F_OK) == 0, storable = there && is_ours(path) && access(path, R_OK | W_OK) == 0;
    if (path && !there) {
        *strrchr(path, '/') = 0;
        storable = access(path, W_OK | X_OK) == 0;
    }
    plim__free(path);
    return storable;
}

void plim__costs_store(int threads, const plim__costs *costs) {
    plim__costs before;
    if (plim__host_keeps_files() || (read_cache(threads, &before) && before.others < costs->others)) return;
    char *path = cache_path(threads, true), *text = path ? plim__costs_write(costs) : NULL;
    if (text && is_ours(path)) plim__file_write(path, text, strlen(text), NULL);
    plim__free(text);
    plim__free(path);
}

static bool wants_default(void) {
    const char *wish = getenv("PLIMSOLL_COSTS");
    return wish && strcmp(wish, "default") == 0;
}

bool plim__costs_known(int threads, plim__costs *costs) {
    *costs = plim__costs_default(threads);
    if (wants_default()) return true;
    if (read_cache(threads, costs) && costs->others <= PLIM__BUSY) return true;
    double others = costs->others;
    *costs = plim__costs_default(threads);
    costs->others = others;
    return false;
}
