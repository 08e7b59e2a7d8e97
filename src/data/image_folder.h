/* The files of an image folder: one folder a class, sorted by name, so that numbers of classes and samples are the
 * same everywhere. */
#ifndef PLIM_DATA_IMAGE_FOLDER_H
#define PLIM_DATA_IMAGE_FOLDER_H

#include <stddef.h>
#include <stdint.h>

#include "core/str.h"
#include "core/vec.h"

typedef struct plim__image_folder {
    plim__str root;
    plim__str paths;           /* below the root, each with its zero byte: one block for any number of files */
    PLIM_VEC(size_t) files;    /* where each path begins; those of a class follow each other */
    PLIM_VEC(char *) classes;  /* names */
    PLIM_VEC(size_t) ends;     /* number of files up to and with each class */
    PLIM_VEC(int64_t) numbers; /* of the classes; empty: their places */
} plim__image_folder;

/* `split` picks among the folders train, test, val, valid and validation, when the root is made of these.
 * plim__image_folder_free also after a failure. */
plim_status plim__image_folder_scan(plim__image_folder *folder, const char *root, const char *split, plim_error *error);
/* All images below the root, or the one file that it is, without classes. */
plim_status plim__image_folder_scan_flat(plim__image_folder *folder, const char *root, plim_error *error);
/* Gives classes the numbers of their names, and `classes` becomes these names; one that is not among them is refused. */
plim_status plim__image_folder_number(plim__image_folder *folder, const char *const *names, int count,
                                      plim_error *error);
void plim__image_folder_free(plim__image_folder *folder);

const char *plim__image_folder_path(const plim__image_folder *folder, size_t file); /* below the root */
int64_t plim__image_folder_class(const plim__image_folder *folder, size_t file);
uint64_t plim__image_folder_bytes(const plim__image_folder *folder); /* of memory */

#endif
