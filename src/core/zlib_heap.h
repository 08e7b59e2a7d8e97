/* zlib on our own heap. */
#ifndef PLIM_CORE_ZLIB_HEAP_H
#define PLIM_CORE_ZLIB_HEAP_H

#include <zlib.h>

#include "core/alloc.h"

static inline voidpf plim__zlib_alloc(voidpf unused, uInt count, uInt size) {
    (void)unused;
    return plim__alloc_array(count, size);
}

static inline void plim__zlib_free(voidpf unused, voidpf block) {
    (void)unused;
    plim__free(block);
}

/* Before inflateInit or deflateInit. */
static inline void plim__zlib_use_heap(z_stream *stream) {
    stream->zalloc = plim__zlib_alloc;
    stream->zfree = plim__zlib_free;
    stream->opaque = NULL;
}

#endif
