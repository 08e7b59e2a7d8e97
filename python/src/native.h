/* The extension module plimsoll._native: the public C API for the Python files of the package, and nothing of its own.
 *
 * One object of the library is one Python object; options are dictionaries and results are dictionaries, by tables of
 * fields. The module keeps to Python's stable interface of version 3.9, so that one file serves all later versions. */
#ifndef PLIM_PYTHON_NATIVE_H
#define PLIM_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plimsoll/plimsoll.h"

/* --- failures (module.c) -------------------------------------------------------------------------------------- */

/* Raises the class of plimsoll._errors that stands for the status, with the library's message. Returns NULL. */
PyObject *plim__py_fail(const plim_error *error);
/* Text of the library; bytes that are not UTF-8 are replaced. */
PyObject *plim__py_text(const char *text);
/* A path or name: str, bytes or os.PathLike as a bytes object; NULL with an exception. */
PyObject *plim__py_path(PyObject *path);

/* --- structs as dictionaries (fields.c) ------------------------------------------------------------------------ */

typedef enum plim__py_kind {
    PLIM__PY_INT,    /* int */
    PLIM__PY_INT64,  /* int64_t */
    PLIM__PY_UINT64, /* uint64_t, and size_t */
    PLIM__PY_DOUBLE,
    PLIM__PY_BOOL,   /* bool */
    PLIM__PY_TEXT,   /* const char * */
    PLIM__PY_CHARS,  /* char[] */
    PLIM__PY_AMOUNT, /* plim_amount: None where it is not known */
    PLIM__PY_SIZES,  /* plim_size list and its count, which is the next field: {"seq": 256} */
    PLIM__PY_TEXTS,  /* const char *const * and its count */
    PLIM__PY_FLOATS, /* const float * and its count */
    PLIM__PY_LOSS,   /* plim_loss_kind, and others by their words */
    PLIM__PY_OPTIMIZER,
    PLIM__PY_SCHEDULE,
    PLIM__PY_ALLOW,
    PLIM__PY_CLASS,
    PLIM__PY_PRECISION,
    PLIM__PY_BASE,
    PLIM__PY_MODEL_OPTIMIZER,
    PLIM__PY_MODEL_PRECISION,
} plim__py_kind;

typedef struct plim__py_field {
    const char *name; /* NULL ends a table */
    plim__py_kind kind;
    size_t offset, count; /* count: where the number of a list's entries is */
} plim__py_field;

#define PLIM__PY_FIELD(type, kind, field)                                                                              \
    { #field, kind, offsetof(type, field), 0 }
#define PLIM__PY_LIST(type, kind, field, number)                                                                       \
    { #field, kind, offsetof(type, field), offsetof(type, number) }

/* Sets the fields that the dictionary (or NULL) names; a name that no table entry has is a TypeError. What pointers lead
 * to lives as long as `held`, a list. Returns false with an exception. */
bool plim__py_read(PyObject *dict, const plim__py_field *table, void *target, PyObject *held);
/* A new dictionary; NULL with an exception. */
PyObject *plim__py_build(const plim__py_field *table, const void *source);
/* Puts a new reference into a dictionary and drops it; false with an exception, also where value is NULL. */
bool plim__py_put(PyObject *dict, const char *name, PyObject *value);

/* --- arrays (array.c) ------------------------------------------------------------------------------------------ */

/* Memory of an object with NumPy's __array_struct__; valid while the view is held. */
typedef struct plim__py_array {
    PyObject *holder; /* the capsule; NULL after release */
    plim_dtype dtype;
    int rank;
    int64_t dims[PLIM_MAX_RANK];
    size_t bytes;
    void *data;
    bool writable;
} plim__py_array;

/* Row-major memory in this machine's byte order; anything else is refused with a message that begins with `name`. */
bool plim__py_array_get(PyObject *object, const char *name, plim__py_array *array);
void plim__py_array_release(plim__py_array *array);
PyObject *plim__py_dims(int rank, const int64_t *dims);

/* --- types ----------------------------------------------------------------------------------------------------- */

/* An object of the library. `keeps` is what must outlive it. A trainer that runs is `busy`, and refuses other calls. */
typedef struct plim__py_object {
    PyObject_HEAD void *it;
    PyObject *keeps;
    long pid; /* of the process that made it */
    bool busy;
} plim__py_object;

extern PyType_Spec plim__py_graph_spec, plim__py_data_spec, plim__py_trainer_spec, plim__py_session_spec,
    plim__py_prediction_spec, plim__py_explanation_spec;
/* The types, once the module is imported. */
extern PyTypeObject *plim__py_graph_type, *plim__py_data_type, *plim__py_trainer_type, *plim__py_session_type,
    *plim__py_prediction_type, *plim__py_explanation_type;

PyObject *plim__py_new(PyTypeObject *type, void *it, PyObject *keeps); /* keeps: its reference is taken over */
void plim__py_dealloc(PyObject *self, void (*release)(void *));
/* The library's object, NULL with an exception: freed, of another process, busy in another thread. */
void *plim__py_it(PyObject *self, const char *what);

/* --- functions ------------------------------------------------------------------------------------------------- */

PyObject *plim__py_plan(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *plim__py_gpu(PyObject *module, PyObject *args); /* predict.c */
PyObject *plim__py_gpus(PyObject *module, PyObject *none);
PyObject *plim__py_largest_batch(PyObject *module, PyObject *args);
PyObject *plim__py_cures(PyObject *module, PyObject *args);
/* Ends every run that is under way in other threads: the interpreter is about to end. */
PyObject *plim__py_stop_all(PyObject *module, PyObject *none);

/* plim_trainer_options of a dictionary (trainer.c). */
bool plim__py_trainer_has_option(const char *name);
bool plim__py_trainer_options(PyObject *dict, plim_trainer_options *options, PyObject *held);

#endif
