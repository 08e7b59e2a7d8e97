#include <math.h>
/* Each kind of file: what its samples are, and what is said when it is broken. */
#include <zlib.h>

#include "data/fixtures.h"
#include "format/npy.h"
#include "plimsoll/data.h"

#define FASHION "/usr/share/datasets/fashion-mnist"

static plim_error error;

static plim_data *open_it(const char *path, plim_data_options options) {
    plim_data *data = NULL;
    plim_status status = plim_data_create(path, &options, &data, &error);
    if (status != PLIM_OK) fail_msg("%s", error.message);
    return data;
}

static plim_data_batch next(plim_data *data) {
    plim_data_batch batch;
    if (plim_data_next(data, &batch, &error) != PLIM_OK) fail_msg("%s", error.message);
    return batch;
}

static void refuses(const char *path, plim_data_options options, plim_status status, const char *words) {
    plim_data *data;
    assert_int_equal(plim_data_create(path, &options, &data, &error), status);
    assert_null(data);
    if (!strstr(error.message, words)) fail_msg("'%s' does not say '%s'", error.message, words);
}

/* --- IDX ------------------------------------------------------------------------------------------------------ */

static void fashion_mnist_has_all_its_images_and_balanced_labels(void **state) {
    (void)state;
    if (access(FASHION, R_OK) != 0) skip();
    plim_data *data = open_it(FASHION, (plim_data_options){.batch = 1000});
    plim_data_info info;
    plim_data_get_info(data, &info);
    assert_string_equal(info.kind, "idx");
    assert_int_equal(info.samples, 60000);
    assert_int_equal(info.classes, 10);
    const plim_data_field *image = plim_data_field_at(data, 0), *label = plim_data_field_at(data, 1);
    assert_int_equal(image->rank, 3);
    assert_int_equal(image->dims[0] * 10000 + image->dims[1] * 100 + image->dims[2], 12828);
    assert_true(label->target && !image->target);
    int64_t of_class[10] = {0};
    double sum = 0;
    plim_data_batch batch;
    do {
        batch = next(data);
        const float *pixels = batch.fields[0];
        const int64_t *labels = batch.fields[1];
        for (int64_t i = 0; i < batch.count; i++) of_class[labels[i]]++;
        for (int64_t i = 0; i < batch.count * 784; i++) sum += (double)pixels[i];
    } while (!batch.last);
    for (int i = 0; i < 10; i++) assert_int_equal(of_class[i], 6000);
    assert_float_equal((float)(sum / 60000 / 784), 0.2860, 1e-3); /* the data set's published mean */
    plim_data_free(data);
}

static void fashion_mnist_has_a_test_split(void **state) {
    (void)state;
    if (access(FASHION, R_OK) != 0) skip();
    plim_data *data = open_it(FASHION, (plim_data_options){.split = "test", .in_order = 1, .batch = 8});
    plim_data_info info;
    plim_data_get_info(data, &info);
    assert_int_equal(info.samples, 10000);
    const int64_t first[] = {9, 2, 1, 1, 6, 1, 4, 6};
    plim_data_batch batch = next(data);
    assert_memory_equal(batch.fields[1], first, sizeof first);
    plim_data_free(data);
}

static const unsigned char idx_images[] = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 255, 51, 102, 0, 204};
static const unsigned char idx_labels[] = {0, 0, 8, 1, 0, 0, 0, 3, 4, 0, 2};

static void write_idx(fixture *f) {
    write_file(f, "d/train-labels-idx1-ubyte", idx_labels, sizeof idx_labels);
    write_file(f, "d/train-images-idx3-ubyte", idx_images, sizeof idx_images);
}

