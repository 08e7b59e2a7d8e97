#include "fit/strides.h"

plim__strides plim__strides_plain(const plim__shape *shape) {
    plim__strides strides = {{0}};
    int64_t step = 1;
    for (int i = shape->rank; i-- > 0;) {
        strides.of[i] = step;
        if (shape->dims[i] > 1 && step <= INT64_MAX / shape->dims[i]) step *= shape->dims[i];
    }
    return strides;
}

plim__strides plim__strides_attention(const plim__shape *shape) {
    plim__strides strides = plim__strides_plain(shape);
    if (shape->rank != 4) return strides;
    strides.of[1] = shape->dims[3]; /* (B, H, T, D) lies as (B, T, H, D) */
    strides.of[2] = shape->dims[1] * shape->dims[3];
    return strides;
}

bool plim__strides_join(const plim__shape *shape, const plim__strides *strides, int from, int to) {
    int outer = -1; /* axes of one element do not matter */
    for (int i = from; i < to; i++) {
        if (shape->dims[i] == 1) continue;
        if (outer >= 0 && strides->of[outer] != strides->of[i] * shape->dims[i]) return false;
        outer = i;
    }
    return true;
}

/* Runs of axes that lie one after the other are taken apart in a new way; each new axis must end where a run does. */
static bool reshape(const plim__shape *from, const plim__strides *in, const plim__shape *to, plim__strides *out) {
    int at = to->rank - 1, end = from->rank;
    *out = plim__strides_plain(to);
    while (end > 0) {
        int begin = end - 1;
        while (begin > 0 && plim__strides_join(from, in, begin - 1, end)) begin--;
        int64_t left = 1, step = 1;
        for (int i = begin; i < end; i++) left *= from->dims[i];
        for (int i = end; i-- > begin;) {
            if (from->dims[i] == 1) continue;
            step = in->of[i];
            break;
        }
        for (; at >= 0 && (left > 1 || to->dims[at] == 1); at--) {
            if (to->dims[at] < 1 || left % to->dims[at]) return false;
            out->of[at] = step;
            step *= to->dims[at];
            left /= to->dims[at];
        }
        if (left != 1) return false;
        end = begin;
    }
    return at < 0;
}

static void transpose(const plim__node *node, int rank, const plim__strides *in, plim__strides *out) {
    size_t count = 0;
    const int64_t *order = plim__node_ints(node, "perm", &count);
    for (int i = 0; i < rank; i++) {
        int64_t axis = order && (size_t)i < count ? order[i] : rank - 1 - i;
        out->of[i] = in->of[axis >= 0 && axis < rank ? axis : i];
    }
}

static void expand(const plim__shape *from, const plim__strides *in, const plim__shape *to, plim__strides *out) {
    for (int i = to->rank, k = from->rank; i-- > 0;) {
        k--;
        out->of[i] = k >= 0 && from->dims[k] == to->dims[i] ? in->of[k] : 0;
    }
}

bool plim__strides_view(const plim_graph *g, const plim__node *node, plim__torch_kind kind, const plim__strides *in,
                        plim__strides *out) {
    const plim__shape *from = &g->values.items[plim__node_in(node, 0)].shape;
    const plim__shape *to = &g->values.items[plim__node_out(node, 0)].shape;
    *out = plim__strides_plain(to);
    if (kind == PLIM__TORCH_TRANSPOSE && from->rank == to->rank)
        transpose(node, from->rank, in, out);
    else if (kind == PLIM__TORCH_EXPAND)
        expand(from, in, to, out);
    else if (kind == PLIM__TORCH_SLICE && from->rank == to->rank)
        *out = *in;
    else
        return reshape(from, in, to, out);
    return true;
}
