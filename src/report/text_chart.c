/* A stacked chart in block characters.
 *
 *   892.1 MiB ┤      ▁▃▅█▆▂            Each column shows the moment of its highest total, so no peak is
 *             │   ▂▅███████▇▄▁         lost; a cell takes the colour of the kind that fills most of it. */
#include <stdio.h>
#include <string.h>

#include "plimsoll/bytes.h"
#include "report/text_chart.h"

typedef struct chart {
    const plim__timeline *timeline;
    const plim__summary *summary;
    plim__text_options options;
    int columns, rows;
    uint32_t *ticks;                       /* the tick each column shows */
    double (*kinds)[PLIM__KIND_COUNT + 1]; /* bytes of each kind at that tick; one row more, where lives end */
    double top;
} chart;

/* The colours of the page, for terminals with 256. */
static const int kind_colours[PLIM__KIND_COUNT] = {25, 166, 175, 36, 214, 74, 245, 250};

static void colour(const chart *c, plim__str *out, int code) {
    if (c->options.colour) plim__str_addf(out, code < 0 ? "\033[0m" : "\033[38;5;%dm", code);
}

/* --- the chart ------------------------------------------------------------------------------------------------ */

/* The first tick of a column. */
static uint32_t column_start(const chart *c, int column) {
    return (uint32_t)((uint64_t)c->timeline->ticks * (uint64_t)column / (uint64_t)c->columns);
}

static void find_columns(chart *c) {
    for (int x = 0; x < c->columns; x++) {
        uint32_t from = column_start(c, x), to = column_start(c, x + 1);
        uint32_t best = from;
        for (uint32_t t = from + 1; t < to; t++)
            if (c->summary->totals[t] > c->summary->totals[best]) best = t;
        c->ticks[x] = best;
    }
}

