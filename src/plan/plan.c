/* Making a plan: lives, sharing in place, packing. */
#include "plan/plan.h"

#include <string.h>

#include "core/error.h"
#include "plan/ahead.h"
#include "plimsoll/pack.h"

/* Planning comes before the arena, and takes no more than it: packing remembers as many bytes as a quarter of what it packs. */
#define MOST_PACK_BYTES  ((size_t)1 << 20)
#define LEAST_PACK_BYTES ((size_t)256 << 10)

static size_t pack_bytes(const plim__plan *plan) {
    size_t quarter = (plan->lower_bound_bytes - plan->persistent_bytes) / 4;
    return quarter < LEAST_PACK_BYTES ? LEAST_PACK_BYTES : quarter > MOST_PACK_BYTES ? MOST_PACK_BYTES : quarter;
}

static int64_t aligned(size_t bytes) {
    return (int64_t)((bytes + PLIM__ALIGNMENT - 1) / PLIM__ALIGNMENT * PLIM__ALIGNMENT);
}

static void touch(plim__plan *plan, int32_t buffer, int32_t step) {
    if (buffer < 0) return;
    plim__life *life = &plan->lives[plan->home[buffer]];
    if (step < life->born) life->born = step;
    if (step > life->died) life->died = step;
}

/* Inputs are there before the first step; outputs until after the last. */
static void find_lives(const plim__program *program, plim__plan *plan) {
    int32_t last = (int32_t)program->steps.count;
    for (size_t b = 0; b < plan->buffer_count; b++) plan->lives[b] = (plim__life){INT32_MAX, -1};
    for (size_t b = 0; b < plan->buffer_count; b++) {
        if (program->buffers.items[b].kind == PLIM__BUFFER_INPUT) touch(plan, (int32_t)b, 0);
        if (program->buffers.items[b].output) touch(plan, (int32_t)b, last);
    }
    for (int32_t s = 0; s < last; s++) {
        const plim__step *step = &program->steps.items[s];
        for (int32_t i = 0; i < step->in_count + step->out_count; i++) touch(plan, step->operands[i].buffer, s);
        touch(plan, step->scratch, s);
    }
}

/* A step may write its output over an input that dies there: if the input's memory is large enough, belongs
 * to an activation, starts at offset 0, and no other operand of the step lies in it. */
static bool may_share(const plim__program *program, const plim__plan *plan, int32_t s) {
    const plim__step *step = &program->steps.items[s];
    if (step->inplace_in < 0) return false;
    plim__operand in = step->operands[step->inplace_in], out = step->operands[step->in_count + step->inplace_out];
    if (in.buffer < 0 || out.buffer < 0 || in.offset != 0) return false;
    int32_t home = plan->home[in.buffer];
    const plim__buffer *from = &program->buffers.items[home], *to = &program->buffers.items[out.buffer];
    if (from->kind != PLIM__BUFFER_ACTIVATION || to->persistent || to->bytes > from->bytes) return false;
    if (plan->lives[home].died != s || plan->lives[out.buffer].born != s || plan->home[out.buffer] != out.buffer)
        return false;
    for (int32_t i = 0; i < step->in_count; i++)
        if (i != step->inplace_in && step->operands[i].buffer >= 0 && plan->home[step->operands[i].buffer] == home)
            return false;
    return true;
}

static void share_in_place(const plim__program *program, plim__plan *plan) {
    for (int32_t s = 0; s < (int32_t)program->steps.count; s++) {
        if (!may_share(program, plan, s)) continue;
        const plim__step *step = &program->steps.items[s];
        int32_t home = plan->home[step->operands[step->inplace_in].buffer];
        int32_t out = step->operands[step->in_count + step->inplace_out].buffer;
        plan->home[out] = home;
        if (plan->lives[out].died > plan->lives[home].died) plan->lives[home].died = plan->lives[out].died;
        plan->lives[out] = (plim__life){INT32_MAX, -1};
    }
}

static plim_status find_lower_bound(const plim__program *program, plim__plan *plan, plim_error *error) {
    size_t steps = program->steps.count + 1;
    int64_t *change = plim__alloc_zero(steps + 1, sizeof *change);
    if (!change) return plim__fail_memory(error, "a plan", steps * sizeof *change);
    for (size_t b = 0; b < plan->buffer_count; b++) {
        if (program->buffers.items[b].persistent || plan->lives[b].died < 0) continue;
        change[plan->lives[b].born] += aligned(program->buffers.items[b].bytes);
        change[plan->lives[b].died + 1] -= aligned(program->buffers.items[b].bytes);
    }
    int64_t live = 0, most = 0;
    for (size_t s = 0; s < steps; s++) {
        live += change[s];
        if (live > most) {
            most = live;
            plan->peak_step = (int32_t)s;
        }
    }
    plim__free(change);
    plan->lower_bound_bytes = plan->persistent_bytes + (size_t)most;
    return PLIM_OK;
}

