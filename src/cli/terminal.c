/* What the output can show, and the pictures drawn on it. */
#include "cli/terminal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "plimsoll/bytes.h"

/* --- the terminal --------------------------------------------------------------------------------------------- */

static const char *nonempty(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* A locale that names another character set, or plain C, turns Unicode off; none at all (containers) does not. */
static bool locale_is_unicode(void) {
    const char *locale = nonempty("LC_ALL");
    if (!locale) locale = nonempty("LC_CTYPE");
    if (!locale) locale = nonempty("LANG");
    return !locale || strcasestr(locale, "utf-8") || strcasestr(locale, "utf8");
}

static int size_from(const char *name, int otherwise) {
    const char *text = nonempty(name);
    int value = text ? atoi(text) : 0;
    return value >= 20 && value <= 1000 ? value : otherwise;
}

plim__terminal plim__terminal_of(int fd) {
    const char *kind = nonempty("TERM");
    bool dumb = kind && strcmp(kind, "dumb") == 0;
    plim__terminal terminal = {.is_terminal = isatty(fd) == 1, .unicode = locale_is_unicode() && !dumb};
    terminal.moves = terminal.is_terminal && kind && !dumb;
    terminal.colour = terminal.moves && !nonempty("NO_COLOR");
    terminal.width = size_from("COLUMNS", 80);
    terminal.height = size_from("LINES", 24);
    struct winsize size;
    if (terminal.is_terminal && ioctl(fd, TIOCGWINSZ, &size) == 0) {
        if (size.ws_col) terminal.width = size.ws_col;
        if (size.ws_row) terminal.height = size.ws_row;
    }
    return terminal;
}

const char *plim__terminal_style(const plim__terminal *terminal, plim__style style) {
    return plim__style_escape(terminal->colour, style);
}

void plim__terminal_addf(plim__str *out, const plim__terminal *terminal, plim__style style, const char *format, ...) {
    va_list args;
    va_start(args, format);
    plim__styled_vaddf(out, terminal->colour, style, format, args);
    va_end(args);
}

size_t plim__terminal_columns(const char *text) { return plim__text_columns(text); }

/* --- lines ---------------------------------------------------------------------------------------------------- */

/* Bytes of at most this number of columns. */
static size_t bytes_of_columns(const char *text, int columns) {
    size_t at = 0;
    for (int seen = 0; text[at]; at++) {
        if (((unsigned char)text[at] & 0xC0) != 0x80 && seen++ == columns) break;
    }
    return at;
}

void plim__terminal_cut(plim__str *text, int columns) {
    if (!text->length || columns < 0) return;
    text->length = bytes_of_columns(text->data, columns);
    text->data[text->length] = 0;
}

void plim__terminal_cut_middle(plim__str *text, int columns) {
    static const char dots[] = "...";
    int now = (int)plim__terminal_columns(plim__str_text(text)), kept = columns - (int)sizeof dots + 1;
    if (now <= columns || kept < 2) return;
    size_t left = bytes_of_columns(text->data, kept / 2), right = bytes_of_columns(text->data, now - (kept - kept / 2));
    plim__str out = {0};
    plim__str_addf(&out, "%.*s%s%s", (int)left, text->data, dots, text->data + right);
    plim__str_free(text);
    *text = out;
}

void plim__terminal_pad(plim__str *out, const char *text, int columns) {
    static const char spaces[] = "                                ";
    int missing = columns - (int)plim__terminal_columns(text), most = (int)sizeof spaces - 1;
    plim__str_add(out, text);
    for (; missing > 0; missing -= most) plim__str_addn(out, spaces, (size_t)(missing < most ? missing : most));
}

static int columns_of(const char *word, size_t length) {
    int columns = 0;
    for (size_t i = 0; i < length; i++) {
        if (word[i] == '\033')
            while (i < length && word[i] != 'm') i++;
        else
            columns += ((unsigned char)word[i] & 0xC0) != 0x80;
    }
    return columns;
}

/* "%", "MiB," and the like belong to the number before them. */
static bool is_unit(const char *text, size_t length) {
    static const char *const units[] = {"%", "B", "KiB", "MiB", "GiB", "TiB", "s", "min", "h", "d"};
    while (length > 1 && strchr(",;.:)", text[length - 1])) length--;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i]) == length && memcmp(units[i], text, length) == 0) return true;
    return false;
}

