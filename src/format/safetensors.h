/* safetensors files: names, types, shapes and places of tensors from the header alone.
 *
 *   layout   header length (8 bytes, little-endian) | header (JSON) | data
 *   header   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__": {...}}
 */
#ifndef PLIM_FORMAT_SAFETENSORS_H
#define PLIM_FORMAT_SAFETENSORS_H

#include "format/tensor_info.h"

enum { PLIM__SAFETENSORS_MAX_HEADER = 16 << 20 }; /* some hundred thousand tensors */

typedef struct plim__safetensors_tensor {
    char *name;
    const plim__element *element;
    int rank;
    int64_t *dims;
    uint64_t elements, bytes;
    uint64_t offset; /* of its data, from the start of the file */
} plim__safetensors_tensor;

typedef struct plim__safetensors {
    plim__safetensors_tensor *tensors; /* in the order of their data */
    size_t count;
} plim__safetensors;

/* Reads and checks the header of an open file: every tensor lies inside of the file, none overlap, and each has
 * as many bytes as its shape needs. */
plim_status plim__safetensors_open(plim__safetensors *file, int fd, const char *path, plim_error *error);
/* From memory: the JSON alone, for a file with `data_bytes` of data that start at `data_offset`. */
plim_status plim__safetensors_parse(plim__safetensors *file, const char *json, size_t length, uint64_t data_offset,
                                    uint64_t data_bytes, const char *path, plim_error *error);
void plim__safetensors_close(plim__safetensors *file);
plim_status plim__safetensors_list(const plim__safetensors *file, plim__tensor_visit visit, void *context,
                                   plim_error *error);

/* A model in several files: model.safetensors.index.json names the shard of each tensor. Shards lie beside the
 * index; names that point elsewhere are refused, and so is an index whose tensors are not in their shards.
 * *shards says how many files were read. */
plim_status plim__safetensors_index_list(const char *path, plim__tensor_visit visit, void *context, size_t *shards,
                                         plim_error *error);

#endif
