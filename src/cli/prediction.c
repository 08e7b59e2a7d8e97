/* Scores as answers. */
#include "cli/prediction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/format.h"
#include "cli/terminal.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/number.h"

enum { TARGET = 256 }; /* a name of one, shortened */
enum { FEW = 16 };     /* classes that are found without sorting all */
enum { LEAST_NAME = 24, MOST_NAME = 72, LEAST_CLASS = 16, MOST_CLASS = 40 }; /* columns of a table */

/* --- what it means -------------------------------------------------------------------------------------------- */

static bool is_regression(const plim_loss *loss) {
    return loss && (loss->kind == PLIM_LOSS_MSE || loss->kind == PLIM_LOSS_L1 || loss->kind == PLIM_LOSS_HUBER);
}

static void read_shape(plim__prediction *p, int rank, const int64_t *dims, const plim_loss *loss) {
    int64_t all = 1;
    for (int i = 1; i < rank; i++) all *= dims[i];
    p->places = 1;
    p->classes = all;
    if (is_regression(loss) || (all == 1 && !(loss && loss->kind == PLIM_LOSS_BCE_WITH_LOGITS))) {
        p->kind = PLIM__NUMBERS;
    } else if (loss && loss->kind == PLIM_LOSS_BCE_WITH_LOGITS) {
        p->kind = PLIM__MANY_CLASSES;
    } else if (rank == 4 && dims[2] * dims[3] > 1) {
        p->kind = PLIM__PIXEL_CLASSES;
        p->classes = dims[1];
        p->places = dims[2] * dims[3];
    } else {
        p->kind = PLIM__ONE_CLASS;
    }
}

plim_status plim__prediction_begin(plim__prediction *p, int rank, const int64_t *dims, const plim_loss *loss,
                                   plim_error *error) {
    if (rank == 3 && dims[1] > 1)
        return plim__fail(error, PLIM_UNSUPPORTED,
                          "the model has scores for each of %lld positions; --prompt TEXT continues a text",
                          (long long)dims[1]);
    read_shape(p, rank, dims, loss);
    if (p->kind == PLIM__NUMBERS && p->top > 1)
        return plim__fail(error, PLIM_INVALID, "--top has no effect: the model predicts numbers, not classes");
    int names = plim_job_class_count(p->job);
    if (p->kind != PLIM__NUMBERS && p->classes > 1 && names > p->classes) /* fewer: the others have numbers */
        return plim__fail(error, PLIM_INVALID, "the model has %lld scores, and remembers %d classes",
                          (long long)p->classes, names);
    p->shares = plim__alloc_array((size_t)p->classes, sizeof *p->shares);
    p->order = plim__alloc_array((size_t)p->classes, sizeof *p->order);
    p->begun = false;
    if (p->shares && p->order) return PLIM_OK;
    return plim__fail_memory(error, "probabilities", (size_t)p->classes * (sizeof *p->shares + sizeof *p->order));
}

void plim__prediction_end(plim__prediction *p) {
    plim__free(p->shares);
    plim__free(p->order);
    plim__str_free(&p->rows);
    p->shares = NULL;
    p->order = NULL;
}

static const char *name_of(const plim__prediction *p, int64_t class, char text[PLIM__NUMBER_TEXT]) {
    const char *name = plim_job_class_name(p->job, class);
    if (name) return name;
    plim__number_whole(class, text);
    return text;
}

static int wider(int width, const char *text, int most) {
    int columns = (int)plim__terminal_columns(plim__shown(text));
    return columns <= width ? width : columns < most ? columns : most;
}

void plim__prediction_room(plim__prediction *p, const char *sample) {
    char text[PLIM__NUMBER_TEXT];
    if (p->format != PLIM__FORMAT_TABLE || p->list) return;
    if (!p->name_width) {
        plim__terminal terminal = p->stream == stdout ? plim__terminal_of(1) : (plim__terminal){0};
        p->screen = terminal.is_terminal ? terminal.width : 0;
        p->name_width = wider(LEAST_NAME, p->longest ? p->longest : "", MOST_NAME);
        p->class_width = LEAST_CLASS;
        for (int64_t i = 0; p->kind != PLIM__NUMBERS && i < p->classes; i++)
            p->class_width = wider(p->class_width, name_of(p, i, text), MOST_CLASS);
    }
    p->name_width = wider(p->name_width, sample, MOST_NAME);
}

