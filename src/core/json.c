/* JSON as text on our own heap. */
#include "core/json.h"

static int append(const char *text, size_t length, void *out) {
    plim__str_addn(out, text, length);
    return ((plim__str *)out)->failed ? -1 : 0;
}

bool plim__json_print(plim__str *out, const json_t *json, size_t flags) {
    if (!json || json_dump_callback(json, append, out, flags) != 0) out->failed = true;
    return !out->failed;
}
