/* Data sets: files, folders and arrays as a stream of batches, read ahead by worker threads.
 *
 *     plim_data *data;
 *     plim_data_batch batch;
 *     plim_data_create("/usr/share/datasets/fashion-mnist", &(plim_data_options){.batch = 256}, &data, &error);
 *     while (plim_data_next(data, &batch, &error) == PLIM_OK && batch.epoch < 5)
 *         step(batch.count, batch.fields[0], batch.fields[1]);
 *     plim_data_free(data);
 *
 * The order of samples depends on the seed, the epoch and the number of samples alone, never on the number of
 * workers; so {epoch, position} is the whole state of a run over data, and setting it resumes exactly there. */
#ifndef PLIMSOLL_DATA_H
#define PLIMSOLL_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "plimsoll/dtype.h"
#include "plimsoll/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PLIM_DATA_MAX_RANK   8
#define PLIM_DATA_MAX_FIELDS 16
#define PLIM_DATA_NAME       64

typedef struct plim_data plim_data;

/* One named array of a sample: "image" float32 [3, 224, 224], "label" int64 []. */
typedef struct plim_data_field {
    char name[PLIM_DATA_NAME];
    plim_dtype dtype;
    int rank; /* of one sample: 0 for a class number */
    int64_t dims[PLIM_DATA_MAX_RANK];
    size_t bytes;    /* of one sample */
    int target;      /* what is to be predicted, not an input */
    int64_t classes; /* values of an integer field lie in [0, classes), 0 where that is not known */
} plim_data_field;

/* Zero means the default everywhere. What a pointer leads to is copied, or not needed after opening. */
typedef struct plim_data_options {
    size_t size;        /* sizeof(plim_data_options), or 0; see plimsoll.h */
    const char *kind;   /* "idx", "npy", "npz", "csv", "images", "text", "tokens", "synthetic"; default: by content */
    const char *split;  /* "train" (default) or "test", where the data set has both; "validation" with .validation */
    const char *target; /* the column or array to predict: a name, or a number (csv; -1 is the last) */
    int float_target;   /* integer targets of arrays and csv arrive as float32: for regression */
    int no_target; /* targets are not read, and need not be there: for predictions. Folders of images need no classes */
    /* Names of classes, by number: folders of images and texts of csv targets get the number of their name, and a name that
     * is not among them is refused. NULL: classes are numbered in the order of their names. */
    const char *const *classes;
    int class_count;
    int64_t batch;     /* default 32 */
    int64_t epochs;    /* the number of epochs; default: endless */
    uint64_t seed;     /* of shuffling and of random changes */
    int in_order;      /* do not shuffle */
    int drop_last;     /* leave out the short batch at the end of an epoch */
    double validation; /* this share of the train split is kept apart; split "validation" is exactly that share */
    /* windows of text and tokens */
    int64_t seq;     /* default 256 */
    int64_t stride;  /* from one window to the next; default seq */
    int token_bytes; /* 2 or 4; default: 4 for .u32 and .uint32 files, else 2 */
    /* images; pixels are scaled to 0..1 before mean and deviation, unless .raw */
    int64_t height, width; /* default 224; width defaults to height */
    int64_t resize;        /* the shorter side before cropping; default: just covers height and width, 8/7 of that
                            * with random_crop */
    int64_t channels;      /* 1 or 3; default 3 */
    int random_crop;       /* crop anywhere, not in the centre */
    int random_flip;       /* mirror every other image, by chance */
    int skip_bad;          /* leave out images that cannot be decoded, and count them */
    /* values of float inputs: (value - mean) / deviation, one pair for all or one a channel (the first axis) */
    const float *mean, *deviation;
    int normal_count; /* pairs in both; 0 is none */
    int raw;          /* bytes and pixels stay 0..255 instead of 0..1 */
    int channels_last; /* 1: samples of arrays are height x width x channels, and are delivered channels first; -1: they are
                        * not, whatever a model remembers of those that it was trained on (plim_job_apply) */
    /* tables (csv); lists are names or numbers of columns with commas between them */
    const char *columns;    /* inputs; default: all but the target */
    const char *drop;       /* not inputs */
    const char *categories; /* columns of numbers that are categories; columns of texts always are */
    const char *missing;    /* what empty cells, NA, nan, null and ? become: "mean" of the column, or "zero". A missing
                             * category is none of them. NULL: they are refused */
    int normalise;          /* columns of numbers get mean 0 and deviation 1 over the train split */
    const char *table; /* plim_data_table of the set that a model was trained on: the same columns, by name, read in
                             * the same way; the five options above are not read then */
    /* synthetic: what to make, and how much of it (default: 65536 samples) */
    const plim_data_field *fields;
    int field_count;
    int64_t samples;
    uint64_t unpack_limit; /* bytes that a compressed file may unpack to, on the disk; default: 64 times its size, at
                            * least 256 MiB. More is PLIM_OVERFLOW */
    /* the pipeline */
    int workers;           /* threads; default: 1, and for images as many as the cores */
    int depth;             /* batches kept ready; default: tunes itself */
    uint64_t buffer_limit; /* bytes of batch buffers that it may grow to; default 64 MiB, never below two batches */
    uint64_t
        memory_limit; /* with .bounded: bytes that it may ever hold. Data that needs more is PLIM_BUDGET, before any
                            * of it is reserved; with skip_bad, images that alone need half of it are left out as bad.
                            * 0: no limit */
    int bounded;      /* most_bytes of plim_data_info is all that it will ever hold, and workers have theirs before the
                            * first batch. Opening reads the head of every image for that */
    /* Training alone. "crop,flip,rotate=15": crop, crop=SHARE, flip, vflip, pad=PIXELS, rotate=DEGREES, color=SHARE,
     * erase=PROBABILITY, mixup=ALPHA, with commas between them, of images in folders and arrays (docs/data.md). What a
     * sample becomes follows from seed, epoch and sample alone. NULL: none */
    const char *augment;
    const char
        *embed; /* tables: columns of categories that come as whole numbers in a field of their own, "categories" int64
                        * [columns], for an embedding: the rows of all of them follow one another, each column's begin with
                        * one for what is missing. NULL: none */
    const char *tokenizer; /* text: a tokenizer.json (plimsoll/tokenizer.h); tokens are its numbers. NULL: bytes */
    int oversample; /* samples of rare classes come several times in an epoch, so that each class is as frequent */
    int decimal; /* tables: ',' where numbers are written 1.234,5 and '.' where they are 1,234.5; 0: as 1234.5, and columns
                  * whose numbers have commas are refused */
    int float_inputs; /* inputs of arrays that are integers or booleans arrive as float32 */
} plim_data_options;

