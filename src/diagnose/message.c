/* Messages as rows: matching a sentence. */
#include "diagnose/message.h"

#include <stdio.h>
#include <string.h>

enum { SKIP = 160, HEAD_REACH = 240 };

static const struct {
    const char *name;
    size_t offset;
} figures[] = {
    {"requested", offsetof(plim__event, requested)},
    {"capacity", offsetof(plim__event, capacity)},
    {"allocated", offsetof(plim__event, allocated)},
    {"reserved", offsetof(plim__event, reserved)},
    {"free", offsetof(plim__event, free)},
    {"process", offsetof(plim__event, process)},
    {"other", offsetof(plim__event, other)},
    {"limit", offsetof(plim__event, limit)},
    {"largest", offsetof(plim__event, largest_free)},
    {"used", offsetof(plim__event, used)},
    {"missing", offsetof(plim__event, missing)},
};

static plim_amount *figure(plim__event *event, const char *name, size_t length) {
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (strlen(figures[i].name) == length && memcmp(name, figures[i].name, length) == 0)
            return (plim_amount *)(void *)((char *)event + figures[i].offset);
    return NULL;
}

static bool take_word(plim__text *t) {
    const char *begin = t->at;
    while (t->at < t->end && (unsigned char)*t->at > ' ' && !strchr(",;()[]\"'", *t->at)) t->at++;
    return t->at > begin;
}

/* What stands between angle brackets, `name` to `close`. */
static bool take_figure(plim__text *t, plim__event *event, const char *name, const char *close) {
    const char *blank = memchr(name, ' ', (size_t)(close - name));
    size_t length = (size_t)((blank ? blank : close) - name);
    plim_amount amount = {0};
    int64_t number;
    if (length == 1 && *name == 'n') return plim__take(t, "%f");
    if (length == 4 && memcmp(name, "word", 4) == 0) return take_word(t);
    if (length == 5 && memcmp(name, "index", 5) == 0) {
        if (!plim__take(t, "%i", &number)) return false;
        event->index = number;
        return true;
    }
    if (length == 6 && memcmp(name, "tokens", 6) == 0) {
        if (!plim__take(t, "%i", &number)) return false;
        event->tokens = number;
        return true;
    }
    const char *unit = blank ? blank + 1 : NULL;
    plim__text whole = *t;
    bool taken;
    /* the word "bytes" belongs to the sentence */
    if (!unit && plim__take(&whole, "%n", &amount) && plim__take(&(plim__text){whole.at, whole.end}, " byte"))
        *t = whole, taken = true;
    else if (!unit)
        taken = plim__take(t, "%N", &amount);
    else
        taken = plim__take(t, unit[0] == 'G' ? "%g" : unit[0] == 'M' ? "%m" : "%n", &amount);
    if (!taken) return false;
    if (unit && unit[0] == 'K' && amount.known) amount = plim__rounded((double)amount.bytes * 1024.0);
    plim_amount *to = figure(event, name, length);
    if (to && amount.known) *to = amount;
    return true;
}

static const char *closing(const char *p, char open, char close) {
    int depth = 0;
    for (; *p; p++) {
        if (*p == '\\' && p[1])
            p++;
        else if (*p == open)
            depth++;
        else if (*p == close && --depth == 0)
            return p;
    }
    return p;
}

