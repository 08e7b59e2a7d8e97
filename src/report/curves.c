/* Series of a run over its updates. A sample knows its tick alone, and ticks stand still while updates are only sampled; but
 * recorded updates have a mark with their number, and what lies between two of them is spread evenly:
 *
 *   marks       1     2     3                          100
 *   samples     x     x     x  x  x  x  x  x  x  x  x  x
 */
#include "report/curves.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"

static double value_at(const plim__timeline_series *series, size_t i) {
    double number;
    uint64_t bits = series->samples.items[i].bytes;
    if (!series->numbers) return (double)bits;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static const plim__timeline_series *find_series(const plim__timeline *timeline, const char *name) {
    for (size_t i = 0; i < timeline->series.count; i++)
        if (strcmp(plim__timeline_get(timeline, timeline->series.items[i].name), name) == 0)
            return &timeline->series.items[i];
    return NULL;
}

/* The next mark of a step at or after `i`; the count of marks for none. */
static size_t next_step(const plim__timeline *timeline, size_t i) {
    while (i < timeline->marks.count && timeline->marks.items[i].type != PLIM__MARK_STEP) i++;
    return i;
}

/* The number of the update that each sample was taken after. */
static bool find_updates(const plim__timeline *timeline, const plim__timeline_series *series, double *updates) {
    size_t count = series->samples.count, mark = next_step(timeline, 0), done = 0;
    double rate = 1; /* updates a sample */
    if (mark == timeline->marks.count) return false;
    while (done < count) {
        const plim__timeline_mark *here = &timeline->marks.items[mark];
        size_t after = next_step(timeline, mark + 1), end = done;
        bool last = after == timeline->marks.count;
        while (end < count && (last || series->samples.items[end].tick <= timeline->marks.items[after].tick)) end++;
        if (!last && end > done)
            rate = (double)(timeline->marks.items[after].value - here->value) / (double)(end - done);
        for (size_t i = done; i < end; i++) updates[i] = floor((double)here->value + (double)(i - done) * rate);
        done = end;
        if (last) break;
        mark = after;
    }
    return done == count;
}

/* Means of numbers, the most of bytes; a value that is not finite is left out. */
static void join(const plim__timeline_series *series, size_t from, size_t to, double *value) {
    double sum = 0, most = 0;
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        double v = value_at(series, i);
        if (!isfinite(v)) continue;
        sum += v;
        if (count++ == 0 || v > most) most = v;
    }
    *value = count == 0 ? (double)NAN : series->numbers ? sum / (double)count : most;
}

static json_t *make(const plim__timeline_series *series, const double *updates, const plim__timeline_series *own) {
    enum { MOST = 400 };
    size_t count = series->samples.count, points = count < MOST ? count : MOST;
    json_t *x = json_array(), *y = json_array();
    int bad = 0;
    for (size_t i = 0; i < points; i++) {
        size_t from = i * count / points, to = (i + 1) * count / points;
        double value;
        join(series, from, to, &value);
        if (isnan(value)) continue;
        bad |= json_array_append_new(x, json_real(own ? value_at(own, to - 1) : updates[to - 1]));
        bad |= json_array_append_new(y, json_real(value));
    }
    json_t *curve = json_pack("{s:o, s:o}", "updates", x, "values", y);
    if (!bad) return curve;
    json_decref(curve);
    return NULL;
}

json_t *plim__curve_json(const plim__timeline *timeline, const plim__timeline_series *series) {
    const char *name = plim__timeline_get(timeline, series->name);
    const char *kept = strncmp(name, "validation ", 11) == 0 ? "validated update"
                       : strcmp(name, "budget") == 0         ? "budget update"
                       : strcmp(name, "loss scale") == 0     ? "loss scale update"
                                                             : NULL; /* the series with its updates */
    const plim__timeline_series *own = kept ? find_series(timeline, kept) : NULL;
    if (timeline->source != PLIM__SOURCE_RUN || series->samples.count == 0 || (kept && !own) ||
        strcmp(name, "validated update") == 0 || strcmp(name, "budget update") == 0 ||
        strcmp(name, "loss scale update") == 0)
        return json_null();
    if (own) return own->samples.count >= series->samples.count ? make(series, NULL, own) : json_null();
    double *updates = plim__alloc_array(series->samples.count, sizeof *updates);
    if (!updates) return NULL;
    json_t *curve = find_updates(timeline, series, updates) ? make(series, updates, NULL) : json_null();
    plim__free(updates);
    return curve;
}
