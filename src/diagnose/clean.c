/* From the bytes of a log to text that a reader can match. */
#include "diagnose/clean.h"

#include <string.h>

#include "diagnose/text.h"

enum { WRAP = 80, CUT_BLANKS = 50 };

/* Counted only where it decides whether a line is exactly WRAP long. */
static size_t characters(const char *text, size_t length) {
    size_t count = 0;
    if (length < WRAP || length > 4 * WRAP + 64) return length;
    for (size_t i = 0; i < length; i++) count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

/* Length of the escape sequence at `text`, which begins with ESC. */
static size_t escape_length(const char *text, size_t length) {
    if (length < 2) return 1;
    size_t i = 2;
    if (text[1] == '[') { /* CSI: parameters, then one final byte */
        while (i < length && (unsigned char)text[i] >= 0x20 && (unsigned char)text[i] < 0x40) i++;
        return i < length ? i + 1 : i;
    }
    if (text[1] == ']') { /* OSC: up to BEL or ESC \ */
        while (i < length && text[i] != '\a' && text[i] != 0x1B) i++;
        if (i < length && text[i] == 0x1B && i + 1 < length && text[i + 1] == '\\') i++;
        return i < length ? i + 1 : i;
    }
    return 2;
}

/* The same for colour codes that lost their ESC byte or had it printed: "^[[31m", "\x1b[0m", "\u001b[0m". */
static size_t printed_escape_length(const char *text, size_t length) {
    static const char *const spellings[] = {"^[[", "\\x1b[", "\\u001b[", "\\033[", "\\e["};
    for (size_t k = 0; k < sizeof spellings / sizeof *spellings; k++) {
        size_t head = strlen(spellings[k]), i = head;
        if (length <= head || strncasecmp(text, spellings[k], head) != 0) continue;
        while (i < length && ((text[i] >= '0' && text[i] <= '9') || text[i] == ';')) i++;
        if (i < length && strchr("mKJH", text[i])) return i + 1;
    }
    return 0;
}

static void strip_escapes(plim__str *out, const char *line, size_t length) {
    plim__str_clear(out);
    size_t start = 0;
    for (size_t i = 0; i < length;) {
        size_t skip = 0;
        if (line[i] == 0x1B)
            skip = escape_length(line + i, length - i);
        else if (line[i] == '^' || line[i] == '\\')
            skip = printed_escape_length(line + i, length - i);
        if (!skip) {
            i++;
            continue;
        }
        plim__str_addn(out, line + start, i - start);
        start = i += skip;
    }
    plim__str_addn(out, line + start, length - start);
}

/* --- prefixes ------------------------------------------------------------------------------------------------- */

static bool word_char(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' ||
           c == '.';
}

static bool take_level(plim__text *t) {
    static const char *const levels[] = {"ERROR", "WARNING", "WARN", "INFO", "DEBUG", "CRITICAL", "FATAL"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        size_t length = strlen(levels[i]);
        if ((size_t)(t->end - t->at) > length && memcmp(t->at, levels[i], length) == 0 && !word_char(t->at[length])) {
            t->at += length;
            return true;
        }
    }
    return false;
}

/* "2024-01-02T03:04:05.678Z ", "2024-01-02 03:04:05,678 ERROR name: ", "[2024-...] " */
static bool take_time(plim__text *text) {
    plim__text t = *text;
    int64_t n;
    bool bracket = plim__take(&t, "[");
    if (!plim__take(&t, "%i-%i-%i", &n, &n, &n)) return false;
    if (!plim__take(&t, "T") && !plim__take(&t, " ")) return false;
    if (!plim__take(&t, "%i:%i:%i", &n, &n, &n)) return false;
    if (!plim__take(&t, ",%i", &n)) plim__take(&t, ".%i", &n);
    if (!plim__take(&t, "Z") && !plim__take(&t, "+%i:%i", &n, &n)) plim__take(&t, "+%i", &n);
    if (bracket && !plim__take(&t, "]")) return false;
    plim__take(&t, ":");
    plim__take(&t, " ");
    plim__text level = t;
    if (take_level(&level)) { /* "ERROR name: " */
        plim__skip_blank(&level);
        const char *name = level.at;
        while (level.at < level.end && word_char(*level.at)) level.at++;
        if (level.at > name && level.at < level.end && *level.at == ':')
            level.at++;
        else
            level.at = name;
        plim__skip_blank(&level);
        t = level;
    }
    *text = t;
    return true;
}

/* "service-1  | " */
static bool take_service(plim__text *text) {
    plim__text t = *text;
    while (t.at < t.end && word_char(*t.at)) t.at++;
    const char *word = t.at;
    if (word == text->at) return false;
    while (t.at < t.end && *t.at == ' ') t.at++;
    if (t.at == word || t.at + 1 >= t.end || t.at[0] != '|' || t.at[1] != ' ') return false;
    t.at += 2;
    *text = t;
    return true;
}

/* "(Worker pid=1) ", "(Worker_TP0 pid=1, ip=1.2.3.4) " */
static bool take_worker(plim__text *text) {
    if (*text->at != '(') return false;
    const char *close = memchr(text->at, ')', (size_t)(text->end - text->at));
    if (!close || !plim__has((plim__text){text->at, close}, 64, "pid=")) return false;
    text->at = close + 1;
    while (text->at < text->end && *text->at == ' ') text->at++;
    return true;
}

static bool take_one_prefix(plim__text *t) {
    static const char *const stamps[] = {
        "[rank%i]: ", "[rank%i] ", "[default%i]:", "[%i,%i]<stderr>: ", "[%i,%i]<stdout>: ", "[%i]<stderr>: ",
    };
    int64_t a, b;
    char first = *t->at;
    bool number = first >= '0' && first <= '9';
    if (first == '[')
        for (size_t i = 0; i < sizeof stamps / sizeof *stamps; i++)
            if (plim__take(t, stamps[i], &a, &b)) return true;
    if (first == '>' && t->end - t->at > 1 && t->at[1] == ' ') { /* quoted in a mail or in Markdown */
        t->at += 2;
        return true;
    }
    plim__text s = *t;
    if (number && plim__take(&s, "%i", &a) && a < 100000 && s.end - s.at > 1 && s.at[0] == ':' && s.at[1] == ' ') {
        t->at = s.at + 2;
        return true;
    }
    if (take_worker(t) || ((number || first == '[') && take_time(t)) || take_service(t)) return true;
    if (first < 'A' || first > 'Z') return false;
    s = *t;
    if (take_level(&s)) { /* "ERROR: ", "ERROR 01-02 03:04:05 [x.py:1] " */
        if (plim__take(&s, " %i-%i %i:%i:%i [", &a, &a, &a, &a, &a)) {
            const char *close = memchr(s.at, ']', (size_t)(s.end - s.at));
            if (close) {
                s.at = close + 1;
                if (s.at < s.end && *s.at == ' ') s.at++;
                return *t = s, true;
            }
        } else if (s.end - s.at > 1 && s.at[0] == ':' && s.at[1] == ' ') {
            s.at += 2;
            return *t = s, true;
        }
    }
    return false;
}

size_t plim__clean_prefix(const char *line, size_t length) {
    plim__text t = {line, line + length};
    if (length && *line == '\t') t.at++;
    for (int round = 0; round < 4 && t.at < t.end; round++)
        if (!take_one_prefix(&t)) break;
    /* one blank belongs to the prefix, the others are the line's own */
    while (t.at - line > 1 && t.at[-1] == ' ' && t.at[-2] == ' ') t.at--;
    if (t.at - line > 1 && t.at[-1] == ' ' && t.at[-2] == '\t') t.at--;
    return (size_t)(t.at - line);
}

/* --- lines ---------------------------------------------------------------------------------------------------- */

/* A message inside a JSON string or a key="value" log. */
static bool looks_escaped(const char *text, size_t length) {
    return memchr(text, '\\', length) && (memmem(text, length, "\":", 2) || memmem(text, length, "=\"", 2) ||
                                          memmem(text, length, "{\"", 2) || memmem(text, length, "\" :", 3));
}

static int hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* "\\u00f6" as UTF-8; false when it is not four hexadecimal digits. */
static bool add_unicode(plim__str *out, const char *digits, size_t left) {
    unsigned code = 0;
    if (left < 4) return false;
    for (int i = 0; i < 4; i++) {
        if (hex(digits[i]) < 0) return false;
        code = code * 16 + (unsigned)hex(digits[i]);
    }
    if (code < 0x80)
        plim__str_addc(out, (char)(code < ' ' ? ' ' : code));
    else if (code < 0x800)
        plim__str_addc(out, (char)(0xC0 | code >> 6)), plim__str_addc(out, (char)(0x80 | (code & 0x3F)));
    else {
        plim__str_addc(out, (char)(0xE0 | code >> 12));
        plim__str_addc(out, (char)(0x80 | (code >> 6 & 0x3F)));
        plim__str_addc(out, (char)(0x80 | (code & 0x3F)));
    }
    return true;
}

/* Whether a line may need more than copying: a run of CUT_BLANKS covers two neighbours of this grid. */
static bool needs_work(const char *text, size_t length) {
    if (memchr(text, '\r', length) || memchr(text, 0, length) || memchr(text, '\\', length) ||
        memchr(text, '&', length) || memmem(text, length, "</", 2))
        return true;
    size_t step = CUT_BLANKS / 2;
    for (size_t i = step; i + step <= length; i += step)
        if (text[i] <= ' ' && text[i - step] <= ' ') return true;
    return false;
}

/* "&nbsp;", "&gt;": a page's way to write a character; 0 for none. */
static char take_entity(const char *text, size_t length, size_t *used) {
    static const struct {
        const char *name;
        char is;
    } entities[] = {{"&nbsp;", ' '}, {"&gt;", '>'}, {"&lt;", '<'}, {"&quot;", '"'}, {"&#39;", '\''}, {"&amp;", '&'}};
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
        size_t name = strlen(entities[i].name);
        if (length >= name && memcmp(text, entities[i].name, name) == 0) return *used = name, entities[i].is;
    }
    return 0;
}

