/* The report for a terminal: the chart, then a line for each figure worth one. Lines are cut to the width, and
 * names, which come from files, cannot make the terminal do anything. */
#include <string.h>

#include "plimsoll/bytes.h"
#include "report/report.h"
#include "report/text_chart.h"

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

/* --- lines ---------------------------------------------------------------------------------------------------- */

/* Figures are put together in `line`, and go out whole. */
typedef struct writer {
    const plim__timeline *timeline;
    const plim__summary *summary;
    plim__str line, *out;
    size_t width;
} writer;

/* Control characters (of one byte, and the C1 ones of two) are shown as question marks. Returns the bytes used. */
static size_t add_character(plim__str *out, const char *at) {
    unsigned char c = (unsigned char)at[0], next = (unsigned char)at[1];
    bool pair = c == 0xC2 && next >= 0x80 && next < 0xA0;
    plim__str_addc(out, pair || c < 0x20 || c == 0x7F ? '?' : at[0]);
    return pair ? 2 : 1;
}

static bool starts_character(char c) { return ((unsigned char)c & 0xC0) != 0x80; }

static size_t columns_of(const char *text) {
    size_t columns = 0;
    for (; *text; text++) columns += starts_character(*text);
    return columns;
}

static void end_line(writer *w) {
    const char *at = plim__str_text(&w->line);
    bool cut = columns_of(at) > w->width;
    size_t room = cut ? w->width - 3 : w->width;
    for (size_t columns = 0; *at; at += add_character(w->out, at)) {
        columns += starts_character(*at);
        if (columns > room) break;
    }
    plim__str_add(w->out, cut ? "...\n" : "\n");
    w->out->failed |= w->line.failed;
    plim__str_clear(&w->line);
}

static void add_bytes(writer *w, const char *before, uint64_t bytes) {
    char text[PLIM_BYTES_TEXT], exact[PLIM_BYTES_TEXT];
    plim__str_addf(&w->line, "%s%s (%s bytes)", before, plim_bytes_format(bytes, text), plim_bytes_group(bytes, exact));
}

/* --- figures -------------------------------------------------------------------------------------------------- */

/* As many lines as it needs: what is missing must not be cut off too. */
static void add_note(writer *w, const char *text) {
    plim__str_add(&w->line, "note:");
    while (*text) {
        size_t length = strcspn(text, " ");
        if (columns_of(plim__str_text(&w->line)) + 1 + length > w->width) end_line(w);
        plim__str_addf(&w->line, "%s%.*s", w->line.length ? " " : "", (int)length, text);
        text += length + strspn(text + length, " ");
    }
    end_line(w);
}

static void add_head(writer *w) {
    const plim__timeline *timeline = w->timeline;
    plim__str_add(&w->line, plim__timeline_get(timeline, timeline->title));
    for (size_t i = 0; i < timeline->facts.count; i++) {
        const char *name = plim__timeline_get(timeline, timeline->facts.items[i].name);
        const char *value = plim__timeline_get(timeline, timeline->facts.items[i].value);
        size_t used = columns_of(plim__str_text(&w->line));
        if (used && used + 3 + columns_of(name) + columns_of(value) > w->width) end_line(w);
        plim__str_addf(&w->line, "%s%s %s", w->line.length ? "  " : "", name, value);
    }
    if (w->line.length) end_line(w);
    if (timeline->cut) add_note(w, plim__timeline_get(timeline, timeline->cut));
    add_bytes(w, "peak ", w->summary->peak);
    end_line(w);
    plim__str_add(&w->line, "at ");
    plim__str place = {0};
    plim__report_place(timeline, w->summary->peak_tick, &place);
    plim__str_add(&w->line, plim__str_text(&place));
    if (place.length)
        end_line(w);
    else
        plim__str_clear(&w->line);
    plim__str_free(&place);
    if (!timeline->budget) return;
    add_bytes(w, "budget ", timeline->budget);
    end_line(w);
}

