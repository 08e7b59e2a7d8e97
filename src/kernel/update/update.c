/* Updates of parameters and state where they are, over whole buffers: gradient, parameter and states have the same
 * arrangement in memory, and padding holds zeros that stay zeros.
 *
 * Threads take whole blocks, so that a number never depends on how many of them there are. */
#include "kernel/update/update.h"

#include <string.h>

#include "kernel/lowers.h"
#include "kernel/onednn.h"
#include "mem/spill.h"

#define BLOCK PLIM__UPDATE_BLOCK

/* --- persistent values ---------------------------------------------------------------------------------------- */

struct keep {
    int64_t bytes;
};

/* in: value                       out: state */
static plim_status run_assign(const plim__call *call) {
    const struct keep *s = call->state;
    int64_t elements = (s->bytes + 3) / 4, blocks = plim__update_blocks(elements);
    char *to = call->out[0];
    const char *from = call->in[0];
    int threads = plim__loop_threads(elements);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t b = 0; b < blocks; b++) {
        int64_t at = b * BLOCK * 4, most = s->bytes - at;
        memcpy(to + at, from + at, (size_t)(most < BLOCK * 4 ? most : BLOCK * 4));
    }
    return PLIM_OK;
}

/* in: gradient                    out: sum */
static plim_status run_accumulate(const plim__call *call) {
    if (call->first) return run_assign(call);
    const struct keep *s = call->state;
    int64_t elements = s->bytes / 4, blocks = plim__update_blocks(elements);
    float *sum = call->out[0];
    const float *x = call->in[0];
    int threads = plim__loop_threads(elements);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t b = 0; b < blocks; b++)
        plim__updates()->add(plim__update_block_size(elements, b), sum + b * BLOCK, x + b * BLOCK);
    return PLIM_OK;
}

static plim_status lower_keep(plim__lower *l, const char *label, plim__kernel run) {
    /* The arrangement in which the value comes anyway, unless elements of it share memory or leave holes. */
    PLIM_TRY(plim__lower_written(l, 0, plim__layout_is_whole(plim__lower_peek(l, 1)) ? 1 : -1));
    PLIM_TRY(plim__lower_input_like(l, 1, 0));
    struct keep *s;
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    s->bytes = (int64_t)plim__lower_persistent_bytes(l, 0);
    return plim__lower_emit(l, label, run, s, plim__free);
}

plim_status plim__lower_assign(plim__lower *l) { return lower_keep(l, "Assign", run_assign); }
plim_status plim__lower_accumulate(plim__lower *l) {
    if (plim__lower_input_dtype(l, 0) != PLIM_F32) return plim__lower_unsupported(l, "with another type than float32");
    return lower_keep(l, "Accumulate", run_accumulate);
}

/* --- rules ----------------------------------------------------------------------------------------------------- */

static void numbers_of_rule(const plim__update *s, double rate, double t, plim__update_numbers *u) {
    switch (s->rule) {
    case PLIM__RULE_MOMENTUM:
    case PLIM__RULE_NESTEROV:
        u->keep_m = u->mix_m = (float)s->momentum;
        u->gain_m = t > 1 ? (float)(1 - s->dampening) : 1;
        break;
    case PLIM__RULE_ADAM:
        u->rate = (float)(rate / (1 - pow(s->beta1, t)));
        u->gain_m = (float)(1 - s->beta1);
        u->keep_v = (float)s->beta2;
        u->gain_v = (float)(1 - s->beta2);
        u->correct_v = (float)(1 / sqrt(1 - pow(s->beta2, t)));
        break;
    case PLIM__RULE_RMSPROP:
    case PLIM__RULE_RMSPROP_MOMENTUM:
        u->keep_v = (float)s->alpha;
        u->gain_v = (float)(1 - s->alpha);
        u->keep_m = (float)s->momentum;
        break;
    case PLIM__RULE_ADAGRAD: u->rate = (float)(rate / (1 + (t - 1) * s->rate_decay)); break;
    case PLIM__RULE_LION:
        u->mix_m = (float)s->beta1;
        u->mix_g = (float)(1 - s->beta1);
        u->keep_m = (float)s->beta2;
        u->gain_m = (float)(1 - s->beta2);
        break;
    default: break;
    }
}

