/* plimsoll._native.Graph: models, read from files, from the zoo, or built node by node. */
#include <string.h>

#include "native.h"

static void release(void *it) { plim_graph_free(it); }
static void dealloc(PyObject *self) { plim__py_dealloc(self, release); }

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)args, (void)keywords;
    plim_graph *graph = plim_graph_create();
    return graph ? plim__py_new(type, graph, NULL) : PyErr_NoMemory();
}

static PyObject *wrap(plim_status status, plim_graph *graph, const plim_error *error) {
    return status == PLIM_OK ? plim__py_new(plim__py_graph_type, graph, NULL) : plim__py_fail(error);
}

static PyObject *load(PyObject *type, PyObject *path) {
    (void)type;
    plim_graph *graph = NULL;
    plim_error error;
    plim_status status;
    PyObject *bytes = plim__py_path(path);
    if (!bytes) return NULL;
    const char *text = PyBytes_AsString(bytes);
    Py_BEGIN_ALLOW_THREADS;
    status = plim_graph_load(text, &graph, &error);
    Py_END_ALLOW_THREADS;
    Py_DECREF(bytes);
    return wrap(status, graph, &error);
}

#define X(kind, field) PLIM__PY_FIELD(plim_zoo_options, PLIM__PY_##kind, field)
static const plim__py_field zoo_fields[] = {
    X(INT64, classes),
    X(INT64, image),
    X(INT64, channels),
    X(INT64, seq),
    X(INT64, width),
    X(INT64, layers),
    X(INT64, heads),
    X(INT64, features),
    X(INT64, kv_heads),
    X(INT64, hidden),
    X(INT64, vocab),
    X(UINT64, seed),
    {0},
};
#undef X

static PyObject *zoo(PyObject *type, PyObject *args, PyObject *keywords) {
    (void)type;
    const char *name;
    if (!PyArg_ParseTuple(args, "s", &name)) return NULL;
    plim_zoo_options options = {.size = sizeof options};
    plim_graph *graph = NULL;
    plim_error error;
    plim_status status = PLIM_OK;
    PyObject *held = PyList_New(0);
    bool good = held && plim__py_read(keywords, zoo_fields, &options, held);
    if (good) {
        Py_BEGIN_ALLOW_THREADS;
        status = plim_zoo_create(name, &options, &graph, &error);
        Py_END_ALLOW_THREADS;
    }
    Py_XDECREF(held);
    return good ? wrap(status, graph, &error) : NULL;
}

/* --- building --------------------------------------------------------------------------------------------------- */

/* A list of numbers and of names, which are symbols. */
static bool read_dims(plim_graph *graph, PyObject *list, int *rank, int64_t dims[PLIM_MAX_RANK]) {
    Py_ssize_t count = PySequence_Size(list);
    if (count < 0) return false;
    if (count > PLIM_MAX_RANK) return PyErr_Format(PyExc_ValueError, "%zd axes are too many", count), false;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(list, i);
        if (!item) return false;
        if (PyUnicode_Check(item)) {
            PyObject *bytes = PyUnicode_AsUTF8String(item);
            if (bytes) dims[i] = plim_graph_symbol(graph, PyBytes_AsString(bytes));
            Py_XDECREF(bytes);
        } else {
            dims[i] = PyLong_AsLongLong(item);
        }
        Py_DECREF(item);
        if (PyErr_Occurred()) return false;
    }
    *rank = (int)count;
    return true;
}

static PyObject *value_or_fail(const plim_graph *graph, plim_value value) {
    plim_error error;
    if (plim_graph_status(graph, &error) != PLIM_OK) return plim__py_fail(&error);
    return PyLong_FromLong(value);
}

static PyObject *input(PyObject *self, PyObject *args) {
    plim_graph *graph = plim__py_it(self, "model");
    const char *name, *dtype;
    PyObject *shape;
    int rank;
    int64_t dims[PLIM_MAX_RANK];
    if (!graph || !PyArg_ParseTuple(args, "ssO", &name, &dtype, &shape)) return NULL;
    if (!read_dims(graph, shape, &rank, dims)) return NULL;
    return value_or_fail(graph, plim_graph_input(graph, name, plim_dtype_from_name(dtype), rank, dims));
}

