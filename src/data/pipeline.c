/* Threads, slots and the consumer's side of the pipeline. One mutex guards everything but the samples themselves;
 * a slot that is being filled belongs to the workers that claimed chunks of it, a ready one to no thread, a held one to
 * the consumer. */
#include "data/pipeline.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/error.h"
#include "plimsoll/bytes.h"

enum {
    MOST_SLOTS = 64,
    MOST_WORKERS = 256,
    STACK_BYTES = 512 << 10,
    FIRST_SLOTS = 3,
    TUNE_BATCHES = 8, /* batches between two readings of the waiting time */
    ALIGNMENT = 64,
};

typedef enum slot_state { FREE, FILLING, READY, HELD } slot_state;

typedef struct slot {
    slot_state state;
    int64_t number; /* of the batch, counted from the last seek */
    int64_t epoch, position;
    int64_t count, claimed, done; /* samples */
    int64_t good;                 /* of these, left after bad ones were taken out */
    bool last;
    unsigned char *memory; /* fields one after the other, batch samples each; aligned by `skip` */
    size_t skip;
    unsigned char *bad; /* one byte a sample */
    int64_t error_at;   /* the sample whose error this is; -1 for none */
    plim_error error;
} slot;

typedef struct worker {
    plim__pipeline *pipeline;
    pthread_t thread;
    plim__scratch scratch;
    size_t scratch_bytes; /* as the others may see it, under the mutex */
} worker;

struct plim__pipeline {
    const plim__data_source *source;
    plim__pipeline_options options;
    size_t field_offset[PLIM_DATA_MAX_FIELDS], slot_bytes;
    int64_t chunk; /* samples that a worker claims at once */
    int slot_count, slot_most;
    slot slots[MOST_SLOTS];

    pthread_mutex_t mutex;
    pthread_cond_t work, ready; /* something to claim; a batch became ready or a worker idle */
    worker *workers;
    int worker_count; /* started */
    pid_t started_in; /* the process that has the workers; 0 before there are any */
    bool stop, paused;
    int busy;    /* workers inside of a chunk */
    int blocked; /* times that a worker found no free slot since the last reading */

    slot *filling;                     /* has samples that no worker claimed; NULL for none */
    int64_t next_number;               /* of the batch that is started next */
    int64_t start_epoch, start_sample; /* where it begins */
    bool ended;                        /* no more batches to start */

    int64_t wanted; /* number of the batch that the consumer gets next */
    slot *held;
    plim_data_position position; /* of the consumer */
    int64_t good_in_epoch;       /* samples delivered in the consumer's epoch, to notice when all are bad */
    plim_error failure;          /* what the consumer was told last; OK for nothing */
    char last_bad[sizeof((plim_error *)0)->message];

    double first_time, wait_seconds, tune_time, tune_wait; /* tune_: at the last tuning */
    int64_t samples, skipped, batches_since_tune;
};

/* --- slots ---------------------------------------------------------------------------------------------------- */

static plim_status add_slot(plim__pipeline *p, plim_error *error) {
    slot *s = &p->slots[p->slot_count];
    s->memory = plim__alloc(p->slot_bytes);
    s->bad = plim__alloc_zero((size_t)p->options.batch, 1);
    if (!s->memory || !s->bad) {
        plim__free(s->memory);
        plim__free(s->bad);
        return plim__fail_memory(error, "a batch of data", p->slot_bytes);
    }
    memset(s->memory, 0, p->slot_bytes); /* resident from now on, not when the first batch comes */
    s->skip = (size_t)(-(uintptr_t)s->memory % ALIGNMENT);
    s->state = FREE;
    p->slot_count++;
    return PLIM_OK;
}

static unsigned char *sample_memory(const plim__pipeline *p, const slot *s, int field, int64_t sample) {
    return s->memory + s->skip + p->field_offset[field] + (size_t)sample * p->source->fields[field].bytes;
}

