/* Names inside the texts of exporters, and lists of names inside ours. */
#ifndef PLIM_GRAPH_EXPORT_NAMES_H
#define PLIM_GRAPH_EXPORT_NAMES_H

#include <stdbool.h>

#include "core/str.h"

enum { PLIM__NAME_SIZE = 512 }; /* longer names are skipped */

/* How to export so that nothing is lost; the end of a note. */
#define PLIM__KEEP "torch.onnx.export(model.train(), args, path, dynamo=True, optimize=False) keeps them"

/* The next %name of a call's arguments; false when there are no more. *at starts at the call's text. */
bool plim__placeholder_next(const char **at, char name[PLIM__NAME_SIZE]);
/* The next name of "['a', 'b']". */
bool plim__quoted_next(const char **at, char name[PLIM__NAME_SIZE]);

/* "a, b, c and 7 more" */
typedef struct plim__name_list {
    size_t count;
    plim__str text;
} plim__name_list;

void plim__name_list_add(plim__name_list *list, const char *name);
/* Valid until the next call; memory that is short only cuts it. */
const char *plim__name_list_text(plim__name_list *list);
void plim__name_list_free(plim__name_list *list);

#endif
