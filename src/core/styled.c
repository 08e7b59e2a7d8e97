/* Styles, columns and bars. */
#include "core/styled.h"

#include <math.h>

const char *plim__style_escape(bool colour, plim__style style) {
    static const char *const escapes[PLIM_STYLE_COUNT] = {"\033[0m",  "\033[1m",  "\033[2m",  "\033[31m", "\033[32m",
                                                          "\033[33m", "\033[34m", "\033[35m", "\033[36m"};
    return colour && (unsigned)style < PLIM_STYLE_COUNT ? escapes[style] : "";
}

void plim__styled_vaddf(plim__str *out, bool colour, plim__style style, const char *format, va_list args) {
    if (style != PLIM_STYLE_PLAIN) plim__str_add(out, plim__style_escape(colour, style));
    plim__str_vaddf(out, format, args);
    if (style != PLIM_STYLE_PLAIN) plim__str_add(out, plim__style_escape(colour, PLIM_STYLE_PLAIN));
}

void plim__styled_addf(plim__str *out, bool colour, plim__style style, const char *format, ...) {
    va_list args;
    va_start(args, format);
    plim__styled_vaddf(out, colour, style, format, args);
    va_end(args);
}

size_t plim__text_columns(const char *text) {
    size_t columns = 0;
    while (*text) {
        if (*text == '\033') {
            while (*text && *text != 'm') text++;
            if (*text) text++;
            continue;
        }
        columns += ((unsigned char)*text & 0xC0) != 0x80; /* not a continuation byte */
        text++;
    }
    return columns;
}

static void repeat(plim__str *out, const char *text, int count) {
    for (int i = 0; i < count; i++) plim__str_add(out, text);
}

/* The columns of a part that covers [before, before + value) of the total: edges are rounded, not widths, so that the
 * parts always add up. */
static int edge(double position, double total, int width) {
    if (!(total > 0)) return 0;
    double share = position / total;
    return share >= 1 ? width : share <= 0 ? 0 : (int)lround(share * width);
}

void plim__bar_add(plim__str *out, const plim__canvas *canvas, const plim__bar_part *parts, size_t count,
                   double total) {
    int used = 0, width = canvas->width;
    double before = 0;
    for (size_t i = 0; i < count; i++) {
        double value = parts[i].value > 0 ? parts[i].value : 0;
        before += value;
        int end = edge(before, total, width);
        if (value > 0 && end <= used) end = used + 1; /* a small part is still seen */
        if (end > width) end = width;
        char fill[2] = {parts[i].fill, 0};
        const char *cell = canvas->unicode && (canvas->colour || !parts[i].fill) ? "█" : parts[i].fill ? fill : "#";
        plim__str_add(out, plim__style_escape(canvas->colour, parts[i].style));
        repeat(out, cell, end - used);
        if (parts[i].style != PLIM_STYLE_PLAIN)
            plim__str_add(out, plim__style_escape(canvas->colour, PLIM_STYLE_PLAIN));
        if (end > used) used = end;
    }
    plim__str_add(out, plim__style_escape(canvas->colour, PLIM_STYLE_DIM));
    repeat(out, canvas->unicode ? "░" : ".", width - used);
    plim__str_add(out, plim__style_escape(canvas->colour, PLIM_STYLE_PLAIN));
}
