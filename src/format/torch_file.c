/* Tensors in PyTorch files. A pickled tensor is a call that would rebuild it:
 *
 *   torch._utils._rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks)
 *   storage = persistent id ('storage', torch.FloatStorage, key, device, elements)
 *
 * The pickle reader's visitor sees each such call once, with the dict key it is stored under. */
#include "format/torch_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/map.h"
#include "core/str.h"
#include "format/pickle.h"

enum { MOST_DIMENSIONS = 64 };

typedef plim__pickle_value value;

typedef struct reader {
    const char *path;
    const plim__zip *zip; /* NULL for the plain form */
    const char *prefix;   /* "archive/data/": where the storages are */
    plim__map entries;    /* entry name → index + 1 */
    plim__map storages;   /* storage key → bytes that no tensor has claimed yet, + 1 */
    plim__map tensors;    /* "key:offset:shape" → 1: the very same data again */
    uint64_t stored;      /* bytes of all storages */
    uint64_t storage_count;
    plim__tensor_visit visit;
    void *context;
} reader;

static plim_status broken(const reader *r, const char *name, const char *what, plim_error *error) {
    return plim__fail(error, PLIM_CORRUPT, "'%s': tensor '%.200s' %s", r->path, name, what);
}

/* --- storages ------------------------------------------------------------------------------------------------- */

typedef struct storage {
    const char *key;
    const plim__element *element; /* NULL when the storage is untyped: its tensors know */
    uint64_t elements, bytes;
} storage;

static const plim__element *element_of_storage(const char *name) {
    static const struct {
        const char *storage, *element;
    } types[] = {
        {"FloatStorage", "float32"},
        {"DoubleStorage", "float64"},
        {"HalfStorage", "float16"},
        {"BFloat16Storage", "bfloat16"},
        {"LongStorage", "int64"},
        {"IntStorage", "int32"},
        {"ShortStorage", "int16"},
        {"CharStorage", "int8"},
        {"ByteStorage", "uint8"},
        {"BoolStorage", "bool"},
        {"ComplexFloatStorage", "complex64"},
        {"ComplexDoubleStorage", "complex128"},
        {"QInt8Storage", "qint8"},
        {"QUInt8Storage", "quint8"},
        {"QInt32Storage", "qint32"},
        {"QUInt4x2Storage", "quint4x2"},
        {"QUInt2x4Storage", "quint2x4"},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].storage, name) == 0) return plim__element_find(types[i].element);
    return NULL;
}

static plim_status read_storage(const reader *r, value id, const char *name, storage *found, plim_error *error) {
    value tuple = plim__pickle_persistent(id);
    const char *module, *type;
    *found = (storage){.key = plim__pickle_text(plim__pickle_at(tuple, 2), NULL)};
    if (!plim__pickle_text_is(plim__pickle_at(tuple, 0), "storage") || !found->key ||
        !plim__pickle_global(plim__pickle_at(tuple, 1), &module, &type) ||
        !plim__pickle_uint(plim__pickle_at(tuple, 4), &found->elements))
        return broken(r, name, "has no storage", error);
    if (strcmp(type, "UntypedStorage") == 0) {
        found->bytes = found->elements;
        return PLIM_OK;
    }
    found->element = element_of_storage(type);
    if (!found->element)
        return plim__fail(error, PLIM_UNSUPPORTED, "'%s': tensor '%.200s' lies in an unknown '%.60s'", r->path, name,
                          type);
    if (!plim__element_bytes(found->element, found->elements, &found->bytes))
        return broken(r, name, "lies in a storage of more bytes than fit in 64 bits", error);
    return PLIM_OK;
}

/* The archive holds each storage as an entry of its own. */
static plim_status find_entry(const reader *r, const storage *s, const char *name, const plim__zip_entry **found,
                              plim_error *error) {
    plim__str entry = {0};
    plim__str_addf(&entry, "%s%s", r->prefix, s->key);
    int64_t index = entry.failed ? 0 : plim__map_get(&r->entries, entry.data, 0);
    bool failed = entry.failed;
    plim__str_free(&entry);
    if (failed) return plim__fail_memory(error, "a storage's name", strlen(s->key));
    if (index == 0) return broken(r, name, "lies in a storage that is not in the file", error);
    *found = &r->zip->entries[index - 1];
    return PLIM_OK;
}

