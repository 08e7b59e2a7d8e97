/* plimsoll._native.Trainer: one update, a whole run, the trainable state. */
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "native.h"

/* --- options ---------------------------------------------------------------------------------------------------- */

#define O(kind, field) PLIM__PY_FIELD(plim_trainer_options, PLIM__PY_##kind, field)
static const plim__py_field option_fields[] = {
    {"loss", PLIM__PY_LOSS, offsetof(plim_trainer_options, loss.kind), 0},
    {"loss_output", PLIM__PY_TEXT, offsetof(plim_trainer_options, loss.output), 0},
    {"loss_counts", PLIM__PY_TEXT, offsetof(plim_trainer_options, loss.counts), 0},
    {"sample_weights", PLIM__PY_INT64, offsetof(plim_trainer_options, loss.sample_weights), 0},
    {"ignores", PLIM__PY_INT, offsetof(plim_trainer_options, loss.ignores), 0},
    {"ignore_index", PLIM__PY_INT64, offsetof(plim_trainer_options, loss.ignore_index), 0},
    {"label_smoothing", PLIM__PY_DOUBLE, offsetof(plim_trainer_options, loss.label_smoothing), 0},
    {"class_weights", PLIM__PY_FLOATS, offsetof(plim_trainer_options, loss.class_weights),
     offsetof(plim_trainer_options, loss.class_count)},
    {"delta", PLIM__PY_DOUBLE, offsetof(plim_trainer_options, loss.delta), 0},
    {"optimizer", PLIM__PY_OPTIMIZER, offsetof(plim_trainer_options, optimizer.kind), 0},
    {"state_bits", PLIM__PY_INT64, offsetof(plim_trainer_options, optimizer.state_bits), 0},
    {"rate", PLIM__PY_DOUBLE, offsetof(plim_trainer_options, optimizer.rate), 0},
    {"momentum", PLIM__PY_DOUBLE, offsetof(plim_trainer_options, optimizer.momentum), 0},
    {"dampening", PLIM__PY_DOUBLE, offsetof(plim_trainer_options, optimizer.dampening), 0},
    {"nesterov", PLIM__PY_INT, offsetof(plim_trainer_options, optimizer.nesterov), 0},
    {"beta1", PLIM__PY_DOUBLE, offsetof(plim_trainer_options, optimizer.beta1), 0},
    {"beta2", PLIM__PY_DOUBLE, offsetof(plim_trainer_options, optimizer.beta2), 0},
    {"alpha", PLIM__PY_DOUBLE, offsetof(plim_trainer_options, optimizer.alpha), 0},
    {"epsilon", PLIM__PY_DOUBLE, offsetof(plim_trainer_options, optimizer.epsilon), 0},
    {"threshold", PLIM__PY_DOUBLE, offsetof(plim_trainer_options, optimizer.threshold), 0},
    {"rate_decay", PLIM__PY_DOUBLE, offsetof(plim_trainer_options, optimizer.rate_decay), 0},
    {"weight_decay", PLIM__PY_DOUBLE, offsetof(plim_trainer_options, optimizer.weight_decay), 0},
    {"clip_norm", PLIM__PY_DOUBLE, offsetof(plim_trainer_options, optimizer.clip_norm), 0},
    {"clip_value", PLIM__PY_DOUBLE, offsetof(plim_trainer_options, optimizer.clip_value), 0},
    {"schedule", PLIM__PY_SCHEDULE, offsetof(plim_trainer_options, schedule.kind), 0},
    {"warmup", PLIM__PY_INT64, offsetof(plim_trainer_options, schedule.warmup), 0},
    {"total", PLIM__PY_INT64, offsetof(plim_trainer_options, schedule.total), 0},
    {"every", PLIM__PY_INT64, offsetof(plim_trainer_options, schedule.every), 0},
    {"gamma", PLIM__PY_DOUBLE, offsetof(plim_trainer_options, schedule.gamma), 0},
    {"least", PLIM__PY_DOUBLE, offsetof(plim_trainer_options, schedule.least), 0},
    O(INT64, batch),
    PLIM__PY_LIST(plim_trainer_options, PLIM__PY_SIZES, sizes, size_count),
    O(INT64, accumulate),
    PLIM__PY_LIST(plim_trainer_options, PLIM__PY_TEXTS, freeze, freeze_count),
    PLIM__PY_LIST(plim_trainer_options, PLIM__PY_TEXTS, trainable, trainable_count),
    O(UINT64, seed),
    O(INT, threads),
    O(UINT64, budget),
    O(ALLOW, allow),
    O(PRECISION, precision),
    O(BASE, base),
    O(TEXT, plan),
    O(UINT64, data_bytes),
    O(UINT64, data_held_bytes),
    O(UINT64, data_opening_bytes),
    O(INT64, samples),
    O(INT64, evaluates),
    O(INT, irregular_batches),
    O(TEXT, spill),
    O(INT, no_spill),
    O(INT, no_winograd),
    {0},
};
#undef O

