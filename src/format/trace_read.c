/* Reading a trace: one pass over the records. A tick is a birth or a death; marks stand at the tick of the
 * next one. A last tick shows what is held after the last event. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/str.h"
#include "format/trace.h"
#include "format/trace_records.h"

enum { LONGEST_RECORD = 65535 * 8 };

/* Lives of one buffer that are not over: the youngest is `last`, older ones hang behind it. */
typedef struct open_life {
    uint32_t life;  /* index into lives */
    uint32_t older; /* index into `open` plus one; 0 ends the list */
} open_life;

typedef struct reader {
    plim__timeline *timeline;
    FILE *file;
    const char *path;
    uint64_t position;                    /* in the file, of the record at hand */
    PLIM_VEC(uint32_t) texts;             /* the file's text ids to the timeline's; 0 is "" */
    PLIM_VEC(plim__trace_buffer) buffers; /* one for each tensor */
    PLIM_VEC(uint32_t) last;              /* for each buffer: its open life plus one; 0 is none */
    PLIM_VEC(open_life) open;
    uint32_t spare; /* list of unused items of `open` */
    PLIM_VEC(uint32_t) operations;
    double now;
    bool ended, expected; /* expected: the times of a plan mean something */
    unsigned char record[LONGEST_RECORD];
} reader;

bool plim__trace_sniff(const void *data, size_t size) { return size >= 8 && memcmp(data, PLIM__TRACE_MAGIC, 8) == 0; }

static plim_status corrupt(const reader *r, plim_error *error, const char *what) {
    return plim__fail(error, PLIM_CORRUPT, "'%s' is damaged at byte %llu: %s", r->path, (unsigned long long)r->position,
                      what);
}

static plim_status no_memory(const reader *r, plim_error *error) { return plim__fail_memory(error, r->path, 1); }

/* The timeline's id for one of the file's; unknown ones are "". */
static uint32_t text_of(const reader *r, uint32_t id) { return id < r->texts.count ? r->texts.items[id] : 0; }

static const char *word_of(const reader *r, uint32_t id) { return plim__timeline_get(r->timeline, text_of(r, id)); }

static uint64_t number_at(const reader *r, size_t offset) {
    uint64_t value;
    memcpy(&value, r->record + offset, sizeof value);
    return value;
}

/* --- definitions ---------------------------------------------------------------------------------------------- */

static plim_status take_text(reader *r, const plim__trace_record *record, plim_error *error) {
    uint32_t id;
    if (record->id > record->words * 8u - sizeof *record) return corrupt(r, error, "a text is longer than its record");
    if (!plim__timeline_textn(r->timeline, (const char *)r->record + sizeof *record, record->id, &id) ||
        !plim__vec_push(&r->texts, id))
        return no_memory(r, error);
    return PLIM_OK;
}

static plim_status take_buffer(reader *r, const plim__trace_record *record, plim_error *error) {
    plim__trace_buffer buffer;
    memcpy(&buffer, r->record, sizeof buffer);
    plim__timeline_tensor row = {.name = text_of(r, record->id),
                                 .shape = text_of(r, buffer.shape),
                                 .layer = text_of(r, buffer.layer),
                                 .operation = text_of(r, buffer.operation),
                                 .kind = record->argument < PLIM__KIND_COUNT ? record->argument : PLIM__KIND_OTHER,
                                 .phase = buffer.phase < PLIM__PHASE_COUNT ? buffer.phase : PLIM__PHASE_NONE,
                                 .dtype = buffer.dtype < PLIM_DTYPE_COUNT ? buffer.dtype : PLIM_DTYPE_NONE};
    if (buffer.offset != PLIM__NO_OFFSET && buffer.bytes > PLIM__NO_OFFSET - buffer.offset)
        return corrupt(r, error, "a buffer's offset and size do not fit in 64 bits");
    if (!plim__vec_push(&r->timeline->tensors, row) || !plim__vec_push(&r->buffers, buffer) ||
        !plim__vec_push(&r->last, 0))
        return no_memory(r, error);
    return PLIM_OK;
}

/* Pieces of one text. */
static plim_status take_plan(reader *r, const plim__trace_record *record, plim_error *error) {
    size_t had = r->timeline->plan ? strlen(r->timeline->plan) : 0;
    if (record->id > record->words * 8u - sizeof *record) return corrupt(r, error, "a text is longer than its record");
    char *text = plim__realloc(r->timeline->plan, had + record->id + 1, 1);
    if (!text) return no_memory(r, error);
    memcpy(text + had, r->record + sizeof *record, record->id);
    text[had + record->id] = 0;
    r->timeline->plan = text;
    return PLIM_OK;
}

static plim_status take_frontier(reader *r, const plim__trace_record *record, plim_error *error) {
    plim__trace_frontier point;
    memcpy(&point, r->record, sizeof point);
    return plim__timeline_add_frontier(r->timeline, point.budget, point.peak, point.seconds, word_of(r, record->id),
                                       word_of(r, point.command), record->argument == 1, error);
}

