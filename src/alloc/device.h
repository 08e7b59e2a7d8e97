/* What pools take their segments from: a device that is simulated, with rising addresses and a sum that must not exceed
 * its capacity, or this process's own memory. */
#ifndef PLIM_ALLOC_DEVICE_H
#define PLIM_ALLOC_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct plim__device {
    bool real;
    uint64_t capacity; /* 0: no limit */
    uint64_t held;     /* bytes taken and mapped */
    uint64_t next;     /* simulated: the next address */
    uint64_t wished;   /* simulated: the address that the next segment shall have; 0: the next one */
} plim__device;

void plim__device_init(plim__device *device, uint64_t capacity, bool real);
/* Both return 0 when the device has no room. */
uint64_t plim__device_take(plim__device *device, uint64_t bytes);
uint64_t plim__device_reserve(plim__device *device, uint64_t bytes); /* addresses, no memory */
bool plim__device_map(plim__device *device, uint64_t address, uint64_t bytes);
void plim__device_unmap(plim__device *device, uint64_t address, uint64_t bytes);
void plim__device_give(plim__device *device, uint64_t address, uint64_t bytes);
void plim__device_unreserve(plim__device *device, uint64_t address, uint64_t bytes); /* nothing of it is mapped */

#endif
