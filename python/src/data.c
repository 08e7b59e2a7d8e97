/* plimsoll._native.Data: data sets as streams of batches, of files and of arrays in memory. */
#include <string.h>

#include "native.h"

static void release(void *it) { plim_data_free(it); }
static void dealloc(PyObject *self) { plim__py_dealloc(self, release); }

#define X(kind, field) PLIM__PY_FIELD(plim_data_options, PLIM__PY_##kind, field)
static const plim__py_field option_fields[] = {
    X(TEXT, kind),
    X(TEXT, split),
    X(TEXT, target),
    X(INT, float_target),
    X(INT64, batch),
    X(INT64, epochs),
    X(UINT64, seed),
    X(INT, in_order),
    X(INT, drop_last),
    X(DOUBLE, validation),
    X(INT64, seq),
    X(INT64, stride),
    X(INT, token_bytes),
    X(INT64, height),
    X(INT64, width),
    X(INT64, resize),
    X(INT64, channels),
    X(INT, random_crop),
    X(INT, random_flip),
    X(INT, skip_bad),
    X(INT, raw),
    X(INT, channels_last),
    X(TEXT, columns),
    X(TEXT, drop),
    X(TEXT, categories),
    X(TEXT, missing),
    X(INT, normalise),
    X(TEXT, table),
    X(INT, no_target),
    X(INT64, samples),
    X(INT, workers),
    X(INT, depth),
    X(UINT64, buffer_limit),
    X(UINT64, memory_limit),
    X(INT, bounded),
    X(INT, float_inputs),
    X(INT, decimal),
    {0},
};
#undef X

static PyObject *open_path(PyObject *type, PyObject *args, PyObject *keywords) {
    (void)type;
    PyObject *path;
    if (!PyArg_ParseTuple(args, "O", &path)) return NULL;
    plim_data_options options = {.size = sizeof options};
    plim_data *data = NULL;
    plim_error error;
    plim_status status;
    PyObject *held = PyList_New(0), *bytes = plim__py_path(path), *made = NULL;
    if (held && bytes && plim__py_read(keywords, option_fields, &options, held)) {
        const char *text = PyBytes_AsString(bytes);
        Py_BEGIN_ALLOW_THREADS;
        status = plim_data_create(text, &options, &data, &error);
        Py_END_ALLOW_THREADS;
        made = status == PLIM_OK ? plim__py_new(plim__py_data_type, data, NULL) : plim__py_fail(&error);
    }
    Py_XDECREF(held);
    Py_XDECREF(bytes);
    return made;
}

/* One entry: (name, array, is it the target). */
static bool read_array(PyObject *entry, plim_data_array *array, plim__py_array *view) {
    const char *name;
    PyObject *object;
    int target;
    if (!PyArg_ParseTuple(entry, "sOi", &name, &object, &target)) return false;
    if (!plim__py_array_get(object, name, view)) return false;
    *array = (plim_data_array){name, view->dtype, view->rank, view->dims, view->data, target};
    return true;
}

static PyObject *of_arrays(PyObject *type, PyObject *args, PyObject *keywords) {
    (void)type;
    PyObject *list;
    if (!PyArg_ParseTuple(args, "O", &list)) return NULL;
    plim_data_array arrays[PLIM_DATA_MAX_FIELDS];
    plim__py_array views[PLIM_DATA_MAX_FIELDS];
    Py_ssize_t count = PySequence_Size(list);
    if (count < 0) return NULL;
    if (count > PLIM_DATA_MAX_FIELDS) return PyErr_Format(PyExc_ValueError, "%zd arrays are too many", count);
    plim_data_options options = {.size = sizeof options};
    plim_data *data = NULL;
    plim_error error;
    PyObject *held = PySequence_Tuple(list), *texts = PyList_New(0); /* the tuple keeps names and arrays */
    bool good = held && texts && plim__py_read(keywords, option_fields, &options, texts);
    Py_ssize_t have = 0;
    for (; good && have < count; have++)
        if (!read_array(PyTuple_GetItem(held, have), &arrays[have], &views[have])) break;
    PyObject *made = NULL;
    if (good && have == count) {
        plim_status status = plim_data_create_arrays(arrays, (size_t)count, &options, &data, &error);
        made = status != PLIM_OK ? plim__py_fail(&error) : plim__py_new(plim__py_data_type, data, held);
        held = status == PLIM_OK ? NULL : held;
    }
    for (Py_ssize_t i = 0; i < have; i++) plim__py_array_release(&views[i]);
    Py_XDECREF(held);
    Py_XDECREF(texts);
    return made;
}

