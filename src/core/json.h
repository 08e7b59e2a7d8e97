/* JSON as text on our own heap: what jansson prints, without its blocks. */
#ifndef PLIM_CORE_JSON_H
#define PLIM_CORE_JSON_H

#include <jansson.h>

#include "core/str.h"

/* Appends `json`, printed with jansson's flags. False, and *out has failed, when memory is short or json is NULL. */
bool plim__json_print(plim__str *out, const json_t *json, size_t flags);

#endif
