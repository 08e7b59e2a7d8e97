/* Options of commands that make a session. */
#include "cli/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/str.h"
#include "plimsoll/onnx.h"

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

plim_status plim__weights_read(const plim__args *args, plim_graph *model, plim_error *error) {
    const char *path = plim__args_get(args, "weights");
    plim_weights_loaded loaded;
    if (!path) return PLIM_OK;
    PLIM_TRY(plim_graph_load_weights(model, path, &loaded, error));
    plim__str said = {0};
    plim__str_addf(&said, "%zu tensors are from '%s'", loaded.loaded, path);
    if (loaded.replaced) plim__str_addf(&said, "; the last layer is new, as its shape differs: %s", loaded.names);
    if (loaded.unused) plim__str_addf(&said, "; %zu of the file are not in the model", loaded.unused);
    plim__say_note(args, "%s", plim__str_text(&said));
    plim__str_free(&said);
    return PLIM_OK;
}
