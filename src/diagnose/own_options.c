/* Finding names with numbers behind them: "--batch-size 32", "micro_batch_size: 4", "model.fit(x, batch_size=10)". */
#include "diagnose/own_options.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 40 };

/* Names a lever goes by, the particular before the general; "-" is read as "_". */
static const char *const batch_names[] = {"micro_train_batch_size",
                                          "ppo_micro_batch_size_per_gpu",
                                          "per_device_train_batch_size",
                                          "per_gpu_train_batch_size",
                                          "train_micro_batch_size_per_gpu",
                                          "micro_batch_size",
                                          "train_batch_size",
                                          "samples_per_gpu",
                                          "ims_per_batch",
                                          "images_per_gpu",
                                          "batch_size_per_gpu",
                                          "batch_size",
                                          "batchsize",
                                          "batch"};
static const char *const length_names[] = {"max_seq_length",   "max_seq_len",       "cutoff_len", "model_max_length",
                                           "sequence_len",     "max_source_length", "block_size", "seq_length",
                                           "max_total_length", "seq_len",           "max_length", "max_len"};
static const char *const input_names[] = {
    "max_resolution", "image_resolution", "max_res",    "imgsz",     "loadsize",   "load_size", "img_size",
    "image_size",     "train_resolution", "resolution", "crop_size", "input_size", "img"};

typedef struct names {
    const char *const *list;
    size_t count;
} names;

static names names_of(plim__lever lever) {
#define LIST(array)                                                                                                    \
    (names) { array, sizeof array / sizeof *array }
    if (lever == PLIM_LEVER_BATCH) return LIST(batch_names);
    if (lever == PLIM_LEVER_LENGTH) return LIST(length_names);
    if (lever == PLIM_LEVER_INPUT) return LIST(input_names);
#undef LIST
    return (names){NULL, 0};
}

typedef struct option {
    const char *at; /* its first dash or letter */
    size_t length;  /* up to the end of its name */
    char separator; /* '=', ':' or ' ' */
    int64_t value;
    size_t rank; /* in the list of names */
} option;

static bool is_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '-'; }

static size_t rank_of(names list, const char *name, size_t length) {
    for (size_t i = 0; i < list.count; i++) {
        const char *a = list.list[i];
        size_t k = 0;
        while (k < length && a[k] && a[k] == (name[k] == '-' ? '_' : tolower((unsigned char)name[k]))) k++;
        if (k == length && !a[k]) return i;
    }
    return list.count;
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
    made->value = 0;
    const char *first = p;
    while (p < end && isdigit((unsigned char)*p) && p - first < 7) made->value = made->value * 10 + (*p++ - '0');
    return p > first && (p >= end || (!isalnum((unsigned char)*p) && *p != '_' && *p != '%' && *p != '.'));
}

/* The best name of the list that has a number behind it; of equal ones the last, which is nearest to the failure. */
static bool find_option(names list, plim__text log, option *best) {
    best->rank = list.count;
    for (const char *at = log.at; at < log.end;) {
        if (!isalpha((unsigned char)*at)) {
            at++;
            continue;
        }
        const char *name = at;
        while (at < log.end && is_name(*at)) at++;
        size_t length = (size_t)(at - name);
        if (length > NAME || length < 3) continue;
        option one = {.rank = rank_of(list, name, length), .at = name, .length = length};
        if (one.rank == list.count || one.rank > best->rank) continue;
        bool dashes = name - log.at >= 2 && name[-1] == '-' && name[-2] == '-';
        if (name > log.at && !dashes && (is_name(name[-1]) || name[-1] == '.')) continue;
        if (dashes) one.at -= 2, one.length += 2;
        if (take_value(at, log.end, dashes, &one)) *best = one;
    }
    return best->rank < list.count;
}

/* Half of a batch or a length; three quarters of an image's side, in steps that every network takes. */
static int64_t smaller(plim__lever lever, int64_t value) {
    if (lever == PLIM_LEVER_BATCH) return value > 1 ? value / 2 : 0;
    if (lever == PLIM_LEVER_LENGTH) return value >= 128 ? value / 2 : 0;
    return value >= 256 ? value * 3 / 4 / 32 * 32 : 0;
}

bool plim__own_option(plim__lever lever, plim__text log, char *to, size_t size) {
    option found = {0};
    names list = names_of(lever);
    if (!list.count || !find_option(list, log, &found)) return false;
    int64_t value = smaller(lever, found.value);
    if (!value) return false;
    const char *between = found.separator == '=' ? "=" : found.separator == ':' ? ": " : " ";
    snprintf(to, size, "%.*s%s%lld (it is %lld)", (int)found.length, found.at, between, (long long)value,
             (long long)found.value);
    return true;
}
