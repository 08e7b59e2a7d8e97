/* The image source: read, decode, resize, crop, flip, normalise. Random choices are drawn from (seed, epoch, sample),
 * so they are the same whichever thread makes them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/file.h"
#include "core/random.h"
#include "data/image_folder.h"
#include "data/normal.h"
#include "data/resample.h"
#include "data/source.h"

enum { MAX_FILE = 256 << 20, MAX_PATH = 4096 };
enum { SCRATCH_FILE, SCRATCH_PIXELS, SCRATCH_RESAMPLE };

typedef struct image_source {
    plim__data_source base;
    plim__image_folder folder;
    plim__normal normal;
    int height, width, resize, channels;
    bool random_crop, random_flip;
} image_source;

/* --- one image ------------------------------------------------------------------------------------------------ */

static plim_status read_open_file(int fd, const char *path, plim__scratch *scratch, unsigned char **bytes, size_t *size,
                                  plim_error *error) {
    struct stat info;
    if (fstat(fd, &info) != 0) return plim__fail_errno(error, errno, "cannot read '%s'", path);
    if (!S_ISREG(info.st_mode) || info.st_size > MAX_FILE)
        return plim__fail(error, PLIM_CORRUPT, "image '%s' is not a file of at most %d bytes", path, MAX_FILE);
    *size = (size_t)info.st_size;
    *bytes = plim__scratch_get(scratch, SCRATCH_FILE, *size + 1);
    if (!*bytes) return plim__fail_memory(error, path, *size);
    return plim__file_read_at(fd, *bytes, *size, 0, path, error);
}

static plim_status read_file(const char *path, plim__scratch *scratch, unsigned char **bytes, size_t *size,
                             plim_error *error) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return plim__fail_errno(error, errno, "cannot open '%s'", path);
    plim_status status = read_open_file(fd, path, scratch, bytes, size, error);
    close(fd);
    return status;
}

static void *pixel_room(void *scratch, size_t bytes) { return plim__scratch_get(scratch, SCRATCH_PIXELS, bytes); }

/* The shorter side becomes `resize`, the other keeps the proportion; then the crop, in the centre or by chance. */
static plim__crop choose_crop(const image_source *source, const plim__image *image, const plim__sample_key *key) {
    plim__crop crop = {.width = source->width, .height = source->height};
    int64_t resize = source->resize, w = image->width, h = image->height;
    crop.resized_width = (int)(w <= h ? resize : resize * w / h);
    crop.resized_height = (int)(h <= w ? resize : resize * h / w);
    int spare_x = crop.resized_width - crop.width, spare_y = crop.resized_height - crop.height;
    crop.left = (spare_x + 1) / 2;
    crop.top = (spare_y + 1) / 2;
    uint64_t sample = (uint64_t)key->index, stream = plim__random_mix(key->epoch ^ 0x696d616765u);
    if (source->random_crop) {
        crop.left = (int)(plim__random_bits(key->seed, stream, sample * 4) % (uint64_t)(spare_x + 1));
        crop.top = (int)(plim__random_bits(key->seed, stream, sample * 4 + 1) % (uint64_t)(spare_y + 1));
    }
    crop.flip = source->random_flip && plim__random_bits(key->seed, stream, sample * 4 + 2) >> 63;
    return crop;
}

