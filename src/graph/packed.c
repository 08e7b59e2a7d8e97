/* Packing matrices while they are read: a piece of some thousand elements at a time, so that none is whole in float32. */
#include "graph/packed.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/file.h"
#include "core/half.h"
#include "graph/tensor.h"

#define NF4_BLOCK 64
#define PIECE     65536 /* elements, a multiple of NF4_BLOCK */

/* Quantiles of the normal distribution, evenly many on both sides of an exact zero. */
const float plim__nf4_levels[16] = {-1.0f,
                                    -0.6961928009986877f,
                                    -0.5250730514526367f,
                                    -0.39491748809814453f,
                                    -0.28444138169288635f,
                                    -0.18477343022823334f,
                                    -0.09105003625154495f,
                                    0.0f,
                                    0.07958029955625534f,
                                    0.16093020141124725f,
                                    0.24611230194568634f,
                                    0.33791524171829224f,
                                    0.44070982933044434f,
                                    0.5626170039176941f,
                                    0.7229568362236023f,
                                    1.0f};

static const char *const names[PLIM__PACKED_FORMS] = {[PLIM__UNPACKED] = "fp32",
                                                      [PLIM__PACKED_BF16] = "bf16",
                                                      [PLIM__PACKED_INT8] = "int8",
                                                      [PLIM__PACKED_NF4] = "nf4",
                                                      [PLIM__PACKED_FILE] = "file"};

const char *plim__packed_name(plim__packed_form packing) { return names[packing]; }

plim__packed_form plim__packed_find(const char *name) {
    for (int p = PLIM__UNPACKED + 1; name && p < PLIM__PACKED_FORMS; p++)
        if (strcmp(names[p], name) == 0) return (plim__packed_form)p;
    return PLIM__UNPACKED;
}

/* --- sizes ---------------------------------------------------------------------------------------------------- */

int64_t plim__packed_block(const plim__packed *p) {
    return p->packing == PLIM__PACKED_NF4 ? NF4_BLOCK : p->packing == PLIM__PACKED_INT8 ? p->columns : 1;
}

size_t plim__packed_codes(const plim__packed *p) {
    if (p->packing == PLIM__PACKED_BF16) return 0;
    int64_t block = plim__packed_block(p), blocks = (p->rows * p->columns + block - 1) / block;
    return ((size_t)blocks * sizeof(float) + 63) / 64 * 64;
}

size_t plim__packed_bytes(const plim__packed *p) {
    size_t elements = (size_t)(p->rows * p->columns);
    size_t codes = p->packing == PLIM__PACKED_BF16   ? elements * 2
                   : p->packing == PLIM__PACKED_INT8 ? elements
                                                     : (elements + 1) / 2;
    return plim__packed_codes(p) + codes;
}

/* --- blocks --------------------------------------------------------------------------------------------------- */

static float largest(int64_t n, const float *x) {
    float most = 0;
    for (int64_t i = 0; i < n; i++) most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
    return most;
}

/* The level that is nearest to x, from -1 to 1: by halving, with the middles of neighbours between them. */
static uint8_t nearest_level(float x) {
    int low = 0;
    for (int step = 8; step > 0; step /= 2) {
        int next = low + step;
        if (x > (plim__nf4_levels[next - 1] + plim__nf4_levels[next]) / 2) low = next;
    }
    return (uint8_t)low;
}

/* `codes` begins at a whole byte, since blocks are even. */
static float write_nf4(int64_t n, const float *x, uint8_t *codes) {
    float scale = largest(n, x), inverse = scale > 0 ? 1 / scale : 0;
    for (int64_t i = 0; i < n; i += 2) {
        uint8_t first = nearest_level(x[i] * inverse), second = i + 1 < n ? nearest_level(x[i + 1] * inverse) : 0;
        codes[i / 2] = (uint8_t)(first << 4 | second);
    }
    return scale;
}

static float write_int8(int64_t n, const float *x, int8_t *codes) {
    float scale = largest(n, x), factor = scale > 0 ? 127 / scale : 0;
    for (int64_t i = 0; i < n; i++) codes[i] = (int8_t)lrintf(x[i] * factor);
    return scale;
}

void plim__packed_write(const plim__packed *p, int64_t first, int64_t count, const float *x, void *into) {
    char *codes = (char *)into + plim__packed_codes(p);
    if (p->packing == PLIM__PACKED_BF16) {
        uint16_t *narrow = (uint16_t *)(void *)codes + first;
        for (int64_t i = 0; i < count; i++) narrow[i] = plim__float_to_bfloat(x[i]);
        return;
    }
    int64_t block = plim__packed_block(p);
    float *scales = into;
    for (int64_t at = 0; at < count; at += block) {
        int64_t n = count - at < block ? count - at : block, from = first + at;
        scales[from / block] = p->packing == PLIM__PACKED_NF4 ? write_nf4(n, x + at, (uint8_t *)codes + from / 2)
                                                              : write_int8(n, x + at, (int8_t *)codes + from);
    }
}

