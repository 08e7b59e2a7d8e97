/* The message reader on any bytes, fed in pieces. */
#include <stddef.h>
#include <stdint.h>

#include "diagnose/explain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static plim_explainer *explainer; /* made once: its tables cost more than reading a small log */
    const plim_explanation *explanation;
    if (!explainer && plim_explainer_create(&explainer, NULL) != PLIM_OK) return 0;
    plim__explainer_reset(explainer);
    size_t half = size ? data[0] % size : 0;
    (void)plim_explainer_feed(explainer, data, half, NULL);
    (void)plim_explainer_feed(explainer, data + half, size - half, NULL);
    (void)plim_explainer_finish(explainer, &explanation, NULL);
    return 0;
}
