/* A log, or a text about one? */
#include "diagnose/talk.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { NEIGHBOURS = 6, WORD = 16 };

bool plim__has_any(plim__text line, const char *const *words, size_t count) {
    for (const char *at = line.at; at < line.end; at++)
        for (size_t i = 0; i < count; i++) {
            if ((*at | 32) != (words[i][0] | 32)) continue;
            size_t length = strlen(words[i]);
            if ((size_t)(line.end - at) >= length && strncasecmp(at, words[i], length) == 0) return true;
        }
    return false;
}

/* "raise MemoryError(...)", a line of code; "it does raise a CUDA out of memory error" tells of a run. */
static bool raises(plim__text line) {
    for (plim__text t = line; plim__seek(&t, (size_t)(t.end - t.at), "raise");) {
        while (t.at < t.end && *t.at == ' ') t.at++;
        bool article =
            t.at + 2 < t.end && (*t.at | 32) == 'a' && (t.at[1] == ' ' || (t.at[1] == 'n' && t.at[2] == ' '));
        bool inside = t.at < t.end && (*t.at == 's' || *t.at == 'd'); /* "raises", "raised" */
        if (!article && !inside) return true;
    }
    return false;
}

bool plim__is_talk(plim__text line) {
    static const char *const words[] = {"if you",    " may ",      "might",        "could ",         "avoid",
                                        "prevent",   "in case",    "how to",       "would ",         "should",
                                        " can ",     "reduce",     "fix",          "warning:",       "handle",
                                        "lead to",   "leads to",   "likely to",    "cause an",       "causes ",
                                        "because",   "to cause",   "sometimes",    "usually",        "unless",
                                        "whether",   " test ",     "whenever",     "catch",          "except ",
                                        "isinstanc", "import ",    "#define",      "return ",        "issue with",
                                        "instead",   "not out-",   "isn't",        "is not out",     "?",
                                        "guard",     "without",    "improve",      "support",        "adds ",
                                        "added ",    "when the",   "message when", "something like", "you are getting",
                                        "hints",     "what to do", "proposes",     "if a ",          "such as",
                                        "e.g.",      "risk",       "before it",    "until ",         "limits.",
                                        "sizing",    "memory leak"};
    return plim__has_any(line, words, sizeof words / sizeof *words) || raises(line);
}

/* The next word in lower case, past quotes and brackets; "" at a line's end. */
static void next_word(plim__text *t, char word[WORD]) {
    size_t length = 0;
    while (t->at < t->end && *t->at != '\n' && !isalpha((unsigned char)*t->at)) t->at++;
    while (t->at < t->end && (isalpha((unsigned char)*t->at) || *t->at == '\'')) {
        if (length + 1 < WORD) word[length++] = (char)tolower((unsigned char)*t->at);
        t->at++;
    }
    word[length] = 0;
}

static bool is_one_of(const char *word, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0) return true;
    return false;
}

/* The part of the sentence before `at`, at most `reach` characters of it. */
static plim__text sentence_before(plim__text line, const char *at, ptrdiff_t reach) {
    plim__text before = {at - line.at > reach ? at - reach : line.at, at};
    for (const char *c = before.at; c < at; c++)
        if ((*c == '.' || *c == ';' || *c == '!') && c + 1 < at && c[1] == ' ') before.at = c + 1;
    return before;
}

/* "# Fix ...", "feat: ...", "[JIRA-1] Show ...": the title of a change begins with what it does. */
bool plim__is_change_title(plim__text line) {
    static const char *const verbs[] = {"fix",    "add",      "improve",  "support",   "handle",   "catch",   "wrap",
                                        "retry",  "allow",    "report",   "detect",    "enable",   "update",  "remove",
                                        "show",   "refactor", "feat",     "docs",      "chore",    "perf",    "test",
                                        "print",  "log",      "guard",    "avoid",     "reduce",   "prevent", "explain",
                                        "expose", "raise",    "bump",     "make",      "include",  "better",  "warn",
                                        "track",  "clarify",  "document", "implement", "introduce"};
    plim__text t = line;
    bool title = false;
    while (t.at < t.end && strchr("# -*", *t.at)) title |= *t.at++ == '#';
    if (t.at < t.end && *t.at == '[') {
        const char *close = memchr(t.at, ']', (size_t)(t.end - t.at));
        if (close) t.at = close + 1;
    }
    char word[WORD];
    next_word(&t, word);
    bool prefix = t.at < t.end && (*t.at == ':' || *t.at == '(');
    if (!prefix && strcmp(word, "test") == 0) return false;  /* "# test on large images" */
    if (prefix && strcmp(word, "update") == 0) return false; /* "Update: ...": somebody's later word */
    return (title || prefix) && is_one_of(word, verbs, sizeof verbs / sizeof *verbs);
}