static void add_holders(writer *w) {
    const plim__refusal *refusal = &w->summary->refusal;
    const plim__holders *holders = refusal->is_set ? &refusal->holders : &w->summary->holders;
    uint64_t whole = refusal->is_set ? refusal->live : w->summary->peak;
    if (!holders->count || !whole) return;
    char text[PLIM_BYTES_TEXT];
    end_line(w);
    plim__str_addf(&w->line, "largest at the %s (%zu buffers)", refusal->is_set ? "refusal" : "peak", holders->live);
    end_line(w);
    for (size_t i = 0; i < holders->count; i++) {
        const struct plim__holder *holder = &holders->items[i];
        const plim__timeline_life *life = &w->timeline->lives.items[holder->life];
        const plim__timeline_tensor *tensor = &w->timeline->tensors.items[life->tensor];
        plim__str_addf(&w->line, "%11s %5.1f%%  %-10s %s", plim_bytes_format(holder->bytes, text),
                       100 * (double)holder->bytes / (double)whole, plim__kind_word(tensor->kind),
                       plim__timeline_get(w->timeline, tensor->name));
        if (holder->count > 1) plim__str_addf(&w->line, "  %u times", holder->count);
        if (tensor->shape) plim__str_addf(&w->line, "  %s", plim__timeline_get(w->timeline, tensor->shape));
        if (tensor->dtype) plim__str_addf(&w->line, " %s", plim_dtype_name(tensor->dtype));
        end_line(w);
    }
    if (!holders->smaller) return;
    uint64_t rest = whole - holders->bytes;
    plim__str_addf(&w->line, "%11s %5.1f%%  %zu smaller", plim_bytes_format(rest, text),
                   100 * (double)rest / (double)whole, holders->smaller);
    end_line(w);
}

static void add_allocator(writer *w) {
    const plim__allocator_figures *figures = &w->summary->allocator;
    size_t segments = w->timeline->segments.count;
    if (!segments) return;
    end_line(w);
    plim__str_addf(&w->line, "%zu segment%s", segments, segments == 1 ? "" : "s");
    add_bytes(w, ", reserved ", figures->reserved);
    end_line(w);
    add_bytes(w, "in use ", figures->allocated);
    end_line(w);
    add_bytes(w, "cached and unused ", figures->unused);
    end_line(w);
    char text[PLIM_BYTES_TEXT];
    plim__str_addf(&w->line, "largest free run %s, fragmentation %.0f%%%s",
                   plim_bytes_format(figures->largest_free, text), 100 * plim__fragmentation(figures),
                   w->summary->fragmented ? ": the free memory is in pieces" : "");
    end_line(w);
}

static void add_refused(writer *w) {
    enum { SHOWN = 3 };
    size_t count = 0;
    for (size_t i = 0; i < w->timeline->marks.count; i++) count += w->timeline->marks.items[i].type == PLIM__MARK_OOM;
    if (count > SHOWN) {
        plim__str_addf(&w->line, "%zu earlier refusals", count - SHOWN);
        end_line(w);
    }
    for (size_t i = 0; i < w->timeline->marks.count; i++) {
        const plim__timeline_mark *mark = &w->timeline->marks.items[i];
        if (mark->type != PLIM__MARK_OOM || count-- > SHOWN) continue;
        add_bytes(w, "out of memory: refused ", mark->value);
        if (mark->text) plim__str_addf(&w->line, ", %s", plim__timeline_get(w->timeline, mark->text));
        end_line(w);
    }
}

/* The same as `explain` says below its banner. */
static void add_explanation(writer *w) {
    const plim_explanation *x = w->summary->refusal.explanation;
    if (!x) return;
    plim__str_addf(&w->line, "%s.", x->headline);
    end_line(w);
    for (int i = 0; i < x->fix_count; i++) {
        plim__str_addf(&w->line, "  %d. %s: %s", i + 1, x->fixes[i].title, x->fixes[i].setting);
        end_line(w);
    }
}

