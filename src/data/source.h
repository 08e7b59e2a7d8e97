/* A source: any number of samples, each readable by its number, by any thread. Everything that a kind of data set
 * knows is behind this interface; the pipeline knows nothing else. */
#ifndef PLIM_DATA_SOURCE_H
#define PLIM_DATA_SOURCE_H

#include <stdbool.h>

#include "data/order.h"
#include "plimsoll/data.h"

enum { PLIM__SCRATCH_PARTS = 4 };

/* Memory that one reader keeps between samples: it grows to what the largest sample needs, and is counted. */
typedef struct plim__scratch {
    struct {
        void *data;
        size_t bytes;
    } parts[PLIM__SCRATCH_PARTS];
} plim__scratch;

/* What a source knows of that before it reads. */
typedef struct plim__scratch_needs {
    size_t parts[PLIM__SCRATCH_PARTS]; /* the most of each */
    size_t library;                    /* that libraries take from the heap, at most */
    const char *largest;               /* the sample that needs the most; NULL: all need the same */
} plim__scratch_needs;

size_t plim__scratch_needs_bytes(const plim__scratch_needs *needs);

/* The part-th buffer, at least `bytes` long; contents undefined; NULL when memory is short. */
void *plim__scratch_get(plim__scratch *scratch, int part, size_t bytes);
/* All parts, resident from now on. */
plim_status plim__scratch_fill(plim__scratch *scratch, const plim__scratch_needs *needs, plim_error *error);
size_t plim__scratch_bytes(const plim__scratch *scratch);
void plim__scratch_free(plim__scratch *scratch);

/* Which sample, and what its random changes are drawn from. */
typedef struct plim__sample_key {
    int64_t index;
    uint64_t seed, epoch;
    uint64_t repeat; /* how often this sample came in the epoch before: more than 0 with oversampling only */
} plim__sample_key;

typedef struct plim__data_source plim__data_source;

typedef struct plim__data_source_ops {
    const char *kind;
    /* Writes one sample: fields[i] has room for source->fields[i].bytes. Called from several threads at once. */
    plim_status (*read)(const plim__data_source *source, const plim__sample_key *key, plim__scratch *scratch,
                        void *const *fields, plim_error *error);
    /* NULL when there is none; may be NULL itself. */
    const char *(*class_name)(const plim__data_source *source, int64_t index);
    void (*free)(plim__data_source *source);
    /* What a sample is called: its file, its row; may be NULL. */
    void (*sample_name)(const plim__data_source *source, int64_t index, char *text, size_t size);
    /* Takes what it needs from the training set (means, deviations), before the first sample is read; may be NULL. */
    plim_status (*fit)(plim__data_source *source, const plim__order *training, plim_error *error);
    /* The target of a sample, without reading the rest of it; may be NULL. */
    plim_status (*read_target)(const plim__data_source *source, int64_t index, plim__scratch *scratch, void *target,
                               plim_error *error);
    /* As plim_data_remark; may be NULL. */
    void (*remark)(const plim__data_source *source, char *text, size_t size);
    /* As plim_data_table; may be NULL. */
    const char *(*table)(const plim__data_source *source);
    /* As plim__data_target_columns; may be NULL. */
    const char *(*target_columns)(const plim__data_source *source);
} plim__data_source_ops;

struct plim__data_source { /* the first member of every kind's own structure */
    const plim__data_source_ops *ops;
    int64_t count;
    int field_count;
    plim_data_field fields[PLIM_DATA_MAX_FIELDS];
    uint64_t file_bytes, held_bytes, opening_bytes;
    plim__scratch_needs scratch; /* of one reader; zero where only reading tells */
    uint64_t tokenizer;          /* the hash of the one that made the numbers; 0: none did */
    bool consecutive;            /* neighbours overlap or belong together: a validation share is cut off the end */
    bool decodes;                /* samples cost time: worth several workers */
    bool channels_moved;         /* options.channels_last had an effect */
    bool augmented;              /* random changes of pixels had something to change */
};

/* Opens whatever is there: a file or a folder, told apart by name and content. */
plim_status plim__data_source_open(const char *path, const plim_data_options *options, plim__data_source **source,
                                   plim_error *error);
plim_status plim__data_source_open_arrays(const plim_data_array *arrays, size_t count, const plim_data_options *options,
                                          plim__data_source **source, plim_error *error);
void plim__data_source_free(plim__data_source *source); /* NULL is fine */
/* Which kind it would be opened as; "" when that cannot be told. */
const char *plim__data_source_kind(const char *path, const plim_data_options *options);
/* The shorter side of images before they are cropped, as these options have it. */
int64_t plim__image_resize(const plim_data_options *options);

/* The kinds; each refuses what is not its own with a message that names the file. */
plim_status plim__data_source_open_idx(const char *path, const plim_data_options *options, plim__data_source **source,
                                       plim_error *error);
plim_status plim__data_source_open_npy(const char *path, const plim_data_options *options, plim__data_source **source,
                                       plim_error *error);
plim_status plim__data_source_open_npz(const char *path, const plim_data_options *options, plim__data_source **source,
                                       plim_error *error);
plim_status plim__data_source_open_csv(const char *path, const plim_data_options *options, plim__data_source **source,
                                       plim_error *error);
plim_status plim__data_source_open_images(const char *path, const plim_data_options *options,
                                          plim__data_source **source, plim_error *error);
plim_status plim__data_source_open_tokens(const char *path, const plim_data_options *options, int token_bytes,
                                          plim__data_source **source, plim_error *error); /* 1: text */
plim_status plim__data_source_open_synthetic(const plim_data_options *options, plim__data_source **source,
                                             plim_error *error);

/* Sets rank, dims and bytes of a field; PLIM_OVERFLOW when a sample does not fit 47 bits. */
plim_status plim__field_shape(plim_data_field *field, plim_dtype dtype, int rank, const int64_t *dims,
                              plim_error *error);

/* Random changes and repetitions of samples, which a run that goes on has to have too: "flip rotate=15, oversampled", "none". */
struct plim_data;
void plim__data_describe_changes(const struct plim_data *data, char *text, size_t size);
/* Whether options.channels_last had an effect. */
bool plim__data_moves_channels(const struct plim_data *data);
/* The names of several columns that are predicted, with commas; NULL where there is one, or where they have none. */
const char *plim__data_target_columns(const struct plim_data *data);
/* data/targets.h, over the split. */
struct plim__target_rules;
plim_status plim__data_check_targets(const struct plim_data *data, const struct plim__target_rules *rules,
                                     plim_error *error);

#endif
