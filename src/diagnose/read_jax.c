/* JAX and XLA: run-time failures, the buffer list, TPUs. */
#include <stdio.h>
#include <string.h>

#include "diagnose/reader.h"

static plim__event jax_event(plim__reader *reader, const char *start) {
    plim__text line = plim__line_at(reader, start);
    plim__event event = plim__event_at(reader, PLIM_GROUP_XLA, "jax", line.at);
    size_t reach = (size_t)(line.end - line.at);
    event.strength = PLIM_FULL;
    event.facts |= plim__has(line, reach > 400 ? 400 : reach, "tensorflow.python") ||
                           plim__has(line, reach > 400 ? 400 : reach, "errors_impl")
                       ? PLIM_FACT_TENSORFLOW
                       : PLIM_FACT_JAX;
    return event;
}

/* "Out of memory while trying to allocate <n> bytes." or "... 3.72GiB." */
static void parse_while(plim__reader *reader, const char *start, const char *end) {
    plim__event event = jax_event(reader, start);
    plim__text t = plim__text_at(reader, end);
    event.kind = "gpu";
    if (!plim__take(&t, " %n bytes", &event.requested) && !plim__take(&t, " %S", &event.requested)) return;
    if (plim__before(reader, start, 200, "TPU") && !plim__before(reader, start, 200, "output")) event.kind = "tpu";
    plim__report(reader, &event, t.at);
}

/* "Out of memory allocating <n> bytes."; CuPy adds "(allocated so far: ...". */
static void parse_allocating(plim__reader *reader, const char *start, const char *end) {
    plim__event event = jax_event(reader, start);
    plim__text t = plim__text_at(reader, end);
    if (!plim__take(&t, " %n bytes", &event.requested)) return;
    bool host = plim__before(reader, start, 200, "falling back to CPU"); /* JAX has the same words for every device */
    event.kind = host ? "host" : "gpu";
    if (host) event.facts |= PLIM_FACT_HOST;
    bool cupy = plim__before(reader, start, 120, "cupy");
    if (plim__take(&t, " (allocated so far: %n bytes", &event.allocated)) {
        cupy = true;
        if (plim__take(&t, " , limit set to: %n bytes", &event.limit)) event.facts |= PLIM_FACT_LIMIT;
    }
    if (cupy) {
        event.group = PLIM_GROUP_RUNTIME;
        event.framework = "cupy";
        event.facts &= ~(PLIM_FACT_JAX | PLIM_FACT_TENSORFLOW);
    }
    plim__report(reader, &event, t.at);
}

static void parse_request(plim__reader *reader, const char *start, const char *end) {
    plim__event event = jax_event(reader, start);
    plim__text t = plim__text_at(reader, end);
    plim_amount rounded;
    event.kind = "gpu";
    if (!plim__take(&t, " %S", &rounded)) return;
    event.requested = rounded;
    if (!plim__take(&t, " (%nB)", &event.requested)) plim__take(&t, " (%n", &event.requested);
    plim__take(&t, " on device ordinal %i", &event.index);
    plim__report(reader, &event, t.at);
}

static void parse_arguments(plim__reader *reader, const char *start, const char *end) {
    plim__event event = jax_event(reader, start);
    plim__text t = plim__text_at(reader, end);
    event.kind = "gpu";
    event.facts |= PLIM_FACT_BAD_SIZE;
    event.strength = PLIM_STRONG;
    plim_amount arguments, limit;
    if (!plim__take(&t, " (%n) exceeds the base limit (%n)", &arguments, &limit)) return;
    event.requested = arguments;
    event.requested.exact = 0; /* the allocator names the size itself, in its own line */
    event.capacity = limit;
    plim__report(reader, &event, t.at);
}

/* --- the buffer list ------------------------------------------------------------------------------------------ */

/* "f32[261521,2048]{1,0}" */
static bool take_xla_shape(plim__text *t, plim__xla_buffer *buffer) {
    char word[24];
    plim__skip_blank(t);
    plim__take_word(t, word, sizeof word);
    if (!plim__dtype_word(word, buffer->dtype, sizeof buffer->dtype) || !plim__take(t, "[")) return false;
    buffer->rank = plim__take_dims(t, ']', buffer->shape);
    if (buffer->rank < 0) return false;
    if (!plim__dims_bytes(buffer->shape, buffer->rank, plim__dtype_item(buffer->dtype), &buffer->exact))
        buffer->exact = 0;
    return true;
}

static void take_operator(plim__text t, plim__xla_buffer *buffer) {
    if (!plim__seek(&t, 64, "op_name=")) return;
    if (t.at < t.end && (*t.at == '"' || *t.at == '\\')) t.at++;
    if (t.at < t.end && *t.at == '"') t.at++;
    size_t length = 0;
    while (t.at < t.end && *t.at != '"' && *t.at != '[' && (unsigned char)*t.at >= ' ' &&
           length + 1 < sizeof buffer->what)
        buffer->what[length++] = *t.at++;
    buffer->what[length] = 0;
}

