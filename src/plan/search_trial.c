/* Trials: what a schedule would be like after one change, computed from what differs.
 *
 *     now      a b c d e f g            place of `e`: 4
 *     trial    a b c d b'e f g          `b` is put in before it: the old version of what `b` makes ends with its last
 *              0 1 2 3 4 5 6 7          use before, the new one takes its further uses, inputs of `b` live on
 *
 * Only few versions end somewhere else. The blocks of memory that these lie in are taken away and rebuilt, as the
 * schedule would build them; everything else stays as it was surveyed. Measuring the trial as a whole gives the same
 * numbers, at the price of walking over all of it. */
#include <string.h>

#include "plan/search.h"

#define REMOVED (-2)            /* end of a version whose run is taken out */
#define LOWEST  (INT64_MIN / 4) /* live bytes of a place that is gone */

/* Memory that a trial takes or gives back, at places of the trial. */
struct change {
    int32_t from, to;
    int64_t bytes;
};

/* Of a version in the trial whose stamp it bears. Stamps only grow: nothing needs to be wiped out between trials. */
struct fate {
    int32_t end, end_stamp;   /* where it ends now */
    int32_t read, read_stamp; /* the last of the steps put in that reads it */
    int32_t lift_stamp;       /* of the first version of a block: its memory is computed again */
    int32_t done_stamp;       /* it lies in memory that was begun by another */
};

struct plim__trials {
    int32_t stamp;                /* of the trial under way */
    int32_t place;                /* steps are put in before it; nothing but this place itself changes behind it */
    int32_t added;                /* how many */
    const int32_t *into;          /* these */
    int32_t version_count;        /* with those of the steps put in */
    struct fate *fates;           /* of each version */
    int32_t *fresh, *fresh_stamp; /* of each buffer: its newest version in the steps put in */
    int32_t *gone;                /* of each place: the last trial without it */
    int32_t *lost;                /* places that are gone, and what live bytes were there */
    int64_t *lost_live;
    int32_t lost_count;
    int32_t *moved; /* versions that end somewhere else */
    int32_t moved_count;
    int64_t *queue; /* a heap of places and versions, the least on top */
    int32_t queued;
    struct change *changes;
    int32_t change_count;
    int64_t *difference; /* of each place of `now`: bytes more than at the one before, 0 between trials */
    int64_t *inside;     /* the same for the steps put in */
    bool *marked;        /* of each block of places: it has differences, or places that are gone */
};

bool plim__trials_create(plim__search *s) {
    struct plim__trials *t = s->trials = plim__alloc_zero(1, sizeof *t);
    size_t buffers = s->depend->buffer_count + 1, places = s->capacity + 2, versions = s->versions_capacity;
    if (!t) return false;
    t->fates = plim__alloc_zero(versions, sizeof *t->fates);
    t->fresh = plim__alloc_array(buffers, sizeof *t->fresh);
    t->fresh_stamp = plim__alloc_zero(buffers, sizeof *t->fresh_stamp);
    t->gone = plim__alloc_zero(places, sizeof *t->gone);
    t->lost = plim__alloc_array(places, sizeof *t->lost);
    t->lost_live = plim__alloc_array(places, sizeof *t->lost_live);
    t->moved = plim__alloc_array(versions, sizeof *t->moved);
    t->queue = plim__alloc_array(versions, sizeof *t->queue);
    t->changes = plim__alloc_array(2 * versions, sizeof *t->changes);
    t->difference = plim__alloc_zero(places, sizeof *t->difference);
    t->inside = plim__alloc_zero(PLIM__DROP_STEPS + 1, sizeof *t->inside);
    t->marked = plim__alloc_zero(places / PLIM__PLACES + 1, sizeof *t->marked);
    return t->fates && t->fresh && t->fresh_stamp && t->gone && t->lost && t->lost_live && t->moved && t->queue &&
           t->changes && t->difference && t->inside && t->marked;
}

