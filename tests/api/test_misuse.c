/* API misuse is input: every public function with NULL, zero, negative, huge and mismatched arguments gives a status and a
 * message, or nothing, and leaves the objects as they were. misuse.def has the rows. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plim_test.h"
#include "plimsoll/plimsoll.h"

enum { SAMPLES = 4, PIXELS = 784 };

/* What rows share. */
struct objects {
    /* good ones */
    plim_graph *graph;
    plim_session *session, *planned; /* planned: without memory */
    plim_trainer *trainer;
    plim_plan *plan;
    plim_data *data;
    plim_report *report;
    plim_explainer *explainer;
    plim_budget_watch *budget_watch;
    plim_process_table *table;
    plim_pool *pool;
    float pixels[SAMPLES * PIXELS], floats[16];
    int64_t labels[SAMPLES], dims[1], huge_dims[2], shape[PLIM_MAX_RANK];
    plim_data_array arrays[2], mismatched[2];
    plim_batch good;
    char text[PLIM_BYTES_TEXT], long_text[4096];
    plim_pack_buffer buffer, huge_buffers[2];
    plim_data_field field, fields[PLIM_MOST_INPUTS + 1];
    /* bad ones */
    plim_graph *failed; /* building it went wrong */
    plim_graph *broken; /* to be broken by a row: created again for each */
    int32_t node;       /* of it */
    /* where results go */
    plim_graph *graph_out;
    plim_session *session_out;
    plim_trainer *trainer_out;
    plim_plan *plan_out;
    plim_data *data_out;
    plim_job *job;
    plim_table *read_table;
    const char *kind;
    plim_measures *measures;
    plim_report *report_out;
    plim_budget_watch *watch_out;
    plim_watch *command_out;
    plim_pack_file *pack_out;
    plim_pool *pool_out;
    plim_replay *replay_out;
    plim_prediction *prediction_out;
    char *text_out;
    uint64_t bytes;
    size_t size;
    int64_t offsets[2];
    plim_limits limits;
    plim_machine_costs costs;
    plim_graph_weights weights;
    plim_operator operator_;
    plim_pass pass;
    plim_conformance conformance;
    plim_array array;
    plim_data_info info;
    plim_data_batch batch;
    plim_data_stats data_stats;
    plim_session_stats session_stats;
    plim_session_tensor session_tensor;
    plim_session_step step;
    plim_evaluation evaluation;
    plim_gradient_result gradient;
    plim_loss loss;
    plim_optimizer optimizer;
    plim_schedule schedule;
    plim_feed feed;
    plim_trainer_stats stats;
    plim_trainer_tensor tensor;
    plim_fit_result result;
    plim_pack_result packed;
    plim_report_info report_info;
    const plim_explanation *explanation;
    plim_tensor_size tensor_size;
    plim_size_file size_file;
    plim_watch_sample sample;
    const plim_watch_result *watch_result;
    plim_process process;
    plim_pool_options pool_options;
    plim_pool_stats pool_stats;
    plim_replay_result replayed;
    plim_prediction_result predicted;
    plim_gpu card;
    plim_process_gpu gpu;
};

static int text_is(const char *text, const char *expected) { return text && strcmp(text, expected) == 0; }

static void show(void *context, const char *name, int rank, const int64_t *dims, const float *values) {
    (void)context, (void)name, (void)rank, (void)dims, (void)values;
}

/* Whether the graph remembers what the call (whose result comes after it) did wrong. */
static int breaks(struct objects *o, int64_t unused) {
    (void)unused;
    plim_error error = {0};
    plim_status status = plim_graph_status(o->broken, &error);
    return status != PLIM_OK && *error.message;
}
#define breaks_node breaks

static void begin_row(struct objects *o) {
    plim_graph_free(o->broken);
    o->broken = plim_graph_create();
    plim_value x = plim_graph_input(o->broken, "input", PLIM_F32, 1, o->dims);
    o->node = plim_graph_node(o->broken, "Relu", NULL, &x, 1, 1);
    assert_int_equal(plim_graph_status(o->broken, NULL), PLIM_OK);
}

/* --- the rows ------------------------------------------------------------------------------------------------- */

enum kind { FAILS_ROW, MAKES_ROW, HOLDS_ROW };