static void idx_bytes_become_floats_normalised_as_asked(void **state) {
    fixture *f = *state;
    write_idx(f);
    float mean = 0.5f, deviation = 0.25f;
    plim_data *data = open_it(path_of(f, "d"), (plim_data_options){.in_order = 1, .batch = 3});
    const float plain[] = {0, 1, 51 / 255.0f, 102 / 255.0f, 0, 204 / 255.0f};
    assert_memory_equal(next(data).fields[0], plain, sizeof plain);
    plim_data_free(data);
    data = open_it(
        path_of(f, "d"),
        (plim_data_options){.in_order = 1, .batch = 3, .mean = &mean, .deviation = &deviation, .normal_count = 1});
    const float *normal = next(data).fields[0];
    for (int i = 0; i < 6; i++) assert_float_equal(normal[i], (plain[i] - 0.5f) * 4, 1e-6);
    plim_data_free(data);
    data = open_it(path_of(f, "d"), (plim_data_options){.in_order = 1, .batch = 3, .raw = 1});
    assert_float_equal(((const float *)next(data).fields[0])[1], 255, 0);
    plim_data_free(data);
}

static void truncated_idx_is_refused_by_name(void **state) {
    fixture *f = *state;
    write_idx(f);
    truncate_file(f->path, 1);
    refuses(path_of(f, "d"), (plim_data_options){0}, PLIM_CORRUPT, "train-images-idx3-ubyte' ends too early");
    truncate_file(path_of(f, "d/train-images-idx3-ubyte"), 12);
    refuses(path_of(f, "d"), (plim_data_options){0}, PLIM_CORRUPT, "train-images-idx3-ubyte': its IDX header ends");
    write_idx(f);
    unlink(path_of(f, "d/train-labels-idx1-ubyte"));
    refuses(path_of(f, "d"), (plim_data_options){0}, PLIM_NOT_FOUND, "train-labels-idx1-ubyte");
    unsigned char two[] = {0, 0, 8, 1, 0, 0, 0, 2, 4, 0};
    write_file(f, "d/train-labels-idx1-ubyte", two, sizeof two);
    refuses(path_of(f, "d"), (plim_data_options){0}, PLIM_SHAPE, "2 labels for 3 samples");
}

static void damaged_gzip_is_refused_by_name(void **state) {
    fixture *f = *state;
    write_idx(f);
    unlink(path_of(f, "d/train-images-idx3-ubyte"));
    gzFile file = gzopen(path_of(f, "d/train-images-idx3-ubyte.gz"), "wb");
    assert_int_equal(gzwrite(file, idx_images, sizeof idx_images), sizeof idx_images);
    gzclose(file);
    plim_data *data = open_it(path_of(f, "d"), (plim_data_options){.in_order = 1});
    assert_float_equal(((const float *)next(data).fields[0])[1], 1, 0);
    plim_data_free(data);
    truncate_file(path_of(f, "d/train-images-idx3-ubyte.gz"), 9);
    refuses(path_of(f, "d"), (plim_data_options){0}, PLIM_CORRUPT, "ubyte.gz' is damaged");
}

/* --- NPY and NPZ ---------------------------------------------------------------------------------------------- */

static void npy_takes_its_targets_from_beside_it(void **state) {
    fixture *f = *state;
    const double x[] = {1, 2, 3, 4, 5, 6};
    const int32_t y[] = {7, -8, 9};
    assert_int_equal(plim__npy_write(path_of(f, "x.npy"), PLIM_F64, 2, (int64_t[]){3, 2}, x, &error), PLIM_OK);
    assert_int_equal(plim__npy_write(path_of(f, "y.npy"), PLIM_I32, 1, (int64_t[]){3}, y, &error), PLIM_OK);
    const float floats[] = {1, 2, 3, 4, 5, 6};
    const int64_t longs[] = {7, -8, 9};
    const char *paths[] = {"x.npy", "."};
    for (int i = 0; i < 2; i++) {
        plim_data *data = open_it(path_of(f, paths[i]), (plim_data_options){.in_order = 1, .batch = 3});
        plim_data_batch batch = next(data);
        assert_memory_equal(batch.fields[0], floats, sizeof floats);
        assert_memory_equal(batch.fields[1], longs, sizeof longs);
        plim_data_free(data);
    }
    truncate_file(path_of(f, "x.npy"), 1);
    refuses(path_of(f, "x.npy"), (plim_data_options){0}, PLIM_CORRUPT, "x.npy' ends too early");
}

