/* Options of commands that make a session. */
#include "cli/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool plim__sizes_read(plim__args *args, plim_size sizes[PLIM__MOST_SIZES], char names[PLIM__MOST_SIZES][64],
                      size_t *count) {
    const char *text;
    *count = 0;
    for (size_t i = 0; (text = plim__args_get_nth(args, "size", i)); i++) {
        const char *equals = strchr(text, '=');
        char *end = NULL;
        long long size = equals ? strtoll(equals + 1, &end, 10) : 0;
        if (!equals || size < 1 || *end || i == PLIM__MOST_SIZES || (size_t)(equals - text) >= sizeof names[i]) {
            plim__say_usage(args, "--size %s: expected NAME=N", text);
            return false;
        }
        memcpy(names[i], text, (size_t)(equals - text));
        sizes[i] = (plim_size){names[i], size};
        *count = i + 1;
    }
    return true;
}

bool plim__model_options_read(plim__args *args, plim__model_options *o) {
    memset(o, 0, sizeof *o);
    o->session.threads = plim__args_threads(args);
    o->session.batch = 1;
    o->session.without = plim__args_get(args, "without");
    o->session.sizes = o->sizes;
    return plim__args_int(args, "batch", 1, 1 << 24, &o->session.batch) &&
           plim__sizes_read(args, o->sizes, o->names, &o->session.size_count);
}