/* "<b>", "</span>": marks of a page that may stand inside of a figure. A line that has none closed is no page. */
static size_t tag_length(const char *text, size_t length) {
    static const char *const names[] = {"b", "i", "em", "strong", "span", "code", "font", "mark", "u"};
    size_t at = length > 1 && text[1] == '/' ? 2 : 1;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        size_t name = strlen(names[k]);
        if (length < at + name + 1 || strncasecmp(text + at, names[k], name) != 0) continue;
        if (text[at + name] != '>' && text[at + name] != ' ') continue;
        const char *close = memchr(text + at + name, '>', length - at - name);
        if (close && close - text < 200) return (size_t)(close - text) + 1;
    }
    return 0;
}

static void add_body(plim__str *out, const char *text, size_t length) {
    if (!needs_work(text, length)) {
        plim__str_addn(out, text, length);
        return;
    }
    bool escaped = looks_escaped(text, length), page = memmem(text, length, "</", 2);
    size_t start = 0;
    for (size_t i = 0; i < length; i++) {
        size_t tag = page && text[i] == '<' ? tag_length(text + i, length - i) : 0;
        if (tag) {
            plim__str_addn(out, text + start, i - start);
            i += tag - 1, start = i + 1;
            continue;
        }
        char c = text[i], instead = 0;
        size_t used = 1;
        if (c == '\r' || c == 0) {
            instead = c ? '\n' : ' ';
        } else if (c == ' ' || c == '\t') {
            size_t run = i + 1;
            while (run < length && (text[run] == ' ' || text[run] == '\t')) run++;
            if (run - i < CUT_BLANKS) {
                i = run - 1;
                continue;
            }
            plim__str_addn(out, text + start, i - start);
            start = run;
            i = run - 1;
            continue;
        } else if (escaped && c == '\\' && i + 1 < length && strchr("ntr\"/", text[i + 1])) {
            char e = text[i + 1];
            instead = e == 'n' || e == 'r' ? '\n' : e == 't' ? '\t' : e;
            used = 2;
        } else if (c == '&') {
            instead = take_entity(text + i, length - i, &used);
        }
        if (escaped && c == '\\' && i + 1 < length && text[i + 1] == 'u') {
            plim__str_addn(out, text + start, i - start);
            start = i;
            if (add_unicode(out, text + i + 2, length - i - 2)) i += 5, start = i + 1;
            continue;
        }
        if (!instead) continue;
        plim__str_addn(out, text + start, i - start);
        plim__str_addc(out, instead);
        i += used - 1;
        start = i + 1;
    }
    plim__str_addn(out, text + start, length - start);
}

