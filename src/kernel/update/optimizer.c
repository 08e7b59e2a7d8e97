/* One step of Adagrad, Adam or Momentum as ONNX's training domain defines them.
 *
 *   in: rate r, step t, then n weights x, n gradients g, n of each state     out: n weights, n of each state
 *   all:       g' = norm_coefficient x + g
 *   Adagrad:   h' = h + g'²                           x' = x - r / (1 + t decay_factor) g' / (sqrt h' + epsilon)
 *   Momentum:  v' = alpha v + (t > 0 ? beta : 1) g'   x' = x - r v'      nesterov: x' = x - r (g' + alpha v')
 *   Adam:      v' = alpha v + (1 - alpha) g'          h' = beta h + (1 - beta) g'²
 *              x' = (1 - norm_coefficient_post) (x - r' v' / (sqrt h' + epsilon))
 *              r' = t > 0 ? r sqrt(1 - beta^t) / (1 - alpha^t) : r */
#include <math.h>
#include <string.h>

#include "core/scalar.h"
#include "kernel/copies.h"
#include "kernel/loops.h"
#include "kernel/lowers.h"

enum rule { ADAGRAD, ADAM, MOMENTUM, NESTEROV };

struct optimizer {
    enum rule rule;
    plim_dtype rate_type;
    double alpha, beta, epsilon, decay, norm, norm_post;
    int64_t tensors;
    struct {
        plim_dtype dtype;
        int64_t elements;
    } each[];
};

/* What is the same for all elements of a step. */
struct step {
    enum rule rule;
    double rate, alpha, beta, beta_gain, epsilon, norm, keep;
};

/* Of one tensor: weights, gradients and states, before and after. */
struct tensor {
    int64_t elements;
    const void *x, *g, *a, *b;
    void *x_new, *a_new, *b_new;
};

#define UPDATE(label, T)                                                                                               \
    static void label(const struct step *s, const struct tensor *t) {                                                  \
        const T *x = t->x, *g = t->g, *a = t->a, *b = t->b;                                                            \
        T *x_new = t->x_new, *a_new = t->a_new, *b_new = t->b_new;                                                     \
        int64_t n = t->elements;                                                                                       \
        T rate = (T)s->rate, alpha = (T)s->alpha, beta = (T)s->beta, gain = (T)s->beta_gain;                           \
        T epsilon = (T)s->epsilon, norm = (T)s->norm, keep = (T)s->keep;                                               \
        _Pragma("omp parallel for simd if (n > 32768)") for (int64_t i = 0; i < n; i++) {                              \
            T slope = norm * x[i] + g[i], value, first, second = 0;                                                    \
            if (s->rule == ADAGRAD) {                                                                                  \
                first = a[i] + slope * slope;                                                                          \
                value = x[i] - rate * slope / ((T)sqrt((double)first) + epsilon);                                      \
            } else if (s->rule == ADAM) {                                                                              \
                first = alpha * a[i] + (1 - alpha) * slope;                                                            \
                second = beta * b[i] + (1 - beta) * slope * slope;                                                     \
                value = keep * (x[i] - rate * first / ((T)sqrt((double)second) + epsilon));                            \
            } else {                                                                                                   \
                first = alpha * a[i] + gain * slope;                                                                   \
                value = x[i] - rate * (s->rule == NESTEROV ? slope + alpha * first : first);                           \
            }                                                                                                          \
            if (x_new) x_new[i] = value;                                                                               \
            if (a_new) a_new[i] = first;                                                                               \
            if (b_new) b_new[i] = second;                                                                              \
        }                                                                                                              \
    }
UPDATE(update_f32, float)
UPDATE(update_f64, double)

static struct step step_of(const struct optimizer *o, double rate, double t) {
    struct step s = {o->rule, rate, o->alpha, o->beta, t > 0 ? o->beta : 1, o->epsilon, o->norm, 1 - o->norm_post};
    if (o->rule == ADAGRAD) s.rate = rate / (1 + t * o->decay);
    if (o->rule == ADAM && t > 0) s.rate = rate * sqrt(1 - pow(o->beta, t)) / (1 - pow(o->alpha, t));
    return s;
}

