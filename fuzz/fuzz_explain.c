/* The message reader on any bytes, fed in pieces. */
#include <stddef.h>
#include <stdint.h>

#include "plimsoll/diagnose.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    plim_explainer *explainer;
    const plim_explanation *explanation;
    if (plim_explainer_new(&explainer, NULL) != PLIM_OK) return 0;
    size_t half = size ? data[0] % size : 0;
    (void)plim_explainer_feed(explainer, data, half, NULL);
    (void)plim_explainer_feed(explainer, data + half, size - half, NULL);
    (void)plim_explainer_finish(explainer, &explanation, NULL);
    plim_explainer_free(explainer);
    return 0;
}
