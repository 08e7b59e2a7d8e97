/* Generation: a language model continues a sequence of tokens, one after the other.
 *
 *     int64_t tokens[200];
 *     plim_generate_options o = {.prompt = prompt, .prompt_count = 5, .count = 200, .temperature = 0.8, .top_k = 40};
 *     plim_generate(session, &o, tokens, &made, &error);
 *
 * The rule, so that others can do the same: scores / temperature; all but the top_k largest are left out (of equal ones, those
 * with larger numbers); probabilities by softmax in double; tokens in falling order of probability (equal ones by number) up to
 * and with the one at which their sum reaches top_p stay. With u = (bits >> 11) 2^-53, where bits are those of SplitMix64's
 * finaliser as mix(mix(mix(seed) ^ 0x67656e) ^ n) for the n-th token from 0 on, the token is the first at which the sum, in
 * that order, exceeds u times the sum of all that stay. A temperature of 0 takes the largest score. */
#ifndef PLIMSOLL_GENERATE_H
#define PLIMSOLL_GENERATE_H

#include "plimsoll/session.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_generate_options {
    size_t size;           /* sizeof(plim_generate_options), or 0; see plimsoll.h */
    const int64_t *prompt; /* what is continued: at least one token */
    size_t prompt_count;
    int64_t count;      /* tokens to make */
    double temperature; /* 0: the most probable token each time */
    int64_t top_k;      /* 0: all */
    double top_p;       /* 0 stands for 1: all */
    uint64_t seed;
    int has_stop; /* with it, generation ends after the token `stop` */
    int64_t stop;
    /* Called with each token as it is made; returning non-zero ends generation. May be NULL. */
    int (*on_token)(void *context, int64_t token, double probability);
    void *context;
} plim_generate_options;

/* The session is of a model with one input of token numbers (batch, positions) and scores (batch, positions, vocabulary) as its
 * first output, each position's from those before it. More tokens than it has positions: the last ones count. `tokens` has room
 * for options->count; *made (may be NULL) is how many there are. */
PLIM_API plim_status plim_generate(plim_session *session, const plim_generate_options *options, int64_t *tokens,
                                   size_t *made, plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
