/* Names of exceptions, and words about memory in a line of error: enough to say that memory ran out, and little more.
 * Every message proper replaces what is found here. */
#include <string.h>

#include "diagnose/reader.h"

/* As they are written: here a blank is a blank. */
static bool has_any(plim__text line, const char *const *words, size_t count) {
    for (const char *at = line.at; at < line.end; at++)
        for (size_t i = 0; i < count; i++) {
            if ((*at | 32) != (words[i][0] | 32)) continue;
            size_t length = strlen(words[i]);
            if ((size_t)(line.end - at) >= length && strncasecmp(at, words[i], length) == 0) return true;
        }
    return false;
}

bool plim__is_talk(plim__text line) {
    static const char *const words[] = {"if you",     " may ",      "might",     "could ",         "avoid",
                                        "prevent",    "in case",    "how to",    "would ",         "should",
                                        " can ",      "reduce",     "fix",       "warning:",       "handle",
                                        "lead to",    "leads to",   "likely to", "cause an",       "causes ",
                                        "because",    "to cause",   "sometimes", "usually",        "unless",
                                        "whether",    " test ",     "whenever",  "catch",          "except ",
                                        "raise ",     "isinstanc",  "import ",   "#define",        "return ",
                                        "issue with", "instead",    "not out-",  "isn't",          "is not out",
                                        "?",          "guard",      "without",   "improve",        "support",
                                        "adds ",      "added ",     "when the",  "something like", "you are getting",
                                        "hints",      "what to do", "proposes",  "if a ",          "such as",
                                        "e.g.",       "risk",       "before it", "until ",         "limits.",
                                        "sizing",     "memory leak"};
    return has_any(line, words, sizeof words / sizeof *words);
}

static bool is_error(plim__text line) {
    static const char *const words[] = {"error", "failed", "fatal", "exception", "fault",
                                        "abort", "crash",  "panic", "killed",    "terminat"};
    return has_any(line, words, sizeof words / sizeof *words);
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static void report_words(plim__reader *reader, const char *start, const char *end) {
    plim__text line = plim__line_at(reader, start);
    size_t length = (size_t)(line.end - line.at);
    bool host = !plim__has(line, length, "cuda") && !plim__has(line, length, "gpu") &&
                !plim__has(line, length, "vram") && !plim__has(line, length, "hip ") &&
                !plim__has(line, length, "device");
    plim__event event = plim__event_at(reader, PLIM_GROUP_WORDS, host ? "unknown" : "cuda", line.at);
    event.kind = host ? NULL : "gpu";
    event.strength = PLIM_WEAK;
    event.facts |= PLIM_FACT_POSSIBLE;
    plim__report(reader, &event, end < line.end ? line.end : end);
}

/* "out of memory" in a line that is an error by its form. */
static void parse_words(plim__reader *reader, const char *start, const char *end) {
    plim__text line = plim__line_at(reader, start);
    if (line.end - line.at > 2000 || plim__is_code_line(line)) return;
    const char *before = start;
    while (before > line.at && (before[-1] == ' ' || before[-1] == '"' || before[-1] == '\'')) before--;
    if (before == start && start > line.at && is_letter(start[-1])) return; /* inside a name */
    bool colon = before > line.at && (before[-1] == ':' || before[-1] == '>' || before[-1] == ']');
    bool named = colon && plim__has_before(line.at, start, 60, "error");
    if (named) {
        report_words(reader, start, end);
        return;
    }
    if (plim__is_talk(line)) return;
    plim__text t = line;
    while (t.at < start && (unsigned char)*t.at < 128 && !is_letter(*t.at)) t.at++;
    bool alone = t.at == start && line.end - line.at < 100;
    bool last = line.end - end < 3;
    if (is_error(line) && (colon || alone || last || line.end - line.at < 160)) report_words(reader, start, end);
}

/* "torch.cuda.OutOfMemoryError", "OutOfMemoryError:"; code that catches it is no failure. */
static void parse_class(plim__reader *reader, const char *start, const char *end) {
    plim__text line = plim__line_at(reader, start);
    static const char *const code[] = {"except ", "except(",      "raise ",  "isinstance", "catch",
                                       "import ", "getattr",      "hasattr", "with ",      "def ",
                                       "class ",  "assertRaises", "OOM_EXC"};
    if (plim__is_code_line(line) || has_any(line, code, sizeof code / sizeof *code)) return;
    bool torch = plim__has_before(line.at, start, 12, "torch.") || plim__has_before(line.at, start, 12, "torch.cuda.");
    const char *first = line.at;
    while (first < start && strchr(" \t>|*`#E'\"", *first)) first++;
    bool bare = first == start && end < line.end && (*end == ':' || *end == ' ' || *end == '`');
    bool alone = first == start && end == line.end;
    if (!torch && !bare && !alone) return;
    plim__event event = plim__event_at(reader, PLIM_GROUP_TORCH, "pytorch", line.at);
    event.strength = PLIM_HINT;
    event.facts |= PLIM_FACT_NAME_ONLY;
    event.kind = "gpu";
    plim__report(reader, &event, line.end);
}

static void parse_exhausted(plim__reader *reader, const char *start, const char *end) {
    plim__text line = plim__line_at(reader, start);
    if (plim__is_code_line(line) || plim__has(line, 40, "except ") || plim__has(line, 400, "import ")) return;
    /* quotas are exhausted, too */
    if (plim__has(line, (size_t)(line.end - line.at), "quota") || plim__has(line, 600, "grpc") ||
        plim__has(line, 600, "429") || plim__has(line, 600, "larger than max"))
        return;
    plim__event event = plim__event_at(reader, PLIM_GROUP_XLA, "tensorflow", line.at);
    event.strength = PLIM_HINT;
    event.facts |= PLIM_FACT_NAME_ONLY;
    plim__report(reader, &event, end < line.end ? line.end : end);
}

/* What llama.cpp says when a second try worked. */
static void parse_recovered(plim__reader *reader, const char *start, const char *end) {
    (void)start, (void)end;
    if (reader->incident.is_set && strcmp(reader->incident.facts.framework, "llama.cpp") == 0)
        reader->incident.recovered = true;
}

const plim__row plim__rows_words[] = {
    {"outofmemoryerror", parse_class},
    {"resourceexhaustederror", parse_exhausted},
    {"outofmemory", parse_words},
    {"out-of-memory", parse_words},
    {"runoutofmemory", parse_words},
    {"notenoughmemory", parse_words},
    {"insufficientmemory", parse_words},
    {"notenoughvram", parse_words},
    {"insufficientvram", parse_words},
    {"notenoughgpumemory", parse_words},
    {"memoryexhausted", parse_words},
    {"memoryallocationfailed", parse_words},
    {"memoryallocationfailure", parse_words},
    {"memoryallocationerror", parse_words},
    {"cannotallocatememory", parse_words},
    {"failedtoallocatememory", parse_words},
    {"couldnotallocatememory", parse_words},
    {"unabletoallocatememory", parse_words},
    {"exceededmemorylimit", parse_words},
    {"memorylimitexceeded", parse_words},
    {"exceedsmemorylimit", parse_words},
    {"serverislistening", parse_recovered},
    {"modelloaded", parse_recovered},
    {0},
};
