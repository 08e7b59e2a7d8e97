/* The recorder. Records gather in one block of memory; a full block goes to the file in one write.
 *
 *   ┌────────┬──────┬──────┬──────┬─── … ───┐
 *   │ record │ born │ born │ died │  free   │   PENDING_BYTES, made by open
 *   └────────┴──────┴──────┴──────┴─── … ───┘ */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/map.h"
#include "format/trace.h"
#include "format/trace_records.h"

enum { PENDING_BYTES = 64 << 10 };

struct plim__trace {
    char *path;
    int fd, failure; /* failure: the errno of the first write that failed; nothing is recorded after it */
    uint64_t start;
    uint64_t expected; /* nanoseconds that a plan expects from its start to here */
    bool planned;      /* `expected` is written instead of the clock */
    uint32_t texts, buffers, operations, series;
    size_t pending;
    plim__map text_ids;     /* texts are written once */
    plim__timeline scratch; /* cleans texts and shapes */
    _Alignas(8) unsigned char bytes[PENDING_BYTES];
};

static uint64_t nanoseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void plim__trace_flush(plim__trace *trace) {
    const unsigned char *at = trace->bytes;
    while (trace->pending && !trace->failure) {
        ssize_t written = write(trace->fd, at, trace->pending);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) {
            trace->failure = errno ? errno : EIO;
            break;
        }
        at += written;
        trace->pending -= (size_t)written;
    }
    trace->pending = 0;
}

/* Room for `size` bytes in the pending block. `size` is a multiple of 8 and far below PENDING_BYTES. */
static void *reserve(plim__trace *trace, size_t size) {
    if (trace->pending + size > PENDING_BYTES) plim__trace_flush(trace);
    void *at = trace->bytes + trace->pending;
    trace->pending += size;
    return at;
}

static plim__trace_record record_of(enum plim__trace_type type, uint8_t argument, size_t size, uint32_t id) {
    return (plim__trace_record){(uint8_t)type, argument, (uint16_t)(size / 8), id};
}

plim_status plim__trace_open(const char *path, plim__timeline_source source, plim__trace **out, plim_error *error) {
    *out = NULL;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return plim__fail_errno(error, errno, "cannot write '%s'", path);
    return plim__trace_open_at(fd, path, source, out, error);
}

plim_status plim__trace_open_at(int fd, const char *path, plim__timeline_source source, plim__trace **out,
                                plim_error *error) {
    *out = NULL;
    plim__trace *trace = plim__alloc_zero(1, sizeof *trace);
    if (trace) trace->path = plim__strdup(path);
    if (!trace || !trace->path) {
        close(fd);
        plim__free(trace);
        return plim__fail_memory(error, "the trace", sizeof *trace);
    }
    trace->fd = fd;
    memset(trace->bytes, 0, sizeof trace->bytes); /* touched before the first step */
    trace->start = nanoseconds(CLOCK_MONOTONIC);
    plim__timeline_init(&trace->scratch, source);
    plim__trace_header header = {
        .version = PLIM__TRACE_VERSION, .source = (uint32_t)source, .started = nanoseconds(CLOCK_REALTIME)};
    memcpy(header.magic, PLIM__TRACE_MAGIC, sizeof header.magic);
    memcpy(reserve(trace, sizeof header), &header, sizeof header);
    plim__trace_flush(trace);
    *out = trace;
    return PLIM_OK;
}

/* At most two values. */
static void record_event(plim__trace *trace, enum plim__trace_type type, uint8_t argument, uint32_t id, size_t count,
                         const uint64_t *values) {
    if (trace->failure) return;
    size_t size = 16 + count * 8;
    uint64_t time = trace->planned ? trace->expected : nanoseconds(CLOCK_MONOTONIC) - trace->start;
    plim__trace_event event = {record_of(type, argument, size, id), time, {0, 0}};
    for (size_t i = 0; i < count; i++) event.values[i] = values[i];
    memcpy(reserve(trace, size), &event, size);
}

plim_status plim__trace_close(plim__trace *trace, plim_error *error) {
    if (!trace) return PLIM_OK;
    if (trace->fd >= 0) {
        record_event(trace, PLIM__TRACE_END, 0, 0, 0, NULL);
        plim__trace_flush(trace);
        if (close(trace->fd) != 0 && !trace->failure) trace->failure = errno;
    }
    plim_status status = PLIM_OK;
    if (trace->failure)
        status = plim__fail_errno(error, trace->failure, "cannot write '%s'; the trace is cut there", trace->path);
    plim__map_free(&trace->text_ids);
    plim__timeline_free(&trace->scratch);
    plim__free(trace->path);
    plim__free(trace);
    return status;
}

void plim__trace_settle(plim__trace *trace) {
    plim__timeline_source source = trace->scratch.source;
    plim__map_free(&trace->text_ids);
    plim__timeline_free(&trace->scratch);
    plim__timeline_init(&trace->scratch, source);
}

/* --- definitions ---------------------------------------------------------------------------------------------- */

