/* Resident memory of this process. */
#include "mem/resident.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Asked for after every update: it takes nothing from the heap. The file has some 1,500 bytes. */
static uint64_t read_field(const char *name) {
    char text[8192];
    int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t more, length = 0;
    while ((size_t)length < sizeof text - 1 && (more = read(file, text + length, sizeof text - 1 - (size_t)length)) > 0)
        length += more;
    close(file);
    text[length] = 0;
    const char *line = strstr(text, name);
    return line ? strtoull(line + strlen(name), NULL, 10) * 1024 : 0;
}

uint64_t plim__resident_now(void) { return read_field("\nVmRSS:"); }
#define MIB ((uint64_t)1 << 20)

/* Which pages of a library come with one that is touched depends on where it is mapped, which is random, and what a
 * program does: a megabyte more or less. Cells are from 2 + 8 n to 10 + 8 n MiB, and what is said is the middle of one. */
static uint64_t coarse_files(uint64_t bytes) {
    uint64_t cell = bytes > 2 * MIB ? (bytes - 2 * MIB) / (8 * MIB) : 0;
    return 2 * MIB + cell * 8 * MIB + 4 * MIB;
}

uint64_t plim__resident_coarse(void) {
    uint64_t own = read_field("\nRssAnon:") + read_field("\nRssShmem:"), files = read_field("\nRssFile:");
    if (files == 0) own = plim__resident_now(); /* an old kernel */
    return (own + MIB - 1) / MIB * MIB + (files ? coarse_files(files) : 0);
}

uint64_t plim__resident_peak(void) { return read_field("\nVmHWM:"); }
