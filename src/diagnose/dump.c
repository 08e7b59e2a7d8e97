/* What an allocator's dump says. */
#include "diagnose/dump.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double held(const plim__dump_size *size) { return (double)size->bytes * (double)size->count; }

void plim__dump_add(plim__dump *dump, uint64_t bytes, uint64_t count) {
    if (!bytes || !count || count > 1u << 30) return;
    uint64_t total;
    if (__builtin_mul_overflow(bytes, count, &total) ||
        __builtin_add_overflow(dump->used_bytes, total, &dump->used_bytes))
        dump->used_bytes = UINT64_MAX;
    dump->used_count += count;
    size_t least = 0;
    for (size_t i = 0; i < dump->size_count; i++) {
        if (dump->sizes[i].bytes == bytes) {
            dump->sizes[i].count += count;
            return;
        }
        if (held(&dump->sizes[i]) < held(&dump->sizes[least])) least = i;
    }
    plim__dump_size size = {bytes, count};
    if (dump->size_count < PLIM_DUMP_SIZES)
        dump->sizes[dump->size_count++] = size;
    else if (held(&size) > held(&dump->sizes[least]))
        dump->sizes[least] = size;
}

size_t plim__dump_largest(const plim__dump *dump, plim__dump_size *sizes, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < dump->size_count; i++) {
        size_t at = kept;
        while (at > 0 && held(&sizes[at - 1]) < held(&dump->sizes[i])) at--;
        if (at >= count) continue;
        if (kept < count) kept++;
        memmove(&sizes[at + 1], &sizes[at], (kept - at - 1) * sizeof *sizes);
        sizes[at] = dump->sizes[i];
    }
    return kept;
}

/* --- guessing shapes ------------------------------------------------------------------------------------------ */

/* How often 2 divides n, and whether what is left is small: round numbers are likely dimensions. */
static double roundness(uint64_t n) {
    double twos = 0;
    while (n && n % 2 == 0) n /= 2, twos++;
    return (twos > 8 ? 8 : twos) - (n == 1 ? 0 : n <= 7 ? 1 : log2((double)n) * 1.5);
}

static uint64_t root(uint64_t n) {
    uint64_t side = (uint64_t)llround(sqrt((double)n));
    return side * side == n ? side : 0;
}

typedef struct guess {
    double score;
    uint64_t batch, side, channels;
} guess;

static void try_images(uint64_t elements, guess *best) {
    static const uint64_t channels[] = {1,   3,   4,   8,   16,  24,  32,  48,  64,   96,   128,  160,
                                        192, 256, 320, 384, 512, 640, 768, 960, 1024, 1280, 1536, 2048};
    for (size_t c = 0; c < sizeof channels / sizeof *channels; c++)
        for (uint64_t batch = 1; batch <= 1024; batch++) {
            if (batch > 64 && batch % 8) continue;
            if (elements % (channels[c] * batch)) continue;
            uint64_t side = root(elements / (channels[c] * batch));
            if (side < 4 || side > 2048) continue;
            double score = roundness(batch) + roundness(side) + roundness(channels[c]) - fabs(log2((double)batch / 32));
            if (channels[c] == 3 && side >= 28) score += 9; /* an image */
            if (score > best->score) *best = (guess){score, batch, side, channels[c]};
        }
}

void plim__guess_shape(uint64_t bytes, char *text, size_t size) {
    text[0] = 0;
    if (bytes < 4096 || bytes % 4) return;
    guess best = {.score = 2};
    try_images(bytes / 4, &best);
    if (best.side) {
        snprintf(text, size, "%llu x %llu x %llu x %llu float32", (unsigned long long)best.batch,
                 (unsigned long long)best.side, (unsigned long long)best.side, (unsigned long long)best.channels);
        return;
    }
    static const uint64_t widths[] = {4096, 3072, 2048, 1536, 1280, 1024, 768, 512, 256, 128};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        if (bytes / 4 % widths[i] == 0 && bytes / 4 / widths[i] >= 16) {
            snprintf(text, size, "%llu x %llu float32", (unsigned long long)(bytes / 4 / widths[i]),
                     (unsigned long long)widths[i]);
            return;
        }
}
