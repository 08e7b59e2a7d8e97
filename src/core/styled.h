/* Text with colours and pictures for a terminal that is described, not asked: styles, columns, bars. */
#ifndef PLIM_CORE_STYLED_H
#define PLIM_CORE_STYLED_H

#include "core/str.h"

/* What the place can show that text goes to. */
typedef struct plim__canvas {
    bool colour, unicode;
    int width; /* columns */
} plim__canvas;

typedef enum plim__style {
    PLIM_STYLE_PLAIN,
    PLIM_STYLE_BOLD,
    PLIM_STYLE_DIM,
    PLIM_STYLE_RED,
    PLIM_STYLE_GREEN,
    PLIM_STYLE_YELLOW,
    PLIM_STYLE_BLUE,
    PLIM_STYLE_MAGENTA,
    PLIM_STYLE_CYAN,
    PLIM_STYLE_COUNT
} plim__style;

/* The escape that starts a style (PLAIN ends all); "" where colour is off. */
const char *plim__style_escape(bool colour, plim__style style);
/* Adds printf text in a style. */
void plim__styled_addf(plim__str *out, bool colour, plim__style style, const char *format, ...) PLIM_PRINTF(4, 5);
void plim__styled_vaddf(plim__str *out, bool colour, plim__style style, const char *format, va_list args);
/* The columns that UTF-8 text takes: code points, without colour escapes. */
size_t plim__text_columns(const char *text);

/* One stretch of a bar. Without colour the stretches are told apart by their fill: the letter, repeated. */
typedef struct plim__bar_part {
    double value;
    plim__style style;
    char fill; /* ASCII, 0 for a solid block (or '#') */
} plim__bar_part;

/* A bar of exactly the canvas' width that stands for `total`; what the parts leave is drawn as light dots. A part above 0
 * gets at least one column when there is room; parts that exceed the total are cut. No newline. */
void plim__bar_add(plim__str *out, const plim__canvas *canvas, const plim__bar_part *parts, size_t count, double total);

#endif
