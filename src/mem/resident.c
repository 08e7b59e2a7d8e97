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
uint64_t plim__resident_peak(void) { return read_field("VmHWM:"); }
