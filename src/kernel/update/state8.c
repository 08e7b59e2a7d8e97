/* The maps, and numbers to codes and back. */
#include "kernel/update/state8.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/half.h"

static plim__state8_map maps[2]; /* unsigned, signed */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The i-th of `count` numbers from 0.1 to 1, rounded as PyTorch's linspace does. */
static float between(int i, int count) {
    float step = (1.0f - 0.1f) / (float)(count - 1);
    return i < count / 2 ? fmaf(step, (float)i, 0.1f) : fmaf(-step, (float)(count - 1 - i), 1.0f);
}

static int rising(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static int nearest(const plim__state8_map *map, float x) {
    int at = 0;
    while (x > map->bounds[at]) at++;
    return at;
}

static void make_map(plim__state8_map *map, bool has_sign) {
    static const float decades[] = {1e-6f, 1e-5f, 1e-4f, 1e-3f, 1e-2f, 1e-1f, 1};
    int count = 0;
    for (int d = 0; d < 7; d++) {
        int points = (1 << (has_sign ? d : d + 1)) + 1;
        for (int i = 0; i + 1 < points; i++) {
            float mean = (between(i, points) + between(i + 1, points)) / 2;
            map->code[count++] = decades[d] * mean;
            if (has_sign) map->code[count++] = -decades[d] * mean;
        }
    }
    map->code[count++] = 0;
    map->code[count++] = 1;
    qsort(map->code, 256, sizeof *map->code, rising);
    for (int i = 0; i < 255; i++) map->bounds[i] = (map->code[i] + map->code[i + 1]) / 2;
    map->bounds[255] = INFINITY;
    for (uint32_t top = 0; top < 65536; top++) { /* of numbers below 0, the least has all its lower bits */
        float least = plim__bits_to_float(top << 16 | (top & 0x8000 ? 0xffff : 0));
        map->first[top] = least >= -INFINITY ? (uint8_t)nearest(map, least) : 0;
    }
}

static void make_maps(void) {
    make_map(&maps[0], false);
    make_map(&maps[1], true);
}

const plim__state8_map *plim__state8_signed(void) {
    pthread_once(&once, make_maps);
    return &maps[1];
}

const plim__state8_map *plim__state8_unsigned(void) {
    pthread_once(&once, make_maps);
    return &maps[0];
}

float plim__state8_pack(const plim__state8_map *map, int64_t n, const float *x, bool positive, uint8_t *codes) {
    float most = 0;
    for (int64_t i = 0; i < n; i++) {
        float size = fabsf(x[i]);
        if (size > most || size != size) most = size; /* NaN stays */
    }
    float inverse = most > 0 ? 1 / most : 0;
    if (!(inverse <= 3.4e38f)) inverse = 3.4e38f; /* of a block of subnormal numbers */
    for (int64_t i = 0; i < n; i++) {
        float y = x[i] * inverse;
        uint8_t at = map->first[plim__float_to_bits(y) >> 16];
        at = (uint8_t)(at + (y > map->bounds[at])); /* no two bounds have the same upper half */
        codes[i] = positive && at == 0 && x[i] > 0 ? 1 : at;
    }
    return most;
}

void plim__state8_unpack(const plim__state8_map *map, int64_t n, const uint8_t *codes, float scale, float *x) {
    for (int64_t i = 0; i < n; i++) x[i] = map->code[codes[i]] * scale;
}
