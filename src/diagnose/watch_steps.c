/* The training step that a program is at, read from the tail of its output. */
#include "diagnose/watch_steps.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* In the order of trust: a global step never falls back, a bare "12/500" may be anything. */
enum { KIND_NONE, KIND_BAR, KIND_BATCH, KIND_STEP };

static const struct {
    const char *word;
    int kind;
} words[] = {{"global_step", KIND_STEP}, {"step", KIND_STEP},   {"iteration", KIND_STEP}, {"iter", KIND_STEP},
             {"batch", KIND_BATCH},      {"update", KIND_STEP}, {"it", KIND_STEP}};

void plim__steps_start(plim__steps *steps) {
    memset(steps, 0, sizeof *steps);
    steps->last = -1;
}

void plim__steps_feed(plim__steps *steps, const char *data, size_t size) {
    if (size >= PLIM_STEPS_TAIL) {
        memcpy(steps->tail, data + size - PLIM_STEPS_TAIL, PLIM_STEPS_TAIL);
        steps->length = PLIM_STEPS_TAIL;
        return;
    }
    size_t keep = PLIM_STEPS_TAIL - size < steps->length ? PLIM_STEPS_TAIL - size : steps->length;
    memmove(steps->tail, steps->tail + steps->length - keep, keep);
    memcpy(steps->tail + keep, data, size);
    steps->length = keep + size;
}

/* A whole number of at most 15 digits that is not the start of a fraction; -1 otherwise. */
static int64_t number_at(const char *text, size_t length) {
    int64_t value = 0;
    size_t i = 0;
    for (; i < length && isdigit((unsigned char)text[i]); i++) {
        if (i == 15) return -1;
        value = value * 10 + (text[i] - '0');
    }
    if (i == 0 || i == length) return -1; /* a number that touches the end may still grow */
    if (text[i] == '.' && i + 1 < length && isdigit((unsigned char)text[i + 1])) return -1;
    return value;
}

/* After the word: "step 12", "step: 12", "step=12", "[step #12", "iter [12/500]", "Step	12". */
static int64_t number_after(const char *text, size_t length) {
    size_t i = 0;
    while (i < length && i < 12 && strchr(" \t:=#[('\"", text[i]) && text[i]) i++;
    return number_at(text + i, length - i);
}

static int64_t find_word(const char *line, size_t length, int *kind) {
    for (size_t i = 0; i < length; i++) {
        if (i && isalpha((unsigned char)line[i - 1])) continue;
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
            size_t n = strlen(words[w].word);
            if (length - i <= n || strncasecmp(line + i, words[w].word, n) != 0) continue;
            if (line[i + n] == 's') continue; /* "500 steps 3" counts something else */
            int64_t value = number_after(line + i + n, length - i - n);
            if (value >= 0) return *kind = words[w].kind, value;
        }
    }
    return -1;
}

/* tqdm and Keras: "| 45/1000 [00:03<01:02", " 45/1000 [====>", also "[  64/60000 (0%)]". */
static int64_t find_bar(const char *line, size_t length) {
    for (size_t i = 1; i + 1 < length; i++) {
        if (line[i] != '/' || !isdigit((unsigned char)line[i - 1]) || !isdigit((unsigned char)line[i + 1])) continue;
        size_t begin = i;
        while (begin && isdigit((unsigned char)line[begin - 1])) begin--;
        size_t end = i + 1;
        while (end < length && isdigit((unsigned char)line[end])) end++;
        if (end + 1 < length && line[end] == ' ' && strchr("[(", line[end + 1]))
            return number_at(line + begin, i - begin + 1);
    }
    return -1;
}

int64_t plim__steps_now(plim__steps *steps) {
    const char *text = steps->tail;
    size_t end = steps->length;
    /* from the last line backwards; a carriage return starts a line too */
    while (end > 0) {
        size_t begin = end;
        while (begin > 0 && text[begin - 1] != '\n' && text[begin - 1] != '\r') begin--;
        bool whole = begin > 0 || steps->length < PLIM_STEPS_TAIL;
        int kind = KIND_NONE;
        int64_t value = -1;
        if (whole && end - begin >= 3) {
            value = find_word(text + begin, end - begin + (end < steps->length), &kind);
            if (value < 0 && (value = find_bar(text + begin, end - begin + (end < steps->length))) >= 0)
                kind = KIND_BAR;
        }
        if (value >= 0 && kind >= steps->kind) {
            if (kind > steps->kind) { /* a better counter appeared: begin again */
                steps->kind = kind;
                steps->last = -1;
                steps->before = 0;
            }
            if (value < steps->last) steps->before += steps->last;
            steps->last = value;
            break;
        }
        end = begin ? begin - 1 : 0;
    }
    return steps->last < 0 ? -1 : steps->before + steps->last;
}
