/* The hash of a stream. */
#include "core/hash.h"

#include <string.h>

#include "core/random.h"

enum { ROUND = 32 };

static uint64_t step(uint64_t lane, uint64_t word) {
    lane = (lane ^ word) * 0x9fb21c651e98df25u;
    return lane << 29 | lane >> 35;
}

static void add_rounds(uint64_t lanes[4], const unsigned char *at, size_t rounds) {
    uint64_t a = lanes[0], b = lanes[1], c = lanes[2], d = lanes[3];
    for (; rounds > 0; rounds--, at += ROUND) {
        uint64_t words[4];
        memcpy(words, at, ROUND);
        a = step(a, words[0]);
        b = step(b, words[1]);
        c = step(c, words[2]);
        d = step(d, words[3]);
    }
    lanes[0] = a;
    lanes[1] = b;
    lanes[2] = c;
    lanes[3] = d;
}

void plim__hash_add(plim__hash *hash, const void *data, size_t size) {
    const unsigned char *at = data;
    size_t held = (size_t)(hash->length % ROUND);
    hash->length += size;
    if (held > 0) {
        size_t more = size < ROUND - held ? size : ROUND - held;
        if (more > 0) memcpy(hash->rest + held, at, more);
        if (held + more < ROUND) return;
        add_rounds(hash->lanes, hash->rest, 1);
        at += more;
        size -= more;
    }
    if (size >= ROUND) add_rounds(hash->lanes, at, size / ROUND);
    if (size % ROUND) memcpy(hash->rest, at + size / ROUND * ROUND, size % ROUND);
}

void plim__hash_add_text(plim__hash *hash, const char *text) {
    plim__hash_add(hash, text ? text : "", text ? strlen(text) + 1 : 1);
}

void plim__hash_add_number(plim__hash *hash, int64_t number) { plim__hash_add(hash, &number, sizeof number); }

uint64_t plim__hash_value(const plim__hash *hash) {
    uint64_t lanes[4], value = hash->length;
    unsigned char last[ROUND] = {0};
    memcpy(lanes, hash->lanes, sizeof lanes);
    memcpy(last, hash->rest, (size_t)(hash->length % ROUND));
    add_rounds(lanes, last, 1);
    for (int i = 0; i < 4; i++) value = plim__random_mix(value ^ plim__random_mix(lanes[i]));
    return value;
}
