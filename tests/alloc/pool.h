/* Pools for tests: made from text, checked after every event. */
#ifndef TESTS_ALLOC_POOL_H
#define TESTS_ALLOC_POOL_H

#include "plim_test.h"
#include "plimsoll/alloc.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

static inline plim_pool *make(const char *text, uint64_t capacity) {
    plim_pool_options options = {.capacity = capacity};
    plim_error error;
    plim_pool *pool = NULL;
    assert_int_equal(plim_pool_parse(text, &options, &error), PLIM_OK);
    assert_int_equal(plim_pool_create(&options, &pool, &error), PLIM_OK);
    return pool;
}

/* The address, or 0 when there is no memory. */
static inline uint64_t take(plim_pool *pool, uint64_t bytes) {
    uint64_t address = 0;
    plim_error error;
    plim_status status = plim_pool_alloc(pool, &(plim_pool_request){.bytes = bytes}, &address, &error);
    assert_true(status == PLIM_OK || status == PLIM_NO_MEMORY);
    assert_true(plim_pool_is_valid(pool));
    return status == PLIM_OK ? address : 0;
}

static inline void give(plim_pool *pool, uint64_t address) {
    assert_int_equal(plim_pool_release(pool, address, NULL), PLIM_OK);
    assert_true(plim_pool_is_valid(pool));
}

static inline plim_pool_stats stats_of(const plim_pool *pool) {
    plim_pool_stats stats;
    plim_pool_get_stats(pool, &stats);
    return stats;
}

#endif
