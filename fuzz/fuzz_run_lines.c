/* What `plimsoll run` reads of others: the kernel's log lines, small files of /proc and /sys, steps in a program's
 * output. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/death.h"
#include "diagnose/watch_steps.h"
#include "mem/procfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (!text) return 0;
    if (size) memcpy(text, data, size);
    text[size] = 0;
    plim__kernel_kill kill;
    plim__kernel_kill_parse(text, &kill);
    uint64_t value;
    plim__procfs_field(text, "oom_kill", &value);
    plim__steps steps;
    plim__steps_start(&steps);
    for (size_t at = 0, piece = 1; at < size; at += piece, piece = piece * 3 % 997 + 1) {
        plim__steps_feed(&steps, text + at, piece < size - at ? piece : size - at);
        if (plim__steps_now(&steps) < -1) abort();
    }
    free(text);
    return 0;
}
