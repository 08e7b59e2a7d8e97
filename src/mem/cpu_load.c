/* The load of processors, as /proc/stat and getrusage have it. */
#include "mem/cpu_load.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TEXT = 2048, STATES = 8, IDLE = 3, WAITING = 4 }; /* user nice system idle iowait irq softirq steal */

void plim__cpu_load_parse(const char *text, int (*mine)(int processor, void *context), void *context,
                          plim__cpu_load *load) {
    for (const char *line = text; line && strncmp(line, "cpu", 3) == 0;
         line = strchr(line, '\n'), line += line != NULL) {
        char *at;
        if (line[3] == ' ') continue; /* all of them */
        long processor = strtol(line + 3, &at, 10);
        if (!mine((int)processor, context)) continue;
        for (int state = 0; state < STATES; state++) {
            double ticks = (double)strtoull(at, &at, 10);
            load->all += ticks;
            if (state != IDLE && state != WAITING) load->busy += ticks;
        }
    }
}

static int is_mine(int processor, void *set) {
    return processor < CPU_SETSIZE && CPU_ISSET((size_t)processor, (cpu_set_t *)set);
}

static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec / 1e6; }

/* Line by line, for hundreds of processors have one each, and steps allocate nothing. False when there is nothing to read. */
static bool read_stat(plim__cpu_load *load) {
    char text[TEXT];
    size_t used = 0;
    ssize_t count;
    int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    load->busy = load->all = 0;
    while ((count = read(fd, text + used, sizeof text - 1 - used)) > 0 || (count < 0 && errno == EINTR)) {
        used += count > 0 ? (size_t)count : 0;
        text[used] = 0;
        char *end = strrchr(text, '\n');
        if (!end) break;
        *end = 0; /* whole lines */
        plim__cpu_load_parse(text, is_mine, &load->processors, load);
        if (strncmp(text, "cpu", 3) != 0) break; /* processors come first */
        used -= (size_t)(end + 1 - text);
        memmove(text, end + 1, used);
    }
    close(fd);
    return load->all > 0;
}

static void look(plim__cpu_load *load) {
    struct rusage usage;
    load->busy = load->all = load->own = 0;
    if (!read_stat(load)) return;
    double ticks = (double)sysconf(_SC_CLK_TCK);
    load->busy /= ticks;
    load->all /= ticks;
    if (getrusage(RUSAGE_SELF, &usage) == 0) load->own = seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

plim__cpu_load plim__cpu_load_begin(void) {
    plim__cpu_load load = {0};
    if (sched_getaffinity(0, sizeof load.processors, &load.processors) == 0) look(&load);
    return load;
}

double plim__cpu_load_others(plim__cpu_load *begin) {
    plim__cpu_load before = *begin;
    look(begin);
    double all = begin->all - before.all, others = begin->busy - before.busy - (begin->own - before.own);
    if (!(all > 0) || !(others > 0)) return 0;
    return others < all ? others / all : 1;
}
