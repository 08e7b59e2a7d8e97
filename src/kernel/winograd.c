/* Where Winograd's form pays. */
#include "kernel/winograd.h"

#include "mem/reserve.h"

#define TILE 4

/* Below these transforms cost more than they save; measured on AVX-512 over 16 to 512 channels and images of 4 to 56. */
#define FEWEST_TILES 64
#define LEAST_WORK   6144 /* tiles x channels */
#define LEAST_USED   0.6  /* of the results in tiles: those at the edges reach beyond the image */

/* A convolution's tensors and workspace are at most that much of the tensors of the largest operator: no schedule can do with
 * less than those, so the least memory that a program needs hardly rises. It depends on the graph alone, not on a budget, so that
 * plans for all budgets compute the same numbers. */
#define MOST_OF_LARGEST 1.25

static double least_channels(const plim__conv_geometry *s) { return (double)(s->x[1] < s->y[1] ? s->x[1] : s->y[1]); }

bool plim__winograd_suits(const plim__lower *l, const plim__conv_geometry *s) {
    if (!plim__lower_winograd(l) || plim__lower_factors(l) != PLIM_F32 || s->rank != 4 || s->weight_rank != 4)
        return false;
    for (int i = 0; i < 2; i++)
        if (s->w[2 + i] != 3 || s->stride[i] != 1 || s->dilation[i] != 0) return false;
    int64_t rows = (s->y[2] + TILE - 1) / TILE, columns = (s->y[3] + TILE - 1) / TILE;
    double tiles = (double)s->y[0] * (double)rows * (double)columns;
    double used = (double)(s->y[2] * s->y[3]) / (double)(rows * columns * TILE * TILE);
    return tiles >= FEWEST_TILES && tiles * least_channels(s) >= LEAST_WORK && used >= LEAST_USED;
}

/* --- memory --------------------------------------------------------------------------------------------------- */

static bool fits(const plim__lower *l, const plim__conv_geometry *s, const_dnnl_primitive_desc_t pd) {
    const dnnl_memory_desc_t *scratch = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    double bytes = (double)dnnl_memory_desc_get_size(scratch);
    bytes += 4.0 * (double)s->x[0] * (double)(s->x[1] * s->x[2] * s->x[3] + s->y[1] * s->y[2] * s->y[3]);
    return bytes <= MOST_OF_LARGEST * plim__lower_facts(l)->largest_bytes;
}

plim_status plim__winograd_describe(plim__lower *l, const plim__conv_geometry *s, const dnnl_convolution_desc_t *desc,
                                    const_dnnl_primitive_attr_t attr, const_dnnl_primitive_desc_t hint,
                                    dnnl_primitive_desc_t *pd) {
    PLIM_TRY(plim__reserve_fill(plim__lower_error(l)));
    dnnl_status_t status = dnnl_primitive_desc_create(pd, desc, attr, plim__lower_dnnl_engine(l), hint);
    if (status != dnnl_success) *pd = NULL;
    if (status == dnnl_unimplemented) return PLIM_OK;
    PLIM_TRY(plim__lower_dnnl(l, status, "convolution"));
    if (fits(l, s, *pd)) return PLIM_OK;
    dnnl_primitive_desc_destroy(*pd);
    *pd = NULL;
    return PLIM_OK;
}
