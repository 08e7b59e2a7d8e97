/* Counting predictions. Everything is allocated when it is made. */
#include "plimsoll/measures.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/arguments.h"

/* Running sums of one column of numbers. */
typedef struct column {
    double mean, squares; /* of targets: Welford's */
    double errors;        /* squared */
} column;

struct plim_measures {
    plim_measures_options o;
    int64_t count, right, right5, places;
    int64_t *matrix;                    /* classes x classes: [label][predicted] */
    int64_t *hits, *labelled, *guessed; /* independent classes: both, is, said */
    column *columns;
    double absolute;
    float *probabilities; /* rank_room x classes */
    int64_t *labels;      /* rank_room, or rank_room x classes */
    int64_t ranked;       /* -1: more came than there is room for */
};

enum { MOST_COLUMNS = 65536 };

static bool is_matrix(const plim_measures_options *o) { return o->classes > 0 && !o->independent; }

static int64_t columns_of(const plim_measures_options *o) { return o->classes ? 0 : o->columns ? o->columns : 1; }

static plim_status check(const plim_measures_options *o, plim_error *error) {
    if (o->classes < 0 || o->classes > PLIM_MEASURES_MOST_CLASSES || o->columns < 0 || o->columns > MOST_COLUMNS ||
        o->rank_room < 0 || o->rank_room > (int64_t)1 << 32)
        return plim__fail(error, PLIM_INVALID, "measures of %lld classes (at most %d) and %lld columns, room for %lld",
                          (long long)o->classes, PLIM_MEASURES_MOST_CLASSES, (long long)o->columns,
                          (long long)o->rank_room);
    return PLIM_OK;
}

uint64_t plim_measures_bytes(const plim_measures_options *options) {
    if (!options || check(options, NULL) != PLIM_OK) return 0;
    uint64_t classes = (uint64_t)options->classes, room = (uint64_t)options->rank_room;
    uint64_t labels = options->independent ? room * classes : room;
    return sizeof(plim_measures) + (is_matrix(options) ? classes * classes : 3 * classes) * sizeof(int64_t) +
           (uint64_t)columns_of(options) * sizeof(column) + room * classes * sizeof(float) + labels * sizeof(int64_t);
}

plim_status plim_measures_create(const plim_measures_options *options, plim_measures **measures, plim_error *error) {
    plim_measures_options o;
    PLIM__NEED(measures, error);
    *measures = NULL;
    PLIM__OPTIONS(plim_measures_options, o, options, error);
    PLIM_TRY(check(&o, error));
    plim_measures *m = plim__alloc_zero(1, sizeof *m);
    if (!m) return plim__fail_memory(error, "measures", sizeof *m);
    m->o = o;
    size_t classes = (size_t)o.classes, room = (size_t)o.rank_room;
    bool good = true;
    if (is_matrix(&o)) good = (m->matrix = plim__alloc_zero(classes * classes, sizeof *m->matrix)) != NULL;
    if (o.independent && classes) {
        m->hits = plim__alloc_zero(3 * classes, sizeof *m->hits);
        good = m->hits != NULL;
        m->labelled = good ? m->hits + classes : NULL;
        m->guessed = good ? m->labelled + classes : NULL;
    }
    if (columns_of(&o)) good = (m->columns = plim__alloc_zero((size_t)columns_of(&o), sizeof *m->columns)) != NULL;
    if (good && room && classes) {
        m->probabilities = plim__alloc_array(room * classes, sizeof *m->probabilities);
        m->labels = plim__alloc_array(o.independent ? room * classes : room, sizeof *m->labels);
        good = m->probabilities && m->labels;
    }
    if (good) {
        *measures = m;
        return PLIM_OK;
    }
    plim_measures_free(m);
    return plim__fail_memory(error, "measures", plim_measures_bytes(&o));
}

void plim_measures_free(plim_measures *m) {
    if (!m) return;
    plim__free(m->matrix);
    plim__free(m->hits);
    plim__free(m->columns);
    plim__free(m->probabilities);
    plim__free(m->labels);
    plim__free(m);
}

void plim_measures_clear(plim_measures *m) {
    if (!m) return;
    size_t classes = (size_t)m->o.classes;
    if (m->matrix) memset(m->matrix, 0, classes * classes * sizeof *m->matrix);
    if (m->hits) memset(m->hits, 0, 3 * classes * sizeof *m->hits);
    if (m->columns) memset(m->columns, 0, (size_t)columns_of(&m->o) * sizeof *m->columns);
    m->count = m->right = m->right5 = m->ranked = m->places = 0;
    m->absolute = 0;
}

/* --- adding --------------------------------------------------------------------------------------------------- */

