/* The module: its functions, its types, and how failures become exceptions. */
#include <string.h>
#include <unistd.h>

#include "native.h"

PyTypeObject *plim__py_graph_type, *plim__py_data_type, *plim__py_trainer_type, *plim__py_session_type,
    *plim__py_prediction_type, *plim__py_explanation_type;

/* --- failures -------------------------------------------------------------------------------------------------- */

PyObject *plim__py_text(const char *text) {
    if (!text) Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject *plim__py_fail(const plim_error *error) {
    PyObject *errors = PyImport_ImportModule("plimsoll._errors");
    PyObject *message = plim__py_text(error->message[0] ? error->message : plim_status_sentence(error->status));
    PyObject *made =
        errors && message ? PyObject_CallMethod(errors, "make", "sO", plim_status_name(error->status), message) : NULL;
    if (made) PyErr_SetObject((PyObject *)Py_TYPE(made), made);
    Py_XDECREF(made);
    Py_XDECREF(message);
    Py_XDECREF(errors);
    return NULL;
}

PyObject *plim__py_path(PyObject *path) {
    if (PyUnicode_Check(path)) return PyUnicode_AsEncodedString(path, "utf-8", "surrogateescape");
    PyObject *bytes = NULL;
    return PyUnicode_FSConverter(path, &bytes) ? bytes : NULL;
}

/* --- objects --------------------------------------------------------------------------------------------------- */

PyObject *plim__py_new(PyTypeObject *type, void *it, PyObject *keeps) {
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    plim__py_object *self = (plim__py_object *)alloc(type, 0);
    if (!self) {
        Py_XDECREF(keeps);
        return NULL;
    }
    self->it = it;
    self->keeps = keeps;
    self->pid = (long)getpid();
    return (PyObject *)self;
}

/* Threads of an object are not there in a forked process: what was made before the fork is left to the parent. */
void plim__py_dealloc(PyObject *object, void (*release)(void *)) {
    plim__py_object *self = (plim__py_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    void *it = self->it;
    self->it = NULL;
    if (it && self->pid == (long)getpid()) {
        Py_BEGIN_ALLOW_THREADS;
        release(it);
        Py_END_ALLOW_THREADS;
    }
    Py_CLEAR(self->keeps);
    freefunc release_memory = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release_memory(object);
    Py_DECREF(type);
}

void *plim__py_it(PyObject *object, const char *what) {
    plim__py_object *self = (plim__py_object *)object;
    if (!self->it)
        PyErr_Format(PyExc_RuntimeError, "the %s is closed", what);
    else if (self->pid != (long)getpid())
        PyErr_Format(PyExc_RuntimeError,
                     "the %s was made in another process, before a fork: make it in the process that uses it", what);
    else if (self->busy)
        PyErr_Format(PyExc_RuntimeError, "the %s is in use in another thread", what);
    else
        return self->it;
    return NULL;
}

/* --- functions ------------------------------------------------------------------------------------------------- */

static PyObject *version(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return plim__py_text(plim_version());
}

static PyObject *bytes_parse(PyObject *module, PyObject *args) {
    (void)module;
    const char *text;
    plim_error error;
    uint64_t bytes;
    if (!PyArg_ParseTuple(args, "s", &text)) return NULL;
    if (plim_bytes_parse(text, &bytes, &error) != PLIM_OK) return plim__py_fail(&error);
    return PyLong_FromUnsignedLongLong(bytes);
}

static PyObject *bytes_format(PyObject *module, PyObject *args) {
    (void)module;
    unsigned long long bytes;
    char text[PLIM_BYTES_TEXT];
    if (!PyArg_ParseTuple(args, "K", &bytes)) return NULL;
    return plim__py_text(plim_bytes_format(bytes, text));
}

static PyObject *resident(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return Py_BuildValue("KK", (unsigned long long)plim_process_resident(),
                         (unsigned long long)plim_process_resident_peak());
}

#define X(kind, field) PLIM__PY_FIELD(plim_limits, PLIM__PY_##kind, field)
static const plim__py_field limit_fields[] = {
    X(UINT64, available),
    X(UINT64, ceiling),
    X(UINT64, memory_total),
    X(UINT64, memory_available),
    X(INT, overcommit),
    X(INT, cgroup_version),
    X(CHARS, cgroup_folder),
    X(UINT64, cgroup_usage),
    X(UINT64, cgroup_limit),
    X(UINT64, rlimit_as),
    X(UINT64, rlimit_data),
    X(UINT64, virtual_bytes),
    X(UINT64, data_bytes),
    X(INT, shm_present),
    X(UINT64, shm_total),
    X(UINT64, shm_used),
    {0},
};
#undef X

static PyObject *limits(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    plim_limits read;
    plim_error error;
    if (plim_limits_read(0, &read, &error) != PLIM_OK) return plim__py_fail(&error);
    PyObject *dict = plim__py_build(limit_fields, &read);
    bool good = dict && plim__py_put(dict, "limiter", plim__py_text(plim_limiter_name(read.limiter))) &&
                plim__py_put(dict, "name", plim__py_text(plim_limits_name(&read))) &&
                plim__py_put(dict, "ceiling_limiter", plim__py_text(plim_limiter_name(read.ceiling_limiter)));
    if (!good) Py_CLEAR(dict);
    return dict;
}

static PyObject *machine_budget(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    const char *name = "";
    uint64_t bytes = plim_machine_budget(&name);
    return Py_BuildValue("Ks", (unsigned long long)bytes, name ? name : "");
}

static PyObject *machine_threads(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return PyLong_FromLong(plim_machine_threads());
}

static PyObject *zoo(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    size_t count;
    const plim_zoo_entry *entries = plim_zoo_list(&count);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *one = Py_BuildValue("sss", entries[i].name, entries[i].summary, entries[i].sizes);
        if (!one || PyList_Append(list, one) < 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *find_word(PyObject *module, PyObject *args) {
    (void)module;
    const char *what, *word;
    plim_loss_kind loss;
    plim_optimizer_kind optimizer;
    plim_schedule_kind schedule;
    if (!PyArg_ParseTuple(args, "ss", &what, &word)) return NULL;
    int found = strcmp(what, "loss") == 0        ? plim_loss_find(word, &loss)
                : strcmp(what, "optimizer") == 0 ? plim_optimizer_find(word, &optimizer)
                : strcmp(what, "option") == 0    ? plim__py_trainer_has_option(word)
                                                 : plim_schedule_find(word, &schedule);
    return PyBool_FromLong(found);
}

static PyObject *can_save(PyObject *module, PyObject *path) {
    (void)module;
    plim_error error;
    PyObject *bytes = plim__py_path(path);
    if (!bytes) return NULL;
    plim_status status = plim_trainer_can_save(PyBytes_AsString(bytes), &error);
    Py_DECREF(bytes);
    if (status != PLIM_OK) return plim__py_fail(&error);
    Py_RETURN_NONE;
}

static PyObject *prepare(PyObject *module, PyObject *args) {
    (void)module;
    int threads;
    plim_error error;
    plim_status status;
    if (!PyArg_ParseTuple(args, "i", &threads)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = plim_machine_prepare(threads, &error);
    Py_END_ALLOW_THREADS;
    if (status != PLIM_OK) return plim__py_fail(&error);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"version", version, METH_NOARGS, "The version of the library."},
    {"bytes_parse", bytes_parse, METH_VARARGS, "'2GiB' as a number of bytes."},
    {"bytes_format", bytes_format, METH_VARARGS, "A number of bytes as people write it."},
    {"resident", resident, METH_NOARGS, "Resident bytes of this process: now, at their highest."},
    {"limits", limits, METH_NOARGS, "What bounds the memory of this process."},
    {"machine_threads", machine_threads, METH_NOARGS, "How many threads this process can use at a time."},
    {"machine_budget", machine_budget, METH_NOARGS, "The largest budget that the machine allows, and what bounds it."},
    {"zoo", zoo, METH_NOARGS, "Names, summaries and sizes of the built-in networks."},
    {"find_word", find_word, METH_VARARGS, "Whether a loss, an optimizer or a schedule has this name."},
    {"can_save", can_save, METH_O, "Raises when weights could not be written there."},
    {"prepare", prepare, METH_VARARGS, "Creates now what the first training would: threads, kernels, heap settings."},
    {"plan", (PyCFunction)(void (*)(void))plim__py_plan, METH_VARARGS | METH_KEYWORDS, "The report of a plan."},
    {"gpu", plim__py_gpu, METH_VARARGS, "A card by its name or its memory."},
    {"gpus", plim__py_gpus, METH_NOARGS, "The cards that are known."},
    {"largest_batch", plim__py_largest_batch, METH_VARARGS, "The largest batch of a model that fits a card."},
    {"cures", plim__py_cures, METH_VARARGS, "What would make a job need less, each simulated."},
    {"stop_all", plim__py_stop_all, METH_NOARGS, "Ends the runs of all threads."},
    {0},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "plimsoll._native", "The public C API of Plimsoll.", -1, functions, NULL, NULL, NULL, NULL};

static bool add_type(PyObject *module, const char *name, PyType_Spec *spec, PyTypeObject **type) {
    PyObject *made = PyType_FromSpec(spec);
    *type = (PyTypeObject *)made;
    if (!made) return false;
    Py_INCREF(made);
    if (PyModule_AddObject(module, name, made) == 0) return true;
    Py_DECREF(made);
    return false;
}

PyMODINIT_FUNC PyInit__native(void);
PyMODINIT_FUNC PyInit__native(void) {
    PyObject *module = PyModule_Create(&definition);
    if (!module) return NULL;
    bool good = add_type(module, "Graph", &plim__py_graph_spec, &plim__py_graph_type) &&
                add_type(module, "Data", &plim__py_data_spec, &plim__py_data_type) &&
                add_type(module, "Trainer", &plim__py_trainer_spec, &plim__py_trainer_type) &&
                add_type(module, "Session", &plim__py_session_spec, &plim__py_session_type) &&
                add_type(module, "Prediction", &plim__py_prediction_spec, &plim__py_prediction_type) &&
                add_type(module, "Explanation", &plim__py_explanation_spec, &plim__py_explanation_type);
    if (!good) Py_CLEAR(module);
    return module;
}
