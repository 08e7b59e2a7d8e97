/* Lines of llama.cpp, of all that stand upon it, and of their command lines:
 *
 *   load_tensors:  CUDA0 model buffer size =  3946.35 MiB      weights (in older versions "CUDA0 buffer size")
 *   llama_kv_cache_init:  CUDA0 KV buffer size =  11.00 MiB    cache
 *   offloaded 23/23 layers to GPU                              layers
 *   -ngl 33, --n-gpu-layers 33, n_gpu_layers=33                layers that are asked for
 */
#include "diagnose/llama_log.h"

#include <string.h>

/* "all of them" is written as a large number: it tells none. */
enum { MOST_LAYERS = 200 };

static void read_buffer(plim__llama_log *made, plim__text line) {
    size_t length = (size_t)(line.end - line.at);
    plim__text after = line;
    plim_amount size;
    if (!plim__seek(&after, length, "buffer size = %S", &size) || !size.known) return;
    if (plim__has(line, length, "CPU") || plim__has(line, length, "Host") || plim__has(line, length, "compute")) return;
    if (plim__has(line, length, "KV buffer"))
        made->cache += (double)size.bytes;
    else
        made->weights += (double)size.bytes;
}

static int64_t asked_layers(plim__text line) {
    static const char *const options[] = {"-ngl %i", "--n-gpu-layers %i", "n_gpu_layers=%i", "num_gpu %i"};
    int64_t count;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        plim__text t = line;
        if (plim__seek(&t, (size_t)(line.end - line.at), options[i], &count)) return count;
    }
    return -1;
}

plim__llama_log plim__llama_read(plim__text log) {
    plim__llama_log made = {.layers = -1};
    int64_t printed = -1, asked = -1, all;
    for (const char *at = log.at; at < log.end;) {
        const char *stop = memchr(at, '\n', (size_t)(log.end - at));
        plim__text line = {at, stop ? stop : log.end}, t = line;
        size_t length = (size_t)(line.end - line.at);
        read_buffer(&made, line);
        int64_t count = asked_layers(line);
        if (count >= 0) asked = count;
        if (plim__seek(&t, length, "offloaded %i/%i layers", &count, &all)) printed = count;
        at = line.end + 1;
    }
    made.layers = printed >= 0 ? printed : asked > MOST_LAYERS ? -1 : asked;
    return made;
}
