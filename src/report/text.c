/* The report for a terminal: a stacked chart in block characters, and the figures below it.
 *
 *   892.1 MiB ┤      ▁▃▅█▆▂            Each column shows the moment of its highest total, so no peak is
 *             │   ▂▅███████▇▄▁         lost; a cell takes the colour of the kind that fills most of it. */
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "plimsoll/bytes.h"
#include "report/report.h"

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

void plim__report_place(const plim__timeline *timeline, uint32_t tick, plim__str *out) {
    const plim__timeline_mark *step = plim__timeline_mark_at(timeline, PLIM__MARK_STEP, tick);
    const plim__timeline_mark *phase = plim__timeline_mark_at(timeline, PLIM__MARK_PHASE, tick);
    const plim__timeline_mark *operation = plim__timeline_mark_at(timeline, PLIM__MARK_OPERATOR, tick);
    if (step) plim__str_addf(out, "step %llu", (unsigned long long)step->value);
    const char *word =
        phase && (!step || phase->tick >= step->tick) ? plim__phase_word((plim__memory_phase)phase->value) : "";
    if (*word) plim__str_addf(out, "%s%s", out->length ? ", " : "", word);
    if (operation && (!step || operation->tick >= step->tick))
        plim__str_addf(out, "%s%s", out->length ? ", " : "", plim__timeline_get(timeline, operation->text));
}

static void colour(const chart *c, plim__str *out, int code) {
    if (c->options.colour) plim__str_addf(out, code < 0 ? "\033[0m" : "\033[38;5;%dm", code);
}

/* --- the chart -------------------------------------------------------------------------------------- */

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
    plim__str_addf(out, "%13s", "");
    int used = 13;
    for (int k = 0; k < PLIM__KIND_COUNT; k++) {
        if (!c->summary->kinds[k]) continue;
        const char *title = plim__kind_title((plim__memory_kind)k);
        plim_bytes_format(c->summary->kinds[k], text);
        int length = (int)(strlen(title) + strlen(text)) + 5;
        if (used + length > c->options.width && used > 13) {
            plim__str_addf(out, "\n%13s", "");
            used = 13;
        }
        colour(c, out, kind_colours[k]);
        plim__str_add(out, c->options.unicode ? "■" : "#");
        colour(c, out, -1);
        plim__str_addf(out, " %s %s  ", title, text);
        used += length;
    }
    plim__str_addc(out, '\n');
}

