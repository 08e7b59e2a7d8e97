/* Finding names with values behind them: "--batch-size 32", "micro_batch_size: 4", "model.fit(x, batch_size=10)". */
#include "diagnose/own_options.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 40 };

/* How a value becomes a better one. */
typedef enum turn {
    TURN_HALF,   /* a count: half of it, and 1 is the end */
    TURN_LENGTH, /* half, down to 128 */
    TURN_SIDE,   /* three quarters of an image's side, in steps of 32 */
    TURN_FEW,    /* a quarter, down to 1 */
    TURN_MORE,   /* a count that helps the more of it there is: half as much again */
    TURN_PIXELS, /* half of an image's pixels, down to 512 x 512 */
    TURN_ON,     /* a switch that is off */
    TURN_STAGE   /* of ZeRO */
} turn;

typedef struct name {
    const char *text; /* "-" is read as "_" */
    plim__lever lever;
    turn turn;
} name;

#define NAME(text, lever, how)                                                                                         \
    { text, PLIM_LEVER_##lever, TURN_##how }

/* Names that levers go by, within each the particular before the general. A program whose log has the name has the
 * option: nothing else tells so surely that advice can be followed. */
static const name names[] = {
    NAME("micro_train_batch_size", BATCH, HALF),
    NAME("ppo_micro_batch_size_per_gpu", BATCH, HALF),
    NAME("per_device_train_batch_size", BATCH, HALF),
    NAME("per_gpu_train_batch_size", BATCH, HALF),
    NAME("train_micro_batch_size_per_gpu", BATCH, HALF),
    NAME("micro_batch_size", BATCH, HALF),
    NAME("train_batch_size", BATCH, HALF),
    NAME("samples_per_gpu", BATCH, HALF),
    NAME("ims_per_batch", BATCH, HALF),
    NAME("images_per_gpu", BATCH, HALF),
    NAME("batch_size_per_gpu", BATCH, HALF),
    NAME("batch_size", BATCH, HALF),
    NAME("batchsize", BATCH, HALF),
    NAME("batch", BATCH, HALF),
    NAME("max_completion_length", LENGTH, LENGTH),
    NAME("max_seq_length", LENGTH, LENGTH),
    NAME("max_seq_len", LENGTH, LENGTH),
    NAME("cutoff_len", LENGTH, LENGTH),
    NAME("model_max_length", LENGTH, LENGTH),
    NAME("sequence_len", LENGTH, LENGTH),
    NAME("max_source_length", LENGTH, LENGTH),
    NAME("block_size", LENGTH, LENGTH),
    NAME("seq_length", LENGTH, LENGTH),
    NAME("max_total_length", LENGTH, LENGTH),
    NAME("max_model_len", LENGTH, LENGTH),
    NAME("num_ctx", LENGTH, LENGTH),
    NAME("ctx_size", LENGTH, LENGTH),
    NAME("n_ctx", LENGTH, LENGTH),
    NAME("context_length", LENGTH, LENGTH),
    NAME("seq_len", LENGTH, LENGTH),
    NAME("max_length", LENGTH, LENGTH),
    NAME("max_len", LENGTH, LENGTH),
    NAME("max_resolution", INPUT, SIDE),
    NAME("image_resolution", INPUT, SIDE),
    NAME("max_res", INPUT, SIDE),
    NAME("imgsz", INPUT, SIDE),
    NAME("loadsize", INPUT, SIDE),
    NAME("load_size", INPUT, SIDE),
    NAME("img_size", INPUT, SIDE),
    NAME("image_size", INPUT, SIDE),
    NAME("train_resolution", INPUT, SIDE),
    NAME("resolution", INPUT, SIDE),
    NAME("crop_size", INPUT, SIDE),
    NAME("input_size", INPUT, SIDE),
    NAME("img", INPUT, SIDE),
    NAME("max_pixels", INPUT, PIXELS),
    NAME("image_max_pixels", INPUT, PIXELS),
    NAME("num_frames", INPUT, HALF),
    NAME("video_length", INPUT, HALF),
    NAME("max_num_seqs", FEWER, HALF),
    NAME("max_running_requests", FEWER, HALF),
    NAME("points_per_batch", FEWER, HALF),
    NAME("num_generations", FEWER, HALF),
    NAME("num_images_per_prompt", FEWER, HALF),
    NAME("n_samples", FEWER, HALF),
    NAME("num_beams", FEWER, HALF),
    NAME("dataloader_num_workers", WORKERS, FEW),
    NAME("preprocessing_num_workers", WORKERS, FEW),
    NAME("workers_per_gpu", WORKERS, FEW),
    NAME("num_workers", WORKERS, FEW),
    NAME("n_workers", WORKERS, FEW),
    NAME("num_proc", WORKERS, FEW),
    NAME("num_processes", WORKERS, FEW),
    NAME("n_jobs", WORKERS, FEW),
    NAME("workers", WORKERS, FEW),
    NAME("gradient_checkpointing", CHECKPOINT, ON),
    NAME("use_gradient_checkpointing", CHECKPOINT, ON),
    NAME("activation_checkpointing", CHECKPOINT, ON),
    NAME("enable_activation_checkpointing", CHECKPOINT, ON),
    NAME("enable_gradient_checkpointing", CHECKPOINT, ON),
    NAME("grad_checkpointing", CHECKPOINT, ON),
    NAME("grad_checkpoint", CHECKPOINT, ON),
    NAME("use_checkpoint", CHECKPOINT, ON),
    NAME("checkpoint_activations", CHECKPOINT, ON),
    NAME("load_in_4bit", QUANTIZE, ON),
    NAME("blocks_to_swap", OFFLOAD, MORE),
    NAME("blocks_to_swap", OFFLOAD_MORE, MORE),
    NAME("zero_stage", OFFLOAD, STAGE),
};

/* The letters that names of the lever begin with, a bit each: most words of a log are none of them. */
static uint32_t first_letters(plim__lever lever) {
    uint32_t letters = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].lever == lever) letters |= (uint32_t)1 << (names[i].text[0] - 'a');
    return letters;
}