static plim_status measure_slot(plim__pipeline *p, plim_error *error) {
    size_t total = ALIGNMENT;
    for (int i = 0; i < p->source->field_count; i++) {
        size_t bytes;
        p->field_offset[i] = total - ALIGNMENT;
        if (__builtin_mul_overflow(p->source->fields[i].bytes, (size_t)p->options.batch, &bytes) ||
            __builtin_add_overflow(bytes, total + ALIGNMENT, &bytes) || bytes > SIZE_MAX / MOST_SLOTS)
            return plim__fail(error, PLIM_OVERFLOW, "a batch of %lld samples of '%s' does not fit in memory",
                              (long long)p->options.batch, p->source->fields[i].name);
        total = bytes / ALIGNMENT * ALIGNMENT;
    }
    p->slot_bytes = total;
    return PLIM_OK;
}

static int most_slots(const plim__pipeline *p) {
    uint64_t most = p->options.buffer_limit / p->slot_bytes;
    if (p->options.depth > 0) most = (uint64_t)p->options.depth + 1;
    return most < 2 ? 2 : most > MOST_SLOTS ? MOST_SLOTS : (int)most;
}

/* --- what workers do, under the mutex ------------------------------------------------------------------------- */

static int64_t epoch_end(const plim__pipeline *p) {
    int64_t count = p->options.order.count;
    return p->options.drop_last ? count / p->options.batch * p->options.batch : count;
}

/* Where a batch after `position` begins: the next epoch when nothing is left of this one. With drop_last and a start
 * in the middle, what is left may be less than a batch. */
static bool epoch_is_over(const plim__pipeline *p, int64_t position) {
    int64_t left = p->options.order.count - position;
    return left <= 0 || (p->options.drop_last && left < p->options.batch);
}

static void start_batch(plim__pipeline *p, slot *s) {
    if (epoch_is_over(p, p->start_sample)) {
        p->start_epoch++;
        p->start_sample = 0;
    }
    if (p->options.epochs > 0 && p->start_epoch >= p->options.epochs) {
        p->ended = true;
        pthread_cond_broadcast(&p->ready);
        return;
    }
    int64_t left = p->options.order.count - p->start_sample;
    s->state = FILLING;
    s->number = p->next_number++;
    s->epoch = p->start_epoch;
    s->position = p->start_sample;
    s->count = left < p->options.batch ? left : p->options.batch;
    s->claimed = s->done = 0;
    s->error_at = -1;
    p->start_sample += s->count;
    s->last = epoch_is_over(p, p->start_sample);
    p->filling = s;
}

static slot *find_slot(plim__pipeline *p, slot_state state) {
    for (int i = 0; i < p->slot_count; i++)
        if (p->slots[i].state == state) return &p->slots[i];
    return NULL;
}

/* A slot with samples to claim, or NULL when there is nothing to do now. */
static slot *find_work(plim__pipeline *p) {
    if (p->paused) return NULL;
    if (!p->filling && !p->ended) {
        slot *s = find_slot(p, FREE);
        if (s)
            start_batch(p, s);
        else
            p->blocked++;
    }
    return p->filling;
}

/* --- what workers do, outside of it --------------------------------------------------------------------------- */

static bool may_skip(const plim__pipeline *p, plim_status status) {
    return p->options.skip_bad && (status == PLIM_CORRUPT || status == PLIM_UNSUPPORTED);
}

static plim__sample_key sample_key(const plim__pipeline *p, const slot *s, int64_t sample) {
    plim__sample_key key = {.seed = p->options.order.seed, .epoch = (uint64_t)s->epoch};
    key.index = plim__order_index(&p->options.order, s->epoch, s->position + sample, &key.repeat);
    return key;
}

/* The first error of a chunk goes into *error, its sample into *at; bad samples that may be skipped are marked. */
static void fill_chunk(worker *w, slot *s, int64_t from, int64_t to, plim_error *error, int64_t *at) {
    const plim__pipeline *p = w->pipeline;
    void *fields[PLIM_DATA_MAX_FIELDS];
    *at = -1;
    for (int64_t i = from; i < to; i++) {
        plim_error now;
        plim__sample_key key = sample_key(p, s, i);
        for (int f = 0; f < p->source->field_count; f++) fields[f] = sample_memory(p, s, f, i);
        plim_status status = p->source->ops->read(p->source, &key, &w->scratch, fields, &now);
        s->bad[i] = status != PLIM_OK;
        if (status == PLIM_OK) continue;
        if (*at < 0) {
            *error = now;
            *at = i;
        }
        if (!may_skip(p, status)) { /* a sample that cannot be skipped outweighs those that can */
            *error = now;
            *at = i;
            return;
        }
    }
}

