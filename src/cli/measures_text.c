/* Printing measures. */
#include "cli/measures_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/format.h"
#include "cli/terminal.h"
#include "core/str.h"

enum { MOST_PRINTED = 40, MOST_COLUMNS = 12, NAME_WIDTH = 16, LEAST_WIDTH = 9 };

static bool find_shape(const plim_graph *model, const plim_loss *loss, int *rank, int64_t dims[PLIM_MAX_RANK]) {
    plim_value v = loss->output ? plim_graph_find(model, loss->output) : plim_graph_output_at(model, 0);
    *rank = v == PLIM_NO_VALUE ? -1 : plim_graph_value_shape(model, v, dims);
    return *rank > 0 && loss->kind != PLIM_LOSS_MODEL;
}

bool plim__measures_find(const plim_graph *model, const plim_loss *loss, int64_t samples, uint64_t rank_bytes,
                         plim_measures_options *options) {
    int rank;
    int64_t dims[PLIM_MAX_RANK], width = 1;
    *options = (plim_measures_options){0};
    if (!find_shape(model, loss, &rank, dims)) return false;
    if (loss->kind == PLIM_LOSS_CROSS_ENTROPY) {
        if ((rank != 2 && rank != 4) || dims[1] < 2 || dims[1] > PLIM_MEASURES_MOST_CLASSES) return false;
        options->classes = dims[1];
        width = dims[1] + 2;
    } else {
        for (int i = 1; i < rank; i++) {
            if (dims[i] < 1) return false; /* only known when it runs */
            width *= dims[i];
        }
        if (width > PLIM_MEASURES_MOST_CLASSES) return false;
        options->independent = loss->kind == PLIM_LOSS_BCE_WITH_LOGITS;
        if (options->independent)
            options->classes = width;
        else
            options->columns = width;
        width *= 3;
    }
    bool few = options->classes && rank != 4 && (uint64_t)samples * (uint64_t)width * sizeof(float) <= rank_bytes;
    options->rank_room = few ? samples : 0;
    return true;
}

static const struct number {
    const char *key, *words;
    size_t offset;
} numbers[] = {
    {"top5", "top-5", offsetof(plim_measures_summary, top5)},
    {"precision", "precision", offsetof(plim_measures_summary, precision)},
    {"recall", "recall", offsetof(plim_measures_summary, recall)},
    {"f1", "F1", offsetof(plim_measures_summary, f1)},
    {"iou", "IoU", offsetof(plim_measures_summary, iou)},
    {"auc", "AUC", offsetof(plim_measures_summary, auc)},
    {"mean_absolute_error", "MAE", offsetof(plim_measures_summary, mean_absolute)},
    {"root_mean_square_error", "RMSE", offsetof(plim_measures_summary, root_mean_square)},
    {"r2", "R2", offsetof(plim_measures_summary, r2)},
};

static double number_of(const plim_measures_summary *s, size_t i) {
    return *(const double *)(const void *)((const char *)s + numbers[i].offset);
}

bool plim__measures_at(const plim_measures *measures, size_t index, const char **key, double *value) {
    plim_measures_summary s;
    if (index >= sizeof numbers / sizeof *numbers) return false;
    *key = numbers[index].key;
    *value = (double)NAN;
    if (!measures) return true;
    plim_measures_get(measures, &s);
    *value = number_of(&s, index);
    return true;
}

void plim__measures_line(const plim_measures *measures, char *text, size_t size) {
    plim_measures_summary s;
    size_t length = 0;
    plim_measures_get(measures, &s);
    *text = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && length < size; i++)
        if (!isnan(number_of(&s, i)) && (s.places > 1 || numbers[i].offset != offsetof(plim_measures_summary, iou)))
            length += (size_t)snprintf(text + length, size - length, "%s%s %.4g", length ? ", " : "", numbers[i].words,
                                       number_of(&s, i));
}

static const char *class_name(const plim_job *job, const plim_data *data, int64_t index, char text[24]) {
    const char *name = plim_job_class_name(job, index);
    if (!name && data) name = plim_data_class_name(data, index);
    if (name) return name;
    snprintf(text, 24, "%lld", (long long)index);
    return text;
}

/* A name in `width` columns, elided in the middle where it has more. */
static void print_name(const char *name, int width, bool right) {
    plim__str text = {0};
    plim__str_add(&text, plim__shown(name));
    plim__terminal_cut_middle(&text, width);
    int room = width - (int)plim__terminal_columns(plim__str_text(&text));
    printf("%*s%s%*s", right ? room : 0, "", plim__str_text(&text), right ? 0 : room, "");
    plim__str_free(&text);
}

