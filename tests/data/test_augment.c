/* Random changes of training data: formulas as torchvision's, draws that follow seed, epoch and sample alone. */
#include <math.h>

#include "core/alloc.h"
#include "core/str.h"
#include "data/augment.h"
#include "data/fixtures.h"
#include "format/npy.h"

static plim_error error;

/* --- formulas ------------------------------------------------------------------------------------------------- */

enum { C = 3, H = 7, W = 9, SIZE = C * H * W };

static void make_picture(float picture[SIZE]) {
    for (int i = 0; i < SIZE; i++) picture[i] = (float)(i * 37 % 101) / 100;
}

/* What torchvision made, from the file that make_augment.py wrote. */
static int read_expected(const char *name, float values[SIZE]) {
    FILE *file = fopen(PLIM_SOURCE_DIR "/tests/data/files/augment.txt", "r");
    char word[64];
    int count, found = 0;
    assert_non_null(file);
    while (!found && fscanf(file, "%63s %d", word, &count) == 2) {
        assert_in_range(count, 1, SIZE);
        for (int i = 0; i < count; i++) assert_int_equal(fscanf(file, "%f", &values[i]), 1);
        if (strcmp(word, name) == 0) found = count;
    }
    fclose(file);
    if (!found) fail_msg("no numbers for %s", name);
    return found;
}

static void check(const char *name, const float *values) {
    float expected[SIZE];
    int count = read_expected(name, expected);
    for (int i = 0; i < count; i++)
        if (fabsf(values[i] - expected[i]) > 2e-6f)
            fail_msg("%s: value %d is %.7g, torchvision has %.7g", name, i, (double)values[i], (double)expected[i]);
}

static void formulas_are_those_of_torchvision(void **state) {
    (void)state;
    float values[SIZE], scratch[H * W];
    plim__picture p = {values, C, H, W, 1}, grey = {values, 1, H, W, 1};
#define STEP(name, call)                                                                                               \
    make_picture(values);                                                                                              \
    call;                                                                                                              \
    check(name, values)
    STEP("flip", plim__picture_flip(&p, true, false));
    STEP("vflip", plim__picture_flip(&p, false, true));
    STEP("rotate30", plim__picture_rotate(&p, 30, scratch));
    STEP("rotate-12.5", plim__picture_rotate(&p, -12.5, scratch));
    STEP("brightness1.3", plim__picture_brightness(&p, 1.3f));
    STEP("contrast0.7", plim__picture_contrast(&p, 0.7f));
    STEP("contrast1.8", plim__picture_contrast(&p, 1.8f));
    STEP("saturation1.6", plim__picture_saturation(&p, 1.6f));
    STEP("saturation0.2", plim__picture_saturation(&p, 0.2f));
    STEP("grey-contrast0.5", plim__picture_contrast(&grey, 0.5f));
    STEP("move", plim__picture_move(&p, -1, 3, scratch));
#undef STEP
}

typedef struct rows_left {
    int y;
} rows_left;

static plim_status next_row(void *context, unsigned char *row, plim_error *e) {
    rows_left *left = context;
    (void)e;
    for (int i = 0; i < 16 * 3; i++) row[i] = (unsigned char)((left->y * 16 * 3 + i) * 53 % 256);
    left->y++;
    return PLIM_OK;
}

static void boxes_are_resized_as_torchvision_does(void **state) {
    (void)state;
    static const struct {
        const char *name;
        plim__crop crop;
    } cases[] = {{"box", {{3, 2, 9, 7}, 4, 5, 0, 0, 4, 5, false}},
                 {"box-grows", {{8, 5, 2, 3}, 6, 6, 0, 0, 6, 6, false}}};
    for (int i = 0; i < 2; i++) {
        rows_left left = {0};
        plim__rows rows = {16, 12, 3, next_row, &left};
        float values[SIZE];
        void *scratch = malloc(plim__resample_scratch(&rows, &cases[i].crop));
        assert_int_equal(plim__resample(&rows, &cases[i].crop, scratch, values, &error), PLIM_OK);
        assert_int_equal(left.y, 12);
        check(cases[i].name, values);
        free(scratch);
    }
}

/* --- draws ---------------------------------------------------------------------------------------------------- */

