/* Where the time goes: steps of a program, summed up by what they are. */
#ifndef PLIM_CLI_PROFILE_H
#define PLIM_CLI_PROFILE_H

#include <jansson.h>
#include <stddef.h>

#include "plimsoll/session.h"

#define PLIM__MOST_PROFILE_ROWS 128

typedef struct plim__profile {
    struct plim__profile_row {
        const char *label;
        double seconds, flops;
        int count;
    } rows[PLIM__MOST_PROFILE_ROWS];
    size_t count;
    double seconds;
    double kernel_seconds; /* of convolutions and matrix products: the least that the step could take */
} plim__profile;

void plim__profile_add(plim__profile *profile, const plim_session_step *step);
/* The slowest first; then a table. */
void plim__profile_sort(plim__profile *profile);
void plim__profile_print(const plim__profile *profile);
/* {"seconds", "kernel_share", "steps": [{"label", "count", "seconds", "share", "flops_per_second"}]} */
json_t *plim__profile_json(const plim__profile *profile);

#endif
