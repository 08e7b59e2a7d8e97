/* Byte-pair encoding: pieces of text to token numbers by merging neighbours, the pair of lowest rank first. */
#ifndef PLIM_DATA_BPE_H
#define PLIM_DATA_BPE_H

#include <jansson.h>
#include <stdbool.h>

#include "core/map.h"
#include "core/str.h"
#include "core/vec.h"

enum { PLIM__BPE_MOST_TOKENS = 1 << 24 };

typedef PLIM_VEC(uint32_t) plim__token_list;

typedef struct plim__bpe {
    plim__map numbers;      /* of tokens, by their text */
    PLIM_VEC(char *) texts; /* of tokens, by their number; NULL where there is none */
    struct plim__bpe_pair *pairs;
    size_t pair_capacity; /* a power of two */
    bool byte_level;      /* texts are bytes, written as printable characters */
    int32_t bytes[256];   /* the token of each byte; -1: none */
    int32_t unknown;      /* what is not in the vocabulary becomes this; -1: nothing */
    bool fuse_unknown;    /* neighbours that are unknown are one token */
    bool byte_fallback;   /* what is not in the vocabulary becomes its bytes */
    bool whole_words;     /* a piece that is a token is that token, whatever merges make of it */
} plim__bpe;

/* From the "model" of a tokenizer.json. `byte_level`: a pre-tokenizer makes it so. Free it after a failure, too. */
plim_status plim__bpe_read(plim__bpe *bpe, const json_t *model, bool byte_level, plim_error *error);
void plim__bpe_free(plim__bpe *bpe);
/* Adds a token that merges do not make. */
plim_status plim__bpe_add(plim__bpe *bpe, const char *text, int64_t number, plim_error *error);
uint64_t plim__bpe_memory(const plim__bpe *bpe);

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