static void npz_picks_the_split_and_the_target(void **state) {
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s/tests/data/files/split.npz", PLIM_SOURCE_DIR);
    for (int packed = 0; packed < 2; packed++) {
        if (packed) snprintf(path, sizeof path, "%s/tests/data/files/split-packed.npz", PLIM_SOURCE_DIR);
        plim_data *data = open_it(path, (plim_data_options){.in_order = 1, .batch = 4});
        plim_data_info info;
        plim_data_get_info(data, &info);
        assert_int_equal(info.samples, 4);
        assert_string_equal(plim_data_field_at(data, 1)->name, "y");
        assert_true(plim_data_field_at(data, 1)->target);
        plim_data_batch batch = next(data);
        const int64_t y[] = {3, 2, 1, 0};
        assert_memory_equal(batch.fields[1], y, sizeof y);
        for (int i = 0; i < 12; i++) assert_float_equal(((const float *)batch.fields[0])[i], (float)i * 0.5f, 0);
        plim_data_free(data);
        data = open_it(path, (plim_data_options){.in_order = 1, .batch = 4, .split = "test"});
        batch = next(data);
        assert_int_equal(batch.count, 2);
        assert_float_equal(((const float *)batch.fields[0])[5], 105, 0);
        plim_data_free(data);
    }
    refuses(path, (plim_data_options){.target = "z"}, PLIM_NOT_FOUND, "no array 'z'");
}

static void any_order_of_indices_and_bytes_gives_the_same_samples(void **state) {
    (void)state;
    const char *names[] = {"little-C", "big-C", "little-F", "big-F"}, *types[] = {"f2", "f4", "f8", "i2", "u4", "b1"};
    for (int t = 0; t < 6; t++)
        for (int n = 0; n < 4; n++) { /* (2, 3, 4), element k is k - 5, k or k % 2 */
            char path[512];
            snprintf(path, sizeof path, "%s/tests/format/data/npy/%s-%s.npy", PLIM_SOURCE_DIR, types[t], names[n]);
            plim_data *data = open_it(path, (plim_data_options){.in_order = 1});
            plim_data_batch batch = next(data);
            assert_int_equal(batch.count, 2);
            assert_int_equal(plim_data_field_at(data, 0)->dtype, t < 3 ? PLIM_F32 : PLIM_I64);
            for (int64_t k = 0; k < 24; k++) {
                int64_t expected = types[t][0] == 'u' ? k : types[t][0] == 'b' ? k % 2 : k - 5;
                if (t < 3)
                    assert_float_equal(((const float *)batch.fields[0])[k], (float)expected, 0);
                else
                    assert_int_equal(((const int64_t *)batch.fields[0])[k], expected);
            }
            plim_data_free(data);
        }
}

/* --- CSV ------------------------------------------------------------------------------------------------------ */

static void csv_target_by_name_and_by_number(void **state) {
    fixture *f = *state;
    const char *path = write_text(f, "a.csv", "length,\"class\",width\r\n1.5,2,-3e2\r\n4,0,\"6\"\r\n");
    const float x[] = {1.5f, -300, 4, 6};
    const int64_t y[] = {2, 0};
    const char *targets[] = {"class", "1", "-2"};
    for (int i = 0; i < 3; i++) {
        plim_data *data = open_it(path, (plim_data_options){.target = targets[i], .in_order = 1, .batch = 2});
        plim_data_batch batch = next(data);
        assert_string_equal(plim_data_field_at(data, 1)->name, "class");
        assert_memory_equal(batch.fields[0], x, sizeof x);
        assert_memory_equal(batch.fields[1], y, sizeof y);
        plim_data_info info;
        plim_data_get_info(data, &info);
        assert_int_equal(info.classes, 3);
        plim_data_free(data);
    }
    refuses(path, (plim_data_options){.target = "height"}, PLIM_NOT_FOUND, "no column 'height'");
    refuses(path, (plim_data_options){.target = "3"}, PLIM_NOT_FOUND, "no column '3'");
}

