/* plimsoll._native.Prediction: whether a training job fits a card. */
#include "native.h"

static void release(void *it) { plim_prediction_free(it); }
static void dealloc(PyObject *self) { plim__py_dealloc(self, release); }

static PyObject *load(PyObject *type, PyObject *path) {
    (void)type;
    plim_prediction *prediction = NULL;
    plim_error error;
    plim_status status;
    PyObject *bytes = plim__py_path(path);
    if (!bytes) return NULL;
    const char *text = PyBytes_AsString(bytes);
    Py_BEGIN_ALLOW_THREADS;
    status = plim_prediction_load(text, &prediction, &error);
    Py_END_ALLOW_THREADS;
    Py_DECREF(bytes);
    return status == PLIM_OK ? plim__py_new(plim__py_prediction_type, prediction, NULL) : plim__py_fail(&error);
}

#define O(kind, field) PLIM__PY_FIELD(plim_model_options, PLIM__PY_##kind, field)
static const plim__py_field model_fields[] = {
    O(INT64, batch),
    PLIM__PY_LIST(plim_model_options, PLIM__PY_SIZES, sizes, size_count),
    O(MODEL_OPTIMIZER, optimizer),
    O(MODEL_PRECISION, precision),
    O(BOOL, checkpoint),
    O(INT64, micro),
    O(BOOL, frozen),
    O(INT64, lora),
    O(BOOL, graph_mode),
    {0},
};
#undef O

static PyObject *from_model(PyObject *type, PyObject *args, PyObject *keywords) {
    (void)type;
    PyObject *model;
    if (!PyArg_ParseTuple(args, "O!", plim__py_graph_type, &model)) return NULL;
    plim_graph *graph = plim__py_it(model, "model");
    PyObject *held = graph ? PyList_New(0) : NULL, *made = NULL;
    plim_model_options options = {.size = sizeof options};
    plim_prediction *prediction = NULL;
    plim_error error;
    plim_status status;
    if (held && plim__py_read(keywords, model_fields, &options, held)) {
        Py_BEGIN_ALLOW_THREADS;
        status = plim_prediction_create(graph, &options, &prediction, &error);
        Py_END_ALLOW_THREADS;
        made = status == PLIM_OK ? plim__py_new(plim__py_prediction_type, prediction, NULL) : plim__py_fail(&error);
    }
    Py_XDECREF(held);
    return made;
}

/* A card and an allocator of their words; `gpu` may be NULL. */
typedef struct place {
    plim_gpu gpu;
    plim_pool_options pool;
} place;

static bool read_place(const char *gpu, const char *pool, place *where) {
    plim_error error;
    *where = (place){.pool = {.size = sizeof where->pool}};
    if (gpu && plim_gpu_find(gpu, &where->gpu, &error) != PLIM_OK) return plim__py_fail(&error), false;
    if (plim_pool_parse(pool, &where->pool, &error) != PLIM_OK) return plim__py_fail(&error), false;
    return true;
}

#define R(kind, field) PLIM__PY_FIELD(plim_prediction_result, PLIM__PY_##kind, field)
static const plim__py_field result_fields[] = {
    R(BOOL, fits),
    R(UINT64, capacity),
    R(UINT64, requested),
    R(UINT64, allocated),
    R(UINT64, reserved),
    R(UINT64, cublas),
    R(UINT64, work),
    R(UINT64, libraries),
    R(UINT64, context),
    R(UINT64, context_most),
    R(UINT64, driver),
    R(UINT64, driver_most),
    R(CHARS, cut),
    {"refused_bytes", PLIM__PY_UINT64, offsetof(plim_prediction_result, replay.failed_bytes), 0},
    {"refused_name", PLIM__PY_CHARS, offsetof(plim_prediction_result, replay.failed_name), 0},
    {"refused_event", PLIM__PY_UINT64, offsetof(plim_prediction_result, replay.failed_event), 0},
    {0},
};
#undef R
#define H(kind, field) PLIM__PY_FIELD(plim_prediction_holder, PLIM__PY_##kind, field)
static const plim__py_field holder_fields[] = {H(CHARS, name), H(CHARS, shape), H(TEXT, kind), H(UINT64, bytes), {0}};
#undef H

static PyObject *result_dict(const plim_prediction_result *result) {
    PyObject *dict = plim__py_build(result_fields, result), *kinds = PyDict_New(), *holders = PyList_New(0);
    bool good = dict && kinds && holders;
    for (size_t i = 0; good && plim_prediction_kind(i); i++)
        good = plim__py_put(kinds, plim_prediction_kind(i), PyLong_FromUnsignedLongLong(result->kinds[i]));
    for (size_t i = 0; good && i < result->holder_count; i++) {
        PyObject *one = plim__py_build(holder_fields, &result->holders[i]);
        good = one && PyList_Append(holders, one) == 0;
        Py_XDECREF(one);
    }
    if (good)
        good = PyDict_SetItemString(dict, "kinds", kinds) == 0 && PyDict_SetItemString(dict, "holders", holders) == 0;
    Py_XDECREF(kinds);
    Py_XDECREF(holders);
    if (!good) Py_CLEAR(dict);
    return dict;
}