static plim_status take_definition(reader *r, const plim__trace_record *record, plim_error *error) {
    plim__timeline *timeline = r->timeline;
    uint32_t ignored, value;
    switch (record->type) {
    case PLIM__TRACE_TEXT: return take_text(r, record, error);
    case PLIM__TRACE_BUFFER: return take_buffer(r, record, error);
    case PLIM__TRACE_FRONTIER: return take_frontier(r, record, error);
    case PLIM__TRACE_NUMBER:
        if (record->argument == PLIM__TRACE_BUDGET) timeline->budget = number_at(r, 8);
        if (record->argument == PLIM__TRACE_CAPACITY) timeline->capacity = number_at(r, 8);
        if (record->argument == PLIM__TRACE_EXPECTED) r->expected = true;
        return PLIM_OK;
    case PLIM__TRACE_FACT:
        memcpy(&value, r->record + 8, sizeof value);
        return plim__timeline_add_fact(timeline, word_of(r, record->id), word_of(r, value), error);
    case PLIM__TRACE_COMPARISON:
        return plim__timeline_add_comparison(timeline, word_of(r, record->id), number_at(r, 8), number_at(r, 16),
                                             error);
    case PLIM__TRACE_PLAN: return take_plan(r, record, error);
    case PLIM__TRACE_SERIES:
        PLIM_TRY(plim__timeline_add_series(timeline, word_of(r, record->id), &ignored, error));
        timeline->series.items[timeline->series.count - 1].numbers = record->argument == 1;
        return PLIM_OK;
    case PLIM__TRACE_TITLE: timeline->title = text_of(r, record->id); return PLIM_OK;
    case PLIM__TRACE_OPERATION:
        return plim__vec_push(&r->operations, text_of(r, record->id)) ? PLIM_OK : no_memory(r, error);
    default: return PLIM_OK; /* from a later version: skipped */
    }
}

/* --- events --------------------------------------------------------------------------------------------------- */

static plim_status next_tick(reader *r, plim_error *error) {
    if (r->timeline->ticks >= UINT32_MAX - 2)
        return plim__fail(error, PLIM_UNSUPPORTED, "'%s' has more than 4,294,967,293 events", r->path);
    if (!plim__vec_push(&r->timeline->seconds, r->now)) return no_memory(r, error);
    r->timeline->ticks++;
    return PLIM_OK;
}

static plim_status take_birth(reader *r, uint32_t id, uint64_t offset, uint64_t bytes, plim_error *error) {
    if (offset != PLIM__NO_OFFSET && bytes > PLIM__NO_OFFSET - offset)
        return corrupt(r, error, "a buffer's offset and size do not fit in 64 bits");
    plim__timeline_life life = {
        .bytes = bytes, .offset = offset, .tensor = id, .born = r->timeline->ticks, .died = PLIM__NEVER};
    uint32_t slot = r->spare;
    if (slot)
        r->spare = r->open.items[slot - 1].older;
    else if (plim__vec_push(&r->open, (open_life){0}))
        slot = (uint32_t)r->open.count;
    if (!slot || !plim__vec_push(&r->timeline->lives, life)) return no_memory(r, error);
    r->open.items[slot - 1] = (open_life){(uint32_t)(r->timeline->lives.count - 1), r->last.items[id]};
    r->last.items[id] = slot;
    return next_tick(r, error);
}

static plim_status take_death(reader *r, uint32_t id, plim_error *error) {
    uint32_t slot = r->last.items[id];
    if (!slot) return corrupt(r, error, "a buffer dies that is not alive");
    open_life *over = &r->open.items[slot - 1];
    r->timeline->lives.items[over->life].died = r->timeline->ticks;
    r->last.items[id] = over->older;
    over->older = r->spare;
    r->spare = slot;
    return next_tick(r, error);
}

static plim_status take_event(reader *r, const plim__trace_record *record, plim_error *error) {
    plim__timeline *timeline = r->timeline;
    uint32_t id = record->id, tick = timeline->ticks;
    double now = (double)number_at(r, 8) * 1e-9;
    if (now > r->now) r->now = now;
    bool about_buffer =
        record->type == PLIM__TRACE_BORN || record->type == PLIM__TRACE_BORN_AT || record->type == PLIM__TRACE_DIED;
    if (about_buffer && id >= r->buffers.count)
        return corrupt(r, error, "an event names a buffer that was not defined");
    switch (record->type) {
    case PLIM__TRACE_BORN: return take_birth(r, id, r->buffers.items[id].offset, r->buffers.items[id].bytes, error);
    case PLIM__TRACE_BORN_AT: return take_birth(r, id, number_at(r, 16), number_at(r, 24), error);
    case PLIM__TRACE_DIED: return take_death(r, id, error);
    case PLIM__TRACE_STEP: return plim__timeline_add_mark(timeline, PLIM__MARK_STEP, tick, id, NULL, error);
    case PLIM__TRACE_PHASE:
        return plim__timeline_add_mark(timeline, PLIM__MARK_PHASE, tick, record->argument, NULL, error);
    case PLIM__TRACE_RUN:
        if (id >= r->operations.count) return corrupt(r, error, "an event names an operator that was not defined");
        return plim__timeline_add_mark(timeline, PLIM__MARK_OPERATOR, tick, id,
                                       plim__timeline_get(timeline, r->operations.items[id]), error);
    case PLIM__TRACE_SAMPLE:
        if (id >= timeline->series.count) return corrupt(r, error, "a sample names a series that was not defined");
        return plim__timeline_add_sample(timeline, id, tick, number_at(r, 16), error);
    case PLIM__TRACE_REFUSED:
        return plim__timeline_add_mark(timeline, PLIM__MARK_OOM, tick, number_at(r, 16), NULL, error);
    case PLIM__TRACE_END: r->ended = true; return PLIM_OK;
    default: return PLIM_OK;
    }
}