/* Texts longer than this are cut, so that a record's length fits its field. */
enum { LONGEST_TEXT = 32 << 10 };

static bool write_text(plim__trace *trace, const char *text, uint32_t *id) {
    *id = 0;
    if (!text || !*text) return true;
    int64_t known = plim__map_get(&trace->text_ids, text, -1);
    if (known >= 0) return *id = (uint32_t)known, true;
    if (!plim__map_put(&trace->text_ids, text, (int64_t)trace->texts + 1)) return false;
    size_t length = strnlen(text, LONGEST_TEXT), padded = (length + 7) / 8 * 8;
    plim__trace_record record = record_of(PLIM__TRACE_TEXT, 0, sizeof record + padded, (uint32_t)length);
    unsigned char *at = reserve(trace, sizeof record + padded);
    memcpy(at, &record, sizeof record);
    memset(at + sizeof record, 0, padded);
    memcpy(at + sizeof record, text, length);
    *id = ++trace->texts; /* text 0 is "" and is not written */
    return true;
}

static plim_status no_memory(plim_error *error) { return plim__fail_memory(error, "a name in the trace", 1); }

static void write_record(plim__trace *trace, const void *record, size_t size) {
    memcpy(reserve(trace, size), record, size);
}

typedef struct buffer_words {
    const char *name, *shape, *layer, *operation;
} buffer_words;

static plim_status define_buffer(plim__trace *trace, plim__trace_buffer out, plim__memory_kind kind, buffer_words words,
                                 uint32_t *id, plim_error *error) {
    uint32_t name;
    if (!write_text(trace, words.shape, &out.shape) || !write_text(trace, words.name, &name) ||
        !write_text(trace, words.layer, &out.layer) || !write_text(trace, words.operation, &out.operation))
        return no_memory(error);
    out.record = record_of(PLIM__TRACE_BUFFER, (uint8_t)kind, sizeof out, name);
    write_record(trace, &out, sizeof out);
    *id = trace->buffers++;
    return PLIM_OK;
}

plim_status plim__trace_define_buffer(plim__trace *trace, const plim__timeline_buffer *buffer, uint32_t *id,
                                      plim_error *error) {
    plim__trace_buffer out = {.phase = (uint8_t)buffer->phase,
                              .dtype = (uint8_t)buffer->dtype,
                              .bytes = buffer->bytes,
                              .offset = buffer->offset};
    uint32_t shape;
    if (!plim__timeline_shape(&trace->scratch, buffer->dims, buffer->rank, &shape)) return no_memory(error);
    buffer_words words = {buffer->name, plim__timeline_get(&trace->scratch, shape), buffer->layer, buffer->operation};
    return define_buffer(trace, out, buffer->kind, words, id, error);
}

plim_status plim__trace_define_life(plim__trace *trace, const plim__timeline *timeline, const plim__timeline_life *life,
                                    uint32_t *id, plim_error *error) {
    const plim__timeline_tensor *tensor = &timeline->tensors.items[life->tensor];
    plim__trace_buffer out = {
        .phase = tensor->phase, .dtype = tensor->dtype, .bytes = life->bytes, .offset = life->offset};
    buffer_words words = {plim__timeline_get(timeline, tensor->name), plim__timeline_get(timeline, tensor->shape),
                          plim__timeline_get(timeline, tensor->layer), plim__timeline_get(timeline, tensor->operation)};
    return define_buffer(trace, out, tensor->kind, words, id, error);
}

/* Records that are only a text: their id counts up in *counter, when there is one. */
static plim_status define_text(plim__trace *trace, plim__trace_record record, const char *text, uint32_t *counter,
                               uint32_t *id, plim_error *error) {
    if (!write_text(trace, text, &record.id)) return no_memory(error);
    write_record(trace, &record, sizeof record);
    if (counter) *id = (*counter)++;
    return PLIM_OK;
}

plim_status plim__trace_define_operator(plim__trace *trace, const char *name, uint32_t *id, plim_error *error) {
    return define_text(trace, record_of(PLIM__TRACE_OPERATION, 0, sizeof(plim__trace_record), 0), name,
                       &trace->operations, id, error);
}

plim_status plim__trace_define_series(plim__trace *trace, const char *name, uint32_t *id, plim_error *error) {
    return define_text(trace, record_of(PLIM__TRACE_SERIES, 0, sizeof(plim__trace_record), 0), name, &trace->series, id,
                       error);
}

plim_status plim__trace_define_numbers(plim__trace *trace, const char *name, uint32_t *id, plim_error *error) {
    return define_text(trace, record_of(PLIM__TRACE_SERIES, 1, sizeof(plim__trace_record), 0), name, &trace->series, id,
                       error);
}

