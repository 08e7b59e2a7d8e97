/* Graphs by the grammar of ONNX, the bytes decide which: any operator of the table at any opset, its optional inputs there or
 * not, its attributes absent, usual or at their limits, empty tensors and dimensions of zero. Each is written to a file, read
 * again, planned, run, and trained in one piece and in several. Whatever a graph asks for is done or refused with a message
 * on one line; an invariant that does not hold (PLIM_INTERNAL) is a finding. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/graph.h"
#include "ops/op.h"
#include "plimsoll/plimsoll.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* --- decisions --------------------------------------------------------------------------------------------------- */

typedef struct stream {
    const unsigned char *data;
    size_t left;
} stream;

/* 0 when the bytes have run out: the plainest choice comes first everywhere. */
static unsigned pick(stream *s, unsigned below) {
    if (s->left == 0 || below < 2) return 0;
    s->left--;
    unsigned byte = *s->data++;
    if (below > 256 && s->left) {
        s->left--;
        byte |= (unsigned)*s->data++ << 8;
    }
    return byte % below;
}

static int64_t pick_int(stream *s) {
    static const int64_t values[] = {1,  0,         2,         3,         4,         -1,         5,
                                     -2, 8,         INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN,  (int64_t)1 << 40,
                                     16, -3,        7,         INT8_MAX,  UINT8_MAX, UINT16_MAX, (int64_t)1 << 62,
                                     -5, 100000000, 6,         -4};
    return values[pick(s, 4) ? pick(s, 6) : pick(s, sizeof values / sizeof *values)];
}

static float pick_float(stream *s) {
    static const float values[] = {1,   0,        0.5F,      -1,      2,    1e-5F, 1e30F, -1e30F,
                                   NAN, INFINITY, -INFINITY, FLT_MIN, 0.1F, 3,     -0.0F};
    return values[pick(s, 4) ? pick(s, 6) : pick(s, sizeof values / sizeof *values)];
}

static const char *pick_text(stream *s) {
    static const char *const texts[] = {
        "NOTSET",
        "SAME_UPPER",
        "SAME_LOWER",
        "VALID",
        "constant",
        "reflect",
        "edge",
        "wrap",
        "nearest",
        "linear",
        "cubic",
        "bilinear",
        "bicubic",
        "forward",
        "reverse",
        "bidirectional",
        "none",
        "sum",
        "mean",
        "tanh",
        "add",
        "mul",
        "max",
        "min",
        "zeros",
        "border",
        "reflection",
        "half_pixel",
        "asymmetric",
        "align_corners",
        "pytorch_half_pixel",
        "tf_crop_and_resize",
        "half_pixel_symmetric",
        "DCR",
        "CRD",
        "LEFT",
        "RIGHT",
        "floor",
        "ceil",
        "round_prefer_floor",
        "round_prefer_ceil",
        "stretch",
        "not_larger",
        "not_smaller",
        "output_half_pixel",
        "tf_half_pixel_for_nn",
        "ij,jk->ik",
        "bij,bjk->bik",
        "ii->i",
        "ij->",
        "...ij,...jk->...ik",
        "i,j->ij",
        "bij,bjk",
        "Tanh",
        "Sigmoid",
        "Relu",
        "Affine",
        "HardSigmoid",
        "LeakyRelu",
        "relu",
        "",
        "\x1b[31m",
    };
    return texts[pick(s, sizeof texts / sizeof *texts)];
}

/* --- the grammar -------------------------------------------------------------------------------------------------- */

static const struct operator{ const char *name, *types, *attributes; }
operators[] = {
#define OPERATOR(name, types, attributes) {#name, types, attributes},
#include "grammar.def"
#undef OPERATOR
};

static const struct operator* find_operator(const char *name) {
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strcmp(operators[i].name, name) == 0) return &operators[i];
    return NULL;
}

/* The letters of input i: those of the last one for more inputs than the schema names (variadic). */
static void types_of(const struct operator* o, size_t i, char letters[16]) {
    const char *at = o ? o->types : "f";
    for (const char *comma; i > 0 && (comma = strchr(at, ',')) != NULL; i--) at = comma + 1;
    size_t length = strcspn(at, ",");
    snprintf(letters, 16, "%.*s", (int)(length < 15 ? length : 15), at);
}