/* Moves good samples together, in order; bad ones are gone. */
static void take_out_bad(const plim__pipeline *p, slot *s) {
    s->good = 0;
    for (int64_t i = 0; i < s->count; i++) {
        if (s->bad[i]) continue;
        for (int f = 0; f < p->source->field_count && s->good < i; f++)
            memcpy(sample_memory(p, s, f, s->good), sample_memory(p, s, f, i), p->source->fields[f].bytes);
        s->good++;
    }
}

/* Each sample with the one at the same distance from the other end of the batch, which the shuffle put there by chance; both
 * at once, so that it takes no memory. Where bad samples were taken out, keys are those of their places. */
static void mix_pairs(const plim__pipeline *p, slot *s) {
    for (int64_t i = 0, k = s->good - 1; i < k; i++, k--) {
        plim__sample_key key = sample_key(p, s, i), other = sample_key(p, s, k);
        float a = (float)plim__augment_mix_share(&p->options.augment, &key);
        float b = (float)plim__augment_mix_share(&p->options.augment, &other);
        for (int f = 0; f < p->source->field_count; f++) {
            const plim_data_field *field = &p->source->fields[f];
            if (field->target || field->dtype != PLIM_F32) continue;
            float *x = (float *)(void *)sample_memory(p, s, f, i), *y = (float *)(void *)sample_memory(p, s, f, k);
            for (size_t n = 0; n < field->bytes / sizeof *x; n++) {
                float first = x[n], second = y[n];
                x[n] = a * first + (1 - a) * second;
                y[n] = b * second + (1 - b) * first;
            }
        }
    }
}

/* What is done to a batch when its last sample is there. */
static void finish_batch(const plim__pipeline *p, slot *s) {
    s->good = s->count;
    if (s->error_at >= 0) take_out_bad(p, s);
    if (p->options.augment.mixup > 0 && (s->error_at < 0 || may_skip(p, s->error.status))) mix_pairs(p, s);
}

/* Of several errors the one that stops the run stays, and among equals that of the first sample. */
static void keep_error(const plim__pipeline *p, slot *s, const plim_error *error, int64_t at) {
    if (at < 0) return;
    bool skip_new = may_skip(p, error->status), skip_old = s->error_at >= 0 && may_skip(p, s->error.status);
    bool better = s->error_at < 0 || (skip_old && !skip_new) || (skip_old == skip_new && at < s->error_at);
    if (!better) return;
    s->error = *error;
    s->error_at = at;
}

static void work_on(worker *w, slot *s) { /* called with the mutex held; returns with it held */
    plim__pipeline *p = w->pipeline;
    plim_error error;
    int64_t from = s->claimed, to = from + p->chunk < s->count ? from + p->chunk : s->count, at;
    s->claimed = to;
    if (to == s->count) p->filling = NULL;
    p->busy++;
    pthread_cond_signal(&p->work); /* another worker may take the next chunk */
    pthread_mutex_unlock(&p->mutex);
    fill_chunk(w, s, from, to, &error, &at);
    pthread_mutex_lock(&p->mutex);
    keep_error(p, s, &error, at);
    s->done += to - from;
    bool finished = s->done == s->count;
    if (finished) {
        pthread_mutex_unlock(&p->mutex);
        finish_batch(p, s);
        pthread_mutex_lock(&p->mutex);
    }
    if (finished) s->state = READY;
    w->scratch_bytes = plim__scratch_bytes(&w->scratch);
    p->busy--;
    if (finished || p->paused) pthread_cond_broadcast(&p->ready);
}

