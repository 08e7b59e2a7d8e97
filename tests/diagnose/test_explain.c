/* The reader of out-of-memory messages: any pieces, any length, any bytes. */
#include "plimsoll/plimsoll.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "core/alloc.h"
#include "diagnose/dump.h"

static const char full[] =
    "RuntimeError: CUDA out of memory. Tried to allocate 792.00 MiB (GPU 0; 22.62 GiB total capacity; "
    "21.19 GiB already allocated; 426.21 MiB free; 21.20 GiB reserved in total by PyTorch)\n";
static const char fragmented[] = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.10 GiB. GPU 3 has a "
                                 "total capacity of 15.67 GiB of which "
                                 "2.64 GiB is free. Of the allocated memory 6.61 GiB is allocated by PyTorch, and 5.44 "
                                 "GiB is reserved by PyTorch but "
                                 "unallocated.\n";

static plim_explanation explain(const char *text, size_t size, size_t piece) {
    plim_explainer *explainer;
    const plim_explanation *explanation;
    plim_error error;
    assert_int_equal(plim_explainer_create(&explainer, &error), PLIM_OK);
    for (size_t at = 0; at < size; at += piece)
        assert_int_equal(plim_explainer_feed(explainer, text + at, size - at < piece ? size - at : piece, &error),
                         PLIM_OK);
    assert_int_equal(plim_explainer_finish(explainer, &explanation, &error), PLIM_OK);
    plim_explanation copy = *explanation;
    plim_explainer_free(explainer);
    return copy;
}

static plim_explanation explain_text(const char *text) { return explain(text, strlen(text), 1 << 16); }

static bool offers(const plim_explanation *x, const char *word) {
    for (int i = 0; i < x->fix_count; i++)
        if (strstr(x->fixes[i].title, word) || strstr(x->fixes[i].setting, word)) return true;
    return false;
}

static void pieces_do_not_change_the_answer(void **state) {
    (void)state;
    plim_explanation whole = explain(fragmented, strlen(fragmented), 1 << 16);
    for (size_t piece = 1; piece < 64; piece += 7) {
        plim_explanation x = explain(fragmented, strlen(fragmented), piece);
        assert_int_equal(x.cause, PLIM_CAUSE_FRAGMENTED);
        assert_int_equal(x.requested.bytes, whole.requested.bytes);
        assert_int_equal(x.device_index, 3);
    }
}

/* 20 MB of ordinary lines on both sides of the 256 KiB blocks that the reader works in. */
static void a_message_behind_a_long_log_is_found_in_bounded_memory(void **state) {
    (void)state;
    plim_explainer *explainer;
    const plim_explanation *x;
    char line[128];
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    assert_int_equal(plim_explainer_create(&explainer, NULL), PLIM_OK);
    for (int i = 0; i < 300000; i++) {
        int length = snprintf(line, sizeof line, "step=%d loss=0.4429 ppl=1.56 gpu_mem=28.19GB tok/s=4961\n", i);
        assert_int_equal(plim_explainer_feed(explainer, line, (size_t)length, NULL), PLIM_OK);
        if (i == 150000) assert_int_equal(plim_explainer_feed(explainer, full, strlen(full), NULL), PLIM_OK);
    }
    assert_int_equal(plim_explainer_finish(explainer, &x, NULL), PLIM_OK);
    assert_true(x->found);
    assert_int_equal(x->cause, PLIM_CAUSE_FULL);
    assert_int_equal(x->requested.bytes, 792u << 20);
    plim_explainer_free(explainer);
    getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_maxrss - before.ru_maxrss < 8 << 10); /* KiB; the log has 18 MB */
}

static void the_last_failure_counts(void **state) {
    (void)state;
    char text[2048];
    snprintf(text, sizeof text, "%sretrying with batch size 8\n%s", fragmented, full);
    plim_explanation x = explain_text(text);
    assert_int_equal(x.failures, 2);
    assert_int_equal(x.requested.bytes, 792u << 20);
    assert_int_equal(x.device_index, 0);
}

static void repeats_are_one_failure(void **state) {
    (void)state;
    char text[2048];
    snprintf(text, sizeof text, "[rank0]: %s[rank1]: %s", fragmented, fragmented);
    assert_int_equal(explain_text(text).failures, 1);
}

