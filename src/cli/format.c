/* How names, shapes and large numbers are written in tables. */
#include "cli/format.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"

const char *plim__shown(const char *text) {
    static char buffers[8][1100];
    static unsigned turn;
    bool plain = true;
    if (!text) return "";
    for (const unsigned char *c = (const unsigned char *)text; plain && *c; c++) plain = *c >= 0x20 && *c < 0x7f;
    if (plain) return text;
    char *buffer = buffers[turn++ % (sizeof buffers / sizeof *buffers)];
    snprintf(buffer, sizeof *buffers, "%s", text);
    plim__error_clean(buffer);
    return buffer;
}

const char *plim__format_shape(const plim_graph *graph, int rank, const int64_t *dims, char text[PLIM_SHAPE_WORDS]) {
    size_t used = 0;
    if (rank <= 0) snprintf(text, PLIM_SHAPE_WORDS, "%s", rank < 0 ? "?" : "scalar");
    for (int i = 0; i < rank && used < PLIM_SHAPE_WORDS - 32; i++) {
        const char *symbol = graph ? plim_graph_symbol_name(graph, dims[i]) : NULL;
        int wrote = symbol
                        ? snprintf(text + used, PLIM_SHAPE_WORDS - used, "%s%.16s", i ? "x" : "", plim__shown(symbol))
                        : snprintf(text + used, PLIM_SHAPE_WORDS - used, "%s%" PRId64, i ? "x" : "", dims[i]);
        used += (size_t)(wrote > 0 ? wrote : 0);
    }
    return text;
}

const char *plim__format_count(double number, char text[PLIM_BYTES_TEXT]) {
    static const char units[] = " kMGTPE";
    int unit = 0;
    while (number >= 999.95 && unit < 6) {
        number /= 1000;
        unit++;
    }
    if (unit)
        snprintf(text, PLIM_BYTES_TEXT, "%.1f %c", number, units[unit]);
    else
        snprintf(text, PLIM_BYTES_TEXT, "%.0f", number);
    return text;
}
