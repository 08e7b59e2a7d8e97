/* Finding any of many trigger words in one pass. */
#include "diagnose/scan.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"

enum { CLASS_OTHER = 0, CLASS_BLANK = 1 };

/* White space may stand between the letters of a trigger; pieces that are scanned side by side overlap by this much. */
enum { OVERLAP = 512, STREAMS = 4 };

static unsigned char fold(unsigned char c) { return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c; }

static unsigned classify(plim__scan *scan, const char *const *words, size_t count) {
    unsigned classes = 2;
    memset(scan->class_of, CLASS_OTHER, sizeof scan->class_of);
    for (const char *c = " \t\n\r\v\f"; *c; c++) scan->class_of[(unsigned char)*c] = CLASS_BLANK;
    for (size_t i = 0; i < count; i++)
        for (const char *c = words[i]; *c; c++) {
            unsigned char byte = fold((unsigned char)*c);
            if (scan->class_of[byte] == CLASS_OTHER) scan->class_of[byte] = (uint8_t)classes++;
        }
    for (unsigned c = 'A'; c <= 'Z'; c++) scan->class_of[c] = scan->class_of[c + 32];
    return classes;
}

/* The trie first, its states in the order of their making. */
static uint16_t add_word(plim__scan *scan, const char *word, uint16_t id) {
    uint16_t state = 0;
    for (const char *c = word; *c; c++) {
        uint16_t *slot = &scan->next[((size_t)state << scan->shift) | scan->class_of[fold((unsigned char)*c)]];
        if (*slot == 0) *slot = scan->state_count++;
        state = *slot;
    }
    scan->word_of[state] = (uint16_t)(id + 1);
    return state;
}

/* Breadth first: a missing step is the step of the longest proper suffix. */
static void link_states(plim__scan *scan, uint16_t *queue, uint16_t *suffix) {
    size_t classes = (size_t)1 << scan->shift, head = 0, tail = 0;
    for (size_t c = 0; c < classes; c++)
        if (scan->next[c]) {
            suffix[scan->next[c]] = 0;
            queue[tail++] = scan->next[c];
        }
    while (head < tail) {
        uint16_t state = queue[head++], back = suffix[state];
        scan->shorter[state] = scan->word_of[back] ? back : scan->shorter[back];
        for (size_t c = 0; c < classes; c++) {
            uint16_t *slot = &scan->next[((size_t)state << scan->shift) | c];
            uint16_t fallen = scan->next[((size_t)back << scan->shift) | c];
            if (*slot) {
                suffix[*slot] = fallen;
                queue[tail++] = *slot;
            } else {
                *slot = fallen;
            }
        }
    }
}

/* Renumbers so that accepting states come last: one comparison then finds them. */
static bool sort_states(plim__scan *scan) {
    size_t classes = (size_t)1 << scan->shift, states = scan->state_count;
    uint16_t *place = plim__alloc_array(states, sizeof *place);
    uint16_t *next = plim__alloc_array(states << scan->shift, sizeof *next);
    uint16_t *word_of = plim__alloc_array(states, sizeof *word_of), *shorter = plim__alloc_array(states, sizeof *shorter);
    if (!place || !next || !word_of || !shorter) {
        plim__free(place), plim__free(next), plim__free(word_of), plim__free(shorter);
        return false;
    }
    uint16_t low = 0;
    for (size_t s = 0; s < states; s++)
        if (!scan->word_of[s] && !scan->shorter[s]) place[s] = low++;
    scan->first_accepting = low;
    for (size_t s = 0; s < states; s++)
        if (scan->word_of[s] || scan->shorter[s]) place[s] = low++;
    for (size_t s = 0; s < states; s++) {
        for (size_t c = 0; c < classes; c++)
            next[((size_t)place[s] << scan->shift) | c] = place[scan->next[(s << scan->shift) | c]];
        next[((size_t)place[s] << scan->shift) | CLASS_BLANK] = place[s];
        word_of[place[s]] = scan->word_of[s];
        shorter[place[s]] = scan->shorter[s] ? place[scan->shorter[s]] : 0;
    }
    plim__free(place), plim__free(scan->next), plim__free(scan->word_of), plim__free(scan->shorter);
    scan->next = next, scan->word_of = word_of, scan->shorter = shorter;
    return true;
}

