/* Small files of the kernel. */
#include "mem/procfs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ssize_t read_path(char *buffer, size_t size, const char *format, va_list args) {
    char path[PATH_MAX];
    int length = vsnprintf(path, sizeof path, format, args);
    if (length < 0 || (size_t)length >= sizeof path) return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return -1;
    size_t used = 0;
    ssize_t count = 0;
    /* these files give at most a page at a time */
    while (used + 1 < size && (count = read(fd, buffer + used, size - 1 - used)) != 0) {
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) break;
        used += (size_t)count;
    }
    close(fd);
    if (count < 0) return -1;
    buffer[used] = 0;
    return (ssize_t)used;
}

ssize_t plim__procfs_read(char *buffer, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    ssize_t used = read_path(buffer, size, format, args);
    va_end(args);
    return used;
}

/* cgroup v1 writes the largest multiple of a page below 2^63 for "no limit": whatever is that large is none. */
static uint64_t limit_of(unsigned long long number) { return number >= 1ULL << 62 ? PLIM_NO_LIMIT : number; }

bool plim__procfs_number(uint64_t *value, const char *format, ...) {
    char text[64], *end;
    va_list args;
    va_start(args, format);
    ssize_t used = read_path(text, sizeof text, format, args);
    va_end(args);
    if (used <= 0) return false;
    if (strncmp(text, "max", 3) == 0) return *value = PLIM_NO_LIMIT, true;
    if (!isdigit((unsigned char)text[0])) return false;
    unsigned long long number = strtoull(text, &end, 10); /* ULLONG_MAX when out of range: no limit */
    if (*end && !isspace((unsigned char)*end)) return false;
    *value = limit_of(number);
    return true;
}

bool plim__procfs_field(const char *text, const char *key, uint64_t *value) {
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) != 0 || (line[length] != ' ' && line[length] != ':' && line[length] != '\t'))
            continue;
        const char *at = line + length;
        while (*at == ' ' || *at == ':' || *at == '\t') at++;
        if (!isdigit((unsigned char)*at)) return false;
        char *end;
        unsigned long long number = strtoull(at, &end, 10);
        if (strncmp(end, " kB", 3) == 0) number = number > ULLONG_MAX / 1024 ? ULLONG_MAX : number * 1024;
        *value = number;
        return true;
    }
    return false;
}
