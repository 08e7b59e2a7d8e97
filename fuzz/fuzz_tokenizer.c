/* Any bytes as a tokenizer.json, a zero byte, and a text: encoded and decoded, or refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plimsoll/tokenizer.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { ROOM = 4096 };

static void use(const plim_tokenizer *tokenizer, const char *text, size_t length) {
    static int64_t tokens[ROOM];
    plim_token_buffer buffer = {.tokens = tokens, .room = ROOM};
    plim_error error;
    char *back = NULL;
    if (plim_tokenizer_encode(tokenizer, text, length, &buffer, &error) != PLIM_OK) return;
    for (size_t i = 0; i < buffer.count; i++)
        if (tokens[i] < 0 || tokens[i] >= plim_tokenizer_size(tokenizer)) abort();
    if (plim_tokenizer_decode(tokenizer, tokens, buffer.count, &back, &error) == PLIM_OK) plim_text_free(back);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("tokenizer", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    const unsigned char *end = size ? memchr(data, 0, size) : NULL;
    size_t length = end ? (size_t)(end - data) : size;
    plim_tokenizer *tokenizer;
    plim_error error;
    if (ftruncate(fd, 0) != 0 || pwrite(fd, data, length, 0) != (ssize_t)length) return 0;
    if (plim_tokenizer_load(path, &tokenizer, &error) == PLIM_OK && end)
        use(tokenizer, (const char *)end + 1, size - length - 1);
    plim_tokenizer_free(tokenizer);
    return 0;
}
