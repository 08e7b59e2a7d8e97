/* The kernel's word about processes it killed for memory: its log and its count. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diagnose/death.h"
#include "mem/procfs.h"

/* "anon-rss:12kB" in bytes. */
static uint64_t kilobytes_after(const char *text, const char *key) {
    const char *at = strstr(text, key);
    if (!at) return 0;
    unsigned long long value = strtoull(at + strlen(key), NULL, 10);
    return value < (1ULL << 53) ? value * 1024 : 0;
}

bool plim__kernel_kill_parse(const char *message, plim__kernel_kill *kill) {
    const char *at = strstr(message, "Killed process ");
    if (!at) return false;
    at += strlen("Killed process ");
    char *end;
    long pid = strtol(at, &end, 10);
    if (end == at || pid <= 0) return false;
    *kill = (plim__kernel_kill){.pid = (pid_t)pid};
    /* the name may hold anything, parentheses too; figures follow it */
    const char *open = strchr(end, '('), *figures = strstr(end, ") total-vm:");
    if (!figures) figures = strrchr(end, ')');
    if (open && figures && figures > open)
        snprintf(kill->name, sizeof kill->name, "%.*s", (int)(figures - open - 1), open + 1);
    kill->rss =
        kilobytes_after(end, "anon-rss:") + kilobytes_after(end, "file-rss:") + kilobytes_after(end, "shmem-rss:");
    kill->in_group = strstr(message, "emory cgroup out of memory") != NULL;
    return true;
}

static uint64_t machine_kills(void) {
    char text[16384];
    uint64_t count = 0;
    if (plim__procfs_read(text, sizeof text, "/proc/vmstat") > 0) plim__procfs_field(text, "oom_kill", &count);
    return count;
}

void plim__kernel_log_open(plim__kernel_log *log) {
    log->fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    /* opening may be allowed and reading not */
    char record[8192];
    if (log->fd >= 0 &&
        (lseek(log->fd, 0, SEEK_END) < 0 || (read(log->fd, record, sizeof record) < 0 && errno == EPERM)))
        plim__kernel_log_close(log);
    log->kills_before = machine_kills();
}

size_t plim__kernel_log_kills(plim__kernel_log *log, plim__kernel_kill *kills, size_t most) {
    size_t count = 0;
    char record[8193];
    while (log->fd >= 0) {
        ssize_t size = read(log->fd, record, sizeof record - 1);      /* one record a read */
        if (size < 0 && (errno == EPIPE || errno == EINTR)) continue; /* older ones were overwritten */
        if (size <= 0) break;
        record[size] = 0;
        char *message = strchr(record, ';');
        plim__kernel_kill kill;
        if (!message || !plim__kernel_kill_parse(message + 1, &kill)) continue;
        if (count < most) kills[count++] = kill;
    }
    return count;
}

uint64_t plim__kernel_log_count(const plim__kernel_log *log) {
    uint64_t now = machine_kills();
    return now > log->kills_before ? now - log->kills_before : 0;
}

void plim__kernel_log_close(plim__kernel_log *log) {
    if (log->fd >= 0) close(log->fd);
    log->fd = -1;
}