/* run(gpu or None, allocator) */
static PyObject *run(PyObject *self, PyObject *args) {
    plim_prediction *prediction = plim__py_it(self, "prediction");
    const char *gpu, *pool;
    place where;
    plim_prediction_result result;
    plim_error error;
    plim_status status;
    if (!prediction || !PyArg_ParseTuple(args, "zs", &gpu, &pool) || !read_place(gpu, pool, &where)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = plim_prediction_run(prediction, gpu ? &where.gpu : NULL, &where.pool, &result, &error);
    Py_END_ALLOW_THREADS;
    return status == PLIM_OK ? result_dict(&result) : plim__py_fail(&error);
}

static PyObject *page(PyObject *self, PyObject *path) {
    plim_prediction *prediction = plim__py_it(self, "prediction");
    PyObject *bytes = prediction ? plim__py_path(path) : NULL;
    plim_error error;
    plim_status status;
    if (!bytes) return NULL;
    const char *text = PyBytes_AsString(bytes);
    Py_BEGIN_ALLOW_THREADS;
    status = plim_prediction_save_page(prediction, text, &error);
    Py_END_ALLOW_THREADS;
    Py_DECREF(bytes);
    if (status != PLIM_OK) return plim__py_fail(&error);
    Py_RETURN_NONE;
}

static PyObject *gpu_tuple(const plim_gpu *gpu) {
    return Py_BuildValue("sKi", gpu->name, (unsigned long long)gpu->memory, gpu->capability);
}

PyObject *plim__py_gpu(PyObject *module, PyObject *args) {
    (void)module;
    const char *text;
    plim_gpu gpu;
    plim_error error;
    if (!PyArg_ParseTuple(args, "s", &text)) return NULL;
    if (plim_gpu_find(text, &gpu, &error) != PLIM_OK) return plim__py_fail(&error);
    return gpu_tuple(&gpu);
}

PyObject *plim__py_gpus(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && plim_gpu_at(i); i++) {
        PyObject *one = gpu_tuple(plim_gpu_at(i));
        if (!one || PyList_Append(list, one) < 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

/* --- of models --------------------------------------------------------------------------------------------------- */

typedef struct job {
    plim_prediction_job it;
    plim_model_options options;
    place where;
    PyObject *held;
} job;

/* (graph, options, gpu or None, allocator) */
static bool read_job(PyObject *args, job *j) {
    PyObject *model, *options;
    const char *gpu, *pool;
    *j = (job){.options = {.size = sizeof j->options}};
    if (!PyArg_ParseTuple(args, "O!O!zs", plim__py_graph_type, &model, &PyDict_Type, &options, &gpu, &pool))
        return false;
    j->it.model = plim__py_it(model, "model");
    j->held = j->it.model ? PyList_New(0) : NULL;
    if (!j->held) return false;
    if (!plim__py_read(options, model_fields, &j->options, j->held) || !read_place(gpu, pool, &j->where)) {
        Py_CLEAR(j->held);
        return false;
    }
    j->it.options = &j->options;
    j->it.gpu = gpu ? &j->where.gpu : NULL;
    j->it.pool = &j->where.pool;
    return true;
}

PyObject *plim__py_largest_batch(PyObject *module, PyObject *args) {
    (void)module;
    job j;
    int64_t batch = 0;
    plim_error error;
    plim_status status;
    if (!read_job(args, &j)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = plim_prediction_largest_batch(&j.it, &batch, &error);
    Py_END_ALLOW_THREADS;
    Py_DECREF(j.held);
    return status == PLIM_OK ? PyLong_FromLongLong(batch) : plim__py_fail(&error);
}

#define C(kind, field) PLIM__PY_FIELD(plim_prediction_cure, PLIM__PY_##kind, field)
static const plim__py_field cure_fields[] = {
    C(TEXT, name), C(TEXT, meaning), C(BOOL, applies), C(BOOL, fits), C(UINT64, driver), C(UINT64, reserved), {0},
};
#undef C

PyObject *plim__py_cures(PyObject *module, PyObject *args) {
    (void)module;
    job j;
    if (!read_job(args, &j)) return NULL;
    PyObject *list = PyList_New(0);
    plim_error error;
    for (size_t i = 0; list; i++) {
        plim_prediction_cure cure;
        plim_status status;
        Py_BEGIN_ALLOW_THREADS;
        status = plim_prediction_try(&j.it, i, &cure, &error);
        Py_END_ALLOW_THREADS;
        if (status == PLIM_NOT_FOUND) break;
        PyObject *one = status == PLIM_OK ? plim__py_build(cure_fields, &cure) : plim__py_fail(&error);
        if (!one || PyList_Append(list, one) < 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    Py_DECREF(j.held);
    return list;
}

static PyMethodDef methods[] = {
    {"load", load, METH_O | METH_STATIC, "Of a trace."},
    {"from_model", (PyCFunction)(void (*)(void))from_model, METH_VARARGS | METH_KEYWORDS | METH_STATIC, "Of a model."},
    {"run", run, METH_VARARGS, "run(gpu or None, allocator)"},
    {"page", page, METH_O, "Writes the last run as a page; ends the prediction."},
    {0},
};

static PyType_Slot slots[] = {{Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec plim__py_prediction_spec = {"plimsoll._native.Prediction", sizeof(plim__py_object), 0, Py_TPFLAGS_DEFAULT,
                                        slots};