plim__update_numbers plim__update_now(const plim__update *s, const plim__call *call) {
    double rate = ((const double *)call->in[0])[0] * s->factor, t = ((const double *)call->in[0])[1];
    plim__update_numbers u = plim__update_numbers_of(call->in[1], s->clip);
    u.decay = s->decoupled ? 0 : (float)s->decay;
    u.keep = s->decoupled ? (float)(1 - rate * s->decay) : 1;
    u.rate = (float)rate;
    u.epsilon = (float)s->epsilon;
    numbers_of_rule(s, rate, t, &u);
    return u;
}

plim__update plim__update_of(const plim__node *node, plim__update_rule rule) {
    bool only_v = rule == PLIM__RULE_RMSPROP || rule == PLIM__RULE_ADAGRAD;
    bool both = rule == PLIM__RULE_ADAM || rule == PLIM__RULE_RMSPROP_MOMENTUM;
    return (plim__update){.rule = rule,
                          .has_m = both || (rule != PLIM__RULE_SGD && !only_v),
                          .has_v = both || only_v,
                          .decoupled = plim__node_int(node, "decoupled", 0) != 0,
                          .clip = plim__update_get(node, "clip_value"),
                          .decay = plim__update_get(node, "weight_decay"),
                          .momentum = plim__update_get(node, "momentum"),
                          .dampening = plim__update_get(node, "dampening"),
                          .beta1 = plim__update_get(node, "beta1"),
                          .beta2 = plim__update_get(node, "beta2"),
                          .alpha = plim__update_get(node, "alpha"),
                          .epsilon = plim__update_get(node, "epsilon"),
                          .rate_decay = plim__update_get(node, "rate_decay"),
                          .factor = plim__update_factor(node)};
}

/* --- weights and state in a file ------------------------------------------------------------------------------------------- */

#define CHUNK       (8 * BLOCK) /* elements that a thread takes at a time: whole blocks, so that the numbers are the same */
#define CHUNK_BYTES (CHUNK * sizeof(float))
#define PARTS       3 /* parameter, m, v */
#define ROOM_BYTES  (PARTS * CHUNK_BYTES)
#define GRADIENT    2 /* in operand */

static void prepare(const plim__call *call, void *prepared) {
    _Static_assert(sizeof(plim__update_numbers) <= PLIM__PREPARED, "they are put down there");
    *(plim__update_numbers *)prepared = plim__update_now(call->state, call);
}

static size_t chunks(const plim__call *call) {
    const plim__update *s = call->state;
    return (size_t)((s->elements + CHUNK - 1) / CHUNK);
}

static plim_status fail_update(const plim__call *call, plim_status status, const plim_error *why) {
    return plim__fail(call->error, status, "%s; what was trained since the last checkpoint is lost", why->message);
}

/* Parts in the file are worked on in the room, one behind the other; each begins at a page of its own. */
static plim_status update_chunk(const plim__call *call, const void *prepared, size_t chunk) {
    const plim__update *s = call->state;
    int64_t at = (int64_t)chunk * CHUNK, count = s->elements - at < CHUNK ? s->elements - at : CHUNK;
    size_t bytes = (size_t)count * sizeof(float);
    float *part[PARTS];
    const float *g = (const float *)call->in[GRADIENT] + at;
    plim_error why = {0};
    plim_status status = PLIM_OK;
    for (int k = 0; k < PARTS && status == PLIM_OK; k++) {
        int64_t place = call->places[k];
        part[k] = place >= 0 ? (float *)call->window + k * CHUNK : call->out[k] ? (float *)call->out[k] + at : NULL;
        if (place >= 0)
            status = plim__spill_read_pages(call->spill, part[k], bytes, place + at * (int64_t)sizeof(float), &why);
    }
    if (status != PLIM_OK) return fail_update(call, status, &why);
    for (int64_t b = 0; b < count; b += BLOCK)
        plim__updates()->rule[s->rule](prepared, count - b < BLOCK ? count - b : BLOCK, part[0] + b, g + b,
                                       part[1] ? part[1] + b : NULL, part[2] ? part[2] + b : NULL);
    for (int k = 0; k < PARTS && status == PLIM_OK; k++)
        if (call->places[k] >= 0)
            status = plim__spill_write_pages(call->spill, part[k], bytes, call->places[k] + at * (int64_t)sizeof(float),
                                             &why);
    return status == PLIM_OK ? PLIM_OK : fail_update(call, status, &why);
}

