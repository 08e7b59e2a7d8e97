/* Names of exceptions, and words about memory in a line of error: enough to say that memory ran out, and little more.
 * Every message proper replaces what is found here. */
#include <string.h>

#include "diagnose/reader.h"
#include "diagnose/talk.h"

static bool is_error(plim__text line) {
    static const char *const words[] = {"error", "failed", "fatal", "exception", "fault",
                                        "abort", "crash",  "panic", "killed",    "terminat"};
    return plim__has_any(line, words, sizeof words / sizeof *words);
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
    plim__text rest = plim__text_at(reader, end);
    if (plim__take(&rest, " errors")) event.facts |= PLIM_FACT_SAID; /* a log has one at a time */
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
    if (plim__is_code_line(line) || plim__has_any(line, code, sizeof code / sizeof *code)) return;
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

/* "CUDA is out of memory", "out of GPU memory", "OOM error": counts only when somebody tells of it. */
static void parse_said(plim__reader *reader, const char *start, const char *end) {
    plim__text line = plim__line_at(reader, start);
    if (plim__is_code_line(line) || plim__is_change(line, start) || plim__explains(reader, end)) return;
    if (start > line.at && is_letter(start[-1])) return;
    bool gpu = plim__has((plim__text){start, end}, 20, "gpu") || plim__has((plim__text){start, end}, 20, "cuda");
    plim__event event = plim__event_at(reader, PLIM_GROUP_WORDS, gpu ? "cuda" : "unknown", line.at);
    event.kind = gpu ? "gpu" : NULL;
    event.strength = PLIM_WEAK;
    event.facts |= PLIM_FACT_SAID | PLIM_FACT_NAME_ONLY;
    plim__report(reader, &event, end);
}

/* "it went out of memory", "still getting the error Out of memory": somebody's words in a sentence. */
static void parse_told(plim__reader *reader, const char *start, const char *end) {
    plim__text line = plim__line_at(reader, start);
    if (line.end - line.at > 2000 || plim__is_code_line(line) || plim__is_change(line, start)) return;
    static const char *const printed[] = {"memory trying to allocate", "while trying to allocate",
                                          ".cc:", ".cpp:", ".cu:"};
    if (plim__has_any(line, printed, sizeof printed / sizeof *printed)) return;
    uint64_t begin = reader->origin + (uint64_t)(line.at - reader->begin);
    if (reader->incident.is_set && reader->incident.end > begin) return; /* a message of this line */
    if (*start == '(' || *start == '"') start++, end--;
    if (plim__has((plim__text){end - 3, end}, 3, "oom")) start = end - 3; /* "got OOM": the word itself */
    if ((start > line.at && is_letter(start[-1])) || (end < line.end && (is_letter(*end) || *end == '_'))) return;
    if (plim__is_supposed(line, start) || plim__explains(reader, end)) return;
    if (end + 1 < line.end && *end == ')' && end[1] == '?') return; /* a guess */
    size_t length = (size_t)(line.end - line.at);
    bool none = plim__has(line, length, "without gpu") || plim__has(line, length, "without a gpu") ||
                plim__has(line, length, "no gpu");
    bool gpu =
        !none && (plim__has(line, length, "cuda") || plim__has(line, length, "gpu") || plim__has(line, length, "vram"));
    plim__event event = plim__event_at(reader, PLIM_GROUP_WORDS, gpu ? "cuda" : "unknown", line.at);
    event.kind = gpu ? "gpu" : NULL;
    event.strength = PLIM_WEAK;
    event.facts |= PLIM_FACT_SAID | PLIM_FACT_NAME_ONLY;
    if (none) event.kind = "host", event.facts |= PLIM_FACT_HOST;
    plim__text after = {end, line.end - end > 12 ? end + 12 : line.end};
    bool ram = plim__has(after, 12, " on ram") || plim__has(after, 12, " in ram") || plim__has(after, 5, " ram");
    static const char *const hosts[] = {"of ram", "enough ram", "sufficient ram", "outofram"};
    if (plim__has(after, 12, " on system r") || plim__has(after, 12, " system ram")) ram = true, gpu = false;
    ram |= plim__has_any((plim__text){start, end}, hosts, sizeof hosts / sizeof *hosts);
    if (!gpu && ram) event.kind = "host", event.facts |= PLIM_FACT_HOST;
    /* Python's own name of it */
    if (!gpu && (size_t)(end - start) == 11 && plim__has((plim__text){start, end}, 11, "MemoryError"))
        event.framework = "python", event.kind = "host", event.facts |= PLIM_FACT_HOST;
    plim__report(reader, &event, end);
}

/* "OOM", or memory of the card (or of the host) that is short or overflows, in Chinese. */
static void parse_told_chinese(plim__reader *reader, const char *start, const char *end) {
    plim__text line = plim__line_at(reader, start), said = {start, end};
    uint64_t begin = reader->origin + (uint64_t)(line.at - reader->begin);
    if (reader->incident.is_set && reader->incident.end > begin) return;
    /* reported, shown, met, again: documentation names the condition without them */
    static const char *const verbs[] = {"\xE6\x8A\xA5",
                                        "\xE6\x8F\x90\xE7\xA4\xBA",
                                        "\xE6\x98\xBE\xE7\xA4\xBA",
                                        "\xE5\x87\xBA\xE7\x8E\xB0",
                                        "\xE8\xBF\x98\xE6\x98\xAF",
                                        "\xE7\x88\x86",
                                        "\xE9\x80\xA0\xE6\x88\x90",
                                        "\xE4\xB8\x80\xE7\x9B\xB4",
                                        "\xE5\xAF\xBC\xE8\x87\xB4",
                                        "\xE7\x9B\xB4\xE6\x8E\xA5",
                                        "\xE4\xBB\x8D\xE7\x84\xB6",
                                        "\xE5\xB0\xB1oom",
                                        "\xE4\xBC\x9Aoom",
                                        "\xE6\x98\xBE\xE5\xAD\x98oom"};
    if (!plim__has_any((plim__text){start - line.at > 90 ? start - 90 : line.at, end}, verbs,
                       sizeof verbs / sizeof *verbs))
        return;
    bool host = plim__has(said, 16, "\xE5\x86\x85\xE5\xAD\x98");
    plim__event event = plim__event_at(reader, PLIM_GROUP_WORDS, host ? "unknown" : "cuda", line.at);
    event.kind = host ? NULL : "gpu";
    event.strength = PLIM_WEAK;
    event.facts |= PLIM_FACT_SAID | PLIM_FACT_NAME_ONLY;
    plim__report(reader, &event, end);
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
    {"outofmemory", parse_told},
    {"\xE6\x8A\xA5oom", parse_told_chinese},
    {"\xE6\x8A\xA5\xE9\x94\x99oom", parse_told_chinese},
    {"\xE9\x80\xA0\xE6\x88\x90oom", parse_told_chinese},
    {"\xE4\xB8\x80\xE7\x9B\xB4oom", parse_told_chinese},
    {"\xE5\xAF\xBC\xE8\x87\xB4oom", parse_told_chinese},
    {"\xE7\x9B\xB4\xE6\x8E\xA5oom", parse_told_chinese},
    {"\xE4\xBB\x8D\xE7\x84\xB6oom", parse_told_chinese},
    {"\xE8\xBF\x98\xE6\x98\xAFoom", parse_told_chinese},
    {"\xE5\x87\xBA\xE7\x8E\xB0oom", parse_told_chinese},
    {"\xE6\x98\xBE\xE5\xAD\x98oom", parse_told_chinese},
    {"\xE5\xB0\xB1oom", parse_told_chinese},
    {"\xE4\xBC\x9Aoom", parse_told_chinese},
    {"\xE6\x98\xBE\xE5\xAD\x98\xE4\xB8\x8D\xE5\xA4\x9F", parse_told_chinese},
    {"\xE6\x98\xBE\xE5\xAD\x98\xE7\x88\x86", parse_told_chinese},
    {"\xE5\x86\x85\xE5\xAD\x98\xE4\xB8\x8D\xE5\xA4\x9F", parse_told_chinese},
    {"\xE6\x98\xBE\xE5\xAD\x98\xE4\xB8\x8D\xE8\xB6\xB3", parse_told_chinese},
    {"\xE6\x98\xBE\xE5\xAD\x98\xE6\xBA\xA2\xE5\x87\xBA", parse_told_chinese},
    {"\xE7\x88\x86\xE6\x98\xBE\xE5\xAD\x98", parse_told_chinese},
    {"\xE5\x86\x85\xE5\xAD\x98\xE4\xB8\x8D\xE8\xB6\xB3", parse_told_chinese},
    {"outofmemeory", parse_told},
    {"outofmemmory", parse_told},
    {"outofgpumemory", parse_told},
    {"outofvram", parse_told},
    {"outofram", parse_told},
    {"out-of-memory", parse_told},
    {"hbmoom", parse_told},
    {"(oom)", parse_told},
    {"insufficientram", parse_told},
    {"unsufficientram", parse_told},
    {"unsufficientvram", parse_told},
    {"insufficientvram", parse_told},
    {"notenoughram", parse_told},
    {"anoom", parse_told},
    {"theoom", parse_told},
    {"cudaoom", parse_told},
    {"gpuoom", parse_told},
    {"gotoom", parse_told},
    {"ranoom", parse_told},
    {"\"oom\"", parse_told},
    {"getoom", parse_told},
    {"gettingoom", parse_told},
    {"getsoom", parse_told},
    {"goesoom", parse_told},
    {"hitoom", parse_told},
    {"hitsoom", parse_told},
    {"intooom", parse_told},
    {"causesoom", parse_told},
    {"causeoom", parse_told},
    {"causedoom", parse_told},
    {"imageoom", parse_told},
    {"inferenceoom", parse_told},
    {"trainingoom", parse_told},
    {"modeloom", parse_told},
    {"alwaysoom", parse_told},
    {"\xE6\x8E\xA8\xE7\x90\x86oom", parse_told},
    {"\xE8\xAE\xAD\xE7\xBB\x83oom", parse_told},
    {"showinsufficientmemory", parse_told},
    {"showsinsufficientmemory", parse_told},
    {"ofinsufficientmemory", parse_told},
    {"exceededthesystemmemory", parse_told},
    {"exceedsthesystemmemory", parse_told},
    {"oomduring", parse_told},
    {"oomfor", parse_told},
    {"oomwith", parse_told},
    {"oomat", parse_told},
    {"oomerrors", parse_told},
    {"]:oom", parse_told},
    {"oomwhen", parse_told},
    {"oomwhile", parse_told},
    {"oomon", parse_told},
    {"oomin", parse_told},
    {"oomafter", parse_told},
    {"memoryoverflows", parse_told},
    {"memoryoverflowed", parse_told},
    {"memoryoverflowing", parse_told},
    {"returnsoom", parse_told},
    {"returnoom", parse_told},
    {"stilloom", parse_told},
    {"reportsoom", parse_told},
    {"throwsoom", parse_told},
    {"meetoom", parse_told},
    {"facingoom", parse_told},
    {"encounteroom", parse_told},
    {"encounteredoom", parse_told},
    {"haveoom", parse_told},
    {"instantlyoom", parse_told},
    {"tooom", parse_told},
    {"oomissue", parse_told},
    {"oomproblem", parse_told},
    {"oomcrash", parse_told},
    {"memoryoverflow", parse_told},
    {"memoryerror", parse_told},
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
    {"cudaisoutofmemory", parse_said},
    {"cudawillbeoutofmemory", parse_said},
    {"gpuwillbeoutofmemory", parse_said},
    {"cuda_out_of_memory", parse_said},
    {"cudamallocerror", parse_said},
    {"outofgpumemory", parse_said},
    {"oomerror", parse_said},
    {"serverislistening", parse_recovered},
    {"modelloaded", parse_recovered},
    {"load_model:initializing", parse_recovered},
    {0},
};