plim_status plim__scan_build(plim__scan *scan, const char *const *words, size_t count, plim_error *error) {
    memset(scan, 0, sizeof *scan);
    size_t letters = 1;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(words[i]);
        letters += length;
        if (length > scan->longest) scan->longest = length;
    }
    unsigned classes = classify(scan, words, count);
    while ((1u << scan->shift) < classes) scan->shift++;
    if (letters > UINT16_MAX) return plim__fail(error, PLIM_INTERNAL, "the trigger table is too large");
    scan->next = plim__alloc_zero(letters << scan->shift, sizeof *scan->next);
    scan->word_of = plim__alloc_zero(letters, sizeof *scan->word_of);
    scan->shorter = plim__alloc_zero(letters, sizeof *scan->shorter);
    uint16_t *queue = plim__alloc_zero(letters, sizeof *queue), *suffix = plim__alloc_zero(letters, sizeof *suffix);
    bool good = scan->next && scan->word_of && scan->shorter && queue && suffix;
    if (good) {
        scan->state_count = 1;
        for (size_t i = 0; i < count; i++) add_word(scan, words[i], (uint16_t)i);
        link_states(scan, queue, suffix);
        good = sort_states(scan);
    }
    plim__free(queue), plim__free(suffix);
    if (good) return PLIM_OK;
    plim__scan_free(scan);
    return plim__fail_memory(error, "the trigger table", (letters << scan->shift) * sizeof *scan->next);
}

void plim__scan_free(plim__scan *scan) {
    plim__free(scan->next), plim__free(scan->word_of), plim__free(scan->shorter);
    scan->next = scan->word_of = scan->shorter = NULL;
}

/* Each step waits for the table; four pieces side by side keep the loads in flight. */
bool plim__scan_any(const plim__scan *scan, const char *data, size_t size) {
    const unsigned char *bytes = (const unsigned char *)data;
    const uint16_t *next = scan->next, accepting = scan->first_accepting;
    const uint8_t *class_of = scan->class_of;
    unsigned shift = scan->shift;
    size_t piece = size / STREAMS, i = 0;
    unsigned s0 = 0, s1 = 0, s2 = 0, s3 = 0, top = 0;
    if (piece > 8 * OVERLAP) {
        const unsigned char *p1 = bytes + piece - OVERLAP, *p2 = p1 + piece, *p3 = p2 + piece;
        size_t common = size - 3 * piece;
        for (; i < common; i++) {
            s0 = next[(s0 << shift) | class_of[bytes[i]]];
            s1 = next[(s1 << shift) | class_of[p1[i]]];
            s2 = next[(s2 << shift) | class_of[p2[i]]];
            s3 = next[(s3 << shift) | class_of[p3[i]]];
            unsigned a = s0 > s1 ? s0 : s1, b = s2 > s3 ? s2 : s3;
            a = a > b ? a : b;
            top = a > top ? a : top;
        }
        if (top >= accepting) return true;
        /* the last piece began OVERLAP bytes early, so as many are left */
        for (const unsigned char *p = p3 + i, *end = bytes + size; p < end; p++)
            if ((s3 = next[(s3 << shift) | class_of[*p]]) >= accepting) return true;
        return false;
    }
    for (; i < size; i++)
        if ((s0 = next[(s0 << shift) | class_of[bytes[i]]]) >= accepting) return true;
    return false;
}

uint16_t plim__scan_next(const plim__scan *scan, const char *data, size_t size, size_t *at, uint16_t *state) {
    const unsigned char *bytes = (const unsigned char *)data;
    unsigned s = *state;
    size_t i = *at;
    while (i < size) {
        unsigned class = scan->class_of[bytes[i++]];
        if (class == CLASS_BLANK) continue; /* an accepting state is reported once */
        s = scan->next[(s << scan->shift) | class];
        if (s < scan->first_accepting) continue;
        *at = i;
        return *state = (uint16_t)s;
    }
    *at = i;
    *state = (uint16_t)s;
    return 0;
}