/* What the pickle says must be what is there. */
static plim_status check_stored(const reader *r, const storage *s, const char *name, plim_error *error) {
    const plim__zip_entry *entry;
    if (!r->zip) return PLIM_OK;
    PLIM_TRY(find_entry(r, s, name, &entry, error));
    if (entry->bytes != s->bytes) return broken(r, name, "lies in a storage of another size than the file has", error);
    return PLIM_OK;
}

/* --- tensors -------------------------------------------------------------------------------------------------- */

typedef struct view {
    uint64_t offset; /* in elements */
    int rank;
    int64_t dims[MOST_DIMENSIONS], strides[MOST_DIMENSIONS];
    uint64_t elements;
} view;

static bool read_view(value arguments, view *v) {
    value size = plim__pickle_at(arguments, 2), stride = plim__pickle_at(arguments, 3);
    size_t rank = plim__pickle_count(size);
    if (!plim__pickle_uint(plim__pickle_at(arguments, 1), &v->offset) || rank > MOST_DIMENSIONS ||
        plim__pickle_type_of(size) != PLIM__PICKLE_TUPLE || plim__pickle_count(stride) != rank)
        return false;
    v->rank = (int)rank;
    for (size_t i = 0; i < rank; i++)
        if (!plim__pickle_int(plim__pickle_at(size, i), &v->dims[i]) ||
            !plim__pickle_int(plim__pickle_at(stride, i), &v->strides[i]) || v->strides[i] < 0)
            return false;
    return plim__element_count(v->rank, v->dims, &v->elements);
}

/* Whether the last element that the strides reach is inside of the storage. */
static bool lies_inside(const view *v, uint64_t storage_elements) {
    uint64_t last = v->offset, step;
    if (v->elements == 0) return true;
    for (int i = 0; i < v->rank; i++)
        if (__builtin_mul_overflow((uint64_t)(v->dims[i] - 1), (uint64_t)v->strides[i], &step) ||
            __builtin_add_overflow(last, step, &last))
            return false;
    return last < storage_elements;
}

/* Whether the same data was told before under another name; remembers it. */
static plim_status is_repeated(reader *r, const storage *s, const view *v, bool *repeated, plim_error *error) {
    plim__str id = {0};
    plim__str_addf(&id, "%s:%llu", s->key, (unsigned long long)v->offset);
    for (int i = 0; i < v->rank; i++)
        plim__str_addf(&id, ":%lld/%lld", (long long)v->dims[i], (long long)v->strides[i]);
    *repeated = !id.failed && plim__map_get(&r->tensors, id.data, 0);
    bool stored = !id.failed && plim__map_put(&r->tensors, id.data, 1);
    plim__str_free(&id);
    return stored ? PLIM_OK : plim__fail_memory(error, "the list of tensors", 64);
}

/* A storage's bytes go to the first tensor in it. Tensors that together have more bytes than the storage overlap:
 * what does not fit any more is a view of what was told already. */
static plim_status tell_storage(reader *r, const storage *s, plim__tensor_info *info, plim_error *error) {
    int64_t known = plim__map_get(&r->storages, s->key, 0);
    uint64_t left = known ? (uint64_t)known - 1 : s->bytes;
    if (!known) {
        PLIM_TRY(check_stored(r, s, info->name, error));
        if (__builtin_add_overflow(r->stored, s->bytes, &r->stored) || r->stored > INT64_MAX / 2)
            return broken(r, info->name, "makes more bytes than fit in 63 bits", error);
        r->storage_count++;
        info->bytes = s->bytes;
    }
    uint64_t own = 0;
    if (!plim__element_bytes(info->element, info->elements, &own)) own = UINT64_MAX;
    if (known && own > left) info->repeated = true;
    if (!info->repeated) left = own < left ? left - own : 0;
    return plim__map_put(&r->storages, s->key, (int64_t)left + 1)
               ? PLIM_OK
               : plim__fail_memory(error, "the list of storages", 64);
}

static bool is_row_major(const view *v) {
    int64_t step = 1;
    for (int i = v->rank - 1; i >= 0; i--) {
        if (v->dims[i] > 1 && v->strides[i] != step) return false;
        step *= v->dims[i] > 0 ? v->dims[i] : 1; /* elements were counted without overflow */
    }
    return true;
}