static plim_dtype dtype_of(char letter) {
    switch (letter) {
    case 'd': return PLIM_F64;
    case 'h': return PLIM_F16;
    case 'b': return PLIM_BF16;
    case 'i': return PLIM_I64;
    case 'j': return PLIM_I32;
    case 'o': return PLIM_BOOL;
    case 'u': return PLIM_U8;
    case 'c': return PLIM_I8;
    default: return PLIM_F32;
    }
}

/* --- graphs ------------------------------------------------------------------------------------------------------- */

#define BATCH      4
#define MOST_NODES 4
#define MOST_POOL  24
#define MOST_DATA  4096 /* elements of a constant */

/* A graph while it grows. */
typedef struct growth {
    stream *s;
    plim_graph *g;
    struct known {
        plim_value value;
        plim_dtype dtype;
        plim__shape shape; /* a guess for what nodes make */
    } pool[MOST_POOL];
    size_t count;
    int64_t batch; /* the symbol */
} growth;

static void remember(growth *w, plim_value value, plim_dtype dtype, const plim__shape *shape) {
    if (value >= 0 && w->count < MOST_POOL) w->pool[w->count++] = (struct known){value, dtype, *shape};
}

static plim__shape pick_shape(growth *w) {
    static const struct {
        int rank;
        int64_t dims[PLIM_MAX_RANK]; /* -1: the batch */
    } shapes[] = {{4, {-1, 3, 4, 4}},
                  {2, {-1, 4}},
                  {3, {-1, 4, 4}},
                  {2, {4, 4}},
                  {1, {4}},
                  {0, {0}},
                  {1, {-1}},
                  {1, {0}},
                  {2, {-1, 0}},
                  {3, {-1, 3, 4}},
                  {4, {-1, 2, 4, 4}},
                  {5, {-1, 2, 3, 4, 4}},
                  {3, {3, -1, 4}},
                  {4, {1, 4, 2, 2}},
                  {2, {0, 4}},
                  {8, {1, 2, 1, 2, 1, 2, 1, 2}},
                  {4, {-1, 0, 4, 4}},
                  {4, {-1, 4, 1, 1}},
                  {3, {2, 3, 3}},
                  {2, {1, 1}},
                  {4, {-1, 1, 7, 5}},
                  {1, {1}},
                  {6, {-1, 1, 2, 1, 2, 3}},
                  {4, {-1, 3, 0, 4}}};
    unsigned k = pick(w->s, sizeof shapes / sizeof *shapes);
    plim__shape shape = {.rank = shapes[k].rank};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = shapes[k].dims[i] < 0 ? w->batch : shapes[k].dims[i];
    return shape;
}

/* A shape that goes with x: a bias, a filter, a matrix to multiply with, the weights of a recurrent layer. */
static plim__shape pick_shape_for(growth *w, const plim__shape *x) {
    static const int64_t units[] = {2, 8, 6, 4, 16};
    int64_t last = x->rank > 0 ? x->dims[x->rank - 1] : 1, second = x->rank > 1 ? x->dims[1] : 1;
    int64_t few = 1 + pick(w->s, 4), many = units[pick(w->s, 5)];
    plim__shape shape = *x;
    switch (pick(w->s, 12)) {
    case 0: return shape;
    case 1: return (plim__shape){.rank = 1, .dims = {second}};
    case 2: return (plim__shape){.rank = 1, .dims = {last}};
    case 3: /* a filter */
        if (x->rank < 3) return shape;
        shape.dims[0] = 2 * few;
        shape.dims[1] = pick(w->s, 3) == 2 ? 1 : second;
        for (int i = 2; i < x->rank; i++) shape.dims[i] = 1 + pick(w->s, 3);
        return shape;
    case 4: return (plim__shape){.rank = 2, .dims = {last, few}};
    case 5: return (plim__shape){.rank = 2, .dims = {few, last}};
    case 6:
        if (x->rank < 2) return shape;
        shape.dims[x->rank - 1] = x->dims[x->rank - 2];
        shape.dims[x->rank - 2] = last;
        return shape;
    case 7: return (plim__shape){.rank = 3, .dims = {1 + pick(w->s, 2), many, last}}; /* W of a recurrent layer */
    case 8: return (plim__shape){.rank = 3, .dims = {1 + pick(w->s, 2), many, 2}};    /* R */
    case 9: return (plim__shape){.rank = 2, .dims = {1 + pick(w->s, 2), 2 * many}};   /* B */
    case 10:
        if (x->rank > 0) shape.dims[pick(w->s, (unsigned)x->rank)] = pick(w->s, 3);
        return shape;
    default: return pick_shape(w);
    }
}

