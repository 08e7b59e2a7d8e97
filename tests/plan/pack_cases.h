/* Packing problems for tests: random ones, shapes of training steps, and the optimum of small ones by brute force. */
#ifndef PLIM_TESTS_PLAN_PACK_CASES_H
#define PLIM_TESTS_PLAN_PACK_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs those before it */

#include "plimsoll/pack.h"

static uint64_t cases_seed = 88172645463325252u;

/* From `least` to `most`, both included. */
static inline int64_t cases_pick(int64_t least, int64_t most) {
    cases_seed ^= cases_seed << 13;
    cases_seed ^= cases_seed >> 7;
    cases_seed ^= cases_seed << 17;
    return least + (int64_t)(cases_seed % (uint64_t)(most - least + 1));
}

static inline void cases_random(plim_pack_buffer *buffers, size_t count, int64_t times, int64_t longest,
                                int64_t largest) {
    for (size_t i = 0; i < count; i++) {
        int64_t lower = cases_pick(0, times - 1), upper = lower + cases_pick(1, longest);
        buffers[i] =
            (plim_pack_buffer){.lower = lower, .upper = upper > times ? times : upper, .size = cases_pick(1, largest)};
    }
}

/* Forward and backward of `layers` layers, with weights, saved activations, workspaces, gradients and skip
 * connections; at most 9 buffers a layer. The number of buffers. */
static inline size_t cases_training_step(plim_pack_buffer *buffers, int64_t layers) {
    size_t count = 0;
    int64_t end = 4 * layers;
#define CASES_ADD(from, to, bytes)                                                                                     \
    buffers[count++] = (plim_pack_buffer) {                                                                            \
        .lower = (from) > 0 ? (from) : 0, .upper = (to) < end ? (to) : end, .size = (bytes), .alignment = 64           \
    }
    for (int64_t i = 0; i < layers; i++) {
        int64_t forward = 2 * i, backward = end - 1 - 2 * i, activation = cases_pick(1, 64) * 50000;
        CASES_ADD(0, end, cases_pick(1, 1000000));
        CASES_ADD(forward, backward + 1, activation);
        CASES_ADD(forward, forward + 2, activation * cases_pick(1, 4) / 2);
        if (cases_pick(0, 2) == 0) CASES_ADD(forward, forward + 1, cases_pick(1, 3000000));
        if (cases_pick(0, 3) == 0) CASES_ADD(forward, forward + cases_pick(2, 12), activation);
        CASES_ADD(backward - 1, backward + 1, cases_pick(1, 3000000));
        CASES_ADD(backward - 2, backward + 1, activation);
        if (cases_pick(0, 3) == 0) CASES_ADD(backward - cases_pick(2, 12), backward + 1, activation);
        if (cases_pick(0, 1) == 0) CASES_ADD(backward, end, cases_pick(1, 1000000));
    }
#undef CASES_ADD
    return count;
}

/* --- brute force ---------------------------------------------------------------------------------------------- */

/* The lowest offset for a buffer among those with offsets >= 0. */
static inline int64_t cases_lowest(const plim_pack_buffer *buffers, size_t count, const int64_t *offsets,
                                   size_t buffer) {
    int64_t step = buffers[buffer].alignment > 1 ? buffers[buffer].alignment : 1, at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < count; i++) {
            if (offsets[i] < 0 || buffers[i].upper <= buffers[buffer].lower ||
                buffers[buffer].upper <= buffers[i].lower)
                continue;
            if (at >= offsets[i] + buffers[i].size || offsets[i] >= at + buffers[buffer].size) continue;
            at = (offsets[i] + buffers[i].size + step - 1) / step * step;
            moved = true;
        }
    }
    return at;
}

/* Tries every order in which buffers take the lowest place: one of them is optimal, the order by offset of an optimal
 * packing. Buffers are at their offsets[], or at -1 when not placed yet; sizes must be above 0. */
static inline int64_t cases_optimum(const plim_pack_buffer *buffers, size_t count, int64_t *offsets) {
    int64_t best = INT64_MAX, height = 0;
    bool complete = true;
    for (size_t i = 0; i < count; i++) {
        if (offsets[i] >= 0) {
            if (offsets[i] + buffers[i].size > height) height = offsets[i] + buffers[i].size;
            continue;
        }
        complete = false;
        offsets[i] = cases_lowest(buffers, count, offsets, i);
        int64_t reached = cases_optimum(buffers, count, offsets);
        if (reached < best) best = reached;
        offsets[i] = -1;
    }
    return complete ? height : best;
}

/* Packs, and holds the answer to what every answer must be. */
static inline plim_pack_result cases_pack(const plim_pack_buffer *buffers, size_t count,
                                          const plim_pack_options *options, int64_t *offsets) {
    plim_error error = {0};
    plim_pack_result result;
    if (plim_pack(buffers, count, options, offsets, &result, &error) != PLIM_OK) fail_msg("%s", error.message);
    if (plim_pack_check(buffers, count, offsets, &error) != PLIM_OK) fail_msg("%s", error.message);
    int64_t height = 0;
    for (size_t i = 0; i < count; i++)
        if (buffers[i].size > 0 && offsets[i] + buffers[i].size > height) height = offsets[i] + buffers[i].size;
    assert_int_equal(result.height, height);
    assert_true(result.height >= result.lower_bound);
    return result;
}

#endif