/* --- one sample ----------------------------------------------------------------------------------------------- */

/* A model may end in a softmax of its own: numbers from 0 to 1 that add up to 1. */
static bool are_probabilities(const float *scores, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!(scores[i] >= 0 && scores[i] <= 1)) return false;
        sum += (double)scores[i];
    }
    return fabs(sum - 1) < 1e-4;
}

static void soften(plim__prediction *p, const float *scores) {
    double most = (double)scores[0], sum = 0;
    if (are_probabilities(scores, p->classes)) {
        for (int64_t i = 0; i < p->classes; i++) p->shares[i] = (double)scores[i];
        return;
    }
    for (int64_t i = 1; i < p->classes; i++)
        if ((double)scores[i] > most) most = (double)scores[i];
    for (int64_t i = 0; i < p->classes; i++) sum += p->shares[i] = exp((double)scores[i] - most);
    for (int64_t i = 0; i < p->classes; i++) p->shares[i] /= sum;
}

/* The share of pixels whose largest score is that of the class. */
static void count_pixels(plim__prediction *p, const float *scores) {
    for (int64_t i = 0; i < p->classes; i++) p->shares[i] = 0;
    for (int64_t k = 0; k < p->places; k++) {
        int64_t best = 0;
        for (int64_t i = 1; i < p->classes; i++)
            if (scores[i * p->places + k] > scores[best * p->places + k]) best = i;
        p->shares[best] += 1 / (double)p->places;
    }
}

static int by_share(const void *a, const void *b, void *shares) {
    const double *of = shares, x = of[*(const int64_t *)a], y = of[*(const int64_t *)b];
    if (x != y) return x > y ? -1 : 1;
    return *(const int64_t *)a < *(const int64_t *)b ? -1 : 1;
}

static int64_t shown(const plim__prediction *p) { return p->top < p->classes ? p->top : p->classes; }

/* The first `count` of what sorting all would give: most classes are seen once and passed over. */
static void find_first(plim__prediction *p, int64_t count) {
    int64_t found = 0;
    for (int64_t i = 0; i < p->classes; i++) {
        int64_t at = found;
        while (at > 0 && p->shares[i] > p->shares[p->order[at - 1]]) at--;
        if (at == count) continue;
        if (found < count) found++;
        for (int64_t k = found - 1; k > at; k--) p->order[k] = p->order[k - 1];
        p->order[at] = i;
    }
}

static void rank_classes(plim__prediction *p, const float *scores) {
    if (p->kind == PLIM__ONE_CLASS)
        soften(p, scores);
    else if (p->kind == PLIM__PIXEL_CLASSES)
        count_pixels(p, scores);
    else
        for (int64_t i = 0; i < p->classes; i++) p->shares[i] = 1 / (1 + exp(-(double)scores[i]));
    if (shown(p) <= FEW) {
        find_first(p, shown(p));
        return;
    }
    for (int64_t i = 0; i < p->classes; i++) p->order[i] = i;
    qsort_r(p->order, (size_t)p->classes, sizeof *p->order, by_share, p->shares);
}

/* --- printing ------------------------------------------------------------------------------------------------- */

static json_t *text_json(const char *text) {
    char clean[4200];
    snprintf(clean, sizeof clean, "%s", text);
    plim__error_clean(clean);
    return json_string(clean);
}

static json_t *sample_json(const plim__prediction *p, const char *sample, const float *scores) {
    json_t *made = json_object();
    json_object_set_new(made, "sample", text_json(sample));
    if (p->kind == PLIM__NUMBERS) {
        json_t *values = json_array();
        for (int64_t i = 0; i < p->classes; i++) json_array_append_new(values, json_real((double)scores[i]));
        json_object_set(made, "value", p->classes == 1 ? json_array_get(values, 0) : values);
        json_decref(values);
        return made;
    }
    json_t *top = json_array();
    char text[PLIM__NUMBER_TEXT];
    for (int64_t i = 0; i < shown(p); i++)
        json_array_append_new(top, json_pack("{s:o, s:f}", "class", text_json(name_of(p, p->order[i], text)),
                                             "probability", p->shares[p->order[i]]));
    json_object_set(made, "class", json_object_get(json_array_get(top, 0), "class"));
    json_object_set(made, "probability", json_object_get(json_array_get(top, 0), "probability"));
    if (p->top > 1) json_object_set(made, "top", top);
    json_decref(top);
    return made;
}