static void csv_without_header_and_with_names_of_classes(void **state) {
    fixture *f = *state;
    const char *path = write_text(f, "iris", "5.1;3.5;setosa\n7.0;3.2;versicolor\n4.9;3.0;setosa\n");
    plim_data *data = open_it(path, (plim_data_options){.kind = "csv", .target = "-1", .in_order = 1, .batch = 3});
    const int64_t y[] = {0, 1, 0};
    assert_memory_equal(next(data).fields[1], y, sizeof y);
    assert_string_equal(plim_data_class_name(data, 1), "versicolor");
    assert_null(plim_data_class_name(data, 2));
    plim_data_free(data);
}

static void csv_targets_with_fractions_are_floats(void **state) {
    fixture *f = *state;
    const char *path = write_text(f, "a.csv", "1,2\n3,4.25\n");
    plim_data *data = open_it(path, (plim_data_options){.target = "1", .in_order = 1});
    assert_int_equal(plim_data_field_at(data, 1)->dtype, PLIM_F32);
    assert_float_equal(((const float *)next(data).fields[1])[1], 4.25, 0);
    plim_data_free(data);
    path = write_text(f, "b.csv", "1,2\n3,-4\n"); /* whole numbers, where numbers are to be predicted */
    data = open_it(path, (plim_data_options){.target = "1", .in_order = 1, .float_target = 1});
    assert_int_equal(plim_data_field_at(data, 1)->dtype, PLIM_F32);
    assert_float_equal(((const float *)next(data).fields[1])[1], -4, 0);
    plim_data_free(data);
}

static void classes_are_numbered_by_name_whatever_the_order_of_rows(void **state) {
    fixture *f = *state;
    const char *path = write_text(f, "c.csv", "a,kind\n1,wolf\n2,ant\n3,bear\n4,ant\n");
    plim_data *data = open_it(path, (plim_data_options){.target = "kind", .in_order = 1, .batch = 4});
    const int64_t by_name[] = {2, 0, 1, 0}, given[] = {0, 2, 3, 2};
    assert_memory_equal(next(data).fields[1], by_name, sizeof by_name);
    assert_string_equal(plim_data_class_name(data, 0), "ant");
    plim_data_free(data);
    const char *names[] = {"wolf", "cow", "ant", "bear"};
    data = open_it(
        path, (plim_data_options){.target = "kind", .in_order = 1, .batch = 4, .classes = names, .class_count = 4});
    assert_memory_equal(next(data).fields[1], given, sizeof given);
    assert_int_equal(plim_data_field_at(data, 1)->classes, 4);
    plim_data_free(data);
    refuses(path, (plim_data_options){.target = "kind", .classes = names, .class_count = 3}, PLIM_CORRUPT,
            "line 4 column 2 (kind): class 'bear' is unknown; the model's 3 classes are wolf, cow, ant");
}

static void tables_have_categories_gaps_and_means_of_the_train_split(void **state) {
    fixture *f = *state;
    const char *path = write_text(f, "t.csv", "id,size,town,y\n7,1,Rome,0\n8,,Bonn,1\n9,3,,1\n5,5,Rome,0\n");
    plim_data_options o = {.target = "y", .drop = "id", .missing = "mean", .in_order = 1, .batch = 4};
    plim_data *data = open_it(path, o);
    const float plain[] = {1, 0, 1, 3, 1, 0, 3, 0, 0, 5, 0, 1}; /* size, Bonn, Rome; the mean of 1, 3 and 5 */
    assert_memory_equal(next(data).fields[0], plain, sizeof plain);
    char table[1024];
    snprintf(table, sizeof table, "%s", plim_data_table(data));
    plim_data_free(data);
    o.normalise = 1;
    data = open_it(path, o);
    const float *x = next(data).fields[0];
    assert_float_equal(x[0], -2 / sqrtf(8.0f / 3), 1e-6f); /* deviation of 1, 3, 5 */
    assert_float_equal(x[3], 0, 1e-6f);
    plim_data_free(data);
    /* another file of the same job: columns elsewhere, nothing of its own is learned */
    path = write_text(f, "u.csv", "town,more,size\nBonn,1,100\n?,2,NA\n");
    data = open_it(path, (plim_data_options){.table = table, .target = "y", .no_target = 1, .in_order = 1, .batch = 2});
    const float other[] = {100, 1, 0, 3, 0, 0};
    assert_memory_equal(next(data).fields[0], other, sizeof other);
    assert_null(plim_data_field_at(data, 1));
    plim_data_free(data);
    refuses(write_text(f, "v.csv", "town,size\nOslo,1\n"), (plim_data_options){.table = table}, PLIM_CORRUPT,
            "line 2 column 1 (town): 'Oslo' is none of the 2 categories");
    refuses(write_text(f, "w.csv", "size\n1\n"), (plim_data_options){.table = table}, PLIM_NOT_FOUND,
            "no column 'town', which the model was trained with");
}