void plim__trials_free(struct plim__trials *t) {
    if (!t) return;
    void *all[] = {t->fates, t->fresh, t->fresh_stamp, t->gone,       t->lost,   t->lost_live,
                   t->moved, t->queue, t->changes,     t->difference, t->inside, t->marked};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) plim__free(all[i]);
    plim__free(t);
}

/* --- a heap, the lowest place on top ---------------------------------------------------------------------------- */

static void push(struct plim__trials *t, int32_t place, int32_t version) {
    int64_t *q = t->queue, item = (int64_t)place * ((int64_t)1 << 32) + version;
    int32_t i = t->queued++;
    for (; i > 0 && q[(i - 1) / 2] > item; i = (i - 1) / 2) q[i] = q[(i - 1) / 2];
    q[i] = item;
}

/* Its version. */
static int32_t pop(struct plim__trials *t) {
    int64_t *q = t->queue, top = q[0], last = q[--t->queued];
    int32_t i = 0;
    for (int32_t k; (k = 2 * i + 1) < t->queued; i = k) {
        if (k + 1 < t->queued && q[k + 1] < q[k]) k++;
        if (q[k] >= last) break;
        q[i] = q[k];
    }
    q[i] = last;
    return (int32_t)(top & INT32_MAX);
}

/* --- which versions end where ----------------------------------------------------------------------------------- */

/* Where a place of `now` is in the trial. */
static int32_t shifted(const struct plim__trials *t, int32_t place) {
    return place >= t->place ? place + t->added : place;
}

static int32_t end_of(const plim__search *s, int32_t version) {
    const struct fate *f = &s->trials->fates[version];
    return f->end_stamp == s->trials->stamp ? f->end : shifted(s->trials, s->versions[version].end);
}

static void set_end(struct plim__trials *t, int32_t version, int32_t end) {
    struct fate *f = &t->fates[version];
    if (f->end_stamp != t->stamp) t->moved[t->moved_count++] = version;
    f->end_stamp = t->stamp;
    f->end = end;
}

/* The version loses its uses from the place of the trial on, or its last one: runs that are gone do not count. */
static void cut_short(plim__search *s, int32_t version) {
    struct plim__trials *t = s->trials;
    const plim__version *v = &s->versions[version];
    int32_t end = v->born, r = v->reading;
    while (r >= 0 && (s->readings[r].place >= t->place || t->gone[s->readings[r].place] == t->stamp))
        r = s->readings[r].before;
    if (r >= 0) end = s->readings[r].place;
    if (t->fates[version].read_stamp == t->stamp) end = t->fates[version].read;
    set_end(t, version, end);
    if (end == v->born && end >= 0) push(t, -end, version); /* the last run on top */
}

/* The run is no more. */
static void take_out(plim__search *s, int32_t place) {
    const plim__depend *d = s->depend;
    struct plim__trials *t = s->trials;
    int32_t step = s->now.steps[place], version = s->made[place];
    t->gone[place] = t->stamp;
    t->lost[t->lost_count++] = place;
    s->runs[step]--;
    for (int32_t k = d->makes.start[step]; k < d->makes.start[step + 1]; k++) set_end(t, version++, REMOVED);
    const plim__reading *reading = s->readings + s->read[place];
    for (int32_t k = d->reads.start[step]; k < d->reads.start[step + 1]; k++) {
        int32_t read = reading++->version;
        if (read >= 0 && end_of(s, read) == place) cut_short(s, read);
    }
}

/* Runs that no step reads any more go, from the last to the first; the last run left of a step stays. */
static void clean(plim__search *s) {
    const plim__depend *d = s->depend;
    struct plim__trials *t = s->trials;
    while (t->queued > 0) {
        int32_t place = s->versions[pop(t)].born, step = s->now.steps[place], version = s->made[place];
        bool used = t->gone[place] == t->stamp || s->runs[step] == 1;
        for (int32_t k = d->makes.start[step]; k < d->makes.start[step + 1]; k++) used |= end_of(s, version++) != place;
        if (!used) take_out(s, place);
    }
}

