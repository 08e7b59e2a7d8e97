/* Windows over one long file: text as bytes, or token numbers of 2 or 4 bytes (little-endian). A sample is seq + 1
 * tokens, as seq inputs and the seq that follow each of them:
 *
 *   file     t0 t1 t2 t3 t4 ...
 *   tokens   t0 t1 t2 t3          (seq = 4)
 *   labels      t1 t2 t3 t4
 *
 * Every window is one pread, so a file of any size takes no memory. */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "data/blob.h"
#include "data/source.h"
#include "data/tokenizer.h"

typedef struct token_source {
    plim__data_source base;
    plim__blob blob;
    int token_bytes;
    int64_t seq, stride;
    int64_t vocabulary; /* of the tokenizer; 0: none */
} token_source;

static size_t window_bytes(const token_source *source) {
    return ((size_t)source->seq + 1) * (size_t)source->token_bytes;
}

static plim_status read_sample(const plim__data_source *base, const plim__sample_key *key, plim__scratch *scratch,
                               void *const *fields, plim_error *error) {
    const token_source *source = (const token_source *)base;
    size_t width = (size_t)source->token_bytes, seq = (size_t)source->seq, bytes = window_bytes(source);
    unsigned char *stored = plim__scratch_get(scratch, 0, bytes);
    if (!stored) return plim__fail_memory(error, "a window of tokens", bytes);
    uint64_t first = (uint64_t)key->index * (uint64_t)source->stride;
    PLIM_TRY(plim__blob_read(&source->blob, first * width, stored, bytes, error));
    int64_t *tokens = fields[0], *labels = fields[1];
    for (size_t i = 0; i <= seq; i++) {
        uint16_t two;
        uint32_t token;
        if (width == 1) {
            token = stored[i];
        } else if (width == 2) {
            memcpy(&two, stored + 2 * i, sizeof two);
            token = le16toh(two);
        } else {
            memcpy(&token, stored + 4 * i, sizeof token);
            token = le32toh(token);
        }
        if (i < seq) tokens[i] = token;
        if (i > 0) labels[i - 1] = token;
    }
    return PLIM_OK;
}

static void free_source(plim__data_source *base) {
    plim__blob_close(&((token_source *)base)->blob);
    plim__free(base);
}

static const plim__data_source_ops text_ops = {.kind = "text", .read = read_sample, .free = free_source};
static const plim__data_source_ops token_ops = {.kind = "tokens", .read = read_sample, .free = free_source};

static plim_status set_fields(token_source *source, plim_error *error) {
    static const char *const names[] = {"tokens", "labels"};
    for (int i = 0; i < 2; i++) {
        plim_data_field *field = &source->base.fields[i];
        snprintf(field->name, sizeof field->name, "%s", names[i]);
        field->target = i;
        field->classes = source->vocabulary ? source->vocabulary : source->token_bytes == 1 ? 256 : 0;
        PLIM_TRY(plim__field_shape(field, PLIM_I64, 1, &source->seq, error));
    }
    source->base.field_count = 2;
    return PLIM_OK;
}

/* The whole text becomes numbers once, in a file without a name; the tokenizer is not needed after that. */
static plim_status tokenise(token_source *source, const char *tokenizer, uint64_t limit, plim_error *error) {
    plim_tokenizer *t;
    plim__blob spool = PLIM__BLOB_EMPTY;
    PLIM_TRY(plim__tokenizer_load(tokenizer, limit, &t, error));
    plim_status status = plim__tokenizer_spool(t, &source->blob, &spool, error);
    source->vocabulary = plim_tokenizer_size(t);
    source->base.tokenizer = plim_tokenizer_hash(t);
    source->base.opening_bytes = plim__tokenizer_memory(t);
    plim_tokenizer_free(t);
    if (status != PLIM_OK) {
        plim__blob_close(&spool);
        return status;
    }
    plim__blob_close(&source->blob);
    source->blob = spool;
    source->token_bytes = 4;
    source->base.held_bytes = plim__blob_held(&spool);
    return PLIM_OK;
}

/* Text in UTF-16 begins with its byte-order mark: taken as bytes, every second one would be zero. */
static plim_status check_mark(const token_source *source, const char *path, plim_error *error) {
    unsigned char mark[2] = {0};
    if (source->blob.bytes < sizeof mark) return PLIM_OK;
    PLIM_TRY(plim__blob_read(&source->blob, 0, mark, sizeof mark, error));
    if ((mark[0] != 0xff || mark[1] != 0xfe) && (mark[0] != 0xfe || mark[1] != 0xff)) return PLIM_OK;
    return plim__fail(error, PLIM_INVALID, "'%s' is text in UTF-16: 'iconv -f UTF-16 -t UTF-8' makes it readable",
                      path);
}

static plim_status open_windows(token_source *source, const char *path, const plim_data_options *options,
                                plim_error *error) {
    const char *tokenizer = source->token_bytes == 1 ? options->tokenizer : NULL;
    uint64_t limit = options->bounded ? options->memory_limit : 0;
    PLIM_TRY(plim__blob_open(&source->blob, path, error));
    source->base.file_bytes = source->blob.bytes;
    if (source->token_bytes == 1) PLIM_TRY(check_mark(source, path, error));
    if (tokenizer) PLIM_TRY(tokenise(source, tokenizer, limit, error));
    PLIM_TRY(set_fields(source, error));
    uint64_t width = (uint64_t)source->token_bytes, tokens = source->blob.bytes / width;
    if (source->blob.bytes % width)
        return plim__fail(error, PLIM_CORRUPT, "'%s' ends inside of a token: %llu bytes are not a multiple of %d", path,
                          (unsigned long long)source->blob.bytes, source->token_bytes);
    if (tokens <= (uint64_t)source->seq)
        return plim__fail(error, PLIM_INVALID, "'%s' has %llu tokens; a window of %lld needs %lld", path,
                          (unsigned long long)tokens, (long long)source->seq, (long long)source->seq + 1);
    source->base.count = (int64_t)((tokens - 1 - (uint64_t)source->seq) / (uint64_t)source->stride) + 1;
    source->base.scratch.parts[0] = window_bytes(source);
    return PLIM_OK;
}

plim_status plim__data_source_open_tokens(const char *path, const plim_data_options *options, int token_bytes,
                                          plim__data_source **source, plim_error *error) {
    *source = NULL;
    int64_t seq = options->seq ? options->seq : 256, stride = options->stride ? options->stride : seq;
    if (seq < 1 || seq > (int64_t)1 << 32 || stride < 1 || stride > (int64_t)1 << 32)
        return plim__fail(error, PLIM_INVALID, "windows of %lld tokens, %lld apart", (long long)seq, (long long)stride);
    token_source *made = plim__alloc_zero(1, sizeof *made);
    if (!made) return plim__fail_memory(error, "a data set", sizeof *made);
    made->base.ops = token_bytes == 1 ? &text_ops : &token_ops;
    made->base.consecutive = true;
    made->blob = PLIM__BLOB_EMPTY;
    made->token_bytes = token_bytes;
    made->seq = seq;
    made->stride = stride;
    plim_status status = open_windows(made, path, options, error);
    if (status == PLIM_OK)
        *source = &made->base;
    else
        free_source(&made->base);
    return status;
}
