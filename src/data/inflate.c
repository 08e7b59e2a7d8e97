/* Unpacking gzip files and deflated zip entries into spools, a chunk at a time. */
#include <limits.h>
#include <zlib.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/zlib_heap.h"
#include "data/blob.h"
#include "plimsoll/bytes.h"

enum { CHUNK = 64 << 10 };

/* Without a limit of the caller's, a file unpacks to this many times its size, and to this many bytes in any case: data of
 * people stays below, and a file that was made to fill a disk does not. */
#define UNPACK_FACTOR 64
#define UNPACK_BYTES  ((uint64_t)256 << 20)

typedef struct inflater {
    z_stream stream;
    const plim__blob *packed;
    plim__blob spool;
    uint64_t done, most; /* packed bytes taken; unpacked bytes that are promised */
    uint64_t limit;      /* unpacked bytes that are allowed */
    uLong crc;
    unsigned char in[CHUNK], out[CHUNK];
} inflater;

static plim_status damaged(const inflater *work, const char *what, plim_error *error) {
    return plim__fail(error, PLIM_CORRUPT, "'%s' is damaged: %s", work->packed->path, what);
}

static plim_status too_large(const inflater *work, plim_error *error) {
    char packed[PLIM_BYTES_TEXT], limit[PLIM_BYTES_TEXT];
    return plim__fail(error, PLIM_OVERFLOW,
                      "'%s' unpacks from %s to more than %s; if that is right, allow it with --unpack-limit SIZE",
                      work->packed->path, plim_bytes_format(work->packed->bytes, packed),
                      plim_bytes_format(work->limit, limit));
}

static plim_status refill(inflater *work, plim_error *error) {
    uint64_t left = work->packed->bytes - work->done;
    size_t part = left < CHUNK ? (size_t)left : CHUNK;
    PLIM_TRY(plim__blob_read(work->packed, work->done, work->in, part, error));
    work->done += part;
    work->stream.next_in = work->in;
    work->stream.avail_in = (uInt)part;
    return PLIM_OK;
}

/* One member of a gzip file, or the one stream of a zip entry. */
static plim_status inflate_member(inflater *work, plim_error *error) {
    for (int result = Z_OK; result != Z_STREAM_END;) {
        if (work->stream.avail_in == 0 && work->done < work->packed->bytes) PLIM_TRY(refill(work, error));
        work->stream.next_out = work->out;
        work->stream.avail_out = CHUNK;
        result = inflate(&work->stream, Z_NO_FLUSH);
        size_t made = CHUNK - work->stream.avail_out;
        if (result == Z_MEM_ERROR) return plim__fail_memory(error, "inflating", CHUNK);
        if (result == Z_BUF_ERROR && made == 0) return damaged(work, "its compressed data ends too early", error);
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
            return damaged(work, work->stream.msg ? work->stream.msg : "its compressed data is malformed", error);
        if (made > work->most - work->spool.bytes) return damaged(work, "it unpacks to more than it promises", error);
        if (made > work->limit - work->spool.bytes) return too_large(work, error);
        work->crc = crc32(work->crc, work->out, (uInt)made);
        PLIM_TRY(plim__blob_spool_write(&work->spool, work->out, made, error));
    }
    return PLIM_OK;
}

/* gzip files may be several members one after the other. */
static plim_status inflate_all(inflater *work, bool members, plim_error *error) {
    PLIM_TRY(inflate_member(work, error));
    while (members && (work->stream.avail_in > 0 || work->done < work->packed->bytes)) {
        if (work->stream.avail_in == 0) PLIM_TRY(refill(work, error));
        if (*work->stream.next_in != 0x1f) break; /* padding after the last member is allowed */
        if (inflateReset(&work->stream) != Z_OK) return damaged(work, "its compressed data is malformed", error);
        PLIM_TRY(inflate_member(work, error));
    }
    return plim__blob_spool_end(&work->spool, error);
}

struct packing {
    int window;     /* of zlib */
    bool members;   /* several may follow one another */
    uint64_t most;  /* bytes that are promised */
    uint64_t limit; /* bytes that are allowed; 0: the default */
};

static plim_status unpack(plim__blob *blob, const struct packing *how, uint32_t *crc, plim_error *error) {
    inflater *work = plim__alloc_zero(1, sizeof *work);
    if (!work) return plim__fail_memory(error, "inflating", sizeof *work);
    uint64_t usual = blob->bytes > UINT64_MAX / UNPACK_FACTOR ? UINT64_MAX : blob->bytes * UNPACK_FACTOR;
    work->packed = blob;
    work->most = how->most;
    work->limit = how->limit ? how->limit : usual > UNPACK_BYTES ? usual : UNPACK_BYTES;
    plim__zlib_use_heap(&work->stream);
    plim_status status = plim__blob_spool_start(&work->spool, blob->path, error);
    if (status == PLIM_OK && inflateInit2(&work->stream, how->window) != Z_OK)
        status = plim__fail_memory(error, "inflating", CHUNK);
    if (status == PLIM_OK) {
        status = inflate_all(work, how->members, error);
        inflateEnd(&work->stream);
    }
    *crc = (uint32_t)work->crc;
    if (status == PLIM_OK) {
        plim__blob_close(blob);
        *blob = work->spool;
    } else {
        plim__blob_close(&work->spool);
    }
    plim__free(work);
    return status;
}

plim_status plim__blob_gunzip(plim__blob *blob, uint64_t limit, plim_error *error) {
    unsigned char magic[2] = {0};
    uint32_t crc;
    if (blob->bytes < 18) return PLIM_OK;
    PLIM_TRY(plim__blob_read(blob, 0, magic, sizeof magic, error));
    if (magic[0] != 0x1f || magic[1] != 0x8b) return PLIM_OK;
    struct packing gzip = {.window = 16 + MAX_WBITS, .members = true, .most = UINT64_MAX, .limit = limit};
    return unpack(blob, &gzip, &crc, error);
}

plim_status plim__blob_inflate(plim__blob *blob, uint64_t bytes, uint32_t crc, uint64_t limit, plim_error *error) {
    uint32_t found;
    struct packing deflated = {.window = -MAX_WBITS, .most = bytes, .limit = limit};
    PLIM_TRY(unpack(blob, &deflated, &found, error));
    if (blob->bytes == bytes && found == crc) return PLIM_OK;
    return plim__fail(error, PLIM_CORRUPT, "'%s' is damaged: a checksum is wrong", blob->path);
}
