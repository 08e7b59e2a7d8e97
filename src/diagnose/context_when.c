/* A word that asks for a time, and behind it in the same clause a word for what is done then:
 *
 *   when | while | during   up to fourteen words   evaluat- | test | load- | train- ...
 *   in | at                 up to two words     eval | testing | inference ...
 *   after | past | beyond   up to three words   a number   epochs | steps | images | hours
 */
#include "diagnose/context_when.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "diagnose/context_words.h"

enum { REACH = 14, NEAR = 4, LONGEST_LINE = 1200 };

typedef struct clause {
    plim__text words[REACH];
    size_t count;
    const char *rest; /* the end of the line */
} clause;

static bool is_letter(char c) { return isalnum((unsigned char)c) || c == '_' || c == '\'' || c == '-'; }

/* The next word of the clause; false at its end. */
static bool next_word(plim__text *line, plim__text *made) {
    while (line->at < line->end && !is_letter(*line->at)) {
        if (strchr(",;?!", *line->at)) return false;
        bool stop = *line->at == '.' && (line->at + 1 >= line->end || isspace((unsigned char)line->at[1]));
        if (stop) return false;
        line->at++;
    }
    made->at = line->at;
    while (line->at < line->end && is_letter(*line->at)) line->at++;
    made->end = line->at;
    return made->end > made->at;
}

static bool begins(plim__text word, const char *stem) {
    size_t length = strlen(stem);
    return (size_t)(word.end - word.at) >= length && strncasecmp(word.at, stem, length) == 0;
}

static bool is(plim__text word, const char *text) {
    return (size_t)(word.end - word.at) == strlen(text) && begins(word, text);
}

static bool is_any(plim__text word, const char *const *texts, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (is(word, texts[i])) return true;
    return false;
}

/* What a word says is done; PLIM_CONTEXT_COUNT for nothing. */
static plim__context_word done_by(plim__text word) {
    static const struct {
        const char *stem;
        plim__context_word means;
        bool whole;
    } stems[] = {
        {"eval", PLIM_CONTEXT_EVALUATION, true},     {"evaluat", PLIM_CONTEXT_EVALUATION, false},
        {"validat", PLIM_CONTEXT_EVALUATION, false}, {"infer", PLIM_CONTEXT_INFERS, false},
        {"predict", PLIM_CONTEXT_INFERS, false},     {"testing", PLIM_CONTEXT_INFERS, true},
        {"test", PLIM_CONTEXT_INFERS, true},         {"generat", PLIM_CONTEXT_INFERS, false},
        {"upscal", PLIM_CONTEXT_INFERS, false},      {"transcrib", PLIM_CONTEXT_INFERS, false},
        {"decoding", PLIM_CONTEXT_INFERS, true},     {"sampling", PLIM_CONTEXT_INFERS, true},
        {"inpaint", PLIM_CONTEXT_INFERS, false},     {"loading", PLIM_CONTEXT_LOADING, true},
        {"load", PLIM_CONTEXT_LOADING, true},        {"train", PLIM_CONTEXT_TRAINING, false},
        {"finetun", PLIM_CONTEXT_TRAINING, false},   {"fine-tun", PLIM_CONTEXT_TRAINING, false},
        {"fitting", PLIM_CONTEXT_TRAINING, true},
    };
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
        if (stems[i].whole ? is(word, stems[i].stem) : begins(word, stems[i].stem)) return stems[i].means;
    return PLIM_CONTEXT_COUNT;
}

/* Data that is loaded is no model; a data loader neither. */
static bool is_of_data(const clause *c) {
    static const char *const data[] = {"data", "dataset", "datasets", "dataloader", "image", "images",
                                       "csv",  "file",    "files",    "batch",      "video"};
    for (size_t i = 0; i < c->count; i++)
        if (is_any(c->words[i], data, sizeof data / sizeof *data)) return true;
    return false;
}

static bool is_stage(plim__text word) {
    static const char *const stages[] = {"mode", "phase", "stage", "time", "step", "loop"};
    return is_any(word, stages, sizeof stages / sizeof *stages);
}

/* "is there a way to give max_memory when loading?": what is asked for is not what failed. */
static bool is_asked(const clause *c) {
    const char *end = c->count ? c->words[c->count - 1].end : NULL;
    return end && c->rest && end < c->rest && *end == '?';
}

/* "when the first epoch of training is finished and validation starts": what is over is not what is done. */
static bool is_over(const clause *c, size_t at) {
    static const char *const ends[] = {"finish", "end", "complet", "done", "over"};
    for (size_t i = at + 1; i < c->count && i <= at + 3; i++)
        for (size_t k = 0; k < sizeof ends / sizeof *ends; k++)
            if (begins(c->words[i], ends[k])) return true;
    return false;
}

