/* Finding the files of an image folder. */
#include "data/image_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "core/error.h"

enum { MAX_DEPTH = 16, MAX_PATH = 4096 };

static bool is_image(const char *name) {
    static const char *const endings[] = {".jpg", ".jpeg", ".png", ".webp"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcasecmp(name + length - ending, endings[i]) == 0) return true;
    }
    return false;
}

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static plim_status join(char path[MAX_PATH], const char *folder, const char *name, plim_error *error) {
    int length = snprintf(path, MAX_PATH, "%s%s%s", folder, *folder ? "/" : "", name);
    if (length >= 0 && length < MAX_PATH) return PLIM_OK;
    return plim__fail(error, PLIM_UNSUPPORTED, "'%.200s...' is longer than %d bytes", folder, MAX_PATH);
}

/* --- one class ------------------------------------------------------------------------------------------------ */

static plim_status add_file(plim__image_folder *folder, const char *relative, plim_error *error) {
    size_t begin = folder->paths.length;
    plim__str_addn(&folder->paths, relative, strlen(relative) + 1);
    if (folder->paths.failed || !plim__vec_push(&folder->files, begin))
        return plim__fail_memory(error, "names of images", folder->paths.length);
    return PLIM_OK;
}

/* Whether an entry, given by its path below the root, is a folder. */
static plim_status test_folder(const plim__image_folder *folder, const struct dirent *entry, const char *below,
                               bool *inside, plim_error *error) {
    char whole[MAX_PATH];
    *inside = false;
    if (entry->d_type == DT_REG) return PLIM_OK;
    PLIM_TRY(join(whole, plim__str_text(&folder->root), below, error));
    *inside = is_folder(whole);
    return PLIM_OK;
}

static plim_status scan_images(plim__image_folder *folder, const char *relative, int depth, plim_error *error) {
    char path[MAX_PATH], below[MAX_PATH];
    PLIM_TRY(join(path, plim__str_text(&folder->root), relative, error));
    DIR *dir = opendir(path);
    if (!dir) return plim__fail_errno(error, errno, "cannot open '%s'", path);
    plim_status status = PLIM_OK;
    for (struct dirent *entry; status == PLIM_OK && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        bool inside = false;
        status = join(below, relative, entry->d_name, error);
        if (status == PLIM_OK) status = test_folder(folder, entry, below, &inside, error);
        if (status != PLIM_OK) break;
        if (inside)
            status = depth < MAX_DEPTH ? scan_images(folder, below, depth + 1, error) : PLIM_OK;
        else if (is_image(entry->d_name))
            status = add_file(folder, below, error);
    }
    closedir(dir);
    return status;
}

static int by_path(const void *a, const void *b, void *paths) {
    const char *text = paths;
    return strcmp(text + *(const size_t *)a, text + *(const size_t *)b);
}

static plim_status scan_class(plim__image_folder *folder, const char *name, plim_error *error) {
    size_t before = folder->files.count;
    PLIM_TRY(scan_images(folder, name, 0, error));
    if (folder->files.count == before)
        return plim__fail(error, PLIM_INVALID, "folder '%s/%s' has no images (.jpg, .jpeg, .png, .webp)",
                          plim__str_text(&folder->root), name);
    qsort_r(folder->files.items + before, folder->files.count - before, sizeof *folder->files.items, by_path,
            folder->paths.data);
    if (!plim__vec_push(&folder->ends, folder->files.count))
        return plim__fail_memory(error, "names of classes", sizeof(size_t));
    return PLIM_OK;
}

/* --- all classes ---------------------------------------------------------------------------------------------- */