/* --- tensors -------------------------------------------------------------------------------------------------- */

static plim__packed packed_of(const plim__tensor *tensor) {
    return (plim__packed){tensor->packing, tensor->base->shape.dims[0], tensor->base->shape.dims[1]};
}

plim_status plim__tensor_packed(plim__tensor *matrix, plim__packed_form packing, plim__tensor **tensor,
                                plim_error *error) {
    *tensor = NULL;
    if (matrix->shape.rank != 2 || matrix->dtype != PLIM_F32)
        return plim__fail(error, PLIM_INTERNAL, "only float32 matrices are packed");
    plim__packed p = {packing, matrix->shape.dims[0], matrix->shape.dims[1]};
    plim__shape shape = {.rank = 1, .dims = {(int64_t)plim__packed_bytes(&p)}};
    return plim__tensor_made_from(matrix, PLIM_U8, &shape, packing, tensor, error);
}

/* 16 bits in a file that are float32 for everybody else. */
static bool is_half_file(const plim__tensor *t) {
    return !t->data && t->base && !t->base->data && t->base->source &&
           (t->base->dtype == PLIM_F16 || t->base->dtype == PLIM_BF16);
}

bool plim__tensor_streams(const plim__tensor *t) {
    return t->dtype == PLIM_F32 && !t->data && ((t->source && !t->base) || is_half_file(t));
}

/* The file and where in it an element is. */
static const plim__source *place_of(const plim__tensor *t, int64_t first, size_t *size, uint64_t *offset) {
    bool half = is_half_file(t);
    *size = half ? sizeof(uint16_t) : sizeof(float);
    *offset = (half ? t->base->offset : t->offset) + (uint64_t)first * *size;
    return half ? t->base->source : t->source;
}

void plim__tensor_expect_part(const plim__tensor *t, int64_t first, int64_t count) {
    size_t size;
    uint64_t offset;
    if (!plim__tensor_streams(t)) return;
    const plim__source *source = place_of(t, first, &size, &offset);
    posix_fadvise(source->fd, (off_t)offset, (off_t)((size_t)count * size), POSIX_FADV_WILLNEED);
}

plim_status plim__tensor_read_part(const plim__tensor *t, int64_t first, int64_t count, float *into,
                                   plim_error *error) {
    if (t->data) {
        memcpy(into, (const float *)t->data + first, (size_t)count * sizeof *into);
        return PLIM_OK;
    }
    size_t size;
    uint64_t offset;
    const plim__source *source = place_of(t, first, &size, &offset);
    if (size == sizeof(float))
        return plim__file_read_at(source->fd, into, (size_t)count * size, offset, source->path, error);
    uint16_t *halves = (uint16_t *)into + count; /* the upper half of the room: widened from its beginning */
    PLIM_TRY(plim__file_read_at(source->fd, halves, (size_t)count * size, offset, source->path, error));
    for (int64_t i = 0; i < count; i++) {
        uint16_t half;
        memcpy(&half, &halves[i], sizeof half);
        into[i] = t->base->dtype == PLIM_F16 ? plim__half_to_float(half) : plim__bfloat_to_float(half);
    }
    return PLIM_OK;
}

plim_status plim__packed_read(const plim__tensor *tensor, void *into, plim_error *error) {
    const plim__tensor *matrix = tensor->base;
    plim__packed p = packed_of(tensor);
    int64_t elements = p.rows * p.columns, piece = PIECE;
    if (p.packing == PLIM__PACKED_INT8) piece = p.columns >= PIECE ? p.columns : PIECE / p.columns * p.columns;
    bool pieces = matrix->data || plim__tensor_streams(matrix);
    if (!pieces || piece > elements) piece = elements;
    float *buffer = plim__alloc((size_t)piece * sizeof *buffer);
    if (!buffer) return plim__fail_memory(error, "a weight in few bits", (size_t)piece * sizeof *buffer);
    memset(into, 0, plim__packed_codes(&p));
    plim_status status = pieces ? PLIM_OK : plim__tensor_read(matrix, buffer, error);
    for (int64_t at = 0; status == PLIM_OK && at < elements; at += piece) {
        int64_t count = elements - at < piece ? elements - at : piece;
        if (pieces) status = plim__tensor_read_part(matrix, at, count, buffer, error);
        if (status == PLIM_OK) plim__packed_write(&p, at, count, buffer, into);
    }
    plim__free(buffer);
    return status;
}
