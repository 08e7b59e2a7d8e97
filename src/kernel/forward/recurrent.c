/* Lowering RNN, GRU and LSTM: reads attributes, packs R, sizes the scratch. */
#include "kernel/forward/recurrent.h"

#include <math.h>
#include <string.h>

#include "kernel/copies.h"
#include "kernel/lowers.h"
#include "kernel/onednn.h"

#define CHUNK_ROWS     1024   /* of X in one product: enough for its full speed, small enough for the cache */
#define FEW_SAMPLES    8      /* of a thread: fewer do not fill the registers of a product */
#define WORK_OF_THREAD 100000 /* multiplications a step that are worth a thread and its barrier */

/* --- activations ---------------------------------------------------------------------------------------------- */

/* alpha and beta are lists; each function that has one takes the next. */
static plim_status read_functions(plim__lower *l, size_t first, plim__recurrent *s) {
    static const plim__function standard[3][3] = {
        [PLIM__CELL_RNN] = {PLIM__FUNCTION_Tanh},
        [PLIM__CELL_GRU] = {PLIM__FUNCTION_Sigmoid, PLIM__FUNCTION_Tanh},
        [PLIM__CELL_LSTM] = {PLIM__FUNCTION_Sigmoid, PLIM__FUNCTION_Tanh, PLIM__FUNCTION_Tanh}};
    const plim__node *node = plim__lower_node(l);
    const plim__attribute *names = plim__node_attribute(node, "activations");
    size_t alphas, betas, next_alpha = 0, next_beta = 0, each = (size_t)s->cell + 1;
    const float *alpha = plim__node_floats(node, "activation_alpha", &alphas),
                *beta = plim__node_floats(node, "activation_beta", &betas);
    float clip = plim__node_float(node, "clip", 0);
    if (names && (names->type != PLIM__ATTRIBUTE_STRINGS || names->length != each * (size_t)s->directions))
        return plim__lower_fail(l, PLIM_CORRUPT, "%zu activations are needed", each * (size_t)s->directions);
    s->standard = !(clip > 0) && !plim__lower_has_input(l, first + 7) && !s->input_forget;
    for (size_t i = 0; i < each * (size_t)s->directions; i++) {
        plim__cell_function *f = &s->functions[i / each][i % each];
        *f = (plim__cell_function){.kind = standard[s->cell][i % each], .clip = clip > 0 ? clip : INFINITY};
        if (!names) continue;
        plim__function kind = plim__function_of_cell(names->strings[i]);
        if (kind == PLIM__FUNCTION_COUNT)
            return plim__lower_fail(l, PLIM_UNSUPPORTED, "unsupported: operator %s with the activation '%.40s'",
                                    node->op_name, names->strings[i]);
        const plim__function_row *k = &plim__functions[kind];
        if (kind != f->kind) s->standard = false;
        f->kind = kind;
        f->alpha = k->a && next_alpha < alphas ? alpha[next_alpha++] : k->a_default;
        f->beta = k->b && next_beta < betas ? beta[next_beta++] : k->b_default;
    }
    return PLIM_OK;
}

/* --- operands ------------------------------------------------------------------------------------------------- */

/* R (D, G, U, K) in blocks of units: [D][U / width][K][G][width]. */
static plim_status packed_input(plim__lower *l, const plim__recurrent *s, int width) {
    int64_t d = s->directions, g = s->gates, h = s->hidden;
    dnnl_dims_t dims = {d, g, h, h};
    dnnl_memory_desc_t seen, packed;
    PLIM_TRY(
        plim__lower_dnnl(l, dnnl_memory_desc_init_by_tag(&seen, 4, dims, dnnl_f32, dnnl_abcd), "recurrent weights"));
    packed = seen;
    packed.padded_dims[2] = s->padded;
    packed.format_desc.blocking =
        (dnnl_blocking_desc_t){.strides = {s->padded * h * g, width, h * g * width, g * width},
                               .inner_nblks = 1,
                               .inner_blks = {width},
                               .inner_idxs = {2}};
    return plim__lower_input_seen(l, 2, &seen, &packed);
}

static plim_status input_rows(plim__lower *l, plim__recurrent *s) {
    plim__layout x;
    if (s->table > 0) return plim__lower_input(l, 0, PLIM__DENSE, NULL);
    PLIM_TRY(plim__lower_input(l, 0, PLIM__STRIDED, &x));
    s->x_step = x.strides[s->batch_first ? 1 : 0];
    s->x_sample = x.strides[s->batch_first ? 0 : 1];
    s->x_input = x.strides[2];
    return PLIM_OK;
}

static plim_status plan_scratch(plim__lower *l, plim__recurrent *s) {
    double most = ((double)s->batch + CHUNK_ROWS) * ((double)s->hidden * (s->gates + 3) + (double)s->inputs);
    if (most > 0x1p58)
        return plim__lower_fail(l, PLIM_OVERFLOW, "its scratch memory would be more bytes than fit in 63 bits");
    int64_t chunk = s->batch > 0 ? (CHUNK_ROWS + s->batch - 1) / s->batch : 1, state = s->batch * s->hidden;
    s->chunk = chunk < s->steps ? chunk : s->steps > 0 ? s->steps : 1;
    int64_t rows = s->chunk * s->batch;
    bool straight = s->table > 0 || (s->x_input == 1 && s->x_sample >= s->inputs &&
                                     (s->chunk == 1 || s->x_step == s->batch * s->x_sample));
    const int64_t parts[] = {s->saves ? 0 : rows * s->row,
                             2 * state,
                             s->cell == PLIM__CELL_LSTM ? state : 0,
                             s->cell == PLIM__CELL_GRU && !s->saves ? state : 0,
                             (s->gates + 1) * s->hidden,
                             straight ? 0 : rows * s->inputs};
    size_t *starts[] = {NULL, &s->h, &s->c, &s->reset, &s->bias, &s->rows}, at = 0;
    for (size_t i = 0; i < 6; i++) {
        if (starts[i]) *starts[i] = parts[i] > 0 ? at : 0;
        at += ((size_t)parts[i] + 15) / 16 * 16;
    }
    return plim__lower_scratch(l, at * sizeof(float));
}

