/* plimsoll._native.Session: a model made ready to run. */
#include <string.h>

#include "native.h"

static void release(void *it) { plim_session_free(it); }
static void dealloc(PyObject *self) { plim__py_dealloc(self, release); }

#define O(kind, field) PLIM__PY_FIELD(plim_session_options, PLIM__PY_##kind, field)
static const plim__py_field option_fields[] = {
    O(INT, threads),   O(INT64, batch),    PLIM__PY_LIST(plim_session_options, PLIM__PY_SIZES, sizes, size_count),
    O(INT, plan_only), O(INT, evaluation), {0},
};
#undef O

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *model;
    if (!PyArg_ParseTuple(args, "O!", plim__py_graph_type, &model)) return NULL;
    plim_graph *graph = plim__py_it(model, "model");
    PyObject *held = graph ? PyList_New(0) : NULL, *made = NULL;
    plim_session_options options = {.size = sizeof options};
    plim_session *session = NULL;
    plim_error error;
    plim_status status;
    if (held && plim__py_read(keywords, option_fields, &options, held)) {
        Py_BEGIN_ALLOW_THREADS;
        status = plim_session_create(graph, &options, &session, &error);
        Py_END_ALLOW_THREADS;
        made = status == PLIM_OK ? plim__py_new(type, session, NULL) : plim__py_fail(&error);
    }
    Py_XDECREF(held);
    return made;
}

static PyObject *one_value(const plim_graph *graph, plim_value value) {
    int64_t dims[PLIM_MAX_RANK];
    int rank = plim_graph_value_shape(graph, value, dims);
    return Py_BuildValue("NsN", plim__py_text(plim_graph_value_name(graph, value)),
                         plim_dtype_name(plim_graph_value_dtype(graph, value)),
                         plim__py_dims(rank > 0 ? rank : 0, dims));
}

/* [(name, dtype, shape)] of inputs, and of outputs, with the sizes that were bound. */
static PyObject *signature(PyObject *self, PyObject *none) {
    (void)none;
    plim_session *session = plim__py_it(self, "session");
    PyObject *both[2] = {session ? PyList_New(0) : NULL, session ? PyList_New(0) : NULL};
    const plim_graph *graph = session ? plim_session_graph(session) : NULL;
    for (int which = 0; which < 2; which++) {
        size_t count = which ? plim_graph_output_count(graph) : plim_graph_input_count(graph);
        for (size_t i = 0; both[which] && i < count; i++) {
            PyObject *one = one_value(graph, which ? plim_graph_output_at(graph, i) : plim_graph_input_at(graph, i));
            if (!one || PyList_Append(both[which], one) < 0) Py_CLEAR(both[which]);
            Py_XDECREF(one);
        }
    }
    if (both[0] && both[1]) return Py_BuildValue("NN", both[0], both[1]);
    Py_XDECREF(both[0]);
    Py_XDECREF(both[1]);
    return NULL;
}

static bool value_bytes(const plim_graph *graph, const char *name, size_t *bytes, plim_dtype *dtype) {
    plim_value value = plim_graph_find(graph, name);
    int64_t dims[PLIM_MAX_RANK], elements = 1;
    int rank = value == PLIM_NO_VALUE ? -1 : plim_graph_value_shape(graph, value, dims);
    for (int i = 0; i < rank; i++) elements *= dims[i];
    *dtype = value == PLIM_NO_VALUE ? PLIM_DTYPE_NONE : plim_graph_value_dtype(graph, value);
    return rank >= 0 && plim_dtype_bytes(*dtype, elements, bytes);
}

/* Copies one array into an input, or an output into an array. */
static bool copy(plim_session *session, PyObject *name, PyObject *object, bool in) {
    PyObject *text = plim__py_path(name);
    plim__py_array array;
    if (!text) return false;
    const char *word = PyBytes_AsString(text);
    bool good = plim__py_array_get(object, word, &array);
    if (good) {
        size_t bytes = 0;
        plim_dtype dtype;
        bool known = value_bytes(plim_session_graph(session), word, &bytes, &dtype);
        void *input = in ? plim_session_input(session, word) : NULL;
        const void *output = in ? NULL : plim_session_output(session, word);
        good = known && bytes == array.bytes && dtype == array.dtype && (input || output) && (in || array.writable);
        if (!good)
            PyErr_Format(PyExc_ValueError, "'%s' needs %zu bytes of %s; %zu of %s were given", word, bytes,
                         plim_dtype_name(dtype), array.bytes, plim_dtype_name(array.dtype));
        else if (in)
            memcpy(input, array.data, bytes);
        else
            memcpy(array.data, output, bytes);
        plim__py_array_release(&array);
    }
    Py_DECREF(text);
    return good;
}

static bool copy_all(plim_session *session, PyObject *dict, bool in) {
    PyObject *name, *object;
    Py_ssize_t position = 0;
    while (PyDict_Next(dict, &position, &name, &object))
        if (!copy(session, name, object, in)) return false;
    return true;
}

/* run({name: array}, {name: array to fill}) */
static PyObject *run(PyObject *self, PyObject *args) {
    plim_session *session = plim__py_it(self, "session");
    PyObject *inputs, *outputs;
    plim_error error;
    plim_status status;
    if (!session || !PyArg_ParseTuple(args, "O!O!", &PyDict_Type, &inputs, &PyDict_Type, &outputs)) return NULL;
    if (!copy_all(session, inputs, true)) return NULL;
    plim__py_object *object = (plim__py_object *)self;
    object->busy = true;
    Py_BEGIN_ALLOW_THREADS;
    status = plim_session_run(session, &error);
    Py_END_ALLOW_THREADS;
    object->busy = false;
    if (status != PLIM_OK) return plim__py_fail(&error);
    if (!copy_all(session, outputs, false)) return NULL;
    Py_RETURN_NONE;
}

static PyObject *arena_bytes(PyObject *self, PyObject *none) {
    (void)none;
    plim_session *session = plim__py_it(self, "session");
    plim_session_stats stats;
    if (!session) return NULL;
    plim_session_get_stats(session, &stats);
    return PyLong_FromSize_t(stats.arena_bytes);
}

static PyMethodDef methods[] = {
    {"signature", signature, METH_NOARGS, "Inputs and outputs: (name, dtype, shape)."},
    {"run", run, METH_VARARGS, "run({name: array}, {name: array to fill})"},
    {"arena_bytes", arena_bytes, METH_NOARGS, "All the memory that the model uses."},
    {0},
};

static PyType_Slot slots[] = {{Py_tp_new, create}, {Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec plim__py_session_spec = {"plimsoll._native.Session", sizeof(plim__py_object), 0, Py_TPFLAGS_DEFAULT, slots};
