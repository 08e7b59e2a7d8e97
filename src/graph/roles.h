/* What a float initializer is to training: a weight, or a buffer, a mask, a table, a setting; and why. */
#ifndef PLIM_GRAPH_ROLES_H
#define PLIM_GRAPH_ROLES_H

#include <stdbool.h>

#include "plimsoll/graph.h"

typedef enum plim__role {
#define ROLE(name, trained, why) PLIM__ROLE_##name,
#include "graph/roles.def"
#undef ROLE
    PLIM__ROLE_COUNT
} plim__role;

bool plim__role_trained(plim__role role);
const char *plim__role_reason(plim__role role);

#endif
