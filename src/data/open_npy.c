/* Opening NumPy's arrays: x.npy with y.npy beside it, a folder of both, or an .npz archive of several. Samples are
 * read from the file as they are needed; packed archives are spooled. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "core/alloc.h"
#include "core/error.h"
#include "data/array.h"
#include "format/npz.h"

enum { FORTRAN_LIMIT = 256 << 20 };

static bool is_target_name(const char *name) {
    static const char *const words[] = {"y", "label", "labels", "target", "targets"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(name, words[i]) == 0) return true;
    return false;
}

/* Samples of an array with its first index running fastest lie scattered over the file: it is read whole. */
static plim_status read_fortran(plim__blob *blob, const plim__npy_header *header, plim_error *error) {
    if (header->bytes > FORTRAN_LIMIT)
        return plim__fail(error, PLIM_UNSUPPORTED,
                          "'%s' is in Fortran order and larger than 256 MiB; save it with np.ascontiguousarray",
                          blob->path);
    char *whole = plim__alloc(header->bytes);
    if (!whole) return plim__fail_memory(error, blob->path, header->bytes);
    plim_status status = plim__npy_read_data(blob->fd, blob->path, header, whole, error);
    if (status != PLIM_OK) {
        plim__free(whole);
        return status;
    }
    blob->memory = blob->owned = whole;
    blob->offset = 0;
    blob->bytes = header->bytes;
    return PLIM_OK;
}

/* Adds the array whose data the blob begins with; the blob is taken over. */
static plim_status add_array(plim__array_source *source, plim__blob *blob, const plim__npy_header *header,
                             const char *name, bool target, plim_error *error) {
    plim__array_column column = {.name = name,
                                 .dtype = header->dtype,
                                 .swapped = header->swapped && !(header->fortran && header->rank > 1),
                                 .target = target,
                                 .rank = header->rank - 1,
                                 .dims = header->dims + 1};
    PLIM_TRY(plim__array_source_add_blob(source, blob, &column.blob, error));
    *blob = PLIM__BLOB_EMPTY;
    return plim__array_source_add_column(source, &column, error);
}

static plim_status check_rank(const plim__npy_header *header, const char *path, const char *name, int64_t samples,
                              plim_error *error) {
    if (header->rank == 0)
        return plim__fail(error, PLIM_SHAPE, "array '%s' of '%s' is a single value; the first axis is the samples",
                          name, path);
    if (samples >= 0 && header->dims[0] != samples)
        return plim__fail(error, PLIM_SHAPE, "array '%s' of '%s' has %lld samples, the ones before it have %lld", name,
                          path, (long long)header->dims[0], (long long)samples);
    return PLIM_OK;
}

/* --- .npy ----------------------------------------------------------------------------------------------------- */

static plim_status open_array(const char *path, plim__blob *blob, plim__npy_header *header, uint64_t *file_bytes,
                              plim_error *error) {
    PLIM_TRY(plim__blob_open(blob, path, error));
    PLIM_TRY(plim__npy_read_header(blob->fd, path, header, error));
    *file_bytes += blob->bytes;
    if (header->fortran && header->rank > 1) return read_fortran(blob, header, error);
    return plim__blob_narrow(blob, header->data_offset, header->bytes, error);
}

static plim_status add_file(plim__array_source **source, const char *path, const char *name, bool target,
                            const plim_data_options *options, plim_error *error) {
    plim__blob blob = PLIM__BLOB_EMPTY;
    plim__npy_header header;
    uint64_t file_bytes = 0;
    plim_status status = open_array(path, &blob, &header, &file_bytes, error);
    int64_t samples = *source ? plim__array_source_base(*source)->count : -1;
    if (status == PLIM_OK) status = check_rank(&header, path, name, samples, error);
    if (status == PLIM_OK && !*source)
        status = plim__array_source_create("npy", header.dims[0], options, source, error);
    if (status == PLIM_OK) {
        plim__array_source_base(*source)->file_bytes += file_bytes;
        status = add_array(*source, &blob, &header, name, target, error);
    }
    plim__blob_close(&blob);
    return status;
}

static bool exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* The targets of "x_train.npy" are in "y_train.npy", when that exists. */
static bool targets_beside(const char *inputs, char *targets, size_t capacity) {
    int length = snprintf(targets, capacity, "%s", inputs);
    if (length < 0 || (size_t)length >= capacity) return false;
    char *slash = strrchr(targets, '/'), *name = slash ? slash + 1 : targets;
    if ((*name != 'x' && *name != 'X') || (name[1] != '.' && name[1] != '_')) return false;
    (*name)++;
    return exists(targets);
}

