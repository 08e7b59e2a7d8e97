/* What llama.cpp prints of its own buffers, which tells what would make one smaller. */
#ifndef PLIM_DIAGNOSE_LLAMA_LOG_H
#define PLIM_DIAGNOSE_LLAMA_LOG_H

#include <stdint.h>

#include "diagnose/text.h"

typedef struct plim__llama_log {
    double weights, cache; /* bytes on devices; 0 when not printed */
    int64_t layers;        /* on devices, as printed or else as asked for; -1 when neither is told */
} plim__llama_log;

plim__llama_log plim__llama_read(plim__text log);

#endif
