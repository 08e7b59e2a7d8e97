/* The values of a pickle: small objects with counted references, freed with the last reference, and a
 * pool that finds the rest (cycles) at the end. Freeing never recurses: chains of any length are safe. */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "format/pickle_internal.h"

/* --- the pool ------------------------------------------------------------------------------------------------- */

bool plim__pickle_charge(plim__pickle_pool *pool, size_t bytes) {
    if (bytes > pool->limit - pool->held) {
        pool->refused = true;
        return false;
    }
    pool->held += bytes;
    if (pool->held > pool->peak) pool->peak = pool->held;
    return true;
}

void plim__pickle_refund(plim__pickle_pool *pool, size_t bytes) { pool->held -= bytes; }

static plim__pickle_object *new_slab(plim__pickle_pool *pool) {
    size_t bytes = PICKLE_SLAB * sizeof(plim__pickle_object);
    if (!plim__pickle_charge(pool, bytes)) return NULL;
    plim__pickle_object *slab = plim__alloc_zero(PICKLE_SLAB, sizeof *slab);
    if (slab && plim__vec_push(&pool->slabs, slab)) return slab; /* NOLINT: a vector of pointers is meant */
    plim__free(slab);
    plim__pickle_refund(pool, bytes);
    return NULL;
}

plim__pickle_value plim__pickle_new(plim__pickle_pool *pool, plim__pickle_type type) {
    plim__pickle_object *object = pool->free;
    if (object) {
        pool->free = object->next;
    } else {
        if (pool->slabs.count == 0 || pool->used_in_last == PICKLE_SLAB) {
            if (!new_slab(pool)) return (plim__pickle_value){0};
            pool->used_in_last = 0;
        }
        object = &pool->slabs.items[pool->slabs.count - 1][pool->used_in_last++];
    }
    *object = (plim__pickle_object){.type = (uint8_t)type, .refs = 1};
    return (plim__pickle_value){(uintptr_t)object};
}

plim__pickle_object *plim__pickle_object_of(plim__pickle_value value) {
    return value.word & PICKLE_TAG_MASK ? NULL : (plim__pickle_object *)value.word; /* NOLINT: tagged words */
}

static bool has_text(const plim__pickle_object *object) {
    return object->type == PLIM__PICKLE_STRING || object->type == PLIM__PICKLE_BYTES ||
           object->type == PLIM__PICKLE_BIG;
}

static bool has_items(const plim__pickle_object *object) {
    return object->type >= PLIM__PICKLE_LIST && object->type <= PLIM__PICKLE_PERSISTENT;
}

static void free_payload(plim__pickle_pool *pool, plim__pickle_object *object) {
    if (has_text(object)) {
        plim__pickle_refund(pool, object->capacity);
        plim__free(object->text);
    } else if (has_items(object)) {
        plim__pickle_refund(pool, object->capacity * sizeof *object->items);
        plim__free(object->items);
    }
}

/* Drops one reference; an object that loses its last goes on the list of the dead. */
static void drop(plim__pickle_value value, plim__pickle_object **dead) {
    plim__pickle_object *object = plim__pickle_object_of(value);
    if (!object || --object->refs > 0) return;
    object->next = *dead;
    *dead = object;
}

static void bury(plim__pickle_pool *pool, plim__pickle_object *dead) {
    while (dead) {
        plim__pickle_object *object = dead;
        dead = object->next;
        if (has_items(object))
            for (uint32_t i = 0; i < object->count; i++) drop(object->items[i], &dead);
        free_payload(pool, object);
        object->type = PLIM__PICKLE_ABSENT;
        object->next = pool->free;
        pool->free = object;
    }
}

void plim__pickle_release(plim__pickle_pool *pool, plim__pickle_value value) {
    plim__pickle_object *dead = NULL;
    drop(value, &dead);
    bury(pool, dead);
}

