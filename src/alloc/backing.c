#include "alloc/backing.h"

#include "mem/pages.h"

/* The driver hands out physical memory in pages of 2 MiB; simulated addresses keep to them too. */
#define PAGE      ((uint64_t)2 << 20)
#define FIRST     ((uint64_t)0x7f0000000000)
#define MOST_HELD (UINT64_MAX >> 2)

void plim__backing_init(plim__backing *device, uint64_t capacity, bool real) {
    *device = (plim__backing){.real = real, .capacity = capacity, .next = FIRST};
}

static bool has_room(const plim__backing *device, uint64_t bytes) {
    uint64_t most = device->capacity ? device->capacity : MOST_HELD;
    return bytes <= most && device->held <= most - bytes;
}

/* The order of addresses is all that allocators see of them. */
static uint64_t next_address(plim__backing *device, uint64_t bytes) {
    uint64_t address = device->wished ? device->wished : device->next;
    if (address > MOST_HELD || bytes > MOST_HELD) return 0;
    if (device->falling) {
        uint64_t pages = (bytes + PAGE - 1) / PAGE * PAGE;
        return pages < device->next ? device->next -= pages : 0;
    }
    uint64_t end = (address + bytes + PAGE - 1) / PAGE * PAGE;
    if (end > device->next) device->next = end;
    device->wished = 0;
    return address;
}

uint64_t plim__backing_take(plim__backing *device, uint64_t bytes) {
    if (!has_room(device, bytes)) return 0;
    uint64_t address =
        device->real ? (uint64_t)(uintptr_t)plim__pages_take((size_t)bytes) : next_address(device, bytes);
    if (address) device->held += bytes;
    return address;
}

uint64_t plim__backing_reserve(plim__backing *device, uint64_t bytes) {
    return device->real ? (uint64_t)(uintptr_t)plim__pages_reserve((size_t)bytes) : next_address(device, bytes);
}

bool plim__backing_map(plim__backing *device, uint64_t address, uint64_t bytes) {
    if (!has_room(device, bytes)) return false;
    if (device->real && !plim__pages_use((void *)(uintptr_t)address, (size_t)bytes)) return false;
    device->held += bytes;
    return true;
}

void plim__backing_unmap(plim__backing *device, uint64_t address, uint64_t bytes) {
    if (device->real) plim__pages_unuse((void *)(uintptr_t)address, (size_t)bytes);
    device->held -= bytes;
}

void plim__backing_give(plim__backing *device, uint64_t address, uint64_t bytes) {
    if (device->real) plim__pages_give((void *)(uintptr_t)address, (size_t)bytes);
    device->held -= bytes;
}

void plim__backing_unreserve(plim__backing *device, uint64_t address, uint64_t bytes) {
    if (device->real) plim__pages_give((void *)(uintptr_t)address, (size_t)bytes);
}
