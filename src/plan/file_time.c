/* A run of a program, with one disk beside the steps. */
#include "plan/file_time.h"

#include "core/error.h"

struct transfer {
    int32_t begins, due; /* before this step it must have ended */
    double left;         /* seconds of the disk */
};

struct disk {
    PLIM_VEC(struct transfer) transfers;
};

/* What is read is read once, what is written was read before. */
static double bytes_of(const plim__program *program, const plim__step *step) {
    double bytes = 0;
    for (int32_t i = 0; i < step->in_count + step->out_count; i++) {
        int32_t b = step->operands[i].buffer;
        if (b < 0 || !program->buffers.items[b].spilled) continue;
        bytes += (double)program->buffers.items[b].bytes * (i < step->in_count ? 1 : 2);
    }
    return bytes;
}

static plim_status find_transfers(struct disk *disk, const plim__program *program, const plim__plan *plan,
                                  const plim__costs *costs, plim_error *error) {
    for (size_t s = 0; s < program->steps.count; s++) {
        const plim__step *step = &program->steps.items[s];
        if (!plim__step_in_pieces(program, step)) continue;
        bool fetch = step->pieces->held < 0;
        struct transfer t = {.begins = plan->begins[s],
                             .due = fetch ? (int32_t)s : plan->ends[s] + 1,
                             .left = bytes_of(program, step) / costs->disk};
        if (!plim__vec_push(&disk->transfers, t)) return plim__fail_memory(error, "a plan", sizeof t);
    }
    return PLIM_OK;
}

/* Of those that have begun and are not done, the one that is due first; NULL: none. */
static struct transfer *first_of(const struct disk *disk, int32_t now) {
    struct transfer *first = NULL;
    for (size_t i = 0; i < disk->transfers.count; i++) {
        struct transfer *t = &disk->transfers.items[i];
        if (t->left > 0 && t->begins <= now && (!first || t->due < first->due)) first = t;
    }
    return first;
}

/* Until all that is due before step `now` is there. */
static double wait_for(const struct disk *disk, int32_t now) {
    double seconds = 0;
    for (struct transfer *t; (t = first_of(disk, now)) && t->due <= now; t->left = 0) seconds += t->left;
    return seconds;
}

static void pass(const struct disk *disk, int32_t now, double seconds) {
    for (struct transfer *t; seconds > 0 && (t = first_of(disk, now));) {
        double part = t->left < seconds ? t->left : seconds;
        t->left -= part;
        seconds -= part;
    }
}

plim_status plim__file_time_of(const plim__program *program, const plim__plan *plan, const plim__costs *costs,
                               plim__file_time *time, plim_error *error) {
    struct disk disk = {0};
    *time = (plim__file_time){0};
    if (!plan->begins) return PLIM_OK;
    plim_status status = find_transfers(&disk, program, plan, costs, error);
    for (size_t i = 0; i < disk.transfers.count; i++) time->moving += disk.transfers.items[i].left;
    int32_t count = (int32_t)program->steps.count;
    for (int32_t s = 0; status == PLIM_OK && s < count; s++) {
        const plim__step *step = &program->steps.items[s];
        time->waiting += wait_for(&disk, s);
        if (!plim__step_in_pieces(program, step)) pass(&disk, s, plim__costs_seconds(costs, step));
    }
    if (status == PLIM_OK) time->waiting += wait_for(&disk, count);
    plim__vec_free(&disk.transfers);
    return status;
}