static void table_options_that_name_nothing_or_mix_are_refused(void **state) {
    fixture *f = *state;
    const char *path = write_text(f, "m.csv", "a,b,y\n1,2,0\nx,4,1\n");
    refuses(path, (plim_data_options){.target = "y", .drop = "c"}, PLIM_NOT_FOUND, "no column 'c'");
    refuses(path, (plim_data_options){.target = "y", .columns = "b,z"}, PLIM_NOT_FOUND, "no column 'z'");
    refuses(path, (plim_data_options){.target = "y", .missing = "median"}, PLIM_INVALID, "not 'median'");
    refuses(path, (plim_data_options){.target = "y"}, PLIM_CORRUPT, "line 3 column 1 (a): 'x' is not a finite number");
    plim_data *data = open_it(path, (plim_data_options){.target = "y", .categories = "a", .in_order = 1, .batch = 2});
    assert_int_equal(plim_data_field_at(data, 0)->dims[0], 3); /* "1", "x", b */
    plim_data_free(data);
    data = open_it(path, (plim_data_options){.target = "b,y", .columns = "b", .drop = "a", .batch = 2, .in_order = 1});
    const float both[] = {2, 0, 4, 1};
    assert_memory_equal(next(data).fields[0], both, sizeof both);
    assert_int_equal(plim_data_field_at(data, 0)->target, 1);
    plim_data_free(data);
}

static void channels_last_are_put_first(void **state) {
    (void)state;
    const int64_t dims[] = {2, 1, 2, 3}; /* two samples of 1 x 2 pixels with 3 channels */
    const float x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, moved[] = {1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12};
    plim_data_array array = {"x", PLIM_F32, 4, dims, x, 0};
    plim_data *data;
    plim_data_options o = {.channels_last = 1, .in_order = 1, .batch = 2};
    assert_int_equal(plim_data_create_arrays(&array, 1, &o, &data, NULL), PLIM_OK);
    assert_int_equal(plim_data_field_at(data, 0)->dims[0], 3);
    assert_memory_equal(next(data).fields[0], moved, sizeof moved);
    plim_data_free(data);
    assert_int_equal(plim_data_create_arrays(&(plim_data_array){"x", PLIM_F32, 2, dims, x, 0}, 1, &o, &data, NULL),
                     PLIM_INVALID);
}

static void csv_faults_are_named_with_line_and_column(void **state) {
    fixture *f = *state;
    plim_data_options plain = {0}, target = {.target = "b"};
    refuses(write_text(f, "r.csv", "a,b\n1,2\n3\n"), plain, PLIM_CORRUPT,
            "r.csv' line 3 column 2: the row has 1 cells");
    refuses(write_text(f, "r.csv", "a,b\n1,2\n\n3,4,5\n"), plain, PLIM_CORRUPT, "line 4 column 3: the row has 3 cells");
    refuses(write_text(f, "t.csv", "a,b\n1,2\n3,x\n"), plain, PLIM_CORRUPT, "line 3 column 2 (b): 'x' is not a finite");
    refuses(write_text(f, "t.csv", "a,b\n1,2\n3,x\n"), target, PLIM_CORRUPT,
            "line 3 column 2 (b): 'x' is not a finite");
    refuses(write_text(f, "e.csv", "a,b\n1,2\n,4\n"), plain, PLIM_CORRUPT, "line 3 column 1 (a): is empty");
    refuses(write_text(f, "n.csv", "a,b\n1,2\n3,nan\n"), plain, PLIM_CORRUPT, "line 3 column 2 (b): 'nan'");
    refuses(write_text(f, "q.csv", "a,b\n1,\"2\n"), plain, PLIM_CORRUPT, "line 2: a quote is never closed");
    refuses(write_text(f, "h.csv", "a,b\n"), plain, PLIM_INVALID, "no rows");
    refuses(write_text(f, "0.csv", ""), plain, PLIM_INVALID, "is empty");
    refuses(write_file(f, "z.csv", "1,\0\n", 4), plain, PLIM_CORRUPT, "zero byte");
}

