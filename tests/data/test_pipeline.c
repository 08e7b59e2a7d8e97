/* The pipeline's promises: order, determinism, resuming, epochs, bounds. */
#include "data/fixtures.h"
#include "data/order.h"
#include "plimsoll/data.h"

static plim_error error;

enum { SAMPLES = 1003 };

/* A data set whose sample i is the number i. */
static plim_data *open_numbers(int64_t count, plim_data_options options) {
    static int64_t numbers[100000];
    for (int64_t i = 0; i < count; i++) numbers[i] = i;
    plim_data_array array = {"x", PLIM_I64, 1, &count, numbers, 0};
    plim_data *data;
    if (plim_data_create_arrays(&array, 1, &options, &data, &error) != PLIM_OK) fail_msg("%s", error.message);
    return data;
}

static plim_data_batch next(plim_data *data) {
    plim_data_batch batch;
    if (plim_data_next(data, &batch, &error) != PLIM_OK) fail_msg("%s", error.message);
    return batch;
}

/* The next `batches` batches as one list of numbers; how many. */
static int64_t collect(plim_data *data, int64_t batches, int64_t *into) {
    int64_t count = 0;
    while (batches-- > 0) {
        plim_data_batch batch = next(data);
        memcpy(into + count, batch.fields[0], (size_t)batch.count * sizeof *into);
        count += batch.count;
    }
    return count;
}

static void permutation_is_a_bijection_for_every_size(void **state) {
    (void)state;
    static unsigned char seen[70000];
    const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 16, 17, 255, 256, 257, 1003, 65537};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (uint64_t key = 0; key < 3; key++) {
            memset(seen, 0, sizeof seen);
            for (int64_t i = 0; i < sizes[s]; i++) {
                int64_t at = plim__permute(sizes[s], key, i);
                assert_in_range(at, 0, sizes[s] - 1);
                assert_false(seen[at]);
                seen[at] = 1;
            }
        }
}

static void permutation_of_billions_stays_in_range(void **state) {
    (void)state;
    int64_t n = (int64_t)5 << 40, low = 0;
    for (int64_t i = 0; i < 10000; i++) {
        int64_t at = plim__permute(n, 1, i);
        assert_in_range(at, 0, n - 1);
        low += at < n / 2;
    }
    assert_in_range(low, 4800, 5200);
}

/* Over many keys, every value is equally likely at the first place, and next to which other. */
static void shuffles_are_fair(void **state) {
    (void)state;
    enum { N = 10, KEYS = 20000 };
    int first[N] = {0}, rising = 0;
    for (uint64_t key = 0; key < KEYS; key++) {
        first[plim__permute(N, plim__random_mix(key), 0)]++;
        rising += plim__permute(N, plim__random_mix(key), 3) < plim__permute(N, plim__random_mix(key), 4);
    }
    for (int i = 0; i < N; i++) assert_in_range(first[i], KEYS / N - 200, KEYS / N + 200);
    assert_in_range(rising, KEYS / 2 - 350, KEYS / 2 + 350);
}

static void every_epoch_has_every_sample_once_in_another_order(void **state) {
    (void)state;
    static int64_t epochs[3][SAMPLES];
    plim_data *data = open_numbers(SAMPLES, (plim_data_options){.batch = 64, .seed = 3});
    for (int e = 0; e < 3; e++) {
        unsigned char seen[SAMPLES] = {0};
        assert_int_equal(collect(data, 16, epochs[e]), SAMPLES);
        for (int i = 0; i < SAMPLES; i++) {
            assert_false(seen[epochs[e][i]]);
            seen[epochs[e][i]] = 1;
        }
    }
    assert_memory_not_equal(epochs[0], epochs[1], sizeof epochs[0]);
    assert_memory_not_equal(epochs[1], epochs[2], sizeof epochs[0]);
    plim_data_free(data);
}

static void order_does_not_depend_on_workers_or_depth(void **state) {
    (void)state;
    static int64_t one[3 * SAMPLES], many[3 * SAMPLES];
    plim_data *data = open_numbers(SAMPLES, (plim_data_options){.batch = 7, .seed = 3, .workers = 1});
    collect(data, 300, one);
    plim_data_free(data);
    for (int workers = 2; workers <= 8; workers *= 2) {
        data = open_numbers(SAMPLES, (plim_data_options){.batch = 7, .seed = 3, .workers = workers, .depth = workers});
        collect(data, 300, many);
        plim_data_free(data);
        assert_memory_equal(one, many, 300 * 7 * sizeof *one - 14 * sizeof *one);
    }
}

static void short_last_batch_has_its_true_count(void **state) {
    (void)state;
    plim_data *data = open_numbers(10, (plim_data_options){.batch = 4, .in_order = 1});
    const struct {
        int64_t count, epoch, position;
        int last;
    } expected[] = {{4, 0, 0, 0}, {4, 0, 4, 0}, {2, 0, 8, 1}, {4, 1, 0, 0}};
    for (int i = 0; i < 4; i++) {
        plim_data_batch batch = next(data);
        assert_int_equal(batch.count, expected[i].count);
        assert_int_equal(batch.epoch, expected[i].epoch);
        assert_int_equal(batch.position, expected[i].position);
        assert_int_equal(batch.last, expected[i].last);
        assert_int_equal(((const int64_t *)batch.fields[0])[0], expected[i].position);
    }
    plim_data_free(data);
    data = open_numbers(10, (plim_data_options){.batch = 4, .in_order = 1, .drop_last = 1});
    next(data);
    assert_true(next(data).last);
    assert_int_equal(next(data).epoch, 1);
    plim_data_free(data);
}