bool plim__is_change(plim__text line, const char *at) {
    static const char *const pleas[] = {"?", "any way to", "anyone", "how can i", "how do i", "help"};
    if (plim__has_any(line, pleas, sizeof pleas / sizeof *pleas)) return false;
    static const char *const words[] = {"fix",       "avoid",      "prevent",  "reduce",   "hints",
                                        "improve",   "adds",       "added",    "support",  "handle",
                                        "catch",     "workaround", "if you",   "you will", "you may",
                                        "you might", "otherwise",  "handling", "catching"};
    plim__text before = sentence_before(line, at, 96), after = {at, line.end - at > 40 ? at + 40 : line.end};
    for (const char *c = at; c + 1 < after.end; c++) /* what somebody did next is another sentence */
        if ((*c == '.' || *c == '!') && c[1] == ' ') after.end = c;
    return plim__is_change_title(line) || plim__has_any(before, words, sizeof words / sizeof *words) ||
           plim__has_any(after, words, sizeof words / sizeof *words);
}

bool plim__is_described(plim__text after) {
    static const char *const fillers[] = {"oom", "error", "errors", "exception", "exceptions", "issue", "issues"};
    static const char *const verbs[] = {"occurs", "occur",     "is",      "are",     "means",     "happens",
                                        "happen", "indicates", "arises",  "appears", "typically", "often",
                                        "can",    "may",       "usually", "refers"};
    char word[WORD];
    if (after.at < after.end && strchr(".!?,;:", *after.at)) return false; /* the sentence or clause ends with it */
    plim__text bracket = after;
    plim__skip_blank(&bracket);
    if (bracket.at < bracket.end && *bracket.at == '(') { /* "OOMKilled (exit code 137) means" */
        const char *close =
            memchr(bracket.at, ')', bracket.end - bracket.at < 40 ? (size_t)(bracket.end - bracket.at) : 40);
        if (close) after.at = close + 1;
    }
    static const char *const told[] = {" happens when i ", " happens when running", " occurs when i "};
    if (plim__has_any((plim__text){after.at, after.end - after.at > 24 ? after.at + 24 : after.end}, told,
                      sizeof told / sizeof *told))
        return false; /* somebody's own run */
    next_word(&after, word);
    if (is_one_of(word, fillers, sizeof fillers / sizeof *fillers)) next_word(&after, word);
    return is_one_of(word, verbs, sizeof verbs / sizeof *verbs);
}

/* A condition or a wish in front: "without running out of memory", "if it is killed", "will I get ...". */
bool plim__is_supposed(plim__text line, const char *at) {
    static const char *const words[] = {
        "paper sa",   "without ",   "avoid",         "prevent", " if ",      "may ",      "might",    "could",
        "would ",     "will ",      "risk",          "handle",  "catch",     "unless",    "should",   "likely to",
        "reduce",     "in case",    "whether",       "not an",  "no ",       "potential", "e.g.",     "such as",
        "due to not", "instead of", "mitigat",       "thought", "suspect",   "questions", "look for", "looking for",
        "grep ",      "check for",  "search for",    "notice ", "watch for", "detect",    "alert",    "simulat",
        "figuring",   "faq",        "documentation", "mention"};
    plim__text before = sentence_before(line, at, 48);
    static const char *const fails[] = {"could not", "couldn't"}; /* it was tried */
    if (plim__has_any(before, fails, 2)) return false;
    if (plim__has_any(before, words, sizeof words / sizeof *words)) return true;
    return (size_t)(at - line.at) >= 3 && line.at + 3 <= at && strncasecmp(line.at, "if ", 3) == 0;
}