plim__pickle_value plim__pickle_keep(plim__pickle_value value) {
    plim__pickle_object *object = plim__pickle_object_of(value);
    if (object) object->refs++;
    return value;
}

void plim__pickle_fold(plim__pickle_pool *pool, plim__pickle_object *object, int64_t token) {
    plim__pickle_object *dead = NULL;
    for (uint32_t i = 0; i < object->count; i++) drop(object->items[i], &dead);
    free_payload(pool, object);
    object->type = PLIM__PICKLE_FOLDED;
    object->count = object->capacity = 0;
    object->depth = 0;
    object->number = token;
    bury(pool, dead);
}

plim__pickle_value plim__pickle_keep_item(plim__pickle_value item) {
    const plim__pickle_object *object = plim__pickle_object_of(item);
    bool alone = object && object->type == PLIM__PICKLE_FOLDED && object->refs == 1;
    if (!alone || object->number < 0 || object->number >> (63 - PICKLE_TAG_BITS)) return plim__pickle_keep(item);
    return (plim__pickle_value){(uintptr_t)object->number << PICKLE_TAG_BITS | PICKLE_TAG_TOKEN};
}

void plim__pickle_pool_free(plim__pickle_pool *pool) {
    for (size_t s = 0; s < pool->slabs.count; s++) {
        size_t used = s + 1 == pool->slabs.count ? pool->used_in_last : PICKLE_SLAB;
        for (size_t i = 0; i < used; i++) free_payload(pool, &pool->slabs.items[s][i]);
        plim__free(pool->slabs.items[s]);
    }
    plim__vec_free(&pool->slabs);
    pool->free = NULL;
}

/* --- making values -------------------------------------------------------------------------------------------- */

plim__pickle_value plim__pickle_constant(unsigned which) {
    return (plim__pickle_value){(uintptr_t)which << PICKLE_TAG_BITS | PICKLE_TAG_CONSTANT};
}

plim__pickle_value plim__pickle_new_int(plim__pickle_pool *pool, int64_t number) {
    if (sizeof(uintptr_t) >= 8 && number >= -(INT64_C(1) << 60) && number < INT64_C(1) << 60)
        return (plim__pickle_value){(uintptr_t)((uint64_t)number << PICKLE_TAG_BITS | PICKLE_TAG_INT)};
    plim__pickle_value value = plim__pickle_new(pool, PLIM__PICKLE_INT);
    if (value.word) plim__pickle_object_of(value)->number = number;
    return value;
}

plim__pickle_value plim__pickle_new_text(plim__pickle_pool *pool, plim__pickle_type type, const char *text,
                                         size_t length) {
    if (length >= UINT32_MAX) pool->refused = true;
    if (length >= UINT32_MAX) return (plim__pickle_value){0};
    plim__pickle_value value = plim__pickle_new(pool, type);
    if (!value.word) return value;
    plim__pickle_object *object = plim__pickle_object_of(value);
    if (plim__pickle_charge(pool, length + 1)) {
        object->text = plim__alloc(length + 1);
        if (object->text) {
            memcpy(object->text, text, length);
            object->text[length] = 0;
            object->count = (uint32_t)length;
            object->capacity = (uint32_t)length + 1;
            return value;
        }
        plim__pickle_refund(pool, length + 1);
    }
    plim__pickle_release(pool, value);
    return (plim__pickle_value){0};
}

static bool resize(plim__pickle_pool *pool, plim__pickle_object *object, size_t capacity) {
    size_t more = (capacity - object->capacity) * sizeof *object->items;
    if (capacity > UINT32_MAX) pool->refused = true;
    if (capacity > UINT32_MAX || !plim__pickle_charge(pool, more)) return false;
    plim__pickle_value *items = plim__realloc(object->items, capacity, sizeof *items);
    if (!items) {
        plim__pickle_refund(pool, more);
        return false;
    }
    object->items = items;
    object->capacity = (uint32_t)capacity;
    return true;
}

