#include "core/address_map.h"

#include "core/alloc.h"

static size_t home(const plim__address_map *map, uint64_t address) {
    uint64_t hash = address * 0x9E3779B97F4A7C15u;
    return (size_t)(hash ^ (hash >> 32)) & (map->capacity - 1);
}

/* The slot of an address, or the empty one where it belongs. */
static size_t find(const plim__address_map *map, uint64_t address) {
    size_t at = home(map, address);
    while (map->slots[at].life && map->slots[at].address != address) at = (at + 1) & (map->capacity - 1);
    return at;
}

static bool grow(plim__address_map *map) {
    plim__address_map next = {.capacity = map->capacity ? map->capacity * 2 : 1024, .count = map->count};
    next.slots = plim__alloc_zero(next.capacity, sizeof *next.slots);
    if (!next.slots) return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].life) next.slots[find(&next, map->slots[i].address)] = map->slots[i];
    plim__free(map->slots);
    *map = next;
    return true;
}

bool plim__address_put(plim__address_map *map, uint64_t address, uint32_t life) {
    if ((map->count + 1) * 4 > map->capacity * 3 && !grow(map)) return false;
    size_t at = find(map, address);
    if (!map->slots[at].life) map->count++;
    map->slots[at] = (struct plim__address_slot){address, life + 1};
    return true;
}

bool plim__address_find(const plim__address_map *map, uint64_t address, uint32_t *life) {
    if (!map->capacity) return false;
    size_t at = find(map, address);
    if (!map->slots[at].life) return false;
    *life = map->slots[at].life - 1;
    return true;
}

bool plim__address_take(plim__address_map *map, uint64_t address, uint32_t *life) {
    if (!plim__address_find(map, address, life)) return false;
    size_t mask = map->capacity - 1, hole = find(map, address);
    map->slots[hole].life = 0;
    map->count--;
    for (size_t i = (hole + 1) & mask; map->slots[i].life; i = (i + 1) & mask) {
        if (((i - home(map, map->slots[i].address)) & mask) < ((i - hole) & mask)) continue;
        map->slots[hole] = map->slots[i];
        map->slots[i].life = 0;
        hole = i;
    }
    return true;
}

void plim__address_free(plim__address_map *map) {
    plim__free(map->slots);
    *map = (plim__address_map){0};
}
