/* Reading a trace: one pass over the records. A tick is a birth or a death; marks stand at the tick of the
 * next one. A last tick shows what is held after the last event.
 *
 * Within a limit, passes that only count come first. A record that is too large is thinned out: of its steps one in
 * `every` is taken, and of the others only what outlives them.
 *
 *   step        1       2       3       4       5            every = 2
 *   persistent  ├────────────────────────────────────        stays
 *   transient   ├──┤    ├──┤    ├──┤    ├──┤    ├──┤         of steps 1, 3 and 5
 */
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
    uint32_t life;  /* index into lives; LEFT_OUT: began in a step that is left out, and seems to outlive it */
    uint32_t older; /* index into `open` plus one; 0 ends the list */
    uint32_t buffer;
    uint64_t offset, bytes;
} open_life;

#define LEFT_OUT UINT32_MAX

/* What is taken, and what that needs in memory, with the summary's share. */
typedef struct thinning {
    uint64_t every, sample_every; /* one step in `every` is taken; `sample_every` samples become one */
    bool counting;                /* nothing but the figures below is wanted */
    uint64_t steps;               /* in the file */
    uint64_t defined_bytes, event_bytes, sample_bytes;
} thinning;

enum {
    TICK_BYTES = 2 * sizeof(double), /* its time, and the live bytes then */
    LIFE_BYTES = sizeof(plim__timeline_life),
    MARK_BYTES = 2 * sizeof(plim__timeline_mark), /* sorting takes a copy */
    STEP_BYTES = 256,                             /* figures of each step in the search for leaks */
    SAMPLE_BYTES = sizeof(plim__timeline_sample),
    TEXT_BYTES = 64, /* in addition to the text itself: the heap's own, and two tables */
    BUFFER_BYTES = sizeof(plim__timeline_tensor) + sizeof(plim__trace_buffer) + sizeof(uint32_t)
};

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
    PLIM_VEC(uint64_t) sampled; /* samples of each series in the file */
    thinning thin;
    bool skipping;   /* within a step that is left out */
    size_t left_out; /* open lives that are */
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
    r->thin.defined_bytes += TEXT_BYTES + record->id;
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
    r->thin.defined_bytes += BUFFER_BYTES;
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
    plim__trace_frontier in;
    memcpy(&in, r->record, sizeof in);
    return plim__timeline_add_frontier(r->timeline,
                                       &(plim__timeline_point){.budget = in.budget,
                                                               .peak = in.peak,
                                                               .seconds = in.seconds,
                                                               .label = word_of(r, record->id),
                                                               .command = word_of(r, in.command),
                                                               .chosen = record->argument == 1},
                                       error);
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
        return plim__vec_push(&r->sampled, 0) ? PLIM_OK : no_memory(r, error);
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
    r->thin.event_bytes += TICK_BYTES;
    if (!r->thin.counting && !plim__vec_push(&r->timeline->seconds, r->now)) return no_memory(r, error);
    r->timeline->ticks++;
    return PLIM_OK;
}

static plim_status begin_life(reader *r, open_life *open, plim_error *error) {
    plim__timeline_life life = {.bytes = open->bytes,
                                .offset = open->offset,
                                .tensor = open->buffer,
                                .born = r->timeline->ticks,
                                .died = PLIM__NEVER};
    open->life = (uint32_t)r->timeline->lives.count;
    r->thin.event_bytes += LIFE_BYTES;
    if (!r->thin.counting && !plim__vec_push(&r->timeline->lives, life)) return no_memory(r, error);
    return next_tick(r, error);
}