static void *run_worker(void *context) {
    worker *w = context;
    plim__pipeline *p = w->pipeline;
    pthread_mutex_lock(&p->mutex);
    while (!p->stop) {
        slot *s = find_work(p);
        if (s)
            work_on(w, s);
        else
            pthread_cond_wait(&p->work, &p->mutex);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* --- threads -------------------------------------------------------------------------------------------------- */

/* A child that was forked meanwhile has no workers, and whatever they were holding. */
static bool is_forked(const plim__pipeline *p) { return p->started_in && p->started_in != getpid(); }

static plim_status check_fork(const plim__pipeline *p, plim_error *error) {
    if (!is_forked(p)) return PLIM_OK;
    return plim__fail(error, PLIM_UNSUPPORTED,
                      "this process was forked after the data's threads had been started in its parent, which are not "
                      "here; open the data again, or fork before its first batch");
}

/* Signals are the program's: they go to its own threads. Fewer threads than wished for are enough. */
static plim_status start_workers(plim__pipeline *p, plim_error *error) {
    pthread_attr_t attributes;
    sigset_t all, before;
    int result = pthread_attr_init(&attributes);
    if (result != 0) return plim__fail_errno(error, result, "cannot start a thread that reads data");
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    p->started_in = getpid();
    while (p->worker_count < p->options.workers && result == 0) {
        worker *w = &p->workers[p->worker_count];
        w->pipeline = p;
        result = pthread_create(&w->thread, &attributes, run_worker, w);
        if (result == 0) p->worker_count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (p->worker_count > 0) return PLIM_OK;
    return plim__fail_errno(error, result, "cannot start a thread that reads data");
}

/* Before anything is reserved. */
static plim_status check_memory(const plim__pipeline *p, plim_error *error) {
    const plim__scratch_needs *needs = &p->source->scratch;
    uint64_t bytes = plim__pipeline_most_bytes(p), limit = p->options.memory_limit;
    char all[PLIM_BYTES_TEXT], most[PLIM_BYTES_TEXT], one[PLIM_BYTES_TEXT];
    if (!limit || bytes <= limit) return PLIM_OK;
    plim_bytes_format(bytes, all);
    plim_bytes_format(limit, most);
    if (limit == 1) snprintf(most, sizeof most, "nothing"); /* the process has all of it already */
    if (!needs->largest)
        return plim__fail(error, PLIM_BUDGET,
                          "reading the data takes %s and the budget leaves %s for it: smaller or fewer batches ahead "
                          "(--batch, --data-depth) take less",
                          all, most);
    return plim__fail(
        error, PLIM_BUDGET,
        "reading the data takes %s with %d worker%s, and the budget leaves %s for it: '%s' needs %s to be "
        "decoded. Make that image smaller or store it without passes (not interlaced, not progressive), "
        "use fewer --workers, or leave it out with --skip-bad",
        all, p->options.workers, p->options.workers == 1 ? "" : "s", most, needs->largest,
        plim_bytes_format(plim__scratch_needs_bytes(needs), one));
}

static plim_status prepare(plim__pipeline *p, plim_error *error) {
    int64_t batch = p->options.batch;
    PLIM_TRY(measure_slot(p, error));
    p->slot_most = most_slots(p);
    PLIM_TRY(check_memory(p, error));
    p->chunk = batch / 4 < 1 ? 1 : batch / 4 > 64 ? 64 : batch / 4;
    p->workers = plim__alloc_zero((size_t)p->options.workers, sizeof *p->workers);
    if (!p->workers) return plim__fail_memory(error, "threads that read data", sizeof *p->workers);
    int first = p->options.depth > 0 || p->slot_most < FIRST_SLOTS ? p->slot_most : FIRST_SLOTS;
    while (p->slot_count < first) PLIM_TRY(add_slot(p, error));
    for (int i = 0; i < p->options.workers; i++) {
        worker *w = &p->workers[i];
        PLIM_TRY(plim__scratch_fill(&w->scratch, &p->source->scratch, error));
        w->scratch_bytes = plim__scratch_bytes(&w->scratch);
    }
    return PLIM_OK;
}

plim_status plim__pipeline_create(const plim__data_source *source, const plim__pipeline_options *options,
                                  plim__pipeline **pipeline, plim_error *error) {
    *pipeline = NULL;
    plim__pipeline *p = plim__alloc_zero(1, sizeof *p);
    if (!p) return plim__fail_memory(error, "a data pipeline", sizeof *p);
    p->source = source;
    p->options = *options;
    if (p->options.workers > MOST_WORKERS) p->options.workers = MOST_WORKERS;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->ready, NULL);
    plim_status status = prepare(p, error);
    if (status == PLIM_OK)
        *pipeline = p;
    else
        plim__pipeline_free(p);
    return status;
}

static void end_workers(plim__pipeline *p) {
    pthread_mutex_lock(&p->mutex);
    p->stop = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->mutex);
    for (int i = 0; i < p->worker_count; i++) pthread_join(p->workers[i].thread, NULL);
    pthread_cond_destroy(&p->ready);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->mutex);
}

