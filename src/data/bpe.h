/* Byte-pair encoding: pieces of text to token numbers by merging neighbours, the pair of lowest rank first. */
#ifndef PLIM_DATA_BPE_H
#define PLIM_DATA_BPE_H

#include <jansson.h>
#include <stdbool.h>

#include "core/str.h"
#include "core/vec.h"
#include "data/token_file.h"

enum { PLIM__BPE_MOST_TOKENS = 1 << 24 };

typedef PLIM_VEC(uint32_t) plim__token_list;

typedef struct plim__bpe {
    char *pool; /* the texts of tokens, one behind the other, each with its end */
    size_t pool_bytes, pool_capacity;
    uint32_t *places; /* by number: where its text begins in the pool, plus one; 0: there is no such token */
    size_t count, capacity;
    uint32_t *slots;              /* numbers of tokens plus one, by the hash of their texts */
    size_t slot_capacity, held;   /* a power of two; tokens */
    struct plim__bpe_pair *pairs; /* by rank */
    size_t pair_count, pair_most;
    uint32_t *pair_slots; /* ranks plus one, by the hash of both sides */
    size_t pair_capacity; /* a power of two */
    bool byte_level;      /* texts are bytes, written as printable characters */
    int32_t bytes[256];   /* the token of each byte; -1: none */
    int32_t unknown;      /* what is not in the vocabulary becomes this; -1: nothing */
    bool fuse_unknown;    /* neighbours that are unknown are one token */
    bool byte_fallback;   /* what is not in the vocabulary becomes its bytes */
    bool whole_words;     /* a piece that is a token is that token, whatever merges make of it */
} plim__bpe;

/* What all of it will take. */
typedef struct plim__bpe_sizes {
    size_t tokens, merges;
    uint64_t text_bytes;
    int64_t largest; /* number of a token */
} plim__bpe_sizes;

uint64_t plim__bpe_memory(const plim__bpe_sizes *sizes);
/* Room for them. Free it after a failure, too. */
plim_status plim__bpe_reserve(plim__bpe *bpe, const plim__bpe_sizes *sizes, plim_error *error);
/* The "model" of a tokenizer.json without its lists, once all tokens are there. `byte_level`: a pre-tokenizer makes it so. */
plim_status plim__bpe_read(plim__bpe *bpe, const json_t *model, bool byte_level, plim_error *error);
void plim__bpe_free(plim__bpe *bpe);
/* Within what was reserved: tokens first, then merges in the order of their ranks. */
plim_status plim__bpe_add(plim__bpe *bpe, const char *text, int64_t number, plim_error *error);
plim_status plim__bpe_add_merge(plim__bpe *bpe, const char *left, const char *right, plim_error *error);
/* NULL: there is no such token. */
const char *plim__bpe_text(const plim__bpe *bpe, int64_t number);
/* Refuses a model that is not of byte pairs, before its lists are read. */
plim_status plim__bpe_check(const json_t *model, plim_error *error);

/* Memory that encoding uses; one a thread. */
typedef struct plim__bpe_work {
    PLIM_VEC(struct plim__bpe_symbol) symbols;
    PLIM_VEC(struct plim__bpe_merge) heap;
    plim__str text;
} plim__bpe_work;

void plim__bpe_work_free(plim__bpe_work *work);
/* Appends the tokens of one piece, which is UTF-8 unless it is a piece of bytes. */
plim_status plim__bpe_encode(const plim__bpe *bpe, plim__bpe_work *work, const char *piece, size_t length,
                             plim__token_list *tokens, plim_error *error);

/* The character that stands for a byte in texts of byte-level tokens, as UTF-8; returns its length. */
size_t plim__bpe_byte_text(unsigned char byte, char text[3]);
/* The byte that a character stands for; -1: none. */
int plim__bpe_text_byte(unsigned code);

#endif
