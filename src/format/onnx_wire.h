/* Protocol buffers on the wire, walked without reading the large parts: a file of gigabytes costs a window of
 * 64 KiB. A message's plain fields are gathered into a small buffer that protobuf-c decodes; the parts that are
 * large (weights) or that nest (nodes, subgraphs, types) are only found here, as spans of the file.
 *
 *   message   field field field ...
 *   field     tag (varint: number << 3 | type) | value (0) | 8 bytes (1) | length, bytes (2) | 4 bytes (5)
 */
#ifndef PLIM_FORMAT_ONNX_WIRE_H
#define PLIM_FORMAT_ONNX_WIRE_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plimsoll/status.h"

/* The bytes [at, end) of a file. */
typedef struct plim__span {
    uint64_t at, end;
} plim__span;

static inline uint64_t plim__span_length(plim__span span) { return span.end - span.at; }

/* A file or a block of memory to walk. */
typedef struct plim__wire {
    const unsigned char *memory; /* the whole content; NULL: read from fd */
    int fd;
    const char *path; /* for messages */
    uint64_t size;
    unsigned char *window; /* [window_at, window_at + window_size) of the file */
    uint64_t window_at;
    size_t window_size;
} plim__wire;

enum { PLIM__WIRE_VARINT = 0, PLIM__WIRE_FIXED64 = 1, PLIM__WIRE_BYTES = 2, PLIM__WIRE_FIXED32 = 5 };

typedef struct plim__wire_field {
    uint32_t number;
    int type;         /* one of the above */
    plim__span whole; /* with its tag */
    plim__span body;  /* the bytes of a PLIM__WIRE_BYTES field; the value's bytes of the others */
    uint64_t value;   /* of a varint */
} plim__wire_field;

void plim__wire_from_memory(plim__wire *wire, const void *data, size_t size);
/* Borrows fd and path. Only regular files: anything else is refused. */
plim_status plim__wire_from_file(plim__wire *wire, int fd, const char *path, plim_error *error);
void plim__wire_close(plim__wire *wire);

/* The field at *at, which moves behind it. Everything stays below `end`, or it is PLIM_CORRUPT. */
plim_status plim__wire_next(plim__wire *wire, uint64_t *at, uint64_t end, plim__wire_field *field, plim_error *error);
plim_status plim__wire_varint(plim__wire *wire, uint64_t *at, uint64_t end, uint64_t *value, plim_error *error);
/* Copies bytes out; the span lies in the file. */
plim_status plim__wire_read(plim__wire *wire, plim__span span, void *into, plim_error *error);

/* Decodes those fields of a message whose numbers (below 64) are in `keep`; free with plim__wire_release. The
 * fields kept must not nest without bound: protobuf-c recurses on the stack. */
#define PLIM__FIELD(number) (UINT64_C(1) << (number))
plim_status plim__wire_decode(plim__wire *wire, plim__span span, uint64_t keep,
                              const ProtobufCMessageDescriptor *descriptor, void *message, plim_error *error);
void plim__wire_release(void *message); /* NULL is fine */

#endif
