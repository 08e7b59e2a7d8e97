/* Marks of programs: from the table to the automaton, and what stands around one in a text. */
#include "diagnose/program_marks.h"

#include <ctype.h>
#include <string.h>

#include "diagnose/programs.h"
#include "diagnose/talk.h"

static bool add_mark(plim__marks *marks, const char *text, size_t length, size_t program, bool named, char slash) {
    if (marks->count == PLIM_MARKS || marks->bytes + length + 1 > PLIM_MARK_BYTES) return false;
    char *to = marks->texts + marks->bytes;
    marks->items[marks->count++] = (plim__mark){(uint16_t)marks->bytes, (uint8_t)program, named};
    for (size_t i = 0; i < length; i++) to[i] = text[i] == '/' ? slash : text[i];
    to[length] = 0;
    marks->bytes += length + 1;
    return true;
}

static bool has_word(const char *list, const char *word, size_t length) {
    for (const char *at = list ? list : ""; *at;) {
        size_t other = strcspn(at, " ");
        if (other == length && memcmp(at, word, length) == 0) return true;
        at += other + (at[other] == ' ');
    }
    return false;
}

/* "fooocus" may be a word of somebody's sentence; paths, options and what has a sign in it is printed. */
static bool is_plain(const char *word, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)word[i])) return false;
    return true;
}

static bool add_marks(plim__marks *marks, size_t program, bool named) {
    const plim__program *row = plim__program_at(program);
    const char *list = named ? row->names : row->marks;
    for (const char *at = list ? list : ""; *at;) {
        size_t length = strcspn(at, " ");
        bool plain = has_word(row->names, at, length) && is_plain(at, length);
        bool known = named ? !plain && has_word(row->marks, at, length) : plain; /* added with the other list */
        if (!known && !add_mark(marks, at, length, program, named, '/')) return false;
        if (memchr(at, '/', length) && !add_mark(marks, at, length, program, named, '\\')) return false;
        at += length + (at[length] == ' ');
    }
    return true;
}

bool plim__marks_read(plim__marks *marks) {
    marks->count = marks->bytes = 0;
    if (plim__program_count() > PLIM_PROGRAMS) return false;
    for (size_t i = 0; i < plim__program_count(); i++)
        if (!add_marks(marks, i, false) || !add_marks(marks, i, true)) return false;
    return true;
}

/* Where the mark began: its letters, with white space between them where it is printed. */
static const char *mark_start(plim__text before, const char *text) {
    const char *at = before.end;
    for (size_t letters = strlen(text); letters && at > before.at;)
        if (!isspace((unsigned char)*--at)) letters--;
    return at;
}

/* "vllm: 0.4.3", "deepspeed==0.9", "- `vLLM` version": one of the packages that somebody has. */
static bool is_listed(plim__text after) {
    while (after.at < after.end && strchr(" `*:=|\t\"'", *after.at) && *after.at) after.at++;
    if (after.at >= after.end) return false;
    return isdigit((unsigned char)*after.at) || plim__has(after, 10, "version") || plim__has(after, 6, "n/a") ||
           plim__has(after, 13, "not installed");
}

void plim__marks_found(const plim__marks *marks, size_t index, plim__program_set *found, plim__text before,
                       plim__text after) {
    const plim__mark *mark = &marks->items[index];
    const char *text = marks->texts + mark->text, *start = mark_start(before, text);
    bool whole = (size_t)(before.end - start) == strlen(text);
    if (isalnum((unsigned char)*text) && start > before.at && isalnum((unsigned char)start[-1])) return;
    uint64_t bit = (uint64_t)1 << mark->program % 64;
    if (!mark->named) {
        found->printed[mark->program / 64] |= bit;
        return;
    }
    bool begins = start == before.at || !strchr("-_", start[-1]);
    bool ends = after.at >= after.end || !isalpha((unsigned char)*after.at);
    /* "CT-BERT": two letters begin many a longer name */
    bool longer = after.end - after.at > 1 && *after.at == '-' && isalpha((unsigned char)after.at[1]);
    if (longer && strlen(text) <= 3) return;
    bool listed = is_listed(after);
    bool card = plim__has(after, 8, " memory") || plim__has(after, 6, " card") || plim__has(after, 5, " ram");
    if (card && strcmp(text, "video") == 0) return; /* what a card has */
    bool mistral = plim__has_before(before.at, start, 9, "mistral") || plim__has(after, 14, "12b") ||
                   plim__has(after, 9, "-instruct");
    if (mistral && strcmp(text, "nemo") == 0) return; /* a model of that name */
    if (!whole || !begins || !ends) return;
    (listed ? found->listed : found->named)[mark->program / 64] |= bit;
    uint8_t *mentions = &found->mentions[mark->program];
    if (!listed && *mentions < UINT8_MAX) ++*mentions;
}
