/* Columns to base64, streaming: integers gather in a block, zlib packs the block, base64 goes to the file.
 *
 *   column values → varint bytes → deflate → base64 → file
 *
 * A varint is seven bits a byte, lowest first, the top bit says that more follow. Values that go up and down
 * are stored as the difference to the one before, zigzag: 0, -1, 1, -2, 2 ... become 0, 1, 2, 3, 4 ... */
#include "report/page_data.h"

#include <math.h>
#include <string.h>
#include <zlib.h>

#include "core/error.h"
#include "core/zlib_heap.h"

typedef struct packer {
    plim__file_writer *file;
    plim_error *error;
    plim_status status; /* of the first failure; nothing is written after it */
    z_stream zlib;
    size_t pending, left_count;
    unsigned char left[2]; /* bytes that do not yet fill a base64 group of three */
    unsigned char raw[32 << 10], packed[32 << 10];
    char text[44 << 10];
} packer;

/* --- base64 --------------------------------------------------------------------------------------------------- */

static void put_text(packer *p, const char *text, size_t length) {
    if (p->status == PLIM_OK) p->status = plim__file_writer_write(p->file, text, length, p->error);
}

static size_t encode_group(const unsigned char *in, size_t count, char *out) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = (uint32_t)in[0] << 16 | (count > 1 ? (uint32_t)in[1] << 8 : 0) | (count > 2 ? in[2] : 0);
    out[0] = digits[bits >> 18];
    out[1] = digits[bits >> 12 & 63];
    out[2] = digits[bits >> 6 & 63];
    out[3] = digits[bits & 63];
    if (count < 3) out[3] = '=';
    if (count < 2) out[2] = '=';
    return 4;
}

static void put_base64(packer *p, const unsigned char *bytes, size_t count) {
    size_t used = 0, out = 0;
    while (p->left_count + (count - used) >= 3) {
        unsigned char group[3];
        memcpy(group, p->left, p->left_count);
        memcpy(group + p->left_count, bytes + used, 3 - p->left_count);
        used += 3 - p->left_count;
        p->left_count = 0;
        out += encode_group(group, 3, p->text + out);
    }
    memcpy(p->left + p->left_count, bytes + used, count - used);
    p->left_count += count - used;
    put_text(p, p->text, out);
}

/* --- zlib ----------------------------------------------------------------------------------------------------- */

static void pack(packer *p, bool finish) {
    p->zlib.next_in = p->raw;
    p->zlib.avail_in = (uInt)p->pending;
    int answer;
    do {
        p->zlib.next_out = p->packed;
        p->zlib.avail_out = sizeof p->packed;
        answer = deflate(&p->zlib, finish ? Z_FINISH : Z_NO_FLUSH);
        put_base64(p, p->packed, sizeof p->packed - p->zlib.avail_out);
    } while (p->zlib.avail_out == 0 || (finish && answer == Z_OK));
    p->pending = 0;
    if (!finish || !p->left_count) return;
    char tail[4];
    put_text(p, tail, encode_group(p->left, p->left_count, tail));
}

/* --- values --------------------------------------------------------------------------------------------------- */

static void put(packer *p, uint64_t value) {
    if (p->pending + 10 > sizeof p->raw) pack(p, false);
    for (; value >= 128; value >>= 7) p->raw[p->pending++] = (unsigned char)(value | 128);
    p->raw[p->pending++] = (unsigned char)value;
}

static void put_difference(packer *p, uint64_t value, uint64_t *before) {
    int64_t difference = (int64_t)(value - *before);
    put(p, ((uint64_t)difference << 1) ^ (uint64_t)(difference >> 63));
    *before = value;
}

/* One column: an expression of `row` over all rows of a vector. */
#define COLUMN(p, type, vec, expression)                                                                               \
    for (size_t at_ = 0; at_ < (vec).count; at_++) {                                                                   \
        const type *row = &(vec).items[at_];                                                                           \
        put(p, expression);                                                                                            \
    }

static void put_texts(packer *p, const plim__timeline *timeline) {
    for (size_t i = 0; i < timeline->texts.count; i++) put(p, strlen(timeline->texts.items[i]));
    for (size_t i = 0; i < timeline->texts.count; i++)
        for (const char *c = timeline->texts.items[i]; *c; c++) {
            if (p->pending + 1 > sizeof p->raw) pack(p, false);
            p->raw[p->pending++] = (unsigned char)*c;
        }
}

