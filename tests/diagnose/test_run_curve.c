/* The shape of memory over time: leaks are found with their rate, healthy programs are not called leaks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "diagnose/curve.h"

enum { COUNT = 2000 };

static const double mib = 1024 * 1024;
static plim__curve_point points[COUNT];

/* A fixed sequence in [-1, 1]. */
static double noise(void) {
    static uint64_t state = 88172645463325252ULL;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 4503599627370496.0 - 1;
}

static plim__curve classify(size_t count) {
    plim__curve curve;
    plim__curve_classify(points, count, &curve);
    return curve;
}

/* `seconds` long, COUNT samples, start-up to `base` in the first tenth. */
static void program(double seconds, double base, double (*memory)(double t, double seconds)) {
    for (int i = 0; i < COUNT; i++) {
        double t = seconds * i / (COUNT - 1), ramp = fmin(1, t / (0.1 * seconds));
        points[i] = (plim__curve_point){t, base * ramp + memory(t, seconds), -1};
    }
}

static void assert_leak(double mib_per_second) {
    plim__curve curve = classify(COUNT);
    assert_string_equal(plim__curve_word(curve.kind), "growth");
    double error = fabs(curve.bytes_per_second / (mib_per_second * mib) - 1);
    if (error > 0.05) fail_msg("rate %g MiB/s, expected %g", curve.bytes_per_second / mib, mib_per_second);
}

static double steady(double t, double s) { return (void)s, 3 * mib * t; }
static double noisy_leak(double t, double s) { return (void)s, 3 * mib * t + 10 * mib * noise(); }
static double stairs(double t, double s) { return (void)s, 30 * mib * floor(t / 10); }
static double leak_with_teeth(double t, double s) { return (void)s, 3 * mib * t + 200 * mib * fmod(t, 1.7) / 1.7; }
static double slow_teeth(double t, double s) { return (void)s, 3 * mib * t + 40 * mib * fmod(t, 9) / 9; }
static double late_leak(double t, double s) { return t < 0.6 * s ? 0 : 3 * mib * (t - 0.6 * s); }
static double single_peaks(double t, double s) { return (void)s, 3 * mib * t + (noise() > 0.95 ? 2000 * mib : 0); }

static void leaks_are_found_with_their_rate(void **state) {
    (void)state;
    double (*leaks[])(double, double) = {steady,     noisy_leak, stairs,      leak_with_teeth,
                                         slow_teeth, late_leak,  single_peaks};
    for (size_t i = 0; i < sizeof leaks / sizeof *leaks; i++) {
        program(120, 500 * mib, leaks[i]);
        assert_leak(3);
    }
}

static double leak_in_a_shell(double t, double s) { return t < s - 0.5 ? 30 * mib * t : 6 * mib + 0.1 * mib * noise(); }

static void a_short_leak_is_found(void **state) {
    (void)state;
    program(3, 10 * mib, steady);
    assert_leak(3);
    program(6, 10 * mib, leak_in_a_shell);
    assert_leak(30);
}

static double flat(double t, double s) { return (void)t, (void)s, 0; }
static double noisy(double t, double s) { return (void)t, (void)s, 50 * mib * noise(); }
static double teeth(double t, double s) { return (void)s, 200 * mib * fmod(t, 7) / 7; }
static double waves(double t, double s) { return (void)s, 100 * mib * sin(t / 5); }
static double warming(double t, double s) { return 400 * mib * (1 - exp(-5 * t / s)); }
static double falling(double t, double s) { return (void)s, -3 * mib * t; }
static double early_step(double t, double s) { return t > 0.4 * s ? 300 * mib : 0; }
static double peak_in_between(double t, double s) { return t > 0.5 * s && t < 0.52 * s ? 900 * mib : 0; }
static double trickle(double t, double s) { return 1.5 * mib * t / s; } /* a few pages */

static void healthy_programs_are_not_called_leaks(void **state) {
    (void)state;
    double (*healthy[])(double, double) = {flat,    noisy,      teeth,           waves,  warming,
                                           falling, early_step, peak_in_between, trickle};
    for (size_t i = 0; i < sizeof healthy / sizeof *healthy; i++)
        for (int again = 0; again < 20; again++) {
            program(120, 1000 * mib, healthy[i]);
            plim__curve curve = classify(COUNT);
            if (curve.kind != PLIM_CURVE_PLATEAU)
                fail_msg("healthy program %zu is called a %s", i, plim__curve_word(curve.kind));
        }
}

static double last_jump(double t, double s) { return t > 0.995 * s ? 800 * mib : 0; }
static double leak_then_jump(double t, double s) { return 0.5 * mib * t + last_jump(t, s); }

static void a_jump_at_the_end_is_a_cliff(void **state) {
    (void)state;
    double (*cliffs[])(double, double) = {last_jump, leak_then_jump};
    for (size_t i = 0; i < 2; i++) {
        program(120, 1000 * mib, cliffs[i]);
        plim__curve curve = classify(COUNT);
        assert_string_equal(plim__curve_word(curve.kind), "cliff");
        assert_true(fabs(curve.jump_bytes / (800 * mib) - 1) < 0.02 && curve.jump_seconds < 2.5);
    }
}

static void a_cliff_in_the_first_second_is_one(void **state) {
    (void)state;
    points[0] = (plim__curve_point){0, 10 * mib, -1};
    points[1] = (plim__curve_point){0.1, 20 * mib, -1};
    points[2] = (plim__curve_point){0.3, 500 * mib, -1};
    assert_int_equal(classify(3).kind, PLIM_CURVE_CLIFF);
}

static void growth_per_step_is_told(void **state) {
    (void)state;
    program(60, 100 * mib, flat);
    double step = 0;
    for (int i = 0; i < COUNT; i++) { /* steps that become slower and slower: per minute it is no straight line */
        points[i].step = (int64_t)step;
        points[i].bytes += floor(step) * 2 * mib;
        step += 0.05 + 0.1 * (COUNT - i) / COUNT;
    }
    plim__curve curve = classify(COUNT);
    assert_int_equal(curve.kind, PLIM_CURVE_GROWTH);
    assert_true(curve.per_step_known);
    assert_true(fabs(curve.bytes_per_step / (2 * mib) - 1) < 0.02);
}

static void nothing_and_little_are_too_short(void **state) {
    (void)state;
    memset(points, 0, sizeof points);
    for (size_t count = 0; count < 8; count++) assert_int_equal(classify(count).kind, PLIM_CURVE_SHORT);
    for (size_t i = 0; i < COUNT; i++) points[i].bytes = mib; /* all at once */
    assert_int_equal(classify(COUNT).kind, PLIM_CURVE_SHORT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaks_are_found_with_their_rate),       cmocka_unit_test(a_short_leak_is_found),
        cmocka_unit_test(healthy_programs_are_not_called_leaks), cmocka_unit_test(a_jump_at_the_end_is_a_cliff),
        cmocka_unit_test(a_cliff_in_the_first_second_is_one),    cmocka_unit_test(growth_per_step_is_told),
        cmocka_unit_test(nothing_and_little_are_too_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
