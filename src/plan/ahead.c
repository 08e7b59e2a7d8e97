/* Longer lives for copies that are read ahead, and for gradients whose updates end later. */
#include "plan/ahead.h"

#include "core/error.h"

/* How many products a step may be moved over: in rounds, one for each step, so that none takes the memory of all others. */
#define ROUNDS 16

struct mover {
    int32_t step;
    int32_t home;  /* the buffer whose life grows */
    int32_t limit; /* the last step that it may grow to */
    bool later;    /* grows forward: an update */
    bool stuck;
};

struct ahead {
    const plim__program *program;
    plim__plan *plan;
    PLIM_VEC(struct mover) movers;
    int64_t *live; /* transient bytes at each step; NULL: offsets decide */
    int64_t most;
};

bool plim__ahead_any(const plim__program *program) {
    for (size_t s = 0; s < program->steps.count; s++)
        if (plim__step_in_pieces(program, &program->steps.items[s])) return true;
    return false;
}

static int64_t bytes_of(const struct ahead *a, int32_t buffer) {
    size_t bytes = a->program->buffers.items[buffer].bytes;
    return (int64_t)((bytes + PLIM__ALIGNMENT - 1) / PLIM__ALIGNMENT * PLIM__ALIGNMENT);
}

static int32_t home_of(const plim__plan *plan, int32_t buffer) {
    while (plan->home[buffer] != buffer) buffer = plan->home[buffer];
    return buffer;
}

/* --- which steps ---------------------------------------------------------------------------------------------------- */

/* The last step before anything else is written to this memory. */
static int32_t written_after(const struct ahead *a, int32_t step, int32_t home) {
    int32_t count = (int32_t)a->program->steps.count;
    for (int32_t s = step + 1; s < count; s++) {
        const plim__step *other = &a->program->steps.items[s];
        for (int32_t i = other->in_count; i < other->in_count + other->out_count; i++)
            if (other->operands[i].buffer >= 0 && home_of(a->plan, other->operands[i].buffer) == home) return s - 1;
    }
    return count - 1;
}

static plim_status add_mover(struct ahead *a, int32_t s, plim_error *error) {
    const plim__step *step = &a->program->steps.items[s];
    int32_t held = step->pieces->held, buffer = step->operands[held >= 0 ? held : step->in_count].buffer;
    if (buffer < 0) return PLIM_OK;
    struct mover m = {.step = s, .home = home_of(a->plan, buffer), .later = held >= 0};
    m.limit = m.later ? written_after(a, s, m.home) : 0;
    /* a copy that shares its memory with what was there before has no place of its own earlier */
    if (!m.later && m.home != buffer) return PLIM_OK;
    return plim__vec_push(&a->movers, m) ? PLIM_OK : plim__fail_memory(error, "a plan", sizeof m);
}

static plim_status find_movers(struct ahead *a, plim_error *error) {
    for (size_t s = 0; s < a->program->steps.count; s++)
        if (plim__step_in_pieces(a->program, &a->program->steps.items[s])) PLIM_TRY(add_mover(a, (int32_t)s, error));
    return PLIM_OK;
}

/* --- how far --------------------------------------------------------------------------------------------------------- */

/* The end of the product before, or of the one behind. */
static int32_t next_product(const struct ahead *a, const struct mover *m) {
    const plim__life *life = &a->plan->lives[m->home];
    int32_t s = m->later ? life->died + 1 : life->born - 1;
    while (s != m->limit && (m->later ? s < m->limit : s > m->limit) && !a->program->steps.items[s].product)
        s += m->later ? 1 : -1;
    return s;
}

/* Grows step by step while the sum allows it. */
static void grow_by_sum(struct ahead *a, struct mover *m, int32_t to) {
    plim__life *life = &a->plan->lives[m->home];
    int64_t bytes = bytes_of(a, m->home);
    int32_t *end = m->later ? &life->died : &life->born, by = m->later ? 1 : -1;
    while (*end != to && a->live[*end + by] + bytes <= a->most) {
        *end += by;
        a->live[*end] += bytes;
    }
    m->stuck = *end != to;
}