static const struct row {
    const char *function, *call;
    enum kind kind;
    plim_status expected;
} rows[] = {
#define FAILS(function, status, call)        {#function, #call, FAILS_ROW, PLIM_##status},
#define MAKES(function, status, place, call) {#function, #call, MAKES_ROW, PLIM_##status},
#define HOLDS(function, condition)           {#function, #condition, HOLDS_ROW, PLIM_OK},
#include "api/misuse.def"
#undef FAILS
#undef MAKES
#undef HOLDS
};
enum { ROWS = sizeof rows / sizeof *rows };

struct outcome {
    plim_status status;
    int holds, left_null;
};

static struct outcome run_row(int number, struct objects *o, plim_error *e) {
    int at = 0;
    struct outcome out = {.holds = 1, .left_null = 1};
    (void)e;
#define FAILS(function, expected, call)                                                                                \
    if (at++ == number) out.status = (call);
#define MAKES(function, expected, place, call)                                                                         \
    if (at++ == number) {                                                                                              \
        (place) = (void *)o;                                                                                           \
        out.status = (call);                                                                                           \
        out.left_null = (place) == NULL;                                                                               \
    }
#define HOLDS(function, condition)                                                                                     \
    if (at++ == number) out.holds = (condition) != 0;
#include "api/misuse.def"
#undef FAILS
#undef MAKES
#undef HOLDS
    return out;
}

static int check_row(int number, struct objects *o, int with_error) {
    const struct row *row = &rows[number];
    plim_error error = {0};
    if (getenv("PLIM_MISUSE_TRACE")) fprintf(stderr, "%s\n", row->call); /* the last one is the one that crashed */
    begin_row(o);
    struct outcome out = run_row(number, o, with_error ? &error : NULL);
    if (row->kind == HOLDS_ROW && out.holds) return 1;
    bool told = !with_error || (error.status == row->expected && *error.message && !strchr(error.message, '\n'));
    if (row->kind != HOLDS_ROW && out.status == row->expected && out.left_null && told) return 1;
    print_error("%s%s\n    gives %s, %s, '%s'\n", row->call, with_error ? "" : " (without an error)",
                row->kind == HOLDS_ROW ? "what it should not" : plim_status_name(out.status),
                out.left_null ? "the place is NULL" : "the place is not NULL", error.message);
    return 0;
}

/* --- objects -------------------------------------------------------------------------------------------------- */

static void make_values(struct objects *o) {
    o->dims[0] = SAMPLES;
    o->huge_dims[0] = o->huge_dims[1] = INT64_MAX / 2;
    for (int i = 0; i < SAMPLES; i++) o->labels[i] = i;
    for (int i = 0; i < SAMPLES * PIXELS; i++) o->pixels[i] = (float)(i % 7) / 7;
    memset(o->long_text, 'x', sizeof o->long_text - 1);
    static const int64_t image_dims[] = {SAMPLES, 1, 28, 28}, three[] = {3};
    o->arrays[0] = o->mismatched[0] = (plim_data_array){"image", PLIM_F32, 4, image_dims, o->pixels, 0};
    o->arrays[1] = o->mismatched[1] = (plim_data_array){"label", PLIM_I64, 1, o->dims, o->labels, 1};
    o->mismatched[1].dims = three;
    o->good = (plim_batch){2, {o->pixels}, o->labels};
    o->buffer = (plim_pack_buffer){.lower = 0, .upper = 2, .size = 16};
    for (int i = 0; i < 2; i++) o->huge_buffers[i] = (plim_pack_buffer){.upper = 2, .size = INT64_MAX};
    o->field = (plim_data_field){.name = "x", .dtype = PLIM_F32, .bytes = 4};
    o->loss = plim_loss_default(PLIM_LOSS_CROSS_ENTROPY);
}

static int make_objects(void **state) {
    struct objects *o = calloc(1, sizeof *o);
    plim_error error = {0};
    make_values(o);
    plim_zoo_options small = {.width = 8};
    plim_trainer_options training = {.batch = 2};
    bool ok = plim_zoo_create("mlp", &small, &o->graph, &error) == PLIM_OK &&
              plim_session_create(o->graph, NULL, &o->session, &error) == PLIM_OK &&
              plim_session_create(o->graph, &(plim_session_options){.plan_only = 1}, &o->planned, &error) == PLIM_OK &&
              plim_trainer_create(o->graph, &training, &o->trainer, &error) == PLIM_OK &&
              plim_plan_create(o->graph, &training, &o->plan, &error) == PLIM_OK &&
              plim_data_create_arrays(o->arrays, 2, &(plim_data_options){.batch = 2}, &o->data, &error) == PLIM_OK &&
              plim_report_create_session(o->session, "mlp", &o->report, &error) == PLIM_OK &&
              plim_explainer_create(&o->explainer, &error) == PLIM_OK &&
              plim_budget_watch_create(NULL, &o->budget_watch, &error) == PLIM_OK &&
              plim_process_table_create(&o->table, &error) == PLIM_OK &&
              plim_pool_create(&(plim_pool_options){.capacity = 1 << 20}, &o->pool, &error) == PLIM_OK;
    o->failed = plim_graph_create();
    (void)plim_graph_node(o->failed, NULL, NULL, NULL, 0, 1);
    *state = o;
    if (!ok) print_error("%s\n", error.message);
    return ok ? 0 : 1;
}