/* Elements of all types, small and at their limits. */
static void fill(stream *s, plim_dtype dtype, void *data, size_t count) {
    int limits = pick(s, 4) == 3;
    for (size_t i = 0; i < count; i++) {
        unsigned k = limits ? pick(s, 256) : (unsigned)(i * 7 % 11);
        int64_t n = limits ? pick_int(s) : (int64_t)(k % 4) - (int64_t)(k % 9 == 8);
        switch (dtype) {
        case PLIM_F32: ((float *)data)[i] = limits ? pick_float(s) : (float)k / 8 - 0.5F; break;
        case PLIM_F64: ((double *)data)[i] = limits ? (double)pick_float(s) : (double)k / 8 - 0.5; break;
        case PLIM_I64: ((int64_t *)data)[i] = n; break;
        case PLIM_I32: ((int32_t *)data)[i] = (int32_t)n; break;
        case PLIM_BOOL: ((unsigned char *)data)[i] = k & 1; break;
        case PLIM_F16:
        case PLIM_BF16: ((uint16_t *)data)[i] = (uint16_t)(limits ? k << 8 : 0x3c00 + k); break;
        default: ((unsigned char *)data)[i] = (unsigned char)n; break;
        }
    }
}

static plim__shape bound(const growth *w, const plim__shape *shape) {
    plim__shape sizes = *shape;
    for (int i = 0; i < sizes.rank; i++)
        if (sizes.dims[i] == w->batch) sizes.dims[i] = BATCH;
    return sizes;
}

static plim_value add_tensor(growth *w, plim_dtype dtype, const plim__shape *shape, bool trained) {
    static _Alignas(16) unsigned char data[MOST_DATA * 8];
    plim__shape sizes = bound(w, shape);
    int64_t count = plim__shape_elements(&sizes);
    if (count < 0 || count > MOST_DATA) return PLIM_NO_VALUE;
    fill(w->s, dtype, data, (size_t)count);
    plim_value v = trained ? plim_graph_parameter(w->g, NULL, dtype, sizes.rank, sizes.dims, data)
                           : plim_graph_constant(w->g, NULL, dtype, sizes.rank, sizes.dims, data);
    remember(w, v, dtype, &sizes);
    return v;
}

static plim_value add_input(growth *w, plim_dtype dtype, const plim__shape *shape) {
    char name[16];
    if (plim_graph_input_count(w->g) >= PLIM_MOST_INPUTS) return PLIM_NO_VALUE;
    snprintf(name, sizeof name, "x%zu", plim_graph_input_count(w->g));
    plim_value v = plim_graph_input(w->g, name, dtype, shape->rank, shape->dims);
    remember(w, v, dtype, shape);
    return v;
}

/* Axes, sizes, pads, repeats: a list that is known when the graph is planned. */
static plim_value add_list(growth *w, plim_dtype dtype, const plim__shape *x) {
    int64_t values[2 * PLIM_MAX_RANK], count = pick(w->s, 3) ? pick(w->s, 4) + 1 : pick(w->s, 2 * PLIM_MAX_RANK + 1);
    int scalar = pick(w->s, 6) == 5;
    unsigned how = pick(w->s, 4);
    if (how == 1) count = x->rank;
    if (how == 2) count = 2 * x->rank;
    for (int64_t i = 0; i < count; i++) {
        values[i] = pick_int(w->s);
        if (how == 1 && pick(w->s, 2) == 0 && x->dims[i] >= 0) values[i] = x->dims[i];
    }
    plim_value v = PLIM_NO_VALUE;
    if (dtype == PLIM_I32) {
        int32_t narrow[2 * PLIM_MAX_RANK];
        for (int64_t i = 0; i < count; i++) narrow[i] = (int32_t)values[i];
        v = plim_graph_constant(w->g, NULL, dtype, scalar && count ? 0 : 1, &count, narrow);
    } else if (dtype == PLIM_I64) {
        v = plim_graph_constant(w->g, NULL, dtype, scalar && count ? 0 : 1, &count, values);
    }
    return v;
}

