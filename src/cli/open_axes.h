/* Axes of a model's inputs that are open, other than the batch. Each has its size from --size or from the data, never that of the
 * batch unsaid. */
#ifndef PLIM_CLI_OPEN_AXES_H
#define PLIM_CLI_OPEN_AXES_H

#include "cli/model.h"

/* The sizes of a session's or a trainer's symbols, PLIM__MOST_SIZES of room. */
typedef struct plim__sizes {
    plim_size *sizes;
    size_t *count;
} plim__sizes;

/* The size that is known of a symbol; 0 for none. */
int64_t plim__sizes_find(const plim__sizes *sizes, const char *symbol);
/* What --size names are axes of the model: symbols, or INPUT.AXIS for axes that have no name. PLIM_NOT_FOUND otherwise. */
plim_status plim__open_axes_check(const plim_graph *model, const plim__sizes *sizes, plim_error *error);
/* Sizes that were not given are those of the data, once it is open. */
void plim__open_axes_follow(const plim_graph *model, const plim_data *data, const plim__sizes *sizes);
/* PLIM_INVALID while an axis has no size; says the others on stderr. */
plim_status plim__open_axes_settle(const plim__args *args, const plim_graph *model, const plim__sizes *sizes,
                                   plim_error *error);
/* A line of `inspect`: the axes and the sizes that it takes, that of the batch where none was given. */
void plim__open_axes_print(const plim_graph *model, const plim__sizes *sizes, int64_t batch);

#endif