/* Softmax of scores that lie `stride` apart. */
static void hold(plim_measures *m, const float *scores, int64_t stride, int64_t label) {
    if (!m->probabilities || m->ranked < 0) return;
    if (m->ranked == m->o.rank_room) {
        m->ranked = -1;
        return;
    }
    float *to = m->probabilities + m->ranked * m->o.classes;
    double most = -INFINITY, sum = 0;
    for (int64_t k = 0; k < m->o.classes; k++) most = fmax(most, (double)scores[k * stride]);
    for (int64_t k = 0; k < m->o.classes; k++) sum += exp((double)scores[k * stride] - most);
    for (int64_t k = 0; k < m->o.classes; k++) to[k] = (float)(exp((double)scores[k * stride] - most) / sum);
    m->labels[m->ranked++] = label;
}

static void add_class(plim_measures *m, const float *scores, int64_t stride, int64_t label) {
    int64_t best = 0, above = 0;
    float own = scores[label * stride];
    for (int64_t k = 0; k < m->o.classes; k++) {
        if (scores[k * stride] > scores[best * stride]) best = k;
        above += scores[k * stride] > own || (scores[k * stride] == own && k < label);
    }
    m->matrix[label * m->o.classes + best]++;
    m->count++;
    m->right += best == label;
    m->right5 += above < 5;
    hold(m, scores, stride, label);
}

plim_status plim_measures_add_classes(plim_measures *measures, const float *scores, const int64_t *labels,
                                      int64_t count, int64_t places, plim_error *error) {
    PLIM__NEED(measures, error);
    PLIM__NEED(scores, error);
    PLIM__NEED(labels, error);
    if (!is_matrix(&measures->o) || count < 0 || places < 1)
        return plim__fail(error, PLIM_INVALID, "these measures are not of classes, or %lld x %lld predictions",
                          (long long)count, (long long)places);
    if (places > measures->places) measures->places = places;
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < places; k++) {
            int64_t label = labels[i * places + k];
            if (label >= 0 && label < measures->o.classes)
                add_class(measures, scores + i * measures->o.classes * places + k, places, label);
        }
    return PLIM_OK;
}

static void add_independent(plim_measures *m, const float *scores, const float *targets) {
    bool room = m->probabilities && m->ranked >= 0 && m->ranked < m->o.rank_room;
    for (int64_t k = 0; k < m->o.classes; k++) {
        bool is = targets[k] > 0.5f, said = scores[k] > 0;
        m->labelled[k] += is;
        m->guessed[k] += said;
        m->hits[k] += is && said;
        m->right += is == said;
        m->count++;
        if (!room) continue;
        m->probabilities[m->ranked * m->o.classes + k] = scores[k];
        m->labels[m->ranked * m->o.classes + k] = is;
    }
    if (m->probabilities) m->ranked = room ? m->ranked + 1 : -1;
}

static void add_row(plim_measures *m, const float *scores, const float *targets) {
    int64_t columns = columns_of(&m->o);
    int64_t before = m->count / columns;
    double rows = (double)before + 1;
    for (int64_t k = 0; k < columns; k++) {
        column *c = &m->columns[k];
        double error = (double)scores[k] - (double)targets[k], off = (double)targets[k] - c->mean;
        c->mean += off / rows;
        c->squares += off * ((double)targets[k] - c->mean);
        c->errors += error * error;
        m->absolute += fabs(error);
    }
    m->count += columns;
}

plim_status plim_measures_add_numbers(plim_measures *measures, const float *scores, const float *targets, int64_t count,
                                      plim_error *error) {
    PLIM__NEED(measures, error);
    PLIM__NEED(scores, error);
    PLIM__NEED(targets, error);
    if (is_matrix(&measures->o) || count < 0)
        return plim__fail(error, PLIM_INVALID, "these measures are of classes, or %lld predictions", (long long)count);
    int64_t each = measures->o.classes ? measures->o.classes : columns_of(&measures->o);
    for (int64_t i = 0; i < count; i++) {
        if (measures->o.classes)
            add_independent(measures, scores + i * each, targets + i * each);
        else
            add_row(measures, scores + i * each, targets + i * each);
    }
    return PLIM_OK;
}

/* --- results -------------------------------------------------------------------------------------------------- */

typedef struct counts {
    int64_t hits, labelled, guessed;
} counts;

static counts counts_of(const plim_measures *m, int64_t class) {
    if (!m->matrix) return (counts){m->hits[class], m->labelled[class], m->guessed[class]};
    counts of = {.hits = m->matrix[class * m->o.classes + class]};
    for (int64_t k = 0; k < m->o.classes; k++) {
        of.labelled += m->matrix[class * m->o.classes + k];
        of.guessed += m->matrix[k * m->o.classes + class];
    }
    return of;
}