/* Bytes of a word, with its unit. */
static size_t word_length(const char *text) {
    size_t length = strcspn(text, " \n");
    for (size_t next; length && text[length] == ' '; length += 1 + next) {
        next = strcspn(text + length + 1, " \n");
        if (!is_unit(text + length + 1, next)) break;
    }
    return length;
}

void plim__terminal_wrap(plim__str *out, const char *text, int width, int indent) {
    int at = 0;
    bool begins = true;
    while (*text) {
        if (*text == '\n') {
            plim__str_addc(out, '\n');
            at = 0, begins = true, text++;
            continue;
        }
        size_t spaces = strspn(text, " "), length = word_length(text + spaces);
        int word = columns_of(text + spaces, length);
        if (!begins && at + (int)spaces + word > width) {
            plim__str_addf(out, "\n%*s", indent, "");
            at = indent;
        } else {
            plim__str_addf(out, "%.*s", (int)spaces, text);
            at += (int)spaces;
        }
        plim__str_addf(out, "%.*s", (int)length, text + spaces);
        at += word;
        begins = false;
        text += spaces + length;
    }
}

/* Bytes of a word of a shell: quotes hold it together. */
static size_t shell_word_length(const char *text) {
    size_t length = 0;
    for (char quote = 0; text[length] && text[length] != '\n' && (quote || text[length] != ' '); length++) {
        if (quote ? text[length] == quote : text[length] == '\'' || text[length] == '"')
            quote = quote ? 0 : text[length];
    }
    return length;
}

void plim__terminal_commands(FILE *stream, const char *text) {
    plim__terminal terminal = plim__terminal_of(fileno(stream));
    const int end = terminal.width - 2; /* " \" */
    plim__str out = {0};
    for (int at = 0; terminal.is_terminal && *text;) {
        size_t spaces = strspn(text, " "), length = shell_word_length(text + spaces);
        int word = columns_of(text + spaces, length);
        bool last = text[spaces + length] == '\n' || !text[spaces + length];
        if (at > 0 && at + (int)spaces + word > (last ? terminal.width : end)) {
            plim__str_add(&out, " \\\n    ");
            at = 4;
        } else {
            plim__str_addn(&out, text, spaces);
            at += (int)spaces;
        }
        plim__str_addn(&out, text + spaces, length);
        at += word;
        text += spaces + length;
        if (*text == '\n') plim__str_addc(&out, *text++), at = 0;
    }
    fprintf(stream, "%s%s\n", plim__str_text(&out), text);
    plim__str_free(&out);
}

void plim__terminal_line(FILE *stream, const char *format, ...) {
    plim__str text = {0}, out = {0};
    plim__terminal terminal = plim__terminal_of(fileno(stream));
    va_list list;
    va_start(list, format);
    plim__str_vaddf(&text, format, list);
    va_end(list);
    const char *plain = plim__str_text(&text);
    int indent = (int)strspn(plain, " ") + 2;
    if (terminal.is_terminal)
        plim__terminal_wrap(&out, plain, terminal.width, indent < terminal.width / 2 ? indent : 0);
    fprintf(stream, "%s\n", terminal.is_terminal ? plim__str_text(&out) : plain);
    plim__str_free(&text);
    plim__str_free(&out);
}

static void repeat(plim__str *out, const char *text, int count) {
    for (int i = 0; i < count; i++) plim__str_add(out, text);
}

/* --- bars ----------------------------------------------------------------------------------------------------- */