static int threads_for(plim__lower *l, const plim__recurrent *s, int width) {
    double worth = (double)s->batch * s->gates * (double)s->hidden * (double)s->hidden / WORK_OF_THREAD;
    int64_t threads = plim__lower_threads(l), blocks = s->padded / width;
    if ((double)threads > worth) threads = (int64_t)worth;
    if (threads > blocks) threads = blocks;
    return threads < 1 ? 1 : (int)threads;
}

plim_status plim__recurrent_read(plim__lower *l, plim__cell cell, size_t first, plim__recurrent *s) {
    const plim__node *node = plim__lower_node(l);
    s->taken = plim__lower_input_dtype(l, first + 1);
    bool table = s->taken != PLIM_F32; /* W is float32 */
    const plim__shape *x = plim__lower_input_shape(l, table ? first + 1 : first);
    const char *direction = plim__node_string(node, "direction", "forward");
    int width = plim__simd_recurrent_table()->width;
    s->cell = cell;
    s->gates = cell == PLIM__CELL_LSTM ? 4 : cell == PLIM__CELL_GRU ? 3 : 1;
    s->directions = direction[0] == 'b' ? 2 : 1;
    s->reverse[0] = direction[0] == 'r';
    s->reverse[1] = true;
    s->batch_first = plim__node_int(node, "layout", 0) == 1;
    s->reset_after = cell == PLIM__CELL_GRU && plim__node_int(node, "linear_before_reset", 0) != 0;
    s->input_forget = cell == PLIM__CELL_LSTM && plim__node_int(node, "input_forget", 0) != 0;
    s->steps = x->dims[s->batch_first ? 1 : 0];
    s->batch = x->dims[s->batch_first ? 0 : 1];
    s->inputs = table ? 0 : x->dims[2];
    if (table) s->table = first == 0 ? plim__lower_input_shape(l, 0)->dims[0] : plim__node_int(node, "rows", 0);
    s->hidden = plim__lower_input_shape(l, first + 2)->dims[2];
    s->padded = (s->hidden + width - 1) / width * width;
    s->threads = threads_for(l, s, width);
    s->by_samples = s->threads > 1 && s->batch >= FEW_SAMPLES * s->threads;
    return read_functions(l, first, s);
}

static plim_status fill(plim__lower *l, plim__cell cell, bool saves, plim__recurrent *s) {
    int width = plim__simd_recurrent_table()->width;
    PLIM_TRY(plim__recurrent_read(l, cell, 0, s));
    s->saves = saves;
    s->row = (s->gates + saves) * s->hidden;
    s->through_y = plim__lower_has_output(l, 0) && !s->batch_first && !plim__lower_has_input(l, 4);
    PLIM_TRY(input_rows(l, s));
    PLIM_TRY(plim__lower_input(l, 1, PLIM__DENSE, NULL));
    PLIM_TRY(packed_input(l, s, width));
    for (size_t i = 3; i < 8; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    for (size_t i = 0; i < (saves ? 4 : 3); i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    int64_t units = s->gates * s->hidden;
    PLIM_TRY(plan_scratch(l, s));
    if (s->table > 0) return PLIM_OK;
    return plim__lower_product(l, (plim__product){'N', 'T', false, s->chunk * s->batch, units, s->inputs,
                                                  s->rows > 0 ? s->inputs : s->x_sample, s->inputs, s->row});
}

/* Pages of this program that only recurrent networks touch. */
#define RECURRENT_BYTES ((size_t)448 << 10)

static plim_status lower_recurrent(plim__lower *l, plim__cell cell, bool saves) {
    if (plim__lower_input_dtype(l, 0) != PLIM_F32) return plim__lower_unsupported(l, "with another type than float32");
    plim__recurrent *s;
    PLIM_TRY(plim__lower_code(l, 0, 0, RECURRENT_BYTES));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    plim_status status = fill(l, cell, saves, s);
    if (status == PLIM_OK)
        return plim__lower_emit(l, plim__lower_node(l)->op->name, plim__run_recurrent, s, plim__free);
    plim__free(s);
    return status;
}

plim_status plim__lower_rnn(plim__lower *l) { return lower_recurrent(l, PLIM__CELL_RNN, false); }
plim_status plim__lower_gru(plim__lower *l) { return lower_recurrent(l, PLIM__CELL_GRU, false); }
plim_status plim__lower_lstm(plim__lower *l) { return lower_recurrent(l, PLIM__CELL_LSTM, false); }
plim_status plim__lower_gru_train(plim__lower *l) { return lower_recurrent(l, PLIM__CELL_GRU, true); }
plim_status plim__lower_lstm_train(plim__lower *l) { return lower_recurrent(l, PLIM__CELL_LSTM, true); }