static void read_again(plim__search *s, int32_t buffer, int32_t place) {
    struct plim__trials *t = s->trials;
    bool fresh = t->fresh_stamp[buffer] == t->stamp;
    int32_t version = fresh ? t->fresh[buffer] : plim__search_version(s, buffer, t->place);
    if (version < 0) return;
    t->fates[version].read = place;
    t->fates[version].read_stamp = t->stamp;
    if (end_of(s, version) < place) set_end(t, version, place);
}

static void make_again(plim__search *s, int32_t buffer, int32_t place) {
    struct plim__trials *t = s->trials;
    int32_t old = plim__search_version(s, buffer, t->place), made = t->version_count++, end = place;
    bool needed = old >= 0 && s->versions[old].end >= t->place;
    if (needed) end = shifted(t, s->versions[old].end);
    s->versions[made] =
        (plim__version){.buffer = buffer, .born = place, .end = end, .reading = -1, .block = -1, .heir = -1};
    set_end(t, made, end);
    t->fresh[buffer] = made;
    t->fresh_stamp[buffer] = t->stamp;
    if (needed) cut_short(s, old);
}

static void put_in(plim__search *s) {
    const plim__depend *d = s->depend;
    struct plim__trials *t = s->trials;
    for (int32_t i = 0; i < t->added; i++) {
        int32_t step = t->into[i], place = t->place + i;
        s->runs[step]++;
        for (int32_t k = d->reads.start[step]; k < d->reads.start[step + 1]; k++)
            read_again(s, d->reads.items[k], place);
        for (int32_t k = d->makes.start[step]; k < d->makes.start[step + 1]; k++)
            make_again(s, d->makes.items[k], place);
    }
}

/* --- which memory they lie in ----------------------------------------------------------------------------------- */

static void add_change(struct plim__trials *t, int32_t from, int32_t to, int64_t bytes) {
    t->changes[t->change_count++] = (struct change){from < 0 ? 0 : from, to < 0 ? 0 : to, bytes};
}

/* Where a version is made in the trial. */
static int32_t born_of(const plim__search *s, int32_t version) {
    int32_t born = s->versions[version].born;
    return version < s->version_count ? shifted(s->trials, born) : born;
}

/* Takes a block away: its versions wait to be placed. */
static void lift(plim__search *s, int32_t version) {
    struct plim__trials *t = s->trials;
    int32_t first = s->versions[version].block;
    const plim__version *root = &s->versions[first];
    if (t->fates[first].lift_stamp == t->stamp) return;
    t->fates[first].lift_stamp = t->stamp;
    add_change(t, born_of(s, first), shifted(t, root->block_end), -s->depend->bytes[root->buffer]);
    for (int32_t v = first; v >= 0; v = s->versions[v].heir)
        if (end_of(s, v) != REMOVED) push(t, born_of(s, v), v);
}

/* The version that is written over this one, in memory that began as the buffer `root`. */
static int32_t find_heir(const plim__search *s, int32_t version, int32_t root) {
    const plim__depend *d = s->depend;
    const struct plim__trials *t = s->trials;
    int32_t end = end_of(s, version);
    if (end == born_of(s, version) || end >= (int32_t)s->now.count + t->added) return -1;
    bool inside = end >= t->place && end < t->place + t->added;
    int32_t place = end < t->place ? end : end - t->added;
    int32_t step = inside ? t->into[end - t->place] : s->now.steps[place];
    if (d->over[step] != s->versions[version].buffer || !plim__meter_may_share(d, step, root)) return -1;
    if (inside) return t->fresh[d->onto[step]];
    int32_t heir = s->made[place];
    for (int32_t k = d->makes.start[step]; d->makes.items[k] != d->onto[step]; k++) heir++;
    return heir;
}

