/* Choosing tokens. The whole window is run for every token: what a plan of fixed sizes can do without memory of its own. */
#include "plimsoll/generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/arguments.h"
#include "core/random.h"
#include "graph/graph.h"

#define STREAM 0x67656e

typedef struct scored {
    int64_t token;
    double probability; /* first its score */
} scored;

typedef struct work {
    plim_session *session;
    const char *input, *output;
    int64_t positions, vocabulary;
    int64_t *window; /* the session's input */
    scored *order;
    int64_t kept; /* of order */
    const int64_t *prompt;
    size_t prompt_count;
    int64_t *tokens; /* made so far */
    size_t made;
} work;

static plim_status prepare(work *w, plim_error *error) {
    const plim_graph *g = plim_session_graph(w->session);
    if (g->inputs.count != 1 || g->outputs.count < 1)
        return plim__fail(error, PLIM_UNSUPPORTED, "the model has %zu inputs; a language model has one, its tokens",
                          g->inputs.count);
    const plim__value *in = &g->values.items[g->inputs.items[0]], *out = &g->values.items[g->outputs.items[0]];
    if (in->dtype != PLIM_I64 || in->shape.rank != 2 || out->dtype != PLIM_F32 || out->shape.rank != 3 ||
        out->shape.dims[1] != in->shape.dims[1])
        return plim__fail(error, PLIM_UNSUPPORTED,
                          "'%s' is not a language model's input of tokens with scores of the next one as '%s'",
                          in->name, out->name);
    w->input = in->name;
    w->output = out->name;
    w->positions = in->shape.dims[1];
    w->vocabulary = out->shape.dims[2];
    w->window = plim_session_input(w->session, w->input);
    if (!w->window) return plim__fail(error, PLIM_INVALID, "the model does not read its tokens");
    w->order = plim__alloc_array((size_t)w->vocabulary, sizeof *w->order);
    return w->order ? PLIM_OK
                    : plim__fail_memory(error, "probabilities of tokens", (size_t)w->vocabulary * sizeof *w->order);
}

static int by_probability(const void *a, const void *b) {
    const scored *x = a, *y = b;
    if (x->probability != y->probability) return x->probability > y->probability ? -1 : 1;
    return (x->token > y->token) - (x->token < y->token);
}

static plim_status rank(work *w, const float *scores, const plim_generate_options *o, plim_error *error) {
    double heat = o->temperature > 0 ? o->temperature : 1, sum = 0;
    for (int64_t i = 0; i < w->vocabulary; i++) {
        if (!isfinite(scores[i]))
            return plim__fail(error, PLIM_NUMERIC, "the score of token %lld is not finite", (long long)i);
        w->order[i] = (scored){i, (double)scores[i] / heat};
    }
    qsort(w->order, (size_t)w->vocabulary, sizeof *w->order, by_probability);
    w->kept = o->top_k > 0 && o->top_k < w->vocabulary ? o->top_k : w->vocabulary;
    double most = w->order[0].probability;
    for (int64_t i = 0; i < w->kept; i++) sum += w->order[i].probability = exp(w->order[i].probability - most);
    for (int64_t i = 0; i < w->kept; i++) w->order[i].probability /= sum;
    return PLIM_OK;
}

static scored choose(work *w, const plim_generate_options *o, int64_t number) {
    double top = o->top_p > 0 ? o->top_p : 1, sum = 0, reached = 0;
    if (!(o->temperature > 0)) return w->order[0];
    int64_t stay = 0;
    while (stay < w->kept && (stay == 0 || sum < top)) sum += w->order[stay++].probability;
    double u = (double)(plim__random_bits(o->seed, STREAM, (uint64_t)number) >> 11) * 0x1p-53;
    for (int64_t i = 0; i < stay; i++)
        if ((reached += w->order[i].probability) > u * sum) return w->order[i];
    return w->order[stay - 1];
}

/* The last tokens of prompt and result, as many as there are positions; how many that is. */
static int64_t fill_window(const work *w) {
    int64_t given = (int64_t)w->prompt_count, all = given + (int64_t)w->made,
            length = all < w->positions ? all : w->positions;
    for (int64_t i = 0; i < length; i++) {
        int64_t at = all - length + i;
        w->window[i] = at < given ? w->prompt[at] : w->tokens[at - given];
    }
    memset(w->window + length, 0, (size_t)(w->positions - length) * sizeof *w->window);
    return length;
}

static plim_status check(const work *w, const plim_generate_options *o, plim_error *error) {
    const int64_t *prompt = w->prompt;
    if (w->prompt_count < 1) return plim__fail(error, PLIM_INVALID, "a prompt has at least one token");
    for (size_t i = 0; i < w->prompt_count; i++)
        if (prompt[i] < 0 || prompt[i] >= w->vocabulary)
            return plim__fail(error, PLIM_INVALID, "token %lld of the prompt is outside the model's vocabulary of %lld",
                              (long long)prompt[i], (long long)w->vocabulary);
    if (o->count < 0 || o->top_k < 0 || !(o->temperature >= 0) || !(o->top_p >= 0 && o->top_p <= 1))
        return plim__fail(error, PLIM_INVALID, "count, temperature and top_k are not negative, top_p lies from 0 to 1");
    return PLIM_OK;
}

static plim_status generate(work *w, const plim_generate_options *o, plim_error *error) {
    PLIM_TRY(prepare(w, error));
    PLIM_TRY(check(w, o, error));
    for (bool ends = false; !ends && w->made < (size_t)o->count;) {
        int64_t length = fill_window(w);
        PLIM_TRY(plim_session_run(w->session, error));
        const float *scores = plim_session_output(w->session, w->output);
        PLIM_TRY(rank(w, scores + (length - 1) * w->vocabulary, o, error));
        scored next = choose(w, o, (int64_t)w->made);
        w->tokens[w->made++] = next.token;
        ends = (o->on_token && o->on_token(o->context, next.token, next.probability) != 0) ||
               (o->has_stop && next.token == o->stop);
    }
    return PLIM_OK;
}

plim_status plim_generate(plim_session *session, const plim_generate_options *options, int64_t *tokens, size_t *made,
                          plim_error *error) {
    plim_generate_options o;
    if (made) *made = 0;
    PLIM__NEED(session, error);
    PLIM__NEED(options, error);
    PLIM__NEED(tokens, error);
    PLIM__OPTIONS(plim_generate_options, o, options, error);
    if (!o.prompt) return plim__fail(error, PLIM_INVALID, "%s: options->prompt is NULL", __func__);
    work w = {.session = session, .prompt = o.prompt, .prompt_count = o.prompt_count, .tokens = tokens};
    plim_status status = generate(&w, &o, error);
    if (made) *made = w.made;
    plim__free(w.order);
    return status;
}