static void parse_buffers(plim__reader *reader, const char *start, const char *end) {
    plim__incident *incident = &reader->incident;
    (void)start;
    if (!incident->is_set || incident->facts.group != PLIM_GROUP_XLA) return;
    plim__buffers *buffers = &incident->buffers;
    plim__text t = plim__text_at(reader, end);
    int64_t number;
    while (plim__seek(&t, 1200, "Buffer %i:", &number) && buffers->count < PLIM_BUFFER_COUNT) {
        plim__text next = t;
        if (!plim__seek(&next, 1200, "Buffer %i:", &number))
            next.at = t.at + (t.end - t.at > 1200 ? 1200 : t.end - t.at);
        plim__text item = {t.at, next.at}, s = item;
        plim__xla_buffer buffer = {.rank = -1};
        if (!plim__seek(&s, 64, "Size: %S", &buffer.size)) break;
        take_operator(item, &buffer);
        s = item;
        if (plim__seek(&s, 1200, "Entry Parameter Subshape:")) {
            snprintf(buffer.what, sizeof buffer.what, "a parameter");
            take_xla_shape(&s, &buffer);
        } else {
            s = item;
            if (plim__seek(&s, 1200, "Shape:")) take_xla_shape(&s, &buffer);
        }
        buffers->items[buffers->count++] = buffer;
        plim__event *facts = &incident->facts;
        if (facts->rank < 0 && buffer.rank >= 0 && facts->requested.known && facts->requested.exact && buffer.exact &&
            buffer.exact == facts->requested.bytes) {
            facts->rank = buffer.rank;
            memcpy(facts->shape, buffer.shape, sizeof facts->shape);
            memcpy(facts->dtype, buffer.dtype, sizeof facts->dtype);
        }
    }
    uint64_t position = reader->origin + (uint64_t)(t.at - reader->begin);
    if (position > incident->end) incident->end = position;
}

static void parse_assignment(plim__reader *reader, const char *start, const char *end) {
    plim__incident *incident = &reader->incident;
    (void)start;
    if (!incident->is_set || incident->facts.group != PLIM_GROUP_XLA) return;
    plim__text t = plim__text_at(reader, end), s = t;
    if (plim__seek(&s, 600, "parameter allocation: %S", &incident->buffers.parameters)) s = t;
    if (plim__seek(&s, 600, "maybe_live_out allocation: %S", &incident->buffers.live_out)) s = t;
    if (plim__seek(&s, 600, "preallocated temp allocation: %S", &incident->buffers.temp)) s = t;
    if (plim__seek(&s, 600, "total allocation: %S", &incident->buffers.total)) s = t;
    uint64_t position = reader->origin + (uint64_t)(end - reader->begin);
    if (position > incident->end) incident->end = position;
}

/* --- TPUs ----------------------------------------------------------------------------------------------------- */

static plim__event tpu_event(plim__reader *reader, const char *start) {
    plim__event event = jax_event(reader, start);
    event.kind = "tpu";
    return event;
}

/* "Ran out of memory in memory space hbm. Used 21.95G of 15.48G hbm. Exceeded hbm capacity by 6.47G." */
static void parse_space(plim__reader *reader, const char *start, const char *end) {
    plim__event event = tpu_event(reader, start);
    plim__text t = plim__text_at(reader, end);
    char space[16];
    plim__skip_blank(&t);
    plim__take_word(&t, space, sizeof space);
    plim__take(&t, " .");
    if (!plim__seek(&t, 40, "Used %S of %S", &event.requested, &event.capacity)) return;
    if (strcmp(space, "hbm") != 0) event.facts |= PLIM_FACT_ON_CHIP;
    plim_amount excess;
    plim__text s = t;
    if (plim__seek(&s, 120, "Exceeded") && plim__seek(&s, 40, "capacity by %S", &excess)) event.missing = excess;
    event.facts |= PLIM_FACT_TOO_BIG | PLIM_FACT_PROGRAM;
    plim__report(reader, &event, t.at);
}

static void parse_attempting(plim__reader *reader, const char *start, const char *end) {
    plim__event event = tpu_event(reader, start);
    plim__text t = plim__text_at(reader, end);
    if (!plim__take(&t, " %S", &event.requested)) return;
    plim__take(&t, " at the bottom of memory");
    if (!plim__take(&t, " . That was not possible")) return;
    plim__take(&t, " . There are %S free", &event.free);
    plim_amount reserved, reservable;
    if (plim__take(&t, " , %S reserved, and %S reservable", &reserved, &reservable)) event.largest_free = reservable;
    plim__take(&t, " .");
    plim__text s = t;
    if (plim__seek(&s, 160, "largest contiguous region of free memory is %S", &event.largest_free)) t = s;
    plim__report(reader, &event, t.at);
}

static void parse_contiguous(plim__reader *reader, const char *start, const char *end) {
    plim__event event = tpu_event(reader, start);
    plim__text t = plim__text_at(reader, end);
    if (!plim__take(&t, " %S", &event.largest_free)) return;
    if (plim__has(t, 40, "due to fragmentation")) event.facts |= PLIM_FACT_SAID_FRAGMENTED;
    event.strength = PLIM_HINT;
    plim__report(reader, &event, t.at);
}

const plim__row plim__rows_jax[] = {
    {"whiletryingtoallocate", parse_while},
    {"outofmemoryallocating", parse_allocating},
    {"failedtoallocaterequestfor", parse_request},
    {"thebytesizeofinput/outputarguments", parse_arguments},
    {"peakbuffers:", parse_buffers},
    {"bufferassignmentoomdebugging", parse_assignment},
    {"ranoutofmemoryinmemoryspace", parse_space},
    {"attemptingtoallocate", parse_attempting},
    {"attemptingtoreserve", parse_attempting},
    {"largestcontiguousregionoffreememoryis", parse_contiguous},
    {0},
};
