/* What a session is made of, for those that show it or share its memory. */
#ifndef PLIM_RUN_SESSION_PARTS_H
#define PLIM_RUN_SESSION_PARTS_H

#include "grad/evaluation.h"
#include "plimsoll/session.h"
#include "run/runner.h"

const plim__program *plim__session_program(const plim_session *session);
const plim__plan *plim__session_plan(const plim_session *session);
plim__runner *plim__session_runner(plim_session *session);
const plim__evaluated *plim__session_evaluated(const plim_session *session); /* NULL: it was made without a loss */

/* A session over the weights of another program, which change: nothing is folded into them. */
typedef struct plim__shared {
    const plim__program *program;
    const plim__plan *plan;
    size_t kept_from; /* what only the session keeps begins here */
} plim__shared;

/* Plans only, when `shared` is not NULL; plim__session_start makes it ready in an arena that is large enough. */
plim_status plim__session_create_shared(const plim_graph *model, const plim_session_options *options,
                                        const plim__shared *shared, plim_session **session, plim_error *error);
plim_status plim__session_start(plim_session *session, plim__arena *arena, plim_error *error);

#endif
