/* Events become incidents: which messages are about one failure, and which failure counts. */
#include "diagnose/reader.h"

#include <stdio.h>
#include <string.h>

#include "diagnose/talk.h"

void plim__reader_init(plim__reader *reader) {
    memset(reader, 0, sizeof *reader);
    reader->created_mb = -1;
}

plim__event plim__event_at(plim__reader *reader, plim__group group, const char *framework, const char *begin) {
    (void)reader;
    return (plim__event){
        .group = group, .strength = PLIM_PLAIN, .framework = framework, .index = -1, .rank = -1, .begin = begin};
}

void plim__event_size(plim__event *event) {
    uint64_t bytes;
    if (event->dtype[0] && plim__dims_bytes(event->shape, event->rank, plim__dtype_item(event->dtype), &bytes))
        event->requested = plim__exact(bytes);
}

plim__text plim__line_at(const plim__reader *reader, const char *at) {
    const char *begin = at, *end = at;
    while (begin > reader->begin && begin[-1] != '\n') begin--;
    while (end < reader->end && *end != '\n') end++;
    return (plim__text){begin, end};
}

bool plim__explains(plim__reader *reader, const char *end) {
    bool explains = plim__is_described((plim__text){end, reader->end});
    reader->described += explains;
    return explains;
}

plim__text plim__text_at(const plim__reader *reader, const char *at) { return (plim__text){at, reader->end}; }

bool plim__before(const plim__reader *reader, const char *at, size_t reach, const char *literal) {
    return plim__has_before(reader->begin, at, reach, literal);
}

/* The words at `at` for people: at most forty characters of one line. */
void plim__note_unread(plim__reader *reader, plim__event *event, plim__text at, const char *what) {
    plim__skip_blank(&at);
    size_t length = 0;
    while (at.at + length < at.end && length < 24 && (unsigned char)at.at[length] >= ' ' &&
           (unsigned char)at.at[length] < 127 && !strchr(",;()", at.at[length]))
        length++;
    bool figures = false;
    for (size_t i = 0; i < length && i < 8; i++) figures |= at.at[i] >= '0' && at.at[i] <= '9';
    if (!figures) return;
    event->facts |= PLIM_FACT_CUT;
    snprintf(reader->unread, sizeof reader->unread, "%s: \"%.*s\" is %s; it was not guessed", what, (int)length, at.at,
             at.at + length >= at.end - 1 ? "cut off" : "not a size as it stands");
}

/* --- does the run go on? -------------------------------------------------------------------------------------- */

/* Four plain words in a row before any bracket, and no keyword in front. */
static bool opens_sentence(plim__text t) {
    static const char *const keywords[] = {"for ",    "if ",  "elif ",  "while ", "return ", "with ",
                                           "assert ", "del ", "yield ", "from ",  "not ",    "import ",
                                           "async ",  "def ", "class ", "else"};
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (plim__take(&(plim__text){t.at, t.end}, keywords[i])) return false;
    int words = 0;
    while (t.at < t.end && words < 4) {
        const char *start = t.at;
        while (t.at < t.end && ((*t.at >= 'a' && *t.at <= 'z') || (*t.at >= 'A' && *t.at <= 'Z'))) t.at++;
        if (t.at == start || t.at >= t.end || *t.at != ' ') return false;
        words++, t.at++;
    }
    return words == 4;
}

/* "f(x": the bracket follows a name; one behind a blank is a sentence's. */
static bool calls(plim__text t) {
    for (const char *c = t.at + 1; c < t.end; c++)
        if (*c == '(' && c[-1] != ' ') return true;
    return false;
}

bool plim__is_code_line(plim__text line) {
    plim__text t = line;
    size_t indent = 0;
    while (t.at < t.end && (*t.at == ' ' || *t.at == '\t')) t.at++, indent++;
    if (plim__take(&t, "File \"")) return true;
    if (indent < 2 || line.end - line.at > 240) return false; /* no statement is that long */
    size_t length = (size_t)(t.end - t.at);
    if (plim__has(t, 6, "raise ") || plim__has(t, 6, "if ") || plim__has(t, 8, "except ")) return true;
    if (plim__has(t, length, "Error:") || plim__has(t, length, "what():") || opens_sentence(t)) return false;
    /* a statement: a call or an assignment, and no sentence */
    return calls(t) || memchr(t.at, '=', (size_t)(t.end - t.at)) || memchr(t.at, '^', (size_t)(t.end - t.at));
}

static bool has_digit(plim__text line) {
    for (const char *c = line.at; c < line.end; c++)
        if (*c >= '0' && *c <= '9') return true;
    return false;
}

