#include "fit/gpu.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/str.h"
#include "plimsoll/bytes.h"

#define MIB ((uint64_t)1 << 20)

static const plim_gpu table[] = {
#define GPU(name, mebibytes, capability) {name, mebibytes * MIB, capability},
#include "fit/gpus.def"
#undef GPU
};

enum { COUNT = sizeof table / sizeof *table };

const plim_gpu *plim_gpu_at(size_t index) { return index < COUNT ? &table[index] : NULL; }

/* Letters and digits only, in capitals, without the words that say nothing. */
static void simplify(const char *text, char *out, size_t size) {
    static const char *const empty[] = {"NVIDIA", "GEFORCE", "TESLA", "SXM2", "SXM3",
                                        "SXM4",   "SXM5",    "PCIE",  "GPU",  "PCI"};
    size_t length = 0;
    for (; *text && length + 1 < size; text++)
        if (isalnum((unsigned char)*text)) out[length++] = (char)toupper((unsigned char)*text);
    out[length] = '\0';
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        char *at = strstr(out, empty[i]);
        if (at) memmove(at, at + strlen(empty[i]), strlen(at + strlen(empty[i])) + 1);
    }
}

/* Edits that turn one short word into another. */
static size_t distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b), row[64];
    if (n > 62 || m > 62) return 64;
    for (size_t j = 0; j <= m; j++) row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t change = corner + (a[i - 1] != b[j - 1]), least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            corner = row[j];
            row[j] = change < least ? change : least;
        }
    }
    return row[m];
}

static plim_status refuse(const char *text, const char *simple, plim_error *error) {
    size_t best[3] = {SIZE_MAX, SIZE_MAX, SIZE_MAX}, which[3] = {0};
    for (size_t i = 0; i < COUNT; i++) {
        char name[64];
        simplify(table[i].name, name, sizeof name);
        size_t d = distance(simple, name);
        for (size_t k = 0; k < 3; k++) {
            if (d >= best[k]) continue;
            for (size_t j = 2; j > k; j--) best[j] = best[j - 1], which[j] = which[j - 1];
            best[k] = d;
            which[k] = i;
            break;
        }
    }
    size_t near = 0; /* more than half of it is right */
    while (near < 3 && best[near] * 2 <= strlen(simple)) near++;
    if (!near)
        return plim__fail(
            error, PLIM_NOT_FOUND,
            "'%s' is no GPU that is known, and none is near: 'plimsoll fit --list-gpus' lists them (or give "
            "its memory: --gpu 12GiB)",
            text);
    return plim__fail(
        error, PLIM_NOT_FOUND, "'%s' is no GPU that is known; near %s %s%s%s%s%s (or give its memory: --gpu 12GiB)",
        text, near > 1 ? "are" : "is", table[which[0]].name,
        near > 2   ? ", "
        : near > 1 ? " and "
                   : "",
        near > 1 ? table[which[1]].name : "", near > 2 ? " and " : "", near > 2 ? table[which[2]].name : "");
}

/* "RTX306012GB": a card and its memory as it stands on the box. Some cards were sold with several: then it is what counts, less
 * the share that programs do not get. */
static bool find_with_memory(const char *simple, plim_gpu *gpu) {
    size_t longest = 0;
    for (size_t i = 0; i < COUNT; i++) {
        char name[64], *end = NULL;
        simplify(table[i].name, name, sizeof name);
        size_t length = strlen(name);
        if (length <= longest || strncmp(simple, name, length) != 0) continue;
        if (simple[length] < '1' || simple[length] > '9') continue;
        unsigned long long gibibytes = strtoull(simple + length, &end, 10);
        bool memory = strcmp(end, "GB") == 0 || strcmp(end, "GIB") == 0 || strcmp(end, "G") == 0;
        if (!memory || gibibytes > 1024) continue;
        uint64_t usable = gibibytes * 1024 * MIB / 100 * 98;
        longest = length;
        *gpu = table[i];
        if (usable < gpu->memory / 10 * 9 || usable > gpu->memory / 10 * 11) gpu->memory = usable;
    }
    return longest > 0;
}

plim_status plim_gpu_find(const char *text, plim_gpu *gpu, plim_error *error) {
    if (!text || !gpu) return plim__fail(error, PLIM_INVALID, "a card needs a name and a place");
    char simple[64], name[64];
    simplify(text, simple, sizeof simple);
    for (size_t i = 0; i < COUNT; i++) {
        simplify(table[i].name, name, sizeof name);
        if (strcmp(simple, name) == 0) return *gpu = table[i], PLIM_OK;
    }
    uint64_t bytes;
    if (isdigit((unsigned char)text[0]) && plim_bytes_parse(text, &bytes, NULL) == PLIM_OK && bytes >= MIB) {
        *gpu = (plim_gpu){.name = "a card", .memory = bytes, .capability = 86};
        return PLIM_OK;
    }
    for (size_t i = 0; i < COUNT; i++) { /* "A100" alone: the smallest of that name */
        simplify(table[i].name, name, sizeof name);
        size_t length = strlen(simple);
        bool memory_follows = strncmp(name, simple, length) == 0 && length >= 2 && strstr(name + length, "GB");
        if (memory_follows) return *gpu = table[i], PLIM_OK;
    }
    return find_with_memory(simple, gpu) ? PLIM_OK : refuse(text, simple, error);
}

/* From published figures. A100, CUDA 12, kernels loaded on demand: the smallest networks hold 505 MiB beside their
 * segments; with all kernels loaded 0.9 GiB (1.4 GiB on older stacks). Consumer cards: jobs of others reached the card's
 * memory to within 117 MiB (8 GB card) and 303 MiB (12 GB card), and libraries take about 30 MiB of what was measured. */
plim__gpu_overhead plim__gpu_overhead_of(const plim_gpu *gpu, bool gemm, bool convolution) {
    bool large = gpu->memory > (uint64_t)20 << 30;
    plim__gpu_overhead o = {.context = large ? 455 * MIB : 110 * MIB, .context_most = large ? 1400 * MIB : 700 * MIB};
    if (gpu->capability >= 90 && gpu->capability < 120) o.context = 520 * MIB;
    if (gpu->capability < 70) o.context_most = 900 * MIB;
    o.libraries = (gemm ? 25 * MIB : 0) + (convolution ? 15 * MIB : 0) + 10 * MIB;
    return o;
}
