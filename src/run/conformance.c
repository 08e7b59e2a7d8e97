/* Running conformance cases. Inputs that decide shapes (a Reshape's target, axes) are fixed when the model
 * needs them to be known: first integers, then everything. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/arguments.h"
#include "format/onnx.h"
#include "ops/op.h"
#include "plimsoll/onnx.h"
#include "plimsoll/operators.h"
#include "plimsoll/session.h"

#define MOST 64 /* inputs or outputs of a case */

struct data_set {
    plim__tensor *inputs[MOST], *outputs[MOST];
    size_t input_count, output_count;
};

static void free_set(struct data_set *set) {
    for (size_t i = 0; i < MOST; i++) {
        plim__tensor_release(set->inputs[i]);
        plim__tensor_release(set->outputs[i]);
    }
}

static plim_status read_tensors(const char *folder, const char *prefix, plim__tensor **tensors, size_t *count,
                                plim_error *error) {
    for (*count = 0; *count < MOST; ++*count) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s_%zu.pb", folder, prefix, *count);
        if (access(path, R_OK) != 0) return PLIM_OK;
        PLIM_TRY(plim__onnx_read_tensor_file(path, &tensors[*count], NULL, error));
    }
    return PLIM_OK;
}

static bool near(double got, double want) {
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    if (isinf(want) || isinf(got)) return got == want;
    return fabs(got - want) <= 1e-7 + 1e-3 * fabs(want);
}

static plim_status compare(const plim_graph *g, plim_value v, const void *data, const plim__tensor *want,
                           plim_error *error) {
    const plim__value *value = &g->values.items[v];
    char a[PLIM_SHAPE_TEXT], b[PLIM_SHAPE_TEXT];
    /* the data stores bfloat16 as uint16, and ONNX's runner compares those numbers */
    bool same_type = value->dtype == want->dtype || (value->dtype == PLIM_BF16 && want->dtype == PLIM_U16);
    if (!same_type || !plim__shape_equal(&value->shape, &want->shape))
        return plim__fail(error, PLIM_SHAPE, "'%s' is %s%s, expected %s%s", value->name, plim_dtype_name(value->dtype),
                          plim__shape_text(&value->shape, NULL, a), plim_dtype_name(want->dtype),
                          plim__shape_text(&want->shape, NULL, b));
    plim__tensor got = *want;
    got.data = (void *)data;
    int64_t count = plim__shape_elements(&want->shape);
    for (int64_t i = 0; i < count; i++)
        if (!near(plim__tensor_at(&got, i), plim__tensor_at(want, i)))
            return plim__fail(error, PLIM_NUMERIC, "'%s' element %lld is %.9g, expected %.9g", value->name,
                              (long long)i, plim__tensor_at(&got, i), plim__tensor_at(want, i));
    return PLIM_OK;
}

enum fixing { FIX_NOTHING, FIX_INTEGERS, FIX_ALL };

static bool must_fix(const plim__tensor *tensor, enum fixing fixing) {
    bool integer = tensor->dtype == PLIM_I64 || tensor->dtype == PLIM_I32 || tensor->dtype == PLIM_BOOL;
    return fixing == FIX_ALL || (fixing == FIX_INTEGERS && integer);
}

static plim_status run_set(const plim_graph *g, const struct data_set *set, int threads, enum fixing fixing,
                           plim_error *error) {
    plim_fixed_input fixed[MOST];
    size_t fixed_count = 0;
    for (size_t i = 0; i < set->input_count; i++)
        if (must_fix(set->inputs[i], fixing))
            fixed[fixed_count++] =
                (plim_fixed_input){plim_graph_value_name(g, g->inputs.items[i]), set->inputs[i]->dtype,
                                   set->inputs[i]->shape.rank, set->inputs[i]->shape.dims, set->inputs[i]->data};
    /* what the operators say, not what predictions want */
    plim_session_options options = {
        .threads = threads, .fixed = fixed, .fixed_count = fixed_count, .without = "no-dropout"};
    plim_session *session;
    PLIM_TRY(plim_session_create(g, &options, &session, error));
    plim_status status = PLIM_OK;
    for (size_t i = 0; status == PLIM_OK && i < set->input_count; i++) {
        const char *name = plim_graph_value_name(g, g->inputs.items[i]);
        plim_value v = plim_graph_find(plim_session_graph(session), name);
        if (v < 0 || must_fix(set->inputs[i], fixing)) continue;
        if (plim_session_input(session, name))
            memcpy(plim_session_input(session, name), set->inputs[i]->data, set->inputs[i]->bytes);
    }
    if (status == PLIM_OK) status = plim_session_run(session, error);
    for (size_t i = 0; status == PLIM_OK && i < set->output_count; i++) {
        const plim_graph *running = plim_session_graph(session);
        plim_value v = running->outputs.items[i];
        status = compare(running, v, plim_session_output(session, plim_graph_value_name(running, v)), set->outputs[i],
                         error);
    }
    plim_session_free(session);
    return status;
}