/* "[   18.297989] file_mapped 0": what the kernel writes between the parts of its report, names of functions and figures of
 * the group, tells nothing of the run. */
static bool is_kernel_line(plim__text line) {
    plim__text t = line;
    while (t.at < t.end && (*t.at == ' ' || *t.at == '\t')) t.at++;
    if (plim__has(line, 64, " kernel: ")) return true;
    if (t.at == t.end || *t.at++ != '[') return false;
    while (t.at < t.end && *t.at == ' ') t.at++;
    const char *seconds = t.at;
    while (t.at < t.end && *t.at >= '0' && *t.at <= '9') t.at++;
    const char *point = t.at;
    if (point == seconds || t.at == t.end || *t.at++ != '.') return false;
    while (t.at < t.end && *t.at >= '0' && *t.at <= '9') t.at++;
    return t.at - point == 7 && t.at < t.end && *t.at == ']';
}

static bool shows_progress(plim__text line) {
    static const char *const always[] = {"retrying",     "retry with",     "trying again",         "try again with",
                                         "falling back", "reducing batch", "reduce batch size to", "skipping batch",
                                         "resuming"};
    static const char *const with_number[] = {
        "loss",      "epoch",           "it/s",    "eta:",    "map ",       "acc",  "step",
        "iter",      "batch",           "samples", "ms/step", "checkpoint", "val:", "finished",
        "completed", "processing file", "shard",   "tok/s",   "tokens"};
    static const char *const never[] = {"error", "failed", "exception", "traceback", "aborted", "warn", "exit"};
    size_t length = (size_t)(line.end - line.at);
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (plim__has(line, length, always[i])) return true;
    if (!has_digit(line) || plim__is_code_line(line) || is_kernel_line(line)) return false;
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (plim__has(line, length, never[i])) return false;
    for (size_t i = 0; i < sizeof with_number / sizeof *with_number; i++)
        if (plim__has(line, length, with_number[i])) return true;
    return false;
}

bool plim__goes_on(plim__text text) {
    while (text.at < text.end) {
        const char *stop = memchr(text.at, '\n', (size_t)(text.end - text.at));
        plim__text line = {text.at, stop ? stop : text.end};
        if (shows_progress(line)) return true;
        text.at = line.end + 1;
    }
    return false;
}

/* The text between the incident and `until`, which may have left the window or been skipped. */
static bool moved_on_until(plim__reader *reader, const char *until) {
    plim__incident *incident = &reader->incident;
    if (incident->moved_on || reader->gap > incident->end) return true;
    const char *from =
        incident->end > reader->origin ? reader->begin + (incident->end - reader->origin) : reader->begin;
    if (from > reader->end) from = reader->end;
    /* the rest of the message's own line is not what follows */
    while (from < until && *from != '\n') from++;
    return from < until && plim__goes_on((plim__text){from, until});
}

bool plim__reader_moved_on(plim__reader *reader) { return moved_on_until(reader, reader->end); }

void plim__reader_context(plim__reader *reader) {
    plim__incident *incident = &reader->incident;
    if (!incident->is_set || incident->context.is_read || !reader->words) return;
    uint64_t stop = reader->origin + (uint64_t)(reader->end - reader->begin);
    uint64_t first = incident->begin > reader->origin ? incident->begin : reader->origin;
    uint64_t last = incident->end > first ? incident->end : first;
    if (first > stop) first = stop;
    if (last > stop) last = stop;
    plim__context_read(&incident->context, reader->words, (plim__text){reader->begin, reader->end},
                       reader->begin + (first - reader->origin), reader->begin + (last - reader->origin));
}

void plim__reader_slide(plim__reader *reader, const char *begin) {
    plim__incident *incident = &reader->incident;
    uint64_t to = reader->origin + (uint64_t)(begin - reader->begin);
    if (incident->is_set && incident->begin < to) plim__reader_context(reader);
    if (incident->is_set && incident->end < to && moved_on_until(reader, begin)) incident->moved_on = true;
    reader->origin = to;
    reader->begin = begin;
}

/* --- one incident or two? ------------------------------------------------------------------------------------- */

/* Within 1 %, since one may be rounded; within a page, since allocators round up. */
static bool near_amount(plim_amount a, plim_amount b) {
    if (!a.known || !b.known) return true;
    uint64_t low = a.bytes < b.bytes ? a.bytes : b.bytes, high = a.bytes < b.bytes ? b.bytes : a.bytes;
    return high - low <= 512 || (double)(high - low) <= 0.011 * (double)high;
}

