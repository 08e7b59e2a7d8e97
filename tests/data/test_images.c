/* Image folders: classes, decoding, resizing, random changes, damage. */
#include "data/fixtures.h"
#include "data/resample.h"
#include "plimsoll/data.h"

static plim_error error;

static plim_data *open_it(const char *path, plim_data_options options) {
    plim_data *data = NULL;
    if (plim_data_create(path, &options, &data, &error) != PLIM_OK) fail_msg("%s", error.message);
    return data;
}

static plim_data_batch next(plim_data *data) {
    plim_data_batch batch;
    if (plim_data_next(data, &batch, &error) != PLIM_OK) fail_msg("%s", error.message);
    return batch;
}

/* cats: two JPEG; dogs: a PNG; emus: a PNG in a folder below. */
static void write_folder(fixture *f) {
    write_jpeg(f, "i/cats/b.JPG", 40, 30, (int[]){10, 20, 30});
    write_jpeg(f, "i/cats/a.jpeg", 30, 40, (int[]){100, 110, 120});
    write_png(f, "i/dogs/c.png", 32, 32, (int[]){200, 210, 220});
    write_png(f, "i/emus/below/d.png", 64, 64, (int[]){50, 60, 70});
    write_text(f, "i/dogs/notes.txt", "not an image");
    write_text(f, "i/.hidden/x.png", "not read");
}

static void folders_are_classes_in_the_order_of_their_names(void **state) {
    fixture *f = *state;
    write_folder(f);
    plim_data *data = open_it(path_of(f, "i"), (plim_data_options){.height = 24, .in_order = 1});
    plim_data_info info;
    plim_data_get_info(data, &info);
    assert_string_equal(info.kind, "images");
    assert_int_equal(info.samples, 4);
    assert_int_equal(info.classes, 3);
    assert_string_equal(plim_data_class_name(data, 2), "emus");
    plim_data_batch batch = next(data);
    const int64_t labels[] = {0, 0, 1, 2};
    assert_memory_equal(batch.fields[1], labels, sizeof labels);
    const float *image = batch.fields[0];
    const int blue[] = {120, 30, 220, 70};
    for (int i = 0; i < 4; i++) /* blue is the same all over: the third plane */
        assert_float_equal(image[(i * 3 + 2) * 24 * 24 + 300] * 255, blue[i], 3);
    plim_data_free(data);
}

static void an_image_of_the_right_size_is_not_changed(void **state) {
    fixture *f = *state;
    write_png(f, "i/a/a.png", 8, 8, (int[]){1, 2, 3});
    plim_data *data = open_it(path_of(f, "i"), (plim_data_options){.height = 8});
    const float *image = next(data).fields[0];
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++) {
            assert_float_equal(image[y * 8 + x], (float)(1 + x) / 255, 1e-6);
            assert_float_equal(image[64 + y * 8 + x], (float)(2 + y) / 255, 1e-6);
        }
    plim_data_free(data);
}

/* torchvision's CenterCrop begins at int(round(spare / 2.0)), and Python rounds halves to the even side. */
static void the_centre_is_where_torchvision_has_it(void **state) {
    fixture *f = *state;
    static const int begins[] = {0, 0, 1, 2, 2, 2, 3, 4, 4, 4}; /* for 0, 1, 2 ... more than the crop */
    for (int spare = 0; spare < 10; spare++) {
        for (int upright = 0; upright < 2; upright++) {
            char name[32];
            snprintf(name, sizeof name, "c%d%d/a/a.png", upright, spare);
            write_png(f, name, upright ? 8 : 8 + spare, upright ? 8 + spare : 8, (int[]){0, 0, 0});
            name[3] = 0;
            plim_data *data = open_it(path_of(f, name), (plim_data_options){.height = 8, .resize = 8});
            const float *image = next(data).fields[0];
            assert_float_equal(image[upright * 64] * 255, begins[spare], 1e-3);
            plim_data_free(data);
        }
    }
}

static void channels_are_normalised_each_by_its_own(void **state) {
    fixture *f = *state;
    write_png(f, "i/a/a.png", 8, 8, (int[]){0, 0, 51});
    const float mean[] = {0, 0, 0.1f}, deviation[] = {1, 1, 0.5f};
    plim_data *data = open_it(
        path_of(f, "i"), (plim_data_options){.height = 8, .mean = mean, .deviation = deviation, .normal_count = 3});
    assert_float_equal(((const float *)next(data).fields[0])[2 * 64], 0.2, 1e-6);
    plim_data_free(data);
    plim_data_options grey = {.height = 8, .channels = 1, .mean = mean, .deviation = deviation, .normal_count = 3};
    assert_int_equal(plim_data_create(path_of(f, "i"), &grey, &data, &error), PLIM_SHAPE);
}

static void grey_is_the_luminance(void **state) {
    fixture *f = *state;
    write_png(f, "i/a/a.png", 2, 2, (int[]){100, 150, 200});
    write_jpeg(f, "i/a/b.jpg", 2, 2, (int[]){100, 150, 200});
    plim_data *data = open_it(path_of(f, "i"), (plim_data_options){.height = 2, .channels = 1, .in_order = 1});
    const float *image = next(data).fields[0];
    for (int i = 0; i < 2; i++) assert_float_equal(image[4 * i] * 255, 140.75f, 2.5);
    plim_data_free(data);
}