static char fold(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* Matches [p, stop) at the cursor. */
static bool match(plim__text *text, plim__event *event, const char *p, const char *stop) {
    plim__text t = *text;
    for (; p < stop; p++) {
        if (*p == ' ') {
            plim__skip_blank(&t);
        } else if (*p == '[') {
            const char *close = closing(p, '[', ']');
            plim__text inner = t;
            plim__event trial = *event;
            if (match(&inner, &trial, p + 1, close)) t = inner, *event = trial;
            p = close;
        } else if (*p == '<' && strncmp(p, "<...>", 5) == 0) {
            p += 5;
            for (size_t i = 0; i < SKIP && t.at + i <= t.end; i++) {
                plim__text rest = {t.at + i, t.end};
                plim__event trial = *event;
                if (!match(&rest, &trial, p, stop)) continue;
                *event = trial;
                *text = rest;
                return true;
            }
            return false;
        } else if (*p == '<') {
            const char *close = closing(p, '<', '>');
            if (!take_figure(&t, event, p + 1, close)) return false;
            p = close;
        } else {
            if (*p == '\\' && p + 1 < stop) p++;
            plim__step_over_wrap(&t, *p);
            if (t.at >= t.end || fold(*t.at) != fold(*p)) return false;
            t.at++;
            if (*p == '-') plim__skip_blank(&t);
        }
    }
    *text = t;
    return true;
}

/* What stands before the trigger must end there; the nearest beginning counts. */
static bool match_head(plim__reader *reader, plim__event *event, const char *head, const char *stop,
                       const char *start) {
    bool open = stop - head > 5 && memcmp(stop - 5, "<...>", 5) == 0; /* up to the trigger */
    if (open) stop -= 5;
    for (const char *at = start; at > reader->begin && start - at < HEAD_REACH;) {
        at--;
        bool inside = at > reader->begin && *at >= '0' && *at <= '9' &&
                      ((at[-1] >= '0' && at[-1] <= '9') || at[-1] == '.' || at[-1] == ',');
        if (inside) continue;
        plim__text t = {at, start};
        plim__event trial = *event;
        if (!match(&t, &trial, head, stop)) continue;
        plim__skip_blank(&t);
        if (t.at != start && !(open && start - t.at <= SKIP)) continue;
        *event = trial;
        return true;
    }
    return false;
}

bool plim__message_trigger(const plim__message *message, char *trigger, size_t size) {
    const char *open = strchr(message->sentence, '{'), *close = open ? strchr(open, '}') : NULL;
    size_t length = 0;
    for (const char *c = open; close && ++c < close;) {
        if (*c == ' ') continue;
        if (length + 1 >= size) return false;
        trigger[length++] = *c;
    }
    trigger[length] = 0;
    return length > 0;
}

void plim__message_parse(plim__reader *reader, const plim__message *message, const char *start, const char *end) {
    plim__text line = plim__line_at(reader, start), t = plim__text_at(reader, end);
    if (plim__is_code_line(line)) return;
    bool host = message->kind && strcmp(message->kind, "host") == 0;
    plim__event event =
        plim__event_at(reader, host ? PLIM_GROUP_HOST : PLIM_GROUP_RUNTIME, message->framework, line.at);
    if (strcmp(message->framework, "pytorch") == 0 || strcmp(message->framework, "tensorflow") == 0)
        event.group = message->framework[0] == 'p' ? PLIM_GROUP_TORCH : PLIM_GROUP_XLA;
    event.kind = message->kind;
    event.facts = message->facts;
    event.strength = message->strength ? message->strength : PLIM_STRONG;
    const char *open = strchr(message->sentence, '{'), *close = strchr(message->sentence, '}');
    if (open > message->sentence && !match_head(reader, &event, message->sentence, open, start)) return;
    if (!match(&t, &event, close + 1, close + strlen(close))) return;
    /* ggml names the buffer's kind in front */
    if (strcmp(event.framework, "llama.cpp") == 0 && plim__has(line, 400, "_cpu_buffer_type_")) {
        event.kind = "host";
        event.facts |= PLIM_FACT_HOST;
        event.strength = PLIM_STRONG;
    }
    /* jaxlib is built with TensorFlow's runtime inside */
    if (strcmp(event.framework, "tensorflow") == 0 && plim__has(line, 400, "org_tensorflow")) event.framework = "jax";
    bool measured = event.requested.known || event.limit.known || event.process.known || event.free.known;
    if (!measured && plim__explains(reader, t.at)) return;
    plim__report(reader, &event, t.at);
}