/* x.npy, or the split's: x_train.npy. */
static plim_status find_in_folder(const char *folder, const char *split, char *path, size_t capacity,
                                  plim_error *error) {
    static const char first[] = {'x', 'X'};
    for (int named = 1; named >= 0; named--)
        for (int i = 0; i < 2; i++) {
            int length =
                snprintf(path, capacity, "%s/%c%s%s.npy", folder, first[i], named ? "_" : "", named ? split : "");
            if (length > 0 && (size_t)length < capacity && exists(path)) return PLIM_OK;
        }
    return plim__fail(error, PLIM_NOT_FOUND, "'%s' has neither x_%s.npy nor x.npy", folder, split);
}

plim_status plim__data_source_open_npy(const char *path, const plim_data_options *options, plim__data_source **source,
                                       plim_error *error) {
    char inside[4096], targets[4096];
    struct stat info;
    plim__array_source *made = NULL;
    *source = NULL;
    if (stat(path, &info) != 0) return plim__fail_errno(error, errno, "cannot open '%s'", path);
    if (S_ISDIR(info.st_mode)) {
        PLIM_TRY(find_in_folder(path, options->split && strcmp(options->split, "test") == 0 ? "test" : "train", inside,
                                sizeof inside, error));
        path = inside;
    }
    plim_status status = add_file(&made, path, "x", false, options, error);
    const char *beside = options->target ? options->target : NULL;
    if (!beside && targets_beside(path, targets, sizeof targets)) beside = targets;
    if (status == PLIM_OK && beside && !options->no_target) status = add_file(&made, beside, "y", true, options, error);
    if (status == PLIM_OK)
        *source = plim__array_source_base(made);
    else if (made)
        plim__data_source_free(plim__array_source_base(made));
    return status;
}

/* --- .npz ----------------------------------------------------------------------------------------------------- */

/* What an entry is called without ".npy" and without the split; false when it belongs to the other split. */
static bool entry_name(const char *entry, const char *split, char *name, size_t capacity) {
    static const char *const splits[] = {"_train", "_test"};
    int length = (int)strlen(entry) - 4;
    snprintf(name, capacity, "%.*s", length < 0 ? 0 : length, entry);
    for (int i = 0; i < 2; i++) {
        size_t whole = strlen(name), tail = strlen(splits[i]);
        if (whole <= tail || strcmp(name + whole - tail, splits[i]) != 0) continue;
        name[whole - tail] = 0;
        return strcmp(splits[i] + 1, split) == 0;
    }
    return true;
}

/* The entry's bytes by themselves: a range of the file when they are stored, a spool when they are packed. */
static plim_status open_entry(const plim__zip *zip, const plim__zip_entry *entry, const plim__npy_header *header,
                              uint64_t limit, plim__blob *blob, plim_error *error) {
    uint64_t offset = 0;
    PLIM_TRY(plim__zip_find_data(zip, entry, &offset, error));
    PLIM_TRY(plim__blob_open(blob, zip->path, error));
    PLIM_TRY(plim__blob_narrow(blob, offset, entry->stored, error));
    if (entry->method != 0) PLIM_TRY(plim__blob_inflate(blob, entry->bytes, entry->crc, limit, error));
    if (header->fortran && header->rank > 1)
        return plim__fail(error, PLIM_UNSUPPORTED,
                          "entry '%.200s' of '%s' is in Fortran order; save it with np.ascontiguousarray", entry->name,
                          zip->path);
    return plim__blob_narrow(blob, header->data_offset, header->bytes, error);
}

static plim_status add_entry(plim__array_source **source, const plim__zip *zip, const plim__zip_entry *entry,
                             const char *name, const plim_data_options *options, plim_error *error) {
    plim__blob blob = PLIM__BLOB_EMPTY;
    plim__npy_header header;
    bool target = options->target ? strcmp(name, options->target) == 0 : is_target_name(name);
    PLIM_TRY(plim__npz_read_header(zip, entry, &header, error));
    PLIM_TRY(check_rank(&header, zip->path, name, *source ? plim__array_source_base(*source)->count : -1, error));
    if (!*source) PLIM_TRY(plim__array_source_create("npz", header.dims[0], options, source, error));
    plim_status status = open_entry(zip, entry, &header, options->unpack_limit, &blob, error);
    if (status == PLIM_OK) status = add_array(*source, &blob, &header, name, target, error);
    plim__blob_close(&blob);
    return status;
}