/* Versions are placed in the order in which they are born: one that no other was written over before begins a block. */
static void place_versions(plim__search *s) {
    struct plim__trials *t = s->trials;
    for (int32_t i = 0; i < t->moved_count; i++) {
        int32_t version = t->moved[i];
        if (version < s->version_count)
            lift(s, version);
        else
            push(t, s->versions[version].born, version);
    }
    while (t->queued > 0) {
        int32_t first = pop(t), root = s->versions[first].buffer, last = first, heir;
        if (t->fates[first].done_stamp == t->stamp) continue;
        while ((heir = find_heir(s, last, root)) >= 0) {
            if (heir < s->version_count) lift(s, heir);
            t->fates[heir].done_stamp = t->stamp;
            last = heir;
        }
        add_change(t, born_of(s, first), end_of(s, last), s->depend->bytes[root]);
    }
}

/* --- bytes above the target ------------------------------------------------------------------------------------- */

static int64_t positive(int64_t bytes) { return bytes > 0 ? bytes : 0; }

/* From places of the trial to those of `now`: empty when `from` is behind `to`. */
static struct change outside(const struct plim__trials *t, struct change c) {
    int32_t behind = t->place + t->added;
    return (struct change){c.from < t->place ? c.from
                           : c.from < behind ? t->place
                                             : c.from - t->added,
                           c.to < t->place ? c.to
                           : c.to < behind ? t->place - 1
                                           : c.to - t->added,
                           c.bytes};
}

static void mark(struct plim__trials *t, int32_t place, int64_t bytes) {
    t->difference[place] += bytes;
    t->marked[place / PLIM__PLACES] = true;
}

/* Puts the differences down, finds the places between which there are any. */
static void put_down(plim__search *s, int32_t *from, int32_t *to) {
    struct plim__trials *t = s->trials;
    for (int32_t i = 0; i < t->change_count; i++) {
        struct change c = t->changes[i], o = outside(t, c);
        if (o.to >= (int32_t)s->now.count) o.to = (int32_t)s->now.count - 1;
        if (o.from <= o.to) {
            mark(t, o.from, c.bytes);
            mark(t, o.to + 1, -c.bytes);
            if (o.from < *from) *from = o.from;
            if (o.to > *to) *to = o.to;
        }
        int32_t first = c.from > t->place ? c.from - t->place : 0;
        int32_t last = (c.to < t->place + t->added ? c.to + 1 : t->place + t->added) - t->place;
        if (first >= last) continue;
        t->inside[first] += c.bytes;
        t->inside[last] -= c.bytes;
    }
    for (int32_t i = 0; i < t->lost_count; i++) {
        int32_t place = t->lost[i];
        t->lost_live[i] = s->live[place];
        s->live[place] = LOWEST;
        t->marked[place / PLIM__PLACES] = true;
        if (place < *from) *from = place;
        if (place > *to) *to = place;
    }
}

static void pick_up(plim__search *s) {
    struct plim__trials *t = s->trials;
    for (int32_t i = 0; i < t->change_count; i++) {
        struct change o = outside(t, t->changes[i]);
        if (o.to >= (int32_t)s->now.count) o.to = (int32_t)s->now.count - 1;
        if (o.from > o.to) continue;
        t->difference[o.from] = t->difference[o.to + 1] = 0;
        t->marked[o.from / PLIM__PLACES] = t->marked[(o.to + 1) / PLIM__PLACES] = false;
    }
    for (int32_t i = 0; i < t->lost_count; i++) {
        s->live[t->lost[i]] = t->lost_live[i];
        t->marked[t->lost[i] / PLIM__PLACES] = false;
    }
    memset(t->inside, 0, ((size_t)t->added + 1) * sizeof *t->inside);
}

/* At the steps put in. */
static int64_t excess_inside(const plim__search *s, int64_t target) {
    const struct plim__trials *t = s->trials;
    int64_t live = s->cut[t->place] - target, sum = 0;
    for (int32_t i = 0; i < t->added; i++) {
        live += t->inside[i];
        sum += positive(live + s->depend->scratch[t->into[i]]);
    }
    return sum;
}