/* An input of a node: of the pool, or a new one. */
static plim_value pick_value(growth *w, const char *letters, const plim__shape *x, bool first) {
    size_t length = strlen(letters);
    plim_dtype dtype = dtype_of(letters[pick(w->s, 4) == 3 && length ? pick(w->s, (unsigned)length) : 0]);
    unsigned how = pick(w->s, 8);
    if (how < 2 || (first && how < 6))
        for (size_t k = w->count, tries = pick(w->s, 3); k-- > 0;)
            if (w->pool[k].dtype == dtype && tries-- == 0) return w->pool[k].value;
    if ((dtype == PLIM_I64 || dtype == PLIM_I32) && how != 7) return add_list(w, dtype, x);
    plim__shape shape = first ? pick_shape(w) : pick_shape_for(w, x);
    if (how == 2) shape = (plim__shape){.rank = 0};
    if (how == 5 || how == 6) return add_input(w, dtype, &shape);
    return add_tensor(w, dtype, &shape, dtype == PLIM_F32 && how % 2);
}

static void set_tensor(growth *w, int32_t node, const char *name) {
    static const char letters[] = "fijodu";
    plim__shape shape = {.rank = (int)pick(w->s, 2), .dims = {1 + pick(w->s, 3)}};
    plim__tensor *tensor = NULL;
    plim_dtype dtype = dtype_of(letters[pick(w->s, 6)]);
    size_t count = (size_t)plim__shape_elements(&shape);
    void *data = calloc(count, 8);
    if (!data) return;
    fill(w->s, dtype, data, count);
    if (plim__tensor_take(dtype, &shape, data, &tensor, NULL) != PLIM_OK) return;
    plim__node_set_attribute(w->g, node,
                             (plim__attribute){.name = strdup(name), .type = PLIM__ATTRIBUTE_TENSOR, .tensor = tensor});
}

static void set_attribute(growth *w, int32_t node, const char *kind, const char *name) {
    int64_t ints[2 * PLIM_MAX_RANK];
    float floats[4];
    const char *texts[4];
    bool type = strstr(name, "dtype") || strcmp(name, "to") == 0 || strstr(name, "datatype");
    size_t count = pick(w->s, 4) == 3 ? pick(w->s, 2 * PLIM_MAX_RANK) : 2 * (1 + pick(w->s, 2));
    for (size_t i = 0; i < count && i < 4; i++) floats[i] = pick_float(w->s), texts[i] = pick_text(w->s);
    if (strcmp(kind, "INT") == 0)
        plim_graph_set_int(w->g, node, name, type ? (int64_t)pick(w->s, 20) : pick_int(w->s));
    else if (strcmp(kind, "FLOAT") == 0)
        plim_graph_set_float(w->g, node, name, pick_float(w->s));
    else if (strcmp(kind, "STRING") == 0)
        plim_graph_set_string(w->g, node, name, pick_text(w->s));
    else if (strcmp(kind, "TENSOR") == 0)
        set_tensor(w, node, name);
    else if (strcmp(kind, "FLOATS") == 0)
        plim_graph_set_floats(w->g, node, name, floats, count < 4 ? count : 4);
    else if (strcmp(kind, "STRINGS") == 0)
        plim_graph_set_strings(w->g, node, name, texts, count < 4 ? count : 4);
    else {
        for (size_t i = 0; i < count; i++) ints[i] = pick_int(w->s);
        plim_graph_set_ints(w->g, node, name, ints, count);
    }
}

static void set_attributes(growth *w, int32_t node, const struct operator* o) {
    char text[1024], *save = NULL;
    if (!o || node < 0) return;
    snprintf(text, sizeof text, "%s", o->attributes);
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *colon = strchr(word, ':');
        if (!colon || !pick(w->s, 2)) continue;
        *colon = 0;
        set_attribute(w, node, word, colon + 1);
    }
}