static void boxes_have_the_shares_and_shapes_that_were_asked_for(void **state) {
    (void)state;
    plim__augment a = {.crop = true, .crop_share = 0.25};
    double least = 1, most = 0;
    for (int64_t i = 0; i < 2000; i++) {
        plim__sample_key key = {.index = i, .seed = 3};
        plim__box b = plim__augment_box(&a, &key, 60, 80);
        assert_true(b.left >= 0 && b.top >= 0 && b.left + b.width <= 60 && b.top + b.height <= 80);
        double share = (double)b.width * b.height / 4800, ratio = (double)b.width / b.height;
        assert_true(ratio > 0.72 && ratio < 1.37);
        least = share < least ? share : least;
        most = share > most ? share : most;
    }
    assert_true(least > 0.24 && least < 0.27 && most > 0.9);
    plim__box wide = plim__augment_box(&a, &(plim__sample_key){.index = 1}, 1000, 10); /* no try fits: the centre */
    assert_true(wide.height == 10 && wide.width == 13 && wide.left == 493);
}

/* Beta(A + 1, A): mean (A + 1) / (2 A + 1), variance A (A + 1) / ((2 A + 1)^2 (2 A + 2)). */
static void shares_of_mixtures_are_distributed_as_said(void **state) {
    (void)state;
    const double alphas[] = {0.2, 1, 4};
    for (int k = 0; k < 3; k++) {
        plim__augment a = {.mixup = alphas[k]};
        double sum = 0, squares = 0, n = 20000, twice = 2 * alphas[k] + 1, mean = (alphas[k] + 1) / twice;
        for (int64_t i = 0; i < (int64_t)n; i++) {
            double share = plim__augment_mix_share(&a, &(plim__sample_key){.index = i, .seed = 7});
            assert_true(share >= 0 && share <= 1);
            sum += share;
            squares += (share - mean) * (share - mean);
        }
        double variance = alphas[k] * (alphas[k] + 1) / (twice * twice * (2 * alphas[k] + 2));
        assert_true(fabs(sum / n - mean) < 4 * sqrt(variance / n));
        assert_true(fabs(squares / n - variance) < 0.05 * variance);
    }
}

/* --- data sets ------------------------------------------------------------------------------------------------ */

static plim_data *open_it(const char *path, plim_data_options options) {
    plim_data *data = NULL;
    if (plim_data_create(path, &options, &data, &error) != PLIM_OK) fail_msg("%s", error.message);
    return data;
}

/* Inputs of one epoch; batches one after the other. */
static float *read_epoch(const char *path, plim_data_options options, int64_t epoch, size_t values) {
    plim_data *data = open_it(path, options);
    plim_data_batch batch;
    float *all = calloc(values, sizeof *all);
    size_t at = 0, each = plim_data_field_at(data, 0)->bytes / sizeof *all;
    assert_int_equal(plim_data_seek(data, (plim_data_position){epoch, 0}, &error), PLIM_OK);
    do {
        if (plim_data_next(data, &batch, &error) != PLIM_OK) fail_msg("%s", error.message);
        size_t count = (size_t)batch.count * each;
        assert_true(at + count <= values);
        memcpy(all + at, batch.fields[0], count * sizeof *all);
        at += count;
    } while (!batch.last);
    plim_data_free(data);
    return all;
}

static bool same(const float *a, const float *b, size_t count) { return memcmp(a, b, count * sizeof *a) == 0; }

static const char *write_arrays(fixture *f, int samples) {
    unsigned char x[16 * 3 * 8 * 8];
    int64_t y[16];
    char labels[600];
    for (int i = 0; i < samples * 192; i++) x[i] = (unsigned char)(i * 31 % 256);
    for (int i = 0; i < samples; i++) y[i] = i % 3;
    snprintf(labels, sizeof labels, "%s", path_of(f, "arrays/y.npy"));
    assert_int_equal(plim__npy_write(labels, PLIM_I64, 1, (int64_t[]){samples}, y, &error), PLIM_OK);
    assert_int_equal(plim__npy_write(path_of(f, "arrays/x.npy"), PLIM_U8, 4, (int64_t[]){samples, 3, 8, 8}, x, &error),
                     PLIM_OK);
    return f->path;
}

static const char *const all_changes = "flip,vflip,pad=2,rotate=20,color=0.3,erase=0.5";

static void write_images(fixture *f) {
    for (int i = 0; i < 12; i++) {
        char name[64];
        snprintf(name, sizeof name, "i/%c/%d.png", 'a' + i % 3, i);
        write_png(f, name, 20 + i, 30 - i, (int[]){i * 20, 100, 200 - i});
    }
}

