/* What the output can show (width, colour, Unicode) and the pictures drawn on it: bars, sparklines, charts.
 * Everything is appended to a string, so that a picture can go to any stream, whole. */
#ifndef PLIM_CLI_TERMINAL_H
#define PLIM_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/styled.h"

typedef struct plim__terminal {
    bool is_terminal;
    bool colour;       /* a terminal, and neither NO_COLOR nor TERM=dumb says otherwise */
    bool moves;        /* a terminal whose cursor can be moved: TERM is set, and not dumb */
    bool unicode;      /* unless the locale or TERM=dumb says otherwise */
    int width, height; /* in characters; 80 x 24 when unknown, COLUMNS and LINES when not a terminal */
} plim__terminal;

/* The terminal behind a file descriptor (STDOUT_FILENO, STDERR_FILENO), or what stands for one. */
plim__terminal plim__terminal_of(int fd);

/* The escape that starts a style (PLAIN ends all); "" where colour is off. */
const char *plim__terminal_style(const plim__terminal *terminal, plim__style style);
/* Adds printf text in a style. */
void plim__terminal_addf(plim__str *out, const plim__terminal *terminal, plim__style style, const char *format, ...)
    PLIM_PRINTF(4, 5);
/* The columns that UTF-8 text takes: code points, without colour escapes. */
size_t plim__terminal_columns(const char *text);

/* Adds text in lines of at most `width` columns that break between words; all but the first are indented. A word that is
 * longer than a line has one of its own. */
void plim__terminal_wrap(plim__str *out, const char *text, int width, int indent);
/* Prints a line. Where the stream is a terminal it breaks between words, and its parts are indented further. */
void plim__terminal_line(FILE *stream, const char *format, ...) PLIM_PRINTF(2, 3);
/* Prints commands, a line each. Where the stream is a terminal that is narrower they go on behind a backslash, so that they can be
 * copied as they stand. */
void plim__terminal_commands(FILE *stream, const char *text);
/* Leaves out the end of plain text that has more columns. */
void plim__terminal_cut(plim__str *text, int columns);
/* The same in the middle, as "layer1.0...conv2.weight": names differ at both ends. */
void plim__terminal_cut_middle(plim__str *text, int columns);

/* Adds plain text and spaces up to this number of columns. */
void plim__terminal_pad(plim__str *out, const char *text, int columns);

/* plim__bar_add of `width` columns. */
void plim__terminal_bar(plim__str *out, const plim__terminal *terminal, const plim__bar_part *parts, size_t count,
                        double total, int width);

/* A series in one line of at most `width` columns, scaled from 0 to its largest value. No newline. */
void plim__terminal_spark(plim__str *out, const plim__terminal *terminal, const double *values, size_t count,
                          int width);

/* An area chart of a series over x, with a labelled axis and the limit as a line:
 *
 *     1.0 GiB ┤┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄ limit
 *             │              ▂▄▆█
 *   512.0 MiB ┤       ▁▃▅▇███████
 *             │▂▄▆███████████████
 *         0 B └──────────────────
 *              0 s          1 min
 */
typedef struct plim__chart {
    const double *x, *y; /* x ascending; NULL for 0, 1, 2, ... */
    size_t count;
    int width, height;       /* columns in all with labels, rows of the area; 0 for the terminal's width and 8 */
    double limit;            /* drawn as a line; 0 for none */
    const char *limit_label; /* NULL for "limit" */
    plim__style style;
    void (*format_y)(double value, char *buffer, size_t size); /* NULL for bytes */
    void (*format_x)(double value, char *buffer, size_t size); /* NULL for seconds */
} plim__chart;

/* Ends with a newline. Each column shows the largest value that falls in it, so that no peak is lost. An empty
 * series draws nothing. */
void plim__terminal_chart(plim__str *out, const plim__terminal *terminal, const plim__chart *chart);

/* "0 s", "12.5 s", "3 min 20 s", "2 h 5 min". */
#define PLIM_SECONDS_TEXT 32
void plim__seconds_format(double seconds, char *buffer, size_t size);

#endif