/* The first column whose tick is not before `tick`. */
static int column_from(const chart *c, uint32_t tick) {
    int low = 0, high = c->columns;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (c->ticks[middle] < tick)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void find_kinds(chart *c) {
    for (size_t i = 0; i < c->timeline->lives.count; i++) {
        const plim__timeline_life *life = &c->timeline->lives.items[i];
        unsigned kind = c->timeline->tensors.items[life->tensor].kind;
        c->kinds[column_from(c, life->born)][kind] += (double)life->bytes;
        c->kinds[column_from(c, life->died)][kind] -= (double)life->bytes;
    }
    for (int x = 1; x < c->columns; x++)
        for (unsigned k = 0; k < PLIM__KIND_COUNT; k++) c->kinds[x][k] += c->kinds[x - 1][k];
}

/* The kind that fills most of the heights low ... high of a column; -1 when nothing does. */
static int kind_between(const chart *c, int x, double low, double high) {
    double at = 0, most = 0;
    int best = -1;
    for (int k = 0; k < PLIM__KIND_COUNT; k++) {
        double next = at + c->kinds[x][k], from = at > low ? at : low, to = next < high ? next : high;
        if (to - from > most) {
            most = to - from;
            best = k;
        }
        at = next;
    }
    return best;
}

static void draw_cell(const chart *c, plim__str *out, int x, int row, int *current) {
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double unit = c->top / c->rows, low = unit * (c->rows - 1 - row), total = (double)c->summary->totals[c->ticks[x]];
    int kind = kind_between(c, x, low, low + unit);
    double filled = (total - low) / unit;
    int eighths = filled <= 0 ? 0 : filled >= 1 ? 8 : (int)(filled * 8 + 0.999);
    double budget = (double)c->timeline->budget;
    bool on_budget = budget > 0 && budget > low && budget <= low + unit;
    int wanted = eighths == 0 ? (on_budget ? 160 : -1) : kind >= 0 ? kind_colours[kind] : -1;
    if (wanted != *current) colour(c, out, *current = wanted);
    if (eighths == 0)
        plim__str_add(out, on_budget ? (c->options.unicode ? "┄" : "-") : " ");
    else
        plim__str_add(out, c->options.unicode ? blocks[eighths] : eighths > 3 ? "#" : ".");
}

static void draw_rows(const chart *c, plim__str *out) {
    char text[PLIM_BYTES_TEXT];
    double unit = c->top / c->rows;
    for (int row = 0; row < c->rows; row++) {
        int current = -1;
        double high = unit * (c->rows - row);
        bool labelled = row % 4 == 0;
        plim__str_addf(out, "%11s %s", labelled ? plim_bytes_format((uint64_t)high, text) : "",
                       c->options.unicode ? (labelled ? "┤" : "│") : "|");
        for (int x = 0; x < c->columns; x++) draw_cell(c, out, x, row, &current);
        if (current != -1) colour(c, out, -1);
        double budget = (double)c->timeline->budget;
        if (budget > high - unit && budget <= high) plim__str_add(out, " budget");
        plim__str_addc(out, '\n');
    }
    plim__str_addf(out, "%11s %s", "0 B", c->options.unicode ? "└" : "+");
    for (int x = 0; x < c->columns; x++) plim__str_add(out, c->options.unicode ? "─" : "-");
    plim__str_addc(out, '\n');
}

static void draw_axis(const chart *c, plim__str *out) {
    char from[48], to[48];
    if (c->timeline->seconds.count) {
        snprintf(from, sizeof from, "0 s");
        snprintf(to, sizeof to, "%.3g s", c->summary->seconds);
    } else {
        snprintf(from, sizeof from, "0");
        snprintf(to, sizeof to, "%u ticks", c->timeline->ticks);
    }
    int gap = c->columns - (int)strlen(from);
    plim__str_addf(out, "%13s%s%*s\n", "", from, gap > 0 ? gap : 0, to);
}

static void draw_legend(const chart *c, plim__str *out) {
    char text[PLIM_BYTES_TEXT];
    int indent = c->options.width < 60 ? 0 : 13, used = 0;
    for (int k = 0; k < PLIM__KIND_COUNT; k++) {
        if (!c->summary->kinds[k]) continue;
        const char *title = plim__kind_title((plim__memory_kind)k);
        plim_bytes_format(c->summary->kinds[k], text);
        int length = (int)(strlen(title) + strlen(text)) + 5;
        bool fresh = used == 0 || used + length > c->options.width;
        if (fresh && used) plim__str_addc(out, '\n');
        if (fresh)
            plim__str_addf(out, "%*s", used = indent, "");
        else
            plim__str_add(out, "  ");
        colour(c, out, kind_colours[k]);
        plim__str_add(out, c->options.unicode ? "■" : "#");
        colour(c, out, -1);
        plim__str_addf(out, " %s %s", title, text);
        used += length;
    }
    plim__str_addc(out, '\n');
}

bool plim__text_chart(const plim__timeline *timeline, const plim__summary *summary, plim__text_options options,
                      plim__str *out) {
    chart c = {.timeline = timeline,
               .summary = summary,
               .options = options,
               .rows = options.height,
               .columns = options.width - 13};
    bool near = timeline->budget && timeline->budget < summary->peak * 4;
    if (near) c.columns -= 7;
    if (c.columns < 8) c.columns = 8;
    c.top = (double)(near && timeline->budget > summary->peak ? timeline->budget : summary->peak);
    c.ticks = plim__alloc_array((size_t)c.columns, sizeof *c.ticks);
    c.kinds = plim__alloc_zero((size_t)c.columns + 1, sizeof *c.kinds);
    bool fine = c.ticks && c.kinds;
    if (fine) {
        find_columns(&c);
        find_kinds(&c);
        draw_rows(&c, out);
        draw_axis(&c, out);
        draw_legend(&c, out);
    }
    plim__free(c.ticks);
    plim__free(c.kinds);
    return fine;
}
