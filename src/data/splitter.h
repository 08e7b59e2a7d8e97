/* What comes before byte pairs: normalising text, and splitting it into pieces that merges do not cross. */
#ifndef PLIM_DATA_SPLITTER_H
#define PLIM_DATA_SPLITTER_H

#include <jansson.h>
#include <stdbool.h>

#include "core/str.h"
#include "core/vec.h"

/* A change of the whole text between two added tokens. */
typedef enum plim__change_kind {
    PLIM__CHANGE_PREPEND, /* `to`; with `unless`, where the text does not begin with it; with `first`, at the start of all */
    PLIM__CHANGE_REPLACE, /* `from` by `to` */
    PLIM__CHANGE_FORM,    /* Unicode's NFC, NFD, NFKC or NFKD: `options` of utf8proc */
} plim__change_kind;

typedef struct plim__change {
    plim__change_kind kind;
    char *from, *to;
    bool unless, first;
    int options;
} plim__change;

typedef enum plim__stage_kind {
    PLIM__STAGE_PATTERN, /* a regular expression */
    PLIM__STAGE_DIGITS,  /* digits apart from others; `each`: from each other too */
    PLIM__STAGE_BEFORE,  /* before each `mark` */
} plim__stage_kind;

typedef struct plim__stage {
    plim__stage_kind kind;
    struct pcre2_real_code_8 *pattern;
    bool drops_matches, drops_others;
    bool each;
    char *mark;
} plim__stage;

typedef struct plim__splitter {
    PLIM_VEC(plim__change) changes;
    PLIM_VEC(plim__stage) stages;
    struct pcre2_real_general_context_8 *context; /* its memory is our heap's */
    bool byte_level;
    bool normalises; /* the file has a normalizer */
} plim__splitter;

/* From "normalizer" and "pre_tokenizer" of a tokenizer.json; each may be null. Free it after a failure, too. */
plim_status plim__splitter_read(plim__splitter *splitter, const json_t *normalizer, const json_t *pre_tokenizer,
                                plim_error *error);
void plim__splitter_free(plim__splitter *splitter);

/* Who gets the pieces. */
typedef struct plim__piece_sink {
    plim_status (*take)(void *context, const char *piece, size_t length, plim_error *error);
    void *context;
} plim__piece_sink;

/* Memory that splitting uses; one a thread. */
typedef struct plim__splitter_work {
    plim__str text, other;
    PLIM_VEC(struct pcre2_real_match_data_8 *) matches; /* one a stage */
} plim__splitter_work;

void plim__splitter_work_free(plim__splitter_work *work);

/* Where a text stands: a part of a longer one does not begin again. */
typedef enum plim__splitter_place {
    PLIM__PLACE_START,
    PLIM__PLACE_AFTER_ADDED,
    PLIM__PLACE_WITHIN
} plim__splitter_place;

/* Text between two added tokens, which is UTF-8. */
typedef struct plim__segment {
    const char *text;
    size_t length;
    plim__splitter_place place;
} plim__segment;

plim_status plim__splitter_split(const plim__splitter *splitter, plim__splitter_work *work,
                                 const plim__segment *segment, const plim__piece_sink *sink, plim_error *error);

#endif