/* Grows up to what lies in the same place. */
static void grow_by_place(const struct ahead *a, struct mover *m, int32_t to) {
    const plim__plan *plan = a->plan;
    plim__life *life = &plan->lives[m->home];
    int64_t from = plan->offsets[m->home], end = from + bytes_of(a, m->home);
    int32_t far = to;
    for (int32_t b = 0; b < (int32_t)plan->buffer_count; b++) {
        const plim__life *other = &plan->lives[b];
        if (b == m->home || plan->home[b] != b || a->program->buffers.items[b].persistent ||
            other->died < other->born || plan->offsets[b] >= end || plan->offsets[b] + bytes_of(a, b) <= from)
            continue;
        if (m->later && other->born > life->died && other->born - 1 < far) far = other->born - 1;
        if (!m->later && other->died < life->born && other->died + 1 > far) far = other->died + 1;
    }
    if (m->later && far > life->died) life->died = far;
    if (!m->later && far < life->born) life->born = far;
    m->stuck = far != to;
}

static void grow_all(struct ahead *a) {
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < a->movers.count; i++) {
            struct mover *m = &a->movers.items[i];
            const plim__life *life = &a->plan->lives[m->home];
            if (a->program->buffers.items[m->home].persistent) continue; /* it is there all the time */
            m->stuck |= m->later ? life->died >= m->limit : life->born <= m->limit;
            if (m->stuck) continue;
            int32_t to = next_product(a, m);
            if (a->live)
                grow_by_sum(a, m, to);
            else
                grow_by_place(a, m, to);
        }
    }
}

static plim_status sum_up(struct ahead *a, plim_error *error) {
    size_t steps = a->program->steps.count + 1;
    a->live = plim__alloc_zero(steps + 1, sizeof *a->live);
    if (!a->live) return plim__fail_memory(error, "a plan", steps * sizeof *a->live);
    for (int32_t b = 0; b < (int32_t)a->plan->buffer_count; b++) {
        const plim__life *life = &a->plan->lives[b];
        if (a->program->buffers.items[b].persistent) continue;
        for (int32_t s = life->born; s <= life->died; s++) a->live[s] += bytes_of(a, b);
    }
    return PLIM_OK;
}

plim_status plim__ahead_within(const plim__program *program, plim__plan *plan, int64_t most, plim_error *error) {
    struct ahead a = {.program = program, .plan = plan, .most = most};
    plim_status status = find_movers(&a, error);
    if (status == PLIM_OK) status = sum_up(&a, error);
    if (status == PLIM_OK) grow_all(&a);
    plim__free(a.live);
    plim__vec_free(&a.movers);
    return status;
}

static plim_status put_down(struct ahead *a, plim_error *error) {
    plim__plan *plan = a->plan;
    size_t steps = a->program->steps.count;
    plan->begins = plim__alloc_array(steps + 1, sizeof *plan->begins);
    plan->ends = plim__alloc_array(steps + 1, sizeof *plan->ends);
    if (!plan->begins || !plan->ends) return plim__fail_memory(error, "a plan", steps * sizeof *plan->begins);
    for (size_t s = 0; s < steps; s++) plan->begins[s] = plan->ends[s] = (int32_t)s;
    for (size_t i = 0; i < a->movers.count; i++) {
        const struct mover *m = &a->movers.items[i];
        const plim__buffer *buffer = &a->program->buffers.items[m->home];
        const plim__life *life = &plan->lives[m->home];
        if (m->later)
            plan->ends[m->step] = buffer->persistent || life->died > m->limit ? m->limit : life->died;
        else
            plan->begins[m->step] = life->born;
    }
    return PLIM_OK;
}

plim_status plim__ahead_settle(const plim__program *program, plim__plan *plan, plim_error *error) {
    struct ahead a = {.program = program, .plan = plan};
    plim_status status = find_movers(&a, error);
    if (status == PLIM_OK) grow_all(&a);
    if (status == PLIM_OK) status = put_down(&a, error);
    plim__vec_free(&a.movers);
    return status;
}
