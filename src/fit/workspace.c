#include "fit/workspace.h"

#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)

/* "8x3x86x86" */
static const char *read_dims(const char *text, int64_t *dims, int most, int *count) {
    for (*count = 0; *count < most; text++) {
        char *end = NULL;
        long long value = strtoll(text, &end, 10);
        if (end == text || value < 0 || value > INT64_MAX >> 24) return NULL;
        dims[(*count)++] = value;
        text = end;
        if (*text != 'x') return text;
    }
    return NULL;
}

static const char *read_number(const char *text, char letter, int64_t *value) {
    if (!text || *text++ != ' ' || *text++ != letter) return NULL;
    int count = 0;
    return read_dims(text, value, 1, &count);
}

static const char *read_list(const char *text, char letter, int64_t *dims, int count) {
    int found = 0;
    if (!text || *text++ != ' ' || *text++ != letter) return NULL;
    text = read_dims(text, dims, 3, &found);
    return text && found <= count ? text : NULL;
}

static int64_t output_size(const plim__convolution *c, int at, const int64_t *stride, const int64_t *pad,
                           const int64_t *dilation) {
    int64_t window = dilation[at - 2] * (c->w[at] - 1) + 1;
    if (c->transposed) return (c->x[at] - 1) * stride[at - 2] - 2 * pad[at - 2] + window;
    int64_t room = c->x[at] + 2 * pad[at - 2] - window;
    return stride[at - 2] > 0 && room >= 0 ? room / stride[at - 2] + 1 : 0;
}

bool plim__convolution_read(const char *text, plim__convolution *conv) {
    *conv = (plim__convolution){0};
    conv->backward = strncmp(text, "conv_backward ", 14) == 0;
    if (!conv->backward && strncmp(text, "conv ", 5) != 0) return false;
    int rank = 0, found = 0;
    const char *at = read_dims(text + (conv->backward ? 14 : 5), conv->x, 5, &conv->rank);
    if (!at || *at != ' ' || conv->rank < 3) return false;
    at = read_dims(at + 1, conv->w, 5, &rank);
    int64_t stride[3] = {1, 1, 1}, pad[3] = {0}, dilation[3] = {1, 1, 1}, transposed = 0, mask = 0;
    if (!at || rank != conv->rank) return false;
    at = read_list(at, 's', stride, rank - 2);
    at = read_list(at, 'p', pad, rank - 2);
    at = read_list(at, 'd', dilation, rank - 2);
    at = read_number(at, 'g', &conv->groups);
    at = read_number(at, 't', &transposed);
    at = read_number(at, 'e', &conv->element);
    if (!at || conv->groups < 1 || conv->element < 1 || conv->element > 8) return false;
    conv->transposed = transposed != 0;
    conv->strided = stride[0] > 1;
    conv->y[0] = conv->x[0];
    conv->y[1] = conv->transposed ? conv->w[1] * conv->groups : conv->w[0];
    for (int i = 2; i < rank; i++) conv->y[i] = output_size(conv, i, stride, pad, dilation);
    if (!conv->backward) return true;
    at = read_number(at, 'm', &mask);
    conv->wants_input = mask / 10 != 0;
    conv->wants_weight = mask % 10 != 0;
    return at && *at == ' ' && at[1] == 'o' && read_dims(at + 2, conv->y, 5, &found) && found == rank;
}

static uint64_t bytes_of(const plim__convolution *c, const int64_t *dims) {
    uint64_t bytes = (uint64_t)c->element;
    for (int i = 0; i < c->rank; i++) {
        bytes *= (uint64_t)(dims[i] > 0 ? dims[i] : 1);
        if (bytes > (uint64_t)1 << 50) return 0; /* nonsense in a trace asks for nothing */
    }
    return bytes;
}

/* cuDNN picks an algorithm for each shape, and its work space with it. What published jobs show: on consumer cards next to
 * nothing for any kind of convolution; on data-centre cards the weight gradient of dense convolutions with a window
 * rearranges its tensors, so that channels come last. */
static bool rearranges(const plim__convolution *c, int capability) {
    bool window = false;
    for (int i = 2; i < c->rank; i++) window = window || c->w[i] > 1;
    return (capability == 80 || capability >= 90) && capability < 120 && window && c->groups == 1 && c->w[1] >= 4;
}

uint64_t plim__conv_all_bytes(const plim__convolution *c) {
    return bytes_of(c, c->x) + bytes_of(c, c->y) + bytes_of(c, c->w);
}

uint64_t plim__conv_weight_bytes(const plim__convolution *c, int capability) {
    return rearranges(c, capability) ? plim__conv_all_bytes(c) : 0;
}

uint64_t plim__cublas_bytes(int capability) { return capability >= 90 ? 33554432 : 8519680; }