#define X(kind, field) PLIM__PY_FIELD(plim_data_info, PLIM__PY_##kind, field)
static const plim__py_field info_fields[] = {
    X(TEXT, kind),
    X(INT64, samples),
    X(INT64, batches),
    X(INT64, batch),
    X(INT64, classes),
    X(INT, skips_bad),
    X(UINT64, file_bytes),
    X(UINT64, held_bytes),
    X(UINT64, most_bytes),
    X(UINT64, opening_bytes),
    {0},
};
#undef X

static PyObject *info(PyObject *self, PyObject *none) {
    (void)none;
    plim_data *data = plim__py_it(self, "data set");
    if (!data) return NULL;
    plim_data_info i;
    plim_data_get_info(data, &i);
    return plim__py_build(info_fields, &i);
}

#define X(kind, field) PLIM__PY_FIELD(plim_data_stats, PLIM__PY_##kind, field)
static const plim__py_field stats_fields[] = {
    X(DOUBLE, seconds), X(DOUBLE, wait_share), X(INT64, samples), X(INT64, skipped), X(UINT64, buffer_bytes), {0},
};
#undef X

static PyObject *stats(PyObject *self, PyObject *none) {
    (void)none;
    plim_data *data = plim__py_it(self, "data set");
    if (!data) return NULL;
    plim_data_stats s;
    plim_data_get_stats(data, &s);
    return plim__py_build(stats_fields, &s);
}

/* (name, dtype, shape of a sample, is it the target, classes) of each field. */
static PyObject *fields(PyObject *self, PyObject *none) {
    (void)none;
    plim_data *data = plim__py_it(self, "data set");
    PyObject *list = data ? PyList_New(0) : NULL;
    const plim_data_field *field;
    for (int i = 0; list && (field = plim_data_field_at(data, i)); i++) {
        PyObject *one =
            Py_BuildValue("ssNOL", field->name, plim_dtype_name(field->dtype), plim__py_dims(field->rank, field->dims),
                          field->target ? Py_True : Py_False, (long long)field->classes);
        if (!one || PyList_Append(list, one) < 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *class_name(PyObject *self, PyObject *args) {
    plim_data *data = plim__py_it(self, "data set");
    long long index;
    if (!data || !PyArg_ParseTuple(args, "L", &index)) return NULL;
    return plim__py_text(plim_data_class_name(data, index));
}

static PyObject *seek(PyObject *self, PyObject *args) {
    plim_data *data = plim__py_it(self, "data set");
    long long epoch, sample;
    plim_error error;
    if (!data || !PyArg_ParseTuple(args, "LL", &epoch, &sample)) return NULL;
    if (plim_data_seek(data, (plim_data_position){epoch, sample}, &error) != PLIM_OK) return plim__py_fail(&error);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"open", (PyCFunction)(void (*)(void))open_path, METH_VARARGS | METH_KEYWORDS | METH_STATIC,
     "A data set of files."},
    {"arrays", (PyCFunction)(void (*)(void))of_arrays, METH_VARARGS | METH_KEYWORDS | METH_STATIC,
     "A data set of arrays in memory: [(name, array, is it the target)]."},
    {"info", info, METH_NOARGS, "What is in it."},
    {"stats", stats, METH_NOARGS, "How reading went."},
    {"fields", fields, METH_NOARGS, "(name, dtype, shape, is it the target, classes) of each field."},
    {"class_name", class_name, METH_VARARGS, "The name of a class, or None."},
    {"seek", seek, METH_VARARGS, "seek(epoch, sample)"},
    {0},
};

static PyType_Slot slots[] = {{Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec plim__py_data_spec = {"plimsoll._native.Data", sizeof(plim__py_object), 0, Py_TPFLAGS_DEFAULT, slots};
