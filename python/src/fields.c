/* Structs of the library as dictionaries and back, by tables of fields. */
#include <string.h>

#include "native.h"

bool plim__py_put(PyObject *dict, const char *name, PyObject *value) {
    if (!value) return false;
    int failed = PyDict_SetItemString(dict, name, value);
    Py_DECREF(value);
    return failed == 0;
}

/* --- to Python -------------------------------------------------------------------------------------------------- */

static PyObject *amount(const plim_amount *from) {
    if (!from->known) Py_RETURN_NONE;
    return PyLong_FromUnsignedLongLong(from->bytes);
}

static PyObject *build_one(plim__py_kind kind, const char *from) {
    switch (kind) {
    case PLIM__PY_INT: return PyLong_FromLong(*(const int *)(const void *)from);
    case PLIM__PY_INT64: return PyLong_FromLongLong(*(const int64_t *)(const void *)from);
    case PLIM__PY_UINT64: return PyLong_FromUnsignedLongLong(*(const uint64_t *)(const void *)from);
    case PLIM__PY_DOUBLE: return PyFloat_FromDouble(*(const double *)(const void *)from);
    case PLIM__PY_BOOL: return PyBool_FromLong(*(const bool *)from);
    case PLIM__PY_TEXT: return plim__py_text(*(const char *const *)(const void *)from);
    case PLIM__PY_CHARS: return plim__py_text(from);
    case PLIM__PY_AMOUNT: return amount((const plim_amount *)(const void *)from);
    case PLIM__PY_CLASS: return plim__py_text(plim_class_name(*(const plim_class *)(const void *)from));
    case PLIM__PY_BASE: return plim__py_text(plim_base_name(*(const plim_base *)(const void *)from));
    case PLIM__PY_PRECISION: return plim__py_text(plim_precision_name(*(const plim_precision *)(const void *)from));
    default: PyErr_SetString(PyExc_SystemError, "a field that is only read"); return NULL;
    }
}

PyObject *plim__py_build(const plim__py_field *table, const void *source) {
    PyObject *dict = PyDict_New();
    for (; dict && table->name; table++)
        if (!plim__py_put(dict, table->name, build_one(table->kind, (const char *)source + table->offset)))
            Py_CLEAR(dict);
    return dict;
}

/* --- from Python ------------------------------------------------------------------------------------------------ */

/* Memory that lives as long as the list does. */
static void *hold(PyObject *held, size_t bytes) {
    PyObject *block = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(bytes ? bytes : 1));
    if (!block || PyList_Append(held, block) < 0) {
        Py_XDECREF(block);
        return NULL;
    }
    Py_DECREF(block);
    return PyBytes_AsString(block);
}

static const char *hold_text(PyObject *value, PyObject *held) {
    PyObject *bytes = plim__py_path(value);
    if (!bytes || PyList_Append(held, bytes) < 0) {
        Py_XDECREF(bytes);
        return NULL;
    }
    Py_DECREF(bytes);
    return PyBytes_AsString(bytes);
}

static bool read_sizes(PyObject *value, PyObject *held, void *target, size_t *count) {
    if (!PyDict_Check(value)) return PyErr_SetString(PyExc_TypeError, "sizes: give a dictionary, {'seq': 256}"), false;
    Py_ssize_t number = PyDict_Size(value), position = 0;
    plim_size *sizes = hold(held, (size_t)number * sizeof *sizes);
    if (!sizes) return false;
    PyObject *name, *size;
    for (size_t i = 0; PyDict_Next(value, &position, &name, &size); i++) {
        sizes[i] = (plim_size){hold_text(name, held), PyLong_AsLongLong(size)};
        if (!sizes[i].symbol || PyErr_Occurred()) return false;
    }
    *(const plim_size **)target = sizes;
    *count = (size_t)number;
    return true;
}

