/* Streaming weights: which, and the steps that fetch them. */
#include "program/stream.h"

#include "core/error.h"
#include "graph/packed.h"

struct work {
    plim__program *program;
    bool each;            /* a copy for each reader, not one for all */
    bool *streams;        /* of each buffer that was there before */
    plim__tensor **model; /* of each: what its model's file has instead of the spill file; NULL: nothing */
    int32_t *copies;      /* the newest copy of each; -1: none yet */
    size_t buffers;
    plim_error *error;
};

static plim_status no_memory(const struct work *w) { return plim__fail_memory(w->error, "a program", 1); }

/* --- which ---------------------------------------------------------------------------------------------------- */

static bool is_candidate(const plim__program *program, const plim__load *load) {
    const plim__buffer *buffer = &program->buffers.items[load->buffer];
    return load->tensor && buffer->kind == PLIM__BUFFER_WEIGHT && buffer->persistent && !buffer->output &&
           buffer->bytes >= PLIM__SPILL_SMALLEST;
}

/* Steps that would change a weight in memory. */
static void strike_written(struct work *w) {
    for (size_t s = 0; s < w->program->steps.count; s++) {
        const plim__step *step = &w->program->steps.items[s];
        for (int32_t k = 0; k < step->out_count; k++) {
            plim__operand operand = step->operands[step->in_count + k];
            bool may = k < 32 && (step->spill >> k & 1) && operand.offset == 0;
            if (operand.buffer >= 0 && !may) w->streams[operand.buffer] = false;
        }
    }
}

/* Frozen, float32, dense: the bytes that steps read. */
static bool is_as_in_file(const struct work *w, const plim__load *load) {
    return load->tensor && !load->in.run && plim__tensor_streams(load->tensor) &&
           load->tensor->bytes == w->program->buffers.items[load->buffer].bytes;
}

static void strike_changed(struct work *w) {
    for (size_t s = 0; s < w->program->steps.count; s++) {
        const plim__step *step = &w->program->steps.items[s];
        for (int32_t i = step->in_count; i < step->in_count + step->out_count; i++)
            if (step->operands[i].buffer >= 0) w->model[step->operands[i].buffer] = NULL;
    }
}

static void choose(struct work *w) {
    for (size_t i = 0; i < w->program->loads.count; i++) {
        const plim__load *load = &w->program->loads.items[i];
        if (is_candidate(w->program, load)) w->streams[load->buffer] = true;
        if (w->streams[load->buffer] && is_as_in_file(w, load)) w->model[load->buffer] = load->tensor;
    }
    strike_written(w);
    strike_changed(w);
}

static void choose_like(struct work *w, const plim__program *like) {
    for (size_t i = 0; i < w->program->loads.count; i++) {
        const plim__load *load = &w->program->loads.items[i];
        w->streams[load->buffer] = load->shared >= 0 && like->buffers.items[load->shared].streamed;
        for (size_t k = 0; w->streams[load->buffer] && k < like->loads.count; k++)
            if (like->loads.items[k].buffer == load->shared && like->buffers.items[load->shared].in_model)
                w->model[load->buffer] = like->loads.items[k].tensor;
    }
}

/* --- the steps ------------------------------------------------------------------------------------------------ */

static plim_status add_copy(struct work *w, int32_t weight) {
    const plim__buffer *of = &w->program->buffers.items[weight];
    plim__buffer copy = {.bytes = of->bytes, .kind = of->kind, .value = of->value};
    w->copies[weight] = (int32_t)w->program->buffers.count;
    return plim__vec_push(&w->program->buffers, copy) ? PLIM_OK : no_memory(w);
}

static void release_fetched(void *state) {
    if (state) plim__tensor_release(((plim__fetched *)state)->model);
    plim__free(state);
}

