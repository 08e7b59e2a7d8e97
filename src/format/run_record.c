/* What `plimsoll run --record` writes, as a timeline. */
#include "format/run_record.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"

enum { MOST_SAMPLES = 1 << 20, LINE = 4096 };

typedef struct record {
    plim__timeline *timeline;
    uint32_t memory, swap, ticks; /* the tensors that stand for resident and swapped memory */
    int64_t step;
} record;

bool plim__run_record_sniff(const unsigned char *head, size_t size) {
    static const char begin[] = "{\"plimsoll_record\"";
    return size >= sizeof begin - 1 && memcmp(head, begin, sizeof begin - 1) == 0;
}

static plim_status add_held(record *r, uint32_t tensor, const json_t *bytes, plim_error *error) {
    json_int_t held = json_integer_value(bytes);
    if (held <= 0) return PLIM_OK;
    plim__timeline_life life = {
        .bytes = (uint64_t)held, .offset = PLIM__NO_OFFSET, .tensor = tensor, .born = r->ticks, .died = r->ticks + 1};
    return plim__timeline_add_life(r->timeline, life, error);
}

static plim_status add_sample(record *r, const json_t *sample, plim_error *error) {
    const json_t *seconds = json_object_get(sample, "t"), *step = json_object_get(sample, "step");
    if (!json_is_number(seconds)) return plim__fail(error, PLIM_CORRUPT, "a sample of the record has no time");
    PLIM_TRY(add_held(r, r->memory, json_object_get(sample, "rss"), error));
    PLIM_TRY(add_held(r, r->swap, json_object_get(sample, "swap"), error));
    if (json_is_integer(step) && json_integer_value(step) > r->step) {
        r->step = json_integer_value(step);
        PLIM_TRY(plim__timeline_add_mark(r->timeline, PLIM__MARK_STEP, r->ticks, (uint64_t)r->step, NULL, error));
    }
    if (!plim__vec_push(&r->timeline->seconds, json_number_value(seconds)))
        return plim__fail_memory(error, "the record's times", r->ticks * sizeof(double));
    r->ticks++;
    return PLIM_OK;
}

static plim_status read_header(record *r, const json_t *header, plim_error *error) {
    const json_t *command = json_object_get(header, "command");
    const char *program = json_string_value(json_array_get(command, 0));
    const char *last = json_string_value(json_array_get(command, json_array_size(command) - 1));
    plim__timeline_buffer memory = {.name = "resident memory", .kind = PLIM__KIND_PROCESS};
    plim__timeline_buffer swap = {.name = "swapped memory", .kind = PLIM__KIND_PROCESS};
    PLIM_TRY(plim__timeline_add_tensor(r->timeline, &memory, &r->memory, error));
    PLIM_TRY(plim__timeline_add_tensor(r->timeline, &swap, &r->swap, error));
    if (program) PLIM_TRY(plim__timeline_add_fact(r->timeline, "command", program, error));
    if (last && last != program) PLIM_TRY(plim__timeline_add_fact(r->timeline, "argument", last, error));
    return PLIM_OK;
}

static plim_status read_lines(record *r, FILE *file, plim_error *error) {
    char line[LINE];
    bool first = true;
    while (r->ticks < MOST_SAMPLES && fgets(line, sizeof line, file)) {
        json_t *object = json_loads(line, 0, NULL);
        if (!object && first) return plim__fail(error, PLIM_CORRUPT, "the record's first line is no JSON");
        if (!object) return plim__timeline_set_cut(r->timeline, "a line of the record is not whole", error);
        plim_status status = first ? read_header(r, object, error) : add_sample(r, object, error);
        json_decref(object);
        PLIM_TRY(status);
        first = false;
    }
    return PLIM_OK;
}

plim_status plim__run_record_read(const char *path, plim__timeline *timeline, plim_error *error) {
    record r = {.timeline = timeline, .step = -1};
    timeline->source = PLIM__SOURCE_RUN;
    FILE *file = fopen(path, "re");
    if (!file) return plim__fail_errno(error, errno, "cannot open '%s'", path);
    plim_status status = read_lines(&r, file, error);
    fclose(file);
    PLIM_TRY(status);
    if (!r.ticks) return plim__fail(error, PLIM_CORRUPT, "'%s' holds no samples", path);
    timeline->ticks = r.ticks;
    return plim__timeline_finish(timeline, error);
}