static PyObject *weights(PyObject *self, PyObject *args, bool trained) {
    plim_graph *graph = plim__py_it(self, "model");
    const char *name;
    PyObject *object;
    plim__py_array array;
    if (!graph || !PyArg_ParseTuple(args, "zO", &name, &object)) return NULL;
    if (!plim__py_array_get(object, name ? name : "a constant", &array)) return NULL;
    plim_value value = trained ? plim_graph_parameter(graph, name, array.dtype, array.rank, array.dims, array.data)
                               : plim_graph_constant(graph, name, array.dtype, array.rank, array.dims, array.data);
    plim__py_array_release(&array);
    return value_or_fail(graph, value);
}

static PyObject *parameter(PyObject *self, PyObject *args) { return weights(self, args, true); }
static PyObject *constant(PyObject *self, PyObject *args) { return weights(self, args, false); }

enum { MOST_LIST = 64 };

static bool set_list(plim_graph *graph, int32_t node, const char *name, PyObject *list) {
    int64_t ints[MOST_LIST];
    float floats[MOST_LIST];
    Py_ssize_t count = PySequence_Size(list);
    bool whole = true;
    if (count < 0 || count > MOST_LIST) return PyErr_Format(PyExc_ValueError, "%s: the list is too long", name), false;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(list, i);
        if (!item) return false;
        floats[i] = (float)PyFloat_AsDouble(item);
        ints[i] = 0;
        if (PyLong_Check(item))
            ints[i] = PyLong_AsLongLong(item);
        else
            whole = false;
        Py_DECREF(item);
        if (PyErr_Occurred()) return false;
    }
    if (whole)
        plim_graph_set_ints(graph, node, name, ints, (size_t)count);
    else
        plim_graph_set_floats(graph, node, name, floats, (size_t)count);
    return true;
}

static bool set_attribute(plim_graph *graph, int32_t node, const char *name, PyObject *value) {
    if (PyLong_Check(value)) {
        plim_graph_set_int(graph, node, name, PyLong_AsLongLong(value));
    } else if (PyFloat_Check(value)) {
        plim_graph_set_float(graph, node, name, (float)PyFloat_AsDouble(value));
    } else if (PyUnicode_Check(value)) {
        PyObject *bytes = PyUnicode_AsUTF8String(value);
        if (!bytes) return false;
        plim_graph_set_string(graph, node, name, PyBytes_AsString(bytes));
        Py_DECREF(bytes);
    } else {
        return set_list(graph, node, name, value);
    }
    return !PyErr_Occurred();
}

static bool set_attributes(plim_graph *graph, int32_t node, PyObject *attributes) {
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (attributes && PyDict_Next(attributes, &position, &key, &value)) {
        PyObject *bytes = PyUnicode_AsUTF8String(key);
        bool good = bytes && set_attribute(graph, node, PyBytes_AsString(bytes), value);
        Py_XDECREF(bytes);
        if (!good) return false;
    }
    return true;
}

/* node(op, name, inputs, outputs, **attributes) gives the numbers of its outputs. */
static PyObject *node(PyObject *self, PyObject *args, PyObject *attributes) {
    plim_graph *graph = plim__py_it(self, "model");
    const char *op, *name;
    PyObject *inputs;
    int outputs;
    plim_value values[MOST_LIST];
    if (!graph || !PyArg_ParseTuple(args, "szOi", &op, &name, &inputs, &outputs)) return NULL;
    Py_ssize_t count = PySequence_Size(inputs);
    if (count < 0 || count > MOST_LIST || outputs < 0 || outputs > MOST_LIST)
        return PyErr_Format(PyExc_ValueError, "%s: too many inputs or outputs", op);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(inputs, i);
        values[i] = item == Py_None ? PLIM_NO_VALUE : (plim_value)PyLong_AsLong(item);
        Py_XDECREF(item);
        if (PyErr_Occurred()) return NULL;
    }
    int32_t made = plim_graph_node(graph, op, name, values, (size_t)count, (size_t)outputs);
    if (made >= 0 && !set_attributes(graph, made, attributes)) return NULL;
    plim_error error;
    if (plim_graph_status(graph, &error) != PLIM_OK) return plim__py_fail(&error);
    int64_t results[MOST_LIST];
    for (int i = 0; i < outputs; i++) results[i] = plim_graph_node_output(graph, made, (size_t)i);
    return plim__py_dims(outputs, results);
}

