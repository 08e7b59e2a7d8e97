/* Budget requests are small files in a folder of the user's own: "<pid>.run" says that a process takes requests,
 * "<pid>.budget" is one. The folder is the first of
 *
 *     $XDG_RUNTIME_DIR/plimsoll     $XDG_CACHE_HOME/plimsoll/run     $HOME/.cache/plimsoll/run     /tmp/plimsoll-<user>
 *
 * that can be had and that belongs to this user alone. Everybody may create the last one first: so a folder of another
 * owner, or that others can write to, is not used, and nothing in it is opened that is not a regular file of ours. */
#include "mem/budget_request.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"

#define PATH     512
#define NAME     64
#define CHOICES  4
#define NOT_OURS "no folder for budget requests belongs to this user alone (set XDG_RUNTIME_DIR)"

/* The n-th choice; false where the environment does not name it. The last `levels` folders of the path may be created. */
static bool folder_name(int choice, char path[PATH], int *levels) {
    static const char *const variables[] = {"XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "HOME"}, *const below[] = {
                                                                                              "plimsoll",
                                                                                              "plimsoll/run",
                                                                                              ".cache/plimsoll/run"};
    *levels = choice + 1;
    if (choice == CHOICES - 1) {
        *levels = 1;
        return snprintf(path, PATH, "/tmp/plimsoll-%u", (unsigned)geteuid()) < PATH;
    }
    const char *base = getenv(variables[choice]);
    return base && *base == '/' && snprintf(path, PATH, "%s/%s", base, below[choice]) < PATH;
}

/* Creates the last `levels` folders of the path. */
static void create_folders(char *path, int levels) {
    if (levels > 1) {
        char *slash = path;
        for (char *at = path; *at; at++)
            if (*at == '/') slash = at;
        *slash = 0;
        create_folders(path, levels - 1);
        *slash = '/';
    }
    mkdir(path, 0700);
}

/* A descriptor of the folder, or -1 when it is missing or others could put something into it. */
static int open_folder(int choice, bool create) {
    char path[PATH];
    int levels;
    struct stat info;
    if (!folder_name(choice, path, &levels)) return -1;
    if (create) create_folders(path, levels);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) return -1;
    if (fstat(folder, &info) == 0 && info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return folder;
    close(folder);
    return -1;
}

/* The folder that this process uses. */
static int own_folder(bool create) {
    int folder = -1;
    for (int choice = 0; choice < CHOICES && folder < 0; choice++) folder = open_folder(choice, create);
    return folder;
}

static void file_name(char name[NAME], pid_t pid, const char *suffix) {
    snprintf(name, NAME, "%ld.%s", (long)pid, suffix);
}

/* A regular file of this user; never waits for a writer, never follows a link. */
static int open_ours(int folder, const char *name) {
    struct stat info;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return -1;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid()) return fd;
    close(fd);
    return -1;
}

/* Written under another name and renamed: a reader finds all of it or nothing. */
static plim_status write_file(int folder, const char *name, const char *text, size_t length, plim_error *error) {
    char part[2 * NAME];
    snprintf(part, sizeof part, "%s.%ld", name, (long)getpid());
    unlinkat(folder, part, 0);
    int fd = openat(folder, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return plim__fail_errno(error, errno, "cannot write the budget request '%s'", name);
    bool written = write(fd, text, length) == (ssize_t)length;
    int saved = errno;
    close(fd);
    if (written && renameat(folder, part, folder, name) == 0) return PLIM_OK;
    if (written) saved = errno;
    unlinkat(folder, part, 0);
    return plim__fail_errno(error, saved, "cannot write the budget request '%s'", name);
}

/* The process may have another environment, and so use another folder. */
static int folder_of_process(pid_t pid) {
    char name[NAME];
    file_name(name, pid, "run");
    for (int choice = 0; choice < CHOICES; choice++) {
        int folder = open_folder(choice, false);
        int mark = folder >= 0 ? open_ours(folder, name) : -1;
        if (mark >= 0) {
            close(mark);
            return folder;
        }
        if (folder >= 0) close(folder);
    }
    return -1;
}

plim_status plim__budget_request_send(pid_t pid, uint64_t bytes, plim_error *error) {
    char name[NAME], text[32];
    int folder = kill(pid, 0) == 0 ? folder_of_process(pid) : -1;
    if (folder < 0) return plim__fail(error, PLIM_NOT_FOUND, "process %ld is not a plimsoll train of yours", (long)pid);
    file_name(name, pid, "budget");
    int length = snprintf(text, sizeof text, "%llu\n", (unsigned long long)bytes);
    plim_status status = write_file(folder, name, text, (size_t)length, error);
    close(folder);
    return status;
}

static void remove_file(int folder, const char *suffix) {
    char name[NAME];
    file_name(name, getpid(), suffix);
    unlinkat(folder, name, 0);
}

plim_status plim__budget_request_open(plim_error *error) {
    char name[NAME];
    int folder = own_folder(true);
    if (folder < 0) return plim__fail(error, PLIM_IO, NOT_OURS);
    remove_file(folder, "budget");
    file_name(name, getpid(), "run");
    plim_status status = write_file(folder, name, "", 0, error);
    close(folder);
    return status;
}

bool plim__budget_request_take(uint64_t *bytes) {
    char name[NAME], text[32];
    int folder = own_folder(false);
    if (folder < 0) return false;
    file_name(name, getpid(), "budget");
    int fd = open_ours(folder, name);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) {
        close(fd);
        unlinkat(folder, name, 0);
    }
    close(folder);
    if (length <= 0) return false;
    text[length] = 0;
    char *end = NULL;
    errno = 0;
    unsigned long long wanted = strtoull(text, &end, 10);
    if (errno != 0 || end == text) return false;
    *bytes = wanted;
    return true;
}

void plim__budget_request_close(void) {
    int folder = own_folder(false);
    if (folder < 0) return;
    remove_file(folder, "budget");
    remove_file(folder, "run");
    close(folder);
}