/* What stands at the start of its line, and so never continues another: the statement below a frame is indented. */
static bool starts_fresh(const char *line, size_t length) {
    static const char *const starts[] = {"Killed", "MemoryError", "Traceback (most", "  File \"", "    "};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        size_t head = strlen(starts[i]);
        if (length >= head && memcmp(line, starts[i], head) == 0) return true;
    }
    return false;
}

/* The prefix goes; that it told a time, and in which year, is remembered. */
static void read_date(plim__cleaner *cleaner, const char *prefix, size_t length) {
    static const char *const files[] = {"[core",         "[engine",     "[gpu_",     "[worker",
                                        "[model_runner", "[llm_engine", "[multiproc"};
    for (size_t i = 0; i < sizeof files / sizeof *files && !cleaner->vllm; i++)
        cleaner->vllm = memmem(prefix, length, files[i], strlen(files[i])) && memmem(prefix, length, ".py:", 4);
    static const char *const processes[] = {"(VllmWorker", "(EngineCore", "(Worker_TP", "(APIServer pid"};
    for (size_t i = 0; i < sizeof processes / sizeof *processes && !cleaner->vllm; i++)
        cleaner->vllm = memmem(prefix, length, processes[i], strlen(processes[i]));
    for (size_t i = 0; i + 5 <= length && !(cleaner->dated && cleaner->year); i++) {
        const char *c = prefix + i;
        bool two = c[0] >= '0' && c[0] <= '9' && c[1] >= '0' && c[1] <= '9';
        if (two && c[2] == ':' && c[3] >= '0' && c[3] <= '9') cleaner->dated = true;
        bool first = i == 0 || c[-1] < '0' || c[-1] > '9';
        if (two && first && c[0] == '2' && c[1] == '0' && c[2] >= '0' && c[2] <= '9' && c[3] >= '0' && c[3] <= '9' &&
            (c[4] == '-' || c[4] == '/') && !cleaner->year)
            cleaner->year = 2000 + (c[2] - '0') * 10 + c[3] - '0';
    }
}