bool plim__pickle_reserve(plim__pickle_pool *pool, plim__pickle_object *object, size_t more) {
    size_t need = object->count + more;
    if (need <= object->capacity) return true;
    if (object->capacity && need < object->capacity + object->capacity / 2)
        need = object->capacity + object->capacity / 2;
    return resize(pool, object, need);
}

bool plim__pickle_push(plim__pickle_pool *pool, plim__pickle_object *object, plim__pickle_value item) {
    if (object->count == object->capacity && !plim__pickle_reserve(pool, object, object->capacity ? 1 : 4)) {
        plim__pickle_release(pool, item);
        return false;
    }
    object->items[object->count++] = item;
    return true;
}

/* --- looking at values ---------------------------------------------------------------------------------------- */

static const plim__pickle_object *object_if(plim__pickle_value value, plim__pickle_type type) {
    const plim__pickle_object *object = plim__pickle_object_of(value);
    return object && object->type == type ? object : NULL;
}

plim__pickle_type plim__pickle_type_of(plim__pickle_value value) {
    if (!value.word) return PLIM__PICKLE_ABSENT;
    switch (value.word & PICKLE_TAG_MASK) {
    case PICKLE_TAG_INT: return PLIM__PICKLE_INT;
    case PICKLE_TAG_CONSTANT: return value.word >> PICKLE_TAG_BITS ? PLIM__PICKLE_BOOL : PLIM__PICKLE_NONE;
    case PICKLE_TAG_TOKEN: return PLIM__PICKLE_FOLDED;
    default: return (plim__pickle_type)plim__pickle_object_of(value)->type;
    }
}

bool plim__pickle_int(plim__pickle_value value, int64_t *number) {
    plim__pickle_type type = plim__pickle_type_of(value);
    if (type == PLIM__PICKLE_BOOL)
        *number = (int64_t)(value.word >> PICKLE_TAG_BITS) - 1;
    else if (type != PLIM__PICKLE_INT)
        return false;
    else if ((value.word & PICKLE_TAG_MASK) == PICKLE_TAG_INT)
        *number = (int64_t)value.word >> PICKLE_TAG_BITS;
    else
        *number = plim__pickle_object_of(value)->number;
    return true;
}

bool plim__pickle_uint(plim__pickle_value value, uint64_t *number) {
    int64_t plain;
    if (plim__pickle_int(value, &plain)) {
        *number = (uint64_t)plain;
        return plain >= 0;
    }
    const plim__pickle_object *big = object_if(value, PLIM__PICKLE_BIG);
    if (!big || big->count != 9 || big->text[8] != 0) return false; /* eight bytes and a zero for the sign */
    *number = 0;
    for (int i = 7; i >= 0; i--) *number = *number << 8 | (unsigned char)big->text[i];
    return true;
}

bool plim__pickle_double(plim__pickle_value value, double *number) {
    int64_t plain;
    const plim__pickle_object *object = plim__pickle_object_of(value);
    if (plim__pickle_int(value, &plain)) {
        *number = (double)plain;
    } else if (object && object->type == PLIM__PICKLE_FLOAT) {
        *number = object->real;
    } else if (object && object->type == PLIM__PICKLE_BIG) {
        *number = 0;
        for (uint32_t i = 0; i < object->count; i++) *number += ldexp((unsigned char)object->text[i], (int)(8 * i));
        if (object->text[object->count - 1] & 0x80) *number -= ldexp(1, (int)(8 * object->count));
    } else {
        return false;
    }
    return true;
}

const char *plim__pickle_text(plim__pickle_value value, size_t *length) {
    const plim__pickle_object *object = plim__pickle_object_of(value);
    if (!object || (object->type != PLIM__PICKLE_STRING && object->type != PLIM__PICKLE_BYTES)) return NULL;
    if (length) *length = object->count;
    return object->text;
}