/* Rows of the table that a file of this opset may use. */
static const plim__op *pick_op(growth *w) {
    int opset = plim__graph_opset(w->g, "");
    unsigned start = pick(w->s, (unsigned)plim__op_count);
    for (size_t k = 0; k < plim__op_count; k++) {
        const plim__op *op = &plim__ops[(start + k) % plim__op_count];
        if (strcmp(op->domain, "") == 0 && opset >= op->since && opset <= op->until) return op;
    }
    return NULL;
}

static int32_t add_node(growth *w) {
    const plim__op *op = pick_op(w);
    if (!op) return -1;
    const struct operator* o = find_operator(op->name);
    plim_value inputs[16], made;
    plim__shape x = {.rank = 0};
    int most = op->max_in == PLIM__MANY ? op->min_in + 3 : op->max_in, least = op->min_in < 16 ? op->min_in : 16;
    if (most > 16) most = 16;
    int count = least + (int)pick(w->s, (unsigned)(most - least + 1));
    plim_dtype dtype = PLIM_F32;
    for (int i = 0; i < count; i++) {
        char letters[16];
        types_of(o, (size_t)i, letters);
        bool needed = plim__op_requires(op, (size_t)i);
        bool absent = pick(w->s, needed ? 64 : 3) == (needed ? 63U : 2U);
        inputs[i] = absent ? PLIM_NO_VALUE : pick_value(w, letters, &x, i == 0);
        for (size_t k = 0; i == 0 && k < w->count; k++)
            if (w->pool[k].value == inputs[0]) x = w->pool[k].shape, dtype = w->pool[k].dtype;
    }
    int32_t node = plim_graph_node(w->g, op->name, NULL, inputs, (size_t)count, 0);
    set_attributes(w, node, o);
    int outputs = op->min_out + (int)pick(w->s, (unsigned)((op->max_out < 5 ? op->max_out : 5) - op->min_out + 1));
    for (int i = 0; node >= 0 && i < outputs; i++) {
        made = i >= op->min_out && pick(w->s, 3) == 2
                   ? PLIM_NO_VALUE
                   : plim__graph_add_value(w->g, NULL, PLIM__VALUE_NODE, PLIM_DTYPE_NONE, &PLIM_SHAPE_UNKNOWN);
        plim__node_add_output(w->g, node, made);
        if (i == 0) remember(w, made, dtype, &x);
    }
    return node;
}

static plim_graph *grow(stream *s) {
    growth w = {.s = s, .g = plim_graph_create()};
    if (!w.g) return NULL;
    plim__graph_set_opset(w.g, "", pick(s, 3) ? 17 + (int)pick(s, 8) : 1 + (int)pick(s, 24));
    w.batch = plim_graph_symbol(w.g, "N");
    plim__shape shape = pick_shape(&w);
    add_input(&w, PLIM_F32, &shape);
    unsigned nodes = 1 + pick(s, MOST_NODES);
    int32_t last = -1;
    for (unsigned i = 0; i < nodes; i++) last = add_node(&w);
    for (size_t i = 0; i < 3; i++) {
        plim_value out = plim_graph_node_output(w.g, last, i);
        if (out >= 0) plim_graph_output(w.g, out, NULL);
    }
    return w.g;
}

/* --- what is done with them ---------------------------------------------------------------------------------------- */

#define MOST_BYTES ((size_t)32 << 20)
static char path[64];

static plim_status checked(plim_status status, const plim_error *error) {
    if (status == PLIM_OK) return status;
    if (status != error->status || status == PLIM_INTERNAL || !*error->message || strchr(error->message, '\n') ||
        strchr(error->message, '\x1b')) {
        fprintf(stderr, "status %s, message '%s'\n", plim_status_name(status), error->message);
        abort();
    }
    return status;
}

/* Through a file and back. */
static plim_graph *reload(plim_graph *g) {
    plim_graph *loaded = NULL;
    plim_error error = {0};
    if (checked(plim_graph_save(g, path, &error), &error) == PLIM_OK)
        checked(plim_graph_load(path, &loaded, &error), &error);
    unlink(path);
    return loaded;
}