static bool draw_chart(const plim__timeline *timeline, const plim__summary *summary, plim__text_options options,
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

/* --- the figures ------------------------------------------------------------------------------------ */

static void add_bytes(plim__str *out, const char *before, uint64_t bytes) {
    char text[PLIM_BYTES_TEXT], exact[PLIM_BYTES_TEXT];
    plim__str_addf(out, "%s%s (%s bytes)", before, plim_bytes_format(bytes, text), plim_bytes_group(bytes, exact));
}

static void add_head(const plim__timeline *timeline, const plim__summary *summary, plim__str *out) {
    const char *title = plim__timeline_get(timeline, timeline->title);
    if (*title) plim__str_addf(out, "%s  ", title);
    for (size_t i = 0; i < timeline->facts.count; i++)
        plim__str_addf(out, "%s %s  ", plim__timeline_get(timeline, timeline->facts.items[i].name),
                       plim__timeline_get(timeline, timeline->facts.items[i].value));
    if (*title || timeline->facts.count) plim__str_addc(out, '\n');
    if (timeline->cut) plim__str_addf(out, "note: %s\n", plim__timeline_get(timeline, timeline->cut));
    add_bytes(out, "peak ", summary->peak);
    plim__str place = {0};
    plim__report_place(timeline, summary->peak_tick, &place);
    if (place.length) plim__str_addf(out, " at %s", place.data);
    plim__str_free(&place);
    if (timeline->budget) add_bytes(out, "; budget ", timeline->budget);
    plim__str_addc(out, '\n');
}

static void add_stack(const plim__timeline *timeline, uint32_t stack, plim__str *out) {
    if (!stack) return;
    plim__str_add(out, "  ");
    plim__timeline_stack_text(timeline, stack, " < ", 3, out);
}

static void add_holders(const plim__timeline *timeline, const plim__summary *summary, plim__str *out) {
    if (!summary->holder_count) return;
    char text[PLIM_BYTES_TEXT];
    plim__str_addf(out, "\nlargest at the peak (%zu buffers)\n", summary->live_at_peak);
    for (size_t i = 0; i < summary->holder_count; i++) {
        const plim__timeline_life *life = &timeline->lives.items[summary->holders[i]];
        const plim__timeline_tensor *tensor = &timeline->tensors.items[life->tensor];
        plim__str_addf(out, "%11s %5.1f%%  %-10s %s", plim_bytes_format(life->bytes, text),
                       100 * (double)life->bytes / (double)summary->peak, plim__kind_word(tensor->kind),
                       plim__timeline_get(timeline, tensor->name));
        if (tensor->shape) plim__str_addf(out, "  %s", plim__timeline_get(timeline, tensor->shape));
        if (tensor->dtype) plim__str_addf(out, " %s", plim_dtype_name(tensor->dtype));
        plim__str_addc(out, '\n');
    }
    if (summary->live_at_peak > summary->holder_count)
        plim__str_addf(out, "%11s %5.1f%%  %zu smaller\n",
                       plim_bytes_format(summary->peak - summary->holder_bytes, text),
                       100 * (double)(summary->peak - summary->holder_bytes) / (double)summary->peak,
                       summary->live_at_peak - summary->holder_count);
}

static void add_allocator(const plim__timeline *timeline, const plim__summary *summary, plim__str *out) {
    const plim__allocator_figures *figures = &summary->allocator;
    if (!timeline->segments.count) return;
    plim__str_addf(out, "\n%zu segment%s", timeline->segments.count, timeline->segments.count == 1 ? "" : "s");
    add_bytes(out, ": reserved ", figures->reserved);
    add_bytes(out, ", in use ", figures->allocated);
    add_bytes(out, ", cached and unused ", figures->unused);
    char text[PLIM_BYTES_TEXT];
    plim__str_addf(out, "\nlargest free run %s, fragmentation %.0f%%%s\n",
                   plim_bytes_format(figures->largest_free, text), 100 * plim__fragmentation(figures),
                   summary->fragmented ? ": the free memory is in pieces" : "");
}

static void add_refused(const plim__timeline *timeline, plim__str *out) {
    for (size_t i = 0; i < timeline->marks.count; i++) {
        const plim__timeline_mark *mark = &timeline->marks.items[i];
        if (mark->type != PLIM__MARK_OOM) continue;
        add_bytes(out, "out of memory: refused ", mark->value);
        plim__str_addf(out, " at tick %u%s%s\n", mark->tick, mark->text ? ", " : "",
                       plim__timeline_get(timeline, mark->text));
    }
}

static void add_loop(const plim__timeline *timeline, const plim__summary *summary, plim__str *out) {
    const plim__loop_figures *loop = &summary->loop;
    char text[PLIM_BYTES_TEXT];
    if (loop->steps < PLIM__LOOP_LEAST) return;
    plim__str_addf(out, "\n%u steps%s: ", loop->steps, loop->inferred ? " (found by their rhythm)" : "");
    if (!loop->leaks.count && !loop->fragmenting) plim__str_add(out, "nothing grows from step to step\n");
    if (loop->leaks.count)
        plim__str_addf(out, "leaking %s a step\n", plim_bytes_format((uint64_t)loop->leaked_per_step, text));
    for (size_t i = 0; i < loop->leaks.count && i < PLIM__HOLDERS; i++) {
        const plim__leak *leak = &loop->leaks.items[i];
        const plim__timeline_life *life = &timeline->lives.items[leak->example];
        plim__str_addf(out, "%11s a step  %u held, %s", plim_bytes_format((uint64_t)leak->bytes_per_step, text),
                       leak->count, plim__timeline_get(timeline, timeline->tensors.items[life->tensor].name));
        add_stack(timeline, life->stack, out);
        plim__str_addc(out, '\n');
    }
    if (loop->fragmenting) {
        plim__str_addf(out, "fragmenting: the allocator takes %s more each step",
                       plim_bytes_format((uint64_t)loop->footprint_per_step, text));
        plim__str_addf(out, ", now %s", plim_bytes_format(loop->footprint, text));
        plim__str_addf(out, " for %s of live buffers\n", plim_bytes_format(loop->live, text));
    }
    if (loop->runs_out)
        plim__str_addf(out, "%s are used up in step %llu\n", plim_bytes_format(loop->limit, text),
                       (unsigned long long)loop->runs_out);
}

static void add_comparisons(const plim__timeline *timeline, plim__str *out) {
    if (!timeline->comparisons.count) return;
    plim__str_addf(out, "\n%-28s %20s %20s %9s\n", "", "planned", "measured", "");
    for (size_t i = 0; i < timeline->comparisons.count; i++) {
        const plim__timeline_comparison *row = &timeline->comparisons.items[i];
        char planned[PLIM_BYTES_TEXT], measured[PLIM_BYTES_TEXT];
        double off = row->planned ? 100 * ((double)row->measured - (double)row->planned) / (double)row->planned : 0;
        plim__str_addf(out, "%-28s %20s %20s %+8.2f%%\n", plim__timeline_get(timeline, row->what),
                       plim_bytes_group(row->planned, planned), plim_bytes_group(row->measured, measured), off);
    }
}

void plim__report_text(const plim__timeline *timeline, const plim__summary *summary, const plim__text_options *options,
                       plim__str *out) {
    plim__text_options own = options ? *options : (plim__text_options){.unicode = true};
    if (own.width <= 0) own.width = 80;
    if (own.height <= 0) own.height = 12;
    add_head(timeline, summary, out);
    if (summary->peak == 0)
        plim__str_add(out, "no buffer was recorded\n");
    else if (!draw_chart(timeline, summary, own, out))
        out->failed = true;
    add_holders(timeline, summary, out);
    add_allocator(timeline, summary, out);
    add_refused(timeline, out);
    add_comparisons(timeline, out);
    add_loop(timeline, summary, out);
}
