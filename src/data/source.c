/* Which kind of source a path is, and what all kinds share. */
#include "data/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/arguments.h"

/* --- shared --------------------------------------------------------------------------------------------------- */

void *plim__scratch_get(plim__scratch *scratch, int part, size_t bytes) {
    if (bytes <= scratch->parts[part].bytes) return scratch->parts[part].data;
    plim__free(scratch->parts[part].data);
    scratch->parts[part].data = plim__alloc(bytes);
    scratch->parts[part].bytes = scratch->parts[part].data ? bytes : 0;
    return scratch->parts[part].data;
}

plim_status plim__scratch_fill(plim__scratch *scratch, const plim__scratch_needs *needs, plim_error *error) {
    for (int i = 0; i < PLIM__SCRATCH_PARTS; i++) {
        void *memory = plim__scratch_get(scratch, i, needs->parts[i]);
        if (needs->parts[i] && !memory) return plim__fail_memory(error, "reading data", needs->parts[i]);
        if (memory) memset(memory, 0, scratch->parts[i].bytes);
    }
    return PLIM_OK;
}

size_t plim__scratch_needs_bytes(const plim__scratch_needs *needs) {
    size_t sum = needs->library;
    for (int i = 0; i < PLIM__SCRATCH_PARTS; i++) sum += needs->parts[i];
    return sum;
}

size_t plim__scratch_bytes(const plim__scratch *scratch) {
    size_t sum = 0;
    for (int i = 0; i < PLIM__SCRATCH_PARTS; i++) sum += scratch->parts[i].bytes;
    return sum;
}

void plim__scratch_free(plim__scratch *scratch) {
    for (int i = 0; i < PLIM__SCRATCH_PARTS; i++) plim__free(scratch->parts[i].data);
    *scratch = (plim__scratch){0};
}

plim_status plim__field_shape(plim_data_field *field, plim_dtype dtype, int rank, const int64_t *dims,
                              plim_error *error) {
    int64_t elements = 1;
    if (rank < 0 || rank > PLIM_DATA_MAX_RANK)
        return plim__fail(error, PLIM_UNSUPPORTED, "field '%s' has %d dimensions; at most %d are", field->name, rank,
                          PLIM_DATA_MAX_RANK);
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 1 || __builtin_mul_overflow(elements, dims[i], &elements) || elements > (int64_t)1 << 44)
            return plim__fail(error, dims[i] < 1 ? PLIM_SHAPE : PLIM_OVERFLOW,
                              "field '%s' has a dimension of %lld; a sample must have 1 to 2^44 elements", field->name,
                              (long long)dims[i]);
        field->dims[i] = dims[i];
    }
    field->dtype = dtype;
    field->rank = rank;
    field->bytes = (size_t)elements * ((size_t)plim_dtype_bits(dtype) / 8);
    return PLIM_OK;
}

void plim__data_source_free(plim__data_source *source) {
    if (source) source->ops->free(source);
}

/* --- which kind ----------------------------------------------------------------------------------------------- */

typedef enum kind { NONE, IDX, NPY, NPZ, CSV, IMAGES, TEXT, TOKENS, SYNTHETIC } kind;

static const char *const kind_names[] = {"", "idx", "npy", "npz", "csv", "images", "text", "tokens", "synthetic"};

static kind find_kind(const char *name, size_t length) {
    for (kind k = IDX; k <= SYNTHETIC; k++)
        if (strlen(kind_names[k]) == length && strncmp(kind_names[k], name, length) == 0) return k;
    return NONE;
}

static bool ends_with(const char *path, const char *ending) {
    size_t length = strlen(path), tail = strlen(ending);
    return length >= tail && strcasecmp(path + length - tail, ending) == 0;
}

static kind kind_of_folder(const char *path) {
    DIR *dir = opendir(path);
    kind found = IMAGES;
    if (!dir) return IMAGES; /* whose error message names the folder */
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (strstr(entry->d_name, "-images-idx3") || strstr(entry->d_name, "-images.idx3")) found = IDX;
        if (found == IMAGES &&
            (strcasecmp(entry->d_name, "x.npy") == 0 || strcasecmp(entry->d_name, "x_train.npy") == 0))
            found = NPY;
    }
    closedir(dir);
    return found;
}