/* To the lowest that is found; with a capacity (0: none) to the first that fits it. */
static plim_status pack(const plim__program *program, const plim__plan_options *options, plim__plan *plan,
                        int64_t capacity, plim_error *error) {
    plim_pack_buffer *buffers = plim__alloc_zero(plan->buffer_count, sizeof *buffers);
    int64_t *offsets = plim__alloc_array(plan->buffer_count, sizeof *offsets);
    int32_t *which = plim__alloc_array(plan->buffer_count, sizeof *which);
    size_t count = 0;
    plim_status status = buffers && offsets && which
                             ? PLIM_OK
                             : plim__fail_memory(error, "packing", plan->buffer_count * sizeof *buffers);
    for (size_t b = 0; status == PLIM_OK && b < plan->buffer_count; b++) {
        if (program->buffers.items[b].persistent || plan->lives[b].died < 0) continue;
        which[count] = (int32_t)b;
        buffers[count++] = (plim_pack_buffer){.lower = plan->lives[b].born,
                                              .upper = (int64_t)plan->lives[b].died + 1,
                                              .size = aligned(program->buffers.items[b].bytes),
                                              .alignment = PLIM__ALIGNMENT};
    }
    plim_pack_result result = {0};
    /* work alone, no deadline: a plan must not depend on the clock */
    plim_pack_options limits = {.work = options->pack_work > 0 ? options->pack_work : 1000000000,
                                .memory = pack_bytes(plan),
                                .capacity = capacity};
    /* the first packing will do: searching for the lowest takes memory that the budget may not have */
    if (!capacity && options->useful_bytes && plan->lower_bound_bytes > options->useful_bytes)
        limits.capacity = INT64_MAX;
    if (status == PLIM_OK) status = plim_pack(buffers, count, &limits, offsets, &result, error);
    for (size_t i = 0; status == PLIM_OK && i < count; i++)
        plan->offsets[which[i]] = (int64_t)plan->persistent_bytes + offsets[i];
    plan->arena_bytes = plan->persistent_bytes + (size_t)result.height;
    plim__free(buffers);
    plim__free(offsets);
    plim__free(which);
    return status;
}

/* What is read ahead, or read longer, in as much memory as the plan takes without. Where nothing is packed so, lives stay as they
 * are, and grow where there is place. */
static plim_status pack_ahead(const plim__program *program, const plim__plan_options *options, plim__plan *plan,
                              plim_error *error) {
    static const double shares[] = {1, 0.96, 0.9};
    size_t count = plan->buffer_count, height = plan->arena_bytes - plan->persistent_bytes;
    int64_t *offsets = plim__alloc_array(count + 1, sizeof *offsets);
    plim__life *lives = plim__alloc_array(count + 1, sizeof *lives);
    plim_status status = offsets && lives ? PLIM_OK : plim__fail_memory(error, "a plan", count * sizeof *lives);
    if (status == PLIM_OK) memcpy(offsets, plan->offsets, count * sizeof *offsets);
    if (status == PLIM_OK) memcpy(lives, plan->lives, count * sizeof *lives);
    bool fits = false;
    for (size_t i = 0; status == PLIM_OK && !fits && i < sizeof shares / sizeof *shares; i++) {
        double most = (double)(plan->lower_bound_bytes - plan->persistent_bytes) * shares[i];
        status = plim__ahead_within(program, plan, (int64_t)most, error);
        if (status == PLIM_OK) status = pack(program, options, plan, (int64_t)height, error);
        fits = status == PLIM_OK && plan->arena_bytes <= plan->persistent_bytes + height;
        if (status == PLIM_OK && !fits) memcpy(plan->lives, lives, count * sizeof *lives);
    }
    if (status == PLIM_OK && !fits) memcpy(plan->offsets, offsets, count * sizeof *offsets);
    plan->arena_bytes = plan->persistent_bytes + height;
    plim__free(offsets);
    plim__free(lives);
    return status;
}

