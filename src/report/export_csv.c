/* One line for each life, for spreadsheets (RFC 4180). */
#include <inttypes.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "report/report.h"

/* A field that could be mistaken is quoted. */
static void add_field(plim__str *line, const char *text) {
    if (!strpbrk(text, ",\"\r\n")) {
        plim__str_add(line, text);
    } else {
        plim__str_addc(line, '"');
        for (; *text; text++) {
            if (*text == '"') plim__str_addc(line, '"');
            plim__str_addc(line, *text);
        }
        plim__str_addc(line, '"');
    }
    plim__str_addc(line, ',');
}

static void add_seconds(plim__str *line, const plim__timeline *timeline, uint32_t tick) {
    if (tick < timeline->seconds.count) plim__str_addf(line, "%.9f", timeline->seconds.items[tick]);
    plim__str_addc(line, ',');
}

static void add_line(plim__str *line, const plim__timeline *timeline, const plim__timeline_life *life,
                     uint32_t peak_tick) {
    const plim__timeline_tensor *tensor = &timeline->tensors.items[life->tensor];
    add_field(line, plim__timeline_get(timeline, tensor->name));
    add_field(line, plim__kind_word(tensor->kind));
    add_field(line, plim__timeline_get(timeline, tensor->layer));
    add_field(line, plim__timeline_get(timeline, tensor->operation));
    add_field(line, plim__phase_word(tensor->phase));
    add_field(line, plim__timeline_get(timeline, tensor->shape));
    add_field(line, tensor->dtype ? plim_dtype_name(tensor->dtype) : "");
    plim__str_addf(line, "%" PRIu64 ",", life->bytes);
    if (life->offset != PLIM__NO_OFFSET) plim__str_addf(line, "%" PRIu64, life->offset);
    plim__str_addf(line, ",%" PRIu32 ",", life->born);
    if (life->died != PLIM__NEVER) plim__str_addf(line, "%" PRIu32, life->died);
    plim__str_addc(line, ',');
    add_seconds(line, timeline, life->born);
    add_seconds(line, timeline, life->died);
    plim__str_add(line, life->born <= peak_tick && peak_tick < life->died ? "1," : "0,");
    plim__str stack = {0};
    plim__timeline_stack_text(timeline, life->stack, " < ", SIZE_MAX, &stack);
    add_field(line, plim__str_text(&stack));
    line->failed |= stack.failed;
    plim__str_free(&stack);
    if (!line->failed) line->data[line->length - 1] = '\n'; /* the last comma */
}

plim_status plim__export_csv(const plim__timeline *timeline, const plim__summary *summary, const char *path,
                             plim_error *error) {
    static const char head[] =
        "name,kind,layer,operator,phase,shape,dtype,bytes,offset,born,died,born_seconds,died_seconds,at_peak,stack\n";
    plim__file_writer file;
    plim__str line = {0};
    plim_status status = plim__file_writer_open(&file, path, error);
    if (status != PLIM_OK) return status;
    status = plim__file_writer_write(&file, head, strlen(head), error);
    for (size_t i = 0; status == PLIM_OK && i < timeline->lives.count; i++) {
        plim__str_clear(&line);
        add_line(&line, timeline, &timeline->lives.items[i], summary->peak_tick);
        status = line.failed ? plim__fail_memory(error, "a line of CSV", 1)
                             : plim__file_writer_write(&file, line.data, line.length, error);
    }
    plim__str_free(&line);
    if (status == PLIM_OK) status = plim__file_writer_commit(&file, error);
    plim__file_writer_discard(&file);
    return status;
}
