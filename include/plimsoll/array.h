/* Arrays in files: NPY in and out, safetensors out. */
#ifndef PLIMSOLL_ARRAY_H
#define PLIMSOLL_ARRAY_H

#include "plimsoll/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A dense row-major array. */
typedef struct plim_array {
    const char *name; /* for plim_arrays_save; else NULL */
    plim_dtype dtype;
    int rank;
    int64_t dims[PLIM_MAX_RANK];
    void *data;
    size_t bytes; /* of data */
} plim_array;

/* Reads an NPY file into memory of the library: plim_array_free it. */
PLIM_API plim_status plim_array_load(const char *path, plim_array *array, plim_error *error);
/* Frees what plim_array_load made, and clears the struct. */
PLIM_API void plim_array_free(plim_array *array);
/* Writes an NPY file, which appears whole or not at all. Types that NumPy does not have are PLIM_UNSUPPORTED. */
PLIM_API plim_status plim_array_save(const plim_array *array, const char *path, plim_error *error);
/* Writes named arrays as one safetensors file, which appears whole or not at all. */
PLIM_API plim_status plim_arrays_save(const plim_array *arrays, size_t count, const char *path, plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
