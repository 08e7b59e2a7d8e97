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

/* The trie that the automaton is made from. Nodes are numbered in the order of their making. */
struct plim__scan_node {
    uint32_t children;       /* a bit for each class, modulo 32: most look-ups end here */
    uint16_t child, sibling; /* 0 for none: the root is no node's child */
    uint16_t suffix;         /* the node of the longest proper suffix */
    uint16_t word;           /* 1 + the trigger that ends here */
    uint16_t shorter;        /* the next node along the suffixes where a trigger ends */
    uint16_t state;          /* its number in the table */
    uint16_t parent;
    uint8_t class;
    bool linked; /* suffix and shorter are known */
};
typedef plim__scan_node node;

static uint16_t find_child(const node *nodes, uint16_t parent, uint8_t class) {
    if (!(nodes[parent].children >> class % 32 & 1)) return 0;
    uint16_t child = nodes[parent].child;
    while (child && nodes[child].class != class) child = nodes[child].sibling;
    return child;
}

static void add_word(plim__scan *scan, node *nodes, uint16_t *count, const char *word, uint16_t id) {
    uint16_t at = 0;
    for (const char *c = word; *c; c++) {
        uint8_t class = scan->class_of[fold((unsigned char)*c)];
        uint16_t child = at ? find_child(nodes, at, class) : scan->root[class];
        if (!child) {
            child = (*count)++;
            nodes[child] = (node){.class = class, .sibling = nodes[at].child, .parent = at};
            nodes[at].child = child;
            nodes[at].children |= 1u << class % 32;
            if (!at) scan->root[class] = child;
        }
        at = child;
    }
    scan->same[id] = nodes[at].word;
    nodes[at].word = (uint16_t)(id + 1);
}

/* A node's suffix is found from its parent's, which is shorter: as deep as a trigger is long at most. */
static void link_node(const plim__scan *scan, uint16_t at) {
    node *n = &scan->nodes[at];
    if (n->linked || !at) return;
    uint16_t back = n->parent;
    while (back && !n->suffix) { /* the next shorter one that goes on with this letter */
        link_node(scan, back);
        back = scan->nodes[back].suffix;
        n->suffix = back ? find_child(scan->nodes, back, n->class) : scan->root[n->class];
    }
    link_node(scan, n->suffix);
    const node *suffix = &scan->nodes[n->suffix];
    n->shorter = suffix->word ? n->suffix : suffix->shorter;
    n->linked = true;
}

/* One step along the trie: back to shorter suffixes until one goes on with this letter. */
static uint16_t step(const plim__scan *scan, uint16_t at, uint8_t class) {
    while (at) {
        uint16_t child = find_child(scan->nodes, at, class);
        if (child) return child;
        link_node(scan, at);
        at = scan->nodes[at].suffix;
    }
    return scan->root[class];
}

/* Breadth first: a node's suffix, which is shorter, comes before it. */
static void put_in_order(plim__scan *scan) {
    uint16_t head = 0, tail = 0;
    scan->order[tail++] = 0;
    while (head < tail) {
        uint16_t parent = scan->order[head++];
        for (uint16_t child = scan->nodes[parent].child; child; child = scan->nodes[child].sibling) {
            scan->order[tail++] = child;
            link_node(scan, child);
        }
    }
}

/* Accepting states come last: one comparison then finds them. */
static void number_states(plim__scan *scan) {
    node *nodes = scan->nodes;
    uint16_t state = 0;
    for (int accepting = 0; accepting < 2; accepting++) {
        if (accepting) scan->first_accepting = state;
        for (uint16_t i = 0; i < scan->node_count; i++) {
            if ((nodes[i].word || nodes[i].shorter) != (accepting == 1)) continue;
            scan->node_of[state] = i;
            nodes[i].state = state++;
        }
    }
}

