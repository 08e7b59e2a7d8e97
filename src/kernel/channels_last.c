/* Where layouts with channels last pay. */
#include "kernel/channels_last.h"

#include <string.h>

#include "kernel/lowers.h"
#include "kernel/simd/simd.h"
#include "mem/reserve.h"

#define FEW  4    /* an image's channels are no blocks: the first convolution has kernels of its own */
#define PAYS 1.06 /* operations with padding, in terms of those without */
#define REST 0.1  /* of the work may be in convolutions of other kinds, between which tensors are rearranged */

double plim__channels_in_blocks(int64_t channels) {
    int64_t block = plim__isa_best() == PLIM__ISA_AVX512 ? 16 : 8;
    return (double)(channels <= FEW ? channels : (channels + block - 1) / block * block);
}

/* Multiplications for one sample: results of a channel x weights. */
static double work_of(const plim__shape *w, const plim__shape *y) {
    double work = 1;
    for (int i = 2; i < y->rank; i++) work *= (double)y->dims[i];
    for (int i = 0; i < w->rank; i++) work *= (double)w->dims[i];
    return work;
}

bool plim__channels_last_pay(const plim_graph *g) {
    double plain = 0, with_padding = 0, rest = 0;
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        if (node->dead || node->phase != PLIM__FORWARD) continue;
        plim__lower_function *lower = plim__lower_of(node);
        if (lower != plim__lower_conv && lower != plim__lower_conv_transpose) continue;
        const plim__shape *w = &g->values.items[node->inputs.items[1]].shape,
                          *y = &g->values.items[node->outputs.items[0]].shape;
        double work = work_of(w, y);
        if (lower != plim__lower_conv || y->rank != 4 || plim__node_int(node, "group", 1) != 1) {
            rest += work;
            continue;
        }
        plain += work;
        with_padding += work * plim__channels_in_blocks(w->dims[0]) * plim__channels_in_blocks(w->dims[1]) /
                        (double)(w->dims[0] * w->dims[1]);
    }
    return with_padding > PAYS * plain && rest <= REST * plain;
}

bool plim__channels_last_suits(const plim__lower *l, const plim__conv_geometry *s) {
    const plim__facts *facts = plim__lower_facts(l);
    int64_t node = plim__lower_node(l) - plim__lower_graph(l)->nodes.items;
    if (plim__lower_factors(l) != PLIM_F32) return false; /* kernels for 16 bits take pairs of channels */
    return facts->channels_last && s->rank == 4 && s->weight_rank == 4 && node >= facts->trained_from;
}

/* What oneDNN prefers in that layout is made for inference (see kind_of in forward/conv.c), and slower than what comes next. */
static bool is_for_inference(const_dnnl_primitive_desc_t pd) {
    const char *name = "";
    dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, (void *)&name);
    return strncmp(name, "brgconv", 7) == 0;
}

plim_status plim__channels_last_describe(plim__lower *l, const void *desc, const_dnnl_primitive_attr_t attr,
                                         const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd) {
    dnnl_primitive_desc_iterator_t each;
    PLIM_TRY(plim__reserve_fill(plim__lower_error(l)));
    dnnl_status_t status = dnnl_primitive_desc_iterator_create(&each, desc, attr, plim__lower_dnnl_engine(l), hint);
    PLIM_TRY(plim__lower_dnnl(l, status, "convolution"));
    *pd = dnnl_primitive_desc_iterator_fetch(each);
    while (*pd && is_for_inference(*pd) && dnnl_primitive_desc_iterator_next(each) == dnnl_success) {
        dnnl_primitive_desc_destroy(*pd);
        *pd = dnnl_primitive_desc_iterator_fetch(each);
    }
    dnnl_primitive_desc_iterator_destroy(each);
    return plim__lower_dnnl(l, *pd ? dnnl_success : dnnl_out_of_memory, "convolution");
}
