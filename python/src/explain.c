/* plimsoll._native.Explanation: a log explained, as a dictionary and as text. */
#include <string.h>

#include "native.h"

#define X(kind, field) PLIM__PY_FIELD(plim_explanation, PLIM__PY_##kind, field)
static const plim__py_field fields[] = {
    X(INT, found),
    X(TEXT, framework),
    X(TEXT, device_kind),
    X(INT64, device_index),
    X(AMOUNT, requested),
    X(CHARS, dtype),
    X(AMOUNT, capacity),
    X(AMOUNT, allocated),
    X(AMOUNT, reserved),
    X(AMOUNT, free),
    X(AMOUNT, process),
    X(AMOUNT, other_process),
    X(AMOUNT, shape_bytes),
    X(AMOUNT, limit),
    X(AMOUNT, shortfall),
    X(AMOUNT, largest_free),
    X(DOUBLE, confidence),
    X(CHARS, headline),
    X(CHARS, recurrence),
    X(CHARS, unread),
    X(CHARS, message),
    X(DOUBLE, fragmentation),
    X(CHARS, version),
    X(UINT64, failures),
    {0},
};
#undef X
#define X(kind, field) PLIM__PY_FIELD(plim_fix, PLIM__PY_##kind, field)
static const plim__py_field fix_fields[] = {
    X(CHARS, title), X(CHARS, setting), X(AMOUNT, saving), X(CHARS, saving_note), X(INT, reaches), X(INT, cost), {0},
};
#undef X
#define X(kind, field) PLIM__PY_FIELD(plim_holder, PLIM__PY_##kind, field)
static const plim__py_field holder_fields[] = {
    X(UINT64, bytes), X(UINT64, count), X(CHARS, guess), X(CHARS, what), {0}};
#undef X
#define X(kind, field) PLIM__PY_FIELD(plim_place, PLIM__PY_##kind, field)
static const plim__py_field place_fields[] = {
    X(CHARS, file),  X(CHARS, function), X(CHARS, code),       X(INT64, line),
    X(INT64, epoch), X(INT64, step),     X(INT64, step_count), {0},
};
#undef X

static PyObject *list_of(int count, const void *first, size_t stride, const plim__py_field *table) {
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < count; i++) {
        const char *one = (const char *)first + (size_t)i * stride;
        PyObject *item = table ? plim__py_build(table, one) : plim__py_text(one);
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *build(const plim_explanation *x) {
    PyObject *dict = plim__py_build(fields, x);
    if (!dict) return NULL;
    PyObject *shape = x->rank >= 0 ? plim__py_dims(x->rank, x->shape) : Py_BuildValue("");
    bool good = plim__py_put(dict, "shape", shape) &&
                plim__py_put(dict, "cause", plim__py_text(plim_cause_name(x->cause))) &&
                plim__py_put(dict, "cause_sentence", plim__py_text(plim_cause_sentence(x->cause))) &&
                plim__py_put(dict, "phase", plim__py_text(plim_phase_name(x->phase))) &&
                plim__py_put(dict, "framework_title", plim__py_text(plim_framework_title(x->framework))) &&
                plim__py_put(dict, "requested_exact", PyBool_FromLong(x->requested.exact)) &&
                plim__py_put(dict, "place", plim__py_build(place_fields, &x->place)) &&
                plim__py_put(dict, "evidence", list_of(x->evidence_count, x->evidence, sizeof *x->evidence, NULL)) &&
                plim__py_put(dict, "fixes", list_of(x->fix_count, x->fixes, sizeof *x->fixes, fix_fields)) &&
                plim__py_put(dict, "holders", list_of(x->holder_count, x->holders, sizeof *x->holders, holder_fields));
    if (!good) Py_CLEAR(dict);
    return dict;
}

/* The library's object is the explainer, which the answer belongs to. */
typedef struct explained {
    plim__py_object object;
    plim_explanation x; /* a copy: the process completes it */
} explained;

static void release(void *it) { plim_explainer_free(it); }
static void dealloc(PyObject *self) { plim__py_dealloc(self, release); }

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)keywords;
    const char *text;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "y#", &text, &size)) return NULL;
    plim_explainer *explainer = NULL;
    const plim_explanation *answer = NULL;
    plim_error error;
    plim_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = plim_explainer_create(&explainer, &error);
    if (status == PLIM_OK) status = plim_explainer_feed(explainer, text, (size_t)size, &error);
    if (status == PLIM_OK) status = plim_explainer_finish(explainer, &answer, &error);
    Py_END_ALLOW_THREADS;
    PyObject *made = status == PLIM_OK ? plim__py_new(type, explainer, NULL) : plim__py_fail(&error);
    if (made)
        ((explained *)made)->x = *answer;
    else
        plim_explainer_free(explainer);
    return made;
}