/* At the places of `now` from `from` to `to`, as long as the sum is not enough. Blocks of places without differences in
 * them are looked up, or passed over when they are below the target all the same. */
static int64_t excess_outside(const plim__search *s, int32_t from, int32_t to, int64_t target, int64_t sum,
                              int64_t enough) {
    const struct plim__trials *t = s->trials;
    int64_t more = -target;
    while (from <= to && sum < enough) {
        int32_t block = from / PLIM__PLACES, next = (block + 1) * PLIM__PLACES;
        if (next > to + 1) next = to + 1;
        if (t->marked[block]) {
            for (; from < next; from++) {
                more += t->difference[from];
                sum += positive(s->live[from] + more);
            }
        } else if (more == -target) {
            sum += s->area[next] - s->area[from];
        } else if (s->block[block] + more > 0) {
            for (; from < next; from++) sum += positive(s->live[from] + more);
        }
        from = next;
    }
    return sum;
}

static int64_t excess(plim__search *s, int64_t target, int64_t enough) {
    struct plim__trials *t = s->trials;
    int32_t from = (int32_t)s->now.count, to = -1;
    put_down(s, &from, &to);
    int64_t sum = excess_inside(s, target);
    sum += from <= to ? s->area[from] + s->area[s->now.count] - s->area[to + 1] : s->area[s->now.count];
    sum = excess_outside(s, from, to, target, sum, enough);
    pick_up(s);
    for (int32_t i = 0; i < t->lost_count; i++) s->runs[s->now.steps[t->lost[i]]]++;
    for (int32_t i = 0; i < t->added; i++) s->runs[t->into[i]]--;
    return sum;
}

/* --- trials ----------------------------------------------------------------------------------------------------- */

static void begin(plim__search *s, int32_t place, const int32_t *into, int32_t added) {
    struct plim__trials *t = s->trials;
    t->stamp++;
    t->place = place;
    t->into = into;
    t->added = added;
    t->version_count = s->version_count;
    t->lost_count = t->moved_count = t->queued = t->change_count = 0;
}

int64_t plim__search_with(plim__search *s, const struct plim__drop *drop, int64_t target, int64_t enough) {
    s->work -= (int64_t)s->now.count / 4;
    begin(s, drop->place, drop->steps, drop->count);
    put_in(s);
    clean(s);
    place_versions(s);
    return excess(s, target, enough);
}

/* Added up in the order of the schedule: to the last bit what plim__search_cost says of it, so that drops rank the same
 * whichever is asked. */
double plim__search_more(const plim__search *s) {
    const struct plim__trials *t = s->trials;
    int32_t count = (int32_t)s->now.count, from = t->place;
    for (int32_t i = 0; i < t->lost_count; i++)
        if (t->lost[i] < from) from = t->lost[i];
    double sum = s->spent[from];
    for (; from < t->place; from++)
        if (t->gone[from] != t->stamp) sum += s->seconds[s->now.steps[from]];
    for (int32_t i = 0; i < t->added; i++) sum += s->seconds[t->into[i]];
    for (; from < count; from++) sum += s->seconds[s->now.steps[from]];
    return sum - s->spent[count];
}

int64_t plim__search_without(plim__search *s, int32_t place, int64_t target, int64_t enough) {
    const plim__depend *d = s->depend;
    int32_t step = s->now.steps[place], version = s->made[place];
    s->work -= (int64_t)s->now.count / 4;
    begin(s, place, NULL, 0);
    for (int32_t k = d->makes.start[step]; k < d->makes.start[step + 1]; k++, version++) { /* the run before serves */
        const plim__version *v = &s->versions[version];
        if (v->end > place && v->older >= 0) set_end(s->trials, v->older, v->end);
    }
    take_out(s, place);
    clean(s);
    place_versions(s);
    return excess(s, target, enough);
}