void plim__pipeline_free(plim__pipeline *p) {
    if (!p) return;
    if (!is_forked(p)) end_workers(p);
    for (int i = 0; p->workers && i < p->options.workers; i++) plim__scratch_free(&p->workers[i].scratch);
    for (int i = 0; i < p->slot_count; i++) {
        plim__free(p->slots[i].memory);
        plim__free(p->slots[i].bad);
    }
    plim__free(p->workers);
    plim__free(p);
}

/* --- the consumer --------------------------------------------------------------------------------------------- */

static slot *find_wanted(plim__pipeline *p) {
    for (int i = 0; i < p->slot_count; i++)
        if (p->slots[i].state == READY && p->slots[i].number == p->wanted) return &p->slots[i];
    return NULL;
}

static slot *wait_for_batch(plim__pipeline *p) { /* NULL: the end */
    slot *s = find_wanted(p);
    if (s || (p->ended && p->wanted == p->next_number)) return s;
    double start = plim__clock_seconds();
    while (!(s = find_wanted(p)) && !(p->ended && p->wanted == p->next_number)) pthread_cond_wait(&p->ready, &p->mutex);
    p->wait_seconds += plim__clock_seconds() - start;
    return s;
}

/* More depth helps only when the consumer waits although the workers had to wait for a free slot before: their speed
 * is enough on the whole, but not at every moment. */
static void tune(plim__pipeline *p) {
    if (++p->batches_since_tune < TUNE_BATCHES) return;
    double now = plim__clock_seconds(), waited = p->wait_seconds - p->tune_wait, passed = now - p->tune_time;
    if (p->slot_count < p->slot_most && p->blocked > 0 && waited > 0.02 * passed)
        (void)add_slot(p, NULL); /* without memory it stays as deep as it is */
    p->tune_time = now;
    p->tune_wait = p->wait_seconds;
    p->blocked = 0;
    p->batches_since_tune = 0;
}

static void release_held(plim__pipeline *p) {
    if (!p->held) return;
    p->held->state = FREE;
    p->held = NULL;
    pthread_cond_signal(&p->work);
}

static plim_status stop_with(plim__pipeline *p, const plim_error *failure, plim_error *error) {
    if (failure != &p->failure) p->failure = *failure;
    if (error) *error = p->failure;
    return p->failure.status;
}

/* Counts what was left out of a batch; all of an epoch being bad is an error even when skipping is allowed. */
static plim_status count_bad(plim__pipeline *p, const slot *s, plim_error *error) {
    p->skipped += s->count - s->good;
    if (s->position == 0) p->good_in_epoch = 0;
    p->good_in_epoch += s->good;
    if (s->error_at >= 0) memcpy(p->last_bad, s->error.message, sizeof p->last_bad);
    if (!s->last || p->good_in_epoch > 0 || s->good == s->count) return PLIM_OK;
    plim_error all;
    plim__fail(&all, PLIM_CORRUPT, "every sample of the data set is bad; the first: %.800s", s->error.message);
    return stop_with(p, &all, error);
}

static plim_status take_batch(plim__pipeline *p, slot *s, plim_data_batch *batch, plim_error *error) {
    if (s->error_at >= 0 && !may_skip(p, s->error.status)) return stop_with(p, &s->error, error);
    PLIM_TRY(count_bad(p, s, error));
    p->held = s;
    s->state = HELD;
    p->wanted++;
    p->samples += s->good;
    p->position = (plim_data_position){s->epoch, s->position + s->count};
    if (s->last) p->position = (plim_data_position){s->epoch + 1, 0};
    *batch = (plim_data_batch){.count = s->good, .epoch = s->epoch, .position = s->position, .last = s->last};
    for (int f = 0; f < p->source->field_count; f++) batch->fields[f] = sample_memory(p, s, f, 0);
    return PLIM_OK;
}