static void changes_follow_seed_epoch_and_sample_alone(void **state) {
    fixture *f = *state;
    write_images(f);
    char images[600], arrays[600], list[128];
    snprintf(images, sizeof images, "%s", path_of(f, "i"));
    snprintf(arrays, sizeof arrays, "%s", write_arrays(f, 12));
    snprintf(list, sizeof list, "crop=0.3,%s", all_changes);
    for (int k = 0; k < 2; k++) {
        const char *path = k ? arrays : images;
        size_t count = 12 * 3 * 8 * 8;
        plim_data_options o = {.height = 8, .batch = 12, .seed = 5, .augment = k ? all_changes : list, .workers = 1};
        float *once = read_epoch(path, o, 1, count), *other = read_epoch(path, o, 2, count);
        plim_data_options small = o, plain = o, seed = o;
        small.batch = 3;
        small.workers = 3;
        plain.augment = NULL;
        seed.seed = 6;
        float *pieces = read_epoch(path, small, 1, count), *unchanged = read_epoch(path, plain, 1, count);
        float *another = read_epoch(path, seed, 1, count);
        assert_true(same(once, pieces, count)); /* whatever the batch and the number of workers */
        assert_false(same(once, other, count));
        assert_false(same(once, unchanged, count));
        assert_false(same(once, another, count));
        free(once), free(other), free(pieces), free(unchanged), free(another);
    }
}

static void one_change_does_not_move_the_draws_of_another(void **state) {
    fixture *f = *state;
    const char *path = write_arrays(f, 12);
    size_t count = 12 * 192, flipped = 0;
    plim_data_options o = {.batch = 12, .seed = 5};
    float *plain = read_epoch(path, o, 0, count);
    o.augment = "flip";
    float *flips = read_epoch(path, o, 0, count);
    o.augment = "erase=0.5,flip";
    float *both = read_epoch(path, o, 0, count);
    for (size_t i = 0; i < count; i++) assert_true(both[i] == 0 || both[i] == flips[i]);
    for (size_t i = 0; i < 12; i++) flipped += !same(plain + i * 192, flips + i * 192, 192);
    assert_in_range(flipped, 2, 10);
    free(plain), free(flips), free(both);
}

static void mixtures_are_of_pairs_and_keep_labels(void **state) {
    fixture *f = *state;
    const char *path = write_arrays(f, 5);
    plim_data_options o = {.batch = 5, .seed = 1, .in_order = 1};
    float *plain = read_epoch(path, o, 0, 5 * 192);
    o.augment = "mixup=0.4";
    float *mixed = read_epoch(path, o, 0, 5 * 192);
    plim__augment a = {.mixup = 0.4};
    for (int64_t i = 0; i < 5; i++) {
        float share = (float)plim__augment_mix_share(&a, &(plim__sample_key){.index = i, .seed = 1});
        if (i == 2) share = 1; /* the one in the middle has no other */
        for (int n = 0; n < 192; n++)
            assert_float_equal(mixed[i * 192 + n], share * plain[i * 192 + n] + (1 - share) * plain[(4 - i) * 192 + n],
                               1e-6);
    }
    plim_data *data = open_it(path, o);
    plim_data_batch batch;
    assert_int_equal(plim_data_next(data, &batch, &error), PLIM_OK);
    for (int64_t i = 0; i < 5; i++) assert_int_equal(((const int64_t *)batch.fields[1])[i], i % 3);
    plim_data_free(data);
    free(plain), free(mixed);
}

/* Scratch memory for changes is there from the start, and told. */
static void memory_of_changes_is_counted(void **state) {
    fixture *f = *state;
    write_images(f);
    plim_data_info plain, changed;
    plim_data_options o = {.height = 64, .bounded = 1, .workers = 2, .depth = 1};
    plim_data *data = open_it(path_of(f, "i"), o);
    plim_data_get_info(data, &plain);
    plim_data_free(data);
    o.augment = "rotate=10,pad=4,color=0.1,mixup=0.5";
    data = open_it(path_of(f, "i"), o);
    plim_data_get_info(data, &changed);
    plim_data_free(data);
    assert_int_equal(changed.most_bytes, plain.most_bytes + 2 * 64 * 64 * sizeof(float));
}

/* --- classes -------------------------------------------------------------------------------------------------- */

static void oversampling_brings_every_class_equally_often(void **state) {
    fixture *f = *state;
    plim__str text = {0};
    plim__str_add(&text, "x,kind\n");
    for (int i = 0; i < 23; i++) plim__str_addf(&text, "%d,%s\n", i, i < 13 ? "often" : i < 20 ? "some" : "rare");
    const char *path = write_text(f, "t.csv", plim__str_text(&text));
    plim__str_free(&text);
    plim_data *data = open_it(path, (plim_data_options){.target = "kind", .batch = 8, .seed = 2, .oversample = 1});
    plim_data_info info;
    plim_data_get_info(data, &info);
    assert_int_equal(info.samples, 39);
    int64_t counts[3];
    assert_int_equal(plim_data_count_classes(data, counts, 3, &error), PLIM_OK);
    assert_true(counts[0] == 13 && counts[1] == 3 && counts[2] == 7); /* often, rare, some: as they are */
    int seen[2][23] = {{0}};
    for (int epoch = 0; epoch < 2; epoch++)
        for (plim_data_batch batch = {0}; !batch.last;) {
            assert_int_equal(plim_data_next(data, &batch, &error), PLIM_OK);
            for (int64_t i = 0; i < batch.count; i++) seen[epoch][(int)((const float *)batch.fields[0])[i]]++;
        }
    for (int i = 0; i < 23; i++) {
        int least = i < 13 ? 1 : i < 20 ? 1 : 4, most = i < 13 ? 1 : i < 20 ? 2 : 5;
        for (int epoch = 0; epoch < 2; epoch++) assert_in_range(seen[epoch][i], least, most);
    }
    assert_memory_not_equal(seen[0], seen[1], sizeof seen[0]); /* who comes once more changes */
    plim_data_free(data);
}