static plim_status add_class(plim__image_folder *folder, const char *name, plim_error *error) {
    char *copy = plim__strdup(name);
    if (copy && plim__vec_push(&folder->classes, copy)) return PLIM_OK;
    plim__free(copy);
    return plim__fail_memory(error, "names of classes", strlen(name));
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static plim_status list_classes(plim__image_folder *folder, plim_error *error) {
    const char *root = plim__str_text(&folder->root);
    DIR *dir = opendir(root);
    if (!dir) return plim__fail_errno(error, errno, "cannot open '%s'", root);
    plim_status status = PLIM_OK;
    for (struct dirent *entry; status == PLIM_OK && (entry = readdir(dir));) {
        char path[MAX_PATH];
        if (entry->d_name[0] == '.') continue;
        status = join(path, root, entry->d_name, error);
        if (status == PLIM_OK && is_folder(path)) status = add_class(folder, entry->d_name, error);
    }
    closedir(dir);
    PLIM_TRY(status);
    if (folder->classes.count == 0)
        return plim__fail(error, PLIM_INVALID, "'%s' has no folders in it: images are in one folder a class", root);
    qsort(folder->classes.items, folder->classes.count, sizeof *folder->classes.items, by_name);
    return PLIM_OK;
}

/* train/ beside one of the others: the root is two data sets. */
static plim_status pick_split(plim__image_folder *folder, const char *split, plim_error *error) {
    static const char *const others[] = {"test", "val", "valid", "validation"};
    char path[MAX_PATH];
    const char *other = NULL;
    PLIM_TRY(join(path, plim__str_text(&folder->root), "train", error));
    if (!is_folder(path)) return PLIM_OK;
    for (size_t i = 0; i < sizeof others / sizeof *others && !other; i++) {
        PLIM_TRY(join(path, plim__str_text(&folder->root), others[i], error));
        if (is_folder(path)) other = others[i];
    }
    if (!other) return PLIM_OK;
    bool test = split && strcmp(split, "test") == 0;
    plim__str_addf(&folder->root, "/%s", test ? other : "train");
    return folder->root.failed ? plim__fail_memory(error, "the name of a folder", MAX_PATH) : PLIM_OK;
}

plim_status plim__image_folder_scan(plim__image_folder *folder, const char *root, const char *split,
                                    plim_error *error) {
    *folder = (plim__image_folder){0};
    plim__str_add(&folder->root, root);
    if (folder->root.failed) return plim__fail_memory(error, "the name of a folder", strlen(root));
    PLIM_TRY(pick_split(folder, split, error));
    PLIM_TRY(list_classes(folder, error));
    for (size_t i = 0; i < folder->classes.count; i++) PLIM_TRY(scan_class(folder, folder->classes.items[i], error));
    return PLIM_OK;
}

plim_status plim__image_folder_scan_flat(plim__image_folder *folder, const char *root, plim_error *error) {
    *folder = (plim__image_folder){0};
    const char *slash = strrchr(root, '/');
    bool whole = is_folder(root);
    plim__str_addf(&folder->root, "%.*s",
                   whole   ? (int)strlen(root)
                   : slash ? (int)(slash - root)
                           : 1,
                   whole || slash ? root : ".");
    if (folder->root.failed) return plim__fail_memory(error, "the name of a folder", strlen(root));
    if (!whole) return add_file(folder, slash ? slash + 1 : root, error);
    PLIM_TRY(scan_images(folder, "", 0, error));
    if (folder->files.count == 0)
        return plim__fail(error, PLIM_INVALID, "folder '%s' has no images (.jpg, .jpeg, .png, .webp)", root);
    qsort_r(folder->files.items, folder->files.count, sizeof *folder->files.items, by_path, folder->paths.data);
    return PLIM_OK;
}

static plim_status unknown_class(const plim__image_folder *folder, const char *name, const char *const *names,
                                 int count, plim_error *error) {
    plim__str known = {0};
    for (int i = 0; i < count && i < 8; i++) plim__str_addf(&known, "%s%.40s", i ? ", " : "", names[i]);
    plim_status status =
        plim__fail(error, PLIM_INVALID, "folder '%s/%s': class '%s' is unknown; the model's %d classes are %s%s",
                   plim__str_text(&folder->root), name, name, count, plim__str_text(&known), count > 8 ? ", ..." : "");
    plim__str_free(&known);
    return status;
}

plim_status plim__image_folder_number(plim__image_folder *folder, const char *const *names, int count,
                                      plim_error *error) {
    for (size_t i = 0; i < folder->classes.count; i++) {
        int number = 0;
        while (number < count && strcmp(names[number], folder->classes.items[i]) != 0) number++;
        if (number == count) return unknown_class(folder, folder->classes.items[i], names, count, error);
        if (!plim__vec_push(&folder->numbers, number)) return plim__fail_memory(error, "classes", sizeof(int64_t));
    }
    for (size_t i = 0; i < folder->classes.count; i++) plim__free(folder->classes.items[i]);
    folder->classes.count = 0;
    for (int i = 0; i < count; i++) PLIM_TRY(add_class(folder, names[i], error));
    return PLIM_OK;
}

void plim__image_folder_free(plim__image_folder *folder) {
    for (size_t i = 0; i < folder->classes.count; i++) plim__free(folder->classes.items[i]);
    plim__vec_free(&folder->classes);
    plim__vec_free(&folder->files);
    plim__vec_free(&folder->ends);
    plim__vec_free(&folder->numbers);
    plim__str_free(&folder->root);
    plim__str_free(&folder->paths);
}

const char *plim__image_folder_path(const plim__image_folder *folder, size_t file) {
    return folder->paths.data + folder->files.items[file];
}

int64_t plim__image_folder_class(const plim__image_folder *folder, size_t file) {
    size_t low = 0, high = folder->ends.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (folder->ends.items[middle] > file)
            high = middle;
        else
            low = middle + 1;
    }
    return low < folder->numbers.count ? folder->numbers.items[low] : (int64_t)low;
}

uint64_t plim__image_folder_bytes(const plim__image_folder *folder) {
    return folder->paths.capacity + folder->files.capacity * sizeof(size_t);
}
