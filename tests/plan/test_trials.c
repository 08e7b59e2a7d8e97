/* What a trial computes from differences is what the schedule it stands for is measured to need. */
#include "core/random.h"
#include "plan/search.h"
#include "synthetic.h"
#include "training_case.h"

static uint64_t drawn;
static uint64_t draw(uint64_t below) { return plim__random_bits(5, 1, drawn++) % below; }

/* Measured as a whole. */
static int64_t measured(plim__search *s, int64_t target, double *more) {
    plim__search_clean(s, &s->trial);
    *more = plim__search_cost(s, &s->trial) - plim__search_cost(s, &s->now);
    return plim__search_excess(s, &s->trial, target);
}

/* The trial: `now` with these steps before `place`, and without the run there when `out`. */
static void build(plim__search *s, const struct plim__drop *drop, bool out) {
    size_t place = (size_t)drop->place, count = (size_t)drop->count, rest = s->now.count - place - out;
    memcpy(s->trial.steps, s->now.steps, place * sizeof *s->trial.steps);
    if (count) memcpy(s->trial.steps + place, drop->steps, count * sizeof *s->trial.steps);
    memcpy(s->trial.steps + place + count, s->now.steps + place + out, rest * sizeof *s->trial.steps);
    s->trial.count = place + count + rest;
}

static bool may_repeat(const plim__search *s, int32_t step, int32_t place) {
    const plim__depend *d = s->depend;
    if (!d->repeatable[step] || s->first[step] >= place || d->last[s->now.steps[place]] > d->last[step]) return false;
    for (int32_t k = d->closed.start[step]; k < d->closed.start[step + 1]; k++)
        if (s->first[d->closed.items[k]] < place) return false;
    return true;
}

#define MOST 5

/* The maker of something that is read at `place`, and with luck makers of what these read, each somewhere before its
 * reader. */
static bool find_drop(const plim__search *s, int32_t place, int32_t *steps, struct plim__drop *drop) {
    const plim__depend *d = s->depend;
    int32_t count = 0;
    for (int tries = 0; tries < 2 * MOST && count < MOST; tries++) {
        int32_t reader = count ? (int32_t)draw((uint64_t)count) : 0,
                at = count ? (int32_t)draw(1 + (uint64_t)reader) : 0;
        int32_t step = count ? steps[reader] : s->now.steps[place];
        int32_t reads = d->reads.start[step + 1] - d->reads.start[step];
        int32_t maker = reads ? d->maker[d->reads.items[d->reads.start[step] + (int32_t)draw((uint64_t)reads)]] : -1;
        for (int32_t k = 0; k < count; k++)
            if (steps[k] == maker) maker = -1;
        if (maker < 0 || !may_repeat(s, maker, place)) continue;
        for (int32_t k = count++; k > at; k--) steps[k] = steps[k - 1];
        steps[at] = maker;
        if (draw(3) == 0) break;
    }
    *drop = (struct plim__drop){.steps = steps, .count = count, .place = place};
    return count > 0;
}

static void compare_without(plim__search *s, int64_t target) {
    for (int32_t place = 0; place < (int32_t)s->now.count; place++) {
        if (s->first[s->now.steps[place]] == place) continue;
        double more;
        int64_t trial = plim__search_without(s, place, target, INT64_MAX);
        build(s, &(struct plim__drop){.place = place}, true);
        assert_int_equal(trial, measured(s, target, &more));
        plim__search_survey(s, target);
    }
}

/* From the order of the program on: at every place one drop, each compared; then one is taken, and so on. */
static void compare_all(const plim__program *program, int rounds) {
    plim_error error = {0};
    plim__depend *d = NULL;
    plim__search *s = NULL;
    plim__schedule order = {0};
    must(plim__depend_create(program, &(plim__depend_options){.update_in_backward = true}, &d, &error), &error);
    double *seconds = case_seconds(program);
    must(plim__search_create(d, seconds, &s, &error), &error);
    must(plim__schedule_create(d, &order, &error), &error);
    plim__draft_set(&s->now, &(plim__draft){order.steps, order.count});
    int64_t most = plim__meter_run(s->meter, s->now.steps, s->now.count);
    for (int round = 0; round < rounds; round++) {
        int64_t target = most / 8 * (1 + (int64_t)draw(7));
        struct plim__drop drop;
        int32_t steps[MOST];
        plim__search_survey(s, target);
        assert_int_equal(s->area[s->now.count], plim__search_excess(s, &s->now, target));
        for (int32_t place = 1; place < (int32_t)s->now.count; place++) {
            if (!find_drop(s, place, steps, &drop)) continue;
            double more;
            int64_t trial = plim__search_with(s, &drop, target, INT64_MAX), enough = 1 + trial / 2;
            double trial_more = plim__search_more(s);
            assert_true(plim__search_with(s, &drop, target, enough) >= (trial < enough ? trial : enough));
            build(s, &drop, false);
            assert_int_equal(trial, measured(s, target, &more));
            assert_true(trial_more == more);
            plim__search_survey(s, target); /* measuring used its memory */
        }
        compare_without(s, target);
        for (int tries = 0; tries < 20; tries++) {
            if (!find_drop(s, 1 + (int32_t)draw(s->now.count - 1), steps, &drop)) continue;
            if (s->now.count + (size_t)drop.count > s->capacity) continue;
            build(s, &drop, false);
            plim__search_clean(s, &s->trial);
            plim__draft_set(&s->now, &s->trial);
            break;
        }
    }
    plim__schedule_free(&order);
    plim__search_free(s);
    plim__depend_free(d);
    free(seconds);
}

static void trials_of_made_up_networks_are_what_is_measured(void **state) {
    (void)state;
    for (int n = 0; n < 30; n++) {
        struct synthetic_net net = {.count = 4 + (int)draw(12), .updates = draw(2), .apart = draw(3) == 0};
        for (int i = 0; i < net.count; i++) {
            for (int k = 0; k < 3; k++) net.inputs[i][k] = -1;
            for (int k = 0; i > 0 && k < 1 + (int)draw(3); k++) {
                int input = (int)draw((uint64_t)i);
                if (input != net.inputs[i][0] && input != net.inputs[i][1]) net.inputs[i][k] = input;
            }
            net.words[i] = 8 * (1 + (size_t)draw(50));
            net.saves_output[i] = draw(2);
            net.saves_inputs[i] = draw(2);
            net.inplace[i] = i > 0 && net.inputs[i][0] >= 0 && net.words[net.inputs[i][0]] >= net.words[i];
            net.scratch[i] = draw(3) == 0 ? 8 * (size_t)draw(40) : 0;
        }
        plim__program *p = synthetic_build(&net);
        compare_all(p, 12);
        plim__program_free(p);
    }
}

static void trials_of_real_networks_are_what_is_measured(void **state) {
    (void)state;
    struct training_case c;
    case_create(&c, "resnet18", &(plim_zoo_options){.image = 32, .width = 8}, 2, 1);
    compare_all(c.program, 6);
    case_free(&c);
    case_create(&c, "gpt2-tiny", &(plim_zoo_options){.layers = 2}, 1, 1);
    compare_all(c.program, 12);
    case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trials_of_made_up_networks_are_what_is_measured),
        cmocka_unit_test(trials_of_real_networks_are_what_is_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
