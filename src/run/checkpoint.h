/* Checkpoints: a training run on disk, so that it goes on from there as if nothing had happened.
 *
 * One sealed safetensors file, which other tools open too:
 *   tensors    "model.<name>" (parameters, running statistics), "state.<name>" (what the optimizer keeps)
 *   metadata   checksum and length, what wrote it, of which model, optimizer and data it is, how far it has come
 *
 * It appears whole or not at all; the one before stays until then. */
#ifndef PLIM_RUN_CHECKPOINT_H
#define PLIM_RUN_CHECKPOINT_H

#include "core/map.h"
#include "format/safetensors.h"

typedef struct plim__checkpoint {
    const char *program;   /* version that wrote it; set by reading */
    uint64_t model;        /* plim__graph_fingerprint of the model as it was loaded */
    const char *optimizer; /* "adamw" */
    const char *settings;  /* its settings as text, for people and for comparing; "" for none */
    int64_t update;        /* updates done */
    int64_t epoch, sample; /* position in the data: epochs done, samples of this one done */
    uint64_t seed;
    const char *data;                    /* kind of the data set */
    int64_t data_samples, data_bytes;    /* its samples; bytes of its files, 0 where there are none */
    double best;                         /* metric; read only where best_update > 0 */
    int64_t best_update;                 /* when it was; 0: no validation yet */
    int64_t stale;                       /* validations since then, for early stopping */
    const plim__safetensors_note *extra; /* anything else that the trainer wants back */
    size_t extra_count;
} plim__checkpoint;

/* Texts of `meta` that are NULL are written as "". */
plim_status plim__checkpoint_write(const char *path, const plim__checkpoint *meta, const plim__weights *model,
                                   const plim__weights *state, plim_error *error);

typedef enum plim__checkpoint_part { PLIM__CHECKPOINT_MODEL, PLIM__CHECKPOINT_STATE } plim__checkpoint_part;

typedef struct plim__checkpoint_file {
    plim__checkpoint meta; /* its texts live until the file is closed */
    char *path;
    int fd;
    plim__safetensors header;
    plim__safetensors_note *extra;
    plim__map tensors; /* name with its prefix → tensor of the header */
} plim__checkpoint_file;

/* Checks the whole file: what is cut off, damaged or no checkpoint is PLIM_CORRUPT, a later format PLIM_UNSUPPORTED.
 * After a failure nothing has to be closed. */
plim_status plim__checkpoint_open(plim__checkpoint_file *file, const char *path, plim_error *error);
/* The same from an open file, which it takes, also on failure. */
plim_status plim__checkpoint_open_fd(plim__checkpoint_file *file, int fd, const char *path, plim_error *error);
void plim__checkpoint_close(plim__checkpoint_file *file);

/* Whether the file continues this run: the same model, optimizer, and exactly these tensors; otherwise PLIM_INVALID and
 * a message that says what is different. Of `run` only model and optimizer are read. */
plim_status plim__checkpoint_match(const plim__checkpoint_file *file, const plim__checkpoint *run,
                                   const plim__weights *model, const plim__weights *state, plim_error *error);
/* Whether it was made with this data (kind, samples, bytes); otherwise PLIM_INVALID. */
plim_status plim__checkpoint_match_data(const plim__checkpoint_file *file, const plim__checkpoint *run,
                                        plim_error *error);
/* Reads one tensor straight to where it belongs. */
plim_status plim__checkpoint_read(const plim__checkpoint_file *file, plim__checkpoint_part part,
                                  const plim__weight *weight, void *into, plim_error *error);
/* The text that was written under an extra key; NULL for none. */
const char *plim__checkpoint_extra(const plim__checkpoint_file *file, const char *key);

#endif