static void stream_ends_after_the_epochs_asked_for(void **state) {
    (void)state;
    plim_data *data = open_numbers(5, (plim_data_options){.batch = 5, .epochs = 2, .workers = 3});
    for (int round = 0; round < 2; round++) {
        assert_int_equal(next(data).count, 5);
        assert_int_equal(next(data).count, 5);
        plim_data_batch batch = next(data);
        assert_true(batch.count == 0 && !batch.last);
        assert_int_equal(next(data).count, 0);
        assert_int_equal(plim_data_seek(data, (plim_data_position){0, 0}, &error), PLIM_OK);
    }
    plim_data_free(data);
}

static void a_run_resumed_anywhere_continues_as_if_never_stopped(void **state) {
    (void)state;
    static int64_t whole[100 * 17], rest[100 * 17];
    plim_data_options options = {.batch = 17, .seed = 9, .workers = 2};
    plim_data *data = open_numbers(SAMPLES, options);
    collect(data, 100, whole);
    plim_data_free(data);
    for (int stop = 0; stop < 100; stop += 9) {
        data = open_numbers(SAMPLES, options);
        int64_t before = collect(data, stop, rest);
        plim_data_position at = plim_data_tell(data);
        plim_data_free(data);
        data = open_numbers(SAMPLES, options);
        next(data); /* somewhere else first: going back must drop what was read ahead */
        assert_int_equal(plim_data_seek(data, at, &error), PLIM_OK);
        int64_t after = collect(data, 100 - stop, rest);
        assert_memory_equal(whole + before, rest, (size_t)after * sizeof *rest);
        plim_data_free(data);
    }
    data = open_numbers(SAMPLES, options);
    assert_int_equal(plim_data_seek(data, (plim_data_position){0, SAMPLES + 1}, &error), PLIM_INVALID);
    assert_int_equal(plim_data_seek(data, (plim_data_position){-1, 0}, &error), PLIM_INVALID);
    plim_data_free(data);
}

static void validation_share_and_the_rest_are_all_samples_once(void **state) {
    (void)state;
    unsigned char seen[SAMPLES] = {0};
    const char *splits[] = {"train", "validation"};
    const int64_t counts[] = {SAMPLES - 100, 100};
    for (int s = 0; s < 2; s++) {
        static int64_t numbers[SAMPLES];
        plim_data *data = open_numbers(
            SAMPLES, (plim_data_options){.batch = 50, .validation = 0.1, .split = splits[s], .seed = (uint64_t)s});
        plim_data_info info;
        plim_data_get_info(data, &info);
        assert_int_equal(info.samples, counts[s]);
        assert_int_equal(collect(data, info.batches, numbers), counts[s]);
        for (int64_t i = 0; i < counts[s]; i++) assert_int_equal(seen[numbers[i]]++, 0);
        plim_data_free(data);
    }
}

static void buffers_stay_within_their_limit_and_are_counted(void **state) {
    (void)state;
    plim_data *data = open_numbers(1000, (plim_data_options){.batch = 100, .buffer_limit = 5000});
    plim_data_info info;
    plim_data_stats stats;
    plim_data_get_info(data, &info);
    for (int i = 0; i < 500; i++) next(data);
    plim_data_get_stats(data, &stats);
    assert_true(stats.buffer_bytes >= 2 * 800);
    assert_true(stats.buffer_bytes <= 5000 + 600); /* marks of bad samples and the worker's scratch are extra */
    assert_true(info.most_bytes <= 5000 + 600);
    assert_int_equal(stats.samples, 50000);
    assert_true(stats.wait_share >= 0 && stats.wait_share <= 1);
    plim_data_free(data);
}

static void closing_before_during_and_after_reading_is_clean(void **state) {
    (void)state;
    plim_data_free(NULL);
    for (int batches = 0; batches < 20; batches++) {
        plim_data *data = open_numbers(100, (plim_data_options){.batch = 8, .workers = 4});
        while (batches > 0 && plim_data_tell(data).sample < batches) next(data);
        plim_data_free(data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permutation_is_a_bijection_for_every_size),
        cmocka_unit_test(permutation_of_billions_stays_in_range),
        cmocka_unit_test(shuffles_are_fair),
        cmocka_unit_test(every_epoch_has_every_sample_once_in_another_order),
        cmocka_unit_test(order_does_not_depend_on_workers_or_depth),
        cmocka_unit_test(short_last_batch_has_its_true_count),
        cmocka_unit_test(stream_ends_after_the_epochs_asked_for),
        cmocka_unit_test(a_run_resumed_anywhere_continues_as_if_never_stopped),
        cmocka_unit_test(validation_share_and_the_rest_are_all_samples_once),
        cmocka_unit_test(buffers_stay_within_their_limit_and_are_counted),
        cmocka_unit_test(closing_before_during_and_after_reading_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