static void add_general(plim__str *out, double value, int digits) {
    char text[PLIM__NUMBER_TEXT];
    plim__str_addn(out, text, plim__number_general(value, digits, text));
}

static void add_quoted(plim__str *out, const char *text) {
    if (!text[strcspn(text, ",\"\r\n")]) {
        plim__str_add(out, text);
        return;
    }
    plim__str_addc(out, '"');
    for (; *text; text++) {
        if (*text == '"') plim__str_addc(out, '"');
        plim__str_addc(out, *text);
    }
    plim__str_addc(out, '"');
}

static void add_csv(plim__prediction *p, const char *sample, const float *scores) {
    char text[PLIM__NUMBER_TEXT];
    plim__str *out = &p->rows;
    add_quoted(out, sample);
    for (int64_t i = 0; p->kind == PLIM__NUMBERS && i < p->classes; i++) {
        plim__str_addc(out, ',');
        add_general(out, (double)scores[i], 9);
    }
    for (int64_t i = 0; p->kind != PLIM__NUMBERS && i < shown(p); i++) {
        plim__str_addc(out, ',');
        add_quoted(out, name_of(p, p->order[i], text));
        plim__str_addc(out, ',');
        add_general(out, p->shares[p->order[i]], 6);
    }
    plim__str_addc(out, '\n');
}

/* The name of the i-th of several numbers: the model remembers --target a,b. */
static bool target_of(const plim__prediction *p, int64_t i, char *text, size_t size) {
    const char *target = plim_job_target(p->job), *comma = target;
    int64_t names = 1;
    while (target && (comma = strchr(comma, ','))) names++, comma++;
    if (!target || p->classes == 1 || names != p->classes) return false;
    for (; i > 0; i--) target = strchr(target, ',') + 1;
    snprintf(text, size, "%.*s", (int)strcspn(target, ","), target);
    return true;
}

/* A number at the right end of its columns. */
static void add_right(plim__str *out, const char *number, size_t length, size_t columns) {
    for (; columns > length; columns--) plim__str_addc(out, ' ');
    plim__str_addn(out, number, length);
}

/* What the sample was found to be: a class with its probability, or a number with its name where there are several. */
static void add_answer(const plim__prediction *p, int64_t i, const float *scores, plim__str *out) {
    char text[PLIM__NUMBER_TEXT];
    plim__str_addn(out, "  ", 2);
    if (p->kind != PLIM__NUMBERS) {
        plim__terminal_pad(out, plim__shown(name_of(p, p->order[i], text)), p->class_width);
        plim__str_addc(out, ' ');
        add_right(out, text, plim__number_fixed(100 * p->shares[p->order[i]], 1, text), 5);
        plim__str_addn(out, " %", 2);
        return;
    }
    if (target_of(p, i, text, sizeof text)) plim__str_addf(out, "%s ", plim__shown(text));
    add_right(out, text, plim__number_general((double)scores[i], 6, text), 12);
}

/* A line for the sample and one for each of its answers: for screens that have no room for a row. */
static void add_lines(plim__prediction *p, const char *sample, const float *scores, int64_t answers) {
    plim__str line = {0};
    plim__str_add(&line, plim__shown(sample));
    plim__terminal_cut_middle(&line, p->screen);
    plim__str_add(&p->rows, plim__str_text(&line));
    plim__str_free(&line);
    for (int64_t i = 0; i < answers; i++) {
        plim__str_addc(&p->rows, '\n');
        add_answer(p, i, scores, &p->rows);
    }
}

static void add_row(plim__prediction *p, const char *sample, const float *scores) {
    int64_t answers = p->kind == PLIM__NUMBERS ? p->classes : shown(p);
    size_t start = p->rows.length;
    plim__terminal_pad(&p->rows, plim__shown(sample), p->name_width);
    for (int64_t i = 0; i < answers; i++) add_answer(p, i, scores, &p->rows);
    if (p->screen && plim__terminal_columns(plim__str_text(&p->rows) + start) > (size_t)p->screen) {
        p->rows.length = start;
        add_lines(p, sample, scores, answers);
    }
    plim__str_addc(&p->rows, '\n');
}

/* --- JSON lines ----------------------------------------------------------------------------------------------- */

static bool is_plain(const char *text) {
    const unsigned char *c = (const unsigned char *)text;
    while (*c >= 0x20 && *c < 0x7f && *c != '"' && *c != '\\') c++;
    return !*c;
}

