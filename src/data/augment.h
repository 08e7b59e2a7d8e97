/* Augmentation: random changes of training images. What a sample becomes depends on (seed, epoch, sample) alone, never on
 * threads, batches or where a run was resumed.
 *
 *   decode, crop, flip (images.c) → vflip → pad → rotate → color → normalise → erase → mixup, by pairs of a batch
 */
#ifndef PLIM_DATA_AUGMENT_H
#define PLIM_DATA_AUGMENT_H

#include <stdbool.h>

#include "data/resample.h"
#include "data/source.h"

typedef struct plim__augment {
    bool crop;         /* anywhere, not in the centre */
    double crop_share; /* of the area that a crop has at least, as RandomResizedCrop; 0: crops have one size */
    bool flip, vflip;  /* every other image, by chance */
    int pad;           /* moved by at most this number of pixels, zeros where nothing was */
    double rotate;     /* by at most this number of degrees */
    double color;      /* brightness, contrast and saturation times 1 - color .. 1 + color */
    double erase;      /* the probability that a rectangle becomes zero */
    double mixup;      /* the parameter of its Beta distribution; 0: none */
} plim__augment;

/* "crop,flip,rotate=15"; NULL is none. */
plim_status plim__augment_parse(plim__augment *augment, const char *text, plim_error *error);
/* All of plim_data_options that asks for random changes. */
plim_status plim__augment_of(plim__augment *augment, const plim_data_options *options, plim_error *error);
/* Whether anything is done to pixels after cropping and flipping. */
bool plim__augment_changes(const plim__augment *augment);
/* Whether anything is done to pixels at all. */
bool plim__augment_needs_pixels(const plim__augment *augment);

/* What is asked for, in one order and form: "crop=0.5 flip rotate=15"; "none". */
void plim__augment_describe(const plim__augment *augment, char *text, size_t size);

typedef struct plim__picture {
    float *planes; /* (channels, height, width) */
    int64_t channels, height, width;
    float most; /* values lie in 0..most */
} plim__picture;

/* Bytes of scratch memory for one picture. */
size_t plim__augment_scratch(const plim__augment *augment, int64_t height, int64_t width);
/* Whether this sample of an array is mirrored; images in folders are when they are cropped. */
bool plim__augment_flips(const plim__augment *augment, const plim__sample_key *key);
/* Before normalising. */
void plim__augment_pixels(const plim__augment *augment, const plim__sample_key *key, const plim__picture *picture,
                          void *scratch);
/* After it: zero is the mean then. */
void plim__augment_erase(const plim__augment *augment, const plim__sample_key *key, const plim__picture *picture);

/* A rectangle of an image, as RandomResizedCrop of torchvision chooses it. */
plim__box plim__augment_box(const plim__augment *augment, const plim__sample_key *key, int width, int height);

/* The share of a sample in its mixture, from Beta(A + 1, A): with the sample's own label, the expected gradient is that of
 * mixed labels with Beta(A, A). */
double plim__augment_mix_share(const plim__augment *augment, const plim__sample_key *key);

/* The steps, with what they are drawn to be. */
void plim__picture_flip(const plim__picture *picture, bool across, bool down);
void plim__picture_move(const plim__picture *picture, int64_t right, int64_t down, float *scratch);
/* Counter-clockwise, around the centre, bilinear, zeros where nothing was. */
void plim__picture_rotate(const plim__picture *picture, double degrees, float *scratch);
void plim__picture_brightness(const plim__picture *picture, float factor);
void plim__picture_contrast(const plim__picture *picture, float factor);
void plim__picture_saturation(const plim__picture *picture, float factor); /* of three channels */

#endif
