/* Inside the pickle reader: objects with counted references, the buffered input, the memo. */
#ifndef PLIM_FORMAT_PICKLE_INTERNAL_H
#define PLIM_FORMAT_PICKLE_INTERNAL_H

#include "core/vec.h"
#include "format/pickle.h"

/* A value's word:  ......000 pointer to an object (0 is absent)   ......001 integer of 61 bits
 *                  ......010 None, False, True (above the tag: 0, 1, 2)   ......011 a visitor's token of 61 bits */
enum { PICKLE_TAG_BITS = 3, PICKLE_TAG_MASK = 7, PICKLE_TAG_INT = 1, PICKLE_TAG_CONSTANT = 2, PICKLE_TAG_TOKEN = 3 };

typedef struct plim__pickle_object {
    uint8_t type;   /* plim__pickle_type */
    bool visited;   /* the visitor has seen it */
    uint16_t depth; /* of what it contains, as known when it was filled */
    uint32_t refs;
    uint32_t count, capacity; /* items in use and allocated (a dict's pairs are two items); bytes of text */
    union {
        plim__pickle_value *items; /* containers; GLOBAL: module, name; CALL: callable, arguments, state, extra */
        char *text;                /* STRING, BYTES, BIG (little-endian two's complement) */
        int64_t number;            /* INT beyond 61 bits, FOLDED */
        double real;
    };
    struct plim__pickle_object *next; /* in the list of free objects, or of those about to be freed */
} plim__pickle_object;

/* Objects live in slabs that never move; freed ones are used again. Slabs also find what cycles kept alive. */
enum { PICKLE_SLAB = 512 };
typedef struct plim__pickle_pool {
    PLIM_VEC(plim__pickle_object *) slabs;
    plim__pickle_object *free;
    size_t used_in_last;      /* of the newest slab */
    size_t held, peak, limit; /* bytes of everything: objects, payloads, memo, stack */
    bool refused;             /* something did not fit the limit: tells that apart from a failed malloc */
} plim__pickle_pool;

enum { PICKLE_CALL_ITEMS = 4 };

/* Accounts for memory about to be allocated; false past the limit. */
bool plim__pickle_charge(plim__pickle_pool *pool, size_t bytes);
void plim__pickle_refund(plim__pickle_pool *pool, size_t bytes);
/* A new object with one reference; ABSENT when memory or the limit is short. */
plim__pickle_value plim__pickle_new(plim__pickle_pool *pool, plim__pickle_type type);
plim__pickle_value plim__pickle_new_int(plim__pickle_pool *pool, int64_t number);
plim__pickle_value plim__pickle_new_text(plim__pickle_pool *pool, plim__pickle_type type, const char *text,
                                         size_t length);
plim__pickle_value plim__pickle_constant(unsigned which);              /* 0 None, 1 False, 2 True */
plim__pickle_object *plim__pickle_object_of(plim__pickle_value value); /* NULL when it is not an object */
plim__pickle_value plim__pickle_keep(plim__pickle_value value);        /* one reference more */
void plim__pickle_release(plim__pickle_pool *pool, plim__pickle_value value);
/* Adds an item and takes over the caller's reference, also when it fails. */
bool plim__pickle_push(plim__pickle_pool *pool, plim__pickle_object *object, plim__pickle_value item);
/* Room for exactly `more` further items: most containers are filled once. */
bool plim__pickle_reserve(plim__pickle_pool *pool, plim__pickle_object *object, size_t more);
void plim__pickle_fold(plim__pickle_pool *pool, plim__pickle_object *object, int64_t token);
/* What a list keeps of an item: a folded object that nothing else refers to becomes its token alone, so that a
 * list of millions of them takes eight bytes each; anything else gets one reference more. */
plim__pickle_value plim__pickle_keep_item(plim__pickle_value item);
void plim__pickle_pool_free(plim__pickle_pool *pool);

/* --- input ---------------------------------------------------------------------------------------------------- */

typedef struct plim__pickle_input {
    const plim__pickle_source *source;
    const char *name;
    unsigned char *buffer;
    size_t at, filled;
    uint64_t start; /* of the buffer, in the pickle */
    char *text;     /* the argument of the current opcode; grows, charged to the pool */
    size_t text_length, text_capacity;
    plim__pickle_pool *pool;
} plim__pickle_input;

/* One opcode and its argument. */
typedef struct plim__pickle_step {
    unsigned char opcode;
    uint64_t number;  /* fixed-size argument, or the length of a counted one */
    const char *text; /* counted argument or line, zero-terminated; valid until the next step */
    size_t length;
    size_t second; /* opcodes with two lines: where the second one starts in text */
} plim__pickle_step;

plim_status plim__pickle_input_open(plim__pickle_input *input, plim_error *error);
void plim__pickle_input_close(plim__pickle_input *input);
uint64_t plim__pickle_input_offset(const plim__pickle_input *input);
/* Reads the next opcode; with `skip` counted arguments are passed over and step->text is only set for lines. */
plim_status plim__pickle_next(plim__pickle_input *input, bool skip, plim__pickle_step *step, plim_error *error);
plim_status plim__pickle_malformed(const plim__pickle_input *input, const char *what, plim_error *error);
plim_status plim__pickle_too_large(const plim__pickle_input *input, plim_error *error);

/* --- memo ----------------------------------------------------------------------------------------------------- */

typedef struct plim__pickle_memo {
    struct plim__pickle_memo_slot *slots; /* open addressing, a power of two */
    size_t count, capacity;
    uint64_t next; /* the number that MEMOIZE gives */
    uint8_t *uses; /* by number: how often it is read from here on, 255 for "often"; NULL when not scanned */
    size_t uses_count;
} plim__pickle_memo;

/* Reads the whole pickle once to count the uses of each memo number. */
plim_status plim__pickle_memo_scan(plim__pickle_memo *memo, plim__pickle_input *input, plim_error *error);
/* Stores a new reference to `value`, unless it is never read again. False when memory is short. */
bool plim__pickle_memo_put(plim__pickle_memo *memo, plim__pickle_pool *pool, uint64_t number, plim__pickle_value value);
/* A reference for the caller; ABSENT when the number was never stored. */
plim__pickle_value plim__pickle_memo_get(plim__pickle_memo *memo, plim__pickle_pool *pool, uint64_t number);
void plim__pickle_memo_free(plim__pickle_memo *memo, plim__pickle_pool *pool);
/* The number in a text GET or PUT; false when it is not one. */
bool plim__pickle_memo_number(const char *text, uint64_t *number);

/* --- text arguments (protocol 0) ------------------------------------------------------------------------------ */

/* Each gives a value with one reference, ABSENT when the text is malformed or memory is short (*bad tells). */
plim__pickle_value plim__pickle_decimal(plim__pickle_pool *pool, const char *text, bool *bad);
plim__pickle_value plim__pickle_binary_int(plim__pickle_pool *pool, const char *bytes, size_t length);
plim__pickle_value plim__pickle_quoted(plim__pickle_pool *pool, char *text, size_t length, bool *bad);
plim__pickle_value plim__pickle_raw_unicode(plim__pickle_pool *pool, const char *text, size_t length, bool *bad);

#endif