/* Opens "PATH" or "KIND:PATH"; "synthetic" is a kind that needs no path. Threads start with the first batch. */
PLIM_API plim_status plim_data_create(const char *path, const plim_data_options *options, plim_data **data,
                                      plim_error *error);

/* Which kind of data set `path` would be opened as (static text); `kind` as in the options, or NULL. */
PLIM_API plim_status plim_data_find_kind(const char *path, const char *kind, const char **found, plim_error *error);

/* Arrays in memory, all with the same size on the first axis: the samples. They are read where they are: keep them
 * until plim_data_free. Bytes become float32 in 0..1 unless options->raw, other floats float32, integers int64. */
typedef struct plim_data_array {
    const char *name;
    plim_dtype dtype;
    int rank;
    const int64_t *dims;
    const void *values; /* row-major */
    int target;
} plim_data_array;
PLIM_API plim_status plim_data_create_arrays(const plim_data_array *arrays, size_t count,
                                             const plim_data_options *options, plim_data **data, plim_error *error);
PLIM_API void plim_data_free(plim_data *data);

typedef struct plim_data_info {
    const char *kind; /* static */
    int64_t samples;  /* of one epoch */
    int64_t batches;  /* of one epoch */
    int64_t batch;    /* most samples in a batch */
    int64_t classes;  /* 0 when there are none, or they are not known */
    int field_count;
    uint64_t file_bytes; /* of the files that it is made of; 0 for arrays in memory and synthetic */
    uint64_t held_bytes; /* of memory that it holds in addition to batches: names of files, small arrays */
    uint64_t
        most_bytes; /* that it may ever take, with held_bytes; where options.bounded was not set, images are decoded
                          * in memory that is not counted here */
    int workers;
    int skips_bad;          /* options.skip_bad: a batch may have any number of samples */
    uint64_t tokenizer;     /* plim_tokenizer_hash of options.tokenizer; 0: none */
    int64_t resize;         /* images: the shorter side before they are cropped; 0 for other data */
    uint64_t opening_bytes; /* of memory that was taken to open it and given back: a tokenizer and its work; 0: none */
    uint64_t sample_bytes;  /* by which most_bytes grow with each sample of a batch */
} plim_data_info;
PLIM_API void plim_data_get_info(const plim_data *data, plim_data_info *info);
/* NULL past the end. */
PLIM_API const plim_data_field *plim_data_field_at(const plim_data *data, int index);
/* The name of a class of an image folder or of a csv column of text, in the order of names unless options.classes said
 * otherwise; NULL when there is none. */
