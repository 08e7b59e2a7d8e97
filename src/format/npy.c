/* Reading and writing the data of .npy files. Fortran-ordered files are scattered into C order while they are
 * read, a chunk at a time, so that no second copy of the array ever exists. */
#include "format/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/file.h"

/* --- header --------------------------------------------------------------------------------------------------- */

static plim_status check_length(int fd, const char *path, const plim__npy_header *header, plim_error *error) {
    struct stat info;
    if (fstat(fd, &info) != 0) return plim__fail_errno(error, errno, "cannot read '%s'", path);
    if (!S_ISREG(info.st_mode)) return PLIM_OK;
    uint64_t there = (uint64_t)info.st_size > header->data_offset ? (uint64_t)info.st_size - header->data_offset : 0;
    if (there >= header->bytes) return PLIM_OK;
    return plim__fail(error, PLIM_CORRUPT, "'%s' ends too early: its header promises %zu bytes of data, %llu are there",
                      path, header->bytes, (unsigned long long)there);
}

plim_status plim__npy_read_header(int fd, const char *path, plim__npy_header *header, plim_error *error) {
    unsigned char prefix[PLIM__NPY_PREFIX];
    size_t size;
    PLIM_TRY(plim__file_read_at(fd, prefix, sizeof prefix, 0, path, error));
    plim_status status = plim__npy_parse_prefix(prefix, &size, error);
    if (status != PLIM_OK) return plim__fail_context(error, status, "'%s'", path);
    char *text = plim__alloc(size);
    if (!text) return plim__fail_memory(error, "an .npy header", size);
    status = plim__file_read_at(fd, text, size, 0, path, error);
    if (status == PLIM_OK) {
        status = plim__npy_parse_header(text, size, header, error);
        if (status != PLIM_OK) plim__fail_context(error, status, "'%s'", path);
    }
    plim__free(text);
    return status == PLIM_OK ? check_length(fd, path, header, error) : status;
}

/* --- data ----------------------------------------------------------------------------------------------------- */

/* Reverses the bytes of each number; a complex element is two numbers. */
static void swap_numbers(unsigned char *data, size_t bytes, size_t number) {
    for (size_t i = 0; i + number <= bytes; i += number)
        for (size_t low = 0, high = number - 1; low < high; low++, high--) {
            unsigned char keep = data[i + low];
            data[i + low] = data[i + high];
            data[i + high] = keep;
        }
}

/* Where the next element of a Fortran-ordered file belongs in C order: an odometer whose first digit turns
 * fastest, and the C offset that goes with it. */
typedef struct odometer {
    int rank;
    const int64_t *dims;
    int64_t index[PLIM__NPY_MAX_RANK], stride[PLIM__NPY_MAX_RANK]; /* strides in elements */
    int64_t offset;
} odometer;

static odometer odometer_start(const plim__npy_header *header) {
    odometer meter = {.rank = header->rank, .dims = header->dims};
    int64_t stride = 1;
    for (int i = header->rank - 1; i >= 0; i--) {
        meter.stride[i] = stride;
        stride *= header->dims[i];
    }
    return meter;
}

static void odometer_turn(odometer *meter) {
    for (int i = 0; i < meter->rank; i++) {
        meter->offset += meter->stride[i];
        if (++meter->index[i] < meter->dims[i]) return;
        meter->offset -= meter->stride[i] * meter->dims[i];
        meter->index[i] = 0;
    }
}

static plim_status read_fortran(int fd, const char *path, const plim__npy_header *header, char *data,
                                plim_error *error) {
    enum { CHUNK = 1 << 16 };
    char *chunk = plim__alloc(CHUNK);
    if (!chunk) return plim__fail_memory(error, "a read buffer", CHUNK);
    size_t item = header->item_bytes, most = CHUNK / item * item;
    odometer meter = odometer_start(header);
    plim_status status = PLIM_OK;
    for (size_t done = 0; done < header->bytes && status == PLIM_OK;) {
        size_t part = header->bytes - done < most ? header->bytes - done : most;
        status = plim__file_read_at(fd, chunk, part, header->data_offset + done, path, error);
        for (size_t i = 0; i < part && status == PLIM_OK; i += item, odometer_turn(&meter))
            memcpy(data + (size_t)meter.offset * item, chunk + i, item);
        done += part;
    }
    plim__free(chunk);
    return status;
}

