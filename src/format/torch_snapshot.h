/* PyTorch's memory snapshots (torch.cuda.memory._dump_snapshot): pickles of segments, blocks and, in newer
 * ones, the allocator's events with their call stacks. Read as a stream: each event becomes a few bytes as
 * soon as it is complete, so that a gigabyte takes a fraction of that in memory. */
#ifndef PLIM_FORMAT_TORCH_SNAPSHOT_H
#define PLIM_FORMAT_TORCH_SNAPSHOT_H

#include "mem/timeline.h"

/* True when the bytes may begin a pickle of a list or dict. */
bool plim__torch_snapshot_sniff(const void *data, size_t size);

/* Fills an initialised timeline. The old form (a list of segments) and the new one (a dict) are both read.
 * `device`: whose memory; -1 takes the one that holds the most. */
plim_status plim__torch_snapshot_read(const char *path, int device, plim__timeline *timeline, plim_error *error);

#endif
