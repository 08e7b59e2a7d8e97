/* What pools take their segments from: a device that is simulated, with rising addresses and a sum that must not exceed
 * its capacity, or this process's own memory. */
#ifndef PLIM_ALLOC_BACKING_H
#define PLIM_ALLOC_BACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct plim__backing {
    bool real;
    bool falling;      /* simulated: addresses fall */
    uint64_t capacity; /* 0: no limit */
    uint64_t held;     /* bytes taken and mapped */
    uint64_t next;     /* simulated: the next address */
    uint64_t wished;   /* simulated: the address that the next segment shall have; 0: the next one */
} plim__backing;

void plim__backing_init(plim__backing *device, uint64_t capacity, bool real);
/* Both return 0 when the device has no room. */
uint64_t plim__backing_take(plim__backing *device, uint64_t bytes);
uint64_t plim__backing_reserve(plim__backing *device, uint64_t bytes); /* addresses, no memory */
bool plim__backing_map(plim__backing *device, uint64_t address, uint64_t bytes);
void plim__backing_unmap(plim__backing *device, uint64_t address, uint64_t bytes);
void plim__backing_give(plim__backing *device, uint64_t address, uint64_t bytes);
void plim__backing_unreserve(plim__backing *device, uint64_t address, uint64_t bytes); /* nothing of it is mapped */

#endif