static double share(int64_t part, int64_t of) { return of > 0 ? (double)part / (double)of : 0; }

void plim_measures_get_class(const plim_measures *m, int64_t index, plim_measures_class *of) {
    if (!of) return;
    *of = (plim_measures_class){0};
    if (!m || index < 0 || index >= m->o.classes) return;
    counts c = counts_of(m, index);
    of->support = c.labelled;
    of->predicted = c.guessed;
    of->precision = share(c.hits, c.guessed);
    of->recall = share(c.hits, c.labelled);
    of->f1 = share(2 * c.hits, c.guessed + c.labelled);
    of->iou = share(c.hits, c.guessed + c.labelled - c.hits);
}

int64_t plim_measures_confusion(const plim_measures *m, int64_t label, int64_t predicted) {
    if (!m || !m->matrix || label < 0 || predicted < 0 || label >= m->o.classes || predicted >= m->o.classes) return 0;
    return m->matrix[label * m->o.classes + predicted];
}

typedef struct ranking {
    float score;
    bool is;
} ranking;

static int by_score(const void *a, const void *b) {
    const ranking *x = a, *y = b;
    return (x->score > y->score) - (x->score < y->score);
}

/* Mann and Whitney: the share of pairs that are ordered right, ties half. NaN when there are no pairs. */
static double area(const plim_measures *m, int64_t class, ranking *order) {
    double ranks = 0, is = 0, count = (double)m->ranked;
    for (int64_t i = 0; i < m->ranked; i++) {
        int64_t label = m->o.independent ? m->labels[i * m->o.classes + class] : m->labels[i] == class;
        order[i] = (ranking){m->probabilities[i * m->o.classes + class], label != 0};
    }
    qsort(order, (size_t)m->ranked, sizeof *order, by_score);
    for (int64_t from = 0, to; from < m->ranked; from = to) {
        int64_t here = 0;
        for (to = from; to < m->ranked && order[to].score == order[from].score; to++) here += order[to].is;
        ranks += (double)here * ((double)(from + to + 1) / 2); /* the mean rank of equal scores, from 1 */
        is += (double)here;
    }
    return is > 0 && is < count ? (ranks - is * (is + 1) / 2) / (is * (count - is)) : (double)NAN;
}

static double mean_area(const plim_measures *m) {
    if (!m->probabilities || m->ranked < 1) return (double)NAN;
    ranking *order = plim__alloc_array((size_t)m->ranked, sizeof *order);
    if (!order) return (double)NAN;
    double sum = 0;
    int64_t from = m->o.classes == 2 && !m->o.independent;
    for (int64_t k = from; k < m->o.classes; k++) sum += area(m, k, order); /* NaN when a class never occurs */
    plim__free(order);
    return sum / (double)(m->o.classes - from);
}

static void sum_classes(const plim_measures *m, plim_measures_summary *s) {
    double seen = 0;
    s->precision = s->recall = s->f1 = s->iou = 0;
    for (int64_t k = 0; k < m->o.classes; k++) {
        plim_measures_class of;
        plim_measures_get_class(m, k, &of);
        if (of.support == 0 && of.predicted == 0) continue;
        seen++;
        s->precision += of.precision;
        s->recall += of.recall;
        s->f1 += of.f1;
        s->iou += of.iou;
    }
    if (seen == 0) return;
    s->precision /= seen;
    s->recall /= seen;
    s->f1 /= seen;
    s->iou /= seen;
}

static void sum_numbers(const plim_measures *m, plim_measures_summary *s) {
    int64_t columns = columns_of(&m->o);
    s->mean_absolute = m->absolute / (double)m->count;
    s->root_mean_square = s->r2 = 0;
    for (int64_t k = 0; k < columns; k++) {
        const column *c = &m->columns[k];
        double part = c->squares > 0 ? 1 - c->errors / c->squares : c->errors > 0 ? 0 : 1;
        s->r2 += part / (double)columns;
        s->root_mean_square += sqrt(c->errors * (double)columns / (double)m->count) / (double)columns;
    }
}

void plim_measures_get(const plim_measures *m, plim_measures_summary *s) {
    if (!s) return;
    const double no = (double)NAN;
    *s = (plim_measures_summary){0, 0, no, no, no, no, no, no, no, no, no, no};
    if (!m || m->count == 0) return;
    s->places = m->places;
    s->count = m->count;
    if (m->o.classes == 0) {
        sum_numbers(m, s);
        return;
    }
    s->accuracy = share(m->right, m->count);
    if (m->matrix && m->o.classes > 5) s->top5 = share(m->right5, m->count);
    sum_classes(m, s);
    s->auc = mean_area(m);
}