static bool compatible(const plim__event *a, const plim__event *b) {
    if (!near_amount(a->requested, b->requested) || !near_amount(a->capacity, b->capacity) ||
        !near_amount(a->allocated, b->allocated) || !near_amount(a->free, b->free) ||
        !near_amount(a->process, b->process) || !near_amount(a->limit, b->limit))
        return false;
    if (a->rank >= 0 && b->rank >= 0 &&
        (a->rank != b->rank || memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) != 0))
        return false;
    return a->index < 0 || b->index < 0 || a->index == b->index;
}

static bool same_group(const plim__event *a, const plim__event *b) {
    return a->group == b->group && (a->group != PLIM_GROUP_RUNTIME || strcmp(a->framework, b->framework) == 0);
}

static bool same_incident(plim__reader *reader, const plim__event *event) {
    plim__incident *incident = &reader->incident;
    const plim__event *facts = &incident->facts;
    if (!incident->is_set || ((facts->facts ^ event->facts) & PLIM_FACT_WARNING)) return false;
    if (facts->group == PLIM_GROUP_WORDS) return true;
    if ((event->facts & PLIM_FACT_DUMP) && incident->dumped) return false;
    if (!same_group(facts, event) && event->group != PLIM_GROUP_HOST && facts->group != PLIM_GROUP_HOST) return false;
    if (moved_on_until(reader, plim__line_at(reader, event->begin).at)) return false;
    if (same_group(facts, event)) {
        if ((facts->facts & PLIM_FACT_DRIVER) && !incident->confirmed) return true; /* its sizes are tries */
        if ((event->facts & PLIM_FACT_DRIVER) && incident->confirmed) return true;
        return compatible(facts, event);
    }
    /* who killed the process, after what failed in it */
    if (event->group == PLIM_GROUP_HOST) return event->strength <= PLIM_HINT;
    return facts->strength <= PLIM_HINT && (event->facts & PLIM_FACT_HOST);
}

static int known_figures(const plim__event *e) {
    return e->requested.known + e->capacity.known + e->allocated.known + e->reserved.known + e->free.known +
           e->limit.known + e->process.known;
}

/* What says less than is known already, without anything in between: an echo, a line that was cut, a name, the shell's
 * word for what the scheduler has told. It does not replace what is known. */
static bool is_echo(plim__reader *reader, const plim__event *event) {
    plim__incident *incident = &reader->incident;
    const plim__event *facts = &incident->facts;
    if (!incident->is_set) return false;
    uint64_t line = reader->origin + (uint64_t)(plim__line_at(reader, event->begin).at - reader->begin);
    if (event->group == PLIM_GROUP_WORDS && !(facts->facts & PLIM_FACT_WARNING))
        return facts->group != PLIM_GROUP_WORDS;
    if (event->strength <= PLIM_WEAK && facts->group != PLIM_GROUP_WORDS && incident->end > line) return true;
    if ((facts->facts & PLIM_FACT_WARNING) || !incident->confirmed) return false;
    bool scheduler = (facts->facts & PLIM_FACT_LIMIT) && facts->group == PLIM_GROUP_HOST;
    if (scheduler && event->strength <= PLIM_WEAK && event->group == PLIM_GROUP_HOST) return true;
    if (moved_on_until(reader, plim__line_at(reader, event->begin).at)) return false;
    if (event->strength <= PLIM_HINT && facts->strength > event->strength && !same_group(facts, event) &&
        event->group != PLIM_GROUP_HOST)
        return true;
    return same_group(facts, event) && !(event->facts & (PLIM_FACT_DUMP | PLIM_FACT_DRIVER)) &&
           known_figures(facts) >= 4 && known_figures(event) <= 1;
}

static void fill(plim_amount *to, plim_amount from) {
    if (!to->known || (from.known && from.exact && !to->exact)) {
        if (from.known) *to = from;
    }
}

static void merge_amounts(plim__event *to, const plim__event *from) {
    fill(&to->requested, from->requested);
    fill(&to->capacity, from->capacity);
    fill(&to->allocated, from->allocated);
    fill(&to->reserved, from->reserved);
    fill(&to->free, from->free);
    fill(&to->process, from->process);
    fill(&to->other, from->other);
    fill(&to->limit, from->limit);
    fill(&to->largest_free, from->largest_free);
    fill(&to->used, from->used);
    fill(&to->missing, from->missing);
    if (to->index < 0) to->index = from->index;
    if (!to->tokens) to->tokens = from->tokens;
    if (to->rank < 0 && from->rank >= 0) {
        to->rank = from->rank;
        memcpy(to->shape, from->shape, sizeof to->shape);
    }
    if (!to->dtype[0]) memcpy(to->dtype, from->dtype, sizeof to->dtype);
    if (!to->op[0]) memcpy(to->op, from->op, sizeof to->op);
}