bool plim__py_trainer_has_option(const char *name) {
    for (const plim__py_field *field = option_fields; field->name; field++)
        if (strcmp(field->name, name) == 0) return true;
    return false;
}

/* The words come first: they choose the defaults that the other fields replace. */
bool plim__py_trainer_options(PyObject *dict, plim_trainer_options *options, PyObject *held) {
    *options = (plim_trainer_options){.size = sizeof *options};
    if (!plim__py_read(dict, option_fields, options, held)) return false;
    plim_optimizer_kind optimizer = options->optimizer.kind;
    plim_loss_kind loss = options->loss.kind;
    *options = (plim_trainer_options){.size = sizeof *options};
    options->optimizer = plim_optimizer_default(optimizer);
    options->loss = plim_loss_default(loss);
    options->schedule.gamma = 0.1;
    return plim__py_read(dict, option_fields, options, held);
}

static void release(void *it) { plim_trainer_free(it); }
static void dealloc(PyObject *self) { plim__py_dealloc(self, release); }

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *model;
    if (!PyArg_ParseTuple(args, "O!", plim__py_graph_type, &model)) return NULL;
    plim_graph *graph = plim__py_it(model, "model");
    PyObject *held = graph ? PyList_New(0) : NULL;
    if (!held) return NULL;
    plim_trainer_options options;
    plim_trainer *trainer = NULL;
    plim_error error;
    plim_status status;
    PyObject *made = NULL;
    if (plim__py_trainer_options(keywords, &options, held)) {
        Py_BEGIN_ALLOW_THREADS;
        status = plim_trainer_create(graph, &options, &trainer, &error);
        Py_END_ALLOW_THREADS;
        if (status == PLIM_OK) Py_INCREF(model);
        made = status == PLIM_OK ? plim__py_new(type, trainer, model) : plim__py_fail(&error);
    }
    Py_DECREF(held);
    return made;
}

/* --- the end of the interpreter ---------------------------------------------------------------------------------- */

/* Threads that compute while the process ends would use what is being torn down: they are stopped first. */
static atomic_int running, stopping;

