/* A hash map from addresses to numbers: who lives where. */
#ifndef PLIM_CORE_ADDRESS_MAP_H
#define PLIM_CORE_ADDRESS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Open addressing, linear probing, removal shifts the run back. */
typedef struct plim__address_map {
    struct plim__address_slot {
        uint64_t address;
        uint32_t life; /* plus one; 0 is empty */
    } * slots;
    size_t count, capacity; /* capacity is a power of two */
} plim__address_map;

bool plim__address_put(plim__address_map *map, uint64_t address, uint32_t life);   /* false when memory is short */
bool plim__address_take(plim__address_map *map, uint64_t address, uint32_t *life); /* finds and removes */
bool plim__address_find(const plim__address_map *map, uint64_t address, uint32_t *life);
void plim__address_free(plim__address_map *map);

#endif