plim_status plim__npy_read_data(int fd, const char *path, const plim__npy_header *header, void *data,
                                plim_error *error) {
    if (header->dtype == PLIM_DTYPE_NONE)
        return plim__fail(error, PLIM_UNSUPPORTED,
                          "'%s' holds elements of NumPy type '%c%zu', which are not numbers here", path, header->kind,
                          header->item_bytes);
    if (header->bytes == 0) return PLIM_OK;
    if (header->fortran && header->rank > 1)
        PLIM_TRY(read_fortran(fd, path, header, data, error));
    else
        PLIM_TRY(plim__file_read_at(fd, data, header->bytes, header->data_offset, path, error));
    if (header->swapped)
        swap_numbers(data, header->bytes, header->kind == 'c' ? header->item_bytes / 2 : header->item_bytes);
    return PLIM_OK;
}

plim_status plim__npy_read(const char *path, plim__npy_header *header, void **data, plim_error *error) {
    *data = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return plim__fail_errno(error, errno, "cannot open '%s'", path);
    plim_status status = plim__npy_read_header(fd, path, header, error);
    if (status == PLIM_OK) {
        *data = plim__alloc(header->bytes ? header->bytes : 1);
        status =
            *data ? plim__npy_read_data(fd, path, header, *data, error) : plim__fail_memory(error, path, header->bytes);
    }
    close(fd);
    if (status != PLIM_OK) {
        plim__free(*data);
        *data = NULL;
    }
    return status;
}

/* --- writing -------------------------------------------------------------------------------------------------- */

static char kind_of(plim_dtype dtype) {
    switch (dtype) {
    case PLIM_BOOL: return 'b';
    case PLIM_I8:
    case PLIM_I16:
    case PLIM_I32:
    case PLIM_I64: return 'i';
    case PLIM_U8:
    case PLIM_U16:
    case PLIM_U32:
    case PLIM_U64: return 'u';
    case PLIM_F16:
    case PLIM_F32:
    case PLIM_F64: return 'f';
    case PLIM_C64:
    case PLIM_C128: return 'c';
    default: return 0;
    }
}

/* The header, padded so that the data begins at a multiple of 64 bytes; the bytes used. */
static size_t make_header(char *text, size_t capacity, plim_dtype dtype, int rank, const int64_t *dims) {
    int item = plim_dtype_bits(dtype) / 8;
    char order = item == 1 ? '|' : __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? '>' : '<';
    size_t used = 10;
    used += (size_t)snprintf(text + used, capacity - used, "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (",
                             order, kind_of(dtype), item);
    for (int i = 0; i < rank; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%lld%s", (long long)dims[i],
                                 rank == 1      ? ","
                                 : i + 1 < rank ? ", "
                                                : "");
    used += (size_t)snprintf(text + used, capacity - used, "), }");
    while ((used + 1) % 64) text[used++] = ' ';
    text[used++] = '\n';
    static const char magic[8] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0};
    memcpy(text, magic, sizeof magic);
    text[8] = (char)((used - 10) & 255);
    text[9] = (char)((used - 10) >> 8);
    return used;
}

plim_status plim__npy_write(const char *path, plim_dtype dtype, int rank, const int64_t *dims, const void *data,
                            plim_error *error) {
    char header[512];
    int64_t elements = 1;
    size_t bytes;
    if (!kind_of(dtype))
        return plim__fail(error, PLIM_DTYPE, "cannot write '%s': NumPy has no %s", path, plim_dtype_name(dtype));
    if (rank < 0 || rank > PLIM__NPY_MAX_RANK)
        return plim__fail(error, PLIM_SHAPE, "cannot write '%s': %d dimensions; at most %d are", path, rank,
                          PLIM__NPY_MAX_RANK);
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0 || __builtin_mul_overflow(elements, dims[i], &elements))
            return plim__fail(error, PLIM_SHAPE, "cannot write '%s': dimension %d is %lld", path, i,
                              (long long)dims[i]);
    if (!plim_dtype_bytes(dtype, elements, &bytes))
        return plim__fail(error, PLIM_OVERFLOW, "cannot write '%s': its bytes do not fit in 64 bits", path);
    size_t used = make_header(header, sizeof header, dtype, rank, dims);
    plim__file_writer writer;
    PLIM_TRY(plim__file_writer_open(&writer, path, error));
    plim_status status = plim__file_writer_write(&writer, header, used, error);
    if (status == PLIM_OK) status = plim__file_writer_write(&writer, data, bytes, error);
    if (status == PLIM_OK) status = plim__file_writer_commit(&writer, error);
    plim__file_writer_discard(&writer);
    return status;
}
