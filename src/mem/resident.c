/* Resident memory of this process. */
#include "mem/resident.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t read_field(const char *name) {
    FILE *file = fopen("/proc/self/status", "re");
    if (!file) return 0;
    char line[256];
    uint64_t kilobytes = 0;
    size_t length = strlen(name);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, name, length) == 0) kilobytes = strtoull(line + length, NULL, 10);
    fclose(file);
    return kilobytes * 1024;
}

uint64_t plim__resident_now(void) { return read_field("VmRSS:"); }
#define MIB ((uint64_t)1 << 20)

/* Which pages of a library come with one that is touched depends on where it is mapped, which is random, and what a
 * program does: a megabyte more or less. Cells are from 2 + 8 n to 10 + 8 n MiB, and what is said is the middle of one. */
static uint64_t coarse_files(uint64_t bytes) {
    uint64_t cell = bytes > 2 * MIB ? (bytes - 2 * MIB) / (8 * MIB) : 0;
    return 2 * MIB + cell * 8 * MIB + 4 * MIB;
}

uint64_t plim__resident_coarse(void) {
    uint64_t own = read_field("RssAnon:") + read_field("RssShmem:"), files = read_field("RssFile:");
    if (files == 0) own = plim__resident_now(); /* an old kernel */
    return (own + MIB - 1) / MIB * MIB + (files ? coarse_files(files) : 0);
}

uint64_t plim__resident_peak(void) { return read_field("VmHWM:"); }
