/* Max pools on blocks of channels: a vector is one pixel of a block. */
#include "kernel/simd/pool.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* The part of window o along an axis that lies inside the image. */
static inline void inside(const plim__pool_plane *p, int axis, int64_t o, int64_t *from, int64_t *to) {
    int64_t start = o * p->stride[axis] - p->before[axis], step = p->dilation[axis];
    *from = start < 0 ? (-start + step - 1) / step : 0;
    int64_t room = p->in[axis] - start;
    *to = room <= 0 ? 0 : (room + step - 1) / step;
    if (*to > p->kernel[axis]) *to = p->kernel[axis];
}

/* Windows cover the image, each pixel once: dx can be written instead of added to. */
static bool tiles(const plim__pool_plane *p) {
    bool all = true;
    for (int i = 0; i < 2; i++)
        all = all && p->kernel[i] == p->stride[i] && p->dilation[i] == 1 && p->before[i] == 0 &&
              p->out[i] * p->stride[i] == p->in[i];
    return all;
}

#define POOL(B)                                                                                                        \
    typedef float real##B __attribute__((vector_size(4 * B)));                                                         \
    typedef int32_t whole##B __attribute__((vector_size(4 * B)));                                                      \
    typedef uint8_t bytes##B __attribute__((vector_size(B)));                                                          \
                                                                                                                       \
    static inline void window_max_##B(const plim__pool_plane *p, const float *x, int64_t oy, int64_t ox, float *y,     \
                                      uint8_t *place) {                                                                \
        int64_t y0, y1, x0, x1;                                                                                        \
        inside(p, 0, oy, &y0, &y1);                                                                                    \
        inside(p, 1, ox, &x0, &x1);                                                                                    \
        real##B best = (real##B){0} - INFINITY;                                                                        \
        whole##B at = (whole##B){0} + (int32_t)(y0 * p->kernel[1] + x0);                                               \
        for (int64_t ky = y0; ky < y1; ky++)                                                                           \
            for (int64_t kx = x0; kx < x1; kx++) {                                                                     \
                int64_t row = oy * p->stride[0] - p->before[0] + ky * p->dilation[0],                                  \
                        column = ox * p->stride[1] - p->before[1] + kx * p->dilation[1];                               \
                real##B now;                                                                                           \
                memcpy(&now, x + (row * p->in[1] + column) * B, sizeof now);                                           \
                whole##B better = (now > best) | (now != now); /* what is not a number stays, as in PyTorch */         \
                best = (real##B)(((whole##B)now & better) | ((whole##B)best & ~better));                               \
                at = (((whole##B){0} + (int32_t)(ky * p->kernel[1] + kx)) & better) | (at & ~better);                  \
            }                                                                                                          \
        bytes##B narrow = __builtin_convertvector(at, bytes##B);                                                       \
        memcpy(y, &best, sizeof best);                                                                                 \
        memcpy(place, &narrow, sizeof narrow);                                                                         \
    }                                                                                                                  \
    static void max_##B(const plim__pool_plane *p, const float *x, float *y, uint8_t *places) {                        \
        for (int64_t oy = 0; oy < p->out[0]; oy++)                                                                     \
            for (int64_t ox = 0; ox < p->out[1]; ox++)                                                                 \
                window_max_##B(p, x, oy, ox, y + (oy * p->out[1] + ox) * B, places + (oy * p->out[1] + ox) * B);       \
    }                                                                                                                  \
                                                                                                                       \
    static inline void window_back_##B(const plim__pool_plane *p, const int64_t *o, const float *dy,                   \
                                       const uint8_t *place, float *dx, bool add) {                                    \
        int64_t y0, y1, x0, x1, oy = o[0], ox = o[1];                                                                  \
        inside(p, 0, oy, &y0, &y1);                                                                                    \
        inside(p, 1, ox, &x0, &x1);                                                                                    \
        real##B d, old = {0};                                                                                          \
        bytes##B narrow;                                                                                               \
        memcpy(&d, dy, sizeof d);                                                                                      \
        memcpy(&narrow, place, sizeof narrow);                                                                         \
        whole##B at = __builtin_convertvector(narrow, whole##B);                                                       \
        for (int64_t ky = y0; ky < y1; ky++)                                                                           \
            for (int64_t kx = x0; kx < x1; kx++) {                                                                     \
                int64_t row = oy * p->stride[0] - p->before[0] + ky * p->dilation[0],                                  \
                        column = ox * p->stride[1] - p->before[1] + kx * p->dilation[1];                               \
                float *to = dx + (row * p->in[1] + column) * B;                                                        \
                whole##B here = at == (whole##B){0} + (int32_t)(ky * p->kernel[1] + kx);                               \
                if (add) memcpy(&old, to, sizeof old);                                                                 \
                real##B sum = old + (real##B)((whole##B)d & here);                                                     \
                memcpy(to, &sum, sizeof sum);                                                                          \
            }                                                                                                          \
    }                                                                                                                  \
    static void max_backward_##B(const plim__pool_plane *p, const float *dy, const uint8_t *places, float *dx) {       \
        bool add = !tiles(p);                                                                                          \
        if (add) memset(dx, 0, (size_t)(p->in[0] * p->in[1] * B) * sizeof *dx);                                        \
        for (int64_t oy = 0; oy < p->out[0]; oy++)                                                                     \
            for (int64_t ox = 0; ox < p->out[1]; ox++) {                                                               \
                int64_t o = (oy * p->out[1] + ox) * B;                                                                 \
                window_back_##B(p, (int64_t[]){oy, ox}, dy + o, places + o, dx, add);                                  \
            }                                                                                                          \
    }

POOL(8)
POOL(16)

const plim__simd_pool PLIM__ISA(plim__simd_pool_table) = {.max = {max_8, max_16},
                                                          .max_backward = {max_backward_8, max_backward_16}};