static plim_status take_birth(reader *r, uint32_t id, uint64_t offset, uint64_t bytes, plim_error *error) {
    if (offset != PLIM__NO_OFFSET && bytes > PLIM__NO_OFFSET - offset)
        return corrupt(r, error, "a buffer's offset and size do not fit in 64 bits");
    uint32_t slot = r->spare;
    if (slot)
        r->spare = r->open.items[slot - 1].older;
    else if (plim__vec_push(&r->open, (open_life){0}))
        slot = (uint32_t)r->open.count;
    if (!slot) return no_memory(r, error);
    open_life *open = &r->open.items[slot - 1];
    *open = (open_life){.life = LEFT_OUT, .older = r->last.items[id], .buffer = id, .offset = offset, .bytes = bytes};
    r->last.items[id] = slot;
    if (!r->skipping) return begin_life(r, open, error);
    r->left_out++;
    return PLIM_OK;
}

static plim_status take_death(reader *r, uint32_t id, plim_error *error) {
    uint32_t slot = r->last.items[id];
    if (!slot) return corrupt(r, error, "a buffer dies that is not alive");
    open_life *over = &r->open.items[slot - 1];
    uint32_t life = over->life;
    r->last.items[id] = over->older;
    *over = (open_life){.older = r->spare};
    r->spare = slot;
    if (life == LEFT_OUT) {
        r->left_out--;
        return PLIM_OK;
    }
    if (!r->thin.counting) r->timeline->lives.items[life].died = r->timeline->ticks;
    return next_tick(r, error);
}

/* A step that was left out is over: what is still there begins now. */
static plim_status end_skipping(reader *r, plim_error *error) {
    r->skipping = false;
    for (size_t i = 0; r->left_out && i < r->open.count; i++) {
        if (r->open.items[i].life != LEFT_OUT) continue;
        PLIM_TRY(begin_life(r, &r->open.items[i], error));
        r->left_out--;
    }
    return PLIM_OK;
}

static plim_status take_mark(reader *r, plim__timeline_mark_type type, uint64_t value, const char *text,
                             plim_error *error) {
    if (r->skipping && type != PLIM__MARK_OOM) return PLIM_OK;
    r->thin.event_bytes += MARK_BYTES;
    return r->thin.counting ? PLIM_OK
                            : plim__timeline_add_mark(r->timeline, type, r->timeline->ticks, value, text, error);
}

static plim_status take_step(reader *r, uint32_t number, plim_error *error) {
    PLIM_TRY(end_skipping(r, error));
    r->skipping = r->thin.steps++ % r->thin.every != 0;
    if (!r->skipping) r->thin.event_bytes += STEP_BYTES;
    return take_mark(r, PLIM__MARK_STEP, number, NULL, error);
}

/* Of samples that are joined the highest stays, and the last number. */
static plim_status take_sample(reader *r, uint32_t id, uint64_t value, plim_error *error) {
    plim__timeline_series *series = &r->timeline->series.items[id];
    bool first = r->sampled.items[id]++ % r->thin.sample_every == 0;
    if (first) r->thin.sample_bytes += SAMPLE_BYTES;
    if (r->thin.counting) return PLIM_OK;
    if (first) return plim__timeline_add_sample(r->timeline, id, r->timeline->ticks, value, error);
    plim__timeline_sample *last = &series->samples.items[series->samples.count - 1];
    if (series->numbers || value > last->bytes) last->bytes = value;
    return PLIM_OK;
}

static plim_status take_event(reader *r, const plim__trace_record *record, plim_error *error) {
    plim__timeline *timeline = r->timeline;
    uint32_t id = record->id;
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
    case PLIM__TRACE_STEP: return take_step(r, id, error);
    case PLIM__TRACE_PHASE: return take_mark(r, PLIM__MARK_PHASE, record->argument, NULL, error);
    case PLIM__TRACE_RUN:
        if (id >= r->operations.count) return corrupt(r, error, "an event names an operator that was not defined");
        return take_mark(r, PLIM__MARK_OPERATOR, id, plim__timeline_get(timeline, r->operations.items[id]), error);
    case PLIM__TRACE_SAMPLE:
        if (id >= timeline->series.count) return corrupt(r, error, "a sample names a series that was not defined");
        return take_sample(r, id, number_at(r, 16), error);
    case PLIM__TRACE_REFUSED: return take_mark(r, PLIM__MARK_OOM, number_at(r, 16), NULL, error);
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
    PLIM_TRY(end_skipping(r, error));
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
    return r->thin.counting ? PLIM_OK : plim__timeline_finish(r->timeline, error);
}

