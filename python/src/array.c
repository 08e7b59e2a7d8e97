/* Arrays of other libraries without a copy, through NumPy's array interface (__array_struct__), which the stable interface
 * of Python can read; the Python files turn buffers and DLPack tensors into NumPy's arrays, without a copy too. */
#include <string.h>

#include "native.h"

/* The contents of the capsule, as NumPy documents it. */
typedef struct interface {
    int two; /* is 2 */
    int rank;
    char kind; /* 'f', 'i', 'u', 'b' ... */
    int bytes; /* of an element */
    int flags;
    Py_ssize_t *shape, *strides;
    void *data;
    PyObject *description;
} interface;

enum { CONTIGUOUS = 0x1, ALIGNED = 0x100, NATIVE_ORDER = 0x200, WRITABLE = 0x400 };

static plim_dtype dtype_of(char kind, int bytes) {
    static const struct {
        char kind;
        int bytes;
        plim_dtype dtype;
    } known[] = {{'f', 2, PLIM_F16}, {'f', 4, PLIM_F32}, {'f', 8, PLIM_F64}, {'i', 1, PLIM_I8},
                 {'i', 2, PLIM_I16}, {'i', 4, PLIM_I32}, {'i', 8, PLIM_I64}, {'u', 1, PLIM_U8},
                 {'u', 2, PLIM_U16}, {'u', 4, PLIM_U32}, {'u', 8, PLIM_U64}, {'b', 1, PLIM_BOOL}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].kind == kind && known[i].bytes == bytes) return known[i].dtype;
    return PLIM_DTYPE_NONE;
}

static bool fill(const interface *from, const char *name, plim__py_array *array) {
    array->dtype = dtype_of(from->kind, from->bytes);
    if (array->dtype == PLIM_DTYPE_NONE)
        return PyErr_Format(PyExc_TypeError, "%s: elements of kind '%c' with %d bytes are not supported", name,
                            from->kind, from->bytes),
               false;
    if (from->rank > PLIM_MAX_RANK)
        return PyErr_Format(PyExc_ValueError, "%s has %d axes; at most %d are supported", name, from->rank,
                            PLIM_MAX_RANK),
               false;
    if (!(from->flags & CONTIGUOUS))
        return PyErr_Format(PyExc_ValueError, "%s is not contiguous: numpy.ascontiguousarray makes a copy that is",
                            name),
               false;
    if (!(from->flags & ALIGNED) || !(from->flags & NATIVE_ORDER))
        return PyErr_Format(PyExc_ValueError, "%s is not aligned, or not in this machine's byte order", name), false;
    array->rank = from->rank;
    array->data = from->data;
    array->writable = (from->flags & WRITABLE) != 0;
    array->bytes = (size_t)from->bytes;
    for (int i = 0; i < from->rank; i++) {
        array->dims[i] = from->shape[i];
        array->bytes *= (size_t)from->shape[i];
    }
    return true;
}

bool plim__py_array_get(PyObject *object, const char *name, plim__py_array *array) {
    memset(array, 0, sizeof *array);
    PyObject *capsule = PyObject_GetAttrString(object, "__array_struct__");
    if (!capsule) {
        PyErr_Clear();
        return PyErr_Format(PyExc_TypeError, "%s: an array is needed, not %R", name, (PyObject *)Py_TYPE(object)),
               false;
    }
    const interface *from = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
    if (!from || from->two != 2 || !fill(from, name, array)) {
        if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "%s: its array interface is not NumPy's", name);
        Py_DECREF(capsule);
        return false;
    }
    array->holder = capsule; /* it holds the array */
    return true;
}

void plim__py_array_release(plim__py_array *array) { Py_CLEAR(array->holder); }

PyObject *plim__py_dims(int rank, const int64_t *dims) {
    PyObject *tuple = PyTuple_New(rank);
    for (int i = 0; tuple && i < rank; i++) {
        PyObject *dim = PyLong_FromLongLong(dims[i]);
        if (!dim || PyTuple_SetItem(tuple, i, dim) < 0) Py_CLEAR(tuple);
    }
    return tuple;
}