void plim__clean_line(plim__cleaner *cleaner, const char *line, size_t length) {
    if (length && line[length - 1] == '\r') length--;
    if (length >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0) line += 3, length -= 3;
    size_t raw = characters(line, length);
    const char *body = line;
    bool printed = memchr(line, '\\', length) || memchr(line, '^', length);
    if (memchr(line, 0x1B, length) || (printed && memchr(line, '[', length))) {
        strip_escapes(&cleaner->scratch, line, length);
        body = plim__str_text(&cleaner->scratch);
        length = cleaner->scratch.length;
    }
    size_t plain = characters(body, length);
    size_t prefix = plim__clean_prefix(body, length);
    bool opens = length > 0 && ((body[0] >= '0' && body[0] <= '9') || body[0] == '[');
    read_date(cleaner, body, prefix ? prefix : opens ? (length < 24 ? length : 24) : 0);
    bool is_long = raw > WRAP && plain > WRAP;
    bool joined = cleaner->started && cleaner->full && !is_long && !starts_fresh(body, length);
    bool joined_body = cleaner->started && cleaner->full_body && prefix && prefix == cleaner->prefix &&
                       !starts_fresh(body + prefix, length - prefix);
    if (cleaner->started && !joined && !joined_body) plim__str_addc(&cleaner->out, '\n');
    size_t skip = joined ? 0 : prefix;
    add_body(&cleaner->out, body + skip, length - skip);
    cleaner->full = raw == WRAP || plain == WRAP;
    cleaner->full_body = prefix && plain - prefix == WRAP;
    cleaner->prefix = prefix;
    cleaner->started = true;
}

void plim__clean_end(plim__cleaner *cleaner) {
    if (cleaner->started) plim__str_addc(&cleaner->out, '\n');
    cleaner->started = cleaner->full = cleaner->full_body = false;
}

void plim__clean_free(plim__cleaner *cleaner) {
    plim__str_free(&cleaner->out);
    plim__str_free(&cleaner->scratch);
}