static PyObject *output(PyObject *self, PyObject *args) {
    plim_graph *graph = plim__py_it(self, "model");
    int value;
    const char *name;
    if (!graph || !PyArg_ParseTuple(args, "iz", &value, &name)) return NULL;
    plim_graph_output(graph, value, name);
    return value_or_fail(graph, value);
}

/* --- looking ---------------------------------------------------------------------------------------------------- */

static PyObject *describe(const plim_graph *graph, plim_value value) {
    int64_t dims[PLIM_MAX_RANK];
    int rank = plim_graph_value_shape(graph, value, dims);
    PyObject *shape = PyList_New(0);
    for (int i = 0; shape && i < rank; i++) {
        const char *symbol = plim_graph_symbol_name(graph, dims[i]);
        PyObject *dim = symbol ? plim__py_text(symbol) : PyLong_FromLongLong(dims[i]);
        if (!dim || PyList_Append(shape, dim) < 0) Py_CLEAR(shape);
        Py_XDECREF(dim);
    }
    if (!shape) return NULL;
    return Py_BuildValue("NsN", plim__py_text(plim_graph_value_name(graph, value)),
                         plim_dtype_name(plim_graph_value_dtype(graph, value)), shape);
}

static PyObject *describe_all(const plim_graph *graph, size_t count,
                              plim_value (*at)(const plim_graph *graph, size_t index)) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *one = describe(graph, at(graph, i));
        if (!one || PyList_Append(list, one) < 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *inputs(PyObject *self, PyObject *none) {
    (void)none;
    plim_graph *graph = plim__py_it(self, "model");
    return graph ? describe_all(graph, plim_graph_input_count(graph), plim_graph_input_at) : NULL;
}

static PyObject *outputs(PyObject *self, PyObject *none) {
    (void)none;
    plim_graph *graph = plim__py_it(self, "model");
    return graph ? describe_all(graph, plim_graph_output_count(graph), plim_graph_output_at) : NULL;
}

static PyObject *has(PyObject *self, PyObject *args) {
    plim_graph *graph = plim__py_it(self, "model");
    const char *name;
    if (!graph || !PyArg_ParseTuple(args, "s", &name)) return NULL;
    return PyBool_FromLong(plim_graph_find(graph, name) != PLIM_NO_VALUE);
}

static PyObject *count_weights(PyObject *self, PyObject *none) {
    (void)none;
    plim_graph *graph = plim__py_it(self, "model");
    if (!graph) return NULL;
    plim_graph_weights w;
    plim_graph_get_weights(graph, &w);
    return Py_BuildValue("KLK", (unsigned long long)w.tensors, (long long)w.elements, (unsigned long long)w.bytes);
}

/* Names of the weights that training changes. */
static PyObject *trained(PyObject *self, PyObject *none) {
    (void)none;
    plim_graph *graph = plim__py_it(self, "model");
    PyObject *list = graph ? PyList_New(0) : NULL;
    plim_graph_weight weight;
    plim_value value;
    for (size_t i = 0; list && (value = plim_graph_weight_at(graph, i, &weight)) != PLIM_NO_VALUE; i++) {
        if (!weight.trained) continue;
        PyObject *name = plim__py_text(plim_graph_value_name(graph, value));
        if (!name || PyList_Append(list, name) < 0) Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

/* (kind, text) of what an exporter did to the model. */
static PyObject *remarks(PyObject *self, PyObject *none) {
    static const char *const kinds[PLIM_REMARK_COUNT] = {"restored", "lost", "doubt"};
    (void)none;
    plim_graph *graph = plim__py_it(self, "model");
    PyObject *list = graph ? PyList_New(0) : NULL;
    plim_remark_kind kind;
    const char *said;
    for (size_t i = 0; list && (said = plim_graph_remark_at(graph, i, &kind)); i++) {
        PyObject *one = Py_BuildValue("sN", kinds[kind], plim__py_text(said));
        if (!one || PyList_Append(list, one) < 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

/* (samples that the model is for, whether it is for any batch now, what prevents that) */
static PyObject *free_batch(PyObject *self, PyObject *none) {
    (void)none;
    plim_graph *graph = plim__py_it(self, "model");
    if (!graph) return NULL;
    plim_baked_batch baked;
    plim_error error;
    plim_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = plim_graph_free_batch(graph, &baked, &error);
    Py_END_ALLOW_THREADS;
    if (status != PLIM_OK) return plim__py_fail(&error);
    return Py_BuildValue("LNN", (long long)baked.samples, PyBool_FromLong(baked.freed), plim__py_text(baked.why));
}

static PyObject *text(PyObject *self, PyObject *none) {
    (void)none;
    plim_graph *graph = plim__py_it(self, "model");
    if (!graph) return NULL;
    char *printed = plim_graph_print(graph);
    if (!printed) return PyErr_NoMemory();
    PyObject *made = plim__py_text(printed);
    plim_text_free(printed);
    return made;
}

static PyObject *save(PyObject *self, PyObject *path) {
    plim_graph *graph = plim__py_it(self, "model");
    plim_error error;
    PyObject *bytes = graph ? plim__py_path(path) : NULL;
    if (!bytes) return NULL;
    plim_status status;
    const char *name = PyBytes_AsString(bytes);
    Py_BEGIN_ALLOW_THREADS;
    status = plim_graph_save(graph, name, &error);
    Py_END_ALLOW_THREADS;
    Py_DECREF(bytes);
    if (status != PLIM_OK) return plim__py_fail(&error);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"load", load, METH_O | METH_STATIC, "A model of an ONNX file."},
    {"zoo", (PyCFunction)(void (*)(void))zoo, METH_VARARGS | METH_KEYWORDS | METH_STATIC, "A built-in network."},
    {"input", input, METH_VARARGS, "input(name, dtype, shape)"},
    {"parameter", parameter, METH_VARARGS, "parameter(name, array)"},
    {"constant", constant, METH_VARARGS, "constant(name, array)"},
    {"node", (PyCFunction)(void (*)(void))node, METH_VARARGS | METH_KEYWORDS,
     "node(op, name, inputs, outputs, **attributes)"},
    {"output", output, METH_VARARGS, "output(value, name)"},
    {"inputs", inputs, METH_NOARGS, "(name, dtype, shape) of each input"},
    {"outputs", outputs, METH_NOARGS, "(name, dtype, shape) of each output"},
    {"has", has, METH_VARARGS, "Whether a value has this name."},
    {"weights", count_weights, METH_NOARGS, "tensors, elements and bytes of the parameters"},
    {"trained", trained, METH_NOARGS, "Names of the weights that training changes."},
    {"remarks", remarks, METH_NOARGS, "(kind, text) of what an exporter did: restored, lost, doubt"},
    {"free_batch", free_batch, METH_NOARGS, "Opens a batch that is part of the model: (samples, freed, why not)"},
    {"text", text, METH_NOARGS, "one line a node"},
    {"save", save, METH_O, "Writes an ONNX file."},
    {0},
};

static PyType_Slot slots[] = {{Py_tp_new, create}, {Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec plim__py_graph_spec = {"plimsoll._native.Graph", sizeof(plim__py_object), 0, Py_TPFLAGS_DEFAULT, slots};
