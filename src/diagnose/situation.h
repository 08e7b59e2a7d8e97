/* What holds memory in the phase that failed, what of it fills the device, and whether a lever touches that.
 *
 *   the phase ──→ kinds that are held ──→ levers on other kinds are not offered
 *   the numbers ─→ the kind that fills ──→ levers on it come first
 */
#ifndef PLIM_DIAGNOSE_SITUATION_H
#define PLIM_DIAGNOSE_SITUATION_H

#include "diagnose/conditions.h"
#include "diagnose/levers.h"

/* Letters of levers.h: what fills the device; "" where nothing tells. */
const char *plim__fills(const plim__case *c);

/* Whether the lever's memory exists in the phase at hand: a batch takes none while weights are loaded. */
bool plim__lever_helps(plim__lever lever, const plim__case *c);

/* Whether it acts on what fills the device, or on no kind of memory; with "" all do. */
bool plim__lever_fits(plim__lever lever, const char *fills);

#endif