plim_status plim__pipeline_next(plim__pipeline *p, plim_data_batch *batch, plim_error *error) {
    *batch = (plim_data_batch){0};
    PLIM_TRY(check_fork(p, error));
    if (p->failure.status != PLIM_OK) return stop_with(p, &p->failure, error);
    if (p->worker_count == 0) {
        p->first_time = p->tune_time = plim__clock_seconds();
        PLIM_TRY(start_workers(p, error));
    }
    pthread_mutex_lock(&p->mutex);
    plim_status status = PLIM_OK;
    slot *s;
    do { /* a batch of bad samples only is passed over, unless it ends the epoch */
        release_held(p);
        s = wait_for_batch(p);
        if (s) status = take_batch(p, s, batch, error);
    } while (s && status == PLIM_OK && batch->count == 0 && !batch->last);
    if (!s) *batch = (plim_data_batch){.epoch = p->position.epoch};
    tune(p);
    pthread_mutex_unlock(&p->mutex);
    return status;
}

int64_t plim__pipeline_place(const plim__pipeline *p, int64_t position, int64_t index) {
    const slot *s = p->held;
    if (!s || s->position != position || s->good == s->count) return index;
    int64_t place = 0;
    for (int64_t good = 0; place < s->count; place++)
        if (!s->bad[place] && good++ == index) break;
    return place;
}

plim_data_position plim__pipeline_tell(const plim__pipeline *p) { return p->position; }

plim_status plim__pipeline_seek(plim__pipeline *p, plim_data_position to, plim_error *error) {
    if (to.epoch < 0 || to.sample < 0 || to.sample > p->options.order.count)
        return plim__fail(error, PLIM_INVALID, "cannot go to sample %lld of epoch %lld: there are %lld samples",
                          (long long)to.sample, (long long)to.epoch, (long long)p->options.order.count);
    PLIM_TRY(check_fork(p, error));
    pthread_mutex_lock(&p->mutex);
    p->paused = true;
    while (p->busy > 0) pthread_cond_wait(&p->ready, &p->mutex);
    for (int i = 0; i < p->slot_count; i++) p->slots[i].state = FREE;
    p->held = p->filling = NULL;
    p->next_number = p->wanted = 0;
    p->start_epoch = to.epoch;
    p->start_sample = to.sample;
    p->position = to;
    p->good_in_epoch = to.sample > 0; /* what came before is not known: assume that some of it was good */
    p->ended = p->paused = false;
    p->failure.status = PLIM_OK;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->mutex);
    return PLIM_OK;
}

/* --- figures -------------------------------------------------------------------------------------------------- */

void plim__pipeline_stats(plim__pipeline *p, plim_data_stats *stats) {
    double seconds = p->worker_count > 0 ? plim__clock_seconds() - p->first_time : 0;
    *stats = (plim_data_stats){.seconds = seconds,
                               .wait_seconds = p->wait_seconds,
                               .wait_share = seconds > 0 ? p->wait_seconds / seconds : 0,
                               .samples = p->samples,
                               .skipped = p->skipped,
                               .depth = p->slot_count - 1,
                               .buffer_bytes = plim__pipeline_bytes(p)};
}

const char *plim__pipeline_last_bad(const plim__pipeline *p) { return p->last_bad; }

uint64_t plim__pipeline_bytes(plim__pipeline *p) {
    uint64_t sum = (uint64_t)p->slot_count * (p->slot_bytes + (uint64_t)p->options.batch);
    if (is_forked(p)) return sum;
    pthread_mutex_lock(&p->mutex);
    for (int i = 0; i < p->options.workers; i++) sum += p->workers[i].scratch_bytes;
    pthread_mutex_unlock(&p->mutex);
    return sum;
}

uint64_t plim__pipeline_most_bytes(const plim__pipeline *p) {
    return (uint64_t)p->slot_most * (p->slot_bytes + (uint64_t)p->options.batch) +
           (uint64_t)p->options.workers * plim__scratch_needs_bytes(&p->source->scratch);
}

uint64_t plim__pipeline_sample_bytes(const plim__pipeline *p) {
    uint64_t sample = 1; /* whether it is there */
    for (int i = 0; i < p->source->field_count; i++) sample += p->source->fields[i].bytes;
    return (uint64_t)p->slot_most * sample;
}

int64_t plim__pipeline_batches(const plim__pipeline *p) {
    int64_t batch = p->options.batch;
    return (epoch_end(p) + batch - 1) / batch;
}
