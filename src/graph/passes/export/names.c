/* Scanning for names. */
#include "graph/passes/export/names.h"

#include <ctype.h>
#include <string.h>

enum { MOST_NAMED = 4 }; /* of a list, in a message */

bool plim__placeholder_next(const char **at, char name[PLIM__NAME_SIZE]) {
    const char *arguments = strstr(*at, "(args = (");
    if (arguments) *at = arguments + strlen("(args = (");
    for (const char *found = strchr(*at, '%'); found; found = strchr(found + 1, '%')) {
        const char *end = found + 1;
        while (isalnum((unsigned char)*end) || *end == '_') end++;
        size_t length = (size_t)(end - found) - 1;
        if (length == 0 || length >= PLIM__NAME_SIZE) continue;
        memcpy(name, found + 1, length);
        name[length] = 0;
        *at = end;
        return true;
    }
    return false;
}

bool plim__quoted_next(const char **at, char name[PLIM__NAME_SIZE]) {
    for (const char *open = strchr(*at, '\''); open;) {
        const char *close = strchr(open + 1, '\'');
        if (!close) return false;
        size_t length = (size_t)(close - open) - 1;
        *at = close + 1;
        if (length && length < PLIM__NAME_SIZE) {
            memcpy(name, open + 1, length);
            name[length] = 0;
            return true;
        }
        open = strchr(*at, '\'');
    }
    return false;
}

void plim__name_list_add(plim__name_list *list, const char *name) {
    if (list->count++ < MOST_NAMED) plim__str_addf(&list->text, "%s%.100s", list->count > 1 ? ", " : "", name);
}

const char *plim__name_list_text(plim__name_list *list) {
    if (list->count > MOST_NAMED) plim__str_addf(&list->text, " and %zu more", list->count - MOST_NAMED);
    return plim__str_text(&list->text);
}

void plim__name_list_free(plim__name_list *list) { plim__str_free(&list->text); }
