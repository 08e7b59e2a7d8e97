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
#include "core/random.h"
#include "data/augment.h"
#include "data/image_folder.h"
#include "data/normal.h"
#include "format/image.h"

enum { MAX_PATH = 4096, READ_BYTES = 64 << 10, HEAD_BYTES = 4 << 10, MOST_REMARKED = 20000 };
enum { SCRATCH_FILE, SCRATCH_DECODER, SCRATCH_RESAMPLE, SCRATCH_AUGMENT };

typedef struct image_source {
    plim__data_source base;
    plim__image_folder folder;
    plim__normal normal;
    int height, width, resize, channels;
    plim__augment augment;
    bool changes;         /* plim__augment_changes */
    bool raw;             /* values are 0..255 */
    bool bounded;         /* base.scratch is the most that an image may need */
    bool skip_large;      /* images that need more than `limit` to be decoded are bad ones, and left out */
    size_t limit;         /* bytes for decoding one image; SIZE_MAX: no limit */
    size_t largest_bytes; /* of base.scratch.largest */
} image_source;

/* --- one file ------------------------------------------------------------------------------------------------- */

static plim_status open_file(const image_source *source, size_t file, char path[MAX_PATH], int *fd, plim_error *error) {
    struct stat info;
    snprintf(path, MAX_PATH, "%s/%s", plim__str_text(&source->folder.root),
             plim__image_folder_path(&source->folder, file));
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not make us wait: it is refused */
    if (*fd < 0) return plim__fail_errno(error, errno, "cannot open '%s'", path);
    if (fstat(*fd, &info) == 0 && S_ISREG(info.st_mode)) return PLIM_OK;
    close(*fd);
    return plim__fail(error, PLIM_CORRUPT, "image '%s' is not a regular file", path);
}

/* Where random crops and flips come from; `which` of them. */
static uint64_t draw(const plim__sample_key *key, uint64_t which) {
    uint64_t stream = plim__random_mix(key->epoch ^ 0x696d616765u);
    if (key->repeat) stream = plim__random_mix(stream ^ key->repeat);
    return plim__random_bits(key->seed, stream, (uint64_t)key->index * 4 + which);
}

/* Half of what is left over; half a pixel goes to the even side, as in torchvision's CenterCrop. */
static int margin(int spare) { return spare / 2 + (spare % 2 && spare / 2 % 2); }

/* The shorter side becomes `resize`, the other keeps the proportion; then the crop, in the centre or by chance. */
static plim__crop choose_crop(const image_source *source, const plim__image *image, const plim__sample_key *key) {
    plim__crop crop = {.width = source->width, .height = source->height};
    int64_t resize = source->resize, w = image->width, h = image->height;
    crop.flip = source->augment.flip && draw(key, 2) >> 63;
    if (source->augment.crop_share > 0) {
        crop.box = plim__augment_box(&source->augment, key, image->width, image->height);
        crop.resized_width = crop.width;
        crop.resized_height = crop.height;
        return crop;
    }
    crop.resized_width = (int)(w <= h ? resize : resize * w / h);
    crop.resized_height = (int)(h <= w ? resize : resize * h / w);
    int spare_x = crop.resized_width - crop.width, spare_y = crop.resized_height - crop.height;
    crop.left = margin(spare_x);
    crop.top = margin(spare_y);
    if (source->augment.crop) {
        crop.left = (int)(draw(key, 0) % (uint64_t)(spare_x + 1));
        crop.top = (int)(draw(key, 1) % (uint64_t)(spare_y + 1));
    }
    return crop;
}

static plim_status next_row(void *image, unsigned char *row, plim_error *error) {
    return plim__image_row(image, row, error);
}

static plim__rows rows_of(plim__image *image) {
    return (plim__rows){image->width, image->height, image->channels, next_row, image};
}

/* --- one image ------------------------------------------------------------------------------------------------ */

/* A sample that is being read. */
typedef struct reading {
    const image_source *source;
    const plim__sample_key *key;
    plim__scratch *scratch;
    char path[MAX_PATH]; /* of its file */
} reading;

/* Where memory is counted, an image that needs more than any did before is not decoded. */
static plim_status check_planned(const reading *r, size_t bytes, size_t most, plim_error *error) {
    if (!r->source->bounded || bytes <= most) return PLIM_OK;
    return plim__fail(error, PLIM_BUDGET,
                      "image '%s' needs %zu bytes to be decoded, %zu are planned for: it was changed since the data "
                      "set was opened",
                      r->path, bytes, most);
}

static plim_status get_room(const reading *r, int part, size_t bytes, void **room, plim_error *error) {
    PLIM_TRY(check_planned(r, bytes, r->source->base.scratch.parts[part], error));
    *room = plim__scratch_get(r->scratch, part, bytes ? bytes : 1);
    return *room ? PLIM_OK : plim__fail_memory(error, r->path, bytes);
}