static void read_doing(plim__context *context, const clause *c, size_t reach) {
    for (size_t i = 0; i < c->count && i < reach; i++) {
        plim__context_word means = done_by(c->words[i]);
        if (means == PLIM_CONTEXT_COUNT || is_over(c, i)) continue;
        if (means != PLIM_CONTEXT_LOADING || !(is_of_data(c) || is_asked(c))) plim__context_set(context, means);
        if (means == PLIM_CONTEXT_EVALUATION) plim__context_set(context, PLIM_CONTEXT_SAID_EVALUATED);
        if (means == PLIM_CONTEXT_INFERS) plim__context_set(context, PLIM_CONTEXT_SAID_USED);
        return;
    }
}

/* "in eval() mode", "at the test stage": only what uses the model, for "in training" stands in many a name. */
static void read_use(plim__context *context, const clause *c, size_t reach) {
    for (size_t i = 0; i < c->count && i < reach; i++) {
        plim__context_word means = done_by(c->words[i]);
        if (means != PLIM_CONTEXT_EVALUATION && means != PLIM_CONTEXT_INFERS) continue;
        if (is(c->words[i], "test") && !(i + 1 < c->count && is_stage(c->words[i + 1]))) continue;
        if (begins(c->words[i], "generat") || begins(c->words[i], "upscal")) continue;
        read_doing(context, c, i + 1);
        return;
    }
}

/* "21st", "2", "1.5k": 2 and more. */
static bool is_some(plim__text word) {
    static const char *const several[] = {"some", "several", "few", "many", "couple", "two", "three", "five", "ten"};
    if (is_any(word, several, sizeof several / sizeof *several)) return true;
    if (!isdigit((unsigned char)*word.at)) return false;
    return word.end - word.at > 1 ? !(is(word, "1st") || is(word, "0th")) : *word.at > '1';
}

static bool is_unit(plim__text word) {
    static const char *const units[] = {"epoch", "iter",    "step",  "batch",  "hour",  "minute", "image",
                                        "frame", "sample",  "video", "run",    "call",  "file",   "generation",
                                        "day",   "request", "round", "prompt", "query", "time"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (begins(word, units[i]) && (size_t)(word.end - word.at) <= strlen(units[i]) + 5) return true;
    return false;
}

static void read_later(plim__context *context, const clause *c) {
    for (size_t i = 0; i + 1 < c->count && i < NEAR; i++)
        if (is_some(c->words[i]) && (is_unit(c->words[i + 1]) || (i + 2 < c->count && is_unit(c->words[i + 2])))) {
            plim__context_set(context, PLIM_CONTEXT_LATER);
            return;
        }
}

/* A frame, an assignment or an option speaks of no time. */
static bool is_sentence(plim__text line) {
    while (line.at < line.end && isspace((unsigned char)*line.at)) line.at++;
    size_t length = (size_t)(line.end - line.at);
    if (length < 12 || length > LONGEST_LINE || begins(line, "File ")) return false;
    return !memchr(line.at, '|', length) || length < 200;
}

static void read_line(plim__context *context, plim__text line) {
    static const char *const doing[] = {"when", "while", "whilst", "during", "whenever"};
    static const char *const later[] = {"after", "past", "beyond", "than", "until"};
    static const char *const within[] = {"in", "at"};
    plim__text word;
    while (line.at < line.end) {
        if (!next_word(&line, &word)) {
            line.at += line.at < line.end;
            continue;
        }
        bool does = is_any(word, doing, sizeof doing / sizeof *doing);
        bool waits = is_any(word, later, sizeof later / sizeof *later);
        bool is_within = is_any(word, within, sizeof within / sizeof *within);
        if (!does && !waits && !is_within) continue;
        clause c = {.count = 0, .rest = line.end};
        plim__text rest = line;
        while (c.count < REACH && next_word(&rest, &c.words[c.count])) c.count++;
        if (does)
            read_doing(context, &c, REACH);
        else if (is_within)
            read_use(context, &c, 2);
        else
            read_later(context, &c), read_use(context, &c, 1); /* "after testing 1000 images" */
    }
}

void plim__when_read(plim__context *context, plim__text window) {
    for (const char *at = window.at; at < window.end;) {
        const char *stop = memchr(at, '\n', (size_t)(window.end - at));
        plim__text line = {at, stop ? stop : window.end};
        if (is_sentence(line)) read_line(context, line);
        at = line.end + 1;
    }
}
