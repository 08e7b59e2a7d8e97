/* The heap, by the knobs of glibc. */
#include "mem/heap.h"

#include <malloc.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/host.h"

/* Of its own heap glibc never uses an aligned block twice for the same size: only small ones may lie there. */
#define LARGE (64 << 10)
#define KEPT  (256 << 10)

void plim__heap_prepare(void) {
    if (plim__host_keeps_heap()) return;
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, KEPT);
    /* a page of 2 MiB where one of 4 KiB was asked for: heaps and stacks would take megabytes more, by where they lie */
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

void plim__heap_trim(void) {
    if (!plim__host_keeps_heap()) malloc_trim(0);
}

/* --- holes ---------------------------------------------------------------------------------------------------- */

struct plim__heap_plug {
    plim__heap_plug *next;
};

#define LARGEST_PLUG ((size_t)16 << 20)
#define MOST_PLUGS   1024

/* Not in a mapping of its own: those lie above. */
static bool in_heap(const void *block) { return (const char *)block < (const char *)sbrk(0); }

plim__heap_plug *plim__heap_plug_holes(void) {
    plim__heap_plug *plugs = NULL;
    int count = 0;
    if (plim__host_keeps_heap()) return NULL;
    for (size_t size = LARGEST_PLUG; size >= LARGE && count < MOST_PLUGS; size /= 2)
        while (count < MOST_PLUGS) {
            plim__heap_plug *plug = plim__alloc_optional(size);
            if (!plug || !in_heap(plug)) {
                plim__free(plug);
                break;
            }
            plug->next = plugs;
            plugs = plug;
            count++;
        }
    return plugs;
}

void plim__heap_unplug(plim__heap_plug *plugs) {
    while (plugs) {
        plim__heap_plug *next = plugs->next;
        plim__free(plugs);
        plugs = next;
    }
}
