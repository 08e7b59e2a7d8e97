/* Arguments of public functions. */
#include "core/arguments.h"

#include <string.h>

/* More than any struct of options will ever have: a size above it was never set. */
#define LARGEST 4096

plim_status plim__options_read(void *copy, size_t size, const void *given, const char *name, plim_error *error) {
    memset(copy, 0, size);
    size_t has = 0;
    if (given) memcpy(&has, given, sizeof has);
    if (has == 0) has = size;
    if (has < sizeof has || has > LARGEST)
        return plim__fail(error, PLIM_INVALID, "%s.size is %zu: set it to sizeof(%s), or leave it 0", name, has, name);
    if (given) memcpy(copy, given, has < size ? has : size);
    memcpy(copy, &size, sizeof size);
    for (size_t i = size; i < has; i++)
        if (((const unsigned char *)given)[i])
            return plim__fail(error, PLIM_UNSUPPORTED, "%s sets a field that this version does not have (byte %zu)",
                              name, i);
    return PLIM_OK;
}

plim_status plim__threads_check(int threads, plim_error *error) {
    enum { MOST = 4096 };
    if (threads >= 0 && threads <= MOST) return PLIM_OK;
    return plim__fail(error, PLIM_INVALID, "%d threads: expected from 1 to %d, or 0 for the default", threads, MOST);
}
