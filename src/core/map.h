/* A hash map from strings to numbers: names to values, nodes, tensors. */
#ifndef PLIM_CORE_MAP_H
#define PLIM_CORE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct plim__map {
    struct plim__map_slot *slots;
    size_t count, capacity;
} plim__map;

/* The key is copied. An existing key gets the new value. False when memory is short. */
bool plim__map_put(plim__map *map, const char *key, int64_t value);
/* The value, or `missing` when the key is not there. */
int64_t plim__map_get(const plim__map *map, const char *key, int64_t missing);
void plim__map_remove(plim__map *map, const char *key);
void plim__map_free(plim__map *map);

#endif