/* --- the file ------------------------------------------------------------------------------------------------- */

/* The fewest words that a record of a type has; a shorter one is damage. */
static unsigned least_words(uint8_t type) {
    switch (type) {
    case PLIM__TRACE_BUFFER:
    case PLIM__TRACE_FRONTIER: return 5;
    case PLIM__TRACE_NUMBER:
    case PLIM__TRACE_FACT: return 2;
    case PLIM__TRACE_COMPARISON:
    case PLIM__TRACE_SAMPLE:
    case PLIM__TRACE_REFUSED: return 3;
    case PLIM__TRACE_BORN_AT: return 4;
    default: return type >= PLIM__TRACE_BORN ? 2 : 1;
    }
}

/* Reads one record. *more is false at the end of the file, or where it was cut off. */
static plim_status read_record(reader *r, plim__trace_record *record, bool *more, bool *torn, plim_error *error) {
    size_t got = fread(r->record, 1, sizeof *record, r->file);
    *more = got == sizeof *record;
    *torn = got != 0 && !*more;
    if (!*more) return ferror(r->file) ? plim__fail_errno(error, errno, "cannot read '%s'", r->path) : PLIM_OK;
    memcpy(record, r->record, sizeof *record);
    if (record->type == 0) { /* a disk that lost power leaves zeros behind the last write */
        *more = false;
        *torn = true;
        return PLIM_OK;
    }
    if (record->words < least_words(record->type)) return corrupt(r, error, "a record is shorter than its type allows");
    size_t rest = record->words * 8u - sizeof *record;
    got = fread(r->record + sizeof *record, 1, rest, r->file);
    if (got != rest) {
        *more = false;
        *torn = true;
        return ferror(r->file) ? plim__fail_errno(error, errno, "cannot read '%s'", r->path) : PLIM_OK;
    }
    return PLIM_OK;
}

static plim_status say_cut(reader *r, plim_error *error) {
    char why[160];
    snprintf(why, sizeof why, "the recording was cut off after %u events (byte %llu); everything up to there is shown",
             r->timeline->ticks, (unsigned long long)r->position);
    return plim__timeline_set_cut(r->timeline, why, error);
}

static plim_status read_records(reader *r, plim_error *error) {
    bool more = true, torn = false;
    while (!r->ended) {
        plim__trace_record record;
        PLIM_TRY(read_record(r, &record, &more, &torn, error));
        if (!more) break;
        PLIM_TRY(record.type >= PLIM__TRACE_BORN ? take_event(r, &record, error) : take_definition(r, &record, error));
        r->position += record.words * 8u;
    }
    if (!r->ended) PLIM_TRY(say_cut(r, error));
    return next_tick(r, error);
}

static plim_status read_file(reader *r, plim_error *error) {
    plim__trace_header header;
    if (fread(&header, 1, sizeof header, r->file) != sizeof header || !plim__trace_sniff(&header, sizeof header))
        return plim__fail(error, PLIM_CORRUPT, "'%s' is not a Plimsoll trace", r->path);
    if (header.version != PLIM__TRACE_VERSION)
        return plim__fail(error, PLIM_UNSUPPORTED, "'%s' is a trace of version %u; this program reads version %u",
                          r->path, header.version, PLIM__TRACE_VERSION);
    r->timeline->source = header.source < PLIM__SOURCES ? (plim__timeline_source)header.source : PLIM__SOURCE_RUN;
    r->position = sizeof header;
    if (!plim__vec_push(&r->texts, 0)) return no_memory(r, error);
    PLIM_TRY(read_records(r, error));
    if (r->timeline->source == PLIM__SOURCE_PLAN && !r->expected) r->timeline->seconds.count = 0; /* nothing has run */
    return plim__timeline_finish(r->timeline, error);
}

plim_status plim__trace_read(const char *path, plim__timeline *timeline, plim_error *error) {
    reader *r = plim__alloc_zero(1, sizeof *r);
    if (!r) return plim__fail_memory(error, "the trace reader", sizeof *r);
    r->timeline = timeline;
    r->path = path;
    r->file = fopen(path, "rbe");
    plim_status status = r->file ? read_file(r, error) : plim__fail_errno(error, errno, "cannot open '%s'", path);
    if (r->file) fclose(r->file);
    plim__vec_free(&r->texts);
    plim__vec_free(&r->buffers);
    plim__vec_free(&r->last);
    plim__vec_free(&r->open);
    plim__vec_free(&r->operations);
    plim__free(r);
    return status;
}