static int free_objects(void **state) {
    struct objects *o = *state;
    plim_pool_free(o->pool);
    plim_process_table_free(o->table);
    plim_budget_watch_free(o->budget_watch);
    plim_explainer_free(o->explainer);
    plim_report_free(o->report);
    plim_data_free(o->data);
    plim_plan_free(o->plan);
    plim_trainer_free(o->trainer);
    plim_session_free(o->planned);
    plim_session_free(o->session);
    plim_graph_free(o->broken);
    plim_graph_free(o->failed);
    plim_graph_free(o->graph);
    free(o);
    return 0;
}

/* --- tests ---------------------------------------------------------------------------------------------------- */

static void misuse_gives_a_status_and_a_message(void **state) {
    int bad = 0;
    for (int i = 0; i < ROWS; i++)
        for (int with_error = 1; with_error >= 0; with_error--)
            if (!check_row(i, *state, with_error)) {
                bad++;
                break;
            }
    print_message("%d rows of misuse\n", (int)ROWS);
    assert_int_equal(bad, 0);
}

/* After all of that. */
static void objects_work_as_before(void **state) {
    struct objects *o = *state;
    plim_error error = {0};
    assert_int_equal(plim_session_run(o->session, &error), PLIM_OK);
    assert_int_equal(plim_trainer_step(o->trainer, &o->good, NULL, &error), PLIM_OK);
    assert_int_equal(plim_data_seek(o->data, (plim_data_position){0, 0}, &error), PLIM_OK);
    assert_int_equal(plim_data_next(o->data, &o->batch, &error), PLIM_OK);
    assert_int_equal(o->batch.count, 2);
    assert_int_equal(plim_fit(o->trainer, o->data, &(plim_fit_options){.steps = 3}, &o->result, &error), PLIM_OK);
    assert_int_equal(o->result.steps, 3);
    assert_int_equal(plim_process_table_update(o->table, PLIM_PROCESS_RSS, 1, &error), PLIM_OK);
    assert_int_equal(plim_explainer_feed(o->explainer, "CUDA out of memory", 18, &error), PLIM_OK);
    assert_int_equal(plim_explainer_finish(o->explainer, &o->explanation, &error), PLIM_OK);
    assert_int_equal(plim_report_print(o->report, NULL, &o->text_out, &error), PLIM_OK);
    plim_text_free(o->text_out);
}

/* A model with more inputs than a batch can have is refused when the trainer is made. */
static void more_inputs_than_fit_are_refused(void **state) {
    (void)state;
    plim_graph *g = plim_graph_create();
    plim_value sum = PLIM_NO_VALUE;
    int64_t n = plim_graph_symbol(g, "N");
    for (int i = 0; i < PLIM_MOST_INPUTS + 1; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        plim_value x = plim_graph_input(g, name, PLIM_F32, 2, (int64_t[]){n, 4});
        sum = i ? plim_graph_apply(g, "Add", (plim_value[]){sum, x}, 2) : x;
    }
    plim_value w = plim_graph_parameter(g, "w", PLIM_F32, 2, (int64_t[]){4, 3}, NULL);
    plim_graph_output(g, plim_graph_apply(g, "MatMul", (plim_value[]){sum, w}, 2), "y");
    plim_trainer *trainer = (void *)g;
    plim_error error = {0};
    assert_int_equal(plim_trainer_create(g, NULL, &trainer, &error), PLIM_UNSUPPORTED);
    assert_null(trainer);
    assert_non_null(strstr(error.message, "17 inputs"));
    plim_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(misuse_gives_a_status_and_a_message),
        cmocka_unit_test(objects_work_as_before),
        cmocka_unit_test(more_inputs_than_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, make_objects, free_objects);
}
