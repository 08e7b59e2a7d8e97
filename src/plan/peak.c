/* The peak of a plan. */
#include "plan/peak.h"

bool plim__peak_holds(const plim__program *program, const plim__plan *plan, size_t b) {
    if (plan->home[b] != (int32_t)b || plan->offsets[b] < 0) return false;
    return program->buffers.items[b].persistent ||
           (plan->lives[b].born <= plan->peak_step && plan->peak_step <= plan->lives[b].died);
}

size_t plim__peak_largest(const plim__program *program, const plim__plan *plan, int32_t *buffers, size_t most) {
    size_t count = 0;
    for (size_t b = 0; b < program->buffers.count; b++) {
        if (!plim__peak_holds(program, plan, b)) continue;
        size_t at = count < most ? count++ : most, bytes = program->buffers.items[b].bytes;
        if (at == most && (most == 0 || program->buffers.items[buffers[most - 1]].bytes >= bytes)) continue;
        if (at == most) at--;
        for (; at > 0 && program->buffers.items[buffers[at - 1]].bytes < bytes; at--) buffers[at] = buffers[at - 1];
        buffers[at] = (int32_t)b;
    }
    return count;
}
