/* The bytes of a trace, shared by its writer and its reader. Little-endian; every record is a whole number
 * of 8-byte words and begins with its type and its length, so that a reader can skip what it does not know. */
#ifndef PLIM_FORMAT_TRACE_RECORDS_H
#define PLIM_FORMAT_TRACE_RECORDS_H

#include <stdint.h>

#define PLIM__TRACE_MAGIC   "PLIMTRC\n"
#define PLIM__TRACE_VERSION 1u

enum plim__trace_type {
    PLIM__TRACE_TEXT = 1, /* id: bytes of text; the text follows, padded with zeros */
    PLIM__TRACE_BUFFER,
    PLIM__TRACE_NUMBER, /* argument: plim__trace_number; u64 value */
    PLIM__TRACE_FACT,   /* id: name; u32 value, u32 0 */
    PLIM__TRACE_FRONTIER,
    PLIM__TRACE_COMPARISON, /* id: what; u64 planned, u64 measured */
    PLIM__TRACE_SERIES,     /* argument: 1 for numbers; id: name */
    PLIM__TRACE_TITLE,      /* id: text */
    PLIM__TRACE_OPERATION,  /* id: text */
    PLIM__TRACE_PLAN,       /* id: bytes of text; the text follows, padded with zeros; several are one text */
    PLIM__TRACE_BORN = 16,
    PLIM__TRACE_DIED,
    PLIM__TRACE_BORN_AT, /* u64 offset, u64 bytes after the time */
    PLIM__TRACE_STEP,    /* id: number */
    PLIM__TRACE_PHASE,   /* argument: plim__memory_phase */
    PLIM__TRACE_RUN,     /* id: operation */
    PLIM__TRACE_SAMPLE,  /* id: series; u64 bytes, or f64 number */
    PLIM__TRACE_REFUSED, /* u64 bytes */
    PLIM__TRACE_END = 31 /* id: 0; u64 time; the file is whole */
};

enum plim__trace_number { PLIM__TRACE_BUDGET = 1, PLIM__TRACE_CAPACITY, PLIM__TRACE_EXPECTED };

typedef struct plim__trace_header {
    char magic[8];
    uint32_t version;
    uint32_t source;
    uint64_t started; /* nanoseconds since 1970 */
} plim__trace_header;

/* What every record begins with. */
typedef struct plim__trace_record {
    uint8_t type, argument;
    uint16_t words; /* of 8 bytes, this one included */
    uint32_t id;
} plim__trace_record;

typedef struct plim__trace_event {
    plim__trace_record record;
    uint64_t nanoseconds; /* since the trace was opened */
    uint64_t values[2];   /* as many as the type has */
} plim__trace_event;

typedef struct plim__trace_buffer {
    plim__trace_record record; /* argument: kind; id: name */
    uint32_t shape, layer, operation;
    uint8_t phase, dtype;
    uint16_t zero;
    uint64_t bytes, offset;
} plim__trace_buffer;

typedef struct plim__trace_frontier {
    plim__trace_record record; /* argument: 1 when chosen; id: label */
    uint64_t budget, peak;
    double seconds;
    uint32_t command, zero;
} plim__trace_frontier;

_Static_assert(sizeof(plim__trace_header) == 24, "the header is 24 bytes");
_Static_assert(sizeof(plim__trace_event) == 32, "an event is at most 32 bytes");
_Static_assert(sizeof(plim__trace_buffer) == 40, "a buffer is 40 bytes");
_Static_assert(sizeof(plim__trace_frontier) == 40, "a frontier point is 40 bytes");

#endif
