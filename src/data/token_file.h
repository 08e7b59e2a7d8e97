/* A tokenizer.json without holding it: vocabulary and merges, which are nearly all of such a file, come one by one; the rest is
 * short and becomes a text that any reader of JSON takes. */
#ifndef PLIM_DATA_TOKEN_FILE_H
#define PLIM_DATA_TOKEN_FILE_H

#include "core/str.h"
#include "data/blob.h"

/* Who gets them, in the order of the file; NULL: they are passed over. Texts are the reader's own until the next call. */
typedef struct plim__token_sink {
    plim_status (*token)(void *context, const char *text, int64_t number, plim_error *error);
    plim_status (*merge)(void *context, const char *left, const char *right, plim_error *error);
    void *context;
} plim__token_sink;

typedef struct plim__token_summary {
    plim__str rest;       /* the file with an empty vocabulary and without merges */
    uint64_t rest_memory; /* about what it takes as a tree */
    size_t tokens, merges;
    uint64_t text_bytes; /* of tokens, each with its end */
    int64_t largest;     /* number of a token */
    bool has_vocabulary, has_merges;
    uint64_t hash; /* of all bytes */
} plim__token_summary;

/* One pass. Free the rest after a failure, too. `limit`: bytes that the rest may take; more is PLIM_BUDGET. 0: none. */
plim_status plim__token_file_scan(const plim__blob *file, const plim__token_sink *sink, uint64_t limit,
                                  plim__token_summary *summary, plim_error *error);

#endif
