/* Models in several safetensors files. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/file.h"
#include "core/map.h"
#include "core/str.h"
#include "core/vec.h"
#include "format/safetensors.h"

enum { MOST_INDEX = 64 << 20 };

/* A shard is a plain file name: nothing that leaves the folder of the index. */
static bool is_plain_name(const char *name) {
    return *name && *name != '.' && !strchr(name, '/') && !strchr(name, '\\');
}

/* The path of a shard, beside the index. */
static plim_status path_beside(const char *index, const char *shard, plim__str *path, plim_error *error) {
    const char *slash = strrchr(index, '/');
    if (slash) plim__str_addn(path, index, (size_t)(slash + 1 - index));
    plim__str_add(path, shard);
    return path->failed ? plim__fail_memory(error, "a path", strlen(index) + strlen(shard)) : PLIM_OK;
}

static plim_status open_shard(const char *index, const char *shard, const char *path, plim__safetensors *file,
                              plim_error *error) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return plim__fail_errno(error, errno, "'%s' names the shard '%.200s': cannot open it", index, shard);
    plim_status status = plim__safetensors_open(file, fd, path, error);
    close(fd);
    return status;
}

/* Every tensor that the index puts into this shard must be there. */
static plim_status check_shard(const char *path, json_t *weights, const char *shard, const plim__safetensors *file,
                               plim_error *error) {
    plim__map names = {0};
    plim_status status = PLIM_OK;
    for (size_t i = 0; i < file->count && status == PLIM_OK; i++)
        if (!plim__map_put(&names, file->tensors[i].name, 1))
            status = plim__fail_memory(error, "tensor names", file->count);
    const char *name;
    json_t *place;
    json_object_foreach(weights, name, place) {
        if (status != PLIM_OK || strcmp(json_string_value(place), shard) != 0) continue;
        if (!plim__map_get(&names, name, 0))
            status = plim__fail(error, PLIM_CORRUPT, "'%s' says that '%.200s' is in '%.200s', where it is not", path,
                                name, shard);
    }
    plim__map_free(&names);
    return status;
}

static plim_status visit_shard(const char *index, json_t *weights, const char *shard, plim__shard_visit visit,
                               void *context, plim_error *error) {
    plim__safetensors file = {0};
    plim__str path = {0};
    plim_status status = path_beside(index, shard, &path, error);
    if (status == PLIM_OK) status = open_shard(index, shard, path.data, &file, error);
    bool open = status == PLIM_OK;
    if (open) status = check_shard(index, weights, shard, &file, error);
    if (status == PLIM_OK) status = visit(context, path.data, &file, error);
    if (open) plim__safetensors_close(&file);
    plim__str_free(&path);
    return status;
}

static plim_status visit_shards(const char *path, json_t *weights, plim__shard_visit visit, void *context,
                                plim_error *error) {
    plim__map done = {0};
    plim_status status = PLIM_OK;
    const char *name;
    json_t *place;
    json_object_foreach(weights, name, place) {
        const char *shard = json_string_value(place);
        if (!shard || !is_plain_name(shard)) {
            status = plim__fail(error, PLIM_CORRUPT, "'%s' puts '%.200s' into '%.200s', which is not a file beside it",
                                path, name, shard ? shard : "(no name)");
            break;
        }
    }
    json_object_foreach(weights, name, place) {
        const char *shard = json_string_value(place);
        if (status != PLIM_OK) break;
        if (plim__map_get(&done, shard, 0)) continue;
        if (!plim__map_put(&done, shard, 1)) status = plim__fail_memory(error, "shard names", strlen(shard));
        if (status == PLIM_OK) status = visit_shard(path, weights, shard, visit, context, error);
    }
    plim__map_free(&done);
    return status;
}

bool plim__safetensors_is_index(const char *path) {
    static const char end[] = ".safetensors.index.json";
    size_t length = strlen(path);
    return length >= sizeof end - 1 && strcasecmp(path + length - (sizeof end - 1), end) == 0;
}

plim_status plim__safetensors_index_each(const char *path, plim__shard_visit visit, void *context, plim_error *error) {
    char *text;
    size_t size;
    PLIM_TRY(plim__file_read(path, MOST_INDEX, &text, &size, error));
    json_error_t problem;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);
    plim__free(text);
    json_t *weights = json_object_get(root, "weight_map");
    plim_status status;
    if (!json_is_object(weights))
        status = plim__fail(error, PLIM_CORRUPT, "'%s' is not a safetensors index: it has no weight_map", path);
    else
        status = visit_shards(path, weights, visit, context, error);
    json_decref(root);
    return status;
}

typedef struct listing {
    plim__tensor_visit visit;
    void *context;
    size_t shards;
} listing;

static plim_status list_shard(void *context, const char *path, const plim__safetensors *file, plim_error *error) {
    listing *l = context;
    (void)path;
    PLIM_TRY(plim__safetensors_list(file, l->visit, l->context, error));
    l->shards++;
    return PLIM_OK;
}

plim_status plim__safetensors_index_list(const char *path, plim__tensor_visit visit, void *context, size_t *shards,
                                         plim_error *error) {
    listing l = {visit, context, 0};
    plim_status status = plim__safetensors_index_each(path, list_shard, &l, error);
    *shards = l.shards;
    return status;
}