static plim_status run_optimizer(const plim__call *call) {
    const struct optimizer *o = call->state;
    struct step s = step_of(o, plim__scalar_get(o->rate_type, call->in[0], 0), (double)*(const int64_t *)call->in[1]);
    void *const *in = call->in + 2, *const *out = call->out;
    int64_t n = o->tensors;
    bool two = o->rule == ADAM;
    for (int64_t i = 0; i < n; i++) {
        struct tensor t = {.elements = o->each[i].elements,
                           .x = in[i],
                           .g = in[n + i],
                           .a = in[2 * n + i],
                           .b = two ? in[3 * n + i] : NULL,
                           .x_new = out[i],
                           .a_new = out[n + i],
                           .b_new = two ? out[2 * n + i] : NULL};
        if (o->each[i].dtype == PLIM_F32)
            update_f32(&s, &t);
        else
            update_f64(&s, &t);
    }
    return PLIM_OK;
}

static plim_status lower_optimizer(plim__lower *l, enum rule rule) {
    const plim__node *node = plim__lower_node(l);
    size_t n = (node->inputs.count - 2) / ((size_t)node->op->min_in - 2);
    struct optimizer *o;
    for (size_t i = 0; i < n; i++)
        if (plim__lower_input_dtype(l, 2 + i) != PLIM_F32 && plim__lower_input_dtype(l, 2 + i) != PLIM_F64)
            return plim__lower_unsupported(l, "with another type than float32 and float64");
    for (size_t i = 0; i < node->inputs.count; i++) PLIM_TRY(plim__lower_input(l, i, PLIM__DENSE, NULL));
    for (size_t i = 0; i < node->outputs.count; i++) PLIM_TRY(plim__lower_output(l, i, NULL));
    PLIM_TRY(plim__lower_state(l, sizeof *o + n * sizeof *o->each, &o));
    o->rule = rule;
    o->rate_type = plim__lower_input_dtype(l, 0);
    o->alpha = (double)plim__node_float(node, "alpha", 0.9f);
    o->beta = (double)plim__node_float(node, "beta", 0.999f);
    o->epsilon = (double)plim__node_float(node, "epsilon", 1e-6f);
    o->decay = (double)plim__node_float(node, "decay_factor", 0);
    o->norm = (double)plim__node_float(node, "norm_coefficient", 0);
    o->norm_post = (double)plim__node_float(node, "norm_coefficient_post", 0);
    o->tensors = (int64_t)n;
    for (size_t i = 0; i < n; i++) {
        o->each[i].dtype = plim__lower_input_dtype(l, 2 + i);
        o->each[i].elements = plim__shape_elements(plim__lower_input_shape(l, 2 + i));
    }
    return plim__lower_emit(l, node->op->name, run_optimizer, o, plim__free);
}

plim_status plim__lower_adagrad(plim__lower *l) { return lower_optimizer(l, ADAGRAD); }
plim_status plim__lower_adam(plim__lower *l) { return lower_optimizer(l, ADAM); }
/* Only what src/grad left because nothing was to be expanded: a node that came into being later. */
plim_status plim__lower_gradient_operator(plim__lower *l) {
    return plim__lower_unsupported(l, "that was not expanded");
}
plim_status plim__lower_momentum(plim__lower *l) {
    const char *mode = plim__node_string(plim__lower_node(l), "mode", "standard");
    if (strcmp(mode, "nesterov") == 0) return lower_optimizer(l, NESTEROV);
    if (strcmp(mode, "standard") == 0) return lower_optimizer(l, MOMENTUM);
    return plim__lower_fail(l, PLIM_CORRUPT, "mode '%.40s' is neither standard nor nesterov", mode);
}
