/* The n-th-allocation sweep: an operation is run once for every allocation that it makes, with that one failing. Each time it
 * must answer with PLIM_NO_MEMORY and a message, or do without; and the same operation succeeds right afterwards. Leaks are
 * the sanitizers' to find. */
#ifndef PLIM_TEST_FAULTS_H
#define PLIM_TEST_FAULTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "plim_test.h"
#include "plimsoll/status.h"

#define AGAIN 50 /* every this many failures the operation is run once more without one */

typedef struct faults {
    plim_status (*run)(void *context, plim_error *error);
    void *context;
    size_t most;  /* failures to try, evenly spread; 0: all of them. PLIM_FAULTS=all tries all. */
    size_t spare; /* failures that may pass unseen, beside those of optional allocations */
} faults;

static inline void fail_each(const faults *f) {
    plim_error error = {0};
    json_set_alloc_funcs(plim__alloc, plim__free); /* jansson's own allocations fail too */
    size_t before = plim__alloc_count();
    if (f->run(f->context, &error) != PLIM_OK) fail_msg("%s", error.message);
    size_t count = plim__alloc_count() - before, spared = 0;
    const char *all = getenv("PLIM_FAULTS");
    size_t stride = f->most == 0 || (all && strcmp(all, "all") == 0) ? 1 : (count + f->most - 1) / f->most;
    assert_true(count > 0);
    for (size_t n = 1; n <= count; n += stride) {
        error = (plim_error){0};
        size_t without = plim__alloc_done_without(), start = plim__alloc_count();
        plim__alloc_fail_at(n);
        plim_status status = f->run(f->context, &error);
        plim__alloc_fail_at(0);
        if (status != PLIM_NO_MEMORY && status != PLIM_OK)
            fail_msg("allocation %zu of %zu: status %d (%s)", n, count, (int)status, error.message);
        if (status != PLIM_OK && !*error.message) fail_msg("allocation %zu: no message", n);
        bool reached = plim__alloc_count() - start >= n; /* what fills holes of the heap differs from run to run */
        spared += status == PLIM_OK && reached && plim__alloc_done_without() == without;
        bool again = n / stride % AGAIN == 0;
        if (again && f->run(f->context, &error) != PLIM_OK)
            fail_msg("after allocation %zu failed: %s", n, error.message);
    }
    if (spared > f->spare) fail_msg("%zu of %zu failures went by unseen, %zu may", spared, count, f->spare);
    if (f->run(f->context, &error) != PLIM_OK) fail_msg("afterwards: %s", error.message);
}

#endif
