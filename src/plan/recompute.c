/* The frontier of memory and time: searched from several orders, downwards by dropping and upwards by restoring. */
#include "plan/recompute.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "plan/order.h"
#include "plan/search.h"

#define STEP_DOWN      0.93  /* from one target to the next */
#define LONG_STEP      0.8   /* where only the lowest is of interest */
#define FLOOR_TRIES    3     /* how often the lowest point is tried to be lowered further */
#define SMALL_STEPS    64    /* programs up to this size are searched exactly ... */
#define STATES         20000 /* ... as far as this many states go for one target, */
#define STATES_OF_MANY 1500  /* ... and for each point of a whole frontier */
#define IMPROVEMENTS   2000  /* rounds times steps, at each point */
#define LEAST_SECONDS  1e-9  /* of a step: keeps scores finite */

/* --- the frontier ----------------------------------------------------------------------------------------------- */

/* Adds a schedule unless one that needs no more costs no more; drops those that are worse than it. */
static plim_status add_point(plim__frontier *f, const plim__draft *draft, int64_t peak, double extra,
                             plim_error *error) {
    size_t at = 0, end;
    while (at < f->points.count && f->points.items[at].peak_bytes > peak) at++;
    /* points before `at` need more, those from `at` on need no more */
    if (at < f->points.count && f->points.items[at].extra_seconds <= extra) return PLIM_OK;
    plim__frontier_point point = {.peak_bytes = peak, .extra_seconds = extra};
    PLIM_TRY(plim__schedule_copy(draft->steps, draft->count, &point.schedule, error));
    if (!plim__vec_reserve(&f->points, f->points.count + 1)) {
        plim__schedule_free(&point.schedule);
        return plim__fail_memory(error, "a frontier", sizeof point);
    }
    size_t begin = at;
    while (begin > 0 && f->points.items[begin - 1].extra_seconds >= extra) begin--;
    end = at < f->points.count && f->points.items[at].peak_bytes == peak ? at + 1 : at;
    for (size_t i = begin; i < end; i++) plim__schedule_free(&f->points.items[i].schedule);
    memmove(f->points.items + begin + 1, f->points.items + end, (f->points.count - end) * sizeof point);
    f->points.count = f->points.count - (end - begin) + 1;
    f->points.items[begin] = point;
    return PLIM_OK;
}

static void free_points(plim__frontier *f) {
    for (size_t i = 0; i < f->points.count; i++) plim__schedule_free(&f->points.items[i].schedule);
    plim__vec_free(&f->points);
}

void plim__frontier_free(plim__frontier *frontier) {
    if (!frontier) return;
    free_points(frontier);
    plim__free(frontier);
}

const plim__frontier_point *plim__frontier_find(const plim__frontier *frontier, int64_t bytes) {
    for (size_t i = 0; i < frontier->points.count; i++)
        if (frontier->points.items[i].peak_bytes <= bytes) return &frontier->points.items[i];
    return NULL;
}

/* --- searching -------------------------------------------------------------------------------------------------- */

struct explorer {
    plim__search *search;
    plim__frontier *frontier;
    double base; /* seconds of all steps, once each */
    int rounds;
    bool direct;  /* to the lowest target, in long steps */
    int64_t work; /* of each search */
    plim_error *error;
};

static plim_status record(struct explorer *x) {
    plim__search *s = x->search;
    int64_t peak = plim__meter_run(s->meter, s->now.steps, s->now.count);
    double extra = s->now.count == s->depend->step_count ? 0 : fmax(0, plim__search_cost(s, &s->now) - x->base);
    return add_point(x->frontier, &s->now, peak, extra, x->error);
}

static int64_t peak_now(struct explorer *x) {
    return plim__meter_run(x->search->meter, x->search->now.steps, x->search->now.count);
}

static void start_from(struct explorer *x, const plim__schedule *schedule) {
    plim__draft from = {schedule->steps, schedule->count};
    plim__draft_set(&x->search->now, &from);
}

/* To one target from where it stands; false when it is not reached. */
static plim_status reach(struct explorer *x, int64_t target, bool *reached) {
    *reached = plim__search_drop(x->search, target);
    int64_t limit = *reached ? target : peak_now(x);
    plim__search_restore(x->search, limit);
    PLIM_TRY(record(x));
    plim__search_improve(x->search, limit, x->rounds);
    return record(x);
}

/* From an order down to where it gets no further. */
static plim_status descend(struct explorer *x, const plim__schedule *order, int64_t least) {
    start_from(x, order);
    PLIM_TRY(record(x));
    int64_t target = peak_now(x);
    for (bool reached = true; reached && target > least;) {
        target = (int64_t)((double)target * (x->direct ? LONG_STEP : STEP_DOWN));
        if (target < least) target = least;
        PLIM_TRY(reach(x, target, &reached));
    }
    for (int tries = 0; tries < FLOOR_TRIES && target > least; tries++) {
        bool reached;
        int64_t lowest = peak_now(x);
        target = (int64_t)((double)lowest * 0.98);
        plim__search_improve(x->search, target, x->rounds);
        PLIM_TRY(reach(x, target, &reached));
        if (peak_now(x) >= lowest) break;
    }
    return PLIM_OK;
}