void plim__terminal_bar(plim__str *out, const plim__terminal *terminal, const plim__bar_part *parts, size_t count,
                        double total, int width) {
    plim__bar_add(out, &(plim__canvas){terminal->colour, terminal->unicode, width}, parts, count, total);
}

/* --- series --------------------------------------------------------------------------------------------------- */

enum { MOST_COLUMNS = 512 };

/* The largest value of each column; a column that no sample falls in repeats the last one. Returns the largest of all.
 */
static double resample(const double *x, const double *y, size_t count, int columns, double *peaks) {
    double first = x ? x[0] : 0, last = x ? x[count - 1] : (double)(count - 1), most = 0;
    for (int c = 0; c < columns; c++) peaks[c] = -1;
    for (size_t i = 0; i < count; i++) {
        double share = last > first ? ((x ? x[i] : (double)i) - first) / (last - first) : 0;
        int column = (int)(share * (columns - 1) + 0.5);
        if (column < 0 || column >= columns) continue;
        double value = isfinite(y[i]) && y[i] > 0 ? y[i] : 0;
        if (value > peaks[column]) peaks[column] = value;
        if (value > most) most = value;
    }
    for (int c = 0; c < columns; c++)
        if (peaks[c] < 0) peaks[c] = c ? peaks[c - 1] : 0;
    return most;
}

static const char *eighths(const plim__terminal *terminal, int level) {
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const ascii[] = {" ", ".", ".", ".", ":", ":", ":", "#", "#"};
    if (level < 0) level = 0;
    if (level > 8) level = 8;
    return terminal->unicode ? blocks[level] : ascii[level];
}

void plim__terminal_spark(plim__str *out, const plim__terminal *terminal, const double *values, size_t count,
                          int width) {
    if (count == 0 || width <= 0) return;
    double peaks[MOST_COLUMNS];
    int columns = width > MOST_COLUMNS ? MOST_COLUMNS : width;
    if ((size_t)columns > count) columns = (int)count;
    double most = resample(NULL, values, count, columns, peaks);
    for (int c = 0; c < columns; c++)
        plim__str_add(out, eighths(terminal, most > 0 ? 1 + (int)lround(peaks[c] / most * 7) : 1));
}

void plim__seconds_format(double seconds, char *buffer, size_t size) {
    if (!(seconds >= 0) || seconds > 1e12) seconds = 0;
    long long whole = llround(seconds);
    if (seconds < 10 && seconds != (double)whole)
        snprintf(buffer, size, "%.1f s", seconds);
    else if (whole < 60)
        snprintf(buffer, size, "%lld s", whole);
    else if (whole < 3600 && whole % 60 == 0)
        snprintf(buffer, size, "%lld min", whole / 60);
    else if (whole < 3600)
        snprintf(buffer, size, "%lld min %lld s", whole / 60, whole % 60);
    else if (whole < 48LL * 3600)
        snprintf(buffer, size, "%lld h %lld min", whole / 3600, whole / 60 % 60);
    else
        snprintf(buffer, size, "%lld d %lld h", whole / 86400, whole / 3600 % 24);
}

static void format_bytes(double value, char *buffer, size_t size) {
    char text[PLIM_BYTES_TEXT];
    snprintf(buffer, size, "%s", plim_bytes_format(value < 1.8e19 ? (uint64_t)value : UINT64_MAX, text));
}

/* --- the chart ------------------------------------------------------------------------------------------------ */

typedef struct drawing {
    const plim__terminal *terminal;
    const plim__chart *chart;
    double top; /* the value of the upper edge */
    int rows, columns, margin;
    int limit_row; /* counted from the top; -1 for none */
    double peaks[MOST_COLUMNS];
} drawing;

static void add_label(plim__str *out, const drawing *canvas, double value, const char *axis) {
    char label[64] = "";
    if (value >= 0) {
        if (canvas->chart->format_y)
            canvas->chart->format_y(value, label, sizeof label);
        else
            format_bytes(value, label, sizeof label);
    }
    plim__str_addf(out, "%*s ", canvas->margin, label);
    plim__str_add(out, axis);
}

