#include "fit/stream.h"

#include <string.h>

#include "core/error.h"
#include "fit/workspace.h"
#include "report/events.h"

typedef struct maker {
    const plim__timeline *timeline;
    plim__requests *requests;
    plim__stream_facts *facts;
    const plim__stack *stack;
    size_t mark;      /* the next one */
    uint64_t key;     /* of the next work space */
    uint64_t work[2]; /* bytes to take and give back after the next births of a convolution, one each */
    int births;       /* ... that there were since it began */
    plim__memory_phase phase;
    bool multiplied[2]; /* the forward and the backward thread have their cuBLAS work space */
} maker;

static bool add(maker *m, plim__request_type type, uint64_t key, uint64_t bytes, uint32_t tick, uint32_t life) {
    plim__request request = {.key = key, .bytes = bytes, .tick = tick, .life = life, .type = (uint8_t)type};
    return plim__vec_push(&m->requests->list, request);
}

static bool add_transient(maker *m, uint64_t bytes, uint32_t tick) {
    if (!bytes) return true;
    if (bytes > m->facts->largest_work) m->facts->largest_work = bytes;
    uint64_t key = m->key++;
    return add(m, PLIM__REQUEST_ALLOC, key, bytes, tick, PLIM__NEVER) &&
           add(m, PLIM__REQUEST_FREE, key, bytes, tick, PLIM__NEVER);
}

/* Backward runs in a thread of its own, which has its own cuBLAS handle. */
static bool multiply(maker *m, uint32_t tick) {
    int thread = m->phase == PLIM__PHASE_BACKWARD;
    m->facts->gemm = true;
    if (!add_transient(m, m->stack->gemm_work, tick)) return false;
    if (m->multiplied[thread]) return true;
    m->multiplied[thread] = true;
    uint64_t bytes = plim__cublas_bytes(m->stack->capability);
    m->facts->cublas += bytes;
    return add(m, PLIM__REQUEST_ALLOC, m->key++, bytes, tick, PLIM__NEVER);
}

/* The input's gradient is made before the weight's; each pass takes its work space once its output is there. */
static void plan_work(maker *m, const plim__convolution *conv) {
    const plim__stack *stack = m->stack;
    uint64_t all = plim__conv_all_bytes(conv), weight = plim__conv_weight_bytes(conv, stack->capability);
    int at = 0;
    m->births = 0;
    m->work[0] = m->work[1] = 0;
    if (!conv->backward && stack->forward_work) m->work[0] = all;
    if (!conv->backward) return;
    if (conv->wants_input) m->work[at++] = stack->backward_work ? all : 0;
    if (conv->wants_weight) m->work[at] = stack->backward_work ? all : weight;
}

static bool begin_operator(maker *m, const char *text, uint32_t tick) {
    plim__convolution conv;
    m->births = 2;
    if (strncmp(text, "gemm", 4) == 0) return multiply(m, tick);
    if (!plim__convolution_read(text, &conv)) return true;
    m->facts->convolution = true;
    plan_work(m, &conv);
    return true;
}

/* Marks that stand at or before a tick. */
static bool take_marks(maker *m, uint32_t tick) {
    bool fine = true;
    for (; fine && m->mark < m->timeline->marks.count && m->timeline->marks.items[m->mark].tick <= tick; m->mark++) {
        const plim__timeline_mark *mark = &m->timeline->marks.items[m->mark];
        if (mark->type == PLIM__MARK_STEP) m->facts->steps++;
        if (mark->type == PLIM__MARK_PHASE) m->phase = (plim__memory_phase)mark->value;
        if (mark->type == PLIM__MARK_OPERATOR && m->stack->capability)
            fine = begin_operator(m, plim__timeline_get(m->timeline, mark->text), mark->tick);
    }
    return fine;
}

static bool take_event(maker *m, uint32_t life, bool death) {
    const plim__timeline_life *l = &m->timeline->lives.items[life];
    uint32_t tick = death ? l->died : l->born;
    if (!take_marks(m, tick)) return false;
    if (!add(m, death ? PLIM__REQUEST_FREE : PLIM__REQUEST_ALLOC, (uint64_t)life + 1, l->bytes, tick, life))
        return false;
    if (death || m->births >= 2) return true;
    return add_transient(m, m->work[m->births++], tick);
}

plim_status plim__stream_make(const plim__timeline *timeline, const plim__stack *stack, plim__requests *requests,
                              plim__stream_facts *facts, plim_error *error) {
    *facts = (plim__stream_facts){0};
    maker m = {.timeline = timeline,
               .requests = requests,
               .facts = facts,
               .stack = stack,
               .births = 2,
               .key = (uint64_t)timeline->lives.count + 2};
    plim__events events;
    PLIM_TRY(plim__events_open(&events, timeline, error));
    uint32_t life;
    bool death, fine = true;
    while (fine && plim__events_next(&events, &life, &death)) fine = take_event(&m, life, death);
    plim__events_free(&events);
    return fine ? PLIM_OK : plim__fail_memory(error, "a predicted step", timeline->lives.count);
}
