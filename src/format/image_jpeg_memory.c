/* A manager of memory for libjpeg that only moves a mark: nothing is freed before the image is done. */
#include "format/image_jpeg_memory.h"

#include <stdint.h>
#include <string.h>

#include <jerror.h>

enum {
    ALIGNMENT = 64, /* of rows, whose ends vector code may read over */
    TABLES = 96 << 10,
    MOST_MCU = 10, /* blocks */
};

/* A picture of coefficients, for files that are stored in several scans. libjpeg leaves the type to the manager. */
struct jvirt_barray_control {
    JBLOCKARRAY rows;
    JDIMENSION blocks, count;
    struct jvirt_barray_control *next;
};

static plim__jpeg_memory *memory_of(j_common_ptr common) { return (plim__jpeg_memory *)common->mem; }

static size_t round_up(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* --- how much ------------------------------------------------------------------------------------------------- */

static size_t rows_bytes(size_t row, size_t rows) {
    return round_up(rows * sizeof(void *)) + rows * round_up(row + ALIGNMENT);
}

static size_t multiple(size_t value, int of) { return (value + (size_t)of - 1) / (size_t)of * (size_t)of; }

static size_t scaled_size(const jpeg_component_info *c) {
#if JPEG_LIB_VERSION >= 70
    return (size_t)(c->DCT_h_scaled_size > c->DCT_v_scaled_size ? c->DCT_h_scaled_size : c->DCT_v_scaled_size);
#else
    return (size_t)c->DCT_scaled_size;
#endif
}

static size_t least_scaled_size(const struct jpeg_decompress_struct *jpeg) {
#if JPEG_LIB_VERSION >= 70
    return (size_t)jpeg->min_DCT_v_scaled_size;
#else
    return (size_t)jpeg->min_DCT_scaled_size;
#endif
}

size_t plim__jpeg_memory_bytes(struct jpeg_decompress_struct *jpeg) {
    size_t least = least_scaled_size(jpeg), bytes = TABLES + MOST_MCU * sizeof(JBLOCK) + ALIGNMENT;
    int scans = jpeg_has_multiple_scans(jpeg);
    for (int i = 0; i < jpeg->num_components; i++) {
        const jpeg_component_info *c = &jpeg->comp_info[i];
        size_t across = multiple(c->width_in_blocks, c->h_samp_factor), size = scaled_size(c);
        size_t down = multiple(c->height_in_blocks, c->v_samp_factor), v = (size_t)c->v_samp_factor;
        if (scans) bytes += rows_bytes(across * sizeof(JBLOCK), down);
        /* A row of blocks as samples, with the neighbouring rows that smooth upsampling reads, and lists of them. */
        size_t group = (v * size + least - 1) / least, rows = group * (least + 2);
        bytes += rows_bytes(across * size, rows) + 4 * group * (least + 4) * sizeof(void *);
        bytes += rows_bytes(multiple(jpeg->output_width, jpeg->max_h_samp_factor), (size_t)jpeg->max_v_samp_factor);
    }
    return bytes + rows_bytes(4 * (size_t)jpeg->output_width, 1);
}

/* --- what libjpeg calls --------------------------------------------------------------------------------------- */

/* More than was estimated is given all the same, by libjpeg's own manager. */
static void *take(j_common_ptr common, int pool, size_t bytes) {
    plim__jpeg_memory *memory = memory_of(common);
    size_t need = round_up(bytes);
    if (need >= bytes && need <= memory->size - memory->used) {
        memory->used += need;
        return memory->room + memory->used - need;
    }
    memory->beyond += bytes;
    common->mem = memory->own;
    void *given = memory->own->alloc_large(common, pool, bytes);
    common->mem = &memory->manager;
    return given;
}

static JSAMPARRAY take_rows(j_common_ptr common, int pool, JDIMENSION samples, JDIMENSION count) {
    size_t row = round_up((size_t)samples * sizeof(JSAMPLE) + ALIGNMENT);
    JSAMPARRAY rows = take(common, pool, count * sizeof *rows);
    unsigned char *at = take(common, pool, row * count);
    for (JDIMENSION i = 0; i < count; i++, at += row) rows[i] = at;
    return rows;
}

static JBLOCKARRAY take_blocks(j_common_ptr common, int pool, JDIMENSION blocks, JDIMENSION count) {
    JBLOCKARRAY rows = take(common, pool, count * sizeof *rows);
    JBLOCKROW at = take(common, pool, (size_t)blocks * count * sizeof *at);
    for (JDIMENSION i = 0; i < count; i++, at += blocks) rows[i] = at;
    return rows;
}

static jvirt_barray_ptr request_blocks(j_common_ptr common, int pool, boolean zero, JDIMENSION blocks, JDIMENSION count,
                                       JDIMENSION most) {
    plim__jpeg_memory *memory = memory_of(common);
    jvirt_barray_ptr array = take(common, pool, sizeof *array);
    (void)zero, (void)most; /* always zero, always all of it */
    *array = (struct jvirt_barray_control){.blocks = blocks, .count = count, .next = memory->arrays};
    return memory->arrays = array;
}

static void realize(j_common_ptr common) {
    for (jvirt_barray_ptr array = memory_of(common)->arrays; array; array = array->next) {
        if (array->rows) continue;
        array->rows = take_blocks(common, JPOOL_IMAGE, array->blocks, array->count);
        memset(array->rows[0], 0, (size_t)array->blocks * array->count * sizeof(JBLOCK));
    }
}

static JBLOCKARRAY access_blocks(j_common_ptr common, jvirt_barray_ptr array, JDIMENSION start, JDIMENSION count,
                                 boolean writable) {
    (void)writable;
    if (!array->rows || start > array->count || count > array->count - start) ERREXIT(common, JERR_BAD_VIRTUAL_ACCESS);
    return array->rows + start;
}

/* For two passes over colours, which are not asked for. */
static jvirt_sarray_ptr request_rows(j_common_ptr common, int pool, boolean zero, JDIMENSION samples, JDIMENSION count,
                                     JDIMENSION most) {
    (void)pool, (void)zero, (void)samples, (void)count, (void)most;
    ERREXIT(common, JERR_NOT_COMPILED);
    return NULL;
}

static JSAMPARRAY access_rows(j_common_ptr common, jvirt_sarray_ptr array, JDIMENSION start, JDIMENSION count,
                              boolean writable) {
    (void)array, (void)start, (void)count, (void)writable;
    ERREXIT(common, JERR_NOT_COMPILED);
    return NULL;
}

static void keep(j_common_ptr common, int pool) { (void)common, (void)pool; }

static void keep_all(j_common_ptr common) { (void)common; }

/* -------------------------------------------------------------------------------------------------------------- */

void plim__jpeg_memory_begin(plim__jpeg_memory *memory, struct jpeg_decompress_struct *jpeg, void *room, size_t bytes) {
    size_t skip = (size_t)(-(uintptr_t)room % ALIGNMENT);
    *memory = (plim__jpeg_memory){.manager = {.alloc_small = take,
                                              .alloc_large = take,
                                              .alloc_sarray = take_rows,
                                              .alloc_barray = take_blocks,
                                              .request_virt_sarray = request_rows,
                                              .request_virt_barray = request_blocks,
                                              .realize_virt_arrays = realize,
                                              .access_virt_sarray = access_rows,
                                              .access_virt_barray = access_blocks,
                                              .free_pool = keep,
                                              .self_destruct = keep_all,
                                              .max_memory_to_use = jpeg->mem->max_memory_to_use,
                                              .max_alloc_chunk = jpeg->mem->max_alloc_chunk},
                                  .own = jpeg->mem,
                                  .room = (unsigned char *)room + (bytes < skip ? 0 : skip),
                                  .size = bytes < skip ? 0 : bytes - skip};
    jpeg->mem = &memory->manager;
}

void plim__jpeg_memory_end(plim__jpeg_memory *memory, struct jpeg_decompress_struct *jpeg) {
    if (memory->own) jpeg->mem = memory->own;
    memory->own = NULL;
}