/* Values are those of 0..1 at first; erasing comes after the mean is zero. */
static plim_status finish_image(const reading *r, float *planes, plim_error *error) {
    const image_source *source = r->source;
    plim__picture picture = {planes, source->channels, source->height, source->width, 1};
    size_t bytes = plim__augment_scratch(&source->augment, source->height, source->width);
    void *room = source->changes ? plim__scratch_get(r->scratch, SCRATCH_AUGMENT, bytes ? bytes : 1) : NULL;
    if (source->changes && !room) return plim__fail_memory(error, r->path, bytes);
    if (source->changes) plim__augment_pixels(&source->augment, r->key, &picture, room);
    size_t count = source->base.fields[0].bytes / sizeof *planes;
    for (size_t i = 0; source->raw && i < count; i++) planes[i] *= 255;
    plim__normal_apply(&source->normal, &source->base.fields[0], planes);
    if (source->augment.erase > 0) plim__augment_erase(&source->augment, r->key, &picture);
    return PLIM_OK;
}

static plim_status make_image(const reading *r, plim__image *image, float *planes, plim_error *error) {
    plim__rows rows = rows_of(image);
    plim__crop crop = choose_crop(r->source, image, r->key);
    size_t resample = plim__resample_scratch(&rows, &crop), bytes = image->room_bytes + image->library_bytes + resample;
    void *room, *memory;
    if (r->source->bounded && bytes > r->source->limit)
        return plim__fail(error, PLIM_UNSUPPORTED, "image '%s' needs %zu bytes to be decoded, the limit is %zu",
                          r->path, bytes, r->source->limit);
    PLIM_TRY(check_planned(r, image->library_bytes, r->source->base.scratch.library, error));
    PLIM_TRY(get_room(r, SCRATCH_DECODER, image->room_bytes, &room, error));
    PLIM_TRY(get_room(r, SCRATCH_RESAMPLE, resample, &memory, error));
    PLIM_TRY(plim__image_start(image, room, error));
    PLIM_TRY(plim__resample(&rows, &crop, memory, planes, error));
    return finish_image(r, planes, error);
}

static plim_status read_open_file(const reading *r, int fd, float *planes, plim_error *error) {
    plim__image image;
    plim__image_request request = {r->source->channels, r->source->resize};
    plim__image_input input = {.name = r->path, .fd = fd, .size = READ_BYTES};
    input.buffer = plim__scratch_get(r->scratch, SCRATCH_FILE, READ_BYTES);
    if (!input.buffer) return plim__fail_memory(error, r->path, READ_BYTES);
    PLIM_TRY(plim__image_open(&image, &input, &request, error));
    plim_status status = make_image(r, &image, planes, error);
    plim__image_close(&image);
    return status;
}

static plim_status read_sample(const plim__data_source *base, const plim__sample_key *key, plim__scratch *scratch,
                               void *const *fields, plim_error *error) {
    const image_source *source = (const image_source *)base;
    reading r; /* its path is set by open_file */
    r.source = source;
    r.key = key;
    r.scratch = scratch;
    int fd;
    PLIM_TRY(open_file(source, (size_t)key->index, r.path, &fd, error));
    plim_status status = read_open_file(&r, fd, fields[0], error);
    close(fd);
    PLIM_TRY(status);
    if (base->field_count > 1) *(int64_t *)fields[1] = plim__image_folder_class(&source->folder, (size_t)key->index);
    return PLIM_OK;
}

/* --- what images will need ------------------------------------------------------------------------------------ */

static void raise_to(size_t *most, size_t bytes) {
    if (bytes > *most) *most = bytes;
}

static void inspect(image_source *source, size_t file, int fd, const char *path) {
    static const plim__sample_key any;
    unsigned char head[HEAD_BYTES];
    plim__image image;
    plim__image_request request = {source->channels, source->resize};
    plim__image_input input = {.name = path, .fd = fd, .buffer = head, .size = sizeof head};
    plim__scratch_needs *needs = &source->base.scratch;
    if (plim__image_open(&image, &input, &request, NULL) != PLIM_OK) return; /* its reader will report it */
    plim__rows rows = rows_of(&image);
    plim__crop crop = choose_crop(source, &image, &any);
    size_t resample = plim__resample_scratch(&rows, &crop), bytes = image.room_bytes + resample + image.library_bytes;
    plim__image_close(&image);
    if (source->skip_large && bytes > source->limit) return;
    if (bytes > source->largest_bytes) {
        source->largest_bytes = bytes;
        needs->largest = plim__image_folder_path(&source->folder, file);
    }
    raise_to(&needs->parts[SCRATCH_DECODER], image.room_bytes);
    raise_to(&needs->parts[SCRATCH_RESAMPLE], resample);
    raise_to(&needs->library, image.library_bytes);
}

/* The head of every image: its size and how it is stored tell what decoding will take. */
static void inspect_all(image_source *source) {
    char path[MAX_PATH];
    int fd;
    for (size_t i = 0; i < source->folder.files.count; i++) {
        if (open_file(source, i, path, &fd, NULL) != PLIM_OK) continue;
        inspect(source, i, fd, path);
        close(fd);
    }
    source->base.scratch.parts[SCRATCH_FILE] = READ_BYTES;
    source->bounded = true;
}

/* --- the folder ----------------------------------------------------------------------------------------------- */