static plim_status read_thinned(const char *path, thinning *thin, plim__timeline *timeline, plim_error *error) {
    reader *r = plim__alloc_zero(1, sizeof *r);
    if (!r) return plim__fail_memory(error, "the trace reader", sizeof *r);
    r->timeline = timeline;
    r->path = path;
    r->thin = *thin;
    r->file = fopen(path, "rbe");
    plim_status status = r->file ? read_file(r, error) : plim__fail_errno(error, errno, "cannot open '%s'", path);
    if (r->file) fclose(r->file);
    *thin = r->thin;
    plim__vec_free(&r->texts);
    plim__vec_free(&r->buffers);
    plim__vec_free(&r->last);
    plim__vec_free(&r->open);
    plim__vec_free(&r->operations);
    plim__vec_free(&r->sampled);
    plim__free(r);
    return status;
}

plim_status plim__trace_read(const char *path, plim__timeline *timeline, plim_error *error) {
    thinning all = {.every = 1, .sample_every = 1};
    return read_thinned(path, &all, timeline, error);
}

/* --- within a limit ------------------------------------------------------------------------------------------- */

static plim_status count(const char *path, thinning *thin, plim_error *error) {
    *thin = (thinning){.every = thin->every, .sample_every = thin->sample_every, .counting = true};
    plim__timeline scratch;
    plim__timeline_init(&scratch, PLIM__SOURCE_RUN);
    plim_status status = read_thinned(path, thin, &scratch, error);
    plim__timeline_free(&scratch);
    return status;
}

/* So that `bytes` of events become `room`: at least an eighth more, since steps differ and some events are of none. */
static uint64_t thinner(uint64_t every, uint64_t bytes, uint64_t room) {
    double ratio = (double)bytes / (double)room;
    return (uint64_t)((double)every * (ratio < 1.125 ? 1.125 : ratio)) + 1;
}

/* Samples get an eighth of the memory where they would take more, steps the rest. What was chosen is counted again. */
static plim_status choose_thinning(const char *path, size_t bytes, thinning *thin, plim_error *error) {
    *thin = (thinning){.every = 1, .sample_every = 1};
    for (;;) {
        PLIM_TRY(count(path, thin, error));
        uint64_t known = thin->defined_bytes, samples = bytes / 8 + SAMPLE_BYTES;
        uint64_t room = known + samples < bytes ? bytes - known - samples : 1;
        bool all = known + thin->sample_bytes + thin->event_bytes <= bytes;
        bool samples_fit = all || thin->sample_bytes <= samples || thin->sample_every > UINT32_MAX;
        bool steps_fit = all || thin->event_bytes <= room || thin->every >= thin->steps;
        if (samples_fit && steps_fit) return PLIM_OK;
        if (!samples_fit) thin->sample_every *= 1 + thin->sample_bytes / samples;
        if (!steps_fit) thin->every = thinner(thin->every, thin->event_bytes, room);
        if (thin->every > thin->steps && thin->steps) thin->every = thin->steps;
    }
}

plim_status plim__trace_read_within(const char *path, size_t bytes, plim__timeline *timeline, uint64_t *every,
                                    plim_error *error) {
    thinning thin;
    *every = 1;
    PLIM_TRY(choose_thinning(path, bytes, &thin, error));
    thin = (thinning){.every = thin.every, .sample_every = thin.sample_every};
    PLIM_TRY(read_thinned(path, &thin, timeline, error));
    *every = thin.every < thin.steps ? thin.every : thin.steps ? thin.steps : 1;
    if (*every == 1) return PLIM_OK;
    char text[96];
    snprintf(text, sizeof text, "one in %llu of those recorded: memory has room for no more",
             (unsigned long long)*every);
    return plim__timeline_add_fact(timeline, "updates shown", text, error);
}