static plim_status add_entries(plim__array_source **source, const plim__zip *zip, const plim_data_options *options,
                               plim_error *error) {
    const char *split = options->split && strcmp(options->split, "test") == 0 ? "test" : "train";
    for (size_t i = 0; i < zip->count; i++) {
        char name[PLIM_DATA_NAME];
        size_t length = strlen(zip->entries[i].name);
        if (length < 4 || strcmp(zip->entries[i].name + length - 4, ".npy") != 0)
            return plim__fail(error, PLIM_CORRUPT, "'%s' is not an .npz archive: '%.200s' is in it", zip->path,
                              zip->entries[i].name);
        if (entry_name(zip->entries[i].name, split, name, sizeof name))
            PLIM_TRY(add_entry(source, zip, &zip->entries[i], name, options, error));
    }
    if (!*source) return plim__fail(error, PLIM_NOT_FOUND, "'%s' has no arrays for split '%s'", zip->path, split);
    if (!options->target || options->no_target) return PLIM_OK;
    const plim__data_source *base = plim__array_source_base(*source);
    for (int i = 0; i < base->field_count; i++)
        if (base->fields[i].target) return PLIM_OK;
    return plim__fail(error, PLIM_NOT_FOUND, "'%s' has no array '%s'", zip->path, options->target);
}

plim_status plim__data_source_open_npz(const char *path, const plim_data_options *options, plim__data_source **source,
                                       plim_error *error) {
    plim__blob file = PLIM__BLOB_EMPTY;
    plim__zip zip = {0};
    plim__array_source *made = NULL;
    *source = NULL;
    plim_status status = plim__blob_open(&file, path, error);
    if (status == PLIM_OK) {
        status = plim__zip_open(&zip, file.fd, path, error);
        if (status == PLIM_OK) status = add_entries(&made, &zip, options, error);
        plim__zip_close(&zip);
    }
    if (status == PLIM_OK) {
        *source = plim__array_source_base(made);
        (*source)->file_bytes = file.bytes;
    } else if (made) {
        plim__data_source_free(plim__array_source_base(made));
    }
    plim__blob_close(&file);
    return status;
}

/* --- memory --------------------------------------------------------------------------------------------------- */

static plim_status add_memory(plim__array_source *source, const plim_data_array *array, plim_error *error) {
    plim__blob blob = PLIM__BLOB_EMPTY;
    int64_t elements = 1;
    size_t bytes = 0;
    bool fits = array->rank >= 1 && array->rank <= PLIM_DATA_MAX_RANK + 1 && array->dims && array->name;
    for (int i = 0; fits && i < array->rank; i++)
        fits = array->dims[i] >= 0 && !__builtin_mul_overflow(elements, array->dims[i], &elements);
    if (!fits || !plim_dtype_bytes(array->dtype, elements, &bytes))
        return plim__fail(error, PLIM_INVALID, "array '%s' has no valid shape", array->name ? array->name : "");
    if (array->dims[0] != plim__array_source_base(source)->count)
        return plim__fail(error, PLIM_SHAPE, "array '%s' has %lld samples, the first one has %lld", array->name,
                          (long long)array->dims[0], (long long)plim__array_source_base(source)->count);
    plim__array_column column = {.name = array->name,
                                 .dtype = array->dtype,
                                 .target = array->target,
                                 .rank = array->rank - 1,
                                 .dims = array->dims + 1};
    plim_status status = plim__blob_memory(&blob, array->values, bytes, array->name, error);
    if (status == PLIM_OK) status = plim__array_source_add_blob(source, &blob, &column.blob, error);
    if (status != PLIM_OK) plim__blob_close(&blob);
    return status == PLIM_OK ? plim__array_source_add_column(source, &column, error) : status;
}

plim_status plim__data_source_open_arrays(const plim_data_array *arrays, size_t count, const plim_data_options *options,
                                          plim__data_source **source, plim_error *error) {
    plim__array_source *made = NULL;
    *source = NULL;
    if (count == 0 || arrays[0].rank < 1 || !arrays[0].dims)
        return plim__fail(error, PLIM_INVALID, "a data set needs at least one array, with the samples as first axis");
    plim_status status = plim__array_source_create("arrays", arrays[0].dims[0], options, &made, error);
    for (size_t i = 0; i < count && status == PLIM_OK; i++) status = add_memory(made, &arrays[i], error);
    if (status == PLIM_OK)
        *source = plim__array_source_base(made);
    else if (made)
        plim__data_source_free(plim__array_source_base(made));
    return status;
}
