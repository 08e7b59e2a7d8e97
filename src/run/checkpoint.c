/* Checkpoints to files and back. One table says which fields there are, for both directions. */
#include "run/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file.h"
#include "plimsoll/version.h"

#define FORMAT      "1"
#define EXTRA       "extra."
#define NUMBER_TEXT 32

static const char *const prefixes[] = {[PLIM__CHECKPOINT_MODEL] = "model.", [PLIM__CHECKPOINT_STATE] = "state."};

typedef enum field_type { TEXT, COUNT, BITS, REAL } field_type;

static const struct field {
    const char *key;
    field_type type;
    size_t offset;
} fields[] = {
#define FIELD(key, type, member)                                                                                       \
    { key, type, offsetof(plim__checkpoint, member) }
    FIELD("program", TEXT, program),
    FIELD("model", BITS, model),
    FIELD("optimizer", TEXT, optimizer),
    FIELD("optimizer.settings", TEXT, settings),
    FIELD("update", COUNT, update),
    FIELD("epoch", COUNT, epoch),
    FIELD("sample", COUNT, sample),
    FIELD("seed", BITS, seed),
    FIELD("data", TEXT, data),
    FIELD("data.samples", COUNT, data_samples),
    FIELD("data.bytes", COUNT, data_bytes),
    FIELD("best", REAL, best),
    FIELD("best.update", COUNT, best_update),
    FIELD("stale", COUNT, stale),
#undef FIELD
};
enum { FIELDS = sizeof fields / sizeof *fields };

/* --- writing -------------------------------------------------------------------------------------------------- */

/* The two lists as one, with prefixes. */
typedef struct joined {
    const plim__weights *parts[2];
    plim__weight *items;
} joined;

static const plim__weights *part_of(const joined *both, size_t *index) {
    if (*index < both->parts[0]->count) return both->parts[0];
    *index -= both->parts[0]->count;
    return both->parts[1];
}

static const void *view(void *context, size_t index) {
    const plim__weights *part = part_of(context, &index);
    return part->view ? part->view(part->context, index) : NULL;
}

static plim_status read_weight(void *context, size_t index, void *dense, plim_error *error) {
    const plim__weights *part = part_of(context, &index);
    return part->read(part->context, index, dense, error);
}

static char *with_prefix(const char *prefix, const char *name) {
    size_t size = strlen(prefix) + strlen(name) + 1;
    char *text = plim__alloc(size);
    if (text) snprintf(text, size, "%s%s", prefix, name);
    return text;
}

static void free_joined(joined *both) {
    size_t count = both->items ? both->parts[0]->count + both->parts[1]->count : 0;
    for (size_t i = 0; i < count; i++) plim__free((void *)(uintptr_t)both->items[i].name);
    plim__free(both->items);
}

static plim_status join(joined *both, plim__weights *weights, plim_error *error) {
    size_t count = both->parts[0]->count + both->parts[1]->count;
    both->items = plim__alloc_zero(count, sizeof *both->items);
    if (!both->items) return plim__fail_memory(error, "a checkpoint", count * sizeof *both->items);
    for (size_t i = 0; i < count; i++) {
        size_t index = i;
        const plim__weights *part = part_of(both, &index);
        both->items[i] = part->items[index];
        both->items[i].name = with_prefix(prefixes[i >= both->parts[0]->count], part->items[index].name);
        if (!both->items[i].name) return plim__fail_memory(error, "a checkpoint", strlen(part->items[index].name));
    }
    *weights = (plim__weights){both->items, count, both, view, read_weight};
    return PLIM_OK;
}

static const char *field_text(const plim__checkpoint *meta, const struct field *field, char text[NUMBER_TEXT]) {
    const char *at = (const char *)meta + field->offset;
    switch (field->type) {
    case TEXT: return *(const char *const *)at ? *(const char *const *)at : "";
    case COUNT: snprintf(text, NUMBER_TEXT, "%" PRId64, *(const int64_t *)at); break;
    case BITS: snprintf(text, NUMBER_TEXT, "%016" PRIx64, *(const uint64_t *)at); break;
    case REAL: snprintf(text, NUMBER_TEXT, "%.17g", *(const double *)at); break;
    }
    return text;
}

