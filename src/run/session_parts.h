/* What a session consists of, for those that show it or run it in their own memory. */
#ifndef PLIM_RUN_SESSION_PARTS_H
#define PLIM_RUN_SESSION_PARTS_H

#include "plan/inference.h"
#include "run/runner.h"

const plim__program *plim__session_program(const plim_session *session);
const plim__plan *plim__session_plan(const plim_session *session);
plim__runner *plim__session_runner(plim_session *session);
const plim__evaluated *plim__session_evaluated(const plim_session *session); /* NULL: it was made without a loss */

/* A session of what was prepared elsewhere, which stays the caller's; the arena is large enough for it. */
plim_status plim__session_start(plim__inference *prepared, plim__arena *arena, plim_session **session,
                                plim_error *error);

#endif
