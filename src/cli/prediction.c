/* Scores as answers. */
#include "cli/prediction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/format.h"
#include "cli/terminal.h"
#include "core/alloc.h"
#include "core/error.h"

enum { TARGET = 256 }; /* a name of one, shortened */

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
    if (p->kind != PLIM__NUMBERS && p->classes > 1 && names && names != p->classes)
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
    p->shares = NULL;
    p->order = NULL;
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
    for (int64_t i = 1; i < p->classes; i++) most = fmax(most, (double)scores[i]);
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

static void rank_classes(plim__prediction *p, const float *scores) {
    if (p->kind == PLIM__ONE_CLASS)
        soften(p, scores);
    else if (p->kind == PLIM__PIXEL_CLASSES)
        count_pixels(p, scores);
    else
        for (int64_t i = 0; i < p->classes; i++) p->shares[i] = 1 / (1 + exp(-(double)scores[i]));
    for (int64_t i = 0; i < p->classes; i++) p->order[i] = i;
    qsort_r(p->order, (size_t)p->classes, sizeof *p->order, by_share, p->shares);
}

static const char *name_of(const plim__prediction *p, int64_t class, char text[32]) {
    const char *name = plim_job_class_name(p->job, class);
    if (name) return name;
    snprintf(text, 32, "%lld", (long long)class);
    return text;
}

static int64_t shown(const plim__prediction *p) { return p->top < p->classes ? p->top : p->classes; }

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
    char text[32];
    for (int64_t i = 0; i < shown(p); i++)
        json_array_append_new(top, json_pack("{s:o, s:f}", "class", text_json(name_of(p, p->order[i], text)),
                                             "probability", p->shares[p->order[i]]));
    json_object_set(made, "class", json_object_get(json_array_get(top, 0), "class"));
    json_object_set(made, "probability", json_object_get(json_array_get(top, 0), "probability"));
    if (p->top > 1) json_object_set(made, "top", top);
    json_decref(top);
    return made;
}

static void print_quoted(FILE *stream, const char *text) {
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, stream);
        return;
    }
    fputc('"', stream);
    for (; *text; text++) fprintf(stream, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', stream);
}

static void print_csv(const plim__prediction *p, const char *sample, const float *scores) {
    char text[32];
    print_quoted(p->stream, sample);
    for (int64_t i = 0; p->kind == PLIM__NUMBERS && i < p->classes; i++) fprintf(p->stream, ",%.9g", (double)scores[i]);
    for (int64_t i = 0; p->kind != PLIM__NUMBERS && i < shown(p); i++) {
        fputc(',', p->stream);
        print_quoted(p->stream, name_of(p, p->order[i], text));
        fprintf(p->stream, ",%.6g", p->shares[p->order[i]]);
    }
    fputc('\n', p->stream);
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

/* A row where the screen has the columns for it, else a line for the sample and one for each of its answers. */
static void print_row(const plim__prediction *p, const char *sample, const float *scores) {
    char text[TARGET], name[4200];
    plim__terminal terminal = p->stream == stdout ? plim__terminal_of(1) : (plim__terminal){0};
    bool numbers = p->kind == PLIM__NUMBERS;
    int64_t answers = numbers ? p->classes : shown(p);
    plim__str row = {0}, lines = {0};
    snprintf(name, sizeof name, "%s", sample);
    plim__error_clean(name);
    plim__str_add(&lines, name);
    if (terminal.is_terminal) plim__terminal_cut_middle(&lines, terminal.width);
    plim__terminal_pad(&row, name, 24);
    for (int64_t i = 0; i < answers; i++) {
        plim__str one = {0};
        plim__str_add(&one, "  ");
        if (numbers && target_of(p, i, text, sizeof text))
            plim__str_addf(&one, "%s ", plim__shown(text));
        else if (!numbers)
            plim__terminal_pad(&one, plim__shown(name_of(p, p->order[i], text)), 16);
        if (numbers)
            plim__str_addf(&one, "%12.6g", (double)scores[i]);
        else
            plim__str_addf(&one, " %5.1f %%", 100 * p->shares[p->order[i]]);
        plim__str_add(&row, plim__str_text(&one));
        plim__str_addf(&lines, "\n%s", plim__str_text(&one));
        plim__str_free(&one);
    }
    bool fits = !terminal.is_terminal || plim__terminal_columns(plim__str_text(&row)) <= (size_t)terminal.width;
    fprintf(p->stream, "%s\n", plim__str_text(fits ? &row : &lines));
    plim__str_free(&row);
    plim__str_free(&lines);
}

static void print_header(plim__prediction *p) {
    const char *target = plim_job_target(p->job);
    bool many = p->kind == PLIM__NUMBERS && p->classes > 1;
    char name[TARGET];
    fputs("sample", p->stream);
    for (int64_t i = 0; p->kind == PLIM__NUMBERS && i < p->classes; i++) {
        fputc(',', p->stream);
        if (many && target_of(p, i, name, sizeof name))
            print_quoted(p->stream, name);
        else if (many)
            fprintf(p->stream, "value%lld", (long long)i + 1);
        else
            print_quoted(p->stream, target ? target : "value");
    }
    for (int64_t i = 0; p->kind != PLIM__NUMBERS && i < shown(p); i++) {
        if (i == 0)
            fputs(",class,probability", p->stream);
        else
            fprintf(p->stream, ",class%lld,probability%lld", (long long)i + 1, (long long)i + 1);
    }
    fputc('\n', p->stream);
}

void plim__prediction_add(plim__prediction *p, const char *sample, const float *scores) {
    if (p->kind != PLIM__NUMBERS) rank_classes(p, scores);
    if (p->list) {
        json_array_append_new(p->list, sample_json(p, sample, scores));
    } else if (p->format == PLIM__FORMAT_LINES) {
        json_t *made = sample_json(p, sample, scores);
        json_dumpf(made, p->stream, JSON_COMPACT | JSON_PRESERVE_ORDER);
        fputc('\n', p->stream);
        json_decref(made);
    } else if (p->format == PLIM__FORMAT_CSV) {
        if (!p->begun) print_header(p); /* before the first sample */
        p->begun = true;
        print_csv(p, sample, scores);
    } else {
        print_row(p, sample, scores);
    }
}
