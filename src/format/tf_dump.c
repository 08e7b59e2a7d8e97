/* Finding chunks in a log, and putting them in the order of their addresses. */
#include "format/tf_dump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

typedef struct chunk {
    uint64_t address, bytes;
    plim__text_id operation;
    bool in_use;
} chunk;

typedef struct dump {
    plim__timeline *timeline;
    PLIM_VEC(chunk) chunks;
    unsigned dumps;
    uint64_t refused;
    plim__text_id refused_text;
} dump;

/* The number behind `word` in a line, in the given base. */
static bool number_after(const char *line, const char *word, int base, uint64_t *value) {
    const char *at = strstr(line, word);
    if (!at) return false;
    at += strlen(word);
    while (*at == ' ') at++;
    char *end;
    errno = 0;
    *value = strtoull(at, &end, base);
    return end != at && !errno && *at != '-';
}

static plim_status no_memory(plim_error *error) {
    return plim__fail_memory(error, "the chunks of a TensorFlow dump", 1);
}

/* "by op NAME action_count" in newer logs. */
static bool take_operation(dump *d, const char *line, plim__text_id *id) {
    const char *at = strstr(line, " by op ");
    *id = 0;
    if (!at) return true;
    at += strlen(" by op ");
    const char *end = strstr(at, " action_count");
    return plim__timeline_textn(d->timeline, at, end ? (size_t)(end - at) : strcspn(at, " \n\033"), id);
}

static plim_status take_chunk(dump *d, const char *at, bool in_use, plim_error *error) {
    chunk c = {.in_use = in_use};
    if (!number_after(at, " at ", 16, &c.address) || !number_after(at, " of size ", 10, &c.bytes)) return PLIM_OK;
    if (c.bytes == 0 || c.bytes > UINT64_MAX / 4 - c.address) return PLIM_OK; /* a garbled line */
    if (!take_operation(d, at, &c.operation) || !plim__vec_push(&d->chunks, c)) return no_memory(error);
    return PLIM_OK;
}

static plim_status take_refusal(dump *d, const char *line, plim_error *error) {
    uint64_t bytes;
    if (!number_after(line, "(rounded to ", 10, &bytes)) return PLIM_OK;
    const char *start = strstr(line, "Allocator (");
    if (!start) start = strstr(line, "trying to allocate");
    d->refused = bytes;
    if (start && !plim__timeline_textn(d->timeline, start, strcspn(start, "\n\033"), &d->refused_text))
        return no_memory(error);
    return PLIM_OK;
}

static plim_status take_line(dump *d, const char *line, plim_error *error) {
    const char *at;
    /* a new dump replaces the one before: it shows the later state */
    if ((strstr(line, "AllocatorDump for") || strstr(line, "Allocator dump for") || strstr(line, "Bin (256):")) &&
        d->chunks.count) {
        d->chunks.count = 0;
        d->dumps++;
    }
    if ((at = strstr(line, "InUse at "))) return take_chunk(d, at, true, error);
    if ((at = strstr(line, "Free  at ")) || (at = strstr(line, "Free at "))) return take_chunk(d, at, false, error);
    if ((at = strstr(line, "Chunk at "))) return take_chunk(d, at, true, error);
    if (strstr(line, "trying to allocate")) return take_refusal(d, line, error);
    if (d->chunks.count && strstr(line, "Limit:")) number_after(line, "Limit:", 10, &d->timeline->capacity);
    return PLIM_OK;
}

static plim_status read_lines(dump *d, const char *path, plim_error *error) {
    FILE *file = fopen(path, "re");
    if (!file) return plim__fail_errno(error, errno, "cannot open '%s'", path);
    char line[8192];
    plim_status status = PLIM_OK;
    while (status == PLIM_OK && fgets(line, sizeof line, file)) status = take_line(d, line, error);
    if (status == PLIM_OK && ferror(file)) status = plim__fail_errno(error, errno, "cannot read '%s'", path);
    fclose(file);
    return status;
}

static int by_address(const void *a, const void *b) {
    const chunk *left = a, *right = b;
    return (left->address > right->address) - (left->address < right->address);
}

/* Adds one chunk at `offset` on the map, in the segment that ends there or in a new one. */
static plim_status place(dump *d, const chunk *c, uint64_t offset, bool new_segment, plim_error *error) {
    plim__timeline *timeline = d->timeline;
    if (new_segment &&
        !plim__vec_push(&timeline->segments, (plim__timeline_segment){.address = c->address,
                                                                      .offset = offset,
                                                                      .first_block = (uint32_t)timeline->blocks.count}))
        return no_memory(error);
    plim__timeline_segment *segment = &timeline->segments.items[timeline->segments.count - 1];
    segment->bytes += c->bytes;
    segment->block_count++;
    plim__timeline_block block = {.bytes = c->bytes,
                                  .requested = c->in_use ? c->bytes : 0,
                                  .name = c->operation,
                                  .state = c->in_use ? PLIM__BLOCK_ACTIVE : PLIM__BLOCK_FREE};
    if (!plim__vec_push(&timeline->blocks, block)) return no_memory(error);
    if (!c->in_use) return PLIM_OK;
    char name[64];
    snprintf(name, sizeof name, "chunk at %llx", (unsigned long long)c->address);
    const char *operation = plim__timeline_get(timeline, c->operation);
    plim__timeline_buffer buffer = {.name = *operation ? operation : name,
                                    .operation = operation,
                                    .kind = PLIM__KIND_OTHER,
                                    .bytes = c->bytes,
                                    .offset = offset,
                                    .born = 0,
                                    .died = PLIM__NEVER};
    return plim__timeline_add(timeline, &buffer, error);
}

static plim_status place_all(dump *d, plim_error *error) {
    if (d->chunks.count) qsort(d->chunks.items, d->chunks.count, sizeof *d->chunks.items, by_address);
    uint64_t offset = 0, end = 0;
    for (size_t i = 0; i < d->chunks.count; i++) {
        const chunk *c = &d->chunks.items[i];
        if (i && c->address < end) continue; /* told twice */
        PLIM_TRY(place(d, c, offset, i == 0 || c->address != end, error));
        offset += c->bytes;
        end = c->address + c->bytes;
    }
    if (d->refused) {
        const char *text = plim__timeline_get(d->timeline, d->refused_text);
        PLIM_TRY(plim__timeline_add_mark(d->timeline, PLIM__MARK_OOM, 0, d->refused, text, error));
    }
    d->timeline->ticks = 1;
    return plim__timeline_finish(d->timeline, error);
}

plim_status plim__tf_dump_read(const char *path, plim__timeline *timeline, plim_error *error) {
    dump d = {.timeline = timeline};
    timeline->source = PLIM__SOURCE_TENSORFLOW;
    plim_status status = read_lines(&d, path, error);
    if (status == PLIM_OK && d.chunks.count == 0)
        status = plim__fail(
            error, PLIM_UNSUPPORTED,
            "'%s' is not a Plimsoll trace, not a PyTorch memory snapshot, and has no TensorFlow allocator dump in it",
            path);
    if (status == PLIM_OK) status = place_all(&d, error);
    plim__vec_free(&d.chunks);
    return status;
}
