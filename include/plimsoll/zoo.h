/* The zoo: well-known networks, made here, with seeded weights as PyTorch would initialise them. */
#ifndef PLIMSOLL_ZOO_H
#define PLIMSOLL_ZOO_H

#include "plimsoll/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero means the model's own default. */
typedef struct plim_zoo_options {
    size_t size;      /* sizeof(plim_zoo_options), or 0; see plimsoll.h */
    int64_t classes;  /* outputs of a classifier or segmenter; vocabulary of a language model */
    int64_t image;    /* height and width */
    int64_t channels; /* of the image */
    int64_t seq;      /* tokens in a sequence */
    int64_t width;    /* channels of the first stage, or the hidden size */
    int64_t layers;   /* blocks of a transformer, hidden layers of an mlp, layers of an lstm or gru */
    int64_t heads;    /* of attention */
    uint64_t seed;
    int64_t features; /* numbers in a row of a table */
    int64_t kv_heads; /* heads of keys and values, which heads of queries share */
    int64_t hidden;   /* between the two products of a block's feed-forward part */
    int64_t vocab;    /* tokens that a classifier of text knows */
} plim_zoo_options;

typedef struct plim_zoo_entry {
    const char *name, *summary, *sizes; /* sizes: the options that count, with their defaults */
} plim_zoo_entry;

PLIM_API const plim_zoo_entry *plim_zoo_list(size_t *count);
/* A graph with a symbolic batch axis N. options may be NULL. PLIM_NOT_FOUND for an unknown name. */
PLIM_API plim_status plim_zoo_create(const char *name, const plim_zoo_options *options, plim_graph **graph,
                                     plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
