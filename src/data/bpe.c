/* Vocabulary, merges, and merging: a list of symbols linked to their neighbours, and a heap of pairs that could be merged.
 * Pairs of symbols that changed since stay in the heap and are passed over. */
#include "data/bpe.h"

#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/random.h"
#include "core/utf8.h"

struct plim__bpe_pair {
    uint32_t left, right, made;
};

struct plim__bpe_symbol {
    uint32_t token;
    int32_t before, after; /* -1: none */
    bool gone;
};

struct plim__bpe_merge {
    uint32_t rank, made;
    int32_t at;
};

typedef struct plim__bpe_pair pair;
typedef struct plim__bpe_symbol symbol;
typedef struct plim__bpe_merge merge;

/* --- bytes as characters -------------------------------------------------------------------------------------- */

static bool is_printable(int byte) {
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

/* Printable bytes are themselves; the others, in their order, are the characters from 256 on. */
static unsigned byte_code(unsigned char byte) {
    unsigned code = 256;
    if (is_printable(byte)) return byte;
    for (int i = 0; i < byte; i++) code += !is_printable(i);
    return code;
}

size_t plim__bpe_byte_text(unsigned char byte, char text[3]) {
    unsigned code = byte_code(byte);
    text[0] = (char)(code < 0x80 ? code : 0xc0 | code >> 6);
    text[1] = (char)(code < 0x80 ? 0 : 0x80 | (code & 0x3f));
    text[2] = 0;
    return code < 0x80 ? 1 : 2;
}

int plim__bpe_text_byte(unsigned code) {
    if (code < 256) return is_printable((int)code) ? (int)code : -1;
    for (int byte = 0; byte < 256; byte++)
        if (byte_code((unsigned char)byte) == code) return byte;
    return -1;
}

/* --- tokens --------------------------------------------------------------------------------------------------- */

void plim__bpe_free(plim__bpe *bpe) {
    plim__free(bpe->pool);
    plim__free(bpe->places);
    plim__free(bpe->slots);
    plim__free(bpe->pairs);
    plim__free(bpe->pair_slots);
    *bpe = (plim__bpe){0};
}

/* A table that is two thirds full at most. */
static size_t table_capacity(size_t count) {
    size_t capacity = 16;
    while (capacity < count + count / 2 + 1) capacity *= 2;
    return capacity;
}

uint64_t plim__bpe_memory(const plim__bpe_sizes *sizes) {
    return sizes->text_bytes + sizeof(uint32_t) * (uint64_t)(sizes->largest + 1) +
           sizeof(uint32_t) * (uint64_t)(table_capacity(sizes->tokens) + table_capacity(sizes->merges)) +
           sizeof(pair) * (uint64_t)sizes->merges;
}

plim_status plim__bpe_reserve(plim__bpe *bpe, const plim__bpe_sizes *sizes, plim_error *error) {
    if (sizes->largest >= PLIM__BPE_MOST_TOKENS || sizes->tokens > PLIM__BPE_MOST_TOKENS)
        return plim__fail(error, PLIM_CORRUPT, "a token has the number %lld", (long long)sizes->largest);
    if (sizes->merges >= PLIM__BPE_MOST_TOKENS)
        return plim__fail(error, PLIM_UNSUPPORTED, "%zu merges are too many", sizes->merges);
    bpe->capacity = (size_t)(sizes->largest + 1);
    bpe->pool_capacity = (size_t)sizes->text_bytes;
    bpe->slot_capacity = table_capacity(sizes->tokens);
    bpe->pair_most = sizes->merges;
    bpe->pair_capacity = table_capacity(sizes->merges);
    bpe->pool = plim__alloc(bpe->pool_capacity + 1);
    bpe->places = plim__alloc_zero(bpe->capacity + 1, sizeof *bpe->places);
    bpe->slots = plim__alloc_zero(bpe->slot_capacity, sizeof *bpe->slots);
    bpe->pairs = plim__alloc_array(bpe->pair_most + 1, sizeof *bpe->pairs);
    bpe->pair_slots = plim__alloc_zero(bpe->pair_capacity, sizeof *bpe->pair_slots);
    if (bpe->pool && bpe->places && bpe->slots && bpe->pairs && bpe->pair_slots) return PLIM_OK;
    return plim__fail_memory(error, "a vocabulary", (size_t)plim__bpe_memory(sizes));
}

const char *plim__bpe_text(const plim__bpe *bpe, int64_t number) {
    bool known = number >= 0 && (uint64_t)number < bpe->count && bpe->places[number];
    return known ? bpe->pool + bpe->places[number] - 1 : NULL;
}

/* Where a text is among the slots, or belongs. */
static uint32_t *find_slot(const plim__bpe *bpe, const char *text) {
    uint64_t hash = 1469598103934665603u; /* FNV-1a */
    for (const char *c = text; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    size_t mask = bpe->slot_capacity - 1, at = (size_t)(hash ^ hash >> 32) & mask;
    while (bpe->slots[at] && strcmp(plim__bpe_text(bpe, (int64_t)bpe->slots[at] - 1), text) != 0) at = (at + 1) & mask;
    return &bpe->slots[at];
}

/* -1: it is no token. */
static int32_t find_token(const plim__bpe *bpe, const char *text) { return (int32_t)*find_slot(bpe, text) - 1; }

plim_status plim__bpe_add(plim__bpe *bpe, const char *text, int64_t number, plim_error *error) {
    size_t bytes = strlen(text) + 1;
    if (number < 0 || (uint64_t)number >= bpe->capacity)
        return plim__fail(error, PLIM_CORRUPT, "token '%.40s' has the number %lld", text, (long long)number);
    const char *was = plim__bpe_text(bpe, number);
    if (was && strcmp(was, text) == 0) return PLIM_OK;
    if (was) return plim__fail(error, PLIM_CORRUPT, "tokens '%.40s' and '%.40s' have the same number", text, was);
    bool room = bpe->pool && bytes <= bpe->pool_capacity - bpe->pool_bytes && bpe->held + 1 < bpe->slot_capacity;
    if (!room) /* the file changed since it was counted */
        return plim__fail(error, PLIM_CORRUPT, "token '%.40s' was not there a moment ago", text);
    memcpy(bpe->pool + bpe->pool_bytes, text, bytes);
    if ((size_t)number >= bpe->count) bpe->count = (size_t)number + 1;
    bpe->places[number] = (uint32_t)bpe->pool_bytes + 1;
    bpe->pool_bytes += bytes;
    bpe->held++;
    *find_slot(bpe, text) = (uint32_t)number + 1; /* of two numbers the later counts */
    return PLIM_OK;
}

/* --- merges --------------------------------------------------------------------------------------------------- */

static uint32_t *find_pair_slot(const plim__bpe *bpe, uint32_t left, uint32_t right) {
    size_t mask = bpe->pair_capacity - 1, at = (size_t)plim__random_mix((uint64_t)left << 32 | right) & mask;
    for (; bpe->pair_slots[at]; at = (at + 1) & mask) {
        const pair *p = &bpe->pairs[bpe->pair_slots[at] - 1];
        if (p->left == left && p->right == right) break;
    }
    return &bpe->pair_slots[at];
}

/* The rank of a pair, from 1; 0: it is not merged. */
static uint32_t find_rank(const plim__bpe *bpe, uint32_t left, uint32_t right) {
    return *find_pair_slot(bpe, left, right);
}

plim_status plim__bpe_add_merge(plim__bpe *bpe, const char *left, const char *right, plim_error *error) {
    size_t rank = bpe->pair_count;
    char joined[256];
    plim__str longer = {0};
    int length = snprintf(joined, sizeof joined, "%s%s", left, right);
    if (length >= (int)sizeof joined) plim__str_addf(&longer, "%s%s", left, right);
    bool failed = longer.failed || length < 0;
    const char *text = longer.data ? longer.data : joined;
    int32_t a = find_token(bpe, left), b = find_token(bpe, right), made = failed ? -1 : find_token(bpe, text);
    plim_status status = PLIM_OK;
    if (failed)
        status = plim__fail_memory(error, "a merge", strlen(left) + strlen(right));
    else if (rank >= bpe->pair_most)
        status = plim__fail(error, PLIM_CORRUPT, "merge %zu was not there a moment ago", rank);
    else if (a < 0 || b < 0 || made < 0)
        status =
            plim__fail(error, PLIM_CORRUPT, "merge %zu makes '%.60s', and that or its parts are no tokens", rank, text);
    plim__str_free(&longer);
    if (status != PLIM_OK) return status;
    bpe->pairs[bpe->pair_count++] = (pair){(uint32_t)a, (uint32_t)b, (uint32_t)made};
    *find_pair_slot(bpe, (uint32_t)a, (uint32_t)b) = (uint32_t)bpe->pair_count; /* of two the later counts */
    return PLIM_OK;
}

/* --- reading -------------------------------------------------------------------------------------------------- */

static void find_bytes(plim__bpe *bpe) {
    for (int i = 0; i < 256; i++) {
        char text[8];
        if (bpe->byte_level)
            plim__bpe_byte_text((unsigned char)i, text);
        else
            snprintf(text, sizeof text, "<0x%02X>", (unsigned)i);
        bpe->bytes[i] = find_token(bpe, text);
    }
}

static bool is_empty(const json_t *text) { return !text || json_is_null(text) || !*json_string_value(text); }

plim_status plim__bpe_check(const json_t *model, plim_error *error) {
    const json_t *type = json_object_get(model, "type"), *dropout = json_object_get(model, "dropout");
    if (!json_is_object(model)) return plim__fail(error, PLIM_CORRUPT, "there is no model in it");
    if (type && (!json_is_string(type) || strcmp(json_string_value(type), "BPE") != 0))
        return plim__fail(error, PLIM_UNSUPPORTED, "its model is %.40s; byte pairs (BPE) are read",
                          json_is_string(type) ? json_string_value(type) : "strange");
    if (dropout && !json_is_null(dropout) && json_number_value(dropout) != 0)
        return plim__fail(error, PLIM_UNSUPPORTED, "its model drops merges by chance (dropout)");
    static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    for (int i = 0; i < 2; i++) {
        const json_t *affix = json_object_get(model, affixes[i]);
        if (!is_empty(json_is_string(affix) || json_is_null(affix) ? affix : NULL))
            return plim__fail(error, PLIM_UNSUPPORTED, "its model has a %s", affixes[i]);
    }
    return PLIM_OK;
}

plim_status plim__bpe_read(plim__bpe *bpe, const json_t *model, bool byte_level, plim_error *error) {
    const char *unknown = json_string_value(json_object_get(model, "unk_token"));
    bpe->byte_level = byte_level;
    bpe->unknown = unknown ? find_token(bpe, unknown) : -1;
    bpe->fuse_unknown = json_is_true(json_object_get(model, "fuse_unk"));
    bpe->byte_fallback = json_is_true(json_object_get(model, "byte_fallback"));
    bpe->whole_words = json_is_true(json_object_get(model, "ignore_merges"));
    if (unknown && bpe->unknown < 0)
        return plim__fail(error, PLIM_CORRUPT, "its unknown token '%.40s' is not in the vocabulary", unknown);
    find_bytes(bpe);
    return PLIM_OK;
}

/* --- encoding ------------------------------------------------------------------------------------------------- */

void plim__bpe_work_free(plim__bpe_work *work) {
    plim__vec_free(&work->symbols);
    plim__vec_free(&work->heap);
    plim__str_free(&work->text);
}

static bool is_before(const merge *a, const merge *b) { return a->rank != b->rank ? a->rank < b->rank : a->at < b->at; }

static bool push_merge(plim__bpe_work *work, merge made) {
    if (!plim__vec_push(&work->heap, made)) return false;
    merge *heap = work->heap.items;
    for (size_t i = work->heap.count - 1; i > 0 && is_before(&heap[i], &heap[(i - 1) / 2]); i = (i - 1) / 2) {
        merge keep = heap[i];
        heap[i] = heap[(i - 1) / 2];
        heap[(i - 1) / 2] = keep;
    }
    return true;
}

static merge pop_merge(plim__bpe_work *work) {
    merge *heap = work->heap.items, top = heap[0];
    size_t count = --work->heap.count;
    heap[0] = heap[count];
    for (size_t i = 0;;) {
        size_t least = i;
        for (size_t k = 2 * i + 1; k <= 2 * i + 2; k++)
            if (k < count && is_before(&heap[k], &heap[least])) least = k;
        if (least == i) return top;
        merge keep = heap[i];
        heap[i] = heap[least];
        heap[least] = keep;
        i = least;
    }
}

/* The pair that begins at `at` joins the heap, where it can be merged. False when memory is short. */
static bool consider(const plim__bpe *bpe, plim__bpe_work *work, int32_t at) {
    if (at < 0 || work->symbols.items[at].after < 0) return true;
    const symbol *left = &work->symbols.items[at], *right = &work->symbols.items[left->after];
    uint32_t rank = find_rank(bpe, left->token, right->token);
    return !rank || push_merge(work, (merge){rank, bpe->pairs[rank - 1].made, at});
}

static bool merge_all(const plim__bpe *bpe, plim__bpe_work *work) {
    work->heap.count = 0;
    for (size_t i = 0; i < work->symbols.count; i++)
        if (!consider(bpe, work, (int32_t)i)) return false;
    while (work->heap.count > 0) {
        merge top = pop_merge(work);
        symbol *s = work->symbols.items, *left = &s[top.at];
        if (left->gone || left->after < 0) continue;
        symbol *right = &s[left->after];
        if (find_rank(bpe, left->token, right->token) != top.rank) continue; /* one of them changed */
        left->token = top.made;
        right->gone = true;
        left->after = right->after;
        if (left->after >= 0) s[left->after].before = top.at;
        if (!consider(bpe, work, left->before) || !consider(bpe, work, top.at)) return false;
    }
    return true;
}

static bool add_symbol(plim__bpe_work *work, int32_t token) {
    int32_t at = (int32_t)work->symbols.count;
    if (at > 0) work->symbols.items[at - 1].after = at;
    return plim__vec_push(&work->symbols, (symbol){(uint32_t)token, at - 1, -1, false});
}

static bool add_unknown(const plim__bpe *bpe, plim__bpe_work *work, bool *follows) {
    bool fused = *follows && bpe->fuse_unknown;
    *follows = true;
    return bpe->unknown < 0 || fused || add_symbol(work, bpe->unknown);
}

/* A character that is no token: its bytes where all of them are, else unknown. */
static bool add_bytes(const plim__bpe *bpe, plim__bpe_work *work, const char *text, size_t length, bool *unknown) {
    bool all = bpe->byte_fallback;
    for (size_t i = 0; i < length; i++) all &= bpe->bytes[(unsigned char)text[i]] >= 0;
    if (!all) return add_unknown(bpe, work, unknown);
    *unknown = false;
    for (size_t i = 0; i < length; i++)
        if (!add_symbol(work, bpe->bytes[(unsigned char)text[i]])) return false;
    return true;
}

static bool add_symbols(const plim__bpe *bpe, plim__bpe_work *work, const char *piece, size_t length) {
    bool unknown = false;
    work->symbols.count = 0;
    for (size_t i = 0, step; i < length; i += step) {
        char text[5] = {0};
        unsigned lead = (unsigned char)piece[i];
        step = bpe->byte_level || lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        if (step > length - i) step = length - i;
        memcpy(text, piece + i, step);
        int32_t token = bpe->byte_level ? bpe->bytes[lead] : find_token(bpe, text);
        bool good = token >= 0        ? add_symbol(work, token)
                    : bpe->byte_level ? add_unknown(bpe, work, &unknown)
                                      : add_bytes(bpe, work, text, step, &unknown);
        if (!good) return false;
        if (token >= 0) unknown = false;
    }
    return true;
}

/* The number of the piece as one token; -1: it is none. -2: memory is short. */
static int32_t find_whole(const plim__bpe *bpe, plim__bpe_work *work, const char *piece, size_t length) {
    plim__str_clear(&work->text);
    if (length > 1024) return -1; /* no token is as long */
    for (size_t i = 0; i < length && bpe->byte_level; i++) {
        char text[3];
        plim__bpe_byte_text((unsigned char)piece[i], text);
        plim__str_add(&work->text, text);
    }
    if (!bpe->byte_level) plim__str_addn(&work->text, piece, length);
    if (work->text.failed) return -2;
    return find_token(bpe, plim__str_text(&work->text));
}

plim_status plim__bpe_encode(const plim__bpe *bpe, plim__bpe_work *work, const char *piece, size_t length,
                             plim__token_list *tokens, plim_error *error) {
    if (length > INT32_MAX / 2) return plim__fail(error, PLIM_OVERFLOW, "a piece of %zu bytes of text", length);
    int32_t whole = bpe->whole_words ? find_whole(bpe, work, piece, length) : -1;
    bool good = whole != -2;
    if (whole >= 0) return plim__vec_push(tokens, (uint32_t)whole) ? PLIM_OK : plim__fail_memory(error, "tokens", 4);
    good = good && add_symbols(bpe, work, piece, length) && merge_all(bpe, work);
    for (size_t i = 0; good && i < work->symbols.count; i++)
        if (!work->symbols.items[i].gone) good = plim__vec_push(tokens, work->symbols.items[i].token);
    return good ? PLIM_OK : plim__fail_memory(error, "tokens of a text", length * sizeof(symbol));
}