static plim_status add_fetch(struct work *w, int32_t weight, plim__phase phase) {
    PLIM_TRY(add_copy(w, weight));
    double bytes = (double)w->program->buffers.items[weight].bytes;
    plim__fetched *state = plim__alloc_zero(1, sizeof *state);
    plim__step fetch = {.pieces = w->program->target.device->fetch,
                        .state = state,
                        .release = release_fetched,
                        .node = -1,
                        .label = "fetch",
                        .operands = plim__alloc_array(2, sizeof *fetch.operands),
                        .in_count = 1,
                        .out_count = 1,
                        .scratch = -1,
                        .inplace_in = -1,
                        .inplace_out = -1,
                        .phase = phase,
                        .cost = {.bytes = bytes, .read = bytes}};
    if (!state || !fetch.operands || !plim__vec_push(&w->program->steps, fetch)) {
        plim__free(state);
        plim__free(fetch.operands);
        return no_memory(w);
    }
    state->bytes = w->program->buffers.items[weight].bytes;
    if (w->model[weight]) state->model = plim__tensor_retain(w->model[weight]);
    fetch.operands[0] = (plim__operand){weight, 0};
    fetch.operands[1] = (plim__operand){w->copies[weight], 0};
    return PLIM_OK;
}

/* The step reads copies, which are fetched before it unless they are there. */
static plim_status add_reader(struct work *w, plim__step step) {
    for (int32_t i = 0; i < step.in_count; i++) {
        int32_t b = step.operands[i].buffer;
        if (b < 0 || (size_t)b >= w->buffers || !w->streams[b]) continue;
        if (w->copies[b] < 0) PLIM_TRY(add_fetch(w, b, step.phase));
        step.operands[i].buffer = w->copies[b];
    }
    for (size_t b = 0; w->each && b < w->buffers; b++) w->copies[b] = -1;
    return plim__vec_push(&w->program->steps, step) ? PLIM_OK : no_memory(w);
}

/* Moves all steps to a new list, with fetches in between. Steps that could not be moved are freed with the program too. */
static plim_status rewrite(struct work *w) {
    plim__program *program = w->program;
    struct {
        plim__step *items;
        size_t count;
    } old = {program->steps.items, program->steps.count};
    program->steps.items = NULL;
    program->steps.count = program->steps.capacity = 0;
    plim_status status = PLIM_OK;
    size_t moved = 0;
    for (; moved < old.count && status == PLIM_OK; moved++) status = add_reader(w, old.items[moved]);
    if (status != PLIM_OK) moved--; /* that one is still the list's */
    for (size_t s = moved; s < old.count; s++) {
        if (old.items[s].release) old.items[s].release(old.items[s].state);
        plim__free(old.items[s].operands);
    }
    plim__free(old.items);
    return status;
}

static plim_status stream(struct work *w, const plim__program *like) {
    size_t count = w->buffers = w->program->buffers.count;
    bool any = false;
    w->streams = plim__alloc_zero(count + 1, sizeof *w->streams);
    w->model = plim__alloc_zero(count + 1, sizeof(plim__tensor *));
    w->copies = plim__alloc_array(count + 1, sizeof *w->copies);
    if (!w->streams || !w->model || !w->copies) return no_memory(w);
    if (like)
        choose_like(w, like);
    else
        choose(w);
    for (size_t b = 0; b < count; b++) {
        w->copies[b] = -1;
        w->program->buffers.items[b].streamed = w->streams[b];
        w->program->buffers.items[b].in_model = w->streams[b] && w->model[b];
        any |= w->streams[b];
    }
    return any ? rewrite(w) : PLIM_OK;
}

static plim_status run(struct work *w, const plim__program *like) {
    const plim__device *device = w->program->target.device;
    if (!device->fetch) return PLIM_OK;
    if (w->program->room_bytes < device->fetch_room) w->program->room_bytes = device->fetch_room;
    plim_status status = stream(w, like);
    plim__free(w->streams);
    plim__free(w->model);
    plim__free(w->copies);
    return status;
}

plim_status plim__program_stream(plim__program *program, const plim__program *like, plim_error *error) {
    return run(&(struct work){.program = program, .error = error}, like);
}

plim_status plim__program_stream_each(plim__program *program, const plim__program *like, plim_error *error) {
    return run(&(struct work){.program = program, .each = true, .error = error}, like);
}