/* Columns as wide as the longest name, where the screen has room for that. */
static int matrix_width(int64_t classes, int room, const plim_job *job, const plim_data *data) {
    char text[24];
    int widest = LEAST_WIDTH;
    for (int64_t k = 0; k < classes; k++) {
        int width = (int)plim__terminal_columns(plim__shown(class_name(job, data, k, text)));
        if (width > widest) widest = width;
    }
    int most = (int)(room / classes) - 1;
    return widest < most ? widest : most;
}

/* `name` columns for names. */
static void print_matrix(const plim_measures *m, int64_t classes, int name, const plim_job *job,
                         const plim_data *data) {
    char text[24];
    int width = matrix_width(classes, plim__terminal_of(1).width - name, job, data);
    plim__terminal_line(stdout, "\nconfusion: rows are what they are, columns what was predicted");
    printf("%-*s", name, "");
    for (int64_t k = 0; k < classes; k++) putchar(' '), print_name(class_name(job, data, k, text), width, true);
    putchar('\n');
    for (int64_t i = 0; i < classes; i++) {
        print_name(class_name(job, data, i, text), name, false);
        for (int64_t k = 0; k < classes; k++) printf(" %*lld", width, (long long)plim_measures_confusion(m, i, k));
        putchar('\n');
    }
}

void plim__measures_print(const plim_measures *m, int64_t classes, const plim_job *job, const plim_data *data) {
    char line[400], text[24];
    plim__measures_line(m, line, sizeof line);
    if (*line) plim__terminal_line(stdout, "%s", line);
    if (classes == 0) return;
    bool narrow = plim__terminal_of(1).width < 56;
    int name = narrow ? LEAST_WIDTH : NAME_WIDTH;
    printf("\n%-*s%s %9s %9s %9s\n", name, "class", narrow ? "" : "   samples", "precision", "recall", "F1");
    int64_t most = classes < MOST_PRINTED ? classes : MOST_PRINTED;
    bool matrix = false;
    for (int64_t i = 0; i < most; i++) {
        plim_measures_class of;
        plim_measures_get_class(m, i, &of);
        print_name(class_name(job, data, i, text), name, false);
        if (!narrow) printf(" %9lld", (long long)of.support);
        printf(" %9.4f %9.4f %9.4f\n", of.precision, of.recall, of.f1);
        for (int64_t k = 0; k < classes; k++) matrix |= plim_measures_confusion(m, i, k) > 0;
    }
    if (classes > most)
        plim__terminal_line(stdout, "... and %lld more classes (--json has all)", (long long)(classes - most));
    int room = (plim__terminal_of(1).width - name) / (LEAST_WIDTH + 1);
    if (matrix && classes <= MOST_COLUMNS && classes <= room)
        print_matrix(m, classes, name, job, data);
    else if (matrix)
        plim__terminal_line(stdout, "--json has the confusion matrix, which is too wide for this %s",
                            classes <= MOST_COLUMNS ? "screen" : "table");
}

static json_t *matrix_json(const plim_measures *m, int64_t classes) {
    json_t *rows = json_array();
    for (int64_t i = 0; i < classes; i++) {
        json_t *row = json_array();
        for (int64_t k = 0; k < classes; k++)
            json_array_append_new(row, json_integer(plim_measures_confusion(m, i, k)));
        json_array_append_new(rows, row);
    }
    return rows;
}

void plim__measures_json(const plim_measures *m, int64_t classes, const plim_job *job, bool whole, json_t *object) {
    plim_measures_summary s;
    char text[24];
    plim_measures_get(m, &s);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!isnan(number_of(&s, i))) json_object_set_new(object, numbers[i].key, json_real(number_of(&s, i)));
    if (!whole || classes == 0) return;
    json_t *list = json_array();
    for (int64_t i = 0; i < classes; i++) {
        plim_measures_class of;
        plim_measures_get_class(m, i, &of);
        json_t *name = json_string(class_name(job, NULL, i, text));
        json_array_append_new(list,
                              json_pack("{s:o, s:I, s:I, s:f, s:f, s:f, s:f}", "class", name ? name : json_integer(i),
                                        "support", (json_int_t)of.support, "predicted", (json_int_t)of.predicted,
                                        "precision", of.precision, "recall", of.recall, "f1", of.f1, "iou", of.iou));
    }
    json_object_set_new(object, "classes", list);
    json_object_set_new(object, "confusion", matrix_json(m, classes));
}