static void free_source(plim__data_source *base) {
    plim__image_folder_free(&((image_source *)base)->folder);
    plim__free(base);
}

static void sample_name(const plim__data_source *base, int64_t index, char *text, size_t size) {
    const image_source *source = (const image_source *)base;
    snprintf(text, size, "%s/%s", plim__str_text(&source->folder.root),
             plim__image_folder_path(&source->folder, (size_t)index));
}

static const char *class_name(const plim__data_source *base, int64_t index) {
    const image_source *source = (const image_source *)base;
    return index >= 0 && (uint64_t)index < source->folder.classes.count ? source->folder.classes.items[index] : NULL;
}

static plim_status read_target(const plim__data_source *base, int64_t index, plim__scratch *scratch, void *made,
                               plim_error *error) {
    (void)scratch, (void)error;
    *(int64_t *)made = plim__image_folder_class(&((const image_source *)base)->folder, (size_t)index);
    return PLIM_OK;
}

/* Width and height as the file has them; false where its head cannot be read. */
static bool read_size(const image_source *source, size_t file, int size[2]) {
    char path[MAX_PATH];
    unsigned char head[HEAD_BYTES];
    int fd;
    if (open_file(source, file, path, &fd, NULL) != PLIM_OK) return false;
    plim__image image;
    plim__image_input input = {.name = path, .fd = fd, .buffer = head, .size = sizeof head};
    bool good = plim__image_open(&image, &input, &(plim__image_request){source->channels, 0}, NULL) == PLIM_OK;
    size[0] = good ? image.width : 0;
    size[1] = good ? image.height : 0;
    if (good) plim__image_close(&image);
    close(fd);
    return good;
}

/* One image of another size than all others is likely to be a mistake; among many sizes it is none. */
static void remark(const plim__data_source *base, char *text, size_t room) {
    const image_source *source = (const image_source *)base;
    size_t count = source->folder.files.count, others[2] = {0}, last[2] = {0};
    int sizes[2][2] = {{0}};
    for (size_t i = 0; i < count && count <= MOST_REMARKED; i++) {
        int size[2];
        if (!read_size(source, i, size)) continue;
        int which = others[0] == 0 || memcmp(size, sizes[0], sizeof size) == 0 ? 0 : 1;
        if (which == 1 && others[1] > 0 && memcmp(size, sizes[1], sizeof size) != 0) return;
        memcpy(sizes[which], size, sizeof size);
        others[which]++;
        last[which] = i;
        if (others[0] > 1 && others[1] > 1) return;
    }
    int odd = others[0] == 1 && others[1] > 1 ? 0 : 1, rest = 1 - odd;
    if (others[odd] != 1 || others[rest] < 3) return;
    snprintf(text, room, "image '%s' has %d x %d pixels, all others %d x %d: it is resized",
             plim__image_folder_path(&source->folder, last[odd]), sizes[odd][0], sizes[odd][1], sizes[rest][0],
             sizes[rest][1]);
}

static const plim__data_source_ops ops = {.kind = "images",
                                          .read = read_sample,
                                          .class_name = class_name,
                                          .sample_name = sample_name,
                                          .read_target = read_target,
                                          .remark = remark,
                                          .free = free_source};

int64_t plim__image_resize(const plim_data_options *options) {
    int64_t height = options->height ? options->height : 224, width = options->width ? options->width : height;
    int64_t covers = height > width ? height : width;
    plim__augment augment;
    bool crops = plim__augment_of(&augment, options, NULL) == PLIM_OK && augment.crop;
    return options->resize ? options->resize : crops ? (covers * 8 + 6) / 7 : covers;
}

static plim_status set_sizes(image_source *source, const plim_data_options *options, plim_error *error) {
    int64_t height = options->height ? options->height : 224, width = options->width ? options->width : height;
    int64_t covers = height > width ? height : width;
    int64_t resize = plim__image_resize(options);
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
    source->raw = options->raw;
    PLIM_TRY(plim__augment_of(&source->augment, options, error));
    source->changes = plim__augment_changes(&source->augment);
    source->base.augmented = true;
    source->base.scratch.parts[SCRATCH_AUGMENT] = plim__augment_scratch(&source->augment, height, width);
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
    if (options->no_target)
        PLIM_TRY(plim__image_folder_scan_flat(&source->folder, path, error));
    else
        PLIM_TRY(plim__image_folder_scan(&source->folder, path, options->split, error));
    if (!options->no_target && options->class_count)
        PLIM_TRY(plim__image_folder_number(&source->folder, options->classes, options->class_count, error));
    label->target = 1;
    label->classes = (int64_t)source->folder.classes.count;
    base->field_count = options->no_target ? 1 : 2;
    base->count = (int64_t)source->folder.files.count;
    base->held_bytes = plim__image_folder_bytes(&source->folder);
    base->decodes = true;
    source->skip_large = options->skip_bad;
    source->limit =
        options->memory_limit && options->memory_limit < SIZE_MAX ? (size_t)options->memory_limit : SIZE_MAX;
    if (source->skip_large && source->limit < SIZE_MAX) source->limit /= 2; /* batches need room too */
    if (options->bounded) inspect_all(source);
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
