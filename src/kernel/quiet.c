/* Whether oneDNN computes with AVX2, and signals held back while it does. */
#include "kernel/quiet.h"

#include <oneapi/dnnl/dnnl.h>

#include "core/host.h"
#include "mem/signals.h"

plim__quiet plim__quiet_begin(void) {
    plim__quiet quiet;
    dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
    quiet.held = (isa == dnnl_cpu_isa_avx2 || isa == dnnl_cpu_isa_avx2_vnni) && !plim__host_keeps_signals();
    if (quiet.held) plim__signals_hold(&quiet.before);
    return quiet;
}

void plim__quiet_end(const plim__quiet *quiet) {
    if (quiet->held) plim__signals_release(&quiet->before);
}
