/* safetensors files: names, types, shapes and places of tensors from the header alone; and writing them.
 *
 *   layout   header length (8 bytes, little-endian) | header (JSON, padded with spaces to 8 bytes) | data
 *   header   {"__metadata__": {"key": "text", ...}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
 */
#ifndef PLIM_FORMAT_SAFETENSORS_H
#define PLIM_FORMAT_SAFETENSORS_H

#include "format/tensor_info.h"
#include "format/weights.h"

enum { PLIM__SAFETENSORS_MAX_HEADER = 16 << 20 }; /* some hundred thousand tensors */

typedef struct plim__safetensors_tensor {
    char *name;
    const plim__element *element;
    int rank;
    int64_t *dims;
    uint64_t elements, bytes;
    uint64_t offset; /* of its data, from the start of the file */
} plim__safetensors_tensor;

/* What the file says beside its tensors. */
typedef struct plim__safetensors_note {
    const char *key, *value;
} plim__safetensors_note;

typedef struct plim__safetensors {
    plim__safetensors_tensor *tensors; /* in the order of their data */
    size_t count;
    plim__safetensors_note *notes; /* in the order of the header */
    size_t note_count;
} plim__safetensors;

/* Reads and checks the header of an open file: every tensor lies inside of the file, none overlap, and each has
 * as many bytes as its shape needs. */
plim_status plim__safetensors_open(plim__safetensors *file, int fd, const char *path, plim_error *error);
/* From memory: the JSON alone, for a file whose tensors lie at this place. */
typedef struct plim__safetensors_place {
    const char *path;
    uint64_t offset, bytes; /* of the data, after the header */
} plim__safetensors_place;
plim_status plim__safetensors_parse(plim__safetensors *file, const char *json, size_t length,
                                    plim__safetensors_place place, plim_error *error);
void plim__safetensors_close(plim__safetensors *file);
plim_status plim__safetensors_list(const plim__safetensors *file, plim__tensor_visit visit, void *context,
                                   plim_error *error);

/* --- writing -------------------------------------------------------------------------------------------------- */

/* Writes a file that appears whole or not at all; what was there before stays until then, and after a failure. Wide
 * elements come first, then names in order, so that data is aligned and the same weights give the same bytes. Two
 * tensors of one name, names and notes that are not UTF-8, and types that the format lacks are refused. */
plim_status plim__safetensors_write(const char *path, const plim__weights *weights, const plim__safetensors_note *notes,
                                    size_t note_count, plim_error *error);
/* The same, sealed: the notes begin with a checksum over the whole file and with its length. */
plim_status plim__safetensors_write_sealed(const char *path, const plim__weights *weights,
                                           const plim__safetensors_note *notes, size_t note_count, plim_error *error);
/* Whether a sealed file is as it was written: PLIM_CORRUPT when it is cut off or damaged, and when it has no seal;
 * `what` says what the file was thought to be ("a checkpoint"). */
plim_status plim__safetensors_check_seal(int fd, const char *path, const char *what, plim_error *error);
/* The parameters of a model, with the data of `changed` (may be NULL) where it has them. */
plim_status plim__safetensors_save(const plim_graph *g, const plim__weights *changed, const char *path,
                                   plim_error *error);

/* --- models in several files ---------------------------------------------------------------------------------- */

/* A model in several files: model.safetensors.index.json names the shard of each tensor. Shards lie beside the
 * index; names that point elsewhere are refused, and so is an index whose tensors are not in their shards. */
typedef plim_status (*plim__shard_visit)(void *context, const char *path, const plim__safetensors *file,
                                         plim_error *error);
plim_status plim__safetensors_index_each(const char *path, plim__shard_visit visit, void *context, plim_error *error);
bool plim__safetensors_is_index(const char *path); /* by its name */
/* The tensors of all of them; *shards says how many files were read. */
plim_status plim__safetensors_index_list(const char *path, plim__tensor_visit visit, void *context, size_t *shards,
                                         plim_error *error);

#endif
