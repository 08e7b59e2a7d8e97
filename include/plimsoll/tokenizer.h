/* Tokenizers: text to token numbers and back, from a tokenizer.json of Hugging Face's `tokenizers` with a byte-pair (BPE)
 * model: those of GPT-2 and its kind (bytes), and of LLaMA and its kind (SentencePiece).
 *
 *     plim_tokenizer *t;
 *     plim_tokenizer_load("tokenizer.json", &t, &error);
 *     plim_token_buffer buffer = {.tokens = tokens, .room = 512};
 *     plim_tokenizer_encode(t, text, strlen(text), &buffer, &error);
 *     plim_tokenizer_free(t);
 *
 * Numbers are those of Tokenizer.encode(text, add_special_tokens=False) and texts those of Tokenizer.decode. A file that
 * asks for what is not known here is PLIM_UNSUPPORTED, and the message names it: nothing is left out silently. */
#ifndef PLIMSOLL_TOKENIZER_H
#define PLIMSOLL_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "plimsoll/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_tokenizer plim_tokenizer;

PLIM_API plim_status plim_tokenizer_load(const char *path, plim_tokenizer **tokenizer, plim_error *error);
PLIM_API void plim_tokenizer_free(plim_tokenizer *tokenizer);

/* Token numbers lie in [0, size). */
PLIM_API int64_t plim_tokenizer_size(const plim_tokenizer *tokenizer);
/* Differs for files that make other numbers. */
PLIM_API uint64_t plim_tokenizer_hash(const plim_tokenizer *tokenizer);

/* Where tokens go. */
typedef struct plim_token_buffer {
    int64_t *tokens; /* may be NULL where room is 0 */
    size_t room;
    size_t count; /* set: how many there are */
} plim_token_buffer;

/* Writes as many tokens as there is room for; where there are more, the status is PLIM_OVERFLOW and .count tells. Text that is
 * not UTF-8 is PLIM_INVALID. From any number of threads. */
PLIM_API plim_status plim_tokenizer_encode(const plim_tokenizer *tokenizer, const char *text, size_t length,
                                           plim_token_buffer *buffer, plim_error *error);
/* The text of tokens, without those that are marked as special; plim_text_free(*text). What is no whole character becomes
 * U+FFFD. */
PLIM_API plim_status plim_tokenizer_decode(const plim_tokenizer *tokenizer, const int64_t *tokens, size_t count,
                                           char **text, plim_error *error);

#ifdef __cplusplus
}
#endif
#endif
