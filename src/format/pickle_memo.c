/* The memo: how a pickle refers to an object that it has already written, by number. CPython numbers every
 * container and string, millions in a long trace, and uses few of the numbers again; counting the uses first
 * lets the reader release an object after its last. */
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "format/pickle_internal.h"

enum { OFTEN = 255 };

typedef struct plim__pickle_memo_slot {
    uint64_t number;
    plim__pickle_value value; /* ABSENT in an empty slot */
} slot;

bool plim__pickle_memo_number(const char *text, uint64_t *number) {
    if (*text < '0' || *text > '9') return false;
    char *end;
    *number = strtoull(text, &end, 10);
    return (*end == 0 || *end == '\r') && *number <= UINT32_MAX;
}

/* --- the scan ------------------------------------------------------------------------------------------------- */

static plim_status count_use(plim__pickle_memo *memo, plim__pickle_input *input, uint64_t number, plim_error *error) {
    if (number >= memo->next) return plim__pickle_malformed(input, "it refers to an object before it is there", error);
    if (number >= memo->uses_count) {
        size_t count = memo->uses_count ? memo->uses_count : 1024;
        while (count <= number) count *= 2;
        if (!plim__pickle_charge(input->pool, count - memo->uses_count)) return plim__pickle_too_large(input, error);
        uint8_t *uses = plim__realloc(memo->uses, count, 1);
        if (!uses) {
            plim__pickle_refund(input->pool, count - memo->uses_count);
            return plim__fail_memory(error, "the memo of a pickle", count);
        }
        memset(uses + memo->uses_count, 0, count - memo->uses_count);
        memo->uses = uses;
        memo->uses_count = count;
    }
    if (memo->uses[number] < OFTEN) memo->uses[number]++;
    return PLIM_OK;
}

plim_status plim__pickle_memo_scan(plim__pickle_memo *memo, plim__pickle_input *input, plim_error *error) {
    plim__pickle_step step = {0};
    memo->uses = plim__alloc_zero(1, 1); /* there even when nothing is ever used */
    if (!memo->uses) return plim__fail_memory(error, "the memo of a pickle", 1);
    memo->uses_count = 1;
    if (!plim__pickle_charge(input->pool, 1)) return plim__pickle_too_large(input, error);
    do {
        PLIM_TRY(plim__pickle_next(input, true, &step, error));
        bool text = step.opcode == 'g' || step.opcode == 'p';
        if (text && !plim__pickle_memo_number(step.text, &step.number))
            return plim__pickle_malformed(input, "a memo number is not a number", error);
        switch (step.opcode) {
        case 'g':
        case 'h':
        case 'j': PLIM_TRY(count_use(memo, input, step.number, error)); break;
        case 'p':
        case 'q':
        case 'r': memo->next = step.number >= memo->next ? step.number + 1 : memo->next; break;
        case 0x94: memo->next++; break;
        default: break;
        }
    } while (step.opcode != '.');
    memo->next = 0;
    return PLIM_OK;
}

/* --- the table ------------------------------------------------------------------------------------------------ */

static size_t home(uint64_t number, size_t capacity) {
    return (size_t)(number * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (capacity - 1);
}

/* The slot of a number, or the empty one where it belongs. */
static slot *find(const plim__pickle_memo *memo, uint64_t number) {
    size_t at = home(number, memo->capacity);
    while (memo->slots[at].value.word && memo->slots[at].number != number) at = (at + 1) & (memo->capacity - 1);
    return &memo->slots[at];
}

static bool grow(plim__pickle_memo *memo, plim__pickle_pool *pool) {
    plim__pickle_memo larger = *memo;
    larger.capacity = memo->capacity ? 2 * memo->capacity : 64;
    if (!plim__pickle_charge(pool, larger.capacity * sizeof(slot))) return false;
    larger.slots = plim__alloc_zero(larger.capacity, sizeof(slot));
    if (!larger.slots) {
        plim__pickle_refund(pool, larger.capacity * sizeof(slot));
        return false;
    }
    for (size_t i = 0; i < memo->capacity; i++)
        if (memo->slots[i].value.word) *find(&larger, memo->slots[i].number) = memo->slots[i];
    plim__pickle_refund(pool, memo->capacity * sizeof(slot));
    plim__free(memo->slots);
    *memo = larger;
    return true;
}

/* Moves later slots of the chain back over the hole, so that no chain is broken. */
static void erase(plim__pickle_memo *memo, slot *gone) {
    size_t mask = memo->capacity - 1, hole = (size_t)(gone - memo->slots);
    for (size_t at = (hole + 1) & mask; memo->slots[at].value.word; at = (at + 1) & mask) {
        size_t wanted = home(memo->slots[at].number, memo->capacity);
        if (((at - wanted) & mask) < ((at - hole) & mask)) continue; /* it would move before its home */
        memo->slots[hole] = memo->slots[at];
        hole = at;
    }
    memo->slots[hole] = (slot){0};
    memo->count--;
}

static bool wanted_later(const plim__pickle_memo *memo, uint64_t number) {
    return !memo->uses || (number < memo->uses_count && memo->uses[number] > 0);
}

bool plim__pickle_memo_put(plim__pickle_memo *memo, plim__pickle_pool *pool, uint64_t number,
                           plim__pickle_value value) {
    if (number >= memo->next) memo->next = number + 1;
    if (!wanted_later(memo, number)) return true;
    if (2 * (memo->count + 1) > memo->capacity && !grow(memo, pool)) return false;
    slot *place = find(memo, number);
    plim__pickle_value old = place->value;
    if (!old.word) memo->count++;
    *place = (slot){number, plim__pickle_keep(value)};
    plim__pickle_release(pool, old);
    return true;
}

plim__pickle_value plim__pickle_memo_get(plim__pickle_memo *memo, plim__pickle_pool *pool, uint64_t number) {
    (void)pool;
    if (!memo->capacity) return (plim__pickle_value){0};
    slot *place = find(memo, number);
    plim__pickle_value value = place->value;
    if (!value.word) return value;
    if (!memo->uses || number >= memo->uses_count || memo->uses[number] == OFTEN) return plim__pickle_keep(value);
    if (--memo->uses[number] > 0) return plim__pickle_keep(value);
    erase(memo, place); /* the memo's own reference becomes the caller's */
    return value;
}

void plim__pickle_memo_free(plim__pickle_memo *memo, plim__pickle_pool *pool) {
    for (size_t i = 0; i < memo->capacity; i++) plim__pickle_release(pool, memo->slots[i].value);
    plim__pickle_refund(pool, memo->capacity * sizeof(slot) + memo->uses_count);
    plim__free(memo->slots);
    plim__free(memo->uses);
    *memo = (plim__pickle_memo){0};
}
