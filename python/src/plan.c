/* Plans as dictionaries, and as a page. */
#include "native.h"

#define C(kind, field) PLIM__PY_FIELD(plim_plan_candidate, PLIM__PY_##kind, field)
static const plim__py_field candidate_fields[] = {
    C(UINT64, budget_bytes),
    C(UINT64, arena_bytes),
    C(UINT64, process_bytes),
    C(INT64, micro_batch),
    C(INT64, accumulate),
    C(UINT64, recomputed),
    C(UINT64, spilled),
    C(UINT64, streamed),
    C(UINT64, in_model),
    C(DOUBLE, file_seconds),
    C(DOUBLE, file_waits),
    C(DOUBLE, seconds),
    C(CLASS, class_),
    C(UINT64, weights),
    C(UINT64, gradients),
    C(UINT64, optimizer),
    C(UINT64, activations),
    C(UINT64, workspace),
    C(UINT64, data),
    C(UINT64, program),
    C(UINT64, recording),
    C(UINT64, narrow_saved),
    C(PRECISION, precision),
    C(UINT64, base_saved),
    C(BASE, base),
    {0},
};
#undef C
#define R(kind, field) PLIM__PY_FIELD(plim_plan_report, PLIM__PY_##kind, field)
static const plim__py_field report_fields[] = {
    R(INT, fits),
    R(UINT64, budget_bytes),
    R(UINT64, minimum_budget_bytes),
    R(INT64, largest_batch),
    R(UINT64, largest_batch_limit),
    R(INT, largest_batch_open),
    R(TEXT, why),
    R(TEXT, prevents_split),
    {0},
};
#undef R

static PyObject *peak_list(const plim_plan_report *report) {
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < report->peak_count; i++) {
        const plim_plan_tensor *t = &report->peak[i];
        PyObject *one =
            Py_BuildValue("{s:N,s:N,s:N,s:s,s:N,s:K}", "name", plim__py_text(t->name), "op", plim__py_text(t->op),
                          "kind", plim__py_text(t->kind), "dtype", plim_dtype_name(t->dtype), "shape",
                          plim__py_dims(t->rank, t->dims), "bytes", (unsigned long long)t->bytes);
        if (!one || PyList_Append(list, one) < 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *frontier_list(const plim_plan_report *report) {
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < report->frontier_count; i++) {
        PyObject *one = plim__py_build(candidate_fields, &report->frontier[i]);
        if (!one || PyList_Append(list, one) < 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

#define L(kind, field) PLIM__PY_FIELD(plim_plan_lever, PLIM__PY_##kind, field)
static const plim__py_field lever_fields[] = {
    L(TEXT, name), L(UINT64, saved_bytes), L(DOUBLE, seconds), L(CLASS, class_), L(INT, used), {0},
};
#undef L

static PyObject *lever_list(const plim_plan_report *report) {
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < report->lever_count; i++) {
        PyObject *one = plim__py_build(lever_fields, &report->levers[i]);
        if (!one || PyList_Append(list, one) < 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *report_dict(const plim_plan_report *report) {
    PyObject *dict = plim__py_build(report_fields, report);
    bool good = dict && plim__py_put(dict, "chosen", plim__py_build(candidate_fields, &report->chosen)) &&
                plim__py_put(dict, "unconstrained", plim__py_build(candidate_fields, &report->unconstrained)) &&
                plim__py_put(dict, "peak", peak_list(report)) &&
                plim__py_put(dict, "frontier", frontier_list(report)) &&
                plim__py_put(dict, "levers", lever_list(report));
    if (!good) Py_CLEAR(dict);
    return dict;
}

static plim_status write_page(const plim_plan *plan, const char *title, const char *path, plim_error *error) {
    plim_report *report = NULL;
    plim_status status = plim_report_create_plan(plan, title, NULL, &report, error);
    if (status == PLIM_OK) status = plim_report_save(report, path, error);
    plim_report_free(report);
    return status;
}

/* plan(graph, page or None, title, file or None, **options of a trainer) */
PyObject *plim__py_plan(PyObject *module, PyObject *args, PyObject *keywords) {
    (void)module;
    PyObject *model;
    const char *page, *title, *file;
    if (!PyArg_ParseTuple(args, "O!zsz", plim__py_graph_type, &model, &page, &title, &file)) return NULL;
    plim_graph *graph = plim__py_it(model, "model");
    PyObject *held = graph ? PyList_New(0) : NULL, *made = NULL;
    plim_trainer_options options;
    plim_plan *plan = NULL;
    plim_error error;
    plim_status status;
    if (held && plim__py_trainer_options(keywords, &options, held)) {
        Py_BEGIN_ALLOW_THREADS;
        status = plim_plan_create(graph, &options, &plan, &error);
        if (status == PLIM_OK && page) status = write_page(plan, title, page, &error);
        if (status == PLIM_OK && file) status = plim_plan_save(plan, title, NULL, file, &error);
        Py_END_ALLOW_THREADS;
        made = status == PLIM_OK ? report_dict(plim_plan_get_report(plan)) : plim__py_fail(&error);
    }
    Py_BEGIN_ALLOW_THREADS;
    plim_plan_free(plan);
    Py_END_ALLOW_THREADS;
    Py_XDECREF(held);
    return made;
}