static plim_status copy_row(void *pixels, unsigned char *row, plim_error *e) {
    (void)e;
    memcpy(row, pixels, 8);
    return PLIM_OK;
}

/* Halving by a triangle filter of width 2: the weights of PIL's and torchvision's antialiased bilinear. */
static void shrinking_averages_and_growing_interpolates(void **state) {
    (void)state;
    const unsigned char pixels[8] = {0, 0, 0, 80, 160, 0, 0, 0};
    plim__rows row = {8, 1, 1, copy_row, (void *)pixels};
    plim__crop half = {.resized_width = 4, .resized_height = 1, .width = 4, .height = 1};
    float made[16];
    void *scratch = malloc(plim__resample_scratch(&row, &half));
    assert_int_equal(plim__resample(&row, &half, scratch, made, &error), PLIM_OK);
    assert_float_equal(made[1] * 255, (80 * 3 + 160 * 1) / 8.0, 1e-3); /* taps 1 3 3 1 at pixels 1 2 3 4 */
    assert_float_equal(made[2] * 255, (80 * 1 + 160 * 3) / 8.0, 1e-3);
    free(scratch);
    plim__crop twice = {.resized_width = 16, .resized_height = 1, .width = 16, .height = 1};
    scratch = malloc(plim__resample_scratch(&row, &twice));
    assert_int_equal(plim__resample(&row, &twice, scratch, made, &error), PLIM_OK);
    assert_float_equal(made[7] * 255, 80 * 0.75 + 160 * 0.25, 1e-3);
    assert_float_equal(made[8] * 255, 80 * 0.25 + 160 * 0.75, 1e-3);
    free(scratch);
}

static void crops_and_flips_follow_seed_and_epoch_not_workers(void **state) {
    fixture *f = *state;
    write_folder(f);
    enum { IMAGE = 3 * 16 * 16, ROUND = 4 * IMAGE };
    static float runs[4][8 * ROUND];
    for (int run = 0; run < 4; run++) {
        plim_data *data = open_it(path_of(f, "i"), (plim_data_options){.height = 16,
                                                                       .resize = 24,
                                                                       .in_order = 1,
                                                                       .batch = 4,
                                                                       .random_crop = 1,
                                                                       .random_flip = 1,
                                                                       .seed = run == 3,
                                                                       .workers = run + 1});
        for (int epoch = 0; epoch < 8; epoch++)
            memcpy(runs[run] + epoch * ROUND, next(data).fields[0], ROUND * sizeof(float));
        plim_data_free(data);
    }
    assert_memory_equal(runs[0], runs[1], sizeof runs[0]);
    assert_memory_equal(runs[0], runs[2], sizeof runs[0]);
    assert_memory_not_equal(runs[0], runs[3], sizeof runs[0]);
    assert_memory_not_equal(runs[0], runs[0] + ROUND, ROUND * sizeof(float));
    int flipped = 0; /* red rises with x, unless mirrored */
    for (int i = 0; i < 32; i++) flipped += runs[0][i * IMAGE] > runs[0][i * IMAGE + 15];
    assert_in_range(flipped, 6, 26);
}

static void damage_is_named_and_stops(void **state) {
    fixture *f = *state;
    write_folder(f);
    const char *victims[] = {"i/cats/a.jpeg", "i/dogs/c.png"};
    for (int i = 0; i < 2; i++) {
        truncate_file(path_of(f, victims[i]), 40);
        plim_data *data =
            open_it(path_of(f, "i"), (plim_data_options){.height = 16, .in_order = 1, .batch = 1, .workers = 2});
        plim_data_batch batch;
        plim_status status = PLIM_OK;
        for (int n = 0; n < 4 && status == PLIM_OK; n++) status = plim_data_next(data, &batch, &error);
        assert_int_equal(status, PLIM_CORRUPT);
        assert_non_null(strstr(error.message, victims[i]));
        assert_int_equal(plim_data_next(data, &batch, &error), PLIM_CORRUPT); /* and again */
        assert_int_equal(plim_data_seek(data, (plim_data_position){0, 1}, &error), PLIM_OK);
        assert_int_equal(plim_data_next(data, &batch, &error), PLIM_OK);
        plim_data_free(data);
        write_folder(f);
    }
}

static void damage_is_left_out_and_counted_when_asked(void **state) {
    fixture *f = *state;
    write_folder(f);
    write_text(f, "i/cats/a.jpeg", "no image at all");
    for (int workers = 1; workers <= 3; workers++) {
        plim_data *data =
            open_it(path_of(f, "i"),
                    (plim_data_options){.height = 16, .in_order = 1, .batch = 3, .skip_bad = 1, .workers = workers});
        plim_data_batch batch = next(data);
        const int64_t labels[] = {0, 1};
        assert_int_equal(batch.count, 2);
        assert_memory_equal(batch.fields[1], labels, sizeof labels);
        assert_float_equal(((const float *)batch.fields[0])[2 * 256 + 9] * 255, 30, 3);
        assert_int_equal(next(data).count, 1);
        plim_data_stats stats;
        plim_data_get_stats(data, &stats);
        assert_int_equal(stats.skipped, 1);
        assert_non_null(strstr(plim_data_last_bad(data), "cats/a.jpeg"));
        plim_data_free(data);
    }
}

