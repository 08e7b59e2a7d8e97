/* Random numbers from counters, and choices by them. */
#include <math.h>

#include "core/scalar.h"
#include "kernel/copies.h"
#include "kernel/forward/dropout.h"
#include "kernel/loops.h"
#include "kernel/lowers.h"

struct random {
    plim__dropout place; /* which number each element draws */
    bool normal;
    float a, b; /* lowest and width; mean and deviation */
    plim_dtype dtype, in;
    int64_t columns; /* scores of a row, or 1 */
};

/* The number drawn for an element, in [0, 1). */
static double uniform(uint64_t bits) { return (double)(bits >> 40) * 0x1p-24; }

static double normal(uint64_t bits) { /* Box and Muller */
    double u = ((double)(bits >> 32) + 0.5) * 0x1p-32, v = (double)(bits & 0xffffffffu) * 0x1p-32;
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static plim_status run_random(const plim__call *call) {
    const struct random *s = call->state;
    uint64_t key = plim__dropout_key(&s->place, call).key;
    int64_t sample = s->place.batch ? call->sample : 0;
    int threads = plim__loop_threads(s->place.count * 8);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t i = 0; i < s->place.count; i++) {
        uint64_t bits = plim__random_mix(key ^ (uint64_t)plim__dropout_number(&s->place, i, sample));
        double drawn = s->normal ? normal(bits) : uniform(bits);
        plim__scalar_set(s->dtype, call->out[0], i, (double)s->a + (double)s->b * drawn);
    }
    return PLIM_OK;
}

static plim_status run_bernoulli(const plim__call *call) {
    const struct random *s = call->state;
    uint64_t key = plim__dropout_key(&s->place, call).key;
    int64_t sample = s->place.batch ? call->sample : 0;
    int threads = plim__loop_threads(s->place.count * 8);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t i = 0; i < s->place.count; i++) {
        uint64_t bits = plim__random_mix(key ^ (uint64_t)plim__dropout_number(&s->place, i, sample));
        plim__scalar_set(s->dtype, call->out[0], i, uniform(bits) < plim__scalar_get(s->in, call->in[0], i));
    }
    return PLIM_OK;
}

/* Scores are logarithms of shares: the first class up to which the shares reach what was drawn. */
static int64_t choose(const struct random *s, const void *scores, int64_t row, double drawn) {
    double peak = -INFINITY, total = 0, reached = 0;
    for (int64_t c = 0; c < s->columns; c++) peak = fmax(peak, plim__scalar_get(s->in, scores, row * s->columns + c));
    for (int64_t c = 0; c < s->columns; c++) total += exp(plim__scalar_get(s->in, scores, row * s->columns + c) - peak);
    for (int64_t c = 0; c < s->columns; c++) {
        reached += exp(plim__scalar_get(s->in, scores, row * s->columns + c) - peak);
        if (drawn * total < reached) return c;
    }
    return s->columns - 1;
}

static plim_status run_multinomial(const plim__call *call) {
    const struct random *s = call->state;
    uint64_t key = plim__dropout_key(&s->place, call).key;
    int64_t sample = s->place.batch ? call->sample : 0, draws = s->place.after;
    for (int64_t i = 0; i < s->place.count; i++) {
        uint64_t bits = plim__random_mix(key ^ (uint64_t)(sample * draws + i));
        plim__scalar_set(s->dtype, call->out[0], i, (double)choose(s, call->in[0], i / draws, uniform(bits)));
    }
    return PLIM_OK;
}

/* Every node has numbers of its own: what it makes keeps its place among the values of a model. */
static plim_status make(plim__lower *l, struct random **state) {
    const plim__node *node = plim__lower_node(l);
    const plim__attribute *own = plim__node_attribute(node, "seed");
    struct random *s;
    plim_dtype in = plim__lower_has_input(l, 0) ? plim__lower_input_dtype(l, 0) : PLIM_F32;
    if (!plim__scalar_known(plim__lower_output_dtype(l, 0)) || !plim__scalar_known(in))
        PLIM_TRY(plim__lower_unsupported(l, "with this type"));
    PLIM_TRY(plim__lower_output(l, 0, NULL));
    PLIM_TRY(plim__lower_state(l, sizeof *s, &s));
    *s = (struct random){.place = plim__dropout_of(node, plim__shape_elements(plim__lower_output_shape(l, 0))),
                         .dtype = plim__lower_output_dtype(l, 0),
                         .in = in};
    s->place.seed = (uint64_t)plim__node_int(node, "plimsoll.seed", 0);
    if (own && own->type == PLIM__ATTRIBUTE_FLOAT) s->place.seed = plim__float_to_bits(own->f);
    s->place.counter = (UINT64_C(1) << 32) + (uint64_t)node->outputs.items[0];
    *state = s;
    return PLIM_OK;
}

plim_status plim__lower_random(plim__lower *l) {
    const plim__node *node = plim__lower_node(l);
    struct random *s;
    PLIM_TRY(make(l, &s));
    s->normal = node->op->name[6] == 'N'; /* RandomNormal, RandomNormalLike */
    float low = plim__node_float(node, "low", 0), high = plim__node_float(node, "high", 1);
    s->a = s->normal ? plim__node_float(node, "mean", 0) : low;
    s->b = s->normal ? plim__node_float(node, "scale", 1) : high - low;
    return plim__lower_emit(l, node->op->name, run_random, s, plim__free);
}

plim_status plim__lower_bernoulli(plim__lower *l) {
    struct random *s;
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(make(l, &s));
    return plim__lower_emit(l, "Bernoulli", run_bernoulli, s, plim__free);
}

plim_status plim__lower_multinomial(plim__lower *l) {
    struct random *s;
    PLIM_TRY(plim__lower_input(l, 0, PLIM__DENSE, NULL));
    PLIM_TRY(make(l, &s));
    s->columns = plim__lower_input_shape(l, 0)->dims[1];
    s->place.after = plim__lower_output_shape(l, 0)->dims[1]; /* draws of a sample */
    size_t given;
    s->place.batch = plim__node_ints(plim__lower_node(l), "samples", &given) != NULL;
    return plim__lower_emit(l, "Multinomial", run_multinomial, s, plim__free);
}