void plim__trace_add_plan(plim__trace *trace, const char *text) {
    for (size_t left = strlen(text); left > 0;) {
        size_t length = left < LONGEST_TEXT ? left : LONGEST_TEXT, padded = (length + 7) / 8 * 8;
        plim__trace_record record = record_of(PLIM__TRACE_PLAN, 0, sizeof record + padded, (uint32_t)length);
        unsigned char *at = reserve(trace, sizeof record + padded);
        memcpy(at, &record, sizeof record);
        memset(at + sizeof record, 0, padded);
        memcpy(at + sizeof record, text, length);
        text += length;
        left -= length;
    }
}

plim_status plim__trace_set_title(plim__trace *trace, const char *title, plim_error *error) {
    return define_text(trace, record_of(PLIM__TRACE_TITLE, 0, sizeof(plim__trace_record), 0), title, NULL, NULL, error);
}

static plim_status write_number(plim__trace *trace, enum plim__trace_number which, uint64_t value) {
    struct {
        plim__trace_record record;
        uint64_t value;
    } out = {record_of(PLIM__TRACE_NUMBER, (uint8_t)which, sizeof out, 0), value};
    write_record(trace, &out, sizeof out);
    return PLIM_OK;
}

plim_status plim__trace_set_budget(plim__trace *trace, uint64_t budget, plim_error *error) {
    (void)error;
    return write_number(trace, PLIM__TRACE_BUDGET, budget);
}

plim_status plim__trace_set_capacity(plim__trace *trace, uint64_t capacity, plim_error *error) {
    (void)error;
    return write_number(trace, PLIM__TRACE_CAPACITY, capacity);
}

void plim__trace_expect(plim__trace *trace, double seconds) {
    if (!trace->planned) write_number(trace, PLIM__TRACE_EXPECTED, 1);
    trace->planned = true;
    trace->expected = seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e9) : trace->expected;
}

plim_status plim__trace_add_fact(plim__trace *trace, const char *name, const char *value, plim_error *error) {
    struct {
        plim__trace_record record;
        uint32_t value, zero;
    } out = {.zero = 0};
    uint32_t name_id;
    if (!write_text(trace, name, &name_id) || !write_text(trace, value, &out.value)) return no_memory(error);
    out.record = record_of(PLIM__TRACE_FACT, 0, sizeof out, name_id);
    write_record(trace, &out, sizeof out);
    return PLIM_OK;
}

plim_status plim__trace_add_frontier(plim__trace *trace, const plim__timeline_point *point, plim_error *error) {
    plim__trace_frontier out = {.budget = point->budget, .peak = point->peak, .seconds = point->seconds};
    uint32_t label_id;
    if (!write_text(trace, point->label, &label_id) || !write_text(trace, point->command, &out.command))
        return no_memory(error);
    out.record = record_of(PLIM__TRACE_FRONTIER, point->chosen, sizeof out, label_id);
    write_record(trace, &out, sizeof out);
    return PLIM_OK;
}

plim_status plim__trace_add_comparison(plim__trace *trace, const char *what, uint64_t planned, uint64_t measured,
                                       plim_error *error) {
    struct {
        plim__trace_record record;
        uint64_t planned, measured;
    } out = {.planned = planned, .measured = measured};
    uint32_t what_id;
    if (!write_text(trace, what, &what_id)) return no_memory(error);
    out.record = record_of(PLIM__TRACE_COMPARISON, 0, sizeof out, what_id);
    write_record(trace, &out, sizeof out);
    return PLIM_OK;
}

/* --- events --------------------------------------------------------------------------------------------------- */

void plim__trace_born(plim__trace *trace, uint32_t buffer) {
    record_event(trace, PLIM__TRACE_BORN, 0, buffer, 0, NULL);
}

void plim__trace_born_at(plim__trace *trace, uint32_t buffer, uint64_t offset, uint64_t bytes) {
    record_event(trace, PLIM__TRACE_BORN_AT, 0, buffer, 2, (uint64_t[]){offset, bytes});
}

void plim__trace_died(plim__trace *trace, uint32_t buffer) {
    record_event(trace, PLIM__TRACE_DIED, 0, buffer, 0, NULL);
}

void plim__trace_step(plim__trace *trace, uint32_t number) {
    record_event(trace, PLIM__TRACE_STEP, 0, number, 0, NULL);
    plim__trace_flush(trace);
}

void plim__trace_phase(plim__trace *trace, plim__memory_phase phase) {
    record_event(trace, PLIM__TRACE_PHASE, (uint8_t)phase, 0, 0, NULL);
    plim__trace_flush(trace);
}

void plim__trace_operator(plim__trace *trace, uint32_t operation) {
    record_event(trace, PLIM__TRACE_RUN, 0, operation, 0, NULL);
}

void plim__trace_sample(plim__trace *trace, uint32_t series, uint64_t bytes) {
    record_event(trace, PLIM__TRACE_SAMPLE, 0, series, 1, &bytes);
}

void plim__trace_sample_number(plim__trace *trace, uint32_t series, double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    plim__trace_sample(trace, series, bits);
}

void plim__trace_refused(plim__trace *trace, uint64_t bytes) {
    record_event(trace, PLIM__TRACE_REFUSED, 0, 0, 1, &bytes);
    plim__trace_flush(trace);
}