static void put_lives(packer *p, const plim__timeline *timeline) {
    uint64_t born = 0, tensor = 0, offset = 0;
    for (size_t i = 0; i < timeline->lives.count; i++) put_difference(p, timeline->lives.items[i].born, &born);
    COLUMN(p, plim__timeline_life, timeline->lives, row->died == PLIM__NEVER ? 0 : row->died - row->born);
    for (size_t i = 0; i < timeline->lives.count; i++) put_difference(p, timeline->lives.items[i].tensor, &tensor);
    COLUMN(p, plim__timeline_life, timeline->lives, row->bytes);
    for (size_t i = 0; i < timeline->lives.count; i++) put_difference(p, timeline->lives.items[i].offset + 1, &offset);
    COLUMN(p, plim__timeline_life, timeline->lives, row->stack);
}

static void put_rest(packer *p, const plim__timeline *timeline) {
    uint64_t tick = 0, time = 0;
    for (size_t i = 0; i < timeline->marks.count; i++) put_difference(p, timeline->marks.items[i].tick, &tick);
    COLUMN(p, plim__timeline_mark, timeline->marks, row->type);
    COLUMN(p, plim__timeline_mark, timeline->marks, row->value);
    COLUMN(p, plim__timeline_mark, timeline->marks, row->text);
    for (size_t i = 0; i < timeline->seconds.count; i++)
        put_difference(p, (uint64_t)llround((timeline->seconds.items[i] - timeline->seconds.items[0]) * 1e9), &time);
    for (size_t s = 0; s < timeline->series.count; s++) {
        if (timeline->series.items[s].numbers) continue; /* the summary has what is said of them */
        tick = 0;
        for (size_t i = 0; i < timeline->series.items[s].samples.count; i++)
            put_difference(p, timeline->series.items[s].samples.items[i].tick, &tick);
        COLUMN(p, plim__timeline_sample, timeline->series.items[s].samples, row->bytes);
    }
    COLUMN(p, plim__timeline_segment, timeline->segments, row->address);
    COLUMN(p, plim__timeline_segment, timeline->segments, row->bytes);
    COLUMN(p, plim__timeline_segment, timeline->segments, row->offset + 1);
    COLUMN(p, plim__timeline_segment, timeline->segments, (uint64_t)row->stream);
    COLUMN(p, plim__timeline_segment, timeline->segments, row->pool);
    COLUMN(p, plim__timeline_segment, timeline->segments, row->block_count);
    COLUMN(p, plim__timeline_block, timeline->blocks, row->bytes);
    COLUMN(p, plim__timeline_block, timeline->blocks, row->requested);
    COLUMN(p, plim__timeline_block, timeline->blocks, row->state);
    COLUMN(p, plim__timeline_block, timeline->blocks, row->stack);
    COLUMN(p, plim__timeline_block, timeline->blocks, row->name);
}

static void put_all(packer *p, const plim__timeline *timeline) {
    put_texts(p, timeline);
    COLUMN(p, plim__timeline_tensor, timeline->tensors, row->name);
    COLUMN(p, plim__timeline_tensor, timeline->tensors, row->shape);
    COLUMN(p, plim__timeline_tensor, timeline->tensors, row->layer);
    COLUMN(p, plim__timeline_tensor, timeline->tensors, row->operation);
    COLUMN(p, plim__timeline_tensor, timeline->tensors, row->kind);
    COLUMN(p, plim__timeline_tensor, timeline->tensors, row->phase);
    COLUMN(p, plim__timeline_tensor, timeline->tensors, row->dtype);
    put_lives(p, timeline);
    COLUMN(p, plim__stack_frame, timeline->stacks, row->parent);
    COLUMN(p, plim__stack_frame, timeline->stacks, row->frame);
    put_rest(p, timeline);
}

plim_status plim__page_data_write(const plim__timeline *timeline, plim__file_writer *writer, plim_error *error) {
    packer *p = plim__alloc_zero(1, sizeof *p);
    if (!p) return plim__fail_memory(error, "the page's data", sizeof *p);
    p->file = writer;
    p->error = error;
    plim_status status;
    plim__zlib_use_heap(&p->zlib);
    if (deflateInit(&p->zlib, 6) != Z_OK) {
        status = plim__fail_memory(error, "compressing the page's data", 1 << 18);
    } else {
        put_all(p, timeline);
        pack(p, true);
        deflateEnd(&p->zlib);
        status = p->status;
    }
    plim__free(p);
    return status;
}