/* --- what is refused ------------------------------------------------------------------------------------------ */

static void refuse(const char *path, plim_data_options options, const char *words) {
    plim_data *data = NULL;
    assert_int_equal(plim_data_create(path, &options, &data, &error), PLIM_INVALID);
    assert_null(data);
    if (!strstr(error.message, words)) fail_msg("'%s' is not in '%s'", words, error.message);
}

static void mistakes_are_named(void **state) {
    fixture *f = *state;
    write_images(f);
    char images[600], arrays[600], table[600];
    snprintf(images, sizeof images, "%s", path_of(f, "i"));
    snprintf(arrays, sizeof arrays, "%s", write_arrays(f, 12));
    snprintf(table, sizeof table, "%s", write_text(f, "t.csv", "a,b\n1,2.5\n2,3.5\n"));
#define REFUSED(where, list, words) refuse(where, (plim_data_options){.height = 8, .augment = list}, words)
    REFUSED(images, "flop", "no augmentation 'flop'");
    REFUSED(images, "", "no augmentation ''");
    REFUSED(images, "flip,", "no augmentation ''");
    REFUSED(images, "flip=0.5", "takes no number");
    REFUSED(images, "rotate", "needs a number");
    REFUSED(images, "rotate=", "expected a number");
    REFUSED(images, "rotate=15x", "expected a number");
    REFUSED(images, "rotate=nan", "expected a number");
    REFUSED(images, "erase=2", "from 0 to 1");
    REFUSED(images, "pad=1.5", "expected a number");
    REFUSED(arrays, "crop", "pad=4");
    REFUSED(table, "flip", "no images");
    REFUSED(table, "mixup=1", "classes as targets");

#undef REFUSED
    refuse(table, (plim_data_options){.oversample = 1}, "no classes");
    refuse(write_text(f, "a.txt", "text for a window"), (plim_data_options){.seq = 8, .augment = "rotate=3"},
           "no images");
    const float x[2 * 4 * 4] = {0.5f};
    assert_int_equal(plim__npy_write(path_of(f, "f/x.npy"), PLIM_F32, 3, (int64_t[]){2, 4, 4}, x, &error), PLIM_OK);
    refuse(path_of(f, "f/x.npy"), (plim_data_options){.augment = "color=0.1"}, "for bytes");
}

static void the_nth_allocation_fails(void **state) {
    fixture *f = *state;
    write_images(f);
    bool done = false;
    for (size_t n = 1; n < 2000 && !done; n++) {
        plim_data *data = NULL;
        plim_data_batch batch;
        plim_data_options o = {.height = 8, .workers = 1, .augment = "crop,rotate=5,mixup=1", .oversample = 1};
        size_t before = plim__alloc_count();
        plim__alloc_fail_at(n);
        plim_status status = plim_data_create(path_of(f, "i"), &o, &data, &error);
        if (status == PLIM_OK) status = plim_data_next(data, &batch, &error);
        plim_data_free(data);
        plim__alloc_fail_at(0);
        assert_true(status == PLIM_OK || status == PLIM_NO_MEMORY);
        done = status == PLIM_OK && plim__alloc_count() - before < n;
    }
    assert_true(done);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_are_those_of_torchvision),
        cmocka_unit_test(boxes_are_resized_as_torchvision_does),
        cmocka_unit_test(boxes_have_the_shares_and_shapes_that_were_asked_for),
        cmocka_unit_test(shares_of_mixtures_are_distributed_as_said),
        WITH_FIXTURE(changes_follow_seed_epoch_and_sample_alone),
        WITH_FIXTURE(one_change_does_not_move_the_draws_of_another),
        WITH_FIXTURE(mixtures_are_of_pairs_and_keep_labels),
        WITH_FIXTURE(memory_of_changes_is_counted),
        WITH_FIXTURE(oversampling_brings_every_class_equally_often),
        WITH_FIXTURE(mistakes_are_named),
        WITH_FIXTURE(the_nth_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
