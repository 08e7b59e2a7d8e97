/* What a schedule needs in memory: the same lives and the same sharing in place as plim__plan_create finds, without
 * making the program. The searches call this many thousand times. */
#include <string.h>

#include "core/error.h"
#include "plan/schedule.h"

plim_status plim__meter_create(const plim__depend *depend, plim__meter **meter, plim_error *error) {
    plim__meter *m = *meter = plim__alloc_zero(1, sizeof *m);
    if (!m) return plim__fail_memory(error, "measuring schedules", sizeof *m);
    m->depend = depend;
    m->capacity = 4 * depend->step_count + 256;
    size_t most = 0;
    for (size_t s = 0; s < depend->step_count; s++) {
        size_t operands = (size_t)(depend->reads.start[s + 1] - depend->reads.start[s]) +
                          (size_t)(depend->makes.start[s + 1] - depend->makes.start[s]);
        if (operands > most) most = operands;
    }
    m->live = plim__alloc_zero(m->capacity + 1, sizeof *m->live);
    m->ends = plim__alloc_array(m->capacity, most + 1);
    m->next = plim__alloc_array(depend->buffer_count + 1, sizeof *m->next);
    m->root = plim__alloc_array(depend->buffer_count + 1, sizeof *m->root);
    /* also of what no step makes and some read: tensors without elements */
    for (size_t b = 0; m->root && b < depend->buffer_count; b++) m->root[b] = (int32_t)b;
    if (m->live && m->ends && m->next && m->root) return PLIM_OK;
    plim__meter_free(m);
    *meter = NULL;
    return plim__fail_memory(error, "measuring schedules", depend->step_count * sizeof(int64_t));
}

void plim__meter_free(plim__meter *meter) {
    if (!meter) return;
    plim__free(meter->live);
    plim__free(meter->ends);
    plim__free(meter->next);
    plim__free(meter->root);
    plim__free(meter);
}

/* From the last step to the first: which operand is the last of its buffer. The flags of a step are its outputs', then
 * its inputs', in the order in which this loop meets them. Returns their number. */
static size_t find_ends(plim__meter *m, const int32_t *steps, size_t count) {
    const plim__depend *d = m->depend;
    size_t at = 0;
    memset(m->next, -1, d->buffer_count * sizeof *m->next);
    for (size_t i = 0; i < d->output_count; i++) m->next[d->outputs[i]] = (int32_t)count;
    for (size_t i = count; i-- > 0;) {
        int32_t s = steps[i];
        for (int32_t k = d->makes.start[s]; k < d->makes.start[s + 1]; k++) {
            int32_t b = d->makes.items[k];
            m->ends[at++] = m->next[b] < 0;
            m->next[b] = -1;
        }
        for (int32_t k = d->reads.start[s]; k < d->reads.start[s + 1]; k++) {
            int32_t b = d->reads.items[k];
            m->ends[at++] = m->next[b] < 0;
            m->next[b] = (int32_t)i;
        }
    }
    return at;
}

bool plim__meter_may_share(const plim__depend *d, int32_t step, int32_t root) {
    const plim__buffer *buffers = d->program->buffers.items;
    return buffers[root].kind == PLIM__BUFFER_ACTIVATION && buffers[d->onto[step]].bytes <= buffers[root].bytes;
}

int64_t plim__meter_run(plim__meter *m, const int32_t *steps, size_t count) {
    const plim__depend *d = m->depend;
    size_t at = find_ends(m, steps, count);
    int64_t live = 0, peak = 0, unused = 0;
    for (size_t i = 0; i < d->input_count; i++) {
        int32_t b = d->inputs[i];
        m->root[b] = b;
        live += d->bytes[b];
        if (m->next[b] < 0) unused += d->bytes[b]; /* there at the first step, then no more */
    }
    for (size_t i = 0; i < count; i++) {
        int32_t s = steps[i], outs = d->makes.start[s + 1] - d->makes.start[s],
                ins = d->reads.start[s + 1] - d->reads.start[s];
        at -= (size_t)(outs + ins);
        const bool *out_ends = m->ends + at, *in_ends = out_ends + outs;
        const int32_t *out = d->makes.items + d->makes.start[s], *in = d->reads.items + d->reads.start[s];
        int64_t freed = 0;
        bool shared = false;
        for (int32_t k = 0; k < ins; k++) {
            if (!in_ends[k]) continue;
            if (in[k] == d->over[s] && plim__meter_may_share(d, s, m->root[in[k]]))
                shared = true;
            else
                freed += d->bytes[m->root[in[k]]];
        }
        for (int32_t k = 0; k < outs; k++) {
            m->root[out[k]] = out[k];
            if (shared && out[k] == d->onto[s])
                m->root[out[k]] = m->root[d->over[s]];
            else
                live += d->bytes[out[k]];
            if (out_ends[k]) freed += d->bytes[m->root[out[k]]];
        }
        m->live[i] = live + d->scratch[s];
        if (m->live[i] > peak) peak = m->live[i];
        live -= freed;
        if (i == 0) live -= unused;
    }
    m->live[count] = live;
    return m->peak = peak;
}
