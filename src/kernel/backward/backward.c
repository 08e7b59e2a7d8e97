/* What the lower functions of backward operators share. */
#include "kernel/backward/backward.h"
#include "kernel/onednn.h"

plim_status plim__backward_describe(plim__lower *l, const char *what, const void *desc, dnnl_primitive_desc_t hint,
                                    dnnl_primitive_desc_t *pd) {
    dnnl_primitive_attr_t attr;
    PLIM_TRY(plim__lower_attr(l, &attr));
    dnnl_status_t status = dnnl_primitive_desc_create(pd, desc, attr, plim__lower_dnnl_engine(l), hint);
    dnnl_primitive_attr_destroy(attr);
    return plim__lower_dnnl(l, status, what);
}

static const dnnl_format_tag_t tags[] = {
    dnnl_abc,    dnnl_aBc16b, dnnl_aBc8b, dnnl_aBc4b,    dnnl_acb,     dnnl_abcd,    dnnl_aBcd16b, dnnl_aBcd8b,
    dnnl_aBcd4b, dnnl_acdb,   dnnl_abcde, dnnl_aBcde16b, dnnl_aBcde8b, dnnl_aBcde4b, dnnl_acdeb,
};

bool plim__backward_layout_like(const plim__layout *like, dnnl_data_type_t type, const plim__shape *shape,
                                dnnl_memory_desc_t *md) {
    dnnl_memory_desc_t own, guess;
    dnnl_dims_t dims, own_dims;
    if (!plim__layout_md(like, &own) || own.ndims != shape->rank) return false;
    for (int i = 0; i < shape->rank; i++) {
        dims[i] = shape->dims[i];
        own_dims[i] = own.dims[i];
    }
    for (size_t k = 0; k < sizeof tags / sizeof *tags; k++)
        if (dnnl_memory_desc_init_by_tag(&guess, own.ndims, own_dims, own.data_type, tags[k]) == dnnl_success &&
            dnnl_memory_desc_equal(&guess, &own))
            return dnnl_memory_desc_init_by_tag(md, shape->rank, dims, type, tags[k]) == dnnl_success;
    return false;
}