static void nothing_but_damage_is_an_error_even_when_skipping(void **state) {
    fixture *f = *state;
    write_text(f, "i/a/a.png", "no image");
    write_text(f, "i/a/b.png", "no image");
    plim_data *data = open_it(path_of(f, "i"), (plim_data_options){.skip_bad = 1, .batch = 1});
    plim_data_batch batch;
    assert_int_equal(plim_data_next(data, &batch, &error), PLIM_CORRUPT);
    assert_non_null(strstr(error.message, "every sample"));
    plim_data_free(data);
}

static void empty_folders_are_named(void **state) {
    fixture *f = *state;
    plim_data *data;
    assert_int_equal(plim_data_create(f->root, NULL, &data, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "has no folders"));
    write_png(f, "a/a.png", 4, 4, (int[]){0, 0, 0});
    write_text(f, "b/notes.txt", "");
    assert_int_equal(plim_data_create(f->root, NULL, &data, &error), PLIM_INVALID);
    assert_non_null(strstr(error.message, "/b' has no images"));
}

static void a_root_of_train_and_val_is_two_splits(void **state) {
    fixture *f = *state;
    write_png(f, "i/train/a/a.png", 4, 4, (int[]){0, 0, 0});
    write_png(f, "i/train/b/b.png", 4, 4, (int[]){0, 0, 0});
    write_png(f, "i/val/a/a.png", 4, 4, (int[]){0, 0, 0});
    const char *splits[] = {"train", "test"};
    for (int i = 0; i < 2; i++) {
        plim_data *data = open_it(path_of(f, "i"), (plim_data_options){.split = splits[i]});
        plim_data_info info;
        plim_data_get_info(data, &info);
        assert_int_equal(info.samples, 2 - i);
        plim_data_free(data);
    }
}

/* One worker: all that it will hold is there before the first batch, and stays. */
static void bounded_data_holds_what_it_says_from_the_start(void **state) {
    fixture *f = *state;
    write_folder(f);
    write_png(f, "i/dogs/large.png", 900, 700, (int[]){1, 2, 3});
    plim_data *data =
        open_it(path_of(f, "i"), (plim_data_options){.height = 16, .batch = 2, .depth = 1, .workers = 1, .bounded = 1});
    plim_data_info info;
    plim_data_stats before, after;
    plim_data_get_info(data, &info);
    plim_data_get_stats(data, &before);
    for (int i = 0; i < 6; i++) next(data);
    plim_data_get_stats(data, &after);
    assert_int_equal(before.buffer_bytes, after.buffer_bytes);
    assert_true(info.held_bytes + after.buffer_bytes <= info.most_bytes);
    assert_true(info.most_bytes - info.held_bytes - after.buffer_bytes < 256 << 10); /* for libraries */
    assert_true(info.most_bytes < 900 * 700 * 3);                                    /* rows, not pictures */
    plim_data_free(data);
}

static void an_image_that_grew_since_is_refused_where_memory_is_bounded(void **state) {
    fixture *f = *state;
    write_png(f, "i/a/a.png", 40, 30, (int[]){1, 2, 3});
    plim_data_options options = {.height = 16, .batch = 1, .bounded = 1};
    plim_data *data = open_it(path_of(f, "i"), options);
    write_png(f, "i/a/a.png", 4000, 3000, (int[]){1, 2, 3});
    plim_data_batch batch;
    assert_int_equal(plim_data_next(data, &batch, &error), PLIM_BUDGET);
    assert_non_null(strstr(error.message, "a/a.png"));
    plim_data_free(data);
    options.bounded = 0;
    data = open_it(path_of(f, "i"), options);
    assert_int_equal(next(data).count, 1);
    plim_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(folders_are_classes_in_the_order_of_their_names),
        WITH_FIXTURE(an_image_of_the_right_size_is_not_changed),
        WITH_FIXTURE(the_centre_is_where_torchvision_has_it),
        WITH_FIXTURE(channels_are_normalised_each_by_its_own),
        WITH_FIXTURE(grey_is_the_luminance),
        cmocka_unit_test(shrinking_averages_and_growing_interpolates),
        WITH_FIXTURE(crops_and_flips_follow_seed_and_epoch_not_workers),
        WITH_FIXTURE(damage_is_named_and_stops),
        WITH_FIXTURE(damage_is_left_out_and_counted_when_asked),
        WITH_FIXTURE(nothing_but_damage_is_an_error_even_when_skipping),
        WITH_FIXTURE(empty_folders_are_named),
        WITH_FIXTURE(a_root_of_train_and_val_is_two_splits),
        WITH_FIXTURE(bounded_data_holds_what_it_says_from_the_start),
        WITH_FIXTURE(an_image_that_grew_since_is_refused_where_memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