bool plim__pickle_text_is(plim__pickle_value value, const char *text) {
    const plim__pickle_object *object = object_if(value, PLIM__PICKLE_STRING);
    return object && object->count == strlen(text) && memcmp(object->text, text, object->count) == 0;
}

/* A CALL's items are in its fourth part, a LIST or a DICT, if anything was added to it. */
static const plim__pickle_object *holder(plim__pickle_value value) {
    const plim__pickle_object *object = plim__pickle_object_of(value);
    if (!object || object->type != PLIM__PICKLE_CALL) return object;
    return plim__pickle_object_of(object->items[3]);
}

size_t plim__pickle_count(plim__pickle_value value) {
    const plim__pickle_object *object = holder(value);
    if (!object) return 0;
    if (object->type == PLIM__PICKLE_DICT) return object->count / 2;
    return object->type >= PLIM__PICKLE_LIST && object->type <= PLIM__PICKLE_SET ? object->count : 0;
}

plim__pickle_value plim__pickle_at(plim__pickle_value value, size_t index) {
    const plim__pickle_object *object = holder(value);
    if (!object || object->type < PLIM__PICKLE_LIST || object->type > PLIM__PICKLE_SET || index >= object->count)
        return (plim__pickle_value){0};
    return object->items[index];
}

bool plim__pickle_pair(plim__pickle_value value, size_t index, plim__pickle_value *key, plim__pickle_value *item) {
    const plim__pickle_object *object = holder(value);
    if (!object || object->type != PLIM__PICKLE_DICT || index >= object->count / 2) return false;
    *key = object->items[2 * index];
    *item = object->items[2 * index + 1];
    return true;
}

plim__pickle_value plim__pickle_get(plim__pickle_value value, const char *key) {
    const plim__pickle_object *object = holder(value);
    if (object && object->type == PLIM__PICKLE_DICT)
        for (uint32_t i = object->count; i >= 2; i -= 2)
            if (plim__pickle_text_is(object->items[i - 2], key)) return object->items[i - 1];
    return (plim__pickle_value){0};
}

bool plim__pickle_global(plim__pickle_value value, const char **module, const char **name) {
    const plim__pickle_object *object = object_if(value, PLIM__PICKLE_GLOBAL);
    if (!object) return false;
    *module = plim__pickle_text(object->items[0], NULL);
    *name = plim__pickle_text(object->items[1], NULL);
    return true;
}

bool plim__pickle_global_is(plim__pickle_value value, const char *module, const char *name) {
    const plim__pickle_object *object = object_if(value, PLIM__PICKLE_GLOBAL);
    return object && plim__pickle_text_is(object->items[0], module) && plim__pickle_text_is(object->items[1], name);
}

static plim__pickle_value part(plim__pickle_value value, plim__pickle_type type, size_t index) {
    const plim__pickle_object *object = object_if(value, type);
    return object ? object->items[index] : (plim__pickle_value){0};
}

plim__pickle_value plim__pickle_callable(plim__pickle_value value) { return part(value, PLIM__PICKLE_CALL, 0); }
plim__pickle_value plim__pickle_arguments(plim__pickle_value value) { return part(value, PLIM__PICKLE_CALL, 1); }
plim__pickle_value plim__pickle_state(plim__pickle_value value) { return part(value, PLIM__PICKLE_CALL, 2); }
plim__pickle_value plim__pickle_persistent(plim__pickle_value value) { return part(value, PLIM__PICKLE_PERSISTENT, 0); }

bool plim__pickle_token(plim__pickle_value value, int64_t *token) {
    if ((value.word & PICKLE_TAG_MASK) == PICKLE_TAG_TOKEN)
        return *token = (int64_t)(value.word >> PICKLE_TAG_BITS), true;
    const plim__pickle_object *object = object_if(value, PLIM__PICKLE_FOLDED);
    if (object) *token = object->number;
    return object != NULL;
}