/* --- text and tokens ------------------------------------------------------------------------------------------ */

static void text_windows_hold_tokens_and_the_ones_after(void **state) {
    fixture *f = *state;
    const char *path = write_text(f, "a.txt", "abcdefghi");
    plim_data *data = open_it(path, (plim_data_options){.seq = 4, .in_order = 1, .batch = 2});
    const int64_t tokens[] = {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'},
                  labels[] = {'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'};
    plim_data_batch batch = next(data);
    assert_int_equal(batch.count, 2);
    assert_memory_equal(batch.fields[0], tokens, sizeof tokens);
    assert_memory_equal(batch.fields[1], labels, sizeof labels);
    plim_data_free(data);
    data = open_it(path, (plim_data_options){.seq = 4, .stride = 1, .in_order = 1, .batch = 5});
    batch = next(data);
    assert_int_equal(batch.count, 5);
    assert_int_equal(((const int64_t *)batch.fields[1])[19], 'i');
    plim_data_free(data);
    refuses(path, (plim_data_options){.seq = 9}, PLIM_INVALID, "has 9 tokens; a window of 9 needs 10");
}

static void token_files_have_two_or_four_bytes_a_token(void **state) {
    fixture *f = *state;
    const unsigned char bytes[] = {1, 0, 255, 255, 3, 0, 4, 1};
    const int64_t twos[] = {1, 65535, 3}, fours = 0xffff0001;
    plim_data *data = open_it(write_file(f, "a.u16", bytes, 8), (plim_data_options){.seq = 3});
    assert_memory_equal(next(data).fields[0], twos, sizeof twos);
    plim_data_free(data);
    data = open_it(write_file(f, "a.u32", bytes, 8), (plim_data_options){.seq = 1});
    assert_memory_equal(next(data).fields[0], &fours, sizeof fours);
    plim_data_free(data);
    char named[600];
    snprintf(named, sizeof named, "tokens:%s", write_file(f, "a.dat", bytes, 7));
    refuses(named, (plim_data_options){.seq = 1}, PLIM_CORRUPT, "ends inside of a token");
    refuses(f->path, (plim_data_options){0}, PLIM_UNSUPPORTED, "name its kind");
}

/* --- arrays and synthetic ------------------------------------------------------------------------------------- */

static void arrays_in_memory_are_samples(void **state) {
    (void)state;
    const float x[] = {1, 2, 3, 4, 5, 6};
    const uint8_t y[] = {9, 8, 7};
    plim_data_array arrays[] = {{"features", PLIM_F32, 2, (int64_t[]){3, 2}, x, 0},
                                {"digit", PLIM_U8, 1, (int64_t[]){3}, y, 1}};
    plim_data *data;
    assert_int_equal(plim_data_create_arrays(arrays, 2, &(plim_data_options){.in_order = 1, .batch = 2}, &data, &error),
                     0);
    plim_data_batch batch = next(data);
    assert_memory_equal(batch.fields[0], x, 4 * sizeof *x);
    assert_int_equal(((const int64_t *)batch.fields[1])[1], 8);
    batch = next(data);
    assert_int_equal(batch.count, 1);
    assert_true(batch.last);
    assert_memory_equal(batch.fields[0], x + 4, 2 * sizeof *x);
    plim_data_free(data);
    arrays[1].dims = (int64_t[]){2};
    assert_int_equal(plim_data_create_arrays(arrays, 2, NULL, &data, &error), PLIM_SHAPE);
    assert_int_equal(plim_data_create_arrays(arrays, 0, NULL, &data, &error), PLIM_INVALID);
}

static void synthetic_samples_follow_the_seed(void **state) {
    (void)state;
    plim_data_field fields[] = {{.name = "x", .dtype = PLIM_F32, .rank = 1, .dims = {1000}},
                                {.name = "y", .dtype = PLIM_I64, .target = 1, .classes = 7}};
    plim_data_options options = {.fields = fields, .field_count = 2, .batch = 64, .samples = 64, .seed = 5};
    float kept[64000];
    for (int run = 0; run < 3; run++) {
        options.seed = run == 2 ? 6 : 5;
        plim_data *data = open_it("synthetic", options);
        plim_data_batch batch = next(data);
        const int64_t *y = batch.fields[1];
        double sum = 0;
        for (int i = 0; i < 64; i++) assert_in_range(y[i], 0, 6);
        for (int i = 0; i < 64000; i++) sum += (double)((const float *)batch.fields[0])[i];
        assert_float_equal((float)(sum / 64000), 0, 0.02);
        if (run == 0) memcpy(kept, batch.fields[0], sizeof kept);
        if (run == 1) assert_memory_equal(batch.fields[0], kept, sizeof kept);
        if (run == 2) assert_memory_not_equal(batch.fields[0], kept, sizeof kept);
        plim_data_free(data);
    }
    refuses("synthetic", (plim_data_options){0}, PLIM_INVALID, "needs 1 to 16 fields");
}

static void nonsense_is_refused(void **state) {
    fixture *f = *state;
    const char *path = write_text(f, "a.txt", "abcdefghi");
    refuses(path, (plim_data_options){.seq = 2, .split = "dev"}, PLIM_INVALID, "no split 'dev'");
    refuses(path, (plim_data_options){.seq = 2, .kind = "parquet"}, PLIM_INVALID, "no kind of data 'parquet'");
    refuses(path, (plim_data_options){.seq = 2, .validation = 1}, PLIM_INVALID, "validation share");
    refuses(path, (plim_data_options){.seq = 2, .split = "validation"}, PLIM_INVALID, "needs a validation share");
    refuses(path, (plim_data_options){.seq = 2, .batch = -1}, PLIM_INVALID, "a batch of -1");
    refuses(path, (plim_data_options){.seq = 2, .batch = 99, .drop_last = 1}, PLIM_INVALID, "short batches");
    refuses(path_of(f, "none"), (plim_data_options){0}, PLIM_NOT_FOUND, "none");
    refuses("text:/dev/zero", (plim_data_options){0}, PLIM_INVALID, "not a regular file");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fashion_mnist_has_all_its_images_and_balanced_labels),
        cmocka_unit_test(fashion_mnist_has_a_test_split),
        WITH_FIXTURE(idx_bytes_become_floats_normalised_as_asked),
        WITH_FIXTURE(truncated_idx_is_refused_by_name),
        WITH_FIXTURE(damaged_gzip_is_refused_by_name),
        WITH_FIXTURE(npy_takes_its_targets_from_beside_it),
        cmocka_unit_test(any_order_of_indices_and_bytes_gives_the_same_samples),
        WITH_FIXTURE(npz_picks_the_split_and_the_target),
        WITH_FIXTURE(csv_target_by_name_and_by_number),
        WITH_FIXTURE(csv_without_header_and_with_names_of_classes),
        WITH_FIXTURE(csv_targets_with_fractions_are_floats),
        WITH_FIXTURE(classes_are_numbered_by_name_whatever_the_order_of_rows),
        WITH_FIXTURE(tables_have_categories_gaps_and_means_of_the_train_split),
        WITH_FIXTURE(table_options_that_name_nothing_or_mix_are_refused),
        WITH_FIXTURE(channels_last_are_put_first),
        WITH_FIXTURE(csv_faults_are_named_with_line_and_column),
        WITH_FIXTURE(text_windows_hold_tokens_and_the_ones_after),
        WITH_FIXTURE(token_files_have_two_or_four_bytes_a_token),
        cmocka_unit_test(arrays_in_memory_are_samples),
        cmocka_unit_test(synthetic_samples_follow_the_seed),
        WITH_FIXTURE(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
