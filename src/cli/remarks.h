/* What to know about an exported model before it is trained: remarks of its graph, and what each tensor is to training. */
#ifndef PLIM_CLI_REMARKS_H
#define PLIM_CLI_REMARKS_H

#include "cli/command.h"

/* Notes as lines of standard error: what is lost or doubtful is a warning. */
void plim__remarks_say(const plim__args *args, const plim_graph *model);
/* For a module's parameters: that all of them are trained, unless the user has chosen. */
void plim__trained_say(const plim__args *args, const plim_graph *model);
/* The same on standard output; a question mark where training differs from the module that was exported. */
void plim__remarks_print(const plim_graph *model);
/* [{"kind": "lost", "text": ...}] */
json_t *plim__remarks_json(const plim_graph *model);

/* How many tensors are trained and why, and which are not; with `all` a line for each tensor. */
void plim__weights_print(const plim_graph *model, bool all);
/* [{"name", "shape", "bytes", "trained", "why"}] */
json_t *plim__weights_json(const plim_graph *model);

#endif