static plim_status read_sample(const plim__data_source *base, const plim__sample_key *key, plim__scratch *scratch,
                               void *const *fields, plim_error *error) {
    const image_source *source = (const image_source *)base;
    char path[MAX_PATH];
    unsigned char *bytes = NULL;
    size_t size = 0, file = (size_t)key->index;
    plim__image image;
    plim__image_request request = {source->channels, source->resize, pixel_room, scratch};
    snprintf(path, sizeof path, "%s/%s", plim__str_text(&source->folder.root),
             plim__image_folder_path(&source->folder, file));
    PLIM_TRY(read_file(path, scratch, &bytes, &size, error));
    PLIM_TRY(plim__image_decode(bytes, size, path, &request, &image, error));
    plim__crop crop = choose_crop(source, &image, key);
    size_t need = plim__resample_scratch(&image, &crop);
    void *memory = plim__scratch_get(scratch, SCRATCH_RESAMPLE, need);
    if (!memory) return plim__fail_memory(error, "resizing an image", need);
    plim__resample(&image, &crop, memory, fields[0]);
    plim__normal_apply(&source->normal, &base->fields[0], fields[0]);
    *(int64_t *)fields[1] = plim__image_folder_class(&source->folder, file);
    return PLIM_OK;
}

/* --- the folder ----------------------------------------------------------------------------------------------- */

static void free_source(plim__data_source *base) {
    plim__image_folder_free(&((image_source *)base)->folder);
    plim__free(base);
}

static const char *class_name(const plim__data_source *base, int64_t index) {
    const image_source *source = (const image_source *)base;
    return index >= 0 && (uint64_t)index < source->folder.classes.count ? source->folder.classes.items[index] : NULL;
}

static const plim__data_source_ops ops = {"images", read_sample, class_name, free_source};

static plim_status set_sizes(image_source *source, const plim_data_options *options, plim_error *error) {
    int64_t height = options->height ? options->height : 224, width = options->width ? options->width : height;
    int64_t covers = height > width ? height : width;
    int64_t resize = options->resize ? options->resize : options->random_crop ? (covers * 8 + 6) / 7 : covers;
    int64_t channels = options->channels ? options->channels : 3;
    if (height < 1 || width < 1 || covers > 16384 || (channels != 1 && channels != 3))
        return plim__fail(error, PLIM_INVALID, "images of %lld x %lld pixels with %lld channels (1 and 3 are made)",
                          (long long)height, (long long)width, (long long)channels);
    if (resize < covers || resize > 16384)
        return plim__fail(error, PLIM_INVALID, "images resized to %lld do not cover a crop of %lld x %lld",
                          (long long)resize, (long long)height, (long long)width);
    source->height = (int)height;
    source->width = (int)width;
    source->resize = (int)resize;
    source->channels = (int)channels;
    source->random_crop = options->random_crop;
    source->random_flip = options->random_flip;
    return plim__normal_set(&source->normal, options, error);
}

static plim_status open_folder(image_source *source, const char *path, const plim_data_options *options,
                               plim_error *error) {
    plim__data_source *base = &source->base;
    plim_data_field *image = &base->fields[0], *label = &base->fields[1];
    PLIM_TRY(set_sizes(source, options, error));
    snprintf(image->name, sizeof image->name, "image");
    snprintf(label->name, sizeof label->name, "label");
    PLIM_TRY(plim__field_shape(image, PLIM_F32, 3, (const int64_t[]){source->channels, source->height, source->width},
                               error));
    PLIM_TRY(plim__field_shape(label, PLIM_I64, 0, NULL, error));
    PLIM_TRY(plim__normal_check(&source->normal, image, error));
    PLIM_TRY(plim__image_folder_scan(&source->folder, path, options->split, error));
    label->target = 1;
    label->classes = (int64_t)source->folder.classes.count;
    base->field_count = 2;
    base->count = (int64_t)source->folder.files.count;
    base->held_bytes = plim__image_folder_bytes(&source->folder);
    base->decodes = true;
    return PLIM_OK;
}

plim_status plim__data_source_open_images(const char *path, const plim_data_options *options,
                                          plim__data_source **source, plim_error *error) {
    *source = NULL;
    image_source *made = plim__alloc_zero(1, sizeof *made);
    if (!made) return plim__fail_memory(error, "a data set", sizeof *made);
    made->base.ops = &ops;
    plim_status status = open_folder(made, path, options, error);
    if (status == PLIM_OK)
        *source = &made->base;
    else
        free_source(&made->base);
    return status;
}
