/* Which random changes are made: the list that users write, and what is drawn for each sample. */
#include "data/augment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/random.h"

/* --- the list ------------------------------------------------------------------------------------------------- */

enum field { CROP, FLIP, VFLIP, PAD, ROTATE, COLOR, ERASE, MIXUP, FIELDS };

static const struct word {
    const char *name;
    bool takes, needs; /* a number */
    double least, most;
} words[FIELDS] = {
    [CROP] = {"crop", true, false, 0.01, 1},   [FLIP] = {"flip", false, false, 0, 0},
    [VFLIP] = {"vflip", false, false, 0, 0},   [PAD] = {"pad", true, true, 1, 1024},
    [ROTATE] = {"rotate", true, true, 0, 180}, [COLOR] = {"color", true, true, 0, 1},
    [ERASE] = {"erase", true, true, 0, 1},     [MIXUP] = {"mixup", true, true, 0.01, 100},
};

static void set(plim__augment *a, enum field field, double value) {
    switch (field) {
    case CROP:
        a->crop = true;
        a->crop_share = value;
        break;
    case FLIP: a->flip = true; break;
    case VFLIP: a->vflip = true; break;
    case PAD: a->pad = (int)value; break;
    case ROTATE: a->rotate = value; break;
    case COLOR: a->color = value; break;
    case ERASE: a->erase = value; break;
    default: a->mixup = value; break;
    }
}

static plim_status unknown(const char *word, int length, plim_error *error) {
    return plim__fail(error, PLIM_INVALID,
                      "there is no augmentation '%.*s'; there are crop, crop=SHARE, flip, vflip, pad=PIXELS, "
                      "rotate=DEGREES, color=SHARE, erase=PROBABILITY and mixup=ALPHA",
                      length, word);
}

static plim_status parse_word(plim__augment *a, const char *word, size_t length, plim_error *error) {
    size_t name = strcspn(word, "=,");
    int shown = (int)(length < 40 ? length : 40);
    enum field f = 0;
    while (f < FIELDS && (strlen(words[f].name) != name || strncmp(words[f].name, word, name) != 0)) f++;
    if (f == FIELDS) return unknown(word, shown, error);
    const struct word *w = &words[f];
    double value = 0;
    if (word[name] == '=') {
        char *end;
        value = strtod(word + name + 1, &end);
        if (!w->takes || end != word + length || end == word + name + 1 || !(value >= w->least && value <= w->most) ||
            (f == PAD && value != trunc(value)))
            return plim__fail(error, PLIM_INVALID,
                              w->takes ? "augmentation '%.*s': expected a number from %g to %g"
                                       : "augmentation '%.*s': it takes no number",
                              shown, word, w->least, w->most);
    } else if (w->needs) {
        return plim__fail(error, PLIM_INVALID, "augmentation '%s' needs a number from %g to %g, as %s=%g", w->name,
                          w->least, w->most, w->name,
                          f == PAD      ? 4
                          : f == ROTATE ? 15
                                        : 0.2);
    }
    set(a, f, value);
    return PLIM_OK;
}

plim_status plim__augment_parse(plim__augment *a, const char *text, plim_error *error) {
    *a = (plim__augment){0};
    if (!text) return PLIM_OK;
    for (const char *word = text;; word++) {
        size_t length = strcspn(word, ",");
        PLIM_TRY(parse_word(a, word, length, error));
        word += length;
        if (!*word) return PLIM_OK;
    }
}

plim_status plim__augment_of(plim__augment *a, const plim_data_options *options, plim_error *error) {
    PLIM_TRY(plim__augment_parse(a, options->augment, error));
    a->crop |= options->random_crop != 0;
    a->flip |= options->random_flip != 0;
    return PLIM_OK;
}

void plim__augment_describe(const plim__augment *a, char *text, size_t size) {
    const struct {
        const char *word;
        double value;
        bool alone; /* a word without a number */
    } parts[] = {{"crop", a->crop_share > 0 ? a->crop_share : a->crop, !(a->crop_share > 0)},
                 {"flip", a->flip, true},
                 {"vflip", a->vflip, true},
                 {"pad", a->pad, false},
                 {"rotate", a->rotate, false},
                 {"color", a->color, false},
                 {"erase", a->erase, false},
                 {"mixup", a->mixup, false}};
    size_t length = (size_t)snprintf(text, size, "none");
    for (size_t i = 0, found = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!(parts[i].value > 0) || (found && length >= size)) continue;
        size_t at = found++ ? length : 0;
        length = at + (size_t)snprintf(text + at, size - at, parts[i].alone ? "%s%s" : "%s%s=%g", at ? " " : "",
                                       parts[i].word, parts[i].value);
    }
}

bool plim__augment_changes(const plim__augment *a) {
    return a->vflip || a->pad > 0 || a->rotate > 0 || a->color > 0 || a->erase > 0;
}

bool plim__augment_needs_pixels(const plim__augment *a) { return a->crop || a->flip || plim__augment_changes(a); }

/* --- what is drawn -------------------------------------------------------------------------------------------- */

/* Numbers for one change of one sample; another change does not move them. */
typedef struct draws {
    uint64_t seed, stream, next;
} draws;

