/* Measures are those of scikit-learn: tests/run/data/measures.txt has its numbers for the predictions that are made here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"

enum { MOST = 4096 };

static int64_t number(int64_t i, uint64_t a, uint64_t b, uint64_t mod) {
    uint64_t n = (uint64_t)i;
    return (int64_t)((n * a + n * n % 7919 * b) % mod);
}

/* What scikit-learn says; fails when it says nothing. */
static double right(const char *wanted, const char *name) {
    char line[256], found[64], measure[64], path[512];
    double value = NAN;
    snprintf(path, sizeof path, "%s/tests/run/data/measures.txt", PLIM_SOURCE_DIR);
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("no %s", path);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "%63s %63s %lf", found, measure, &value) == 3 && strcmp(found, wanted) == 0 &&
            strcmp(measure, name) == 0)
            break;
        else
            value = NAN;
    fclose(file);
    if (isnan(value)) fail_msg("no %s of %s", name, wanted);
    return value;
}

static void same(const char *wanted, const char *name, double ours) {
    double theirs = right(wanted, name);
    if (!(fabs(ours - theirs) < 1e-6)) fail_msg("%s %s: %.9g, scikit-learn has %.9g", wanted, name, ours, theirs);
}

static plim_measures *make(plim_measures_options options) {
    plim_measures *m = NULL;
    plim_error error = {0};
    if (plim_measures_create(&options, &m, &error) != PLIM_OK) fail_msg("%s", error.message);
    return m;
}

static void check_classes(const char *name, const plim_measures *m, int64_t classes) {
    plim_measures_summary s;
    plim_measures_class one;
    plim_measures_get(m, &s);
    plim_measures_get_class(m, 1, &one);
    same(name, "accuracy", s.accuracy);
    same(name, "precision", s.precision);
    same(name, "recall", s.recall);
    same(name, "f1", s.f1);
    same(name, "iou", s.iou);
    if (classes > 5) same(name, "top5", s.top5);
    same(name, "confusion01", (double)plim_measures_confusion(m, 0, 1));
    same(name, "confusion10", (double)plim_measures_confusion(m, 1, 0));
    same(name, "support1", (double)one.support);
    same(name, "precision1", one.precision);
    same(name, "recall1", one.recall);
    same(name, "f11", one.f1);
}

static void classes_are_measured_as_scikit_learn_does(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t count, classes;
    } cases[] = {{"seven", 500, 7}, {"two", 300, 2}, {"rare", 120, 9}};
    static float scores[MOST];
    static int64_t labels[MOST];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int64_t n = cases[c].count, classes = cases[c].classes;
        bool rare = strcmp(cases[c].name, "rare") == 0;
        for (int64_t i = 0; i < n * classes; i++) scores[i] = (float)((double)number(i, 37, 101, 1009) / 256);
        for (int64_t i = 0; i < n; i++) {
            labels[i] = number(i, 31, 17, (uint64_t)classes);
            scores[i * classes + labels[i]] += 1.5f;
            if (rare && labels[i] >= 7) labels[i] = 0;
            if (rare) scores[i * classes + 8] -= 9;
        }
        plim_measures *m = make((plim_measures_options){.classes = classes, .rank_room = rare ? 0 : n});
        plim_measures_add_classes(m, scores, labels, 40, 1, NULL); /* and in parts, after clearing */
        plim_measures_clear(m);
        for (int64_t from = 0; from < n; from += 64)
            assert_int_equal(plim_measures_add_classes(m, scores + from * classes, labels + from,
                                                       n - from < 64 ? n - from : 64, 1, NULL),
                             PLIM_OK);
        check_classes(cases[c].name, m, classes);
        plim_measures_summary s;
        plim_measures_get(m, &s);
        if (rare)
            assert_true(isnan(s.auc));
        else
            same(cases[c].name, "auc", s.auc);
        plim_measures_free(m);
    }
}

static void independent_classes_too(void **state) {
    (void)state;
    static float scores[1200], targets[1200];
    for (int64_t i = 0; i < 1200; i++) {
        targets[i] = number(i, 29, 5, 10) < 4;
        scores[i] = (float)((double)(number(i, 37, 101, 1009) - 500) / 128 + (double)targets[i] * 2);
    }
    plim_measures *m = make((plim_measures_options){.classes = 3, .independent = 1, .rank_room = 400});
    assert_int_equal(plim_measures_add_numbers(m, scores, targets, 400, NULL), PLIM_OK);
    plim_measures_summary s;
    plim_measures_get(m, &s);
    same("labels", "accuracy", s.accuracy);
    same("labels", "precision", s.precision);
    same("labels", "recall", s.recall);
    same("labels", "f1", s.f1);
    same("labels", "auc", s.auc);
    plim_measures_free(m);
}

static void numbers_too(void **state) {
    (void)state;
    static float truth[400], guess[400];
    for (int64_t i = 0; i < 400; i++) {
        truth[i] = (float)((double)number(i, 43, 11, 997) / 100);
        guess[i] = (float)((double)truth[i] + (double)number(i, 37, 101, 1009) / 400 - 1);
    }
    plim_measures *m = make((plim_measures_options){.columns = 2});
    assert_int_equal(plim_measures_add_numbers(m, guess, truth, 200, NULL), PLIM_OK);
    plim_measures_summary s;
    plim_measures_get(m, &s);
    same("numbers", "mean_absolute", s.mean_absolute);
    same("numbers", "root_mean_square", s.root_mean_square);
    same("numbers", "r2", s.r2);
    assert_true(isnan(s.accuracy));
    plim_measures_free(m);
}

static void pixels_too_and_ignored_ones_do_not_count(void **state) {
    (void)state;
    static float scores[10 * 4 * 64];
    static int64_t labels[10 * 64];
    for (int64_t i = 0; i < 10 * 4 * 64; i++) scores[i] = (float)((double)number(i, 37, 101, 1009) / 256);
    for (int64_t i = 0; i < 640; i++) {
        labels[i] = number(i, 31, 17, 4);
        scores[i / 64 * 256 + labels[i] * 64 + i % 64] += 1.5f;
        if (i % 64 < 8) labels[i] = -100;
    }
    plim_measures *m = make((plim_measures_options){.classes = 4});
    assert_int_equal(plim_measures_add_classes(m, scores, labels, 10, 64, NULL), PLIM_OK);
    plim_measures_summary s;
    plim_measures_get(m, &s);
    assert_int_equal(s.count, 560);
    same("pixels", "iou", s.iou);
    same("pixels", "accuracy", s.accuracy);
    plim_measures_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(classes_are_measured_as_scikit_learn_does),
                                       cmocka_unit_test(independent_classes_too), cmocka_unit_test(numbers_too),
                                       cmocka_unit_test(pixels_too_and_ignored_ones_do_not_count)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