/* A state's steps are those of its suffix, but for its own children; white space stays. */
static void fill_table(plim__scan *scan) {
    size_t row_bytes = sizeof *scan->next << scan->shift;
    for (uint16_t i = 0; i < scan->node_count; i++) {
        const node *nodes = scan->nodes, *at = &nodes[scan->order[i]];
        uint16_t *row = &scan->next[(size_t)at->state << scan->shift];
        if (scan->order[i])
            memcpy(row, &scan->next[(size_t)nodes[at->suffix].state << scan->shift], row_bytes);
        else
            memset(row, 0, row_bytes);
        for (uint16_t child = at->child; child; child = nodes[child].sibling)
            row[nodes[child].class] = nodes[child].state;
        row[CLASS_BLANK] = at->state;
    }
}

plim_status plim__scan_fill(plim__scan *scan, plim_error *error) {
    if (scan->next) return PLIM_OK;
    size_t entries = (size_t)scan->node_count << scan->shift;
    if (!scan->order) scan->order = plim__alloc_array(scan->node_count, sizeof *scan->order);
    if (!scan->node_of) scan->node_of = plim__alloc_array(scan->node_count, sizeof *scan->node_of);
    if (scan->order && scan->node_of) scan->next = plim__alloc_array(entries, sizeof *scan->next);
    if (!scan->next) return plim__fail_memory(error, "the trigger table", entries * sizeof *scan->next);
    put_in_order(scan);
    number_states(scan);
    fill_table(scan);
    return PLIM_OK;
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
    scan->nodes = plim__alloc_zero(letters, sizeof *scan->nodes);
    scan->same = plim__alloc_array(count ? count : 1, sizeof *scan->same);
    scan->node_count = 1;
    if (scan->nodes && scan->same) {
        for (size_t i = 0; i < count; i++) add_word(scan, scan->nodes, &scan->node_count, words[i], (uint16_t)i);
        return PLIM_OK;
    }
    plim__scan_free(scan);
    return plim__fail_memory(error, "the trigger words", letters * sizeof *scan->nodes);
}

void plim__scan_free(plim__scan *scan) {
    plim__free(scan->next), plim__free(scan->order), plim__free(scan->node_of);
    plim__free(scan->nodes), plim__free(scan->same);
    scan->next = scan->order = scan->node_of = scan->same = NULL;
    scan->nodes = NULL;
}

uint16_t plim__scan_word(const plim__scan *scan, uint16_t at) { return scan->nodes[at].word; }
uint16_t plim__scan_shorter(const plim__scan *scan, uint16_t at) { return scan->nodes[at].shorter; }

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

static uint16_t next_in_table(const plim__scan *scan, const unsigned char *bytes, size_t size, size_t *at,
                              uint16_t *to) {
    unsigned s = scan->nodes[*to].state;
    size_t i = *at;
    bool found = false;
    while (i < size && !found) {
        uint8_t class = scan->class_of[bytes[i++]];
        if (class == CLASS_BLANK) continue; /* an accepting state is reported once */
        s = scan->next[(s << scan->shift) | class];
        found = s >= scan->first_accepting;
    }
    *at = i;
    *to = scan->node_of[s];
    return found ? *to : 0;
}

static uint16_t next_in_trie(const plim__scan *scan, const unsigned char *bytes, size_t size, size_t *at,
                             uint16_t *to) {
    uint16_t s = *to;
    size_t i = *at;
    bool found = false;
    while (i < size && !found) {
        uint8_t class = scan->class_of[bytes[i++]];
        if (class == CLASS_BLANK) continue;
        s = step(scan, s, class);
        if (!scan->nodes[s].linked) link_node(scan, s);
        found = scan->nodes[s].word || scan->nodes[s].shorter;
    }
    *at = i;
    *to = s;
    return found ? s : 0;
}

uint16_t plim__scan_next(const plim__scan *scan, const char *data, size_t size, size_t *at, uint16_t *to) {
    const unsigned char *bytes = (const unsigned char *)data;
    return scan->next ? next_in_table(scan, bytes, size, at, to) : next_in_trie(scan, bytes, size, at, to);
}