PyObject *plim__py_stop_all(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    const struct timespec moment = {.tv_nsec = 5000000};
    atomic_store(&stopping, 1);
    Py_BEGIN_ALLOW_THREADS;
    for (int i = 0; i < 6000 && atomic_load(&running) > 0; i++) nanosleep(&moment, NULL); /* half a minute */
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

/* Raises once the interpreter is about to end; else end_work must follow. */
static bool begin_work(void) {
    atomic_fetch_add(&running, 1);
    if (!atomic_load(&stopping)) return true;
    atomic_fetch_sub(&running, 1);
    PyErr_SetString(PyExc_RuntimeError, "the interpreter is shutting down");
    return false;
}

static void end_work(void) { atomic_fetch_sub(&running, 1); }

/* --- one update ------------------------------------------------------------------------------------------------- */

#define R(kind, field) PLIM__PY_FIELD(plim_step_result, PLIM__PY_##kind, field)
static const plim__py_field step_fields[] = {
    R(DOUBLE, loss),  R(DOUBLE, weight),  R(DOUBLE, targets),    R(DOUBLE, correct),        R(DOUBLE, rate),
    R(INT64, update), R(DOUBLE, seconds), R(DOUBLE, loss_scale), R(INT64, skipped_updates), {0},
};
#undef R

static PyObject *refuse_shape(const plim_data_field *field, const plim__py_array *array, long long count) {
    PyObject *want = plim__py_dims(field->rank, field->dims), *have = plim__py_dims(array->rank, array->dims);
    PyObject *errors = PyImport_ImportModule("plimsoll._errors"),
             *kind = errors ? PyObject_GetAttrString(errors, "ShapeError") : NULL;
    if (want && have && kind)
        PyErr_Format(kind, "'%s' has the shape %R; %lld samples of %R are needed", field->name, have, count, want);
    Py_XDECREF(kind);
    Py_XDECREF(errors);
    Py_XDECREF(want);
    Py_XDECREF(have);
    return NULL;
}

static bool feed_one(PyObject *object, const plim_data_field *field, long long count, plim__py_array *array) {
    if (!plim__py_array_get(object, field->name, array)) return false;
    if (array->dtype != field->dtype) {
        PyErr_Format(PyExc_TypeError, "'%s' is %s; the model needs %s", field->name, plim_dtype_name(array->dtype),
                     plim_dtype_name(field->dtype));
    } else {
        bool same =
            array->rank == field->rank + 1 && array->dims[0] == count && array->bytes == (size_t)count * field->bytes;
        for (int i = 0; same && i < field->rank; i++) same = array->dims[i + 1] == field->dims[i];
        if (same) return true;
        refuse_shape(field, array, count);
    }
    plim__py_array_release(array);
    return false;
}

/* step(count, [inputs, and the target where one is needed]) */
static PyObject *step(PyObject *self, PyObject *args) {
    plim_trainer *trainer = plim__py_it(self, "trainer");
    long long count;
    PyObject *list;
    if (!trainer || !PyArg_ParseTuple(args, "LO", &count, &list)) return NULL;
    plim_data_field fields[PLIM_MOST_INPUTS + 1];
    int wanted = plim_trainer_fields(trainer, fields);
    Py_ssize_t given = PySequence_Size(list);
    if (given < 0) return NULL;
    if (given != wanted)
        return PyErr_Format(PyExc_ValueError, "the model needs %d arrays (inputs, then the target); %zd were given",
                            wanted, given);
    plim__py_array arrays[PLIM_MOST_INPUTS + 1];
    plim_batch batch = {.count = count};
    int have = 0;
    for (int inputs = 0; have < wanted; have++) {
        PyObject *object = PySequence_GetItem(list, have);
        bool good = object && feed_one(object, &fields[have], count, &arrays[have]);
        Py_XDECREF(object);
        if (!good) break;
        if (fields[have].target)
            batch.target = arrays[have].data;
        else
            batch.inputs[inputs++] = arrays[have].data;
    }
    PyObject *made = NULL;
    if (have == wanted && begin_work()) {
        plim__py_object *object = (plim__py_object *)self;
        plim_step_result result;
        plim_error error;
        plim_status status;
        object->busy = true;
        Py_BEGIN_ALLOW_THREADS;
        status = plim_trainer_step(trainer, &batch, &result, &error);
        end_work();
        Py_END_ALLOW_THREADS;
        object->busy = false;
        made = status == PLIM_OK ? plim__py_build(step_fields, &result) : plim__py_fail(&error);
    }
    for (int i = 0; i < have; i++) plim__py_array_release(&arrays[i]);
    return made;
}

/* (name, dtype, shape of a sample, is it the target, classes) of what a step needs. */
static PyObject *fields(PyObject *self, PyObject *none) {
    (void)none;
    plim_trainer *trainer = plim__py_it(self, "trainer");
    PyObject *list = trainer ? PyList_New(0) : NULL;
    plim_data_field all[PLIM_MOST_INPUTS + 1];
    int count = trainer ? plim_trainer_fields(trainer, all) : 0;
    for (int i = 0; list && i < count; i++) {
        PyObject *one =
            Py_BuildValue("ssNOL", all[i].name, plim_dtype_name(all[i].dtype), plim__py_dims(all[i].rank, all[i].dims),
                          all[i].target ? Py_True : Py_False, (long long)all[i].classes);
        if (!one || PyList_Append(list, one) < 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

/* --- a whole run ------------------------------------------------------------------------------------------------ */

#define V(kind, field) PLIM__PY_FIELD(plim_evaluation, PLIM__PY_##kind, field)
static const plim__py_field evaluation_fields[] = {
    V(INT, classifies), V(DOUBLE, loss), V(DOUBLE, accuracy), V(INT64, count), V(INT64, samples), {0},
};
#undef V
#define E(kind, field) PLIM__PY_FIELD(plim_fit_event, PLIM__PY_##kind, field)
static const plim__py_field event_fields[] = {
    E(INT64, epoch),         E(INT64, position), E(INT64, epoch_samples), E(INT64, updates),
    E(INT64, total_updates), E(DOUBLE, seconds), E(DOUBLE, wait_share),   {0},
};
#undef E
#define F(kind, field) PLIM__PY_FIELD(plim_fit_result, PLIM__PY_##kind, field)
static const plim__py_field result_fields[] = {
    F(INT64, steps),
    F(DOUBLE, loss),
    F(DOUBLE, metric),
    F(DOUBLE, best_loss),
    F(DOUBLE, seconds_per_step),
    F(DOUBLE, samples_per_second),
    F(DOUBLE, wait_share),
    F(INT64, epochs),
    F(INT, stopped),
    F(INT, early),
    {0},
};
#undef F
#define P(kind, field) PLIM__PY_FIELD(plim_fit_options, PLIM__PY_##kind, field)
static const plim__py_field fit_fields[] = {
    P(INT64, epochs),           P(INT64, steps),   P(INT64, patience), P(TEXT, best), P(TEXT, checkpoint),
    P(INT64, checkpoint_every), P(INT, continues), P(INT, resume),     {0},
};
#undef P

typedef struct run {
    PyThreadState *state;
    PyObject *call;
    bool every; /* each step is told; else some in a second */
    bool failed;
    double next;
    /* of the epoch so far, every update counted */
    int64_t epoch, batches;
    double loss, weight, correct, targets;
} run;

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void count(run *r, const plim_fit_event *event) {
    if (event->epoch != r->epoch) {
        r->epoch = event->epoch;
        r->batches = 0;
        r->loss = r->weight = r->correct = r->targets = 0;
    }
    r->batches++;
    r->loss += event->step.loss * event->step.weight;
    r->weight += event->step.weight;
    r->correct += event->step.correct;
    r->targets += event->step.targets;
}

static PyObject *event_dict(const run *r, const plim_fit_event *event) {
    static const char *const kinds[] = {"begin", "step", "validated", "checkpoint", "best"};
    PyObject *dict = plim__py_build(event_fields, event);
    bool good =
        dict && plim__py_put(dict, "kind", plim__py_text(kinds[event->kind])) &&
        plim__py_put(dict, "step", plim__py_build(step_fields, &event->step)) &&
        plim__py_put(dict, "sums",
                     Py_BuildValue("Ldddd", (long long)r->batches, r->loss, r->weight, r->correct, r->targets)) &&
        plim__py_put(dict, "validation", plim__py_build(evaluation_fields, &event->validation));
    if (!good) Py_CLEAR(dict);
    return dict;
}

/* The interpreter is entered for what somebody wants to know, and several times in a second for Ctrl-C. */
static int on_event(void *context, const plim_fit_event *event) {
    run *r = context;
    if (r->failed || atomic_load(&stopping)) return 1; /* the checkpoint is still told of */
    if (event->kind == PLIM_FIT_STEP) count(r, event);
    double now = seconds_now();
    bool ends_epoch = event->position >= event->epoch_samples;
    if (event->kind == PLIM_FIT_STEP && !r->every && !ends_epoch && now < r->next) return 0;
    r->next = now + 0.05;
    PyEval_RestoreThread(r->state);
    PyObject *dict = event_dict(r, event);
    PyObject *answer = dict && PyErr_CheckSignals() == 0 ? PyObject_CallFunction(r->call, "O", dict) : NULL;
    int stop = answer ? PyObject_IsTrue(answer) : -1;
    if (stop >= 0 && PyErr_CheckSignals() != 0) stop = -1;
    if (stop < 0) r->failed = true;
    Py_XDECREF(answer);
    Py_XDECREF(dict);
    r->state = PyEval_SaveThread();
    return stop != 0;
}

static PyObject *run_fit(plim_trainer *trainer, plim_data *data, plim_fit_options *options, run *r) {
    plim_fit_result result;
    plim_error error;
    options->on_event = on_event;
    options->context = r;
    if (!begin_work()) return NULL;
    r->state = PyEval_SaveThread();
    plim_status status = plim_fit(trainer, data, options, &result, &error);
    end_work();
    PyEval_RestoreThread(r->state);
    if (r->failed) return NULL; /* the callback's exception */
    if (status != PLIM_OK && status != PLIM_INTERRUPTED) return plim__py_fail(&error);
    return plim__py_build(result_fields, &result);
}

/* fit(data, validation or None, on_event, every_step, **options) */
static PyObject *fit(PyObject *self, PyObject *args, PyObject *keywords) {
    plim_trainer *trainer = plim__py_it(self, "trainer");
    PyObject *data, *validation, *call;
    int every;
    if (!trainer || !PyArg_ParseTuple(args, "O!OOp", plim__py_data_type, &data, &validation, &call, &every))
        return NULL;
    plim_fit_options options = {.size = sizeof options};
    plim_data *stream = plim__py_it(data, "data set");
    PyObject *held = stream ? PyList_New(0) : NULL;
    bool good = held && plim__py_read(keywords, fit_fields, &options, held);
    bool validates = validation != Py_None;
    if (good && validates && !PyObject_TypeCheck(validation, plim__py_data_type)) {
        PyErr_SetString(PyExc_TypeError, "the validation data is not a data set");
        good = false;
    }
    if (good && validates) good = (options.validation = plim__py_it(validation, "validation data")) != NULL;
    PyObject *made = NULL;
    if (good) {
        plim__py_object *objects[3] = {(plim__py_object *)self, (plim__py_object *)data,
                                       validates ? (plim__py_object *)validation : (plim__py_object *)self};
        run r = {.call = call, .every = every, .epoch = -1};
        for (int i = 0; i < 3; i++) Py_INCREF(objects[i]), objects[i]->busy = true;
        made = run_fit(trainer, stream, &options, &r);
        for (int i = 0; i < 3; i++) objects[i]->busy = false, Py_DECREF(objects[i]);
    }
    Py_XDECREF(held);
    return made;
}

static PyObject *evaluate(PyObject *self, PyObject *data) {
    plim_trainer *trainer = plim__py_it(self, "trainer");
    if (!trainer) return NULL;
    if (!PyObject_TypeCheck(data, plim__py_data_type))
        return PyErr_Format(PyExc_TypeError, "evaluate needs a data set");
    plim_data *stream = plim__py_it(data, "data set");
    if (!stream) return NULL;
    plim_evaluation result;
    plim_error error;
    plim_status status;
    plim__py_object *object = (plim__py_object *)self, *other = (plim__py_object *)data;
    if (!begin_work()) return NULL;
    object->busy = other->busy = true;
    Py_BEGIN_ALLOW_THREADS;
    status = plim_trainer_evaluate(trainer, stream, &result, &error);
    end_work();
    Py_END_ALLOW_THREADS;
    object->busy = other->busy = false;
    return status == PLIM_OK ? plim__py_build(evaluation_fields, &result) : plim__py_fail(&error);
}

/* --- trainable state -------------------------------------------------------------------------------------------- */

static PyObject *tensors(PyObject *self, PyObject *none) {
    (void)none;
    static const char *const roles[] = {"parameter", "statistic", "optimizer"};
    plim_trainer *trainer = plim__py_it(self, "trainer");
    PyObject *list = trainer ? PyList_New(0) : NULL;
    size_t count = trainer ? plim_trainer_tensor_count(trainer) : 0;
    for (size_t i = 0; list && i < count; i++) {
        plim_trainer_tensor t;
        plim_trainer_get_tensor(trainer, i, &t);
        PyObject *one = Py_BuildValue("NssN", plim__py_text(t.name), roles[t.role], plim_dtype_name(t.dtype),
                                      plim__py_dims(t.rank, t.dims));
        if (!one || PyList_Append(list, one) < 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *move_tensor(PyObject *self, PyObject *args, bool writes) {
    plim_trainer *trainer = plim__py_it(self, "trainer");
    Py_ssize_t index;
    PyObject *object;
    plim__py_array array;
    if (!trainer || !PyArg_ParseTuple(args, "nO", &index, &object)) return NULL;
    if (index < 0 || (size_t)index >= plim_trainer_tensor_count(trainer))
        return PyErr_Format(PyExc_IndexError, "there is no tensor %zd", index);
    plim_trainer_tensor tensor;
    plim_trainer_get_tensor(trainer, (size_t)index, &tensor);
    if (!plim__py_array_get(object, tensor.name, &array)) return NULL;
    plim_error error = {0};
    plim_status status = PLIM_OK;
    bool fits = array.dtype == tensor.dtype && array.bytes == tensor.bytes && (writes || array.writable);
    if (fits && writes)
        status = plim_trainer_write(trainer, (size_t)index, array.data, &error);
    else if (fits)
        status = plim_trainer_read(trainer, (size_t)index, array.data, &error);
    plim__py_array_release(&array);
    if (!fits)
        return PyErr_Format(PyExc_ValueError, "'%s' needs an array of %zu bytes of %s%s", tensor.name, tensor.bytes,
                            plim_dtype_name(tensor.dtype), writes ? "" : " that can be written");
    if (status != PLIM_OK) return plim__py_fail(&error);
    Py_RETURN_NONE;
}

static PyObject *read_tensor(PyObject *self, PyObject *args) { return move_tensor(self, args, false); }
static PyObject *write_tensor(PyObject *self, PyObject *args) { return move_tensor(self, args, true); }

static PyObject *save(PyObject *self, PyObject *path) {
    plim_trainer *trainer = plim__py_it(self, "trainer");
    plim_error error;
    plim_status status;
    PyObject *bytes = trainer ? plim__py_path(path) : NULL;
    if (!bytes) return NULL;
    const char *name = PyBytes_AsString(bytes);
    Py_BEGIN_ALLOW_THREADS;
    status = plim_trainer_save(trainer, name, &error);
    Py_END_ALLOW_THREADS;
    Py_DECREF(bytes);
    if (status != PLIM_OK) return plim__py_fail(&error);
    Py_RETURN_NONE;
}

static PyObject *updates(PyObject *self, PyObject *unused) {
    plim_trainer *trainer = plim__py_it(self, "trainer");
    (void)unused;
    return trainer ? PyLong_FromLongLong(plim_trainer_progress(trainer).updates) : NULL;
}

/* How far training is, in the order of plim_progress; with these five numbers, from where it goes on. */
static PyObject *progress(PyObject *self, PyObject *args) {
    plim_trainer *trainer = plim__py_it(self, "trainer");
    if (!trainer) return NULL;
    plim_progress now = plim_trainer_progress(trainer);
    long long counts[] = {now.updates, now.skipped_updates, now.skipped_in_row, now.good_in_row};
    double scale = now.loss_scale;
    if (!PyArg_ParseTuple(args, "|LLLLd", &counts[0], &counts[1], &counts[2], &counts[3], &scale)) return NULL;
    plim_trainer_set_progress(trainer, (plim_progress){counts[0], counts[1], counts[2], counts[3], scale});
    return Py_BuildValue("(LLLLd)", counts[0], counts[1], counts[2], counts[3], scale);
}

static PyObject *set_budget(PyObject *self, PyObject *args) {
    plim_trainer *trainer = plim__py_it(self, "trainer");
    unsigned long long budget;
    plim_error error;
    plim_status status;
    if (!trainer || !PyArg_ParseTuple(args, "K", &budget)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = plim_trainer_set_budget(trainer, budget, &error);
    Py_END_ALLOW_THREADS;
    if (status != PLIM_OK) return plim__py_fail(&error);
    Py_RETURN_NONE;
}

#define S(kind, field) PLIM__PY_FIELD(plim_trainer_stats, PLIM__PY_##kind, field)
static const plim__py_field stats_fields[] = {
    S(INT64, batch),
    S(INT64, micro_batch),
    S(INT64, accumulate),
    S(UINT64, arena_bytes),
    S(UINT64, weight_bytes),
    S(UINT64, gradient_bytes),
    S(UINT64, optimizer_bytes),
    S(UINT64, activation_bytes),
    S(UINT64, workspace_bytes),
    S(UINT64, data_bytes),
    S(UINT64, parameters),
    S(UINT64, frozen),
    S(UINT64, steps),
    S(DOUBLE, flops),
    S(TEXT, prevents_split),
    S(UINT64, planned_arena_bytes),
    S(UINT64, data_buffer_bytes),
    S(UINT64, process_bytes),
    S(DOUBLE, seconds),
    S(CLASS, class_),
    S(UINT64, repeated),
    S(UINT64, spilled_bytes),
    S(UINT64, streamed_bytes),
    S(UINT64, in_model_bytes),
    S(DOUBLE, file_seconds),
    S(DOUBLE, file_waits),
    S(INT64, replans),
    S(PRECISION, precision),
    S(BASE, base),
    S(UINT64, base_saved),
    {0},
};
#undef S

static PyObject *stats(PyObject *self, PyObject *none) {
    (void)none;
    plim_trainer *trainer = plim__py_it(self, "trainer");
    if (!trainer) return NULL;
    plim_trainer_stats s;
    plim_trainer_get_stats(trainer, &s);
    return plim__py_build(stats_fields, &s);
}

static PyObject *close_trainer(PyObject *self, PyObject *none) {
    (void)none;
    plim__py_object *object = (plim__py_object *)self;
    plim_trainer *trainer = object->it ? plim__py_it(self, "trainer") : NULL;
    if (PyErr_Occurred()) return NULL;
    object->it = NULL;
    Py_BEGIN_ALLOW_THREADS;
    plim_trainer_free(trainer);
    Py_END_ALLOW_THREADS;
    Py_CLEAR(object->keeps);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"step", step, METH_VARARGS, "step(count, arrays): one update."},
    {"fields", fields, METH_NOARGS, "(name, dtype, shape, is it the target, classes) of what a step needs."},
    {"fit", (PyCFunction)(void (*)(void))fit, METH_VARARGS | METH_KEYWORDS,
     "fit(data, validation, on_event, every_step, **options): a whole run."},
    {"evaluate", evaluate, METH_O, "Loss and accuracy over one epoch of a data set."},
    {"tensors", tensors, METH_NOARGS, "(name, role, dtype, shape) of the trainable state."},
    {"read", read_tensor, METH_VARARGS, "read(index, array): copies a tensor into an array."},
    {"write", write_tensor, METH_VARARGS, "write(index, array): copies an array into a tensor."},
    {"save", save, METH_O, "Writes the weights to an .onnx or .safetensors file."},
    {"updates", updates, METH_NOARGS, "How many were made."},
    {"progress", progress, METH_VARARGS, "progress([numbers]): how far training is, with what a loss scale remembers."},
    {"set_budget", set_budget, METH_VARARGS, "Plans again for another budget."},
    {"stats", stats, METH_NOARGS, "What the plan uses."},
    {"close", close_trainer, METH_NOARGS, "Frees the memory now."},
    {0},
};

static PyType_Slot slots[] = {{Py_tp_new, create}, {Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec plim__py_trainer_spec = {"plimsoll._native.Trainer", sizeof(plim__py_object), 0, Py_TPFLAGS_DEFAULT, slots};