static const plim__pieces in_chunks = {.prepare = prepare, .count = chunks, .run = update_chunk, .held = GRADIENT};

/* in: update, scale, gradient     out: parameter, m, v */
static plim_status run_update(const plim__call *call) {
    const plim__update *s = call->state;
    plim__update_numbers u = plim__update_now(s, call);
    float *x = call->out[0], *m = call->out[1], *v = call->out[2];
    const float *g = call->in[2];
    plim__update_loop loop = plim__updates()->rule[s->rule];
    int64_t blocks = plim__update_blocks(s->elements);
    int threads = plim__loop_threads(s->elements);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t b = 0; b < blocks; b++) {
        int64_t at = b * BLOCK;
        loop(&u, plim__update_block_size(s->elements, b), x + at, g + at, m ? m + at : NULL, v ? v + at : NULL);
    }
    return PLIM_OK;
}

/* States of the node in the order m, v; a rule without one of them gets NULL in its place. */
static plim_status lower_update(plim__lower *l, plim__update_rule rule) {
    const plim__node *node = plim__lower_node(l);
    plim__update u = plim__update_of(node, rule), *s;
    size_t next = PLIM__UPDATE_STATES;
    if (node->inputs.count != next + u.has_m + u.has_v)
        return plim__lower_fail(l, PLIM_INTERNAL, "%zu inputs do not fit its settings", node->inputs.count);
    PLIM_TRY(plim__lower_input(l, PLIM__UPDATE_RATE, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_input(l, PLIM__UPDATE_SCALE, PLIM__DENSE, NULL));
    PLIM_TRY(plim__lower_written(l, PLIM__UPDATE_PARAMETER, -1));
    plim__lower_may_spill(l, &in_chunks, ROOM_BYTES);
    PLIM_TRY(plim__lower_input_like(l, PLIM__UPDATE_GRADIENT, PLIM__UPDATE_PARAMETER));
    PLIM_TRY(plim__lower_written(l, u.has_m ? next++ : SIZE_MAX, PLIM__UPDATE_PARAMETER));
    if (u.has_m) plim__lower_may_spill(l, &in_chunks, ROOM_BYTES);
    PLIM_TRY(plim__lower_written(l, u.has_v ? next++ : SIZE_MAX, PLIM__UPDATE_PARAMETER));
    if (u.has_v) plim__lower_may_spill(l, &in_chunks, ROOM_BYTES);
    u.elements = (int64_t)(plim__lower_persistent_bytes(l, PLIM__UPDATE_PARAMETER) / sizeof(float));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = u;
    return plim__lower_emit(l, node->op->name, run_update, s, plim__free);
}

static plim__update_rule sgd_rule(const plim__node *node) {
    if (plim__update_get(node, "momentum") == 0) return PLIM__RULE_SGD;
    return plim__node_int(node, "nesterov", 0) ? PLIM__RULE_NESTEROV : PLIM__RULE_MOMENTUM;
}

static plim__update_rule rmsprop_rule(const plim__node *node) {
    return plim__update_get(node, "momentum") != 0 ? PLIM__RULE_RMSPROP_MOMENTUM : PLIM__RULE_RMSPROP;
}

plim_status plim__lower_sgd_update(plim__lower *l) { return lower_update(l, sgd_rule(plim__lower_node(l))); }
plim_status plim__lower_adam_update(plim__lower *l) { return lower_update(l, PLIM__RULE_ADAM); }
plim_status plim__lower_rmsprop_update(plim__lower *l) { return lower_update(l, rmsprop_rule(plim__lower_node(l))); }
plim_status plim__lower_adagrad_update(plim__lower *l) { return lower_update(l, PLIM__RULE_ADAGRAD); }
plim_status plim__lower_lion_update(plim__lower *l) { return lower_update(l, PLIM__RULE_LION); }

plim_status plim__lower_sgd_update8(plim__lower *l) { return plim__lower_update8(l, sgd_rule(plim__lower_node(l))); }
plim_status plim__lower_adam_update8(plim__lower *l) { return plim__lower_update8(l, PLIM__RULE_ADAM); }
plim_status plim__lower_rmsprop_update8(plim__lower *l) {
    return plim__lower_update8(l, rmsprop_rule(plim__lower_node(l)));
}
plim_status plim__lower_lion_update8(plim__lower *l) { return plim__lower_update8(l, PLIM__RULE_LION); }
