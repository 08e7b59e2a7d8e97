/* Any bytes as the JSON of a safetensors header. */
#include "format/safetensors.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    plim__safetensors file;
    plim_error error;
    plim__safetensors_parse(&file, (const char *)data, size, (plim__safetensors_place){"fuzz", size + 8, 1000}, &error);
    plim__safetensors_close(&file);
    return 0;
}
