/* A plan's picture is the plan, to the byte. With an argument: writes the page of that plan there, for the tests
 * in a browser. */
#include <stdio.h>

#include "graph/pass.h"
#include "kernel/processor.h"
#include "plimsoll/plimsoll.h"
#include "report/plan_timeline.h"
#include "report/report.h"

#include "plim_test.h"

typedef struct resnet {
    plim_graph *graph;
    plim__program *program;
    plim__plan *plan;
    plim__timeline timeline;
    plim__summary summary;
    plim_error error;
} resnet;

static plim_status plan_resnet(resnet *r) {
    plim_error *error = &r->error;
    plim_status status = plim_zoo_create("resnet50", NULL, &r->graph, error);
    if (status == PLIM_OK) status = plim__graph_bind(r->graph, NULL, 4, error);
    if (status == PLIM_OK) status = plim__infer_graph(r->graph, plim__processor_fold, NULL, error);
    if (status == PLIM_OK) status = plim__graph_prune(r->graph, error);
    if (status == PLIM_OK) status = plim__program_create(r->graph, plim__on_processor(1), NULL, &r->program, error);
    if (status == PLIM_OK) status = plim__plan_create(r->program, NULL, &r->plan, error);
    if (status == PLIM_OK) status = plim__plan_timeline(r->graph, r->program, r->plan, &r->timeline, error);
    if (status == PLIM_OK) status = plim__timeline_set_title(&r->timeline, "resnet50", error);
    if (status == PLIM_OK) status = plim__timeline_add_fact(&r->timeline, "batch", "4", error);
    r->timeline.budget = (uint64_t)256 << 20;
    return status == PLIM_OK ? plim__summary_make(&r->timeline, &r->summary, error) : status;
}

static void free_resnet(resnet *r) {
    plim__summary_free(&r->summary);
    plim__timeline_free(&r->timeline);
    plim__plan_free(r->plan);
    plim__program_free(r->program);
    plim_graph_free(r->graph);
}

static void peak_and_arena_of_resnet50_are_the_plans_to_the_byte(void **state) {
    (void)state;
    resnet r = {0};
    assert_int_equal(plan_resnet(&r), PLIM_OK);
    assert_int_equal(r.summary.peak, r.plan->lower_bound_bytes);
    assert_int_equal(r.summary.peak_tick, r.plan->peak_step);
    assert_int_equal(r.summary.extent, r.plan->arena_bytes);
    assert_in_range(r.timeline.ticks, r.program->steps.count, r.program->steps.count + 1);
    assert_true(r.summary.kinds[PLIM__KIND_WEIGHT] > 90u << 20);
    free_resnet(&r);
}

static int write_page(const char *path) {
    resnet r = {0};
    plim_status status = plan_resnet(&r);
    if (status == PLIM_OK) status = plim__report_html(&r.timeline, &r.summary, path, &r.error);
    if (status == PLIM_OK)
        printf("%zu %zu\n", r.plan->lower_bound_bytes, r.plan->arena_bytes);
    else
        fprintf(stderr, "%s\n", r.error.message);
    free_resnet(&r);
    return status != PLIM_OK;
}

int main(int argc, char **argv) {
    if (argc > 1) return write_page(argv[1]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(peak_and_arena_of_resnet50_are_the_plans_to_the_byte)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