/* Where its elements are, for readers of weights: bytes of entries that are stored as they are. */
static plim_status place(const reader *r, const storage *s, const view *v, plim__tensor_info *info, plim_error *error) {
    const plim__zip_entry *entry;
    if (!r->zip || !is_row_major(v) || info->element->bits % 8 != 0) return PLIM_OK;
    PLIM_TRY(find_entry(r, s, info->name, &entry, error));
    if (entry->method != 0 || entry->encrypted) return PLIM_OK;
    PLIM_TRY(plim__zip_find_data(r->zip, entry, &info->at, error));
    info->at += v->offset * (info->element->bits / 8); /* inside of the storage: that was checked */
    info->placed = true;
    return PLIM_OK;
}

static plim_status tell(reader *r, const char *name, value arguments, bool typed, plim_error *error) {
    storage s;
    view v;
    PLIM_TRY(read_storage(r, plim__pickle_at(arguments, 0), name, &s, error));
    const plim__element *element = s.element;
    if (typed) { /* _rebuild_tensor_v3 names the type itself, over an untyped storage */
        const char *module, *type;
        char full[80];
        if (!plim__pickle_global(plim__pickle_at(arguments, 6), &module, &type))
            return broken(r, name, "has no type", error);
        snprintf(full, sizeof full, "torch.%s", type);
        element = plim__element_find(full);
    }
    if (!element)
        return plim__fail(error, PLIM_UNSUPPORTED, "'%s': tensor '%.200s' has an unknown type", r->path, name);
    if (!read_view(arguments, &v)) return broken(r, name, "has no valid shape", error);
    uint64_t room = typed && element->bits >= 8 ? s.bytes / (element->bits / 8) : s.elements;
    bool packed = strncmp(element->name, "quint", 5) == 0 && strchr(element->name, 'x'); /* several to a storage byte */
    if (!packed && !lies_inside(&v, room)) return broken(r, name, "reaches past the end of its storage", error);
    plim__tensor_info info = {.name = name, .element = element, .rank = v.rank, .dims = v.dims, .elements = v.elements};
    PLIM_TRY(is_repeated(r, &s, &v, &info.repeated, error));
    PLIM_TRY(tell_storage(r, &s, &info, error));
    PLIM_TRY(place(r, &s, &v, &info, error));
    return r->visit(r->context, &info, error);
}

