/* Running a recurrent network: its directions, its chunks of time, its threads. */
#include <omp.h>
#include <string.h>

#include "core/error.h"
#include "kernel/forward/recurrent.h"
#include "kernel/indices.h"
#include "kernel/loops.h"
#include "kernel/onednn.h"

static plim_status check_lengths(const plim__call *call, const plim__recurrent *s) {
    const int32_t *lengths = call->in[4];
    for (int64_t b = 0; lengths && b < s->batch; b++)
        if (lengths[b] < 0 || lengths[b] > s->steps)
            return plim__fail(call->error, PLIM_INVALID, "sequence_lens[%lld] is %d, with %lld time steps",
                              (long long)b, (int)lengths[b], (long long)s->steps);
    return PLIM_OK;
}

static plim_status check_taken(const plim__call *call, const plim__recurrent *s) {
    for (int64_t i = 0; s->table > 0 && i < s->steps * s->batch; i++)
        if (plim__index_at(s->taken, call->in[1], i, s->table) < 0)
            return plim__index_fail(call, s->taken, call->in[1], i, s->table);
    return PLIM_OK;
}

static void sum_bias(const plim__recurrent *s, const float *given, int direction, float *bias) {
    int64_t units = s->gates * s->hidden;
    memset(bias, 0, (size_t)(units + s->hidden) * sizeof *bias);
    if (!given) return;
    const float *w = given + direction * 2 * units, *r = w + units;
    for (int64_t i = 0; i < units; i++) bias[i] = w[i] + r[i];
    if (s->cell != PLIM__CELL_GRU || !s->reset_after) return;
    for (int64_t i = 0; i < s->hidden; i++) { /* r ⊙ (h·Rhᵀ + Rbh), and Wbh outside of it */
        bias[2 * s->hidden + i] = r[2 * s->hidden + i];
        bias[units + i] = w[2 * s->hidden + i];
    }
}

/* Where sample b of a direction is in h0, c0, Y_h and Y_c. */
static int64_t state_at(const plim__recurrent *s, int direction, int64_t b) {
    return (s->batch_first ? b * s->directions + direction : direction * s->batch + b) * s->hidden;
}

static void read_state(const plim__recurrent *s, int direction, const float *given, float *state) {
    size_t bytes = (size_t)s->hidden * sizeof *state;
    for (int64_t b = 0; b < s->batch; b++) {
        if (given)
            memcpy(state + b * s->hidden, given + state_at(s, direction, b), bytes);
        else
            memset(state + b * s->hidden, 0, bytes);
    }
}

static void write_state(const plim__recurrent *s, int direction, float *out, const float *state, int64_t step) {
    for (int64_t b = 0; out && b < s->batch; b++)
        memcpy(out + state_at(s, direction, b), state + b * step, (size_t)s->hidden * sizeof *state);
}

/* X's rows one after the other. */
static void gather_rows(const plim__recurrent *s, const float *x, float *rows, int64_t count) {
#pragma omp parallel for if (count * s->inputs > 32768)
    for (int64_t r = 0; r < count; r++) {
        const float *from = x + r / s->batch * s->x_step + r % s->batch * s->x_sample;
        for (int64_t i = 0; i < s->inputs; i++) rows[r * s->inputs + i] = from[i * s->x_input];
    }
}

/* gates = the rows of the table's products that n time steps from t on take. */
static void take_products(const plim__call *call, const plim__recurrent_pass *pass, int64_t t, int64_t n) {
    const plim__recurrent *s = pass->s;
    int64_t units = s->gates * s->hidden, first = t * s->batch;
#pragma omp parallel for if (n * s->batch * units > 32768)
    for (int64_t r = 0; r < n * s->batch; r++) {
        int64_t row = plim__index_at(s->taken, call->in[1], first + r, s->table);
        memcpy(pass->gates + r * s->row, pass->x + (row * s->directions + pass->direction) * units,
               (size_t)units * sizeof(float));
    }
}

/* gates = X·Wᵀ of n time steps from t on. */
static plim_status input_product(const plim__call *call, const plim__recurrent_pass *pass, int64_t t, int64_t n) {
    const plim__recurrent *s = pass->s;
    const float *x = pass->x + t * s->x_step;
    int64_t units = s->gates * s->hidden, step = s->x_sample;
    if (s->table > 0) {
        take_products(call, pass, t, n);
        return PLIM_OK;
    }
    if (s->inputs == 0) {
        memset(pass->gates, 0, (size_t)(n * s->batch * s->row) * sizeof(float));
        return PLIM_OK;
    }
    if (s->rows > 0) {
        gather_rows(s, x, pass->rows, n * s->batch);
        x = pass->rows;
        step = s->inputs;
    }
    const float *w = (const float *)call->in[1] + pass->direction * units * s->inputs;
    dnnl_status_t status =
        dnnl_sgemm('N', 'T', n * s->batch, units, s->inputs, 1, x, step, w, s->inputs, 0, pass->gates, s->row);
    if (status == dnnl_success) return PLIM_OK;
    return plim__fail(call->error, status == dnnl_out_of_memory ? PLIM_NO_MEMORY : PLIM_INTERNAL,
                      "oneDNN failed in a matrix product of %lld × %lld × %lld", (long long)(n * s->batch),
                      (long long)units, (long long)s->inputs);
}