static kind kind_of_name(const char *path) {
    static const struct {
        const char *ending;
        kind kind;
    } endings[] = {{".npy", NPY},       {".npz", NPZ},       {".csv", CSV},      {".tsv", CSV},       {".txt", TEXT},
                   {".bin", TOKENS},    {".tokens", TOKENS}, {".u16", TOKENS},   {".uint16", TOKENS}, {".u32", TOKENS},
                   {".uint32", TOKENS}, {"-ubyte", IDX},     {"-ubyte.gz", IDX}, {".idx", IDX},       {".jpg", IMAGES},
                   {".jpeg", IMAGES},   {".png", IMAGES},    {".webp", IMAGES}};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_with(path, endings[i].ending)) return endings[i].kind;
    return NONE;
}

/* Text is what has no zero bytes at its beginning. */
static plim_status kind_of_content(const char *path, kind *found, plim_error *error) {
    unsigned char start[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return plim__fail_errno(error, errno, "cannot open '%s'", path);
    ssize_t got = read(fd, start, sizeof start);
    int saved = errno;
    close(fd);
    if (got < 0) return plim__fail_errno(error, saved, "cannot read '%s'", path);
    *found = TEXT;
    if (got >= 4 && start[0] == 0 && start[1] == 0 && start[2] >= 8 && start[2] <= 14)
        *found = IDX;
    else if (got >= 6 && memcmp(start, "\x93NUMPY", 6) == 0)
        *found = NPY;
    else if (got >= 4 && memcmp(start, "PK\3\4", 4) == 0)
        *found = NPZ;
    else if (memchr(start, 0, (size_t)got))
        return plim__fail(error, PLIM_UNSUPPORTED,
                          "'%s' is no kind of data that is known; name its kind (idx, npy, npz, csv, text, tokens)",
                          path);
    return PLIM_OK;
}

/* "tokens:train.dat" names a kind before a path. */
static plim_status choose(const char **path, const plim_data_options *options, kind *found, plim_error *error) {
    struct stat info;
    const char *colon = strchr(*path, ':');
    *found = NONE;
    if (options->kind && !(*found = find_kind(options->kind, strlen(options->kind))))
        return plim__fail(error, PLIM_INVALID, "there is no kind of data '%s'", options->kind);
    if (!*found && (*found = find_kind(*path, colon ? (size_t)(colon - *path) : strlen(*path))) != NONE) {
        if (!colon && *found != SYNTHETIC) *found = NONE; /* a file that is called "text" */
        if (colon && *found) *path = colon + 1;
    }
    if (*found) return PLIM_OK;
    if (stat(*path, &info) != 0) return plim__fail_errno(error, errno, "cannot open '%s'", *path);
    *found = S_ISDIR(info.st_mode) ? kind_of_folder(*path) : kind_of_name(*path);
    return *found ? PLIM_OK : kind_of_content(*path, found, error);
}

const char *plim__data_source_kind(const char *path, const plim_data_options *options) {
    kind found;
    return choose(&path, options, &found, NULL) == PLIM_OK ? kind_names[found] : "";
}

plim_status plim_data_find_kind(const char *path, const char *given, const char **found, plim_error *error) {
    kind of;
    PLIM__NEED(found, error);
    *found = "";
    PLIM__NEED(path, error);
    PLIM_TRY(choose(&path, &(plim_data_options){.kind = given}, &of, error));
    *found = kind_names[of];
    return PLIM_OK;
}

static plim_status open_tokens(const char *path, const plim_data_options *options, plim__data_source **source,
                               plim_error *error) {
    int width = options->token_bytes;
    if (!width) width = ends_with(path, ".u32") || ends_with(path, ".uint32") ? 4 : 2;
    if (width != 2 && width != 4) return plim__fail(error, PLIM_INVALID, "tokens of %d bytes; 2 and 4 are read", width);
    return plim__data_source_open_tokens(path, options, width, source, error);
}

plim_status plim__data_source_open(const char *path, const plim_data_options *options, plim__data_source **source,
                                   plim_error *error) {
    kind found;
    *source = NULL;
    PLIM_TRY(choose(&path, options, &found, error));
    switch (found) {
    case IDX: return plim__data_source_open_idx(path, options, source, error);
    case NPY: return plim__data_source_open_npy(path, options, source, error);
    case NPZ: return plim__data_source_open_npz(path, options, source, error);
    case CSV: return plim__data_source_open_csv(path, options, source, error);
    case IMAGES: return plim__data_source_open_images(path, options, source, error);
    case TEXT: return plim__data_source_open_tokens(path, options, 1, source, error);
    case TOKENS: return open_tokens(path, options, source, error);
    default: return plim__data_source_open_synthetic(options, source, error);
    }
}
