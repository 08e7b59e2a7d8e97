/* Files of training runs. */
#include "cli/train_outputs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "cli/lora_options.h"
#include "core/error.h"

enum { KEPT = 4 };          /* checkpoints of earlier runs that stay in the cache folder */
#define SPARE (64ull << 20) /* bytes that stay free on its disk */

bool plim__is_same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static plim_status check_model(const plim__args *args, const char *path, plim_error *error) {
    plim_status status = plim_trainer_can_save(path, error);
    if (status != PLIM_OK || plim__is_same_file(path, plim__args_at(args, 0))) return status;
    return plim_output_check(path, PLIM_OUTPUT_MODEL, error);
}

static plim_status check_checkpoint(const plim_fit_options *fit, plim_error *error) {
    if (!fit->checkpoint || fit->resume) return PLIM_OK;
    if (plim_output_find(fit->checkpoint) == PLIM_OUTPUT_CHECKPOINT)
        return plim__fail(
            error, PLIM_INVALID,
            "'%s' is a checkpoint of an earlier run: --resume goes on from it; another name starts a new run",
            fit->checkpoint);
    return plim_output_check(fit->checkpoint, PLIM_OUTPUT_CHECKPOINT, error);
}

plim_status plim__train_outputs_check(const plim__args *args, const plim_fit_options *fit, plim_error *error) {
    static const char *const records[] = {"log", "report", "trace"};
    const char *path;
    plim_status status = check_checkpoint(fit, error);
    if (status == PLIM_OK) status = plim__lora_check_outputs(args, error);
    for (size_t i = 0; status == PLIM_OK && (path = plim__args_get_nth(args, "out", i)); i++) {
        status = check_model(args, path, error);
        if (status == PLIM_OK && fit->best && strcmp(path, fit->best) == 0)
            status = plim__fail(error, PLIM_INVALID, "--out and --best both write '%s'", path);
    }
    if (status == PLIM_OK && fit->best) status = check_model(args, fit->best, error);
    for (size_t i = 0; status == PLIM_OK && i < sizeof records / sizeof *records; i++)
        if ((path = plim__args_get(args, records[i]))) status = plim_output_check(path, PLIM_OUTPUT_RECORD, error);
    if (status == PLIM_OK && (path = plim__args_get(args, "dump-gradients")))
        status = plim_output_check(path, PLIM_OUTPUT_MODEL, error);
    return status;
}

/* --- where nothing was asked for ------------------------------------------------------------------------------ */

static bool make_folder(char folder[4096]) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = 0;
    if (cache && *cache)
        length = snprintf(folder, 4000, "%s", cache);
    else if (home && *home)
        length = snprintf(folder, 4000, "%s/.cache", home);
    if (length <= 0 || length >= 3900) return false;
    static const char *const below[] = {"", "/plimsoll", "/runs"};
    for (int i = 0; i < 3; i++) {
        length += snprintf(folder + length, 4096 - (size_t)length, "%s", below[i]);
        if (mkdir(folder, 0700) != 0 && errno != EEXIST) return false;
    }
    return access(folder, W_OK | X_OK) == 0;
}

static bool is_checkpoint(const char *name) {
    size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".ckpt") == 0;
}

/* The oldest go first. */
static void remove_old(const char *folder) {
    for (;;) {
        char oldest[4096] = "", path[4096];
        time_t least = 0;
        int count = 0;
        DIR *dir = opendir(folder);
        if (!dir) return;
        for (struct dirent *entry; (entry = readdir(dir));) {
            struct stat info;
            if (!is_checkpoint(entry->d_name) ||
                snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path ||
                stat(path, &info) != 0)
                continue;
            count++;
            if (*oldest && info.st_mtime >= least) continue;
            least = info.st_mtime;
            memcpy(oldest, path, sizeof oldest);
        }
        closedir(dir);
        if (count < KEPT || unlink(oldest) != 0) return;
    }
}

static uint64_t state_bytes(const plim_trainer *trainer) {
    uint64_t sum = 0;
    for (size_t i = 0; i < plim_trainer_tensor_count(trainer); i++) {
        plim_trainer_tensor tensor;
        plim_trainer_get_tensor(trainer, i, &tensor);
        sum += tensor.bytes;
    }
    return sum;
}

static bool has_room(const char *folder, uint64_t bytes) {
    struct statvfs disk;
    return statvfs(folder, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize > 2 * bytes + SPARE;
}

void plim__train_outputs_choose(const plim__args *args, const plim_trainer *trainer, plim_fit_options *fit,
                                char path[4096]) {
    const char *model = plim__args_at(args, 0), *name = strrchr(model, '/') ? strrchr(model, '/') + 1 : model;
    const char *dot = strrchr(name, '.');
    char folder[4096], when[32] = "";
    *path = 0;
    if (fit->checkpoint || fit->best || plim__args_has(args, "out") || plim__args_has(args, "adapter") ||
        plim__args_has(args, "merge"))
        return;
    if (strncmp(plim__args_get(args, "data"), "synthetic", 9) == 0) return; /* nothing worth keeping */
    if (!make_folder(folder) || !has_room(folder, state_bytes(trainer))) {
        plim__say_note(args, "note: without --out, --best or --checkpoint nothing will be saved: the cache "
                             "folder cannot take a checkpoint");
        return;
    }
    remove_old(folder);
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local)) strftime(when, sizeof when, "%Y%m%d-%H%M%S", &local);
    int length = (int)(dot && dot > name ? dot - name : (ptrdiff_t)strlen(name));
    if (snprintf(path, 4096, "%.3500s/%.*s-%s-%ld.ckpt", folder, length < 200 ? length : 200, name, when,
                 (long)getpid()) >= 4096) {
        *path = 0;
        return;
    }
    fit->checkpoint = path;
    plim__say_note(args,
                   "note: without --out, --best or --checkpoint, the trained state goes to '%s' alone; the "
                   "same command with --checkpoint '%s' --resume --out FILE.onnx makes a model of it",
                   path, path);
}