/* The model with the sizes that the data has. */
static plim_status fit(plim_graph *g, const struct data_set *set, plim_error *error) {
    if (set->input_count > g->inputs.count || set->output_count > g->outputs.count)
        return plim__fail(error, PLIM_CORRUPT, "the data has more inputs or outputs than the model");
    for (size_t i = 0; i < set->input_count; i++) {
        plim__value *value = &g->values.items[g->inputs.items[i]];
        plim__tensor *tensor = set->inputs[i];
        if (value->dtype == PLIM_BF16 && tensor->dtype == PLIM_U16) tensor->dtype = PLIM_BF16;
        if (value->dtype != tensor->dtype)
            return plim__fail(error, PLIM_DTYPE, "the data for input '%s' does not fit the model", value->name);
        value->shape = tensor->shape;
    }
    return PLIM_OK;
}

static plim_status run_folder(const plim_graph *model, const char *folder, int threads, plim_error *error) {
    struct data_set set = {0};
    plim_graph *g = plim_graph_clone(model);
    if (!g) return plim__fail_memory(error, "a copy of the model", sizeof *g);
    plim_status status = read_tensors(folder, "input", set.inputs, &set.input_count, error);
    if (status == PLIM_OK) status = read_tensors(folder, "output", set.outputs, &set.output_count, error);
    if (status == PLIM_UNSUPPORTED && g->nodes.count) /* data that is not a tensor of numbers: say who takes it */
        plim__fail_context(error, status, "unsupported: operator %s", g->nodes.items[0].op_name);
    if (status == PLIM_OK) status = fit(g, &set, error);
    if (status == PLIM_OK) status = run_set(g, &set, threads, FIX_NOTHING, error);
    if (status == PLIM_UNSUPPORTED && set.input_count) status = run_set(g, &set, threads, FIX_INTEGERS, error);
    if (status == PLIM_UNSUPPORTED && set.input_count) status = run_set(g, &set, threads, FIX_ALL, error);
    free_set(&set);
    plim_graph_free(g);
    return status;
}

/* Models that ONNX published with a mistake and has corrected since; older packages still have them. The data is right:
 * only an attribute with which it was made is missing from the model, and its default is another number. */
static const struct {
    const char *name;      /* of the graph */
    const char *attribute; /* of its only node */
    float value;
    const char *note;
} corrections[] = {
    {"test_adam_multiple", "epsilon", 1e-2f, "with epsilon = 0.01, as ONNX corrected the model (issue 7749)"}};

static const char *correct(plim_graph *g) {
    const char *name = g->info.graph_name ? g->info.graph_name : "";
    for (size_t c = 0; c < sizeof corrections / sizeof *corrections; c++) {
        if (strcmp(name, corrections[c].name) != 0 || g->nodes.count != 1) continue;
        const plim__node *node = &g->nodes.items[0];
        if (plim__node_attribute(node, corrections[c].attribute)) continue;
        plim_graph_set_float(g, 0, corrections[c].attribute, corrections[c].value);
        return corrections[c].note;
    }
    return NULL;
}

/* Numbers that were drawn by chance cannot be compared. */
static plim_status check_chance(const plim_graph *g, plim_error *error) {
    for (size_t n = 0; n < g->nodes.count; n++) {
        const plim__node *node = &g->nodes.items[n];
        const plim__op *op = plim__op_find(node->domain, node->op_name, node->version);
        if (!node->dead && op && op->flags & PLIM__OP_RANDOM)
            return plim__fail(error, PLIM_UNSUPPORTED, "unsupported: operator %s draws other numbers than those stored",
                              node->op_name);
    }
    return PLIM_OK;
}

/* Runs all data sets of a case. */
static plim_status run_case(const char *folder, int threads, const char **corrected, plim_error *error) {
    char path[4096];
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    plim_graph *g;
    plim_status status = plim_graph_load(path, &g, error);
    *corrected = status == PLIM_OK ? correct(g) : NULL;
    if (status == PLIM_OK) status = check_chance(g, error);
    size_t sets = 0;
    for (; status == PLIM_OK; sets++) {
        snprintf(path, sizeof path, "%s/test_data_set_%zu", folder, sets);
        if (access(path, R_OK) != 0) break;
        status = run_folder(g, path, threads, error);
    }
    if (status == PLIM_OK && sets == 0) status = plim__fail(error, PLIM_NOT_FOUND, "no test_data_set_0");
    plim_graph_free(g);
    return status;
}

plim_status plim_conformance_run(const char *folder, int threads, plim_conformance *result, plim_error *error) {
    plim_error why = {0};
    PLIM__NEED(result, error);
    memset(result, 0, sizeof *result);
    result->verdict = PLIM_VERDICT_FAILED;
    PLIM__NEED(folder, error);
    PLIM_TRY(plim__threads_check(threads, error));
    plim_status status = run_case(folder, threads, &result->corrected, &why);
    result->verdict = status == PLIM_OK            ? PLIM_VERDICT_PASSED
                      : status == PLIM_UNSUPPORTED ? PLIM_VERDICT_UNSUPPORTED
                                                   : PLIM_VERDICT_FAILED;
    if (status != PLIM_OK) memcpy(result->reason, why.message, sizeof result->reason);
    return PLIM_OK;
}