/* Whether a function rebuilds a tensor from a storage; *typed when it also takes the type. */
static bool rebuilds(value function, bool *typed) {
    static const char *const names[] = {"_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3",
                                        "_rebuild_qtensor"};
    const char *module, *name;
    if (!plim__pickle_global(function, &module, &name) || strcmp(module, "torch._utils") != 0) return false;
    *typed = strcmp(name, "_rebuild_tensor_v3") == 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* A tensor's call is told and folded; everything else is left alone. A tensor with a subclass or with attributes of its
 * own is wrapped: _rebuild_from_type_v2(function, type, arguments, state). */
static plim_status consider(reader *r, value key, value call, bool *is_tensor, plim_error *error) {
    value function = plim__pickle_callable(call), arguments = plim__pickle_arguments(call);
    if (plim__pickle_global_is(function, "torch._tensor", "_rebuild_from_type_v2")) {
        function = plim__pickle_at(arguments, 0);
        arguments = plim__pickle_at(arguments, 2);
    }
    bool typed = false;
    *is_tensor = rebuilds(function, &typed);
    if (!*is_tensor) return PLIM_OK;
    const char *name = plim__pickle_text(key, NULL);
    return tell(r, name ? name : "", arguments, typed, error);
}

static plim__pickle_verdict visit(void *context, value key, value container, int64_t *token, plim_error *error) {
    bool is_tensor;
    (void)token;
    if (plim__pickle_type_of(container) != PLIM__PICKLE_CALL) return PLIM__PICKLE_KEEP;
    if (consider(context, key, container, &is_tensor, error) != PLIM_OK) return PLIM__PICKLE_FAIL;
    return is_tensor ? PLIM__PICKLE_FOLD : PLIM__PICKLE_KEEP;
}

/* --- what may be called --------------------------------------------------------------------------------------- */

/* Functions and types that files of weights really call when they are loaded. Nothing is called here; but a file
 * that calls anything else does more than hold weights, and the caller should know. */
static bool is_harmless(const char *module, const char *name) {
    static const char *const builtin[] = {"set",   "frozenset", "list",    "dict",   "tuple",
                                          "int",   "float",     "complex", "bool",   "str",
                                          "bytes", "slice",     "range",   "object", "bytearray"};
    static const struct {
        const char *module, *name; /* a name that ends in * is the start of one; NULL is every name */
    } known[] = {
        {"torch._utils", "_rebuild_*"},
        {"torch._tensor", "_rebuild_*"},
        {"torch", "Size"},
        {"torch", "device"},
        {"torch", "Generator"},
        {"torch", "dtype"},
        {"torch.nn.parameter", NULL},
        {"torch.serialization", "_get_layout"},
        {"torch.jit._pickle", NULL},

        {"torch.torch_version", "TorchVersion"},
        {"collections", NULL},
        {"_codecs", "encode"},
        {"copyreg", "_reconstructor"},
        {"copy_reg", "_reconstructor"},
        {"datetime", NULL},
        {"decimal", "Decimal"},
        {"pathlib", NULL},
        {"argparse", "Namespace"},
        {"fractions", "Fraction"},
        {"uuid", "UUID"},
        {"numpy", "dtype"},
        {"numpy", "ndarray"},
        {"numpy.core.multiarray", "_reconstruct"},
        {"numpy.core.multiarray", "scalar"},
        {"numpy._core.multiarray", "_reconstruct"},
        {"numpy._core.multiarray", "scalar"},
    };
    if (strchr(name, '.')) return false; /* an attribute of an attribute may be anything */
    if (strcmp(module, "builtins") == 0 || strcmp(module, "__builtin__") == 0) {
        for (size_t i = 0; i < sizeof builtin / sizeof *builtin; i++)
            if (strcmp(builtin[i], name) == 0) return true;
        return false;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].module, module) != 0) continue;
        if (!known[i].name || strcmp(known[i].name, name) == 0) return true;
        size_t length = strlen(known[i].name);
        if (known[i].name[length - 1] == '*' && strncmp(known[i].name, name, length - 1) == 0) return true;
    }
    return false;
}

static plim_status allow(void *context, value callable, bool instance, plim_error *error) {
    const reader *r = context;
    const char *module, *name;
    bool global = plim__pickle_global(callable, &module, &name);
    if (global && (instance || is_harmless(module, name))) return PLIM_OK;
    return plim__fail(error, PLIM_UNSUPPORTED,
                      "'%s' would run %.100s%s%.100s when it is loaded, so it is refused; nothing was executed",
                      r->path, global ? module : "code", global ? "." : "", global ? name : "");
}

static void reader_free(reader *r) {
    plim__map_free(&r->entries);
    plim__map_free(&r->storages);
    plim__map_free(&r->tensors);
}

/* A file may be one bare tensor: the root, which no visitor sees. */
static plim_status finish(reader *r, const plim__pickle *pickle, plim_error *error) {
    bool is_tensor;
    return consider(r, (value){0}, plim__pickle_root(pickle), &is_tensor, error);
}

/* --- the zip form --------------------------------------------------------------------------------------------- */

/* "archive/data.pkl": the folder is named after the file. */
static const plim__zip_entry *find_pickle(const plim__zip *zip) {
    for (size_t i = 0; i < zip->count; i++) {
        const char *slash = strchr(zip->entries[i].name, '/');
        if (slash && strcmp(slash, "/data.pkl") == 0) return &zip->entries[i];
    }
    return NULL;
}

bool plim__torch_is_archive(const plim__zip *zip) { return find_pickle(zip) != NULL; }

/* What no tensor lies in (a storage saved by itself) is in the file all the same. */
static plim_status tell_rest(reader *r, plim_error *error) {
    size_t length = strlen(r->prefix);
    for (size_t i = 0; i < r->zip->count; i++) {
        const plim__zip_entry *entry = &r->zip->entries[i];
        if (strncmp(entry->name, r->prefix, length) != 0 || !entry->name[length]) continue;
        if (plim__map_get(&r->storages, entry->name + length, 0)) continue;
        int64_t dims[] = {(int64_t)entry->bytes};
        plim__tensor_info info = {.name = "",
                                  .element = plim__element_opaque(),
                                  .rank = 1,
                                  .dims = dims,
                                  .elements = entry->bytes,
                                  .bytes = entry->bytes};
        PLIM_TRY(r->visit(r->context, &info, error));
    }
    return PLIM_OK;
}

