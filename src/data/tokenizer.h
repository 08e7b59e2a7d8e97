/* The tokenizer that plimsoll/tokenizer.h promises, and files of text as token numbers. */
#ifndef PLIM_DATA_TOKENIZER_H
#define PLIM_DATA_TOKENIZER_H

#include "data/blob.h"
#include "data/bpe.h"
#include "data/splitter.h"
#include "plimsoll/tokenizer.h"

/* A token that is found in the text itself, whole. */
typedef struct plim__added {
    char *text;
    size_t length;
    uint32_t number;
    bool special; /* left out when tokens become text */
    bool strange; /* strips spaces or takes whole words only: refused where it is found */
} plim__added;

/* A text that is replaced in every token. */
typedef struct plim__decoding_replace {
    char *from, *to;
} plim__decoding_replace;

/* How tokens become text. */
typedef struct plim__decoding {
    bool byte_level, byte_fallback, spaces; /* spaces: between tokens, where the file says nothing */
    bool fused, stripped;
    PLIM_VEC(plim__decoding_replace) replaces;
    char strip[8]; /* what is taken off the beginning, `strip_count` times at most */
    int64_t strip_count;
    char *mark; /* Metaspace: becomes a space; NULL: there is none */
    bool drop_first_mark;
} plim__decoding;

struct plim_tokenizer {
    plim__splitter splitter;
    plim__bpe bpe;
    PLIM_VEC(plim__added) added; /* the longest first */
    bool starts_added[256];      /* bytes that an added token begins with */
    plim__decoding decoding;
    uint64_t hash;
    uint64_t bytes, limit; /* what it takes, and what it and its work may take; 0: no limit */
    bool cuts;             /* no token crosses the end of a line that a letter or a digit follows */
};

/* From "decoder" of a tokenizer.json. */
plim_status plim__decoding_read(plim__decoding *decoding, const json_t *decoder, bool byte_level, plim_error *error);
void plim__decoding_free(plim__decoding *decoding);

/* What does not fit `limit` bytes is PLIM_BUDGET, before it is reserved; 0: no limit. */
plim_status plim__tokenizer_load(const char *path, uint64_t limit, plim_tokenizer **tokenizer, plim_error *error);
/* What it takes, with the work on a text in pieces of a few kilobytes. */
uint64_t plim__tokenizer_memory(const plim_tokenizer *tokenizer);
/* All of a text file as a spool of numbers, four bytes each (little-endian), in such pieces; longer ones where a line is. */
plim_status plim__tokenizer_spool(const plim_tokenizer *tokenizer, const plim__blob *text, plim__blob *spool,
                                  plim_error *error);

#endif
