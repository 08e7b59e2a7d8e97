/* Resident memory of this process. */
#include "mem/resident.h"

#include <fcntl.h>
#include <stdatomic.h>
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
uint64_t plim__resident_peak(void) { return read_field("\nVmHWM:"); }

/* --- coarsely ------------------------------------------------------------------------------------------------- */

#define MIB ((uint64_t)1 << 20)

/* Which pages of a library come with one that is touched depends on where it is mapped, which is random: a megabyte more
 * or less. This program has 12.3 to 14.5 MiB of files; cells are from 1 + 8 n to 9 + 8 n, so that it is far from where one
 * ends, and of that one something is said that most runs are below, with what else is counted; of others the end. */
static uint64_t coarse_files(uint64_t bytes) {
    uint64_t cell = bytes > MIB ? (bytes - MIB) / (8 * MIB) : 0;
    return cell == 1 ? 53 * MIB / 4 : MIB + (cell + 1) * 8 * MIB;
}

/* The heap, stacks, data of libraries: 2.2 to 3.3 MiB where kernels are made for AVX2, 5.0 to 6.6 for AVX-512, and more where
 * code for a program was estimated too low; always the same but for some 10 pages. What files have less than is said of them
 * makes up for a quarter of a MiB. */
static uint64_t coarse_own(uint64_t bytes) {
    const uint64_t slack = MIB / 4;
    if (bytes < 4 * MIB) return 7 * MIB / 2;
    return bytes < 13 * MIB / 2 + slack ? 13 * MIB / 2 : (bytes - slack + MIB - 1) / MIB * MIB;
}

/* Pages of code that a run touches are counted with its program: a process that plans again has them already, and counting them
 * twice would refuse a budget that holds. So the first answer stands until files take a whole cell more. */
static uint64_t settled_files(uint64_t bytes) {
    static _Atomic uint64_t first;
    uint64_t before = atomic_load(&first);
    if (before && bytes <= before + 8 * MIB) return coarse_files(before);
    atomic_store(&first, bytes);
    return coarse_files(bytes);
}

uint64_t plim__resident_coarse(uint64_t own) {
    /* where libraries lie in a file system in memory (a live system, an initial RAM disk), they count as shared memory */
    uint64_t all_own = read_field("\nRssAnon:"), all_files = read_field("\nRssFile:") + read_field("\nRssShmem:");
    if (all_files == 0) all_own = plim__resident_now(); /* an old kernel */
    uint64_t rest = coarse_own(all_own > own ? all_own - own : 0);
    return all_files == 0 ? rest : rest + settled_files(all_files);
}