static draws draws_of(const plim__sample_key *key, enum field field) {
    uint64_t stream = plim__random_mix(key->epoch ^ 0x6175676d656e7400u ^ (uint64_t)field << 56);
    stream = plim__random_mix(stream ^ (uint64_t)key->index);
    return (draws){key->seed, key->repeat ? plim__random_mix(stream ^ key->repeat) : stream, 0};
}

/* In [0, 1). */
static double uniform(draws *d) { return (double)(plim__random_bits(d->seed, d->stream, d->next++) >> 11) * 0x1p-53; }

static double between(draws *d, double from, double to) { return from + (to - from) * uniform(d); }

/* In [0, count). */
static int64_t below(draws *d, int64_t count) { return (int64_t)(uniform(d) * (double)count); }

enum { TRIES = 10 }; /* as torchvision has them */

plim__box plim__augment_box(const plim__augment *a, const plim__sample_key *key, int width, int height) {
    const double narrow = 3.0 / 4, wide = 4.0 / 3;
    draws d = draws_of(key, CROP);
    for (int i = 0; i < TRIES; i++) {
        double area = (double)width * height * between(&d, a->crop_share, 1);
        double ratio = exp(between(&d, log(narrow), log(wide)));
        int w = (int)lround(sqrt(area * ratio)), h = (int)lround(sqrt(area / ratio));
        if (w < 1 || h < 1 || w > width || h > height) continue;
        int top = (int)below(&d, height - h + 1), left = (int)below(&d, width - w + 1);
        return (plim__box){left, top, w, h};
    }
    double ratio = (double)width / height;
    int w = ratio > wide ? (int)lround(height * wide) : width,
        h = ratio < narrow ? (int)lround(width / narrow) : height;
    return (plim__box){(width - w) / 2, (height - h) / 2, w, h};
}

size_t plim__augment_scratch(const plim__augment *a, int64_t height, int64_t width) {
    return a->pad > 0 || a->rotate > 0 ? (size_t)height * (size_t)width * sizeof(float) : 0;
}

bool plim__augment_flips(const plim__augment *a, const plim__sample_key *key) {
    draws d = draws_of(key, FLIP);
    return a->flip && uniform(&d) < 0.5;
}

static void change_colors(const plim__augment *a, const plim__sample_key *key, const plim__picture *p) {
    draws d = draws_of(key, COLOR);
    plim__picture_brightness(p, (float)between(&d, 1 - a->color, 1 + a->color));
    plim__picture_contrast(p, (float)between(&d, 1 - a->color, 1 + a->color));
    if (p->channels == 3) plim__picture_saturation(p, (float)between(&d, 1 - a->color, 1 + a->color));
}

void plim__augment_pixels(const plim__augment *a, const plim__sample_key *key, const plim__picture *p, void *scratch) {
    if (a->vflip) {
        draws d = draws_of(key, VFLIP);
        if (uniform(&d) < 0.5) plim__picture_flip(p, false, true);
    }
    if (a->pad > 0) {
        draws d = draws_of(key, PAD);
        int64_t right = below(&d, 2 * a->pad + 1) - a->pad, down = below(&d, 2 * a->pad + 1) - a->pad;
        plim__picture_move(p, right, down, scratch);
    }
    if (a->rotate > 0) {
        draws d = draws_of(key, ROTATE);
        plim__picture_rotate(p, between(&d, -a->rotate, a->rotate), scratch);
    }
    if (a->color > 0) change_colors(a, key, p);
}

void plim__augment_erase(const plim__augment *a, const plim__sample_key *key, const plim__picture *p) {
    draws d = draws_of(key, ERASE);
    if (!(uniform(&d) < a->erase)) return;
    for (int i = 0; i < TRIES; i++) {
        double area = (double)(p->height * p->width) * between(&d, 0.02, 0.33);
        double ratio = exp(between(&d, log(0.3), log(3.3)));
        int64_t h = llround(sqrt(area * ratio)), w = llround(sqrt(area / ratio));
        if (h < 1 || w < 1 || h >= p->height || w >= p->width) continue;
        int64_t top = below(&d, p->height - h + 1), left = below(&d, p->width - w + 1);
        for (int64_t c = 0; c < p->channels; c++)
            for (int64_t y = top; y < top + h; y++)
                memset(p->planes + (c * p->height + y) * p->width + left, 0, (size_t)w * sizeof *p->planes);
        return;
    }
}

/* Gamma(shape, 1) with shape >= 1, by Marsaglia and Tsang. */
static double gamma_above_one(draws *d, double shape) {
    double third = shape - 1.0 / 3, scale = 1 / sqrt(9 * third);
    for (;;) {
        double u = 1 - uniform(d), v = uniform(d), x = sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
        double cube = 1 + scale * x;
        if (cube <= 0) continue;
        cube = cube * cube * cube;
        if (log(1 - uniform(d)) < 0.5 * x * x + third - third * cube + third * log(cube)) return third * cube;
    }
}

double plim__augment_mix_share(const plim__augment *a, const plim__sample_key *key) {
    draws d = draws_of(key, MIXUP);
    double own = gamma_above_one(&d, a->mixup + 1);
    double other = gamma_above_one(&d, a->mixup + 1) * pow(1 - uniform(&d), 1 / a->mixup); /* Gamma(A) */
    return own / (own + other);
}
