/* Words, versions and settings around a message. The traceback is read in context_trace.c. */
#include "diagnose/context.h"

#include "core/alloc.h"
#include "core/error.h"
#include "diagnose/article.h"
#include "diagnose/context_code.h"
#include "diagnose/context_trace.h"
#include "diagnose/context_tried.h"
#include "diagnose/context_when.h"
#include "diagnose/context_words.h"
#include "diagnose/program_marks.h"
#include "diagnose/spots.h"
#include "diagnose/talk.h"

void plim__context_set(plim__context *context, plim__context_word means) {
    context->words[means / 64] |= (uint64_t)1 << means % 64;
}

bool plim__context_has(const plim__context *context, plim__context_word means) {
    return context->words[means / 64] >> means % 64 & 1;
}

static const plim__word *word_at(size_t index) {
    if (index < plim__word_count) return &plim__words[index];
    index -= plim__word_count;
    return index < plim__said_count ? &plim__said_words[index] : &plim__sense_words[index - plim__said_count];
}

static size_t word_count(void) { return plim__word_count + plim__said_count + plim__sense_count; }

/* The words, behind them those of levers, marks of places, and the phrases of articles. */
static plim_status build_words(plim__scan *scan, plim_error *error) {
    const char *texts[PLIM_WORDS + PLIM_PHRASES];
    size_t phrases = plim__phrase_count(), words = word_count(), spots = words + plim__tried_count, row,
           count = spots + plim__spot_mark_count();
    if (count > PLIM_WORDS || phrases > PLIM_PHRASES)
        return plim__fail(error, PLIM_INTERNAL, "too many words of the context");
    for (size_t i = 0; i < words; i++) texts[i] = word_at(i)->text;
    for (size_t i = 0; i < plim__tried_count; i++) texts[words + i] = plim__tried_words[i].text;
    for (size_t i = spots; i < count; i++) texts[i] = plim__spot_mark(i - spots, &row);
    for (size_t i = 0; i < phrases; i++) texts[count + i] = plim__phrases[i].text;
    return plim__scan_build(scan, texts, count + phrases, error);
}

static plim_status build_programs(plim__context_scan *scan, plim_error *error) {
    const char *texts[PLIM_MARKS];
    scan->marks = plim__alloc(sizeof *scan->marks);
    if (!scan->marks) return plim__fail_memory(error, "the marks of programs", sizeof *scan->marks);
    if (!plim__marks_read(scan->marks)) return plim__fail(error, PLIM_INTERNAL, "too many marks of programs");
    for (size_t i = 0; i < scan->marks->count; i++) texts[i] = scan->marks->texts + scan->marks->items[i].text;
    return plim__scan_build(&scan->programs, texts, scan->marks->count, error);
}

plim_status plim__context_scan_build(plim__context_scan *scan, plim_error *error) {
    PLIM_TRY(build_words(&scan->words, error));
    return build_programs(scan, error);
}

void plim__context_scan_free(plim__context_scan *scan) {
    plim__scan_free(&scan->words);
    plim__scan_free(&scan->programs);
    plim__free(scan->marks);
    scan->marks = NULL;
}

static void read_programs(plim__context *context, const plim__context_scan *scan, plim__text window) {
    size_t size = (size_t)(window.end - window.at), at = 0;
    uint16_t state = 0, found;
    while ((found = plim__scan_next(&scan->programs, window.at, size, &at, &state)))
        for (; found; found = plim__scan_shorter(&scan->programs, found))
            if (plim__scan_word(&scan->programs, found))
                plim__marks_found(scan->marks, plim__scan_word(&scan->programs, found) - 1u, &context->programs,
                                  (plim__text){window.at, window.at + at}, (plim__text){window.at + at, window.end});
}

/* Advice that the framework prints with its message ("try setting ...=expandable_segments:True") is no setting. */
static bool is_printed_advice(plim__text window, const char *at) {
    return plim__has_before(window.at, at, 90, "try setting") || plim__has_before(window.at, at, 90, "try set") ||
           plim__has_before(window.at, at, 30, "try to set");
}

static void read_word(plim__context *context, const plim__word *w, plim__text window, const char *end) {
    plim__text before = {window.at, end}, after = {end, window.end};
    bool setting =
        w->means == PLIM_CONTEXT_EXPANDABLE || w->means == PLIM_CONTEXT_SPLIT_SIZE || w->means == PLIM_CONTEXT_DARKNET;
    if (setting && is_printed_advice(window, end)) return;
    if (w->means != PLIM_CONTEXT_COUNT && !w->decides) plim__context_set(context, w->means);
    plim__tried_read(context, (plim__tried_word){w->text, plim__lever_of_word(w)}, before, after);
    if (w->read) w->read(context, (plim__word_place){before, after, w->means, w->text});
}

static void read_words(plim__context *context, const plim__scan *scan, plim__text window) {
    size_t size = (size_t)(window.end - window.at), at = 0, words = word_count(), spots = words + plim__tried_count,
           count = spots + plim__spot_mark_count();
    uint16_t state = 0, found;
    bool seen[PLIM_PHRASES] = {false};
    while ((found = plim__scan_next(scan, window.at, size, &at, &state)))
        for (; found; found = plim__scan_shorter(scan, found))
            for (uint16_t id = plim__scan_word(scan, found); id; id = scan->same[id - 1]) {
                plim__text before = {window.at, window.at + at}, after = {window.at + at, window.end};
                size_t index = id - 1u;
                if (index < words)
                    read_word(context, word_at(index), window, window.at + at);
                else if (index < spots)
                    plim__tried_read(context, plim__tried_words[index - words], before, after);
                else if (index < count)
                    plim__spot_read(context, index - spots, after);
                else if (!seen[index - count]) { /* a phrase of articles counts once */
                    if (!plim__asks(after)) context->teaching += plim__phrases[index - count].points;
                    seen[index - count] = true;
                }
            }
}

void plim__context_read(plim__context *context, const plim__context_scan *scan, plim__text window, const char *at,
                        const char *end) {
    *context = (plim__context){.is_read = true, .batch = -1, .batch_most = -1, .workers = -1};
    context->place = (plim_place){.line = -1, .epoch = -1, .step = -1, .step_count = -1};
    read_words(context, &scan->words, window);
    read_programs(context, scan, window);
    plim__when_read(context, window);
    plim__code_read(context, window);
    context->person = plim__has_person(window);
    context->teaching += plim__advice_points(window);
    plim__traceback_read(context, window, at, end);
    if (context->phase == PLIM_PHASE_UNKNOWN && plim__context_has(context, PLIM_CONTEXT_STATE))
        context->phase = PLIM_PHASE_OPTIMIZER; /* state is made, and nothing was computed */
    if (context->phase == PLIM_PHASE_BACKWARD || context->phase == PLIM_PHASE_OPTIMIZER)
        plim__context_set(context, PLIM_CONTEXT_TRAINING);
}