static void add_comparisons(writer *w) {
    if (!w->timeline->comparisons.count) return;
    end_line(w);
    plim__str_addf(&w->line, "%-28s %20s %20s", "", "planned", "measured");
    end_line(w);
    for (size_t i = 0; i < w->timeline->comparisons.count; i++) {
        const plim__timeline_comparison *row = &w->timeline->comparisons.items[i];
        char planned[PLIM_BYTES_TEXT], measured[PLIM_BYTES_TEXT];
        double off = row->planned ? 100 * ((double)row->measured - (double)row->planned) / (double)row->planned : 0;
        plim__str_addf(&w->line, "%-28s %20s %20s %+8.2f%%", plim__timeline_get(w->timeline, row->what),
                       plim_bytes_group(row->planned, planned), plim_bytes_group(row->measured, measured), off);
        end_line(w);
    }
}

static void add_leaks(writer *w) {
    const plim__loop_figures *loop = &w->summary->loop;
    char text[PLIM_BYTES_TEXT];
    for (size_t i = 0; i < loop->leaks.count && i < PLIM__HOLDERS; i++) {
        const plim__leak *leak = &loop->leaks.items[i];
        const plim__timeline_life *life = &w->timeline->lives.items[leak->example];
        plim__str_addf(&w->line, "%11s a step  %u held, %s", plim_bytes_format((uint64_t)leak->bytes_per_step, text),
                       leak->count, plim__timeline_get(w->timeline, w->timeline->tensors.items[life->tensor].name));
        end_line(w);
        if (!life->stack) continue;
        plim__str_add(&w->line, "             ");
        plim__timeline_stack_text(w->timeline, life->stack, " < ", 4, &w->line);
        end_line(w);
    }
}

static void add_loop(writer *w) {
    const plim__loop_figures *loop = &w->summary->loop;
    char text[PLIM_BYTES_TEXT], more[PLIM_BYTES_TEXT];
    if (loop->steps < PLIM__LOOP_LEAST) return;
    end_line(w);
    plim__str_addf(&w->line, "%u steps%s: ", loop->steps, loop->inferred ? " (found by their rhythm)" : "");
    if (loop->leaks.count)
        plim__str_addf(&w->line, "leaking %s a step", plim_bytes_format((uint64_t)loop->leaked_per_step, text));
    if (loop->fragmenting) plim__str_addf(&w->line, "%sfragmenting", loop->leaks.count ? ", " : "");
    if (!loop->leaks.count && !loop->fragmenting) plim__str_add(&w->line, "nothing grows from step to step");
    end_line(w);
    add_leaks(w);
    if (loop->fragmenting) {
        plim__str_addf(&w->line, "the allocator takes %s more each step, now %s",
                       plim_bytes_format((uint64_t)loop->footprint_per_step, text),
                       plim_bytes_format(loop->footprint, more));
        plim__str_addf(&w->line, " for %s of live buffers", plim_bytes_format(loop->live, text));
        end_line(w);
    }
    if (!loop->runs_out) return;
    plim__str_addf(&w->line, "%s are used up in step %llu", plim_bytes_format(loop->limit, text),
                   (unsigned long long)loop->runs_out);
    end_line(w);
}

void plim__report_text(const plim__timeline *timeline, const plim__summary *summary, const plim__text_options *options,
                       plim__str *out) {
    plim__text_options own = options ? *options : (plim__text_options){.unicode = true};
    if (own.width <= 0) own.width = 80;
    if (own.width < 30) own.width = 30;
    if (own.height <= 0) own.height = 12;
    writer w = {.timeline = timeline, .summary = summary, .out = out, .width = (size_t)own.width};
    add_head(&w);
    if (summary->peak == 0)
        plim__str_add(out, "no buffer was recorded\n");
    else if (!plim__text_chart(timeline, summary, own, out))
        out->failed = true;
    add_holders(&w);
    add_allocator(&w);
    add_refused(&w);
    add_explanation(&w);
    add_comparisons(&w);
    add_loop(&w);
    plim__str_free(&w.line);
}