/* The answer; NULL with an exception. */
static plim_explanation *answer_of(PyObject *self) {
    return plim__py_it(self, "explanation") ? &((explained *)self)->x : NULL;
}

static PyObject *read_all(PyObject *self, PyObject *none) {
    (void)none;
    const plim_explanation *x = answer_of(self);
    return x ? build(x) : NULL;
}

/* --- what the process knows ------------------------------------------------------------------------------------------ */

static bool set_words(char *target, size_t size, PyObject *value) {
    PyObject *bytes = PyUnicode_AsEncodedString(value, "utf-8", "replace");
    if (!bytes) return false;
    const char *words = PyBytes_AsString(bytes);
    size_t length = strlen(words);
    if (length >= size) length = size - 1;
    while (length && length == size - 1 && ((unsigned char)words[length] & 0xC0) == 0x80)
        length--; /* a whole character */
    memcpy(target, words, length);
    target[length] = 0;
    Py_DECREF(bytes);
    return true;
}

static bool set_shape(plim_explanation *x, PyObject *dims) {
    Py_ssize_t rank = PySequence_Size(dims);
    if (rank < 0) return false;
    if (rank > PLIM_EXPLANATION_DIMS) return true; /* not shown */
    for (Py_ssize_t i = 0; i < rank; i++) {
        PyObject *dim = PySequence_GetItem(dims, i);
        x->shape[i] = dim ? PyLong_AsLongLong(dim) : -1;
        Py_XDECREF(dim);
        if (PyErr_Occurred()) return false;
    }
    x->rank = (int)rank;
    return true;
}

static bool set_amount(plim_explanation *x, const char *name, PyObject *value) {
    for (const plim__py_field *field = fields; field->name; field++) {
        if (field->kind != PLIM__PY_AMOUNT || strcmp(field->name, name) != 0) continue;
        plim_amount *amount = (plim_amount *)(void *)((char *)x + field->offset);
        uint64_t bytes = PyLong_AsUnsignedLongLong(value);
        if (!amount->known || amount->bytes != bytes) *amount = (plim_amount){.known = 1, .exact = 1, .bytes = bytes};
        return !PyErr_Occurred();
    }
    return PyErr_Format(PyExc_TypeError, "an explanation has no number '%s'", name), false;
}

static bool set_one(plim_explanation *x, const char *name, PyObject *value) {
    plim_place *place = &x->place;
    if (strcmp(name, "shape") == 0) return set_shape(x, value);
    if (strcmp(name, "dtype") == 0) return set_words(x->dtype, sizeof x->dtype, value);
    if (strcmp(name, "file") == 0) return set_words(place->file, sizeof place->file, value);
    if (strcmp(name, "function") == 0) return set_words(place->function, sizeof place->function, value);
    if (strcmp(name, "code") == 0) return set_words(place->code, sizeof place->code, value);
    if (strcmp(name, "line") == 0) return place->line = PyLong_AsLongLong(value), !PyErr_Occurred();
    return set_amount(x, name, value);
}

/* complete(number=..., shape=..., file=...) */
static PyObject *complete(PyObject *self, PyObject *args, PyObject *keywords) {
    plim_explanation *x = answer_of(self);
    if (!x || !PyArg_ParseTuple(args, "")) return NULL;
    PyObject *name, *value;
    Py_ssize_t position = 0;
    while (keywords && PyDict_Next(keywords, &position, &name, &value)) {
        PyObject *bytes = PyUnicode_AsUTF8String(name);
        bool good = bytes && (value == Py_None || set_one(x, PyBytes_AsString(bytes), value));
        Py_XDECREF(bytes);
        if (!good) return NULL;
    }
    Py_RETURN_NONE;
}

/* text(width, colour, unicode, section) */
static PyObject *text(PyObject *self, PyObject *args) {
    const plim_explanation *x = answer_of(self);
    plim_explanation_style style = {.size = sizeof style};
    if (!x || !PyArg_ParseTuple(args, "ippz", &style.width, &style.colour, &style.unicode, &style.section)) return NULL;
    char *printed;
    plim_error error;
    if (plim_explanation_print(x, &style, &printed, &error) != PLIM_OK) return plim__py_fail(&error);
    PyObject *made = plim__py_text(printed);
    plim_text_free(printed);
    return made;
}

static PyMethodDef methods[] = {
    {"fields", read_all, METH_NOARGS, "Everything as a dictionary."},
    {"complete", (PyCFunction)(void (*)(void))complete, METH_VARARGS | METH_KEYWORDS,
     "Sets numbers, shape, dtype, file, line, function and code that the text did not tell."},
    {"text", text, METH_VARARGS, "text(width, colour, unicode, section)"},
    {0},
};

static PyType_Slot slots[] = {{Py_tp_new, create}, {Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec plim__py_explanation_spec = {"plimsoll._native.Explanation", sizeof(explained), 0, Py_TPFLAGS_DEFAULT,
                                         slots};
