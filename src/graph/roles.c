/* The table of roles. */
#include "graph/roles.h"

static const struct {
    bool trained;
    const char *why;
} roles[] = {
#define ROLE(name, trained, why) {trained, why},
#include "graph/roles.def"
#undef ROLE
};

bool plim__role_trained(plim__role role) { return role < PLIM__ROLE_COUNT && roles[role].trained; }

const char *plim__role_reason(plim__role role) { return role < PLIM__ROLE_COUNT ? roles[role].why : "?"; }
