/* Memory for libjpeg: everything that decoding needs once the head is read comes out of one room of known size, so that
 * it can be counted and touched before. What libjpeg made until then stays with its own manager. */
#ifndef PLIM_FORMAT_IMAGE_JPEG_MEMORY_H
#define PLIM_FORMAT_IMAGE_JPEG_MEMORY_H

#include <stdio.h>

/* needs stdio.h before it */
#include <jpeglib.h>

typedef struct plim__jpeg_memory {
    struct jpeg_memory_mgr manager; /* first: libjpeg hands it to our functions */
    struct jpeg_memory_mgr *own;    /* libjpeg's */
    unsigned char *room;
    size_t used, size;
    size_t beyond; /* bytes that did not fit and came from libjpeg's own manager */
    struct jvirt_barray_control *arrays;
} plim__jpeg_memory;

/* Bytes of room that are enough, once jpeg_calc_output_dimensions was called. */
size_t plim__jpeg_memory_bytes(struct jpeg_decompress_struct *jpeg);
/* From here on `jpeg` takes its memory from the room, until jpeg_destroy_decompress gets back its own manager. */
void plim__jpeg_memory_begin(plim__jpeg_memory *memory, struct jpeg_decompress_struct *jpeg, void *room, size_t bytes);
void plim__jpeg_memory_end(plim__jpeg_memory *memory, struct jpeg_decompress_struct *jpeg);

#endif