static void add_row(plim__str *out, const drawing *canvas, int row) {
    const plim__terminal *terminal = canvas->terminal;
    const char *tick = terminal->unicode ? "┤" : "+", *line = terminal->unicode ? "│" : "|";
    double step = canvas->top / canvas->rows, upper = canvas->top - row * step;
    bool labelled = row % 2 == 0, limit = row == canvas->limit_row;
    add_label(out, canvas, limit ? canvas->chart->limit : labelled ? upper : -1, labelled || limit ? tick : line);
    plim__str_add(out, plim__terminal_style(terminal, canvas->chart->style));
    for (int c = 0; c < canvas->columns; c++) {
        double filled = step > 0 ? (canvas->peaks[c] - (upper - step)) / step : 0;
        int level = filled >= 1 ? 8 : filled <= 0 ? 0 : (int)lround(filled * 8);
        if (level == 0 && limit)
            plim__str_add(out, terminal->unicode ? "┄" : "-");
        else
            plim__str_add(out, eighths(terminal, level));
    }
    if (canvas->chart->style != PLIM_STYLE_PLAIN) plim__str_add(out, plim__terminal_style(terminal, PLIM_STYLE_PLAIN));
    if (limit) plim__str_addf(out, " %s", canvas->chart->limit_label ? canvas->chart->limit_label : "limit");
    while (out->length && out->data[out->length - 1] == ' ') out->data[--out->length] = 0;
    plim__str_addc(out, '\n');
}

static void add_axis(plim__str *out, const drawing *canvas) {
    const plim__chart *chart = canvas->chart;
    add_label(out, canvas, 0, canvas->terminal->unicode ? "└" : "+");
    repeat(out, canvas->terminal->unicode ? "─" : "-", canvas->columns);
    char left[64], right[64];
    double first = chart->x ? chart->x[0] : 0,
           last = chart->x ? chart->x[chart->count - 1] : (double)(chart->count - 1);
    void (*format)(double, char *, size_t) = chart->format_x ? chart->format_x : plim__seconds_format;
    format(first, left, sizeof left);
    format(last, right, sizeof right);
    int gap = canvas->columns - (int)plim__terminal_columns(left) - (int)plim__terminal_columns(right);
    plim__str_addf(out, "\n%*s%s%*s%s\n", canvas->margin + 2, "", left, gap > 1 ? gap : 1, "", right);
}

void plim__terminal_chart(plim__str *out, const plim__terminal *terminal, const plim__chart *chart) {
    if (chart->count == 0) return;
    drawing canvas = {
        .terminal = terminal, .chart = chart, .rows = chart->height > 0 ? chart->height : 8, .limit_row = -1};
    if (canvas.rows > 200) canvas.rows = 200;
    int width = chart->width > 0 ? chart->width : terminal->width;
    canvas.margin = 10;
    size_t beside =
        chart->limit > 0 ? 1 + plim__terminal_columns(chart->limit_label ? chart->limit_label : "limit") : 0;
    canvas.columns = width - canvas.margin - 3 - (int)(beside < 60 ? beside : 60);
    if (canvas.columns < 10) canvas.columns = 10;
    if (canvas.columns > MOST_COLUMNS) canvas.columns = MOST_COLUMNS;
    double most = resample(chart->x, chart->y, chart->count, canvas.columns, canvas.peaks);
    canvas.top = chart->limit > most ? chart->limit : most;
    /* a limit far above the series would flatten it */
    if (chart->limit > 4 * most && most > 0) canvas.top = most;
    if (!(canvas.top > 0)) canvas.top = 1;
    if (chart->limit > 0 && chart->limit <= canvas.top)
        canvas.limit_row = (int)fmin(canvas.rows - 1, (canvas.top - chart->limit) / canvas.top * canvas.rows);
    for (int row = 0; row < canvas.rows; row++) add_row(out, &canvas, row);
    add_axis(out, &canvas);
}
