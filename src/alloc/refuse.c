/* The message of an allocation that cannot be had. */
#include "alloc/pool.h"
#include "core/error.h"
#include "core/str.h"
#include "plimsoll/bytes.h"

static void add_shape(plim__str *text, const plim_pool_request *request) {
    if (request->name && request->name[0]) plim__str_addf(text, "'%s' ", request->name);
    if (request->dims) {
        plim__str_add(text, "[");
        for (size_t i = 0; i < request->rank; i++)
            plim__str_addf(text, "%s%lld", i ? ", " : "", (long long)request->dims[i]);
        plim__str_addf(text, "] %s ", plim_dtype_name(request->dtype));
    }
}

plim_status plim__pool_refuse(plim_pool *pool, const plim_pool_request *request, plim_error *error) {
    pool->stats.failures++;
    char asked[PLIM_BYTES_TEXT], allocated[PLIM_BYTES_TEXT], reserved[PLIM_BYTES_TEXT], free[PLIM_BYTES_TEXT];
    char capacity[PLIM_BYTES_TEXT] = "unlimited";
    plim_pool_stats stats;
    plim_pool_get_stats(pool, &stats);
    plim__str what = {0};
    add_shape(&what, request);
    if (pool->options.capacity) plim_bytes_format(pool->options.capacity, capacity);
    plim_status status = plim__fail(
        error, PLIM_NO_MEMORY,
        "%s has no %s for %son %s: capacity %s, allocated %s, reserved %s, largest free block %s",
        plim_pool_title(pool->options.kind), plim_bytes_format(request->bytes, asked), plim__str_text(&what),
        request->device ? request->device : "the device", capacity, plim_bytes_format(stats.allocated, allocated),
        plim_bytes_format(stats.reserved, reserved), plim_bytes_format(stats.largest_free, free));
    plim__str_free(&what);
    return status;
}
