/* What a session is made of, for those that show it. */
#ifndef PLIM_RUN_PARTS_H
#define PLIM_RUN_PARTS_H

#include "plan/plan.h"
#include "plimsoll/session.h"

const plim__program *plim__session_program(const plim_session *session);
const plim__plan *plim__session_plan(const plim_session *session);

#endif
