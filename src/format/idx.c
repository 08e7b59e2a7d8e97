/* Headers of IDX files. */
#include "format/idx.h"

#include "core/error.h"

static plim_dtype dtype_of(unsigned char type) {
    switch (type) {
    case 0x08: return PLIM_U8;
    case 0x09: return PLIM_I8;
    case 0x0b: return PLIM_I16;
    case 0x0c: return PLIM_I32;
    case 0x0d: return PLIM_F32;
    case 0x0e: return PLIM_F64;
    default: return PLIM_DTYPE_NONE;
    }
}

plim_status plim__idx_parse_header(const unsigned char *bytes, size_t size, plim__idx_header *header,
                                   plim_error *error) {
    if (size < 4 || bytes[0] != 0 || bytes[1] != 0)
        return plim__fail(error, PLIM_CORRUPT, "not an IDX file: it does not begin with two zero bytes");
    *header = (plim__idx_header){.dtype = dtype_of(bytes[2]), .rank = bytes[3]};
    if (header->dtype == PLIM_DTYPE_NONE)
        return plim__fail(error, PLIM_CORRUPT, "not an IDX file: it has no type number 0x%02x", bytes[2]);
    if (header->rank < 1 || header->rank > PLIM__IDX_MAX_RANK)
        return plim__fail(error, PLIM_UNSUPPORTED, "an IDX array of %d dimensions; 1 to %d are read", header->rank,
                          PLIM__IDX_MAX_RANK);
    header->data_offset = 4 + 4 * (size_t)header->rank;
    if (size < header->data_offset) return plim__fail(error, PLIM_CORRUPT, "its IDX header ends too early");
    int64_t elements = 1;
    for (int i = 0; i < header->rank; i++) {
        const unsigned char *at = bytes + 4 + 4 * i;
        header->dims[i] = (int64_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
        if (__builtin_mul_overflow(elements, header->dims[i], &elements))
            return plim__fail(error, PLIM_OVERFLOW, "its IDX header promises more elements than fit 63 bits");
    }
    if (!plim_dtype_bytes(header->dtype, elements, &header->bytes))
        return plim__fail(error, PLIM_OVERFLOW, "its IDX header promises more bytes than fit 64 bits");
    return PLIM_OK;
}