static bool read_list(plim__py_kind kind, PyObject *value, PyObject *held, void *target, size_t *count) {
    Py_ssize_t number = PySequence_Size(value);
    if (number < 0) return false;
    bool texts = kind == PLIM__PY_TEXTS;
    void *list = hold(held, (size_t)number * (texts ? sizeof(char *) : sizeof(float)));
    for (Py_ssize_t i = 0; list && i < number; i++) {
        PyObject *item = PySequence_GetItem(value, i);
        if (!item) return false;
        if (texts)
            ((const char **)list)[i] = hold_text(item, held);
        else
            ((float *)list)[i] = (float)PyFloat_AsDouble(item);
        Py_DECREF(item);
        if (PyErr_Occurred()) return false;
    }
    if (!list) return false;
    *(void **)target = list;
    *count = (size_t)number;
    return true;
}

static bool read_word(plim__py_kind kind, const char *word, const char *name, void *target) {
    static const char *const allowed[] = {"", "exact", "reordered", "lossy"};
    bool found = false;
    switch (kind) {
    case PLIM__PY_LOSS: found = plim_loss_find(word, target); break;
    case PLIM__PY_OPTIMIZER: found = plim_optimizer_find(word, target); break;
    case PLIM__PY_SCHEDULE: found = plim_schedule_find(word, target); break;
    case PLIM__PY_BASE: found = plim_base_find(word, target); break;
    case PLIM__PY_PRECISION: found = plim_precision_find(word, target); break;
    case PLIM__PY_MODEL_OPTIMIZER: found = plim_model_optimizer_find(word, target); break;
    case PLIM__PY_MODEL_PRECISION: found = plim_model_precision_find(word, target); break;
    default:
        for (int i = 1; i < 4 && !found; i++) {
            found = strcmp(word, allowed[i]) == 0;
            *(plim_allow *)target = (plim_allow)i;
        }
    }
    if (!found) PyErr_Format(PyExc_ValueError, "%s: '%s' is not known", name, word);
    return found;
}

static bool read_one(const plim__py_field *field, PyObject *value, char *target, PyObject *held) {
    void *place = target + field->offset;
    size_t *count = (size_t *)(void *)(target + field->count);
    const char *word;
    long number;
    switch (field->kind) {
    case PLIM__PY_INT:
        number = PyLong_AsLong(value);
        if (number > INT32_MAX || number < INT32_MIN)
            return PyErr_Format(PyExc_OverflowError, "%s: %ld is too large", field->name, number), false;
        *(int *)place = (int)number;
        break;
    case PLIM__PY_INT64: *(int64_t *)place = PyLong_AsLongLong(value); break;
    case PLIM__PY_UINT64: *(uint64_t *)place = PyLong_AsUnsignedLongLong(value); break;
    case PLIM__PY_DOUBLE: *(double *)place = PyFloat_AsDouble(value); break;
    case PLIM__PY_BOOL: *(bool *)place = PyObject_IsTrue(value) > 0; break;
    case PLIM__PY_TEXT: *(const char **)place = hold_text(value, held); break;
    case PLIM__PY_SIZES: return read_sizes(value, held, place, count);
    case PLIM__PY_TEXTS:
    case PLIM__PY_FLOATS: return read_list(field->kind, value, held, place, count);
    case PLIM__PY_LOSS:
    case PLIM__PY_OPTIMIZER:
    case PLIM__PY_SCHEDULE:
    case PLIM__PY_ALLOW:
    case PLIM__PY_PRECISION:
    case PLIM__PY_BASE:
    case PLIM__PY_MODEL_OPTIMIZER:
    case PLIM__PY_MODEL_PRECISION:
        word = hold_text(value, held);
        return word && read_word(field->kind, word, field->name, place);
    default: PyErr_SetString(PyExc_SystemError, "a field that is only written"); return false;
    }
    return !PyErr_Occurred();
}

bool plim__py_read(PyObject *dict, const plim__py_field *table, void *target, PyObject *held) {
    PyObject *name, *value;
    Py_ssize_t position = 0;
    while (dict && PyDict_Next(dict, &position, &name, &value)) {
        const char *word = hold_text(name, held);
        if (!word) return false;
        const plim__py_field *field = table;
        while (field->name && strcmp(field->name, word) != 0) field++;
        if (!field->name) return PyErr_Format(PyExc_TypeError, "there is no option '%s'", word), false;
        if (value != Py_None && !read_one(field, value, target, held)) return false;
    }
    return true;
}
