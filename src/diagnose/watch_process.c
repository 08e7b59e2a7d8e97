/* The memory of processes, as /proc tells it. */
#include "diagnose/watch_process.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mem/procfs.h"

static uint64_t page_size(void) {
    static uint64_t size;
    if (!size) size = (uint64_t)sysconf(_SC_PAGESIZE);
    return size;
}

bool plim__process_rss(pid_t pid, uint64_t *rss, uint64_t *shared) {
    char text[128];
    if (plim__procfs_read(text, sizeof text, "/proc/%ld/statm", (long)pid) <= 0) return false;
    char *at = text;
    strtoull(at, &at, 10); /* virtual size */
    *rss = strtoull(at, &at, 10) * page_size();
    *shared = strtoull(at, &at, 10) * page_size();
    return true;
}

/* "42 (a name) with) S 1 42 ...": the name ends at the last parenthesis; parent is field 4, start 22, rss 24. */
bool plim__process_read(pid_t pid, plim__process *process) {
    char text[2048];
    if (plim__procfs_read(text, sizeof text, "/proc/%ld/stat", (long)pid) <= 0) return false;
    char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!open || !close || close < open) return false;
    *process = (plim__process){.pid = pid};
    *close = 0;
    snprintf(process->name, sizeof process->name, "%s", open + 1);
    char *at = close + 1;
    while (*at == ' ') at++;
    if (*at) at++; /* the state */
    for (int field = 4; field <= 24; field++) {
        unsigned long long value = strtoull(at, &at, 10);
        if (field == 4) process->parent = (pid_t)value;
        if (field == 22) process->started = value;
        if (field == 24) process->rss = value * page_size();
    }
    return true;
}

bool plim__process_scan(plim__process_list *list) {
    DIR *folder = opendir("/proc");
    if (!folder) return false;
    list->count = 0;
    bool good = true;
    struct dirent *entry;
    while (good && (entry = readdir(folder))) {
        if (!isdigit((unsigned char)entry->d_name[0])) continue;
        plim__process process;
        if (plim__process_read((pid_t)strtol(entry->d_name, NULL, 10), &process)) good = plim__vec_push(list, process);
    }
    closedir(folder);
    return good;
}

bool plim__process_swap(pid_t pid, uint64_t *swap) {
    char text[4096];
    return plim__procfs_read(text, sizeof text, "/proc/%ld/status", (long)pid) > 0 &&
           plim__procfs_field(text, "VmSwap", swap);
}

bool plim__process_detail(plim__process *process) {
    uint64_t rss, clean = 0, dirty = 0;
    if (!plim__process_rss(process->pid, &rss, &process->shared)) return false;
    char text[2048];
    if (plim__procfs_read(text, sizeof text, "/proc/%ld/smaps_rollup", (long)process->pid) <= 0) return false;
    process->detailed = plim__procfs_field(text, "Pss", &process->pss);
    plim__procfs_field(text, "Rss", &process->rss);
    plim__procfs_field(text, "Swap", &process->swap);
    if (plim__procfs_field(text, "Shared_Clean", &clean) && plim__procfs_field(text, "Shared_Dirty", &dirty))
        process->shared = clean + dirty;
    return process->detailed;
}

const char *plim__process_command(const plim__process *process, char *buffer, size_t size) {
    ssize_t used = plim__procfs_read(buffer, size, "/proc/%ld/cmdline", (long)process->pid);
    if (used <= 0) {
        snprintf(buffer, size, "[%s]", process->name);
        used = (ssize_t)strlen(buffer);
    }
    while (used > 0 && buffer[used - 1] == 0) used--;
    buffer[used] = 0;
    for (ssize_t i = 0; i < used; i++) {
        unsigned char c = (unsigned char)buffer[i];
        if (c == 0)
            buffer[i] = ' ';
        else if (c < ' ' || c >= 127)
            buffer[i] = '?'; /* escapes of others must not reach a terminal */
    }
    return buffer;
}

size_t plim__process_children(pid_t pid, pid_t *children, size_t most) {
    char text[4096], *at = text, *end;
    if (plim__procfs_read(text, sizeof text, "/proc/%ld/task/%ld/children", (long)pid, (long)pid) <= 0) return 0;
    size_t count = 0;
    for (long child; count < most && (child = strtol(at, &end, 10)) > 0 && end != at && *end == ' '; at = end)
        children[count++] = (pid_t)child; /* a number that was cut has no blank after it */
    return count;
}

void plim__process_keep_tree(plim__process_list *list, pid_t root) {
    /* kept ones are moved to the front; each round adds the children of what is there */
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].pid == root) {
            plim__process first = list->items[0];
            list->items[0] = list->items[i];
            list->items[i] = first;
            kept = 1;
            break;
        }
    for (size_t parent = 0; parent < kept; parent++)
        for (size_t i = kept; i < list->count; i++)
            if (list->items[i].parent == list->items[parent].pid) {
                plim__process child = list->items[i];
                list->items[i] = list->items[kept];
                list->items[kept++] = child;
            }
    list->count = kept;
}
