/* Opening IDX data: a folder with train-* and t10k-* files as MNIST has it, or one file of samples with its labels
 * beside it. Packed files are spooled. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/error.h"
#include "data/array.h"
#include "format/idx.h"

/* Opens one array; the blob is left at its data. */
static plim_status open_array(const char *path, uint64_t limit, plim__blob *blob, uint64_t *file_bytes,
                              plim__idx_header *header, plim_error *error) {
    unsigned char bytes[PLIM__IDX_MAX_HEADER];
    PLIM_TRY(plim__blob_open(blob, path, error));
    *file_bytes += blob->bytes;
    PLIM_TRY(plim__blob_gunzip(blob, limit, error));
    size_t size = blob->bytes < sizeof bytes ? (size_t)blob->bytes : sizeof bytes;
    PLIM_TRY(plim__blob_read(blob, 0, bytes, size, error));
    plim_status status = plim__idx_parse_header(bytes, size, header, error);
    if (status != PLIM_OK) return plim__fail_context(error, status, "'%s'", path);
    return plim__blob_narrow(blob, header->data_offset, header->bytes, error);
}

/* Images of one channel get their channel axis: [28, 28] is delivered as [1, 28, 28]. */
static plim_status add_array(plim__array_source *source, plim__blob *blob, const plim__idx_header *header, bool target,
                             plim_error *error) {
    plim__array_column column = {.name = target              ? "label"
                                         : header->rank >= 3 ? "image"
                                                             : "x",
                                 .dtype = header->dtype,
                                 .swapped =
                                     __BYTE_ORDER__ != __ORDER_BIG_ENDIAN__ && plim_dtype_bits(header->dtype) > 8,
                                 .target = target};
    int64_t dims[PLIM__IDX_MAX_RANK + 1] = {1};
    int channel = header->rank == 3 && !target;
    memcpy(dims + channel, header->dims + 1, (size_t)(header->rank - 1) * sizeof *dims);
    column.rank = header->rank - 1 + channel;
    column.dims = dims;
    PLIM_TRY(plim__array_source_add_blob(source, blob, &column.blob, error));
    *blob = PLIM__BLOB_EMPTY;
    return plim__array_source_add_column(source, &column, error);
}

/* Labels of one byte are few enough to read all of them. */
static plim_status count_classes(plim__blob *blob, const plim__idx_header *header, int64_t *classes,
                                 plim_error *error) {
    unsigned char chunk[4096];
    *classes = 0;
    if (header->dtype != PLIM_U8 || header->rank != 1) return PLIM_OK;
    for (uint64_t at = 0; at < blob->bytes;) {
        size_t part = blob->bytes - at < sizeof chunk ? (size_t)(blob->bytes - at) : sizeof chunk;
        PLIM_TRY(plim__blob_read(blob, at, chunk, part, error));
        for (size_t i = 0; i < part; i++)
            if (chunk[i] >= *classes) *classes = chunk[i] + 1;
        at += part;
    }
    return PLIM_OK;
}

static plim_status add_labels(plim__array_source *source, const char *path, uint64_t limit, plim__blob *blob,
                              int64_t samples, plim_error *error) {
    plim__idx_header header;
    plim__data_source *base = plim__array_source_base(source);
    int64_t classes;
    PLIM_TRY(open_array(path, limit, blob, &base->file_bytes, &header, error));
    if (header.dims[0] != samples)
        return plim__fail(error, PLIM_SHAPE, "'%s' has %lld labels for %lld samples", path, (long long)header.dims[0],
                          (long long)samples);
    PLIM_TRY(count_classes(blob, &header, &classes, error));
    PLIM_TRY(add_array(source, blob, &header, true, error));
    base->fields[base->field_count - 1].classes = classes;
    return PLIM_OK;
}

static plim_status open_pair(const char *images, const char *labels, const plim_data_options *options,
                             plim__data_source **source, plim_error *error) {
    plim__blob blobs[2] = {PLIM__BLOB_EMPTY, PLIM__BLOB_EMPTY};
    plim__idx_header header;
    plim__array_source *made = NULL;
    uint64_t file_bytes = 0;
    plim_status status = open_array(images, options->unpack_limit, &blobs[0], &file_bytes, &header, error);
    if (status == PLIM_OK) status = plim__array_source_create("idx", header.dims[0], options, &made, error);
    if (status == PLIM_OK) {
        plim__array_source_base(made)->file_bytes = file_bytes;
        status = add_array(made, &blobs[0], &header, false, error);
    }
    if (status == PLIM_OK && labels)
        status = add_labels(made, labels, options->unpack_limit, &blobs[1], header.dims[0], error);
    for (int i = 0; i < 2; i++) plim__blob_close(&blobs[i]);
    if (status == PLIM_OK)
        *source = plim__array_source_base(made);
    else if (made)
        plim__data_source_free(plim__array_source_base(made));
    return status;
}

static bool exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* "FOLDER/train-images-idx3-ubyte", with or without .gz, or with a dot before "idx" as some copies have it. */
static bool find_file(const char *folder, const char *split, const char *what, char *path, size_t capacity) {
    static const char *const endings[] = {"-ubyte", "-ubyte.gz"};
    char dotted[32];
    snprintf(dotted, sizeof dotted, "%s", what);
    char *dash = strrchr(dotted, '-');
    for (int dot = 0; dot < 2; dot++) {
        if (dot && dash) *dash = '.';
        for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
            int length = snprintf(path, capacity, "%s/%s-%s%s", folder, split, dotted, endings[i]);
            if (length > 0 && (size_t)length < capacity && exists(path)) return true;
        }
    }
    return false;
}

static plim_status open_folder(const char *folder, const plim_data_options *options, plim__data_source **source,
                               plim_error *error) {
    char images[4096], labels[4096];
    bool test = options->split && strcmp(options->split, "test") == 0;
    const char *split = test ? "t10k" : "train";
    bool found = find_file(folder, split, "images-idx3", images, sizeof images);
    if (!found && test) found = find_file(folder, split = "test", "images-idx3", images, sizeof images);
    if (!found)
        return plim__fail(error, PLIM_NOT_FOUND, "'%s' has no file %s-images-idx3-ubyte (or .gz)", folder, split);
    if (!find_file(folder, split, "labels-idx1", labels, sizeof labels))
        return plim__fail(error, PLIM_NOT_FOUND, "'%s' has no file %s-labels-idx1-ubyte (or .gz)", folder, split);
    return open_pair(images, labels, options, source, error);
}

/* The labels of "a-images-idx3-ubyte" are in "a-labels-idx1-ubyte", when that exists. */
static bool labels_beside(const char *images, char *labels, size_t capacity) {
    const char *word = strstr(images, "images-idx3");
    if (!word) return false;
    int length = snprintf(labels, capacity, "%.*slabels-idx1%s", (int)(word - images), images, word + 11);
    return length > 0 && (size_t)length < capacity && exists(labels);
}

plim_status plim__data_source_open_idx(const char *path, const plim_data_options *options, plim__data_source **source,
                                       plim_error *error) {
    struct stat info;
    char labels[4096];
    *source = NULL;
    if (stat(path, &info) != 0) return plim__fail_errno(error, errno, "cannot open '%s'", path);
    if (S_ISDIR(info.st_mode)) return open_folder(path, options, source, error);
    return open_pair(path, labels_beside(path, labels, sizeof labels) ? labels : NULL, options, source, error);
}
