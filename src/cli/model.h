/* What several commands have in common about models: reading --batch, --size, --without and --weights. */
#ifndef PLIM_CLI_MODEL_H
#define PLIM_CLI_MODEL_H

#include "cli/command.h"

#define PLIM__MOST_SIZES 16

typedef struct plim__model_options {
    plim_session_options session;
    plim_size sizes[PLIM__MOST_SIZES];
    char names[PLIM__MOST_SIZES][64];
} plim__model_options;

#define PLIM__SIZE_OPTION                                                                                              \
    {                                                                                                                  \
        "size", 0, "NAME=N",                                                                                           \
            "size of an open axis other than the batch: its name, or INPUT.AXIS; else it is taken from the data"       \
    }

/* Rows for a command's option table. */
#define PLIM__MODEL_OPTIONS                                                                                            \
    {"batch", 'b', "N", "size of the batch; the default is 1"}, PLIM__SIZE_OPTION, {                                   \
        "without", 0, "PASSES", "leave these passes out, separated by commas ('plimsoll inspect --passes' lists them)" \
    }

/* --size. The names are copied. */
bool plim__sizes_read(plim__args *args, plim_size sizes[PLIM__MOST_SIZES], char names[PLIM__MOST_SIZES][64],
                      size_t *count);
/* False after a usage error has been printed. */
bool plim__model_options_read(plim__args *args, plim__model_options *options);
/* --weights, where it is given: into the model, and said how many there are and what is new. */
plim_status plim__weights_read(const plim__args *args, plim_graph *model, plim_error *error);

#endif