/* The moment after `last`, i-th of a chunk that begins at time t. */
static plim__recurrent_moment moment_after(const plim__recurrent_pass *pass, plim__recurrent_moment last, int64_t t) {
    const plim__recurrent *s = pass->s;
    plim__recurrent_moment m = {.t = t, .h = last.next_h, .c = last.next_c, .c_step = last.next_c_step};
    m.gates = pass->gates + (t - pass->first) * s->batch * s->row;
    m.next_h = s->through_y ? pass->y + (t * s->directions + pass->direction) * s->batch * s->hidden
                            : pass->h[m.h == pass->h[0]];
    m.next_c = s->saves ? m.gates + s->gates * s->hidden : pass->c;
    m.next_c_step = s->saves ? s->row : s->hidden;
    return m;
}

/* n time steps from pass->first on, in order or backwards; *last is the moment before and becomes the last one. */
static void run_steps(const plim__recurrent_pass *pass, int64_t n, plim__recurrent_moment *last) {
    const plim__recurrent *s = pass->s;
    int64_t blocks = s->padded / pass->loops->width;
    bool backwards = s->reverse[pass->direction];
    plim__recurrent_moment before = *last;
#pragma omp parallel num_threads(s->threads) if (s->threads > 1)
    {
        plim__recurrent_share share = {0, blocks, 0, s->batch};
        int thread = omp_get_thread_num(), threads = omp_get_num_threads();
        if (s->by_samples)
            plim__loop_part(s->batch, thread, threads, &share.first, &share.last);
        else
            plim__loop_part(blocks, thread, threads, &share.from, &share.to);
        share.from *= pass->loops->width;
        share.to *= pass->loops->width;
        if (share.from > s->hidden) share.from = s->hidden;
        if (share.to > s->hidden) share.to = s->hidden;
        plim__recurrent_moment m = before;
        for (int64_t i = 0; i < n; i++) {
            m = moment_after(pass, m, pass->first + (backwards ? n - 1 - i : i));
            plim__recurrent_step(pass, &m, share);
            plim__recurrent_meet(s);
        }
        if (thread == 0) *last = m;
    }
}

static plim_status run_direction(const plim__call *call, const plim__recurrent *s, int direction) {
    float *scratch = call->scratch, *bias = scratch + s->bias;
    int64_t state = s->batch * s->hidden;
    const float *peepholes = call->in[7];
    sum_bias(s, call->in[3], direction, bias);
    plim__recurrent_pass pass = {.s = s,
                                 .loops = plim__simd_recurrent_table(),
                                 .direction = direction,
                                 .x = call->in[0],
                                 .packed = (const float *)call->in[2] + direction * s->gates * s->padded * s->hidden,
                                 .peepholes = peepholes ? peepholes + direction * 3 * s->hidden : NULL,
                                 .lengths = call->in[4],
                                 .y = call->out[0],
                                 .gates = scratch,
                                 .h = {scratch + s->h, scratch + s->h + state},
                                 .c = scratch + s->c,
                                 .reset = scratch + s->reset,
                                 .rows = scratch + s->rows,
                                 .bias = bias};
    plim__recurrent_moment last = {.next_h = pass.h[0], .next_c = pass.c, .next_c_step = s->hidden};
    read_state(s, direction, call->in[5], pass.h[0]);
    if (s->cell == PLIM__CELL_LSTM) read_state(s, direction, call->in[6], pass.c);
    for (int64_t done = 0; done < s->steps && s->batch > 0;) {
        int64_t n = s->steps - done < s->chunk ? s->steps - done : s->chunk;
        int64_t first = s->reverse[direction] ? s->steps - done - n : done;
        if (s->saves) pass.gates = (float *)call->out[3] + (direction * s->steps + first) * s->batch * s->row;
        PLIM_TRY(input_product(call, &pass, first, n));
        pass.first = first;
        run_steps(&pass, n, &last);
        done += n;
    }
    write_state(s, direction, call->out[1], last.next_h, s->hidden);
    if (s->cell == PLIM__CELL_LSTM) write_state(s, direction, call->out[2], last.next_c, last.next_c_step);
    return PLIM_OK;
}

plim_status plim__run_recurrent(const plim__call *call) {
    const plim__recurrent *s = call->state;
    PLIM_TRY(check_lengths(call, s));
    PLIM_TRY(check_taken(call, s));
    for (int d = 0; d < s->directions; d++) PLIM_TRY(run_direction(call, s, d));
    return PLIM_OK;
}
