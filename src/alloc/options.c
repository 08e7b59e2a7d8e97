/* Allocators and their settings as text: "pytorch:max_split_size_mb:128,expandable_segments:True". */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/error.h"
#include "plimsoll/alloc.h"
#include "plimsoll/bytes.h"

#define MIB ((uint64_t)1 << 20)

typedef enum value_type { MEGABYTES, BYTES, FRACTION, SWITCH, DIVISIONS } value_type;

typedef struct setting {
    const char *name;
    plim_pool_kind kind;
    value_type type;
    size_t offset;
    bool inverted;  /* a switch that is on by default */
    uint64_t least; /* of megabytes */
} setting;

#define AT(field) offsetof(plim_pool_options, field)

static const setting settings[] = {
    {"max_split_size_mb", PLIM_POOL_PYTORCH, MEGABYTES, AT(max_split_size), false, 20},
    {"max_non_split_rounding_mb", PLIM_POOL_PYTORCH, MEGABYTES, AT(max_non_split_rounding), false, 20},
    {"large_segment_size_mb", PLIM_POOL_PYTORCH, MEGABYTES, AT(large_segment_size), false, 11},
    {"garbage_collection_threshold", PLIM_POOL_PYTORCH, FRACTION, AT(garbage_collection_threshold), false, 0},
    {"per_process_memory_fraction", PLIM_POOL_PYTORCH, FRACTION, AT(memory_fraction), false, 0},
    {"expandable_segments", PLIM_POOL_PYTORCH, SWITCH, AT(expandable_segments), false, 0},
    {"roundup_power2_divisions", PLIM_POOL_PYTORCH, DIVISIONS, 0, false, 0},
    {"limit", PLIM_POOL_TENSORFLOW, BYTES, AT(limit), false, 0},
    {"allow_growth", PLIM_POOL_TENSORFLOW, SWITCH, AT(whole), true, 0},
    {"garbage_collection", PLIM_POOL_TENSORFLOW, SWITCH, AT(no_garbage_collection), true, 0},
    {"fragmentation", PLIM_POOL_TENSORFLOW, BYTES, AT(fragmentation), false, 0},
    {"falling_addresses", PLIM_POOL_TENSORFLOW, SWITCH, AT(falling_addresses), false, 0},
    {"limit", PLIM_POOL_ONNXRUNTIME, BYTES, AT(limit), false, 0},
    {"same_as_requested", PLIM_POOL_ONNXRUNTIME, SWITCH, AT(same_as_requested), false, 0},
    {"initial_chunk_size_bytes", PLIM_POOL_ONNXRUNTIME, BYTES, AT(initial_region), false, 0},
    {"max_dead_bytes_per_chunk", PLIM_POOL_ONNXRUNTIME, BYTES, AT(fragmentation), false, 0},
    {"max_power_of_two_extend_bytes", PLIM_POOL_ONNXRUNTIME, BYTES, AT(largest_region), false, 0},
};

static plim_status bad_value(const setting *s, const char *value, const char *needs, plim_error *error) {
    return plim__fail(error, PLIM_INVALID, "%s: '%s' is not %s", s->name, value, needs);
}

static plim_status set_switch(const setting *s, const char *value, bool *field, plim_error *error) {
    bool on = !*value || strcasecmp(value, "true") == 0 || strcmp(value, "1") == 0;
    if (!on && strcasecmp(value, "false") != 0 && strcmp(value, "0") != 0)
        return bad_value(s, value, "True or False", error);
    *field = on != s->inverted;
    return PLIM_OK;
}

/* As PyTorch refuses them: blocks are not split below the size of a segment for large ones, which is a setting itself. */
static plim_status set_number(const setting *s, const char *value, const plim_pool_options *options, uint64_t *field,
                              plim_error *error) {
    uint64_t segment = options->large_segment_size / MIB;
    uint64_t least = s->least == 20 && segment && segment < 20 ? segment : s->least;
    char *end = NULL;
    unsigned long long number = strtoull(value, &end, 10);
    bool whole = end && end != value && *end == '\0' && *value >= '0' && *value <= '9';
    if (!whole || number == 0 || number > UINT64_MAX / MIB >> 2) return bad_value(s, value, "a number of MiB", error);
    if (number < least)
        return plim__fail(error, PLIM_INVALID, "%s: '%s' is too small: PyTorch takes %llu and more", s->name, value,
                          (unsigned long long)least);
    *field = number * MIB;
    return PLIM_OK;
}

/* A share of the memory may be all of it, a threshold not. */
static plim_status set_fraction(const setting *s, const char *value, double *field, plim_error *error) {
    bool whole = s->offset == AT(memory_fraction);
    char *end = NULL;
    double number = strtod(value, &end);
    if (!end || end == value || *end || !(number > 0 && number <= 1) || (number == 1 && !whole))
        return bad_value(s, value, whole ? "a fraction above 0 and up to 1" : "a fraction between 0 and 1", error);
    *field = number;
    return PLIM_OK;
}

static bool read_divisions(const char *text, char stop, unsigned *number, const char **end) {
    char *after = NULL;
    unsigned long value = strtoul(text, &after, 10);
    if (after == text || value == 0 || value > 4096 || (value & (value - 1)) || *after != stop) return false;
    *number = (unsigned)value;
    *end = after + 1;
    return true;
}

