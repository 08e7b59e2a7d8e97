/* Dependencies between steps, from their operands. */
#include "plan/depend.h"

#include <string.h>

#include "core/error.h"
#include "plan/plan.h"

static plim_status no_memory(plim_error *error) { return plim__fail_memory(error, "the order of steps", 0); }

/* --- lists ------------------------------------------------------------------------------------------------------ */

struct pair {
    int32_t of, item;
};
typedef PLIM_VEC(struct pair) pairs;

/* Sorts pairs into lists by counting; each list keeps the order of its pairs. */
static bool make_lists(plim__lists *lists, const pairs *from, size_t count) {
    lists->start = plim__alloc_zero(count + 2, sizeof *lists->start);
    lists->items = plim__alloc_array(from->count + 1, sizeof *lists->items);
    if (!lists->start || !lists->items) return false;
    for (size_t i = 0; i < from->count; i++) lists->start[from->items[i].of + 2]++;
    for (size_t i = 0; i < count; i++) lists->start[i + 2] += lists->start[i + 1];
    for (size_t i = 0; i < from->count; i++) lists->items[lists->start[from->items[i].of + 1]++] = from->items[i].item;
    return true;
}

static void free_lists(plim__lists *lists) {
    plim__free(lists->start);
    plim__free(lists->items);
}

/* --- operands --------------------------------------------------------------------------------------------------- */

static const plim__buffer *buffer_of(const plim__depend *d, int32_t b) { return &d->program->buffers.items[b]; }

static bool listed(const pairs *list, size_t from, int32_t item) {
    for (size_t i = from; i < list->count; i++)
        if (list->items[i].item == item) return true;
    return false;
}

static plim_status find_operands(plim__depend *d, plim_error *error) {
    pairs reads = {0}, makes = {0};
    bool ok = true;
    for (size_t s = 0; ok && s < d->step_count; s++) {
        const plim__step *step = &d->program->steps.items[s];
        size_t first_read = reads.count, first_made = makes.count;
        for (int32_t i = 0; ok && i < step->in_count + step->out_count; i++) {
            int32_t b = step->operands[i].buffer;
            if (b < 0 || buffer_of(d, b)->persistent) continue;
            pairs *list = i < step->in_count ? &reads : &makes;
            if (listed(list, i < step->in_count ? first_read : first_made, b)) continue;
            ok = plim__vec_push(list, ((struct pair){(int32_t)s, b}));
            if (i >= step->in_count) d->maker[b] = (int32_t)s;
        }
    }
    ok = ok && make_lists(&d->reads, &reads, d->step_count) && make_lists(&d->makes, &makes, d->step_count);
    plim__vec_free(&reads);
    plim__vec_free(&makes);
    return ok ? PLIM_OK : no_memory(error);
}

/* Where the output of a step may lie: what plim__plan_create examines that does not depend on the order. */
static void find_sharing(plim__depend *d, size_t s) {
    const plim__step *step = &d->program->steps.items[s];
    d->over[s] = d->onto[s] = -1;
    if (step->inplace_in < 0) return;
    plim__operand in = step->operands[step->inplace_in], out = step->operands[step->in_count + step->inplace_out];
    if (in.buffer < 0 || out.buffer < 0 || in.offset != 0) return;
    if (buffer_of(d, in.buffer)->persistent || buffer_of(d, out.buffer)->persistent) return;
    if (buffer_of(d, in.buffer)->kind != PLIM__BUFFER_ACTIVATION) return;
    for (int32_t i = 0; i < step->in_count; i++)
        if (i != step->inplace_in && step->operands[i].buffer == in.buffer) return;
    d->over[s] = in.buffer;
    d->onto[s] = out.buffer;
}

static void find_sizes(plim__depend *d) {
    for (size_t b = 0; b < d->buffer_count; b++) {
        const plim__buffer *buffer = buffer_of(d, (int32_t)b);
        if (buffer->persistent) continue;
        d->bytes[b] = (int64_t)((buffer->bytes + PLIM__ALIGNMENT - 1) / PLIM__ALIGNMENT * PLIM__ALIGNMENT);
        if (buffer->kind == PLIM__BUFFER_INPUT) d->inputs[d->input_count++] = (int32_t)b;
        if (buffer->output) d->outputs[d->output_count++] = (int32_t)b;
    }
    for (size_t s = 0; s < d->step_count; s++) {
        int32_t scratch = d->program->steps.items[s].scratch;
        d->scratch[s] = scratch < 0 ? 0 : d->bytes[scratch];
        find_sharing(d, s);
    }
}

/* --- edges ------------------------------------------------------------------------------------------------------ */

/* While the steps are read in order: who wrote a buffer last, and who has read it since. */
struct history {
    int32_t writer; /* -1: none */
    int32_t reader; /* newest of a linked list, -1: none */
};
struct reading {
    int32_t step, next;
};

struct finder {
    plim__depend *depend;
    struct history *histories; /* of each buffer */
    PLIM_VEC(struct reading) readings;
    pairs before, after, closed;
    bool failed;
};

static void need(struct finder *f, int32_t first, int32_t then) {
    if (first < 0 || first == then) return;
    f->failed |= !plim__vec_push(&f->before, ((struct pair){then, first}));
    f->failed |= !plim__vec_push(&f->after, ((struct pair){first, then}));
}

static void read_buffer(struct finder *f, int32_t s, int32_t b) {
    struct history *h = &f->histories[b];
    need(f, h->writer, s);
    f->failed |= !plim__vec_push(&f->readings, ((struct reading){s, h->reader}));
    if (!f->failed) h->reader = (int32_t)f->readings.count - 1;
}