static void hard_wraps_are_undone(void **state) {
    (void)state;
    char text[2048];
    size_t length = 0;
    for (size_t i = 0; i < strlen(fragmented); i++) {
        if (i && i % 80 == 0) text[length++] = '\n';
        text[length++] = fragmented[i];
    }
    plim_explanation x = explain(text, length, length);
    assert_int_equal(x.cause, PLIM_CAUSE_FRAGMENTED);
    assert_true(x.capacity.known && x.free.known && x.reserved.known);
}

static void windows_redirection_is_read(void **state) {
    (void)state;
    char text[2 * sizeof full + 2] = {(char)0xFF, (char)0xFE};
    for (size_t i = 0; i < sizeof full - 1; i++) text[2 + 2 * i] = full[i], text[3 + 2 * i] = 0;
    plim_explanation x = explain(text, 2 * sizeof full, 1000);
    assert_int_equal(x.cause, PLIM_CAUSE_FULL);
    assert_int_equal(x.requested.bytes, 792u << 20);
}

static void advice_that_the_numbers_contradict_is_refused(void **state) {
    (void)state;
    plim_explanation x = explain_text(full);
    assert_false(offers(&x, "expandable_segments"));
    assert_true(offers(&x, "batch"));
    x = explain_text(fragmented);
    assert_true(offers(&x, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"));
    x = explain_text("CUDA out of memory. Tried to allocate 9430.75 GiB. GPU 0 has a total capacity of 22.33 GiB of "
                     "which 13.34 GiB is free.");
    assert_int_equal(x.cause, PLIM_CAUSE_BAD_SIZE);
    assert_false(offers(&x, "half the batch"));
    assert_true(x.fix_count > 0 && x.fix_count <= PLIM_EXPLANATION_FIXES);
}

static void nothing_is_found_in_nothing(void **state) {
    (void)state;
    assert_int_equal(explain("", 0, 1).cause, PLIM_CAUSE_NONE);
    assert_int_equal(
        explain_text("epoch 1 loss 0.5\nhint: lower the batch if you see CUDA out of memory errors\n").found, 0);
    char noise[8192];
    for (size_t i = 0; i < sizeof noise; i++) noise[i] = (char)(i * 2654435761u >> 13);
    for (size_t i = 0; i < sizeof noise; i += 3) noise[i] = 0;
    plim_explanation x = explain(noise, sizeof noise, 999);
    assert_int_equal(x.found, 0);
    assert_true(x.binary);
}

static void chunks_are_factored_into_plausible_shapes(void **state) {
    (void)state;
    char guess[96];
    plim__guess_shape(32ull * 224 * 224 * 3 * 4, guess, sizeof guess);
    assert_string_equal(guess, "32 x 224 x 224 x 3 float32");
    plim__guess_shape(7, guess, sizeof guess);
    assert_string_equal(guess, "");
}

static void every_failed_allocation_is_a_status(void **state) {
    (void)state;
    for (size_t n = 1; n < 64; n++) {
        plim_explainer *explainer = NULL;
        const plim_explanation *x = NULL;
        plim_error error;
        plim__alloc_fail_at(n);
        plim_status status = plim_explainer_create(&explainer, &error);
        if (status == PLIM_OK) status = plim_explainer_feed(explainer, full, strlen(full), &error);
        if (status == PLIM_OK) status = plim_explainer_finish(explainer, &x, &error);
        plim__alloc_fail_at(0);
        assert_true(status == PLIM_OK || status == PLIM_NO_MEMORY);
        plim_explainer_free(explainer);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_do_not_change_the_answer),
        cmocka_unit_test(a_message_behind_a_long_log_is_found_in_bounded_memory),
        cmocka_unit_test(the_last_failure_counts),
        cmocka_unit_test(repeats_are_one_failure),
        cmocka_unit_test(hard_wraps_are_undone),
        cmocka_unit_test(windows_redirection_is_read),
        cmocka_unit_test(advice_that_the_numbers_contradict_is_refused),
        cmocka_unit_test(nothing_is_found_in_nothing),
        cmocka_unit_test(chunks_are_factored_into_plausible_shapes),
        cmocka_unit_test(every_failed_allocation_is_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
