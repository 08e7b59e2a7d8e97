/* Options in a file: a small, strict part of TOML.
 *
 *     model = "resnet.onnx"          # the first argument
 *     data = "photos"
 *     epochs = 20
 *     lr = 1e-3
 *     normalise = true               # a switch; false is one that is not given
 *     mean = [0.485, 0.456, 0.406]   # numbers with commas between them
 *     out = ["a.onnx", "b.onnx"]     # an option that is given twice
 *
 * Keys are names of options. What the command line gives counts before the file. */
#ifndef PLIM_CLI_CONFIG_H
#define PLIM_CLI_CONFIG_H

#include "cli/command.h"
#include "core/str.h"
#include "core/vec.h"

/* Rows for a command's option table. */
#define PLIM__CONFIG_OPTIONS                                                                                           \
    {"config", 0, "FILE.toml", "options from a file; those of the command line count before it"}, {                    \
        "save-config", 0, "FILE.toml", "write the options of this run to a file, for --config"                         \
    }

/* One value of one key: lists of texts give several. */
typedef struct plim__setting {
    char *key, *value;
    bool is_switch; /* true or false */
    bool is_first;  /* of its key */
    int line;
} plim__setting;

typedef struct plim__config {
    PLIM_VEC(plim__setting) settings;
} plim__config;

/* Reads the text of a file called `path`. Free it after a failure, too. */
plim_status plim__config_parse(plim__config *config, const char *text, const char *path, plim_error *error);
plim_status plim__config_load(plim__config *config, const char *path, plim_error *error);
void plim__config_free(plim__config *config);

/* What was given, as such a text. */
void plim__config_print(const plim__args *args, plim__str *out);
/* --save-config, where it was given: before anything runs. A file that is not such a text is not replaced. */
plim_status plim__config_save(const plim__args *args, plim_error *error);

#endif