static void write_buffer(struct finder *f, int32_t s, int32_t b) {
    struct history *h = &f->histories[b];
    need(f, h->writer, s);
    for (int32_t r = h->reader; r >= 0; r = f->readings.items[r].next) {
        int32_t reader = f->readings.items[r].step;
        if (reader == s) continue;
        need(f, reader, s);
        f->failed |= !plim__vec_push(&f->closed, ((struct pair){reader, s}));
        if (!f->depend->program->buffers.items[b].persistent) f->depend->repeatable[reader] = false;
    }
    /* made in parts by several steps: no kernel does it now, but then each would have to be done again */
    if (h->writer >= 0 && h->writer != s) f->depend->repeatable[h->writer] = f->depend->repeatable[s] = false;
    h->writer = s;
    h->reader = -1;
}

static void visit(struct finder *f, int32_t s) {
    plim__depend *d = f->depend;
    const plim__step *step = &d->program->steps.items[s];
    d->repeatable[s] = !step->writes;
    for (int32_t i = 0; i < step->in_count; i++)
        if (step->operands[i].buffer >= 0) read_buffer(f, s, step->operands[i].buffer);
    for (int32_t i = step->in_count; i < step->in_count + step->out_count; i++) {
        int32_t b = step->operands[i].buffer;
        if (b < 0) continue;
        const plim__buffer *buffer = buffer_of(d, b);
        if (buffer->persistent || buffer->output || buffer->kind == PLIM__BUFFER_INPUT) d->repeatable[s] = false;
        write_buffer(f, s, b);
    }
}

static plim_status find_edges(plim__depend *d, plim_error *error) {
    struct finder f = {.depend = d};
    f.histories = plim__alloc_array(d->buffer_count, sizeof *f.histories);
    f.failed = !f.histories;
    for (size_t b = 0; !f.failed && b < d->buffer_count; b++) f.histories[b] = (struct history){-1, -1};
    for (size_t s = 0; !f.failed && s < d->step_count; s++) visit(&f, (int32_t)s);
    bool ok = !f.failed && make_lists(&d->before, &f.before, d->step_count) &&
              make_lists(&d->after, &f.after, d->step_count) && make_lists(&d->closed, &f.closed, d->step_count);
    plim__free(f.histories);
    plim__vec_free(&f.readings);
    plim__vec_free(&f.before);
    plim__vec_free(&f.after);
    plim__vec_free(&f.closed);
    return ok ? PLIM_OK : no_memory(error);
}

/* What an earlier step waits for cannot be last. */
static void find_last(plim__depend *d, const plim__depend_options *options) {
    if (options && options->update_in_backward) return;
    for (size_t s = d->step_count; s-- > 0;) {
        d->last[s] = d->program->steps.items[s].phase == PLIM__UPDATE;
        for (int32_t i = d->after.start[s]; i < d->after.start[s + 1]; i++)
            if (!d->last[d->after.items[i]]) d->last[s] = false;
    }
}

/* --- all of it -------------------------------------------------------------------------------------------------- */

static plim_status fill(plim__depend *d, const plim__depend_options *options, plim_error *error) {
    size_t steps = d->step_count + 1, buffers = d->buffer_count + 1;
    d->repeatable = plim__alloc_zero(steps, sizeof *d->repeatable);
    d->last = plim__alloc_zero(steps, sizeof *d->last);
    d->scratch = plim__alloc_zero(steps, sizeof *d->scratch);
    d->over = plim__alloc_array(steps, sizeof *d->over);
    d->onto = plim__alloc_array(steps, sizeof *d->onto);
    d->bytes = plim__alloc_zero(buffers, sizeof *d->bytes);
    d->maker = plim__alloc_array(buffers, sizeof *d->maker);
    d->inputs = plim__alloc_array(buffers, sizeof *d->inputs);
    d->outputs = plim__alloc_array(buffers, sizeof *d->outputs);
    if (!d->repeatable || !d->last || !d->scratch || !d->over || !d->onto || !d->bytes || !d->maker || !d->inputs ||
        !d->outputs)
        return no_memory(error);
    memset(d->maker, -1, buffers * sizeof *d->maker);
    find_sizes(d);
    PLIM_TRY(find_operands(d, error));
    PLIM_TRY(find_edges(d, error));
    find_last(d, options);
    return PLIM_OK;
}

plim_status plim__depend_create(const plim__program *program, const plim__depend_options *options,
                                plim__depend **depend, plim_error *error) {
    plim__depend *d = *depend = plim__alloc_zero(1, sizeof *d);
    if (!d) return no_memory(error);
    d->program = program;
    d->step_count = program->steps.count;
    d->buffer_count = program->buffers.count;
    plim_status status = fill(d, options, error);
    if (status == PLIM_OK) return PLIM_OK;
    plim__depend_free(d);
    *depend = NULL;
    return status;
}

void plim__depend_free(plim__depend *d) {
    if (!d) return;
    free_lists(&d->reads);
    free_lists(&d->makes);
    free_lists(&d->before);
    free_lists(&d->after);
    free_lists(&d->closed);
    plim__free(d->repeatable);
    plim__free(d->last);
    plim__free(d->scratch);
    plim__free(d->over);
    plim__free(d->onto);
    plim__free(d->bytes);
    plim__free(d->maker);
    plim__free(d->inputs);
    plim__free(d->outputs);
    plim__free(d);
}
