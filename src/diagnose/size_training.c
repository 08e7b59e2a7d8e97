/* The sums over a file's tensors: bytes by type, and what training them takes with each optimizer and precision.
 *
 *                weights   gradients   masters   state (float32)
 *   fp32         4 n       4 n         -         sgd 0, momentum 4 n, adam 8 n, ...
 *   bf16, fp16   2 n       2 n         4 n       the same
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/vec.h"
#include "diagnose/size_internal.h"

/* As bitsandbytes: two 8-bit values per parameter, a float32 scale for each block of each; small tensors stay as
 * they are in Adam. */
enum { ADAM8BIT_BLOCK = 2048, ADAM8BIT_LEAST = 4096 };

const char *plim_size_optimizer_name(plim_size_optimizer optimizer) {
    static const char *const names[] = {
#define NAME(name, word) word,
        PLIM_SIZE_OPTIMIZER_LIST(NAME)
#undef NAME
    };
    return (unsigned)optimizer < PLIM_SIZE_OPTIMIZERS ? names[optimizer] : "unknown";
}

const char *plim_size_precision_name(plim_size_precision precision) {
    static const char *const names[] = {
#define NAME(name, word) word,
        PLIM_SIZE_PRECISION_LIST(NAME)
#undef NAME
    };
    return (unsigned)precision < PLIM_SIZE_PRECISIONS ? names[precision] : "unknown";
}

static plim_status too_many(const plim__size_gather *gather, plim_error *error) {
    return plim__fail(error, PLIM_OVERFLOW, "'%s' has more bytes than fit in 63 bits", gather->path);
}

/* *total += factor * count, within 60 bits, so that sums of a few of them fit in 63. */
static bool add(uint64_t *total, uint64_t factor, uint64_t count) {
    uint64_t product;
    return !__builtin_mul_overflow(factor, count, &product) && !__builtin_add_overflow(*total, product, total) &&
           *total <= UINT64_C(1) << 60;
}

static plim_size_dtype *row_of(plim__size_gather *gather, const char *name) {
    plim_size_file *file = gather->file;
    for (size_t i = 0; i < file->dtype_count; i++)
        if (strcmp(file->by_dtype[i].name, name) == 0) return &file->by_dtype[i];
    if (file->dtype_count == gather->dtype_capacity &&
        !plim__vec_grow((void **)&file->by_dtype, &gather->dtype_capacity, file->dtype_count + 1,
                        sizeof *file->by_dtype))
        return NULL;
    plim_size_dtype *row = &file->by_dtype[file->dtype_count++];
    *row = (plim_size_dtype){0};
    snprintf(row->name, sizeof row->name, "%s", name);
    return row;
}

static bool ends_with(const char *name, const char *end) {
    size_t length = strlen(name), tail = strlen(end);
    return length >= tail && strcmp(name + length - tail, end) == 0;
}

/* Batch norm keeps averages beside its weights; they have no gradient. */
static bool is_trained(const plim__tensor_info *info) {
    return info->element->trains && !ends_with(info->name, "running_mean") && !ends_with(info->name, "running_var");
}

/* One value per row and one per column of each matrix in the last two dimensions. */
static uint64_t adafactor_values(const plim__tensor_info *info) {
    if (info->rank < 2 || info->elements == 0) return info->elements;
    return info->elements / (uint64_t)info->dims[info->rank - 1] +
           info->elements / (uint64_t)info->dims[info->rank - 2];
}

static bool add_state(plim__size_gather *gather, const plim__tensor_info *info) {
    uint64_t n = info->elements, blocks = n / ADAM8BIT_BLOCK + (n % ADAM8BIT_BLOCK != 0);
    if (!add(&gather->adafactor, 4, adafactor_values(info))) return false;
    if (n < ADAM8BIT_LEAST) return add(&gather->adam8bit, 8, n);
    return add(&gather->adam8bit, 2, n) && add(&gather->adam8bit, 8, blocks);
}

plim_status plim__size_add(void *context, const plim__tensor_info *info, plim_error *error) {
    plim__size_gather *gather = context;
    plim_size_file *file = gather->file;
    plim_size_dtype *row = row_of(gather, info->element->name);
    if (!row) return plim__fail_memory(error, "the list of types", sizeof *row);
    file->tensors++;
    row->tensors++;
    if (!add(&file->bytes, 1, info->bytes) || !add(&row->bytes, 1, info->bytes)) return too_many(gather, error);
    if (info->repeated) return PLIM_OK;
    if (!add(&file->elements, 1, info->elements) || !add(&row->elements, 1, info->elements))
        return too_many(gather, error);
    if (!is_trained(info)) return add(&gather->untrained_bytes, 1, info->bytes) ? PLIM_OK : too_many(gather, error);
    if (!add(&file->trained, 1, info->elements) || !add_state(gather, info)) return too_many(gather, error);
    return PLIM_OK;
}

static bool fill(const plim__size_gather *gather, plim_size_optimizer optimizer, plim_size_precision precision) {
    plim_size_training *row = &gather->file->training[optimizer][precision];
    uint64_t n = gather->file->trained, width = precision == PLIM_SIZE_FP32 ? 4 : 2;
    *row = (plim_size_training){.weights = gather->untrained_bytes};
    bool fits = add(&row->weights, width, n) && add(&row->gradients, width, n) &&
                add(&row->masters, precision == PLIM_SIZE_FP32 ? 0 : 4, n);
    switch (optimizer) {
    case PLIM_SIZE_MOMENTUM: fits = fits && add(&row->state, 4, n); break;
    case PLIM_SIZE_ADAM:
    case PLIM_SIZE_ADAMW: fits = fits && add(&row->state, 8, n); break;
    case PLIM_SIZE_ADAFACTOR: row->state = gather->adafactor; break;
    case PLIM_SIZE_ADAM8BIT: row->state = gather->adam8bit; break;
    default: break;
    }
    row->added = row->gradients + row->masters + row->state;
    return fits;
}

static int most_bytes_first(const void *a, const void *b) {
    const plim_size_dtype *left = a, *right = b;
    if (left->bytes != right->bytes) return left->bytes > right->bytes ? -1 : 1;
    return strcmp(left->name, right->name);
}

plim_status plim__size_finish(plim__size_gather *gather, plim_error *error) {
    plim_size_file *file = gather->file;
    if (file->dtype_count > 1) qsort(file->by_dtype, file->dtype_count, sizeof *file->by_dtype, most_bytes_first);
    for (int o = 0; o < PLIM_SIZE_OPTIMIZERS; o++)
        for (int p = 0; p < PLIM_SIZE_PRECISIONS; p++)
            if (!fill(gather, (plim_size_optimizer)o, (plim_size_precision)p)) return too_many(gather, error);
    return PLIM_OK;
}
