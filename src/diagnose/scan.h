/* Finding any of many trigger words in one pass, whatever the white space between their letters.
 *
 * An Aho-Corasick automaton over bytes folded into classes: case is ignored, and white space is transparent (a
 * state stays where it is), so "out of\r\n memory" and a word cut by a wrap both meet the trigger "outofmemory".
 *
 * A short log is read along the trie, which is small, and the links between its nodes are made where a log goes along them;
 * the table of all steps is filled when a log turns out to be long.
 */
#ifndef PLIM_DIAGNOSE_SCAN_H
#define PLIM_DIAGNOSE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plimsoll/status.h"

typedef struct plim__scan_node plim__scan_node;

typedef struct plim__scan {
    uint8_t class_of[256];
    uint16_t root[256]; /* class -> node behind the root */
    unsigned shift;     /* log2 of the number of classes */
    plim__scan_node *nodes;
    uint16_t *same; /* trigger -> 1 + one before it with the same letters, 0 for none */
    uint16_t node_count;
    /* filled for long logs: nodes are states there, numbered so that those that end a trigger come last */
    uint16_t *order;   /* the nodes, breadth first */
    uint16_t *node_of; /* state -> node */
    uint16_t *next;    /* state << shift | class -> state; NULL until it is filled */
    uint16_t first_accepting;
    size_t longest;
} plim__scan;

/* `words` without white space, in any case. */
plim_status plim__scan_build(plim__scan *scan, const char *const *words, size_t count, plim_error *error);
/* Fills the table, for many bytes. Does nothing when it is filled. */
plim_status plim__scan_fill(plim__scan *scan, plim_error *error);
void plim__scan_free(plim__scan *scan);

/* Whether any trigger occurs, as fast as the machine reads; the table must be filled. */
bool plim__scan_any(const plim__scan *scan, const char *data, size_t size);

/* Goes on from *node over data[*at .. size), with 0 at the beginning; stops behind the first trigger's last byte and
 * returns its node, or 0 at the end. */
uint16_t plim__scan_next(const plim__scan *scan, const char *data, size_t size, size_t *at, uint16_t *node);

/* 1 + the longest trigger that ends at a node that was returned (of equal ones the last), 0 for none. */
uint16_t plim__scan_word(const plim__scan *scan, uint16_t node);
/* The node of the next shorter trigger that ends there, 0 for none. */
uint16_t plim__scan_shorter(const plim__scan *scan, uint16_t node);

#endif