/* One number for all sizes, or [256:1,512:2,>:4]: up to 256 MiB, at 512 MiB, above. */
static plim_status set_divisions(const setting *s, const char *value, plim_pool_options *options, plim_error *error) {
    const char *at = value;
    unsigned number = 0, last = 0;
    if (*at != '[') {
        if (!read_divisions(at, '\0', &number, &at)) return bad_value(s, value, "a power of two up to 4096", error);
        for (int i = 0; i < PLIM_POOL_DIVISIONS; i++) options->roundup_power2_divisions[i] = (uint16_t)number;
        return PLIM_OK;
    }
    for (at++; *at && *at != ']';) {
        unsigned from = 0;
        bool rest = *at == '>';
        if (rest && at[1] != ':') break;
        if (rest)
            at += 2;
        else if (!read_divisions(at, ':', &from, &at))
            break;
        const char *comma = strpbrk(at, ",]");
        if (!comma || !read_divisions(at, *comma, &number, &at)) break;
        if (*comma == ']') at--;
        unsigned index = 0;
        while (!rest && index < PLIM_POOL_DIVISIONS - 1 && (1u << index) < from) index++;
        if (rest) index = PLIM_POOL_DIVISIONS - 1;
        for (unsigned i = rest || !last ? last : index; i <= index; i++)
            options->roundup_power2_divisions[i] = (uint16_t)number;
        last = index + 1;
    }
    if (strcmp(at, "]") != 0) return bad_value(s, value, "a list such as [256:1,512:2,>:4]", error);
    return PLIM_OK;
}

static plim_status set_value(const setting *s, const char *value, plim_pool_options *options, plim_error *error) {
    char *field = (char *)options + s->offset;
    switch (s->type) {
    case MEGABYTES: return set_number(s, value, options, (uint64_t *)(void *)field, error);
    case BYTES: return plim_bytes_parse(value, (uint64_t *)(void *)field, error);
    case FRACTION: return set_fraction(s, value, (double *)(void *)field, error);
    case SWITCH: return set_switch(s, value, (bool *)field, error);
    case DIVISIONS: return set_divisions(s, value, options, error);
    }
    return PLIM_OK;
}

static plim_status set_backend(const char *value, plim_pool_options *options, plim_error *error) {
    if (strcmp(value, "cudaMallocAsync") == 0)
        options->kind = PLIM_POOL_CUDA_ASYNC;
    else if (strcmp(value, "native") != 0)
        return plim__fail(error, PLIM_INVALID, "backend: '%s' is not native or cudaMallocAsync", value);
    return PLIM_OK;
}

/* What PyTorch takes in the same variable and what changes no byte of the device: pinned memory, locks, graphs. */
static bool is_without_effect(const plim_pool_options *options, const char *name) {
    static const char *const names[] = {"release_lock_on_cudamalloc", "release_lock_on_hipmalloc",
                                        "throw_on_cudamalloc_oom", "graph_capture_record_stream_reuse"};
    if (options->kind != PLIM_POOL_PYTORCH && options->kind != PLIM_POOL_CUDA_ASYNC) return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) return true;
    return strncmp(name, "pinned_", 7) == 0;
}

static plim_status set_one(char *text, plim_pool_options *options, plim_error *error) {
    size_t length = strcspn(text, ":=");
    const char *value = text[length] ? text + length + 1 : "";
    text[length] = '\0';
    /* With cudaMallocAsync PyTorch reads its other settings and does not use them. */
    plim_pool_options unused = {0};
    bool async = options->kind == PLIM_POOL_CUDA_ASYNC;
    plim_pool_kind kind = async ? PLIM_POOL_PYTORCH : options->kind;
    if (kind == PLIM_POOL_PYTORCH && strcmp(text, "backend") == 0) return set_backend(value, options, error);
    if (is_without_effect(options, text)) return PLIM_OK;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (settings[i].kind == kind && strcmp(settings[i].name, text) == 0)
            return set_value(&settings[i], value, async ? &unused : options, error);
    return plim__fail(error, PLIM_INVALID, "%s has no setting '%s'", plim_pool_title(options->kind), text);
}

/* The end of a setting: a comma that is not inside a list. */
static char *setting_end(char *text) {
    int depth = 0;
    for (; *text && (*text != ',' || depth); text++) depth += (*text == '[') - (*text == ']');
    return text;
}

/* "cuda-malloc-async" and "cudaMallocAsync" are "cudamallocasync": capitals and dashes say nothing. */
static bool is_named(const char *text, const char *name) {
    for (; *text; text++) {
        if (*text == '-' || *text == '_') continue;
        if (tolower((unsigned char)*text) != *name++) return false;
    }
    return *name == '\0';
}

plim_status plim_pool_parse(const char *text, plim_pool_options *options, plim_error *error) {
    char copy[512];
    if (!text || !options) return plim__fail(error, PLIM_INVALID, "an allocator needs a name");
    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy)
        return plim__fail(error, PLIM_INVALID, "these settings of an allocator are too long");
    size_t length = strcspn(copy, ":");
    char *at = copy[length] ? copy + length + 1 : copy + length;
    copy[length] = '\0';
    plim_pool_kind kind = PLIM_POOL_PYTORCH;
    while (kind < PLIM_POOL_KINDS && !is_named(copy, plim_pool_name(kind))) kind++;
    if (kind == PLIM_POOL_KINDS)
        return plim__fail(error, PLIM_INVALID,
                          "'%s' is no allocator: there are pytorch, tensorflow, onnxruntime and cudamallocasync", copy);
    options->kind = kind;
    while (*at) {
        char *end = setting_end(at), *next = *end ? end + 1 : end;
        *end = '\0';
        PLIM_TRY(set_one(at, options, error));
        at = next;
    }
    return PLIM_OK;
}