/* From the lowest point up: what each next target leaves room for is taken back. */
static plim_status ascend(struct explorer *x) {
    size_t count = x->frontier->points.count;
    if (count == 0) return PLIM_OK;
    int64_t target = x->frontier->points.items[count - 1].peak_bytes, most = x->frontier->points.items[0].peak_bytes;
    start_from(x, &x->frontier->points.items[count - 1].schedule);
    while (target < most && x->search->work > 0) {
        target = (int64_t)((double)target / STEP_DOWN) + 1;
        plim__search_restore(x->search, target);
        PLIM_TRY(record(x));
    }
    return PLIM_OK;
}

/* Small programs: the optimum for one target, where it can be had. */
static plim_status solve(struct explorer *x, const plim__schedule *order, int64_t target, size_t states) {
    const plim__frontier_point *known = plim__frontier_find(x->frontier, target);
    bool found;
    double limit = known ? known->extra_seconds : INFINITY;
    if (limit <= 0) return PLIM_OK;
    plim__exact_goal goal = {target, limit, states};
    PLIM_TRY(plim__search_exact(x->search, order, &goal, &found, x->error));
    return found ? record(x) : PLIM_OK;
}

/* The optimum for the target, or for the peaks on the frontier and one below it. */
static plim_status solve_all(struct explorer *x, const plim__schedule *order, int64_t target) {
    if (order->count > SMALL_STEPS || x->frontier->points.count == 0) return PLIM_OK;
    if (target > 0) return solve(x, order, target, STATES);
    int64_t most = x->frontier->points.items[0].peak_bytes;
    for (int k = 0; k < 12; k++) {
        int64_t least = x->frontier->points.items[x->frontier->points.count - 1].peak_bytes;
        PLIM_TRY(solve(x, order, k < 2 ? least - 1 : least + (most - least) * (k - 2) / 10, STATES_OF_MANY));
    }
    return PLIM_OK;
}

/* One order, searched from by itself. */
struct side {
    struct explorer explorer;
    plim__frontier frontier;
    plim_error error;
    plim_status status;
};

static void explore_side(struct side *side, plim__order_kind kind, int64_t least) {
    struct explorer *x = &side->explorer;
    plim__schedule order = {0};
    plim__search_restart(x->search, x->work);
    side->status = plim__schedule_create(x->search->depend, &order, &side->error);
    if (side->status == PLIM_OK) side->status = plim__order(x->search->depend, kind, &order, &side->error);
    if (side->status == PLIM_OK) side->status = descend(x, &order, least);
    plim__schedule_free(&order);
}

static plim_status take_points(struct explorer *x, const struct side *side) {
    plim_status status = side->status;
    if (status != PLIM_OK && x->error) *x->error = side->error;
    for (size_t i = 0; status == PLIM_OK && i < side->frontier.points.count; i++) {
        const plim__frontier_point *point = &side->frontier.points.items[i];
        plim__draft draft = {point->schedule.steps, point->schedule.count};
        status = add_point(x->frontier, &draft, point->peak_bytes, point->extra_seconds, x->error);
    }
    return status;
}

static const plim__order_kind kinds[2] = {PLIM__ORDER_NEAR, PLIM__ORDER_LOWEST};

/* One order after the other, in the memory of one search. */
static plim_status explore_in_turn(struct explorer *x, int64_t least) {
    for (int i = 0; i < 2; i++) {
        struct side side = {.explorer = *x};
        side.explorer.error = &side.error;
        explore_side(&side, kinds[i], least);
        if (side.status != PLIM_OK && x->error) *x->error = side.error;
        PLIM_TRY(side.status);
    }
    return PLIM_OK;
}

/* Both orders at the same time: what is found does not depend on it. */
static plim_status explore_sides(struct explorer *x, int64_t least) {
    struct side sides[2] = {0};
    plim_status status = PLIM_OK;
    for (int i = 0; status == PLIM_OK && i < 2; i++) {
        sides[i].explorer = *x;
        sides[i].explorer.frontier = &sides[i].frontier;
        sides[i].explorer.error = &sides[i].error;
        sides[i].explorer.search = NULL;
        status = plim__search_create(x->search->depend, x->search->seconds, &sides[i].explorer.search, x->error);
    }
    if (status == PLIM_OK) {
#pragma omp parallel for num_threads(2) schedule(static, 1)
        for (int i = 0; i < 2; i++) explore_side(&sides[i], kinds[i], least);
    }
    for (int i = 0; i < 2; i++) {
        if (status == PLIM_OK) status = take_points(x, &sides[i]);
        free_points(&sides[i].frontier);
        plim__search_free(sides[i].explorer.search);
    }
    return status;
}