/* The message in one line, for people. */
static void keep_message(plim__incident *incident, const char *begin, const char *end) {
    size_t length = 0;
    bool blank = false;
    for (const char *c = begin; c < end && length + 2 < sizeof incident->message; c++) {
        if ((unsigned char)*c <= ' ') {
            blank = length > 0;
            continue;
        }
        if (blank) incident->message[length++] = ' ';
        blank = false;
        incident->message[length++] = *c;
    }
    incident->message[length] = 0;
}

static void merge(plim__reader *reader, const plim__event *event) {
    plim__incident *incident = &reader->incident;
    plim__event *facts = &incident->facts;
    /* doubts hold only while nothing better was said */
    plim__facts doubts = (PLIM_FACT_NAME_ONLY | PLIM_FACT_POSSIBLE | PLIM_FACT_SAID) & ~(facts->facts & event->facts);
    bool driver = (event->facts & PLIM_FACT_DRIVER) != 0;
    if (driver && incident->confirmed) return; /* the driver's share of a failure that is already told */
    if (!driver && !incident->confirmed && (facts->facts & PLIM_FACT_DRIVER) &&
        !(event->requested.known && near_amount(facts->requested, event->requested)))
        facts->requested = (plim_amount){0};
    if (driver && facts->requested.known && event->requested.known && event->requested.bytes < facts->requested.bytes)
        facts->facts |= PLIM_FACT_FALLING;
    if ((event->facts & PLIM_FACT_CUT) && !incident->unread[0])
        memcpy(incident->unread, reader->unread, sizeof incident->unread);
    if (event->strength > facts->strength) {
        plim__event stronger = *event;
        merge_amounts(&stronger, facts);
        stronger.facts |= facts->facts;
        if (!stronger.kind) stronger.kind = facts->kind;
        if (!stronger.version) stronger.version = facts->version;
        *facts = stronger;
        keep_message(incident, event->begin, event->end);
    } else {
        merge_amounts(facts, event);
        facts->facts |= event->facts;
        if (!facts->kind) facts->kind = event->kind;
        if (!facts->version) facts->version = event->version;
    }
    facts->facts &= ~doubts;
}

void plim__report(plim__reader *reader, plim__event *event, const char *end) {
    plim__incident *incident = &reader->incident;
    event->end = end;
    if (plim__in_diff((plim__text){reader->begin, reader->end}, plim__line_at(reader, event->begin))) return;
    bool warning = (event->facts & PLIM_FACT_WARNING) != 0;
    /* nothing that did not fail replaces something that did */
    bool doubtful = (incident->facts.facts & PLIM_FACT_SAID) && incident->facts.group == PLIM_GROUP_HOST;
    if (warning && incident->is_set && !doubtful && !(incident->facts.facts & PLIM_FACT_WARNING)) return;
    uint64_t position = reader->origin + (uint64_t)(end - reader->begin);
    uint64_t first = reader->origin + (uint64_t)(event->begin > reader->begin ? event->begin - reader->begin : 0);
    if (is_echo(reader, event)) {
        if (position > incident->end) incident->end = position;
        return;
    }
    bool words_before = incident->is_set && incident->facts.group == PLIM_GROUP_WORDS;
    if (words_before && event->group != PLIM_GROUP_WORDS) {
        incident->is_set = false; /* words about it, then the message itself */
        reader->failures -= reader->failures > 0;
    }
    if (incident->is_set && same_incident(reader, event)) {
        bool stronger = event->strength > incident->facts.strength;
        merge(reader, event);
        if (stronger) incident->begin = first;
    } else {
        memset(incident, 0, sizeof *incident);
        incident->begin = first;
        incident->is_set = true;
        incident->facts = *event;
        keep_message(incident, event->begin, end);
        if (!warning) reader->failures++;
        reader->engine_done = false;
        if (event->facts & PLIM_FACT_CUT) memcpy(incident->unread, reader->unread, sizeof incident->unread);
    }
    if (event->facts & PLIM_FACT_DRIVER) incident->driver_count++;
    if (event->facts & PLIM_FACT_DUMP) incident->dumped = true;
    if (!(event->facts & (PLIM_FACT_DRIVER | PLIM_FACT_TACTIC | PLIM_FACT_WARNING | PLIM_FACT_DUMP)))
        incident->confirmed = true;
    if (position > incident->end) incident->end = position;
}
