/* A fast 64-bit hash over a stream of bytes: finds damage and tells things apart; it is no defence against someone who
 * wants two inputs to collide.
 *
 * Four lanes take every fourth 8-byte word; each step is a bijection of the lane for a given word and of the word for
 * a given lane, so a change within any one word always changes the result. */
#ifndef PLIM_CORE_HASH_H
#define PLIM_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct plim__hash {
    uint64_t lanes[4];
    uint64_t length;
    unsigned char rest[32]; /* bytes that do not fill a round yet: length % 32 of them */
} plim__hash;

#define PLIM_HASH_START ((plim__hash){.lanes = {1, 2, 3, 4}})

/* The result does not depend on how the bytes are cut into calls. */
void plim__hash_add(plim__hash *hash, const void *data, size_t size);
/* Strings and numbers with an end of their own, so that ("ab", "c") is not ("a", "bc"). NULL counts as "". */
void plim__hash_add_text(plim__hash *hash, const char *text);
void plim__hash_add_number(plim__hash *hash, int64_t number);
/* More may be added afterwards. */
uint64_t plim__hash_value(const plim__hash *hash);

#endif