static bool run(const plim_graph *g, stream *s, int64_t batch) {
    plim_session *session = NULL;
    plim_session_stats stats;
    plim_error error = {0};
    plim_session_options o = {.batch = batch, .plan_only = 1};
    if (checked(plim_session_create(g, &o, &session, &error), &error) != PLIM_OK) return false;
    plim_session_get_stats(session, &stats);
    plim_session_free(session);
    if (stats.arena_bytes > MOST_BYTES) return false;
    o.plan_only = 0;
    if (checked(plim_session_create(g, &o, &session, &error), &error) != PLIM_OK) return false;
    const plim_graph *planned = plim_session_graph(session);
    for (size_t i = 0; i < plim_graph_input_count(planned); i++) {
        plim_value v = plim_graph_input_at(planned, i);
        void *memory = plim_session_input(session, plim_graph_value_name(planned, v));
        const plim__value *value = &planned->values.items[v];
        if (memory) fill(s, value->dtype, memory, (size_t)plim__shape_elements(&value->shape));
    }
    checked(plim_session_run(session, &error), &error);
    plim_session_free(session);
    return true;
}

/* A loss at its end: the mean of the first output. */
static plim_graph *with_loss(const plim_graph *g) {
    plim_graph *model = plim_graph_clone(g);
    if (!model || plim_graph_output_count(model) == 0) return model;
    plim_value y = plim_graph_output_at(model, 0);
    int32_t node = plim_graph_node(model, "ReduceMean", NULL, &y, 1, 1);
    plim_graph_set_int(model, node, "keepdims", 0);
    plim_graph_output(model, plim_graph_node_output(model, node, 0), "fuzz_loss");
    return model;
}

static void train(const plim_graph *g, stream *s) {
    static _Alignas(64) unsigned char data[MOST_DATA * 8];
    plim_graph *model = with_loss(g);
    plim_trainer *trainer = NULL;
    plim_error error = {0};
    plim_trainer_options o = {.batch = BATCH,
                              .accumulate = 1 << pick(s, 3),
                              .loss = plim_loss_default(PLIM_LOSS_MODEL),
                              .optimizer = plim_optimizer_default(PLIM_ADAMW),
                              .budget = pick(s, 8) == 7 ? (uint64_t)1 << (20 + pick(s, 20)) : 0,
                              .allow = pick(s, 2) ? PLIM_ALLOW_LOSSY : PLIM_ALLOW_DEFAULT,
                              .no_spill = 1};
    o.loss.output = "fuzz_loss";
    if (model && checked(plim_graph_status(model, &error), &error) == PLIM_OK &&
        checked(plim_trainer_create(model, &o, &trainer, &error), &error) == PLIM_OK) {
        plim_batch batch = {.count = BATCH};
        bool fits = true;
        for (size_t i = 0; i < plim_graph_input_count(model); i++) {
            const plim__value *value = &model->values.items[plim_graph_input_at(model, i)];
            fits &= value->shape.rank < 6; /* of these shapes at most MOST_DATA elements */
            batch.inputs[i] = data;
        }
        fill(s, PLIM_F32, data, MOST_DATA);
        for (int i = 0; fits && i < 2; i++) checked(plim_trainer_step(trainer, &batch, NULL, &error), &error);
    }
    plim_trainer_free(trainer);
    plim_graph_free(model);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    setenv("PLIMSOLL_COSTS", "default", 1);
    snprintf(path, sizeof path, "/dev/shm/plim-grammar-%d.onnx", (int)getpid());
    return 0;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    stream s = {data, size};
    plim_graph *g = grow(&s), *loaded = NULL;
    plim_error error = {0};
    if (getenv("PLIM_FUZZ_PRINT")) { /* to read a finding */
        char *text = plim_graph_print(g);
        fprintf(stderr, "%s", text ? text : "no graph");
        plim_text_free(text);
    }
    if (g && checked(plim_graph_status(g, &error), &error) == PLIM_OK) loaded = reload(g);
    if (loaded && run(loaded, &s, BATCH)) {
        run(loaded, &s, 1);
        train(loaded, &s);
    }
    plim_graph_free(loaded);
    plim_graph_free(g);
    return 0;
}