static plim_status list_entries(reader *r, const plim__zip_entry *pickle_entry, plim_error *error) {
    for (size_t i = 0; i < r->zip->count; i++)
        if (!plim__map_put(&r->entries, r->zip->entries[i].name, (int64_t)i + 1))
            return plim__fail_memory(error, "the list of storages", r->zip->count);
    char *text;
    size_t size;
    PLIM_TRY(plim__zip_read(r->zip, pickle_entry, PLIM__TORCH_MAX_PICKLE, &text, &size, error));
    plim__pickle_options options = {.name = r->path, .visitor = {r, visit, allow}};
    plim__pickle *pickle;
    plim_status status = plim__pickle_read_memory(text, size, &options, &pickle, error);
    if (status == PLIM_OK) status = finish(r, pickle, error);
    if (status == PLIM_OK) status = tell_rest(r, error);
    plim__pickle_free(pickle);
    plim__free(text);
    return status;
}

plim_status plim__torch_list_archive(const plim__zip *zip, plim__tensor_visit tell_user, void *context,
                                     plim_error *error) {
    const plim__zip_entry *entry = find_pickle(zip);
    if (!entry) return plim__fail(error, PLIM_UNSUPPORTED, "'%s' has no data.pkl: it is not a PyTorch file", zip->path);
    plim__str prefix = {0};
    plim__str_addn(&prefix, entry->name, strlen(entry->name) - strlen("data.pkl"));
    plim__str_add(&prefix, "data/");
    plim_status status = PLIM_OK;
    if (prefix.failed) status = plim__fail_memory(error, "a name", strlen(entry->name));
    reader r = {.path = zip->path, .zip = zip, .prefix = prefix.data, .visit = tell_user, .context = context};
    if (status == PLIM_OK) status = list_entries(&r, entry, error);
    reader_free(&r);
    plim__str_free(&prefix);
    return status;
}

/* --- the plain form ------------------------------------------------------------------------------------------- */

/* Five pickles in a row: a magic number, the protocol, facts about the machine, the object, the storage keys;
 * then for each storage its length in 8 bytes and its data. */
static const unsigned char plain_magic[] = {0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9,
                                            0x20, 0x6a, 0xa8, 0x50, 0x19, '.'};

bool plim__torch_is_plain(const unsigned char *start, size_t size) {
    size_t at = size > 2 && start[2] == 0x95 ? 11 : 2; /* protocols 4 and 5 put a frame around it */
    return size >= at + sizeof plain_magic && start[0] == 0x80 &&
           memcmp(start + at, plain_magic, sizeof plain_magic) == 0;
}

static plim_status list_pickles(reader *r, int fd, plim_error *error) {
    uint64_t offset = 0;
    for (int i = 0; i < 5; i++) {
        plim__pickle_options options = {.name = r->path};
        if (i == 3) options.visitor = (plim__pickle_visitor){r, visit, allow};
        plim__pickle *pickle;
        PLIM_TRY(plim__pickle_read_fd(fd, offset, &options, &pickle, error));
        offset += plim__pickle_length(pickle);
        plim_status status = i == 3 ? finish(r, pickle, error) : PLIM_OK;
        plim__pickle_free(pickle);
        PLIM_TRY(status);
    }
    struct stat info;
    if (fstat(fd, &info) != 0) return plim__fail_errno(error, errno, "cannot read '%s'", r->path);
    uint64_t there = (uint64_t)info.st_size > offset ? (uint64_t)info.st_size - offset : 0;
    if (there < r->storage_count * 8 || there - r->storage_count * 8 < r->stored)
        return plim__fail(error, PLIM_CORRUPT,
                          "'%s' ends too early: %llu bytes of tensors are promised, %llu are there", r->path,
                          (unsigned long long)r->stored, (unsigned long long)there);
    return PLIM_OK;
}

plim_status plim__torch_list_plain(int fd, const char *path, plim__tensor_visit tell_user, void *context,
                                   plim_error *error) {
    reader r = {.path = path, .visit = tell_user, .context = context};
    plim_status status = list_pickles(&r, fd, error);
    reader_free(&r);
    return status;
}