static plim_status write_with(const char *path, const plim__checkpoint *meta, const plim__weights *weights,
                              plim__safetensors_note *notes, plim_error *error) {
    char numbers[FIELDS][NUMBER_TEXT];
    plim__checkpoint written = *meta;
    size_t count = 0;
    plim_status status = PLIM_OK;
    written.program = PLIM_VERSION_STRING;
    notes[count++] = (plim__safetensors_note){"plimsoll.checkpoint", FORMAT};
    for (size_t i = 0; i < FIELDS; i++)
        notes[count++] = (plim__safetensors_note){fields[i].key, field_text(&written, &fields[i], numbers[i])};
    size_t first_extra = count;
    for (size_t i = 0; i < meta->extra_count && status == PLIM_OK; i++) {
        char *key = with_prefix(EXTRA, meta->extra[i].key);
        if (key)
            notes[count++] = (plim__safetensors_note){key, meta->extra[i].value};
        else
            status = plim__fail_memory(error, "a checkpoint", strlen(meta->extra[i].key));
    }
    if (status == PLIM_OK) status = plim__safetensors_write_sealed(path, weights, notes, count, error);
    for (size_t i = first_extra; i < count; i++) plim__free((void *)(uintptr_t)notes[i].key);
    return status;
}

plim_status plim__checkpoint_write(const char *path, const plim__checkpoint *meta, const plim__weights *model,
                                   const plim__weights *state, plim_error *error) {
    joined both = {.parts = {model, state}};
    plim__weights weights;
    size_t notes_bytes = (1 + FIELDS + meta->extra_count) * sizeof(plim__safetensors_note);
    plim__safetensors_note *notes = plim__alloc(notes_bytes);
    plim_status status = notes ? join(&both, &weights, error) : plim__fail_memory(error, "a checkpoint", notes_bytes);
    if (status == PLIM_OK) status = write_with(path, meta, &weights, notes, error);
    free_joined(&both);
    plim__free(notes);
    return status;
}

/* --- reading -------------------------------------------------------------------------------------------------- */

static const char *note_of(const plim__checkpoint_file *file, const char *key) {
    for (size_t i = 0; i < file->header.note_count; i++)
        if (strcmp(file->header.notes[i].key, key) == 0) return file->header.notes[i].value;
    return NULL;
}

/* strto… takes spaces, signs and rests; a file that was written here has none. */
static bool parse_field(const struct field *field, const char *text, plim__checkpoint *meta) {
    char *at = (char *)meta + field->offset, *end = NULL;
    if (field->type == TEXT) {
        *(const char **)at = text;
        return true;
    }
    errno = 0;
    if (field->type == COUNT) {
        *(int64_t *)at = strtoll(text, &end, 10);
        if (*(int64_t *)at < 0) return false;
    } else if (field->type == BITS) {
        *(uint64_t *)at = strtoull(text, &end, 16);
    } else {
        *(double *)at = strtod(text, &end);
        errno = 0; /* infinity and tiny numbers are numbers */
    }
    return *text && *text != ' ' && !*end && errno == 0;
}

static plim_status read_fields(plim__checkpoint_file *file, plim_error *error) {
    const char *format = note_of(file, "plimsoll.checkpoint");
    if (!format) return plim__fail(error, PLIM_CORRUPT, "'%s' is not a checkpoint", file->path);
    if (strcmp(format, FORMAT) != 0)
        return plim__fail(error, PLIM_UNSUPPORTED, "'%s' is a checkpoint of format %.20s; this program reads " FORMAT,
                          file->path, format);
    for (size_t i = 0; i < FIELDS; i++) {
        const char *text = note_of(file, fields[i].key);
        if (!text || !parse_field(&fields[i], text, &file->meta))
            return plim__fail(error, PLIM_CORRUPT, "the checkpoint '%s' has no valid '%s'", file->path, fields[i].key);
    }
    return PLIM_OK;
}

static plim_status read_extra(plim__checkpoint_file *file, plim_error *error) {
    size_t most = file->header.note_count;
    file->extra = plim__alloc_array(most, sizeof *file->extra);
    if (!file->extra) return plim__fail_memory(error, "a checkpoint", most * sizeof *file->extra);
    file->meta.extra = file->extra;
    for (size_t i = 0; i < most; i++) {
        const plim__safetensors_note *note = &file->header.notes[i];
        if (strncmp(note->key, EXTRA, strlen(EXTRA)) != 0) continue;
        file->extra[file->meta.extra_count++] = (plim__safetensors_note){note->key + strlen(EXTRA), note->value};
    }
    return PLIM_OK;
}