static void add_text(plim__str *out, const char *text) {
    char clean[4200];
    plim__str_addc(out, '"');
    if (is_plain(text)) {
        plim__str_add(out, text);
        plim__str_addc(out, '"');
        return;
    }
    snprintf(clean, sizeof clean, "%s", text);
    plim__error_clean(clean); /* no control characters are left */
    for (const char *c = clean; *c; c++) {
        if (*c == '"' || *c == '\\') plim__str_addc(out, '\\');
        plim__str_addc(out, *c);
    }
    plim__str_addc(out, '"');
}

/* As a number with a fraction; JSON has no word for what is not finite. */
static void add_number(plim__str *out, double value) {
    size_t start = out->length;
    if (!isfinite(value)) {
        plim__str_add(out, "null");
        return;
    }
    add_general(out, value, 9);
    if (!strpbrk(plim__str_text(out) + start, ".e")) plim__str_addn(out, ".0", 2);
}

static void add_class(const plim__prediction *p, int64_t i, plim__str *out) {
    char text[PLIM__NUMBER_TEXT];
    plim__str_add(out, "\"class\":");
    add_text(out, name_of(p, p->order[i], text));
    plim__str_add(out, ",\"probability\":");
    add_number(out, p->shares[p->order[i]]);
}

static void add_line(plim__prediction *p, const char *sample, const float *scores) {
    plim__str *out = &p->rows;
    bool several = p->kind == PLIM__NUMBERS ? p->classes != 1 : p->top > 1;
    plim__str_add(out, "{\"sample\":");
    add_text(out, sample);
    if (p->kind == PLIM__NUMBERS) {
        plim__str_add(out, several ? ",\"value\":[" : ",\"value\":");
        for (int64_t i = 0; i < p->classes; i++) {
            if (i) plim__str_addc(out, ',');
            add_number(out, (double)scores[i]);
        }
    } else {
        plim__str_addc(out, ',');
        add_class(p, 0, out);
        if (several) plim__str_add(out, ",\"top\":[");
        for (int64_t i = 0; several && i < shown(p); i++) {
            plim__str_add(out, i ? ",{" : "{");
            add_class(p, i, out);
            plim__str_addc(out, '}');
        }
    }
    plim__str_add(out, several ? "]}\n" : "}\n");
}

/* --- CSV, and all --------------------------------------------------------------------------------------------- */

static void add_header(plim__prediction *p) {
    const char *target = plim_job_target(p->job);
    bool many = p->kind == PLIM__NUMBERS && p->classes > 1;
    plim__str *out = &p->rows;
    char name[TARGET];
    plim__str_add(out, "sample");
    for (int64_t i = 0; p->kind == PLIM__NUMBERS && i < p->classes; i++) {
        plim__str_addc(out, ',');
        if (many && target_of(p, i, name, sizeof name))
            add_quoted(out, name);
        else if (many)
            plim__str_addf(out, "value%lld", (long long)i + 1);
        else
            add_quoted(out, target ? target : "value");
    }
    for (int64_t i = 0; p->kind != PLIM__NUMBERS && i < shown(p); i++) {
        if (i == 0)
            plim__str_add(out, ",class,probability");
        else
            plim__str_addf(out, ",class%lld,probability%lld", (long long)i + 1, (long long)i + 1);
    }
    plim__str_addc(out, '\n');
}

void plim__prediction_add(plim__prediction *p, const char *sample, const float *scores) {
    if (p->kind != PLIM__NUMBERS) rank_classes(p, scores);
    if (p->list) {
        json_array_append_new(p->list, sample_json(p, sample, scores));
    } else if (p->format == PLIM__FORMAT_LINES) {
        add_line(p, sample, scores);
    } else if (p->format == PLIM__FORMAT_CSV) {
        if (!p->begun) add_header(p); /* before the first sample */
        p->begun = true;
        add_csv(p, sample, scores);
    } else {
        add_row(p, sample, scores);
    }
}

plim_status plim__prediction_show(plim__prediction *p, plim_error *error) {
    if (p->rows.failed) return plim__fail_memory(error, "predictions as text", p->rows.length);
    if (p->rows.length) fwrite(plim__str_text(&p->rows), 1, p->rows.length, p->stream);
    plim__str_clear(&p->rows);
    return PLIM_OK;
}