/* --- diffs ---------------------------------------------------------------------------------------------------- */

static plim__text line_before(plim__text window, plim__text line) {
    if (line.at <= window.at) return (plim__text){window.at, window.at};
    plim__text made = {line.at - 1, line.at - 1};
    while (made.at > window.at && made.at[-1] != '\n') made.at--;
    return made;
}

static plim__text line_after(plim__text window, plim__text line) {
    if (line.end >= window.end) return (plim__text){window.end, window.end};
    plim__text made = {line.end + 1, line.end + 1};
    while (made.end < window.end && *made.end != '\n') made.end++;
    return made;
}

bool plim__in_diff(plim__text window, plim__text line) {
    if (line.at >= line.end || (*line.at != '+' && *line.at != '-')) return false;
    int added = *line.at == '+';
    plim__text before = line, after = line;
    for (int i = 0; i < NEIGHBOURS; i++) {
        before = line_before(window, before);
        after = line_after(window, after);
        added += before.at < before.end && *before.at == '+';
        added += after.at < after.end && *after.at == '+';
    }
    return added >= 3;
}

/* --- who speaks ----------------------------------------------------------------------------------------------- */

static bool is_part_of_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '/' || c == '.' || c == '-';
}

bool plim__has_person(plim__text window) {
    static const char *const words[] = {"i",  "i'm",  "im", "i've",  "ive",  "my",
                                        "me", "mine", "hi", "hello", "dear", "thanks"};
    int chinese = 0; /* logs are not written in it */
    for (const char *c = window.at; c + 2 < window.end && chinese < 6; c++)
        chinese += (unsigned char)c[0] >= 0xE4 && (unsigned char)c[0] <= 0xE9 && (unsigned char)c[1] >= 0x80 &&
                   (unsigned char)c[1] < 0xC0 && (unsigned char)c[2] >= 0x80;
    if (chinese >= 6) return true;
    static const char *const others[] = {"\xE6\x88\x91",
                                         "\xE8\xAF\xB7\xE9\x97\xAE",
                                         "\xE6\x8A\xA5\xE9\x94\x99",
                                         "\xE6\xB1\x82\xE5\x8A\xA9",
                                         "\xE4\xB8\xBA\xE4\xBB\x80",
                                         "\xE8\xB0\xA2\xE8\xB0\xA2",
                                         "\xE6\x80\x8E\xE4\xB9\x88",
                                         "\xE7\x9A\x84\xE9\x94\x99\xE8\xAF\xAF"};
    static const char *const pleas[] = {"any idea",     "any suggestion",   "anyone",         "anybody",
                                        "please help",  "help me",          "can you help",   "can you figure",
                                        "in advance",   "describe the bug", "[bug]",          "to reproduce",
                                        "we encounter", "we get ",          "we are getting", "we have encountered"};
    if (plim__has_any(window, pleas, sizeof pleas / sizeof *pleas)) return true;
    for (plim__text t = window; t.at < t.end;) {
        for (size_t i = 0; (unsigned char)*t.at >= 128 && i < sizeof others / sizeof *others; i++)
            if ((size_t)(t.end - t.at) >= strlen(others[i]) && memcmp(t.at, others[i], strlen(others[i])) == 0)
                return true;
        bool starts = isalpha((unsigned char)*t.at) && (t.at == window.at || !is_part_of_word(t.at[-1]));
        if (!starts) {
            t.at++;
            continue;
        }
        char word[WORD];
        next_word(&t, word);
        bool whole = t.at >= t.end || !is_part_of_word(*t.at) || *t.at == '.';
        if (!whole || !is_one_of(word, words, sizeof words / sizeof *words)) continue;
        /* "2019-01-02: I tensorflow/core", "I0102 12:00" are levels of a log */
        plim__text rest = t;
        plim__skip_blank(&rest);
        bool level = strcmp(word, "i") == 0 &&
                     (plim__take(&rest, "tensorflow") || plim__take(&rest, "external") || plim__take(&rest, "c:\\"));
        if (!level) return true;
    }
    return false;
}
