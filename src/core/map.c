/* Open addressing with linear probing; removal shifts the run back, so there are no tombstones. */
#include "core/map.h"

#include <string.h>

#include "core/alloc.h"

struct plim__map_slot {
    char *key; /* NULL: empty */
    uint64_t hash;
    int64_t value;
};

static uint64_t hash_of(const char *key) { /* FNV-1a */
    uint64_t h = 1469598103934665603u;
    for (; *key; key++) h = (h ^ (unsigned char)*key) * 1099511628211u;
    return h;
}

/* The slot that holds the key, or the empty slot where it belongs. capacity is a power of two. */
static struct plim__map_slot *find(const plim__map *map, const char *key, uint64_t hash) {
    for (size_t i = (size_t)hash;; i++) {
        struct plim__map_slot *slot = &map->slots[i & (map->capacity - 1)];
        if (!slot->key || (slot->hash == hash && strcmp(slot->key, key) == 0)) return slot;
    }
}

static bool grow(plim__map *map) {
    plim__map next = {.capacity = map->capacity ? map->capacity * 2 : 16, .count = map->count};
    next.slots = plim__alloc_zero(next.capacity, sizeof *next.slots);
    if (!next.slots) return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].key) *find(&next, map->slots[i].key, map->slots[i].hash) = map->slots[i];
    plim__free(map->slots);
    *map = next;
    return true;
}

bool plim__map_put(plim__map *map, const char *key, int64_t value) {
    if ((map->count + 1) * 4 > map->capacity * 3 && !grow(map)) return false;
    uint64_t hash = hash_of(key);
    struct plim__map_slot *slot = find(map, key, hash);
    if (!slot->key) {
        slot->key = plim__strdup(key);
        if (!slot->key) return false;
        slot->hash = hash;
        map->count++;
    }
    slot->value = value;
    return true;
}

int64_t plim__map_get(const plim__map *map, const char *key, int64_t missing) {
    if (!map->capacity) return missing;
    const struct plim__map_slot *slot = find(map, key, hash_of(key));
    return slot->key ? slot->value : missing;
}

void plim__map_remove(plim__map *map, const char *key) {
    if (!map->capacity) return;
    struct plim__map_slot *slot = find(map, key, hash_of(key));
    if (!slot->key) return;
    plim__free(slot->key);
    slot->key = NULL;
    map->count--;
    size_t mask = map->capacity - 1, hole = (size_t)(slot - map->slots);
    for (size_t i = (hole + 1) & mask; map->slots[i].key; i = (i + 1) & mask) {
        size_t home = (size_t)map->slots[i].hash & mask;
        if (((i - home) & mask) < ((i - hole) & mask)) continue;
        map->slots[hole] = map->slots[i];
        map->slots[i].key = NULL;
        hole = i;
    }
}

void plim__map_free(plim__map *map) {
    for (size_t i = 0; i < map->capacity; i++) plim__free(map->slots[i].key);
    plim__free(map->slots);
    *map = (plim__map){0};
}