static plim_status index_tensors(plim__checkpoint_file *file, plim_error *error) {
    for (size_t i = 0; i < file->header.count; i++) {
        const char *name = file->header.tensors[i].name;
        if (strncmp(name, prefixes[0], strlen(prefixes[0])) != 0 &&
            strncmp(name, prefixes[1], strlen(prefixes[1])) != 0)
            return plim__fail(error, PLIM_CORRUPT, "the checkpoint '%s' has a strange tensor '%.200s'", file->path,
                              name);
        if (!plim__map_put(&file->tensors, name, (int64_t)i))
            return plim__fail_memory(error, "a checkpoint", strlen(name));
    }
    return PLIM_OK;
}

/* The seal first: behind it, everything is as it was written. */
static plim_status read_file(plim__checkpoint_file *file, plim_error *error) {
    PLIM_TRY(plim__safetensors_check_seal(file->fd, file->path, "a checkpoint", error));
    PLIM_TRY(plim__safetensors_open(&file->header, file->fd, file->path, error));
    PLIM_TRY(read_fields(file, error));
    PLIM_TRY(read_extra(file, error));
    return index_tensors(file, error);
}

plim_status plim__checkpoint_open_fd(plim__checkpoint_file *file, int fd, const char *path, plim_error *error) {
    *file = (plim__checkpoint_file){.fd = fd, .path = plim__strdup(path)};
    plim_status status = file->path ? read_file(file, error) : plim__fail_memory(error, path, strlen(path));
    if (status != PLIM_OK && !file->path) close(fd); /* what has a path closes its own */
    if (status != PLIM_OK) plim__checkpoint_close(file);
    return status;
}

plim_status plim__checkpoint_open(plim__checkpoint_file *file, const char *path, plim_error *error) {
    *file = (plim__checkpoint_file){.fd = -1};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return plim__fail_errno(error, errno, "cannot open the checkpoint '%s'", path);
    return plim__checkpoint_open_fd(file, fd, path, error);
}

void plim__checkpoint_close(plim__checkpoint_file *file) {
    if (file->path) close(file->fd);
    plim__safetensors_close(&file->header);
    plim__map_free(&file->tensors);
    plim__free(file->extra);
    plim__free(file->path);
    *file = (plim__checkpoint_file){.fd = -1};
}

const char *plim__checkpoint_extra(const plim__checkpoint_file *file, const char *key) {
    for (size_t i = 0; i < file->meta.extra_count; i++)
        if (strcmp(file->meta.extra[i].key, key) == 0) return file->meta.extra[i].value;
    return NULL;
}

/* --- matching ------------------------------------------------------------------------------------------------- */

static const char *const part_words[] = {"parameter", "optimizer state"};
static const char *const other_words[] = {"another model", "another optimizer"};

static const char *tensor_text(const plim__safetensors_tensor *tensor, char text[PLIM_SHAPE_TEXT]) {
    size_t used = (size_t)snprintf(text, PLIM_SHAPE_TEXT, "%s[", tensor->element->name);
    for (int i = 0; i < tensor->rank && used < PLIM_SHAPE_TEXT; i++)
        used += (size_t)snprintf(text + used, PLIM_SHAPE_TEXT - used, "%s%" PRId64, i ? "," : "", tensor->dims[i]);
    if (used < PLIM_SHAPE_TEXT) snprintf(text + used, PLIM_SHAPE_TEXT - used, "]");
    return text;
}

static bool same_type(const plim__safetensors_tensor *tensor, const plim__weight *weight) {
    bool same =
        tensor->element == plim__element_find(plim_dtype_name(weight->dtype)) && tensor->rank == weight->shape.rank;
    for (int i = 0; same && i < tensor->rank; i++) same = tensor->dims[i] == weight->shape.dims[i];
    return same;
}

/* The same model keeps other parameters only where others are frozen. */
static plim_status other_frozen(const plim__checkpoint_file *file, const char *name, bool trained_here,
                                plim_error *error) {
    return plim__fail(error, PLIM_INVALID,
                      "'%s' is a checkpoint of a run with other frozen weights: '%.200s' was %s there, and is %s here",
                      file->path, name, trained_here ? "frozen" : "trained", trained_here ? "trained" : "frozen");
}