static plim_status explore(struct explorer *x, int64_t least, bool together) {
    const plim__depend *d = x->search->depend;
    plim__schedule order = {0};
    plim_status status = together ? explore_sides(x, least) : explore_in_turn(x, least);
    plim__search_restart(x->search, x->work);
    if (status == PLIM_OK) status = ascend(x);
    for (int kind = 0; status == PLIM_OK && kind < 2; kind++) {
        status = plim__schedule_create(d, &order, x->error);
        if (status == PLIM_OK && kind == 1) status = plim__order(d, PLIM__ORDER_NEAR, &order, x->error);
        if (status == PLIM_OK) status = solve_all(x, &order, least);
        plim__schedule_free(&order);
    }
    return status;
}

/* --- costs ------------------------------------------------------------------------------------------------------ */

/* Without measured seconds: 100 GFLOP/s and 10 GB/s. Only the proportions matter. */
static double estimate(const plim__program *program, size_t s) {
    const plim__step *step = &program->steps.items[s];
    double bytes = 0;
    for (int32_t i = 0; i < step->in_count + step->out_count; i++)
        if (step->operands[i].buffer >= 0) bytes += (double)program->buffers.items[step->operands[i].buffer].bytes;
    return step->cost.flops / 100e9 + bytes / 10e9 + step->cost.read / 1e9 + 1e-6;
}

static double *make_seconds(const plim__depend *d, const plim__recompute_options *options, plim_error *error) {
    double *seconds = plim__alloc_array(d->step_count + 1, sizeof *seconds);
    if (!seconds) plim__fail_memory(error, "the costs of steps", d->step_count * sizeof *seconds);
    for (size_t s = 0; seconds && s < d->step_count; s++) {
        seconds[s] = options->seconds ? options->seconds[s] : estimate(d->program, s);
        if (!(seconds[s] > LEAST_SECONDS)) seconds[s] = LEAST_SECONDS;
    }
    return seconds;
}

/* target: one of interest, or -1 for the whole frontier. */
static plim_status run(const plim__depend *depend, const plim__recompute_options *options, int64_t target,
                       plim__frontier *frontier, plim_error *error) {
    if (depend->step_count == 0) return PLIM_OK;
    double *seconds = make_seconds(depend, options, error);
    if (!seconds) return PLIM_NO_MEMORY;
    struct explorer x = {.frontier = frontier,
                         .error = error,
                         .rounds = options->effort,
                         .work = options->work ? options->work : PLIM__RECOMPUTE_WORK};
    x.direct = options->effort < 0 && options->least > 0;
    if (x.rounds == 0) x.rounds = (int)(IMPROVEMENTS / depend->step_count) + 1;
    if (x.rounds < 0) x.rounds = 0;
    if (x.rounds > 60 && options->effort == 0) x.rounds = 60;
    for (size_t s = 0; s < depend->step_count; s++) x.base += seconds[s];
    plim_status status = plim__search_create(depend, seconds, &x.search, error);
    bool together =
        options->threads > 1 && (options->memory == 0 || 2 * plim__search_bytes(depend->step_count) <= options->memory);
    if (status == PLIM_OK) status = explore(&x, target < 0 ? options->least : target, together);
    plim__search_free(x.search);
    plim__free(seconds);
    return status;
}

plim_status plim__frontier_create(const plim__depend *depend, const plim__recompute_options *options,
                                  plim__frontier **frontier, plim_error *error) {
    static const plim__recompute_options defaults;
    *frontier = plim__alloc_zero(1, sizeof **frontier);
    if (!*frontier) return plim__fail_memory(error, "a frontier", sizeof **frontier);
    plim_status status = run(depend, options ? options : &defaults, -1, *frontier, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim__frontier_free(*frontier);
    *frontier = NULL;
    return status;
}

plim_status plim__recompute(const plim__depend *depend, const plim__recompute_options *options, int64_t target,
                            plim__frontier_point *point, plim_error *error) {
    static const plim__recompute_options defaults;
    plim__frontier frontier = {0};
    *point = (plim__frontier_point){0};
    plim_status status = run(depend, options ? options : &defaults, target < 0 ? 0 : target, &frontier, error);
    if (status == PLIM_OK && frontier.points.count > 0) {
        const plim__frontier_point *found = plim__frontier_find(&frontier, target);
        if (!found) found = &frontier.points.items[frontier.points.count - 1];
        *point = *found;
        frontier.points.items[found - frontier.points.items].schedule = (plim__schedule){0};
    }
    free_points(&frontier);
    return status;
}