typedef struct option {
    const char *at; /* its first dash or letter */
    size_t length;  /* up to the end of its name */
    char separator; /* '=', ':' or ' ' */
    int64_t value;  /* of a switch 0 or 1 */
    const name *as;
} option;

static bool is_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '-'; }

/* The lever's row that has this name; NULL for none. */
static const name *find_name(plim__lever lever, const char *text, size_t length) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *a = names[i].text;
        size_t k = 0;
        if (names[i].lever != lever) continue;
        while (k < length && a[k] && a[k] == (text[k] == '-' ? '_' : tolower((unsigned char)text[k]))) k++;
        if (k == length && !a[k]) return &names[i];
    }
    return NULL;
}

static bool take_switch(const char *at, const char *end, int64_t *value) {
    static const struct {
        const char *word;
        int value;
    } words[] = {{"false", 0}, {"off", 0}, {"none", 0}, {"no", 0}, {"true", 1}, {"yes", 1}, {"on", 1}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word);
        if ((size_t)(end - at) < length || strncasecmp(at, words[i].word, length) != 0) continue;
        if (at + length < end && isalnum((unsigned char)at[length])) continue;
        *value = words[i].value;
        return true;
    }
    return false;
}

/* The number behind a name, with what stands between them. */
static bool take_value(const char *at, const char *end, bool dashes, option *made) {
    const char *p = at;
    if (p < end && (*p == '"' || *p == '\'')) p++;
    const char *blank = p;
    while (p < end && *p == ' ') p++;
    if (p < end && (*p == '=' || *p == ':'))
        made->separator = *p++;
    else if (dashes && p > blank)
        made->separator = ' ';
    else
        return false;
    while (p < end && (*p == ' ' || *p == '\'' || *p == '"' || *p == '[' || *p == '(')) p++;
    if (made->as->turn == TURN_ON) return take_switch(p, end, &made->value);
    made->value = 0;
    const char *first = p;
    while (p < end && isdigit((unsigned char)*p) && p - first < 7) made->value = made->value * 10 + (*p++ - '0');
    return p > first && (p >= end || (!isalnum((unsigned char)*p) && *p != '_' && *p != '%' && *p != '.'));
}

/* The best name of the lever that has a value behind it; of equal ones the last, which is nearest to the failure. */
static bool find_option(plim__lever lever, plim__text log, option *best) {
    uint32_t letters = first_letters(lever);
    best->as = NULL;
    if (!letters) return false;
    for (const char *at = log.at; at < log.end;) {
        if (!isalpha((unsigned char)*at)) {
            at++;
            continue;
        }
        const char *first = at;
        while (at < log.end && is_name(*at)) at++;
        size_t length = (size_t)(at - first);
        if (length > LONGEST || length < 3 || !(letters >> ((*first | 32) - 'a') & 1)) continue;
        option one = {.as = find_name(lever, first, length), .at = first, .length = length};
        if (!one.as || (best->as && one.as > best->as)) continue;
        bool dashes = first - log.at >= 2 && first[-1] == '-' && first[-2] == '-';
        if (first > log.at && !dashes && (is_name(first[-1]) || first[-1] == '.')) continue;
        if (dashes) one.at -= 2, one.length += 2;
        if (take_value(at, log.end, dashes, &one)) *best = one;
    }
    return best->as;
}

/* The better value, negative where there is none. */
static int64_t better(turn how, int64_t value) {
    switch (how) {
    case TURN_HALF: return value > 1 ? value / 2 : -1;
    case TURN_LENGTH: return value > 1 << 16 ? 1 << 14 : value >= 128 ? value / 2 : -1;
    case TURN_SIDE: return value >= 256 ? value * 3 / 4 / 32 * 32 : -1;
    case TURN_FEW: return value > 8 ? value / 4 : value > 2 ? 2 : value > 0 ? value - 1 : -1;
    case TURN_MORE: return value > 0 ? value + (value + 1) / 2 : -1;
    case TURN_PIXELS: return value > 1 << 18 ? value / 2 : -1;
    case TURN_ON: return value ? -1 : 1;
    case TURN_STAGE: return value < 3 ? 3 : -1;
    }
    return -1;
}

plim__own plim__own_option(plim__lever lever, plim__text log, char *to, size_t size) {
    option found = {0};
    if (!find_option(lever, log, &found)) return PLIM_OWN_ABSENT;
    int64_t value = better(found.as->turn, found.value);
    if (value < 0) return PLIM_OWN_SPENT;
    const char *between = found.separator == '=' ? "=" : found.separator == ':' ? ": " : " ";
    if (found.as->turn == TURN_ON)
        snprintf(to, size, "%.*s%s%s (it is off)", (int)found.length, found.at, between,
                 found.separator == '=' ? "True" : "true");
    else
        snprintf(to, size, "%.*s%s%lld (it is %lld)%s", (int)found.length, found.at, between, (long long)value,
                 (long long)found.value, found.as->turn == TURN_STAGE ? ", with offload to the host" : "");
    return PLIM_OWN_OPEN;
}