static void place_window(const plim__program *program, const plim__plan_options *options, plim__plan *plan) {
    bool any = false;
    for (size_t b = 0; b < plan->buffer_count; b++) any |= program->buffers.items[b].spilled;
    plan->window = !any ? -1 : options->shared ? options->shared->window : (int64_t)plan->persistent_bytes;
    if (any && !options->shared) plan->persistent_bytes += (size_t)aligned(plim__spill_window_bytes(program));
}

/* Offsets of persistent buffers: shared with another plan, or one after the other. */
static void place_persistent(const plim__program *program, const plim__plan_options *options, plim__plan *plan) {
    for (size_t b = 0; b < plan->buffer_count; b++) {
        plan->home[b] = (int32_t)b;
        plan->offsets[b] = -1;
    }
    for (size_t i = 0; options->shared && i < program->loads.count; i++) {
        const plim__load *load = &program->loads.items[i];
        if (load->shared >= 0) plan->offsets[load->buffer] = options->shared->offsets[load->shared];
    }
    plan->persistent_bytes = options->persistent_from;
    for (size_t b = 0; b < plan->buffer_count; b++) {
        const plim__buffer *buffer = &program->buffers.items[b];
        if (!buffer->persistent || buffer->spilled || plan->offsets[b] >= 0) continue;
        plan->offsets[b] = (int64_t)plan->persistent_bytes;
        plan->persistent_bytes += (size_t)aligned(buffer->bytes);
    }
    place_window(program, options, plan);
}

static plim_status make(const plim__program *program, const plim__plan_options *options, plim__plan *plan,
                        plim_error *error) {
    size_t count = plan->buffer_count = program->buffers.count;
    plan->offsets = plim__alloc_array(count, sizeof *plan->offsets);
    plan->home = plim__alloc_array(count, sizeof *plan->home);
    plan->lives = plim__alloc_array(count, sizeof *plan->lives);
    if (!plan->offsets || !plan->home || !plan->lives)
        return plim__fail_memory(error, "a plan", count * sizeof *plan->offsets);
    place_persistent(program, options, plan);
    find_lives(program, plan);
    share_in_place(program, plan);
    PLIM_TRY(find_lower_bound(program, plan, error));
    PLIM_TRY(pack(program, options, plan, 0, error));
    bool ahead = plim__ahead_any(program);
    if (ahead) PLIM_TRY(pack_ahead(program, options, plan, error));
    for (size_t b = 0; b < count; b++) {
        int32_t home = (int32_t)b;
        while (plan->home[home] != home) home = plan->home[home];
        plan->home[b] = home;
        plan->offsets[b] = plan->offsets[home];
    }
    return ahead ? plim__ahead_settle(program, plan, error) : PLIM_OK;
}

plim_status plim__plan_create(const plim__program *program, const plim__plan_options *options, plim__plan **plan,
                              plim_error *error) {
    static const plim__plan_options defaults;
    *plan = plim__alloc_zero(1, sizeof **plan);
    if (!*plan) return plim__fail_memory(error, "a plan", sizeof **plan);
    plim_status status = make(program, options ? options : &defaults, *plan, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim__plan_free(*plan);
    *plan = NULL;
    return status;
}

void plim__plan_free(plim__plan *plan) {
    if (!plan) return;
    plim__free(plan->offsets);
    plim__free(plan->home);
    plim__free(plan->lives);
    plim__free(plan->begins);
    plim__free(plan->ends);
    plim__free(plan);
}

bool plim__plan_is_valid(const plim__plan *plan, const plim__program *program, plim_error *error) {
    for (size_t a = 0; a < plan->buffer_count; a++) {
        if (plan->home[a] != (int32_t)a || plan->offsets[a] < 0) continue;
        const plim__buffer *x = &program->buffers.items[a];
        if (plan->offsets[a] + aligned(x->bytes) > (int64_t)plan->arena_bytes)
            return plim__fail(error, PLIM_INTERNAL, "buffer %zu leaves the arena", a), false;
        for (size_t b = a + 1; b < plan->buffer_count; b++) {
            if (plan->home[b] != (int32_t)b || plan->offsets[b] < 0) continue;
            const plim__buffer *y = &program->buffers.items[b];
            bool together = x->persistent || y->persistent ||
                            (plan->lives[a].born <= plan->lives[b].died && plan->lives[b].born <= plan->lives[a].died);
            bool overlap = plan->offsets[a] < plan->offsets[b] + (int64_t)y->bytes &&
                           plan->offsets[b] < plan->offsets[a] + (int64_t)x->bytes;
            if (together && overlap)
                return plim__fail(error, PLIM_INTERNAL, "buffers %zu and %zu overlap", a, b), false;
        }
    }
    return true;
}