PLIM_API const char *plim_data_class_name(const plim_data *data, int64_t index);

/* How many samples of each class the split has, without oversampling, into counts[0 .. classes); PLIM_INVALID when there are
 * no classes, or `count` is not their number. */
PLIM_API plim_status plim_data_count_classes(const plim_data *data, int64_t *counts, int64_t count, plim_error *error);

/* What a sample is called in its files: the path of an image, "row 7" of a table (from 1), "sample 6" of arrays (from 0).
 * `position` is that in an epoch. Written to text, which is returned. */
PLIM_API const char *plim_data_sample_name(const plim_data *data, int64_t epoch, int64_t position, char *text,
                                           size_t size);

/* What is odd about the data although it can be used: one image of another size than all others. Reads the heads of up to 20,000
 * images. Written to text, which is returned; "" for nothing. */
PLIM_API const char *plim_data_remark(const plim_data *data, char *text, size_t size);

/* How a table's columns are read, with the means and categories of its train split: for plim_data_options.table. One line of
 * JSON, valid until plim_data_free; NULL when it is not a table, or a name in it is not UTF-8. */
PLIM_API const char *plim_data_table(const plim_data *data);

typedef struct plim_data_batch {
    int64_t count;                            /* samples; a short last batch has fewer. 0: see plim_data_next */
    int64_t epoch;                            /* from 0 */
    int64_t position;                         /* of its first sample in the epoch */
    int last;                                 /* the epoch ends with this batch */
    const void *fields[PLIM_DATA_MAX_FIELDS]; /* count samples each, row-major */
} plim_data_batch;

/* The next batch; valid until the next call on this data set. A count of 0 with last = 0 is the end (options.epochs);
 * with last = 1 every sample of an epoch's last batch was left out as bad. After an error the same error comes
 * again until plim_data_seek. Not for several threads at once. */
PLIM_API plim_status plim_data_next(plim_data *data, plim_data_batch *batch, plim_error *error);

/* What a sample of the batch that came last is called, as plim_data_sample_name has it; samples that were left out as bad do not
 * count. */
PLIM_API const char *plim_data_batch_sample_name(const plim_data *data, const plim_data_batch *batch, int64_t index,
                                                 char *text, size_t size);

/* Where the stream stands: the first sample that no batch has brought yet. */
typedef struct plim_data_position {
    int64_t epoch, sample;
} plim_data_position;
PLIM_API plim_data_position plim_data_tell(const plim_data *data);
PLIM_API plim_status plim_data_seek(plim_data *data, plim_data_position position, plim_error *error);

typedef struct plim_data_stats {
    double seconds;        /* since the first batch was asked for */
    double wait_seconds;   /* of these, inside plim_data_next */
    double wait_share;     /* the quotient; 0 before the first batch */
    int64_t samples;       /* delivered */
    int64_t skipped;       /* left out as bad */
    int depth;             /* batches kept ready now */
    uint64_t buffer_bytes; /* batch buffers and scratch memory of workers now */
} plim_data_stats;
PLIM_API void plim_data_get_stats(const plim_data *data, plim_data_stats *stats);

/* What the last bad sample that was left out was: one line, "" when there was none. */
PLIM_API const char *plim_data_last_bad(const plim_data *data);

#ifdef __cplusplus
}
#endif
#endif