/* The tensor of a weight, or why there is none. */
static plim_status find_tensor(const plim__checkpoint_file *file, plim__checkpoint_part part,
                               const plim__weight *weight, bool same_model, const plim__safetensors_tensor **found,
                               plim_error *error) {
    char *name = with_prefix(prefixes[part], weight->name);
    if (!name) return plim__fail_memory(error, "a name", strlen(weight->name));
    int64_t index = plim__map_get(&file->tensors, name, -1);
    plim__free(name);
    if (index < 0 && same_model && part == PLIM__CHECKPOINT_MODEL) return other_frozen(file, weight->name, true, error);
    if (index < 0)
        return plim__fail(error, PLIM_INVALID, "'%s' is a checkpoint of %s: it has no %s '%.200s'", file->path,
                          other_words[part], part_words[part], weight->name);
    *found = &file->header.tensors[index];
    if (same_type(*found, weight)) return PLIM_OK;
    char there[PLIM_SHAPE_TEXT], here[PLIM_SHAPE_TEXT];
    return plim__fail(error, PLIM_INVALID, "'%s' is a checkpoint of %s: %s '%.200s' is %s in it, and %s%s here",
                      file->path, other_words[part], part_words[part], weight->name, tensor_text(*found, there),
                      plim_dtype_name(weight->dtype), plim__shape_text(&weight->shape, NULL, here));
}

/* Everything that is wanted is there; then by their number, nothing else is. */
static plim_status match_part(const plim__checkpoint_file *file, plim__checkpoint_part part,
                              const plim__weights *weights, bool same_model, plim_error *error) {
    const plim__safetensors_tensor *found;
    plim__map known = {0};
    plim_status status = PLIM_OK;
    for (size_t i = 0; i < weights->count && status == PLIM_OK; i++) {
        status = find_tensor(file, part, &weights->items[i], same_model, &found, error);
        if (status == PLIM_OK && !plim__map_put(&known, weights->items[i].name, 1))
            status = plim__fail_memory(error, "a name", strlen(weights->items[i].name));
    }
    size_t prefix = strlen(prefixes[part]);
    for (size_t i = 0; i < file->header.count && status == PLIM_OK; i++) {
        const char *name = file->header.tensors[i].name;
        if (strncmp(name, prefixes[part], prefix) != 0 || plim__map_get(&known, name + prefix, 0)) continue;
        status = same_model && part == PLIM__CHECKPOINT_MODEL
                     ? other_frozen(file, name + prefix, false, error)
                     : plim__fail(error, PLIM_INVALID, "'%s' is a checkpoint of %s: %s '%.200s' is not here",
                                  file->path, other_words[part], part_words[part], name + prefix);
    }
    plim__map_free(&known);
    return status;
}

plim_status plim__checkpoint_match(const plim__checkpoint_file *file, const plim__checkpoint *run,
                                   const plim__weights *model, const plim__weights *state, plim_error *error) {
    PLIM_TRY(match_part(file, PLIM__CHECKPOINT_MODEL, model, file->meta.model == run->model, error));
    if (file->meta.model != run->model)
        return plim__fail(error, PLIM_INVALID,
                          "'%s' is a checkpoint of another model: the parameters fit, but the nodes are not the same",
                          file->path);
    if (strcmp(file->meta.optimizer, run->optimizer) != 0)
        return plim__fail(error, PLIM_INVALID, "'%s' is a checkpoint of a run with %.60s, not with %.60s", file->path,
                          file->meta.optimizer, run->optimizer);
    return match_part(file, PLIM__CHECKPOINT_STATE, state, true, error);
}

plim_status plim__checkpoint_match_data(const plim__checkpoint_file *file, const plim__checkpoint *run,
                                        plim_error *error) {
    const plim__checkpoint *meta = &file->meta;
    const char *kind = run->data ? run->data : "";
    if (strcmp(meta->data, kind) == 0 && meta->data_samples == run->data_samples && meta->data_bytes == run->data_bytes)
        return PLIM_OK;
    return plim__fail(error, PLIM_INVALID,
                      "'%s' is a checkpoint of a run with other data: %.60s, %" PRId64 " samples, %" PRId64
                      " bytes; here %.60s, %" PRId64 " samples, %" PRId64 " bytes",
                      file->path, meta->data, meta->data_samples, meta->data_bytes, kind, run->data_samples,
                      run->data_bytes);
}

plim_status plim__checkpoint_read(const plim__checkpoint_file *file, plim__checkpoint_part part,
                                  const plim__weight *weight, void *into, plim_error *error) {
    const plim__safetensors_tensor *tensor;
    PLIM_TRY(find_tensor(file, part, weight, false, &tensor, error));
    return plim__file_read_at(file->fd, into, (size_t)tensor->bytes, tensor->offset, file->path, error);
}
