/* The options of every command that reads a data set. */
#ifndef PLIM_CLI_DATA_OPTIONS_H
#define PLIM_CLI_DATA_OPTIONS_H

#include "cli/command.h"

/* Rows for a command's option table. */
#define PLIM__DATA_OPTIONS                                                                                             \
    {"kind", 0, "KIND", "idx, npy, npz, csv, images, text or tokens, where the path does not tell"},                   \
        {"split", 0, "NAME", "train (the default), test, or validation with --validation"},                            \
        {"validation", 0, "SHARE", "keep this share of the train split apart, as 0.1"},                                \
        {"target", 0, "COLUMN", "what is predicted: a CSV column by name or number, an array of an NPZ file"},         \
        {"seq", 0, "N", "tokens in a window of text; the default is 256"},                                             \
        {"stride", 0, "N", "tokens from one window to the next; the default is --seq"},                                \
        {"tokenizer", 0, "FILE", "text: the tokenizer.json that makes tokens of it; the default is bytes"},            \
        {"token-bytes", 0, "N", "bytes of a token in a token file: 2 or 4"},                                           \
        {"image", 0, "N|HxW", "height and width of images from a folder; the default is 224"},                         \
        {"resize", 0, "N", "shorter side of images before they are cropped"},                                          \
        {"channels", 0, "N", "1 for grey images, 3 for colour (the default)"},                                         \
        {"random-crop", 0, NULL, "crop images anywhere, not in the centre"},                                           \
        {"random-flip", 0, NULL, "mirror every other image, by chance"},                                               \
        {"columns", 0, "LIST", "tables: the inputs, by name or number, with commas; the default is all but --target"}, \
        {"drop", 0, "LIST", "tables: columns that are not inputs"},                                                    \
        {"categories", 0, "LIST", "tables: columns of numbers that are categories; columns of texts always are"},      \
        {"embed", 0, "LIST", "tables: categories that come as numbers for an embedding (zoo tabular --vocab --seq)"},  \
        {"decimal", 0, "comma|point",                                                                                  \
         "tables: numbers are written 1.234,5 (comma) or 1,234.5 (point); the default is 1234.5"},                     \
        {"missing", 0, "mean|zero",                                                                                    \
         "tables: what empty cells, NA, nan, null, None, ? and - become; else they are refused"},                      \
        {"normalise", 0, NULL, "tables: numbers get mean 0 and deviation 1 over the train split"},                     \
        {"layout", 0, "nchw|nhwc", "nhwc: samples of arrays are height x width x channels, and are transposed"},       \
        {"mean", 0, "X[,X...]", "subtract this from inputs, one value for each channel or for all"},                   \
        {"std", 0, "X[,X...]", "then divide inputs by this"},                                                          \
        {"raw", 0, NULL, "leave bytes 0..255 instead of scaling them to 0..1"},                                        \
        {"unpack-limit", 0, "SIZE", "most bytes that a compressed file may unpack to; default: 64 times its size"},    \
        {"skip-bad", 0, NULL, "leave out images that cannot be decoded, and count them"},                              \
        {"no-shuffle", 0, NULL, "take samples in the order of the data"},                                              \
        {"workers", 0, "N", "threads that read data"},                                                                 \
        {"data-depth", 0, "N", "batches kept ready; else it tunes itself"}, {                                          \
        "data-buffer", 0, "BYTES", "most bytes of batches kept ready; the default is 64 MiB"                           \
    }

/* Of commands that read data for a model. */
#define PLIM__JOB_OPTIONS                                                                                              \
    { "ignore-job", 0, NULL, "do not use what the model remembers of its data: classes, preprocessing, columns" }

typedef struct plim__data_settings {
    plim_data_options options;
    float mean[64], deviation[64];
    const char *path; /* of the data; NULL: --data */
    plim_job *job;    /* what the model remembers; NULL: nothing */
} plim__data_settings;

/* Fills in all of them; --batch, --seed and --epochs are the command's own. False after a usage error has been
 * printed. `settings` must stay where it is while its options are used. */
bool plim__data_options_read(plim__args *args, plim__data_settings *settings);
/* Reads what the model remembers, unless --ignore-job, and fills in what was not given for the data at `path`. */
plim_status plim__data_follow_job(const plim__args *args, const plim_graph *model, const char *path,
                                  plim__data_settings *settings, plim_error *error);
void plim__data_settings_free(plim__data_settings *settings);

#endif
