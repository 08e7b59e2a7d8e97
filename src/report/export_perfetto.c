/* Chrome's JSON trace, which Perfetto opens: live bytes by kind as counters, steps and operators as slices,
 * each buffer as an asynchronous slice from its birth to its death. Microseconds where times are known,
 * else a tick is a microsecond. */
#include <inttypes.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "report/events.h"
#include "report/report.h"

typedef struct trace {
    const plim__timeline *timeline;
    plim__file_writer file;
    plim__str line;
    bool first;
} trace;

static double microseconds(const plim__timeline *timeline, uint32_t tick) {
    if (tick >= timeline->ticks) tick = timeline->ticks ? timeline->ticks - 1 : 0;
    return timeline->seconds.count ? timeline->seconds.items[tick] * 1e6 : (double)tick;
}

static void add_string(plim__str *line, const char *text) {
    plim__str_addc(line, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') plim__str_addc(line, '\\');
        if ((unsigned char)*text < 0x20)
            plim__str_addf(line, "\\u%04x", (unsigned)*text);
        else
            plim__str_addc(line, *text);
    }
    plim__str_addc(line, '"');
}

static plim_status put_line(trace *t, plim_error *error) {
    if (t->line.failed) return plim__fail_memory(error, "a line of the trace", 1);
    PLIM_TRY(plim__file_writer_write(&t->file, t->first ? "\n" : ",\n", t->first ? 1 : 2, error));
    t->first = false;
    PLIM_TRY(plim__file_writer_write(&t->file, t->line.data, t->line.length, error));
    plim__str_clear(&t->line);
    return PLIM_OK;
}

static plim_status put_counter(trace *t, double time, const uint64_t *kinds, plim_error *error) {
    plim__str_addf(&t->line, "{\"ph\":\"C\",\"pid\":1,\"name\":\"memory\",\"ts\":%.3f,\"args\":{", time);
    for (int k = 0; k < PLIM__KIND_COUNT; k++)
        plim__str_addf(&t->line, "%s\"%s\":%" PRIu64, k ? "," : "", plim__kind_word((plim__memory_kind)k), kinds[k]);
    plim__str_add(&t->line, "}}");
    return put_line(t, error);
}

static plim_status put_life(trace *t, uint32_t index, bool death, double time, plim_error *error) {
    const plim__timeline_life *life = &t->timeline->lives.items[index];
    const plim__timeline_tensor *tensor = &t->timeline->tensors.items[life->tensor];
    plim__str_addf(&t->line, "{\"ph\":\"%s\",\"pid\":1,\"tid\":1,\"cat\":\"buffer\",\"id\":%u,\"ts\":%.3f,\"name\":",
                   death ? "e" : "b", index, time);
    add_string(&t->line, plim__timeline_get(t->timeline, tensor->name));
    if (!death) {
        plim__str_addf(&t->line, ",\"args\":{\"bytes\":%" PRIu64 ",\"kind\":\"%s\",\"shape\":", life->bytes,
                       plim__kind_word(tensor->kind));
        add_string(&t->line, plim__timeline_get(t->timeline, tensor->shape));
        plim__str_add(&t->line, ",\"layer\":");
        add_string(&t->line, plim__timeline_get(t->timeline, tensor->layer));
        plim__str stack = {0};
        plim__timeline_stack_text(t->timeline, life->stack, " < ", 32, &stack);
        plim__str_add(&t->line, ",\"stack\":");
        add_string(&t->line, plim__str_text(&stack));
        t->line.failed |= stack.failed;
        plim__str_free(&stack);
        plim__str_addc(&t->line, '}');
    }
    plim__str_addc(&t->line, '}');
    return put_line(t, error);
}

/* A counter once a tick is over, not for every event in it. */
static plim_status put_events(trace *t, plim_error *error) {
    plim__events events;
    PLIM_TRY(plim__events_open(&events, t->timeline, error));
    uint64_t kinds[PLIM__KIND_COUNT] = {0};
    uint32_t index, last = 0;
    bool death;
    plim_status status = PLIM_OK;
    while (status == PLIM_OK && plim__events_next(&events, &index, &death)) {
        const plim__timeline_life *life = &t->timeline->lives.items[index];
        uint32_t tick = death ? life->died : life->born;
        if (tick != last) status = put_counter(t, microseconds(t->timeline, last), kinds, error);
        last = tick;
        uint8_t kind = t->timeline->tensors.items[life->tensor].kind;
        kinds[kind] = death ? kinds[kind] - life->bytes : kinds[kind] + life->bytes;
        if (status == PLIM_OK) status = put_life(t, index, death, microseconds(t->timeline, tick), error);
    }
    if (status == PLIM_OK) status = put_counter(t, microseconds(t->timeline, last), kinds, error);
    plim__events_free(&events);
    return status;
}

/* Marks of one type as slices that end where the next one begins. */
static plim_status put_slices(trace *t, plim__timeline_mark_type type, int row, plim_error *error) {
    const plim__timeline *timeline = t->timeline;
    for (size_t i = 0; i < timeline->marks.count; i++) {
        const plim__timeline_mark *mark = &timeline->marks.items[i];
        if (mark->type != type) continue;
        size_t next = i + 1;
        while (next < timeline->marks.count && timeline->marks.items[next].type != type) next++;
        double from = microseconds(timeline, mark->tick),
               to = microseconds(timeline,
                                 next < timeline->marks.count ? timeline->marks.items[next].tick : timeline->ticks);
        plim__str_addf(&t->line, "{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"name\":", row, from,
                       to - from);
        if (type == PLIM__MARK_STEP)
            plim__str_addf(&t->line, "\"step %" PRIu64 "\"", mark->value);
        else
            add_string(&t->line, type == PLIM__MARK_PHASE ? plim__phase_word((plim__memory_phase)mark->value)
                                                          : plim__timeline_get(timeline, mark->text));
        plim__str_addc(&t->line, '}');
        PLIM_TRY(put_line(t, error));
    }
    return PLIM_OK;
}

static plim_status put_all(trace *t, plim_error *error) {
    static const char head[] = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", tail[] = "\n]}\n";
    PLIM_TRY(plim__file_writer_write(&t->file, head, strlen(head), error));
    PLIM_TRY(put_slices(t, PLIM__MARK_STEP, 2, error));
    PLIM_TRY(put_slices(t, PLIM__MARK_PHASE, 3, error));
    PLIM_TRY(put_slices(t, PLIM__MARK_OPERATOR, 4, error));
    PLIM_TRY(put_events(t, error));
    return plim__file_writer_write(&t->file, tail, strlen(tail), error);
}

plim_status plim__export_perfetto(const plim__timeline *timeline, const char *path, plim_error *error) {
    trace t = {.timeline = timeline, .first = true};
    PLIM_TRY(plim__file_writer_open(&t.file, path, error));
    plim_status status = put_all(&t, error);
    if (status == PLIM_OK) status = plim__file_writer_commit(&t.file, error);
    plim__file_writer_discard(&t.file);
    plim__str_free(&t.line);
    return status;
}
